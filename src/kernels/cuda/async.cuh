/* SPDX-License-Identifier: BSD-2-Clause */
/* async.cuh: copies that do not wait */
#pragma once

#include "tiles.cuh"

/*
  BYTES bytes from the device's memory to that of the block, without a stop at registers; there after one of the waits below for the thread that copies, after a barrier behind it
  for the others; 2 bytes at once. PAST: 16 bytes do not stay in the first-level cache.
*/
template <int BYTES, bool PAST = false>
__device__ static inline void SpikeCopyAsync(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
  const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);

  if constexpr (BYTES == 2) *(unsigned short *)to = *(const unsigned short *)from;
  else if constexpr (PAST && BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES) : "memory");
#else
  memcpy(to, from, BYTES);
#endif
}

/* All copies of the thread are there */
__device__ static inline void SpikeCopyWait()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* The copies since the last commit are a group; all groups but the last PENDING are there */
__device__ static inline void SpikeCopyCommit()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int PENDING>
__device__ static inline void SpikeCopyWaitGroups()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* The line that holds *a is fetched into the second-level cache */
__device__ static inline void SpikePrefetch(const void *a)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
}
