/* SPDX-License-Identifier: BSD-2-Clause */
/* halolist.h: a halo of any blocks of a vector: those that the rows of a sparse matrix reach on other ranks */
#pragma once

#include "halo.h"
#include "kernels/block/block.h"

/* Block i of other ranks is bs values from halo.ghost[i bs] on. Zero before MatHaloListPlan_Private() */
typedef struct {
  MatHalo     halo;
  SpikeBlock *b; /* of the caller: packs messages */
  PetscBool   planned;
  PetscInt    bs, n;  /* n blocks of other ranks */
  PetscInt   *garray; /* [n] their numbers, as planned */
  PetscInt   *index;  /* own blocks of message[], where the backend works */
} MatHaloList;

/*
  Collective: the blocks garray[n] of a vector with this layout, ascending, all of other ranks. Nothing happens where
  each rank reaches the blocks of the plan that there is. *b outlives the plan
*/
PETSC_INTERN PetscErrorCode MatHaloListPlan_Private(MatHaloList *, SpikeBlock *b, PetscObject owner, PetscLayout,
                                                    PetscInt bs, PetscInt n, const PetscInt garray[]);
PETSC_INTERN PetscErrorCode MatHaloListReset_Private(MatHaloList *);

/* ghost[] <- x in blocks of others, between Begin and End; y += what others have in ghost[] for blocks of ours */
PETSC_INTERN PetscErrorCode MatHaloListBegin_Private(MatHaloList *, const PetscScalar *x);
PETSC_INTERN PetscErrorCode MatHaloListEnd_Private(MatHaloList *);
PETSC_INTERN PetscErrorCode MatHaloListReverseBegin_Private(MatHaloList *);
PETSC_INTERN PetscErrorCode MatHaloListReverseEnd_Private(MatHaloList *, PetscScalar *y);
