/* SPDX-License-Identifier: BSD-2-Clause */
/* array.c: arrays of vectors in the memory that kernels want, by a copy where they are elsewhere */
#include "array.h"
#include <petscdevice.h>

static PetscErrorCode SpikeArrayGetHost_Private(Vec v, SpikeAccess access, PetscScalar **a)
{
  PetscFunctionBegin;
  if (access == SPIKE_READ) PetscCall(VecGetArrayRead(v, (const PetscScalar **)a));
  else if (access == SPIKE_WRITE) PetscCall(VecGetArrayWrite(v, a));
  else PetscCall(VecGetArray(v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeArrayRestoreHost_Private(Vec v, SpikeAccess access, PetscScalar **a)
{
  PetscFunctionBegin;
  if (access == SPIKE_READ) PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)a));
  else if (access == SPIKE_WRITE) PetscCall(VecRestoreArrayWrite(v, a));
  else PetscCall(VecRestoreArray(v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_CUDA)
/* A vector of the device around the host array of v: its first access copies, and logs it */
static PetscErrorCode SpikeArrayOpenWrapper_Private(SpikeArray *s)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(PetscInfo(s->v, "The vector is on the host and the matrix on the device: copied in each use\n"));
  PetscCall(VecGetLocalSize(s->v, &n));
  PetscCall(SpikeArrayGetHost_Private(s->v, s->access, &s->host));
  PetscCall(VecCreateSeqCUDAWithArrays(PETSC_COMM_SELF, 1, n, s->host, NULL, &s->wrapper));
  if (s->access == SPIKE_READ) PetscCall(VecCUDAGetArrayRead(s->wrapper, (const PetscScalar **)&s->a));
  else if (s->access == SPIKE_WRITE) PetscCall(VecCUDAGetArrayWrite(s->wrapper, &s->a));
  else PetscCall(VecCUDAGetArray(s->wrapper, &s->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reading the wrapper on the host brings what was written; kernels end before their memory is released */
static PetscErrorCode SpikeArrayCloseWrapper_Private(SpikeArray *s)
{
  PetscDeviceContext context;
  const PetscScalar *back;
  PetscInt           n;

  PetscFunctionBegin;
  if (s->access == SPIKE_READ) PetscCall(VecCUDARestoreArrayRead(s->wrapper, (const PetscScalar **)&s->a));
  else {
    if (s->access == SPIKE_WRITE) PetscCall(VecCUDARestoreArrayWrite(s->wrapper, &s->a));
    else PetscCall(VecCUDARestoreArray(s->wrapper, &s->a));
    PetscCall(VecGetLocalSize(s->wrapper, &n));
    PetscCall(VecGetArrayRead(s->wrapper, &back));
    if (back != s->host) PetscCall(PetscArraycpy(s->host, back, n));
    PetscCall(VecRestoreArrayRead(s->wrapper, &back));
  }
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextSynchronize(context));
  PetscCall(VecDestroy(&s->wrapper));
  PetscCall(SpikeArrayRestoreHost_Private(s->v, s->access, &s->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode SpikeArrayGet(Vec v, PetscMemType memtype, SpikeAccess access, SpikeArray *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->v       = v;
  s->access  = access;
  s->memtype = memtype;
  if (PetscMemTypeHost(memtype)) PetscCall(SpikeArrayGetHost_Private(v, access, &s->a));
  else {
#if PetscDefined(HAVE_CUDA)
    PetscMemType is;

    PetscCall(SpikeVecGetArray(v, access, &s->a, &is));
    if (PetscMemTypeHost(is)) {
      PetscCall(SpikeVecRestoreArray(v, access, &s->a));
      PetscCall(SpikeArrayOpenWrapper_Private(s));
    }
#else
    SETERRQ(PetscObjectComm((PetscObject)v), PETSC_ERR_SUP_SYS, "This library has no device backend");
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeArrayRestore(SpikeArray *s)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(s->memtype)) PetscCall(SpikeArrayRestoreHost_Private(s->v, s->access, &s->a));
#if PetscDefined(HAVE_CUDA)
  else if (s->wrapper) PetscCall(SpikeArrayCloseWrapper_Private(s));
#endif
  else PetscCall(SpikeVecRestoreArray(s->v, s->access, &s->a));
  s->a = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeProductArraysGet(Vec x, Vec z, Vec y, PetscMemType memtype, SpikeProductArrays *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(SpikeArrayGet(x, memtype, SPIKE_READ, &s->x));
  if (z && z != y) PetscCall(SpikeArrayGet(z, memtype, SPIKE_READ, &s->z));
  PetscCall(SpikeArrayGet(y, memtype, z == y ? SPIKE_READ_WRITE : SPIKE_WRITE, &s->y));
  if (z == y) s->z.a = s->y.a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeProductArraysRestore(SpikeProductArrays *s)
{
  PetscFunctionBegin;
  PetscCall(SpikeArrayRestore(&s->y));
  if (s->z.v) PetscCall(SpikeArrayRestore(&s->z));
  PetscCall(SpikeArrayRestore(&s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
