/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_rhs.cuh: sweeps and corrections for several right-hand sides, which meet each factor together; real numbers */
#pragma once

#include "sweep.cuh"
#include "kernels/common/cuda/mma.cuh"

#define SPIKE_RHS       8 /* of a warp */
#define SPIKE_RHS_WARPS 4 /* of a block, at most */
#define SPIKE_RHS_AHEAD 3 /* tile rows that are on their way to the L2 cache */

/*
  Columns X are the rows of a product  X^T A^T:  lane l = 4 g + q has column g of X, and of a piece of 16 rows the four
  x[s] = X(4 q + s, g). Of a 16 x 16 piece of A it has the pairs of rows 2 g, 2 g + 1 in the columns 4 q + s, and
  SpikeMMAReal() with these pairs gives it the rows 4 q + 2 e + h of the result for h, e = 0, 1: in the order in which
  it had them. So what one product makes is an operand of the next one as it is, and all of a tile comes from memory in
  whole lines, for T even by pairs.
*/
template <typename F, int N16>
struct SpikePieces {
  F v[N16][N16][4][2]; /* [row piece][column piece][s][h] */

  /* The transpose of a tile as load() has it: lanes read four neighbours of a column */
  template <bool FULL>
  __device__ __forceinline__ void loadtransposed(const F *tile, int T, int pitch)
  {
    const int  g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    const bool pairs = FULL || T % 2 == 0;

    SpikeUnroll2(m, N16, h, 2) {
      const int r = 16 * m + 2 * g + h; /* column of the tile */
      const F  *a = tile + (FULL || r < T ? r : T - 1) * pitch;

      SpikeUnroll2(n, N16, s2, 2) {
        const int c = 16 * n + 4 * q + 2 * s2;
        F         two[2];

        if (pairs) SpikeLoadPair(a + (FULL || c < T ? c : T - 2), two);
        else {
          two[0] = a[c < T ? c : T - 1];
          two[1] = a[c + 1 < T ? c + 1 : T - 1];
        }
        SpikeUnroll(k, 2) v[m][n][2 * s2 + k][h] = FULL || (r < T && c + k < T) ? two[k] : (F)0.0;
      }
    }
  }
  /*
    A tile of one partition, columns `pitch` apart; zeros from T on. FULL: T is 16 N16. Without branches: what lies
    outside is read at the last place inside
  */
  template <bool FULL>
  __device__ __forceinline__ void load(const F *tile, int T, int pitch)
  {
    const int  g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
    const bool pairs = FULL || T % 2 == 0;

    SpikeUnroll2(n, N16, s, 4) {
      const int c = 16 * n + 4 * q + s;
      const F  *a = tile + (FULL || c < T ? c : T - 1) * pitch;

      SpikeUnroll(m, N16) {
        const int r = 16 * m + 2 * g;

        if (pairs) SpikeLoadPair(a + (FULL || r < T ? r : T - 2), v[m][n][s]);
        else {
          v[m][n][s][0] = a[r < T ? r : T - 1];
          v[m][n][s][1] = a[r + 1 < T ? r + 1 : T - 1];
        }
        if (!FULL && (c >= T || r >= T)) v[m][n][s][0] = (F)0.0;
        if (!FULL && (c >= T || r + 1 >= T)) v[m][n][s][1] = (F)0.0;
      }
    }
  }

  __device__ static __forceinline__ void SpikeLoadPair(const F *a, F (&b)[2])
  {
    struct alignas(2 * sizeof(F)) Pair {
      F x, y;
    };
    const Pair p = *(const Pair *)a;

    b[0] = p.x;
    b[1] = p.y;
  }

  /*
    y += A x for the elements of A with r < c (SIDE 1), r > c (SIDE -1) or all (SIDE 0), with those on the diagonal if
    WITHDIAGONAL
  */
  template <int SIDE, bool WITHDIAGONAL>
  __device__ __forceinline__ void times(double (&y)[N16][2][2], const double (&x)[N16][2][2]) const
  {
    const int g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

    SpikeUnroll3(n, N16, s, 4, m, N16)
      SpikeUnroll(h, 2) {
        const int r = 2 * g + h, c = 4 * q + s;
        double    a = (double)v[m][n][s][h];

        if (SIDE * (n - m) < 0) continue;
        if (SIDE && n == m && !(WITHDIAGONAL && r == c) && (SIDE > 0 ? r >= c : r <= c)) a = 0.0;
        SpikeMMAReal(y[m][h], x[n][s & 1][s >> 1], a);
      }
  }
};

