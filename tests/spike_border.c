/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE on bands with a border: random cases against dense references.\n\n";

#include "bordercase.h"

/* Chosen, solved, filled again with other values, chosen anew for another pattern, switched off */
static PetscErrorCode TestCase(const Case *c, MatType type)
{
  const PetscInt  n = c->n, K = PetscMax(c->kl, c->ku), m = c->kind == PERIODIC ? K : c->m;
  const PetscBool same = (PetscBool)(c->kind != FAR); /* other covers of the same size may have other bands */
  PetscScalar    *a;
  PCSpikeInfo     info;
  Mat             A;
  PC              pc;
  PetscMPIInt     size;
  PetscBool       ring;
  char            where[96];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1 && c->shuffled) PetscFunctionReturn(PETSC_SUCCESS); /* no ordering across ranks */
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s%s, n %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                          ", m %" PetscInt_FMT "%s%s",
                          Kinds[c->kind], c->shuffled ? ", shuffled" : "", n, c->kl, c->ku, m, type ? ", " : "",
                          type ? type : ""));
  PetscCall(PetscMalloc1(n * n, &a));
  Dense(c, 1.0, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  if (type) PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSetUp(pc));
  /* several ranks may order the rows of a ring, which makes its half-bandwidths twice as large, and needs no border */
  ring = (PetscBool)(size > 1 && c->kind == PERIODIC);
  PetscCall(CheckBorder(pc, ring ? 0 : 1, same ? m : 3 * m,
                        c->shuffled || ring ? 2 * K + 1 + ring
                        : same              ? PetscMax(K, 1)
                                            : n,
                        where));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, where));
  PetscCall(SpikeTestAdjoint(pc, TOLERANCE, where));
  Dense(c, -0.375, a);
  PetscCall(SetValues(n, a, A));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border >= (ring ? 0 : 1) && info.refills == 1),
                           "%s: border %" PetscInt_FMT ", refills %" PetscInt_FMT, where, info.border, info.refills));
  PetscCall(PCSpikeSetMaxBorder(pc, 0));
  PetscCall(PCSetUp(pc)); /* ranks may have fewer rows than the half-bandwidth: they are gathered */
  PetscCall(CheckBorder(pc, 0, 0, n, "switched off"));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "switched off"));
  PetscCall(PCSpikeSetMaxBorder(pc, PETSC_DECIDE));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "switched on again"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small matrices, where there may be a border or not: right in any case */
