/* SPDX-License-Identifier: BSD-2-Clause */
/* factoredoptions.c: what the setters and getters of PCFactor do: pivots and ordering */
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

/*
  MAT_SHIFT_NONE: a zero pivot fails. MAT_SHIFT_NONZERO, MAT_SHIFT_INBLOCKS: it alone is boosted. PETSC_DECIDE, where
  nothing was set: the same, but KSPPREONLY does not take it for a solution
*/
static PetscErrorCode PCSetShiftType_Factored(PC pc, MatFactorShiftType shifttype)
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  PetscCheck(shifttype == MAT_SHIFT_NONE || shifttype == MAT_SHIFT_NONZERO || shifttype == MAT_SHIFT_INBLOCKS ||
               shifttype == (MatFactorShiftType)PETSC_DECIDE,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "%s boosts pivots (nonzero, inblocks) or fails (none); it has no shift type %s", f->name,
             shifttype == MAT_SHIFT_POSITIVE_DEFINITE ? MatFactorShiftTypes[shifttype] : "of this number");
  if (f->shifttype != shifttype) PetscCall((*f->changed)(pc));
  f->shifttype = shifttype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGetShiftType_Factored(PC pc, MatFactorShiftType *shifttype)
{
  PetscFunctionBegin;
  *shifttype = ((PC_Factored *)pc->data)->shifttype;
  if (*shifttype == (MatFactorShiftType)PETSC_DECIDE) *shifttype = MAT_SHIFT_NONZERO;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option of the shift type, inside of PetscOptionsHeadBegin() */
PetscErrorCode PCFactoredSetShiftFromOptions_Private(PC pc, const char option[], PetscOptionItems PetscOptionsObject)
{
  /* the k-th is the enumerator k - 1 */
  const char *const  shifts[] = {"auto", "none", "nonzero", "positive_definite", "inblocks"};
  MatFactorShiftType now      = ((PC_Factored *)pc->data)->shifttype;
  PetscInt           shift    = now == (MatFactorShiftType)PETSC_DECIDE ? 0 : (PetscInt)now + 1;
  PetscBool          set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEList(option, "What happens to zero pivots", "PCFactorSetShiftType", shifts,
                              PETSC_STATIC_ARRAY_LENGTH(shifts), shifts[shift], &shift, &set));
  if (set) PetscCall(PCFactorSetShiftType(pc, (MatFactorShiftType)(shift ? shift - 1 : PETSC_DECIDE)));
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

static PetscErrorCode PCSetMatOrderingType_Factored(PC pc, MatOrderingType ordering)
{
  PC_Factored *f = (PC_Factored *)pc->data;
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(f->ordering, ordering, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*f->changed)(pc));
  PetscCall(PetscFree(f->ordering));
  PetscCall(PetscStrallocpy(ordering, &f->ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGetMatOrderingType_Factored(PC pc, MatOrderingType *ordering)
{
  PetscFunctionBegin;
  *ordering = ((PC_Factored *)pc->data)->ordering;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The methods of PCFactor, and the getter of the ordering, which PCFactor does not have, as prefix...(); compose false
  takes them away
*/
PetscErrorCode PCFactoredComposeMethods_Private(PC pc, const char prefix[], PetscBool compose)
{
  const struct {
    const char       *name;
    PetscErrorCodeFn *function;
  } methods[] = {{"PCFactorSetZeroPivot_C", (PetscErrorCodeFn *)PCSetZeroPivot_Factored},
                 {"PCFactorGetZeroPivot_C", (PetscErrorCodeFn *)PCGetZeroPivot_Factored},
                 {"PCFactorSetShiftType_C", (PetscErrorCodeFn *)PCSetShiftType_Factored},
                 {"PCFactorGetShiftType_C", (PetscErrorCodeFn *)PCGetShiftType_Factored},
                 {"PCFactorSetShiftAmount_C", (PetscErrorCodeFn *)PCSetShiftAmount_Factored},
                 {"PCFactorGetShiftAmount_C", (PetscErrorCodeFn *)PCGetShiftAmount_Factored},
                 {"PCFactorSetMatOrderingType_C", (PetscErrorCodeFn *)PCSetMatOrderingType_Factored},
                 {NULL, (PetscErrorCodeFn *)PCGetMatOrderingType_Factored}};
  char getter[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(getter, sizeof(getter), "%sGetMatOrderingType_C", prefix));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++)
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, methods[k].name ? methods[k].name : getter,
                                         compose ? methods[k].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
