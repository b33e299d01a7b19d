/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_matsolve_block.c: KSPMatSolve() by block CG: solutions of LAPACK, reasons and residuals of each column, iterations
  against those of columns side by side
*/
static char help[] = "Block conjugate gradients for several right-hand sides.\n\n";

#include "ksptest.h"

typedef enum {
  TEST_RANDOM,
  TEST_SAME,     /* columns that are equal, sums of others and 0                              */
  TEST_SCALED,   /* each second column 1e-12 times as large                                  */
  TEST_EARLY,    /* columns that need few iterations, and one that is 0                      */
  TEST_GUESS,    /* a guess, which solves the first column                                   */
  TEST_NEGATIVE, /* a negative definite operator                                             */
  TEST_NULL,     /* constants are the null space                                             */
  TEST_NKINDS
} TestKind;
static const char *const TestKinds[] = {"random", "same", "scaled", "early", "guess", "negative", "null space"};

/* A dense matrix of A's columns, where A's vectors are, with some rows after those of the rank */
static PetscErrorCode DenseCreate(Mat A, PetscInt m, PetscInt pad, Mat *X)
{
  PetscInt  nlocal, n;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), X));
  PetscCall(MatSetSizes(*X, nlocal, PETSC_DECIDE, n, m));
  PetscCall(MatSetType(*X, device ? MATDENSECUDA : MATDENSE));
  PetscCall(MatDenseSetLDA(*X, PetscMax(nlocal + pad, 1)));
  PetscCall(MatSetUp(*X));
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Entry(TestKind kind, PetscInt n, PetscInt i, PetscInt j)
{
  switch (kind) {
  case TEST_SAME:
    if (j % 4 == 1) return SpikeTestScalar(50, i, j - 1);
    if (j % 4 == 2) return 0.0;
    if (j % 4 == 3)
      return SpikeTestScalar(50, i, j - 3) + (j > 3 ? SpikeTestScalar(50, i, 0) : SpikeTestScalar(51, i, 0));
    break;
  case TEST_SCALED:
    return (j % 2 ? 1e-12 : 1.0) * SpikeTestScalar(50, i, j);
  case TEST_EARLY: /* few entries */
    if (j % 3 == 1) return i == (11 * j) % n ? 1.0 : 0.0;
    if (j % 3 == 2) return j == 2 ? 0.0 : (i / 7 == j ? 1.0 : 0.0);
    break;
  default:
    break;
  }
  return SpikeTestScalar(50, i, j);
}

static PetscErrorCode SetRightHandSides(Mat B, TestKind kind)
{
  PetscScalar *a;
  PetscInt     lda, start, end, n, m;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &n, &m));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  PetscCall(MatDenseGetLDA(B, &lda));
  PetscCall(MatDenseGetArrayWrite(B, &a));
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = start; i < end; i++) a[i - start + j * lda] = Entry(kind, n, i, j);
  PetscCall(MatDenseRestoreArrayWrite(B, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeMatrix(TestKind kind, PetscInt nx, PetscInt ny, Mat *A)
{
  MatNullSpace nullspace;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, nx, ny, PETSC_DECIDE, kind == TEST_NULL ? 0.0 : 0.1, A));
  if (kind == TEST_NEGATIVE) PetscCall(MatScale(*A, -1.0));
  if (kind == TEST_NULL) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
    PetscCall(MatSetNullSpace(*A, nullspace));
    PetscCall(MatSetTransposeNullSpace(*A, nullspace));
    PetscCall(MatNullSpaceDestroy(&nullspace));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / ||b|| of column j, or ||b - A x|| where b is 0; b in the range of A */
static PetscErrorCode TrueResidual(Mat A, PetscBool trans, Mat B, Mat X, PetscInt j, PetscReal *residual)
{
  MatNullSpace nullspace;
  Vec          r, b, copy, x;
  PetscReal    norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &copy));
  PetscCall(MatDenseGetColumnVecRead(B, j, &b));
  PetscCall(VecCopy(b, copy));
  PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
  PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, copy));
  PetscCall(MatDenseGetColumnVecRead(X, j, &x));
  if (trans) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
  PetscCall(VecAYPX(r, -1.0, copy));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(copy, NORM_2, &norm));
  if (norm > 0.0) *residual /= norm;
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, PCType pctype, KSPNormType norm, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPTestCreate(KSPCGFUSED, pctype, A, ksp));
  PetscCall(KSPSetNormType(*ksp, norm));
  PetscCall(KSPFusedSetMatSolveType(*ksp, KSP_FUSED_MATSOLVE_BLOCK));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All columns by block CG against LAPACK, and against columns side by side, none of which is to take fewer iterations
  than the block
