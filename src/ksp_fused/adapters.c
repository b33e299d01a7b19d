/* SPDX-License-Identifier: BSD-2-Clause */
/* adapters.c: what the fused methods know about PETSc's own types: the only file of theirs that names one */
#include "fused.h"

/* B = I, and no null space is removed after it: the residual need not be copied */
PetscErrorCode KSPFusedIsIdentity(KSP ksp, PetscBool *identity)
{
  Mat          A;
  MatNullSpace nullspace;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, identity));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->transpose_solve) PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  else PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) *identity = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A product and a preconditioner that only enqueue work on the device: one of each too many costs microseconds, and the host may run ahead. Any other, on the host, of the user, or
  costly, runs in lockstep.
*/
PetscErrorCode KSPFusedNeverWaits(KSP ksp, PetscBool *never)
{
  Mat       A;
  PetscBool mat, pc, bound;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &mat, MATSEQAIJCUSPARSE, MATSEQSELLCUDA, MATSEQDENSECUDA, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &pc, PCNONE, PCJACOBI, PCPBJACOBI, PCVPBJACOBI, PCSPIKE, ""));
  PetscCall(MatBoundToCPU(A, &bound));
  *never = mat && pc && !bound ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
