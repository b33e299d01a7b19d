/* SPDX-License-Identifier: BSD-2-Clause */
/* reduced_pivot.cuh: pivots of the reduced systems, and what is reported of them */
#pragma once

#include "band_tiles.cuh"
#include "kernels/common/cuda/warp.cuh"

/* What the reduced systems report */
struct SpikeReducedStatus {
  SpikeStatus *status;
  double      *value; /* [np + 1] magnitude of the first bad pivot */
};

/* The pivot to use in place of p; what was done is noted by one of the threads that call, bad is its own */
__device__ static inline PetscScalar SpikeReducedPivot(PetscScalar p, PetscReal tol, PetscReal boost, PetscReal scale,
                                                       PetscInt q, const SpikeReducedStatus &st, bool note, bool &bad)
{
  const PetscReal abs = SpikeAbs(p);

  if (abs > tol * scale && abs <= PETSC_MAX_REAL) return p;
  if (boost > 0.0 && abs <= tol * scale) {
    if (note) atomicAdd(&st.status->nboost, 1ull);
    return abs > 0.0 ? p * (boost * scale / abs) : (PetscScalar)(boost * scale);
  }
  if (note && !bad) {
    st.value[q] = abs;
    atomicMax(&st.status->badrow, ~(unsigned long long)q);
  }
  bad = true;
  return p;
}