*/
static PetscErrorCode TestBlock(Mat A, TestKind kind, PCType pctype, KSPNormType norm, PetscBool trans, PetscInt m,
                                PetscInt batch, PetscInt pad)
{
  KSP                       ksp, columns;
  Mat                       B, X, Y;
  Vec                       b, x, y;
  PetscInt                  got, most, first = batch && batch < m ? (m - 1) / batch * batch : 0, theirs;
  const PetscInt           *its;
  const KSPConvergedReason *reasons;
  const PetscReal          *norms;
  KSPConvergedReason        reason;
  PetscBool                 together;
  char                      where[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %" PetscInt_FMT " columns, batch %" PetscInt_FMT "%s",
                          TestKinds[kind], pctype, KSPNormTypes[norm], m, batch, trans ? ", transposed" : ""));
  PetscCall(Create(A, pctype, norm, &ksp));
  PetscCall(Create(A, pctype, norm, &columns));
  PetscCall(KSPFusedSetMatSolveType(columns, KSP_FUSED_MATSOLVE_COLUMNS));
  if (batch) PetscCall(KSPSetMatSolveBatchSize(ksp, batch));
  PetscCall(DenseCreate(A, m, pad, &B));
  PetscCall(DenseCreate(A, m, pad ? pad + 3 : 0, &X));
  PetscCall(DenseCreate(A, m, 0, &Y));
  PetscCall(SetRightHandSides(B, kind));
  if (kind == TEST_GUESS) {
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPSetInitialGuessNonzero(columns, PETSC_TRUE));
    PetscCall(SetRightHandSides(X, TEST_SAME));
    PetscCall(SetRightHandSides(Y, TEST_SAME));
    PetscCall(MatDenseGetColumnVecRead(X, 0, &x));
    PetscCall(MatDenseGetColumnVecWrite(B, 0, &b));
    PetscCall(MatMult(A, x, b));
    PetscCall(MatDenseRestoreColumnVecWrite(B, 0, &b));
    PetscCall(MatDenseRestoreColumnVecRead(X, 0, &x));
  }
  if (trans) PetscCall(KSPMatSolveTranspose(ksp, B, X));
  else PetscCall(KSPMatSolve(ksp, B, X));
  if (trans) PetscCall(KSPMatSolveTranspose(columns, B, Y));
  else PetscCall(KSPMatSolve(columns, B, Y));
  PetscCall(KSPFusedGetColumns(ksp, &got, &its, &reasons, &norms, &together));
  PetscCall(KSPGetIterationNumber(ksp, &most));
  PetscCall(KSPGetIterationNumber(columns, &theirs));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPTestBackend(ksp, where));
  PetscCall(SpikeTestCheck((PetscBool)(got == m - first && together == (PetscBool)(got > 1)),
                           "%s: figures of %" PetscInt_FMT " columns, together %d", where, got, together));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
  PetscCall(SpikeTestCheck((PetscBool)(most <= theirs + 1),
                           "%s: %" PetscInt_FMT " iterations, side by side %" PetscInt_FMT, where, most, theirs));
  PetscCall(MatCreateVecs(A, &y, NULL));
  for (PetscInt j = 0; j < m; j++) {
    PetscReal residual, difference, size;

    if (j >= first)
      PetscCall(SpikeTestCheck((PetscBool)(reasons[j - first] > 0 && its[j - first] <= most && norms[j - first] >= 0.0),
                               "%s: column %" PetscInt_FMT " ended with %s, norm %g", where, j,
                               KSPConvergedReasons[reasons[j - first]], (double)norms[j - first]));
    PetscCall(TrueResidual(A, trans, B, X, j, &residual));
    PetscCall(
      SpikeTestSmall(residual, (norm == KSP_NORM_UNPRECONDITIONED ? 10 : 100) * KSPTEST_RTOL, "true residual", where));
    if (kind == TEST_NULL || (j > 4 && j < m - 1)) continue; /* LAPACK takes time */
    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(KSPTestDense(A, trans, b, y));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
    PetscCall(VecNorm(y, NORM_2, &size));
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(KSPTestDifference(x, y, &difference));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(SpikeTestSmall(difference, 1e3 * KSPTEST_RTOL, "difference to LAPACK", where));
  }
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 7-point Poisson problem, 16 random columns: iterations of the block, of the columns side by side */
static PetscErrorCode TestPoisson(PCType pctype)
{
  const PetscInt n = 14, m = 16;
  Mat            A, B, X;
  KSP            ksp;
  PetscInt       start, end, its[2];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n * n * n, n * n * n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscInt at[] = {i % n, i / n % n, i / n / n}, step[] = {1, n, n * n};

    PetscCall(MatSetValue(A, i, i, 6.0, INSERT_VALUES));
    for (int d = 0; d < 3; d++) {
      if (at[d] > 0) PetscCall(MatSetValue(A, i, i - step[d], -1.0, INSERT_VALUES));
      if (at[d] < n - 1) PetscCall(MatSetValue(A, i, i + step[d], -1.0, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DenseCreate(A, m, 0, &B));
  PetscCall(DenseCreate(A, m, 0, &X));
  PetscCall(SetRightHandSides(B, TEST_RANDOM));
  PetscCall(Create(A, pctype, KSP_NORM_UNPRECONDITIONED, &ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPFusedSetMatSolveType(ksp, k ? KSP_FUSED_MATSOLVE_COLUMNS : KSP_FUSED_MATSOLVE_BLOCK));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    for (PetscInt j = 0; j < m; j++) {
      PetscReal residual;

      PetscCall(TrueResidual(A, PETSC_FALSE, B, X, j, &residual));
      PetscCall(SpikeTestSmall(residual, 10 * KSPTEST_RTOL, "true residual", "Poisson"));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Poisson, 16 columns, %s: %s of the iterations\n", pctype,
                        4 * its[0] < 3 * its[1] ? "less than three quarters" : "too many"));
  PetscCall(
    PetscInfo(ksp, "%" PetscInt_FMT " iterations of the block, %" PetscInt_FMT " side by side\n", its[0], its[1]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellMult(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What cannot converge says so: indefinite operators and preconditioners, too few iterations, a preconditioner that
  fails, columns that are not finite while others go on
*/
static PetscErrorCode TestFailures(void)
{
  Mat                       A, S, B, X;
  KSP                       ksp;
  Vec                       d;
  PetscInt                  m, n, start, end;
  const PetscInt           *its;
  const KSPConvergedReason *reasons;
  KSPConvergedReason        reason;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(TEST_RANDOM, 20, 7, &A));
  PetscCall(DenseCreate(A, 5, 0, &B));
  PetscCall(DenseCreate(A, 5, 0, &X));
  PetscCall(SetRightHandSides(B, TEST_RANDOM));
  PetscCall(Create(A, PCJACOBI, KSP_NORM_UNPRECONDITIONED, &ksp));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &m, &its, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < m; j++)
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] == KSP_DIVERGED_ITS && its[j] == 3),
                             "few: column %" PetscInt_FMT " ended with %s after %" PetscInt_FMT, j,
                             KSPConvergedReasons[reasons[j]], its[j]));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1000));
  for (int k = 0; k < 2 && !PetscDefined(USE_REAL_SINGLE); k++) {
    Vec b; /* the squares of the second column overflow, then the column itself; the rest is solved */

    PetscCall(MatDenseGetColumnVec(B, 1, &b));
    PetscCall(VecScale(b, 1e200));
    PetscCall(MatDenseRestoreColumnVec(B, 1, &b));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPFusedGetColumns(ksp, &m, NULL, &reasons, NULL, NULL));
    for (PetscInt j = 0; j < m; j++)
      PetscCall(SpikeTestCheck((PetscBool)(k && j == 1 ? reasons[j] == KSP_DIVERGED_NANORINF : reasons[j] > 0),
                               "overflow: column %" PetscInt_FMT " ended with %s", j, KSPConvergedReasons[reasons[j]]));
  }
  PetscCall(SetRightHandSides(B, TEST_RANDOM));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(VecSet(d, 2.0));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(VecGetOwnershipRange(d, &start, &end));
  for (PetscInt k = 0; k < 2; k++) { /* identity times 2: one iteration; then an indefinite diagonal */
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &S));
    for (PetscInt i = start; i < end; i++)
      PetscCall(VecSetValue(d, i, k && i % 3 == 0 ? -2.0 : 2.0 + (k ? (PetscReal)(i % 50) : 0.0), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(d));
    PetscCall(VecAssemblyEnd(d));
    PetscCall(MatDiagonalSet(S, d, INSERT_VALUES));
    PetscCall(Create(S, PCNONE, KSP_NORM_UNPRECONDITIONED, &ksp));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPFusedGetColumns(ksp, &m, &its, NULL, NULL, NULL));
    PetscCall(SpikeTestCheck((PetscBool)(k ? reason == KSP_DIVERGED_INDEFINITE_MAT : reason > 0 && its[0] == 1),
                             "%s: ended with %s", k ? "indefinite" : "identity", KSPConvergedReasons[reason]));
    PetscCall(KSPDestroy(&ksp));
    if (k) { /* a column that meets no negative curvature has not converged because others do */
      PetscReal residual;
      Vec       v;

      PetscCall(MatDenseGetColumnVec(B, 0, &v));
      for (PetscInt i = start; i < end; i++)
        PetscCall(VecSetValue(v, i, i % 3 == 0 ? 0.0 : 1.0 + (PetscReal)(i % 7), INSERT_VALUES));
      PetscCall(VecAssemblyBegin(v));
      PetscCall(VecAssemblyEnd(v));
      PetscCall(MatDenseRestoreColumnVec(B, 0, &v));
      PetscCall(Create(S, PCNONE, KSP_NORM_UNPRECONDITIONED, &ksp));
      PetscCall(KSPSetConvergedNegativeCurvature(ksp, PETSC_TRUE));
      PetscCall(KSPMatSolve(ksp, B, X));
      PetscCall(TrueResidual(S, PETSC_FALSE, B, X, 0, &residual));
      PetscCall(SpikeTestSmall(residual, 10 * KSPTEST_RTOL, "true residual", "negative curvature of other columns"));
      PetscCall(SetRightHandSides(B, TEST_RANDOM));
      PetscCall(KSPDestroy(&ksp));
    }
    if (k) { /* as a preconditioner */
      PetscCall(Create(A, PCJACOBI, KSP_NORM_UNPRECONDITIONED, &ksp));
      PetscCall(KSPSetOperators(ksp, A, S));
      PetscCall(KSPMatSolve(ksp, B, X));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_INDEFINITE_PC),
                               "indefinite preconditioner: ended with %s", KSPConvergedReasons[reason]));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(MatDestroy(&S));
  }
  PetscCall(VecDestroy(&d));
  { /* an operator that has MatMult() alone */
    PetscInt nlocal;
    VecType  vectype;

    PetscCall(MatGetLocalSize(A, &nlocal, NULL));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, nlocal, nlocal, n, n, A, &S));
    PetscCall(MatShellSetOperation(S, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
    PetscCall(MatGetVecType(A, &vectype));
    PetscCall(MatShellSetVecType(S, vectype));
    PetscCall(Create(A, PCSPIKE, KSP_NORM_PRECONDITIONED, &ksp));
    PetscCall(KSPSetOperators(ksp, S, A));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "shell: ended with %s", KSPConvergedReasons[reason]));
    PetscCall(MatDestroy(&S));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(KSPTestCreate(KSPBCGSFUSED, PCNONE, A, &ksp)); /* no block form */
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPFusedSetMatSolveType(ksp, KSP_FUSED_MATSOLVE_BLOCK);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_SUP), "error %d for a method without a block form", (int)ierr));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  An operator, or a preconditioner, that is not definite: the columns whose Krylov spaces do not see it are solved, as
  by themselves; guess: not 0
