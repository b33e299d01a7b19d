/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCMatApply() and PCMatApplyTranspose() of PCSPIKE equal their columns; KSPMatSolve(); work space "
                     "that grows.\n\n";

#include "spiketest.h"

/* A dense matrix with leading dimension nlocal + pad, all of its storage NaN */
static PetscErrorCode DenseCreate(Mat A, PetscInt ncols, PetscInt pad, Mat *X)
{
  PetscInt     nlocal, n;
  PetscScalar *a, nan = 0.0;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), X));
  PetscCall(MatSetSizes(*X, nlocal, PETSC_DECIDE, n, ncols));
  PetscCall(MatSetType(*X, MATDENSE));
  PetscCall(MatSetOptionsPrefix(*X, "dense_"));
  PetscCall(MatSetFromOptions(*X));
  PetscCall(MatDenseSetLDA(*X, PetscMax(nlocal + pad, 1)));
  PetscCall(MatSetUp(*X));
  PetscCall(MatDenseGetArrayWrite(*X, &a));
  for (PetscInt i = 0; i < PetscMax(nlocal + pad, 1) * ncols; i++) a[i] = nan;
  PetscCall(MatDenseRestoreArrayWrite(*X, &a));
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseSetRandom(Mat X, PetscInt seed)
{
  PetscScalar *a;
  PetscInt     lda, start, end, ncols;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &ncols));
  PetscCall(MatGetOwnershipRange(X, &start, &end));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayWrite(X, &a));
  for (PetscInt j = 0; j < ncols; j++)
    for (PetscInt i = start; i < end; i++) a[i - start + j * lda] = SpikeTestScalar(seed, i, j);
  PetscCall(MatDenseRestoreArrayWrite(X, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of Y against PCApply() of those of X; X as it was, the slots after the rows of Y still NaN */
static PetscErrorCode CheckColumns(PC pc, PetscBool trans, PetscInt ncols, PetscInt padx, PetscInt pady,
                                   const char where[])
{
  Mat                A, X, Y;
  Vec                x, y, t;
  PetscReal          diff, norm;
  PetscInt           nlocal, ldy, start, ldx;
  PetscBool          intact = PETSC_TRUE, same = PETSC_TRUE;
  const PetscScalar *a;
  char               what[64];

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(DenseCreate(A, ncols, padx, &X));
  PetscCall(DenseCreate(A, ncols, pady, &Y));
  PetscCall(DenseSetRandom(X, 5));
  if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
  else PetscCall(PCMatApply(pc, X, Y));
  PetscCall(SpikeTestBackend(pc));
  PetscCall(MatCreateVecs(A, &t, NULL));
  for (PetscInt j = 0; j < ncols; j++) {
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    if (trans) PetscCall(PCApplyTranspose(pc, x, t));
    else PetscCall(PCApply(pc, x, t));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(VecNorm(t, NORM_INFINITY, &norm));
    PetscCall(MatDenseGetColumnVecRead(Y, j, &y));
    PetscCall(VecAXPY(t, -1.0, y));
    PetscCall(MatDenseRestoreColumnVecRead(Y, j, &y));
    PetscCall(VecNorm(t, NORM_1, &diff));
    PetscCall(PetscSNPrintf(what, sizeof(what), "difference in column %" PetscInt_FMT " of %" PetscInt_FMT "%s", j,
                            ncols, trans ? ", transposed" : ""));
    PetscCall(SpikeTestSmall(diff, 1000 * PETSC_MACHINE_EPSILON * norm, what, where));
  }
  PetscCall(VecDestroy(&t));
  PetscCall(MatGetLocalSize(Y, &nlocal, NULL));
  PetscCall(MatGetOwnershipRange(X, &start, NULL));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &a));
  for (PetscInt j = 0; j < ncols; j++)
    for (PetscInt i = 0; i < nlocal; i++)
      if (a[i + j * ldx] != SpikeTestScalar(5, start + i, j)) same = PETSC_FALSE;
  PetscCall(MatDenseRestoreArrayRead(X, &a));
  PetscCall(MatDenseGetArrayRead(Y, &a));
  for (PetscInt j = 0; j < ncols; j++)
    for (PetscInt i = nlocal; i < ldy; i++)
      if (!PetscIsNanScalar(a[i + j * ldy])) intact = PETSC_FALSE;
  PetscCall(MatDenseRestoreArrayRead(Y, &a));
  PetscCall(SpikeTestCheck(same, "%s: %" PetscInt_FMT " columns: the input changed", where, ncols));
  PetscCall(SpikeTestCheck(intact, "%s: %" PetscInt_FMT " columns: wrote after the rows of the result", where, ncols));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Widths in an order that makes the work space grow twice, then refilled factors with the grown work space, then a setup
  from scratch
*/
static PetscErrorCode TestWidths(void)
{
  const PetscInt widths[] = {2, 1, 7, 33, 16, 17};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt variant = 0; variant < 8; variant++) {
    SpikeTestBand band = {101, variant == 3 ? 0 : 4, variant == 4 ? 0 : 6, variant > 5 ? 0.7 : 1.2, SPIKE_TEST_RANDOM,
                          3};
    Mat           A;
    PC            pc;
    char          where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "variant %" PetscInt_FMT, variant));
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetLocalPartitions(pc, 1 + variant % 3));
    if (variant == 1) PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
    if (variant > 5) PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
    if (variant == 2) PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
    if (variant == 5 && size == 1) PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
    for (PetscInt w = 0; w < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
      PetscCall(CheckColumns(pc, PETSC_FALSE, widths[w], w % 2 ? 5 : 0, w % 3 ? 0 : 3, where));
      PetscCall(CheckColumns(pc, PETSC_TRUE, widths[w], w % 3 ? 0 : 2, w % 2 ? 1 : 0, where));
      if (w == 3) PetscCall(MatScale(A, 2.0));
      if (w == 4) {
        PetscCall(PCReset(pc));
        PetscCall(PCSetOperators(pc, A, A));
      }
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCComputeOperator() is what unit vectors give one after the other, to rounding: a GPU adds up in another order for
  several columns. Both give the same bits twice
*/
static PetscErrorCode TestComputeOperator(void)
{
  SpikeTestBand      band = {50, 3, 2, 1.1, SPIKE_TEST_RANDOM, 8};
  Mat                A, M, N;
  PC                 pc;
  PetscScalar       *a, *b;
  PetscReal          most = 0.0, norm = 0.0;
  PetscBool          again, matagain;
  const PetscScalar *m;
  PetscInt           start, end, lda;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(50 * 50, &a, 50 * 50, &b));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(pc, 3));
  PetscCall(SpikeTestOperator(pc, PETSC_FALSE, a));
  PetscCall(SpikeTestOperator(pc, PETSC_FALSE, b));
  PetscCall(PetscArraycmp(a, b, 50 * 50, &again));
  PetscCall(PCComputeOperator(pc, MATDENSE, &M));
  PetscCall(PCComputeOperator(pc, MATDENSE, &N));
  PetscCall(MatEqual(M, N, &matagain));
  PetscCall(MatGetOwnershipRange(M, &start, &end));
  PetscCall(MatDenseGetLDA(M, &lda));
  PetscCall(MatDenseGetArrayRead(M, &m));
  for (PetscInt j = 0; j < 50; j++)
    for (PetscInt i = start; i < end; i++) {
      most = PetscMax(most, PetscAbsScalar(m[i - start + j * lda] - a[i + j * 50]));
      norm = PetscMax(norm, PetscAbsScalar(a[i + j * 50]));
    }
  PetscCall(MatDenseRestoreArrayRead(M, &m));
  PetscCall(SpikeTestSmall(most, 100 * PETSC_MACHINE_EPSILON * norm, "PCComputeOperator() is not what PCApply() gives",
                           "unit vectors"));
  PetscCall(SpikeTestCheck(matagain, "PCComputeOperator() twice gives other bits"));
  PetscCall(SpikeTestCheck(again, "the same apply twice gives other bits"));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&N));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPMatSolve() and its transpose: the true residual of each column; with PCSpikeSetDirect() how many solves were
  checked. tests/spike_matsolve.c has what KSPPREONLY checks by itself.
