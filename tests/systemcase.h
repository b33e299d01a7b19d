/* SPDX-License-Identifier: BSD-2-Clause */
/* systemcase.h: matrices of many bands, one after the other on each rank, that nothing couples */
#pragma once

#include "spiketest.h"

#define MOST 400

typedef struct Systems Systems;
struct Systems {
  PetscInt  nsys, begin[MOST + 1]; /* of a rank */
  PetscInt  kl, ku, seed;
  PetscInt  joined; /* a row that is coupled to the one before it though it begins a system; -1 */
  PetscInt  zero;   /* a row whose column is zero; -1                                           */
  PetscBool dominant;
  PetscScalar (*entry)(const Systems *, PetscInt k, PetscInt i, PetscInt j); /* of row i, which is of system k */
};

static inline PetscBool SystemsJoin(const Systems *b, PetscInt i, PetscInt j)
{
  return (PetscBool)(PetscMax(i, j) == b->joined && PetscMin(i, j) == b->joined - 1);
}

/* zeros: the whole band is stored, with zeros between systems */
static inline PetscErrorCode SystemsSet(const Systems *b, PetscBool zeros, Mat A)
{
  PetscInt start, end, k = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = 0; i < end - start; i++) {
    while (b->begin[k + 1] <= i) k++;
    for (PetscInt j = PetscMax(0, i - b->kl); j <= PetscMin(end - start - 1, i + b->ku); j++) {
      const PetscScalar v = (*b->entry)(b, k, i, j);

      if (zeros || v != (PetscScalar)0.0) PetscCall(MatSetValue(A, start + i, start + j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SystemsMat(MPI_Comm comm, const Systems *b, PetscBool zeros, MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, b->begin[b->nsys], b->begin[b->nsys], PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(SpikeTestSetMatType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(SystemsSet(b, zeros, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
