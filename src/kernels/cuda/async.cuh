/* SPDX-License-Identifier: BSD-2-Clause */
/* async.cuh: copies that do not wait, and words by which blocks of threads of one launch tell each other what is done */
#pragma once

#include "tiles.cuh"

/* *to <- *from, from the device's memory to that of the block; there after SpikeCopyWait() for the thread that copies, after a barrier for the others */
template <typename X>
__device__ static inline void SpikeCopyAsync(X *to, const X *from)
{
  static_assert(sizeof(X) == 4 || sizeof(X) == 8 || sizeof(X) == 16, "no copy of this size");
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"((int)sizeof(X)) : "memory");
}

__device__ static inline void SpikeCopyWait(void)
{
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* What the block has written before a barrier is there for those who find the word, and have a barrier after it */
__device__ static inline void SpikePublish(unsigned *word, unsigned value)
{
  __threadfence();
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ static inline void SpikeAwait(const unsigned *word, unsigned value)
{
  unsigned is;

  for (;;) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is) : "l"(word) : "memory");
    if (is == value) break;
    __nanosleep(32);
  }
}

/* *a as another block of the launch has left it, not as it may be in the cache of this multiprocessor */
__device__ static inline PetscScalar SpikeLoadFresh(const PetscScalar *a)
{
#if defined(PETSC_USE_COMPLEX)
  const PetscReal *re = (const PetscReal *)a;

  return PetscScalar(__ldcg(re), __ldcg(re + 1));
#else
  return __ldcg(a);
#endif
}

/* The line that holds *a is fetched into the second-level cache */
__device__ static inline void SpikePrefetch(const void *a)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
}
