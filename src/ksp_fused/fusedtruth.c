/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedtruth.c: the true residual, what it is compared with, norms without squares, the test in the infinity norm */
#include "fusedtruth.h"
#include "adapters.h"
#include "fuseddiagonal.h"

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
    if (!done) PetscCall(KSPFusedApplyB(ksp, x, w));
    PetscCall(KSPFusedRemoveNullSpace(ksp, w));
    if (f->run.useguess) PetscCall(VecAXPY(w, 1.0, f->run.guess));
    PetscCall(KSP_MatMult(ksp, A, w, t));
    PetscCall(VecWAXPY(r, -1.0, t, ksp->vec_rhs));
  } else if (ksp->pc_side == PC_LEFT && f->method->residual_preconditioned) {
    PetscCall(KSP_MatMult(ksp, A, x, t));
    PetscCall(VecAYPX(t, -1.0, ksp->vec_rhs));
    PetscCall(KSPFusedApplyB(ksp, t, r));
  } else {
    PetscCall(KSP_MatMult(ksp, A, x, r));
    PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v <- a v. Norms that the vector has kept are forgotten: they may have overflowed */
PetscErrorCode KSPFusedScale(Vec v, PetscReal a)
{
  PetscFunctionBegin;
  PetscCall(VecScale(v, a));
  PetscCall(PetscObjectStateIncrease((PetscObject)v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of 2 near a, which is finite and not 0 */
static PetscReal KSPFusedPower(PetscReal a)
{
  int e;

  (void)frexp((double)a, &e);
  return (PetscReal)ldexp(1.0, e - 1);
}

/*
  ||v|| as the test has it; where the squares may have left the range, of v divided by its largest entry. A maximum may
  lose a NaN, which sums keep
*/
PetscErrorCode KSPFusedNorm(KSP ksp, Vec v, PetscReal *norm)
{
  PetscReal most;
  Vec       w;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_2, norm));
  if (PetscIsNanReal(*norm) || (KSPFusedHasSquare(*norm) && KSPFusedNormType(ksp) == NORM_2))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(v, NORM_INFINITY, &most));
  if (KSPFusedNormType(ksp) != NORM_2) {
    *norm = most;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *norm = most;
  if (most == 0.0 || PetscIsInfOrNanReal(most)) PetscFunctionReturn(PETSC_SUCCESS);
  most = KSPFusedPower(PetscSqrtReal(most)); /* twice, because 1 over a tiny number may overflow */
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecCopy(v, w));
  PetscCall(KSPFusedScale(w, 1.0 / most));
  PetscCall(KSPFusedScale(w, 1.0 / most));
  PetscCall(VecNorm(w, NORM_2, norm));
  *norm = *norm * most * most;
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest entry of v as the norm of the test has it: with B or, for the natural norm, with a root of B */
static PetscErrorCode KSPFusedLargest_Private(KSP ksp, Vec v, PetscBool preconditioned, PetscReal *most)
{
  const PetscBool cg = (PetscBool) !((KSPFused *)ksp->data)->method->residual_preconditioned;
  PetscReal       norm;
  Vec             w;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_INFINITY, most));
  if (*most == 0.0 || preconditioned || ksp->pc_side != PC_LEFT) PetscFunctionReturn(PETSC_SUCCESS);
  if (cg && ksp->normtype != KSP_NORM_PRECONDITIONED && ksp->normtype != KSP_NORM_NATURAL)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(v, &w));
  PetscCall(KSP_PCApply(ksp, v, w));
  PetscCall(VecNorm(w, NORM_INFINITY, &norm));
  PetscCall(VecDestroy(&w));
  *most = ksp->normtype == KSP_NORM_NATURAL ? PetscSqrtReal(*most) * PetscSqrtReal(norm) : norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What b and x have to be divided by so that norms of the solve have squares: a power of 2, or 1. Large ones stay large,
  and small ones small, because x may be far smaller or larger than b. r: the first residual, preconditioned where the
  method's is; norm: its norm. The tolerance is relative to b, and to r where b = 0