static PetscErrorCode TestRandom(PetscInt cases)
{
  PetscScalar *a;
  Mat          A;
  PC           pc;
  PCSpikeInfo  info;
  PetscInt     borders = 0;
  PetscMPIInt  size;
  char         where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < cases; k++) {
#define PICK(what, n) ((PetscInt)((SpikeTestUniform(999, k, what) + 1) / 2 * (PetscReal)(n)))
    const PetscInt n = 1 + PICK(0, 70);
    const Case     c = {(Kind)PICK(1, 5),
                        n,
                        PetscMin(PICK(2, 6), n - 1),
                        PetscMin(PICK(3, 6), n - 1),
                    n > 6 ? 1 + PICK(4, 3) : 0,
                    PICK(5, 2) && size == 1 ? 71 : 0,
                        k};

    if (c.kind == PERIODIC && 2 * PetscMax(c.kl, c.ku) >= n) continue;
    PetscCall(PetscSNPrintf(where, sizeof(where), "random case %" PetscInt_FMT ", %s", k, Kinds[c.kind]));
    PetscCall(PetscMalloc1(n * n, &a));
    Dense(&c, 1.0, a);
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
    PetscCall(CreatePC(A, &pc));
    PetscCall(CheckInverse(pc, n, a, 10 * TOLERANCE, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    borders += info.border > 0;
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(a));
  }
  PetscCall(SpikeTestCheck((PetscBool)(3 * borders >= cases), "borders in %" PetscInt_FMT " of %" PetscInt_FMT " cases",
                           borders, cases));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The Laplacian of a line with free ends, whose null space is that of constants, and their sum as a constraint: B is
  singular, A is not. kind 1: two such lines with a constraint each; 2: the constraint is no constraint, A is singular;
  3: no pivot counts as zero, but what it gives is too large
*/
static PetscErrorCode TestSingular(PetscInt kind)
{
  const PetscInt     n = 61, m = kind == 1 ? 2 : 1, cut = kind == 1 ? 29 : -1;
  PetscScalar       *a;
  KSP                ksp;
  PC                 pc;
  Mat                A;
  Vec                x, b;
  KSPConvergedReason reason;
  PCSpikeInfo        info;
  PetscReal          norm;
  char               where[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "singular band, kind %" PetscInt_FMT, kind));
  PetscCall(PetscCalloc1(n * n, &a));
  for (PetscInt i = 0; i + 1 < n - m; i++) {
    const PetscReal w = kind == 3 ? 1.0 + 0.3 * SpikeTestUniform(4, i, 0) : 1.0;

    if (i + 1 == cut) continue;
    a[i * (n + 1)] += w;
    a[(i + 1) * (n + 1)] += w;
    a[i + (i + 1) * n] = a[i + 1 + i * n] = -w;
  }
  for (PetscInt i = 0; i < n - m; i++) {
    const PetscInt r = n - m + (i >= cut && kind == 1);

    a[r + i * n] = a[i + r * n] = kind == 2 && i ? 0.0 : kind == 2 ? 1e-300 : 1.0;
  }
  if (kind == 2)
    for (PetscInt i = 0; i < n - m; i++) { /* orthogonal to constants on one side: no pivot anywhere */
      a[n - 1 + i * n]   = i < 30 ? 1.0 : -1.0;
      a[i + (n - 1) * n] = i < 30 ? 1.0 : -1.0;
    }
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  if (kind == 3) PetscCall(PCFactorSetZeroPivot(pc, 0.0));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCSpikeGetInfo(pc, &info));
  if (kind != 2) {
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: %s", where, KSPConvergedReasons[reason]));
    PetscCall(SpikeTestCheck((PetscBool)(info.border > m && !info.boosted),
                             "%s: border %" PetscInt_FMT ", boosted %" PetscInt_FMT, where, info.border, info.boosted));
    PetscCall(VecScale(b, -1.0));
    PetscCall(MatMultAdd(A, x, b, b));
    PetscCall(VecNorm(b, NORM_INFINITY, &norm));
    PetscCall(SpikeTestSmall(norm, TOLERANCE, "residual", where));
    PetscCall(CheckInverse(pc, n, a, TOLERANCE, where));
  } else { /* nothing solves it */
    PetscCall(
      SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED), "%s: %s", where, KSPConvergedReasons[reason]));
    for (PetscInt i = 0; i < n - m; i++) a[n - 1 + i * n] = a[i + (n - 1) * n] = 1.0;
    PetscCall(SetValues(n, a, A)); /* a constraint after all */
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s, constrained: %s", where, KSPConvergedReasons[reason]));
    PetscCall(CheckInverse(pc, n, a, TOLERANCE, "constrained"));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Entries that are not numbers, in band, rows, columns and corner; a singular S, which is boosted where the band would
  be far too wide, and refused where it would not; and that all is well after it
