/* SPDX-License-Identifier: BSD-2-Clause */
/* spikes.cu: the spikes of whole partitions, for full SPIKE */
#include "band.cuh"
#include "tips_columns.cuh"

/*
  W = U^-1 L^-1 [C; 0] and V = U^-1 L^-1 [0; B] over all rows of a partition, as in tips.cu: a thread block has some
  columns of a spike, reads each tile once for all of them, and has their last tile rows in shared memory. On the way
  forward W leaves Y = L^-1 [C; 0] in memory; that of V is zero above its last ku rows. On the way back the first ku and
  the last kl rows are kept. Thread blocks below `left` have left spikes, and places for all rows of Y; the others right
  spikes, with places for the rows of B. Moves L and U once for each block of columns, and Y twice. Deterministic.
*/
#define SPIKE_SPIKES_NARROW 8 /* half-bandwidths up to this go another way, see below */

struct SpikeSpikesArgs {
  SpikeTipsArgs tips; /* rows: tile rows of Y of a left spike */
  PetscScalar  *Vt, *Wb;
  int           left; /* thread blocks of left spikes */
};

/* Where the tips of a spike go, columns of ku and kl numbers, NULL: nowhere; of n rows, and K in a tip at most */
struct SpikeSpikesTips {
  PetscScalar *top, *bottom;
  int          kl, ku, K, n, T, nc;
};

/* A strip in rows k0 .. k0 + T - 1, to the tips; x, y: largest magnitudes in the first and the last K rows */
template <int N8>
__device__ static __noinline__ uint2 SpikeSpikesKeep(const SpikeArith *strip, const SpikeSpikesTips to, int k0)
{
  const int      g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
  SpikeStrip<N8> x;
  uint2          most = {0, 0};

  SpikeStripGet(strip, x);
  SpikeStripEach<N8>(x, [&](SpikeArith &v, int h, int m, int e) {
    const int      c = threadIdx.x / 32 * 16 + 8 * h + g, i = 8 * m + 2 * q + e, k = k0 + i, b = k - (to.n - to.kl);
    const unsigned size = SpikeMagnitude(v);

    if (c < to.nc && i < to.T && k < to.n) {
      if (k < to.K) most.x = PetscMax(most.x, size);
      if (k >= to.n - to.K) most.y = PetscMax(most.y, size);
      if (to.top && k < to.ku) to.top[(PetscCount)c * to.ku + k] = (PetscScalar)v;
      if (b >= 0) to.bottom[(PetscCount)c * to.kl + b] = (PetscScalar)v;
    }
  });
  return most;
}

template <typename F, int N8>
__global__ void __launch_bounds__(32 * SPIKE_TIPS_WARPS, 1)
  SpikeSpikes_Kernel(const __grid_constant__ SpikeSpikesArgs args)
{
  typedef SpikeColumns<F, N8> Columns;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           norms[2 * SPIKE_TIPS_WARPS];
  const SpikeTipsArgs                          &a = args.tips;
  const SpikeTiles                             &t = a.t;
  const int T = t.T, kl = t.kl, ku = t.ku, Q = PetscMax(t.QL, t.QU), half = (int)(t.np + 1) * a.blocks,
            size     = a.strips * Columns::STRIP;
  const bool   right = (int)blockIdx.x >= args.left;
  const int    begin = right ? blockIdx.x - args.left : blockIdx.x, by = right ? gridDim.x - args.left : args.left;
  PetscScalar *Y = a.work +
                   (right ? (PetscInt64)args.left * a.rows + (PetscInt64)begin * (Q + 2) : (PetscInt64)begin * a.rows) *
                     size;
  Columns s(a, shared, norms);

  for (int i = begin; i < half; i += by) {
    const PetscInt      q = i / a.blocks, p = right ? q - 1 : q;
    const int           h = right ? ku : kl, col0 = (i % a.blocks) * a.ncols, nc = PetscMin(a.ncols, h - col0);
    const PetscReal     none = PETSC_MIN_REAL;
    const SpikeWarpRole role = 16 * s.warp < nc ? SPIKE_WARP_STRIP : SPIKE_WARP_HELPS;
    uint2               most = {0, 0};
    double              above, below;

    if (!threadIdx.x) a.rate[right ? half + i : i] = none;
    if (!t.active[q] || p < 0 || p >= t.np || nc <= 0) continue;
    const int  n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, f0 = right ? (n - ku) / T : 0;
    const bool couples = !right || t.active[p]; /* else the top of V is not needed */
    const int  last = couples ? 0 : (n - kl) / T, toprows = PetscMax(Q, 1), bottomrows = toprows + (n % T ? 1 : 0),
              begins         = right ? J - f0 : PetscMin(t.QL, J); /* rows with a right-hand side */
    const PetscScalar    *A  = (right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)col0 * h;
    const SpikeSpikesTips to = {couples ? (right ? args.Vt : a.Wt) + q * (PetscCount)h * ku + (PetscCount)col0 * ku
                                        : NULL,
                                (right ? a.Vb : args.Wb) + q * (PetscCount)h * kl + (PetscCount)col0 * kl,
                                kl,
                                ku,
                                PetscMax(kl, ku),
                                n,
                                T,
                                nc};

    s.partition(a.band, p);
    s.clear(role);
    if (role == SPIKE_WARP_STRIP) {
      SpikeColumnsBegin<F, N8>(A, Y + s.warp * Columns::STRIP, size, h, nc, right ? n - h - f0 * T : 0, T, begins);
      __syncwarp();
    }
    s.begin(false, f0);
    for (int j = f0; j < J; j++) {
      PetscScalar *y = Y + (PetscInt64)(j - f0) * size;

      (void)s.template step<false>(j, f0, role, j - f0 < begins ? y : NULL, y);
    }
    s.clear(role);
    s.begin(true, J - 1);
    for (int j = J - 1; j >= last; j--) {
      (void)s.template step<true>(j, 0, role, j >= f0 ? Y + (PetscInt64)(j - f0) * size : NULL, NULL);
      if (role == SPIKE_WARP_STRIP && (j < toprows || j >= J - bottomrows)) {
        const uint2 m = SpikeSpikesKeep<N8>(s.strip + s.slot(j) * Columns::STRIP, to, j * T);

        most.x = PetscMax(most.x, m.x);
        most.y = PetscMax(most.y, m.y);
      }
    }
    above = s.reduce(most.x);
    below = s.reduce(most.y);
    if (!threadIdx.x) {
      const int rows = PetscMax(n - PetscMax(kl, ku), 1); /* from one tip to the other */

      a.rate[right ? half + i : i] = (PetscReal)(right ? SpikeRate(below, above, rows) : SpikeRate(above, below, rows));
    }
  }
  SpikeCopyWait();
}

