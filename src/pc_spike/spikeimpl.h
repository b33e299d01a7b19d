/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeimpl.h: what the files of PCSPIKE share */
#pragma once

#include <petsc/private/matimpl.h>
#include "kernels/band/band.h"
#include "common/matcsr.h"
#include "kernels/band/look.h"
#include "kernels/band/periodic.h"
#include "pc_factored/factored.h"
#include "common/enqueue.h"
#include "common/fault.h"
#include "common/wish.h"
#include "spikeborder.h"
#include "spikelines.h"
#include "spikegather.h"
#include "spikerefine.h"

#define SPIKE_MAT_APPLY_BATCH 16
#define SPIKE_SAMPLED_ROWS    1024

PETSC_INTERN PetscLogEvent PC_Spike_Fill, PC_Spike_Factor, PC_Spike_Tips, PC_Spike_Sweep, PC_Spike_Reduced,
  PC_Spike_Correct, PC_Spike_Refine, PC_Spike_Symbolic, PC_Spike_Look, PC_Spike_Lines;

PETSC_INTERN const char *const PetscSpikePrecisionNames[]; /* as views and failures say them */

/* Neighbours of this rank among the ranks that own rows, and the messages with them */
typedef struct {
  PetscMPIInt left, right; /* MPI_PROC_NULL where there is none */
  PetscBool   across;      /* some interfaces lie between ranks: the same on all of them */
  PetscMPIInt tag;
  MPI_Request req[4];
  /*
    to the left, to the right, from the left, from the right; one tip per right-hand side, or a tip of setup that
    crosses, kl x ku
  */
  PetscScalar *buf[4];
  /* MPI reads and writes the backend's memory: buf is there, else on the host                    */
  PetscBool direct;

  const SpikeBandKernels *k;    /* whose link it is                                             */
  void                   *link; /* messages without the host, kept over resets; NULL: they go by MPI */

  /* with link, where the whole matrix is one periodic system: what the ranks at its ends send to all */
  SpikeMessage *halves;
  PetscInt      nhalves[2];
} SpikeExchange;

/* Full SPIKE on several ranks: the segments that the partitions of each rank were merged into */
typedef struct {
  SpikeBand    band;       /* a partition for each rank that owns rows: tips and reduced systems alone, on the host */
  PetscInt     me;         /* that of this rank */
  PetscScalar *mine, *all; /* messages: of this rank, of all ranks */
} SpikeSegments;

/* Periodic systems */
typedef struct {
  /* the matrix is made of them and of other tridiagonal ones: the same on all ranks */
  PetscBool           found;
  PetscBool           across;                 /* one is the whole matrix, its ends on two ranks */
  PetscBool           active;                 /* an apply has something to do */
  PetscInt           *rows, *entries, *zeros; /* as in SpikePeriodic, on the host */
  PetscInt           *mate, *index;           /* work space of the search and of what goes to the backend */
  PetscBool          *joined;
  PetscScalar        *host; /* [2 maxrhs] on the host, with across */
  SpikePeriodic       d;
  SpikePeriodicReport report;
} PCSpikeCyclic;

/* Large entries on the diagonal: spikematching.c */
typedef struct {
  PCSpikeMatchingType type;
  PetscBool           rescale; /* scales are those of the values of each setup                           */
  PetscBool           active;  /* rows and columns are matched: the same on all ranks                    */
  Mat                 B;       /* rows permuted, all scaled: while band and ordering are chosen          */
  PetscInt           *col;     /* [n] row i of Pmat is row col[i] of the matrix that is factored         */
  PetscReal          *r, *c;   /* [n] scales of rows and columns of Pmat                                 */
  PetscReal          *ghost;   /* scales of the columns of the off-diagonal block of MATMPIAIJ           */
  PetscReal           norm;    /* the infinity norm of Pmat                                              */
  PetscScalar        *values[2], *dvalues[2]; /* on a device: scaled values of the pieces, on the host and there */
  /* small pivots have asked for the other way, for this pattern: with a matching or without one */
  PetscBool3 wanted;
  PetscReal  error[2];       /* of the factors without and with a matching, -1: not known                       */
  PetscBool  sound[2];       /* they have no boosted pivots, and small backward errors                          */
  PetscBool  trying;         /* this setup tries the other way                                                 */
  char       unmatched[192]; /* rows of Pmat without a partner, as text; empty: there are none              */
  /* in the backend's memory: the place of row i of Pmat in the order of the band, and both scales */
  PetscInt  *place;
  PetscReal *dr, *dc;
} PCSpikeMatching;

