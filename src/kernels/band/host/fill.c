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
  Row i of the rank, all of whose band lies in one partition, from entries [0, count) in the scalars of the factors: d
  is where the diagonal entry goes, next the distance from one column to the next in a row, fu the superdiagonals that
  are kept. Most rows are such. Returns the sum of the magnitudes.
*/
static PetscReal SpikeFillRow_Private(PetscInt i, PetscInt kl, PetscInt ku, PetscInt fu, PetscInt count,
                                      const PetscInt *aj, const PetscScalar *aa, PetscScalar *d, PetscCount next,
                                      SpikeFillStats *st)
{
  PetscReal sum = 0.0;

  for (PetscInt k = 0; k < count; k++) {
    const PetscInt  c   = aj[k] - i;
    const PetscReal abs = PetscAbsScalar(aa[k]);

    sum += abs;
    if (c > ku || c < -kl) {
      st->dropped += abs;
      st->maxdropped = PetscMax(st->maxdropped, abs);
    } else if (c <= fu) d[c * next] = aa[k];
  }
  return sum;
}

PetscErrorCode SpikeFill_Host(SpikeBand *s, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow,
                              SpikeFillStats *st)
{
  SpikeHost      *h  = (SpikeHost *)s->data;
  const PetscInt  kl = s->kl, ku = s->ku;
  const PetscInt *place = s->rowplace ? s->rowplace : newrow;
  const PetscBool plain = (PetscBool)(!newrow && !place && !parts[0].r && !s->nsystems && h->first &&
                                      !parts[0].colmap &&
                                      s->precision == (PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                                     : PETSC_SPIKE_PRECISION_DOUBLE));
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
        const PetscInt       k   = A->ai[r];
        const SpikeHostPart *own = &h->part[p];
        PetscScalar         *d   = (PetscScalar *)h->first + h->off[p] + (i - s->start[p]) * own->ld + own->diagonal;

        rowsum   = SpikeFillRow_Private(i - A->shift, own->kl, own->ku, own->fu, A->ai[r + 1] - k, A->aj + k, A->aa + k,
                                        d, own->ld - 1, st);
        diagonal = PetscAbsScalar(*d);
        for (PetscInt l = 0; PetscIsInfOrNanReal(rowsum) && st->badrow < 0 && l < A->ai[r + 1] - k; l++)
          if (PetscIsInfOrNanScalar(A->aa[k + l])) st->badrow = r; /* else finite entries, whose sum is not */
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
