/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fused.h: the frame of the fused Krylov methods. Private to src/ksp_*.

  Layers. A .c file includes the headers of its own and of lower layers only (tools/checkincludes proves that):

    fused.h                       types, and the operations that a method calls
    adapters                      what is known about PETSc's own Mat and PC types
    fusedranks                    products of a MATMPIAIJ by copies of its parts
    fusedstate                    state in the backend, products of A, lifetime of graphs, arrays of vectors
    fusedbasis    fusedrhsmat     basis steps                   tall matrices of several right-hand sides
    fusedsteps    fusedrhssteps   operations of one vector      operations of several right-hand sides; fusedtall
    fusedtruth                    the true residual, and what it has to be; fusedgraph: CUDA graphs of iterations
    fusedprecision fusedrhstruth  products in a lower precision; the true residual of the columns
    fusedfactors                  factors of the preconditioner in a lower precision
    fusedsolve    fusedrhs        the loop of a solve           several right-hand sides together
    fusedscaled                   KSPSolve(): the loop, and once more with b and x divided by a unit
    fusedplain                    vectors without arrays, by PETSc's methods
    fusedmatsolve                 KSPMatSolve()
    fusedrhsoptions               setters, getters, options, view of several right-hand sides; fusedprecisionoptions
    fusedoptions  fusedview       setters, getters, options     what -ksp_view prints
    fusedmethod                   creation: what the file of a method includes

  A method is one C file. It names its work vectors and gives four functions:

    start()    directions and scalars from the residual in work[0]; ends in a step that posts the norm
    head()     the first part of an iteration, up to the step that may carry the sums of the iteration before
    tail()     the rest of the iteration; ends in a step that counts it and posts norm and reason
    replace()  the scalars of a residual that was replaced

  Steps. A step is one pass over vectors, with its inner products (list: kernels/krylov/scalars.h, formulas:
  kernels/krylov/steps.h). KSPFusedStep() gets the arrays and asks the backend to enqueue the step. On one rank with a
  device the sums and the recurrence stay on the device. Elsewhere one reduction sums over the ranks, and the host
  makes the recurrence. A method never reads a scalar: what it launches depends on iteration counts alone, and
  those are the same on all ranks.

  Operations. A method calls KSPFusedStep(), KSPFusedMult() and so on, which call f->ops. There are two tables:
  KSPFusedOps_Vector for one vector, and KSPFusedOps_Rhs for several right-hand sides, where a Vec of the method is the
  key of a tall matrix (fusedrhsmat.h). A method never asks which of them it serves.

  Products and preconditioners. Any Mat, PC, null space and transpose works, by KSP_PCApplyBAorAB(). Where the backend
  has its own copy of A, or A lends its storage, the backend makes the product and takes the sums of the next step in
  the same pass; on several ranks the columns of others are added before the sums. A preconditioner that enqueues its
  own work (common/enqueue.h), or is a diagonal matrix, runs on the backend's stream without PCApply(). Where an
  iteration launches nothing else it becomes a CUDA graph; a method whose iterations differ has one graph for each
  iteration of its period, and where many iterations are left a graph has some periods. Where the backend has the whole
  iteration and B is the identity or a diagonal matrix, one launch makes many iterations.

  Basis steps work on s vectors at once, s known at run time (fusedbasis.c, recurrences: kernels/krylov/idr.h). PETSc's
  functions replace them where no backend has such vectors, or s is more than the backend takes.

  The loop. The host reads posts (iteration, norm, reason) in lockstep, or one iteration late. Both give the same bits:
  a step does nothing once a reason is set. The host does not launch ahead where the running iteration may be the last:
  a useless product may cost more than the wait. Each post goes through history, monitors and test of the KSP. The
  reason RESTART asks for a new start from the true residual; it is granted once an iteration was completed since the
  last start. Where a test of PETSc's or ours has converged, the true residual has to confirm it: fusedtruth.h. Where it
  does not, the method starts again from it, as long as that halves by how much it is too large.

  State is kept from solve to solve. Each solve compares what the state was made for, and makes anew what differs.
