/* SPDX-License-Identifier: BSD-2-Clause */
/* block.cu: tasks of the CUDA backend of block.h, many in a launch, and Cholesky's method for small blocks */
#include "mult.cuh"
#include "tall.cuh"
#include "kernels/common/cuda/launch.cuh"

template <int KIND, int BS, int LAYOUT, typename V>
__device__ static __forceinline__ void SpikeBlockTask_Device(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                             SpikeBlockSum *shared, unsigned *tickets)
{
  if constexpr (KIND < SPIKE_BLOCK_KIND_DOT)
    SpikeBlockAxpy<KIND - SPIKE_BLOCK_KIND_AXPY, LAYOUT, V>(t, block, blocks, shared);
  else if constexpr (KIND < SPIKE_BLOCK_KIND_MULT)
    SpikeBlockDot<KIND - SPIKE_BLOCK_KIND_DOT, LAYOUT, V>(t, block, blocks, shared, tickets);
  else SpikeBlockProduct_Device<KIND, BS, LAYOUT, V>(t, block);
}

/* The task of this block of threads: tasks are few */
__device__ static __forceinline__ int SpikeBlockFind(const SpikeBlockBatch &batch)
{
  int i = 0;

  while (i + 1 < batch.count && batch.item[i + 1].first <= blockIdx.x) i++;
  return i;
}

/* Kinds that want so many registers that a multiprocessor holds one block of threads */
__host__ __device__ static constexpr bool SpikeBlockIsHeavy(int kind)
{
  return kind == SPIKE_BLOCK_KIND_AXPY + 3 || kind == SPIKE_BLOCK_KIND_DOT + 3;
}

/* Tasks of one kind, layout and block size: with the registers of these alone a multiprocessor holds more warps */
template <int KIND, int BS, int LAYOUT, typename V>
__global__ void __launch_bounds__(SpikeBlockProductThreads(KIND),
                                  SpikeBlockIsHeavy(KIND)
                                    ? 1
                                    : SpikeBlockProductBlocks(KIND, BS, (int)sizeof(V), LAYOUT == 1))
  SpikeBlockSame_Kernel(const __grid_constant__ SpikeBlockBatch batch)
{
  extern __shared__ SpikeBlockSum sums[];
  const int                       i = SpikeBlockFind(batch);

  SpikeAwait();
  SpikeBlockTask_Device<KIND, BS, LAYOUT, V>(batch.item[i], blockIdx.x - batch.item[i].first,
                                             (i + 1 < batch.count ? batch.item[i + 1].first : gridDim.x) -
                                               batch.item[i].first,
                                             sums, batch.tickets);
}

/* Kinds that are content with the registers that two blocks of threads leave each other, all in one kernel */
__host__ __device__ static constexpr bool SpikeBlockIsLight(int kind)
{
  return kind < SPIKE_BLOCK_KIND_MULT && !SpikeBlockIsHeavy(kind);
}

/* Of any kind, or of any that is light */
template <int KIND, bool LIGHT, typename V>
__device__ static __forceinline__ void SpikeBlockSwitch(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                        SpikeBlockSum *shared, unsigned *tickets)
{
  if constexpr (!LIGHT || SpikeBlockIsLight(KIND)) {
    if (t.kind == KIND) {
      SpikeBlockTask_Device<KIND, 0, SPIKE_BLOCK_ANY, V>(t, block, blocks, shared, tickets);
      return;
    }
  }
  if constexpr (KIND + 1 < SPIKE_BLOCK_KINDS) SpikeBlockSwitch<KIND + 1, LIGHT, V>(t, block, blocks, shared, tickets);
}

