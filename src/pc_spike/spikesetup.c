/* SPDX-License-Identifier: BSD-2-Clause */
/* spikesetup.c: PCSetUp and PCReset of PCSPIKE */
#include "spikeimpl.h"
#include "common/ordered.h"

static PetscBool  cite       = PETSC_FALSE;
static const char citation[] = "@techreport{LiSeidlNegrut2012,\n"
                               "  title       = {{SPIKE::GPU} - A {GPU}-based Banded Linear System Solver},\n"
                               "  author      = {Ang Li and Andrew Seidl and Dan Negrut},\n"
                               "  institution = {University of Wisconsin-Madison},\n"
                               "  number      = {TR-2012-04},\n"
                               "  year        = {2012}\n"
                               "}\n"
                               "@article{PolizziSameh2006,\n"
                               "  title   = {A parallel hybrid banded system solver: the {SPIKE} algorithm},\n"
                               "  author  = {Eric Polizzi and Ahmed H. Sameh},\n"
                               "  journal = {Parallel Computing},\n"
                               "  volume  = {32},\n"
                               "  number  = {2},\n"
                               "  pages   = {177--194},\n"
                               "  year    = {2006}\n"
                               "}\n";

/* All but Pmat on other ranks */
PetscErrorCode PCSpikeReset_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeMatchingReset_Private(pc));
  PetscCall(PCSpikeBorderReset_Private(pc));
  if (s->band.k) {
    const SpikeBandKernels *k = s->band.k;

    PetscCall(PCSpikeLinesDrop_Private(pc));
    if (s->dnewrow != s->newrow) PetscCall((*k->release)(&s->band, (void **)&s->dnewrow));
    PetscCall((*k->release)(&s->band, (void **)&s->dcolmap));
    PetscCall((*k->release)(&s->band, (void **)&s->permuted));
    PetscCall((*k->release)(&s->band, (void **)&s->stage));
    PetscCall(PCSpikeExchangeDestroy_Private(pc));
    PetscCall(PCSpikePeriodicDestroy_Private(pc));
    PetscCall((*k->destroy)(&s->band));
  }
  PetscCall(PCSpikeSegmentsDestroy_Private(pc));
  s->dnewrow = NULL;
  PetscCall(PetscFree2(s->band.start, s->band.active));
  PetscCall(PetscFree2(s->band.okl, s->band.oku));
  PetscCall(PCSpikeCutsReset_Private(pc));
  PetscCall(PetscFree(s->band.systems));
  PetscCall(PCSpikeBatchReset_Private(pc));
  s->shape += s->band.launches; /* which begins at zero again: the sum of both never comes back to what it was */
  PetscCall(PetscMemzero(&s->band, sizeof(s->band)));
  PetscCall(PCSpikeGraphReset_Private(pc));
  PetscCall(PetscFree(s->tried));
  PetscCall(PetscFree(s->newrow));
  PetscCall(PetscFree(s->colmap));
  PetscCall(PetscFree(s->joined));
  PetscCall(PetscFree(s->falloff));
  PetscCall(SpikeLinesReset(&s->lines.find));
  PetscCall(MatDestroy(&s->aij));
  PetscCall(PCSpikeRefineReset_Private(pc));
  s->diagonals = s->apart = PETSC_FALSE;
  s->built                = PETSC_FALSE;
  s->factored             = PETSC_FALSE;
  s->numeric              = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_Spike(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeReset_Private(pc));
  PetscCall(PCSpikeLookReset_Private(pc));
  PetscCall(PCSpikeGatherReset_Private(pc));
  PetscCall(PCSpikeResidualReset_Private(&((PC_Spike *)pc->data)->refine));
  ((PC_Spike *)pc->data)->whole = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix is of a type of ours that works on a device now, where its copy as AIJ is to be too */
