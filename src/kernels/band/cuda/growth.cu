/* SPDX-License-Identifier: BSD-2-Clause */
/* growth.cu: the CUDA backend's look at the size of the factors */
#include "band.cuh"

/*
  *largest <- max |u_ij|, for the bits of numbers that are not negative are in the order of the numbers. A thread has a
  column of a tile row: the tiles above the diagonal one as they are, and column c of U_jj from X = U_jj^-1, which is
  what is stored:

      X u = e_c,    u_c = 1 / x_cc,    u_r = -(x_r,r+1 u_r+1 + ... + x_rc u_c) / x_rr,   r = c - 1, ..., 0

  Reads the upper half of the factors once. Deterministic: a maximum.
*/
template <typename F>
__global__ void __launch_bounds__(256) SpikeGrowth_Kernel(SpikeTiles t, const F *band, unsigned long long *largest)
{
  const PetscInt64 columns = (PetscInt64)t.np * t.tilerows * t.T;
  double           most    = 0.0;
  PetscScalar      u[32];

  for (PetscInt64 i = blockIdx.x * (PetscInt64)blockDim.x + threadIdx.x; i < columns;
       i += (PetscInt64)gridDim.x * blockDim.x) {
    const int      c = (int)(i % t.T), j = (int)(i / t.T % t.tilerows);
    const PetscInt p = (PetscInt)(i / ((PetscInt64)t.T * t.tilerows));

    if ((PetscInt64)j * t.T + c >= t.start[p + 1] - t.start[p]) continue;
    for (int r = c; r >= 0 && (r == c || t.QU); r--) {
      PetscScalar v = r == c ? (PetscScalar)1.0 : (PetscScalar)0.0;

      for (int k = r + 1; k <= c; k++) v -= SpikeLoad(band + t.diagtile(p, j, r, k)) * u[k];
      u[r]           = v / SpikeLoad(band + t.diag(p, j, r));
      const double m = (double)SpikeAbs(u[r]);
      if (!(m <= most)) most = m <= (double)PETSC_MAX_REAL ? m : (double)PETSC_MAX_REAL;
    }
    for (int q = 1; q <= t.QU; q++) {
      for (int r = q < t.QU ? 0 : c; r < t.T; r++) {
        const double m = (double)SpikeAbs(SpikeLoad(band + t.at(p, j, t.QL + q - 1, r, c)));

        if (!(m <= most)) most = m <= (double)PETSC_MAX_REAL ? m : (double)PETSC_MAX_REAL;
      }
    }
  }
  if (most > 0.0) atomicMax(largest, (unsigned long long)__double_as_longlong(most));
}

template <typename F>
static void SpikeGrowthLaunch_Private(const SpikeBand *s, unsigned long long *largest)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;

  SpikeGrowth_Kernel<F>
    <<<(unsigned int)h->gpu->multiprocessors * 8, 256, 0, (cudaStream_t)s->stream>>>(h->t, (const F *)s->band, largest);
}

PetscErrorCode SpikeGrowth_CUDA(SpikeBand *s, PetscReal *largest)
{
  const cudaStream_t  stream = (cudaStream_t)s->stream;
  unsigned long long *bits;
  double              value;

  PetscFunctionBegin;
  *largest = -1.0;
  /* systems have no U of a common form */
  if (((const SpikeCUDA *)s->data)->tri || s->nbatch) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeCalloc_CUDA(1, (cudaStream_t)s->stream, &bits));
  if (((const SpikeCUDA *)s->data)->pivoted) PetscCall(SpikePivotedGrowth_CUDA(s, bits));
  else SpikeDispatchPrecision(s->precision, SpikeGrowthLaunch_Private<F>(s, bits));
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&value, bits, sizeof(value), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(value)));
  PetscCallCUDA(cudaFree(bits));
  *largest = (PetscReal)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}
