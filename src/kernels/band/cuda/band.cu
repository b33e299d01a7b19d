/* SPDX-License-Identifier: BSD-2-Clause */
/* band.cu: the CUDA backend: its table, memory, stream and number of partitions */
#include "fill.cuh"
#include "kernels/common/cuda/nccl.cuh"
#include "kernels/tridiagonal/tridiagonal.h"

/* Shape of the tiles from the shape of the band; start and active are set by create() */
static void SpikeTilesShape_Private(const SpikeBand *s, SpikeTiles *t)
{
  const int K = (int)PetscMax(s->kl, s->ku), tiles = (K + 31) / 32;
  PetscInt  longest = 0;

  for (PetscInt p = 0; p < s->np; p++) longest = PetscMax(longest, s->start[p + 1] - s->start[p]);
  t->n  = s->n;
  t->np = s->np;
  t->kl = (int)s->kl;
  t->ku = (int)s->ku;
  t->T  = K ? (K + tiles - 1) / tiles : 1;
  if (t->T > 10) t->T = (t->T + 1) / 2 * 2; /* loads of two rows; at most a tenth more bytes */
  t->QL    = (t->kl + t->T - 1) / t->T;
  t->QU    = (t->ku + t->T - 1) / t->T;
  t->G     = 1;
  t->start = t->active = NULL;
  t->own               = NULL;
  if (t->T <= 16) { /* as many partitions a warp as leave at most a tenth of the places of the last group empty */
    for (int g = 2; g <= 32 / t->T; g++)
      if (10 * ((s->np + g - 1) / g) * g <= 11 * s->np) t->G = g;
  }
  t->tilerows = (int)((longest + t->T - 1) / t->T);
  t->rowsize  = (PetscInt64)t->G * t->T * ((t->QL + t->QU) * t->T + 1);
  if (t->T > 16) t->rowsize = (t->rowsize + 7) / 8 * 8;
}

/* The same from half-bandwidths alone, of no partition */
static void SpikeTilesOf_Private(PetscInt kl, PetscInt ku, SpikeTiles *t)
{
  SpikeBand shape = {};

  shape.kl = kl;
  shape.ku = ku;
  SpikeTilesShape_Private(&shape, t);
}

