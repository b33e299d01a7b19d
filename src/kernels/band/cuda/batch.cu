/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.cu: a batch of systems on CUDA devices, in the place of a band: its matrix by the kernels of batch.h */
#include "fill.cuh"
#include "kernels/batch/cuda/batch.cuh"

#define SPIKE_BATCH_SHARED  49152 /* bytes of a piece of a group, at most */
#define SPIKE_BATCH_THREADS 256

/* What a fill knows of a batch: rows of a piece of a group, pieces of the longest group */
struct SpikeBatchTarget {
  SpikeBatchGroups g;
  PetscInt         n;
  int              rows, pieces;
  int              lanes; /* that share a row of the matrix */
  bool             alone; /* columns of other ranks are left out */
};

/*
  A block assembles `rows` rows of a group in shared memory and writes them in whole lines, with zeros in the diagonals
  that row exchanges fill later. `lanes` threads side by side read a row, the next ones the next row of the system,
  which follows in the matrix. Of pieces, entries that couple two of them go to their blocks, which are zero before.
  *joined: the complement of the first row that couples two systems
*/
template <typename S>
__global__ void __launch_bounds__(SPIKE_BATCH_THREADS, 4)
  SpikeBatchFill_Kernel(const __grid_constant__ SpikeBatchTarget f, const __grid_constant__ S source,
                        const PetscInt *oldrow, SpikeFillSeen *seen, unsigned long long *joined)
{
  extern __shared__ __align__(16) char shared[];
  PetscScalar                         *slab  = (PetscScalar *)shared;
  const SpikeBatchGroups              &t     = f.g;
  const int                            width = t.width, inside = t.kl + 1 + t.ku, ld = SPIKE_BATCH_LANES + 1;
  const PetscInt64                     units = (PetscInt64)t.ngroups * f.pieces;
  const int                            sub = threadIdx.x / f.lanes, sublane = threadIdx.x % f.lanes;
  const unsigned int team = (f.lanes == 32 ? ~0u : (1u << f.lanes) - 1) << (threadIdx.x % 32 / f.lanes * f.lanes);
  SpikeFillSeen      mine = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};

  for (PetscInt64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const PetscInt group = (PetscInt)(unit / f.pieces), i0 = (PetscInt)(unit % f.pieces) * f.rows,
                   left = t.rows[group] - i0;
    const int rows      = left < f.rows ? (int)left : f.rows;

    if (rows <= 0) continue; /* the same for all threads */
    for (int k = threadIdx.x; k < rows * inside * ld; k += SPIKE_BATCH_THREADS) slab[k] = PetscScalar(0.0);
    __syncthreads();
    for (int e = sub; e < f.rows * SPIKE_BATCH_LANES; e += SPIKE_BATCH_THREADS / f.lanes) {
      const int      r = e % f.rows, l = e / f.rows;
      const PetscInt first = t.first[group * SPIKE_BATCH_LANES + l], len = t.len[group * SPIKE_BATCH_LANES + l],
                     li = i0 + r, i = first + li;
      PetscScalar *to  = slab + (PetscInt64)r * inside * ld + l;
      double       sum = 0.0;
      PetscInt     row;

      if (r >= rows) continue;
      if (li >= len) {
        if (!sublane) to[t.kl * ld] = PetscScalar(1.0);
        continue;
      }
      row = oldrow ? oldrow[i] : i;
      source.share(row, i, sublane, f.lanes, [&](PetscScalar v, PetscInt distance) {
        const PetscReal abs = PetscAbsScalar(v);
        const PetscInt  j   = li + distance;

        if (!(abs <= PETSC_MAX_REAL)) mine.badrow = min(mine.badrow, (unsigned long long)row);
        sum += abs;
        if (distance < -t.kl || distance > t.ku) {
          mine.dropped += abs;
          mine.maxdropped = mine.maxdropped < abs ? abs : mine.maxdropped;
        } else if (j >= 0 && j < len) to[(t.kl + (int)distance) * ld] = v;
        else if (j < 0 && t.before(l)) *t.block(group, SPIKE_BATCH_C, (int)li, t.h + (int)j, l) = v;
        else if (j >= len && t.after(group, l))
          *t.block(group, SPIKE_BATCH_B, t.h - (int)(len - li), (int)(j - len), l) = v;
        else if (v != PetscScalar(0.0) && (!f.alone || (i + distance >= 0 && i + distance < f.n)))
          atomicMax(joined, ~(unsigned long long)row);
      });
      for (int step2 = f.lanes / 2; step2 > 0; step2 /= 2) sum += __shfl_xor_sync(team, sum, step2, f.lanes);
      if (sublane) continue;
      mine.sum += sum;
      mine.norm = mine.norm < sum ? sum : mine.norm;
      if (sum == 0.0) mine.zerorow = min(mine.zerorow, (unsigned long long)row);
    }
    __syncthreads();
    PetscScalar *out = t.a + t.off[group] + (PetscInt64)i0 * width * SPIKE_BATCH_LANES;

    for (int e = threadIdx.x; e < rows * inside * SPIKE_BATCH_LANES && inside == width; e += SPIKE_BATCH_THREADS)
      out[e] = slab[e / SPIKE_BATCH_LANES * ld + e % SPIKE_BATCH_LANES];
    for (int r = 0; r < rows && inside < width; r++) {
      const PetscScalar *from = slab + r * inside * ld;
      PetscScalar       *to   = out + r * width * SPIKE_BATCH_LANES;

      for (int e = threadIdx.x; e < width * SPIKE_BATCH_LANES; e += SPIKE_BATCH_THREADS) {
        const int d = e / SPIKE_BATCH_LANES;

        to[e] = d < inside ? from[d * ld + e % SPIKE_BATCH_LANES] : PetscScalar(0.0);
      }
    }
    __syncthreads();
  }
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (!threadIdx.x) seen[blockIdx.x] = mine;
}

