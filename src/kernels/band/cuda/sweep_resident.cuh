/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_resident.cuh: plain sweeps over partitions whose vectors fit in shared memory */
#pragma once

#include "sweep_owner.cuh"
#include "sweep_ring.cuh"
#include "sweep_panel.cuh"

/* Bytes of shared memory for so many rows of vectors; bulk copies go to multiples of 16 bytes after them */
__host__ __device__ static inline size_t SpikeResidentBytes(int rows, int pitch)
{
  return ((size_t)rows * pitch * sizeof(PetscScalar) + 15) / 16 * 16;
}

/*
  The same for so many tile rows of the vectors of a group; with one tile on a side a row of zeros is before and after
  them
*/
static inline size_t SpikeResidentBytes(const SpikeTiles *t, int rows)
{
  int pitch = 0;

  if (t->T <= 16) SpikeDispatchSmall(t, { pitch = t->G * L::STRIDE; });
  else SpikeDispatchWide(t, { pitch = t->G * L::STRIDE; });
  return SpikeResidentBytes(rows + (t->QL <= 1 && t->QU <= 1 ? 2 : 0), pitch);
}

/*
  r of tile rows b0 <= j < f1 to x, which is zero, in shared memory: tile row j at x + j pitch; warp `warp` of `warps`.
  base: the first partition of the group. The copies are there after a barrier
*/
template <typename L>
__device__ static __forceinline__ void SpikeResidentLoad(const SpikeSweepArgs &a, const SpikeRange &range,
                                                         const SpikeOwner &own, const L &at, PetscInt base, int column,
                                                         int warp, int warps, PetscScalar *x, int pitch)
{
  const SpikeTiles &t  = a.t;
  const int         b0 = range.b0, f1 = range.f1;

  if (a.correct) {
    SpikeCorrectionRHS<false>(a, range, base, column, [&](int m, PetscInt row) {
      const int j = (int)(row / t.T);

      return j >= b0 && j < f1 ? x + j * pitch + m * L::STRIDE + (int)(row % t.T) : (PetscScalar *)NULL;
    });
  } else {
    for (int j = range.f0 + warp; j < f1; j += warps)
      if (j * t.T + at.row < own.n)
        SpikeCopyAsync<sizeof(PetscScalar)>(x + j * pitch + at.at, own.b + (j * t.T + at.row));
    SpikeCopyWait();
  }
}

/* The result of tile rows b0 <= j < f1 from x, MANY of them at once */
template <int MANY, typename L>
__device__ static __forceinline__ void SpikeResidentStore(const SpikeSweepArgs &a, int b0, int f1,
                                                          const SpikeOwner &own, const L &at, int warp, int warps,
                                                          const PetscScalar *x, int pitch)
{
  for (int j0 = b0 + warp; j0 < f1; j0 += MANY * warps) {
    PetscScalar old[MANY];

    SpikeUnroll(k, MANY) old[k] = j0 + k * warps < f1 ? own.old(a, j0 + k * warps) : (PetscScalar)0.0;
    SpikeUnroll(k, MANY)
      if (j0 + k * warps < f1) own.result(a, j0 + k * warps, x[(j0 + k * warps) * pitch + at.at], old[k]);
  }
}

/*
  QL, QU <= 1: `steps` tile rows forward, r turns into y there: the first at x, the next `pitch` after it. take(back, u)
  gets a tile, on the way back with the diagonal, as number u of two; fetch() asks for a later one
*/
template <typename L, typename TAKE, typename FETCH>
__device__ static __forceinline__ void SpikeResidentDown(const L &at, int steps, PetscScalar *x, int pitch,
                                                         PetscScalar *st, PetscScalar (&tile)[2][L::COUNT], TAKE &&take,
                                                         FETCH &&fetch)
{
  take(false, 0);
  __syncwarp();
  fetch();
  for (int s0 = 0; s0 < steps; s0 += 2) {
    SpikeUnroll(u, 2) {
      const int    s  = s0 + u;
      PetscScalar *xj = x + s * pitch, v;

      if (s < steps) {
        if (s + 1 < steps) take(false, u ^ 1);
        v = xj[at.at] - at.template times<1, true>(tile[u], xj - pitch);
        if (at.active) st[at.at] = v;
        __syncwarp();
        if (s + 1 < steps) fetch();
        v += at.template times<-1, false>(tile[u], st);
        if (at.active) xj[at.at] = v;
        __syncwarp();
      }
    }
  }
}

