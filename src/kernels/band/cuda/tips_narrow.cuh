/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tips_narrow.cuh: tips of the spikes with at most two tiles on either side of the diagonal (complex: one), in the
  registers of a few warps
*/
#pragma once

#include "tips.cuh"

/*
  Columns of a spike as rows of a strip, 16 of them, in fragments: x[m][n][e] is column 8 m + g in row 8 n + 2 q + e of
  a tile row, with g = lane / 4 and q = lane % 4. This is c of SpikeTileMMA(), its a for products over the rows of the
  tile, and its b for products with the strip transposed: nothing moves between lanes. Tiles are read from the band into
  fragments, each element once a strip.

  With the row blocks Y_j of Y = L^-1 [C; 0] and Z_j of Z = [I 0] U^-1 (its first ku rows) the tip of the left spike is

      Wt = [I 0] U^-1 L^-1 [C; 0] = sum_j Z_j Y_j
      Y_j = L_jj^-1 (C_j - sum_i L_j,j-i Y_j-i),   Z_j = (I_j - sum_i Z_j-i U_j-i,j) U_jj^-1

  One pass over the rows, two recurrences side by side, and no row is kept. The sum ends where its terms have fallen
  below a.small (rounding, with cholesky SpikeBand.corner), the pass where W has fallen to the tolerance too; W_j is
  taken to fall as Y_j / U_jj does, which no scaling of rows changes. With cholesky tips_reach.cuh finds the reach,
  beside. The right spike is Y of the last ku rows, and then

      V_j = U_jj^-1 (Y_j - sum_i U_j,j+i V_j+i)

  upward until it has fallen. Q: most tiles on a side. Reads 2 (2 Q T + 1) T numbers a tile row and side; writes the
  tips. All decisions are the same in every lane: the same bits again.
*/
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_TIPS_NARROW 1 /* most tiles on a side */
#else
  #define SPIKE_TIPS_NARROW 2
#endif

template <int N8>
using SpikeStrip = SpikeArith[2][N8][2];

/* y += x b for one 8 x 8 block of b, block k of x's rows and n of y's */
template <int NY, int NX>
__device__ static inline void SpikeStripMMA(SpikeArith (&y)[2][NY][2], int n, const SpikeArith (&x)[2][NX][2], int k,
                                            const SpikeArith (&b)[2])
{
  const SpikeArith a[4] = {x[0][k][0], x[1][k][0], x[0][k][1], x[1][k][1]};
  SpikeArith       c[4] = {y[0][n][0], y[0][n][1], y[1][n][0], y[1][n][1]};

  SpikeTileMMA(c, a, b);
  y[0][n][0] = c[0];
  y[0][n][1] = c[1];
  y[1][n][0] = c[2];
  y[1][n][1] = c[3];
}

/* f(value, m, block, e) of all of a lane's values */
template <int N, typename X>
__device__ static inline void SpikeStripEach(SpikeArith (&y)[2][N][2], X f)
{
  SpikeUnroll3(m, 2, n, N, e, 2) f(y[m][n][e], m, n, e);
}

template <int N>
__device__ static inline void SpikeStripClear(SpikeArith (&y)[2][N][2])
{
  SpikeStripEach<N>(y, [](SpikeArith &v, int, int, int) { v = 0.0; });
}

/* The largest magnitude, in all lanes */
template <int N>
__device__ static inline unsigned SpikeStripMax(SpikeArith (&y)[2][N][2])
{
  unsigned most = 0;

  SpikeStripEach<N>(y, [&](SpikeArith &v, int, int, int) { most = PetscMax(most, SpikeMagnitude(v)); });
  return SpikeWarpMaxUnsigned(most);
}

typedef enum {
  SPIKE_STRIP_FULL,
  SPIKE_STRIP_LOWER, /* the lower corner, r <= c                          */
  SPIKE_STRIP_LINV,  /* r > c of the same tile: L_jj^-1 but for its ones   */
  SPIKE_STRIP_UPPER, /* the upper corner, r >= c                          */
  SPIKE_STRIP_UINV   /* r < c of the same tile, and the diagonal: U_jj^-1  */
} SpikeStripPart;

