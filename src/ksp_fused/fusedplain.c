/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedplain.c: vectors that have operations but no arrays, as those that SLEPc's Jacobi-Davidson puts together of
  several. Fused steps work on arrays. PETSc's KSP of the same method works on operations and solves in the place of
  ours, with the tests, monitors and preconditioner of the caller's
*/
#include "fusedplain.h"
#include "fusedfactors.h"
#include "fusedtruth.h"

static PetscErrorCode KSPFusedMonitorPlain_Private(KSP plain, PetscInt it, PetscReal norm, PetscCtx ctx)
{
  KSP ksp = (KSP)ctx;

  PetscFunctionBegin;
  (void)plain;
  ksp->its   = it;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedTestPlain_Private(KSP plain, PetscInt it, PetscReal norm, KSPConvergedReason *reason,
                                                PetscCtx ctx)
{
  KSP ksp = (KSP)ctx;

  PetscFunctionBegin;
  (void)plain;
  ksp->its   = it;
  ksp->rnorm = norm;
  PetscCall((*ksp->converged)(ksp, it, norm, reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedCreatePlain_Private(KSP ksp, KSP *plain)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)ksp), plain));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*plain, (PetscObject)ksp, 0));
  PetscCall(KSPSetNestLevel(*plain, ksp->nestlevel));
  PetscCall(KSPSetType(*plain, f->method->plain));
  PetscCall(KSPMonitorSet(*plain, KSPFusedMonitorPlain_Private, ksp, NULL));
  PetscCall(KSPSetConvergenceTest(*plain, KSPFusedTestPlain_Private, ksp, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the caller has set */
static PetscErrorCode KSPFusedSetPlain_Private(KSP ksp, KSP plain)
{
  PetscErrorCode (*gets)(KSP, PetscInt *);
  PetscInt s;

  PetscFunctionBegin;
  PetscCall(KSPSetPC(plain, ksp->pc));
  PetscCall(KSPSetPCSide(plain, ksp->pc_side));
  PetscCall(KSPSetNormType(plain, ksp->normtype));
  PetscCall(KSPSetTolerances(plain, ksp->rtol, ksp->abstol, ksp->divtol, ksp->max_it));
  PetscCall(KSPSetMinimumIterations(plain, ksp->min_it));
  PetscCall(KSPSetCheckNormIteration(plain, ksp->chknorm));
  PetscCall(KSPCGSetType(plain, PetscDefined(USE_COMPLEX) && !((KSPFused *)ksp->data)->options.symmetric
                                  ? KSP_CG_HERMITIAN
                                  : KSP_CG_SYMMETRIC));
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp, "KSPIDRGetS_C", &gets));
  if (gets) {
    PetscCall((*gets)(ksp, &s));
    PetscCall(KSPIDRSetS(plain, s));
  }
  plain->lagnorm         = ksp->lagnorm;
  plain->guess_zero      = ksp->guess_zero;
  plain->transpose_solve = ksp->transpose_solve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tolerance that was reached is confirmed in ||b - A x||, as that of a fused solve */
static PetscErrorCode KSPFusedConfirmPlain_Private(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Mat       A;
  Vec       r = ksp->work[0];
  PetscReal norm, bound;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(KSP_MatMult(ksp, A, ksp->vec_sol, r));
  PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
  PetscCall(KSPFusedNorm(ksp, r, &norm));
  PetscCall(KSPFusedNorm(ksp, ksp->vec_rhs, &bound));
  bound                    = KSP_FUSED_MOST_TRUE * PetscMax(ksp->rtol * bound, ksp->abstol);
  f->info.truenorm         = norm;
  f->info.unpreconditioned = norm;
  if (norm <= bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "The norm of the test fell below the tolerance, but ||b - A x|| is %g, above %g\n",
                      (double)norm, (double)bound));
  ksp->reason = PetscIsInfOrNanReal(norm) ? KSP_DIVERGED_NANORINF : KSP_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedSolvePlain(KSP ksp)
{
  KSPFused      *f = (KSPFused *)ksp->data;
  KSP            plain;
  PetscBool      has = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(SpikeKSPHasType(f->method->plain, &has));
  PetscCheck(has, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "Vectors of type %s have no arrays, and PETSc %d.%d has no KSPType %s, which would solve in the place of "
             "%s: take -ksp_type %s, or PETSc 3.26",
             ((PetscObject)ksp->vec_sol)->type_name, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, f->method->plain,
             ((PetscObject)ksp)->type_name, KSPBCGSFUSED);
  PetscCall(PetscMemzero(&f->info, sizeof(f->info)));
  f->info.truenorm = f->info.unpreconditioned = -1.0;
  f->info.unit                                = 1.0;
  f->info.lockstep                            = PETSC_TRUE;
  PetscCall(PetscStrncpy(f->info.backend, "petsc", sizeof(f->info.backend)));
  PetscCall(PetscInfo(ksp, "Vectors of type %s have no arrays: the solve is that of -ksp_type %s\n",
                      ((PetscObject)ksp->vec_sol)->type_name, f->method->plain));
  PetscCall(KSPDestroy(&f->plain));                       /* an error may have left one */
  PetscCall(KSPFusedCreatePlain_Private(ksp, &f->plain)); /* another KSPBCGS may add the guess of the last solve to x */
  plain = f->plain;
  PetscCall(KSPFusedSetFactors(ksp, PETSC_FALSE));
  PetscCall(KSPFusedSetPlain_Private(ksp, plain));
  plain->vec_rhs = ksp->vec_rhs; /* work vectors are like these */
  plain->vec_sol = ksp->vec_sol;
  ierr           = KSPSetUp(plain);
  if (!ierr) ierr = (*plain->ops->solve)(plain);
  plain->vec_rhs = plain->vec_sol = NULL;
  PetscCall(ierr);
  ksp->its    = plain->its;
  ksp->reason = plain->reason;
  PetscCall(KSPDestroy(&f->plain));
  if ((ksp->reason == KSP_CONVERGED_RTOL || ksp->reason == KSP_CONVERGED_ATOL) && KSPFusedIsTested(ksp) &&
      f->options.checktrue)
    PetscCall(KSPFusedConfirmPlain_Private(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