/* The same back, y turns into x: the last row first, which is at x; upper: QU > 0; step(s) is called in step s */
template <typename L, typename TAKE, typename FETCH, typename STEP>
__device__ static __forceinline__ void SpikeResidentUp(const L &at, int steps, bool upper, PetscScalar *x, int pitch,
                                                       PetscScalar *st, PetscScalar (&tile)[2][L::COUNT],
                                                       PetscScalar (&d)[2], TAKE &&take, FETCH &&fetch, STEP &&step)
{
  take(true, 0);
  __syncwarp();
  fetch();
  for (int s0 = 0; s0 < steps; s0 += 2) {
    SpikeUnroll(u, 2) {
      const int    s  = s0 + u;
      PetscScalar *xj = x - s * pitch, v;

      if (s < steps) {
        if (s + 1 < steps) take(true, u ^ 1);
        step(s);
        v = xj[at.at];
        if (upper) {
          v -= at.template times<-1, true>(tile[u], xj + pitch);
          if (at.active) st[at.at] = v;
        }
        __syncwarp();
        if (s + 1 < steps) fetch();
        v = d[u] * v;
        if (upper) v += at.template times<1, false>(tile[u], st);
        if (at.active) xj[at.at] = v;
        __syncwarp();
      }
    }
  }
}

/*
  QL, QU <= 1: a warp for each group of partitions. r comes to shared memory before the first step, turns into y and
  then into x there, and x leaves after the last step: the steps between read tiles alone. A piece of the ring is a
  tile, on the way back with the diagonal after it. Moves (QL + QU) T + 1 factors and 2 scalars a row, a correction 3;
  the order of all sums is fixed.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(32, 1) SpikeSweepResident_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) PetscScalar st[(L::J > 1 ? 2 : 32) * L::STRIDE]; /* the right-hand side of a triangle */
  const SpikeTiles                    &t   = a.t;
  const int                            end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x;
  const PetscInt                       group = a.p0 / t.G + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange                     range = SpikeGetRange(a, a.correct, group * t.G, end);
  const int                            f0 = range.f0, f1 = range.f1, b0 = range.b0, nf = f1 - f0, nb = f1 - b0;
  const L                              at(t);
  const SpikeOwner own(a, range, group * t.G + at.m, at.row, at.active, column, a.tips && !a.correct);
  const F         *band  = (const F *)a.band + t.group(group * t.G);
  const int        pitch = t.G * L::STRIDE, size = at.next * t.T,
            diagonal    = t.QU * size + at.m * t.T + PetscMin(at.row, t.T - 1);
  const int        down = size * (int)sizeof(F), up = (t.QU * size + at.next) * (int)sizeof(F);
  const PetscInt64 upper = t.tile(t.QL);
  PetscScalar     *x     = (PetscScalar *)shared + pitch - b0 * pitch; /* tile row 0 */
  SpikeRing<FULL>  ring(shared + SpikeResidentBytes(a.rows + 2, pitch), 0, 1, a.depth,
                        size * (int)sizeof(F) + at.next * (int)sizeof(F));
  PetscScalar      tile[2][L::COUNT], d[2]; /* of this step and the next */
  int              fs = t.QL ? 0 : nf;      /* step of the next piece to be asked for */

  if (!nb) {
    SpikeAwait();
    return;
  }
  auto fetch = [&]() {
    if (fs < nf) ring.put(band + (f0 + fs) * t.rowsize, down);
    else if (fs < nf + nb) ring.put(band + (f1 - 1 - (fs - nf)) * t.rowsize + upper, up);
    fs++;
  };
  auto take = [&](bool back, int u) {
    const F *piece = (const F *)ring.get();

    if (back) d[u] = (PetscScalar)piece[diagonal];
    if (!back || t.QU) at.template take<FULL>(piece, tile[u]);
  };

  for (int k = lane; k < L::STRIDE * (L::J > 1 ? 2 : 32); k += 32) st[k] = 0.0;
  for (int k = lane; k < (nb + 2) * pitch; k += 32) (x + (b0 - 1) * pitch)[k] = 0.0;
  __syncwarp();
  for (int k = 0; k < a.depth; k++) fetch();
  SpikeAwait();
  SpikeResidentLoad(a, range, own, at, group * t.G, column, 0, 1, x, pitch);
  if (t.QL) SpikeResidentDown(at, nf, x + f0 * pitch, pitch, st, tile, take, fetch);
  SpikeResidentUp(at, nb, t.QU > 0, x + (f1 - 1) * pitch, pitch, st, tile, d, take, fetch, [&](int s) {
    if (s == PetscMax(nb - SPIKE_SWEEP_LAST, 0)) SpikeSweepEnds(a, group * t.G, PetscMin(group * t.G + t.G, a.p1));
  });
  SpikeResidentStore<8>(a, b0, f1, own, at, 0, 1, x, pitch);
}

