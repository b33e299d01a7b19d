/* SPDX-License-Identifier: BSD-2-Clause */
/* async.cuh: copies that do not wait, and barriers in shared memory */
#pragma once

#include "scalar.cuh"

/*
  Copies BYTES bytes from global to shared memory, not by way of registers. The thread that copies sees them after one
  of the waits below, the others after a barrier that follows it; 2 bytes are there at once. PAST: 16 bytes that do not
  stay in the L1 cache.
*/
template <int BYTES, bool PAST = false>
__device__ static inline void SpikeCopyAsync(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
  const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);

  if constexpr (BYTES == 2) *(unsigned short *)to = *(const unsigned short *)from;
  else if constexpr (PAST && BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
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

/* The line that holds *a is fetched into the L2 cache */
__device__ static inline void SpikePrefetch(const void *a)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
}

/*
  An mbarrier in shared memory: a phase ends with the arrival of `count`. Parity 0 is the first phase, 1 the next, and
  so on. Threads that waited see what others wrote to shared memory before they arrived.
*/
__device__ static inline unsigned int SpikeMbarrierAddress(const unsigned long long *barrier)
{
  return (unsigned int)__cvta_generic_to_shared(barrier);
}

__device__ static inline void SpikeMbarrierInit(unsigned long long *barrier, int count)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(SpikeMbarrierAddress(barrier)), "r"(count) : "memory");
#endif
}

/* Each lane arrives for itself: racecheck of compute-sanitizer follows neither __syncwarp() nor bar.arrive */
__device__ static inline void SpikeMbarrierArrive(unsigned long long *barrier)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(SpikeMbarrierAddress(barrier)) : "memory");
#endif
}

__device__ static inline void SpikeMbarrierWait(unsigned long long *barrier, unsigned int parity)
{
#if __CUDA_ARCH__ >= 800
  unsigned int done;

  do {
  #if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(SpikeMbarrierAddress(barrier)), "r"(parity)
                 : "memory");
  #else
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(SpikeMbarrierAddress(barrier)), "r"(parity)
                 : "memory");
  #endif
  } while (!done);
#endif
}

#if __CUDA_ARCH__ >= 900
/* The phase of *barrier, which wants one arrival, ends when so many bytes of bulk copies have come too; one thread */
__device__ static inline void SpikeMbarrierExpect(unsigned long long *barrier, unsigned int bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(SpikeMbarrierAddress(barrier)), "r"(bytes)
               : "memory");
}

/*
  Copies a multiple of 16 bytes between places that are such multiples; *barrier hears of it. A bulk copy is not in
  order with loads of shared memory that were issued before it: SpikeCopyBulkFence() lies between the two
*/
__device__ static inline void SpikeCopyBulk(void *to, const void *from, unsigned int bytes, unsigned long long *barrier)
{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                 (unsigned int)__cvta_generic_to_shared(to)),
               "l"(from), "r"(bytes), "r"(SpikeMbarrierAddress(barrier))
               : "memory");
}

__device__ static inline void SpikeCopyBulkFence()
{
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#endif
