/* SPDX-License-Identifier: BSD-2-Clause */
/*
  dia_link.cu: messages of a halo between devices: by NCCL where each rank has a device of its own, by MPI from the memory of the device where MPI can, else through memory of the host on a stream of their own.

  Everything before a product is in front of `packed`, and what comes is behind it: neither a message nor a halo is written before the kernels of the product before have read them.
*/
#include "dia.cuh"
#include "link.cuh"

typedef struct {
  void        *nccl; /* NULL: by MPI */
  PetscBool    aware;
  PetscInt     nmessage, nghost;
  PetscScalar *message, *ghost; /* on the device */
  cudaStream_t stream;          /* of the copies */
  cudaEvent_t  packed, copied;
} SpikeDIALinkCUDA;

PetscErrorCode SpikeDIAConnect_CUDA(MPI_Comm comm, PetscBool aware, PetscInt nmessage, PetscScalar *message, PetscInt nghost, PetscScalar *ghost, SpikeDIALink **link)
{
  SpikeDIALinkCUDA *l;

  PetscFunctionBegin;
  PetscCall(PetscNew(link));
  PetscCall(PetscNew(&l));
  (*link)->data = (void *)l;
  l->nmessage   = nmessage;
  l->nghost     = nghost;
  l->message    = message;
  l->ghost      = ghost;
  l->aware      = aware;
  PetscCallCUDA(cudaEventCreateWithFlags(&l->packed, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventCreateWithFlags(&l->copied, cudaEventDisableTiming));
  PetscCallCUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
  PetscCall(SpikeConnect_CUDA(NULL, comm, &l->nccl));
  (*link)->apart = (PetscBool)(l->nccl != NULL);
  (*link)->name  = l->nccl ? "NCCL" : (aware ? "GPU-aware MPI" : "MPI through the host");
  if (l->nccl || aware) {
    (*link)->message = message;
    (*link)->ghost   = ghost;
  } else {
    PetscCallCUDA(cudaMallocHost((void **)&(*link)->message, (size_t)PetscMax(1, nmessage) * sizeof(PetscScalar)));
    PetscCallCUDA(cudaMallocHost((void **)&(*link)->ghost, (size_t)PetscMax(1, nghost) * sizeof(PetscScalar)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIADisconnect_CUDA(SpikeDIALink **link)
{
  SpikeDIALinkCUDA *l;

  PetscFunctionBegin;
  if (!*link) PetscFunctionReturn(PETSC_SUCCESS);
  l = (SpikeDIALinkCUDA *)(*link)->data;
  if (l->stream) PetscCallCUDA(cudaStreamSynchronize(l->stream));
  if ((*link)->message != l->message) PetscCallCUDA(cudaFreeHost((*link)->message));
  if ((*link)->ghost != l->ghost) PetscCallCUDA(cudaFreeHost((*link)->ghost));
  PetscCall(SpikeDisconnect_CUDA(&l->nccl));
  if (l->stream) PetscCallCUDA(cudaStreamDestroy(l->stream));
  if (l->packed) PetscCallCUDA(cudaEventDestroy(l->packed));
  if (l->copied) PetscCallCUDA(cudaEventDestroy(l->copied));
  PetscCall(PetscFree(l));
  PetscCall(PetscFree(*link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIALeave_CUDA(void *given, SpikeDIALink *link, PetscBool back)
{
  SpikeDIALinkCUDA *l = (SpikeDIALinkCUDA *)link->data;
  const PetscInt    n = back ? l->nghost : l->nmessage;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(SpikeDiaStreamOr(given, &stream));
  PetscCallCUDA(cudaEventRecord(l->packed, stream));
  if (l->aware) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaStreamWaitEvent(l->stream, l->packed, 0));
  if (n) {
    PetscCallCUDA(cudaMemcpyAsync(back ? link->ghost : link->message, back ? l->ghost : l->message, (size_t)n * sizeof(PetscScalar), cudaMemcpyDeviceToHost, l->stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)n * sizeof(PetscScalar)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAReady_CUDA(SpikeDIALink *link)
{
  SpikeDIALinkCUDA *l = (SpikeDIALinkCUDA *)link->data;

  PetscFunctionBegin;
  if (l->aware) PetscCallCUDA(cudaEventSynchronize(l->packed));
  else PetscCallCUDA(cudaStreamSynchronize(l->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAExchange_CUDA(void *given, SpikeDIALink *link, PetscInt count, const SpikeMessage m[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(SpikeDiaStreamOr(given, &stream));
  PetscCall(SpikeLinkExchange_CUDA(((SpikeDIALinkCUDA *)link->data)->nccl, stream, count, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAArrive_CUDA(void *given, SpikeDIALink *link, PetscBool back)
{
  SpikeDIALinkCUDA *l = (SpikeDIALinkCUDA *)link->data;
  const PetscInt    n = back ? l->nmessage : l->nghost;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(SpikeDiaStreamOr(given, &stream));
  if (l->nccl) PetscCall(SpikeLinkWait_CUDA(l->nccl, stream));
  else if (!l->aware && n) {
    PetscCallCUDA(cudaMemcpyAsync(back ? l->message : l->ghost, back ? link->message : link->ghost, (size_t)n * sizeof(PetscScalar), cudaMemcpyHostToDevice, l->stream));
    PetscCallCUDA(cudaEventRecord(l->copied, l->stream));
    PetscCallCUDA(cudaStreamWaitEvent(stream, l->copied, 0));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)n * sizeof(PetscScalar)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
