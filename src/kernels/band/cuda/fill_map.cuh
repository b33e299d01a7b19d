/* SPDX-License-Identifier: BSD-2-Clause */
/* fill_map.cuh: the map of a pattern: units of work, places of entries, and the kernels that make it */
#pragma once

#include "fill.cuh"
#include "kernels/common/cuda/warp.cuh"

#define SPIKE_MAP_NONE 0xffffu /* the place of no entry */

/* The V codes of a lane, two in a word */
template <int V>
struct SpikeFillCodes {
  unsigned int word[(V + 1) / 2];

  __device__ unsigned int operator[](int u) const
  {
    return V == 1 ? word[0] & 0xffffu : word[u / 2] >> 16 * (u % 2) & 0xffffu;
  }
};

/* Values and codes of chunk c on their way, whose piece of the matrix, first entry and length q has; nothing for q 0 */
template <int V>
__device__ static inline void SpikeFillFetch(const PetscScalar *const aa[], const unsigned short *codes,
                                             unsigned long long q, int c, int lane, PetscScalar v[],
                                             SpikeFillCodes<V> &code)
{
  if (q) {
    const PetscScalar    *from = aa[q >> 56] + (q & 0xffffffffffffull);
    const int             n    = (int)(q >> 48 & 0xff);
    const unsigned short *at   = codes + ((PetscInt64)c * 32 + lane) * V;

    if constexpr (V == 1) code.word[0] = __ldcs(at);
    else SpikeLoadStream<unsigned int, V / 2>((const unsigned int *)at, code.word);
    SpikeUnroll(u, V)
      if (u * 32 + lane < n) SpikeLoadStream<PetscScalar, 1>(from + u * 32 + lane, v + u);
  } else {
    SpikeUnroll(u, (V + 1) / 2) code.word[u] = 0xffffffffu;
  }
}

/* Which unit: group of partitions, first tile row counted in tilerows, slice of its rows */
struct SpikeFillUnit {
  int group, piece, slice;
};

/*
  A unit of work is a slab of the band: tilerows tile rows of a group, or, where a tile row is too large for the shared
  memory of a few blocks on a multiprocessor, `rows` of the rows of one. The entries of the matrix that belong to a unit
  are cut into chunks, each at most 32 codes consecutive entries (codes is 1, 2 or 4):

      chunk[c]                        first entry, number of entries and piece of the matrix, packed into 64 bits
      code[(c 32 + lane) codes + u]   place in the slab of entry u 32 + lane of chunk c, SPIKE_MAP_NONE after its end
      unit[v] .. unit[v + 1]          the chunks of unit v

  In natural order the rows of a unit in one partition are one run of entries, cut every 32 codes; with newrow each row
  is a run. Every entry of a row has a place of its own, also those that do not stay in the band: couplings lie where a
  tile of the neighbouring partition would (such places of a tile row are free, as SpikeFillColumn() is one to one),
  entries outside the half-bandwidths after the slab, `extra` places a row. So a fill is: values to their places; from
  there couplings to B and C, all else to the band; and sums over rows.
*/
struct SpikeFillPlan {
  SpikeTiles                t;
  PetscScalar              *B, *C; /* NULL: couplings are left out */
  const PetscInt           *newrow, *oldrow;
  const PetscScalar        *aa[2];
  const unsigned short     *code;
  const unsigned long long *chunk;
  const int                *unit;
  /* of a unit; rows counts those of a tile row of all partitions of the group */
  int           rows, tilerows;
  int           slices; /* units that share a tile row */
  int           pieces; /* groups of tile rows of a partition */
  int           pergroup, units, groups;
  SpikeFillUnit next; /* how far apart the units of a block are */
  /* of a tile row in the slab: odd, so that a row's entries lie in different banks */
  int    columns, ld;
  int    all;         /* rows of a unit */
  int    split;       /* threads that share a row on its way out */
  int    extra, slab; /* slab: its elements, extra places included */
  int    magic;
  bool   lower; /* tiles above the diagonal tile need not be written where the factorization writes them */
  double max;   /* above it the type of the factors overflows */
};

__device__ static inline SpikeFillUnit SpikeFillUnitOf(const SpikeFillPlan &f, int unit)
{
  const int rest = unit % f.pergroup;

  return {unit / f.pergroup, rest / f.slices, rest % f.slices};
}

/* Row y of any unit: tile row, row of the slab, partition of the group, row of its tile (of slice 0) */
struct SpikeFillPlace {
  int j, x, m, r;
};

