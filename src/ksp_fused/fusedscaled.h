/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedscaled.h: KSPSolve() */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPSolve_Fused(KSP);
