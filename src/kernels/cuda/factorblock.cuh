/* SPDX-License-Identifier: BSD-2-Clause */
/* factorblock.cuh: factorization of partitions with several tiles on either side of the diagonal, a block of warps a partition; real numbers */
#pragma once

#include "lutiles.cuh"

/*
  Step j, D_jj inverted by the first warp before:
    panels    L_ij <- A_ij U^-1_jj,  i = j + 1 .. j + QL         U_jk <- L^-1_jj A_jk,  k = j + 1 .. j + QU
    update    A_ik <- A_ik - L_ij U_jk; the first warp takes A_j+1,j+1 and inverts it at once, while the others do the rest
  A tile is the work of one warp, in fragments. With WINDOW the tiles (i, k) of a step are in shared memory, at place (i mod QL + 1, k mod QU + 1), from their
  first update to their last use; else the A_ik stay in the band itself (the cache), and shared memory holds the inverted tile and the panels; with stage, where that
  is too much, a tile of U a warp in place of all of them.
  The raw tiles of two steps later are fetched into the cache meanwhile.
  Reads and writes the band once with WINDOW, 2 (QL + QU) T n numbers; without, 2 QL QU T^2 numbers a step through the cache.
*/
template <typename F, int NB>
struct SpikeBlockTiles {
  F         *band;
  PetscInt64 stepsize;
  int        T, QL, QU;
  bool       row, col[2]; /* whether the lane's row and columns of the last blocks are there */

  enum Mask {
    FULL,
    UPPER,
    LOWER
  };
  __device__ F   *tile(int i, int k) const { return band + i * stepsize + (k < i ? i - k - 1 : QL + k - i - 1) * T * T; }
  __device__ Mask mask(int i, int k) const { return i - k == QL ? UPPER : k - i == QU ? LOWER : FULL; }
  __device__ bool has(int m, int n, int e) const { return (m < NB - 1 || row) && (n < NB - 1 || col[e]); }
  /* of elements on and above, on and below the diagonal, or all */
  __device__ static bool keep(Mask mask, int m, int n, int r, int c) { return mask == FULL || (m == n ? (mask == UPPER ? r <= c : r >= c) : (mask == UPPER) == (m < n)); }

  __device__ void load(const F *tile, Mask mask, double (&d)[NB][NB][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

    tile += 2 * q * T + g;
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++)
#pragma unroll
        for (int m = 0; m < NB; m++) d[m][n][e] = has(m, n, e) && keep(mask, m, n, g, 2 * q + e) ? (double)tile[(8 * n + e) * T + 8 * m] : 0.0;
  }
  __device__ void store(F *tile, Mask mask, const double (&d)[NB][NB][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

    tile += 2 * q * T + g;
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++)
#pragma unroll
        for (int m = 0; m < NB; m++)
          if (has(m, n, e) && keep(mask, m, n, g, 2 * q + e)) tile[(8 * n + e) * T + 8 * m] = F(d[m][n][e]);
  }
  /* The diagonal tile of row j from its three places; rows and columns that are not there are zero */
  __device__ void loaddiagonal(int j, double (&d)[NB][NB][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    const F  *base = band + j * stepsize, *diag = base + (QL + QU) * T * T, *l = base + (QL - 1) * T * T + 2 * q * T + g, *u = base + (QL + QU - 1) * T * T + 2 * q * T + g;

#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++)
#pragma unroll
        for (int m = 0; m < NB; m++) {
          const bool below = m > n || (m == n && g > 2 * q + e), on = m == n && g == 2 * q + e;
          const F   *from = on ? diag + 8 * m + g : (below ? l : u) + (8 * n + e) * T + 8 * m;

          d[m][n][e] = has(m, n, e) && (on || (below ? QL : QU) > 0) ? (double)*from : 0.0;
        }
  }
  __device__ void storediagonal(int j, const double (&d)[NB][NB][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    F        *base = band + j * stepsize, *diag = base + (QL + QU) * T * T, *l = base + (QL - 1) * T * T + 2 * q * T + g, *u = base + (QL + QU - 1) * T * T + 2 * q * T + g;

#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++)
#pragma unroll
        for (int m = 0; m < NB; m++) {
          const bool below = m > n || (m == n && g > 2 * q + e), on = m == n && g == 2 * q + e;
          F         *to = on ? diag + 8 * m + g : (below ? l : u) + (8 * n + e) * T + 8 * m;

          if (has(m, n, e) && (on || (below ? QL : QU) > 0)) *to = F(d[m][n][e]);
        }
  }
};

template <int NB>
__device__ static inline void SpikeSharedLoad(const SpikeLane<double> &at, const double *s, double (&d)[NB][NB][2])
{
#pragma unroll
  for (int m = 0; m < NB; m++)
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) d[m][n][e] = s[at.at(m, n, e)];
}

template <int NB>
__device__ static inline void SpikeSharedStore(const SpikeLane<double> &at, double *s, const double (&d)[NB][NB][2])
{
#pragma unroll
  for (int m = 0; m < NB; m++)
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) s[at.at(m, n, e)] = d[m][n][e];
}

