/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilmult.c: products of MATGRIDSTENCIL, and the stencil lent to the fused Krylov methods */
#include "gridstencilimpl.h"

/* The ends of y = A x + z by the points around the box that the DMDA brings */
static PetscErrorCode MatGridStencilEndsByDM_Private(Mat A, Vec x, const PetscScalar *z, PetscScalar *y)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  SpikeArray       g;

  PetscFunctionBegin;
  PetscCall(DMGlobalToLocalEnd(a->da, x, INSERT_VALUES, a->around));
  PetscCall(SpikeArrayGet(a->around, a->k->memtype, SPIKE_READ, &g));
  PetscCall(MatGridStencilBegin_Private(a));
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    SpikeStencilEnd(&a->s, b, begin, end);
    PetscCall((*a->k->mult)(&a->s, begin, end, g.a + a->gfirst * a->s.dof, a->gj, a->gk, z, y));
  }
  PetscCall(MatGridStencilEnd_Private(a, 0.0));
  PetscCall(SpikeArrayRestore(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z, z NULL for 0: points inside while those around the box come */
static PetscErrorCode MatGridStencilMult_Private(Mat A, Vec x, Vec z, Vec y)
{
  Mat_GridStencil   *a    = (Mat_GridStencil *)A->data;
  SpikeStencil      *S    = &a->s;
  const PetscBool    bydm = (PetscBool)(a->ghosts && a->usedm), byhalo = (PetscBool)(a->ghosts && !a->usedm);
  SpikeProductArrays v;

  PetscFunctionBegin;
  PetscCall(MatGridStencilReady_Private(A));
  PetscCall(MatGridStencilHaloCreate_Private(A));
  if (bydm && !a->around) PetscCall(MatGridStencilCreateLocalVec_Private(A, &a->around)); /* zeros where no point is */
  if (bydm) PetscCall(DMGlobalToLocalBegin(a->da, x, INSERT_VALUES, a->around));
  PetscCall(SpikeProductArraysGet(x, z, y, a->k->memtype, &v));
  PetscCall(MatGridStencilBegin_Private(a));
  if (byhalo) PetscCall(MatGridStencilHaloBegin_Private(A, v.x.a));
  PetscCall((*a->k->mult)(S, S->ibegin, S->iend, v.x.a, S->size[0], S->size[0] * S->size[1], v.z.a, v.y.a));
  PetscCall(MatGridStencilEnd_Private(a, 2.0 * S->count * S->dof * A->rmap->n));
  if (byhalo) {
    PetscCall(MatGridStencilHaloEnd_Private(A, v.x.a));
    PetscCall(MatGridStencilBegin_Private(a));
    PetscCall((*a->k->multends)(S, v.x.a, a->ghost, v.z.a, v.y.a));
    PetscCall(MatGridStencilEnd_Private(a, 0.0));
  }
  if (bydm) PetscCall(MatGridStencilEndsByDM_Private(A, x, v.z.a, v.y.a));
  PetscCall(SpikeProductArraysRestore(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y += A^T x, or A^H x: all of it goes into the box and the points around it, and those are added up where they belong
*/
static PetscErrorCode MatGridStencilMultTranspose_Private(Mat A, PetscBool conjugate, Vec x, Vec y)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  SpikeArray       xa, ba;

  PetscFunctionBegin;
  PetscCall(MatGridStencilReady_Private(A));
  if (!a->back) PetscCall(MatGridStencilCreateLocalVec_Private(A, &a->back));
  PetscCall(VecSet(a->back, 0.0));
  PetscCall(SpikeArrayGet(x, a->k->memtype, SPIKE_READ, &xa));
  PetscCall(SpikeArrayGet(a->back, a->k->memtype, SPIKE_READ_WRITE, &ba));
  PetscCall(MatGridStencilBegin_Private(a));
  PetscCall((*a->k->multtranspose)(&a->s, conjugate, xa.a, ba.a + a->gfirst * a->s.dof, a->gj, a->gk));
  PetscCall(MatGridStencilEnd_Private(a, 2.0 * a->s.count * a->s.dof * A->rmap->n));
  PetscCall(SpikeArrayRestore(&ba));
  PetscCall(SpikeArrayRestore(&xa));
  PetscCall(DMLocalToGlobalBegin(a->da, a->back, ADD_VALUES, y));
  PetscCall(DMLocalToGlobalEnd(a->da, a->back, ADD_VALUES, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_GridStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGridStencilMult_Private(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_GridStencil(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGridStencilMult_Private(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_GridStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.0));
  PetscCall(MatGridStencilMultTranspose_Private(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_GridStencil(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(z, y));
  PetscCall(MatGridStencilMultTranspose_Private(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTranspose_GridStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.0));
  PetscCall(MatGridStencilMultTranspose_Private(A, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGridStencilLoanBegin_Private(void *owner, void *stream, const PetscScalar *x,
                                                      const PetscScalar **ghost)
{
  Mat              A = (Mat)owner;
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  a->s.stream = stream;
  *ghost      = a->ghost;
  PetscCall(MatGridStencilHaloBegin_Private(A, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGridStencilLoanEnd_Private(void *owner, void *stream, const PetscScalar *x)
{
  PetscFunctionBegin;
  (void)stream; /* that of begin() */
  PetscCall(MatGridStencilHaloEnd_Private((Mat)owner, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The stencil itself, the same on all ranks, where the points around a box need no DMDA. What somebody else has put in
  the place of the product is not ours to go round
*/
PetscErrorCode PetscSpikeGetEnqueue_GridStencil(PetscObject obj, SpikeEnqueue *e)
{
  Mat              A = (Mat)obj;
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  PetscObjectState state;

  PetscFunctionBegin;
  if (!a->da || (a->ghosts && a->usedm) || !a->coef || !A->assembled || A->ops->mult != MatMult_GridStencil)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGridStencilReady_Private(A));
  PetscCall(MatGridStencilHaloCreate_Private(A));
  PetscCall(PetscObjectStateGet(obj, &state));
  e->memtype = a->k->memtype;
  e->n       = A->rmap->n;
  e->shape   = a->shape;
  e->values  = state;
  e->stencil = &a->s;
  if (a->ghosts) {
    e->product.owner = (void *)A;
    e->product.begin = MatGridStencilLoanBegin_Private;
    e->product.end   = MatGridStencilLoanEnd_Private;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
