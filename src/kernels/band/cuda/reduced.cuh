/* SPDX-License-Identifier: BSD-2-Clause */
/* reduced.cuh: inverses of reduced systems that need no exchange of rows; real numbers */
#pragma once

#include "factor_tiles.cuh"

/*
  Where the sums of |R - I| over rows stay below one half, R is dominated by its diagonal: elimination without exchanges
  is stable, its pivots lie between 1/2 and 3/2, and no tolerance below a quarter calls one bad. That is the rule, for
  spikes are short of one in norm. Other systems are left to elimination with exchanges.
*/
#define SPIKE_REDUCED_DOMINANT 0.5
#define SPIKE_REDUCED_TOL      0.25

/* The larger one, NaN if there is one */
__device__ static inline double SpikeMaxOrNaN(double a, double b)
{
  return a >= b || a != a ? a : b;
}

/* x <- U^-1 L^-1 from the fragments that SpikeFragmentsInvert() leaves; s: room for a tile */
template <int N8>
__device__ static inline void SpikeInverseProduct(const SpikeLane<double> &at, double *s, double (&d)[N8][N8][2],
                                                  const double (&mine)[N8], double (&x)[N8][N8][2])
{
  const int g = at.g, q = at.q;

  __syncwarp();
  SpikeSharedStore<N8>(at, s, d);
  __syncwarp();
  SpikeUnroll2(m, N8, n, N8) x[m][n][0] = x[m][n][1] = 0.0;
  SpikeUnroll(k, N8) {
    double a[SpikeTileShape<N8>::H][4];

    SpikeUnroll2(m, 2 * SpikeTileShape<N8>::H, e, 2) {
      const double v = m < N8 ? d[m < N8 ? m : 0][k][e] : 0.0;

      a[m / 2][m % 2 + 2 * e] = m < k          ? v
                              : m > k          ? 0.0
                              : 2 * q + e > g  ? v
                              : 2 * q + e == g ? mine[m < N8 ? m : 0]
                                               : 0.0;
    }
    SpikeUnroll(n, k + 1) {
      double b[2];

      SpikePair(s + at.pair(k, n), b);
      SpikeUnroll(e, 2)
        if (n == k) b[e] = 2 * q + e > g ? b[e] : 2 * q + e == g ? 1.0 : 0.0;
      SpikeUnroll(h, k / 2 + 1) SpikeBlockProduct<N8>(x, h, n, a[h], b);
    }
  }
}

/*
  R = I - Wt Vb and its inverse, n <= 8 N8, by one warp, in fragments. s: room for a tile. Returns whether R was
  dominated; if not, nothing was written
*/
template <int N8>
__device__ static inline bool SpikeReducedWarp(int kl, int n, const PetscScalar *Wt, const PetscScalar *Vb,
                                               PetscScalar *R, double *s, double *work)
{
  const SpikeLane<double> at;
  const int               g = at.g, q = at.q;
  const SpikePivotPolicy  policy = {0.0, 0.0, DBL_MAX, DBL_MIN, NULL};
  SpikePivotState         st     = {-1, 0, 0.0};
  double                  d[N8][N8][2], x[N8][N8][2], mine[N8], most = 0.0;

  SpikeUnroll3(m, N8, k, N8, e, 2) d[m][k][e] = 0.0;
#pragma unroll 2
  for (int k0 = 0; k0 < kl; k0 += 8) {
    double a[SpikeTileShape<N8>::H][4];

    SpikeUnroll2(m, 2 * SpikeTileShape<N8>::H, e, 2)
      a[m / 2][m % 2 + 2 * e] = 8 * m + g < n && k0 + 2 * q + e < kl ? (double)Wt[8 * m + g + (k0 + 2 * q + e) * n]
                                                                     : 0.0;
    SpikeUnroll(c, N8) {
      double b[2];

      SpikeUnroll(e, 2)
        b[e] = 8 * c + g < n && k0 + 2 * q + e < kl ? (double)Vb[k0 + 2 * q + e + (8 * c + g) * kl] : 0.0;
      SpikeUnroll(h, SpikeTileShape<N8>::H) SpikeBlockProduct<N8>(d, h, c, a[h], b);
    }
  }
  SpikeUnroll(m, N8) {
    double sum = 0.0;

    SpikeUnroll2(c, N8, e, 2) {
      sum += fabs(d[m][c][e]);
      d[m][c][e] = (m == c && g == 2 * q + e ? 1.0 : 0.0) - d[m][c][e];
    }
    sum += SpikeShuffle(sum, (int)(threadIdx.x & 31) ^ 1);
    sum += SpikeShuffle(sum, (int)(threadIdx.x & 31) ^ 2);
    most = SpikeMaxOrNaN(most, sum);
  }
  if (__any_sync(0xFFFFFFFFu, !(most < SPIKE_REDUCED_DOMINANT))) return false;
  SpikeFragmentsInvert<N8, false>(d, mine, work, 8 * N8, 0, 0, policy, SpikePivotRange(policy), st);
  SpikeInverseProduct<N8>(at, s, d, mine, x);
  SpikeUnroll3(m, N8, c, N8, e, 2)
    if (8 * m + g < n && 8 * c + 2 * q + e < n) R[8 * m + g + (8 * c + 2 * q + e) * n] = (PetscScalar)x[m][c][e];
  return true;
}

