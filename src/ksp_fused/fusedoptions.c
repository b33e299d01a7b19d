/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedoptions.c: options, setters and getters of the fused methods */
#include "fusedoptions.h"
#include "fusedprecisionoptions.h"
#include "fusedrhsoptions.h"

const char *const KSPFusedReductionsTypes[] = {"PLAIN", "MERGED", "KSPFusedReductions", "KSP_FUSED_REDUCTIONS_", NULL};
const char *const KSPFusedSpMVTypes[] =
  {"PETSC", "AUTO", "SELL", "DIA", "STENCIL", "BLOCKS", "KSPFusedSpMVType", "KSP_FUSED_SPMV_", NULL};
const char *const KSPFusedPersistentTypes[] =
  {"AUTO", "OFF", "ON", "GRID", "CLUSTER", "KSPFusedPersistentType", "KSP_FUSED_PERSISTENT_", NULL};

/*@
  KSPFusedSetReductions - How many reductions an iteration has

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- form - `KSP_FUSED_REDUCTIONS_PLAIN` or `KSP_FUSED_REDUCTIONS_MERGED`. The default is plain; for `KSPIDRFUSED` in
         double precision it is merged

  Options Database Key:
. -ksp_fused_reductions (plain|merged) - plain or merged

  Level: intermediate

  Note:
  The merged forms pay where reductions over many ranks do, or at small sizes. With `KSPFusedSetResidualReplacement()`
  the plain form is taken.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetReductions()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetReductions(KSP ksp, KSPFusedReductions form)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, form, 2);
  PetscTryMethod(ksp, "KSPFusedSetReductions_C", (KSP, KSPFusedReductions), (ksp, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetReductions_Fused(KSP ksp, KSPFusedReductions form)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.reductions = form;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetReductions - What `KSPFusedSetReductions()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. form - `KSP_FUSED_REDUCTIONS_PLAIN`, the default of `KSPBCGSFUSED` and `KSPCGFUSED`, or
         `KSP_FUSED_REDUCTIONS_MERGED`, that of `KSPIDRFUSED`

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetReductions()`
@*/
PetscErrorCode KSPFusedGetReductions(KSP ksp, KSPFusedReductions *form)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(form, 2);
  PetscUseMethod(ksp, "KSPFusedGetReductions_C", (KSP, KSPFusedReductions *), (ksp, form));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetReductions_Fused(KSP ksp, KSPFusedReductions *form)
{
  PetscFunctionBegin;
  *form = ((KSPFused *)ksp->data)->options.reductions;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedSetCheckTrueResidual - Whether the true residual has to confirm convergence

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- flg - `PETSC_TRUE` (default) if it has to

  Options Database Key:
. -ksp_fused_check_true_residual (true|false) - whether it has to

  Level: intermediate

  Notes:
  Where the norm of the test is below its tolerance, the true residual is computed. It confirms convergence where this
  norm, of the true residual, is at most 10 times the tolerance, and, where the norm of the test is not that of
  $b - A x$ (left preconditioning of `KSPBCGSFUSED` and `KSPIDRFUSED`, `KSP_NORM_PRECONDITIONED` and `KSP_NORM_NATURAL`
  of `KSPCGFUSED`), $\|b - A x\|$ is at most 100 times the relative tolerance times $\|b\|$; with a guess, times what
  `KSPConvergedDefault()` takes for $\|b\|$.

  Else the method goes on from the true residual, with a smaller tolerance of its test where it takes one, as long as
  that halves what is too large. Then the solve ends with `KSP_DIVERGED_BREAKDOWN`. Where the norm of the test is small
  and that of $b - A x$ is not, the preconditioner is singular or nearly; `KSPFusedInfo`, `KSPView()` and -info say so.
  A breakdown where $\|b - A x\|$ is below its tolerance is `KSP_CONVERGED_RTOL`.

  It costs a product and a preconditioner a solve, and on a device three waits at most. Confirmed are
  `KSPConvergedDefault()` and `KSPFusedConvergedInfinity()`, and norms that are 0. Other tests, `KSP_NORM_NONE` and an
  absolute tolerance that was set with `KSPSetTolerances()`, in the norm of the test, are taken at their word.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetCheckTrueResidual()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetCheckTrueResidual(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, flg, 2);
  PetscTryMethod(ksp, "KSPFusedSetCheckTrueResidual_C", (KSP, PetscBool), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetCheckTrueResidual_Fused(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.checktrue = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetCheckTrueResidual - What `KSPFusedSetCheckTrueResidual()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. flg - `PETSC_TRUE` (default) to compute it

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetCheckTrueResidual()`
@*/
PetscErrorCode KSPFusedGetCheckTrueResidual(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(ksp, "KSPFusedGetCheckTrueResidual_C", (KSP, PetscBool *), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetCheckTrueResidual_Fused(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = ((KSPFused *)ksp->data)->options.checktrue;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedSetResidualReplacement - Replaces the residual of the recurrence by the true one every k iterations

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- k - number of iterations, 0 (default) for never

  Options Database Key:
. -ksp_fused_residual_replacement k - number of iterations

  Level: intermediate

  Note:
  It keeps recurrence and truth together where many iterations drive them apart; each costs a product, and a
  preconditioner where the method preconditions its residual.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetResidualReplacement()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetResidualReplacement(KSP ksp, PetscInt k)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveInt(ksp, k, 2);
  PetscTryMethod(ksp, "KSPFusedSetResidualReplacement_C", (KSP, PetscInt), (ksp, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetResidualReplacement_Fused(KSP ksp, PetscInt k)
{
  PetscFunctionBegin;
  PetscCheck(k >= 0, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "Number of iterations %" PetscInt_FMT " is negative", k);
  ((KSPFused *)ksp->data)->options.replacement = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetResidualReplacement - What `KSPFusedSetResidualReplacement()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. k - number of iterations, 0 (default) for never

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetResidualReplacement()`
@*/
PetscErrorCode KSPFusedGetResidualReplacement(KSP ksp, PetscInt *k)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(k, 2);
  PetscUseMethod(ksp, "KSPFusedGetResidualReplacement_C", (KSP, PetscInt *), (ksp, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetResidualReplacement_Fused(KSP ksp, PetscInt *k)
{
  PetscFunctionBegin;
  *k = ((KSPFused *)ksp->data)->options.replacement;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedSetLockstep - Whether the host waits for each iteration before it launches the next one

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- flg - `PETSC_TRUE` to wait

  Options Database Key:
. -ksp_fused_lockstep (true|false) - wait

  Level: intermediate

  Note:
  By default it does where it must. The results are the same bits.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetLockstep()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetLockstep(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, flg, 2);
  PetscTryMethod(ksp, "KSPFusedSetLockstep_C", (KSP, PetscBool), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetLockstep_Fused(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.lockstep = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetLockstep - What `KSPFusedSetLockstep()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. flg - `PETSC_TRUE` to wait

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetLockstep()`
@*/
PetscErrorCode KSPFusedGetLockstep(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(ksp, "KSPFusedGetLockstep_C", (KSP, PetscBool *), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetLockstep_Fused(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = ((KSPFused *)ksp->data)->options.lockstep;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedSetSpMVType - Which product a fused Krylov method uses

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- type - `KSP_FUSED_SPMV_AUTO` (default), `KSP_FUSED_SPMV_PETSC`, `KSP_FUSED_SPMV_SELL`, `KSP_FUSED_SPMV_DIA`,
         `KSP_FUSED_SPMV_STENCIL` or `KSP_FUSED_SPMV_BLOCKS`

  Options Database Key:
. -ksp_fused_spmv (petsc|auto|sell|dia|stencil|blocks) - the product

  Level: intermediate

  Notes:
  With a `MATAIJCUSPARSE` on the device or a `MATAIJ` on the host, the products of an iteration are those of a copy of
  the matrix. It takes as much memory there as the matrix, by diagonals as a rule less, and pays from about ten
  iterations on. It is made in the first solve, filled anew when values change, and made anew when the pattern does.
  With it sums of inner products are taken while the product is in registers or in cache. Transposed products, those for
  true residuals and, on several ranks, those with several right-hand sides are `MatMult()`.

  On several ranks each makes a copy of the columns that it owns, in the form that suits them, and one of the others.
  Rows that need nothing of other ranks are multiplied while messages travel. Where one rank has no copy, none has.

  By diagonals no indices are stored: `KSP_FUSED_SPMV_AUTO` takes that form on a device where at least 85 percent of the
  places on the diagonals have entries, as with stencils on regular grids, on the host where at least half of them have.
  There is no other form on the host.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetSpMVType()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetSpMVType(KSP ksp, KSPFusedSpMVType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, type, 2);
  PetscTryMethod(ksp, "KSPFusedSetSpMVType_C", (KSP, KSPFusedSpMVType), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetSpMVType_Fused(KSP ksp, KSPFusedSpMVType type)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.spmv = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetSpMVType - What `KSPFusedSetSpMVType()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. type - `KSP_FUSED_SPMV_AUTO` (default), `KSP_FUSED_SPMV_PETSC`, `KSP_FUSED_SPMV_SELL`, `KSP_FUSED_SPMV_DIA`,
         `KSP_FUSED_SPMV_STENCIL` or `KSP_FUSED_SPMV_BLOCKS`

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetSpMVType()`
@*/
PetscErrorCode KSPFusedGetSpMVType(KSP ksp, KSPFusedSpMVType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(ksp, "KSPFusedGetSpMVType_C", (KSP, KSPFusedSpMVType *), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetSpMVType_Fused(KSP ksp, KSPFusedSpMVType *type)
{
  PetscFunctionBegin;
  *type = ((KSPFused *)ksp->data)->options.spmv;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedSetGraph - Whether an iteration may become a CUDA graph

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- flg - `PETSC_TRUE` (default) where it can

  Options Database Key:
. -ksp_fused_graph (auto|off) - where it can, or never

  Level: intermediate

  Note:
  It can where all that it launches is of this library: with a copy of the matrix (`KSPFusedSetSpMVType()`), and
  `PCNONE`, `PCJACOBI` or `PCSPIKE`. The results are the same bits.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetGraph()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetGraph(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, flg, 2);
  PetscTryMethod(ksp, "KSPFusedSetGraph_C", (KSP, PetscBool), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetGraph_Fused(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.graphs = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetGraph - What `KSPFusedSetGraph()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. flg - `PETSC_TRUE` (default) where it can

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetGraph()`
@*/
PetscErrorCode KSPFusedGetGraph(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(ksp, "KSPFusedGetGraph_C", (KSP, PetscBool *), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetGraph_Fused(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = ((KSPFused *)ksp->data)->options.graphs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedSetPersistent - Whether many iterations may be made by one kernel that stays on the device

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- type - `KSP_FUSED_PERSISTENT_AUTO` (default), `KSP_FUSED_PERSISTENT_OFF`, `KSP_FUSED_PERSISTENT_ON`,
         `KSP_FUSED_PERSISTENT_GRID` or `KSP_FUSED_PERSISTENT_CLUSTER`

  Options Database Key:
. -ksp_fused_persistent (auto|off|on|grid|cluster) - where it is expected to be faster, never, where it can, or where it
                                                     can in one of its two forms

  Level: intermediate

  Notes:
  It can on one rank with a copy of the matrix (`KSPFusedSetSpMVType()`) or a `MATGRIDSTENCIL` of one unknown a point
  without periods, `PCNONE` or `PCJACOBI`, plain reductions, and the test of `KSPConvergedDefault()` or
  `KSPConvergedSkip()`, without monitors, lockstep, residual replacement, null spaces and transposes; with `KSPIDRFUSED`
  without a preconditioner, with s of 1, 2, 4 or 8, merged reductions and no smoothing. Elsewhere iterations are graphs
  (`KSPFusedSetGraph()`) or launched one by one; `KSPView()` and `KSPFusedGetInfo()` tell what ran. The results are the
  same bits, but for stencils, whose sums have another order.

  A barrier of the whole device takes less time than the launch of a kernel, but products fetch more: it is faster while
  matrix and vectors stay in the L2 cache. Where diagonals and vectors fit into the shared memory of one cluster of
  thread blocks (compute capability 9.0 and later), barriers are those of the cluster: with real numbers in double
  precision on an H200 up to about 14,000 rows of 27 or 7 entries with `KSPCGFUSED`, 11,000 of 27 with `KSPBCGSFUSED`.
  By default a persistent kernel is taken where the copy of the matrix and the vectors are at most three quarters of the
  L2 cache: with real numbers in double precision on an H200 up to about 130,000 rows with 27 entries, and 350,000 with
  7; with a `MATGRIDSTENCIL` up to 130,000 rows with 27 points, and 230,000 with 7.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetPersistent()`, `KSPFusedSetGraph()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedSetPersistent(KSP ksp, KSPFusedPersistentType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, type, 2);
  PetscTryMethod(ksp, "KSPFusedSetPersistent_C", (KSP, KSPFusedPersistentType), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetPersistent_Fused(KSP ksp, KSPFusedPersistentType type)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.persistent = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetPersistent - What `KSPFusedSetPersistent()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. type - `KSP_FUSED_PERSISTENT_AUTO` (default), `KSP_FUSED_PERSISTENT_OFF`, `KSP_FUSED_PERSISTENT_ON`,
         `KSP_FUSED_PERSISTENT_GRID` or `KSP_FUSED_PERSISTENT_CLUSTER`

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetPersistent()`
@*/
PetscErrorCode KSPFusedGetPersistent(KSP ksp, KSPFusedPersistentType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(ksp, "KSPFusedGetPersistent_C", (KSP, KSPFusedPersistentType *), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetPersistent_Fused(KSP ksp, KSPFusedPersistentType *type)
{
  PetscFunctionBegin;
  *type = ((KSPFused *)ksp->data)->options.persistent;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetInfo - What a fused Krylov method did in its last solve: restarts, true residual, backend

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. info - the facts

  Level: advanced

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedInfo`
@*/
PetscErrorCode KSPFusedGetInfo(KSP ksp, KSPFusedInfo *info)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(info, 2);
  PetscUseMethod(ksp, "KSPFusedGetInfo_C", (KSP, KSPFusedInfo *), (ksp, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetInfo_Fused(KSP ksp, KSPFusedInfo *info)
{
  PetscFunctionBegin;
  *info = ((KSPFused *)ksp->data)->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual that the iteration has, without a product */
static PetscErrorCode KSPFusedGetResidual_Fused(KSP ksp, Vec *r)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedSettle(ksp));
  *r = ksp->work[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSetFromOptions_Fused(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  KSPFused *f    = (KSPFused *)ksp->data;
  PetscEnum form = (PetscEnum)f->options.reductions, spmv = (PetscEnum)f->options.spmv,
            persistent       = (PetscEnum)f->options.persistent;
  const char *const graphs[] = {"off", "auto"};
  PetscInt          graph    = f->options.graphs ? 1 : 0;
  PetscBool         set, check = f->options.checktrue, lockstep = f->options.lockstep, infinity = PETSC_FALSE;
  PetscInt          k = f->options.replacement;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Fused Krylov method options");
  PetscCall(PetscOptionsEnum("-ksp_fused_reductions", "Reductions of an iteration", "KSPFusedSetReductions",
                             KSPFusedReductionsTypes, form, &form, &set));
  if (set) PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(PetscOptionsBool("-ksp_fused_check_true_residual", "Compute the true residual at convergence",
                             "KSPFusedSetCheckTrueResidual", check, &check, &set));
  if (set) PetscCall(KSPFusedSetCheckTrueResidual(ksp, check));
  PetscCall(PetscOptionsInt("-ksp_fused_residual_replacement",
                            "Iterations after which the true residual replaces the recurrence",
                            "KSPFusedSetResidualReplacement", k, &k, &set));
  if (set) PetscCall(KSPFusedSetResidualReplacement(ksp, k));
  PetscCall(PetscOptionsBool("-ksp_fused_lockstep", "Wait for each iteration", "KSPFusedSetLockstep", lockstep,
                             &lockstep, &set));
  if (set) PetscCall(KSPFusedSetLockstep(ksp, lockstep));
  PetscCall(
    PetscOptionsEnum("-ksp_fused_spmv", "Product", "KSPFusedSetSpMVType", KSPFusedSpMVTypes, spmv, &spmv, &set));
  if (set) PetscCall(KSPFusedSetSpMVType(ksp, (KSPFusedSpMVType)spmv));
  PetscCall(PetscOptionsEList("-ksp_fused_graph", "CUDA graph of an iteration", "KSPFusedSetGraph", graphs,
                              PETSC_STATIC_ARRAY_LENGTH(graphs), graphs[graph], &graph, &set));
  if (set) PetscCall(KSPFusedSetGraph(ksp, (PetscBool)(graph == 1)));
  PetscCall(PetscOptionsEnum("-ksp_fused_persistent", "Many iterations in one kernel", "KSPFusedSetPersistent",
                             KSPFusedPersistentTypes, persistent, &persistent, &set));
  if (set) PetscCall(KSPFusedSetPersistent(ksp, (KSPFusedPersistentType)persistent));
  PetscCall(PetscOptionsBool("-ksp_fused_converged_infinity", "Test the infinity norm", "KSPFusedConvergedInfinity",
                             infinity, &infinity, NULL));
  if (infinity) PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscCall(KSPFusedPrecisionSetFromOptions(ksp, PetscOptionsObject));
  PetscCall(KSPFusedRhsSetFromOptions(ksp, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composes the methods of the setters and getters, or takes them away */
PetscErrorCode KSPFusedComposeMethods(KSP ksp, PetscBool compose)
{
  PetscObject o = (PetscObject)ksp;

  PetscFunctionBegin;
#define KSPFusedCompose(name) PetscCall(PetscObjectComposeFunction(o, #name "_C", compose ? name##_Fused : NULL))
  KSPFusedCompose(KSPFusedSetReductions);
  KSPFusedCompose(KSPFusedGetReductions);
  KSPFusedCompose(KSPFusedSetCheckTrueResidual);
  KSPFusedCompose(KSPFusedGetCheckTrueResidual);
  KSPFusedCompose(KSPFusedSetResidualReplacement);
  KSPFusedCompose(KSPFusedGetResidualReplacement);
  KSPFusedCompose(KSPFusedSetLockstep);
  KSPFusedCompose(KSPFusedGetLockstep);
  KSPFusedCompose(KSPFusedSetSpMVType);
  KSPFusedCompose(KSPFusedGetSpMVType);
  KSPFusedCompose(KSPFusedSetGraph);
  KSPFusedCompose(KSPFusedGetGraph);
  KSPFusedCompose(KSPFusedSetPersistent);
  KSPFusedCompose(KSPFusedGetPersistent);
  KSPFusedCompose(KSPFusedGetInfo);
  KSPFusedCompose(KSPFusedGetResidual);
#undef KSPFusedCompose
  PetscCall(KSPFusedPrecisionComposeMethods(ksp, compose));
  PetscCall(KSPFusedRhsComposeMethods(ksp, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}
