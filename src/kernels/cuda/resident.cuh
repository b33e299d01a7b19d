/* SPDX-License-Identifier: BSD-2-Clause */
/* resident.cuh: plain sweeps over partitions whose vectors fit in shared memory */
#pragma once

#include "owner.cuh"
#include "ring.cuh"
#include "blocks.cuh"

#define SPIKE_SWEEP_LAST 8 /* steps before the end of a sweep at which the reduced systems are asked for */

/* Bytes of shared memory for so many tile rows of the vectors of a group; with one tile on a side a row of zeros is before and behind them */
static inline size_t SpikeResidentBytes(const SpikeTiles *t, int rows)
{
  size_t pitch = 0;

  SpikeDispatchBlocks(t, { pitch = (size_t)t->G * L::STRIDE; });
  return (rows + (t->QL <= 1 && t->QU <= 1 ? 2 : 0)) * pitch * sizeof(PetscScalar);
}

/*
  QL, QU <= 1: a warp for each group of partitions. r comes to shared memory before the first step, turns into y and then into x there, and x leaves behind the last step: the steps between
  read tiles alone. A piece of the ring is a tile, on the way back with the diagonal behind it. Moves (QL + QU) T + 1 factors and 2 scalars a row, a correction 3; the order of all sums is
  fixed.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(32, 1) SpikeSweepResident_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  typedef typename SpikeProductType<F>::type A;
  constexpr bool                             SCALED = !std::is_same<A, PetscScalar>::value;
  constexpr int                              MANY = 8 /* loads at once */, PLACES = (L::J > 1 ? 2 : 32) * L::STRIDE;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) A st[PLACES], sx[SCALED ? PLACES : 1]; /* the right-hand side of a triangle; y or x of the step before, where that is not what x has */
  const SpikeTiles          &t   = a.t;
  const int                  end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x;
  const PetscInt             group = a.p0 / t.G + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange           range = SpikeGetRange(a, a.correct, group * t.G, end);
  const int                  f0 = range.f0, f1 = range.f1, b0 = range.b0, nf = f1 - f0, nb = f1 - b0;
  const L                    at(t);
  const SpikeOwner           own(a, range, group * t.G + at.m, at.row, at.active, column, a.tips && !a.correct);
  const F                   *band  = (const F *)a.band + t.group(group * t.G);
  const int                  pitch = t.G * L::STRIDE, size = at.next * t.T, diagonal = t.QU * size + at.m * t.T + PetscMin(at.row, t.T - 1);
  const int                  down = size * (int)sizeof(F), up = (t.QU * size + at.next) * (int)sizeof(F);
  const PetscInt64           upper = t.tile(t.QL);
  PetscScalar               *x     = (PetscScalar *)shared + pitch - b0 * pitch; /* tile row 0 */
  SpikeRing<FULL>            ring(shared + (size_t)(a.rows + 2) * pitch * sizeof(PetscScalar), 0, 1, a.stages, size * (int)sizeof(F) + at.next * (int)sizeof(F));
  A                          tile[2][L::COUNT];
  PetscScalar                d[2];               /* these of this step and the next */
  PetscReal                  pt, px = 0.0;       /* powers of st and sx */
  int                        fs = t.QL ? 0 : nf; /* step of the next piece to be asked for */

  if (!nb) return;
  auto fetch = [&]() {
    if (fs < nf) ring.put(band + (f0 + fs) * t.stepsize, down);
    else if (fs < nf + nb) ring.put(band + (f1 - 1 - (fs - nf)) * t.stepsize + upper, up);
    fs++;
  };
  auto take = [&](bool back, int u) {
    const F *piece = (const F *)ring.get();

    if (back) d[u] = (PetscScalar)piece[diagonal];
    if (!back || t.QU) at.template take<FULL>(piece, tile[u]);
  };
  auto operand = [&](A *w, PetscScalar v, PetscReal *power) {
    const A scaled = SpikeScale<A>(v, at.active, power);

    if (at.active) w[at.at] = scaled;
  };
  auto before = [&](const PetscScalar *row) -> const A * {
    if constexpr (SCALED) return sx;
    else return row;
  };
  auto clear = [&](A *w) {
    for (int k = lane; k < PLACES; k += 32) w[k] = 0.0;
  };

  clear(st);
  if (SCALED) clear(sx);
  for (int k = lane; k < (nb + 2) * pitch; k += 32) (x + (b0 - 1) * pitch)[k] = 0.0;
  __syncwarp();
  for (int k = 0; k < a.stages; k++) fetch();
  if (a.correct) {
    SpikeCorrectionRHS<false>(a, range, group * t.G, column, [&](int m, PetscInt row) {
      const int j = (int)(row / t.T);

      return j >= b0 && j < f1 ? x + j * pitch + m * L::STRIDE + (int)(row % t.T) : (PetscScalar *)NULL;
    });
  } else {
    for (int j = f0; j < f1; j++)
      if (j * t.T + at.row < own.n) SpikeCopyAsync<sizeof(PetscScalar)>(x + j * pitch + at.at, own.b + (j * t.T + at.row));
    SpikeCopyWait();
  }
  if (t.QL) take(false, 0);
  __syncwarp();
  if (t.QL) fetch();
  for (int s0 = 0; t.QL && s0 < nf; s0 += 2) {
#pragma unroll
    for (int u = 0; u < 2; u++) {
      const int    s  = s0 + u;
      PetscScalar *xj = x + (f0 + s) * pitch, v;

      if (s < nf) {
        if (s + 1 < nf) take(false, u ^ 1);
        v = xj[at.at] - SpikeUnscale(px, at.template times<1, true>(tile[u], before(xj - pitch)));
        operand(st, v, &pt);
        __syncwarp();
        if (s + 1 < nf) fetch();
        v += SpikeUnscale(pt, at.template times<-1, false>(tile[u], st));
        if (at.active) xj[at.at] = v;
        if (SCALED) operand(sx, v, &px);
        __syncwarp();
      }
    }
  }
  take(true, 0);
  if (SCALED) clear(sx);
  __syncwarp();
  fetch();
  for (int s0 = 0; s0 < nb; s0 += 2) {
#pragma unroll
    for (int u = 0; u < 2; u++) {
      const int    s  = s0 + u;
      PetscScalar *xj = x + (f1 - 1 - s) * pitch, v;

      if (s < nb) {
        if (s + 1 < nb) take(true, u ^ 1);
        if (a.R && s == PetscMax(nb - SPIKE_SWEEP_LAST, 0)) SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, group * t.G, PetscMin(group * t.G + t.G, a.p1));
        v = xj[at.at];
        if (t.QU) {
          v -= SpikeUnscale(px, at.template times<-1, true>(tile[u], before(xj + pitch)));
          operand(st, v, &pt);
        }
        __syncwarp();
        if (s + 1 < nb) fetch();
        v = d[u] * v;
        if (t.QU) v += SpikeUnscale(pt, at.template times<1, false>(tile[u], st));
        if (at.active) xj[at.at] = v;
        if (SCALED && t.QU) operand(sx, v, &px);
        __syncwarp();
      }
    }
  }
  for (int j0 = b0; j0 < f1; j0 += MANY) {
    PetscScalar old[MANY];

#pragma unroll
    for (int k = 0; k < MANY; k++) old[k] = j0 + k < f1 ? own.old(a, j0 + k) : (PetscScalar)0.0;
#pragma unroll
    for (int k = 0; k < MANY; k++)
      if (j0 + k < f1) own.result(a, j0 + k, x[(j0 + k) * pitch + at.at], old[k]);
  }
}

