/* SPDX-License-Identifier: BSD-2-Clause */
/* spikerefine.h: PCSPIKE as a direct solver: what it knows of the backward errors of its solves */
#pragma once

#include "pc_factored/factored.h"
#include "kernels/krylov/krylov.h"

typedef struct {
  /* options */
  PetscBool3 direct;   /* each application is a solve; PETSC_BOOL3_UNKNOWN: those of KSPPREONLY are             */
  PetscInt   max;      /* steps; 0: no check; PETSC_DECIDE: by the precision of the factors                     */
  PetscReal  tol;      /* of the backward error; PETSC_DECIDE: by the precision of PetscReal                    */
  PetscBool  estimate; /* of ||I - A M^-1||, when it is asked for                                               */

  PetscReal norm;     /* infinity norm of Pmat at its last setup                                               */
  PetscBool armed;    /* inside of a solve by KSPPREONLY that is no part of another linear solver              */
  PetscBool solving;  /* inside of KSPSolve(), or of KSPMatSolve() by KSPPREONLY                              */
  PetscBool measured; /* info.inverse_error and info.growth are those of the present factors                   */
  PetscReal residual; /* ||b - A x|| / ||b|| of the last solve, and of the last look                         */
  PetscReal looked;
  PetscInt  stands; /* of info.unsolved, those whose results MATSOLVERSPIKE hands out                        */

  /* work vectors of the type that Pmat has; x and b for vectors of another type and for estimates; probe: random */
  Vec r, d, x, b, probe;

  /* in which a device leaves sums of squares, without kernels where there is none: spikerefineresidual.c */
  SpikeKrylov sums;
  PetscBool   reserved; /* it was asked for since r was made */

  PetscBool3 follow; /* whether spikes are followed as far as direct solves need                         */
  PetscInt   missed; /* solves in a row that took steps all the same                                     */
  PetscInt   steps;  /* of the last refinement                                                           */
  PetscBool  above;  /* before them its backward error was above the tolerance                           */
} PCSpikeRefinement;

/* spikerefine.c */
PETSC_INTERN Mat            PCSpikeRefineMatrix_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeRefineVectors_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeRefineReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeRefineBegin_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeRefineChecks_Private(PC, PetscBool trans, PetscBool *checks);
PETSC_INTERN PetscErrorCode PCSpikeRefineReserve_Private(PC, Vec b);
PETSC_INTERN PetscErrorCode PCSpikeIsNumeric_Private(PC, PetscBool *numeric);
PETSC_INTERN PetscErrorCode PCSpikeRefine_Private(PC, PetscBool trans, Vec b, Vec x, PetscReal *eta);
PETSC_INTERN PetscErrorCode PCSpikeRefineOrdered_Private(PC, PetscBool trans, Vec b, Vec x, PetscReal *eta);

/* spikemissed.c: which solves are none, and what follows */
PETSC_INTERN PetscErrorCode PCSpikeRefineAgain_Private(PC, PetscBool trans, Vec b, Vec x, PetscReal *eta);
PETSC_INTERN PetscErrorCode PCSpikeRefined_Private(PC, PetscReal eta, PetscBool misses);
PETSC_INTERN PetscErrorCode PCSpikeRefineVerify_Private(PC, PetscBool *again);
PETSC_INTERN PetscErrorCode PCSpikeRefineStands_Private(PC, PetscBool *stands);
PETSC_INTERN PetscErrorCode PCSpikeRefineRestore_Private(PC, PetscBool *restored);

/* spikedirect.c */
PETSC_INTERN PetscErrorCode PCSpikeRefineVec_Private(PC, PetscBool trans, Vec b, Vec x);
PETSC_INTERN PetscErrorCode PCSpikeRefineMat_Private(PC, PetscBool trans, Mat B, Mat X);
PETSC_INTERN PetscErrorCode PCSpikeRefineWhole_Private(PC, PetscBool unsure);
PETSC_INTERN PetscErrorCode PCSpikeSolveBegins_Private(PC, KSP);
PETSC_INTERN PetscErrorCode PCSpikeSolveEnds_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeRefineView_Private(PC, const PCSpikeInfo *, PetscViewer);
PETSC_INTERN PetscErrorCode PCSpikeRefineInitialize_Private(PC);

/* spikerefineresidual.c */
PETSC_INTERN PetscErrorCode PCSpikeResidual_Private(PC, PetscBool trans, PetscBool first, Vec b, Vec x, Vec r,
                                                    PetscReal norms[3]);
PETSC_INTERN PetscErrorCode PCSpikeResidualReserve_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeResidualReset_Private(PCSpikeRefinement *);

/* spikematsolve.c: KSPMatSolve() by KSPPREONLY */
PETSC_INTERN PetscErrorCode PCSetUpOnBlocks_Spike(PC);
PETSC_INTERN PetscErrorCode PCSpikeUnwatch_Private(PC);

/* spikerefineoptions.c */
PETSC_INTERN PetscErrorCode PCSpikeRefineSetFromOptions_Private(PC, PetscOptionItems);
PETSC_INTERN PetscErrorCode PCSpikeComposeRefineMethods_Private(PC, PetscBool compose);

/* spikequality.c: how good the factors are */
PETSC_INTERN PetscErrorCode PCSpikeGetProbe_Private(PC, Vec *);
PETSC_INTERN PetscErrorCode PCSpikeMeasure_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeError_Private(PC, PetscReal *, PetscReal *);
