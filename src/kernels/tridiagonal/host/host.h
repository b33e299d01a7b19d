/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: what the files of the host backend of tridiagonal.h share */
#pragma once

#include "kernels/tridiagonal/tridiagonal.h"

#define SPIKE_TRI_CHAINS 4 /* recurrences side by side, for each waits for its own last value */

/* Pivot policy, and the first bad number of one piece */
typedef struct {
  PetscReal tol, boost;
  PetscInt  nboost, badrow;
  PetscReal badvalue;
} SpikeTriPivot;

/* u, or what replaces it */
static inline PetscScalar SpikeTriDivisor(SpikeTriPivot *pv, PetscScalar u, PetscInt row)
{
  const PetscReal abs = PetscAbsScalar(u);

  if (abs > pv->tol && abs <= PETSC_MAX_REAL) return u;
  if (pv->boost > 0.0 && abs <= pv->tol) {
    pv->nboost++;
    return abs > 0.0 ? u * (pv->boost / abs) : (PetscScalar)pv->boost;
  }
  if (pv->badrow < 0) {
    pv->badrow   = row;
    pv->badvalue = abs;
  }
  return 1.0;
}

/*
  Elimination of one piece of m rows: l_i, r_i = 1 / u_i, v_i = du_i r_i; couplings beyond its ends: l_0 = dl_0, v_(m-1)
  = du_(m-1) r_(m-1), or 0 where there are none
*/
typedef struct {
  PetscInt           m, row; /* row: of the first one, for the report */
  PetscBool          above, below;
  const PetscScalar *dl, *d, *du;
  PetscScalar       *l, *r, *v;
  SpikeTriPivot      pivot;
} SpikeTriElimination;

/*
  y_i = b_i - p_i y_(i-1), then x_i = r_i y_i - q_i x_(i+1), i = 0, ..., m - 1, with y_(-1) = above, x_m = below. b may
  be x
*/
typedef struct {
  PetscInt           m;
  PetscScalar        above, below;
  const PetscScalar *p, *r, *q, *b;
  PetscScalar       *x;
} SpikeTriChain;

/*
  Loops for one instruction set. sweep(): count pieces, at most SPIKE_TRI_CHAINS, each with the same bits as alone;
  both: TWOWAY; dot(): sum z_i b_i in an order that depends on n alone
*/
typedef struct {
  void (*eliminate)(SpikeTriElimination *);
  void (*sweep)(PetscInt count, const SpikeTriChain[]);
  void (*eliminateboth)(SpikeTriElimination *);
  void (*sweepboth)(PetscBool trans, PetscInt m, const PetscScalar *l, const PetscScalar *r, const PetscScalar *v,
                    PetscScalar *x);
  PetscScalar (*dot)(PetscInt n, const PetscScalar *z, const PetscScalar *b);
} SpikeTriLoops;
PETSC_INTERN const SpikeTriLoops SpikeTriLoops_base, SpikeTriLoops_v3, SpikeTriLoops_v4;

typedef struct _n_SpikeTriHost SpikeTriHost;

/*
  An algorithm on one piece. factor(): factors of rows lo to hi - 1, without their couplings to other rows; solve():
  x <- A^-1 x or A^-T x in place, x begins with row 0
*/
typedef struct {
  void (*factor)(SpikeTriHost *, PetscInt lo, PetscInt hi, const PetscScalar *dl, const PetscScalar *d,
                 const PetscScalar *du, SpikeTriPivot *);
  void (*solve)(SpikeTriHost *, PetscBool trans, PetscInt lo, PetscInt hi, PetscScalar *x);
  PetscInt words, work; /* of factors for each row of the systems, of work space for each row of the longest piece */
} SpikeTriAlgorithm;

/*
  Pieces are whole systems or interiors, rows lo[k] <= r < hi[k]. Where sep[k] >= 0 row hi[k] is separator sep[k], and
  the next piece begins after it. za and zb of interiors are du_s z1 and dl_s z2 of tridiagonal.h.
*/
struct _n_SpikeTriHost {
  PetscInt                 n, npieces, nsep, longest; /* longest piece */
  PetscInt                *lo, *hi, *sep;
  PetscInt                *seprow; /* [nsep]                                                        */
  PetscInt                 batch;  /* columns at a time                                             */
  PetscInt                 switchpoint;
  const SpikeTriAlgorithm *algorithm; /* of the pieces; NULL: THOMAS, by the loops                      */
  SpikeTriLoops            loops;
  SpikeTriPivot            policy; /* of the last setup, for PCR, which eliminates again in an apply */
  /* l, r, v of n rows, with an element that is 0 before and after; or [words n] of the algorithm */
  PetscScalar *factors;
  PetscScalar *l, *r, *v;
  PetscScalar *work;    /* [work longest]                                                */
  PetscBool   *swapped; /* [n] with pivoting                                             */

  /* PARTITION */
  PetscScalar *za, *zb; /* [n]                                                           */
  PetscInt    *wa, *wb; /* [npieces] rows at the top of a piece, at its bottom, over which they are read */
  /* [4 npieces] dl of the first row, du of the last; du of the separator above, dl of the one below */
  PetscScalar     *edge;
  PetscScalar     *reduced; /* [3 nsep] S, then [batch nsep] columns                          */
  PetscScalar     *scratch; /* [SPIKE_TRI_CHAINS (longest + 1)] rows of as many pieces     */
  PetscInt        *redstart;
  SpikeTridiagonal child; /* S; child.k is NULL without separators                          */
};

PETSC_INTERN const SpikeTriAlgorithm SpikeTriTwoway_Host, SpikeTriCR_Host, SpikeTriRD_Host, SpikeTriPivoted_Host;

/* partition.c: pieces of the systems; setup and apply of the separators; callers solve the interiors */
PETSC_INTERN PetscErrorCode SpikeTriPartitionCreate_Host(SpikeTridiagonal *);
PETSC_INTERN PetscErrorCode SpikeTriPartitionDestroy_Host(SpikeTridiagonal *);
PETSC_INTERN PetscErrorCode SpikeTriPartitionBytes_Host(const SpikeTridiagonal *, PetscReal *);
PETSC_INTERN PetscErrorCode SpikeTriPartitionSetUp_Host(SpikeTridiagonal *, const PetscScalar *, const PetscScalar *,
                                                        const PetscScalar *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeTriPartitionReduce_Host(SpikeTridiagonal *, PetscBool, PetscInt, const PetscScalar *,
                                                         PetscCount, PetscScalar *, PetscCount);

/* tridiagonal.c: x <- A^-1 b in the pieces, with x_s of the separators in the rows next to them where coupled */
PETSC_INTERN void SpikeTriSolvePieces_Host(SpikeTriHost *, PetscBool trans, PetscBool coupled, PetscInt k0, PetscInt k1,
                                           PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                                           PetscCount ldx);
