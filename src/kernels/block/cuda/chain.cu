/* SPDX-License-Identifier: BSD-2-Clause */
/* chain.cu: two AXPY of the CUDA backend of block.h, one behind the other on each row */
#include "tall.cuh"

/*
  A block of threads has a tile of rows for each warp, once: what the first task has read or written is in the caches
  when the second wants it
*/
template <int CLASS, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_THREADS, CLASS == 3 ? 1 : 2)
  SpikeBlockChain_Kernel(const __grid_constant__ SpikeBlockItem a, const __grid_constant__ SpikeBlockItem b)
{
  extern __shared__ SpikeBlockSum sums[];

  SpikeBlockAxpy<CLASS, SPIKE_BLOCK_ANY, V>(a, blockIdx.x, gridDim.x, sums);
  __syncthreads(); /* sums has the small block of the other task then, and rows are those of the first */
  SpikeBlockAxpy<CLASS, SPIKE_BLOCK_ANY, V>(b, blockIdx.x, gridDim.x, sums);
}

template <typename V>
static PetscErrorCode SpikeBlockChainLaunch(const SpikeBlockItem &a, const SpikeBlockItem &b, cudaStream_t stream)
{
  const int      cls    = SpikeBlockClass(PetscMax(PetscMax(a.k, a.m), PetscMax(b.k, b.m)));
  const unsigned blocks = SpikeBlockAxpyBlocks(cls, sizeof(V), a.rowmajor, a.n, INT_MAX);
  const size_t   shared = 1024 * sizeof(SpikeBlockSum);

  PetscFunctionBegin;
  switch (cls) {
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

PetscErrorCode SpikeBlockChain_CUDA(SpikeBlock *s, PetscSpikePrecision precision, const SpikeBlockTask tasks[])
{
  const size_t   size = SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
  SpikeBlockItem item[2];
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCheck(tasks[0].op == SPIKE_BLOCK_AXPY && tasks[1].op == SPIKE_BLOCK_AXPY && tasks[0].n == tasks[1].n,
             PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "A chain is of two AXPY on the same rows");
  PetscCall(SpikeBlockStream(s, &stream));
  for (int i = 0; i < 2; i++) {
    SpikeBlockItem *t = &item[i];

    PetscCall(SpikeBlockCheckColumns(i, tasks[i].k, tasks[i].m));
    SpikeBlockDescribe(&tasks[i], t);
    t->wide = SpikeBlockAligned(t->X, t->ldx, size, 16) && SpikeBlockAligned(t->Y, t->ldy, size, 16);
  }
  if (!tasks[0].n) PetscFunctionReturn(PETSC_SUCCESS);
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE)
    PetscCall(SpikeBlockChainLaunch<SpikeDouble>(item[0], item[1], stream));
  else PetscCall(SpikeBlockChainLaunch<SpikeSingle>(item[0], item[1], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
