/* SPDX-License-Identifier: BSD-2-Clause */
/* tips.cu: tips of the spikes, and how far the spikes reach */
#include "band.cuh"
#include "tips_narrow.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "tips_reach.cuh"
#endif

/*
  The backend has no UL factorization: the leading corner of l rows has the factors' leading corners as its own, so W of
  the corner is U_ll^-1 Y, Y = L_ll^-1 [C; 0], forward and backward over l rows. Both tips are thus made after the
  factorization.

  Bands of few tiles on a side: tips_narrow.cuh; the others as follows. The rows after l add to Wt what W has fallen by
  there times what comes back up to the top. A thread block with the spike's columns measures both and chooses l:
  forward until W has fallen below the root of that of its end, then backward, with one more column that starts as
  random signs after row l and leaves at the top what comes back. Where the product is above rounding, and above the
  tolerance of the corrections, it goes on forward, as far as this number asks for. W_i is taken to fall as Y_i / U_ii
  does, which no scaling of rows changes; where the corner is the whole partition, W itself is looked at.

  What remains is the reach of the spikes, down to the tolerance of the corrections: the recurrences of Y (with L) and V
  (with U alone, above the tip) go on with one combination of the columns. A block reads a tile once for all of its
  columns, into shared memory, some tiles ahead of their use; a warp has 8 C8 columns of X, the last tile rows of which
  are in shared memory. Y is kept in SpikeCUDA.spike. Products are in double precision.

  Of symmetric positive definite bands tips_reach.cuh finds the corners beforehand and the reach beside, without a
  column of signs: here the corner is gone through forward and backward, and nothing is measured. Thread blocks take
  such units as they come, the long left ones first. Where one thread block holds all columns of a spike if each warp
  has two blocks of 8, each has: tiles are loaded half as often.

  A first launch gives every block room for SPIKE_TIPS_ROWS K rows of Y; spikes that need more are listed and done by a
  second one, with few blocks.
*/
#define SPIKE_TIPS_ROWS   8
#define SPIKE_TIPS_STATIC 1024 /* bytes of shared memory that the kernel and CUDA have for themselves, at most */
/* blocks of rows of a tile, of columns of a warp, tiles in shared memory */
#define SPIKE_TIPS_SHAPE(C8) 2, C8, 4
#if CUDART_VERSION >= 12040
  #define SPIKE_TIPS_PAIRS_BOUNDS __maxnreg__(192)
#else
  #define SPIKE_TIPS_PAIRS_BOUNDS __launch_bounds__(32 * (SPIKE_TIPS_WARPS - 1))
#endif

typedef enum {
  SPIKE_FORWARD,
  SPIKE_BACKWARD,
  SPIKE_FOLLOW,
  SPIKE_DONE
} SpikePhase;

/* Where the work on a spike is; the same in all threads */
struct SpikeTipsState {
  int    f1, j;            /* rows f0 <= . < f1 of Y are known; the row at work                 */
  int    phase;            /* SpikePhase                                                        */
  int    below;            /* last rows, all below the target; negative: left to another launch */
  int    stop;             /* of the way forward                                                */
  double target;           /* of the way forward; negative: the root of the tolerance           */
  double scale, reference; /* of the combination of columns; what its first row shall be        */
  double start, end;       /* of W itself, where all of it is known                             */
};

