/* SPDX-License-Identifier: BSD-2-Clause */
/*
  half.h: 16-bit numbers from and to single precision, by integer operations that compilers vectorize on every
  instruction set
*/
#pragma once

#include <petscsys.h>
#include <string.h>

/* An element of the factors */
#if defined(PETSC_USE_COMPLEX)
typedef struct {
  unsigned short re, im;
} SpikeHalf;
#else
typedef unsigned short SpikeHalf;
#endif

static inline float SpikeFloatOfBits(unsigned int bits)
{
  float f;

  memcpy(&f, &bits, sizeof(f));
  return f;
}

static inline unsigned int SpikeBitsOfFloat(float f)
{
  unsigned int bits;

  memcpy(&bits, &f, sizeof(bits));
  return bits;
}

/* bf16 is the upper half of a float */
static inline float SpikeFromBF16(unsigned short h)
{
  return SpikeFloatOfBits((unsigned int)h << 16);
}

/* To the nearest, ties to even; too large becomes infinite, NaN stays NaN */
static inline unsigned short SpikeToBF16(float f)
{
  const unsigned int b = SpikeBitsOfFloat(f), rounded = (b + 0x7FFF + (b >> 16 & 1)) >> 16;

  return (unsigned short)((b & 0x7FFFFFFF) > 0x7F800000 ? b >> 16 | 0x40 : rounded);
}

/* fp16: 5 bits of exponent. Subnormal numbers are what exceeds 2^-14 in a number of that exponent */
static inline float SpikeFromFP16(unsigned short h)
{
  const unsigned int m = (unsigned int)(h & 0x7FFF) << 13, sign = (unsigned int)(h & 0x8000) << 16;
  const unsigned int normal = m + (m >= 0x0F800000 ? 0x70000000 : 0x38000000),
                     small  = SpikeBitsOfFloat(SpikeFloatOfBits(m + 0x38800000) - SpikeFloatOfBits(0x38800000));

  return SpikeFloatOfBits((m < 0x00800000 ? small : normal) | sign);
}

/* The same roundings. Below 2^-14 the sum with 1/2 has the places of a subnormal number */
static inline unsigned short SpikeToFP16(float f)
{
  const unsigned int b = SpikeBitsOfFloat(f), a = b & 0x7FFFFFFF, sign = b >> 16 & 0x8000;
  const unsigned int normal = (a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13,
                     small  = SpikeBitsOfFloat(SpikeFloatOfBits(a < 0x38800000 ? a : 0) + 0.5f) - 0x3F000000;
  const unsigned int large  = a > 0x7F800000 ? 0x7E00 : 0x7C00;

  return (unsigned short)(sign | (a >= 0x477FF000 ? large : a < 0x38800000 ? small : normal));
}
