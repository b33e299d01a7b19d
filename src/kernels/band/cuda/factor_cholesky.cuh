/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_cholesky.cuh: A = L D L^T of partitions of a symmetric positive definite band with several tiles on either side
  of the diagonal, a block of warps a partition; real numbers
*/
#pragma once

#include "factor_wide.cuh"

/*
  The factors are left as LU leaves them, L and U = D L^T with the inverses of diagonal tiles, so that all that reads
  them is that of LU. Of A only what lies on and below the diagonal is read. With M_j = L^-T of the diagonal tile j, a
  unit upper triangular matrix, step j is
    panel    X_ij = A_ij M_j, i = j + 1 .. j + Q;  L_ij = X_ij D_j^-1,  U_ji = X_ij^T
    update   A_ik <- A_ik - X_ij D_j^-1 X_kj^T,  j < k <= i
    tile     A_j+1,j+1 = L D L^T, and its M
  The first warp goes from X_j+1,j by A_j+1,j+1 to the next M in registers, without a wait for another warp, while the
  others do the rest and store what is final. All products are those of a tile with a transposed one: in fragments both
  are what a lane holds of them, so that no tile is turned in shared memory. Tiles X and those between two updates lie
  there by rows; M lies by columns. Where there is no room for all, the rest stays in the band (the cache).

  Operations of a step: (Q + 1)^2 T^3 instead of 2 Q^2 T^3 and more; reads the lower half of the band and writes all.
*/

/* Tiles by rows in shared memory; LOWERONLY: blocks on and below the diagonal, those above are zero */
template <int N8, bool LOWERONLY>
__device__ static inline void SpikeTileRowLoad(const SpikeLane<double> &at, const double *s, double (&d)[N8][N8][2])
{
  SpikeUnroll2(m, N8, n, N8) {
    double2 v = make_double2(0.0, 0.0);

    if (!LOWERONLY || m >= n) v = *(const double2 *)(s + at.pair(n, m));
    d[m][n][0] = v.x;
    d[m][n][1] = v.y;
  }
}

template <int N8, bool LOWERONLY>
__device__ static inline void SpikeTileRowStore(const SpikeLane<double> &at, double *s, const double (&d)[N8][N8][2])
{
  SpikeUnroll2(m, N8, n, N8)
    if (!LOWERONLY || m >= n) *(double2 *)(s + at.pair(n, m)) = make_double2(d[m][n][0], d[m][n][1]);
}

/*
  d <- d - X D^-1 Y^T, inverse: D^-1; x(k, m) is block (m, k) of X, y(k, n) block (n, k) of Y, as a lane holds it.
  LOWERONLY: blocks on and below the diagonal
*/
template <int N8, bool LOWERONLY, int UNROLLEDBY, typename X, typename Y>
__device__ static inline void SpikeSymmetricMinus(const SpikeLane<double> &at, const double *inverse, const X &x,
                                                  const Y &y, double (&d)[N8][N8][2])
{
  constexpr int H = SpikeTileShape<N8>::H;

#pragma unroll(UNROLLEDBY)
  for (int k = 0; k < N8; k++) {
    const double2 w = *(const double2 *)(inverse + 8 * k + 2 * at.q);
    double        a[H][4];

    SpikeUnroll(m, 2 * H) {
      const double2 v = m < N8 ? x(k, m < N8 ? m : 0) : make_double2(0.0, 0.0);

      a[m / 2][m % 2]     = -v.x * w.x;
      a[m / 2][m % 2 + 2] = -v.y * w.y;
    }
    SpikeUnroll(n, N8) {
      const double2 v    = y(k, n);
      const double  b[2] = {v.x, v.y};

      SpikeUnrollFrom(h, LOWERONLY ? n / 2 : 0, H) SpikeBlockProduct<N8>(d, h, n, a[h], b);
    }
  }
}

