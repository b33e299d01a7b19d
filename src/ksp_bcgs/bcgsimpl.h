/* SPDX-License-Identifier: BSD-2-Clause */
/* bcgsimpl.h: the types of this folder, for register.c */
#pragma once

#include <petscksp.h>

PETSC_INTERN PetscErrorCode KSPCreate_BCGSFused(KSP);
