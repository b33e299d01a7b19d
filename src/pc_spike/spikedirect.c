/* SPDX-License-Identifier: BSD-2-Clause */
/* spikedirect.c: PCSPIKE as a direct solver: its solves, how they begin and end, the view of them */
#include "spikeimpl.h"
#include "common/petsccompat.h"

PetscErrorCode PCSpikeRefineVec_Private(PC pc, PetscBool trans, Vec b, Vec x)
{
  PetscBool checks;
  PetscReal eta;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineChecks_Private(pc, trans, &checks));
  if (!checks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Refine, pc, b, x, 0));
  PetscCall(PCSpikeRefineOrdered_Private(pc, trans, b, x, &eta));
  PetscCall(PetscLogEventEnd(PC_Spike_Refine, pc, b, x, 0));
  PetscCall(PCSpikeRefineAgain_Private(pc, trans, b, x, &eta));
  PetscCall(PCSpikeRefined_Private(pc, eta, PCSpikeRefineMisses_Private((const PC_Spike *)pc->data, eta)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column by column: most need no step, and the product with A is all that is left */
PetscErrorCode PCSpikeRefineMat_Private(PC pc, PetscBool trans, Mat B, Mat X)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscBool checks, misses = PETSC_FALSE;
  PetscInt  ncols;
  PetscReal eta, worst = -1.0, residual = 0.0;
  Vec       b, x;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineChecks_Private(pc, trans, &checks));
  if (!checks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Refine, pc, B, X, 0));
  PetscCall(MatGetSize(X, NULL, &ncols));
  for (PetscInt c = 0; c < ncols; c++) {
    PetscErrorCode ierr;

    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(MatDenseGetColumnVec(X, c, &x));
    ierr = PCSpikeRefineOrdered_Private(pc, trans, b, x, &eta);
    if (!ierr) ierr = PCSpikeRefineAgain_Private(pc, trans, b, x, &eta);
    PetscCall(MatDenseRestoreColumnVec(X, c, &x)); /* also where memory was short */
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    PetscCall(ierr);
    misses   = (PetscBool)(misses || PCSpikeRefineMisses_Private(s, eta));
    worst    = PetscMax(worst, eta);
    residual = PetscMax(residual, s->refine.residual);
  }
  s->refine.residual = residual;
  PetscCall(PetscLogEventEnd(PC_Spike_Refine, pc, B, X, 0));
  PetscCall(PCSpikeRefined_Private(pc, worst, misses));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Before a direct solve, or what may be one (unsure): where `auto` has dropped couplings between ranks, a setup that
  holds them; so are all later ones. Rows are not gathered for what may be many applications in parallel
*/
PetscErrorCode PCSpikeRefineWhole_Private(PC pc, PetscBool unsure)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (!s->traded || (s->gathers && unsure) || s->refine.direct != PETSC_BOOL3_UNKNOWN)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "A direct solve drops no couplings between ranks: setting up again\n"));
  s->whole = PETSC_TRUE;
  PetscCall(PCSpikeChanged_Private(pc));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the results of a solver are looked at by another one, which corrects them: one inside of a preconditioner,
  or of a method, is printed indented. So is that of a SNES, also of a TS, which takes results as they are: SNESKSPONLY
  has no second step
*/
static PetscErrorCode PCSpikeSolvesInside_Private(KSP ksp, PetscBool *inside)
{
  PetscInt  level;
  PetscBool snes;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &level));
  *inside = (PetscBool)(level != 0);
  if (!*inside) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKSPIsOfSNES(ksp, &snes));
  *inside = (PetscBool)!snes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A solve is about to begin, by KSPPREONLY or not, inside of another solver or not. Boosted pivots without a check, and
  without a shift type that was set, are refused
*/
PetscErrorCode PCSpikeSolveBegins_Private(PC pc, KSP ksp)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscBool restored, once, inside = PETSC_FALSE, checks, numeric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineRestore_Private(pc, &restored));
  if (restored) ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &once, KSPPREONLY, KSPNONE, ""));
  if (once) PetscCall(PCSpikeSolvesInside_Private(ksp, &inside));
  s->refine.armed   = (PetscBool)(once && !inside);
  s->refine.solving = PETSC_TRUE;
  if (!s->refine.armed && s->refine.direct == PETSC_BOOL3_UNKNOWN) PCSpikeRefineForget_Private(s);
  if (s->refine.armed) PetscCall(PCSpikeRefineWhole_Private(pc, PETSC_FALSE));
  if (!s->refine.armed || !s->boosted || s->shifttype != (MatFactorShiftType)PETSC_DECIDE)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeRefineChecks_Private(pc, ksp->transpose_solve, &checks));
  if (!checks) PetscCall(PCSpikeIsNumeric_Private(pc, &numeric));
  if (!checks && numeric) PetscCall(PCFactoredRefuse_Private(pc, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeSolveEnds_Private(PC pc)
{
  PetscFunctionBegin;
  ((PC_Spike *)pc->data)->refine.armed = ((PC_Spike *)pc->data)->refine.solving = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPreSolve_Spike(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)b;
  (void)x;
  PetscCall(PCSpikeUnwatch_Private(pc));
  PetscCall(PCSpikeSolveBegins_Private(pc, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPostSolve_Spike(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)b;
  (void)x;
  PetscCall(PCSpikeSolveEnds_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of solves and factors, in the view */
PetscErrorCode PCSpikeRefineView_Private(PC pc, const PCSpikeInfo *info, PetscViewer viewer)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (info->growth >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  growth max |u_ij| / max |a_ij| %.1e\n", (double)info->growth));
  if (info->inverse_error >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  estimate of ||I - A M^-1|| %.1e\n", (double)info->inverse_error));
  if (!info->solves) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  as a direct solver: solves %" PetscInt_FMT ", steps of refinement %" PetscInt_FMT
                                   ", backward error of the last %.1e\n",
                                   info->solves, info->refinements, (double)info->backward_error));
  if (s->refine.residual > 100 * PCSpikeRefineTolerance_Private(s))
    PetscCall(
      PetscViewerASCIIPrintf(viewer,
                             "  residual of the last %.1e of its right-hand side: the matrix is badly scaled, or "
                             "ill-conditioned, and the solution large\n",
                             (double)s->refine.residual));
  if (info->unsolved)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  solves with a backward error above %g: %" PetscInt_FMT "\n",
                                     (double)PCSpikeRefineTolerance_Private(s), info->unsolved));
  if (s->refine.stands)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  results of these that stand, with a backward error up to %.1e: %" PetscInt_FMT
                                     "\n",
                                     (double)PetscSqrtReal(PETSC_MACHINE_EPSILON), s->refine.stands));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Defaults, and the functions that a solver calls */
PetscErrorCode PCSpikeRefineInitialize_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  s->presolves       = PETSC_TRUE;
  s->refine.direct   = PETSC_BOOL3_UNKNOWN;
  s->refine.follow   = PETSC_BOOL3_UNKNOWN;
  s->refine.max      = PETSC_DECIDE;
  s->refine.tol      = (PetscReal)PETSC_DECIDE;
  s->refine.estimate = PETSC_TRUE;

  pc->ops->presolve      = PCPreSolve_Spike;
  pc->ops->postsolve     = PCPostSolve_Spike;
  pc->ops->setuponblocks = PCSetUpOnBlocks_Spike;
  PetscFunctionReturn(PETSC_SUCCESS);
}
