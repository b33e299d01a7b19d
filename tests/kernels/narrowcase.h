/* SPDX-License-Identifier: BSD-2-Clause */
/*
  narrowcase.h: what the product of a narrow copy has to be, for host and device: rounding by arithmetic, not by bits
*/
#pragma once

#include "kernels/krylov/krylov.h"
#include <math.h>

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

/* Number i of n of a vector of SpikeReal48: 37 digits, all of them after the last whole tile */
static inline PetscScalar NarrowReal48(PetscInt n, PetscInt i, PetscScalar v)
{
  PetscReal *part = (PetscReal *)&v;

  if (i >= SpikeReal48Rows(n)) return v;
  for (size_t k = 0; k < sizeof(v) / sizeof(*part); k++) part[k] = (PetscReal)NarrowBits((double)part[k], 37);
  return v;
}

/* Bytes of a column of this step, of n rows */
static inline size_t NarrowBytes(PetscBool narrow, SpikeKrylovBasisStep step, PetscInt n)
{
  const PetscInt whole = SpikeReal48Rows(n) * SPIKE_REAL48_PARTS;

  if (!narrow) return (size_t)n * sizeof(PetscScalar);
  if (step == SPIKE_KRYLOV_DOTS) return (size_t)n * SPIKE_REAL48_PARTS * 2;
  return (size_t)whole / SPIKE_REAL48_TILE * SPIKE_REAL48_BYTES +
         (size_t)(n * SPIKE_REAL48_PARTS - whole) * sizeof(PetscReal);
}

/* v of n rows as such a column, with the rounding above: its bytes come from formats by arithmetic */
static inline void NarrowPut(PetscBool narrow, SpikeKrylovBasisStep step, PetscInt n, const PetscScalar v[],
                             void *column)
{
  const PetscInt   parts = n * SPIKE_REAL48_PARTS, whole = SpikeReal48Rows(n) * SPIKE_REAL48_PARTS;
  const PetscReal *from = (const PetscReal *)v;
  char            *to   = (char *)column;

  if (!narrow) {
    if (n) memcpy(column, v, (size_t)n * sizeof(*v));
    return;
  }
  for (PetscInt q = 0; q < parts; q++) {
    const PetscBool    dots = (PetscBool)(step == SPIKE_KRYLOV_DOTS);
    const double       d    = dots ? (double)NarrowReal(PETSC_SPIKE_PRECISION_BF16, from[q])
                                   : (q < whole ? NarrowBits((double)from[q], 37) : (double)from[q]);
    const float        s    = (float)d;
    unsigned int       short32;
    unsigned long long bits;

    memcpy(&short32, &s, sizeof(s));
    memcpy(&bits, &d, sizeof(d));
    if (dots) ((unsigned short *)to)[q] = (unsigned short)(short32 >> 16);
    else if (q < whole) {
      unsigned int *tile = (unsigned int *)(to + (size_t)(q / SPIKE_REAL48_TILE) * SPIKE_REAL48_BYTES);

      tile[q % SPIKE_REAL48_TILE]                                           = (unsigned int)(bits >> 32);
      ((unsigned short *)(tile + SPIKE_REAL48_TILE))[q % SPIKE_REAL48_TILE] = (unsigned short)(bits >> 16);
    } else ((PetscReal *)(to + (size_t)whole / SPIKE_REAL48_TILE * SPIKE_REAL48_BYTES))[q - whole] = from[q];
  }
}

/* Row i of n of a column of SpikeReal48 */
static inline PetscScalar NarrowGet(PetscInt n, PetscInt i, const void *column)
{
  const PetscInt whole = SpikeReal48Rows(n) * SPIKE_REAL48_PARTS;
  PetscScalar    v     = 0.0;

  for (PetscInt k = 0; k < SPIKE_REAL48_PARTS; k++) {
    const PetscInt        q    = i * SPIKE_REAL48_PARTS + k;
    const unsigned int   *tile = (const unsigned int *)((const char *)column +
                                                      (size_t)(PetscMin(q, whole) / SPIKE_REAL48_TILE) *
                                                        SPIKE_REAL48_BYTES);
    const unsigned short *low  = (const unsigned short *)(tile + SPIKE_REAL48_TILE);

    if (q < whole) {
      const unsigned long long bits = (unsigned long long)tile[q % SPIKE_REAL48_TILE] << 32 |
                                      (unsigned long long)low[q % SPIKE_REAL48_TILE] << 16;
      double d;

      memcpy(&d, &bits, sizeof(d));
      ((PetscReal *)&v)[k] = (PetscReal)d;
    } else ((PetscReal *)&v)[k] = ((const PetscReal *)tile)[q - whole];
  }
  return v;
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
  const PetscInt parts = (PetscInt)(sizeof(*a) / sizeof(PetscReal));

  for (PetscInt q = 0; q < parts * n; q++)
    d[q] = (float)NarrowReal(PETSC_SPIKE_PRECISION_SINGLE, ((const PetscReal *)a)[q]);
}

/* Whether PetscScalar has digits to lose */
static inline PetscBool NarrowExists(PetscSpikePrecision precision)
{
  return (PetscBool)(precision == PETSC_SPIKE_PRECISION_BF16 || PetscDefined(USE_REAL_DOUBLE));
}
