/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mult.h: for benchmarks/blocks: sparse block matrix times tall block, Y = A X and Y = A^T X, by the kernels of a place
  and by PETSc's MATBAIJ
*/
#pragma once

#include "run.h"

#define MAXMULTTASKS 64

/*
  A square matrix of nb x nb blocks, the same in all its forms: number e of the values, in the order of the blocks, each
  column-major, is that of the tile. Of many tasks: their matrices as blocks on its diagonal, alike in their patterns,
  one after the other; A[] are these
*/
typedef struct {
  Place              *p;
  PetscSpikePrecision precision;
  PetscInt            bs, nb, nz, m, ntasks, *bi, *bj;
  PetscBool           rowmajor, trans;
  SpikeBlockMat       A[MAXMULTTASKS];
  void               *a, *x, *y;
} Mult;

/* The peers of a place; create and destroy what they keep for all cells of a matrix */
typedef struct {
  PetscErrorCode (*create)(Mult *, void **);
  PetscErrorCode (*lines)(Mult *, const Key *, void *);
  PetscErrorCode (*destroy)(void **);
} MultPeers;

extern const MultPeers multhostpeers;

void           MultTaskList(const Mult *t, SpikeBlockTask tasks[]);
PetscErrorCode MultError(Mult *t, PetscBool rowmajor, double *error);
PetscErrorCode MultPart(Place *p, const MultPeers *peers);
PetscErrorCode TimeMultTasks(Place *p, const MultPeers *peers);
PetscErrorCode MultGroups(Place *p, const MultPeers *peers, PetscInt nb, PetscInt bs);
