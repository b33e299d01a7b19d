/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedscaled.c: solves whose norms have no squares, with b and x divided by a unit */
#include "fusedscaled.h"
#include "fusedplace.h"
#include "fusedplain.h"
#include "fusedsolve.h"
#include "fusedtruth.h"
#include "common/ordered.h"
#include "common/place.h"
#include <petsc/private/pcimpl.h>

/*
  Convergence was confirmed of x / unit. x itself may have left the range: whether its residual is that residual, whose
  norm is truth, or small beside b. Beside a norm of b that is not finite nothing is small
*/
static PetscErrorCode KSPFusedConfirm_Private(KSP ksp, PetscReal truth)
{
  Vec       r = ksp->work[0];
  Mat       A;
  PetscReal norm, most;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(KSP_MatMult(ksp, A, ksp->vec_sol, r));
  PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
  PetscCall(KSPFusedNorm(ksp, r, &norm));
  PetscCall(KSPFusedNorm(ksp, ksp->vec_rhs, &most));
  most = PetscMax(KSP_FUSED_MOST_TRUE * ksp->rtol * most, KSP_FUSED_MOST_TESTED * truth);
  if (norm <= most && !PetscIsInfOrNanReal(most)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "The solution is out of the range of numbers: ||b - A x|| is %g, above %g\n", (double)norm,
                      (double)most));
  ksp->reason = PetscIsInfOrNanReal(norm) ? KSP_DIVERGED_NANORINF : KSP_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With b / unit and x / unit */
static PetscErrorCode KSPFusedSolveScaled_Private(KSP ksp, PetscReal unit)
{
  KSPFused      *f = (KSPFused *)ksp->data;
  Vec            b = ksp->vec_rhs, c;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(
    PetscInfo(ksp, "Squares of norms would leave the range of numbers: b and x are divided by %g\n", (double)unit));
  PetscCall(VecDuplicate(b, &c));
  PetscCall(VecCopy(b, c));
  PetscCall(KSPFusedScale(c, 1.0 / unit));
  if (!ksp->guess_zero) PetscCall(KSPFusedScale(ksp->vec_sol, 1.0 / unit));
  f->run.unit  = unit;
  f->run.rhs   = b;
  ksp->vec_rhs = c;
  ierr         = KSPFusedSolve(ksp, &unit);
  ksp->vec_rhs = b;
  f->run.rhs   = NULL;
  f->run.unit  = 1.0;
  PetscCall(VecDestroy(&c));
  PetscCall(ierr);
  PetscCall(KSPFusedScale(ksp->vec_sol, unit));
  ksp->rnorm *= unit;
  ksp->rnorm0 *= unit;
  ksp->ttol *= unit;
  if (f->info.truenorm > 0.0) f->info.truenorm *= unit;
  if (f->info.unpreconditioned > 0.0) f->info.unpreconditioned *= unit;
  if ((ksp->reason == KSP_CONVERGED_RTOL || ksp->reason == KSP_CONVERGED_ATOL) && KSPFusedIsTested(ksp) &&
      f->options.checktrue)
    PetscCall(KSPFusedConfirm_Private(ksp, PetscMax(f->info.unpreconditioned,
                                                    KSPFusedTestsTruth(ksp) ? ksp->rnorm : (PetscReal)0.0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSolveOnce_Private(KSP ksp)
{
  PetscReal unit = 1.0;

  PetscFunctionBegin;
  if (!SpikeVecHasArray(ksp->vec_sol)) {
    PetscCall(KSPFusedSolvePlain(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPFusedSolve(ksp, &unit));
  if (unit != 1.0) PetscCall(KSPFusedSolveScaled_Private(ksp, unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSolve_Fused(KSP ksp)
{
  SpikeOrdered   ordered;
  KSPFusedPlace  place;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(SpikeKSPBegin(ksp));
  PetscCall(KSPFusedPlaceBegin(ksp, &place));
  PetscCall(SpikeOrderedBegin(ksp->vec_sol, &ordered));
  ierr = KSPFusedSolveOnce_Private(ksp);
  PetscCall(SpikeOrderedEnd(&ordered));
  PetscCall(KSPFusedPlaceEnd(ksp, (PetscBool)(ierr != PETSC_SUCCESS), &place));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
