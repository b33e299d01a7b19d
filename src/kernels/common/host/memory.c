/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: memory of this machine */
#include "memory.h"
#include <stdio.h>
#include <unistd.h>

/*
  What Linux says that programs can still get: what is free, and what it keeps of files and can drop. Elsewhere all that
  the machine has.
*/
PetscErrorCode SpikeMemory_Host(PetscReal *bytes)
{
  FILE  *file;
  char   line[128];
  double kilobytes;

  PetscFunctionBegin;
  *bytes = (PetscReal)sysconf(_SC_PHYS_PAGES) * (PetscReal)sysconf(_SC_PAGESIZE);
  file   = fopen("/proc/meminfo", "r");
  if (!file) PetscFunctionReturn(PETSC_SUCCESS);
  while (fgets(line, sizeof(line), file))
    if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1) *bytes = (PetscReal)(1024.0 * kilobytes);
  (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}
