/* SPDX-License-Identifier: BSD-2-Clause */
/* spikegather.h: rows of neighbouring ranks on one of them, where a rank has fewer than the band is wide */
#pragma once

#include "pc_factored/factored.h"

typedef struct {
  PetscInt   least;     /* rows that a rank with rows has to have; 0: all rows are where Pmat has them        */
  PetscBool  again;     /* the setup that is about to begin gathers rows, or more of them                     */
  PetscBool  leaves;    /* it gathers none, and what there is goes                                        */
  PetscInt   owners[2]; /* ranks with rows of Pmat, and of A                                              */
  Mat        P;         /* Pmat as AIJ, where it is of another type; else NULL                            */
  Mat        A;         /* Pmat with other ownership ranges, as AIJ; NULL without                         */
  Mat        pmat;      /* Pmat, while A is in its place; else NULL                                       */
  IS         rows;      /* those of A on this rank                                                        */
  Vec        b, x;      /* of A                                                                           */
  VecScatter scatter;   /* from vectors of Pmat to those of A                                             */
} PCSpikeGather;

PETSC_INTERN PetscErrorCode PCSpikeGatherReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeGatherBegin_Private(PC, PetscBool first);
PETSC_INTERN PetscErrorCode PCSpikeGatherAsk_Private(PC, PetscInt least);
PETSC_INTERN PetscBool      PCSpikeGatherEnter_Private(PC);
PETSC_INTERN void           PCSpikeGatherLeave_Private(PC, PetscBool entered);
PETSC_INTERN PetscErrorCode PCSpikeGatherApply_Private(PC, PetscErrorCode (*)(PC, PetscBool, Vec, Vec), PetscBool trans,
                                                       Vec, Vec);
PETSC_INTERN PetscErrorCode PCSpikeGatherView_Private(PC, PetscViewer);