/*
  A row with largest magnitude m in a thread is done: notes it, and returns whether the phase goes on with row w.j. top:
  largest of the tip of W; known: the corner, and how far the spike reaches
*/
template <typename C>
__device__ static __forceinline__ bool SpikeTipsRow(C &s, const SpikeTiles &t, SpikeTipsState &w, SpikeFall &fall,
                                                    bool right, bool known, int J, int most, int last, double root,
                                                    unsigned m, unsigned &top)
{
  if (w.phase == SPIKE_FORWARD) {
    if (!right && !known) {
      const double norm = s.reduce(m);

      fall.add(norm);
      w.below = fall.seen > fall.tip && norm <= (w.target < 0.0 ? root * fall.head : w.target) ? w.below + 1 : 0;
    }
    w.j++;
    return w.j < w.stop && !(!right && w.j >= PetscMin(2 * fall.tip, most) && w.below >= PetscMax(t.QL, 1));
  } else if (w.phase == SPIKE_BACKWARD) {
    if (right) {
      if (!known) fall.add(s.reduce(m));
    } else {
      if (w.j < t.QU) top = PetscMax(top, m);
      if (w.f1 == J && (w.j < fall.tip || w.j >= J - fall.tip)) {
        const double norm = s.reduce(m);

        if (w.j < fall.tip) w.start = PetscMax(w.start, norm);
        if (w.j >= J - fall.tip) w.end = PetscMax(w.end, norm);
      }
    }
    w.j--;
    return w.j >= last;
  } else {
    const double norm = s.reduce(m);

    if (right) fall.add(w.scale * norm);
    else if (w.j == w.f1 - 1)
      w.scale = norm == 0.0
                ? 0.0
                : w.reference / norm; /* the last row of Y once more, which shows the size of the combination */
    else fall.add(w.scale * norm);
    w.j += right ? -1 : 1;
    return !fall.fallen && (right ? w.j >= J - most : w.j < most);
  }
}

/* X before the first row of a phase, in slots that are zero: the last tile rows of Y, or of a combination of columns */
template <typename C>
__device__ static __forceinline__ void SpikeTipsBefore(const C &s, const SpikeTiles &t, int phase, bool right, int j,
                                                       int f0, int J, int nc, int size, const PetscScalar *Y)
{
  constexpr int ROWROOM = C::ROWROOM, LDX = C::LDX;
  const int     T = t.T;

  if (phase == SPIKE_FORWARD) {
    for (int k = 1; k <= PetscMin(t.QL, j - f0); k++) {
      for (int e = threadIdx.x; e < T * nc; e += blockDim.x)
        s.slot(j - k)[e / T * LDX + e % T] = SpikeArith(Y[(j - k) * size + e / T * ROWROOM + e % T]);
    }
  } else if (phase == SPIKE_FOLLOW && !right) {
    for (int k = 1; k <= PetscMin(t.QL, j); k++) {
      for (int r = threadIdx.x; r < T; r += blockDim.x) {
        SpikeArith v = 0.0;

        for (int c = 0; c < nc; c++) v = v + SpikeSign(c) * SpikeArith(Y[(j - k) * size + c * ROWROOM + r]);
        s.slot(j - k)[r] = v;
      }
    }
  } else if (phase == SPIKE_FOLLOW) {
    for (int k = 1; k <= PetscMin(t.QU, J - 1 - j); k++) {
      for (int r = threadIdx.x; r < T; r += blockDim.x) s.slot(j + k)[r] = SpikeArith(Y[(k - 1) * T + r]);
    }
  }
}

/* Y <- the combination of the columns in `rows` tile rows from `last` on; the thread's largest magnitude in it */
template <typename C>
__device__ static __forceinline__ unsigned SpikeTipsCombine(const C &s, int T, int last, int rows, int nc,
                                                            PetscScalar *Y)
{
  constexpr int LDX     = C::LDX;
  unsigned      largest = 0;

  for (int e = threadIdx.x; e < rows * T; e += blockDim.x) {
    const SpikeArith *x = s.slot(last + e / T) + e % T;
    SpikeArith        v = 0.0;

    for (int c = 0; c < nc; c++) v = v + SpikeSign(c) * x[c * LDX];
    Y[e]    = (PetscScalar)v;
    largest = PetscMax(largest, SpikeMagnitude(v));
  }
  return largest;
}

