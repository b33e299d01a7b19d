/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.cu: the CUDA backend of batch.h: its table, memory and model of the time */
#include "batch.cuh"
#include "kernels/common/cuda/memory.cuh"

static PetscErrorCode SpikeBatchBytes_CUDA(const SpikeBatch *t, PetscReal *matrix, PetscReal *rest)
{
  const PetscReal groups = (PetscReal)((t->nsys + SPIKE_BATCH_LANES - 1) / SPIKE_BATCH_LANES);
  PetscCount      rows;

  PetscFunctionBegin;
  PetscCall(SpikeBatchPadded(t, SPIKE_BATCH_LANES, &rows));
  *matrix = sizeof(PetscScalar) * (PetscReal)rows * SpikeBatchWidth(t);
  *rest   = groups * (SPIKE_BATCH_LANES * (PetscReal)(2 * sizeof(PetscInt) + sizeof(double)) + sizeof(PetscInt) +
                    sizeof(PetscInt64)) +
          sizeof(SpikeBatchReport) + (t->pivoting ? (PetscReal)rows : 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What kernels read, from the host's arrays */
static PetscErrorCode SpikeBatchUpload_Private(const SpikeBatch *t, SpikeBatchCUDA *h, cudaStream_t stream)
{
  const PetscInt lanes = t->ngroups * t->lanes;
  PetscInt      *first, *len;
  PetscInt64    *off;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(lanes, &first, lanes, &len, t->ngroups, &off));
  for (PetscInt k = 0; k < lanes; k++) {
    const PetscInt q = t->system[k];

    first[k] = q < 0 ? 0 : t->start[q];
    len[k]   = q < 0 ? 0 : t->start[q + 1] - t->start[q];
  }
  for (PetscInt g = 0; g < t->ngroups; g++) off[g] = (PetscInt64)t->off[g];
  PetscCall(SpikeMallocCopy_CUDA(lanes, first, stream, &h->first));
  PetscCall(SpikeMallocCopy_CUDA(lanes, len, stream, &h->len));
  PetscCall(SpikeMallocCopy_CUDA(t->ngroups, t->rows, stream, &h->rows));
  PetscCall(SpikeMallocCopy_CUDA(t->ngroups, off, stream, &h->off));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree3(first, len, off));
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
  PetscCall(SpikeMalloc_CUDA((PetscCount)(t->ngroups * t->lanes), &h->badvalue));
  PetscCall(SpikeMalloc_CUDA(1, &h->report));
  PetscCall(SpikeAllocated_CUDA(cudaMallocHost((void **)&h->hostreport, sizeof(*h->hostreport))));
  PetscCall(SpikeBatchUpload_Private(t, h, stream));
  h->longest    = t->ngroups ? t->rows[0] : 0;
  h->g.kl       = (int)t->kl;
  h->g.ku       = (int)t->ku;
  h->g.width    = (int)t->width;
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
  PetscCall(SpikeFree_CUDA(t->a, h->exchange, h->badvalue, h->report, h->first, h->len, h->rows, h->off));
  PetscCall(SpikeFreeHost_CUDA(h->hostreport));
  PetscCall(SpikeBatchLayoutDestroy(t));
  PetscCall(PetscFree(t->data));
  t->a = NULL;
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
  SpikeBatchCUDA *h = (SpikeBatchCUDA *)t->data;
  cudaStream_t    stream;
  double          value;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!t->ngroups) PetscFunctionReturn(PETSC_SUCCESS);
  pivot->nboost = (PetscInt)h->hostreport->nboost;
  if (!h->hostreport->badrow) PetscFunctionReturn(PETSC_SUCCESS);
  pivot->badrow = (PetscInt)~h->hostreport->badrow;
  PetscCall(SpikeStreamOr(t->stream, &stream));
  for (PetscInt k = 0; k < t->ngroups * t->lanes; k++) {
    const PetscInt q = t->system[k];

    if (q < 0 || pivot->badrow < t->start[q] || pivot->badrow >= t->start[q + 1]) continue;
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
  if (t->pivoting && trans) PetscCall(SpikeBatchSolvePivotedTrans_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  else if (t->pivoting) PetscCall(SpikeBatchSolvePivoted_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  else if (trans) PetscCall(SpikeBatchSolveTrans_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  else PetscCall(SpikeBatchSolve_CUDA(h, nrhs, b, ldb, x, ldx, stream));
  PetscCall(PetscLogGpuFlops(nrhs * (2.0 * t->width - 1.0) * t->start[t->nsys]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBatchKernels SpikeBatchKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* lanes */ SPIKE_BATCH_LANES,
  /* least */ 4096,     /* a thread each: with fewer a device is not busy */
  /* widest */ {4, 16}, /* above 4 a setup takes longer than one band's, but not with exchanges */
  /* bytes */ SpikeBatchBytes_CUDA,
  /* create */ SpikeBatchCreate_CUDA,
  /* destroy */ SpikeBatchDestroy_CUDA,
  /* setup */ SpikeBatchSetUp_CUDA,
  /* fetch */ SpikeBatchFetch_CUDA,
  /* report */ SpikeBatchReport_CUDA,
  /* apply */ SpikeBatchApply_CUDA,
};
