/* SPDX-License-Identifier: BSD-2-Clause */
/* scalar.cuh: numbers on the device: types of factors, conversions, loads */
#pragma once

#include "unroll.cuh"

#include <petscdevice_cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#if defined(PETSC_USE_COMPLEX)
  #include <thrust/complex.h>
#endif
#include <petscspike.h>
extern "C" {
#include "kernels/common/types.h"
}

/*
  16 bits of bf16 or else fp16 from and to single precision: to the nearest, ties to even, too large becomes infinite
*/
template <bool BF>
__host__ __device__ static inline unsigned short SpikeNarrowBits(float v)
{
  return BF ? __bfloat16_as_ushort(__float2bfloat16_rn(v)) : __half_as_ushort(__float2half_rn(v));
}

template <bool BF>
__host__ __device__ static inline float SpikeNarrowValue(unsigned short bits)
{
  return BF ? __bfloat162float(__ushort_as_bfloat16(bits)) : __half2float(__ushort_as_half(bits));
}

/*
  Types of the factors. Those of 16 bits a real number are for storage: they come from and turn into numbers of the
  arithmetic
*/
#if defined(PETSC_USE_COMPLEX)
typedef thrust::complex<double> SpikeDouble;
typedef thrust::complex<float>  SpikeSingle;

template <bool BF>
struct alignas(4) SpikeNarrow {
  unsigned short re, im;

  SpikeNarrow() = default;
  __host__ __device__ SpikeNarrow(double v) : re(SpikeNarrowBits<BF>((float)v)), im(0) { }
  template <typename R>
  __host__ __device__ SpikeNarrow(thrust::complex<R> v) :
    re(SpikeNarrowBits<BF>((float)v.real())), im(SpikeNarrowBits<BF>((float)v.imag()))
  {
  }
  template <typename R>
  __host__ __device__ operator thrust::complex<R>() const
  {
    return thrust::complex<R>((R)SpikeNarrowValue<BF>(re), (R)SpikeNarrowValue<BF>(im));
  }
};
#else
typedef double SpikeDouble;
typedef float  SpikeSingle;

template <bool BF>
struct SpikeNarrow {
  unsigned short bits;

  SpikeNarrow() = default;
  __host__ __device__ SpikeNarrow(float v) : bits(SpikeNarrowBits<BF>(v)) { }
  __host__ __device__ SpikeNarrow(double v) : bits(SpikeNarrowBits<BF>((float)v)) { }
  __host__ __device__ operator float() const { return SpikeNarrowValue<BF>(bits); }
};
#endif
typedef SpikeNarrow<true>  SpikeBF16;
typedef SpikeNarrow<false> SpikeFP16;

/* call, with F the type of the factors of that precision */
#define SpikeDispatchPrecision(precision, call) \
  do { \
    if ((precision) == PETSC_SPIKE_PRECISION_DOUBLE) { \
      typedef SpikeDouble F; \
      call; \
    } else if ((precision) == PETSC_SPIKE_PRECISION_SINGLE) { \
      typedef SpikeSingle F; \
      call; \
    } else if ((precision) == PETSC_SPIKE_PRECISION_BF16) { \
      typedef SpikeBF16 F; \
      call; \
    } else { \
      typedef SpikeFP16 F; \
      call; \
    } \
  } while (0)

template <typename F>
__device__ static inline PetscScalar SpikeLoad(const F *a)
{
  return (PetscScalar)*a;
}

__device__ static inline PetscReal SpikeAbs(PetscScalar v)
{
  return PetscAbsScalar(v);
}
