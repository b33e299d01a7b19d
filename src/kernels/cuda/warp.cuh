/* SPDX-License-Identifier: BSD-2-Clause */
/* warp.cuh: what the lanes of a warp do together */
#pragma once

#include "tiles.cuh"

#include <type_traits>

#define SPIKE_WARP 0xffffffffu

__device__ static inline PetscScalar SpikeShfl(PetscScalar v, int lane)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(__shfl_sync(SPIKE_WARP, v.real(), lane), __shfl_sync(SPIKE_WARP, v.imag(), lane));
#else
  return __shfl_sync(SPIKE_WARP, v, lane);
#endif
}

#if !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
__device__ static inline float SpikeShfl(float v, int lane)
{
  return __shfl_sync(SPIKE_WARP, v, lane);
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
  for (int d = 16; d; d /= 2) {
    const X w = __shfl_xor_sync(SPIKE_WARP, v, d);

    v = w > v ? w : v;
  }
  return v;
}

/* y + a x, and y - a x */
__device__ static inline PetscScalar SpikeFma(PetscScalar a, PetscScalar x, PetscScalar y)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(y.real() + a.real() * x.real() - a.imag() * x.imag(), y.imag() + a.real() * x.imag() + a.imag() * x.real());
#else
  return y + a * x;
#endif
}

#if !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
__device__ static inline float SpikeFma(float a, float x, float y)
{
  return y + a * x;
}
#endif

/*
  Products with factors of type F are made in SpikeProductType<F>. Real factors in less precision than vectors have: single precision, for to convert a factor takes as long as eight
  products. The vector of a product, a number a lane, is power w then, power a power of two, 2^-41 <= |w| < 2^-40 for the largest: no factor in single precision makes a product
  overflow, and of what is smaller than the largest 2^86 times is kept.
*/
#if !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
template <typename F>
struct SpikeProductType {
  typedef float type;
};
template <>
struct SpikeProductType<double> {
  typedef double type;
};
#else
template <typename F>
struct SpikeProductType {
  typedef PetscScalar type;
};
#endif

/* w of the lane, and the power of the warp; lanes that are not active count for nothing */
template <typename A>
__device__ static inline A SpikeScale(PetscScalar v, bool active, PetscReal *power)
{
#if !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
  if constexpr (!std::is_same<A, PetscScalar>::value) {
    const unsigned int most  = __reduce_max_sync(SPIKE_WARP, active ? (unsigned int)__double2hiint(v) & 0x7ff00000u : 0u); /* exponent, biased by 1023, at bit 20 */
    const int          scale = PetscMax(0x7fe00000 - (40 << 20) - (int)most, 0x00100000);

    *power = __hiloint2double(0x7fe00000 - scale, 0);
    return (A)(v * __hiloint2double(scale, 0));
  } else
#endif
  {
    (void)active;
    *power = 1.0;
    return v;
  }
}

/* power times a sum of products */
template <typename A>
__device__ static inline PetscScalar SpikeUnscale(PetscReal power, A sum)
{
  if constexpr (std::is_same<A, PetscScalar>::value) return sum;
  else return power * (PetscScalar)sum;
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
