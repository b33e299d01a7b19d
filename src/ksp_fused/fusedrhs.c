/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhs.c: the loop for several right-hand sides: what fusedsolve.c does, for each column */
#include "fusedrhs.h"
#include "adapters.h"
#include "fusedrhsmat.h"
#include "fusedrhssteps.h"
#include "fusedrhstruth.h"
#include "fusedstate.h"
#include "fusedsteps.h"
#include "fusedtruth.h"
#include <petsc/private/pcimpl.h>
#include <petsc/private/vecimpl.h>

/*
  Steps leave alone what does not iterate: the scalars go to the kernels where the host has ended a column, or with
  always
*/
static PetscErrorCode KSPFusedRhsPush_Private(KSPFusedRhs *c, PetscBool always)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->width; i++) {
    const KSPFusedOneRhs *one = &c->one[i];

    if (one->state == KSP_FUSED_RHS_ACTIVE || c->s.scalars[i].reason) continue;
    c->s.scalars[i].reason = one->reason ? (int)one->reason : SPIKE_KRYLOV_RESTART;
    always                 = PETSC_TRUE;
  }
  if (always) PetscCall((*c->s.k->push)(&c->s, c->width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts the recurrences of all leading columns, from the residuals in the first tall matrix */
static PetscErrorCode KSPFusedRhsStart_Private(KSP ksp)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->rhs;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->width; i++) {
    SpikeKrylovScalars *s = &c->s.scalars[i];

    s->it          = c->one[i].its;
    s->reason      = 0;
    s->t.norm      = (int)ksp->normtype;
    s->f.symmetric = f->options.symmetric ? 1.0 : 0.0;
  }
  f->run.since = 0;
  PetscCall((*c->s.k->push)(&c->s, c->width));
  if (c->istall) PetscCall((*f->method->tallstart)(ksp));
  else PetscCall((*f->method->start)(ksp));
  PetscCall((*c->s.k->pull)(&c->s, c->width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step has set this reason, or a norm is not finite; a start that wants another start has none to go back to */
static PetscErrorCode KSPFusedRhsSetReason_Private(KSP ksp, int reason, KSPFusedOneRhs *one)
{
  PCFailedReason failed;

  PetscFunctionBegin;
  if (reason == KSP_DIVERGED_NANORINF) {
    PetscCall(PCReduceFailedReason(ksp->pc));
    PetscCall(PCGetFailedReason(ksp->pc, &failed));
    one->reason = failed ? KSP_DIVERGED_PC_FAILED : KSP_DIVERGED_NANORINF;
  } else if (reason == KSP_DIVERGED_INDEFINITE_MAT && ksp->converged_neg_curve) one->reason = KSP_CONVERGED_NEG_CURVE;
  else one->reason = reason == SPIKE_KRYLOV_RESTART ? KSP_DIVERGED_BREAKDOWN : (KSPConvergedReason)reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The test of the KSP, with the members of the KSP for this column; with a guess the test reads the right-hand side */
static PetscErrorCode KSPFusedRhsTest_Private(KSP ksp, KSPFusedOneRhs *one, PetscReal norm)
{
  KSPFusedRhs    *c      = ((KSPFused *)ksp->data)->rhs;
  const PetscReal rnorm0 = ksp->rnorm0, ttol = ksp->ttol, rnorm = ksp->rnorm;
  const PetscInt  its   = ksp->its;
  const PetscBool looks = (PetscBool)(!one->its && !ksp->guess_zero);
  Vec             b     = ksp->vec_rhs;
  Mat             B     = SpikeKSPSwapMatRhs(ksp, NULL);
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  one->norm   = ksp->normtype == KSP_NORM_NONE ? 0.0 : norm;
  ksp->rnorm0 = one->rnorm0;
  ksp->ttol   = one->ttol;
  ksp->its    = one->its;
  ksp->rnorm  = one->norm;
  if (looks) PetscCall(MatDenseGetColumnVecRead(c->rhs, one->column, &ksp->vec_rhs));
  ierr = (*ksp->converged)(ksp, one->its, one->norm, &one->reason, ksp->cnvP);
  if (looks) PetscCall(MatDenseRestoreColumnVecRead(c->rhs, one->column, &ksp->vec_rhs));
  one->rnorm0  = ksp->rnorm0;
  one->ttol    = ksp->ttol;
  ksp->rnorm0  = rnorm0;
  ksp->ttol    = ttol;
  ksp->rnorm   = rnorm;
  ksp->its     = its;
  ksp->vec_rhs = b;
  SpikeKSPSwapMatRhs(ksp, B);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A breakdown: once more from the true residual, if any iteration was completed since the last start, or there are other
  shadow vectors to try
*/
static PetscErrorCode KSPFusedRhsBroken_Private(KSP ksp, KSPFusedOneRhs *one)
{
  KSPFused       *f     = (KSPFused *)ksp->data;
  const PetscBool renew = (PetscBool)(f->method->renew != NULL);

  PetscFunctionBegin;
  if (one->its > one->started) one->renewals = 0;
  if (one->its == one->started && !(renew && !one->renewals)) {
    PetscCall(PetscInfo(ksp,
                        "Column %" PetscInt_FMT ": breakdown in iteration %" PetscInt_FMT ", and no new start helps\n",
                        one->column, one->its + 1));
    one->reason = KSP_DIVERGED_BREAKDOWN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(ksp,
                      "Column %" PetscInt_FMT ": breakdown after %" PetscInt_FMT
                      " iterations, a new start from the true residual when no column iterates\n",
                      one->column, one->its));
  one->started = one->its;
  one->state   = KSP_FUSED_RHS_BROKEN;
  if (renew) {
    one->renewals++;
    one->generation++;
  }
  f->info.restarts++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What a reason, or its absence, means for a column that was active. verify: where the reason is that of the recurrence,
  the true residual is to be looked at
*/
static PetscErrorCode KSPFusedRhsSetState_Private(KSP ksp, PetscBool verify, KSPFusedOneRhs *one)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (!one->reason && one->its >= ksp->max_it) one->reason = KSP_DIVERGED_ITS;
  if (!one->reason) PetscFunctionReturn(PETSC_SUCCESS);
  verify     = (PetscBool)(verify &&
                       (one->reason == KSP_CONVERGED_RTOL || one->reason == KSP_CONVERGED_ATOL ||
                        one->reason == KSP_DIVERGED_BREAKDOWN) &&
                       f->options.checktrue && KSPFusedIsTested(ksp));
  one->state = verify ? KSP_FUSED_RHS_CONVERGED : KSP_FUSED_RHS_DONE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Frobenius norm and the largest number of iterations; history and monitors when the latter has grown */
static PetscErrorCode KSPFusedRhsReport_Private(KSP ksp, PetscBool first)
{
  KSPFusedRhs *c   = ((KSPFused *)ksp->data)->rhs;
  PetscInt     its = 0;

  PetscFunctionBegin;
  ksp->rnorm = 0.0;
  for (PetscInt i = 0; i < c->m; i++) {
    its        = PetscMax(its, c->one[i].its);
    ksp->rnorm = (PetscReal)hypot(ksp->rnorm, c->one[i].norm);
  }
  if (!first && its == ksp->its) { /* some columns started later */
    KSPFusedReplaceLastNorm(ksp);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ksp->its = its;
  PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
  PetscCall(KSPMonitor(ksp, its, ksp->rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of the leading columns until none of them is active */
static PetscErrorCode KSPFusedRhsIterate_Private(KSP ksp)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->rhs;
  PetscInt     active;

  PetscFunctionBegin;
  f->run.more = PETSC_TRUE;
  while (PETSC_TRUE) {
    for (PetscInt i = active = 0; i < c->m; i++) {
      c->wanted[i] = (PetscBool)(c->one[i].state == KSP_FUSED_RHS_ACTIVE);
      active += c->wanted[i] ? 1 : 0;
    }
    if (!active) break;
    if (c->istall && !f->run.since && active < c->width) { /* directions are of all columns that have started */
      PetscCall(KSPFusedRhsToFront(ksp));
      PetscCall(KSPFusedRhsTrueResidual(ksp, PETSC_FALSE));
      PetscCall(KSPFusedRhsStart_Private(ksp));
    } else if (!c->istall && 2 * active <= c->width) PetscCall(KSPFusedRhsToFront(ksp));
    PetscCall(KSPFusedRhsPush_Private(c, (PetscBool)!f->run.since)); /* the scalars of a start are on the host only */
    if (c->istall) PetscCall((*f->method->talliterate)(ksp));
    else {
      PetscCall((*f->method->head)(ksp));
      PetscCall((*f->method->tail)(ksp));
    }
    f->run.since++;
    f->info.launched++;
    PetscCall((*c->s.k->pull)(&c->s, c->width));
    for (PetscInt i = 0; i < c->width; i++) {
      const SpikeKrylovScalars *s   = &c->s.scalars[i];
      KSPFusedOneRhs           *one = &c->one[i];

      if (one->state != KSP_FUSED_RHS_ACTIVE) continue;
      PetscCheck(s->reason || s->it > one->its, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
                 "An iteration has not been counted");
      if (s->it > one->its) {
        one->its = s->it;
        PetscCall(KSPFusedRhsTest_Private(ksp, one, s->norm));
      }
      if (!one->reason && s->reason == SPIKE_KRYLOV_RESTART) PetscCall(KSPFusedRhsBroken_Private(ksp, one));
      else if (!one->reason && s->reason && s->reason != SPIKE_KRYLOV_RESTART)
        PetscCall(KSPFusedRhsSetReason_Private(ksp, s->reason, one));
      if (one->state != KSP_FUSED_RHS_BROKEN) PetscCall(KSPFusedRhsSetState_Private(ksp, PETSC_TRUE, one));
    }
    PetscCall(KSPFusedRhsReport_Private(ksp, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Brings the columns of a state to the front, those of one generation of shadow vectors alone where that is not
  negative. any: whether there were some
*/
static PetscErrorCode KSPFusedRhsSelect_Private(KSP ksp, KSPFusedRhsState state, PetscInt generation, PetscBool *any)
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;

  PetscFunctionBegin;
  *any = PETSC_FALSE;
  for (PetscInt i = 0; i < c->m; i++) {
    c->wanted[i] = (PetscBool)(c->one[i].state == state && (generation < 0 || c->one[i].generation == generation));
    if (c->wanted[i]) *any = PETSC_TRUE;
  }
  if (*any) PetscCall(KSPFusedRhsToFront(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What the true residual of a column in slot i says, whose recurrences have been started from it: that the column has
  converged, is to go on, or has failed
*/
static PetscErrorCode KSPFusedRhsJudge_Private(KSP ksp, PetscInt i)
{
  KSPFused           *f    = (KSPFused *)ksp->data;
  SpikeKrylovScalars *s    = &f->rhs->s.scalars[i];
  KSPFusedOneRhs     *one  = &f->rhs->one[i];
  const PetscBool     same = KSPFusedTestsTruth(ksp);
  const PetscReal     norm = s->norm, truth = same ? norm : one->truth;
  PetscReal           bound, believed, excess;

  PetscFunctionBegin;
  one->state = KSP_FUSED_RHS_DONE;
  if (PetscIsInfOrNanReal(norm) || PetscIsInfOrNanReal(truth)) {
    PetscCall(KSPFusedRhsSetReason_Private(ksp, KSP_DIVERGED_NANORINF, one));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPFusedRhsGetBound(ksp, one, &bound));
  if (one->reason == KSP_DIVERGED_BREAKDOWN) {
    if (truth <= bound) one->reason = KSP_CONVERGED_RTOL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  f->info.truenorm         = PetscSqrtReal(PetscSqr(PetscMax(f->info.truenorm, 0.0)) + PetscSqr(norm));
  f->info.unpreconditioned = PetscSqrtReal(PetscSqr(PetscMax(f->info.unpreconditioned, 0.0)) + PetscSqr(truth));
  believed                 = same || KSPFusedIsAbsolute(ksp, one->reason, one->norm) ? PETSC_MAX_REAL : bound;
  excess                   = KSPFusedExcess(norm, one->goal, truth, believed);
  if (excess == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp,
                      "Column %" PetscInt_FMT
                      ": norm of the test %g by recurrence, %g in truth, the tolerance %g; ||b - A x|| = %g\n",
                      one->column, (double)one->norm, (double)norm, (double)one->ttol, (double)truth));
  if (norm > 0.0 && excess <= 0.5 * one->excess && one->its < ksp->max_it) {
    one->excess  = excess;
    one->ttol    = KSPFusedNextTolerance(one->ttol, norm, truth, believed);
    s->t.ttol    = one->ttol;
    one->started = one->its;
    one->reason  = KSP_CONVERGED_ITERATING;
    one->state   = KSP_FUSED_RHS_ACTIVE;
    f->info.restarts++;
    if (s->reason) PetscCall(KSPFusedRhsSetReason_Private(ksp, s->reason, one));
    PetscCall(KSPFusedRhsSetState_Private(ksp, PETSC_FALSE, one));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  one->norm = norm;
  if (!same && truth <= bound) {
    one->reason = KSP_CONVERGED_RTOL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  one->reason = norm > 0.0 && one->its >= ksp->max_it ? KSP_DIVERGED_ITS : KSP_DIVERGED_BREAKDOWN;
  if (norm > KSP_FUSED_MOST_TESTED * one->goal || one->reason == KSP_DIVERGED_ITS) PetscFunctionReturn(PETSC_SUCCESS);
  f->info.pcsingular = PETSC_TRUE;
  PetscCall(PetscInfo(ksp, "Column %" PetscInt_FMT ": preconditioner singular or nearly\n", one->column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  True residuals of all columns that have converged, or broken down. Where one is not what the test took it for, its
  column starts again from it, as long as that halves by how much it is too large
*/
static PetscErrorCode KSPFusedRhsVerify_Private(KSP ksp)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->rhs;
  Mat          W;
  PetscBool    any;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsSelect_Private(ksp, KSP_FUSED_RHS_CONVERGED, -1, &any));
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRhsTrueResidual(ksp, PETSC_FALSE));
  PetscCall(KSPFusedRhsTruth(ksp));
  PetscCall(KSPFusedRhsStart_Private(ksp));
  for (PetscInt i = 0; i < c->width; i++) PetscCall(KSPFusedRhsJudge_Private(ksp, i));
  if (KSPFusedIsCorrection(ksp)) {
    PetscBool again = PETSC_FALSE;

    for (PetscInt i = 0; i < c->width; i++) {
      c->one[i].solution = c->wanted[i] = (PetscBool)(c->one[i].state == KSP_FUSED_RHS_DONE);
      if (!c->wanted[i]) again = PETSC_TRUE;
    }
    if (again) PetscCall(KSPFusedRhsAddGuess(ksp));
    PetscCall(KSPFusedRhsGetBlock(ksp, ksp->work[f->method->scratch[0]], &W));
    PetscCall(KSPFusedRhsLeading(ksp, 1.0, W, 0.0, c->view[ksp->nwork], c->wanted));
    if (again) {
      for (PetscInt i = 0; i < c->width; i++) c->wanted[i] = (PetscBool)!c->wanted[i];
      PetscCall(KSPFusedRhsSetGuess(ksp, W, c->wanted));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Columns that broke down start again together: those with the oldest shadow vectors first. any: whether there were some
*/
static PetscErrorCode KSPFusedRhsRestart_Private(KSP ksp, PetscBool *any)
{
  KSPFused       *f    = (KSPFused *)ksp->data;
  KSPFusedRhs    *c    = f->rhs;
  const PetscBool same = KSPFusedTestsTruth(ksp), tested = (PetscBool)(KSPFusedIsTested(ksp) && f->options.checktrue);
  PetscInt        generation = PETSC_INT_MAX;
  Mat             W;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->m; i++)
    if (c->one[i].state == KSP_FUSED_RHS_BROKEN) generation = PetscMin(generation, c->one[i].generation);
  PetscCall(KSPFusedRhsSelect_Private(ksp, KSP_FUSED_RHS_BROKEN, generation, any));
  if (!*any) PetscFunctionReturn(PETSC_SUCCESS);
  if (generation > c->generation) {
    PetscCall((*f->method->renew)(ksp));
    c->generation = generation;
  }
  if (KSPFusedIsCorrection(ksp)) PetscCall(KSPFusedRhsAddGuess(ksp));
  PetscCall(KSPFusedRhsTrueResidual(ksp, PETSC_FALSE));
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(KSPFusedRhsGetBlock(ksp, ksp->work[f->method->scratch[0]], &W));
    PetscCall(KSPFusedRhsSetGuess(ksp, W, NULL));
  }
  PetscCall(KSPFusedRhsTruth(ksp));
  PetscCall(KSPFusedRhsStart_Private(ksp));
  for (PetscInt i = 0; i < c->width; i++) {
    const SpikeKrylovScalars *s     = &c->s.scalars[i];
    KSPFusedOneRhs           *one   = &c->one[i];
    PetscReal                 bound = 0.0;

    one->state = KSP_FUSED_RHS_ACTIVE;
    if (tested) PetscCall(KSPFusedRhsGetBound(ksp, one, &bound));
    if (PetscIsInfOrNanReal(s->norm)) PetscCall(KSPFusedRhsSetReason_Private(ksp, KSP_DIVERGED_NANORINF, one));
    else if (tested && (same ? s->norm : one->truth) <= bound && one->its >= ksp->min_it)
      one->reason = KSP_CONVERGED_RTOL;
    else if (s->norm == 0.0) {
      const PetscBool refuted = (PetscBool)(tested && !same && one->truth > KSP_FUSED_MOST_TRUE * bound);

      one->reason = refuted ? KSP_DIVERGED_BREAKDOWN : KSP_CONVERGED_ATOL;
      if (refuted) f->info.pcsingular = PETSC_TRUE;
    } else if (s->reason) PetscCall(KSPFusedRhsSetReason_Private(ksp, s->reason, one));
    PetscCall(KSPFusedRhsSetState_Private(ksp, PETSC_FALSE, one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides in the range of A, guesses, residuals and scalars of all columns; iteration 0 */
static PetscErrorCode KSPFusedRhsBegin_Private(KSP ksp, Mat B, Mat X)
{
  KSPFused       *f              = (KSPFused *)ksp->data;
  KSPFusedRhs    *c              = f->rhs;
  const PetscBool isdefault      = (PetscBool)(ksp->converged == KSPConvergedDefault),
                  failed         = (PetscBool)(ksp->reason == KSP_DIVERGED_PC_FAILED);
  const SpikeKrylovTestType test = isdefault ? SPIKE_KRYLOV_TEST_DEFAULT : SPIKE_KRYLOV_TEST_SKIP;
  MatNullSpace              nullspace;
  Mat                       A;
  Vec                       v;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->transpose_solve) PetscCall(MatGetNullSpace(A, &nullspace));
  else PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  PetscCall(MatDestroy(&c->rhs)); /* where an error has ended a solve */
  if (nullspace) PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &c->rhs));
  else {
    c->rhs = B;
    PetscCall(PetscObjectReference((PetscObject)B));
  }
  PetscCall(KSPFusedRhsSetWidth(ksp, c->m));
  if (KSPFusedIsCorrection(ksp) && !ksp->guess_zero) PetscCall(KSPFusedRhsAddGuess(ksp));
  for (PetscInt i = 0; i < c->m; i++) {
    PetscCall(PetscMemzero(&c->one[i], sizeof(c->one[i])));
    PetscCall(PetscMemzero(&c->s.scalars[i], sizeof(c->s.scalars[i])));
    c->one[i].column = i;
    c->one[i].excess = PETSC_MAX_REAL;
    if (!nullspace) continue;
    PetscCall(MatDenseGetColumnVec(c->rhs, i, &v));
    PetscCall(MatNullSpaceRemove(nullspace, v));
    PetscCall(MatDenseRestoreColumnVec(c->rhs, i, &v));
  }
  PetscCall(KSPFusedRhsCombine(ksp, c->m, ksp->guess_zero ? 0.0 : 1.0, ksp->guess_zero ? NULL : X, c->slot, 0.0,
                               c->view[ksp->nwork], c->slot));
  ksp->its    = 0;
  ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(KSPFusedRhsTrueResidual(ksp, PETSC_TRUE));
  if (!ksp->guess_zero) PetscCall(KSPFusedRhsTruth(ksp));
  for (PetscInt i = 0; i < c->m; i++) c->one[i].first = c->one[i].truth;
  PetscCall(MatFlag(c->view[0], failed ? 1 : 0)); /* perhaps on some ranks only */
  if (KSPFusedIsCorrection(ksp) && !ksp->guess_zero) PetscCall(KSPFusedRhsSetGuess(ksp, c->view[ksp->nwork], NULL));
  PetscCall(KSPFusedRhsStart_Private(ksp));
  for (PetscInt i = 0; i < c->m; i++) {
    SpikeKrylovScalars *s   = &c->s.scalars[i];
    KSPFusedOneRhs     *one = &c->one[i];

    PetscCall(KSPFusedRhsIsAlone(ksp, i, &one->alone));
    if (one->alone) {
      one->norm  = s->norm;
      one->state = KSP_FUSED_RHS_DONE;
      continue;
    }
    if (PetscIsInfOrNanReal(s->norm)) {
      one->norm = s->norm;
      PetscCall(KSPFusedRhsSetReason_Private(ksp, KSP_DIVERGED_NANORINF, one));
    } else PetscCall(KSPFusedRhsTest_Private(ksp, one, s->norm));
    one->goal = one->ttol;
    if (!one->reason && s->norm == 0.0) one->reason = KSP_CONVERGED_ATOL; /* where no test looks at norms */
    if (!one->reason && s->reason) PetscCall(KSPFusedRhsSetReason_Private(ksp, s->reason, one));
    PetscCall(KSPFusedRhsSetState_Private(ksp, (PetscBool)!KSPFusedTestsTruth(ksp), one));
    s->t.test = test;
    if (isdefault) {
      s->t.ttol    = one->ttol;
      s->t.abstol  = ksp->abstol;
      s->t.dtol    = ksp->divtol * one->rnorm0;
      s->t.minit   = ksp->min_it;
      s->t.chknorm = ksp->chknorm;
    }
  }
  PetscCall(KSPFusedRhsReport_Private(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns that had converged at iteration 0: the correction is 0, and B 0 need not be where B has failed */
static PetscErrorCode KSPFusedRhsEndAtOnce_Private(KSP ksp)
{
  KSPFusedRhs *c   = ((KSPFused *)ksp->data)->rhs;
  PetscBool    any = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->m; i++) {
    KSPFusedOneRhs *one = &c->one[i];

    c->wanted[i] = (PetscBool)(!one->solution && !one->its && one->reason > 0);
    if (!c->wanted[i]) continue;
    one->solution = any = PETSC_TRUE;
  }
  if (!any || !c->useguess) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRhsToFront(ksp));
  PetscCall(KSPFusedRhsLeading(ksp, 1.0, c->view[ksp->nwork + 1], 1.0, c->view[ksp->nwork], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Solutions and figures of the columns; reason: the smallest of all, negative where any column has failed. Columns that
  are left to a solve of their own have no reason, and X keeps their guesses
*/
static PetscErrorCode KSPFusedRhsEnd_Private(KSP ksp, Mat X)
{
  KSPFused    *f    = (KSPFused *)ksp->data;
  KSPFusedRhs *c    = f->rhs;
  PetscInt     left = 0, count = 0;
  Mat          T;
  Vec          v;

  PetscFunctionBegin;
  PetscCall(KSPFusedSettle(ksp));
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(KSPFusedRhsEndAtOnce_Private(ksp));
    for (PetscInt i = 0; i < c->m; i++) {
      c->wanted[i] = (PetscBool)!c->one[i].solution;
      left += c->wanted[i] ? 1 : 0;
    }
    if (left) {
      PetscCall(KSPFusedRhsToFront(ksp));
      PetscCall(KSPFusedRhsGetBlock(ksp, ksp->work[f->method->scratch[1]], &T));
      PetscCall(KSPFusedRhsPCApply(ksp, c->view[ksp->nwork], T));
      PetscCall(KSPFusedRhsLeading(ksp, 1.0, T, 0.0, c->view[ksp->nwork], NULL));
      if (c->useguess) PetscCall(KSPFusedRhsLeading(ksp, 1.0, c->view[ksp->nwork + 1], 1.0, c->view[ksp->nwork], NULL));
    }
  }
  PetscCall(KSPFusedRhsSetWidth(ksp, c->m));
  for (PetscInt i = 0; i < c->m; i++) {
    if (c->one[i].alone) continue;
    c->from[count] = i;
    c->to[count++] = c->one[i].column;
  }
  if (count) PetscCall(KSPFusedRhsCombine(ksp, count, 1.0, c->view[ksp->nwork], c->from, 0.0, X, c->to));
  ksp->reason = KSP_CONVERGED_ITERATING;
  for (PetscInt i = 0; i < c->m; i++) {
    const KSPFusedOneRhs *one = &c->one[i];

    if (one->reason == KSP_DIVERGED_PC_FAILED) {
      PetscCall(MatDenseGetColumnVecWrite(X, one->column, &v));
      PetscCall(VecFlag(v, 1));
      PetscCall(MatDenseRestoreColumnVecWrite(X, one->column, &v));
    }
    c->its[c->first + one->column]     = one->its;
    c->reasons[c->first + one->column] = one->reason;
    c->norms[c->first + one->column]   = one->norm;
    if (!ksp->reason || one->reason < ksp->reason) ksp->reason = one->reason;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns iterate, converge and are verified, or break down and start again, until all are done */
static PetscErrorCode KSPFusedRhsSolve_Private(KSP ksp, Mat B, Mat X)
{
  KSPFused    *f   = (KSPFused *)ksp->data;
  KSPFusedRhs *c   = f->rhs;
  PetscBool    any = PETSC_TRUE;
  PetscInt     m;

  PetscFunctionBegin;
  PetscCall(KSPFusedSetForm(ksp));
  /* halos are of one vector at a time, and stencils and blocks that are lent have no product with several columns */
  if (f->product.own &&
      (f->size > 1 || f->info.product == KSP_FUSED_SPMV_STENCIL || f->info.product == KSP_FUSED_SPMV_BLOCKS)) {
    f->product.own  = PETSC_FALSE;
    f->info.product = KSP_FUSED_SPMV_PETSC;
  }
  PetscCall(KSPFusedRhsKnowPC(ksp));
  PetscCall(MatGetSize(B, NULL, &m));
  PetscCall(KSPFusedRhsSetUp(ksp, m));
  PetscCall(KSPFusedRhsSetProduct(ksp));
  PetscCall(PetscObjectReference((PetscObject)c->x));
  /* KSPBuildResidual() needs one; it then calls KSPBuildSolution(), whose error says what to do instead */
  ksp->vec_rhs     = c->x;
  c->useguess      = PETSC_FALSE;
  c->generation    = 0;
  f->info.lockstep = PETSC_TRUE;
  f->ops           = &KSPFusedOps_Rhs;
  PetscCall(KSPFusedRhsBegin_Private(ksp, B, X));
  while (any) {
    PetscCall(KSPFusedRhsIterate_Private(ksp));
    PetscCall(KSPFusedRhsVerify_Private(ksp));
    any = PETSC_FALSE;
    for (PetscInt i = 0; i < c->m; i++)
      if (c->one[i].state == KSP_FUSED_RHS_ACTIVE) any = PETSC_TRUE;
    if (!any) PetscCall(KSPFusedRhsRestart_Private(ksp, &any));
  }
  PetscCall(KSPFusedRhsReport_Private(ksp, PETSC_FALSE));
  PetscCall(KSPFusedRhsEnd_Private(ksp, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All columns together; the vectors of the KSP are the caller's again after an error, too */
PetscErrorCode KSPFusedSolveColumns(KSP ksp, Mat B, Mat X)
{
  KSPFused      *f = (KSPFused *)ksp->data;
  KSPFusedRhs   *c = f->rhs;
  Vec            x = ksp->vec_sol, b = ksp->vec_rhs;
  PetscErrorCode ierr;
  PetscObjectId  id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)ksp->work[0], &id));
  if (c->x && c->id == id) {
    PetscCall(PetscObjectReference((PetscObject)c->x));
    ksp->vec_sol = c->x;
  } else PetscCall(VecDuplicate(ksp->work[0], &ksp->vec_sol));
  ierr = KSPFusedRhsSolve_Private(ksp, B, X);
  PetscCall(MatDestroy(&c->rhs));
  f->ops = &KSPFusedOps_Vector;
  PetscCall(VecDestroy(&ksp->vec_sol));
  if (ksp->vec_rhs != b) PetscCall(VecDestroy(&ksp->vec_rhs));
  ksp->vec_sol = x;
  ksp->vec_rhs = b;
  PetscCall(ierr);
  ksp->totalits += ksp->its;
  PetscFunctionReturn(PETSC_SUCCESS);
}
