/* SPDX-License-Identifier: BSD-2-Clause */
/* assemble.cu: of the CUDA backend of block.h: messages from vectors and back, values from coordinates */
#include "block.cuh"

#define SPIKE_BLOCK_EACH 256 /* threads of a thread block, a value each */

static unsigned SpikeBlockGrid(PetscCount n)
{
  return (unsigned)((n + SPIKE_BLOCK_EACH - 1) / SPIKE_BLOCK_EACH);
}

/* Thread t has value t = i bs + r of the message */
template <bool ADDTO>
__global__ void __launch_bounds__(SPIKE_BLOCK_EACH)
  SpikeBlockPack_Kernel(PetscCount n, int bs, const PetscInt *__restrict__ index, const PetscScalar *from,
                        PetscScalar *to)
{
  const PetscCount t = (PetscCount)blockIdx.x * SPIKE_BLOCK_EACH + threadIdx.x;

  if (t >= n) return;
  const PetscCount i = t / bs, at = (PetscCount)index[i] * bs + (t - i * bs);

  if (ADDTO) to[at] += from[t];
  else to[t] = from[at];
}

PetscErrorCode SpikeBlockPack_CUDA(SpikeBlock *s, PetscInt bs, PetscInt n, const PetscInt index[],
                                   const PetscScalar x[], PetscScalar y[])
{
  const PetscCount m = (PetscCount)n * bs;
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(s->stream, &stream));
  SpikeBlockPack_Kernel<false><<<SpikeBlockGrid(m), SPIKE_BLOCK_EACH, 0, stream>>>(m, (int)bs, index, x, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockUnpackAdd_CUDA(SpikeBlock *s, PetscInt bs, PetscInt n, const PetscInt index[],
                                        const PetscScalar y[], PetscScalar x[])
{
  const PetscCount m = (PetscCount)n * bs;
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(s->stream, &stream));
  SpikeBlockPack_Kernel<true><<<SpikeBlockGrid(m), SPIKE_BLOCK_EACH, 0, stream>>>(m, (int)bs, index, y, x);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread has a value of the matrix: few coordinates lead to each */
__global__ void __launch_bounds__(SPIKE_BLOCK_EACH)
  SpikeBlockAssemble_Kernel(PetscCount n, const PetscCount *__restrict__ first, const PetscCount *__restrict__ from,
                            const PetscScalar *__restrict__ v, bool add, PetscScalar *a)
{
  const PetscCount p = (PetscCount)blockIdx.x * SPIKE_BLOCK_EACH + threadIdx.x;

  if (p >= n) return;
  const PetscCount end = first[p + 1];
  PetscScalar      sum = add ? a[p] : PetscScalar(0.0);

  for (PetscCount k = first[p]; k < end; k++) sum += v[from[k]];
  a[p] = sum;
}

PetscErrorCode SpikeBlockAssemble_CUDA(SpikeBlock *s, PetscCount n, const PetscCount first[], const PetscCount from[],
                                       const PetscScalar v[], PetscBool add, PetscScalar a[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(s->stream, &stream));
  SpikeBlockAssemble_Kernel<<<SpikeBlockGrid(n), SPIKE_BLOCK_EACH, 0, stream>>>(n, first, from, v, add ? true : false,
                                                                                a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
