/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedbasis.h: basis steps of one vector */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedBasisSetUp(KSP, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode KSPFusedBasisDestroy(KSPFused *);
PETSC_INTERN PetscErrorCode KSPFusedBasisToShadow(KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedBasisStep_Vector(KSP, SpikeKrylovBasisStep, const KSPFusedBasis *,
                                                     const KSPFusedBasis *, const SpikeIDRRecurrence *, PetscBool);
PETSC_INTERN PetscErrorCode KSPFusedBasisApplyDots_Vector(KSP, Vec, Vec, const KSPFusedBasis *,
                                                          const SpikeIDRRecurrence *);
