/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeborder.h: few rows and columns that would make the band wide, solved by a small dense system */
#pragma once

#include <petscpc.h>
#include <petscsf.h>
#include "kernels/band/border.h"
#include "kernels/block/block.h"

#define SPIKE_BORDER_MOST   64 /* rows and columns of a border */
#define SPIKE_BORDER_ADDED  4  /* rows that are added to one because the band without them is singular */
#define SPIKE_BORDER_DEARER 100
#define SPIKE_BORDER_CHEAP  1e9 /* work that is affordable whatever it is compared with */

/*
  With the border last A = [B F; E G] and S = G - E Q, Q = B^-1 F:

      z = B^-1 f,  y = S^-1 (g - E z),    x = z - Q y              solves A [x; y] = [f; g]
      y = S^-T (g - Q^T f),               x = B^-T (f - E^T y)     solves A^T [x; y] = [f; g]

  One application of the band for each, and the transposed operator is the transpose, whatever stands for B^-1. The
  vectors keep their order: the band is that of T, which is A with rows and columns of the border made those of d I. E
  and Q are tall blocks, of the columns where E has entries and of all rows.

  On several ranks the rows of the border may be anybody's. A rank has the columns of E and the rows of F and Q that are
  its own, all have G, S^-1 and y: E z and Q^T f are one sum over the ranks each. A rank whose rows are all in the
  border has no rows of T.
*/
typedef struct {
  PetscInt max; /* option; PETSC_DECIDE */

  /* this pattern's border, where pivots have asked for one; rows that were added to it; no more of them will be */
  PetscInt  nkept, kept[SPIKE_BORDER_MOST], added;
  PetscBool settled;
  PetscBool refused;    /* this pattern has none, because what it left was singular                         */
  PetscBool affordable; /* the band without a border would be cheap, or at most SPIKE_BORDER_DEARER times as dear */

  Mat          T;              /* of the type of the matrix; NULL: no border */
  PetscInt     n;              /* rows of the matrix on this rank: those of T, or all are in the border */
  PetscInt     m, *rows;       /* [m] ascending, global, the same on all ranks */
  PetscInt     first, own;     /* rows first <= k < first + own of the border are this rank's ... */
  PetscInt    *local;          /* [own] ... with these local numbers */
  PetscInt    *place;          /* [n] -1 - k: row k of the border; j >= 0: column j of E as it is stored */
  PetscInt     count, *column; /* [count] columns of E that are stored; with count n all are: column[i] = i */
  PetscInt    *fstart, *frow;  /* columns of F, one after the other */
  PetscScalar *f, *e, *g;      /* on the host: values of F, [count * m] E^T, [m * m] G */
  PetscReal   *enorm;          /* [m] 2-norms of the rows of E */
  PetscBool    across;         /* on several ranks */
  PetscReal    norm;           /* infinity norm of the matrix */
  PetscInt     badrow;         /* the first row with an entry that is not finite, in border or band; -1 */
  PetscInt     nboost;         /* pivots of S */
  PetscBool    boosts;         /* some of them were boosted, on any rank */
  PetscReal    amplified;      /* by how much errors of the band's solves are, see spiketrial.c */
  PetscBool    bad;            /* S has a pivot that is zero, or not finite */
  PetscBool    ready;          /* there are Q and S^-1: not where the band has failed, on all ranks */
  PetscReal    badvalue;

  /*
    on several ranks: the columns of the off-diagonal block, -1 - k of the border, else columns of T, global; entries of
    E from the owners of their rows to those of their columns
  */
  PetscInt    *ghost;
  PetscInt     nsend, nrecv;
  PetscMPIInt *counts; /* [5 * size] counts and places of what is sent, of what is received; work space */
  PetscInt    *sendto; /* [nsend] places, among those sent, of the entries by rows */
  PetscCount  *into;   /* [nrecv] places in E^T of those received */
  PetscScalar *sent, *received;
  PetscScalar *host; /* [2 * maxrhs * m] on a device: sums on their way over the host */

  /* work space, which goes with the PC where an error ends what needs it */
  PetscInt     *at, *ti, *tj; /* [m]; a pattern */
  PetscInt     *nnz;          /* its rows        */
  PetscInt     *degree, (*edge)[2], *vertex;
  PetscInt     *pairs;
  PetscSF       sf;
  PetscScalar  *stage, *S; /* columns of Q; [3 * m * m + m] */
  PetscReal    *scale;     /* [4 * m] 2-norms of the columns of Q and F, scales of rows and columns of S */
  PetscBLASInt *piv;

  /*
    in the backend's memory; those of the second index are conjugates where numbers are complex, else the same. E[0],
    Q[0] and inv follow each other: F is made in the place of Q, G in that of S^-1
  */
  PetscInt    *drows, *dcolumn;
  PetscScalar *E[2]; /* [count * m] E^T */
  PetscScalar *Q[2]; /* [n * m]          */
  PetscScalar *inv;  /* [2 * m * m + 3 * m] S^-1, S^-T */
  PetscScalar *w;    /* [maxrhs * (2 m + count)] */
  SpikeBlock   tall;

  /* later values go where they belong without the host, by split.to; on one rank, and where numbers are real */
  SpikeSplit split;
  PetscBool  inplace; /* E, F and G are there since the last refill */
} PCSpikeBorder;

