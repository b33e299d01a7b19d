/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_tips.cu: tips of the spikes, how far the spikes reach, and the reduced systems */
#include "sweep.cuh"

/*
  The backend has no UL factorization: the leading corner of l rows has the factors' leading corners as its own, so W of the corner is
  U_ll^-1 L_ll^-1 [C; 0], forward and backward over l rows. Both tips are thus made after the factorization, by righttips().

  First the reach: a sweep with the spikes' product with one random vector of signs, V s and W s, costs as much as a correction and falls off as V and W
  do. That gives the windows, and l. Then the tips, all columns.

  Storage of a block of columns while it is swept: rows of NCOL numbers, for l rows of W, or the last K and T rows of V. As many blocks at once as
  SpikeCUDA.spike holds.
*/
template <int TMAX>
struct SpikeTipsShape {
  static constexpr int COLS = TMAX < 16 ? 1 : sizeof(PetscScalar) > 8 ? TMAX / 16 : TMAX / 8; /* of a lane */
  static constexpr int ROWS = TMAX / 4;
  static constexpr int NCOL = 8 * COLS;
};

/* Random signs against an alternating or a constant vector, which a spike may have as its null vector */
__device__ static inline PetscScalar SpikeSign(unsigned long long i)
{
  i = (i + 1) * 0x9E3779B97F4A7C15ULL;
  i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9ULL;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EBULL;
  return i >> 63 ? 1.0 : -1.0;
}

/* Where the probes are: results in device memory, read back at the end as one piece */
struct SpikeProbe {
  PetscReal *falloff; /* [2 (np + 1)] of W, then of V                                   */
  int       *reach;   /* [2 np] tile rows of the two windows                            */
  int       *corner;  /* [np] tile rows of the leading corner                           */
  int       *todo;    /* [np] window at the bottom that the next sweep but one looks at */
  int        limit;   /* tile rows of the largest corner                                */
  int        first;   /* tile rows that the first sweep looks at                        */
};

static size_t SpikeProbeBytes_Private(PetscInt np)
{
  return 2 * (size_t)(np + 1) * sizeof(PetscReal) + 4 * (size_t)np * sizeof(int);
}

static void SpikeProbeSet_Private(PetscInt np, void *memory, SpikeProbe *b)
{
  b->falloff = (PetscReal *)memory;
  b->reach   = (int *)(b->falloff + 2 * (np + 1));
  b->corner  = b->reach + 2 * np;
  b->todo    = b->corner + np;
}

/* Windows of the first sweep: they never meet, also not those of the other partitions of a warp */
__global__ static void SpikeProbeStart_Kernel(SpikeTiles t, SpikeProbe b, int *window, PetscScalar *tips)
{
  const PetscInt p = blockIdx.x * (PetscInt)blockDim.x + threadIdx.x, group = p / t.G * t.G;
  PetscInt       n = t.start[PetscMin(p, t.np - 1) + 1] - t.start[PetscMin(p, t.np - 1)];

  if (p > t.np) return;
  b.falloff[p] = b.falloff[t.np + 1 + p] = PETSC_MIN_REAL;
  for (int i = 0; i < t.kl + t.ku; i++) tips[p * (PetscCount)(t.kl + t.ku) + i] = SpikeSign((unsigned long long)p * (t.kl + t.ku) + i);
  if (p == t.np) return;
  for (PetscInt m = group; m < PetscMin(group + t.G, t.np); m++) n = PetscMin(n, t.start[m + 1] - t.start[m]);
  const int rows = (int)PetscMin((n + t.T - 1) / t.T / 2, b.first);

  b.corner[p] = b.todo[p] = b.reach[2 * p] = b.reach[2 * p + 1] = 0;
  window[2 * p]                                                 = t.kl && t.active[p] ? rows : 0;
  window[2 * p + 1]                                             = t.ku && t.active[p + 1] ? rows : 0;
}

