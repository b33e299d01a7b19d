/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_crout.cuh: factorization of partitions with many tiles on either side of the diagonal by Crout's method, a
  block of warps a partition; real numbers
*/
#pragma once

#include "factor_wide.cuh"

/*
  Step j makes column j of L and row j of U from the factors before, i, k > j:
    tile     D_jj <- A_jj - sum_q L_jq U_qj, inverted by the first warp
    column   L_ij <- (A_ij - sum_q L_iq U_qj) U^-1_jj        row   U_jk <- L^-1_jj (A_jk - sum_q L_jq U_qk)
  A tile is one job of one warp. Its sum stays in registers, where the elimination of factor_wide.cuh reads and writes
  all A_ik in each step; its products need nothing of the step's inverse, so that they and the inversion go on at the
  same time. The sum of the next D without its last term is a job too. A step has one barrier of the thread block, and
  one mbarrier for the inverse.

  Of a product one operand, L_iq or U_qk, is used once in a step and comes from the band (the cache) to registers, four
  columns or rows of blocks ahead of its use; the other one, U_qj or L_jq, is used by all tiles of the column or of the
  row, and lies in shared memory where j - q is at most `staged`. Who makes L_j+1,j and U_j,j+1 reads L_j+1,q and
  U_q,j+1, and leaves them there for the next step.

  Tiles of U are kept transposed in fragments: their rows are then columns of the operand on the left, as those of L are
  its rows. So the sums are left operands of the products with the inverses, without a way through shared memory.

  WHOLE: T = 8 N8. Writes the band once, and reads a tile at distance d of the diagonal about d + 1 times.
*/

/* Tiles in shared memory: two steps of both panels, the inverse, and D of two steps */
static inline int SpikeCroutPlaces(int staged)
{
  return 4 * staged + 3;
}

/* The most j - q at which several tiles of a step want U_qj or L_jq */
static inline int SpikeCroutMostStaged(int QL, int QU)
{
  const int upper = QL - 1 < QU ? QL - 1 : QU, lower = QU - 1 < QL ? QU - 1 : QL, most = upper > lower ? upper : lower;

  return most > 1 ? most : 1;
}

template <typename F>
struct alignas(2 * sizeof(F)) SpikeCroutPair {
  F v[2];
};

template <typename F, int N8, bool WHOLE>
struct SpikeCroutStep {
  typedef SpikeBlockTiles<F, N8, WHOLE> Tiles;
  static constexpr int                  SIZE = SpikeTileShape<N8>::NPLACES, H = SpikeTileShape<N8>::H;

  const Tiles      &P;
  SpikeLane<double> at;
  double           *tiles;
  int               QL, QU, staged, j;

  /* What follows from the lane is computed anew by each job, not kept in registers that tiles want */
  __device__ void renew() { asm volatile("" : "+r"(at.g), "+r"(at.q), "+r"(at.c), "+r"(at.b)); }
  /* U_j-s,j where upper, else L_j,j-s, in step j + later */
  __device__ double *panel(bool upper, int later, int s) const
  {
    return tiles + ((2 * ((j + later) & 1) + (upper ? 1 : 0)) * staged + s - 1) * SIZE;
  }
  __device__ double *inverse() const { return tiles + 4 * staged * SIZE; }
  __device__ double *square(int later) const { return tiles + (4 * staged + 1 + ((j + later) & 1)) * SIZE; }

