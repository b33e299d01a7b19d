/* SPDX-License-Identifier: BSD-2-Clause */
/* once.h: setup and apply of one right-hand side at once, without factors, on CUDA */
#pragma once

#include "kernels/tridiagonal/tridiagonal.h"

/* What OnceCreate() adds to the systems of a SpikeTridiagonal of CUDA, which it borrows */
typedef struct {
  SpikeTridiagonal *t;
  void             *ends;
} Once;

PETSC_INTERN PetscErrorCode OnceCreate(SpikeTridiagonal *t, Once *o);
PETSC_INTERN PetscErrorCode OnceDestroy(Once *o);

/*
  x <- A^-1 b. Reads dl, d, du and b once, writes x once, where systems fit in fast memory. x may be b. Its pieces may
  differ from those of setup(): a pivot that is bad here may not occur there. report() of *t says which was. No
  allocation, no wait.
*/
PETSC_INTERN PetscErrorCode OnceSolve(Once *o, const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du,
                                      SpikePivot *pivot, const PetscScalar *b, PetscScalar *x);
