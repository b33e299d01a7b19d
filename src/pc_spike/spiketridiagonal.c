/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spiketridiagonal.c: half-bandwidth 1 in PCSPIKE: independent systems in the matrix, and the choice of their algorithm
*/
#include "spikeimpl.h"

/* Systems begin at partitions and at the cuts, which ascend; one system of no rows where there are none */
static PetscErrorCode SpikeSystems_Private(SpikeBand *b, PetscInt ncuts, const PetscInt cut[])
{
  PetscInt count = 0, p = 0, c = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(b->np + ncuts + 1, &b->systems));
  while (p < b->np || c < ncuts) {
    const PetscInt row = c == ncuts || (p < b->np && b->start[p] <= cut[c]) ? b->start[p] : cut[c];

    b->systems[count++] = row;
    while (p < b->np && b->start[p] == row) p++;
    while (c < ncuts && cut[c] == row) c++;
  }
  b->nsystems       = count;
  b->systems[count] = b->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s->cuts.row by a search for the entries beside the diagonal of the band */
static PetscErrorCode SpikeSystemsSearch_Private(PC_Spike *s, PetscInt nparts, const SpikeCSR parts[])
{
  const SpikeBand *b = &s->band;
  PetscBool       *joined;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(b->n + 1, &s->joined)); /* row i to row i - 1 */
  joined = s->joined;
  for (PetscInt r = 0; r < b->n; r++) {
    const PetscInt i = s->newrow ? s->newrow[r] : r;

    for (PetscInt p = 0; p < nparts; p++) {
      for (PetscInt k = parts[p].ai[r]; k < parts[p].ai[r + 1]; k++) {
        const PetscInt col = SpikeCSRColumn(&parts[p], k);
        PetscInt       j;

        if (col < 0 || col >= b->n || parts[p].aa[k] == (PetscScalar)0.0) continue;
        j = s->newrow ? s->newrow[col] : col;
        if (PetscAbsInt(j - i) == 1) joined[PetscMax(i, j)] = PETSC_TRUE;
      }
    }
  }
  s->cuts.count = 0;
  for (PetscInt i = 1; i < b->n; i++) s->cuts.count += !joined[i];
  PetscCall(PetscMalloc1(PetscMax(s->cuts.count, 1), &s->cuts.row));
  for (PetscInt i = 1, c = 0; i < b->n; i++)
    if (!joined[i]) s->cuts.row[c++] = i;
  PetscCall(PetscFree(s->joined));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the band has the form of tridiagonal systems, with kernels for it, whatever the precision of its factors */
static PetscBool SpikeFormsSystems_Private(PC pc)
{
  const SpikeBand *b = &((PC_Spike *)pc->data)->band;

  if (b->kl != 1 || b->ku != 1 || !b->k->tridiagonal || b->cholesky) return PETSC_FALSE;
  return (PetscBool)(!b->pivoting || PCSpikePivotsSystems_Private(pc));
}

/* Whether it is factored as such: factors have the precision of the vectors too */
PetscBool PCSpikeTakesSystems_Private(PC pc)
{
  return (PetscBool)(SpikeFormsSystems_Private(pc) &&
                     SpikePrecisionBytes(((PC_Spike *)pc->data)->band.precision) == sizeof(PetscReal));
}

