/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_sweep.cu: sweeps and corrections with factors that have row exchanges */
#include "pivoted_sweep.cuh"

int SpikePivotedThreads_CUDA(const SpikePivoted *v)
{
  return (v->m + 31) / 32 * 32;
}

size_t SpikePivotedShared_CUDA(const SpikePivoted *v, int columns)
{
  const int threads = SpikePivotedThreads_CUDA(v);

  if (columns == 1) SpikePivotedDispatch(v->W, return (SpikePivotedSweep<W, 1>::shared(threads)));
  SpikePivotedDispatch(v->W, return (SpikePivotedSweep<W, SPIKE_PIVOTED_COLUMNS>::shared(threads)));
  return 0;
}

struct SpikePivotedApplyArgs {
  SpikeTiles         t;
  SpikePivoted       v;
  PetscInt           p0, n, nrhs;
  const PetscScalar *b;
  PetscScalar       *x, *z; /* of a correction z [maxrhs * n], work space */
  PetscCount         ldb, ldx;
  PetscScalar       *tips; /* NULL: none are wanted */
  PetscCount         ldt;
  const PetscScalar *B, *C;
  const int         *window; /* [2 np] rows */
};

/* y <- y + op(A) x of a block of m x m elements, by all threads, an element each */
__device__ static inline void SpikePivotedBlock(bool trans, int m, const PetscScalar *A, const PetscScalar *x, bool add,
                                                PetscScalar *y)
{
  for (int i = threadIdx.x; i < m; i += blockDim.x) {
    PetscScalar sum = add ? y[i] : (PetscScalar)0.0;

    for (int k = 0; k < m; k++)
      sum = SpikePivotedMinus(sum, -(trans ? A[(PetscCount)i * m + k] : A[(PetscCount)k * m + i]), x[k]);
    y[i] = sum;
  }
}

/*
  x <- D^-1 b or D^-T b of partition p0 + blockIdx.x, right-hand sides R blockIdx.y and after, and the tips: g_b and
  g_t, transposed C^T and B^T times the ends of g
*/
template <int W, int R, bool TRANSPOSED>
__global__ void __launch_bounds__(SpikePivotedBound<W>::NTHREADS, SpikePivotedBound<W>::ATONCE)
  SpikePivotedSweep_Kernel(const __grid_constant__ SpikePivotedApplyArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const PetscInt          p = a.p0 + (PetscInt)blockIdx.x, start = a.t.start[p], c0 = (PetscInt)blockIdx.y * R;
  const int               n = (int)(a.t.start[p + 1] - start), panels = (n + W - 1) / W, kl = a.v.kl, ku = a.v.ku;
  SpikePivotedSweep<W, R> s(a.v, p, shared);
  const PetscScalar      *b = a.b + start + c0 * a.ldb;

  s.nc  = (int)PetscMin(R, a.nrhs - c0);
  s.x   = a.x + start + c0 * a.ldx;
  s.ldx = a.ldx;
  if (b != s.x || a.ldb != a.ldx) {
    for (int c = 0; c < s.nc; c++)
      for (int i = threadIdx.x; i < n; i += blockDim.x) s.x[i + c * a.ldx] = b[i + c * a.ldb];
    __syncthreads();
  }
  if (TRANSPOSED) {
    s.uppert(0, panels, n);
    s.lowert(0, panels, n);
  } else {
    s.lower(0, panels, n);
    s.upper(0, panels, n);
  }
  if (!a.tips) return;
  for (int c = 0; c < s.nc; c++) {
    PetscScalar       *above = a.tips + (c0 + c) * a.ldt + p * (PetscCount)(kl + ku), *below = above + kl + ku;
    const PetscScalar *x = s.x + c * a.ldx;

    if (TRANSPOSED) {
      if (a.t.active[p]) SpikePivotedBlock(true, kl, a.C + p * (PetscCount)kl * kl, x, false, above);
      if (a.t.active[p + 1])
        SpikePivotedBlock(true, ku, a.B + (p + 1) * (PetscCount)ku * ku, x + n - ku, false, below + kl);
    } else {
      if (a.t.active[p])
        for (int i = threadIdx.x; i < ku; i += blockDim.x) above[kl + i] = x[i];
      if (a.t.active[p + 1])
        for (int i = threadIdx.x; i < kl; i += blockDim.x) below[i] = x[n - kl + i];
    }
  }
}