  /* Whether the pair of rows 8 m + 2 q and the column 8 n + g are there */
  __device__ bool pairthere(int m, int n) const { return WHOLE || ((m < N8 - 1 || P.col[0]) && (n < N8 - 1 || P.row)); }
  /* Where the lane's elements of L_iq begin, or of U_qi transposed; in each row those of q + 1 are `stride` after */
  template <bool UPPER>
  __device__ const F *begin(int i, int q) const
  {
    return UPPER ? P.tile(q, i) + at.g * P.T() + 2 * at.q : P.tile(i, q) + 2 * at.q * P.T() + at.g;
  }
  template <bool UPPER>
  __device__ PetscInt64 stride() const
  {
    return (UPPER ? P.rowsize : 0) - P.T() * P.T();
  }
  /*
    Column k of blocks of L_iq, v[m][e] = element (8 m + g, 8 k + 2 q + e), or row k of blocks of U_qi, transposed: v[m]
    [e] = element (8 k + 2 q + e, 8 m + g). Of a corner the half that is not U or L is left out
  */
  template <bool UPPER>
  __device__ void fetch(const F *from, bool corner, int k, F (&v)[N8][2]) const
  {
    SpikeUnroll(m, N8) {
      SpikeCroutPair<F> pair;

      if (UPPER) {
        pair.v[0] = pair.v[1] = F(0.0);
        if (pairthere(k, m)) pair = *(const SpikeCroutPair<F> *)(from + 8 * k + 8 * m * P.T());
      } else {
        SpikeUnroll(e, 2) pair.v[e] = P.has(m, k, e) ? from[(8 * k + e) * P.T() + 8 * m] : F(0.0);
      }
      SpikeUnroll(e, 2) v[m][e] = m >= k && corner && (m > k || at.g > 2 * at.q + e) ? F(0.0) : pair.v[e];
    }
  }

  /*
    The product of L_iq, or of U_qi transposed, which is v, with U_qj or L_jq, s = j - q, added to d; v becomes the next
    tile of the row, or of the column, whose last one is A_ij or A_ji. next: where v is left for the next step, or NULL
  */
  template <bool UPPER>
  __device__ void term(int s, const F *from, double *next, F (&v)[N8][N8][2], double (&d)[N8][N8][2]) const
  {
    const bool    inshared = s <= staged;
    const double *fixed    = panel(!UPPER, 0, s);
    const F      *other    = begin<!UPPER>(j, j - s);
    const bool    corner   = s == (UPPER ? QL : QU);

    SpikeUnroll(k, N8) {
      double a[2 * H][2], b[N8][2];

      if (inshared) {
        SpikeUnroll(n, N8) {
          if (UPPER) {
            SpikeUnroll(e, 2) b[n][e] = fixed[at.at(n, k, e)];
          } else SpikePair(fixed + at.pair(k, n), b[n]);
        }
      } else {
        F w[N8][2];

        fetch<!UPPER>(other, corner, k, w);
        SpikeUnroll2(n, N8, e, 2) b[n][e] = (double)w[n][e];
      }
      SpikeUnroll2(m, 2 * H, e, 2) a[m][e] = m < N8 ? (double)v[k][m < N8 ? m : 0][e] : 0.0;
      if (next) keep<UPPER>(next, k, a);
      fetch<UPPER>(from, false, k, v[k]);
      product(a, b, d);
    }
  }
  /* A column of blocks of a tile of L, or a row of blocks of U transposed, to shared memory */
  template <bool UPPER, int ROWS>
  __device__ void keep(double *to, int k, const double (&a)[ROWS][2]) const
  {
    SpikeUnroll(m, N8) {
      if (UPPER) *(double2 *)(to + at.pair(k, m)) = make_double2(a[m][0], a[m][1]);
      else {
        SpikeUnroll(e, 2) to[at.at(m, k, e)] = a[m][e];
      }
    }
  }

  /* d <- sum_q L_iq U_qj - A_ij, or the transpose of sum_q L_jq U_qi - A_ji, i > j */
  template <bool UPPER>
  __device__ void sum(int i, double (&d)[N8][N8][2]) const
  {
    const int        reach = i - (UPPER ? QU : QL), first = max(max(0, reach), j - (UPPER ? QL : QU));
    const PetscInt64 more = stride<UPPER>();
    const F         *from = begin<UPPER>(i, first);
    F                v[N8][N8][2];
    int              s = j - first;

    SpikeUnroll(k, N8) fetch<UPPER>(from, first == reach, k, v[k]);
    SpikeUnroll3(m, N8, k, N8, e, 2) d[m][k][e] = 0.0;
#pragma unroll 1
    for (; s > 0; s--) term<UPPER>(s, from += more, i == j + 1 && s < staged ? panel(UPPER, 1, s + 1) : NULL, v, d);
    SpikeUnroll3(m, N8, k, N8, e, 2) d[m][k][e] -= (double)v[k][m][e];
  }

