/* SPDX-License-Identifier: BSD-2-Clause */
/* bcgs.c: BiCGStab on the frame of fused methods */
#include "bcgsimpl.h"
#include "ksp_fused/fusedmethod.h"

/* s is written over r */
enum {
  R,
  RP,
  V,
  T,
  P,
  W,
  NWORKVECTORS
};

static PetscErrorCode KSPFusedStart_BCGS(KSP ksp)
{
  Vec *w = ksp->work;

  PetscFunctionBegin;
  PetscCall(KSPFusedStep(ksp, SPIKE_BCGS_START, PETSC_FALSE, w[R], w[RP], w[P])); /* rp = p = r; rho = r.r */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Words of n that an iteration moves besides its two products and preconditioners. Plain: 4 + 2 + 3 + 2 + 7 = 18, three
  reductions; the first iteration after a start skips the update of p. Merged: 2 + 3 + 3 + 8 = 16, two reductions: rho
  comes by recurrence, p is updated with x, and the norm joins the first reduction of the next iteration.
*/
static PetscErrorCode KSPFusedHead_BCGS(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec      *w = ksp->work;

  PetscFunctionBegin;
  /* p = r + beta (p - omega v) */
  if (f->run.since && !f->run.merged) PetscCall(KSPFusedStep(ksp, SPIKE_BCGS_P, PETSC_FALSE, w[R], w[V], w[P]));
  /* v = K p, alpha = rho / rp.v */
  PetscCall(KSPFusedApplyStep(ksp, w[P], w[V], w[W], SPIKE_BCGS_ALPHA, w[RP], w[V]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedTail_BCGS(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec      *w = ksp->work, x = ksp->vec_sol;

  PetscFunctionBegin;
  PetscCall(KSPFusedStep(ksp, SPIKE_BCGS_S, PETSC_FALSE, w[V], w[R])); /* s = r - alpha v */
  if (f->run.merged) {
    /* t = K s, omega = t.s / t.t, rho = rp.s - omega rp.t            */
    PetscCall(KSPFusedApplyStep(ksp, w[R], w[T], w[W], SPIKE_BCGS_OMEGA_RHO, w[R], w[T], w[RP]));
    /* x += alpha p + omega s, r = s - omega t, p = r + beta (p - omega v) */
    PetscCall(KSPFusedStep(ksp, SPIKE_BCGS_XP, f->run.more, w[T], w[V], w[P], x, w[R]));
  } else {
    /* t = K s, omega = t.s / t.t             */
    PetscCall(KSPFusedApplyStep(ksp, w[R], w[T], w[W], SPIKE_BCGS_OMEGA, w[R], w[T]));
    /* x += alpha p + omega s, r = s - omega t */
    PetscCall(KSPFusedStep(ksp, SPIKE_BCGS_X, PETSC_FALSE, w[P], w[T], w[RP], x, w[R]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedReplace_BCGS(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedStep(ksp, SPIKE_BCGS_RHO, PETSC_FALSE, ksp->work[RP], ksp->work[R]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const KSPFusedMethod KSPFusedMethod_BCGS = {
  .name                    = "BiCGStab",
  .plain                   = KSPBCGS,
  .nwork                   = NWORKVECTORS,
  .scratch                 = {W, T},
  .residual_preconditioned = PETSC_TRUE,
  .start                   = KSPFusedStart_BCGS,
  .head                    = KSPFusedHead_BCGS,
  .tail                    = KSPFusedTail_BCGS,
  .replace                 = KSPFusedReplace_BCGS,
  .whole                   = SPIKE_KRYLOV_BCGS,
};

/*MC
  KSPBCGSFUSED - BiCGStab {cite}`vorst92` with fused vector operations, merged reductions, and scalars that stay where
  the vectors are

  Options Database Keys:
+ -ksp_fused_reductions (plain|merged)     - three reductions an iteration, or two, `KSPFusedSetReductions()`
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
. -ksp_fused_matsolve (columns|single)     - several right-hand sides in `KSPMatSolve()`: all columns together, or one
                                           by one, `KSPFusedSetMatSolveType()`
- -ksp_fused_converged_infinity            - test the infinity norm, `KSPFusedConvergedInfinity()`

  Level: intermediate

  Notes:
  Preconditioning is from the right by default, and the test sees the norm of $b - A x$; `KSPBCGS` preconditions
  from the left. With `KSPSetPCSide()` or `KSPSetNormType()` the sides and norms are those of `KSPBCGS`: left
  preconditioning with the preconditioned norm, right preconditioning with the unpreconditioned one, none with both. The
  iterates are those of `KSPBCGS` with the same side, up to rounding. An iteration has two products and two
  preconditioners. Any `Mat` and any `PC` work. From either side the solution has no part in the null space of
  `MatSetNullSpace()`.

  With vectors on a CUDA device and one rank the scalars and the convergence test of `KSPConvergedDefault()` and
  `KSPConvergedSkip()` are there too, and the host runs one iteration ahead where operator and preconditioner only
  enqueue work on the device; monitors, other tests and other preconditioners run in lockstep. Solution, iterations,
  reason and residual history are the same bits in both ways. Several ranks run in lockstep too: the host drives the
  exchange of values in their products, and takes sums over the ranks where it waits anyway.

  Where all that an iteration launches is of this library it becomes a CUDA graph: with a copy of the matrix
  (-ksp_fused_spmv) and `PCNONE`, `PCJACOBI` or `PCSPIKE`. Where the problem is small, with `PCNONE` or `PCJACOBI`, a
  kernel makes many iterations (-ksp_fused_persistent).

  A breakdown leads to a new start from the true residual, and to `KSP_DIVERGED_BREAKDOWN` where no iteration has been
  completed since the last start, unless that residual is small enough. The true residual has to confirm convergence;
  where it does not the method starts again from it, and ends with `KSP_DIVERGED_BREAKDOWN` when that no longer halves
  it: `KSPFusedSetCheckTrueResidual()` has the rules. So no preconditioner hides a residual. `KSPFusedGetInfo()` tells
  about both.

  Where the square of the first norm would overflow or underflow, b and x are divided by a power of two in the solve.
  Monitors, the history and tests of a user see norms and vectors of the problem as it was. An absolute tolerance stays
  what it is: the default of PETSc, 1e-50, calls x = 0 converged where b is smaller.

  On matrices with large imaginary parts in their spectrum BiCGStab stagnates. `KSPBCGSL` with -ksp_bcgsl_ell 2 or 4 and
  left preconditioning is the remedy then, or an IDR method; with right preconditioning `KSPBCGSL` of PETSc 3.26.1
  returns a wrong solution.

.seealso: [](ch_ksp), `KSPBCGS`, `KSPBCGSL`, `KSPCGFUSED`, `KSPCreate()`, `KSPSetType()`, `KSPSetPCSide()`,
`KSPFusedSetReductions()`, `KSPFusedSetCheckTrueResidual()`, `KSPFusedSetResidualReplacement()`,
`KSPFusedSetLockstep()`, `KSPFusedSetSpMVType()`, `KSPFusedSetPrecision()`, `KSPFusedSetGraph()`,
`KSPFusedSetPersistent()`, `KSPFusedConvergedInfinity()`, `KSPFusedGetInfo()`, `KSPMatSolve()`,
`KSPFusedSetMatSolveType()`, `KSPFusedGetColumns()`
M*/
PetscErrorCode KSPCreate_BCGSFused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate_Fused(ksp, &KSPFusedMethod_BCGS));
  /* the largest number that side and norm of the user leave is taken */
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 4));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
