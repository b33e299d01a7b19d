/* SPDX-License-Identifier: BSD-2-Clause */
/*
  solve.cuh: the substitutions of a batch on CUDA devices. A warp solves a group for one right-hand side. Vectors are in
  the order of the rows, a group in that of its lanes: patches of 32 rows of 32 systems are transposed in shared memory,
  on their way from and to the vectors, which are read and written in whole lines.
*/
#pragma once

#include "batch.cuh"
#include "kernels/common/cuda/async.cuh"

#define SPIKE_BATCH_PATCH 32
#define SPIKE_BATCH_LD    (SPIKE_BATCH_LANES + 1) /* so that columns of a patch lie in different banks */
#define SPIKE_BATCH_AHEAD 2                       /* patches on their way */

/* Vectors of a group in shared memory: all of their patches, or a ring of as many as are worked on */
template <bool INSHARED, int RING>
struct SpikeBatchVector {
  PetscScalar *patch;
  PetscInt     first, len, patches; /* of this lane's system; patches of the longest */

  __device__ PetscScalar *at(PetscInt k) const
  {
    return patch + (INSHARED ? k : k % RING) * (SPIKE_BATCH_PATCH * SPIKE_BATCH_LD);
  }
  /* patch k <- its rows, which are there after wait(); zeros after the end of a system */
  __device__ void fetch(PetscInt k, const PetscScalar *from) const
  {
    if (k >= 0 && k < patches) {
      const PetscInt row = k * SPIKE_BATCH_PATCH + threadIdx.x;
      PetscScalar   *to  = at(k) + threadIdx.x * SPIKE_BATCH_LD;

#pragma unroll 8
      for (int l = 0; l < SPIKE_BATCH_LANES; l++) {
        const PetscInt its = SpikeShfl(first, l), n = SpikeShfl(len, l);

        if (row < n) SpikeCopyAsync<sizeof(PetscScalar)>(to + l, from + its + row);
        else to[l] = PetscScalar(0.0);
      }
    }
    SpikeCopyCommit();
  }
  /* all patches that were fetched but the last SPIKE_BATCH_AHEAD are there, for all lanes */
  __device__ void wait() const
  {
    SpikeCopyWaitGroups<SPIKE_BATCH_AHEAD>();
    __syncwarp();
  }
  __device__ void store(PetscInt k, PetscScalar *to) const
  {
    const PetscInt     row = k * SPIKE_BATCH_PATCH + threadIdx.x;
    const PetscScalar *v   = at(k) + threadIdx.x * SPIKE_BATCH_LD;

    __syncwarp();
#pragma unroll 8
    for (int l = 0; l < SPIKE_BATCH_LANES; l++) {
      const PetscInt its = SpikeShfl(first, l), n = SpikeShfl(len, l);

      if (row < n) to[its + row] = v[l];
    }
    __syncwarp();
  }
};

/*
  Rows of factors on their way to a lane: as many as fill half of its registers. Where vectors are in shared memory, or
  systems are few, a multiprocessor has 2 to 6 groups, and wants some 32 KB on their way
*/
template <int N>
struct SpikeBatchRowsAhead {
  static constexpr int BYTES = N * (int)sizeof(PetscScalar), value = BYTES <= 40  ? 16
                                                                   : BYTES <= 72  ? 8
                                                                   : BYTES <= 144 ? 4
                                                                   : BYTES <= 288 ? 2
                                                                                  : 1;
};

/* N elements of row i, of which those from lo to hi - 1 are there, the others being zero */
template <int N>
__device__ static inline void SpikeBatchLoad(const PetscScalar *a, PetscInt64 row, int lo, int hi, PetscScalar f[N])
{
  const PetscScalar *from = a + row * SPIKE_BATCH_LANES;

  SpikeUnroll(d, N) {
    f[d] = PetscScalar(0.0);
    if (d >= lo && d < hi) SpikeLoadStream<PetscScalar, 1>(from + (d - lo) * SPIKE_BATCH_LANES, f + d);
  }
}

/* y_i = b_i - sum_d l_(i, i-d) y_(i-d). f[KLMAX - d] = l_(i, i-d) */
template <int KLMAX>
struct SpikeBatchLower {
  static constexpr int N = KLMAX;
  PetscScalar          w[KLMAX]; /* w[d]: row i - d - 1 */

  __device__ PetscScalar step(PetscScalar b, const PetscScalar f[])
  {
    SpikeUnroll(e, KLMAX) b = SpikeBatchFnma(f[e], w[KLMAX - 1 - e], b);
    SpikeUnroll(e, KLMAX - 1) w[KLMAX - 1 - e] = w[KLMAX - 2 - e];
    return w[0] = b;
  }
};

