/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE on ranks that own fewer rows than the half-bandwidth: the operator beside the dense inverse, "
           "solves, new values and patterns, failures.\n\n";

#include "spiketest.h"
#include "viewtext.h"

/* Rows of this rank, from none to many, by chance; the sum over the ranks in *n */
static PetscErrorCode Rows(PetscInt seed, PetscInt most, PetscInt *nlocal, PetscInt *n)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  *nlocal = (PetscInt)((SpikeTestUniform(seed, rank, 17) + 1.0) * 0.5 * (PetscReal)(most + 1));
  *nlocal = PetscMin(*nlocal, most);
  PetscCallMPI(MPIU_Allreduce(nlocal, n, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M^-1 and M^-T of exact coupling beside the inverse of A */
static PetscErrorCode CompareInverse(PC pc, const SpikeTestBand *band, PetscReal scale, const char where[])
{
  const PetscInt n = band->n;
  PetscScalar   *a, *inv, *op;
  PetscReal      diff, norm, cond = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n * n, &a, n * n, &inv, n * n, &op));
  PetscCall(SpikeTestBandDense(band, a));
  for (PetscInt i = 0; i < n * n; i++) {
    a[i] *= scale;
    cond = PetscMax(cond, PetscAbsScalar(a[i]));
  }
  PetscCall(SpikeTestInvert(n, a, n, inv, n));
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall(SpikeTestOperator(pc, (PetscBool)trans, op));
    SpikeTestDifference(n, 0, n, 0, n, op, inv, (PetscBool)trans, &diff, &norm);
    PetscCall(SpikeTestSmall(diff, 1000 * n * PETSC_MACHINE_EPSILON * norm * PetscMax(1.0, n * cond * norm),
                             trans ? "transposed operator" : "operator", where));
  }
  PetscCall(PetscFree3(a, inv, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random layouts and bands: setups from scratch, with new values, and with another pattern */
static PetscErrorCode TestOperator(void)
{
  const char *types[]  = {MATAIJ, MATBAIJ, MATDIA};
  PetscInt    gathered = 0;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 24; k++) {
    SpikeTestBand band = {0, 1 + k % 7, 1 + (k * 5) % 9, k % 3 ? 1.5 : 0.4, SPIKE_TEST_RANDOM, 11 + k}, wide;
    PetscInt      nlocal;
    Mat           A, B;
    PC            pc;
    PCSpikeInfo   info;
    char          where[64], text[4096];

    PetscCall(Rows(k, 4 + 2 * (k % 5), &nlocal, &band.n));
    if (band.n < 2) continue;
    PetscCall(PetscSNPrintf(where, sizeof(where), "case %" PetscInt_FMT ", %" PetscInt_FMT " rows, %s", k, band.n,
                            types[k % 3]));
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, nlocal, types[k % 3], &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
    PetscCall(PCSpikeSetLocalPartitions(pc, 1 + k % 2));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL)); /* others may drop couplings between ranks */
    PetscCall(PCSetUp(pc));
    PetscCall(CompareInverse(pc, &band, 1.0, where));
    PetscCall(SpikeTestColumns(pc, 3, 1e3 * PETSC_MACHINE_EPSILON, where));
    PetscCall(ViewText(pc, sizeof(text), text));
    if (strstr(text, "ranks gathered on")) gathered++;
    PetscCall(SpikeTestBandSet(&band, 3.0, A)); /* new values */
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.refills == 1), "%s: %" PetscInt_FMT " refills", where, info.refills));
    PetscCall(CompareInverse(pc, &band, 3.0, where));
    wide    = band; /* another pattern: wider, then as before */
    wide.kl = PetscMin(band.kl + 3, band.n - 1);
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &wide, nlocal, types[(k + 1) % 3], &B));
    PetscCall(PCSetOperators(pc, B, B));
    PetscCall(PCSetUp(pc));
    PetscCall(CompareInverse(pc, &wide, 1.0, where));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(CompareInverse(pc, &band, 3.0, where));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(SpikeTestCheck((PetscBool)(size < 3 || gathered > 5), "rows were gathered in %" PetscInt_FMT " cases only",
                           gathered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Direct solves by KSPPREONLY and KSPMatSolve(), checked by products of the matrix itself; SBAIJ, symmetric */
static PetscErrorCode TestSolve(void)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 8; k++) {
    SpikeTestBand      band  = {0, 5, 5, 1.3, SPIKE_TEST_RANDOM, 50 + k};
    const PetscBool    sbaij = (PetscBool)(k % 2);
    PetscInt           nlocal, start, end;
    Mat                A, X, B;
    Vec                x, b;
    KSP                ksp;
    PC                 pc;
    PCSpikeInfo        info;
    KSPConvergedReason reason;
    PetscReal          residual;

    PetscCall(Rows(70 + k, 8, &nlocal, &band.n));
    if (band.n < 2) continue;
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, nlocal, nlocal, band.n, band.n));
    PetscCall(MatSetType(A, sbaij ? MATSBAIJ : MATAIJ));
    PetscCall(MatSetUp(A));
    if (sbaij) PetscCall(MatSetOption(A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    for (PetscInt i = start; i < end; i++)
      for (PetscInt j = PetscMax(0, i - 5); j < PetscMin(band.n, i + 6); j++)
        PetscCall(MatSetValue(A, i, j, SpikeTestBandEntry(&band, PetscMax(i, j), PetscMin(i, j)), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 3));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    if (k % 4 > 1) {
      PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
      PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
    }
    for (PetscInt again = 1; again < 3; again++) {
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestResidual(A, b, x, &residual));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "a solve ended with %s", KSPConvergedReasons[reason]));
      PetscCall(
        SpikeTestSmall(residual, 1e4 * PETSC_MACHINE_EPSILON, "residual of a direct solve", sbaij ? "sbaij" : "aij"));
      PetscCall(
        SpikeTestCheck((PetscBool)(info.solves == 1 && !info.unsolved), "%" PetscInt_FMT " solves", info.solves));
      PetscCall(MatScale(A, 2.0));
    }
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, nlocal, PETSC_DECIDE, band.n, 3, NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && info.solves == 1), "KSPMatSolve(): %s, %" PetscInt_FMT " solves",
                             KSPConvergedReasons[reason], info.solves));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of zeros, which fails where pivots are not boosted, and comes right again; a NaN in between */
static PetscErrorCode TestFails(void)
{
  SpikeTestBand  band = {0, 4, 5, 1.5, SPIKE_TEST_RANDOM, 3};
  PetscInt       nlocal;
  PetscScalar    nan = 0.0;
  Mat            A;
  PC             pc;
  PCFailedReason reason;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(Rows(2, 5, &nlocal, &band.n));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, nlocal, MATAIJ, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  for (PetscInt k = 0; k < 4; k++) {
    if (k % 2) PetscCall(MatScale(A, k == 1 ? 0.0 : nan));
    else PetscCall(SpikeTestBandSet(&band, 1.0 + k, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(k % 2 ? reason != PC_NOERROR : !reason), "values %" PetscInt_FMT ": %s", k,
                             PCFailedReasons[reason]));
    if (!(k % 2)) PetscCall(CompareInverse(pc, &band, 1.0 + k, "after a failure"));
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
  PetscCall(TestOperator());
  PetscCall(TestSolve());
  PetscCall(TestFails());
  PetscCall(SpikeTestEnd("spike_gather"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_gather_1.out
      nsize: {{1 2 3 5}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
