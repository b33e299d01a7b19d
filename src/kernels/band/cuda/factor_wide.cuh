/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_wide.cuh: factorization of partitions with several tiles on either side of the diagonal, a block of warps a
  partition; real numbers
*/
#pragma once

#include "factor_tiles.cuh"

__device__ static inline void SpikePrefetch(const void *global, unsigned int bytes)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
#endif
}

/*
  Step j, D_jj inverted by the first warp before:
    panels    L_ij <- A_ij U^-1_jj,  i = j + 1 .. j + QL         U_jk <- L^-1_jj A_jk,  k = j + 1 .. j + QU
    update    A_ik <- A_ik - L_ij U_jk; the first warp takes A_j+1,j+1 as soon as L_j+1,j and U_j,j+1 are there and
              inverts it, while the others do the rest and store what is final
  A tile is the work of one warp, in fragments. With INSHARED the tiles (i, k) of a step are in shared memory, at place
  (i mod QL + 1, k mod QU + 1), from their first update to their last use; else the A_ik stay in the band itself (the
  cache), and shared memory holds the panels and two inverted tiles; with split, where that is too much, a tile of U a
  warp in place of all of them. Which warp does a tile depends on time, what it computes does not. WHOLE: T = 8 N8. The
  raw tiles of two steps later are fetched into the cache meanwhile. Reads and writes the band once with INSHARED, 2 (QL
  + QU) T n numbers; without, 2 QL QU T^2 numbers a step through the cache. Steps go over the tiles that the partition
  has on either side, nbelow and nabove, QL and QU or fewer; the places of tiles are those of QL and QU.
*/
template <typename F, int N8, bool WHOLE>
struct SpikeBlockTiles {
  F         *band;
  PetscInt64 rowsize;
  int        rows, QL, QU;
  bool       row, col[2]; /* whether the lane's row and columns of the last blocks are there */

  /* Those of partition p, with QL tiles below and QU above; all: the band */
  __device__ SpikeBlockTiles(const SpikeTiles &t, PetscInt p, int QL, int QU, F *all, const SpikeLane<double> &at) :
    band(all + t.group(p)),
    rowsize(t.rowsize),
    rows(WHOLE ? 8 * N8 : t.T),
    QL(QL),
    QU(QU),
    row(8 * (N8 - 1) + at.g < rows),
    col{8 * (N8 - 1) + 2 * at.q < rows, 8 * (N8 - 1) + 2 * at.q + 1 < rows}
  {
  }
  enum Mask {
    FULL,
    ISUPPER,
    ISLOWER
  };
  __device__ int T() const { return WHOLE ? 8 * N8 : rows; }
  __device__ F  *tile(int i, int k) const
  {
    return band + i * rowsize + (k < i ? i - k - 1 : QL + k - i - 1) * T() * T();
  }
  __device__ Mask mask(int i, int k) const { return i - k == QL ? ISUPPER : k - i == QU ? ISLOWER : FULL; }
  __device__ bool has(int m, int n, int e) const { return WHOLE || ((m < N8 - 1 || row) && (n < N8 - 1 || col[e])); }
  /* of elements on and above, on and below the diagonal, or all */
  __device__ static bool keep(Mask mask, int m, int n, int r, int c)
  {
    return mask == FULL || (m == n ? (mask == ISUPPER ? r <= c : r >= c) : (mask == ISUPPER) == (m < n));
  }

