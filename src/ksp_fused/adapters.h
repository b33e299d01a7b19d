/* SPDX-License-Identifier: BSD-2-Clause */
/* adapters.h: what the fused methods know about PETSc's own Mat and PC types */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedIsIdentity(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedRemoveNullSpace(KSP, Vec);
PETSC_INTERN PetscErrorCode KSPFusedRemoveNullSpaceMat(KSP, Mat);
PETSC_INTERN PetscErrorCode KSPFusedKnowPC(KSP);
PETSC_INTERN PetscErrorCode KSPFusedRhsKnowPC(KSP);
PETSC_INTERN PetscErrorCode KSPFusedNeverWaits(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedMayVary(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedMatApplies(PC, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedIsKnown(Mat, PetscMemType, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedIsParallel(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedIsKnownParallel(Mat, PetscMemType, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedGetParts(Mat, Mat[2], const PetscInt *[]);
PETSC_INTERN PetscErrorCode KSPFusedGetProduct(Mat, PetscMemType, SpikeEnqueue *);
PETSC_INTERN PetscErrorCode KSPFusedHasProduct(Mat, Mat, PetscBool, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedGetCSR(Mat, PetscMemType, SpikeKrylovCSR *, SpikeCSR *);
PETSC_INTERN PetscErrorCode KSPFusedRestoreCSR(Mat, PetscMemType, SpikeCSR *);
