/* SPDX-License-Identifier: BSD-2-Clause */
/* ordered.c: a context whose stream is ordered with that of PETSc's operations */
#include "ordered.h"

/* vectype: of the vectors of the work */
static PetscErrorCode SpikeOrderedBegin_Private(VecType vectype, SpikeOrdered *o)
{
  PetscStreamType type;

  PetscFunctionBegin;
  o->before = o->meanwhile = NULL;
  if (!vectype || !strstr(vectype, VECCUDA)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDeviceContextGetCurrentContext(&o->before));
  PetscCall(PetscDeviceContextGetStreamType(o->before, &type));
  if (type != PETSC_STREAM_NONBLOCKING && type != PETSC_STREAM_NONBLOCKING_WITH_BARRIER) {
    o->before = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscDeviceContextDuplicate(o->before, &o->meanwhile)); /* on the same device */
  PetscCall(PetscDeviceContextSetStreamType(o->meanwhile, PETSC_STREAM_DEFAULT));
  PetscCall(PetscDeviceContextSetUp(o->meanwhile));
  PetscCall(PetscDeviceContextSynchronize(o->before));
  PetscCall(PetscDeviceContextSetCurrentContext(o->meanwhile));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeOrderedBegin(Vec v, SpikeOrdered *o)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(VecGetType(v, &type));
  PetscCall(SpikeOrderedBegin_Private(type, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeOrderedBeginMat(Mat A, SpikeOrdered *o)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(SpikeOrderedBegin_Private(type, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeOrderedEnd(SpikeOrdered *o)
{
  PetscFunctionBegin;
  if (!o->before) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDeviceContextSynchronize(o->meanwhile));
  PetscCall(PetscDeviceContextSetCurrentContext(o->before));
  PetscCall(PetscDeviceContextDestroy(&o->meanwhile));
  o->before = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
