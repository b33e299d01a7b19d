/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h: what the contracts of several families share */
#pragma once

#include <petscspike.h>
#include <float.h>

/* Before a function whose text is the same on the host and on a device */
#if defined(__CUDACC__)
  #define SPIKE_BOTH_INLINE static inline __host__ __device__
#else
  #define SPIKE_BOTH_INLINE static inline
#endif

/* Bytes of a real number of the factors */
static inline size_t SpikePrecisionBytes(PetscSpikePrecision p)
{
  return p == PETSC_SPIKE_PRECISION_DOUBLE ? sizeof(double) : p == PETSC_SPIKE_PRECISION_SINGLE ? sizeof(float) : 2;
}

/* Rounding of the factors, at least that of the vectors */
static inline PetscReal SpikePrecisionEpsilon(PetscSpikePrecision p)
{
  const double eps[] = {2.2e-16, 6.0e-8, 3.9e-3, 4.9e-4};

  return PetscMax((PetscReal)eps[p], PETSC_MACHINE_EPSILON);
}

/*
  The largest number that the factors hold, and the smallest one whose inverse they hold with few digits lost, or none
*/
static inline double SpikePrecisionMax(PetscSpikePrecision p)
{
  const double max[] = {DBL_MAX, FLT_MAX, 3.3895313892515355e38, 65504.0};

  return max[p];
}

static inline double SpikePrecisionLeast(PetscSpikePrecision p)
{
  const double least[] = {DBL_MIN, FLT_MIN, FLT_MIN, 1.0 / 65504.0};

  return least[p];
}

/* The largest magnitude of an entry that the factors hold: HUGE_VAL where they hold all that is finite */
static inline double SpikePrecisionBound(PetscSpikePrecision p)
{
  return (PetscReal)SpikePrecisionMax(p) < PETSC_MAX_REAL ? SpikePrecisionMax(p) : HUGE_VAL;
}

/*
  A piece of the matrix in CSR. Entry k of row i, ai[i] <= k < ai[i+1], is in column
  j = (colmap ? colmap[aj[k]] : aj[k]) + shift, counted from the first row of the rank: columns j < 0 belong to the rank
  before, j >= n to the rank after.
*/
typedef struct {
  const PetscInt    *ai, *aj;
  const PetscScalar *aa;
  const PetscInt    *colmap;
  PetscInt           shift;
  /* the fill's entries are a_ij r_i c_k, k = aj[.]: scales, powers of two; both NULL: ones. On the host only */
  const PetscReal *r, *c;
} SpikeCSR;

/* a r c, which is of ordinary size where a need not be: first what brings it nearer to 1 */
static inline PetscScalar SpikeScaled(PetscScalar a, PetscReal r, PetscReal c)
{
  const PetscReal least = PetscMin(r, c), most = PetscMax(r, c);

  return PetscAbsScalar(a) > 1 ? a * least * most : a * most * least;
}

/* Pivot policy and outcome of a factorization */
typedef struct {
  PetscReal tol, boost; /* |pivot| <= tol is bad; boost > 0 replaces it by one of that magnitude                 */
  PetscInt  nboost;     /* out: pivots boosted                                                                  */
  PetscInt  badrow;     /* out: first row (band order, local) of a bad pivot, -1 if none                         */
  PetscReal badvalue;   /* out: its magnitude                                                                   */
  /*
    in, where a backend has finish(): tol and boost are in units of the norm that fill() saw; finish() multiplies them
  */
  PetscBool relative;
} SpikePivot;

/* A message between neighbouring ranks: nrhs columns of n values, ld apart, in the backend's memory */
typedef struct {
  PetscMPIInt  peer;
  PetscBool    send;
  PetscScalar *data;
  PetscInt     n, nrhs;
  PetscCount   ld;
} SpikeMessage;
