/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedsolve.c: the loop of the fused methods: posts, restarts, the true residual */
#include "fusedsolve.h"
#include "adapters.h"
#include "fuseddiagonal.h"
#include "fusedfactors.h"
#include "fusedgraph.h"
#include "fusedprecision.h"
#include "fusedstate.h"
#include "fusedsteps.h"
#include "fusedtruth.h"
#include <petsc/private/pcimpl.h>
#include <petsc/private/logimpl.h>

/* Where a solve is */
typedef struct {
  PetscInt  launched; /* iterations launched and not yet reported                  */
  PetscInt  ahead;    /* most iterations in flight after the one that the host waits for */
  PetscInt  started;  /* iteration of the last start                               */
  PetscReal goal;     /* tolerance of the test, as it was at iteration 0           */
  PetscReal first;    /* ||b - A x|| of a guess, where the test has another norm   */
  PetscReal excess;   /* KSPFusedExcess() at the last start of KSPFusedVerify_Private() */
  PetscReal rate;     /* norm after / norm before the last iteration               */
  PetscBool solution; /* x is the solution, not the correction                     */
  PetscBool intact;   /* no iteration can be launched after a reason that changes something */
} KSPFusedProgress;

static PetscErrorCode KSPFusedWait_Private(KSPFused *f, SpikeKrylovPost *post)
{
  PetscFunctionBegin;
  if (f->s.ondevice) PetscCall((*f->s.k->wait)(&f->s, post));
  else {
    PetscAssert(f->run.nread < f->run.posted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No step has posted");
    *post = f->run.ring[f->run.nread % 4];
  }
  f->run.nread++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As KSPCheckNorm(): the preconditioner may have failed on some ranks */
static PetscErrorCode KSPFusedNotFinite_Private(KSP ksp)
{
  PCFailedReason pcreason;

  PetscFunctionBegin;
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
             "KSPSolve has not converged due to infinity or NaN");
  PetscCall(PCReduceFailedReason(ksp->pc));
  PetscCall(PCGetFailedReason(ksp->pc, &pcreason));
  PetscCall(VecFlag(ksp->vec_sol, pcreason));
  ksp->reason = pcreason ? KSP_DIVERGED_PC_FAILED : KSP_DIVERGED_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step has set this reason; a start that wants another start has none to go back to */
static PetscErrorCode KSPFusedSetReason_Private(KSP ksp, int reason)
{
  PetscFunctionBegin;
  if (reason == KSP_DIVERGED_NANORINF) PetscCall(KSPFusedNotFinite_Private(ksp));
  else if (reason == KSP_DIVERGED_INDEFINITE_MAT && ksp->converged_neg_curve) ksp->reason = KSP_CONVERGED_NEG_CURVE;
  else ksp->reason = reason == SPIKE_KRYLOV_RESTART ? KSP_DIVERGED_BREAKDOWN : (KSPConvergedReason)reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Starts the recurrences from the residual in work[0] */
static PetscErrorCode KSPFusedStart_Private(KSP ksp, SpikeKrylovPost *post)
{
  KSPFused           *f = (KSPFused *)ksp->data;
  SpikeKrylovScalars *s = f->s.scalars;

  PetscFunctionBegin;
  s->it           = ksp->its;
  s->reason       = 0;
  s->t.norm       = (int)ksp->normtype;
  f->run.since    = 0;
  f->run.fromzero = PETSC_FALSE;
  if (!f->s.ondevice) f->run.nread = f->run.posted; /* what was posted before means nothing now */
  PetscCall((*f->s.k->push)(&f->s, PETSC_FALSE));
  PetscCall((*f->method->start)(ksp));
  PetscCall(KSPFusedWait_Private(f, post));
  KSPFusedBeginUpdates(ksp, post->norm);
  KSPFusedBeginFactors(ksp, post->norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One post through history, monitors and the test of the KSP. Where b and x are divided by a unit, the caller sees
  norms, right-hand side and solution of the problem as it was, and the tests of PETSc's and ours what the method sees
*/
static PetscErrorCode KSPFusedReport_Private(KSP ksp, const SpikeKrylovPost *post)
{
  const KSPFused *f    = (const KSPFused *)ksp->data;
  const PetscReal norm = ksp->normtype == KSP_NORM_NONE ? 0.0 : post->norm, shown = norm * f->run.unit;
  const PetscBool scaled = (PetscBool)(f->run.unit != 1.0),
                  known  = (PetscBool)(ksp->converged == KSPConvergedDefault || ksp->converged == KSPConvergedSkip ||
                                      ksp->converged == KSPFusedConvergedInfinity);
  Vec            b       = ksp->vec_rhs;
  PetscReal      abstol;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectSAWsTakeAccess((PetscObject)ksp));
  ksp->its   = post->it;
  ksp->rnorm = shown;
  PetscCall(PetscObjectSAWsGrantAccess((PetscObject)ksp));
  if (scaled) ksp->vec_rhs = f->run.rhs;
  PetscCall(KSPLogResidualHistory(ksp, shown));
  PetscCall(KSPMonitor(ksp, post->it, shown));
  if (!scaled || !known) PetscCall((*ksp->converged)(ksp, post->it, shown, &ksp->reason, ksp->cnvP));
  ksp->vec_rhs = b;
  ksp->rnorm   = norm;
  if (scaled && known) {
    abstol      = ksp->abstol;
    ksp->abstol = KSPFusedAbstol(ksp);
    ierr        = (*ksp->converged)(ksp, post->it, norm, &ksp->reason, ksp->cnvP);
    ksp->abstol = abstol;
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x becomes the guess, and the correction 0 */
static PetscErrorCode KSPFusedSetGuess_Private(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (!f->run.guess) PetscCall(VecDuplicate(ksp->work[0], &f->run.guess));
  PetscCall(VecCopy(ksp->vec_sol, f->run.guess));
  PetscCall(VecSet(ksp->vec_sol, 0.0));
  f->run.useguess = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The true residual, in work[0], and ||b - A x|| */
static PetscErrorCode KSPFusedLook_Private(KSP ksp, PetscReal *truth)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  PetscCall(KSPFusedNorm(ksp, KSPFusedTruth(ksp), truth));
  ((KSPFused *)ksp->data)->info.unpreconditioned = *truth;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After KSPFusedLook_Private(): where x was a correction it is the solution from now on, and the method must not go on
  but from KSPFusedFollow_Private()
*/
static PetscErrorCode KSPFusedTake_Private(KSP ksp, KSPFusedProgress *p)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(VecCopy(ksp->work[f->method->scratch[0]], ksp->vec_sol));
    p->solution = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Goes on from the true residual in work[0], to another tolerance; started: from the recurrences of that residual */
static PetscErrorCode KSPFusedFollow_Private(KSP ksp, PetscReal ttol, PetscBool started, SpikeKrylovPost *post,
                                             KSPFusedProgress *p)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  ksp->reason = KSP_CONVERGED_ITERATING;
  ksp->ttol   = ttol;
  p->started  = ksp->its;
  f->info.restarts++;
  if (!started) PetscCall(KSPFusedStart_Private(ksp, post));
  f->s.scalars->t.ttol = ttol;
  PetscCall((*f->s.k->push)(&f->s, PETSC_TRUE));
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(KSPFusedSetGuess_Private(ksp));
    p->solution     = PETSC_FALSE;
    f->run.fromzero = PETSC_TRUE;
  }
  if (post->reason) PetscCall(KSPFusedSetReason_Private(ksp, post->reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of a solve whose claim the true residual has refuted, and refutes again */
static PetscErrorCode KSPFusedRefute_Private(KSP ksp, PetscReal norm, PetscReal goal, PetscReal truth, PetscReal bound)
{
  KSPFused                *f      = (KSPFused *)ksp->data;
  const KSPConvergedReason reason = ksp->reason;
  const double             unit   = (double)f->run.unit;

  PetscFunctionBegin;
  if (ksp->its >= ksp->max_it && norm > 0.0) {
    ksp->reason = KSP_DIVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  f->info.pcsingular = (PetscBool)(norm <= KSP_FUSED_MOST_TESTED * goal);
  if (f->info.pcsingular) {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
               "KSPSolve has not converged: preconditioner singular or nearly: %s with a norm of %g, but ||b - A x|| "
               "is %g, above %g",
               KSPConvergedReasons[reason], unit * (double)norm, unit * (double)truth,
               unit * (double)(KSP_FUSED_MOST_TRUE * bound));
    PetscCall(PetscInfo(ksp, "Preconditioner singular or nearly: norm of the test %g, ||b - A x|| %g, above %g\n",
                        unit * (double)norm, unit * (double)truth, unit * (double)(KSP_FUSED_MOST_TRUE * bound)));
  }
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
             "KSPSolve has not converged: %s by recurrence, but the true residual norm is %g, the tolerance %g",
             KSPConvergedReasons[reason], unit * (double)norm, unit * (double)goal);
  ksp->rnorm  = norm;
  ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedVerify_Private(KSP, PetscBool, KSPFusedProgress *);

/* What the solve does with this preconditioner */
static PetscErrorCode KSPFusedMeetPC_Private(KSP ksp, KSPFusedProgress *p)
{
  KSPFused       *f         = (KSPFused *)ksp->data;
  const PetscBool isdefault = (PetscBool)(ksp->converged == KSPConvergedDefault),
                  skip      = (PetscBool)(ksp->converged == KSPConvergedSkip);
  PetscBool never;

  PetscFunctionBegin;
  PetscCall(KSPFusedKnowPC(ksp));
  PetscCall(KSPFusedSetSingle(ksp));
  PetscCall(KSPFusedNeverWaits(ksp, &never));
  p->intact = (PetscBool)(f->pc.identity || f->pc.diagonal || !f->s.ondevice || !never);
  p->ahead  = f->s.ondevice && never && !f->options.lockstep && !ksp->numbermonitors && (isdefault || skip) ? 1 : 0;
  f->info.lockstep = (PetscBool)!p->ahead;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B has changed, and the test has a norm with B in it: the tolerance of PETSc's test is that of B b, where x was 0 */
static PetscErrorCode KSPFusedRenewGoal_Private(KSP ksp, KSPFusedProgress *p)
{
  KSPFused       *f = (KSPFused *)ksp->data;
  SpikeKrylovPost post;
  Vec             x;

  PetscFunctionBegin;
  if (KSPFusedTestsTruth(ksp) || ksp->converged != KSPConvergedDefault || !ksp->guess_zero || !KSPFusedIsTested(ksp))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(ksp->vec_sol, &x));
  PetscCall(VecCopy(ksp->vec_sol, x));
  PetscCall(VecSet(ksp->vec_sol, 0.0));
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  PetscCall(KSPFusedStart_Private(ksp, &post));
  PetscCall(VecCopy(x, ksp->vec_sol));
  PetscCall(VecDestroy(&x));
  f->run.update.initial   = post.norm;
  ksp->rnorm0             = post.norm;
  ksp->ttol               = PetscMax(ksp->rtol * post.norm, KSPFusedAbstol(ksp));
  p->goal                 = ksp->ttol;
  f->s.scalars->t.ttol    = ksp->ttol;
  f->s.scalars->t.dtol    = ksp->divtol * ksp->rnorm0;
  f->s.scalars->t.chknorm = ksp->chknorm;
  PetscCall((*f->s.k->push)(&f->s, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Factors or the diagonal of the preconditioner in PetscScalar. A correction B u becomes the solution while B is what it
  was, if that is nearer than the guess. The host waits for the norm, and so for all that a device still does with the
  old factors
*/
static PetscErrorCode KSPFusedLeaveLow_Private(KSP ksp, KSPFusedProgress *p)
{
  KSPFused *f = (KSPFused *)ksp->data;
  PetscReal truth;

  PetscFunctionBegin;
  PetscCall(KSPFusedLook_Private(ksp, &truth));
  if (KSPFusedIsCorrection(ksp) && !p->solution) {
    if (truth <= f->run.update.initial || (ksp->normtype == KSP_NORM_NONE && !PetscIsInfOrNanReal(truth)))
      PetscCall(KSPFusedTake_Private(ksp, p));
    else PetscCall(VecSet(ksp->vec_sol, 0.0));
  }
  if (f->factors.low) PetscCall(KSPFusedWidenFactors(ksp));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedMeetPC_Private(ksp, p));
  f->s.scalars->f.scale = f->pc.scaled ? f->pc.scale : 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The iterations with fewer digits have not gone well: a new start from the true residual with those of PetscScalar, in
  the factors of the preconditioner, and where products is set, in products and in the diagonal of PCJACOBI, which
  leaves norms what they are but for 2^-24. An x that was a correction and is the solution becomes the guess. Where it
  is worse than that of the beginning, and that is known, back to it
*/
static PetscErrorCode KSPFusedWiden_Private(KSP ksp, PetscBool products, KSPFusedProgress *p)
{
  KSPFused       *f      = (KSPFused *)ksp->data;
  const PetscBool lowers = f->factors.low, single = (PetscBool)(f->pc.single && products && f->product.rounds);
  PetscBool       solution;
  SpikeKrylovPost post;

  PetscFunctionBegin;
  if (f->info.replayed) PetscCall(KSPFusedTouch(ksp));
  if (products && f->product.rounds) PetscCall(KSPFusedWiden(ksp));
  ksp->reason = KSP_CONVERGED_ITERATING;
  if (lowers || single) {
    PetscCall(KSPFusedLeaveLow_Private(ksp, p));
    if (ksp->reason) {
      PetscCall(VecFlag(ksp->vec_sol, PETSC_TRUE));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(KSPFusedPrepareGraph(ksp));
  solution = p->solution;
  if (lowers) PetscCall(KSPFusedRenewGoal_Private(ksp, p));
  p->started  = ksp->its;
  p->launched = 0;
  if (p->solution) PetscCall(KSPFusedSetGuess_Private(ksp));
  p->solution = PETSC_FALSE;
  f->info.restarts++;
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  PetscCall(KSPFusedStart_Private(ksp, &post));
  if (!(post.norm <= f->run.update.initial) && (ksp->guess_zero || (KSPFusedIsCorrection(ksp) && !solution))) {
    PetscCall(VecSet(ksp->vec_sol, 0.0));
    PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
    PetscCall(KSPFusedStart_Private(ksp, &post));
  }
  if (PetscIsInfOrNanReal(post.norm)) PetscCall(KSPFusedNotFinite_Private(ksp));
  else if (post.norm == 0.0) { /* B may hide the residual */ ksp->reason = KSP_CONVERGED_ATOL;
    PetscCall(KSPFusedVerify_Private(ksp, PETSC_TRUE, p));
  } else if (post.reason) PetscCall(KSPFusedSetReason_Private(ksp, post.reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the true residual confirms that the solve has converged. Where it does not, the method goes on from it, as
  long as that halves by how much it is too large; then the reason is negative, unless ||b - A x|| itself is small
  enough. own: the method has claimed it, because it has nothing to divide by, and no test has.
*/
static PetscErrorCode KSPFusedVerify_Private(KSP ksp, PetscBool own, KSPFusedProgress *p)
{
  KSPFused       *f    = (KSPFused *)ksp->data;
  const PetscBool same = KSPFusedTestsTruth(ksp), two = f->method->residual_preconditioned,
                  tested  = KSPFusedIsTested(ksp),
                  asks    = (PetscBool)(own || !(same || KSPFusedIsAbsolute(ksp, ksp->reason, ksp->rnorm))),
                  started = (PetscBool) !(same || two);
  const PetscReal goal    = tested ? p->goal : PETSC_MAX_REAL;
  SpikeKrylovPost post    = {0, 0.0, 0.0, 0};
  PetscReal       truth, norm, bound = PETSC_MAX_REAL, excess;
  PetscBool       again = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(KSPFusedLook_Private(ksp, &truth));
  norm = truth;
  if (started) {
    PetscCall(KSPFusedStart_Private(ksp, &post));
    norm = post.norm;
  } else if (!same) PetscCall(KSPFusedNorm(ksp, ksp->work[0], &norm));
  f->info.truenorm = norm;
  if (PetscIsInfOrNanReal(norm) || PetscIsInfOrNanReal(truth)) {
    PetscCall(KSPFusedNotFinite_Private(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (f->product.rounds && tested && norm > goal && ksp->its < ksp->max_it) {
    PetscCall(KSPFusedRefuteUpdate(ksp, norm, &again));
    if (again && !started && p->intact) {
      PetscCall(KSPFusedResume(ksp, p->launched));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(KSPFusedTake_Private(ksp, p));
  if (asks) PetscCall(KSPFusedGetBound(ksp, ksp->vec_rhs, p->first, &bound));
  excess = KSPFusedExcess(norm, goal, truth, bound);
  if (again) excess = PetscMax(excess, KSPFusedRatio(norm, goal));
  if (excess == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "Norm of the test: %g by recurrence, %g in truth, the tolerance %g; ||b - A x|| = %g\n",
                      (double)ksp->rnorm, (double)norm, (double)ksp->ttol, (double)truth));
  if (tested && norm > 0.0 && (again || excess <= 0.5 * p->excess) && ksp->its < ksp->max_it) {
    p->excess = PetscMin(p->excess, excess);
    PetscCall(KSPFusedFollow_Private(ksp, KSPFusedNextTolerance(ksp->ttol, norm, truth, bound), started, &post, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if ((f->product.rounds || f->factors.low) && ksp->its < ksp->max_it) {
    PetscCall(KSPFusedWiden_Private(ksp, PETSC_TRUE, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!same && !asks) PetscCall(KSPFusedGetBound(ksp, ksp->vec_rhs, p->first, &bound));
  if (!same && truth <= bound) ksp->reason = KSP_CONVERGED_RTOL;
  else PetscCall(KSPFusedRefute_Private(ksp, norm, goal, truth, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No new start helps: the end, which is convergence where the true residual is small enough */
static PetscErrorCode KSPFusedBreakdown_Private(KSP ksp, KSPFusedProgress *p)
{
  PetscReal truth, bound = p->goal;

  PetscFunctionBegin;
  if (KSPFusedIsTested(ksp) && ((KSPFused *)ksp->data)->options.checktrue) {
    PetscCall(KSPFusedLook_Private(ksp, &truth));
    PetscCall(KSPFusedTake_Private(ksp, p));
    if (!KSPFusedTestsTruth(ksp)) PetscCall(KSPFusedGetBound(ksp, ksp->vec_rhs, p->first, &bound));
    if (truth <= bound) {
      PetscCall(PetscInfo(ksp, "Breakdown at ||b - A x|| = %g, which is below the tolerance\n", (double)truth));
      ksp->reason = KSP_CONVERGED_RTOL;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
             "KSPSolve breakdown in iteration %" PetscInt_FMT ", and no new start helps", ksp->its + 1);
  PetscCall(PetscInfo(ksp, "Breakdown in iteration %" PetscInt_FMT ", and no new start helps\n", ksp->its + 1));
  ksp->reason = KSP_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After a breakdown: a new start from the true residual, if an iteration was completed since the last start and that
  residual is not small enough. confirmed: it is, and the solve has converged
*/
static PetscErrorCode KSPFusedRestart_Private(KSP ksp, KSPFusedProgress *p, PetscBool *confirmed)
{
  KSPFused       *f      = (KSPFused *)ksp->data;
  const PetscBool tested = (PetscBool)(KSPFusedIsTested(ksp) && f->options.checktrue);
  SpikeKrylovPost post;
  PetscReal       truth = 0.0, bound = p->goal;

  PetscFunctionBegin;
  if (ksp->its > p->started) f->run.renewals = 0;
  if (ksp->its == p->started && !(f->method->renew && !f->run.renewals)) {
    PetscCall(KSPFusedBreakdown_Private(ksp, p));
    *confirmed = (PetscBool)(ksp->reason > 0);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(
    PetscInfo(ksp, "Breakdown after %" PetscInt_FMT " iterations: a new start from the true residual\n", ksp->its));
  p->started = ksp->its;
  f->info.restarts++;
  if (f->method->renew) {
    f->run.renewals++;
    PetscCall((*f->method->renew)(ksp));
  }
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  if (tested) {
    PetscCall(KSPFusedNorm(ksp, KSPFusedTruth(ksp), &truth));
    f->info.unpreconditioned = truth;
    if (!KSPFusedTestsTruth(ksp)) PetscCall(KSPFusedGetBound(ksp, ksp->vec_rhs, p->first, &bound));
  }
  PetscCall(KSPFusedStart_Private(ksp, &post));
  if (PetscIsInfOrNanReal(post.norm)) PetscCall(KSPFusedNotFinite_Private(ksp));
  else if (tested && truth <= bound && ksp->its >= ksp->min_it) {
    *confirmed  = PETSC_TRUE;
    ksp->reason = KSP_CONVERGED_RTOL;
  } else if (post.norm == 0.0) ksp->reason = KSP_CONVERGED_ATOL;
  else if (post.reason) PetscCall(KSPFusedSetReason_Private(ksp, post.reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rest of iteration `it`, counted from 1 */
static PetscErrorCode KSPFusedTail_Private(KSP ksp, PetscInt it)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  f->run.more = (PetscBool)(it < ksp->max_it);
  PetscCall((*f->method->tail)(ksp));
  f->run.since++;
  f->info.launched++;
  if (f->options.replacement && f->run.more && it % f->options.replacement == 0) {
    PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
    PetscCall((*f->method->replace)(ksp));
    f->info.replacements++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the true residual is to confirm the reason; own: no test has set it */
static PetscBool KSPFusedIsClaim_Private(KSP ksp, PetscBool own)
{
  const PetscBool skips = (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE);

  return (PetscBool)((ksp->reason == KSP_CONVERGED_RTOL || ksp->reason == KSP_CONVERGED_ATOL) &&
                     (((KSPFused *)ksp->data)->options.checktrue || ((KSPFused *)ksp->data)->product.rounds) &&
                     (KSPFusedIsTested(ksp) || (own && !skips)));
}

/*
  What a post means: reports it, sets a reason, or starts the recurrences anew. After a start p->launched is 0, because
  nothing that was launched before it counts.
*/
static PetscErrorCode KSPFusedHandle_Private(KSP ksp, const SpikeKrylovPost *post, KSPFusedProgress *p)
{
  KSPFused       *f      = (KSPFused *)ksp->data;
  const PetscBool device = (PetscBool)(post->reason != 0);
  PetscBool       own = PETSC_FALSE, confirmed = PETSC_FALSE;

  PetscFunctionBegin;
  p->launched--;
  if (post->it > ksp->its) {
    if (f->run.usewhole) f->info.persistent++;
    p->rate = ksp->rnorm > 0.0 ? PetscMin(1.0, post->norm / ksp->rnorm) : 1.0;
    PetscCall(KSPFusedReport_Private(ksp, post));
    if (f->product.rounds) KSPFusedObserve(ksp, post);
    PetscCall(KSPFusedObserveFactors(ksp, post));
  }
  if (KSPFusedWearsOut(ksp, ksp->reason ? (int)ksp->reason : post->reason, (PetscBool)(ksp->its == p->started))) {
    PetscCall(KSPFusedWiden_Private(ksp, PETSC_TRUE, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!ksp->reason && device) {
    if (post->reason == SPIKE_KRYLOV_RESTART) {
      PetscCall(KSPFusedRestart_Private(ksp, p, &confirmed));
      p->launched = 0;
    } else if (post->reason == KSP_DIVERGED_BREAKDOWN) {
      PetscCall(KSPFusedBreakdown_Private(ksp, p));
      confirmed = PETSC_TRUE;
    } else PetscCall(KSPFusedSetReason_Private(ksp, post->reason));
    own = PETSC_TRUE;
  }
  PetscCheck(!ksp->reason || !p->launched || device, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
             "The host found %s where the device did not", KSPConvergedReasons[ksp->reason]);
  if (!confirmed && KSPFusedIsClaim_Private(ksp, own)) {
    PetscCall(KSPFusedVerify_Private(ksp, own, p));
    if (!ksp->reason) p->launched = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Residual, backend, form and test of this solve; iteration 0. Nothing but *unit where b and x are to be divided by it
*/
static PetscErrorCode KSPFusedBegin_Private(KSP ksp, KSPFusedProgress *p, PetscReal *unit)
{
  KSPFused       *f         = (KSPFused *)ksp->data;
  const PetscBool isdefault = (PetscBool)(ksp->converged == KSPConvergedDefault),
                  skip      = (PetscBool)(ksp->converged == KSPConvergedSkip);
  Vec                 x = ksp->vec_sol, r = ksp->work[0];
  SpikeKrylovScalars *s;
  SpikeKrylovPost     post;
  PetscBool           same, own;

  PetscFunctionBegin;
  f->ops = &KSPFusedOps_Vector; /* an error may have ended a solve of several right-hand sides */
  PetscCall(KSPFusedSetForm(ksp));
  PetscCall(KSPFusedSetFactors(ksp, PETSC_TRUE));
  PetscCall(KSPFusedSetNarrow(ksp));
  f->run.lags = (PetscBool)(f->method->lags && !f->run.merged && !f->options.lockstep && !ksp->numbermonitors &&
                            (isdefault || skip));
  PetscCall(KSPFusedMeetPC_Private(ksp, p));
  PetscCall(KSPFusedPrepareGraph(ksp));
  f->run.usewhole = (PetscBool)(f->options.persistent != KSP_FUSED_PERSISTENT_OFF && f->method->whole &&
                                f->s.k->iterate && p->ahead && f->product.own && !f->product.narrow &&
                                !f->options.replacement && !PetscLogGpuTimeFlag);
  if (f->method->haswhole) f->run.usewhole = (PetscBool)(f->run.usewhole && (*f->method->haswhole)(ksp));
  else f->run.usewhole = (PetscBool)(f->run.usewhole && (f->pc.identity || f->pc.diagonal) && !f->run.merged);
  f->run.since    = 0;
  f->run.renewals = 0;
  f->run.useguess = PETSC_FALSE;
  f->run.nread = f->run.posted = 0;
  s                            = f->s.scalars;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->f.symmetric = f->options.symmetric ? 1.0 : 0.0;
  s->f.scale     = f->pc.scaled ? f->pc.scale : 1.0;
  ksp->its       = 0;

  if (f->method->residual_preconditioned) {
    Vec t = ksp->work[f->method->scratch[1]];

    PetscCall(KSPInitialResidual(ksp, x, ksp->work[f->method->scratch[0]], t, r, ksp->vec_rhs));
    if (f->pc.single && ksp->pc_side == PC_LEFT) PetscCall(KSPFusedApplyB(ksp, t, r)); /* t is b - A x */
  } else {
    if (!ksp->guess_zero) PetscCall(KSPFusedTrueResidual(ksp, r));
    else PetscCall(VecCopy(ksp->vec_rhs, r));
    PetscCall(VecFlag(r, ksp->reason == KSP_DIVERGED_PC_FAILED));
  }
  same = KSPFusedTestsTruth(ksp);
  if (!ksp->guess_zero && !same && !skip && f->options.checktrue)
    PetscCall(KSPFusedNorm(ksp, KSPFusedTruth(ksp), &p->first));
  if (KSPFusedIsCorrection(ksp) && !ksp->guess_zero) PetscCall(KSPFusedSetGuess_Private(ksp));
  PetscCall(KSPFusedStart_Private(ksp, &post));
  if (*unit == 1.0) {
    PetscCall(KSPFusedGetUnit(ksp, post.norm, ksp->vec_rhs, r, unit));
    if (*unit != 1.0) {
      if (f->run.useguess) PetscCall(VecCopy(f->run.guess, x));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  f->run.fromzero = KSPFusedIsCorrection(ksp);
  ksp->rnorm      = post.norm;
  if (PetscIsInfOrNanReal(post.norm)) {
    if (ksp->normtype == KSP_NORM_NONE) PetscCall(KSPFusedReport_Private(ksp, &post)); /* as 0, which nobody checks */
    PetscCall(KSPFusedNotFinite_Private(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(KSPFusedReport_Private(ksp, &post));
  p->goal = ksp->ttol;
  own     = (PetscBool)(!ksp->reason && post.norm == 0.0);
  if (own) ksp->reason = KSP_CONVERGED_ATOL; /* where no test looks at norms */
  if (!ksp->reason && post.reason) PetscCall(KSPFusedSetReason_Private(ksp, post.reason));

  s->t.test = isdefault ? SPIKE_KRYLOV_TEST_DEFAULT : (skip ? SPIKE_KRYLOV_TEST_SKIP : SPIKE_KRYLOV_TEST_HOST);
  if (isdefault) {
    s->t.ttol    = ksp->ttol;
    s->t.abstol  = KSPFusedAbstol(ksp);
    s->t.dtol    = ksp->divtol * ksp->rnorm0;
    s->t.minit   = ksp->min_it;
    s->t.chknorm = ksp->chknorm;
  }
  PetscCall((*f->s.k->push)(&f->s, PETSC_TRUE));
  if ((own || !same) && KSPFusedIsClaim_Private(ksp, own)) PetscCall(KSPFusedVerify_Private(ksp, own, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How many iterations more than the one that the host waits for it launches: none where that may be the last, the first
  of all, or one that reaches the tolerance at the rate of that before it
*/
static PetscInt KSPFusedAhead_Private(KSP ksp, const KSPFusedProgress *p)
{
  return p->ahead && !(KSPFusedIsTested(ksp) && (!ksp->its || p->rate * ksp->rnorm <= ksp->ttol)) ? p->ahead : 0;
}

/*
  Iterations of the next graph: many, where so many are left, also if the norm goes on to fall as it has fallen so far,
  and nothing happens between them. A graph of many is made only where it is launched several times
*/
static PetscInt KSPFusedNextGraph_Private(KSP ksp, const KSPFusedProgress *p)
{
  const KSPFused *f      = (const KSPFused *)ksp->data;
  const PetscBool tested = KSPFusedIsTested(ksp);
  const PetscInt  many = KSPFusedManyIterations(f), wanted = (f->graph.many ? 1 : 4) * many + p->launched;
  const PetscReal fallen = ksp->rnorm0 > 0.0 && ksp->rnorm > 0.0 ? PetscLogReal(ksp->rnorm0 / ksp->rnorm) : 0.0;

  if (!p->ahead || f->run.since % f->graph.period || f->product.rounds || f->factors.low ||
      ksp->max_it - ksp->its < wanted || (tested && ksp->its < 2))
    return 1;
  if (tested && ksp->ttol > 0.0 && fallen > 0.0 &&
      (PetscReal)ksp->its * PetscLogReal(ksp->rnorm / ksp->ttol) < (PetscReal)wanted * fallen)
    return 1;
  return many;
}

/*
  The solve. unit: what b and x are divided by; where it is 1, and they are to be divided by another one, only that
  number. x is as it was then, and nobody has seen a norm
*/
PetscErrorCode KSPFusedSolve(KSP ksp, PetscReal *unit)
{
  KSPFused        *f = (KSPFused *)ksp->data;
  KSPFusedProgress p = {0, 0, 0, 0.0, 0.0, PETSC_MAX_REAL, 1.0, PETSC_FALSE, PETSC_FALSE};
  SpikeKrylovPost  post;

  PetscFunctionBegin;
  PetscCall(KSPFusedBegin_Private(ksp, &p, unit));
  if (*unit != f->run.unit) PetscFunctionReturn(PETSC_SUCCESS);
  while (!ksp->reason) {
    while ((p.launched <= KSPFusedAhead_Private(ksp, &p) || f->run.carried) && ksp->its + p.launched < ksp->max_it) {
      const PetscBool carried = f->run.carried, due = KSPFusedIsDue(f, ksp->its + p.launched),
                      worn = (PetscBool)(due && f->run.update.worn),
                      weak = KSPFusedFactorsAreDue(f, ksp->its + p.launched);

      if (due || weak) {
        if ((worn || weak) && p.launched) break;
        if (worn || weak) PetscCall(KSPFusedWiden_Private(ksp, worn, &p));
        else PetscCall(KSPFusedUpdateResidual(ksp, ksp->its + p.launched));
        if (ksp->reason) break;
      }
      if (f->run.usewhole) {
        if (p.launched) break;
        PetscCall(KSPFusedIterate(ksp, ksp->max_it - ksp->its, &p.launched));
        if (p.launched) break;
      }
      if (f->run.usegraph && f->run.since >= f->graph.steady) {
        const PetscInt its = KSPFusedNextGraph_Private(ksp, &p);

        PetscCall(KSPFusedReplay(ksp, ksp->its + p.launched + 1, its));
        if (f->run.usegraph) {
          p.launched += its;
          continue;
        }
      }
      PetscCall((*f->method->head)(ksp));
      if (carried) { /* the iteration before is complete now, and x still has its value */
        PetscCall(KSPFusedWait_Private(f, &post));
        PetscCall(KSPFusedHandle_Private(ksp, &post, &p));
        if (ksp->reason || !f->run.since) break;
      }
      PetscCall(KSPFusedTail_Private(ksp, ksp->its + ++p.launched));
    }
    if (ksp->reason || (!p.launched && ksp->its < ksp->max_it)) continue;
    if (!p.launched) {
      ksp->reason = KSP_DIVERGED_ITS;
      break;
    }
    PetscCall(KSPFusedWait_Private(f, &post));
    PetscCall(KSPFusedHandle_Private(ksp, &post, &p));
  }
  PetscCall(KSPFusedSettle(ksp));
  if (KSPFusedIsCorrection(ksp) && !p.solution) {
    Vec       t = ksp->work[f->method->scratch[1]];
    PetscBool done;

    if (f->info.launched) { /* else x is 0, and B 0 need not be where B has failed */
      PetscCall(KSPFusedUnwind(ksp, t, &done));
      if (done) PetscCall(VecCopy(t, ksp->vec_sol));
      else if (f->pc.single) {
        PetscCall(KSPFusedApplyB(ksp, ksp->vec_sol, t));
        PetscCall(VecCopy(t, ksp->vec_sol));
      } else PetscCall(KSPUnwindPreconditioner(ksp, ksp->vec_sol, t));
      PetscCall(KSPFusedRemoveNullSpace(ksp, ksp->vec_sol));
    }
    if (f->run.useguess) PetscCall(VecAXPY(ksp->vec_sol, 1.0, f->run.guess));
  }
  f->run.useguess = PETSC_FALSE;
  if (f->info.replayed) PetscCall(KSPFusedTouch(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
