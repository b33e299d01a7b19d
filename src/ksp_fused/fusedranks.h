/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedranks.h: products of a MATMPIAIJ by copies of its two parts */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedRanksKnow(KSP, Mat, PetscBool *known);
PETSC_INTERN PetscErrorCode KSPFusedRanksCopy(KSP, Mat, PetscObjectId);
PETSC_INTERN PetscErrorCode KSPFusedRanksReset(KSPFused *);
