/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tips_plain.cuh: the kernels of tips, for one precision of the factors; tips_double.cu and so on have one each. A
  process loads the code of a file with its first kernel: so it is that of one precision
*/
#pragma once

#include "band.cuh"
#include "tips_columns.cuh"
#include "tips_narrow.cuh"
#include "tips_reach.cuh"

/* The next unit of a thread block, the first one for i < 0; all of its threads call */
__device__ static __forceinline__ int SpikeTipsNext(const SpikeTipsArgs &a, int i, int half)
{
  __shared__ int unit;

  if (a.again) return i < 0 ? (int)blockIdx.x : i + (int)gridDim.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    unit = (int)blockIdx.x < a.big ? atomicAdd(a.ticket, 1) : half;
    if (unit >= half) unit = half + atomicAdd(a.ticket + 1, 1);
  }
  __syncthreads();
  return unit;
}

/* Columns of a spike at work, the same in all threads of the thread block but for `mine` */
struct SpikeTipsUnit {
  bool               right;
  int                n, J, tip; /* rows; tile rows, and those of a tip */
  int                f0, f1;    /* rows f0 <= j < f1 of Y are known */
  int                nc, h;     /* columns, of h of the spike */
  const PetscScalar *A;         /* C or B of these columns */
  PetscScalar       *to, *Y;    /* the tip; room for Y, `size` numbers a tile row */
  int                size;
  bool               mine; /* the warp has columns */
};

/*
  The rate of all rows of W in a left unit's columns. In the second launch there may be that of SpikeReach_Kernel() for
  all columns of the spike, which is wanted no more if this unit has all of them
*/
__device__ static inline void SpikeTipsFell(const SpikeTipsArgs &a, int unit, double rate)
{
  PetscReal &to = a.rate[unit / a.blocks * (PetscInt64)a.rates + unit % a.blocks];

  to = a.blocks == 1 ? (PetscReal)rate : PetscMax(to, (PetscReal)rate);
}

/* The following are out of line, so that registers are left to the steps */

/* The lane's largest magnitude in a strip of Y, on the scale of W */
template <typename F, int N8>
__device__ static __noinline__ unsigned SpikeTipsMeasure(const SpikeArith *strip, const F *diagonal, int T)
{
  const int      q = threadIdx.x & 3;
  SpikeStrip<N8> x;
  unsigned       m = 0;

  SpikeStripGet(strip, x);
  SpikeStripEach<N8>(x, [&](SpikeArith &v, int, int n, int e) {
    m = PetscMax(m, SpikeMagnitude(v * SpikeArith(diagonal[PetscMin(8 * n + 2 * q + e, T - 1)])));
  });
  return m;
}

/* The same in a strip of X, whose rows i with 0 <= k0 + i < rows go to the tip, `nc` columns of `rows` numbers */
template <int N8>
__device__ static __noinline__ unsigned SpikeTipsKeep(const SpikeArith *strip, PetscScalar *to, int k0, int rows,
                                                      int nc, int T)
{
  const int      g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
  SpikeStrip<N8> x;
  unsigned       m = 0;

  SpikeStripGet(strip, x);
  SpikeStripEach<N8>(x, [&](SpikeArith &v, int h, int n, int e) {
    const int c = threadIdx.x / 32 * 16 + 8 * h + g, i = 8 * n + 2 * q + e, k = k0 + i;

    m = PetscMax(m, SpikeMagnitude(v));
    if (c < nc && i < T && k >= 0 && k < rows) to[(PetscCount)c * rows + k] = (PetscScalar)v;
  });
  return m;
}

