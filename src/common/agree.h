/* SPDX-License-Identifier: BSD-2-Clause */
/* agree.h: decisions that all ranks of an object take together */
#pragma once

#include <petscsys.h>

/* Whether all ranks of the object say yes. Collective */
static inline PetscErrorCode SpikePetscObjectAgree(PetscObject object, PetscBool *yes)
{
  MPI_Comm    comm = PetscObjectComm(object);
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, yes, 1, MPI_C_BOOL, MPI_LAND, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
