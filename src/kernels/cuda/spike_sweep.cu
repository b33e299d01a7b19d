/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_sweep.cu: sweeps with the factors, plain and transposed, for whole partitions and for the windows of the corrections */
#include "sweep.cuh"
#include "ring.cuh"

/*
  Every element of the factors is read once, into shared memory, tiles ahead of their use, and from there into registers; nothing else of size moves than b, y (twice) and x:
  (QL + QU) T + 1 factors and 4 scalars a row, for each right-hand side. The order of all sums is fixed: the same bits in every run.
*/

#define SPIKE_SWEEP_STATIC 12288 /* bytes, at least what the kernels have of shared memory besides the rings, and 1024 of the system's a block */
#define SPIKE_SWEEP_AHEAD  2.5e7 /* bytes of reduced systems that the second-level cache keeps from the sweep to the solve */

/* What the owner of a row knows about its partition */
struct SpikeOwner {
  PetscInt           n; /* rows; 0 for a lane without a partition */
  int                r; /* row in a tile                           */
  bool               top, bottom;
  const PetscScalar *b;
  PetscScalar       *y, *x, *tipbelow, *tipabove;

  __device__ SpikeOwner(const SpikeSweepArgs &a, const SpikeRange &range, PetscInt p, int row, bool active, int column, bool tips)
  {
    const SpikeTiles &t     = a.t;
    const bool        here  = active && p >= a.p0 && p < a.p1;
    const PetscInt    start = here ? t.start[p] : 0;

    r        = row;
    n        = here ? t.start[p + 1] - start : 0;
    top      = here && range.top && t.active[p] && (!a.window || a.window[2 * p]);
    bottom   = here && range.bottom && t.active[p + 1] && (!a.window || a.window[2 * p + 1]);
    b        = a.b + column * a.ldb + start;
    y        = a.y + column * a.ldy + start;
    x        = a.x + column * a.ldx + start;
    tipabove = tipbelow = NULL;
    if (here && tips) {
      PetscScalar *tip = a.tips + column * a.ldt + p * (PetscCount)(t.kl + t.ku);

      if (t.active[p]) tipabove = tip + t.kl;
      if (t.active[p + 1]) tipbelow = tip + t.kl + t.ku;
    }
  }
  /* r_j of a correction was left in y */
  __device__ PetscScalar rhs(const SpikeSweepArgs &a, int j) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    if (i >= n) return 0.0;
    if (!a.correct) return b[i];
    return (top && i < a.ht) || (bottom && i >= n - a.hb) ? y[i] : (PetscScalar)0.0;
  }
  __device__ void put(const SpikeSweepArgs &a, int j, PetscScalar v) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    if (i < n) y[i] = v;
  }
  __device__ PetscScalar get(const SpikeSweepArgs &a, int j) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    return i < n ? y[i] : (PetscScalar)0.0;
  }
  /* what a correction subtracts from */
  __device__ PetscScalar old(const SpikeSweepArgs &a, int j) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    return a.correct && i < n ? x[i] : (PetscScalar)0.0;
  }
  __device__ void result(const SpikeSweepArgs &a, int j, PetscScalar v, PetscScalar before) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    if (i >= n) return;
    x[i] = a.correct ? before - v : v;
    if (tipabove && i < a.t.ku) tipabove[i] = v;
    if (tipbelow && i >= n - a.t.kl) tipbelow[i - (n - a.t.kl)] = v;
  }
};

/* sum of A_c x_c over c0 <= c < c1, for a row of a matrix of h rows and columns; a warp asks for columns in large pieces at once, without conditions, and those that no lane needs are left out */
__device__ static inline PetscScalar SpikeTriangleTimes(const PetscScalar *A, int h, int c0, int c1, const PetscScalar *x)
{
  constexpr int PIECE = sizeof(PetscScalar) > 8 ? 8 : 16;
  PetscScalar   v     = 0.0;

  for (int c = c0 / PIECE * PIECE; c < c1; c += PIECE) {
    PetscScalar w[PIECE], xc[PIECE];

#pragma unroll
    for (int k = 0; k < PIECE; k++) {
      w[k]  = A[(PetscCount)PetscMin(c + k, h - 1) * h];
      xc[k] = x[PetscMin(c + k, h - 1)];
    }
#pragma unroll
    for (int k = 0; k < PIECE; k++)
      if (c + k >= c0 && c + k < c1) v = SpikeFma(w[k], xc[k], v);
  }
  return v;
}

