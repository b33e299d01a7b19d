/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_small.cu: tips with T <= 16 */
#include "tips_narrow.cuh"

PetscErrorCode SpikeTipsSmall_CUDA(PetscSpikePrecision precision, const SpikeTipsArgs *a, const SpikeDevice *gpu,
                                   cudaStream_t stream)
{
  PetscFunctionBegin;
  SpikeDispatchPrecision(precision, PetscCall((SpikeTipsNarrowLaunch_Private<F, true>(*a, gpu, stream))));
  PetscFunctionReturn(PETSC_SUCCESS);
}
