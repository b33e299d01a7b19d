/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_scaled.c: KSPCGFUSED with PCJACOBI where the diagonal is the same number everywhere, which a device takes as one,
  and where it nearly is
*/
static char help[] = "Fused CG with Jacobi on matrices with a constant diagonal, beside KSPCG.\n\n";

#include "ksptest.h"

#define MAXLENGTH 60

/* The 5-point operator plus 0.1 on n x n points times `scale`; with odd, one number on the diagonal is another */
static PetscErrorCode MakeMatrix(PetscInt n, PetscReal scale, PetscBool odd, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscInt neighbours[] = {i - n, i - 1, i + 1, i + n}, column[] = {0, -1, 1, 0};

    for (PetscInt k = 0; k < 4; k++)
      if (neighbours[k] >= 0 && neighbours[k] < n * n && i % n + column[k] >= 0 && i % n + column[k] < n)
        PetscCall(MatSetValue(*A, i, neighbours[k], -scale, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i, scale * (odd && i == n * n / 2 ? 8.0 : 4.1), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The norms of KSPCG, its number of iterations within one, and its solution; monitor: in lockstep, with the solution
  built in each iteration
*/
static PetscErrorCode TestNorms(Mat A, Vec b, KSPNormType norm, PetscBool monitor, const char what[])
{
  PetscReal          h[2][MAXLENGTH], tol = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-8, difference = 0.0;
  PetscInt           length[2], its[2];
  Vec                x[2];
  KSPTestMonitorCtx  ctx = {PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10, 0.0};
  char               where[128];
  KSPConvergedReason reason;
  PetscBool          aij;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s%s", what, KSPNormTypes[norm], monitor ? ", monitored" : ""));
  for (int k = 0; k < 2; k++) {
    const PetscReal *history;
    KSP              ksp;

    PetscCall(VecDuplicate(b, &x[k]));
    PetscCall(KSPTestCreate(k ? KSPCGFUSED : KSPCG, PCJACOBI, A, &ksp));
    PetscCall(KSPSetNormType(ksp, norm));
    PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
    if (monitor && k) PetscCall(KSPMonitorSet(ksp, KSPTestMonitor, &ctx, NULL));
    PetscCall(KSPSolve(ksp, b, x[k]));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(KSPGetResidualHistory(ksp, &history, &length[k]));
    for (PetscInt i = 0; i < MAXLENGTH; i++) h[k][i] = i < length[k] ? history[i] : 0.0;
    if (k && aij) PetscCall(KSPTestBackend(ksp, where));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its[0] - its[1]) <= 1),
                           "%s: %" PetscInt_FMT " iterations, KSPCG %" PetscInt_FMT, where, its[1], its[0]));
  for (PetscInt i = 0; i < PetscMin(MAXLENGTH, PetscMin(its[0], its[1])); i++)
    difference = PetscMax(difference, PetscAbsReal(h[1][i] / h[0][i] - 1.0));
  PetscCall(SpikeTestSmall(difference, tol, "relative difference of norms", where));
  PetscCall(KSPTestDifference(x[1], x[0], &difference));
  PetscCall(SpikeTestSmall(difference, 100.0 * KSPTEST_RTOL, "difference to the solution of KSPCG", where));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL};
  PetscInt          large   = 120;
  PetscBool         wide; /* rows for it */

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsHasName(NULL, NULL, "-large", &wide));
  if (wide) large = 513; /* long enough to be taken as a number on a device */
  for (int odd = 0; odd < 2; odd++)
    for (int sign = 0; sign < 2; sign++) {
      Mat A;
      Vec b;

      PetscCall(MakeMatrix(large, sign ? -3.0 : 0.25, (PetscBool)odd, &A));
      PetscCall(MatCreateVecs(A, NULL, &b));
      PetscCall(SpikeTestSetRandom(b, 5));
      for (int k = 0; k < 3; k++)
        for (int monitor = 0; monitor < (norms[k] == KSP_NORM_UNPRECONDITIONED ? 2 : 1); monitor++)
          PetscCall(TestNorms(A, b, norms[k], (PetscBool)monitor,
                              odd ? (sign ? "another number, negative" : "another number")
                                  : (sign ? "constant, negative" : "constant")));
      PetscCall(MatDestroy(&A));
      PetscCall(VecDestroy(&b));
    }
  PetscCall(SpikeTestEnd("ksp_scaled"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_scaled_1.out
      test:
         suffix: 1
         nsize: {{1 2}}
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -large -mat_type aijcusparse -product {{petsc auto sell}}
      test:
         suffix: cudadia
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -large -mat_type diacuda

TEST*/
