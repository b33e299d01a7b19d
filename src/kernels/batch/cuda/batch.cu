/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.cu: the CUDA backend of batch.h: its table, memory and model of the time */
#include "batch.cuh"
#include "kernels/common/cuda/memory.cuh"

/* Numbers in the blocks of a group */
static PetscCount SpikeBatchBlocks_Private(const SpikeBatch *t)
{
  return (PetscCount)SPIKE_BATCH_BLOCKS * SpikeBatchBlock(t) * SpikeBatchBlock(t) * SPIKE_BATCH_LANES;
}

static PetscErrorCode SpikeBatchBytes_CUDA(const SpikeBatch *t, PetscReal *matrix, PetscReal *rest)
{
  const PetscInt  each   = SPIKE_BATCH_LANES / SpikeBatchParts(t);
  const PetscReal groups = (PetscReal)((t->nsys + each - 1) / each);
  PetscCount      rows;

  PetscFunctionBegin;
  PetscCall(SpikeBatchPadded(t, SPIKE_BATCH_LANES, &rows));
  *matrix = sizeof(PetscScalar) * (PetscReal)rows * SpikeBatchWidth(t);
  *rest   = groups * (SPIKE_BATCH_LANES * (PetscReal)(2 * sizeof(PetscInt) + sizeof(double)) + sizeof(PetscInt) +
                    sizeof(PetscInt64)) +
          sizeof(SpikeBatchReport) + (t->pivoting ? (PetscReal)rows : 0.0) +
          (SpikeBatchParts(t) > 1 ? groups * (PetscReal)SpikeBatchBlocks_Private(t) : 0.0) * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What kernels read, from the host's arrays */
static PetscErrorCode SpikeBatchUpload_Private(const SpikeBatch *t, SpikeBatchCUDA *h, cudaStream_t stream)
{
  const PetscInt lanes = t->ngroups * t->lanes;
  PetscInt64    *off;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->ngroups, &off));
  for (PetscInt g = 0; g < t->ngroups; g++) off[g] = (PetscInt64)t->off[g];
  PetscCall(SpikeMallocCopy_CUDA(lanes, t->first, stream, &h->first));
  PetscCall(SpikeMallocCopy_CUDA(lanes, t->len, stream, &h->len));
  PetscCall(SpikeMallocCopy_CUDA(t->ngroups, t->rows, stream, &h->rows));
  PetscCall(SpikeMallocCopy_CUDA(t->ngroups, off, stream, &h->off));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBatchCreate_CUDA(SpikeBatch *t)
{
  SpikeBatchCUDA *h;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(t->stream, &stream));
  PetscCall(PetscNew(&h));
  t->data = h;
  PetscCall(SpikeDeviceGet(&h->gpu));
  PetscCall(SpikeBatchLayout(t, SPIKE_BATCH_LANES));
  PetscCall(SpikeMalloc_CUDA((PetscCount)t->off[t->ngroups], &t->a));
  if (t->pivoting) PetscCall(SpikeMalloc_CUDA((PetscCount)(t->off[t->ngroups] / t->width), &h->exchange));
  if (SpikeBatchParts(t) > 1) PetscCall(SpikeMalloc_CUDA(t->ngroups * SpikeBatchBlocks_Private(t), &t->blocks));
  PetscCall(SpikeMalloc_CUDA((PetscCount)(t->ngroups * t->lanes), &h->badvalue));
  PetscCall(SpikeMalloc_CUDA(1, &h->report));
  PetscCall(SpikeMallocHost_CUDA(1, &h->hostreport));
  PetscCall(SpikeBatchUpload_Private(t, h, stream));
  for (PetscInt k = 0; k < t->ngroups; k++) h->longest = PetscMax(h->longest, t->rows[k]);
  h->g.kl       = (int)t->kl;
  h->g.ku       = (int)t->ku;
  h->g.width    = (int)t->width;
  h->g.parts    = (int)SpikeBatchParts(t);
  h->g.h        = (int)SpikeBatchBlock(t);
  h->g.blocks   = t->blocks;
  h->g.ngroups  = t->ngroups;
  h->g.first    = h->first;
  h->g.len      = h->len;
  h->g.rows     = h->rows;
  h->g.off      = h->off;
  h->g.a        = t->a;
  h->g.exchange = h->exchange;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBatchDestroy_CUDA(SpikeBatch *t)
{
  SpikeBatchCUDA *h = (SpikeBatchCUDA *)t->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFree_CUDA(t->a, t->blocks, h->exchange, h->badvalue, h->report, h->first, h->len, h->rows, h->off));
  PetscCall(SpikeFreeHost_CUDA(h->hostreport));
  PetscCall(SpikeBatchLayoutDestroy(t));
  PetscCall(PetscFree(t->data));
  t->a = t->blocks = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBatchFetch_CUDA(SpikeBatch *t)
{
  SpikeBatchCUDA *h = (SpikeBatchCUDA *)t->data;
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!t->ngroups) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(t->stream, &stream));
  PetscCallCUDA(cudaMemcpyAsync(h->hostreport, h->report, sizeof(*h->report), cudaMemcpyDeviceToHost, stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(*h->report)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The magnitude of a bad pivot is fetched for itself: few setups have one */
static PetscErrorCode SpikeBatchReport_CUDA(SpikeBatch *t, SpikePivot *pivot)
{
  SpikeBatchCUDA    *h = (SpikeBatchCUDA *)t->data;
  unsigned long long bad;
  cudaStream_t       stream;
  double             value;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!t->ngroups) PetscFunctionReturn(PETSC_SUCCESS);
  pivot->nboost = (PetscInt)h->hostreport->nboost;
  bad           = h->hostreport->badrow ? h->hostreport->badrow : h->hostreport->badpiece;
  if (!bad) PetscFunctionReturn(PETSC_SUCCESS);
  pivot->badrow = (PetscInt)~bad;
  PetscCall(SpikeStreamOr(t->stream, &stream));
  for (PetscInt k = 0; k < t->ngroups * t->lanes; k++) {
    if (pivot->badrow < t->first[k] || pivot->badrow >= t->first[k] + t->len[k]) continue;
    PetscCallCUDA(cudaMemcpyAsync(&value, h->badvalue + k, sizeof(value), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscLogGpuToCpuScalar(sizeof(value)));
    pivot->badvalue = (PetscReal)value;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBatchApply_CUDA(SpikeBatch *t, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                           PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const SpikeBatchCUDA *h = (const SpikeBatchCUDA *)t->data;
  cudaStream_t          stream;

  PetscFunctionBegin;
  if (!h->longest || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(t->stream, &stream));
  if (h->g.parts > 1) PetscCall(SpikeBatchSolvePieces_CUDA(h, trans, nrhs, b, ldb, x, ldx, stream));
  else if (t->pivoting && trans) PetscCall(SpikeBatchSolvePivotedTrans_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  else if (t->pivoting) PetscCall(SpikeBatchSolvePivoted_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  else if (trans) PetscCall(SpikeBatchSolveTrans_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  else PetscCall(SpikeBatchSolve_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  PetscCall(PetscLogGpuFlops((h->g.parts > 1 ? 2 : 1) * nrhs * (2.0 * t->width - 1.0) * t->start[t->nsys]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  As many lanes as keep a device busy, where systems are too few to have one each: up to SPIKE_BATCH_WARPS warps on a
  multiprocessor, and more while pieces are longer than SPIKE_BATCH_LONG rows; none is shorter than SPIKE_BATCH_SHORT.
  More systems than a quarter of these lanes have one each: a solve reads the factors of pieces twice, and their blocks.
  Few systems whose pieces would be longer than SPIKE_BATCH_LONG take as long as one band. Spikes of triangular systems
  may grow without bound. Parts of vectors lie in shared memory: no piece is longer than SPIKE_BATCH_LONGEST. Measured
  on an H200 (batch-cuda.txt)
*/
#define SPIKE_BATCH_WARPS   8
#define SPIKE_BATCH_SHORT   16
#define SPIKE_BATCH_LONG    64
#define SPIKE_BATCH_LONGEST 128
#define SPIKE_BATCH_WIDEST  4    /* larger blocks are not for registers */
#define SPIKE_BATCH_MANY    4096 /* systems: with fewer that have a thread each a device is not busy */

static PetscErrorCode SpikeBatchParts_CUDA(const SpikeBatch *t, PetscInt *parts)
{
  const SpikeDevice *gpu;
  PetscInt           longest = 0;
  PetscInt64         lanes;

  PetscFunctionBegin;
  *parts = 1;
  if (t->pivoting || t->nsys < 2 || PetscMax(t->kl, t->ku) > SPIKE_BATCH_WIDEST || !PetscMin(t->kl, t->ku))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeDeviceGet(&gpu));
  lanes = (PetscInt64)gpu->multiprocessors * SPIKE_BATCH_WARPS * SPIKE_BATCH_LANES;
  if (t->nsys > lanes / 4) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt q = 0; q < t->nsys; q++) longest = PetscMax(longest, t->start[q + 1] - t->start[q]);
  while (*parts < SPIKE_BATCH_LANES && longest / (2 * *parts) >= PetscMax(SpikeBatchLeast(t), SPIKE_BATCH_SHORT) &&
         ((PetscInt64)t->nsys * 2 * *parts <= lanes || (longest + *parts - 1) / *parts > SPIKE_BATCH_LONG))
    *parts *= 2;
  if ((longest + *parts - 1) / *parts > (t->nsys < SPIKE_BATCH_MANY ? SPIKE_BATCH_LONG : SPIKE_BATCH_LONGEST))
    *parts = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBatchKernels SpikeBatchKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* lanes */ SPIKE_BATCH_LANES,
  /* least */ SPIKE_BATCH_MANY,
  /* widest */ {4, 16}, /* above 4 a setup takes longer than one band's, but not with exchanges */
  /* parts */ SpikeBatchParts_CUDA,
  /* bytes */ SpikeBatchBytes_CUDA,
  /* create */ SpikeBatchCreate_CUDA,
  /* destroy */ SpikeBatchDestroy_CUDA,
  /* setup */ SpikeBatchSetUp_CUDA,
  /* fetch */ SpikeBatchFetch_CUDA,
  /* report */ SpikeBatchReport_CUDA,
  /* apply */ SpikeBatchApply_CUDA,
};
