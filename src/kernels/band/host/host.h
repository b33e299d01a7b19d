/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: what the files of the host backend share */
#pragma once

#include "kernels/band/band.h"
#include "ops.h"
#include "kernels/common/host/factors.h"

typedef struct {
  const SpikeBandOps *ops, *cornerops; /* of the factors; of the corners, which have at least single precision */
  PetscCount         *off;             /* [np + 1] first element of each partition                     */
  char               *first;           /* element 0 of the band, inside the allocation s->band         */
  PetscInt            largest;         /* rows of the largest partition                                */
  PetscInt            maxcorner;
  void               *luwork, *corneralloc;
  char               *corner; /* a leading corner, reversed, and its factors                   */
  PetscScalar        *spike;  /* the spike of a corner                                         */
  PetscScalar        *work;   /* [maxrhs * largest] windows of the corrections                 */

  /* with systems: D, and its solvers; the band beside it, for tips and corrections, where it is coupled */
  PetscScalar      *dl, *d, *du; /* [n]                                      */
  SpikeTridiagonal *tri;         /* [np]                                     */
  PetscInt         *tristart;    /* their start[], in rows of the partition    */
  PetscBool        *begins;      /* [n] a system begins; NULL: partitions alone */
} SpikeHost;

/* The band block of partition p */
static inline char *SpikeHostBlock(const SpikeHost *h, PetscInt p)
{
  return h->first + (size_t)h->off[p] * h->ops->size;
}

/* and its factors */
static inline SpikeBandFactors SpikeHostFactors(const SpikeBand *s, PetscInt p)
{
  return SpikeBandWhole(s->start[p + 1] - s->start[p], s->kl, s->ku, SpikeHostBlock((const SpikeHost *)s->data, p));
}

/* The pivot policy in the form that the micro-kernels take */
static inline void SpikeHostPivot(const SpikeHost *h, const SpikePivot *in, SpikeBandPivot *out)
{
  out->tol      = in->tol;
  out->boost    = in->boost;
  out->nboost   = 0;
  out->badrow   = -1;
  out->badvalue = 0.0;
  out->work     = (char *)h->luwork + ((64 - ((size_t)h->luwork & 63)) & 63);
}

PETSC_INTERN PetscErrorCode SpikeFillBegin_Host(SpikeBand *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeFill_Host(SpikeBand *, PetscInt, const SpikeCSR[], const PetscInt *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeFillDIA_Host(SpikeBand *, const SpikeDIA *, SpikeFillStats *);
PETSC_INTERN PetscErrorCode SpikeLeftTips_Host(SpikeBand *, SpikePivot *, PetscReal[]);
PETSC_INTERN PetscErrorCode SpikeRightTips_Host(SpikeBand *, PetscReal[]);

/* spike_tridiagonal.c */
PETSC_INTERN PetscErrorCode SpikeTriCreateSystems_Host(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriDestroySystems_Host(SpikeBand *);
PETSC_INTERN PetscErrorCode SpikeTriBytesSystems_Host(const SpikeBand *, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode SpikeTriFactorSystems_Host(SpikeBand *, SpikePivot *);
