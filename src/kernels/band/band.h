/* SPDX-License-Identifier: BSD-2-Clause */
/* band.h: the contract between the algorithms (C, no CUDA) and the backends (tables of functions) */
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/dia/dia.h"
#include "kernels/tridiagonal/tridiagonal.h"

/*
  A partitioned band on one rank, as a backend holds it. The rank's n rows are cut into np partitions, start[0] = 0 <=
  ... <= start[np] = n. Interface q lies between partitions q - 1 and q; interfaces 0 and np are those with the
  neighbouring ranks. Where a neighbour, or any coupling, is absent, the interface is not active and its tips are never
  read.

  Notation (classical SPIKE; kl, ku are the lower and upper half-bandwidths):

      B_q   ku x ku   rows: last ku of partition q - 1, columns: first ku of partition q          lower triangular
      C_q   kl x kl   rows: first kl of partition q, columns: last kl of partition q - 1          upper triangular
      V_q   right spike of partition q - 1, D^-1 [0; B_q];   Vb_q  kl x ku  its last kl rows (bottom tip)
      W_q   left spike of partition q,      D^-1 [C_q; 0];   Wt_q  ku x kl  its first ku rows (top tip)
      R_q = I - Wt_q Vb_q   ku x ku

      truncated SPIKE:   [x_b; x_t] = [I Vb; Wt I]^-1 [g_b; g_t]   (kl and ku values at each interface)

  Full SPIKE keeps the far tips of the spikes too:

      Vt_q  ku x ku   first ku rows of V_q;      Wb_q  kl x kl   last kl rows of W_q

  Two neighbouring partitions, or segments of them, a from interface s to q and b from q to e, are merged into one
  segment by eliminating the kl + ku unknowns [w; y] = [x_b; x_t] at q (recursive SPIKE: block cyclic reduction on the
  reduced system). With z = x_b at s and x = x_t at e

      [w; y] = [w0; y0] - P z - Q x,      [w0; y0] = [I Vb_q; Wt_q I]^-1 [g_b; g_t],
      P = [I Vb_q; Wt_q I]^-1 [Wb_s; 0],  Q = [I Vb_q; Wt_q I]^-1 [0; Vt_e]

  and the merged segment has the right-hand sides g_t - Vt_q y0 at s, g_b - Wb_q w0 at e, and the tips

      Wt_s - Vt_q Py,   Wb_s: -Wb_q Pw,   Vt_e: -Vt_q Qy,   Vb_e - Wb_q Qw

  in the places of those of a's left and b's right spike, which nobody needs any more. Interface q is eliminated on the
  level whose segments have as many partitions as the largest power of two in q.

  Small blocks are column-major, one after the other, in PetscScalar. Pointers named d* belong to the backend's memory,
  the others to the host.
*/
typedef struct _n_SpikeBandKernels     SpikeBandKernels;
typedef struct _n_SpikePeriodicKernels SpikePeriodicKernels;

/* The parts of factor() in PETSc's log, one at a time */
typedef struct {
  PetscLogEvent factor, tips;
} SpikeEvents;

#define SpikeLogged(s, event, call) \
  do { \
    if ((s)->events) PetscCall(PetscLogEventBegin((s)->events->event, NULL, NULL, NULL, NULL)); \
    PetscCall(call); \
    if ((s)->events) PetscCall(PetscLogEventEnd((s)->events->event, NULL, NULL, NULL, NULL)); \
  } while (0)

