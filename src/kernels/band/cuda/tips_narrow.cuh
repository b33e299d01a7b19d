/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tips_narrow.cuh: tips of the spikes with at most two tiles on either side of the diagonal (complex: one), in the
  registers of a few warps
*/
#pragma once

#include "tips_ring.cuh"
#include "tips_strip.cuh"

/*
  Columns of a spike are rows of strips (tips_strip.cuh). Tiles come to shared memory some steps ahead (tips_ring.cuh),
  each once a spike. With the row blocks Y_j of Y = L^-1 [C; 0] and Z_j of Z = [I 0] U^-1 (its first ku rows) the tip of
  the left spike is

      Wt = [I 0] U^-1 L^-1 [C; 0] = sum_j Z_j Y_j
      Y_j = L_jj^-1 (C_j - sum_i L_j,j-i Y_j-i),   Z_j = (I_j - sum_i Z_j-i U_j-i,j) U_jj^-1

  One pass over the rows, two recurrences side by side, and no row is kept: what Z_j adds to the next rows is passed on.
  The sum ends where its terms have fallen below a.small (rounding, with cholesky SpikeBand.corner), the pass where W
  has fallen to the tolerance too; W_j is taken to fall as Y_j / U_jj does, which no scaling of rows changes. With
  cholesky tips_reach.cuh finds the reach, beside. The right spike is Y of the last ku rows, and then

      V_j = U_jj^-1 (Y_j - sum_i U_j,j+i V_j+i)

  upward until it has fallen. Q: most tiles on a side. Reads (2 Q T + 1) T numbers a tile row of a left spike, and
  (Q T + 1) T of a right one; writes the tips. All decisions are the same in every lane: the same bits again.
*/
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_TIPS_NARROW 1 /* most tiles on a side */
#else
  #define SPIKE_TIPS_NARROW 2
#endif

/* The tiles of a step as a lane reads them, in a stage of a ring; T <= 8 N8 */
template <typename F, int N8, int Q>
struct SpikeStripTiles {
  static constexpr int NPLACES = SpikeTileShape<N8>::NPLACES;
  const SpikeLane<F>   at;
  const F             *lower, *upper, *diagonal; /* L_j,j-1, U_j,j+1, the diagonal of U_jj^-1 */
  int                  QL, QU;

  __device__ SpikeStripTiles(const SpikeTiles &t) : lower(NULL), upper(NULL), diagonal(NULL), QL(t.QL), QU(t.QU) { }
  /* The tile row of the stage, whose upper tiles begin with tile `above` of it */
  __device__ void row(const SpikeStripRing<F, N8> &ring, int above)
  {
    lower    = ring.stage();
    upper    = lower + above * NPLACES;
    diagonal = ring.diagonal();
  }
  __device__ SpikeArith pivot(int n, int e) const { return SpikeArith(diagonal[8 * n + 2 * at.q + e]); }

