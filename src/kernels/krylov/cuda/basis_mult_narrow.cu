/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_narrow.cu: products of narrow copies with the inner products of a basis step in the epilogue */
#include "basis_mult.cuh"

PetscErrorCode SpikeBasisMultNarrow_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                         const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  if (c->base.precision == PETSC_SPIKE_PRECISION_BF16) PetscCall(SpikeBasisMultValues<SpikeBF16>(h, c, a));
  else PetscCall(SpikeBasisMultValues<SpikeSingle>(h, c, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
