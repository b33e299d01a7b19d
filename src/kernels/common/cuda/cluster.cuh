/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cluster.cuh: thread blocks of a cluster, which read each other's shared memory and have a barrier in hardware. Kernels
  that use it are empty below compute capability 9.0; SpikeKernelCluster() refuses them there
*/
#pragma once

#include "scalar.cuh"

/*
  The barrier of a cluster, in two halves: every thread of it that has not ended calls both, in whole warps. After the
  second half a thread sees what the others wrote, to shared or global memory, before their first half
*/
__device__ static __forceinline__ void SpikeClusterArrive(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

/* The first half of a thread that tells of nothing it wrote */
__device__ static __forceinline__ void SpikeClusterArriveRelaxed(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

__device__ static __forceinline__ void SpikeClusterWait(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* Where this place of a thread block's own shared memory is in thread block `rank` of the cluster */
__device__ static __forceinline__ unsigned int SpikeClusterAddress(const void *own, unsigned int rank)
{
  unsigned int address = 0;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"((unsigned int)__cvta_generic_to_shared(own)), "r"(rank));
#endif
  return address;
}

/* What is there. Loads stay in the order of the calls, and do not wait for each other */
__device__ static __forceinline__ PetscReal SpikeClusterLoadReal(unsigned int address)
{
  PetscReal v = 0;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  #if defined(PETSC_USE_REAL_SINGLE)
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(address));
  #else
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(address));
  #endif
#endif
  return v;
}

__device__ static __forceinline__ PetscScalar SpikeClusterLoad(unsigned int address)
{
#if defined(PETSC_USE_COMPLEX)
  const PetscReal re = SpikeClusterLoadReal(address),
                  im = SpikeClusterLoadReal(address + (unsigned int)sizeof(PetscReal));

  return PetscScalar(re, im);
#else
  return SpikeClusterLoadReal(address);
#endif
}

__device__ static __forceinline__ int SpikeClusterLoadInt(unsigned int address)
{
  int v = 0;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(address));
#endif
  return v;
}

/* Thread blocks of a cluster along x, and which of them this one is */
__device__ static __forceinline__ int SpikeClusterSize(void)
{
  unsigned int size = 1;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
#endif
  return (int)size;
}

__device__ static __forceinline__ int SpikeClusterRank(void)
{
  unsigned int rank = 0;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return (int)rank;
}
