/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedsolve.h: the loop for one right-hand side */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedSolve(KSP, PetscReal *unit);
