/* SPDX-License-Identifier: BSD-2-Clause */
/*
  vectors.h: vector registers of doubles and singles for one instruction set, and elements of PetscScalar with the same
  names; included once by a file *_isa.c
*/
#include "target.h"
#include <float.h>
#if defined(__AVX2__)
  #include <immintrin.h>
#endif

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

typedef PetscScalar S; /* the vectors' elements, and the sweeps' arithmetic */

/* x <- conj(b), nrhs columns of n rows; in real numbers nothing, where x is b */
SPIKE_INLINE void SpikeConjugate(PetscCount n, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  for (PetscInt r = 0; PetscDefined(USE_COMPLEX) && r < nrhs; r++)
    for (PetscCount i = 0; i < n; i++) x[r * ldx + i] = SpikeConj(b[r * ldb + i]);
}

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
#include "kernels/common/host/simd.h"
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
#include "kernels/common/host/simd.h"

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