__device__ static inline SpikeFillPlace SpikeFillPlaceOf(const SpikeFillPlan &f, int y)
{
  const int x = y % f.rows;

  return {y / f.rows, x, x / f.t.T, x % f.t.T};
}

/*
  A row of a unit. Rows that are not valid lie after the end of their partition; those that do not exist after the
  last tile row or slice
*/
struct SpikeFillRow {
  int      li; /* of the partition */
  PetscInt first, end;

  __device__ bool valid() const { return first + li < end; }
  __device__ int  len() const { return (int)(end - first); }
};

__device__ static inline bool SpikeFillExists(const SpikeFillPlan &f, const SpikeFillUnit &unit,
                                              const SpikeFillPlace &at)
{
  return unit.group < f.groups && unit.piece * f.tilerows + at.j < f.t.tilerows && unit.slice * f.rows + at.r < f.t.T;
}

/* Where its first column lies in the band; more than one slice: G = 1 */
__device__ static inline PetscInt64 SpikeFillOut(const SpikeFillPlan &f, const SpikeFillUnit &unit,
                                                 const SpikeFillPlace &at)
{
  return ((PetscInt64)unit.group * f.t.tilerows + unit.piece * f.tilerows + at.j) * f.t.rowsize + at.m * f.t.T +
         unit.slice * f.rows + at.r;
}

__device__ static inline SpikeFillRow SpikeFillRowOf(const SpikeFillPlan &f, const SpikeFillUnit &unit,
                                                     const SpikeFillPlace &at)
{
  const PetscInt p    = (PetscInt)unit.group * f.t.G + at.m;
  const bool     some = SpikeFillExists(f, unit, at) && p < f.t.np;

  return {(unit.piece * f.tilerows + at.j) * f.t.T + unit.slice * f.rows + at.r, some ? f.t.start[p] : 0,
          some ? f.t.start[p + 1] : 0};
}

/*
  Entries first .. first + count of run `run` of a unit: by piece, then in natural order by partition, with newrow by
  row
*/
__device__ static inline PetscInt64 SpikeFillRun(const SpikeFillPlan &f, const SpikeFillCSR &A, int unit, int run,
                                                 PetscInt *first)
{
  const int       runs = f.newrow ? f.all : f.t.G;
  const SpikeCSR &P    = A.part[run / runs];
  PetscInt        i0, i1;

  if (f.newrow) {
    const SpikeFillRow row = SpikeFillRowOf(f, SpikeFillUnitOf(f, unit), SpikeFillPlaceOf(f, run % runs));

    i0 = row.valid() ? f.oldrow[row.first + row.li] : 0;
    i1 = row.valid() ? i0 + 1 : 0;
  } else {
    const SpikeFillRow row = SpikeFillRowOf(f, SpikeFillUnitOf(f, unit), SpikeFillPlaceOf(f, run % runs * f.t.T));

    i0 = row.valid() ? row.first + row.li : 0;
    i1 = row.valid()
         ? i0 + min(f.slices > 1 ? min(f.rows, f.t.T - row.li % f.t.T) : f.tilerows * f.t.T, row.len() - row.li)
         : 0;
  }
  *first = P.ai[i0];
  return (PetscInt64)P.ai[i1] - P.ai[i0];
}

/* unit[v + 1] <- chunks of unit v: a warp a unit */
__global__ void __launch_bounds__(256) SpikeFillMapCount(const __grid_constant__ SpikeFillPlan f,
                                                         const __grid_constant__ SpikeFillCSR A, int codes, int *unit)
{
  const int runs = A.nparts * (f.newrow ? f.all : f.t.G), warps = gridDim.x * (blockDim.x / 32);

  for (int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < f.units; v += warps) {
    int chunks = 0;

    for (int run = threadIdx.x % 32; run < runs; run += 32) {
      PetscInt first;

      chunks += (int)((SpikeFillRun(f, A, v, run, &first) + 32 * codes - 1) / (32 * codes));
    }
    for (int d = 16; d; d /= 2) chunks += __shfl_xor_sync(SPIKE_WARP, chunks, d);
    if (threadIdx.x % 32 == 0) unit[v + 1] = chunks;
  }
}

