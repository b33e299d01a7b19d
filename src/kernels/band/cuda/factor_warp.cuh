/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_warp.cuh: factorization of partitions with 16 < T and at most one tile on either side of the diagonal, a warp a
  partition; real numbers
*/
#pragma once

#include "factor_tiles.cuh"

/*
  Step j, with the upper tile of the step before, U_j-1,j and U^-1_j-1, in shared memory, and the two tiles of row j, on
  their way since that step:
    L_j,j-1 = A_j,j-1 U^-1_j-1    D = D_jj - L_j,j-1 U_j-1,j    D -> L^-1, U^-1    U_j,j+1 = L^-1 A_j,j+1
  All products are of triangular tiles, and have their left operands and results in fragments. Before D is inverted L is
  stored, two of the three tiles in shared memory are free, and the copies of the next row set out. Results are stored
  from fragments: pieces of 8 rows. WHOLE: T = 8 N8. Reads and writes the band once: 2 (2 T + 1) n numbers. Nothing is
  to do where `again` is not NULL, and 0.
*/
#define SPIKE_FACTOR_WARPS 4 /* of a thread block, at most, each on its own */

template <typename F, int N8>
struct alignas(16) SpikeWarpShared {
  F      tile[3][SpikeTileShape<N8>::NPLACES], diagonal[32];
  double work[SPIKE_INVERT_WORK], inverse[32]; /* diagonal of U^-1_j-1 */
};

/* l <- L_j,j-1 = A U^-1, blocks m <= n; exact: A is L already */
template <typename F, int N8>
__device__ static __forceinline__ void SpikeWarpLeft(const SpikeLane<F> &at, const SpikeWarpShared<F, N8> &sh,
                                                     const F *lower, const F *before, bool exact,
                                                     double (&l)[N8][N8][2])
{
  const int g = at.g, q = at.q;

  SpikeUnroll3(m, N8, n, N8, e, 2) l[m][n][e] = 0.0;
  if (exact) {
    SpikeUnroll(m, N8)
      SpikeUnrollFrom(n, m, N8)
        SpikeUnroll(e, 2) l[m][n][e] = m < n || g <= 2 * q + e ? (double)lower[at.at(m, n, e)] : 0.0;
  } else {
    SpikeUnroll(k, N8) {
      double a[SpikeTileShape<N8>::H][4];

      SpikeUnroll2(m, 2 * SpikeTileShape<N8>::H, e, 2) {
        if (m > k) a[m / 2][m % 2 + 2 * e] = 0.0;
        else a[m / 2][m % 2 + 2 * e] = m < k || g <= 2 * q + e ? (double)lower[at.at(m, k, e)] : 0.0;
      }
      SpikeUnrollFrom(n, k, N8) {
        double b[2];

        SpikePair(before + at.pair(k, n), b);
        if (n == k) {
          const double inverse = sh.inverse[8 * n + g];

          SpikeUnroll(e, 2) b[e] = 2 * q + e < g ? b[e] : 2 * q + e == g ? inverse : 0.0;
        }
        SpikeUnroll(h, k / 2 + 1) SpikeBlockProduct<N8>(l, h, n, a[h], b);
      }
    }
  }
}

/* d <- D_jj - L_j,j-1 U_j-1,j, the lower and the upper half of D_jj from either tile */
template <typename F, int N8>
__device__ static __forceinline__ void SpikeWarpDiagonal(const SpikeLane<F> &at, const SpikeWarpShared<F, N8> &sh,
                                                         const F *lower, const F *upper, const F *before,
                                                         const double (&l)[N8][N8][2], double (&d)[N8][N8][2])
{
  const int g = at.g, q = at.q;

  SpikeUnroll3(m, N8, n, N8, e, 2) {
    const F *from = m > n || (m == n && g > 2 * q + e) ? lower : upper;

    d[m][n][e] = (double)(m == n && g == 2 * q + e ? sh.diagonal[8 * m + g] : from[at.at(m, n, e)]);
  }
  SpikeUnroll2(k, N8, n, k + 1) {
    double b[2];

    SpikePair(before + at.pair(k, n), b);
    SpikeUnroll(e, 2)
      if (n == k && 2 * q + e < g) b[e] = 0.0;
    SpikeUnroll(h, k / 2 + 1) {
      double a[4];

      SpikeUnroll(i, 4) a[i] = 2 * h + i % 2 < N8 ? -l[2 * h + i % 2 < N8 ? 2 * h + i % 2 : 0][k][i / 2] : 0.0;
      SpikeBlockProduct<N8>(d, h, n, a, b);
    }
  }
}