/*
  The diagonal block b, x[e] = element (g, 2 q + e), whose lower half becomes L_b^-1 without its diagonal, pivot after
  pivot up to row T of the tile; what lies above means nothing then. Returns the inverse of the pivot of row g. The next
  pivot follows from what it and its neighbour were before this one, so that no lane waits for another one's update
*/
template <bool WHOLE>
__device__ static __forceinline__ double SpikeBlockCholesky(double (&x)[2], int b, int T, const SpikePivotRange &limits,
                                                            unsigned int &worst)
{
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  double    inverse = 1.0, p = SpikeShuffle(x[0], 0);

#pragma unroll
  for (int k = 0; k < 8; k++) {
    if (WHOLE || 8 * b + k < T) {
      const int    n    = k < 7 ? k + 1 : k;
      const double here = x[k & 1], beside = x[n & 1], u = SpikeShuffle(beside, 4 * k + n / 2),
                   d = SpikeShuffle(beside, 4 * n + n / 2), c = SpikeShuffle(here, 4 * g + k / 2),
                   v0 = SpikeShuffle(x[0], 4 * k + q), v1 = SpikeShuffle(x[1], 4 * k + q);
      double i, f, s, r;

      worst = max(worst, limits.distance(p, true));
      asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(i) : "d"(p)); /* 1 / p = i (1 + f) */
      f = fma(-p, i, 1.0);
      f = fma(f, f, f);
      r = u * i;
      r = fma(r, f, r);
      s = c * i;
      s = g > k ? fma(s, f, s) : 0.0;
      if (g == k) inverse = fma(i, f, i);
      p    = fma(-r, u, d);
      x[0] = fma(-s, v0, x[0]);
      x[1] = fma(-s, v1, x[1]);
      if (q == k / 2) x[k & 1] = -s;
    }
  }
  return inverse;
}

/*
  A tile in fragments, blocks on and below the diagonal: d <- M in the blocks on and above it, mine[m] <- inverse of the
  pivot of row 8 m + g, by one warp. With L_b of the block D_bb, pivot after pivot,
    X_mb = D_mb L_b^-T (m > b)          M_nb = Z_nb L_b^-T (n < b)          M_bb = L_b^-T
    D_mc -= X_mb D_b^-1 X_cb^T (m >= c > b)     Z_nc -= M_nb D_b^-1 X_cb^T (n <= b < c),  Z_nc = 0 at first
  EXACTLY and what is returned: SpikeFragmentsInvert()
*/
template <int N8, bool WHOLE, bool EXACTLY>
__device__ static inline bool SpikeFragmentsCholesky(double (&d)[N8][N8][2], double (&mine)[N8], int T, int row0,
                                                     int nrows, const SpikePivotPolicy &policy,
                                                     const SpikePivotRange &limits, SpikePivotState &st)
{
  constexpr int H    = SpikeTileShape<N8>::H;
  const int     lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  unsigned int  worst = 0;

  SpikeUnroll(b, N8) {
    double x[2], lower[2], w[2], own[2], r[2 * H][2], t[2 * H][2];

    x[0] = d[b][b][0];
    x[1] = d[b][b][1];
    if constexpr (EXACTLY)
      mine[b] = SpikeBlockInvert<true, false, true>(x, b, T, row0, nrows, policy, limits, worst, st);
    else if (b < N8 - 1) mine[b] = SpikeBlockCholesky<true>(x, b, T, limits, worst);
    else mine[b] = SpikeBlockCholesky<WHOLE>(x, b, T, limits, worst);
    SpikeUnroll(e, 2) lower[e] = 2 * q + e < g ? x[e] : 2 * q + e == g ? 1.0 : 0.0;
    SpikeUnroll(h, H) {
      const int m1 = 2 * h + 1 < N8 ? 2 * h + 1 : 2 * h;
      double    a[4], c[4] = {0.0, 0.0, 0.0, 0.0};

      SpikeUnroll(e, 2) {
        a[2 * e]     = 2 * h == b ? 0.0 : d[2 * h][b][e];
        a[2 * e + 1] = m1 == b || m1 == 2 * h ? 0.0 : d[m1][b][e];
      }
      SpikeTileMMA(c, a, lower);
      SpikeUnroll(e, 2) {
        r[2 * h][e]     = c[e];
        r[2 * h + 1][e] = c[2 + e];
      }
    }
    /* M_bb, turned, and the inverse pivots of columns */
    SpikeUnroll(e, 2) {
      const int    from = 4 * (2 * q + e) + (g >> 1);
      const double even = SpikeShuffle(lower[0], from), odd = SpikeShuffle(lower[1], from);

      w[e]   = SpikeShuffle(mine[b], 4 * (2 * q + e));
      own[e] = g & 1 ? odd : even;
    }
    SpikeUnroll2(m, N8, e, 2) {
      if (m < b) d[m][b][e] = r[m][e];
      t[m][e] = -(m == b ? own[e] : r[m][e]) * w[e];
    }
    SpikeUnroll(e, 2) d[b][b][e] = own[e];
    /* the next diagonal block first */
    SpikeUnrollFrom(c, b + 1, N8)
      SpikeUnroll(o, H) {
        const int h = ((b + 1) / 2 + o) % H;
        double    a[4];

        SpikeUnroll2(u, 2, e, 2) {
          const int m = 2 * h + u;

          a[2 * e + u] = m < N8 && (m <= b || m >= c) ? t[m < N8 ? m : 0][e] : 0.0;
          if (m == b) d[b][c][e] = 0.0;
        }
        SpikeBlockProduct<N8>(d, h, c, a, r[c]);
      }
  }
  return limits.good(worst);
}

