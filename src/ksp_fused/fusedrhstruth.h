/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhstruth.h: what fusedtruth.h is for one right-hand side */
#pragma once

#include "fusedrhsmat.h"

PETSC_INTERN const PetscInt *KSPFusedRhsNumbers(KSPFusedRhs *);
PETSC_INTERN PetscErrorCode  KSPFusedRhsLeading(KSP, PetscScalar, Mat, PetscScalar, Mat, const PetscBool wanted[]);
PETSC_INTERN PetscErrorCode  KSPFusedRhsTrueResidual(KSP, PetscBool first);
PETSC_INTERN PetscErrorCode  KSPFusedRhsTruth(KSP);
PETSC_INTERN PetscErrorCode  KSPFusedRhsGetBound(KSP, const KSPFusedOneRhs *, PetscReal *);
PETSC_INTERN PetscErrorCode  KSPFusedRhsSetGuess(KSP, Mat, const PetscBool wanted[]);
PETSC_INTERN PetscErrorCode  KSPFusedRhsIsAlone(KSP, PetscInt, PetscBool *);
