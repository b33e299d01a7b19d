/* SPDX-License-Identifier: BSD-2-Clause */
/* link.cuh: messages by NCCL on behalf of any stream (spike_nccl.cu): what exchange() and wait() of the table do for that of a band */
#pragma once

#include "spike_cuda.cuh"

PETSC_INTERN PetscErrorCode SpikeLinkExchange_CUDA(void *link, cudaStream_t, PetscInt, const SpikeMessage[]);
PETSC_INTERN PetscErrorCode SpikeLinkWait_CUDA(void *link, cudaStream_t);