/* Rows along strong couplings: spikelinesorder.c */
typedef struct {
  PetscBool active; /* this setup has this ordering: nothing in the band couples ranks */
  /*
    the backend that has found this rank's paths: cuts and samples of the look are in their order, and dnewrow is of it,
    NULL where all rows stay; newrow is set when somebody asks. NULL: the host has, or these are no paths
  */
  const SpikeBandKernels *k;
  SpikeLines              find; /* with the threshold, an option */
} PCSpikeLines;

/* Independent systems: spikebatch.c */
typedef struct {
  PCSpikeBatchType type;
  PetscBool        found;             /* the same on all ranks: band.batch are those of this rank  */
  PetscBool        whole;             /* the same on all ranks: pivots of their pieces were small  */
  PetscInt         shortest, longest; /* rows, over all ranks                                      */
  const char      *why;               /* there is none                                             */
} PCSpikeBatch;

/* What a setup may be tried by, in this order: spiketrial.c */
typedef enum {
  SPIKE_WAY_GIVEN,    /* as options and pattern say             */
  SPIKE_WAY_PIVOTING, /* with row exchanges, beside a border too */
  SPIKE_WAY_WHOLE,    /* with row exchanges and without a border; where that is cheap in one partition, on one rank */
  SPIKE_WAYS
} SpikeWay;

typedef struct {
  SpikeWay  way;               /* of this setup                                                              */
  PetscReal error[SPIKE_WAYS]; /* of factors, -1: not known                                                  */
  PetscBool decided;           /* the best way of this pattern                                               */
  PetscBool cheap;             /* the natural band is, in one partition                                      */
  PetscBool suspect;           /* growth, border or pivots of this setup ask for a trial                     */
  PetscBool poor;              /* no way was good                                                            */
  PetscBool boosted, overflow; /* pivots of the band on any rank; one was not finite                         */
  PetscBool interfaces;        /* pivots of reduced systems were boosted, or are zero, on any rank           */
  PetscInt  weak;              /* of the fill that decided: rows that are not dominant, -1: not known        */
  PetscInt  now;               /* boosted pivots of this setup, on all ranks                                 */
  PetscInt  boosts;            /* those of the factors that were taken, -1: of none                          */
  PetscReal amplified;         /* that of the border of these, 0: of none                                    */
} PCSpikeTrial;

/* Truncated spikes or exact coupling, where PC_SPIKE_AUTO has tried: spikecoupling.c */
typedef struct {
  PetscBool exact;   /* truncated spikes are not enough for this pattern                    */
  PetscBool decided; /* truncated spikes were tried, and exact coupling where they are poor  */
  PetscReal error;   /* of the former, where exact coupling is to be tried; -1: of none      */
} PCSpikeCoupling;

/* One partition in place of several: spikelone.c */
typedef struct {
  PetscBool wanted;  /* one partition on each rank                                  */
  PetscBool decided; /* both have been tried for this pattern                       */
  PetscReal error;   /* of several partitions                                       */
} PCSpikeLone;

/*
  What a pass over the entries finds; distances count numerically nonzero entries only, and where there is a limit,
  those with |i - j| not above it
*/
typedef struct {
  PetscInt   limit;  /* PETSC_INT_MAX: none */
  PetscReal  sum;    /* of the magnitudes within the limit, 0 without one */
  PetscInt   kl, ku; /* of this rank */
  PetscInt   maxrow; /* nonzeros of the fullest row */
  PetscCount zeros;  /* stored zeros */
  PetscReal *weight; /* with weight != NULL: [kmax + 1] sums of |a_ij| by |i - j| */
} SpikeScan;

/* What a look at a matrix has found, as long as it is that matrix with these values: spikelook.c */
typedef struct {
  PetscObjectId    id; /* of the matrix; 0: nothing is known */
  PetscObjectState state, pattern;
  PetscInt         within[2];
  PetscBool        weigh;
  PetscBool        device; /* where it was */
  /* it says cuts and samples of the band that was chosen, which has all entries in their order */
  PetscBool covers;
  SpikeLook found;
} PCSpikeLook;