/*
  r of a correction, left in y by all threads of a block: C x_b and B x_t, transposed x_t and x_b. Where the two ends share rows they are added.
*/
template <bool TRANS>
__device__ static void SpikeCorrectionRHS(const SpikeSweepArgs &a, const SpikeRange &range, PetscInt p, int column)
{
  const SpikeTiles &t = a.t;

  for (int end = 0; end < 2; end++) {
    const int h = end ? a.hb : a.ht;

    for (int k = threadIdx.x; (end ? range.bottom : range.top) && k < t.G * h; k += blockDim.x) {
      const PetscInt q = p + k / h + end, i = k % h; /* the interface at this end of member k / h */

      if (q - end >= a.p0 && q - end < a.p1 && t.active[q] && (!a.window || a.window[2 * (q - end) + end])) {
        const PetscScalar *below = a.tips + column * a.ldt + q * (PetscCount)(t.kl + t.ku), *above = below + t.kl;
        const PetscInt     row = end ? t.start[q] - h + i : t.start[q] + i;
        PetscScalar       *y = a.y + column * a.ldy + row, v = 0.0;

        if (TRANS) v = end ? below[i] : above[i];
        else { /* B is lower triangular, C upper triangular */ v = SpikeTriangleTimes((end ? a.B : a.C) + q * (PetscCount)h * h + i, h, end ? 0 : (int)i, end ? (int)i + 1 : h, end ? above : below); }
        if (end && range.top && t.active[q - 1] && (!a.window || a.window[2 * (q - 1)]) && row - t.start[q - 1] < a.ht) v += *y;
        *y = v;
      }
    }
    __syncthreads();
  }
}

/*
  QL, QU <= 1: a warp for each group of partitions. Numbers of the vectors and of the diagonal are asked for PD steps before their use; what the last PD steps forward have made is not in
  memory by then, but in `last`.
*/
template <typename F, int TMAX, int V, bool FULL>
__global__ void __launch_bounds__(32) SpikeSweepWarp_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  constexpr int          CMAX = TMAX / V, PD = TMAX > 16 ? 2 : 4;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ PetscScalar last[PD][32], sy[160], st[160];
  const SpikeTiles      &t   = a.t;
  const int              end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x;
  const PetscInt         group = a.p0 / t.G + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange       range = SpikeGetRange(a, a.correct, group * t.G, end);
  const int              nf = range.f1 - range.f0, ns = nf + range.f1 - range.b0;
  const SpikeLane<V>     at(t);
  const SpikeOwner       own(a, range, group * t.G + at.m, at.row(), at.active, column, a.tips && !a.correct);
  const F               *band = (const F *)a.band + t.group(group * t.G), *diag = band + t.tile(t.QL + t.QU) + at.m * t.T + at.row();
  const int              next = t.G * t.T, bytes = next * t.T * (int)sizeof(F), first = (int)at.first(t);
  const PetscInt64       upper = t.tile(t.QL);
  SpikeRing<FULL>        ring(shared, 0, 1, a.stages, bytes);
  unsigned               mask[2][2][V]; /* of the forward and backward sweep: the corner, the triangle */
  F                      d[PD];
  PetscScalar            tile[TMAX], vec[PD], old[PD];

  if (!ns) return;
  auto row = [&](int s) { return s >= nf ? range.f1 - 1 - (s - nf) : range.f0 + s; };
  /* the tile of step s */
  auto fetch = [&](int s) {
    const bool back = s >= nf;

    if (s < ns && (back ? t.QU : t.QL)) ring.put(band + row(s) * t.stepsize + (back ? upper : 0), bytes);
  };
  /* its part of the vectors */
  auto fetchvector = [&](int s, F &dg, PetscScalar &v, PetscScalar &o) {
    const bool here = s < ns, back = s >= nf;
    const int  j = here ? row(s) : range.b0;

    dg = diag[back ? j * t.stepsize : 0];
    v  = here ? (back ? (s - nf >= PD && j >= range.f0 ? own.get(a, j) : (PetscScalar)0.0) : own.rhs(a, j)) : (PetscScalar)0.0;
    o  = here && back ? own.old(a, j) : (PetscScalar)0.0;
  };

  __syncwarp();
  for (int s = 0; s < a.stages; s++) fetch(s);
