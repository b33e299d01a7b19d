/* SPDX-License-Identifier: BSD-2-Clause */
/* fuseddiagonal.c: the diagonal of PCJACOBI in single precision */
#include "fuseddiagonal.h"
#include "fusedstate.h"
#include <petsc/private/kspimpl.h>

/* Magnitudes of entries, and of their inverses, at most: inside the range of single precision */
#define KSP_FUSED_SINGLE_LARGEST ((PetscReal)1e37)

/*
  After KSPFusedKnowPC(): the diagonal becomes one in single precision, where products are narrow. Where an entry is out
  of range, on any rank, it stays as it is, and where scalars are not on the device PCApply() has it. Collective
*/
PetscErrorCode KSPFusedSetSingle(KSP ksp)
{
  KSPFused    *f    = (KSPFused *)ksp->data;
  Vec          work = ksp->work[f->method->scratch[0]];
  PetscReal    most, inverse;
  PetscScalar *from, *to;
  PetscInt     n;

  PetscFunctionBegin;
  if (!f->pc.diagonal || !KSPFusedMayBeSingle(f)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecSet(work, 1.0));
  PetscCall(VecPointwiseDivide(work, work, f->pc.diagonal));
  PetscCall(VecNorm(f->pc.diagonal, NORM_INFINITY, &most));
  PetscCall(VecNorm(work, NORM_INFINITY, &inverse));
  f->pc.single = (PetscBool)(most <= KSP_FUSED_SINGLE_LARGEST && inverse <= KSP_FUSED_SINGLE_LARGEST);
  if (!f->pc.single) {
    PetscCall(PetscInfo(ksp, "The diagonal of the preconditioner stays in PetscScalar: magnitudes from %g to %g\n",
                        1.0 / (double)inverse, (double)most));
    if (!f->s.ondevice) {
      f->pc.diagonal = NULL;
      f->pc.scaled   = PETSC_FALSE;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(ksp, "The diagonal of the preconditioner is in single precision\n"));
  f->pc.scale = (PetscReal)(float)f->pc.scale;
  PetscCall(VecCopy(f->pc.diagonal, work));
  PetscCall(VecGetLocalSize(work, &n));
  PetscCall(KSPFusedGetArray(ksp, work, PETSC_TRUE, PETSC_FALSE, &from));
  PetscCall(KSPFusedGetArray(ksp, f->pc.diagonal, PETSC_FALSE, PETSC_TRUE, &to));
  PetscCall((*f->s.k->tosingle)(n, from, to));
  PetscCall(KSPFusedRestoreArray(ksp, f->pc.diagonal, PETSC_FALSE, PETSC_TRUE, &to));
  PetscCall(KSPFusedRestoreArray(ksp, work, PETSC_TRUE, PETSC_FALSE, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- B x, whatever reason is set. x and y are work vectors, or like those */
PetscErrorCode KSPFusedApplyB(KSP ksp, Vec x, Vec y)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  PetscScalar *d, *from, *to;
  PetscInt     n;

  PetscFunctionBegin;
  if (!f->pc.single) {
    PetscCall(KSP_PCApply(ksp, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(KSPFusedGetArray(ksp, f->pc.diagonal, PETSC_TRUE, PETSC_FALSE, &d));
  PetscCall(KSPFusedGetArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &from));
  PetscCall(KSPFusedGetArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &to));
  PetscCall((*f->s.k->bysingle)(n, d, from, to));
  PetscCall(KSPFusedRestoreArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &to));
  PetscCall(KSPFusedRestoreArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &from));
  PetscCall(KSPFusedRestoreArray(ksp, f->pc.diagonal, PETSC_TRUE, PETSC_FALSE, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
