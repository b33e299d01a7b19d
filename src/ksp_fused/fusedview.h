/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedview.h: what -ksp_view prints of a fused method */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPView_Fused(KSP, PetscViewer);
