/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.cu: products of a matrix of blocks, as it lies, with a step in the epilogue */
#include "mult_kernel.cuh"
#include "blocks.cuh"

/* One rank without entries takes MatMult() */
PetscErrorCode SpikeKrylovBorrowBlocks_CUDA(SpikeKrylov *s, const SpikeKrylovLoan *loan, void **copy)
{
  const SpikeKrylovCUDA *h    = (const SpikeKrylovCUDA *)s->data;
  const SpikeBlockMat   *A    = loan->block;
  bool                   made = true;
  SpikeKrylovCopyCUDA   *c;

  PetscFunctionBegin;
  *copy = NULL;
  if ((s->ondevice && (A->mb < 1 || loan->nz < 1)) || (PetscInt64)A->mb * A->bs > INT_MAX)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->borrowed   = true;
  c->nz         = (PetscInt)PetscMin(loan->nz, (PetscInt64)PETSC_INT_MAX); /* flops are counted by it */
  c->loan       = *loan;
  c->base.form  = KSP_FUSED_SPMV_BLOCKS;
  c->base.bytes = loan->nz * (PetscInt64)sizeof(PetscScalar);
  if (loan->off && loan->off->mb)
    PetscCall(SpikeKrylovOffPattern(h, loan->off->mb, loan->off->bs, ((SpikeBlockMatCUDA *)loan->off->data)->ai,
                                    &c->off, &made));
  if (!made) PetscCall(SpikeKrylovDestroyCopy_CUDA(s, copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int STEPID, int BLOCKSIZE>
static PetscErrorCode SpikeKrylovBlocksLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                              const SpikeKrylovMultArgs *args)
{
  const SpikeBlockMat            *A = c->loan.block;
  SpikeKrylovBlockRows<BLOCKSIZE> rows;
  PetscInt                        blocks;
  const auto                      inside = [&](const SpikeKrylovMultArgs *a, PetscInt *number) {
    return SpikeKrylovInsideDispatch(c, rows, [&](const auto &some) {
      return SpikeKrylovMultLaunch<STEPID>(h, some, SpikeKrylovBlockWarps(&rows.t), a, number);
    });
  };

  PetscFunctionBegin;
  rows.t   = SpikeKrylovBlockItem<BLOCKSIZE>(h, A, A->mb, SpikeMultResident<SpikeKrylovBlockRows<BLOCKSIZE>>);
  rows.t.X = args->x;
  if (!c->loan.begin) PetscCall(inside(args, &blocks));
  else {
    const SpikeKrylovOffBlocks waiting = SpikeKrylovWaitingBlocks(h, c, args->y);

    PetscCall(SpikeKrylovMultWaiting<STEPID>(h, c, waiting, SpikeKrylovBlockWarps(&waiting.t), args, inside));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBlocksMult_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                          const SpikeKrylovMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
    return SpikeKrylovBlocksDispatch(c->loan.block, [&](auto size) {
      return SpikeKrylovBlocksLaunch<decltype(constant)::value, decltype(size)::value>(h, c, a);
    });
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
