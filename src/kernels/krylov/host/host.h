/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: the host backend's loops for the instruction set in use, and its copies of a matrix */
#pragma once

#include "kernels/block/host/host.h"
#include "kernels/dia/dia.h"
#include "kernels/common/host/factors.h"
#include "kernels/krylov/krylov.h"

#define SPIKE_MULT_ROWS 512 /* of a product before the step takes them: still in cache; a multiple of SPIKE_DIA_ROWS */

/* Columns of other ranks: rows that have some, in ascending order */
typedef struct {
  PetscBool    there;
  PetscInt     count, nz;
  PetscInt    *row, *at, *aj; /* [count], [count + 1], [nz] */
  PetscScalar *aa;            /* [nz] */
} SpikeKrylovOffHost;

typedef struct {
  SpikeKrylovCopy base;
  SpikeKrylovLoan loan; /* of mine, or of a matrix */
  SpikeDIA        mine;

  SpikeKrylovOffHost  off;     /* beside mine */
  const SpikeStencil *stencil; /* or NULL */

  /* narrow: the values in the places of loan.dia, and c of each row; else NULL */
  void        *val;
  SpikeSingle *correction;
} SpikeKrylovCopyHost;

typedef struct {
  const SpikeKrylovLoop       *step;
  const SpikeKrylovLoop       *singlestep;
  const SpikeKrylovBasisLoop  *basisstep;
  const SpikeKrylovNarrowLoop *narrow;
  const SpikeDIALoops         *dia;
} SpikeKrylovLoops;

/* krylov.c */
PETSC_INTERN SpikeKrylovLoops SpikeKrylovLoopsGet(void);

/* stencil/host/stencil.c: points of a box, x a vector of the rank's box, ghost the points around it */
PETSC_INTERN void SpikeStencilMultGhost_Host(const SpikeStencil *, const PetscInt begin[3], const PetscInt end[3],
                                             const PetscScalar *, const PetscScalar *ghost, PetscScalar *);

/*
  mult.c: what follows rows begin to begin + rows - 1 of a product y: D in scale where it is not NULL, and the step,
  whose sums are added to sums[]
*/
PETSC_INTERN void SpikeKrylovMultStep_Host(const SpikeKrylovLoops *, const SpikeKrylovFactors *, SpikeKrylovStep,
                                           PetscInt begin, PetscInt rows, const PetscScalar *scale, PetscScalar *y,
                                           PetscScalar *const v[], PetscScalar sums[]);
PETSC_INTERN PetscErrorCode SpikeKrylovCopy_Host(SpikeKrylov *, const SpikeKrylovCSR *, KSPFusedSpMVType, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovBorrow_Host(SpikeKrylov *, const SpikeKrylovLoan *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovBorrowStencil_Host(SpikeKrylov *, const SpikeStencil *, const SpikeKrylovLoan *,
                                                          void **);

/* blocks.c */
PETSC_INTERN PetscErrorCode SpikeKrylovBorrowBlocks_Host(SpikeKrylov *, const SpikeKrylovLoan *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovMultBlocks_Host(SpikeKrylov *, const SpikeKrylovLoan *, SpikeKrylovStep,
                                                       const PetscScalar *, const PetscScalar *, PetscScalar *,
                                                       PetscScalar *const[]);

PETSC_INTERN PetscErrorCode SpikeKrylovRefill_Host(SpikeKrylov *, const SpikeKrylovCSR *, void *);
PETSC_INTERN PetscErrorCode SpikeKrylovCouple_Host(SpikeKrylov *, const SpikeKrylovCSR *, const SpikeKrylovLoan *,
                                                   void *, PetscBool *);
PETSC_INTERN PetscErrorCode SpikeKrylovRecouple_Host(SpikeKrylov *, const SpikeKrylovCSR *, void *);
PETSC_INTERN PetscErrorCode SpikeKrylovDestroyCopy_Host(SpikeKrylov *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovMult_Host(SpikeKrylov *, const void *, SpikeKrylovStep, const PetscScalar *,
                                                 const PetscScalar *, PetscScalar *, PetscScalar *const[]);

/* narrow.c */
PETSC_INTERN PetscErrorCode SpikeKrylovNarrow_Host(SpikeKrylov *, const void *, PetscSpikePrecision, PetscBool,
                                                   void **);
