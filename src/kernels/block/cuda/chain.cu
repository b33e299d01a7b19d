/* SPDX-License-Identifier: BSD-2-Clause */
/* chain.cu: two AXPY of the CUDA backend of block.h, one after the other on each row */
#include "tall.cuh"

/*
  A thread block has a tile of rows for each warp, once: rows that the first task has read or written are in the caches
  when the second one wants them
*/
template <int MAXCOLS, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_THREADS,
                                  SpikeBlockLeast(SPIKE_BLOCK_KIND_AXPY, MAXCOLS, 0, (int)sizeof(V), false))
  SpikeBlockChain_Kernel(const __grid_constant__ SpikeBlockItem a, const __grid_constant__ SpikeBlockItem b)
{
  extern __shared__ SpikeBlockSum sums[];

  SpikeBlockAxpy<MAXCOLS, SPIKE_BLOCK_EITHER, V>(a, blockIdx.x, gridDim.x, sums);
  __syncthreads(); /* sums has the small block of the other task then, and rows are those of the first */
  SpikeBlockAxpy<MAXCOLS, SPIKE_BLOCK_EITHER, V>(b, blockIdx.x, gridDim.x, sums);
}

template <typename V>
static PetscErrorCode SpikeBlockChainLaunch(const SpikeBlockTask tasks[], cudaStream_t stream)
{
  SpikeBlockItem a, b;
  int            columns;
  unsigned       blocks;

  PetscFunctionBegin;
  SpikeBlockDescribe(&tasks[0], (int)sizeof(V), &a);
  SpikeBlockDescribe(&tasks[1], (int)sizeof(V), &b);
  columns           = PetscMax(a.columns, b.columns);
  blocks            = SpikeBlockAxpyBlocks(columns, (int)sizeof(V), a.rowmajor, a.n, INT_MAX);
  const auto kernel = columns == 4  ? SpikeBlockChain_Kernel<4, V>
                    : columns == 8  ? SpikeBlockChain_Kernel<8, V>
                    : columns == 16 ? SpikeBlockChain_Kernel<16, V>
                                    : SpikeBlockChain_Kernel<32, V>;

  kernel<<<blocks, SPIKE_BLOCK_THREADS, 1024 * sizeof(SpikeBlockSum), stream>>>(a, b);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockChain_CUDA(SpikeBlock *s, PetscSpikePrecision precision, const SpikeBlockTask tasks[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCheck(tasks[0].op == SPIKE_BLOCK_AXPY && tasks[1].op == SPIKE_BLOCK_AXPY && tasks[0].n == tasks[1].n,
             PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "A chain is of two AXPY on the same rows");
  PetscCall(SpikeStreamOr(s->stream, &stream));
  for (int i = 0; i < 2; i++) PetscCall(SpikeBlockCheckColumns(i, tasks[i].k, tasks[i].m));
  if (!tasks[0].n) PetscFunctionReturn(PETSC_SUCCESS);
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockChainLaunch<SpikeDouble>(tasks, stream));
  else PetscCall(SpikeBlockChainLaunch<SpikeSingle>(tasks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
