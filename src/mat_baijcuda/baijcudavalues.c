/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudavalues.c: operations of MATBAIJCUDA on values that are where the backend works only, after MatSetValuesCOO():
  they stay there. Where PETSc's values are right PETSc works
*/
#include "baijcudaimpl.h"
#include "common/agree.h"

/* Whether the values of a MATSEQBAIJCUDA are those of its copy alone */
static PetscBool MatBAIJCUDAIsAhead_Private(Mat A)
{
  const Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  return (PetscBool)(c->ahead && !c->bound && c->pattern == A->nonzerostate);
}

/*
  The copy of a MATSEQBAIJCUDA becomes a times it: pieces of it are tall blocks of one column. Moves each value twice
*/
static PetscErrorCode MatBAIJCUDAScaleCopy_Private(Mat A, PetscScalar a)
{
  Mat_BAIJCUDA             *c         = MatBAIJCUDA_Private(A);
  const PetscCount          most      = (PetscCount)1 << 30;
  const PetscSpikePrecision precision = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                      : PETSC_SPIKE_PRECISION_DOUBLE;
  SpikeBlockTask            task;
  void                     *factor = NULL;

  PetscFunctionBegin;
  PetscCall((*c->k->alloc)(&c->b, sizeof(a), &factor));
  PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, factor, &a, sizeof(a)));
  PetscCall(PetscMemzero(&task, sizeof(task)));
  task.op   = SPIKE_BLOCK_AXPY;
  task.mode = SPIKE_BLOCK_SET;
  task.k = task.m = 1;
  task.ldz        = 1;
  task.Z          = factor;
  for (PetscCount at = 0; at < c->nval; at += most) {
    task.n = (PetscInt)PetscMin(most, c->nval - at);
    task.X = task.Y = c->val + at;
    task.ldx = task.ldy = task.n;
    PetscCall((*c->k->run)(&c->b, precision, 1, &task));
  }
  PetscCall((*c->k->release)(&c->b, &factor));
  PetscCall(MatBAIJCUDAAhead_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A <- a A. The other values of a part that is not ahead are PETSc's */
PetscErrorCode MatScale_BAIJCUDA(Mat A, PetscScalar a)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  Mat           parts[2];

  PetscFunctionBegin;
  if (!c->ahead) {
    PetscCall((*c->ops.scale)(A, a));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
  for (int k = 0; k < 2; k++) {
    if (!parts[k]) continue;
    if (MatBAIJCUDAIsAhead_Private(parts[k])) PetscCall(MatBAIJCUDAScaleCopy_Private(parts[k], a));
    else {
      PetscCall(MatBAIJCUDAToHost_Private(parts[k]));
      PetscCall((*MatBAIJCUDA_Private(parts[k])->ops.scale)(parts[k], a));
      PetscCall(PetscObjectStateIncrease((PetscObject)parts[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A <- 0: what the copy has is not fetched. The next product copies zeros, MatSetValuesCOO() need not */
PetscErrorCode MatZeroEntries_BAIJCUDA(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  Mat           parts[2];

  PetscFunctionBegin;
  if (c->ahead) {
    PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
    for (int k = 0; k < 2; k++) {
      if (!parts[k]) continue;
      MatBAIJCUDA_Private(parts[k])->ahead  = PETSC_FALSE;
      MatBAIJCUDA_Private(parts[k])->values = -1;
    }
    c->ahead = PETSC_FALSE;
  }
  PetscCall((*c->ops.zeroentries)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Places of the diagonal of a square MATSEQBAIJCUDA among its values, for the pattern of the copy; NULL where a row has
  no diagonal block, or places are too large for a PetscInt
*/
static PetscErrorCode MatBAIJCUDAGetDiagonalPlaces_Private(Mat A, const PetscInt **place)
{
  Mat_BAIJCUDA   *c  = MatBAIJCUDA_Private(A);
  const PetscInt  bs = A->rmap->bs, n = A->rmap->n;
  const PetscInt *bi, *bj;
  PetscInt       *host, mb, at;
  PetscBool       done, whole = PETSC_TRUE;

  PetscFunctionBegin;
  *place = NULL;
  if (n != A->cmap->n || c->nval > (PetscCount)PETSC_INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->diagonalshape != c->shape) {
    PetscCall((*c->k->release)(&c->b, (void **)&c->diagonal));
    PetscCall((*c->ops.getrowij)(A, 0, PETSC_FALSE, PETSC_TRUE, &mb, &bi, &bj, &done));
    PetscCall(PetscMalloc1(n, &host));
    for (PetscInt row = 0; row < mb && whole; row++) {
      PetscCall(PetscFindInt(row, bi[row + 1] - bi[row], bj + bi[row], &at));
      whole = (PetscBool)(at >= 0);
      for (PetscInt r = 0; r < bs && whole; r++) host[row * bs + r] = (bi[row] + at) * bs * bs + r * (bs + 1);
    }
    if (whole) {
      PetscCall((*c->k->alloc)(&c->b, (size_t)n * sizeof(*host), (void **)&c->diagonal));
      PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, c->diagonal, host, (size_t)n * sizeof(*host)));
    }
    PetscCall(PetscFree(host));
    c->diagonalshape = c->shape;
  }
  *place = c->diagonal;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v <- the diagonal of A, of MATMPIBAIJCUDA that of its diagonal part */
PetscErrorCode MatGetDiagonal_BAIJCUDA(Mat A, Vec v)
{
  Mat_BAIJCUDA   *c     = MatBAIJCUDA_Private(A), *d;
  const PetscInt *place = NULL;
  PetscBool       has   = PETSC_FALSE;
  SpikeArray      array;
  Mat             parts[2];

  PetscFunctionBegin;
  if (c->ahead) {
    PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
    if (MatBAIJCUDAIsAhead_Private(parts[0])) PetscCall(MatBAIJCUDAGetDiagonalPlaces_Private(parts[0], &place));
    has = (PetscBool)(place || !A->rmap->n);
  }
  /* PETSc's way is collective on v; MatGetRow() and MatSetValues() fetch values on one rank alone */
  if (c->mpi) PetscCall(SpikePetscObjectAgree((PetscObject)A, &has));
  if (!has) {
    PetscCall(MatBAIJCUDAToHost_Private(A));
    PetscCall((*c->ops.getdiagonal)(A, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  d = MatBAIJCUDA_Private(parts[0]);
  PetscCall(SpikeArrayGet(v, c->k->memtype, SPIKE_WRITE, &array));
  if (A->rmap->n) PetscCall((*c->k->pack)(&d->b, 1, A->rmap->n, place, d->val, array.a));
  PetscCall(SpikeArrayRestore(&array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B, a duplicate of the MATSEQBAIJCUDA A without its values, gets those of the copy of A, where they are */
PetscErrorCode MatBAIJCUDACopyAhead_Private(Mat A, Mat B)
{
  const Mat_BAIJCUDA *a = MatBAIJCUDA_Private(A);
  Mat_BAIJCUDA       *b = MatBAIJCUDA_Private(B);

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAUpdatePattern_Private(B, PETSC_FALSE));
  if (a->nval)
    PetscCall((*a->k->copy)(&b->b, PETSC_TRUE, PETSC_TRUE, b->val, a->val, (size_t)a->nval * sizeof(PetscScalar)));
  PetscCall(MatBAIJCUDAAhead_Private(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