/*
  Sweeps of sweep.cuh: a warp for each partition (each window of it) and 8 right-hand sides (columns). The other warps
  of a thread block have other columns of the same partition, and find its factors in the caches. A tile is loaded as
  soon as the registers of the one before are free, from the L2 cache, to which it was prefetched some tile rows
  earlier. Vectors go through shared memory, so that memory is read and written along columns; the tile rows that later
  ones need stay there.

  TRANSPOSED: the same with the matrix L' = U^T, U' = L^T, whose tile (j, j - q) is that of row j - q, transposed, and
  whose lower triangle has the diagonal. A corner is loaded twice: its coupling half with row j, the half of the
  diagonal tile with its own row. C x_b and B x_t are then x_t and x_b, over whole partitions, and tips are left to
  SpikeTipsTranspose_Kernel().

  Moves (QL + QU) T + 1 factors a row once for all columns of a block, less by tiles without entries, and 4 scalars a
  row and column, a correction 5. The order of all sums is fixed and the same for any number of columns.
*/
template <typename F, int N16, bool FULL, bool TRANSPOSED>
struct SpikeRhsSweep {
  static constexpr int RINGPITCH = 16 * N16 + 2; /* lanes read pairs of neighbouring columns from different banks */

  const SpikeSweepArgs &a;
  const SpikeTiles     &t;
  const int             lane, g, q4, slots, first, nc; /* nc: columns of the warp, from `first` on */
  const PetscInt        p;
  const int             below, above; /* tiles with entries, SpikeTiles.own */
  const SpikeRange      range;        /* of a group, as for one column */
  const int             f0, f1, nf, nb, member, pitch;
  const PetscInt        start, n;
  const bool            top, bottom, tips, tipabove, tipbelow;
  const F              *band;
  double               *ring, *diagonal;
  const PetscScalar    *b;
  PetscScalar          *y, *x, *tip;

