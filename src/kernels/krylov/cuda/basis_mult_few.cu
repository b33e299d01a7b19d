/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_few.cu: products of copies with the inner products of one or two vectors in the epilogue, on one rank */
#include "basis_mult.cuh"

PetscErrorCode SpikeBasisMultFew_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                      const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  if (a->b->last - a->b->first == 1) PetscCall((SpikeBasisMultForm<PetscScalar, 1>(h, c, a)));
  else PetscCall((SpikeBasisMultForm<PetscScalar, 2>(h, c, a)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
