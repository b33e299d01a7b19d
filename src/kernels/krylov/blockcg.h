/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockcg.h: the small matrices of block conjugate gradients: the same text for the host and for one thread block of
  a device (C99 and CUDA C++, real and complex)
*/
#pragma once

#include "scalars.h"

/*
  Block CG with residuals R = Q C that are kept orthonormal (Dubrulle, ETNA 12, 2001, algorithm BCGrQ; O'Leary, Lin.
  Alg. Appl. 29, 1980), preconditioned, and free of breakdowns as in Ji and Li, BIT 57, 2017: a direction that depends
  on others becomes 0. All blocks have m columns; with sigma = 1, or -1 where B is negative definite:

      start    R = b - A x;  Z = B R;  C = I                              G = R^H Z    M
               Z^H R = sigma S^H S;  P = Z T;  C = S C
      alpha    W = A P                                                  G = P^H W
               E = sigma G^-1;  X += P E C;  R <- R T - W E;  Z = B R        G = R^H Z    M
      beta     Z^H R = sigma S^H S;  P <- P S^H + Z T;  C <- S C

  Here T is S^-1 where nothing depends on anything, and Q = R T: R itself gets T with its next update. S comes from
  Cholesky's method with complete pivoting and unit diagonal, so that columns of any size are alike: row p of S belongs
  to pivot p, and rows from the rank on, with those columns of T, are 0. What is dropped has a norm of sqrt(rounding) at
  most, relative to its column; E is then the inverse on what is left, and X and R fit each other whatever E is. The
  residual of column j is R C_j with the C before S, its norm comes from M, that of R^H R, Z^H Z or R^H Z as the test
  wants it: C_j^H M C_j, which is not below what rounding of M leaves open. Columns that have a reason get no more
  updates of X.

  The matrices lie one after the other, m x m column-major; X E C and P S^H take them as they are here.
*/
enum {
  SPIKE_BLOCKCG_G,
  SPIKE_BLOCKCG_M,
  SPIKE_BLOCKCG_T,
  SPIKE_BLOCKCG_S, /* S^H */
  SPIKE_BLOCKCG_E,
  SPIKE_BLOCKCG_EC,
  SPIKE_BLOCKCG_C,
  SPIKE_BLOCKCG_SIGNS, /* sigma, and the sign of P^H A P, 0 before the first */
  SPIKE_BLOCKCG_NMATRICES
};

typedef enum {
  SPIKE_BLOCKCG_START,
  SPIKE_BLOCKCG_ALPHA,
  SPIKE_BLOCKCG_BETA
} SpikeBlockCGStep;

/* Numbers of all matrices together */
static inline size_t SpikeBlockCGSize(PetscInt m)
{
  return (size_t)SPIKE_BLOCKCG_NMATRICES * PetscMax(m, 2) * PetscMax(m, 2);
}

#define SPIKE_BLOCKCG_MAXM 32 /* that of tall blocks */

/* Work space of a step: shared memory on a device */
typedef struct {
  PetscScalar a[SPIKE_BLOCKCG_MAXM * SPIKE_BLOCKCG_MAXM], w[SPIKE_BLOCKCG_MAXM * SPIKE_BLOCKCG_MAXM],
    row[SPIKE_BLOCKCG_MAXM], column[SPIKE_BLOCKCG_MAXM];
  PetscReal scale[SPIKE_BLOCKCG_MAXM];
} SpikeBlockCGWork;

/* Each element i < n by some thread; all threads of the block meet, and see what was written before */
#if defined(__CUDACC__)
  #define SPIKE_BLOCKCG_INLINE     __device__ static inline
  #define SPIKE_BLOCKCG_EACH(i, n) for (int i = (int)threadIdx.x; i < (n); i += (int)blockDim.x)
  #define SPIKE_BLOCKCG_MEET()     __syncthreads()