*/
#pragma once

#include <petscspike.h>
#include "kernels/krylov/krylov.h"
#include "common/matcsr.h"
#include "kernels/block/block.h"
#include "kernels/krylov/blockcg.h"
#include "common/enqueue.h"
#include "common/petsccompat.h"
#include "mat_halo/halolist.h"

typedef struct _n_KSPFused    KSPFused;
typedef struct _n_KSPFusedRhs KSPFusedRhs;

typedef struct {
  const char *name;
  KSPType     plain; /* PETSc's KSP of the same method */
  PetscInt    nwork;
  /* work vectors that hold nothing between the end of an iteration and the next head() */
  PetscInt scratch[2];
  /* with left preconditioning work[0] is B (b - A x), as in BiCGStab; else b - A x, as in CG */
  PetscBool residual_preconditioned;
  PetscErrorCode (*start)(KSP);
  PetscErrorCode (*head)(KSP);
  PetscErrorCode (*tail)(KSP);
  PetscErrorCode (*replace)(KSP);
  /* the method works by KSPFusedBasisStep() */
  PetscBool basis;
  /* or NULL. Updates of x and work[0] may be late: settle() brings them to the last iteration */
  PetscErrorCode (*settle)(KSP);
  /* or NULL. Prepares another attempt after a breakdown, even if no iteration was completed since the last start */
  PetscErrorCode (*renew)(KSP);
  /* the backend's name for the whole iteration, on x and the work vectors */
  SpikeKrylovMethod whole;
  /* whether this solve has that iteration; NULL: with plain reductions and B = I or a diagonal matrix */
  PetscBool (*haswhole)(KSP);
  /* or NULL. After the first iteration from x = 0: w <- B x if that needs no application of B; done tells */
  PetscErrorCode (*unwind)(KSP, Vec w, PetscBool *done);
  /* or NULL. start() and the whole iteration of the block method for several right-hand sides (fusedtall.h) */
  PetscErrorCode (*tallstart)(KSP);
  PetscErrorCode (*talliterate)(KSP);
  /* the update of x may be one iteration late while nobody reads x; B = b I is passed as the scalar b then */
  PetscBool lags;
} KSPFusedMethod;

/* What a basis step works on: SpikeKrylovBasis with vectors. c, a and g point into KSPFusedSmall() */
typedef struct {
  PetscInt           first, last;
  Vec               *A, *B;
  const PetscScalar *c, *a;
  Vec                x, y, z, r, q, p;
  const PetscScalar *g;
} KSPFusedBasis;

/*
  The operations of a method. Vectors of a step are in the order of kernels/krylov/steps.h. K = B A, or A B with right
  preconditioning. Two instances: one vector, and several right-hand sides
*/
typedef struct {
  /* defer: the sums may wait for the next reduction */
  PetscErrorCode (*step)(KSP, SpikeKrylovStep, PetscBool defer, const Vec v[]);
  /* y <- A x; multstep: and a step that reads y */
  PetscErrorCode (*mult)(KSP, Vec x, Vec y);
  PetscErrorCode (*multstep)(KSP, Vec x, Vec y, SpikeKrylovStep, const Vec v[]);
  /* y <- B x */
  PetscErrorCode (*pcapply)(KSP, Vec x, Vec y);
  /* y <- K x; applystep: and a step that reads y */
  PetscErrorCode (*apply)(KSP, Vec x, Vec y, Vec work);
  PetscErrorCode (*applystep)(KSP, Vec x, Vec y, Vec work, SpikeKrylovStep, const Vec v[]);
  /* y <- x */
  PetscErrorCode (*copy)(KSP, Vec x, Vec y);
  /*
    One basis step and its recurrence. Once a reason is set only SMOOTH is done. combine: a COMBINE that follows, from
    the r that the step leaves, in the same pass where the backend can. defer: the sums may wait for the next reduction
  */
  PetscErrorCode (*basisstep)(KSP, SpikeKrylovBasisStep, const KSPFusedBasis *, const KSPFusedBasis *combine,
                              const SpikeIDRRecurrence *, PetscBool defer);
  /* y <- K x, in the flexible form y <- A x, and the step DOTS of this y */
  PetscErrorCode (*basisapplydots)(KSP, Vec x, Vec work, const KSPFusedBasis *dots, const SpikeIDRRecurrence *);
  /* scalars of basis steps, those of the first right-hand side */
  PetscScalar *(*small)(KSPFused *);
  /* KSPBuildSolution() during a solve */
  PetscErrorCode (*buildsolution)(KSP, Vec v, Vec *V);
} KSPFusedOps;

