/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedtruth.c: the true residual, and what it is compared with */
#include "fusedtruth.h"
#include "adapters.h"

/* w <- B x if that needs no application of B: once after a start */
PetscErrorCode KSPFusedUnwind(KSP ksp, Vec w, PetscBool *done)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (f->method->unwind && f->run.since == 1 && f->run.fromzero) PetscCall((*f->method->unwind)(ksp, w, done));
  f->run.fromzero = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  r <- the true residual of the iterate, preconditioned where the method's is. Where x is a correction the solution,
  guess + B x, is left in scratch[0]; with left preconditioning b - A x is, in scratch[1].
*/
PetscErrorCode KSPFusedTrueResidual(KSP ksp, Vec r)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec       x = ksp->vec_sol, w = ksp->work[f->method->scratch[0]], t = ksp->work[f->method->scratch[1]];
  Mat       A;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(KSPFusedSettle(ksp));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(KSPFusedUnwind(ksp, w, &done));
    if (!done) PetscCall(KSP_PCApply(ksp, x, w));
    PetscCall(KSPFusedRemoveNullSpace(ksp, w));
    if (f->run.useguess) PetscCall(VecAXPY(w, 1.0, f->run.guess));
    PetscCall(KSP_MatMult(ksp, A, w, t));
    PetscCall(VecWAXPY(r, -1.0, t, ksp->vec_rhs));
  } else if (ksp->pc_side == PC_LEFT && f->method->residual_preconditioned) {
    PetscCall(KSP_MatMult(ksp, A, x, t));
    PetscCall(VecAYPX(t, -1.0, ksp->vec_rhs));
    PetscCall(KSP_PCApply(ksp, t, r));
  } else {
    PetscCall(KSP_MatMult(ksp, A, x, r));
    PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  rtol times the reference of KSPConvergedDefault(), in the norm of b - A x: ||b||, and with a guess what the options of
  that test say. first: of the residual of the guess; not looked at where there is none
*/
PetscErrorCode KSPFusedGetBound(KSP ksp, Vec b, PetscReal first, PetscReal *bound)
{
  const KSPConvergedDefaultCtx *ctx = ksp->converged == KSPConvergedDefault ? (const KSPConvergedDefaultCtx *)ksp->cnvP
                                                                            : NULL;
  PetscReal                     norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(b, KSPFusedNormType(ksp), &norm));
  if (!ksp->guess_zero) {
    if (norm == 0.0 || ksp->converged == KSPFusedConvergedInfinity || (ctx && ctx->initialrtol)) norm = first;
    else if (ctx && ctx->mininitialrtol) norm = PetscMin(norm, first);
  }
  *bound = ksp->rtol * norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}