/*
  QL or QU > 1, at most 8: a block for each partition, a warp for each tile of a tile row, and one more, the chief,
  which adds what they found and multiplies by the triangle that the corner tile holds. While it does so the others take
  their next tiles, and while they make their products it takes the corner, from the ring of the warp with its other
  half. Moves what the kernel above does, but for tiles without entries (SpikeTiles.own), whose warps have nothing to
  do; the order of all sums is fixed.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(288, 1) SpikeSweepResidentThreadBlock_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) PetscScalar st[L::STRIDE]; /* the right-hand side of a triangle */
  __shared__ PetscScalar               part[8][32];
  const SpikeTiles                    &t = a.t;
  const int end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5,
            all = blockDim.x >> 5, warps = all - 1;
  const PetscInt   p     = a.p0 + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange range = SpikeGetRange(a, a.correct, p, end);
  const int        f0 = range.f0, f1 = range.f1, b0 = range.b0, nf = t.QL ? f1 - f0 : 0, nb = f1 - b0;
  /* warps with the corners, on the way back with the diagonal too */
  const int pitch = L::STRIDE, size = t.T * t.T, last[2] = {PetscMax(t.QL - 1, 0), PetscMax(t.QU - 1, 0)},
            some[2] = {t.below(p), t.above(p)};
  const L          at(t);
  const SpikeOwner own(a, range, p, at.row, at.active, column, a.tips && !a.correct);
  const F         *band    = (const F *)a.band + t.group(p);
  const bool       ischief = warp == warps;
  PetscScalar     *x       = (PetscScalar *)shared - b0 * pitch; /* tile row 0 */
  SpikeRing<FULL>  ring(shared + SpikeResidentBytes(a.rows, pitch), ischief ? last[0] : warp, warps, a.depth,
                        (size + t.T) * (int)sizeof(F), !ischief);
  PetscScalar      tile[L::COUNT], v;
  int              fs = 0; /* step of the next piece to be asked for */

  if (!nb) return SpikeAwait();
  /* whether warp w has a tile with entries, or the corner */
  auto has   = [&](int back, int w) { return w == last[back] || (w < last[back] && w < some[back]); };
  auto down  = [&](int s, int w) { return band + (f0 + s) * t.rowsize + t.tile(w); };
  auto up    = [&](int s, int w) { return band + (f1 - 1 - s) * t.rowsize + t.tile(t.QL + w); };
  auto fetch = [&]() {
    if (fs < nf && !has(0, warp)) fs = nf;
    if (fs < nf) ring.put(down(fs, warp), size * (int)sizeof(F));
    else if (fs < nf + nb && has(1, warp))
      ring.put(up(fs - nf, warp), ((t.QU ? size : 0) + (warp == last[1] ? t.T : 0)) * (int)sizeof(F));
    fs++;
  };
  auto take = [&](const F *piece, bool corner) {
    if (corner) at.template take<FULL>(piece, tile);
    else at.template takewhole<FULL>(piece, tile);
  };
  auto takeup = [&]() { /* on the way back a piece may be the diagonal alone */
                        const F *piece = (const F *)ring.get();

                        if (t.QU) take(piece, warp == last[1]);
  };

  if (threadIdx.x < L::STRIDE) st[threadIdx.x] = 0.0;
  for (int k = threadIdx.x; k < nb * pitch; k += blockDim.x) (x + b0 * pitch)[k] = 0.0;
  __syncthreads();
  if (!ischief)
    for (int k = 0; k < a.depth; k++) fetch();
  SpikeAwait();
  SpikeResidentLoad(a, range, own, at, p, column, warp, all, x, pitch);
  if (nf && has(0, warp)) take((const F *)ring.get(), warp == last[0]);
  __syncthreads();
