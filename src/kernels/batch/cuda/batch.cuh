/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.cuh: batches of systems on a CUDA device: a warp a group, a lane a system or a piece of one */
#pragma once

#include "kernels/common/cuda/device.cuh"
#include "kernels/common/cuda/warp.cuh"
extern "C" {
#include "kernels/batch/batch.h"
}

#define SPIKE_BATCH_LANES 32

/*
  What setup() leaves for report(): the complement of the first bad row, 0 where there is none; of I - W_t Q, where
  there is none; pivots boosted
*/
struct SpikeBatchReport {
  unsigned long long badrow, badpiece, nboost;
};

/* What kernels see of a batch */
struct SpikeBatchGroups {
  int               kl, ku, width;
  int               parts, h; /* lanes that share a system, edge of the blocks of their pieces */
  PetscInt          ngroups;
  const PetscInt   *first, *len; /* [32 ngroups] first row and rows of each lane's system; no rows: it has none */
  const PetscInt   *rows;        /* [ngroups] */
  const PetscInt64 *off;         /* [ngroups] first element */
  PetscScalar      *a;
  unsigned char    *exchange; /* as in batch.h; NULL without row exchanges */
  PetscScalar      *blocks;   /* likewise; NULL without pieces */

  /* Whether a lane is coupled to the one before it, or after it */
  __device__ bool before(int l) const { return l % parts != 0; }
  __device__ bool after(PetscInt group, int l) const
  {
    return l % parts != parts - 1 && len[group * SPIKE_BATCH_LANES + l + 1] > 0;
  }
  /* Number (i, j) of block k of a lane */
  __device__ PetscScalar *block(PetscInt group, int k, int i, int j, int l) const
  {
    return blocks + ((((PetscInt64)group * SPIKE_BATCH_BLOCKS + k) * h + i) * h + j) * SPIKE_BATCH_LANES + l;
  }
};

struct SpikeBatchCUDA {
  SpikeBatchGroups   g;
  PetscInt           longest;
  PetscInt          *first, *len, *rows;
  PetscInt64        *off;
  double            *badvalue; /* [32 ngroups] of the first bad pivot of each lane */
  unsigned char     *exchange; /* [rows of all groups * 32] */
  SpikeBatchReport  *report, *hostreport;
  const SpikeDevice *gpu;
};

/* Half-bandwidths that kernels are made for: as they are, or up to KLMAX and KUMAX */
template <int L, int U, bool E>
struct SpikeBatchBand {
  static constexpr int  KLMAX = L, KUMAX = U;
  static constexpr bool ASIS = E;

  __device__ static int kl(const SpikeBatchGroups &t) { return E ? L : t.kl; }
  __device__ static int ku(const SpikeBatchGroups &t) { return E ? U : t.ku; }
  __device__ static int width(const SpikeBatchGroups &t) { return E ? L + U + 1 : t.width; }
};

/* call(SpikeBatchBand) with the one of a batch */
template <typename F>
static inline PetscErrorCode SpikeBatchDispatch(const SpikeBatchGroups &t, F &&call)
{
  const int K = PetscMax(t.kl, t.ku);

  if (t.kl == t.ku && K == 2) return call(SpikeBatchBand<2, 2, true>());
  if (t.kl == t.ku && K == 3) return call(SpikeBatchBand<3, 3, true>());
  if (t.kl == t.ku && K == 4) return call(SpikeBatchBand<4, 4, true>());
  if (t.kl == t.ku && K == 8) return call(SpikeBatchBand<8, 8, true>());
  if (t.kl == t.ku && K == 16) return call(SpikeBatchBand<16, 16, true>());
  if (K <= 4) return call(SpikeBatchBand<4, 4, false>());
  if (K <= 8) return call(SpikeBatchBand<8, 8, false>());
  return call(SpikeBatchBand<16, 16, false>());
}

/* The same for kernels with row exchanges, in which the half-bandwidths of U are up to twice as large */
template <typename F>
static inline PetscErrorCode SpikeBatchDispatchPivoted(const SpikeBatchGroups &t, F &&call)
{
  const int K = PetscMax(t.kl, t.ku);

  if (K <= 4) return call(SpikeBatchBand<4, 4, false>());
  if (K <= 8) return call(SpikeBatchBand<8, 8, false>());
  return call(SpikeBatchBand<16, 16, false>());
}

/* The same for pieces: bands as wide as their blocks */
template <typename F>
static inline PetscErrorCode SpikeBatchDispatchPieces(const SpikeBatchGroups &t, F &&call)
{
  const bool equal = t.kl == t.ku && t.kl == t.h;

  if (t.h == 2) return equal ? call(SpikeBatchBand<2, 2, true>()) : call(SpikeBatchBand<2, 2, false>());
  if (t.h == 3) return equal ? call(SpikeBatchBand<3, 3, true>()) : call(SpikeBatchBand<3, 3, false>());
  return equal ? call(SpikeBatchBand<4, 4, true>()) : call(SpikeBatchBand<4, 4, false>());
}

/* c - a b */
__device__ static inline PetscScalar SpikeBatchFnma(PetscScalar a, PetscScalar b, PetscScalar c)
{
  return SpikeFma(-a, b, c);
}

/* a b, without the recovery of infinities of C's Annex G */
__device__ static inline PetscScalar SpikeBatchMultiply(PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return SpikeFma(a, b, PetscScalar(0.0));
#else
  return a * b;
#endif
}

/*
  Bytes of shared memory up to which the vectors of a group stay there between the two substitutions: at least three
  groups are on a multiprocessor at once
*/
static inline size_t SpikeBatchResident(size_t shared, size_t least)
{
  return PetscMax(shared / 3, least);
}

/* pieces.cu: after the factors of pieces, their blocks; solves by both */
struct SpikeBatchPolicy;
PETSC_INTERN PetscErrorCode SpikeBatchCouple_CUDA(SpikeBatchCUDA *, const SpikeBatchPolicy &, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeBatchSolvePieces_CUDA(const SpikeBatchCUDA *, PetscBool trans, PetscInt nrhs,
                                                       const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                                                       PetscCount ldx, cudaStream_t);
/* factor.cu, solve.cu, solvetrans.cu; pivotedsolve.cu and pivotedsolvetrans.cu with row exchanges */
PETSC_INTERN PetscErrorCode SpikeBatchSetUp_CUDA(SpikeBatch *, SpikePivot *, const double *);
PETSC_INTERN PetscErrorCode SpikeBatchSolve_CUDA(const SpikeBatchCUDA *, PetscInt nrhs, const PetscScalar *b,
                                                 PetscCount ldb, PetscScalar *x, PetscCount ldx, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeBatchSolveTrans_CUDA(const SpikeBatchCUDA *, PetscInt nrhs, const PetscScalar *b,
                                                      PetscCount ldb, PetscScalar *x, PetscCount ldx, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeBatchSolvePivoted_CUDA(const SpikeBatchCUDA *, PetscInt nrhs, const PetscScalar *b,
                                                        PetscCount ldb, PetscScalar *x, PetscCount ldx, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeBatchSolvePivotedTrans_CUDA(const SpikeBatchCUDA *, PetscInt nrhs,
                                                             const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                                                             PetscCount ldx, cudaStream_t);
