/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_sweep.cu: sweeps with the factors, plain and transposed, for whole partitions and for the windows of the corrections */
#include "sweep.cuh"
#include "ring.cuh"
#include "blocks.cuh"

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
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(32, 1) SpikeSweepWarp_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  constexpr int          PD = L::NB > 1 ? 2 : 4, PLACES = (L::J > 1 ? 2 : 32) * L::STRIDE;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) PetscScalar          sy[PLACES], st[PLACES]; /* y or x of the step before, the right-hand side of a triangle */
  __shared__ PetscScalar                        last[PD][32];
  const SpikeTiles                             &t   = a.t;
  const int                                     end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x;
  const PetscInt                                group = a.p0 / t.G + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange                              range = SpikeGetRange(a, a.correct, group * t.G, end);
  const int                                     f0 = range.f0, f1 = range.f1, nf = f1 - f0, ns = nf + f1 - range.b0;
  const L                                       at(t);
  const SpikeOwner                              own(a, range, group * t.G + at.m, at.row, at.active, column, a.tips && !a.correct);
  const F                                      *band = (const F *)a.band + t.group(group * t.G), *diag = band + t.tile(t.QL + t.QU) + at.m * t.T + PetscMin(at.row, t.T - 1);
  const int                                     bytes = at.next * t.T * (int)sizeof(F);
  const PetscInt64                              upper = t.tile(t.QL);
  SpikeRing<FULL>                               ring(shared, 0, 1, a.stages, bytes);
  F                                             d[PD];
  PetscScalar                                   tile[2][L::COUNT], vec[PD], old[PD]; /* tiles of this step and the next */
  int                                           fs = t.QL ? 0 : nf;                  /* step of the next tile to be asked for */

  if (!ns) return;
  auto fetch = [&]() {
    if (fs < (t.QU ? ns : nf)) ring.put(band + (fs < nf ? f0 + fs : f1 - 1 - (fs - nf)) * t.stepsize + (fs < nf ? 0 : upper), bytes);
    fs++;
  };
  /* what step s on the way back needs besides; y of the first steps is not wanted */
  auto fetchback = [&](int s, F &dg, PetscScalar &y, PetscScalar &o) {
    const int j = PetscMax(f1 - 1 - s, range.b0);

    dg = diag[j * t.stepsize];
    y  = s >= PD && j >= f0 ? own.get(a, j) : (PetscScalar)0.0;
    o  = own.old(a, j);
  };

  for (int k = lane; k < PLACES; k += 32) sy[k] = st[k] = 0.0;
  __syncwarp();
  for (int k = 0; k < a.stages; k++) fetch();
  if (a.correct) SpikeCorrectionRHS<false>(a, range, group * t.G, column);
#pragma unroll
  for (int u = 0; u < PD; u++) {
    vec[u] = u < nf ? own.rhs(a, f0 + u) : (PetscScalar)0.0;
    fetchback(u, d[u], tile[0][0], old[u]);
  }
  if (t.QL && nf) at.template take<FULL>((const F *)ring.get(), tile[0]);
  __syncwarp();
  if (t.QL && nf) fetch();
#pragma unroll 1
  for (int s0 = 0; s0 < nf; s0 += PD) {
#pragma unroll
    for (int u = 0; u < PD; u++) {
      const int   s = s0 + u, j = f0 + s;
      PetscScalar v = vec[u];

      if (s < nf) {
        if (t.QL) {
          if (s + 1 < nf) at.template take<FULL>((const F *)ring.get(), tile[(u + 1) & 1]);
          v -= at.template times<1, true>(tile[u & 1], sy);
          if (at.active) st[at.at] = v;
          __syncwarp();
          if (s + 1 < nf) fetch();
          v += at.template times<-1, false>(tile[u & 1], st);
          if (at.active) sy[at.at] = v;
        }
        last[j & (PD - 1)][lane] = v;
        own.put(a, j, v);
        __syncwarp();
        vec[u] = s + PD < nf ? own.rhs(a, j + PD) : (PetscScalar)0.0;
      }
    }
  }
  if (a.R) SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, group * t.G, PetscMin(group * t.G + t.G, a.p1));
  if (at.active) sy[at.at] = 0.0;
  if (t.QU) at.template take<FULL>((const F *)ring.get(), tile[0]);
  __syncwarp();
  if (t.QU) fetch();
