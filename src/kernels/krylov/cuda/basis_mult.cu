/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult.cu: products with a copy of a matrix that have the inner products of a basis step in the epilogue */
#include "stencil.cuh"

template <int M>
struct SpikeBasisColumns {
  const PetscScalar *v[M];
};

/* Blocks of a multiprocessor: what the registers of the sums, or of a row's lanes, leave */
__host__ __device__ constexpr int SpikeBasisMultResident(int M, int lanes)
{
  return lanes > 1 && M < 4 ? 2 : 3;
}

/*
  y = A x, and the DOTS of this y over M columns. Moves the copy, x as often as the caches lose it, y and the columns
  once, and with z that. Deterministic.
*/
template <int M, class ROWS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeBasisMultResident(M, ROWS::LANES))
  SpikeBasisMultKernel(ROWS m, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y, SpikeBasisColumns<M> p,
                       const PetscScalar *z, SpikeBasisEnd e)
{
  /* columns that are fetched while a row is summed: as many as have registers */
  constexpr int                    AHEAD = M > 4 ? 2 : M;
  PetscScalar                      d[M + 3];
  __shared__ typename ROWS::Shared rows;

  m.prepare(rows);
  SpikeAwait();
  if (e.device->s.reason) return;
#pragma unroll
  for (int k = 0; k < M + 3; k++) d[k] = 0.0;
  struct Row {
    PetscScalar p[AHEAD];
  };

  const auto fetch = [&](PetscInt row) {
    Row r;

#pragma unroll
    for (int j = 0; j < AHEAD; j++) r.p[j] = p.v[j][row];
    return r;
  };
  m.each(rows, (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, (PetscInt)gridDim.x * blockDim.x, SpikeKrylovEntries{x},
         fetch, [&](PetscInt row, PetscScalar sum, const Row &r) {
#pragma unroll
           for (int j = 0; j < M; j++) d[j] += SpikeKrylovDot(j < AHEAD ? r.p[j < AHEAD ? j : 0] : p.v[j][row], sum);
           y[row] = sum;
           d[M] += SpikeKrylovDot(sum, sum);
           if (z) {
             const PetscScalar c = z[row];

             d[M + 1] += SpikeKrylovDot(c, c);
             d[M + 2] += SpikeKrylovDot(sum, c);
           }
         });
  SpikeBasisLeave<M, 3>(d, M, 0, z ? 3 : 1, M, e.partials);
  SpikeBasisFinish(e);
}

template <int M, class ROWS>
static void SpikeBasisMultLaunch(const SpikeKrylovCUDA *h, const ROWS &m, PetscInt warps, const PetscScalar *x,
                                 const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  const unsigned blocks = (unsigned)
    PetscMax(1, PetscMin(SpikeBasisMultResident(M, ROWS::LANES) * h->gpu->multiprocessors,
                         (warps + SPIKE_KRYLOV_THREADS / 32 - 1) / (SPIKE_KRYLOV_THREADS / 32)));
  SpikeBasisColumns<M> p;

  for (int j = 0; j < M; j++) p.v[j] = b->A[b->first + j];
  SpikeBasisLaunch(SpikeBasisMultKernel<M, ROWS>, h, blocks, e, m, x, b->y, p, b->z, e);
}

template <int M>
static void SpikeBasisMultForm(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, const PetscScalar *x,
                               const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  if (c->base.form == KSP_FUSED_SPMV_DIA) {
    const PetscInt warps = (c->dia.n + 32 / c->dia.T - 1) / (32 / c->dia.T);

    if (c->dia.T == 4) SpikeBasisMultLaunch<M, SpikeDIARows<4>>(h, SpikeDIARows<4>{c->dia}, warps, x, b, e);
    else SpikeBasisMultLaunch<M, SpikeDIARows<1>>(h, SpikeDIARows<1>{c->dia}, warps, x, b, e);
  } else {
    if (c->sell.T == 4)
      SpikeBasisMultLaunch<M, SpikeSellRows<4>>(h, SpikeSellRows<4>{c->sell}, c->sell.slices, x, b, e);
    else SpikeBasisMultLaunch<M, SpikeSellRows<1>>(h, SpikeSellRows<1>{c->sell}, c->sell.slices, x, b, e);
  }
}

/*
  With 1, 2, 4 or 8 columns on one rank, by a stencil with as many as SpikeStencilTakes() says; else the step comes
  behind the product
*/
PetscErrorCode SpikeKrylovBasisMult_CUDA(SpikeKrylov *s, const void *copy, const PetscScalar *x,
                                         const SpikeKrylovBasis *b, const SpikeIDRRecurrence *recurrence)
{
  const SpikeKrylovCUDA     *h = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovCopyCUDA *c = (const SpikeKrylovCopyCUDA *)copy;
  const PetscInt             n = b->last - b->first, rows = SpikeKrylovCopyRows(c);
  const SpikeBasisEnd        e = SpikeKrylovBasisEnd(s, recurrence,
                                                     SpikeKrylovBasisSums(SPIKE_KRYLOV_DOTS, n,
                                                                   b->z ? PETSC_TRUE : PETSC_FALSE, PETSC_FALSE));

  PetscFunctionBegin;
  if ((n != 1 && n != 2 && n != 4 && n != 8) || (c->stencil && !SpikeStencilTakes(n)) || c->loan.begin) {
    PetscCall(SpikeKrylovMult_CUDA(s, copy, SPIKE_KRYLOV_NSTEPS, NULL, x, b->y, NULL));
    PetscCall(SpikeKrylovBasisStep_CUDA(s, SPIKE_KRYLOV_DOTS, b, NULL, recurrence));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  if (c->stencil) PetscCall(SpikeKrylovStencilBasisMult_CUDA(h, c->stencil, x, b, &e));
  else if (n == 1) SpikeBasisMultForm<1>(h, c, x, b, e);
  else if (n == 2) SpikeBasisMultForm<2>(h, c, x, b, e);
  else if (n == 4) SpikeBasisMultForm<4>(h, c, x, b, e);
  else SpikeBasisMultForm<8>(h, c, x, b, e);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(
    PetscLogGpuFlops((PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * (2.0 * c->nz + (2.0 * n + (b->z ? 6.0 : 2.0)) * rows)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
