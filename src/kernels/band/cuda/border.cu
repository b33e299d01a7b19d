/* SPDX-License-Identifier: BSD-2-Clause */
/* border.cu: the CUDA backend of border.h */
#include "band.cuh"
extern "C" {
#include "kernels/band/border.h"
}

#define SPIKE_SPLIT_THREADS 256
#define SPIKE_SPLIT_BLOCKS  1024 /* for the rows beside the border, at most */
#define SPIKE_SPLIT_PIECES  64   /* of a row of the border, a block for each */

/* What one block, or the device, has seen */
struct SpikeSplitPart {
  double             norm, most;
  unsigned long long badrow;
};

/*
  Scratch: the result, parts of the blocks that have rows, and of the pieces of rows of the border, whose norm is a sum
*/
struct SpikeSplitScratch {
  SpikeSplitPart result, rows[SPIKE_SPLIT_BLOCKS];
  SpikeSplitPart pieces[1];
};

static size_t SpikeSplitScratch_CUDA(PetscInt m)
{
  return sizeof(SpikeSplitScratch) + (size_t)m * SPIKE_SPLIT_PIECES * sizeof(SpikeSplitPart);
}

__device__ static inline void SpikeSplitMerge(SpikeSplitPart &a, const SpikeSplitPart &b, bool sums)
{
  if (sums) a.norm += b.norm;
  else if (a.norm < b.norm) a.norm = b.norm;
  if (a.most < b.most) a.most = b.most;
  if (a.badrow > b.badrow) a.badrow = b.badrow;
}

/* Over the threads of a block, in a fixed order; thread 0 has the result */
__device__ static inline void SpikeSplitReduce(SpikeSplitPart &mine, bool sums, SpikeSplitPart *shared)
{
  for (unsigned int half = SPIKE_SPLIT_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half && threadIdx.x < 2 * half) shared[threadIdx.x - half] = mine;
    __syncthreads();
    if (threadIdx.x < half) SpikeSplitMerge(mine, shared[threadIdx.x], sums);
  }
}

/* Entries first + step u < end, u = 0, 1, ..., of a row; returns the sum of their magnitudes */
__device__ static inline double SpikeSplitEntries(const SpikeCSR &A, const PetscInt *to, PetscInt row, PetscInt first,
                                                  PetscInt stride, PetscInt end, PetscScalar *band, PetscScalar *rest,
                                                  SpikeSplitPart &mine)
{
  double sum = 0.0;

  for (PetscInt64 k0 = first; k0 < end; k0 += 4 * stride) {
    PetscScalar v[4];
    PetscInt    place[4];

    SpikeUnroll(u, 4) { /* four loads on their way at once */
      const bool in = k0 + u * stride < end;

      v[u]     = in ? A.aa[k0 + u * stride] : PetscScalar(0.0);
      place[u] = in ? to[k0 + u * stride] : 0;
    }
    SpikeUnroll(u, 4) {
      const double abs = (double)PetscAbsScalar(v[u]);

      if (k0 + u * stride >= end) continue;
      sum += abs;
      if (!(abs <= (double)PETSC_MAX_REAL)) mine.badrow = min(mine.badrow, (unsigned long long)row);
      if (place[u] >= 0) {
        band[place[u]] = v[u];
        if (mine.most < abs) mine.most = abs;
      } else rest[-1 - place[u]] = v[u];
    }
  }
  return sum;
}

