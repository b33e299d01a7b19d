/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudaproduct.c: products C = A B and A^T B of MATBAIJCUDA with dense matrices, all columns at once. For A^T B of
  MATMPIBAIJCUDA PETSc takes column after column by MatMultTranspose()
*/
#include "baijcudaimpl.h"

/* An array of a dense matrix in the memory of the kernels, by a copy where it is elsewhere */
typedef struct {
  Mat          M;
  SpikeAccess  access;
  PetscScalar *a, *theirs;
  PetscCount   bytes; /* of the copy, 0: none */
  PetscInt     ld;
} MatBAIJCUDADense;

static PetscErrorCode MatBAIJCUDADenseGet_Private(Mat A, Mat M, SpikeAccess access, MatBAIJCUDADense *d)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscMemType  there;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(d, sizeof(*d)));
  d->M      = M;
  d->access = access;
  PetscCall(MatDenseGetLDA(M, &d->ld));
  PetscCall(SpikeMatDenseGetArray(M, access, &d->theirs, &there));
  d->a = d->theirs;
  if (PetscMemTypeHost(there) == PetscMemTypeHost(c->k->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscMemTypeHost(there), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "The matrix works on the host and the dense matrix is on a device: use a MATDENSE");
  d->bytes = (PetscCount)d->ld * M->cmap->N * (PetscCount)sizeof(PetscScalar);
  PetscCall((*c->k->alloc)(&c->b, (size_t)d->bytes, (void **)&d->a));
  if (access == SPIKE_READ || d->ld != M->rmap->n) /* what is between columns comes back as it was */
    PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, d->a, d->theirs, (size_t)d->bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDADenseRestore_Private(Mat A, MatBAIJCUDADense *d)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (d->a != d->theirs) {
    if (d->access != SPIKE_READ)
      PetscCall((*c->k->copy)(&c->b, PETSC_FALSE, PETSC_TRUE, d->theirs, d->a, (size_t)d->bytes));
    else PetscCall((*c->k->synchronize)(&c->b));
    PetscCall((*c->k->release)(&c->b, (void **)&d->a));
  }
  PetscCall(SpikeMatDenseRestoreArray(d->M, d->access, &d->theirs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B on several ranks: the halo of all columns is one message for each pair of ranks */
static PetscErrorCode MatBAIJCUDAMultColumns_Private(Mat A, PetscInt m, const MatBAIJCUDADense *b,
                                                     const MatBAIJCUDADense *y)
{
  Mat_BAIJCUDA    *c   = MatBAIJCUDA_Private(A);
  const PetscCount ldy = PetscMax(1, y->ld);
  Mat              parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAUpdateParts_Private(A, PETSC_FALSE, parts));
  PetscCall(MatHaloListColumnsBegin_Private(&c->list, (PetscObject)A, m, b->ld, b->a));
  PetscCall(
    MatBAIJCUDARun_Private(parts[0], SPIKE_BLOCK_MULT, SPIKE_BLOCK_SET, m, b->a, PetscMax(1, b->ld), y->a, ldy));
  if (m) PetscCall(MatHaloListColumnsEnd_Private(&c->list));
  if (c->list.n)
    PetscCall(MatBAIJCUDARun_Private(parts[1], SPIKE_BLOCK_MULT, SPIKE_BLOCK_ADD, m, c->list.columns.ghost,
                                     (PetscCount)c->list.n * A->rmap->bs, y->a, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_BAIJCUDA_Dense(Mat C)
{
  Mat              A = C->product->A, B = C->product->B;
  Mat_BAIJCUDA    *c     = MatBAIJCUDA_Private(A);
  const PetscBool  trans = (PetscBool)(C->product->type == MATPRODUCT_AtB);
  MatBAIJCUDADense b, y;

  PetscFunctionBegin;
  if (!c->mpi) PetscCall(MatBAIJCUDAUpdate_Private(A, trans));
  else if (!c->list.planned) PetscCall(MatBAIJCUDAPlan_Private(A));
  PetscCall(MatBAIJCUDADenseGet_Private(A, B, SPIKE_READ, &b));
  PetscCall(MatBAIJCUDADenseGet_Private(A, C, SPIKE_WRITE, &y));
  if (c->mpi) PetscCall(MatBAIJCUDAMultColumns_Private(A, B->cmap->N, &b, &y));
  else
    PetscCall(MatBAIJCUDARun_Private(A, trans ? SPIKE_BLOCK_MULT_TRANSPOSE : SPIKE_BLOCK_MULT, SPIKE_BLOCK_SET,
                                     B->cmap->n, b.a, b.ld, y.a, y.ld));
  PetscCall(MatBAIJCUDADenseRestore_Private(A, &y));
  PetscCall(MatBAIJCUDADenseRestore_Private(A, &b));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C is dense, of the type of B where it has none */
static PetscErrorCode MatProductSymbolic_BAIJCUDA_Dense(Mat C)
{
  Mat       A = C->product->A, B = C->product->B;
  PetscInt  m, M;
  PetscBool dense;

  PetscFunctionBegin;
  m = C->product->type == MATPRODUCT_AtB ? A->cmap->n : A->rmap->n;
  M = C->product->type == MATPRODUCT_AtB ? A->cmap->N : A->rmap->N;
  PetscCall(MatSetSizes(C, m, B->cmap->n, M, B->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(C, A, B));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  C->ops->productnumeric = MatProductNumeric_BAIJCUDA_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_BAIJCUDA_Dense(Mat C)
{
  const MatProductType type = C->product->type;
  Mat                  A    = C->product->A;

  PetscFunctionBegin;
  if ((type == MATPRODUCT_AB || (type == MATPRODUCT_AtB && !MatBAIJCUDA_Private(A)->mpi)) &&
      MatBAIJCUDAHasKernels_Private(A))
    C->ops->productsymbolic = MatProductSymbolic_BAIJCUDA_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}
