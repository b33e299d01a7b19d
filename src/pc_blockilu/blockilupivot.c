/* SPDX-License-Identifier: BSD-2-Clause */
/* blockilupivot.c: setters and getters of PCBLOCKILU about pivots */
#include "blockiluimpl.h"

static PetscErrorCode PCBlockILUSetZeroPivot_BlockILU(PC pc, PetscReal zeropivot)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  if (zeropivot == (PetscReal)PETSC_DECIDE) zeropivot = 100.0 * PETSC_MACHINE_EPSILON;
  PetscCheck(zeropivot >= 0.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Zero pivot tolerance %g must not be negative", (double)zeropivot);
  if (s->zeropivot != zeropivot) PetscCall(PCBlockILUChanged_Private(pc));
  s->zeropivot = zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetZeroPivot_BlockILU(PC pc, PetscReal *zeropivot)
{
  PetscFunctionBegin;
  *zeropivot = ((PC_BlockILU *)pc->data)->zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetZeroPivot - Pivots up to this fraction of the norm of the matrix count as zero

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- zeropivot - fraction of the infinity norm of the matrix (of what is factored); default 100 times machine epsilon

  Options Database Key:
. -pc_blockilu_zeropivot tol - the fraction

  Level: intermediate

  Note:
  The tolerance is relative to the norm, so that it does not depend on the units of the matrix; that of `PCILU` is absolute. Pivots are those inside of diagonal blocks, with row exchanges.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetZeroPivot()`, `PCFactorSetZeroPivot()`, `PCBlockILUSetShiftType()`
@*/
PetscErrorCode PCBlockILUSetZeroPivot(PC pc, PetscReal zeropivot)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, zeropivot, 2);
  PetscTryMethod(pc, "PCBlockILUSetZeroPivot_C", (PC, PetscReal), (pc, zeropivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetZeroPivot - What `PCBlockILUSetZeroPivot()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. zeropivot - fraction of the infinity norm of the matrix (of what is factored); default 100 times machine epsilon

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetZeroPivot()`
@*/
PetscErrorCode PCBlockILUGetZeroPivot(PC pc, PetscReal *zeropivot)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(zeropivot, 2);
  PetscUseMethod(pc, "PCBlockILUGetZeroPivot_C", (PC, PetscReal *), (pc, zeropivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetShiftType_BlockILU(PC pc, MatFactorShiftType shifttype)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  PetscCheck(shifttype == MAT_SHIFT_NONE || shifttype == MAT_SHIFT_NONZERO || shifttype == MAT_SHIFT_INBLOCKS, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PCBLOCKILU boosts pivots (nonzero, inblocks) or fails (none); it has no shift type %s", MatFactorShiftTypes[shifttype]);
  if (s->shifttype != shifttype) PetscCall(PCBlockILUChanged_Private(pc));
  s->shifttype = shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetShiftType_BlockILU(PC pc, MatFactorShiftType *shifttype)
{
  PetscFunctionBegin;
  *shifttype = ((PC_BlockILU *)pc->data)->shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetShiftType - What happens to a zero pivot

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is boosted

  Options Database Key:
. -pc_blockilu_shift_type (none|nonzero|inblocks) - the policy

  Level: intermediate

  Note:
  Boosting replaces the pivot alone, as `MAT_SHIFT_INBLOCKS` does, and never restarts the factorization; the number of boosted pivots is in the view and in `PCBlockILUInfo`.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetShiftType()`, `PCFactorSetShiftType()`, `PCBlockILUSetShiftAmount()`, `PCBlockILUSetZeroPivot()`
@*/
PetscErrorCode PCBlockILUSetShiftType(PC pc, MatFactorShiftType shifttype)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, shifttype, 2);
  PetscTryMethod(pc, "PCBlockILUSetShiftType_C", (PC, MatFactorShiftType), (pc, shifttype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetShiftType - What `PCBlockILUSetShiftType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is boosted

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetShiftType()`
@*/
PetscErrorCode PCBlockILUGetShiftType(PC pc, MatFactorShiftType *shifttype)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(shifttype, 2);
  PetscUseMethod(pc, "PCBlockILUGetShiftType_C", (PC, MatFactorShiftType *), (pc, shifttype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetShiftAmount_BlockILU(PC pc, PetscReal shiftamount)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  PetscCheck(shiftamount > 0.0 || shiftamount == (PetscReal)PETSC_DECIDE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Magnitude of a boosted pivot must be positive or PETSC_DECIDE, not %g", (double)shiftamount);
  if (s->shiftamount != shiftamount) PetscCall(PCBlockILUChanged_Private(pc));
  s->shiftamount = shiftamount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetShiftAmount_BlockILU(PC pc, PetscReal *shiftamount)
{
  PetscFunctionBegin;
  *shiftamount = ((PC_BlockILU *)pc->data)->shiftamount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetShiftAmount - Magnitude that a boosted pivot gets

  Logically Collective

  Input Parameters:
+ pc          - the preconditioner context
- shiftamount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the rounding of the factors

  Options Database Key:
. -pc_blockilu_shift_amount amount - the fraction

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetShiftAmount()`, `PCFactorSetShiftAmount()`, `PCBlockILUSetShiftType()`
@*/
PetscErrorCode PCBlockILUSetShiftAmount(PC pc, PetscReal shiftamount)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, shiftamount, 2);
  PetscTryMethod(pc, "PCBlockILUSetShiftAmount_C", (PC, PetscReal), (pc, shiftamount));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetShiftAmount - What `PCBlockILUSetShiftAmount()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. shiftamount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the rounding of the factors

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetShiftAmount()`
@*/
PetscErrorCode PCBlockILUGetShiftAmount(PC pc, PetscReal *shiftamount)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(shiftamount, 2);
  PetscUseMethod(pc, "PCBlockILUGetShiftAmount_C", (PC, PetscReal *), (pc, shiftamount));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCBlockILUComposePivotMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  BlockILUCompose("PCBlockILUSetZeroPivot_C", PCBlockILUSetZeroPivot_BlockILU);
  BlockILUCompose("PCBlockILUGetZeroPivot_C", PCBlockILUGetZeroPivot_BlockILU);
  BlockILUCompose("PCBlockILUSetShiftType_C", PCBlockILUSetShiftType_BlockILU);
  BlockILUCompose("PCBlockILUGetShiftType_C", PCBlockILUGetShiftType_BlockILU);
  BlockILUCompose("PCBlockILUSetShiftAmount_C", PCBlockILUSetShiftAmount_BlockILU);
  BlockILUCompose("PCBlockILUGetShiftAmount_C", PCBlockILUGetShiftAmount_BlockILU);
  BlockILUCompose("PCFactorSetZeroPivot_C", PCBlockILUSetZeroPivot_BlockILU);
  BlockILUCompose("PCFactorGetZeroPivot_C", PCBlockILUGetZeroPivot_BlockILU);
  BlockILUCompose("PCFactorSetShiftType_C", PCBlockILUSetShiftType_BlockILU);
  BlockILUCompose("PCFactorGetShiftType_C", PCBlockILUGetShiftType_BlockILU);
  BlockILUCompose("PCFactorSetShiftAmount_C", PCBlockILUSetShiftAmount_BlockILU);
  BlockILUCompose("PCFactorGetShiftAmount_C", PCBlockILUGetShiftAmount_BlockILU);
  PetscFunctionReturn(PETSC_SUCCESS);
}
