/* SPDX-License-Identifier: BSD-2-Clause */
/*
  policy.cuh: all choices of the CUDA backend of block.h that change speed and not results: which kernels exist, which
  one takes a task, how many threads and thread blocks it gets. Fitted on an H200: benchmarks/results/blocks-cuda.txt
*/
#pragma once

#include "kernels/block/block.h"

#define SPIKE_BLOCK_THREADS       512 /* of a thread block of tall blocks, and of products of one vector or any size */
#define SPIKE_BLOCK_WARPS         (SPIKE_BLOCK_THREADS / 32)
#define SPIKE_BLOCK_ITEMS         32    /* tasks of a launch, whose argument they are */
#define SPIKE_BLOCK_TICKETS       33    /* of a task: one for its groups of thread blocks, and one for each group */
#define SPIKE_BLOCK_SHARED        32768 /* bytes of shared memory of axpy and dot */
#define SPIKE_BLOCK_AHEAD         4     /* MULT, TRANSPOSE: pieces of a row that a warp loads at once */
#define SPIKE_BLOCK_SOLVE_THREADS 128
#define SPIKE_BLOCK_FACTOR_MOST   8  /* warps of a row of the factorization, at most */
#define SPIKE_BLOCK_SHORT         32 /* rows are short where L and U together have at most that many entries a row */

/*
  What a kernel does. Kernels have a template parameter MAXCOLS, the largest number of columns that they take: 4, 8, 16
  or 32

    kind        operation                            block sizes         columns
    AXPY, DOT   tall blocks                          -                   4, 8, 16, 32
    MULT        A X                                  any                 8, 16, 32
    TRANSPOSE   A^T X, A^H X                         any                 8, 16, 32
    WIDE        A X by tensor cores                  4, 8, 16            4, 8, 16, 32
    LANES       A X by multiplications of the lanes  4; 8 (4 columns)    4, 8, 16
    VECTOR      A x                                  4, 8, 16            1 (MAXCOLS is 4)
    BUFFER      A x                                  1 to 15             1 (MAXCOLS is 4)
    STREAM      A x                                  any                 1 (MAXCOLS is 4)
*/
typedef enum {
  SPIKE_BLOCK_KIND_AXPY,
  SPIKE_BLOCK_KIND_DOT,
  SPIKE_BLOCK_KIND_MULT,
  SPIKE_BLOCK_KIND_TRANSPOSE,
  SPIKE_BLOCK_KIND_WIDE,
  SPIKE_BLOCK_KIND_LANES,
  SPIKE_BLOCK_KIND_VECTOR,
  SPIKE_BLOCK_KIND_BUFFER,
  SPIKE_BLOCK_KIND_STREAM
} SpikeBlockKind;

/* Layout of X, Y, Z that a kernel is compiled for; EITHER: the task says which */
typedef enum {
  SPIKE_BLOCK_COLUMNMAJOR,
  SPIKE_BLOCK_ROWMAJOR,
  SPIKE_BLOCK_EITHER
} SpikeBlockLayout;

__host__ __device__ static constexpr int SpikeBlockColumns(int m)
{
  return m <= 4 ? 4 : m <= 8 ? 8 : m <= 16 ? 16 : 32;
}

__host__ __device__ static constexpr bool SpikeBlockIsTall(SpikeBlockKind kind)
{
  return kind == SPIKE_BLOCK_KIND_AXPY || kind == SPIKE_BLOCK_KIND_DOT;
}

/* A kernel for each block size, and not one for any */
__host__ __device__ static constexpr bool SpikeBlockHasSizes(SpikeBlockKind kind)
{
  return kind == SPIKE_BLOCK_KIND_WIDE || kind == SPIKE_BLOCK_KIND_LANES || kind == SPIKE_BLOCK_KIND_VECTOR ||
         kind == SPIKE_BLOCK_KIND_BUFFER;
}

/* A kernel for each layout */
__host__ __device__ static constexpr bool SpikeBlockHasLayouts(SpikeBlockKind kind)
{
  return SpikeBlockIsTall(kind) || kind == SPIKE_BLOCK_KIND_WIDE || kind == SPIKE_BLOCK_KIND_LANES;
}

/*
  Long column-major blocks of 8 bytes a value, axpy of 4 columns and dot of 8: the kernel that takes either layout is 11
  to 17 % faster than the one for column-major blocks
*/
__host__ __device__ static constexpr bool SpikeBlockPrefersEither(SpikeBlockKind kind, int columns, int size)
{
  return size == 8 &&
         ((kind == SPIKE_BLOCK_KIND_AXPY && columns == 4) || (kind == SPIKE_BLOCK_KIND_DOT && columns == 8));
}

