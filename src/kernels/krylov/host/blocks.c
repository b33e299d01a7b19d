/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.c: products of a matrix of blocks, as it lies, with a step in the epilogue on the host */
#include "host.h"

PetscErrorCode SpikeKrylovBorrowBlocks_Host(SpikeKrylov *s, const SpikeKrylovLoan *loan, void **copy)
{
  SpikeKrylovCopyHost *c;

  PetscFunctionBegin;
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->loan       = *loan;
  c->base.form  = KSP_FUSED_SPMV_BLOCKS;
  c->base.bytes = loan->nz * (PetscInt64)sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Block rows begin to end - 1 of y [op] A x */
static void SpikeKrylovBlockRows(const SpikeBlockLoops *loops, const SpikeBlockMat *A, SpikeBlockMode mode,
                                 PetscInt begin, PetscInt end, const PetscScalar *x, PetscScalar *y)
{
  const SpikeBlockMatHost *h    = (const SpikeBlockMatHost *)A->data;
  SpikeBlockMatHost        rows = {h->bi + begin, h->bj};
  SpikeBlockMat            part = {A->bs, end - begin, A->nb, A->a, (void *)&rows};
  SpikeBlockTask           task;

  memset(&task, 0, sizeof(task));
  task.op   = SPIKE_BLOCK_MULT;
  task.mode = mode;
  task.m    = 1;
  task.n    = (end - begin) * A->bs;
  task.X    = x;
  task.Y    = y + (PetscCount)begin * A->bs;
  task.ldx  = PetscMax(1, A->nb * A->bs);
  task.ldy  = PetscMax(1, task.n);
  task.A    = &part;
  SpikeBlockOfSize(loops->mult, A->bs)(&task);
}

/*
  About SPIKE_MULT_ROWS rows at a time, so that the step finds them in cache: first where none of them has columns of
  other ranks, while these come, then the others. The order of the sums depends on the pattern alone
*/
PetscErrorCode SpikeKrylovMultBlocks_Host(SpikeKrylov *s, const SpikeKrylovLoan *loan, SpikeKrylovStep step,
                                          const PetscScalar *scale, const PetscScalar *x, PetscScalar *y,
                                          PetscScalar *const v[])
{
  const PetscSpikePrecision precision = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                      : PETSC_SPIKE_PRECISION_DOUBLE;
  const SpikeBlockLoops    *blocks    = SpikeBlockLoopsGet(precision);
  const SpikeKrylovLoops    loops     = SpikeKrylovLoopsGet();
  const SpikeBlockMat      *A = loan->block, *off = loan->off;
  const PetscInt            bs = A->bs, rows = PetscMax(1, SPIKE_MULT_ROWS / bs);
  const PetscInt           *oi    = off ? ((const SpikeBlockMatHost *)off->data)->bi : NULL;
  const PetscScalar        *ghost = NULL;

  PetscFunctionBegin;
  if (loan->begin) PetscCall((*loan->begin)(loan->owner, NULL, x, &ghost));
  for (int outside = 0; outside < (loan->begin ? 2 : 1); outside++) {
    if (outside) PetscCall((*loan->end)(loan->owner, NULL, x));
    for (PetscInt i = 0, end; i < A->mb; i = end) {
      end = PetscMin(i + rows, A->mb);
      if (outside != (oi && oi[end] > oi[i])) continue;
      SpikeKrylovBlockRows(blocks, A, SPIKE_BLOCK_SET, i, end, x, y);
      if (outside) SpikeKrylovBlockRows(blocks, off, SPIKE_BLOCK_ADD, i, end, ghost, y);
      SpikeKrylovMultStep_Host(&loops, &s->scalars->f, step, i * bs, (end - i) * bs, scale, y, v, s->local);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
