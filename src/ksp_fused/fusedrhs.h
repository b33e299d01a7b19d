/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhs.h: the loop for several right-hand sides */
#pragma once

#include "fused.h"

PETSC_INTERN PetscErrorCode KSPFusedSolveColumns(KSP, Mat, Mat);
