/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_matsolve.c: KSPMatSolve() of the fused methods, all columns together: iterations, reasons and solutions of single
  solves
*/
static char help[] = "Fused Krylov methods with several right-hand sides at once against single solves.\n\n";

#include "ksptest.h"

typedef enum {
  TEST_PLAIN,
  TEST_TRANSPOSE,
  TEST_GUESS,  /* of one column the solution                                       */
  TEST_SHELL,  /* an operator that knows MatMult() alone                           */
  TEST_NONORM, /* a fixed number of iterations                                     */
  TEST_FEW,    /* fewer iterations than some columns need                          */
  TEST_LIAR,   /* a product that lies at first: the true residual asks for a start */
  TEST_NULL,   /* constants are the null space                                     */
  TEST_NKINDS
} TestKind;
static const char *const TestKinds[] = {"plain",   "transposed",     "guess", "shell",
                                        "no norm", "few iterations", "liar",  "null space"};

typedef struct {
  KSPType     type;
  PCType      pctype;
  PCSide      side;
  KSPNormType norm;
  TestKind    kind;
  PetscInt    m, pad, batch; /* columns, extra rows of storage, KSPSetMatSolveBatchSize() where it is not 0 */
  PetscInt    form;          /* 0: of the method; 1: the other reductions; 2: smoothing (IDR(s))            */
  const int  *b;             /* the first column, where there are three rows, or NULL                       */
} TestCase;

typedef struct {
  Mat       A;
  PetscInt  calls;
  PetscBool lies;
} Shell;