typedef struct {
  PetscInt   n, kl, ku; /* rows of this rank, half-bandwidths                                               */
  PetscInt   np;        /* partitions, at least 1                                                           */
  PetscInt  *start;     /* [np + 1]                                                                         */
  PetscBool *active;    /* [np + 1] interface q couples                                                     */
  /*
    NULL, or [np] half-bandwidths okl[p] <= kl, oku[p] <= ku of D in partition p, no entry of which any fill() has
    farther from the diagonal. B, C and all tips have kl, ku. Where `owns` is 0 NULL
  */
  PetscInt           *okl, *oku;
  PetscSpikePrecision precision; /* of the factors */
  PetscBool           coupled;   /* spike tips are kept: not the block variant, nor with `cut`                       */
  /*
    not coupled, because nothing couples two partitions: fill() looks for entries that do (SpikeFillStats.joined). Not
    with nsystems
  */
  PetscBool cut;
  /*
    fill() may leave its work to the factor() that follows it: nothing else is asked of the band in between, and the
    pieces of the matrix stay
  */
  PetscBool late;
  /*
    kl = ku, and D = L D L^H of a hermitian positive definite matrix: fill() keeps what is on and below the diagonal of
    the partitions alone, a pivot is bad up to tol with its sign, badvalue has it, and none is boosted. The spikes are
    followed down to the rounding of PetscScalar, so that an application is hermitian to rounding. A backend without a
    form of factors for it has L U of all of the band, and finds the pivots that are not positive (cholesky of the
    table).
  */
  PetscBool cholesky;
  /*
    spikes that have fallen below this fraction of their ends are not corrected, at least below the factors' rounding
  */
  PetscReal window;
  PetscReal corner; /* with cholesky: what rows after a corner may add to Wt, in all of its columns alike */
  PetscInt  maxrhs; /* right-hand sides that the work space of an apply holds                           */

  /*
    kl = ku = 1, where the backend has kernels for tridiagonal systems: those of this rank, nothing coupling one to the
    next but through interfaces; nsystems 0: by the kernels for bands
  */
  PetscInt               nsystems;
  PetscInt              *systems;     /* [nsystems + 1] first rows, ascending, among them start[0 .. np]; then n */
  PCSpikeTridiagonalType tridiagonal; /* asked for                                                             */
  PetscBool              pivoting;    /* with row exchanges: of systems by PARTITION, else inside each partition */
  PCSpikeTridiagonalType used, local; /* by create(): who solves, and who solves the pieces that it makes        */

  /*
    Half-bandwidths other than 1,1: a batch of independent systems by the kernels of batch.h, in one partition that is
    not coupled; nbatch 0: one band. Entries in columns of other ranks are left out with `alone`, and couple otherwise
  */
  PetscInt  nbatch;
  PetscInt *batch; /* [nbatch + 1] first rows, ascending; then n */
  PetscBool alone;
  PetscBool whole; /* systems of a batch are not cut into pieces */

  void         *band;           /* raw band, then its factors; layout of the backend                                */
  PetscScalar  *dB, *dC;        /* [np + 1] coupling blocks                                                         */
  PetscScalar  *dVb, *dWt, *dR; /* [np + 1] tips, and R in factored form                                            */
  PetscBLASInt *dpiv;           /* [(np + 1) * ku] pivots of R                                                      */
  PetscScalar  *dtips;          /* [maxrhs * (np + 1) * (kl + ku)] column c: interface q: kl values below, ku above */

  /* full SPIKE: spikes(), merge() and so on, in place of reduced(), solvetips() and correct() */
  PetscBool    full;
  PetscScalar *dVt, *dWb; /* [np + 1] the far tips, made by the first spikes()                                      */
  PetscScalar *dmerged;   /* [np + 1] what merge() leaves of an interface; layout of the backend                    */
  PetscScalar *dwork;     /* [maxrhs * n] with full: a column of the rank's rows for each right-hand side            */

  /* places of rows where they are not those of the columns, in the backend's memory; NULL: newrow of the fill */
  const PetscInt *rowplace;
  PetscInt       *wtop, *wbot; /* [np] rows at the two ends of a partition that its spikes reach                   */
  /* counts how often the launches of an apply have changed, as with the windows of a setup */
  PetscInt launches;
  void    *data;   /* whatever else the backend needs                                                  */
  void    *stream; /* of the backend; NULL on the host                                                 */

  const SpikeEvents *events; /* of factor(); NULL: it logs nothing */

  const SpikeBandKernels *k;
} SpikeBand;

