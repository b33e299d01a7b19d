/* SPDX-License-Identifier: BSD-2-Clause */
/*
  device.cuh: what the current device has, and what a kernel can have of it. A device is asked once, a kernel once on
  each device; no file asks CUDA for that by itself.
*/
#pragma once

#include <petscdevice_cuda.h>

typedef struct {
  int  number, major, minor; /* of the device; its compute capability                                */
  int  multiprocessors;
  int  shared;      /* bytes of shared memory of a thread block, at most, when its kernel opts in */
  int  cache;       /* bytes of the L2 cache                                                      */
  bool cooperative; /* grids can be launched that are on the device as a whole                    */
} SpikeDevice;

/*
  The current device; the struct stays where it is. An error below compute capability 8.0, where barriers are missing
*/
PETSC_INTERN PetscErrorCode SpikeDeviceGet(const SpikeDevice **);

/*
  *resident <- thread blocks of a kernel that a multiprocessor of the current device holds at once, with `threads`
  threads and `shared` bytes of dynamic shared memory each; 0 where it holds none. The kernel may be launched so from
  then on: where it needs it, its limit of shared memory becomes that of the device, whatever other callers ask for.
*/
PETSC_INTERN PetscErrorCode SpikeKernelResident(const void *kernel, int threads, size_t shared, int *resident);

/* The same where nothing else can be done: an error that names kernel and device where it holds none */
PETSC_INTERN PetscErrorCode SpikeKernelFit(const void *kernel, int threads, size_t shared, int *resident = NULL);

/*
  *clusters <- how many clusters of so many thread blocks of this kernel the current device can hold at once, 0 where it
  holds none. They may be launched from then on: with more than 8 of them where its clusters may be that large. Never
  below compute capability 9.0, nor where the code that the device has loaded is of an earlier one
*/
PETSC_INTERN PetscErrorCode SpikeKernelCluster(const void *kernel, int blocks, int threads, size_t shared,
                                               int *clusters);

/* A launch of such clusters; arguments as in cudaLaunchKernelExC() */
PETSC_INTERN PetscErrorCode SpikeLaunchCluster(const void *kernel, PetscInt clusters, int blocks, int threads,
                                               size_t shared, cudaStream_t stream, void **arguments);

/* *waits <- whether the code that the device has loaded is that of sm_90 or later, in which SpikeAwait() waits */
PETSC_INTERN cudaError_t SpikeKernelWaits(const void *kernel, bool *waits);
