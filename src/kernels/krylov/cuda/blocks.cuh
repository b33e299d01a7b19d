/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.cuh: loops over the rows of a matrix of blocks that is lent, for any kernel that wants them in registers */
#pragma once

#include "mult.cuh"
#include "kernels/block/cuda/mult_buffer.cuh"
#include "kernels/block/cuda/mult_stream.cuh"

/* The rows of blocks of this size, or of any for 0, go by way of shared memory */
template <int BLOCKSIZE>
constexpr bool SpikeKrylovIsBuffered = BLOCKSIZE &&SpikeBlockPrefersBuffer(BLOCKSIZE);

template <int BLOCKSIZE, bool = SpikeKrylovIsBuffered<BLOCKSIZE>>
struct SpikeKrylovBlockMemory {
};

template <int BLOCKSIZE>
struct SpikeKrylovBlockMemory<BLOCKSIZE, true> {
  SpikeBlockBufferMemory<BLOCKSIZE, PetscScalar> warp[SPIKE_KRYLOV_THREADS / 32];
};

/*
  Rows for kernels of products with a step or a basis step: BLOCKSIZE is one that has a kernel of its own where the
  blocks begin at multiples of 16 bytes, or 0 for any. A warp takes t.k block rows at a time. t.X is x
*/
template <int BLOCKSIZE>
struct SpikeKrylovBlockRows {
  static constexpr int LANES = 1;

  SpikeBlockItem t;

  using SharedMemory = SpikeKrylovBlockMemory<BLOCKSIZE>;

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(SharedMemory &shared, PetscInt number, PetscInt threads, X &&, G &&fetch,
                                       F &&f) const
  {
    const auto one = [&](PetscCount i, PetscScalar y) { f((PetscInt)i, y, fetch((PetscInt)i)); };

    for (PetscInt64 row0 = (PetscInt64)(number / 32) * t.k; row0 < t.n; row0 += (PetscInt64)(threads / 32) * t.k) {
      if constexpr (SpikeKrylovIsBuffered<BLOCKSIZE>)
        SpikeBlockBuffer(
          t, (PetscInt)row0, shared.warp[threadIdx.x / 32], [] {}, one);
      else if constexpr (BLOCKSIZE)
        SpikeBlockVector<BLOCKSIZE, PetscScalar>(t, (PetscInt)row0, [&](PetscCount i, PetscScalar *y) {
          SpikeUnroll(p, (SpikeBlockVectorShape<BLOCKSIZE, PetscScalar>::P)) one(i + p, y[p]);
        });
      else SpikeBlockStream<PetscScalar>(t, (PetscInt)row0, one);
    }
  }
};

/*
  Rows that have waited for blocks in columns of other ranks: what the kernel before has left in y, and these. Row k of
  t is block row row[k]; t.X is ghost
*/
struct SpikeKrylovOffBlocks {
  static constexpr int LANES = 1;

  SpikeBlockItem     t;
  const PetscInt    *row;
  const PetscScalar *ghost, *left;

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscInt number, PetscInt threads, X &&, G &&fetch,
                                       F &&f) const
  {
    SpikeBlockItem s = t;

    s.X = ghost;
    for (PetscInt64 row0 = (PetscInt64)(number / 32) * t.k; row0 < t.n; row0 += (PetscInt64)(threads / 32) * t.k)
      SpikeBlockStream<PetscScalar>(s, (PetscInt)row0, [&](PetscCount i, PetscScalar y) {
        const PetscInt k = (PetscInt)(i / t.bs), at = row[k] * t.bs + (PetscInt)(i - (PetscCount)k * t.bs);

        f(at, SpikeKrylovLoad(left + at) + y, fetch(at));
      });
  }
};

/*
  The blocks of A for kernels for this BLOCKSIZE, in `rows` block rows; resident: thread blocks of a multiprocessor, for
  rows that are buffered
*/
template <int BLOCKSIZE>
static SpikeBlockItem SpikeKrylovBlockItem(const SpikeKrylovCUDA *h, const SpikeBlockMat *A, PetscInt rows,
                                           PetscInt resident)
{
  const SpikeBlockMatCUDA *m               = (const SpikeBlockMatCUDA *)A->data;
  const PetscInt           multiprocessors = h->gpu->multiprocessors, size = (PetscInt)sizeof(PetscScalar);
  SpikeBlockItem           t;

  memset((void *)&t, 0, sizeof(t));
  t.bs  = (int)A->bs;
  t.n   = rows;
  t.a   = A->a;
  t.ai  = m->ai;
  t.aj  = m->aj;
  t.ldx = 1;
  if (SpikeKrylovIsBuffered<BLOCKSIZE>)
    t.k = (int)SpikeBlockBufferWarpRows(t.bs, (int)size, rows, m->blocks,
                                        SPIKE_KRYLOV_THREADS / 32 * resident * multiprocessors);
  else if (BLOCKSIZE) t.k = (int)SpikeBlockWarpRows(SPIKE_BLOCK_KIND_VECTOR, rows, A->bs, size, multiprocessors);
  else t.k = (int)SpikeBlockStreamRows(32 / SpikeBlockStreamLanes(t.bs), rows, multiprocessors);
  return t;
}

/* Rows of a warp are t.k at a time: how many warps that makes busy */
static PetscInt SpikeKrylovBlockWarps(const SpikeBlockItem *t)
{
  return t->n / t->k + (t->n % t->k ? 1 : 0);
}

/* Block rows that wait for ghost[], of which y has the sums of the other columns; without such rows no warp is busy */
static SpikeKrylovOffBlocks SpikeKrylovWaitingBlocks(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                                     const PetscScalar *y)
{
  SpikeKrylovOffBlocks waiting;

  memset((void *)&waiting, 0, sizeof(waiting));
  waiting.t.k = 1;
  if (c->off.count) {
    waiting.t    = SpikeKrylovBlockItem<0>(h, c->loan.off, c->off.count, 0);
    waiting.t.ai = c->off.at;
    waiting.row  = c->off.row;
    waiting.left = y;
  }
  return waiting;
}

/* call(BLOCKSIZE) with the size of blocks that have kernels of their own, and lie where these want them, else 0 */
template <typename F>
static PetscErrorCode SpikeKrylovBlocksDispatch(const SpikeBlockMat *A, F &&call)
{
  PetscFunctionBegin;
  switch ((size_t)A->a % 16 == 0 ? A->bs : 0) {
#define SPIKE_BLOCKS_CASE(SIZE) \
  case SIZE: \
    PetscCall(call(std::integral_constant<int, SIZE>())); \
    break;
    SPIKE_BLOCKS_CASE(2)
    SPIKE_BLOCKS_CASE(3)
    SPIKE_BLOCKS_CASE(4)
    SPIKE_BLOCKS_CASE(5)
    SPIKE_BLOCKS_CASE(6)
    SPIKE_BLOCKS_CASE(7)
    SPIKE_BLOCKS_CASE(8)
    SPIKE_BLOCKS_CASE(12)
    SPIKE_BLOCKS_CASE(16)
#undef SPIKE_BLOCKS_CASE
  default:
    PetscCall(call(std::integral_constant<int, 0>()));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
