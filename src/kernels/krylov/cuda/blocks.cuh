/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.cuh: loops over the rows of a matrix of blocks that is lent, for any kernel that wants them in registers */
#pragma once

#include "mult.cuh"
#include "kernels/block/cuda/mult_stream.cuh"

/*
  Rows for kernels of products with a step or a basis step: BLOCKSIZE is 4, 8 or 16 where the blocks begin at multiples
  of 16 bytes, or 0 for any. A warp takes t.k block rows at a time. t.X is x
*/
template <int BLOCKSIZE>
struct SpikeKrylovBlockRows {
  static constexpr int LANES = 1;

  SpikeBlockItem t;

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscInt number, PetscInt threads, X &&, G &&fetch,
                                       F &&f) const
  {
    for (PetscInt64 row0 = (PetscInt64)(number / 32) * t.k; row0 < t.n; row0 += (PetscInt64)(threads / 32) * t.k) {
      if constexpr (BLOCKSIZE)
        SpikeBlockVector<BLOCKSIZE, PetscScalar>(t, (PetscInt)row0, [&](PetscCount i, PetscScalar *y) {
          SpikeUnroll(p, (SpikeBlockVectorShape<BLOCKSIZE, PetscScalar>::P))
            f((PetscInt)(i + p), y[p], fetch((PetscInt)(i + p)));
        });
      else
        SpikeBlockStream<PetscScalar>(t, (PetscInt)row0,
                                      [&](PetscCount i, PetscScalar y) { f((PetscInt)i, y, fetch((PetscInt)i)); });
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

/* The blocks of A for kernels, in `rows` block rows; stream: for SpikeBlockStream() */
static SpikeBlockItem SpikeKrylovBlockItem(const SpikeKrylovCUDA *h, const SpikeBlockMat *A, PetscInt rows, bool stream)
{
  const SpikeBlockMatCUDA *m = (const SpikeBlockMatCUDA *)A->data;
  SpikeBlockItem           t;

  memset((void *)&t, 0, sizeof(t));
  t.bs  = (int)A->bs;
  t.n   = rows;
  t.a   = A->a;
  t.ai  = m->ai;
  t.aj  = m->aj;
  t.ldx = 1;
  t.k   = (int)(stream ? SpikeBlockStreamRows(32 / SpikeBlockStreamLanes(t.bs), rows, h->gpu->multiprocessors)
                       : SpikeBlockWarpRows(SPIKE_BLOCK_KIND_VECTOR, rows, A->bs, (PetscInt)sizeof(PetscScalar),
                                            h->gpu->multiprocessors));
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
    waiting.t    = SpikeKrylovBlockItem(h, c->loan.off, c->off.count, true);
    waiting.t.ai = c->off.at;
    waiting.row  = c->off.row;
    waiting.left = y;
  }
  return waiting;
}

/* call(BLOCKSIZE) with the size of blocks that lie where kernels for it want them, else 0 */
template <typename F>
static PetscErrorCode SpikeKrylovBlocksDispatch(const SpikeBlockMat *A, F &&call)
{
  const bool wide = (size_t)A->a % 16 == 0;

  PetscFunctionBegin;
  if (wide && A->bs == 4) PetscCall(call(std::integral_constant<int, 4>()));
  else if (wide && A->bs == 8) PetscCall(call(std::integral_constant<int, 8>()));
  else if (wide && A->bs == 16) PetscCall(call(std::integral_constant<int, 16>()));
  else PetscCall(call(std::integral_constant<int, 0>()));
  PetscFunctionReturn(PETSC_SUCCESS);
}
