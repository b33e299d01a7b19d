/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_apply.cu: a whole apply on one rank in one launch */
#include "sweep.cuh"
#include "async.cuh"

/*
  x <- M^-1 b of design in spikeapply.c, a block of threads for each group of partitions and right-hand side:

      g = D^-1 b in its partitions; the tips at its two ends are published, those of its neighbours waited for;
      x_t <- R^-1 (g_t - Wt g_b), x_b <- g_b - Vb x_t  at the interfaces of its partitions (both blocks at an interface do this, with the same numbers);
      x = g - D^-1 [C x_b; 0; B x_t]  in its windows

  b, g, y and the correction are in shared memory: b is read once, x written once, the factors read once and a second time in the windows, the tips'
  matrices once (from the second-level cache for the second of two neighbours).

  A block takes its place by a ticket, so that all those before it are running or done: the first one that is not done waits for the next place at most, and that is
  taken as soon as two blocks (of each right-hand side) fit on the device. The launch is made only where they do. Flags count launches (epochs) and are never reset.
  The order of all sums is fixed: the same bits in every run.
*/
typedef struct {
  SpikeTiles         t;
  const void        *band;
  PetscInt           p0, p1; /* 0, np */
  const PetscScalar *b;
  PetscScalar       *x;
  PetscCount         ldb, ldx;
  PetscScalar       *tips; /* NULL: no couplings */
  PetscCount         ldt;
  const PetscScalar *B, *C, *Vb, *Wt, *R;
  const int         *window;
  int                ht, hb;
  int                rows, most; /* tile rows of shared memory for x and for corrections */
  int                nrhs;
  PetscInt           groups;
  unsigned          *sync; /* tickets, blocks that are done, epoch, then a flag for each right-hand side and group */
} SpikeApplyArgs;

/* Places for a tip in shared memory, with zeros behind it */
__host__ __device__ static inline int SpikeExchangeWidth(const SpikeTiles &t)
{
  return (PetscMax(PetscMax(t.kl, t.ku), 1) + 15) / 16 * 16;
}

/* A step: of the way back, without the products of a row before, of a correction */
enum {
  SPIKE_HERE    = 1,
  SPIKE_BACK    = 2,
  SPIKE_CORRECT = 4
};

struct SpikePlace {
  int j, offset, is, before; /* tile row, where tile row 0 of the vector lies in shared memory, bits, rows that came before */
};

/* What a block needs now and then, in shared memory */
struct SpikeBlockData {
  PetscInt   group, p;
  int        column, rows; /* tile rows */
  unsigned   epoch;
  SpikeRange top, bottom;
  int        topoffset, bottomoffset; /* where tile row 0 of the corrections lies in shared memory */

  /* tile rows of corrections, and the first and the last + 1 of x that none touches */
  __device__ int corrections() const { return top.f1 + bottom.f1 - PetscMin(bottom.f0, bottom.b0); }
  __device__ int free0() const { return top.f1; }
  __device__ int free1() const { return bottom.f1 ? PetscMax(bottom.b0, top.f1) : PetscMax(rows, top.f1); }
};

/*
  A block's place and the steps that it goes through: the sweep, the correction at the top or the whole one, the correction at the bottom. The corrections begin at
  a multiple of PD steps. Made by all threads of it.
*/
template <int PD, int V>
struct SpikeBlock {
  int             pitch, width;
  int             begin1, begin2, end; /* first steps of the corrections, last + 1 */
  int             rows, f01, f11, f02, f12, offset1, offset2;
  PetscScalar    *x, *stage; /* shared memory: x, corrections; a tile row */
  PetscScalar    *below, *above;
  SpikeBlockData &d;

