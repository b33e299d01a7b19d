/* SPDX-License-Identifier: BSD-2-Clause */
/* diavalues.c: operations of MATDIA that keep its pattern */
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

/* Rows of this rank; zero where there is no entry */
PetscErrorCode MatGetValues_DIA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[],
                                PetscScalar v[])
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < m; k++) {
    const PetscInt i = rows[k] - A->rmap->rstart;

    if (rows[k] < 0) continue;
    PetscCheck(i >= 0 && i < A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Row %" PetscInt_FMT " is not of this rank, which has rows %" PetscInt_FMT " to %" PetscInt_FMT, rows[k],
               A->rmap->rstart, A->rmap->rend - 1);
    PetscCall((*a->dia.k->get)(&a->dia, i, i + 1, a->row));
    for (PetscInt l = 0; l < n; l++) {
      PetscInt d;

      if (cols[l] < 0) continue;
      PetscCheck(cols[l] < A->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "Column too large: col %" PetscInt_FMT " max %" PetscInt_FMT, cols[l], A->cmap->N - 1);
      d            = SpikeDIAFind(a->dia.count, a->offsets, -1, cols[l] - rows[k]);
      v[k * n + l] = d < a->dia.count && MatDIAHas_Private(a, i, d) ? a->row[d] : (PetscScalar)0.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetDiagonal_DIA(Mat A, Vec v)
{
  Mat_DIA   *a = (Mat_DIA *)A->data;
  SpikeArray d;

  PetscFunctionBegin;
  PetscCall(SpikeArrayGet(v, MatDIAMemType_Private(A), SPIKE_WRITE, &d));
  PetscCall((*a->dia.k->getdiagonal)(&a->dia, a->diagonal, d.a)); /* zeros where this rank has none, and others may */
  PetscCall(SpikeArrayRestore(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDiagonalScale_DIA(Mat A, Vec l, Vec r)
{
  static const PetscScalar none = 0.0; /* for NULL, which would say that there is no such matrix */
  Mat_DIA                 *a    = (Mat_DIA *)A->data;
  const PetscScalar       *left = NULL, *right = NULL;
  SpikeArray               la, ra;

  PetscFunctionBegin;
  if (l) {
    PetscCall(SpikeArrayGet(l, MatDIAMemType_Private(A), SPIKE_READ, &la));
    left = la.a ? la.a : &none; /* a rank without rows reads nothing */
  }
  if (r) {
    PetscCall(SpikeArrayGet(r, MatDIAMemType_Private(A), SPIKE_READ, &ra));
    right = ra.a ? ra.a : &none; /* a rank without columns reads the ghosts alone */
    PetscCall(MatDIAHaloBegin_Private(A, ra.a));
    PetscCall(MatDIAHaloEnd_Private(A));
  }
  PetscCall((*a->dia.k->diagonalscale)(&a->dia, left, right, a->halo.ghost));
  if (r) PetscCall(SpikeArrayRestore(&ra));
  if (l) PetscCall(SpikeArrayRestore(&la));
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
