/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis_mult.cuh: the kernel of a product with the inner products of a basis step in the epilogue, for copies with
  values of any type
*/
#pragma once

#include "stencil.cuh"

/*
  Thread blocks of a multiprocessor: what the registers of the sums, or of a row's lanes, leave; of a stencil its own
*/
template <int M, class ROWS>
__host__ __device__ constexpr int SpikeBasisMultResident()
{
  if constexpr (SpikeIsStencil<ROWS>) return ROWS::WITHSTEP;
  else return ROWS::LANES > 1 && M < 4 ? 2 : 3;
}

/*
  y = A x, and the DOTS of this y over M vectors. Moves the copy, or the coefficients of the stencil where each point
  has its own, x as often as the caches lose it, y and the vectors once, and with z that. Deterministic.
*/
template <int M, class ROWS>
__device__ static __forceinline__ void SpikeBasisMultRows(const ROWS &m, const PetscScalar *__restrict__ x,
                                                          PetscScalar *__restrict__ y, const SpikeBasisPointers<M> &p,
                                                          const PetscScalar *z, const SpikeBasisEnd &e)
{
  constexpr int AHEAD = M > 4 ? 2 : M; /* vectors that are fetched while a row is summed: as many as have registers */
  PetscScalar   d[M + 3];
  extern __shared__ __align__(16) unsigned char planes[]; /* of a stencil */
  __shared__ typename ROWS::Shared              rows;

  m.prepare(rows);
  SpikeAwait();
  if (e.device->s.reason) return;
  SpikeUnroll(k, M + 3) d[k] = 0.0;
  struct Row {
    PetscScalar p[AHEAD];
  };

  const auto fetch = [&](auto row) {
    Row r;

    SpikeUnroll(j, AHEAD) r.p[j] = p.v[j][row];
    return r;
  };
  const auto finish = [&](auto row, PetscScalar sum, const Row &r) {
    SpikeUnroll(j, M) d[j] += SpikeKrylovDot(j < AHEAD ? r.p[j < AHEAD ? j : 0] : p.v[j][row], sum);
    y[row] = sum;
    SpikeBasisDotsRow<M>(row, sum, z, d);
  };
  if constexpr (SpikeIsStencil<ROWS>) {
    const auto ahead = [&](PetscCount row) {
      SpikeUnroll(j, M) SpikePrefetch(p.v[j] + row);
    };

    m.each(rows, (PetscScalar *)planes, x, fetch, ahead,
           [&](PetscCount row, PetscScalar sum, const Row &r, auto &&) { finish(row, sum, r); });
  } else
    m.each(rows, (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, (PetscInt)gridDim.x * blockDim.x,
           SpikeKrylovEntries{x}, fetch, finish);
  SpikeBasisSums<M, 3>(d, M, z ? 3 : 1, e, 0);
}

template <int M, class ROWS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeBasisMultResident<M, ROWS>())
  SpikeBasisMultKernel(ROWS m, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y, SpikeBasisPointers<M> p,
                       const PetscScalar *z, SpikeBasisEnd e)
{
  SpikeBasisMultRows<M>(m, x, y, p, z, e);
}

/* A stencil stays in the memory of the arguments, the others are faster as copies */
template <int M, class ROWS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeBasisMultResident<M, ROWS>())
  SpikeBasisStencilKernel(const __grid_constant__ ROWS m, const PetscScalar *__restrict__ x,
                          PetscScalar *__restrict__ y, SpikeBasisPointers<M> p, const PetscScalar *z, SpikeBasisEnd e)
{
  SpikeBasisMultRows<M>(m, x, y, p, z, e);
}

template <typename V, int M>
static PetscErrorCode SpikeBasisMultLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, const PetscScalar *x,
                                           const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  const SpikeStencil   *S       = c->stencil;
  const PetscInt        begin[] = {0, 0, 0};
  SpikeBasisPointers<M> p;
  SpikeStencilPlan      plan;

  const auto launch = [&](const auto &rows, unsigned blocks, size_t shared) {
    using ROWS         = std::decay_t<decltype(rows)>;
    const size_t bytes = PetscMax(shared, SpikeBasisShared(e));
    void (*kernel)(ROWS, const PetscScalar *, PetscScalar *, SpikeBasisPointers<M>, const PetscScalar *, SpikeBasisEnd);

    PetscFunctionBegin;
    if constexpr (SpikeIsStencil<ROWS>) kernel = SpikeBasisStencilKernel<M, ROWS>;
    else kernel = SpikeBasisMultKernel<M, ROWS>;
    PetscCallCUDA(
      SpikeLaunchBehind(kernel, dim3(blocks), dim3(SPIKE_KRYLOV_THREADS), bytes, h->stream, rows, x, b->y, p, b->z, e));
    PetscFunctionReturn(PETSC_SUCCESS);
  };

  PetscFunctionBegin;
  for (int j = 0; j < M; j++) p.v[j] = b->A[b->first + j];
  if (!S)
    PetscCall(SpikeKrylovRowsDispatch<V>(c, [&](const auto &rows, PetscInt warps) {
      const PetscInt most = SpikeBasisMultResident<M, std::decay_t<decltype(rows)>>() * h->gpu->multiprocessors;

      return launch(rows, (unsigned)SpikeKrylovGrid(most, warps, SPIKE_KRYLOV_THREADS / 32), 0);
    }));
  else if constexpr (SpikeStencilTakes(M) && std::is_same_v<V, PetscScalar>) {
    PetscCall(SpikeStencilPlan_CUDA(S, begin, S->size, S->size[0], S->size[0] * S->size[1], true, true, &plan));
    PetscCall(SpikeStencilDispatch(plan, [&](const auto &rows) { return launch(rows, plan.blocks, plan.shared); }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With n = 1, 2, 4 or 8 vectors */
template <typename V>
static PetscErrorCode SpikeBasisMultValues(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, const PetscScalar *x,
                                           const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  const PetscInt n = b->last - b->first;

  PetscFunctionBegin;
  if (n == 1) PetscCall((SpikeBasisMultLaunch<V, 1>(h, c, x, b, e)));
  else if (n == 2) PetscCall((SpikeBasisMultLaunch<V, 2>(h, c, x, b, e)));
  else if (n == 4) PetscCall((SpikeBasisMultLaunch<V, 4>(h, c, x, b, e)));
  else PetscCall((SpikeBasisMultLaunch<V, 8>(h, c, x, b, e)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
