/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Krylov methods and preconditioners on MATDIA: the iterations of MATAIJ, and the fused methods "
                     "without a copy of the matrix.\n\n";

#include "ksptest.h"

/* Iterations and solution of a solve; with a fused method on one rank products are the matrix's own */
static PetscErrorCode Solve(KSPType type, PCType pctype, Mat A, PetscBool isdia, Vec b, Vec x, PetscInt *its,
                            const char where[])
{
  KSP       ksp;
  PetscBool fused;

  PetscFunctionBegin;
  PetscCall(KSPTestCreate(type, pctype, A, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "test_"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(x, 0.0));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &fused, KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED, ""));
  if (fused && isdia) {
    KSPFusedInfo info;

    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(SpikeTestCheck((PetscBool)(!info.copy && info.product == KSP_FUSED_SPMV_DIA), "%s: copy %d, product %s",
                             where, info.copy, KSPFusedSpMVTypes[info.product]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMethods(void)
{
  const char *const methods[][2] = {{KSPCGFUSED, PCNONE},   {KSPCGFUSED, PCJACOBI},   {KSPCGFUSED, PCSPIKE},
                                    {KSPBCGSFUSED, PCNONE}, {KSPBCGSFUSED, PCJACOBI}, {KSPBCGSFUSED, PCSPIKE},
                                    {KSPIDRFUSED, PCNONE},  {KSPIDRFUSED, PCJACOBI},  {KSPIDRFUSED, PCSPIKE},
                                    {KSPCG, PCJACOBI},      {KSPBCGS, PCSPIKE},       {KSPGMRES, PCJACOBI},
                                    {KSPBICG, PCJACOBI},    {KSPTFQMR, PCJACOBI},     {KSPGMRES, PCASM},
                                    {KSPIBCGS, PCJACOBI}};
  Mat               A, B;
  Vec               b, x, y;

  PetscFunctionBegin;
  /* well conditioned: the iterations of BiCGStab depend on the order of sums else */
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 12, 40, PETSC_DECIDE, 2.0, &B));
  PetscCall(MatConvert(B, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 3));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++) {
    PetscInt  its[2];
    PetscReal error;
    char      where[64];

    if (PetscDefined(USE_COMPLEX) && !strcmp(methods[k][0], KSPIBCGS)) continue; /* is for real numbers */
    /* keeps arrays of the host */
    if (!strcmp(SpikeTestDiaType(), MATDIACUDA) && !strcmp(methods[k][0], KSPIBCGS)) continue;
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s", methods[k][0], methods[k][1]));
    PetscCall(Solve(methods[k][0], methods[k][1], A, PETSC_TRUE, b, x, &its[0], where));
    PetscCall(Solve(methods[k][0], methods[k][1], B, PETSC_FALSE, b, y, &its[1], where));
    PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its[0] - its[1]) <= 1 + its[1] / 10),
                             "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " with AIJ", where, its[0], its[1]));
    PetscCall(KSPTestDifference(x, y, &error));
    PetscCall(SpikeTestSmall(error, 1000 * KSPTEST_RTOL, "difference of the solutions", where));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that somebody has put in the place of ours, twice ours */
static PetscErrorCode (*ours)(Mat, Vec, Vec);

static PetscErrorCode Twice(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*ours)(A, x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver whose matrix gets other values, other diagonals, another product, and becomes another matrix */
static PetscErrorCode TestChanges(KSPType type)
{
  Mat               A, B, C;
  Vec               b, x;
  KSP               ksp;
  PetscErrorCodeFn *mult;
  PetscInt          begin, end;
  char              where[64];

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 12, 40, PETSC_DECIDE, 0.5, &B));
  PetscCall(MatConvert(B, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(KSPTestCreate(type, PCJACOBI, A, &ksp));
  for (PetscInt k = 0; k < 8; k++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, change %" PetscInt_FMT, type, k));
    if (k == 1) PetscCall(MatScale(A, 3.0));
    if (k == 2) PetscCall(MatShift(A, 2.0));
    if (k == 3) { /* more diagonals: tables and values lie elsewhere */
      PetscCall(MatGetOwnershipRange(A, &begin, &end));
      for (PetscInt i = begin; i < end; i++) {
        PetscCall(MatSetValue(A, i, (i + 5) % 480, -0.25, ADD_VALUES));
        PetscCall(MatSetValue(A, (i + 5) % 480, i, -0.25, ADD_VALUES));
      }
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    if (k == 4) {
      PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
      ours = (PetscErrorCode(*)(Mat, Vec, Vec))mult;
      PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)Twice));
    }
    if (k == 5) PetscCall(MatSetOperation(A, MATOP_MULT, mult));
    if (k == 6) PetscCall(KSPSetOperators(ksp, B, B));
    if (k == 7) {
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
      PetscCall(KSPSetOperators(ksp, C, C));
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&A));
    }
    PetscCall(VecSet(x, 0.0));
    PetscCall(SpikeTestSolve(ksp, b, x, where));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSPIKE factors the band of a MATDIA, and follows its values; PCBJACOBI takes its diagonal blocks */
static PetscErrorCode TestSpike(void)
{
  SpikeTestBand band = {300, 2, 3, 1.2, SPIKE_TEST_RANDOM, 9};
  Mat           A;
  Vec           b, x;
  KSP           ksp;
  PetscInt      its;
  PCSpikeInfo   info;
  PC            pc;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, SpikeTestDiaType(), &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 5));
  PetscCall(KSPTestCreate(KSPBCGSFUSED, PCSPIKE, A, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(VecSet(x, 0.0));
    PetscCall(SpikeTestSolve(ksp, b, x, "PCSPIKE"));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.natural_kl == 2 && info.natural_ku == 3),
                             "half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, info.natural_kl, info.natural_ku));
    PetscCall(SpikeTestCheck((PetscBool)(its <= (size == 1 ? 1 : 6)), "PCSPIKE: %" PetscInt_FMT " iterations", its));
    PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 1 && info.refills == k),
                             "PCSPIKE: %" PetscInt_FMT " setups, %" PetscInt_FMT " with the same pattern",
                             info.rebuilds, info.refills));
    PetscCall(MatScale(A, 2.0));
    band.seed++;
    PetscCall(SpikeTestBandSet(&band, 1.0 + k, A));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPTestCreate(KSPGMRES, PCBJACOBI, A, &ksp));
  PetscCall(PetscOptionsSetValue(NULL, "-sub_pc_type", "spike"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(x, 0.0));
  PetscCall(SpikeTestSolve(ksp, b, x, "PCBJACOBI"));
  PetscCall(PetscOptionsClearValue(NULL, "-sub_pc_type"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestMethods());
  PetscCall(TestChanges(KSPCGFUSED));
  PetscCall(TestChanges(KSPBCGSFUSED));
  PetscCall(TestChanges(KSPIDRFUSED));
  PetscCall(TestSpike());
  PetscCall(SpikeTestEnd("dia_ksp"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2 3 5}}
      output_file: output/dia_ksp_1.out

   test:
      suffix: nodes
      nsize: 4
      args: -mat_dia_ranks_per_node 2
      output_file: output/dia_ksp_1.out

   test:
      suffix: cudanodes
      nsize: 4
      requires: cuda gpurun
      args: -dia_type diacuda -mat_type aijcusparse -mat_dia_ranks_per_node 2
      output_file: output/dia_ksp_1.out

   test:
      suffix: cuda
      nsize: {{1 2 3}}
      requires: cuda gpurun
      args: -dia_type diacuda -mat_type aijcusparse
      output_file: output/dia_ksp_1.out

TEST*/
