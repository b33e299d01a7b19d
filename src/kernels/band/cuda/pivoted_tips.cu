/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_tips.cu: spikes and their tips from factors with row exchanges */
#include "pivoted_sweep.cuh"

/*
  A thread block has some columns of a spike, or of several ones in turn, in its piece of SpikeCUDA.spike.

  Tips: of the left spike the leading l rows, W = U_ll^-1 (L^-1 P [C; 0])_l, where exchanges of the last panel move
  values up to kl rows behind l. Of the right one V = U^-1 L^-1 P [0; B] from the last rows up. l is doubled, from 2
  max(kl, ku) on, until the spike has fallen to rounding at its end, up to SpikeMaxCorner() rows, as in the host's
  tips.c. That takes a UL factorization for W, which the device has not: the rows behind l add to Wt what W has fallen
  to there times what comes back up, U_ll^-1 U_lr. One more column, random signs behind row l, measures it, and l is
  doubled until the product is below rounding and the tolerance of the corrections, as in tips.cu. Whole spikes (full):
  all rows, whatever they are.
*/
struct SpikePivotedTipsArgs {
  SpikeTiles         t;
  SpikePivoted       v;
  const PetscScalar *B, *C;
  PetscScalar       *Wt, *Vb, *Wb, *Vt;  /* the last two with full           */
  PetscScalar       *work;               /* a piece of `rows` rows for each block */
  int                rows, most, blocks; /* most: rows of a corner; blocks of columns */
  bool               full;
  double             eps, tol, small; /* small: what the rows behind a corner may add to Wt, as a fraction of it */
  PetscReal         *rate;            /* [2 (np + 1) blocks] */
  int               *window;          /* [2 np] rows         */
};

/* What is known of the l rows at the end of a spike: SpikeReach_Private() of the host */
struct SpikePivotedReach {
  unsigned long long head, mid, far; /* bits of magnitudes */
  int                last, reached;
};

__device__ static inline void SpikePivotedMost(unsigned long long *most, double m)
{
  if (m > 0.0) atomicMax(most, (unsigned long long)__double_as_longlong(m)); /* no NaN */
}

__device__ static inline double SpikePivotedRate(double head, double far, int rows)
{
  return head > 0.0 && far > 0.0 ? PetscMin(log(far / head) / PetscMax(rows, 1), 0.0) : (double)PETSC_MIN_REAL;
}

/*
  Whether the spike has fallen; its reach and rate. x: rows of the partition, nc columns; tip: rows of its end. Fewer
  than gap rows of zeros, the diagonals of U, say nothing of those behind them
*/
__device__ static inline bool SpikePivotedFallen(const PetscScalar *x, PetscCount ldx, int nc, int n, int l, int tip,
                                                 int gap, bool top, double eps, double tol, SpikePivotedReach *shared,
                                                 int *reach, double *rate)
{
  const int half = PetscMax(l / 2, PetscMin(2 * tip, l));

  __syncthreads();
  if (!threadIdx.x) {
    shared->head = shared->mid = shared->far = 0;
    shared->last = shared->reached = 0;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < tip * nc; e += blockDim.x) {
    const int d = e % tip;

    SpikePivotedMost(&shared->head, (double)SpikeAbs(x[(top ? d : n - 1 - d) + e / tip * ldx]));
  }
  __syncthreads();
  const double head = __longlong_as_double((long long)shared->head);

  for (int d = threadIdx.x; d < l; d += blockDim.x) {
    double m = 0.0;

    for (int c = 0; c < nc; c++) {
      const double a = (double)SpikeAbs(x[(top ? d : n - 1 - d) + c * ldx]);

      m = a > m ? a : m;
    }
    if (m > eps * head) atomicMax(&shared->last, d + 1);
    if (m > tol * head) atomicMax(&shared->reached, d + 1);
    if (d >= l - tip) SpikePivotedMost(&shared->far, m);
    if (d >= half - tip && d < half) SpikePivotedMost(&shared->mid, m);
  }
  __syncthreads();
  const bool   fallen = shared->last <= l - gap;
  const double mid = __longlong_as_double((long long)shared->mid), far = __longlong_as_double((long long)shared->far);

  *reach = shared->reached <= l - gap ? PetscMax(shared->reached, tip) : n;
  *rate  = l == n || fallen ? SpikePivotedRate(head, far, l - tip)
         : mid > 0.0        ? PetscMin(SpikePivotedRate(head, mid, half - tip) + 2.0 * log(2.0) / l, 0.0)
                            : (double)PETSC_MIN_REAL;
  return fallen;
}