/*
  QL or QU > 1, at most 8: a block for each partition, a warp for each tile of a tile row, and one more, the chief, which adds what they found and multiplies by the triangle that the corner
  tile holds. While it does so the others take their next tiles, and while they make their products it takes the corner, from the ring of the warp with its other half. Moves what the kernel
  above does; the order of all sums is fixed.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(288, 1) SpikeSweepResidentBlock_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  typedef typename SpikeProductType<F>::type A;
  constexpr bool                             SCALED = !std::is_same<A, PetscScalar>::value;
  constexpr int                              MANY = 4 /* loads at once */, SLOTS = SCALED ? 16 : 1;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) A st[L::STRIDE], sx[SLOTS][L::STRIDE]; /* the right-hand side of a triangle; y or x of the steps before, where that is not what x has */
  __shared__ PetscReal       px[SLOTS];                           /* powers of sx */
  __shared__ PetscScalar     part[8][32];
  const SpikeTiles          &t   = a.t;
  const int                  end = a.correct ? blockIdx.x & 1 : 0, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, all = blockDim.x >> 5, warps = all - 1;
  const PetscInt             p     = a.p0 + (a.correct ? blockIdx.x >> 1 : blockIdx.x);
  const SpikeRange           range = SpikeGetRange(a, a.correct, p, end);
  const int                  f0 = range.f0, f1 = range.f1, b0 = range.b0, nf = t.QL ? f1 - f0 : 0, nb = f1 - b0;
  const int                  pitch = L::STRIDE, size = t.T * t.T, last[2] = {PetscMax(t.QL - 1, 0), PetscMax(t.QU - 1, 0)}; /* warps with the corners, on the way back with the diagonal too */
  const L                    at(t);
  const SpikeOwner           own(a, range, p, at.row, at.active, column, a.tips && !a.correct);
  const F                   *band    = (const F *)a.band + t.group(p);
  const bool                 ischief = warp == warps;
  PetscScalar               *x       = (PetscScalar *)shared - b0 * pitch; /* tile row 0 */
  SpikeRing<FULL>            ring(shared + (size_t)a.rows * pitch * sizeof(PetscScalar), ischief ? last[0] : warp, warps, a.stages, (size + t.T) * (int)sizeof(F), !ischief);
  A                          tile[L::COUNT];
  PetscScalar                v;
  PetscReal                  pt;     /* power of st */
  int                        fs = 0; /* step of the next piece to be asked for */

  if (!nb) return;
  auto down  = [&](int s, int w) { return band + (f0 + s) * t.stepsize + t.tile(w); };
  auto up    = [&](int s, int w) { return band + (f1 - 1 - s) * t.stepsize + t.tile(t.QL + w); };
  auto fetch = [&]() {
    if (fs < nf && warp > last[0]) fs = nf;
    if (fs < nf) ring.put(down(fs, warp), size * (int)sizeof(F));
    else if (fs < nf + nb && warp <= last[1]) ring.put(up(fs - nf, warp), ((t.QU ? size : 0) + (warp == last[1] ? t.T : 0)) * (int)sizeof(F));
    fs++;
  };
  auto take = [&](const F *piece, bool corner) {
    if (corner) at.template take<FULL>(piece, tile);
    else at.template takewhole<FULL>(piece, tile);
  };
  auto operand = [&](A *w, PetscScalar v, PetscReal *power) {
    const A scaled = SpikeScale<A>(v, at.active, power);

    if (at.active) w[at.at] = scaled;
  };
  /* L_{j,i} y_i or U_{j,i} x_i of a warp, HALF of the tile where it is the corner */
  auto product = [&](auto half, bool corner, int i) {
    const A  *w;
    PetscReal power = 1.0;

    if constexpr (SCALED) w = sx[i & 15], power = px[i & 15];
    else w = x + i * pitch;
    return SpikeUnscale(power, corner ? at.template times<decltype(half)::value, true>(tile, w) : at.timeswhole(tile, w));
  };
  /* x_i <- v, by the chief */
  auto put = [&](int i, PetscScalar v) {
    if (at.active) x[i * pitch + at.at] = v;
    if constexpr (SCALED) {
      PetscReal power;

      operand(sx[i & 15], v, &power);
      if (lane == 0) px[i & 15] = power;
    }
  };

  if (threadIdx.x < L::STRIDE) st[threadIdx.x] = 0.0;
  if (SCALED && threadIdx.x < L::STRIDE)
    for (int k = 0; k < SLOTS; k++) sx[k][threadIdx.x] = 0.0;
  for (int k = threadIdx.x; k < nb * pitch; k += blockDim.x) (x + b0 * pitch)[k] = 0.0;
  __syncthreads();
  if (!ischief)
    for (int k = 0; k < a.stages; k++) fetch();
  if (a.correct) {
    SpikeCorrectionRHS<false>(a, range, p, column, [&](int, PetscInt row) {
      const int j = (int)(row / t.T);

      return j >= b0 && j < f1 ? x + j * pitch + (int)(row % t.T) : (PetscScalar *)NULL;
    });
  } else {
    for (int j = f0 + warp; j < f1; j += all)
      if (j * t.T + at.row < own.n) SpikeCopyAsync<sizeof(PetscScalar)>(x + j * pitch + at.at, own.b + (j * t.T + at.row));
    SpikeCopyWait();
  }
  if (nf && warp <= last[0]) take((const F *)ring.get(), warp == last[0]);
  __syncthreads();
