/* SPDX-License-Identifier: BSD-2-Clause */
/* petsccheck.h: whether the library fits the PETSc that runs it */
#pragma once

#include <petscsys.h>

PETSC_INTERN PetscErrorCode SpikeCheckPetsc_Private(void);
