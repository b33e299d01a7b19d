/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_reach.cu: the corners of the left spikes of symmetric positive definite bands, before the tips */
#include "band.cuh"
#include "tips.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "tips_reach.cuh"

PetscErrorCode SpikeCorner_CUDA(const SpikeTipsArgs *a, cudaStream_t stream)
{
  const size_t shared = SpikeReachShared(PetscMax(a->t.QL, a->t.QU), PetscMax(a->t.kl, a->t.ku));
  const auto   kernel = SpikeReach_Kernel<SpikeDouble, true>;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, 32 * SPIKE_REACH_WARPS, shared));
  kernel<<<(unsigned)(a->t.np + 1), 32 * SPIKE_REACH_WARPS, shared, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else
PetscErrorCode SpikeCorner_CUDA(const SpikeTipsArgs *, cudaStream_t)
{
  return PETSC_ERR_PLIB; /* no corners are known of complex ones */
}
#endif
