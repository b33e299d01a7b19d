/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockiluoptions.c: options of PCBLOCKILU, setters and getters about blocks, subdomains and precision; those about the
  pattern are in blockilupattern.c, those about pivots in pc_factored/factoredoptions.c
*/
#include "blockiluimpl.h"

/* A changed parameter makes the next PCSetUp() start from scratch */
PetscErrorCode PCBlockILUChanged_Private(PC pc)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  s->built        = PETSC_FALSE;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetBlockSize_BlockILU(PC pc, PetscInt bs)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  PetscCheck(bs == PETSC_DECIDE || bs >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Block size %" PetscInt_FMT " must be positive or PETSC_DECIDE", bs);
  if (s->bs != bs) PetscCall(PCBlockILUChanged_Private(pc));
  s->bs = bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetBlockSize_BlockILU(PC pc, PetscInt *bs)
{
  PetscFunctionBegin;
  *bs = ((PC_BlockILU *)pc->data)->bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetBlockSize - Size of the dense blocks that `PCBLOCKILU` factors

  Logically Collective

  Input Parameters:
+ pc - the preconditioner context
- bs - rows of a block, 1 to 32, or `PETSC_DECIDE`, the default: the block size of the matrix

  Options Database Key:
. -pc_blockilu_bs bs - the size

  Level: intermediate

  Note:
  A `MATBAIJ` matrix is factored in its own blocks, and another size is an error; blocks of a `MATAIJ` matrix are
  gathered from its entries.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetBlockSize()`, `MatSetBlockSize()`
@*/
PetscErrorCode PCBlockILUSetBlockSize(PC pc, PetscInt bs)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, bs, 2);
  PetscTryMethod(pc, "PCBlockILUSetBlockSize_C", (PC, PetscInt), (pc, bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetBlockSize - What `PCBlockILUSetBlockSize()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. bs - rows of a block, 1 to 32, or `PETSC_DECIDE`, the default: the block size of the matrix

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetBlockSize()`
@*/
PetscErrorCode PCBlockILUGetBlockSize(PC pc, PetscInt *bs)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(bs, 2);
  PetscUseMethod(pc, "PCBlockILUGetBlockSize_C", (PC, PetscInt *), (pc, bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetLocalSubdomains_BlockILU(PC pc, PetscInt subdomains)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  PetscCheck(subdomains == PETSC_DECIDE || subdomains >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Number of subdomains %" PetscInt_FMT " must be positive or PETSC_DECIDE", subdomains);
  if (s->subdomains != subdomains) PetscCall(PCBlockILUChanged_Private(pc));
  s->subdomains = subdomains;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetLocalSubdomains_BlockILU(PC pc, PetscInt *subdomains)
{
  PetscFunctionBegin;
  *subdomains = ((PC_BlockILU *)pc->data)->subdomains;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetLocalSubdomains - Number of subdomains on each rank

  Logically Collective

  Input Parameters:
+ pc         - the preconditioner context
- subdomains - number of subdomains on each rank, or `PETSC_DECIDE`, the default: one

  Options Database Key:
. -pc_blockilu_local_subdomains p - the number

  Level: intermediate

  Note:
  Subdomains are contiguous block rows, as many in each as in the others, or one more. Entries that couple two of them
  are left out; the view says how many blocks these are.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetLocalSubdomains()`, `PCBJacobiSetLocalBlocks()`
@*/
PetscErrorCode PCBlockILUSetLocalSubdomains(PC pc, PetscInt subdomains)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, subdomains, 2);
  PetscTryMethod(pc, "PCBlockILUSetLocalSubdomains_C", (PC, PetscInt), (pc, subdomains));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetLocalSubdomains - What `PCBlockILUSetLocalSubdomains()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. subdomains - number of subdomains on each rank, or `PETSC_DECIDE`, the default: one

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetLocalSubdomains()`
@*/
PetscErrorCode PCBlockILUGetLocalSubdomains(PC pc, PetscInt *subdomains)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(subdomains, 2);
  PetscUseMethod(pc, "PCBlockILUGetLocalSubdomains_C", (PC, PetscInt *), (pc, subdomains));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetPrecision_BlockILU(PC pc, PetscSpikePrecision precision)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  PetscCheck(precision == PETSC_SPIKE_PRECISION_DOUBLE || precision == PETSC_SPIKE_PRECISION_SINGLE,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBLOCKILU has factors in double and single precision, not %s",
             precision >= 0 && precision <= PETSC_SPIKE_PRECISION_FP16 ? PetscSpikePrecisions[precision]
                                                                       : "another one");
  if (s->precision != precision) PetscCall(PCBlockILUChanged_Private(pc));
  s->precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUGetPrecision_BlockILU(PC pc, PetscSpikePrecision *precision)
{
  PetscFunctionBegin;
  *precision = ((PC_BlockILU *)pc->data)->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUSetPrecision - Precision in which the factors are made and stored

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- precision - `PETSC_SPIKE_PRECISION_DOUBLE` or `PETSC_SPIKE_PRECISION_SINGLE`; the default is that of `PetscReal`

  Options Database Key:
. -pc_blockilu_precision (double|single) - the precision

  Level: intermediate

  Note:
  Vectors stay in `PetscScalar`, and so does the arithmetic of a solve; the factorization works in the precision of the
  factors. Entries that single precision cannot hold are a failure of the setup.

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetPrecision()`, `PetscSpikePrecision`
@*/
PetscErrorCode PCBlockILUSetPrecision(PC pc, PetscSpikePrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscTryMethod(pc, "PCBlockILUSetPrecision_C", (PC, PetscSpikePrecision), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBlockILUGetPrecision - What `PCBlockILUSetPrecision()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. precision - `PETSC_SPIKE_PRECISION_DOUBLE` or `PETSC_SPIKE_PRECISION_SINGLE`; the default is that of `PetscReal`

  Level: intermediate

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUSetPrecision()`
@*/
PetscErrorCode PCBlockILUGetPrecision(PC pc, PetscSpikePrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  PetscUseMethod(pc, "PCBlockILUGetPrecision_C", (PC, PetscSpikePrecision *), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Methods of PCFactor that would change the result and that this type does not have */
static PetscErrorCode PCBlockILUSetDropTolerance_BlockILU(PC pc, PetscReal dt, PetscReal dtcol, PetscInt maxrowcount)
{
  PetscFunctionBegin;
  (void)dt;
  (void)dtcol;
  (void)maxrowcount;
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
          "PCBLOCKILU has no drop tolerance: use PCFactorSetLevels(), or PCILU");
}

static PetscErrorCode PCBlockILUReorderForNonzeroDiagonal_BlockILU(PC pc, PetscReal tol)
{
  PetscFunctionBegin;
  (void)tol;
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
          "PCBLOCKILU does not move large entries to the diagonal: boost zero pivots by PCFactorSetShiftType(), or use "
          "PCILU");
}

static PetscErrorCode PCBlockILUSetUseInPlace_BlockILU(PC pc, PetscBool inplace)
{
  PetscFunctionBegin;
  PetscCheck(!inplace, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBLOCKILU does not factor in the memory of the matrix: use PCILU");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetPivotInBlocks_BlockILU(PC pc, PetscBool pivot)
{
  PetscFunctionBegin;
  PetscCheck(pivot, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBLOCKILU always exchanges rows inside of diagonal blocks: use PCILU");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The methods of this type, and the generic ones of PCFactor; compose false takes them away */
PetscErrorCode PCBlockILUComposeMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  BlockILUCompose("PCBlockILUSetBlockSize_C", PCBlockILUSetBlockSize_BlockILU);
  BlockILUCompose("PCBlockILUGetBlockSize_C", PCBlockILUGetBlockSize_BlockILU);
  BlockILUCompose("PCBlockILUSetLocalSubdomains_C", PCBlockILUSetLocalSubdomains_BlockILU);
  BlockILUCompose("PCBlockILUGetLocalSubdomains_C", PCBlockILUGetLocalSubdomains_BlockILU);
  BlockILUCompose("PCBlockILUSetPrecision_C", PCBlockILUSetPrecision_BlockILU);
  BlockILUCompose("PCBlockILUGetPrecision_C", PCBlockILUGetPrecision_BlockILU);
  BlockILUCompose("PCBlockILUGetInfo_C", PCBlockILUGetInfo_BlockILU);
  BlockILUCompose("PetscSpikeGetEnqueue_C", PetscSpikeGetEnqueue_BlockILU);
  BlockILUCompose("PCFactorSetDropTolerance_C", PCBlockILUSetDropTolerance_BlockILU);
  BlockILUCompose("PCFactorReorderForNonzeroDiagonal_C", PCBlockILUReorderForNonzeroDiagonal_BlockILU);
  BlockILUCompose("PCFactorSetUseInPlace_C", PCBlockILUSetUseInPlace_BlockILU);
  BlockILUCompose("PCFactorSetPivotInBlocks_C", PCBlockILUSetPivotInBlocks_BlockILU);
  PetscCall(PCBlockILUComposePatternMethods_Private(pc, compose));
  PetscCall(PCFactoredComposeMethods_Private(pc, "PCBlockILU", compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetFromOptions_BlockILU(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_BlockILU      *s            = (PC_BlockILU *)pc->data;
  const char *const precisions[] = {"double", "single"};
  PetscInt          bs = s->bs, subdomains = s->subdomains, levels = s->levels, precision = (PetscInt)s->precision;
  PetscReal         zeropivot = s->zeropivot, amount = s->shiftamount;
  PetscBool         set, complete = s->complete, multicolor = s->multicolor;
  char              ordering[256];
  PetscFunctionList list;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Block ILU options");
  PetscCall(PetscOptionsInt("-pc_blockilu_bs", "Size of the blocks", "PCBlockILUSetBlockSize", bs, &bs, &set));
  if (set) PetscCall(PCBlockILUSetBlockSize(pc, bs));
  PetscCall(PetscOptionsInt("-pc_blockilu_local_subdomains", "Subdomains on each rank", "PCBlockILUSetLocalSubdomains",
                            subdomains, &subdomains, &set));
  if (set) PetscCall(PCBlockILUSetLocalSubdomains(pc, subdomains));
  PetscCall(PetscOptionsInt("-pc_blockilu_levels", "Levels of fill", "PCFactorSetLevels", levels, &levels, &set));
  if (set) PetscCall(PCFactorSetLevels(pc, levels));
  PetscCall(PetscOptionsBool("-pc_blockilu_complete", "Complete factorization of each subdomain",
                             "PCBlockILUSetComplete", complete, &complete, &set));
  if (set) PetscCall(PCBlockILUSetComplete(pc, complete));
  PetscCall(MatGetOrderingList(&list));
  PetscCall(PetscOptionsFList("-pc_blockilu_mat_ordering_type", "Ordering of the blocks in each subdomain",
                              "PCFactorSetMatOrderingType", list, s->ordering, ordering, sizeof(ordering), &set));
  if (set) PetscCall(PCFactorSetMatOrderingType(pc, ordering));
  PetscCall(PetscOptionsBool("-pc_blockilu_multicolor", "Multicolor ordering of the blocks in each subdomain",
                             "PCBlockILUSetMulticolor", multicolor, &multicolor, &set));
  if (set) PetscCall(PCBlockILUSetMulticolor(pc, multicolor));
  PetscCall(PetscOptionsReal("-pc_blockilu_zeropivot", "A pivot up to this fraction of the norm is zero",
                             "PCFactorSetZeroPivot", zeropivot, &zeropivot, &set));
  if (set) PetscCall(PCFactorSetZeroPivot(pc, zeropivot));
  PetscCall(PCFactoredSetShiftFromOptions_Private(pc, "-pc_blockilu_shift_type", PetscOptionsObject));
  PetscCall(PetscOptionsReal("-pc_blockilu_shift_amount", "Magnitude of a boosted pivot relative to the norm",
                             "PCFactorSetShiftAmount", amount, &amount, &set));
  if (set) PetscCall(PCFactorSetShiftAmount(pc, amount));
  PetscCall(PetscOptionsEList("-pc_blockilu_precision", "Precision of the factors", "PCBlockILUSetPrecision",
                              precisions, PETSC_STATIC_ARRAY_LENGTH(precisions), precisions[precision], &precision,
                              &set));
  if (set) PetscCall(PCBlockILUSetPrecision(pc, (PetscSpikePrecision)precision));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}