/* The next unit of a thread block, the first one for i < 0; all of its threads call */
__device__ static __forceinline__ int SpikeTipsNext(const SpikeTipsArgs &a, int i, int half)
{
  __shared__ int unit;

  if (!a.corner || a.again) return i < 0 ? (int)blockIdx.x : i + (int)gridDim.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    unit = (int)blockIdx.x < a.big ? atomicAdd(a.ticket, 1) : half;
    if (unit >= half) unit = half + atomicAdd(a.ticket + 1, 1);
  }
  __syncthreads();
  return unit;
}

/* C8: blocks of 8 columns of a warp */
template <typename F, int C8>
__device__ static __forceinline__ void SpikeTips(const SpikeTipsArgs &a)
{
  typedef SpikeRhs<F, SPIKE_TIPS_SHAPE(C8)> OneSpike;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           norms[2 * SPIKE_TIPS_WARPS];
  __shared__ double                             history[32];
  const SpikeTiles                             &t = a.t;
  const int T = t.T, kl = t.kl, ku = t.ku, Q = PetscMax(t.QL, t.QU), half = (int)(t.np + 1) * a.blocks,
            units = a.again ? *a.count : 2 * half;
  OneSpike      s(a, shared, norms);
  constexpr int ROWROOM = OneSpike::ROWROOM;
  /* of a tile row of Y: columns of ROWROOM numbers */
  const int    size  = a.tiles * 8 * ROWROOM;
  const double small = (double)a.small, root = sqrt(PetscMax((double)a.eps, (double)a.tol));
  const bool   known = a.corner != NULL;
  /* room for Y: `rows` tile rows in the first `big` thread blocks, Q + 2 in the others */
  const int    big = (int)blockIdx.x < a.big ? (int)blockIdx.x : a.big;
  PetscScalar *Y   = a.work + ((PetscInt64)big * a.rows + ((PetscInt64)blockIdx.x - big) * (Q + 2)) * size;

  if (known && !a.again) SpikeRelease(); /* SpikeReach_Kernel() */
  for (int i = SpikeTipsNext(a, -1, half); i < units; i = SpikeTipsNext(a, i, half)) {
    const int      unit  = a.again ? a.list[i] : i;
    const bool     right = unit >= half;
    const PetscInt q = (unit - (right ? half : 0)) / a.blocks, p = right ? q - 1 : q;
    const int      h = right ? ku : kl, col0 = (unit % a.blocks) * a.ncols, nc = PetscMin(a.ncols, h - col0),
              first = s.warp * C8 * 8;
    PetscReal &rate = a.rate[((right ? t.np + 1 : 0) + q) * (PetscInt64)a.rates + unit % a.blocks];

    if (!threadIdx.x && !a.again && !known) rate = PETSC_MIN_REAL;
    if (!t.active[q] || p < 0 || p >= t.np || nc <= 0) continue;
    if (known && !right && a.corner[q] > a.rows) { /* the other launch has more room */
      if (!threadIdx.x) a.list[atomicAdd(a.count, 1)] = unit;
      continue;
    }
    const int    n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most);
    SpikeFall    fall(history, !threadIdx.x, right ? PetscMin(Q + (n % T ? 1 : 0), J) : PetscMin(Q, J), (double)a.tol);
    const int    f0   = right ? (n - ku) / T : 0; /* rows of Y: f0 <= j < f1 */
    const int    last = right ? J - fall.tip : 0; /* of the way back         */
    PetscScalar *A    = (PetscScalar *)(right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)col0 * h,
                *tip  = (right ? a.Vb : a.Wt) + q * (PetscCount)kl * ku + (PetscCount)col0 * (right ? kl : ku);
    SpikeTipsState w  = {right ? J : 0, f0, SPIKE_FORWARD, 0, right ? J : known ? a.corner[q] : PetscMin(a.rows, most),
                        -1.0};
    int           &f1 = w.f1, &j = w.j, &phase = w.phase;

    s.partition(p);
    while (phase != SPIKE_DONE) {
      const bool back = phase == SPIKE_BACKWARD || (phase == SPIKE_FOLLOW && right);
      const int  cols = phase == SPIKE_FOLLOW                       ? 1
                      : phase == SPIKE_BACKWARD && !right && !known ? nc + 1
                                                                    : nc,
                nt = PetscMax(0, PetscMin(C8, (cols - first + 7) / 8)), real = phase == SPIKE_FOLLOW ? 1 : nc;
      unsigned top = 0, signs = 0;
      double   wt, ret, far;

      /* X before the first row */
      __syncthreads();
      s.clear(phase == SPIKE_BACKWARD && !right && !known ? nc : -1);
      __syncthreads();
      SpikeTipsBefore(s, t, phase, right, j, f0, J, nc, size, Y);
      s.begin(back, j);
      for (bool go = true; go;) {
        PetscScalar *y    = phase == SPIKE_FOLLOW ? NULL : Y + (j - f0) * size;
        SpikePanel   rhs  = {NULL, h, right ? j * T - (n - ku) : j * T, h},
                   result = {NULL, right ? kl : ku, right ? j * T - (n - kl) : j * T, right ? kl : ku};
        unsigned m;

        if (phase == SPIKE_FORWARD && (right || j < t.QL)) rhs.a = A;
        if (phase == SPIKE_BACKWARD && (right || j < t.QU) && kl && ku) result.a = tip;
        if (back)
          m = s.template step<true>(j, f0, nt,
                                    phase == SPIKE_BACKWARD && j >= f0 ? PetscMax(0, PetscMin(C8, (nc - first + 7) / 8))
                                                                       : 0,
                                    real,
                                    (!known && (right || j < PetscMax(t.QU, 1))) ||
                                      (!right && f1 == J && (j < fall.tip || j >= J - fall.tip)),
                                    y, rhs, result, &signs);
        else m = s.template step<false>(j, f0, nt, 0, real, !right && !known, y, rhs, result, &signs);
        go = SpikeTipsRow(s, t, w, fall, right, known, J, most, last, root, m, top);
      }
      if (phase == SPIKE_FORWARD) {
        f1    = j;
        j     = f1 - 1;
        phase = SPIKE_BACKWARD;
      } else if (phase == SPIKE_FOLLOW || known) phase = SPIKE_DONE;
      else if (right) {
        const int rows = PetscMin(t.QU, J - last);

        phase = fall.fallen || fall.seen >= most ? SPIKE_DONE : SPIKE_FOLLOW;
        if (phase == SPIKE_FOLLOW) { /* a combination of the columns, and its size */
          w.scale = s.reduce(SpikeTipsCombine(s, T, last, rows, nc, Y));
          w.scale = w.scale == 0.0 ? 0.0 : fall.recent(PetscMax(rows, 1)) / w.scale;
        }
      } else {
        wt  = s.reduce(top);
        ret = s.reduce(signs);
        far = fall.recent(PetscMax(t.QL, 1));
        if (f1 == most || ret * far <= small * wt) {
          phase       = fall.fallen || f1 == most ? SPIKE_DONE : SPIKE_FOLLOW;
          w.reference = fall.recent(1);
          j           = f1 - 1;
        } else if (f1 >= a.rows) { /* the other launch has more room */
          phase   = SPIKE_DONE;
          w.below = -1;
          if (!threadIdx.x) a.list[atomicAdd(a.count, 1)] = unit;
        } else {
          w.target = 0.5 * small * wt / ret;
          w.below  = 0;
          w.stop   = PetscMin(PetscMin(2 * f1, a.rows), most);
          j        = f1;
          phase    = SPIKE_FORWARD;
        }
      }
    }
    if (!threadIdx.x && w.below >= 0) {
      if (!right && f1 == J) rate = (PetscReal)SpikeRate(w.start, w.end, (PetscMax(J - fall.tip, 1) * (double)T));
      else if (!known) rate = (PetscReal)fall.rate(T);
      if (!known) atomicMax(a.window + 2 * p + right, fall.fallen ? PetscMin(fall.last, J) : J);
    }
  }
}

