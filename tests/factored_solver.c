/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "MATSOLVERSPIKE: PCLU and PCCHOLESKY by the factors of PCSPIKE, their failures, other solvers around "
           "them.\n\n";

#include <petsc/private/matimpl.h>
#include "spiketest.h"
#include "viewtext.h"

#define TOL (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)2e-4 : (PetscReal)1e-11)

/* A band, symmetric or not, as a matrix of any type */
static PetscErrorCode BandMat(MatType type, PetscBool symmetric, PetscInt width, PetscInt seed, Mat *A)
{
  const PetscInt N = 60;
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(SpikeTestSetMatType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(0, i - width); j <= PetscMin(N - 1, i + width); j++) {
      const PetscScalar v = i == j    ? 3.0 * width + 0.1 * (i % 7)
                          : symmetric ? SpikeTestScalar(seed, PetscMin(i, j), PetscMax(i, j))
                                      : SpikeTestScalar(seed, i, j);

      PetscCall(MatSetValue(*A, i, j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (symmetric) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckResidual(Mat A, PetscBool trans, Vec b, Vec x, const char where[])
{
  Vec       r;
  PetscReal norm, bnorm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  if (trans) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(SpikeTestSmall(norm, TOL * bnorm, "residual", where));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions of a factored matrix */
static PetscErrorCode CheckFactor(Mat A, Mat F, const char where[])
{
  const PetscInt m = 3;
  Vec            b, x, y, col;
  Mat            B, X;
  PetscInt       n;
  PetscBool      dense;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 40));
  PetscCall(MatSolve(F, b, x));
  PetscCall(CheckResidual(A, PETSC_FALSE, b, x, where));
  PetscCall(MatSolveTranspose(F, b, x));
  PetscCall(CheckResidual(A, PETSC_TRUE, b, x, where));
  PetscCall(SpikeTestSetRandom(y, 41));
  PetscCall(MatSolveAdd(F, b, y, x));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(CheckResidual(A, PETSC_FALSE, b, x, where));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, m, NULL, &B));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (dense) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt c = 0; c < m; c++) {
    PetscCall(MatDenseGetColumnVecWrite(B, c, &col));
    PetscCall(SpikeTestSetRandom(col, 42 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(B, c, &col));
  }
  for (PetscInt k = 0; k < 3; k++) {
    if (k == 0) PetscCall(MatMatSolve(F, B, X));
    if (k == 1) PetscCall(MatMatSolveTranspose(F, B, X));
    if (k == 2) {
      PetscCall(MatCopy(B, X, SAME_NONZERO_PATTERN));
      PetscCall(MatMatSolve(F, X, X));
    }
    for (PetscInt c = 0; c < m; c++) {
      PetscCall(MatDenseGetColumnVecRead(B, c, &col));
      PetscCall(VecCopy(col, b));
      PetscCall(MatDenseRestoreColumnVecRead(B, c, &col));
      PetscCall(MatDenseGetColumnVecRead(X, c, &col));
      PetscCall(VecCopy(col, x));
      PetscCall(MatDenseRestoreColumnVecRead(X, c, &col));
      PetscCall(CheckResidual(A, (PetscBool)(k == 1), b, x, where));
    }
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Types of matrices; the phases, with the same factors and other values, and another pattern */
static PetscErrorCode TestTypes(void)
{
  const MatType types[] = {MATAIJ, MATBAIJ, MATSBAIJ, MATDIA};
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt t = 0; t < 4; t++) {
    for (PetscInt cholesky = 0; cholesky < 2; cholesky++) {
      const MatFactorType ftype     = cholesky ? MAT_FACTOR_CHOLESKY : MAT_FACTOR_LU;
      const PetscBool     symmetric = (PetscBool)(cholesky || t == 2);
      const MatType       type      = t == 3 ? SpikeTestDiaType() : types[t];
      Mat                 A, F;
      MatInfo             info;
      MatSolverType       solver;
      MatFactorInfo       how;
      PC                  pc;
      PCSpikeInfo         spike;
      PetscBool           available, same, ordering;

      PetscCall(BandMat(type, symmetric, 2, 50, &A));
      PetscCall(MatGetFactorAvailable(A, MATSOLVERSPIKE, ftype, &available));
      PetscCall(SpikeTestCheck(available, "%s: no %s", type, MatFactorTypes[ftype]));
      PetscCall(MatGetFactor(A, MATSOLVERSPIKE, ftype, &F));
      PetscCall(MatFactorGetSolverType(F, &solver));
      PetscCall(PetscStrcmp(solver, MATSOLVERSPIKE, &same));
      PetscCall(MatFactorGetCanUseOrdering(F, &ordering));
      PetscCall(SpikeTestCheck((PetscBool)(same && !ordering), "%s: solver %s", type, solver));
      PetscCall(MatFactorInfoInitialize(&how));
      if (cholesky) PetscCall(MatCholeskyFactorSymbolic(F, A, NULL, &how));
      else PetscCall(MatLUFactorSymbolic(F, A, NULL, NULL, &how));
      for (PetscInt k = 0; k < 3; k++) {
        if (k) PetscCall(MatScale(A, 2.0));
        if (cholesky) PetscCall(MatCholeskyFactorNumeric(F, A, &how));
        else PetscCall(MatLUFactorNumeric(F, A, &how));
        PetscCall(CheckFactor(A, F, type));
      }
      PetscCall(MatSpikeGetPC(F, &pc));
      PetscCall(PCSpikeGetInfo(pc, &spike));
      PetscCall(SpikeTestCheck((PetscBool)(spike.rebuilds == 1 && spike.refills == 2),
                               "%s: %" PetscInt_FMT " setups and %" PetscInt_FMT " refills", type, spike.rebuilds,
                               spike.refills));
      PetscCall(SpikeTestCheck((PetscBool)(spike.solves == 6 && !spike.unsolved), "%s: %" PetscInt_FMT " solves", type,
                               spike.solves));
      PetscCall(MatGetInfo(F, MAT_GLOBAL_SUM, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.nz_used == 60.0 * (1.0 + spike.kl + spike.ku)), "%s: %g entries", type,
                               info.nz_used));
      /* A changes without a factorization: the old factors */
      PetscCall(MatScale(A, -1.0));
      if (size == 1) { /* without refinement the coupling between ranks is not exact */
        Vec b, x;

        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(SpikeTestSetRandom(b, 43));
        PetscCall(MatSolve(F, b, x));
        PetscCall(VecScale(x, -1.0));
        PetscCall(CheckResidual(A, PETSC_FALSE, b, x, "old factors"));
        PetscCall(VecDestroy(&b));
        PetscCall(VecDestroy(&x));
      }
      PetscCall(MatDestroy(&A));
      PetscCall(BandMat(type, symmetric, 4, 51, &A)); /* another matrix, and a wider band */
      if (cholesky) PetscCall(MatCholeskyFactorNumeric(F, A, &how));
      else PetscCall(MatLUFactorNumeric(F, A, &how));
      PetscCall(CheckFactor(A, F, "another pattern"));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&F));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band far from dominant, of scalar half-bandwidths 5 and 5, symmetric or not, as a matrix of any type and block size
*/
static PetscErrorCode WeakMat(MatType type, PetscInt bs, PetscBool symmetric, Mat *A)
{
  const PetscInt N = bs * ((400 + bs - 1) / bs), width = 5, seed = 70;
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(SpikeTestSetMatType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscReal sum = 0.0;

    for (PetscInt j = PetscMax(0, i - width); j <= PetscMin(N - 1, i + width); j++) {
      const PetscScalar v = symmetric ? SpikeTestScalar(seed, PetscMin(i, j), PetscMax(i, j))
                                      : SpikeTestScalar(seed, i, j);

      if (i == j) continue;
      sum += PetscAbsScalar(v);
      PetscCall(MatSetValue(*A, i, j, v, INSERT_VALUES));
    }
    PetscCall(MatSetValue(*A, i, i, (SpikeTestUniform(seed, i, -1) > 0.0 ? 0.4 : -0.4) * sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (symmetric) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, const char prefix[], KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCLU));
  PetscCall(PCFactorSetMatSolverType(*pc, MATSOLVERSPIKE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(KSP ksp, Vec b, Vec x, KSPConvergedReason expected, PCFailedReason failed,
                                  const char where[])
{
  KSPConvergedReason reason;
  PCFailedReason     why;
  PC                 pc;
  Mat                A;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == expected), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &why));
  PetscCall(SpikeTestCheck((PetscBool)(why == failed), "%s: failed reason %s", where, PCFailedReasons[why]));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (reason > 0) PetscCall(CheckResidual(A, PETSC_FALSE, b, x, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several partitions of each rank, coupled exactly: of values far from dominant, of blocks, transposed, many columns */
static PetscErrorCode TestCoupled(void)
{
  const MatType  types[] = {MATAIJ, MATBAIJ, MATSBAIJ};
  const PetscInt parts   = 4;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsInsertString(NULL, "-c_pc_spike_local_partitions 4 -c_pc_spike_type full"));
  for (PetscInt t = 0; t < 3; t++) {
    for (PetscInt cholesky = 0; cholesky < 2; cholesky++) {
      const MatFactorType ftype = cholesky ? MAT_FACTOR_CHOLESKY : MAT_FACTOR_LU;
      Mat                 A, F;
      Vec                 b, x;
      KSP                 ksp;
      MatFactorInfo       how;
      PC                  pc;
      PCSpikeInfo         info;

      PetscCall(WeakMat(types[t], t ? 3 : 1, (PetscBool)(cholesky || t == 2), &A));
      PetscCall(MatSetOptionsPrefixFactor(A, "c_"));
      PetscCall(MatGetFactor(A, MATSOLVERSPIKE, ftype, &F));
      PetscCall(MatFactorInfoInitialize(&how));
      if (cholesky) PetscCall(MatCholeskyFactorSymbolic(F, A, NULL, &how));
      else PetscCall(MatLUFactorSymbolic(F, A, NULL, NULL, &how));
      for (PetscInt k = 0; k < 2; k++) {
        if (k) PetscCall(MatScale(A, 2.0));
        if (cholesky) PetscCall(MatCholeskyFactorNumeric(F, A, &how));
        else PetscCall(MatLUFactorNumeric(F, A, &how));
        PetscCall(CheckFactor(A, F, types[t]));
        PetscCall(MatSpikeGetPC(F, &pc));
        PetscCall(PCSpikeGetInfo(pc, &info));
        PetscCall(SpikeTestCheck((PetscBool)(info.type == PC_SPIKE_FULL && info.partitions == parts * size),
                                 "%s: %s, %" PetscInt_FMT " partitions", types[t], PCSpikeTypes[info.type],
                                 info.partitions));
        PetscCall(SpikeTestCheck((PetscBool)(info.solves == 6 && !info.unsolved && info.refills == k),
                                 "%s: %" PetscInt_FMT " solves, %" PetscInt_FMT " of them not to the tolerance",
                                 types[t], info.solves, info.unsolved));
      }
      PetscCall(MatDestroy(&F));
      if (!cholesky) {
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(SpikeTestSetRandom(b, 71));
        PetscCall(Create(A, "c_", &ksp, &pc));
        PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, types[t]));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(VecDestroy(&b));
        PetscCall(VecDestroy(&x));
      }
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the view of the factors counts results that stand above the tolerance */
static PetscErrorCode CheckStands(Mat F, PetscInt stands, const char where[])
{
  PC   pc;
  char text[8192], line[128] = "", *at;
  int  found = 0;

  PetscFunctionBegin;
  PetscCall(MatSpikeGetPC(F, &pc));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscStrstr(text, "results of these that stand, with a backward error up to ", &at));
  if (at) {
    PetscCall(PetscStrncpy(line, at, sizeof(line)));
    PetscCall(PetscStrstr(line, ": ", &at));
    if (at) (void)sscanf(at, ": %d", &found);
  }
  PetscCall(
    SpikeTestCheck((PetscBool)(found == stands), "%s: %d results stand, not %" PetscInt_FMT, where, found, stands));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero pivot, boosted where that is asked for; NaN; other values and another pattern after it */
static PetscErrorCode TestFailures(void)
{
  const PetscScalar nan = PetscSqrtReal(-PETSC_MAX_REAL);
  Mat               A, C, F, keep;
  Vec               b, x;
  KSP               ksp;
  PC                pc, inner;
  PCSpikeInfo       info;
  PetscInt          start, end, row;
  PetscReal         pivot, norm;
  PetscErrorCode    ierr;
  MatFactorError    err;

  PetscFunctionBegin;
  PetscCall(BandMat(MATAIJ, PETSC_FALSE, 2, 60, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &keep));
  PetscCall(BandMat(MATAIJ, PETSC_FALSE, 5, 61, &C));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 62));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(Create(A, "f_", &ksp, &pc));
  PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "before"));
  for (PetscInt k = 0; k < 2; k++) { /* row 0 of zeros; a NaN in row 30 */
    const PetscInt bad = k ? 30 : 0;

    for (PetscInt j = PetscMax(0, bad - 2); j <= bad + 2 && bad >= start && bad < end; j++)
      PetscCall(MatSetValue(A, bad, j, k ? nan : (PetscScalar)0.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    for (PetscInt pass = 0; pass < 2; pass++)
      PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, k ? "NaN" : "zero row"));
    PetscCall(PCFactorGetMatrix(pc, &F));
    PetscCall(MatFactorGetError(F, &err));
    PetscCall(SpikeTestCheck((PetscBool)(err == MAT_FACTOR_NUMERIC_ZEROPIVOT), "error %d", (int)err));
    PetscCall(MatFactorGetErrorZeroPivot(F, &pivot, &row));
    if (!k)
      PetscCall(SpikeTestCheck((PetscBool)(row == 0 && pivot == 0.0), "zero pivot %g in row %" PetscInt_FMT,
                               (double)pivot, row));
    PetscCall(MatCopy(keep, A, SAME_NONZERO_PATTERN));
    PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "good values after a failure"));
  }
  /* as an error */
  for (PetscInt j = 0; j < 3 && !start; j++) PetscCall(MatSetValue(A, 0, j, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (size == 1) { /* on many ranks one alone raises it */
      PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
      PetscCall(KSPSetOperators(ksp, A, A)); /* a PETSc before 3.26 tells the preconditioner so after this only */
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = KSPSetUp(ksp);
      PetscCall(PetscPopErrorHandler());
      PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_MAT_LU_ZRPVT), "raises %d", (int)ierr));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(Create(A, "f_", &ksp, &pc));
    }
  }
  PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, "zero row again"));
  PetscCall(KSPSetOperators(ksp, C, C));
  PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "another pattern after a failure"));
  /* a zero pivot in a regular matrix */
  PetscCall(MatCopy(keep, A, SAME_NONZERO_PATTERN));
  for (PetscInt i = 0; i < 2; i++)
    for (PetscInt j = 0; j < i + 3 && i >= start && i < end; j++)
      PetscCall(MatSetValue(A, i, j, j == 1 - i ? 1.0 : 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(PetscOptionsSetValue(NULL, "-f_pc_spike_matching_type", "none"));
  PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, "no shift"));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscCall(MatScale(A, 1.0));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "shift"));
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(MatSpikeGetPC(F, &inner));
  PetscCall(PCSpikeGetInfo(inner, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.boosted == 1), "%" PetscInt_FMT " pivots boosted", info.boosted));
  /* pivots of a singular matrix that are boosted a lot solve nothing */
  PetscCall(PCFactorSetShiftAmount(pc, 0.5));
  for (PetscInt j = 0; j < 3 && !start; j++) PetscCall(MatSetValue(A, 0, j, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSolve(ksp, b, x)); /* KSPPREONLY asks a factorization only whether it failed */
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(SpikeTestCheck(PetscIsInfOrNanReal(norm), "singular, shift: a result of norm %g", (double)norm));
  PetscCall(CheckStands(F, 0, "singular, shift"));
  PetscCall(MatCopy(keep, A, SAME_NONZERO_PATTERN));
  PetscCall(PCFactorSetShiftAmount(pc, 100.0 * PETSC_MACHINE_EPSILON));
  PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "regular again"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&keep));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Partitions that truncation does not couple well enough: the factorization fails, and not as a solver without check */