/* x <- 0 from row r0 to row end; then A in its rows from `at` on: h rows of nc columns */
__device__ static inline void SpikePivotedBegin(PetscScalar *x, PetscCount ldx, int nc, int r0, int end, int at, int h,
                                                const PetscScalar *A)
{
  for (int c = 0; c < nc; c++)
    for (int i = r0 + (int)threadIdx.x; i < end; i += blockDim.x)
      x[i + c * ldx] = i >= at && i < at + h ? A[(PetscCount)c * h + i - at] : (PetscScalar)0.0;
  __syncthreads();
}

/* A <- rows r0 <= . < r0 + h of nc columns */
__device__ static inline void SpikePivotedKeep(const PetscScalar *x, PetscCount ldx, int nc, int r0, int h,
                                               PetscScalar *A)
{
  for (int e = threadIdx.x; e < h * nc; e += blockDim.x) A[e] = x[r0 + e % h + e / h * ldx];
}

#define SPIKE_PIVOTED_TIPS (SPIKE_PIVOTED_COLUMNS - 1) /* columns of a spike; one more for signs */

/*
  The last rows of a corner of l rows have been swept forward, in nc columns: nothing comes from behind, and in one more
  column signs do, which the sweep back then takes up, hu rows up to `end`
*/
__device__ static inline void SpikePivotedSigns(PetscScalar *x, PetscCount ldx, int nc, int l, int end)
{
  for (int c = 0; c < nc; c++)
    for (int i = l + (int)threadIdx.x; i < end; i += blockDim.x) x[i + c * ldx] = (PetscScalar)0.0;
  for (int i = threadIdx.x; i < end; i += blockDim.x)
    x[i + nc * ldx] = (PetscScalar)(i < l ? 0.0 : ((unsigned)i * 2654435761u >> 16 & 1) ? 1.0 : -1.0);
  __syncthreads();
}

/* The largest magnitude of rows r0 <= . < r0 + h */
__device__ static inline double SpikePivotedNorm(const PetscScalar *x, PetscCount ldx, int nc, int r0, int h,
                                                 unsigned long long *shared)
{
  __syncthreads();
  if (!threadIdx.x) *shared = 0;
  __syncthreads();
  for (int e = threadIdx.x; e < h * nc; e += blockDim.x)
    SpikePivotedMost(shared, (double)SpikeAbs(x[r0 + e % h + e / h * ldx]));
  __syncthreads();
  return __longlong_as_double((long long)*shared);
}

