/* SPDX-License-Identifier: BSD-2-Clause */
/*
  sweep_plain.cuh: the kernels of plain sweeps, for one precision of the factors; sweep_double.cu and so on have those
  with T > 16, sweep_small_double.cu and so on the others. A process loads the code of a file with its first kernel: so
  it is that of one precision
*/
#pragma once

#include "sweep.cuh"
#include "sweep_resident.cuh"

/*
  Bytes: (QL + QU) T + 1 factors, once, and 4 scalars (b, y twice, x) a row and right-hand side. Tiles are copied to
  shared memory some steps before their use. The order of all sums is fixed: each run gives the same bits.
*/

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

/* The kernel for L and FULL, where there are at most one tile on a side, or more */
template <typename F, typename L, bool FULL>
static void *SpikeSweepNarrow_Private(const SpikeTiles *t, bool resident, int depth, size_t *shared)
{
  const int tile = t->G * t->T * t->T * (int)sizeof(F), diagonal = t->G * t->T * (int)sizeof(F);

  *shared = SpikeRing<FULL>::RingBytes(1, depth, tile + (resident ? diagonal : 0));
  return resident ? (void *)SpikeSweepResident_Kernel<F, L, FULL> : (void *)SpikeSweepWarp_Kernel<F, L, FULL>;
}

template <typename F, typename L, bool FULL>
static void *SpikeSweepWide_Private(const SpikeTiles *t, bool resident, int depth, size_t *shared)
{
  const int warps = PetscMin(PetscMax(t->QL, t->QU), 8), tile = t->T * t->T * (int)sizeof(F),
            diagonal = t->T * (int)sizeof(F);

  *shared = SpikeRing<FULL>::RingBytes(warps, depth, tile + (resident ? diagonal : 0));
  return resident ? (void *)SpikeSweepResidentThreadBlock_Kernel<F, L, FULL>
                  : (void *)SpikeSweepThreadBlock_Kernel<F, L, FULL>;
}

template <typename F>
void *SpikeSweepSmallKernel(const SpikeTiles *t, bool resident, int depth, size_t *shared)
{
  void *kernel;

  SpikeDispatchSmall(t, kernel = (SpikeSweepNarrow_Private<F, L, FULL>(t, resident, depth, shared)));
  return kernel;
}

template <typename F>
void *SpikeSweepLargeKernel(const SpikeTiles *t, bool resident, int depth, size_t *shared)
{
  void *kernel;

  if (PetscMax(t->QL, t->QU) <= 1)
    SpikeDispatchWide(t, kernel = (SpikeSweepNarrow_Private<F, L, FULL>(t, resident, depth, shared)));
  else SpikeDispatchWide(t, kernel = (SpikeSweepWide_Private<F, L, FULL>(t, resident, depth, shared)));
  return kernel;
}
