/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.cu: the CUDA backend of dia.h: its memory, its tables, rows to and from the host */
#include "dia.cuh"
#include "kernels/common/cuda/device.cuh"

static PetscErrorCode SpikeDIATables_CUDA(SpikeDIA *A)
{
  SpikeDIACUDA  *h = (SpikeDIACUDA *)A->data;
  SpikeDIATable *table;
  cudaStream_t   stream;

  PetscFunctionBegin;
  if (!A->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  PetscCall(PetscMalloc1(A->count, &table));
  for (PetscInt d = 0; d < A->count; d++) {
    SpikeDIATable *t = &table[d];

    t->offset = A->offset[d];
    t->below  = A->below[d];
    t->above  = A->above[d];
    SpikeDIAOwnRows(A, d, 0, A->n, &t->first, &t->own, &t->upper, &t->last);
  }
  PetscCallCUDA(
    cudaMemcpyAsync(h->offset, A->offset, (size_t)A->count * sizeof(*h->offset), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(h->table, table, (size_t)A->count * sizeof(*table), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIACreate_CUDA(SpikeDIA *A)
{
  SpikeDIACUDA      *h;
  const SpikeDevice *gpu;

  PetscFunctionBegin;
  PetscCall(SpikeDeviceGet(&gpu)); /* no other question, but no older device */
  PetscCheck(A->count <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " diagonals", A->count);
  PetscCall(PetscNew(&h));
  A->data   = (void *)h;
  A->places = (PetscCount)A->count * SpikeDIALd(A);
  PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&A->val, (size_t)PetscMax(1, A->places) * sizeof(PetscScalar))));
  PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&h->offset, (size_t)PetscMax(1, A->count) * sizeof(*h->offset))));
  PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&h->table, (size_t)PetscMax(1, A->count) * sizeof(*h->table))));
  PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&h->work, SPIKE_DIA_WORK * sizeof(*h->work))));
  PetscCall(SpikeDIATables_CUDA(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIADestroy_CUDA(SpikeDIA *A)
{
  SpikeDIACUDA *h = (SpikeDIACUDA *)A->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFree_CUDA(A->val, h->offset, h->table, h->work));
  A->val = NULL;
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAAlloc_CUDA(size_t bytes, void **memory)
{
  PetscFunctionBegin;
  PetscCall(SpikeAllocated_CUDA(cudaMalloc(memory, PetscMax(bytes, (size_t)1))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIARelease_CUDA(void **memory)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(*memory));
  *memory = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAMove_CUDA(void *given, PetscBool tobackend, void *to, const void *from, size_t bytes)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(given, &stream));
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, tobackend ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (tobackend) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  else PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pieces of the diagonals come as they are, and are transposed on the host */
static PetscErrorCode SpikeDIAGet_CUDA(const SpikeDIA *A, PetscInt begin, PetscInt end, PetscScalar *rows)
{
  const size_t width = (size_t)(end - begin) * sizeof(PetscScalar);
  PetscScalar *pieces;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (begin >= end || !A->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  PetscCall(PetscMalloc1((PetscCount)A->count * (end - begin), &pieces));
  PetscCallCUDA(cudaMemcpy2DAsync(pieces, width, A->val + begin, (size_t)SpikeDIALd(A) * sizeof(PetscScalar), width,
                                  (size_t)A->count, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)width * A->count));
  for (PetscInt d = 0; d < A->count; d++)
    for (PetscInt r = 0; r < end - begin; r++)
      rows[(PetscCount)r * A->count + d] = pieces[(PetscCount)d * (end - begin) + r];
  PetscCall(PetscFree(pieces));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAPut_CUDA(SpikeDIA *A, PetscInt begin, PetscInt end, const PetscScalar *rows)
{
  const size_t width = (size_t)(end - begin) * sizeof(PetscScalar);
  PetscScalar *pieces;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (begin >= end || !A->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  PetscCall(PetscMalloc1((PetscCount)A->count * (end - begin), &pieces));
  for (PetscInt d = 0; d < A->count; d++)
    for (PetscInt r = 0; r < end - begin; r++)
      pieces[(PetscCount)d * (end - begin) + r] = rows[(PetscCount)r * A->count + d];
  PetscCallCUDA(cudaMemcpy2DAsync(A->val + begin, (size_t)SpikeDIALd(A) * sizeof(PetscScalar), pieces, width, width,
                                  (size_t)A->count, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)width * A->count));
  PetscCall(PetscFree(pieces));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeDIAKernels SpikeDIAKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* create */ SpikeDIACreate_CUDA,
  /* destroy */ SpikeDIADestroy_CUDA,
  /* tables */ SpikeDIATables_CUDA,
  /* alloc */ SpikeDIAAlloc_CUDA,
  /* release */ SpikeDIARelease_CUDA,
  /* move */ SpikeDIAMove_CUDA,
  /* fill */ SpikeDIAFill_CUDA,
  /* get */ SpikeDIAGet_CUDA,
  /* put */ SpikeDIAPut_CUDA,
  /* mult */ SpikeDIAMult_CUDA,
  /* multtranspose */ SpikeDIAMultTranspose_CUDA,
  /* multtransposeghost */ SpikeDIAMultTransposeGhost_CUDA,
  /* pack */ SpikeDIAPack_CUDA,
  /* unpackadd */ SpikeDIAUnpackAdd_CUDA,
  /* zero */ SpikeDIAZero_CUDA,
  /* scale */ SpikeDIAScale_CUDA,
  /* conjugate */ SpikeDIAConjugate_CUDA,
  /* diagonalscale */ SpikeDIADiagonalScale_CUDA,
  /* axpy */ SpikeDIAAXPY_CUDA,
  /* copy */ SpikeDIACopy_CUDA,
  /* getdiagonal */ SpikeDIAGetDiagonal_CUDA,
  /* setdiagonal */ SpikeDIASetDiagonal_CUDA,
  /* connect */ SpikeDIAConnect_CUDA,
  /* disconnect */ SpikeDIADisconnect_CUDA,
  /* leave */ SpikeDIALeave_CUDA,
  /* ready */ SpikeDIAReady_CUDA,
  /* exchange */ SpikeDIAExchange_CUDA,
  /* arrive */ SpikeDIAArrive_CUDA,
  /* sums */ SpikeDIASums_CUDA,
  /* scan */ SpikeDIAScan_CUDA,
  /* sample */ SpikeDIASample_CUDA,
};
