/* SPDX-License-Identifier: BSD-2-Clause */
/* finish.h: the beginning and the end of what is timed, on several ranks and devices */
#pragma once

#include <petscdevice.h>
#include <petsctime.h>

/* What was enqueued has happened, on all ranks */
static inline PetscErrorCode Wait(MPI_Comm comm, PetscLogDouble *now)
{
  PetscDeviceContext dctx;

  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceContextSynchronize(dctx));
  }
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}