*/
PetscErrorCode KSPFusedGetUnit(KSP ksp, PetscReal norm, Vec b, Vec r, PetscReal *unit)
{
  const KSPFused *f = (const KSPFused *)ksp->data;
  PetscReal       most;

  PetscFunctionBegin;
  *unit = 1.0;
  if (KSPFusedHasSquare(norm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedLargest_Private(ksp, b, PETSC_FALSE, &most));
  if (most == 0.0 && !ksp->guess_zero)
    PetscCall(KSPFusedLargest_Private(ksp, r, f->method->residual_preconditioned, &most));
  if (most == 0.0 || PetscIsInfOrNanReal(most) || KSPFusedHasSquare(most)) PetscFunctionReturn(PETSC_SUCCESS);
  *unit = KSPFusedPower(most);
  *unit *= most < 1.0 ? KSP_FUSED_REST : 1.0 / KSP_FUSED_REST;
  *unit = PetscMax(*unit, 4 * PETSC_REAL_MIN); /* 1 over it is finite */
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
  PetscCall(KSPFusedNorm(ksp, b, &norm));
  if (!ksp->guess_zero) {
    if (norm == 0.0 || ksp->converged == KSPFusedConvergedInfinity || (ctx && ctx->initialrtol)) norm = first;
    else if (ctx && ctx->mininitialrtol) norm = PetscMin(norm, first);
  }
  *bound = ksp->rtol * norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  KSPFusedConvergedInfinity - Convergence test in the infinity norm: ||r||_inf <= max(rtol ||r_0||_inf, abstol)

  Collective

  Input Parameters:
+ ksp   - the Krylov solver
. it    - the iteration
. rnorm - the residual norm that the method has computed, which is asked only whether it is a number
- ctx   - not used

  Output Parameter:
. reason - as for `KSPConvergedDefault()`

  Options Database Key:
. -ksp_fused_converged_infinity - take this test

  Level: intermediate

  Notes:
  Give it to `KSPSetConvergenceTest()`. r is the residual of the recurrence where the method is a fused one:
  preconditioned with `KSPBCGSFUSED` from the left, not preconditioned else. With other methods `KSPBuildResidual()`
  computes the true residual in each iteration.

  The norm is relative to that of the residual at iteration 0, with zero initial guess the right-hand side. What
  monitors and history show stays the 2-norm. Solves are in lockstep. The true residual confirms it, in this norm, as
  `KSPFusedSetCheckTrueResidual()` says.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPSetConvergenceTest()`, `KSPConvergedDefault()`
@*/
PetscErrorCode KSPFusedConvergedInfinity(KSP ksp, PetscInt it, PetscReal rnorm, KSPConvergedReason *reason,
                                         PetscCtx ctx)
{
  PetscErrorCode (*residual)(KSP, Vec *) = NULL;
  Vec       r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(reason, 4);
  (void)ctx;
  *reason = KSP_CONVERGED_ITERATING;
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp, "KSPFusedGetResidual_C", &residual));
  if (residual) {
    PetscCall((*residual)(ksp, &r));
    PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  } else {
    PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
    PetscCall(VecNorm(r, NORM_INFINITY, &norm));
    PetscCall(VecDestroy(&r));
  }
  if (!it) {
    ksp->rnorm0 = norm;
    ksp->ttol   = PetscMax(ksp->rtol * norm, ksp->abstol);
  }
  if (PetscIsInfOrNanReal(norm) || PetscIsNanReal(rnorm)) *reason = KSP_DIVERGED_NANORINF;
  else if (it < ksp->min_it) *reason = KSP_CONVERGED_ITERATING;
  else if (norm <= ksp->ttol) *reason = norm < ksp->abstol ? KSP_CONVERGED_ATOL : KSP_CONVERGED_RTOL;
  else if (norm >= ksp->divtol * ksp->rnorm0) *reason = KSP_DIVERGED_DTOL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