template <int W, int R>
__global__ void __launch_bounds__(SpikePivotedBound<W>::THREADS, SpikePivotedBound<W>::BLOCKS)
  SpikePivotedTips_Kernel(const __grid_constant__ SpikePivotedTipsArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ SpikePivotedReach                  seen;
  const SpikePivoted                           &v = a.v;
  const int       kl = v.kl, ku = v.ku, K = PetscMax(kl, ku), half = (int)(a.t.np + 1) * a.blocks;
  const PetscReal none = PETSC_MIN_REAL;

  for (int unit = blockIdx.x; unit < 2 * half; unit += gridDim.x) {
    const bool     right = unit >= half;
    const PetscInt q = (unit - (right ? half : 0)) / a.blocks, p = right ? q - 1 : q;
    const int h = right ? ku : kl, c0 = unit % a.blocks * SPIKE_PIVOTED_TIPS, nc = PetscMin(SPIKE_PIVOTED_TIPS, h - c0);

    if (!threadIdx.x) a.rate[unit] = none;
    if (p < 0 || p >= a.t.np || !a.t.active[q] || nc <= 0) continue;
    const int n = (int)(a.t.start[p + 1] - a.t.start[p]), panels = (n + W - 1) / W, most = PetscMin(n, a.most),
              f0                 = right ? v.forward(n - ku) : 0;
    const bool              both = a.full && a.t.active[right ? p : p + 1]; /* the spike's other end is wanted */
    const PetscScalar      *A    = (right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)c0 * h;
    const PetscCount        tips = q * (PetscCount)h, wt = (tips + c0) * ku, vb = (tips + c0) * kl; /* their columns */
    PetscScalar            *piece = a.work + (PetscCount)blockIdx.x * a.rows * R;
    SpikePivotedSweep<W, R> s(v, p, shared);
    int                     reach = n, l;
    double                  rate;

    s.nc  = nc;
    s.ldx = a.rows;
    if (a.full) {
      const int last = right && !both ? v.begin(PetscMax(n - kl, 0)) : 0; /* of a right spike the bottom tip alone */

      s.x = piece;
      SpikePivotedBegin(s.x, s.ldx, nc, 0, n, right ? n - h : 0, h, A);
      s.lower(f0 / W, panels, n);
      s.upper(last / W, panels, n);
      if (!right || both) SpikePivotedKeep(s.x, s.ldx, nc, 0, ku, (right ? a.Vt : a.Wt) + wt);
      SpikePivotedKeep(s.x, s.ldx, nc, n - kl, kl, (right ? a.Vb : a.Wb) + vb);
      if (!right || both) {
        const double above = SpikePivotedNorm(s.x, s.ldx, nc, 0, PetscMin(K, n), &seen.head),
                     below = SpikePivotedNorm(s.x, s.ldx, nc, n - PetscMin(K, n), PetscMin(K, n), &seen.far);

        rate = right ? SpikePivotedRate(below, above, n - K) : SpikePivotedRate(above, below, n - K);
        if (!threadIdx.x) a.rate[unit] = (PetscReal)rate;
      }
      __syncthreads();
      continue;
    }
    if (right) {
      int done = panels;

      s.x = piece + a.rows - n; /* the last row in the last place */
      SpikePivotedBegin(s.x, s.ldx, nc, PetscMin(f0, PetscMax(0, n - 2 * K)), n, n - h, h, A);
      s.lower(f0 / W, panels, n);
      for (int least = PetscMin(2 * K, most);; least = PetscMin(2 * least, most)) {
        const int first = v.begin(PetscMin(PetscMax(n - least, 0), f0)), known = done * W < n ? done * W : f0;

        l = n - first;
        for (int c = 0; c < nc; c++) /* rows that are new, above those of the forward sweep */
          for (int i = first + (int)threadIdx.x; i < PetscMin(known, f0); i += blockDim.x)
            s.x[i + c * s.ldx] = (PetscScalar)0.0;
        __syncthreads();
        s.upper(first / W, done, n);
        done = first / W;
        if (SpikePivotedFallen(s.x, s.ldx, nc, n, l, K, v.hu, false, a.eps, a.tol, &seen, &reach, &rate) || l >= most)
          break;
      }
      SpikePivotedKeep(s.x, s.ldx, nc, n - kl, kl, a.Vb + vb);
    } else {
      s.x = piece;
      for (l = PetscMin(2 * K, most);; l = PetscMin(2 * l, most)) {
        const int corner = PetscMin((l + W - 1) / W * W, n), end = PetscMin(n, corner + v.hu);

        s.nc = nc;
        SpikePivotedBegin(s.x, s.ldx, nc, 0, end, 0, h, A);
        s.lower(0, (corner + W - 1) / W, PetscMin(n, corner + kl));
        /* what exchanges have moved behind the corner */
        const double first  = SpikePivotedNorm(s.x, s.ldx, nc, 0, PetscMin(K, n), &seen.head),
                     behind = SpikePivotedNorm(s.x, s.ldx, nc, corner, PetscMin(n, corner + kl) - corner, &seen.head);

        SpikePivotedSigns(s.x, s.ldx, nc, corner, end);
        s.nc = nc + 1;
        s.upper(0, (corner + W - 1) / W, end);
        const bool fallen = SpikePivotedFallen(s.x, s.ldx, nc, n, l, K, v.hu, true, a.eps, a.tol, &seen, &reach, &rate);
        const double tip  = SpikePivotedNorm(s.x, s.ldx, nc, 0, ku, &seen.head),
                     back = SpikePivotedNorm(s.x + nc * s.ldx, s.ldx, 1, 0, ku, &seen.head),
                     far  = SpikePivotedNorm(s.x, s.ldx, nc, corner - K, K, &seen.head);

        if ((fallen && behind <= a.eps * first && back * far <= a.small * tip) || corner == n || l >= most) break;
      }
      SpikePivotedKeep(s.x, s.ldx, nc, 0, ku, a.Wt + wt);
    }
    if (!threadIdx.x) {
      a.rate[unit] = (PetscReal)rate;
      atomicMax(a.window + 2 * p + right, PetscMin(reach, n));
    }
    __syncthreads();
  }
}

/* Blocks of columns of a spike */
static int SpikePivotedColumnBlocks_Private(const SpikePivoted *v)
{
  const int K = PetscMax(v->kl, v->ku);

  return (K + SPIKE_PIVOTED_TIPS - 1) / SPIKE_PIVOTED_TIPS;
}

