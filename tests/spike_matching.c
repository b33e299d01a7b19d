/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE on matrices without a diagonal to speak of: rows are permuted and scaled.\n\n";

#include "spiketest.h"
#include "viewtext.h"

#define N 90

/* A dominant band whose rows have changed places, rows and columns times powers of two up to 2^range; dense */
typedef struct {
  PetscInt  n, kl, ku, seed, range;
  PetscReal dominance;
} Shuffled;

static PetscErrorCode ShuffledDense(const Shuffled *c, PetscReal scale, PetscScalar a[])
{
  const PetscInt      n    = c->n;
  const SpikeTestBand band = {n, c->kl, c->ku, c->dominance, SPIKE_TEST_RANDOM, c->seed};
  PetscInt           *to;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &to));
  for (PetscInt i = 0; i < n; i++) to[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)((SpikeTestUniform(c->seed, i, 77) + 1) / 2 * (PetscReal)i), t = to[i];

    to[i] = to[j];
    to[j] = t;
  }
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) {
      const int e = (int)((PetscReal)c->range * (SpikeTestUniform(c->seed, i, 78) + SpikeTestUniform(c->seed, j, 79)) /
                          2);

      a[to[i] + j * n] = PetscAbsInt(i - j) <= N ? SpikeTestBandEntry(&band, i, j) * (PetscReal)ldexp(1.0, e) * scale
                                                 : 0.0;
    }
  PetscCall(PetscFree(to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |M^-1 A - I| and its transpose */
static PetscErrorCode CheckInverse(PC pc, PetscInt n, const PetscScalar a[], const char where[])
{
  PetscScalar *inv, *m;
  PetscReal    most = 0.0, diff[2] = {0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * n, &inv, n * n, &m));
  PetscCall(SpikeTestInvert(n, a, n, inv, n));
  for (PetscInt k = 0; k < n * n; k++) most = PetscMax(most, PetscAbsScalar(inv[k]));
  for (int trans = 0; trans < 2; trans++) {
    PetscCall(SpikeTestOperator(pc, (PetscBool)trans, m));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++)
        diff[trans] = PetscMax(diff[trans], PetscAbsScalar(m[i + j * n] - (trans ? inv[j + i * n] : inv[i + j * n])));
    PetscCall(SpikeTestSmall(diff[trans], (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10) * most,
                             trans ? "error of the transposed inverse" : "error of the inverse", where));
  }
  PetscCall(PetscFree2(inv, m));
  PetscCall(SpikeTestColumns(pc, n % 2 ? 1 : 5, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-11, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues(PetscInt n, const PetscScalar a[], Mat A)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++)
      if (a[i + j * n] != (PetscScalar)0.0) PetscCall(MatSetValue(A, i, j, a[i + j * n], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Found, solved, transposed, filled with other values; not asked for, and asked for where it is not needed */
static PetscErrorCode TestShuffled(const Shuffled *c, MatType type)
{
  const PetscInt n = c->n;
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;
  char           where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "n %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT ", 2^%" PetscInt_FMT
                          "%s%s",
                          n, c->kl, c->ku, c->range, type ? ", " : "", type ? type : ""));
  PetscCall(PetscMalloc1(n * n, &a));
  PetscCall(ShuffledDense(c, 1.0, a));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  if (type) PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(CreatePC(A, &pc));
  if (type) PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.matched && !info.unmatched && !info.boosted),
                           "%s: matched %d, without partner %" PetscInt_FMT ", boosted %" PetscInt_FMT, where,
                           (int)info.matched, info.unmatched, info.boosted));
  PetscCall(SpikeTestCheck((PetscBool)(PetscMax(info.kl, info.ku) <= 3 * PetscMax(c->kl, c->ku)),
                           "%s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, where, info.kl, info.ku));
  PetscCall(CheckInverse(pc, n, a, where));
  PetscCall(ShuffledDense(c, -0.375, a));
  PetscCall(SetValues(n, a, A));
  PetscCall(CheckInverse(pc, n, a, "other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.matched && info.refills == 1), "%s: %" PetscInt_FMT " refills", where,
                           info.refills));
  PetscCall(SpikeTestAdjoint(pc, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10, where));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)!info.matched, "%s: matched though it is switched off", where));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
  PetscCall(CheckInverse(pc, n, a, "switched on again"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dominant matrices: `auto` leaves them alone, `always` solves them too; the setters */
static PetscErrorCode TestDominant(void)
{
  const SpikeTestBand band = {N, 3, 2, 1.5, SPIKE_TEST_RANDOM, 4};
  PetscScalar        *a;
  PCSpikeMatchingType type;
  Mat                 A;
  PC                  pc;
  PCSpikeInfo         info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(N * N, &a));
  PetscCall(SpikeTestBandDense(&band, a));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, N, a, PETSC_DECIDE, &A));
  for (int t = 0; t < 3; t++) {
    PetscCall(CreatePC(A, &pc));
    PetscCall(PCSpikeSetMatchingType(pc, (PCSpikeMatchingType)t));
    PetscCall(PCSpikeGetMatchingType(pc, &type));
    PetscCall(SpikeTestCheck((PetscBool)((int)type == t), "set %d, got %d", t, (int)type));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.matched == (t == PC_SPIKE_MATCHING_ALWAYS)), "dominant, %s: matched %d",
                             PCSpikeMatchingTypes[t], (int)info.matched));
    PetscCall(SpikeTestCheck((PetscBool)(info.kl == 3 && info.ku == 2),
                             "dominant, %s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, PCSpikeMatchingTypes[t],
                             info.kl, info.ku));
    PetscCall(CheckInverse(pc, N, a, PCSpikeMatchingTypes[t]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Two rows with one column between them: said, boosted, and with -pc_spike_shift_type none a failure that names a row
*/
static PetscErrorCode TestSingular(void)
{
  const Shuffled c = {40, 3, 3, 5, 0, 1.5};
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c.n * c.n, &a));
  PetscCall(ShuffledDense(&c, 1.0, a));
  for (PetscInt j = 0; j < c.n; j++) a[11 + j * c.n] = a[23 + j * c.n] = j == 17 ? 1.0 : 0.0;
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c.n, a, PETSC_DECIDE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(info.unmatched == 1 && info.boosted >= 1 && !reason),
                           "structurally singular: matched %d, without partner %" PetscInt_FMT
                           ", boosted %" PetscInt_FMT ", reason %d",
                           (int)info.matched, info.unmatched, info.boosted, (int)reason));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT && info.unmatched == 1 && info.zeropivot_row >= 0),
                   "structurally singular, no shift: reason %d, row %" PetscInt_FMT, (int)reason, info.zeropivot_row));
  /* the same PC when the matrix is regular again */
  PetscCall(ShuffledDense(&c, 1.0, a));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c.n, a, PETSC_DECIDE, &A));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckInverse(pc, c.n, a, "regular again"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckView(PC pc, const char expected[])
{
  char *text;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(8192, &text));
  PetscCall(ViewText(pc, 8192, text));
  PetscCall(SpikeTestCheck((PetscBool)(expected[0] ? strstr(text, expected) != NULL : !strstr(text, "structurally")),
                           "the view lacks \"%s\": %s", expected, text));
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A diagonal of 8 in which pairs of rows have one entry each, in the same column: the view names the first rows without
  a partner, with a matching, after one that `auto` gave up since factors without it fail too, and no row that has one
*/
static PetscErrorCode TestUnmatched(PCSpikeMatchingType type, PetscInt pairs)
{
  const PetscInt n = 60;
  char           expected[256];
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  PetscCall(PetscSNPrintf(expected, sizeof(expected),
                          "structurally singular: %" PetscInt_FMT " rows have no entry for the diagonal: ", pairs));
  for (PetscInt k = 0; k < PetscMin(pairs, 8); k++) {
    char number[32];

    PetscCall(PetscSNPrintf(number, sizeof(number), "%s%" PetscInt_FMT, k ? ", " : "", 4 * k + 4));
    PetscCall(PetscStrlcat(expected, number, sizeof(expected)));
  }
  if (pairs > 8) PetscCall(PetscStrlcat(expected, " and 3 more\n", sizeof(expected)));
  else PetscCall(PetscStrlcat(expected, "\n", sizeof(expected)));
  for (int shift = 0; shift < 2; shift++) {
    for (PetscInt k = 0; k < n * n; k++) a[k] = 0.0;
    for (PetscInt i = 0; i < n; i++) a[i + i * n] = 8.0;
    for (PetscInt k = 0; k < pairs; k++) a[4 * k + 4 + (4 * k + 4) * n] = 0.0, a[4 * k + 4 + (4 * k + 3) * n] = 1.0;
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
    PetscCall(CreatePC(A, &pc));
    PetscCall(PCSpikeSetMatchingType(pc, type));
    PetscCall(PCFactorSetShiftType(pc, shift ? MAT_SHIFT_NONE : MAT_SHIFT_INBLOCKS));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.unmatched == pairs), "%" PetscInt_FMT " rows of %" PetscInt_FMT,
                             info.unmatched, pairs));
    if (type == PC_SPIKE_MATCHING_AUTO && shift)
      PetscCall(SpikeTestCheck((PetscBool)!info.matched, "both ways fail, and the matching has stayed"));
    PetscCall(CheckView(pc, expected));
    PetscCall(MatShift(A, 8.0)); /* regular: new values, and where the setup begins anew, a new choice */
    PetscCall(PCSpikeSetMatchingRescale(pc, PETSC_TRUE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    if (info.matched) PetscCall(CheckView(pc, ""));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As a direct solver, by KSPPREONLY and by PCLU, with entries from 1e-90 to 1e90; an entry that is no number is seen */
static PetscErrorCode TestDirect(void)
{
  const Shuffled c = {N, 4, 3, 9, PetscDefined(USE_REAL_SINGLE) ? 20 : 300, 1.2};
  PetscScalar   *a;
  Mat            A;
  Vec            b, x, y;
  PetscReal      error, norm;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c.n * c.n, &a));
  PetscCall(ShuffledDense(&c, 1.0, a));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c.n, a, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  for (int lu = 0; lu < 2; lu++) {
    KSP                ksp;
    PC                 pc;
    KSPConvergedReason reason;
    PetscBool          same = PETSC_TRUE;

    /* a solution of the size of the columns' scales: what a column weighs is in all of its entries */
    {
      PetscScalar *xa;

      PetscCall(VecGetArrayWrite(x, &xa));
      for (PetscInt j = 0; j < c.n; j++)
        xa[j] = SpikeTestScalar(3, j, 0) *
                (PetscReal)ldexp(1.0, -(int)((PetscReal)c.range * SpikeTestUniform(c.seed, j, 79) / 2));
      PetscCall(VecRestoreArrayWrite(x, &xa));
    }
    PetscCall(MatMult(A, x, b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, lu ? PCLU : PCSPIKE));
    if (lu) PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
    PetscCall(KSPSolve(ksp, b, y));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    {
      const PetscScalar *xa, *ya;

      PetscCall(VecGetArrayRead(x, &xa));
      PetscCall(VecGetArrayRead(y, &ya));
      error = norm = 0.0;
      for (PetscInt j = 0; j < c.n; j++) { /* each in its own scale */
        const PetscReal s = (PetscReal)ldexp(1.0, (int)((PetscReal)c.range * SpikeTestUniform(c.seed, j, 79) / 2));

        error = PetscMax(error, PetscAbsScalar(xa[j] - ya[j]) * s);
        norm  = PetscMax(norm, PetscAbsScalar(xa[j]) * s);
      }
      PetscCall(VecRestoreArrayRead(y, &ya));
      PetscCall(VecRestoreArrayRead(x, &xa));
    }
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "direct solver %d: %s", lu, KSPConvergedReasons[reason]));
    PetscCall(SpikeTestSmall(error, (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10) * norm, "scaled error",
                             lu ? "PCLU" : "PCSPIKE"));
    if (!lu) {
      PCSpikeInfo    info;
      PCFailedReason failed;

      PetscCall(PCSpikeGetInfo(pc, &info));
      same = info.matched;
      PetscCall(SpikeTestCheck(same, "direct solver: not matched"));
      PetscCall(MatSetValue(A, 0, 0, (PetscScalar)NAN, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(KSPSolve(ksp, b, y));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(PCGetFailedReason(pc, &failed));
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED && failed == PC_FACTOR_OTHER),
                               "an entry that is no number: %s, reason %d", KSPConvergedReasons[reason], (int)failed));
      PetscCall(MatSetValue(A, 0, 0, a[0], INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values that change in one pattern, which stores all entries: all zero, then a diagonal of 8 that is moved down by k
  rows, with other entries beside it; with shift types that boost and that fail
*/
static PetscErrorCode TestChange(MatFactorShiftType shift, PCSpikeMatchingType type)
{
  const PetscInt n = 24, moves[] = {-1, 5, 0, -1, 11, 5, -1};
  PetscScalar   *a;
  Mat            A;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  for (PetscInt k = 0; k < n * n; k++) a[k] = 1.0;
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCFactorSetShiftType(pc, shift));
  PetscCall(PCSpikeSetMatchingType(pc, type));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(moves); t++) {
    char where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "change %d, shift type %s", (int)t, MatFactorShiftTypes[shift]));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++) {
        const PetscInt d = (i + moves[t] - j + n) % n;

        a[i + j * n] = moves[t] < 0 || d > 1 ? 0.0 : d ? SpikeTestScalar(5, i, j) : (PetscScalar)8.0;
        PetscCall(MatSetValue(A, i, j, a[i + j * n], INSERT_VALUES));
      }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(pc));
    if (moves[t] >= 0) PetscCall(CheckInverse(pc, n, a, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A MATDIA whose rows 2 k and 2 k + 1 have changed places, with a row of zeros, so that the setup ends without a
  matching, filled by diagonals, and fails; then without that row
*/
static PetscErrorCode TestDiagonals(void)
{
  const PetscInt n = 8, reach = 3;
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n * n, &a));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(MatSetType(A, MATDIA));
  PetscCall(MatSetUp(A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  for (PetscInt pass = 0; pass < 4; pass++) {
    PetscCall(MatZeroEntries(A));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = PetscMax(0, i - reach); j <= PetscMin(n - 1, i + reach); j++) {
        const PetscInt d = j - (i ^ 1);

        a[i + j * n] = (i == 6 && pass % 2 == 0) || d < 0 || d > 2 ? 0.0 : d ? SpikeTestScalar(pass, i, j) : 6.0;
        PetscCall(MatSetValue(A, i, j, a[i + j * n], INSERT_VALUES));
      }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)((reason == PC_FACTOR_NUMERIC_ZEROPIVOT) == (pass % 2 == 0)),
                             "diagonals, pass %" PetscInt_FMT ": reason %d", pass, (int)reason));
    if (pass % 2) PetscCall(CheckInverse(pc, n, a, "diagonals"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The type of the matrix does not decide what comes out: a MATDIA whose pivots are boosted is tried with a matching, as
  a MATAIJ is, and then factored with one where rows 2 k and 2 k + 1 have changed places
*/
static PetscErrorCode TestDiagonalsTried(PetscInt first)
{
  const PetscInt n = 120, reach = 3;
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n * n, &a));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetUp(A));
  PetscCall(CreatePC(A, &pc));
  for (PetscInt pass = first; pass < first + 6; pass++) {
    const PetscInt moved = pass % 4 > 1 ? 1 : 0; /* twice each, so that there are refills too */

    PetscCall(MatZeroEntries(A));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = PetscMax(0, i - reach); j <= PetscMin(n - 1, i + reach); j++) {
        const PetscBool swaps = (PetscBool)(moved && i < n / 2); /* rows of the other half fill the band */

        a[i + j * n] = j == (swaps ? i ^ 1 : i) ? 6.0 : j == i ? 0.0 : 0.7 * SpikeTestScalar(pass, i, j);
        PetscCall(MatSetValue(A, i, j, a[i + j * n], INSERT_VALUES));
      }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(!info.boosted && (info.matched || !moved)),
                             "diagonals, pass %" PetscInt_FMT ": boosted %" PetscInt_FMT ", matched %d", pass,
                             info.boosted, (int)info.matched));
    PetscCall(CheckInverse(pc, n, a, "diagonals that are tried"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in the opposite order, columns as they are */
static PetscErrorCode OrderApart(Mat A, MatOrderingType type, IS *row, IS *col)
{
  PetscInt n;

  PetscFunctionBegin;
  (void)type;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, n - 1, -1, row));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, col));
  PetscCall(ISSetPermutation(*row));
  PetscCall(ISSetPermutation(*col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An ordering that permutes rows and columns apart is refused, and the same PC works with another */
static PetscErrorCode TestApart(void)
{
  const SpikeTestBand band = {N, 2, 2, 1.5, SPIKE_TEST_RANDOM, 8};
  PetscScalar        *a;
  Mat                 A;
  PC                  pc;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  PetscCall(MatOrderingRegister("apart", OrderApart));
  PetscCall(PetscMalloc1(N * N, &a));
  PetscCall(SpikeTestBandDense(&band, a));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, N, a, PETSC_DECIDE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCFactorSetMatOrderingType(pc, "apart"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_SUP), "rows and columns apart: error %d", (int)ierr));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(CheckInverse(pc, N, a, "after an ordering that was refused"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Shuffled cases[] = {{N, 4, 3, 1, 0, 1.5}, {N, 1, 1, 2, 6, 1.5}, {N, 0, 5, 3, 4, 1.2},
                            {1, 0, 0, 4, 0, 1.5}, {2, 1, 1, 5, 3, 1.5}, {67, 16, 9, 6, 8, 1.1}};
  PetscBool      dia;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    if (cases[k].n > 2) PetscCall(TestShuffled(&cases[k], NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_type", &dia));
  if (!dia) PetscCall(TestShuffled(&cases[0], MATBAIJ));
  PetscCall(TestDominant());
  PetscCall(TestSingular());
  for (PetscInt pairs = 1; pairs <= 11; pairs += 5) {
    PetscCall(TestUnmatched(PC_SPIKE_MATCHING_ALWAYS, pairs));
    PetscCall(TestUnmatched(PC_SPIKE_MATCHING_AUTO, pairs));
  }
  PetscCall(TestDirect());
  PetscCall(TestApart());
  PetscCall(TestDiagonals());
  PetscCall(TestDiagonalsTried(0));
  PetscCall(TestDiagonalsTried(2));
  PetscCall(TestChange(MAT_SHIFT_NONE, PC_SPIKE_MATCHING_AUTO));
  PetscCall(TestChange(MAT_SHIFT_NONZERO, PC_SPIKE_MATCHING_AUTO));
  PetscCall(TestChange(MAT_SHIFT_NONE, PC_SPIKE_MATCHING_ALWAYS));
  PetscCall(SpikeTestEnd("spike_matching"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_matching_1.out
      test:
         suffix: 1
         args: -pc_spike_type full -pc_spike_local_partitions {{1 2}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -pc_spike_type full -pc_spike_local_partitions {{1 3}}

TEST*/
