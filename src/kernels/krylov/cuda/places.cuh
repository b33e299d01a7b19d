/* SPDX-License-Identifier: BSD-2-Clause */
/* places.cuh: loads of the places of a copy of a matrix, and what the caches do with them */
#pragma once

#include "kernels/common/cuda/warp.cuh"

/*
  What the L2 cache does with places of a copy. leaving: they go before vectors do, which an iteration reads several
  times
*/
__device__ static __forceinline__ unsigned long long SpikePlacePolicy(bool leaving)
{
  unsigned long long policy = 0;

#if __CUDA_ARCH__ >= 800
  if (leaving) asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  else asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

/* A place of a copy, which nobody writes */
template <typename V>
__device__ static __forceinline__ V SpikeLoadPlace(const V *p, unsigned long long policy)
{
  V v;

  static_assert(sizeof(V) == 2 || sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16, "no load of this size");
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(V) == 16) {
    unsigned long long w[2];

    asm("ld.global.L2::cache_hint.v2.b64 {%0, %1}, [%2], %3;" : "=l"(w[0]), "=l"(w[1]) : "l"(p), "l"(policy));
    memcpy((void *)&v, w, 16);
  } else if constexpr (sizeof(V) == 8) {
    unsigned long long w;

    asm("ld.global.L2::cache_hint.b64 %0, [%1], %2;" : "=l"(w) : "l"(p), "l"(policy));
    memcpy((void *)&v, &w, 8);
  } else if constexpr (sizeof(V) == 4) {
    unsigned int w;

    asm("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(w) : "l"(p), "l"(policy));
    memcpy((void *)&v, &w, 4);
  } else {
    unsigned short w;

    asm("ld.global.L2::cache_hint.b16 %0, [%1], %2;" : "=h"(w) : "l"(p), "l"(policy));
    memcpy((void *)&v, &w, 2);
  }
#else
  v = *p;
#endif
  return v;
}

/* A value that nobody reads again before caches lose it */
template <typename V>
__device__ static __forceinline__ V SpikeLoadOnce(const V *p)
{
  V v;

  SpikeLoadStream<V, 1>(p, &v);
  return v;
}