template <int N8>
__device__ static __noinline__ void SpikeFragmentsCholeskyExact(SpikeTileCopy<N8> *copy, int T, int row0, int nrows)
{
  double           d[N8][N8][2], mine[N8];
  SpikePivotPolicy policy = copy->policy;
  SpikePivotState  st     = copy->st;

  SpikeUnroll(i, 2 * N8 * N8) d[i / (2 * N8)][i / 2 % N8][i % 2] = copy->tile[i];
  SpikeFragmentsCholesky<N8, false, true>(d, mine, T, row0, nrows, policy, SpikePivotRange(policy), st);
  SpikeUnroll(i, 2 * N8 * N8) copy->tile[i] = d[i / (2 * N8)][i / 2 % N8][i % 2];
  SpikeUnroll(m, N8) copy->mine[m] = mine[m];
  copy->st = st;
}

template <int N8>
__device__ static inline void SpikeFragmentsCholeskyAgain(double (&d)[N8][N8][2], double (&mine)[N8], int T, int row0,
                                                          int nrows, const SpikePivotPolicy &policy,
                                                          SpikePivotState &st)
{
  SpikeTileCopy<N8> copy;

  SpikeUnroll(i, 2 * N8 * N8) copy.tile[i] = d[i / (2 * N8)][i / 2 % N8][i % 2];
  copy.policy = policy;
  copy.st     = st;
  SpikeFragmentsCholeskyExact<N8>(&copy, T, row0, nrows);
  SpikeUnroll(i, 2 * N8 * N8) d[i / (2 * N8)][i / 2 % N8][i % 2] = copy.tile[i];
  SpikeUnroll(m, N8) mine[m] = copy.mine[m];
  st = copy.st;
}

/* Numbers of shared memory: M of this step and the next, Q tiles X, and of the others those for which there is room */
__host__ __device__ static inline int SpikeCholeskyPlaces(int Q)
{
  return 2 + Q + Q * (Q + 1) / 2;
}

/* A step of a warp; jr = j mod Q */
template <typename F, int N8, bool WHOLE>
struct SpikeCholeskyStep {
  typedef SpikeBlockTiles<F, N8, WHOLE> Tiles;
  static constexpr int                  SIZE = SpikeTileShape<N8>::NPLACES;

  const Tiles             &P;
  const SpikeLane<double> &at;
  double                  *tiles, *inverses; /* [2][32] */
  int                      Q, places, j, jr;

