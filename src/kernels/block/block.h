/* SPDX-License-Identifier: BSD-2-Clause */
/*
  block.h: the contract of the block kernels: tall blocks, matrices of small dense blocks, their incomplete factors.
  Callers are C and know no CUDA; each backend is a table of functions
*/
#pragma once

#include "kernels/common/types.h"

#define SPIKE_BLOCK_MAXBS 32 /* largest block; 4, 8 and 16 are those to be fast with */
#define SPIKE_BLOCK_MAXM  32 /* columns of a small block, at most */

typedef struct _n_SpikeBlockKernels SpikeBlockKernels;

/*
  Values are real or complex as PetscScalar is; their precision is an argument of each call,
  PETSC_SPIKE_PRECISION_DOUBLE or _SINGLE, and `void *` points to such values. Vectors that meet factors are
  PetscScalar. Pointers are to the backend's memory unless a comment says otherwise. Offsets are 64-bit. Everything is
  deterministic: two runs give the same bits, and a task has the same bits whatever other tasks are in the batch.

  The state of a backend. The caller sets k, all the rest zero, and calls create(). stream is read in each call: NULL on
  the host; NULL on a device is PETSc's current one.
*/
typedef struct {
  void                    *data;
  void                    *stream;
  const SpikeBlockKernels *k;
} SpikeBlock;

/*
  Operations (Afanasyev et al., Procedia Comp. Sci. 66, 2015, section 3). X, Y, Z tall: element (i, j) at [i + j ld], or
  with rowmajor at [i ld + j]. Small ones are always column-major. [op] is =, += or -= as mode says.

    AXPY            Y [op] X Z      Y n x m, X n x k, Z k x m small. Y may be X where ldy = ldx and k = m.
                                    Reads and writes (k + m) n words, and m n more for += and -=
    DOT             Y [op] X^H Z    Y k x m small, X n x k, Z n x m. Z may be X: it is read once then.
                                    Reads (k + m) n words
    MULT            Y [op] A X      Y n x m, n = bs mb; X has bs nb rows. X and Y apart.
                                    Reads A once, X and Y as often as the cache makes necessary
    MULT_TRANSPOSE  Y [op] A^T X    Y n x m, n = bs nb; X has bs mb rows. X and Y apart.
    MULT_HERMITIAN  Y [op] A^H X    the same

  1 <= k, m <= SPIKE_BLOCK_MAXM, n >= 0: with n = 0, DOT's = sets Y to zero. The order of DOT's sums depends on n, k, m,
  rowmajor and the backend alone. = does not read Y. Rows from n to the leading dimension, and with rowmajor columns
  from m to ld, are neither read nor written. Fields that an operation does not name are not read.
*/
typedef enum {
  SPIKE_BLOCK_AXPY,
  SPIKE_BLOCK_DOT,
  SPIKE_BLOCK_MULT,
  SPIKE_BLOCK_MULT_TRANSPOSE,
  SPIKE_BLOCK_MULT_HERMITIAN,
  SPIKE_BLOCK_NOPS
} SpikeBlockOp;

typedef enum {
  SPIKE_BLOCK_SET,
  SPIKE_BLOCK_ADD,
  SPIKE_BLOCK_SUB
} SpikeBlockMode;

/* A sparse matrix of mb x nb blocks bs x bs: pattern on the host while matcreate() runs, then the backend's */
typedef struct {
  PetscInt bs, mb, nb;
  /* values of the caller, in the order of bj, each block column-major; may be set anew before each run() */
  const void *a;
  void       *data; /* by matcreate() */
} SpikeBlockMat;

typedef struct {
  SpikeBlockOp         op;
  SpikeBlockMode       mode;
  PetscBool            rowmajor;
  PetscInt             n, k, m;
  const void          *X, *Z;
  void                *Y;
  PetscCount           ldx, ldz, ldy;
  const SpikeBlockMat *A;
} SpikeBlockTask;