  __device__ void load(const F *tile, Mask mask, double (&d)[N8][N8][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

    tile += 2 * q * T() + g;
    SpikeUnroll2(n, N8, e, 2) {
      const F *col = tile + (8 * n + e) * T();

      SpikeUnroll(m, N8) d[m][n][e] = has(m, n, e) && keep(mask, m, n, g, 2 * q + e) ? (double)col[8 * m] : 0.0;
    }
  }
  __device__ void store(F *tile, Mask mask, const double (&d)[N8][N8][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

    tile += 2 * q * T() + g;
    SpikeUnroll3(n, N8, e, 2, m, N8)
      if (has(m, n, e) && keep(mask, m, n, g, 2 * q + e)) tile[(8 * n + e) * T() + 8 * m] = F(d[m][n][e]);
  }
  /* The diagonal tile of row j from its three places; rows and columns that are not there are zero */
  __device__ void loaddiagonal(int j, double (&d)[N8][N8][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    const F  *base = band + j * rowsize, *diag = base + (QL + QU) * T() * T(),
            *l = base + (QL - 1) * T() * T() + 2 * q * T() + g, *u = base + (QL + QU - 1) * T() * T() + 2 * q * T() + g;

    SpikeUnroll3(n, N8, e, 2, m, N8) {
      const bool below = m > n || (m == n && g > 2 * q + e), on = m == n && g == 2 * q + e;
      const F   *from = on ? diag + 8 * m + g : (below ? l : u) + (8 * n + e) * T() + 8 * m;

      d[m][n][e] = has(m, n, e) && (on || (below ? QL : QU) > 0) ? (double)*from : 0.0;
    }
  }
  __device__ void storediagonal(int j, const double (&d)[N8][N8][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    F        *base = band + j * rowsize, *diag = base + (QL + QU) * T() * T(),
      *l = base + (QL - 1) * T() * T() + 2 * q * T() + g, *u = base + (QL + QU - 1) * T() * T() + 2 * q * T() + g;

    SpikeUnroll3(n, N8, e, 2, m, N8) {
      const bool below = m > n || (m == n && g > 2 * q + e), on = m == n && g == 2 * q + e;
      F         *to = on ? diag + 8 * m + g : (below ? l : u) + (8 * n + e) * T() + 8 * m;

      if (has(m, n, e) && (on || (below ? QL : QU) > 0)) *to = F(d[m][n][e]);
    }
  }
  /* Into the cache what step j + 2 is the first to touch: a tile a lane, nbelow + nabove + 1 of them */
  __device__ void prefetch(int j, int nbelow, int nabove, int lane, int steps) const
  {
    const int i = lane < nbelow ? j + 2 + nbelow : j + 2 + lane - nbelow,
              k = lane < nbelow ? j + 2 + lane : j + 2 + nabove;

    if (lane <= nbelow + nabove && i < steps)
      SpikePrefetch((const void *)((size_t)(i == k ? tile(i, i + QU) : tile(i, k)) & ~(size_t)15),
                    (unsigned int)(T() * T() * sizeof(F)) & ~15u);
  }
};

/* x <- tile U^-1 and x <- L^-1 tile, with L^-1 and U^-1 of the tile in s */
template <int N8>
__device__ static inline void SpikePanelLeft(const SpikeLane<double> &at, const double *s, const double *tile,
                                             double (&x)[N8][N8][2])
{
  SpikeUnroll2(m, N8, n, N8) x[m][n][0] = x[m][n][1] = 0.0;
  SpikeUnroll(k, N8) {
    double a[SpikeTileShape<N8>::H][4];

    SpikeUnroll2(m, 2 * SpikeTileShape<N8>::H, e, 2) a[m / 2][m % 2 + 2 * e] = m < N8 ? tile[at.at(m, k, e)] : 0.0;
    SpikeUnrollFrom(n, k, N8) {
      double b[2];

      SpikePair(s + at.pair(k, n), b);
      SpikeUnroll(e, 2)
        if (n == k && 2 * at.q + e > at.g) b[e] = 0.0;
      SpikeUnroll(h, SpikeTileShape<N8>::H) SpikeBlockProduct<N8>(x, h, n, a[h], b);
    }
  }
}

template <int N8>
__device__ static inline void SpikePanelUpper(const SpikeLane<double> &at, const double *s, const double *tile,
                                              double (&x)[N8][N8][2])
{
  SpikeUnroll2(m, N8, n, N8) x[m][n][0] = x[m][n][1] = 0.0;
  SpikeUnroll(k, N8) {
    double a[SpikeTileShape<N8>::H][4];

    SpikeUnroll2(m, 2 * SpikeTileShape<N8>::H, e, 2) {
      const int c = 2 * at.q + e;

      if (m < k || m >= N8) a[m / 2][m % 2 + 2 * e] = 0.0;
      else a[m / 2][m % 2 + 2 * e] = m > k || at.g > c ? s[at.at(m, k, e)] : at.g == c ? 1.0 : 0.0;
    }
    SpikeUnroll(n, N8) {
      double b[2];

      SpikePair(tile + at.pair(k, n), b);
      SpikeUnrollFrom(h, k / 2, SpikeTileShape<N8>::H) SpikeBlockProduct<N8>(x, h, n, a[h], b);
    }
  }
}

/* The warp that inverts is not on the same quarter of a multiprocessor as that of a block beside */
__device__ static inline int SpikeWarpRotation(int warps)
{
  unsigned int place;

  asm volatile("mov.u32 %0, %%warpid;" : "=r"(place));
  return (place / warps) % 2 * (warps / 2);
}

/* A step of a warp; jr = j mod QL + 1, jc = j mod QU + 1 */
template <typename F, int N8, bool WHOLE, bool INSHARED>
struct SpikeBlockStep {
  typedef SpikeBlockTiles<F, N8, WHOLE> Tiles;
  static constexpr int                  SIZE = SpikeTileShape<N8>::NPLACES;

  const Tiles             &P;
  const SpikeLane<double> &at;
  double                  *tiles;
  int                      QL, QU, nbelow, nabove, warp, j, jr, jc;
  bool                     split;

  /* places of tile (j + a, j + b): the inverted one, the panels, and with INSHARED the others */
  __device__ double *place(int a, int b) const
  {
    return tiles +
           ((jr + a > QL ? jr + a - QL - 1 : jr + a) * (QU + 1) + (jc + b > QU ? jc + b - QU - 1 : jc + b)) * SIZE;
  }
  __device__ double *square(int a) const { return INSHARED ? place(a, a) : tiles + ((j + a) & 1) * SIZE; }
  __device__ double *left(int a) const { return INSHARED ? place(a, 0) : tiles + (1 + a) * SIZE; }
  __device__ double *above(int b) const
  {
    return INSHARED ? place(0, b) : tiles + (split ? 2 + QL + warp : 1 + QL + b) * SIZE;
  }
  /* L_j+i,j where below, else U_j,j+i */
  __device__ void panel(bool below, int i) const
  {
    const int  a = below ? i : 0, b = below ? 0 : i;
    const auto mask = P.mask(j + a, j + b);
    F         *tile = P.tile(j + a, j + b);
    double    *slot = below ? left(a) : above(b), d[N8][N8][2];

    if (!INSHARED || j == 0 || i == (below ? nbelow : nabove) || nabove == 0) {
      P.load(tile, mask, d);
      SpikeSharedStore<N8>(at, slot, d);
      __syncwarp();
    }
    if (below) SpikePanelLeft<N8>(at, square(0), slot, d);
    else SpikePanelUpper<N8>(at, square(0), slot, d);
    __syncwarp();
    SpikeSharedStore<N8>(at, slot, d);
    if (!INSHARED && split && !below) P.store(tile, mask, d);
  }
  /* d <- A_ik, less L_ij U_jk where there is such a product, i = j + a, k = j + b */
  __device__ void update(int a, int b, bool product, double (&d)[N8][N8][2]) const
  {
    if (INSHARED && product && j > 0 && a < nbelow && b < nabove) SpikeSharedLoad<N8>(at, place(a, b), d);
    else if (a == b) P.loaddiagonal(j + a, d);
    else P.load(P.tile(j + a, j + b), Tiles::FULL, d);
    if (!INSHARED && split && product) {
      double u[N8][N8][2];

      P.load(P.tile(j, j + b), P.mask(j, j + b), u);
      __syncwarp();
      SpikeSharedStore<N8>(at, above(b), u);
      __syncwarp();
    }
    if (product && b == QU) SpikeProductMinus<N8, true>(at, left(a), above(b), d);
    else if (product) SpikeProductMinus<N8, false>(at, left(a), above(b), d);
  }
  /* What is final goes to the band: the inverses of step j (tile 0), L (the next nl of them) and U */
  __device__ void store(int tile, int nl) const
  {
    const int a = tile <= nl ? tile : 0, b = tile <= nl ? 0 : tile - nl;
    double    d[N8][N8][2];

    SpikeSharedLoad<N8>(at, b ? above(b) : a ? left(a) : square(0), d);
    if (tile) P.store(P.tile(j + a, j + b), P.mask(j + a, j + b), d);
    else P.storediagonal(j, d);
  }
};

/* The next job of a counter in shared memory, for a warp */
__device__ static __forceinline__ int SpikeNextJob(int *next)
{
  int job = 0;

  if (!(threadIdx.x & 31)) job = atomicAdd(next, 1);
  return __shfl_sync(0xFFFFFFFFu, job, 0);
}

template <typename F, int N8, bool WHOLE, bool INSHARED, int NWARPS>
__global__ void __launch_bounds__(32 * NWARPS, NWARPS == 8 ? 1 : 2)
  SpikeFactorThreadBlock(SpikeTiles t, F *band, SpikePivotPolicy given, bool split, SpikeStatus *status,
                         double *badvalue)
{
  const SpikePivotPolicy policy = SpikePivotAbsolute(given);
  extern __shared__ __align__(16) char shared[];
  __shared__ double2                   work[SPIKE_INVERT_WORK / 2];
  __shared__ int                       next, nextstore, rotation;
  /* mbarriers, one phase a step: the first tile of U, all panels, those of the other warps */
  __shared__ unsigned long long first, panels, others;
  const PetscInt                p = blockIdx.x;
  const int rows = (int)(t.start[p + 1] - t.start[p]), lane = threadIdx.x % 32, QL = t.QL, QU = t.QU,
            nbelow = t.below(p), nabove = t.above(p), T = WHOLE ? 8 * N8 : t.T,
            /* rows after the end have their factors as they are */
    steps = max(1, (rows + T - 1) / T), perjob = 65536 / (nabove ? nabove : 1) + 1;
  const SpikeLane<double>             at;
  const SpikeBlockTiles<F, N8, WHOLE> P(t, p, QL, QU, band, at);
  const SpikePivotRange               limits(policy);
  SpikePivotState                     st = {-1, 0, 0.0};

  if (threadIdx.x == 0) {
    rotation = NWARPS == 8 ? 0 : SpikeWarpRotation(NWARPS);
    SpikeMbarrierInit(&first, 32);
    SpikeMbarrierInit(&panels, 32 * NWARPS);
    SpikeMbarrierInit(&others, 32 * (NWARPS - 1));
  }
  __syncthreads();
  const int warp = (threadIdx.x / 32 + rotation) % NWARPS;
  /* beside the warp that inverts: stays out of its way where there is time */
  const bool alone = NWARPS == 8 && warp == 4 && nbelow * nabove <= 16;

  /* step -1 inverts the first tile, step steps - 1 stores the last; jr = j mod QL + 1, jc = j mod QU + 1 */
  for (int j = -1, jr = QL, jc = QU; j < steps; j++, jr = jr == QL ? 0 : jr + 1, jc = jc == QU ? 0 : jc + 1) {
    const int          nl = j < 0 ? 0 : min(nbelow, steps - 1 - j), nu = j < 0 ? 0 : min(nabove, steps - 1 - j);
    const unsigned int phase = (j + 1) & 1;

    const SpikeBlockStep<F, N8, WHOLE, INSHARED> step = {P,      at,   (double *)shared,
                                                         QL,     QU,   nbelow,
                                                         nabove, warp, j,
                                                         jr,     jc,   split};

    __syncthreads();
    if (threadIdx.x == 0) next = 1, nextstore = 0;
    if (warp == NWARPS - 1) P.prefetch(j, nbelow, nabove, lane, steps);

    /*
      The first warp does the first tile of L and waits for the second one only, which begins with the first of U.
      Without L the upper tiles are final as they are
    */
    const int npanels = nbelow ? nu : 0, morel = max(nl - 1, 0), moreu = max(npanels - 1, 0);

    for (int job = warp; job < 2 + morel + moreu; job += NWARPS - 1) {
      const bool below = job == 0 || (job > 1 && job - 2 < morel);
      const int  i     = job < 2 ? 1 : below ? job : job - morel;

      if (i <= (below ? nl : npanels)) step.panel(below, i);
      if (job == 1) SpikeMbarrierArrive(&first);
      if (warp == 0) break;
    }
    SpikeMbarrierArrive(&panels);
    if (warp == 0) SpikeMbarrierWait(&first, phase);
    else {
      SpikeMbarrierWait(&panels, phase);
      SpikeMbarrierArrive(&others);
    }
    bool inverts = warp == 0 && j + 1 < steps;

    if (warp == 0 && !inverts) SpikeMbarrierWait(&others, phase);

    while (!alone) {
      const bool product = nl * nu > 0; /* else nothing is left of or above the next diagonal tile */
      double     d[N8][N8][2], mine[N8];
      int        job = 0; /* tile (j + 1 + job / nabove, j + 1 + job % nabove), the next that nobody has taken */

      if (!inverts) {
        job = SpikeNextJob(&next);
        if (job >= nl * nabove) break;
      }
      const int a = 1 + ((job * perjob) >> 16), b = 1 + job - (a - 1) * nabove;

      if (job && b > nu) continue;
      for (bool exact = false;; exact = true) {
        step.update(a, b, product, d);
        if (exact) SpikeFragmentsInvertAgain<N8>(d, mine, (double *)work, T, (j + 1) * T, rows, policy, st);
        if (!inverts || exact ||
            limits.good(
              SpikeFragmentsInvert<N8, false>(d, mine, (double *)work, T, (j + 1) * T, rows, policy, limits, st)))
          break;
      }
      if (inverts) {
        SpikeUnroll2(m, N8, e, 2)
          if (at.g == 2 * at.q + e) d[m][m][e] = mine[m];
        SpikeSharedStore<N8>(at, step.square(1), d);
        inverts = false;
        SpikeMbarrierWait(&others, phase); /* the other panels may take longer than the inversion */
      } else if (INSHARED) SpikeSharedStore<N8>(at, step.place(a, b), d);
      else if (a == b) P.storediagonal(j + a, d);
      else P.store(P.tile(j + a, j + b), SpikeBlockTiles<F, N8, WHOLE>::FULL, d);
    }
    for (;;) {
      const int tile = SpikeNextJob(&nextstore);

      if (j < 0 || tile > nl + (!INSHARED && split ? 0 : npanels)) break;
      step.store(tile, nl);
    }
  }
  if (warp == 0 && lane == 0) SpikeReportPivots(t, p, st, status, badvalue);
}
