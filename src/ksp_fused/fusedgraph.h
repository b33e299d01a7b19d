/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedgraph.h: iterations as CUDA graphs, and many iterations in one launch */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedPrepareGraph(KSP);
PETSC_INTERN PetscErrorCode KSPFusedTouch(KSP);
PETSC_INTERN PetscErrorCode KSPFusedReplay(KSP, PetscInt it);
PETSC_INTERN PetscErrorCode KSPFusedIterate(KSP, PetscInt its, PetscInt *launched);