PetscErrorCode PCSpikeOnDevice_Private(PC pc, PetscBool *device)
{
  PetscMemType memtype;
  PetscBool    cuda, bound;

  PetscFunctionBegin;
  PetscCall(SpikeMatGetMemType(pc->pmat, &memtype)); /* of MATBAIJCUDA */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &cuda, MATSEQDIACUDA, MATMPIDIACUDA, ""));
  PetscCall(MatBoundToCPU(pc->pmat, &bound));
  *device = (PetscBool)((cuda && !bound) || PetscMemTypeCUDA(memtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix as AIJ: itself, or a copy. *same: with reuse, whether its pattern is that of the copy before */
static PetscErrorCode PCSpikeGetAIJ_Private(PC pc, PetscBool reuse, Mat *A, PetscBool *same)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscBool aij, device;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  *A    = pc->pmat;
  *same = reuse;
  if (aij) { /* a copy is of the type that Pmat had before */
    PetscCall(MatDestroy(&s->aij));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeOnDevice_Private(pc, &device));
  PetscCall(PCFactoredConvert_Private(pc, device ? MATAIJCUSPARSE : MATAIJ, reuse, &s->aij, same));
  *A = s->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Integers that fill and permute need where the backend works: the ordering, and the columns of the off-diagonal block
*/
static PetscErrorCode PCSpikeUploadIndices_Private(PC pc, Mat A)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  SpikeBand      *b = &s->band;
  PetscBool       mpi;
  Mat             Ao;
  const PetscInt *garray;
  PetscInt        ncols;

  PetscFunctionBegin;
  if (!s->lines.k) s->dnewrow = s->newrow;
  if (PetscMemTypeHost(b->k->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->newrow && !s->lines.k) {
    PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscInt), (void **)&s->dnewrow));
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, s->dnewrow, 0, s->newrow, 0, b->n * sizeof(PetscInt), 1));
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, &garray));
    PetscCall(MatGetSize(Ao, NULL, &ncols));
    PetscCall((*b->k->alloc)(b, PetscMax(ncols, 1) * sizeof(PetscInt), (void **)&s->dcolmap));
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, s->dcolmap, 0, s->colmap ? s->colmap : garray, 0,
                              ncols * sizeof(PetscInt), 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of the band and of the rest, of this rank */