  __device__ double *square(int a) const { return tiles + ((j + a) & 1) * SIZE; }
  __device__ double *inverse(int a) const { return inverses + ((j + a) & 1) * 32; }
  __device__ double *left(int a) const { return tiles + (1 + a) * SIZE; }
  /*
    Tile (j + a, j + b) between two updates, NULL where it is in the band: rows and columns are less than Q apart, so
    that what is left of both by Q, in either order, belongs to one tile
  */
  __device__ double *place(int a, int b) const
  {
    const int r = jr + a >= Q ? jr + a - Q : jr + a, c = jr + b >= Q ? jr + b - Q : jr + b, hi = max(r, c),
              slot = 2 + Q + hi * (hi + 1) / 2 + min(r, c);

    return slot < places ? tiles + slot * SIZE : NULL;
  }
  /* Whether A_j+a,. is as it was filled */
  __device__ bool raw(int a) const { return j <= 0 || a == Q; }

  __device__ void prefetch(int lane, int steps) const
  {
    const int i = j + 2 + Q;

    if (i < steps)
      SpikePrefetch((const void *)((size_t)P.tile(i, j + 2 + lane) & ~(size_t)15),
                    (unsigned int)(P.T() * P.T() * sizeof(F)) & ~15u);
  }
  /*
    The diagonal tile of row i in the band, its lower half; blocks on the diagonal in full, with element (c, r) for (r,
    c) above it
  */
  __device__ void loadlower(int i, double (&d)[N8][N8][2]) const
  {
    const int T    = P.T();
    const F  *base = P.band + i * P.rowsize, *diag = base + 2 * Q * T * T, *l = base + (Q - 1) * T * T;

    SpikeUnroll3(n, N8, e, 2, m, N8) {
      const int r = 8 * m + at.g, c = 8 * n + 2 * at.q + e;

      d[m][n][e] = 0.0;
      if (m >= n && P.has(m, n, e)) d[m][n][e] = (double)*(r == c ? diag + r : r > c ? l + c * T + r : l + r * T + c);
    }
  }
  __device__ void storelower(int i, const double (&d)[N8][N8][2]) const
  {
    const int T    = P.T();
    F        *base = P.band + i * P.rowsize, *diag = base + 2 * Q * T * T, *l = base + (Q - 1) * T * T;

    SpikeUnroll3(n, N8, e, 2, m, N8) {
      const int r = 8 * m + at.g, c = 8 * n + 2 * at.q + e;

      if (m >= n && r >= c && P.has(m, n, e)) *(r == c ? diag + r : l + c * T + r) = F(d[m][n][e]);
    }
  }
  /* x <- X_j+a,j, to its place too */
  __device__ void panel(int a, double (&x)[N8][N8][2]) const
  {
    constexpr int H    = SpikeTileShape<N8>::H;
    const double *from = raw(a) ? NULL : place(a, 0), *s = square(0);
    double        d[N8][N8][2];

    if (from) SpikeTileRowLoad<N8, false>(at, from, d);
    else P.load(P.tile(j + a, j), P.mask(j + a, j), d);
    SpikeUnroll2(m, N8, n, N8) x[m][n][0] = x[m][n][1] = 0.0;
    SpikeUnroll(k, N8) {
      double f[H][4];

      SpikeUnroll2(m, 2 * H, e, 2) f[m / 2][m % 2 + 2 * e] = m < N8 ? d[m < N8 ? m : 0][k][e] : 0.0;
      SpikeUnrollFrom(n, k, N8) {
        double b[2];

        SpikePair(s + at.pair(k, n), b);
        SpikeUnroll(h, H) SpikeBlockProduct<N8>(x, h, n, f[h], b);
      }
    }
    SpikeTileRowStore<N8, false>(at, left(a), x);
  }
  /* d <- A_j+a,j+a before this step */
  __device__ void diagonal(int a, double (&d)[N8][N8][2]) const
  {
    const double *from = raw(a) ? NULL : place(a, a);

    if (from) SpikeTileRowLoad<N8, true>(at, from, d);
    else loadlower(j + a, d);
  }
  /* A_j+a,j+b <- what the products of this step leave of it */
  __device__ void update(int a, int b) const
  {
    double       *to   = place(a, b), d[N8][N8][2];
    const double *from = raw(a) ? NULL : to, *xa = left(a), *xb = left(b);
    auto          x = [&](int k, int m) { return *(const double2 *)(xa + at.pair(k, m)); };
    auto          y = [&](int k, int n) { return *(const double2 *)(xb + at.pair(k, n)); };

    if (a == b) {
      diagonal(a, d);
      SpikeSymmetricMinus<N8, true, 2>(at, inverse(0), x, x, d);
      if (to) SpikeTileRowStore<N8, true>(at, to, d);
      else storelower(j + a, d);
    } else {
      if (from) SpikeTileRowLoad<N8, false>(at, from, d);
      else P.load(P.tile(j + a, j + b), Tiles::FULL, d);
      SpikeSymmetricMinus<N8, false, 2>(at, inverse(0), x, y, d);
      if (to) SpikeTileRowStore<N8, false>(at, to, d);
      else P.store(P.tile(j + a, j + b), Tiles::FULL, d);
    }
  }
  /* Two neighbours in a column of the band */
  __device__ static void put(F *to, double v0, double v1)
  {
    if constexpr (WHOLE && sizeof(F) == 8) *(double2 *)to = make_double2(v0, v1);
    else {
      to[0] = F(v0);
      to[1] = F(v1);
    }
  }
  /* L_j+a,j and U_j,j+a to the band */
  __device__ void store(int a) const
  {
    const auto    mask = P.mask(j + a, j);
    const int     T    = P.T();
    const double *w    = inverse(0) + 2 * at.q;
    F            *u    = P.tile(j, j + a) + at.g * T + 2 * at.q;
    double        d[N8][N8][2];

    SpikeTileRowLoad<N8, false>(at, left(a), d);
    SpikeUnroll2(m, N8, n, N8) {
      const bool both = mask == Tiles::FULL || m < n; /* of a corner X is upper triangular */

      if (WHOLE && both) put(u + 8 * m * T + 8 * n, d[m][n][0], d[m][n][1]);
      else {
        SpikeUnroll(e, 2)
          if (P.has(m, n, e) && Tiles::keep(mask, m, n, at.g, 2 * at.q + e)) u[8 * m * T + 8 * n + e] = F(d[m][n][e]);
      }
    }
    SpikeUnroll(n, N8) {
      const double2 v = *(const double2 *)(w + 8 * n);

      SpikeUnroll(m, N8) {
        d[m][n][0] *= v.x;
        d[m][n][1] *= v.y;
      }
    }
    P.store(P.tile(j + a, j), mask, d);
  }
  /* The inverses of row j to the band: M^T = L^-1 below the diagonal, M D^-1 = U^-1 on and above it */
  __device__ void storesquare() const
  {
    const int     T = P.T();
    const double *s = square(0), *w = inverse(0);
    F            *base = P.band + j * P.rowsize, *diag = base + 2 * Q * T * T, *l = base + (Q - 1) * T * T,
      *u = base + (2 * Q - 1) * T * T;

    SpikeUnroll3(m, N8, n, N8, e, 2)
      if (m <= n && P.has(m, n, e)) {
        const int    r = 8 * m + at.g, c = 8 * n + 2 * at.q + e;
        const double v = s[at.at(m, n, e)];

        if (r == c) diag[r] = F(w[r]);
        else if (r < c) {
          u[c * T + r] = F(v * w[c]);
          l[r * T + c] = F(v);
        }
      }
  }
  /* M and the inverse pivots of the next row, for the other warps */
  __device__ void publish(const double (&d)[N8][N8][2], const double (&mine)[N8]) const
  {
    double *s = square(1), *w = inverse(1);

    SpikeUnroll3(m, N8, n, N8, e, 2)
      if (m <= n) s[at.at(m, n, e)] = d[m][n][e];
    SpikeUnroll(m, N8)
      if (at.q == 0) w[8 * m + at.g] = mine[m];
  }
};

