/* SPDX-License-Identifier: BSD-2-Clause */
/*
  dia.h: the contract between matrices by diagonals (C, no CUDA) and their backends: a table of functions on raw
  pointers

  A rank has n rows and m columns of its own, counted from its first row and its first column. Entry (i, j) lies on the
  diagonal with offset j - i:

      y_i = sum_d a_d(i) x(i + offset[d]),     offset[0] < offset[1] < ... < offset[count - 1]

  Columns j < 0 and j >= m belong to other ranks and are in ghost[nghost]: column j is ghost[j + below[d]], j < 0, or
  ghost[j + above[d]], j >= m. So the columns of others are one stream along a diagonal too. Rows first[d] <= i <
  last[d] have entries on diagonal d. Places without an entry hold zeros. A product may multiply them by x where x
  belongs to the rank: an infinity or a NaN in x may reach a row that has no entry in its column.

  The order of the values in memory is the backend's own, such that a product reads them as streams:

    host   bundles of SPIKE_DIA_ROWS rows, in each diagonal by diagonal:  val[(b count + d) SPIKE_DIA_ROWS + r], row b
           SPIKE_DIA_ROWS + r. That is one stream of memory for all diagonals (a core's prefetchers cannot follow one
           for each), and SPIKE_DIA_ROWS values of a diagonal fill whole registers
    CUDA   diagonal by diagonal:  val[d ld + i],  ld a multiple of 32. Neighbouring threads take neighbouring rows: each
           load of a warp is whole lines

  A row is summed in the order of its diagonals, so y has the same bits for any number of ranks. A column of a
  transposed product is summed in the order of its rows, those of the rank first. Only create() allocates.

  Bytes of a product: count n values and x read once (x as often as caches lose it), y written once.  [H. Liu, J.-H.
  Seo, R. Mittal, H. H. Huang: GPU-Accelerated Scalable Solver for Banded Linear Systems, 2013, section III]

  On a device all functions are enqueued on `stream` and wait only where values come to the host (get, sums). val, ghost
  and all vectors are on the device; the tables of integers in the struct are on the host, and the backend keeps copies
  of them in `data`. mult() takes a range of rows, so that a halo can travel meanwhile: interior rows first, then the
  two ends, a launch each. Products with the sums of a Krylov step are those of krylov.h, which borrows this matrix
  (borrow()).
*/
#pragma once

#include "kernels/common/types.h"

typedef struct _n_SpikeDIAKernels SpikeDIAKernels;

#define SPIKE_DIA_ROWS   64 /* rows of a bundle: granule of ranges of rows, and of masks */
#define SPIKE_DIA_GROUPS 2  /* of messages: to other nodes, and inside of one */

typedef struct {
  const SpikeDIAKernels *k;
  void                  *stream; /* of the caller; the host has none */
  PetscInt               n, m, count, nghost;
  PetscInt              *offset, *first, *last, *below, *above; /* [count] on the host */
  /* rows that need no ghosts; ibegin a multiple of SPIKE_DIA_ROWS, iend too, or n */
  PetscInt     ibegin, iend;
  PetscScalar *val;
  PetscCount   places; /* values in val */
  void        *data;   /* of the backend */
} SpikeDIA;

/* Columns first <= j < first + length of this rank go to, or come from, position `at` of a message */
typedef struct {
  PetscInt first, length, at;
} SpikeDIARun;

/*
  Messages of a halo between memory of a device and other ranks. Where `apart` is set they do not pass the host. Else
  MPI reads and writes the arrays here: the device's where MPI can, else arrays of the host that the device reaches
  fast.
*/
typedef struct {
  const char  *name;
  PetscBool    apart;
  PetscScalar *ghost, *message; /* for MPI */
  void        *data;
} SpikeHaloLink;

/*
  Messages in an array, one after the other: message k is array[at[k]] to array[at[k + 1] - 1] and travels in group[k]
*/
typedef struct {
  PetscInt           n;
  const PetscInt    *at;    /* [n + 1] */
  const PetscMPIInt *group; /* [n]     */
  PetscScalar       *array;
} SpikeHaloMessages;

typedef enum {
  SPIKE_DIA_ROWSUMS,    /* out[n]: sums of magnitudes in rows                                          */
  SPIKE_DIA_COLUMNSUMS, /* out[m]: of this rank's rows in columns; others' in ghost[nghost]            */
  SPIKE_DIA_SQUARES     /* out[1]: sum of squares of magnitudes                                        */
} SpikeDIASums;

struct _n_SpikeDIAKernels {
  const char  *name;
  PetscMemType memtype;

  /*
    Memory for the values, undefined until fill() or zero(), and the backend's form of the tables. destroy() accepts a
    matrix partly made. Called by SpikeDIACreate() and SpikeDIADestroy()
  */
  PetscErrorCode (*create)(SpikeDIA *);
  PetscErrorCode (*destroy)(SpikeDIA *);

  /* NULL, or called by SpikeDIASetExtents() and SpikeDIASetGhosts(): tables have changed */
  PetscErrorCode (*tables)(SpikeDIA *);

