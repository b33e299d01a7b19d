/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedmethod.h: what the file of a method includes */
#pragma once

#include "fusedbasis.h"
#include "fusedoptions.h"
#include "fusedsolve.h"
#include "fusedtall.h"
#include "fusedtruth.h"
#include "fusedview.h"

PETSC_INTERN PetscErrorCode KSPCreate_Fused(KSP, const KSPFusedMethod *);
PETSC_INTERN PetscErrorCode KSPReset_Fused(KSP);
PETSC_INTERN PetscErrorCode KSPFusedSetWorkVecs(KSP, PetscInt);
PETSC_INTERN PetscErrorCode KSPDestroy_Fused(KSP);
