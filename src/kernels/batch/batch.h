/* SPDX-License-Identifier: BSD-2-Clause */
/*
  batch.h: the contract of the kernels for batches of narrow bands: many independent systems, each solved by one lane.
  Callers are C and know no CUDA; each backend is a table of functions
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

  A pivot u is bad where |u| <= tol, or where it is not finite. SpikePivot is as for the band. With boost > 0 a small u
  is replaced by u boost / |u|, or by boost where it is 0, and counted. Otherwise u is replaced by 1, so that nothing
  divides by it, and reported: badrow and badvalue are those of the first bad row of the vectors. The solution of that
  system means nothing then, those of other systems are right.

  Each system has the same bits wherever it stands, whatever nrhs is and whatever the other systems are.
*/
typedef struct {
  /* by the caller, before create(), and not changed after it */
  PetscInt        nsys;
  const PetscInt *start; /* [nsys + 1] on the host, the caller's, alive until destroy(); start[0] = 0 */
  PetscInt        kl, ku;
  PetscBool       pivoting;

  /* by create() */
  PetscInt    lanes, width, ngroups;
  PetscInt   *system; /* [ngroups * lanes] system of each lane, -1 for none          */
  PetscInt   *rows;   /* [ngroups]                                                   */
  PetscCount *off;    /* [ngroups + 1] first element of a group                      */
  PetscCount *place;  /* [nsys] element (0, -kl) of a system: off[g] + its lane      */

  /* of the backend */
  PetscScalar             *a; /* [off[ngroups]] in the backend's memory: the caller fills all of it before setup() */
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

/* batch.c: groups for a number of lanes: system, rows, off, place, width; the sum of rows[g] lanes alone */
PETSC_INTERN PetscErrorCode SpikeBatchLayout(SpikeBatch *, PetscInt lanes);
PETSC_INTERN PetscErrorCode SpikeBatchLayoutDestroy(SpikeBatch *);
PETSC_INTERN PetscErrorCode SpikeBatchPadded(const SpikeBatch *, PetscInt lanes, PetscCount *rows);

/*
  Whether the systems of a batch, of which create() has not been called yet, are solved in less time by a lane each than
  as one band: a model of the time
*/
PETSC_INTERN PetscErrorCode SpikeBatchPays(const SpikeBatch *, PetscBool *);

static inline PetscInt SpikeBatchWidth(const SpikeBatch *t)
{
  return t->kl + 1 + t->ku + (t->pivoting ? t->kl : 0);
}