*/
static PetscErrorCode TestIndefinite(PetscBool ispc, PetscBool guess)
{
  const PetscInt            n = 60, m = 4;
  Mat                       A, P, B, X;
  Vec                       d, v;
  KSP                       ksp;
  PetscInt                  start, end, got;
  const KSPConvergedReason *reasons;
  KSPConvergedReason        reason;
  char                      where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "indefinite %s%s", ispc ? "preconditioner" : "operator",
                          guess ? ", guess" : ""));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(MatSetValue(A, i, i, 2.0 + i % 7, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &P));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(MatGetDiagonal(A, d));
  for (PetscInt i = start; i < end; i++)
    PetscCall(VecSetValue(d, i, (i % 3 ? 1.0 : -1.0) * (2.0 + i % 7), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(MatDiagonalSet(ispc ? P : A, d, INSERT_VALUES));
  PetscCall(VecSet(d, 1.0));
  if (ispc) { /* else Jacobi would need one iteration */
    for (PetscInt i = start; i < end; i++) PetscCall(MatSetValue(A, i, i, 3.0 + (i * i) % 11, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(DenseCreate(A, m, 0, &B));
  PetscCall(DenseCreate(A, m, 0, &X));
  PetscCall(MatZeroEntries(X));
  for (PetscInt j = 0; j < m; j++) { /* the even columns are 0 where it is negative, and so is a guess */
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecSet(v, 0.0));
    for (PetscInt i = start; i < end; i++)
      if (i % 3 || j % 2) PetscCall(VecSetValue(v, i, SpikeTestScalar(80, i, j), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(v));
    PetscCall(VecAssemblyEnd(v));
    PetscCall(VecCopy(v, d));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
    PetscCall(MatDenseGetColumnVecWrite(X, j, &v));
    PetscCall(VecCopy(d, v));
    PetscCall(MatDenseRestoreColumnVecWrite(X, j, &v));
  }
  PetscCall(Create(A, ispc ? PCJACOBI : PCNONE, KSP_NORM_UNPRECONDITIONED, &ksp));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPFusedGetColumns(ksp, &got, NULL, &reasons, NULL, NULL));
  PetscCall(
    SpikeTestCheck((PetscBool)(got == m && reason < 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
  for (PetscInt j = 0; j < m; j++) {
    PetscReal residual;

    PetscCall(SpikeTestCheck((PetscBool)((reasons[j] > 0) == (j % 2 == 0)), "%s: column %" PetscInt_FMT ": %s", where,
                             j, KSPConvergedReasons[reasons[j]]));
    if (j % 2) continue;
    PetscCall(TrueResidual(A, PETSC_FALSE, B, X, j, &residual));
    PetscCall(SpikeTestSmall(residual, 10 * KSPTEST_RTOL, "true residual", where));
  }
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SOR and a matrix of large condition: what is called converged has the true residual of a single solve's tolerance */
static PetscErrorCode TestIllConditioned(void)
{
  const PetscInt            m = 6;
  Mat                       A, B, X;
  KSP                       ksp;
  PetscInt                  got;
  const KSPConvergedReason *reasons;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 30, 30, PETSC_DECIDE, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-8, &A));
  PetscCall(DenseCreate(A, m, 0, &B));
  PetscCall(DenseCreate(A, m, 0, &X));
  PetscCall(SetRightHandSides(B, TEST_RANDOM));
  PetscCall(KSPTestCreate(KSPCGFUSED, PCSOR, A, &ksp));
  PetscCall(KSPFusedSetMatSolveType(ksp, KSP_FUSED_MATSOLVE_BLOCK));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &got, NULL, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < m; j++) {
    PetscReal residual;

    PetscCall(TrueResidual(A, PETSC_FALSE, B, X, j, &residual));
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] < 0 || residual <= 10 * KSPTEST_RTOL),
                             "ill-conditioned, column %" PetscInt_FMT ": %s with %g", j,
                             KSPConvergedReasons[reasons[j]], (double)residual));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One KSP through numbers of columns, ways of solving and values */
static PetscErrorCode TestChange(void)
{
  const PetscInt             width[] = {6, 3, 33, 6, 40, 5};
  const KSPFusedMatSolveType type[]  = {KSP_FUSED_MATSOLVE_BLOCK,   KSP_FUSED_MATSOLVE_BLOCK,
                                        KSP_FUSED_MATSOLVE_BLOCK,   KSP_FUSED_MATSOLVE_COLUMNS,
                                        KSP_FUSED_MATSOLVE_COLUMNS, KSP_FUSED_MATSOLVE_BLOCK};
  Mat                        A;
  KSP                        ksp;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(TEST_RANDOM, 20, 7, &A));
  PetscCall(Create(A, PCJACOBI, KSP_NORM_UNPRECONDITIONED, &ksp));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(width); k++) {
    Mat B, X;

    PetscCall(DenseCreate(A, width[k], 0, &B));
    PetscCall(DenseCreate(A, width[k], 0, &X));
    PetscCall(SetRightHandSides(B, TEST_RANDOM));
    PetscCall(KSPFusedSetMatSolveType(ksp, type[k]));
    if (k == 3) PetscCall(MatScale(A, 2.0));
    PetscCall(KSPMatSolve(ksp, B, X));
    for (PetscInt j = 0; j < width[k]; j++) {
      PetscReal residual;

      PetscCall(TrueResidual(A, PETSC_FALSE, B, X, j, &residual));
      PetscCall(SpikeTestSmall(residual, 10 * KSPTEST_RTOL, "true residual", "change"));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PCType            pcs[]    = {PCNONE, PCJACOBI, PCSPIKE, PCBJACOBI, PCICC};
  const KSPNormType norms[]  = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NATURAL};
  const PetscInt    widths[] = {1, 3, 8, 32, 33};
  PetscMPIInt       size;
  PetscBool         device;
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(KSPTestOnDevice(&device));
  if (device) pcs[4] = PCILU;
  for (int kind = 0; kind < TEST_NKINDS; kind++) {
    PetscCall(MakeMatrix((TestKind)kind, kind == TEST_NULL ? 6 : 20, 7, &A));
    for (PetscInt p = 0; p < (size > 1 ? 4 : 5); p++) {
      if ((kind == TEST_NULL && p >= 2) || (kind == TEST_NEGATIVE && p == 4)) continue; /* no factors of these */
      if (PetscDefined(USE_COMPLEX) && p == 4) continue; /* PCICC factors symmetric matrices, not Hermitian ones */
      for (PetscInt k = 0; k < 3; k++) PetscCall(TestBlock(A, (TestKind)kind, pcs[p], norms[k], PETSC_FALSE, 8, 0, p));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(MakeMatrix(TEST_RANDOM, 20, 7, &A));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
    PetscCall(TestBlock(A, TEST_RANDOM, PCJACOBI, KSP_NORM_UNPRECONDITIONED, PETSC_FALSE, widths[w], 0, 3));
    PetscCall(TestBlock(A, TEST_SAME, PCSPIKE, KSP_NORM_PRECONDITIONED, PETSC_FALSE, widths[w], 16, 0));
    PetscCall(TestBlock(A, TEST_SCALED, PCNONE, KSP_NORM_NATURAL, PETSC_FALSE, widths[w], 0, 0));
    if (!PetscDefined(USE_COMPLEX))
      PetscCall(TestBlock(A, TEST_EARLY, PCBJACOBI, KSP_NORM_UNPRECONDITIONED, PETSC_TRUE, widths[w], 0, 0));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(TestPoisson(PCNONE));
  PetscCall(TestPoisson(PCJACOBI));
  PetscCall(TestPoisson(PCBJACOBI));
  for (int k = 0; k < 4; k++) PetscCall(TestIndefinite((PetscBool)(k % 2), (PetscBool)(k / 2)));
  PetscCall(TestIllConditioned());
  PetscCall(TestFailures());
  PetscCall(TestChange());
  PetscCall(SpikeTestEnd("ksp_matsolve_block"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_matsolve_block_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: product
         args: -product petsc
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto petsc}}

TEST*/