/* d <- d U^-1, with L^-1 and U^-1 of the tile in s */
template <int NB>
__device__ static inline void SpikePanelLeft(const SpikeLane<double> &at, const double *s, double (&d)[NB][NB][2])
{
  double x[NB][NB][2];

#pragma unroll
  for (int m = 0; m < NB; m++)
#pragma unroll
    for (int n = 0; n < NB; n++) x[m][n][0] = x[m][n][1] = 0.0;
#pragma unroll
  for (int k = 0; k < NB; k++)
#pragma unroll
    for (int n = k; n < NB; n++) {
      double b[2];

      SpikePair(s + at.pair(k, n), b);
#pragma unroll
      for (int e = 0; e < 2; e++)
        if (n == k && 2 * at.q + e > at.g) b[e] = 0.0;
#pragma unroll
      for (int h = 0; h < SpikeBlocks<NB>::H; h++) {
        double a[4];

#pragma unroll
        for (int i = 0; i < 4; i++) a[i] = 2 * h + i % 2 < NB ? d[2 * h + i % 2 < NB ? 2 * h + i % 2 : 0][k][i / 2] : 0.0;
        SpikeBlockProduct<NB>(x, h, n, a, b);
      }
    }
#pragma unroll
  for (int m = 0; m < NB; m++)
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) d[m][n][e] = x[m][n][e];
}

/* x <- L^-1 tile, the latter in shared memory */
template <int NB>
__device__ static inline void SpikePanelUpper(const SpikeLane<double> &at, const double *s, const double *tile, double (&x)[NB][NB][2])
{
#pragma unroll
  for (int m = 0; m < NB; m++)
#pragma unroll
    for (int n = 0; n < NB; n++) x[m][n][0] = x[m][n][1] = 0.0;
#pragma unroll
  for (int k = 0; k < NB; k++) {
    double a[SpikeBlocks<NB>::H][4];

#pragma unroll
    for (int m = 0; m < 2 * SpikeBlocks<NB>::H; m++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        const int c = 2 * at.q + e;

        if (m < k || m >= NB) a[m / 2][m % 2 + 2 * e] = 0.0;
        else a[m / 2][m % 2 + 2 * e] = m > k || at.g > c ? s[at.at(m, k, e)] : at.g == c ? 1.0 : 0.0;
      }
#pragma unroll
    for (int n = 0; n < NB; n++) {
      double b[2];

      SpikePair(tile + at.pair(k, n), b);
#pragma unroll
      for (int h = k / 2; h < SpikeBlocks<NB>::H; h++) SpikeBlockProduct<NB>(x, h, n, a[h], b);
    }
  }
}

/* d <- d - l u; lcorner, ucorner: l is upper, u lower triangular */
template <int NB>
__device__ static inline void SpikeProductMinus(const SpikeLane<double> &at, const double *l, bool lcorner, const double *u, bool ucorner, double (&d)[NB][NB][2])
{
#pragma unroll 1
  for (int k = 0; k < NB; k++) {
    double a[SpikeBlocks<NB>::H][4];

#pragma unroll
    for (int m = 0; m < 2 * SpikeBlocks<NB>::H; m++)
#pragma unroll
      for (int e = 0; e < 2; e++) a[m / 2][m % 2 + 2 * e] = m < NB ? -l[at.at(m, k, e)] : 0.0;
#pragma unroll
    for (int n = 0; n < NB; n++)
      if (!ucorner || n <= k) {
        double b[2];

        SpikePair(u + at.pair(k, n), b);
#pragma unroll
        for (int h = 0; h < SpikeBlocks<NB>::H; h++)
          if (!lcorner || 2 * h <= k) SpikeBlockProduct<NB>(d, h, n, a[h], b);
      }
  }
}

__device__ static inline void SpikePrefetch(const void *global, unsigned int bytes)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
#endif
}