#pragma unroll 1
  for (int s = 0; s < nf; s++) {
    PetscScalar *xj = x + (f0 + s) * pitch;

    if (ischief) take((const F *)ring.get(down(s, last[0])), true);
    else if (warp <= last[0]) {
      v = 0.0;
      if (warp < s && has(0, warp))
        v = warp == last[0] ? at.template times<1, true>(tile, xj - (warp + 1) * pitch)
                            : at.timeswhole(tile, xj - (warp + 1) * pitch);
      part[warp][lane] = v;
    }
    __syncthreads();
    if (ischief) {
      v = xj[at.at];
      for (int k = 0; k <= last[0]; k++) v -= part[k][lane];
      if (at.active) st[at.at] = v;
      __syncwarp();
      v += at.template times<-1, false>(tile, st);
      if (at.active) xj[at.at] = v;
    } else if (has(0, warp)) {
      fetch(); /* the piece of this step is taken by all who want it */
      if (s + 1 < nf) take((const F *)ring.get(), warp == last[0]);
    }
    __syncthreads();
  }
  if (ischief)
    ring = SpikeRing<FULL>(shared + SpikeResidentBytes(a.rows, pitch), last[1], warps, a.depth,
                           (size + t.T) * (int)sizeof(F), false),
    ring.skip(has(0, last[1]) ? nf : 0);
  else if (has(1, warp)) takeup();
  __syncthreads();
#pragma unroll 1
  for (int s = 0; s < nb; s++) {
    PetscScalar *xj = x + (f1 - 1 - s) * pitch, d = 0.0;

    if (ischief) {
      const F *piece = (const F *)ring.get(up(s, last[1]));

      d = (PetscScalar)piece[(t.QU ? size : 0) + PetscMin(at.row, t.T - 1)];
      if (t.QU) take(piece, true);
    } else if (warp < t.QU) {
      v = 0.0;
      if (warp < s && has(1, warp))
        v = warp == last[1] ? at.template times<-1, true>(tile, xj + (warp + 1) * pitch)
                            : at.timeswhole(tile, xj + (warp + 1) * pitch);
      part[warp][lane] = v;
    }
    if (s == PetscMax(nb - SPIKE_SWEEP_LAST, 0)) SpikeSweepEnds(a, p, p + 1);
    __syncthreads();
    if (ischief) {
      v = xj[at.at];
      for (int k = 0; k < t.QU; k++) v -= part[k][lane];
      if (at.active) st[at.at] = v;
      __syncwarp();
      v = d * v;
      if (t.QU) v += at.template times<1, false>(tile, st);
      if (at.active) xj[at.at] = v;
    } else if (has(1, warp)) {
      fetch();
      if (s + 1 < nb) takeup();
    }
    __syncthreads();
  }
  SpikeResidentStore<4>(a, b0, f1, own, at, warp, all, x, pitch);
}
