/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ilu.h: for benchmarks/blocks: block ILU(0) of one or many matrices and its solves, by the kernels of a place and by
  PETSc's MATBAIJ
*/
#pragma once

#include "run.h"

#define MAXLUCOPIES 128
#define MOSTRHS     16

/* Orders of the block rows of each task */
typedef enum {
  ORDER_NATURAL,
  ORDER_COLORS,
  ORDER_DISSECTION /* nested dissection, by PETSc */
} Order;

/*
  Copies of ntasks matrices on cubes, one after the other in the same arrays; the matrix in blocks. On the host: bi,
  bj, ba, the same for all copies
*/
typedef struct {
  Place              *p;
  PetscSpikePrecision precision;
  PetscInt            bs, nb, ntasks, copies, m, *bi, *bj, *newrow, colors;
  PetscScalar        *ba, *hostx;
  SpikeBlockPattern   pattern;
  SpikeBlockCSR       csr;
  SpikeBlockLU        lu[MAXLUCOPIES];
  SpikePivot          pivot[MAXLUCOPIES];
  SpikeBlockFillStats stats[MAXLUCOPIES];
  PetscScalar        *b, *x; /* [copies * MAXRHS * n] */
} Ilu;

static inline double IluBytes(const Ilu *t, double columns)
{
  const double blocks = (double)t->pattern.li[t->nb] + (double)t->pattern.ui[t->nb] + (double)t->nb, bs = (double)t->bs;

  return blocks * bs * bs * (double)NumberBytes(t->precision) + 4.0 * blocks +
         2.0 * columns * (double)t->nb * bs * sizeof(PetscScalar);
}

/* max |x - y| / max |y| in units of rounding */
static inline double Difference(PetscCount n, const PetscScalar *x, const PetscScalar *y)
{
  double error = 0.0, size = 0.0;

  for (PetscCount i = 0; i < n; i++) {
    const double e = (double)PetscAbsScalar(x[i] - y[i]);

    if (!(e <= error)) error = e;
    size = PetscMax(size, (double)PetscAbsScalar(y[i]));
  }
  return error / (size * (double)PETSC_MACHINE_EPSILON);
}

typedef PetscErrorCode (*IluPeers)(Ilu *, Key *);

PetscErrorCode IluCreate(Place *p, PetscSpikePrecision precision, PetscInt bs, PetscInt edge, PetscInt ntasks,
                         Order order, Ilu *t);
PetscErrorCode IluDestroy(Ilu *t);
PetscErrorCode IluFill(void *ctx, PetscInt k);
PetscErrorCode IluFactor(void *ctx, PetscInt k);
PetscErrorCode IluSetUp(void *ctx, PetscInt k);
PetscErrorCode IluOurs(Ilu *t);
PetscErrorCode IluPETScLines(Ilu *t, Key *key);
PetscErrorCode IluPart(Place *p, IluPeers peers);
PetscErrorCode IluTasks(Place *p, IluPeers peers);