/* Rows of a piece of the work space: of a corner those that exchanges and whole panels add */
static int SpikePivotedRows_Private(const SpikePivoted *v, PetscInt longest, bool full)
{
  const PetscInt corner = PetscMax((PetscInt)SpikeMaxCorner(v->kl, v->ku), v->hu + 2 * v->W) + 2 * v->W + v->hu;

  return (int)(full ? longest : PetscMin(longest, corner));
}

bool SpikePivotedTipsHold_CUDA(const SpikePivoted *v, const SpikeDevice *gpu)
{
  return SpikePivotedShared_CUDA(v, SPIKE_PIVOTED_COLUMNS) + 2048 <= (size_t)gpu->shared;
}

/*
  Elements of SpikeCUDA.spike: pieces for as many blocks as run at once, or as fit in half of the factors' memory or 24
  MB; at least one
*/
void SpikePivotedTipsWork_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, PetscInt64 *elements,
                               int *blocks)
{
  PetscInt     longest = 0;
  SpikePivoted v;

  SpikePivotedShape_CUDA(s, t, &v);
  for (PetscInt p = 0; p < s->np; p++) longest = PetscMax(longest, s->start[p + 1] - s->start[p]);
  *blocks                = SpikePivotedColumnBlocks_Private(&v);
  const PetscInt64 piece = (PetscInt64)SpikePivotedRows_Private(&v, longest, s->full) * SPIKE_PIVOTED_COLUMNS,
                   room  = PetscMax(v.panel(s->np, 0) / 2, (PetscInt64)3145728),
                   units = PetscMin(2 * (PetscInt64)(s->np + 1) * *blocks,
                                    (PetscInt64)gpu->multiprocessors * (2048 / SpikePivotedThreads_CUDA(&v)));

  *elements = piece ? piece * PetscMax(1, PetscMin(units, room / piece)) : 0;
}

template <int W>
static PetscErrorCode SpikePivotedTipsLaunch_Private(const SpikePivotedTipsArgs &a, int blocks, cudaStream_t stream)
{
  const int    threads = SpikePivotedThreads_CUDA(&a.v);
  const size_t bytes   = SpikePivotedShared_CUDA(&a.v, SPIKE_PIVOTED_COLUMNS);

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikePivotedTips_Kernel<W, SPIKE_PIVOTED_COLUMNS>, threads, bytes));
  SpikePivotedTips_Kernel<W, SPIKE_PIVOTED_COLUMNS><<<(unsigned)blocks, (unsigned)threads, bytes, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of factor(), or with full of spikes(), whose arrays are there: what they say is known after finish() */
PetscErrorCode SpikePivotedTips_CUDA(SpikeBand *s, PetscBool full)
{
  SpikeCUDA           *h       = (SpikeCUDA *)s->data;
  const cudaStream_t   stream  = (cudaStream_t)s->stream;
  PetscInt             longest = 0;
  SpikePivotedTipsArgs a       = {};
  PetscInt64           units;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < s->np; p++) longest = PetscMax(longest, s->start[p + 1] - s->start[p]);
  a.t      = h->t;
  a.v      = *h->pivoted;
  a.B      = s->dB;
  a.C      = s->dC;
  a.Wt     = s->dWt;
  a.Vb     = s->dVb;
  a.Wb     = s->dWb;
  a.Vt     = s->dVt;
  a.work   = h->spike;
  a.rows   = SpikePivotedRows_Private(&a.v, longest, full);
  a.most   = (int)PetscMin(SpikeMaxCorner(s->kl, s->ku), longest);
  a.blocks = SpikePivotedColumnBlocks_Private(&a.v);
  a.full   = full;
  a.eps    = (double)SpikePrecisionEpsilon(s->precision);
  a.tol    = PetscMax((double)s->window, a.eps);
  a.small  = PetscMax((8 + 0.25 * PetscMax(s->kl, s->ku)) * a.eps, PetscMax((double)s->window, a.eps / 4));
  a.rate   = (PetscReal *)(h->report + 1);
  a.window = h->window;
  units = PetscMin(2 * (PetscInt64)(s->np + 1) * a.blocks, h->spikesize / ((PetscInt64)a.rows * SPIKE_PIVOTED_COLUMNS));
  PetscCheck(a.blocks == h->blocks && units > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d blocks of columns, not %d",
             a.blocks, h->blocks);
  PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)s->np * sizeof(int), stream));
  SpikePivotedDispatch(a.v.W, PetscCall(SpikePivotedTipsLaunch_Private<W>(a, (int)units, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
