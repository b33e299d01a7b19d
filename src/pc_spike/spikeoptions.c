/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeoptions.c: setters, getters and options of PCSPIKE; those of PCFactor are in pc_factored/factoredoptions.c */
#include "spikeimpl.h"

/* A changed parameter makes the next PCSetUp() start from scratch */
PetscErrorCode PCSpikeChanged_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  s->built        = PETSC_FALSE;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetType_Spike(PC pc, PCSpikeType type)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(type >= PC_SPIKE_BLOCK && type <= PC_SPIKE_AUTO, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "Unknown PCSpikeType %d", (int)type);
  if (s->type != type) PetscCall(PCSpikeChanged_Private(pc));
  s->type = type;
  s->full = (PetscBool)(type == PC_SPIKE_FULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetType_Spike(PC pc, PCSpikeType *type)
{
  PetscFunctionBegin;
  *type = ((PC_Spike *)pc->data)->type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetType - How the coupling between neighbouring partitions is treated

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner context
- type - `PC_SPIKE_AUTO` (the default), `PC_SPIKE_FULL`, `PC_SPIKE_TRUNCATED` or `PC_SPIKE_BLOCK`

  Options Database Key:
. -pc_spike_type (auto|full|truncated|block) - the variant

  Level: intermediate

  Note:
  `PC_SPIKE_FULL` solves the band exactly, but for rounding, whatever its dominance; a setup and an application take
  about twice the time of `PC_SPIKE_TRUNCATED`. `PC_SPIKE_AUTO` takes it where the far ends of the spikes, which
  truncation neglects, are not small.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetType()`, `PCSpikeType`
@*/
PetscErrorCode PCSpikeSetType(PC pc, PCSpikeType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  PetscTryMethod(pc, "PCSpikeSetType_C", (PC, PCSpikeType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetType - What `PCSpikeSetType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. type - the variant, `PC_SPIKE_AUTO` where none was set

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetType()`
@*/
PetscErrorCode PCSpikeGetType(PC pc, PCSpikeType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(pc, "PCSpikeGetType_C", (PC, PCSpikeType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetDropoff_Spike(PC pc, PetscReal dropoff)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(dropoff >= 0.0 && dropoff < 1.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Drop-off fraction %g must be in [0, 1)", (double)dropoff);
  if (s->dropoff != dropoff) PetscCall(PCSpikeChanged_Private(pc));
  s->dropoff = dropoff;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetDropoff_Spike(PC pc, PetscReal *dropoff)
{
  PetscFunctionBegin;
  *dropoff = ((PC_Spike *)pc->data)->dropoff;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetDropoff - The narrowest band is factored that leaves at most this fraction of sum |a_ij| outside

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner context
- dropoff - fraction in [0, 1); 0, the default, keeps every nonzero entry

  Options Database Key:
. -pc_spike_dropoff fraction - the fraction

  Level: intermediate

  Notes:
  The share that was dropped is in the view and in `PCSpikeInfo`. It is checked again when values change, and the band
  is chosen again when it has grown past the fraction.

  `PCSpikeSetBandwidth()` takes precedence. On many ranks choosing the band sums one array as long as the band of the
  matrix is wide.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetDropoff()`, `PCSpikeSetBandwidth()`, `PCSpikeGetInfo()`
@*/
PetscErrorCode PCSpikeSetDropoff(PC pc, PetscReal dropoff)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, dropoff, 2);
  PetscTryMethod(pc, "PCSpikeSetDropoff_C", (PC, PetscReal), (pc, dropoff));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetDropoff - What `PCSpikeSetDropoff()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. dropoff - fraction in [0, 1); 0, the default, keeps every nonzero entry

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetDropoff()`
@*/
PetscErrorCode PCSpikeGetDropoff(PC pc, PetscReal *dropoff)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(dropoff, 2);
  PetscUseMethod(pc, "PCSpikeGetDropoff_C", (PC, PetscReal *), (pc, dropoff));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetWindowTolerance_Spike(PC pc, PetscReal tol)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(tol >= 0.0 && tol < 1.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Window tolerance %g must be in [0, 1)", (double)tol);
  if (s->window != tol || !s->windowset) PetscCall(PCSpikeChanged_Private(pc));
  s->window    = tol;
  s->windowset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetWindowTolerance_Spike(PC pc, PetscReal *tol)
{
  PetscFunctionBegin;
  *tol = ((PC_Spike *)pc->data)->window;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetWindowTolerance - The correction after the reduced systems leaves out the rows where the spikes are smaller
  than this fraction of their ends

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner context
- tol - fraction in [0, 1), default 1e-8; 0 corrects down to the rounding of the factors

  Options Database Key:
. -pc_spike_window_tol tol - the fraction

  Level: advanced

  Notes:
  An apply with several partitions is a sweep over the whole band, then a correction of the rows near the interfaces, as
  far as the spikes reach: with diagonally dominant matrices a few half-bandwidths. A smaller tolerance makes these
  windows wider. What is left out perturbs the preconditioner by about `tol`.

  Where no tolerance is set, and a direct solve has taken a step of refinement, the setups that follow take a tenth of
  `PCSpikeSetRefinementTolerance()`, if the far ends of the spikes are smaller than ten times that: then a solve is one
  application. It is so until the pattern changes, until a solve misses the tolerance before its steps all the same, or
  two solves in a row take a step for their residuals. It ends too when another method than `KSPPREONLY` begins to
  solve, or a `KSPPREONLY` inside of another solver, which takes what applications give. With `PCSpikeSetDirect()` each
  application is a direct solve, whatever method it is in, and other methods end nothing. The view has the tolerance of
  the last setup.

  The transposed apply corrects all rows. On a GPU the tips of the spikes of bands with more than 64 diagonals on a side
  are made to this tolerance as well, and with them the reduced systems of both.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetWindowTolerance()`, `PCSpikeSetLocalPartitions()`, `PCSpikeGetInfo()`
@*/
PetscErrorCode PCSpikeSetWindowTolerance(PC pc, PetscReal tol)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, tol, 2);
  PetscTryMethod(pc, "PCSpikeSetWindowTolerance_C", (PC, PetscReal), (pc, tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetWindowTolerance - What `PCSpikeSetWindowTolerance()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. tol - fraction in [0, 1), default 1e-8

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetWindowTolerance()`
@*/
PetscErrorCode PCSpikeGetWindowTolerance(PC pc, PetscReal *tol)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(tol, 2);
  PetscUseMethod(pc, "PCSpikeGetWindowTolerance_C", (PC, PetscReal *), (pc, tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetPrecision_Spike(PC pc, PetscSpikePrecision precision)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(precision >= PETSC_SPIKE_PRECISION_DOUBLE && precision <= PETSC_SPIKE_PRECISION_FP16,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Unknown PetscSpikePrecision %d",
             (int)precision);
  if (s->precision != precision) PetscCall(PCSpikeChanged_Private(pc));
  s->precision = s->wish.user = precision;
  s->wish.set                 = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetPrecision_Spike(PC pc, PetscSpikePrecision *precision)
{
  PetscFunctionBegin;
  *precision = ((PC_Spike *)pc->data)->wish.user;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetPrecision - Precision in which the factors are stored

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- precision - `PETSC_SPIKE_PRECISION_DOUBLE`, `PETSC_SPIKE_PRECISION_SINGLE`, `PETSC_SPIKE_PRECISION_BF16` or
              `PETSC_SPIKE_PRECISION_FP16`; by default that of `PetscReal`, or what the solver asks for

  Options Database Key:
. -pc_spike_precision (double|single|bf16|fp16) - the precision

  Level: intermediate

  Notes:
  Vectors, coupling blocks and the arithmetic of an apply stay in `PetscScalar`; the elimination has at least single
  precision, whatever its results are stored in.

  One application is as exact as the factors. With 16 bits it reduces a residual by a factor of about 100 (bf16) or 1000
  (fp16) where the matrix is well conditioned, so that a solve to 1e-8 takes two iterations of BiCGStab or more where
  double precision would take one; a matrix without dominance may need higher precision to converge at all.

  A matrix entry or a factor that the precision cannot hold makes the setup fail, with its row and what to do about it.
  Numbers of fp16 end at 65504, and lose digits below 6e-5: scale the matrix so that its entries are of order one, or
  use bf16, which has the range of single precision.

  Where nobody has set a precision a fused Krylov method with `KSPFusedSetPrecision()` chooses it, as that manual page
  says, and the view tells. `PCSpikeGetPrecision()` returns what was set. A PC that several KSPs share has what the last
  of those methods has asked for.

  On the host, factors of 16 bits are for less memory and for trying out what the GPU does: its kernels for them are
  simple, and slower than those of single precision.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetPrecision()`, `PetscSpikePrecision`, `KSPFusedSetPrecision()`
@*/
PetscErrorCode PCSpikeSetPrecision(PC pc, PetscSpikePrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscTryMethod(pc, "PCSpikeSetPrecision_C", (PC, PetscSpikePrecision), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetPrecision - What `PCSpikeSetPrecision()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. precision - `PETSC_SPIKE_PRECISION_DOUBLE`, `PETSC_SPIKE_PRECISION_SINGLE`, `PETSC_SPIKE_PRECISION_BF16` or
              `PETSC_SPIKE_PRECISION_FP16`; by default that of `PetscReal`

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetPrecision()`
@*/
PetscErrorCode PCSpikeGetPrecision(PC pc, PetscSpikePrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  PetscUseMethod(pc, "PCSpikeGetPrecision_C", (PC, PetscSpikePrecision *), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetLocalPartitions_Spike(PC pc, PetscInt partitions)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(partitions == PETSC_DECIDE || partitions > 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Number of partitions on a rank must be positive or PETSC_DECIDE, not %" PetscInt_FMT "", partitions);
  if (s->local_partitions != partitions) PetscCall(PCSpikeChanged_Private(pc));
  s->local_partitions = partitions;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetLocalPartitions_Spike(PC pc, PetscInt *partitions)
{
  PetscFunctionBegin;
  *partitions = ((PC_Spike *)pc->data)->local_partitions;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetLocalPartitions - Number of partitions into which each rank cuts its rows

  Logically Collective

  Input Parameters:
+ pc         - the preconditioner context
- partitions - partitions of each rank that owns rows, or `PETSC_DECIDE`, the default: one on the host, by a cost model
               on a GPU

  Options Database Key:
. -pc_spike_local_partitions p - partitions on each rank

  Level: intermediate

  Notes:
  Partitions of a rank differ by at most one row, unless some begin at cuts, that is at rows which nothing couples to
  those before: then they have from half of the mean to a quarter above it, and where all of them begin so, nothing
  couples them until later values do: there are no spikes. With `PC_SPIKE_TRUNCATED` each needs at
  least as many rows as the larger half-bandwidth. Where the rows of a rank are too few, as on a coarse grid, it makes
  fewer partitions, and where a trial finds the factors of several wrong, one, if that costs at most 1e9 operations
  (`PCSPIKE`); the view and -info tell.

  A partition whose own rows have smaller half-bandwidths than the band, by the pattern of the matrix, is factored with
  these: the view prints the least and the largest of them. On a GPU they count in tiles of up to 32, without row
  exchanges; of partitions that it works on at once all take the time of the slowest.

  On a GPU the model weighs the steps of long partitions against the interfaces of many, and the iterations that
  truncation costs, estimated from the sizes of the entries beside the diagonal in some rows at the first setup. Where
  those say nothing, as for a random band of dominance 0.1, their number is the one that suits exact coupling.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetLocalPartitions()`, `PCSpikeSetType()`
@*/
PetscErrorCode PCSpikeSetLocalPartitions(PC pc, PetscInt partitions)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, partitions, 2);
  PetscTryMethod(pc, "PCSpikeSetLocalPartitions_C", (PC, PetscInt), (pc, partitions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetLocalPartitions - What `PCSpikeSetLocalPartitions()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. partitions - partitions of each rank that owns rows, or `PETSC_DECIDE`, the default: one on the host, by a cost model
               on a GPU

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetLocalPartitions()`
@*/
PetscErrorCode PCSpikeGetLocalPartitions(PC pc, PetscInt *partitions)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(partitions, 2);
  PetscUseMethod(pc, "PCSpikeGetLocalPartitions_C", (PC, PetscInt *), (pc, partitions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetBandwidth_Spike(PC pc, PetscInt kl, PetscInt ku)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck((kl == PETSC_DECIDE && ku == PETSC_DECIDE) || (kl >= 0 && ku >= 0), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "Half-bandwidths must not be negative (or both PETSC_DECIDE), not %" PetscInt_FMT ",%" PetscInt_FMT, kl,
             ku);
  if (s->userkl != kl || s->userku != ku) PetscCall(PCSpikeChanged_Private(pc));
  s->userkl = kl;
  s->userku = ku;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetBandwidth_Spike(PC pc, PetscInt *kl, PetscInt *ku)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (kl) *kl = s->userkl;
  if (ku) *ku = s->userku;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetBandwidth - Half-bandwidths that are factored; entries outside are dropped

  Logically Collective

  Input Parameters:
+ pc - the preconditioner context
. kl - number of subdiagonals
- ku - number of superdiagonals; `PETSC_DECIDE` for both, the default, takes the band of the nonzero entries (see also
       `PCSpikeSetDropoff()`)

  Options Database Key:
. -pc_spike_bandwidth k or kl,ku - the half-bandwidths

  Level: intermediate

  Notes:
  Of a matrix with fewer rows they are those of all of it. The share of sum |a_ij| that is dropped is in the view and in
  `PCSpikeInfo`.

  The band is that of the natural ordering, unless `PCFactorSetMatOrderingType()` names one. Corners of periodic
  tridiagonal systems, which `PCSPIKE` finds when the half-bandwidths are open, lie outside of it.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetBandwidth()`, `PCSpikeSetDropoff()`, `PCSpikeGetInfo()`
@*/
PetscErrorCode PCSpikeSetBandwidth(PC pc, PetscInt kl, PetscInt ku)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, kl, 2);
  PetscValidLogicalCollectiveInt(pc, ku, 3);
  PetscTryMethod(pc, "PCSpikeSetBandwidth_C", (PC, PetscInt, PetscInt), (pc, kl, ku));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetBandwidth - What `PCSpikeSetBandwidth()` or its option set; `PCSpikeGetInfo()` has the half-bandwidths in
  use

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameters:
+ kl - number of subdiagonals, or `PETSC_DECIDE`
- ku - number of superdiagonals, or `PETSC_DECIDE`

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetBandwidth()`, `PCSpikeGetInfo()`
@*/
PetscErrorCode PCSpikeGetBandwidth(PC pc, PetscInt *kl, PetscInt *ku)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCSpikeGetBandwidth_C", (PC, PetscInt *, PetscInt *), (pc, kl, ku));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetMaxBandwidth_Spike(PC pc, PetscInt max)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(max >= 0 || max == PETSC_DECIDE || max == PETSC_UNLIMITED, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE,
             "The largest half-bandwidth must not be negative (or PETSC_DECIDE or PETSC_UNLIMITED), not %" PetscInt_FMT,
             max);
  if (s->maxband != max) PetscCall(PCSpikeChanged_Private(pc));
  s->maxband = max;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetMaxBandwidth_Spike(PC pc, PetscInt *max)
{
  PetscFunctionBegin;
  *max = ((PC_Spike *)pc->data)->maxband;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetMaxBandwidth - The half-bandwidths that are factored are not larger; entries outside are dropped

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner context
- max - the largest number of subdiagonals, and of superdiagonals; `PETSC_DECIDE`, the default, what fits in memory;
        `PETSC_UNLIMITED` those of the matrix: where they do not fit, the setup fails

  Options Database Key:
. -pc_spike_max_bandwidth max - the half-bandwidth

  Level: intermediate

  Notes:
  A band that is cut makes a preconditioner. `PCSpikeInfo` and the view say that it was, and which share of
  sum |a_ij| was dropped. Of the orderings that are tried the one is taken whose band is not cut, or that drops less.

  `PCSpikeSetBandwidth()` takes precedence. For `MATSOLVERSPIKE` the default is `PETSC_UNLIMITED`: its factors are those
  of the matrix.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetMaxBandwidth()`, `PCSpikeSetBandwidth()`, `PCSpikeSetDropoff()`,
`PCSpikeGetInfo()`
@*/
PetscErrorCode PCSpikeSetMaxBandwidth(PC pc, PetscInt max)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, max, 2);
  PetscTryMethod(pc, "PCSpikeSetMaxBandwidth_C", (PC, PetscInt), (pc, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetMaxBandwidth - What `PCSpikeSetMaxBandwidth()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. max - the largest half-bandwidth, `PETSC_DECIDE` or `PETSC_UNLIMITED`

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetMaxBandwidth()`
@*/
PetscErrorCode PCSpikeGetMaxBandwidth(PC pc, PetscInt *max)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(max, 2);
  PetscUseMethod(pc, "PCSpikeGetMaxBandwidth_C", (PC, PetscInt *), (pc, max));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The methods of this type and those of PCFactor that have a meaning here; compose false takes them away */
PetscErrorCode PCSpikeComposeMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetType_C", PCSpikeSetType_Spike);
  SpikeCompose("PCSpikeGetType_C", PCSpikeGetType_Spike);
  SpikeCompose("PCSpikeSetBandwidth_C", PCSpikeSetBandwidth_Spike);
  SpikeCompose("PCSpikeGetBandwidth_C", PCSpikeGetBandwidth_Spike);
  SpikeCompose("PCSpikeSetMaxBandwidth_C", PCSpikeSetMaxBandwidth_Spike);
  SpikeCompose("PCSpikeGetMaxBandwidth_C", PCSpikeGetMaxBandwidth_Spike);
  SpikeCompose("PCSpikeSetDropoff_C", PCSpikeSetDropoff_Spike);
  SpikeCompose("PCSpikeGetDropoff_C", PCSpikeGetDropoff_Spike);
  SpikeCompose("PCSpikeSetWindowTolerance_C", PCSpikeSetWindowTolerance_Spike);
  SpikeCompose("PCSpikeGetWindowTolerance_C", PCSpikeGetWindowTolerance_Spike);
  SpikeCompose("PCSpikeSetPrecision_C", PCSpikeSetPrecision_Spike);
  SpikeCompose("PCSpikeGetPrecision_C", PCSpikeGetPrecision_Spike);
  SpikeCompose("PCSpikeSetLocalPartitions_C", PCSpikeSetLocalPartitions_Spike);
  SpikeCompose("PCSpikeGetLocalPartitions_C", PCSpikeGetLocalPartitions_Spike);
  SpikeCompose("PCSpikeGetInfo_C", PCSpikeGetInfo_Spike);
  SpikeCompose("PetscSpikeGetEnqueue_C", PetscSpikeGetEnqueue_Spike);
  PetscCall(PCFactoredComposeMethods_Private(pc, "PCSpike", compose));
  PetscCall(PCSpikeComposeWishMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeMatchingMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeLayoutMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeBorderMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeLinesMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeCholeskyMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeTridiagonalMethods_Private(pc, compose));
  PetscCall(PCSpikeComposeRefineMethods_Private(pc, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetFromOptions_Spike(PC pc, PetscOptionItems PetscOptionsObject)
{
  PC_Spike *s    = (PC_Spike *)pc->data;
  PetscEnum type = (PetscEnum)s->type, precision = (PetscEnum)s->wish.user, tridiagonal = (PetscEnum)s->tridiagonal,
            matching = (PetscEnum)s->matching.type, factor = (PetscEnum)s->factortype;
  PetscInt          k[2] = {s->userkl, s->userku}, nk = 2, partitions = s->local_partitions, maxband = s->maxband;
  PetscReal         dropoff = s->dropoff, window = s->window, zeropivot = s->zeropivot, amount = s->shiftamount;
  PetscBool         set, pivoting = s->pivoting, rescale = s->matching.rescale;
  char              ordering[256];
  PetscFunctionList list;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "SPIKE options");
  PetscCall(PetscOptionsEnum("-pc_spike_type", "Coupling between partitions", "PCSpikeSetType", PCSpikeTypes, type,
                             &type, &set));
  if (set) PetscCall(PCSpikeSetType(pc, (PCSpikeType)type));
  PetscCall(
    PetscOptionsIntArray("-pc_spike_bandwidth", "Half-bandwidths, k or kl,ku", "PCSpikeSetBandwidth", k, &nk, &set));
  if (set) PetscCall(PCSpikeSetBandwidth(pc, k[0], nk == 1 ? k[0] : k[1]));
  PetscCall(PetscOptionsInt("-pc_spike_max_bandwidth", "Largest half-bandwidth, the rest is dropped",
                            "PCSpikeSetMaxBandwidth", maxband, &maxband, &set));
  if (set) PetscCall(PCSpikeSetMaxBandwidth(pc, maxband));
  PetscCall(PCSpikeBorderSetFromOptions_Private(pc, PetscOptionsObject));
  PetscCall(PetscOptionsReal("-pc_spike_dropoff", "Fraction of sum |a_ij| that may lie outside the band",
                             "PCSpikeSetDropoff", dropoff, &dropoff, &set));
  if (set) PetscCall(PCSpikeSetDropoff(pc, dropoff));
  PetscCall(PetscOptionsReal("-pc_spike_window_tol", "Spikes below this fraction of their ends are not corrected",
                             "PCSpikeSetWindowTolerance", window, &window, &set));
  if (set) PetscCall(PCSpikeSetWindowTolerance(pc, window));
  PetscCall(PetscOptionsEnum("-pc_spike_tridiagonal_type", "Algorithm for half-bandwidth 1",
                             "PCSpikeSetTridiagonalType", PCSpikeTridiagonalTypes, tridiagonal, &tridiagonal, &set));
  if (set) PetscCall(PCSpikeSetTridiagonalType(pc, (PCSpikeTridiagonalType)tridiagonal));
  PetscCall(PCSpikeBatchSetFromOptions_Private(pc, PetscOptionsObject));
  PetscCall(PCSpikeLinesSetFromOptions_Private(pc, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-pc_spike_pivoting", "Row exchanges inside partitions", "PCSpikeSetPivoting", pivoting,
                             &pivoting, &set));
  if (set) PetscCall(PCSpikeSetPivoting(pc, pivoting));
  PetscCall(PetscOptionsEnum("-pc_spike_precision", "Precision of the factors", "PCSpikeSetPrecision",
                             PetscSpikePrecisions, precision, &precision, &set));
  if (set) PetscCall(PCSpikeSetPrecision(pc, (PetscSpikePrecision)precision));
  PetscCall(PetscOptionsInt("-pc_spike_local_partitions", "Partitions on each rank", "PCSpikeSetLocalPartitions",
                            partitions, &partitions, &set));
  if (set) PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
  PetscCall(MatGetOrderingList(&list));
  PetscCall(PetscOptionsFList("-pc_spike_mat_ordering_type", "Ordering of the rows of a rank, or auto",
                              "PCFactorSetMatOrderingType", list, s->ordering, ordering, sizeof(ordering), &set));
  if (set) PetscCall(PCFactorSetMatOrderingType(pc, ordering));
  PetscCall(PetscOptionsEnum("-pc_spike_matching_type", "Large entries on the diagonal", "PCSpikeSetMatchingType",
                             PCSpikeMatchingTypes, matching, &matching, &set));
  if (set) PetscCall(PCSpikeSetMatchingType(pc, (PCSpikeMatchingType)matching));
  PetscCall(PetscOptionsEnum("-pc_spike_factor_type", "Factorization of the partitions", "PCSpikeSetFactorType",
                             PCSpikeFactorTypes, factor, &factor, &set));
  if (set) PetscCall(PCSpikeSetFactorType(pc, (PCSpikeFactorType)factor));
  PetscCall(PetscOptionsBool("-pc_spike_matching_rescale", "Scales of the values of each setup",
                             "PCSpikeSetMatchingRescale", s->matching.rescale, &rescale, &set));
  if (set) PetscCall(PCSpikeSetMatchingRescale(pc, rescale));
  PetscCall(PetscOptionsReal("-pc_spike_zeropivot", "A pivot up to this fraction of the norm is zero",
                             "PCFactorSetZeroPivot", zeropivot, &zeropivot, &set));
  if (set) PetscCall(PCFactorSetZeroPivot(pc, zeropivot));
  PetscCall(PCFactoredSetShiftFromOptions_Private(pc, "-pc_spike_shift_type", PetscOptionsObject));
  PetscCall(PetscOptionsReal("-pc_spike_shift_amount", "Magnitude of a boosted pivot relative to the norm",
                             "PCFactorSetShiftAmount", amount, &amount, &set));
  if (set) PetscCall(PCFactorSetShiftAmount(pc, amount));
  PetscCall(PCSpikeRefineSetFromOptions_Private(pc, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}