/* A border of the natural order, or of the rows with the most entries */
typedef struct {
  PetscInt  m, rows[SPIKE_BORDER_MOST];
  PetscReal cost;
} SpikeCover;

/* spikebordercover.c: which rows and columns, and whether they gain */
PETSC_INTERN PetscErrorCode PCSpikeBorderChooseBand_Private(PC, Mat *);
PETSC_INTERN PetscErrorCode PCSpikeBorderMay_Private(PC, PetscInt *, PetscBool *, PetscBool *);
PETSC_INTERN PetscReal      SpikeBorderCost_Private(PetscInt, PetscInt, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeBorderHolds_Private(PC, PetscInt, PetscInt, const PetscInt[], PetscBool *);

/* spikeborderfar.c: rows that cover what is far from the diagonal */
PETSC_INTERN PetscErrorCode PCSpikeBorderFar_Private(PC, Mat, PetscInt, const SpikeCSR[], PetscInt, const PetscInt[2],
                                                     SpikeCover *);

/* spikeborder.c: the matrix without its border */
PETSC_INTERN PetscErrorCode PCSpikeBorderMake_Private(PC, Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode PCSpikeBorderRefill_Private(PC, Mat *);
PETSC_INTERN PetscErrorCode PCSpikeBorderReset_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeBorderBytes_Private(PC, PetscReal *);

/* spikebordersplit.c: later values, where the matrix is */
PETSC_INTERN PetscErrorCode PCSpikeBorderUploadInts_Private(PC, PetscInt, const PetscInt[], PetscInt **);
PETSC_INTERN PetscErrorCode PCSpikeBorderSplits_Private(PC, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeBorderSplit_Private(PC, Mat);
PETSC_INTERN PetscErrorCode PCSpikeBorderSplitReset_Private(PC);

/* spikeborderranks.c: what ranks tell each other of a border */
PETSC_INTERN PetscErrorCode PCSpikeBorderOwn_Private(PC, Mat);
PETSC_INTERN PetscErrorCode PCSpikeBorderGhosts_Private(PC, Mat, PetscInt *);
PETSC_INTERN PetscErrorCode PCSpikeBorderSends_Private(PC, Mat, const SpikeCSR *);
PETSC_INTERN PetscErrorCode PCSpikeBorderReceived_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeBorderSumValues_Private(PC, PetscReal *);
PETSC_INTERN PetscErrorCode PCSpikeBorderSum_Private(PC, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeBorderFirst_Private(PC, PetscInt *);
PETSC_INTERN PetscErrorCode PCSpikeBorderRanksReset_Private(PC);

/* spikebordersolve.c: the border beside the factors of the band */
PETSC_INTERN PetscErrorCode PCSpikeBorderCreate_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeBorderReserve_Private(PC, PetscInt);
PETSC_INTERN PetscErrorCode PCSpikeBorderDestroy_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeBorderFactor_Private(PC, const SpikePivot *, const SpikePivot *, PetscBool *);
PETSC_INTERN PetscErrorCode PCSpikeBorderJudge_Private(PC);
PETSC_INTERN PetscErrorCode PCSpikeSolveBordered_Private(PC, PetscBool, PetscInt, const PetscScalar *, PetscCount,
                                                         PetscScalar *, PetscCount);

/* spikeborderoptions.c */
PETSC_INTERN PetscErrorCode PCSpikeBorderSetFromOptions_Private(PC, PetscOptionItems);
PETSC_INTERN PetscErrorCode PCSpikeComposeBorderMethods_Private(PC, PetscBool compose);
