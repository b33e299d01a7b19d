/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudamult.c: products of MATBAIJCUDA with vectors. With A = [D O], the columns of this rank and those of others:

    y = A x      what others need is sent; y = D x; what we need has come; y += O ghost
    y = A^T x    O^T x is sent to the owners of its rows; y = D^T x; what others add to ours has come
*/
#include "baijcudaimpl.h"

/*
  Collective: block columns of other ranks that the rows reach; nothing happens where no rank reaches other ones than in
  the plan that there is
*/
PetscErrorCode MatBAIJCUDAPlan_Private(Mat A)
{
  Mat_BAIJCUDA   *c = MatBAIJCUDA_Private(A);
  const PetscInt *garray;
  Mat             parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  PetscCall(MatHaloListPlan_Private(&c->list, &c->b, (PetscObject)A, A->cmap, A->rmap->bs,
                                    parts[1] ? parts[1]->cmap->n / A->rmap->bs : 0, garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y [op] A X, or A^T X, A^H X, of a MATSEQBAIJCUDA whose copy is up to date; columns in groups */
PetscErrorCode MatBAIJCUDARun_Private(Mat A, SpikeBlockOp op, SpikeBlockMode mode, PetscInt m, const PetscScalar *X,
                                      PetscCount ldx, PetscScalar *Y, PetscCount ldy)
{
  Mat_BAIJCUDA             *c         = MatBAIJCUDA_Private(A);
  const PetscSpikePrecision precision = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                      : PETSC_SPIKE_PRECISION_DOUBLE;
  SpikeBlockTask            task;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&task, sizeof(task)));
  task.op   = op;
  task.mode = mode;
  task.n    = op == SPIKE_BLOCK_MULT ? A->rmap->n : A->cmap->n;
  task.A    = &c->mat;
  task.ldx  = ldx;
  task.ldy  = ldy;
  for (PetscInt j = 0; j < m; j += SPIKE_BLOCK_MAXM) {
    task.m = PetscMin(SPIKE_BLOCK_MAXM, m - j);
    task.X = X + j * ldx;
    task.Y = Y + j * ldy;
    PetscCall((*c->k->run)(&c->b, precision, 1, &task));
  }
  if (!PetscMemTypeHost(c->k->memtype)) PetscCall(PetscLogGpuFlops(2.0 * c->nval * m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDARunVector_Private(Mat A, SpikeBlockOp op, PetscBool add, const PetscScalar *x,
                                                   PetscScalar *y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDARun_Private(A, op, add ? SPIKE_BLOCK_ADD : SPIKE_BLOCK_SET, 1, x, PetscMax(1, A->cmap->n), y,
                                   PetscMax(1, A->rmap->n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z, or with op the transpose, z NULL for 0, y for y */
static PetscErrorCode MatBAIJCUDAMult_Private(Mat A, SpikeBlockOp op, Vec x, Vec z, Vec y)
{
  Mat_BAIJCUDA      *c     = MatBAIJCUDA_Private(A);
  const PetscBool    trans = (PetscBool)(op != SPIKE_BLOCK_MULT), add = (PetscBool)(z != NULL);
  Mat                parts[2] = {A, NULL};
  SpikeProductArrays v;

  PetscFunctionBegin;
  if (c->mpi) {
    if (!c->list.planned) PetscCall(MatBAIJCUDAPlan_Private(A));
    PetscCall(MatBAIJCUDAUpdateParts_Private(A, trans, parts));
  } else PetscCall(MatBAIJCUDAUpdate_Private(A, trans));
  if (z && z != y) PetscCall(VecCopy(z, y));
  PetscCall(SpikeProductArraysGet(x, z ? y : NULL, y, c->k->memtype, &v));
  if (!PetscMemTypeHost(c->k->memtype)) PetscCall(PetscLogGpuTimeBegin());
  if (!trans) {
    if (c->mpi) PetscCall(MatHaloListBegin_Private(&c->list, v.x.a));
    PetscCall(MatBAIJCUDARunVector_Private(parts[0], op, add, v.x.a, v.y.a));
    if (c->mpi) PetscCall(MatHaloListEnd_Private(&c->list));
    if (c->list.n) PetscCall(MatBAIJCUDARunVector_Private(parts[1], op, PETSC_TRUE, c->list.halo.ghost, v.y.a));
  } else {
    if (c->list.n) PetscCall(MatBAIJCUDARunVector_Private(parts[1], op, PETSC_FALSE, v.x.a, c->list.halo.ghost));
    if (c->mpi) PetscCall(MatHaloListReverseBegin_Private(&c->list));
    PetscCall(MatBAIJCUDARunVector_Private(parts[0], op, add, v.x.a, v.y.a));
    if (c->mpi) PetscCall(MatHaloListReverseEnd_Private(&c->list, v.y.a));
  }
  if (!PetscMemTypeHost(c->k->memtype)) PetscCall(PetscLogGpuTimeEnd());
  PetscCall(SpikeProductArraysRestore(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's product where there are no kernels */
static PetscErrorCode MatBAIJCUDAFallBack_Private(Mat A)
{
  Mat parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAToHost_Private(A));
  if (MatBAIJCUDA_Private(A)->mpi) PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL)); /* their products too */
  if (A->rmap->bs > SPIKE_BLOCK_MAXBS)
    PetscCall(
      PetscInfo(A, "Blocks of %" PetscInt_FMT " rows: the product is that of MATBAIJ on the host\n", A->rmap->bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  That of MATBAIJ may leave rows without blocks as they are, in an array on the host that it asks for without values:
  zeros on a device would be lost
*/
static PetscErrorCode MatBAIJCUDAZero_Private(Vec y)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayWrite(y, &a));
  PetscCall(PetscArrayzero(a, n));
  PetscCall(VecRestoreArrayWrite(y, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^H x + z = conj(A^T conj(x)) + z, z NULL for 0: MATMPIBAIJ has no such product of its own */
static PetscErrorCode MatBAIJCUDAHermitian_Private(Mat A, Vec x, Vec z, Vec y)
{
  Vec w, t;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecDuplicate(y, &t));
  PetscCall(VecCopy(x, w));
  PetscCall(VecConjugate(w));
  PetscCall((*MatBAIJCUDA_Private(A)->ops.multtranspose)(A, w, t));
  PetscCall(VecConjugate(t));
  if (z && z != y) PetscCall(VecWAXPY(y, 1.0, z, t));
  else if (z) PetscCall(VecAXPY(y, 1.0, t));
  else PetscCall(VecCopy(t, y));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z, z NULL for 0: by the kernels, or by PETSc's operation where there are none */
static PetscErrorCode MatBAIJCUDAProduct_Private(Mat A, SpikeBlockOp op, Vec x, Vec z, Vec y)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (MatBAIJCUDAHasKernels_Private(A)) {
    PetscCall(MatBAIJCUDAMult_Private(A, op, x, z, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDAFallBack_Private(A));
  if (op == SPIKE_BLOCK_MULT_HERMITIAN) PetscCall(MatBAIJCUDAHermitian_Private(A, x, z, y));
  else if (op == SPIKE_BLOCK_MULT_TRANSPOSE) {
    if (z) PetscCall((*c->ops.multtransposeadd)(A, x, z, y));
    else PetscCall((*c->ops.multtranspose)(A, x, y));
  } else if (z) PetscCall((*c->ops.multadd)(A, x, z, y));
  else {
    PetscCall(MatBAIJCUDAZero_Private(y));
    PetscCall((*c->ops.mult)(A, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_BAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAProduct_Private(A, SPIKE_BLOCK_MULT, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_BAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAProduct_Private(A, SPIKE_BLOCK_MULT, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_BAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAProduct_Private(A, SPIKE_BLOCK_MULT_TRANSPOSE, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_BAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAProduct_Private(A, SPIKE_BLOCK_MULT_TRANSPOSE, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTranspose_BAIJCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAProduct_Private(A, SPIKE_BLOCK_MULT_HERMITIAN, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTransposeAdd_BAIJCUDA(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAProduct_Private(A, SPIKE_BLOCK_MULT_HERMITIAN, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A x, or A^T x, on a stream */
static PetscErrorCode MatBAIJCUDAEnqueue_Private(PetscObject obj, PetscBool trans, void *stream, const PetscScalar *x,
                                                 PetscScalar *y)
{
  Mat           A = (Mat)obj;
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (trans) PetscCall(MatBAIJCUDAUpdatePattern_Private(A, PETSC_TRUE));
  c->b.stream = stream;
  PetscCall(MatBAIJCUDARunVector_Private(A, trans ? SPIKE_BLOCK_MULT_TRANSPOSE : SPIKE_BLOCK_MULT, PETSC_FALSE, x, y));
  c->b.stream = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDALoanBegin_Private(void *owner, void *stream, const PetscScalar *x,
                                                   const PetscScalar **ghost)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private((Mat)owner);

  PetscFunctionBegin;
  (void)stream; /* the current one */
  PetscCall(MatHaloListBegin_Private(&c->list, x));
  *ghost = c->list.halo.ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDALoanEnd_Private(void *owner, void *stream, const PetscScalar *x)
{
  PetscFunctionBegin;
  (void)stream;
  (void)x;
  PetscCall(MatHaloListEnd_Private(&MatBAIJCUDA_Private((Mat)owner)->list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of this rank, up to date, and their halo. Collective */
static PetscErrorCode MatBAIJCUDALend_Private(Mat A, SpikeEnqueue *e)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A), *d;
  Mat           parts[2];

  PetscFunctionBegin;
  if (!c->list.planned) PetscCall(MatBAIJCUDAPlan_Private(A));
  PetscCall(MatBAIJCUDAUpdateParts_Private(A, PETSC_FALSE, parts));
  for (int k = 0; k < 2; k++) {
    d = MatBAIJCUDA_Private(parts[k]);
    if (d->shape != c->partshape[k]) c->shape = SpikeNewShape(1);
    c->partshape[k] = d->shape;
    e->product.nz += d->nval;
    if (k == 0) e->product.block = &d->mat;
    else if (c->list.halo.active) e->product.off = &d->mat;
  }
  if (c->list.halo.active) {
    e->product.owner = (void *)A;
    e->product.begin = MatBAIJCUDALoanBegin_Private;
    e->product.end   = MatBAIJCUDALoanEnd_Private;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Square matrices, the same on all ranks. What somebody else has put in the place of the product is not ours to go round
*/
PetscErrorCode PetscSpikeGetEnqueue_BAIJCUDA(PetscObject obj, SpikeEnqueue *e)
{
  Mat           A = (Mat)obj;
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscBool     is, square;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAIs_Private(A, &is));
  if (!is || !A->assembled || !MatBAIJCUDAHasKernels_Private(A) || A->ops->mult != MatMult_BAIJCUDA)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLayoutCompare(A->rmap, A->cmap, &square));
  if (!square) PetscFunctionReturn(PETSC_SUCCESS);
  e->memtype = c->k->memtype;
  e->n       = A->rmap->n;
  if (c->mpi) PetscCall(MatBAIJCUDALend_Private(A, e));
  else {
    PetscCall(MatBAIJCUDAUpdate_Private(A, PETSC_FALSE));
    e->product.block = &c->mat;
    e->product.nz    = c->nval;
    e->run           = MatBAIJCUDAEnqueue_Private;
    e->capturable    = PETSC_TRUE;
  }
  e->shape = c->shape;
  PetscCall(PetscObjectStateGet(obj, &e->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
