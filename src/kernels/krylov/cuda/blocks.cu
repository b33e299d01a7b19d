/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.cu: products of a matrix of blocks, as it lies, with a step in the epilogue */
#include "mult_kernel.cuh"
#include "kernels/block/cuda/mult_stream.cuh"

/*
  Rows for SpikeKrylovMultKernel: BS is 4, 8 or 16 where the blocks begin at multiples of 16 bytes, or 0 for any. A warp
  takes t.k block rows at a time. t.X is x
*/
template <int BS>
struct SpikeKrylovBlockRows {
  static constexpr int LANES = 1;

  SpikeBlockItem t;

  struct Shared { };

  __device__ __forceinline__ void prepare(Shared &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const Shared &, PetscInt number, PetscInt threads, X &&, G &&fetch, F &&f) const
  {
    for (PetscInt64 row0 = (PetscInt64)(number / 32) * t.k; row0 < t.n; row0 += (PetscInt64)(threads / 32) * t.k) {
      if constexpr (BS)
        SpikeBlockVector<BS, PetscScalar>(t, (PetscInt)row0, [&](PetscCount i, PetscScalar *y) {
          SpikeUnroll(p, (SpikeBlockVectorShape<BS, PetscScalar>::P))
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

  struct Shared { };

  __device__ __forceinline__ void prepare(Shared &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const Shared &, PetscInt number, PetscInt threads, X &&, G &&fetch, F &&f) const
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

/* One rank without entries takes MatMult() */
PetscErrorCode SpikeKrylovBorrowBlocks_CUDA(SpikeKrylov *s, const SpikeKrylovLoan *loan, void **copy)
{
  const SpikeKrylovCUDA *h    = (const SpikeKrylovCUDA *)s->data;
  const SpikeBlockMat   *A    = loan->block;
  bool                   made = true;
  SpikeKrylovCopyCUDA   *c;

  PetscFunctionBegin;
  *copy = NULL;
  if ((s->ondevice && (A->mb < 1 || loan->nz < 1)) || (PetscInt64)A->mb * A->bs > INT_MAX)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->borrowed   = true;
  c->nz         = (PetscInt)PetscMin(loan->nz, (PetscInt64)PETSC_INT_MAX); /* flops are counted by it */
  c->loan       = *loan;
  c->base.form  = KSP_FUSED_SPMV_BLOCKS;
  c->base.bytes = loan->nz * (PetscInt64)sizeof(PetscScalar);
  if (loan->off && loan->off->mb)
    PetscCall(SpikeKrylovOffPattern(h, loan->off->mb, loan->off->bs, ((SpikeBlockMatCUDA *)loan->off->data)->ai,
                                    &c->off, &made));
  if (!made) PetscCall(SpikeKrylovDestroyCopy_CUDA(s, copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

template <int STEP, int BS>
static PetscErrorCode SpikeKrylovBlocksLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                              const SpikeKrylovMultArgs *args)
{
  const SpikeBlockMat     *A = c->loan.block;
  SpikeKrylovBlockRows<BS> rows;
  PetscInt                 blocks;
  const auto               inside = [&](const SpikeKrylovMultArgs *a, PetscInt *number) {
    return SpikeKrylovInsideDispatch(c, rows, [&](const auto &some) {
      return SpikeKrylovMultLaunch<STEP>(h, some, SpikeKrylovBlockWarps(&rows.t), a, number);
    });
  };

  PetscFunctionBegin;
  rows.t   = SpikeKrylovBlockItem(h, A, A->mb, !BS);
  rows.t.X = args->x;
  if (!c->loan.begin) PetscCall(inside(args, &blocks));
  else {
    SpikeKrylovOffBlocks waiting;

    memset((void *)&waiting, 0, sizeof(waiting));
    if (c->off.count) {
      waiting.t    = SpikeKrylovBlockItem(h, c->loan.off, c->off.count, true);
      waiting.t.ai = c->off.at;
      waiting.row  = c->off.row;
      waiting.left = args->y;
    } else waiting.t.k = 1;
    PetscCall(SpikeKrylovMultWaiting<STEP>(h, c, waiting, SpikeKrylovBlockWarps(&waiting.t), args, inside));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBlocksMult_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                          const SpikeKrylovMultArgs *a)
{
  const SpikeBlockMat *A    = c->loan.block;
  const bool           wide = (size_t)A->a % 16 == 0;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
    constexpr int STEP = decltype(constant)::value;

    if (wide && A->bs == 4) return SpikeKrylovBlocksLaunch<STEP, 4>(h, c, a);
    if (wide && A->bs == 8) return SpikeKrylovBlocksLaunch<STEP, 8>(h, c, a);
    if (wide && A->bs == 16) return SpikeKrylovBlocksLaunch<STEP, 16>(h, c, a);
    return SpikeKrylovBlocksLaunch<STEP, 0>(h, c, a);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