/*
  The pattern of L and U, on the host: SpikeBlockSymbolic() makes it and SpikeBlockPatternDestroy() frees it. Rows and
  columns are those of blocks. Tasks are the subdomains: independent matrices one after the other in the same arrays.
  Task t has rows start[t] <= i < start[t + 1], and no entry of L or U leaves it; lengths may differ, and be 0.

      A ~ (I + L)(D + U)    L strictly lower, U strictly upper, D the diagonal blocks, stored as inverses,
                            as in PETSc's MATBAIJ factors

  Row i of L has the columns lj[li[i] .. li[i + 1]), ascending, that of U uj[ui[i] .. ui[i + 1]). Both count the rows of
  all tasks through. Levels of L: a row belongs to the first level after those of the rows that its L names. Level l of
  all tasks together is rows levelrow[0][levelptr[0][l] .. levelptr[0][l + 1]), ascending; there are as many levels as
  the task with most has. The lower solve and the factorization take them in order, the solve with I + L^T in reverse.
  Levels of U, [1], are for the upper solve; in reverse for D^T + U^T.
*/
typedef struct {
  PetscInt  bs, nb, ntasks;
  PetscInt  levels;  /* of fill; PETSC_INT_MAX: complete                                                   */
  PetscInt *start;   /* [ntasks + 1]                                                                      */
  PetscInt *newrow;  /* [nb] row and column i of the matrix are newrow[i] of the factors; NULL: they stay   */
  PetscInt *oldrow;  /* [nb] and back; NULL likewise                                                      */
  PetscInt *li, *lj; /* [nb + 1], [li[nb]]                                                                */
  PetscInt *ui, *uj;
  PetscInt  nlevels[2];
  PetscInt *levelptr[2];   /* [nlevels + 1] */
  PetscInt *levelrow[2];   /* [nb]          */
  PetscInt  maxlevels[2];  /* of a single task, for who runs tasks apart                                          */
  PetscInt  kept, dropped; /* blocks of the matrix that are in the pattern; that lead from one task to another     */
  /*
    row (of the matrix) of the first diagonal block that the matrix does not have, -1 if none: it is in the factors,
    filled with zeros
  */
  PetscInt missing;
} SpikeBlockPattern;

/*
  The matrix in CSR, in the backend's memory: of scalars (bs = 1), or of column-major blocks of the factors' size (bs is
  that size)
*/
typedef struct {
  PetscInt           bs;
  const PetscInt    *ai, *aj;
  const PetscScalar *aa;
} SpikeBlockCSR;

/*
  What fill() saw. Rows are rows of the matrix, not blocks, counted from the rank's first. Entries that leave their task
  count for badrow only
*/
typedef struct {
  PetscReal norm;        /* largest sum of |a_ij| over a row, of what is kept                                     */
  PetscInt  badrow;      /* first row with a value that is not finite, -1 if none                                 */
  PetscInt  overflowrow; /* first row with a finite value that the precision of the factors cannot hold, -1 if none */
} SpikeBlockFillStats;

/* Factors */
typedef struct {
  const SpikeBlockPattern *p;         /* the caller's, alive until ludestroy() */
  PetscSpikePrecision      precision; /* DOUBLE or SINGLE                      */
  PetscInt                 maxrhs;    /* columns that work space is made for; lusolve() takes any number, in batches */
  /*
    set by the caller before lucreate(): transposed solves will come. If not set, the first one may wait and allocate
    what it needs
  */
  PetscBool   trans;
  SpikeBlock *b;
  void       *data; /* by lucreate() */
} SpikeBlockLU;

typedef enum {
  SPIKE_BLOCK_PLAIN,
  SPIKE_BLOCK_TRANSPOSED,
  SPIKE_BLOCK_HERMITIAN
} SpikeBlockTrans;

struct _n_SpikeBlockKernels {
  const char  *name;
  PetscMemType memtype;
  /* lusolve() is only enqueued, and all of it on the stream of the state: a CUDA graph may capture it */
  PetscBool enqueues;

  /* destroy() accepts what is partly made. The state must outlive what is made with it. */
  PetscErrorCode (*create)(SpikeBlock *);
  PetscErrorCode (*destroy)(SpikeBlock *);

  /*
    Copies the pattern of A, bi [mb + 1] and bj on the host; with trans also makes what products with the transpose
    need. bs <= SPIKE_BLOCK_MAXBS. Columns of a row may come in any order, and more than once. matdestroy() accepts what
    is partly made.
  */
  PetscErrorCode (*matcreate)(SpikeBlock *, PetscInt bs, PetscInt mb, PetscInt nb, const PetscInt bi[],
                              const PetscInt bj[], PetscBool trans, SpikeBlockMat *);
  PetscErrorCode (*matdestroy)(SpikeBlock *, SpikeBlockMat *);