  __device__ SpikeBlock(const SpikeApplyArgs &a, const SpikeLane<V> &at, unsigned char *shared, SpikeBlockData &data) : d(data)
  {
    const SpikeTiles &t = a.t;
    SpikeRange        top, bottom;

    if (!threadIdx.x) {
      const unsigned take = atomicInc(a.sync, gridDim.x - 1);

      d.epoch  = *(volatile unsigned *)(a.sync + 2) + 1;
      d.group  = (PetscInt)(take / a.nrhs);
      d.column = (int)(take % a.nrhs);
      d.p      = d.group * t.G;
    }
    __syncthreads();
    pitch  = t.G * V * at.stride;
    x      = (PetscScalar *)shared;
    stage  = x + (a.rows + a.most) * pitch;
    below  = stage + pitch + 32; /* behind a vector up to 31 places are read that do not count */
    width  = SpikeExchangeWidth(t);
    above  = below + 2 * t.G * width;
    rows   = SpikeGetRange(a, false, d.p, 0).f1;
    top.f0 = top.f1 = top.b0 = top.whole = 0;
    bottom                               = top;
    if (a.tips) {
      top    = SpikeGetRange(a, true, d.p, 0);
      bottom = SpikeGetRange(a, true, d.p, 1);
    }
    f01     = top.f0;
    f11     = top.f1;
    f02     = bottom.f0;
    f12     = bottom.f1;
    begin1  = (2 * rows + PD - 1) / PD * PD;
    begin2  = begin1 + 2 * top.f1 - top.f0 - top.b0;
    end     = begin2 + 2 * bottom.f1 - bottom.f0 - bottom.b0;
    offset1 = a.rows * pitch;
    offset2 = (a.rows + top.f1 - PetscMin(bottom.f0, bottom.b0)) * pitch;
    if (!threadIdx.x) {
      d.rows         = rows;
      d.top          = top;
      d.bottom       = bottom;
      d.topoffset    = offset1;
      d.bottomoffset = top.whole ? offset1 : offset2;
    }
    __syncthreads();
  }
  __device__ SpikePlace place(int s) const
  {
    const bool is1 = s >= begin1, is2 = s >= begin2;
    const int  f0 = is2 ? f02 : is1 ? f01 : 0, f1 = is2 ? f12 : is1 ? f11 : rows, local = s - (is2 ? begin2 : is1 ? begin1 : 0);
    const bool back = local >= f1 - f0, here = is2 ? s < end : is1 || s < 2 * rows;
    SpikePlace w;

    w.j      = back ? 2 * f1 - f0 - 1 - local : f0 + local;
    w.is     = (here ? SPIKE_HERE : 0) | (back ? SPIKE_BACK : 0) | (is1 ? SPIKE_CORRECT : 0);
    w.j      = PetscMax(w.j, 0); /* where there is no step, a tile is loaded all the same */
    w.offset = is2 ? offset2 : is1 ? offset1 : 0;
    w.before = back ? f1 - 1 - w.j : w.j - f0;
    return w;
  }
};

/* b to shared memory, zero behind the end of a partition; each warp takes its share of the tile rows */
template <int PD, int V>
__device__ static inline void SpikeGather(const SpikeApplyArgs &a, const SpikeBlock<PD, V> &s, const SpikeLane<V> &at)
{
  const PetscInt     p = s.d.p + at.m, n = at.active && p < a.p1 ? a.t.start[p + 1] - a.t.start[p] : 0;
  const PetscScalar *b = a.b + s.d.column * a.ldb + (n ? a.t.start[p] : 0);

  for (int j = threadIdx.x >> 5; j < s.rows; j += blockDim.x >> 5) {
    const PetscInt i  = (PetscInt)j * a.t.T + at.row();
    PetscScalar   *to = s.x + j * s.pitch + at.at(at.row());

    if (i < n) SpikeCopyAsync<sizeof(PetscScalar)>(to, b + i);
    else if (at.active) *to = 0.0;
  }
}

/* Rows of tile rows j0 <= j < j1 of x */
template <int PD, int V>
__device__ static inline void SpikeScatter(const SpikeApplyArgs &a, const SpikeBlock<PD, V> &s, const SpikeLane<V> &at, int j0, int j1)
{
  const PetscInt p = s.d.p + at.m, n = at.active && p < a.p1 ? a.t.start[p + 1] - a.t.start[p] : 0;
  PetscScalar   *x = a.x + s.d.column * a.ldx + (n ? a.t.start[p] : 0);

  for (int j = j0 + (threadIdx.x >> 5); j < j1; j += blockDim.x >> 5) {
    const PetscInt i = (PetscInt)j * a.t.T + at.row();

    if (i < n) x[i] = s.x[j * s.pitch + at.at(at.row())];
  }
}

