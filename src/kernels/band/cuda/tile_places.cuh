/* SPDX-License-Identifier: BSD-2-Clause */
/* tile_places.cuh: where the elements of a tile of up to 32 x 32 are in shared memory, and in the lanes of a warp */
#pragma once

/*
  A tile in shared memory is column-major with 32 places a column, element (r, c) at 32 c + (r ^ x(c)): x(c) has bits of
  value 4 and 8 (8 and 16 for numbers of another size) only, so that pairs of rows stay together, and is such that
  fragments are read and written without bank conflicts. Rows and columns from T on are zero.

  A tile in fragments: with g = lane / 4 and q = lane % 4 a lane has  d[m][n][e] = element (8 m + g, 8 n + 2 q + e).
  That is c of SpikeTileMMA(), and also its a when the products run over k in the order 0 2 4 6 1 3 5 7: b of a lane is
  then the pair of rows 2 q, 2 q + 1 of column g.
*/
template <typename F>
struct SpikeLane {
  int g, q, c, b;

  __device__ static int swizzle(int c)
  {
    return sizeof(F) == 8 ? ((c & 6) << 1) ^ ((c & 1) << 3) : ((c & 3) ^ ((c >> 2) & 1)) << 3;
  }
  __device__ SpikeLane()
  {
    g = (threadIdx.x & 31) >> 2;
    q = threadIdx.x & 3;
    c = 64 * q + (g ^ swizzle(2 * q));
    b = 32 * g + ((2 * q) ^ swizzle(g));
  }
  /* places of d[m][n][e], and of the pair of rows 8 m + 2 q in column 8 n + g */
  __device__ int at(int m, int n, int e) const { return (c ^ (8 * m) ^ (8 * e)) + 256 * n + 32 * e; }
  __device__ int pair(int m, int n) const { return (b ^ (8 * m)) + 256 * n; }
};

template <int N8>
struct SpikeTileShape {
  static constexpr int H = (N8 + 1) / 2, NPLACES = 256 * N8;
};
