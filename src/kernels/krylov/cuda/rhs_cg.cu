/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs_cg.cu: the CUDA backend of rhs.h: small matrices of block CG */
#include "rhs.cuh"

#define SPIKE_BLOCKCG_THREADS 512

/*
  One block: a thread has an element or two of 32 x 32. A pivot costs two barriers and a look at the diagonal by each
  thread
*/
__global__ static void __launch_bounds__(SPIKE_BLOCKCG_THREADS)
  SpikeRhsBlockCG(SpikeBlockCGStep step, int m, int norms, PetscScalar *small, SpikeKrylovScalars *s, size_t stride)
{
  __shared__ __align__(16) char work[sizeof(SpikeBlockCGWork)];

  SpikeAwait();
  SpikeBlockCGRecur(step, m, norms, small, s, stride, (SpikeBlockCGWork *)work);
}

PetscErrorCode SpikeKrylovRhsBlockCG_CUDA(SpikeKrylovRhs *s, SpikeBlockCGStep step, PetscInt m, int norms,
                                          PetscScalar *small)
{
  SpikeRhsCUDA *d = (SpikeRhsCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&d->h.stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCallCUDA(SpikeLaunchEarly(SpikeRhsBlockCG, dim3(1),
                                 dim3(m > 16 ? SPIKE_BLOCKCG_THREADS : SPIKE_BLOCKCG_THREADS / 2), 0, d->h.stream, step,
                                 (int)m, norms, small, &d->device[0].s, sizeof(*d->device)));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}
