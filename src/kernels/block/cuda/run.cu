/* SPDX-License-Identifier: BSD-2-Clause */
/* run.cu: run() of the CUDA backend of block.h: each task finds its kernel, tasks of one kernel go into one launch */
#include "mult.cuh"
#include "tall.cuh"
#include "kernels/common/cuda/launch.cuh"

/* The task of this thread block, the number of the block in it, and how many it has. Tasks are few */
__device__ static __forceinline__ const SpikeBlockItem &SpikeBlockFind(const SpikeBlockBatch &batch, unsigned *block,
                                                                       unsigned *blocks)
{
  int i = 0;

  while (i + 1 < batch.count && batch.item[i + 1].first <= blockIdx.x) i++;
  *block  = blockIdx.x - batch.item[i].first;
  *blocks = (i + 1 < batch.count ? batch.item[i + 1].first : gridDim.x) - batch.item[i].first;
  return batch.item[i];
}

/* Tasks of one kind, number of columns, block size (0: any) and layout */
template <SpikeBlockKind JOB, int MAXCOLS, int BLOCKSIZE, SpikeBlockLayout MAJOR, typename V>
__global__ void __launch_bounds__(32 * SpikeBlockWarps(JOB), SpikeBlockLeast(JOB, MAXCOLS, BLOCKSIZE, (int)sizeof(V),
                                                                             MAJOR == SPIKE_BLOCK_ROWMAJOR))
  SpikeBlockSame_Kernel(const __grid_constant__ SpikeBlockBatch batch)
{
  extern __shared__ SpikeBlockSum sums[];
  constexpr bool                  BYROWS = MAJOR == SPIKE_BLOCK_ROWMAJOR;
  unsigned                        block, blocks;
  const SpikeBlockItem           &t = SpikeBlockFind(batch, &block, &blocks);

  if constexpr (JOB != SPIKE_BLOCK_KIND_BUFFER) SpikeAwait(); /* which awaits by itself */
  if constexpr (JOB == SPIKE_BLOCK_KIND_AXPY) SpikeBlockAxpy<MAXCOLS, MAJOR, V>(t, block, blocks, sums);
  else if constexpr (JOB == SPIKE_BLOCK_KIND_DOT)
    SpikeBlockDot<MAXCOLS, MAJOR, V>(t, block, blocks, sums, batch.tickets);
  else if constexpr (JOB == SPIKE_BLOCK_KIND_WIDE) SpikeBlockMultWide<MAXCOLS, BLOCKSIZE, BYROWS, V>(t, block);
  else if constexpr (JOB == SPIKE_BLOCK_KIND_LANES) SpikeBlockMultLanes<MAXCOLS, BLOCKSIZE, BYROWS, V>(t, block);
  else if constexpr (JOB == SPIKE_BLOCK_KIND_VECTOR) SpikeBlockMultVector<BLOCKSIZE, V>(t, block);
  else if constexpr (JOB == SPIKE_BLOCK_KIND_BUFFER) SpikeBlockMultBuffer<BLOCKSIZE, V>(t, block);
  else if constexpr (JOB == SPIKE_BLOCK_KIND_STREAM) SpikeBlockMultStream<V>(t, block);
  else SpikeBlockMult<MAXCOLS, JOB == SPIKE_BLOCK_KIND_TRANSPOSE, V>(t, block);
}

