/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_tiles.cuh: real tiles of up to 32 x 32 in shared memory and in fragments: copies, products, elimination */
#pragma once

#include "factor.cuh"
#include "tile_places.cuh"
#include "kernels/common/cuda/async.cuh"

/* Rows 16 h + g and 16 h + 8 + g of a column of blocks: x[2h][n], x[2h+1][n] += a b */
template <int N8>
__device__ static inline void SpikeBlockProduct(double (&x)[N8][N8][2], int h, int n, const double (&a)[4],
                                                const double (&b)[2])
{
  double c[4];

  c[0] = x[2 * h][n][0];
  c[1] = x[2 * h][n][1];
  c[2] = 2 * h + 1 < N8 ? x[2 * h + 1 < N8 ? 2 * h + 1 : 0][n][0] : 0.0;
  c[3] = 2 * h + 1 < N8 ? x[2 * h + 1 < N8 ? 2 * h + 1 : 0][n][1] : 0.0;
  SpikeTileMMA(c, a, b);
  x[2 * h][n][0] = c[0];
  x[2 * h][n][1] = c[1];
  if (2 * h + 1 < N8) {
    x[2 * h + 1 < N8 ? 2 * h + 1 : 0][n][0] = c[2];
    x[2 * h + 1 < N8 ? 2 * h + 1 : 0][n][1] = c[3];
  }
}

/* A tile between fragments and shared memory */
template <int N8>
__device__ static inline void SpikeSharedLoad(const SpikeLane<double> &at, const double *s, double (&d)[N8][N8][2])
{
  SpikeUnroll3(m, N8, n, N8, e, 2) d[m][n][e] = s[at.at(m, n, e)];
}

template <int N8>
__device__ static inline void SpikeSharedStore(const SpikeLane<double> &at, double *s, const double (&d)[N8][N8][2])
{
  SpikeUnroll3(m, N8, n, N8, e, 2) s[at.at(m, n, e)] = d[m][n][e];
}

/* d <- d - l u. Of the corner of U, which is lower triangular, products with blocks of zeros are left out */
template <int N8, bool ATCORNER>
__device__ static inline void SpikeProductMinus(const SpikeLane<double> &at, const double *l, const double *u,
                                                double (&d)[N8][N8][2])
{
#pragma unroll(ATCORNER ? 1 : 2)
  for (int k = 0; k < N8; k++) {
    double a[SpikeTileShape<N8>::H][4];

    SpikeUnroll2(m, 2 * SpikeTileShape<N8>::H, e, 2) a[m / 2][m % 2 + 2 * e] = m < N8 ? -l[at.at(m, k, e)] : 0.0;
    SpikeUnroll(n, N8)
      if (!ATCORNER || n <= k) {
        double b[2];

        SpikePair(u + at.pair(k, n), b);
        SpikeUnroll(h, SpikeTileShape<N8>::H) SpikeBlockProduct<N8>(d, h, n, a[h], b);
      }
  }
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
      for (int c = lane >> 4; c < T; c += 2)
        SpikeCopyAsync<2 * sizeof(F), true>(s + 32 * c + (r ^ SpikeLane<F>::swizzle(c)), tile + c * T + r);
    }
  } else if (lane < T) {
#pragma unroll 4
    for (int c = 0; c < T; c++)
      SpikeCopyAsync<sizeof(F), true>(s + 32 * c + (lane ^ SpikeLane<F>::swizzle(c)), tile + c * T + lane);
  }
}

/*
  The policy's limits as seen by the upper halves of doubles: inside of them a pivot is good beyond doubt and its
  reciprocal neither over- nor underflows. Distances are below the largest good one, so that the largest distance of
  several pivots tells the smallest of them, or one that is too large
*/
struct SpikePivotRange {
  unsigned int most, range;

  __device__ SpikePivotRange(const SpikePivotPolicy &policy)
  {
    const double       low = policy.tol > 1e-290 ? policy.tol : 1e-290, high = policy.max < 1e290 ? policy.max : 1e290;
    const unsigned int least = (unsigned int)__double2hiint(low) + 1;

    most  = (unsigned int)__double2hiint(high) - 1;
    range = most >= least ? most - least + 1 : 0;
  }
  /* keepsign: a negative pivot is far from good */
  __device__ unsigned int distance(double p, bool keepsign) const
  {
    return most - ((unsigned int)__double2hiint(p) & (keepsign ? 0xFFFFFFFFu : 0x7FFFFFFFu));
  }
  __device__ bool good(unsigned int distance) const { return distance < range; }
};