  __device__ __forceinline__ SpikeRhsSweep(const SpikeSweepArgs &args, int nrhs, double *shared) :
    a(args),
    t(args.t),
    lane(threadIdx.x & 31),
    g(lane >> 2),
    q4(4 * (lane & 3)),
    slots(PetscMax(t.QL, t.QU) + 1),
    first(SPIKE_RHS * ((int)blockIdx.y * (int)(blockDim.x >> 5) + (int)(threadIdx.x >> 5))),
    nc(PetscMin(SPIKE_RHS, nrhs - first)),
    p(a.p0 + (a.correct && !TRANSPOSED ? blockIdx.x >> 1 : blockIdx.x)),
    below(t.below(p)),
    above(t.above(p)),
    range(SpikeGetRange(a, a.correct, p / t.G * t.G, a.correct && !TRANSPOSED ? blockIdx.x & 1 : 0)),
    f0(range.f0),
    f1(range.f1),
    nf(f1 - f0),
    nb(f1 - range.b0),
    member((int)(p % t.G) * t.T),
    pitch(t.G * t.T),
    start(t.start[p]),
    n(t.start[p + 1] - start),
    top(range.top && t.active[p] && (!a.window || a.window[2 * p])),
    bottom(range.bottom && t.active[p + 1] && (!a.window || a.window[2 * p + 1])),
    tips(a.tips && !a.correct && !TRANSPOSED),
    tipabove(tips && t.active[p]),
    tipbelow(tips && t.active[p + 1]),
    band((const F *)a.band + t.group(p) + member),
    ring(shared + (threadIdx.x >> 5) * (slots * SPIKE_RHS * RINGPITCH + 32)),
    diagonal(ring + slots * SPIKE_RHS * RINGPITCH),
    b(a.b + first * a.ldb + start),
    y(a.y + first * a.ldy + start),
    x(a.x + first * a.ldx + start),
    tip(tips ? a.tips + first * a.ldt + p * (PetscCount)(t.kl + t.ku) + t.kl : NULL)
  {
  }
  __device__ __forceinline__ const F *tilerow(int s) const
  {
    return band + (s < nf ? f0 + s : f1 - 1 - (s - nf)) * t.rowsize;
  }
  /*
    the next tile, at step fs and place fq; transposed the half of the diagonal tile has a place of its own, the last
  */
  __device__ __forceinline__ void fetch(SpikePieces<F, N16> &tile, int &fs, int &fq) const
  {
    if (fs >= nf + ((TRANSPOSED ? t.QL : t.QU) ? nb : 0)) return;
    const bool back  = fs >= nf;
    const bool upper = back != TRANSPOSED; /* tiles of U, after those of L */
    const int  Q     = upper ? t.QU : t.QL;

    if (!TRANSPOSED) tile.template load<FULL>(tilerow(fs) + t.tile((upper ? t.QL : 0) + fq), t.T, pitch);
    else {
      const int q = fq < Q ? fq + 1 : 0,
                j = back ? PetscMin(f1 - 1 - (fs - nf) + q, f1 - 1) : PetscMax(f0 + fs - q, f0);

      tile.template loadtransposed<FULL>(band + j * t.rowsize + t.tile((upper ? t.QL : 0) + (q ? q : Q) - 1), t.T,
                                         pitch);
    }
    fq = SpikeNextTile(fq + 1, upper ? above : below, Q) - 1;
    if (fq == Q + TRANSPOSED) {
      fq = 0;
      fs++;
    }
  }
  /* row i of all columns; columns after the last one are that one again */
  __device__ __forceinline__ void read(const PetscScalar *from, PetscCount ld, PetscInt i,
                                       PetscScalar (&to)[SPIKE_RHS]) const
  {
    from += i;
    SpikeUnroll(k, SPIKE_RHS) {
      to[k] = *from;
      if (k + 1 < nc) from += ld;
    }
  }
  __device__ __forceinline__ void write(PetscScalar *to, PetscCount ld, PetscInt i,
                                        const PetscScalar (&from)[SPIKE_RHS]) const
  {
    to += i;
#pragma unroll
    for (int k = 0; k < SPIKE_RHS; k++, to += ld)
      if (k < nc) *to = from[k];
  }
  /* the row of step s that is this lane's, for all columns, and its diagonal where the pass is that of U */
  __device__ __forceinline__ void vectors(bool back, int s, PetscScalar (&vec)[SPIKE_RHS], PetscScalar &dg) const
  {
    const PetscInt i    = (PetscInt)(back ? f1 - 1 - s : f0 + s) * t.T + lane;
    const bool     here = lane < t.T && i < n && s < nf &&
                      (back || !a.correct || (top && i < a.ht) || (bottom && i >= n - a.hb));

    if (here) {
      if (back || a.correct) read(y, a.ldy, i, vec);
      else read(b, a.ldb, i, vec);
    } else {
      SpikeUnroll(k, SPIKE_RHS) vec[k] = 0.0;
    }
    if (back != TRANSPOSED && lane < t.T && s < (back ? nb : nf))
      dg = (PetscScalar)(band + (back ? f1 - 1 - s : f0 + s) * t.rowsize + t.tile(t.QL + t.QU))[lane];
  }
  /* 4 rows of each piece of a tile row of column g, sign 1 or -1 */
  __device__ __forceinline__ void get(const double *row, double sign, double (&v)[N16][2][2]) const
  {
    SpikeUnroll2(m, N16, e, 2) {
      const double2 w = *(const double2 *)(row + g * RINGPITCH + 16 * m + q4 + 2 * e);

      v[m][0][e] = sign * w.x;
      v[m][1][e] = sign * w.y;
    }
  }
  /* x_t and x_b to y, a lane a row; they may share rows */
  __device__ __forceinline__ void ends() const
  {
    for (int which = 0; a.correct && which < 2; which++) {
      const int          h    = which ? a.hb : a.ht;
      const PetscScalar *from = a.tips + first * a.ldt + (p + which) * (PetscCount)(t.kl + t.ku) + (which ? 0 : t.kl);

      if (which ? bottom : top)
        for (int i = lane; i < h; i += 32) {
          const PetscInt row = which ? n - h + i : i;

          SpikeUnroll(k, SPIKE_RHS)
            if (k < nc)
              y[k * a.ldy + row] = from[k * a.ldt + i] +
                                   (which && top && row < a.ht ? y[k * a.ldy + row] : (PetscScalar)0.0);
        }
      __syncwarp();
    }
  }
  /* C x_b and B x_t to y, a lane a row */
  __device__ __forceinline__ void corrections() const
  {
    for (int which = 0; a.correct && which < 2; which++) {
      const int h = which ? a.hb : a.ht;

      if (which ? bottom : top) {
        const PetscScalar *A    = (which ? a.B : a.C) + (p + which) * (PetscCount)h * h,
                          *from = a.tips + first * a.ldt + (p + which) * (PetscCount)(t.kl + t.ku) + (which ? t.kl : 0);

        for (int i = lane; i < (h + 31) / 32 * 32; i += 32) {
          /* of all lanes. B is lower triangular, C upper triangular */
          const int c0 = which ? 0 : i - lane, c1 = which ? PetscMin(h, i - lane + 32) : h;
          double    sum[SPIKE_RHS] = {};

#pragma unroll 4
          for (int c = c0; c < c1; c++) {
            const double w = i < h && (which ? c <= i : c >= i) ? (double)A[(PetscCount)c * h + i] : 0.0;

            SpikeUnroll(k, SPIKE_RHS) sum[k] = fma(w, (double)from[PetscMin(k, nc - 1) * a.ldt + c], sum[k]);
          }
          const PetscInt row = which ? n - h + i : i;

          SpikeUnroll(k, SPIKE_RHS)
            if (i < h && k < nc)
              y[k * a.ldy + row] = (PetscScalar)(sum[k] +
                                                 (which && top && row < a.ht ? (double)y[k * a.ldy + row] : 0.0));
        }
      }
      __syncwarp();
    }
  }
  /* the lines of step s of a way, to the L2 cache */
  template <bool FROMEND>
  __device__ __forceinline__ void prefetch(int s) const
  {
    constexpr bool   UPPER = FROMEND != TRANSPOSED;
    const F         *ahead = tilerow((FROMEND ? nf : 0) + s) - member;
    const int        first = UPPER ? t.QL : 0, Q = UPPER ? t.QU : t.QL;
    const PetscInt64 empty = t.tile(first + (UPPER ? above : below)), corner = t.tile(first + Q - 1);

    for (PetscInt64 k = t.tile(first) + lane * (PetscInt64)(128 / sizeof(F)); k < t.tile(first + Q);
         k += 32 * (128 / sizeof(F)))
      if (k < empty || k + (PetscInt64)(128 / sizeof(F)) > corner) SpikePrefetch(ahead + k);
  }
  /* row i of y, or of x and the tips, from the row in shared memory */
  template <bool FROMEND>
  __device__ __forceinline__ void result(const double *row, PetscInt i) const
  {
    PetscScalar z[SPIKE_RHS];

    SpikeUnroll(k, SPIKE_RHS) z[k] = (PetscScalar)row[k * RINGPITCH + lane];
    if (!FROMEND) write(y, a.ldy, i, z);
    else {
      if (tipabove && i < t.ku) write(tip, a.ldt, i, z);
      if (tipbelow && i >= n - t.kl) write(tip, a.ldt, t.ku + i - (n - t.kl), z);
      if (a.correct) {
        PetscScalar old[SPIKE_RHS];

        read(x, a.ldx, i, old);
        SpikeUnroll(k, SPIKE_RHS) z[k] = old[k] - z[k];
      }
      write(x, a.ldx, i, z);
    }
  }
  /* all steps forward, or back */
  template <bool FROMEND>
  __device__ __forceinline__ void pass(SpikePieces<F, N16> &tile, int &fs, int &fq) const
  {
    constexpr int  SIDE  = FROMEND ? -1 : 1; /* of the corner that couples; the other half is the diagonal tile's */
    constexpr bool UPPER = FROMEND != TRANSPOSED;
    const int      Q = UPPER ? t.QU : t.QL, steps = FROMEND ? nb : nf;
    PetscScalar    vec[SPIKE_RHS], dg             = 0.0;
    int            slot = 0;

    for (int k = lane; k < slots * SPIKE_RHS * RINGPITCH; k += 32) ring[k] = 0.0;
    __syncwarp();
    vectors(FROMEND, 0, vec, dg);
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
      const PetscInt i   = (PetscInt)(FROMEND ? f1 - 1 - s : f0 + s) * t.T + lane;
      double        *row = ring + slot * SPIKE_RHS * RINGPITCH, v[N16][2][2], w[N16][2][2];

      if (lane < 16 * N16) {
        SpikeUnroll(k, SPIKE_RHS) row[k * RINGPITCH + lane] = (double)vec[k];
      }
      if (UPPER) diagonal[lane] = (double)dg;
      if (Q && s + SPIKE_RHS_AHEAD < steps) prefetch<FROMEND>(s + SPIKE_RHS_AHEAD);
      if (FROMEND && s == PetscMax(nb - SPIKE_SWEEP_LAST, 0)) SpikeSweepEnds(a, p, p + 1);
      vectors(FROMEND, s + 1, vec, dg);
      __syncwarp();
      get(row, 1.0, v);
#pragma unroll 1
      for (int q = 1; q <= Q; q = SpikeNextTile(q, UPPER ? above : below, Q)) {
        if (q <= s) {
          get(ring + (slot >= q ? slot - q : slot - q + slots) * SPIKE_RHS * RINGPITCH, -1.0, w);
          if (q < Q) tile.template times<0, true>(v, w);
          else tile.template times<SIDE, true>(v, w);
        }
        if (TRANSPOSED || q < Q) fetch(tile, fs, fq);
      }
      SpikeUnroll3(m, N16, h, 2, e, 2) {
        w[m][h][e] = v[m][h][e];
        if (UPPER) v[m][h][e] *= diagonal[16 * m + q4 + 2 * e + h];
      }
      if (Q) {
        tile.template times<-SIDE, false>(v, w);
        fetch(tile, fs, fq);
      }
      SpikeUnroll2(m, N16, e, 2)
        *(double2 *)(row + g * RINGPITCH + 16 * m + q4 + 2 * e) = make_double2(v[m][0][e], v[m][1][e]);
      __syncwarp();
      if (lane < t.T && i < n) result<FROMEND>(row, i);
      slot = slot + 1 < slots ? slot + 1 : 0;
    }
    __syncwarp();
  }
};

