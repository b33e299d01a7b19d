/* SPDX-License-Identifier: BSD-2-Clause */
/* look.h: what one pass over the entries of a matrix says before a band is chosen: the contract of backends */
#pragma once

#include "band.h"

/* Steps that hold every distance: SpikeLookStep() */
#define SPIKE_LOOK_STEPS 128

/* Of a row: roots are not taken yet, and nothing is divided by the diagonal */
typedef struct {
  PetscReal square[2]; /* sum of |a_ij|^2 below and above the diagonal */
  PetscReal sum[2];    /* magnitude of the sum of a_ij there           */
  PetscReal diagonal;  /* |a_ii|, 0 where there is none                */
} SpikeLookSample;

/*
  One or two pieces: the columns of the first are the rank's own, those of the second other ranks', and neither has
  scales. d = j - i is the distance of an entry a_ij; only nonzero entries have one. Rows in the order of the matrix.
*/
typedef struct {
  /* in */
  PetscInt  n;
  PetscInt  within[2]; /* entries with -within[0] <= d <= within[1] couple rows: for cuts and samples                */
  PetscReal tiny;      /* a row is weak where |a_ii| < tiny max_j |a_ij|, in the first piece                         */
  PetscInt  nsample;   /* rows k n / nsample, 0 <= k < nsample <= n, are sampled                                     */
  PetscBool weigh;     /* sums by distance are asked for                                                              */

  /* out: of this rank */
  PetscInt   kl, ku;                  /* the largest -d and d, at least 0                                            */
  PetscInt   maxrow, own;             /* nonzeros of the fullest row; of the fullest one in the first piece           */
  PetscInt   stored;                  /* the most entries of a row, zeros counted                                    */
  PetscInt   weak;                    /* the first weak row, -1 if none                                              */
  PetscInt64 entries, zeros;          /* all; those that are zero                                                    */
  PetscInt64 others;                  /* those of the second piece that couple rows to those of other ranks          */
  PetscInt   reach[SPIKE_LOOK_STEPS]; /* rows whose largest |d| is in a step, SpikeLookStepOf()                      */
  PetscInt   ncuts;                   /* rows c > 0 without a coupling between rows i < c and j >= c, first piece:   */
  PetscInt  *cut;                     /* [ncuts] ascending                                                           */
  SpikeLookSample *sample;            /* [nsample]                                                                   */
  PetscReal       *weight;            /* with weigh: [max(kl, ku) + 1] sums of |a_ij| by |d|                         */
} SpikeLook;

/* Paths of strong couplings, as spikelines.c has them, that are found where the matrix is */
typedef struct {
  /* in */
  PetscReal threshold; /* couplings below this fraction of the strongest of both of their rows are not taken */
  PetscBool uncut;     /* paths may have small pivots                                                      */

  /* out */
  const char *why;                      /* the host has to look, because of this; NULL: all that follows is set */
  PetscInt    paths, shortest, longest; /* 0 where there is no row                                              */
  PetscInt   *newrow; /* [n] the place of each row, the caller's, in the memory of the backend; NULL: all stay  */
} SpikePaths;

typedef struct {
  /*
    Done on return. Reads each entry once, samples and with weigh all of them twice. Deterministic; the same on all
    backends but for the rounding of samples and of sums by distance, whose order the host has by rows. Arrays are the
    caller's, SpikeLookReset()
  */
  PetscErrorCode (*look)(SpikeLook *, PetscInt nparts, const SpikeCSR parts[]);

  /*
    okl[p], oku[p] <- the largest -d and d, at least 0, of the entries of a piece without a colmap in rows and columns
    start[p] to start[p+1] - 1, of np partitions of all n rows in the order of the band, that have -within[0] <= d <=
    within[1]; stored zeros count. All arrays but those of A are the host's. Reads the columns once, and waits. NULL
    where the host's loops do it (spikeown.c)
  */
  PetscErrorCode (*own)(PetscInt n, const PetscInt within[2], const SpikeCSR *A, PetscInt np, const PetscInt start[],
                        PetscInt okl[], PetscInt oku[]);

  /*
    Disjoint paths along the strong couplings of the piece A, without a colmap, of the rows that *l was taken of; done
    on return. Where they are found, cut and sample of l become those of half-bandwidth 1 in the order of the paths;
    else they may be lost. NULL where the host's loops do it (spikelines.c)
  */
  PetscErrorCode (*paths)(SpikePaths *, SpikeLook *l, const SpikeCSR *A);
} SpikeLookKernels;

PETSC_INTERN const SpikeLookKernels SpikeLookKernels_Host, SpikeLookKernels_CUDA;

PETSC_INTERN const SpikeLookKernels *SpikeLookKernelsFind(PetscMemType);

/* Steps of half-bandwidths: 0, 1, 2, 3, 4, 6, 8, 12, 16, ... */
SPIKE_BOTH_INLINE PetscInt SpikeLookStep(int step)
{
  PetscInt64 k;

  if (step < 2) return step;
  if (step > 125) return PETSC_INT_MAX; /* 3 2^61 is the last one that 64 bits hold */
  k = (PetscInt64)(step % 2 ? 3 : 2) << (step - 2) / 2;
  return (PetscInt)(k < PETSC_INT_MAX ? k : PETSC_INT_MAX);
}

/* The first step that is at least d >= 0 */
SPIKE_BOTH_INLINE int SpikeLookStepOf(PetscInt d)
{
  int e = 0;

  if (d < 2) return (int)d;
  while (d >> (e + 1)) e++; /* 2^e <= d */
  if (d == (PetscInt)1 << e) return 2 * e;
  return d - ((PetscInt)1 << e) <= (PetscInt)1 << (e - 1) ? 2 * e + 1 : 2 * e + 2;
}

/* The sample that row i is, -1 where it is none */
SPIKE_BOTH_INLINE PetscInt SpikeLookSampleOf(PetscInt n, PetscInt nsample, PetscInt i)
{
  const PetscInt64 k = ((PetscInt64)i * nsample + n - 1) / n;

  return k < nsample && k * n / nsample == i ? (PetscInt)k : -1;
}

/* An entry a at distance d that a sample counts; sum: of the entries below and above the diagonal */
SPIKE_BOTH_INLINE void SpikeLookAdd(SpikeLookSample *sample, PetscScalar sum[2], PetscInt d, PetscScalar a)
{
  if (d == 0) sample->diagonal = PetscAbsScalar(a);
  else {
    sample->square[d > 0] += PetscRealPart(a * PetscConj(a));
    sum[d > 0] += a;
  }
}

static inline PetscErrorCode SpikeLookReset(SpikeLook *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(l->cut));
  PetscCall(PetscFree(l->sample));
  PetscCall(PetscFree(l->weight));
  l->ncuts = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Host loops of one instruction set. plain: whether in rows r0 <= r < r1 of a piece without a colmap columns ascend, no
  entry is zero, and no row is weak: then the ends of a row say the rest
*/
typedef struct {
  PetscBool (*plain)(const SpikeCSR *, PetscInt r0, PetscInt r1, PetscReal tiny);
} SpikeLookLoops;

PETSC_INTERN const SpikeLookLoops SpikeLookLoops_base, SpikeLookLoops_v3, SpikeLookLoops_v4;
