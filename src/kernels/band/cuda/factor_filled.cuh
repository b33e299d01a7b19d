/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_filled.cuh: the factorization of factor_warp.cuh from the values of the matrix, which never are a raw band in
  memory; real factors in double precision, natural order, one piece of a matrix, whose band has all of its entries
*/
#pragma once

#include "factor_warp.cuh"
#include "fill_codes.cuh"
#include "kernels/common/cuda/lastblock.cuh"
#include <cstddef>

#define SPIKE_FILLED_CODES 4 /* of a lane in a chunk */

struct SpikeFilledPlan {
  SpikeTiles                t;
  PetscScalar              *B, *C; /* NULL: couplings are left out */
  const PetscScalar        *aa[1];
  const unsigned short     *code; /* places by SpikeFilledPlace() */
  const unsigned long long *chunk;
  const int                *unit; /* a tile row each, those of a partition after each other */
  int                       magic;
};

/*
  What the two warps of a pair wait for, mbarriers: a tile row is there, has been summed up, and has left room for the
  next one
*/
struct SpikeFilledBarriers {
  unsigned long long there, summed, room;
};

/*
  The place of element (r, column) of a tile row, counted from tile[0]: the lower tile's as they are, those of the upper
  one in tile[1], and the diagonal after tile[2]. Columns as SpikeFillColumn() has them
*/
template <int N8>
__device__ static inline int SpikeFilledPlace(const SpikeTiles &t, int r, int column)
{
  const int upper = column >= t.QL * t.T, c = column - (upper ? t.QL * t.T : 0);

  if (column == (t.QL + t.QU) * t.T) return 3 * SpikeTileShape<N8>::NPLACES + r;
  return upper * SpikeTileShape<N8>::NPLACES + 32 * c + (r ^ SpikeLane<double>::swizzle(c));
}

/* The codes of a map, places column ld + row of a slab, become those of the tiles */
template <int N8>
__global__ void __launch_bounds__(256)
  SpikeFilledCodes_Kernel(const __grid_constant__ SpikeTiles t, int ld, PetscInt64 codes, unsigned short *code)
{
  for (PetscInt64 k = (PetscInt64)blockIdx.x * blockDim.x + threadIdx.x; k < codes;
       k += (PetscInt64)gridDim.x * blockDim.x) {
    const int at = code[k];

    if (at != (int)SPIKE_MAP_NONE) code[k] = (unsigned short)SpikeFilledPlace<N8>(t, at % ld, at / ld);
  }
}

