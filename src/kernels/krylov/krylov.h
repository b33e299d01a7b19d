/* SPDX-License-Identifier: BSD-2-Clause */
/*
  krylov.h: the contract between the fused Krylov methods (C, no CUDA) and the backends: a table of functions, apart
  from SpikeKernels
*/
#pragma once

#include "kernels/dia/dia.h"
#include "idr.h"
#include "kernels/stencil/stencil.h"
#include <petscspike.h>

typedef struct _n_SpikeKrylovKernels SpikeKrylovKernels;

#define SPIKE_KRYLOV_POSTS 256 /* that a device keeps for the host to read        */
#define SPIKE_DIA_MOST     128 /* diagonals of a copy of a matrix by them, at most */

/* What the host learns at a start, after an iteration, and when a reason is set */
typedef struct {
  PetscInt  it;
  PetscReal norm;
  int       reason;
} SpikeKrylovPost;

/*
  The state of one solver in a backend. scalars is the host's copy, which the host may change while nothing is enqueued;
  with ondevice the device's own copy is the one that counts, and the sums of a step and its recurrence never leave the
  device. Without, the host takes each step's local sums, adds up those of all ranks, calls SpikeKrylovRecur() and sends
  the scalars back: the only way with several ranks.
*/
typedef struct {
  const SpikeKrylovKernels *k;
  PetscBool                 ondevice;
  SpikeKrylovScalars       *scalars;
  SpikeScalar               local[SPIKE_KRYLOV_MAXDOTS]; /* sums of this rank                                */
  void                     *data;                        /* whatever else the backend needs                  */
  PetscInt                  ncolumns;                    /* most columns of a block, 0 without basis steps   */
  /*
    scalars of basis steps where the kernels are, and where the host makes their recurrences; NULL is the latter with
    ondevice
  */
  PetscScalar *small, *hostsmall;
} SpikeKrylov;

/* A matrix in CSR in the backend's memory, n x n */
typedef struct {
  PetscInt           n, nz;
  const PetscInt    *ai, *aj;
  const PetscScalar *aa;
} SpikeKrylovCSR;

/*
  A matrix by diagonals, or a stencil, that is lent to products. With other ranks begin() sends what they need of x and
  says where their columns of x will be, and end() waits for those: rows between ibegin and iend need them not. All
  ranks call both in each product, which enqueues on `stream`.
*/
typedef struct {
  const SpikeDIA *dia;
  PetscInt64      nz;
  void           *owner;
  /* NULL where nothing is needed */
  PetscErrorCode (*begin)(void *owner, void *stream, const PetscScalar *x, const PetscScalar **ghost);
  PetscErrorCode (*end)(void *owner, void *stream, const PetscScalar *x);
} SpikeKrylovLoan;

/* What copies of a matrix begin with. form: KSP_FUSED_SPMV_SELL (not on the host), _DIA or _STENCIL */
typedef struct {
  KSPFusedSpMVType form;
  PetscInt64       bytes; /* that a product reads of it */
} SpikeKrylovCopy;

/*
  Steps over blocks of s vectors, for methods whose number of vectors is known at run time: blocks are arrays of s
  columns, of which a step takes first to last - 1; each column lies where its Vec does. c[] has a factor for each
  column, first for the column first. m is last - first; words a row in brackets.

    DOTS     sums = A^H y, then y.y; with z also z.z and y.z = conj(y) z
             (m + 1, + 1)
    COMBINE  y = a (r - sum c_j A_j) + sum c_j B_j; y may be B_first, whose old value is taken then; with m = 0, y = a r
    (2 m + 2)
             without A or B the sum is not there, without a it is 1
    UPDATE   z -= sum c_j A_j; y -= sum c_j B_j; with x: x += a y, then r -= a z; sums: r.r; y may be r where m = 0   (2
             m + 8)
             with q before that q -= g (q - r), p -= g (p - x), and the sums are d.q, d.d, q.q, r.r of d = q - r      (+
             4)
    SMOOTH   q -= g (q - r); p -= g (p - x); sums: q.q; also where a reason is set                                   (6)

  Sums are those of this rank, in an order that depends on n and the backend alone. UPDATE with m = 0 leaves y and z
  alone. c, a and g lie in the backend's memory, where recurrences have left them: the host reads them where it is the
  backend.
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
} SpikeKrylovBasis;

/* How many sums a step of m columns has; z and q: whether there is one */
static inline PetscInt SpikeKrylovBasisSums(SpikeKrylovBasisStep step, PetscInt m, PetscBool z, PetscBool q)
{
  if (step == SPIKE_KRYLOV_DOTS) return m + (z ? 3 : 1);
  return step == SPIKE_KRYLOV_UPDATE && q ? 4 : 1;
}