#pragma unroll 1
  for (int s0 = 0; s0 < ns - nf; s0 += PD) {
#pragma unroll
    for (int u = 0; u < PD; u++) {
      const int   s = s0 + u, j = f1 - 1 - s;
      PetscScalar v = s < PD && j >= f0 ? last[j & (PD - 1)][lane] : vec[u], w;

      if (s < ns - nf) {
        if (t.QU) {
          if (s + 1 < ns - nf) at.template take<FULL>((const F *)ring.get(), tile[(u + 1) & 1]);
          v -= at.template times<-1, true>(tile[u & 1], sy);
          if (at.active) st[at.at] = v;
          __syncwarp();
          fetch();
          w = SpikeFma((PetscScalar)d[u], v, at.template times<1, false>(tile[u & 1], st));
          if (at.active) sy[at.at] = w;
        } else w = (PetscScalar)d[u] * v;
        own.result(a, j, w, old[u]);
        __syncwarp();
        fetchback(s + PD, d[u], vec[u], old[u]);
      }
    }
  }
}

/*
  QL or QU > 1: a block for each partition, a warp for each tile of a tile row (several tiles in turn with more than 8). The warp with the corner
  tile, which holds the triangle too, adds what the others found. Numbers of the vectors and of the diagonal are asked for two steps before their use.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(256) SpikeSweepBlock_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  constexpr int          PD = 2, SLOTS = SPIKE_MAXTILES + 1;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) PetscScalar          rows[SLOTS][L::STRIDE], st[L::STRIDE]; /* y or x of the tile rows before, the right-hand side of a triangle */
  __shared__ PetscScalar                        part[8][32], last[PD][32];
  const SpikeTiles                             &t   = a.t;
  const int                                     end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const PetscInt                                p     = a.p0 + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange                              range = SpikeGetRange(a, a.correct, p, end);
  const int                                     f0 = range.f0, f1 = range.f1, nf = f1 - f0, ns = nf + f1 - range.b0, slots = PetscMax(t.QL, t.QU) + 1;
  const L                                       at(t);
  const SpikeOwner                              own(a, range, p, at.row, at.active, column, a.tips && !a.correct);
  const F                                      *band = (const F *)a.band + t.group(p), *diag = band + t.tile(t.QL + t.QU) + PetscMin(at.row, t.T - 1);
  const int                                     bytes = t.T * t.T * (int)sizeof(F);
  SpikeRing<FULL>                               ring(shared, warp, warps, a.stages, bytes);
  F                                             d[PD];
  PetscScalar                                   tile[L::COUNT], vec[PD], old[PD];
  int                                           fs = 0, fq = warp + 1; /* the next tile of the warp: step and place */

  if (!ns) return;
  auto fetch = [&]() {
    while (fs < ns && fq > (fs < nf ? t.QL : t.QU)) fs++, fq = warp + 1;
    if (fs < ns) ring.put(band + (fs < nf ? f0 + fs : f1 - 1 - (fs - nf)) * t.stepsize + t.tile((fs < nf ? 0 : t.QL) + fq - 1), bytes);
    fq += warps;
  };
  /* what step s on the way back needs besides; y of the first steps is not wanted */
  auto fetchback = [&](int s, F &dg, PetscScalar &y, PetscScalar &o) {
    const int j = PetscMax(f1 - 1 - s, range.b0);

    dg = diag[j * t.stepsize];
    y  = s >= PD && j >= f0 ? own.get(a, j) : (PetscScalar)0.0;
    o  = own.old(a, j);
  };
  /* the products of the warp's tiles but the corner's triangle, HALF of which is the corner; the result is the warp's part */
  auto products = [&](auto half, int Q, int j, int sign, int before) {
    PetscScalar sum = 0.0;

#pragma unroll 1
    for (int q = warp + 1; q <= Q; q += warps) {
      at.template take<FULL>((const F *)ring.get(), tile);
      __syncwarp();
      fetch();
      if (q > before) continue;
      const PetscScalar *x = rows[(j + sign * q) % slots];

      if (q < Q) sum += at.template times<0, false>(tile, x);
      else sum += at.template times<decltype(half)::value, true>(tile, x);
    }
    part[warp][lane] = sum;
    __syncthreads();
  };

  for (int k = threadIdx.x; k < SLOTS * L::STRIDE; k += blockDim.x) rows[0][k] = 0.0;
  for (int k = threadIdx.x; k < L::STRIDE; k += blockDim.x) st[k] = 0.0;
  __syncthreads();
  for (int k = 0; k < a.stages; k++) fetch();
  if (a.correct) SpikeCorrectionRHS<false>(a, range, p, column);
  const bool isfirst = warp == PetscMax(t.QL - 1, 0) % warps, issecond = warp == PetscMax(t.QU - 1, 0) % warps; /* has the corner on the way forward, on the way back */
