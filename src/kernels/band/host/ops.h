/* SPDX-License-Identifier: BSD-2-Clause */
/* ops.h: the micro-kernels of the host backend on ONE band block; the files beside this one are above them */
#pragma once

#include "kernels/common/types.h"
#include "kernels/common/host/isa.h"

/*
  Storage of a band block A, n x n, with kl subdiagonals and ku superdiagonals: column-major, ld = kl + ku + 1,

      a_ij = a[j * ld + ku + i - j]     for max(0, j - ku) <= i <= min(n - 1, j + kl)

  Offsets are 64-bit. A diagonal sub-block is a band block itself: rows and columns lo.. start at a + lo * ld. Slots
  outside the matrix hold zeros, and SPIKE_BAND_PAD(kl, ku) elements before and after the array belong to the
  kernels: they may read them and write zero updates to them. lu() of a sub-block keeps the columns beside it, not the
  slots in its own columns that are outside of it.

  After lu(), the strictly lower part holds L (unit diagonal), the strictly upper part U, and the diagonal the INVERSES
  of the pivots. The factors are of type F (precision of the factors), vectors of type PetscScalar, arithmetic of the
  sweeps in PetscScalar. Factors of 16 bits a real number come from an elimination in single precision; an entry too
  large for them is a bad pivot of infinite magnitude. All kernels are deterministic, allocate nothing and call nothing
  of PETSc.

  A sweep needs one triangle of the factors and is bound by the memory that brings it. So that it brings nothing else,
  lu() leaves the columns in chunks of ch = SpikeBandChunk() of them, first their parts of U and then their parts of L,
  in the place of the same columns of A. Chunks are large, because processors read ahead beyond the end of each piece
  (with pieces of 4 kB, nearly everything was brought twice):

      u_ij = a[j0 * ld + (j - j0) * (ku + 1) + ku + i - j]              i <= j, j0 <= j < j0 + ch, j0 a multiple of ch
      l_ij = a[j0 * ld + ch * (ku + 1) + (j - j0) * kl + i - j - 1]     i > j

  Columns after the last whole chunk stay as they were, and so do all of them where ch = 0, as for factors of 16 bits a
  real number. SpikeBandIndex() says it for one element.
*/
#define SPIKE_BAND_PAD(kl, ku) (((PetscCount)(kl) + (ku) + 1) + 64)
/* half-bandwidths up to this have kernels of their own, that read the factors by rows */
#define SPIKE_NARROW 8
/* of a chunk, unless SPIKE_CHUNK_MIN columns have more: still in the second cache when it is moved */
#define SPIKE_CHUNK_BYTES 262144
#define SPIKE_CHUNK_MIN   8 /* powers of two, multiples of the blocks of columns in the sweeps */
#define SPIKE_CHUNK_MAX   4096

/* Columns of a chunk of factors of that many bytes an element, a power of two; 0: none */
static inline PetscCount SpikeBandChunk(PetscInt kl, PetscInt ku, size_t size)
{
  const PetscCount bytes = ((PetscCount)kl + ku + 1) * (PetscCount)size;
  PetscCount       ch    = SPIKE_CHUNK_MAX;

  if (PetscMin(kl, ku) <= SPIKE_NARROW || size == 2 * sizeof(PetscScalar) / sizeof(PetscReal)) return 0;
  while (ch > SPIKE_CHUNK_MIN && ch * bytes > SPIKE_CHUNK_BYTES) ch /= 2;
  return ch;
}

/* Where element (i, j) of L or U, -ku <= i - j <= kl, is in the factors of n rows */
static inline PetscCount SpikeBandIndex(PetscInt n, PetscInt kl, PetscInt ku, size_t size, PetscInt i, PetscInt j)
{
  const PetscCount ld = (PetscCount)kl + ku + 1, ch = SpikeBandChunk(kl, ku, size), c = ch ? j & (ch - 1) : 0,
                   j0 = j - c;

  if (!ch || j0 + ch > n) return j * ld + ku + i - j;
  return j0 * ld + (i <= j ? c * (ku + 1) + ku + i - j : ch * (ku + 1) + c * kl + i - j - 1);
}

