/* SPDX-License-Identifier: BSD-2-Clause */
/*
  share.h: programs that do a share of their cases only, for memory checkers, which take minutes for all: with -share
  k,m every m-th case, from case k on
*/
#pragma once

#include <petscsys.h>

static PetscInt share[2] = {0, 1}, sharecases = 0;

static inline PetscErrorCode ShareGet(void)
{
  PetscInt n = 2;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-share", share, &n, NULL));
  PetscCheck(n != 1 && share[0] >= 0 && share[0] < share[1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "-share takes k,m with k < m");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool ShareIsAll(void)
{
  return (PetscBool)(share[1] == 1);
}

/* Whether the next case is one of the share */
static inline PetscBool ShareNext(void)
{
  return (PetscBool)(sharecases++ % share[1] == share[0]);
}