/* The precision that the solver wishes for the factors: spikewish.c */
typedef struct {
  PetscSpikePrecision user;    /* of PCSpikeSetPrecision(), or that of PetscReal                        */
  PetscBool           set;     /* by the user, whose choice it is then                                  */
  PetscSpikePrecision asked;   /* by the solver; that of PetscReal: it asks for none                    */
  PetscSpikePrecision target;  /* the last setup has begun with it                                      */
  PetscBool           whole;   /* factors are of the whole matrix                                       */
  PetscBool           dropped; /* it does not do for this pattern                                       */
  const char         *why;     /* it was not taken                                                      */
  PetscBool           refused; /* these are the values for which the solver could not do with it         */
  PetscObjectId       mat;     /* the matrix of these values, 0: there is none                          */
  PetscObjectState    state;
} PCSpikeWish;

/* Work space of orderings: spikeordering.c */
typedef struct {
  PetscInt    *ti, *tj, *si, *sj, *i, *j; /* A^T, A, and both together */
  PetscScalar *a;
  Mat          mat;
  PetscInt    *queue, *degree, *seen; /* [n] of a search */
} SpikeGraph;

/* Work space of the search for cuts: spikecuts.c */
typedef struct {
  PetscInt     count, *row; /* rows i > 0 of this rank, ascending, that nothing couples to rows before them */
  PetscInt    *reach;       /* [n] the last row that row i or an earlier one is coupled to directly         */
  PetscInt    *start;       /* as in SpikeBand */
  PetscScalar *diagonal;    /* [n] */
  PetscBool    known;       /* row[] is that of the band that was chosen */
} SpikeCuts;

/* Why a setup begins anew with the values of the last one, so that what it has found out of them stays */
typedef enum {
  SPIKE_AGAIN_NOT,       /* it does not: of a new pattern nothing is known     */
  SPIKE_AGAIN_MATCHING,  /* with a matching in place of none, or without one   */
  SPIKE_AGAIN_BORDER,    /* with another border                                */
  SPIKE_AGAIN_LONE,      /* with one partition a rank, or with several         */
  SPIKE_AGAIN_TRIAL,     /* by another way                                     */
  SPIKE_AGAIN_GATHER,    /* with rows of other ranks                           */
  SPIKE_AGAIN_COUPLING,  /* with exact coupling in place of truncated spikes   */
  SPIKE_AGAIN_PRECISION, /* in full precision                                   */
  SPIKE_AGAIN_BATCH      /* with systems of a batch that are not in pieces     */
} SpikeAgain;