/*
  SpikeTileInvert() for a tile in fragments: d <- strictly lower part of L^-1, strictly upper part of U^-1, and mine[m]
  <- inverse of the pivot of row 8 m + g, by one warp. Elimination and both inverses run together, 8 x 8 block after
  block; the diagonal block D_bb = L_b U_b is done as there, pivot after pivot, with its rows and columns from the lanes
  beside. Then, with  W_n = L_b^-1 D_bn  and  T_m = D_mb U_b^-1,
    n > b:  D_mn -= T_m W_n (m != b),  D_bn <- U_b^-1 W_n
    n < b:  D_mn -= T_m W_n (m > b),   D_bn <- W_n
    D_mb <- -T_m (m < b),  -T_m L_b^-1 (m > b)
  so that blocks below hold L^-1 and above U^-1 in the end. Rows from T on have inverse pivots of one.

  Without EXACTLY pivots are taken as they are, and the largest distance of one of the nrows rows is returned: where
  limits are not good() there, the tile is to be done again, exactly.

  rows: [SPIKE_INVERT_WORK] of the warp, 16 byte aligned: a row of blocks on its way from c to b fragments
*/
#define SPIKE_INVERT_LD   42 /* 10 mod 16: no bank conflicts */
#define SPIKE_INVERT_WORK (8 * SPIKE_INVERT_LD)

/*
  The diagonal block b of that, D_bb = L_b U_b in x[e] = element (g, 2 q + e), pivot after pivot, up to row T of the
  tile. Returns the inverse of the pivot of row g. POSITIVE: other pivots are refused
*/
template <bool EXACTLY, bool WHOLE, bool POSITIVE = false>
__device__ static __forceinline__ double SpikeBlockInvert(double (&x)[2], int b, int T, int row0, int nrows,
                                                          const SpikePivotPolicy &policy, const SpikePivotRange &limits,
                                                          unsigned int &worst, SpikePivotState &st)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  double    inverse = 1.0;

#pragma unroll(EXACTLY ? 1 : 8)
  for (int kk = 0; kk < 8; kk++) {
    const int k = 8 * b + kk;

    if (WHOLE || k < T) {
      const bool   odd = kk & 1;
      const double y = odd ? x[1] : x[0], p = SpikeShuffle(y, 4 * kk + kk / 2), c = SpikeShuffle(y, 4 * g + kk / 2),
                   v0 = SpikeShuffle(x[0], 4 * kk + q), v1 = SpikeShuffle(x[1], 4 * kk + q);
      double s;

      if (EXACTLY) {
        const double i = POSITIVE ? SpikePivotPositive(p, row0 + k, nrows, policy, st)
                                  : SpikePivotInverse(p, row0 + k, nrows, policy, st);

        s = c * i;
        if (g == kk) inverse = i;
      } else { /* 1 / p = i (1 + f) */
        double i, f;

        worst = max(worst, row0 + k < nrows ? limits.distance(p, POSITIVE) : 0u);
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(i) : "d"(p));
        f = fma(-p, i, 1.0);
        f = fma(f, f, f);
        s = c * i;
        s = fma(s, f, s);
        if (g == kk) inverse = p;
      }
      if (g == kk) s = 0.0;
      /* left of the pivot only the rows below it change */
      if (g > kk || 2 * q > kk) x[0] = fma(-s, v0, x[0]);
      if (g > kk || 2 * q + 1 > kk) x[1] = fma(-s, v1, x[1]);
      if (q == kk / 2) {
        if (odd) x[1] = -s;
        else x[0] = -s;
      }
    }
  }
  if (!EXACTLY) { /* of the pivots of all rows, together */
    const double p = inverse;
    double       f;

    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(p));
    f       = fma(-p, inverse, 1.0);
    inverse = fma(inverse, fma(f, f, f), inverse);
  }
  return inverse;
}

