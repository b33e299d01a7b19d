/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl.cu: messages between neighbouring ranks that stay on the devices, by NCCL */
#include "nccl.cuh"

#if defined(__has_include)
  #if __has_include(<nccl.h>)
    #define SPIKE_HAVE_NCCL
  #endif
#endif

#if defined(SPIKE_HAVE_NCCL)
  #include <nccl.h>
  #include <dlfcn.h>

/*
  NCCL is looked up when it is first wanted, so that the library loads where there is none; it stays for the life of the
  process
*/
static struct {
  void *library;
  ncclResult_t (*GetUniqueId)(ncclUniqueId *);
  ncclResult_t (*CommInitRank)(ncclComm_t *, int, ncclUniqueId, int);
  ncclResult_t (*CommDestroy)(ncclComm_t);
  ncclResult_t (*Send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  ncclResult_t (*Recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  ncclResult_t (*GroupStart)(void);
  ncclResult_t (*GroupEnd)(void);
  const char *(*GetErrorString)(ncclResult_t);
} nccl;

  #define SpikeCallNCCL(call) \
    do { \
      const ncclResult_t nccl_result_ = (call); \
      PetscCheck(nccl_result_ == ncclSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "NCCL: %s", \
                 nccl.GetErrorString(nccl_result_)); \
    } while (0)

/*
  A communicator of NCCL, which takes a few tenths of a second to make. One serves all communicators of MPI with the
  same ranks in the same order on the same devices, for links of one number, until PetscFinalize(). Its messages travel
  on a stream of its own, beside other work of the device and messages of links with other numbers. None waits for ever:
  all ranks enqueue them in one order, and no cooperative kernel waits for messages that are enqueued after it
*/
typedef struct SpikeNetwork SpikeNetwork;
struct SpikeNetwork {
  MPI_Comm      mpi; /* with its ranks */
  int           device;
  PetscInt      number;
  ncclComm_t    comm;
  cudaStream_t  stream;
  SpikeNetwork *next;
};
static SpikeNetwork *networks = NULL;

/* What one preconditioner, or a matrix, has of it */
struct SpikeLink {
  SpikeNetwork *network;
  cudaEvent_t   ready, done;
};

static bool SpikeLookUp_Private(const char *name, void *function)
{
  void *address = dlsym(nccl.library, name);

  memcpy(function, &address, sizeof(address));
  return address != NULL;
}

/* Whether NCCL is there with all functions; looked for once */
static bool SpikeLoadNCCL_Private(void)
{
  static bool tried = false, usable = false;

  if (tried) return usable;
  tried        = true;
  nccl.library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  usable       = nccl.library && SpikeLookUp_Private("ncclGetUniqueId", &nccl.GetUniqueId) &&
           SpikeLookUp_Private("ncclCommInitRank", &nccl.CommInitRank) &&
           SpikeLookUp_Private("ncclCommDestroy", &nccl.CommDestroy) && SpikeLookUp_Private("ncclSend", &nccl.Send) &&
           SpikeLookUp_Private("ncclRecv", &nccl.Recv) && SpikeLookUp_Private("ncclGroupStart", &nccl.GroupStart) &&
           SpikeLookUp_Private("ncclGroupEnd", &nccl.GroupEnd) &&
           SpikeLookUp_Private("ncclGetErrorString", &nccl.GetErrorString);
  return usable;
}

/* NCCL wants a device for each rank: whether all ranks have it, and no two of a node share one */
static PetscErrorCode SpikeDevicesApart_Private(MPI_Comm comm, PetscBool *apart)
{
  struct {
    char host[128], device[32];
  } mine, *all;
  PetscMPIInt size;
  int         device;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMemzero(&mine, sizeof(mine)));
  PetscCall(PetscGetHostName(mine.host, sizeof(mine.host)));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetPCIBusId(mine.device, sizeof(mine.device), device));
  if (!SpikeLoadNCCL_Private()) mine.device[0] = 0;
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, comm));
  *apart = PETSC_TRUE;
  for (PetscMPIInt r = 0; r < size && *apart; r++) {
    if (!all[r].device[0]) *apart = PETSC_FALSE;
    for (PetscMPIInt q = 0; q < r; q++)
      if (!memcmp(&all[q], &all[r], sizeof(mine))) *apart = PETSC_FALSE;
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeNetworksDestroy_Private(void)
{
  PetscFunctionBegin;
  while (networks) {
    SpikeNetwork *next = networks->next;

    PetscCallCUDA(cudaStreamSynchronize(networks->stream));
    SpikeCallNCCL(nccl.CommDestroy(networks->comm));
    PetscCallCUDA(cudaStreamDestroy(networks->stream));
    PetscCallMPI(MPI_Comm_free(&networks->mpi));
    PetscCall(PetscFree(networks));
    networks = next;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: the network that all ranks have, else a new one */
static PetscErrorCode SpikeNetworkGet_Private(MPI_Comm comm, PetscInt number, SpikeNetwork **network)
{
  SpikeNetwork *n;
  PetscBool     mine, all;
  PetscMPIInt   size, rank;
  ncclUniqueId  id;
  int           device, least, greatest;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  for (n = networks; n; n = n->next) {
    PetscMPIInt same;

    PetscCallMPI(MPI_Comm_compare(comm, n->mpi, &same));
    if (n->device == device && n->number == number && (same == MPI_IDENT || same == MPI_CONGRUENT)) break;
  }
  mine = (PetscBool)(n != NULL);
  PetscCallMPI(MPIU_Allreduce(&mine, &all, 1, MPI_C_BOOL, MPI_LAND, comm));
  if (!all) {
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCall(PetscNew(&n));
    n->device = device;
    n->number = number;
    if (!rank) SpikeCallNCCL(nccl.GetUniqueId(&id));
    PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm));
    SpikeCallNCCL(nccl.CommInitRank(&n->comm, size, id, rank));
    PetscCallMPI(MPI_Comm_dup(comm, &n->mpi));
    /* else its blocks wait for all of a product that was launched before them */
    PetscCallCUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    PetscCallCUDA(cudaStreamCreateWithPriority(&n->stream, cudaStreamNonBlocking, greatest));
    if (!networks) PetscCall(PetscRegisterFinalize(SpikeNetworksDestroy_Private));
    n->next  = networks;
    networks = n;
  }
  *network = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeLinkConnect_CUDA(MPI_Comm comm, PetscInt number, void **link)
{
  SpikeLink *l;
  PetscBool  apart = PETSC_FALSE;

  PetscFunctionBegin;
  *link = NULL;
  PetscCall(SpikeDevicesApart_Private(comm, &apart));
  if (!apart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&l));
  PetscCall(SpikeNetworkGet_Private(comm, number, &l->network));
  PetscCallCUDA(cudaEventCreateWithFlags(&l->ready, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventCreateWithFlags(&l->done, cudaEventDisableTiming));
  *link = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeLinkDisconnect_CUDA(void **link)
{
  SpikeLink *l = (SpikeLink *)*link;

  PetscFunctionBegin;
  if (!l) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaStreamSynchronize(l->network->stream));
  PetscCallCUDA(cudaEventDestroy(l->ready));
  PetscCallCUDA(cudaEventDestroy(l->done));
  PetscCall(PetscFree(l));
  *link = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All messages as one group, column by column: bytes go from array to array, and no host waits */
PetscErrorCode SpikeLinkExchange_CUDA(void *link, cudaStream_t stream, PetscInt count, const SpikeMessage m[])
{
  SpikeLink     *l    = (SpikeLink *)link;
  SpikeNetwork  *net  = l->network;
  const int      each = (int)(sizeof(PetscScalar) / sizeof(PetscReal));
  ncclDataType_t type = sizeof(PetscReal) == 8 ? ncclDouble : ncclFloat;

  PetscFunctionBegin;
  PetscCallCUDA(cudaEventRecord(l->ready, stream));
  PetscCallCUDA(cudaStreamWaitEvent(net->stream, l->ready, 0));
  SpikeCallNCCL(nccl.GroupStart());
  for (PetscInt i = 0; i < count; i++) {
    for (PetscInt c = 0; m[i].n && c < m[i].nrhs; c++) {
      PetscScalar *data = m[i].data + (PetscCount)c * m[i].ld;

      if (m[i].send) SpikeCallNCCL(nccl.Send(data, (size_t)m[i].n * each, type, m[i].peer, net->comm, net->stream));
      else SpikeCallNCCL(nccl.Recv(data, (size_t)m[i].n * each, type, m[i].peer, net->comm, net->stream));
    }
  }
  SpikeCallNCCL(nccl.GroupEnd());
  PetscCallCUDA(cudaEventRecord(l->done, net->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work enqueued after this call sees what the messages brought */
PetscErrorCode SpikeLinkWait_CUDA(void *link, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamWaitEvent(stream, ((SpikeLink *)link)->done, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode SpikeLinkConnect_CUDA(MPI_Comm, PetscInt, void **link)
{
  PetscFunctionBegin;
  *link = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeLinkDisconnect_CUDA(void **)
{
  return PETSC_SUCCESS;
}

PetscErrorCode SpikeLinkExchange_CUDA(void *, cudaStream_t, PetscInt, const SpikeMessage[])
{
  return PETSC_ERR_SUP;
}

PetscErrorCode SpikeLinkWait_CUDA(void *, cudaStream_t)
{
  return PETSC_ERR_SUP;
}
#endif