#pragma unroll
  for (int v = 0; v < V; v++) {
    mask[0][0][v] = t.QL ? at.mask(v, false, true) : 0;
    mask[0][1][v] = t.QL ? at.mask(v, true, false) : 0;
    mask[1][0][v] = t.QU ? at.mask(v, true, true) : 0;
    mask[1][1][v] = t.QU ? at.mask(v, false, false) : 0;
  }
#pragma unroll
  for (int k = 0; k < TMAX; k++) tile[k] = 0.0;
  if (a.correct) SpikeCorrectionRHS<false>(a, range, group * t.G, column);
  __syncwarp();
#pragma unroll
  for (int u = 0; u < PD; u++) fetchvector(u, d[u], vec[u], old[u]);
#pragma unroll 1
  for (int s0 = 0; s0 < ns; s0 += PD) {
#pragma unroll
    for (int u = 0; u < PD; u++) {
      const int s = s0 + u;

      if (s < ns) {
        const bool  back = s >= nf, none = s == 0 || s == nf;
        const int   j = row(s);

        if (a.R && s == nf) SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, group * t.G, PetscMin(group * t.G + t.G, a.p1));
        unsigned    corner[V], triangle[V];
        PetscScalar sum[V], v, w;

        if (back ? t.QU : t.QL) {
          SpikeTileTake<F, V, CMAX, FULL>((const F *)ring.get() + first, next, at.C, tile);
          __syncwarp();
        }
        fetch(s + a.stages);
#pragma unroll
        for (int i = 0; i < V; i++) {
          corner[i]   = none ? 0 : back ? mask[1][0][i] : mask[0][0][i];
          triangle[i] = back ? mask[1][1][i] : mask[0][1][i];
          sum[i]      = 0.0;
        }
        SpikeTileTimes<PetscScalar, V, CMAX>(tile, sy + at.piece(), corner, sum);
        v = (back && s - nf < PD && j >= range.f0 ? last[j & (PD - 1)][lane] : vec[u]) - at.collect(sum);
        if (at.active) st[at.at(own.r)] = v;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < V; i++) sum[i] = 0.0;
        SpikeTileTimes<PetscScalar, V, CMAX>(tile, st + at.piece(), triangle, sum);
        w = at.collect(sum);
        if (back) {
          w = SpikeFma((PetscScalar)d[u], v, w);
          own.result(a, j, w, old[u]);
        } else {
          w += v;
          last[j & (PD - 1)][lane] = w;
          own.put(a, j, w);
        }
        if (at.active) sy[at.at(own.r)] = w;
        __syncwarp();
        fetchvector(s + PD, d[u], vec[u], old[u]);
      }
    }
  }
}