template <typename S>
static PetscErrorCode SpikeBatchFill_Private(SpikeBand *s, const S &source, const PetscInt *oldrow)
{
  SpikeCUDA            *h      = (SpikeCUDA *)s->data;
  const SpikeBatchCUDA *y      = (const SpikeBatchCUDA *)h->batch->data;
  const cudaStream_t    stream = (cudaStream_t)s->stream;
  const size_t          row    = (size_t)(y->g.kl + 1 + y->g.ku) * (SPIKE_BATCH_LANES + 1) * sizeof(PetscScalar);
  SpikeBatchTarget      f =
    {y->g, s->n, (int)PetscMax(1, PetscMin(32, y->longest)), 0, S::lanes(s->kl + 1 + s->ku), s->alone == PETSC_TRUE};
  size_t bytes;
  int    blocks;

  PetscFunctionBegin;
  while (f.rows > 1 && f.rows * row > SPIKE_BATCH_SHARED) f.rows /= 2;
  f.pieces = (int)((y->longest + f.rows - 1) / f.rows);
  bytes    = PetscMax(f.rows * row, SPIKE_BATCH_THREADS / 2 * sizeof(SpikeFillSeen));
  blocks   = (int)PetscMin((PetscInt64)SpikeFillBlocks(&h->t), (PetscInt64)y->g.ngroups * f.pieces);
  PetscCallCUDA(cudaMemsetAsync(&h->report->fill.nboost, 0, sizeof(h->report->fill.nboost), stream));
  if (y->g.blocks && y->g.ngroups) { /* C and B, which are the first of each group */
    const size_t block = (size_t)y->g.h * y->g.h * SPIKE_BATCH_LANES * sizeof(PetscScalar);

    PetscCallCUDA(
      cudaMemset2DAsync(y->g.blocks, SPIKE_BATCH_BLOCKS * block, 0, 2 * block, (size_t)y->g.ngroups, stream));
  }
  PetscCall(SpikeKernelFit((const void *)SpikeBatchFill_Kernel<S>, SPIKE_BATCH_THREADS, bytes));
  SpikeBatchFill_Kernel<S><<<blocks, SPIKE_BATCH_THREADS, bytes, stream>>>(f, source, oldrow,
                                                                           (SpikeFillSeen *)h->scratch,
                                                                           &h->report->fill.nboost);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(SpikeFillSum_CUDA(s, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchFillSystems_CUDA(SpikeBand *s, const SpikeFillCSR *A, const PetscInt *newrow)
{
  const SpikeFillFromCSR source = {*A, newrow};

  PetscFunctionBegin;
  PetscCall(SpikeBatchFill_Private(s, source, newrow ? ((SpikeCUDA *)s->data)->oldrow : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchFillDiagonals_CUDA(SpikeBand *s, const SpikeFillDiagonals *A)
{
  const SpikeFillFromDiagonals source = {*A};

  PetscFunctionBegin;
  PetscCall(SpikeBatchFill_Private(s, source, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchFactorSystems_CUDA(SpikeBand *s, SpikePivot *pivot)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  h->batch->stream = s->stream;
  PetscCall((*h->batch->k->setup)(h->batch, pivot, pivot->relative ? &h->report->fill.value[3] : NULL));
  h->pivot = pivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchSweepSystems_CUDA(SpikeBand *s, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                           PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  h->batch->stream = s->stream;
  PetscCall((*h->batch->k->apply)(h->batch, trans, nrhs, b, ldb, g, ldg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
