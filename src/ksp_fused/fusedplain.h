/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedplain.h: vectors without arrays, by PETSc's methods */
#pragma once

#include "fused.h"
#include <petsc/private/vecimpl.h>

PETSC_INTERN PetscErrorCode KSPFusedSolvePlain(KSP);