/* The tiles of a partition as a lane reads them; T <= 8 N8 */
template <typename F, int N8, int Q>
struct SpikeStripTiles {
  const F   *band;
  PetscInt64 rowsize;
  int        T, QL, QU, ld, offset, g, q;
  bool       own, pair[2]; /* whether row 8 (N8 - 1) + g, and 8 (N8 - 1) + 2 q + e, are there */

  __device__ SpikeStripTiles(const SpikeTiles &t, const void *b, PetscInt p) :
    band((const F *)b + t.group(p) + (p % t.G) * t.T),
    rowsize(t.rowsize),
    T(t.T),
    QL(t.QL),
    QU(t.QU),
    ld(t.G * t.T),
    offset((int)t.tile(t.QL + t.QU))
  {
    g       = (threadIdx.x & 31) >> 2;
    q       = threadIdx.x & 3;
    own     = 8 * (N8 - 1) + g < T;
    pair[0] = 8 * (N8 - 1) + 2 * q < T;
    pair[1] = 8 * (N8 - 1) + 2 * q + 1 < T;
  }
  /* L_j,j-i and U_j,j+i */
  __device__ const F *lower(int j, int i) const { return band + j * rowsize + (i - 1) * T * ld; }
  __device__ const F *upper(int j, int i) const { return lower(j, QL + i); }
  __device__ const F *diag(int j) const { return band + j * rowsize + offset; }
  /* whether row 8 n + 2 q + e of a tile is there */
  __device__ bool has(int n, int e) const { return n < N8 - 1 || pair[e]; }
  /* the diagonal of U_jj^-1 in this row */
  __device__ SpikeArith pivot(int j, int n, int e) const
  {
    return has(n, e) ? SpikeArith(diag(j)[8 * n + 2 * q + e]) : SpikeArith(0.0);
  }