/*
  A warp for each partition reads off x what the spikes are at its ends. Sweep 0 looks at both; where a spike has not fallen below eps of its end in the
  window, sweep 1 looks at the top and sweep 2 at the bottom with the largest window. A spike that has not fallen there is taken to reach the whole partition, and its rate
  is that of the nearer half, less what the end of the corner may add to it.
*/
__global__ static void SpikeReach_Kernel(SpikeTiles t, SpikeProbe b, int sweep, PetscReal eps, const PetscScalar *x, int *window)
{
  const PetscInt p = blockIdx.x * (PetscInt)(blockDim.x / 32) + threadIdx.x / 32, n = p < t.np ? t.start[p + 1] - t.start[p] : 0;
  const int      lane = threadIdx.x & 31, T = t.T, J = (int)((n + T - 1) / T), Q = PetscMax(t.QL, t.QU);

  if (p >= t.np) return;
  x += t.start[p];
  for (int end = 0; end < 2; end++) {
    const bool wanted = end ? t.ku && t.active[p + 1] : t.kl && t.active[p];
    const int  l = PetscMin(window[2 * p + end], J), most = PetscMin(J, b.limit), tip = PetscMin(Q + (end && n % T ? 1 : 0), J);
    const int  half = PetscMax(l / 2, PetscMin(2 * tip, l));
    PetscReal  head = 0.0, far = 0.0, mid = 0.0;
    int        last = 0;

    if (!wanted || (sweep && sweep != end + 1)) continue;
    if (sweep && !l) continue; /* found before */
    for (int pass = 0; pass < 2; pass++) {
      for (int d = 0; d < (pass ? l : PetscMin(tip, l)); d++) {
        const PetscInt  i = (PetscInt)(end ? J - 1 - d : d) * T + lane;
        const PetscReal m = SpikeWarpMax(lane < T && i < n ? SpikeAbs(x[i]) : (PetscReal)0.0);

        if (!pass) head = PetscMax(head, m);
        else {
          if (!(m <= eps * head)) last = d + 1;
          if (d >= l - tip) far = PetscMax(far, m);
          if (d >= half - tip && d < half) mid = PetscMax(mid, m);
        }
      }
    }
    const bool fallen = l > tip && last <= l - tip, done = fallen || l == most || sweep;
    PetscReal  rate;

    if (head == 0.0) rate = PETSC_MIN_REAL;
    else if (l == J || fallen) rate = far == 0.0 ? PETSC_MIN_REAL : PetscMin(PetscLogReal(far / head) / (PetscMax(l - tip, 1) * (PetscReal)T), 0.0);
    else rate = PetscMin(PetscLogReal(mid / head) / (PetscMax(half - tip, 1) * (PetscReal)T) + 2.0 * PetscLogReal(2.0) / (l * (PetscReal)T), 0.0);
    __syncwarp();
    if (!lane) {
      if (done) {
        b.reach[2 * p + end] = fallen ? PetscMax(last, tip) : J;
        if (!end) b.corner[p] = fallen ? PetscMax(last, tip) : most;
        b.falloff[end ? t.np + 1 + p + 1 : p] = rate;
        if (end) b.todo[p] = 0;
      } else if (end) b.todo[p] = most;
      if (!end) window[2 * p] = done ? 0 : most;
    }
  }
  __syncwarp();
  if (!lane) {
    if (sweep == 0) window[2 * p + 1] = 0;
    else if (sweep == 1) {
      window[2 * p]     = 0;
      window[2 * p + 1] = b.todo[p];
    } else {
      window[2 * p]     = b.reach[2 * p];
      window[2 * p + 1] = b.reach[2 * p + 1];
    }
  }
}

typedef struct {
  SpikeTiles         t;
  const void        *band;
  const PetscScalar *B, *C;
  PetscScalar       *Vb, *Wt, *work;
  const int         *corner;
  int                rows, blocks; /* rows of work for a unit; blocks of columns */
} SpikeTipsArgs;

