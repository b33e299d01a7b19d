/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tips_reach.cuh: how far the spikes reach, beside their tips; before those of a symmetric positive definite band the
  corner that is enough for a left tip too
*/
#pragma once

#include "tips.cuh"

/*
  One combination s of all columns of a spike, with random signs, is followed from its tip by a thread block:
    left     y = L^-1 [C s; 0] downward; W is taken to fall as y_i / U_ii does
    right    v = U^-1 L^-1 [0; B s] upward

  ATCORNER, before the tips of a symmetric positive definite band, as far as the corner of the left spikes. The left tip
  of the leading l rows is Wt = G C, where G is the leading part of the inverse of these rows of A. What all rows have
  more is the sum over the others of Y^T D^-1 Y, Y = L^-1 [I; 0], which the same part of y^T D^-1 y shows. All columns
  of Wt take the same l, so that G is symmetric and an application with it, whatever l is. The corner ends with the
  first of Q tile rows in turn that add little: each row of Y depends on the Q before it.

  Else down to the tolerance of the corrections, beside the kernel that makes the tips, where its thread blocks leave
  multiprocessors idle: SpikeLaunchEarly(). The results are written last, where the tips have none of their own.

  Tiles go by columns over the warps; a lane has one row. A warp keeps the last tile rows for itself, so that a row
  takes two barriers. Reads the tiles of one side once. Deterministic.
*/
#define SPIKE_REACH_WARPS 8
#define SPIKE_REACH_AHEAD 4 /* rows that are on their way to the cache */
#define SPIKE_REACH_SURE  8 /* one combination may show less of what comes after a corner than a column has */

/* slots: most tiles on a side; K: the wider half-bandwidth */
static inline size_t SpikeReachShared(int slots, int K)
{
  return (size_t)((2 * SPIKE_REACH_WARPS + SPIKE_REACH_WARPS * slots + slots + 2) * 32 + K) * sizeof(SpikeArith);
}

template <typename F>
struct SpikeReachColumn {
  const SpikeTiles &t;
  const F          *band; /* of the partition */
  SpikeArith       *part; /* [2][SPIKE_REACH_WARPS][32] */
  SpikeArith       *ring; /* [slots][32] of the warp */
  int               slots, warp, lane;

