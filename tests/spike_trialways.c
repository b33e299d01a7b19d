/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE where it tries another way of factors: beside rows that are gathered, and a band that is cut, and "
           "what later values cost.\n\n";

#include <petsc/private/matimpl.h>
#include "spiketest.h"

/* Rows 0 <= i < n of each rank, the second one from the end with few */
static PetscErrorCode GetRows(PetscInt many, PetscInt few, PetscInt *nlocal, PetscInt *n)
{
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  *nlocal = size > 1 && rank == size - 1 ? few : many;
  *n      = size > 1 ? many * (size - 1) + few : many;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band with two rows r and r + 1 that are nearly the same, and a full row and column m, small but where they make the
  matrix regular: errors are amplified beside that border
*/
static PetscErrorCode Amplified(PetscInt n, PetscInt r, PetscInt m, PetscScalar a[])
{
  const SpikeTestBand band = {n, 2, 2, 1.5, SPIKE_TEST_RANDOM, 300};

  PetscFunctionBegin;
  PetscCall(SpikeTestBandDense(&band, a));
  for (PetscInt j = 0; j < n; j++) {
    const PetscReal size = PetscAbsInt(j - m) <= 6 ? 1.0 : 1e-2;

    if (j == m) continue;
    a[m + j * n] = size * SpikeTestScalar(300, m, j);
    a[j + m * n] = size * SpikeTestScalar(300, j, m);
  }
  for (PetscInt j = r - 2; j <= r + 3; j++) {
    if (j < r - 1 || j > r + 2) a[r + j * n] = 0.0;
    a[r + 1 + j * n] = a[r + j * n];
  }
  a[r + 1 + (r + 1) * n] += 1e-2 * PETSC_SQRT_MACHINE_EPSILON;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A band without that border is cut by a limit, and no better */
static PetscErrorCode TestCut(void)
{
  const PetscInt n = 90;
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  PetscCall(Amplified(n, 35, 40, a));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetMaxBandwidth(pc, 8));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border > 0 && info.dropped == 0.0),
                           "cut: border of %" PetscInt_FMT ", share %g dropped", info.border, (double)info.dropped));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A dominant band, but for the last row of each rank, which is coupled to the first row of the next one alone and has a
  small pivot: truncation does not see how large tips are, a solve does; on one rank too few rows, which are gathered
*/
static PetscErrorCode TestTips(void)
{
  const PetscInt rows = 40, K = 3;
  SpikeTestBand  band   = {0, K, K, 1.5, SPIKE_TEST_RANDOM, 13};
  PetscInt       nlocal = 0;
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  PC             pc;
  PCSpikeInfo    info;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (PetscDefined(USE_REAL_SINGLE) || size < 4) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetRows(rows, 2, &nlocal, &band.n));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, nlocal, MATAIJ, &A));
  PetscCall(SpikeTestLargeTips(&band, rows, band.n - 3, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetMaxBorder(pc, 0));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  for (PetscInt turn = 0; turn < 3; turn++) {
    KSPConvergedReason reason;
    PetscReal          residual;

    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(
      SpikeTestCheck((PetscBool)(reason > 0), "tips, turn %" PetscInt_FMT ": %s", turn, KSPConvergedReasons[reason]));
    PetscCall(SpikeTestSmall(residual, 1e-9, "tips", "residual"));
    PetscCall(SpikeTestCheck((PetscBool)(info.type == PC_SPIKE_FULL && info.rebuilds == 2),
                             "tips, turn %" PetscInt_FMT ": coupled %d, %" PetscInt_FMT " setups from scratch", turn,
                             (int)info.type, info.rebuilds));
    if (turn) PetscCall(MatScale(A, 2.0));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Neumann problem on a grid of rows of 6 points, the last one perhaps shorter: dominant, singular */
static PetscErrorCode Neumann(PetscInt nlocal, PetscInt n, Mat *A)
{
  const PetscInt side = 6;
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, nlocal, nlocal, n, n, 5, NULL, 4, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscInt to[] = {i - side, i % side ? i - 1 : -1, (i + 1) % side ? i + 1 : n, i + side};
    PetscInt       sum  = 0;

    for (int k = 0; k < 4; k++) {
      if (to[k] < 0 || to[k] >= n) continue;
      sum++;
      PetscCall(MatSetValue(*A, i, to[k], -1.0, INSERT_VALUES));
    }
    PetscCall(MatSetValue(*A, i, i, (PetscReal)sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*product)(Mat, Vec, Vec);
static PetscInt products;

static PetscErrorCode Counted(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  products++;
  PetscCall((*product)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pivot of it is boosted; later values pay for no products with the matrix */
static PetscErrorCode TestNeumann(void)
{
  Mat         A;
  PC          pc;
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(Neumann(PETSC_DECIDE, 60, &A));
  product      = A->ops->mult;
  A->ops->mult = Counted;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  PetscCall(PCSpikeSetEstimate(pc, PETSC_FALSE)); /* whoever asks for info pays for that */
  for (PetscInt turn = 0; turn < 3; turn++) {
    products = 0;
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.boosted > 0 && info.refills == turn && (!turn || !products)),
                             "Neumann, turn %" PetscInt_FMT ": %" PetscInt_FMT " boosted, %" PetscInt_FMT
                             " refills, %" PetscInt_FMT " products",
                             turn, info.boosted, info.refills, products));
    PetscCall(MatScale(A, 2.0));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestTips());
  PetscCall(TestCut());
  PetscCall(TestNeumann());
  PetscCall(SpikeTestEnd("spike_trialways"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      output_file: output/spike_trialways_1.out
      suffix: 1
      nsize: {{1 2 3 5}}

TEST*/
