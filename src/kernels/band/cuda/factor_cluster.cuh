/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_cluster.cuh: factorization of partitions whose tiles of a step do not fit in the shared memory of one thread
  block, a cluster of them a partition; real numbers
*/
#pragma once

#include "factor_wide.cuh"
#include "kernels/common/cuda/cluster.cuh"
#include <climits>

#define SPIKE_CLUSTER_FACTOR_WARPS 8
#define SPIKE_CLUSTER_FACTOR_MOST  8 /* thread blocks of a cluster, which any device that has clusters can hold */

/*
  The steps of factor_wide.cuh, D_jj inverted before:
    panels    L_ij <- A_ij U^-1_jj,  i = j + 1 .. j + QL         U_jk <- L^-1_jj A_jk,  k = j + 1 .. j + QU
    update    A_ik <- A_ik - L_ij U_jk; where A_j+1,j+1 is, the first warp inverts it at once
  A tile (i, k) of a step is in shared memory at place (i mod QL + 1, k mod QU + 1), in the thread block that has this
  column of places: as many neighbouring ones as the others. So U_jk is where it is used, and L_j+1,j mostly where
  D_j+1,j+1 is inverted. L_ij and the inverses of D_jj are final, and come to the others by way of the band, in the
  cache, to registers of the warps that want them. One barrier of the cluster a step tells that they are there. Moved:
  the band once, 2 (QL + QU) T n numbers, and for each tile row and thread block but one (QL + 1) T^2 numbers through
  the cache, the inverse as often as there are warps. What is computed does not depend on which warp does it, nor on
  the size of the cluster.
*/
template <typename F, int N8, bool WHOLE>
struct SpikeClusterStep {
  typedef SpikeBlockTiles<F, N8, WHOLE> Tiles;
  static constexpr int                  SIZE = SpikeTileShape<N8>::NPLACES;

  const Tiles             &P;
  const SpikeLane<double> &at;
  double                  *tiles;
  int                      QL, QU, nbelow, nabove, first, columns; /* of the columns of places: those that are here */
  unsigned int             own;                                    /* the same, a bit for each of all */
  int                      j, jr, jc, nl, nu;

  __device__ int     column(int b) const { return jc + b > QU ? jc + b - QU - 1 : jc + b; }
  __device__ bool    has(int b) const { return own >> column(b) & 1; }
  __device__ double *place(int a, int b) const
  {
    return tiles + ((jr + a > QL ? jr + a - QL - 1 : jr + a) * columns + column(b) - first) * SIZE;
  }

