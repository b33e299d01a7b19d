/* SPDX-License-Identifier: BSD-2-Clause */
/* band.cuh: the functions of the CUDA backend's table, by file */
#pragma once

#include "band_tiles.cuh"
#include "kernels/common/cuda/memory.cuh"
#include "partitions.h"

/* Nobody waits for outcomes: those of a setup that ended with an error are not there any more */
static inline void SpikeForget(SpikeCUDA *h)
{
  h->left      = SpikeCSR{};
  h->fillstats = NULL;
  h->pivot = h->reducedpivot = NULL;
  h->falloff                 = NULL;
}

/* As cudaMemcpy2DAsync(), which wants pitches below 2 GB */
static inline cudaError_t SpikeCopy2D(void *to, size_t topitch, const void *from, size_t frompitch, size_t width,
                                      size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
  cudaError_t error = cudaSuccess;

  if (height > 1 && PetscMax(topitch, frompitch) < (size_t)1 << 30)
    return cudaMemcpy2DAsync(to, topitch, from, frompitch, width, height, kind, stream);
  for (size_t i = 0; i < height && error == cudaSuccess; i++)
    error = cudaMemcpyAsync((char *)to + i * topitch, (const char *)from + i * frompitch, width, kind, stream);
  return error;
}

/* Fractions of the norm become magnitudes, once the host knows what fill saw */
static inline void SpikePivotScale_CUDA(const SpikeCUDA *h, SpikePivot *pivot)
{
  const PetscReal norm = (PetscReal)h->hostreport->fill.value[3], scale = norm > 0.0 ? norm : 1.0;

  if (!pivot->relative) return;
  pivot->tol *= scale;
  pivot->boost *= scale;
  pivot->relative = PETSC_FALSE;
}

/* fill.cu */
PETSC_INTERN PetscErrorCode SpikeFill_CUDA(SpikeBand *, PetscInt, const SpikeCSR[], const PetscInt *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeFillDIA_CUDA(SpikeBand *, const SpikeDIA *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeFillSum_CUDA(SpikeBand *, int blocks);
/* B, C <- 0 */
PETSC_INTERN PetscErrorCode SpikeFillCouplings_CUDA(SpikeBand *);
/* bytes of scratch that it needs */
PETSC_INTERN size_t SpikeFillScratch_CUDA(const SpikeTiles *);
/* factor.cu */
PETSC_INTERN PetscErrorCode SpikeFactor_CUDA(SpikeBand *, SpikePivot *, SpikePivot *, PetscReal[]);
/* of holds(): whether what the kernels keep in shared memory fits there */
PETSC_INTERN bool SpikeFactorHolds_CUDA(const SpikeTiles *, const SpikeDevice *);
/* how many partitions are factored at once, where clusters of thread blocks do that, else 0 */
PETSC_INTERN PetscErrorCode SpikeFactorClusters_CUDA(const SpikeTiles *, PetscSpikePrecision, const SpikeDevice *,
                                                     PetscInt *);
/* factor_cholesky.cu: whether L D L^T is computed, which reads the lower half of the band only */
PETSC_INTERN bool           SpikeFactorIsCholesky_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *);
PETSC_INTERN bool           SpikeTipsHold_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *);
PETSC_INTERN PetscErrorCode SpikeSweepHolds_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *,
                                                 PetscBool *);
/* tips.cu */
PETSC_INTERN PetscErrorCode SpikeTips_CUDA(SpikeBand *, PetscReal falloff[]);
/*
  elements of SpikeCUDA.spike (PetscScalar), bytes of scratch, and blocks of columns in the report; reads shape and t
  only, and bytes() asks before anything is allocated
*/
PETSC_INTERN void SpikeTipsWork_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *, PetscInt64 *elements,
                                     size_t *scratch, int *blocks);
/* reduced.cu */
PETSC_INTERN PetscErrorCode SpikeReduced_CUDA(SpikeBand *, PetscInt, PetscInt, SpikePivot *);
/* elements of SpikeCUDA.spike that it asks for where there is room for so many */
PETSC_INTERN PetscInt64 SpikeReducedWork_CUDA(const SpikeBand *, const SpikeDevice *, PetscInt64 room);
/* of the interfaces q0, q0 + stride, ... below q1; adds to what the reduced systems report */
PETSC_INTERN PetscErrorCode SpikeReducedStrided_CUDA(SpikeBand *, PetscInt q0, PetscInt q1, PetscInt stride,
                                                     SpikePivot *);
