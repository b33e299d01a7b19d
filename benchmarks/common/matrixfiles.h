/* SPDX-License-Identifier: BSD-2-Clause */
/* matrixfiles.h: for benchmarks: every square matrix of a folder of Matrix Market files */
#pragma once

#include "../../tutorials/mmio.h"
#include <dirent.h>

#define MAXMATRIXFILES 1024

static int CompareNames(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
  Calls each(name, A, ctx) by the order of the names, without ".mtx"; files that are no such matrices (right-hand sides,
  complex ones in a real build) are named, in a column of so many characters
*/
static inline PetscErrorCode ForEachMatrix(const char dir[], int                                    width,
                                           PetscErrorCode (*each)(const char[], Mat, void *), void *ctx)
{
  DIR           *folder = opendir(dir);
  struct dirent *entry;
  char          *names[MAXMATRIXFILES], file[2 * PETSC_MAX_PATH_LEN], *dot;
  PetscInt       n = 0;

  PetscFunctionBeginUser;
  PetscCheck(folder, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot open folder %s", dir);
  while (n < MAXMATRIXFILES && (entry = readdir(folder))) {
    PetscBool mtx;

    PetscCall(PetscStrendswith(entry->d_name, ".mtx", &mtx));
    if (mtx) PetscCall(PetscStrallocpy(entry->d_name, &names[n++]));
  }
  (void)closedir(folder);
  qsort(names, (size_t)n, sizeof(names[0]), CompareNames);
  for (PetscInt k = 0; k < n; k++) {
    PetscErrorCode ierr;
    PetscInt       rows = 0, columns = -1;
    Mat            A = NULL;

    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s", dir, names[k]));
    PetscCall(PetscStrrchr(names[k], '.', &dot));
    dot[-1] = 0;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatLoadFile(PETSC_COMM_SELF, file, &A);
    PetscCall(PetscPopErrorHandler());
    if (!ierr) PetscCall(MatGetSize(A, &rows, &columns));
    if (!ierr && rows == columns) PetscCall((*each)(names[k], A, ctx));
    else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-*s no square matrix of numbers of this build\n", width, names[k]));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(names[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