/* Columns of a thread block: those of the tips, without one for signs */
static void SpikeSpikesPlan_Private(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu,
                                    SpikeTipsPlan *plan)
{
  (void)SpikeTipsPlan_CUDA(s, t, gpu, plan);
  SpikeDispatchPrecision(s->precision,
                         plan->shared = SpikeColumnsShared<F>(t->T, plan->strips, plan->slots, plan->chunk, false));
  plan->threads = 32 * plan->strips;
  plan->rows    = PetscMax(t->tilerows, 1);
}

/* Elements of Y of `left` thread blocks with left spikes and of all with right ones */
static PetscInt64 SpikeSpikesElements_Private(const SpikeTiles *t, const SpikeTipsPlan *plan, PetscInt64 left)
{
  const PetscInt64 row = SPIKE_COLUMNS_PIECE * (PetscInt64)plan->strips, half = (PetscInt64)(t->np + 1) * plan->blocks;

  return (left * plan->rows + half * (PetscMax(t->QL, t->QU) + 2)) * row;
}

/* As many left spikes at once as there are, or as fit in half of the band's memory or 24 MB; at least one */
PetscInt64 SpikeSpikesWork_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu)
{
  const PetscInt64 band = t->groups() * (PetscInt64)t->tilerows * t->rowsize,
                   room = PetscMax((PetscInt64)(band / 2 * SpikePrecisionBytes(s->precision) / sizeof(PetscReal)),
                                   3145728);
  PetscInt64    left;
  SpikeTipsPlan plan;

  if (!s->coupled || s->nsystems) return 0;
  if (PetscMax(s->kl, s->ku) <= SPIKE_SPIKES_NARROW) return PetscMax(s->kl, s->ku) * (PetscInt64)s->n;
  SpikeSpikesPlan_Private(s, t, gpu, &plan);
  left = room / (SPIKE_COLUMNS_PIECE * (PetscInt64)plan.strips * plan.rows);
  left = PetscMax(1, PetscMin(left, (PetscInt64)(t->np + 1) * plan.blocks));
  return SpikeSpikesElements_Private(t, &plan, left);
}

template <typename F>
static PetscErrorCode SpikeSpikesLaunch_Private(const SpikeSpikesArgs &a, const SpikeTipsPlan &plan, int blocks,
                                                cudaStream_t stream)
{
  const auto kernel = a.tips.t.T <= 16 ? SpikeSpikes_Kernel<F, 2>
                    : a.tips.t.T <= 24 ? SpikeSpikes_Kernel<F, 3>
                                       : SpikeSpikes_Kernel<F, 4>;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, plan.threads, plan.shared));
  kernel<<<(unsigned)blocks, plan.threads, plan.shared, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays that full SPIKE has besides, once; and room for its setup */
