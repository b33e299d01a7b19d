/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilbackend.c: the kernels of a MATGRIDSTENCIL and what they keep */
#include "gridstencilimpl.h"

PetscErrorCode MatGridStencilChanged_Private(Mat A)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  a->s.coef = a->coef;
  a->ready  = PETSC_FALSE;
  a->shape  = SpikeNewShape(1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other kernels, NULL for none: what was kept for those before is no more */
PetscErrorCode MatGridStencilUse_Private(Mat A, const SpikeStencilKernels *k)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (a->k == k) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->k) PetscCall(MatGridStencilHaloDestroy_Private(A));
  if (a->k && a->k->reset) PetscCall((*a->k->reset)(&a->s));
  PetscCall(VecDestroy(&a->around));
  PetscCall(VecDestroy(&a->back));
  a->k = k;
  PetscCall(MatGridStencilChanged_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBindToCPU_GridStencil(Mat A, PetscBool flg)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (a->native == &SpikeStencilKernels_Host) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeMatSetBoundToCPU(A, flg);
  PetscCall(MatGridStencilUse_Private(A, flg ? &SpikeStencilKernels_Host : a->native));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernels have the coefficients */
PetscErrorCode MatGridStencilReady_Private(Mat A)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (!a->ready && a->k->setup) PetscCall((*a->k->setup)(&a->s));
  a->ready = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of the rank's box and the points around it, where the kernels work */
PetscErrorCode MatGridStencilCreateLocalVec_Private(Mat A, Vec *v)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  PetscInt         size[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetGhostCorners(a->da, NULL, NULL, NULL, &size[0], &size[1], &size[2]));
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, size[0] * size[1] * size[2] * a->s.dof, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(*v, a->s.dof));
  PetscCall(VecSetType(*v, PetscMemTypeCUDA(a->k->memtype) ? VECCUDA : VECSTANDARD));
  PetscCall(VecSet(*v, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilBegin_Private(Mat_GridStencil *a)
{
  PetscFunctionBegin;
  if (a->k->begin) PetscCall((*a->k->begin)(&a->s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilEnd_Private(Mat_GridStencil *a, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (a->k->end) PetscCall((*a->k->end)(&a->s));
  if (PetscMemTypeHost(a->k->memtype)) PetscCall(PetscLogFlops(flops));
  else PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
