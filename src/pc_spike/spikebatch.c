/* SPDX-License-Identifier: BSD-2-Clause */
/* spikebatch.c: many independent systems in PCSPIKE: how they are found, and when each is solved by itself */
#include "spikeimpl.h"

/* Why the rows of a matrix are one band, the same on all ranks; of several reasons the last */
typedef enum {
  SPIKE_BATCH_YES,
  SPIKE_BATCH_SLOWER,
  SPIKE_BATCH_CROSSES,
  SPIKE_BATCH_PARTITIONS,
  SPIKE_BATCH_CHOLESKY,
  SPIKE_BATCH_PRECISION,
  SPIKE_BATCH_WIDE,
  SPIKE_BATCH_OTHER
} SpikeBatchReason;

static const char *const SpikeBatchReasons[] = {"",
                                                "one band is faster for so few or so different lengths",
                                                "entries couple rows of two ranks",
                                                "partitions are asked for",
                                                "they are factored by Cholesky",
                                                "factors have another precision than vectors",
                                                "half-bandwidths are larger than 16",
                                                "the matrix is diagonal, or made of tridiagonal systems"};

/* What needs no look at the entries */
static SpikeBatchReason SpikeBatchMay_Private(const PC_Spike *s)
{
  const SpikeBand *b = &s->band;

  if ((b->kl == 1 && b->ku == 1) || b->kl + b->ku == 0 || !b->k->batch || s->cyclic.found) return SPIKE_BATCH_OTHER;
  if (PetscMax(b->kl, b->ku) > SPIKE_BATCH_MAX_BANDWIDTH) return SPIKE_BATCH_WIDE;
  if (SpikePrecisionBytes(b->precision) != sizeof(PetscReal) && !PCSpikeWishIsLow_Private(s))
    return SPIKE_BATCH_PRECISION;
  if (b->cholesky) return SPIKE_BATCH_CHOLESKY;
  if (s->batch.type == PC_SPIKE_BATCH_AUTO && s->local_partitions != PETSC_DECIDE) return SPIKE_BATCH_PARTITIONS;
  return SPIKE_BATCH_YES;
}

/* Whether an entry inside the half-bandwidths is in a column of another rank: pieces after the first have such ones */
static PetscBool SpikeBatchCrossesCSR_Private(const PC_Spike *s, PetscInt nparts, const SpikeCSR parts[])
{
  const SpikeBand *b = &s->band;

  for (PetscInt p = 1; p < nparts; p++) {
    const SpikeCSR *A = &parts[p];

    for (PetscInt r = 0; r < b->n; r++) {
      const PetscInt i = s->newrow ? s->newrow[r] : r;

      for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
        const PetscInt j = SpikeCSRColumn(A, k);

        if (A->aa[k] != (PetscScalar)0.0 && j - i <= b->ku && i - j <= b->kl) return PETSC_TRUE;
      }
    }
  }
  return PETSC_FALSE;
}