#else
  #define SPIKE_BLOCKCG_INLINE     static inline
  #define SPIKE_BLOCKCG_EACH(i, n) for (int i = 0; i < (n); i++)
  #define SPIKE_BLOCKCG_MEET() \
    do { \
    } while (0)
#endif

SPIKE_BLOCKCG_INLINE PetscScalar SpikeBlockCGConj(PetscScalar a)
{
#if !defined(PETSC_USE_COMPLEX)
  return a;
#elif defined(__CUDACC__)
  return PetscScalar(a.real(), -a.imag());
#else
  return PetscConj(a);
#endif
}

/*
  sign G = S^H S with S T = 1, except for columns that depend on others. unit: columns were made of some of norm 1,
  whose rounding errors they have. G, of which the upper triangle is read, sh = S^H, T: m x m. sign: that of the first
  diagonal element that is not 0, 1 without one; all threads get it. Returns the rank, or -1 where sign G is not
  semidefinite, -2 where a number is not finite; S and T mean nothing then.
*/
SPIKE_BLOCKCG_INLINE int SpikeBlockCGFactor(int m, PetscBool unit, const PetscScalar G[], PetscScalar sh[],
                                            PetscScalar T[], PetscReal *sign, SpikeBlockCGWork *w)
{
  const PetscReal drop = 10 * m * PETSC_MACHINE_EPSILON, negative = -PetscSqrtReal(PETSC_MACHINE_EPSILON);
  unsigned        used = 0;
  int             rank = 0, failed = 0;

  *sign = 0.0;
  for (int i = 0; i < m && *sign == (PetscReal)0.0; i++) {
    const PetscReal g = PetscRealPart(G[i + i * m]);

    *sign = g > (PetscReal)0.0 ? (PetscReal)1.0 : (g < (PetscReal)0.0 ? (PetscReal)-1.0 : (PetscReal)0.0);
  }
  if (*sign == (PetscReal)0.0) *sign = 1.0;
  SPIKE_BLOCKCG_EACH(i, m) w->scale[i] = PetscSqrtReal(PetscAbsReal(PetscRealPart(G[i + i * m])));
  SPIKE_BLOCKCG_MEET();
  SPIKE_BLOCKCG_EACH(e, m * m)
  {
    const int         i = e % m, j = e / m;
    const PetscScalar g = i < j ? G[i + j * m]
                                : (i == j ? (PetscScalar)PetscRealPart(G[e]) : SpikeBlockCGConj(G[j + i * m]));

    w->a[e] = w->scale[i] == (PetscReal)0.0 || w->scale[j] == (PetscReal)0.0 ? (PetscScalar)0.0
                                                                             : *sign * g / w->scale[i] / w->scale[j];
    w->w[e] = i == j ? (PetscScalar)1.0 : (PetscScalar)0.0;
    sh[e] = T[e] = 0.0;
  }
  SPIKE_BLOCKCG_MEET();
  /* column q of w: what is left of column q when the pivots so far are taken away, in columns of the block */
  while (rank < m) {
    PetscReal most = 0.0, root;
    int       q    = -1;

    for (int i = 0; i < m; i++) {
      const PetscReal d   = PetscRealPart(w->a[i + i * m]),
                      tol = unit && w->scale[i] < (PetscReal)1.0 ? drop / w->scale[i] : drop;

      if (used >> i & 1) continue;
      if (!SpikeKrylovFinite(d)) failed = -2;
      else if (d < negative && d < -tol && !failed) failed = -1;
      else if (d > tol && d > most) {
        most = d;
        q    = i;
      }
    }
    if (failed || q < 0) break;
    used |= 1u << q;
    root = PetscSqrtReal(most);
    SPIKE_BLOCKCG_EACH(j, m)
    {
      const PetscScalar s = j == q ? (PetscScalar)root : (used >> j & 1 ? (PetscScalar)0.0 : w->a[q + j * m] / root),
                        t = w->w[j + q * m] / root;

      w->row[j]        = s;
      w->column[j]     = t;
      sh[j + rank * m] = SpikeBlockCGConj(s) * w->scale[j];
      T[j + rank * m]  = w->scale[j] > (PetscReal)0.0 ? t / w->scale[j] : (PetscScalar)0.0;
    }
    SPIKE_BLOCKCG_MEET();
    SPIKE_BLOCKCG_EACH(e, m * m)
    {
      const int i = e % m, j = e / m;

      if (used >> j & 1) continue;
      w->a[e] -= SpikeBlockCGConj(w->row[i]) * w->row[j];
      w->w[e] -= w->column[i] * w->row[j];
    }
    SPIKE_BLOCKCG_MEET();
    rank++;
  }
  SPIKE_BLOCKCG_MEET();
  return failed ? failed : rank;
}