/*
  Larger ones, by a block of WARPS warps: R in tiles of 32 x 32 in its place, which the L2 cache holds, rows and
  columns from n on as those of the identity. With Wt and Vb of one tile of columns and rows after the other in shared
  memory R is made, then inverted in place: step b, with the inverse of the diagonal tile,

      R_bj <- R_bb^-1 R_bj,   R_ij <- R_ij - R_ib R_bj,   R_ib <- -R_ib R_bb^-1,   R_bb <- R_bb^-1      (i, j != b)

  The first warp inverts the next diagonal tile while the others do the rest of the products. Moves 4 n^3 / 32 numbers
  in each of the two halves. Where R is not dominated it is left as it is, and noted.
*/
#define SPIKE_REDUCED_WARPS 8
/* Up to two tiles a side have work for no more, and two such blocks fit on a multiprocessor */
#define SPIKE_REDUCED_FEW 4

/* Panels of both sides and two tiles */
static inline size_t SpikeReducedBlockShared(int n)
{
  return (size_t)(2 * ((n + 31) / 32) + 2) * SpikeTileShape<4>::NPLACES * sizeof(double);
}

/*
  A tile of a matrix of r rows and c columns that begins at a; what is not there: as in the identity for diagonal tiles
*/
__device__ static inline void SpikeReducedTile(const SpikeLane<double> &at, const PetscScalar *a, int ld, int r, int c,
                                               bool diagonal, double (&d)[4][4][2])
{
  a += at.g + 2 * at.q * ld;
  SpikeUnroll3(n, 4, e, 2, m, 4) {
    const int i = 8 * m + at.g, j = 8 * n + 2 * at.q + e;

    d[m][n][e] = i < r && j < c ? (double)a[8 * m + (8 * n + e) * ld] : diagonal && i == j ? 1.0 : 0.0;
  }
}

__device__ static inline void SpikeReducedTileStore(const SpikeLane<double> &at, PetscScalar *a, int ld, int r, int c,
                                                    const double (&d)[4][4][2])
{
  a += at.g + 2 * at.q * ld;
  SpikeUnroll3(n, 4, e, 2, m, 4)
    if (8 * m + at.g < r && 8 * n + 2 * at.q + e < c) a[8 * m + (8 * n + e) * ld] = (PetscScalar)d[m][n][e];
}

/* Tile (i, j) of R, n x n */
__device__ static __forceinline__ void SpikeReducedLoad(const SpikeLane<double> &at, const PetscScalar *R, int n, int i,
                                                        int j, double (&d)[4][4][2])
{
  SpikeReducedTile(at, R + 32 * i + (PetscCount)32 * j * n, n, n - 32 * i, n - 32 * j, i == j, d);
}

__device__ static __forceinline__ void SpikeReducedStore(const SpikeLane<double> &at, PetscScalar *R, int n, int i,
                                                         int j, const double (&d)[4][4][2])
{
  SpikeReducedTileStore(at, R + 32 * i + (PetscCount)32 * j * n, n, n - 32 * i, n - 32 * j, d);
}

/* R <- I - Wt Vb by a thread block; left, above: room for (n + 31) / 32 tiles each */
template <int WARPS>
__device__ static __forceinline__ void SpikeReducedProduct(const SpikeLane<double> &at, int kl, int n,
                                                           const PetscScalar *Wt, const PetscScalar *Vb, PetscScalar *R,
                                                           double *left, double *above)
{
  constexpr int SIZE  = SpikeTileShape<4>::NPLACES;
  const int     tiles = (n + 31) / 32, warp = threadIdx.x / 32;
  double        d[4][4][2];

  for (int k = 0; k < PetscMax(kl, 1); k += 32) {
    for (int i = warp; i < 2 * tiles; i += WARPS) {
      if (i < tiles) SpikeReducedTile(at, Wt + 32 * i + (PetscCount)k * n, n, n - 32 * i, kl - k, false, d);
      else SpikeReducedTile(at, Vb + k + (PetscCount)32 * (i - tiles) * kl, kl, kl - k, n - 32 * (i - tiles), false, d);
      SpikeSharedStore<4>(at, left + i * SIZE, d);
    }
    __syncthreads();
    for (int job = warp; job < tiles * tiles; job += WARPS) {
      const int i = job % tiles, j = job / tiles;

      if (k) SpikeReducedLoad(at, R, n, i, j, d);
      else {
        SpikeUnroll3(m, 4, c, 4, e, 2) d[m][c][e] = i == j && m == c && at.g == 2 * at.q + e ? 1.0 : 0.0;
      }
      SpikeProductMinus<4, false>(at, left + i * SIZE, above + j * SIZE, d);
      SpikeReducedStore(at, R, n, i, j, d);
    }
    __syncthreads();
  }
}

