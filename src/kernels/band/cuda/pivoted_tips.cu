/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_tips.cu: spikes and their tips from factors with row exchanges */
#include "pivoted_column.cuh"

/*
  A thread block has some columns of a spike, or of several ones in turn, a column by a thread, in its piece of
  SpikeCUDA.spike.

  Tips: of the left spike the leading l rows, W = U_ll^-1 (L^-1 P [C; 0])_l, where exchanges of the last panel move
  values up to kl rows after l. Of the right one V = U^-1 L^-1 P [0; B] from the last rows up. l is doubled, from 2
  max(kl, ku) on, up to SpikeMaxCorner() rows, until the spike has fallen to the tolerance of the corrections, so that
  its reach is known. The host's tips.c has Wt from a UL factorization; here the rows after l add to Wt what W has
  fallen to there, or what exchanges have moved there, times what comes back up, U_ll^-1 U_lr. One more column, random
  signs after row l, measures that, and l grows until the product is below rounding too: where W has fallen to its
  root. The corner of a left spike begins anew each time, so it becomes at once as long as its rate asks for, but at
  most 8 l. Whole spikes (full): all rows, whatever they are.

  Flops of a column and a row: 2 kl forward, 2 (kl + ku) backward. The factors are read once for the columns of a
  block. Two runs have the same bits: threads meet in maxima only.
*/
struct SpikePivotedTipsArgs {
  SpikeTiles         t;
  SpikePivoted       v;
  const PetscScalar *B, *C;
  PetscScalar       *Wt, *Vb, *Wb, *Vt;             /* the last two with full                            */
  PetscScalar       *work;                          /* a piece of rows x ld, row-major, for each block   */
  int                rows, most, blocks, ncols, ld; /* most: rows of a corner; blocks of ncols columns */
  bool               full;
  /* tol: of corrections; small: what the rows after may add to Wt, as a fraction */
  double     eps, tol, small;
  PetscReal *rate;   /* [2 (np + 1) blocks] */
  int       *window; /* [2 np] rows         */
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

/* The largest magnitude in rows r0 <= . < r0 + h of a column */
__device__ static inline double SpikePivotedLargestOf(const PetscScalar *x, PetscCount ld, int r0, int h)
{
  double m = 0.0;

#pragma unroll 8
  for (int i = r0; i < r0 + h; i++) {
    const double a = (double)SpikeAbs(x[i * ld]);

    m = a > m ? a : m;
  }
  return m;
}

/* The same of all threads that have a column */
__device__ static inline double SpikePivotedNorm(const PetscScalar *x, PetscCount ld, int r0, int h,
                                                 unsigned long long *shared)
{
  __syncthreads();
  if (!threadIdx.x) *shared = 0;
  __syncthreads();
  if (x) SpikePivotedMost(shared, SpikePivotedLargestOf(x, ld, r0, h));
  __syncthreads();
  return __longlong_as_double((long long)*shared);
}

/*
  Whether the spike has fallen to tol; its reach and rate. x: the thread's column, of n rows, or NULL; tip: rows of its
  end. Fewer than gap rows of zeros, the diagonals of U, say nothing of those after them. At half of a corner in which
  it has fallen the spike is what it is in the partition, up to tol; else see the host's SpikeReach_Private()
*/
__device__ static inline bool SpikePivotedFallen(const PetscScalar *x, PetscCount ld, int n, int l, int tip, int gap,
                                                 bool top, double eps, double tol, SpikePivotedReach *shared,
                                                 int *reach, double *rate)
{
  const int half = PetscMax(l / 2, PetscMin(2 * tip, l));

  __syncthreads();
  if (!threadIdx.x) {
    shared->head = shared->mid = shared->far = 0;
    shared->last = shared->reached = 0;
  }
  __syncthreads();
  if (x) SpikePivotedMost(&shared->head, SpikePivotedLargestOf(x, ld, top ? 0 : n - tip, tip));
  __syncthreads();
  const double head = __longlong_as_double((long long)shared->head);

  if (x) {
    int    last = 0, reached = 0;
    double mid = 0.0, far = 0.0;

#pragma unroll 8
    for (int d = 0; d < l; d++) {
      const double m = (double)SpikeAbs(x[(top ? d : n - 1 - d) * ld]);

      if (m > eps * head) last = d + 1;
      if (m > tol * head) reached = d + 1;
      if (d >= l - tip) far = m > far ? m : far;
      if (d >= half - tip && d < half) mid = m > mid ? m : mid;
    }
    atomicMax(&shared->last, last);
    atomicMax(&shared->reached, reached);
    SpikePivotedMost(&shared->mid, mid);
    SpikePivotedMost(&shared->far, far);
  }
  __syncthreads();
  const bool   fallen = shared->last <= l - gap, known = shared->reached <= l - gap;
  const double mid = __longlong_as_double((long long)shared->mid), far = __longlong_as_double((long long)shared->far);

  *reach = known ? PetscMax(shared->reached, tip) : n;
  *rate  = l == n || fallen ? SpikePivotedRate(head, far, l - tip)
         : mid > 0.0 ? PetscMin(SpikePivotedRate(head, mid, half - tip) + (known ? 0.0 : 2.0 * log(2.0) / l), 0.0)
                     : (double)PETSC_MIN_REAL;
  return known;
}

/* x <- 0 from row r0 to row end; then the thread's column of A in the h rows from `at` on */
__device__ static inline void SpikePivotedBegin(PetscScalar *x, PetscCount ld, int r0, int end, int at, int h,
                                                const PetscScalar *A)
{
  if (!x) return;
  for (int i = r0; i < end; i++)
    x[i * ld] = i >= at && i < at + h ? A[(PetscCount)threadIdx.x * h + i - at] : (PetscScalar)0.0;
}

/* The thread's column of A <- rows r0 <= . < r0 + h */
__device__ static inline void SpikePivotedKeep(const PetscScalar *x, PetscCount ld, int r0, int h, PetscScalar *A)
{
  if (!x) return;
  for (int i = 0; i < h; i++) A[(PetscCount)threadIdx.x * h + i] = x[(r0 + i) * ld];
}

template <int W>
struct SpikePivotedColumns { /* of a block: threads with a column of a spike, and after them one with signs */
  static constexpr int NTHREADS = 64, ATONCE = W == 8 ? 8 : W == 16 && sizeof(PetscScalar) <= sizeof(double) ? 6 : 4;
};

template <int W>
__global__ void __launch_bounds__(SpikePivotedColumns<W>::NTHREADS, SpikePivotedColumns<W>::ATONCE)
  SpikePivotedTips_Kernel(const __grid_constant__ SpikePivotedTipsArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ SpikePivotedReach                  seen;
  const SpikePivoted                           &v = a.v;
  const int        kl = v.kl, ku = v.ku, K = PetscMax(kl, ku), half = (int)(a.t.np + 1) * a.blocks;
  const PetscCount ld   = a.ld;
  const PetscReal  none = PETSC_MIN_REAL;

  for (int unit = blockIdx.x; unit < 2 * half; unit += gridDim.x) {
    const bool     right = unit >= half;
    const PetscInt q = (unit - (right ? half : 0)) / a.blocks, p = right ? q - 1 : q;
    const int      h = right ? ku : kl, c0 = unit % a.blocks * a.ncols, nc = PetscMin(a.ncols, h - c0);

    if (!threadIdx.x) a.rate[unit] = none;
    if (p < 0 || p >= a.t.np || !a.t.active[q] || nc <= 0) continue;
    const int n = (int)(a.t.start[p + 1] - a.t.start[p]), panels = (n + W - 1) / W, most = PetscMin(n, a.most),
              f0               = right ? v.forward(n - ku) : 0;
    const bool            both = a.full && a.t.active[right ? p : p + 1]; /* the spike's other end is wanted */
    const PetscScalar    *A    = (right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)c0 * h;
    const PetscCount      tips = q * (PetscCount)h, wt = (tips + c0) * ku, vb = (tips + c0) * kl; /* their columns */
    PetscScalar          *piece = a.work + (PetscCount)blockIdx.x * a.rows * ld;
    SpikePivotedColumn<W> s(v, p, shared);
    int                   reach = n, l;
    double                rate;

    /* of a right corner the last row is in the last place */
    if (right && !a.full) piece += (a.rows - n) * ld;
    PetscScalar *const x = (int)threadIdx.x < nc ? piece + threadIdx.x : NULL;

    s.x  = x;
    s.ld = ld;
    if (a.full) {
      const int last = right && !both ? v.begin(PetscMax(n - kl, 0)) : 0; /* of a right spike the bottom tip alone */

      SpikePivotedBegin(x, ld, 0, n, right ? n - h : 0, h, A);
      s.lower(f0 / W, panels, n);
      s.upper(last / W, panels, n);
      if (!right || both) SpikePivotedKeep(x, ld, 0, ku, (right ? a.Vt : a.Wt) + wt);
      SpikePivotedKeep(x, ld, n - kl, kl, (right ? a.Vb : a.Wb) + vb);
      if (!right || both) {
        const double above = SpikePivotedNorm(x, ld, 0, PetscMin(K, n), &seen.head),
                     below = SpikePivotedNorm(x, ld, n - PetscMin(K, n), PetscMin(K, n), &seen.far);

        rate = right ? SpikePivotedRate(below, above, n - K) : SpikePivotedRate(above, below, n - K);
        if (!threadIdx.x) a.rate[unit] = (PetscReal)rate;
      }
      continue;
    }
    if (right) {
      int done = panels;

      SpikePivotedBegin(x, ld, PetscMin(f0, PetscMax(0, n - 2 * K)), n, n - h, h, A);
      s.lower(f0 / W, panels, n);
      for (int least = PetscMin(2 * K, most);; least = PetscMin(2 * least, most)) {
        const int first = v.begin(PetscMin(PetscMax(n - least, 0), f0)), known = done * W < n ? done * W : f0;

        l = n - first;
        if (x) /* rows that are new, above those of the forward sweep */
          for (int i = first; i < PetscMin(known, f0); i++) x[i * ld] = (PetscScalar)0.0;
        s.upper(first / W, done, n);
        done = first / W;
        if (SpikePivotedFallen(x, ld, n, l, K, v.hu, false, a.eps, a.tol, &seen, &reach, &rate) || l >= most) break;
      }
      SpikePivotedKeep(x, ld, n - kl, kl, a.Vb + vb);
    } else {
      PetscScalar *const signs = (int)threadIdx.x == nc ? piece + nc : NULL;

      for (int least = 2 * K;;) {
        l                = PetscMin(least, most);
        const int corner = PetscMin((l + W - 1) / W * W, n), end = PetscMin(n, corner + v.hu);

        s.x = x;
        SpikePivotedBegin(x, ld, 0, end, 0, h, A);
        s.lower(0, (corner + W - 1) / W, PetscMin(n, corner + kl));
        /* what exchanges have moved after the corner */
        const double first = SpikePivotedNorm(x, ld, 0, PetscMin(K, n), &seen.head),
                     after = SpikePivotedNorm(x, ld, corner, PetscMin(n, corner + kl) - corner, &seen.head);

        /* nothing comes from the rows after it, and of the signs those up to `end` */
        if (x)
          for (int i = corner; i < end; i++) x[i * ld] = (PetscScalar)0.0;
        if (signs)
          for (int i = 0; i < end; i++)
            signs[i * ld] = (PetscScalar)(i < corner ? 0.0 : ((unsigned)i * 2654435761u >> 16 & 1) ? 1.0 : -1.0);
        if (signs) s.x = signs;
        s.upper(0, (corner + W - 1) / W, end);
        const bool   known = SpikePivotedFallen(x, ld, n, l, K, v.hu, true, a.eps, a.tol, &seen, &reach, &rate);
        const double tip   = SpikePivotedNorm(x, ld, 0, ku, &seen.head),
                     back  = SpikePivotedNorm(signs, ld, 0, ku, &seen.head),
                     far   = SpikePivotedNorm(x, ld, corner - K, K, &seen.head);

        if ((known && back * after <= a.small * first && back * far <= a.small * tip) || corner == n || l >= most)
          break;
        least = (int)PetscMin(PetscMax(K + log(PetscMin(a.tol, sqrt(a.small))) / PetscMin(rate, -1e-9), 2.0 * l),
                              8.0 * l);
      }
      SpikePivotedKeep(x, ld, 0, ku, a.Wt + wt);
    }
    if (!threadIdx.x) {
      a.rate[unit] = (PetscReal)rate;
      atomicMax(a.window + 2 * p + right, PetscMin(reach, n));
    }
  }
}

/* Blocks of columns of a spike, about equal ones, each with a column of signs */
struct SpikePivotedTipsPlan {
  int blocks, ncols, ld, threads;