  /* y += x P, or y += x P^T, for a part P of a tile */
  template <int PART, bool TRANSPOSED>
  __device__ void times(const F *tile, const F *diagonal, const SpikeStrip<N8> &x, SpikeStrip<N8> &y) const
  {
    constexpr bool above = PART == SPIKE_STRIP_LOWER || PART == SPIKE_STRIP_UINV; /* of the diagonal, by blocks */

    SpikeUnroll2(k, N8, n, N8) {
      const int  rb = TRANSPOSED ? n : k, cb = TRANSPOSED ? k : n;
      SpikeArith b[2];

      if (PART != SPIKE_STRIP_FULL && (above ? rb > cb : rb < cb)) continue;
      SpikeUnroll(e, 2) {
        const int r = TRANSPOSED ? g : 2 * q + e, c = TRANSPOSED ? 2 * q + e : g; /* inside the block */
        const F  *from = tile + (8 * cb + c) * ld + 8 * rb + r;
        bool      some = (n < N8 - 1 || own) && has(k, e);

        if (PART != SPIKE_STRIP_FULL && rb == cb) {
          if (PART == SPIKE_STRIP_UINV && r == c) from = diagonal + 8 * rb + r;
          else
            some = some && (PART == SPIKE_STRIP_LOWER   ? r <= c
                            : PART == SPIKE_STRIP_LINV  ? r > c
                            : PART == SPIKE_STRIP_UPPER ? r >= c
                                                        : r < c);
        }
        b[e] = some ? SpikeArith(*from) : SpikeArith(0.0);
      }
      SpikeStripMMA<N8, N8>(y, n, x, k, b);
    }
  }
  /* The strips of the last Q tile rows, the newest first: room for one more */
  __device__ static void shift(SpikeStrip<N8> (&y)[Q])
  {
#pragma unroll
    for (int i = Q - 1; i > 0; i--)
      SpikeStripEach<N8>(y[i], [&](SpikeArith &v, int m, int n, int e) { v = y[i - 1][m][n][e]; });
  }
  /* y <- L_jj^-1 (rhs - sum_i L_j,j-i Y_j-i), with the last `rows` tile rows in y, at most Q of them */
  __device__ void forward(int j, int rows, SpikeStrip<N8> &rhs, SpikeStrip<N8> (&y)[Q]) const
  {
    SpikeStrip<N8> s;

    SpikeStripClear<N8>(s);
    SpikeUnroll(i, Q)
      if (i < rows && i < QL) {
        if (i + 1 < QL) times<SPIKE_STRIP_FULL, true>(lower(j, i + 1), NULL, y[i], s);
        else times<SPIKE_STRIP_LOWER, true>(lower(j, i + 1), NULL, y[i], s);
      }
    shift(y);
    SpikeStripEach<N8>(s, [&](SpikeArith &v, int m, int n, int e) { y[0][m][n][e] = v = rhs[m][n][e] - v; });
    if (QL) times<SPIKE_STRIP_LINV, true>(lower(j, QL), NULL, s, y[0]);
  }
  /* v <- U_jj^-1 (rhs - sum_i U_j,j+i V_j+i), likewise */
  __device__ void backward(int j, int rows, SpikeStrip<N8> &rhs, SpikeStrip<N8> (&v)[Q]) const
  {
    SpikeStrip<N8> s;

    SpikeStripClear<N8>(s);
    SpikeUnroll(i, Q)
      if (i < rows && i < QU) {
        if (i + 1 < QU) times<SPIKE_STRIP_FULL, true>(upper(j, i + 1), NULL, v[i], s);
        else times<SPIKE_STRIP_UPPER, true>(upper(j, i + 1), NULL, v[i], s);
      }
    shift(v);
    SpikeStripEach<N8>(s, [&](SpikeArith &x, int m, int n, int e) { x = rhs[m][n][e] - x; });
    SpikeStripClear<N8>(v[0]);
    times<SPIKE_STRIP_UINV, true>(upper(j, QU), diag(j), s, v[0]);
  }
  /* z <- (rhs - sum_i Z_j-i U_j-i,j) U_jj^-1, likewise */
  __device__ void across(int j, int rows, SpikeStrip<N8> &rhs, SpikeStrip<N8> (&z)[Q]) const
  {
    SpikeStrip<N8> s;

    SpikeStripClear<N8>(s);
    SpikeUnroll(i, Q)
      if (i < rows && i < QU) {
        if (i + 1 < QU) times<SPIKE_STRIP_FULL, false>(upper(j - i - 1, i + 1), NULL, z[i], s);
        else times<SPIKE_STRIP_UPPER, false>(upper(j - i - 1, i + 1), NULL, z[i], s);
      }
    shift(z);
    SpikeStripEach<N8>(s, [&](SpikeArith &x, int m, int n, int e) { x = rhs[m][n][e] - x; });
    SpikeStripClear<N8>(z[0]);
    times<SPIKE_STRIP_UINV, false>(upper(j, QU), diag(j), s, z[0]);
  }
  /* The strip's columns, from col0 on, of a block of K x K numbers whose row 0 is row k0 of the tile row */
  __device__ void load(const PetscScalar *A, int K, int col0, int k0, SpikeStrip<N8> &x) const
  {
    SpikeStripEach<N8>(x, [&](SpikeArith &v, int m, int n, int e) {
      const int c = col0 + 8 * m + g, r = 8 * n + 2 * q + e - k0;

      v = has(n, e) && c < K && r >= 0 && r < K ? SpikeArith(A[c * K + r]) : SpikeArith(0.0);
    });
  }
};

/* Warps of one interface: one strip each, of Y, Z and V; with a single strip one warp has both Y and Z */
template <int N8, int Q>
struct SpikeStripShape {
  static constexpr int STRIPS = (N8 * Q + 1) / 2, LEFT = STRIPS == 1 ? 1 : 2 * STRIPS;
  /* right spikes of a thread block: beside a left one, or in blocks of their own */
  static constexpr int RIGHTS   = Q == 1 ? 1 : 2;
  static constexpr int NTHREADS = 32 * (LEFT + (Q == 1 ? STRIPS : 0)), ATONCE = N8 * Q == 1 ? 10
                                                                              : N8 * Q == 2 ? 6
                                                                              : Q == 1      ? 2
                                                                                            : 1;

  /* Y_j, on its way to the warps that have Z_j */
  SpikeArith y[STRIPS > 1 ? 2 : 1][STRIPS > 1 ? 2 * STRIPS : 1][N8][32][2];
  unsigned   norm[2][LEFT + (STRIPS == 1)][2], right[RIGHTS][2][STRIPS];
  double     history[1 + RIGHTS][32];
};

