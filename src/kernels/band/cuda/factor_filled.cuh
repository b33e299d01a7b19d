/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_filled.cuh: the factorization of factor_warp.cuh from the values of the matrix, which never are a raw band in
  memory; real factors in double precision, natural order, one piece of a matrix, whose band has all of its entries
*/
#pragma once

#include "factor_warp.cuh"
#include "fill.cuh"
#include "kernels/common/cuda/lastblock.cuh"
#include "kernels/common/cuda/warp.cuh"
#include <cstddef>

#define SPIKE_FILLED_BANKS 16 /* of shared memory, 8 bytes wide */

/*
  Codes of tile row v of all partitions, rows of which have at most 4 groups entries:
      code[((v groups + g) 32 + r) 4 + u]   where entry 4 g + u of row r goes: SpikeFilledPlace(), in bytes
*/
struct SpikeFilledPlan {
  SpikeTiles            t;
  PetscScalar          *B, *C; /* NULL: couplings are left out */
  const PetscInt       *ai;
  const PetscScalar    *aa;
  const unsigned short *code;
  int                   groups, magic;
};

/*
  Shared memory of a pair of warps. values: those of a tile row as they lie in the matrix, in which a lane may read some
  numbers past the end of a row; nowhere: the places of entries that are none, a lane each
*/
template <int N8>
struct alignas(16) SpikeFilledShared {
  static constexpr int        GROUPS = (16 * N8 + 1 + 3) / 4, NPLACES = SpikeTileShape<N8>::NPLACES;
  SpikeWarpShared<double, N8> warp;
  double                      nowhere[32], values[(16 * N8 + 1) * 8 * N8 + 4 * GROUPS + 6];
};

/*
  What the two warps of a pair wait for, mbarriers: a tile row is there, has left room for the next one; the values of
  the next one are there
*/
struct SpikeFilledBarriers {
  unsigned long long there, room, values;
};

/*
  A row of a tile row, n entries from `first` on. It is read from entry `turn` on, and the first ones last, so that
  lanes, a row each, read from different banks whatever the lengths of rows are
*/
struct SpikeFilledRow {
  int first, n, turn;

  __device__ SpikeFilledRow(int r, int first_, int n_) : first(first_), n(n_), turn((r - first_) % SPIKE_FILLED_BANKS)
  {
    if (turn < 0) turn += SPIKE_FILLED_BANKS;
    if (turn >= n) turn = 0;
  }
  __device__ int entry(int k) const { return k < n - turn ? k + turn : k + turn - n; }
};

/*
  The place of element (r, column) of tile row j, counted from tile[0]: the lower tile's first, those of the upper one
  in tile[1] and tile[2] in turn, and the diagonal after them. Columns as SpikeFillColumn() has them
*/
template <int N8>
__device__ static inline int SpikeFilledPlace(const SpikeTiles &t, int j, int r, int column)
{
  const int upper = column >= t.QL * t.T, c = column - (upper ? t.QL * t.T : 0);

  if (column == (t.QL + t.QU) * t.T) return 3 * SpikeTileShape<N8>::NPLACES + r;
  return (upper ? 1 + j % 2 : 0) * SpikeTileShape<N8>::NPLACES + 32 * c + (r ^ SpikeLane<double>::swizzle(c));
}

/* *most <- max(*most, entries of a row) */
__global__ void __launch_bounds__(256) SpikeFilledMost_Kernel(PetscInt n, const PetscInt *ai, int *most)
{
  int mine = 0;

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    mine = max(mine, (int)min(ai[i + 1] - ai[i], (PetscInt)32767));
  mine = __reduce_max_sync(SPIKE_WARP, mine);
  if (threadIdx.x % 32 == 0 && mine) atomicMax(most, mine);
}

