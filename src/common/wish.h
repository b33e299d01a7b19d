/* SPDX-License-Identifier: BSD-2-Clause */
/*
  wish.h: a solver wishes that its preconditioner keeps factors in a lower precision. A preconditioner that can do so
  composes the three functions; of others there are no such factors. All are collective
*/
#pragma once

#include <petsc/private/pcimpl.h>
#include <petscspike.h>

/* The precision of PetscReal: no wish */
#define SPIKE_PRECISION_FULL \
  (PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE)

/* What became of the wish in the last setup */
typedef struct {
  PetscBool           low;       /* factors are in a lower precision, because a solver wishes it     */
  PetscSpikePrecision precision; /* theirs                                                           */
  PetscBool           whole;     /* factors, low or not, are of the whole matrix: M^-1 A is I but for rounding */
} SpikeWish;

/*
  For all setups from now on. The next one begins from scratch where that changes anything. anew: what was dropped or
  refused before may be tried again
*/
static inline PetscErrorCode SpikeWishPrecision(PC pc, PetscSpikePrecision precision, PetscBool anew)
{
  PetscFunctionBegin;
  PetscTryMethod(pc, "PetscSpikeWishPrecision_C", (PC, PetscSpikePrecision, PetscBool), (pc, precision, anew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors of the last setup are of no use to the solver: full precision for these values of the matrix */
static inline PetscErrorCode SpikeWishRefuse(PC pc)
{
  PetscFunctionBegin;
  PetscTryMethod(pc, "PetscSpikeWishRefuse_C", (PC), (pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *has: the preconditioner knows of wishes */
static inline PetscErrorCode SpikeGetWish(PC pc, SpikeWish *wish, PetscBool *has)
{
  PetscErrorCode (*get)(PC, SpikeWish *) = NULL;

  PetscFunctionBegin;
  *has      = PETSC_FALSE;
  wish->low = wish->whole = PETSC_FALSE;
  wish->precision         = SPIKE_PRECISION_FULL;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PetscSpikeGetWish_C", &get));
  *has = (PetscBool)(get != NULL);
  if (get) PetscCall((*get)(pc, wish));
  PetscFunctionReturn(PETSC_SUCCESS);
}