  /* y += x L_j,j-i or x U_j,j+i, of which the last one is a corner */
  template <bool LOW, bool TRANSPOSED>
  __device__ void side(int i, const SpikeStrip<N8> &x, SpikeStrip<N8> &y) const
  {
    const F *tile = (LOW ? lower : upper) + (i - 1) * NPLACES;

    if (i < (LOW ? QL : QU)) SpikeStripTimes<SPIKE_STRIP_FULL, TRANSPOSED>(at, tile, diagonal, x, y);
    else SpikeStripTimes<LOW ? SPIKE_STRIP_LOWER : SPIKE_STRIP_UPPER, TRANSPOSED>(at, tile, diagonal, x, y);
  }
  /* y += x U_jj^-1, or x U_jj^-T */
  template <bool TRANSPOSED>
  __device__ void inverse(const SpikeStrip<N8> &x, SpikeStrip<N8> &y) const
  {
    SpikeStripTimes<SPIKE_STRIP_UINV, TRANSPOSED>(at, upper + (QU - 1) * NPLACES, diagonal, x, y);
  }
  /* The strips of the last Q tile rows, the newest first: room for one more */
  __device__ static void shift(SpikeStrip<N8> (&y)[Q])
  {
#pragma unroll
    for (int i = Q - 1; i > 0; i--)
      SpikeStripEach<N8>(y[i], [&](SpikeArith &v, int m, int n, int e) { v = y[i - 1][m][n][e]; });
  }
  /* y <- L_jj^-1 (rhs - sum_i L_j,j-i Y_j-i), with the last `rows` tile rows in y, at most Q of them */
  __device__ void forward(int rows, SpikeStrip<N8> &rhs, SpikeStrip<N8> (&y)[Q]) const
  {
    SpikeStrip<N8> s;

    SpikeStripClear<N8>(s);
    SpikeUnroll(i, Q)
      if (i < rows && i < QL) side<true, true>(i + 1, y[i], s);
    shift(y);
    SpikeStripEach<N8>(s, [&](SpikeArith &v, int m, int n, int e) { y[0][m][n][e] = v = rhs[m][n][e] - v; });
    if (QL) SpikeStripTimes<SPIKE_STRIP_LINV, true>(at, lower + (QL - 1) * NPLACES, diagonal, s, y[0]);
  }
  /* v <- U_jj^-1 (rhs - sum_i U_j,j+i V_j+i), likewise */
  __device__ void backward(int rows, SpikeStrip<N8> &rhs, SpikeStrip<N8> (&v)[Q]) const
  {
    SpikeStrip<N8> s;

    SpikeStripClear<N8>(s);
    SpikeUnroll(i, Q)
      if (i < rows && i < QU) side<false, true>(i + 1, v[i], s);
    shift(v);
    SpikeStripEach<N8>(s, [&](SpikeArith &x, int m, int n, int e) { x = rhs[m][n][e] - x; });
    SpikeStripClear<N8>(v[0]);
    inverse<true>(s, v[0]);
  }
  /* z <- (rhs - s_0) U_jj^-1, where s_i = sum_k Z_k U_k,j+i over the rows k < j that have such tiles; rhs is lost */
  __device__ void across(SpikeStrip<N8> &rhs, const SpikeStrip<N8> (&s)[Q], SpikeStrip<N8> &z) const
  {
    SpikeStripEach<N8>(rhs, [&](SpikeArith &x, int m, int n, int e) { x = x - s[0][m][n][e]; });
    SpikeStripClear<N8>(z);
    inverse<false>(rhs, z);
  }
  /* s_i of the next row, with this one */
  __device__ void pass(const SpikeStrip<N8> &z, SpikeStrip<N8> (&s)[Q]) const
  {
    SpikeUnroll(i, Q) {
      if (i + 1 < Q)
        SpikeStripEach<N8>(s[i], [&](SpikeArith &x, int m, int n, int e) { x = s[i + 1 < Q ? i + 1 : i][m][n][e]; });
      else SpikeStripClear<N8>(s[i]);
      if (i < QU) side<false, false>(i + 1, z, s[i]);
    }
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

/* Rows r0 to r0 + 15 of the tip, of rows x columns numbers */
template <int N>
__device__ static inline void SpikeStripKeep(SpikeArith (&acc)[2][N][2], PetscScalar *tip, int r0, int rows,
                                             int columns)
{
  const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

  SpikeStripEach<N>(acc, [&](SpikeArith &v, int m, int k, int e) {
    const int r = r0 + 8 * m + g, c = 8 * k + 2 * q + e;

    if (r < rows && c < columns) tip[c * rows + r] = (PetscScalar)v;
  });
}

/* The left spike of partition p */
template <typename F, int N8, int Q>
__device__ static inline void SpikeStripLeft(const SpikeTipsArgs &a, SpikeStripShape<N8, Q> &sh, F *room, PetscInt p,
                                             int warp)
{
  constexpr int             STRIPS = SpikeStripShape<N8, Q>::STRIPS, LEFT = SpikeStripShape<N8, Q>::LEFT;
  const SpikeTiles         &t = a.t;
  SpikeStripRing<F, N8>     ring(t, a.band, p, room, t.QL + t.QU, a.stages, warp, LEFT);
  SpikeStripTiles<F, N8, Q> tiles(t);
  const int T = t.T, kl = t.kl, ku = t.ku, g = tiles.at.g, q4 = tiles.at.q, lane = threadIdx.x & 31, w = warp % STRIPS;
  const int n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most),
            reach           = PetscMax(t.QL, t.QU);
  const bool         makesy = warp < STRIPS, makesz = STRIPS == 1 || !makesy, keeper = warp == 0 && lane == 0;
  const double       small = (double)a.small;
  const PetscScalar *C     = a.C + p * (PetscCount)kl * kl;
  SpikeFall          fall(sh.history[0], keeper, PetscMin(reach, J), (double)a.tol);
  SpikeStrip<N8>     x0[Q], x1[Q], r0, r1;
  /* a warp that makes one of the two only has one */
  SpikeStrip<N8>(&y)[Q] = x0, (&s)[Q] = STRIPS == 1 ? x1 : x0, &rhs = r0, &z = STRIPS == 1 ? r1 : r0;
  SpikeStrip<N8 * Q> acc;
  int                below = 0, j = 0;
  bool               sum = ku > 0;
  auto               row = [&](int step) {
    if (step < most) ring.fetch(step, 0, t.QL + t.QU);
  };
  auto barrier = []() { SpikeStripBarrier(1, LEFT); };

  ring.begin(row);
  SpikeStripClear<N8 * Q>(acc);
  SpikeUnroll(i, Q) {
    SpikeStripClear<N8>(x0[i]);
    SpikeStripClear<N8>(x1[i]);
  }
  if (makesy) SpikeStripLoad(tiles.at, C, kl, kl, 16 * w, 0, T, rhs);
  ring.arrive(barrier);
  for (;; j++) {
    unsigned yn = 0, wn = 0, zn = 0, tip = 0;

    tiles.row(ring, t.QL);
    if (makesy) {
      unsigned scaled = 0;

      tiles.forward(j, rhs, y);
      SpikeStripEach<N8>(y[0], [&](SpikeArith &v, int, int k, int e) {
        scaled = PetscMax(scaled, SpikeMagnitude(v * tiles.pivot(k, e)));
      });
      yn = SpikeStripMax<N8>(y[0]);
      wn = SpikeWarpMaxUnsigned(scaled);
      if (STRIPS > 1 && sum)
        SpikeStripEach<N8>(y[0], [&](SpikeArith &v, int m, int k, int e) {
          sh.y[j & 1][STRIPS > 1 ? 2 * w + m : 0][k][lane][e] = v;
        });
      if (j + 1 < t.QL) SpikeStripLoad(tiles.at, C, kl, kl, 16 * w, -(j + 1) * T, T, rhs);
      else SpikeStripClear<N8>(rhs);
    }
    if (makesz && sum) {
      SpikeStrip<N8> unit;

      tip = SpikeStripMax<N8 * Q>(acc);
      SpikeStripEach<N8>(unit, [&](SpikeArith &v, int m, int k, int e) {
        const int r = 16 * w + 8 * m + g, i = 8 * k + 2 * q4 + e;

        v = r < ku && i < T && r == j * T + i ? 1.0 : 0.0;
      });
      tiles.across(unit, s, z);
      zn = SpikeStripMax<N8>(z);
      tiles.pass(z, s);
    }
    if (STRIPS > 1 && lane == 0) {
      sh.norm[j & 1][warp][0] = makesy ? yn : zn;
      sh.norm[j & 1][warp][1] = makesy ? wn : tip;
    }
    ring.turn(j, row, barrier);
    if (STRIPS > 1) {
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
        SpikeStripMMA<N8 * Q, N8>(acc, i, z, k, b);
      }
    }
    fall.add(SpikeMagnitudeValue(wn));
    below = j && T * SpikeMagnitudeValue(zn) * SpikeMagnitudeValue(yn) <= small * SpikeMagnitudeValue(tip) ? below + 1
                                                                                                           : 0;
    if (below >= reach) sum = false;
    if (j + 1 == most || (fall.fallen && !sum)) break;
  }
  if (makesz && ku) SpikeStripKeep<N8 * Q>(acc, a.Wt + p * (PetscCount)kl * ku, 16 * w, ku, kl);
  j++;
  if (j == J && ku) { /* all of Y is known, and with it the end of W: how far it falls */
    unsigned start = 0, end = 0;

    if (makesz) start = SpikeStripMax<N8 * Q>(acc);
    if (makesy) { /* no step comes after the last tile row, which is in its stage still */
      SpikeStripClear<N8>(rhs);
      tiles.template inverse<true>(y[0], rhs);
      end = SpikeStripMax<N8>(rhs);
    }
    if (STRIPS > 1) {
      if (lane == 0) sh.norm[j & 1][warp][0] = makesy ? end : start;
      barrier();
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
  if (keeper && a.known) a.corner[p] = j;
}

/*
  The right spike of partition p: a step for each of the tile rows that have the last ku rows, from row f0 on, and then
  one for each tile row from the last one on, upward
*/
template <typename F, int N8, int Q>
__device__ static inline void SpikeStripRight(const SpikeTipsArgs &a, SpikeStripShape<N8, Q> &sh, F *room, PetscInt p,
                                              int which, int warp)
{
  constexpr int             STRIPS = SpikeStripShape<N8, Q>::STRIPS;
  const SpikeTiles         &t      = a.t;
  SpikeStripRing<F, N8>     ring(t, a.band, p, room, PetscMax(t.QL, t.QU), a.stages, warp, STRIPS);
  SpikeStripTiles<F, N8, Q> tiles(t);
  const int                 T = t.T, kl = t.kl, ku = t.ku, g = tiles.at.g, q4 = tiles.at.q, lane = threadIdx.x & 31;
  const int  n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most), f0 = (n - ku) / T;
  const bool keeper     = warp == 0 && lane == 0;
  const PetscScalar *B  = a.B + (p + 1) * (PetscCount)ku * ku;
  PetscScalar       *Vb = a.Vb + (p + 1) * (PetscCount)kl * ku;
  SpikeFall fall(sh.history[1 + which], keeper, PetscMin(PetscMax(t.QL, t.QU) + (n % T ? 1 : 0), J), (double)a.tol);
  /* the last ku rows lie in up to Q + 1 tile rows: rows[i] is that of J - 1 - i */
  SpikeStrip<N8> rows[Q + 1], y[Q], v[Q], rhs;
  int            step = 0;
  auto           row  = [&](int s) {
    const int j = 2 * J - 1 - f0 - s;

    if (f0 + s < J) ring.fetch(f0 + s, 0, t.QL);
    else if (j >= J - most) ring.fetch(j, t.QL, t.QU);
  };
  auto barrier = [&]() { SpikeStripBarrier(2 + which, STRIPS); };

  ring.begin(row);
  SpikeUnroll(i, Q) {
    SpikeStripClear<N8>(y[i]);
    SpikeStripClear<N8>(v[i]);
  }
  SpikeStripLoad(tiles.at, B, ku, ku, 16 * warp, n - ku - f0 * T, T, rhs);
  ring.arrive(barrier);
#pragma unroll
  for (int i = Q; i >= 0; i--) {
    const int j = J - 1 - i;

    if (j >= f0) {
      tiles.row(ring, 0);
      tiles.forward(j - f0, rhs, y);
      SpikeStripEach<N8>(rows[i], [&](SpikeArith &x, int m, int k, int e) { x = y[0][m][k][e]; });
      if (i) SpikeStripLoad(tiles.at, B, ku, ku, 16 * warp, n - ku - (j + 1) * T, T, rhs);
      ring.turn(step++, row, barrier);
    } else SpikeStripClear<N8>(rows[i]);
  }
  for (int j = J - 1;; j--) {
    unsigned vn;

    SpikeStripEach<N8>(rhs, [&](SpikeArith &x, int m, int k, int e) {
      x = 0.0;
      SpikeUnroll(i, Q + 1)
        if (j == J - 1 - i) x = rows[i][m][k][e];
    });
    tiles.row(ring, 0);
    tiles.backward(J - 1 - j, rhs, v);
    vn = SpikeStripMax<N8>(v[0]);
    if (STRIPS > 1 && lane == 0) sh.right[which][j & 1][warp] = vn;
    ring.turn(step++, row, barrier);
    if (STRIPS > 1)
      SpikeUnroll(i, STRIPS) vn = PetscMax(vn, sh.right[which][j & 1][i]);
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
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int     LEFT = SpikeStripShape<N8, Q>::LEFT, STRIPS = SpikeStripShape<N8, Q>::STRIPS;
  const SpikeTiles &t      = a.t;
  const int         warp   = threadIdx.x / 32;
  const bool        isleft = Q == 1 ? warp < LEFT : blockIdx.x <= t.np;
  const int         which  = Q == 1 ? 0 : warp / STRIPS;
  const int         left   = SpikeStripRing<F, N8>::elements(t.QL + t.QU),
            right          = SpikeStripRing<F, N8>::elements(PetscMax(t.QL, t.QU));
  const PetscInt q         = Q == 1 || isleft ? (PetscInt)blockIdx.x : 2 * ((PetscInt)blockIdx.x - t.np - 1) + which;

  if (a.known) SpikeRelease(); /* SpikeReach_Kernel() */
  if (t.T < 8 * N8) {
    const int bytes = (int)sizeof(F) * a.stages * (Q == 1 ? left + right : PetscMax(left, 2 * right));

    for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) ((int4 *)shared)[i] = make_int4(0, 0, 0, 0);
    __syncthreads();
  }
  if (q > t.np) return;
  if (isleft) {
    const bool some = t.active[q] && q < t.np && t.kl;

    if (some) SpikeStripLeft<F, N8, Q>(a, sh, (F *)shared, q, warp);
    else if (threadIdx.x == 0) {
      a.rate[q] = PETSC_MIN_REAL;
      if (q < t.np) a.window[2 * q] = 0;
    }
  } else {
    const bool some = t.active[q] && q > 0 && t.ku;
    F         *room = (F *)shared + a.stages * (Q == 1 ? left : which * right);

    if (some) SpikeStripRight<F, N8, Q>(a, sh, room, q - 1, which, Q == 1 ? warp - LEFT : warp % STRIPS);
    else if (threadIdx.x % 32 == 0) {
      a.rate[t.np + 1 + q] = PETSC_MIN_REAL;
      if (q > 0) a.window[2 * (q - 1) + 1] = 0;
    }
  }
  SpikeCopyWait();
}

/*
  Stages of the rings, and bytes of them in a thread block: enough for as many thread blocks on a multiprocessor as
  registers allow, where it has such memory, else two stages, or one; 0: not even that
*/
template <typename F, int N8, int Q>
static int SpikeTipsNarrowStages(const SpikeTiles &t, const SpikeDevice *gpu, size_t *bytes)
{
  typedef SpikeStripShape<N8, Q> Shape;
  const int                      left = SpikeStripRing<F, N8>::elements(t.QL + t.QU),
            right                     = SpikeStripRing<F, N8>::elements(PetscMax(t.QL, t.QU));
  const size_t each = sizeof(F) * (Q == 1 ? left + right : PetscMax(left, 2 * right)), taken = sizeof(Shape) + 1024,
               all    = (size_t)gpu->shared + 1024;
  const size_t room   = all / Shape::ATONCE > taken ? all / Shape::ATONCE - taken : 0;
  int          stages = (int)PetscMin(SPIKE_RING_STAGES, room / each);

  if (stages < 2) stages = all > taken ? (int)PetscMin(2, (all - taken) / each) : 0;
  *bytes = stages * each;
  return stages;
}

template <int BLOCKS, int TILES>
struct SpikeTipsOf {
  static constexpr int N8 = BLOCKS, Q = TILES;
};

/* x(SpikeTipsOf<N8, Q>()) for these tiles. SMALL: T <= 16, whose code is in a file of its own */
template <bool SMALL, typename X>
static auto SpikeTipsNarrowOf(const SpikeTiles &t, X x)
{
  if constexpr (SMALL) return t.T <= 8 ? x(SpikeTipsOf<1, 1>()) : x(SpikeTipsOf<2, 1>());
  else if (t.QL > 1 || t.QU > 1)
    return t.T <= 24 ? x(SpikeTipsOf<3, SPIKE_TIPS_NARROW>()) : x(SpikeTipsOf<4, SPIKE_TIPS_NARROW>());
  else return t.T <= 24 ? x(SpikeTipsOf<3, 1>()) : x(SpikeTipsOf<4, 1>());
}

/* Whether the device has room for the kernel for these tiles */
template <typename F>
static bool SpikeTipsNarrowFit(const SpikeTiles &t, const SpikeDevice *gpu)
{
  auto fit = [&](auto of) {
    size_t bytes;

    return SpikeTipsNarrowStages<F, of.N8, of.Q>(t, gpu, &bytes) > 0;
  };

  return t.T <= 16 ? SpikeTipsNarrowOf<true>(t, fit) : SpikeTipsNarrowOf<false>(t, fit);
}

template <typename F, int N8, int Q>
static PetscErrorCode SpikeTipsNarrowKernel_Private(SpikeTipsArgs a, const SpikeDevice *gpu, cudaStream_t stream)
{
  const PetscInt interfaces = a.t.np + 1;
  const unsigned blocks     = (unsigned)(Q == 1 ? interfaces : interfaces + (interfaces + 1) / 2),
                 threads    = SpikeStripShape<N8, Q>::NTHREADS;
  const auto kernel         = SpikeTipsNarrow_Kernel<F, N8, Q>;
  size_t     bytes;

  PetscFunctionBegin;
  a.stages = SpikeTipsNarrowStages<F, N8, Q>(a.t, gpu, &bytes);
  PetscCheck(a.stages, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No shared memory for a tile row");
  PetscCall(SpikeKernelFit((const void *)kernel, threads, bytes));
  kernel<<<blocks, threads, bytes, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F, bool SMALL>
static PetscErrorCode SpikeTipsNarrowLaunch_Private(const SpikeTipsArgs &a, const SpikeDevice *gpu, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeTipsNarrowOf<SMALL>(a.t, [&](auto of) {
    return SpikeTipsNarrowKernel_Private<F, of.N8, of.Q>(a, gpu, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
