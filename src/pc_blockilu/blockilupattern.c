/* SPDX-License-Identifier: BSD-2-Clause */
/* blockilupattern.c: setters and getters of PCBLOCKILU about the pattern of the factors: levels of fill, orderings */
#include "blockiluimpl.h"

static PetscErrorCode PCBlockILUSetLevels_BlockILU(PC pc, PetscInt levels)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  PetscCheck(levels >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Levels of fill %" PetscInt_FMT " must not be negative", levels);
  if (s->levels != levels) PetscCall(PCBlockILUChanged_Private(pc));
  s->levels = levels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetLevels_BlockILU(PC pc, PetscInt *levels)
{
  PetscFunctionBegin;
  *levels = ((PC_BlockILU *)pc->data)->levels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetComplete_BlockILU(PC pc, PetscBool complete)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  if (s->complete != complete) PetscCall(PCBlockILUChanged_Private(pc));
  s->complete = complete;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetComplete_BlockILU(PC pc, PetscBool *complete)
{
  PetscFunctionBegin;
  *complete = ((PC_BlockILU *)pc->data)->complete;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetComplete - Whether the factorization of each subdomain is complete

  Logically Collective

  Input Parameters:
+ pc       - the preconditioner context
- complete - `PETSC_TRUE`: all fill is kept, and levels are not looked at; default `PETSC_FALSE`

  Options Database Key:
. -pc_blockilu_complete - complete factorization

  Level: intermediate

  Note:
  With one subdomain on one rank this is a direct solver, without exchanges of block rows. It is meant for small
  subdomains: fill grows as that of a band does, unless an ordering such as `nd` or `qmd` is asked for by
  `PCFactorSetMatOrderingType()`.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetComplete()`, `PCFactorSetLevels()`
@*/
PetscErrorCode PCBlockILUSetComplete(PC pc, PetscBool complete)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, complete, 2);
  PetscTryMethod(pc, "PCBlockILUSetComplete_C", (PC, PetscBool), (pc, complete));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetComplete - What `PCBlockILUSetComplete()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. complete - `PETSC_TRUE`: all fill is kept, and levels are not looked at; default `PETSC_FALSE`

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetComplete()`
@*/
PetscErrorCode PCBlockILUGetComplete(PC pc, PetscBool *complete)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(complete, 2);
  PetscUseMethod(pc, "PCBlockILUGetComplete_C", (PC, PetscBool *), (pc, complete));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetMatOrderingType - What `PCFactorSetMatOrderingType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. ordering - a `MatOrderingType` that orders rows and columns alike; default `MATORDERINGNATURAL`; the string belongs to
             the preconditioner

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCFactorSetMatOrderingType()`
@*/
PetscErrorCode PCBlockILUGetMatOrderingType(PC pc, MatOrderingType *ordering)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(ordering, 2);
  PetscUseMethod(pc, "PCBlockILUGetMatOrderingType_C", (PC, MatOrderingType *), (pc, ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetMulticolor_BlockILU(PC pc, PetscBool multicolor)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  if (s->multicolor != multicolor) PetscCall(PCBlockILUChanged_Private(pc));
  s->multicolor = multicolor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetMulticolor_BlockILU(PC pc, PetscBool *multicolor)
{
  PetscFunctionBegin;
  *multicolor = ((PC_BlockILU *)pc->data)->multicolor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetMulticolor - Whether the blocks inside of each subdomain are ordered by colors

  Logically Collective

  Input Parameters:
+ pc         - the preconditioner context
- multicolor - `PETSC_TRUE`: multicolor ordering; default `PETSC_FALSE`

  Options Database Key:
. -pc_blockilu_multicolor - multicolor ordering

  Level: intermediate

  Notes:
  Blocks that are coupled get different colors, one block after the other the first one that no neighbour has (greedy,
  in the pattern of A + A^T), and are ordered by color. An ILU(0) has as many level sets as there are colors then, few,
  which suits processors with many threads, and takes more iterations than in natural ordering.

  It does not go together with an ordering of `PCFactorSetMatOrderingType()` other than the natural one.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetMulticolor()`, `PCFactorSetMatOrderingType()`, `MatColoring`
@*/
PetscErrorCode PCBlockILUSetMulticolor(PC pc, PetscBool multicolor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, multicolor, 2);
  PetscTryMethod(pc, "PCBlockILUSetMulticolor_C", (PC, PetscBool), (pc, multicolor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetMulticolor - What `PCBlockILUSetMulticolor()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. multicolor - `PETSC_TRUE`: multicolor ordering; default `PETSC_FALSE`

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetMulticolor()`
@*/
PetscErrorCode PCBlockILUGetMulticolor(PC pc, PetscBool *multicolor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(multicolor, 2);
  PetscUseMethod(pc, "PCBlockILUGetMulticolor_C", (PC, PetscBool *), (pc, multicolor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCBlockILUComposePatternMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  BlockILUCompose("PCBlockILUSetComplete_C", PCBlockILUSetComplete_BlockILU);
  BlockILUCompose("PCBlockILUGetComplete_C", PCBlockILUGetComplete_BlockILU);
  BlockILUCompose("PCBlockILUSetMulticolor_C", PCBlockILUSetMulticolor_BlockILU);
  BlockILUCompose("PCBlockILUGetMulticolor_C", PCBlockILUGetMulticolor_BlockILU);
  BlockILUCompose("PCFactorSetLevels_C", PCBlockILUSetLevels_BlockILU);
  BlockILUCompose("PCFactorGetLevels_C", PCBlockILUGetLevels_BlockILU);
  PetscFunctionReturn(PETSC_SUCCESS);
}
