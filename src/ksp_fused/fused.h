/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fused.h: the frame of the fused Krylov methods: private to src/ksp_*.

  A method is one C file. It says which work vectors it has and gives four functions:

    start()    from the residual in work[0]: directions and scalars; ends in a step that posts the norm
    head()     the first part of an iteration, up to the step whose sums may carry those of the iteration before
    tail()     the rest of it; ends in a step that counts the iteration and posts norm and reason
    replace()  the scalars that belong to a residual that was replaced

  What moves vectors is a step (kernels/scalars.h has the list, kernels/steps.h the formulas, once for host and device).
  KSPFusedStep() fetches the arrays, asks the backend to enqueue the step and sees to its sums: they stay on the device
  where there is one rank and a device; else they go over the ranks in one reduction and the recurrence runs on the
  host. A method never looks at a scalar, and whatever it launches depends on the numbers of iterations alone, which are
  the same on all ranks.

  KSPFusedApplyStep() is the operator with the preconditioner and the step behind it, through KSP_PCApplyBAorAB(): any
  Mat, any PC, transposed, with null spaces. What is known about a Mat or a PC by its type or by what it composes is in
  adapters.c and nowhere else. Where the backend has a copy of A in a form of its own, or A is stored in one and lends
  it, products are its own, with the step in their epilogue, and where nothing else is launched on a device an iteration
  becomes a graph; a method whose iterations differ has as many graphs as make a period. Where a method has its
  iterations in the backend as a whole, and B is the identity or a diagonal matrix, a launch makes many of them. A
  preconditioner that says how to enqueue its work (enqueue.h), or is a diagonal matrix, is applied on the backend's
  stream without PCApply(), and is part of the graph.

  Several right-hand sides at once: fusedrhs.h.

  Methods with a number of vectors that is known at run time (blocks) work by KSPFusedBasisStep() and
  KSPFusedBasisApplyDots(), in fusedbasis.c: the same contract, with blocks of columns, and with the recurrences of
  kernels/idr.h. Vectors of a kind that no backend has, or more columns than it takes, are moved by PETSc's own
  functions.

  KSPSolve_Fused() is the loop. The host reads posts (iteration, norm, reason), in lockstep or one iteration behind what
  it has launched; both give the same bits, for steps do nothing once a reason is set. Where the iteration that is on
  its way may well be the last, the host waits for it: products and preconditioners that are not ours would be done for
  nothing. It replays each post through history, monitors and the test of the KSP. The reason RESTART asks for a new
  start from the true residual, which is granted when an iteration was completed since the last one. At convergence by
  the default test the true residual is computed; where it is more than 10 times the tolerance, the method starts again
  from it, as long as that halves it.

  What a solve keeps from the one before is in KSPFusedKey: it is compared at the start of each solve, and what does not
  fit is made anew.
*/
#pragma once

#include <petscspike.h>
#include <petsc/private/kspimpl.h>
#include "kernels/krylov/krylov.h"
#include "common/matcsr.h"
#include "kernels/block/block.h"
#include "kernels/krylov/blockcg.h"
#include "common/enqueue.h"

typedef struct _n_KSPFused        KSPFused;
typedef struct _n_KSPFusedColumns KSPFusedRhs;

typedef struct {
  const char *name;
  PetscInt    nwork;
  /* work vectors that hold nothing between the end of an iteration and the next head()              */
  PetscInt scratch[2];
  /* with left preconditioning, work[0] is B (b - A x): BiCGStab; else b - A x: CG */
  PetscBool residual_preconditioned;
  PetscErrorCode (*start)(KSP);
  PetscErrorCode (*head)(KSP);
  PetscErrorCode (*tail)(KSP);
  PetscErrorCode (*replace)(KSP);
  PetscBool blocks; /* works by KSPFusedBasisStep() */
  /* or NULL: x and work[0], which may lag, become those of the last iteration */
  PetscErrorCode (*settle)(KSP);
  /* or NULL: another attempt after a breakdown, also where no iteration was completed since the last start */
  PetscErrorCode (*renew)(KSP);
  /* iterations in the plain form that the backend has as a whole, on x and the work vectors */
  SpikeKrylovMethod whole;
  /*
    or NULL: w <- B x behind the first iteration from x = 0, where that needs no application of B; done says whether it
    did
  */
  PetscErrorCode (*unwind)(KSP, Vec w, PetscBool *done);
  /* or NULL: start(), and a whole iteration, of the block method for several right-hand sides: fusedtall.c */
  PetscErrorCode (*tallstart)(KSP);
  PetscErrorCode (*talliterate)(KSP);
  PetscBool lags; /* x by a step where nobody looks at it before settle(); B = b I is a number then */
} KSPFusedMethod;

/* What else a graph holds for: the preconditioner, whatever its values are, and the form of the method */
typedef struct {
  PetscObjectId      id;
  PetscObjectState   shape;
  const PetscScalar *diagonal;
  PCSide             side;
  PetscBool          identity, symmetric, flexible, scaled, lags;
} KSPFusedGraphKey;