#pragma unroll 1
  for (int s = 0; s < nf; s++) {
    const int j = f0 + s;

    if (ischief) take((const F *)ring.get(down(s, last[0])), true);
    else if (warp <= last[0]) {
      v = 0.0;
      if (warp < s) v = product(std::integral_constant<int, 1>(), warp == last[0], j - (warp + 1));
      part[warp][lane] = v;
    }
    __syncthreads();
    if (ischief) {
      v = x[j * pitch + at.at];
      for (int k = 0; k <= last[0]; k++) v -= part[k][lane];
      operand(st, v, &pt);
      __syncwarp();
      v += SpikeUnscale(pt, at.template times<-1, false>(tile, st));
      put(j, v);
    } else if (warp <= last[0]) {
      fetch(); /* the piece of this step is taken by all who want it */
      if (s + 1 < nf) take((const F *)ring.get(), warp == last[0]);
    }
    __syncthreads();
  }
  if (ischief) ring = SpikeRing<FULL>(shared + (size_t)a.rows * pitch * sizeof(PetscScalar), last[1], warps, a.stages, (size + t.T) * (int)sizeof(F), false), ring.skip(last[1] <= last[0] ? nf : 0);
  else if (warp <= last[1]) {
    const F *piece = (const F *)ring.get();

    if (t.QU) take(piece, warp == last[1]);
  }
  __syncthreads();
