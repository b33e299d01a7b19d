/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudaaij.c: MATBAIJCUDA to MATAIJCUSPARSE. The values of the blocks are the values of coordinates, in their order:
  PETSc plans once where they go, and takes them from the copy. Nothing but the plan passes the host
*/
#include "baijcudaimpl.h"

/* Of the AIJ matrix: the pattern that it was made for */
typedef struct {
  PetscObjectId    id[2];
  PetscObjectState state[2];
} MatBAIJCUDAPattern;

static const char patternkey[] = "MatBAIJCUDA_Pattern";

static PetscErrorCode MatBAIJCUDAGetPattern_Private(const Mat parts[2], MatBAIJCUDAPattern *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  for (int k = 0; k < 2; k++) {
    if (!parts[k]) continue;
    PetscCall(PetscObjectGetId((PetscObject)parts[k], &p->id[k]));
    PetscCall(MatGetNonzeroState(parts[k], &p->state[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a matrix goes to `type` so. With the host's kernels MATAIJ takes the place of MATAIJCUSPARSE, for tests */
PetscErrorCode MatBAIJCUDAByCoordinates_Private(Mat A, MatType type, PetscBool *is)
{
  PetscBool ours;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(MatBAIJCUDAIs_Private(A, &ours));
  if (!ours || !MatBAIJCUDAHasKernels_Private(A) || !A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(MatBAIJCUDA_Private(A)->k->memtype))
    PetscCall(PetscStrcmpAny(type, is, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  else PetscCall(PetscStrcmpAny(type, is, MATAIJCUSPARSE, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coordinates of the values of a part, in their order. garray NULL: block columns from `first` on */
static PetscErrorCode MatBAIJCUDACoordinates_Private(Mat A, Mat P, PetscInt first, const PetscInt garray[],
                                                     PetscInt i[], PetscInt j[])
{
  const PetscInt  bs = A->rmap->bs;
  const PetscInt *bi, *bj;
  PetscInt        mb;
  PetscCount      p = 0;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall((*MatBAIJCUDA_Private(P)->ops.getrowij)(P, 0, PETSC_FALSE, PETSC_TRUE, &mb, &bi, &bj, &done));
  for (PetscInt row = 0; row < mb; row++)
    for (PetscInt k = bi[row]; k < bi[row + 1]; k++) {
      const PetscInt col = garray ? garray[bj[k]] : first + bj[k];

      for (PetscInt c = 0; c < bs; c++)
        for (PetscInt r = 0; r < bs; r++, p++) {
          i[p] = A->rmap->rstart + row * bs + r;
          j[p] = col * bs + c;
        }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of both parts, one after the other, where the backend works */
static PetscErrorCode MatBAIJCUDAGetValues_Private(Mat A, const Mat parts[2], const PetscScalar **v)
{
  Mat_BAIJCUDA *c    = MatBAIJCUDA_Private(A);
  PetscCount    n[2] = {0, 0};

  PetscFunctionBegin;
  if (!c->mpi) {
    *v = c->val;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 2; k++) n[k] = MatBAIJCUDA_Private(parts[k])->nval;
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  if (c->njoined != n[0] + n[1]) {
    PetscCall((*c->k->release)(&c->b, (void **)&c->joined));
    c->njoined = 0;
    PetscCall((*c->k->alloc)(&c->b, (size_t)(n[0] + n[1]) * sizeof(PetscScalar), (void **)&c->joined));
    c->njoined = n[0] + n[1];
  }
  for (int k = 0; k < 2; k++)
    if (n[k])
      PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_TRUE, c->joined + (k ? n[0] : 0),
                              MatBAIJCUDA_Private(parts[k])->val, (size_t)n[k] * sizeof(PetscScalar)));
  *v = c->joined;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDACreateAIJ_Private(Mat A, MatType type, const Mat parts[2], const PetscInt garray[],
                                                   Mat *B)
{
  const PetscCount    nd = MatBAIJCUDA_Private(parts[0])->nval, no = parts[1] ? MatBAIJCUDA_Private(parts[1])->nval : 0;
  PetscInt           *i, *j;
  MatBAIJCUDAPattern *p;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, type));
  PetscCall(PetscMalloc2(nd + no, &i, nd + no, &j));
  PetscCall(MatBAIJCUDACoordinates_Private(A, parts[0], A->cmap->rstart / A->rmap->bs, NULL, i, j));
  if (no) PetscCall(MatBAIJCUDACoordinates_Private(A, parts[1], 0, garray, i + nd, j + nd));
  PetscCall(MatSetPreallocationCOO(*B, nd + no, i, j));
  PetscCall(PetscFree2(i, j));
  PetscCall(PetscNew(&p));
  PetscCall(MatBAIJCUDAGetPattern_Private(parts, p));
  PetscCall(PetscObjectContainerCompose((PetscObject)*B, patternkey, p, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_BAIJCUDA_AIJCUSPARSE(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  const PetscInt     *garray   = NULL;
  Mat                 parts[2] = {A, NULL}, C = NULL;
  MatBAIJCUDAPattern *p, now;
  const PetscScalar  *v = NULL;
  PetscBool           same;

  PetscFunctionBegin;
  if (MatBAIJCUDA_Private(A)->mpi) {
    PetscCall(MatBAIJCUDAUpdateParts_Private(A, PETSC_FALSE, parts));
    PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  } else PetscCall(MatBAIJCUDAUpdate_Private(A, PETSC_FALSE));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatBAIJCUDAGetPattern_Private(parts, &now));
    PetscCall(PetscObjectContainerQuery((PetscObject)*B, patternkey, &p));
    same = (PetscBool)(p && !memcmp(p, &now, sizeof(now)));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
    if (same) C = *B;
  }
  if (!C) PetscCall(MatBAIJCUDACreateAIJ_Private(A, newtype, parts, garray, &C));
  PetscCall(MatBAIJCUDAGetValues_Private(A, parts, &v));
  PetscCall(MatSetValuesCOO(C, v, INSERT_VALUES));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else if (reuse == MAT_INITIAL_MATRIX) *B = C;
  else if (C != *B) PetscCall(MatHeaderReplace(*B, &C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