  __device__ SpikeArith *slot(int j) const { return ring + (j + slots) % slots * 32; }
  __device__ void        clear() const
  {
    for (int k = 0; k < slots; k++) ring[32 * k + lane] = 0.0;
    __syncwarp();
  }
  __device__ const F   *tiles(bool back, int j) const { return band + j * t.rowsize + t.tile(back ? t.QL : 0); }
  __device__ SpikeArith diagonal(int j) const
  {
    return lane < t.T ? SpikeArith(band[j * t.rowsize + t.tile(t.QL + t.QU) + lane]) : SpikeArith(0.0);
  }
  /* Row j into the cache */
  __device__ void prefetch(bool back, int j) const
  {
    const int lines = (int)((back ? t.QU : t.QL) * t.T * t.T * sizeof(F) / 128);

    if (j < 0 || j >= t.tilerows) return;
    for (int k = threadIdx.x; k < lines; k += 32 * SPIKE_REACH_WARPS)
      SpikePrefetch((const char *)tiles(back, j) + 128 * k);
  }
  /* The warp's columns of tile q of row j: warp, warp + 8, ... */
  __device__ void load(bool back, int j, int q, SpikeArith (&v)[4]) const
  {
    const F *tile = tiles(back, j) + (PetscInt64)(q - 1) * t.T * t.T;

    SpikeUnroll(i, 4) {
      const int c = warp + SPIKE_REACH_WARPS * i;

      v[i] = c < t.T && lane < t.T ? SpikeArith(tile[c * t.T + lane]) : SpikeArith(0.0);
    }
  }
  /* What the warps have of each row, added */
  __device__ SpikeArith sum(int which, SpikeArith mine) const
  {
    SpikeArith *p = part + which * 32 * SPIKE_REACH_WARPS, s = 0.0;

    p[32 * warp + lane] = mine;
    __syncthreads();
    SpikeUnroll(w, SPIKE_REACH_WARPS) s = s + p[32 * w + lane];
    return s;
  }
  /* Row j of L^-1 b, or of U^-1 b, given those before it (back: after it); the same in all warps */
  template <bool FROMEND>
  __device__ SpikeArith step(int j, SpikeArith b) const
  {
    const int  Q = FROMEND ? t.QU : t.QL;
    SpikeArith corner[4], v[4], acc = 0.0, s = b;

    if (Q) {
      load(FROMEND, j, Q, corner);
#pragma unroll 3
      for (int q = 1; q < Q; q++) {
        const SpikeArith *x = slot(FROMEND ? j + q : j - q + slots);

        load(FROMEND, j, q, v);
        SpikeUnroll(i, 4) acc = acc + v[i] * x[(warp + SPIKE_REACH_WARPS * i) & 31];
      }
      {
        const SpikeArith *x = slot(FROMEND ? j + Q : j - Q + slots);

        SpikeUnroll(i, 4) {
          const int c = warp + SPIKE_REACH_WARPS * i;

          if (FROMEND ? c <= lane : c >= lane) acc = acc + corner[i] * x[c & 31];
        }
      }
      s = b - sum(0, acc);
    }
    acc = FROMEND ? s * diagonal(j) : s;
    if (Q) {
      SpikeArith half = 0.0;

      SpikeUnroll(i, 4) {
        const int        c = warp + SPIKE_REACH_WARPS * i;
        const SpikeArith x = SpikeShuffle(s, c & 31);

        if (FROMEND ? c > lane : c < lane) half = half + corner[i] * x;
      }
      acc = acc + sum(1, half);
    }
    slot(j)[lane] = acc;
    __syncwarp();
    return acc;
  }
};

__device__ static inline double SpikeReachMax(SpikeArith v)
{
  return SpikeMagnitudeValue(SpikeWarpMaxUnsigned(SpikeMagnitude(v)));
}

/* rhs <- the combination of the columns of A; between barriers */
__device__ static inline void SpikeReachCombine(const PetscScalar *A, int K, SpikeArith *rhs)
{
  for (int k = threadIdx.x; k < K; k += 32 * SPIKE_REACH_WARPS) {
    SpikeArith v = 0.0;

#pragma unroll 16
    for (int c = 0; c < K; c++) v = v + SpikeSign(c) * SpikeArith(A[(PetscInt64)c * K + k]);
    rhs[k] = v;
  }
}