/* Operations of a row, and of the COMBINE behind it where there is one, in real arithmetic */
static inline PetscReal SpikeKrylovBasisFlops(SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                              const SpikeKrylovBasis *combine)
{
  const PetscReal m = (PetscReal)(b->last - b->first), flops[] = {2.0 * m + (b->z ? 6.0 : 2.0), 4.0 * m + 2.0,
                                                                  4.0 * m + (b->x ? (b->q ? 19.0 : 6.0) : 0.0), 8.0};

  return (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) *
         (flops[step] + (combine ? 4.0 * (combine->last - combine->first) + 2.0 : 0.0));
}

/*
  Whole iterations, one after the other in one launch, of methods with a copy of A and B = I or a diagonal matrix. Each
  is the steps of the list in that order, and the bits are theirs; where B is from the left it is behind the product,
  else in front of it. v[] begins with x; then come the work vectors of the method, in its order:

    BCGS  x r rp v t p w    bcgs_p, v = K p, bcgs_alpha, bcgs_s, t = K s, bcgs_omega, bcgs_x      K = B A or A B
    CG    x r z p w s       cg_p, w = A p, cg_alpha; with B = I cg_xr (cg_x, cg_beta for symmetric operators), else
                            cg_xz; z is r with B = I

  Without the update of p in the first iteration after a start. An odd number of iterations leaves p in w (CG: in s),
  and v in t: the caller launches an even number, or has no use for more.
*/
typedef enum {
  SPIKE_KRYLOV_NOMETHOD,
  SPIKE_KRYLOV_BCGS,
  SPIKE_KRYLOV_CG
} SpikeKrylovMethod;

#define SPIKE_KRYLOV_MAXWORK 7

typedef struct {
  SpikeKrylovMethod  method;
  PetscInt           n;
  PetscBool          right, symmetric;
  PetscBool          always;   /* also where it is not expected to be faster */
  const PetscScalar *diagonal; /* B, NULL where B = I                        */
  PetscScalar       *v[SPIKE_KRYLOV_MAXWORK];
} SpikeKrylovIterations;

struct _n_SpikeKrylovKernels {
  const char  *name;
  PetscMemType memtype;

  /* ondevice is set by the caller; destroy() accepts a state partly made */
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

  /* Not ondevice: waits for the last step's sums and puts this rank's into local[] */
  PetscErrorCode (*sums)(SpikeKrylov *, SpikeKrylovStep);

  /*
    ondevice: waits until the device has posted one more time; no call that synchronizes. NULL where the backend cannot
    keep the scalars: ondevice is false then
  */
  PetscErrorCode (*wait)(SpikeKrylov *, SpikeKrylovPost *);

  /*
    A copy of a matrix in a form of the backend's own; NULL functions where a backend has none. copy() leaves NULL for a
    matrix that the form does not suit, and chooses the form that moves the fewest bytes with KSP_FUSED_SPMV_AUTO.
    refill() takes new values in the same pattern. mult() enqueues y <- A x, or y <- D A x with the diagonal matrix D in
    scale, with the step's sums in its epilogue: y is one of the step's vectors v[], and the step writes none; with
    SPIKE_KRYLOV_NSTEPS the product alone. Reads the copy, scale, x and the other vectors of the step once, writes y
    once.
  */
  PetscErrorCode (*copy)(SpikeKrylov *, const SpikeKrylovCSR *, KSPFusedSpMVType, void **copy);
  PetscErrorCode (*refill)(SpikeKrylov *, const SpikeKrylovCSR *, void *copy);

