/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_narrow.cu: narrow vectors of DOTS */
#include "basis_dots.cuh"

PetscErrorCode SpikeBasisDotsNarrow_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  PetscFunctionBegin;
  if constexpr (std::is_same_v<PetscReal, double>) PetscCall(SpikeDotsSelect<SpikeBF16>(h, b, e));
  else SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "PetscReal has no more digits");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads x once, writes y once */
__global__ static void SpikeBasisToShadow(PetscInt n, const PetscScalar *x, SpikeBF16 *y)
{
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    y[i] = SpikeBF16(x[i]);
}

PetscErrorCode SpikeKrylovToShadow_CUDA(PetscInt n, const PetscScalar *x, void *y)
{
  const PetscInt blocks = PetscMax(1, PetscMin(4096, (n + SPIKE_KRYLOV_THREADS - 1) / SPIKE_KRYLOV_THREADS));
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  SpikeBasisToShadow<<<(unsigned)blocks, SPIKE_KRYLOV_THREADS, 0, stream>>>(n, x, (SpikeBF16 *)y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
