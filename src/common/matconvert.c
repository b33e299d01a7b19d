/* SPDX-License-Identifier: BSD-2-Clause */
/* matconvert.c: conversions of matrices by way of another type */
#include <petsc/private/matimpl.h>
#include "matconvert.h"

/* MatConvert() of A by C, a copy of A in a type that PETSc converts; C is used up */
PetscErrorCode SpikeMatConvertBy(Mat A, Mat C, MatType newtype, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatConvert(C, newtype, MAT_INPLACE_MATRIX, &C));
    PetscCall(MatHeaderReplace(A, &C));
  } else {
    PetscCall(MatConvert(C, newtype, reuse, B));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  C is to take the place of *B where that is reused, with another pattern: preconditioners go by the nonzero state.
  Before C has values where only its own state tells that they are there
*/
void SpikeMatConvertRenew(Mat C, MatReuse reuse, const Mat *B)
{
  if (reuse == MAT_REUSE_MATRIX) C->nonzerostate = PetscMax(C->nonzerostate, (*B)->nonzerostate + 1);
}

/* C, which A became, to where the caller of MatConvert() looks for it. C may be A itself, or what is reused */
PetscErrorCode SpikeMatConvertEnd(Mat A, Mat C, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX && C != *B) PetscCall(MatHeaderReplace(*B, &C));
  else if (reuse == MAT_INPLACE_MATRIX && C != A) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}
