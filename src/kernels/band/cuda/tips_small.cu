/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_small.cu: tips with T <= 16 */
#include "tips_narrow.cuh"

template <typename F>
static PetscErrorCode SpikeTipsSmall_Private(const SpikeTipsArgs &a, const SpikeDevice *gpu, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.t.T <= 8) PetscCall((SpikeTipsNarrowLaunch_Private<F, 1, 1>(a, gpu, stream)));
  else PetscCall((SpikeTipsNarrowLaunch_Private<F, 2, 1>(a, gpu, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTipsSmall_CUDA(PetscSpikePrecision precision, const SpikeTipsArgs *a, const SpikeDevice *gpu,
                                   cudaStream_t stream)
{
  PetscFunctionBegin;
  SpikeDispatchPrecision(precision, PetscCall(SpikeTipsSmall_Private<F>(*a, gpu, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