/* What the user has set */
typedef struct {
  KSPFusedReductions     reductions;
  KSPFusedSpMVType       spmv;
  KSPFusedPersistentType persistent;
  KSPFusedMatSolveType   matsolve;
  KSPFusedPrecision      precision;
  PetscInt               replacement; /* iterations from one to the next; 0: never */
  PetscBool              checktrue, lockstep, graphs;
  PetscBool              symmetric; /* CG for complex symmetric operators */
  PetscBool              petsc;     /* basis steps by PETSc's functions, wherever the vectors are */
  PetscBool3             flexible;  /* unknown: the type of B decides; false in methods without that form */
} KSPFusedOptions;

/* Products of A, and what they were made for */
typedef struct {
  PetscBool        own;  /* in this solve: by copy, not by MatMult() */
  void            *copy; /* the backend's copy of A, or a loan */
  PetscObjectId    mat;
  PetscObjectState nonzero, values; /* of a loan: nonzero is its shape */
  KSPFusedSpMVType spmv;
  PetscBool        borrowed; /* A lends its diagonals, its blocks or its stencil */
  SpikeEnqueue     enqueue;  /* run is not NULL: without a copy A puts its product on the stream of the method */
  /* in a lower precision: fusedprecision.c */
  PetscBool           narrow; /* in this solve, now                                    */
  PetscBool           rounds; /* ... and digits are lost: the true residual is wanted  */
  void               *low;    /* made by the backend of copy; NULL where there is none */
  PetscSpikePrecision lowprecision;
  PetscObjectState    lowvalues; /* of A, when low was filled                         */
  PetscBool           lowready;  /* no error has come between                         */
  PetscObjectId       singlemat; /* whose values have lost digits in bf16 */
  PetscObjectId       wornmat;   /* for these values it has not gone well             */
  PetscObjectState    wornvalues;
} KSPFusedProduct;

/* The copy that products of this moment read */
static inline const void *KSPFusedCopyInUse(const KSPFusedProduct *product)
{
  return product->narrow ? product->low : product->copy;
}

/* What the copy of a MATMPIAIJ was made for, and the columns that its rows have on other ranks */
typedef struct {
  PetscBool        tried;
  PetscObjectState nonzero[2], values[3]; /* of the parts; the third is that of A */
  SpikeBlock       b;                     /* packs messages */
  MatHaloList      list;
} KSPFusedRanks;

/* The preconditioner B of this solve */
typedef struct {
  PetscBool    identity; /* B = I, and no null space is removed: no PCApply() */
  PetscBool    flexible; /* B may vary: the method keeps what B returned, and x is the solution at any time */
  SpikeEnqueue enqueue;  /* what B enqueues itself; run is NULL: PCApply() */
  Vec          diagonal; /* B where it is a diagonal matrix, else NULL */
  Vec          store;    /* memory of diagonal */
  PetscBool    single;   /* ... whose elements have single precision, in the first part of that memory */
  PetscBool    scaled;   /* B = scale I, in a method that takes it as a scalar */
  PetscReal    scale;
} KSPFusedPreconditioner;

