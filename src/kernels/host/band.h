/* SPDX-License-Identifier: BSD-2-Clause */
/* band.h: the micro-kernels of the host backend on ONE band block; everything above them is in spike_host.c */
#pragma once

#include <petscsys.h>

#if defined(PETSC_USE_REAL___FLOAT128) || defined(PETSC_USE_REAL___FP16)
  #error "petscspike needs PetscReal double or single"
#endif

/*
  Storage of a band block A, n x n, with kl subdiagonals and ku superdiagonals: column-major, ld = kl + ku + 1,

      a_ij = a[j * ld + ku + i - j]     for max(0, j - ku) <= i <= min(n - 1, j + kl)

  Offsets are 64-bit. A diagonal sub-block is a band block itself: rows and columns lo.. start at a + lo * ld. Slots outside the matrix
  hold zeros, and SPIKE_BAND_PAD(kl, ku) elements in front of and behind the array belong to the kernels: they may read them and write
  zero updates to them.

  After lu(), the strictly lower part holds L (unit diagonal), the strictly upper part U, and the diagonal the INVERSES of the pivots.
  The factors are of type F (precision of the factors), vectors of type PetscScalar, arithmetic of the sweeps in PetscScalar.
  All kernels are deterministic, allocate nothing and call nothing of PETSc.
*/
#define SPIKE_BAND_PAD(kl, ku) (((PetscCount)(kl) + (ku) + 1) + 64)

typedef struct {
  PetscReal tol;      /* a pivot with |pivot| <= tol, or not a number, is bad                                     */
  PetscReal boost;    /* > 0: a bad but finite pivot p becomes boost * p / |p| (boost where p = 0); 0: lu() stops there */
  PetscInt  nboost;   /* out: pivots boosted                                                                      */
  PetscInt  badrow;   /* out: first row whose pivot stopped the factorization, -1 if none                         */
  PetscReal badvalue; /* out: magnitude of that pivot                                                             */
  void     *work;     /* lu_worksize(kl, ku) bytes, 64-byte aligned                                               */
} SpikeBandPivot;

typedef struct {
  const char *name; /* instruction set and type of the factors, as "x86-64-v3 double" */
  size_t      size; /* sizeof(F)                                                       */
  size_t (*lu_worksize)(PetscInt kl, PetscInt ku);

  /* A = L U without pivoting, in place; about 2 n kl ku flops. Stops at a bad pivot unless it is boosted. */
  void (*lu)(PetscInt n, PetscInt kl, PetscInt ku, void *a, SpikeBandPivot *piv);

  /*
    Triangular sweeps for nrhs right-hand sides, column c at b + c * ldb and x + c * ldx; b may be x.

      lower    x <- L^-1 b     columns lo <= j < hi in rising order           (forward)
      upper    x <- U^-1 x     columns hi > j >= lo in falling order          (backward)
      upper_t  x <- U^-T b     rows lo <= j < hi in rising order              (forward, transposed)
      lower_t  x <- L^-T x     rows hi > j >= lo in falling order             (backward, transposed)

    A whole sweep is lo = 0, hi = n. Consecutive ranges in the order of the sweep give the same bits as one call over their union: the
    backward sweeps are cut that way to send the bottom tip early. Forward sweeps are called whole (lo = 0, hi = n) only.
    b and x have n entries a column; bytes moved: one triangle of the factors, once, plus b and x.
  */
  void (*lower)(PetscInt n, PetscInt kl, PetscInt ku, const void *a, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx);
  void (*upper)(PetscInt n, PetscInt kl, PetscInt ku, const void *a, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx);
  void (*upper_t)(PetscInt n, PetscInt kl, PetscInt ku, const void *a, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx);
  void (*lower_t)(PetscInt n, PetscInt kl, PetscInt ku, const void *a, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx);
} SpikeBandOps;

/*
  One table per instruction set and precision. On x86-64 band_isa.c is compiled for the baseline, x86-64-v3 (AVX2, FMA) and x86-64-v4
  (AVX-512); elsewhere for the baseline alone. The best one that the processor has is chosen at run time.
*/
typedef enum {
  SPIKE_ISA_BASE = 0,
  SPIKE_ISA_V3   = 1,
  SPIKE_ISA_V4   = 2
} SpikeISA;

PETSC_INTERN const SpikeBandOps SpikeBandOps_base_double, SpikeBandOps_base_single;
#if defined(SPIKE_HAVE_X86_64_LEVELS)
PETSC_INTERN const SpikeBandOps SpikeBandOps_v3_double, SpikeBandOps_v3_single, SpikeBandOps_v4_double, SpikeBandOps_v4_single;
#endif

/* The table of a precision (factors of 8 bytes a real number, else 4) for the instruction set in use */
PETSC_INTERN const SpikeBandOps *SpikeBandGetOps(PetscBool is_double);
/* The best instruction set of this processor, and the one in use; setting one that the processor lacks does nothing and returns PETSC_FALSE */
PETSC_INTERN SpikeISA  SpikeISADetect(void);
PETSC_INTERN SpikeISA  SpikeISAGet(void);
PETSC_INTERN PetscBool SpikeISASet(SpikeISA);
