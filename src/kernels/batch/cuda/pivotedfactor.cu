/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pivotedfactor.cu: LU with row exchanges of a batch on CUDA devices. Step i has a window: rows i to i + kl, columns i
  to i + kl + ku, in which lie all entries of columns i and on of these rows. With e the first of the largest |a_(i+e,
  i)|, rows i and i + e of it change places, and

      l_r = a_(i+r, i) / u_(i, i)        a_(i+r, i+j) -= l_r u_(i, i+j)        1 <= r <= kl, 1 <= j <= kl + ku

  A lane has a system. The warps of a block share the rows r of one group; each of them looks for the pivot by itself,
  and has its row in registers. The window lies in shared memory, where row i + kl + 1 is on its way, or in the matrix
  itself where a device has no room for it. What bits a system has depends on neither.

  In shared memory the kl + ku + 1 diagonals of the matrix are read once, and the 2 kl + ku + 1 of the factors and the
  exchanges are written once.
*/
#include "pivots.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/memory.cuh"

/* Warps of a group, more of them where few groups fit a multiprocessor; rows on their way to the window */
template <typename B>
struct SpikeBatchShares {
  static constexpr int WARPS = B::KLMAX <= 4 ? 1 : B::KLMAX <= 8 ? 2 : 4, AHEAD = B::KLMAX <= 4 ? 2 : 1;
};

/*
  Rows i + r of a window in shared memory, the first column of the window first. Row i is in place `now` of a ring
*/
template <int WARPS>
struct SpikeBatchWindow {
  static constexpr int SHIFT = 1; /* what is in column i + j of this window is in column j - 1 of the next */
  PetscScalar         *ring;
  int                  w, places, now;

  __device__ PetscScalar *place(int r) const
  {
    const int p = now + r;

    return ring + (p < places ? p : p - places) * w * SPIKE_BATCH_LANES;
  }
  __device__ PetscScalar *row(PetscInt, int r) const { return place(r); }
  __device__ void         next() { now = now + 1 < places ? now + 1 : 0; }

  /* row i into place r: a begins with its element at distance -kl, which is `before` columns left of the window */
  __device__ void fetch(int r, const PetscScalar *a, int before, int warp) const
  {
    PetscScalar *to = place(r);

    for (int j = warp; j < w; j += WARPS) {
      if (j + before < w)
        SpikeCopyAsync<sizeof(PetscScalar)>(to + j * SPIKE_BATCH_LANES, a + (j + before) * SPIKE_BATCH_LANES);
      else to[j * SPIKE_BATCH_LANES] = PetscScalar(0.0);
    }
  }
};

/* The same rows where they are in the matrix */
struct SpikeBatchWindowInPlace {
  static constexpr int SHIFT = 0;
  PetscScalar         *pivots; /* of row 0 */
  int                  width;

  __device__ PetscScalar *row(PetscInt i, int r) const
  {
    return pivots + ((PetscInt64)(i + r) * width - r) * SPIKE_BATCH_LANES;
  }
};