/*
  With kl = ku = 1 and kernels for it: the systems of this rank. A partition is cut between rows i - 1 and i of the band
  where a(i, i-1) and a(i-1, i) are zero or not there; fill() looks again at each refill. Factors of other precision
  than the vectors' are those of bands.
*/
PetscErrorCode PCSpikeFindSystems_Private(PC pc, PetscInt nparts, const SpikeCSR parts[])
{
  PC_Spike       *s     = (PC_Spike *)pc->data;
  SpikeBand      *b     = &s->band;
  const PetscBool takes = PCSpikeTakesSystems_Private(pc);

  PetscFunctionBegin;
  b->nsystems     = 0;
  s->info.systems = b->nbatch;
  b->tridiagonal  = s->tridiagonal;
  if (!SpikeFormsSystems_Private(pc)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(takes || s->tridiagonal == PC_SPIKE_TRIDIAGONAL_AUTO, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_INCOMP,
             "Tridiagonal systems have factors in the precision of their vectors: use -%spc_spike_tridiagonal_type "
             "auto, with which the kernels for bands take factors in %s precision, or leave out -%spc_spike_precision",
             ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", PetscSpikePrecisionNames[b->precision],
             ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
  if (!takes) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->look.covers) PetscCall(SpikeSystems_Private(b, s->look.found.ncuts, s->look.found.cut));
  else {
    PetscCall(SpikeSystemsSearch_Private(s, nparts, parts));
    PetscCall(SpikeSystems_Private(b, s->cuts.count, s->cuts.row));
    PetscCall(PCSpikeCutsReset_Private(pc));
  }
  s->info.systems = b->n ? b->nsystems : 0;
  PetscCall(
    PetscInfo(pc, "%" PetscInt_FMT " tridiagonal systems in %" PetscInt_FMT " partitions\n", s->info.systems, b->np));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const PCSpikeTridiagonalNames[] =
  {"automatic choice", "thomas", "twoway", "cr", "pcr", "rd", "crpcr", "partition"};

/* Collective: info is that of all ranks; the algorithms are those of the first */
PetscErrorCode PCSpikeViewSystems_Private(PC pc, const PCSpikeInfo *info, PetscViewer viewer)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  const SpikeBand *b = &s->band;

  PetscFunctionBegin;
  if (b->kl != 1 || b->ku != 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (!b->nsystems) PetscCall(PetscViewerASCIIPrintf(viewer, "  tridiagonal, by the kernels for bands\n"));
  else if (b->used == b->local)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " tridiagonal systems by %s%s\n", info->systems,
                                     PCSpikeTridiagonalNames[b->used],
                                     s->tridiagonal == PC_SPIKE_TRIDIAGONAL_AUTO ? ", chosen" : ""));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " tridiagonal systems by %s, pieces by %s\n",
                                     info->systems, PCSpikeTridiagonalNames[b->used],
                                     b->pivoting ? "LU with row exchanges" : PCSpikeTridiagonalNames[b->local]));
  if (info->periodic)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " periodic, by rank-one updates\n", info->periodic));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetTridiagonalType_Spike(PC pc, PCSpikeTridiagonalType type)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(type >= PC_SPIKE_TRIDIAGONAL_AUTO && type <= PC_SPIKE_TRIDIAGONAL_PARTITION,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Unknown PCSpikeTridiagonalType %d",
             (int)type);
  if (s->tridiagonal != type) PetscCall(PCSpikeChanged_Private(pc));
  s->tridiagonal = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetTridiagonalType_Spike(PC pc, PCSpikeTridiagonalType *type)
{
  PetscFunctionBegin;
  *type = ((PC_Spike *)pc->data)->tridiagonal;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetTridiagonalType - The algorithm for tridiagonal systems

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner context
- type - `PC_SPIKE_TRIDIAGONAL_AUTO` (the default), `PC_SPIKE_TRIDIAGONAL_THOMAS`, `PC_SPIKE_TRIDIAGONAL_TWOWAY`,
         `PC_SPIKE_TRIDIAGONAL_CR`, `PC_SPIKE_TRIDIAGONAL_PCR`, `PC_SPIKE_TRIDIAGONAL_RD`,
         `PC_SPIKE_TRIDIAGONAL_CRPCR` or `PC_SPIKE_TRIDIAGONAL_PARTITION`

  Options Database Key:
. -pc_spike_tridiagonal_type (auto|thomas|twoway|cr|pcr|rd|crpcr|partition) - the algorithm

  Level: intermediate

  Notes:
  Without effect unless both half-bandwidths are 1, those of the matrix or those of `PCSpikeSetBandwidth()`, which takes
  the tridiagonal part of a wider matrix, in its own ordering. Where a row is not coupled to the next one the matrix
  falls into independent systems, which are solved side by side; a refill with a coupling there looks for systems again.

  Periodic systems, with one or two entries in their corners, are solved by these algorithms without the corners, which
  a rank-one update brings back: `PCSPIKE` says which are found.

  With factors in another precision than that of the vectors the kernels for bands solve tridiagonal systems; the view
  tells. An algorithm asked for with such a precision is an error.

  Systems that are longer than what an algorithm is made for are cut into the chunks of the partition method, where it
  solves the interiors: on a device all systems of more than 1024 rows, on the host those of more than 4096 with CR,
  PCR, RD and CRPCR, which are made for devices. None of the algorithms exchanges rows, but partition with
  `PCSpikeSetPivoting()`. A number that one of them would divide by and that is zero makes the setup fail, also where
  another algorithm meets none; RD cannot boost it.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetTridiagonalType()`, `PCSpikeTridiagonalType`, `PCSpikeSetBandwidth()`,
`PCFactorSetZeroPivot()`
@*/
PetscErrorCode PCSpikeSetTridiagonalType(PC pc, PCSpikeTridiagonalType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  PetscTryMethod(pc, "PCSpikeSetTridiagonalType_C", (PC, PCSpikeTridiagonalType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetTridiagonalType - What `PCSpikeSetTridiagonalType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. type - the type, `PC_SPIKE_TRIDIAGONAL_AUTO` by default

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetTridiagonalType()`
@*/
PetscErrorCode PCSpikeGetTridiagonalType(PC pc, PCSpikeTridiagonalType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(pc, "PCSpikeGetTridiagonalType_C", (PC, PCSpikeTridiagonalType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeTridiagonalMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetTridiagonalType_C", PCSpikeSetTridiagonalType_Spike);
  SpikeCompose("PCSpikeGetTridiagonalType_C", PCSpikeGetTridiagonalType_Spike);
  PetscCall(PCSpikeComposePivotingMethods_Private(pc, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}
