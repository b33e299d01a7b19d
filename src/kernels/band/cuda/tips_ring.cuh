/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_ring.cuh: tile rows of a partition in shared memory, some steps ahead of their use */
#pragma once

#include "band_tiles.cuh"
#include "tile_places.cuh"
#include "kernels/common/cuda/async.cuh"

#define SPIKE_RING_STAGES 4 /* at most */

/*
  How the warps of a group copy tiles to the places of SpikeLane, each some of their columns. ld: distance of columns in
  memory
*/
template <typename F, int N8>
struct SpikeTileFetch {
  int  T, ld, r0, c0, dc; /* of the lane: row, first column, distance of the others */
  bool pairs;             /* two numbers are copied at once */

  __device__ SpikeTileFetch(const SpikeTiles &t, int warp, int warps) :
    T(t.T), ld(t.G * t.T), pairs(sizeof(F) < 16 && t.T % 2 == 0)
  {
    const int lane = threadIdx.x & 31, rows = pairs ? 2 : 1, pieces = T / rows, columns = 32 / pieces;

    r0 = lane % pieces * rows;
    c0 = lane / pieces < columns ? warp * columns + lane / pieces : T;
    dc = warps * columns;
  }
  /* `count` tiles, at most 4: neighbours in memory, but for the last one, which lies `jump` numbers further on */
  __device__ void operator()(F *to, const F *tiles, int count, int jump) const
  {
    const PetscInt64 size = T * ld;

#pragma unroll 1
    for (int c = c0; c < T; c += dc) {
      F       *s = to + 32 * c + (r0 ^ SpikeLane<F>::swizzle(c));
      const F *f = tiles + c * ld + r0;

      SpikeUnroll(i, 4) {
        if (i < count) {
          const F *from = i == count - 1 ? f + jump : f;

          if (sizeof(F) < 16 && pairs) SpikeCopyAsync<sizeof(F) < 16 ? 2 * sizeof(F) : 16, true>(s, from);
          else SpikeCopyAsync<sizeof(F), true>(s, from);
        }
        s += SpikeTileShape<N8>::NPLACES;
        f += size;
      }
    }
  }
};

/*
  The tile rows that the warps of one spike go through, step after step, each in a stage of a ring: `tiles` tiles in the
  places of SpikeLane, and the diagonal after them. What no copy writes, rows and columns from T on, is zero. The warps
  copy together. Reads each tile once from memory, whatever the number of warps
*/
template <typename F, int N8>
struct SpikeStripRing {
  static constexpr int NPLACES = SpikeTileShape<N8>::NPLACES;

  const F   *band;
  F         *room;
  PetscInt64 rowsize;
  int        tiles, after, stages, slot; /* after: the diagonal, in tiles of a tile row */
  bool       first;                      /* the warp that copies the diagonal */

  SpikeTileFetch<F, N8> copy;

  __host__ __device__ static int elements(int tiles) { return tiles * NPLACES + 8 * N8; }

  __device__ SpikeStripRing(const SpikeTiles &t, const void *b, PetscInt p, F *room_, int tiles_, int stages_, int warp,
                            int warps) :
    band((const F *)b + t.group(p) + (p % t.G) * t.T),
    room(room_),
    rowsize(t.rowsize),
    tiles(tiles_),
    after(t.QL + t.QU),
    stages(stages_),
    slot(0),
    first(warp == 0),
    copy(t, warp, warps)
  {
  }
  __device__ const F *stage() const { return room + slot * elements(tiles); }
  __device__ const F *diagonal() const { return stage() + tiles * NPLACES; }

  /* Tiles `from` to `from` + count - 1 of tile row j on their way to the stage at hand, with the diagonal */
  __device__ void fetch(int j, int from, int count)
  {
    F        *to   = room + slot * elements(tiles);
    const int size = copy.T * copy.ld, r = threadIdx.x & 31;
    const F  *row = band + j * rowsize;

    copy(to, row + from * size, count, 0);
    if (first && r < copy.T) SpikeCopyAsync<sizeof(F)>(to + tiles * NPLACES + r, row + after * size + r);
  }
  __device__ void next()
  {
    if (++slot == stages) slot = 0;
  }
  /* All copies but those of the `younger` stages that were asked for last are there */
  __device__ static void wait(int younger)
  {
    if (younger >= 3) SpikeCopyWaitGroups<3>();
    else if (younger == 2) SpikeCopyWaitGroups<2>();
    else if (younger == 1) SpikeCopyWaitGroups<1>();
    else SpikeCopyWaitGroups<0>();
  }
  /* row(s) calls fetch() for step s, if there is such a step; barrier() is one of all warps of the spike */
  template <typename R>
  __device__ void begin(R row)
  {
#pragma unroll 1
    for (int s = 0; s < stages; s++) {
      row(s);
      SpikeCopyCommit();
      next();
    }
  }
  template <typename B>
  __device__ void arrive(B barrier) const
  {
    wait(stages - 1);
    barrier();
  }
  /* From step s to the next one, whose tile row is there then. What warps wrote for each other before is seen after */
  template <typename R, typename B>
  __device__ void turn(int s, R row, B barrier)
  {
    if (stages > 1) wait(stages - 2);
    barrier();
    row(s + stages);
    SpikeCopyCommit();
    next();
    if (stages == 1) {
      wait(0);
      barrier();
    }
  }
};