static PetscErrorCode SpikeBatchCrossesDIA_Private(PC pc, const SpikeDIA *dia, PetscBool *crosses)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  const SpikeBand *b = &s->band;
  PetscScalar     *there, ends[SPIKE_BATCH_MAX_BANDWIDTH];

  PetscFunctionBegin;
  *crosses = PETSC_FALSE;
  PetscCall((*dia->k->alloc)((size_t)PetscMax(b->n, 1) * sizeof(PetscScalar), (void **)&there));
  for (PetscInt d = 0; d < dia->count && b->n; d++) {
    const PetscInt o = dia->offset[d], rows = PetscMin(b->n, PetscAbsInt(o));

    if (!o || o > b->ku || -o > b->kl) continue;
    PetscCall((*dia->k->getdiagonal)(dia, d, there));
    PetscCall((*dia->k->move)(dia->stream, PETSC_FALSE, ends, there + (o > 0 ? b->n - rows : 0),
                              (size_t)rows * sizeof(PetscScalar)));
    for (PetscInt i = 0; i < rows; i++)
      if (ends[i] != (PetscScalar)0.0) *crosses = PETSC_TRUE;
  }
  PetscCall((*dia->k->release)((void **)&there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of MatSetVariableBlockSizes() are systems where nothing couples them: *given <- whether they are */
static PetscErrorCode SpikeBatchGiven_Private(PC pc, PetscBool *given)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  SpikeBand      *b = &s->band;
  PetscInt        nblocks, count = 0, row = 0, c = 0;
  const PetscInt *sizes;

  PetscFunctionBegin;
  *given = PETSC_FALSE;
  if (s->newrow || s->matching.active || s->border.T) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetVariableBlockSizes(pc->pmat, &nblocks, &sizes));
  if (!nblocks || !sizes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(nblocks + 1, &b->batch));
  for (PetscInt k = 0; k < nblocks; k++) {
    if (!sizes[k]) continue;
    while (c < s->cuts.count && s->cuts.row[c] < row) c++;
    if (row && (c == s->cuts.count || s->cuts.row[c] != row)) {
      PetscCall(PetscInfo(pc,
                          "Row %" PetscInt_FMT
                          " begins a block of MatSetVariableBlockSizes(), but entries couple it to "
                          "rows before it: systems are looked for in the entries\n",
                          row + pc->pmat->rmap->rstart));
      PetscCall(PetscFree(b->batch));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    b->batch[count++] = row;
    row += sizes[k];
  }
  if (row != b->n) {
    PetscCall(PetscFree(b->batch));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  b->batch[count] = b->n;
  b->nbatch       = count;
  *given          = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Systems of this rank between the cuts of its band, or as they are given */
static PetscErrorCode SpikeBatchSystems_Private(PC pc)
{
  PC_Spike  *s = (PC_Spike *)pc->data;
  SpikeBand *b = &s->band;
  PetscBool  given;

  PetscFunctionBegin;
  PetscCall(SpikeBatchGiven_Private(pc, &given));
  if (given) PetscFunctionReturn(PETSC_SUCCESS);
  b->nbatch = s->cuts.count + 1;
  PetscCall(PetscMalloc1(b->nbatch + 1, &b->batch));
  b->batch[0] = 0;
  PetscCall(PetscArraycpy(b->batch + 1, s->cuts.row, s->cuts.count));
  b->batch[b->nbatch] = b->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeBatchReset_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscFree(s->band.batch));
  s->band.nbatch = 0;
  s->batch.found = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeBatchFind_Private - Whether the band is a batch of independent systems, each of which is solved by itself

  Collective

  Input Parameters:
+ alone - no other rank has rows
. parts - the matrix that is factored, or nparts 0
- dia   - its diagonals then

  Output Parameter:
. s->batch.found - the same on all ranks; then band.batch are the systems of this rank

  Notes:
  Two rows are in one system where an entry that is not zero, inside the half-bandwidths, couples them or rows on both
  sides. fill() looks again at each refill. Entries between ranks couple, except with PC_SPIKE_BLOCK, which leaves them
  out.
*/
PetscErrorCode PCSpikeBatchFind_Private(PC pc, PetscBool alone, PetscInt nparts, const SpikeCSR parts[],
                                        const SpikeDIA *dia)
{
  PC_Spike        *s       = (PC_Spike *)pc->data;
  SpikeBand       *b       = &s->band;
  SpikeBatchReason reason  = SpikeBatchMay_Private(s);
  PetscBool        crosses = PETSC_FALSE, pays = PETSC_TRUE;
  PetscInt         max[3] = {0, 0, PETSC_INT_MIN}; /* reason, longest and minus the shortest system */

  PetscFunctionBegin;
  PetscCall(PCSpikeBatchReset_Private(pc));
  s->batch.why = NULL;
  b->whole     = s->batch.whole;
  b->alone     = (PetscBool)(s->type == PC_SPIKE_BLOCK);
  if (s->batch.type == PC_SPIKE_BATCH_NEVER) PetscFunctionReturn(PETSC_SUCCESS);
  if (reason == SPIKE_BATCH_YES) {
    if (b->n) {
      PetscCall(PCSpikeCutsFind_Private(pc, nparts, parts, dia));
      PetscCall(SpikeBatchSystems_Private(pc));
    }
    if (!alone && !b->alone && s->look.covers) crosses = (PetscBool)(s->look.found.others > 0);
    else if (!alone && !b->alone && nparts) crosses = SpikeBatchCrossesCSR_Private(s, nparts, parts);
    else if (!alone && !b->alone) PetscCall(SpikeBatchCrossesDIA_Private(pc, dia, &crosses));
    if (s->batch.type == PC_SPIKE_BATCH_AUTO && b->n) {
      SpikeBatch t = {0};

      PetscCall(SpikeBatchShape(b, &t));
      PetscCall(SpikeBatchPays(&t, &pays));
    }
    max[0] = crosses ? SPIKE_BATCH_CROSSES : pays ? SPIKE_BATCH_YES : SPIKE_BATCH_SLOWER;
    for (PetscInt q = 0; q < b->nbatch; q++) {
      max[1] = PetscMax(max[1], b->batch[q + 1] - b->batch[q]);
      max[2] = PetscMax(max[2], b->batch[q] - b->batch[q + 1]);
    }
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 3, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    reason = (SpikeBatchReason)max[0];
  }
  s->batch.found = (PetscBool)(reason == SPIKE_BATCH_YES);
  if (s->batch.found) {
    if (PCSpikeWishIsLow_Private(s)) PetscCall(PCSpikeWishDrop_Private(pc, "systems are a batch"));
    s->batch.longest  = max[1];
    s->batch.shortest = max[2] == PETSC_INT_MIN ? 0 : -max[2];
    PetscCall(PetscInfo(pc,
                        "Batch of %" PetscInt_FMT " systems on this rank, on all ranks of %" PetscInt_FMT
                        " to %" PetscInt_FMT " rows, half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                        ", interleaved\n",
                        b->nbatch, s->batch.shortest, s->batch.longest, b->kl, b->ku));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->batch.why = SpikeBatchReasons[reason];
  if (s->batch.type == PC_SPIKE_BATCH_ALWAYS || b->nbatch > 1)
    PetscCall(PetscInfo(pc, "Rows of independent systems are one band: %s\n", s->batch.why));
  PetscCall(PCSpikeBatchReset_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeBatchAfter_Private - After a factorization: pieces of a regular system may be singular, and a system that needs
  no row exchanges may have pieces that do. Where a pivot of one was boosted or bad systems are not cut into pieces, for
  all later values of the pattern

  Collective

  Input Parameter:
. pivot - of the factors

  Output Parameter:
. again - the setup has to be made anew for that
*/
PetscErrorCode PCSpikeBatchAfter_Private(PC pc, const SpikePivot *pivot, PetscBool *again)
{
  PC_Spike  *s = (PC_Spike *)pc->data;
  SpikeBatch t = {0};
  PetscBool  bad;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!s->batch.found || s->batch.whole) PetscFunctionReturn(PETSC_SUCCESS);
  bad = (PetscBool)(s->band.nbatch && (pivot->nboost > 0 || pivot->badrow >= 0));
  if (bad) {
    PetscCall(SpikeBatchShape(&s->band, &t));
    bad = (PetscBool)(t.parts > 1);
  }
  PetscCallMPI(MPIU_Allreduce(&bad, again, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  s->batch.whole = PETSC_TRUE;
  s->again       = SPIKE_AGAIN_BATCH;
  PetscCall(PetscInfo(pc, "Small pivots in pieces of systems: trying whole systems\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: info is that of all ranks */
PetscErrorCode PCSpikeBatchView_Private(PC pc, const PCSpikeInfo *info, PetscViewer viewer)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->batch.found)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  batch of %" PetscInt_FMT " systems of %" PetscInt_FMT " to %" PetscInt_FMT
                                     " rows, interleaved%s\n",
                                     info->systems, s->batch.shortest, s->batch.longest,
                                     s->band.pivoting ? ", rows exchanged inside each system" : ""));
  else if (s->batch.type == PC_SPIKE_BATCH_ALWAYS && s->batch.why)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  no batch of systems: %s\n", s->batch.why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetBatchType_Spike(PC pc, PCSpikeBatchType type)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(type >= PC_SPIKE_BATCH_AUTO && type <= PC_SPIKE_BATCH_NEVER, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "Unknown PCSpikeBatchType %d", (int)type);
  if (s->batch.type != type) PetscCall(PCSpikeChanged_Private(pc));
  s->batch.type = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetBatchType_Spike(PC pc, PCSpikeBatchType *type)
{
  PetscFunctionBegin;
  *type = ((PC_Spike *)pc->data)->batch.type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetBatchType - Whether independent systems in a matrix are solved each by itself, many at once

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner context
- type - `PC_SPIKE_BATCH_AUTO` (the default), `PC_SPIKE_BATCH_ALWAYS` or `PC_SPIKE_BATCH_NEVER`

  Options Database Key:
. -pc_spike_batch_type (auto|always|never) - whether systems are solved each by itself

  Level: intermediate

  Notes:
  Where nothing couples a row or those after it to those before, a new system begins: as of the lines of a grid, with
  `PCSpikeSetBandwidth()` for the matrix of the whole grid, or of the cells of a chemical reaction. Systems are found in
  the entries of any type of matrix, in the ordering of the band. The blocks of `MatSetVariableBlockSizes()` are taken
  as systems where nothing couples them. Stored zeros couple nothing; when later values do, the setup begins again.

  A batch has half-bandwidths up to 16, other than 1,1, for which `PCSpikeSetTridiagonalType()` has kernels. Each system
  is solved by itself, and nothing is neglected: an application is the inverse. A lane of a vector register, or a
  thread of a device, solves a system; the factors of as many systems as there are lanes are interleaved. Systems may
  have different lengths, which are sorted; shorter ones are padded to the longest beside them. `PCSpikeSetPivoting()`
  exchanges rows inside each system, on CPUs and GPUs. On a device, where systems are few and half-bandwidths at most 4,
  2 to 32 threads share a system: it is cut into pieces, which are factored at once, without row exchanges, and coupled
  exactly from one to the next, as the partitions of SPIKE. Where a pivot of a piece is too small, as it may be in a
  regular system, systems are not cut.

  `PC_SPIKE_BATCH_AUTO` takes a batch where half-bandwidths are at most what the backend is faster with, and padding
  does not cost more than that gains, on all ranks, and one band where partitions are asked for
  (`PCSpikeSetLocalPartitions()`). The partitions of one band begin where systems do, as far as their number allows it;
  where all of them do, nothing couples them, and there are no spikes and no reduced systems.

  Always one band, as the view and -info say: systems that lie on two ranks, except with `PC_SPIKE_BLOCK`, which leaves
  out what couples ranks; factors by Cholesky (`PCSpikeSetFactorType()`); factors in another precision than that of the
  vectors.

  References:
  Gloster, O Naraigh and Pang, cuPentBatch: a batched pentadiagonal solver for NVIDIA GPUs, Comput. Phys. Commun. 241
  (2019). Polizzi and Sameh, A parallel hybrid banded system solver: the SPIKE algorithm, Parallel Comput. 32 (2006).

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetBatchType()`, `PCSpikeBatchType`, `PCSpikeSetBandwidth()`,
`PCSpikeSetTridiagonalType()`, `MatSetVariableBlockSizes()`, `PCVPBJACOBI`
@*/
PetscErrorCode PCSpikeSetBatchType(PC pc, PCSpikeBatchType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  PetscTryMethod(pc, "PCSpikeSetBatchType_C", (PC, PCSpikeBatchType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetBatchType - What `PCSpikeSetBatchType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. type - the type, `PC_SPIKE_BATCH_AUTO` by default

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetBatchType()`
@*/
PetscErrorCode PCSpikeGetBatchType(PC pc, PCSpikeBatchType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(pc, "PCSpikeGetBatchType_C", (PC, PCSpikeBatchType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeBatchSetFromOptions_Private(PC pc, PetscOptionItems PetscOptionsObject)
{
  PetscEnum type = (PetscEnum)((PC_Spike *)pc->data)->batch.type;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-pc_spike_batch_type", "Independent systems each by itself", "PCSpikeSetBatchType",
                             PCSpikeBatchTypes, type, &type, &set));
  if (set) PetscCall(PCSpikeSetBatchType(pc, (PCSpikeBatchType)type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeBatchMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetBatchType_C", PCSpikeSetBatchType_Spike);
  SpikeCompose("PCSpikeGetBatchType_C", PCSpikeGetBatchType_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