/* Whether band (then not its systems) are factored with row exchanges: P A = L U of every partition */
static inline PetscBool SpikeBandExchanges(const SpikeBand *s)
{
  return (PetscBool)(s->pivoting && !s->nsystems && !s->nbatch);
}

/* What fill saw: sums and maxima over the rank's rows */
typedef struct {
  PetscReal sum;         /* sum of |a_ij|                                                                        */
  PetscReal dropped;     /* part of it outside the band; a coupling that the block variant ignores is not counted */
  PetscReal maxdropped;  /* largest |a_ij| outside the band                                                      */
  PetscReal norm;        /* largest sum of |a_ij| over a row                                                     */
  PetscInt  badrow;      /* first row (order of the matrix, local) with a value that is not finite, -1 if none    */
  PetscInt  overflowrow; /* first row with a value that the precision of the factors cannot hold, -1 if none        */
  PetscInt  zerorow;     /* first row without a nonzero entry, -1 if none                                          */
  /*
    first row (order of the matrix, local) with a nonzero entry between two systems, or with `cut` two partitions, -1
    if none; not set where there are none
  */
  PetscInt joined;
  /* norm of the entries before they are scaled; set where a piece has scales, on the host */
  PetscReal unscaled;
  /* rows that are not dominant, |a_ii| < sum of the others; not set where the backend does not count them */
  PetscInt weak;
} SpikeFillStats;

/* |a_ii| < sum of the other |a_ij|, from the sum of all; sums of equal ones differ by rounding */
static inline PetscBool SpikeRowIsWeak(PetscReal diagonal, PetscReal sum)
{
  return (PetscBool)(2 * diagonal < (1 - 1000 * PETSC_MACHINE_EPSILON) * sum);
}

/* Spikes are followed over at most this many rows */
static inline PetscInt SpikeMaxCorner(PetscInt kl, PetscInt ku)
{
  const PetscInt K = PetscMax(kl, ku);

  return K > PETSC_INT_MAX / 32 ? PETSC_INT_MAX : PetscMax(2048, 32 * K);
}

/* Which part of a sweep: the forward half and the rows of the bottom tip, then the rest; or all at once */
typedef enum {
  SPIKE_SWEEP_ALL,
  SPIKE_SWEEP_HEAD,
  SPIKE_SWEEP_TAIL
} SpikeSweepPart;

struct _n_SpikeBandKernels {
  const char  *name;
  PetscMemType memtype;
  PetscBool    exchanges; /* has factors of bands with row exchanges, in the precision of the vectors */
  /* sweep() can be cut into HEAD and TAIL, and takes time in proportion to its partitions; else ALL is its one part */
  PetscBool splits;
  /* an application is only enqueued, and all of it on the stream of the band: a CUDA graph may capture it */
  PetscBool enqueues;
  /* works on the partitions of a rank at once: with more of them, which cuts give for nothing, it is faster */
  PetscBool parallel;
  /*
    Partitions take the time of their own half-bandwidths, okl and oku, in steps of so many diagonals; 0: that of the
    band. Of partitions that are worked on at once (parallel) all take that of the slowest
  */
  PetscInt (*owns)(const SpikeBand *);

  /*
    *holds <- whether it has kernels for half-bandwidths, precision and `pivoting` of a band, of which nothing else is
    read, on the device at hand: other bands are the host's, which holds all. NULL: so does this one.
  */
  PetscErrorCode (*holds)(const SpikeBand *, PetscBool *holds);

  /*
    Bytes that create() will allocate: the band itself, and all the rest. Computed in PetscReal: it must not overflow.
  */
  PetscErrorCode (*bytes)(const SpikeBand *, PetscReal *band, PetscReal *extra);

