/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h: memory of this machine */
#pragma once

#include <petscsys.h>

/* Bytes that the host backends can hope to get, all ranks of this machine together */
PETSC_INTERN PetscErrorCode SpikeMemory_Host(PetscReal *);

/*
  Memory that was just allocated is to come in large pages, where it is large and the system gives them on request: it
  is written for the first time in a fraction of the time. Zeros are written after this call
*/
PETSC_INTERN void SpikeLargePages_Host(void *, size_t bytes);
