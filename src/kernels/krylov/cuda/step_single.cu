/* SPDX-License-Identifier: BSD-2-Clause */
/* step_single.cu: steps with a diagonal matrix in single precision */
#include "step.cuh"

/* As SpikeKrylovStepLaunch_CUDA() */
static PetscErrorCode SpikeKrylovSingleLaunch(const SpikeKrylovCUDA *h, SpikeKrylovStep step, PetscInt n,
                                              const SpikeKrylovVectors *v, bool wide, bool recur, PetscInt *blocks)
{
  PetscFunctionBegin;
  switch (step) {
#define SPIKE_KRYLOV_CASE(ID, name, D) \
  case SPIKE_##ID: \
    PetscCall((SpikeKrylovLaunch<SPIKE_##ID, D>(h, n, v, wide, recur, blocks))); \
    break;
    SPIKE_KRYLOV_DIAGONALS(SPIKE_KRYLOV_CASE)
#undef SPIKE_KRYLOV_CASE
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %s has no diagonal matrix", SpikeKrylovSteps[step].name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovSingleStep_CUDA(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[])
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovStepStart(s, step, n, v, SpikeKrylovSingleLaunch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ static void SpikeKrylovToSingle(PetscInt n, const PetscScalar *x, SpikeSingle *d)
{
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    d[i] = SpikeSingle(x[i]);
}

__global__ static void SpikeKrylovBySingle(PetscInt n, const SpikeSingle *d, const PetscScalar *x, PetscScalar *y)
{
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    y[i] = SpikeKrylovMul(SpikeLoad(d + i), x[i]);
}

static unsigned SpikeKrylovSingleBlocks(PetscInt n)
{
  return (unsigned)SpikeKrylovGrid(4096, n, SPIKE_KRYLOV_THREADS);
}

PetscErrorCode SpikeKrylovToSingle_CUDA(PetscInt n, const PetscScalar *x, void *d)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  SpikeKrylovToSingle<<<SpikeKrylovSingleBlocks(n), SPIKE_KRYLOV_THREADS, 0, stream>>>(n, x, (SpikeSingle *)d);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBySingle_CUDA(PetscInt n, const void *d, const PetscScalar *x, PetscScalar *y)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  SpikeKrylovBySingle<<<SpikeKrylovSingleBlocks(n), SPIKE_KRYLOV_THREADS, 0, stream>>>(n, (const SpikeSingle *)d, x, y);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(SpikeKrylovSteps[SPIKE_DIAGONAL].flops * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