/*
  QL or QU > 1: a block for each partition, a warp for each tile of a tile row (several tiles in turn with more than 8). The warp with the corner
  tile, which holds the triangle too, adds what the others found. Numbers of the vectors and of the diagonal are asked for two steps before their use.
*/
template <typename F, int V, bool FULL>
__global__ void __launch_bounds__(256) SpikeSweepBlock_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  constexpr int          TMAX = 32, CMAX = TMAX / V, PD = 2, ROWS = SPIKE_MAXTILES + 1;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ PetscScalar rows[ROWS * 48], st[48], part[8][32], last[PD][32];
  const SpikeTiles      &t   = a.t;
  const int              end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const PetscInt         p     = a.p0 + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange       range = SpikeGetRange(a, a.correct, p, end);
  const int              nf = range.f1 - range.f0, ns = nf + range.f1 - range.b0, slots = PetscMax(t.QL, t.QU) + 1;
  const SpikeLane<V>     at(t);
  const SpikeOwner       own(a, range, p, at.row(), at.active, column, a.tips && !a.correct);
  const F               *band = (const F *)a.band + t.group(p), *diag = band + t.tile(t.QL + t.QU) + at.row();
  const int              bytes = t.T * t.T * (int)sizeof(F), first = (int)at.first(t);
  SpikeRing<FULL>        ring(shared, warp, warps, a.stages, bytes);
  /* tiles a warp has in a step, and the warp of the corner */
  const int   turns[2] = {PetscMax(1, (t.QL + warps - 1) / warps), PetscMax(1, (t.QU + warps - 1) / warps)};
  const int   chief[2] = {PetscMax(t.QL - 1, 0) % warps, PetscMax(t.QU - 1, 0) % warps};
  unsigned    mask[2][2][V], full[V];
  F           d[PD];
  PetscScalar tile[TMAX], vec[PD], old[PD], sum[V];
  int         fs = 0, fturn = 0; /* where the loads are */

  if (!ns) return;
  auto row = [&](int s) { return s >= nf ? range.f1 - 1 - (s - nf) : range.f0 + s; };
  /* the next tile of the warp */
  auto fetch = [&]() {
    for (bool found = false; !found && fs < ns;) {
      const bool back = fs >= nf;
      const int  q    = fturn * warps + warp + 1;

      found = q <= (back ? t.QU : t.QL);
      if (found) ring.put(band + row(fs) * t.stepsize + t.tile(back ? t.QL + q - 1 : q - 1), bytes);
      if (++fturn == turns[back]) fturn = 0, fs++;
    }
  };
  /* the chief's part of the vectors in step s */
  auto fetchvector = [&](int s, F &dg, PetscScalar &v, PetscScalar &o) {
    const bool here = s < ns && warp == chief[s >= nf], back = s >= nf;
    const int  j = here ? row(s) : range.b0;

    dg = diag[here && back && at.active ? j * t.stepsize : 0];
    v  = here ? (back ? (s - nf >= PD && j >= range.f0 ? own.get(a, j) : (PetscScalar)0.0) : own.rhs(a, j)) : (PetscScalar)0.0;
    o  = here && back ? own.old(a, j) : (PetscScalar)0.0;
  };

  __syncthreads();
  for (int k = 0; k < a.stages; k++) fetch();
#pragma unroll
  for (int v = 0; v < V; v++) {
    mask[0][0][v] = t.QL ? at.mask(v, false, true) : 0;
    mask[0][1][v] = t.QL ? at.mask(v, true, false) : 0;
    mask[1][0][v] = t.QU ? at.mask(v, true, true) : 0;
    mask[1][1][v] = t.QU ? at.mask(v, false, false) : 0;
    full[v]       = at.full();
  }
#pragma unroll
  for (int k = 0; k < TMAX; k++) tile[k] = 0.0;
  if (a.correct) SpikeCorrectionRHS<false>(a, range, p, column);
  __syncthreads();
#pragma unroll
  for (int u = 0; u < PD; u++) fetchvector(u, d[u], vec[u], old[u]);
