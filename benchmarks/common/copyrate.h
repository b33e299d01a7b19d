/* SPDX-License-Identifier: BSD-2-Clause */
/* copyrate.h: the rate of a copy, beside which times of bands are told */
#pragma once

#include "bandcase.h"

/* Bytes a second of y <- x, both ways counted, on vectors of this type too large for a cache */
static inline PetscErrorCode CopyRate(MPI_Comm comm, PetscReal *rate)
{
  const PetscInt n = 40000000;
  Mat            D;
  Vec            x, y;
  double         t[20];
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_SELF, &D)); /* vectors where matrices are */
  PetscCall(MatSetSizes(D, n, n, n, n));
  PetscCall(MatSetType(D, MATSEQAIJ));
  PetscCall(MatSetFromOptions(D));
  PetscCall(MatSeqAIJSetPreallocation(D, 0, NULL));
  PetscCall(MatCreateVecs(D, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecCopy(x, y));
  for (int r = 0; r < 20; r++) {
    PetscCall(Wait(comm, &t0));
    for (int k = 0; k < 4; k++) PetscCall(VecCopy(k % 2 ? y : x, k % 2 ? x : y));
    PetscCall(Wait(comm, &t1));
    t[r] = (t1 - t0) / 4;
  }
  *rate = (PetscReal)(2.0 * n * sizeof(PetscScalar) / Median(20, t));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
