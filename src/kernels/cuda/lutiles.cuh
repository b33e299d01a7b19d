/* SPDX-License-Identifier: BSD-2-Clause */
/* lutiles.cuh: real tiles of up to 32 x 32 in shared memory and in fragments: copies, products, elimination */
#pragma once

#include "lu.cuh"

/*
  A tile in shared memory is column-major with 32 places a column, element (r, c) at 32 c + (r ^ x(c)): x(c) has bits of value 4 and 8 (8 and 16 for
  single precision) only, so that pairs of rows stay together, and is such that fragments are read and written without bank conflicts. Rows and columns from T on are zero.

  A tile in fragments: with g = lane / 4 and q = lane % 4 a lane has  d[m][n][e] = element (8 m + g, 8 n + 2 q + e). That is c of SpikeMMA(), and also its a when
  the products run over k in the order 0 2 4 6 1 3 5 7: b of a lane is then the pair of rows 2 q, 2 q + 1 of column g.
*/
template <typename F>
struct SpikeLane {
  int g, q, c, b;

  __device__ static int swizzle(int c) { return sizeof(F) == 8 ? ((c & 6) << 1) ^ ((c & 1) << 3) : ((c & 3) ^ ((c >> 2) & 1)) << 3; }
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

template <int NB>
struct SpikeBlocks {
  static constexpr int H = (NB + 1) / 2, PLACES = 256 * NB;
};

__device__ static inline void SpikePair(const double *s, double (&b)[2])
{
  const double2 v = *(const double2 *)s;

  b[0] = v.x;
  b[1] = v.y;
}

__device__ static inline void SpikePair(const float *s, double (&b)[2])
{
  const float2 v = *(const float2 *)s;

  b[0] = v.x;
  b[1] = v.y;
}

/* Rows 16 h + g and 16 h + 8 + g of a column of blocks: x[2h][n], x[2h+1][n] += a b */
template <int NB>
__device__ static inline void SpikeBlockProduct(double (&x)[NB][NB][2], int h, int n, const double (&a)[4], const double (&b)[2])
{
  double c[4];

  c[0] = x[2 * h][n][0];
  c[1] = x[2 * h][n][1];
  c[2] = 2 * h + 1 < NB ? x[2 * h + 1 < NB ? 2 * h + 1 : 0][n][0] : 0.0;
  c[3] = 2 * h + 1 < NB ? x[2 * h + 1 < NB ? 2 * h + 1 : 0][n][1] : 0.0;
  SpikeMMA(c, a, b);
  x[2 * h][n][0] = c[0];
  x[2 * h][n][1] = c[1];
  if (2 * h + 1 < NB) {
    x[2 * h + 1 < NB ? 2 * h + 1 : 0][n][0] = c[2];
    x[2 * h + 1 < NB ? 2 * h + 1 : 0][n][1] = c[3];
  }
}

/* Copies without a stop at registers; what a lane has asked for is there after SpikeCopyWait(), for other lanes after a barrier behind it */
template <int BYTES>
__device__ static inline void SpikeCopyAsync(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);

  if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES) : "memory");
#else
  memcpy(shared, global, BYTES);
#endif
}

__device__ static inline void SpikeCopyWait()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* A T x T tile of the band to shared memory by one warp: pairs of rows where T is even */
template <typename F>
__device__ static inline void SpikeCopyTile(F *s, const F *tile, int T)
{
  const int lane = threadIdx.x & 31;

  if (T % 2 == 0) {
    const int r = 2 * (lane & 15);

    if (r < T) {
#pragma unroll 4
      for (int c = lane >> 4; c < T; c += 2) SpikeCopyAsync<2 * sizeof(F)>(s + 32 * c + (r ^ SpikeLane<F>::swizzle(c)), tile + c * T + r);
    }
  } else if (lane < T) {
#pragma unroll 4
    for (int c = 0; c < T; c++) SpikeCopyAsync<sizeof(F)>(s + 32 * c + (lane ^ SpikeLane<F>::swizzle(c)), tile + c * T + lane);
  }
}

/* The policy's limits as seen by the upper halves of doubles: inside of them a pivot is good and its reciprocal neither over- nor underflows */
struct SpikePivotRange {
  unsigned int least, range;

  __device__ SpikePivotRange(const SpikePivotPolicy &policy)
  {
    const double low = policy.tol > 1e-290 ? policy.tol : 1e-290, high = policy.max < 1e290 ? policy.max : 1e290;

    least = (unsigned int)__double2hiint(low) + 1;
    range = (unsigned int)__double2hiint(high) > least ? (unsigned int)__double2hiint(high) - least : 0;
  }
  __device__ bool good(double p) const { return ((unsigned int)__double2hiint(p) & 0x7FFFFFFFu) - least < range; }
};

