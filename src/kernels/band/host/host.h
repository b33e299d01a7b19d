/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: what the files of the host backend share */
#pragma once

#include "kernels/band/band.h"
#include "ops.h"
#include "kernels/common/host/factors.h"

/* A partition in its own layout: a_ij at off + j ld + diagonal + i - j of the raw band */
typedef struct {
  PetscInt   kl, ku; /* half-bandwidths                                                          */
  PetscInt   fu;     /* superdiagonals of the band that are kept: ku, or none of L D L^H          */
  PetscCount ld, diagonal;
} SpikeHostPart;

typedef struct {
  const SpikeBandOps *ops, *cornerops; /* of the factors; of the corners, which have at least single precision */
  SpikeHostPart      *part;            /* [np]                                                         */
  PetscCount         *off;             /* [np + 1] first element of each partition                     */
  PetscCount          pad;             /* elements that the kernels may touch on both sides of a partition */
  char               *first;           /* element 0 of the band, inside the allocation s->band         */
  PetscInt            largest;         /* rows of the largest partition                                */
  PetscInt            maxcorner;
  void               *factorwork, *corneralloc;
  char               *corner;  /* a leading corner, reversed, and its factors                   */
  PetscScalar        *spike;   /* the spike of a corner                                         */
  PetscScalar        *work;    /* [maxrhs * largest] windows of the corrections                 */
  PetscScalar        *columns; /* some columns of a whole spike, of full SPIKE                   */
  PetscScalar        *inverse; /* of full SPIKE with L D L^H: [3 K^2] I, Zt and Zb               */

  /* with systems: D, and its solvers; the band beside it, for tips and corrections, where it is coupled */
  PetscScalar      *dl, *d, *du; /* [n]                                      */
  SpikeTridiagonal *tri;         /* [np]                                     */
  PetscInt         *tristart;    /* their start[], in rows of the partition    */
  PetscBool        *begins;      /* [n] a system begins; NULL: partitions alone */

  SpikeBatch *batch; /* batch.c; then there is no band */
} SpikeHost;

/* The band block of partition p */
static inline char *SpikeHostBlock(const SpikeHost *h, PetscInt p)
{
  return h->first + (size_t)h->off[p] * h->ops->size;
}

/* and its factors */
static inline SpikeBandFactors SpikeHostFactors(const SpikeBand *s, PetscInt p)
{
  const SpikeHost *h = (const SpikeHost *)s->data;

  return SpikeBandWhole(s->start[p + 1] - s->start[p], h->part[p].kl, h->part[p].fu, SpikeHostBlock(h, p));
}

/* The pivot policy in the form that the micro-kernels take */
static inline void SpikeHostPivot(const SpikeHost *h, const SpikePivot *in, SpikeBandPivot *out)
{
  out->tol      = in->tol;
  out->boost    = in->boost;
  out->nboost   = 0;
  out->badrow   = -1;
  out->badvalue = 0.0;
  out->work     = (char *)h->factorwork + ((64 - ((size_t)h->factorwork & 63)) & 63);
}

/* Of every fill: a band, couplings and statistics in which nothing has been seen */
PETSC_INTERN PetscErrorCode SpikeFillBegin_Host(SpikeBand *, SpikeFillStats *);

/* The two sides of factor()'s tips: Wt from the raw band, then Vb from the factors; falloff[np + 1] of each */
PETSC_INTERN PetscErrorCode SpikeLeftTips_Host(SpikeBand *, SpikePivot *corner, PetscReal falloff[]);
PETSC_INTERN PetscErrorCode SpikeRightTips_Host(SpikeBand *, PetscReal falloff[]);
/* Wt from the factors, of L D L^H */
PETSC_INTERN PetscErrorCode SpikeLeftTipsFromFactors_Host(SpikeBand *, PetscReal falloff[]);

/* y (rows x nrhs) <- alpha op(A) x + beta y for the small blocks; A has m rows and k columns, op(A) = A or A^T */
PETSC_INTERN PetscErrorCode SpikeSmallGemm_Host(PetscBool trans, PetscInt m, PetscInt k, const PetscScalar *A,
                                                PetscScalar alpha, const PetscScalar *x, PetscCount ldx,
                                                PetscScalar beta, PetscScalar *y, PetscCount ldy, PetscInt nrhs);

/* What the functions of the table with these names do: fill.c, filldia.c, factor.c, reduced.c, sweep.c, correct.c */
PETSC_INTERN PetscErrorCode SpikeFill_Host(SpikeBand *, PetscInt, const SpikeCSR[], const PetscInt *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeFillDIA_Host(SpikeBand *, const SpikeDIA *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeFactor_Host(SpikeBand *, SpikePivot *, SpikePivot *, PetscReal[]);
PETSC_INTERN PetscErrorCode SpikeReduced_Host(SpikeBand *, PetscInt, PetscInt, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeSweep_Host(SpikeBand *, PetscBool, SpikeSweepPart, PetscInt, PetscInt, PetscInt,
                                            const PetscScalar *, PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikeSolveTips_Host(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode SpikeCorrect_Host(SpikeBand *, PetscBool, PetscInt, PetscInt, PetscInt, PetscScalar *,
                                              PetscCount);
PETSC_INTERN PetscErrorCode SpikePermute_Host(SpikeBand *, PetscBool, const PetscInt *, const PetscReal *, PetscInt,
                                              const PetscScalar *, PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikeGrowth_Host(SpikeBand *, PetscReal *);

/* of full SPIKE: spikes.c, merge.c */
PETSC_INTERN PetscErrorCode SpikeSpikes_Host(SpikeBand *, PetscReal[]);
PETSC_INTERN PetscErrorCode SpikeMerge_Host(SpikeBand *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeMergedTips_Host(SpikeBand *, PetscBool, PetscBool, PetscInt);
PETSC_INTERN PetscErrorCode SpikeMergedRhs_Host(SpikeBand *, PetscBool, PetscInt, const PetscScalar *, PetscCount);

/* systems.c: what the functions of the table do for bands with systems */
PETSC_INTERN PetscErrorCode SpikeTriCreateSystems_Host(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriDestroySystems_Host(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriBytesSystems_Host(const SpikeBand *, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode SpikeTriFactorSystems_Host(SpikeBand *, SpikePivot *);

/* batch.c: what the functions of the table do for a batch, and its rows i0 <= i < i1 from diagonal o */
PETSC_INTERN PetscErrorCode SpikeBatchClearSystems_Host(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeBatchFillSystems_Host(SpikeBand *, PetscInt, const SpikeCSR[], const PetscInt *,
                                                       SpikeFillStats *);
PETSC_INTERN void           SpikeBatchPutSystems_Host(const SpikeBand *, PetscInt o, PetscInt i0, PetscInt i1,
                                                      const PetscScalar *, SpikeFillStats *);
