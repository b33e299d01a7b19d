/* SPDX-License-Identifier: BSD-2-Clause */
/* halolist.h: a halo of any blocks of a vector: those that the rows of a sparse matrix reach on other ranks */
#pragma once

#include "halo.h"
#include "kernels/block/block.h"

/*
  The same for columns of a dense matrix at once, one message for each pair of ranks: the first m of them, and in
  messages that are for `most` columns the first one again in place of others, because solvers go on with fewer and
  fewer columns and a plan is dear. A message has column after column, pack and unpack say which units of values go
  where: message <- X of leading dimension ld, and ghost <- halo.ghost, where the blocks of other ranks are columns of
  leading dimension n bs
*/
typedef struct {
  MatHalo      halo;
  PetscInt     most; /* 0: none yet */
  PetscInt     m, ld, unit;
  PetscInt    *pack, *unpack;
  PetscScalar *ghost;
  PetscBool    few; /* the last ones have come one by one */
} MatHaloColumns;

/* Block i of other ranks is bs values from halo.ghost[i bs] on. Zero before MatHaloListPlan_Private() */
typedef struct {
  MatHalo     halo;
  SpikeBlock *b; /* of the caller: packs messages */
  PetscBool   planned;
  PetscInt    bs, n;  /* n blocks of other ranks */
  PetscInt   *garray; /* [n] their numbers, as planned */
  PetscInt   *wanted; /* own blocks of message[] */
  PetscInt   *index;  /* the same, where the backend works */

  MatHaloColumns columns;
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

/*
  Collective, of a list that is planned: columns.ghost <- X in blocks of others, between Begin and End, for m columns of
  leading dimension ld. Plans where there were never so many before; up to a quarter of those go one by one
*/
PETSC_INTERN PetscErrorCode MatHaloListColumnsBegin_Private(MatHaloList *, PetscObject owner, PetscInt m, PetscInt ld,
                                                            const PetscScalar *X);
PETSC_INTERN PetscErrorCode MatHaloListColumnsEnd_Private(MatHaloList *);
