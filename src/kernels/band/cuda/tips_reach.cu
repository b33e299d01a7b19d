/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_reach.cu: corners and reach of the spikes of symmetric positive definite bands */
#include "band.cuh"
#include "tips.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "tips_reach.cuh"

template <bool ATCORNER>
static PetscErrorCode SpikeReach_Private(const SpikeTipsArgs *a, cudaStream_t stream)
{
  const size_t   shared = SpikeReachShared(a->t.QL, a->t.kl);
  const unsigned blocks = (unsigned)((ATCORNER ? 1 : 2) * (a->t.np + 1));

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeReach_Kernel<SpikeDouble, ATCORNER>, 32 * SPIKE_REACH_WARPS, shared));
  if (ATCORNER) SpikeReach_Kernel<SpikeDouble, ATCORNER><<<blocks, 32 * SPIKE_REACH_WARPS, shared, stream>>>(*a);
  else
    PetscCallCUDA(SpikeLaunchEarly(SpikeReach_Kernel<SpikeDouble, ATCORNER>, dim3(blocks), dim3(32 * SPIKE_REACH_WARPS),
                                   shared, stream, *a));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeReach_CUDA(const SpikeTipsArgs *a, bool atcorner, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (atcorner) PetscCall(SpikeReach_Private<true>(a, stream));
  else PetscCall(SpikeReach_Private<false>(a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else
PetscErrorCode SpikeReach_CUDA(const SpikeTipsArgs *, bool, cudaStream_t)
{
  return PETSC_ERR_PLIB; /* no corners are known of complex ones */
}
#endif