*/
static PetscErrorCode TestFailure(PetscInt size)
{
  const Case     c = {ARROW, size, 2, 1, 2, 0, 5};
  const PetscInt n = c.n, r = GetBorder(&c, 0), at[][2] = {{7, 8}, {r, 40}, {5, r}, {r, r}};
  PetscScalar   *a, nan = 0.0, keep;
  PetscInt       start, end;
  PetscBool      mine;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;
  PCFailedReason reason;
  PetscMPIInt    ranks;
  char           where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  nan /= 0.0;
  PetscCall(PetscMalloc1(n * n, &a));
  Dense(&c, 1.0, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "before failures"));
  for (int k = 0; k < 4; k++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "NaN in row %" PetscInt_FMT, at[k][0]));
    keep = a[at[k][0] + at[k][1] * n];
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    mine = (PetscBool)(at[k][0] >= start && at[k][0] < end);
    if (mine) PetscCall(MatSetValue(A, at[k][0], at[k][1], nan, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_OTHER), "%s: %s", where, PCFailedReasons[reason]));
    if (mine) PetscCall(MatSetValue(A, at[k][0], at[k][1], keep, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(CheckInverse(pc, n, a, TOLERANCE, where));
  }
  /* the second row and column of the border become those of the first: S has two equal rows and columns */
  for (PetscInt j = 0; j < n; j++) {
    const PetscScalar e = j == r || j == GetBorder(&c, 1) ? 1.0 : 0.5 + 0.01 * j;

    a[r + j * n] = a[GetBorder(&c, 1) + j * n] = a[j + r * n] = a[j + GetBorder(&c, 1) * n] = e;
  }
  PetscCall(SetValues(n, a, A));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT), "singular: %s", PCFailedReasons[reason]));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(!reason && (size < 100 && ranks == 1 ? !info.border && info.boosted
                                                                            : info.border == 2 && info.boosted == 1)),
                           "singular: %s, boosted %" PetscInt_FMT ", border %" PetscInt_FMT, PCFailedReasons[reason],
                           info.boosted, info.border));
  Dense(&c, 1.0, a);
  PetscCall(SetValues(n, a, A));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "after a singular matrix"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(SpikeTestCheck((PetscBool)(PCSpikeSetMaxBorder(pc, 65) == PETSC_ERR_ARG_OUTOFRANGE &&
                                       PCSpikeSetMaxBorder(pc, -7) == PETSC_ERR_ARG_OUTOFRANGE),
                           "borders of 65 and of -7 were accepted"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An integral constraint has no diagonal entry: no matching is wanted; rows in another order want one */
static PetscErrorCode TestMatched(void)
{
  const Case     c = {ARROW, 83, 2, 3, 1, 0, 8};
  const PetscInt n = c.n, r = GetBorder(&c, 0);
  PetscScalar   *a, *p;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc2(n * n, &a, n * n, &p));
  Dense(&c, 1.0, a);
  a[r * (n + 1)] = 0.0;
  for (int shifted = 0; shifted < (size > 3 ? 1 : 2); shifted++) { /* on 5 ranks pairs are of two ranks */
    for (PetscInt i = 0; i < n; i++) {                             /* pairs of rows change places */
      const PetscInt k = !shifted || i == r || (i ^ 1) == r || (i ^ 1) >= n ? i : i ^ 1;

      for (PetscInt j = 0; j < n; j++) p[k + j * n] = a[i + j * n];
    }
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, p, PETSC_DECIDE, &A));
    PetscCall(CreatePC(A, &pc));
    if (shifted) PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
    PetscCall(CheckInverse(pc, n, p, TOLERANCE, shifted ? "matched" : "constraint"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.border == 1 && info.matched == shifted),
                             "constraint: border %" PetscInt_FMT ", matched %d", info.border, (int)info.matched));
    for (PetscInt k = 0; k < n * n; k++) p[k] *= 2.5;
    PetscCall(SetValues(n, p, A));
    PetscCall(CheckInverse(pc, n, p, TOLERANCE, shifted ? "matched, other values" : "constraint, other values"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFree2(a, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSOLVERSPIKE, a fused Krylov method, many right-hand sides, the largest bandwidth, no coupling */
static PetscErrorCode TestComposition(const Case *c)
{
  const PetscInt     n = c->n, nrhs = 21;
  PetscScalar       *a;
  Mat                A, X, B;
  KSP                ksp;
  PC                 pc;
  PCSpikeInfo        info;
  Vec                x, b;
  KSPConvergedReason reason;
  PetscReal          norm;
  PetscBool          lu;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  Dense(c, 1.0, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int k = 0; k < 3; k++) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, k == 1 ? KSPBCGSFUSED : KSPPREONLY));
    PetscCall(KSPSetTolerances(ksp, 1e3 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 3));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, k == 0 ? PCLU : PCSPIKE));
    if (k == 0) PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCLU, &lu));
    for (int solve = 0; solve < 3; solve++) { /* other values; the transpose */
      if (solve == 1) PetscCall(MatScale(A, -2.5));
      PetscCall(SpikeTestSetRandom(b, solve));
      if (solve == 2) PetscCall(KSPSolveTranspose(ksp, b, x));
      else PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(VecScale(b, -1.0));
      if (solve == 2) PetscCall(MatMultTransposeAdd(A, x, b, b));
      else PetscCall(MatMultAdd(A, x, b, b));
      PetscCall(VecNorm(b, NORM_INFINITY, &norm));
      PetscCall(
        SpikeTestCheck((PetscBool)(reason > 0), "solver %d, solve %d: %s", k, solve, KSPConvergedReasons[reason]));
      PetscCall(SpikeTestSmall(norm, 10 * TOLERANCE, "residual",
                               k == 0   ? "MATSOLVERSPIKE"
                               : k == 1 ? "fused"
                                        : "preonly"));
    }
    if (!lu) {
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.border > 0), "solver %d has no border", k));
    }
    if (k == 2) {
      Vec column;

      PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
      PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, n, nrhs));
      PetscCall(MatSetType(B, MATDENSE));
      PetscCall(MatSetOptionsPrefix(B, "dense_"));
      PetscCall(MatSetFromOptions(B));
      PetscCall(MatSetUp(B));
      PetscCall(MatSetRandom(B, NULL));
      PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
      PetscCall(KSPMatSolve(ksp, B, X));
      for (PetscInt j = 0; j < nrhs; j++) {
        PetscCall(MatDenseGetColumnVecRead(B, j, &column));
        PetscCall(VecAXPBY(b, -1.0, 0.0, column));
        PetscCall(MatDenseRestoreColumnVecRead(B, j, &column));
        PetscCall(MatDenseGetColumnVecRead(X, j, &column));
        PetscCall(VecCopy(column, x));
        PetscCall(MatDenseRestoreColumnVecRead(X, j, &column));
        PetscCall(MatMultAdd(A, x, b, b));
        PetscCall(VecNorm(b, NORM_INFINITY, &norm));
        PetscCall(SpikeTestSmall(norm, 10 * TOLERANCE, "residual", "KSPMatSolve()"));
      }
      PetscCall(MatDestroy(&B));
      PetscCall(MatDestroy(&X));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetMaxBandwidth(pc, PetscMax(c->kl, c->ku)));
  for (PetscInt k = 0; k < n * n; k++) a[k] *= (PetscScalar)-15.625; /* three times -2.5 */
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "as wide as may be"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border > 0 && !info.cut), "a band that may not be wider has no border"));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  PetscCall(PCSpikeSetLocalPartitions(pc, 3));
  PetscCall(SpikeTestAdjoint(pc, TOLERANCE, "block"));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options, and what the view says of a border */
