/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diabyaij.c: what AIJ does for MATDIA: operations that are rare or slow anyway, on a copy that is kept until values
  change. -info tells when one is made
*/
#include "diaimpl.h"

/* A as MATAIJ; it belongs to A */
PetscErrorCode MatDIAGetAIJ_Private(Mat A, Mat *aij)
{
  Mat_DIA         *a = (Mat_DIA *)A->data;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (a->copy && (a->copyshape != a->shape || a->copy->rmap->bs != A->rmap->bs)) PetscCall(MatDestroy(&a->copy));
  if (!a->copy || a->copystate != state) {
    PetscCall(PetscInfo(A, "A copy as MATAIJ is made for an operation that MATDIA has not\n"));
    PetscCall(MatDIAToAIJ_Private(A, a->copy ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &a->copy));
    PetscCall(MatPropagateSymmetryOptions(A, a->copy));
    a->copystate = state;
    a->copyshape = a->shape;
  }
  *aij = a->copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSOR_DIA(Mat A, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its, PetscInt lits,
                          Vec x)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatSOR(aij, b, omega, type, shift, its, lits, x));
  A->factorerrortype = aij->factorerrortype; /* PCSOR asks A */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatIsSymmetric_DIA(Mat A, PetscReal tol, PetscBool *is)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatIsSymmetric(aij, tol, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatIsHermitian_DIA(Mat A, PetscReal tol, PetscBool *is)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatIsHermitian(aij, tol, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetRowMaxAbs_DIA(Mat A, Vec v, PetscInt idx[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatGetRowMaxAbs(aij, v, idx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetRowMinAbs_DIA(Mat A, Vec v, PetscInt idx[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatGetRowMinAbs(aij, v, idx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetRowMax_DIA(Mat A, Vec v, PetscInt idx[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatGetRowMax(aij, v, idx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetRowMin_DIA(Mat A, Vec v, PetscInt idx[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatGetRowMin(aij, v, idx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetRowSumAbs_DIA(Mat A, Vec v)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatGetRowSumAbs(aij, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG and PCHMG coarsen this */
PetscErrorCode MatCreateGraph_DIA(Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, PetscInt n,
                                  PetscInt index[], Mat *graph)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatCreateGraph(aij, symmetric, scale, filter, n, index, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern of a matrix on one process, for orderings and colorings */
PetscErrorCode MatGetRowIJ_DIA(Mat A, PetscInt shift, PetscBool symmetric, PetscBool inodes, PetscInt *n,
                               const PetscInt *ia[], const PetscInt *ja[], PetscBool *done)
{
  Mat aij;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!((Mat_DIA *)A->data)->seq) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatGetRowIJ(aij, shift, symmetric, inodes, n, ia, ja, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatRestoreRowIJ_DIA(Mat A, PetscInt shift, PetscBool symmetric, PetscBool inodes, PetscInt *n,
                                   const PetscInt *ia[], const PetscInt *ja[], PetscBool *done)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatRestoreRowIJ(aij, shift, symmetric, inodes, n, ia, ja, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Orderings are of nodes, several equal rows of the copy each (inodes), until MatGetOrdering() has them expanded here
*/
static PetscErrorCode MatInodeAdjustForInodes_DIA(Mat A, IS *rows, IS *cols)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatInodeAdjustForInodes(aij, rows, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAComposeByAIJ_Private(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  if (((Mat_DIA *)A->data)->seq)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatInodeAdjustForInodes_C",
                                         compose ? MatInodeAdjustForInodes_DIA : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Differences by colors fill an AIJ matrix, whose entries then become those of A. It belongs to the coloring, as the
  places in it that the coloring keeps do
*/
PetscErrorCode MatFDColoringCreate_DIA(Mat A, ISColoring colors, MatFDColoring c)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(PetscInfo(A, "Differences by colors are taken in a copy as MATAIJ\n"));
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscUseTypeMethod(aij, fdcoloringcreate, colors, c);
  PetscCall(PetscObjectCompose((PetscObject)c, "MatDIA_AIJ", (PetscObject)aij));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetColored_Private(Mat A, MatFDColoring c, Mat *aij)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)c, "MatDIA_AIJ", (PetscObject *)aij));
  PetscCheck(*aij, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The coloring was made for a matrix of another type: call MatFDColoringCreate() with this one");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatFDColoringSetUp_DIA(Mat A, ISColoring colors, MatFDColoring c)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetColored_Private(A, c, &aij));
  PetscUseTypeMethod(aij, fdcoloringsetup, colors, c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatFDColoringApply_DIA(Mat A, MatFDColoring c, Vec x, void *ctx)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetColored_Private(A, c, &aij));
  PetscUseTypeMethod(aij, fdcoloringapply, c, x, ctx);
  PetscCall(MatAssemblyBegin(aij, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(aij, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDIAFromAIJ_Private(A, aij));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCPBJACOBI keeps the array over changes of A: it belongs to A, and not to the copy, which may go */
PetscErrorCode MatInvertBlockDiagonal_DIA(Mat A, const PetscScalar *values[])
{
  Mat_DIA           *a = (Mat_DIA *)A->data;
  const PetscCount   n = (PetscCount)A->rmap->n * PetscAbsInt(A->rmap->bs);
  const PetscScalar *inverse;
  Mat                aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatInvertBlockDiagonal(aij, &inverse));
  A->factorerrortype = aij->factorerrortype;
  if (a->ninverse != n) {
    PetscCall(PetscFree(a->inverse));
    PetscCall(PetscMalloc1(n, &a->inverse));
    a->ninverse = n;
  }
  PetscCall(PetscArraycpy(a->inverse, inverse, n));
  *values = a->inverse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatInvertVariableBlockDiagonal_DIA(Mat A, PetscInt n, const PetscInt sizes[], PetscScalar values[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetAIJ_Private(A, &aij));
  PetscCall(MatInvertVariableBlockDiagonal(aij, n, sizes, values));
  A->factorerrortype = aij->factorerrortype;
  PetscFunctionReturn(PETSC_SUCCESS);
}
