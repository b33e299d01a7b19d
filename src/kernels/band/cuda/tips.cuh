/* SPDX-License-Identifier: BSD-2-Clause */
/* tips.cuh: what the kernels of tips share: arguments, magnitudes, how a spike falls */
#pragma once

#include "factor.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

#define SPIKE_TIPS_WARPS    9  /* of a thread block, at most: registers of a quarter of a multiprocessor for 3 */
#define SPIKE_TIPS_RESIDENT 12 /* of a multiprocessor, then */

typedef struct {
  SpikeTiles         t;
  const void        *band;
  const PetscScalar *B, *C;
  PetscScalar       *Vb, *Wt, *work;
  PetscReal          eps, tol;
  int                blocks, ncols; /* blocks of columns of a spike, and columns of a block                          */
  int                strips;        /* of 16 columns                                                                 */
  int                slots;         /* tile rows of X in shared memory                                               */
  int                chunk;         /* tiles that come there together                                                */
  int                stages;        /* of tips_ring.cuh                                                              */
  int                rows;          /* tile rows of Y that a block has room for, one of the first `big`              */
  int                big;           /* thread blocks; those after have room for right spikes only                   */
  int                most;          /* tile rows that a spike is followed over                                       */
  int                again;         /* the second launch                                                             */
  int               *window;        /* [2 np]                                                                        */
  int               *count, *list;  /* of the spikes for the second launch                                           */
  int               *ticket;        /* [2] the next left and right unit of the first launch                          */
  PetscReal          small;         /* what rows after a corner may add to a left tip                                */
  int                known;         /* the corners are known, by SpikeCorner_CUDA()                                  */
  int               *corner;        /* [np + 1] tile rows of the corners; with wide bands, where they are not known, */
                                    /* blocks of columns of which the first launch does not know all of W            */
  PetscReal *rate;                  /* [2 (np + 1) rates] of W, then of V                                            */
  int        rates;                 /* of a spike, one for each block of columns                                     */
} SpikeTipsArgs;

/* Columns of a thread block and what goes with them */
struct SpikeTipsPlan {
  int    blocks, ncols, strips, slots, chunk, threads, rows, most;
  size_t shared;
};

/*
  tips.cu: as few blocks of columns as fit; false: none does, the last that was tried, which narrow bands do not need
*/
PETSC_INTERN bool SpikeTipsPlan_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *, SpikeTipsPlan *);

typedef void (*SpikeTipsKernel)(const SpikeTipsArgs);

/* tips_small.cu: both tips of bands of one tile on a side, T <= 16 */
PETSC_INTERN PetscErrorCode SpikeTipsSmall_CUDA(PetscSpikePrecision, const SpikeTipsArgs *, const SpikeDevice *,
                                                cudaStream_t);

/*
  tips_double.cu, tips_single.cu, tips_half.cu, T > 16: of bands of few tiles on a side both tips, of others the kernel
*/
template <typename F>
PetscErrorCode SpikeTipsNarrow(const SpikeTipsArgs &, const SpikeDevice *, cudaStream_t);
template <typename F>
SpikeTipsKernel SpikeTipsKernelOf(int T);
/* The reach of all spikes, beside their tips */
template <typename F>
PetscErrorCode SpikeReach(const SpikeTipsArgs &, cudaStream_t);

/* tips_reach.cu: the corners before the tips */
PETSC_INTERN PetscErrorCode SpikeCorner_CUDA(const SpikeTipsArgs *, cudaStream_t);

/* Random signs against an alternating or a constant vector, which a spike may have as its null vector */
__device__ static inline SpikeArith SpikeSign(unsigned long long i)
{
  i = (i + 1) * 0x9E3779B97F4A7C15ULL;
  i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9ULL;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EBULL;
  return i >> 63 ? 1.0 : -1.0;
}

/* Magnitudes for decisions: the upper half of |v|, in the order of unsigned numbers; NaN is largest */
__device__ static inline unsigned SpikeMagnitude(double v)
{
  unsigned long long bits;

  v = fabs(v);
  memcpy(&bits, &v, 8);
  return (unsigned)(bits >> 32);
}

#if defined(PETSC_USE_COMPLEX)
__device__ static inline unsigned SpikeMagnitude(SpikeArith v)
{
  return SpikeMagnitude(fabs(v.real()) + fabs(v.imag()));
}
#endif

__device__ static inline double SpikeMagnitudeValue(unsigned m)
{
  const unsigned long long bits = (unsigned long long)m << 32;
  double                   v;

  memcpy(&v, &bits, 8);
  return v;
}

__device__ static inline unsigned SpikeWarpMaxUnsigned(unsigned v)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(SPIKE_WARP, v);
#else
  return SpikeWarpMax(v);
#endif
}

template <typename S>
__device__ static inline void SpikePairPut(S *p, SpikeArith a, SpikeArith b)
{
#if !defined(PETSC_USE_COMPLEX)
  if constexpr (sizeof(S) == sizeof(double)) *(double2 *)p = make_double2(a, b);
  else *(float2 *)p = make_float2((float)a, (float)b);
#else
  p[0] = S(a);
  p[1] = S(b);
#endif
}

/* Logarithm of the factor by which a spike falls a row, from its largest at both ends of a distance */
__device__ static inline double SpikeRate(double near, double far, double rows)
{
  return near == 0.0 || far == 0.0 ? (double)PETSC_MIN_REAL : PetscMin(log(far / near) / rows, 0.0);
}

/*
  How far a spike has fallen, row after row from its end; the same in all threads but for the history, which one of them
  keeps
*/
struct SpikeFall {
  double  head, tol;
  double *history; /* [32] */
  bool    keeper;
  int     tip, last, seen, fallen;

  __device__ SpikeFall(double *h, bool keeper_, int tip_, double tol_) :
    head(0.0), tol(tol_), history(h), keeper(keeper_), tip(tip_), last(0), seen(0), fallen(0)
  {
  }
  __device__ void add(double m)
  {
    if (keeper) history[seen & 31] = m;
    if (seen < tip) head = PetscMax(head, m);
    seen++;
    if (seen <= tip || !(m <= tol * head)) last = seen;
    if (seen - last >= tip) fallen = 1;
  }
  /* largest of the last rows, in the others after a barrier */
  __device__ double recent(int rows) const
  {
    double m = 0.0;

    for (int i = 1; i <= PetscMin(rows, seen); i++) m = history[(seen - i) & 31] <= m ? m : history[(seen - i) & 31];
    return m;
  }
  __device__ double rate(int T) const { return SpikeRate(head, recent(tip), PetscMax(seen - tip, 1) * (double)T); }
};
