/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhsoptions.h: options and view of solves for several right-hand sides */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedRhsSetFromOptions(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPFusedRhsView(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPFusedRhsComposeMethods(KSP, PetscBool);
