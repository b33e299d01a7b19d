/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov.h: the contract between the fused Krylov methods (C, no CUDA) and their backends: a table of functions */
#pragma once

#include "kernels/block/block.h"
#include "kernels/dia/dia.h"
#include "idr.h"
#include "kernels/stencil/stencil.h"
#include <petscspike.h>

typedef struct _n_SpikeKrylovKernels SpikeKrylovKernels;

#define SPIKE_KRYLOV_POSTS        256 /* that a device keeps for the host to read        */
#define SPIKE_KRYLOV_MAXDIAGONALS 128 /* diagonals of a copy of a matrix by them, at most */

/* Magnitudes of the largest entry of a matrix whose values may be narrow: others lie well inside the range */
#define SPIKE_NARROW_LARGEST  ((PetscReal)1e37)
#define SPIKE_NARROW_SMALLEST ((PetscReal)1e-30)

/* What the host learns at a start, after an iteration, and when a reason is set */
typedef struct {
  PetscInt  it;
  PetscReal norm, replaced; /* replaced: that of the last residual which replaced that of the recurrence */
  int       reason;
} SpikeKrylovPost;

/*
  The state of one solver in a backend. scalars is the host's copy; the host may change it while nothing is enqueued.

  With ondevice the device's copy counts: the sums and recurrences of steps never leave the device. Without it the host
  takes each step's sums of this rank, adds up those of all ranks, calls SpikeKrylovRecur() and pushes the scalars: the
  only way with several ranks.
*/
typedef struct {
  const SpikeKrylovKernels *k;
  PetscBool                 ondevice;
  PetscBool                 alone; /* one step at a time, no products: create() takes less memory on a device */
  PetscReal                 bytes; /* that create() took on a device                                  */
  SpikeKrylovScalars       *scalars;
  SpikeScalar               local[SPIKE_KRYLOV_MAXDOTS]; /* sums of this rank                                */
  void                     *data;                        /* whatever else the backend needs                  */
  PetscInt                  ncolumns;                    /* most columns of a block, 0 without basis steps   */
  /* small: scalars of basis steps, in the memory of the kernels; hostsmall: the host's copy, NULL with ondevice */
  PetscScalar *small, *hostsmall;
} SpikeKrylov;

/* A matrix in CSR in the backend's memory, n x n, or n rows of columns that others have; with nz = 0 it is not read */
typedef struct {
  PetscInt           n, nz;
  const PetscInt    *ai, *aj;
  const PetscScalar *aa;
} SpikeKrylovCSR;

/*
  A matrix by diagonals, of blocks, or a stencil, that is lent to products. With several ranks a product calls begin()
  and end() on each rank: begin() sends entries of x to other ranks and returns where theirs will be, end() waits for
  them. Rows between ibegin and iend need none of them. Both enqueue on `stream`.
*/
typedef struct {
  const SpikeDIA *dia;
  PetscInt64      nz;
  void           *owner;
  /* NULL where nothing is needed */
  PetscErrorCode (*begin)(void *owner, void *stream, const PetscScalar *x, const PetscScalar **ghost);
  PetscErrorCode (*end)(void *owner, void *stream, const PetscScalar *x);
  /* in place of dia: blocks in the columns of this rank; and in those of others, whose columns are blocks of ghost[] */
  const SpikeBlockMat *block, *off;
} SpikeKrylovLoan;

