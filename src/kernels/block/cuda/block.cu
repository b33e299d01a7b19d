/* SPDX-License-Identifier: BSD-2-Clause */
/* block.cu: the CUDA backend of block.h: its table, state, matrices, memory, time */
#include "lu.cuh"

static PetscErrorCode SpikeBlockCreate_CUDA(SpikeBlock *s)
{
  SpikeBlockCUDA    *h;
  cudaStream_t       stream;
  const SpikeDevice *gpu;

  PetscFunctionBegin;
  PetscCall(SpikeDeviceGet(&gpu));
  PetscCall(PetscNew(&h));
  s->data            = h;
  h->multiprocessors = gpu->multiprocessors;
  PetscCall(SpikeStreamOr(s->stream, &stream));
  PetscCall(SpikeMalloc_CUDA(SPIKE_BLOCK_ITEMS * SPIKE_BLOCK_TICKETS, &h->tickets));
  PetscCallCUDA(cudaMemsetAsync(h->tickets, 0, SPIKE_BLOCK_ITEMS * SPIKE_BLOCK_TICKETS * sizeof(*h->tickets), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockDestroy_CUDA(SpikeBlock *s)
{
  SpikeBlockCUDA *h = (SpikeBlockCUDA *)s->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS); /* a machine without a device comes here too */
  PetscCall(SpikeFree_CUDA(h->tickets, h->partials));
  PetscCall(PetscFree(s->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMatCreate_CUDA(SpikeBlock *s, PetscInt bs, PetscInt mb, PetscInt nb,
                                               const PetscInt bi[], const PetscInt bj[], PetscBool trans,
                                               SpikeBlockMat *A)
{
  SpikeBlockMatCUDA *m;
  cudaStream_t       stream;
  PetscInt           longest = 0;

  PetscFunctionBegin;
  PetscCheck(bs >= 1 && bs <= SPIKE_BLOCK_MAXBS, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Blocks of %" PetscInt_FMT " rows, there are kernels for 1 to %d", bs, SPIKE_BLOCK_MAXBS);
  PetscCall(SpikeStreamOr(s->stream, &stream));
  PetscCall(PetscNew(&m));
  A->bs   = bs;
  A->mb   = mb;
  A->nb   = nb;
  A->data = m;
  for (PetscInt i = 0; i < mb; i++) longest = PetscMax(longest, bi[i + 1] - bi[i]);
  m->even   = longest <= 32 || longest / 4 <= bi[mb] / mb;
  m->blocks = bi[mb];
  PetscCall(SpikeMallocCopy_CUDA(mb + 1, bi, stream, &m->ai));
  PetscCall(SpikeMallocCopy_CUDA(bi[mb], bj, stream, &m->aj));
  if (trans) PetscCall(SpikeBlockTransposeRows_CUDA(mb, nb, bi, bj, stream, &m->ti, &m->tj, &m->tp, NULL));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMatDestroy_CUDA(SpikeBlock *s, SpikeBlockMat *A)
{
  SpikeBlockMatCUDA *m = (SpikeBlockMatCUDA *)A->data;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFree_CUDA(m->ai, m->aj, m->ti, m->tj, m->tp));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMatPattern_CUDA(const SpikeBlockMat *A, const PetscInt **bi, const PetscInt **bj)
{
  const SpikeBlockMatCUDA *m = (const SpikeBlockMatCUDA *)A->data;

  PetscFunctionBegin;
  *bi = m->ai;
  *bj = m->aj;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMemory_CUDA(PetscReal *bytes)
{
  size_t       free, total;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream)); /* makes the device known to PETSc */
  PetscCallCUDA(cudaMemGetInfo(&free, &total));
  *bytes = (PetscReal)free;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockBegin_CUDA(SpikeBlock *s)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockEnd_CUDA(SpikeBlock *s)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockAlloc_CUDA(SpikeBlock *s, size_t bytes, void **ptr)
{
  PetscFunctionBegin;
  *ptr = NULL;
  if (bytes) PetscCall(SpikeAllocated_CUDA(cudaMalloc(ptr, bytes)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockRelease_CUDA(SpikeBlock *s, void **ptr)
{
  PetscFunctionBegin;
  if (*ptr) PetscCallCUDA(cudaFree(*ptr));
  *ptr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockCopy_CUDA(SpikeBlock *s, PetscBool todevice, PetscBool fromdevice, void *dst,
                                          const void *src, size_t bytes)
{
  const cudaMemcpyKind kind = todevice ? (fromdevice ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                                       : (fromdevice ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
  cudaStream_t         stream;

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(s->stream, &stream));
  PetscCallCUDA(cudaMemcpyAsync(dst, src, bytes, kind, stream));
  if (kind != cudaMemcpyDeviceToDevice) PetscCallCUDA(cudaStreamSynchronize(stream));
  if (kind == cudaMemcpyHostToDevice) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  if (kind == cudaMemcpyDeviceToHost) PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockSynchronize_CUDA(SpikeBlock *s)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(s->stream, &stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBlockKernels SpikeBlockKernels_CUDA = {
  /* name        */ "cuda",
  /* memtype     */ PETSC_MEMTYPE_CUDA,
  /* enqueues    */ PETSC_TRUE,
  /* create      */ SpikeBlockCreate_CUDA,
  /* destroy     */ SpikeBlockDestroy_CUDA,
  /* matcreate   */ SpikeBlockMatCreate_CUDA,
  /* matdestroy  */ SpikeBlockMatDestroy_CUDA,
  /* matpattern  */ SpikeBlockMatPattern_CUDA,
  /* pack        */ SpikeBlockPack_CUDA,
  /* unpackadd   */ SpikeBlockUnpackAdd_CUDA,
  /* assemble    */ SpikeBlockAssemble_CUDA,
  /* run         */ SpikeBlockRun_CUDA,
  /* chain       */ SpikeBlockChain_CUDA,
  /* lubytes     */ SpikeBlockLUBytes_CUDA,
  /* lucreate    */ SpikeBlockLUCreate_CUDA,
  /* ludestroy   */ SpikeBlockLUDestroy_CUDA,
  /* lureserve   */ SpikeBlockLUReserve_CUDA,
  /* lufill      */ SpikeBlockLUFill_CUDA,
  /* lufactor    */ SpikeBlockLUFactor_CUDA,
  /* lufinish    */ SpikeBlockLUFinish_CUDA,
  /* lusolve     */ SpikeBlockLUSolve_CUDA,
  /* luget       */ SpikeBlockLUGet_CUDA,
  /* memory      */ SpikeBlockMemory_CUDA,
  /* begin       */ SpikeBlockBegin_CUDA,
  /* end         */ SpikeBlockEnd_CUDA,
  /* alloc       */ SpikeBlockAlloc_CUDA,
  /* release     */ SpikeBlockRelease_CUDA,
  /* copy        */ SpikeBlockCopy_CUDA,
  /* synchronize */ SpikeBlockSynchronize_CUDA,
};