template <typename F>
__global__ void __launch_bounds__(32 * SPIKE_TIPS_WARPS, 1) SpikeTips_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  SpikeTips<F, 1>(a);
}

#if !defined(PETSC_USE_COMPLEX)
/* Registers are left for a block of SpikeReach_Kernel() beside */
template <typename F>
__global__ void SPIKE_TIPS_PAIRS_BOUNDS SpikeTipsPairs_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  SpikeTips<F, 2>(a);
}
#endif

template <typename F, int C8>
static void SpikeTipsShape_Private(SpikeTipsPlan *plan)
{
  typedef SpikeRhs<F, SPIKE_TIPS_SHAPE(C8)> OneSpike;

  plan->threads = plan->tiles / C8 * 32;
  plan->shared  = OneSpike::BUFFERS * OneSpike::TILESIZE * sizeof(F) +
                 (size_t)plan->slots * plan->tiles * 8 * OneSpike::LDX * sizeof(SpikeArith);
}

/* Whether tips_reach.cuh helps: the device's Cholesky, and LU of what Cholesky was asked for, a partition a group */
static bool SpikeTipsKnown_Private(const SpikeBand *s, const SpikeTiles *t)
{
  return s->cholesky && s->precision == PETSC_SPIKE_PRECISION_DOUBLE && !PetscDefined(USE_COMPLEX) && t->T > 16;
}