/*
  Row exchanges: SpikePivotedOps_*, F = PetscScalar. The raw band has kl + w more diagonals above,

      a_ij = a[j * ld + d + i - j],     ld = 2 kl + ku + w + 1,  d = kl + ku + w - 1

  and is factored by panels of w = panel(kl, ku) columns. The factors of columns j .. j + w - 1 are in the place of
  these columns:

      w                the row, counted from j, with which row j + c changes places in step c, of type int
      (kl + w) x w     L11 and L21, column-major, with U11 above and the inverses of the pivots on the diagonal
      w x (kl + ku)    U12, column-major

  All exchanges of a panel come before its part of L. The last panel may have fewer columns, in the place of w.
*/
static inline PetscCount SpikePivotedLd(PetscInt kl, PetscInt ku, PetscCount w)
{
  return 2 * (PetscCount)kl + ku + w + 1;
}

static inline PetscCount SpikePivotedDiagonal(PetscInt kl, PetscInt ku, PetscCount w)
{
  return (PetscCount)kl + ku + w - 1;
}

/* Where element (i, j) of U is, 0 <= j - i <= kl + ku */
static inline PetscCount SpikePivotedIndex(PetscInt kl, PetscInt ku, PetscInt w, PetscInt i, PetscInt j)
{
  const PetscInt   j0 = i / w * w;
  const PetscCount lu = j0 * SpikePivotedLd(kl, ku, w) + w, ldl = (PetscCount)kl + w;

  return j < j0 + w ? lu + (j - j0) * ldl + i - j0 : lu + w * ldl + (PetscCount)(j - j0 - w) * w + i - j0;
}

/*
  The factors of a block of n rows, or of these the rows and columns first <= j < first + rows, which are the factors of
  a block of that many rows
*/
typedef struct {
  PetscInt    n, kl, ku, first, rows;
  const void *a;
} SpikeBandFactors;

static inline SpikeBandFactors SpikeBandWhole(PetscInt n, PetscInt kl, PetscInt ku, const void *a)
{
  SpikeBandFactors f;

  f.n     = n;
  f.kl    = kl;
  f.ku    = ku;
  f.first = 0;
  f.rows  = n;
  f.a     = a;
  return f;
}

static inline SpikeBandFactors SpikeBandPart(SpikeBandFactors f, PetscInt first, PetscInt rows)
{
  f.first += first;
  f.rows = rows;
  return f;
}

typedef struct {
  PetscReal tol; /* a pivot with |pivot| <= tol, or not a number, is bad                                     */
  /* > 0: a bad but finite pivot p becomes boost * p / |p| (boost where p = 0); 0: lu() stops there */
  PetscReal boost;
  PetscInt  nboost;   /* out: pivots boosted                                                                      */
  PetscInt  badrow;   /* out: first row whose pivot stopped the factorization, -1 if none                         */
  PetscReal badvalue; /* out: magnitude of that pivot                                                             */
  void     *work;     /* lu_worksize(kl, ku) bytes, 64-byte aligned                                               */
} SpikeBandPivot;

typedef struct {
  const char *name; /* instruction set and type of the factors, as "x86-64-v3 double" */
  size_t      size; /* sizeof(F)                                                       */
  /* with row exchanges: columns of a panel; NULL: there are none */
  PetscInt (*panel)(PetscInt kl, PetscInt ku);
  size_t (*lu_worksize)(PetscInt kl, PetscInt ku);

  /*
    A = L U without pivoting, in place; about 2 n kl ku flops. Stops at a bad pivot unless it is boosted: no factors are
    left then. With row exchanges P A = L U, partial pivoting, 2 n kl (kl + ku) flops; of equal candidates the first
    row; magnitudes of complex numbers |re| + |im|.
  */
  void (*lu)(PetscInt n, PetscInt kl, PetscInt ku, void *a, SpikeBandPivot *piv);

  /*
    Triangular sweeps for nrhs right-hand sides, column c at b + c * ldb and x + c * ldx; b may be x.

      lower    x <- L^-1 b     columns lo <= j < hi in rising order           (forward)
      upper    x <- U^-1 x     columns hi > j >= lo in falling order          (backward)
      upper_t  x <- U^-T b     rows lo <= j < hi in rising order              (forward, transposed)
      lower_t  x <- L^-T x     rows hi > j >= lo in falling order             (backward, transposed)

    Rows and columns are counted from the first one of f. A whole sweep is lo = 0, hi = f.rows. Consecutive ranges in
    the order of the sweep give the same bits as one call over their union: the backward sweeps are cut that way to send
    the bottom tip early, and the sweeps of many columns so that factors stay in cache. upper_t is whole; lower has b =
    x where lo > 0. Part of the factors gives the same bits as these elements factored alone would. b and x have f.rows
    entries a column; bytes moved: one triangle of the factors, once, plus b and x.

    With row exchanges `lower` is x <- L^-1 P b, which carries values up to kl rows before the first nonzero of b and
    after hi: f has these rows. `lower_t` is x <- P^T L^-T x, where rows are final when all panels that exchange them
    are done: those from SpikeBandForward() of the first one on. Parts begin at panels, and ranges mean the panels that
    their rows belong to: lo goes down to the first row of its panel, and so does hi, unless they are f.rows.
  */
  void (*lower)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                PetscScalar *x, PetscCount ldx);
  void (*upper)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx);
  void (*upper_t)(SpikeBandFactors f, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                  PetscCount ldx);
  void (*lower_t)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx);
} SpikeBandOps;

