/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: the host backend of batch.h: memory, and its loops over groups */
#include "host.h"
#include "kernels/common/host/isa.h"
#include "kernels/common/host/memory.h"

typedef struct {
  SpikeBatchLoops loops;
  PetscCount     *row;      /* [ngroups] rows of the groups before */
  unsigned char  *exchange; /* [rows of all groups * lanes]        */
  PetscScalar    *alloc, *y;
} SpikeBatchHost;

static PetscErrorCode SpikeBatchBytes_Host(const SpikeBatch *t, PetscReal *matrix, PetscReal *rest)
{
  PetscCount rows;
  PetscInt   longest = 0;

  PetscFunctionBegin;
  PetscCall(SpikeBatchPadded(t, SPIKE_BATCH_LANES, &rows));
  for (PetscInt q = 0; q < t->nsys; q++) longest = PetscMax(longest, t->start[q + 1] - t->start[q]);
  *matrix = sizeof(PetscScalar) * (PetscReal)rows * SpikeBatchWidth(t);
  *rest   = t->nsys * (PetscReal)(sizeof(PetscCount) + sizeof(PetscInt)) +
          (t->nsys / SPIKE_BATCH_LANES + 1.0) * (2 * sizeof(PetscCount) + sizeof(PetscInt)) +
          sizeof(PetscScalar) * (PetscReal)SPIKE_BATCH_LANES * (longest + (PetscReal)SpikeBatchWidth(t)) +
          (t->pivoting ? (PetscReal)rows : 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBatchCreate_Host(SpikeBatch *t)
{
  SpikeBatchHost *h;
  PetscCount      rows = 0;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  t->data  = h;
  h->loops = SpikeISAOf(SpikeBatchLoops);
  PetscCall(SpikeBatchLayout(t, SPIKE_BATCH_LANES));
  PetscCall(PetscMalloc1(t->ngroups, &h->row));
  for (PetscInt g = 0; g < t->ngroups; g++) {
    h->row[g] = rows;
    rows += t->rows[g];
  }
  PetscCall(PetscMalloc1(t->off[t->ngroups] + SPIKE_BATCH_LANES, &h->alloc));
  SpikeLargePages_Host(h->alloc, (size_t)(t->off[t->ngroups] + SPIKE_BATCH_LANES) * sizeof(*h->alloc));
  t->a = (PetscScalar *)(((size_t)h->alloc + 63) / 64 * 64);
  if (t->pivoting) PetscCall(PetscMalloc1(rows * t->lanes, &h->exchange));
  PetscCall(PetscMalloc1(((t->ngroups ? t->rows[0] : 0) + (PetscCount)t->width) * t->lanes, &h->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBatchDestroy_Host(SpikeBatch *t)
{
  SpikeBatchHost *h = (SpikeBatchHost *)t->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(h->alloc));
  PetscCall(PetscFree(h->exchange));
  PetscCall(PetscFree(h->row));
  PetscCall(PetscFree(h->y));
  PetscCall(SpikeBatchLayoutDestroy(t));
  PetscCall(PetscFree(t->data));
  t->a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SpikeBatchGroup_Private(const SpikeBatch *t, PetscInt k, SpikePivot *pivot, SpikeBatchGroup *g)
{
  const SpikeBatchHost *h = (const SpikeBatchHost *)t->data;

  g->m        = t->rows[k];
  g->kl       = t->kl;
  g->ku       = t->ku;
  g->fu       = t->width - 1 - t->kl;
  g->a        = t->a + t->off[k];
  g->exchange = h->exchange ? h->exchange + h->row[k] * t->lanes : NULL;
  g->pivot    = pivot;
  for (int l = 0; l < SPIKE_BATCH_LANES; l++) {
    g->first[l] = t->first[k * SPIKE_BATCH_LANES + l];
    g->len[l]   = t->len[k * SPIKE_BATCH_LANES + l];
  }
}

static PetscErrorCode SpikeBatchSetUp_Host(SpikeBatch *t, SpikePivot *pivot, const double *unit)
{
  const SpikeBatchHost *h = (const SpikeBatchHost *)t->data;
  SpikeBatchGroup       g;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  for (PetscInt k = 0; k < t->ngroups; k++) {
    SpikeBatchGroup_Private(t, k, pivot, &g);
    if (t->pivoting) h->loops.factorpivoted(&g);
    else h->loops.factor(&g);
  }
  PetscCall(PetscLogFlops((2.0 * (t->width - 1 - t->kl) + 1.0) * t->kl * t->start[t->nsys]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of a group one after the other: its factors stay in the cache */
static PetscErrorCode SpikeBatchApply_Host(SpikeBatch *t, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                           PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const SpikeBatchHost *h = (const SpikeBatchHost *)t->data;
  PetscScalar          *y = h->y + (PetscCount)t->kl * t->lanes;
  SpikeBatchGroup       g;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < t->ngroups; k++) {
    SpikeBatchGroup_Private(t, k, NULL, &g);
    for (PetscInt c = 0; c < nrhs; c++) {
      h->loops.load(&g, b + c * ldb, y);
      if (t->pivoting) h->loops.solvepivoted(&g, trans, y);
      else h->loops.solve(&g, trans, y);
      h->loops.store(&g, y, x + c * ldx);
    }
  }
  PetscCall(PetscLogFlops(nrhs * (2.0 * t->width - 1.0) * t->start[t->nsys]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBatchKernels SpikeBatchKernels_Host = {
  .name    = "host",
  .memtype = PETSC_MEMTYPE_HOST,
  .lanes   = SPIKE_BATCH_LANES,
  .least   = 2 * SPIKE_BATCH_LANES,
  .widest  = {8, 8},
  .bytes   = SpikeBatchBytes_Host,
  .create  = SpikeBatchCreate_Host,
  .destroy = SpikeBatchDestroy_Host,
  .setup   = SpikeBatchSetUp_Host,
  .apply   = SpikeBatchApply_Host,
};