/* As few blocks of columns as fit */
void SpikeTipsPlan_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, SpikeTipsPlan *plan)
{
  const int Q = PetscMax(t->QL, t->QU), K = PetscMax(PetscMax(t->kl, t->ku), 1);

  plan->pairs = 0;
  plan->slots = PetscMax(Q, 1);
  for (plan->blocks = (K + 63) / 64;; plan->blocks++) {
    plan->ncols = (K + plan->blocks - 1) / plan->blocks;
    plan->tiles = (plan->ncols + (SpikeTipsKnown_Private(s, t) ? 0 : 1) + 7) / 8;
    SpikeDispatchPrecision(s->precision, (SpikeTipsShape_Private<F, 1>(plan)));
    if (plan->shared + SPIKE_TIPS_STATIC <= (size_t)gpu->shared || plan->ncols == 1) break;
  }
  plan->most = (int)PetscMin((SpikeMaxCorner(t->kl, t->ku) + t->T - 1) / t->T, t->tilerows);
  plan->rows = PetscMax(PetscMin(SPIKE_TIPS_ROWS * Q, plan->most), Q + 2);
}

/* The plan of the tips themselves: all columns of a spike in a thread block where that makes one of two */
static void SpikeTipsPairs_Private(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, SpikeTipsPlan *plan)
{
#if !defined(PETSC_USE_COMPLEX)
  SpikeTipsPlan one;
#endif

  SpikeTipsPlan_CUDA(s, t, gpu, plan);
#if !defined(PETSC_USE_COMPLEX)
  if (!SpikeTipsKnown_Private(s, t) || t->kl <= 96 || plan->blocks != 2) return;
  one        = *plan;
  one.pairs  = 1;
  one.blocks = 1;
  one.ncols  = t->kl;
  one.tiles  = (t->kl + 15) / 16 * 2;
  SpikeTipsShape_Private<SpikeDouble, 2>(&one);
  if (one.shared + SPIKE_TIPS_STATIC <= (size_t)gpu->shared && one.threads <= 32 * (SPIKE_TIPS_WARPS - 1)) *plan = one;
#endif
}

/* Few tiles on either side of the diagonal: in registers, in one pass over the rows that keeps none of them */
static bool SpikeTipsAreNarrow_Private(const SpikeTiles *t)
{
  return t->QL <= SPIKE_TIPS_NARROW && t->QU <= SPIKE_TIPS_NARROW;
}