/* Rows r0 <= . < r0 + w of a partition, and in z the rows up to `end` that a forward sweep moves values to */
struct SpikePivotedWindow {
  int r0, w, end;
};

__device__ static inline SpikePivotedWindow SpikePivotedGetWindow(const SpikePivoted &v, int n, bool top, int rows)
{
  SpikePivotedWindow out;

  if (top) {
    out.r0  = 0;
    out.w   = PetscMin(n, (rows + v.W - 1) / v.W * v.W);
    out.end = PetscMin(n, out.w + v.kl);
  } else {
    out.r0 = v.begin(PetscMax(n - rows, 0));
    if (v.ku) out.r0 = PetscMin(out.r0, v.forward(n - v.ku));
    out.w   = n - out.r0;
    out.end = n;
  }
  return out;
}

/* x <- x - D^-1 z or x - D^-T z in a window, z from the tips at the ends that are given */
template <int W, int R, bool TRANSPOSED>
__device__ static inline void SpikePivotedCorrectWindow(const SpikePivotedApplyArgs &a, PetscInt p, PetscInt c0, int n,
                                                        const SpikePivotedWindow &win, bool top, bool bottom,
                                                        SpikePivotedSweep<W, R> &s)
{
  const int kl = a.v.kl, ku = a.v.ku, hb = TRANSPOSED ? kl : ku, zero = top ? 0 : n - hb,
            panels = (win.r0 + win.w + W - 1) / W;
  PetscScalar *x   = a.x + a.t.start[p] + c0 * a.ldx;

  for (int c = 0; c < s.nc; c++) {
    const PetscScalar *above = a.tips + (c0 + c) * a.ldt + p * (PetscCount)(kl + ku), *below = above + kl + ku;
    PetscScalar       *z = s.x + c * s.ldx;

    for (int i = win.r0 + (int)threadIdx.x; i < win.end; i += blockDim.x) z[i] = (PetscScalar)0.0;
    __syncthreads();
    if (top && TRANSPOSED)
      for (int i = threadIdx.x; i < ku; i += blockDim.x) z[i] = above[kl + i];
    else if (top) SpikePivotedBlock(false, kl, a.C + p * (PetscCount)kl * kl, above, false, z);
    __syncthreads();
    if (bottom && TRANSPOSED)
      for (int i = threadIdx.x; i < kl; i += blockDim.x) z[n - kl + i] += below[i];
    else if (bottom) SpikePivotedBlock(false, ku, a.B + (p + 1) * (PetscCount)ku * ku, below + kl, true, z + n - ku);
  }
  __syncthreads();
  if (TRANSPOSED) {
    s.uppert(zero / W, panels, n);
    s.lowert(0, panels, n);
  } else {
    s.lower(a.v.forward(zero) / W, panels, win.end);
    s.upper(win.r0 / W, panels, win.r0 + win.w);
  }
  for (int c = 0; c < s.nc; c++)
    for (int i = win.r0 + (int)threadIdx.x; i < win.r0 + win.w; i += blockDim.x) x[i + c * a.ldx] -= s.x[i + c * s.ldx];
  __syncthreads();
}

/* A block for each end of a partition; one for both where their windows meet */
template <int W, int R, bool TRANSPOSED>
__global__ void __launch_bounds__(SpikePivotedBound<W>::NTHREADS, SpikePivotedBound<W>::ATONCE)
  SpikePivotedCorrect_Kernel(const __grid_constant__ SpikePivotedApplyArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const PetscInt p = a.p0 + (PetscInt)blockIdx.x, start = a.t.start[p], c0 = (PetscInt)blockIdx.y * R;
  const int      n = (int)(a.t.start[p + 1] - start), kl = a.v.kl, ku = a.v.ku, end = (int)blockIdx.z;
  const bool     top = a.t.active[p] && (TRANSPOSED ? ku : kl), bottom = a.t.active[p + 1] && (TRANSPOSED ? kl : ku);
  const int      wtop           = !top       ? 0
                                : TRANSPOSED ? n
                                             : a.window[2 * p],
            wbot                = !bottom    ? 0
                                : TRANSPOSED ? n
                                             : a.window[2 * p + 1];
  const bool              whole = TRANSPOSED || wtop + wbot >= n;
  SpikePivotedSweep<W, R> s(a.v, p, shared);

  if (!top && !bottom) return;
  s.nc  = (int)PetscMin(R, a.nrhs - c0);
  s.ldx = a.n;
  s.x   = a.z + start + c0 * a.n;
  if (whole) {
    const SpikePivotedWindow win = {0, n, n};

    if (!end) SpikePivotedCorrectWindow<W, R, TRANSPOSED>(a, p, c0, n, win, top, bottom, s);
    return;
  }
  const SpikePivotedWindow above = SpikePivotedGetWindow(a.v, n, true, wtop),
                           below = SpikePivotedGetWindow(a.v, n, false, wbot);
  const bool meet                = top && bottom && below.r0 < above.end;

  if (top && !end) SpikePivotedCorrectWindow<W, R, TRANSPOSED>(a, p, c0, n, above, true, false, s);
  if (bottom && (meet ? !end : end)) SpikePivotedCorrectWindow<W, R, TRANSPOSED>(a, p, c0, n, below, false, true, s);
}

