/* SPDX-License-Identifier: BSD-2-Clause */
/* pivots.cuh: what the factorizations of a batch on CUDA devices make of pivots that may be bad */
#pragma once

#include "batch.cuh"

/* Pivot policy; tol and boost are in units of *unit, 0 counting as 1, where there is one */
struct SpikeBatchPolicy {
  double        tol, boost;
  const double *unit;
};

/* What a lane has seen */
struct SpikeBatchSeen {
  PetscReal          tol, boost, badvalue;
  PetscInt           bad; /* row of the system, -1 for none */
  unsigned long long nboost;
};

/* u of row i, or what replaces it */
__device__ static inline PetscScalar SpikeBatchPivot(SpikeBatchSeen &seen, PetscScalar u, PetscInt i, PetscInt len)
{
  const PetscReal abs = SpikeAbs(u);

  if (i >= len || (abs > seen.tol && abs <= PETSC_MAX_REAL)) return u;
  if (seen.boost > (PetscReal)0.0 && abs <= seen.tol) {
    seen.nboost++;
    return abs > (PetscReal)0.0 ? u * (seen.boost / abs) : PetscScalar(seen.boost);
  }
  if (seen.bad < 0) {
    seen.bad      = i;
    seen.badvalue = abs;
  }
  return PetscScalar(1.0);
}

__device__ static inline SpikeBatchSeen SpikeBatchSeenBegin(const SpikeBatchPolicy &p)
{
  const double scale = p.unit && *p.unit > 0.0 ? *p.unit : 1.0;

  return {(PetscReal)(p.tol * scale), (PetscReal)(p.boost * scale), (PetscReal)0.0, -1, 0};
}

__device__ static inline void SpikeBatchSeenEnd(const SpikeBatchSeen &seen, PetscInt first, PetscInt lane,
                                                double *badvalue, unsigned long long *badrow,
                                                unsigned long long *nboost)
{
  if (seen.nboost) atomicAdd(nboost, seen.nboost);
  if (seen.bad < 0) return;
  badvalue[lane] = (double)seen.badvalue;
  atomicMax(badrow, ~(unsigned long long)(first + seen.bad));
}

/* pivotedfactor.cu: the same factors with row exchanges */
PETSC_INTERN PetscErrorCode SpikeBatchFactorPivoted_CUDA(const SpikeBatchCUDA *, const SpikeBatchPolicy &,
                                                         cudaStream_t);
