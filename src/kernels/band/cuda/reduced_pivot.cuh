/* SPDX-License-Identifier: BSD-2-Clause */
/* reduced_pivot.cuh: pivots of the reduced systems, and what is reported of them */
#pragma once

#include "band_tiles.cuh"
#include "kernels/common/cuda/warp.cuh"

/* What the reduced systems report */
struct SpikeReducedStatus {
  SpikeStatus *status;
  double      *value; /* [np + 1] magnitude of the first bad pivot                                                   */
  int          level; /* of a merge: a bad interface spoils those of later levels, thus the earliest level is told */
};

/* The interface to be told is the one with the largest key; zero: there is none */
__host__ __device__ static inline unsigned long long SpikeReducedKey(PetscInt q, int level)
{
  return ((unsigned long long)(255 - level) << 56) | (~(unsigned long long)q << 8 >> 8);
}

/* Of the interfaces l, 3 l, 5 l, ..., which are merged together */
__host__ static inline int SpikeReducedLevel(PetscInt l)
{
  int level = 0;

  for (; l > 1; l /= 2) level++;
  return level;
}

__host__ static inline PetscInt SpikeReducedInterface(unsigned long long key)
{
  return key ? (PetscInt)(~key << 8 >> 8) : -1;
}

/* The pivot to use in place of p; what was done is noted by one of the threads that call, bad is its own */
__device__ static inline PetscScalar SpikeReducedPivot(PetscScalar p, PetscReal tol, PetscReal boost, PetscReal scale,
                                                       PetscInt q, const SpikeReducedStatus &st, bool note, bool &bad)
{
  const PetscReal abs = SpikeAbs(p);

  if (abs > tol * scale && abs <= PETSC_MAX_REAL) return p;
  if (boost > 0.0 && abs <= tol * scale) {
    if (note && q > 0) atomicAdd(&st.status->nboost, 1ull); /* those of interface 0 the rank before counts */
    return abs > 0.0 ? p * (boost * scale / abs) : (PetscScalar)(boost * scale);
  }
  if (note && !bad) {
    st.value[q] = abs;
    atomicMax(&st.status->badrow, SpikeReducedKey(q, st.level));
  }
  bad = true;
  return p;
}