template <typename F, int N16, bool FULL, bool TRANSPOSED>
__global__ void __launch_bounds__(32 * SPIKE_RHS_WARPS)
  SpikeSweepColumns_Kernel(const __grid_constant__ SpikeSweepArgs a, int nrhs)
{
  extern __shared__ __align__(16) double        columns[];
  const SpikeRhsSweep<F, N16, FULL, TRANSPOSED> sweep(a, nrhs, columns);
  SpikePieces<F, N16>                           tile;
  int                                           fs = (TRANSPOSED ? a.t.QU : a.t.QL) ? 0 : sweep.nf, fq = 0;

  if (!sweep.nb || sweep.nc <= 0) {
    SpikeAwait();
    return;
  }
  sweep.fetch(tile, fs, fq);
  SpikeAwait();
  if (TRANSPOSED) sweep.ends();
  else sweep.corrections();
  sweep.template pass<false>(tile, fs, fq);
  sweep.template pass<true>(tile, fs, fq);
}

template <typename F, bool TRANSPOSED>
static PetscErrorCode SpikeSweepColumns_Private(const SpikeSweepArgs *a, int nrhs, cudaStream_t stream)
{
  const int    pieces = (a->t.T + 15) / 16, groups = (nrhs + SPIKE_RHS - 1) / SPIKE_RHS;
  const size_t bytes = ((PetscMax(a->t.QL, a->t.QU) + 1) * SPIKE_RHS * (16 * pieces + 2) + 32) * sizeof(double);
  const int    warps = (int)PetscMax(1, PetscMin(PetscMin(SPIKE_RHS_WARPS, groups), (int)(48 * 1024 / bytes)));
  const dim3   grid((unsigned)((a->correct && !TRANSPOSED ? 2 : 1) * (a->p1 - a->p0)),
                    (unsigned)((groups + warps - 1) / warps));
  const auto   kernel = pieces == 1  ? (a->t.T == 16 ? SpikeSweepColumns_Kernel<F, 1, true, TRANSPOSED>
                                                     : SpikeSweepColumns_Kernel<F, 1, false, TRANSPOSED>)
                      : a->t.T == 32 ? SpikeSweepColumns_Kernel<F, 2, true, TRANSPOSED>
                                     : SpikeSweepColumns_Kernel<F, 2, false, TRANSPOSED>;

  PetscFunctionBegin;
  PetscCallCUDA(SpikeLaunchEarly(kernel, grid, dim3(32 * warps), warps * bytes, stream, *a, nrhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}
