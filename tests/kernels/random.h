/* SPDX-License-Identifier: BSD-2-Clause */
/* random.h: numbers in [-1, 1), exact in single precision: a sequence from `seed` on, and others */
#pragma once

#include <petscsys.h>

static unsigned long long seed = 1;

/* splitmix64 */
static inline double Uniform(void)
{
  unsigned long long z = (seed += 0x9E3779B97F4A7C15ULL);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (double)(z >> 44) / 524288.0 - 1.0;
}

static inline PetscScalar Random(void)
{
#if defined(PETSC_USE_COMPLEX)
  const PetscReal re = (PetscReal)Uniform();

  return PetscCMPLX(re, (PetscReal)Uniform());
#else
  return (PetscScalar)Uniform();
#endif
}

/* The square of a difference of two complex numbers is up to 8, which bounds of sums are multiples of */
#define NUMBERS_SIZE (PetscDefined(USE_COMPLEX) ? 8 : 1)

/* By seed and place alone, in both parts of complex numbers */
static inline PetscScalar NumberAt(PetscInt seed, PetscInt i)
{
  const PetscInt64 k = i;
  const PetscReal  a = (PetscReal)((seed * 7919 + k * 104729 + 13) % 10007) / 5003.5 - 1.0,
                  b  = (PetscReal)((seed * 6007 + k * 92821 + 5) % 10009) / 5004.5 - 1.0;

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(a, b);
#else
  return a + (PetscReal)0.25 * b;
#endif
}
