/* SPDX-License-Identifier: BSD-2-Clause */
/* diachange.c: operations that may change the pattern of MATDIA: with AIJ where they do */
#include "diaimpl.h"

/* A as AIJ that takes entries in new places, and back */
static PetscErrorCode MatDIAOpen_Private(Mat A, Mat *aij)
{
  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, aij));
  PetscCall(MatSetOption(*aij, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAClose_Private(Mat A, Mat *aij)
{
  PetscFunctionBegin;
  PetscCall(MatDIAFromAIJ_Private(A, *aij));
  PetscCall(MatDestroy(aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether each row has an entry on the main diagonal, on all ranks */
static PetscErrorCode MatDIAFullDiagonal_Private(Mat A, PetscBool *full)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  const PetscInt n = PetscMax(0, PetscMin(A->rmap->rend, A->cmap->N) - A->rmap->rstart);

  PetscFunctionBegin;
  *full = (PetscBool)(!n || a->diagonal < a->dia.count);
  for (PetscInt i = 0; *full && i < n; i++) *full = MatDIAHas_Private(a, i, a->diagonal);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, full, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatShift_DIA(Mat A, PetscScalar s)
{
  Mat_DIA  *a = (Mat_DIA *)A->data;
  PetscBool full;
  Mat       aij;

  PetscFunctionBegin;
  PetscCall(MatDIAFullDiagonal_Private(A, &full));
  if (full) {
    if (a->diagonal < a->dia.count) PetscCall((*a->dia.k->setdiagonal)(&a->dia, a->diagonal, PETSC_TRUE, s, NULL));
  } else {
    PetscCall(MatDIAOpen_Private(A, &aij));
    PetscCall(MatShift(aij, s));
    PetscCall(MatDIAClose_Private(A, &aij));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiagonalSet_DIA(Mat A, Vec v, InsertMode mode)
{
  Mat_DIA   *a = (Mat_DIA *)A->data;
  SpikeArray d;
  PetscBool  full;
  Mat        aij;

  PetscFunctionBegin;
  PetscCall(MatDIAFullDiagonal_Private(A, &full));
  if (full) {
    PetscCall(SpikeArrayGet(v, MatDIAMemType_Private(A), SPIKE_READ, &d));
    if (a->diagonal < a->dia.count)
      PetscCall((*a->dia.k->setdiagonal)(&a->dia, a->diagonal, (PetscBool)(mode == ADD_VALUES), 1.0, d.a));
    PetscCall(SpikeArrayRestore(&d));
  } else {
    PetscCall(MatDIAOpen_Private(A, &aij));
    PetscCall(MatDiagonalSet(aij, v, mode));
    PetscCall(MatDIAClose_Private(A, &aij));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += s X */
PetscErrorCode MatAXPY_DIA(Mat Y, PetscScalar s, Mat X, MatStructure structure)
{
  Mat_DIA  *y = (Mat_DIA *)Y->data, *x = (Mat_DIA *)X->data;
  Mat       aij, other                 = X;
  PetscBool is, same                   = PETSC_FALSE;

  PetscFunctionBegin;
  (void)structure;
  PetscCall(MatDIAIs_Private(X, &is));
  if (is) PetscCall(MatDIASameStructure_Private(Y, X, &same));
  if (same && x->dia.k == y->dia.k) {
    PetscCall((*y->dia.k->axpy)(&y->dia, s, &x->dia));
    PetscCall(MatDIALogFlops_Private(Y, 2.0 * (PetscReal)y->nz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDIAOpen_Private(Y, &aij));
  PetscCall(MatConvert(X, ((PetscObject)aij)->type_name, MAT_INITIAL_MATRIX, &other));
  PetscCall(MatAXPY(aij, s, other, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&other));
  PetscCall(MatDIAClose_Private(Y, &aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCopy_DIA(Mat A, Mat B, MatStructure structure)
{
  Mat_DIA  *a = (Mat_DIA *)A->data, *b = (Mat_DIA *)B->data;
  Mat       aij;
  PetscBool is, same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatDIAIs_Private(B, &is));
  if (is) PetscCall(MatDIASameStructure_Private(A, B, &same));
  if (same) PetscCall(MatDIAMove_Private(&a->dia, &b->dia));
  else {
    PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
    if (is) {
      PetscCall(MatDIAFromAIJ_Private(B, aij));
      B->assembled = PETSC_TRUE;
    } else PetscCall(MatCopy(aij, B, structure));
    PetscCall(MatDestroy(&aij));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As AIJ has it: entries are the same, in the same places */
PetscErrorCode MatEqual_DIA(Mat A, Mat B, PetscBool *equal)
{
  Mat       a, b;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatDIAIs_Private(B, &same));
  if (same) PetscCall(MatDIASameStructure_Private(A, B, &same));
  if (same) {
    PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &a));
    PetscCall(MatDIAToAIJ_Private(B, MAT_INITIAL_MATRIX, &b));
    PetscCall(MatEqual(a, b, &same));
    PetscCall(MatDestroy(&a));
    PetscCall(MatDestroy(&b));
  }
  *equal = same;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatTranspose_DIA(Mat A, MatReuse reuse, Mat *B)
{
  Mat aij, T, C;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatTranspose(aij, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatConvert(T, ((PetscObject)A)->type_name,
                       reuse == MAT_REUSE_MATRIX ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX,
                       reuse == MAT_REUSE_MATRIX ? B : &C));
  PetscCall(MatDestroy(&T));
  if (reuse == MAT_INITIAL_MATRIX) *B = C;
  else if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderMerge(A, &C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = diag x in these rows, which may be of other ranks: MatZeroRows() of an identity does that */
static PetscErrorCode MatDIAZeroRowsVectors_Private(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x,
                                                    Vec b)
{
  PetscBool congruent;
  Mat       identity;

  PetscFunctionBegin;
  PetscCall(MatHasCongruentLayouts(A, &congruent));
  PetscCheck(congruent, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Need matching row/col layout");
  PetscCall(MatCreateConstantDiagonal(PetscObjectComm((PetscObject)A), A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N,
                                      1.0, &identity));
  PetscCall(MatConvert(identity, MATAIJ, MAT_INPLACE_MATRIX, &identity));
  PetscCall(MatZeroRows(identity, n, rows, diag, x, b));
  PetscCall(MatDestroy(&identity));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A diagonal where a row has no entry: MatZeroRows() of PETSc 3.26 inserts it and goes on with arrays that the insertion
  has moved. So rows are emptied by it, and entries on the diagonal set after it
*/
PetscErrorCode MatZeroRows_DIA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat_DIA        *a    = (Mat_DIA *)A->data;
  const PetscBool keep = MatDIAOption_Private(&a->options, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE);
  Mat             aij;

  PetscFunctionBegin;
  PetscCall(MatDIAOpen_Private(A, &aij));
  PetscCall(MatSetOption(aij, MAT_KEEP_NONZERO_PATTERN, keep));
  if (keep || diag == (PetscScalar)0.0) PetscCall(MatZeroRows(aij, n, rows, diag, x, b));
  else {
    PetscCall(MatZeroRows(aij, n, rows, 0.0, NULL, NULL));
    for (PetscInt k = 0; k < n; k++)
      if (rows[k] >= 0 && rows[k] < A->cmap->N)
        PetscCall(MatSetValues(aij, 1, &rows[k], 1, &rows[k], &diag, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(aij, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(aij, MAT_FINAL_ASSEMBLY));
    if (x && b) PetscCall(MatDIAZeroRowsVectors_Private(A, n, rows, diag, x, b));
  }
  PetscCall(MatDIAClose_Private(A, &aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatZeroRowsColumns_DIA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatDIAOpen_Private(A, &aij));
  PetscCall(MatZeroRowsColumns(aij, n, rows, diag, x, b));
  PetscCall(MatDIAClose_Private(A, &aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}
