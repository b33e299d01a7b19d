/* SPDX-License-Identifier: BSD-2-Clause */
/* spikepivot.c: setters and getters of PCSPIKE about pivots; factoredpivot.c has what they do */
#include "spikeimpl.h"

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
  The tolerance is relative to the norm, so that it does not depend on the units of the matrix; that of `PCLU` is
  absolute.

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

/*@
  PCSpikeSetShiftType - What happens to a zero pivot

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is
              boosted

  Options Database Key:
. -pc_spike_shift_type (none|nonzero|inblocks) - the policy

  Level: intermediate

  Note:
  Boosting replaces the pivot alone, as `MAT_SHIFT_INBLOCKS` does, and never restarts the factorization; the number of
  boosted pivots is in the view and in `PCSpikeInfo`.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetShiftType()`, `PCFactorSetShiftType()`, `PCSpikeSetShiftAmount()`,
`PCSpikeSetZeroPivot()`
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
. shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is
              boosted

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

/*@
  PCSpikeSetShiftAmount - Magnitude that a boosted pivot gets

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner context
- amount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the rounding
           of the factors

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
. amount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the rounding
           of the factors

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