/* The largest sum of |R - I| over a row, NaN if there is one, in all threads of a block */
template <int WARPS>
__device__ static __forceinline__ double SpikeReducedDistance(int n, const PetscScalar *R)
{
  __shared__ double norm[WARPS];
  const int         warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  double            most = 0.0;

  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    double sum = 0.0;

#pragma unroll 16
    for (int j = 0; j < n; j++) sum += fabs((double)R[i + (PetscCount)j * n] - (i == j ? 1.0 : 0.0));
    most = SpikeMaxOrNaN(most, sum);
  }
  for (int s = 16; s; s /= 2) {
    const double other = SpikeShuffle(most, lane ^ s);

    most = SpikeMaxOrNaN(most, other);
  }
  if (lane == 0) norm[warp] = most;
  __syncthreads();
  for (int w = 0; w < WARPS; w++) most = SpikeMaxOrNaN(most, norm[w]);
  return most;
}

template <int WARPS>
__global__ static void __launch_bounds__(32 * WARPS, SPIKE_REDUCED_WARPS / WARPS)
  SpikeReducedBlock_Kernel(int kl, int n, PetscInt q0, PetscInt stride, const PetscInt *active, const PetscScalar *dVb,
                           const PetscScalar *dWt, PetscScalar *dR, int *slow)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ double2                            work[SPIKE_INVERT_WORK / 2];
  __shared__ int                                next;
  constexpr int                                 SIZE = SpikeTileShape<4>::NPLACES;
  const SpikeLane<double>                       at;
  const SpikePivotPolicy                        policy = {0.0, 0.0, DBL_MAX, DBL_MIN, NULL};
  const PetscInt                                q      = q0 + blockIdx.x * stride;
  const int                                     tiles = (n + 31) / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const PetscScalar                            *Vb = dVb + q * (PetscCount)kl * n, *Wt = dWt + q * (PetscCount)kl * n;
  PetscScalar                                  *R = dR + q * (PetscCount)n * n;
  double *left = (double *)shared, *above = left + tiles * SIZE, *square = above + tiles * SIZE,
         *inverse = square + SIZE, d[4][4][2], most;

  if (!active[q]) {
    if (threadIdx.x == 0) slow[q] = 0;
    return;
  }
  auto load  = [&](int i, int j) { SpikeReducedLoad(at, R, n, i, j, d); };
  auto store = [&](int i, int j) { SpikeReducedStore(at, R, n, i, j, d); };

  SpikeReducedProduct<WARPS>(at, kl, n, Wt, Vb, R, left, above);
  most = SpikeReducedDistance<WARPS>(n, R);
  if (threadIdx.x == 0) slow[q] = !(most < SPIKE_REDUCED_DOMINANT);
  if (!(most < SPIKE_REDUCED_DOMINANT)) return;

  auto invert = [&]() {
    SpikePivotState st = {-1, 0, 0.0};
    double          mine[4], x[4][4][2];

    SpikeFragmentsInvert<4, false>(d, mine, (double *)work, 32, 0, 0, policy, SpikePivotRange(policy), st);
    SpikeInverseProduct<4>(at, square, d, mine, x);
    __syncwarp();
    SpikeSharedStore<4>(at, square, x);
  };
  if (warp == 0) {
    load(0, 0);
    invert();
  }
  for (int b = 0; b < tiles; b++) {
    double *t = inverse;

    __syncthreads(); /* the inverse of the diagonal tile is there */
    inverse = square;
    square  = t;
    if (threadIdx.x == 0) next = 0;
    if (warp == 0) {
      SpikeSharedLoad<4>(at, inverse, d);
      store(b, b);
    }
    for (int i = warp; i < 2 * tiles; i += WARPS) {
      const bool below = i < tiles;
      const int  k     = below ? i : i - tiles;
      double    *slot  = left + i * SIZE;

      if (k == b) continue;
      if (below) load(k, b);
      else load(b, k);
      SpikeSharedStore<4>(at, slot, d);
      __syncwarp();
      SpikeUnroll2(m, 4, c, 4) d[m][c][0] = d[m][c][1] = 0.0;
      if (below) {
        SpikeProductMinus<4, false>(at, slot, inverse, d);
        store(k, b);
      } else {
        SpikeProductMinus<4, false>(at, inverse, slot, d);
        SpikeUnroll2(m, 4, c, 4) {
          d[m][c][0] = -d[m][c][0];
          d[m][c][1] = -d[m][c][1];
        }
        __syncwarp();
        SpikeSharedStore<4>(at, slot, d);
        store(b, k);
      }
    }
    __syncthreads();
    if (warp == 0 && b + 1 < tiles) {
      load(b + 1, b + 1);
      SpikeProductMinus<4, false>(at, left + (b + 1) * SIZE, above + (b + 1) * SIZE, d);
      invert();
    }
    for (;;) {
      int job = 0;

      if (lane == 0) job = atomicAdd(&next, 1);
      job = __shfl_sync(0xFFFFFFFFu, job, 0);
      if (job >= tiles * tiles) break;
      const int i = job % tiles, j = job / tiles;

      if (i == b || j == b || (i == b + 1 && j == b + 1)) continue;
      load(i, j);
      SpikeProductMinus<4, false>(at, left + i * SIZE, above + j * SIZE, d);
      store(i, j);
    }
  }
}