/* The codes, a warp a tile row; *outside <- 1 if an entry lies outside the band */
template <int N8>
__global__ void __launch_bounds__(256)
  SpikeFilledCodes_Kernel(const __grid_constant__ SpikeTiles t, const __grid_constant__ SpikeCSR A, int magic,
                          int groups, unsigned short *code, int *outside)
{
  const int        lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
  constexpr int    nowhere  = offsetof(SpikeFilledShared<N8>, nowhere);
  const PetscInt64 tilerows = (PetscInt64)t.np * t.tilerows;

  static_assert(nowhere + 8 * 32 < 65536, "a code has 16 bits");
  for (PetscInt64 v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < tilerows; v += warps) {
    const PetscInt       p = (PetscInt)(v / t.tilerows), end = t.start[p + 1];
    const int            j  = (int)(v % t.tilerows);
    const PetscInt       i0 = min(t.start[p] + j * t.T, end), i = min(i0 + min(lane, t.T), end);
    const bool           some = lane < t.T && i < end;
    const SpikeFilledRow row(lane, (int)(A.ai[i] - A.ai[i0]), some ? (int)(A.ai[i + 1] - A.ai[i]) : 0);

    for (int g = 0; g < groups; g++) {
      unsigned int at[4];

      SpikeUnroll(u, 4) {
        const int k = 4 * g + u;

        at[u] = nowhere + 8 * lane;
        if (k < row.n) {
          const PetscInt d = SpikeFillDistance(A, A.aj[A.ai[i] + row.entry(k)], NULL, i);

          if (d > t.ku || -d > t.kl) *outside = 1;
          else at[u] = 8 * SpikeFilledPlace<N8>(t, j, lane, SpikeFillColumn(t, magic, lane, (int)d));
        }
      }
      *(uint2 *)(code + ((v * groups + g) * 32 + lane) * 4) = make_uint2(at[0] | at[1] << 16, at[2] | at[3] << 16);
    }
  }
}

/*
  The values of a tile row, from `first` to `end`, on their way to `values`, whose number lead + e is entry e; returns
  lead, 0 or 1. No number beside them is read: the array is the caller's. All lanes see them after SpikeFilledGet()
*/
__device__ static __forceinline__ int SpikeFilledPut(const PetscScalar *aa, PetscInt first, PetscInt end,
                                                     double *values, unsigned long long *barrier)
{
  const double *from = aa + first;
  const int     lane = threadIdx.x & 31, count = (int)(end - first), lead = (int)((size_t)from / sizeof(double) % 2);

#if __CUDA_ARCH__ >= 900
  const int begin = min(lead, count), whole = (count - begin) & ~1;

  if (lane == 0) {
    SpikeCopyBulkFence();
    SpikeMbarrierExpect(barrier, whole * sizeof(double));
    if (whole) SpikeCopyBulk(values + lead + begin, from + begin, whole * sizeof(double), barrier);
    if (begin) SpikeCopyAsync<8>(values + lead, from);
  }
  if (lane == 1 && begin + whole < count) SpikeCopyAsync<8>(values + lead + count - 1, from + count - 1);
#else
  for (int e = lane; e < count; e += 32) SpikeCopyAsync<8>(values + lead + e, from + e);
#endif
  return lead;
}

__device__ static __forceinline__ void SpikeFilledGet(unsigned long long *barrier, unsigned int parity)
{
#if __CUDA_ARCH__ >= 900
  SpikeMbarrierWait(barrier, parity);
#endif
  SpikeCopyWait();
  __syncwarp();
}