  /* Memory of the backend, and copies to and from that of the host, complete on return; stream NULL: the current one */
  PetscErrorCode (*alloc)(size_t bytes, void **);
  PetscErrorCode (*release)(void **);
  PetscErrorCode (*move)(void *stream, PetscBool tobackend, void *to, const void *from, size_t bytes);

  /*
    All values from pieces in CSR in the backend's memory, whose entries all lie on the diagonals; columns counted from
    the first column of the rank. Reads each entry once, writes each place once, or twice
  */
  PetscErrorCode (*fill)(SpikeDIA *, PetscInt nparts, const SpikeCSR parts[]);

  /* Rows begin <= i < end to or from the host, row by row: rows[(i - begin) count + d] */
  PetscErrorCode (*get)(const SpikeDIA *, PetscInt begin, PetscInt end, PetscScalar *rows);
  PetscErrorCode (*put)(SpikeDIA *, PetscInt begin, PetscInt end, const PetscScalar *rows);

  /*
    Rows begin <= i < end of y = A x, of y = A x + z with z (which may be y). begin is a multiple of SPIKE_DIA_ROWS, end
    too, or n; ghost is not read in rows between ibegin and iend. x may not be y.
  */
  PetscErrorCode (*mult)(const SpikeDIA *, PetscInt begin, PetscInt end, const PetscScalar *x, const PetscScalar *ghost,
                         const PetscScalar *z, PetscScalar *y);

  /*
    multtranspose(): y = A^T x, or A^T x + z with z (which may be y), or with the conjugate of A, in the columns of this
    rank. multtransposeghost(): ghost <- what this rank's rows add to columns of others; called first, it travels
    meanwhile.
  */
  PetscErrorCode (*multtranspose)(const SpikeDIA *, PetscBool conjugate, const PetscScalar *x, const PetscScalar *z,
                                  PetscScalar *y);
  PetscErrorCode (*multtransposeghost)(const SpikeDIA *, PetscBool conjugate, const PetscScalar *x, PetscScalar *ghost);

  /* message <- x in the columns of runs, in their order; x += message there */
  PetscErrorCode (*pack)(const SpikeDIA *, PetscInt nruns, const SpikeDIARun runs[], const PetscScalar *x,
                         PetscScalar *message);
  PetscErrorCode (*unpackadd)(const SpikeDIA *, PetscInt nruns, const SpikeDIARun runs[], const PetscScalar *message,
                              PetscScalar *x);

  /*
    A <- 0; A <- a A; A <- conj(A); A <- L A R by diagonal matrices, NULL for I, rghost is R in the columns of others; A
    <- A + a B with the tables of A; A <- B. A rank without columns may scale by ghosts alone: r is not NULL then, but
    is not read
  */
  PetscErrorCode (*zero)(SpikeDIA *);
  PetscErrorCode (*scale)(SpikeDIA *, PetscScalar a);
  PetscErrorCode (*conjugate)(SpikeDIA *);
  PetscErrorCode (*diagonalscale)(SpikeDIA *, const PetscScalar *l, const PetscScalar *r, const PetscScalar *rghost);
  PetscErrorCode (*axpy)(SpikeDIA *, PetscScalar a, const SpikeDIA *);
  PetscErrorCode (*copy)(SpikeDIA *, const SpikeDIA *);

  /*
    v <- diagonal d, 0 in rows where it has no place, and 0 everywhere with d = count; diagonal d <- a v, or with add
    diagonal d + a v, in the rows where it has one; v is 1 where it is NULL
  */
  PetscErrorCode (*getdiagonal)(const SpikeDIA *, PetscInt d, PetscScalar *v);
  PetscErrorCode (*setdiagonal)(SpikeDIA *, PetscInt d, PetscBool add, PetscScalar a, const PetscScalar *v);

  /*
    Messages between devices; NULL functions on the host, where MPI itself reads message[] and writes ghost[]. `back` is
    the way of transposed products: ghost[] is sent, message[] received.

      connect()   collective; aware: MPI can read the memory of the device
      leave()     called after the work that fills what is sent has been enqueued: enqueues its copy to where MPI reads
                  it; later work overlaps the copy
      ready()     waits until that copy is complete, and until MPI may write what is received
      arrive()    called when all has been received: work enqueued after it sees the values
      exchange()  of a link with `apart`, in place of leave() and ready(): enqueues messages after all earlier work and
                  earlier calls; later work overlaps them; arrive() ends them

    Each call is for one group of messages, 0 <= group < ngroups <= SPIKE_DIA_GROUPS. A group does not wait for another.
  */
  PetscErrorCode (*connect)(MPI_Comm, PetscBool aware, PetscInt ngroups, const SpikeHaloMessages *message,
                            const SpikeHaloMessages *ghost, SpikeHaloLink **);
  PetscErrorCode (*disconnect)(SpikeHaloLink **);
  PetscErrorCode (*leave)(void *stream, SpikeHaloLink *, PetscInt group, PetscBool back);
  PetscErrorCode (*ready)(SpikeHaloLink *, PetscInt group);
  PetscErrorCode (*exchange)(void *stream, SpikeHaloLink *, PetscInt group, PetscInt count, const SpikeMessage[]);
  PetscErrorCode (*arrive)(void *stream, SpikeHaloLink *, PetscInt group, PetscBool back);