/*
  v_e <- sum_c A_e(c) x_e(c), e < N, c < k_e, for rows of N matrices side by side whose columns are m_e numbers apart. x is zero behind k_e, up to a multiple of PIECE.
  Of the last matrices, if CUT, only the columns c >= cut (e = 0), c <= cut (e = 1) are read. All loads of a piece come before its products, without conditions.
*/
template <int PIECE, int N, bool CUT>
__device__ static inline void SpikePairTimes(const PetscScalar *const A[N], const int m[N], const int k[N], const PetscScalar *const x[N], int cut, PetscScalar v[N])
{
  PetscScalar odd[N];

#pragma unroll
  for (int e = 0; e < N; e++) v[e] = odd[e] = 0.0;
#pragma unroll 1
  for (int c0 = 0; c0 < PetscMax(k[0], k[N - 1]); c0 += PIECE) {
    PetscScalar w[N][PIECE];

#pragma unroll
    for (int e = 0; e < N; e++) {
#pragma unroll
      for (int i = 0; i < PIECE; i++) {
        int c = PetscMin(c0 + i, k[e] - 1);

        if (CUT) c = e ? PetscMin(c, cut) : PetscMax(c, PetscMin(cut, k[e] - 1));
        w[e][i] = A[e][c * m[e]];
      }
    }
#pragma unroll
    for (int e = 0; e < N; e++) {
      if (c0 < k[e]) {
#pragma unroll
        for (int i = 0; i < PIECE; i++) {
          const PetscScalar xi = CUT && (e ? c0 + i > cut : c0 + i < cut) ? (PetscScalar)0.0 : x[e][c0 + i];

          if (i & 1) odd[e] = SpikeFma(w[e][i], xi, odd[e]);
          else v[e] = SpikeFma(w[e][i], xi, v[e]);
        }
      }
    }
  }
#pragma unroll
  for (int e = 0; e < N; e++) v[e] += odd[e];
}

/* The lines of the tips' matrices of the block's interfaces on their way to the second-level cache */
template <int PD, int V>
__device__ static inline void SpikePrefetchTips(const SpikeApplyArgs &a, const SpikeBlock<PD, V> &s)
{
  const int      kl = a.t.kl, ku = a.t.ku, line = 128 / (int)sizeof(PetscScalar);
  const PetscInt q1 = PetscMin(s.d.p + a.t.G, a.p1); /* interfaces p <= q <= q1, one block after the other in memory */

  for (int k = 0; k < 5; k++) {
    const PetscScalar *A = k == 0 ? a.Wt : k == 1 ? a.R : k == 2 ? a.Vb : k == 3 ? a.B : a.C;
    const PetscCount   n = k == 1 || k == 3 ? (PetscCount)ku * ku : k == 4 ? (PetscCount)kl * kl : (PetscCount)kl * ku;

    for (PetscCount i = s.d.p * n + (PetscCount)threadIdx.x * line; i < (q1 + 1) * n; i += blockDim.x * line) SpikePrefetch(A + i);
  }
}

