/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_ranks.cu: products of copies on several ranks with the inner products of a basis step in the epilogue */
#include "basis_mult.cuh"

PetscErrorCode SpikeBasisMultRanks_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                        const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeBasisMultDispatch(a->b->last - a->b->first, [&](auto constant) {
    return SpikeBasisMultRanks<PetscScalar, decltype(constant)::value>(h, c, a);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
