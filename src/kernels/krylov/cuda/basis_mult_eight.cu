/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_eight.cu: products of copies with the inner products of eight vectors in the epilogue, on one rank */
#include "basis_mult.cuh"

PetscErrorCode SpikeBasisMultEight_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                        const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall((SpikeBasisMultForm<PetscScalar, 8>(h, c, a)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
