/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedmatsolve.h: KSPMatSolve() */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPMatSolve_Fused(KSP, Mat, Mat);
