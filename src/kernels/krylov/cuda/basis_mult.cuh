/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis_mult.cuh: the kernel of a product with the inner products of a basis step in the epilogue, for copies with
  values of any type and for blocks
*/
#pragma once

#include "stencil.cuh"

/*
  Thread blocks of a multiprocessor: what the registers of the sums, or of a row's lanes, leave; of a stencil its own.
  At most 4, so that two kernels have no more than SpikeKrylovMostBlocks()
*/
template <int M, class MATRIX>
__host__ __device__ constexpr int SpikeBasisMultResident()
{
  if constexpr (SpikeIsStencil<MATRIX>) return MATRIX::WITHSTEP;
  else return MATRIX::LANES > 1 && M < 4 ? 2 : 3;
}

/* The elements of the vectors beside this matrix: narrow ones beside narrow values, if numbers have such */
template <class MATRIX>
using SpikeBasisColumn = std::conditional_t<SpikeHasNarrow<MATRIX> && std::is_same_v<PetscReal, double>, SpikeBF16,
                                            PetscScalar>;

/*
  y = A x, and the DOTS of this y over M vectors, which are bf16 beside narrow values. Moves the copy, or the
  coefficients of the stencil where each point has its own, x as often as the caches lose it, y and the vectors once,
  and with z that. Deterministic. Rows that wait for columns of other ranks keep their sums in y for the next kernel,
  which reads y and the vectors of these rows again
*/
template <int M, class MATRIX>
__device__ static __forceinline__ void SpikeBasisMultRows(const MATRIX &m, const PetscScalar *x,
                                                          PetscScalar *__restrict__ y,
                                                          const SpikeBasisPointers<M, SpikeBasisColumn<MATRIX>> &p,
                                                          const PetscScalar *z, const SpikeBasisEnd &e, unsigned before,
                                                          unsigned total)
{
  /* vectors that are fetched while a row is summed: as many as have registers */
  constexpr int     FETCHAHEAD = M > 4 ? 2 : M;
  PetscScalar       d[M + 3];
  extern __shared__ __align__(16) unsigned char planes[]; /* of a stencil */
  __shared__ typename MATRIX::SharedMemory      rows;

  m.prepare(rows);
  SpikeAwait();
  if (e.device->s.reason) return;
  SpikeUnroll(k, M + 3) d[k] = 0.0;
  struct Row {
    SpikeBasisColumn<MATRIX> p[FETCHAHEAD];
  };

  const auto fetch = [&](auto row) {
    Row r;

    SpikeUnroll(j, FETCHAHEAD) r.p[j] = p.v[j][row];
    return r;
  };
  const auto finish = [&](auto row, PetscScalar sum, const Row &r) {
    if constexpr (SpikeKrylovIsInside<MATRIX>) {
      if (m.waits(row)) {
        y[row] = sum;
        return;
      }
    }
    SpikeUnroll(j, M) {
      const auto pj = j < FETCHAHEAD ? r.p[j < FETCHAHEAD ? j : 0] : p.v[j][row];

      d[j] += SpikeKrylovDot(SpikeLoad(&pj), sum);
    }
    y[row] = sum;
    SpikeBasisDotsRow<M>(row, sum, z, d);
  };
  if constexpr (SpikeIsStencil<MATRIX>) {
    const auto ahead = [&](PetscCount row) {
      SpikeUnroll(j, M) SpikePrefetch(p.v[j] + row);
    };

    m.each(rows, (PetscScalar *)planes, x, fetch, ahead,
           [&](PetscCount row, PetscScalar sum, const Row &r, auto &&) { finish(row, sum, r); });
  } else
    m.each(rows, (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, (PetscInt)gridDim.x * blockDim.x,
           SpikeKrylovEntries{x}, fetch, finish);
  SpikeBasisSums<M, 3>(d, M, z ? 3 : 1, e, 0, before, total);
}

template <int M, class MATRIX>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeBasisMultResident<M, MATRIX>())
  SpikeBasisMultKernel(MATRIX m, const PetscScalar *x, PetscScalar *__restrict__ y,
                       SpikeBasisPointers<M, SpikeBasisColumn<MATRIX>> p, const PetscScalar *z, SpikeBasisEnd e,
                       unsigned before, unsigned total)
{
  SpikeBasisMultRows<M>(m, x, y, p, z, e, before, total);
}

/* A stencil stays in the memory of the arguments, the others are faster as copies */
template <int M, class MATRIX>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeBasisMultResident<M, MATRIX>())
  SpikeBasisStencilKernel(const __grid_constant__ MATRIX m, const PetscScalar *x, PetscScalar *__restrict__ y,
                          SpikeBasisPointers<M> p, const PetscScalar *z, SpikeBasisEnd e, unsigned before,
                          unsigned total)
{
  SpikeBasisMultRows<M>(m, x, y, p, z, e, before, total);
}