  /* The pattern that matcreate() has copied, in the backend's memory, until matdestroy() */
  PetscErrorCode (*matpattern)(const SpikeBlockMat *, const PetscInt **bi, const PetscInt **bj);

  /*
    pack(): y[i bs + r] <- x[index[i] bs + r]. unpackadd(): x[index[i] bs + r] += y[i bs + r], where no index comes
    twice. 0 <= i < n, 0 <= r < bs, index[] in the backend's memory. Both enqueue
  */
  PetscErrorCode (*pack)(SpikeBlock *, PetscInt bs, PetscInt n, const PetscInt index[], const PetscScalar x[],
                         PetscScalar y[]);
  PetscErrorCode (*unpackadd)(SpikeBlock *, PetscInt bs, PetscInt n, const PetscInt index[], const PetscScalar y[],
                              PetscScalar x[]);

  /*
    Assembly from coordinates: a[p] <- sum of v[from[k]] over first[p] <= k < first[p + 1], in this order, added to what
    a[p] was where `add`. 0 <= p < n, all arrays in the backend's memory. Enqueues. Reads v once, in the order of from
  */
  PetscErrorCode (*assemble)(SpikeBlock *, PetscCount n, const PetscCount first[], const PetscCount from[],
                             const PetscScalar v[], PetscBool add, PetscScalar a[]);

  /*
    Enqueues all tasks, of any operations, shapes and sizes, as if at once: none reads or writes what another writes.
    tasks[] is on the host and may go when run() returns. One launch for as many tasks as a backend can put in one. A
    device neither waits nor allocates, except for DOT's partial sums when there are more of them than before.
  */
  PetscErrorCode (*run)(SpikeBlock *, PetscSpikePrecision, PetscInt count, const SpikeBlockTask tasks[]);

  /*
    Two AXPY on the same rows, with the results of two calls of run(). Both are applied row by row, so that what both
    read comes from memory once. The second Y may be the first, and its X the first Y.
  */
  PetscErrorCode (*chain)(SpikeBlock *, PetscSpikePrecision, const SpikeBlockTask tasks[2]);

  /*
    Before lucreate(): bytes of the factors, and about those of all else that it allocates. PetscReal, which does not
    overflow
  */
  PetscErrorCode (*lubytes)(const SpikeBlockLU *, PetscReal *factors, PetscReal *extra);

  /*
    Allocates everything for the pattern; the layout of the factors is the backend's. ludestroy() accepts what is partly
    made. lureserve() makes room for that many columns and keeps all else
  */
  PetscErrorCode (*lucreate)(SpikeBlockLU *);
  PetscErrorCode (*ludestroy)(SpikeBlockLU *);
  PetscErrorCode (*lureserve)(SpikeBlockLU *, PetscInt maxrhs);

  /*
    L, D, U <- the entries of the matrix that stay in their task; entries that the matrix does not have become zero. All
    fills between lucreate() and ludestroy() have the same contents of ai and aj, at any address: a backend may keep a
    map. Reads each entry once and writes all factors once. A row has each column once.
  */
  PetscErrorCode (*lufill)(SpikeBlockLU *, const SpikeBlockCSR *, SpikeBlockFillStats *);

  /*
    Numeric factorization, by rows:  for k in L's row i, ascending:  L_ik <- A_ik D_k^-1;  A_ij -= L_ik U_kj for the j
    of U's row k that are in row i of L, D or U.  Then D_i <- D_i^-1 by Gauss-Jordan elimination with row exchanges; the
    pivot is the largest |element| of a column from the diagonal on. Arithmetic is that of the factors' precision.

    A pivot with |pivot| <= tol, or not finite, is bad. With boost > 0 a small one becomes pivot boost / |pivot| (boost
    where it is 0) and is counted. Else it is replaced by 1 and reported: badrow, the first such row of all tasks (block
    row times bs + step, in the order of the factors), and badvalue. Results that depend on it mean nothing, those of
    other tasks are right. With `relative`, tol and boost are first multiplied by the norm that the last fill saw (by 1
    where it is 0); *pivot gets them as they were used.
  */
  PetscErrorCode (*lufactor)(SpikeBlockLU *, SpikePivot *);

  /*
    NULL: lufill() and lufactor() are done when they return. Else they are only enqueued. The next lufinish() waits, and
    writes their results through the pointers that they were given. A setup calls it once on one rank, and on several
    ranks twice: after lufill(), whose norm is summed over the ranks, and after lufactor()
  */
  PetscErrorCode (*lufinish)(SpikeBlockLU *);