/*
  Between the sweep and the corrections: the tips at both ends of the partitions of the block solved, and what they make of the right-hand sides left for the
  corrections. Thread i works for row i % W of member i / W.
*/
template <int PD, int V, int PIECE>
__device__ static void SpikeExchange(const SpikeApplyArgs &a, const SpikeBlock<PD, V> &s, const SpikeLane<V> &at)
{
  const SpikeTiles &t  = a.t;
  const int         kl = t.kl, ku = t.ku, W = t.G > 1 ? t.T : blockDim.x, i = threadIdx.x, m = i / W, r = i % W;
  const PetscInt    behind = PetscMin(s.d.p + t.G, a.p1); /* first partition behind the block's */
  const PetscInt    p      = s.d.p + m;
  const bool        here   = m < t.G && p < a.p1;
  PetscScalar      *tips   = a.tips + s.d.column * a.ldt, v[2];
  unsigned         *flag   = a.sync + 3 + s.d.column * (PetscCount)a.groups;
  bool              need[2];
  /* row k of member mm in shared memory */
  auto where = [&](int mm, PetscInt k) { return (int)(k / t.T) * s.pitch + at.at(mm, (int)(k % t.T)); };
  auto rows  = [&](PetscInt pp) { return t.start[pp + 1] - t.start[pp]; };
  /* number k of g_b or g_t at interface q */
  auto tip = [&](PetscInt q, bool isbelow, int k) {
    const PetscInt pp = isbelow ? q - 1 : q;

    if (pp >= s.d.p && pp < behind) return s.x[where((int)(pp - s.d.p), isbelow ? rows(pp) - kl + k : k)];
    return SpikeLoadFresh(tips + q * (PetscCount)(kl + ku) + (isbelow ? k : kl + k));
  };

  if (s.d.p > 0 && t.active[s.d.p]) {
    for (int k = i; k < ku; k += blockDim.x) tips[s.d.p * (PetscCount)(kl + ku) + kl + k] = tip(s.d.p, false, k);
  }
  if (behind < t.np && t.active[behind]) {
    for (int k = i; k < kl; k += blockDim.x) tips[behind * (PetscCount)(kl + ku) + k] = tip(behind, true, k);
  }
  __syncthreads();
  if (!i) SpikePublish(flag + s.d.group, s.d.epoch);
  __syncwarp(); /* published before anyone of this warp waits */
  for (int k = i; k < s.d.corrections() * s.pitch; k += blockDim.x) s.x[a.rows * s.pitch + k] = 0.0;
  for (int k = i; k < 4 * t.G * s.width; k += blockDim.x) s.below[k] = 0.0; /* above is behind it */
  SpikeScatter(a, s, at, s.d.free0(), s.d.free1());
  if (i == 0 && s.d.p > 0 && t.active[s.d.p]) SpikeAwait(flag + s.d.group - 1, s.d.epoch);
  if (i == 1 && behind < t.np && t.active[behind]) SpikeAwait(flag + s.d.group + 1, s.d.epoch);
  __syncthreads();
  for (int e = 0; e < 2; e++) {
    const PetscInt q = p + e;

    need[e] = here && q > 0 && q < t.np && t.active[q] && a.window[2 * p + e];
    if (need[e] && r < kl) s.below[(e * t.G + m) * s.width + r] = tip(q, true, r);
    if (need[e] && r < ku) s.above[(e * t.G + m) * s.width + r] = tip(q, false, r);
  }
  __syncthreads();
  /* rows of the matrices of the two interfaces, of an existing one where there is nothing to do */
  const PetscInt     pp = here ? p : s.d.p;
  const int          rl = PetscMin(r, PetscMax(kl - 1, 0)), ru = PetscMin(r, PetscMax(ku - 1, 0));
  const PetscCount   small    = (PetscCount)kl * ku;
  PetscScalar *const below[2] = {s.below + (here ? m : 0) * s.width, s.below + (t.G + (here ? m : 0)) * s.width}, *const above[2] = {s.above + (here ? m : 0) * s.width, s.above + (t.G + (here ? m : 0)) * s.width};

  if (kl && ku) {
    const PetscScalar *const A[2] = {a.Wt + pp * small + ru, a.Wt + (pp + 1) * small + ru};
    const int                M[2] = {ku, ku}, k[2] = {kl, kl};

    SpikePairTimes<PIECE, 2, false>(A, M, k, below, 0, v);
    for (int e = 0; e < 2; e++)
      if (here && r < ku) above[e][r] -= v[e]; /* read by others behind the barrier only */
  }
  __syncthreads();
  if (ku) {
    const PetscScalar *const A[2] = {a.R + pp * (PetscCount)ku * ku + ru, a.R + (pp + 1) * (PetscCount)ku * ku + ru};
    const int                M[2] = {ku, ku}, k[2] = {ku, ku};

    SpikePairTimes<PIECE, 2, false>(A, M, k, above, 0, v);
  }
  __syncthreads();
  for (int e = 0; e < 2; e++)
    if (here && r < ku) above[e][r] = v[e];
  __syncthreads();
  if (kl && ku) {
    const PetscScalar *const A[1] = {a.Vb + pp * small + rl};
    const int                M[1] = {kl}, k[1] = {ku};

    SpikePairTimes<PIECE, 1, false>(A, M, k, above, 0, v);
    if (here && r < kl) below[0][r] -= v[0];
  }
  __syncthreads();
  {
    const PetscScalar *const A[2] = {a.C + (kl ? pp * (PetscCount)kl * kl + rl : 0), a.B + (ku ? (pp + 1) * (PetscCount)ku * ku + ru : 0)}, *const xy[2] = {below[0], above[1]};
    const int M[2] = {kl, ku}, k[2] = {kl, ku};

    if (kl && ku) SpikePairTimes<PIECE, 2, true>(A, M, k, xy, r, v);
    else if (kl) SpikePairTimes<PIECE, 1, false>(A, M, k, xy, r, v);
    else if (ku) SpikePairTimes<PIECE, 1, false>(A + 1, M + 1, k + 1, xy + 1, r, v + 1);
  }
  if (need[0] && r < kl) s.x[s.d.topoffset + where(m, r)] = v[0];
  __syncthreads();
  if (need[1] && r < ku) s.x[s.d.bottomoffset + where(m, rows(p) - ku + r)] += v[1];
  __syncthreads();
}