/* The first `width` columns that have none get a reason */
SPIKE_BLOCKCG_INLINE void SpikeBlockCGEnd(int m, SpikeKrylovScalars *s, size_t stride, int reason)
{
  SPIKE_BLOCKCG_EACH(j, m)
  {
    SpikeKrylovScalars *c = (SpikeKrylovScalars *)((char *)s + j * stride);

    if (!c->reason) c->reason = reason;
  }
}

/* w->scale[j] <- norm of R C_j, without C where it is not there yet */
SPIKE_BLOCKCG_INLINE void SpikeBlockCGNorms(int m, const PetscScalar M[], const PetscScalar C[], SpikeBlockCGWork *w)
{
  if (C) {
    SPIKE_BLOCKCG_EACH(e, m * m)
    {
      const int   i = e % m, j = e / m;
      PetscScalar sum = 0.0;

      for (int k = 0; k < m; k++) sum += M[i + k * m] * C[k + j * m];
      w->w[e] = SpikeBlockCGConj(C[e]) * sum;
    }
    SPIKE_BLOCKCG_MEET();
  }
  SPIKE_BLOCKCG_EACH(j, m)
  {
    PetscReal sum = C ? (PetscReal)0.0 : PetscAbsReal(PetscRealPart(M[j + j * m])), parts = 0.0;

    for (int k = 0; k < m && C; k++) {
      sum += PetscRealPart(w->w[k + j * m]);
      parts += SpikeKrylovAbs2(C[k + j * m]) * PetscAbsReal(PetscRealPart(M[k + k * m]));
    }
    sum         = PetscAbsReal(sum);
    w->scale[j] = PetscSqrtReal(sum < PETSC_MACHINE_EPSILON * parts ? PETSC_MACHINE_EPSILON * parts : sum);
  }
  SPIKE_BLOCKCG_MEET();
}

