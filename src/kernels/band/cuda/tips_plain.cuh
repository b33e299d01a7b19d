/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tips_plain.cuh: the kernels of tips, for one precision of the factors; tips_double.cu and so on have one each. A
  process loads the code of a file with its first kernel: so it is that of one precision
*/
#pragma once

#include "band.cuh"
#include "tips_narrow.cuh"
#include <type_traits>

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

template <typename F>
PetscErrorCode SpikeTipsNarrow(const SpikeTipsArgs &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.t.QL > 1 || a.t.QU > 1) {
    if (a.t.T <= 24) PetscCall((SpikeTipsNarrowLaunch_Private<F, 3, SPIKE_TIPS_NARROW>(a, stream)));
    else PetscCall((SpikeTipsNarrowLaunch_Private<F, 4, SPIKE_TIPS_NARROW>(a, stream)));
  } else if (a.t.T <= 24) PetscCall((SpikeTipsNarrowLaunch_Private<F, 3, 1>(a, stream)));
  else PetscCall((SpikeTipsNarrowLaunch_Private<F, 4, 1>(a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
SpikeTipsKernel SpikeTipsKernelOf(bool pairs)
{
#if !defined(PETSC_USE_COMPLEX)
  if constexpr (std::is_same<F, SpikeDouble>::value) {
    if (pairs) return SpikeTipsPairs_Kernel<F>;
  }
#endif
  return SpikeTips_Kernel<F>;
}
