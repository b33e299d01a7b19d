/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedoptions.h: options, setters and getters */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPSetFromOptions_Fused(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPFusedComposeMethods(KSP, PetscBool);
