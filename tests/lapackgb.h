/* SPDX-License-Identifier: BSD-2-Clause */
/* lapackgb.h: LAPACK's band LU and tridiagonal LU, which PETSc does not declare */
#pragma once

#include <petscblaslapack.h>

#if defined(PETSC_BLASLAPACK_CAPS)
  #define LAPACKgbtrf_ PETSCBLAS(GBTRF, GBTRF)
  #define LAPACKgbtrs_ PETSCBLAS(GBTRS, GBTRS)
  #define LAPACKgtsv_  PETSCBLAS(GTSV, GTSV)
  #define LAPACKgttrf_ PETSCBLAS(GTTRF, GTTRF)
  #define LAPACKgttrs_ PETSCBLAS(GTTRS, GTTRS)
#else
  #define LAPACKgbtrf_ PETSCBLAS(gbtrf, GBTRF)
  #define LAPACKgbtrs_ PETSCBLAS(gbtrs, GBTRS)
  #define LAPACKgtsv_  PETSCBLAS(gtsv, GTSV)
  #define LAPACKgttrf_ PETSCBLAS(gttrf, GTTRF)
  #define LAPACKgttrs_ PETSCBLAS(gttrs, GTTRS)
#endif
BLAS_EXTERN void LAPACKgbtrf_(const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                              PetscScalar *, const PetscBLASInt *, PetscBLASInt *, PetscBLASInt *);
BLAS_EXTERN void LAPACKgbtrs_(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                              const PetscBLASInt *, const PetscScalar *, const PetscBLASInt *, const PetscBLASInt *,
                              PetscScalar *, const PetscBLASInt *, PetscBLASInt *);
BLAS_EXTERN void LAPACKgtsv_(const PetscBLASInt *, const PetscBLASInt *, PetscScalar *, PetscScalar *, PetscScalar *,
                             PetscScalar *, const PetscBLASInt *, PetscBLASInt *);
BLAS_EXTERN void LAPACKgttrf_(const PetscBLASInt *, PetscScalar *, PetscScalar *, PetscScalar *, PetscScalar *,
                              PetscBLASInt *, PetscBLASInt *);
BLAS_EXTERN void LAPACKgttrs_(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscScalar *,
                              const PetscScalar *, const PetscScalar *, const PetscScalar *, const PetscBLASInt *,
                              PetscScalar *, const PetscBLASInt *, PetscBLASInt *);
