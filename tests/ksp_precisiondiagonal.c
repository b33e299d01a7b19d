/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_precisiondiagonal.c: the diagonal of PCJACOBI in single precision, beside products of a narrow copy: as many
  iterations, a residual as small, the same preconditioner from the first residual to the solution, the diagonal in
  PetscScalar where a solve goes back to that
*/
static char help[] = "Fused Krylov methods with a diagonal preconditioner in single precision.\n\n";

#include "ksptest.h"
#include "viewtext.h"

static const KSPType           types[] = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};
static const KSPFusedPrecision lower[] = {KSP_FUSED_PRECISION_SINGLE, KSP_FUSED_PRECISION_BF16};

/* Whether solves have such a diagonal: where PetscScalar has more digits */
static const PetscBool single = PetscDefined(USE_REAL_DOUBLE) ? PETSC_TRUE : PETSC_FALSE;

/*
  The 5-point operator on n x n points with weights between 1 and 100, and a shift; whole: they are integers, of which
  single precision loses none. Their sums, on the diagonal, have no inverse in single precision
*/
static PetscErrorCode MakeGrid(PetscInt n, PetscBool whole, PetscInt seed, Mat *A)
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
    PetscReal      sum = 1.0;

    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt j = neighbours[k];
      PetscReal      weight;

      if (j < 0 || j >= n * n || i % n + column[k] < 0 || i % n + column[k] >= n) continue;
      weight = PetscPowReal(10.0, 1.0 + SpikeTestUniform(seed, PetscMin(i, j), PetscMax(i, j)));
      if (whole) weight = PetscFloorReal(weight);
      sum += weight;
      PetscCall(MatSetValue(*A, i, j, -weight, INSERT_VALUES));
    }
    PetscCall(MatSetValue(*A, i, i, sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(KSPType type, Mat A, KSPFusedPrecision precision, PetscBool left, KSP *ksp)
{
  PetscBool cg;

  PetscFunctionBegin;
  PetscCall(KSPTestCreatePrecision(type, PCJACOBI, A, precision, ksp));
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  if (!cg) PetscCall(KSPSetPCSide(*ksp, left ? PC_LEFT : PC_RIGHT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the view says of the diagonal */
static PetscErrorCode CheckView(KSP ksp, PetscBool expected, const char where[])
{
  char      text[8192];
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(ObjectViewText((PetscObject)ksp, sizeof(text), text));
  has = (PetscBool)(strstr(text, "the diagonal of the preconditioner in single") != NULL);
  PetscCall(SpikeTestCheck((PetscBool)(has == expected), "%s: what the view says of the diagonal", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Both sides. Integers, which lose no digit: the diagonal is all that differs, but for the shadow space of IDR, and no
  residual is replaced. Other weights: with bf16 in products methods that are not symmetric take more iterations,
  whatever the diagonal has
*/
static PetscErrorCode TestIterations(KSPType type, PetscBool whole)
{
  const PetscInt n = 40, solves = 3;
  PetscBool      cg;
  Mat            A;
  Vec            x, b;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(MakeGrid(n, whole, 11, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int left = 0; left < (cg ? 1 : 2); left++) {
    PetscInt all[3] = {0, 0, 0};

    for (int k = -1; k < 2; k++) {
      const KSPFusedPrecision precision = k < 0 ? KSP_FUSED_PRECISION_DOUBLE : lower[k];
      const PetscReal         most = left ? 100 * KSPTEST_RTOL : (single ? (PetscReal)(1.0 + 1e-3) : 10) * KSPTEST_RTOL;
      char                    where[96];

      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %s", type, whole ? "integers" : "weights",
                              left ? "left" : "right", KSPFusedPrecisions[precision]));
      for (PetscInt rhs = 0; rhs < solves; rhs++) {
        KSP          ksp;
        PetscInt     its;
        KSPFusedInfo info;

        PetscCall(SpikeTestSetRandom(b, 80 + rhs));
        PetscCall(Create(type, A, precision, (PetscBool)left, &ksp));
        PetscCall(KSPTestSolve(ksp, b, x, most, &its, where));
        PetscCall(KSPFusedGetInfo(ksp, &info));
        PetscCall(CheckView(ksp, (PetscBool)(single && info.precision != KSP_FUSED_PRECISION_DOUBLE), where));
        if (k == 0 || (k > 0 && cg))
          PetscCall(SpikeTestCheck((PetscBool)(info.precision == precision || !single), "%s: products in precision %s",
                                   where, KSPFusedPrecisions[info.precision]));
        if (k == 0 && whole && single)
          PetscCall(SpikeTestCheck((PetscBool)(!info.replacements && !info.restarts),
                                   "%s: %" PetscInt_FMT " replacements, %" PetscInt_FMT " restarts", where,
                                   info.replacements, info.restarts));
        all[k + 1] += its;
        PetscCall(KSPDestroy(&ksp));
      }
      if (k == 0 || (k > 0 && cg))
        PetscCall(SpikeTestCheck((PetscBool)(all[k + 1] <= 1.15 * all[0] + 2 * solves),
                                 "%s: %" PetscInt_FMT " iterations, without %" PetscInt_FMT, where, all[k + 1],
                                 all[0]));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution that KSPBuildSolution() gives in the last iteration */
static PetscErrorCode BuildMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  Vec *built = (Vec *)ctx, V;

  PetscFunctionBegin;
  (void)rnorm;
  if (it % 2) PetscCall(KSPBuildSolution(ksp, built[0], NULL));
  else {
    PetscCall(KSPBuildSolution(ksp, NULL, &V));
    PetscCall(VecCopy(V, built[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One preconditioner from the first residual to the solution: to 1e-12, far below what its rounding takes from a
  solution or a residual, without a check of the true residual. Guesses, norms of CG, what a monitor builds. With merged
  reductions IDR comes to 1e-11 from such a guess, also in double precision
*/
static PetscErrorCode TestSame(KSPType type)
{
  const PetscReal rtol = single ? 1e-12 : KSPTEST_RTOL;
  PetscBool       cg, idr;
  Mat             A;
  Vec             x, b, built;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(PetscStrcmp(type, KSPIDRFUSED, &idr));
  PetscCall(MakeGrid(12, PETSC_TRUE, 12, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &built));
  PetscCall(SpikeTestSetRandom(b, 83));
  for (int form = 0; form < 8; form++) {
    const PetscBool left = (PetscBool)(form % 2), guess = (PetscBool)(form / 2 % 2), monitor = (PetscBool)(form / 4);
    PetscReal       difference;
    PetscInt        its;
    KSP             ksp;
    KSPFusedInfo    info;
    char            where[96];

    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %s", type, left ? "left" : "right",
                            guess ? "a guess" : "none", monitor ? "a monitor" : "none"));
    PetscCall(Create(type, A, KSP_FUSED_PRECISION_SINGLE, left, &ksp));
    if (cg) PetscCall(KSPSetNormType(ksp, left ? KSP_NORM_PRECONDITIONED : KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPFusedSetCheckTrueResidual(ksp, PETSC_FALSE));
    PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
    if (guess) PetscCall(SpikeTestSetRandom(x, 84));
    if (guess && idr) PetscCall(KSPFusedSetReductions(ksp, KSP_FUSED_REDUCTIONS_PLAIN));
    if (monitor) PetscCall(KSPMonitorSet(ksp, BuildMonitor, &built, NULL));
    PetscCall(KSPTestSolve(ksp, b, x, (left ? 100 : 10) * rtol, &its, where));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(SpikeTestCheck((PetscBool)!info.restarts, "%s: %" PetscInt_FMT " restarts", where, info.restarts));
    PetscCall(CheckView(ksp, single, where));
    if (monitor) {
      PetscCall(KSPTestDifference(built, x, &difference));
      PetscCall(
        SpikeTestSmall(difference, 100 * PETSC_MACHINE_EPSILON, "difference to the solution that is built", where));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&built));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One KSP: other values, another preconditioner, another precision, in between and back */
static PetscErrorCode TestChanges(KSPType type)
{
  const PetscReal most = (single ? (PetscReal)(1.0 + 1e-3) : 10) * KSPTEST_RTOL;
  Mat             A;
  Vec             x, b, d;
  KSP             ksp;
  PC              pc;
  PetscInt        its;

  PetscFunctionBegin;
  PetscCall(MakeGrid(20, PETSC_FALSE, 13, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(SpikeTestSetRandom(b, 85));
  PetscCall(Create(type, A, KSP_FUSED_PRECISION_SINGLE, PETSC_FALSE, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "first values"));
  PetscCall(CheckView(ksp, single, "first values"));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "a diagonal that is twice as large"));
  PetscCall(CheckView(ksp, single, "a diagonal that is twice as large"));
  PetscCall(MatScale(A, 1e-3));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "small values"));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "no preconditioner"));
  PetscCall(CheckView(ksp, PETSC_FALSE, "no preconditioner"));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "PCJACOBI again"));
  PetscCall(CheckView(ksp, single, "PCJACOBI again"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "double precision"));
  PetscCall(CheckView(ksp, PETSC_FALSE, "double precision"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_SINGLE));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPTestSolve(ksp, b, x, most, &its, "after KSPReset()"));
  PetscCall(CheckView(ksp, single, "after KSPReset()"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Pairs w [1 1 - e; 1 - e 1], w = 1, 3 or 5, of which bf16 makes a matrix that is not definite, so that solves go back
  to PetscScalar; with d in the place of 1 on the diagonal, e = 0
*/
static PetscErrorCode MakePairs(PetscInt n, PetscReal e, PetscReal d, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 2 * n, 2 * n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscReal w = d == 1.0 ? (PetscReal)(1 + 2 * (i / 2 % 3)) : 1.0;

    PetscCall(MatSetValue(*A, i, i, w * d, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i ^ 1, w * ((PetscReal)1.0 - e), INSERT_VALUES));
    /* places that hold zeros, so that the copy by diagonals suits */
    if (i > 0 && (i ^ 1) != i - 1) PetscCall(MatSetValue(*A, i, i - 1, 0.0, INSERT_VALUES));
    if (i < 2 * n - 1 && (i ^ 1) != i + 1) PetscCall(MatSetValue(*A, i, i + 1, 0.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that goes back to PetscScalar has the diagonal in PetscScalar, and one of the values before */
static PetscErrorCode TestGivenUp(KSPType type, PetscBool left, PetscBool guess)
{
  Mat          A;
  Vec          x, b;
  KSP          ksp;
  KSPFusedInfo info;
  PetscInt     its;
  char         where[96];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(where, sizeof(where), "%s, pairs, %s%s", type, left ? "left" : "right", guess ? ", a guess" : ""));
  PetscCall(MakePairs(700, (PetscReal)0x1p-10, 1.0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 86));
  PetscCall(Create(type, A, KSP_FUSED_PRECISION_BF16, left, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  if (guess) PetscCall(SpikeTestSetRandom(x, 87));
  PetscCall(KSPTestSolve(ksp, b, x, left ? 1e-4 : 1.001e-6, &its, where));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.widened && info.precision == KSP_FUSED_PRECISION_DOUBLE),
                           "%s: products in precision %s", where, KSPFusedPrecisions[info.precision]));
  PetscCall(CheckView(ksp, PETSC_FALSE, where));
  if (guess) PetscCall(VecSet(x, 0.0));
  PetscCall(KSPTestSolve(ksp, b, x, left ? 1e-4 : 1.001e-6, &its, where));
  PetscCall(CheckView(ksp, PETSC_FALSE, where));
  PetscCall(MatShift(A, 1.0));
  PetscCall(KSPTestSolve(ksp, b, x, left ? 1e-4 : 1.001e-6, &its, where));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.precision == KSP_FUSED_PRECISION_BF16), "%s: shifted, products in %s",
                           where, KSPFusedPrecisions[info.precision]));
  PetscCall(CheckView(ksp, PETSC_TRUE, where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A diagonal whose inverse is no number of single precision: in PetscScalar beside narrow products. The solve may end
  without a solution, as without them
*/
static PetscErrorCode TestRange(KSPType type, PetscBool left)
{
  Mat          A;
  Vec          x, b;
  KSP          ksp;
  KSPFusedInfo info;
  char         where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, a small diagonal, %s", type, left ? "left" : "right"));
  PetscCall(MakePairs(100, 0.0, (PetscReal)1e-39, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 88));
  PetscCall(Create(type, A, KSP_FUSED_PRECISION_SINGLE, left, &ksp));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.precision == KSP_FUSED_PRECISION_SINGLE || info.widened),
                           "%s: products in precision %s", where, KSPFusedPrecisions[info.precision]));
  PetscCall(CheckView(ksp, PETSC_FALSE, where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    const PetscBool cg = (PetscBool)(t == 1);

    PetscCall(TestIterations(types[t], PETSC_FALSE));
    PetscCall(TestIterations(types[t], PETSC_TRUE));
    PetscCall(TestSame(types[t]));
    PetscCall(TestChanges(types[t]));
    for (int left = 0; left < (cg ? 1 : 2) && single; left++) {
      for (int guess = 0; guess < 2; guess++) PetscCall(TestGivenUp(types[t], (PetscBool)left, (PetscBool)guess));
      if (!cg) PetscCall(TestRange(types[t], (PetscBool)left));
    }
  }
  PetscCall(SpikeTestEnd("ksp_precisiondiagonal"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_precisiondiagonal_1.out
      test:
         suffix: 1
         args: -product dia
      test:
         suffix: dia
         nsize: {{1 3}}
         args: -mat_type dia
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{dia sell}}
      test:
         suffix: cudadia
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -mat_type diacuda

TEST*/
