/* SPDX-License-Identifier: BSD-2-Clause */
/* launch.cuh: kernels whose launch overlaps the end of the kernel in front */
#pragma once

#include "fit.cuh"

/*
  A kernel that SpikeLaunchBehind() launches begins while the one in front still runs, as far as there is room for its
  blocks, or else when that one ends, but without the time of a launch (programmatic dependent launch; in a graph an
  edge of that kind). Every thread of it calls SpikeAwait() before it reads what kernels in front have written, writes
  anything, or ends:
  then all that is in front is complete, for each kernel has waited so. What setup has left may be read before, as a
  host has waited between. SpikeRelease() lets the next kernel begin, when all blocks have called it or have ended;
  without it that is the end. Neither changes what is computed, and both do nothing in an ordinary launch.

  Blocks that come early take the first places that become free, and so are not spread evenly: on an H200 sweeps that
  called SpikeRelease() at their beginning made an apply at N = 1e6, K = 32 take 0.235 ms, not 0.183. Kernels whose
  blocks are as many as a device holds at once are not released early.
*/
__device__ static __forceinline__ void SpikeRelease(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__device__ static __forceinline__ void SpikeAwait(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/* A kernel whose code does not wait is launched as any other */
static inline cudaError_t SpikeLaunchBehind(const void *kernel, dim3 grid, dim3 threads, size_t shared,
                                            cudaStream_t stream, void **arguments)
{
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attribute;
  bool                waits = false;
  const cudaError_t   error = SpikeKernelWaits(kernel, &waits);

  if (error != cudaSuccess) return error;
  attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim                                       = grid;
  config.blockDim                                      = threads;
  config.dynamicSmemBytes                              = shared;
  config.stream                                        = stream;
  config.attrs                                         = &attribute;
  config.numAttrs                                      = waits ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

/* The same with the kernel's own arguments; P are its parameters' types */
template <typename... P, typename... A>
static inline cudaError_t SpikeLaunchBehind(void (*kernel)(P...), dim3 grid, dim3 threads, size_t shared,
                                            cudaStream_t stream, A... arguments)
{
  return [&](P... values) {
    void *list[] = {(void *)&values...};

    return SpikeLaunchBehind((const void *)kernel, grid, threads, shared, stream, list);
  }(arguments...);
}