/* Whether element (8 m + g, 8 n + 2 q + e) is one of T x T; WHOLE: all are */
template <int N8, bool WHOLE>
__device__ static __forceinline__ bool SpikeWarpHas(int T, int m, int n, int e)
{
  const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

  return WHOLE || ((m < N8 - 1 || 8 * m + g < T) && (n < N8 - 1 || 8 * n + 2 * q + e < T));
}

/* tile <- d, below the diagonal, or else on and above it */
template <typename F, int N8, bool WHOLE, bool BELOW>
__device__ static __forceinline__ void SpikeWarpStore(F *tile, int T, const double (&d)[N8][N8][2])
{
  const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

  tile += 2 * q * T + g;
  SpikeUnroll(n, N8) {
    SpikeUnroll(e, 2) {
      SpikeUnrollFrom(m, BELOW ? n : 0, BELOW ? N8 : n + 1)
        if ((m != n || BELOW == (g > 2 * q + e)) && SpikeWarpHas<N8, WHOLE>(T, m, n, e)) tile[8 * m] = F(d[m][n][e]);
      tile += T;
    }
    tile += 6 * T;
  }
}

/*
  U_j,j+1 = L^-1 A, blocks m >= n, a column of blocks after the other, and U^-1 above it: to shared memory and the band
*/
template <typename F, int N8, bool WHOLE>
__device__ static __forceinline__ void SpikeWarpUpper(const SpikeLane<F> &at, const double (&d)[N8][N8][2], F *upper,
                                                      F *tile, int T, bool up)
{
  const int g = at.g, q = at.q;

  tile += 2 * q * T + g;
  SpikeUnroll(n, N8) {
    double u[N8][N8][2];

    SpikeUnroll2(m, N8, e, 2) u[m][n][e] = 0.0;
    SpikeUnrollFrom(k, n, N8) {
      double b[2];

      SpikePair(upper + at.pair(k, n), b);
      SpikeUnroll(e, 2)
        if (n == k && 2 * q + e < g) b[e] = 0.0;
      SpikeUnrollFrom(h, k / 2, SpikeTileShape<N8>::H) {
        double a[4];

        SpikeUnroll(i, 4) {
          const int m = 2 * h + i % 2, c = 2 * q + i / 2;

          if (m < k || m >= N8) a[i] = 0.0;
          else a[i] = m > k || g > c ? d[m < N8 ? m : 0][k][i / 2] : g == c ? 1.0 : 0.0;
        }
        SpikeBlockProduct<N8>(u, h, n, a, b);
      }
    }
    __syncwarp();
    SpikeUnroll(e, 2) {
      SpikeUnroll(m, N8) {
        const F v = F(m > n || (m == n && g >= 2 * q + e) ? u[m][n][e] : d[m][n][e]);

        upper[at.at(m, n, e)] = v;
        if (up && SpikeWarpHas<N8, WHOLE>(T, m, n, e)) tile[8 * m] = v;
      }
      tile += T;
    }
    tile += 6 * T;
  }
}

/*
  What is final in a tile row after its diagonal tile is inverted: U to shared memory and the band, L^-1, and the
  inverse pivots, which the next row wants
*/
template <typename F, int N8, bool WHOLE>
__device__ static __forceinline__ void SpikeWarpFinal(const SpikeLane<F> &at, SpikeWarpShared<F, N8> &sh,
                                                      const SpikeTiles &t, int     T, const double (&d)[N8][N8][2],
                                                      const double (&mine)[N8], F *upper, F *row)
{
  F *diagonal = row + (t.QL + t.QU) * T * T;

  SpikeWarpUpper<F, N8, WHOLE>(at, d, upper, row + t.QL * T * T, T, t.QU > 0);
  if (t.QL > 0) SpikeWarpStore<F, N8, WHOLE, true>(row, T, d);
  SpikeUnroll(m, N8)
    if (at.q == 0) {
      sh.inverse[8 * m + at.g] = mine[m];
      if (WHOLE || 8 * m + at.g < T) diagonal[8 * m + at.g] = F(mine[m]);
    }
}