/* x_i = (y_i - sum_d u_(i, i+d) x_(i+d)) / u_ii. f[0]: the inverse of the pivot, f[d] = u_(i, i+d) */
template <int KUMAX>
struct SpikeBatchUpper {
  static constexpr int N = KUMAX + 1;
  PetscScalar          w[KUMAX]; /* w[d]: row i + d + 1 */

  __device__ PetscScalar step(PetscScalar y, const PetscScalar f[])
  {
    SpikeUnroll(e, KUMAX) y = SpikeBatchFnma(f[KUMAX - e], w[KUMAX - 1 - e], y);
    SpikeUnroll(e, KUMAX - 1) w[KUMAX - 1 - e] = w[KUMAX - 2 - e];
    return w[0] = SpikeBatchMultiply(y, f[0]);
  }
};

/* U^T y = b: y_i = (b_i + w_0) / u_ii, then w_(d-1) = w_d - u_(i, i+d) y_i: what later rows lack */
template <int KUMAX>
struct SpikeBatchUpperTrans {
  static constexpr int N = KUMAX + 1;
  PetscScalar          w[KUMAX];

  __device__ PetscScalar step(PetscScalar b, const PetscScalar f[])
  {
    const PetscScalar y = SpikeBatchMultiply(b + w[0], f[0]);

    SpikeUnroll(d, KUMAX)
      w[d] = SpikeBatchFnma(f[d + 1], y, d + 1 < KUMAX ? w[d + 1 < KUMAX ? d + 1 : d] : PetscScalar(0.0));
    return y;
  }
};

/* L^T x = y: x_i = y_i + w_0, then w_(d-1) = w_d - l_(i, i-d) x_i */
template <int KLMAX>
struct SpikeBatchLowerTrans {
  static constexpr int N = KLMAX;
  PetscScalar          w[KLMAX];

  __device__ PetscScalar step(PetscScalar y, const PetscScalar f[])
  {
    const PetscScalar x = y + w[0];

    SpikeUnroll(d, KLMAX)
      w[d] = SpikeBatchFnma(f[KLMAX - 1 - d], x, d + 1 < KLMAX ? w[d + 1 < KLMAX ? d + 1 : d] : PetscScalar(0.0));
    return x;
  }
};

/*
  One pass over the rows, downwards or up, in place in the patches of v, which are fetched from `from` (NULL: they are
  there) and stored to `to` (NULL: they stay). a: element 0 of row 0, of those that the pass reads; lo, hi: which of
  its N elements are stored
*/
template <typename P, bool UPWARDS, typename V>
__device__ static inline void SpikeBatchPass(const V &v, PetscInt m, const PetscScalar *a, int width, int lo, int hi,
                                             const PetscScalar *from, PetscScalar *to)
{
  constexpr int ROWSAHEAD = SpikeBatchRowsAhead<P::N>::value;
  PetscScalar   f[ROWSAHEAD][P::N];
  P             p;

  auto row = [&](PetscInt k) { return (PetscInt64)max((PetscInt)0, min(m - 1, k)) * width; };

  SpikeUnroll(d, (int)(sizeof(p.w) / sizeof(p.w[0]))) p.w[d] = PetscScalar(0.0);
  if (from)
    for (int k = 0; k < SPIKE_BATCH_AHEAD; k++) v.fetch(UPWARDS ? v.patches - 1 - k : k, from);
  /* rows in the order of the pass begin at the end of a patch, which may have fewer of them */
  SpikeUnroll(r, ROWSAHEAD)
    SpikeBatchLoad<P::N>(a, row(UPWARDS ? v.patches * SPIKE_BATCH_PATCH - 1 - r : r), lo, hi, f[r]);
  for (PetscInt step = 0; step < v.patches; step++) {
    const PetscInt k     = UPWARDS ? v.patches - 1 - step : step;
    PetscScalar   *patch = v.at(k) + threadIdx.x;

    if (from) {
      v.fetch(UPWARDS ? k - SPIKE_BATCH_AHEAD : k + SPIKE_BATCH_AHEAD, from);
      v.wait();
    }
    for (int r0 = 0; r0 < SPIKE_BATCH_PATCH; r0 += ROWSAHEAD) {
      SpikeUnroll(r, ROWSAHEAD) {
        const int      x = UPWARDS ? SPIKE_BATCH_PATCH - 1 - r0 - r : r0 + r;
        const PetscInt i = k * SPIKE_BATCH_PATCH + x;

        if (i < m) patch[x * SPIKE_BATCH_LD] = p.step(patch[x * SPIKE_BATCH_LD], f[r]);
        SpikeBatchLoad<P::N>(a, row(UPWARDS ? i - ROWSAHEAD : i + ROWSAHEAD), lo, hi, f[r]);
      }
    }
    if (to) v.store(k, to);
  }
}