typedef struct {
  PCFACTOREDHEADER

  /* options */
  PCSpikeType         type;
  PetscSpikePrecision precision; /* of this setup, or the next one */
  PCSpikeWish         wish;
  PetscInt            userkl, userku; /* PETSC_DECIDE: from the matrix */
  PetscInt            maxband;        /* PETSC_DECIDE: by memory, PETSC_UNLIMITED: none */
  PetscInt            local_partitions;
  PetscReal           dropoff;
  PetscReal           window;
  PetscBool           windowset; /* by the user */

  PCSpikeTridiagonalType tridiagonal;
  PetscBool              pivoting;
  PCSpikeFactorType      factortype;
  PetscBool              definite; /* options and matrix ask for Cholesky: band.cholesky where it is taken */

  /* setup */
  SpikeAgain       again; /* of the setup that is about to begin */
  PetscObjectState shape; /* changes with everything that is allocated or planned */
  /* the host's: the band is wider than the kernels of the device have it, or they exchange no rows */
  PetscBool  wide;
  PetscInt   givenkl, givenku; /* half-bandwidths that this setup has been given, PETSC_DECIDE: from the matrix */
  PetscInt   limit;            /* no half-bandwidth is larger in this setup, unless the user has given it */
  PetscBool  diagonals;        /* Pmat is MATDIA, and the band is filled from its diagonals: no aij */
  Mat        aij;              /* Pmat converted, where it is not AIJ itself */
  PetscInt  *newrow;
  PetscInt  *colmap;   /* on several ranks, with an ordering: places of the columns of the off-diagonal block, global */
  PetscBool  apart;    /* each rank has ordered its rows: couplings between ranks may lie outside the band */
  PetscBool  drops;    /* and do, or may: a border, which drops nothing, is better */
  PetscInt   uncut[2]; /* half-bandwidths in the order that is taken, before a limit cuts them */
  PetscBool  traded;   /* `auto` does so though another band would hold all */
  PetscBool  gathers;  /* and that one takes rows of other ranks */
  PetscBool  whole;    /* a direct solve has come since: `auto` drops nothing */
  PetscReal  crossing; /* share of sum |a_ij| that was dropped then                                       */
  PetscBool *joined;   /* while independent systems are looked for */
  /* newrow, and the columns of the off-diagonal block of MATMPIAIJ, in the backend's memory */
  PetscInt *dnewrow, *dcolmap;
  /* [maxrhs * n] with an ordering or a matching only, in the backend's memory                */
  PetscScalar *permuted;
  /* [n] for vectors that are not in the backend's memory                                */
  PetscScalar  *stage;
  SpikeBand     band;
  SpikeExchange ex;
  SpikeSegments segments;
  PCSpikeCyclic cyclic;
  PetscBool     full; /* the next setup couples exactly: band.full is that of the last one */
  /* falloff of the spikes, guessed from some rows before there are any; 0 where they tell nothing */
  PetscReal   expected;
  PetscReal  *falloff; /* [2 * (np + 1)] of W and of V, see kernels/band/band.h */
  PCSpikeInfo info;    /* of this rank; reduced on request */
  PetscBool   natural; /* the natural half-bandwidths in info are those of the present values */

  PCSpikeLook       look;
  SpikeCuts         cuts;
  SpikeGraph        graph;
  PetscInt         *tried; /* the best ordering so far, while others are tried */
  PCSpikeMatching   matching;
  PCSpikeLone       lone;
  PCSpikeCoupling   coupling;
  PCSpikeTrial      trial;
  PCSpikeLines      lines;
  PCSpikeBatch      batch;
  PCSpikeBorder     border;
  PCSpikeRefinement refine;
  PCSpikeGather     gather;
} PC_Spike;

/*
  Magnitude of boosted pivots, as a fraction of the norm: where refinement corrects each application, the least change
*/
static inline PetscReal PCSpikeShift_Private(const PC_Spike *s, PetscReal epsilon)
{
  if (s->refine.direct == PETSC_BOOL3_TRUE && s->shiftamount == (PetscReal)PETSC_DECIDE) return PetscSqrtReal(epsilon);
  return PCFactoredShift_Private((const PC_Factored *)s, epsilon);
}

/* Whether this setup has factors in a lower precision because the solver wishes it */
static inline PetscBool PCSpikeWishIsLow_Private(const PC_Spike *s)
{
  return (PetscBool)(!s->wish.set && s->precision != s->wish.user);
}

/* The matrix whose rows on each rank are those of the band; and rows of vectors on this rank */
static inline Mat PCSpikeBandMatrix_Private(PC pc)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  return s->border.T ? s->border.T : pc->pmat;
}

static inline PetscInt PCSpikeLocalRows_Private(const PC_Spike *s)
{
  return s->border.T ? s->border.n : s->band.n;
}

/* Whether rows change places: the option, or what a trial has found to be better */
static inline PetscBool PCSpikeExchanges_Private(const PC_Spike *s)
{
  return (PetscBool)(s->pivoting || s->trial.way != SPIKE_WAY_GIVEN);
}

/* Whether a trial wants one partition on one rank */
static inline PetscBool PCSpikeTrialAlone_Private(const PC_Spike *s)
{
  return (PetscBool)(s->trial.way == SPIKE_WAY_WHOLE && s->trial.cheap);
}

/* Bad pivots of a band with a border are asked for, so that their rows can join it; later ones are boosted */
static inline PetscBool PCSpikeBorderAsks_Private(const PC_Spike *s)
{
  return (PetscBool)(s->border.T && !s->border.settled);
}

/* Nothing is known of a new pattern */
static inline void PCSpikeBorderForget_Private(PC_Spike *s)
{
  s->border.nkept = s->border.added = 0;
  s->border.settled = s->border.refused = PETSC_FALSE;
}

/* Whether the limit of this setup cuts a band with the half-bandwidths kept */
static inline PetscBool PCSpikeCuts_Private(const PC_Spike *s, const PetscInt kept[2])
{
  return (PetscBool)(s->givenkl == PETSC_DECIDE && PetscMax(kept[0], kept[1]) > s->limit);
}

