/* SPDX-License-Identifier: BSD-2-Clause */
/* target.h: what files that are compiled for each instruction set share */
#pragma once

#if !defined(SPIKE_ISA)
  #define SPIKE_ISA base
#endif
#define SPIKE_PASTE2_(a, b)    a##b
#define SPIKE_PASTE2(a, b)     SPIKE_PASTE2_(a, b)
#define SPIKE_PASTE3_(a, b, c) a##b##_##c
#define SPIKE_PASTE3(a, b, c)  SPIKE_PASTE3_(a, b, c)
#define SPIKE_STRING_(a)       #a
#define SPIKE_STRING(a)        SPIKE_STRING_(a)
#define SPIKE_INLINE           static inline __attribute__((always_inline, unused))
#define SPIKE_UNROLL           _Pragma("GCC unroll 16")

/* Loops that the compiler unrolls, nested ones with the first counter outermost */
#define SpikeUnroll(i, n) SPIKE_UNROLL for (int i = 0; i < (n); i++)
#define SpikeUnroll2(i, n, j, m) \
  SpikeUnroll(i, n) \
    SpikeUnroll(j, m)
#define SpikeUnroll3(i, n, j, m, k, l) \
  SpikeUnroll2(i, n, j, m) \
    SpikeUnroll(k, l)

/* bytes of a vector register */
#if defined(__AVX512F__)
  #define SPIKE_VBYTES 64
#elif defined(__AVX2__)
  #define SPIKE_VBYTES 32
#else
  #define SPIKE_VBYTES 16
#endif

#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_FIELD(real) real _Complex
  #define SpikeConj(a)      __builtin_complex(__real__(a), -__imag__(a))
#else
  #define SPIKE_FIELD(real) real
  #define SpikeConj(a)      (a)
#endif