/* What a warp has stored it fetches again */
__device__ static inline void SpikeBatchBetween()
{
  SpikeCopyWait();
  __threadfence_block();
  __syncwarp();
}

template <typename B, bool TRANSPOSED, bool INSHARED>
__global__ void __launch_bounds__(SPIKE_BATCH_LANES)
  SpikeBatchSolve_Kernel(const __grid_constant__ SpikeBatchGroups t, int nrhs, const PetscScalar *b, PetscCount ldb,
                         PetscScalar *x, PetscCount ldx)
{
  extern __shared__ __align__(16) char shared[];
  constexpr int                        KLMAX = B::KLMAX, KUMAX = B::KUMAX;
  const PetscInt     group = (PetscInt)(blockIdx.x / nrhs), lane = group * SPIKE_BATCH_LANES + threadIdx.x;
  const int          col = (int)(blockIdx.x % nrhs), kl = B::kl(t), ku = B::ku(t), width = B::width(t);
  const PetscInt     m = t.rows[group], patches = (m + SPIKE_BATCH_PATCH - 1) / SPIKE_BATCH_PATCH;
  const PetscScalar *a = t.a + t.off[group] + threadIdx.x, *diagonal = a + kl * SPIKE_BATCH_LANES;
  const PetscScalar *bc = b + col * ldb;
  PetscScalar       *xc = x + col * ldx, *between = INSHARED ? NULL : xc;

  const SpikeBatchVector<INSHARED, SPIKE_BATCH_AHEAD + 1> v = {(PetscScalar *)shared, t.first[lane], t.len[lane],
                                                               patches};

  if (!m) return;
  if (TRANSPOSED) SpikeBatchPass<SpikeBatchUpperTrans<KUMAX>, false>(v, m, diagonal, width, 0, ku + 1, bc, between);
  else SpikeBatchPass<SpikeBatchLower<KLMAX>, false>(v, m, a, width, KLMAX - kl, KLMAX, bc, between);
  if (!INSHARED) SpikeBatchBetween();
  if (TRANSPOSED) SpikeBatchPass<SpikeBatchLowerTrans<KLMAX>, true>(v, m, a, width, KLMAX - kl, KLMAX, between, xc);
  else SpikeBatchPass<SpikeBatchUpper<KUMAX>, true>(v, m, diagonal, width, 0, ku + 1, between, xc);
}

typedef void (*SpikeBatchSolver)(SpikeBatchGroups, int, const PetscScalar *, PetscCount, PetscScalar *, PetscCount);

/*
  All columns by one of two kernels: with all patches of a vector in shared memory, or with a ring of so many, whatever
  the number of columns is
*/
static inline PetscErrorCode SpikeBatchSolveColumns(const SpikeBatchCUDA *h, SpikeBatchSolver inshared,
                                                    SpikeBatchSolver inring, int ring, PetscInt nrhs,
                                                    const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                                                    PetscCount ldx, cudaStream_t stream)
{
  const PetscInt most    = PetscMax(1, PETSC_INT32_MAX / PetscMax(h->g.ngroups, 1)); /* blocks of a launch */
  const PetscInt patches = (h->longest + SPIKE_BATCH_PATCH - 1) / SPIKE_BATCH_PATCH;
  const size_t   patch = (size_t)SPIKE_BATCH_PATCH * SPIKE_BATCH_LD * sizeof(PetscScalar), whole = patches * patch;
  const bool     resident = whole <= SpikeBatchResident((size_t)h->gpu->shared, ring * patch);
  const size_t   bytes    = resident ? whole : ring * patch;
  const auto     kernel   = resident ? inshared : inring;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, SPIKE_BATCH_LANES, bytes));
  for (PetscInt c = 0; c < nrhs; c += most) {
    const PetscInt count = PetscMin(most, nrhs - c);

    kernel<<<(unsigned int)(h->g.ngroups * count), SPIKE_BATCH_LANES, bytes, stream>>>(h->g, (int)count, b + c * ldb,
                                                                                       ldb, x + c * ldx, ldx);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool TRANSPOSED>
static PetscErrorCode SpikeBatchSolvePlain(const SpikeBatchCUDA *h, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                           PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchDispatch(h->g, [&](auto band) {
    typedef decltype(band) B;

    return SpikeBatchSolveColumns(h, SpikeBatchSolve_Kernel<B, TRANSPOSED, true>,
                                  SpikeBatchSolve_Kernel<B, TRANSPOSED, false>, SPIKE_BATCH_AHEAD + 1, nrhs, b, ldb, x,
                                  ldx, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
