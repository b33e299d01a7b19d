/* SPDX-License-Identifier: BSD-2-Clause */
/* diastructure.c: which diagonals MATDIA has in which rows, and where their values are */
#include "diaimpl.h"

PetscErrorCode MatDIAIs_Private(Mat A, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, is, MATSEQDIA, MATMPIDIA, MATSEQDIACUDA, MATMPIDIACUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define MAT_DIA_FREE_BYTES 1048576 /* that diagonals may take whatever the fill */

/* Collective, as its error is */
static PetscErrorCode MatDIAFindOffsets_Private(Mat A, PetscInt nparts, const SpikeCSR parts[], MatDIAStructure *s,
                                                PetscReal bytes[2])
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  const PetscInt n = A->rmap->n;
  PetscReal      most, local[2] = {0.0, 0.0};
  PetscInt       limit;

  PetscFunctionBegin;
  s->nz = 0;
  for (PetscInt p = 0; p < nparts; p++) s->nz += parts[p].ai[n] - parts[p].ai[0];
  most  = PetscMax(a->maxfill * (PetscReal)s->nz, (PetscReal)MAT_DIA_FREE_BYTES / sizeof(PetscScalar)) / PetscMax(n, 1);
  limit = (PetscInt)PetscMin(PetscMin(most, (PetscReal)s->nz), (PetscReal)(PETSC_INT_MAX / 4));
  PetscCall(PetscMalloc1(limit + 1, &s->offset));
  SpikeDIAOffsets(n, nparts, parts, limit, &s->count, s->offset);
  if (s->count > limit) {
    local[0] = (PetscReal)s->count * n * sizeof(PetscScalar);
    local[1] = (PetscReal)s->nz * (sizeof(PetscScalar) + sizeof(PetscInt));
  }
  PetscCallMPI(MPIU_Allreduce(local, bytes, 2, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  if (bytes[0] > 0.0) PetscCall(PetscFree(s->offset));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetOffsets_Private(Mat A, PetscInt nparts, const SpikeCSR parts[], MatDIAStructure *s)
{
  PetscReal bytes[2];

  PetscFunctionBegin;
  PetscCall(MatDIAFindOffsets_Private(A, nparts, parts, s, bytes));
  PetscCheck(!(bytes[0] > 0.0), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "The entries of this matrix lie on so many diagonals that a rank would need more than %g MB for them, and "
             "needs %g MB as MATAIJ: keep it as MATAIJ, give each rank whole layers of the grid (-da_processors_x 1), "
             "reorder it, or allow more than %g places for an entry by -%smat_dia_max_fill or MatDIASetMaxFill()",
             (double)(bytes[0] * 1e-6), (double)(bytes[1] * 1e-6), (double)((Mat_DIA *)A->data)->maxfill,
             ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the entries lie on few enough diagonals on each rank; collective */
PetscErrorCode MatDIAFits_Private(Mat A, PetscInt nparts, const SpikeCSR parts[], PetscBool *fits)
{
  MatDIAStructure s;
  PetscReal       bytes[2];

  PetscFunctionBegin;
  PetscCall(MatDIAFindOffsets_Private(A, nparts, parts, &s, bytes));
  *fits = (PetscBool) !(bytes[0] > 0.0);
  if (*fits) PetscCall(PetscFree(s.offset));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAGetStructure_Private(Mat A, PetscInt nparts, const SpikeCSR parts[], MatDIAStructure *s)
{
  const PetscInt n = A->rmap->n;

  PetscFunctionBegin;
  PetscCall(MatDIAGetOffsets_Private(A, nparts, parts, s));
  PetscCall(PetscMalloc1(s->count, &s->first));
  PetscCall(PetscCalloc1(s->count, &s->last));
  PetscCall(PetscCalloc1(MatDIAMaskLength(n, s->count), &s->mask));
  for (PetscInt d = 0; d < s->count; d++) s->first[d] = n;
  for (PetscInt p = 0; p < nparts; p++) {
    for (PetscInt i = 0; i < n; i++) {
      uint64_t *mask = s->mask + MatDIAMaskLength(i - i % SPIKE_DIA_ROWS, s->count);
      PetscInt  d    = -1;

      for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1]; k++) {
        d = SpikeDIAFind(s->count, s->offset, d, SpikeCSRColumn(&parts[p], k) - i);
        mask[d] |= (uint64_t)1 << (i % SPIKE_DIA_ROWS);
        s->first[d] = PetscMin(s->first[d], i);
        s->last[d]  = PetscMax(s->last[d], i + 1);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAFreeStructure_Private(MatDIAStructure *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->offset));
  PetscCall(PetscFree(s->first));
  PetscCall(PetscFree(s->last));
  PetscCall(PetscFree(s->mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MatDIAIsStructure_Private(Mat A, const MatDIAStructure *s)
{
  const Mat_DIA *a = (Mat_DIA *)A->data;
  const size_t   n = (size_t)s->count * sizeof(PetscInt);

  if (!a->built || a->dia.count != s->count || a->nz != s->nz) return PETSC_FALSE;
  return (PetscBool)(!n ||
                     (!memcmp(a->dia.offset, s->offset, n) && !memcmp(a->dia.first, s->first, n) &&
                      !memcmp(a->dia.last, s->last, n) &&
                      !memcmp(a->mask, s->mask, (size_t)MatDIAMaskLength(A->rmap->n, s->count) * sizeof(*s->mask))));
}

PetscErrorCode MatDIASameStructure_Private(Mat A, Mat B, PetscBool *same)
{
  const Mat_DIA  *a = (Mat_DIA *)A->data, *b = (Mat_DIA *)B->data;
  MatDIAStructure s = {b->dia.count, b->dia.offset, b->dia.first, b->dia.last, b->mask, b->nz};

  PetscFunctionBegin;
  *same = (PetscBool)(a->built && b->built && A->rmap->n == B->rmap->n && A->cmap->n == B->cmap->n &&
                      MatDIAIsStructure_Private(A, &s));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that belongs to a structure; what was set stays */
PetscErrorCode MatDIAReset_Private(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDIAHaloDestroy_Private(a));
  PetscCall(SpikeDIADestroy(&a->dia));
  PetscCall(PetscFree(a->mask));
  PetscCall(PetscFree(a->offsets));
  PetscCall(PetscFree3(a->cols, a->vals, a->row));
  PetscCall(MatDestroy(&a->block));
  PetscCall(MatDestroy(&a->copy));
  a->nz    = 0;
  a->built = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of n that have an entry */
static PetscInt MatDIANonempty_Private(PetscInt n, const MatDIAStructure *s)
{
  PetscInt rows = 0;

  for (PetscInt i = 0; i < n; i += SPIKE_DIA_ROWS) {
    const uint64_t *mask = s->mask + MatDIAMaskLength(i, s->count);
    uint64_t        any  = 0;

    for (PetscInt d = 0; d < s->count; d++) any |= mask[d];
    for (; any; any &= any - 1) rows++;
  }
  return rows;
}

/* Tables of the matrix from its structure; takes the mask. The values are of no use yet */
PetscErrorCode MatDIASetStructure_Private(Mat A, MatDIAStructure *s)
{
  Mat_DIA       *a     = (Mat_DIA *)A->data;
  const PetscInt shift = A->cmap->rstart - A->rmap->rstart;

  PetscFunctionBegin;
  PetscCall(MatDIAReset_Private(A));
  PetscCall(SpikeDIACreate(SpikeDIAKernelsFind(MatDIAMemType_Private(A)), A->rmap->n, A->cmap->n, s->count, s->offset,
                           &a->dia));
  PetscCall(SpikeDIASetExtents(&a->dia, s->first, s->last));
  a->nonempty = MatDIANonempty_Private(A->rmap->n, s);
  a->mask     = s->mask;
  s->mask     = NULL;
  a->nz       = s->nz;
  PetscCall(PetscMalloc1(s->count, &a->offsets));
  for (PetscInt d = 0; d < s->count; d++) a->offsets[d] = s->offset[d] + shift;
  a->diagonal = SpikeDIAFind(s->count, s->offset, -1, -shift);
  PetscCall(PetscMalloc3(s->count, &a->cols, s->count, &a->vals, s->count, &a->row));
  PetscCall(MatDIAHaloCreate_Private(A));
  a->shape = SpikeNewShape(1);
  a->built = PETSC_TRUE;
  A->nonzerostate++;
  PetscCall(PetscInfo(A,
                      "%" PetscInt_FMT " diagonals with %" PetscInt64_FMT " places for %" PetscInt64_FMT " entries\n",
                      a->dia.count, (PetscInt64)a->dia.places, a->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix by diagonals like A's, with values of no use yet, in memory of a type */
PetscErrorCode MatDIALike_Private(Mat A, PetscMemType memtype, SpikeDIA *dia)
{
  const SpikeDIA *like = &((Mat_DIA *)A->data)->dia;

  PetscFunctionBegin;
  PetscCall(SpikeDIACreate(SpikeDIAKernelsFind(memtype), like->n, like->m, like->count, like->offset, dia));
  PetscCall(SpikeDIASetExtents(dia, like->first, like->last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of one, with the same diagonals, become those of the other, wherever they are */
PetscErrorCode MatDIAMove_Private(const SpikeDIA *from, SpikeDIA *to)
{
  const PetscInt most = 256 * SPIKE_DIA_ROWS;
  PetscScalar   *rows;

  PetscFunctionBegin;
  if (from->k == to->k) {
    PetscCall((*to->k->copy)(to, from));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*to->k->zero)(to));
  PetscCall(PetscMalloc1((PetscCount)to->count * PetscMin(most, to->n), &rows));
  for (PetscInt begin = 0, end; begin < to->n; begin = end) {
    end = begin + PetscMin(most, to->n - begin);
    PetscCall((*from->k->get)(from, begin, end, rows));
    PetscCall((*to->k->put)(to, begin, end, rows));
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values, and the halo, to where they belong now */
PetscErrorCode MatBindToCPU_DIA(Mat A, PetscBool bind)
{
  Mat_DIA *a = (Mat_DIA *)A->data;
  SpikeDIA dia;

  PetscFunctionBegin;
  SpikeMatSetBoundToCPU(A, bind);
  if (!a->built || a->dia.k->memtype == MatDIAMemType_Private(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIALike_Private(A, MatDIAMemType_Private(A), &dia));
  PetscCall(MatDIAMove_Private(&a->dia, &dia));
  PetscCall(MatDIAHaloDestroy_Private(a));
  PetscCall(SpikeDIADestroy(&a->dia));
  a->dia = dia;
  PetscCall(MatDIAHaloCreate_Private(A));
  PetscCall(MatDestroy(&a->block));
  a->shape = SpikeNewShape(1);
  PetscFunctionReturn(PETSC_SUCCESS);
}