/* The last block to leave opens the next epoch */
__device__ static inline void SpikeLeave(const SpikeApplyArgs &a, unsigned epoch)
{
  if (!threadIdx.x && atomicInc(a.sync + 1, gridDim.x - 1) == gridDim.x - 1) *(volatile unsigned *)(a.sync + 2) = epoch;
}

/* Masks of the columns in a lane's rows of a corner tile: [way back][0 the corner, 1 the triangle], none where there is no tile */
template <int V>
__device__ static inline void SpikeMasks(const SpikeTiles &t, const SpikeLane<V> &at, unsigned mask[2][2][V])
{
#pragma unroll
  for (int v = 0; v < V; v++) {
    mask[0][0][v] = t.QL ? at.mask(v, false, true) : 0;
    mask[0][1][v] = t.QL ? at.mask(v, true, false) : 0;
    mask[1][0][v] = t.QU ? at.mask(v, true, true) : 0;
    mask[1][1][v] = t.QU ? at.mask(v, false, false) : 0;
  }
}

/* QL, QU <= 1: a warp for each group of partitions. PD tiles are on their way or in use. */
template <typename F, int TMAX, int V, bool FULL>
__global__ void __launch_bounds__(32, TMAX == 32 ? 8 : 10) SpikeApplyWarp_Kernel(const __grid_constant__ SpikeApplyArgs a)
{
  constexpr int     CMAX = TMAX / V, BYTES = TMAX * (int)sizeof(F), PD = BYTES > 256 ? 1 : BYTES > 64 ? 2 : 4, PIECE = sizeof(PetscScalar) > 8 || TMAX < 32 ? 8 : 16;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ SpikeBlockData                     data;
  const SpikeTiles                             &t = a.t;
  const SpikeLane<V>                            at(t);
  const SpikeBlock<PD, V>                       block(a, at, shared, data);
  const F                                      *band = (const F *)a.band + t.group(block.d.p) + at.first(t);
  const F                                      *diag = (const F *)a.band + t.group(block.d.p) + t.tile(t.QL + t.QU) + at.m * t.T + at.row();
  const int                                     next = t.G * t.T, pitch = block.pitch, mine = at.at(at.row()), piece = at.piece();
  const PetscInt64                              upper  = t.tile(t.QL);
  const bool                                    active = at.active;
  unsigned                                      mask[2][2][V];
  F                                             tile[PD][TMAX], d[PD];
  SpikePlace                                    place[PD];

  SpikeMasks(t, at, mask);
  auto fetch = [&](int s, SpikePlace &w, F *tl, F &dg) {
    w = block.place(s);
    SpikeTileLoad<F, V, CMAX, FULL>(band + w.j * t.stepsize + (w.is & SPIKE_BACK ? upper : 0), next, at.C, tl);
    dg = diag[w.is & SPIKE_BACK ? w.j * t.stepsize : 0];
  };

#pragma unroll
  for (int u = 0; u < PD; u++) fetch(u, place[u], tile[u], d[u]);
  SpikeGather(a, block, at);
  SpikeCopyWait();
  __syncwarp();
#pragma unroll 1
  for (int phase = 0; phase < 2; phase++) {
    const int end = phase ? block.end : block.begin1;

#pragma unroll 1
    for (int s0 = phase ? block.begin1 : 0; s0 < end; s0 += PD) {
      if (!phase && a.tips && s0 == PetscMax(end - 8, 0)) SpikePrefetchTips(a, block);
#pragma unroll
      for (int u = 0; u < PD; u++) {
        const SpikePlace w    = place[u];
        const bool       back = w.is & SPIKE_BACK, first = !w.before;

        if (w.is & SPIKE_HERE) {
          PetscScalar *y = block.x + w.offset + w.j * pitch;
          unsigned     use[V];
          PetscScalar  sum[V], v = y[mine], z;

#pragma unroll
          for (int i = 0; i < V; i++) {
            use[i] = first ? 0 : back ? mask[1][0][i] : mask[0][0][i];
            sum[i] = 0.0;
          }
          SpikeTileTimes<F, V, CMAX>(tile[u], (first ? y : y + (back ? pitch : -pitch)) + piece, use, sum);
          v -= at.collect(sum);
          if (active) block.stage[mine] = v;
          __syncwarp();
#pragma unroll
          for (int i = 0; i < V; i++) {
            use[i] = back ? mask[1][1][i] : mask[0][1][i];
            sum[i] = 0.0;
          }
          SpikeTileTimes<F, V, CMAX>(tile[u], block.stage + piece, use, sum);
          z = at.collect(sum);
          z = back ? SpikeFma((PetscScalar)d[u], v, z) : z + v;
          if (active) {
            y[mine] = z;
            if (back && (w.is & SPIKE_CORRECT)) block.x[w.j * pitch + mine] -= z;
          }
          __syncwarp();
        }
        fetch(s0 + u + PD, place[u], tile[u], d[u]);
      }
    }
    if (!phase && a.tips) SpikeExchange<PD, V, PIECE>(a, block, at);
  }
  if (a.tips) {
    SpikeScatter(a, block, at, 0, block.d.free0());
    SpikeScatter(a, block, at, block.d.free1(), block.rows);
  } else SpikeScatter(a, block, at, 0, block.rows);
  SpikeLeave(a, block.d.epoch);
}

