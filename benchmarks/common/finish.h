/* SPDX-License-Identifier: BSD-2-Clause */
/* finish.h: the end of what is timed on several ranks and devices */
#pragma once

#include <petsc/private/petscimpl.h>
#include <petscvec.h>

/*
  Until all ranks and their devices have nothing left to do: a norm of a short vector, whose cached value does not
  count, is waited for
*/
static inline PetscErrorCode BenchFinish(Vec tick)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)tick));
  PetscCall(VecNorm(tick, NORM_2, &norm));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}