/* sum(r, c) -+= A(r, k) X(k, c) over the columns k of a tile, in the rows where k is left of, on, right of the diagonal */
template <typename F, int TMAX, bool SUBTRACT>
__device__ static inline void SpikeTileTimesBlock(int T, PetscInt64 column, const F *A, const PetscScalar *X, bool left, bool diagonal, bool right, PetscScalar sum[SpikeTipsShape<TMAX>::ROWS][SpikeTipsShape<TMAX>::COLS])
{
  typedef SpikeTipsShape<TMAX> Shape;
  const int                    r0 = threadIdx.x & 3, c0 = (threadIdx.x >> 2) * Shape::COLS;

#pragma unroll 4
  for (int k = 0; k < T; k++) {
    PetscScalar a[Shape::ROWS], x[Shape::COLS];

#pragma unroll
    for (int i = 0; i < Shape::ROWS; i++) {
      const int r = r0 + 4 * i;

      a[i] = r < T && (k < r ? left : k == r ? diagonal : right) ? SpikeLoad(A + k * column + r) : (PetscScalar)0.0;
    }
#pragma unroll
    for (int c = 0; c < Shape::COLS; c++) x[c] = X[k * Shape::NCOL + c0 + c];
#pragma unroll
    for (int i = 0; i < Shape::ROWS; i++) {
#pragma unroll
      for (int c = 0; c < Shape::COLS; c++) sum[i][c] = SpikeFma(SUBTRACT ? -a[i] : a[i], x[c], sum[i][c]);
    }
  }
}

/* A warp sweeps a block of NCOL columns of V or W */
template <typename F, int TMAX>
__global__ void __launch_bounds__(32) SpikeTips_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  typedef SpikeTipsShape<TMAX> Shape;
  constexpr int                ROWS = Shape::ROWS, COLS = Shape::COLS, NCOL = Shape::NCOL;
  const SpikeTiles            &t = a.t;
  const int                    T = t.T, kl = t.kl, ku = t.ku, r0 = threadIdx.x & 3, c0 = (threadIdx.x >> 2) * COLS;
  const PetscInt64             column = (PetscInt64)t.G * T, units = 2 * (PetscInt64)(t.np + 1) * a.blocks;
  PetscScalar                 *X = a.work + blockIdx.x * (PetscInt64)a.rows * NCOL;

  for (PetscInt64 u = blockIdx.x; u < units; u += gridDim.x) {
    const PetscInt q     = (PetscInt)(u / (2 * a.blocks));
    const bool     right = (u / a.blocks) % 2 == 0;
    const int      col0 = (int)(u % a.blocks) * NCOL, ncols = right ? ku : kl;
    const PetscInt p = right ? q - 1 : q;

    if (!t.active[q] || p < 0 || p >= t.np || col0 >= ncols) continue;
    const PetscInt n = t.start[p + 1] - t.start[p];
    const int      J = (int)((n + T - 1) / T), f0 = right ? (int)((n - ku) / T) : 0, f1 = right ? J : a.corner[p], b0 = right ? (int)((n - kl) / T) : 0, j0 = PetscMin(f0, b0);
    const F       *band = (const F *)a.band + t.group(p) + (p % t.G) * T, *diag = band + t.tile(t.QL + t.QU);

    for (int s = 0; s < f1 - f0 + f1 - b0; s++) {
      const bool   back = s >= f1 - f0;
      const int    j = back ? f1 - 1 - (s - (f1 - f0)) : f0 + s, Q = back ? t.QU : t.QL;
      const F     *row = band + j * t.stepsize + t.tile(back ? t.QL : 0);
      PetscScalar *Xj  = X + (PetscInt64)(j - j0) * T * NCOL, sum[ROWS][COLS];

#pragma unroll
      for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int c = 0; c < COLS; c++) {
          const int      r = r0 + 4 * i, col = col0 + c0 + c;
          const PetscInt k = (PetscInt)j * T + r - (right ? n - ku : 0); /* row of B or C */

          sum[i][c] = 0.0;
          if (back) {
            if (r < T && j >= f0) sum[i][c] = Xj[r * NCOL + c0 + c];
          } else if (r < T && k >= 0 && k < ncols && col < ncols) sum[i][c] = (right ? a.B : a.C)[q * (PetscCount)ncols * ncols + k + (PetscCount)col * ncols];
        }
      }
      for (int k = 1; k <= Q; k++) {
        const int neighbour = back ? j + k : j - k;

        if (back ? neighbour < f1 : neighbour >= f0) SpikeTileTimesBlock<F, TMAX, true>(T, column, row + t.tile(k - 1), X + (PetscInt64)(neighbour - j0) * T * NCOL, k < Q || back, true, k < Q || !back, sum);
      }
      __syncwarp(); /* all have read X_j */
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        const int r = r0 + 4 * i;

