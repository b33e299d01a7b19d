/* SPDX-License-Identifier: BSD-2-Clause */
/*
  narrowcase.h: what the product of a narrow copy has to be, for host and device: rounding by arithmetic, not by bits
*/
#pragma once

#include "kernels/krylov/krylov.h"
#include <math.h>

#define REAL_PARTS ((PetscInt)(sizeof(PetscScalar) / sizeof(PetscReal))) /* real numbers of a PetscScalar */

/* v with so many significant bits, to the nearest, ties to even */
static inline double NarrowBits(double v, int bits)
{
  int    e;
  double m = frexp(v, &e);

  return ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

/* 8 bits come by way of 24 */
static inline PetscReal NarrowReal(PetscSpikePrecision precision, PetscReal v)
{
  const double single = NarrowBits((double)v, 24);

  return (PetscReal)(precision == PETSC_SPIKE_PRECISION_BF16 ? NarrowBits(single, 8) : single);
}

static inline PetscScalar NarrowNumber(PetscSpikePrecision precision, PetscScalar v)
{
  PetscReal *part = (PetscReal *)&v;

  for (size_t k = 0; k < sizeof(v) / sizeof(*part); k++) part[k] = NarrowReal(precision, part[k]);
  return v;
}

/* Bytes of a narrow vector of DOTS, of n rows */
static inline size_t NarrowBytes(PetscInt n)
{
  return (size_t)n * REAL_PARTS * 2;
}

/* v of n rows as such a vector: the upper half of bits that arithmetic has rounded */
static inline void NarrowShadow(PetscInt n, const PetscScalar v[], void *column)
{
  for (PetscInt q = 0; q < REAL_PARTS * n; q++) {
    const float  s = (float)NarrowReal(PETSC_SPIKE_PRECISION_BF16, ((const PetscReal *)v)[q]);
    unsigned int bits;

    memcpy(&bits, &s, sizeof(s));
    ((unsigned short *)column)[q] = (unsigned short)(bits >> 16);
  }
}

/* low[k] <- a[k] with fewer digits. Numbers of random.h come again: their rounding, by arithmetic, takes long */
static inline void NarrowNumbers(PetscSpikePrecision precision, PetscInt n, const PetscScalar a[], PetscScalar low[])
{
  const PetscInt again = 10007;

  for (PetscInt k = 0; k < n; k++)
    low[k] = k >= again && a[k] == a[k - again] ? low[k - again] : NarrowNumber(precision, a[k]);
}

/*
  Row i of y = A~ x, of values aa that were rounded to low. size: the sum of the magnitudes that are added up. slack:
  what c_i, which has single precision, may be off by, times |x_i|
*/
static inline PetscScalar NarrowRow(PetscInt i, PetscInt begin, PetscInt end, const PetscInt aj[],
                                    const PetscScalar aa[], const PetscScalar low[], const PetscScalar x[],
                                    PetscReal *size, PetscReal *slack)
{
  PetscScalar sum = 0.0, c = 0.0;

  *size = 0.0;
  for (PetscInt k = begin; k < end; k++) {
    c += aa[k] - low[k];
    sum += low[k] * x[aj[k]];
    *size += PetscAbsScalar(low[k] * x[aj[k]]);
  }
  *slack = (PetscReal)2.4e-7 * PetscAbsScalar(c) * PetscAbsScalar(x[i]);
  *size += PetscAbsScalar(c * x[i]);
  return sum + c * x[i];
}

/* d[k] <- a[k] in single precision, as a diagonal matrix of products of narrow copies and of singlestep() has them */
static inline void NarrowDiagonal(PetscInt n, const PetscScalar a[], float d[])
{
  for (PetscInt q = 0; q < REAL_PARTS * n; q++)
    d[q] = (float)NarrowReal(PETSC_SPIKE_PRECISION_SINGLE, ((const PetscReal *)a)[q]);
}

/* Whether PetscScalar has digits to lose */
static inline PetscBool NarrowExists(PetscSpikePrecision precision)
{
  return (PetscBool)(precision == PETSC_SPIKE_PRECISION_BF16 || PetscDefined(USE_REAL_DOUBLE));
}