/*
  QL or QU > 1: a block for each partition, a warp for each tile of a tile row. The warp with the corner tile, which holds the triangle too, adds what the
  others found.
*/
template <typename F, int V, bool FULL>
__global__ void __launch_bounds__(256) SpikeApplyBlock_Kernel(const __grid_constant__ SpikeApplyArgs a)
{
  constexpr int     TMAX = 32, CMAX = TMAX / V, BYTES = TMAX * (int)sizeof(F), PD = BYTES > 256 ? 1 : 2, PIECE = sizeof(PetscScalar) > 8 ? 8 : 16;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ PetscScalar                        part[2][8][32];
  __shared__ SpikeBlockData                     data;
  const SpikeTiles                             &t    = a.t;
  const int                                     lane = threadIdx.x & 31, warp = threadIdx.x >> 5, q = warp + 1;
  const SpikeLane<V>                            at(t);
  const SpikeBlock<PD, V>                       block(a, at, shared, data);
  const F                                      *band  = (const F *)a.band + t.group(block.d.p) + at.first(t);
  const F                                      *diag  = (const F *)a.band + t.group(block.d.p) + t.tile(t.QL + t.QU) + at.row();
  const int                                     pitch = block.pitch, mine = at.at(at.row()), piece = at.piece(), chief[2] = {PetscMax(t.QL - 1, 0), PetscMax(t.QU - 1, 0)};
  const PetscInt64                              lower = t.tile(PetscMin(warp, chief[0])), upper = t.tile(t.QL + PetscMin(warp, chief[1]));
  const bool                                    active = at.active;
  unsigned                                      mask[2][2][V], full[V];
  F                                             tile[PD][TMAX], d[PD];
  SpikePlace                                    place[PD];

  SpikeMasks(t, at, mask);
#pragma unroll
  for (int v = 0; v < V; v++) full[v] = at.full();
  auto fetch = [&](int s, SpikePlace &w, F *tl, F &dg) {
    w = block.place(s);
    SpikeTileLoad<F, V, CMAX, FULL>(band + w.j * t.stepsize + (w.is & SPIKE_BACK ? upper : lower), t.T, at.C, tl);
    dg = diag[(w.is & SPIKE_BACK) && warp == chief[1] ? w.j * t.stepsize : 0];
  };

#pragma unroll
  for (int u = 0; u < PD; u++) fetch(u, place[u], tile[u], d[u]);
  SpikeGather(a, block, at);
  SpikeCopyWait();
  __syncthreads();
#pragma unroll 1
  for (int phase = 0; phase < 2; phase++) {
    const int end = phase ? block.end : block.begin1;

#pragma unroll 1
    for (int s0 = phase ? block.begin1 : 0; s0 < end; s0 += PD) {
      if (!phase && a.tips && s0 == PetscMax(end - 8, 0)) SpikePrefetchTips(a, block);
#pragma unroll
      for (int u = 0; u < PD; u++) {
        const SpikePlace w     = place[u];
        const bool       back  = w.is & SPIKE_BACK;
        const int        first = back ? chief[1] : chief[0];

        if (w.is & SPIKE_HERE) {
          PetscScalar *y = block.x + w.offset + w.j * pitch, sum[V], v = 0.0;
          unsigned     use[V];

          if (warp == first) v = y[mine];
#pragma unroll
          for (int i = 0; i < V; i++) {
            use[i] = warp < first ? full[i] : back ? mask[1][0][i] : mask[0][0][i];
            sum[i] = 0.0;
          }
          if (warp <= first && q <= w.before) SpikeTileTimes<F, V, CMAX>(tile[u], y + (back ? q : -q) * pitch + piece, use, sum);
          v -= at.collect(sum);
          if (warp != first) part[back][warp][lane] = v;
          __syncthreads();
          if (warp == first) {
            PetscScalar z;

            for (int k = 0; k < first; k++) v += part[back][k][lane];
            if (active) block.stage[mine] = v;
            __syncwarp();
#pragma unroll
            for (int i = 0; i < V; i++) {
              use[i] = back ? mask[1][1][i] : mask[0][1][i];
              sum[i] = 0.0;
            }
            SpikeTileTimes<F, V, CMAX>(tile[u], block.stage + piece, use, sum);
            z = at.collect(sum);
            z = back ? SpikeFma((PetscScalar)d[u], v, z) : z + v;
            if (active) {
              y[mine] = z;
              if (back && (w.is & SPIKE_CORRECT)) block.x[w.j * pitch + mine] -= z;
            }
          }
          if (warp != first) fetch(s0 + u + PD, place[u], tile[u], d[u]);
          __syncthreads();
          if (warp == first) fetch(s0 + u + PD, place[u], tile[u], d[u]);
        } else fetch(s0 + u + PD, place[u], tile[u], d[u]);
      }
    }
    if (!phase && a.tips) SpikeExchange<PD, V, PIECE>(a, block, at);
  }
  if (a.tips) {
    SpikeScatter(a, block, at, 0, block.d.free0());
    SpikeScatter(a, block, at, block.d.free1(), block.rows);
  } else SpikeScatter(a, block, at, 0, block.rows);
  SpikeLeave(a, block.d.epoch);
}