/* Products by lanes are the fastest; size: bytes of a value */
__host__ __device__ static constexpr bool SpikeBlockPrefersLanes(int bs, int columns, int size, bool rowmajor)
{
  return bs == 8 || size > 8
         ? (bs == 4 || bs == 8) && columns == 4 && bs * size <= 64
         : bs == 4 && (columns == 4 || (columns == 8 && (size == 4 || !rowmajor)) || (columns == 16 && size == 4));
}

/*
  Products with one vector by way of shared memory are the fastest. Its loads are on their way whatever the rows are;
  those of VECTOR wait for each other at the end of a row, which blocks of 16 make long enough
*/
#define SPIKE_BLOCK_BUFFER_MOST 16
__host__ __device__ static constexpr bool SpikeBlockPrefersBuffer(int bs)
{
  return bs >= 1 && bs <= SPIKE_BLOCK_BUFFER_MOST && bs != 16;
}

/* There is such a kernel; bs: 0 where it is for any block size */
__host__ __device__ static constexpr bool SpikeBlockHasKernel(SpikeBlockKind kind, int columns, int bs,
                                                              SpikeBlockLayout layout, int size)
{
  if (SpikeBlockHasSizes(kind) ? bs == 0 : bs != 0) return false;
  if (SpikeBlockHasLayouts(kind) ? layout == SPIKE_BLOCK_EITHER && !SpikeBlockPrefersEither(kind, columns, size)
                                 : layout != SPIKE_BLOCK_EITHER)
    return false;
  if (kind == SPIKE_BLOCK_KIND_MULT || kind == SPIKE_BLOCK_KIND_TRANSPOSE) return columns > 4;
  if (kind == SPIKE_BLOCK_KIND_BUFFER) return columns == 4 && SpikeBlockPrefersBuffer(bs);
  if (bs != 0 && bs != 4 && bs != 8 && bs != 16) return false;
  if (kind == SPIKE_BLOCK_KIND_LANES) return SpikeBlockPrefersLanes(bs, columns, size, layout == SPIKE_BLOCK_ROWMAJOR);
  return (kind != SPIKE_BLOCK_KIND_VECTOR && kind != SPIKE_BLOCK_KIND_STREAM) || columns == 4;
}

/*
  Warps of a thread block. With 8, three thread blocks of WIDE on a multiprocessor have 80 registers a thread, and the
  memory of BUFFER is within what a kernel has without asking for more
*/
__host__ __device__ static constexpr int SpikeBlockWarps(SpikeBlockKind kind)
{
  return kind == SPIKE_BLOCK_KIND_WIDE || kind == SPIKE_BLOCK_KIND_LANES || kind == SPIKE_BLOCK_KIND_BUFFER
         ? 8
         : SPIKE_BLOCK_WARPS;
}

/*
  Thread blocks that a multiprocessor must hold, which bounds the registers of a thread. Products with blocks of 4 gain
  from more warps, those with blocks of 8 and 16 do not
*/
__host__ __device__ static constexpr int SpikeBlockLeast(SpikeBlockKind kind, int columns, int bs, int size,
                                                         bool rowmajor)
{
  if (SpikeBlockIsTall(kind)) return columns == 32 ? 1 : 2;
  if (kind == SPIKE_BLOCK_KIND_BUFFER) return 4;
  if (kind == SPIKE_BLOCK_KIND_LANES) return bs * size > 32 ? 2 : bs * size > 16 && rowmajor ? 3 : 4;
  if (kind == SPIKE_BLOCK_KIND_STREAM) return size > 8 ? 2 : 3;
  if (kind != SPIKE_BLOCK_KIND_WIDE || columns == 32) return 2;
  if (columns == 16) return bs == 8 && size == 4 ? 3 : 2;
  return bs == 4 && size <= 8 ? 4 : 3;
}

/* Kinds that share one kernel when a batch has several of them */
__host__ __device__ static constexpr bool SpikeBlockIsLight(SpikeBlockKind kind, int columns)
{
  return SpikeBlockIsTall(kind) && columns < 32;
}

/* Values of a load of 16 bytes, at least 1 */
__host__ __device__ static constexpr int SpikeBlockValues(int size)
{
  return size >= 16 ? 1 : 16 / size;
}

