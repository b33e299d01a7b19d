/* SPDX-License-Identifier: BSD-2-Clause */
/* cg.c: conjugate gradients on the frame of fused methods */
#include "cgimpl.h"

/* z = B r */
static PetscErrorCode KSPFusedPrecondition_CG(KSP ksp)
{
  PetscFunctionBegin;
  if (!((KSPFused *)ksp->data)->pc.identity) PetscCall(KSPFusedPCApply(ksp, ksp->work[R], ksp->work[Z]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedStart_CG(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec      *w = ksp->work, z = KSPFusedZ_CG(ksp);

  PetscFunctionBegin;
  PetscCall(KSPFusedPrecondition_CG(ksp)); /* z = B r */
  if (f->run.merged) {
    /* s = A z; p = z, w = s; rho = z.r, alpha = rho / z.s */
    PetscCall(KSPFusedMult(ksp, z, w[S]));
    PetscCall(KSPFusedStep(ksp, SPIKE_CG1_START, PETSC_FALSE, w[R], z, w[S], w[P], w[W]));
  } else PetscCall(KSPFusedStep(ksp, SPIKE_CG_START, PETSC_FALSE, w[R], z, w[P])); /* p = z; rho = z.r */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Words of n that an iteration moves besides its product and preconditioner. Plain: 2 + 6 + 2 + 3 = 13 and two
  reductions, 11 with B = I, 13 in all with a diagonal B. Where nobody looks at x between iterations it lags by a step,
  which is made in the pass over p that the next one needs anyway: 2 + 3 + 2 + 5 = 12, 10 with B = b I, 12 with a
  diagonal B. Merged: 10 + 3 = 13, one reduction, in which p.Ap = z.Az - |beta|^2 (p.Ap)_old loses digits when the two
  are close.
*/
static PetscErrorCode KSPFusedHead_CG(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec      *w = ksp->work, x = ksp->vec_sol, z = KSPFusedZ_CG(ksp);

  PetscFunctionBegin;
  if (f->run.merged) PetscFunctionReturn(PETSC_SUCCESS);
  if (f->run.since && f->run.lags) { /* x += lag p, p = z + beta p */
    if (f->pc.scaled) PetscCall(KSPFusedStep(ksp, SPIKE_CG_XPS, PETSC_FALSE, w[R], w[P], x));
    else if (f->pc.diagonal) PetscCall(KSPFusedStep(ksp, SPIKE_CG_XPD, PETSC_FALSE, w[R], f->pc.diagonal, w[P], x));
    else PetscCall(KSPFusedStep(ksp, SPIKE_CG_XP, PETSC_FALSE, z, w[P], x));
  } else if (f->run.since) PetscCall(KSPFusedStep(ksp, SPIKE_CG_P, PETSC_FALSE, z, w[P])); /* p = z + beta p */
  PetscCall(KSPFusedMultStep(ksp, w[P], w[W], SPIKE_CG_ALPHA, w[P], w[W])); /* w = A p, alpha = rho / p.w */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedTail_CG(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec      *w = ksp->work, x = ksp->vec_sol, z = KSPFusedZ_CG(ksp);

  PetscFunctionBegin;
  if (f->run.merged) {
    /* p = z + beta p, w = s + beta w, x += alpha p, r -= alpha w */
    if (f->run.since) PetscCall(KSPFusedStep(ksp, SPIKE_CG1_X, PETSC_FALSE, z, w[S], w[P], w[W], x, w[R]));
    else PetscCall(KSPFusedStep(ksp, SPIKE_CG_X, PETSC_FALSE, w[P], w[W], x, w[R]));
    PetscCall(KSPFusedPrecondition_CG(ksp));                                  /* z = B r           */
    PetscCall(KSPFusedMultStep(ksp, z, w[S], SPIKE_CG1_BETA, w[R], z, w[S])); /* s = A z; beta, alpha, norm */
  } else if (f->run.lags) {
    f->run.lagging = PETSC_TRUE;
    /* r -= alpha w; z = b r, beta = z.r / rho */
    if (f->pc.identity || f->pc.scaled) PetscCall(KSPFusedStep(ksp, SPIKE_CG_RS, PETSC_FALSE, w[W], w[R]));
    else if (f->pc.diagonal)
      PetscCall(KSPFusedStep(ksp, SPIKE_CG_RD, PETSC_FALSE, w[W], f->pc.diagonal, w[R])); /* the same with z = d r */
    else {
      PetscCall(KSPFusedStep(ksp, SPIKE_CG_R, PETSC_FALSE, w[W], w[R]));
      PetscCall(KSPFusedPrecondition_CG(ksp));
      PetscCall(KSPFusedStep(ksp, SPIKE_CG_RBETA, PETSC_FALSE, w[R], z));
    }
  } else if (f->pc.identity && !f->options.symmetric) /* x += alpha p, r -= alpha w; beta = r.r / rho */
    PetscCall(KSPFusedStep(ksp, SPIKE_CG_XR, PETSC_FALSE, w[P], w[W], x, w[R]));
  else if (f->pc.diagonal) /* the same, z = d r; beta = z.r / rho */
    PetscCall(KSPFusedStep(ksp, SPIKE_CG_XZ, PETSC_FALSE, w[P], w[W], f->pc.diagonal, x, w[R], z));
  else {
    PetscCall(KSPFusedStep(ksp, SPIKE_CG_X, PETSC_FALSE, w[P], w[W], x, w[R])); /* x += alpha p, r -= alpha w */
    PetscCall(KSPFusedPrecondition_CG(ksp));                                    /* z = B r                    */
    PetscCall(KSPFusedStep(ksp, SPIKE_CG_BETA, PETSC_FALSE, w[R], z));          /* beta = z.r / rho           */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step that x lags by */
static PetscErrorCode KSPFusedSettle_CG(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (!f->run.lagging) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedStep(ksp, SPIKE_CG_SETTLE, PETSC_FALSE, ksp->work[P], ksp->vec_sol));
  f->run.lagging = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedReplace_CG(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedPrecondition_CG(ksp));
  PetscCall(KSPFusedStep(ksp, SPIKE_CG_RHO, PETSC_FALSE, ksp->work[R], KSPFusedZ_CG(ksp)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const KSPFusedMethod KSPFusedMethod_CG = {
  .name        = "CG",
  .plain       = KSPCG,
  .nwork       = NWORKVECTORS,
  .scratch     = {W, S},
  .start       = KSPFusedStart_CG,
  .head        = KSPFusedHead_CG,
  .tail        = KSPFusedTail_CG,
  .replace     = KSPFusedReplace_CG,
  .settle      = KSPFusedSettle_CG,
  .whole       = SPIKE_KRYLOV_CG,
  .tallstart   = KSPFusedTallStart_CG,
  .talliterate = KSPFusedTallIterate_CG,
  .lags        = PETSC_TRUE,
};

static PetscErrorCode KSPCGSetType_CGFused(KSP ksp, KSPCGType type)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.symmetric = (PetscBool)(type == KSP_CG_SYMMETRIC);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static KSPCGType KSPCGGetType_CGFused(KSP ksp)
{
  return ((KSPFused *)ksp->data)->options.symmetric ? KSP_CG_SYMMETRIC : KSP_CG_HERMITIAN;
}

static PetscErrorCode KSPSetFromOptions_CGFused(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  PetscEnum type = (PetscEnum)KSPCGGetType_CGFused(ksp);
  PetscBool set  = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(KSPSetFromOptions_Fused(ksp, PetscOptionsObject));
  if (PetscDefined(USE_COMPLEX))
    PetscCall(PetscOptionsEnum("-ksp_cg_type", "Matrix is Hermitian or complex symmetric", "KSPCGSetType", KSPCGTypes,
                               type, &type, &set));
  if (set) PetscCall(KSPCGSetType(ksp, (KSPCGType)type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_CGFused(KSP ksp, PetscViewer viewer)
{
  PetscBool isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii && PetscDefined(USE_COMPLEX))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  variant %s\n", KSPCGTypes[KSPCGGetType_CGFused(ksp)]));
  PetscCall(KSPView_Fused(ksp, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_CGFused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPCGSetType_C", NULL));
  PetscCall(KSPDestroy_Fused(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  KSPCGFUSED - Preconditioned conjugate gradients {cite}`hs:52` with fused vector operations, merged reductions, and
  scalars that stay where the vectors are

  Options Database Keys:
+ -ksp_fused_reductions (plain|merged)     - two reductions an iteration, or one, `KSPFusedSetReductions()`
. -ksp_fused_check_true_residual (true|false) - compute the true residual at convergence,
                                                `KSPFusedSetCheckTrueResidual()`
. -ksp_fused_residual_replacement k        - replace the residual by the true one every k iterations,
                                           `KSPFusedSetResidualReplacement()`
. -ksp_fused_spmv (petsc|auto|sell|dia|stencil|blocks) - `MatMult()`, or a copy of the matrix with a product of our
                                           own, `KSPFusedSetSpMVType()`
. -ksp_fused_precision (double|single|bf16|auto) - values of the matrix in products, `KSPFusedSetPrecision()`
. -ksp_fused_graph (auto|off)              - iterations as a CUDA graph, `KSPFusedSetGraph()`
. -ksp_fused_persistent (auto|off|on|grid|cluster) - many iterations in one kernel, `KSPFusedSetPersistent()`
. -ksp_fused_lockstep (true|false)         - the host waits for each iteration, `KSPFusedSetLockstep()`
. -ksp_fused_matsolve (columns|single|block) - several right-hand sides in `KSPMatSolve()`: all columns together, one by
                                               one, or block CG, `KSPFusedSetMatSolveType()`
. -ksp_cg_type (hermitian|symmetric)       - with complex numbers, what the operator is, `KSPCGSetType()`
- -ksp_fused_converged_infinity            - test the infinity norm, `KSPFusedConvergedInfinity()`

  Level: intermediate

  Notes:
  For symmetric, with complex numbers Hermitian, definite matrices, or, with `KSPCGSetType()`, complex symmetric
  ones, whose p.Ap may have any phase: only 0 is a breakdown. The iterates are those of `KSPCG`, up to rounding. The
  test sees the norm of $b - A x$ by default, whose sum is in the iteration anyway; `KSPCG` tests the preconditioned
  norm. The norms of `KSPSetNormType()` are those of `KSPCG`: unpreconditioned, preconditioned, natural and none, with
  left preconditioning. Estimates of eigenvalues are not there: `KSPCG` has them.

  The merged form is that of `KSPCGUseSingleReduction()`: one reduction less, five work vectors, a product more in the
  whole, and a p.Ap by recurrence, which limits the accuracy that can be reached on ill-conditioned problems.

  Of what `KSPBCGSFUSED` says about the host, about breakdowns and about the true residual all holds here too.
  `KSP_DIVERGED_INDEFINITE_MAT` and `KSP_DIVERGED_INDEFINITE_PC` end a solve at once. A preconditioner that makes 0 of
  the first residual is `KSP_DIVERGED_BREAKDOWN`, which `KSPCG` calls converged.

.seealso: [](ch_ksp), `KSPCG`, `KSPBCGSFUSED`, `KSPCreate()`, `KSPSetType()`, `KSPFusedSetReductions()`,
`KSPFusedSetCheckTrueResidual()`, `KSPFusedSetResidualReplacement()`, `KSPFusedSetLockstep()`, `KSPFusedSetSpMVType()`,
`KSPFusedSetPrecision()`, `KSPFusedSetGraph()`, `KSPFusedSetPersistent()`, `KSPFusedConvergedInfinity()`,
`KSPFusedGetInfo()`,
`KSPSetConvergedNegativeCurvature()`, `KSPCGSetType()`, `KSPMatSolve()`, `KSPFusedSetMatSolveType()`
M*/
PetscErrorCode KSPCreate_CGFused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate_Fused(ksp, &KSPFusedMethod_CG));
  ksp->ops->setfromoptions = KSPSetFromOptions_CGFused;
  ksp->ops->view           = KSPView_CGFused;
  ksp->ops->destroy        = KSPDestroy_CGFused;
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPCGSetType_C", KSPCGSetType_CGFused));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NATURAL, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
