/* SPDX-License-Identifier: BSD-2-Clause */
/* band_isa.c: the tables of band kernels for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this file once for each */
#include "../kernels.h"
#include "half.h"
#include "band.h"
#include <float.h>
#if defined(__AVX2__)
  #include <immintrin.h>
#endif
#include "isa.h"

/* name shown to the user, prefix of intrinsics */
#if defined(__AVX512F__)
  #define SPIKE_ISANAME  "x86-64-v4"
  #define SPIKE_MM(name) _mm512_##name
#elif defined(__AVX2__)
  #define SPIKE_ISANAME  "x86-64-v3"
  #define SPIKE_MM(name) _mm256_##name
#else
  #define SPIKE_ISANAME "baseline"
#endif

/* a b + c of real numbers: fused where that is one instruction */
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
  #define VFAST_FMA
#endif

#define SPIKE_WINDOW 8
#define SPIKE_COLS   8    /* columns at a time in the other sweeps */
#define SPIKE_AHEAD  4095 /* bytes from the next block to the one that they ask memory for, by measurement */
#if defined(__AVX512F__)
  #define SPIKE_ACC 16 /* vectors of sums in registers */
#else
  #define SPIKE_ACC 8
#endif

typedef PetscScalar S; /* the vectors' elements, and the sweeps' arithmetic */

#if defined(VFAST_FMA)
  #define VFMA1(a, b, c) __builtin_fma(a, b, c)
#else
  #define VFMA1(a, b, c) ((a) * (b) + (c))
#endif
#define E          SPIKE_FIELD(double)
#define V(name)    vd_##name
#define VSUF(name) SPIKE_PASTE2(name, _pd)
#define VINT       long long
#if SPIKE_VBYTES == 32
  #define SPIKE_ONES -1, -1, -1, -1
#else
  #define SPIKE_ONES -1, -1
#endif
#include "band_simd.h"
#undef VFMA1
#undef E
#undef V
#undef VSUF
#undef VINT

#if defined(VFAST_FMA)
  #define VFMA1(a, b, c) __builtin_fmaf(a, b, c)
#else
  #define VFMA1(a, b, c) ((a) * (b) + (c))
#endif
#define E          SPIKE_FIELD(float)
#define V(name)    vf_##name
#define VSUF(name) SPIKE_PASTE2(name, _ps)
#define VINT       int
#undef SPIKE_ONES
#if SPIKE_VBYTES == 32
  #define SPIKE_ONES -1, -1, -1, -1, -1, -1, -1, -1
#else
  #define SPIKE_ONES -1, -1, -1, -1
#endif
#include "band_simd.h"

/* vectors of S, and the same names for one element */
#if defined(PETSC_USE_REAL_SINGLE)
  #define VS(name) vf_##name
#else
  #define VS(name) vd_##name
#endif
typedef S s1_t;
#define s1_fnma(a, b, c) VS(fnma1)(a, b, c)
#define s1_mul(a, b)     VS(mul1)(a, b)
#define s1_set1(a)       (a)

#define T(name)    name##_double
#define VF(name)   vd_##name
#define PRECISION  double
#define FREAL      double
#define FREAL_MIN  DBL_MIN
#define FREAL_MAX  DBL_MAX
#define FREAL_SIZE 8
#include "band_template.h"
#undef T
#undef VF
#undef PRECISION
#undef FREAL
#undef FREAL_MIN
#undef FREAL_MAX
#undef FREAL_SIZE

#define T(name)    name##_single
#define VF(name)   vf_##name
#define PRECISION  single
#define FREAL      float
#define FREAL_MIN  FLT_MIN
#define FREAL_MAX  FLT_MAX
#define FREAL_SIZE 4
#include "band_template.h"

/* not of the band, but of the same kind */
#include "krylov_template.h"
#include "krylov_block.h"
#include "dia_template.h"
#include "stencil_template.h"
#include "tridiagonal_template.h"

#undef T
#undef VF
#undef PRECISION
#undef FREAL
#undef FREAL_MIN
#undef FREAL_MAX
#undef FREAL_SIZE

#define SPIKE_HALF_COLS 32 /* columns that become final before the others move */
#define SPIKE_HALF_ROWS 64 /* converted at a time */
#define SPIKE_HALF_SUMS 8
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_PARTS 2
#else
  #define SPIKE_PARTS 1
#endif

#define T(name)   name##_bf16
#define PRECISION bf16
#define FROM16    SpikeFromBF16
#define TO16      SpikeToBF16
#define F16_MAX   SpikePrecisionMax(PC_SPIKE_PRECISION_BF16)
#define F16_LEAST SpikePrecisionLeast(PC_SPIKE_PRECISION_BF16)
#include "band_half.h"
#undef T
#undef PRECISION
#undef FROM16
#undef TO16
#undef F16_MAX
#undef F16_LEAST

#define T(name)   name##_fp16
#define PRECISION fp16
#define FROM16    SpikeFromFP16
#define TO16      SpikeToFP16
#define F16_MAX   SpikePrecisionMax(PC_SPIKE_PRECISION_FP16)
#define F16_LEAST SpikePrecisionLeast(PC_SPIKE_PRECISION_FP16)
#include "band_half.h"