/* What graphs were made for */
typedef struct {
  PetscBool          merged;
  PetscInt           variant;
  PetscObjectId      pc;
  PetscObjectState   shape;
  const PetscScalar *diagonal;
  PCSide             side;
  PetscBool          identity, symmetric, flexible, scaled, lags, narrow, single;
} KSPFusedGraphKey;

/* CUDA graphs of iterations */
typedef struct {
  void              **graphs;  /* [period] */
  void               *many;    /* KSPFusedManyIterations() of them, beginning with a period */
  PetscInt            period;  /* iterations repeat with this period ... */
  PetscInt            steady;  /* ... from this number after a start */
  PetscInt            variant; /* set by the method: another value asks for other graphs */
  PetscInt            narrays;
  const PetscScalar **arrays; /* of x and the work vectors */
  KSPFusedGraphKey    made;
} KSPFusedGraphs;

/* When the true residual replaces that of products in a lower precision: fusedprecision.c */
typedef struct {
  PetscInt  due;     /* after this iteration; 0: not yet known                             */
  PetscBool worn;    /* ... and then the method starts again in the precision of PetscReal */
  PetscInt  since;   /* iteration after which it was replaced, or of the last start        */
  PetscInt  count;   /* replacements since the last start                                 */
  PetscInt  stalls;  /* times in a row that the true norm fell less than that of the recurrence */
  PetscReal initial; /* norm at iteration 0                                               */
  PetscReal start;   /* ... at the last start                                             */
  PetscReal least;   /* the smallest norm of a true residual since then                   */
  PetscReal truth;   /* norm of the residual that came last in the place of another, or of the start */
  PetscReal norm;    /* of the recurrence, after the last iteration that was seen         */
  PetscReal most;    /* largest norm since the last replacement; 0: none                  */
  PetscReal factor;  /* of the norm to that, at which the next replacement is due         */
  PetscInt  claims;  /* that were refuted                                                  */
} KSPFusedUpdate;

/* Factors of the preconditioner in a lower precision: fusedfactors.c */
typedef struct {
  PetscBool           asked;     /* the preconditioner was told to have them                 */
  PetscBool           anew;      /* what has gone wrong may be tried again                   */
  PetscBool           low;       /* in this solve, now                                       */
  PetscBool           given;     /* they were given up in the last solve                     */
  PetscBool           whole;     /* they are of the whole matrix                             */
  PetscSpikePrecision precision; /* theirs, or that which was given up                       */
  PetscInt            due;       /* after this iteration they are given up; 0: not yet known */
  PetscInt            since;     /* iteration of `before`                                    */
  PetscReal           before;    /* the least norm up to there                               */
  PetscReal           least;     /* ... up to now                                            */
} KSPFusedFactors;

/* Where this solve is */
typedef struct {
  PetscBool          merged;             /* form of this solve */
  PetscBool          usegraph, usewhole; /* iterations are graphs; one launch makes many iterations */
  PetscBool          lags, lagging;      /* x may lag in this solve; x lags now */
  PetscBool          fromzero;           /* x was 0 at the last start, and the vectors of unwind() are intact */
  PetscBool          more;               /* another iteration may follow the one that is launched */
  PetscInt           since;              /* iterations launched since the last start */
  PetscInt           renewals;           /* attempts since an iteration was completed */
  PetscBool          carried;            /* the sums of the last step wait for the next reduction */
  PetscInt           ncarried;
  SpikeKrylovStep    carriedstep;
  SpikeIDRRecurrence carriedbasis;
  PetscScalar        carry[SPIKE_KRYLOV_MAXDOTS];
  SpikeKrylovPost    ring[4];       /* posts of the host */
  PetscInt           posted, nread; /* number of posts made, and read */
  Vec                guess;         /* right preconditioning: the initial guess, where x is the correction */
  PetscBool          useguess;
  Vec                built;     /* KSPBuildSolution() without a vector of the caller, where x is not the solution */
  Vec                placed[2]; /* x and b where work[0] is, if those of the caller are not: fusedplace.h */
  KSPFusedUpdate     update;
  PetscReal          unit; /* b and x are divided by it in this solve: fusedtruth.h */
  Vec                rhs;  /* b of the caller, where the unit is not 1 */
} KSPFusedRun;