/*
  Follows one of the two spikes at an interface, the left one for the corner; returns the corner, or 0.
  column: SpikeReachShared(). The same in all threads, but for fall.
*/
template <typename F, bool ATCORNER>
__device__ static inline int SpikeReachFollow(const SpikeTipsArgs &a, PetscInt q, bool right, SpikeArith *column,
                                              SpikeFall &fall)
{
  const SpikeTiles &t = a.t;
  const int         T = t.T, Q = PetscMax(PetscMax(t.QL, t.QU), 1), K = right ? t.ku : t.kl, tid = threadIdx.x;
  const PetscInt    p = right ? q - 1 : q;
  const int         n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most);
  SpikeArith       *rows = column + 2 * 32 * SPIKE_REACH_WARPS + SPIKE_REACH_WARPS * Q * 32, *rhs = rows + (Q + 2) * 32;
  const int         first     = right ? n - K : 0; /* row of the partition in which the right-hand side begins */
  const SpikeReachColumn<F> x = {t,       (const F *)a.band + t.group(p),
                                 column,  column + (2 * SPIKE_REACH_WARPS + Q * (tid / 32)) * 32,
                                 Q,       tid / 32,
                                 tid % 32};

  auto b = [&](int j) {
    const int k = j * T + x.lane - first;

    return x.lane < T && k >= 0 && k < K ? rhs[k] : SpikeArith(0.0);
  };

  SpikeReachCombine((right ? a.B : a.C) + q * (PetscCount)K * K, K, rhs);
  x.clear();
  __syncthreads();
  if (!right) {
    double head  = 0.0;
    int    below = 0;

    for (int j = 0; j < most && !fall.fallen; j++) {
      const SpikeArith d = x.diagonal(j);
      SpikeArith       y;

      x.prefetch(false, j + SPIKE_REACH_AHEAD);
      y = x.template step<false>(j, b(j));
      fall.add(SpikeReachMax(y * d));
      if constexpr (ATCORNER) {
        const double energy = SpikeReachMax(y * d * y);

        if (fall.seen <= fall.tip) head = PetscMax(head, energy);
        below = fall.seen > fall.tip && SPIKE_REACH_SURE * energy <= (double)a.small * head ? below + 1 : 0;
        if (below >= Q) return j + 2 - Q;
      }
    }
    if (ATCORNER) return most;
  } else {
    const int f0 = (n > K ? n - K : 0) / T;

    for (int j = f0; j < J; j++) {
      const SpikeArith y = x.template step<false>(j, b(j));

      if (tid < 32) rows[(j - f0) * 32 + tid] = y;
    }
    x.clear();
    __syncthreads();
    for (int j = J - 1; j >= J - most && !fall.fallen; j--) {
      x.prefetch(true, j - SPIKE_REACH_AHEAD);
      fall.add(SpikeReachMax(x.template step<true>(j, j >= f0 ? rows[(j - f0) * 32 + x.lane] : SpikeArith(0.0))));
    }
  }
  return 0;
}

/*
  ATCORNER: a block an interface, which gives all values of both spikes a beginning too: no rate, no window, and the
  counters of the kernel that makes the tips. Else the right spikes after the left ones.
*/
template <typename F, bool ATCORNER>
__global__ void __launch_bounds__(32 * SPIKE_REACH_WARPS, ATCORNER ? 2 : 4)
  SpikeReach_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ double                             history[32];
  const SpikeTiles                             &t = a.t;
  const int                                     T = t.T, Q = PetscMax(PetscMax(t.QL, t.QU), 1), half = (int)t.np + 1;
  const bool                                    right = !ATCORNER && (int)blockIdx.x >= half, keeper = threadIdx.x == 0;
  const PetscInt                                q = (PetscInt)blockIdx.x - (right ? half : 0), p = right ? q - 1 : q;
  const bool                                    some = t.active[q] && p >= 0 && p < t.np && (right ? t.ku : t.kl);
  const int                                     n = some ? (int)(t.start[p + 1] - t.start[p]) : 0, J = (n + T - 1) / T;
  SpikeFall fall(history, keeper, PetscMin(right && n % T ? Q + 1 : Q, J), ATCORNER ? 0.0 : (double)a.tol);
  int       corner = 0;

  if (J) corner = SpikeReachFollow<F, ATCORNER>(a, q, right, (SpikeArith *)shared, fall);
  if constexpr (ATCORNER) {
    if (!keeper) return;
    for (int b = 0; b < a.rates; b++)
      a.rate[q * (PetscInt64)a.rates + b] = a.rate[(half + q) * (PetscInt64)a.rates + b] = PETSC_MIN_REAL;
    a.corner[q] = corner;
    if (q < t.np) a.window[2 * q] = a.window[2 * q + 1] = 0;
    if (q == 0) *a.count = a.ticket[0] = a.ticket[1] = 0;
  } else {
    SpikeAwait();
    if (!keeper || !J) return;
    PetscReal &rate = a.rate[((right ? half : 0) + q) * (PetscInt64)a.rates];

    /* where the first launch knows all of W, the tips have shown how far it falls */
    if (right || (a.known && a.corner[q] < J)) rate = (PetscReal)fall.rate(T);
    else if (!a.known && a.corner[q]) rate = PetscMax(rate, (PetscReal)fall.rate(T));
    a.window[2 * p + right] = fall.fallen ? PetscMin(fall.last, J) : J;
  }
}
