/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_precision.c: iterations whose products read a copy of the matrix with fewer digits: the true residual is as small
  as without, in about as many iterations; the same bits in lockstep; what has no such copy, and what cannot do with it
*/
static char help[] = "Fused Krylov methods with the values of the matrix in lower precision.\n\n";

#include "ksptest.h"
#include "viewtext.h"

static const KSPType           types[] = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};
static const KSPFusedPrecision lower[] = {KSP_FUSED_PRECISION_SINGLE, KSP_FUSED_PRECISION_BF16};

/* Whether the matrices of this run have a copy of their own, or lend their diagonals */
static PetscBool copies = PETSC_FALSE;

/* What a solve with this precision has */
static KSPFusedPrecision GetExpected(KSPFusedPrecision asked)
{
  const PetscBool digits = (PetscBool)(asked == KSP_FUSED_PRECISION_BF16 || PetscDefined(USE_REAL_DOUBLE));

  return copies && digits ? asked : KSP_FUSED_PRECISION_DOUBLE;
}

static PetscErrorCode CheckPrecision(KSP ksp, KSPFusedPrecision expected, PetscBool widened, const char where[])
{
  KSPFusedInfo info;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.precision == expected && info.widened == widened),
                           "%s: products in precision %s%s", where, KSPFusedPrecisions[info.precision],
                           info.widened ? ", given up" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As CheckPrecision(), but bf16 may be given up by a method that does not stand it */