/* Light tasks of different kinds */
template <typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_THREADS, 2)
  SpikeBlockLight_Kernel(const __grid_constant__ SpikeBlockBatch batch)
{
  extern __shared__ SpikeBlockSum sums[];
  constexpr SpikeBlockLayout      BOTH_LAYOUTS = SPIKE_BLOCK_EITHER;
  unsigned                        block, blocks;
  const SpikeBlockItem           &t    = SpikeBlockFind(batch, &block, &blocks);
  const bool                      axpy = t.kind == SPIKE_BLOCK_KIND_AXPY;

  SpikeAwait();
  if (axpy && t.columns == 4) SpikeBlockAxpy<4, BOTH_LAYOUTS, V>(t, block, blocks, sums);
  else if (axpy && t.columns == 8) SpikeBlockAxpy<8, BOTH_LAYOUTS, V>(t, block, blocks, sums);
  else if (axpy) SpikeBlockAxpy<16, BOTH_LAYOUTS, V>(t, block, blocks, sums);
  else if (t.columns == 4) SpikeBlockDot<4, BOTH_LAYOUTS, V>(t, block, blocks, sums, batch.tickets);
  else if (t.columns == 8) SpikeBlockDot<8, BOTH_LAYOUTS, V>(t, block, blocks, sums, batch.tickets);
  else SpikeBlockDot<16, BOTH_LAYOUTS, V>(t, block, blocks, sums, batch.tickets);
}

typedef void (*SpikeBlockKernel)(SpikeBlockBatch);

/* The kernel of a kind, number of columns, block size and layout; NULL where the policy has none */
template <SpikeBlockKind JOB, int MAXCOLS, int BLOCKSIZE, SpikeBlockLayout MAJOR, typename V>
static SpikeBlockKernel SpikeBlockKernelOf()
{
  if constexpr (SpikeBlockHasKernel(JOB, MAXCOLS, BLOCKSIZE, MAJOR, (int)sizeof(V)))
    return SpikeBlockSame_Kernel<JOB, MAXCOLS, BLOCKSIZE, MAJOR, V>;
  else return NULL;
}

template <SpikeBlockKind JOB, int MAXCOLS, int BLOCKSIZE, typename V>
static SpikeBlockKernel SpikeBlockKernelOf(SpikeBlockLayout layout)
{
  return layout == SPIKE_BLOCK_COLUMNMAJOR ? SpikeBlockKernelOf<JOB, MAXCOLS, BLOCKSIZE, SPIKE_BLOCK_COLUMNMAJOR, V>()
       : layout == SPIKE_BLOCK_ROWMAJOR    ? SpikeBlockKernelOf<JOB, MAXCOLS, BLOCKSIZE, SPIKE_BLOCK_ROWMAJOR, V>()
                                           : SpikeBlockKernelOf<JOB, MAXCOLS, BLOCKSIZE, SPIKE_BLOCK_EITHER, V>();
}

/* Of block sizes up to MOST; 0: any */
template <SpikeBlockKind JOB, int MAXCOLS, int MOST, typename V>
static SpikeBlockKernel SpikeBlockKernelOf(int bs, SpikeBlockLayout layout)
{
  if constexpr (MOST > 0)
    if (bs < MOST) return SpikeBlockKernelOf<JOB, MAXCOLS, MOST - 1, V>(bs, layout);
  return SpikeBlockKernelOf<JOB, MAXCOLS, MOST, V>(layout);
}

template <SpikeBlockKind JOB, typename V>
static SpikeBlockKernel SpikeBlockKernelOf(const SpikeBlockItem *t, bool either)
{
  const SpikeBlockLayout layout = either      ? SPIKE_BLOCK_EITHER
                                : t->rowmajor ? SPIKE_BLOCK_ROWMAJOR
                                              : SPIKE_BLOCK_COLUMNMAJOR;
  constexpr int          MOST   = SpikeBlockHasSizes(JOB) ? 16 : 0;

  return t->columns == 4  ? SpikeBlockKernelOf<JOB, 4, MOST, V>(t->bs, layout)
       : t->columns == 8  ? SpikeBlockKernelOf<JOB, 8, MOST, V>(t->bs, layout)
       : t->columns == 16 ? SpikeBlockKernelOf<JOB, 16, MOST, V>(t->bs, layout)
                          : SpikeBlockKernelOf<JOB, 32, MOST, V>(t->bs, layout);
}

