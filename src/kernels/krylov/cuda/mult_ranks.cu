/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_ranks.cu: products of copies with a step in the epilogue, some rows of which want columns of other ranks */
#include "mult_kernel.cuh"

PetscErrorCode SpikeKrylovMultRanks_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                         const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultRanksValues<PetscScalar>(h, c, step, a, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}