  /* d <- L_j+i,j, where column j is, to its place and to the band too */
  __device__ void left(int i, double (&d)[N8][N8][2]) const
  {
    const auto mask = P.mask(j + i, j);
    F         *tile = P.tile(j + i, j);
    double    *slot = place(i, 0);

    if (j == 0 || i == nbelow) {
      if (mask == Tiles::FULL) P.load(tile, Tiles::FULL, d);
      else P.load(tile, Tiles::ISUPPER, d);
      SpikeSharedStore<N8>(at, slot, d);
      __syncwarp();
    }
    SpikePanelLeft<N8>(at, place(0, 0), slot, d);
    __syncwarp();
    SpikeSharedStore<N8>(at, slot, d);
    if (mask == Tiles::FULL) P.store(tile, Tiles::FULL, d);
    else P.store(tile, Tiles::ISUPPER, d);
  }
  /* L^-1_jj in fragments, blocks m >= k, from its place if it is here, else from the band */
  __device__ void inverse(bool here, double (&l)[N8][N8][2]) const
  {
    const int g = at.g, q = at.q, T = P.T();
    const F  *low = P.band + j * P.rowsize + (QL - 1) * T * T + 2 * q * T + g;

    if (here)
      SpikeUnroll3(k, N8, m, N8, e, 2) l[m][k][e] = m >= k ? place(0, 0)[at.at(m, k, e)] : 0.0;
    else
      SpikeUnroll3(k, N8, m, N8, e, 2)
        l[m][k][e] = m >= k && P.has(m, k, e) ? (double)low[(8 * k + e) * T + 8 * m] : 0.0;
    SpikeUnroll2(k, N8, e, 2)
      if (g <= 2 * q + e) l[k][k][e] = g == 2 * q + e ? 1.0 : 0.0;
  }
  /* Columns 8 n to 8 n + 7 of U_j,j+i = l A_j,j+i, where column j + i is, to its place and to the band */
  __device__ void above(int i, int n, const double (&l)[N8][N8][2]) const
  {
    const int  g = at.g, q = at.q, T = P.T();
    const auto mask = P.mask(j, j + i);
    F         *tile = P.tile(j, j + i) + 8 * n * T;
    double    *slot = place(0, i), b[N8][2], u[N8 + 1][2];

    if (j == 0 || i == nabove) {
      const F *from = tile + g * T + 2 * q;

      SpikeUnroll2(k, N8, e, 2) {
        const int above = 8 * n + g - (8 * k + 2 * q + e); /* the diagonal, if positive */

        b[k][e] = 8 * k + 2 * q + e < T && 8 * n + g < T && (mask == Tiles::FULL || above <= 0)
                  ? (double)from[8 * k + e]
                  : 0.0;
      }
    } else {
      SpikeUnroll(k, N8) SpikePair(slot + at.pair(k, n), b[k]);
    }
    SpikeUnroll2(m, N8 + 1, e, 2) u[m][e] = 0.0;
    SpikeUnroll(k, N8)
      SpikeUnrollFrom(h, k / 2, SpikeTileShape<N8>::H) {
        double a[4], c[4] = {u[2 * h][0], u[2 * h][1], u[2 * h + 1][0], u[2 * h + 1][1]};

        SpikeUnroll(v, 4) {
          const int m = 2 * h + v % 2;

          a[v] = m < k || m >= N8 ? 0.0 : l[m < N8 ? m : 0][k][v / 2];
        }
        SpikeTileMMA(c, a, b[k]);
        SpikeUnroll(e, 2) {
          u[2 * h][e]     = c[e];
          u[2 * h + 1][e] = c[2 + e];
        }
      }
    __syncwarp();
    SpikeUnroll2(m, N8, e, 2) slot[at.at(m, n, e)] = u[m][e];
    tile += 2 * q * T + g;
    if (mask == Tiles::FULL) {
      SpikeUnroll2(m, N8, e, 2)
        if (WHOLE || (8 * m + g < T && 8 * n + 2 * q + e < T)) tile[e * T + 8 * m] = F(u[m][e]);
    } else {
      SpikeUnroll2(m, N8, e, 2)
        if (8 * m + g < T && 8 * n + 2 * q + e <= 8 * m + g) tile[e * T + 8 * m] = F(u[m][e]);
    }
  }
  /* d <- A_j+a,j+b from its place, or as it was given, where no step before had it */
  __device__ void load(int a, int b, double (&d)[N8][N8][2]) const
  {
    if (j > 0 && a < nbelow && b < nabove) SpikeSharedLoad<N8>(at, place(a, b), d);
    else if (a == b) P.loaddiagonal(j + a, d);
    else P.load(P.tile(j + a, j + b), Tiles::FULL, d);
  }
  /* d <- d - l U_j,j+b */
  __device__ void update(int b, const double (&l)[N8][N8][2], double (&d)[N8][N8][2]) const
  {
    const double *u = place(0, b);

    SpikeUnroll2(k, N8, n, N8) {
      double v[2];

      SpikePair(u + at.pair(k, n), v);
      SpikeUnroll(h, SpikeTileShape<N8>::H) {
        double x[4];

        SpikeUnroll(i, 4) x[i] = 2 * h + i % 2 < N8 ? -l[2 * h + i % 2 < N8 ? 2 * h + i % 2 : 0][k][i / 2] : 0.0;
        SpikeBlockProduct<N8>(d, h, n, x, v);
      }
    }
  }
  /* The next column that is here, after column j + b */
  __device__ int after(int b) const
  {
    do b++;
    while (b <= nu && !has(b));
    return b;
  }
  /* l <- L_j+a,j from the band */
  __device__ void outside(int a, double (&l)[N8][N8][2]) const
  {
    if (a == QL) P.load(P.tile(j + a, j), Tiles::ISUPPER, l);
    else P.load(P.tile(j + a, j), Tiles::FULL, l);
  }
  /* The tiles of row j + a that are here, less the first where the first warp has that one; here: L_j+a,j is, too */
  __device__ void row(int a, bool butfirst, bool here) const
  {
    double l[N8][N8][2];

    if (here) SpikeSharedLoad<N8>(at, place(a, 0), l);
    else outside(a, l);
#pragma unroll 1
    for (int b = after(butfirst ? 1 : 0); b <= nu; b = after(b)) {
      double d[N8][N8][2];

      load(a, b, d);
      update(b, l, d);
      SpikeSharedStore<N8>(at, place(a, b), d);
    }
  }
};

