/* SPDX-License-Identifier: BSD-2-Clause */
/* band_tiles.cuh: how the CUDA backend stores a partitioned band, and what its files share */
#pragma once

#include "kernels/common/cuda/device.cuh"
#include "kernels/common/cuda/scalar.cuh"
extern "C" {
#include "kernels/band/band.h"
}

/*
  A partition is stored as rows of T x T tiles, T <= 32, with QL tiles below and QU above the diagonal tile of a tile
  row. A warp works with one matrix row a lane; where T <= 16 it has a group of G <= 32 / T partitions. The last tile on
  each side is a corner: all entries of the lower corner lie on and above its diagonal, and its strictly lower half
  holds that of the diagonal tile; likewise the upper corner holds the strictly upper half of the diagonal tile. That
  makes (QL + QU) T + 1 values a row:

      tile q - 1        D_{j,j-q}, later L_{j,j-q}           q = 1 .. QL, the corner last
      tile QL + q - 1   D_{j,j+q}, later U_{j,j+q}           q = 1 .. QU, the corner last
      diagonal          diagonal of D_jj, later of U_jj^-1

  After the factorization the halves of the diagonal tile are those of L_jj^-1 (unit diagonal) and U_jj^-1, so that a
  step of a sweep consists of products. With kl = 0 (ku = 0) the lower (upper) half of a diagonal tile is zero and not
  stored. Tiles before the first column or after the last one hold zeros, except the halves kept in a corner. Partition
  p is member p % G of group p / G. Element (r, c) of a tile of member m is at (c G + m) T + r: a warp reads consecutive
  values. Rows after the end of a partition, and partitions after the last one, have a one on the diagonal.

  Where own is there, below(p) <= QL and above(p) <= QU, both at least 1 where there are tiles on that side, are the
  tiles on either side of the diagonal one that have entries in partition p. The others hold zeros and keep them through
  the factorization: kernels may leave them out, but for the corner, whose other half is that of the diagonal tile.
*/
struct SpikeTiles {
  PetscInt        n, np;
  int             kl, ku;
  int             T, QL, QU, G;
  const PetscInt *start;    /* [np + 1] */
  const PetscInt *active;   /* [np + 1] 0 or 1 */
  const int      *own;      /* [2 np] below(p), above(p), with G = 1 only; NULL: QL and QU */
  int             tilerows; /* tile rows of every partition */
  PetscInt64      rowsize;  /* elements of a tile row of a group; with T > 16 rounded up to 8 */

  __host__ __device__ PetscInt64 group(PetscInt p) const { return (p / G) * (PetscInt64)tilerows * rowsize; }
  __host__ __device__ PetscInt64 tile(int t) const { return (PetscInt64)t * T * T * G; }
  /* element (r, c) of tile t in tile row j of partition p */
  __host__ __device__ PetscInt64 at(PetscInt p, int j, int t, int r, int c) const
  {
    return group(p) + j * rowsize + tile(t) + ((PetscInt64)c * G + p % G) * T + r;
  }
  __host__ __device__ PetscInt64 diag(PetscInt p, int j, int r) const
  {
    return group(p) + j * rowsize + tile(QL + QU) + (p % G) * T + r;
  }
  /* element (r, c) of the diagonal tile in its three places; r > c only with QL > 0, r < c only with QU > 0 */
  __host__ __device__ PetscInt64 diagtile(PetscInt p, int j, int r, int c) const
  {
    if (r == c) return diag(p, j, r);
    return at(p, j, r > c ? QL - 1 : QL + QU - 1, r, c);
  }
  __host__ __device__ PetscInt groups() const { return (np + G - 1) / G; }
  __device__ int               below(PetscInt p) const { return own ? own[2 * p] : QL; }
  __device__ int               above(PetscInt p) const { return own ? own[2 * p + 1] : QU; }
};

/* Of a side of Q tiles, of which the first `some` have entries, and the corner, Q: the tile that comes after tile q */
__device__ static inline int SpikeNextTile(int q, int some, int Q)
{
  return q == some && some < Q ? Q : q + 1;
}

/* The first one of tiles q, q + by, q + 2 by, ..., above Q where there is none */
__device__ static inline int SpikeTileFrom(int q, int by, int some, int Q)
{
  while (q > some && q < Q) q += by;
  return q;
}