bool SpikeTipsHold_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu)
{
  SpikeTipsPlan plan;

  if (SpikeTipsAreNarrow_Private(t)) return true;
  SpikeTipsPlan_CUDA(s, t, gpu, &plan);
  return plan.shared + SPIKE_TIPS_STATIC <= (size_t)gpu->shared;
}

/* Thread blocks that the device holds at once */
static PetscInt64 SpikeTipsTogether_Private(const SpikeTipsPlan *plan, const SpikeDevice *gpu)
{
  return gpu->multiprocessors * PetscMax(1, PetscMin(PetscMin(32, 2048 / plan->threads),
                                                     gpu->shared / ((PetscInt64)plan->shared + SPIKE_TIPS_STATIC)));
}

/* Of a first launch where corners are known: those that have room for left spikes, and how many have not */
static PetscInt64 SpikeTipsLeft_Private(const SpikeTiles *t, const SpikeTipsPlan *plan, const SpikeDevice *gpu,
                                        PetscInt64 *rest)
{
  const PetscInt64 half = (PetscInt64)(t->np + 1) * plan->blocks, together = SpikeTipsTogether_Private(plan, gpu),
                   left = PetscMin(half, together);

  *rest = PetscMin(half, together - left);
  return left;
}

/*
  Room for Y in as many blocks as run at once, or in an eighth of the band's memory or 24 MB; for the longest corner in
  one of them; and for the reduced systems. blocks: room for the rates of all who make spikes
*/
void SpikeTipsWork_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, PetscInt64 *elements,
                        size_t *scratch, int *blocks)
{
  const PetscInt64 band = t->groups() * (PetscInt64)t->tilerows * t->rowsize,
                   room = (PetscInt64)(band / 8 * SpikePrecisionBytes(s->precision) / sizeof(PetscReal));
  PetscInt64    together, row, rest;
  SpikeTipsPlan plan;

  *elements = 0;
  *scratch  = 0;
  *blocks   = 1;
  if (!s->coupled) return;
  if (SpikeBandExchanges(s)) SpikePivotedTipsWork_CUDA(s, t, gpu, elements, blocks);
  else if (!SpikeTipsAreNarrow_Private(t)) {
    SpikeTipsPlan_CUDA(s, t, gpu, &plan);
    *scratch = (2 * (size_t)plan.blocks + 1) * (size_t)(t->np + 1) * sizeof(int);
    *blocks  = plan.blocks;
    SpikeTipsPairs_Private(s, t, gpu, &plan);
    row = 32 * (PetscInt64)plan.tiles * 8;
    if (SpikeTipsKnown_Private(s, t)) {
      together  = SpikeTipsLeft_Private(t, &plan, gpu, &rest);
      *elements = (together * plan.rows + rest * (plan.slots + 2)) * row;
    } else {
      together  = PetscMin(2 * (t->np + 1) * (PetscInt64)plan.blocks, SpikeTipsTogether_Private(&plan, gpu));
      *elements = together * plan.rows * row;
    }
    *elements = PetscMin(*elements, PetscMax(room, 3145728));
    *elements = PetscMax(*elements, PetscMax(plan.most, plan.rows) * row);
  }
  *elements = PetscMax(*elements, SpikeReducedWork_CUDA(s, gpu, room));
  if (s->full && !SpikeBandExchanges(s)) *elements = PetscMax(*elements, SpikeSpikesWork_CUDA(s, t, gpu));
  *scratch = PetscMax(*scratch, ((size_t)t->np + 1) * sizeof(int)); /* of the reduced systems */
}

