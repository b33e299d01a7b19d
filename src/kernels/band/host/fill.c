/* SPDX-License-Identifier: BSD-2-Clause */
/* fill.c: the host's fill of band and coupling blocks from CSR */
#include "host.h"

/* Where entry (i, j) of the rank goes */
typedef enum {
  SPIKE_ENTRY_BAND,
  SPIKE_ENTRY_B,
  SPIKE_ENTRY_C,
  SPIKE_ENTRY_NONE
} SpikeEntry;

/*
  Entry (i, j), i in partition p, inside the half-bandwidths: partitions have at least max(kl, ku) rows, so j lies in p
  or beside it
*/
static inline SpikeEntry SpikeEntryPlace(const SpikeBand *s, PetscInt p, PetscInt j)
{
  if (j >= s->start[p] && j < s->start[p + 1]) return SPIKE_ENTRY_BAND;
  if (!s->coupled) return SPIKE_ENTRY_NONE;
  if (j < s->start[p]) return s->active[p] ? SPIKE_ENTRY_C : SPIKE_ENTRY_NONE;
  return s->active[p + 1] ? SPIKE_ENTRY_B : SPIKE_ENTRY_NONE;
}

PetscErrorCode SpikeFillBegin_Host(SpikeBand *s, SpikeFillStats *st)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  st->sum = st->dropped = st->maxdropped = st->norm = st->unscaled = 0.0;
  st->badrow = st->overflowrow = st->zerorow = st->joined = -1;
  st->weak                                                = 0;
  if (h->first) memset(h->first - (size_t)h->pad * h->ops->size, 0, (size_t)(h->off[s->np] + h->pad) * h->ops->size);
  if (s->nsystems) {
    PetscCall(PetscArrayzero(h->dl, s->n));
    PetscCall(PetscArrayzero(h->d, s->n));
    PetscCall(PetscArrayzero(h->du, s->n));
  }
  if (s->coupled) {
    PetscCall(PetscArrayzero(s->dB, (PetscCount)(s->np + 1) * s->ku * s->ku));
    PetscCall(PetscArrayzero(s->dC, (PetscCount)(s->np + 1) * s->kl * s->kl));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Row i of the rank, all of whose band lies in partition own, from entries [0, count) in the scalars of the matrix; d is
  where its diagonal entry goes, in the precision of the factors. Most rows are such. Returns the sum of the magnitudes
*/
typedef PetscReal SpikeFillRow(PetscInt i, const SpikeHostPart *own, PetscInt count, const PetscInt *aj,
                               const PetscScalar *aa, void *d, PetscReal *diagonal, SpikeFillStats *st);

static inline PetscReal SpikeFillRow_Private(PetscSpikePrecision precision, PetscInt i, const SpikeHostPart *own,
                                             PetscInt count, const PetscInt *aj, const PetscScalar *aa, void *d,
                                             PetscReal *diagonal, SpikeFillStats *st)
{
  const PetscInt   kl = own->kl, ku = own->ku, fu = own->fu;
  const PetscCount next = own->ld - 1; /* from one column to the next in a row */
  PetscReal        sum = 0.0, center = 0.0;

  for (PetscInt k = 0; k < count; k++) {
    const PetscInt  c   = aj[k] - i;
    const PetscReal abs = PetscAbsScalar(aa[k]);

    sum += abs;
    center = c ? center : abs;
    if (PetscLikely(c <= fu && c >= -kl)) SpikeHostPut(precision, d, c * next, aa[k]);
    else if (c > ku || c < -kl) {
      st->dropped += abs;
      st->maxdropped = PetscMax(st->maxdropped, abs);
    }
  }
  *diagonal = center;
  return sum;
}

/* One for each precision, which is known when it is compiled; the last line takes a semicolon */
#define SpikeFillRowIn(name, precision) \
  static PetscReal name(PetscInt i, const SpikeHostPart *own, PetscInt count, const PetscInt *aj, \
                        const PetscScalar *aa, void *d, PetscReal *diagonal, SpikeFillStats *st) \
  { \
    return SpikeFillRow_Private(precision, i, own, count, aj, aa, d, diagonal, st); \
  } \
  static SpikeFillRow name

SpikeFillRowIn(SpikeFillRow_Double, PETSC_SPIKE_PRECISION_DOUBLE);
SpikeFillRowIn(SpikeFillRow_Single, PETSC_SPIKE_PRECISION_SINGLE);
SpikeFillRowIn(SpikeFillRow_BF16, PETSC_SPIKE_PRECISION_BF16);
SpikeFillRowIn(SpikeFillRow_FP16, PETSC_SPIKE_PRECISION_FP16);

/*
  Row r of the rank, the i-th as its columns are counted, with a sum of magnitudes that is not finite, or above the
  bound of the factors: whether an entry is, or the sum alone
*/
static void SpikeFillLarge_Private(PetscInt r, PetscInt i, const SpikeHostPart *own, double bound, PetscInt count,
                                   const PetscInt *aj, const PetscScalar *aa, SpikeFillStats *st)
{
  for (PetscInt k = 0; k < count; k++) {
    const PetscInt  c   = aj[k] - i;
    const PetscReal abs = PetscAbsScalar(aa[k]);

    if (PetscIsInfOrNanScalar(aa[k]) && st->badrow < 0) st->badrow = r;
    if (c <= own->ku && c >= -own->kl && abs > bound && st->overflowrow < 0) st->overflowrow = r;
  }
}

PetscErrorCode SpikeFill_Host(SpikeBand *s, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow,
                              SpikeFillStats *st)
{
  SpikeFillRow *const rows[]  = {SpikeFillRow_Double, SpikeFillRow_Single, SpikeFillRow_BF16, SpikeFillRow_FP16};
  SpikeFillRow *const fillrow = rows[s->precision]; /* in the order of PetscSpikePrecision */
  SpikeHost          *h       = (SpikeHost *)s->data;
  const PetscInt      kl = s->kl, ku = s->ku;
  const PetscInt     *place = s->rowplace ? s->rowplace : newrow;
  const PetscBool plain = (PetscBool)(!newrow && !place && !parts[0].r && !s->nsystems && h->first && !parts[0].colmap);
  const double    bound = SpikePrecisionBound(s->precision);
  PetscInt        p     = 0;

  PetscFunctionBegin;
  PetscCall(SpikeFillBegin_Host(s, st));
  if (s->nbatch) {
    PetscCall(SpikeBatchFillSystems_Host(s, nparts, parts, newrow, st));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt r = 0; r < s->n; r++) {
    const PetscInt i      = place ? place[r] : r;
    PetscReal      rowsum = 0.0, unscaled = 0.0, diagonal = 0.0;

    while (i < s->start[p]) p--;
    while (i >= s->start[p + 1]) p++;
    for (PetscInt part = 0; part < nparts; part++) {
      const SpikeCSR *A = &parts[part];

      if (plain && !part && i - kl >= s->start[p] && i + ku < s->start[p + 1]) {
        const PetscInt       k = A->ai[r], count = A->ai[r + 1] - k;
        const SpikeHostPart *own = &h->part[p];
        const PetscCount     t   = h->off[p] + (i - s->start[p]) * own->ld + own->diagonal;

        rowsum = (*fillrow)(i - A->shift, own, count, A->aj + k, A->aa + k, h->first + t * h->ops->size, &diagonal, st);
        if (PetscIsInfOrNanReal(rowsum) || rowsum > bound)
          SpikeFillLarge_Private(r, i - A->shift, own, bound, count, A->aj + k, A->aa + k, st);
        st->sum += rowsum;
        continue;
      }
      for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
        const PetscScalar v   = A->r ? SpikeScaled(A->aa[k], A->r[r], A->c[A->aj[k]]) : A->aa[k];
        const PetscReal   abs = PetscAbsScalar(v);
        PetscInt          j   = SpikeCSRColumn(A, k);

        if (newrow && !A->colmap) j = newrow[j];
        if (A->r) unscaled += PetscAbsScalar(A->aa[k]);
        if (PetscIsInfOrNanReal(abs) && st->badrow < 0) st->badrow = r;
        st->sum += abs;
        rowsum += abs;
        if (i == j) diagonal = abs;
        if (j - i > ku || i - j > kl) {
          st->dropped += abs;
          st->maxdropped = PetscMax(st->maxdropped, abs);
          continue;
        }
        switch (SpikeEntryPlace(s, p, j)) {
        case SPIKE_ENTRY_BAND: {
          const SpikeHostPart *own = &h->part[p];
          const PetscCount     t   = h->off[p] + (j - s->start[p]) * own->ld + own->diagonal + i - j;

          if (abs > bound && st->overflowrow < 0) st->overflowrow = r;
          if (s->nsystems) {
            *(i == j ? &h->d[i] : j < i ? &h->dl[i] : &h->du[i]) = v;
            if (i != j && h->begins && h->begins[PetscMax(i, j)] && v != (PetscScalar)0.0 && st->joined < 0)
              st->joined = r;
          }
          if (h->first && j - i <= own->fu && i - j <= own->kl) SpikeHostPut(s->precision, h->first, t, v);
        } break;
        case SPIKE_ENTRY_B: /* row counted in the last ku of partition p, column in the first ku after it */
          s->dB[(PetscCount)(p + 1) * ku * ku + (i - (s->start[p + 1] - ku)) +
                (PetscCount)(j - s->start[p + 1]) * ku] = v;
          break;
        case SPIKE_ENTRY_C: /* row counted in the first kl of partition p, column in the last kl before it */
          s->dC[(PetscCount)p * kl * kl + (i - s->start[p]) + (PetscCount)(j - (s->start[p] - kl)) * kl] = v;
          break;
        case SPIKE_ENTRY_NONE:
          if (s->cut && j >= 0 && j < s->n && v != (PetscScalar)0.0 && (st->joined < 0 || r < st->joined))
            st->joined = r;
          break;
        }
      }
    }
    st->weak += SpikeRowIsWeak(diagonal, rowsum);
    st->norm     = PetscMax(st->norm, rowsum);
    st->unscaled = PetscMax(st->unscaled, unscaled);
    if (rowsum == 0.0 && (st->zerorow < 0 || r < st->zerorow)) st->zerorow = r;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
