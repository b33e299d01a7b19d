/* SPDX-License-Identifier: BSD-2-Clause */
/* blockilupivot.c: setters and getters of PCBLOCKILU about pivots; factoredpivot.c has what they do */
#include "blockiluimpl.h"

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
  The tolerance is relative to the norm, so that it does not depend on the units of the matrix; that of `PCILU` is
  absolute. Pivots are those inside of diagonal blocks, with row exchanges.

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

/*@
  PCBlockILUSetShiftType - What happens to a zero pivot

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is
              boosted

  Options Database Key:
. -pc_blockilu_shift_type (none|nonzero|inblocks) - the policy

  Level: intermediate

  Note:
  Boosting replaces the pivot alone, as `MAT_SHIFT_INBLOCKS` does, and never restarts the factorization; the number of
  boosted pivots is in the view and in `PCBlockILUInfo`.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetShiftType()`, `PCFactorSetShiftType()`, `PCBlockILUSetShiftAmount()`,
`PCBlockILUSetZeroPivot()`
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
. shifttype - `MAT_SHIFT_NONE` (the default): the setup fails; `MAT_SHIFT_NONZERO` or `MAT_SHIFT_INBLOCKS`: the pivot is
              boosted

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

/*@
  PCBlockILUSetShiftAmount - Magnitude that a boosted pivot gets

  Logically Collective

  Input Parameters:
+ pc          - the preconditioner context
- shiftamount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the
                rounding of the factors

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
. shiftamount - fraction of the infinity norm of the matrix, or `PETSC_DECIDE`, the default: the square root of the
                rounding of the factors

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
