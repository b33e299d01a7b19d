/* SPDX-License-Identifier: BSD-2-Clause */
/* definite.cu: whether all pivots of a hermitian matrix are positive, after its factorization by LU */
#include "band.cuh"

/*
  Of each partition the first row whose pivot has no positive real part, with what it is, joins the bad pivots that the
  factorization reports, where it comes before those of all partitions so far. A partition's rows are shared by the
  threads of a block. Reads the diagonal of the factors, inverses of the pivots, once. Deterministic: the first row.
*/
template <typename F>
__global__ void __launch_bounds__(256)
  SpikeDefinite_Kernel(SpikeTiles t, const F *band, SpikeStatus *status, double *badvalue)
{
  __shared__ unsigned int first;

  for (PetscInt p = (PetscInt)blockIdx.x; p < t.np; p += (PetscInt)gridDim.x) {
    const PetscInt n = t.start[p + 1] - t.start[p];

    if (threadIdx.x == 0) first = 0xFFFFFFFFu;
    __syncthreads();
    for (PetscInt i = (PetscInt)threadIdx.x; i < n; i += (PetscInt)blockDim.x)
      if (!(PetscRealPart(SpikeLoad(band + t.diag(p, (int)(i / t.T), (int)(i % t.T)))) > (PetscReal)0.0))
        atomicMin(&first, (unsigned int)i);
    __syncthreads();
    if (threadIdx.x == 0 && first != 0xFFFFFFFFu) {
      const unsigned long long key = ~((unsigned long long)t.start[p] + first);

      if (key > atomicMax(&status->badrow, key))
        badvalue[p] = 1.0 / (double)PetscRealPart(SpikeLoad(band + t.diag(p, (int)(first / t.T), (int)(first % t.T))));
    }
    __syncthreads();
  }
}

template <typename F>
static void SpikeDefiniteLaunch_Private(const SpikeBand *s)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;

  SpikeDefinite_Kernel<F><<<(unsigned int)PetscMin(s->np, (PetscInt)h->gpu->multiprocessors * 8), 256, 0,
                            (cudaStream_t)s->stream>>>(h->t, (const F *)s->band, &h->report->factor, h->badvalue);
}

PetscErrorCode SpikeDefinite_CUDA(SpikeBand *s)
{
  PetscFunctionBegin;
  SpikeDispatchPrecision(s->precision, SpikeDefiniteLaunch_Private<F>(s));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
