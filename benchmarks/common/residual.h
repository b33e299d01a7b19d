/* SPDX-License-Identifier: BSD-2-Clause */
/* residual.h: for benchmarks: true residuals */
#pragma once

#include <petscmat.h>

/* ||b - A x||_2 / ||b||_2 */
static inline PetscErrorCode GetResidual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  Vec       r;
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *residual /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
