/* SPDX-License-Identifier: BSD-2-Clause */
/* blockiluapply.c: PCApply of PCBLOCKILU, plain and transposed, for one and many right-hand sides */
#include "blockiluimpl.h"

/* x <- M^-1 b in the backend's memory */
static PetscErrorCode BlockILUSolve_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
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

/* Whether the kernels can work on memory of this type as it is; a host backend is given the host's only */
static PetscBool BlockILUIsHere_Private(const PC_BlockILU *s, PetscMemType memtype)
{
  return (PetscBool)(PetscMemTypeHost(s->b.k->memtype) || !PetscMemTypeHost(memtype));
}

/* One column; what is not in the backend's memory goes through a column there (PCBJACOBI with several blocks hands vectors on the host to the blocks of a matrix on the device). The copies are in the log */
static PetscErrorCode BlockILUSolveStaged_Private(PC pc, PetscBool trans, const PetscScalar *b, PetscMemType bmem, PetscScalar *x, PetscMemType xmem)
{
  PC_BlockILU    *s     = (PC_BlockILU *)pc->data;
  const PetscInt  n     = s->p.nb * s->p.bs;
  const size_t    bytes = n * sizeof(PetscScalar);
  const PetscBool bhere = BlockILUIsHere_Private(s, bmem), xhere = BlockILUIsHere_Private(s, xmem);

  PetscFunctionBegin;
  if ((!bhere || !xhere) && !s->stage) PetscCall((*s->b.k->alloc)(&s->b, PetscMax(bytes, 1), (void **)&s->stage));
  if (!bhere) PetscCall((*s->b.k->copy)(&s->b, PETSC_TRUE, PETSC_FALSE, s->stage, b, bytes));
  PetscCall(BlockILUSolve_Private(pc, trans, 1, bhere ? b : s->stage, n, xhere ? x : s->stage, n));
  if (!xhere) PetscCall((*s->b.k->copy)(&s->b, PETSC_FALSE, PETSC_TRUE, x, s->stage, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without factors nothing is done; a rank whose factors failed marks its result */
static PetscErrorCode PCBlockILUApply_Private(PC pc, PetscBool trans, Vec x, Vec y)
{
  PC_BlockILU       *s = (PC_BlockILU *)pc->data;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscMemType       xmem = PETSC_MEMTYPE_HOST, ymem = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (s->built && s->factored) {
    if (PetscMemTypeHost(s->b.k->memtype)) {
      PetscCall(VecGetArrayRead(x, &xa));
      PetscCall(VecGetArrayWrite(y, &ya));
      PetscCall(BlockILUSolveStaged_Private(pc, trans, xa, xmem, ya, ymem));
      PetscCall(VecRestoreArrayWrite(y, &ya));
      PetscCall(VecRestoreArrayRead(x, &xa));
    } else {
      PetscCall(VecGetArrayReadAndMemType(x, &xa, &xmem));
      PetscCall(VecGetArrayWriteAndMemType(y, &ya, &ymem));
      PetscCall(BlockILUSolveStaged_Private(pc, trans, xa, xmem, ya, ymem));
      PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
      PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
    }
  }
  PetscCall(VecFlag(y, !s->numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_BlockILU(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCBlockILUApply_Private(pc, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_BlockILU(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCBlockILUApply_Private(pc, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns together where both matrices are in the backend's memory, else one after the other through a column there */
static PetscErrorCode BlockILUSolveColumns_Private(PC pc, PetscBool trans, PetscInt ncols, const PetscScalar *b, PetscInt ldb, PetscMemType bmem, PetscScalar *x, PetscInt ldx, PetscMemType xmem)
{
  PC_BlockILU   *s     = (PC_BlockILU *)pc->data;
  const PetscInt batch = PetscMin(ncols, BLOCKILU_MAT_APPLY_BATCH);

  PetscFunctionBegin;
  if (BlockILUIsHere_Private(s, bmem) && BlockILUIsHere_Private(s, xmem)) {
    if (batch > s->lu.maxrhs) {
      PetscCall((*s->b.k->lureserve)(&s->lu, batch));
      s->shape++;
      PetscCall((*s->b.k->lubytes)(&s->lu, &s->info.bytes, &s->info.extra_bytes));
    }
    PetscCall(BlockILUSolve_Private(pc, trans, ncols, b, ldb, x, ldx));
  } else {
    for (PetscInt c = 0; c < ncols; c++) PetscCall(BlockILUSolveStaged_Private(pc, trans, b + (PetscCount)c * ldb, bmem, x + (PetscCount)c * ldx, xmem));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUMatApply_Private(PC pc, PetscBool trans, Mat X, Mat Y)
{
  PC_BlockILU       *s = (PC_BlockILU *)pc->data;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscInt           ldx, ldy, ncols;
  PetscMemType       xmem = PETSC_MEMTYPE_HOST, ymem = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &ncols));
  if (s->built && s->factored) {
    PetscCall(MatDenseGetLDA(X, &ldx));
    PetscCall(MatDenseGetLDA(Y, &ldy));
    if (PetscMemTypeHost(s->b.k->memtype)) {
      PetscCall(MatDenseGetArrayRead(X, &xa));
      PetscCall(MatDenseGetArrayWrite(Y, &ya));
      PetscCall(BlockILUSolveColumns_Private(pc, trans, ncols, xa, ldx, xmem, ya, ldy, ymem));
      PetscCall(MatDenseRestoreArrayWrite(Y, &ya));
      PetscCall(MatDenseRestoreArrayRead(X, &xa));
    } else {
      PetscCall(MatDenseGetArrayReadAndMemType(X, &xa, &xmem));
      PetscCall(MatDenseGetArrayWriteAndMemType(Y, &ya, &ymem));
      PetscCall(BlockILUSolveColumns_Private(pc, trans, ncols, xa, ldx, xmem, ya, ldy, ymem));
      PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &ya));
      PetscCall(MatDenseRestoreArrayReadAndMemType(X, &xa));
    }
  }
  if (!s->numeric) {
    for (PetscInt c = 0; c < ncols; c++) {
      Vec y;

      PetscCall(MatDenseGetColumnVecWrite(Y, c, &y));
      PetscCall(VecFlag(y, 1));
      PetscCall(MatDenseRestoreColumnVecWrite(Y, c, &y));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApply_BlockILU(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCBlockILUMatApply_Private(pc, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApplyTranspose_BlockILU(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCBlockILUMatApply_Private(pc, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeEnqueue_BlockILU(PetscObject pc, PetscBool trans, void *stream, const PetscScalar *x, PetscScalar *y)
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
  e->capturable = (PetscBool)!PetscMemTypeHost(e->memtype);
  e->shape      = s->shape;
  e->values     = s->shape + s->info.refills;
  PetscFunctionReturn(PETSC_SUCCESS);
}
