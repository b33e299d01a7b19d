/* SPDX-License-Identifier: BSD-2-Clause */
/* spikediagonals.c: a MATDIA in PCSPIKE: half-bandwidths and the falloff of spikes from its diagonals, without CSR */
#include "spikeimpl.h"

/* The diagonals of Pmat where it has them and a backend has a band beside them, else NULL: the same on all ranks */
PetscErrorCode PCSpikeGetDIA_Private(PC pc, const SpikeDIA **dia)
{
  SpikeEnqueue e;

  PetscFunctionBegin;
  PetscCall(SpikeGetEnqueue((PetscObject)pc->pmat, &e));
  *dia = e.product.dia && SpikeBandKernelsFind(e.memtype) ? e.product.dia : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Falloff of the spikes from some rows: in CSR as those of MATAIJ, columns of this rank before those of others */
static PetscErrorCode PCSpikeDIAExpectFalloff_Private(PC pc, const SpikeDIA *dia)
{
  const PetscInt rows = PetscMin(dia->n, SPIKE_SAMPLED_ROWS), count = dia->count;
  PetscScalar   *from, *aa;
  PetscInt      *ai, *aj, k = 0;
  SpikeCSR       csr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4((PetscCount)rows * count, &from, (PetscCount)rows * count, &aa, rows + 1, &ai,
                         (PetscCount)rows * count, &aj));
  PetscCall((*dia->k->sample)(dia, rows, from));
  ai[0] = 0;
  for (PetscInt r = 0; r < rows; r++) {
    const PetscInt i = (PetscInt)((PetscInt64)r * dia->n / rows);

    for (int others = 0; others < 2; others++) {
      for (PetscInt d = 0; d < count; d++) {
        const PetscInt j = i + dia->offset[d];

        if (i < dia->first[d] || i >= dia->last[d] || (j < 0 || j >= dia->m) != others) continue;
        aj[k]   = j;
        aa[k++] = from[(PetscCount)r * count + d];
      }
    }
    ai[r + 1] = k;
  }
  csr.ai     = ai;
  csr.aj     = aj;
  csr.aa     = aa;
  csr.colmap = NULL;
  csr.shift  = 0;
  PetscCall(PCSpikeExpectFalloff_Private(pc, dia->n, PETSC_TRUE, 1, &csr));
  PetscCall(PetscFree4(from, aa, ai, aj));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The half-bandwidths of the diagonals with entries on this rank, of those not farther out than the limit */
static void PCSpikeDIABand_Private(const SpikeDIA *dia, const PetscReal weight[], PetscInt limit, PetscInt k[2])
{
  k[0] = k[1] = 0;
  for (PetscInt d = 0; d < dia->count; d++) {
    if (weight[d] == 0.0 || PetscAbsInt(dia->offset[d]) > limit) continue;
    k[0] = PetscMax(k[0], -dia->offset[d]);
    k[1] = PetscMax(k[1], dia->offset[d]);
  }
}

/*
  From sums along diagonals, over all ranks: the half-bandwidths, then fullest[0] and fullest[1] of scan(). weight:
  [count] sums of this rank
*/
PetscErrorCode PCSpikeDIAMeasure_Private(PC pc, const SpikeDIA *dia, PetscInt full[4], PetscReal *weight)
{
  PetscInt local[4] = {0, 0, 0, 0};

  PetscFunctionBegin;
  PetscCall((*dia->k->scan)(dia, weight, local + 2));
  PCSpikeDIABand_Private(dia, weight, PETSC_INT_MAX, local);
  PetscCallMPI(MPIU_Allreduce(local, full, 4, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether single entries may show a border on several ranks: diagonals outside of all long ones, such as the corners of
  a periodic band, have few rows. A long diagonal has too many far entries for a border, unless most of them are zeros,
  which are not looked at. full: half-bandwidths over all ranks
*/
static PetscErrorCode PCSpikeDIAMayBorder_Private(PC pc, const SpikeDIA *dia, const PetscReal weight[],
                                                  const PetscInt full[2], PetscBool *may)
{
  PetscInt  most, longest = 0;
  PetscBool reorders;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderMay_Private(pc, &most, &reorders, may));
  if (!*may || PetscMax(full[0], full[1]) < 2) *may = PETSC_FALSE;
  if (!*may) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < dia->count; d++)
    if (weight[d] != 0.0 && dia->last[d] - dia->first[d] > 2 * most)
      longest = PetscMax(longest, PetscAbsInt(dia->offset[d]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &longest, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  *may = (PetscBool)(longest < PetscMax(full[0], full[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  As PCSpikeChooseBand_Private() and PCSpikeExpectFalloff_Private(), from sums along diagonals. *enough: false on all
  ranks where these do not suffice and single entries are needed: for an ordering, for a border on several ranks, and
  for periodic systems (no row of which has two entries far from the diagonal).
*/
PetscErrorCode PCSpikeDIAChooseBand_Private(PC pc, const SpikeDIA *dia, PetscBool *enough)
{
  PC_Spike   *s     = (PC_Spike *)pc->data;
  PetscBool   given = (PetscBool)(s->givenkl != PETSC_DECIDE), isauto, natural, border = PETSC_FALSE;
  PetscInt    full[4], kept[2], within[2];
  PetscReal  *weight, *bydistance;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PCSpikeCheckBand_Private(pc, &size, &isauto, &natural));
  PetscCall(PetscMalloc1(dia->count, &weight));
  PetscCall(PCSpikeDIAMeasure_Private(pc, dia, full, weight));
  kept[0] = full[0];
  kept[1] = full[1];
  if (s->dropoff > 0.0) {
    PetscCall(PetscCalloc1(PetscMax(full[0], full[1]) + 1, &bydistance));
    for (PetscInt d = 0; d < dia->count; d++)
      if (weight[d] != 0.0) bydistance[PetscAbsInt(dia->offset[d])] += weight[d];
    PetscCall(PCSpikeDropOff_Private(pc, bydistance, kept));
    PetscCall(PetscFree(bydistance));
  }
  PCSpikeDIABand_Private(dia, weight, s->limit, within);
  if (size > 1) PetscCall(PCSpikeDIAMayBorder_Private(pc, dia, weight, full, &border));
  PetscCall(PetscFree(weight));
  *enough = (PetscBool)!border;
  if (size == 1 && dia->n && !natural && (!isauto || (!given && kept[0] + kept[1] + 1 > full[2])))
    *enough = PETSC_FALSE;
  if (s->lines.active) *enough = PETSC_FALSE;
  if (!given && (isauto || natural) && kept[0] + kept[1] > 2 && s->band.k->periodic && full[3] < 2)
    *enough = PETSC_FALSE;
  if (!*enough) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeFitBand_Private(pc, within, kept));
  s->info.natural_kl = full[0];
  s->info.natural_ku = full[1];
  s->info.reordered  = PETSC_FALSE;
  s->info.kl = s->band.kl = kept[0];
  s->info.ku = s->band.ku = kept[1];
  PetscCall(PetscInfo(pc,
                      "Half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " natural, %" PetscInt_FMT ",%" PetscInt_FMT
                      " factored, from diagonals\n",
                      full[0], full[1], kept[0], kept[1]));
  PetscCall(PCSpikeDIAExpectFalloff_Private(pc, dia));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeFindSystems_Private() with the diagonals beside the main one in CSR, which only half-bandwidths 1,1 ask for;
  absent entries are zeros there
*/
PetscErrorCode PCSpikeDIAFindSystems_Private(PC pc, const SpikeDIA *dia)
{
  const SpikeBand *b     = &((PC_Spike *)pc->data)->band;
  const PetscInt   n     = b->kl == 1 && b->ku == 1 ? dia->n : 0;
  PetscScalar     *there = NULL, *v, *aa;
  PetscInt        *ai, *aj;
  SpikeCSR         csr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &v, 2 * (PetscCount)n, &aa));
  PetscCall(PetscMalloc2(dia->n + 1, &ai, 2 * (PetscCount)n, &aj));
  PetscCall((*dia->k->alloc)((size_t)n * sizeof(PetscScalar), (void **)&there));
  for (PetscInt i = 0; i <= dia->n; i++) ai[i] = n ? 2 * i : 0;
  for (PetscInt side = 0; side < 2 && n; side++) {
    const PetscInt d = SpikeDIAFind(dia->count, dia->offset, -1, side ? 1 : -1);

    PetscCall((*dia->k->getdiagonal)(dia, d, there));
    PetscCall((*dia->k->move)(dia->stream, PETSC_FALSE, v, there, (size_t)n * sizeof(PetscScalar)));
    for (PetscInt i = 0; i < n; i++) {
      aj[2 * i + side] = side ? i + 1 : i - 1;
      aa[2 * i + side] = v[i];
    }
  }
  csr.ai     = ai;
  csr.aj     = aj;
  csr.aa     = aa;
  csr.colmap = NULL;
  csr.shift  = 0;
  PetscCall(PCSpikeFindSystems_Private(pc, 1, &csr));
  PetscCall((*dia->k->release)((void **)&there));
  PetscCall(PetscFree2(v, aa));
  PetscCall(PetscFree2(ai, aj));
  PetscFunctionReturn(PETSC_SUCCESS);
}
