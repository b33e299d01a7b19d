/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.cu: messages of a band by NCCL */
#include "band.cuh"
#include "kernels/common/cuda/nccl.cuh"

PetscErrorCode SpikeConnect_CUDA(SpikeBand *, MPI_Comm comm, void **link)
{
  PetscFunctionBegin;
  PetscCall(SpikeLinkConnect_CUDA(comm, 0, link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeExchange_CUDA(SpikeBand *s, void *link, PetscInt count, const SpikeMessage m[])
{
  PetscFunctionBegin;
  PetscCall(SpikeLinkExchange_CUDA(link, (cudaStream_t)s->stream, count, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeWait_CUDA(SpikeBand *s, void *link)
{
  PetscFunctionBegin;
  PetscCall(SpikeLinkWait_CUDA(link, (cudaStream_t)s->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
