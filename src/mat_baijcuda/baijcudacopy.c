/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudacopy.c: the copy of the blocks of MATBAIJCUDA where a backend works. PETSc's blocks are column-major in the
  order of bj, as the kernels read them: values travel in one piece
*/
#include "baijcudaimpl.h"

/* What plans for these parts go by: the nonzero state is not enough, as preallocation leaves it as it was */
PetscErrorCode MatBAIJCUDAGetPattern_Private(const Mat parts[2], MatBAIJCUDAPattern *p)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  for (int k = 0; k < 2; k++) {
    if (!parts[k]) continue;
    PetscCall(PetscObjectGetId((PetscObject)parts[k], &p->id[k]));
    PetscCall(MatGetNonzeroState(parts[k], &p->state[k]));
    PetscCall(MatBAIJCUDAIs_Private(parts[k], &is));
    if (is) p->made[k] = MatBAIJCUDA_Private(parts[k])->made;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBAIJCUDAGetBackend_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (c->b.k) PetscFunctionReturn(PETSC_SUCCESS);
  c->b.k = c->k;
  PetscCall((*c->k->create)(&c->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBAIJCUDAReset_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  PetscCall(MatDestroy(&c->aij));
  if (c->b.k) {
    PetscCall((*c->k->matdestroy)(&c->b, &c->mat));
    PetscCall((*c->k->release)(&c->b, (void **)&c->val));
    PetscCall((*c->k->release)(&c->b, (void **)&c->joined));
    PetscCall((*c->k->release)(&c->b, (void **)&c->diagonal));
    PetscCall((*c->k->destroy)(&c->b));
  }
  PetscCall(PetscMemzero(&c->mat, sizeof(c->mat)));
  PetscCall(PetscMemzero(&c->b, sizeof(c->b)));
  c->nval = c->njoined = 0;
  c->diagonalshape     = 0;
  c->pattern = c->values = -1;
  c->trans = c->ahead = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's rows of blocks; nobody else reads them by that */
static PetscErrorCode MatBAIJCUDAGetRows_Private(Mat A, PetscInt *mb, const PetscInt **bi, const PetscInt **bj)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscBool     done;

  PetscFunctionBegin;
  PetscCall((*c->ops.getrowij)(A, 0, PETSC_FALSE, PETSC_TRUE, mb, bi, bj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What is ahead is lost with another pattern: callers have fetched it. With the same one it stays, without memory for
  what the transpose needs too
*/
static PetscErrorCode MatBAIJCUDASetPattern_Private(Mat A, PetscBool trans)
{
  Mat_BAIJCUDA   *c = MatBAIJCUDA_Private(A);
  const PetscInt *bi, *bj;
  const PetscInt  bs     = A->rmap->bs;
  const PetscBool values = (PetscBool)(c->pattern == A->nonzerostate); /* of the same pattern stay */
  PetscInt        mb;
  SpikeBlockMat   mat;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  PetscCall(MatBAIJCUDAGetRows_Private(A, &mb, &bi, &bj));
  PetscCall(PetscMemzero(&mat, sizeof(mat)));
  ierr = (*c->k->matcreate)(&c->b, bs, mb, A->cmap->n / bs, bi, bj, trans, &mat);
  if (ierr) PetscCall((*c->k->matdestroy)(&c->b, &mat));
  PetscCall(ierr);
  PetscCall((*c->k->matdestroy)(&c->b, &c->mat));
  c->mat     = mat;
  c->trans   = trans;
  c->pattern = -1;
  c->shape   = SpikeNewShape(1);
  if (!values || c->nval != (PetscCount)bi[mb] * bs * bs) {
    PetscCall((*c->k->release)(&c->b, (void **)&c->val));
    c->nval = 0;
    PetscCall((*c->k->alloc)(&c->b, (size_t)bi[mb] * bs * bs * sizeof(PetscScalar), (void **)&c->val));
    c->nval   = (PetscCount)bi[mb] * bs * bs;
    c->values = -1;
  }
  c->mat.a   = c->val;
  c->pattern = A->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSEQBAIJCUDA: the copy has the pattern of A, and memory for values; trans: for products with the transpose too */
PetscErrorCode MatBAIJCUDAUpdatePattern_Private(Mat A, PetscBool trans)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (!c->mat.data || c->pattern != A->nonzerostate || (trans && !c->trans))
    PetscCall(MatBAIJCUDASetPattern_Private(A, (PetscBool)(trans || c->trans)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* And the values */
PetscErrorCode MatBAIJCUDAUpdate_Private(Mat A, PetscBool trans)
{
  Mat_BAIJCUDA    *c = MatBAIJCUDA_Private(A);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAUpdatePattern_Private(A, trans));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (c->ahead || c->values == state) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->nval) {
    PetscScalar *a;

    PetscCall(MatSeqBAIJGetArray(A, &a));
    PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, c->val, a, (size_t)c->nval * sizeof(PetscScalar)));
  }
  c->values = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The nonzero state of a MATMPIBAIJ is the sum of those of its parts. Preallocation makes one part anew, which counts
  from 0: the sum may be what it was for another pattern, and preconditioners would keep theirs. So a new part counts
  on; anew: a part that is another one is new, and not one that PETSc has taken apart in an assembly, which counts on
  itself
*/
PetscErrorCode MatBAIJCUDAWatchParts_Private(Mat A, PetscBool anew)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  Mat           other;
  PetscObjectId id;

  PetscFunctionBegin;
  if (!A->preallocated) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeMatMPIBAIJGetSeqBAIJ(A, NULL, &other, NULL));
  if (!other) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)other, &id));
  if (anew && c->otherid && c->otherid != id) other->nonzerostate = PetscMax(other->nonzerostate, c->otherstate + 1);
  c->otherid    = id;
  c->otherstate = PetscMax(other->nonzerostate, c->otherstate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MATSEQBAIJCUDA: A. MATMPIBAIJCUDA: its diagonal part and the other one, both MATSEQBAIJCUDA, and bound to the CPU
  where A is; PETSc makes them anew as MATSEQBAIJ in preallocation and where the pattern grows, on some ranks perhaps
*/
PetscErrorCode MatBAIJCUDAGetParts_Private(Mat A, Mat parts[2], const PetscInt *garray[])
{
  PetscFunctionBegin;
  if (!MatBAIJCUDA_Private(A)->mpi) {
    parts[0] = A;
    parts[1] = NULL;
    if (garray) *garray = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeMatMPIBAIJGetSeqBAIJ(A, &parts[0], &parts[1], garray));
  for (int k = 0; k < 2; k++) {
    PetscBool is;

    if (!parts[k]) continue;
    PetscCall(MatBAIJCUDAIs_Private(parts[k], &is));
    if (!is) PetscCall(MatBAIJCUDAInstall_Private(parts[k], MATSEQBAIJCUDA));
    PetscCall(MatBAIJCUDABind_Private(parts[k], MatBAIJCUDA_Private(A)->bound));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Operations of MATMPIBAIJ write into the parts, and some say so in the state of A alone, more of them before PETSc
  3.26. The states of the parts follow, for the copies and for preconditioners that have a part
*/
PetscErrorCode MatBAIJCUDAGetChangedParts_Private(Mat A, Mat parts[2])
{
  Mat_BAIJCUDA    *c = MatBAIJCUDA_Private(A);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (c->values == state) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++)
    if (parts[k]) PetscCall(PetscObjectStateIncrease((PetscObject)parts[k]));
  c->values = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATMPIBAIJCUDA: the copies of both parts are up to date */
PetscErrorCode MatBAIJCUDAUpdateParts_Private(Mat A, PetscBool trans, Mat parts[2])
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAGetChangedParts_Private(A, parts));
  for (int k = 0; k < 2; k++) PetscCall(MatBAIJCUDAUpdate_Private(parts[k], trans));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's values become those of the copy, where that is ahead. Called before each operation of PETSc */
PetscErrorCode MatBAIJCUDAToHost_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (!c->ahead) PetscFunctionReturn(PETSC_SUCCESS);
  c->ahead = PETSC_FALSE;
  if (c->mpi) {
    Mat parts[2];

    PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
    for (int k = 0; k < 2; k++) PetscCall(MatBAIJCUDAToHost_Private(parts[k]));
  } else if (c->nval) {
    PetscScalar *a;

    PetscCall(MatSeqBAIJGetArray(A, &a));
    PetscCall((*c->k->copy)(&c->b, PETSC_FALSE, PETSC_TRUE, a, c->val, (size_t)c->nval * sizeof(PetscScalar)));
  }
  PetscCall(PetscObjectStateGet((PetscObject)A, &c->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of a matrix of any type are on the host */
PetscErrorCode MatBAIJCUDAFetch_Private(Mat A)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAIs_Private(A, &is));
  if (is) PetscCall(MatBAIJCUDAToHost_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values, and products, on the host; the parts of MATMPIBAIJCUDA follow, now or when they are there */
PetscErrorCode MatBAIJCUDABind_Private(Mat A, PetscBool bind)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (c->bound == bind) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBAIJCUDAToHost_Private(A));
  c->bound = bind;
  SpikeMatSetBoundToCPU(A, bind);
  if (c->mpi && A->assembled) {
    Mat parts[2];

    PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy of a MATSEQBAIJCUDA has got values that PETSc's blocks do not have */
PetscErrorCode MatBAIJCUDAAhead_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  c->ahead = PETSC_TRUE;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  if (c->read) PetscCall(MatBAIJCUDAToHost_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For matbaij.h: the copy where it is in memory of that type, else csr->ai is NULL */
PetscErrorCode MatSeqBAIJGetCSR_SeqBAIJCUDA(Mat A, PetscMemType memtype, SpikeBlockCSR *csr)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscBool     is;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAIs_Private(A, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  if (MatBAIJCUDAHasKernels_Private(A) && c->k->memtype == memtype) {
    PetscCall(MatBAIJCUDAUpdate_Private(A, PETSC_FALSE));
    PetscCall((*c->k->matpattern)(&c->mat, &csr->ai, &csr->aj));
    csr->bs = A->rmap->bs;
    csr->aa = c->val;
  } else if (PetscMemTypeHost(memtype)) {
    PetscScalar *a;
    PetscInt     mb;

    PetscCall(MatBAIJCUDAToHost_Private(A));
    PetscCall(MatBAIJCUDAGetRows_Private(A, &mb, &csr->ai, &csr->aj));
    PetscCall(MatSeqBAIJGetArray(A, &a));
    csr->bs = A->rmap->bs;
    csr->aa = a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