  /*
    Allocates everything for the shape given by n, kl, ku, np, start, okl, oku, precision, coupled, cut, maxrhs.
    destroy() accepts a band partly made, and frees what create() allocated, not start, active, okl and oku. reserve()
    makes room for that many right-hand sides, keeping all else.
  */
  PetscErrorCode (*create)(SpikeBand *);
  PetscErrorCode (*destroy)(SpikeBand *);
  PetscErrorCode (*reserve)(SpikeBand *, PetscInt maxrhs);

  /*
    band, B, C <- the entries of nparts pieces of the matrix. With newrow, row and column i become newrow[i]; with
    rowplace too, rows become rowplace[i] instead. Columns of a piece that has a colmap are where it says, newrow or
    not. Everything that is not in the matrix becomes zero. Reads each entry once, writes the band once.
    Deterministic. All fills between create() and destroy() have the same pattern, the same pieces and the same newrow:
    a backend may keep what it has found out of them.
  */
  PetscErrorCode (*fill)(SpikeBand *, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow,
                         SpikeFillStats *);

  /*
    The same from a matrix by diagonals, in natural order, its columns numbered as its rows: the same band and couplings
    as from a copy in CSR
  */
  PetscErrorCode (*filldia)(SpikeBand *, const SpikeDIA *, SpikeFillStats *);

  /*
    band <- L U of every partition, or L D L^H, and the tips at the active interfaces: Wt_q where q < np, Vb_q where q >
    0. corner and falloff NULL: the factors alone.

    Wt_q may come from a UL factorization of the leading corner of partition q (Li, Seidl, Negrut, TR-2012-04, section
    2.2). The corner has 2 max(kl, ku) rows and is doubled until W_q has fallen to the rounding of the factors at its
    end, up to SpikeMaxCorner() rows or the partition; a spike that has not fallen by then reaches the whole partition.
    Row exchanges stay inside a partition, and inside a reversed corner.
    A backend may end the corner where what lies after it adds less to Wt than the fraction `window`. Bad pivots of a
    corner are boosted by the policy `corner` and counted there (the factorization of the partition itself decides about
    failure). A backend that makes Wt from the factors counts none.

    Sets wtop and wbot by the fraction `window`, and falloff[2 (np + 1)], of W_q and then of V_q: the natural logarithm
    of the factor by which a spike falls a row, PETSC_MIN_REAL where it is zero or not there.
  */
  PetscErrorCode (*factor)(SpikeBand *, SpikePivot *, SpikePivot *corner, PetscReal falloff[]);

  /*
    R_q <- lu(I - Wt_q Vb_q), with row exchanges, of the interfaces q0 <= q < q1 that are active. R has no units: a
    pivot is bad up to tol max(1, max |R_ij|), and boost is its new magnitude times the same; those of interface 0 are
    counted by the rank before. pivot->badrow: the first interface with a bad pivot that is not boosted, -1 if none.
  */
  PetscErrorCode (*reduced)(SpikeBand *, PetscInt q0, PetscInt q1, SpikePivot *pivot);

  /*
    g <- D^-1 b, or D^-T b, in the partitions p0 <= p < p1, for nrhs <= maxrhs columns; g may be b. The sides of the
    interfaces of these partitions are left in tips: g_b and g_t, or for the transposed apply C_q^T (top of g) and B_q^T
    (bottom of g). After HEAD the bottom side is there, after TAIL the top side too; a backend that does not split them
    is asked for ALL.
  */
  PetscErrorCode (*sweep)(SpikeBand *, PetscBool trans, SpikeSweepPart, PetscInt p0, PetscInt p1, PetscInt nrhs,
                          const PetscScalar *b, PetscCount ldb, PetscScalar *g, PetscCount ldg);

  /* tips <- [I Vb; Wt I]^-1 tips, or with its transpose, at the interfaces q0 <= q < q1 that are active */
  PetscErrorCode (*solvetips)(SpikeBand *, PetscBool trans, PetscInt q0, PetscInt q1, PetscInt nrhs);

