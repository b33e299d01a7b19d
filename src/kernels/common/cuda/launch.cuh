/* SPDX-License-Identifier: BSD-2-Clause */
/* launch.cuh: kernels whose launch overlaps the end of the previous kernel */
#pragma once

#include "device.cuh"

/*
  SpikeLaunchEarly() launches a kernel that may start before the previous kernel has ended, if resources are free.
  Otherwise it starts when that one ends, without launch latency (programmatic dependent launch; in a graph an edge of
  that kind).

  SpikeAwait()    every thread calls it before it reads what earlier kernels have written, before it writes anything,
                  and before it ends. After it all earlier work on the stream is complete, because each kernel waits so.
                  Results of setup may be read before it: the host has waited after setup
  SpikeRelease()  the next kernel may start when all thread blocks have called it or have ended. Without it the next
                  kernel starts when this one ends

  Neither changes what is computed; both do nothing in an ordinary launch.

  What an earlier kernel writes is no const __restrict__ parameter of a kernel that is launched early: it changes while
  the kernel lives, and the compiler may read it past the order of memory (ld.global.nc), or before SpikeAwait()

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
static inline cudaError_t SpikeLaunchEarly(const void *kernel, dim3 grid, dim3 threads, size_t shared,
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
static inline cudaError_t SpikeLaunchEarly(void (*kernel)(P...), dim3 grid, dim3 threads, size_t shared,
                                           cudaStream_t stream, A... arguments)
{
  return [&](P... values) {
    void *list[] = {(void *)&values...};

    return SpikeLaunchEarly((const void *)kernel, grid, threads, shared, stream, list);
  }(arguments...);
}