/*
  The warp that fills, a row a lane: while the other one works on tile row j - 1, the values of row j come to shared
  memory, and its codes to registers. As soon as there is room for them, the values go to their places, and are summed
  up on the way. Couplings are taken out. A tile row all of whose places have an entry is not cleared before.
*/
template <int N8>
__device__ static __forceinline__ void SpikeFilledFill(const SpikeFilledPlan &f, PetscInt p, int pair,
                                                       SpikeFilledBarriers &barriers, SpikeFillSeen &mine)
{
  typedef SpikeFilledShared<N8>       SharedMemory;
  typedef SpikeWarpShared<double, N8> OfFactors;
  extern __shared__ __align__(16) char shared[];
  SharedMemory                        &sh     = ((SharedMemory *)shared)[pair];
  constexpr int                        GROUPS = SharedMemory::GROUPS, NPLACES = SharedMemory::NPLACES;
  const SpikeTiles                    &t     = f.t;
  const PetscInt                       start = t.start[p], end = t.start[p + 1];
  const int                            lane = threadIdx.x & 31, T = t.T, places = (2 * T + 1) * T;
  const int                            full = T == 8 * N8 && t.QL == 1 && t.QU == 1 ? places : -1;
  const uint2 *codes                        = (const uint2 *)f.code + (PetscInt64)p * t.tilerows * f.groups * 32 + lane;
  double      *tiles                        = sh.warp.tile[0];
  uint2        code[GROUPS];
  PetscInt     here, after, first, last;
  int          lead;

  static_assert(offsetof(SharedMemory, warp) == 0 && offsetof(OfFactors, diagonal) == 3 * NPLACES * sizeof(double),
                "places are counted from the first tile");
  static_assert(offsetof(SharedMemory, values) % 16 == 0, "bulk copies");
  /* entries of the lane's row of tile row j, here .. after, none where there is no row; first, last: of the tile row */
  auto rows = [&](int j) {
    const PetscInt i0 = start + j * T, i1 = min(i0 + T, end), i = min(i0 + lane, i1);

    here  = f.ai[i];
    after = f.ai[min(i + 1, i1)];
  };
  auto put = [&]() {
    first = __shfl_sync(SPIKE_WARP, here, 0);
    last  = __shfl_sync(SPIKE_WARP, after, 31);
    lead  = SpikeFilledPut(f.aa, first, last, sh.values, &barriers.values);
  };
  auto fetch = [&]() {
    SpikeUnroll(g, GROUPS)
      if (g < f.groups) code[g] = __ldcs(codes + g * 32);
    codes += f.groups * 32;
  };

  auto place = [&](const uint2 &of, int u) {
    return (double *)((char *)tiles + ((u < 2 ? of.x : of.y) >> 16 * (u % 2) & 0xffffu));
  };

  rows(0);
  put();
  fetch();
#pragma unroll 1
  for (int j = 0; j < t.tilerows; j++) {
    const int            li = j * T + lane, len = (int)(end - start), shift = j % 2 ? NPLACES : 0;
    const bool           valid = lane < T && li < len, ends = valid && (li < t.kl || li + t.ku >= len);
    const SpikeFilledRow row(lane, (int)(here - first), (int)(after - here));
    const int            cut = row.n - row.turn, count = (int)(last - first);
    const int            most = __reduce_max_sync(SPIKE_WARP, row.n);
    /* up to here no lane comes to the end of its row */
    const int     plain  = min(most, __reduce_min_sync(SPIKE_WARP, valid ? cut : 4 * GROUPS));
    const double *from   = sh.values + lead + row.first + row.turn;
    double        sum[4] = {0.0, 0.0, 0.0, 0.0};
    bool          bad    = false;

    if (j + 1 < t.tilerows) rows(j + 1);
    if (j > 0) SpikeMbarrierWait(&barriers.room, (j - 1) % 2);
    if (count != full) {
      for (int i = lane; i < NPLACES / 2; i += 32) {
        ((double2 *)tiles)[i]                     = make_double2(0.0, 0.0);
        ((double2 *)(tiles + NPLACES + shift))[i] = make_double2(0.0, 0.0);
      }
      sh.warp.diagonal[lane] = valid ? 0.0 : 1.0;
      __syncwarp();
    }
    SpikeFilledGet(&barriers.values, j % 2);
    SpikeUnroll(g, GROUPS) {
      double v[4];

      if (4 * g + 4 <= plain) {
        SpikeUnroll(u, 4) v[u] = from[4 * g + u];
        SpikeUnroll(u, 4) {
          *place(code[g], u) = v[u];
          sum[u] += fabs(v[u]);
        }
      } else if (4 * g < most) {
        SpikeUnroll(u, 4) v[u] = from[4 * g + u < cut ? 4 * g + u : 4 * g + u - row.n];
        SpikeUnroll(u, 4) {
          *place(code[g], u) = v[u];
          if (4 * g + u < row.n) sum[u] += fabs(v[u]);
        }
      }
    }
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    if (valid && !(sum[0] <= PETSC_MAX_REAL)) /* an entry that is no number, or their sum is too large */
      for (int k = 0; k < row.n; k++) bad |= !(fabs(sh.values[lead + row.first + k]) <= PETSC_MAX_REAL);
    __syncwarp();
    if (ends) {
      bool seen = false;

      SpikeFillCouplings(t, f.B, f.C, p, li, len, 0, 1, &seen, [&](int d) {
        return tiles + SpikeFilledPlace<N8>(t, j, lane, SpikeFillColumn(t, f.magic, lane, d));
      });
    }
    SpikeMbarrierArrive(&barriers.there);
    if (j + 1 < t.tilerows) {
      put();
      fetch();
    }
    if (valid) {
      const unsigned long long i = (unsigned long long)(start + li);

      mine.sum += sum[0];
      mine.norm = mine.norm < sum[0] ? sum[0] : mine.norm;
      if (sum[0] == 0.0) mine.zerorow = min(mine.zerorow, i);
      if (bad) mine.badrow = min(mine.badrow, i);
    }
  }
}