  /*
    x <- x - D^-1 [C_q x_b of interface q = p; 0; B_q x_t of q = p + 1], transposed: x - D^-T [x_t of q = p; 0; x_b of q
    = p + 1], in the partitions p0 <= p < p1. Only the wtop and wbot rows at the ends are touched, all rows at once
    where they meet. The transposed correction is a whole second sweep: it reaches as far as the other halves of D^-1 at
    these ends, which setup does not look at.
  */
  PetscErrorCode (*correct)(SpikeBand *, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs, PetscScalar *x,
                            PetscCount ldx);

  /*
    Full SPIKE, from the factors that factor() has made. spikes: the tips at the active interfaces, the far ones where
    the interface at the far end is active too, by sweeps over whole partitions, 6 n K^2 flops; falloff[] from the two
    ends of each spike. Of D = D^H with Z the first K columns of D^-1: Wt = Zt C, Wb = Zb C, Vt = Zb^H B, 4 n K^2 flops.
    The first call makes the arrays that full SPIKE has besides. merge: R, P and Q of all interfaces 0 < q < np in place
    of the tips, level by level, with row exchanges inside R; pivot as in reduced(), but of the earliest level, for a
    bad interface spoils those of later levels beside it. What is left at interfaces 0 and np are the tips of the rank
    as one segment. Deterministic.
  */
  PetscErrorCode (*spikes)(SpikeBand *, PetscReal falloff[]);
  PetscErrorCode (*merge)(SpikeBand *, SpikePivot *pivot);

  /*
    tips <- solution of the merged reduced systems: up eliminates the interfaces 0 < q < np, and leaves what the rank
    has as one segment on the inner sides of interfaces 0 and np; down takes the unknowns on their outer sides (zero
    where they are not active) and makes those of all others, for mergedrhs(). The inner side of interface 0 is the
    values above, that of np the values below; transposed those below at 0, above at np. With E = [0 Vt_q; Wb_q 0] and M
    the matrix of the interface

        up          [g_t at s; g_b at e] -= E M^-1 g          down        u = M^-1 g - [P Q] [u_b at s; u_t at e]
        transposed  [g_b at s; g_t at e] -= [P Q]^T g                     u = M^-T g - (E M^-1)^T [u_t at s; u_b at e]
  */
  PetscErrorCode (*mergedtips)(SpikeBand *, PetscBool trans, PetscBool up, PetscInt nrhs);

  /*
    dwork <- b - [C_p x_b; 0; B_p+1 x_t] in all partitions p, from what mergedtips() made; transposed b - [x_t; 0; x_b]
  */
  PetscErrorCode (*mergedrhs)(SpikeBand *, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb);

  /*
    y_newrow[i] <- scale_i x_i (gather false) or y_i <- scale_i x_newrow[i] (gather true), nrhs columns; newrow NULL:
    newrow[i] = i, scale NULL: ones
  */
  PetscErrorCode (*permute)(SpikeBand *, PetscBool gather, const PetscInt *newrow, const PetscReal *scale,
                            PetscInt nrhs, const PetscScalar *x, PetscCount ldx, PetscScalar *y, PetscCount ldy);

  /*
    Partitions that suit n rows when the user leaves the number open; falloff of the spikes as expected, below 0, or 0
    where nothing is known of them, PETSC_MIN_REAL where nothing couples partitions; neglect: the fraction of a tip that
    PC_SPIKE_AUTO lets truncation leave out; exchanges: of rows; cholesky: L D L^H. *full: whether full SPIKE is the
    better way, of PC_SPIKE_AUTO only
  */
  PetscInt (*partitions)(PetscInt n, PetscInt kl, PetscInt ku, PetscSpikePrecision, PetscReal falloff,
                         PetscReal neglect, PetscBool exchanges, PetscBool cholesky, PCSpikeType, PetscBool *full);

  /* Bytes of memory that this backend can hope to get: of the host, for all ranks of a node together */
  PetscErrorCode (*memory)(PetscReal *);

