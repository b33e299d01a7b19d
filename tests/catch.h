/* SPDX-License-Identifier: BSD-2-Clause */
/* catch.h: an error handler that keeps the first error of a call, in place of a message; `caught` is set to 0 before */
#pragma once

#include <petscsys.h>
#include <stdio.h>

static struct {
  PetscInt       count;
  PetscErrorCode code;
  char           text[2048];
} caught;

static inline PetscErrorCode CatchAt(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode n,
                                     PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm;
  (void)line;
  (void)func;
  (void)file;
  (void)ctx;
  if (p == PETSC_ERROR_INITIAL && !caught.count++) {
    caught.code = n;
    snprintf(caught.text, sizeof(caught.text), "%s", mess ? mess : "");
  }
  return n;
}
