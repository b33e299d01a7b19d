/* SPDX-License-Identifier: BSD-2-Clause */
/*
  gbcgnode.h: for benchmarks/gbcg and gbcgablation: a line that says what messages between ranks travel by, and what MPI
  and the GPUs of the node could do
*/
#pragma once

#include <petscspike.h>
#include <dlfcn.h>
#include "mat_dia/diaimpl.h"
#if defined(SPIKE_HAVE_CUDA)
  #include <petscdevice_cuda.h>

/*
  Of all pairs of GPUs that this process sees: those that reach each other's memory, and those that do so over a link
  with atomic operations, as NVLink has them and PCIe has not
*/
static inline PetscErrorCode NodePeers(int *gpus, int *pairs, int *peers, int *links)
{
  PetscFunctionBegin;
  *pairs = *peers = *links = 0;
  PetscCallCUDA(cudaGetDeviceCount(gpus));
  for (int i = 0; i < *gpus; i++)
    for (int j = 0; j < i; j++) {
      int reach = 0, atomic = 0;

      PetscCallCUDA(cudaDeviceCanAccessPeer(&reach, i, j));
      if (reach) PetscCallCUDA(cudaDeviceGetP2PAttribute(&atomic, cudaDevP2PAttrNativeAtomicSupported, i, j));
      ++*pairs;
      *peers += reach;
      *links += atomic;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
  A: a MATDIA of the run, assembled. MPI is asked at run time: another one may have been put in the place of that at
  build time
*/
static inline PetscErrorCode NodePrint(Mat A)
{
  const Mat_DIA *a     = (const Mat_DIA *)A->data;
  int (*aware)(void)   = NULL;
  void       *function = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (function) memcpy(&aware, &function, sizeof(aware));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d ranks, %s, messages of MATDIA by %s", (int)size,
                        a->cuda ? "CUDA" : "host", size == 1 ? "none" : (a->halo.link ? a->halo.link->name : "MPI")));
#if defined(SPIKE_HAVE_CUDA)
  if (a->cuda) {
    int gpus, pairs, peers, links;

    PetscCall(NodePeers(&gpus, &pairs, &peers, &links));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "; MPI %s memory of GPUs; %d GPUs, of %d pairs %d reach each other, %d by NVLink",
                          !aware ? "does not say whether it reads" : ((*aware)() ? "reads" : "does not read"), gpus,
                          pairs, peers, links));
  }
#endif
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
