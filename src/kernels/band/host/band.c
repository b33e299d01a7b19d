/* SPDX-License-Identifier: BSD-2-Clause */
/* band.c: the host backend: its table and its memory */
#include "host.h"
#include "kernels/common/host/memory.h"
#include <unistd.h>

/*
  Partition p is a band block of its own (ops.h), with its own half-bandwidths and a pad on both sides; data->off[p] is
  its first element. The windows of work space: work holds one column of the largest partition for each right-hand side.
*/

/*
  The kernels for the corners of partitions: tips are no more exact than the factors, but are made by the kernels of
  single precision in less time
*/
static const SpikeBandOps *SpikeCornerOps_Private(const SpikeBand *s)
{
  if (SpikeBandExchanges(s)) return SpikeBandGetPivotedOps();
  return SpikeBandGetOps(PetscMin(s->precision, PETSC_SPIKE_PRECISION_SINGLE));
}

/* The kernels of the partitions; superdiagonals that they keep */
static const SpikeBandOps *SpikeOps_Private(const SpikeBand *s)
{
  if (s->cholesky) return SpikeBandGetCholeskyOps(s->precision);
  return SpikeBandExchanges(s) ? SpikeBandGetPivotedOps() : SpikeBandGetOps(s->precision);
}

static PetscInt SpikeUpper_Private(const SpikeBand *s)
{
  return s->cholesky ? 0 : s->ku;
}

/*
  The layout of partition p. LU of narrow bands is faster with equal half-bandwidths than with one that is smaller
  (ops_lu_narrow.h)
*/
static SpikeHostPart SpikePart_Private(const SpikeBand *s, PetscInt p)
{
  const SpikeBandOps *ops = SpikeOps_Private(s);
  SpikeHostPart       part;
  PetscInt            K;

  part.kl = s->okl ? s->okl[p] : s->kl;
  part.ku = s->oku ? s->oku[p] : s->ku;
  K       = PetscMax(part.kl, part.ku);
  if (s->okl &&
      (s->cholesky || (!ops->panel && part.kl && part.ku && K <= PetscMin(SPIKE_NARROW, PetscMin(s->kl, s->ku)))))
    part.kl = part.ku = K;
  part.fu       = s->cholesky ? 0 : part.ku;
  part.ld       = SpikeBandLd(ops, part.kl, part.fu);
  part.diagonal = SpikeBandDiagonal(ops, part.kl, part.fu);
  return part;
}

/* The work space of lu() for the partitions and, with the half-bandwidths exchanged, for their reversed corners */
static size_t SpikeWorkSize_Private(const SpikeBand *s)
{
  size_t most = 0;

  for (PetscInt p = 0; p < s->np; p++) {
    const SpikeHostPart part      = SpikePart_Private(s, p);
    const size_t        partition = SpikeOps_Private(s)->lu_worksize(part.kl, part.ku),
                 corner           = s->cholesky ? 0 : SpikeCornerOps_Private(s)->lu_worksize(part.ku, part.kl);

    most = PetscMax(most, PetscMax(partition, corner));
  }
  return most + 64;
}

