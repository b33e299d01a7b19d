/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_dots.cuh: DOTS of one right-hand side, over vectors with elements of type T: PetscScalar, or SpikeBF16 */
#pragma once

#include "basis_moves.cuh"

#define SPIKE_BASIS_PASS 8 /* vectors of which a thread holds sums at once, at most */

/*
  ROWS: what a thread takes of a vector at once where it begins at a multiple of ALIGN bytes: a pair of rows, of bf16
  four real numbers. RESIDENT: thread blocks of a multiprocessor
*/
template <typename T>
struct SpikeShadow {
  static constexpr int    ROWS     = 2;
  static constexpr size_t ALIGN    = 2 * sizeof(PetscReal);
  static constexpr int    RESIDENT = SPIKE_BASIS_RESIDENT;

  template <int V>
  __device__ static __forceinline__ SpikeRows<V> load(const PetscScalar *p, PetscInt i)
  {
    return SpikeRowsLoad<V>(p, i);
  }
};

template <>
struct SpikeShadow<SpikeBF16> {
  static constexpr int    ROWS     = 4 * sizeof(PetscReal) / sizeof(PetscScalar);
  static constexpr size_t ALIGN    = ROWS * sizeof(SpikeBF16);
  static constexpr int    RESIDENT = 3;

  template <int V>
  __device__ static __forceinline__ SpikeRows<V> load(const SpikeBF16 *p, PetscInt i)
  {
    struct alignas(V * sizeof(SpikeBF16)) Several {
      SpikeBF16 e[V];
    };
    const Several v = ((const Several *)p)[i];
    SpikeRows<V>  rows;

    SpikeUnroll(k, V) rows.e[k] = SpikeLoad(&v.e[k]);
    return rows;
  }
};

template <int V, int M, bool EXACT, typename T, typename P>
__device__ static __forceinline__ void SpikeDotsRows(PetscInt i, const P &p, int first, int columns,
                                                     const PetscScalar *yy, const PetscScalar *zz, PetscScalar d[])
{
  const SpikeRows<V> y = SpikeRowsLoad<V>(yy, i);

  SpikeUnroll(j, M) {
    if (EXACT || j < columns) SpikeRowsDot(SpikeShadow<T>::template load<V>(p.v[EXACT ? j : first + j], i), y, d[j]);
  }
  SpikeRowsDot(y, y, d[M]);
  if (zz) {
    const SpikeRows<V> z = SpikeRowsLoad<V>(zz, i);

    SpikeRowsDot(z, z, d[M + 1]);
    SpikeRowsDot(y, z, d[M + 2]);
  }
}

/*
  DOTS on n rows, a thread several rows in each round, or a row where the vectors are not aligned; SPIKE_BASIS_PASS
  columns in one pass. Moves m + 1 words a row (m / 4 + 1 with bf16), and one more with z; with more columns than a pass
  has, y again for each. EXACT: m = M. The grid, and with it the order of the sums, depends on n, on the number of
  multiprocessors and on alignment alone.
*/
template <int M, bool EXACT, typename T>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeShadow<T>::RESIDENT)
  SpikeBasisDots(PetscInt n, SpikeBasisPointers<EXACT ? M : SPIKE_BASIS_MOST, T> p, int m, const PetscScalar *y,
                 const PetscScalar *z, bool wide, SpikeBasisEnd e)
{
  constexpr int  V     = SpikeShadow<T>::ROWS;
  const PetscInt begin = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;

  SpikeAwait();
  if (e.device->s.reason) return;
  for (int first = 0; !first || first < m; first += M) {
    const int          columns = EXACT ? M : PetscMin(M, m - first);
    const PetscScalar *zz      = first ? NULL : z;
    PetscScalar        d[M + 3];

    SpikeUnroll(k, M + 3) d[k] = 0.0;
    if (wide)
      for (PetscInt i = begin; i < n / V; i += stride) SpikeDotsRows<V, M, EXACT, T>(i, p, first, columns, y, zz, d);
    for (PetscInt i = wide ? n - n % V + begin : begin; i < n; i += stride)
      SpikeDotsRows<1, M, EXACT, T>(i, p, first, columns, y, zz, d);
    SpikeBasisLeave<M, 3, 1>((const PetscScalar(*)[M + 3]) d, columns, first, first ? 0 : (z ? 3 : 1), m, e, 0, 1,
                             blockIdx.x, gridDim.x);
  }
  SpikeBasisFinish<1>(e, 0, 1, gridDim.x);
}

static unsigned SpikeBasisGrid(const SpikeKrylovCUDA *h, PetscInt rounds, int resident)
{
  return (unsigned)SpikeKrylovGrid(resident * h->gpu->multiprocessors, rounds, SPIKE_KRYLOV_THREADS);
}

template <int M, bool EXACT, typename T>
static PetscErrorCode SpikeDotsLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  constexpr int V    = SpikeShadow<T>::ROWS;
  const int     m    = (int)(b->last - b->first);
  bool          wide = SpikeBasisWide(b->y) && SpikeBasisWide(b->z);
  SpikeBasisPointers<EXACT ? M : SPIKE_BASIS_MOST, T> p = {};

  PetscFunctionBegin;
  for (int j = 0; j < m; j++) {
    p.v[j] = (T *)b->A[b->first + j];
    wide   = wide && (size_t)p.v[j] % SpikeShadow<T>::ALIGN == 0;
  }
  PetscCall(SpikeBasisLaunch(SpikeBasisDots<M, EXACT, T>, h,
                             SpikeBasisGrid(h, wide ? (b->n + V - 1) / V : b->n, SpikeShadow<T>::RESIDENT), e, b->n, p,
                             m, b->y, b->z, wide, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode SpikeDotsSelect(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  const PetscInt m = b->last - b->first;

  PetscFunctionBegin;
  if (m == 1) PetscCall((SpikeDotsLaunch<1, true, T>(h, b, e)));
  else if (m == 2) PetscCall((SpikeDotsLaunch<2, true, T>(h, b, e)));
  else if (m == 4) PetscCall((SpikeDotsLaunch<4, true, T>(h, b, e)));
  else if (m == 8) PetscCall((SpikeDotsLaunch<8, true, T>(h, b, e)));
  else PetscCall((SpikeDotsLaunch<SPIKE_BASIS_PASS, false, T>(h, b, e)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