/*
  The warp that fills: while the other one works on tile row j - 1, the values of row j are in its registers. As soon as
  there is room for them, they go to their places in shared memory: the lower tile to tile[0], the upper one to tile[1]
  and tile[2] in turn. Couplings are taken out, a row a lane. While the other warp works with them, rows are summed up,
  and the values of the next row set out.
*/
template <int N8>
__device__ static __forceinline__ void SpikeFilledFill(const SpikeFilledPlan &f, PetscInt p,
                                                       SpikeWarpShared<double, N8> &sh, SpikeFilledBarriers &barriers,
                                                       SpikeFillSeen &mine)
{
  typedef SpikeWarpShared<double, N8> SharedMemory;
  constexpr int                       V = SPIKE_FILLED_CODES, NPLACES = SpikeTileShape<N8>::NPLACES;
  /* of a tile row whose entries all have a place: (2 T + 1) T */
  constexpr int      CHUNKS = ((16 * N8 + 1) * 8 * N8 + 32 * V - 1) / (32 * V);
  const SpikeTiles  &t      = f.t;
  const int          lane = threadIdx.x & 31, T = t.T, len = (int)(t.start[p + 1] - t.start[p]);
  const int         *unit  = f.unit + (PetscInt64)p * t.tilerows;
  double            *tiles = sh.tile[0];
  double             v[CHUNKS][V];
  SpikeFillCodes<V>  code[CHUNKS];
  int                c = unit[0], end = unit[1], next;
  unsigned long long q;

  static_assert(offsetof(SharedMemory, diagonal) == 3 * NPLACES * sizeof(double), "the diagonal after the tiles");
  auto chunk = [&]() { return lane < CHUNKS && c + lane < end ? f.chunk[c + lane] : 0ull; };
  auto fetch = [&]() {
    SpikeUnroll(s, CHUNKS) SpikeFillFetch<V>(f.aa, f.code, __shfl_sync(SPIKE_WARP, q, s), c + s, lane, v[s], code[s]);
  };

  q = chunk();
  fetch();
  c    = end;
  end  = t.tilerows > 1 ? unit[2] : c;
  next = t.tilerows > 2 ? unit[3] : end;
  q    = chunk();
#pragma unroll 1
  for (int j = 0; j < t.tilerows; j++) {
    const int  li = j * T + lane, shift = j % 2 ? NPLACES : 0;
    const bool valid = lane < T && li < len, ends = valid && (li < t.kl || li + t.ku >= len);
    double     sum[4] = {0.0, 0.0, 0.0, 0.0};
    bool       bad    = false;

    if (j > 0) SpikeMbarrierWait(&barriers.room, (j - 1) % 2);
    for (int i = lane; i < NPLACES / 2; i += 32) {
      ((double2 *)tiles)[i]                     = make_double2(0.0, 0.0);
      ((double2 *)(tiles + NPLACES + shift))[i] = make_double2(0.0, 0.0);
    }
    sh.diagonal[lane] = valid ? 0.0 : 1.0;
    __syncwarp();
    SpikeUnroll2(s, CHUNKS, u, V) {
      const unsigned int at = code[s][u];

      if (at != SPIKE_MAP_NONE) tiles[at + (at - NPLACES < (unsigned int)NPLACES ? shift : 0)] = v[s][u];
    }
    __syncwarp();
    if (ends)
      sum[0] = SpikeFillCouplings(t, f.B, f.C, p, li, len, 0, 1, &bad, [&](int d) {
        const int place = SpikeFilledPlace<N8>(t, lane, SpikeFillColumn(t, f.magic, lane, d));

        return tiles + place + (place < NPLACES ? 0 : shift);
      });
    SpikeMbarrierArrive(&barriers.there);
    if (valid) {
      const double diagonal = fabs(sh.diagonal[lane]);

      bad |= !(diagonal <= PETSC_MAX_REAL);
      for (int k0 = 0; k0 < T; k0 += 4)
        SpikeUnroll(k, 4)
          if (k0 + k < T) {
            const int    at = 32 * (k0 + k) + (lane ^ SpikeLane<double>::swizzle(k0 + k));
            const double a = fabs(tiles[at]), b = fabs(tiles[NPLACES + shift + at]);

            bad |= !(a <= PETSC_MAX_REAL) || !(b <= PETSC_MAX_REAL);
            sum[k] += a + b;
          }
      sum[0] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + diagonal;
    }
    SpikeMbarrierArrive(&barriers.summed);
    fetch();
    c   = end;
    end = next;
    if (j + 3 < t.tilerows) next = unit[j + 4];
    q = chunk();
    if (valid) {
      const unsigned long long row = (unsigned long long)(t.start[p] + li);

      mine.sum += sum[0];
      mine.norm = mine.norm < sum[0] ? sum[0] : mine.norm;
      if (sum[0] == 0.0) mine.zerorow = min(mine.zerorow, row);
      if (bad) mine.badrow = min(mine.badrow, row);
    }
  }
}

/* The warp that factors, as SpikeFactorWarp(); returns the distance of the worst pivot */
template <int N8, bool WHOLE>
__device__ static __forceinline__ unsigned int SpikeFilledFactor(const SpikeTiles &t, PetscInt p, double *band,
                                                                 SpikeWarpShared<double, N8> &sh,
                                                                 SpikeFilledBarriers         &barriers,
                                                                 const SpikePivotPolicy      &policy)
{
  const int               T = WHOLE ? 8 * N8 : t.T, lane = threadIdx.x % 32;
  const int               rows = (int)(t.start[p + 1] - t.start[p]);
  const bool              low  = t.QL > 0;
  const SpikeLane<double> at;
  const SpikePivotRange   limits(policy);
  SpikePivotState         st    = {-1, 0, 0.0};
  double                 *lower = sh.tile[0], *upper = sh.tile[1], *before = sh.tile[2], *row = band + t.group(p);
  unsigned int            worst = 0;

  for (int i = lane; i < SpikeTileShape<N8>::NPLACES; i += 32) before[i] = 0.0;
  sh.inverse[lane] = 1.0;
  __syncwarp();
#pragma unroll 1
  for (int j = 0; j < t.tilerows; j++, row += t.rowsize) {
    double l[N8][N8][2], d[N8][N8][2], mine[N8];

    SpikeMbarrierWait(&barriers.there, j % 2);
    SpikeWarpLeft<double, N8>(at, sh, lower, before, false, l);
    SpikeWarpDiagonal<double, N8>(at, sh, lower, upper, before, l, d);
    if (low) SpikeWarpStore<double, N8, WHOLE, false>(row, T, l);
    SpikeMbarrierWait(&barriers.summed, j % 2); /* both tiles change from here on; and no phase is passed over */
    SpikeMbarrierArrive(&barriers.room);
    worst = max(worst, SpikeFragmentsInvert<N8, false>(d, mine, sh.work, T, j * T, rows, policy, limits, st));
    SpikeWarpFinal<double, N8, WHOLE>(at, sh, t, T, d, mine, upper, row);
    /* what rounds a tile row up, fewer than 8 */
    if (lane < t.rowsize - ((t.QL + t.QU) * T + 1) * T) row[((t.QL + t.QU) * T + 1) * T + lane] = 0.0;
    __syncwarp();
    double *swap = upper;

    upper  = before;
    before = swap;
  }
  return worst;
}