static PetscErrorCode ShellMult(Mat S, Vec x, Vec y)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &shell));
  PetscCall(MatMult(shell->A, x, y));
  if (shell->lies && shell->calls-- > 0) PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeShell(Shell *shell, Mat *S)
{
  PetscInt m, n;
  VecType  vectype;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(shell->A, &m, &n));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)shell->A), m, n, PETSC_DETERMINE, PETSC_DETERMINE, shell, S));
  PetscCall(MatShellSetOperation(*S, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
  PetscCall(MatGetVecType(shell->A, &vectype));
  PetscCall(MatShellSetVecType(*S, vectype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A dense matrix of A's columns with leading dimension nlocal + pad, where A's vectors are; what is after its rows is
  NaN
*/
static PetscErrorCode DenseCreate(Mat A, PetscInt m, PetscInt pad, Mat *X)
{
  PetscInt     nlocal, n;
  PetscScalar *a, nan = 0.0;
  PetscBool    device;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), X));
  PetscCall(MatSetSizes(*X, nlocal, PETSC_DECIDE, n, m));
  PetscCall(MatSetType(*X, device ? MATDENSECUDA : MATDENSE));
  PetscCall(MatDenseSetLDA(*X, PetscMax(nlocal + pad, 1)));
  PetscCall(MatSetUp(*X));
  PetscCall(MatDenseGetArrayWrite(*X, &a));
  for (PetscInt i = 0; i < PetscMax(nlocal + pad, 1) * m; i++) a[i] = nan;
  PetscCall(MatDenseRestoreArrayWrite(*X, &a));
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Random columns; of 3 and more the second is 1e-12 times as large, the third 0, and each fourth has few entries, so
  that columns take different numbers of iterations
*/
static PetscErrorCode SetRightHandSides(Mat B, const int first[])
{
  PetscScalar *a;
  PetscInt     lda, start, end, n, m;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &n, &m));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  PetscCall(MatDenseGetLDA(B, &lda));
  PetscCall(MatDenseGetArrayWrite(B, &a));
  for (PetscInt j = 0; j < m; j++) {
    const PetscReal scale = j == 1 ? 1e-12 : (j == 2 ? 0.0 : 1.0);

    for (PetscInt i = start; i < end; i++)
      a[i - start + j * lda] = scale *
                               (j % 4 == 3 && n > 3 && i != (7 * j) % n ? (PetscScalar)0.0 : SpikeTestScalar(50, i, j));
    for (PetscInt i = start; i < end && first && j % 4 == 0; i++) a[i - start + j * lda] = first[i];
  }
  PetscCall(MatDenseRestoreArrayWrite(B, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Configure(const TestCase *t, Mat A, Mat S, KSP *ksp)
{
  PetscBool idr, cg;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(t->type, KSPIDRFUSED, &idr));
  PetscCall(PetscStrcmp(t->type, KSPCGFUSED, &cg));
  PetscCall(KSPTestCreate(t->type, t->pctype, A, ksp));
  PetscCall(KSPSetOperators(*ksp, S, A));
  PetscCall(KSPSetPCSide(*ksp, t->side));
  PetscCall(KSPSetNormType(*ksp, t->kind == TEST_NONORM ? KSP_NORM_NONE : t->norm));
  if (t->form == 1)
    PetscCall(KSPFusedSetReductions(*ksp, idr ? KSP_FUSED_REDUCTIONS_PLAIN : KSP_FUSED_REDUCTIONS_MERGED));
  if (t->form == 2) PetscCall(KSPIDRFusedSetSmoothing(*ksp, PETSC_TRUE));
  /* SPIKE solves, and more would leave residuals that are 0 */
  if (t->kind == TEST_NONORM) PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  if (t->kind == TEST_FEW) PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 5));
  if (t->kind == TEST_GUESS) PetscCall(KSPSetInitialGuessNonzero(*ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The figures of a column by a single solve, and its solution, which is left in x */
static PetscErrorCode SolveSingle(const TestCase *t, KSP ksp, Mat B, PetscInt j, Vec x, PetscInt *its,
                                  KSPConvergedReason *reason, PetscReal *rnorm)
{
  Vec b;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(B, j, &b));
  if (t->kind == TEST_TRANSPOSE) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetResidualNorm(ksp, rnorm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random guesses in X and X0. The first column has its solution to about the tolerance, up to rounding */
static PetscErrorCode SetGuesses(Mat A, Mat B, Mat X, Mat X0)
{
  PetscInt m;
  Vec      x, guess;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &m));
  PetscCall(MatCreateVecs(A, &guess, NULL));
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(MatDenseGetColumnVecWrite(X0, j, &x));
    PetscCall(SpikeTestSetRandom(x, 70 + j));
    if (j == 1) PetscCall(VecScale(x, 1e-12));
    PetscCall(VecCopy(x, guess));
    PetscCall(MatDenseRestoreColumnVecWrite(X0, j, &x));
    PetscCall(MatDenseGetColumnVecWrite(X, j, &x));
    PetscCall(VecCopy(guess, x));
    PetscCall(MatDenseRestoreColumnVecWrite(X, j, &x));
    if (j) continue;
    PetscCall(MatDenseGetColumnVecWrite(B, 0, &x));
    PetscCall(MatMult(A, guess, x));
    PetscCall(MatDenseRestoreColumnVecWrite(B, 0, &x));
  }
  PetscCall(VecDestroy(&guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows between those of the matrix and its leading dimension are as they were: not finite */
static PetscErrorCode CheckPadding(Mat X, const char where[])
{
  PetscInt           m, ldx, start, end;
  PetscBool          intact = PETSC_TRUE;
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &m));
  PetscCall(MatGetOwnershipRange(X, &start, &end));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArrayRead(X, &a));
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = end - start; i < ldx; i++)
      if (!PetscIsInfOrNanScalar(a[i + j * ldx])) intact = PETSC_FALSE;
  PetscCall(MatDenseRestoreArrayRead(X, &a));
  PetscCall(SpikeTestCheck(intact, "%s: storage after the rows was written", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All columns of B at once against one by one */
static PetscErrorCode TestColumns(const TestCase *t, Mat A)
{
  Shell                     shell   = {A, 0, (PetscBool)(t->kind == TEST_LIAR)};
  const PetscBool           isshell = (PetscBool)(t->kind == TEST_SHELL || t->kind == TEST_LIAR);
  KSP                       ksp, single;
  Mat                       S = A, B, X, X0;
  Vec                       x, y;
  const PetscInt           *its;
  const KSPConvergedReason *reasons;
  const PetscReal          *norms, *history;
  const PetscInt            slack = PetscDefined(USE_REAL_SINGLE) ? 3 : 1; /* in numbers of iterations */
  PetscReal                 sum   = 0.0;
  PetscInt                  m, most = 0, length, maxits, first;
  KSPConvergedReason        worst = KSP_CONVERGED_ITERATING, reason;
  PetscBool                 together, exact, device, lost;
  char                      where[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s, %s, %s, %s, %s, %" PetscInt_FMT " columns, batch %" PetscInt_FMT ", form %" PetscInt_FMT,
                          t->type, t->pctype, PCSides[t->side], KSPNormTypes[t->norm], TestKinds[t->kind], t->m,
                          t->batch, t->form));
  if (isshell) PetscCall(MakeShell(&shell, &S));
  PetscCall(Configure(t, A, S, &ksp));
  PetscCall(Configure(t, A, S, &single));
  PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
  if (t->batch) PetscCall(KSPSetMatSolveBatchSize(ksp, t->batch));
  PetscCall(DenseCreate(A, t->m, t->pad, &B));
  PetscCall(DenseCreate(A, t->m, t->pad ? t->pad + 3 : 0, &X));
  PetscCall(DenseCreate(A, t->m, 0, &X0));
  PetscCall(SetRightHandSides(B, t->b));
  if (t->kind == TEST_GUESS) PetscCall(SetGuesses(A, B, X, X0));
  shell.calls = 4 * t->m;
  if (t->kind == TEST_TRANSPOSE) PetscCall(KSPMatSolveTranspose(ksp, B, X));
  else PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &m, &its, &reasons, &norms, &together));
  /* the columns that the getter tells about */
  first = t->batch && t->batch < t->m ? (t->m - 1) / t->batch * t->batch : 0;
  PetscCall(SpikeTestCheck((PetscBool)(m == t->m - first && together == (PetscBool)(m > 1)),
                           "%s: figures of %" PetscInt_FMT " columns, together %d", where, m, together));
  PetscCall(KSPTestBackend(ksp, where));
  /*
    there, sums of columns and of one have other orders, and after a breakdown its rounding decides about what follows;
    on the host too, where neither way leads to a solution
  */
  PetscCall(SpikeTestOnDevice(A, &device));
  for (PetscInt j = 0; j < t->m; j++) {
    PetscInt           theirs;
    KSPConvergedReason theirreason;
    PetscReal          rnorm, bnorm, difference;

    PetscCall(MatDenseGetColumnVecRead(B, j, &x));
    PetscCall(VecNorm(x, NORM_2, &bnorm));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &x));
    PetscCall(MatDenseGetColumnVec(X0, j, &y));
    shell.calls = 4;
    PetscCall(SolveSingle(t, single, B, j, y, &theirs, &theirreason, &rnorm));
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    if (theirs == (j >= first ? its[j - first] : theirs) && theirreason > 0) {
      PetscReal size;

      PetscCall(KSPTestDifference(x, y, &difference));
      PetscCall(VecNorm(y, NORM_2, &size));
      if (j == 2) difference *= size; /* the solution is 0 */
      PetscCall(SpikeTestSmall(difference, 1e3 * KSPTEST_RTOL, "difference to the solution of a single solve", where));
    }
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(MatDenseRestoreColumnVec(X0, j, &y));
    if (j < first) continue;
    most  = PetscMax(most, its[j - first]);
    worst = worst && worst < reasons[j - first] ? worst : reasons[j - first];
    sum += PetscSqr(norms[j - first]);
    lost = (PetscBool)(t->b && theirreason < 0 && reasons[j - first] < 0);
    if (t->kind != TEST_LIAR && !(t->b && device) && !lost)
      PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(theirs - its[j - first]) <= slack + theirs / (20 / slack)),
                               "%s: column %" PetscInt_FMT " took %" PetscInt_FMT " iterations, alone %" PetscInt_FMT,
                               where, j, its[j - first], theirs));
    /* PCs that solve leave a residual of rounding, or 0, which is the absolute tolerance's */
    exact = (PetscBool)(PetscMax(rnorm, norms[j - first]) <= 100 * PETSC_MACHINE_EPSILON * bnorm);
    /* without a test only a norm of 0 ends a solve, and that is up to rounding */
    if (PetscDefined(USE_REAL_SINGLE) && t->kind == TEST_NONORM) lost = PETSC_TRUE;
    PetscCall(SpikeTestCheck((PetscBool)(lost || theirreason == reasons[j - first] ||
                                         ((exact || (t->kind == TEST_GUESS && !j)) && theirreason > 0 &&
                                          reasons[j - first] > 0)),
                             "%s: column %" PetscInt_FMT " ended with %s, alone with %s", where, j,
                             KSPConvergedReasons[reasons[j - first]], KSPConvergedReasons[theirreason]));
    if (t->kind == TEST_FEW && its[j - first] == theirs)
      PetscCall(SpikeTestSmall(PetscAbsReal(rnorm - norms[j - first]),
                               1e-3 * rnorm + 100 * PETSC_MACHINE_EPSILON * bnorm,
                               "difference to the residual norm of a single solve", where));
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &maxits));
  PetscCall(KSPGetResidualHistory(ksp, &history, &length));
  PetscCall(SpikeTestCheck((PetscBool)(reason == worst && maxits == most),
                           "%s: %s after %" PetscInt_FMT " iterations, its columns %s and %" PetscInt_FMT, where,
                           KSPConvergedReasons[reason], maxits, KSPConvergedReasons[worst], most));
  if (together) {
    PetscReal rnorm;

    PetscCall(KSPGetResidualNorm(ksp, &rnorm));
    /* the history has no iterations of columns that are too small for squares in single precision, and solved alone */
    PetscCall(SpikeTestCheck((PetscBool)(length == most + 1 || (PetscDefined(USE_REAL_SINGLE) && length <= most)),
                             "%s: %" PetscInt_FMT " norms after %" PetscInt_FMT " iterations", where, length, most));
    PetscCall(SpikeTestSmall(PetscAbsReal(rnorm - PetscSqrtReal(sum)), 1e-5 * rnorm, "difference to the Frobenius norm",
                             where));
    if (t->kind != TEST_LIAR && reason > 0)
      PetscCall(SpikeTestSmall(PetscAbsReal(history[length - 1] - rnorm), 1e-5 * rnorm,
                               "difference to the last norm of the history", where));
  }
  PetscCall(CheckPadding(X, where));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&X0));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&single));
  if (isshell) PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeMatrix(PetscBool cg, PetscInt n, TestKind kind, Mat *A)
{
  SpikeTestBand band = {n, 3, 2, 1.1, SPIKE_TEST_SLOW, 5};
  MatNullSpace  nullspace;

  PetscFunctionBegin;
  if (cg || kind == TEST_NULL)
    PetscCall(KSPTestGrid(PETSC_COMM_WORLD, n / 7, 7, PETSC_DECIDE, kind == TEST_NULL ? 0.0 : 0.1, A));
  else PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, A));
  if (kind == TEST_NULL) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
    PetscCall(MatSetNullSpace(*A, nullspace));
    PetscCall(MatSetTransposeNullSpace(*A, nullspace));
    PetscCall(MatNullSpaceDestroy(&nullspace));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Breakdowns of some columns, while others go on: matrices of three rows */