template <typename F, int NB, bool WINDOW, int WARPS>
__global__ void __launch_bounds__(32 * WARPS, WARPS == 8 ? 1 : 2) SpikeFactorBlock(SpikeTiles t, F *band, SpikePivotPolicy policy, bool stage, SpikeStatus *status, double *badvalue)
{
  constexpr int                SIZE = SpikeBlocks<NB>::PLACES;
  extern __shared__ __align__(16) char shared[];
  __shared__ double2           pivotrow[32];
  __shared__ int               next;
  double                      *tiles = (double *)shared;
  const int                    lane = threadIdx.x % 32, warp = threadIdx.x / 32, QL = t.QL, QU = t.QU, T = t.T, steps = t.steps;
  const PetscInt               p    = blockIdx.x;
  const int                    rows = (int)(t.start[p + 1] - t.start[p]);
  const SpikeLane<double>      at;
  const SpikeBlockTiles<F, NB> P = {band + t.group(p), t.stepsize, T, QL, QU, 8 * (NB - 1) + at.g < T, {8 * (NB - 1) + 2 * at.q < T, 8 * (NB - 1) + 2 * at.q + 1 < T}};
  const SpikePivotRange        limits(policy);
  SpikePivotState              st = {-1, 0, 0.0};

  /* places of the inverted tile, the panels, and with WINDOW the others */
  auto place  = [&](int i, int k) { return tiles + ((i % (QL + 1)) * (QU + 1) + k % (QU + 1)) * SIZE; };
  auto square = [&](int j) { return WINDOW ? place(j, j) : tiles; };
  auto left   = [&](int i, int j) { return WINDOW ? place(i, j) : tiles + (i - j) * SIZE; };
  auto above  = [&](int j, int k) { return WINDOW ? place(j, k) : tiles + (stage ? QL + 1 + warp : QL + k - j) * SIZE; };
  auto invert = [&](int j, double (&d)[NB][NB][2]) {
    double mine[NB];

    SpikeFragmentsInvert<NB>(d, mine, (double *)pivotrow, T, j * T, rows, policy, limits, st);
#pragma unroll
    for (int m = 0; m < NB; m++)
#pragma unroll
      for (int e = 0; e < 2; e++)
        if (at.g == 2 * at.q + e) d[m][m][e] = mine[m];
    SpikeSharedStore<NB>(at, square(j), d);
    P.storediagonal(j, d);
  };

  for (int j = -1; j + 1 < steps; j++) { /* step -1 inverts the first tile */
    const int nl = j < 0 ? 0 : min(QL, steps - 1 - j), nu = j < 0 ? 0 : min(QU, steps - 1 - j);

    __syncthreads();
    if (threadIdx.x == 0) next = 1;
    if (warp == WARPS - 1 && lane <= QL + QU) { /* what step j + 2 is the first to touch */
      const int i = lane < QL ? j + 2 + QL : j + 2 + lane - QL, k = lane < QL ? j + 2 + lane : j + 2 + QU;

      if (i < steps) SpikePrefetch((const void *)((size_t)(i == k ? P.tile(i, i + QU) : P.tile(i, k)) & ~(size_t)15), (unsigned int)(T * T * sizeof(F)) & ~15u);
    }
    for (int job = warp; job < nl + (QL ? nu : 0); job += WARPS) { /* without L the upper tiles are final as they are */
      const bool                               below = job < nl;
      const int                                i = below ? j + 1 + job : j, k = below ? j : j + 1 + job - nl;
      const bool                               raw  = !WINDOW || j == 0 || i - k == QL || k - i == QU || QU == 0;
      const typename SpikeBlockTiles<F, NB>::Mask mask = P.mask(i, k);
      double                                  *slot = below ? left(i, k) : above(i, k), d[NB][NB][2];

      if (raw) P.load(P.tile(i, k), mask, d);
      if (below) {
        if (!raw) SpikeSharedLoad<NB>(at, slot, d);
        SpikePanelLeft<NB>(at, square(j), d);
      } else {
        if (raw) SpikeSharedStore<NB>(at, slot, d);
        __syncwarp();
        SpikePanelUpper<NB>(at, square(j), slot, d);
      }
      __syncwarp();
      SpikeSharedStore<NB>(at, slot, d);
      P.store(P.tile(i, k), mask, d);
    }
    __syncthreads();
    for (int job = warp ? -1 : 0;;) {
      double d[NB][NB][2];

      if (job < 0) { /* the next tile that nobody has taken */
        if (lane == 0) job = atomicAdd(&next, 1);
        job = __shfl_sync(0xFFFFFFFFu, job, 0);
        if (job >= nl * nu) break;
      }
      const bool product = job < nl * nu; /* else nothing is left of or above the diagonal tile */
      const int  i = j + 1 + (product ? job / nu : 0), k = j + 1 + (product ? job % nu : 0);

      if (WINDOW && product && j > 0 && i - j < QL && k - j < QU) SpikeSharedLoad<NB>(at, place(i, k), d);
      else if (i == k) P.loaddiagonal(i, d);
      else P.load(P.tile(i, k), SpikeBlockTiles<F, NB>::FULL, d);
      if (!WINDOW && stage && product) {
        double u[NB][NB][2];

        P.load(P.tile(j, k), P.mask(j, k), u);
        __syncwarp();
        SpikeSharedStore<NB>(at, above(j, k), u);
        __syncwarp();
      }
      if (product) SpikeProductMinus<NB>(at, left(i, j), i - j == QL, above(j, k), k - j == QU, d);
      if (job == 0) invert(j + 1, d);
      else if (WINDOW) SpikeSharedStore<NB>(at, place(i, k), d);
      else if (i == k) P.storediagonal(i, d);
      else P.store(P.tile(i, k), SpikeBlockTiles<F, NB>::FULL, d);
      job = -1;
    }
  }
  if (threadIdx.x == 0) SpikeReportPivots(t, p, st, status, badvalue);
}
