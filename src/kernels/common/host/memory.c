/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: memory of this machine */
#include "memory.h"
#include <unistd.h>

PetscErrorCode SpikeMemory_Host(PetscReal *bytes)
{
  PetscFunctionBegin;
  *bytes = (PetscReal)sysconf(_SC_PHYS_PAGES) * (PetscReal)sysconf(_SC_PAGESIZE);
  PetscFunctionReturn(PETSC_SUCCESS);
}
