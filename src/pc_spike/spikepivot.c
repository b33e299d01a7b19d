/* SPDX-License-Identifier: BSD-2-Clause */
/* spikepivot.c: setters and getters of PCSPIKE about zero pivots */
#include "spikeimpl.h"

static PetscErrorCode PCSpikeSetZeroPivot_Spike(PC pc, PetscReal zeropivot)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(zeropivot >= 0.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Zero pivot tolerance %g must not be negative", (double)zeropivot);
  if (s->zeropivot != zeropivot) PetscCall(PCSpikeChanged_Private(pc));
  s->zeropivot = zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetZeroPivot_Spike(PC pc, PetscReal *zeropivot)
{
  PetscFunctionBegin;
  *zeropivot = ((PC_Spike *)pc->data)->zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetZeroPivot - Pivots up to this fraction of the norm of the matrix count as zero

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- zeropivot - fraction of the infinity norm of the matrix; default 100 times machine epsilon

  Options Database Key:
. -pc_spike_zeropivot tol - the fraction

  Level: intermediate

  Note:
  The tolerance is relative to the norm, so that it does not depend on the units of the matrix; that of `PCLU` is absolute.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetZeroPivot()`, `PCFactorSetZeroPivot()`, `PCSpikeSetShiftType()`
@*/
PetscErrorCode PCSpikeSetZeroPivot(PC pc, PetscReal zeropivot)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, zeropivot, 2);
  PetscTryMethod(pc, "PCSpikeSetZeroPivot_C", (PC, PetscReal), (pc, zeropivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetZeroPivot - What `PCSpikeSetZeroPivot()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. zeropivot - fraction of the infinity norm of the matrix; default 100 times machine epsilon

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetZeroPivot()`
@*/
PetscErrorCode PCSpikeGetZeroPivot(PC pc, PetscReal *zeropivot)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(zeropivot, 2);
  PetscUseMethod(pc, "PCSpikeGetZeroPivot_C", (PC, PetscReal *), (pc, zeropivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetShiftType_Spike(PC pc, MatFactorShiftType shifttype)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(shifttype == MAT_SHIFT_NONE || shifttype == MAT_SHIFT_NONZERO || shifttype == MAT_SHIFT_INBLOCKS, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PCSPIKE boosts pivots (nonzero, inblocks) or fails (none); it has no shift type %s", MatFactorShiftTypes[shifttype]);
  if (s->shifttype != shifttype) PetscCall(PCSpikeChanged_Private(pc));
  s->shifttype = shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetShiftType_Spike(PC pc, MatFactorShiftType *shifttype)
{
  PetscFunctionBegin;
  *shifttype = ((PC_Spike *)pc->data)->shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetShiftType - What happens to a zero pivot

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is boosted

  Options Database Key:
. -pc_spike_shift_type (none|nonzero|inblocks) - the policy

  Level: intermediate

  Note:
  Boosting replaces the pivot alone, as `MAT_SHIFT_INBLOCKS` does, and never restarts the factorization; the number of boosted pivots is in the view and in `PCSpikeInfo`.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetShiftType()`, `PCFactorSetShiftType()`, `PCSpikeSetShiftAmount()`, `PCSpikeSetZeroPivot()`
@*/
PetscErrorCode PCSpikeSetShiftType(PC pc, MatFactorShiftType shifttype)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, shifttype, 2);
  PetscTryMethod(pc, "PCSpikeSetShiftType_C", (PC, MatFactorShiftType), (pc, shifttype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetShiftType - What `PCSpikeSetShiftType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is boosted

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetShiftType()`
@*/
PetscErrorCode PCSpikeGetShiftType(PC pc, MatFactorShiftType *shifttype)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(shifttype, 2);
  PetscUseMethod(pc, "PCSpikeGetShiftType_C", (PC, MatFactorShiftType *), (pc, shifttype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetShiftAmount_Spike(PC pc, PetscReal amount)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(amount > 0.0 || amount == (PetscReal)PETSC_DECIDE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Magnitude of a boosted pivot must be positive or PETSC_DECIDE, not %g", (double)amount);
  if (s->shiftamount != amount) PetscCall(PCSpikeChanged_Private(pc));
  s->shiftamount = amount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetShiftAmount_Spike(PC pc, PetscReal *amount)
{
  PetscFunctionBegin;
  *amount = ((PC_Spike *)pc->data)->shiftamount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetShiftAmount - Magnitude that a boosted pivot gets

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner context
- amount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the rounding of the factors

  Options Database Key:
. -pc_spike_shift_amount amount - the fraction

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetShiftAmount()`, `PCFactorSetShiftAmount()`, `PCSpikeSetShiftType()`
@*/
PetscErrorCode PCSpikeSetShiftAmount(PC pc, PetscReal amount)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, amount, 2);
  PetscTryMethod(pc, "PCSpikeSetShiftAmount_C", (PC, PetscReal), (pc, amount));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetShiftAmount - What `PCSpikeSetShiftAmount()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. amount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the rounding of the factors

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetShiftAmount()`
@*/
PetscErrorCode PCSpikeGetShiftAmount(PC pc, PetscReal *amount)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(amount, 2);
  PetscUseMethod(pc, "PCSpikeGetShiftAmount_C", (PC, PetscReal *), (pc, amount));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposePivotMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetZeroPivot_C", PCSpikeSetZeroPivot_Spike);
  SpikeCompose("PCSpikeGetZeroPivot_C", PCSpikeGetZeroPivot_Spike);
  SpikeCompose("PCSpikeSetShiftType_C", PCSpikeSetShiftType_Spike);
  SpikeCompose("PCSpikeGetShiftType_C", PCSpikeGetShiftType_Spike);
  SpikeCompose("PCSpikeSetShiftAmount_C", PCSpikeSetShiftAmount_Spike);
  SpikeCompose("PCSpikeGetShiftAmount_C", PCSpikeGetShiftAmount_Spike);
  SpikeCompose("PCFactorSetZeroPivot_C", PCSpikeSetZeroPivot_Spike);
  SpikeCompose("PCFactorGetZeroPivot_C", PCSpikeGetZeroPivot_Spike);
  SpikeCompose("PCFactorSetShiftType_C", PCSpikeSetShiftType_Spike);
  SpikeCompose("PCFactorGetShiftType_C", PCSpikeGetShiftType_Spike);
  SpikeCompose("PCFactorSetShiftAmount_C", PCSpikeSetShiftAmount_Spike);
  SpikeCompose("PCFactorGetShiftAmount_C", PCSpikeGetShiftAmount_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