/* elements after the last one that may be read, for nothing, where a tile is not stored */
#define SPIKE_BAND_AFTER 1024

#define SPIKE_CUDA_MAX_BANDWIDTH 512 /* the solves of the reduced systems keep a tip in shared memory */

/* What a setup function has seen */
struct SpikeStatus {
  /*
    smallest, all ones where there is none; badrow of pivots: the complement of the smallest, zero where there is none;
    of interfaces SpikeReducedKey()
  */
  unsigned long long badrow, overflowrow, zerorow;
  unsigned long long nboost;
  double             value[4]; /* of fill: sum, dropped, maxdropped, norm */
};

/*
  What setup leaves on the device for finish(), which copies it to pinned host memory; after it are rate[2 (np + 1)
  blocks] of W, then of V, and window[2 np]
*/
struct SpikeReport {
  SpikeStatus fill, factor, reduced; /* the last two are zero between finish() and the kernels that add to them */
  int         count;                 /* of the spikes for the second launch of the tips                        */
  int         ticket[2];             /* of the first one: units that are taken                                 */
  int         again;                 /* a factorization that filled has met a pivot that it cannot judge       */
};

/* Where the entries of a pattern go, made by the first fill (fill_map.cu) */
struct SpikeFillMap {
  int                 state;           /* 0: not looked at yet, 1: there is one, 2: of the factorization, -1: none */
  int                 rows, tilerows;  /* shape of a unit of work */
  int                 units, chunks;   /* of the matrix */
  int                 codes;           /* of a lane in a chunk; state 2: of a row */
  int                 extra;           /* most entries of a row that lie outside the band */
  int                 threads, blocks; /* of a fill */
  unsigned short     *code;            /* [chunks * 32 * codes]; state 2: as SpikeFilledPlan has it */
  unsigned long long *chunk;           /* [chunks] */
  int                *unit;            /* [units + 1] its first chunk, and two counters */
  PetscReal           bytes;
  bool                apart; /* fills are not to be left to the factorization */
};

struct SpikeTriSystems; /* systems.cu */
struct SpikePivoted;    /* pivoted.cuh */

struct SpikeCUDA {
  SpikeTiles         t;
  PetscInt64         elements;
  PetscInt          *dstart, *dactive; /* dactive: [np + 1], and [np + 1] interfaces whose B and C a fill makes */
  int               *owntiles;         /* SpikeTiles.own */
  char              *room; /* for an apply or for a setup, which do not meet: work, or scratch and after it spike */
  size_t             roomsize;
  PetscBool          roomfull;            /* whether it has room for the setup of full SPIKE */
  PetscScalar       *work;                /* [maxrhs * n] for the corrections */
  void              *scratch;             /* reductions */
  PetscScalar       *spike;               /* windows of the spikes, one batch of interfaces */
  PetscInt64         spikesize;           /* elements of spike, from SpikeTipsWork_CUDA() */
  int               *window;              /* [2 np] wtop, wbot on the device, in tile rows; in the report */
  SpikeReport       *report, *hostreport; /* on the device, pinned on the host */
  size_t             reportsize;
  int                blocks;      /* of columns of a spike, in the report */
  double            *badvalue;    /* [np] magnitude of a partition's first bad pivot, [np + 1] of a reduced system's */
  PetscInt          *oldrow;      /* [n] the inverse of the places of rows, made by the first fill that has some */
  const SpikeDevice *gpu;         /* what it has */
  PetscReal          windowrows;  /* sum of wtop and wbot */
  int                correctrows; /* most tile rows that a correction goes over */
  size_t             sweepshared[2]; /* bytes of shared memory that the kernels of plain sweeps have by themselves, */
  /* and blocks that the registers of a multiprocessor are enough for: vectors in memory, in shared memory */
  int          sweepblocks[2];
  SpikeFillMap map;

  SpikeTriSystems *tri;     /* half-bandwidth 1 by the kernels of tridiagonal.h: no band; NULL else */
  SpikeBatch      *batch;   /* by those of batch.h: likewise                                        */
  SpikePivoted    *pivoted; /* factors with row exchanges, beside the raw band; NULL else           */

  SpikeCSR left; /* what a fill has left to the factorization; aa NULL: nothing */

  /* what the setup functions since the last finish() were given for their outcomes */
  SpikeFillStats *fillstats;
  SpikePivot     *pivot, *reducedpivot;
  PetscReal      *falloff;
};