/* The kernel of a task; either: that of both layouts, where there is one */
template <typename V>
static SpikeBlockKernel SpikeBlockKernelOf(const SpikeBlockItem *t, bool either)
{
  either = either || !SpikeBlockHasLayouts(t->kind);
  switch (t->kind) {
  case SPIKE_BLOCK_KIND_AXPY:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_AXPY, V>(t, either);
  case SPIKE_BLOCK_KIND_DOT:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_DOT, V>(t, either);
  case SPIKE_BLOCK_KIND_MULT:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_MULT, V>(t, either);
  case SPIKE_BLOCK_KIND_TRANSPOSE:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_TRANSPOSE, V>(t, either);
  case SPIKE_BLOCK_KIND_WIDE:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_WIDE, V>(t, either);
  case SPIKE_BLOCK_KIND_LANES:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_LANES, V>(t, either);
  case SPIKE_BLOCK_KIND_BUFFER:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_BUFFER, V>(t, either);
  case SPIKE_BLOCK_KIND_STREAM:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_STREAM, V>(t, either);
  default:
    return SpikeBlockKernelOf<SPIKE_BLOCK_KIND_VECTOR, V>(t, either);
  }
}

/* Block rows of the product that a task is, 0: none */
static PetscCount SpikeBlockProductRows(const SpikeBlockTask *task)
{
  if (task->op == SPIKE_BLOCK_AXPY || task->op == SPIKE_BLOCK_DOT) return 0;
  return task->op == SPIKE_BLOCK_MULT ? task->A->mb : task->A->nb;
}

/*
  *t <- what one task determines, beside others: products of `rows` block rows in all share the device, so that a warp
  has as many of them as in one product of all. Returns the thread blocks that it wants, 0 where there is nothing to do
*/
static unsigned SpikeBlockItem_Private(const SpikeBlockCUDA *h, int size, const SpikeBlockTask *task, PetscCount rows,
                                       SpikeBlockItem *t)
{
  const PetscCount own = SpikeBlockProductRows(task);

  SpikeBlockDescribe(task, size, t);
  if (task->op == SPIKE_BLOCK_AXPY)
    return SpikeBlockAxpyBlocks(t->columns, size, t->rowmajor, t->n,
                                SpikeBlockLeast(t->kind, t->columns, 0, size, false) * h->multiprocessors);
  if (task->op == SPIKE_BLOCK_DOT) return SpikeBlockDotBlocks(t->n, t->columns, h->multiprocessors);
  rows = PetscMax(rows, own);
  return SpikeBlockProductItem((PetscInt)PetscMax(1, h->multiprocessors * own / PetscMax(1, rows)), size, task, t);
}

/* Sums that the thread blocks of a task leave for each other */
static PetscCount SpikeBlockPartials_Private(const SpikeBlockItem *t, unsigned blocks)
{
  const int sums = t->columns == 4  ? SpikeBlockDotShape<4>::NSUMS
                 : t->columns == 8  ? SpikeBlockDotShape<8>::NSUMS
                 : t->columns == 16 ? SpikeBlockDotShape<16>::NSUMS
                                    : SpikeBlockDotShape<32>::NSUMS;

  return t->kind == SPIKE_BLOCK_KIND_DOT && blocks > 1 ? (PetscCount)(blocks + SPIKE_BLOCK_TICKETS) * sums : 0;
}

