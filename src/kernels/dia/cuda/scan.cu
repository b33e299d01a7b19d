/* SPDX-License-Identifier: BSD-2-Clause */
/* scan.cu: what chooses the band of PCSPIKE, on the device */
#include "dia.cuh"

#define SPIKE_DIA_SCAN_PARTS 64 /* of a diagonal, in sums along it */

/*
  weight[k SPIKE_DIA_SCAN_PARTS + part] <- the sum of magnitudes along a part of diagonal d0 + k: a block each, in a
  fixed order
*/
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIAScanDiagonals(int d0, PetscInt64 ld, PetscInt n, const PetscScalar *__restrict__ val, PetscReal *weight)
{
  __shared__ PetscReal sums[SPIKE_DIA_THREADS];
  const PetscInt64 each = ((PetscInt64)n + SPIKE_DIA_SCAN_PARTS - 1) / SPIKE_DIA_SCAN_PARTS, begin = blockIdx.x * each,
                   end   = begin + each < n ? begin + each : n;
  const PetscScalar *a   = val + (d0 + (PetscInt64)blockIdx.y) * ld;
  PetscReal          sum = 0.0;

  for (PetscInt64 i = begin + threadIdx.x; i < end; i += SPIKE_DIA_THREADS) sum += SpikeAbs(a[i]);
  sums[threadIdx.x] = sum;
  for (int half = SPIKE_DIA_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) weight[blockIdx.y * SPIKE_DIA_SCAN_PARTS + blockIdx.x] = sums[0];
}

/* fullest[2] <- the most nonzeros in a row, and of those two or more columns from the diagonal */
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIAScanRows(int count, const PetscInt *__restrict__ offset, PetscInt64 ld, PetscInt n,
                   const PetscScalar *__restrict__ val, int *fullest)
{
  __shared__ int   most[2];
  const PetscInt64 i        = SpikeDIAThread();
  int              nonzeros = 0, far = 0;

  if (threadIdx.x < 2) most[threadIdx.x] = 0;
  __syncthreads();
  for (int d = 0; i < n && d < count; d++) {
    const PetscInt o     = offset[d];
    const int      there = val[d * ld + i] == PetscScalar(0.0) ? 0 : 1;

    nonzeros += there;
    if (o > 1 || o < -1) far += there;
  }
  atomicMax(&most[0], nonzeros);
  atomicMax(&most[1], far);
  __syncthreads();
  if (threadIdx.x < 2 && most[threadIdx.x]) atomicMax(&fullest[threadIdx.x], most[threadIdx.x]);
}

PetscErrorCode SpikeDIAScan_CUDA(const SpikeDIA *A, PetscReal weight[], PetscInt fullest[2])
{
  const SpikeDIACUDA *h       = (const SpikeDIACUDA *)A->data;
  const PetscInt      most    = SPIKE_DIA_WORK / SPIKE_DIA_SCAN_PARTS;
  int                 rows[2] = {0, 0};
  PetscReal          *parts;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(A->stream, &stream));
  for (PetscInt d = 0; d < A->count; d++) weight[d] = 0.0;
  fullest[0] = fullest[1] = 0;
  if (!A->n || !A->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(SPIKE_DIA_WORK, &parts));
  for (PetscInt d0 = 0; d0 < A->count; d0 += most) {
    const PetscInt count = PetscMin(most, A->count - d0);

    SpikeDIAScanDiagonals<<<dim3(SPIKE_DIA_SCAN_PARTS, (unsigned)count), SPIKE_DIA_THREADS, 0, stream>>>((int)d0,
                                                                                                         SpikeDIALd(A),
                                                                                                         A->n, A->val,
                                                                                                         h->work);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(parts, h->work, (size_t)count * SPIKE_DIA_SCAN_PARTS * sizeof(PetscReal),
                                  cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)count * SPIKE_DIA_SCAN_PARTS * sizeof(PetscReal)));
    for (PetscInt d = 0; d < count; d++)
      for (PetscInt k = 0; k < SPIKE_DIA_SCAN_PARTS; k++) weight[d0 + d] += parts[d * SPIKE_DIA_SCAN_PARTS + k];
  }
  PetscCall(PetscFree(parts));
  PetscCallCUDA(cudaMemsetAsync(h->work, 0, sizeof(rows), stream));
  PetscCall(
    SpikeDIALaunch(A, A->n, SpikeDIAScanRows, (int)A->count, h->offset, SpikeDIALd(A), A->n, A->val, (int *)h->work));
  PetscCallCUDA(cudaMemcpyAsync(rows, h->work, sizeof(rows), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)sizeof(rows)));
  fullest[0] = rows[0];
  fullest[1] = rows[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIASampleKernel(int count, PetscInt64 ld, PetscInt n, PetscInt rows, const PetscScalar *__restrict__ val,
                       PetscScalar *out)
{
  const PetscInt64 k = SpikeDIAThread();

  if (k >= (PetscInt64)rows * count) return;
  out[k] = val[k % count * ld + k / count * n / rows];
}

PetscErrorCode SpikeDIASample_CUDA(const SpikeDIA *A, PetscInt rows, PetscScalar *out)
{
  const PetscInt64 numbers = (PetscInt64)rows * A->count;
  PetscScalar     *there;
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!numbers) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&there, (size_t)numbers * sizeof(PetscScalar))));
  PetscCall(SpikeDIALaunch(A, numbers, SpikeDIASampleKernel, (int)A->count, SpikeDIALd(A), A->n, rows, A->val, there));
  PetscCallCUDA(cudaMemcpyAsync(out, there, (size_t)numbers * sizeof(PetscScalar), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(there));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)numbers * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
