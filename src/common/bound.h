/* SPDX-License-Identifier: BSD-2-Clause */
/*
  bound.h: MatBindToCPU() for our types. The field exists in a PETSc with a device only; without one all is on the host
*/
#pragma once

#include <petsc/private/matimpl.h>

static inline PetscBool SpikeMatIsBoundToCPU(Mat A)
{
#if PetscDefined(HAVE_DEVICE)
  return A->boundtocpu;
#else
  (void)A;
  return PETSC_TRUE;
#endif
}

static inline void SpikeMatSetBoundToCPU(Mat A, PetscBool bound)
{
#if PetscDefined(HAVE_DEVICE)
  A->boundtocpu = bound;
#else
  (void)A;
  (void)bound;
#endif
}
