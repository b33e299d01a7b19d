/* SPDX-License-Identifier: BSD-2-Clause */
/* array.c: arrays of vectors in the memory that kernels want */
#include "array.h"

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

    PetscCall(VecGetArray_Spike(v, access, &s->a, &is));
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
  else PetscCall(VecRestoreArray_Spike(s->v, s->access, &s->a));
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