/* One table for each instruction set and precision: isa.h */
#define SpikeBandTable(isa) \
  PETSC_INTERN const SpikeBandOps SpikeBandOps_##isa##_double, SpikeBandOps_##isa##_single, SpikeBandOps_##isa##_bf16, \
    SpikeBandOps_##isa##_fp16, SpikeCholeskyOps_##isa##_double, SpikeCholeskyOps_##isa##_single, \
    SpikeCholeskyOps_##isa##_bf16, SpikeCholeskyOps_##isa##_fp16
SpikeBandTable(base);
#if defined(SPIKE_HAVE_X86_64_LEVELS)
SpikeBandTable(v3);
SpikeBandTable(v4);
#endif

PETSC_INTERN const SpikeBandOps SpikePivotedOps_base;
#if defined(SPIKE_HAVE_X86_64_LEVELS)
PETSC_INTERN const SpikeBandOps SpikePivotedOps_v3, SpikePivotedOps_v4;
#endif

/* The table of a precision of the factors for the instruction set in use; that with row exchanges */
PETSC_INTERN const SpikeBandOps *SpikeBandGetOps(PetscSpikePrecision);
PETSC_INTERN const SpikeBandOps *SpikeBandGetPivotedOps(void);

/* Column stride and main diagonal of the raw band of a table, rows of a panel, elements of n columns */
static inline PetscCount SpikeBandLd(const SpikeBandOps *ops, PetscInt kl, PetscInt ku)
{
  return ops->panel ? SpikePivotedLd(kl, ku, ops->panel(kl, ku)) : (PetscCount)kl + ku + 1;
}

static inline PetscCount SpikeBandDiagonal(const SpikeBandOps *ops, PetscInt kl, PetscInt ku)
{
  return ops->panel ? SpikePivotedDiagonal(kl, ku, ops->panel(kl, ku)) : (PetscCount)ku;
}

static inline PetscInt SpikeBandPanel(const SpikeBandOps *ops, PetscInt kl, PetscInt ku)
{
  return ops->panel ? ops->panel(kl, ku) : 1;
}

static inline PetscCount SpikeBandElements(const SpikeBandOps *ops, PetscInt n, PetscInt kl, PetscInt ku)
{
  const PetscCount w = SpikeBandPanel(ops, kl, ku);

  return (n + w - 1) / w * w * SpikeBandLd(ops, kl, ku);
}

/* Where a part begins that has row r: at a panel */
static inline PetscInt SpikeBandPartBegin(const SpikeBandOps *ops, PetscInt kl, PetscInt ku, PetscInt r)
{
  return ops->panel ? r / ops->panel(kl, ku) * ops->panel(kl, ku) : r;
}

/* Where a forward sweep begins whose right-hand sides are zero before row r: row exchanges move them up */
static inline PetscInt SpikeBandForward(const SpikeBandOps *ops, PetscInt kl, PetscInt ku, PetscInt r)
{
  return ops->panel ? SpikeBandPartBegin(ops, kl, ku, PetscMax(0, r - kl - ops->panel(kl, ku))) : r;
}

/*
  The same for A = L D L^H of a hermitian positive definite band, stored with ku = 0: kl subdiagonals, then L, and the
  inverse of D. lu() stops at a pivot that is not above piv->tol, with badvalue of either sign, and boosts none. U = D
  L^H: the sweeps are

      lower   x <- L^-1 b             upper     x <- L^-H D^-1 x
      upper_t x <- conj(L)^-1 b       lower_t   x <- L^-T D^-1 x

  of which two after each other are A^-1 and A^-T as with LU.
*/
PETSC_INTERN const SpikeBandOps *SpikeBandGetCholeskyOps(PetscSpikePrecision);
