/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedplain.h: vectors without arrays, by PETSc's methods */
#pragma once

#include "fused.h"
#include <petsc/private/vecimpl.h>

/* Whether steps can have the array of v, on the host or on a device. Collective in effect: ranks have one type */
static inline PetscBool KSPFusedHasArray(Vec v)
{
  return (PetscBool)(v->petscnative || v->ops->getarray || v->ops->getarrayread);
}

PETSC_INTERN PetscErrorCode KSPFusedSolvePlain(KSP);