static PetscErrorCode SpikeHolds_CUDA(const SpikeBand *s, PetscBool *holds)
{
  const SpikeDevice *gpu;
  SpikeTiles         t;
  SpikeBand          shape = {};

  PetscFunctionBegin;
  shape.kl        = s->kl;
  shape.ku        = s->ku;
  shape.precision = s->precision;
  *holds          = PETSC_FALSE;
  if (PetscMax(s->kl, s->ku) > SPIKE_CUDA_MAX_BANDWIDTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeDeviceGet(&gpu));
  SpikeTilesShape_Private(&shape, &t);
  if (s->pivoting) {
    PetscCall(SpikePivotedHolds_CUDA(&shape, &t, gpu, holds));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeSweepHolds_CUDA(&shape, &t, gpu, holds));
  if (!SpikeFactorHolds_CUDA(&t, gpu) || !SpikeTipsHold_CUDA(&shape, &t, gpu)) *holds = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t SpikeElement_Private(const SpikeBand *s)
{
  return SpikePrecisionBytes(s->precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
}

/* What SpikeCUDA.room has, in bytes; where spike begins in it, and its elements */
static size_t SpikeRoom_Private(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, size_t *after,
                                PetscInt64 *spike, int *blocks)
{
  size_t scratch;

  if (s->nsystems || s->nbatch) {
    scratch = 0;
    *spike  = 0;
    *blocks = 0;
  } else SpikeTipsWork_CUDA(s, t, gpu, spike, &scratch, blocks);
  *after = (PetscMax(scratch, SpikeFillScratch_CUDA(t)) + 255) / 256 * 256;
  return PetscMax(*after + (size_t)*spike * sizeof(PetscScalar),
                  s->coupled ? (size_t)s->maxrhs * (size_t)s->n * sizeof(PetscScalar) : 0);
}

static PetscErrorCode SpikeBytes_CUDA(const SpikeBand *s, PetscReal *band, PetscReal *extra)
{
  const PetscReal    kl = (PetscReal)s->kl, ku = (PetscReal)s->ku;
  const SpikeDevice *gpu;
  SpikeTiles         t;
  PetscInt64         spike;
  size_t             room, after;
  int                blocks;

  PetscFunctionBegin;
  PetscCheck(PetscMax(s->kl, s->ku) <= SPIKE_CUDA_MAX_BANDWIDTH, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, s->kl, s->ku);
  PetscCall(SpikeDeviceGet(&gpu));
  SpikeTilesShape_Private(s, &t);
  *band  = s->nsystems ? 0.0 : (PetscReal)SpikeElement_Private(s) * t.groups() * t.tilerows * (PetscReal)t.rowsize;
  room   = SpikeRoom_Private(s, &t, gpu, &after, &spike, &blocks);
  *extra = (PetscReal)room + sizeof(PetscInt) * 3.0 * (s->np + 1.0) + (s->okl ? sizeof(int) * 2.0 * s->np : 0.0) +
           (PetscReal)SpikeReportBytes_CUDA(s->np, blocks) + sizeof(double) * (2.0 * s->np + 1.0) +
           SPIKE_BAND_AFTER * (PetscReal)SpikeElement_Private(s);
  if (s->cut) *extra += sizeof(PetscScalar) * (s->np + 1.0) * (kl * kl + ku * ku);
  if (s->coupled) {
    *extra += sizeof(PetscScalar) * ((s->np + 1.0) * (kl * kl + 2.0 * ku * ku + 2.0 * kl * ku + s->maxrhs * (kl + ku)));
    *extra += sizeof(PetscBLASInt) * (s->np + 1.0) * ku;
    if (s->full)
      *extra += sizeof(PetscScalar) * (s->np + 1.0) *
                (ku * ku + kl * kl + 3.0 * (kl + ku) * (kl + ku) + s->maxrhs * (kl + ku));
  }
  if (s->nsystems || s->nbatch) {
    PetscReal rest;

    if (s->nbatch) PetscCall(SpikeBatchBytesSystems(s, band, &rest));
    else PetscCall(SpikeTriBytesSystems_CUDA(s, band, &rest));
    *extra += rest - SPIKE_BAND_AFTER * (PetscReal)SpikeElement_Private(s);
  }
  if (SpikeBandExchanges(s)) {
    PetscReal factors, windows;

    PetscCall(SpikePivotedBytes_CUDA(s, &t, gpu, &factors, &windows));
    *extra += *band + windows; /* the raw band, which stays */
    *band = factors;
  }
  if (s->data) *extra += ((const SpikeCUDA *)s->data)->map.bytes; /* known after the first fill */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The new memory first: where there is none, the band works on as it was */
static PetscErrorCode SpikeReserve_CUDA(SpikeBand *s, PetscInt maxrhs)
{
  SpikeCUDA     *h      = (SpikeCUDA *)s->data;
  const PetscInt before = s->maxrhs;
  size_t         after, size;
  char          *room = NULL;
  PetscScalar   *tips = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  s->maxrhs = maxrhs;
  size      = SpikeRoom_Private(s, &h->t, h->gpu, &after, &h->spikesize, &h->blocks);
  s->maxrhs = before;
  PetscCall(SpikeMalloc_CUDA((PetscCount)size, &room));
  if (s->coupled) {
    /* with full, what comes of them after */
    ierr = SpikeCalloc_CUDA((s->full || s->dmerged ? 2 : 1) * (PetscCount)maxrhs * (s->np + 1) * (s->kl + s->ku),
                            (cudaStream_t)s->stream, &tips);
    if (ierr) (void)cudaFree(room);
    PetscCall(ierr);
  }
  PetscCall(SpikeFree_CUDA(h->room, s->dtips));
  s->maxrhs   = maxrhs;
  h->room     = room;
  h->roomsize = size;
  h->roomfull = s->full;
  h->scratch  = room;
  h->work = s->dwork = s->coupled ? (PetscScalar *)room : NULL;
  h->spike           = s->coupled ? (PetscScalar *)(room + after) : NULL;
  s->dtips           = tips;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tile: with one on a side, or with row exchanges, there is nothing to leave out */
static PetscInt SpikeOwns_CUDA(const SpikeBand *s)
{
  SpikeTiles t;

  SpikeTilesOf_Private(s->kl, s->ku, &t);
  return s->pivoting || (t.QL <= 1 && t.QU <= 1) ? 0 : t.T;
}

/* SpikeTiles.own, where half-bandwidths of partitions leave out tiles of several: those of one tile have no other */
static PetscErrorCode SpikeOwnTiles_Private(const SpikeBand *s, SpikeCUDA *h, cudaStream_t stream)
{
  const SpikeTiles *t = &h->t;
  int              *own;

  PetscFunctionBegin;
  if (!s->okl) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(2 * s->np, &own));
  for (PetscInt p = 0; p < s->np; p++) {
    own[2 * p]     = PetscMin(t->QL, PetscMax(1, (int)((s->okl[p] + t->T - 1) / t->T)));
    own[2 * p + 1] = PetscMin(t->QU, PetscMax(1, (int)((s->oku[p] + t->T - 1) / t->T)));
  }
  PetscCall(SpikeMallocCopy_CUDA(2 * s->np, own, stream, &h->owntiles));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(own));
  h->t.own = h->owntiles;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the device known to PETSc, which starts it when asked for the first time */
static PetscErrorCode SpikeStream_Private(void **stream)
{
  cudaStream_t current;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&current));
  *stream = (void *)current;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCreate_CUDA(SpikeBand *s)
{
  const PetscInt   np = s->np;
  const PetscCount kl = s->kl, ku = s->ku;
  PetscInt        *active;
  SpikeCUDA       *h;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(SpikeStream_Private(&s->stream));
  PetscCall(PetscNew(&h));
  s->data = h;
  PetscCall(SpikeDeviceGet(&h->gpu));
  SpikeTilesShape_Private(s, &h->t);
  h->correctrows = h->t.tilerows;
  stream         = (cudaStream_t)s->stream;
  PetscCall(PetscMalloc1(2 * (np + 1), &active));
  for (PetscInt q = 0; q <= np; q++) {
    active[q]          = s->active[q] ? 1 : 0;
    active[np + 1 + q] = active[q] || (s->cut && q > 0 && q < np) ? 1 : 0;
  }
  PetscCall(SpikeMallocCopy_CUDA(np + 1, s->start, stream, &h->dstart));
  PetscCall(SpikeMallocCopy_CUDA(2 * (np + 1), active, stream, &h->dactive));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(active));
  h->t.start  = h->dstart;
  h->t.active = h->dactive;
  PetscCall(SpikeOwnTiles_Private(s, h, stream));
  if (s->nsystems) PetscCall(SpikeTriCreateSystems_CUDA(s));
  else if (s->nbatch) PetscCall(SpikeBatchCreateSystems(s, &h->batch));
  else {
    h->elements = h->t.groups() * h->t.tilerows * h->t.rowsize;
    PetscCall(
      SpikeMalloc_CUDA((PetscCount)((h->elements + SPIKE_BAND_AFTER) * SpikeElement_Private(s)), (char **)&s->band));
    PetscCallCUDA(cudaMemsetAsync((char *)s->band + h->elements * SpikeElement_Private(s), 0,
                                  SPIKE_BAND_AFTER * SpikeElement_Private(s), stream));
  }
  PetscCall(SpikeReserve_CUDA(s, s->maxrhs));
  h->reportsize = SpikeReportBytes_CUDA(np, h->blocks);
  PetscCall(SpikeCalloc_CUDA((PetscCount)h->reportsize, stream, (char **)&h->report));
  PetscCall(SpikeMallocHost_CUDA((PetscCount)h->reportsize, (char **)&h->hostreport));
  h->window = (int *)((PetscReal *)(h->report + 1) + 2 * ((size_t)np + 1) * h->blocks);
  PetscCall(SpikeMalloc_CUDA(2 * np + 1, &h->badvalue));
  PetscCall(PetscCalloc2(np, &s->wtop, np, &s->wbot));
  if (s->coupled || s->cut) {
    PetscCall(SpikeCalloc_CUDA((np + 1) * ku * ku, stream, &s->dB));
    PetscCall(SpikeCalloc_CUDA((np + 1) * kl * kl, stream, &s->dC));
  }
  if (s->coupled) {
    PetscCall(SpikeCalloc_CUDA((np + 1) * ku * ku, stream, &s->dR));
    PetscCall(SpikeCalloc_CUDA((np + 1) * kl * ku, stream, &s->dVb, &s->dWt));
    PetscCall(SpikeCalloc_CUDA((np + 1) * ku, stream, &s->dpiv));
  }
  if (SpikeBandExchanges(s)) PetscCall(SpikePivotedCreate_CUDA(s));
  else if (!s->nsystems && !s->nbatch) PetscCall(SpikeSweepPrepare_CUDA(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDestroy_CUDA(SpikeBand *s)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS); /* nothing was made; a machine without a device comes here too */
  PetscCall(SpikeTriDestroySystems_CUDA(s));
  PetscCall(SpikePivotedDestroy_CUDA(s));
  PetscCall(SpikeBatchDestroySystems(&h->batch));
  PetscCall(SpikeFree_CUDA(h->dstart, h->dactive, h->owntiles, h->room, h->report, h->badvalue, h->oldrow));
  PetscCall(SpikeFillMapDestroy_CUDA(&h->map));
  PetscCall(SpikeFreeHost_CUDA(h->hostreport));
  PetscCall(PetscFree(s->data));
  PetscCall(SpikeFree_CUDA(s->band, s->dB, s->dC, s->dVb, s->dWt, s->dR, s->dpiv));
  PetscCall(SpikeFree_CUDA(s->dtips, s->dVt, s->dWb, s->dmerged));
  s->band = NULL;
  s->dB = s->dC = s->dVb = s->dWt = s->dR = s->dtips = NULL;
  s->dVt = s->dWb = s->dmerged = s->dwork = NULL;
  s->dpiv                                 = NULL;
  PetscCall(PetscFree2(s->wtop, s->wbot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt SpikePartitions_CUDA(PetscInt n, PetscInt kl, PetscInt ku, PetscSpikePrecision precision,
                                     PetscReal falloff, PetscReal neglect, PetscBool exchanges, PetscBool cholesky,
                                     PCSpikeType type, PetscBool *full)
{
  const PetscInt     bytes = (PetscInt)(SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal)));
  const SpikeDevice *gpu;
  SpikeShape         shape = {n, kl, ku, bytes, 0, falloff, neglect, {1, 1, 1}, 0};
  SpikeTiles         tiles;
  PetscInt           np;

  *full = (PetscBool)(type == PC_SPIKE_FULL);
  /* the kernels of tridiagonal.h make pieces of their own */
  if (kl == 1 && ku == 1 && SpikePrecisionBytes(precision) == sizeof(PetscReal)) return 1;
  PetscCallAbort(PETSC_COMM_SELF, SpikeDeviceGet(&gpu));
  shape.multiprocessors = gpu->multiprocessors;
  if (!exchanges && !cholesky) {
    SpikeTilesOf_Private(kl, ku, &tiles);
    PetscCallAbort(PETSC_COMM_SELF, SpikeFactorClusters_CUDA(&tiles, precision, gpu, &shape.clusters));
  }
  PetscCallAbort(PETSC_COMM_SELF, SpikePace_CUDA(gpu, &shape.pace));
  if (type == PC_SPIKE_AUTO) np = SpikePartitionsChooseAuto(&shape, full);
  else np = type == PC_SPIKE_FULL ? SpikePartitionsChooseFull(&shape) : SpikePartitionsChoose(&shape);
  return exchanges && !*full ? SpikePartitionsExchange(&shape, type, np) : np;
}

static PetscErrorCode SpikeMemory_CUDA(PetscReal *bytes)
{
  size_t free, total;
  void  *stream;

  PetscFunctionBegin;
  PetscCall(SpikeStream_Private(&stream));
  PetscCallCUDA(cudaMemGetInfo(&free, &total));
  *bytes = (PetscReal)free;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBegin_CUDA(SpikeBand *s)
{
  PetscFunctionBegin;
  PetscCall(SpikeStream_Private(&s->stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeEnd_CUDA(SpikeBand *s)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeAlloc_CUDA(SpikeBand *s, size_t bytes, void **ptr)
{
  PetscFunctionBegin;
  PetscCall(SpikeMalloc_CUDA((PetscCount)bytes, (char **)ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeRelease_CUDA(SpikeBand *s, void **ptr)
{
  PetscFunctionBegin;
  if (*ptr) PetscCallCUDA(cudaFree(*ptr));
  *ptr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCopy2D_CUDA(SpikeBand *s, PetscBool todevice, PetscBool fromdevice, void *dst, size_t dpitch,
                                       const void *src, size_t spitch, size_t width, size_t height)
{
  const cudaMemcpyKind kind = todevice ? (fromdevice ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                                       : (fromdevice ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);

  PetscFunctionBegin;
  if (!width || !height) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(SpikeCopy2D(dst, dpitch, src, spitch, width, height, kind, (cudaStream_t)s->stream));
  if (kind != cudaMemcpyDeviceToDevice) PetscCallCUDA(cudaStreamSynchronize((cudaStream_t)s->stream));
  if (kind == cudaMemcpyHostToDevice) PetscCall(PetscLogCpuToGpu((PetscLogDouble)width * height));
  if (kind == cudaMemcpyDeviceToHost) PetscCall(PetscLogGpuToCpu((PetscLogDouble)width * height));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePin_CUDA(SpikeBand *s, size_t bytes, void **ptr)
{
  PetscFunctionBegin;
  *ptr = NULL;
  if (bytes) PetscCall(SpikeMallocHost_CUDA((PetscCount)bytes, (char **)ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeUnpin_CUDA(SpikeBand *s, void **ptr)
{
  PetscFunctionBegin;
  PetscCall(SpikeFreeHost_CUDA(*ptr));
  *ptr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeSynchronize_CUDA(SpikeBand *s)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize((cudaStream_t)s->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBandKernels SpikeBandKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* exchanges */ PETSC_TRUE,
  /* splits */ PETSC_FALSE,
  /* enqueues */ PETSC_TRUE,
  /* parallel */ PETSC_TRUE,
  /* owns */ SpikeOwns_CUDA,
  /* holds */ SpikeHolds_CUDA,
  /* bytes */ SpikeBytes_CUDA,
  /* create */ SpikeCreate_CUDA,
  /* destroy */ SpikeDestroy_CUDA,
  /* reserve */ SpikeReserve_CUDA,
  /* fill */ SpikeFill_CUDA,
  /* filldia */ SpikeFillDIA_CUDA,
  /* factor */ SpikeFactor_CUDA,
  /* reduced */ SpikeReduced_CUDA,
  /* sweep */ SpikeSweep_CUDA,
  /* solvetips */ SpikeSolveTips_CUDA,
  /* correct */ SpikeCorrect_CUDA,
  /* spikes */ SpikeSpikes_CUDA,
  /* merge */ SpikeMerge_CUDA,
  /* mergedtips */ SpikeMergedTips_CUDA,
  /* mergedrhs */ SpikeMergedRhs_CUDA,
  /* permute */ SpikePermute_CUDA,
  /* partitions */ SpikePartitions_CUDA,
  /* memory */ SpikeMemory_CUDA,
  /* begin */ SpikeBegin_CUDA,
  /* end */ SpikeEnd_CUDA,
  /* alloc */ SpikeAlloc_CUDA,
  /* release */ SpikeRelease_CUDA,
  /* copy2d */ SpikeCopy2D_CUDA,
  /* pin */ SpikePin_CUDA,
  /* unpin */ SpikeUnpin_CUDA,
  /* synchronize */ SpikeSynchronize_CUDA,
  /* connect */ SpikeConnect_CUDA,
  /* disconnect */ SpikeLinkDisconnect_CUDA,
  /* exchange */ SpikeExchange_CUDA,
  /* wait */ SpikeWait_CUDA,
  /* finish */ SpikeFinish_CUDA,
  /* tridiagonal */ &SpikeTridiagonalKernels_CUDA,
  /* batch */ &SpikeBatchKernels_CUDA,
  /* periodic */ &SpikePeriodicKernels_CUDA,
  /* growth */ SpikeGrowth_CUDA,
  /* cholesky */ PETSC_FALSE,
};
