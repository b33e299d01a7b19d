/* SPDX-License-Identifier: BSD-2-Clause */
/* gpsv.h: cuSPARSE's solver of interleaved pentadiagonal systems */
#pragma once

#include <petscsys.h>

/*
  *ms <- median time of gpsvInterleavedBatch for nsys systems of m rows, from diagonals at distances -2 .. 2 in the
  order of the rows, which are interleaved before; NAN where cuSPARSE has no such function. x: its solution
*/
PetscErrorCode TimeGpsv(PetscInt nsys, PetscInt m, const PetscScalar *const diagonals[5], const PetscScalar *b,
                        PetscScalar *x, int repeat, double *ms);