/*
  Y forward from row f1 on, as far as `stop`. measure: a left spike, until it has been below the target in as many rows
  as one of Y depends on; a negative one is the root of the tolerance
*/
template <typename C>
__device__ static __forceinline__ void SpikeTipsForward(C &s, SpikeTipsUnit &u, int stop, int most, bool measure,
                                                        double target, double root, SpikeFall &fall)
{
  const SpikeTiles   &t     = s.t;
  const SpikeWarpRole role  = u.mine ? SPIKE_WARP_STRIP : SPIKE_WARP_HELPS;
  const int           rows  = u.right ? u.J - u.f0 : PetscMin(t.QL, stop); /* with a right-hand side */
  int                 below = 0, j = u.f1;

  s.clear(role);
  if (u.mine && j == u.f0) {
    SpikeColumnsBegin<typename C::Factor, C::BLOCKS>(u.A, u.Y + s.warp * C::STRIP, u.size, u.h, u.nc,
                                                     u.right ? u.n - u.h - j * t.T : 0, t.T, rows);
    __syncwarp();
  }
  if (u.mine) {
    for (int k = 1; k <= PetscMin(t.QL, j - u.f0); k++) { /* the rows before it, into their slots */
      typename C::Strip x;

      SpikeStripGet(u.Y + (PetscInt64)(j - u.f0 - k) * u.size + s.warp * C::STRIP, x);
      SpikeStripPut(s.strip + s.slot(j - k) * C::STRIP, x);
    }
    __syncwarp();
  }
  for (s.begin(false, j); j < stop;) {
    PetscScalar *y = u.Y + (PetscInt64)(j - u.f0) * u.size;

    (void)s.template step<false>(j, u.f0, role, j - u.f0 < rows ? y : NULL, y);
    if (measure) {
      const double norm = s.reduce(
        u.mine
          ? SpikeTipsMeasure<typename C::Factor, C::BLOCKS>(s.strip + s.slot(j) * C::STRIP, s.diag + j * t.rowsize, t.T)
          : 0);

      fall.add(norm);
      below = fall.seen > fall.tip && norm <= (target < 0.0 ? root * fall.head : target) ? below + 1 : 0;
    }
    j++;
    if (measure && j >= PetscMin(2 * fall.tip, most) && below >= PetscMax(t.QL, 1)) break;
  }
  u.f1 = j;
}

/* Largest magnitudes of a lane on the way back of a left spike: in the tip, of W at both ends, of what signs return */
struct SpikeTipsSeen {
  unsigned top, start, end, returns;
};

/*
  X back, from row f1 - 1 up to the first row of a left spike or of the tip of a right one. signs: the column has some
  after row f1 - 1
*/
template <typename C>
__device__ static __forceinline__ SpikeTipsSeen SpikeTipsBack(C &s, const SpikeTipsUnit &u, bool signs)
{
  const SpikeTiles   &t    = s.t;
  const int           last = u.right ? u.J - u.tip : 0;
  const SpikeWarpRole role = u.mine                                      ? SPIKE_WARP_STRIP
                           : signs && s.warp == (int)blockDim.x / 32 - 1 ? SPIKE_WARP_COLUMN
                                                                         : SPIKE_WARP_HELPS;
  SpikeTipsSeen       seen = {0, 0, 0, 0};

  s.clear(role);
  s.begin(true, u.f1 - 1);
  for (int j = u.f1 - 1; j >= last; j--) {
    const unsigned one = s.template step<true>(j, 0, role, j >= u.f0 ? u.Y + (PetscInt64)(j - u.f0) * u.size : NULL,
                                               NULL);

    if (u.mine && (u.right || j < u.tip || j >= u.J - u.tip)) {
      const unsigned m = SpikeTipsKeep<C::BLOCKS>(s.strip + s.slot(j) * C::STRIP, u.to,
                                                  u.right ? j * t.T - (u.n - t.kl) : j * t.T,
                                                  !t.kl || !t.ku ? 0
                                                  : u.right      ? t.kl
                                                                 : t.ku,
                                                  u.nc, t.T);

      if (j < t.QU) seen.top = PetscMax(seen.top, m);
      if (j < u.tip) seen.start = PetscMax(seen.start, m);
      if (j >= u.J - u.tip) seen.end = PetscMax(seen.end, m);
    }
    if (j < PetscMax(t.QU, 1)) seen.returns = PetscMax(seen.returns, one);
  }
  return seen;
}

