/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fuseddiagonal.h: the diagonal of PCJACOBI in single precision, beside products of a narrow copy of the matrix.

  B~ = fl32(B) is a preconditioner like B, and limits nothing: it is the preconditioner of the solve as long as products
  are narrow, wherever B is applied, also where a correction becomes the solution, x = guess + B~ u. Each read of it is
  4 bytes a real number in place of 8. A norm with B in it differs by a factor of 1 + 2^-24 at most.
*/
#pragma once

#include "fused.h"

/* Whether products take the diagonal: those of a narrow copy take one in single precision alone */
static inline PetscBool KSPFusedMultScales(const KSPFused *f)
{
  return (PetscBool)(f->pc.diagonal && (f->pc.single || !KSPFusedMayBeSingle(f)));
}

PETSC_INTERN PetscErrorCode KSPFusedSetSingle(KSP);
PETSC_INTERN PetscErrorCode KSPFusedApplyB(KSP, Vec x, Vec y);
