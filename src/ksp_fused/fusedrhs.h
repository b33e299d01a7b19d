/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedrhs.h: KSPMatSolve() of the fused methods, all columns together: private to src/ksp_fused.

  The text of a method is the same: its work vectors and x are names here, each of a block of m columns that is kept
  beside them (KSPFusedRhs), and KSPFusedStep(), KSPFusedApplyStep() and the like move blocks while a solve for
  columns is running. Columns have scalars, a test and a reason of their own (kernels/columns.h); vectors that all
  columns share, the shadow vectors of IDR(s) and the diagonal of PCJACOBI, are vectors still.

  A column lies in a slot. Steps go over the first `width` slots and leave those alone whose reason is set, products and
  preconditioners take all of them; once no more than half of them iterate, the others change places with those at the
  back, and width becomes less. What a method launches depends on the number of iterations since its start, which is to
  be the same in all columns: columns that have converged wait until none iterates, then their true residuals are taken
  together, and those that have to go on start together, in front; so do then those that broke down, all with the same
  shadow vectors. So each column has the iterates that a solve of its own would have.

  A block method (KSP_FUSED_MATSOLVE_BLOCK, fusedtall.c) has the same frame, but columns of its work vectors are
  directions of all right-hand sides, not of one: none changes places while others iterate, and where not all that are
  in front go on after a start, those that do start once more, alone.
*/
#pragma once

#include "fused.h"
#include "kernels/krylov/rhs.h"

typedef enum {
  KSP_FUSED_COLUMN_ACTIVE,
  KSP_FUSED_COLUMN_CONVERGED, /* by its recurrence; the true residual is to be looked at */
  KSP_FUSED_COLUMN_BROKEN,    /* waits for a new start                                   */
  KSP_FUSED_COLUMN_DONE
} KSPFusedRhsState;

/* A slot, and what of KSP and KSPFused belongs to its column */
typedef struct {
  KSPFusedRhsState   state;
  PetscInt           column; /* of right-hand sides and solutions                             */
  PetscInt           its, started, renewals, generation;
  KSPConvergedReason reason;
  PetscReal          norm, rnorm0, ttol, truth;
  PetscBool          solution; /* its x is the solution, not the correction of right preconditioning */
} KSPFusedOneRhs;

/* A block or vector while a step has its array */
typedef struct {
  Mat          block;
  Vec          v;
  PetscScalar *a;
  PetscBool    read, written;
} KSPFusedRhsSlot;

struct _n_KSPFusedColumns {
  SpikeKrylovRhs s;
  /* a block method with coefficients m x m                                             */
  PetscBool      istall;
  SpikeKrylovRhs directions; /* its columns of products and preconditioners: they have no reasons             */
  SpikeBlock     tall;
  /*
    its small matrices, where the kernels are; on the host, NULL where that is there or the recurrences are on the
    device
  */
  PetscScalar    *small, *hostsmall;
  PetscInt        m, width, room;
  PetscInt        ld;
  KSPFusedOneRhs *column;           /* [room] */
  PetscBool      *wanted;           /* [room] */
  PetscInt       *from, *to, *slot; /* [room] */
  PetscInt        nblocks;
  /*
    [nblocks] of work vectors, x and guess, NULL where vectors are shared or not there; the first `width` columns while
    a solve runs
  */
  Mat *block, *view;
  /* the name of the block of x                                                        */
  Vec x;
  /* of the first work vector                                                          */
  PetscObjectId    id;
  Mat              rhs;
  PetscInt         generation;
  PetscBool        useproduct, useguess, transpose; /* the latter and what follows: what products are of */
  PetscObjectId    mat;
  PetscObjectState nonzero;
  KSPFusedRhsSlot *slots;
  PetscInt         nslots;
  PetscScalar    **columns, nothing;
  /* of the last solve; the column that the running part of it begins at */
  PetscInt            nresults, roomresults, first;
  PetscInt           *its;
  KSPConvergedReason *reasons;
  PetscReal          *norms;
  PetscBool           together;
};

/* Columns of products and preconditioners: directions of a block method are none of those that have a reason */
static inline SpikeKrylovRhs *KSPFusedRhsOperands(KSPFusedRhs *c)
{
  return c->istall ? &c->directions : &c->s;
}

/* fusedtall.c */
PETSC_INTERN PetscErrorCode KSPFusedTallSetUp(KSP);
PETSC_INTERN PetscErrorCode KSPFusedTallDestroy(KSPFusedRhs *);

/* fusedrhssteps.c */
PETSC_INTERN PetscErrorCode KSPFusedRhsFetch(KSP, Vec, PetscBool, PetscBool, PetscScalar **, PetscInt *);
PETSC_INTERN PetscErrorCode KSPFusedRhsGiveBack(KSPFusedRhs *);

/* fusedrhsbasis.c */
PETSC_INTERN PetscErrorCode KSPFusedRhsSetUp(KSP, PetscInt);
PETSC_INTERN PetscErrorCode KSPFusedRhsGetBlock(KSP, Vec, Mat *);
PETSC_INTERN PetscErrorCode KSPFusedRhsSetWidth(KSP, PetscInt);
PETSC_INTERN PetscErrorCode KSPFusedRhsToFront(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsAddGuess(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsCombine(KSP, PetscInt, PetscScalar, Mat, const PetscInt[], PetscScalar, Mat,
                                               const PetscInt[]);
PETSC_INTERN PetscErrorCode KSPFusedRhsSetProduct(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsMatMult(KSP, Mat, Mat);
PETSC_INTERN PetscErrorCode KSPFusedRhsPCApply(KSP, Mat, Mat);

/* adapters.c */
PETSC_INTERN PetscErrorCode KSPFusedHasProduct(Mat, Mat, PetscBool, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedRhsKnowPC(KSP);