template <typename F, int N8>
__global__ void __launch_bounds__(32 * SPIKE_TIPS_WARPS, 1) SpikeTips_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  typedef SpikeColumns<F, N8> Columns;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           norms[2 * SPIKE_TIPS_WARPS];
  __shared__ double                             history[32];
  const SpikeTiles                             &t = a.t;
  const int T = t.T, kl = t.kl, ku = t.ku, Q = PetscMax(t.QL, t.QU), half = (int)(t.np + 1) * a.blocks,
            units = a.again ? *a.count : 2 * half;
  Columns      s(a, shared, norms);
  const double small = (double)a.small, root = sqrt(PetscMax((double)a.eps, (double)a.tol));
  /* room for Y: `rows` tile rows in the first `big` thread blocks, Q + 2 in the others */
  const int big = (int)blockIdx.x < a.big ? (int)blockIdx.x : a.big;

  if (!a.again) SpikeRelease(); /* SpikeReach_Kernel() */
  for (int i = SpikeTipsNext(a, -1, half); i < units; i = SpikeTipsNext(a, i, half)) {
    const int      unit  = a.again ? a.list[i] : i;
    const bool     right = unit >= half, measure = !right && !a.known;
    const PetscInt q = (unit - (right ? half : 0)) / a.blocks, p = right ? q - 1 : q;
    const int block = unit % a.blocks, h = right ? ku : kl, col0 = block * a.ncols, nc = PetscMin(a.ncols, h - col0);
    SpikeTipsUnit u;
    SpikeTipsSeen seen;
    double        target = -1.0;
    int           most, stop;
    bool          later = false;

    if (!threadIdx.x && !a.again && !a.known)
      a.rate[((right ? t.np + 1 : 0) + q) * (PetscInt64)a.rates + block] = PETSC_MIN_REAL;
    if (!t.active[q] || p < 0 || p >= t.np || nc <= 0) continue;
    if (a.known && !right && a.corner[q] > a.rows) { /* the other launch has more room */
      if (!threadIdx.x) a.list[atomicAdd(a.count, 1)] = unit;
      continue;
    }
    u.right = right;
    u.n     = (int)(t.start[p + 1] - t.start[p]);
    u.J     = (u.n + T - 1) / T;
    u.tip   = PetscMin(right && u.n % T ? Q + 1 : Q, u.J);
    u.f0    = right ? (u.n - ku) / T : 0;
    u.f1    = u.f0;
    u.nc    = nc;
    u.h     = h;
    u.A     = (right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)col0 * h;
    u.to    = (right ? a.Vb : a.Wt) + q * (PetscCount)kl * ku + (PetscCount)col0 * (right ? kl : ku);
    u.size  = a.strips * Columns::STRIP;
    u.Y     = a.work + ((PetscInt64)big * a.rows + ((PetscInt64)blockIdx.x - big) * (Q + 2)) * u.size;
    u.mine  = s.warp < a.strips && 16 * s.warp < nc;
    most    = PetscMin(u.J, a.most);
    stop    = right ? u.J : a.known ? a.corner[q] : PetscMin(a.rows, most);
    SpikeFall fall(history, !threadIdx.x, u.tip, (double)a.tol);

    s.partition(a.band, p);
    for (bool more = true; more;) {
      SpikeTipsForward(s, u, stop, most, measure, target, root, fall);
      seen = SpikeTipsBack(s, u, measure);
      more = false;
      if (measure) {
        const double top = s.reduce(seen.top), returns = s.reduce(seen.returns), far = fall.recent(PetscMax(t.QL, 1));

        more   = u.f1 < most && returns * far > small * top;
        later  = more && u.f1 >= a.rows; /* the other launch has more room */
        more   = more && !later;
        target = 0.5 * small * top / returns;
        stop   = PetscMin(PetscMin(2 * u.f1, a.rows), most);
      }
    }
    if (right) continue;
    if (!later && u.f1 == u.J) { /* all of W is known, of these columns */
      const double start = s.reduce(seen.start), end = s.reduce(seen.end);

      if (!threadIdx.x) SpikeTipsFell(a, unit, SpikeRate(start, end, PetscMax(u.J - u.tip, 1) * (double)T));
    } else if (!threadIdx.x && measure && !a.again) {
      atomicAdd(&a.corner[q], 1);
      if (later) a.list[atomicAdd(a.count, 1)] = unit;
    }
  }
  SpikeCopyWait();
}

template <typename F>
PetscErrorCode SpikeReach(const SpikeTipsArgs &a, cudaStream_t stream)
{
  const size_t shared = SpikeReachShared(PetscMax(PetscMax(a.t.QL, a.t.QU), 1), PetscMax(a.t.kl, a.t.ku));
  const auto   kernel = SpikeReach_Kernel<F, false>;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, 32 * SPIKE_REACH_WARPS, shared));
  PetscCallCUDA(
    SpikeLaunchEarly(kernel, dim3((unsigned)(2 * (a.t.np + 1))), dim3(32 * SPIKE_REACH_WARPS), shared, stream, a));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
PetscErrorCode SpikeTipsNarrow(const SpikeTipsArgs &a, const SpikeDevice *gpu, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((SpikeTipsNarrowLaunch_Private<F, false>(a, gpu, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
SpikeTipsKernel SpikeTipsKernelOf(int T)
{
  return T <= 24 ? SpikeTips_Kernel<F, 3> : SpikeTips_Kernel<F, 4>;
}