static PetscErrorCode SpikeSpikesCreate_Private(SpikeBand *s)
{
  const PetscCount   kl = s->kl, ku = s->ku, np = s->np;
  const cudaStream_t stream = (cudaStream_t)s->stream;

  PetscFunctionBegin;
  if (!((const SpikeCUDA *)s->data)->roomfull) PetscCall((*s->k->reserve)(s, s->maxrhs));
  if (s->dmerged) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->dVt) PetscCall(SpikeCalloc_CUDA((np + 1) * ku * ku, stream, &s->dVt));
  if (!s->dWb) PetscCall(SpikeCalloc_CUDA((np + 1) * kl * kl, stream, &s->dWb));
  PetscCall(SpikeCalloc_CUDA((np + 1) * 3 * (kl + ku) * (kl + ku), stream, &s->dmerged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Narrow bands, where a tile is a few rows and half-bandwidth 1 has kernels of its own: all columns of the left spikes
  of all partitions, then of the right ones, by one sweep with as many right-hand sides.

  z <- C in the first rows of each partition, or B in its last rows; z was zero. A thread block for a partition.
*/
__global__ static void SpikeSpikesBegin_Kernel(const __grid_constant__ SpikeTiles t, bool right, const PetscScalar *A,
                                               PetscScalar *z, PetscCount ldz)
{
  const PetscInt p = blockIdx.x, q = right ? p + 1 : p, n = t.start[p + 1] - t.start[p];
  const int      h = right ? t.ku : t.kl;

  if (!t.active[q] || !n) return;
  for (int e = threadIdx.x; e < h * h; e += blockDim.x)
    z[e / h * ldz + t.start[p] + (right ? n - h : 0) + e % h] = A[q * (PetscCount)h * h + e];
}

/* The tips from the spikes in z, and how they fall from one end to the other */
__global__ static void SpikeSpikesEnd_Kernel(const __grid_constant__ SpikeTiles t, bool right, const PetscScalar *z,
                                             PetscCount ldz, PetscScalar *top, PetscScalar *bottom, PetscReal *rate,
                                             int rates)
{
  __shared__ unsigned most[2];
  const PetscInt      p = blockIdx.x, q = right ? p + 1 : p, n = t.start[p + 1] - t.start[p];
  const int           h = right ? t.ku : t.kl, K = PetscMin(PetscMax(t.kl, t.ku), (int)n);

  if (threadIdx.x < 2) most[threadIdx.x] = 0;
  __syncthreads();
  if (t.active[q] && n) {
    z += t.start[p];
    for (int e = threadIdx.x; e < h * K; e += blockDim.x) {
      const PetscScalar above = z[e / K * ldz + e % K], below = z[e / K * ldz + n - K + e % K];
      const int         i = e % K, k = i - (K - t.kl); /* rows of the tips */

      if (i < t.ku) top[(q * (PetscCount)h + e / K) * t.ku + i] = above;
      if (k >= 0) bottom[(q * (PetscCount)h + e / K) * t.kl + k] = below;
      atomicMax(&most[0], SpikeMagnitude(SpikeArith(above)));
      atomicMax(&most[1], SpikeMagnitude(SpikeArith(below)));
    }
  }
  __syncthreads();
  if (!threadIdx.x) {
    const double above = SpikeMagnitudeValue(most[0]), below = SpikeMagnitudeValue(most[1]);
    const int    rows = PetscMax((int)n - K, 1); /* from one tip to the other */

    rate[q * rates] = (PetscReal)(right ? SpikeRate(below, above, rows) : SpikeRate(above, below, rows));
  }
}

static PetscErrorCode SpikeSpikesNarrow_Private(SpikeBand *s, PetscReal *rate, int rates)
{
  SpikeCUDA         *h       = (SpikeCUDA *)s->data;
  const cudaStream_t stream  = (cudaStream_t)s->stream;
  PetscScalar       *z       = h->tri ? s->dwork : h->spike; /* room for as many columns as a half-bandwidth */
  const PetscBool    coupled = s->coupled;
  PetscErrorCode     ierr    = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int right = 0; right < 2; right++) {
    /* tiles of few rows make the sweeps of many right-hand sides slow */
    const PetscInt columns = right ? s->ku : s->kl, together = columns <= 4 ? 1 : columns;
    PetscReal     *rateof = rate + right * (s->np + 1) * rates;

    if (!columns) continue;
    PetscCallCUDA(cudaMemsetAsync(z, 0, (size_t)columns * (size_t)s->n * sizeof(PetscScalar), stream));
    SpikeSpikesBegin_Kernel<<<(unsigned)s->np, 64, 0, stream>>>(h->t, (bool)right, right ? s->dB : s->dC, z, s->n);
    PetscCallCUDA(cudaGetLastError());
    s->coupled = PETSC_FALSE; /* a sweep that leaves no tips */
    for (PetscInt c = 0; c < columns && !ierr; c += together) {
      PetscScalar *zc = z + c * (PetscCount)s->n;

      ierr = SpikeSweep_CUDA(s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, s->np, PetscMin(together, columns - c), zc, s->n, zc,
                             s->n);
    }
    s->coupled = coupled;
    PetscCall(ierr);
    SpikeSpikesEnd_Kernel<<<(unsigned)s->np, 64, 0, stream>>>(h->t, (bool)right, z, s->n, right ? s->dVt : s->dWt,
                                                              right ? s->dVb : s->dWb, rateof, rates);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half-bandwidth 1 with the kernels of tridiagonal.h: what the spikes say is fetched here */
static PetscErrorCode SpikeSpikesSystems_Private(SpikeBand *s, PetscReal falloff[])
{
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const size_t       bytes  = 2 * ((size_t)s->np + 1) * sizeof(PetscReal);
  PetscReal         *rate;

  PetscFunctionBegin;
  PetscCall(SpikeMallocCopy_CUDA(2 * ((PetscCount)s->np + 1), falloff, stream, &rate));
  PetscCall(SpikeSpikesNarrow_Private(s, rate, 1));
  PetscCallCUDA(cudaMemcpyAsync(falloff, rate, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)bytes));
  PetscCallCUDA(cudaFree(rate));
  for (PetscInt q = 0; q <= s->np; q++)
    if (!s->active[q]) falloff[q] = falloff[s->np + 1 + q] = PETSC_MIN_REAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeSpikes_CUDA(SpikeBand *s, PetscReal falloff[])
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const SpikeTiles  *t      = &h->t;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt64   half   = s->np + 1;
  SpikeTipsPlan      plan;
  SpikeSpikesArgs    a = {};
  PetscInt64         row, left;

  PetscFunctionBegin;
  for (PetscInt q = 0; q < 2 * (s->np + 1); q++) falloff[q] = PETSC_MIN_REAL;
  if (!s->coupled || !PetscMax(s->kl, s->ku)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeSpikesCreate_Private(s));
  if (!s->n) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->tri) {
    PetscCall(SpikeSpikesSystems_Private(s, falloff));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  h->falloff = falloff;
  if (h->pivoted) {
    PetscCall(SpikePivotedTips_CUDA(s, PETSC_TRUE));
    PetscCall(PetscLogGpuFlops((2.0 * s->kl + 2.0 * (s->kl + s->ku)) * (s->kl + s->ku) * s->n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (PetscMax(s->kl, s->ku) <= SPIKE_SPIKES_NARROW) {
    PetscReal *rate = (PetscReal *)(h->report + 1);

    for (PetscInt q = 0; q < 2 * (s->np + 1) * h->blocks; q++) ((PetscReal *)(h->hostreport + 1))[q] = PETSC_MIN_REAL;
    PetscCallCUDA(cudaMemcpyAsync(rate, h->hostreport + 1, 2 * ((size_t)s->np + 1) * h->blocks * sizeof(PetscReal),
                                  cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)s->np * sizeof(int), stream));
    PetscCall(SpikeSpikesNarrow_Private(s, rate, h->blocks));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SpikeSpikesPlan_Private(s, t, h->gpu, &plan);
  PetscCheck(plan.blocks == h->blocks, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d blocks of columns, not %d", plan.blocks,
             h->blocks);
  row           = SPIKE_COLUMNS_PIECE * (PetscInt64)plan.strips;
  left          = (h->spikesize - SpikeSpikesElements_Private(t, &plan, 0)) / (plan.rows * row);
  left          = PetscMax(1, PetscMin(left, half * plan.blocks));
  a.tips.t      = *t;
  a.tips.band   = s->band;
  a.tips.B      = s->dB;
  a.tips.C      = s->dC;
  a.tips.Vb     = s->dVb;
  a.tips.Wt     = s->dWt;
  a.tips.work   = h->spike;
  a.tips.blocks = plan.blocks;
  a.tips.ncols  = plan.ncols;
  a.tips.strips = plan.strips;
  a.tips.slots  = plan.slots;
  a.tips.chunk  = plan.chunk;
  a.tips.rows   = plan.rows;
  a.tips.rate   = (PetscReal *)(h->report + 1);
  a.Vt          = s->dVt;
  a.Wb          = s->dWb;
  a.left        = (int)left;
  PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)s->np * sizeof(int), stream)); /* no windows are used */
  SpikeDispatchPrecision(s->precision,
                         PetscCall(SpikeSpikesLaunch_Private<F>(a, plan, (int)(left + half * plan.blocks), stream)));
  PetscCall(PetscLogGpuFlops((2.0 * s->kl * s->kl + 2.0 * s->ku * (s->kl + s->ku)) * s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
