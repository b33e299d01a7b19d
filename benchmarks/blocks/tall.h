/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tall.h: for benchmarks/blocks: block dot Y += X^H Z and block axpy Y += X Z, of one or many tasks, by the kernels of a
  place and by BLAS
*/
#pragma once

#include "run.h"

/*
  Copies of tasks with two tall blocks, n x m, and a small one, m x m. Copies lie one after the other, and tasks in
  them
*/
typedef struct {
  Place              *p;
  PetscSpikePrecision precision;
  PetscInt            n, m, ntasks, copies;
  char               *big, *small;
  SpikeBlockTask     *tasks; /* [copies * ntasks] */
  SpikeDouble         first[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM];
  PetscBool           have; /* the first result of a case for which the host computes none */
} Tall;

/*
  A task as C += op(A) op(B) of column-major matrices. Of row-major blocks, which are transposed ones for BLAS: Y^T +=
  Z^T conj(X) and Y^T += Z^T X^T
*/
typedef struct {
  char        opa, opb;
  int         m, n, k, lda, ldb, ldc;
  const void *A, *B;
  void       *C;
} Product;

/* The peers of a place, by its own file */
typedef PetscErrorCode (*TallPeers)(Tall *, const Key *);

PetscErrorCode TallCreate(Place *p, PetscSpikePrecision precision, PetscInt n, PetscInt m, PetscInt ntasks, Tall *t);
PetscErrorCode TallDestroy(Tall *t);
PetscErrorCode TallSet(Tall *t, SpikeBlockOp op, PetscBool rowmajor);
PetscErrorCode TallError(Tall *t, BlockWork work, void *ctx, PetscBool turned, double *error);
PetscErrorCode TallOurs(void *ctx, PetscInt k);
Product        TallProduct(const SpikeBlockTask *s);
PetscErrorCode TallBLASLine(Tall *t, const Key *key);
PetscErrorCode TallPart(Place *p, PetscBool dot, PetscBool axpy, TallPeers peers);
PetscErrorCode TallTasks(Place *p, TallPeers peers);
