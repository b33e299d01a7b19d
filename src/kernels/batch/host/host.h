/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: what the files of the host backend of batch.h share */
#pragma once

#include "kernels/batch/batch.h"

/* Systems of a group: those that 64 bytes have a number of */
#define SPIKE_BATCH_LANES ((int)(64 / sizeof(PetscScalar)))

/* One group: m rows of the longest system, len[lane] of each; a and exchange begin with its first element */
typedef struct {
  PetscInt       m, kl, ku, fu; /* fu: superdiagonals of U */
  PetscInt       len[SPIKE_BATCH_LANES], first[SPIKE_BATCH_LANES];
  PetscScalar   *a;
  unsigned char *exchange;
  SpikePivot    *pivot;
} SpikeBatchGroup;

/* Loops for one instruction set; y: the rows of all lanes, in place, with kl rows of zeros before and fu after */
typedef struct {
  void (*factor)(const SpikeBatchGroup *);
  void (*factorpivoted)(const SpikeBatchGroup *);
  void (*solve)(const SpikeBatchGroup *, PetscBool trans, PetscScalar *y);
  void (*solvepivoted)(const SpikeBatchGroup *, PetscBool trans, PetscScalar *y);
  /* y <- b, zero after the end of a system; x <- y */
  void (*load)(const SpikeBatchGroup *, const PetscScalar *b, PetscScalar *y);
  void (*store)(const SpikeBatchGroup *, const PetscScalar *y, PetscScalar *x);
} SpikeBatchLoops;
PETSC_INTERN const SpikeBatchLoops SpikeBatchLoops_base, SpikeBatchLoops_v3, SpikeBatchLoops_v4;

/* pivots.c: pivots of row i that may be bad, of all lanes; those of lanes whose system has ended are left alone */
PETSC_INTERN void SpikeBatchPivots_Host(const SpikeBatchGroup *, PetscInt i, PetscScalar u[]);
