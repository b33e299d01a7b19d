/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diamult.c: products of MATDIA, which it lends to the fused Krylov methods too

    y = A x      what others need is sent; interior rows; what we need has come; the rows at both ends
    y = A^T x    what our rows add to columns of others is computed and sent; own columns; what others add to ours has
                 come
*/
#include "diaimpl.h"

/* y = A x + z, z NULL for 0 */
static PetscErrorCode MatDIAMult_Private(Mat A, Vec x, Vec z, Vec y)
{
  Mat_DIA           *a   = (Mat_DIA *)A->data;
  SpikeDIA          *dia = &a->dia;
  SpikeProductArrays v;

  PetscFunctionBegin;
  PetscCall(SpikeProductArraysGet(x, z, y, MatDIAMemType_Private(A), &v));
  PetscCall(MatDIAHaloBegin_Private(A, v.x.a));
  PetscCall((*dia->k->mult)(dia, dia->ibegin, dia->iend, v.x.a, NULL, v.z.a, v.y.a));
  PetscCall(MatDIAHaloEnd_Private(A));
  PetscCall((*dia->k->mult)(dia, 0, dia->ibegin, v.x.a, a->halo.ghost, v.z.a, v.y.a));
  PetscCall((*dia->k->mult)(dia, dia->iend, dia->n, v.x.a, a->halo.ghost, v.z.a, v.y.a));
  PetscCall(SpikeProductArraysRestore(&v));
  PetscCall(MatDIALogFlops_Private(A, 2.0 * a->nz - (z ? 0.0 : (PetscLogDouble)a->nonempty)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x + z, or A^H x + z */
static PetscErrorCode MatDIAMultTranspose_Private(Mat A, PetscBool conjugate, Vec x, Vec z, Vec y)
{
  Mat_DIA           *a   = (Mat_DIA *)A->data;
  SpikeDIA          *dia = &a->dia;
  SpikeProductArrays v;

  PetscFunctionBegin;
  PetscCall(SpikeProductArraysGet(x, z, y, MatDIAMemType_Private(A), &v));
  PetscCall((*dia->k->multtransposeghost)(dia, conjugate, v.x.a, a->halo.ghost));
  PetscCall(MatDIAHaloReverseBegin_Private(A));
  PetscCall((*dia->k->multtranspose)(dia, conjugate, v.x.a, v.z.a, v.y.a));
  PetscCall(MatDIAHaloReverseEnd_Private(A, v.y.a));
  PetscCall(SpikeProductArraysRestore(&v));
  PetscCall(MatDIALogFlops_Private(A, 2.0 * a->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_DIA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatDIAMult_Private(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_DIA(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatDIAMult_Private(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_DIA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatDIAMultTranspose_Private(A, PETSC_FALSE, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_DIA(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatDIAMultTranspose_Private(A, PETSC_FALSE, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTranspose_DIA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatDIAMultTranspose_Private(A, PETSC_TRUE, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTransposeAdd_DIA(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatDIAMultTranspose_Private(A, PETSC_TRUE, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIALoanBegin_Private(void *owner, void *stream, const PetscScalar *x,
                                              const PetscScalar **ghost)
{
  Mat A = (Mat)owner;

  PetscFunctionBegin;
  (void)stream; /* the current one */
  PetscCall(MatDIAHaloBegin_Private(A, x));
  *ghost = ((Mat_DIA *)A->data)->halo.ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIALoanEnd_Private(void *owner, void *stream, const PetscScalar *x)
{
  PetscFunctionBegin;
  (void)stream;
  (void)x;
  PetscCall(MatDIAHaloEnd_Private((Mat)owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Square matrices; the same on all ranks. What somebody else has put in the place of the product is not ours to go round
*/
PetscErrorCode PetscSpikeGetEnqueue_DIA(PetscObject obj, SpikeEnqueue *e)
{
  Mat              A = (Mat)obj;
  Mat_DIA         *a = (Mat_DIA *)A->data;
  PetscObjectState state;

  PetscFunctionBegin;
  if (!a->built || !A->assembled || A->rmap->N != A->cmap->N || A->ops->mult != MatMult_DIA)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet(obj, &state));
  e->memtype     = a->dia.k->memtype;
  e->n           = a->dia.n;
  e->shape       = a->shape;
  e->values      = state;
  e->product.dia = &a->dia;
  e->product.nz  = a->nz;
  if (a->halo.active) {
    e->product.owner = (void *)A;
    e->product.begin = MatDIALoanBegin_Private;
    e->product.end   = MatDIALoanEnd_Private;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
