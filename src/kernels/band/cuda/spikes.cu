/* SPDX-License-Identifier: BSD-2-Clause */
/* spikes.cu: the spikes of whole partitions, for full SPIKE */
#include "band.cuh"
#include "tips.cuh"

/*
  W = U^-1 L^-1 [C; 0] and V = U^-1 L^-1 [0; B] over all rows of a partition, as in tips.cu: a thread block has some
  columns of a spike, reads each tile once for all of them, and has the last tile rows of X in shared memory. On the way
  forward W leaves Y = L^-1 [C; 0] in memory; that of V is zero above its last ku rows. On the way back the first ku and
  the last kl rows are kept. Thread blocks below `left` have left spikes, and places for all rows of Y; the others right
  spikes, with places for the rows of B. Moves L and U once for each block of columns, and Y twice. Deterministic.
*/
#define SPIKE_SPIKES_WARPS  8
#define SPIKE_SPIKES_NARROW 8       /* half-bandwidths up to this go another way, see below */
#define SPIKE_SPIKES_SHAPE  2, 1, 4 /* as SPIKE_TIPS_SHAPE */

struct SpikeSpikesArgs {
  SpikeTipsArgs tips; /* rows: tile rows of Y of a left spike */
  PetscScalar  *Vt, *Wb;
  int           left; /* thread blocks of left spikes */
};

/*
  The columns of the warp in tile row j, from shared memory to the tips; and their largest magnitudes in as many rows as
  the half-bandwidth at both ends
*/
template <typename C>
__device__ static __forceinline__ void SpikeSpikesKeep(const C &s, const SpikeTiles &t, int n, int j, int nc, int rows,
                                                       int bottomrows, PetscScalar *top, PetscScalar *bottom,
                                                       unsigned most[2])
{
  const int         T = t.T, J = (n + T - 1) / T, K = PetscMax(t.kl, t.ku), first = s.warp * 8;
  const SpikeArith *x = s.mine(j);

  if (j >= rows && j < J - bottomrows) return;
  for (int e = s.lane; e < 8 * T; e += 32) {
    const int c = e / T, r = e % T, k = j * T + r;

    if (first + c < nc && k < n) {
      const SpikeArith v = x[c * C::LDX + r];
      const unsigned   m = SpikeMagnitude(v);

      if (k < K) most[0] = PetscMax(most[0], m);
      if (k >= n - K) most[1] = PetscMax(most[1], m);
      if (top && k < t.ku) top[(PetscCount)(first + c) * t.ku + k] = (PetscScalar)v;
      if (k >= n - t.kl) bottom[(PetscCount)(first + c) * t.kl + k - (n - t.kl)] = (PetscScalar)v;
    }
  }
  __syncwarp();
}