/*
  Axpy. Run: consecutive rows that a lane loads at once from a column-major block. Groups: groups of 8 rows that a warp
  has at a time, so that 64 bytes of each lane are on their way: 64 KB a multiprocessor, its share of the memory's rate
  times a latency of about a microsecond
*/
__host__ __device__ static constexpr int SpikeBlockAxpyRun(int columns, int size)
{
  return columns > 8 && SpikeBlockValues(size) > 2 ? 2 : SpikeBlockValues(size);
}
__host__ __device__ static constexpr int SpikeBlockAxpyGroups(int columns, int size)
{
  const int groups = 256 / (columns * size), run = SpikeBlockAxpyRun(columns, size);

  return groups > 4 ? 4 : groups > run ? groups : run;
}

/* Axpy and dot: rows that a thread block takes at a time */
static inline PetscInt SpikeBlockTile(SpikeBlockKind kind, int columns, int size)
{
  return SPIKE_BLOCK_WARPS * (kind == SPIKE_BLOCK_KIND_AXPY ? 8 * SpikeBlockAxpyGroups(columns, size)
                              : columns == 32               ? 8
                                                            : 16);
}

/* n / tile, rounded up; whether `blocks` thread blocks have more than 8 tiles each */
static inline PetscInt SpikeBlockTiles(PetscInt n, PetscInt tile)
{
  return n / tile + (n % tile ? 1 : 0);
}
static inline bool SpikeBlockIsLong(PetscInt n, PetscInt tile, PetscInt blocks)
{
  return SpikeBlockTiles(n, tile) / 8 > blocks;
}

/* Thread blocks of an axpy: as many as `most`, or one a tile where that is faster for long blocks */
static inline unsigned SpikeBlockAxpyBlocks(int columns, int size, bool rowmajor, PetscInt n, PetscInt most)
{
  const PetscInt tile = SpikeBlockTile(SPIKE_BLOCK_KIND_AXPY, columns, size), tiles = SpikeBlockTiles(n, tile);
  const bool     each = size == 4 ? columns == 8 : size == 8 && (columns == 8 || columns == 16) && !rowmajor;

  return (unsigned)(each && SpikeBlockIsLong(n, tile, most) ? tiles : PetscMin(tiles, most));
}

/* Thread blocks of a dot. The order of its sums depends on them, so they depend on n, columns and device alone */
static inline unsigned SpikeBlockDotBlocks(PetscInt n, int columns, PetscInt multiprocessors)
{
  return (unsigned)PetscMax(1, PetscMin((columns == 32 ? 1 : 2) * multiprocessors,
                                        SpikeBlockTiles(n, SpikeBlockTile(SPIKE_BLOCK_KIND_DOT, columns, 0))));
}

/*
  Thread blocks of a group, which adds up its sums before groups do. All are one group up to 160 KB of sums: one thread
  block reads those as fast as two groups meet
*/
__host__ __device__ static inline unsigned SpikeBlockDotGroup(unsigned blocks, int sums)
{
  const unsigned most = blocks / (SPIKE_BLOCK_TICKETS - 1) + 1;

  return blocks * (unsigned)sums <= 20480 ? blocks : PetscMax(16u, most);
}

/* Dot: sums of other thread blocks that a thread loads at once */
__host__ __device__ static constexpr int SpikeBlockDotAhead(int sums, SpikeBlockLayout layout)
{
  return sums > 64 || layout == SPIKE_BLOCK_EITHER ? 16 : 34;
}

/*
  WIDE, VECTOR and STREAM: block rows of a warp, so that there are four waves or more of two thread blocks a
  multiprocessor. VECTOR: at least as many as make 512 bytes of blocks. STREAM: at least `side`, those that are side by
  side in a warp: a power of 2, as 16 is
*/
static inline PetscInt SpikeBlockWarpRows(SpikeBlockKind kind, PetscInt rows, PetscInt bs, PetscInt size,
                                          PetscInt multiprocessors)
{
  const PetscInt side = kind == SPIKE_BLOCK_KIND_VECTOR ? PetscMax(1, 512 / (bs * bs * size)) : 1;

  return PetscMax(side, PetscMin(16, rows / (8 * SPIKE_BLOCK_WARPS * multiprocessors)));
}

static inline PetscInt SpikeBlockStreamRows(PetscInt side, PetscInt rows, PetscInt multiprocessors)
{
  const PetscInt most = PetscMin(16, rows / (8 * SPIKE_BLOCK_WARPS * multiprocessors));

  return PetscMax(side, most / side * side);
}

