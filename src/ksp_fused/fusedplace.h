/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedplace.h: vectors of a solve where the matrix makes its products */
#pragma once

#include "fused.h"

/* x and b of the caller, in whose place others are; NULL: they stay */
typedef struct {
  Vec x, b;
} KSPFusedPlace;

/* The second is called whatever has happened in between; failed: x keeps what it had */
PETSC_INTERN PetscErrorCode KSPFusedPlaceBegin(KSP, KSPFusedPlace *);
PETSC_INTERN PetscErrorCode KSPFusedPlaceEnd(KSP, PetscBool failed, KSPFusedPlace *);

/* Work vectors alone, and whether they are on the device then */
PETSC_INTERN PetscErrorCode KSPFusedPlaceWork(KSP, PetscBool *there);