#pragma unroll 1
  for (int s = 0; s < nb; s++) {
    const int   j = f1 - 1 - s;
    PetscScalar d = 0.0;

    if (ischief) {
      const F *piece = (const F *)ring.get(up(s, last[1]));

      d = (PetscScalar)piece[(t.QU ? size : 0) + PetscMin(at.row, t.T - 1)];
      if (t.QU) take(piece, true);
    } else if (warp < t.QU) {
      v = 0.0;
      if (warp < s) v = product(std::integral_constant<int, -1>(), warp == last[1], j + warp + 1);
      part[warp][lane] = v;
    }
    if (a.R && s == PetscMax(nb - SPIKE_SWEEP_LAST, 0)) SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, p, p + 1);
    __syncthreads();
    if (ischief) {
      v = x[j * pitch + at.at];
      for (int k = 0; k < t.QU; k++) v -= part[k][lane];
      operand(st, v, &pt);
      __syncwarp();
      v = d * v;
      if (t.QU) v += SpikeUnscale(pt, at.template times<1, false>(tile, st));
      put(j, v);
    } else if (warp <= last[1]) {
      fetch();
      if (s + 1 < nb) {
        const F *piece = (const F *)ring.get();

        if (t.QU) take(piece, warp == last[1]);
      }
    }
    __syncthreads();
  }
  for (int j0 = b0 + warp; j0 < f1; j0 += MANY * all) {
    PetscScalar old[MANY];

#pragma unroll
    for (int k = 0; k < MANY; k++) old[k] = j0 + k * all < f1 ? own.old(a, j0 + k * all) : (PetscScalar)0.0;
#pragma unroll
    for (int k = 0; k < MANY; k++)
      if (j0 + k * all < f1) own.result(a, j0 + k * all, x[(j0 + k * all) * pitch + at.at], old[k]);
  }
}
