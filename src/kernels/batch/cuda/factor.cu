/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor.cu: LU of a batch on CUDA devices: the last rows of U in registers, in shared memory where they are many, or
  where they have been written if a device has no room for that
*/
#include "pivots.cuh"
#include "kernels/common/cuda/memory.cuh"

/* Rows of U in registers: u[k][j] = u_(i-k-1, i-k-1+j), u[k][0] the inverse of the pivot */
template <int KLMAX, int KUMAX>
struct SpikeBatchRegisters {
  PetscScalar u[KLMAX][KUMAX + 1];

  __device__ void begin(PetscScalar *, const PetscScalar *, int)
  {
    SpikeUnroll2(k, KLMAX, j, KUMAX + 1) u[k][j] = PetscScalar(0.0);
  }
  __device__ PetscScalar get(PetscInt, int k, int j) const { return u[k - 1][j]; }
  __device__ void        put(PetscInt, const PetscScalar *row)
  {
    SpikeUnroll(k, KLMAX - 1)
      SpikeUnroll(j, KUMAX + 1) u[KLMAX - 1 - k][j] = u[KLMAX - 2 - k][j];
    SpikeUnroll(j, KUMAX + 1) u[0][j] = row[j];
  }
};

/* Rows of U in shared memory, where row i is in place i % KLMAX */
template <int KLMAX, int KUMAX>
struct SpikeBatchRing {
  static_assert((KLMAX & (KLMAX - 1)) == 0, "a power of two");
  PetscScalar *ring;

  __device__ void begin(PetscScalar *shared, const PetscScalar *, int)
  {
    ring = shared + threadIdx.x;
    for (int k = 0; k < KLMAX * (KUMAX + 1); k++) ring[k * SPIKE_BATCH_LANES] = PetscScalar(0.0);
  }
  __device__ PetscScalar get(PetscInt i, int k, int j) const
  {
    return ring[((int)((i - k) & (KLMAX - 1)) * (KUMAX + 1) + j) * SPIKE_BATCH_LANES];
  }
  __device__ void put(PetscInt i, const PetscScalar *row)
  {
    SpikeUnroll(j, KUMAX + 1) ring[((int)(i & (KLMAX - 1)) * (KUMAX + 1) + j) * SPIKE_BATCH_LANES] = row[j];
  }
};

/* Rows of U where this lane has written them: a begins with its first pivot */
struct SpikeBatchWritten {
  const PetscScalar *a;
  int                step;

  __device__ void begin(PetscScalar *, const PetscScalar *pivots, int width)
  {
    a    = pivots;
    step = width * SPIKE_BATCH_LANES;
  }
  __device__ PetscScalar get(PetscInt i, int k, int j) const
  {
    return k <= i ? a[(PetscInt64)(i - k) * step + j * SPIKE_BATCH_LANES] : PetscScalar(0.0);
  }
  __device__ void put(PetscInt, const PetscScalar *) { }
};