#pragma unroll 1
  for (int s0 = 0; s0 < ns; s0 += PD) {
#pragma unroll
    for (int u = 0; u < PD; u++) {
      const int s = s0 + u;

      if (s < ns) {
        const bool back = s >= nf, ischief = warp == chief[back];
        const int  Q = back ? t.QU : t.QL, j = row(s);

        if (a.R && s == nf) SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, p, p + 1);
#pragma unroll
        for (int v = 0; v < V; v++) sum[v] = 0.0;
#pragma unroll 1
        for (int turn = 0; turn < turns[back]; turn++) {
          const int q = turn * warps + warp + 1, neighbour = back ? j + q : j - q;

          if (q > Q) continue;
          SpikeTileTake<F, V, CMAX, FULL>((const F *)ring.get() + first, t.T, at.C, tile);
          __syncwarp();
          fetch();
          if (back ? neighbour < range.f1 : neighbour >= range.f0) {
            unsigned use[V];

#pragma unroll
            for (int v = 0; v < V; v++) use[v] = q < Q ? full[v] : back ? mask[1][0][v] : mask[0][0][v];
            SpikeTileTimes<PetscScalar, V, CMAX>(tile, rows + (neighbour % slots) * 48 + at.piece(), use, sum);
          }
        }
        part[warp][lane] = at.collect(sum);
        __syncthreads();
        if (ischief) {
          /* of the first steps back y is still here; the chief of the way forward may be another warp */
          PetscScalar v = back && s - nf < PD && j >= range.f0 ? last[j & (PD - 1)][lane] : vec[u], w;
          unsigned    use[V];

          for (int k = 0; k < warps; k++) v -= part[k][lane];
          if (at.active) st[at.at(own.r)] = v;
          __syncwarp();
#pragma unroll
          for (int i = 0; i < V; i++) {
            use[i] = back ? mask[1][1][i] : mask[0][1][i];
            sum[i] = 0.0;
          }
          SpikeTileTimes<PetscScalar, V, CMAX>(tile, st + at.piece(), use, sum);
          w = at.collect(sum);
          if (back) {
            w = SpikeFma((PetscScalar)d[u], v, w);
            own.result(a, j, w, old[u]);
          } else {
            w += v;
            last[j & (PD - 1)][lane] = w;
            own.put(a, j, w);
          }
          if (at.active) rows[(j % slots) * 48 + at.at(own.r)] = w;
        }
        __syncthreads();
        fetchvector(s + PD, d[u], vec[u], old[u]);
      }
    }
  }
}

/*
  Transposed: a block for each group of partitions, warps in turn for the tiles. Lane l owns column l % T of member l / T and reads it from top to bottom:
  the columns of a tile are neighbours in the caches. The halves of a corner tile are read at two different steps.
*/
template <typename F>
__global__ void __launch_bounds__(256) SpikeSweepTranspose_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  __shared__ PetscScalar ring[SPIKE_MAXTILES + 1][32], st[32], part[8][32];
  const SpikeTiles      &t = a.t;
  const int              T = t.T, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const PetscInt         group  = a.p0 / t.G + blockIdx.x;
  const bool             active = lane < T * t.G;
  const int              m = active ? lane / T : 0, c = active ? lane % T : 0;
  const SpikeRange       range = SpikeGetRange(a, a.correct, group * t.G, 0);
  const int              nf = range.f1 - range.f0, ns = nf + range.f1 - range.b0, slots = PetscMax(t.QL, t.QU) + 1;
  const SpikeOwner       own(a, range, group * t.G + m, c, active, column, false);
  const F               *band = (const F *)a.band + t.group(group * t.G) + ((PetscInt64)c * t.G + m) * T;
  const F               *diag = (const F *)a.band + t.group(group * t.G) + t.tile(t.QL + t.QU) + m * T + c;

  if (!ns) return;
  if (a.correct) SpikeCorrectionRHS<true>(a, range, group * t.G, column);
  for (int s = 0; s < ns; s++) {
    const bool  back = s >= nf;
    const int   j = back ? range.f1 - 1 - (s - nf) : range.f0 + s, Q = back ? t.QL : t.QU, tile0 = back ? 0 : t.QL;
    PetscScalar v = 0.0, old = 0.0;
    F           d = 1.0;

    if (!warp) {
      v   = back ? (j >= range.f0 ? own.get(a, j) : (PetscScalar)0.0) : own.rhs(a, j);
      old = back ? own.old(a, j) : (PetscScalar)0.0;
      if (!back && active) d = diag[j * t.stepsize];
    }
    /* U^T forward: tiles above the diagonal, of the rows before; L^T backward: tiles below it, of the rows behind */
    PetscScalar sum = 0.0;

    for (int q = warp + 1; q <= Q; q += warps) {
      const int neighbour = back ? j + q : j - q;

      if (active && (back ? neighbour < range.f1 : neighbour >= range.f0)) {
        const F           *A  = band + neighbour * t.stepsize + t.tile(tile0 + q - 1);
        const PetscScalar *x  = ring[neighbour % slots] + m * T;
        const int          r0 = q == Q && !back ? c : 0, r1 = q == Q && back ? c + 1 : T; /* the half of the corner that couples */

#pragma unroll 8
        for (int r = r0; r < r1; r++) sum = SpikeFma(SpikeLoad(A + r), x[r], sum);
      }
    }
    part[warp][lane] = sum;
    __syncthreads();
    if (!warp) {
      for (int k = 0; k < warps; k++) v -= part[k][lane];
      st[lane] = v;
      __syncwarp();
      v = SpikeFma((PetscScalar)d, v, 0.0);
      if (Q && active) {
        const F  *A  = band + j * t.stepsize + t.tile(tile0 + Q - 1);
        const int r0 = back ? c + 1 : 0, r1 = back ? T : c;

#pragma unroll 8
        for (int r = r0; r < r1; r++) v = SpikeFma(SpikeLoad(A + r), st[m * T + r], v);
      }
      if (back) own.result(a, j, v, old);
      else own.put(a, j, v);
      ring[j % slots][lane] = v;
    }
    __syncthreads();
  }
}