  /* On the host, when it returns */
  PetscErrorCode (*sums)(const SpikeDIA *, SpikeDIASums, PetscReal *out, PetscReal *ghost);

  /*
    A as the band of PCSPIKE, with columns numbered as rows. scan(): weight[count], sums of magnitudes along diagonals;
    fullest[0], the most nonzeros in a row; fullest[1], the most of those two or more columns from the diagonal.
    sample(): rows k n / rows, 0 <= k < rows <= n, out[k count + d]. On the host when they return.
  */
  PetscErrorCode (*scan)(const SpikeDIA *, PetscReal weight[], PetscInt fullest[2]);
  PetscErrorCode (*sample)(const SpikeDIA *, PetscInt rows, PetscScalar *out);
};

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeDIAKernels SpikeDIAKernels_Host, SpikeDIAKernels_CUDA;

/* backend.c: the backend for data of a memory type, NULL where the library has none */
PETSC_INTERN const SpikeDIAKernels *SpikeDIAKernelsFind(PetscMemType);

/* dia.c, for all backends: tables and structure, on the host */
PETSC_INTERN PetscErrorCode SpikeDIACreate(const SpikeDIAKernels *, PetscInt n, PetscInt m, PetscInt count,
                                           const PetscInt offset[], SpikeDIA *);
PETSC_INTERN PetscErrorCode SpikeDIASetExtents(SpikeDIA *, const PetscInt first[], const PetscInt last[]);
PETSC_INTERN PetscErrorCode SpikeDIASetGhosts(SpikeDIA *, PetscInt nruns, const SpikeDIARun runs[]);
PETSC_INTERN PetscErrorCode SpikeDIADestroy(SpikeDIA *);

/* Offsets of all entries, ascending. Where there are more than `most`, *count is most + 1 and offset[] is undefined */
PETSC_INTERN void SpikeDIAOffsets(PetscInt n, PetscInt nparts, const SpikeCSR parts[], PetscInt most, PetscInt *count,
                                  PetscInt offset[]);

/* The number of an offset, count where there is none. Looks after `before` first: rows are sorted as a rule */
static inline PetscInt SpikeDIAFind(PetscInt count, const PetscInt offset[], PetscInt before, PetscInt wanted)
{
  PetscInt lo = 0, hi = count;

  if (before + 1 < count && offset[before + 1] == wanted) return before + 1;
  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (offset[mid] < wanted) lo = mid + 1;
    else hi = mid;
  }
  return lo < count && offset[lo] == wanted ? lo : count;
}

static inline PetscInt SpikeCSRColumn(const SpikeCSR *A, PetscInt k)
{
  return (A->colmap ? A->colmap[A->aj[k]] : A->aj[k]) + A->shift;
}

/*
  Rows of diagonal d in begin <= i < end: low <= i < ownbegin have columns of ranks below, ownbegin <= i < ownend the
  rank's own, ownend <= i < high those of ranks above
*/
static inline void SpikeDIAOwnRows(const SpikeDIA *A, PetscInt d, PetscInt begin, PetscInt end, PetscInt *low,
                                   PetscInt *ownbegin, PetscInt *ownend, PetscInt *high)
{
  const PetscInt64 o = A->offset[d];

  *low      = PetscMax(begin, A->first[d]);
  *high     = PetscMax(*low, PetscMin(end, A->last[d]));
  *ownbegin = (PetscInt)PetscMin(PetscMax(*low, -o), *high);
  *ownend   = (PetscInt)PetscMax(PetscMin(*high, A->m - o), *ownbegin);
}

/* Host: diagonal d in the bundle of rows that begins with row i */
static inline const PetscScalar *SpikeDIADiagonal(const SpikeDIA *A, PetscInt i, PetscInt d)
{
  return A->val + (PetscCount)i * A->count + (PetscCount)d * SPIKE_DIA_ROWS;
}

/* host/scan.c */
PETSC_INTERN PetscErrorCode SpikeDIAScan_Host(const SpikeDIA *, PetscReal[], PetscInt[2]);
PETSC_INTERN PetscErrorCode SpikeDIASample_Host(const SpikeDIA *, PetscInt, PetscScalar *);

/* Host loops of one instruction set: mult() and multtranspose() over rows begin to end - 1 */
typedef struct {
  void (*mult)(const SpikeDIA *, PetscInt begin, PetscInt end, const PetscScalar *x, const PetscScalar *ghost,
               const PetscScalar *z, PetscScalar *y);
  void (*transpose)(const SpikeDIA *, PetscBool conjugate, const PetscScalar *x, PetscScalar *y);
} SpikeDIALoops;
PETSC_INTERN const SpikeDIALoops  SpikeDIALoops_base, SpikeDIALoops_v3, SpikeDIALoops_v4;
PETSC_INTERN const SpikeDIALoops *SpikeDIALoopsGet(void);
