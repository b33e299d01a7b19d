/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedplace.c: all vectors of a solve in one place, where the matrix makes its products: common/place.h */
#include "fusedplace.h"
#include "common/place.h"
#include <petsc/private/pcimpl.h>

/* As a new setup makes them, which takes x for what they are like */
static PetscErrorCode KSPFusedRemake_Private(KSP ksp, Mat A)
{
  Vec            x = ksp->vec_sol, like;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "Work vectors are made anew, where the matrix is\n"));
  PetscCall(MatCreateVecs(A, &like, NULL));
  ksp->vec_sol = like;
  ierr         = (*ksp->ops->reset)(ksp);
  if (!ierr) ierr = (*ksp->ops->setup)(ksp);
  ksp->vec_sol = x;
  PetscCall(VecDestroy(&like));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work vectors are as the first x was since the last setup, also where the matrix is another one now */
PetscErrorCode KSPFusedPlaceWork(KSP ksp, PetscBool *there)
{
  Mat       A;
  PetscBool remake;

  PetscFunctionBegin;
  PetscCall(SpikeVecIsOnDevice(ksp->work[0], there));
  if (*there) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(SpikeMatWantsDeviceVecs(A, &remake));
  if (!remake) PetscCall(SpikeVecIsHalfBound(ksp->work[0], &remake));
  if (!remake) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRemake_Private(ksp, A));
  PetscCall(SpikeVecIsOnDevice(ksp->work[0], there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedPlaceBegin(KSP ksp, KSPFusedPlace *p)
{
  KSPFused *f = (KSPFused *)ksp->data;
  PetscBool on[3];

  PetscFunctionBegin;
  p->x = p->b = NULL;
  if (!SpikeVecHasArray(ksp->vec_sol) || !SpikeVecHasArray(ksp->work[0])) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedPlaceWork(ksp, &on[0]));
  PetscCall(SpikeVecIsOnDevice(ksp->vec_sol, &on[1]));
  PetscCall(SpikeVecIsOnDevice(ksp->vec_rhs, &on[2]));
  if (on[0] == on[1] && on[0] == on[2]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "Vectors are copied to the %s, where the solver's are\n", on[0] ? "device" : "host"));
  for (int i = 0; i < 2; i++)
    if (!f->run.placed[i]) PetscCall(VecDuplicate(ksp->work[0], &f->run.placed[i]));
  PetscCall(VecCopy(ksp->vec_sol, f->run.placed[0]));
  PetscCall(VecCopy(ksp->vec_rhs, f->run.placed[1]));
  p->x         = ksp->vec_sol;
  p->b         = ksp->vec_rhs;
  ksp->vec_sol = f->run.placed[0];
  ksp->vec_rhs = f->run.placed[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedPlaceEnd(KSP ksp, PetscBool failed, KSPFusedPlace *p)
{
  const Vec x = ksp->vec_sol;

  PetscFunctionBegin;
  if (!p->x) PetscFunctionReturn(PETSC_SUCCESS);
  ksp->vec_sol = p->x;
  ksp->vec_rhs = p->b;
  if (!failed) PetscCall(VecCopy(x, ksp->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}