  /* Column k of blocks of L_iq, from block row m0 on */
  __device__ void fetchrows(const F *from, bool corner, int m0, int k, F (&v)[2][2]) const
  {
    SpikeUnroll2(m, 2, e, 2) {
      const bool has = WHOLE || ((m0 + m < N8 - 1 || P.row) && (k < N8 - 1 || P.col[e]));

      v[m][e] = has && !(corner && 8 * (m0 + m) + at.g > 8 * k + 2 * at.q + e) ? from[(8 * k + e) * P.T() + 8 * m]
                                                                               : F(0.0);
    }
  }

  /*
    Half of D of the next step, A_ii - sum_q L_iq U_qi, i = j + 1, without the term q = j, to shared memory: two rows of
    blocks from m0 on. Both operands come from the band
  */
  __device__ void diagonal(int m0)
  {
    const int i = j + 1, first = max(0, i - min(QL, QU));
    F         v[N8][2][2], w[N8][N8][2];
    double    c[N8][4];

    renew();
    const F *left = begin<false>(i, first) + 8 * m0, *above = begin<true>(i, first), *row = P.band + i * P.rowsize;

    SpikeUnroll2(n, N8, e, 4) c[n][e] = 0.0;
    if (first < j) {
      SpikeUnroll(k, N8) {
        fetchrows(left, i - first == QL, m0, k, v[k]);
        fetch<true>(above, i - first == QU, k, w[k]);
      }
    }
#pragma unroll 1
    for (int q = first; q < j; q++) {
      left += stride<false>();
      above += stride<true>();
      SpikeUnroll(k, N8) {
        double a[4], b[N8][2];

        SpikeUnroll2(m, 2, e, 2) a[m + 2 * e] = (double)v[k][m][e];
        SpikeUnroll2(n, N8, e, 2) b[n][e] = (double)w[k][n][e];
        if (q + 1 < j) {
          fetchrows(left, false, m0, k, v[k]);
          fetch<true>(above, false, k, w[k]);
        }
        SpikeUnroll(n, N8) SpikeTileMMA(c[n], a, b[n]);
      }
    }
    SpikeUnroll3(n, N8, m, 2, e, 2) {
      const int  r = 8 * (m0 + m) + at.g, col = 8 * n + 2 * at.q + e, corner = (r > col ? QL : QL + QU) - 1;
      const bool has = WHOLE || (r < P.T() && col < P.T());
      const F   *old = row + (r == col ? (QL + QU) * P.T() * P.T() + r : (corner * P.T() + col) * P.T() + r);

      square(1)[at.at(m0 + m, n, e)] = (has ? (double)*old : 0.0) - c[n][2 * m + e];
    }
  }

  /* d <- d + a b, of a column of blocks and a row of blocks */
  __device__ static void product(const double (&a)[2 * H][2], const double (&b)[N8][2], double (&d)[N8][N8][2])
  {
    SpikeUnroll2(n, N8, h, H) {
      const double left[4] = {a[2 * h][0], a[2 * h + 1][0], a[2 * h][1], a[2 * h + 1][1]};

      SpikeBlockProduct<N8>(d, h, n, left, b[n]);
    }
  }

  /* d <- -d U^-1_jj, or for the transpose of a tile of U -d L^-T_jj; its last columns of blocks first, in place */
  template <bool UPPER>
  __device__ void end(double (&d)[N8][N8][2]) const
  {
    const double *s = inverse();

    SpikeUnroll(back, N8) {
      constexpr int LAST = N8 - 1;
      const int     n    = LAST - back;
      double        c[H][4];

      SpikeUnroll2(h, H, e, 4) c[h][e] = 0.0;
      SpikeUnroll(k, n + 1) {
        double b[2];

        if (UPPER) {
          SpikeUnroll(e, 2) {
            const int r = 2 * at.q + e;

            b[e] = k < n || at.g > r ? s[at.at(n, k, e)] : at.g == r ? 1.0 : 0.0;
          }
        } else {
          SpikePair(s + at.pair(k, n), b);
          SpikeUnroll(e, 2)
            if (k == n && 2 * at.q + e > at.g) b[e] = 0.0;
        }
        SpikeUnroll(h, H) {
          double a[4];

          SpikeUnroll2(e, 2, u, 2) a[2 * e + u] = 2 * h + u < N8 ? d[2 * h + u < N8 ? 2 * h + u : 0][k][e] : 0.0;
          SpikeTileMMA(c[h], a, b);
        }
      }
      SpikeUnroll3(h, H, u, 2, e, 2)
        if (2 * h + u < N8) d[2 * h + u < N8 ? 2 * h + u : 0][n][e] = -c[h][2 * u + e];
    }
  }

