/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl.cuh: messages by NCCL on behalf of any stream */
#pragma once

#include "scalar.cuh"

/*
  Links with different numbers have a communicator and a stream of their own each: what goes by one waits for nothing of
  another. Calls come in the same order on all ranks
*/
PETSC_INTERN PetscErrorCode SpikeLinkConnect_CUDA(MPI_Comm, PetscInt number, void **link);
PETSC_INTERN PetscErrorCode SpikeLinkExchange_CUDA(void *link, cudaStream_t, PetscInt, const SpikeMessage[]);
PETSC_INTERN PetscErrorCode SpikeLinkWait_CUDA(void *link, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeLinkDisconnect_CUDA(void **link);
