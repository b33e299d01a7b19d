/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.cuh: the interfaces of a level of full SPIKE, and what is kept of each */
#pragma once

#include "reduced_pivot.cuh"

/*
  Interface q(i) of a level whose segments have l partitions, and the outer ends s and e of its two segments (band.h).
  Of an interface three matrices of h x h, h = kl + ku, are kept one after the other:

      M^-1 = [I Vb; Wt I]^-1 = [I + Vb R^-1 Wt, -Vb R^-1; -R^-1 Wt, R^-1],      E M^-1,      [P Q]
*/
struct SpikeLevel {
  PetscInt np, l;

  __device__ PetscInt q(int i) const { return l + 2 * l * (PetscInt)i; }
  __device__ PetscInt s(int i) const { return q(i) - l; }
  __device__ PetscInt e(int i) const { return PetscMin(q(i) + l, np); }
};

#define SPIKE_MERGED_INVERSE 0
#define SPIKE_MERGED_OUT     1
#define SPIKE_MERGED_PQ      2
#define SPIKE_MERGED         3

/* merge_invert.cu: R^-1 in dR of the interfaces of a level */
PETSC_INTERN PetscErrorCode SpikeMergeInvert_CUDA(SpikeBand *, PetscInt l, SpikePivot *);