/*
  One step, after the sums over all ranks, for the columns whose scalars lie `stride` bytes apart from s on. norms: the
  matrix that the norms come from. Called by one thread block of a device, or by the host. Values that are not
  finite give KSP_DIVERGED_NANORINF; a B that is not definite KSP_DIVERGED_INDEFINITE_PC, an A that is not, or has
  another sign than before, KSP_DIVERGED_INDEFINITE_MAT; all columns that have no reason get it.
*/
SPIKE_BLOCKCG_INLINE void SpikeBlockCGRecur(SpikeBlockCGStep step, int m, int norms, PetscScalar *small,
                                            SpikeKrylovScalars *s, size_t stride, SpikeBlockCGWork *w)
{
  const int    mm = m * m;
  PetscScalar *G = small + SPIKE_BLOCKCG_G * mm, *T = small + SPIKE_BLOCKCG_T * mm, *S = small + SPIKE_BLOCKCG_S * mm,
              *E = small + SPIKE_BLOCKCG_E * mm, *EC = small + SPIKE_BLOCKCG_EC * mm;
  PetscScalar *C = small + SPIKE_BLOCKCG_C * mm, *signs = small + SPIKE_BLOCKCG_SIGNS * mm;
  PetscReal sign, before = PetscRealPart(signs[step == SPIKE_BLOCKCG_ALPHA ? 1 : 0]), sigma = PetscRealPart(signs[0]);
  int       rank;

  if (step == SPIKE_BLOCKCG_ALPHA) {
    rank = SpikeBlockCGFactor(m, PETSC_FALSE, G, S, EC, &sign, w); /* T waits for R */
    if (rank >= 0 && (before == (PetscReal)0.0 || sign == before)) {
      SPIKE_BLOCKCG_EACH(e, mm)
      {
        const int   i = e % m, j = e / m;
        PetscScalar sum = 0.0;

        for (int k = 0; k < rank; k++) sum += EC[i + k * m] * SpikeBlockCGConj(EC[j + k * m]);
        w->w[e] = E[e] = sigma * sign * sum;
      }
    } else {
      SPIKE_BLOCKCG_EACH(e, mm) w->w[e] = E[e] = 0.0;
      SpikeBlockCGEnd(m, s, stride, rank == -2 ? (int)KSP_DIVERGED_NANORINF : (int)KSP_DIVERGED_INDEFINITE_MAT);
    }
    if (!rank) SpikeBlockCGEnd(m, s, stride, (int)KSP_DIVERGED_INDEFINITE_MAT);
    SPIKE_BLOCKCG_MEET();
    SPIKE_BLOCKCG_EACH(e, mm)
    {
      const int   i = e % m, j = e / m;
      PetscScalar sum = 0.0;

      for (int k = 0; k < m && !((const SpikeKrylovScalars *)((const char *)s + j * stride))->reason; k++)
        sum += w->w[i + k * m] * C[k + j * m];
      EC[e] = sum;
    }
    SPIKE_BLOCKCG_EACH(i, 1) signs[1] = sign;
    SPIKE_BLOCKCG_MEET();
    return;
  }
  SpikeBlockCGNorms(m, small + norms * mm, step == SPIKE_BLOCKCG_START ? NULL : C, w);
  SPIKE_BLOCKCG_EACH(j, m)
  {
    SpikeKrylovScalars *c = (SpikeKrylovScalars *)((char *)s + j * stride);

    if (step == SPIKE_BLOCKCG_START) {
      c->norm  = w->scale[j];
      c->since = 0;
    } else if (!c->reason) SpikeKrylovTestNorm(c, w->scale[j]);
  }
  SPIKE_BLOCKCG_MEET();
  rank = SpikeBlockCGFactor(m, step == SPIKE_BLOCKCG_BETA ? PETSC_TRUE : PETSC_FALSE, G, S, T, &sign, w);
  if (step == SPIKE_BLOCKCG_BETA) {
    if (rank == -2) SpikeBlockCGEnd(m, s, stride, (int)KSP_DIVERGED_NANORINF);
    else if (rank < 0 || (rank && sign != before)) SpikeBlockCGEnd(m, s, stride, (int)KSP_DIVERGED_INDEFINITE_PC);
    else if (!rank) SpikeBlockCGEnd(m, s, stride, (int)KSP_CONVERGED_ATOL); /* as for one column */
  } else if (rank == -1) SpikeBlockCGEnd(m, s, stride, (int)KSP_DIVERGED_INDEFINITE_PC);
  SPIKE_BLOCKCG_EACH(e, mm)
  {
    const int   i = e % m, j = e / m;
    PetscScalar sum = 0.0;

    if (step == SPIKE_BLOCKCG_START) sum = SpikeBlockCGConj(S[j + i * m]);
    else
      for (int k = 0; k < m; k++) sum += SpikeBlockCGConj(S[k + i * m]) * C[k + j * m];
    w->w[e] = sum;
  }
  SPIKE_BLOCKCG_MEET();
  SPIKE_BLOCKCG_EACH(e, mm) C[e] = w->w[e];
  SPIKE_BLOCKCG_EACH(i, 1)
  {
    signs[0] = sign;
    if (step == SPIKE_BLOCKCG_START) signs[1] = 0.0;
  }
  SPIKE_BLOCKCG_MEET();
}