/* C_q^T g_top and B_q^T g_bottom of the partitions: a block for each of them, a warp for each number */
__global__ void __launch_bounds__(256) SpikeTipsTranspose_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  const SpikeTiles  &t = a.t;
  const PetscInt     p = a.p0 + blockIdx.x, n = t.start[p + 1] - t.start[p];
  const int          kl = t.kl, ku = t.ku, column = blockIdx.y, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
  const PetscScalar *g   = a.x + column * a.ldx + t.start[p];
  PetscScalar       *tip = a.tips + column * a.ldt + p * (PetscCount)(kl + ku);

  for (int c = threadIdx.x >> 5; c < kl + ku; c += warps) {
    const bool         top = c < kl;
    const int          h = top ? kl : ku, k = top ? c : c - kl;
    const PetscScalar *x = top ? g : g + n - ku, *A = (top ? a.C + p * (PetscCount)h * h : a.B + (p + 1) * (PetscCount)h * h) + (PetscCount)k * h;
    PetscScalar        v = 0.0;

    if (!t.active[top ? p : p + 1]) continue;
    for (int r = lane; r < h; r += 32) v = SpikeFma(A[r], x[r], v);
    v = SpikeWarpSum(v);
    if (!lane) tip[top ? k : 2 * kl + ku + k] = v;
  }
}

/* The kernel of plain sweeps with tiles t, and bytes of the rings of a block with so many stages */
template <typename F>
static void *SpikeSweepKernel_Private(const SpikeTiles *t, int stages, size_t *shared)
{
  typedef SpikeRows<F, 32> Rows;
  const int                Q = PetscMax(t->QL, t->QU), warps = PetscMax(1, PetscMin(Q, 8)), bytes = t->G * t->T * t->T * (int)sizeof(F);
  void                    *kernel;

  if (Q <= 1) {
    SpikeDispatchRows(t, F, {
      kernel  = (void *)SpikeSweepWarp_Kernel<F, TMAX, V, FULL>;
      *shared = SpikeRing<FULL>::Bytes(warps, stages, bytes);
    });
  } else if (t->T == 32) {
    kernel  = (void *)SpikeSweepBlock_Kernel<F, Rows::wide, true>;
    *shared = SpikeRing<true>::Bytes(warps, stages, bytes);
  } else {
    kernel  = (void *)SpikeSweepBlock_Kernel<F, Rows::narrow, false>;
    *shared = SpikeRing<false>::Bytes(warps, stages, bytes);
  }
  return kernel;
}

