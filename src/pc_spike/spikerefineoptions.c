/* SPDX-License-Identifier: BSD-2-Clause */
/* spikerefineoptions.c: setters, getters and options of PCSPIKE as a direct solver */
#include "spikeimpl.h"

static PetscErrorCode PCSpikeSetDirect_Spike(PC pc, PetscBool3 direct)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->refine.direct != direct) PetscCall(PCSpikeChanged_Private(pc));
  s->refine.direct = direct;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetDirect_Spike(PC pc, PetscBool3 *direct)
{
  PetscFunctionBegin;
  *direct = ((PC_Spike *)pc->data)->refine.direct;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetDirect - Whether each application of the preconditioner is a direct solve, which is checked and refined

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner context
- direct - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN`, the default: a `KSPSolve()` by
           `KSPPREONLY` is

  Options Database Key:
. -pc_spike_direct (true|false|unknown) - whether applications are solves

  Level: advanced

  Notes:
  After a direct solve x = M^-1 b the backward error ||b - A x|| / (||A|| ||x|| + ||b||) is computed, with 2-norms of
  vectors, the infinity norm of the matrix, and the second matrix of `KSPSetOperators()` as A. While it is above
  `PCSpikeSetRefinementTolerance()`, steps of iterative refinement x <- x + M^-1 (b - A x) follow, at most
  `PCSpikeSetMaxRefinements()`, and only as long as each takes a tenth of the error at least. `PCSpikeInfo` and the view
  have the number of solves, of steps, and the backward error of the last solve. A check costs a product with the matrix
  and a pass over three vectors for all norms, and is all that a healthy problem pays. Truncated spikes that end at
  the default window tolerance cost the first solve a step; see `PCSpikeSetWindowTolerance()` for those after it.

  A small backward error does not mean a small residual: where the solution is large, as of a matrix that is badly
  scaled or ill-conditioned, ||b - A x|| may be above ||b||. Such a solve converges, as that of any direct solver; the
  view and -info tell the residual.

  Where the backward error stays above the tolerance with spikes that `PC_SPIKE_AUTO` has truncated, the matrix is set
  up again with exact coupling, which stays until its pattern, its band or an option changes; where it stays above it
  then, with row exchanges, and in one partition if that is cheap (see `PCSPIKE`). Where nothing helps, the solve fails.
  So does a solve with boosted pivots whose solution is so large that its backward error says nothing, and whose
  residual is above the square root of the machine epsilon: the matrix is singular, or nearly. With a shift type that
  was set (`PCFactorSetShiftType()`) boosted pivots are no failure. A `KSPSolve()` that fails ends with
  `KSP_DIVERGED_PC_FAILED`, the view and -info say why, and the next solve is free again.

  By default these are solves by `KSPPREONLY`, or its alias `KSPNONE`, that are no part of another linear solver. A
  `KSP` inside of a preconditioner, such as `PCFIELDSPLIT`, `PCMG` or `PCKSP`, is corrected by the Krylov method around
  it, for which the checks would be so many products more; and `PCApply()` and `PCMatApply()` give what the factors
  give. The `KSP` that a `SNES` has made, also for a `TS`, is a direct solver as it is with `PCLU`: `SNESKSPONLY`, and
  so a linear `TS`, take its result as it is. A solve that fails there ends with `SNES_DIVERGED_LINEAR_SOLVE`. Not so
  for the `KSP` of other objects, such as a `Tao`: `PETSC_BOOL3_TRUE` checks those too. `KSPMatSolve()` by `KSPPREONLY`,
  of a solver that is no part of anything, is known by its log event: where PETSc has no logging, or four log handlers
  run, it gives what the factors give. With `PETSC_BOOL3_TRUE` each application is checked. Zero pivots are then boosted
  to the square root of the rounding of the factors, the least change that refinement corrects, unless
  `PCFactorSetShiftAmount()` was called. A setup whose factors may be inexact (several partitions whose spikes are not
  small, boosted pivots, factors in a lower precision) is tried with random values, and fails where they are not solved.

  Nothing is checked where the options ask for another matrix than A: `PC_SPIKE_BLOCK` with several partitions, entries
  dropped outside the band, unless for want of memory (`PCSpikeSetMaxBandwidth()`); or where the factors are those of
  earlier values (`KSPSetReusePreconditioner()`).

  The factors of `MATSOLVERSPIKE` have `PETSC_BOOL3_TRUE`.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetDirect()`, `PCSpikeSetMaxRefinements()`, `PCSpikeSetRefinementTolerance()`,
`PCSpikeGetInfo()`, `MATSOLVERSPIKE`, `KSPPREONLY`
@*/
PetscErrorCode PCSpikeSetDirect(PC pc, PetscBool3 direct)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, direct, 2);
  PetscTryMethod(pc, "PCSpikeSetDirect_C", (PC, PetscBool3), (pc, direct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetDirect - What `PCSpikeSetDirect()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. direct - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN`, the default: a `KSPSolve()` by
           `KSPPREONLY` is

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetDirect()`
@*/
PetscErrorCode PCSpikeGetDirect(PC pc, PetscBool3 *direct)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(direct, 2);
  PetscUseMethod(pc, "PCSpikeGetDirect_C", (PC, PetscBool3 *), (pc, direct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetMaxRefinements_Spike(PC pc, PetscInt steps)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(steps >= 0 || steps == PETSC_DECIDE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Steps of refinement must not be negative (or PETSC_DECIDE), not %" PetscInt_FMT, steps);
  if (s->refine.max != steps && s->refine.direct == PETSC_BOOL3_TRUE) PetscCall(PCSpikeChanged_Private(pc));
  s->refine.max = steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetMaxRefinements_Spike(PC pc, PetscInt *steps)
{
  PetscFunctionBegin;
  *steps = ((PC_Spike *)pc->data)->refine.max;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetMaxRefinements - Steps of iterative refinement that a direct solve takes at most

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner context
- steps - at most so many; 0 switches the check off; `PETSC_DECIDE`, the default: 2, and 10 for factors of 16 bits

  Options Database Key:
. -pc_spike_max_refinements steps - at most so many

  Level: advanced

  Note:
  `PCSpikeSetDirect()` says what a direct solve is.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetMaxRefinements()`, `PCSpikeSetDirect()`,
`PCSpikeSetRefinementTolerance()`
@*/
PetscErrorCode PCSpikeSetMaxRefinements(PC pc, PetscInt steps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, steps, 2);
  PetscTryMethod(pc, "PCSpikeSetMaxRefinements_C", (PC, PetscInt), (pc, steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetMaxRefinements - What `PCSpikeSetMaxRefinements()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. steps - at most so many; 0 switches the check off; `PETSC_DECIDE`, the default: 2, and 10 for factors of 16 bits

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetMaxRefinements()`
@*/
PetscErrorCode PCSpikeGetMaxRefinements(PC pc, PetscInt *steps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(steps, 2);
  PetscUseMethod(pc, "PCSpikeGetMaxRefinements_C", (PC, PetscInt *), (pc, steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetRefinementTolerance_Spike(PC pc, PetscReal tol)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(tol >= 0.0 || tol == (PetscReal)PETSC_DECIDE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Tolerance %g of backward errors must not be negative (or PETSC_DECIDE)", (double)tol);
  if (s->refine.tol != tol && s->refine.direct == PETSC_BOOL3_TRUE) PetscCall(PCSpikeChanged_Private(pc));
  s->refine.tol = tol;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetRefinementTolerance_Spike(PC pc, PetscReal *tol)
{
  PetscFunctionBegin;
  *tol = ((PC_Spike *)pc->data)->refine.tol;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetRefinementTolerance - The backward error that a direct solve must reach

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner context
- tol - at least 0; `PETSC_DECIDE`, the default: 1e-12, in single precision 1e-5

  Options Database Key:
. -pc_spike_refinement_tol tol - the backward error

  Level: advanced

  Notes:
  `PCSpikeSetDirect()` says what a direct solve is, and what happens where it does not reach the tolerance.

  Steps are taken for ||b - A x|| above 100 times the tolerance of ||b|| too, which a large x can leave with a small
  backward error. Where it stays above that, the solve does not fail.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetRefinementTolerance()`, `PCSpikeSetDirect()`,
`PCSpikeSetMaxRefinements()`
@*/
PetscErrorCode PCSpikeSetRefinementTolerance(PC pc, PetscReal tol)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, tol, 2);
  PetscTryMethod(pc, "PCSpikeSetRefinementTolerance_C", (PC, PetscReal), (pc, tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetRefinementTolerance - What `PCSpikeSetRefinementTolerance()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. tol - at least 0; `PETSC_DECIDE`, the default: 1e-12, in single precision 1e-5

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetRefinementTolerance()`
@*/
PetscErrorCode PCSpikeGetRefinementTolerance(PC pc, PetscReal *tol)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(tol, 2);
  PetscUseMethod(pc, "PCSpikeGetRefinementTolerance_C", (PC, PetscReal *), (pc, tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetEstimate_Spike(PC pc, PetscBool estimate)
{
  PetscFunctionBegin;
  ((PC_Spike *)pc->data)->refine.estimate = estimate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetEstimate_Spike(PC pc, PetscBool *estimate)
{
  PetscFunctionBegin;
  *estimate = ((PC_Spike *)pc->data)->refine.estimate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetEstimate - Whether ||I - A M^-1|| and the growth of the factors are estimated where they are asked for

  Logically Collective

  Input Parameters:
+ pc       - the preconditioner context
- estimate - whether `PCSpikeGetInfo()` and the view do; true by default

  Options Database Key:
. -pc_spike_estimate (true|false) - whether they are estimated

  Level: advanced

  Notes:
  The first `PCSpikeGetInfo()` or view after a setup applies I - A M^-1 four times, to two random vectors and what
  becomes of them. The largest ratio of norms is a lower bound of the 2-norm, mostly by a small factor. Setups and
  solves do nothing for it.

  Nothing is estimated after a failed setup, and when the values of the matrix have changed since the last one.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetEstimate()`, `PCSpikeGetInfo()`, `PCSpikeInfo`
@*/
PetscErrorCode PCSpikeSetEstimate(PC pc, PetscBool estimate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, estimate, 2);
  PetscTryMethod(pc, "PCSpikeSetEstimate_C", (PC, PetscBool), (pc, estimate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetEstimate - What `PCSpikeSetEstimate()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. estimate - whether `PCSpikeGetInfo()` and the view do; true by default

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetEstimate()`
@*/
PetscErrorCode PCSpikeGetEstimate(PC pc, PetscBool *estimate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(estimate, 2);
  PetscUseMethod(pc, "PCSpikeGetEstimate_C", (PC, PetscBool *), (pc, estimate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether columns of KSPMatSolve() may go together, without PCPreSolve() for each: src/ksp_fused asks */
static PetscErrorCode PCSpikeColumnsTogether_Spike(PC pc, PetscBool *together)
{
  PetscFunctionBegin;
  *together = (PetscBool) !((PC_Spike *)pc->data)->refused;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inside of PetscOptionsHeadBegin() */
PetscErrorCode PCSpikeRefineSetFromOptions_Private(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_Spike         *s        = (PC_Spike *)pc->data;
  const char *const bool3[]  = {"unknown", "false", "true"}; /* the k-th is the value k - 1 */
  PetscBool3        direct   = s->refine.direct;
  PetscInt          max      = s->refine.max;
  PetscReal         tol      = s->refine.tol;
  PetscBool         estimate = s->refine.estimate, set;
  char              text[64];

  PetscFunctionBegin;
  /* PetscOptionsBool3() takes the name of the value from an array, where what is unknown is number -1 */
  PetscCall(PetscOptionsString("-pc_spike_direct",
                               "Each application is a solve, checked and refined: true, false or "
                               "unknown",
                               "PCSpikeSetDirect", bool3[direct + 1], text, sizeof(text), NULL));
  PetscCall(
    PetscOptionsGetBool3(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, "-pc_spike_direct", &direct, &set));
  if (set) PetscCall(PCSpikeSetDirect(pc, direct));
  PetscCall(PetscOptionsInt("-pc_spike_max_refinements", "Steps of refinement of a direct solve, 0: no check",
                            "PCSpikeSetMaxRefinements", max, &max, &set));
  if (set) PetscCall(PCSpikeSetMaxRefinements(pc, max));
  PetscCall(PetscOptionsReal("-pc_spike_refinement_tol", "Backward error of a direct solve",
                             "PCSpikeSetRefinementTolerance", tol, &tol, &set));
  if (set) PetscCall(PCSpikeSetRefinementTolerance(pc, tol));
  PetscCall(PetscOptionsBool("-pc_spike_estimate", "Estimate ||I - A M^-1|| where it is asked for",
                             "PCSpikeSetEstimate", estimate, &estimate, &set));
  if (set) PetscCall(PCSpikeSetEstimate(pc, estimate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeRefineMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetDirect_C", PCSpikeSetDirect_Spike);
  SpikeCompose("PCSpikeGetDirect_C", PCSpikeGetDirect_Spike);
  SpikeCompose("PCSpikeSetMaxRefinements_C", PCSpikeSetMaxRefinements_Spike);
  SpikeCompose("PCSpikeGetMaxRefinements_C", PCSpikeGetMaxRefinements_Spike);
  SpikeCompose("PCSpikeSetRefinementTolerance_C", PCSpikeSetRefinementTolerance_Spike);
  SpikeCompose("PCSpikeGetRefinementTolerance_C", PCSpikeGetRefinementTolerance_Spike);
  SpikeCompose("PCSpikeSetEstimate_C", PCSpikeSetEstimate_Spike);
  SpikeCompose("PCSpikeGetEstimate_C", PCSpikeGetEstimate_Spike);
  SpikeCompose("PetscSpikeColumnsTogether_C", PCSpikeColumnsTogether_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
