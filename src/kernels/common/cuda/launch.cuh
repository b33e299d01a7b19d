/* SPDX-License-Identifier: BSD-2-Clause */
/* launch.cuh: kernels whose launch overlaps the end of the kernel in front */
#pragma once

#include "fit.cuh"

/*
  SpikeLaunchBehind() launches a kernel that begins while the one in front still runs, as far as there is room, or else
  when that one ends, but without the time of a launch (programmatic dependent launch; in a graph an edge of that kind).
  Every thread calls SpikeAwait() before it reads what kernels in front have written, before it writes anything, and
  before it ends: then all work in front is complete, for each kernel has waited so. Results of setup may be read
  before, as a host has waited between. SpikeRelease() lets the next kernel begin, when all thread blocks have called it
  or have ended; without it that is the end. Neither changes what is computed; both do nothing in an ordinary launch.

  Early thread blocks take the first places that become free, and so are not spread evenly over the device: sweeps that
  called SpikeRelease() at their beginning were slower by a quarter. Kernels with as many thread blocks as the device
  holds at once do not release early.
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
