/* SPDX-License-Identifier: BSD-2-Clause */
/* matpattern.h: whether matrices have their entries at the same places */
#pragma once

#include <petscmat.h>

PETSC_INTERN PetscErrorCode SpikeMatSamePattern(Mat, Mat, PetscBool *);
