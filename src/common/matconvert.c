/* SPDX-License-Identifier: BSD-2-Clause */
/* matconvert.c: conversions of matrices by way of another type */
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
