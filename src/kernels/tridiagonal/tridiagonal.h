/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tridiagonal.h: the contract of the kernels for tridiagonal systems. Callers are C and know no CUDA; each backend is a
  table of functions
*/
#pragma once

#include "kernels/common/types.h"

typedef struct _n_SpikeTridiagonalKernels SpikeTridiagonalKernels;

/*
  Many tridiagonal systems, one after the other in the same arrays, as cuSPARSE takes them: rows start[i] <= r <
  start[i+1] are system i,

      dl_r x_(r-1) + d_r x_r + du_r x_(r+1) = b_r

  dl of the first row of a system and du of its last are not read: whatever lies there, a number or not, changes
  nothing. Lengths may differ; any length is allowed, 0 and 1 too, and any number of systems, 0 too.

  Algorithms, on a system of m rows. u are the divisors: setup() compares each with the tolerance before it divides by
  it.

    THOMAS     A = L U, u_r = d_r - l_r du_(r-1), l_r = dl_r / u_(r-1): L y = b downwards, U x = y upwards.
               8 m operations
    TWOWAY     the same from row 0 down and from row m - 1 up at once; row m / 2 is the last, with both neighbours:
               u = d - l du - p dl. 8 m operations (van der Vorst, Par. Comp. 5, 1987: burn at both ends)
    CR         rows 0, 2, 4, ... are eliminated from the others, whose system is tridiagonal and has m / 2 rows, and
               so on. u: the diagonal of the rows eliminated, pivots of LU in that order. 17 m operations
               (Hockney, JACM 12, 1965)
    PCR        all rows at once: from row r, with stride s = 1, 2, 4, ... < m, rows r - s and r + s are eliminated;
               then m systems of one row. u: the diagonal before each step and at the end. 12 m log m operations
               (Hockney and Jesshope, Parallel Computers, 1981)
    CRPCR      CR while more than `switchpoint` rows are left, then PCR, then back (Zhang, Cohen, Owens, Fast
               tridiagonal solvers on the GPU, PPoPP 2010)
    RD         u_r = q_r / q_(r-1), [q_r; q_(r-1)] = P_r [1; 0]. P_r: prefix products of
               [d_r, -dl_r du_(r-1); 1, 0], each divided by the power of two that takes its largest entry to [1, 2):
               ratios do not change, nothing overflows. Both substitutions are prefixes too, of
               (a, y) o (a', y') = (a a', y + a y'). u are the pivots of LU. 20 m log m operations (Stone, JACM 20,
               1973). The form of Zhang, Cohen and Owens with 3 x 3 matrices divides by du instead and overflows for
               dominant systems of 64 rows in single precision
    PARTITION  chunks of `chunk` rows: the last row of each is a separator, the others its interior, which the
               algorithm `local` solves. The Schur complement S of the separators is tridiagonal again: PARTITION for
               long ones, else THOMAS. Of the interiors I before and J after a separator s, setup has
               z2 = A_I^-T e_last and z1 = A_J^-T e_first:
                   b'_s = b_s - dl_s (z2 . b_I) - du_s (z1 . b_J);   S x_s = b'_s;
                   x_I  = A_I^-1 (b_I - dl_first x_before - du_last x_after)
               (the method of substructures: Wang, ACM TOMS 7, 1981, with the far couplings kept in S). z is not read
               beyond the row after which all |z_r| max(|dl_r|, |d_r|, |du_r|) are below
               PETSC_MACHINE_EPSILON / rows of the largest: |b_r| <= 3 max(...) max |x|, so that less is lost than by
               the roundings of z . b, however rows are scaled. An interior that is singular in a regular system is
               reported.

  What an apply must read: THOMAS, TWOWAY 3 words of factors a row, b; x is written (and y written and read between,
  where the cache does not hold it). PARTITION 3 words and b; b and z again, where z reaches; x is written.

  Transposed systems are solved by the same factors. With A = L U the roles of multipliers change: forward by du_(r-1) /
  u_(r-1), back by dl_(r+1) / u_r.

  A divisor u is bad where |u| <= max(tol, PETSC_REAL_MIN), or where it is not finite. SpikePivot is as for the band.
  With boost > 0 a small u is replaced by u boost / |u|, or by boost where it is 0, and counted. PCR counts a row once
  in each step. RD cannot boost, because its pivots come from products, and reports them instead. Without a boost u is
  replaced by 1, so that nothing divides by it, and reported: badrow and badvalue are those of the first bad u, in the
  order of the algorithm, in the first system, or piece of one, that has any. The solutions of that system mean nothing
  then, those of other systems are right. Multipliers of RD whose products overflow are bad, of infinite magnitude.
  `relative` is not read.

  All is deterministic: two runs give the same bits, whatever nrhs is and whatever the other systems are.
*/
typedef struct {
  /* by the caller, before create(), and not changed after it */
  PetscInt nsys;
  /* [nsys + 1] on the host, the caller's, alive until destroy(); start[0] = 0            */
  const PetscInt *start;
  /* asked for                                                                         */
  PCSpikeTridiagonalType type;
  /* CRPCR: rows; PETSC_DECIDE: what is fastest                                        */
  PetscInt switchpoint;
  /* PARTITION: rows, at least 2; PETSC_DECIDE: what is fastest                         */
  PetscInt chunk;
  /*
    CR, PCR, CRPCR, RD: systems with more rows are partitioned, with the type as local. PETSC_DECIDE: the backend
    chooses; 0: as few as the backend can
  */
  PetscInt longest;
  /* PARTITION: interiors by L U with scaled partial pivoting                           */
  PetscBool pivoting;
  /* columns that work space is made for; apply() takes any number, in batches           */
  PetscInt maxrhs;

  /* by create() */
  /* what became of AUTO; PARTITION where a system is partitioned                           */
  PCSpikeTridiagonalType used;
  /* that solves systems or interiors: THOMAS, TWOWAY, CR, PCR, CRPCR or RD                  */
  PCSpikeTridiagonalType local;
  /* systems and the pieces of those that are partitioned                                   */
  PetscInt nchunks;
  /* rows of the longest system                                                             */
  PetscInt largest;
  /* by setup(), PARTITION: the largest part of an interior over which a z is read, 0 without */
  PetscReal maxwindow;

  /* of the backend                                                                   */
  void *data;
  /* the caller's, looked at in each call; NULL: of the backend, PETSc's current one on a device */
  void                          *stream;
  const SpikeTridiagonalKernels *k;
} SpikeTridiagonal;