template <typename F, int N8, bool WHOLE>
__global__ void __launch_bounds__(32 * SPIKE_FACTOR_WARPS, 2)
  SpikeFactorWarp(SpikeTiles t, F *band, SpikePivotPolicy given, const int *again, SpikeStatus *status,
                  double *badvalue)
{
  const SpikePivotPolicy         policy = SpikePivotAbsolute(given);
  typedef SpikeWarpShared<F, N8> SharedMemory;
  extern __shared__ __align__(16) char shared[];
  SharedMemory                        &sh = ((SharedMemory *)shared)[threadIdx.x / 32];
  const PetscInt                       p  = (PetscInt)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int                            T = WHOLE ? 8 * N8 : t.T, lane = threadIdx.x % 32;
  const bool                           low = t.QL > 0, up = t.QU > 0;
  const SpikeLane<F>                   at;
  const SpikePivotRange                limits(policy);
  SpikePivotState                      st    = {-1, 0, 0.0};
  F                                   *lower = sh.tile[0], *upper = sh.tile[1], *before = sh.tile[2];

  if (p >= t.np || (again && !*again)) return;
  const int rows = (int)(t.start[p + 1] - t.start[p]);
  F        *row  = band + t.group(p);
  auto      copy = [&](const F *from, F *l, F *u) {
    if (low) SpikeCopyTile(l, from, T);
    if (up) SpikeCopyTile(u, from + t.QL * T * T, T);
    if (lane < T) SpikeCopyAsync<sizeof(F), true>(sh.diagonal + lane, from + (t.QL + t.QU) * T * T + lane);
  };

  for (int i = lane; i < 3 * SpikeTileShape<N8>::NPLACES; i += 32) sh.tile[0][i] = F(0.0);
  sh.diagonal[lane] = F(1.0);
  sh.inverse[lane]  = 1.0;
  __syncwarp();
  copy(row, lower, upper);
#pragma unroll 1
  for (int j = 0; j < t.tilerows; j++, row += t.rowsize) {
    double l[N8][N8][2], d[N8][N8][2], mine[N8];

    for (bool exact = false;; exact = true) {
      if (exact) { /* once more, from what is in the band: all but L_j,j-1 is as it was */
        SpikeCopyWait();
        __syncwarp();
        for (int i = lane; j == 0 && i < SpikeTileShape<N8>::NPLACES; i += 32) before[i] = F(0.0);
        copy(row, lower, upper);
        if (j > 0 && up) SpikeCopyTile(before, row - t.rowsize + t.QL * T * T, T);
      }
      SpikeCopyWait();
      __syncwarp();
      SpikeWarpLeft<F, N8>(at, sh, lower, before, exact, l);
      SpikeWarpDiagonal<F, N8>(at, sh, lower, upper, before, l, d);
      if (low && !exact) SpikeWarpStore<F, N8, WHOLE, false>(row, T, l);
      __syncwarp();
      if (j + 1 < t.tilerows) copy(row + t.rowsize, lower, before);
      if (exact) SpikeFragmentsInvertAgain<N8>(d, mine, sh.work, T, j * T, rows, policy, st);
      if (exact || limits.good(SpikeFragmentsInvert<N8, false>(d, mine, sh.work, T, j * T, rows, policy, limits, st)))
        break;
    }
    SpikeWarpFinal<F, N8, WHOLE>(at, sh, t, T, d, mine, upper, row);
    F *swap = upper;

    upper  = before;
    before = swap;
  }
  if (lane == 0) SpikeReportPivots(t, p, st, status, badvalue);
}
