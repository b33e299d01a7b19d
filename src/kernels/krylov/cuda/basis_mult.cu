/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult.cu: products with the inner products of a basis step in the epilogue */
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

template <int M>
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
    PetscCall(SpikeKrylovRowsDispatch(c, [&](const auto &rows, PetscInt warps) {
      const PetscInt most = SpikeBasisMultResident<M, std::decay_t<decltype(rows)>>() * h->gpu->multiprocessors;

      return launch(rows, (unsigned)SpikeKrylovGrid(most, warps, SPIKE_KRYLOV_THREADS / 32), 0);
    }));
  else if constexpr (SpikeStencilTakes(M)) {
    PetscCall(SpikeStencilPlan_CUDA(S, begin, S->size, S->size[0], S->size[0] * S->size[1], true, true, &plan));
    PetscCall(SpikeStencilDispatch(plan, [&](const auto &rows) { return launch(rows, plan.blocks, plan.shared); }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With 1, 2, 4 or 8 vectors on one rank, by a stencil with as many as SpikeStencilTakes() says; else the step comes
  after the product
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
  if ((n != 1 && n != 2 && n != 4 && n != 8) || (c->stencil && !SpikeStencilTakes(n)) || c->loan.begin ||
      c->loan.block) {
    PetscCall(SpikeKrylovMult_CUDA(s, copy, SPIKE_KRYLOV_NSTEPS, NULL, x, b->y, NULL));
    PetscCall(SpikeKrylovBasisStep_CUDA(s, SPIKE_KRYLOV_DOTS, b, NULL, recurrence));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  if (n == 1) PetscCall(SpikeBasisMultLaunch<1>(h, c, x, b, e));
  else if (n == 2) PetscCall(SpikeBasisMultLaunch<2>(h, c, x, b, e));
  else if (n == 4) PetscCall(SpikeBasisMultLaunch<4>(h, c, x, b, e));
  else PetscCall(SpikeBasisMultLaunch<8>(h, c, x, b, e));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * c->nz + (2.0 * n + (b->z ? 6.0 : 2.0)) * rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}