static PetscErrorCode TestBreakdown(KSPType type, const int a[], const int b[], PCSide side, PetscInt form)
{
  const TestCase t = {type,       PCNONE, side, side == PC_LEFT ? KSP_NORM_PRECONDITIONED : KSP_NORM_UNPRECONDITIONED,
                      TEST_PLAIN, 5,      0,    0,
                      form,       b};
  Mat            A;
  PetscScalar    transposed[9];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++)
    for (PetscInt j = 0; j < 3; j++) transposed[i + 3 * j] = a[3 * i + j];
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, 3, transposed, PETSC_DECIDE, &A));
  PetscCall(TestColumns(&t, A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setter and getter; tests of the user go column by column */
static PetscErrorCode UserTest(KSP ksp, PetscInt it, PetscReal rnorm, KSPConvergedReason *reason, PetscCtx ctx)
{
  PetscFunctionBegin;
  PetscCall(KSPConvergedDefault(ksp, it, rnorm, reason, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSingle(void)
{
  Mat                  A, B, X;
  KSP                  ksp;
  KSPFusedMatSolveType type;
  PetscInt             m;
  const PetscInt      *its;
  PetscBool            together;
  void                *ctx;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 140, TEST_PLAIN, &A));
  PetscCall(KSPTestCreate(KSPBCGSFUSED, PCJACOBI, A, &ksp));
  PetscCall(DenseCreate(A, 4, 0, &B));
  PetscCall(DenseCreate(A, 4, 0, &X));
  PetscCall(SetRightHandSides(B, NULL));
  PetscCall(KSPFusedGetColumns(ksp, &m, NULL, NULL, NULL, NULL));
  PetscCall(SpikeTestCheck((PetscBool)!m, "%" PetscInt_FMT " columns before a solve", m));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(KSPFusedSetMatSolveType(ksp, k == 1 ? KSP_FUSED_MATSOLVE_SINGLE : KSP_FUSED_MATSOLVE_COLUMNS));
    PetscCall(KSPFusedGetMatSolveType(ksp, &type));
    PetscCall(SpikeTestCheck((PetscBool)(type == (k == 1 ? KSP_FUSED_MATSOLVE_SINGLE : KSP_FUSED_MATSOLVE_COLUMNS)),
                             "type %d", (int)type));
    if (k == 2) {
      PetscCall(KSPConvergedDefaultCreate(&ctx));
      PetscCall(KSPSetConvergenceTest(ksp, UserTest, ctx, KSPConvergedDefaultDestroy));
    }
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPFusedGetColumns(ksp, &m, &its, NULL, NULL, &together));
    PetscCall(SpikeTestCheck((PetscBool)(m == 4 && together == (PetscBool)!k && its[0] > 0 && its[2] == 0),
                             "figures of %" PetscInt_FMT " columns, together %d, way %" PetscInt_FMT, m, together, k));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||B - A X|| by columns, the largest over ||b||; of A^T where transposed */
static PetscErrorCode CheckResidual(Mat A, PetscBool trans, Mat B, Mat X, const char where[])
{
  PetscInt m;
  Vec      r, b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, NULL));
  PetscCall(MatGetSize(B, NULL, &m));
  for (PetscInt j = 0; j < m; j++) {
    PetscReal norm, residual;

    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    if (trans) PetscCall(MatMultTranspose(A, x, r));
    else PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
    PetscCall(SpikeTestSmall(residual, 10.0 * KSPTEST_RTOL * norm, "true residual", where));
  }
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One KSP through other values, another pattern, transposes, other numbers of columns, single solves in between, and
  another size
*/
static PetscErrorCode TestChange(KSPType type, KSPFusedSpMVType product)
{
  const char *const what[]  = {"first",           "other values", "fewer columns", "transposed",
                               "another pattern", "more columns", "another size"};
  const PetscInt    width[] = {6, 6, 3, 3, 6, 9, 4};
  SpikeTestBand     band[]  = {{140, 3, 2, 1.5, SPIKE_TEST_SLOW, 5},
                               {140, 1, 4, 1.5, SPIKE_TEST_SLOW, 6},
                               {77, 2, 2, 1.5, SPIKE_TEST_SLOW, 7}};
  Mat               A[3];
  KSP               ksp;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band[k], PETSC_DECIDE, MATAIJ, &A[k]));
  PetscCall(KSPTestCreate(type, PCJACOBI, A[0], &ksp));
  PetscCall(KSPFusedSetSpMVType(ksp, product));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  for (PetscInt k = 0; k < 7; k++) {
    Mat       B, X, M = A[k < 4 ? 0 : (k < 6 ? 1 : 2)];
    Vec       x, b;
    PetscBool together;
    PetscInt  m;
    char      where[128];

    PetscCall(PetscSNPrintf(where, sizeof(where), "change, %s, %s, %s", type, KSPFusedSpMVTypes[product], what[k]));
    if (k == 1) PetscCall(MatScale(M, -3.0));
    if (k == 6) PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, M, M));
    PetscCall(DenseCreate(M, width[k], k, &B));
    PetscCall(DenseCreate(M, width[k], 0, &X));
    PetscCall(SetRightHandSides(B, NULL));
    if (k == 3) PetscCall(KSPMatSolveTranspose(ksp, B, X));
    else PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPFusedGetColumns(ksp, &m, NULL, NULL, NULL, &together));
    PetscCall(SpikeTestCheck((PetscBool)(together && m == width[k]), "%s: %" PetscInt_FMT " columns, together %d",
                             where, m, together));
    PetscCall(CheckResidual(M, (PetscBool)(k == 3), B, X, where));
    PetscCall(MatCreateVecs(M, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 31));
    PetscCall(SpikeTestSolve(ksp, b, x, where));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(KSPDestroy(&ksp));
  for (PetscInt k = 0; k < 3; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors that could not be made: a reason in each column */
static PetscErrorCode TestFailure(KSPType type)
{
  Mat                       A, B, X;
  KSP                       ksp;
  PetscInt                  m, rows;
  const KSPConvergedReason *reasons;
  KSPConvergedReason        reason;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 35, TEST_PLAIN, &A));
  rows = 17;
  PetscCall(MatZeroRows(A, 1, &rows, 0.0, NULL, NULL));
  PetscCall(KSPTestCreate(type, PCSPIKE, A, &ksp));
  {
    PC pc;

    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  }
  PetscCall(DenseCreate(A, 3, 0, &B));
  PetscCall(DenseCreate(A, 3, 0, &X));
  PetscCall(SetRightHandSides(B, NULL));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPFusedGetColumns(ksp, &m, NULL, &reasons, NULL, NULL));
  PetscCall(
    SpikeTestCheck((PetscBool)(m == 3 && reason == KSP_DIVERGED_PC_FAILED && reasons[0] == KSP_DIVERGED_PC_FAILED),
                   "%s: ended with %s without factors", type, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  Vec x;

  PetscFunctionBegin;
  (void)it;
  (void)rnorm;
  (void)ctx;
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor that wants the solution as one vector is told what to do, and the KSP solves on */
static PetscErrorCode TestMonitor(KSPType type)
{
  Mat            A, B, X;
  Vec            x, b;
  KSP            ksp;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 35, TEST_PLAIN, &A));
  PetscCall(KSPTestCreate(type, PCNONE, A, &ksp));
  PetscCall(DenseCreate(A, 3, 0, &B));
  PetscCall(DenseCreate(A, 3, 0, &X));
  PetscCall(SetRightHandSides(B, NULL));
  PetscCall(KSPMonitorSet(ksp, Monitor, NULL, NULL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPMatSolve(ksp, B, X);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_SUP), "%s: error %d from a monitor that builds the solution",
                           type, (int)ierr));
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 31));
  PetscCall(SpikeTestSolve(ksp, b, x, "after an error"));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(CheckResidual(A, PETSC_FALSE, B, X, "after an error"));
  PetscCall(KSPMonitorSet(ksp, Monitor, NULL, NULL));
  PetscCall(KSPFusedSetMatSolveType(ksp, KSP_FUSED_MATSOLVE_SINGLE));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Preconditioners whose PCMatApply() is an error: several subdomains on a rank, by themselves and inside another one,
  from both sides and transposed
