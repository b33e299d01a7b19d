/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_narrow.cu: products of narrow copies with the inner products of a basis step in the epilogue */
#include "basis_mult.cuh"

template <typename V>
static PetscErrorCode SpikeBasisMultNarrow_Private(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                                   const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeBasisMultDispatch(a->b->last - a->b->first, [&](auto constant) {
    constexpr int M = decltype(constant)::value;

    return c->loan.begin ? SpikeBasisMultRanks<V, M>(h, c, a) : SpikeBasisMultForm<V, M>(h, c, a);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBasisMultNarrow_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                         const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  if (c->base.precision == PETSC_SPIKE_PRECISION_BF16) PetscCall(SpikeBasisMultNarrow_Private<SpikeBF16>(h, c, a));
  else PetscCall(SpikeBasisMultNarrow_Private<SpikeSingle>(h, c, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
