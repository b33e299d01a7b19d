/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_narrow.cu: products of narrow copies with a step in the epilogue */
#include "mult_kernel.cuh"

PetscErrorCode SpikeKrylovMultNarrow_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                          const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  if (c->base.precision == PETSC_SPIKE_PRECISION_BF16)
    PetscCall(SpikeKrylovMultRanksValues<SpikeBF16>(h, c, step, a, blocks));
  else PetscCall(SpikeKrylovMultRanksValues<SpikeSingle>(h, c, step, a, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}
