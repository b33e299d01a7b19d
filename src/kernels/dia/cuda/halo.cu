/* SPDX-License-Identifier: BSD-2-Clause */
/*
  halo.cu: messages of a halo between devices: by NCCL where each rank has a device of its own, by MPI from the memory
  of the device where MPI can, else by way of the host's memory. Each group of messages has streams, events and a
  communicator of its own.

  The event `packed` comes after all work before a product, and what is received is written after it: no message and no
  halo is overwritten before the kernels of the previous product have read it.
*/
#include "dia.cuh"
#include "kernels/common/cuda/nccl.cuh"

/* Values that lie together in an array, of messages of one group */
typedef struct {
  PetscInt at, n;
} SpikePiece;

typedef struct {
  void        *nccl; /* NULL: by MPI */
  PetscInt     npieces[2];
  SpikePiece  *piece[2]; /* of message[] and of ghost[] */
  cudaStream_t stream;   /* of the copies               */
  cudaEvent_t  packed, copied;
} SpikeGroup;

typedef struct {
  PetscInt     ngroups;
  SpikeGroup   group[SPIKE_DIA_GROUPS];
  PetscBool    nccl, aware;
  PetscScalar *message, *ghost; /* on the device */
} SpikeHaloLinkCUDA;

static PetscErrorCode SpikePieces_Private(const SpikeHaloMessages *m, PetscInt group, PetscInt *count,
                                          SpikePiece **piece)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m->n, piece));
  for (PetscInt k = 0; k < m->n; k++) {
    if (m->group[k] != group) continue;
    if (n && (*piece)[n - 1].at + (*piece)[n - 1].n == m->at[k]) (*piece)[n - 1].n += m->at[k + 1] - m->at[k];
    else {
      (*piece)[n].at  = m->at[k];
      (*piece)[n++].n = m->at[k + 1] - m->at[k];
    }
  }
  *count = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAConnect_CUDA(MPI_Comm comm, PetscBool aware, PetscInt ngroups, const SpikeHaloMessages *message,
                                    const SpikeHaloMessages *ghost, SpikeHaloLink **link)
{
  SpikeHaloLinkCUDA *l;

  PetscFunctionBegin;
  PetscCall(PetscNew(link));
  PetscCall(PetscNew(&l));
  (*link)->data = (void *)l;
  l->ngroups    = ngroups;
  l->message    = message->array;
  l->ghost      = ghost->array;
  l->aware      = aware;
  for (PetscInt k = 0; k < ngroups; k++) {
    SpikeGroup *g = &l->group[k];

    PetscCall(SpikePieces_Private(message, k, &g->npieces[0], &g->piece[0]));
    PetscCall(SpikePieces_Private(ghost, k, &g->npieces[1], &g->piece[1]));
    PetscCallCUDA(cudaEventCreateWithFlags(&g->packed, cudaEventDisableTiming));
    PetscCallCUDA(cudaEventCreateWithFlags(&g->copied, cudaEventDisableTiming));
    PetscCallCUDA(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    PetscCall(SpikeLinkConnect_CUDA(comm, k, &g->nccl));
  }
  l->nccl        = (PetscBool)(l->group[0].nccl != NULL);
  (*link)->apart = l->nccl;
  (*link)->name  = l->nccl ? "NCCL" : (aware ? "GPU-aware MPI" : "MPI through the host");
  if (l->nccl || aware) {
    (*link)->message = l->message;
    (*link)->ghost   = l->ghost;
  } else {
    PetscCall(SpikeAllocated_CUDA(
      cudaMallocHost((void **)&(*link)->message, (size_t)PetscMax(1, message->at[message->n]) * sizeof(PetscScalar))));
    PetscCall(SpikeAllocated_CUDA(
      cudaMallocHost((void **)&(*link)->ghost, (size_t)PetscMax(1, ghost->at[ghost->n]) * sizeof(PetscScalar))));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIADisconnect_CUDA(SpikeHaloLink **link)
{
  SpikeHaloLinkCUDA *l;

  PetscFunctionBegin;
  if (!*link) PetscFunctionReturn(PETSC_SUCCESS);
  l = (SpikeHaloLinkCUDA *)(*link)->data;
  for (PetscInt k = 0; k < l->ngroups; k++)
    if (l->group[k].stream) PetscCallCUDA(cudaStreamSynchronize(l->group[k].stream));
  if ((*link)->message != l->message) PetscCallCUDA(cudaFreeHost((*link)->message));
  if ((*link)->ghost != l->ghost) PetscCallCUDA(cudaFreeHost((*link)->ghost));
  for (PetscInt k = 0; k < l->ngroups; k++) {
    SpikeGroup *g = &l->group[k];

    PetscCall(SpikeLinkDisconnect_CUDA(&g->nccl));
    if (g->stream) PetscCallCUDA(cudaStreamDestroy(g->stream));
    if (g->packed) PetscCallCUDA(cudaEventDestroy(g->packed));
    if (g->copied) PetscCallCUDA(cudaEventDestroy(g->copied));
    PetscCall(PetscFree(g->piece[0]));
    PetscCall(PetscFree(g->piece[1]));
  }
  PetscCall(PetscFree(l));
  PetscCall(PetscFree(*link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The group's values of message[], or of ghost[], between host and device, on its stream */
static PetscErrorCode SpikeGroupCopy_Private(const SpikeHaloLink *link, const SpikeGroup *g, PetscBool ghost,
                                             PetscBool down)
{
  const SpikeHaloLinkCUDA *l    = (const SpikeHaloLinkCUDA *)link->data;
  PetscScalar             *host = ghost ? link->ghost : link->message, *device = ghost ? l->ghost : l->message;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < g->npieces[ghost]; k++) {
    const PetscInt at    = g->piece[ghost][k].at;
    const size_t   bytes = (size_t)g->piece[ghost][k].n * sizeof(PetscScalar);

    PetscCallCUDA(cudaMemcpyAsync((down ? host : device) + at, (down ? device : host) + at, bytes,
                                  down ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, g->stream));
    if (down) PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
    else PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIALeave_CUDA(void *given, SpikeHaloLink *link, PetscInt group, PetscBool back)
{
  const SpikeHaloLinkCUDA *l = (const SpikeHaloLinkCUDA *)link->data;
  const SpikeGroup        *g = &l->group[group];
  cudaStream_t             stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(given, &stream));
  PetscCallCUDA(cudaEventRecord(g->packed, stream));
  if (l->aware) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaStreamWaitEvent(g->stream, g->packed, 0));
  PetscCall(SpikeGroupCopy_Private(link, g, back, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAReady_CUDA(SpikeHaloLink *link, PetscInt group)
{
  const SpikeHaloLinkCUDA *l = (const SpikeHaloLinkCUDA *)link->data;

  PetscFunctionBegin;
  if (l->aware) PetscCallCUDA(cudaEventSynchronize(l->group[group].packed));
  else PetscCallCUDA(cudaStreamSynchronize(l->group[group].stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAExchange_CUDA(void *given, SpikeHaloLink *link, PetscInt group, PetscInt count,
                                     const SpikeMessage m[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(given, &stream));
  PetscCall(SpikeLinkExchange_CUDA(((SpikeHaloLinkCUDA *)link->data)->group[group].nccl, stream, count, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIAArrive_CUDA(void *given, SpikeHaloLink *link, PetscInt group, PetscBool back)
{
  const SpikeHaloLinkCUDA *l = (const SpikeHaloLinkCUDA *)link->data;
  const SpikeGroup        *g = &l->group[group];
  cudaStream_t             stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(given, &stream));
  if (l->nccl) PetscCall(SpikeLinkWait_CUDA(g->nccl, stream));
  else if (!l->aware && g->npieces[!back]) {
    PetscCall(SpikeGroupCopy_Private(link, g, (PetscBool)!back, PETSC_FALSE));
    PetscCallCUDA(cudaEventRecord(g->copied, g->stream));
    PetscCallCUDA(cudaStreamWaitEvent(stream, g->copied, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