  /*
    x <- ((I + L)(D + U))^-1 b in the order of the matrix, or with the (conjugate) transpose of the operator. nrhs
    columns, ldb and ldx apart, at least bs nb. x may be b with ldx = ldb; no other overlap. Reads L, D and U once for
    each batch of maxrhs columns. A column's bits do not depend on nrhs. Arithmetic is that of PetscScalar. Enqueues;
    allocates nothing and does not wait.
  */
  PetscErrorCode (*lusolve)(SpikeBlockLU *, SpikeBlockTrans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                            PetscScalar *x, PetscCount ldx);

  /*
    For tests: the factors, to the host, as column-major blocks of PetscScalar in the order of lj, of rows and of uj; D
    is the inverse that is kept. Waits
  */
  PetscErrorCode (*luget)(SpikeBlockLU *, PetscScalar *L, PetscScalar *D, PetscScalar *U);

  /*
    memory(): bytes that can be allocated. begin(), end(): log device time around one phase. alloc(), release(), copy():
    the backend's memory; copies from or to the host's are complete on return. synchronize(): waits for all work
  */
  PetscErrorCode (*memory)(PetscReal *);
  PetscErrorCode (*begin)(SpikeBlock *);
  PetscErrorCode (*end)(SpikeBlock *);
  PetscErrorCode (*alloc)(SpikeBlock *, size_t bytes, void **);
  PetscErrorCode (*release)(SpikeBlock *, void **);
  PetscErrorCode (*copy)(SpikeBlock *, PetscBool todevice, PetscBool fromdevice, void *dst, const void *src,
                         size_t bytes);
  PetscErrorCode (*synchronize)(SpikeBlock *);
};

/* the latter where the library was built with it */
PETSC_INTERN const SpikeBlockKernels SpikeBlockKernels_Host, SpikeBlockKernels_CUDA;

/* backend.c: the backend for data of a memory type, NULL where the library has none */
PETSC_INTERN const SpikeBlockKernels *SpikeBlockKernelsFind(PetscMemType);

/*
  block.c, color.c, on the host:

  The pattern of blocks of a matrix in CSR of nb bs rows; bi [nb + 1] and bj are allocated, columns ascending. Columns
  from nb bs on are not allowed. If SpikeBlockCompress() or SpikeBlockTransposePattern() fails, the caller frees each
  output array that is not NULL.
*/
PETSC_INTERN PetscErrorCode SpikeBlockCompress(PetscInt bs, PetscInt nb, const PetscInt ai[], const PetscInt aj[],
                                               PetscInt **bi, PetscInt **bj);

/*
  The pattern of the transpose of mb x nb blocks, columns ascending; tp, or NULL: where its entries are in aj. All
  allocated
*/
PETSC_INTERN PetscErrorCode SpikeBlockTransposePattern(PetscInt mb, PetscInt nb, const PetscInt ai[],
                                                       const PetscInt aj[], PetscInt **ti, PetscInt **tj,
                                                       PetscInt **tp);

/*
  Level of fill (Saad, Iterative methods for sparse linear systems, section 10.3): entries of A have level 0, lev(i,j) =
  min over k of lev(i,k) + lev(k,j) + 1; those up to `levels` are kept. newrow, or NULL, keeps each row in its task; it
  and start are copied. bi and bj are in the order of the matrix, columns of a row in any order.
*/
PETSC_INTERN PetscErrorCode SpikeBlockSymbolic(PetscInt bs, PetscInt nb, PetscInt ntasks, const PetscInt start[],
                                               const PetscInt newrow[], PetscInt levels, const PetscInt bi[],
                                               const PetscInt bj[], SpikeBlockPattern *);
PETSC_INTERN PetscErrorCode SpikeBlockPatternDestroy(SpikeBlockPattern *);

/*
  newrow of a multicolor ordering inside of each task: rows get, one after the other, the first color that no neighbour
  has, in the pattern of A + A^T (greedy, Saad section 3.3.3), and are sorted by color. ncolors: most of a task.
*/
PETSC_INTERN PetscErrorCode SpikeBlockMulticolor(PetscInt nb, PetscInt ntasks, const PetscInt start[],
                                                 const PetscInt bi[], const PetscInt bj[], PetscInt newrow[],
                                                 PetscInt *ncolors);
