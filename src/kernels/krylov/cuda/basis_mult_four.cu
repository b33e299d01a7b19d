/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_four.cu: products of copies with the inner products of four vectors in the epilogue, on one rank */
#include "basis_mult.cuh"

PetscErrorCode SpikeBasisMultFour_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                       const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall((SpikeBasisMultForm<PetscScalar, 4>(h, c, a)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