/* Of the warps of one spike */
__device__ static inline void SpikeStripBarrier(int barrier, int warps)
{
  if (warps == 1) __syncwarp();
  else SpikeBarrierWait(barrier, 32 * warps);
}

/* The left spike of partition p */
template <typename F, int N8, int Q>
__device__ static inline void SpikeStripLeft(const SpikeTipsArgs &a, SpikeStripShape<N8, Q> &sh, PetscInt p, int warp)
{
  constexpr int                   STRIPS = SpikeStripShape<N8, Q>::STRIPS, LEFT = SpikeStripShape<N8, Q>::LEFT;
  const SpikeTiles               &t = a.t;
  const SpikeStripTiles<F, N8, Q> tiles(t, a.band, p);
  const int T = t.T, kl = t.kl, ku = t.ku, g = tiles.g, q4 = tiles.q, lane = threadIdx.x & 31, w = warp % STRIPS;
  const int n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most),
            reach       = PetscMax(t.QL, t.QU);
  const bool     makesy = warp < STRIPS, makesz = STRIPS == 1 || !makesy, keeper = warp == 0 && lane == 0;
  const double   small = (double)a.small;
  SpikeFall      fall(sh.history[0], keeper, PetscMin(reach, J), (double)a.tol);
  SpikeStrip<N8> x0[Q], x1[Q], rhs;
  SpikeStrip<N8>(&y)[Q] = x0, (&z)[Q] = STRIPS == 1 ? x1 : x0; /* a warp that makes one of the two only has one */
  SpikeStrip<N8 * Q> acc;
  int                below = 0, j = 0;
  bool               sum = ku > 0;

  SpikeStripClear<N8 * Q>(acc);
  SpikeUnroll(i, Q) {
    SpikeStripClear<N8>(x0[i]);
    SpikeStripClear<N8>(x1[i]);
  }
  for (;; j++) {
    unsigned yn = 0, wn = 0, zn = 0, tip = 0;

    if (makesy) {
      SpikeStrip<N8> scaled;

      if (j < t.QL) tiles.load(a.C + p * (PetscCount)kl * kl, kl, 16 * w, -j * T, rhs);
      else SpikeStripClear<N8>(rhs);
      tiles.forward(j, j, rhs, y);
      SpikeStripEach<N8>(scaled, [&](SpikeArith &v, int m, int k, int e) { v = y[0][m][k][e] * tiles.pivot(j, k, e); });
      yn = SpikeStripMax<N8>(y[0]);
      wn = SpikeStripMax<N8>(scaled);
      if (STRIPS > 1 && sum)
        SpikeStripEach<N8>(y[0], [&](SpikeArith &v, int m, int k, int e) {
          sh.y[j & 1][STRIPS > 1 ? 2 * w + m : 0][k][lane][e] = v;
        });
    }
    if (makesz && sum) {
      tip = SpikeStripMax<N8 * Q>(acc);
      SpikeStripEach<N8>(rhs, [&](SpikeArith &v, int m, int k, int e) {
        const int r = 16 * w + 8 * m + g;

        v = r < ku && tiles.has(k, e) && r == j * T + 8 * k + 2 * q4 + e ? 1.0 : 0.0;
      });
      tiles.across(j, j, rhs, z);
      zn = SpikeStripMax<N8>(z[0]);
    }
    if (STRIPS > 1) {
      if (lane == 0) {
        sh.norm[j & 1][warp][0] = makesy ? yn : zn;
        sh.norm[j & 1][warp][1] = makesy ? wn : tip;
      }
      SpikeStripBarrier(1, LEFT);
      yn = wn = zn = tip = 0;
      SpikeUnroll(i, STRIPS) {
        yn  = PetscMax(yn, sh.norm[j & 1][i][0]);
        wn  = PetscMax(wn, sh.norm[j & 1][i][1]);
        zn  = PetscMax(zn, sh.norm[j & 1][LEFT - STRIPS + i][0]);
        tip = PetscMax(tip, sh.norm[j & 1][LEFT - STRIPS + i][1]);
      }
    }
    if (makesz && sum) { /* Y_j is b as it is */
      SpikeUnroll2(i, N8 * Q, k, N8) {
        SpikeArith b[2];

        SpikeUnroll(e, 2) b[e] = STRIPS == 1 ? y[0][i & 1][k][e] : sh.y[j & 1][STRIPS > 1 ? i : 0][k][lane][e];
        SpikeStripMMA<N8 * Q, N8>(acc, i, z[0], k, b);
      }
    }
    fall.add(SpikeMagnitudeValue(wn));
    below = j && T * SpikeMagnitudeValue(zn) * SpikeMagnitudeValue(yn) <= small * SpikeMagnitudeValue(tip) ? below + 1
                                                                                                           : 0;
    if (below >= reach) sum = false;
    if (j + 1 == most || (fall.fallen && !sum)) break;
  }
  if (makesz && ku) {
    PetscScalar *Wt = a.Wt + p * (PetscCount)kl * ku;

    SpikeStripEach<N8 * Q>(acc, [&](SpikeArith &v, int m, int k, int e) {
      const int r = 16 * w + 8 * m + g, c = 8 * k + 2 * q4 + e;

      if (r < ku && c < kl) Wt[c * ku + r] = (PetscScalar)v;
    });
  }
  j++;
  if (j == J && ku) { /* all of Y is known, and with it the end of W: how far it falls */
    unsigned start = 0, end = 0;

    if (makesz) start = SpikeStripMax<N8 * Q>(acc);
    if (makesy) {
      SpikeStripClear<N8>(rhs);
      tiles.template times<SPIKE_STRIP_UINV, true>(tiles.upper(J - 1, t.QU), tiles.diag(J - 1), y[0], rhs);
      end = SpikeStripMax<N8>(rhs);
    }
    if (STRIPS > 1) {
      if (lane == 0) sh.norm[j & 1][warp][0] = makesy ? end : start;
      SpikeStripBarrier(1, LEFT);
      start = end = 0;
      SpikeUnroll(i, STRIPS) {
        end   = PetscMax(end, sh.norm[j & 1][i][0]);
        start = PetscMax(start, sh.norm[j & 1][LEFT - STRIPS + i][0]);
      }
    }
    if (keeper)
      a.rate[p] = (PetscReal)SpikeRate(SpikeMagnitudeValue(start), SpikeMagnitudeValue(end),
                                       PetscMax(J - 1, 1) * (double)T);
  } else if (keeper) a.rate[p] = (PetscReal)fall.rate(T);
  if (keeper) a.window[2 * p] = fall.fallen ? PetscMin(fall.last, J) : J;
  if (keeper && a.corner) a.corner[p] = j;
}

