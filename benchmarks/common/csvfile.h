/* SPDX-License-Identifier: BSD-2-Clause */
/* csvfile.h: files of results, for all benchmarks */
#pragma once

#include <petscsys.h>
#include <stdio.h>

/* *csv <- a new file with the line `columns`; rank 0 alone writes. What a killed run had measured is there */
static inline PetscErrorCode BenchCSVOpen(const char name[], const char columns[], FILE **csv)
{
  PetscFunctionBeginUser;
  *csv = fopen(name, "w");
  PetscCheck(*csv, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", name);
  (void)setvbuf(*csv, NULL, _IOLBF, BUFSIZ);
  (void)fprintf(*csv, "%s\n", columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where there is one; a file that could not be written is an error */
static inline PetscErrorCode BenchCSVClose(const char name[], FILE **csv)
{
  PetscFunctionBeginUser;
  if (!*csv) PetscFunctionReturn(PETSC_SUCCESS);
  {
    const int bad = ferror(*csv), closed = fclose(*csv);

    *csv = NULL;
    PetscCheck(!bad && !closed, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