/* What the state in a backend, the copy of A and the graph were made for */
typedef struct {
  const SpikeKrylovKernels *kernels;
  PetscBool                 ondevice;
  PetscObjectId             mat;
  PetscObjectState          nonzero, values;
  PetscBool                 borrowed; /* A is stored by diagonals, or is a stencil, and nonzero is its shape */
  PetscBool                 stencil;  /* the latter                                                          */
  KSPFusedSpMVType          spmv;
  PetscInt                  narrays, variant;
  const PetscScalar       **arrays; /* of x and the work vectors */
  PetscBool                 merged;
  KSPFusedGraphKey          pc;
} KSPFusedKey;

/* A vector while a block step has its array */
typedef struct {
  Vec          v;
  PetscScalar *a;
  PetscBool    read, written;
} KSPFusedSlot;

struct _n_KSPFused {
  const KSPFusedMethod  *method;
  KSPFusedReductions     reductions;
  PetscBool              checktrue, lockstep, graphs;
  KSPFusedSpMVType       spmv;
  KSPFusedPersistentType persistent;
  PetscBool              symmetric;   /* CG: for complex symmetric operators */
  PetscInt               replacement; /* every so many iterations, 0 for never */

  KSPFusedKey key;
  SpikeKrylov s;
  PetscMPIInt size;
  /* B = I, and no null space is to be removed: no PCApply()                  */
  PetscBool identity;
  /* what B enqueues itself; run is NULL: PCApply()                             */
  SpikeEnqueue pc;
  /* B where it is a diagonal matrix, else NULL; where that is kept        */
  Vec diagonal, store;
  /* that is b I, in a method that takes it as a number                  */
  PetscBool scaled;
  /* b                                                                   */
  PetscReal scale;
  /* x, in this solve; now                                               */
  PetscBool lags, lagging;
  /* of A; of iterations, one for each of a period                      */
  void *copy, **graph;
  /* iterations from number `steady` after a start repeat each period   */
  PetscInt period, steady;
  /* of the method: another number, other graphs                        */
  PetscInt variant;
  /* in this solve                                                      */
  PetscBool usecopy, usegraph, usewhole;
  /* form of this solve                                                       */
  PetscBool merged;
  /* unknown: where B may vary; false in methods that cannot                  */
  PetscBool3 wantflexible;
  /* this solve keeps what B returned, and x is the solution at any time      */
  PetscBool flexible;
  /* attempts since an iteration was completed                                */
  PetscInt renewals;
  /* iterations launched since the last start                                 */
  PetscInt since;
  /* x was 0 at the last start, and what unwind() needs has not been written over */
  PetscBool fromzero;
  /* another iteration may follow the one that is launched                    */
  PetscBool more;
  /* the sums of the last step wait for the next reduction                    */
  PetscBool          carried;
  PetscInt           ncarried;
  SpikeKrylovStep    carriedstep;
  PetscScalar        carry[SPIKE_KRYLOV_MAXDOTS];
  SpikeKrylovPost    ring[4]; /* posts that the host makes, and how many it has made and read             */
  PetscInt           posted, nread;
  Vec                guess; /* with right preconditioning: the initial guess, x being the correction        */
  PetscBool          useguess;
  KSPFusedInfo       info;
  void              *data;     /* of the method                                                            */
  PetscBool          usevec;   /* block steps are done by PETSc's functions                                 */
  PetscBool          petsc;    /* so, wherever the vectors are                                             */
  PetscInt           ncolumns; /* most columns of a block                                                   */
  PetscInt           nsmall;   /* scalars of block steps                                                    */
  PetscScalar      **columns;  /* pointers to those of four blocks                                          */
  PetscScalar       *factors;  /* of VecMAXPY()                                                             */
  PetscScalar       *sums;     /* of a block step, behind room for a carried one                            */
  KSPFusedSlot      *slots;    /* vectors whose arrays a block step has, and how many; those in front are not columns */
  PetscInt           nslots, nsingles;
  SpikeIDRRecurrence carriedblock;
  Vec                blockwork;

  KSPFusedMatSolveType matsolve;
  KSPFusedRhs         *columnsolve; /* fusedrhs.h; NULL before the first solve of that kind          */
  PetscBool            running;     /* one: vectors are names of blocks of columns                       */
  PetscInt             nshared;     /* work vectors, the last ones, that all columns share              */
};

/* What a block step works on: SpikeKrylovBasis, with vectors. c and a point into s.small */
typedef struct {
  PetscInt           first, last;
  Vec               *A, *B;
  const PetscScalar *c, *a;
  Vec                x, y, z, r, q, p;
  const PetscScalar *g;
} KSPFusedBasis;

/* With right preconditioning x is a correction in the space before B, but in the flexible form */
static inline PetscBool KSPFusedIsCorrection(KSP ksp)
{
  return (PetscBool)(ksp->pc_side == PC_RIGHT && !((KSPFused *)ksp->data)->flexible);
}

/* Scalars of block steps, of the first column where there are many */
PETSC_INTERN PetscScalar *KSPFusedSmall(KSPFused *);