*/
static PetscErrorCode TestMatSolve(void)
{
  SpikeTestBand   bands[]  = {{90, 2, 3, 1.05, SPIKE_TEST_RANDOM, 4},
                              {90, 2, 3, 1.05, SPIKE_TEST_RANDOM, 4},
                              {90, 2, 3, 0.1, SPIKE_TEST_RANDOM, 4}};
  const char     *types[]  = {KSPPREONLY, KSPGMRES, KSPPREONLY};
  const PetscBool direct[] = {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE};
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt t = size > 1 ? 1 : 0; t < 3; t++) {
    Mat A;

    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &bands[t], PETSC_DECIDE, MATAIJ, &A));
    for (PetscInt trans = 0; trans < 2; trans++) {
      const PetscReal    rtol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;
      const PetscReal    most = PetscDefined(USE_REAL_SINGLE) ? 30 : 10; /* a direct solve promises a backward error */
      KSP                ksp;
      PC                 pc;
      Mat                X, B, R;
      PetscReal          norms[19], normsb[19];
      KSPConvergedReason reason;

      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetType(ksp, types[t]));
      PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, PCSPIKE));
      if (direct[t]) {
        PetscCall(PCSpikeSetLocalPartitions(pc, 4));
        PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
      }
      PetscCall(DenseCreate(A, 19, 0, &X));
      PetscCall(DenseCreate(A, 19, 0, &B));
      PetscCall(DenseSetRandom(B, 6));
      PetscCall(MatZeroEntries(X));
      if (trans) PetscCall(KSPMatSolveTranspose(ksp, B, X));
      else PetscCall(KSPMatSolve(ksp, B, X));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "KSPMatSolve ended with %s", KSPConvergedReasons[reason]));
      if (trans) PetscCall(MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
      else PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
      PetscCall(MatAYPX(R, -1.0, B, SAME_NONZERO_PATTERN));
      PetscCall(MatGetColumnNorms(R, NORM_2, norms));
      PetscCall(MatGetColumnNorms(B, NORM_2, normsb));
      for (PetscInt j = 0; j < 19; j++)
        PetscCall(SpikeTestSmall(norms[j], most * rtol * normsb[j], "residual of a column of KSPMatSolve", types[t]));
      if (direct[t]) {
        PCSpikeInfo info;

        PetscCall(PCSpikeGetInfo(pc, &info));
        PetscCall(SpikeTestCheck((PetscBool)(info.partitions == 4 * size && info.type == PC_SPIKE_FULL),
                                 "%" PetscInt_FMT " partitions, %s", info.partitions, PCSpikeTypes[info.type]));
        PetscCall(SpikeTestCheck((PetscBool)(info.solves == 1 && !info.unsolved),
                                 "%" PetscInt_FMT " solves checked, %" PetscInt_FMT " not to the tolerance",
                                 info.solves, info.unsolved));
      }
      PetscCall(MatDestroy(&R));
      PetscCall(MatDestroy(&X));
      PetscCall(MatDestroy(&B));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestWidths());
  PetscCall(TestComputeOperator());
  PetscCall(TestMatSolve());
  PetscCall(SpikeTestEnd("spike_matapply"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_matapply_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -dense_mat_type {{dense densecuda}}

TEST*/
