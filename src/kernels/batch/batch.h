/* SPDX-License-Identifier: BSD-2-Clause */
/*
  batch.h: the contract of the kernels for batches of narrow bands: many independent systems, each solved by one lane,
  or by several where there are few. Callers are C and know no CUDA; each backend is a table of functions
*/
#pragma once

#include "kernels/common/types.h"

#define SPIKE_BATCH_MAX_BANDWIDTH 16 /* the larger of kl and ku */

typedef struct _n_SpikeBatchKernels SpikeBatchKernels;

/*
  Rows start[q] <= r < start[q+1] of the vectors are system q, whose matrix A has half-bandwidths kl and ku. Lengths may
  differ; any length is allowed, 0 and 1 too, and any number of systems, 0 too.

  Systems are stored interleaved: `lanes` of them side by side are a group, so that a vector register, or a warp, works
  on the same row of each at once. Systems of one group have about the same length, because the systems are sorted by
  it, longest first and of equal ones the first. rows[g] is the length of the longest of group g. The rows after the
  end of a shorter system, and the lanes of the last group that have no system, hold the identity. An element is at

      off[g] + (i width + kl + d) lanes + lane          row i of the system, -kl <= d < width - kl

  and holds before setup() a_(i, i+d), which is zero where i + d is no row of the system.

  Without row exchanges, width = kl + 1 + ku and A = L U:

      d < 0      l_(i, i+d)               d = 0     1 / u_(i, i)               d > 0     u_(i, i+d)

  With row exchanges, width = 2 kl + 1 + ku, because U has kl + ku diagonals above the main one: in step i rows i and i
  + e change places, e <= kl the first of the largest |a_(i+e, i)|, then multiples of row i are subtracted. Then

      d < 0      multiplier of row i - d in step i, 1 <= -d <= kl              d >= 0    as before

  and exchange[(g's first row + i) lanes + lane] = e. This is band LU as in LAPACK's gbtf2 (Du Croz, Mayes and
  Radicati, LAPACK Working Note 21, 1990), interleaved as in Gloster, O Naraigh and Pang, cuPentBatch, Comput. Phys.
  Commun. 241 (2019).

  With parts > 1, a power of two that divides the number of lanes, and without row exchanges, a system is cut into up to
  `parts` pieces, each of at least SpikeBatchLeast() rows, whose lengths differ by at most a row; all of one system lie
  in lanes side by side of a group. What is said of systems above holds for pieces then, as if they were systems. The
  entries between two pieces are in `blocks`: of h x h numbers each, h = SpikeBatchBlock(), of which number (i, j) of
  block k of a lane is at ((g SPIKE_BATCH_BLOCKS + k) h^2 + i h + j) lanes + lane. Before setup() the caller fills the
  first two, zeros where there is no entry:

      C: a of row i of the piece, column j of the last h before it       B: a of row i of its last h, column j after it

  The pieces are coupled exactly, as the partitions of SPIKE: with D_c the piece c of a system, W_c = D_c^-1 [C_c; 0],
  V_c = D_c^-1 [0; B_c], of which t is the first h rows and b the last h rows, elimination from piece to piece leaves

      p_c = g_b + F_c g_t - E_c p_(c-1)          t_c = D_c' g_t - (D' W_t)_c p_(c-1) - G_c t_(c+1)
      s_c = p_c - Q_c t_(c+1)                    x_c = D_c^-1 (b_c - [C_c s_(c-1); 0; B_c t_(c+1)]),  g = D^-1 b

      D_c' = (I - W_t Q_(c-1))^-1     F_c = W_b Q_(c-1) D_c'     E_c = W_b + F_c W_t
      G_c  = D_c' V_t                 Q_c = V_b + F_c V_t

  and blocks has C, B, F, E, D', D' W_t, G, Q. In transposed solves what comes of D^-T b goes through the same
  recurrences backwards (the adjoint of each line, the last one first).

  A pivot u is bad where |u| <= tol, or where it is not finite. SpikePivot is as for the band. With boost > 0 a small u
  is replaced by u boost / |u|, or by boost where it is 0, and counted. Otherwise u is replaced by 1, so that nothing
  divides by it, and reported: badrow and badvalue are those of the first bad row of the vectors. The solution of that
  system means nothing then, those of other systems are right. I - W_t Q has no units: its pivots are bad up to tol
  max(1, the largest magnitude in it), boosted to boost times the same, and reported as of the first row of their piece.

  Each system has the same bits wherever it stands, whatever nrhs is and whatever the other systems are; other bits with
  another number of parts.
*/
typedef struct {
  /* by the caller, before create(), and not changed after it */
  PetscInt        nsys;
  const PetscInt *start; /* [nsys + 1] on the host, the caller's, alive until destroy(); start[0] = 0 */
  PetscInt        kl, ku;
  PetscBool       pivoting;
  PetscInt        parts; /* lanes that share a system; 0 counts as 1                                      */

  /* by create() */
  PetscInt    lanes, width, ngroups;
  PetscInt   *system;      /* [ngroups * lanes] system of each lane, -1 for none; some have no piece of it */
  PetscInt   *first, *len; /* [ngroups * lanes] first row and rows of each lane's system; no rows: none   */
  PetscInt   *rows;        /* [ngroups]                                                                   */
  PetscCount *off;         /* [ngroups + 1] first element of a group                                      */
  PetscCount *place;       /* [nsys] element (0, -kl) of a system, or its first piece: off[g] + its lane  */

  /* of the backend */
  PetscScalar             *a; /* [off[ngroups]] in the backend's memory: the caller fills all of it before setup() */
  PetscScalar             *blocks; /* with parts > 1, likewise: the caller fills C and B                         */
  void                    *data;
  void                    *stream; /* the caller's, looked at in each call; NULL: of the backend, PETSc's current one */
  const SpikeBatchKernels *k;
} SpikeBatch;