PETSC_INTERN PetscErrorCode PCCreate_Spike(PC);
PETSC_INTERN PetscErrorCode PCSetUp_Spike(PC);
PETSC_INTERN PetscErrorCode PCReset_Spike(PC);
PETSC_INTERN PetscErrorCode PCSpikeReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeOnDevice_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSetFromOptions_Spike(PC, PetscOptionItems);
PETSC_INTERN PetscErrorCode PCView_Spike(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeGetInfo_Spike(PC, PCSpikeInfo *);
PETSC_INTERN PetscErrorCode PCSpikeChanged_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeBytes_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeComposeMethods_Private(PC, PetscBool);
PETSC_INTERN PetscErrorCode PCSpikeComposeLayoutMethods_Private(PC, PetscBool); /* spikelayout.c */
#define SpikeCompose(name, function) \
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, compose ? function : NULL))

PETSC_INTERN PetscErrorCode PCSpikeApply_Private(PC, PetscBool trans, Vec, Vec); /* without a check */
PETSC_INTERN PetscErrorCode PCApply_Spike(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_Spike(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCMatApply_Spike(PC, Mat, Mat);
PETSC_INTERN PetscErrorCode PCMatApplyTranspose_Spike(PC, Mat, Mat);

/*
  the apply between raw pointers in the backend's memory, on band.stream; in the order of the band, without the rank-one
  updates of periodic systems, and with both; PCSpikeSolveBordered_Private() is all of it
*/
PETSC_INTERN PetscErrorCode PCSpikeSolve_Private(PC, PetscBool, PetscInt, const PetscScalar *, PetscCount,
                                                 PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode PCSpikeSolvePermuted_Private(PC, PetscBool, PetscInt, const PetscScalar *, PetscCount,
                                                         PetscScalar *, PetscCount);

PETSC_INTERN PetscErrorCode PCSpikeReserve_Private(PC, PetscInt);

/* spikefull.c: exact coupling */
PETSC_INTERN PetscErrorCode PCSpikeFullSetUp_Private(PC, SpikePivot *);
PETSC_INTERN PetscErrorCode PCSpikeFullSolve_Private(PC, PetscBool, PetscInt, const PetscScalar *, PetscCount,
                                                     PetscScalar *, PetscCount);
PETSC_INTERN PetscReal      PCSpikeDecay_Private(const PC_Spike *);
PETSC_INTERN PetscReal      PCSpikeMayNeglect_Private(const PC_Spike *);
PETSC_INTERN PetscErrorCode PCSpikeChooseCoupling_Private(PC, const SpikePivot *, SpikePivot *);
PETSC_INTERN PetscErrorCode PCSpikeSegmentsDestroy_Private(PC);
PETSC_INTERN PetscReal      PCSpikeSegmentsBytes_Private(PC);

/* spikerefine.c: how far spikes are followed; most steps and the tolerance */
PETSC_INTERN void      PCSpikeRefineForget_Private(PC_Spike *);
PETSC_INTERN PetscReal PCSpikeRefineWindow_Private(const PC_Spike *);
PETSC_INTERN PetscInt  PCSpikeRefineSteps_Private(const PC_Spike *);
PETSC_INTERN PetscReal PCSpikeRefineTolerance_Private(const PC_Spike *);

/* spikemissed.c: whether a solve with this backward error is none */
PETSC_INTERN PetscBool PCSpikeRefineMisses_Private(const PC_Spike *, PetscReal);

/* spikefactor.c: MATSOLVERSPIKE */
PETSC_INTERN PetscErrorCode MatSolverSpikeRegister(void);
PETSC_INTERN PetscErrorCode PCSpikeGetInertia_Private(PC, PetscInt *, PetscInt *, PetscInt *); /* spikeinertia.c */

/* spikeenqueue.c */
PETSC_INTERN PetscErrorCode PetscSpikeGetEnqueue_Spike(PetscObject, SpikeEnqueue *);

/* spikeband.c: the matrix as pieces in CSR, ordering and half-bandwidths */
PETSC_INTERN PetscErrorCode PCSpikeGetCSR_Private(PC, Mat, PetscMemType, PetscInt *, SpikeCSR[2]);
PETSC_INTERN PetscErrorCode PCSpikeRestoreCSR_Private(PC, Mat, PetscMemType, PetscInt *, SpikeCSR[2]);
PETSC_INTERN PetscErrorCode PCSpikeChooseBand_Private(PC, Mat);
PETSC_INTERN PetscErrorCode PCSpikeUnchooseBand_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeCheckBand_Private(PC, PetscMPIInt *, PetscBool *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeFitBand_Private(PC, PetscInt[2], PetscInt[2]);
PETSC_INTERN PetscErrorCode PCSpikeDropOff_Private(PC, PetscReal[], PetscInt[2]);
PETSC_INTERN PetscErrorCode PCSpikeExpectFalloff_Private(PC, PetscInt, PetscBool, PetscInt, const SpikeCSR[]);

PETSC_INTERN void      PCSpikeScan_Private(PetscInt, PetscInt, const SpikeCSR[], const PetscInt *, SpikeScan *);
PETSC_INTERN SpikeScan PCSpikeWithin_Private(const PC_Spike *, PetscInt, PetscInt, const SpikeCSR[], const PetscInt *);
PETSC_INTERN PetscErrorCode PCSpikeMeasureBand_Private(PC, PetscInt, PetscInt, const SpikeCSR[], const PetscInt *,
                                                       PetscInt[2], PetscInt[2], PetscInt *, PetscBool *);
/* A band of half-bandwidth K is left as it is where a bound for all orderings is at least this: it is half above it */
static inline PetscInt PCSpikeEnoughBand_Private(PetscInt K)
{
  return (2 * K + 2) / 3;
}
PETSC_INTERN PetscErrorCode PCSpikeLeastBand_Private(PetscInt, PetscInt, PetscInt, const SpikeCSR[], PetscInt *);
PETSC_INTERN PetscErrorCode PCSpikeMeasureNatural_Private(PC);
PETSC_INTERN PetscInt       PCSpikeOriginalRow_Private(const PC_Spike *, Mat, PetscInt);
PETSC_INTERN PetscBool      PCSpikeBandHolds_Private(const PC_Spike *, const SpikeFillStats *, PetscBool);

/* spikelook.c: one pass over the entries, for all who choose */
#define SPIKE_MATCHING_TINY ((PetscReal)1e-3) /* of the largest entry of its row: diagonal entries ask for a matching */
PETSC_INTERN PetscErrorCode PCSpikeLook_Private(PC, Mat, const SpikeLook **);
PETSC_INTERN PetscErrorCode PCSpikeLookBand_Private(PC, const SpikeLook *, PetscInt[2], PetscInt[2], PetscInt *,
                                                    PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeLookFar_Private(PC, const SpikeLook *, PetscInt, const PetscInt[2], PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeLookCovers_Private(PC, Mat);
PETSC_INTERN PetscErrorCode PCSpikeLookReset_Private(PC);

/* spikeordering.c: PETSc's orderings */
#define SPIKE_ORDERING_EXTERNAL \
  "Ordering %s leaves the choice to another package and gives no permutation: use " \
  "-%spc_spike_mat_ordering_type rcm, natural or auto"
PETSC_INTERN PetscErrorCode PCSpikeOrder_Private(PC, Mat, MatOrderingType, PetscBool, const SpikeCSR *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeOrderLevels_Private(PC, PetscInt, const SpikeCSR *, const SpikeCSR *);
PETSC_INTERN PetscErrorCode PCSpikeGraphReset_Private(PC);

/* spikeorderranks.c: each rank orders its own rows */
PETSC_INTERN PetscErrorCode PCSpikeOrderRanksMay_Private(PC, Mat, PetscBool, PetscInt, const PetscInt[2], PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeOrderRanks_Private(PC, Mat, PetscBool, PetscBool, PetscInt, const SpikeCSR[],
                                                      PetscInt[2], PetscBool *);

/* spikelinesorder.c: the ordering along strong couplings */
PETSC_INTERN PetscErrorCode PCSpikeLinesBegin_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeLinesLook_Private(PC, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeLinesFetch_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeLinesToHost_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeLinesDrop_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeLinesOrder_Private(PC, Mat, PetscMPIInt, const SpikeCSR *);
PETSC_INTERN PetscErrorCode PCSpikeLinesView_Private(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeLinesSetFromOptions_Private(PC, PetscOptionItems);
PETSC_INTERN PetscErrorCode PCSpikeComposeLinesMethods_Private(PC, PetscBool);
PETSC_INTERN PetscErrorCode MatGetOrdering_Lines(Mat, MatOrderingType, IS *, IS *);

/* spikemodel.c: applications that a setup is thought to be for */
#define SPIKE_MODEL_USES 10
PETSC_INTERN PetscReal PCSpikeBandWork_Private(const PetscInt[2], PetscReal);

/* a band is the wrong form above so many operations, below such a share of entries, at such a ratio */
#define SPIKE_WRONG_TOOL_LEAST 1e9
#define SPIKE_WRONG_TOOL_SHARE 0.01
#define SPIKE_WRONG_TOOL_RATIO 10
PETSC_INTERN PetscErrorCode PCSpikeInfoWrongTool_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeViewWrongTool_Private(PC, PetscViewer);

/* spikepivots.c */
/* Pivots of the partitions, of the leading corners and of the reduced systems */
typedef struct {
  SpikePivot partition, corner, reduced;
} PCSpikePivots;

PETSC_INTERN PetscErrorCode PCSpikeNumeric_Private(PC, PetscBool, const SpikeFillStats *, PCSpikePivots *);
PETSC_INTERN PetscErrorCode PCSpikeJudge_Private(PC, Mat, const SpikeFillStats *, const PCSpikePivots *);

/* spikematching.c */
PETSC_INTERN PetscErrorCode PCSpikeMatchingChooseBand_Private(PC, Mat *);
PETSC_INTERN void           PCSpikeMatchingForget_Private(PC_Spike *);
PETSC_INTERN void           PCSpikeLoneForget_Private(PC_Spike *);
PETSC_INTERN PetscErrorCode PCSpikeLoneAfter_Private(PC, PetscBool, const SpikePivot *, PetscBool *);

/* spikewish.c */
PETSC_INTERN PetscErrorCode PCSpikeWishLook_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeWishBegin_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeWishChoose_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeWishDrop_Private(PC, const char[]);
PETSC_INTERN PetscErrorCode PCSpikeWishReject_Private(PC, const char[], PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeWishAfter_Private(PC, PetscBool, const SpikeFillStats *, const PCSpikePivots *,
                                                     PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeWishView_Private(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeComposeWishMethods_Private(PC, PetscBool);

/* spikecoupling.c: whether truncated spikes are enough */
PETSC_INTERN void           PCSpikeCouplingForget_Private(PC_Spike *);
PETSC_INTERN PetscErrorCode PCSpikeCouplingAfter_Private(PC, PetscBool, const SpikeFillStats *, const PCSpikePivots *,
                                                         PetscBool *);

/* spiketrial.c: other ways to make factors that are of no use */
#define SPIKE_BACKWARD_ROUNDING (100 * PETSC_MACHINE_EPSILON) /* a backward error that is rounding */
PETSC_INTERN void           PCSpikeTrialForget_Private(PC_Spike *);
PETSC_INTERN void           PCSpikeTrialLeave_Private(PC_Spike *);
PETSC_INTERN PetscErrorCode PCSpikeTrialReject_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeTrialMissed_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeTrialAfter_Private(PC, PetscBool, const SpikeFillStats *, const PCSpikePivots *,
                                                      PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeTrialView_Private(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeMatchingAfter_Private(PC, PetscBool, const PCSpikePivots *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeMatchingReject_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeMatchingUpload_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeMatchingRefill_Private(PC, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeMatchingScale_Private(PC, Mat, PetscInt, SpikeCSR[]);
PETSC_INTERN PetscErrorCode PCSpikeMatchingLargest_Private(PC, PetscReal *);
PETSC_INTERN PetscErrorCode PCSpikeGhosts_Private(Mat, MPI_Datatype, const void *, void *);
PETSC_INTERN PetscErrorCode PCSpikePlaces_Private(PC, Mat);
PETSC_INTERN PetscErrorCode PCSpikeMatchingReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeComposeMatchingMethods_Private(PC, PetscBool);

/* spikecholesky.c: L D L^H in place of L U */
PETSC_INTERN PetscErrorCode PCSpikeTestHermitian_Private(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeCholeskyBegin_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeCholeskyCheck_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeCholeskyChoose_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeNotDefinite_Private(PC, PetscInt, const SpikePivot *);
PETSC_INTERN PetscErrorCode PCSpikeCholeskyView_Private(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeComposeCholeskyMethods_Private(PC, PetscBool);

/* Whether bad pivots are boosted: never by Cholesky, where others would become negative for it */
static inline PetscBool PCSpikeBoosts_Private(const PC_Spike *s)
{
  return (PetscBool)(s->shifttype != MAT_SHIFT_NONE && !s->band.cholesky);
}

/* spikediagonals.c: Pmat by diagonals */
PETSC_INTERN PetscErrorCode PCSpikeDIAMeasure_Private(PC, const SpikeDIA *, PetscInt[4], PetscReal *);
PETSC_INTERN PetscErrorCode PCSpikeGetDIA_Private(PC, const SpikeDIA **);
PETSC_INTERN PetscErrorCode PCSpikeDIAChooseBand_Private(PC, const SpikeDIA *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeDIAFindSystems_Private(PC, const SpikeDIA *);

/* spiketridiagonal.c */
PETSC_INTERN PetscErrorCode PCSpikeFindSystems_Private(PC, PetscInt, const SpikeCSR[]);
PETSC_INTERN PetscBool      PCSpikeTakesSystems_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeViewSystems_Private(PC, const PCSpikeInfo *, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeComposeTridiagonalMethods_Private(PC, PetscBool);

/* spikebatch.c */
PETSC_INTERN PetscErrorCode PCSpikeBatchFind_Private(PC, PetscBool, PetscInt, const SpikeCSR[], const SpikeDIA *);
PETSC_INTERN PetscErrorCode PCSpikeBatchAfter_Private(PC, const SpikePivot *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeBatchReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeBatchView_Private(PC, const PCSpikeInfo *, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeBatchSetFromOptions_Private(PC, PetscOptionItems);
PETSC_INTERN PetscErrorCode PCSpikeComposeBatchMethods_Private(PC, PetscBool);

/* spikepivoting.c */
PETSC_INTERN PetscBool      PCSpikePivotsSystems_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikePivotingChoose_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeComposePivotingMethods_Private(PC, PetscBool);

/* spikeperiodic.c */
PETSC_INTERN PetscErrorCode PCSpikePeriodicFind_Private(PC, Mat, PetscInt, const SpikeCSR[], PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikePeriodicCreate_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikePeriodicReserve_Private(PC, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikePeriodicDestroy_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikePeriodicSplit_Private(PC, PetscInt, const SpikeCSR[], SpikeCSR[]);
PETSC_INTERN PetscErrorCode PCSpikePeriodicJoined_Private(PC, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikePeriodicFactor_Private(PC, PetscReal, PetscReal);
PETSC_INTERN PetscErrorCode PCSpikePeriodicUpdate_Private(PC, PetscBool, PetscInt, PetscScalar *, PetscCount);
PETSC_INTERN PetscReal      PCSpikePeriodicBytes_Private(const PC_Spike *);

/* spikeplan.c: neighbours and partitions */
PETSC_INTERN PetscErrorCode PCSpikePlan_Private(PC, PetscInt, const SpikeCSR[], const SpikeDIA *);

/* spikecuts.c: partitions begin where nothing couples two rows */
PETSC_INTERN PetscErrorCode PCSpikeCutsPlace_Private(PC, PetscBool, PetscBool, PetscInt, const SpikeCSR[],
                                                     const SpikeDIA *, PetscInt *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeCutsReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeCutsFind_Private(PC, PetscInt, const SpikeCSR[], const SpikeDIA *);

/* spikeown.c: a band for each partition */
PETSC_INTERN PetscErrorCode PCSpikeOwnBands_Private(PC, Mat, PetscInt, const SpikeCSR[], const SpikeDIA *);
PETSC_INTERN PetscErrorCode PCSpikeOwnView_Private(PC, PetscViewer);

/* spikeexchange.c: tips across ranks */
PETSC_INTERN PetscErrorCode PCSpikeExchangeCreate_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeExchangeReserve_Private(PC, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeExchangeDestroy_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeExchangeDisconnect_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeExchangeSetupTips_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeExchangeBegin_Private(PC, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeExchangeSend_Private(PC, PetscBool, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeExchangeSent_Private(PC, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeExchangeEnd_Private(PC, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeExchangeHalves_Private(PC, PetscInt, PetscScalar *, PetscScalar *);