  /* Around the work of one phase: fetches the stream to work on, logs device time. On the host nothing. */
  PetscErrorCode (*begin)(SpikeBand *);
  PetscErrorCode (*end)(SpikeBand *);

  /*
    Memory of the backend. copy2d copies height pieces of width bytes, dpitch and spitch bytes apart; todevice and
    fromdevice say which side is the backend's memory, the other being the host's. Copies that touch the host's memory
    are complete on return. pin() gives memory of the host that such copies reach fastest, unpin() takes it back;
    synchronize() waits for all work enqueued so far.
  */
  PetscErrorCode (*alloc)(SpikeBand *, size_t bytes, void **);
  PetscErrorCode (*release)(SpikeBand *, void **);
  PetscErrorCode (*copy2d)(SpikeBand *, PetscBool todevice, PetscBool fromdevice, void *dst, size_t dpitch,
                           const void *src, size_t spitch, size_t width, size_t height);
  PetscErrorCode (*pin)(SpikeBand *, size_t bytes, void **);
  PetscErrorCode (*unpin)(SpikeBand *, void **);
  PetscErrorCode (*synchronize)(SpikeBand *);

  /*
    Messages that never pass through the host; NULL functions where a backend has none. connect(), collective, makes a
    link, or leaves NULL on all ranks where it cannot: then they go by MPI. exchange() enqueues messages after the work
    so far, the same ones at both ends in the same order; what is enqueued after wait() comes after them. No host
    waits. A link outlives the band it was made with.
  */
  PetscErrorCode (*connect)(SpikeBand *, MPI_Comm, void **link);
  PetscErrorCode (*disconnect)(void **link);
  PetscErrorCode (*exchange)(SpikeBand *, void *link, PetscInt count, const SpikeMessage[]);
  PetscErrorCode (*wait)(SpikeBand *, void *link);

  /*
    NULL: fill(), factor() and reduced() are done when they return. Else they are only enqueued, and what they report
    (statistics, pivots, falloff, wtop and wbot) is where they were told to leave it after the next finish(), the one
    wait of a setup.
  */
  PetscErrorCode (*finish)(SpikeBand *);

  /* NULL: half-bandwidth 1 is a band like others */
  const SpikeTridiagonalKernels *tridiagonal;

  /* NULL: no batches */
  const SpikeBatchKernels *batch;

  /* of periodic systems, whatever solves without their corners; NULL: these are bands as wide as they are */
  const SpikePeriodicKernels *periodic;

  /*
    *largest <- max |u_ij| of the factors of all partitions, PETSC_MAX_REAL where one is not finite, -1 where they are
    in another form
  */
  PetscErrorCode (*growth)(SpikeBand *, PetscReal *largest);

  /* whether it has L D L^H, half of the bytes and flops, for SpikeBand.cholesky */
  PetscBool cholesky;
};

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeBandKernels     SpikeBandKernels_Host, SpikeBandKernels_CUDA;
PETSC_INTERN const SpikePeriodicKernels SpikePeriodicKernels_Host, SpikePeriodicKernels_CUDA;

/* batch.c: of a band with nbatch > 0: the batch in its place, by s->k->batch; Shape fills what its caller gives */
PETSC_INTERN PetscErrorCode SpikeBatchShape(const SpikeBand *, SpikeBatch *);
PETSC_INTERN PetscErrorCode SpikeBatchCreateSystems(const SpikeBand *, SpikeBatch **);
PETSC_INTERN PetscErrorCode SpikeBatchDestroySystems(SpikeBatch **);
PETSC_INTERN PetscErrorCode SpikeBatchBytesSystems(const SpikeBand *, PetscReal *matrix, PetscReal *rest);

/* backend.c: the backend for data of a memory type, NULL where the library has none */
PETSC_INTERN const SpikeBandKernels *SpikeBandKernelsFind(PetscMemType);
