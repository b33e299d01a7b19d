/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_strip.cuh: columns of a spike as rows of a strip, in the registers of a warp, and their products with tiles */
#pragma once

#include "tips.cuh"
#include "tile_places.cuh"

/*
  A strip has 16 columns of a spike as its rows, in fragments: x[m][n][e] is column 8 m + g in row 8 n + 2 q + e of a
  tile row, with g = lane / 4 and q = lane % 4. This is c of SpikeTileMMA(), its a for products over the rows of the
  tile, and its b for products with the strip transposed: nothing moves between lanes.
*/
template <int N8>
using SpikeStrip = SpikeArith[2][N8][2];

/* y += x b for one 8 x 8 block of b, block k of x's rows and n of y's */
template <int NY, int NX>
__device__ static inline void SpikeStripMMA(SpikeArith (&y)[2][NY][2], int n, const SpikeArith (&x)[2][NX][2], int k,
                                            const SpikeArith (&b)[2])
{
  const SpikeArith a[4] = {x[0][k][0], x[1][k][0], x[0][k][1], x[1][k][1]};
  SpikeArith       c[4] = {y[0][n][0], y[0][n][1], y[1][n][0], y[1][n][1]};

  SpikeTileMMA(c, a, b);
  y[0][n][0] = c[0];
  y[0][n][1] = c[1];
  y[1][n][0] = c[2];
  y[1][n][1] = c[3];
}

/* f(value, m, block, e) of all of a lane's values */
template <int N, typename X>
__device__ static inline void SpikeStripEach(SpikeArith (&y)[2][N][2], X f)
{
  SpikeUnroll3(m, 2, n, N, e, 2) f(y[m][n][e], m, n, e);
}

template <int N>
__device__ static inline void SpikeStripClear(SpikeArith (&y)[2][N][2])
{
  SpikeStripEach<N>(y, [](SpikeArith &v, int, int, int) { v = 0.0; });
}

/* The largest magnitude, in all lanes */
template <int N>
__device__ static inline unsigned SpikeStripMax(SpikeArith (&y)[2][N][2])
{
  unsigned most = 0;

  SpikeStripEach<N>(y, [&](SpikeArith &v, int, int, int) { most = PetscMax(most, SpikeMagnitude(v)); });
  return SpikeWarpMaxUnsigned(most);
}

/* A strip in the order of lanes, in shared memory or in memory, 16 x 8 N8 numbers: a of SpikeTileMMA() in one piece */
template <typename S, int N8>
__device__ static inline void SpikeStripGet(const S *from, SpikeArith (&x)[2][N8][2])
{
  from += 2 * (threadIdx.x & 31);
  SpikeUnroll2(n, N8, e, 2) SpikePair(from + (2 * n + e) * 64, x[0][n][e], x[1][n][e]);
}

template <typename S, int N8>
__device__ static inline void SpikeStripPut(S *to, const SpikeArith (&x)[2][N8][2])
{
  to += 2 * (threadIdx.x & 31);
  SpikeUnroll2(n, N8, e, 2) SpikePairPut(to + (2 * n + e) * 64, x[0][n][e], x[1][n][e]);
}

typedef enum {
  SPIKE_STRIP_FULL,
  SPIKE_STRIP_LOWER, /* the lower corner, r <= c                          */
  SPIKE_STRIP_LINV,  /* r > c of the same tile: L_jj^-1 but for its ones   */
  SPIKE_STRIP_UPPER, /* the upper corner, r >= c                          */
  SPIKE_STRIP_ABOVE, /* r < c of the same tile: U_jj^-1 but for its diagonal */
  SPIKE_STRIP_UINV   /* that with its diagonal, which lies elsewhere       */
} SpikeStripPart;

/*
  y += x P, or y += x P^T, for a part P of a tile in the places of SpikeLane, which is zero from T on. diagonal: of
  U_jj^-1, with SPIKE_STRIP_UINV
*/
template <int PART, bool TRANSPOSED, typename F, int N8>
__device__ static inline void SpikeStripTimes(const SpikeLane<F> &at, const F *tile, const F *diagonal,
                                              const SpikeArith (&x)[2][N8][2], SpikeArith (&y)[2][N8][2])
{
  /* of the diagonal, by blocks */
  constexpr bool above = PART == SPIKE_STRIP_LOWER || PART == SPIKE_STRIP_ABOVE || PART == SPIKE_STRIP_UINV;

  SpikeUnroll2(k, N8, n, N8) {
    const int  rb = TRANSPOSED ? n : k, cb = TRANSPOSED ? k : n;
    SpikeArith b[2];

    if (PART != SPIKE_STRIP_FULL && (above ? rb > cb : rb < cb)) continue;
    if (TRANSPOSED) {
      SpikeUnroll(e, 2) b[e] = SpikeArith(tile[at.at(rb, cb, e)]);
    } else SpikePair(tile + at.pair(rb, cb), b);
    if (PART != SPIKE_STRIP_FULL && rb == cb) {
      SpikeUnroll(e, 2) {
        const int  r = TRANSPOSED ? at.g : 2 * at.q + e, c = TRANSPOSED ? 2 * at.q + e : at.g; /* inside the block */
        const bool some = PART == SPIKE_STRIP_LOWER ? r <= c
                        : PART == SPIKE_STRIP_LINV  ? r > c
                        : PART == SPIKE_STRIP_UPPER ? r >= c
                                                    : r < c;

        if (PART == SPIKE_STRIP_UINV && r == c) b[e] = SpikeArith(diagonal[8 * rb + r]);
        else if (!some) b[e] = 0.0;
      }
    }
    SpikeStripMMA<N8, N8>(y, n, x, k, b);
  }
}

/*
  The strip's columns, from col0 on, of `cols` columns of K numbers, whose number 0 is in row k0 of a tile row of T;
  zeros elsewhere
*/
template <typename F, int N8>
__device__ static inline void SpikeStripLoad(const SpikeLane<F> &at, const PetscScalar *A, int K, int cols, int col0,
                                             int k0, int T, SpikeArith (&x)[2][N8][2])
{
  SpikeStripEach<N8>(x, [&](SpikeArith &v, int m, int n, int e) {
    const int c = col0 + 8 * m + at.g, i = 8 * n + 2 * at.q + e, r = i - k0;

    v = i < T && c < cols && r >= 0 && r < K ? SpikeArith(A[c * K + r]) : SpikeArith(0.0);
  });
}
