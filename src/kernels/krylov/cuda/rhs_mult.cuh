/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs_mult.cuh: what the products of copies with columns share */
#pragma once

#include "rhs.cuh"
#include "mult.cuh"

#define SPIKE_RHS_LIST 32 /* columns of a launch */

typedef struct {
  const PetscScalar *scale, *x;
  PetscScalar       *y;
  PetscInt64         ld; /* of x and y */
  SpikeRhsVectors    v;
  int                own;   /* the vector of the step that is y, or -1 */
  int                count; /* columns in the list                     */
  int                column[SPIKE_RHS_LIST];
} SpikeRhsProduct;

/*
  Copies by diagonals go by patches, values read once for up to 16 right-hand sides; complex numbers, which would take
  twice the registers and the shared memory, go as copies in slices do
*/
static constexpr bool SpikeRhsPatched = !PetscDefined(USE_COMPLEX);

/* rhs_dia.cu: a copy by diagonals with the right-hand sides in the list */
PETSC_INTERN PetscErrorCode SpikeRhsPatches_CUDA(const SpikeKrylovRhs *, const SpikeKrylovCopyCUDA *, SpikeKrylovStep,
                                                 const SpikeRhsProduct &);