/* The first bad row that another thread block of the cluster has met, or INT_MAX */
__device__ static inline int SpikeClusterBad(const int *bad, int size, int rank)
{
  int first = INT_MAX;

  for (int r = 0; r < size; r++)
    if (r != rank) first = min(first, SpikeClusterLoadInt(SpikeClusterAddress(bad, (unsigned int)r)));
  return first;
}

/* Step j of the warps that do not invert: if one does, all but the first. upper, lower, next: those of the kernel */
template <typename F, int N8, bool WHOLE>
__device__ static __forceinline__ void SpikeClusterBeside(const SpikeClusterStep<F, N8, WHOLE> &step, bool here,
                                                          bool inverts, unsigned int phase, unsigned long long *upper,
                                                          unsigned long long *lower, int *next)
{
  const int warp = threadIdx.x / 32, busy = inverts, warps = SPIKE_CLUSTER_FACTOR_WARPS - busy;
  int       turn = 0;

  if (here) {
    double d[N8][N8][2];

    if (inverts && warp <= N8) { /* what the first warp waits for */
      step.inverse(true, d);
      step.above(1, warp - 1, d);
      SpikeMbarrierArrive(upper);
    }
    if (warp == SPIKE_CLUSTER_FACTOR_WARPS - 1) {
      SpikeSharedLoad<N8>(step.at, step.place(0, 0), d);
      step.P.storediagonal(step.j, d);
    }
    for (int i = 1 + warp; i <= step.nl; i += warps) step.left(i, d);
    if (inverts && warp == 1) SpikeMbarrierWait(lower, phase);
  }
  SpikeClusterArrive();
  if (!here) SpikeClusterWait();
  if (step.j >= 0) {
    double l[N8][N8][2];

    step.inverse(here, l);
    for (int i = step.after(here && inverts ? 1 : 0); i <= step.nu; i = step.after(i))
      for (int n = 0; n < N8; n++)
        if (busy + turn++ % warps == warp) {
          step.above(i, n, l);
          if (inverts && i == 1) SpikeMbarrierArrive(upper);
        }
  }
  SpikeBarrierWait(1, 32 * warps);
  for (;;) {
    const int job = SpikeNextJob(next), a = inverts && job + 1 < step.nl ? job + 2 : inverts ? 1 : job + 1;

    if (job >= step.nl) break;
    if (inverts && a == 1) SpikeMbarrierWait(lower, phase);
    step.row(a, inverts && a == 1, here);
  }
}

