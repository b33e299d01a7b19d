/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_vector.cuh: products of a matrix of blocks of 4, 8 or 16 with one vector */
#pragma once

#include "block.cuh"

template <typename V>
__device__ static __forceinline__ V SpikeBlockShuffleXor(V v, int d)
{
#if defined(PETSC_USE_COMPLEX)
  return V(__shfl_xor_sync(SPIKE_WARP, v.real(), d), __shfl_xor_sync(SPIKE_WARP, v.imag(), d));
#else
  return __shfl_xor_sync(SPIKE_WARP, v, d);
#endif
}

/* y + a x */
template <typename V>
__device__ static __forceinline__ V SpikeBlockFma(V a, V x, V y)
{
#if defined(PETSC_USE_COMPLEX)
  return V(y.real() + a.real() * x.real() - a.imag() * x.imag(), y.imag() + a.real() * x.imag() + a.imag() * x.real());
#else
  return y + a * x;
#endif
}

/*
  A lane loads 16 bytes of a column of a block, T times. G lanes have a block, ROWSATONCE block rows are side by side in
  a warp, U blocks of each are on their way at once
*/
template <int BLOCKSIZE, typename V>
struct SpikeBlockVectorShape {
  static constexpr int P = 16 / (int)sizeof(V), R = BLOCKSIZE / P, G = BLOCKSIZE * R < 32 ? BLOCKSIZE * R : 32,
                       T = BLOCKSIZE * R / G, ROWSATONCE = 32 / G, U = T < 4 ? 4 / T : 1;
};

/*
  out(i, y) with the P rows of A x from i on for t.k block rows from row0 on, each once, in some lane of the warp, in
  the precision of A. The lanes of a block row read its blocks as they lie in memory, and each multiplies its pieces by
  one element of x; sums over the columns are made at the end of the row. Bounds of all rows come in one load, the first
  indices of the next rows while the warp works on this one. A row is summed in the order of its blocks, then over
  columns.
*/
template <int BLOCKSIZE, typename V, typename F>
__device__ static __forceinline__ void SpikeBlockVector(const SpikeBlockItem &t, PetscInt row0, F &&out)
{
  using K            = SpikeBlockVectorShape<BLOCKSIZE, V>;
  constexpr int    P = K::P, R = K::R, G = K::G, T = K::T, U = K::U;
  const int        l = (int)(threadIdx.x & 31), group = l / G, sub = l % G;
  const PetscCount xs = t.rowmajor ? t.ldx : 1;

  if (row0 >= t.n) return;
  const int      rows  = (int)PetscMin((PetscInt)t.k, t.n - row0);
  const PetscInt bound = t.ai[row0 + PetscMin(l, rows)];
  const V       *A = (const V *)t.a + sub * P, *X = (const V *)t.X + sub / R * xs;
  PetscInt       first = __shfl_sync(SPIKE_WARP, bound, PetscMin(group, rows)),
           last        = __shfl_sync(SPIKE_WARP, bound, PetscMin(group + 1, rows)),
           index       = first + sub < last ? t.aj[first + sub] : 0;

  for (int r = 0; r < rows; r += K::ROWSATONCE) {
    const PetscInt row = row0 + r + group, begin = first, end = last;
    PetscInt       ahead;
    V              y[P];

    first = __shfl_sync(SPIKE_WARP, bound, PetscMin(r + K::ROWSATONCE + group, rows));
    last  = __shfl_sync(SPIKE_WARP, bound, PetscMin(r + K::ROWSATONCE + group + 1, rows));
    ahead = first + sub < last ? t.aj[first + sub] : 0;
    SpikeUnroll(p, P) y[p] = V(0.0);
    for (PetscInt b = begin; __any_sync(SPIKE_WARP, b < end); b += G) {
      if (b > begin) index = b + sub < end ? t.aj[b + sub] : 0;
      for (int v = 0; v < G && __any_sync(SPIKE_WARP, b + v < end); v += U) {
        V a[U][T][P], x[U][T];

        SpikeUnroll(u, U) {
          const PetscCount at    = (PetscCount)__shfl_sync(SPIKE_WARP, index, v + u, G) * BLOCKSIZE * xs;
          const bool       there = b + v + u < end;

          SpikeUnroll(k, T) {
            SpikeBlockLoad<P>(A + (PetscCount)(b + v + u) * BLOCKSIZE * BLOCKSIZE + k * G * P, true, there ? P : 0,
                              a[u][k]);
            x[u][k] = there ? X[at + k * (G / R) * xs] : V(0.0);
          }
        }
        SpikeUnroll3(u, U, k, T, p, P) y[p] = SpikeBlockFma(a[u][k][p], x[u][k], y[p]);
      }
    }
    index = ahead;
#pragma unroll
    for (int d = R; d < G; d *= 2)
      SpikeUnroll(p, P) y[p] += SpikeBlockShuffleXor(y[p], d);
    if (sub < R && r + group < rows) out((PetscCount)row * BLOCKSIZE + sub * P, y);
  }
}

/* y [op] A x. A warp has t.k block rows */
template <int BLOCKSIZE, typename V>
__device__ static __forceinline__ void SpikeBlockMultVector(const SpikeBlockItem &t, unsigned block)
{
  constexpr int    P    = SpikeBlockVectorShape<BLOCKSIZE, V>::P;
  const PetscInt   row0 = (PetscInt)(((PetscCount)block * SPIKE_BLOCK_WARPS + (PetscCount)(threadIdx.x / 32)) * t.k);
  const PetscCount ys   = t.rowmajor ? t.ldy : 1;

  SpikeBlockVector<BLOCKSIZE, V>(t, row0, [&](PetscCount i, V *y) {
    V *Y = (V *)t.Y + i * ys, old[P];

    if (t.mode != SPIKE_BLOCK_SET) {
      if (ys == 1) SpikeBlockLoad<P>(Y, t.wide, P, old);
      else
        SpikeUnroll(p, P) old[p] = Y[p * ys];
      SpikeUnroll(p, P) y[p] = t.mode == SPIKE_BLOCK_ADD ? old[p] + y[p] : old[p] - y[p];
    }
    if (ys == 1) SpikeBlockStore<P>(Y, t.wide, P, y);
    else
      SpikeUnroll(p, P) Y[p * ys] = y[p];
  });
}
