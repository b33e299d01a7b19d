/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_columns.cuh: columns of one spike, 16 a warp, swept by a thread block through tiles in shared memory */
#pragma once

#include "tips_ring.cuh"
#include "tips_strip.cuh"

#define SPIKE_COLUMNS_STAGES 2   /* chunks in shared memory: one in use, one on its way */
#define SPIKE_COLUMNS_CHUNK  4   /* tiles that are copied together, at most             */
#define SPIKE_COLUMNS_PIECE  512 /* numbers of a strip in a tile row, at most: 16 x 32  */

/* What a warp does in a step */
typedef enum {
  SPIKE_WARP_HELPS, /* to copy, and no more                             */
  SPIKE_WARP_STRIP, /* with its strip of columns                        */
  SPIKE_WARP_COLUMN /* with a single column, a row a lane, the last one */
} SpikeWarpRole;

/*
  Forward and back through the tile rows of a partition, a chunk of tiles after the other. A strip is in fragments; its
  last Q tile rows are in shared memory of the warp, in the order of lanes, which is that of Y in memory too. Tiles and
  columns have zeros from T on. All threads of a thread block make the same calls. Reads a tile once for all columns;
  deterministic
*/
template <typename F, int N8>
struct SpikeColumns {
  static constexpr int   NPLACES = SpikeTileShape<N8>::NPLACES, STRIP = 16 * 8 * N8, BLOCKS = N8;
  typedef SpikeStrip<N8> Strip;
  typedef F              Factor;

  const SpikeTipsArgs &a;
  const SpikeTiles    &t;
  const SpikeLane<F>   at;
  F                   *ring;
  SpikeArith          *strip, *column; /* slots: of the warp's strip, of the column */
  unsigned            *norm;           /* [2][SPIKE_TIPS_WARPS] */
  const F             *band, *diag;
  int                  lane, warp, below, above, parity;
  /* tiles of a row, with the corner; the stage in use; row and first tile of the next chunk to copy */
  int  tiles, stage, fj, fi;
  bool back;

  SpikeTileFetch<F, N8> copy;

  /* Numbers of a chunk of so many tiles, after which comes the diagonal */
  __host__ __device__ static int numbers(int tiles) { return tiles * NPLACES + 32; }
  __device__ int                 chunk() const { return numbers(a.chunk); }
  /* Bytes of shared memory for so many strips, and a column where there is one */
  static size_t shared(int strips, int slots, int most, bool column)
  {
    return SPIKE_COLUMNS_STAGES * (size_t)numbers(most) * sizeof(F) +
           sizeof(SpikeArith) * (size_t)slots * (strips * STRIP + (column ? 32 : 0));
  }

  __device__ SpikeColumns(const SpikeTipsArgs &args, unsigned char *shared, unsigned *reduce) :
    a(args),
    t(args.t),
    ring((F *)shared),
    norm(reduce),
    lane(threadIdx.x & 31),
    warp(threadIdx.x >> 5),
    parity(0),
    copy(args.t, threadIdx.x >> 5, blockDim.x >> 5)
  {
    SpikeArith *numbers = (SpikeArith *)(ring + SPIKE_COLUMNS_STAGES * chunk());

    strip  = numbers + warp * a.slots * STRIP;
    column = numbers + a.strips * a.slots * STRIP;
    for (int e = threadIdx.x; e < SPIKE_COLUMNS_STAGES * chunk(); e += blockDim.x) ring[e] = F(0.0);
  }
  /* The spike is one of partition p */
  __device__ void partition(const void *all, PetscInt p)
  {
    band  = (const F *)all + t.group(p) + (p % t.G) * t.T;
    diag  = band + t.tile(t.QL + t.QU);
    below = t.below(p);
    above = t.above(p);
  }
  /* The next chunk on its way to a stage, if there is one */
  __device__ void fetch(F *to)
  {
    if (fj >= 0 && fj < t.tilerows) {
      const int size = copy.T * copy.ld, count = PetscMin(a.chunk, tiles - fi), Q = back ? t.QU : t.QL;
      const F  *row = band + fj * t.rowsize + (PetscInt64)(back ? t.QL : 0) * size;

      copy(to, row + fi * size, count, fi + count < tiles ? 0 : (Q - tiles) * size);
      fi += a.chunk;
      if (fi >= tiles) {
        if (warp == 0 && lane < copy.T)
          SpikeCopyAsync<sizeof(F)>(to + chunk() - 32 + lane, diag + fj * t.rowsize + lane);
        fi = 0;
        fj += back ? -1 : 1;
      }
    }
    SpikeCopyCommit();
  }
  /* Chunks from row j on, in the order in which step() asks for them */
  __device__ void begin(bool back_, int j)
  {
    const int Q = back_ ? t.QU : t.QL, own = back_ ? above : below;

    back  = back_;
    tiles = PetscMin(own + 1, Q);
    stage = 0;
    fj    = j;
    fi    = 0;
    SpikeCopyWaitGroups<0>();
    __syncthreads();
    fetch(ring);
    fetch(ring + chunk());
    SpikeCopyWaitGroups<1>();
    __syncthreads();
  }
  /* To the next chunk, when all warps have done with this one */
  __device__ void turn()
  {
    SpikeCopyWaitGroups<0>();
    __syncthreads();
    fetch(ring + stage * chunk());
    stage ^= 1;
  }