/* unit[v] <- sum of unit[0 .. v], unit[0] = 0; one block; *total: the same sum of all, without overflow */
__global__ void __launch_bounds__(1024) SpikeFillMapScan(int units, int *unit, unsigned long long *total)
{
  __shared__ unsigned long long sums[1024];
  const int          each = (units + 1023) / 1024, v0 = min(units, (int)threadIdx.x * each), v1 = min(units, v0 + each);
  unsigned long long sum = 0, before;

  for (int v = v0; v < v1; v++) sum += unit[v + 1];
  sums[threadIdx.x] = sum;
  for (int d = 1; d < 1024; d *= 2) {
    __syncthreads();
    before = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  __syncthreads();
  sum = threadIdx.x ? sums[threadIdx.x - 1] : 0;
  for (int v = v0; v < v1; v++) unit[v + 1] = (int)(sum += unit[v + 1]);
  if (threadIdx.x == 0) unit[0] = 0;
  if (threadIdx.x == 1023) *total = sums[1023];
}

/*
  A block a unit: its chunks, and a warp a row the codes of the row's entries. *extra <- most entries of a row outside
  the half-bandwidths
*/
__global__ void __launch_bounds__(256)
  SpikeFillMapMake(const __grid_constant__ SpikeFillPlan f, const __grid_constant__ SpikeFillCSR A, int codes,
                   unsigned short *code, unsigned long long *chunk, int *extra)
{
  extern __shared__ char shared[];
  const int runs1 = f.newrow ? f.all : f.t.G, runs = A.nparts * runs1, size = 32 * codes, lane = threadIdx.x % 32,
            warp = threadIdx.x / 32, warps = blockDim.x / 32;
  PetscInt *first = (PetscInt *)shared;    /* [runs] entry */
  int      *start = (int *)(first + runs); /* [runs] chunk of the unit */
  int       most  = 0;

  for (int v = blockIdx.x; v < f.units; v += gridDim.x) {
    const int chunk0 = f.unit[v];

    if (warp == 0) {
      for (int run0 = 0, sum = 0; run0 < runs; run0 += 32) {
        const int run = run0 + lane;
        PetscInt  k   = 0;
        int       n = run < runs ? (int)((SpikeFillRun(f, A, v, run, &k) + size - 1) / size) : 0, below = n;

        for (int d = 1; d < 32; d *= 2) {
          const int w = __shfl_up_sync(SPIKE_WARP, below, d);

          if (lane >= d) below += w;
        }
        if (run < runs) {
          first[run] = k;
          start[run] = sum + below - n;
        }
        sum += __shfl_sync(SPIKE_WARP, below, 31);
      }
    }
    __syncthreads();
    for (int run = warp; run < runs; run += warps) {
      PetscInt         k0;
      const PetscInt64 count = SpikeFillRun(f, A, v, run, &k0);

      for (PetscInt64 k = (PetscInt64)lane * size; k < count; k += 32 * size)
        chunk[(PetscInt64)chunk0 + start[run] + k / size] = (unsigned long long)(k0 + k) |
                                                            (unsigned long long)min((PetscInt64)size, count - k) << 48 |
                                                            (unsigned long long)(run / runs1) << 56;
    }
    for (int y = warp; y < f.all; y += warps) {
      const SpikeFillPlace at      = SpikeFillPlaceOf(f, y);
      const SpikeFillRow   row     = SpikeFillRowOf(f, SpikeFillUnitOf(f, v), at);
      const PetscInt       i       = row.first + row.li;
      int                  outside = 0;
      PetscInt             old;

      if (!row.valid()) continue;
      old = f.oldrow ? f.oldrow[i] : i;
      for (int part = 0; part < A.nparts; part++) {
        const SpikeCSR &P   = A.part[part];
        const int       run = part * runs1 + (f.newrow ? y : at.m);
        const PetscInt  end = P.ai[old + 1];

        for (PetscInt k0 = P.ai[old]; k0 < end; k0 += 32) {
          const PetscInt     k    = k0 + lane;
          const PetscInt     d    = k < end ? SpikeFillDistance(P, P.aj[k], f.newrow, i) : 0;
          const bool         out  = d > f.t.ku || -d > f.t.kl;
          const unsigned int outs = __ballot_sync(SPIKE_WARP, out);
          int                place;

          if (out) place = f.tilerows * f.columns * f.ld + (outside + __popc(outs & ((1u << lane) - 1))) * f.all + y;
          else place = (at.j * f.columns + SpikeFillColumn(f.t, f.magic, row.li % f.t.T, (int)d)) * f.ld + at.x;

          outside += __popc(outs);
          if (k < end) {
            const PetscInt64 e = (PetscInt64)k - first[run], c = (PetscInt64)chunk0 + start[run] + e / size;
            const int        w = (int)(e % size);

            code[(c * 32 + w % 32) * codes + w / 32] = (unsigned short)min(place, (int)SPIKE_MAP_NONE);
          }
        }
      }
      most = max(most, outside);
    }
    __syncthreads();
  }
  if (lane == 0 && most) atomicMax(extra, most);
}
