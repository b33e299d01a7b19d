/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mult_lanes.cuh: products of a matrix of blocks of 4 or 8 with 4, 8 or 16 columns, each lane with a column of the
  blocks and four of the vectors
*/
#pragma once

#include "mult_vector.cuh"

/*
  G lanes have a block row, ROWSATONCE block rows are side by side in a warp, U blocks of each are loaded at once.
  Row-major alone loads several: column-major, columns of X are apart in memory and want a load each, and one block is
  faster
*/
template <int MAXCOLS, int BLOCKSIZE, bool BYROWS, typename V>
struct SpikeBlockLanesShape {
  static constexpr int G = BLOCKSIZE * MAXCOLS / 4, ROWSATONCE = 32 / G,
                       FIT = BYROWS ? 128 / ((BLOCKSIZE + 4) * (int)sizeof(V)) : 1;
  static constexpr int U   = FIT >= 4 ? 4 : FIT >= 2 ? 2 : 1;
};

/*
  Sums of 4 BLOCKSIZE values over the lanes q = 0 .. BLOCKSIZE - 1, H = BLOCKSIZE / 2. Each step halves the values of a
  lane; lane q ends with values 4 q to 4 q + 3, in y[0 .. 3]. A recursion, because a loop would leave y in memory
*/
template <int H, typename V>
__device__ static __forceinline__ void SpikeBlockLanesSum(V *y, int q)
{
  if constexpr (H > 0) {
    SpikeUnroll(k, 4 * H) {
      const V send = q & H ? y[k] : y[4 * H + k], keep = q & H ? y[4 * H + k] : y[k];

      y[k] = keep + SpikeBlockShuffleXor(send, H);
    }
    SpikeBlockLanesSum<H / 2>(y, q);
  }
}

/*
  Y [op] A X in the precision of A: tensor cores would give double precision, and blocks of 4 use half of them.

  Lane q + BLOCKSIZE c of a block row has column q of its blocks, row q of their X, and there columns 4 c to 4 c + 3:
  BLOCKSIZE x 4 sums of its own, from BLOCKSIZE + 4 values that come in loads as wide as can be. At the end of the row
  sums go over q, half of the values at a time, and lane q has four neighbouring values of Y. A row is summed in the
  order of its blocks, then over columns.
*/
template <int MAXCOLS, int BLOCKSIZE, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockMultLanes(const SpikeBlockItem &t, unsigned block)
{
  using K            = SpikeBlockLanesShape<MAXCOLS, BLOCKSIZE, BYROWS, V>;
  constexpr int    U = K::U;
  const int        l = (int)(threadIdx.x & 31), q = l % BLOCKSIZE, column = 4 * (l / BLOCKSIZE % (MAXCOLS / 4));
  const PetscCount first = ((PetscCount)block * SpikeBlockWarps(SPIKE_BLOCK_KIND_LANES) +
                            (PetscCount)(threadIdx.x / 32)) *
                           K::ROWSATONCE;

  if (first >= t.n) return;
  const PetscInt row = (PetscInt)PetscMin(first + l / K::G, (PetscCount)t.n - 1), begin = t.ai[row],
                 end = t.ai[row + 1];
  const int there    = column < t.m ? column : 0;
  const V  *A = (const V *)t.a + BLOCKSIZE * q, *X = (const V *)t.X + (BYROWS ? q * t.ldx + there : q + there * t.ldx);
  const PetscCount jump = BYROWS ? BLOCKSIZE * t.ldx : BLOCKSIZE;
  V                s[BLOCKSIZE][4], y[4 * BLOCKSIZE];
  PetscInt         index[U];

  SpikeUnroll2(i, BLOCKSIZE, j, 4) s[i][j] = V(0.0);
  SpikeUnroll(u, U) index[u] = begin + u < end ? t.aj[begin + u] : 0;
  for (PetscInt b = begin; b < end; b += U) {
    V a[U][BLOCKSIZE], x[U][4];

    SpikeUnroll(u, U) {
      const bool some = b + u < end;
      const V   *p    = X + index[u] * jump;

      if (some) {
        SpikeBlockLoad<BLOCKSIZE>(A + (PetscCount)(b + u) * BLOCKSIZE * BLOCKSIZE, true, BLOCKSIZE, a[u]);
        if (BYROWS) SpikeBlockLoad<4>(p, true, 4, x[u]);
        else {
          SpikeUnroll(j, 4) x[u][j] = p[j * t.ldx];
        }
      } else {
        SpikeUnroll(i, BLOCKSIZE) a[u][i] = V(0.0);
        SpikeUnroll(j, 4) x[u][j] = V(0.0);
      }
    }
    SpikeUnroll(u, U) index[u] = b + U + u < end ? t.aj[b + U + u] : 0; /* while the others travel */
    SpikeUnroll3(u, U, i, BLOCKSIZE, j, 4) s[i][j] = SpikeBlockFma(a[u][i], x[u][j], s[i][j]);
  }
  /* what is consecutive in Y is so here */
  SpikeUnroll2(i, BLOCKSIZE, j, 4) y[BYROWS ? 4 * i + j : BLOCKSIZE * j + i] = s[i][j];
  SpikeBlockLanesSum<BLOCKSIZE / 2>(y, q);
  if (first + l / K::G >= t.n || column >= t.m) return;
  V *Y = (V *)t.Y +
         (BYROWS ? ((PetscCount)row * BLOCKSIZE + q) * t.ldy + column
                 : (PetscCount)row * BLOCKSIZE + 4 * (q % (BLOCKSIZE / 4)) + (column + q / (BLOCKSIZE / 4)) * t.ldy);

  if (t.mode != SPIKE_BLOCK_SET) {
    V old[4];

    SpikeBlockLoad<4>(Y, t.wide, 4, old);
    SpikeUnroll(k, 4) y[k] = t.mode == SPIKE_BLOCK_SUB ? old[k] - y[k] : old[k] + y[k];
  }
  SpikeBlockStore<4>(Y, t.wide, 4, y);
}
