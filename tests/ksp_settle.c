/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_settle.c: each way out of a solve by KSPCGFUSED: x, which lags by a step where nobody looks at it, is that of a
  solve in which it never does
*/
static char help[] = "Fused CG that ends in all the ways there are, with x that lags and without.\n\n";

#include "ksptest.h"

typedef struct {
  Vec       d;
  PetscInt  calls, bad; /* call number `bad` returns `factor` times the result */
  PetscReal factor;
} Shell;

static PetscErrorCode ShellApply(PC pc, Vec x, Vec y)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &shell));
  PetscCall(VecPointwiseMult(y, shell->d, x));
  if (++shell->calls == shell->bad) PetscCall(VecScale(y, shell->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tridiagonal; row n / 2 has `middle` on the diagonal */
static PetscErrorCode MakeMatrix(PetscInt n, PetscReal middle, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); j++)
      PetscCall(MatSetValue(*A, i, j,
                            i != j ? -1.0 - 0.1 * (PetscMin(i, j) % 3) : (i == n / 2 ? middle : 2.6 + 0.1 * (i % 4)),
                            INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solve is told beside matrix and norm, and how it ends, 0 where that depends on the norm */
typedef struct {
  const char        *what;
  PetscReal          middle; /* of the matrix */
  PetscInt           maxits, bad, replacement;
  PetscReal          factor, divtol;
  PetscBool          skip;
  KSPConvergedReason reason;
} Way;

static PetscErrorCode TestWay(KSP ksp[2], const Way *way, KSPNormType norm, PetscBool guess)
{
  Mat                A;
  Vec                x[2], b, y;
  PetscInt           its[2];
  KSPConvergedReason reason[2];
  PetscBool          equal;
  Shell              shell = {NULL, 0, way->bad, way->factor};
  char               where[128];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(where, sizeof(where), "%s, %s%s", way->what, KSPNormTypes[norm], guess ? ", with a guess" : ""));
  PetscCall(MakeMatrix(60, way->middle, &A));
  PetscCall(MatCreateVecs(A, &shell.d, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(SpikeTestSetRandom(shell.d, 4));
  PetscCall(VecAbs(shell.d));
  PetscCall(VecShift(shell.d, 3.0));
  for (int k = 0; k < 2; k++) {
    PC pc;

    PetscCall(VecDuplicate(b, &x[k]));
    PetscCall(VecSet(x[k], 0.5));
    PetscCall(KSPSetOperators(ksp[k], A, A));
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, way->bad ? PCSHELL : PCJACOBI));
    shell.calls = 0;
    if (way->bad) PetscCall(PCShellSetContext(pc, &shell));
    if (way->bad) PetscCall(PCShellSetApply(pc, ShellApply));
    PetscCall(KSPSetNormType(ksp[k], norm));
    PetscCall(KSPSetTolerances(ksp[k], 1e-5, PETSC_CURRENT, way->divtol, way->maxits));
    PetscCall(KSPSetInitialGuessNonzero(ksp[k], guess));
    if (way->skip) PetscCall(KSPSetConvergenceTest(ksp[k], KSPConvergedSkip, NULL, NULL));
    else {
      void *ctx;

      PetscCall(KSPConvergedDefaultCreate(&ctx));
      PetscCall(KSPSetConvergenceTest(ksp[k], KSPConvergedDefault, ctx, KSPConvergedDefaultDestroy));
    }
    PetscCall(KSPFusedSetResidualReplacement(ksp[k], way->replacement));
    PetscCall(KSPFusedSetLockstep(ksp[k], (PetscBool)k)); /* no lag there */
    PetscCall(KSPSolve(ksp[k], b, x[k]));
    PetscCall(KSPGetConvergedReason(ksp[k], &reason[k]));
    PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(KSPBuildSolution(ksp[k], y, &y));
    PetscCall(VecEqual(x[k], y, &equal));
    PetscCall(SpikeTestCheck(equal, "%s: KSPBuildSolution() after the solve is not x", where));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(VecEqual(x[0], x[1], &equal));
  PetscCall(SpikeTestCheck(equal, "%s: x of %s after %" PetscInt_FMT " iterations is not that without lag", where,
                           KSPConvergedReasons[reason[0]], its[0]));
  PetscCall(SpikeTestCheck((PetscBool)(reason[0] == reason[1] && its[0] == its[1]),
                           "%s: %s after %" PetscInt_FMT " iterations, and %s after %" PetscInt_FMT, where,
                           KSPConvergedReasons[reason[0]], its[0], KSPConvergedReasons[reason[1]], its[1]));
  PetscCall(SpikeTestCheck((PetscBool)(!way->reason || reason[0] == way->reason), "%s: ended with %s", where,
                           KSPConvergedReasons[reason[0]]));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
  PetscCall(VecDestroy(&shell.d));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal inf    = 1e30;
  const Way       ways[] = {
          {"converged", 2.6, 1000, 0, 0, 1.0, inf, PETSC_FALSE, KSP_CONVERGED_RTOL},
          {"replaced", 2.6, 1000, 0, 3, 1.0, inf, PETSC_FALSE, KSP_CONVERGED_RTOL},
          {"no iteration", 2.6, 0, 0, 0, 1.0, inf, PETSC_FALSE, KSP_DIVERGED_ITS},
          {"one iteration", 2.6, 1, 0, 0, 1.0, inf, PETSC_FALSE, KSP_DIVERGED_ITS},
          {"five iterations", 2.6, 5, 0, 0, 1.0, inf, PETSC_FALSE, KSP_DIVERGED_ITS},
          {"replaced at the last", 2.6, 6, 0, 3, 1.0, inf, PETSC_FALSE, KSP_DIVERGED_ITS},
          {"no test", 2.6, 5, 0, 0, 1.0, inf, PETSC_TRUE, KSP_CONVERGED_ITS},
          {"norm too large", 2.6, 1000, 3, 0, 1e20, 1e3, PETSC_FALSE, (KSPConvergedReason)0},
          {"preconditioner of another sign", 2.6, 1000, 4, 0, -1.0, inf, PETSC_FALSE,
     PetscDefined(USE_COMPLEX) ? (KSPConvergedReason)0 : KSP_DIVERGED_INDEFINITE_PC},
          {"matrix that is not definite", -3.0, 1000, 2000, 0, 1.0, inf, PETSC_FALSE, KSP_DIVERGED_INDEFINITE_MAT},
  };
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL};
  KSP               ksp[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetType(ksp[k], KSPCGFUSED));
  }
  for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(norms); n++)
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(ways); w++)
      for (int guess = 0; guess < 2; guess++) PetscCall(TestWay(ksp, &ways[w], norms[n], (PetscBool)guess));
  for (int k = 0; k < 2; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(SpikeTestEnd("ksp_settle"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2}}

TEST*/
