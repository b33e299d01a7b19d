/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_stream.cuh: products of a matrix of blocks of any size with one vector */
#pragma once

#include "mult_vector.cuh"

template <typename V>
__device__ static __forceinline__ V SpikeBlockShuffleDown(V v, int d, int width)
{
#if defined(PETSC_USE_COMPLEX)
  return V(__shfl_down_sync(SPIKE_WARP, v.real(), d, width), __shfl_down_sync(SPIKE_WARP, v.imag(), d, width));
#else
  return __shfl_down_sync(SPIKE_WARP, v, d, width);
#endif
}

/* Lanes of a block row, which is a power of 2; block rows side by side in a warp */
__host__ __device__ static inline int SpikeBlockStreamLanes(int bs)
{
  return bs <= 2 ? 8 : bs <= 4 ? 16 : 32;
}

/*
  out(i, (A x)_i) for the rows i of t.k block rows from row0 on, each once, in some lane of the warp, in the precision
  of A. The blocks of a block row, columns one after the other, are one stream of bs-vectors: column q of the row begins
  at A[(first bs + q) bs] and belongs to element q mod bs of block q / bs of x. Of the lanes of a block row lane c bs +
  r has row r of columns c, c + C, c + 2 C, ...; C columns are read at once, as they lie in memory, SPIKE_BLOCK_AHEAD
  such steps before the first is used. Sums over c are made at the end of the row. There are at most 31 block rows,
  whose bounds come in one load. A row is summed in the order of its columns for each c, then over c.
*/
template <typename V, typename F>
__device__ static __forceinline__ void SpikeBlockStream(const SpikeBlockItem &t, PetscInt row0, F &&out)
{
  constexpr int    U = SPIKE_BLOCK_AHEAD;
  const int        l = (int)(threadIdx.x & 31), bs = t.bs, G = SpikeBlockStreamLanes(bs), C = G / bs;
  const int        group = l / G, sub = l % G, c = sub / bs, r = sub - c * bs, dk = C / bs, dq = C - dk * bs;
  const PetscCount xs = t.rowmajor ? t.ldx : 1;
  const V         *X  = (const V *)t.X;

  if (row0 >= t.n) return;
  const int      rows  = (int)PetscMin((PetscInt)t.k, t.n - row0);
  const PetscInt bound = t.ai[row0 + PetscMin(l, rows)];

  for (int i = 0; i < rows; i += 32 / G) {
    const PetscInt first = __shfl_sync(SPIKE_WARP, bound, PetscMin(i + group, rows)),
                   last  = __shfl_sync(SPIKE_WARP, bound, PetscMin(i + group + 1, rows));
    const V *A           = (const V *)t.a + ((PetscCount)first * bs + c) * bs + r;
    PetscInt k           = c < C ? first + c / bs : last; /* the block, and its column */
    int      q           = c % bs;
    V        y           = V(0.0);

    while (k < last) {
      V a[U], x[U];

      SpikeUnroll(u, U) {
        const bool there = k < last;

        a[u] = there ? A[(PetscCount)u * C * bs] : V(0.0);
        x[u] = there ? X[((PetscCount)t.aj[k] * bs + q) * xs] : V(0.0);
        k += dk;
        q += dq;
        if (q >= bs) {
          q -= bs;
          k++;
        }
      }
      A += U * C * bs;
      SpikeUnroll(u, U) y = SpikeBlockFma(a[u], x[u], y);
    }
    __syncwarp();
    for (int n = C; n > 1;) {
      const int half  = (n + 1) / 2;
      const V   other = SpikeBlockShuffleDown(y, half * bs, G);

      if (c + half < n) y += other;
      n = half;
    }
    if (c == 0 && i + group < rows) out((PetscCount)(row0 + i + group) * bs + r, y);
  }
}

/* y [op] A x. A warp has t.k block rows */
template <typename V>
__device__ static __forceinline__ void SpikeBlockMultStream(const SpikeBlockItem &t, unsigned block)
{
  const PetscInt   row0 = (PetscInt)(((PetscCount)block * SPIKE_BLOCK_WARPS + (PetscCount)(threadIdx.x / 32)) * t.k);
  const PetscCount ys   = t.rowmajor ? t.ldy : 1;

  SpikeBlockStream<V>(t, row0, [&](PetscCount i, V y) {
    V *Y = (V *)t.Y + i * ys;

    if (t.mode == SPIKE_BLOCK_SET) *Y = y;
    else if (t.mode == SPIKE_BLOCK_ADD) *Y += y;
    else *Y -= y;
  });
}
