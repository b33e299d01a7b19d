/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c: memory of this machine */
#include "memory.h"
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>

#define SPIKE_LARGE_PAGE ((size_t)1 << 21) /* on most processors; less than two of them gain nothing */

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

void SpikeLargePages_Host(void *memory, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = ((size_t)memory + page - 1) / page * page,
               end = ((size_t)memory + bytes) / page * page;

  if (memory && bytes >= 2 * SPIKE_LARGE_PAGE) (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* if it can */
#else
  (void)memory;
  (void)bytes;
#endif
}