template <typename F, int N8, bool WHOLE>
__global__ void __launch_bounds__(32 * SPIKE_CLUSTER_FACTOR_WARPS, 1)
  SpikeFactorCluster(SpikeTiles t, F *band, SpikePivotPolicy given, SpikeStatus *status, double *badvalue)
{
#if __CUDA_ARCH__ >= 900
  constexpr int          NWARPS = SPIKE_CLUSTER_FACTOR_WARPS;
  const SpikePivotPolicy policy = SpikePivotAbsolute(given);
  extern __shared__ __align__(16) char shared[];
  __shared__ double2                   work[SPIKE_INVERT_WORK / 2];
  __shared__ int                       next, bad; /* bad: the first bad row that was met here */
  /* mbarriers, one phase for each tile that is inverted here: U_j,j+1 is there, and L_j+1,j, if it is made here */
  __shared__ unsigned long long upper, lower;
  const int size = SpikeClusterSize(), rank = SpikeClusterRank(), lane = threadIdx.x % 32, warp = threadIdx.x / 32,
            QL = t.QL, QU = t.QU, T = WHOLE ? 8 * N8 : t.T, columns = (QU + size) / size;
  const PetscInt p    = blockIdx.x / size;
  const int      rows = (int)(t.start[p + 1] - t.start[p]), nbelow = t.below(p), nabove = t.above(p),
            steps = max(1, (rows + T - 1) / T);
  const SpikeLane<double>             at;
  const SpikeBlockTiles<F, N8, WHOLE> P(t, p, QL, QU, band, at);
  const SpikePivotRange               limits(policy);
  SpikePivotState                     st  = {-1, 0, 0.0};
  bool                                met = false; /* a bad row elsewhere, before */
  unsigned int                        own = 0, phase = 0;

  for (int c = rank * columns; c < (rank + 1) * columns && c <= QU; c++) own |= 1u << c;
  if (threadIdx.x == 0) {
    bad = INT_MAX;
    SpikeMbarrierInit(&upper, 32 * N8);
    SpikeMbarrierInit(&lower, 32);
  }
  /* step -1 inverts the first tile, the last step that is left the last one */
  for (int j = -1, jr = QL, jc = QU; j + 1 < steps; j++, jr = jr == QL ? 0 : jr + 1, jc = jc == QU ? 0 : jc + 1) {
    const int nl = j < 0 ? 0 : min(nbelow, steps - 1 - j), nu = j < 0 ? 0 : min(nabove, steps - 1 - j);
    const SpikeClusterStep<F, N8, WHOLE> step =
      {P, at, (double *)shared, QL, QU, nbelow, nabove, rank * columns, columns, own, j, jr, jc, nl, nu};
    const bool here = j >= 0 && step.has(0), inverts = step.has(1);

    __syncthreads();
    if (threadIdx.x == 32) next = 0;
    if (rank == 0 && warp == NWARPS - 1) P.prefetch(j, nbelow, nabove, lane, steps);
    if (inverts && warp == 0) {
      double l[N8][N8][2], d[N8][N8][2], mine[N8];

      if (here) step.left(1, l);
      if (j >= 0) SpikeMbarrierArrive(&lower);
      SpikeClusterArriveRelaxed(); /* the second warp tells of what was written */
      if (!here) SpikeClusterWait();
      if (!here && j >= 0) step.outside(1, l);
      for (bool exact = false;; exact = true) {
        step.load(1, 1, d);
        if (j >= 0) {
          SpikeMbarrierWait(&upper, phase);
          step.update(1, l, d);
        }
        if (exact) {
          if (st.badrow < 0) {
            const int before = SpikeClusterBad(&bad, size, rank);

            met = before < INT_MAX;
            if (met) st.badrow = before;
          }
          SpikeFragmentsInvertAgain<N8>(d, mine, (double *)work, T, (j + 1) * T, rows, policy, st);
          if (lane == 0 && st.badrow >= 0 && !met) bad = st.badrow;
        }
        if (exact || limits.good(SpikeFragmentsInvert<N8, false>(d, mine, (double *)work, T, (j + 1) * T, rows, policy,
                                                                 limits, st)))
          break;
      }
      SpikeUnroll2(m, N8, e, 2)
        if (at.g == 2 * at.q + e) d[m][m][e] = mine[m];
      SpikeSharedStore<N8>(at, step.place(1, 1), d);
      if (here) SpikeClusterWait();
    } else {
      SpikeClusterBeside(step, here, inverts, phase, &upper, &lower, &next);
      if (here) SpikeClusterWait();
    }
    if (inverts && j >= 0) phase ^= 1;
  }
  if (warp == 0 && own >> (steps - 1) % (QU + 1) & 1) { /* the last one, where it was inverted */
    double d[N8][N8][2];

    SpikeSharedLoad<N8>(at,
                        (double *)shared +
                          ((steps - 1) % (QL + 1) * columns + (steps - 1) % (QU + 1) - rank * columns) *
                            SpikeTileShape<N8>::NPLACES,
                        d);
    P.storediagonal(steps - 1, d);
  }
  SpikeClusterArrive(); /* the others may want to see `bad` */
  SpikeClusterWait();
  if (warp == 0 && lane == 0) {
    if (met) st.badrow = -1; /* theirs to report */
    SpikeReportPivots(t, p, st, status, badvalue);
  }
#endif
}