static PetscErrorCode SpikeBytes_Host(const SpikeBand *s, PetscReal *band, PetscReal *extra)
{
  const SpikeBandOps *ops = SpikeOps_Private(s), *cornerops = SpikeCornerOps_Private(s);
  const PetscReal     elem = (PetscReal)ops->size, kl = (PetscReal)s->kl, ku = (PetscReal)s->ku;
  const PetscInt      fu = SpikeUpper_Private(s);
  const PetscReal     ld = (PetscReal)SpikeBandLd(ops, s->kl, fu), panel = SpikeBandPanel(ops, s->kl, fu);
  const PetscReal     ldcorner = (PetscReal)SpikeBandLd(cornerops, s->ku, s->kl);
  PetscReal           big      = 0.0, l;

  PetscFunctionBegin;
  if (s->nbatch) {
    PetscCall(SpikeBatchBytesSystems(s, band, extra));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *band = elem * ((s->np + 1.0) * SPIKE_BAND_PAD(kl, (PetscReal)fu) + (panel - 1.0) * ld);
  for (PetscInt p = 0; p < s->np; p++) {
    const SpikeHostPart part = SpikePart_Private(s, p);
    const PetscReal     rows = (PetscReal)(s->start[p + 1] - s->start[p]);

    *band += elem * (rows + SpikeBandPanel(ops, part.kl, part.fu) - 1.0) * (PetscReal)part.ld;
  }
  *extra = (PetscReal)SpikeWorkSize_Private(s) + (s->np + 1.0) * (sizeof(PetscCount) + 3 * sizeof(PetscInt));
  if (s->nsystems) {
    PetscReal matrix, rest;

    PetscCall(SpikeTriBytesSystems_Host(s, &matrix, &rest));
    *extra += rest + (s->coupled ? *band : 0.0);
    *band = matrix;
  }
  if (s->coupled) {
    for (PetscInt p = 0; p < s->np; p++) big = PetscMax(big, (PetscReal)(s->start[p + 1] - s->start[p]));
    l = PetscMin(big, (PetscReal)SpikeMaxCorner(s->kl, s->ku));
    *extra += sizeof(PetscScalar) *
              ((s->np + 1.0) * (kl * kl + 2.0 * ku * ku + 2.0 * kl * ku + s->maxrhs * (kl + ku)) + s->maxrhs * big);
    if (!s->cholesky) *extra += (PetscReal)cornerops->size * ((l + panel) * ldcorner + 2.0 * SPIKE_BAND_PAD(kl, ku));
    *extra += sizeof(PetscScalar) * (l + panel) * PetscMax(kl, ku);
    if (s->full)
      *extra += sizeof(PetscScalar) *
                ((s->np + 1.0) * (ku * ku + kl * kl + (kl + ku) * (kl + ku)) + (PetscReal)s->maxrhs * s->n +
                 PetscMin(PetscMax(kl, ku), 64.0) * big + (s->cholesky ? 3.0 * kl * kl : 0.0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elements of the factors with a pad on both sides, first element on a cache line */
static PetscErrorCode SpikeBlockAllocate_Private(const SpikeBandOps *ops, PetscInt kl, PetscInt ku, PetscCount elements,
                                                 void **alloc, char **first)
{
  const size_t pad = (size_t)SPIKE_BAND_PAD(kl, ku) * ops->size;

  PetscFunctionBegin;
  PetscCall(PetscMalloc((size_t)elements * ops->size + 2 * pad + 64, alloc));
  SpikeLargePages_Host(*alloc, (size_t)elements * ops->size + 2 * pad + 64);
  *first = (char *)*alloc + pad;
  *first += (64 - ((size_t)*first & 63)) & 63;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeReserve_Host(SpikeBand *s, PetscInt maxrhs)
{
  SpikeHost   *h = (SpikeHost *)s->data;
  PetscScalar *tips, *work, *dwork;

  PetscFunctionBegin;
  if (s->coupled) { /* each array in its place before the next is asked for: one may fail */
    if (s->dwork) {
      PetscCall(PetscMalloc1((PetscCount)maxrhs * s->n, &dwork));
      PetscCall(PetscFree(s->dwork));
      s->dwork = dwork;
    }
    PetscCall(PetscCalloc1((PetscCount)maxrhs * (s->np + 1) * (s->kl + s->ku), &tips));
    PetscCall(PetscFree(s->dtips));
    s->dtips = tips;
    PetscCall(PetscMalloc1((PetscCount)maxrhs * h->largest, &work));
    PetscCall(PetscFree(h->work));
    h->work = work;
  }
  s->maxrhs = maxrhs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCreate_Host(SpikeBand *s)
{
  const PetscInt np = s->np, kl = s->kl, ku = s->ku;
  const PetscInt fu     = SpikeUpper_Private(s);
  PetscInt       panel  = 1;
  PetscCount     corner = 0;
  SpikeHost     *h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  s->data      = h;
  h->ops       = SpikeOps_Private(s);
  h->cornerops = SpikeCornerOps_Private(s);
  h->pad       = SPIKE_BAND_PAD(kl, fu);
  PetscCall(PetscMalloc2(np + 1, &h->off, np, &h->part));
  h->off[0] = 0;
  for (PetscInt p = 0; p < np; p++) { /* one pad between two partitions, and each starts on a cache line */
    const PetscInt      n    = s->start[p + 1] - s->start[p];
    const SpikeHostPart part = SpikePart_Private(s, p);

    h->part[p]    = part;
    h->off[p + 1] = h->off[p] + ((SpikeBandElements(h->ops, n, part.kl, part.ku) + h->pad + 15) / 16) * 16;
    h->largest    = PetscMax(h->largest, n);
    panel         = PetscMax(panel, SpikeBandPanel(h->ops, part.kl, part.fu));
  }
  if (s->nsystems) PetscCall(SpikeTriCreateSystems_Host(s));
  if (s->nbatch) PetscCall(SpikeBatchCreateSystems(s, &h->batch));
  else if (!s->nsystems || s->coupled)
    PetscCall(SpikeBlockAllocate_Private(h->ops, kl, fu, h->off[np], &s->band, &h->first));
  PetscCall(PetscMalloc(SpikeWorkSize_Private(s), &h->factorwork));
  PetscCall(PetscCalloc2(np, &s->wtop, np, &s->wbot));
  if (s->coupled) {
    h->maxcorner = PetscMin(h->largest, SpikeMaxCorner(kl, ku));
    PetscCall(PetscCalloc2((PetscCount)(np + 1) * ku * ku, &s->dB, (PetscCount)(np + 1) * kl * kl, &s->dC));
    PetscCall(PetscCalloc4((PetscCount)(np + 1) * kl * ku, &s->dVb, (PetscCount)(np + 1) * ku * kl, &s->dWt,
                           (PetscCount)(np + 1) * ku * ku, &s->dR, (PetscCount)(np + 1) * ku, &s->dpiv));
    for (PetscInt p = 0; p < np; p++)
      corner = PetscMax(corner, SpikeBandElements(h->cornerops, h->maxcorner, h->part[p].ku, h->part[p].kl));
    if (!s->cholesky) PetscCall(SpikeBlockAllocate_Private(h->cornerops, kl, ku, corner, &h->corneralloc, &h->corner));
    PetscCall(PetscMalloc1(((PetscCount)h->maxcorner + panel) * PetscMax(kl, ku), &h->spike));
    PetscCall(SpikeReserve_Host(s, s->maxrhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDestroy_Host(SpikeBand *s)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  if (h) {
    PetscCall(SpikeTriDestroySystems_Host(s));
    PetscCall(SpikeBatchDestroySystems(&h->batch));
    PetscCall(PetscFree2(h->off, h->part));
    PetscCall(PetscFree(h->factorwork));
    PetscCall(PetscFree(h->corneralloc));
    PetscCall(PetscFree(h->spike));
    PetscCall(PetscFree(h->work));
    PetscCall(PetscFree(h->columns));
    PetscCall(PetscFree(h->inverse));
  }
  PetscCall(PetscFree(s->data));
  PetscCall(PetscFree(s->band));
  PetscCall(PetscFree2(s->wtop, s->wbot));
  PetscCall(PetscFree2(s->dB, s->dC));
  PetscCall(PetscFree4(s->dVb, s->dWt, s->dR, s->dpiv));
  PetscCall(PetscFree(s->dtips));
  PetscCall(PetscFree3(s->dVt, s->dWb, s->dmerged));
  PetscCall(PetscFree(s->dwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One: the sweeps of a rank are sequential here, and one partition needs no coupling */
static PetscInt SpikePartitions_Host(PetscInt n, PetscInt kl, PetscInt ku, PetscSpikePrecision precision,
                                     PetscReal falloff, PetscReal neglect, PetscBool exchanges, PetscBool cholesky,
                                     PCSpikeType type, PetscBool *full)
{
  *full = (PetscBool)(type == PC_SPIKE_FULL);
  return 1;
}

static PetscInt SpikeOwns_Host(const SpikeBand *s)
{
  return 1;
}

static PetscErrorCode SpikeBegin_Host(SpikeBand *s)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeAlloc_Host(SpikeBand *s, size_t bytes, void **ptr)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc(bytes, ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeRelease_Host(SpikeBand *s, void **ptr)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCopy2D_Host(SpikeBand *s, PetscBool todevice, PetscBool fromdevice, void *dst, size_t dpitch,
                                       const void *src, size_t spitch, size_t width, size_t height)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < height; i++)
    PetscCall(PetscMemcpy((char *)dst + i * dpitch, (const char *)src + i * spitch, width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBandKernels SpikeBandKernels_Host = {
  .name        = "host",
  .memtype     = PETSC_MEMTYPE_HOST,
  .exchanges   = PETSC_TRUE,
  .splits      = PETSC_TRUE,
  .enqueues    = PETSC_FALSE,
  .parallel    = PETSC_FALSE,
  .owns        = SpikeOwns_Host,
  .holds       = NULL,
  .bytes       = SpikeBytes_Host,
  .create      = SpikeCreate_Host,
  .destroy     = SpikeDestroy_Host,
  .reserve     = SpikeReserve_Host,
  .fill        = SpikeFill_Host,
  .filldia     = SpikeFillDIA_Host,
  .factor      = SpikeFactor_Host,
  .reduced     = SpikeReduced_Host,
  .sweep       = SpikeSweep_Host,
  .solvetips   = SpikeSolveTips_Host,
  .correct     = SpikeCorrect_Host,
  .spikes      = SpikeSpikes_Host,
  .merge       = SpikeMerge_Host,
  .mergedtips  = SpikeMergedTips_Host,
  .mergedrhs   = SpikeMergedRhs_Host,
  .permute     = SpikePermute_Host,
  .partitions  = SpikePartitions_Host,
  .memory      = SpikeMemory_Host,
  .begin       = SpikeBegin_Host,
  .end         = SpikeBegin_Host,
  .alloc       = SpikeAlloc_Host,
  .release     = SpikeRelease_Host,
  .copy2d      = SpikeCopy2D_Host,
  .pin         = SpikeAlloc_Host,
  .unpin       = SpikeRelease_Host,
  .synchronize = SpikeBegin_Host,
  .connect     = NULL,
  .disconnect  = NULL,
  .exchange    = NULL,
  .wait        = NULL,
  .finish      = NULL,
  .tridiagonal = &SpikeTridiagonalKernels_Host,
  .batch       = &SpikeBatchKernels_Host,
  .periodic    = &SpikePeriodicKernels_Host,
  .growth      = SpikeGrowth_Host,
  .cholesky    = PETSC_TRUE,
};
