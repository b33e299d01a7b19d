/* SPDX-License-Identifier: BSD-2-Clause */
/* tridiagonalcase.h: for tests and benchmarks: tridiagonal matrices by kind, and LAPACK's solution */
#pragma once

#include "lapackgb.h"
#include <math.h>

typedef enum {
  TRI_DOMINANT, /* entries beside the diagonal in [-1, 1], |d| in [2, 3]: the kind of Zhang, Cohen, Owens, PPoPP 2010 */
  TRI_POISSON,  /* -1 2 -1                                                                       */
  TRI_UPWIND,   /* -1.9 2 -0.1: multipliers up to 0.95 down, far ones up                         */
  TRI_GRADED,   /* dominant, each row times a power of 2 between 2^-20 and 2^20                   */
  TRI_CLOSE,    /* all three within 10 percent of 1: not dominant                                */
  TRI_RANDOM,   /* all in [-1, 1]                                                                */
  /*
    dl, du close to 1, d in [1, 2], but 0 in rows 2, 4, 6, ... of a system but the last: CR and PCR divide by it, LU
    from the top does not
  */
  TRI_ZEROS,
  /*
    dominant, but d = sqrt(eps) / 16 in the first row, with 1 beside it: without exchanges half of the digits are lost
  */
  TRI_TINY,
  TRI_NKINDS
} TriKind;
static const char *const trikinds[] = {"dominant", "poisson", "upwind", "graded", "close", "random", "zeros", "tiny"};

/* Uniform in [-1, 1), the same in each precision */
static inline PetscReal TriUniform(PetscInt64 seed, PetscInt64 i)
{
  unsigned long long z = (unsigned long long)seed * 0x9E3779B97F4A7C15ULL +
                         (unsigned long long)i * 0xD1B54A32D192ED03ULL + 1;

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (PetscReal)((double)(z >> 44) / 524288.0 - 1.0);
}

static inline PetscScalar TriRandom(PetscInt64 seed, PetscInt64 i)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(TriUniform(seed, i), (PetscReal)0.5 * TriUniform(seed + 77, i));
#else
  return TriUniform(seed, i);
#endif
}

/* One system of m rows; dl[0] and du[m - 1] are NaN */
static inline void TriFill(TriKind kind, PetscInt64 seed, PetscInt m, PetscScalar *dl, PetscScalar *d, PetscScalar *du)
{
  const PetscReal nan = PetscSqrtReal(-PETSC_MAX_REAL);

  for (PetscInt i = 0; i < m; i++) {
    const PetscReal   sign = TriUniform(seed + 3, i) < 0.0 ? -1.0 : 1.0;
    const PetscScalar a = TriRandom(seed, i), b = TriRandom(seed + 1, i), c = TriRandom(seed + 2, i);

    dl[i] = a;
    d[i]  = b;
    du[i] = c;
    switch (kind) {
    case TRI_DOMINANT:
    case TRI_GRADED:
    case TRI_TINY:
      d[i] = sign * ((PetscReal)2.5 + (PetscReal)0.5 * PetscRealPart(b)) + (b - PetscRealPart(b));
      if (kind == TRI_TINY && !i) d[i] = PetscSqrtReal(PETSC_MACHINE_EPSILON) / 16;
      if (kind == TRI_TINY && !i) du[i] = 1.0;
      if (kind == TRI_TINY && i == 1) dl[i] = 1.0;
      if (kind == TRI_GRADED) {
        const PetscReal s = PetscPowReal(2.0, PetscFloorReal(20 * TriUniform(seed + 4, i)));

        dl[i] *= s;
        d[i] *= s;
        du[i] *= s;
      }
      break;
    case TRI_POISSON:
      dl[i] = du[i] = -1.0;
      d[i]          = 2.0;
      break;
    case TRI_UPWIND:
      dl[i] = -1.9;
      d[i]  = 2.0;
      du[i] = -0.1;
      break;
    case TRI_CLOSE:
      dl[i] = (PetscReal)1.0 + (PetscReal)0.1 * a;
      d[i]  = (PetscReal)1.0 + (PetscReal)0.1 * b;
      du[i] = (PetscReal)1.0 + (PetscReal)0.1 * c;
      break;
    case TRI_ZEROS:
      /* u_i = -dl_i du_(i-1) / u_(i-1) there, and in odd rows nearly d_i + u_(i-2) */
      dl[i] = (PetscReal)1.0 + (PetscReal)0.1 * a;
      du[i] = (PetscReal)1.0 + (PetscReal)0.1 * c;
      d[i]  = i && i % 2 == 0 && i + 1 < m ? 0.0 : (PetscReal)1.5 + (PetscReal)0.5 * b;
      break;
    default:
      break;
    }
  }
  if (m) dl[0] = du[m - 1] = nan;
}

/*
  x <- A^-1 x or A^-T x of one system by LAPACK, which exchanges rows; work: 4 m numbers, pivots: m. *singular where it
  finds that
*/
static inline PetscErrorCode TriLAPACK(PetscBool trans, PetscInt m, const PetscScalar *dl, const PetscScalar *d,
                                       const PetscScalar *du, PetscInt nrhs, PetscScalar *x, PetscInt ldx,
                                       PetscScalar *work, PetscBLASInt *pivots, PetscBool *singular)
{
  PetscBLASInt n, nr, ld, info;

  PetscFunctionBeginUser;
  *singular = PETSC_FALSE;
  if (!m || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &n));
  PetscCall(PetscBLASIntCast(nrhs, &nr));
  PetscCall(PetscBLASIntCast(ldx, &ld));
  PetscCall(PetscArraycpy(work, dl + 1, m - 1));
  PetscCall(PetscArraycpy(work + m, d, m));
  PetscCall(PetscArraycpy(work + 2 * m, du, m - 1));
  LAPACKgttrf_(&n, work, work + m, work + 2 * m, work + 3 * m, pivots, &info);
  *singular = (PetscBool)(info > 0);
  if (*singular) PetscFunctionReturn(PETSC_SUCCESS);
  LAPACKgttrs_(trans ? "T" : "N", &n, &nr, work, work + m, work + 2 * m, work + 3 * m, pivots, x, &ld, &info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Largest |b - A x|_i over max |A| row sum times max |x| plus max |b|: the backward error of one system; not finite
  where x is not
*/
static inline PetscReal TriBackward(PetscBool trans, PetscInt m, const PetscScalar *dl, const PetscScalar *d,
                                    const PetscScalar *du, const PetscScalar *b, const PetscScalar *x)
{
  PetscReal most = 0.0, norm = 0.0, xmax = 0.0, bmax = 0.0;

  for (PetscInt i = 0; i < m; i++) {
    const PetscScalar lower = i ? (trans ? du[i - 1] : dl[i]) : 0.0,
                      upper = i + 1 < m ? (trans ? dl[i + 1] : du[i]) : 0.0;
    PetscScalar r           = b[i] - d[i] * x[i];

    if (i) r -= lower * x[i - 1];
    if (i + 1 < m) r -= upper * x[i + 1];
    if (!(PetscAbsScalar(r) <= PETSC_MAX_REAL)) return (PetscReal)INFINITY;
    most = PetscMax(most, PetscAbsScalar(r));
    norm = PetscMax(norm, PetscAbsScalar(lower) + PetscAbsScalar(d[i]) + PetscAbsScalar(upper));
    xmax = PetscMax(xmax, PetscAbsScalar(x[i]));
    bmax = PetscMax(bmax, PetscAbsScalar(b[i]));
  }
  return most > 0.0 ? most / (norm * xmax + bmax) : 0.0;
}
