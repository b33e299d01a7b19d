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
  rhs_dia.cu: the same for the columns in the list; and whether a copy is one of those that can be taken so
*/
PETSC_INTERN bool           SpikeRhsHasTiles_CUDA(const SpikeKrylovCopyCUDA *);
PETSC_INTERN PetscErrorCode SpikeRhsTiles_CUDA(const SpikeKrylovRhs *, const SpikeKrylovCopyCUDA *, SpikeKrylovStep,
                                               const SpikeRhsProduct &);
