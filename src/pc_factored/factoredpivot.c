/* SPDX-License-Identifier: BSD-2-Clause */
/* factoredpivot.c: what the setters and getters about pivots do, those of a type and those of PCFactor */
#include "factored.h"

static PetscErrorCode PCSetZeroPivot_Factored(PC pc, PetscReal zeropivot)
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  if (zeropivot == (PetscReal)PETSC_DECIDE) zeropivot = 100.0 * PETSC_MACHINE_EPSILON;
  PetscCheck(zeropivot >= 0.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Zero pivot tolerance %g must not be negative", (double)zeropivot);
  if (f->zeropivot != zeropivot) PetscCall((*f->changed)(pc));
  f->zeropivot = zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGetZeroPivot_Factored(PC pc, PetscReal *zeropivot)
{
  PetscFunctionBegin;
  *zeropivot = ((PC_Factored *)pc->data)->zeropivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetShiftType_Factored(PC pc, MatFactorShiftType shifttype)
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  PetscCheck(shifttype == MAT_SHIFT_NONE || shifttype == MAT_SHIFT_NONZERO || shifttype == MAT_SHIFT_INBLOCKS,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "%s boosts pivots (nonzero, inblocks) or fails (none); it has no shift type %s", f->name,
             MatFactorShiftTypes[shifttype]);
  if (f->shifttype != shifttype) PetscCall((*f->changed)(pc));
  f->shifttype = shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGetShiftType_Factored(PC pc, MatFactorShiftType *shifttype)
{
  PetscFunctionBegin;
  *shifttype = ((PC_Factored *)pc->data)->shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetShiftAmount_Factored(PC pc, PetscReal shiftamount)
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  PetscCheck(shiftamount > 0.0 || shiftamount == (PetscReal)PETSC_DECIDE, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "Magnitude of a boosted pivot must be positive or PETSC_DECIDE, not %g",
             (double)shiftamount);
  if (f->shiftamount != shiftamount) PetscCall((*f->changed)(pc));
  f->shiftamount = shiftamount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGetShiftAmount_Factored(PC pc, PetscReal *shiftamount)
{
  PetscFunctionBegin;
  *shiftamount = ((PC_Factored *)pc->data)->shiftamount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCFactoredCompose_Private(PC pc, const char prefix[], const char method[],
                                                PetscErrorCodeFn *function)
{
  char name[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s_C", prefix, method));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, function));
  PetscCall(PetscSNPrintf(name, sizeof(name), "PCFactor%s_C", method));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As prefix...() and as PCFactor...() */
PetscErrorCode PCFactoredComposePivotMethods_Private(PC pc, const char prefix[], PetscBool compose)
{
  const struct {
    const char       *method;
    PetscErrorCodeFn *function;
  } methods[] = {{"SetZeroPivot", (PetscErrorCodeFn *)PCSetZeroPivot_Factored},
                 {"GetZeroPivot", (PetscErrorCodeFn *)PCGetZeroPivot_Factored},
                 {"SetShiftType", (PetscErrorCodeFn *)PCSetShiftType_Factored},
                 {"GetShiftType", (PetscErrorCodeFn *)PCGetShiftType_Factored},
                 {"SetShiftAmount", (PetscErrorCodeFn *)PCSetShiftAmount_Factored},
                 {"GetShiftAmount", (PetscErrorCodeFn *)PCGetShiftAmount_Factored}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++)
    PetscCall(PCFactoredCompose_Private(pc, prefix, methods[k].method, compose ? methods[k].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