/* Row by row, the next ones on their way: reads and writes each element once */
template <typename B, typename U>
__global__ void __launch_bounds__(SPIKE_BATCH_LANES)
  SpikeBatchFactor_Kernel(const __grid_constant__ SpikeBatchGroups t, const __grid_constant__ SpikeBatchPolicy policy,
                          double *badvalue, SpikeBatchReport *report)
{
  extern __shared__ __align__(16) char shared[];
  constexpr int                        KLMAX = B::KLMAX, KUMAX = B::KUMAX, W = KLMAX + 1 + KUMAX,
                ROWSAHEAD = W * (int)sizeof(PetscScalar) <= 40  ? 8
                          : W * (int)sizeof(PetscScalar) <= 72  ? 4
                          : W * (int)sizeof(PetscScalar) <= 136 ? 2
                                                                : 1;
  const int      kl = B::kl(t), ku = B::ku(t), width = B::width(t);
  const PetscInt group = (PetscInt)blockIdx.x, lane = group * SPIKE_BATCH_LANES + threadIdx.x, m = t.rows[group],
                 len  = t.len[lane];
  PetscScalar   *a    = t.a + t.off[group] + threadIdx.x;
  SpikeBatchSeen seen = SpikeBatchSeenBegin(policy);
  PetscScalar    ahead[ROWSAHEAD][W];
  U              u;

  auto load = [&](PetscInt i, PetscScalar *to) {
    const PetscScalar *from = a + (PetscInt64)min(i, m - 1) * width * SPIKE_BATCH_LANES;

    SpikeUnroll(d, W) {
      to[d] = PetscScalar(0.0);
      if (d >= KLMAX - kl && d <= KLMAX + ku) to[d] = from[(d - KLMAX + kl) * SPIKE_BATCH_LANES];
    }
  };

  if (!m) return;
  u.begin((PetscScalar *)shared, a + kl * SPIKE_BATCH_LANES, width);
  SpikeUnroll(r, ROWSAHEAD) load(r, ahead[r]);
  for (PetscInt i0 = 0; i0 < m; i0 += ROWSAHEAD) {
    SpikeUnroll(r, ROWSAHEAD) {
      const PetscInt i  = i0 + r;
      PetscScalar   *at = a + (PetscInt64)i * width * SPIKE_BATCH_LANES, row[W];

      if (i >= m) break;
      SpikeUnroll(d, W) row[d] = ahead[r][d];
      load(i + ROWSAHEAD, ahead[r]);
      SpikeUnroll(e, KLMAX) {
        const int k = KLMAX - e;

        if (k <= kl) {
          row[e] = SpikeBatchMultiply(row[e], u.get(i, k, 0));
          SpikeUnroll(j, KUMAX)
            if (j < ku) row[e + 1 + j] = SpikeBatchFnma(row[e], u.get(i, k, j + 1), row[e + 1 + j]);
        }
      }
      row[KLMAX] = PetscScalar(1.0) / SpikeBatchPivot(seen, row[KLMAX], i, len);
      u.put(i, row + KLMAX);
      SpikeUnroll(d, W) {
        if (d >= KLMAX - kl && d <= KLMAX + ku) at[(d - KLMAX + kl) * SPIKE_BATCH_LANES] = row[d];
      }
    }
  }
  SpikeBatchSeenEnd(seen, t.first[lane], lane, badvalue, &report->badrow, &report->nboost);
}

template <typename B, typename U>
static PetscErrorCode SpikeBatchFactor_Private(const SpikeBatchCUDA *h, const SpikeBatchPolicy &policy, size_t shared,
                                               cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeBatchFactor_Kernel<B, U>, SPIKE_BATCH_LANES, shared));
  SpikeBatchFactor_Kernel<B, U>
    <<<(unsigned int)h->g.ngroups, SPIKE_BATCH_LANES, shared, stream>>>(h->g, policy, h->badvalue, h->report);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchSetUp_CUDA(SpikeBatch *t, SpikePivot *pivot, const double *unit)
{
  SpikeBatchCUDA        *h      = (SpikeBatchCUDA *)t->data;
  const SpikeBatchPolicy policy = {(double)pivot->tol, PetscMax((double)pivot->boost, 0.0), unit};
  cudaStream_t           stream;

  PetscFunctionBegin;
  if (!t->ngroups) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(t->stream, &stream));
  PetscCallCUDA(cudaMemsetAsync(h->report, 0, sizeof(*h->report), stream));
  if (t->pivoting) {
    PetscCall(SpikeBatchFactorPivoted_CUDA(h, policy, stream));
    PetscCall(PetscLogGpuFlops((2.0 * (t->kl + t->ku) + 1.0) * t->kl * t->start[t->nsys]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeBatchDispatch(h->g, [&](auto band) {
    typedef decltype(band) B;

    if constexpr (B::KLMAX * B::KUMAX * sizeof(PetscScalar) <= 512)
      return SpikeBatchFactor_Private<B, SpikeBatchRegisters<B::KLMAX, B::KUMAX>>(h, policy, 0, stream);
    else {
      const size_t ring = (size_t)B::KLMAX * (B::KUMAX + 1) * SPIKE_BATCH_LANES * sizeof(PetscScalar);

      if (ring > (size_t)h->gpu->shared) return SpikeBatchFactor_Private<B, SpikeBatchWritten>(h, policy, 0, stream);
      return SpikeBatchFactor_Private<B, SpikeBatchRing<B::KLMAX, B::KUMAX>>(h, policy, ring, stream);
    }
  }));
  if (h->g.parts > 1) PetscCall(SpikeBatchCouple_CUDA(h, policy, stream));
  PetscCall(PetscLogGpuFlops((2.0 * t->ku + 1.0) * t->kl * t->start[t->nsys]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
