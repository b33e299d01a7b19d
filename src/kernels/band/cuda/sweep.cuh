/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.cuh: the arguments of a sweep, which a correction is too, and the rows that it goes over */
#pragma once

#include "band.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

/*
  A sweep over a partition goes forward over the tile rows f0 <= j < f1, then backward over f1 > j >= b0, b0 <= f0:

      y_j = L_jj^-1 (r_j - sum_q L_{j,j-q} y_{j-q}),      x_j = U_jj^-1 (y_j - sum_q U_{j,j+q} x_{j+q})

  with y = 0 above f0 and x = 0 from f1 on; transposed the same with U^T before L^T. The sweep proper has f0 = b0 = 0,
  f1 at the end, r = b and leaves x. A correction has r = 0 but for the first ht and the last hb rows, is made in the
  windows at the two ends, and is subtracted from x.
*/
typedef struct {
  SpikeTiles         t;
  const void        *band;
  PetscInt           p0, p1;
  const PetscScalar *b;     /* of a sweep: right-hand side              */
  PetscScalar       *y, *x; /* y may be b, x may be y                   */
  PetscCount         ldb, ldy, ldx;
  PetscScalar       *tips; /* of a sweep: left there, NULL: not wanted; of a correction: read */
  PetscCount         ldt;
  const PetscScalar *B, *C;  /* of a plain correction                    */
  const int         *window; /* of a correction: [2 np] tile rows; NULL: all of them */
  int                ht, hb; /* of a correction: rows of r at the two ends, 0 in a sweep */
  int                correct;
  int                rows;        /* tile rows that shared memory has places for */
  int                depth;       /* tiles of a warp that are on their way or in use */
  const PetscScalar *Vb, *Wt, *R; /* of a sweep: to be asked for before its end, or NULL */
} SpikeSweepArgs;

/* Tile rows of a vector that are kept in shared memory: K <= 32 of them */
#define SPIKE_MAXTILES 16

#define SPIKE_SWEEP_LAST 8 /* steps before the end of a sweep at which the reduced systems are asked for */

PETSC_INTERN PetscErrorCode SpikeSweepLaunch_CUDA(SpikeBand *, PetscBool trans, PetscInt nrhs, SpikeSweepArgs *);

/* sweep_rhs.cu */
PETSC_INTERN PetscErrorCode SpikeSweepColumns_CUDA(PetscSpikePrecision, const SpikeSweepArgs *, PetscInt nrhs,
                                                   cudaStream_t, bool *done);
/* sweep_rhs_transpose.cu */
PETSC_INTERN PetscErrorCode SpikeSweepColumnsTranspose_CUDA(PetscSpikePrecision, const SpikeSweepArgs *, PetscInt nrhs,
                                                            cudaStream_t, bool *done);
/* sweep_transpose.cu: with the tips of the partitions, where there are some */
PETSC_INTERN PetscErrorCode SpikeSweepTranspose_CUDA(PetscSpikePrecision, const SpikeSweepArgs *, PetscInt nrhs,
                                                     cudaStream_t);

/*
  sweep_small_double.cu and so on with T <= 16, sweep_double.cu and so on: a kernel of plain sweeps with tiles t, of
  vectors in shared memory or not, and bytes of the rings of a block with so many slots
*/
template <typename F>
void *SpikeSweepSmallKernel(const SpikeTiles *t, bool resident, int depth, size_t *shared);
template <typename F>
void *SpikeSweepLargeKernel(const SpikeTiles *t, bool resident, int depth, size_t *shared);

/*
  The lines of the matrices of the reduced systems above partitions p <= . < p1 on their way to the L2 cache,
  by all threads of a block
*/
__device__ static inline void SpikePrefetchReduced(const SpikeTiles &t, const PetscScalar *Vb, const PetscScalar *Wt,
                                                   const PetscScalar *R, PetscInt p, PetscInt p1)
{
  const int line = 128 / (int)sizeof(PetscScalar);

  for (int k = 0; k < 3; k++) {
    const PetscScalar *A = k == 0 ? Wt : k == 1 ? R : Vb;
    const PetscCount   n = k == 1 ? (PetscCount)t.ku * t.ku : (PetscCount)t.kl * t.ku;

    for (PetscCount i = p * n + (PetscCount)threadIdx.x * line; i < p1 * n; i += blockDim.x * line)
      SpikePrefetch(A + i);
  }
}

/*
  Some steps before the end of a sweep over partitions p <= . < p1: what the reduced solve needs, and its blocks, may
  come
*/
__device__ static inline void SpikeSweepEnds(const SpikeSweepArgs &a, PetscInt p, PetscInt p1)
{
  if (a.R) SpikePrefetchReduced(a.t, a.Vb, a.Wt, a.R, p, p1);
  if (a.tips && !a.correct) SpikeRelease();
}

typedef struct {
  int f0, f1, b0;
  int top, bottom; /* which ends of r are there */
  int whole;
} SpikeRange;

/*
  The rows that a group of partitions goes over for the window at one end (0 top, 1 bottom). Where the windows meet, the
  top goes over both and nothing is left to the bottom. Called by whole warps: lane m looks at member m.
*/
__device__ static inline SpikeRange SpikeGetRange(const SpikeSweepArgs &a, bool correct, PetscInt p, int end)
{
  const SpikeTiles &t    = a.t;
  const int         m    = threadIdx.x & 31;
  const bool        here = m < t.G && p + m >= a.p0 && p + m < a.p1;
  const PetscInt    n    = here ? t.start[p + m + 1] - t.start[p + m] : 0;
  const int         J    = (int)((n + t.T - 1) / t.T);
  SpikeRange        r;

  r.f0 = r.b0 = r.top = r.bottom = r.whole = 0;
  r.f1                                     = SpikeWarpMax(J);
  if (correct) {
    int wt = here && a.ht && t.active[p + m] ? J : 0, wb = here && a.hb && t.active[p + m + 1] ? J : 0;

    if (a.window) {
      if (wt) wt = a.window[2 * (p + m)];
      if (wb) wb = a.window[2 * (p + m) + 1];
    }
    const int first = (int)((n - a.hb) / t.T); /* tile row of the first nonzero at the bottom */
    const int rows = SpikeWarpMax(wt), above = -SpikeWarpMax(wb ? wb - J : -r.f1),
              f0 = -SpikeWarpMax(wb ? -first : -r.f1);

    r.top    = rows > 0;
    r.bottom = above < r.f1;
    r.whole  = a.window ? rows > above : r.top || r.bottom;
    if (r.whole) r.f0 = r.top ? 0 : f0;
    else if (end) {
      r.top = 0;
      r.f0  = f0;
      r.b0  = above < f0 ? above : f0;
    } else {
      r.bottom = 0;
      r.f1     = rows;
    }
    if (end ? r.whole || !r.bottom : !r.top && !r.whole) r.f0 = r.f1 = r.b0 = 0; /* nothing here */
  }
  return r;
}