template <int W, int R>
static PetscErrorCode SpikePivotedLaunch_Private(const SpikePivotedApplyArgs &a, bool trans, bool correct, PetscInt np,
                                                 cudaStream_t stream)
{
  const int    threads = SpikePivotedThreads_CUDA(&a.v);
  const size_t bytes   = SpikePivotedSweep<W, R>::shared(threads);
  const dim3   grid((unsigned)np, (unsigned)((a.nrhs + R - 1) / R), correct && !trans ? 2 : 1);
  const void  *kernel = correct ? (trans ? (const void *)SpikePivotedCorrect_Kernel<W, R, true>
                                         : (const void *)SpikePivotedCorrect_Kernel<W, R, false>)
                                : (trans ? (const void *)SpikePivotedSweep_Kernel<W, R, true>
                                         : (const void *)SpikePivotedSweep_Kernel<W, R, false>);
  void        *args[] = {(void *)&a};

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit(kernel, threads, bytes));
  PetscCallCUDA(cudaLaunchKernel(kernel, grid, dim3((unsigned)threads), args, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePivotedApply_Private(SpikeBand *s, SpikePivotedApplyArgs *a, PetscBool trans, bool correct,
                                                PetscInt p0, PetscInt p1, PetscInt nrhs)
{
  const SpikeCUDA   *h      = (const SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;

  PetscFunctionBegin;
  if (p0 >= p1 || !nrhs || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  a->t      = h->t;
  a->v      = *h->pivoted;
  a->p0     = p0;
  a->n      = s->n;
  a->nrhs   = nrhs;
  a->z      = h->work;
  a->tips   = s->coupled ? s->dtips : NULL;
  a->ldt    = (PetscCount)(s->np + 1) * (s->kl + s->ku);
  a->B      = s->dB;
  a->C      = s->dC;
  a->window = h->window;
  if (nrhs == 1)
    SpikePivotedDispatch(h->pivoted->W,
                         PetscCall((SpikePivotedLaunch_Private<W, 1>(*a, trans, correct, p1 - p0, stream))));
  else
    SpikePivotedDispatch(h->pivoted->W,
                         PetscCall((
                           SpikePivotedLaunch_Private<W, SPIKE_PIVOTED_COLUMNS>(*a, trans, correct, p1 - p0, stream))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePivotedSweep_CUDA(SpikeBand *s, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs,
                                      const PetscScalar *b, PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  SpikePivotedApplyArgs a = {};

  PetscFunctionBegin;
  a.b   = b;
  a.ldb = ldb;
  a.x   = g;
  a.ldx = ldg;
  PetscCall(SpikePivotedApply_Private(s, &a, trans, false, p0, p1, nrhs));
  PetscCall(PetscLogGpuFlops(nrhs * (4.0 * s->kl + 2.0 * s->ku + 1.0) * (s->start[p1] - s->start[p0])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePivotedCorrect_CUDA(SpikeBand *s, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs,
                                        PetscScalar *x, PetscCount ldx)
{
  const SpikeCUDA      *h    = (const SpikeCUDA *)s->data;
  const PetscReal       rows = trans ? (PetscReal)(s->start[p1] - s->start[p0]) : h->windowrows * (p1 - p0) / s->np;
  SpikePivotedApplyArgs a    = {};

  PetscFunctionBegin;
  a.x   = x;
  a.ldx = ldx;
  PetscCall(SpikePivotedApply_Private(s, &a, trans, true, p0, p1, nrhs));
  PetscCall(PetscLogGpuFlops(nrhs * (4.0 * s->kl + 2.0 * s->ku + 2.0) * rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}
