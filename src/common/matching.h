/* SPDX-License-Identifier: BSD-2-Clause */
/* matching.h: large entries on the diagonal of a sparse matrix */
#pragma once

#include <petscsys.h>
#include "kernels/common/types.h"

#define SPIKE_MATCHING_NAMED 8 /* rows without a partner that are known by number */

/*
  SpikeMatching - Rows and columns of a square matrix in pairs whose entries have the largest product, and scales

  Input Parameters:
+ n - rows
- A - entries on the host, colmap NULL, shift 0

  Output Parameters:
+ col       - [n] the column of each row; rows without a partner take the columns that are left, in order
. r, c      - [n] scales of rows and columns, powers of two: matched entries times them are between 1/2 and 2 in
              magnitude, others at most 2, where powers of two reach so far and all rows have partners
. unmatched - rows without a partner: the matrix is structurally singular where there are some
. first     - the first of them, then -1
- finite    - false where an entry is not: nothing is known then

  Where rows are left without a partner, as many as can be have one, but not always those of the largest product.
*/
PETSC_INTERN PetscErrorCode SpikeMatching(PetscInt n, const SpikeCSR *A, PetscInt col[], PetscReal r[], PetscReal c[],
                                          PetscInt *unmatched, PetscInt first[SPIKE_MATCHING_NAMED], PetscBool *finite);