template <typename F, int N8, int Q>
static PetscErrorCode SpikeTipsNarrowLaunch_Private(const SpikeTipsArgs &a, cudaStream_t stream)
{
  const PetscInt interfaces = a.t.np + 1;
  const unsigned blocks     = (unsigned)(Q == 1 ? interfaces : interfaces + (interfaces + 1) / 2),
                 threads    = SpikeStripShape<N8, Q>::NTHREADS;

  PetscFunctionBegin;
  SpikeTipsNarrow_Kernel<F, N8, Q><<<blocks, threads, 0, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode SpikeTipsNarrow_Private(const SpikeTipsArgs &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.t.QL > 1 || a.t.QU > 1) {
    if (a.t.T <= 24) PetscCall((SpikeTipsNarrowLaunch_Private<F, 3, SPIKE_TIPS_NARROW>(a, stream)));
    else PetscCall((SpikeTipsNarrowLaunch_Private<F, 4, SPIKE_TIPS_NARROW>(a, stream)));
  } else if (a.t.T <= 8) PetscCall((SpikeTipsNarrowLaunch_Private<F, 1, 1>(a, stream)));
  else if (a.t.T <= 16) PetscCall((SpikeTipsNarrowLaunch_Private<F, 2, 1>(a, stream)));
  else if (a.t.T <= 24) PetscCall((SpikeTipsNarrowLaunch_Private<F, 3, 1>(a, stream)));
  else PetscCall((SpikeTipsNarrowLaunch_Private<F, 4, 1>(a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(PETSC_USE_COMPLEX)
/* The corners before the tips, or the reach of all spikes beside and after */
template <bool ATCORNER>
static PetscErrorCode SpikeReach_Private(const SpikeTipsArgs *a, cudaStream_t stream)
{
  const size_t   shared = SpikeReachShared(a->t.QL, a->t.kl);
  const unsigned blocks = (unsigned)((ATCORNER ? 1 : 2) * (a->t.np + 1));

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeReach_Kernel<SpikeDouble, ATCORNER>, 32 * SPIKE_REACH_WARPS, shared));
  if (ATCORNER) SpikeReach_Kernel<SpikeDouble, ATCORNER><<<blocks, 32 * SPIKE_REACH_WARPS, shared, stream>>>(*a);
  else
    PetscCallCUDA(SpikeLaunchEarly(SpikeReach_Kernel<SpikeDouble, ATCORNER>, dim3(blocks), dim3(32 * SPIKE_REACH_WARPS),
                                   shared, stream, *a));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode SpikeTipsKernel_Private(void (*kernel)(const SpikeTipsArgs), const SpikeTipsPlan *plan,
                                              const SpikeTipsArgs *a, unsigned blocks, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, plan->threads, plan->shared));
  kernel<<<blocks, plan->threads, plan->shared, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of Y for which blocks have room, and how many blocks: all that the plan asks for, or where corners are known less
  of it, rather than left spikes that wait for others
*/
static void SpikeTipsRoom_Private(const SpikeCUDA *h, const SpikeTipsPlan *plan, SpikeTipsArgs *a, unsigned *blocks)
{
  const PetscInt64 units = 2 * (PetscInt64)(a->t.np + 1) * a->blocks, row = 32 * (PetscInt64)a->tiles * 8,
                   room = h->spikesize / row; /* tile rows */
  PetscInt64 big, rest = 0;

  if (a->corner && !a->again) {
    big     = SpikeTipsLeft_Private(&a->t, plan, h->gpu, &rest);
    rest    = PetscMin(rest, room / 4 / (a->slots + 2));
    a->rows = (int)PetscMin(plan->rows, (room - rest * (a->slots + 2)) / big);
    a->rows = PetscMin(plan->rows, PetscMax(a->rows, PetscMax(SPIKE_TIPS_ROWS / 2 * a->slots, a->slots + 2)));
    if (room - rest * (a->slots + 2) < a->rows) rest = 0;
    big = PetscMax(1, PetscMin(big, (room - rest * (a->slots + 2)) / a->rows));
  } else {
    a->rows = a->again ? plan->most : plan->rows;
    big     = PetscMin(units, room / a->rows);
  }
  a->big  = (int)big;
  *blocks = (unsigned)(big + rest);
}

template <typename F>
static PetscErrorCode SpikeTipsLaunch_Private(const SpikeCUDA *h, const SpikeTipsPlan *plan, SpikeTipsArgs *a,
                                              cudaStream_t stream)
{
  void (*kernel)(const SpikeTipsArgs);
  unsigned blocks;

  PetscFunctionBegin;
#if !defined(PETSC_USE_COMPLEX)
  if (a->corner) PetscCall(SpikeReach_Private<true>(a, stream));
#endif
  for (a->again = 0; a->again < 2; a->again++) {
    SpikeTipsRoom_Private(h, plan, a, &blocks);
    kernel = SpikeTips_Kernel<F>;
#if !defined(PETSC_USE_COMPLEX)
    if (plan->pairs) kernel = SpikeTipsPairs_Kernel<SpikeDouble>;
#endif
    PetscCall(SpikeTipsKernel_Private(kernel, plan, a, blocks, stream));
#if !defined(PETSC_USE_COMPLEX)
    if (a->corner && !a->again) PetscCall(SpikeReach_Private<false>(a, stream));
#endif
    if (a->rows >= plan->most) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of factor(): both tips, from the factors */
PetscErrorCode SpikeTips_CUDA(SpikeBand *s, PetscReal falloff[])
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const SpikeTiles  *t      = &h->t;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt     np     = s->np;
  const int          Q      = PetscMax(t->QL, t->QU);
  const bool         narrow = SpikeTipsAreNarrow_Private(t);
  SpikeTipsPlan      plan;
  SpikeTipsArgs      a = {};

  PetscFunctionBegin;
  for (PetscInt q = 0; q < 2 * (np + 1); q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt p = 0; p < np; p++) s->wtop[p] = s->wbot[p] = 0;
  if (!s->coupled || !Q || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  h->falloff = falloff;
  if (h->tri) PetscCall(SpikeTriTipsSystems_CUDA(s));
  else if (h->pivoted) PetscCall(SpikePivotedTips_CUDA(s, PETSC_FALSE));
  if (h->tri || h->pivoted) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeTipsPairs_Private(s, t, h->gpu, &plan);
  a.t      = *t;
  a.band   = s->band;
  a.B      = s->dB;
  a.C      = s->dC;
  a.Vb     = s->dVb;
  a.Wt     = s->dWt;
  a.work   = h->spike;
  a.eps    = SpikePrecisionEpsilon(s->precision);
  a.tol    = PetscMax(s->window, a.eps / 4);
  a.blocks = plan.blocks;
  a.ncols  = plan.ncols;
  a.tiles  = plan.tiles;
  a.slots  = plan.slots;
  a.most   = plan.most;
  a.window = h->window;
  a.rate   = (PetscReal *)(h->report + 1);
  a.count  = &h->report->count;
  a.list   = (int *)h->scratch;
  a.ticket = h->report->ticket;
  a.rates  = h->blocks;
  a.corner = !SpikeTipsKnown_Private(s, t) ? NULL : narrow ? a.list : a.list + 2 * (np + 1) * plan.blocks;
  a.small  = (8 + (PetscReal)0.25 * PetscMax(t->kl, t->ku)) * a.eps;
  a.small  = a.corner ? PetscMax(a.small, s->corner) : narrow ? a.small : PetscMax(a.small, a.tol);
  if (narrow) {
    const PetscReal tol = a.tol;

    if (a.corner) a.tol = 1; /* the reach is found beside */
    SpikeDispatchPrecision(s->precision, PetscCall(SpikeTipsNarrow_Private<F>(a, stream)));
    a.tol = tol;
#if !defined(PETSC_USE_COMPLEX)
    if (a.corner) PetscCall(SpikeReach_Private<false>(&a, stream));
#endif
  } else {
    if (!a.corner) {
      PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)np * sizeof(int), stream));
      PetscCallCUDA(cudaMemsetAsync(a.count, 0, sizeof(int), stream));
    }
    SpikeDispatchPrecision(s->precision, PetscCall(SpikeTipsLaunch_Private<F>(h, &plan, &a, stream)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