template <bool LIGHT, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_THREADS, LIGHT ? 2 : 1)
  SpikeBlockMixed_Kernel(const __grid_constant__ SpikeBlockBatch batch)
{
  extern __shared__ SpikeBlockSum sums[];
  const int                       i = SpikeBlockFind(batch);

  SpikeAwait();
  SpikeBlockSwitch<0, LIGHT, V>(batch.item[i], blockIdx.x - batch.item[i].first,
                                (i + 1 < batch.count ? batch.item[i + 1].first : gridDim.x) - batch.item[i].first, sums,
                                batch.tickets);
}

template <int KIND, int BS, int LAYOUT, typename V>
static PetscErrorCode SpikeBlockLaunchOne(unsigned blocks, const SpikeBlockBatch *batch, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(SpikeLaunchBehind(SpikeBlockSame_Kernel<KIND, BS, LAYOUT, V>, blocks, SpikeBlockProductThreads(KIND),
                                  KIND < SPIKE_BLOCK_KIND_MULT ? SPIKE_BLOCK_SHARED : 0, stream, *batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether tasks of a kind have a kernel for each layout: products by lanes, and those of tensor cores where more warps
  of a multiprocessor are of use, have one for each block size as well
*/
__host__ __device__ static constexpr bool SpikeBlockHasSizes(int kind, int bs, int size)
{
  return (kind >= SPIKE_BLOCK_KIND_LANES && kind < SPIKE_BLOCK_KIND_VECTOR &&
          (bs == 4 || (bs == 8 && kind == SPIKE_BLOCK_KIND_LANES))) ||
         (kind >= SPIKE_BLOCK_KIND_WIDE && kind < SPIKE_BLOCK_KIND_WIDE + 3 &&
          (bs == 4 || (bs == 8 && kind == SPIKE_BLOCK_KIND_WIDE + 2 && size == 4)));
}
__host__ __device__ static constexpr bool SpikeBlockHasLayouts(int kind, int bs, int size)
{
  return kind < SPIKE_BLOCK_KIND_MULT || SpikeBlockHasSizes(kind, bs, size);
}

/*
  Column-major numbers of 8 bytes, many rows for each block of threads: axpys of 4 columns and dots of 8 by the kernel
  with both layouts. In that of their own all loads of a dot travel together, in this one those of Z behind those of X,
  and on an H200 it was faster (0.85 of a copy at 1000000 rows and 0.995 at 4000000, not 0.76 and 0.83), as it was for
  an axpy of 4000000 rows (0.86, not 0.77). Other layouts, classes and sizes gained by one of their own.
*/
__host__ __device__ static constexpr bool SpikeBlockHasBoth(int kind, int size)
{
  return size == 8 && (kind == SPIKE_BLOCK_KIND_AXPY || kind == SPIKE_BLOCK_KIND_DOT + 1);
}
static bool SpikeBlockWantsBoth(const SpikeBlockBatch *batch)
{
  int i = 0;

  while (i < batch->count && batch->item[i].both) i++;
  return i == batch->count;
}

template <int KIND, int BS, typename V>
static PetscErrorCode SpikeBlockLaunchLayout(unsigned blocks, const SpikeBlockBatch *batch, cudaStream_t stream)
{
  constexpr bool both   = SpikeBlockHasBoth(KIND, (int)sizeof(V));
  constexpr int  layout = both ? SPIKE_BLOCK_ANY : 0;

  PetscFunctionBegin;
  if constexpr (!SpikeBlockHasLayouts(KIND, BS, (int)sizeof(V)))
    PetscCall((SpikeBlockLaunchOne<KIND, 0, SPIKE_BLOCK_ANY, V>(blocks, batch, stream)));
  else if (both && SpikeBlockWantsBoth(batch))
    PetscCall((SpikeBlockLaunchOne<KIND, BS, layout, V>(blocks, batch, stream)));
  else if (batch->item[0].rowmajor) PetscCall((SpikeBlockLaunchOne<KIND, BS, 1, V>(blocks, batch, stream)));
  else PetscCall((SpikeBlockLaunchOne<KIND, BS, 0, V>(blocks, batch, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int KIND, typename V>
static PetscErrorCode SpikeBlockLaunchSame(int kind, unsigned blocks, const SpikeBlockBatch *batch, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (kind == KIND) {
    constexpr int four  = SpikeBlockHasSizes(KIND, 4, (int)sizeof(V)) ? 4 : 0,
                  eight = SpikeBlockHasSizes(KIND, 8, (int)sizeof(V)) ? 8 : 0;

    if (four && batch->item[0].bs == 4) PetscCall((SpikeBlockLaunchLayout<KIND, four, V>(blocks, batch, stream)));
    else if (eight && batch->item[0].bs == 8)
      PetscCall((SpikeBlockLaunchLayout<KIND, eight, V>(blocks, batch, stream)));
    else PetscCall((SpikeBlockLaunchLayout<KIND, 0, V>(blocks, batch, stream)));
  } else if constexpr (KIND + 1 < SPIKE_BLOCK_KINDS)
    PetscCall((SpikeBlockLaunchSame<KIND + 1, V>(kind, blocks, batch, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename V>
static PetscErrorCode SpikeBlockLaunch(unsigned blocks, const SpikeBlockBatch *batch, cudaStream_t stream)
{
  bool same = true, light = true;

  PetscFunctionBegin;
  for (int i = 0; i < batch->count; i++) {
    const SpikeBlockItem *t = &batch->item[i], *first = &batch->item[0];

    same = same && t->kind == first->kind &&
           (!SpikeBlockHasLayouts(t->kind, first->bs, (int)sizeof(V)) ||
            (t->rowmajor == first->rowmajor && t->bs == first->bs));
    light = light && SpikeBlockIsLight(t->kind);
  }
  if (same) PetscCall((SpikeBlockLaunchSame<0, V>(batch->item[0].kind, blocks, batch, stream)));
  else if (light)
    PetscCallCUDA(SpikeLaunchBehind(SpikeBlockMixed_Kernel<true, V>, blocks, SPIKE_BLOCK_THREADS, SPIKE_BLOCK_SHARED,
                                    stream, *batch));
  else
    PetscCallCUDA(SpikeLaunchBehind(SpikeBlockMixed_Kernel<false, V>, blocks, SPIKE_BLOCK_THREADS, SPIKE_BLOCK_SHARED,
                                    stream, *batch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills in all but first and partials; blocks of threads that the task wants, 0 where there is nothing to do */
static unsigned SpikeBlockItem_Private(const SpikeBlockCUDA *h, size_t size, const SpikeBlockTask *task,
                                       SpikeBlockItem *t)
{
  unsigned blocks;

  SpikeBlockDescribe(task, t);
  if (task->op == SPIKE_BLOCK_AXPY) {
    t->kind = SPIKE_BLOCK_KIND_AXPY + SpikeBlockClass((int)PetscMax(task->k, task->m));
    t->wide = SpikeBlockAligned(t->X, t->ldx, size, 16) && SpikeBlockAligned(t->Y, t->ldy, size, 16);
    t->both = SpikeBlockHasBoth(t->kind, (int)size) && !t->rowmajor &&
              SpikeBlockIsLong(task->n, SpikeBlockAxpyTile(t->kind - SPIKE_BLOCK_KIND_AXPY, size),
                               2 * h->multiprocessors);
    blocks = SpikeBlockAxpyBlocks(t->kind - SPIKE_BLOCK_KIND_AXPY, size, t->rowmajor, task->n,
                                  (SpikeBlockIsHeavy(t->kind) ? 1 : 2) * h->multiprocessors);
  } else if (task->op == SPIKE_BLOCK_DOT) {
    t->kind = SPIKE_BLOCK_KIND_DOT + SpikeBlockClass((int)PetscMax(task->k, task->m));
    t->wide = SpikeBlockAligned(t->X, t->ldx, size, 16) && SpikeBlockAligned(t->Z, t->ldz, size, 16);
    t->same = t->X == t->Z && t->ldx == t->ldz && t->k == t->m;
    t->both = SpikeBlockHasBoth(t->kind, (int)size) && !t->rowmajor &&
              SpikeBlockIsLong(task->n, SpikeBlockDotTile(t->kind - SPIKE_BLOCK_KIND_DOT), 2 * h->multiprocessors);
    blocks = SpikeBlockDotBlocks(task->n, SpikeBlockClass((int)PetscMax(task->k, task->m)), h->multiprocessors);
  } else blocks = SpikeBlockProductItem(h->multiprocessors, size, task, t);
  return blocks;
}

static PetscCount SpikeBlockPartials_Private(const SpikeBlockItem *t, unsigned blocks)
{
  static const int sums[] = {SpikeDot<0>::SUMS, SpikeDot<1>::SUMS, SpikeDot<2>::SUMS, SpikeDot<3>::SUMS};

  return t->kind >= SPIKE_BLOCK_KIND_DOT && t->kind < SPIKE_BLOCK_KIND_MULT && blocks > 1
         ? (PetscCount)(blocks + SPIKE_BLOCK_TICKETS) * sums[t->kind - SPIKE_BLOCK_KIND_DOT]
         : 0;
}

PetscErrorCode SpikeBlockRun_CUDA(SpikeBlock *s, PetscSpikePrecision precision, PetscInt count,
                                  const SpikeBlockTask tasks[])
{
  SpikeBlockCUDA *h    = (SpikeBlockCUDA *)s->data;
  const size_t    size = SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(SpikeBlockStream(s, &stream));
  for (PetscInt i = 0; i < count; i++) {
    const PetscInt m = tasks[i].m,
                   k = tasks[i].op == SPIKE_BLOCK_AXPY || tasks[i].op == SPIKE_BLOCK_DOT ? tasks[i].k : m;

    PetscCall(SpikeBlockCheckColumns(i, k, m));
  }
  for (PetscInt done = 0; done < count;) {
    SpikeBlockBatch batch;
    unsigned        blocks = 0;
    PetscCount      sums   = 0;

    batch.count   = 0;
    batch.tickets = h->tickets;
    for (; done < count && batch.count < SPIKE_BLOCK_ITEMS; done++) {
      SpikeBlockItem *t    = &batch.item[batch.count];
      const unsigned  want = SpikeBlockItem_Private(h, size, &tasks[done], t);

      if (!want) continue;
      t->first  = blocks;
      t->ticket = (unsigned)batch.count++;
      blocks += want;
      sums += SpikeBlockPartials_Private(t, want);
    }
    if (!blocks) continue;
    if (sums > h->npartials) {
      PetscCallCUDA(cudaFree(h->partials));
      h->partials  = NULL;
      h->npartials = 0;
      PetscCallCUDA(cudaMalloc((void **)&h->partials, (size_t)sums * sizeof(*h->partials)));
      h->npartials = sums;
    }
    sums = 0;
    for (int i = 0; i < batch.count; i++) {
      batch.item[i].partials = h->partials + sums;
      sums += SpikeBlockPartials_Private(&batch.item[i], (i + 1 < batch.count ? batch.item[i + 1].first : blocks) -
                                                           batch.item[i].first);
    }
    if (precision == PETSC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockLaunch<SpikeDouble>(blocks, &batch, stream));
    else PetscCall(SpikeBlockLaunch<SpikeSingle>(blocks, &batch, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A warp a block; lane j has column j of R and of its inverse R^-1, in shared memory. Step i: the pivot from G(i, i) -
  sum |R(k, i)|^2, then row i of R; R^-1 by columns: R(i, j) times what is above it. Arithmetic in double precision.
  Bytes: G, R, inv once.
*/
template <typename V>
__global__ void __launch_bounds__(32)
  SpikeBlockCholesky_Kernel(int m, const V *G, bool again, V *R, V *inv, double tol, PetscInt *bad)
{
  __shared__ SpikeBlockSum r[SPIKE_BLOCK_MAXM][SPIKE_BLOCK_MAXM + 1], w[SPIKE_BLOCK_MAXM][SPIKE_BLOCK_MAXM + 1];
  const int                j      = (int)threadIdx.x;
  const PetscCount         at     = (PetscCount)blockIdx.x * m * m;
  int                      failed = m;

  G += at;
  R += at;
  inv += at;
  for (int i = 0; i < m; i++)
    if (j < m) {
      r[i][j] = 0.0;
      w[i][j] = 0.0;
    }
  __syncwarp();
  for (int i = 0; i < m; i++) {
    double       pivot = PetscRealPart(SpikeBlockSum(G[i + i * m]));
    const double whole = pivot;

    for (int k = 0; k < i; k++) pivot -= PetscRealPart(r[k][i] * SpikeBlockConj(r[k][i], true));
    if (!(pivot > tol * whole) || !(pivot - pivot == 0.0)) {
      failed = i;
      break;
    }
    if (j >= i && j < m) {
      SpikeBlockSum v = SpikeBlockSum(G[i + j * m]);

      for (int k = 0; k < i; k++) v -= SpikeBlockConj(r[k][i], true) * r[k][j];
      r[i][j] = j == i ? SpikeBlockSum(sqrt(pivot)) : v / sqrt(pivot);
    }
    __syncwarp();
  }
  /* column j of R^-1, from its diagonal upwards */
  if (j < failed) {
    for (int i = j; i >= 0; i--) {
      SpikeBlockSum v = i == j ? 1.0 : 0.0;

      for (int k = i + 1; k <= j; k++) v -= r[i][k] * w[k][j];
      w[i][j] = v / r[i][i];
    }
  }
  __syncwarp();
  for (int i = 0; i < m; i++)
    if (j < m) inv[i + j * m] = V(i < failed && j < failed ? w[i][j] : SpikeBlockSum(0.0));
  if (j < m) {
    if (again) { /* column j of r times what is there */
      for (int i = 0; i < m; i++) {
        SpikeBlockSum v = 0.0;

        if (i < failed)
          for (int k = i; k <= j; k++) v += r[i][k] * SpikeBlockSum(R[k + j * m]);
        w[i][j] = i <= j ? v : SpikeBlockSum(0.0);
      }
      for (int i = 0; i < m; i++) R[i + j * m] = V(w[i][j]);
    } else
      for (int i = 0; i < m; i++) R[i + j * m] = V(i < failed ? r[i][j] : SpikeBlockSum(0.0));
  }
  if (j == 0 && failed < m && bad[blockIdx.x] == -1) bad[blockIdx.x] = failed;
}

PetscErrorCode SpikeBlockCholesky_CUDA(SpikeBlock *s, PetscSpikePrecision precision, PetscInt count, PetscInt m,
                                       const void *G, PetscBool again, void *R, void *inv, PetscReal tol, PetscInt *bad)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCheck(m >= 1 && m <= SPIKE_BLOCK_MAXM, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Blocks of %" PetscInt_FMT " columns, there are 1 to %d", m, SPIKE_BLOCK_MAXM);
  PetscCall(SpikeBlockStream(s, &stream));
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE)
    SpikeBlockCholesky_Kernel<SpikeDouble><<<(unsigned)count, 32, 0, stream>>>((int)m, (const SpikeDouble *)G,
                                                                               again ? true : false, (SpikeDouble *)R,
                                                                               (SpikeDouble *)inv, (double)tol, bad);
  else
    SpikeBlockCholesky_Kernel<SpikeSingle><<<(unsigned)count, 32, 0, stream>>>((int)m, (const SpikeSingle *)G,
                                                                               again ? true : false, (SpikeSingle *)R,
                                                                               (SpikeSingle *)inv, (double)tol, bad);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