#pragma unroll
        for (int c = 0; c < COLS; c++) {
          if (r < T) Xj[r * NCOL + c0 + c] = sum[i][c];
          if (back && r < T) sum[i][c] = SpikeFma(SpikeLoad(diag + j * t.stepsize + r), sum[i][c], 0.0);
        }
      }
      __syncwarp();
      if (Q) SpikeTileTimesBlock<F, TMAX, false>(T, column, row + t.tile(Q - 1), Xj, !back, false, back, sum);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int c = 0; c < COLS; c++) {
          const int      r = r0 + 4 * i, col = col0 + c0 + c;
          const PetscInt k = (PetscInt)j * T + r, tip = right ? k - (n - kl) : k; /* row of the tip */

          if (r < T) Xj[r * NCOL + c0 + c] = sum[i][c];
          if (back && r < T && k < n && tip >= 0 && tip < (right ? kl : ku) && col < ncols) {
            if (right) a.Vb[q * (PetscCount)kl * ku + tip + (PetscCount)col * kl] = sum[i][c];
            else a.Wt[q * (PetscCount)kl * ku + tip + (PetscCount)col * ku] = sum[i][c];
          }
        }
      }
      __syncwarp();
    }
  }
}

template <typename F, int TMAX>
static PetscErrorCode SpikeTipsLaunch_Private(const SpikeCUDA *h, SpikeTipsArgs *a, cudaStream_t stream)
{
  constexpr int NCOL = SpikeTipsShape<TMAX>::NCOL;
  PetscInt64    units;

  PetscFunctionBegin;
  a->blocks = (PetscMax(a->t.kl, a->t.ku) + NCOL - 1) / NCOL;
  units     = 2 * (PetscInt64)(a->t.np + 1) * a->blocks;
  SpikeTips_Kernel<F, TMAX><<<(unsigned)PetscMin(units, h->spikesize / ((PetscInt64)a->rows * NCOL)), 32, 0, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the reduced systems report, [np + 1] each, one after the other in scratch; before them the addresses that cuBLAS wants */
struct SpikeReducedStatus {
  PetscScalar **from, **to;
  PetscReal    *scale, *value; /* of R: max(1, max |R_ij|); magnitude of the first bad pivot */
  int          *bad, *boosted, *info;
};

static size_t SpikeReducedBytes_Private(PetscInt np)
{
  return (size_t)(np + 1) * (2 * sizeof(PetscScalar *) + 2 * sizeof(PetscReal) + 3 * sizeof(int));
}

static void SpikeReducedSet_Private(PetscInt np, void *memory, SpikeReducedStatus *st)
{
  st->from    = (PetscScalar **)memory;
  st->to      = st->from + np + 1;
  st->scale   = (PetscReal *)(st->to + np + 1);
  st->value   = st->scale + np + 1;
  st->bad     = (int *)(st->value + np + 1);
  st->boosted = st->bad + np + 1;
  st->info    = st->boosted + np + 1;
}

/* Reduced systems of up to this many bytes are inverted in shared memory */
#define SPIKE_REDUCED_SHARED 40960

/*
  spike: the probe's x, or blocks of columns as far as the largest corner for one of them at least and for all of them with 12 K rows, or reduced systems and
  their inverses one by one at least; no more than a sixteenth of the band where that is enough.
*/
void SpikeTipsWork_CUDA(const SpikeBand *s, const SpikeTiles *t, PetscInt64 *elements, size_t *scratch)
{
  const PetscInt64 K = PetscMax(PetscMax(t->kl, t->ku), 1), tile = (PetscInt64)t->T * 32, corner = PetscMin((SpikeMaxCorner(t->kl, t->ku) + t->T - 1) / t->T, t->steps);
  const PetscInt64 Q = PetscMax(t->QL, t->QU), one = PetscMax(corner, Q + 2) * tile, all = 2 * (PetscInt64)(t->np + 1) * ((K + 7) / 8) * PetscMin(12 * Q, t->steps + 2) * t->T * 8;

  *elements = 0;
  *scratch  = 0;
  if (!s->coupled) return;
  *elements = PetscMin(all, t->groups() * t->steps * t->stepsize / 16);
  *elements = PetscMax(PetscMax(*elements, t->n), PetscMax(one, (PetscInt64)t->ku * t->ku));
  *scratch  = PetscMax(SpikeProbeBytes_Private(t->np), SpikeReducedBytes_Private(t->np));
}

/* Only notes where the falloff goes: the left tips are made from the factors, with the right ones */
PetscErrorCode SpikeLeftTips_CUDA(SpikeBand *s, SpikePivot *pivot, PetscReal falloff[])
{
  PetscFunctionBegin;
  ((SpikeCUDA *)s->data)->leftfalloff = falloff;
  pivot->nboost                       = 0;
  for (PetscInt q = 0; q <= s->np; q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt p = 0; p < s->np; p++) s->wtop[p] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeRightTips_CUDA(SpikeBand *s, PetscReal falloff[])
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const SpikeTiles  *t      = &h->t;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt     np     = s->np;
  const PetscReal    eps    = PetscMax(s->is_double ? (PetscReal)2.2e-16 : (PetscReal)6.0e-8, PETSC_MACHINE_EPSILON);
  const int          Q      = PetscMax(t->QL, t->QU);
  const size_t       bytes  = SpikeProbeBytes_Private(np);
  SpikeProbe         dev, host;
  SpikeSweepArgs     sweep = {};
  SpikeTipsArgs      tips  = {};
  void              *copy;
  PetscReal          flops = 0.0;
  int                most  = Q + 2;

  PetscFunctionBegin;
  h->windowrows = 0.0;
  for (PetscInt q = 0; q <= np; q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt p = 0; p < np; p++) s->wtop[p] = s->wbot[p] = 0;
  if (!s->coupled || !Q || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeProbeSet_Private(np, h->scratch, &dev);
  dev.limit     = (int)((SpikeMaxCorner(s->kl, s->ku) + t->T - 1) / t->T);
  dev.first     = 12 * Q;
  sweep.p0      = 0;
  sweep.p1      = np;
  sweep.correct = 1;
  sweep.b = sweep.y = h->work;
  sweep.x           = h->spike;
  sweep.ldb = sweep.ldy = sweep.ldx = s->n;
  sweep.window                      = h->window;
  sweep.ht                          = t->kl;
  sweep.hb                          = t->ku;
  SpikeProbeStart_Kernel<<<(unsigned)(np / 128 + 1), 128, 0, stream>>>(*t, dev, h->window, s->dtips);
  PetscCallCUDA(cudaGetLastError());
  for (int i = 0; i < 3; i++) {
    PetscCallCUDA(cudaMemsetAsync(h->spike, 0, (size_t)s->n * sizeof(PetscScalar), stream));
    PetscCall(SpikeSweepLaunch_CUDA(s, PETSC_FALSE, 1, &sweep));
    SpikeReach_Kernel<<<(unsigned)((np + 3) / 4), 128, 0, stream>>>(*t, dev, i, eps / 4, h->spike, h->window);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(PetscMalloc(bytes, &copy));
  SpikeProbeSet_Private(np, copy, &host);
  PetscCallCUDA(cudaMemcpyAsync(copy, h->scratch, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)bytes));
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt n = s->start[p + 1] - s->start[p], J = (n + t->T - 1) / t->T;

    s->wtop[p] = PetscMin(n, (PetscInt)host.reach[2 * p] * t->T);
    s->wbot[p] = n - PetscMin(n, (J - host.reach[2 * p + 1]) * t->T);
    most       = PetscMax(most, host.corner[p]);
    h->windowrows += PetscMin(n, s->wtop[p] + s->wbot[p]);
    flops += (4.0 * t->kl + 4.0 * t->ku) * t->kl * host.corner[p] * t->T + 4.0 * t->kl * t->ku * t->ku;
  }
  for (PetscInt q = 0; q <= np; q++) {
    falloff[q] = host.falloff[np + 1 + q];
    if (h->leftfalloff) h->leftfalloff[q] = host.falloff[q];
  }
  PetscCall(PetscFree(copy));
  if (t->kl && t->ku) {
    tips.t      = *t;
    tips.band   = s->band;
    tips.B      = s->dB;
    tips.C      = s->dC;
    tips.Vb     = s->dVb;
    tips.Wt     = s->dWt;
    tips.work   = h->spike;
    tips.corner = dev.corner;
    tips.rows   = most * t->T;
    if (s->is_double) SpikeDispatchTile(t->T, PetscCall((SpikeTipsLaunch_Private<SpikeDouble, TMAX>(h, &tips, stream))));
    else SpikeDispatchTile(t->T, PetscCall((SpikeTipsLaunch_Private<SpikeSingle, TMAX>(h, &tips, stream))));
    PetscCall(PetscLogGpuFlops(flops));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pivot to use in place of p; what was done is noted by the calling thread */
__device__ static inline PetscScalar SpikeReducedPivot(PetscScalar p, PetscReal tol, PetscReal boost, PetscReal scale, PetscInt q, const SpikeReducedStatus &st)
{
  const PetscReal abs = SpikeAbs(p);

  if (abs > tol * scale && abs <= PETSC_MAX_REAL) return p;
  if (boost > 0.0 && abs <= tol * scale) {
    st.boosted[q]++;
    return abs > 0.0 ? p * (boost * scale / abs) : (PetscScalar)(boost * scale);
  }
  if (!st.bad[q]) {
    st.bad[q]   = 1;
    st.value[q] = abs;
  }
  return p;
}

/* max(1, max |A_e|) over a block of threads, the result in all of them */
__device__ static inline PetscReal SpikeReducedScale(int count, const PetscScalar *A)
{
  __shared__ PetscReal warp[32];
  PetscReal            scale = 1.0;

  for (int e = threadIdx.x; e < count; e += blockDim.x) scale = PetscMax(scale, SpikeAbs(A[e]));
  scale = SpikeWarpMax(scale);
  if (!(threadIdx.x & 31)) warp[threadIdx.x >> 5] = scale;
  __syncthreads();
  for (int w = 0; w < (int)blockDim.x / 32; w++) scale = PetscMax(scale, warp[w]);
  return scale;
}

/*
  R <- I - Wt Vb and then its inverse, by Gauss-Jordan elimination with row exchanges, a block for each interface q0 + blockIdx.x and the matrix in shared memory. The
  pivots are those of L U. A boosted one counts for U alone, as if L U had been made first: the rows below are eliminated with the pivot as it was.
*/
__global__ static void SpikeReduced_Kernel(int kl, int n, PetscInt q0, PetscReal tol, PetscReal boost, const PetscInt *active, const PetscScalar *dVb, const PetscScalar *dWt, PetscScalar *dR, SpikeReducedStatus st)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int                                pivot[128];
  __shared__ PetscScalar                        inverse, ratio;
  PetscScalar                                  *A = (PetscScalar *)shared, *c = A + n * n;
  const PetscInt                                q  = q0 + blockIdx.x;
  const PetscScalar                            *Vb = dVb + q * (PetscCount)kl * n, *Wt = dWt + q * (PetscCount)kl * n;
  PetscReal                                     scale;

  if (!threadIdx.x) st.bad[q] = st.boosted[q] = 0;
  if (!active[q]) return;
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    const int   i = e % n, j = e / n;
    PetscScalar v = i == j ? 1.0 : 0.0;

#pragma unroll 4
    for (int k = 0; k < kl; k++) v = SpikeFma(-Wt[i + k * n], Vb[k + (PetscCount)j * kl], v);
    A[e] = v;
  }
  __syncthreads();
  scale = SpikeReducedScale(n * n, A);
  for (int k = 0; k < n; k++) {
    if (threadIdx.x < 32) {
      PetscReal best  = -1.0;
      int       which = k;

      for (int i = k + threadIdx.x; i < n; i += 32) {
        const PetscReal v = SpikeAbs(A[i + k * n]);

        if (v > best) best = v, which = i;
      }
      for (int d = 16; d; d /= 2) {
        const PetscReal v = __shfl_xor_sync(SPIKE_WARP, best, d);
        const int       i = __shfl_xor_sync(SPIKE_WARP, which, d);

        if (v > best || (v == best && i < which)) best = v, which = i;
      }
      if (!threadIdx.x) {
        const PetscScalar was = A[which + k * n], is = SpikeReducedPivot(was, tol, boost, scale, q, st);

        pivot[k] = which;
        inverse  = (PetscScalar)1.0 / is;
        ratio    = was == is ? (PetscScalar)1.0 : SpikeAbs(was) > 0.0 ? is / was : (PetscScalar)0.0;
      }
    }
    __syncthreads();
    const int         p = pivot[k];
    const PetscScalar d = inverse, below = ratio;

    for (int j = threadIdx.x; j < n; j += blockDim.x) { /* exchange rows k and p, divide row k; column k: 1 / pivot */
      const PetscScalar v = A[p + j * n];

      A[p + j * n] = A[k + j * n];
      A[k + j * n] = j == k ? d : v * d;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = i > k ? A[i + k * n] * below : A[i + k * n];
    __syncthreads();
    for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
      const int i = e % n, j = e / n;

      if (i != k) A[e] = SpikeFma(-c[i], A[k + j * n], j == k ? (PetscScalar)0.0 : A[e]);
    }
    __syncthreads();
  }
  if (!threadIdx.x) { /* the exchanges of rows are exchanges of columns of the inverse, in reverse order */
    int *from = (int *)c;

    for (int j = 0; j < n; j++) from[j] = j;
    for (int k = n - 1; k >= 0; k--) {
      const int f = from[k];

      from[k]        = from[pivot[k]];
      from[pivot[k]] = f;
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) dR[q * (PetscCount)n * n + e] = A[e % n + ((const int *)c)[e / n] * n];
}

/* Larger ones: the identity in batch matrices, and the addresses of these and of their inverses */
__global__ static void SpikeReducedStart_Kernel(int n, PetscInt q0, PetscScalar *work, PetscScalar *R, SpikeReducedStatus st)
{
  const PetscInt q = q0 + blockIdx.x;
  PetscScalar   *A = work + blockIdx.x * (PetscCount)n * n;

  for (int e = threadIdx.x; e < n * n; e += blockDim.x) A[e] = e % n == e / n ? 1.0 : 0.0;
  if (!threadIdx.x) {
    st.bad[q] = st.boosted[q] = 0;
    st.from[blockIdx.x]       = A;
    st.to[blockIdx.x]         = R + q * (PetscCount)n * n;
  }
}

__global__ static void SpikeReducedScale_Kernel(int n, PetscInt q0, const PetscScalar *work, SpikeReducedStatus st)
{
  const PetscReal scale = SpikeReducedScale(n * n, work + blockIdx.x * (PetscCount)n * n);

  if (!threadIdx.x) st.scale[q0 + blockIdx.x] = scale;
}

/* The policy on the diagonal of U, by one thread, in order */
__global__ static void SpikeReducedPivots_Kernel(int n, PetscInt q0, PetscReal tol, PetscReal boost, PetscScalar *work, SpikeReducedStatus st)
{
  PetscScalar *A = work + blockIdx.x * (PetscCount)n * n;

  for (int k = 0; k < n; k++) A[k + (PetscCount)k * n] = SpikeReducedPivot(A[k + (PetscCount)k * n], tol, boost, st.scale[q0 + blockIdx.x], q0 + blockIdx.x, st);
}

#if defined(PETSC_USE_COMPLEX)
  #if defined(PETSC_USE_REAL_SINGLE)
typedef cuComplex SpikeBLASScalar;
    #define SpikeBLAS(name) cublasC##name
  #else
typedef cuDoubleComplex SpikeBLASScalar;
    #define SpikeBLAS(name) cublasZ##name
  #endif
#else
typedef PetscScalar SpikeBLASScalar;
  #if defined(PETSC_USE_REAL_SINGLE)
    #define SpikeBLAS(name) cublasS##name
  #else
    #define SpikeBLAS(name) cublasD##name
  #endif
#endif

/* The same with cuBLAS, as many at once as the work space holds. Inactive interfaces have finite tips: theirs is harmless. */
static PetscErrorCode SpikeReducedLarge_Private(SpikeBand *s, PetscInt q0, PetscInt q1, const SpikePivot *pivot, const SpikeReducedStatus &st)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          kl = (int)s->kl, n = (int)s->ku;
  const PetscCount   square = (PetscCount)n * n, tip = (PetscCount)kl * n;
  const PetscScalar  one = 1.0, minus = -1.0;
  cublasHandle_t     handle;
  cudaStream_t       before;

  PetscFunctionBegin;
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscCallCUBLAS(cublasGetStream(handle, &before));
  PetscCallCUBLAS(cublasSetStream(handle, stream));
  for (PetscInt q = q0; q < q1;) {
    const int batch = (int)PetscMin(PetscMin(q1 - q, h->spikesize / square), 65535);
    int      *piv   = (int *)s->dpiv + q * n;

    SpikeReducedStart_Kernel<<<batch, 256, 0, stream>>>(n, q, h->spike, s->dR, st);
    PetscCallCUDA(cudaGetLastError());
    if (kl)
      PetscCallCUBLAS(SpikeBLAS(gemmStridedBatched)(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, kl, (const SpikeBLASScalar *)&minus, (const SpikeBLASScalar *)(s->dWt + q * tip), n, tip, (const SpikeBLASScalar *)(s->dVb + q * tip), kl, tip, (const SpikeBLASScalar *)&one,
                                                    (SpikeBLASScalar *)h->spike, n, square, batch));
    SpikeReducedScale_Kernel<<<batch, 256, 0, stream>>>(n, q, h->spike, st);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUBLAS(SpikeBLAS(getrfBatched)(handle, n, (SpikeBLASScalar *const *)st.from, n, piv, st.info + q, batch));
    SpikeReducedPivots_Kernel<<<batch, 1, 0, stream>>>(n, q, pivot->tol, pivot->boost, h->spike, st);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUBLAS(SpikeBLAS(getriBatched)(handle, n, (const SpikeBLASScalar *const *)st.from, n, (const int *)piv, (SpikeBLASScalar *const *)st.to, n, st.info + q, batch));
    q += batch;
  }
  PetscCallCUBLAS(cublasSetStream(handle, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeReduced_CUDA(SpikeBand *s, PetscInt q0, PetscInt q1, SpikePivot *pivot)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          kl = (int)s->kl, n = (int)s->ku;
  const size_t       bytes = ((size_t)n * n + n) * sizeof(PetscScalar), all = SpikeReducedBytes_Private(s->np);
  SpikeReducedStatus dev, host;
  void              *copy;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!n || q0 >= q1) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeReducedSet_Private(s->np, h->scratch, &dev);
  if (bytes <= SPIKE_REDUCED_SHARED) {
    SpikeReduced_Kernel<<<(unsigned)(q1 - q0), n <= 8 ? 32 : n <= 16 ? 64 : 256, bytes, stream>>>(kl, n, q0, pivot->tol, pivot->boost, h->dactive, s->dVb, s->dWt, s->dR, dev);
    PetscCallCUDA(cudaGetLastError());
  } else PetscCall(SpikeReducedLarge_Private(s, q0, q1, pivot, dev));
  PetscCall(PetscMalloc(all, &copy));
  SpikeReducedSet_Private(s->np, copy, &host);
  PetscCallCUDA(cudaMemcpyAsync(copy, h->scratch, all, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)all));
  for (PetscInt q = q0; q < q1; q++) {
    if (!s->active[q]) continue;
    pivot->nboost += host.boosted[q];
    if (host.bad[q] && pivot->badrow < 0) {
      pivot->badrow   = q;
      pivot->badvalue = host.value[q];
    }
  }
  PetscCall(PetscFree(copy));
  PetscCall(PetscLogGpuFlops((q1 - q0) * (2.0 * kl * n * n + 2.0 * n * n * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
