/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis_blocks.cu: products of a matrix of blocks, as it lies, with the inner products of a basis step in the epilogue
*/
#include "basis_mult.cuh"
#include "blocks.cuh"

template <int M, int BLOCKSIZE>
static PetscErrorCode SpikeBasisBlocksLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                             const SpikeBasisMultArgs *args)
{
  const SpikeBlockMat            *A = c->loan.block;
  SpikeKrylovBlockRows<BLOCKSIZE> rows;
  PetscInt                        blocks;
  const auto                      inside = [&](const SpikeBasisMultArgs *a, PetscInt *number) {
    return SpikeKrylovInsideDispatch(c, rows, [&](const auto &some) {
      return SpikeBasisMultLaunch<M>(h, some, SpikeKrylovBlockWarps(&rows.t), a, number);
    });
  };

  PetscFunctionBegin;
  rows.t   = SpikeKrylovBlockItem<BLOCKSIZE>(h, A, A->mb, SpikeBasisMultResident<M, SpikeKrylovBlockRows<BLOCKSIZE>>());
  rows.t.X = args->x;
  if (!c->loan.begin) PetscCall(inside(args, &blocks));
  else {
    const SpikeKrylovOffBlocks waiting = SpikeKrylovWaitingBlocks(h, c, args->b->y);

    PetscCall(SpikeBasisMultWaiting<M>(h, c, waiting, SpikeKrylovBlockWarps(&waiting.t), args, inside));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBasisMultBlocks_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                         const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeBasisMultDispatch(a->b->last - a->b->first, [&](auto constant) {
    return SpikeKrylovBlocksDispatch(c->loan.block, [&](auto size) {
      return SpikeBasisBlocksLaunch<decltype(constant)::value, decltype(size)::value>(h, c, a);
    });
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