/*
  SpikeTileInvert() for a tile in fragments: d <- strictly lower part of L^-1, strictly upper part of U^-1, and mine[m] <- inverse of the pivot of row 8 m + g,
  by one warp. Pivot k needs its row, which four lanes leave in shared memory, its column and itself, from the lanes beside: the blocks which
  hold the next pivot's are updated first, and these on their way while the others are updated. Rows from T on have inverse pivots of one.

  row: [64] of the warp, 16 byte aligned
*/
template <int NB>
__device__ static inline void SpikeFragmentsInvert(double (&d)[NB][NB][2], double (&mine)[NB], double *row, int T, int row0, int rows, const SpikePivotPolicy &policy, const SpikePivotRange &limits, SpikePivotState &st)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;

#pragma unroll
  for (int m = 0; m < NB; m++) mine[m] = 1.0;
#pragma unroll
  for (int b = 0; b < NB; b++) {
    double p, t[NB];

    /* pivot 8 b + 2 pair + e */
    auto fetch = [&](int pair, int e) {
      if (g == 2 * pair + e) {
#pragma unroll
        for (int n = 0; n < NB; n++) *(double2 *)(row + 32 * e + 8 * n + 2 * q) = make_double2(d[b][n][0], d[b][n][1]);
      }
      p = SpikeShuffle(d[b][b][e], 4 * (2 * pair + e) + pair);
#pragma unroll
      for (int m = 0; m < NB; m++) t[m] = SpikeShuffle(d[m][b][e], 4 * g + (pair & 3));
    };

    fetch(0, 0);
#pragma unroll 1
    for (int pair = 0; pair < 4; pair++) {
#pragma unroll
      for (int e0 = 0; e0 < 2; e0++) {
        const int kk = 2 * pair + e0, k = 8 * b + kk;

        if (b < NB - 1 || k < T) {
          double inv, below, w[NB][2], before[2], beside[2];

          __syncwarp();
#pragma unroll
          for (int n = 0; n < NB; n++) SpikePair(row + 32 * e0 + 8 * n + 2 * q, w[n]);
          if (limits.good(p)) {
            asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inv) : "d"(p));
            const double rest = fma(-p, inv, 1.0);

            inv = fma(inv, fma(rest, rest, rest), inv);
          } else inv = SpikePivotInverse(p, row0 + k, rows, policy, st);
#pragma unroll
          for (int m = 0; m < NB; m++) t[m] *= inv;
          if (g == kk) {
            mine[b] = inv;
            t[b]    = 0.0;
          }
          below = g > kk ? t[b] : 0.0;
          /* left of the pivot only the rows below it change */
#pragma unroll
          for (int e = 0; e < 2; e++) {
            const bool right = e > e0 ? q >= pair : q > pair;

            before[e] = right ? w[b][e] : 0.0;
            beside[e] = right || g > kk ? w[b][e] : 0.0;
          }
#pragma unroll
          for (int m = 0; m < NB; m++)
#pragma unroll
            for (int e = 0; e < 2; e++) d[m][b][e] = fma(-t[m], m < b ? before[e] : m == b ? beside[e] : w[b][e], d[m][b][e]);
          if (q == pair) {
#pragma unroll
            for (int m = 0; m < NB; m++) d[m][b][e0] = -t[m];
          }
#pragma unroll
          for (int n = 0; n < NB; n++)
#pragma unroll
            for (int e = 0; e < 2; e++)
              if (n != b) d[b][n][e] = fma(-(n < b ? below : t[b]), w[n][e], d[b][n][e]);
          double s[NB];
#pragma unroll
          for (int m = 0; m < NB; m++) s[m] = t[m];
          fetch(pair + e0, 1 - e0);
#pragma unroll
          for (int m = 0; m < NB; m++)
#pragma unroll
            for (int n = 0; n < NB; n++)
#pragma unroll
              for (int e = 0; e < 2; e++)
                if (m != b && n != b && (m > b || n > b)) d[m][n][e] = fma(-s[m], w[n][e], d[m][n][e]);
        }
      }
    }
  }
  /* U^-1 was kept times the pivots of its rows */
#pragma unroll
  for (int m = 0; m < NB; m++)
#pragma unroll
    for (int n = m; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++)
        if (n > m || 2 * q + e > g) d[m][n][e] *= mine[m];
}
