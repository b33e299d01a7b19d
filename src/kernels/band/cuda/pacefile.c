/* SPDX-License-Identifier: BSD-2-Clause */
/* pacefile.c: the pace of a device, kept from one process to the next; host C, without CUDA */
#include "partitions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
  $SPIKE_CACHE, or petscspike in $XDG_CACHE_HOME or in ~/.cache; an empty SPIKE_CACHE: no files. *path is empty where
  there is no such folder and none can be made
*/
static PetscErrorCode SpikePacePath_Private(const char name[], char path[], size_t length)
{
  const char *folder = getenv("SPIKE_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  size_t      n;

  PetscFunctionBegin;
  path[0] = 0;
  if (folder) PetscCall(PetscStrncpy(path, folder, length));
  else if (cache && cache[0]) PetscCall(PetscSNPrintf(path, length, "%s/petscspike", cache));
  else if (home && home[0]) PetscCall(PetscSNPrintf(path, length, "%s/.cache/petscspike", home));
  if (!path[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (mkdir(path, 0777) && errno != EEXIST) {
    path[0] = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrlcat(path, "/pace-", length));
  PetscCall(PetscStrlen(path, &n));
  for (; *name && n + 1 < length; name++)
    path[n++] = strchr("/ \t()[]", *name) ? '_' : *name; /* names of devices have spaces */
  path[n] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePaceRead(const char name[], SpikePace *pace, PetscBool *known)
{
  char   path[PETSC_MAX_PATH_LEN];
  double v[3];
  FILE  *file;

  PetscFunctionBegin;
  *known = PETSC_FALSE;
  PetscCall(SpikePacePath_Private(name, path, sizeof(path)));
  if (!path[0] || !(file = fopen(path, "r"))) PetscFunctionReturn(PETSC_SUCCESS);
  if (fscanf(file, "launch %lf memory %lf step %lf", &v[0], &v[1], &v[2]) == 3) {
    *known = PETSC_TRUE;
    for (int k = 0; k < 3; k++)
      if (!(v[k] > 1e-3 && v[k] < 1e3)) *known = PETSC_FALSE; /* no pace of a device */
  }
  (void)fclose(file);
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  pace->launch = (PetscReal)v[0];
  pace->memory = (PetscReal)v[1];
  pace->step   = (PetscReal)v[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whole or not at all: other processes may read and write at the same time */
PetscErrorCode SpikePaceWrite(const char name[], const SpikePace *pace)
{
  char  path[PETSC_MAX_PATH_LEN], part[PETSC_MAX_PATH_LEN];
  FILE *file;
  int   printed;

  PetscFunctionBegin;
  PetscCall(SpikePacePath_Private(name, path, sizeof(path)));
  if (!path[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(part, sizeof(part), "%s.%ld", path, (long)getpid()));
  if (!(file = fopen(part, "w"))) PetscFunctionReturn(PETSC_SUCCESS);
  printed = fprintf(file, "launch %.4f memory %.4f step %.4f\n", (double)pace->launch, (double)pace->memory,
                    (double)pace->step);
  if (fclose(file) || printed < 0 || rename(part, path)) (void)remove(part);
  PetscFunctionReturn(PETSC_SUCCESS);
}
