/* SPDX-License-Identifier: BSD-2-Clause */
/* blockiluapply.c: PCApply of PCBLOCKILU, plain and transposed, for one and many right-hand sides */
#include "blockiluimpl.h"

/* x <- M^-1 b in the backend's memory */
static PetscErrorCode BlockILUSolve_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                            PetscScalar *x, PetscCount ldx)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  if (SpikeFaulty(SPIKE_FAULT_NOT_TRANSPOSED)) trans = PETSC_FALSE;
  PetscCall(PetscLogEventBegin(PC_BlockILU_Solve, pc, 0, 0, 0));
  PetscCall((*s->b.k->begin)(&s->b));
  PetscCall((*s->b.k->lusolve)(&s->lu, trans ? SPIKE_BLOCK_TRANSPOSED : SPIKE_BLOCK_PLAIN, nrhs, b, ldb, x, ldx));
  PetscCall((*s->b.k->end)(&s->b));
  PetscCall(PetscLogEventEnd(PC_BlockILU_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One column; what is not in the backend's memory goes through a column there (PCBJACOBI with several blocks hands
  vectors on the host to the blocks of a matrix on the device). The copies are in the log
*/
static PetscErrorCode BlockILUSolveStaged_Private(PC pc, PetscBool trans, const PetscScalar *b, PetscMemType bmem,
                                                  PetscScalar *x, PetscMemType xmem)
{
  PC_BlockILU    *s     = (PC_BlockILU *)pc->data;
  const PetscInt  n     = s->p.nb * s->p.bs;
  const size_t    bytes = n * sizeof(PetscScalar);
  const PetscBool bhere = PCFactoredIsHere_Private(s->b.k->memtype, bmem),
                  xhere = PCFactoredIsHere_Private(s->b.k->memtype, xmem);

  PetscFunctionBegin;
  if ((!bhere || !xhere) && !s->stage) PetscCall((*s->b.k->alloc)(&s->b, PetscMax(bytes, 1), (void **)&s->stage));
  if (!bhere) PetscCall((*s->b.k->copy)(&s->b, PETSC_TRUE, PETSC_FALSE, s->stage, b, bytes));
  PetscCall(BlockILUSolve_Private(pc, trans, 1, bhere ? b : s->stage, n, xhere ? x : s->stage, n));
  if (!xhere) PetscCall((*s->b.k->copy)(&s->b, PETSC_FALSE, PETSC_TRUE, x, s->stage, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns together where both matrices are in the backend's memory, else one after the other through a column there */
static PetscErrorCode BlockILUSolveColumns_Private(PC pc, PetscBool trans, PetscInt ncols, const PetscScalar *b,
                                                   PetscInt ldb, PetscMemType bmem, PetscScalar *x, PetscInt ldx,
                                                   PetscMemType xmem)
{
  PC_BlockILU   *s     = (PC_BlockILU *)pc->data;
  const PetscInt batch = PetscMin(ncols, BLOCKILU_MAT_APPLY_BATCH);

  PetscFunctionBegin;
  if (PCFactoredIsHere_Private(s->b.k->memtype, bmem) && PCFactoredIsHere_Private(s->b.k->memtype, xmem)) {
    if (batch > s->lu.maxrhs) {
      PetscCall((*s->b.k->lureserve)(&s->lu, batch));
      s->shape++;
      PetscCall((*s->b.k->lubytes)(&s->lu, &s->info.bytes, &s->info.extra_bytes));
    }
    PetscCall(BlockILUSolve_Private(pc, trans, ncols, b, ldb, x, ldx));
  } else {
    for (PetscInt c = 0; c < ncols; c++)
      PetscCall(BlockILUSolveStaged_Private(pc, trans, b + (PetscCount)c * ldb, bmem, x + (PetscCount)c * ldx, xmem));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscMemType BlockILUMemType_Private(PC pc)
{
  const PC_BlockILU *s = (const PC_BlockILU *)pc->data;

  return s->b.k ? s->b.k->memtype : PETSC_MEMTYPE_HOST;
}

PetscErrorCode PCApply_BlockILU(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCFactoredApply_Private(pc, BlockILUMemType_Private(pc), BlockILUSolveColumns_Private, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_BlockILU(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCFactoredApply_Private(pc, BlockILUMemType_Private(pc), BlockILUSolveColumns_Private, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApply_BlockILU(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(
    PCFactoredMatApply_Private(pc, BlockILUMemType_Private(pc), BlockILUSolveColumns_Private, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApplyTranspose_BlockILU(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(
    PCFactoredMatApply_Private(pc, BlockILUMemType_Private(pc), BlockILUSolveColumns_Private, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeEnqueue_BlockILU(PetscObject pc, PetscBool trans, void *stream, const PetscScalar *x,
                                            PetscScalar *y)
{
  PC_BlockILU   *s = (PC_BlockILU *)((PC)pc)->data;
  const PetscInt n = s->p.nb * s->p.bs;

  PetscFunctionBegin;
  s->b.stream = stream;
  PetscCall((*s->b.k->lusolve)(&s->lu, trans ? SPIKE_BLOCK_TRANSPOSED : SPIKE_BLOCK_PLAIN, 1, x, n, y, n));
  s->b.stream = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscSpikeGetEnqueue_BlockILU(PetscObject pc, SpikeEnqueue *e)
{
  PC_BlockILU *s = (PC_BlockILU *)((PC)pc)->data;

  PetscFunctionBegin;
  if (!s->built || !s->numeric) PetscFunctionReturn(PETSC_SUCCESS);
  e->memtype    = s->b.k->memtype;
  e->n          = s->p.nb * s->p.bs;
  e->run        = SpikeEnqueue_BlockILU;
  e->capturable = s->b.k->enqueues;
  e->shape      = s->shape;
  e->values     = s->shape + s->info.refills;
  PetscFunctionReturn(PETSC_SUCCESS);
}