/*
  One launch of tasks that share a kernel: the first one of item[] that is left, and all that go with it. want[i] is the
  thread blocks of a task that is left, and becomes 0 when it is launched
*/
template <typename V>
static PetscErrorCode SpikeBlockLaunch(SpikeBlockCUDA *h, int count, const SpikeBlockItem item[], unsigned want[],
                                       cudaStream_t stream)
{
  const int        size   = (int)sizeof(V);
  SpikeBlockKernel kernel = NULL;
  SpikeBlockBatch  batch;
  PetscCount       sums   = 0;
  unsigned         blocks = 0;
  bool             either = true; /* wanted by all */

  PetscFunctionBegin;
  batch.count   = 0;
  batch.tickets = h->tickets;
  for (int i = 0; i < count; i++) {
    SpikeBlockItem        *t    = &batch.item[batch.count];
    const SpikeBlockKernel mine = SpikeBlockKernelOf<V>(&item[i], false);

    if (!want[i]) continue;
    if (!kernel) kernel = mine;
    else if (mine != kernel) {
      if (!SpikeBlockIsLight(batch.item[0].kind, batch.item[0].columns)) continue;
      if (!SpikeBlockIsLight(item[i].kind, item[i].columns)) continue;
      kernel = SpikeBlockLight_Kernel<V>;
    }
    *t        = item[i];
    t->first  = blocks;
    t->ticket = (unsigned)batch.count++;
    either    = either && SpikeBlockPrefersEither(t->kind, t->columns, size) && !t->rowmajor &&
             SpikeBlockIsLong(t->n, SpikeBlockTile(t->kind, t->columns, size), 2 * h->multiprocessors);
    blocks += want[i];
    sums += SpikeBlockPartials_Private(t, want[i]);
    want[i] = 0;
  }
  if (either && kernel != SpikeBlockLight_Kernel<V>) kernel = SpikeBlockKernelOf<V>(&batch.item[0], true);
  if (sums > h->npartials) {
    PetscCallCUDA(cudaFree(h->partials));
    h->partials  = NULL;
    h->npartials = 0;
    PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&h->partials, (size_t)sums * sizeof(*h->partials))));
    h->npartials = sums;
  }
  sums = 0;
  for (int i = 0; i < batch.count; i++) {
    batch.item[i].partials = h->partials + sums;
    sums += SpikeBlockPartials_Private(&batch.item[i],
                                       (i + 1 < batch.count ? batch.item[i + 1].first : blocks) - batch.item[i].first);
  }
  PetscCallCUDA(SpikeLaunchEarly(kernel, blocks, 32 * SpikeBlockWarps(batch.item[0].kind),
                                 SpikeBlockIsTall(batch.item[0].kind) ? SPIKE_BLOCK_SHARED : 0, stream, batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename V>
static PetscErrorCode SpikeBlockRun_Private(SpikeBlockCUDA *h, PetscInt count, const SpikeBlockTask tasks[],
                                            cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt done = 0; done < count;) {
    SpikeBlockItem item[SPIKE_BLOCK_ITEMS];
    unsigned       want[SPIKE_BLOCK_ITEMS];
    PetscCount     rows = 0;
    int            n    = 0;

    for (PetscInt i = done; i < count && i < done + SPIKE_BLOCK_ITEMS; i++) rows += SpikeBlockProductRows(&tasks[i]);
    for (; done < count && n < SPIKE_BLOCK_ITEMS; done++) {
      want[n] = SpikeBlockItem_Private(h, (int)sizeof(V), &tasks[done], rows, &item[n]);
      if (want[n]) n++;
    }
    for (int i = 0; i < n; i++)
      if (want[i]) PetscCall(SpikeBlockLaunch<V>(h, n, item, want, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockRun_CUDA(SpikeBlock *s, PetscSpikePrecision precision, PetscInt count,
                                  const SpikeBlockTask tasks[])
{
  SpikeBlockCUDA *h = (SpikeBlockCUDA *)s->data;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(s->stream, &stream));
  for (PetscInt i = 0; i < count; i++) {
    const PetscInt m = tasks[i].m,
                   k = tasks[i].op == SPIKE_BLOCK_AXPY || tasks[i].op == SPIKE_BLOCK_DOT ? tasks[i].k : m;

    PetscCall(SpikeBlockCheckColumns(i, k, m));
  }
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockRun_Private<SpikeDouble>(h, count, tasks, stream));
  else PetscCall(SpikeBlockRun_Private<SpikeSingle>(h, count, tasks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