template <typename F>
__global__ void __launch_bounds__(32 * SPIKE_SPIKES_WARPS, 2)
  SpikeSpikes_Kernel(const __grid_constant__ SpikeSpikesArgs args)
{
  typedef SpikeRhs<F, SPIKE_SPIKES_SHAPE> OneSpike;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           norms[2 * SPIKE_TIPS_WARPS];
  const SpikeTipsArgs                          &a = args.tips;
  const SpikeTiles                             &t = a.t;
  const int T = t.T, kl = t.kl, ku = t.ku, Q = PetscMax(t.QL, t.QU), half = (int)(t.np + 1) * a.blocks,
            size     = a.tiles * 8 * OneSpike::ROWROOM;
  const bool   right = (int)blockIdx.x >= args.left;
  const int    begin = right ? blockIdx.x - args.left : blockIdx.x, by = right ? gridDim.x - args.left : args.left;
  PetscScalar *Y = a.work +
                   (right ? (PetscInt64)args.left * a.rows + (PetscInt64)begin * (Q + 2) : (PetscInt64)begin * a.rows) *
                     size;
  OneSpike s(a, shared, norms);

  for (int i = begin; i < half; i += by) {
    const PetscInt q = i / a.blocks, p = right ? q - 1 : q;
    const int      h = right ? ku : kl, col0 = (i % a.blocks) * a.ncols, nc = PetscMin(a.ncols, h - col0),
              nt            = nc > s.warp * 8;
    const PetscReal none    = PETSC_MIN_REAL;
    unsigned        most[2] = {0, 0}, signs = 0;
    double          above, below;

    if (!threadIdx.x) a.rate[right ? half + i : i] = none;
    if (!t.active[q] || p < 0 || p >= t.np || nc <= 0) continue;
    const int    n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, f0 = right ? (n - ku) / T : 0;
    const bool   couples = !right || t.active[p]; /* else the top of V is not needed */
    const int    last = couples ? 0 : (n - kl) / T, toprows = PetscMax(Q, 1), bottomrows = toprows + (n % T ? 1 : 0);
    PetscScalar *A           = (PetscScalar *)(right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)col0 * h,
                *top         = (right ? args.Vt : a.Wt) + q * (PetscCount)h * ku + (PetscCount)col0 * ku,
                *bottom      = (right ? a.Vb : args.Wb) + q * (PetscCount)h * kl + (PetscCount)col0 * kl;
    const SpikePanel nothing = {NULL, 1, 0, 0};

    s.partition(p);
    __syncthreads();
    s.clear(-1);
    s.begin(false, f0);
    for (int j = f0; j < J; j++) {
      SpikePanel rhs = {NULL, h, right ? j * T - (n - ku) : j * T, h};

      if (right || j < t.QL) rhs.a = A;
      (void)s.template step<false>(j, f0, nt, 0, nc, false, Y + (PetscInt64)(j - f0) * size, rhs, nothing, &signs);
    }
    __syncthreads();
    s.clear(-1);
    s.begin(true, J - 1);
    for (int j = J - 1; j >= last; j--) {
      (void)s.template step<true>(j, f0, nt, j >= f0 ? nt : 0, nc, false, Y + (PetscInt64)(j - f0) * size, nothing,
                                  nothing, &signs);
      if (nt) SpikeSpikesKeep(s, t, n, j, nc, toprows, bottomrows, couples ? top : NULL, bottom, most);
    }
    above = s.reduce(most[0]);
    below = s.reduce(most[1]);
    if (!threadIdx.x) {
      const int rows = PetscMax(n - PetscMax(kl, ku), 1); /* from one tip to the other */

      a.rate[right ? half + i : i] = (PetscReal)(right ? SpikeRate(below, above, rows) : SpikeRate(above, below, rows));
    }
  }
}

/* Columns of a thread block: those of the tips, without one for signs */
template <typename F>
static void SpikeSpikesShape_Private(SpikeTipsPlan *plan)
{
  typedef SpikeRhs<F, SPIKE_SPIKES_SHAPE> OneSpike;

  plan->tiles   = (plan->ncols + 7) / 8;
  plan->threads = plan->tiles * 32;
  plan->shared  = OneSpike::BUFFERS * OneSpike::TILESIZE * sizeof(F) +
                 (size_t)plan->slots * plan->tiles * 8 * OneSpike::LDX * sizeof(SpikeArith);
}

static void SpikeSpikesPlan_Private(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu,
                                    SpikeTipsPlan *plan)
{
  SpikeTipsPlan_CUDA(s, t, gpu, plan);
  SpikeDispatchPrecision(s->precision, SpikeSpikesShape_Private<F>(plan));
  plan->rows = PetscMax(t->tilerows, 1);
}

/* Elements of Y of `left` thread blocks with left spikes and of all with right ones */
static PetscInt64 SpikeSpikesElements_Private(const SpikeTiles *t, const SpikeTipsPlan *plan, PetscInt64 left)
{
  const PetscInt64 row = 32 * (PetscInt64)plan->tiles * 8, half = (PetscInt64)(t->np + 1) * plan->blocks;

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
  left = room / (32 * (PetscInt64)plan.tiles * 8 * plan.rows);
  left = PetscMax(1, PetscMin(left, (PetscInt64)(t->np + 1) * plan.blocks));
  return SpikeSpikesElements_Private(t, &plan, left);
}

template <typename F>
static PetscErrorCode SpikeSpikesLaunch_Private(const SpikeSpikesArgs &a, const SpikeTipsPlan &plan, int blocks,
                                                cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeSpikes_Kernel<F>, plan.threads, plan.shared));
  SpikeSpikes_Kernel<F><<<(unsigned)blocks, plan.threads, plan.shared, stream>>>(a);
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
  row           = 32 * (PetscInt64)plan.tiles * 8;
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
  a.tips.tiles  = plan.tiles;
  a.tips.slots  = plan.slots;
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
