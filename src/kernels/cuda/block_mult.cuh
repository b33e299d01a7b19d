/* SPDX-License-Identifier: BSD-2-Clause */
/* block_mult.cuh: products of a matrix of small blocks, or of its transpose, with a block of vectors, by the warps of a block of threads */
#pragma once

#include "block.cuh"

/* Pieces of a row that a warp has on their way at once */
#define SPIKE_BLOCK_AHEAD 4

/*
  Y [op] A X, or with A^T, of up to 8 NT columns. A warp makes 8 rows of a block row; a step is 4 columns of one of its blocks: the block's piece and that of X are the operands, as they lie in memory. Neighbouring
  warps have neighbouring block rows, whose pieces of X are likely to be in the same caches. Bytes: A and its indices once, Y once. Sums go along a row in the order of its blocks.
*/
template <int NT, bool TRANS, typename V>
__device__ static __forceinline__ void SpikeBlockMult(const SpikeBlockItem &t, unsigned block)
{
  const int        l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, bs = t.bs, tiles = (bs + 7) / 8, steps = (bs + 3) / 4;
  const PetscCount unit = (PetscCount)block * SPIKE_BLOCK_WARPS + (PetscCount)(threadIdx.x / 32);
  const PetscInt   row  = (PetscInt)(unit / tiles);
  const int        r    = 8 * (int)(unit % tiles); /* first row in the block row */
  const V         *X = (const V *)t.X, *A = (const V *)t.a;
  V               *Y = (V *)t.Y;
  SpikeMma         c[NT];

  if (row >= t.n) return;
  const PetscInt   first = t.ai[row], count = (t.ai[row + 1] - first);
  const PetscCount i0 = (PetscCount)row * bs + r + g; /* the lane's row of Y */

#pragma unroll
  for (int j = 0; j < NT; j++) {
    c[j].clear();
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const int column = 8 * j + 2 * q + e;

      if (t.mode != SPIKE_BLOCK_SET && r + g < bs && column < t.m) c[j].put(e, t.rowmajor ? Y[i0 * t.ldy + column] : Y[i0 + column * t.ldy]);
    }
  }
  PetscInt b = 0; /* the next step: block, and columns from 4 s on */
  int      s = 0;

  while (b < count) {
    V a[SPIKE_BLOCK_AHEAD], x[SPIKE_BLOCK_AHEAD][NT];

#pragma unroll
    for (int u = 0; u < SPIKE_BLOCK_AHEAD; u++) {
      const int  k     = 4 * s + q; /* the lane's row of X, in the block */
      const bool there = b < count;

      a[u] = V(0.0);
#pragma unroll
      for (int j = 0; j < NT; j++) x[u][j] = V(0.0);
      if (there) {
        const PetscCount p = (TRANS ? (PetscCount)t.at[first + b] : (PetscCount)first + b) * bs * bs, i = (PetscCount)t.aj[first + b] * bs + k;

        if (k < bs) {
          if (r + g < bs) a[u] = SpikeBlockConj(TRANS ? A[p + k + (r + g) * bs] : A[p + r + g + k * bs], TRANS && t.conjugate);
#pragma unroll
          for (int j = 0; j < NT; j++)
            if (8 * j + g < t.m) x[u][j] = t.rowmajor ? X[i * t.ldx + 8 * j + g] : X[i + (8 * j + g) * t.ldx];
        }
        if (++s == steps) {
          s = 0;
          b++;
        }
      }
      if (t.mode == SPIKE_BLOCK_SUB) a[u] = -a[u];
    }
#pragma unroll
    for (int u = 0; u < SPIKE_BLOCK_AHEAD; u++)
#pragma unroll
      for (int j = 0; j < NT; j++) c[j].add(a[u], x[u][j]);
  }
#pragma unroll
  for (int j = 0; j < NT; j++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const int column = 8 * j + 2 * q + e;

      if (r + g < bs && column < t.m) Y[t.rowmajor ? i0 * t.ldy + column : i0 + column * t.ldy] = V(c[j].get(e));
    }
}