/* A vector whose array a basis step has */
typedef struct {
  Vec          v;
  PetscScalar *a;
  PetscBool    read, written;
} KSPFusedSlot;

/* Room for basis steps */
typedef struct {
  PetscBool     usevec;   /* in this solve: by PETSc's functions */
  PetscInt      ncolumns; /* most vectors of a basis */
  PetscInt      nsmall;   /* scalars of basis steps */
  PetscInt      nshared;  /* the last work vectors, which all right-hand sides share */
  PetscBool     wide;     /* vectors of DOTS are of PetscScalar, also where they will be narrow */
  PetscScalar **columns;  /* [4 ncolumns] arrays of four bases */
  PetscScalar  *factors;  /* [ncolumns] of VecMAXPY() */
  PetscScalar  *sums;     /* room for carried sums, then those of a step */
  KSPFusedSlot *slots;    /* vectors whose arrays the step has; the first nsingles are not in a basis */
  PetscInt      nslots, nsingles;
  Vec           work;
} KSPFusedBasisRoom;

struct _n_KSPFused {
  const KSPFusedMethod  *method;
  const KSPFusedOps     *ops;
  SpikeKrylov            s;     /* state in the backend */
  PetscBool              ready; /* s is complete */
  PetscMPIInt            size;
  KSPFusedOptions        options;
  KSPFusedProduct        product;
  KSPFusedRanks          ranks;
  KSPFusedPreconditioner pc;
  KSPFusedFactors        factors;
  KSPFusedGraphs         graph;
  KSPFusedRun            run;
  KSPFusedBasisRoom      basis;
  KSP                    plain; /* amid a solve on vectors without arrays; else NULL */
  KSPFusedRhs           *rhs;   /* fusedrhsmat.h; NULL before the first KSPMatSolve() */
  KSPFusedInfo           info;
  void                  *data; /* of the method */
};

/* Whether the diagonal of PCJACOBI is to have single precision in this solve, now: fuseddiagonal.h */
static inline PetscBool KSPFusedMayBeSingle(const KSPFused *f)
{
  return (PetscBool)(f->product.narrow && PetscDefined(USE_REAL_DOUBLE));
}

/* Whether the vectors of DOTS are bf16 in this solve, now, in the first part of the arrays of their Vecs */
static inline PetscBool KSPFusedHasNarrowShadow(const KSPFused *f)
{
  return (PetscBool)(f->method->basis && f->product.narrow && PetscDefined(USE_REAL_DOUBLE));
}

/* With right preconditioning, except in the flexible form, x is a correction: the solution is guess + B x */
static inline PetscBool KSPFusedIsCorrection(KSP ksp)
{
  return (PetscBool)(ksp->pc_side == PC_RIGHT && !((KSPFused *)ksp->data)->pc.flexible);
}