/*
  BUFFER. Bytes of values that a warp has in shared memory: those of 8 warps, and what products with a step have beside
  them, are within the 48 KB that a kernel has without asking for more. Of blocks of 4 values and less, whose indices
  and x are as much as they, less is faster, by a sixth. A load from shared memory has Width values.
  Rows: neighbouring rows of a block that a lane has, all of them where 32 blocks fit in the buffer; else other lanes
  have the other ones. A warp takes AtOnce blocks in a step and has Steps of them in its buffer, at most 8, and no more
  than elements of x fit in 64 bytes of registers
*/
__host__ __device__ static constexpr int SpikeBlockBufferBytes(int bs, int size)
{
  return size > 8 ? 4608 : bs <= 2 ? 2304 : 5760;
}
__host__ __device__ static constexpr int SpikeBlockBufferWidth(int bs, int size)
{
  const int most = SpikeBlockValues(size);

  return bs % most == 0 ? most : bs % 2 == 0 && most > 1 ? 2 : 1;
}
__host__ __device__ static constexpr int SpikeBlockBufferRows(int bs, int size, int bytes)
{
  return 32 * bs * bs * size <= bytes ? bs : SpikeBlockBufferWidth(bs, size);
}
__host__ __device__ static constexpr int SpikeBlockBufferAtOnce(int bs, int size, int bytes)
{
  const int lanes = bs / SpikeBlockBufferRows(bs, size, bytes);

  return PetscMin(32 / lanes, bytes / (bs * bs * size));
}
__host__ __device__ static constexpr int SpikeBlockBufferSteps(int bs, int size, int bytes)
{
  const int fit  = bytes / (SpikeBlockBufferAtOnce(bs, size, bytes) * bs * bs * size),
            most = 64 / (SpikeBlockBufferRows(bs, size, bytes) * size);

  return PetscMax(1, PetscMin(fit, PetscMin(most, 8)));
}

/*
  BUFFER: block rows of a warp, of at most 31, with `blocks` blocks in all of them, for as many `warps` as the device
  holds at once: about four buffers' blocks, or two of larger blocks. All warps have as many turns, where they are few:
  a last one of some warps would take as long as one of all
*/
static inline PetscInt SpikeBlockBufferWarpRows(int bs, int size, PetscInt rows, PetscCount blocks, PetscInt warps)
{
  const int bytes       = SpikeBlockBufferBytes(bs, size),
            buffer      = SpikeBlockBufferAtOnce(bs, size, bytes) * SpikeBlockBufferSteps(bs, size, bytes);
  const PetscInt length = PetscMax(1, (PetscInt)(blocks / PetscMax(1, rows))),
                 most   = PetscMax(1, PetscMin(31, (bs > 3 ? 2 : 4) * buffer / length)),
                 share = rows / warps + (rows % warps ? 1 : 0), turns = share / most + (share % most ? 1 : 0);

  return PetscMax(1, share / PetscMax(1, turns) + (share % PetscMax(1, turns) ? 1 : 0));
}

/* Solves, for block rows of 8 RT and columns of 8 C8 */
template <int RT, int C8>
struct SpikeBlockSolvePolicy {
  /* steps of A that are loaded before anything is waited for; steps that are waited for at once */
  static constexpr int AHEAD = RT == 1 ? 3 : RT == 2 ? 6 : C8 == 1 ? 2 : 1;
  static constexpr int WAIT  = RT == 2 && C8 > 1 ? (C8 == 2 ? 3 : 2) : AHEAD;
  static constexpr int ACC   = RT <= 2 ? 2 : 1;                 /* sums side by side, for shorter chains */
  static constexpr int LEAST = RT <= 2 && RT * C8 <= 4 ? 3 : 1; /* thread blocks that a multiprocessor must hold */
  /* D is loaded before the waits */
  static constexpr bool EARLY = RT <= 2 || C8 == 1;
};

/* Solves: log2 of the warps that share a row, 8 columns each: with blocks of 4 latency limits, not bytes */
static inline int SpikeBlockSolveShift(PetscInt bs, int m)
{
  return bs > 4 || m <= 8 ? 0 : m <= 16 ? 1 : 2;
}

/* Factorization: warps of a row that has no kernel of its own; long rows have many updates */
static inline int SpikeBlockFactorWarps(PetscInt bs, bool isshort)
{
  return !isshort ? SPIKE_BLOCK_FACTOR_MOST : bs > 16 ? 4 : 1;
}