  /*
    The same from a matrix by diagonals in the backend's memory that stays where it is: nothing is copied, and new
    values need no refill(). NULL where a backend cannot, or not with other ranks
  */
  PetscErrorCode (*borrow)(SpikeKrylov *, const SpikeKrylovLoan *, void **copy);
  PetscErrorCode (*destroycopy)(SpikeKrylov *, void **copy);
  PetscErrorCode (*mult)(SpikeKrylov *, const void *copy, SpikeKrylovStep, const PetscScalar *scale,
                         const PetscScalar *x, PetscScalar *y, PetscScalar *const v[]);

  /* Where step() and mult() enqueue, for others whose work is to lie between them; asked anew each time */
  void *(*stream)(SpikeKrylov *);

  /*
    What is enqueued by step() and mult(), and by others on stream(), between capture(PETSC_TRUE) and
    capture(PETSC_FALSE) is not done then, but each time the graph is replayed. The graph is NULL where it could not be
    made, and nothing has been done then.
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
    Enqueues a basis step, behind y <- A x by the copy of A where there is one (DOTS of this y; x is z where that is
    there), and in front of a COMBINE that starts from the r of this step where there is one: one pass over the vectors
    on a device. Does nothing when a reason is set. With a recurrence its sums are taken: ondevice the recurrence
    follows, else basissums() waits for them, on this rank. basispush(): the host's scalars become those of the kernels;
    no host waits.
  */
  PetscErrorCode (*basisstep)(SpikeKrylov *, SpikeKrylovBasisStep, const SpikeKrylovBasis *,
                              const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *);
  PetscErrorCode (*basismult)(SpikeKrylov *, const void *copy, const PetscScalar *x, const SpikeKrylovBasis *,
                              const SpikeIDRRecurrence *);
  PetscErrorCode (*basissums)(SpikeKrylov *, PetscInt nsums, PetscScalar sums[]);
  PetscErrorCode (*basispush)(SpikeKrylov *);

  /* Enqueues p[i] <- SpikeIDRShadow(start + i, k, generation), i < n: the same numbers in each backend */
  PetscErrorCode (*shadow)(PetscInt n, PetscInt start, PetscInt k, PetscInt generation, PetscScalar *p);

  /*
    ondevice: enqueues iterations, at most `its`, in one launch, and says how many: fewer than SPIKE_KRYLOV_POSTS, even
    where there are fewer than `its`. Each posts as its last step does, so that all posts before must have been read.
    Nothing is done when a reason is set, or once one is. 0 where it does not suit, or is not expected to be faster;
    nothing has been enqueued then. NULL where a backend has none.
  */
  PetscErrorCode (*iterate)(SpikeKrylov *, const void *copy, const SpikeKrylovIterations *, PetscInt its,
                            PetscInt *launched);

  /*
    As borrow(), from a stencil in the backend's memory, whose box is this rank's rows; points around the box come by
    the loan, which has no matrix, and do not exist where that has no begin(). Its form is KSP_FUSED_SPMV_STENCIL, and
    bytes are 0 with constant coefficients. Their values may be in launches:
    others want another copy, and other graphs. Columns have no such product. NULL where a backend cannot.
  */
  PetscErrorCode (*borrowstencil)(SpikeKrylov *, const SpikeStencil *, const SpikeKrylovLoan *, void **copy);
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

typedef void (*SpikeKrylovBasisLoop)(const SpikeKrylovBasis *, PetscScalar sums[]);
PETSC_INTERN const SpikeKrylovBasisLoop SpikeKrylovBasisLoops_base[SPIKE_KRYLOV_NBASISSTEPS],
  SpikeKrylovBasisLoops_v3[SPIKE_KRYLOV_NBASISSTEPS], SpikeKrylovBasisLoops_v4[SPIKE_KRYLOV_NBASISSTEPS];