/* Lets the kernel of plain sweeps have all of the shared memory */
PetscErrorCode SpikeSweepPrepare_CUDA(SpikeBand *s)
{
  const SpikeCUDA   *h = (const SpikeCUDA *)s->data;
  cudaFuncAttributes attributes;
  size_t             shared;
  void              *kernel = NULL;

  PetscFunctionBegin;
  if (PetscMax(h->t.QL, h->t.QU) > SPIKE_MAXTILES) PetscFunctionReturn(PETSC_SUCCESS); /* refused by the sweep */
  SpikeDispatchPrecision(s->precision, kernel = SpikeSweepKernel_Private<F>(&h->t, 1, &shared));
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(h->sharedmemory - attributes.sharedSizeBytes)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode SpikeSweepLaunch_Private(const SpikeCUDA *h, SpikeSweepArgs *a, PetscBool trans, PetscInt nrhs, cudaStream_t stream)
{
  const SpikeTiles *t      = &a->t;
  const PetscInt    groups = (a->p1 - 1) / t->G - a->p0 / t->G + 1;
  const int         warps = PetscMax(1, PetscMin(PetscMax(t->QL, t->QU), 8)), blocks = (int)PetscMin((trans || !a->correct ? groups : 2 * groups) * (PetscCount)nrhs, PETSC_INT32_MAX);
  const dim3        grid((unsigned)(trans || !a->correct ? groups : 2 * groups), (unsigned)nrhs);

  PetscFunctionBegin;
  if (trans) SpikeSweepTranspose_Kernel<F><<<grid, 32 * warps, 0, stream>>>(*a);
  else {
    void *args = a, *kernel;
    /* blocks that a multiprocessor runs at once share its memory, which the rings take as far as that is of use */
    const size_t room = h->sharedmemory / PetscMin(PetscMax(16 / warps, 1), (blocks + h->multiprocessors - 1) / h->multiprocessors) - SPIKE_SWEEP_STATIC;
    size_t       shared;

    for (a->stages = SPIKE_RING_STAGES;; a->stages--) {
      kernel = SpikeSweepKernel_Private<F>(t, a->stages, &shared);
      if (a->stages == 2 || shared <= room) break;
    }
    PetscCallCUDA(cudaLaunchKernel(kernel, grid, dim3(32 * warps), &args, shared, stream));
  }
  PetscCallCUDA(cudaGetLastError());
  if (trans && a->tips && !a->correct) {
    SpikeTipsTranspose_Kernel<<<dim3((unsigned)(a->p1 - a->p0), (unsigned)nrhs), PetscMin(256, 32 * PetscMax(1, (t->kl + t->ku) / 8)), 0, stream>>>(*a);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the launches have in common; the grid's second index counts right-hand sides */
PetscErrorCode SpikeSweepLaunch_CUDA(SpikeBand *s, PetscBool trans, PetscInt nrhs, SpikeSweepArgs *a)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;

  PetscFunctionBegin;
  a->t    = h->t;
  a->band = s->band;
  a->B    = s->dB;
  a->C    = s->dC;
  a->tips = s->coupled ? s->dtips : NULL;
  a->ldt  = (PetscCount)(s->np + 1) * (s->kl + s->ku);
  if (a->p0 >= a->p1 || !nrhs || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscMax(a->t.QL, a->t.QU) <= SPIKE_MAXTILES, PETSC_COMM_SELF, PETSC_ERR_SUP, "Half-bandwidths %d and %d are above %d", a->t.kl, a->t.ku, 32 * SPIKE_MAXTILES);
  PetscCheck(nrhs <= 65535, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " right-hand sides at once", nrhs);
  SpikeDispatchPrecision(s->precision, PetscCall(SpikeSweepLaunch_Private<F>(h, a, trans, nrhs, (cudaStream_t)s->stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bottom tips are made in the second half of a sweep, at its start: HEAD does it all, and TAIL finds nothing left to do */
PetscErrorCode SpikeSweep_CUDA(SpikeBand *s, PetscBool trans, SpikeSweepPart part, PetscInt p0, PetscInt p1, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  SpikeSweepArgs a = {};

  PetscFunctionBegin;
  if (part == SPIKE_SWEEP_TAIL || p0 >= p1) PetscFunctionReturn(PETSC_SUCCESS);
  a.p0  = p0;
  a.p1  = p1;
  a.b   = b;
  a.ldb = ldb;
  a.x = a.y = g;
  a.ldx = a.ldy = ldg;
  if (s->coupled && !trans && (s->np + 1) * (2.0 * s->kl + s->ku) * s->ku * sizeof(PetscScalar) < SPIKE_SWEEP_AHEAD) {
    a.Vb = s->dVb;
    a.Wt = s->dWt;
    a.R  = s->dR;
  }
  PetscCall(SpikeSweepLaunch_CUDA(s, trans, nrhs, &a));
  PetscCall(PetscLogGpuFlops(nrhs * (2.0 * s->kl + 2.0 * s->ku + 1.0) * (s->start[p1] - s->start[p0])));
  PetscFunctionReturn(PETSC_SUCCESS);
}