  SpikePivotedTipsPlan(const SpikePivoted *v)
  {
    const int K = PetscMax(v->kl, v->ku), most = SpikePivotedColumns<8>::NTHREADS - 1;

    blocks  = PetscMax((K + most - 1) / most, 1);
    ncols   = (K + blocks - 1) / blocks;
    ld      = (ncols + 4) / 4 * 4;
    threads = (ncols + 32) / 32 * 32;
  }
};

/* Rows of a piece of the work space: of a corner those that exchanges and whole panels add */
static int SpikePivotedRows_Private(const SpikePivoted *v, PetscInt longest, bool full)
{
  const PetscInt corner = PetscMax((PetscInt)SpikeMaxCorner(v->kl, v->ku), v->hu + 2 * v->W) + 2 * v->W + v->hu;

  return (int)(full ? longest : PetscMin(longest, corner));
}

static size_t SpikePivotedTipsShared_Private(const SpikePivoted *v)
{
  SpikePivotedDispatch(v->W, return SpikePivotedColumn<W>::shared(v->m));
  return 0;
}

/* Whether the sweeps of several right-hand sides and the tips fit */
bool SpikePivotedTipsHold_CUDA(const SpikePivoted *v, const SpikeDevice *gpu)
{
  const size_t most = PetscMax(SpikePivotedShared_CUDA(v, SPIKE_PIVOTED_COLUMNS), SpikePivotedTipsShared_Private(v));

  return most + 2048 <= (size_t)gpu->shared;
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
  const SpikePivotedTipsPlan plan(&v);

  for (PetscInt p = 0; p < s->np; p++) longest = PetscMax(longest, s->start[p + 1] - s->start[p]);
  *blocks                = plan.blocks;
  const PetscInt64 piece = (PetscInt64)SpikePivotedRows_Private(&v, longest, s->full) * plan.ld,
                   room  = PetscMax(v.panel(s->np, 0) / 2, (PetscInt64)3145728),
                   units = PetscMin(2 * (PetscInt64)(s->np + 1) * plan.blocks,
                                    (PetscInt64)gpu->multiprocessors * (1024 / plan.threads));

  *elements = piece ? piece * PetscMax(1, PetscMin(units, room / piece)) : 0;
}

template <int W>
static PetscErrorCode SpikePivotedTipsLaunch_Private(const SpikePivotedTipsArgs &a, int blocks, int threads,
                                                     cudaStream_t stream)
{
  const size_t bytes = SpikePivotedColumn<W>::shared(a.v.m);

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikePivotedTips_Kernel<W>, threads, bytes));
  SpikePivotedTips_Kernel<W><<<(unsigned)blocks, (unsigned)threads, bytes, stream>>>(a);
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
  const SpikePivotedTipsPlan plan(h->pivoted);

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
  a.blocks = plan.blocks;
  a.ncols  = plan.ncols;
  a.ld     = plan.ld;
  a.full   = full;
  a.eps    = (double)SpikePrecisionEpsilon(s->precision);
  a.tol    = PetscMax((double)s->window, a.eps);
  a.small  = (8 + 0.25 * PetscMax(s->kl, s->ku)) * a.eps;
  a.rate   = (PetscReal *)(h->report + 1);
  a.window = h->window;
  units    = PetscMin(2 * (PetscInt64)(s->np + 1) * a.blocks, h->spikesize / ((PetscInt64)a.rows * a.ld));
  PetscCheck(a.blocks == h->blocks && units > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d blocks of columns, not %d",
             a.blocks, h->blocks);
  PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)s->np * sizeof(int), stream));
  SpikePivotedDispatch(a.v.W, PetscCall(SpikePivotedTipsLaunch_Private<W>(a, (int)units, plan.threads, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