/* The right spike of partition p */
template <typename F, int N8, int Q>
__device__ static inline void SpikeStripRight(const SpikeTipsArgs &a, SpikeStripShape<N8, Q> &sh, PetscInt p, int which,
                                              int warp)
{
  constexpr int                   STRIPS = SpikeStripShape<N8, Q>::STRIPS;
  const SpikeTiles               &t      = a.t;
  const SpikeStripTiles<F, N8, Q> tiles(t, a.band, p);
  const int                       T = t.T, kl = t.kl, ku = t.ku, g = tiles.g, q4 = tiles.q, lane = threadIdx.x & 31;
  const int  n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most), f0 = (n - ku) / T;
  const bool keeper     = warp == 0 && lane == 0;
  const PetscScalar *B  = a.B + (p + 1) * (PetscCount)ku * ku;
  PetscScalar       *Vb = a.Vb + (p + 1) * (PetscCount)kl * ku;
  SpikeFall fall(sh.history[1 + which], keeper, PetscMin(PetscMax(t.QL, t.QU) + (n % T ? 1 : 0), J), (double)a.tol);
  /* the last ku rows lie in up to Q + 1 tile rows: rows[i] is that of J - 1 - i */
  SpikeStrip<N8> rows[Q + 1], y[Q], v[Q], rhs;

  SpikeUnroll(i, Q) {
    SpikeStripClear<N8>(y[i]);
    SpikeStripClear<N8>(v[i]);
  }
