/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: a batch of systems on the host, in the place of a band: its matrix by the kernels of batch.h */
#include "host.h"

#define SPIKE_BATCH_PIECE 16384 /* bytes of a group that are filled at once */

/* Zeros, and the identity in rows and lanes that no system has */
PetscErrorCode SpikeBatchClearSystems_Host(SpikeBand *s)
{
  SpikeBatch *t = ((SpikeHost *)s->data)->batch;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(t->a, t->off[t->ngroups]));
  for (PetscInt k = 0; k < t->ngroups * t->lanes; k++) {
    const PetscInt   g      = k / t->lanes;
    const PetscCount stride = (PetscCount)t->width * t->lanes;
    PetscScalar     *d      = t->a + t->off[g] + t->kl * t->lanes + k % t->lanes;

    for (PetscInt i = t->len[k]; i < t->rows[g]; i++) d[i * stride] = 1.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The system of row i, beginning with *q: mostly that one, or the next */
static inline void SpikeBatchFind_Private(const SpikeBatch *t, PetscInt i, PetscInt *q)
{
  const PetscInt *start = t->start;

  if (i >= start[*q] && i < start[*q + 1]) return;
  if (i >= start[*q + 1] && *q + 2 <= t->nsys && i < start[*q + 2]) (*q)++;
  else {
    PetscInt lo = 0, hi = t->nsys;

    while (hi - lo > 1) {
      const PetscInt middle = lo + (hi - lo) / 2;

      if (start[middle] <= i) lo = middle;
      else hi = middle;
    }
    *q = lo;
  }
}

/*
  Entry v of row i, which is row r of the matrix, and of column j, inside the half-bandwidths: into row[], its row of
  system q, or it couples two systems
*/
static inline void SpikeBatchPut_Private(const SpikeBand *s, const SpikeBatch *t, PetscInt q, PetscScalar *row,
                                         PetscInt r, PetscInt i, PetscInt j, PetscScalar v, SpikeFillStats *st)
{
  if (j >= t->start[q] && j < t->start[q + 1]) row[(PetscCount)(t->kl + j - i) * t->lanes] = v;
  else if (v != (PetscScalar)0.0 && (!s->alone || (j >= 0 && j < s->n)) && (st->joined < 0 || r < st->joined))
    st->joined = r;
}

static inline PetscScalar *SpikeBatchRow_Private(const SpikeBatch *t, PetscInt q, PetscInt i)
{
  return t->a + t->place[q] + (PetscCount)(i - t->start[q]) * t->width * t->lanes;
}

/*
  Entries [0, count) of row i, from a piece without other places of columns and without scales, as most are: d is where
  the diagonal entry goes, lo <= j < hi are the columns of its system. Returns the sum of the magnitudes.
*/
static inline PetscReal SpikeBatchPlain_Private(const SpikeBand *s, PetscInt r, PetscInt i, PetscInt lo, PetscInt hi,
                                                PetscInt count, const PetscInt *aj, const PetscScalar *aa,
                                                PetscScalar *d, PetscInt lanes, SpikeFillStats *st)
{
  PetscReal sum = 0.0;

  for (PetscInt k = 0; k < count; k++) {
    const PetscInt  j = aj[k], c = j - i;
    const PetscReal abs = PetscAbsScalar(aa[k]);

    sum += abs;
    if (c > s->ku || -c > s->kl) {
      st->dropped += abs;
      st->maxdropped = PetscMax(st->maxdropped, abs);
    } else if (j >= lo && j < hi) d[c * lanes] = aa[k];
    else if (aa[k] != (PetscScalar)0.0 && (!s->alone || (j >= 0 && j < s->n)) && (st->joined < 0 || r < st->joined))
      st->joined = r;
  }
  return sum;
}

/* Row r of the matrix, which is row i of system q */
static inline void SpikeBatchFillRow_Private(const SpikeBand *s, const SpikeBatch *t, PetscInt nparts,
                                             const SpikeCSR parts[], const PetscInt *newrow, PetscInt r, PetscInt i,
                                             PetscInt q, SpikeFillStats *st)
{
  PetscScalar *row    = SpikeBatchRow_Private(t, q, i);
  PetscReal    rowsum = 0.0, unscaled = 0.0;
  PetscBool    bad = PETSC_FALSE;

  for (PetscInt part = 0; part < nparts; part++) {
    const SpikeCSR *A     = &parts[part];
    const PetscInt  first = A->ai[r], end = A->ai[r + 1];

    if (!newrow && !A->r && !A->colmap && !A->shift) {
      const PetscReal sum = SpikeBatchPlain_Private(s, r, i, t->start[q], t->start[q + 1], end - first, A->aj + first,
                                                    A->aa + first, row + t->kl * t->lanes, t->lanes, st);

      for (PetscInt k = first; PetscIsInfOrNanReal(sum) && k < end; k++) /* else finite entries, whose sum is not */
        if (PetscIsInfOrNanScalar(A->aa[k])) bad = PETSC_TRUE;
      rowsum += sum;
      continue;
    }
    for (PetscInt k = first; k < end; k++) {
      const PetscScalar v   = A->r ? SpikeScaled(A->aa[k], A->r[r], A->c[A->aj[k]]) : A->aa[k];
      const PetscReal   abs = PetscAbsScalar(v);
      PetscInt          j   = SpikeCSRColumn(A, k);

      if (newrow && !A->colmap) j = newrow[j];
      if (A->r) unscaled += PetscAbsScalar(A->aa[k]);
      rowsum += abs;
      if (j - i > s->ku || i - j > s->kl) {
        st->dropped += abs;
        st->maxdropped = PetscMax(st->maxdropped, abs);
      } else SpikeBatchPut_Private(s, t, q, row, r, i, j, v, st);
      if (PetscIsInfOrNanReal(abs)) bad = PETSC_TRUE;
    }
  }
  st->sum += rowsum;
  st->weak += SpikeRowIsWeak(PetscAbsScalar(row[(PetscCount)t->kl * t->lanes]), rowsum);
  st->norm     = PetscMax(st->norm, rowsum);
  st->unscaled = PetscMax(st->unscaled, unscaled);
  if (bad && (st->badrow < 0 || r < st->badrow)) st->badrow = r;
  if (rowsum == 0.0 && (st->zerorow < 0 || r < st->zerorow)) st->zerorow = r;
}

/*
  In natural order by pieces of a group, which stay in the cache until each lane has its rows there: the batch is
  written once
*/
static PetscErrorCode SpikeBatchFillGroups_Private(SpikeBand *s, PetscInt nparts, const SpikeCSR parts[],
                                                   SpikeFillStats *st)
{
  const SpikeBatch *t      = ((const SpikeHost *)s->data)->batch;
  const PetscCount  stride = (PetscCount)t->width * t->lanes;
  const PetscInt    most   = PetscMax(8, SPIKE_BATCH_PIECE / (PetscInt)(stride * sizeof(PetscScalar)));

  PetscFunctionBegin;
  for (PetscInt g = 0; g < t->ngroups; g++)
    for (PetscInt i0 = 0; i0 < t->rows[g]; i0 += most) {
      const PetscInt i1 = PetscMin(i0 + most, t->rows[g]);
      PetscScalar   *a  = t->a + t->off[g];

      PetscCall(PetscArrayzero(a + i0 * stride, (i1 - i0) * stride));
      for (PetscInt l = 0; l < t->lanes; l++) {
        const PetscInt q = t->system[g * t->lanes + l], first = t->first[g * t->lanes + l],
                       m = t->len[g * t->lanes + l];

        for (PetscInt i = i0; i < PetscMin(i1, m); i++)
          SpikeBatchFillRow_Private(s, t, nparts, parts, NULL, first + i, first + i, q, st);
        for (PetscInt i = PetscMax(i0, m); i < i1; i++) a[i * stride + t->kl * t->lanes + l] = 1.0;
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchFillSystems_Host(SpikeBand *s, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow,
                                          SpikeFillStats *st)
{
  const SpikeBatch *t     = ((const SpikeHost *)s->data)->batch;
  const PetscInt   *place = s->rowplace ? s->rowplace : newrow;
  PetscInt          q     = 0;

  PetscFunctionBegin;
  if (!place) {
    PetscCall(SpikeBatchFillGroups_Private(s, nparts, parts, st));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeBatchClearSystems_Host(s));
  for (PetscInt r = 0; r < s->n; r++) {
    SpikeBatchFind_Private(t, place[r], &q);
    SpikeBatchFillRow_Private(s, t, nparts, parts, newrow, r, place[r], q, st);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void SpikeBatchPutSystems_Host(const SpikeBand *s, PetscInt o, PetscInt i0, PetscInt i1, const PetscScalar *a,
                               SpikeFillStats *st)
{
  const SpikeBatch *t = ((const SpikeHost *)s->data)->batch;
  PetscInt          q = 0;

  for (PetscInt i = i0; i < i1; i++) {
    SpikeBatchFind_Private(t, i, &q);
    SpikeBatchPut_Private(s, t, q, SpikeBatchRow_Private(t, q, i), i, i, i + o, a[i], st);
  }
}