template <typename F, int N8, bool WHOLE, int NWARPS>
__global__ void __launch_bounds__(32 * NWARPS, NWARPS == 8 ? 1 : 2)
  SpikeFactorCholesky(SpikeTiles t, F *band, SpikePivotPolicy given, int places, SpikeStatus *status, double *badvalue)
{
  const SpikePivotPolicy policy = SpikePivotAbsolute(given);
  extern __shared__ __align__(16) char shared[];
  __shared__ __align__(16) double     inverses[2 * 32];
  __shared__ int                      next, nextstore, rotation;
  __shared__ unsigned long long       panels; /* mbarrier, a phase a step */
  const int                           lane = threadIdx.x % 32, Q = t.QL, T = WHOLE ? 8 * N8 : t.T, steps = t.tilerows;
  const PetscInt                      p    = blockIdx.x;
  const int                           rows = (int)(t.start[p + 1] - t.start[p]);
  const SpikeLane<double>             at;
  const SpikeBlockTiles<F, N8, WHOLE> P(t, p, Q, Q, band, at);
  const SpikePivotRange               limits(policy);
  SpikePivotState                     st = {-1, 0, 0.0};

  if (threadIdx.x == 0) {
    rotation = NWARPS == 8 ? 0 : SpikeWarpRotation(NWARPS);
    SpikeMbarrierInit(&panels, 32 * NWARPS);
  }
  __syncthreads();
  const int warp = (threadIdx.x / 32 + rotation) % NWARPS;
  /* beside the first warp: stays out of its way where there is time, and stores */
  const bool beside = NWARPS == 8 && warp == 4 && Q <= 4;

  /* step -1 does the first diagonal tile only, step steps - 1 stores the last */
  for (int j = -1, jr = Q - 1; j < steps; j++, jr = jr == Q - 1 ? 0 : jr + 1) {
    const int                             nl = j < 0 ? 0 : min(Q, steps - 1 - j), jobs = nl * (nl + 1) / 2;
    const unsigned int                    phase = (j + 1) & 1;
    const SpikeCholeskyStep<F, N8, WHOLE> step  = {P, at, (double *)shared, inverses, Q, places, j, jr};

    __syncthreads();
    if (threadIdx.x == 0) next = 1, nextstore = 0;
    if (warp == 0) {
      double x[N8][N8][2], d[N8][N8][2], mine[N8];

      if (nl) step.panel(1, x);
      SpikeMbarrierArrive(&panels);
#pragma unroll 1
      for (bool exact = false; j + 1 < steps; exact = true) {
        step.diagonal(1, d);
        if (nl) {
          auto own = [&](int k, int m) { return make_double2(x[m][k][0], x[m][k][1]); };

          if (exact) SpikeTileRowLoad<N8, false>(at, step.left(1), x); /* x is not kept */
          SpikeSymmetricMinus<N8, true, N8>(at, step.inverse(0), own, own, d);
        }
        if (exact) SpikeFragmentsCholeskyAgain<N8>(d, mine, T, (j + 1) * T, rows, policy, st);
        if (exact || SpikeFragmentsCholesky<N8, WHOLE, false>(d, mine, T, (j + 1) * T, rows, policy, limits, st)) {
          step.publish(d, mine);
          break;
        }
      }
    } else {
      if (warp == NWARPS - 1 && lane < Q) step.prefetch(lane, steps);
      for (int a = 1 + warp; a <= nl; a += NWARPS - 1) {
        double x[N8][N8][2];

        step.panel(a, x);
      }
      SpikeMbarrierArrive(&panels);
    }
    SpikeMbarrierWait(&panels, phase);
    if (j < 0) continue;
    /* from the last row on, which comes from memory; the first tile is the first warp's */
    while (!beside) {
      int b = jobs - SpikeNextJob(&next), a = 1;

      if (b <= 0) break;
      for (; b >= a; a++) b -= a;
      step.update(a, b + 1);
    }
    for (;;) {
      const int a = SpikeNextJob(&nextstore);

      if (a > nl) break;
      if (a) step.store(a);
      else step.storesquare();
    }
  }
  if (warp == 0 && lane == 0) SpikeReportPivots(t, p, st, status, badvalue);
}