static PetscErrorCode CheckPrecisionOr(KSP ksp, KSPFusedPrecision asked, const char where[])
{
  KSPFusedInfo info;
  PetscBool    cg, given;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCGFUSED, &cg));
  given = (PetscBool)(!cg && asked == KSP_FUSED_PRECISION_BF16 && info.widened &&
                      info.precision == KSP_FUSED_PRECISION_DOUBLE);
  PetscCall(SpikeTestCheck((PetscBool)(given || (info.precision == GetExpected(asked) && !info.widened)),
                           "%s: products in precision %s%s", where, KSPFusedPrecisions[info.precision],
                           info.widened ? ", given up" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* most: times the tolerance that the true residual may be */
static PetscErrorCode SolveTo(KSP ksp, Vec b, Vec x, PetscReal most, PetscInt *its, const char where[])
{
  PetscReal rtol;

  PetscFunctionBegin;
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPTestSolve(ksp, b, x, most * rtol, its, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The true residual is below the tolerance itself, not ten times that; where PetscScalar is single precision no residual
  is replaced for it
*/
static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscInt *its, const char where[])
{
  PetscFunctionBegin;
  PetscCall(SolveTo(ksp, b, x, PetscDefined(USE_REAL_SINGLE) ? 10 : (PetscReal)(1.0 + 1e-3), its, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(USE_COMPLEX)
/*
  Adds i S to the grid, S real and skew-symmetric, by a circulation z around each cell: i z from each of its corners to
  the next, -i z back. Rows of S sum up to zero, and |v^H S v|, at most 4 |z| times the areas that v makes of the cells,
  to less than v^H A v where 2 |z| is less than the weights: Hermitian, definite, and diffusion
*/
static PetscErrorCode AddCirculations(PetscInt n, Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = 0; i < n * (n - 1); i++) {
    const PetscInt corners[] = {i, i + 1, i + n + 1, i + n};

    if (i % n == n - 1) continue;
    for (PetscInt k = 0; k < 4; k++) {
      const PetscScalar z = PetscCMPLX(0.0, 0.45 * SpikeTestUniform(4, i, 0)), v[] = {z, -z};
      const PetscInt    p = corners[k], columns[] = {corners[(k + 1) % 4], corners[(k + 3) % 4]};

      if (p >= start && p < end) PetscCall(MatSetValues(A, 1, &p, 2, columns, v, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

typedef enum {
  GRID,  /* diffusion: constants have small products, which rounding keeps */
  BAND,  /* not symmetric                                                  */
  PHASES /* with complex numbers vectors that are no constants have them   */
} Kind;
static const char *const kinds[] = {"grid", "band", "phases"};

/* Values that are exact in no precision but that of PetscScalar */
static PetscErrorCode MakeMatrix(Kind kind, PetscInt n, Mat *A)
{
  const SpikeTestBand what  = {n * n, 3, 2, 1.1, SPIKE_TEST_RANDOM, 5};
  const PetscReal     shift = 0.02;

  PetscFunctionBegin;
  if (kind == BAND) PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &what, PETSC_DECIDE, MATAIJ, A));
#if PetscDefined(USE_COMPLEX)
  else if (kind == GRID) {
    PetscCall(KSPTestGrid(PETSC_COMM_WORLD, n, n, PETSC_DECIDE, 0.0, A)); /* without phases */
    PetscCall(AddCirculations(n, *A));
    PetscCall(MatShift(*A, shift));
  }
#endif
  else
    PetscCall(KSPTestGrid(PETSC_COMM_WORLD, n, n, PETSC_DECIDE, shift, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Sides and preconditioners; more: iterations over those without, at most, and a few; of several right-hand sides, for
  methods that are not symmetric take half as many more for one of them by chance. With phases those of bf16 are more,
  and bring the same residual: it keeps the sums of the rows, which tell nothing of such a matrix
*/
static PetscErrorCode TestIterations(KSPType type, Kind kind, PCType pctype, PetscInt n)
{
  const PetscReal more[] = {1.3, 1.8}, cgmore = 1.15;
  const int       solves = 4;
  Mat             A;
  Vec             x, b;
  PetscBool       cg;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(MakeMatrix(kind, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int side = 0; side < (cg ? 1 : 2); side++) {
    PetscInt     its, all[3] = {0, 0, 0};
    PetscReal    residual;
    KSP          ksp;
    KSPFusedInfo info;
    char         where[96];

    for (int k = -1; k < 2; k++) {
      const KSPFusedPrecision precision = k < 0 ? KSP_FUSED_PRECISION_DOUBLE : lower[k];

      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %s, %s", type, kinds[kind], pctype,
                              side ? "left" : "right", KSPFusedPrecisions[precision]));
      for (int rhs = 0; rhs < solves; rhs++) {
        PetscCall(SpikeTestSetRandom(b, 61 + rhs));
        PetscCall(KSPTestCreatePrecision(type, pctype, A, precision, &ksp));
        if (!cg) PetscCall(KSPSetPCSide(ksp, side ? PC_LEFT : PC_RIGHT));
        if (side) {
          PetscCall(KSPSolve(ksp, b, x)); /* the norm of the test is not that of b - A x */
          PetscCall(KSPGetIterationNumber(ksp, &its));
          PetscCall(SpikeTestResidual(A, b, x, &residual));
          PetscCall(SpikeTestSmall(residual, 100.0 * KSPTEST_RTOL, "true relative residual", where));
        } else PetscCall(Solve(ksp, b, x, &its, where));
        PetscCall(CheckPrecisionOr(ksp, precision, where));
        PetscCall(KSPFusedGetInfo(ksp, &info));
        all[k + 1] += its;
        if (GetExpected(precision) != KSP_FUSED_PRECISION_DOUBLE)
          PetscCall(SpikeTestCheck((PetscBool)(info.replacements > 0), "%s: no residual was replaced", where));
        PetscCall(KSPDestroy(&ksp));
      }
      if (k < 0 || GetExpected(precision) == KSP_FUSED_PRECISION_DOUBLE) continue;
      PetscCall(SpikeTestCheck((PetscBool)(all[k + 1] <= (cg ? cgmore : more[k]) * all[0] + 4 * solves ||
                                           (kind == PHASES && precision == KSP_FUSED_PRECISION_BF16)),
                               "%s: %" PetscInt_FMT " iterations, without %" PetscInt_FMT, where, all[k + 1], all[0]));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms, guesses and forms against dense solutions; sizes without and with whole blocks of rows */
static PetscErrorCode TestReference(KSPType type, PetscInt n, KSPFusedPrecision precision)
{
  const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NATURAL};
  Mat               A;
  Vec               x, b, y;
  PetscBool         cg;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(MakeMatrix(cg ? GRID : BAND, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 62));
  PetscCall(KSPTestDense(A, PETSC_FALSE, b, y));
  for (PetscInt k = 0; k < (cg ? 3 : 2); k++)
    for (PetscInt form = 0; form < 4; form++) {
      KSP                ksp;
      KSPConvergedReason reason;
      PetscReal          difference;
      char               where[96];

      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, n %" PetscInt_FMT ", %s, %s, form %" PetscInt_FMT, type, n * n,
                              KSPFusedPrecisions[precision], KSPNormTypes[norms[k]], form));
      PetscCall(KSPTestCreatePrecision(type, PCJACOBI, A, precision, &ksp));
      PetscCall(KSPSetNormType(ksp, norms[k]));
      if (!cg) PetscCall(KSPSetPCSide(ksp, k ? PC_LEFT : PC_RIGHT));
      PetscCall(KSPFusedSetReductions(ksp, form % 2 ? KSP_FUSED_REDUCTIONS_MERGED : KSP_FUSED_REDUCTIONS_PLAIN));
      PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(form > 1)));
      PetscCall(KSPFusedSetCheckTrueResidual(ksp, (PetscBool)(form != 3)));
      if (form > 1) PetscCall(SpikeTestSetRandom(x, 63));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
      PetscCall(KSPTestDifference(x, y, &difference));
      PetscCall(SpikeTestSmall(difference, 2000.0 * KSPTEST_RTOL, "difference to the dense solution", where));
      /* on a device ranks without rows have no copy */
      if (n > 1) PetscCall(CheckPrecision(ksp, GetExpected(precision), PETSC_FALSE, where));
      PetscCall(KSPTestBackend(ksp, where));
      PetscCall(KSPDestroy(&ksp));
    }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)it;
  (void)rnorm;
  (void)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ahead, in lockstep, with a monitor, without graphs: the same bits, also when the residual is replaced */
static PetscErrorCode TestLockstep(KSPType type, PCType pctype, KSPFusedPrecision precision)
{
  Mat       A;
  Vec       x, y, b;
  PetscReal history[2000];
  PetscInt  its0 = 0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(GRID, 40, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 64));
  for (PetscInt k = 0; k < 4; k++) {
    const PetscReal *h;
    PetscInt         its, length;
    PetscReal        difference = 0.0;
    KSP              ksp;
    char             where[96];

    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, way %" PetscInt_FMT, type, pctype,
                            KSPFusedPrecisions[precision], k));
    PetscCall(KSPTestCreatePrecision(type, pctype, A, precision, &ksp));
    PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
    if (k == 1) PetscCall(KSPFusedSetLockstep(ksp, PETSC_TRUE));
    if (k == 2) PetscCall(KSPMonitorSet(ksp, NoMonitor, NULL, NULL));
    if (k == 3) PetscCall(KSPFusedSetGraph(ksp, PETSC_FALSE));
    PetscCall(Solve(ksp, b, k ? y : x, &its, where));
    PetscCall(KSPGetResidualHistory(ksp, &h, &length));
    if (k) {
      PetscCall(SpikeTestCheck((PetscBool)(its == its0), "%s: %" PetscInt_FMT " iterations, else %" PetscInt_FMT, where,
                               its, its0));
      for (PetscInt i = 0; i < PetscMin(length, its0 + 1); i++)
        difference = PetscMax(difference, PetscAbsReal(h[i] - history[i]));
      PetscCall(SpikeTestSmall(difference, 0.0, "difference of the histories", where));
      PetscCall(KSPTestDifference(y, x, &difference));
      PetscCall(SpikeTestSmall(difference, 0.0, "difference of the solutions", where));
    } else {
      its0 = its;
      for (PetscInt i = 0; i < PetscMin(length, 2000); i++) history[i] = h[i];
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Pairs w [1 1 - e; 1 - e 1], eigenvalues w e and w (2 - e), w = 1, 2 or 4: rounding makes 1 of 1 - e, and with the sums
  of the rows an eigenvalue -w e of A~. swap: pairs of rows are exchanged with their neighbours, so that nothing is
  symmetric and no product has a small norm
*/
static PetscErrorCode MakePairs(PetscInt n, PetscReal e, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, 2 * n, 2 * n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscReal w = (PetscReal)(1 << (i / 2 % 3));

    PetscCall(MatSetValue(*A, i, i, w, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i ^ 1, w * ((PetscReal)1.0 - e), INSERT_VALUES));
    /* places that hold zeros, so that the copy by diagonals suits */
    if (i > 0 && (i ^ 1) != i - 1) PetscCall(MatSetValue(*A, i, i - 1, 0.0, INSERT_VALUES));
    if (i < 2 * n - 1 && (i ^ 1) != i + 1) PetscCall(MatSetValue(*A, i, i + 1, 0.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounding has changed the sign of eigenvalues: PetscScalar by itself, and not again until the values are others */
static PetscErrorCode TestGivenUp(KSPType type, KSPFusedPrecision precision)
{
  const PetscReal e       = (PetscReal)(precision == KSP_FUSED_PRECISION_BF16 ? 0x1p-10 : 0x1p-26);
  const PetscBool expects = (PetscBool)(GetExpected(precision) != KSP_FUSED_PRECISION_DOUBLE);
  Mat             A;
  Vec             x, b;
  KSP             ksp;
  PetscInt        its;
  PetscBool       given;
  char            where[96], text[8192];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, pairs, %s", type, KSPFusedPrecisions[precision]));
  PetscCall(MakePairs(700, e, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 65));
  PetscCall(KSPTestCreatePrecision(type, PCNONE, A, precision, &ksp));
  /* well above the norm that can be reached, which is that of x times the rounding unit */
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(Solve(ksp, b, x, &its, where));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, expects, where));
  PetscCall(ObjectViewText((PetscObject)ksp, sizeof(text), text));
  given = (PetscBool)(strstr(text, "given up for PetscScalar") != NULL);
  PetscCall(SpikeTestCheck((PetscBool)(given == expects), "%s: what the view says", where));
  PetscCall(Solve(ksp, b, x, &its, where));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, where));
  PetscCall(MatShift(A, 1.0)); /* eigenvalues between w e + 1 and w (2 - e) + 1 */
  PetscCall(Solve(ksp, b, x, &its, where));
  PetscCall(CheckPrecision(ksp, GetExpected(precision), PETSC_FALSE, where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values, pattern and precision that change between solves of one KSP */
static PetscErrorCode TestChanges(KSPType type)
{
  Mat       A, B;
  Vec       x, b;
  KSP       ksp;
  PetscInt  its;
  PetscBool cg;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(MakeMatrix(GRID, 30, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 66));
  PetscCall(KSPTestCreatePrecision(type, PCJACOBI, A, KSP_FUSED_PRECISION_BF16, &ksp));
  PetscCall(Solve(ksp, b, x, &its, "bf16"));
  PetscCall(CheckPrecisionOr(ksp, KSP_FUSED_PRECISION_BF16, "bf16"));
  PetscCall(MatScale(A, 3.7));
  PetscCall(Solve(ksp, b, x, &its, "other values"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_SINGLE));
  PetscCall(Solve(ksp, b, x, &its, "bf16, then single precision"));
  PetscCall(CheckPrecision(ksp, GetExpected(KSP_FUSED_PRECISION_SINGLE), PETSC_FALSE, "single precision"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE));
  PetscCall(Solve(ksp, b, x, &its, "double precision again"));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, "double precision again"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_AUTO));
  PetscCall(Solve(ksp, b, x, &its, "auto"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_BF16));
  if (!PetscDefined(USE_REAL_SINGLE)) {
    PetscCall(MatScale(A, 1e-60)); /* no number of single precision */
    PetscCall(Solve(ksp, b, x, &its, "tiny values"));
    PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, "tiny values"));
    PetscCall(MatScale(A, 1e60));
    PetscCall(KSPTestTimes(b, 300));
    PetscCall(Solve(ksp, b, x, &its, "a large right-hand side"));
    PetscCall(CheckPrecisionOr(ksp, KSP_FUSED_PRECISION_BF16, "a large right-hand side"));
    PetscCall(KSPTestTimes(b, -300));
  }
  PetscCall(MakeMatrix(cg ? GRID : BAND, 30, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(Solve(ksp, b, x, &its, "another matrix"));
  PetscCall(CheckPrecision(ksp, GetExpected(KSP_FUSED_PRECISION_BF16), PETSC_FALSE, "another matrix"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
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
  Narrow shadow vectors: numbers of them with kernels of their own and without, forms, those of a PetscRandom. Values of
  the matrix have single precision. Iterations are about those without, the true residual is one that a method confirms,
  and a second solve has the bits of the first. s: one more than there are rows, too. Without a preconditioner a pivot
  of M may be small by chance, and the residual of that step alone large: 3e4 of the first one in iteration 75 of the
  band with s = 3 on 3 ranks, 2e2 with other rounding of the shadow vectors, and 290 iterations with both
*/
static PetscErrorCode TestShadow(Kind kind, PetscInt n, PetscInt s)
{
  const int forms = 8;
  Mat       A;
  Vec       x, y, b;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(kind, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  for (int form = 0; form < forms; form++) {
    PetscInt  all[2] = {0, 0};
    PetscReal difference;
    char      where[96];

    for (int k = 0; k < 2; k++) {
      const KSPFusedPrecision precision = k ? KSP_FUSED_PRECISION_SINGLE : KSP_FUSED_PRECISION_DOUBLE;
      const PetscBool         expects   = (PetscBool)(GetExpected(precision) != KSP_FUSED_PRECISION_DOUBLE);
      PetscBool               has;
      KSP                     ksp;
      PetscRandom             rand;
      PetscInt                its;
      char                    text[8192];

      PetscCall(PetscSNPrintf(where, sizeof(where),
                              "shadow vectors, %s, n %" PetscInt_FMT ", s %" PetscInt_FMT ", form %d, %s", kinds[kind],
                              n * n, s, form, KSPFusedPrecisions[precision]));
      PetscCall(KSPTestCreatePrecision(KSPIDRFUSED, form % 2 ? PCJACOBI : PCNONE, A, precision, &ksp));
      PetscCall(KSPIDRSetS(ksp, s));
      PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, 1e8, PETSC_CURRENT));
      if (form == 1) PetscCall(KSPSetPCSide(ksp, PC_LEFT));
      if (form == 2 || form == 3) PetscCall(KSPIDRFusedSetSmoothing(ksp, PETSC_TRUE));
      if (form == 3) PetscCall(KSPIDRFusedSetFlexible(ksp, PETSC_BOOL3_TRUE));
      if (form == 4) PetscCall(KSPIDRFusedSetOrthogType(ksp, KSP_IDRFUSED_ORTHOG_MODIFIED));
      if (form == 5) PetscCall(KSPIDRFusedSetOrthogType(ksp, KSP_IDRFUSED_ORTHOG_TWICE));
      if (form == 6) PetscCall(KSPFusedSetReductions(ksp, KSP_FUSED_REDUCTIONS_PLAIN));
      if (form == 6) PetscCall(KSPIDRGetRandom(ksp, &rand));
      if (form == 7) PetscCall(KSPFusedSetResidualReplacement(ksp, 7));
      PetscCall(SpikeTestSetRandom(b, 70));
      if (form == 1) PetscCall(KSPSetTolerances(ksp, 0.1 * KSPTEST_RTOL, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPSetTolerances(ksp, KSPTEST_RTOL, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
      /* 10: what KSPFusedSetCheckTrueResidual() confirms */
      if (form != 1) PetscCall(SolveTo(ksp, b, y, 10, &its, where));
      else {
        PetscCall(KSPSolve(ksp, b, y));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        PetscCall(SpikeTestResidual(A, b, y, &difference));
        PetscCall(SpikeTestSmall(difference, 100.0 * KSPTEST_RTOL, "true relative residual", where));
      }
      all[k] = its;
      PetscCall(CheckPrecision(ksp, GetExpected(precision), PETSC_FALSE, where));
      if (form != 1) {
        PetscCall(KSPTestDifference(x, y, &difference));
        PetscCall(SpikeTestSmall(difference, 0.0, "difference of two solves", where));
      }
      PetscCall(ObjectViewText((PetscObject)ksp, sizeof(text), text));
      has = (PetscBool)(strstr(text, "shadow vectors with 16 bits") != NULL);
      PetscCall(SpikeTestCheck((PetscBool)(has == expects), "%s: what the view says of shadow vectors", where));
      /* with s = 1 the order of sums alone makes 283 or 343 of it in double precision */
      if (expects)
        PetscCall(SpikeTestCheck((PetscBool)(all[k] <= (s == 1 ? 1.8 : 1.3) * all[0] + 2 * (s + 1)),
                                 "%s: %" PetscInt_FMT " iterations, without %" PetscInt_FMT, where, all[k], all[0]));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has no copy: shells, MatMult(), transposes, several columns. The solve has PetscScalar */
static PetscErrorCode TestRefused(KSPType type)
{
  Mat               A, S, B, X;
  Vec               x, b, v, y;
  KSP               ksp;
  PetscInt          m, n, its;
  VecType           vectype;
  PetscReal         difference;
  KSPFusedPrecision precision;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(GRID, 20, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 67));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, n, PETSC_DETERMINE, PETSC_DETERMINE, A, &S));
  PetscCall(MatShellSetOperation(S, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(MatShellSetVecType(S, vectype));
  PetscCall(KSPTestCreatePrecision(type, PCNONE, A, KSP_FUSED_PRECISION_BF16, &ksp));
  PetscCall(KSPFusedGetPrecision(ksp, &precision));
  PetscCall(SpikeTestCheck((PetscBool)(precision == KSP_FUSED_PRECISION_BF16), "KSPFusedGetPrecision()"));
  PetscCall(KSPSetOperators(ksp, S, A));
  PetscCall(Solve(ksp, b, x, &its, "a shell"));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, "a shell"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPFusedSetSpMVType(ksp, KSP_FUSED_SPMV_PETSC));
  PetscCall(Solve(ksp, b, x, &its, "MatMult()"));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, "MatMult()"));
  PetscCall(KSPFusedSetSpMVType(ksp, KSP_FUSED_SPMV_AUTO));
  PetscCall(KSPTestDense(A, PETSC_TRUE, b, y));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(KSPTestDifference(x, y, &difference));
  PetscCall(SpikeTestSmall(difference, 2000.0 * KSPTEST_RTOL, "difference to the dense solution", "transposed"));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, "transposed"));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, ((PetscObject)b)->type_name, n, PETSC_DECIDE, PETSC_DETERMINE,
                                      2, PETSC_DETERMINE, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt j = 0; j < 2; j++) {
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPTestDense(A, PETSC_FALSE, b, y));
  PetscCall(MatDenseGetColumnVecRead(X, 1, &v));
  PetscCall(KSPTestDifference(v, y, &difference));
  PetscCall(MatDenseRestoreColumnVecRead(X, 1, &v));
  PetscCall(SpikeTestSmall(difference, 2000.0 * KSPTEST_RTOL, "difference to the dense solution", "two columns"));
  PetscCall(CheckPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, "two columns"));
  PetscCall(Solve(ksp, b, x, &its, "one column after two"));
  PetscCall(CheckPrecision(ksp, GetExpected(KSP_FUSED_PRECISION_BF16), PETSC_FALSE, "one column after two"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&S));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  By itself: bf16 where no digit is lost, with the iterations of all digits, single precision elsewhere; on the host,
  where 32 MB of values are enough
*/
static PetscErrorCode TestAuto(KSPType type)
{
  const PetscInt nx = 930;
  PetscBool      device;
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PetscInt       its[2];
  KSPFusedInfo   info;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, nx, nx, PETSC_DECIDE, 300.0, &A));
  PetscCall(KSPTestMakesDeviceVecs(A, &device));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 69));
  for (PetscInt k = -1; k < 2; k++) {
    const KSPFusedPrecision expected = k < 0 ? KSP_FUSED_PRECISION_SINGLE : KSP_FUSED_PRECISION_BF16;
    const char             *where    = k < 0 ? "auto, random weights" : "auto, integers";

    if (!k) {
      PetscCall(MatZeroEntries(A));
      PetscCall(MatShift(A, 3.0));
    }
    PetscCall(KSPTestCreatePrecision(type, PCNONE, A, k ? KSP_FUSED_PRECISION_AUTO : KSP_FUSED_PRECISION_DOUBLE, &ksp));
    PetscCall(Solve(ksp, b, x, &its[PetscMax(0, k)], where));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    if (k && !device && !PetscDefined(USE_REAL_SINGLE))
      PetscCall(CheckPrecision(ksp, GetExpected(expected), PETSC_FALSE, where));
    if (k > 0)
      PetscCall(SpikeTestCheck((PetscBool)(its[0] == its[1] && !info.replacements),
                               "%s: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, %" PetscInt_FMT
                               " replacements, though no digit is lost",
                               where, its[0], its[1], info.replacements));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number of iterations, without a test: no more, and no verification */
static PetscErrorCode TestSkip(KSPType type)
{
  Mat A;
  Vec x, b;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(GRID, 20, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 68));
  PetscCall(KSPTestCreatePrecision(type, PCNONE, A, KSP_FUSED_PRECISION_BF16, &ksp));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 30));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_CONVERGED_ITS, 30, "without a test"));
  PetscCall(CheckPrecision(ksp, GetExpected(KSP_FUSED_PRECISION_BF16), PETSC_FALSE, "without a test"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -copies: each solve of a matrix can have a copy with fewer digits */
int main(int argc, char **argv)
{
  const PCType   pcs[]   = {PCNONE, PCJACOBI, PCSPIKE, PCSOR};
  const PetscInt sizes[] = {1, 2, 8, 11}, columns[] = {1, 2, 3, 4, 8, 17};
  PetscBool      device;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-copies", &copies, NULL));
  PetscCall(KSPTestOnDevice(&device));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (size_t p = 0; p < 2; p++)
      for (int kind = GRID; kind <= (PetscDefined(USE_COMPLEX) ? PHASES : BAND); kind++)
        if (kind != BAND || t != 1) PetscCall(TestIterations(types[t], (Kind)kind, pcs[p], 40));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
      for (int l = 0; l < 2; l++) PetscCall(TestReference(types[t], sizes[k], lower[l]));
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(pcs) - (device ? 1 : 0); p++)
      for (int l = 0; l < 2; l++) PetscCall(TestLockstep(types[t], pcs[p], lower[l]));
    /* the pairs of single precision are hard for methods that are not symmetric, and singular where that is all */
    for (int l = t == 1 && !PetscDefined(USE_REAL_SINGLE) ? 0 : 1; l < 2; l++)
      PetscCall(TestGivenUp(types[t], lower[l]));
    PetscCall(TestChanges(types[t]));
    PetscCall(TestRefused(types[t]));
    PetscCall(TestSkip(types[t]));
    if (size == 1) PetscCall(TestAuto(types[t]));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(columns); k++) {
    PetscCall(TestShadow(GRID, 31, columns[k]));
    PetscCall(TestShadow(BAND, 40, columns[k]));
    PetscCall(TestShadow(BAND, 3, columns[k]));
  }
  PetscCall(SpikeTestEnd("ksp_precision"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_precision_1.out
      test:
         suffix: 1
         args: -copies -product dia
      test:
         suffix: ranks
         nsize: 3
      test:
         suffix: dia
         nsize: {{1 2 4}}
         args: -copies -mat_type dia
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -copies -mat_type aijcusparse -product {{dia sell}}
      test:
         suffix: cudaranks
         requires: cuda gpurun
         nsize: 2
         args: -mat_type aijcusparse
      test:
         suffix: cudadia
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -copies -mat_type diacuda

TEST*/