/*
  The rows of O that have entries, count of them, for couple(): row[k] has the entries at[k] to at[k + 1] - 1 of O. Both
  on the host, allocated; at is [count + 1]
*/
static inline PetscErrorCode SpikeKrylovRowsOf(PetscInt n, const PetscInt ai[], PetscInt *count, PetscInt **row,
                                               PetscInt **at)
{
  PetscFunctionBegin;
  *count = 0;
  for (PetscInt i = 0; ai && i < n; i++) *count += ai[i + 1] > ai[i] ? 1 : 0;
  PetscCall(PetscMalloc1(*count, row));
  PetscCall(PetscCalloc1(*count + 1, at));
  for (PetscInt i = 0, k = 0; ai && i < n; i++)
    if (ai[i + 1] > ai[i]) {
      (*row)[k]  = i;
      (*at)[++k] = ai[i + 1];
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What copies of a matrix begin with. form: KSP_FUSED_SPMV_SELL (not on the host), _DIA, _STENCIL or _BLOCKS */
typedef struct {
  KSPFusedSpMVType form;
  PetscInt64       bytes;  /* that a product reads of it                                  */
  PetscBool        narrow; /* made by narrow(), with values in `precision`                */
  PetscBool        exact;  /* ... that are those of the matrix: no digit was lost         */

  PetscSpikePrecision precision;
} SpikeKrylovCopy;

/*
  Steps over s vectors, for methods whose number of vectors is known at run time. A and B are arrays of s columns, each
  where its Vec lies; a step takes columns first to last - 1, m of them, and c[first] is the factor of column first. The
  last column of the table is words a row.

    DOTS     sums: A^H y, y.y; with z also z.z and conj(y) z                                      m + 1; with z m + 2
    COMBINE  y = a (r - sum c_j A_j) + sum c_j B_j                                                2 m + 2
             A or B is NULL: without that sum; a is NULL: a = 1. y may be B_first: its old value is used
    UPDATE   z -= sum c_j A_j;  y -= sum c_j B_j;  with x also x += a y, r -= a z;  sums: r.r       2 m + 8
             m = 0: y and z stay as they are, and y may be r
    UPDATE   with q: first q -= g (q - r), p -= g (p - x);  sums: d.q, d.d, q.q, r.r of d = q - r   2 m + 12
    SMOOTH   q -= g (q - r);  p -= g (p - x);  sums: q.q. Also where a reason is set              6

  narrow: the vectors A of DOTS are bf16, 1/4 word, where PetscReal has double precision; all else is PetscScalar.

  Sums are those of this rank, in an order that depends on n and the backend alone. c, a and g lie in the backend's
  memory, where recurrences have left them.
*/
typedef enum {
  SPIKE_KRYLOV_DOTS,
  SPIKE_KRYLOV_COMBINE,
  SPIKE_KRYLOV_UPDATE,
  SPIKE_KRYLOV_SMOOTH,
  SPIKE_KRYLOV_NBASISSTEPS
} SpikeKrylovBasisStep;

typedef struct {
  PetscInt           n, first, last;
  PetscScalar      **A, **B;
  const PetscScalar *c, *a;
  PetscScalar       *x, *y, *z, *r, *q, *p; /* NULL where the step has none */
  const PetscScalar *g;
  PetscBool          narrow;
} SpikeKrylovBasis;

/*
  Sums of a step of m columns, 1 for COMBINE and SMOOTH; that of COMBINE means nothing. z and q: whether there is one
*/
static inline PetscInt SpikeKrylovBasisSums(SpikeKrylovBasisStep step, PetscInt m, PetscBool z, PetscBool q)
{
  if (step == SPIKE_KRYLOV_DOTS) return m + (z ? 3 : 1);
  return step == SPIKE_KRYLOV_UPDATE && q ? 4 : 1;
}

/* Operations of a row, and of the COMBINE that follows where there is one, in real arithmetic */
static inline PetscReal SpikeKrylovBasisFlops(SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                              const SpikeKrylovBasis *combine)
{
  const double m = (double)(b->last - b->first), flops[] = {2.0 * m + (b->z ? 6.0 : 2.0), 4.0 * m + 2.0,
                                                            4.0 * m + (b->x ? (b->q ? 19.0 : 6.0) : 0.0), 8.0};

  return (PetscReal)(flops[step] + (combine ? 4.0 * (double)(combine->last - combine->first) + 2.0 : 0.0));
}

/*
  Whole iterations, one after the other in one launch, of methods with a copy of A and B = I or a diagonal matrix. Each
  is the steps listed here, in this order, with the same bits. From the left B comes after the product, from the right
  before it. v[] is x and the work vectors of the method, in its order:

    BCGS  x r rp v t p w    bcgs_p, v = K p, bcgs_alpha, bcgs_s, t = K s, bcgs_omega, bcgs_x      K = B A or A B
    CG    x r z p w s       cg_p, w = A p, cg_alpha; with B = I cg_xr (cg_x, cg_beta for symmetric operators), else
                            cg_xz; z is r with B = I

  The first iteration after a start has no update of p. After an odd number of iterations p is stored in w (CG: in s)
  and v in t. So the caller launches an even number, except where the solve ends.

    IDR   x r t w G U P     with B = I and s vectors each in G, U, P, the merged form: basis steps and recurrences of
                            idr.h. COMBINE of step 0 after a start; then for each product DOTS of g_k = A u_k, or of
                            t = A r, with COLUMN or OMEGA, and UPDATE with NORM and the COMBINE of the next step
*/
typedef enum {
  SPIKE_KRYLOV_NOMETHOD,
  SPIKE_KRYLOV_BCGS,
  SPIKE_KRYLOV_CG,
  SPIKE_KRYLOV_IDR
} SpikeKrylovMethod;

#define SPIKE_KRYLOV_MAXWORK   7 /* of BCGS and CG                        */
#define SPIKE_KRYLOV_MAXSHADOW 8 /* of s of IDR, which is 1, 2, 4 or 8 */

typedef struct {
  SpikeKrylovMethod  method;
  PetscInt           n, s;
  PetscBool          right, symmetric;
  const PetscScalar *diagonal; /* B, NULL where B = I */
  PetscScalar       *v[4 + 3 * SPIKE_KRYLOV_MAXSHADOW];

  /* AUTO: where it is expected to be faster; ON, GRID, CLUSTER: where it can, in the faster form or in this one */
  KSPFusedPersistentType type;
} SpikeKrylovIterations;

struct _n_SpikeKrylovKernels {
  const char  *name;
  PetscMemType memtype;

  /*
    ondevice and alone are set by the caller; destroy() accepts a state partly made. For step() and sums() of the host a
    state of zeros with scalars of the caller is enough
  */
  PetscErrorCode (*create)(SpikeKrylov *);
  PetscErrorCode (*destroy)(SpikeKrylov *);

  /*
    The host's scalars, or the members of the test alone, become the device's. No host waits; the copy is complete when
    the next sums are
  */
  PetscErrorCode (*push)(SpikeKrylov *, PetscBool testonly);

  /*
    Enqueues one step on n rows; v[] are its vectors. Reads and writes each vector once (words a row: the list in
    scalars.h). Does nothing when a reason is set. Sums are added up in an order that depends on n alone: two runs give
    the same bits. Aliased vectors are allowed where only one of them is written.
  */
  PetscErrorCode (*step)(SpikeKrylov *, SpikeKrylovStep, PetscInt n, PetscScalar *const v[]);

  /*
    A diagonal matrix in single precision, in both parts of complex numbers: d is an array of such numbers.

      tosingle()    enqueues d_i <- x_i, i < n
      bysingle()    enqueues y_i <- d_i x_i, whatever reason is set
      singlestep()  as step(), of those that SpikeKrylovDiagonal() knows: d is in the place of that vector. Reads 4
                    bytes a real number of d, where step() reads that of PetscReal; sums in the same order

    d is not x
  */
  PetscErrorCode (*tosingle)(PetscInt n, const PetscScalar *x, void *d);
  PetscErrorCode (*bysingle)(PetscInt n, const void *d, const PetscScalar *x, PetscScalar *y);
  PetscErrorCode (*singlestep)(SpikeKrylov *, SpikeKrylovStep, PetscInt n, PetscScalar *const v[]);

  /* Not ondevice: waits for the last step's sums and puts this rank's into local[] */
  PetscErrorCode (*sums)(SpikeKrylov *, SpikeKrylovStep);

  /*
    ondevice: waits until the device has posted one more time; no call that synchronizes. NULL where the backend cannot
    keep the scalars: ondevice is false then
  */
  PetscErrorCode (*wait)(SpikeKrylov *, SpikeKrylovPost *);

  /*
    The backend's own copy of a matrix, by diagonals or in SELL slices; NULL functions where a backend has none.

      copy()    *copy stays NULL where the form does not suit the matrix; KSP_FUSED_SPMV_AUTO chooses the form that
                moves the fewest bytes. n and nz may be 0
      refill()  new values in the same pattern
      mult()    enqueues y <- A x, or y <- D A x with the diagonal matrix D in scale, with the sums of a step in its
                epilogue: y is one of the step's vectors v[], and the step writes none. With SPIKE_KRYLOV_NSTEPS it is
                the product alone. Reads the copy, scale, x and the other vectors of the step once, writes y once
  */
  PetscErrorCode (*copy)(SpikeKrylov *, const SpikeKrylovCSR *, KSPFusedSpMVType, void **copy);
  PetscErrorCode (*refill)(SpikeKrylov *, const SpikeKrylovCSR *, void *copy);

  /*
    Products with a copy become y <- A x + O ghost: O in CSR has a row for each of A, its columns are places of ghost[],
    which begin() and end() of the loan supply; dia is NULL there. Rows that O has entries in are summed when ghost[] is
    complete, the others before. *coupled is false where there is no memory for it: the copy is as before then.
    recouple(): new values of O in the same pattern. NULL where copy() is
  */
  PetscErrorCode (*couple)(SpikeKrylov *, const SpikeKrylovCSR *O, const SpikeKrylovLoan *, void *copy,
                           PetscBool *coupled);
  PetscErrorCode (*recouple)(SpikeKrylov *, const SpikeKrylovCSR *O, void *copy);

  /*
    The same from a matrix by diagonals in the backend's memory that stays where it is: nothing is copied, and new
    values need no refill(). NULL where a backend cannot, or not with other ranks
  */
  PetscErrorCode (*borrow)(SpikeKrylov *, const SpikeKrylovLoan *, void **copy);
  PetscErrorCode (*destroycopy)(SpikeKrylov *, void **copy);
  PetscErrorCode (*mult)(SpikeKrylov *, const void *copy, SpikeKrylovStep, const PetscScalar *scale,
                         const PetscScalar *x, PetscScalar *y, PetscScalar *const v[]);

  /*
    A copy of a copy, or of what is lent, whose values have single precision or are bf16: products read fewer bytes, and
    compute in PetscScalar. Places are those of the copy, which has to stay. With each row comes a number c_i in single
    precision, the sum of what rounding has taken from the entries of the row, and the product is

        y_i = c_i x_i + sum_j a~_ij x_j

    so that A~ = A + E with |e_ij| <= u |a_ij| beside the diagonal, u = 2^-24 or 2^-9, and E 1 = 0, up to u 2^-24. So a
    matrix with weights -a_ij on the edges of a graph, a_ij <= 0, and row sums of its own, such as diffusion has, gives
    another one of that kind, whose weights differ by a factor of 1 + u: whatever the condition of A, x^H E x <= u x^H A
    x.

      narrow()  *narrow stays NULL, or becomes NULL, where that cannot be: no memory, values out of the range of single
                precision, a stencil, blocks, columns of other ranks beside a copy. Where *narrow is not NULL the values
                are new, in the same places. `always`: also where products are not expected to be faster, because the
                copy stays in a cache.

    mult(), basismult() and destroycopy() take what it makes; the D of mult(), in scale, is one of tosingle() then. For
    one right-hand side; iterate() launches nothing. NULL where a backend has none.
  */
  PetscErrorCode (*narrow)(SpikeKrylov *, const void *copy, PetscSpikePrecision, PetscBool always, void **narrow);

  /*
    Goes on after a reason: the reason, which the host has cleared, and the test become the device's, all other scalars
    stay. No host waits
  */
  PetscErrorCode (*resume)(SpikeKrylov *);

  /* The stream of step() and mult(), for work of others between them. It may change: callers ask before each use */
  void *(*stream)(SpikeKrylov *);

  /*
    Work that step(), mult() and others on stream() enqueue between capture(PETSC_TRUE) and capture(PETSC_FALSE) is not
    done then, but each time the graph is replayed. The graph is NULL where it could not be made: nothing has been done
    then.
  */
  PetscErrorCode (*capture)(SpikeKrylov *, PetscBool begin, void **graph);
  PetscErrorCode (*replay)(SpikeKrylov *, void *graph);
  PetscErrorCode (*destroygraph)(SpikeKrylov *, void **graph);

  /*
    Basis steps: at most maxcolumns columns. basiscreate() makes room for blocks of s columns and for `small` scalars,
    in place of what there was; destroy() takes it away
  */
  PetscInt maxcolumns;
  PetscErrorCode (*basiscreate)(SpikeKrylov *, PetscInt s, PetscInt small);

  /*
    basisstep() enqueues a basis step, and after it the COMBINE `combine`, which starts from the r of the step; NULL:
    none. basismult() enqueues y <- A x by the copy and DOTS of this y; its z is any vector but y, or NULL. On a device
    each is one pass over the vectors, and rows that wait for columns of other ranks have one of their own; NULL where a
    backend has none. Nothing is done when a reason is set. With a recurrence sums are taken: ondevice the
    recurrence follows, else basissums() waits for those of this rank. basispush(): the host's scalars become those of
    the kernels; no host waits.
  */
  PetscErrorCode (*basisstep)(SpikeKrylov *, SpikeKrylovBasisStep, const SpikeKrylovBasis *,
                              const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *);
  PetscErrorCode (*basismult)(SpikeKrylov *, const void *copy, const PetscScalar *x, const SpikeKrylovBasis *,
                              const SpikeIDRRecurrence *);
  PetscErrorCode (*basissums)(SpikeKrylov *, PetscInt nsums, PetscScalar sums[]);
  PetscErrorCode (*basispush)(SpikeKrylov *);

  /* Enqueues p[i] <- SpikeIDRShadow(start + i, k, generation), i < n: the same values in each backend */
  PetscErrorCode (*shadow)(PetscInt n, PetscInt start, PetscInt k, PetscInt generation, PetscScalar *p);

  /* Enqueues y_i <- x_i as bf16, i < n: a narrow vector of DOTS. y is not x */
  PetscErrorCode (*toshadow)(PetscInt n, const PetscScalar *x, void *y);

  /*
    ondevice: enqueues at most `its` iterations in one launch and says how many: fewer than SPIKE_KRYLOV_POSTS. 0 where
    they do not suit, or are not expected to be faster: nothing has been enqueued then. Each iteration posts as its last
    step does, so all earlier posts must have been read. Nothing is done once a reason is set. cluster: by one cluster
    of thread blocks, else by the whole device. NULL where a backend has none.
  */
  PetscErrorCode (*iterate)(SpikeKrylov *, const void *copy, const SpikeKrylovIterations *, PetscInt its,
                            PetscInt *launched, PetscBool *cluster);

  /*
    As borrow(), from a stencil in the backend's memory, whose box is this rank's rows. loan->begin() supplies ghost
    points; NULL: there are none. loan->dia is NULL. form is KSP_FUSED_SPMV_STENCIL; bytes is 0 with constant
    coefficients. Coefficients may be arguments of launches: new values need another copy and other graphs.
    Several right-hand sides have no such product. NULL where a backend cannot.
  */
  PetscErrorCode (*borrowstencil)(SpikeKrylov *, const SpikeStencil *, const SpikeKrylovLoan *, void **copy);

  /*
    As borrow(), from the blocks of the loan, square ones of up to SPIKE_BLOCK_MAXBS rows: loan->dia is NULL, off is
    where begin() is not. Pattern and values stay where they are. form is KSP_FUSED_SPMV_BLOCKS. A product has the bits
    of a SPIKE_BLOCK_MULT for sizes that have kernels of their own in both, else its rounding. Several right-hand sides
    have no such product. NULL where a backend cannot.
  */
  PetscErrorCode (*borrowblocks)(SpikeKrylov *, const SpikeKrylovLoan *, void **copy);
};

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeKrylovKernels SpikeKrylovKernels_Host, SpikeKrylovKernels_CUDA;

/* backend.c: the backend for data of a memory type, NULL where the library has none */
PETSC_INTERN const SpikeKrylovKernels *SpikeKrylovKernelsFind(PetscMemType);

/* What a step does with its vectors, for those who fetch them */
typedef struct {
  const char *name;
  PetscInt    nvectors, ndots;
  unsigned    read, written;
  PetscReal   flops; /* a row, in real arithmetic */
} SpikeKrylovStepInfo;
PETSC_INTERN const SpikeKrylovStepInfo SpikeKrylovSteps[SPIKE_KRYLOV_NSTEPS];

/* Host loops of one instruction set, one for each step */
typedef void (*SpikeKrylovLoop)(PetscInt n, const SpikeKrylovFactors *, PetscScalar *const v[], PetscScalar sums[]);
PETSC_INTERN const SpikeKrylovLoop SpikeKrylovLoops_base[SPIKE_KRYLOV_NSTEPS], SpikeKrylovLoops_v3[SPIKE_KRYLOV_NSTEPS],
  SpikeKrylovLoops_v4[SPIKE_KRYLOV_NSTEPS];

/* The same with a diagonal matrix in single precision; NULL for steps without one */
PETSC_INTERN const SpikeKrylovLoop SpikeKrylovSingleLoops_base[SPIKE_KRYLOV_NSTEPS],
  SpikeKrylovSingleLoops_v3[SPIKE_KRYLOV_NSTEPS], SpikeKrylovSingleLoops_v4[SPIKE_KRYLOV_NSTEPS];

/* Products by narrow values of the tables of a matrix by diagonals, in single precision and in bf16 */
typedef void (*SpikeKrylovNarrowLoop)(const SpikeDIA *, const void *val, const void *correction, PetscInt begin,
                                      PetscInt end, const PetscScalar *x, const PetscScalar *ghost, PetscScalar *y);
PETSC_INTERN const SpikeKrylovNarrowLoop SpikeKrylovNarrowLoops_base[2], SpikeKrylovNarrowLoops_v3[2],
  SpikeKrylovNarrowLoops_v4[2];

typedef void (*SpikeKrylovBasisLoop)(const SpikeKrylovBasis *, PetscScalar sums[]);
PETSC_INTERN const SpikeKrylovBasisLoop SpikeKrylovBasisLoops_base[SPIKE_KRYLOV_NBASISSTEPS],
  SpikeKrylovBasisLoops_v3[SPIKE_KRYLOV_NBASISSTEPS], SpikeKrylovBasisLoops_v4[SPIKE_KRYLOV_NBASISSTEPS];
