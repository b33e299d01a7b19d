/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE on bands with a border, on ranks with few rows, with none and with rows of the border only.\n\n";

#include "bordercase.h"

#define MOST 8

/* A dominant band with m full rows and columns, in ranks of given sizes */
typedef struct {
  PetscInt n, kl, ku, m, rows[MOST], seed;
  PetscInt local[5];
} Ranks;

static PetscBool InBorder(const Ranks *c, PetscInt i)
{
  for (PetscInt k = 0; k < c->m; k++)
    if (c->rows[k] == i) return PETSC_TRUE;
  return PETSC_FALSE;
}

static void RanksDense(const Ranks *c, PetscReal scale, PetscScalar a[])
{
  const PetscInt      n    = c->n;
  const SpikeTestBand band = {n, c->kl, c->ku, 1.5, SPIKE_TEST_RANDOM, c->seed};

  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) {
      a[i + j * n] = scale * SpikeTestBandEntry(&band, i, j);
      if (i != j && (InBorder(c, i) || InBorder(c, j)))
        a[i + j * n] += scale * 0.1 * SpikeTestScalar(c->seed, i + 3 * n, j + 7 * n);
    }
}

static PetscErrorCode RanksMat(const Ranks *c, const PetscScalar a[], Mat *A)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c->n, a, c->local[rank], A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RanksName(const Ranks *c, const char what[], char where[], size_t length)
{
  PetscInt at;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, length, "%s, n %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT,
                          what, c->n, c->kl, c->ku));
  at = (PetscInt)strlen(where);
  for (PetscInt k = 0; k < c->m && at < (PetscInt)length; k++) {
    PetscCall(PetscSNPrintf(where + at, length - (size_t)at, "%s%" PetscInt_FMT, k ? "," : ", border ", c->rows[k]));
    at = (PetscInt)strlen(where);
  }
  for (PetscInt r = 0; r < 5 && at < (PetscInt)length; r++) {
    PetscCall(PetscSNPrintf(where + at, length - (size_t)at, "%s%" PetscInt_FMT, r ? "+" : ", rows ", c->local[r]));
    at = (PetscInt)strlen(where);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows on each rank, and what is done with the matrix, its transpose, other values, another pattern */
static PetscErrorCode TestRanks(const Ranks *c, const Ranks *other)
{
  PetscScalar *a;
  PCSpikeInfo  info;
  Mat          A, B;
  PC           pc;
  char         where[160];

  PetscFunctionBegin;
  PetscCall(RanksName(c, "ranks", where, sizeof(where)));
  PetscCall(PetscMalloc1(c->n * c->n, &a));
  RanksDense(c, 1.0, a);
  PetscCall(RanksMat(c, a, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckBorder(pc, c->m, c->m, PetscMax(PetscMax(c->kl, c->ku), 1), where));
  PetscCall(CheckInverse(pc, c->n, a, TOLERANCE, where));
  PetscCall(SpikeTestAdjoint(pc, TOLERANCE, where));
  RanksDense(c, -1.75, a);
  PetscCall(SetValues(c->n, a, A));
  PetscCall(CheckInverse(pc, c->n, a, TOLERANCE, "other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border == c->m && info.refills == 1),
                           "%s: border %" PetscInt_FMT ", refills %" PetscInt_FMT, where, info.border, info.refills));
  if (other) { /* other rows are the border, in the same ranks */
    Ranks o = *other;

    PetscCall(PetscArraycpy(o.local, c->local, 5));
    o.n = c->n;
    RanksDense(&o, 1.0, a);
    PetscCall(RanksMat(&o, a, &B));
    PetscCall(PCSetOperators(pc, B, B));
    PetscCall(CheckInverse(pc, c->n, a, TOLERANCE, "another pattern"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(
      SpikeTestCheck((PetscBool)(info.border == o.m), "%s: another border of %" PetscInt_FMT, where, info.border));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small matrices in ranks of any sizes, also with fewer rows than the band is wide, which are gathered */
static PetscErrorCode TestRandom(PetscInt cases)
{
  PetscMPIInt size;
  PetscInt    borders = 0, wanted = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < cases; k++) {
#define PICK(what, n) ((PetscInt)((SpikeTestUniform(777, k, what) + 1) / 2 * (PetscReal)(n)))
    const PetscInt n    = 1 + PICK(0, 60);
    Ranks          c    = {n, PetscMin(PICK(1, 5), n - 1), PetscMin(PICK(2, 5), n - 1), 0, {0}, k, {0}};
    PetscInt       left = n, m = PICK(3, 4);
    PetscBool      holds = (PetscBool)(n >= 8);
    PetscScalar   *a;
    PCSpikeInfo    info;
    Mat            A;
    PC             pc;
    char           where[160];

    for (PetscInt b = 0; b < m; b++) {
      const PetscInt row = PICK(10 + b, n);

      if (!InBorder(&c, row)) c.rows[c.m++] = row;
    }
    for (PetscMPIInt r = 0, start = 0; r < size; r++) {
      PetscInt inside = 0;

      c.local[r] = r == size - 1 ? left : PICK(20, 3) ? left / (size - r) : PICK(21 + r, left + 1);
      left -= c.local[r];
      for (PetscInt i = start; i < start + c.local[r]; i++) inside += InBorder(&c, i);
      if (inside < c.local[r] && c.local[r] < PetscMax(c.kl, c.ku)) holds = PETSC_FALSE;
      start += (PetscMPIInt)c.local[r];
    }
    if (4 * c.m > n) holds = PETSC_FALSE;
    PetscCall(RanksName(&c, "random", where, sizeof(where)));
    PetscCall(PetscMalloc1(n * n, &a));
    RanksDense(&c, 1.0, a);
    PetscCall(RanksMat(&c, a, &A));
    PetscCall(CreatePC(A, &pc));
    PetscCall(CheckInverse(pc, n, a, 10 * TOLERANCE, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.dropped == 0.0), "%s: share %g is dropped", where, (double)info.dropped));
    borders += info.border > 0;
    wanted += holds && c.m;
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(a));
  }
  PetscCall(SpikeTestCheck((PetscBool)(4 * borders >= 3 * wanted),
                           "borders in %" PetscInt_FMT " cases, %" PetscInt_FMT " could have one", borders, wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stored zeros far from the diagonal, which get values later and lose them again: the border is chosen anew */
static PetscErrorCode TestZeros(const Ranks *c)
{
  const PetscInt n = c->n, i = n / 2 + 1, j = 1;
  PetscScalar   *a;
  PCSpikeInfo    info;
  PC             pc;
  Mat            A;
  PetscInt       start, end;
  char           where[160];

  PetscFunctionBegin;
  PetscCall(RanksName(c, "stored zeros", where, sizeof(where)));
  PetscCall(PetscMalloc1(n * n, &a));
  RanksDense(c, 1.0, a);
  a[i + j * n] = 0.25;
  PetscCall(RanksMat(c, a, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(CreatePC(A, &pc));
  for (int way = 0; way < 3; way++) {
    a[i + j * n] = way == 1 ? 0.5 : 0.0;
    if (i >= start && i < end) PetscCall(MatSetValue(A, i, j, a[i + j * n], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(CheckInverse(pc, n, a, TOLERANCE, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.border == c->m + (way > 0) && info.dropped == 0.0),
                             "%s, way %d: border %" PetscInt_FMT, where, way, info.border));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A row and column of the band that are empty, on the last rank with rows: they join the border. Without room for them
  the factors fail, on that rank, unless rows are exchanged in one band of all rows, as in small matrices, which has no
  border; and all is well when there is room again
*/
static PetscErrorCode TestEmptyRow(const Ranks *c)
{
  const PetscInt     n     = c->n;
  PetscInt           empty = n - 2;
  PetscScalar       *a;
  PCSpikeInfo        info;
  KSP                ksp;
  PC                 pc;
  Mat                A;
  Vec                x, b;
  KSPConvergedReason reason;
  PetscReal          residual;
  char               where[160];

  PetscFunctionBegin;
  PetscCall(RanksName(c, "empty row", where, sizeof(where)));
  while (InBorder(c, empty)) empty--;
  PetscCall(PetscMalloc1(n * n, &a));
  RanksDense(c, 1.0, a);
  for (PetscInt i = 0; i < n; i++)
    if (!InBorder(c, i)) a[i + empty * n] = a[empty + i * n] = 0.0;
  PetscCall(RanksMat(c, a, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int way = 0; way < 3; way++) {
    PetscCall(PCSpikeSetMaxBorder(pc, way == 1 ? c->m : PETSC_DECIDE));
    PetscCall(PCFactorSetShiftType(pc, way == 1 ? MAT_SHIFT_NONE : MAT_SHIFT_NONZERO));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCSpikeGetInfo(pc, &info));
    if (way == 1 && reason > 0) {
      PetscCall(SpikeTestResidual(A, b, x, &residual));
      PetscCall(SpikeTestSmall(residual, TOLERANCE, "residual without a border", where));
      PetscCall(SpikeTestCheck((PetscBool)!info.border, "%s: border %" PetscInt_FMT, where, info.border));
      continue;
    }
    if (way == 1) {
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED && info.zeropivot_row == empty),
                               "%s, no room: %s, row %" PetscInt_FMT, where, KSPConvergedReasons[reason],
                               info.zeropivot_row));
      continue;
    }
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && info.border == c->m + 1 && !info.boosted && info.solves == 1),
                             "%s: %s, border %" PetscInt_FMT ", boosted %" PetscInt_FMT ", solves %" PetscInt_FMT,
                             where, KSPConvergedReasons[reason], info.border, info.boosted, info.solves));
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(SpikeTestSmall(residual, TOLERANCE, "residual", where));
    PetscCall(CheckInverse(pc, n, a, TOLERANCE, where));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Truncated coupling, where a solve by KSPPREONLY is refined, and a fused Krylov method; both with the transpose */
static PetscErrorCode TestTruncated(const Ranks *c)
{
  PetscScalar       *a;
  PCSpikeInfo        info;
  KSP                ksp;
  PC                 pc;
  Mat                A;
  Vec                x, b;
  KSPConvergedReason reason;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->n * c->n, &a));
  RanksDense(c, 1.0, a);
  PetscCall(RanksMat(c, a, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, k ? KSPBCGSFUSED : KSPPREONLY));
    PetscCall(KSPSetTolerances(ksp, 1e3 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 30));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
    PetscCall(PCSpikeSetMaxRefinements(pc, 10));
    for (int trans = 0; trans < 2; trans++) {
      PetscCall(SpikeTestSetRandom(b, 5 + trans));
      if (trans && k == 0) PetscCall(KSPSolveTranspose(ksp, b, x));
      else PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && info.border == c->m),
                               "truncated %d,%d: %s, border %" PetscInt_FMT, k, trans, KSPConvergedReasons[reason],
                               info.border));
      PetscCall(VecScale(b, -1.0));
      if (trans && k == 0) PetscCall(MatMultTransposeAdd(A, x, b, b));
      else PetscCall(MatMultAdd(A, x, b, b));
      PetscCall(VecNorm(b, NORM_INFINITY, &norm));
      PetscCall(SpikeTestSmall(norm, 10 * TOLERANCE, "residual", "truncated"));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cholesky of what the border leaves; an ordering that was named, with which ranks have no border; a given bandwidth */
static PetscErrorCode TestOptions(const Ranks *c)
{
  const PetscInt n = c->n;
  PetscScalar   *a;
  PCSpikeInfo    info;
  PC             pc;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  RanksDense(c, 1.0, a);
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < i; j++) a[i + j * n] = PetscConj(a[j + i * n]);
    a[i + i * n] = PetscAbsScalar(a[i + i * n]) + 2 * PetscMax(c->kl, c->ku);
  }
  PetscCall(RanksMat(c, a, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "Cholesky"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border == c->m && info.factor_type == PC_SPIKE_FACTOR_CHOLESKY),
                           "Cholesky: border %" PetscInt_FMT, info.border));
  PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_LU));
  PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "row exchanges"));
  PetscCall(PCSpikeSetPivoting(pc, PETSC_FALSE));
  PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(!info.border && info.dropped > 0.0), "a border with a given bandwidth"));
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
  PetscCall(CheckInverse(pc, n, a, TOLERANCE, "matched"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.border == c->m && info.matched), "matched: border %" PetscInt_FMT, info.border));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /*
    even ranks; rows of the border alone on a rank, in the middle, at the end, at the beginning; ranks without rows.
    None has 32 rows: docs/open-points.md, products that are wrong now and then
  */
  const Ranks even[]  = {{60, 2, 3, 1, {49}, 1, {30, 30}},
                         {60, 2, 3, 2, {0, 20}, 2, {20, 20, 20}},
                         {60, 2, 3, 3, {12, 13, 47}, 3, {12, 12, 12, 12, 12}}};
  const Ranks alone[] = {{41, 3, 3, 1, {40}, 4, {40, 1}},
                         {57, 2, 3, 1, {27}, 5, {27, 1, 29}},
                         {65, 2, 2, 2, {30, 31}, 6, {0, 30, 2, 0, 33}}};
  const Ranks begin[] = {{45, 1, 2, 2, {0, 1}, 7, {2, 43}},
                         {63, 4, 1, 3, {0, 29, 30}, 8, {1, 29, 33}},
                         {80, 3, 2, 4, {0, 20, 40, 79}, 9, {1, 39, 1, 38, 1}}};
  const Ranks none[]  = {{50, 2, 2, 2, {3, 30}, 10, {0, 50}},
                         {50, 2, 2, 2, {3, 30}, 11, {30, 0, 20}},
                         {50, 2, 2, 2, {3, 30}, 12, {0, 9, 21, 20, 0}}};
  PetscMPIInt size;
  PetscInt    k, random = 60;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-random", &random, NULL));
  PetscCheck(size == 2 || size == 3 || size == 5, PETSC_COMM_WORLD, PETSC_ERR_SUP, "For 2, 3 or 5 ranks");
  k = size == 2 ? 0 : size == 3 ? 1 : 2;
  PetscCall(TestRanks(&even[k], &none[k]));
  PetscCall(TestRanks(&alone[k], NULL));
  PetscCall(TestRanks(&begin[k], NULL));
  PetscCall(TestRanks(&none[k], &even[k]));
  PetscCall(TestZeros(&even[k]));
  PetscCall(TestZeros(&alone[k]));
  PetscCall(TestEmptyRow(&even[k]));
  PetscCall(TestEmptyRow(size == 2 ? &alone[k] : &none[k]));
  PetscCall(TestTruncated(&even[k]));
  PetscCall(TestTruncated(&alone[k]));
  PetscCall(TestOptions(&even[k]));
  PetscCall(TestOptions(&begin[k]));
  PetscCall(TestRandom(random));
  PetscCall(SpikeTestEnd("spike_borderranks"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_borderranks_1.out
      nsize: {{2 3 5}}
      test:
         suffix: 1
         args: -pc_spike_type full
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -pc_spike_type full -random 10

TEST*/
