/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudacoo.c: MatSetPreallocationCOO() and MatSetValuesCOO() of MATBAIJCUDA. Coordinates become places of values once;
  each set of values is one pass of a kernel over the copy, and PETSc's blocks get them when somebody asks
*/
#include "baijcudaimpl.h"

static PetscErrorCode MatBAIJCUDACOOFree_Private(Mat_BAIJCUDA *c, MatBAIJCOO *coo)
{
  PetscFunctionBegin;
  if (c->b.k) {
    PetscCall((*c->k->release)(&c->b, (void **)&coo->first));
    PetscCall((*c->k->release)(&c->b, (void **)&coo->from));
  }
  PetscCall(PetscMemzero(coo, sizeof(*coo)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBAIJCUDACOOReset_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatBAIJCUDACOOFree_Private(c, &c->coo[k]));
  if (c->b.k) PetscCall((*c->k->release)(&c->b, (void **)&c->staged));
  c->hascoo = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetPreallocationCOO_BAIJCUDA(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "later");
}
