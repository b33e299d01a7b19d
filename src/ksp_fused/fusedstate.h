/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedstate.h: the state of a solver in a backend, the products of A, and arrays of vectors */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedSetForm(KSP);
PETSC_INTERN PetscErrorCode KSPFusedPost(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedGetArray(KSP, Vec, PetscBool read, PetscBool written, PetscScalar **);
PETSC_INTERN PetscErrorCode KSPFusedRestoreArray(KSP, Vec, PetscBool read, PetscBool written, PetscScalar **);
PETSC_INTERN PetscErrorCode KSPFusedDestroyGraphs(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedDestroyState(KSPFused *);