/* spikes.cu, merge.cu: full SPIKE; elements of SpikeCUDA.spike that spikes() asks for */
PETSC_INTERN PetscErrorCode SpikeSpikes_CUDA(SpikeBand *, PetscReal[]);
PETSC_INTERN PetscInt64     SpikeSpikesWork_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *);
PETSC_INTERN PetscErrorCode SpikeMerge_CUDA(SpikeBand *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeMergedTips_CUDA(SpikeBand *, PetscBool, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode SpikeMergedRhs_CUDA(SpikeBand *, PetscBool, PetscInt, const PetscScalar *, PetscCount);
/* pace.cu: of the current device, measured by the first call */
PETSC_INTERN PetscErrorCode SpikePace_CUDA(const SpikeDevice *, SpikePace *);
/*
  pivoted*.cu: with row exchanges, what the functions of the table with these names do; Holds and Bytes as
  SpikeHolds_CUDA and SpikeBytes_CUDA ask, of a shape alone
*/
PETSC_INTERN PetscErrorCode SpikePivotedHolds_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *,
                                                   PetscBool *);
PETSC_INTERN PetscErrorCode SpikePivotedBytes_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *,
                                                   PetscReal *factors, PetscReal *windows);
PETSC_INTERN PetscErrorCode SpikePivotedCreate_CUDA(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikePivotedDestroy_CUDA(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikePivotedFactor_CUDA(SpikeBand *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikePivotedTips_CUDA(SpikeBand *, PetscBool full);
PETSC_INTERN void           SpikePivotedTipsWork_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *,
                                                      PetscInt64 *elements, int *blocks);
PETSC_INTERN PetscErrorCode SpikePivotedSweep_CUDA(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt,
                                                   const PetscScalar *, PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikePivotedCorrect_CUDA(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt,
                                                     PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikePivotedGrowth_CUDA(SpikeBand *, unsigned long long *largest);
/* growth.cu */
PETSC_INTERN PetscErrorCode SpikeGrowth_CUDA(SpikeBand *, PetscReal *);
/* definite.cu: of SpikeBand.cholesky, after factors by LU */
PETSC_INTERN PetscErrorCode SpikeDefinite_CUDA(SpikeBand *);
/* finish.cu */
PETSC_INTERN PetscErrorCode SpikeFinish_CUDA(SpikeBand *);
PETSC_INTERN size_t         SpikeReportBytes_CUDA(PetscInt np, int blocks);
/* sweep.cu */
PETSC_INTERN PetscErrorCode SpikeSweep_CUDA(SpikeBand *, PetscBool, SpikeSweepPart, PetscInt, PetscInt, PetscInt,
                                            const PetscScalar *, PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikeSweepPrepare_CUDA(SpikeBand *);
/* exchange.cu */
PETSC_INTERN PetscErrorCode SpikeConnect_CUDA(SpikeBand *, MPI_Comm, void **);
PETSC_INTERN PetscErrorCode SpikeExchange_CUDA(SpikeBand *, void *, PetscInt, const SpikeMessage[]);
PETSC_INTERN PetscErrorCode SpikeWait_CUDA(SpikeBand *, void *);
/* correct.cu */
PETSC_INTERN PetscErrorCode SpikeSolveTips_CUDA(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode SpikeCorrect_CUDA(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt, PetscScalar *,
                                              PetscCount);
PETSC_INTERN PetscErrorCode SpikePermute_CUDA(SpikeBand *, PetscBool, const PetscInt *, const PetscReal *, PetscInt,
                                              const PetscScalar *, PetscCount, PetscScalar *, PetscCount);
/* systems.cu: for bands with systems, what the functions of the table with these names do */
struct SpikeFillCSR;
struct SpikeFillDiagonals;
PETSC_INTERN PetscErrorCode SpikeTriCreateSystems_CUDA(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriDestroySystems_CUDA(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriBytesSystems_CUDA(const SpikeBand *, PetscReal *matrix, PetscReal *rest);
PETSC_INTERN PetscErrorCode SpikeTriFillSystems_CUDA(SpikeBand *, const SpikeFillCSR *, const PetscInt *);
PETSC_INTERN PetscErrorCode SpikeTriFillDiagonals_CUDA(SpikeBand *, const SpikeFillDiagonals *);
PETSC_INTERN PetscErrorCode SpikeTriFactorSystems_CUDA(SpikeBand *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeTriTipsSystems_CUDA(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriFinishSystems_CUDA(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriSweepSystems_CUDA(SpikeBand *, PetscBool, PetscInt, const PetscScalar *, PetscCount,
                                                      PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikeTriCorrectSystems_CUDA(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt,
                                                        PetscScalar *, PetscCount);
/* batch.cu: the same for a batch of systems */
PETSC_INTERN PetscErrorCode SpikeBatchFillSystems_CUDA(SpikeBand *, const SpikeFillCSR *, const PetscInt *);
PETSC_INTERN PetscErrorCode SpikeBatchFillDiagonals_CUDA(SpikeBand *, const SpikeFillDiagonals *);
PETSC_INTERN PetscErrorCode SpikeBatchFactorSystems_CUDA(SpikeBand *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeBatchSweepSystems_CUDA(SpikeBand *, PetscBool, PetscInt, const PetscScalar *,
                                                        PetscCount, PetscScalar *, PetscCount);
