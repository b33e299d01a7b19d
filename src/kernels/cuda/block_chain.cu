/* SPDX-License-Identifier: BSD-2-Clause */
/* block_chain.cu: two AXPY of the CUDA backend of block.h, one behind the other on each row */
#include "block_tall.cuh"

/* A block of threads has a tile of rows for each warp, once: what the first task has read or written is in the caches when the second wants it */
template <int CLASS, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_THREADS, CLASS == 3 ? 1 : 2) SpikeBlockChain_Kernel(const __grid_constant__ SpikeBlockItem a, const __grid_constant__ SpikeBlockItem b)
{
  extern __shared__ SpikeBlockSum sums[];

  SpikeBlockAxpy<CLASS, V>(a, blockIdx.x, gridDim.x, sums);
  __syncthreads(); /* sums has the small block of the other task then, and rows are those of the first */
  SpikeBlockAxpy<CLASS, V>(b, blockIdx.x, gridDim.x, sums);
}

static bool SpikeBlockChainAligned(const void *p, PetscCount ld, size_t size)
{
  return (size_t)p % 16 == 0 && (size_t)ld * size % 16 == 0;
}

template <typename V>
static PetscErrorCode SpikeBlockChainLaunch(const SpikeBlockItem &a, const SpikeBlockItem &b, cudaStream_t stream)
{
  const int      columns = PetscMax(PetscMax(a.k, a.m), PetscMax(b.k, b.m));
  const PetscInt rows    = SPIKE_BLOCK_WARPS * (sizeof(V) >= 16 ? 8 : 16);
  const unsigned blocks  = (unsigned)PetscMin(a.n / rows + (a.n % rows ? 1 : 0), PETSC_INT_MAX / 2 / rows); /* two strides of all blocks are a PetscInt */
  const size_t   shared  = 1024 * sizeof(SpikeBlockSum);

  PetscFunctionBegin;
  switch (SpikeBlockClass(columns)) {
  case 0:
    SpikeBlockChain_Kernel<0, V><<<blocks, SPIKE_BLOCK_THREADS, shared, stream>>>(a, b);
    break;
  case 1:
    SpikeBlockChain_Kernel<1, V><<<blocks, SPIKE_BLOCK_THREADS, shared, stream>>>(a, b);
    break;
  case 2:
    SpikeBlockChain_Kernel<2, V><<<blocks, SPIKE_BLOCK_THREADS, shared, stream>>>(a, b);
    break;
  default:
    SpikeBlockChain_Kernel<3, V><<<blocks, SPIKE_BLOCK_THREADS, shared, stream>>>(a, b);
    break;
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockChain_CUDA(SpikeBlock *s, PCSpikePrecision precision, const SpikeBlockTask tasks[])
{
  const size_t   size = SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
  SpikeBlockItem item[2];
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCheck(tasks[0].op == SPIKE_BLOCK_AXPY && tasks[1].op == SPIKE_BLOCK_AXPY && tasks[0].n == tasks[1].n, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "A chain is of two AXPY on the same rows");
  PetscCall(SpikeBlockStream(s, &stream));
  for (int i = 0; i < 2; i++) {
    const SpikeBlockTask *task = &tasks[i];
    SpikeBlockItem       *t    = &item[i];

    PetscCheck(PetscMin(task->k, task->m) >= 1 && PetscMax(task->k, task->m) <= SPIKE_BLOCK_MAXM, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Task %d has %" PetscInt_FMT " and %" PetscInt_FMT " columns, tall blocks have 1 to %d", i, task->k, task->m, SPIKE_BLOCK_MAXM);
    memset((void *)t, 0, sizeof(*t));
    t->mode     = task->mode;
    t->rowmajor = task->rowmajor ? true : false;
    t->k        = (int)task->k;
    t->m        = (int)task->m;
    t->n        = task->n;
    t->X        = task->X;
    t->Z        = task->Z;
    t->Y        = task->Y;
    t->ldx      = task->ldx;
    t->ldz      = task->ldz;
    t->ldy      = task->ldy;
    t->wide     = SpikeBlockChainAligned(t->X, t->ldx, size) && SpikeBlockChainAligned(t->Y, t->ldy, size);
  }
  if (!tasks[0].n) PetscFunctionReturn(PETSC_SUCCESS);
  if (precision == PC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockChainLaunch<SpikeDouble>(item[0], item[1], stream));
  else PetscCall(SpikeBlockChainLaunch<SpikeSingle>(item[0], item[1], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