  __device__ int slot(int j) const { return (j % a.slots + a.slots) % a.slots; }

  /* acc += a part of the tile times x, a row a lane */
  template <int PART>
  __device__ void times(const F *tile, const SpikeArith *x, SpikeArith &acc) const
  {
    SpikeArith sum[4];

    SpikeUnroll(i, 4) sum[i] = 0.0;
#pragma unroll 1
    for (int o = 0; o < 8 * N8; o += 8) {
      SpikeUnroll(h, 4) {
        SpikeArith v[2];

        SpikePair(x + o + 2 * h, v[0], v[1]);
        SpikeUnroll(e, 2) {
          const int        i = 2 * h + e, k = o + i;
          const bool       some = PART == SPIKE_STRIP_FULL  ? true
                                : PART == SPIKE_STRIP_LOWER ? lane <= k
                                : PART == SPIKE_STRIP_LINV  ? lane > k
                                : PART == SPIKE_STRIP_UPPER ? lane >= k
                                                            : lane < k;
          const SpikeArith p    = SpikeArith(tile[32 * k + (lane ^ SpikeLane<F>::swizzle(i))]);

          if (some) sum[i & 3] = sum[i & 3] + p * v[e];
        }
      }
    }
    acc = acc + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }

  /*
    Tile row j of Y (forward) or X (back) in the slot of j, given the rows before, those from the row `from` on (back:
    all; what lies after the end is in the slots). rhs, y: right-hand side and result of all strips, NULL: zero, and not
    wanted. A column has no right-hand side. Returns the lane's magnitude of a column
  */
  template <bool FROMEND>
  __device__ unsigned step(int j, int from, SpikeWarpRole role, const PetscScalar *rhs, PetscScalar *y)
  {
    constexpr int CORNER = FROMEND ? SPIKE_STRIP_UPPER : SPIKE_STRIP_LOWER,
                  HALF   = FROMEND ? SPIKE_STRIP_ABOVE : SPIKE_STRIP_LINV;
    const int  Q = FROMEND ? t.QU : t.QL, here = slot(j), atcorner = slot(FROMEND ? j + Q : j - Q);
    Strip      acc;
    SpikeArith one = 0.0;

    if (role == SPIKE_WARP_STRIP) SpikeStripClear<N8>(acc);
#pragma unroll 1
    for (int first = 0; first < tiles || !first; first += a.chunk) {
      const F   *tile  = ring + stage * chunk();
      const bool last  = first + a.chunk >= tiles;
      const int  count = PetscMin(a.chunk, tiles - first) - (last && tiles ? 1 : 0);

      if (role == SPIKE_WARP_STRIP) {
#pragma unroll 1
        for (int i = 0; i < count; i++, tile += NPLACES) {
          const int q = first + i + 1;
          int       s = FROMEND ? here + q : here - q;

          s += s < 0 ? a.slots : s >= a.slots ? -a.slots : 0;
          if (FROMEND || j - q >= from) {
            Strip x;

            SpikeStripGet(strip + s * STRIP, x);
            SpikeStripTimes<SPIKE_STRIP_FULL, true>(at, tile, (const F *)NULL, x, acc);
          }
        }
        if (last) {
          const F *d = ring + (stage + 1) * chunk() - 32 + 2 * at.q;
          Strip    b;

          if (rhs) SpikeStripGet(rhs + warp * STRIP, b);
          else SpikeStripClear<N8>(b);
          if (tiles && (FROMEND || j - Q >= from)) {
            Strip x;

            SpikeStripGet(strip + atcorner * STRIP, x);
            SpikeStripTimes<CORNER, true>(at, tile, (const F *)NULL, x, acc);
          }
          SpikeStripEach<N8>(acc, [&](SpikeArith &v, int m, int n, int e) {
            b[m][n][e] = b[m][n][e] - v;
            v          = FROMEND ? b[m][n][e] * SpikeArith(d[8 * n + e]) : b[m][n][e];
          });
          if (tiles) SpikeStripTimes<HALF, true>(at, tile, (const F *)NULL, b, acc);
          SpikeStripPut(strip + here * STRIP, acc);
          if (y) SpikeStripPut(y + warp * STRIP, acc);
        }
      } else if (role == SPIKE_WARP_COLUMN) {
        for (int i = 0; i < count; i++, tile += NPLACES)
          times<SPIKE_STRIP_FULL>(tile, column + 32 * slot(FROMEND ? j + first + i + 1 : j - first - i - 1), one);
        if (last) {
          const SpikeArith d = SpikeArith(ring[(stage + 1) * chunk() - 32 + lane]);

          if (tiles) times<CORNER>(tile, column + 32 * atcorner, one);
          one = -one;
          __syncwarp();
          column[32 * here + lane] = one;
          __syncwarp();
          if (FROMEND) one = one * d;
          if (tiles) times<HALF>(tile, column + 32 * here, one);
          __syncwarp();
          column[32 * here + lane] = one;
          __syncwarp();
        }
      }
      turn();
    }
    return role == SPIKE_WARP_COLUMN ? SpikeMagnitude(one) : 0;
  }
  /* Largest magnitude of a thread block */
  __device__ double reduce(unsigned v)
  {
    unsigned *n = norm + parity * SPIKE_TIPS_WARPS;

    v = SpikeWarpMaxUnsigned(v);
    if (!lane) n[warp] = v;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / 32; w++) v = PetscMax(v, n[w]);
    parity = !parity;
    return SpikeMagnitudeValue(v);
  }
  /* The warp's slots: zeros, or in a column signs */
  __device__ void clear(SpikeWarpRole role) const
  {
    __syncwarp();
    if (role == SPIKE_WARP_STRIP)
      for (int e = lane; e < a.slots * STRIP; e += 32) strip[e] = 0.0;
    else if (role == SPIKE_WARP_COLUMN)
      for (int e = lane; e < a.slots * 32; e += 32) column[e] = lane < t.T ? SpikeSign(e) : SpikeArith(0.0);
    __syncwarp();
  }
};

/* SpikeColumns::shared() for tiles of T rows */
template <typename F>
static size_t SpikeColumnsShared(int T, int strips, int slots, int most, bool column)
{
  return T <= 16 ? SpikeColumns<F, 2>::shared(strips, slots, most, column)
       : T <= 24 ? SpikeColumns<F, 3>::shared(strips, slots, most, column)
                 : SpikeColumns<F, 4>::shared(strips, slots, most, column);
}

/*
  The right-hand side of a warp's strip, `nc` columns of h numbers, whose number 0 is in row k0 of the first of `count`
  tile rows, to the place of Y. Out of line, so that registers are left to the steps
*/
template <typename F, int N8>
__device__ static __noinline__ void SpikeColumnsBegin(const PetscScalar *A, PetscScalar *Y, int size, int h, int nc,
                                                      int k0, int T, int count)
{
  for (int i = 0; i < count; i++) {
    SpikeStrip<N8> b;

    SpikeStripLoad(SpikeLane<F>(), A, h, nc, 16 * (threadIdx.x / 32), k0 - i * T, T, b);
    SpikeStripPut(Y + (PetscInt64)i * size, b);
  }
}
