/* SPDX-License-Identifier: BSD-2-Clause */
/* bordercase.h: matrices of a band and a border, and the operators of PCSPIKE beside dense inverses of them */
#pragma once

#include "spiketest.h"

#define TOLERANCE (PetscDefined(USE_REAL_SINGLE) ? 2e-3 : 1e-10)

typedef enum {
  ARROW,    /* some full rows and columns */
  COLUMNS,  /* full columns only          */
  ROWS,     /* full rows only             */
  PERIODIC, /* corners                    */
  FAR       /* a few entries far away     */
} Kind;
static const char *const Kinds[] = {"arrow", "columns", "rows", "periodic", "far"};

/* A dominant band with something that makes it wide; shuffled: rows and columns in another order, alike */
typedef struct {
  Kind     kind;
  PetscInt n, kl, ku, m;
  PetscInt shuffled, seed;
} Case;

static inline PetscInt GetBorder(const Case *c, PetscInt k) /* row k of the border */
{
  return (PetscInt)((PetscInt64)(2 * k + 1) * c->n / (2 * c->m));
}

static inline void Dense(const Case *c, PetscReal scale, PetscScalar a[])
{
  const PetscInt      n    = c->n;
  const SpikeTestBand band = {n, c->kl, c->ku, 1.5, SPIKE_TEST_RANDOM, c->seed};
  const PetscInt      step = c->shuffled ? c->shuffled : 1;

  for (PetscInt k = 0; k < n * n; k++) a[k] = 0.0;
#define AT(i, j) a[((i)*step) % n + ((j)*step) % n * n]
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) AT(i, j) = scale * SpikeTestBandEntry(&band, i, j);
  for (PetscInt k = 0; k < c->m && c->kind != PERIODIC; k++) {
    const PetscInt r = GetBorder(c, k);

    for (PetscInt j = 0; j < n; j++) {
      if (c->kind == FAR && (j - r) % (n / 3)) continue;
      if (j == r) continue;
      if (c->kind != COLUMNS) AT(r, j) += scale * 0.1 * SpikeTestScalar(c->seed, r, j + 3 * n);
      if (c->kind != ROWS) AT(j, r) += scale * 0.1 * SpikeTestScalar(c->seed, j + 3 * n, r);
    }
  }
  for (PetscInt i = 0; i < n && c->kind == PERIODIC; i++)
    for (PetscInt d = -c->kl; d <= c->ku; d++)
      if (i + d < 0 || i + d >= n) AT(i, (i + d + n) % n) = scale * 0.3 * SpikeTestScalar(c->seed, i, i + d + 5 * n);
}

static inline PetscErrorCode SetValues(PetscInt n, const PetscScalar a[], Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = 0; j < n; j++)
      if (a[i + j * n] != (PetscScalar)0.0) PetscCall(MatSetValue(A, i, j, a[i + j * n], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  /* else an ordering of several ranks may be taken that drops what couples them: good for a preconditioner */
  if (size > 1) PetscCall(PCSpikeSetDirect(*pc, PETSC_TRUE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  max |M^-1 - A^-1|, of the transpose too, one column after the other and all in one call; where solves are checked all
  are good
*/
static inline PetscErrorCode CheckInverse(PC pc, PetscInt n, const PetscScalar a[], PetscReal tol, const char where[])
{
  PetscScalar       *inv, *m, *x;
  const PetscScalar *y;
  PetscReal          norm, diff;
  Mat                A, X, Y;
  PetscInt           lda, nlocal, start;
  PCSpikeInfo        info;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  PetscCall(PetscMalloc2(n * n, &inv, n * n, &m));
  PetscCall(SpikeTestInvert(n, a, n, inv, n));
  for (int trans = 0; trans < 2; trans++) {
    PetscCall(SpikeTestOperator(pc, (PetscBool)trans, m));
    SpikeTestDifference(n, 0, n, 0, n, m, inv, (PetscBool)trans, &diff, &norm);
    PetscCall(
      SpikeTestSmall(diff, tol * norm, trans ? "error of the transposed inverse" : "error of the inverse", where));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, nlocal, PETSC_DECIDE, n, n, NULL, &X));
    PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
    PetscCall(MatDenseGetLDA(X, &lda));
    PetscCall(MatDenseGetArrayWrite(X, &x));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < nlocal; i++) x[i + j * lda] = i + start == j ? 1.0 : 0.0;
    PetscCall(MatDenseRestoreArrayWrite(X, &x));
    PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
    if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
    else PetscCall(PCMatApply(pc, X, Y));
    PetscCall(MatDenseGetLDA(Y, &lda));
    PetscCall(MatDenseGetArrayRead(Y, &y));
    PetscCall(PetscArrayzero(m, n * n));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(m + start + j * n, y + j * lda, nlocal));
    PetscCall(MatDenseRestoreArrayRead(Y, &y));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, m, n * n, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    SpikeTestDifference(n, 0, n, 0, n, m, inv, (PetscBool)trans, &diff, &norm);
    PetscCall(SpikeTestSmall(diff, tol * norm, trans ? "all columns, transposed" : "all columns", where));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)!info.unsolved,
                           "%s: %" PetscInt_FMT " solves of %" PetscInt_FMT " with a large backward error, the last %g",
                           where, info.unsolved, info.solves, (double)info.backward_error));
  PetscCall(PetscFree2(inv, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CheckBorder(PC pc, PetscInt least, PetscInt most, PetscInt K, const char where[])
{
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border >= least && info.border <= most && PetscMax(info.kl, info.ku) <= K),
                           "%s: a border of %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, where,
                           info.border, info.kl, info.ku));
  PetscCall(SpikeTestCheck((PetscBool)(info.dropped == 0.0), "%s: share %g is dropped", where, (double)info.dropped));
  PetscFunctionReturn(PETSC_SUCCESS);
}