*/
static PetscErrorCode TestRefuses(KSPType type, PetscBool inside)
{
  Mat       A, B, X;
  KSP       ksp;
  PetscBool cg;
  char      where[96];

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(MakeMatrix(cg, 140, TEST_PLAIN, &A));
  PetscCall(DenseCreate(A, 4, 0, &B));
  PetscCall(DenseCreate(A, 4, 0, &X));
  PetscCall(SetRightHandSides(B, NULL));
  for (int side = 0; side < (cg ? 1 : 2); side++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, PCMatApply() refuses, %s%s", type, PCSides[side],
                            inside ? ", inside" : ""));
    PetscCall(KSPTestCreate(type, inside ? PCKSP : PCASM, A, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "refuses_"));
    PetscCall(KSPSetPCSide(ksp, (PCSide)side));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(CheckResidual(A, PETSC_FALSE, B, X, where));
    PetscCall(KSPMatSolve(ksp, B, X)); /* not asked again */
    PetscCall(CheckResidual(A, PETSC_FALSE, B, X, where));
    if (!cg && !inside) PetscCall(KSPMatSolveTranspose(ksp, B, X));
    if (!cg && !inside) PetscCall(CheckResidual(A, PETSC_TRUE, B, X, where));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType  types[]        = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};
  const PCType   pcs[]          = {PCNONE, PCJACOBI, PCSPIKE, PCBJACOBI, PCILU};
  const PetscInt widths[]       = {1, 3, 16, 32, 33};
  const int      breaks[][2][9] = {{{0, 1, 0, -1, 0, 0, 0, 0, 1}, {1, 2, 3}},
                                   {{0, 1, 0, 0, 0, 1, 1, 0, 0}, {1, 0, 0}},
                                   {{1, 0, 0, 0, 2, 0, 0, 0, 0}, {1, 2, 3}},
                                   {{0, 2, 0, 2, 1, 2, 2, 0, 0}, {1, -1, -1}},
                                   {{0, -1, 2, 1, 1, 1, -2, -1, 2}, {1, -1, -1}}};
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 3; k++) {
    const PetscBool cg = (PetscBool)(k == 1);

    for (PetscInt kind = 0; kind < TEST_NKINDS; kind++) {
      Mat A;

      if (cg && kind == TEST_TRANSPOSE && PetscDefined(USE_COMPLEX)) continue;
      PetscCall(MakeMatrix(cg, kind == TEST_NULL ? 42 : 140, (TestKind)kind, &A));
      for (PetscInt p = 0; p < (size > 1 ? 4 : 5); p++) {
        if (kind == TEST_NULL && p >= 2) continue; /* singular to what factors it */
        for (PetscInt right = 0; right < (cg ? 1 : 2); right++) {
          for (PetscInt form = 0; form < (kind ? 1 : (k == 2 ? 3 : 2)); form++) {
            TestCase t = {types[k],
                          pcs[p],
                          right ? PC_RIGHT : PC_LEFT,
                          right ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED,
                          (TestKind)kind,
                          5,
                          0,
                          0,
                          form,
                          NULL};

            PetscCall(TestColumns(&t, A));
          }
        }
      }
      PetscCall(MatDestroy(&A));
    }
    {
      Mat A;

      PetscCall(MakeMatrix(cg, 140, TEST_PLAIN, &A));
      for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
        TestCase t = {types[k], PCJACOBI, PC_LEFT, KSP_NORM_PRECONDITIONED, TEST_PLAIN, widths[w], 5, 0, 0, NULL};

        PetscCall(TestColumns(&t, A));
        t.batch = 16;
        PetscCall(TestColumns(&t, A));
      }
      PetscCall(MatDestroy(&A));
    }
    PetscCall(TestFailure(types[k]));
    if (k != 1) PetscCall(TestMonitor(types[k]));
    for (PetscInt product = 0; product < 2 && !cg; product++)
      PetscCall(TestChange(types[k], product ? KSP_FUSED_SPMV_AUTO : KSP_FUSED_SPMV_PETSC));
    if (!cg)
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(breaks); b++)
        for (PetscInt form = 0; form < 2; form++)
          for (PetscInt right = 0; right < 2; right++)
            PetscCall(TestBreakdown(types[k], breaks[b][0], breaks[b][1], right ? PC_RIGHT : PC_LEFT, form));
  }
  PetscCall(TestSingle());
  PetscCall(PetscOptionsInsertString(NULL, "-refuses_pc_asm_local_blocks 2 -refuses_pc_asm_type basic "
                                           "-refuses_ksp_ksp_type preonly -refuses_ksp_pc_type asm "
                                           "-refuses_ksp_pc_asm_local_blocks 2 -refuses_ksp_pc_asm_type basic"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++)
    for (int inside = 0; inside < 2; inside++) PetscCall(TestRefuses(types[k], (PetscBool)inside));
  PetscCall(SpikeTestEnd("ksp_matsolve"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_matsolve_1.out
      test:
         suffix: 1
      # columns take MatMult() there, single solves copies: counts of iterations differ by rounding
      test:
         suffix: product
         nsize: {{1 2 3}}
         args: -product petsc
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto petsc}}
      test:
         suffix: cuda2
         nsize: 2
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc

TEST*/
