/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factored.h: what preconditioners by factors share: options of PCFactor, failures, applications to vectors and dense
  matrices
*/
#pragma once

#include <petsc/private/pcimpl.h>
#include <petscspike.h>

/* The first fields of their data */
#define PCFACTOREDHEADER \
  const char *name;                 /* PCSPIKE, PCBLOCKILU, in messages                                    */ \
  PetscErrorCode (*changed)(PC);    /* an option has: the next setup makes everything again                 */ \
  char              *ordering;      /* of PCFactorSetMatOrderingType()                                      */ \
  PetscReal          zeropivot;     /* fraction of the norm of the matrix                                   */ \
  MatFactorShiftType shifttype;     /* none, or pivots are boosted; PETSC_DECIDE: not set                    */ \
  PetscReal          shiftamount;   /* fraction of the norm, PETSC_DECIDE: by the rounding of the factors   */ \
  PetscBool          built;         /* the symbolic part, for the present options and pattern               */ \
  PetscBool          factored;      /* numeric work was done for the present values, on all ranks           */ \
  PetscBool          numeric;       /* and it succeeded on this rank                                        */ \
  PetscInt           nboost;        /* pivots that it boosted on this rank                                   */ \
  PetscBool          boosted;       /* a rank has some, the same on all                                      */ \
  PetscBool          presolves;     /* the type has a PCPreSolve() of its own                                */ \
  PetscBool          once, refused; /* the last solve was by KSPPREONLY; it was refused on this rank         */ \
  char               failtext[512]; /* of this rank                                                         */

typedef struct {
  PCFACTOREDHEADER
} PC_Factored;

/* Columns of x <- M^-1 b, or its transpose, where the arrays are; leading dimensions count for more than one */
typedef PetscErrorCode (*PCFactoredSolve)(PC, PetscBool trans, PetscInt ncols, const PetscScalar *b, PetscInt ldb,
                                          PetscMemType bmem, PetscScalar *x, PetscInt ldx, PetscMemType xmem);

PETSC_INTERN PetscErrorCode PCFactoredInitialize_Private(PC, const char name[], const char ordering[],
                                                         PetscErrorCode (*changed)(PC));
PETSC_INTERN PetscErrorCode PCFactoredDestroy_Private(PC);
PETSC_INTERN PetscErrorCode PCFactoredBegin_Private(PC);
PETSC_INTERN PetscErrorCode PCFactoredBoosted_Private(PC, PetscInt nboost);
PETSC_INTERN PetscErrorCode PCFactoredRefuse_Private(PC, KSP);
PETSC_INTERN PetscErrorCode PCFactoredFail_Private(PC, PCFailedReason, PetscErrorCode, const char format[], ...)
  PETSC_ATTRIBUTE_FORMAT(4, 5);
PETSC_INTERN PetscErrorCode PCFactoredGetFailText_Private(PC, char text[], size_t length);
PETSC_INTERN PetscErrorCode PCFactoredViewGroup_Private(PetscViewer, const char heading[]);
/* factoredmat.c */
PETSC_INTERN PetscErrorCode PCFactoredConvert_Private(PC, MatType, PetscBool reuse, Mat *converted, PetscBool *same);
PETSC_INTERN PetscErrorCode PCFactoredAgree_Private(PC, PetscBool *yes);
PETSC_INTERN PetscErrorCode PCFactoredFits_Private(PC, PetscMemType, PetscReal bytes, PetscReal memory,
                                                   PetscReal *needed, PetscBool *fits);
/* factoredoptions.c */
PETSC_INTERN PetscErrorCode PCFactoredSetShiftFromOptions_Private(PC, const char option[], PetscOptionItems);

PETSC_INTERN PetscErrorCode PCFactoredApply_Private(PC, PetscMemType, PCFactoredSolve, PetscBool trans, Vec, Vec);
PETSC_INTERN PetscErrorCode PCFactoredMatApply_Private(PC, PetscMemType, PCFactoredSolve, PetscBool trans, Mat, Mat);
PETSC_INTERN PetscErrorCode PCFactoredComposeMethods_Private(PC, const char prefix[], PetscBool compose);

/*
  Magnitude of boosted pivots, as a fraction of the norm; epsilon: rounding of the factors. A direct solver with steps
  of refinement takes the root of epsilon, the least change. For an iterative method that changes little more by 1e-3:
  it needs about as many iterations, but M^-1 is smaller by orders, and so are the rounding errors of applying it
  (benchmarks/results/survey.txt).
*/
static inline PetscReal PCFactoredShift_Private(const PC_Factored *f, PetscReal epsilon)
{
  if (f->shiftamount != (PetscReal)PETSC_DECIDE) return f->shiftamount;
  return PetscMax((PetscReal)1e-3, PetscSqrtReal(epsilon));
}

/* Whether kernels of a backend can work on memory of this type as it is; a host backend is given the host's only */
static inline PetscBool PCFactoredIsHere_Private(PetscMemType backend, PetscMemType memtype)
{
  return (PetscBool)(PetscMemTypeHost(backend) || !PetscMemTypeHost(memtype));
}