template <typename B, bool INPLACE>
__global__ void __launch_bounds__(SPIKE_BATCH_LANES *SpikeBatchShares<B>::WARPS)
  SpikeBatchFactorPivoted_Kernel(const __grid_constant__ SpikeBatchGroups t,
                                 const __grid_constant__ SpikeBatchPolicy policy, double *badvalue,
                                 SpikeBatchReport *report)
{
  extern __shared__ __align__(16) char                                                                       shared[];
  typedef std::conditional_t<INPLACE, SpikeBatchWindowInPlace, SpikeBatchWindow<SpikeBatchShares<B>::WARPS>> Window;

  constexpr int W = B::KLMAX + B::KUMAX + 1, WARPS = SpikeBatchShares<B>::WARPS, AHEAD = SpikeBatchShares<B>::AHEAD,
                CHUNK = PetscMin(W - 1, 256 / (int)sizeof(PetscScalar));
  const int kl = B::kl(t), w = kl + B::ku(t) + 1, width = t.width, lane = (int)threadIdx.x % SPIKE_BATCH_LANES,
            warp       = (int)threadIdx.x / SPIKE_BATCH_LANES;
  const PetscInt group = (PetscInt)blockIdx.x, m = t.rows[group], len = t.len[group * SPIKE_BATCH_LANES + lane];
  PetscScalar   *a        = t.a + t.off[group] + lane;
  unsigned char *exchange = t.exchange + t.off[group] / width + lane;
  SpikeBatchSeen seen     = SpikeBatchSeenBegin(policy);
  PetscScalar    u[W];
  Window         window;

  auto meet = [&]() {
    if constexpr (WARPS > 1) __syncthreads();
  };
  auto fetch = [&](PetscInt i, int r) {
    if constexpr (!INPLACE) {
      if (i < m) window.fetch(r, a + (PetscInt64)i * width * SPIKE_BATCH_LANES, i < kl ? (int)(kl - i) : 0, warp);
      SpikeCopyCommit();
    }
  };

  if (!m) return;
  if constexpr (INPLACE) window = {a + kl * SPIKE_BATCH_LANES, width};
  else window = {(PetscScalar *)shared + lane, w, kl + 1 + AHEAD, 0};
  for (int r = 0; r < kl + AHEAD; r++) fetch(r, r);
  for (PetscInt i = 0; i < m; i++) {
    const int    down    = (int)min((PetscInt)kl, m - 1 - i);
    PetscScalar *at      = a + (PetscInt64)i * width * SPIKE_BATCH_LANES;
    PetscReal    largest = (PetscReal)0.0;
    int          e       = 0;

    /* row i + kl is there, all have done step i - 1, and the place of row i - 1 is free */
    if constexpr (!INPLACE) SpikeCopyWaitGroups<AHEAD - 1>();
    meet();
    fetch(i + kl + AHEAD, kl + AHEAD);

#pragma unroll 4
    for (int r = 0; r <= down; r++) {
      const PetscReal abs = SpikeAbs(*window.row(i, r));

      if (!r || abs > largest) {
        largest = abs;
        e       = r;
      }
    }
    const PetscScalar *pivot = window.row(i, e);

    SpikeUnroll(j, W) {
      u[j] = PetscScalar(0.0);
      if (j < w) u[j] = pivot[j * SPIKE_BATCH_LANES];
    }
    u[0] = PetscScalar(1.0) / SpikeBatchPivot(seen, u[0], i, len);
    meet(); /* all have read row i + e, where row i goes */
#pragma unroll 1
    for (int r = 1 + warp; r <= kl; r += WARPS) {
      PetscScalar l = PetscScalar(0.0);

      if (r <= down) {
        const PetscScalar *from = window.row(i, r == e ? 0 : r);
        PetscScalar       *to   = window.row(i, r);

        l = SpikeBatchMultiply(*from, u[0]);
        SpikeUnroll(c, (W - 1 + CHUNK - 1) / CHUNK) {
          PetscScalar v[CHUNK];

          SpikeUnroll(k, CHUNK) {
            const int j = 1 + c * CHUNK + k;

            v[k] = PetscScalar(0.0);
            if (j < W && j < w) v[k] = from[j * SPIKE_BATCH_LANES];
          }
          SpikeUnroll(k, CHUNK) {
            const int j = 1 + c * CHUNK + k;

            if (j < W && j < w) to[(j - Window::SHIFT) * SPIKE_BATCH_LANES] = SpikeBatchFnma(l, u[j < W ? j : 0], v[k]);
          }
        }
        if constexpr (!INPLACE) to[(w - 1) * SPIKE_BATCH_LANES] = PetscScalar(0.0);
      }
      at[(kl - r) * SPIKE_BATCH_LANES] = l;
    }
    if constexpr (INPLACE) meet(); /* all have read row i, where U goes */
    SpikeUnroll(j, W)
      if (j < w && j % WARPS == warp) at[(kl + j) * SPIKE_BATCH_LANES] = u[j];
    if (!warp) exchange[(PetscInt64)i * SPIKE_BATCH_LANES] = (unsigned char)e;
    if constexpr (!INPLACE) window.next();
  }
  if (!warp) {
    const PetscInt system = group * SPIKE_BATCH_LANES + lane;

    SpikeBatchSeenEnd(seen, t.first[system], system, badvalue, &report->badrow, &report->nboost);
  }
}

template <typename B, bool INPLACE>
static PetscErrorCode SpikeBatchFactorPivoted_Private(const SpikeBatchCUDA *h, const SpikeBatchPolicy &policy,
                                                      size_t shared, cudaStream_t stream)
{
  const int threads = SPIKE_BATCH_LANES * SpikeBatchShares<B>::WARPS;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeBatchFactorPivoted_Kernel<B, INPLACE>, threads, shared));
  SpikeBatchFactorPivoted_Kernel<B, INPLACE>
    <<<(unsigned int)h->g.ngroups, threads, shared, stream>>>(h->g, policy, h->badvalue, h->report);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchFactorPivoted_CUDA(const SpikeBatchCUDA *h, const SpikeBatchPolicy &policy,
                                            cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchDispatchPivoted(h->g, [&](auto band) {
    typedef decltype(band) B;
    const size_t           row = (size_t)(h->g.kl + h->g.ku + 1) * SPIKE_BATCH_LANES * sizeof(PetscScalar),
                 ring          = (h->g.kl + 1 + SpikeBatchShares<B>::AHEAD) * row;

    if (ring > (size_t)h->gpu->shared) return SpikeBatchFactorPivoted_Private<B, true>(h, policy, 0, stream);
    return SpikeBatchFactorPivoted_Private<B, false>(h, policy, ring, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