PetscErrorCode PCSpikeBytes_Private(PC pc)
{
  PC_Spike       *s  = (PC_Spike *)pc->data;
  const PetscReal kl = (PetscReal)s->band.kl, ku = (PetscReal)s->band.ku;

  PetscFunctionBegin;
  PetscCall((*s->band.k->bytes)(&s->band, &s->info.bytes, &s->info.extra_bytes));
  s->info.extra_bytes += PCSpikePeriodicBytes_Private(s);
  if (s->matching.active) { /* on a device the scaled values are there too */
    MatInfo info = {0};

    if (!PetscMemTypeHost(s->band.k->memtype)) PetscCall(MatGetInfo(s->aij ? s->aij : pc->pmat, MAT_LOCAL, &info));
    s->info.extra_bytes += info.nz_used * (PetscReal)sizeof(PetscScalar) +
                           s->band.n * (PetscReal)(3 * sizeof(PetscInt) + 2 * sizeof(PetscReal));
  }
  if (s->border.T) PetscCall(PCSpikeBorderBytes_Private(pc, &s->info.extra_bytes));
  s->info.extra_bytes += s->refine.sums.bytes;
  s->info.tips_bytes = 0.0;
  if (s->band.coupled)
    s->info.tips_bytes = sizeof(PetscScalar) * (s->band.np + 1.0) * (kl * kl + 2.0 * ku * ku + 2.0 * kl * ku);
  if (s->band.full)
    s->info.tips_bytes += sizeof(PetscScalar) * (s->band.np + 1.0) * (kl * kl + ku * ku + (kl + ku) * (kl + ku));
  if (s->band.full && PetscMemTypeHost(s->band.k->memtype)) {
    const PetscReal segments = PCSpikeSegmentsBytes_Private(pc);

    s->info.extra_bytes += segments;
    s->info.tips_bytes += segments;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the band that was chosen is wider than the kernels of the backend have it, on some rank, or they exchange no
  rows and are to: then it is the host's, which has all and copies matrix and vectors
*/
static PetscErrorCode PCSpikeTooWide_Private(PC pc, PetscBool *wide)
{
  PC_Spike *s     = (PC_Spike *)pc->data;
  PetscBool holds = PETSC_TRUE, all;

  PetscFunctionBegin;
  PetscCall(PCSpikePivotingChoose_Private(pc, wide));
  if (*wide) s->band.k = SpikeBandKernelsFind(PETSC_MEMTYPE_HOST);
  if (*wide) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->band.k->holds) PetscCall((*s->band.k->holds)(&s->band, &holds));
  PetscCallMPI(MPIU_Allreduce(&holds, &all, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  *wide = (PetscBool)!all;
  if (all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc,
                      "Half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                      " are larger than the kernels of %s have on this device: factors and solves are on the host\n",
                      s->band.kl, s->band.ku, s->band.k->name));
  s->band.k = SpikeBandKernelsFind(PETSC_MEMTYPE_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Backend, band and partitions from the pattern, and from which entries are zero. Of a MATDIA from the sums along its
  diagonals, where these suffice. Else the host looks at the matrix as AIJ. On return *A is the matrix for the fill:
  that AIJ matrix, or Pmat where the fill reads its diagonals, as it does too where AIJ was searched for an ordering and
  the natural one was kept.
*/
static PetscErrorCode PCSpikeChoose_Private(PC pc, Mat *A)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  const SpikeDIA *dia;
  SpikeCSR        parts[2];
  PetscInt        nparts;
  PetscMemType    memtype;
  PetscBool       same;
  Mat             B; /* that which is factored */

  PetscFunctionBegin;
  s->wide           = PETSC_FALSE;
  s->look.covers    = PETSC_FALSE;
  s->precision      = s->wish.target;
  s->band.precision = s->precision;
  s->band.maxrhs    = 1;
  s->band.window    = s->window;
  PetscCall(PCSpikeGetDIA_Private(pc, &dia));
  if (dia && s->matching.type != PC_SPIKE_MATCHING_ALWAYS && s->matching.wanted != PETSC_BOOL3_TRUE) {
    s->band.k = SpikeBandKernelsFind(dia->k->memtype);
    PetscCall(PCSpikeDIAChooseBand_Private(pc, dia, &s->diagonals));
    if (s->diagonals) PetscCall(PCSpikeWishChoose_Private(pc));
    if (s->diagonals) PetscCall(PCSpikeCholeskyChoose_Private(pc));
    if (s->diagonals) PetscCall(PCSpikeTooWide_Private(pc, &s->wide));
    if (s->wide) s->diagonals = PETSC_FALSE;
    if (s->diagonals) {
      PetscCall(PCSpikePlan_Private(pc, 0, NULL, dia));
      if (s->gather.again) PetscFunctionReturn(PETSC_SUCCESS);
      PetscCall(PCSpikeDIAFindSystems_Private(pc, dia));
      PetscCall(PCSpikeOwnBands_Private(pc, NULL, 0, NULL, dia));
    }
  }
  if (!s->diagonals) {
    if (!*A) PetscCall(PCSpikeGetAIJ_Private(pc, PETSC_FALSE, A, &same));
    PetscCall(SpikeMatGetMemType(*A, &memtype));
    s->band.k = SpikeBandKernelsFind(memtype);
    if (!s->band.k) s->band.k = SpikeBandKernelsFind(PETSC_MEMTYPE_HOST);
    B = *A;
    PetscCall(PCSpikeBorderChooseBand_Private(pc, &B));
    if (s->border.T) *A = s->border.T;
    PetscCall(PCSpikeWishChoose_Private(pc));
    PetscCall(PCSpikeCholeskyChoose_Private(pc));
    PetscCall(PCSpikeTooWide_Private(pc, &s->wide));
    PetscCall(PCSpikeLookCovers_Private(pc, B));
    nparts = 0; /* a look on a device says all that is asked for */
    if (!s->look.covers || !s->look.device) PetscCall(PCSpikeGetCSR_Private(pc, B, PETSC_MEMTYPE_HOST, &nparts, parts));
    PetscCall(PCSpikeExpectFalloff_Private(pc, B->rmap->n, PETSC_FALSE, nparts, parts));
    PetscCall(PCSpikePlan_Private(pc, nparts, parts, NULL));
    if (!s->gather.again) PetscCall(PCSpikeFindSystems_Private(pc, nparts, parts));
    if (!s->gather.again) {
      s->diagonals = (PetscBool)(dia && !s->info.reordered && !s->matching.active && !s->border.T && !s->cyclic.found &&
                                 dia->k->memtype == s->band.k->memtype);
      PetscCall(PCSpikeOwnBands_Private(pc, B, nparts, parts, s->diagonals ? dia : NULL));
    }
    if (nparts) PetscCall(PCSpikeRestoreCSR_Private(pc, B, PETSC_MEMTYPE_HOST, &nparts, parts));
    PetscCall(MatDestroy(&s->matching.B)); /* fills go by permutation and scales */
    if (s->gather.again) PetscFunctionReturn(PETSC_SUCCESS);
    if (s->matching.active && s->colmap) PetscCall(PCSpikePlaces_Private(pc, *A));
  }
  if (s->diagonals) {
    PetscCall(MatDestroy(&s->aij));
    *A = pc->pmat;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all ranks can hold the band that was chosen, truncated where exact coupling is too large for them */
static PetscErrorCode PCSpikeFits_Private(PC pc, PetscReal *needed, PetscReal *memory, PetscBool *fits)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  s->band.full = (PetscBool)(s->full && s->band.coupled);
  PetscCall(PCSpikeBytes_Private(pc));
  s->info.map_bytes = 0.0;
  PetscCall((*s->band.k->memory)(memory));
  PetscCall(PCFactoredFits_Private(pc, s->band.k->memtype, s->info.bytes + s->info.extra_bytes, *memory, needed, fits));
  if (!*fits && s->type == PC_SPIKE_AUTO && s->full) {
    PetscCall(PetscInfo(pc, "Exact coupling needs %g GB, more than is free: truncated\n", (double)(*needed * 1e-9)));
    s->full = s->band.full = PETSC_FALSE;
    PetscCall(PCSpikeBytes_Private(pc));
    PetscCall(
      PCFactoredFits_Private(pc, s->band.k->memtype, s->info.bytes + s->info.extra_bytes, *memory, needed, fits));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A limit for a band that does not fit, by the share of its memory that there is; *narrower: false where the band is the
  narrowest that is worth it, where the user has chosen it, and where the factors are to be the matrix's
*/
static PetscErrorCode PCSpikeNarrow_Private(PC pc, PetscReal needed, PetscReal memory, PetscBool *narrower)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  const PetscInt K = PetscMax(s->band.kl, s->band.ku);
  PetscReal      least;

  PetscFunctionBegin;
  *narrower = (PetscBool)(s->maxband == PETSC_DECIDE && s->givenkl == PETSC_DECIDE && K > 1 &&
                          s->refine.direct != PETSC_BOOL3_TRUE);
  if (!*narrower) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(&memory, &least, 1, MPIU_REAL, MPIU_MIN, PetscObjectComm((PetscObject)pc)));
  s->limit = PetscMax(1, (PetscInt)(0.75 * PetscMin(1.0, least / needed) * K)); /* others need memory too */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From scratch, except for the converted matrix */
static PetscErrorCode PCSpikeRestart_Private(PC pc)
{
  PC_Spike *s    = (PC_Spike *)pc->data;
  Mat       keep = s->aij;

  PetscFunctionBegin;
  s->aij = NULL;
  PetscCall(PCSpikeReset_Private(pc));
  s->aij = keep;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All that stays while the pattern does. *fits: false on all ranks where one cannot hold its band; *again: the other way
  of a matching may, or rows have to be gathered first
*/
static PetscErrorCode PCSpikeSymbolic_Private(PC pc, Mat *A, PetscBool *fits, PetscBool *again)
{
  PC_Spike   *s   = (PC_Spike *)pc->data;
  const char *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscReal   memory, needed;
  PetscBool   narrower;

  PetscFunctionBegin;
  s->limit = s->maxband >= 0 ? s->maxband : PETSC_INT_MAX;
  for (;;) {
    PetscCall(PCSpikeChoose_Private(pc, A));
    *again = s->gather.again;
    *fits  = (PetscBool) !*again;
    if (*again) s->again = SPIKE_AGAIN_GATHER;
    if (*again) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PCSpikeFits_Private(pc, &needed, &memory, fits));
    if (*fits) break;
    PetscCall(PCSpikeNarrow_Private(pc, needed, memory, &narrower));
    if (!narrower) break;
    if (s->diagonals || s->border.T) *A = NULL;
    PetscCall(PCSpikeRestart_Private(pc));
  }
  if (!*fits) {
    PetscCall(PCSpikeMatchingReject_Private(pc, again));
    if (!*again) PetscCall(PCSpikeTrialReject_Private(pc, again));
    if (*again) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(
      PCFactoredFail_Private(pc, PC_FACTOR_OUTMEMORY, PETSC_ERR_MEM,
                             "A band of half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " in %" PetscInt_FMT
                             " rows needs %g GB on one %s, more than is free there: use -%spc_spike_bandwidth or "
                             "-%spc_spike_dropoff for a narrower band, an ordering that narrows it, or more nodes",
                             s->band.kl, s->band.ku, pc->pmat->rmap->N, (double)(needed * 1e-9),
                             PetscMemTypeHost(s->band.k->memtype) ? "node" : "device", pre, pre));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeInfoWrongTool_Private(pc));
  PetscCall((*s->band.k->begin)(&s->band));
  PetscCall((*s->band.k->create)(&s->band));
  PetscCall(PCSpikeUploadIndices_Private(pc, *A));
  PetscCall(PCSpikeMatchingUpload_Private(pc));
  PetscCall(PCSpikeBorderCreate_Private(pc));
  if (s->info.reordered || s->matching.active)
    PetscCall((*s->band.k->alloc)(&s->band, s->band.n * sizeof(PetscScalar), (void **)&s->permuted));
  PetscCall((*s->band.k->end)(&s->band));
  PetscCall(PetscCalloc1(2 * (s->band.np + 1), &s->falloff));
  PetscCall(PCSpikeExchangeCreate_Private(pc));
  PetscCall(PCSpikePeriodicCreate_Private(pc));
  /* those of the algorithm that was chosen */
  if (s->band.nsystems || s->cyclic.found) PetscCall(PCSpikeBytes_Private(pc));
  s->built   = PETSC_TRUE;
  s->natural = PETSC_TRUE;
  s->shape++;
  s->info.rebuilds++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Fills the band, and takes sums and maxima over all ranks of what fill saw. Rows become global; a row that no rank
  reports is -1. late (one rank only): fill is enqueued and st is valid after finish(). No reduction is needed then,
  because the rank's row numbers are the global ones.
*/
static PetscErrorCode PCSpikeFill_Private(PC pc, Mat A, PetscBool late, SpikeFillStats *st)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);
  PetscReal       sum[2], max[8];
  SpikeCSR        parts[2], split[2];
  PetscInt        nparts;
  const PetscBool work   = (PetscBool)(!SpikeFaulty(SPIKE_FAULT_STALE_FILL) || !pc->setupcalled);
  const SpikeDIA *dia    = NULL;
  const PetscInt  rstart = pc->pmat->rmap->rstart; /* of a band beside a border too: it has all rows here, or none */

  PetscFunctionBegin;
  st->weak = -1;
  PetscCall(PetscLogEventBegin(PC_Spike_Fill, pc, 0, 0, 0));
  if (s->diagonals) PetscCall(PCSpikeGetDIA_Private(pc, &dia));
  else PetscCall(PCSpikeGetCSR_Private(pc, A, s->band.k->memtype, &nparts, parts));
  PetscCall((*s->band.k->begin)(&s->band));
  s->band.late = (PetscBool)(late && !s->cyclic.found && !s->matching.active); /* these have pieces for a while */
  if (dia) {
    if (work) PetscCall((*s->band.k->filldia)(&s->band, dia, st));
  } else {
    PetscCall(PCSpikePeriodicSplit_Private(pc, nparts, parts, split));
    PetscCall(PCSpikeMatchingScale_Private(pc, A, nparts, split));
    if (work) PetscCall((*s->band.k->fill)(&s->band, nparts, split, s->dnewrow, st));
  }
  if (s->band.k->finish && !late) PetscCall((*s->band.k->finish)(&s->band));
  PetscCall((*s->band.k->end)(&s->band));
  if (s->matching.active && PetscMemTypeHost(s->band.k->memtype)) s->matching.norm = st->unscaled;
  if (!dia) PetscCall(PCSpikeRestoreCSR_Private(pc, A, s->band.k->memtype, &nparts, parts));
  PetscCall(PetscLogEventEnd(PC_Spike_Fill, pc, 0, 0, 0));
  if (late) PetscFunctionReturn(PETSC_SUCCESS);
  sum[0] = st->sum;
  sum[1] = st->dropped;
  max[0] = st->norm;
  max[1] = st->maxdropped;
  /*
    the first bad row of all, by the largest negative: exact for row numbers up to 2^53, and 2^24 in single precision
  */
  max[2] = st->badrow < 0 ? PETSC_MIN_REAL : -(PetscReal)(st->badrow + rstart);
  max[3] = st->overflowrow < 0 ? PETSC_MIN_REAL : -(PetscReal)(st->overflowrow + rstart);
  max[4] = st->zerorow < 0 ? PETSC_MIN_REAL : -(PetscReal)(st->zerorow + rstart);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, comm));
  max[5] = st->joined < 0 ? PETSC_MIN_REAL : -(PetscReal)(st->joined + rstart);
  max[6] = s->matching.norm;
  max[7] = (PetscReal)st->weak;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 8, MPIU_REAL, MPIU_MAX, comm));
  st->sum         = sum[0];
  st->dropped     = sum[1];
  st->norm        = max[0];
  st->maxdropped  = max[1];
  st->badrow      = max[2] == PETSC_MIN_REAL ? -1 : (PetscInt)-max[2];
  st->overflowrow = max[3] == PETSC_MIN_REAL ? -1 : (PetscInt)-max[3];
  st->zerorow     = max[4] == PETSC_MIN_REAL ? -1 : (PetscInt)-max[4];
  st->joined      = max[5] == PETSC_MIN_REAL ? -1 : (PetscInt)-max[5];
  if (s->matching.active) s->matching.norm = max[6];
  st->weak = (PetscInt)max[7];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is known of a new pattern */
static void PCSpikeForget_Private(PC_Spike *s)
{
  PCSpikeMatchingForget_Private(s);
  PCSpikeLoneForget_Private(s);
  PCSpikeBorderForget_Private(s);
  PCSpikeTrialForget_Private(s);
  PCSpikeCouplingForget_Private(s);
  PCSpikeRefineForget_Private(s);
  s->batch.whole = PETSC_FALSE;
}

/*
  Whether what the last setup made can be used again, the same on all ranks; else it is gone. *A: the matrix, NULL where
  PCSpikeChoose_Private() has to get it
*/
static PetscErrorCode PCSpikeBegin_Private(PC pc, PetscBool *reuse, Mat *A)
{
  PC_Spike    *s = (PC_Spike *)pc->data;
  PetscBool    same, device;
  PetscInt     bad[2];
  PetscMemType memtype;

  PetscFunctionBegin;
  *A = NULL;
  if (*reuse && s->diagonals) {
    const SpikeDIA *dia;

    PetscCall(PCSpikeGetDIA_Private(pc, &dia));
    if (!dia || dia->k->memtype != s->band.k->memtype) *reuse = PETSC_FALSE;
  } else if (*reuse) { /* after MatBindToCPU() the matrix may need another backend */
    PetscCall(SpikeMatGetMemType(s->aij ? s->aij : pc->pmat, &memtype));
    if (!s->wide && SpikeBandKernelsFind(memtype) && SpikeBandKernelsFind(memtype) != s->band.k) *reuse = PETSC_FALSE;
    if (s->aij) { /* the copy is to be where its matrix is now */
      PetscCall(PCSpikeOnDevice_Private(pc, &device));
      if (PetscMemTypeHost(memtype) == device) *reuse = PETSC_FALSE;
    }
  }
  PetscCall(PCFactoredAgree_Private(pc, reuse)); /* each rank has looked at its own nonzero state */
  if (!*reuse && (s->again == SPIKE_AGAIN_NOT || s->again == SPIKE_AGAIN_PRECISION)) PCSpikeForget_Private(s);
  s->matching.trying = (PetscBool)(s->again == SPIKE_AGAIN_MATCHING);
  same               = (PetscBool)(s->again == SPIKE_AGAIN_MATCHING || s->again == SPIKE_AGAIN_TRIAL ||
                     s->again == SPIKE_AGAIN_PRECISION);
  s->again           = SPIKE_AGAIN_NOT;
  if (!*reuse) {
    if (same && s->aij) { /* of the same values */
      PetscCall(PCSpikeRestart_Private(pc));
      *A = s->aij;
    } else PetscCall(PCSpikeReset_Private(pc));
    bad[0] = pc->pmat->rmap->n != pc->pmat->cmap->n;
    PetscCallMPI(MPIU_Allreduce(&bad[0], &bad[1], 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    PetscCheck(!bad[1], PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
               "PCSPIKE needs as many local rows as local columns on each rank");
  } else if (s->diagonals) *A = pc->pmat;
  else {
    PetscCall(PCSpikeGetAIJ_Private(pc, PETSC_TRUE, A, &same));
    if (!same) {
      *reuse = PETSC_FALSE;
      PCSpikeForget_Private(s);
      PetscCall(PCSpikeRestart_Private(pc));
    } else {
      const Mat P = *A;

      PetscCall(PCSpikeBorderRefill_Private(pc, A));
      PetscCall(PCSpikeMatchingRefill_Private(pc, *A, reuse));
      if (!*reuse) {
        PCSpikeForget_Private(s);
        PetscCall(PCSpikeRestart_Private(pc));
        *A = P;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What goes on top of the factors of the band, and what they say. *again: once more, another way */
static PetscErrorCode PCSpikeAfter_Private(PC pc, PetscBool reuse, const SpikeFillStats *st, PCSpikePivots *pivots,
                                           PetscBool *again)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeWishAfter_Private(pc, reuse, st, pivots, again));
  if (*again) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->cyclic.found) PetscCall(PCSpikePeriodicFactor_Private(pc, pivots->reduced.tol, pivots->reduced.boost));
  PetscCall(PCSpikeBorderFactor_Private(pc, &pivots->partition, &pivots->reduced, again));
  if (!*again) PetscCall(PCSpikeBatchAfter_Private(pc, &pivots->partition, again));
  if (!*again) PetscCall(PCSpikeMatchingAfter_Private(pc, reuse, pivots, again));
  if (!*again) PetscCall(PCSpikeLoneAfter_Private(pc, reuse, &pivots->partition, again));
  if (!*again) PetscCall(PCSpikeCouplingAfter_Private(pc, reuse, st, pivots, again));
  if (!*again) PetscCall(PCSpikeTrialAfter_Private(pc, reuse, st, pivots, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *again: once more, because pivots have asked for another way */
static PetscErrorCode PCSpikeSetUp_Private(PC pc, PetscBool *again)
{
  PC_Spike   *s     = (PC_Spike *)pc->data;
  const char *pre   = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool   reuse = (PetscBool)(s->built && pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN), fits = PETSC_TRUE;
  Mat         A;
  PetscMPIInt size;
  SpikeFillStats st = {0.0, 0.0, 0.0, 0.0, -1, -1, -1, -1, 0.0, -1};
  PCSpikePivots  pivots;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  PetscCheck(pc->pmat->rmap->N == pc->pmat->cmap->N, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "PCSPIKE needs a square matrix, this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns",
             pc->pmat->rmap->N, pc->pmat->cmap->N);
  PetscCall(PCFactoredBegin_Private(pc));
  s->info.boosted = s->info.cornerboosted = 0;
  PetscCall(PCSpikeRefineBegin_Private(pc));
  PetscCall(PCSpikeLinesBegin_Private(pc, &reuse));
  PetscCall(PCSpikeWishBegin_Private(pc, &reuse));
  PetscCall(PCSpikeCholeskyBegin_Private(pc, &reuse));
  PetscCall(PCSpikeBegin_Private(pc, &reuse, &A));
  PetscCall(PCSpikeCholeskyCheck_Private(pc, &fits));
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  for (;; reuse = PETSC_FALSE) {
    PetscBool late, joined = PETSC_FALSE; /* periodic systems, which other entries couple now */

    if (!reuse) {
      PetscCall(PetscLogEventBegin(PC_Spike_Symbolic, pc, 0, 0, 0));
      PetscCall(PCSpikeSymbolic_Private(pc, &A, &fits, again));
      PetscCall(PetscLogEventEnd(PC_Spike_Symbolic, pc, 0, 0, 0));
      if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
    }
    /* on one rank the host waits once, after the factorization, and looks then at what fill saw */
    late = (PetscBool)(size == 1 && s->band.k->finish);
    PetscCall(PCSpikeFill_Private(pc, A, late, &st));
    if (!reuse) {
      const PetscReal before = s->info.extra_bytes;

      PetscCall(PCSpikeBytes_Private(pc)); /* with what the first fill keeps of the pattern */
      s->info.map_bytes = s->info.extra_bytes - before;
    }
    if (late) PetscCall(PCSpikeNumeric_Private(pc, late, &st, &pivots));
    s->info.dropped = st.sum > 0.0 ? st.dropped / st.sum : 0.0;
    if (!reuse) {
      PetscCheck(!s->band.cut || st.joined < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Row %" PetscInt_FMT " couples two partitions, between which a search found no entry", st.joined);
      s->crossing = s->info.dropped;
      if (s->apart)
        PetscCall(
          PetscInfo(pc, "Couplings between ranks outside the band: share %g of sum |a_ij|\n", (double)s->info.dropped));
      break;
    }
    PetscCall(PCSpikePeriodicJoined_Private(pc, &joined));
    if (PCSpikeBandHolds_Private(s, &st, joined)) {
      s->info.refills++;
      s->natural = PETSC_FALSE;
      break;
    }
    { /* a decision taken from values no longer holds */
      if (joined)
        PetscCall(PetscInfo(pc, "Periodic systems are coupled to other rows, which they were not for earlier values: "
                                "choosing again\n"));
      else if (st.joined >= 0)
        PetscCall(
          PetscInfo(pc,
                    "Row %" PetscInt_FMT
                    " couples two systems, or partitions, that were independent for earlier values: choosing again\n",
                    st.joined));
      else
        PetscCall(
          PetscInfo(pc,
                    "Entries of magnitude %g lie outside the band that was chosen for earlier values: choosing again\n",
                    (double)st.maxdropped));
      PCSpikeTrialLeave_Private(s);
      *again = s->gather.leaves;
      if (*again) PetscFunctionReturn(PETSC_SUCCESS);
      if (s->diagonals || s->border.T) A = NULL;
      PCSpikeForget_Private(s);
      PetscCall(PCSpikeRestart_Private(pc));
    }
  }
  if (s->border.T && s->border.badrow >= 0) st.badrow = s->border.badrow;
  s->refine.norm = s->border.T ? s->border.norm : s->matching.active ? s->matching.norm : st.norm;
  if (st.badrow < 0 && st.overflowrow >= 0) {
    PetscCall(PCSpikeWishReject_Private(pc, "an entry is too large", again));
    if (!*again) PetscCall(PCSpikeMatchingReject_Private(pc, again));
    if (*again) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (st.badrow >= 0) {
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_FP,
                                     "Row %" PetscInt_FMT
                                     " of the matrix has an entry that is not a number or infinite: look at what fills "
                                     "the matrix (-fp_trap, -%sksp_view_mat)",
                                     st.badrow, pre));
  } else if (st.overflowrow >= 0) {
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_FP,
                                     "Row %" PetscInt_FMT " of the matrix has an entry too large for factors in %s "
                                     "precision: scale the matrix or use -%spc_spike_precision %s",
                                     st.overflowrow, PetscSpikePrecisionNames[s->precision], pre,
                                     s->precision == PETSC_SPIKE_PRECISION_FP16 ? "bf16 or single" : "double"));
  } else {
    if (size > 1 || !s->band.k->finish) PetscCall(PCSpikeNumeric_Private(pc, PETSC_FALSE, &st, &pivots));
    PetscCall(PCSpikeAfter_Private(pc, reuse, &st, &pivots, again));
    if (*again) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PCSpikeJudge_Private(pc, pc->pmat, &st, &pivots));
    PetscCall(PCSpikeBorderJudge_Private(pc));
    if (s->band.full) PetscCall(PCSpikeBytes_Private(pc)); /* PC_SPIKE_AUTO may have decided after that */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetUpOrdered_Private(PC pc)
{
  PetscBool      first = PETSC_TRUE, again, entered;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  do {
    PetscCall(PCSpikeGatherBegin_Private(pc, first));
    entered = PCSpikeGatherEnter_Private(pc);
    ierr    = PCSpikeSetUp_Private(pc, &again);
    PCSpikeGatherLeave_Private(pc, entered);
    PetscCall(ierr);
    if (!again) {
      PetscCall(PCSpikeLookReset_Private(pc));
      PetscCall(PCSpikeRefineVerify_Private(pc, &again));
    }
    if (again) ((PC_Spike *)pc->data)->built = PETSC_FALSE; /* what there is goes when the next one begins */
    first = PETSC_FALSE;
  } while (again);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetUp_Spike(PC pc)
{
  SpikeOrdered   ordered;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(citation, &cite));
  PetscCall(PCSpikeWishLook_Private(pc));
  PetscCall(SpikeOrderedBeginMat(pc->pmat, &ordered));
  ierr = PCSpikeSetUpOrdered_Private(pc);
  PetscCall(SpikeOrderedEnd(&ordered));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
