/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_step.cuh: the basis steps of one right-hand side, with columns of type T */
#pragma once

#include "basis_moves.cuh"

#define SPIKE_BASIS_PASS 8 /* vectors of which a thread holds sums at once, at most */

template <int V, int M, bool EXACT, typename T, typename P>
__device__ static __forceinline__ void SpikeDotsRows(PetscInt i, const P &p, int first, int columns,
                                                     const PetscScalar *yy, const PetscScalar *zz, PetscScalar d[])
{
  const SpikeRows<V> y = SpikeRowsLoad<V>(yy, i);

  SpikeUnroll(j, M) {
    if (EXACT || j < columns) SpikeRowsDot(SpikeColumn<T>::template load<V>(p.v[EXACT ? j : first + j], i, 0), y, d[j]);
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
  columns in one pass. Moves m + 1 words a row, and one more with z; with more columns than a pass has, y again for
  each. EXACT: m = M. The grid, and with it the order of the sums, depends on n, on the number of multiprocessors and on
  alignment alone.
*/
template <int M, bool EXACT, typename T>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeBasisResident<T>)
  SpikeBasisDots(PetscInt n, SpikeBasisPointers<EXACT ? M : SPIKE_BASIS_MOST, T> p, int m, const PetscScalar *y,
                 const PetscScalar *z, bool wide, SpikeBasisEnd e)
{
  constexpr int  V     = SpikeColumn<T>::ROWS;
  const PetscInt whole = SpikeColumn<T>::whole(n);
  const PetscInt begin = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;

  SpikeAwait();
  if (e.device->s.reason) return;
  for (int first = 0; !first || first < m; first += M) {
    const int          columns = EXACT ? M : PetscMin(M, m - first);
    const PetscScalar *zz      = first ? NULL : z;
    PetscScalar        d[M + 3];

    SpikeUnroll(k, M + 3) d[k] = 0.0;
    if (wide)
      for (PetscInt i = begin; i < whole / V; i += stride)
        SpikeDotsRows<V, M, EXACT, T>(i, p, first, columns, y, zz, d);
    for (PetscInt i = wide ? whole + begin : begin; i < n; i += stride)
      SpikeDotsRows<1, M, EXACT, T>(i, p, first, columns, y, zz, d);
    SpikeBasisLeave<M, 3, 1>((const PetscScalar(*)[M + 3]) d, columns, first, first ? 0 : (z ? 3 : 1), m, e, 0, 1,
                             blockIdx.x, gridDim.x);
  }
  SpikeBasisFinish<1>(e, 0, 1, gridDim.x);
}

template <typename T>
static unsigned SpikeBasisGrid(const SpikeKrylovCUDA *h, PetscInt n, bool wide)
{
  const PetscInt whole = wide ? SpikeColumn<T>::whole(n) : 0, rounds = whole / SpikeColumn<T>::ROWS;

  return (unsigned)SpikeKrylovGrid(SpikeBasisResident<T> * h->gpu->multiprocessors, PetscMax(rounds, n - whole),
                                   SPIKE_KRYLOV_THREADS);
}

template <int M, bool EXACT, typename T>
static PetscErrorCode SpikeDotsLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  const int m    = (int)(b->last - b->first);
  bool      wide = SpikeBasisWide(b->y) && SpikeBasisWide(b->z);
  SpikeBasisPointers<EXACT ? M : SPIKE_BASIS_MOST, T> p = {};

  PetscFunctionBegin;
  for (int j = 0; j < m; j++) {
    p.v[j] = (T *)b->A[b->first + j];
    wide   = wide && SpikeBasisWideColumn(p.v[j]);
  }
  PetscCall(SpikeBasisLaunch(SpikeBasisDots<M, EXACT, T>, h, SpikeBasisGrid<T>(h, b->n, wide), e, b->n, p, m, b->y,
                             b->z, wide, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int MFIRST, int MSECOND, typename T>
static PetscErrorCode SpikeMovesLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *update,
                                       const SpikeKrylovBasis *combine, const SpikeBasisEnd &e)
{
  const PetscInt                      n = update ? update->n : combine->n;
  SpikeBasisMoves<MFIRST, MSECOND, T> b;
  const bool                          wide = SpikeMovesMake(update, combine, &b);

  PetscFunctionBegin;
  PetscCall(
    SpikeBasisLaunch(SpikeBasisMove<MFIRST, MSECOND, false, T>, h, SpikeBasisGrid<T>(h, n, wide), e, n, b, wide, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With the numbers of vectors that the cycles of s = 1, 2, 4, 8 have, kernels that know them: step k < s - 1 moves k and
  s - 1 - k, step s - 1 moves s - 1, and that of omega s. A COMBINE alone of narrow columns has one of them too
*/
template <typename T>
static PetscErrorCode SpikeMovesSelect(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *update,
                                       const SpikeKrylovBasis *combine, const SpikeBasisEnd &e)
{
  typedef PetscErrorCode (*Launch)(const SpikeKrylovCUDA *, const SpikeKrylovBasis *, const SpikeKrylovBasis *,
                                   const SpikeBasisEnd &);
#define MOVES(MFIRST, MSECOND) \
  { \
    MFIRST, MSECOND, SpikeMovesLaunch<MFIRST, MSECOND, T> \
  }
  static const struct {
    PetscInt m1, m2;
    Launch   launch;
  } known[] = {MOVES(0, 0), MOVES(0, 1), MOVES(1, 0), MOVES(0, 2), MOVES(0, 3), MOVES(1, 2),
               MOVES(2, 1), MOVES(3, 0), MOVES(0, 4), MOVES(0, 7), MOVES(1, 6), MOVES(2, 5),
               MOVES(3, 4), MOVES(4, 3), MOVES(5, 2), MOVES(6, 1), MOVES(7, 0), MOVES(0, 8)};
#undef MOVES
  const PetscInt m1 = update ? (update->q ? -1 : update->last - update->first)
                             : (std::is_same_v<T, PetscScalar> ? -1 : 0),
                 m2 = combine ? (combine->A && combine->B ? combine->last - combine->first : -1) : 0;
  Launch launch     = SpikeMovesLaunch<-1, -1, T>;

  PetscFunctionBegin;
  for (const auto &k : known)
    if (k.m1 == m1 && k.m2 == m2) launch = k.launch;
  PetscCall((*launch)(h, update, combine, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DOTS, COMBINE, UPDATE, or UPDATE and COMBINE; shadow vectors have type P */
template <typename P, typename T>
static PetscErrorCode SpikeBasisStepOf(const SpikeKrylovCUDA *h, SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                       const SpikeKrylovBasis *combine, const SpikeBasisEnd &e)
{
  const PetscInt m = b->last - b->first;

  PetscFunctionBegin;
  if (step == SPIKE_KRYLOV_COMBINE) PetscCall(SpikeMovesSelect<T>(h, NULL, b, e));
  else if (step == SPIKE_KRYLOV_UPDATE) PetscCall(SpikeMovesSelect<T>(h, b, combine, e));
  else if (m == 1) PetscCall((SpikeDotsLaunch<1, true, P>(h, b, e)));
  else if (m == 2) PetscCall((SpikeDotsLaunch<2, true, P>(h, b, e)));
  else if (m == 4) PetscCall((SpikeDotsLaunch<4, true, P>(h, b, e)));
  else if (m == 8) PetscCall((SpikeDotsLaunch<8, true, P>(h, b, e)));
  else PetscCall((SpikeDotsLaunch<SPIKE_BASIS_PASS, false, P>(h, b, e)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