/*
  Rows beside the border: `lanes` threads share one, and the grid's shape fixes the order of the sums. Reads values and
  places once, writes each value once
*/
__global__ void __launch_bounds__(SPIKE_SPLIT_THREADS)
  SpikeSplitRows_Kernel(SpikeSplit p, SpikeCSR A, int lanes, PetscScalar *band, PetscScalar *rest,
                        SpikeSplitScratch *scratch)
{
  __shared__ SpikeSplitPart shared[SPIKE_SPLIT_THREADS / 2];
  const int                 teams = SPIKE_SPLIT_THREADS / lanes, lane = threadIdx.x % lanes;
  const unsigned int        team = (lanes == 32 ? ~0u : (1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
  SpikeSplitPart            mine = {0.0, 0.0, ~0ull};

  for (PetscInt64 i = blockIdx.x * (PetscInt64)teams + threadIdx.x / lanes; i < p.n;
       i += (PetscInt64)gridDim.x * teams) {
    const PetscInt row = (PetscInt)i;
    PetscInt       lo = 0, hi = p.m;
    double         sum;

    while (lo < hi) { /* the first row of the border that is not before this one */
      const PetscInt mid = (lo + hi) / 2;

      if (p.rows[mid] < row) lo = mid + 1;
      else hi = mid;
    }
    if (lo < p.m && p.rows[lo] == row) continue;
    sum = SpikeSplitEntries(A, p.to, row, A.ai[row] + lane, lanes, A.ai[row + 1], band, rest, mine);
    for (int d = lanes / 2; d > 0; d /= 2) sum += __shfl_xor_sync(team, sum, d, lanes);
    if (mine.norm < sum) mine.norm = sum;
  }
  SpikeSplitReduce(mine, false, shared);
  if (threadIdx.x == 0) scratch->rows[blockIdx.x] = mine;
}

/* A piece of a row of the border: row blockIdx.y, of which the block has every SPIKE_SPLIT_PIECES-th stretch */
__global__ void __launch_bounds__(SPIKE_SPLIT_THREADS)
  SpikeSplitBorder_Kernel(SpikeSplit p, SpikeCSR A, PetscScalar *band, PetscScalar *rest, SpikeSplitScratch *scratch)
{
  __shared__ SpikeSplitPart shared[SPIKE_SPLIT_THREADS / 2];
  const PetscInt            row = p.rows[blockIdx.y], stride = SPIKE_SPLIT_PIECES * SPIKE_SPLIT_THREADS;
  SpikeSplitPart            mine  = {0.0, 0.0, ~0ull};
  const PetscInt            first = A.ai[row], at = blockIdx.x * SPIKE_SPLIT_THREADS + threadIdx.x;

  if (at < A.ai[row + 1] - first)
    mine.norm = SpikeSplitEntries(A, p.to, row, first + at, stride, A.ai[row + 1], band, rest, mine);
  SpikeSplitReduce(mine, true, shared);
  if (threadIdx.x == 0) scratch->pieces[blockIdx.y * SPIKE_SPLIT_PIECES + blockIdx.x] = mine;
}

/* What all blocks have seen, and the diagonal of the border's rows; one block */
__global__ void __launch_bounds__(SPIKE_SPLIT_THREADS)
  SpikeSplitFinish_Kernel(SpikeSplit p, int blocks, PetscScalar *band, SpikeSplitScratch *scratch)
{
  __shared__ SpikeSplitPart shared[SPIKE_SPLIT_THREADS / 2];
  __shared__ double         unit;
  SpikeSplitPart            mine = {0.0, 0.0, ~0ull};

  for (int k = threadIdx.x; k < blocks; k += SPIKE_SPLIT_THREADS) SpikeSplitMerge(mine, scratch->rows[k], false);
  for (PetscInt k = threadIdx.x; k < p.m; k += SPIKE_SPLIT_THREADS) {
    SpikeSplitPart row = {0.0, 0.0, ~0ull};

    for (int x = 0; x < SPIKE_SPLIT_PIECES; x++)
      SpikeSplitMerge(row, scratch->pieces[k * SPIKE_SPLIT_PIECES + x], true);
    SpikeSplitMerge(mine, row, false);
  }
  SpikeSplitReduce(mine, false, shared);
  if (threadIdx.x == 0) {
    scratch->result = mine;
    unit            = (double)SpikeSplitUnit((PetscReal)mine.most);
  }
  __syncthreads();
  for (PetscInt k = threadIdx.x; k < p.m; k += SPIKE_SPLIT_THREADS) band[p.diagonal[k]] = (PetscScalar)unit;
}

static PetscErrorCode SpikeSplit_CUDA(SpikeBand *s, const SpikeSplit *p, const SpikeCSR *A, PetscScalar *band,
                                      PetscScalar *rest, SpikeSplitSeen *seen)
{
  const cudaStream_t stream  = (cudaStream_t)s->stream;
  SpikeSplitScratch *scratch = (SpikeSplitScratch *)p->scratch;
  SpikeSplitPart     result;
  int                lanes = 2, blocks;

  PetscFunctionBegin;
  if (p->nrest) PetscCallCUDA(cudaMemsetAsync(rest, 0, (size_t)p->nrest * sizeof(PetscScalar), stream));
  while (lanes < 32 && (PetscInt64)5 * lanes * p->n < p->entries) lanes *= 2;
  blocks = (int)PetscMin(SPIKE_SPLIT_BLOCKS,
                         PetscMax(1, ((PetscInt64)p->n * lanes + SPIKE_SPLIT_THREADS - 1) / SPIKE_SPLIT_THREADS));
  SpikeSplitRows_Kernel<<<blocks, SPIKE_SPLIT_THREADS, 0, stream>>>(*p, *A, lanes, band, rest, scratch);
  PetscCallCUDA(cudaGetLastError());
  if (p->m) {
    SpikeSplitBorder_Kernel<<<dim3(SPIKE_SPLIT_PIECES, (unsigned int)p->m), SPIKE_SPLIT_THREADS, 0, stream>>>(*p, *A,
                                                                                                              band,
                                                                                                              rest,
                                                                                                              scratch);
    PetscCallCUDA(cudaGetLastError());
  }
  SpikeSplitFinish_Kernel<<<1, SPIKE_SPLIT_THREADS, 0, stream>>>(*p, blocks, band, scratch);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&result, &scratch->result, sizeof(result), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)sizeof(result)));
  seen->norm   = (PetscReal)result.norm;
  seen->most   = (PetscReal)result.most;
  seen->badrow = result.badrow == ~0ull ? -1 : (PetscInt)result.badrow;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeSplitKernels SpikeSplitKernels_CUDA = {
  /* scratch */ SpikeSplitScratch_CUDA,
  /* split */ SpikeSplit_CUDA,
};