template <typename F>
static void SpikeApplyChoose_Private(const SpikeTiles *t, SpikeApplyPlan *plan)
{
  typedef SpikeRows<F, 32> Rows;

  if (PetscMax(t->QL, t->QU) <= 1) {
    SpikeDispatchRows(t, F, {
      plan->kernel = (void *)SpikeApplyWarp_Kernel<F, TMAX, V, FULL>;
      plan->pitch  = SpikeLane<V>::Pitch(*t);
    });
  } else if (t->T == 32) {
    plan->kernel = (void *)SpikeApplyBlock_Kernel<F, Rows::wide, true>;
    plan->pitch  = SpikeLane<Rows::wide>::Pitch(*t);
  } else {
    plan->kernel = (void *)SpikeApplyBlock_Kernel<F, Rows::narrow, false>;
    plan->pitch  = SpikeLane<Rows::narrow>::Pitch(*t);
  }
}

/* Most tile rows that a group's corrections need: the ranges of SpikeGetRange() */
static int SpikeApplyMost_Private(const SpikeBand *s, const SpikeTiles *t, int *rows)
{
  int most = 0;

  *rows = 0;
  for (PetscInt p = 0; p < s->np; p += t->G) {
    int f1 = 0, above, f0, top = 0;

    for (PetscInt k = p; k < PetscMin(p + t->G, s->np); k++) f1 = PetscMax(f1, (int)((s->start[k + 1] - s->start[k] + t->T - 1) / t->T));
    above = f0 = f1;
    for (PetscInt k = p; k < PetscMin(p + t->G, s->np); k++) {
      const PetscInt n = s->start[k + 1] - s->start[k];

      if (s->active[k] && t->kl) top = PetscMax(top, (int)((s->wtop[k] + t->T - 1) / t->T));
      if (s->active[k + 1] && t->ku && s->wbot[k]) {
        above = PetscMin(above, (int)((n - s->wbot[k]) / t->T));
        f0    = PetscMin(f0, (int)((n - t->ku) / t->T));
      }
    }
    most  = PetscMax(most, top > above ? f1 : top + f1 - PetscMin(above, f0));
    *rows = PetscMax(*rows, f1);
  }
  return most;
}