  /* L_ij or U_ji of fragments, to the band and, where it is the next to the diagonal, to the panels of step j + 1 */
  template <bool UPPER>
  __device__ void store(int i, const double (&d)[N8][N8][2]) const
  {
    if (i == j + 1) {
      double *next = panel(UPPER, 1, 1);

      SpikeUnroll(k, N8) {
        double a[N8][2];

        SpikeUnroll2(m, N8, e, 2) a[m][e] = d[m][k][e];
        keep<UPPER>(next, k, a);
      }
    }
    if (!UPPER) P.store(P.tile(i, j), P.mask(i, j), d);
    else {
      const bool corner = i - j == QU;
      F         *to     = P.tile(j, i) + at.g * P.T() + 2 * at.q;

      SpikeUnroll2(m, N8, k, N8) {
        const SpikeCroutPair<F> pair = {{F(d[m][k][0]), F(d[m][k][1])}};
        F                      *here = to + 8 * m * P.T() + 8 * k;

        if (!pairthere(k, m) || (corner && m > k)) continue;
        if (m < k || !corner) *(SpikeCroutPair<F> *)here = pair;
        else {
          SpikeUnroll(e, 2)
            if (at.g <= 2 * at.q + e) here[e] = pair.v[e];
        }
      }
    }
  }

  /* L_ij or U_ji, i = j + distance, as one job; ready: the inverse of the step is there */
  template <bool UPPER>
  __device__ void tile(int distance, unsigned long long *ready) const
  {
    SpikeCroutStep job = *this;
    double         d[N8][N8][2];

    job.renew();
    job.template sum<UPPER>(j + distance, d);
    SpikeMbarrierWait(ready, j & 1);
    job.renew();
    job.template end<UPPER>(d);
    job.template store<UPPER>(j + distance, d);
  }

  /* D_jj <- D_jj - L_j,j-1 U_j-1,j in shared memory, by the first four warps, a quarter each */
  __device__ void last(int warp) const
  {
    const double *l = panel(false, 0, 1), *u = panel(true, 0, 1);
    const int     m0 = warp & 2, n0 = 2 * (warp & 1);
    double       *s = square(0), c[2][4];

    static_assert(N8 == 4, "quarters of two by two blocks");
    SpikeUnroll3(n, 2, m, 2, e, 2) c[n][2 * m + e] = s[at.at(m0 + m, n0 + n, e)];
    SpikeUnroll(k, N8) {
      double a[4];

      SpikeUnroll2(m, 2, e, 2) a[m + 2 * e] = -l[at.at(m0 + m, k, e)];
      SpikeUnroll(n, 2) {
        double b[2];

        SpikePair(u + at.pair(k, n0 + n), b);
        SpikeTileMMA(c[n], a, b);
      }
    }
    SpikeUnroll3(n, 2, m, 2, e, 2) s[at.at(m0 + m, n0 + n, e)] = c[n][2 * m + e];
  }

  /* Into the cache what the next step is the first to read: a tile a lane */
  __device__ void prefetch(int lane, int steps) const
  {
    for (int n = lane; n < QL + QU; n += 32) {
      const int i = j + 2 + (n < QL ? n : n - QL);

      if (i < steps)
        SpikePrefetch((const void *)((size_t)(n < QL ? P.tile(i, j + 1) : P.tile(j + 1, i)) & ~(size_t)15),
                      (unsigned int)(P.T() * P.T() * sizeof(F)) & ~15u);
    }
  }
};

