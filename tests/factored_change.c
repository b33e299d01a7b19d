/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE and PCBLOCKILU: a pattern that changes, though the matrix does not say so: what a refill "
                     "gives is what a new preconditioner gives.\n\n";

#include <petsc/private/matimpl.h>
#include "spiketest.h"

static const char *const types[] = {PCSPIKE, PCBLOCKILU};

static PetscErrorCode Create(Mat A, PCType type, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, type));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pc, which has seen other values, beside one that has not */
static PetscErrorCode CheckFresh(PC pc, const char where[])
{
  Mat       A;
  PC        fresh;
  PCType    type;
  Vec       b, x, y;
  PetscReal norm, error;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(PCGetType(pc, &type));
  PetscCall(Create(A, type, &fresh));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 5));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCApply(fresh, b, y));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(SpikeTestCheck((PetscBool)(norm > 0 && error <= 100 * PETSC_MACHINE_EPSILON * norm),
                           "%s, %s: differs by %g of %g from a new preconditioner", type, where, (double)error,
                           (double)norm));
  PetscCall(PCDestroy(&fresh));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row i: 8 on the diagonal, and entries at the given distances on both sides; the others of the band become zero */
static PetscErrorCode SetBand(Mat A, PetscInt width, PetscInt near, PetscInt far, PetscInt seed)
{
  PetscInt start, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(i - width, 0); j <= PetscMin(i + width, N - 1); j++) {
      const PetscInt    d = PetscAbsInt(j - i);
      const PetscScalar v = d == 0 ? 8.0 : d == near || d == far ? SpikeTestScalar(seed, i, j) : 0.0;

      PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a MATDENSE become zero, others that were zero get values, and back */
static PetscErrorCode TestDense(PCType type)
{
  const PetscInt distances[][2] = {{1, 2}, {1, 1}, {2, 2}, {1, 4}, {1, 2}, {1, 2}};
  Mat            A;
  PC             pc;
  char           where[64];

  PetscFunctionBegin;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 40, 40, NULL, &A));
  PetscCall(SetBand(A, 4, 1, 2, 1));
  PetscCall(Create(A, type, &pc));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(distances); k++) {
    PetscCall(SetBand(A, 4, distances[k][0], distances[k][1], k));
    PetscCall(PetscSNPrintf(where, sizeof(where), "dense, entries at distances %" PetscInt_FMT ",%" PetscInt_FMT,
                            distances[k][0], distances[k][1]));
    PetscCall(CheckFresh(pc, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of a MATBAIJ or MATSBAIJ lose their entries at the borders of the ranks, after or before the first setup; then
  values change
*/
static PetscErrorCode TestZeroRows(PCType type, MatType mattype, PetscInt bs, PetscBool before)
{
  const PetscInt N = 24;
  Mat            A;
  PC             pc;
  PetscInt       start, end, rows[2], count = 0;
  char           where[64];
  PetscBool      baij;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(mattype, MATBAIJ, &baij));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetBlockSize(A, bs));
  PetscCall(MatSetType(A, mattype));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetOption(A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(SetBand(A, 2, 1, 2, 3));
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s with blocks of %" PetscInt_FMT, mattype, bs));
  PetscCall(Create(A, type, &pc));
  if (!before) PetscCall(CheckFresh(pc, where));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (end < N) rows[count++] = end - 1;
  if (end < N && bs == 2) rows[count++] = end - 2;
  if (baij) PetscCall(MatZeroRows(A, count, rows, 2.0, NULL, NULL));
  else {
    PetscBool has;

    PetscCall(MatHasOperation(A, MATOP_ZERO_ROWS_COLUMNS, &has)); /* MATMPISBAIJ has it since PETSc 3.25 */
    if (has) PetscCall(MatZeroRowsColumns(A, count, rows, 2.0, NULL, NULL));
  }
  PetscCall(CheckFresh(pc, where));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(MatShift(A, 1.0));
    PetscCall(CheckFresh(pc, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first rank alone takes the pattern for another one: all begin anew */
static PetscErrorCode TestAgree(PCType type)
{
  Mat         A;
  PC          pc;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 40, 40, 5, NULL, 4, NULL, &A));
  PetscCall(SetBand(A, 2, 1, 2, 1));
  PetscCall(Create(A, type, &pc));
  PetscCall(CheckFresh(pc, "first values"));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatScale(A, 2.0));
    if (k == 0 && rank == 0) A->nonzerostate++;
    PetscCall(CheckFresh(pc, "a pattern that is another one on one rank"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry in a new place, in a row of the first rank alone, and one of the last rank that gets a value from zero */
static PetscErrorCode TestOneRank(PCType type, MatType mattype)
{
  const PetscInt N = 40;
  Mat            A;
  PC             pc;
  PetscInt       start, end;
  char           where[64];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetType(A, mattype));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(SetBand(A, 2, 1, 1, 1));
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, an entry on one rank", mattype));
  PetscCall(Create(A, type, &pc));
  PetscCall(CheckFresh(pc, where));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt k = 0; k < 4; k++) {
    if (start == 0 && k < 2) PetscCall(MatSetValue(A, 1, 3 + k, -1.5, INSERT_VALUES));
    if (end == N && k == 2) PetscCall(MatSetValue(A, N - 1, N - 3, 1.25, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (k == 3) PetscCall(MatScale(A, 2.0));
    PetscCall(CheckFresh(pc, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const cases[] = {"dense", "baij", "ranks"};
  PetscInt          which   = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-case", cases, PETSC_STATIC_ARRAY_LENGTH(cases), &which, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    if (which == 0) PetscCall(TestDense(types[t]));
    for (PetscInt c = 0; c < 8 && which == 1; c++)
      PetscCall(TestZeroRows(types[t], c % 2 ? MATSBAIJ : MATBAIJ, c & 2 ? 2 : 1, (PetscBool)(c & 4)));
    if (which == 2) PetscCall(TestAgree(types[t]));
    for (PetscInt m = 0; m < 3 && which == 2; m++)
      PetscCall(TestOneRank(types[t], m == 0 ? MATAIJ : m == 1 ? MATBAIJ : MATDIA));
  }
  PetscCall(SpikeTestEnd("factored_change"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      output_file: output/factored_change_1.out
      test:
         suffix: 1
         args: -case dense
      test:
         suffix: baij
         args: -case baij
      test:
         suffix: ranks
         args: -case ranks

TEST*/
