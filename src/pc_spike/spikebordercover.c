/* SPDX-License-Identifier: BSD-2-Clause */
/* spikebordercover.c: which rows and columns of a matrix are its border, and whether it gains */
#include "spikeimpl.h"

#define SPIKE_BORDER_GAIN  0.9 /* the work with a border, over that without one, that makes it worth it */
#define SPIKE_BORDER_LEAST 8   /* rows of the smallest matrix */
#define SPIKE_BORDER_USES  10  /* applications that a setup is thought to be for */

/*
  Work of a setup and some applications, in multiplications and words of memory: factors, columns of Q, S; the band, Q
  and E. gathered: columns of E that are stored
*/
PetscReal SpikeBorderCost_Private(PetscInt n, PetscInt kl, PetscInt ku, PetscInt m, PetscInt gathered)
{
  const PetscReal N = (PetscReal)n, M = (PetscReal)m, band = 1.0 + kl + ku, g = (PetscReal)gathered;
  const PetscReal setup = N * 2 * kl * ku + M * N * 2 * band + 2 * M * M * g + M * M * M;

  return setup + 2 * SPIKE_BORDER_USES * (N * band + M * (N + g) + M * M);
}

/*
  Whether each rank that has rows beside a border of m rows has so many as half-bandwidth K needs, where ranks are
  coupled, and the limit of this setup has it: the same on all ranks, and true on one
*/
PetscErrorCode PCSpikeBorderHolds_Private(PC pc, PetscInt K, PetscInt m, const PetscInt rows[], PetscBool *holds)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;
  const PetscInt *range;
  PetscInt        k = 0;
  PetscMPIInt     size;

  PetscFunctionBegin;
  *holds = PETSC_TRUE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  *holds = (PetscBool)(K <= s->limit);
  if (s->type == PC_SPIKE_BLOCK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRanges(pc->pmat, &range));
  for (PetscMPIInt r = 0; r < size; r++) {
    const PetscInt n = range[r + 1] - range[r], begin = k;

    while (k < m && rows[k] < range[r + 1]) k++;
    if (k - begin < n && n < K) *holds = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows or columns with many more entries than the average, whatever the order: such a row alone makes any band half as
  wide as it has entries. *best: as many of them as gain most by that bound
*/
static PetscErrorCode PCSpikeBorderFull_Private(PetscInt n, const SpikeCSR *A, PetscInt most, SpikeCover *best)
{
  const PetscInt mean = A->ai[n] / n;
  PetscInt      *degree, *many, *row, count = 0, rest = 0; /* the most entries of the others */

  PetscFunctionBegin;
  best->m    = -1;
  best->cost = PETSC_MAX_REAL;
  PetscCall(PetscMalloc3(n, &degree, n, &many, n, &row));
  PetscCall(PetscArrayzero(degree, n));
  for (PetscInt k = 0; k < A->ai[n]; k++) degree[A->aj[k]]++;
  for (PetscInt i = 0; i < n; i++) {
    degree[i] = PetscMax(degree[i], A->ai[i + 1] - A->ai[i]);
    if (degree[i] <= 2 * mean + 8) {
      rest = PetscMax(rest, degree[i]);
      continue;
    }
    many[count]  = -degree[i];
    row[count++] = i;
  }
  PetscCall(PetscSortIntWithArray(count, many, row));
  for (PetscInt m = 1; m <= PetscMin(count, most); m++) {
    const PetscInt  next = m < count ? -many[m] : rest, K = PetscMax(1, (next - m) / 2);
    const PetscReal cost = SpikeBorderCost_Private(n, K, K, m, n);

    if (cost >= best->cost) continue;
    best->cost = cost;
    best->m    = m;
  }
  if (best->m > 0) {
    PetscCall(PetscArraycpy(best->rows, row, best->m));
    PetscCall(PetscSortInt(best->m, best->rows));
  }
  PetscCall(PetscFree3(degree, many, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The band of A without the rows of a border; *A becomes T, or its copy after a matching */
static PetscErrorCode PCSpikeBorderTake_Private(PC pc, PetscInt m, const PetscInt rows[], const PetscInt natural[2],
                                                Mat *A)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderMake_Private(pc, *A, m, rows));
  *A = s->border.T;
  PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
  s->info.natural_kl = natural[0];
  s->info.natural_ku = natural[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a band was chosen by goes, for another one */
static PetscErrorCode PCSpikeBorderRevert_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeUnchooseBand_Private(pc));
  PetscCall(PCSpikeMatchingReset_Private(pc));
  PetscCall(PCSpikeBorderReset_Private(pc));
  s->info.unmatched = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work with the band that was chosen, without bound where it is cut, or ranks do not hold it */
static PetscErrorCode PCSpikeBorderCostNow_Private(PC pc, PetscReal *cost)
{
  const PC_Spike      *s     = (const PC_Spike *)pc->data;
  const PCSpikeBorder *d     = &s->border;
  PetscInt             count = d->count;
  PetscBool            holds;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderHolds_Private(pc, PetscMax(s->band.kl, s->band.ku), d->m, d->rows, &holds));
  if (d->across)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &count, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  *cost = s->info.cut || s->drops || !holds
          ? PETSC_MAX_REAL
          : SpikeBorderCost_Private(pc->pmat->rmap->N, s->band.kl, s->band.ku, d->m, count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the band without a border is affordable beside the work with one */
static PetscBool SpikeBorderAffordable_Private(PetscReal without, PetscReal with)
{
  return (PetscBool)(without < SPIKE_BORDER_DEARER * with || without < SPIKE_BORDER_CHEAP);
}

static PetscErrorCode PCSpikeBorderInfo_Private(PC pc)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->border.T)
    PetscCall(PetscInfo(pc,
                        "A border of %" PetscInt_FMT " rows and columns, solved by a dense system, leaves "
                        "half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT "\n",
                        s->border.m, s->band.kl, s->band.ku));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a look at the entries says: *best, full half-bandwidths, entries of the fullest row and on the average */
static PetscErrorCode PCSpikeBorderLook_Private(PC pc, Mat P, PetscInt most, SpikeCover *best, PetscInt full[2],
                                                PetscInt *maxrow, PetscInt *mean)
{
  const PCSpikeBorder *d     = &((PC_Spike *)pc->data)->border;
  MPI_Comm             comm  = PetscObjectComm((PetscObject)pc);
  const PetscReal      bound = (PetscReal)SPIKE_BORDER_GAIN * 2 * SPIKE_BORDER_USES * (PetscReal)P->rmap->N;
  PetscInt             nparts, max[4];
  PetscInt64           entries;
  const SpikeLook     *look;
  SpikeCSR             parts[2];
  PetscBool            may = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCSpikeLook_Private(pc, P, &look));
  max[0]  = look->kl;
  max[1]  = look->ku;
  max[2]  = look->stored;
  max[3]  = look->maxrow;
  entries = look->entries;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 4, MPIU_INT, MPI_MAX, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &entries, 1, MPIU_INT64, MPI_SUM, comm));
  full[0]    = max[0];
  full[1]    = max[1];
  *maxrow    = max[2];
  *mean      = (PetscInt)(entries / P->rmap->N);
  best->m    = -1;
  best->cost = PETSC_MAX_REAL;
  if (!d->nkept && PetscMax(full[0], full[1]) > 1) PetscCall(PCSpikeLookFar_Private(pc, look, most, full, &may));
  if (may) {
    PetscCall(PCSpikeGetCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
    PetscCall(PCSpikeBorderFar_Private(pc, P, nparts, parts, most, full, best));
    PetscCall(PCSpikeRestoreCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
  }
  if (best->cost < bound * *maxrow) *maxrow = max[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether options, sizes and what is known of this pattern leave a border open, of at most *most rows */
PetscErrorCode PCSpikeBorderMay_Private(PC pc, PetscInt *most, PetscBool *reorders, PetscBool *may)
{
  const PC_Spike      *s = (const PC_Spike *)pc->data;
  const PCSpikeBorder *d = &s->border;
  const PetscInt       N = pc->pmat->rmap->N;
  PetscMPIInt          size;
  PetscBool            isauto, natural;

  PetscFunctionBegin;
  PetscCall(PCSpikeCheckBand_Private(pc, &size, &isauto, &natural));
  *most     = d->max == PETSC_DECIDE ? PetscMin(SPIKE_BORDER_MOST, N / 4) : PetscMin(d->max, N / 2);
  *reorders = (PetscBool)(size == 1 && !natural); /* ranks that order their rows drop what couples them */
  *may      = (PetscBool)(N >= SPIKE_BORDER_LEAST && *most >= 1 && s->givenkl == PETSC_DECIDE && !(s->dropoff > 0.0) &&
                     !d->refused && s->trial.way != SPIKE_WAY_WHOLE && (size == 1 || isauto || natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows that a natural order hides in a cover of many: where those with the most entries promise less work than `far`,
  they go first, and what is left is ordered. *taken: that is the band now, which costs less than `far` does
*/
static PetscErrorCode PCSpikeBorderTryFull_Private(PC pc, PetscInt most, const SpikeCover *far, const PetscInt full[2],
                                                   Mat *A, PetscBool *taken)
{
  const Mat  P = *A;
  SpikeCSR   parts[2];
  PetscInt   nparts;
  PetscReal  now;
  SpikeCover rows;

  PetscFunctionBegin;
  *taken = PETSC_FALSE;
  PetscCall(PCSpikeGetCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeBorderFull_Private(P->rmap->N, &parts[0], most, &rows));
  PetscCall(PCSpikeRestoreCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
  if (rows.m < 1 || !(rows.cost < (PetscReal)SPIKE_BORDER_GAIN * far->cost)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeBorderTake_Private(pc, rows.m, rows.rows, full, A));
  PetscCall(PCSpikeBorderCostNow_Private(pc, &now));
  *taken = (PetscBool)(now < far->cost);
  if (*taken) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeBorderRevert_Private(pc));
  *A = P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeBorderChooseBand_Private - Half-bandwidths, ordering and matching of a matrix, or of what its border leaves
  where that is less work

  Collective

  Input/Output Parameter:
. A - the matrix as AIJ; on return that which is factored as a band
*/
PetscErrorCode PCSpikeBorderChooseBand_Private(PC pc, Mat *A)
{
  PC_Spike      *s    = (PC_Spike *)pc->data;
  PCSpikeBorder *d    = &s->border;
  const Mat      P    = *A;
  const PetscInt N    = P->rmap->N;
  PetscInt       most = 0, full[2], maxrow = 0, nparts, mean = 0;
  SpikeCover     far, rows;
  SpikeCSR       parts[2];
  PetscBool      may = PETSC_FALSE, reorders = PETSC_FALSE, taken = PETSC_FALSE, look, holds;
  PetscReal      cost, now, bound = (PetscReal)SPIKE_BORDER_GAIN * 2 * SPIKE_BORDER_USES * (PetscReal)N;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderMay_Private(pc, &most, &reorders, &may));
  if (!may) {
    PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeBorderLook_Private(pc, P, most, &far, full, &maxrow, &mean));
  if (d->nkept) {
    PetscCall(PCSpikeBorderTake_Private(pc, d->nkept, d->kept, full, A));
    PetscCall(PCSpikeBorderInfo_Private(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* no ordering has kl + ku + 1 below the entries of a row; periodic systems have three in each */
  if (maxrow > 3 && far.cost < bound * maxrow) {
    PetscCall(PCSpikeBorderHolds_Private(pc, PetscMax(full[0], full[1]), 0, NULL, &holds));
    d->affordable = (PetscBool)(holds &&
                                SpikeBorderAffordable_Private(SpikeBorderCost_Private(N, full[0], full[1], 0, 0),
                                                              far.cost));
    if (reorders) PetscCall(PCSpikeBorderTryFull_Private(pc, most, &far, full, A, &taken));
    if (!taken) PetscCall(PCSpikeBorderTake_Private(pc, far.m, far.rows, full, A));
    PetscCall(PCSpikeBorderInfo_Private(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
  if (s->cyclic.found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeBorderCostNow_Private(pc, &cost));
  look      = (PetscBool)(reorders && !(far.cost < (PetscReal)SPIKE_BORDER_GAIN * cost) &&
                     SpikeBorderCost_Private(N, mean / 2, mean / 2, 1, 1) < cost / 2); /* else nothing gains that */
  rows.cost = PETSC_MAX_REAL;
  if (look) {
    PetscCall(PCSpikeGetCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
    PetscCall(PCSpikeBorderFull_Private(N, &parts[0], most, &rows));
    PetscCall(PCSpikeRestoreCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
    if (!(rows.cost < cost / 2)) PetscFunctionReturn(PETSC_SUCCESS);
  } else if (!(far.cost < (PetscReal)SPIKE_BORDER_GAIN * cost)) PetscFunctionReturn(PETSC_SUCCESS);
  d->affordable = SpikeBorderAffordable_Private(cost, look ? rows.cost : far.cost);
  PetscCall(PCSpikeBorderRevert_Private(pc));
  *A = P;
  if (!look && reorders) PetscCall(PCSpikeBorderTryFull_Private(pc, most, &far, full, A, &taken));
  if (!taken) PetscCall(PCSpikeBorderTake_Private(pc, look ? rows.m : far.m, look ? rows.rows : far.rows, full, A));
  PetscCall(PCSpikeBorderCostNow_Private(pc, &now));
  if (!(now < (PetscReal)SPIKE_BORDER_GAIN * cost)) {
    PetscCall(PCSpikeBorderRevert_Private(pc));
    *A = P;
    PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
  } else PetscCall(PCSpikeBorderInfo_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
