/* SPDX-License-Identifier: BSD-2-Clause */
/* diaparts.c: parts of MATDIA: diagonal blocks and submatrices */
#include "diaimpl.h"

/* A matrix of the sequential type, of the rank's own columns, made again where A has changed since */
PetscErrorCode MatGetDiagonalBlock_DIA(Mat A, Mat *block)
{
  Mat_DIA         *a = (Mat_DIA *)A->data;
  PetscObjectState state;
  Mat              aij, Ad;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (!a->block || a->blockstate != state || a->blockshape != a->shape) {
    PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
    PetscCall(MatMPIAIJGetSeqAIJ(aij, &Ad, NULL, NULL));
    PetscCall(
      MatConvert(Ad, a->cuda ? MATSEQDIACUDA : MATSEQDIA, a->block ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &a->block));
    PetscCall(MatDestroy(&aij));
    if (a->cuda) PetscCall(MatBindToCPU(a->block, SpikeMatIsBoundToCPU(A)));
    PetscCall(MatPropagateSymmetryOptions(A, a->block));
    a->blockstate = state;
    a->blockshape = a->shape;
  }
  *block = a->block;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts are AIJ matrices: what asks for them factors them as a rule */
PetscErrorCode MatCreateSubMatrices_DIA(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse,
                                        Mat *parts[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatCreateSubMatrices(aij, n, rows, cols, reuse, parts));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts that belong to several ranks (PCGASM) */
PetscErrorCode MatCreateSubMatricesMPI_DIA(Mat A, PetscInt n, const IS rows[], const IS cols[], MatReuse reuse,
                                           Mat *parts[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatCreateSubMatricesMPI(aij, n, rows, cols, reuse, parts));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The diagonal block of the ranks of a communicator (PCBJACOBI with fewer blocks than ranks). MATMPIAIJ shares its own
  diagonal block with the part, and on reuse takes it for the same one: the values are copied
*/
PetscErrorCode MatGetMultiProcBlock_DIA(Mat A, MPI_Comm comm, MatReuse reuse, Mat *part)
{
  Mat aij, block;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatGetMultiProcBlock(aij, comm, MAT_INITIAL_MATRIX, &block));
  PetscCall(MatDestroy(&aij));
  if (reuse == MAT_INITIAL_MATRIX) *part = block;
  else {
    PetscCall(MatCopy(block, *part, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&block));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateSubMatrix_DIA(Mat A, IS rows, IS cols, MatReuse reuse, Mat *part)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatCreateSubMatrix(aij, rows, cols, reuse, part));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatIncreaseOverlap_DIA(Mat A, PetscInt n, IS is[], PetscInt overlap)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatIncreaseOverlap(aij, n, is, overlap));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}
