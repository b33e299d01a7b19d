/* SPDX-License-Identifier: BSD-2-Clause */
/* lapackgb.h: LAPACK's band LU, which PETSc does not declare */
#pragma once

#include <petscblaslapack.h>

#if defined(PETSC_BLASLAPACK_CAPS)
  #define LAPACKgbtrf_ PETSCBLAS(GBTRF, GBTRF)
  #define LAPACKgbtrs_ PETSCBLAS(GBTRS, GBTRS)
#else
  #define LAPACKgbtrf_ PETSCBLAS(gbtrf, GBTRF)
  #define LAPACKgbtrs_ PETSCBLAS(gbtrs, GBTRS)
#endif
BLAS_EXTERN void LAPACKgbtrf_(const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, PetscScalar *, const PetscBLASInt *, PetscBLASInt *, PetscBLASInt *);
BLAS_EXTERN void LAPACKgbtrs_(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const PetscScalar *, const PetscBLASInt *, const PetscBLASInt *, PetscScalar *, const PetscBLASInt *, PetscBLASInt *);