#pragma unroll
  for (int i = Q; i >= 0; i--) {
    const int j = J - 1 - i;

    if (j >= f0) {
      tiles.load(B, ku, 16 * warp, n - ku - j * T, rhs);
      tiles.forward(j, j - f0, rhs, y);
      SpikeStripEach<N8>(rows[i], [&](SpikeArith &x, int m, int k, int e) { x = y[0][m][k][e]; });
    } else SpikeStripClear<N8>(rows[i]);
  }
  for (int j = J - 1;; j--) {
    unsigned vn;

    SpikeStripEach<N8>(rhs, [&](SpikeArith &x, int m, int k, int e) {
      x = 0.0;
      SpikeUnroll(i, Q + 1)
        if (j == J - 1 - i) x = rows[i][m][k][e];
    });
    tiles.backward(j, J - 1 - j, rhs, v);
    vn = SpikeStripMax<N8>(v[0]);
    if (STRIPS > 1) {
      if (lane == 0) sh.right[which][j & 1][warp] = vn;
      SpikeStripBarrier(2 + which, STRIPS);
      SpikeUnroll(i, STRIPS) vn = PetscMax(vn, sh.right[which][j & 1][i]);
    }
    if ((j + 1) * T > n - kl) {
      SpikeStripEach<N8>(v[0], [&](SpikeArith &x, int m, int k, int e) {
        const int c = 16 * warp + 8 * m + g, i = 8 * k + 2 * q4 + e, r = j * T + i - (n - kl);

        if (c < ku && i < T && r >= 0 && r < kl) Vb[c * kl + r] = (PetscScalar)x;
      });
    }
    fall.add(SpikeMagnitudeValue(vn));
    if (j == J - most || (fall.fallen && j * T <= n - kl)) break;
  }
  if (keeper) {
    a.rate[t.np + 2 + p] = (PetscReal)fall.rate(T);
    a.window[2 * p + 1]  = fall.fallen ? PetscMin(fall.last, J) : J;
  }
}

/*
  Q = 1: block q has the left spike after interface q and the right spike before it, at the same time. Q = 2: blocks up
  to np have a left one, those after two right ones each.
*/
template <typename F, int N8, int Q>
__global__ void __launch_bounds__(SpikeStripShape<N8, Q>::NTHREADS, SpikeStripShape<N8, Q>::ATONCE)
  SpikeTipsNarrow_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  __shared__ SpikeStripShape<N8, Q> sh;
  constexpr int                     LEFT = SpikeStripShape<N8, Q>::LEFT, STRIPS = SpikeStripShape<N8, Q>::STRIPS;
  const SpikeTiles                 &t      = a.t;
  const int                         warp   = threadIdx.x / 32;
  const bool                        isleft = Q == 1 ? warp < LEFT : blockIdx.x <= t.np;
  const int                         which  = Q == 1 ? 0 : warp / STRIPS;
  const PetscInt q = Q == 1 || isleft ? (PetscInt)blockIdx.x : 2 * ((PetscInt)blockIdx.x - t.np - 1) + which;

  if (a.corner) SpikeRelease(); /* SpikeReach_Kernel() */
  if (q > t.np) return;
  if (isleft) {
    const bool some = t.active[q] && q < t.np && t.kl;

    if (some) SpikeStripLeft<F, N8, Q>(a, sh, q, warp);
    else if (threadIdx.x == 0) {
      a.rate[q] = PETSC_MIN_REAL;
      if (q < t.np) a.window[2 * q] = 0;
    }
  } else {
    const bool some = t.active[q] && q > 0 && t.ku;

    if (some) SpikeStripRight<F, N8, Q>(a, sh, q - 1, which, Q == 1 ? warp - LEFT : warp % STRIPS);
    else if (threadIdx.x % 32 == 0) {
      a.rate[t.np + 1 + q] = PETSC_MIN_REAL;
      if (q > 0) a.window[2 * (q - 1) + 1] = 0;
    }
  }
}

template <typename F, int N8, int Q>
static PetscErrorCode SpikeTipsNarrowLaunch_Private(const SpikeTipsArgs &a, cudaStream_t stream)
{
  const PetscInt interfaces = a.t.np + 1;
  const unsigned blocks     = (unsigned)(Q == 1 ? interfaces : interfaces + (interfaces + 1) / 2),
                 threads    = SpikeStripShape<N8, Q>::NTHREADS;

  PetscFunctionBegin;
  SpikeTipsNarrow_Kernel<F, N8, Q><<<blocks, threads, 0, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
