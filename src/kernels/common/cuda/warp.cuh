/* SPDX-License-Identifier: BSD-2-Clause */
/* warp.cuh: what the lanes of a warp do together */
#pragma once

#include "scalar.cuh"

#include <type_traits>

#define SPIKE_WARP 0xffffffffu

template <typename V>
__device__ static inline V SpikeShfl(V v, int lane)
{
  return __shfl_sync(SPIKE_WARP, v, lane);
}

#if defined(PETSC_USE_COMPLEX)
template <typename R>
__device__ static inline thrust::complex<R> SpikeShfl(thrust::complex<R> v, int lane)
{
  return thrust::complex<R>(__shfl_sync(SPIKE_WARP, v.real(), lane), __shfl_sync(SPIKE_WARP, v.imag(), lane));
}
#endif

/* Sum over the lanes, the same order in each of them */
__device__ static inline PetscScalar SpikeWarpSum(PetscScalar v)
{
  for (int d = 16; d; d /= 2) v += SpikeShfl(v, (int)(threadIdx.x & 31) ^ d);
  return v;
}

template <typename X>
__device__ static inline X SpikeWarpMax(X v)
{
#if __CUDA_ARCH__ >= 800
  constexpr bool reduces = std::is_same<X, int>::value; /* by an instruction */
#else
  constexpr bool reduces = false;
#endif

  if constexpr (reduces) return __reduce_max_sync(SPIKE_WARP, v);
  else {
    for (int d = 16; d; d /= 2) {
      const X w = __shfl_xor_sync(SPIKE_WARP, v, d);

      v = w > v ? w : v;
    }
    return v;
  }
}

/* y + a x, and y - a x */
__device__ static inline PetscScalar SpikeFma(PetscScalar a, PetscScalar x, PetscScalar y)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(y.real() + a.real() * x.real() - a.imag() * x.imag(),
                     y.imag() + a.real() * x.imag() + a.imag() * x.real());
#else
  return y + a * x;
#endif
}

/* v[0 .. V) <- a[0 .. V), one load of up to 16 bytes that does not push other data out of the caches */
template <typename F, int V>
__device__ static inline void SpikeLoadStream(const F *a, F v[])
{
  constexpr int bytes = (int)sizeof(F) * V;

  static_assert(bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16, "no load of this size");
  if constexpr (bytes == 16) {
    const int4 w = __ldcs((const int4 *)a);

    memcpy((void *)v, &w, 16);
  } else if constexpr (bytes == 8) {
    const int2 w = __ldcs((const int2 *)a);

    memcpy((void *)v, &w, 8);
  } else if constexpr (bytes == 2) {
    const unsigned short w = __ldcs((const unsigned short *)a);

    memcpy((void *)v, &w, 2);
  } else {
    const int w = __ldcs((const int *)a);

    memcpy((void *)v, &w, 4);
  }
}
