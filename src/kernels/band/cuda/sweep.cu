/* SPDX-License-Identifier: BSD-2-Clause */
/*
  sweep.cu: sweeps with the factors, plain and transposed, for whole partitions and for the windows of the corrections
*/
#include "sweep.cuh"
#include "sweep_resident.cuh"

/*
  Bytes: (QL + QU) T + 1 factors, once, and 4 scalars (b, y twice, x) a row and right-hand side. Tiles are copied to
  shared memory some steps before their use. The order of all sums is fixed: each run gives the same bits.
*/

/* bytes of reduced systems that the L2 cache keeps from the sweep to the solve */
#define SPIKE_SWEEP_AHEAD 2.5e7

/* What step s on the way back needs besides tiles: U_jj^-1's diagonal, y, except in the first PD steps, and old x */
template <int PD, typename F>
__device__ static __forceinline__ void SpikeSweepFetch(const SpikeSweepArgs &a, const SpikeRange &range,
                                                       const SpikeOwner &own, const F *diag, int s, F &d,
                                                       PetscScalar &y, PetscScalar &old)
{
  const int j = PetscMax(range.f1 - 1 - s, range.b0);

  d   = diag[j * a.t.rowsize];
  y   = s >= PD && j >= range.f0 ? own.get(a, j) : (PetscScalar)0.0;
  old = own.old(a, j);
}

/*
  QL, QU <= 1, partitions too long for sweep_resident.cuh: a warp for each group of partitions. Vectors and diagonals
  are loaded PD steps before their use. The y of the last PD steps forward is not in memory by then: it comes from
  `last`.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(32, 1) SpikeSweepWarp_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  constexpr int     PD = L::SIDEBLOCKS > 1 ? 2 : 4, NPLACES = (L::J > 1 ? 2 : 32) * L::STRIDE;
  extern __shared__ __align__(16) unsigned char shared[];
  /* y or x of the step before, the right-hand side of a triangle */
  __shared__ __align__(16) PetscScalar sy[NPLACES], st[NPLACES];
  __shared__ PetscScalar               last[PD][32];
  const SpikeTiles                    &t   = a.t;
  const int                            end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x;
  const PetscInt                       group = a.p0 / t.G + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange                     range = SpikeGetRange(a, a.correct, group * t.G, end);
  const int                            f0 = range.f0, f1 = range.f1, nf = f1 - f0, ns = nf + f1 - range.b0;
  const L                              at(t);
  const SpikeOwner own(a, range, group * t.G + at.m, at.row, at.active, column, a.tips && !a.correct);
  const F         *band  = (const F *)a.band + t.group(group * t.G),
          *diag          = band + t.tile(t.QL + t.QU) + at.m * t.T + PetscMin(at.row, t.T - 1);
  const int        bytes = at.next * t.T * (int)sizeof(F);
  const PetscInt64 upper = t.tile(t.QL);
  SpikeRing<FULL>  ring(shared, 0, 1, a.depth, bytes);
  F                d[PD];
  PetscScalar      tile[2][L::COUNT], vec[PD], old[PD]; /* tiles of this step and the next */
  int              fs = t.QL ? 0 : nf;                  /* step of the next tile to be asked for */

  if (!ns) {
    SpikeAwait();
    return;
  }
  auto fetch = [&]() {
    if (fs < (t.QU ? ns : nf))
      ring.put(band + (fs < nf ? f0 + fs : f1 - 1 - (fs - nf)) * t.rowsize + (fs < nf ? 0 : upper), bytes);
    fs++;
  };

  for (int k = lane; k < NPLACES; k += 32) sy[k] = st[k] = 0.0;
  __syncwarp();
  for (int k = 0; k < a.depth; k++) fetch();
  SpikeAwait();
  if (a.correct)
    SpikeCorrectionRHS<false>(a, range, group * t.G, column, [&](int m, PetscInt row) {
      return a.y + column * a.ldy + t.start[group * t.G + m] + row;
    });
  SpikeUnroll(u, PD) {
    vec[u] = u < nf ? own.rhs(a, f0 + u) : (PetscScalar)0.0;
    SpikeSweepFetch<PD>(a, range, own, diag, u, d[u], tile[0][0], old[u]);
  }
  if (t.QL && nf) at.template take<FULL>((const F *)ring.get(), tile[0]);
  __syncwarp();
  if (t.QL && nf) fetch();