template <int N8, bool EXACTLY>
__device__ static inline unsigned int SpikeFragmentsInvert(double (&d)[N8][N8][2], double (&mine)[N8], double *rows,
                                                           int T, int row0, int nrows, const SpikePivotPolicy &policy,
                                                           const SpikePivotRange &limits, SpikePivotState &st)
{
  constexpr int H    = SpikeTileShape<N8>::H;
  const int     lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  double       *put = rows + g * SPIKE_INVERT_LD + 2 * q, *get = rows + 2 * q * SPIKE_INVERT_LD + g;
  unsigned int  worst = 0;

  SpikeUnroll(b, N8) {
    double x[2], own[2], w[N8][2], r[N8][2], t[N8 + 1][2], minus[2], lower[2], a[4], inverse;

    __syncwarp();
    SpikeUnroll(n, N8)
      if (n != b) *(double2 *)(put + 8 * n) = make_double2(d[b][n][0], d[b][n][1]);
    x[0]    = d[b][b][0];
    x[1]    = d[b][b][1];
    inverse = b < N8 - 1 ? SpikeBlockInvert<EXACTLY, true>(x, b, T, row0, nrows, policy, limits, worst, st)
                         : SpikeBlockInvert<EXACTLY, false>(x, b, T, row0, nrows, policy, limits, worst, st);
    mine[b] = inverse;
    SpikeUnroll(e, 2) {
      own[e]     = 2 * q + e > g ? x[e] * inverse : 2 * q + e == g ? inverse : x[e];
      d[b][b][e] = own[e];
    }
    *(double2 *)(put + 8 * b) = make_double2(own[0], own[1]);
    __syncwarp();
    SpikeUnroll2(n, N8, e, 2) r[n][e] = get[e * SPIKE_INVERT_LD + 8 * n];
    SpikeUnroll(e, 2) {
      minus[e] = 2 * q + e <= g ? -r[b][e] : 0.0;
      lower[e] = 2 * q + e > g ? r[b][e] : 2 * q + e == g ? 1.0 : 0.0;
    }
    /* W */
    SpikeUnroll(e, 2) {
      a[2 * e]     = 2 * q + e < g ? own[e] : 2 * q + e == g ? 1.0 : 0.0;
      a[2 * e + 1] = 0.0;
    }
    SpikeUnroll(n, N8)
      if (n != b) {
        double c[4] = {0.0, 0.0, 0.0, 0.0};

        SpikeTileMMA(c, a, r[n]);
        w[n][0] = c[0];
        w[n][1] = c[1];
      }
    __syncwarp();
    SpikeUnroll(n, N8)
      if (n != b) *(double2 *)(put + 8 * n) = make_double2(w[n][0], w[n][1]);
    /* -T, and what becomes of the column of blocks */
    SpikeUnroll(h, H) {
      const int m = 2 * h, m1 = 2 * h + 1 < N8 ? 2 * h + 1 : 2 * h;
      double    c[4] = {0.0, 0.0, 0.0, 0.0};

      SpikeUnroll(e, 2) {
        a[2 * e]     = m == b ? 0.0 : d[m][b][e];
        a[2 * e + 1] = m1 == b || m1 == m ? 0.0 : d[m1][b][e];
      }
      SpikeTileMMA(c, a, minus);
      SpikeUnroll(e, 2) {
        t[m][e]     = c[e];
        t[m + 1][e] = c[2 + e];
        if (m < b) d[m][b][e] = c[e];
        if (m1 < b) d[m1][b][e] = c[2 + e];
      }
      if (m1 > b) {
        SpikeUnroll(e, 2) {
          a[2 * e]     = t[m][e];
          a[2 * e + 1] = t[m + 1][e];
          c[e] = c[2 + e] = 0.0;
        }
        SpikeTileMMA(c, a, lower);
        SpikeUnroll(e, 2) {
          if (m > b) d[m][b][e] = c[e];
          if (m1 > m) d[m1][b][e] = c[2 + e];
        }
      }
    }
    __syncwarp();
    SpikeUnroll(n, N8)
      if (n != b) {
        SpikeUnroll(e, 2) r[n][e] = get[e * SPIKE_INVERT_LD + 8 * n];
      }
    /* the next diagonal block first */
    SpikeUnrollFrom(i, 1, N8)
      SpikeUnroll(o, H) {
        const int n = (b + i) % N8, h = ((b + 1) / 2 + o) % H;

        SpikeUnroll(e, 2) {
          SpikeUnroll(u, 2) {
            const int m = 2 * h + u;

            a[2 * e + u] = m >= N8        ? 0.0
                         : m == b         ? (n > b && 2 * q + e >= g ? own[e] : 0.0)
                         : n > b || m > b ? t[m][e]
                                          : 0.0;
          }
          if (b / 2 == h) d[b][n][e] = n > b ? 0.0 : w[n][e];
        }
        if (n > b || 2 * h + 1 > b) SpikeBlockProduct<N8>(d, h, n, a, r[n]);
      }
  }
  return worst;
}

/* The same exactly, of little use: out of line, on a copy of the tile, so that tiles stay in registers elsewhere */
template <int N8>
struct SpikeTileCopy {
  double           tile[2 * N8 * N8], mine[N8];
  SpikePivotPolicy policy;
  SpikePivotState  st;
};

template <int N8>
__device__ static __noinline__ void SpikeFragmentsInvertExact(SpikeTileCopy<N8> *copy, double *rows, int T, int row0,
                                                              int nrows)
{
  double           d[N8][N8][2], mine[N8];
  SpikePivotPolicy policy = copy->policy;
  SpikePivotState  st     = copy->st;

  SpikeUnroll(i, 2 * N8 * N8) d[i / (2 * N8)][i / 2 % N8][i % 2] = copy->tile[i];
  SpikeFragmentsInvert<N8, true>(d, mine, rows, T, row0, nrows, policy, SpikePivotRange(policy), st);
  SpikeUnroll(i, 2 * N8 * N8) copy->tile[i] = d[i / (2 * N8)][i / 2 % N8][i % 2];
  SpikeUnroll(m, N8) copy->mine[m] = mine[m];
  copy->st = st;
}

template <int N8>
__device__ static inline void SpikeFragmentsInvertAgain(double (&d)[N8][N8][2], double (&mine)[N8], double *rows, int T,
                                                        int row0, int nrows, const SpikePivotPolicy &policy,
                                                        SpikePivotState &st)
{
  SpikeTileCopy<N8> copy;

  SpikeUnroll(i, 2 * N8 * N8) copy.tile[i] = d[i / (2 * N8)][i / 2 % N8][i % 2];
  copy.policy = policy;
  copy.st     = st;
  SpikeFragmentsInvertExact<N8>(&copy, rows, T, row0, nrows);
  SpikeUnroll(i, 2 * N8 * N8) d[i / (2 * N8)][i / 2 % N8][i % 2] = copy.tile[i];
  SpikeUnroll(m, N8) mine[m] = copy.mine[m];
  st = copy.st;
}