/* The copy of A, or what stands for a loan, and before it the copy of that copy */
static inline PetscErrorCode KSPFusedDestroyCopy(KSPFused *f)
{
  PetscFunctionBegin;
  if (f->product.low) PetscCall((*f->s.k->destroycopy)(&f->s, &f->product.low));
  PetscCall((*f->s.k->destroycopy)(&f->s, &f->product.copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Somebody looks at x or the residual: they become those of the last iteration */
static inline PetscErrorCode KSPFusedSettle(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->method->settle && f->s.k) PetscCall((*f->method->settle)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operations: see KSPFusedOps. The vectors of a step follow its other arguments */
#define KSPFusedVectors(...) \
  (PetscInt)(sizeof((Vec[]){__VA_ARGS__}) / sizeof(Vec)), (const Vec[]) \
  { \
    __VA_ARGS__ \
  }
#define KSPFusedStep(ksp, step, defer, ...)    KSPFusedStep_Private(ksp, step, defer, KSPFusedVectors(__VA_ARGS__))
#define KSPFusedMultStep(ksp, x, y, step, ...) KSPFusedMultStep_Private(ksp, x, y, step, KSPFusedVectors(__VA_ARGS__))
#define KSPFusedApplyStep(ksp, x, y, work, step, ...) \
  KSPFusedApplyStep_Private(ksp, x, y, work, step, KSPFusedVectors(__VA_ARGS__))

static inline PetscErrorCode KSPFusedStep_Private(KSP ksp, SpikeKrylovStep step, PetscBool defer, PetscInt n,
                                                  const Vec v[])
{
  PetscFunctionBegin;
  PetscAssert(n == SpikeKrylovSteps[step].nvectors, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "%" PetscInt_FMT " vectors for step %s", n, SpikeKrylovSteps[step].name);
  (void)n;
  PetscCall((*((KSPFused *)ksp->data)->ops->step)(ksp, step, defer, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedMult(KSP ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*((KSPFused *)ksp->data)->ops->mult)(ksp, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedMultStep_Private(KSP ksp, Vec x, Vec y, SpikeKrylovStep step, PetscInt n,
                                                      const Vec v[])
{
  PetscFunctionBegin;
  PetscAssert(n == SpikeKrylovSteps[step].nvectors, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "%" PetscInt_FMT " vectors for step %s", n, SpikeKrylovSteps[step].name);
  (void)n;
  PetscCall((*((KSPFused *)ksp->data)->ops->multstep)(ksp, x, y, step, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedPCApply(KSP ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*((KSPFused *)ksp->data)->ops->pcapply)(ksp, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedApply(KSP ksp, Vec x, Vec y, Vec work)
{
  PetscFunctionBegin;
  PetscCall((*((KSPFused *)ksp->data)->ops->apply)(ksp, x, y, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedApplyStep_Private(KSP ksp, Vec x, Vec y, Vec work, SpikeKrylovStep step,
                                                       PetscInt n, const Vec v[])
{
  PetscFunctionBegin;
  PetscAssert(n == SpikeKrylovSteps[step].nvectors, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "%" PetscInt_FMT " vectors for step %s", n, SpikeKrylovSteps[step].name);
  (void)n;
  PetscCall((*((KSPFused *)ksp->data)->ops->applystep)(ksp, x, y, work, step, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedCopy(KSP ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*((KSPFused *)ksp->data)->ops->copy)(ksp, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedBasisStep(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                               const KSPFusedBasis *combine, const SpikeIDRRecurrence *recurrence,
                                               PetscBool defer)
{
  PetscFunctionBegin;
  PetscAssert(b->last - b->first <= ((KSPFused *)ksp->data)->basis.ncolumns, PetscObjectComm((PetscObject)ksp),
              PETSC_ERR_PLIB, "A basis of %" PetscInt_FMT " vectors, room for %" PetscInt_FMT, b->last - b->first,
              ((KSPFused *)ksp->data)->basis.ncolumns);
  PetscCall((*((KSPFused *)ksp->data)->ops->basisstep)(ksp, step, b, combine, recurrence, defer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode KSPFusedBasisApplyDots(KSP ksp, Vec x, Vec work, const KSPFusedBasis *dots,
                                                    const SpikeIDRRecurrence *recurrence)
{
  PetscFunctionBegin;
  PetscCall((*((KSPFused *)ksp->data)->ops->basisapplydots)(ksp, x, work, dots, recurrence));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscScalar *KSPFusedSmall(KSPFused *f)
{
  return (*f->ops->small)(f);
}