/*
  Whether and how an apply is one launch; after the windows have changed. It is where the vectors of a block fit in shared memory, without keeping blocks from running that registers
  have room for and there is work for; and where tiles are at most 8 side by side. It is made with -spike_cuda_one_launch (without a prefix, for all solvers).
*/
PetscErrorCode SpikeApplyPlan_CUDA(SpikeBand *s)
{
  SpikeCUDA        *h        = (SpikeCUDA *)s->data;
  const SpikeTiles *t        = &h->t;
  SpikeApplyPlan   *plan     = &h->apply;
  PetscBool         together = PETSC_FALSE;
  SpikeApplyPlan    before   = *plan;
  int               resident, free, Q = PetscMax(t->QL, t->QU), wanted;

  PetscFunctionBegin;
  plan->kernel = NULL;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spike_cuda_one_launch", &together, NULL));
  if (together && s->n && Q <= 8) {
    SpikeDispatchPrecision(s->precision, SpikeApplyChoose_Private<F>(t, plan));
    plan->threads = 32 * PetscMax(Q, 1);
    plan->most    = s->coupled ? SpikeApplyMost_Private(s, t, &plan->rows) : (SpikeApplyMost_Private(s, t, &plan->rows), 0);
    plan->shared  = ((size_t)(plan->rows + plan->most + 1) * plan->pitch + 32 + 4 * t->G * SpikeExchangeWidth(*t)) * sizeof(PetscScalar);
    if (plan->shared + 8192 > h->sharedmemory) plan->kernel = NULL;
    else {
      PetscCallCUDA(cudaFuncSetAttribute(plan->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)plan->shared));
      PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, plan->kernel, plan->threads, plan->shared));
      PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&free, plan->kernel, plan->threads, 0));
      wanted         = (int)PetscMin((t->groups() + h->multiprocessors - 1) / h->multiprocessors, free);
      plan->resident = resident * h->multiprocessors;
      if (4 * resident < 3 * wanted) plan->kernel = NULL;
    }
  }
  if (plan->kernel != before.kernel || plan->rows != before.rows || plan->most != before.most || plan->shared != before.shared) s->launches++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words of SpikeApplyArgs.sync */
PetscCount SpikeApplySync_CUDA(const SpikeTiles *t, PetscInt maxrhs)
{
  return 3 + (PetscCount)t->groups() * maxrhs;
}

/* x <- M^-1 b, nrhs columns, where all interfaces are inside the rank; done tells whether it was: sweep(), solvetips() and correct() do it otherwise */
PetscErrorCode SpikeApply_CUDA(SpikeBand *s, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx, PetscBool *done)
{
  const SpikeCUDA      *h    = (const SpikeCUDA *)s->data;
  const SpikeApplyPlan *plan = &h->apply;
  SpikeApplyArgs        a    = {};
  void                 *args = &a;

  PetscFunctionBegin;
  *done = (PetscBool)(plan->kernel && nrhs > 0 && nrhs < plan->resident && (!s->coupled || (!s->active[0] && !s->active[s->np])));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  a.t      = h->t;
  a.band   = s->band;
  a.p1     = s->np;
  a.b      = b;
  a.ldb    = ldb;
  a.x      = x;
  a.ldx    = ldx;
  a.tips   = s->coupled ? s->dtips : NULL;
  a.ldt    = (PetscCount)(s->np + 1) * (s->kl + s->ku);
  a.B      = s->dB;
  a.C      = s->dC;
  a.Vb     = s->dVb;
  a.Wt     = s->dWt;
  a.R      = s->dR;
  a.window = h->window;
  a.ht     = (int)s->kl;
  a.hb     = (int)s->ku;
  a.rows   = plan->rows;
  a.most   = plan->most;
  a.nrhs   = (int)nrhs;
  a.groups = h->t.groups();
  a.sync   = h->sync;
  PetscCallCUDA(cudaLaunchKernel(plan->kernel, dim3((unsigned)(a.groups * nrhs)), dim3((unsigned)plan->threads), &args, plan->shared, (cudaStream_t)s->stream));
  PetscCall(PetscLogGpuFlops(nrhs * (2.0 * s->kl + 2.0 * s->ku + 1.0) * (s->n + (s->coupled ? h->windowrows : 0.0))));
  if (s->coupled) PetscCall(PetscLogGpuFlops((s->np - 1.0) * nrhs * (4.0 * s->kl * s->ku + 2.0 * s->ku * s->ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