/* fusedsolve.c */
PETSC_INTERN PetscErrorCode KSPSolve_Fused(KSP);
PETSC_INTERN PetscErrorCode KSPFusedSetForm(KSP);
PETSC_INTERN PetscErrorCode KSPFusedTrueResidual(KSP, Vec);
PETSC_INTERN PetscErrorCode KSPFusedPost(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedDestroyState_Private(KSPFused *);

/* fusedsteps.c */
PETSC_INTERN PetscErrorCode KSPFusedStep(KSP, SpikeKrylovStep, PetscBool defer, ...);
PETSC_INTERN PetscErrorCode KSPFusedMult(KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedMultStep(KSP, Vec, Vec, SpikeKrylovStep, ...);
PETSC_INTERN PetscErrorCode KSPFusedApplyStep(KSP, Vec, Vec, Vec, SpikeKrylovStep, ...);
PETSC_INTERN PetscErrorCode KSPFusedApply(KSP, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedPCApply(KSP, Vec, Vec);

PETSC_INTERN PetscErrorCode KSPFusedCopy(KSP, Vec, Vec);

/* fusedbasis.c */
PETSC_INTERN PetscErrorCode KSPFusedBasisSetUp(KSP, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode KSPFusedBasisDestroy(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedBasisStep(KSP, SpikeKrylovBasisStep, const KSPFusedBasis *, const KSPFusedBasis *,
                                              const SpikeIDRRecurrence *, PetscBool);
PETSC_INTERN PetscErrorCode KSPFusedBasisApplyDots(KSP, Vec, Vec, const KSPFusedBasis *, const SpikeIDRRecurrence *);

/* fusedrhssteps.c: these, while a solve for columns is running */
PETSC_INTERN PetscErrorCode KSPFusedRhsStep(KSP, SpikeKrylovStep, const Vec[]);
PETSC_INTERN PetscErrorCode KSPFusedRhsMult(KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedRhsMultStep(KSP, Vec, Vec, SpikeKrylovStep, const Vec[]);
PETSC_INTERN PetscErrorCode KSPFusedRhsPC(KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedRhsApply(KSP, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedRhsApplyStep(KSP, Vec, Vec, Vec, SpikeKrylovStep, const Vec[]);
PETSC_INTERN PetscErrorCode KSPFusedRhsCopy(KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedRhsBlockStep(KSP, SpikeKrylovBasisStep, const KSPFusedBasis *,
                                                 const KSPFusedBasis *, const SpikeIDRRecurrence *);

/*
  fusedtall.c, for block methods, with coefficients m x m: a task is Y [op] X Z with small matrix number `small` as Z,
  or that matrix <- X^H Y, and blocks are named by vectors as in the rest; tasks of a call go as if at once, those of a
  chain one behind the other on each row. KSPFusedTallRecur() adds up the first `sums` small matrices over the ranks,
  and makes a step of kernels/blockcg.h
*/
typedef struct {
  SpikeBlockOp   op;
  SpikeBlockMode mode;
  Vec            X, Y;
  int            small;
} KSPFusedTall;
PETSC_INTERN PetscErrorCode KSPFusedTallRun(KSP, PetscInt, const KSPFusedTall[]);
PETSC_INTERN PetscErrorCode KSPFusedTallChain(KSP, const KSPFusedTall[2]);
PETSC_INTERN PetscErrorCode KSPFusedTallRecur(KSP, SpikeBlockCGStep, PetscInt sums, int norms);

/* fusedrhs.c, fusedrhsbasis.c, fusedrhsoptions.c */
PETSC_INTERN PetscErrorCode KSPMatSolve_Fused(KSP, Mat, Mat);
PETSC_INTERN PetscErrorCode KSPFusedRhsDestroy(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedRhsSetFromOptions(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPFusedRhsView(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPFusedRhsComposeMethods(KSP, PetscBool);

/* fused.c */
PETSC_INTERN PetscErrorCode KSPDestroy_Fused(KSP);
PETSC_INTERN PetscErrorCode KSPReset_Fused(KSP);
PETSC_INTERN PetscErrorCode KSPFusedSettle(KSP);
PETSC_INTERN PetscErrorCode KSPCreate_Fused(KSP, const KSPFusedMethod *);
PETSC_INTERN PetscErrorCode KSPFusedDestroyGraphs(KSPFused *);

/* fusedoptions.c */
PETSC_INTERN PetscErrorCode KSPSetFromOptions_Fused(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPView_Fused(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPFusedComposeMethods_Private(KSP, PetscBool);

/* adapters.c */
PETSC_INTERN PetscErrorCode KSPFusedIsIdentity(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedKnowPC(KSP);
PETSC_INTERN PetscErrorCode KSPFusedNeverWaits(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedMayVary(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedIsKnown(Mat, PetscMemType, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedGetProduct(Mat, PetscMemType, SpikeEnqueue *);
PETSC_INTERN PetscErrorCode KSPFusedGetCSR(Mat, PetscMemType, SpikeKrylovCSR *, SpikeCSR *);
PETSC_INTERN PetscErrorCode KSPFusedRestoreCSR(Mat, PetscMemType, SpikeCSR *);