#pragma unroll
  for (int u = 0; u < PD; u++) {
    vec[u] = isfirst && u < nf ? own.rhs(a, f0 + u) : (PetscScalar)0.0;
    fetchback(u, d[u], tile[0], old[u]);
  }
#pragma unroll 1
  for (int s0 = 0; s0 < nf; s0 += PD) {
#pragma unroll
    for (int u = 0; u < PD; u++) {
      const int s = s0 + u, j = f0 + s;

      if (s < nf) {
        products(std::integral_constant<int, 1>(), t.QL, j, -1, s);
        if (isfirst) {
          PetscScalar v = vec[u];

          for (int k = 0; k < warps; k++) v -= part[k][lane];
          if (t.QL) {
            if (at.active) st[at.at] = v;
            __syncwarp();
            v += at.template times<-1, false>(tile, st);
          }
          last[j & (PD - 1)][lane] = v;
          own.put(a, j, v);
          if (at.active) rows[j % slots][at.at] = v;
        }
        __syncthreads();
        vec[u] = isfirst && s + PD < nf ? own.rhs(a, j + PD) : (PetscScalar)0.0;
      }
    }
  }
  if (a.R) SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, p, p + 1);
#pragma unroll 1
  for (int s0 = 0; s0 < ns - nf; s0 += PD) {
#pragma unroll
    for (int u = 0; u < PD; u++) {
      const int s = s0 + u, j = f1 - 1 - s;

      if (s < ns - nf) {
        products(std::integral_constant<int, -1>(), t.QU, j, 1, s);
        if (issecond) {
          PetscScalar v = s < PD && j >= f0 ? last[j & (PD - 1)][lane] : vec[u], w = 0.0; /* of another warp where QL is not QU */

          for (int k = 0; k < warps; k++) v -= part[k][lane];
          if (t.QU) {
            if (at.active) st[at.at] = v;
            __syncwarp();
            w = at.template times<1, false>(tile, st);
          }
          w = SpikeFma((PetscScalar)d[u], v, w);
          own.result(a, j, w, old[u]);
          if (at.active) rows[j % slots][at.at] = w;
        }
        __syncthreads();
        if (issecond) fetchback(s + PD, d[u], vec[u], old[u]);
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
  const int Q = PetscMax(t->QL, t->QU), warps = PetscMax(1, PetscMin(Q, 8)), bytes = t->G * t->T * t->T * (int)sizeof(F);
  void     *kernel;

  if (Q <= 1) {
    SpikeDispatchBlocks(t, {
      kernel  = (void *)SpikeSweepWarp_Kernel<F, L, FULL>;
      *shared = SpikeRing<FULL>::Bytes(warps, stages, bytes);
    });
  } else {
    SpikeDispatchWide(t, {
      kernel  = (void *)SpikeSweepBlock_Kernel<F, L, FULL>;
      *shared = SpikeRing<FULL>::Bytes(warps, stages, bytes);
    });
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
