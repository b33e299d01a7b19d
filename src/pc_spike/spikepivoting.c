/* SPDX-License-Identifier: BSD-2-Clause */
/* spikepivoting.c: row exchanges inside the partitions of PCSPIKE */
#include "spikeimpl.h"

/*
  Whether the rows of this band are exchanged as those of tridiagonal systems, by kernels of their own: half-bandwidth
  1, in partitions that are not coupled. The same on all ranks, and known before there are partitions.
*/
PetscBool PCSpikePivotsSystems_Private(PC pc)
{
  const PC_Spike  *s      = (const PC_Spike *)pc->data;
  const SpikeBand *b      = &s->band;
  PetscInt         owners = 0;
  const PetscInt  *range;
  PetscMPIInt      size;

  if (!b->pivoting || b->kl != 1 || b->ku != 1 || !b->k->tridiagonal) return PETSC_FALSE;
  if (s->type == PC_SPIKE_BLOCK) return PETSC_TRUE;
  PetscCallMPIAbort(PETSC_COMM_SELF, MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCallAbort(PETSC_COMM_SELF, MatGetOwnershipRanges(PCSpikeBandMatrix_Private(pc), &range));
  for (PetscMPIInt r = 0; r < size; r++) owners += range[r + 1] > range[r];
  if (s->lines.active) owners = 1; /* nothing couples ranks */
  return (PetscBool)(owners <= 1 && (s->local_partitions == PETSC_DECIDE || s->local_partitions == 1));
}

/* What the band that was chosen makes of the option; *host: the backend has no such factors */
PetscErrorCode PCSpikePivotingChoose_Private(PC pc, PetscBool *host)
{
  PC_Spike   *s    = (PC_Spike *)pc->data;
  SpikeBand  *b    = &s->band;
  MPI_Comm    comm = PetscObjectComm((PetscObject)pc);
  const char *pre  = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  *host = PETSC_FALSE;
  /* a diagonal matrix has no rows to exchange */
  b->pivoting = (PetscBool)(PCSpikeExchanges_Private(s) && (b->kl > 0 || b->ku > 0));
  if (!b->pivoting) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(SpikePrecisionBytes(b->precision) == sizeof(PetscReal), comm, PETSC_ERR_ARG_INCOMP,
             "With row exchanges factors have the precision of the vectors: leave out -%spc_spike_precision, or "
             "-%spc_spike_pivoting",
             pre, pre);
  PetscCheck(b->kl != 1 || b->ku != 1 || s->tridiagonal == PC_SPIKE_TRIDIAGONAL_AUTO ||
               s->tridiagonal == PC_SPIKE_TRIDIAGONAL_PARTITION,
             comm, PETSC_ERR_ARG_INCOMP,
             "Of the algorithms for tridiagonal systems only partition exchanges rows: use "
             "-%spc_spike_tridiagonal_type auto or partition, or leave out -%spc_spike_pivoting",
             pre, pre);
  *host = (PetscBool)(!b->k->exchanges && !PCSpikePivotsSystems_Private(pc));
  if (*host)
    PetscCall(
      PetscInfo(pc, "The %s backend exchanges no rows of bands: factors and solves are on the host\n", b->k->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetPivoting_Spike(PC pc, PetscBool pivoting)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->pivoting != pivoting) PetscCall(PCSpikeChanged_Private(pc));
  s->pivoting = pivoting;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetPivoting_Spike(PC pc, PetscBool *pivoting)
{
  PetscFunctionBegin;
  *pivoting = ((PC_Spike *)pc->data)->pivoting;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetPivoting - Whether rows change places inside the partitions

  Logically Collective

  Input Parameters:
+ pc       - the preconditioner context
- pivoting - `PETSC_TRUE`: partial pivoting; `PETSC_FALSE` (the default): pivots are taken as they come

  Options Database Key:
. -pc_spike_pivoting (true|false) - partial pivoting

  Level: intermediate

  Notes:
  Each partition is factored as P A = L U, where the pivot is the largest entry of its column, of equal ones the first.
  U grows to kl + ku diagonals, so that factors take about 3/2 of the memory. No row leaves its partition: couplings,
  spikes and reduced systems are those of factors without exchanges, and a partition that is singular by itself in a
  matrix that is not has a zero pivot, which `PCFactorSetShiftType()` boosts or reports. One partition has none.

  With several partitions an application loses what their conditions cost, with truncated and with exact coupling: two
  digits beside LAPACK's backward error are no exception, in wide bands above all. Refinement wins them back, with
  `KSPPREONLY`, or by `PCSpikeSetDirect()` wherever the preconditioner is applied; it stops at the tolerance of
  `PCSpikeSetRefinementTolerance()`.

  Factors have the precision of the vectors; another one is an error. Bands that are too wide for the kernels of a
  device leave factors and solves to the host, as the view and -info say. A device keeps the band beside its factors, so
  that both take about 5/2 of the memory.

  Half-bandwidth 1 in partitions that are not coupled, as one on one rank or those of `PC_SPIKE_BLOCK`, is solved by the
  partition method with scaled partial pivoting, and needs `PC_SPIKE_TRIDIAGONAL_AUTO` or
  `PC_SPIKE_TRIDIAGONAL_PARTITION`. Rows are exchanged inside chunks, and in the systems for the rows between chunks
  that are left. Where a chunk by itself is singular in a system that is not, as with an odd number of rows and a zero
  diagonal, the setup reports a zero pivot.

  The systems of a batch (`PCSpikeSetBatchType()`) have their rows exchanged each in itself, in factors of 2 kl + ku + 1
  diagonals and one byte a row.

  With pivoting `PC_SPIKE_MATCHING_AUTO` leaves rows and columns as they are.

  Without it rows are exchanged all the same where factors were of no use: `PCSPIKE` says when. It needs factors in the
  precision of the vectors, and of tridiagonal systems an algorithm that exchanges rows.

  References:
  Du Croz, Mayes and Radicati, Factorizations of band matrices using level 3 BLAS, LAPACK Working Note 21 (1990).

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetPivoting()`, `PCSpikeSetTridiagonalType()`, `PCSpikeSetMatchingType()`,
`PCFactorSetZeroPivot()`, `PCFactorSetShiftType()`
@*/
PetscErrorCode PCSpikeSetPivoting(PC pc, PetscBool pivoting)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, pivoting, 2);
  PetscTryMethod(pc, "PCSpikeSetPivoting_C", (PC, PetscBool), (pc, pivoting));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetPivoting - What `PCSpikeSetPivoting()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. pivoting - whether rows change places inside the partitions, `PETSC_FALSE` by default

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetPivoting()`
@*/
PetscErrorCode PCSpikeGetPivoting(PC pc, PetscBool *pivoting)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(pivoting, 2);
  PetscUseMethod(pc, "PCSpikeGetPivoting_C", (PC, PetscBool *), (pc, pivoting));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposePivotingMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetPivoting_C", PCSpikeSetPivoting_Spike);
  SpikeCompose("PCSpikeGetPivoting_C", PCSpikeGetPivoting_Spike);
  PetscCall(PCSpikeComposeBatchMethods_Private(pc, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}
