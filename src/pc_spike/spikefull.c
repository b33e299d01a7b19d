/* SPDX-License-Identifier: BSD-2-Clause */
/* spikefull.c: PCSPIKE with exact coupling: full SPIKE on the partitions of a rank, then on the ranks */
#include "spikeimpl.h"

/*
  The partitions of a rank are merged into one segment by the backend (kernels/band/band.h). The segments of all ranks
  are a SpikeBand of their own, a partition for each rank that owns rows, whose tips all ranks have: each of them merges
  them on the host, and solves for all, so that an apply has one message from each rank to all, of kl + ku values a
  right-hand side. The results of a rank do not depend on which rank computes them.
*/

/* The partition of this rank among those that own rows, and their number */
static PetscErrorCode SpikeSegmentsCount_Private(PC pc, PetscInt *owners, PetscInt *me)
{
  const PetscInt *range;
  PetscMPIInt     size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(MatGetOwnershipRanges(PCSpikeBandMatrix_Private(pc), &range));
  *owners = *me = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (range[r + 1] == range[r]) continue;
    if (r < rank) (*me)++;
    (*owners)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of what this rank has of the segments of all, on the host */
PetscReal PCSpikeSegmentsBytes_Private(PC pc)
{
  const PC_Spike *s  = (const PC_Spike *)pc->data;
  const PetscReal kl = (PetscReal)s->band.kl, ku = (PetscReal)s->band.ku, h = kl + ku;
  PetscInt        owners, me;
  PetscMPIInt     size;

  if (!s->ex.across) return 0.0;
  PetscCallAbort(PETSC_COMM_SELF, SpikeSegmentsCount_Private(pc, &owners, &me));
  PetscCallMPIAbort(PETSC_COMM_SELF, MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  return sizeof(PetscScalar) * ((owners + 1.0) * (2 * kl * ku + 2 * ku * ku + kl * kl + h * h + s->band.maxrhs * h) +
                                (size + 1.0) * PetscMax(h, (PetscReal)s->band.maxrhs) * h);
}

static PetscErrorCode SpikeSegmentsReserve_Private(PC pc, PetscInt maxrhs)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeSegments *g = &s->segments;
  const PetscInt h = s->band.kl + s->band.ku;
  PetscMPIInt    size;

  PetscFunctionBegin;
  if (!g->band.k || maxrhs <= g->band.maxrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PetscFree(g->band.dtips));
  PetscCall(PetscFree2(g->mine, g->all));
  PetscCall(PetscCalloc1((PetscCount)maxrhs * (g->band.np + 1) * h, &g->band.dtips));
  PetscCall(
    PetscMalloc2((PetscCount)PetscMax(h, maxrhs) * h, &g->mine, (PetscCount)size * PetscMax(h, maxrhs) * h, &g->all));
  g->band.maxrhs = maxrhs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeSegmentsCreate_Private(PC pc)
{
  PC_Spike        *s  = (PC_Spike *)pc->data;
  SpikeSegments   *g  = &s->segments;
  const PetscCount kl = s->band.kl, ku = s->band.ku;
  PetscInt         np;

  PetscFunctionBegin;
  if (g->band.k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeSegmentsCount_Private(pc, &np, &g->me));
  g->band.np = np;
  g->band.kl = s->band.kl;
  g->band.ku = s->band.ku;
  PetscCall(PetscMalloc1(np + 1, &g->band.active));
  for (PetscInt q = 0; q <= np; q++) g->band.active[q] = (PetscBool)(q > 0 && q < np);
  PetscCall(PetscCalloc7((np + 1) * kl * ku, &g->band.dVb, (np + 1) * ku * kl, &g->band.dWt, (np + 1) * ku * ku,
                         &g->band.dVt, (np + 1) * kl * kl, &g->band.dWb, (np + 1) * ku * ku, &g->band.dR, (np + 1) * ku,
                         &g->band.dpiv, (np + 1) * (kl + ku) * (kl + ku), &g->band.dmerged));
  g->band.k = SpikeBandKernelsFind(PETSC_MEMTYPE_HOST);
  PetscCall(SpikeSegmentsReserve_Private(pc, s->band.maxrhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeSegmentsDestroy_Private(PC pc)
{
  SpikeSegments *g = &((PC_Spike *)pc->data)->segments;

  PetscFunctionBegin;
  PetscCall(PetscFree(g->band.active));
  PetscCall(PetscFree7(g->band.dVb, g->band.dWt, g->band.dVt, g->band.dWb, g->band.dR, g->band.dpiv, g->band.dmerged));
  PetscCall(PetscFree(g->band.dtips));
  PetscCall(PetscFree2(g->mine, g->all));
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The four tips of this rank's segment to all ranks, and the segments merged */
static PetscErrorCode SpikeSegmentsMerge_Private(PC pc, SpikePivot *pivot)
{
  PC_Spike          *s    = (PC_Spike *)pc->data;
  SpikeSegments     *g    = &s->segments;
  SpikeBand         *b    = &s->band;
  MPI_Comm           comm = PetscObjectComm((PetscObject)pc);
  const PetscCount   kl = b->kl, ku = b->ku, h = kl + ku;
  const PetscCount   size[] = {ku * kl, kl * kl, ku * ku, kl * ku};
  const PetscScalar *from[] = {b->dWt, b->dWb, b->dVt + b->np * size[2], b->dVb + b->np * size[3]};
  SpikePivot         among  = *pivot;
  PetscMPIInt        count, ranks;
  const PetscInt    *range;
  PetscScalar       *to = g->mine;
  PetscInt           i  = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 4; k++, to += size[k - 1])
    PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, to, size[k] * sizeof(PetscScalar), from[k],
                              size[k] * sizeof(PetscScalar), size[k] * sizeof(PetscScalar), 1));
  PetscCall(PetscMPIIntCast(h * h, &count));
  PetscCallMPI(MPI_Allgather(g->mine, count, MPIU_SCALAR, g->all, count, MPIU_SCALAR, comm));
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  PetscCall(MatGetOwnershipRanges(PCSpikeBandMatrix_Private(pc), &range));
  for (PetscMPIInt r = 0; r < ranks; r++) {
    const PetscScalar *a = g->all + r * h * h;

    if (range[r + 1] == range[r]) continue;
    PetscCall(PetscArraycpy(g->band.dWt + i * size[0], a, size[0]));
    PetscCall(PetscArraycpy(g->band.dWb + i * size[1], a + size[0], size[1]));
    PetscCall(PetscArraycpy(g->band.dVt + (i + 1) * size[2], a + size[0] + size[1], size[2]));
    PetscCall(PetscArraycpy(g->band.dVb + (i + 1) * size[3], a + size[0] + size[1] + size[2], size[3]));
    i++;
  }
  PetscCall((*g->band.k->merge)(&g->band, &among));
  if (!g->me && b->n) pivot->nboost += among.nboost; /* the first rank with rows counts for all */
  if (among.badrow >= 0 && pivot->badrow < 0) {
    pivot->badrow   = among.badrow <= g->me ? 0 : b->np; /* an interface of this rank, on the side of the bad one */
    pivot->badvalue = among.badvalue;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Tips and reduced systems of full SPIKE, after the factors. On a device they are enqueued, and known after finish();
  what pivot says of the ranks' segments is known on return, of interfaces of this rank after finish().
*/
PetscErrorCode PCSpikeFullSetUp_Private(PC pc, SpikePivot *pivot)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeBand     *b = &s->band;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!b->full) {
    b->full = PETSC_TRUE;
    s->shape++;
  }
  if (SpikeFaulty(SPIKE_FAULT_STALE_TIPS) && b->dmerged) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Tips, pc, 0, 0, 0));
  ierr = (*b->k->spikes)(b, s->falloff);
  if (ierr && !b->dmerged) b->full = PETSC_FALSE; /* without memory for the arrays */
  PetscCall(ierr);
  PetscCall(PetscLogEventEnd(PC_Spike_Tips, pc, 0, 0, 0));
  PetscCall(PetscLogEventBegin(PC_Spike_Reduced, pc, 0, 0, 0));
  PetscCall((*b->k->merge)(b, pivot));
  if (b->k->finish) PetscCall((*b->k->finish)(b));
  if (s->ex.across) {
    PetscCall(SpikeSegmentsCreate_Private(pc));
    PetscCall(SpikeSegmentsMerge_Private(pc, pivot));
  }
  PetscCall(PetscLogEventEnd(PC_Spike_Reduced, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What this rank has at the inner sides of its outer interfaces to all ranks; their segments solved; the outer sides
  back. A column of the message: the side of interface 0, then that of np.
*/
static PetscErrorCode SpikeSegmentsSolve_Private(PC pc, PetscBool trans, PetscInt nrhs)
{
  PC_Spike        *s    = (PC_Spike *)pc->data;
  SpikeSegments   *g    = &s->segments;
  SpikeBand       *b    = &s->band;
  MPI_Comm         comm = PetscObjectComm((PetscObject)pc);
  const PetscInt   kl = b->kl, ku = b->ku, h = kl + ku;
  const PetscCount ldt = (PetscCount)(b->np + 1) * h, lds = (PetscCount)(g->band.np + 1) * h;
  const PetscInt   left = trans ? kl : ku, right = h - left; /* values at the inner sides of 0 and np */
  const size_t     ldh = h * sizeof(PetscScalar), ldd = ldt * sizeof(PetscScalar);
  PetscScalar     *t0 = b->dtips, *t1 = b->dtips + (PetscCount)b->np * h, *mine = g->mine;
  PetscMPIInt      count, ranks;
  const PetscInt  *range;
  PetscInt         i = 0;

  PetscFunctionBegin;
  PetscCall(SpikeSegmentsReserve_Private(pc, b->maxrhs));
  mine = g->mine;
  PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, mine, ldh, t0 + (trans ? 0 : kl), ldd,
                            left * sizeof(PetscScalar), nrhs));
  PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, mine + left, ldh, t1 + (trans ? kl : 0), ldd,
                            right * sizeof(PetscScalar), nrhs));
  PetscCall(PetscMPIIntCast((PetscCount)h * nrhs, &count));
  PetscCallMPI(MPI_Allgather(mine, count, MPIU_SCALAR, g->all, count, MPIU_SCALAR, comm));
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  PetscCall(MatGetOwnershipRanges(PCSpikeBandMatrix_Private(pc), &range));
  for (PetscMPIInt r = 0; r < ranks; r++) {
    if (range[r + 1] == range[r]) continue;
    for (PetscInt c = 0; c < nrhs; c++) {
      const PetscScalar *a = g->all + (PetscCount)r * count + (PetscCount)c * h;
      PetscScalar       *t = g->band.dtips + c * lds + (PetscCount)i * h;

      PetscCall(PetscArraycpy(t + (trans ? 0 : kl), a, left));
      PetscCall(PetscArraycpy(t + h + (trans ? kl : 0), a + left, right));
    }
    i++;
  }
  PetscCall((*g->band.k->mergedtips)(&g->band, trans, PETSC_TRUE, nrhs));
  PetscCall((*g->band.k->mergedtips)(&g->band, trans, PETSC_FALSE, nrhs));
  if (b->n && !SpikeFaulty(SPIKE_FAULT_STALE_MESSAGE)) {
    const PetscScalar *t   = g->band.dtips + (PetscCount)g->me * h;
    const size_t       lda = lds * sizeof(PetscScalar);

    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, t0 + (trans ? kl : 0), ldd, t + (trans ? kl : 0), lda,
                              right * sizeof(PetscScalar), nrhs));
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, t1 + (trans ? 0 : kl), ldd, t + h + (trans ? 0 : kl), lda,
                              left * sizeof(PetscScalar), nrhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x <- A^-1 b, with A = D S and S the whole spike matrix:

      g = D^-1 b, of which the tips are kept;   the reduced system;   x = D^-1 (b - [C x_b; 0; B x_t])

  and transposed the same with D^-T, the reduced system transposed, and b - [x_t; 0; x_b]. The second sweep starts from
  b, not from g: where partitions are worse conditioned than the matrix, g and what is subtracted from it would be
  large.