struct _n_SpikeTridiagonalKernels {
  const char  *name;
  PetscMemType memtype;

  /* Bytes that create() has allocated */
  PetscErrorCode (*bytes)(const SpikeTridiagonal *, PetscReal *);

  /*
    Allocates all that setup() and apply() need. destroy() accepts what is partly made, and frees what create()
    allocated, not start
  */
  PetscErrorCode (*create)(SpikeTridiagonal *);
  PetscErrorCode (*destroy)(SpikeTridiagonal *);

  /*
    Factors from dl, d, du, [n] each in the backend's memory, n = start[nsys], which are not written and not needed
    afterwards. Reads each once, writes what apply() reads. May be called again with other values; allocates nothing. A
    device does not wait: it reads tol and boost of *pivot, and report() has the rest.
  */
  PetscErrorCode (*setup)(SpikeTridiagonal *, const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du,
                          SpikePivot *pivot);

  /* *pivot <- what setup()s since the last call have found; waits. NULL where those fill it themselves */
  PetscErrorCode (*report)(SpikeTridiagonal *, SpikePivot *pivot);

  /*
    x <- A^-1 b, or A^-T b, for nrhs columns ldb and ldx apart, at least n. x may be b, with ldx = ldb; no other
    overlap. Rows between n and the leading dimension are not touched. No allocation, no wait.
  */
  PetscErrorCode (*apply)(SpikeTridiagonal *, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                          PetscScalar *x, PetscCount ldx);
};

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeTridiagonalKernels SpikeTridiagonalKernels_Host, SpikeTridiagonalKernels_CUDA;
