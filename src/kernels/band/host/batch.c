/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: a batch of systems on the host, in the place of a band: its matrix by the kernels of batch.h */
#include "host.h"

static void SpikeBatchShape_Private(const SpikeBand *s, SpikeBatch *t)
{
  t->nsys     = s->nbatch;
  t->start    = s->batch;
  t->kl       = s->kl;
  t->ku       = s->ku;
  t->pivoting = s->pivoting;
  t->k        = &SpikeBatchKernels_Host;
}

PetscErrorCode SpikeBatchCreateSystems_Host(SpikeBand *s)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h->batch));
  SpikeBatchShape_Private(s, h->batch);
  PetscCall((*h->batch->k->create)(h->batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchDestroySystems_Host(SpikeBand *s)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  if (h->batch && h->batch->k) PetscCall((*h->batch->k->destroy)(h->batch));
  PetscCall(PetscFree(h->batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchBytesSystems_Host(const SpikeBand *s, PetscReal *matrix, PetscReal *rest)
{
  SpikeBatch t = {0};

  PetscFunctionBegin;
  SpikeBatchShape_Private(s, &t);
  PetscCall((*t.k->bytes)(&t, matrix, rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros, and the identity in rows and lanes that no system has */
PetscErrorCode SpikeBatchClearSystems_Host(SpikeBand *s)
{
  SpikeBatch *t = ((SpikeHost *)s->data)->batch;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(t->a, t->off[t->ngroups]));
  for (PetscInt k = 0; k < t->ngroups * t->lanes; k++) {
    const PetscInt   q = t->system[k], g = k / t->lanes;
    const PetscCount step = (PetscCount)t->width * t->lanes;
    PetscScalar     *d    = t->a + t->off[g] + t->kl * t->lanes + k % t->lanes;

    for (PetscInt i = q < 0 ? 0 : t->start[q + 1] - t->start[q]; i < t->rows[g]; i++) d[i * step] = 1.0;
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

PetscErrorCode SpikeBatchFillSystems_Host(SpikeBand *s, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow,
                                          SpikeFillStats *st)
{
  const SpikeBatch *t     = ((const SpikeHost *)s->data)->batch;
  const PetscInt   *place = s->rowplace ? s->rowplace : newrow;
  PetscInt          q     = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < s->n; r++) {
    const PetscInt i      = place ? place[r] : r;
    PetscReal      rowsum = 0.0, unscaled = 0.0;
    PetscScalar   *row;

    SpikeBatchFind_Private(t, i, &q);
    row = SpikeBatchRow_Private(t, q, i);
    for (PetscInt part = 0; part < nparts; part++) {
      const SpikeCSR *A = &parts[part];

      for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
        const PetscScalar v   = A->r ? SpikeScaled(A->aa[k], A->r[r], A->c[A->aj[k]]) : A->aa[k];
        const PetscReal   abs = PetscAbsScalar(v);
        PetscInt          j   = (A->colmap ? A->colmap[A->aj[k]] : A->aj[k]) + A->shift;

        if (newrow && !A->colmap) j = newrow[j];
        if (A->r) unscaled += PetscAbsScalar(A->aa[k]);
        rowsum += abs;
        if (j - i > s->ku || i - j > s->kl) {
          st->dropped += abs;
          st->maxdropped = PetscMax(st->maxdropped, abs);
        } else SpikeBatchPut_Private(s, t, q, row, r, i, j, v, st);
        if (PetscIsInfOrNanReal(abs) && st->badrow < 0) st->badrow = r;
      }
    }
    st->sum += rowsum;
    st->norm     = PetscMax(st->norm, rowsum);
    st->unscaled = PetscMax(st->unscaled, unscaled);
    if (rowsum == 0.0 && st->zerorow < 0) st->zerorow = r;
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
