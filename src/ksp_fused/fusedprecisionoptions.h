/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedprecisionoptions.h: option, setter and getter, and view of products in a lower precision */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedPrecisionSetFromOptions(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPFusedPrecisionView(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPFusedPrecisionComposeMethods(KSP, PetscBool);