static PetscErrorCode TestInexact(void)
{
  const SpikeTestBand band = {120, 3, 3, 0.05, SPIKE_TEST_RANDOM, 63};
  Mat                 A;
  Vec                 b, x;
  KSP                 ksp;
  PC                  pc;
  KSPConvergedReason  reason;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 64));
  PetscCall(PetscOptionsInsertString(NULL, "-i_pc_spike_type truncated -i_pc_spike_local_partitions 8 "
                                           "-i_pc_spike_mat_ordering_type natural -i_pc_factor_zeropivot 1e-30"));
  PetscCall(Create(A, "i_", &ksp, &pc));
  PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, "inexact"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsInsertString(NULL, "-i_pc_spike_max_refinements 0"));
  PetscCall(Create(A, "i_", &ksp, &pc));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 200));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  /* in single precision GMRES itself may lose its basis with such a preconditioner */
  PetscCall(
    SpikeTestCheck((PetscBool)(reason > 0 || (PetscDefined(USE_REAL_SINGLE) && reason == KSP_DIVERGED_BREAKDOWN)),
                   "inexact, not checked: ends with %s", KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A tolerance that no solve reaches: the results stand, because they are good to the square root of the machine epsilon,
  and the view says so
*/
static PetscErrorCode TestStands(void)
{
  Mat           A, F;
  Vec           b, x;
  MatFactorInfo how;
  PC            pc;
  PCSpikeInfo   info;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-s_pc_spike_type full -s_pc_spike_refinement_tol 1e-30"));
  PetscCall(BandMat(MATAIJ, PETSC_FALSE, 2, 80, &A));
  PetscCall(MatSetOptionsPrefixFactor(A, "s_"));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 81));
  PetscCall(MatGetFactor(A, MATSOLVERSPIKE, MAT_FACTOR_LU, &F));
  PetscCall(MatSpikeGetPC(F, &pc));
  PetscCall(MatFactorInfoInitialize(&how));
  PetscCall(MatLUFactorSymbolic(F, A, NULL, NULL, &how));
  for (PetscInt k = 0; k < 2; k++) {
    if (k) PetscCall(MatScale(A, 3.0));
    PetscCall(MatLUFactorNumeric(F, A, &how));
    PetscCall(CheckStands(F, 0, "before a solve"));
    PetscCall(MatSolve(F, b, x));
    PetscCall(CheckResidual(A, PETSC_FALSE, b, x, "a result that stands"));
    PetscCall(MatSolveTranspose(F, b, x));
    PetscCall(CheckResidual(A, PETSC_TRUE, b, x, "a transposed result that stands"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.solves == 2 && info.unsolved == 2),
                             "tolerance 1e-30: %" PetscInt_FMT " of %" PetscInt_FMT " solves do not reach it",
                             info.unsolved, info.solves));
    PetscCall(CheckStands(F, 2, "after two solves"));
  }
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver is named: PCLU of one process stays PETSc's */
static PetscErrorCode TestNotTaken(void)
{
  const MatType types[] = {MATSEQAIJ, MATSEQBAIJ, MATSEQDIA};

  PetscFunctionBegin;
  for (PetscInt t = 0; t < 3; t++) {
    Mat           A, F;
    MatSolverType solver;
    PetscBool     same;

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetSizes(A, 4, 4, 4, 4));
    PetscCall(MatSetType(A, types[t]));
    PetscCall(MatSetUp(A));
    for (PetscInt i = 0; i < 4; i++) PetscCall(MatSetValue(A, i, i, 1.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatGetFactor(A, NULL, MAT_FACTOR_LU, &F));
    PetscCall(MatFactorGetSolverType(F, &solver));
    PetscCall(PetscStrcmp(solver, MATSOLVERSPIKE, &same));
    PetscCall(SpikeTestCheck((PetscBool)!same, "%s: spike is the default", types[t]));
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestTypes());
  PetscCall(TestCoupled());
  PetscCall(TestFailures());
  PetscCall(TestInexact());
  PetscCall(TestStands());
  PetscCall(TestNotTaken());
  PetscCall(SpikeTestEnd("factored_solver"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   testset:
      output_file: output/factored_solver_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -dia_type diacuda

TEST*/
