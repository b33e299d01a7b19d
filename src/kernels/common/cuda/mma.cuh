/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mma.cuh: products of 8 x 4 by 4 x 8 pieces, the sums in double precision whatever the type of the values is, real or
  complex
*/
#pragma once

#include "warp.cuh"

/*
  C (8 x 8) += A (8 x 4) B (4 x 8) by a warp. Lane l has A(l / 4, l % 4), B(l % 4, l / 4) and C(l / 4, 2 (l % 4) + e), e
  = 0, 1. This shape is as fast as the ordinary units, half of the tensor cores' rate; its gain is that operands come
  straight from memory, not through shared memory.
*/
__device__ static __forceinline__ void SpikeMMAReal(double c[2], double a, double b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
#else
  const int l = (int)(threadIdx.x & 31);

  SpikeUnroll(k, 4) {
    const double ak = __shfl_sync(SPIKE_WARP, a, (l & ~3) + k);

    SpikeUnroll(e, 2) c[e] = fma(ak, __shfl_sync(SPIKE_WARP, b, 8 * (l % 4) + 4 * e + k), c[e]);
  }
#endif
}

#if defined(PETSC_USE_COMPLEX)
/* re and im of C apart */
struct SpikeMMA {
  double re[2], im[2];

  __device__ __forceinline__ void clear(void) { re[0] = re[1] = im[0] = im[1] = 0.0; }
  template <typename T, typename S>
  __device__ __forceinline__ void add(T a, S b)
  {
    SpikeMMAReal(re, (double)a.real(), (double)b.real());
    SpikeMMAReal(re, -(double)a.imag(), (double)b.imag());
    SpikeMMAReal(im, (double)a.real(), (double)b.imag());
    SpikeMMAReal(im, (double)a.imag(), (double)b.real());
  }
  template <typename T>
  __device__ __forceinline__ void put(int e, T v)
  {
    re[e] = (double)v.real();
    im[e] = (double)v.imag();
  }
  __device__ __forceinline__ SpikeDouble get(int e) const { return SpikeDouble(re[e], im[e]); }
};
#else
struct SpikeMMA {
  double c[2];

  __device__ __forceinline__ void clear(void) { c[0] = c[1] = 0.0; }
  template <typename T, typename S>
  __device__ __forceinline__ void add(T a, S b)
  {
    SpikeMMAReal(c, (double)a, (double)b);
  }
  template <typename T>
  __device__ __forceinline__ void put(int e, T v)
  {
    c[e] = (double)v;
  }
  __device__ __forceinline__ double get(int e) const { return c[e]; }
};
#endif