struct _n_SpikeBatchKernels {
  const char  *name;
  PetscMemType memtype;

  /*
    Of a group; of SpikeBatchPays(): systems below which, half-bandwidth above which one band is as fast, without and
    with row exchanges
  */
  PetscInt lanes, least, widest[2];

  /* Lanes that should share a system, from what the caller sets: a model of the time. NULL: one */
  PetscErrorCode (*parts)(const SpikeBatch *, PetscInt *);

  /* Bytes that create() will allocate, or has: of the matrix, and of all the rest */
  PetscErrorCode (*bytes)(const SpikeBatch *, PetscReal *matrix, PetscReal *rest);

  /*
    Allocates all that setup() and apply() need. destroy() accepts what is partly made, and frees what create()
    allocated, not start
  */
  PetscErrorCode (*create)(SpikeBatch *);
  PetscErrorCode (*destroy)(SpikeBatch *);

  /*
    a <- factors. Reads and writes each element once. May be called again with other values; allocates nothing. A device
    does not wait: it reads tol and boost of *pivot, in units of *unit (of the device's memory, 0 counts as 1) where
    unit is not NULL, and report() has the rest.
  */
  PetscErrorCode (*setup)(SpikeBatch *, SpikePivot *pivot, const double *unit);

  /*
    fetch() enqueues a copy of what the last setup() has found, and report() fills *pivot with it when the stream has
    been waited for. NULL where setup() fills it itself
  */
  PetscErrorCode (*fetch)(SpikeBatch *);
  PetscErrorCode (*report)(SpikeBatch *, SpikePivot *pivot);

  /*
    x <- A^-1 b, or A^-T b, for nrhs columns ldb and ldx apart. x may be b, with ldx = ldb; no other overlap. Rows
    between n = start[nsys] and the leading dimension are not touched. Reads factors, b, writes x; where a system is too
    long for fast memory also writes and reads y. No allocation, no wait.
  */
  PetscErrorCode (*apply)(SpikeBatch *, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                          PetscScalar *x, PetscCount ldx);
};

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeBatchKernels SpikeBatchKernels_Host, SpikeBatchKernels_CUDA;

/* Blocks of a lane, in their order */
enum {
  SPIKE_BATCH_C,
  SPIKE_BATCH_B,
  SPIKE_BATCH_F,
  SPIKE_BATCH_E,
  SPIKE_BATCH_D,
  SPIKE_BATCH_DW,
  SPIKE_BATCH_G,
  SPIKE_BATCH_Q,
  SPIKE_BATCH_BLOCKS
};

/* batch.c: groups for a number of lanes: first, len, rows, off, place, width; the sum of rows[g] lanes alone */
PETSC_INTERN PetscErrorCode SpikeBatchLayout(SpikeBatch *, PetscInt lanes);
PETSC_INTERN PetscErrorCode SpikeBatchLayoutDestroy(SpikeBatch *);
PETSC_INTERN PetscErrorCode SpikeBatchPadded(const SpikeBatch *, PetscInt lanes, PetscCount *rows);

/*
  Whether the systems of a batch, of which create() has not been called yet, are solved in less time by a lane each, or
  by `parts` of them, than as one band: a model of the time
*/
PETSC_INTERN PetscErrorCode SpikeBatchPays(const SpikeBatch *, PetscBool *);

static inline PetscInt SpikeBatchParts(const SpikeBatch *t)
{
  return PetscMax(t->parts, 1);
}

/* Edge of the blocks: at least 2, for which there are kernels */
static inline PetscInt SpikeBatchBlock(const SpikeBatch *t)
{
  return PetscMax(2, PetscMax(t->kl, t->ku));
}

/* Rows of a piece, at least, unless it is a whole system: its first and its last h rows are apart */
static inline PetscInt SpikeBatchLeast(const SpikeBatch *t)
{
  return PetscMax(2 * SpikeBatchBlock(t), 8);
}

/* First row of piece p of a system of n rows; n for the pieces that it does not have, and after the last one */
static inline PetscInt SpikeBatchPieceBegin(const SpikeBatch *t, PetscInt n, PetscInt p)
{
  const PetscInt pieces = PetscMax(1, PetscMin(SpikeBatchParts(t), n / SpikeBatchLeast(t)));

  return p >= pieces ? n : n / pieces * p + PetscMin(p, n % pieces);
}

static inline PetscInt SpikeBatchWidth(const SpikeBatch *t)
{
  return t->kl + 1 + t->ku + (t->pivoting ? t->kl : 0);
}