__device__ static inline SpikeFilledSeen SpikeFilledReduce(SpikeFilledSeen mine, char *shared)
{
  __shared__ unsigned int worst;

  if (threadIdx.x == 0) worst = 0;
  SpikeSeenReduce(mine.fill, (SpikeFillSeen *)shared); /* begins with a barrier */
  atomicMax(&worst, mine.worst);
  __syncthreads();
  mine.worst = worst;
  return mine;
}

/*
  A pair of warps for a partition: one fills, one factors. Pivots are taken as they are. The last thread block to end
  knows the norm of all rows, to which the policy is relative: *again <- whether a pivot was not good beyond doubt, and
  all is to be done again, exactly. What fills have to tell goes to *status. Reads each value once, 2 bytes an entry and
  8 bytes for 128 entries; writes the factors once. Deterministic: sums are those of lanes over their rows, then in the
  order of lanes, and of thread blocks.
*/
template <int N8, bool WHOLE>
__global__ void __launch_bounds__(64 * SPIKE_FACTOR_WARPS, 1)
  SpikeFactorFilled_Kernel(const __grid_constant__ SpikeFilledPlan f, double *band, const SpikePivotPolicy given,
                           SpikeFilledSeen *seen, unsigned int *ticket, SpikeStatus *status, int *again)
{
  extern __shared__ __align__(16) char shared[];
  __shared__ SpikeFilledBarriers       barriers[SPIKE_FACTOR_WARPS];
  const int                            pairs = blockDim.x / 64, warp = threadIdx.x / 32, pair = warp % pairs;
  const PetscInt                       p      = (PetscInt)blockIdx.x * pairs + pair;
  SpikeWarpShared<double, N8>         &sh     = ((SpikeWarpShared<double, N8> *)shared)[pair];
  SpikePivotPolicy                     policy = given;
  SpikeFilledSeen                      mine   = {{0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull}, 0};

  SpikeFillClearEnds(f.t, f.B, f.C);
  if (warp < pairs && threadIdx.x % 32 == 0) {
    SpikeMbarrierInit(&barriers[pair].there, 32);
    SpikeMbarrierInit(&barriers[pair].summed, 32);
    SpikeMbarrierInit(&barriers[pair].room, 32);
  }
  __syncthreads();
  policy.tol = 0.0;
  if (p < f.t.np) {
    if (warp < pairs) mine.worst = SpikeFilledFactor<N8, WHOLE>(f.t, p, band, sh, barriers[pair], policy);
    else SpikeFilledFill<N8>(f, p, sh, barriers[pair], mine.fill);
  }
  __syncthreads();
  mine = SpikeFilledReduce(mine, shared);
  if (threadIdx.x == 0) seen[blockIdx.x] = mine;
  if (!SpikeIsLastThreadBlock(ticket, gridDim.x)) return;
  mine = {{0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull}, 0};
  for (unsigned int k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
    SpikeSeenMerge(mine.fill, seen[k].fill);
    mine.worst = max(mine.worst, seen[k].worst);
  }
  __syncthreads();
  mine = SpikeFilledReduce(mine, shared);
  if (threadIdx.x == 0) {
    SpikeSeenStatus(mine.fill, status);
    policy      = given;
    policy.norm = given.norm ? &mine.fill.norm : NULL;
    *again      = !SpikePivotRange(SpikePivotAbsolute(policy)).good(mine.worst);
  }
}