template <int M, class MATRIX>
static PetscErrorCode SpikeBasisMultStart(const SpikeKrylovCUDA *h, const MATRIX &rows, unsigned blocks, size_t shared,
                                          const SpikeBasisMultArgs *a)
{
  using T = SpikeBasisColumn<MATRIX>;

  const SpikeKrylovBasis  *b     = a->b;
  const size_t             bytes = PetscMax(shared, SpikeBasisShared(a->e));
  SpikeBasisPointers<M, T> p;
  void (*kernel)(MATRIX, const PetscScalar *, PetscScalar *, SpikeBasisPointers<M, T>, const PetscScalar *,
                 SpikeBasisEnd, unsigned, unsigned);

  PetscFunctionBegin;
  for (int j = 0; j < M; j++) p.v[j] = (T *)b->A[b->first + j];
  if constexpr (SpikeIsStencil<MATRIX>) kernel = SpikeBasisStencilKernel<M, MATRIX>;
  else kernel = SpikeBasisMultKernel<M, MATRIX>;
  /* with what blocks always have it may be more than a kernel has without asking for it */
  if (bytes && !SpikeIsStencil<MATRIX>) PetscCall(SpikeKernelFit((const void *)kernel, SPIKE_KRYLOV_THREADS, bytes));
  PetscCallCUDA(SpikeLaunchEarly(kernel, dim3(blocks), dim3(SPIKE_KRYLOV_THREADS), bytes, h->stream, rows, a->x, b->y,
                                 p, b->z, a->e, (unsigned)a->before, (unsigned)a->total));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without arguments only the thread blocks */
template <int M, class MATRIX>
static PetscErrorCode SpikeBasisMultLaunch(const SpikeKrylovCUDA *h, const MATRIX &rows, PetscInt warps,
                                           const SpikeBasisMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  *blocks = SpikeKrylovGrid(SpikeBasisMultResident<M, MATRIX>() * h->gpu->multiprocessors, warps,
                            SPIKE_KRYLOV_THREADS / 32);
  if (a) PetscCall(SpikeBasisMultStart<M>(h, rows, (unsigned)*blocks, 0, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With columns of other ranks, as SpikeKrylovMultWaiting(): rows by inside(args, &blocks) while the halo travels; then,
  where `warps` is not 0, those that have waited, by each() of `waiting`, with ghost set
*/
template <int M, class MATRIX, typename F>
static PetscErrorCode SpikeBasisMultWaiting(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, MATRIX waiting,
                                            PetscInt warps, const SpikeBasisMultArgs *args, F &&inside)
{
  SpikeBasisMultArgs a = *args;
  PetscInt           before, after;

  PetscFunctionBegin;
  if (warps) {
    PetscCall(inside((const SpikeBasisMultArgs *)NULL, &before));
    PetscCall(SpikeBasisMultLaunch<M>(h, waiting, warps, NULL, &after));
    a.total = before + after;
  }
  PetscCall((*c->loan.begin)(c->loan.owner, (void *)h->stream, a.x, &waiting.ghost));
  PetscCall(inside((const SpikeBasisMultArgs *)&a, &before));
  PetscCall((*c->loan.end)(c->loan.owner, (void *)h->stream, a.x));
  if (!warps) PetscFunctionReturn(PETSC_SUCCESS);
  a.before = before;
  PetscCall(SpikeBasisMultLaunch<M>(h, waiting, warps, &a, &after));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the copy, on one rank */
template <typename V, int M>
static PetscErrorCode SpikeBasisMultForm(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                         const SpikeBasisMultArgs *a)
{
  PetscInt blocks;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovRowsDispatch<V>(c, [&](const auto &rows, PetscInt warps) {
    return SpikeBasisMultLaunch<M>(h, rows, warps, a, &blocks);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On several */
template <typename V, int M>
static PetscErrorCode SpikeBasisMultRanks(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                          const SpikeBasisMultArgs *a)
{
  const PetscInt each   = 32 / PetscMax(1, c->off.T);
  const auto     inside = [&](const SpikeBasisMultArgs *args, PetscInt *blocks) {
    return SpikeKrylovRowsDispatch<V>(c, [&](const auto &rows, PetscInt warps) {
      return SpikeKrylovInsideDispatch(c, rows, [&](const auto &some) {
        return SpikeBasisMultLaunch<M>(h, some, warps, args, blocks);
      });
    });
  };

  PetscFunctionBegin;
  if (c->coupled) {
    if constexpr (std::is_same_v<V, PetscScalar>)
      PetscCall(SpikeBasisMultWaiting<M>(h, c, SpikeKrylovOffRows{c->off, NULL, a->b->y},
                                         (c->off.count + each - 1) / each, a, inside));
  } else {
    const SpikeDIAEnds<decltype(SpikeDIAOf<V>(c))> ends = {SpikeDIAOf<V>(c),
                                                           ((const SpikeDIACUDA *)c->loan.dia->data)->table, NULL};

    PetscCall(SpikeBasisMultWaiting<M>(h, c, ends, (c->dia.begin + c->dia.n - c->dia.end + 31) / 32, a, inside));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* call(n) with n = 1, 2, 4 or 8 as a constant */
template <typename F>
static PetscErrorCode SpikeBasisMultDispatch(PetscInt n, F &&call)
{
  PetscFunctionBegin;
  if (n == 1) PetscCall(call(std::integral_constant<int, 1>()));
  else if (n == 2) PetscCall(call(std::integral_constant<int, 2>()));
  else if (n == 4) PetscCall(call(std::integral_constant<int, 4>()));
  else PetscCall(call(std::integral_constant<int, 8>()));
  PetscFunctionReturn(PETSC_SUCCESS);
}