static PetscErrorCode TestView(const Case *c)
{
  PetscScalar *a;
  Mat          A;
  PC           pc;
  PetscInt     max;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->n * c->n, &a));
  Dense(c, 1.0, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c->n, a, PETSC_DECIDE, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSpikeGetMaxBorder(pc, &max));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "largest border %s", max == PETSC_DECIDE ? "open" : "set"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSpikeGetMaxBorder(pc, &max));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", then %" PetscInt_FMT "\n", max));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a given bandwidth there is no border */
static PetscErrorCode TestGiven(void)
{
  const Case   c = {ARROW, 40, 1, 2, 1, 0, 9};
  PetscScalar *a;
  Mat          A;
  PC           pc;
  PCSpikeInfo  info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c.n * c.n, &a));
  Dense(&c, 1.0, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c.n, a, PETSC_DECIDE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetBandwidth(pc, 2, 2));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(!info.border && info.dropped > 0.0), "a border with a given bandwidth"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A periodic band has a border of K rows up to the most that a border has, and is reordered above */
static PetscErrorCode TestPeriodicMost(PetscInt K)
{
  const Case   c = {PERIODIC, 800, K, K, 0, 0, 14};
  PetscScalar *a;
  PCSpikeInfo  info;
  PetscMPIInt  size;
  PetscReal    residual;
  Mat          A;
  PC           pc;
  Vec          b, x;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS); /* which may order the rows of a ring */
  PetscCall(PetscMalloc1(c.n * c.n, &a));
  Dense(&c, 1.0, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c.n, a, PETSC_DECIDE, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(K <= 64 ? info.border == K && !info.reordered && PetscMax(info.kl, info.ku) == K
                                               : !info.border && info.reordered && PetscMax(info.kl, info.ku) <= 3 * K),
                           "periodic band of half-bandwidth %" PetscInt_FMT ": border of %" PetscInt_FMT
                           ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT,
                           K, info.border, info.kl, info.ku));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 15));
  PetscCall(PCApply(pc, b, x));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-11, "residual", "periodic band"));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case  cases[] = {{ARROW, 90, 3, 2, 1, 0, 1},       {ARROW, 131, 1, 1, 1, 0, 2},
                         {ARROW, 77, 0, 0, 2, 0, 3},       {ARROW, 257, 4, 4, 5, 0, 4},
                         {COLUMNS, 90, 2, 5, 1, 0, 5},     {ROWS, 90, 5, 0, 2, 0, 6},
                         {PERIODIC, 150, 4, 4, 0, 0, 7},   {PERIODIC, 129, 2, 7, 0, 0, 8},
                         {PERIODIC, 600, 34, 34, 0, 0, 9}, {FAR, 120, 2, 2, 1, 0, 10},
                         {ARROW, 120, 2, 2, 1, 71, 11},    {ARROW, 211, 1, 1, 2, 71, 12},
                         {ARROW, 800, 2, 2, 18, 0, 13}};
  PetscMPIInt size;
  PetscInt    random = 40;
  PetscBool   device, view;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-random", &random, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_type", &device));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-view", &view));
  if (view) PetscCall(TestView(&cases[3]));
  PetscCall(TestGiven());
  if (!view) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(TestCase(&cases[k], NULL));
    if (!device) {
      PetscCall(TestCase(&cases[0], MATBAIJ));
      PetscCall(TestCase(&cases[6], MATDIA));
    }
    PetscCall(TestRandom(random));
    for (PetscInt kind = 0; kind < 4; kind++) PetscCall(TestSingular(kind));
    PetscCall(TestFailure(47));
    PetscCall(TestFailure(1000));
    PetscCall(TestMatched());
    PetscCall(TestPeriodicMost(32));
    PetscCall(TestPeriodicMost(64));
    PetscCall(TestPeriodicMost(65));
    PetscCall(TestComposition(&cases[0]));
    PetscCall(TestComposition(&cases[6]));
  }
  PetscCall(SpikeTestEnd("spike_border"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: view
      args: -view -pc_spike_max_border {{0 64}separate output}
      filter: grep -E "border|half-bandwidths"

   test:
      suffix: view_ranks
      nsize: 2
      args: -view -pc_spike_max_border 64
      filter: grep -E "border|half-bandwidths"
      output_file: output/spike_border_view_pc_spike_max_border-64.out

   testset:
      output_file: output/spike_border_1.out
      test:
         suffix: 1
         args: -pc_spike_type full -pc_spike_local_partitions {{1 2}}
      test:
         suffix: natural
         args: -pc_spike_type full -pc_spike_local_partitions 3 -random 20
      test:
         suffix: ranks
         nsize: {{2 3 5}}
         args: -pc_spike_type full
      test:
         suffix: ranks_parts
         nsize: 2
         args: -pc_spike_type full -pc_spike_local_partitions 2 -random 20
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -dense_mat_type densecuda -pc_spike_type full -pc_spike_local_partitions {{1 3}}
      test:
         suffix: cuda_ranks
         nsize: 2
         requires: cuda gpurun
         args: -mat_type aijcusparse -dense_mat_type densecuda -pc_spike_type full -random 10

TEST*/
