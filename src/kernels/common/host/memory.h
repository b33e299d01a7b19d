/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: memory of this machine */
#pragma once

#include <petscsys.h>

/* Bytes that the host backends can hope to get, all ranks of this machine together */
PETSC_INTERN PetscErrorCode SpikeMemory_Host(PetscReal *);