/* QL, QU > 0; NWARPS: 8, or 4 for two thread blocks on a multiprocessor */
template <typename F, int N8, bool WHOLE, int NWARPS>
__global__ void __launch_bounds__(32 * NWARPS, NWARPS == 8 ? 1 : 2)
  SpikeFactorCrout(SpikeTiles t, F *band, SpikePivotPolicy given, int staged, SpikeStatus *status, double *badvalue)
{
  extern __shared__ __align__(16) char shared[];
  __shared__ double2                   work[SPIKE_INVERT_WORK / 2];
  __shared__ SpikePivotPolicy          policy;
  __shared__ int                       next[2], rotation;
  __shared__ unsigned long long        ready; /* an mbarrier, one phase a step: the inverse */
  const int               lane = threadIdx.x % 32, QL = t.QL, QU = t.QU, T = WHOLE ? 8 * N8 : t.T, steps = t.tilerows;
  const PetscInt          p    = blockIdx.x;
  const int               rows = (int)(t.start[p + 1] - t.start[p]);
  const SpikeLane<double> at;
  const SpikeBlockTiles<F, N8, WHOLE> P  = {band + t.group(p),
                                            t.rowsize,
                                            T,
                                            QL,
                                            QU,
                                            8 * (N8 - 1) + at.g < T,
                                            {8 * (N8 - 1) + 2 * at.q < T, 8 * (N8 - 1) + 2 * at.q + 1 < T}};
  SpikePivotState                     st = {-1, 0, 0.0};
  /*
    Jobs: L_j+1,j, U_j,j+1, both halves of the next D, L_j+2,j, U_j,j+2, and so on, with ever fewer products. The first
    ones have their warps. Where the inversion takes longer than all of them, of eight warps that beside the one that
    inverts begins with the last job, which has no products, and stays out of its way as long
  */
  constexpr int FIXED = NWARPS == 8 ? 6 : 3;
  const bool    aside = NWARPS == 8 && QL * QU <= 25;
  const int     jobs = 2 + 2 * max(QL, QU), lastjob = aside ? max(jobs - 1, FIXED) : jobs;

  if (threadIdx.x == 0) {
    policy   = SpikePivotAbsolute(given);
    rotation = NWARPS == 8 ? 0 : SpikeWarpRotation(NWARPS);
    next[0]  = FIXED;
    SpikeMbarrierInit(&ready, 32);
  }
  __syncthreads();
  const int warp = (threadIdx.x / 32 + rotation) % NWARPS, firstjob = warp == 4 ? lastjob : warp - 1 - warp / 5;

  for (int j = 0; j < steps; j++) {
    SpikeCroutStep<F, N8, WHOLE> step = {P, at, (double *)shared, QL, QU, staged, j};
    int                          job  = firstjob;

    step.renew();
    __syncthreads();
    if (threadIdx.x == 0) next[(j + 1) & 1] = FIXED;
    if (warp == NWARPS - 1) step.prefetch(lane, steps);
    if (warp < 4 && j > 0) {
      step.last(warp);
      SpikeBarrierWait(1, 128);
    }
    if (warp == 0) {
      const SpikePivotRange limits(policy);
      double                d[N8][N8][2], mine[N8];

      for (bool exact = false;; exact = true) {
        if (j == 0) P.loaddiagonal(0, d);
        else SpikeSharedLoad<N8>(step.at, step.square(0), d);
        if (exact) SpikeFragmentsInvertAgain<N8>(d, mine, (double *)work, T, j * T, rows, policy, st);
        if (exact || SpikeFragmentsInvert<N8, false>(d, mine, (double *)work, T, j * T, rows, policy, limits, st))
          break;
      }
      SpikeUnroll2(m, N8, e, 2)
        if (step.at.g == 2 * step.at.q + e) d[m][m][e] = mine[m];
      SpikeSharedStore<N8>(step.at, step.inverse(), d);
      SpikeMbarrierArrive(&ready);
      P.storediagonal(j, d);
    }
    if (warp == 0 || (warp == 4 && !aside)) {
      job = SpikeNextJob(&next[j & 1]);
      if (job >= lastjob) continue;
    }
    do {
      const int  distance = job < 2 ? 1 : job / 2;
      const bool upper    = job & 1;

      if (job == 2 || job == 3) {
        if (j + 1 < steps) step.diagonal(2 * (job - 2));
      } else if (job < jobs && distance <= (upper ? QU : QL) && j + distance < steps) {
        if (upper) step.template tile<true>(distance, &ready);
        else step.template tile<false>(distance, &ready);
      }
      job = SpikeNextJob(&next[j & 1]);
    } while (job < lastjob);
  }
  if (warp == 0 && lane == 0) SpikeReportPivots(t, p, st, status, badvalue);
}