#pragma unroll 1
  for (int s0 = 0; s0 < nf; s0 += PD) {
    SpikeUnroll(u, PD) {
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
  if (at.active) sy[at.at] = 0.0;
  if (t.QU) at.template take<FULL>((const F *)ring.get(), tile[0]);
  __syncwarp();
  if (t.QU) fetch();
#pragma unroll 1
  for (int s0 = 0; s0 < ns - nf; s0 += PD) {
    SpikeUnroll(u, PD) {
      const int   s = s0 + u, j = f1 - 1 - s;
      PetscScalar v = s < PD && j >= f0 ? last[j & (PD - 1)][lane] : vec[u], w;

      if (s == PetscMax(ns - nf - SPIKE_SWEEP_LAST, 0))
        SpikeSweepEnds(a, group * t.G, PetscMin(group * t.G + t.G, a.p1));
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
        SpikeSweepFetch<PD>(a, range, own, diag, s + PD, d[u], vec[u], old[u]);
      }
    }
  }
}

/*
  QL or QU > 1: a thread block for each partition, a warp for each tile of a tile row (above 8 tiles, several in turn).
  Tiles without entries, SpikeTiles.own, are left out.
  The warp with the corner tile, which holds the triangle too, adds the products of the others. Vectors and diagonals
  are loaded two steps before their use.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(256) SpikeSweepThreadBlock_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  constexpr int     PD = 2, NSLOTS = SPIKE_MAXTILES + 1;
  extern __shared__ __align__(16) unsigned char shared[];
  /* y or x of the tile rows before, the right-hand side of a triangle */
  __shared__ __align__(16) PetscScalar rows[NSLOTS][L::STRIDE], st[L::STRIDE];
  __shared__ PetscScalar               part[8][32], last[PD][32];
  const SpikeTiles                    &t = a.t;
  const int end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5,
            warps        = blockDim.x >> 5;
  const PetscInt   p     = a.p0 + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const int        below = t.below(p), above = t.above(p);
  const SpikeRange range = SpikeGetRange(a, a.correct, p, end);
  const int f0 = range.f0, f1 = range.f1, nf = f1 - f0, ns = nf + f1 - range.b0, slots = PetscMax(t.QL, t.QU) + 1;
  const L   at(t);
  const SpikeOwner own(a, range, p, at.row, at.active, column, a.tips && !a.correct);
  const F        *band = (const F *)a.band + t.group(p), *diag = band + t.tile(t.QL + t.QU) + PetscMin(at.row, t.T - 1);
  const int       bytes = t.T * t.T * (int)sizeof(F);
  SpikeRing<FULL> ring(shared, warp, warps, a.depth, bytes);
  F               d[PD];
  PetscScalar     tile[L::COUNT], vec[PD], old[PD];
  int             fs = 0, fq = warp + 1; /* the next tile of the warp: step and place */

  if (!ns) return SpikeAwait();
  auto fetch = [&]() {
    for (; fs < ns; fs++, fq = warp + 1)
      if ((fq = SpikeTileFrom(fq, warps, fs < nf ? below : above, fs < nf ? t.QL : t.QU)) <= (fs < nf ? t.QL : t.QU))
        break;
    if (fs < ns)
      ring.put(band + (fs < nf ? f0 + fs : f1 - 1 - (fs - nf)) * t.rowsize + t.tile((fs < nf ? 0 : t.QL) + fq - 1),
               bytes);
    fq += warps;
  };
  /* part[warp] <- products of the warp's tiles; of the last one, Q, without its triangle, the half that couples */
  auto products = [&](auto half, int some, int Q, int j, int sign, int before) {
    PetscScalar sum = 0.0;

#pragma unroll 1
    for (int q = SpikeTileFrom(warp + 1, warps, some, Q); q <= Q; q = SpikeTileFrom(q + warps, warps, some, Q)) {
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

  for (int k = threadIdx.x; k < NSLOTS * L::STRIDE; k += blockDim.x) rows[0][k] = 0.0;
  for (int k = threadIdx.x; k < L::STRIDE; k += blockDim.x) st[k] = 0.0;
  __syncthreads();
  for (int k = 0; k < a.depth; k++) fetch();
  SpikeAwait();
  if (a.correct)
    SpikeCorrectionRHS<false>(a, range, p, column,
                              [&](int, PetscInt row) { return a.y + column * a.ldy + t.start[p] + row; });
  /* has the corner on the way forward, on the way back */
  const bool isfirst = warp == PetscMax(t.QL - 1, 0) % warps, issecond = warp == PetscMax(t.QU - 1, 0) % warps;
  SpikeUnroll(u, PD) {
    vec[u] = isfirst && u < nf ? own.rhs(a, f0 + u) : (PetscScalar)0.0;
    SpikeSweepFetch<PD>(a, range, own, diag, u, d[u], tile[0], old[u]);
  }
#pragma unroll 1
  for (int s0 = 0; s0 < nf; s0 += PD) {
    SpikeUnroll(u, PD) {
      const int s = s0 + u, j = f0 + s;

      if (s < nf) {
        products(std::integral_constant<int, 1>(), below, t.QL, j, -1, s);
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
#pragma unroll 1
  for (int s0 = 0; s0 < ns - nf; s0 += PD) {
    SpikeUnroll(u, PD) {
      const int s = s0 + u, j = f1 - 1 - s;

      if (s == PetscMax(ns - nf - SPIKE_SWEEP_LAST, 0)) SpikeSweepEnds(a, p, p + 1);
      if (s < ns - nf) {
        products(std::integral_constant<int, -1>(), above, t.QU, j, 1, s);
        if (issecond) {
          /* of another warp where QL is not QU */
          PetscScalar v = s < PD && j >= f0 ? last[j & (PD - 1)][lane] : vec[u], w = 0.0;

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
        if (issecond) SpikeSweepFetch<PD>(a, range, own, diag, s + PD, d[u], vec[u], old[u]);
      }
    }
  }
}

/*
  Transposed: a thread block for each group of partitions, warps in turn for the tiles. Lane l owns column l % T of
  member l / T and reads it from top to bottom. The halves of a corner tile are read at two different steps.
*/
template <typename F>
__global__ void __launch_bounds__(256) SpikeSweepTranspose_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  __shared__ PetscScalar ring[SPIKE_MAXTILES + 1][32], st[32], part[8][32];
  const SpikeTiles      &t = a.t;
  const int T = t.T, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const PetscInt   group  = a.p0 / t.G + blockIdx.x;
  const bool       active = lane < T * t.G;
  const int        m = active ? lane / T : 0, c = active ? lane % T : 0;
  const SpikeRange range = SpikeGetRange(a, a.correct, group * t.G, 0);
  const int        nf = range.f1 - range.f0, ns = nf + range.f1 - range.b0, slots = PetscMax(t.QL, t.QU) + 1;
  const SpikeOwner own(a, range, group * t.G + m, c, active, column, false);
  const F         *band = (const F *)a.band + t.group(group * t.G) + ((PetscInt64)c * t.G + m) * T;
  const F         *diag = (const F *)a.band + t.group(group * t.G) + t.tile(t.QL + t.QU) + m * T + c;

  if (!ns) return;
  if (a.correct)
    SpikeCorrectionRHS<true>(a, range, group * t.G, column, [&](int m, PetscInt row) {
      return a.y + column * a.ldy + t.start[group * t.G + m] + row;
    });
  for (int s = 0; s < ns; s++) {
    const bool back = s >= nf;
    const int  j = back ? range.f1 - 1 - (s - nf) : range.f0 + s, Q = back ? t.QL : t.QU, tile0 = back ? 0 : t.QL,
              some = back ? t.below(group * t.G) : t.above(group * t.G);
    PetscScalar v = 0.0, old = 0.0;
    F           d = 1.0;

    if (!warp) {
      v   = back ? (j >= range.f0 ? own.get(a, j) : (PetscScalar)0.0) : own.rhs(a, j);
      old = back ? own.old(a, j) : (PetscScalar)0.0;
      if (!back && active) d = diag[j * t.rowsize];
    }
    /* U^T forward: tiles above the diagonal, of the rows before; L^T backward: tiles below it, of the rows after */
    PetscScalar sum = 0.0;

    for (int q = warp + 1; q <= Q; q += warps) {
      const int neighbour = back ? j + q : j - q;

      if (active && (q <= some || q == Q) && (back ? neighbour < range.f1 : neighbour >= range.f0)) {
        const F           *A = band + neighbour * t.rowsize + t.tile(tile0 + q - 1);
        const PetscScalar *x = ring[neighbour % slots] + m * T;
        /* the half of the corner that couples */
        const int r0 = q == Q && !back ? c : 0, r1 = q == Q && back ? c + 1 : T;

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
        const F  *A  = band + j * t.rowsize + t.tile(tile0 + Q - 1);
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
    const PetscScalar *x = top ? g : g + n - ku,
                      *A = (top ? a.C + p * (PetscCount)h * h : a.B + (p + 1) * (PetscCount)h * h) + (PetscCount)k * h;
    PetscScalar v        = 0.0;

    if (!t.active[top ? p : p + 1]) continue;
    for (int r = lane; r < h; r += 32) v = SpikeFma(A[r], x[r], v);
    v = SpikeWarpSum(v);
    if (!lane) tip[top ? k : 2 * kl + ku + k] = v;
  }
}

static int SpikeSweepThreads_Private(const SpikeTiles *t, bool resident)
{
  const int Q = PetscMax(t->QL, t->QU);

  return 32 * (PetscMax(1, PetscMin(Q, 8)) + (resident && Q > 1));
}

/*
  A kernel of plain sweeps with tiles t, of vectors in shared memory or not, and bytes of the rings of a block with so
  many slots
*/
template <typename F>
static void *SpikeSweepKernel_Private(const SpikeTiles *t, bool resident, int depth, size_t *shared)
{
  const int Q = PetscMax(t->QL, t->QU), warps = PetscMax(1, PetscMin(Q, 8)), tile = t->G * t->T * t->T * (int)sizeof(F),
            diagonal = t->G * t->T * (int)sizeof(F);
  void *kernel;

  if (Q <= 1) {
    SpikeDispatchTile(t, {
      if (resident) kernel = (void *)SpikeSweepResident_Kernel<F, L, FULL>;
      else kernel = (void *)SpikeSweepWarp_Kernel<F, L, FULL>;
      *shared = SpikeRing<FULL>::RingBytes(warps, depth, tile + (resident ? diagonal : 0));
    });
  } else {
    SpikeDispatchWide(t, {
      if (resident) kernel = (void *)SpikeSweepResidentThreadBlock_Kernel<F, L, FULL>;
      else kernel = (void *)SpikeSweepThreadBlock_Kernel<F, L, FULL>;
      *shared = SpikeRing<FULL>::RingBytes(warps, depth, tile + (resident ? diagonal : 0));
    });
  }
  return kernel;
}

/* Whether the plain sweep has room for a slot of its rings */
PetscErrorCode SpikeSweepHolds_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, PetscBool *holds)
{
  cudaFuncAttributes attributes;
  size_t             shared = 0;
  void              *kernel = NULL;

  PetscFunctionBegin;
  *holds = PETSC_FALSE;
  if (PetscMax(t->QL, t->QU) > SPIKE_MAXTILES) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeDispatchPrecision(s->precision, kernel = SpikeSweepKernel_Private<F>(t, false, 1, &shared));
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  *holds = (PetscBool)(attributes.sharedSizeBytes + shared <= (size_t)gpu->shared);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets the kernels of plain sweeps have all of the shared memory */
PetscErrorCode SpikeSweepPrepare_CUDA(SpikeBand *s)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  if (PetscMax(h->t.QL, h->t.QU) > SPIKE_MAXTILES) PetscFunctionReturn(PETSC_SUCCESS); /* refused by the sweep */
  for (int resident = 0; resident <= (PetscMax(h->t.QL, h->t.QU) <= 8); resident++) {
    cudaFuncAttributes attributes;
    size_t             shared;
    void              *kernel = NULL;
    int                threads, alone;

    SpikeDispatchPrecision(s->precision, kernel = SpikeSweepKernel_Private<F>(&h->t, resident, 1, &shared));
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
    h->sweepshared[resident] = attributes.sharedSizeBytes + 1024; /* and the system's of a block */
    threads                  = SpikeSweepThreads_Private(&h->t, resident);
    /* its limit */
    PetscCall(SpikeKernelResident(kernel, threads, h->gpu->shared - attributes.sharedSizeBytes, &alone));
    PetscCall(SpikeKernelResident(kernel, threads, 0, &h->sweepblocks[resident]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Blocks that a multiprocessor is to run at once share its memory: first go the vectors, where they fit beside two
  slots of the ring, and what remains goes to the rings as far as that is of use.
*/
template <typename F>
static PetscErrorCode SpikeSweepPlain_Private(const SpikeCUDA *h, SpikeSweepArgs *a, dim3 grid, cudaStream_t stream)
{
  const SpikeTiles *t      = &a->t;
  const PetscCount  blocks = ((PetscCount)grid.x * grid.y + h->gpu->multiprocessors - 1) / h->gpu->multiprocessors;
  size_t            room = 0, shared, vectors = 0;
  void             *args     = a, *kernel;
  bool              resident = PetscMax(t->QL, t->QU) <= 8;

  PetscFunctionBegin;
  a->rows = a->correct ? h->correctrows : t->tilerows;
  for (;; resident = false) {
    vectors = resident ? SpikeResidentBytes(t, a->rows) : 0;
    room    = ((size_t)h->gpu->shared + 1024) / PetscMin(blocks, h->sweepblocks[resident]);
    room    = room > vectors + h->sweepshared[resident] ? room - vectors - h->sweepshared[resident] : 0;
    (void)SpikeSweepKernel_Private<F>(t, resident, 2, &shared);
    if (!resident || shared <= room) break;
  }
  for (a->depth = SPIKE_RING_DEPTH;; a->depth--) {
    kernel = SpikeSweepKernel_Private<F>(t, resident, a->depth, &shared);
    if (a->depth == 1 || shared <= room) break;
  }
  PetscCallCUDA(
    SpikeLaunchEarly(kernel, grid, dim3(SpikeSweepThreads_Private(t, resident)), shared + vectors, stream, &args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode SpikeSweepLaunch_Private(const SpikeCUDA *h, SpikeSweepArgs *a, PetscBool trans, PetscInt nrhs,
                                               cudaStream_t stream)
{
  const SpikeTiles *t      = &a->t;
  const PetscInt    groups = (a->p1 - 1) / t->G - a->p0 / t->G + 1;
  const int         warps  = PetscMax(1, PetscMin(PetscMax(t->QL, t->QU), 8));
  const dim3        grid((unsigned)(trans || !a->correct ? groups : 2 * groups), (unsigned)nrhs);

  PetscFunctionBegin;
  if (trans) SpikeSweepTranspose_Kernel<F><<<grid, 32 * warps, 0, stream>>>(*a);
  else PetscCall(SpikeSweepPlain_Private<F>(h, a, grid, stream));
  PetscCallCUDA(cudaGetLastError());
  if (trans && a->tips && !a->correct) {
    SpikeTipsTranspose_Kernel<<<dim3((unsigned)(a->p1 - a->p0), (unsigned)nrhs),
                                PetscMin(256, 32 * PetscMax(1, (t->kl + t->ku) / 8)), 0, stream>>>(*a);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the launches have in common; the grid's second index counts right-hand sides */
PetscErrorCode SpikeSweepLaunch_CUDA(SpikeBand *s, PetscBool trans, PetscInt nrhs, SpikeSweepArgs *a)
{
  const SpikeCUDA *h    = (const SpikeCUDA *)s->data;
  bool             done = false;

  PetscFunctionBegin;
  a->t    = h->t;
  a->band = s->band;
  a->B    = s->dB;
  a->C    = s->dC;
  a->tips = s->coupled ? s->dtips : NULL;
  a->ldt  = (PetscCount)(s->np + 1) * (s->kl + s->ku);
  if (a->p0 >= a->p1 || !nrhs || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscMax(a->t.QL, a->t.QU) <= SPIKE_MAXTILES, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Half-bandwidths %d and %d are above %d", a->t.kl, a->t.ku, 32 * SPIKE_MAXTILES);
  PetscCheck(nrhs <= 65535, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " right-hand sides at once",
             nrhs);
  if (!trans && nrhs > 1) PetscCall(SpikeSweepColumns_CUDA(s->precision, a, nrhs, (cudaStream_t)s->stream, &done));
  if (!done)
    SpikeDispatchPrecision(s->precision,
                           PetscCall(SpikeSweepLaunch_Private<F>(h, a, trans, nrhs, (cudaStream_t)s->stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bottom tips are made in the second half of a sweep: there is nothing to be had by splitting it */
PetscErrorCode SpikeSweep_CUDA(SpikeBand *s, PetscBool trans, SpikeSweepPart part, PetscInt p0, PetscInt p1,
                               PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;
  SpikeSweepArgs   a = {};

  PetscFunctionBegin;
  PetscCheck(part == SPIKE_SWEEP_ALL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sweeps of this backend are not split");
  if (p0 >= p1) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->tri) PetscCall(SpikeTriSweepSystems_CUDA(s, trans, nrhs, b, ldb, g, ldg));
  else if (h->pivoted) PetscCall(SpikePivotedSweep_CUDA(s, trans, p0, p1, nrhs, b, ldb, g, ldg));
  else if (h->batch) PetscCall(SpikeBatchSweepSystems_CUDA(s, trans, nrhs, b, ldb, g, ldg));
  if (h->tri || h->pivoted || h->batch) PetscFunctionReturn(PETSC_SUCCESS);
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
