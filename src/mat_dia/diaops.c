/* SPDX-License-Identifier: BSD-2-Clause */
/* diaops.c: what MATDIA does with its entries, beside products; where the pattern may change, by AIJ */
#include "diaimpl.h"

PetscErrorCode MatGetRow_DIA(Mat A, PetscInt row, PetscInt *ncols, PetscInt **cols, PetscScalar **vals)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  const PetscInt i = row - A->rmap->rstart;
  PetscInt       n = 0;

  PetscFunctionBegin;
  if (vals) PetscCall((*a->dia.k->get)(&a->dia, i, i + 1, a->row));
  for (PetscInt d = 0; d < a->dia.count; d++) {
    if (!MatDIAHas_Private(a, i, d)) continue;
    a->cols[n] = row + a->offsets[d];
    if (vals) a->vals[n] = a->row[d];
    n++;
  }
  *ncols = n;
  if (cols) *cols = a->cols;
  if (vals) *vals = a->vals;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatRestoreRow_DIA(Mat A, PetscInt row, PetscInt *ncols, PetscInt **cols, PetscScalar **vals)
{
  PetscFunctionBegin;
  (void)A;
  (void)row;
  (void)ncols;
  if (cols) *cols = NULL;
  if (vals) *vals = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetDiagonal_DIA(Mat A, Vec v)
{
  Mat_DIA     *a = (Mat_DIA *)A->data;
  PetscScalar *va;

  PetscFunctionBegin;
  PetscCall(MatDIAGetArray_Private(A, PETSC_TRUE, v, &va));
  PetscCall((*a->dia.k->getdiagonal)(&a->dia, a->diagonal, va)); /* zeros where this rank has none, and others may */
  PetscCall(MatDIARestoreArray_Private(A, PETSC_TRUE, v, &va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiagonalScale_DIA(Mat A, Vec l, Vec r)
{
  Mat_DIA           *a  = (Mat_DIA *)A->data;
  const PetscScalar *la = NULL, *ra = NULL;

  PetscFunctionBegin;
  if (l) PetscCall(MatDIAGetArrayRead_Private(A, l, &la));
  if (r) {
    PetscCall(MatDIAGetArrayRead_Private(A, r, &ra));
    PetscCall(MatDIAHaloBegin_Private(A, ra));
    PetscCall(MatDIAHaloEnd_Private(A));
  }
  PetscCall((*a->dia.k->diagonalscale)(&a->dia, la, ra, a->halo.ghost));
  if (r) PetscCall(MatDIARestoreArrayRead_Private(A, r, &ra));
  if (l) PetscCall(MatDIARestoreArrayRead_Private(A, l, &la));
  PetscCall(MatDIALogFlops_Private(A, (PetscReal)a->nz * ((l ? 1.0 : 0.0) + (r ? 1.0 : 0.0))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatScale_DIA(Mat A, PetscScalar s)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall((*a->dia.k->scale)(&a->dia, s));
  PetscCall(MatDIALogFlops_Private(A, (PetscReal)a->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConjugate_DIA(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall((*a->dia.k->conjugate)(&a->dia));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  Mat_DIA           *a = (Mat_DIA *)A->data;
  const PetscScalar *va;
  PetscBool          full;
  Mat                aij;

  PetscFunctionBegin;
  PetscCall(MatDIAFullDiagonal_Private(A, &full));
  if (full) {
    PetscCall(MatDIAGetArrayRead_Private(A, v, &va));
    if (a->diagonal < a->dia.count)
      PetscCall((*a->dia.k->setdiagonal)(&a->dia, a->diagonal, (PetscBool)(mode == ADD_VALUES), 1.0, va));
    PetscCall(MatDIARestoreArrayRead_Private(A, v, &va));
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

/* Sums of columns: what the rows of others add comes as scalars, by the messages of a transposed product */
static PetscErrorCode MatDIANorm1_Private(Mat A, PetscReal *norm)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  MatHalo       *h = &a->halo;
  const PetscInt m = A->cmap->n;
  PetscReal     *sum, *ghost;
  PetscScalar   *total, *out, *in;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(m, &sum, a->dia.nghost, &ghost, m, &total, a->dia.nghost, &out,
                         h->active ? h->sendat[h->nsend] : 0, &in));
  PetscCall((*a->dia.k->sums)(&a->dia, SPIKE_DIA_COLUMNSUMS, sum, ghost));
  for (PetscInt j = 0; j < a->dia.nghost; j++) out[j] = ghost[j];
  for (PetscInt j = 0; j < m; j++) total[j] = sum[j];
  if (h->active) {
    PetscCall(MatDIAHaloReverseHost_Private(A, out, in));
    PetscCall((*SpikeDIAKernelsFind(PETSC_MEMTYPE_HOST)->unpackadd)(&a->dia, a->runat[h->nsend], a->runs, in, total));
  }
  for (PetscInt j = 0; j < m; j++) *norm = PetscMax(*norm, PetscRealPart(total[j]));
  PetscCall(PetscFree5(sum, ghost, total, out, in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatNorm_DIA(Mat A, NormType type, PetscReal *norm)
{
  Mat_DIA  *a     = (Mat_DIA *)A->data;
  PetscReal local = 0.0, *sum;

  PetscFunctionBegin;
  if (type == NORM_FROBENIUS) PetscCall((*a->dia.k->sums)(&a->dia, SPIKE_DIA_SQUARES, &local, NULL));
  else if (type == NORM_1) PetscCall(MatDIANorm1_Private(A, &local));
  else {
    PetscCheck(type == NORM_INFINITY, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
               "MATDIA has the norms NORM_1, NORM_INFINITY and NORM_FROBENIUS");
    PetscCall(PetscMalloc1(A->rmap->n, &sum));
    PetscCall((*a->dia.k->sums)(&a->dia, SPIKE_DIA_ROWSUMS, sum, NULL));
    for (PetscInt i = 0; i < A->rmap->n; i++) local = PetscMax(local, sum[i]);
    PetscCall(PetscFree(sum));
  }
  PetscCallMPI(MPIU_Allreduce(&local, norm, 1, MPIU_REAL, type == NORM_FROBENIUS ? MPIU_SUM : MPIU_MAX,
                              PetscObjectComm((PetscObject)A)));
  if (type == NORM_FROBENIUS) *norm = PetscSqrtReal(*norm);
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
    if (a->cuda) PetscCall(MatBindToCPU(a->block, MatIsBoundToCPU_Spike(A)));
    PetscCall(MatPropagateSymmetryOptions(A, a->block));
    a->blockstate = state;
    a->blockshape = a->shape;
  }
  *block = a->block;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatZeroRows_DIA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  Mat_DIA       *a    = (Mat_DIA *)A->data;
  const PetscInt keep = MAT_KEEP_NONZERO_PATTERN - MAT_OPTION_MIN;
  Mat            aij;

  PetscFunctionBegin;
  PetscCall(MatDIAOpen_Private(A, &aij));
  if (a->optionset[keep]) PetscCall(MatSetOption(aij, MAT_KEEP_NONZERO_PATTERN, a->options[keep]));
  PetscCall(MatZeroRows(aij, n, rows, diag, x, b));
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
