/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedrhsmat.h: tall matrices of KSPMatSolve(), where all right-hand sides (columns) go together.

  The text of a method is the one for one vector. Each of its work vectors, and x, stands for a tall matrix of m columns
  that KSPFusedRhs keeps: KSPFusedRhsGetBlock() finds it. Columns have scalars, a test and a reason of their own
  (kernels/krylov/rhs.h). Vectors that all columns share stay vectors: the shadow vectors of IDR(s), and the diagonal of
  PCJACOBI.

  A column has a slot. Leading columns are those in the first `width` slots. Steps go over these and leave columns with
  a reason alone; products and preconditioners take all of them. When at most half of them iterate, the iterating
  columns move to the front, and width becomes their number. What a method launches depends on the iterations since its
  start, so all columns must have the same number of them. Therefore columns that have converged wait until none
  iterates: then their true residuals are computed together, and those that must go on start together, in the first
  slots. Columns that broke down do the same, with the same shadow vectors. So each column has the iterates of a solve
  of its own.

  A block method (KSP_FUSED_MATSOLVE_BLOCK, fusedtall.h) has the same loop. The columns of its work vectors, however,
  are directions of all right-hand sides. No column moves while others iterate. Where some leading columns do not go on
  after a start, the others start once more, alone.
*/
#pragma once

#include "fused.h"
#include "kernels/krylov/rhs.h"

typedef enum {
  KSP_FUSED_RHS_ACTIVE,
  KSP_FUSED_RHS_CONVERGED, /* by its recurrence; the true residual is to be looked at */
  KSP_FUSED_RHS_BROKEN,    /* waits for a new start                                   */
  KSP_FUSED_RHS_DONE
} KSPFusedRhsState;

/* A slot, and the members of KSP and KSPFused that belong to its column */
typedef struct {
  KSPFusedRhsState   state;
  PetscInt           column; /* of right-hand sides and solutions */
  PetscInt           its, started, renewals, generation;
  KSPConvergedReason reason;
  PetscReal          norm, rnorm0, ttol;
  PetscReal          goal, first, excess; /* as those of a single solve: fusedsolve.c */
  PetscReal          truth;               /* ||b - A x||, where the test has another norm */
  PetscBool          solution;            /* its x is the solution, not the correction of right preconditioning */
  PetscBool          alone;               /* it is left to a solve of its own: KSPFusedGetUnit() */
} KSPFusedOneRhs;

/* A tall matrix or vector whose array a step has */
typedef struct {
  Mat          block;
  Vec          v;
  PetscScalar *a;
  PetscBool    read, written;
} KSPFusedRhsSlot;

struct _n_KSPFusedRhs {
  SpikeKrylovRhs s;
  /* a block method with coefficients m x m; directions: its columns of products and preconditioners, without reasons */
  PetscBool      istall, hastall; /* block method wanted; its memory complete */
  SpikeKrylovRhs directions;
  SpikeBlock     tall;
  /*
    small matrices of the block method, where the kernels are; and on the host: NULL where the kernels are there, or the
    recurrences are on the device
  */
  PetscScalar *small, *hostsmall;
  /* columns of this solve, the leading ones, and room */
  PetscInt        m, width, room;
  PetscInt        ld;
  KSPFusedOneRhs *one;              /* [room] */
  PetscBool      *wanted;           /* [room] */
  PetscInt       *from, *to, *slot; /* [room] */
  PetscInt        nblocks;
  /*
    [nblocks] of work vectors, x and guess; NULL where there is none, or all columns share a vector. view: the first
    `width` columns, during a solve
  */
  Mat *block, *view;
  /* stands for the tall matrix of x */
  Vec x;
  /* of the first work vector */
  PetscObjectId id;
  Mat           rhs;
  PetscInt      generation;
  PetscBool     useguess;
  /* products of PETSc with the tall matrices, and what they were made for */
  PetscBool        useproduct, transpose;
  PetscObjectId    mat;
  PetscObjectState nonzero;
  /* PCMatApply() refuses: B goes column by column. Unknown: not asked yet */
  PetscBool3       refuses;
  PetscObjectId    pc; /* that has refused, and its type */
  char             pctype[64];
  KSPFusedRhsSlot *slots;
  PetscInt         nslots;
  PetscScalar    **columns, nothing;
  /* figures of the last solve; first: the column at which the running part of it begins */
  PetscInt            nresults, roomresults, first;
  PetscInt           *its;
  KSPConvergedReason *reasons;
  PetscReal          *norms;
  PetscBool           together;
};

/* State of products and preconditioners: directions of a block method go on when columns have a reason */
static inline SpikeKrylovRhs *KSPFusedRhsOperands(KSPFusedRhs *c)
{
  return c->istall ? &c->directions : &c->s;
}

PETSC_INTERN PetscErrorCode KSPFusedRhsSetUp(KSP, PetscInt);
PETSC_INTERN PetscErrorCode KSPFusedRhsDestroy(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedRhsGetBlock(KSP, Vec, Mat *);
PETSC_INTERN PetscErrorCode KSPFusedRhsGetArray(KSP, Vec, PetscBool read, PetscBool written, PetscScalar **,
                                                PetscInt *ld);
PETSC_INTERN PetscErrorCode KSPFusedRhsRestoreArrays(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsSetWidth(KSP, PetscInt);
PETSC_INTERN PetscErrorCode KSPFusedRhsToFront(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsAddGuess(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsCombine(KSP, PetscInt, PetscScalar, Mat, const PetscInt[], PetscScalar, Mat,
                                               const PetscInt[]);
PETSC_INTERN PetscErrorCode KSPFusedRhsSetProduct(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsMatMult(KSP, Mat, Mat);
PETSC_INTERN PetscErrorCode KSPFusedRhsPCApply(KSP, Mat, Mat);