/* The same out of line: the tiles of the other warp take all registers that there are (1M, 32: 0.93 of the setup) */
template <int N8>
__device__ static __noinline__ void SpikeFilledFillApart(const SpikeFilledPlan &f, PetscInt p, int pair,
                                                         SpikeFilledBarriers &barriers, SpikeFillSeen &mine)
{
  SpikeFilledFill<N8>(f, p, pair, barriers, mine);
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
  all is to be done again, exactly. What fills have to tell goes to *status. Reads each value once, 2 bytes an entry,
  as many for each row as the longest one has, and the row starts; writes the factors once. Deterministic: sums are
  those of lanes over their rows, then in the order of lanes, and of thread blocks.
*/
template <int N8, bool WHOLE>
__global__ void __launch_bounds__(64 * SPIKE_FACTOR_WARPS, 1)
  SpikeFactorFilled_Kernel(const __grid_constant__ SpikeFilledPlan f, double *band, const SpikePivotPolicy given,
                           SpikeFilledSeen *seen, unsigned int *ticket, SpikeStatus *status, int *again)
{
  extern __shared__ __align__(16) char shared[];
  __shared__ SpikeFilledBarriers       barriers[SPIKE_FACTOR_WARPS];
  const int                            pairs = blockDim.x / 64, warp = threadIdx.x / 32, pair = warp % pairs;
  const PetscInt                       p       = (PetscInt)blockIdx.x * pairs + pair;
  SpikeFilledShared<N8>               &sh      = ((SpikeFilledShared<N8> *)shared)[pair];
  const SpikeFillSeen                  nothing = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};
  SpikeFilledSeen                      mine;
  unsigned int                         worst = 0;

  SpikeFillClearEnds(f.t, f.B, f.C);
  if (warp < pairs && threadIdx.x % 32 == 0) {
    SpikeMbarrierInit(&barriers[pair].there, 32);
    SpikeMbarrierInit(&barriers[pair].room, 32);
    SpikeMbarrierInit(&barriers[pair].values, 1);
  }
  __syncthreads();
  if (warp < pairs && p < f.t.np) {
    SpikePivotPolicy policy = given;

    policy.tol = 0.0;
    worst      = SpikeFilledFactor<N8, WHOLE>(f.t, p, band, sh.warp, barriers[pair], policy);
  }
  mine = {nothing, worst}; /* not before, registers are short there */
  if (warp >= pairs && p < f.t.np) {
    if constexpr (N8 == 4) SpikeFilledFillApart<N8>(f, p, pair, barriers[pair], mine.fill);
    else SpikeFilledFill<N8>(f, p, pair, barriers[pair], mine.fill);
  }
  __syncthreads();
  mine = SpikeFilledReduce(mine, shared);
  if (threadIdx.x == 0) seen[blockIdx.x] = mine;
  if (!SpikeIsLastThreadBlock(ticket, gridDim.x)) return;
  mine = {nothing, 0};
  for (unsigned int k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
    SpikeSeenMerge(mine.fill, seen[k].fill);
    mine.worst = max(mine.worst, seen[k].worst);
  }
  __syncthreads();
  mine = SpikeFilledReduce(mine, shared);
  if (threadIdx.x == 0) {
    SpikeSeenStatus(mine.fill, status);
    SpikePivotPolicy policy = given;

    policy.norm = given.norm ? &mine.fill.norm : NULL;
    *again      = !SpikePivotRange(SpikePivotAbsolute(policy)).good(mine.worst);
  }
}
