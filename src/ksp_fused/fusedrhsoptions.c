/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhsoptions.c: option, setter, getters and view of solves for several right-hand sides */
#include "fusedrhsoptions.h"
#include "fusedrhsmat.h"

const char *const KSPFusedMatSolveTypes[] =
  {"COLUMNS", "SINGLE", "BLOCK", "KSPFusedMatSolveType", "KSP_FUSED_MATSOLVE_", NULL};

/*@
  KSPFusedSetMatSolveType - How `KSPMatSolve()` solves for several right-hand sides

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- type - `KSP_FUSED_MATSOLVE_COLUMNS` (default), `KSP_FUSED_MATSOLVE_SINGLE`, or, with `KSPCGFUSED`,
         `KSP_FUSED_MATSOLVE_BLOCK`

  Options Database Key:
. -ksp_fused_matsolve (columns|single|block) - all columns together, one after the other, or a block method

  Level: intermediate

  Notes: Together, the columns of a batch (`KSPSetMatSolveBatchSize()`) share each pass over the matrix and the
  preconditioner: products are `MatMatMult()`, or those of a copy of the matrix (`KSPFusedSetSpMVType()`), and the
  preconditioner is applied by `PCMatApply()`; column by column where that refuses, as `PCASM` with several subdomains
  on a rank. Each column has iterates, test and breakdowns of its own, and takes the iterations that a single solve
  would take. A column that has converged or failed is left alone; once no more than half of them iterate, products and
  preconditioners are of the others alone. A column that breaks down starts again when no other iterates. The solve ends
  when all columns have. There are as many blocks of work vectors as a single solve has vectors, and one or two more.

  The block method is block CG with residuals that are kept orthonormal (Dubrulle, ETNA 12, 2001), of Hermitian definite
  operators and preconditioners: each column is sought in the sum of the Krylov spaces of all, which takes fewer
  iterations the more columns there are, and each iteration has arithmetic of n m^2 beside the products. Right-hand
  sides may be the same, 0, or of any size: directions that depend on others are dropped. Up to 32 columns go together;
  more are cut into even parts. A column that has converged is left alone, but its directions help the others; its true
  residual is looked at like all others. An operator or preconditioner that is not definite ends all columns; they are
  solved one by one then, because the Krylov space of some may be definite. There are two reductions an iteration,
  whatever `KSPFusedSetReductions()` says.

  The reason of the `KSP` is the smallest of all columns, negative where any has failed; its number of iterations is the
  largest, and residual norms, in history and monitors, are the Frobenius norm of all columns. `KSPFusedGetColumns()`
  has the figures of each column. A column whose squares are too small or too large for a `PetscReal` is solved alone,
  after the others: the history has its norm before and after, and none of its iterations.

  Columns are solved one after the other, whatever is set here, with one column; with tests other than
  `KSPConvergedDefault()` and `KSPConvergedSkip()`; with residual replacement, `KSPIDRFusedSetPetscVectors()`,
  `KSPSetPreSolve()`, `KSPGuess`, the guess of Knoll, and preconditioners that change the system (`PCEISENSTAT`); and
  where right-hand sides, solutions and the vectors of the operator do not lie in one memory, or no kernels for columns
  are there. Monitors that ask for a solution or residual, such as -ksp_monitor_true_residual, raise an error where
  columns go together.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPIDRFUSED`, `KSPMatSolve()`, `KSPMatSolveTranspose()`,
`KSPSetMatSolveBatchSize()`, `KSPFusedGetMatSolveType()`, `KSPFusedGetColumns()`
@*/
PetscErrorCode KSPFusedSetMatSolveType(KSP ksp, KSPFusedMatSolveType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, type, 2);
  PetscTryMethod(ksp, "KSPFusedSetMatSolveType_C", (KSP, KSPFusedMatSolveType), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetMatSolveType_Fused(KSP ksp, KSPFusedMatSolveType type)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCheck(type != KSP_FUSED_MATSOLVE_BLOCK || f->method->talliterate, PetscObjectComm((PetscObject)ksp),
             PETSC_ERR_SUP,
             "%s has no block form: take -ksp_fused_matsolve columns, or for Hermitian definite operators -ksp_type %s",
             ((PetscObject)ksp)->type_name, KSPCGFUSED);
  f->options.matsolve = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetMatSolveType - What `KSPFusedSetMatSolveType()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. type - `KSP_FUSED_MATSOLVE_COLUMNS` (default), `KSP_FUSED_MATSOLVE_SINGLE` or `KSP_FUSED_MATSOLVE_BLOCK`

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPIDRFUSED`, `KSPFusedSetMatSolveType()`
@*/
PetscErrorCode KSPFusedGetMatSolveType(KSP ksp, KSPFusedMatSolveType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(ksp, "KSPFusedGetMatSolveType_C", (KSP, KSPFusedMatSolveType *), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetMatSolveType_Fused(KSP ksp, KSPFusedMatSolveType *type)
{
  PetscFunctionBegin;
  *type = ((KSPFused *)ksp->data)->options.matsolve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetColumns - What the last `KSPMatSolve()` of a fused Krylov method did in each column

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameters:
+ m        - number of columns, 0 where there was no such solve
. its      - iterations of each column, or pass `NULL`
. reasons  - why each column ended, or pass `NULL`
. norms    - the last residual norm of each column, as `KSPGetResidualNorm()` has it, or pass `NULL`
- together - whether they were solved together (`KSPFusedSetMatSolveType()`), or pass `NULL`

  Level: intermediate

  Notes:
  The arrays belong to the `KSP`, and hold until its next `KSPMatSolve()`, `KSPMatSolveTranspose()`, `KSPReset()` or
  `KSPDestroy()`.

  With `KSPSetMatSolveBatchSize()` they are those of the last batch.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPIDRFUSED`, `KSPMatSolve()`, `KSPFusedSetMatSolveType()`,
`KSPGetConvergedReason()`, `KSPGetIterationNumber()`
@*/
PetscErrorCode KSPFusedGetColumns(KSP ksp, PetscInt *m, const PetscInt *its[], const KSPConvergedReason *reasons[],
                                  const PetscReal *norms[], PetscBool *together)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(m, 2);
  PetscUseMethod(ksp, "KSPFusedGetColumns_C",
                 (KSP, PetscInt *, const PetscInt *[], const KSPConvergedReason *[], const PetscReal *[], PetscBool *),
                 (ksp, m, its, reasons, norms, together));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetColumns_Fused(KSP ksp, PetscInt *m, const PetscInt *its[],
                                               const KSPConvergedReason *reasons[], const PetscReal *norms[],
                                               PetscBool *together)
{
  const KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;

  PetscFunctionBegin;
  *m = c ? c->nresults : 0;
  if (its) *its = c ? c->its : NULL;
  if (reasons) *reasons = c ? c->reasons : NULL;
  if (norms) *norms = c ? c->norms : NULL;
  if (together) *together = c ? c->together : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsSetFromOptions(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  PetscEnum type = (PetscEnum)((KSPFused *)ksp->data)->options.matsolve;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-ksp_fused_matsolve", "Several right-hand sides", "KSPFusedSetMatSolveType",
                             KSPFusedMatSolveTypes, type, &type, &set));
  if (set) PetscCall(KSPFusedSetMatSolveType(ksp, (KSPFusedMatSolveType)type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where there was such a solve */
PetscErrorCode KSPFusedRhsView(KSP ksp, PetscViewer viewer)
{
  const KSPFusedRhs *c   = ((KSPFused *)ksp->data)->rhs;
  PetscInt           its = PETSC_INT_MAX, failed = 0;

  PetscFunctionBegin;
  if (!c || !c->nresults) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < c->nresults; i++) {
    its = PetscMin(its, c->its[i]);
    failed += c->reasons[i] < 0 ? 1 : 0;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  last block of right-hand sides: %" PetscInt_FMT
                                   " columns %s, iterations from %" PetscInt_FMT " to %" PetscInt_FMT ", %" PetscInt_FMT
                                   " failed\n",
                                   c->nresults, !c->together ? "one by one" : (c->istall ? "as one block" : "together"),
                                   its, ksp->its, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsComposeMethods(KSP ksp, PetscBool compose)
{
  PetscObject o = (PetscObject)ksp;

  PetscFunctionBegin;
#define KSPFusedCompose(name) PetscCall(PetscObjectComposeFunction(o, #name "_C", compose ? name##_Fused : NULL))
  KSPFusedCompose(KSPFusedSetMatSolveType);
  KSPFusedCompose(KSPFusedGetMatSolveType);
  KSPFusedCompose(KSPFusedGetColumns);
#undef KSPFusedCompose
  PetscFunctionReturn(PETSC_SUCCESS);
}