*/
PetscErrorCode PCSpikeFullSolve_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                        PetscScalar *x, PetscCount ldx)
{
  PC_Spike  *s = (PC_Spike *)pc->data;
  SpikeBand *k = &s->band;

  PetscFunctionBegin;
  if (SpikeFaulty(SPIKE_FAULT_NOT_TRANSPOSED)) trans = PETSC_FALSE;
  PetscCall(PetscLogEventBegin(PC_Spike_Sweep, pc, 0, 0, 0));
  PetscCall((*k->k->sweep)(k, trans, SPIKE_SWEEP_ALL, 0, k->np, nrhs, b, ldb, k->dwork, k->n));
  PetscCall(PetscLogEventEnd(PC_Spike_Sweep, pc, 0, 0, 0));
  PetscCall(PetscLogEventBegin(PC_Spike_Reduced, pc, 0, 0, 0));
  PetscCall((*k->k->mergedtips)(k, trans, PETSC_TRUE, nrhs));
  if (s->ex.across) PetscCall(SpikeSegmentsSolve_Private(pc, trans, nrhs));
  if (!SpikeFaulty(SPIKE_FAULT_NO_MERGED)) PetscCall((*k->k->mergedtips)(k, trans, PETSC_FALSE, nrhs));
  PetscCall(PetscLogEventEnd(PC_Spike_Reduced, pc, 0, 0, 0));
  PetscCall(PetscLogEventBegin(PC_Spike_Correct, pc, 0, 0, 0));
  PetscCall((*k->k->mergedrhs)(k, trans, nrhs, b, ldb));
  PetscCall((*k->k->sweep)(k, trans, SPIKE_SWEEP_ALL, 0, k->np, nrhs, k->dwork, k->n, x, ldx));
  PetscCall(PetscLogEventEnd(PC_Spike_Correct, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What truncation neglects: the far end of a spike relative to its tip, the largest of this rank. Each has as many rows
  as the half-bandwidth, so that they lie n - K rows apart. Of V where nothing is at its far end all is in its tip.
*/
PetscReal PCSpikeDecay_Private(const PC_Spike *s)
{
  const SpikeBand *b     = &s->band;
  const PetscInt   K     = PetscMax(b->kl, b->ku);
  PetscReal        decay = PETSC_MIN_REAL; /* the logarithm: one exponential for all */

  for (PetscInt q = 0; b->coupled && q <= b->np; q++) {
    if (!b->active[q]) continue;
    if (q < b->np)
      decay = PetscMax(decay, PetscMax(s->falloff[q], -1e3) * PetscMax(b->start[q + 1] - b->start[q] - K, 1));
    if (q > 0 && b->active[q - 1])
      decay = PetscMax(decay,
                       PetscMax(s->falloff[b->np + 1 + q], -1e3) * PetscMax(b->start[q] - b->start[q - 1] - K, 1));
  }
  return decay > PETSC_MIN_REAL ? PetscExpReal(decay) : 0.0;
}

/*
  PC_SPIKE_AUTO: what truncation may neglect, relative to the tips of the spikes, in units of what the windows leave
  out. A step of refinement, or of a Krylov method, gains as many digits as M has; exact coupling costs as much as one
  or two. SPIKE_TRUNCATE_MOST: whatever the windows leave out; but no less than what factors of low precision are wrong
  by
*/
#define SPIKE_TRUNCATE      1e4
#define SPIKE_TRUNCATE_MOST 1e-3

PetscReal PCSpikeMayNeglect_Private(const PC_Spike *s)
{
  const PetscReal epsilon = SpikePrecisionEpsilon(s->band.precision);

  return PetscMax(PetscMin(SPIKE_TRUNCATE * PetscMax(s->window, epsilon), SPIKE_TRUNCATE_MOST), 10 * epsilon);
}

/* Whether there is memory for what exact coupling has besides, on all ranks */
static PetscErrorCode PCSpikeFullFits_Private(PC pc, PetscBool *fits)
{
  SpikeBand *b = &((PC_Spike *)pc->data)->band;
  PetscReal  band, rest = 0.0, memory, needed;

  PetscFunctionBegin;
  if (b->coupled && !b->dmerged) {
    b->full = PETSC_TRUE;
    PetscCall((*b->k->bytes)(b, &band, &rest));
    /* segments of ranks are in the host's memory: here the memory that is asked for */
    if (PetscMemTypeHost(b->k->memtype)) rest += PCSpikeSegmentsBytes_Private(pc);
    b->full = PETSC_FALSE;
  }
  PetscCall((*b->k->memory)(&memory));
  PetscCall(PCFactoredFits_Private(pc, b->k->memtype, rest, memory, &needed, fits));
  if (!*fits)
    PetscCall(PetscInfo(pc, "Exact coupling needs %g GB, more than is free: truncated\n", (double)(needed * 1e-9)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where truncation would neglect more than that, the factors that are there get the whole spikes instead, if there is
  memory for them; where exact coupling has seen that it would not, the next setup truncates. So it is where pivots of
  partitions were boosted: truncation takes its tips from windows, whose pivots are others. A rank without rows may have
  no interfaces, and goes with the others.
*/
PetscErrorCode PCSpikeChooseCoupling_Private(PC pc, const SpikePivot *partition, SpikePivot *reduced)
{
  PC_Spike       *s       = (PC_Spike *)pc->data;
  SpikeBand      *b       = &s->band;
  const PetscBool changes = (PetscBool)(b->coupled && !b->full);
  PetscReal       most[3];
  PetscBool       fits;

  PetscFunctionBegin;
  s->info.scarce = PETSC_FALSE;
  if (s->type != PC_SPIKE_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  most[0] = PCSpikeDecay_Private(s); /* 0 on a rank without interfaces, which others may have */
  most[1] = changes ? 1.0 : 0.0;
  most[2] = b->coupled && partition->nboost > 0 ? 1.0 : 0.0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 3, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  s->full = (PetscBool)(!(most[0] <= PCSpikeMayNeglect_Private(s)) || most[2] > 0.0 || s->coupling.exact);
  if (!s->full || most[1] == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  if (!(most[0] <= PCSpikeMayNeglect_Private(s)))
    PetscCall(PetscInfo(pc, "Spikes fall to %g of their ends only: exact coupling\n", (double)most[0]));
  else if (most[2] > 0.0)
    PetscCall(PetscInfo(pc, "Pivots of partitions were boosted: exact coupling, whose spikes are of these factors\n"));
  PetscCall(PCSpikeFullFits_Private(pc, &fits));
  if (!fits) s->full = PETSC_FALSE;
  s->info.scarce = (PetscBool)!fits;
  if (!fits || !changes) PetscFunctionReturn(PETSC_SUCCESS);
  reduced->nboost = 0;
  reduced->badrow = -1;
  PetscCall(PCSpikeFullSetUp_Private(pc, reduced));
  PetscFunctionReturn(PETSC_SUCCESS);
}
