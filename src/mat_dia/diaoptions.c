/* SPDX-License-Identifier: BSD-2-Clause */
/* diaoptions.c: what users set and ask of MATDIA: diagonals, schedule, fill */
#include "diaimpl.h"

const char *const MatDIAScheduleTypes[] = {"overlap", "twophase", "MatDIAScheduleType", "MAT_DIA_SCHEDULE_", NULL};

static PetscErrorCode MatDIAGetDiagonals_DIA(Mat A, PetscInt *count, const PetscInt *offsets[])
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCheck(a->built, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has no diagonals before it is assembled");
  if (count) *count = a->dia.count;
  if (offsets) *offsets = a->offsets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIASetSchedule_DIA(Mat A, MatDIAScheduleType type)
{
  PetscFunctionBegin;
  ((Mat_DIA *)A->data)->schedule = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetSchedule_DIA(Mat A, MatDIAScheduleType *type)
{
  PetscFunctionBegin;
  *type = ((Mat_DIA *)A->data)->schedule;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIASetMaxFill_DIA(Mat A, PetscReal fill)
{
  PetscFunctionBegin;
  PetscCheck(fill >= 1.0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "The fill, places of the diagonals over entries, is at least 1, and %g was given", (double)fill);
  ((Mat_DIA *)A->data)->maxfill = fill;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetMaxFill_DIA(Mat A, PetscReal *fill)
{
  PetscFunctionBegin;
  *fill = ((Mat_DIA *)A->data)->maxfill;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDIAGetDiagonals - Gets the diagonals that a `MATDIA` stores on this rank

  Not Collective

  Input Parameter:
. A - the matrix, of type `MATDIA` and assembled

  Output Parameters:
+ count   - how many there are (may be `NULL`)
- offsets - column minus row, in global indices, of each of them, ascending (may be `NULL`); it belongs to the matrix
            and holds until its pattern changes

  Level: intermediate

  Note:
  Ranks store the diagonals in which their own rows have entries: in general others than their neighbours. A rank stores
  `count` values for each of its rows.

.seealso: [](ch_matrices), `MATDIA`, `MatDIASetMaxFill()`
@*/
PetscErrorCode MatDIAGetDiagonals(Mat A, PetscInt *count, const PetscInt *offsets[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscUseMethod(A, "MatDIAGetDiagonals_C", (Mat, PetscInt *, const PetscInt **), (A, count, offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIASetSchedule - Sets how the ranks of a `MATDIA` exchange the parts of the vector that a product needs from others

  Logically Collective

  Input Parameters:
+ A    - the matrix
- type - `MAT_DIA_SCHEDULE_OVERLAP` (the default) or `MAT_DIA_SCHEDULE_TWOPHASE`

  Options Database Key:
. -mat_dia_schedule (overlap|twophase) - sets it

  Level: advanced

  Note:
  Both send the same messages, one each way to each neighbour, and both compute the rows that need none of them in
  between. In two phases a rank exchanges with one neighbour at a time, which is kinder to networks whose links are half
  as fast when they carry messages of several pairs.

.seealso: [](ch_matrices), `MATDIA`, `MatDIAScheduleType`, `MatDIAGetSchedule()`
@*/
PetscErrorCode MatDIASetSchedule(Mat A, MatDIAScheduleType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, type, 2);
  PetscTryMethod(A, "MatDIASetSchedule_C", (Mat, MatDIAScheduleType), (A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIAGetSchedule - Gets how the ranks of a `MATDIA` exchange the parts of the vector that a product needs from others

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. type - `MAT_DIA_SCHEDULE_OVERLAP` or `MAT_DIA_SCHEDULE_TWOPHASE`

  Level: advanced

.seealso: [](ch_matrices), `MATDIA`, `MatDIAScheduleType`, `MatDIASetSchedule()`
@*/
PetscErrorCode MatDIAGetSchedule(Mat A, MatDIAScheduleType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(A, "MatDIAGetSchedule_C", (Mat, MatDIAScheduleType *), (A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIASetMaxFill - Sets how many places, in units of the entries of the matrix, the diagonals of a `MATDIA` may have

  Logically Collective

  Input Parameters:
+ A    - the matrix
- fill - places over entries, at least 1; 10 by default

  Options Database Key:
. -mat_dia_max_fill fill - sets it

  Level: intermediate

  Note:
  A diagonal takes a number for each row of a rank that has an entry on it. A matrix whose entries lie on no few
  diagonals would take many times the memory of `MATAIJ`; assembly and `MatConvert()` refuse it with an error that names
  both. Below a megabyte on a rank nothing is refused. A matrix that is not square becomes a `MATAIJ` instead when it is
  assembled.

.seealso: [](ch_matrices), `MATDIA`, `MatDIAGetMaxFill()`, `MatDIAGetDiagonals()`
@*/
PetscErrorCode MatDIASetMaxFill(Mat A, PetscReal fill)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveReal(A, fill, 2);
  PetscTryMethod(A, "MatDIASetMaxFill_C", (Mat, PetscReal), (A, fill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIAGetMaxFill - Gets how many places, in units of the entries of the matrix, the diagonals of a `MATDIA` may have

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. fill - places over entries

  Level: intermediate

.seealso: [](ch_matrices), `MATDIA`, `MatDIASetMaxFill()`
@*/
PetscErrorCode MatDIAGetMaxFill(Mat A, PetscReal *fill)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(fill, 2);
  PetscUseMethod(A, "MatDIAGetMaxFill_C", (Mat, PetscReal *), (A, fill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetFromOptions_DIA(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_DIA  *a       = (Mat_DIA *)A->data;
  PetscReal fill    = a->maxfill;
  PetscInt  pernode = a->halo.pernode;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MATDIA options");
  PetscCall(PetscOptionsEnum("-mat_dia_schedule", "Exchange between ranks", "MatDIASetSchedule", MatDIAScheduleTypes,
                             (PetscEnum)a->schedule, (PetscEnum *)&a->schedule, NULL));
  PetscCall(PetscOptionsReal("-mat_dia_max_fill", "Places of the diagonals over entries, at most", "MatDIASetMaxFill",
                             fill, &fill, &set));
  if (set) PetscCall(MatDIASetMaxFill_DIA(A, fill));
  PetscCall(PetscOptionsInt("-mat_dia_ranks_per_node", "Ranks that count as one node, 0: as MPI has it", "MATDIA",
                            pernode, &pernode, &set));
  if (set) PetscCall(MatHaloSetRanksPerNode_Private(&a->halo, pernode, (PetscObject)A));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a matrix that a conversion makes, whose options nobody else asks for */
PetscErrorCode MatDIASetFromOptions_Private(Mat A)
{
  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)A);
  PetscCall(MatSetFromOptions_DIA(A, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAComposeOptions_Private(Mat A, PetscBool compose)
{
  static const MatDIAFunction list[] = {
    {"MatDIAGetDiagonals_C", (PetscErrorCodeFn *)MatDIAGetDiagonals_DIA},
    {"MatDIASetSchedule_C", (PetscErrorCodeFn *)MatDIASetSchedule_DIA},
    {"MatDIAGetSchedule_C", (PetscErrorCodeFn *)MatDIAGetSchedule_DIA},
    {"MatDIASetMaxFill_C", (PetscErrorCodeFn *)MatDIASetMaxFill_DIA},
    {"MatDIAGetMaxFill_C", (PetscErrorCodeFn *)MatDIAGetMaxFill_DIA},
  };

  PetscFunctionBegin;
  PetscCall(MatDIACompose_Private(A, compose, PETSC_STATIC_ARRAY_LENGTH(list), list));
  PetscFunctionReturn(PETSC_SUCCESS);
}
