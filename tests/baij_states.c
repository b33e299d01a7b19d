/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "MATBAIJCUDA gets other patterns: what was planned or factored for the one before is not used for "
                     "them, and ranks whose values are in different places agree.\n\n";

#include "spiketest.h"
#include <petscspike.h>

#define ROWS 48

/* Memory for any of the patterns */
static PetscErrorCode Preallocate(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSeqBAIJSetPreallocation(A, 2, 6, NULL));
  PetscCall(MatMPIBAIJSetPreallocation(A, 2, 6, NULL, 6, NULL));
  PetscCall(MatSeqAIJSetPreallocation(A, 6, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 6, NULL, 6, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three diagonals, two of them `width` away from the first; periodic */
static PetscErrorCode Fill(Mat A, PetscInt width)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(Preallocate(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt d = -1; d <= 1; d++)
      PetscCall(MatSetValue(A, i, (i + d * width + ROWS) % ROWS, d ? -1.0 - 0.01 * (PetscReal)i : 3.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSetType(*A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A x is B x; each with vectors as it wants them: MATAIJCUSPARSE loses memory with those of the host (PETSc 3.26.1) */
static PetscErrorCode Compare(Mat A, Mat B, const char what[], PetscInt k)
{
  char where[64];
  Vec  x[2], y[2], z;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "pattern %" PetscInt_FMT, k));
  for (int t = 0; t < 2; t++) PetscCall(MatCreateVecs(t ? B : A, &x[t], &y[t]));
  PetscCall(VecDuplicate(y[0], &z));
  PetscCall(SpikeTestSetRandom(x[0], 3));
  PetscCall(VecCopy(x[0], x[1]));
  for (int t = 0; t < 2; t++) PetscCall(MatMult(t ? B : A, x[t], y[t]));
  PetscCall(VecCopy(y[1], z));
  PetscCall(SpikeTestSame(z, y[0], 100 * PETSC_MACHINE_EPSILON, what, where));
  for (int t = 0; t < 2; t++) {
    PetscCall(VecDestroy(&x[t]));
    PetscCall(VecDestroy(&y[t]));
  }
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One MATBAIJCUDA with a pattern after the other: fields inside of blocks, and as AIJ; then from AIJ. In AIJ are
  matrices where those of ours are: with the host's kernels or on the device
*/
static PetscErrorCode TestPlans(void)
{
  Mat         M[2], aij = NULL, A, B = NULL;
  PetscInt    begin, end;
  PetscBool   host = PETSC_FALSE;
  const char *type;
  IS          is;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spike_host_baijcuda", &host, NULL));
  type = host ? MATAIJ : "aijcusparse";
  for (int t = 0; t < 2; t++) PetscCall(Create(t ? MATBAIJCUDA : MATBAIJ, &M[t]));
  for (PetscInt k = 0; k < 4; k++) {
    Mat S[2], C;

    for (int t = 0; t < 2; t++) PetscCall(Fill(M[t], k ? 4 * k : 2));
    PetscCall(Compare(M[0], M[1], "the matrix", k));
    PetscCall(MatGetOwnershipRange(M[0], &begin, &end));
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / 2, begin, 2, &is));
    PetscCall(MatConvert(M[0], MATAIJ, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatCreateSubMatrix(C, is, is, MAT_INITIAL_MATRIX, &S[0]));
    PetscCall(MatCreateSubMatrix(M[1], is, is, MAT_INITIAL_MATRIX, &S[1]));
    PetscCall(Compare(S[0], S[1], "a field", k));
    PetscCall(MatConvert(M[1], type, k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &aij));
    PetscCall(Compare(M[0], aij, "to AIJ", k));
    for (int t = 0; t < 2; t++) PetscCall(MatDestroy(&S[t]));
    PetscCall(MatDestroy(&C));
    PetscCall(ISDestroy(&is));
  }
  PetscCall(Create(type, &A));
  PetscCall(Fill(A, 4));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatConvert(A, MATBAIJCUDA, k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &B));
    PetscCall(Compare(A, B, "from AIJ", k));
    PetscCall(Fill(B, 8)); /* its plan is that of A no more */
  }
  for (int t = 0; t < 2; t++) PetscCall(MatDestroy(&M[t]));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From one type into a matrix of another type that has another pattern, with as many blocks: that of A from then on */
static PetscErrorCode TestConverted(MatType from, MatType to)
{
  const PetscInt widths[] = {4, 8, 8, 4};
  Mat            A, B = NULL;

  PetscFunctionBegin;
  PetscCall(Create(from, &A));
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(Fill(A, widths[k]));
    PetscCall(MatConvert(A, to, k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &B));
    PetscCall(Compare(A, B, to, k));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Conversions of two patterns in turn into one matrix: a KSP on it iterates as a new one does */
static PetscErrorCode TestReused(void)
{
  Mat      A[2], B = NULL, C;
  KSP      ksp, fresh;
  Vec      x, b;
  PetscInt its[2];

  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    PetscCall(Create(MATAIJ, &A[t]));
    PetscCall(Fill(A[t], t ? 6 : 1));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatConvert(A[k % 2], MATBAIJCUDA, k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &B));
    PetscCall(MatConvert(A[k % 2], MATBAIJCUDA, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatCreateVecs(B, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 5));
    PetscCall(KSPSetOperators(ksp, B, B));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[0]));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &fresh));
    PetscCall(KSPSetFromOptions(fresh));
    PetscCall(KSPSetOperators(fresh, C, C));
    PetscCall(KSPSolve(fresh, b, x));
    PetscCall(KSPGetIterationNumber(fresh, &its[1]));
    PetscCall(SpikeTestCheck((PetscBool)(its[0] == its[1]),
                             "conversion %" PetscInt_FMT ": %" PetscInt_FMT " iterations, %" PetscInt_FMT
                             " of a new KSP",
                             k, its[0], its[1]));
    PetscCall(KSPDestroy(&fresh));
    PetscCall(MatDestroy(&C));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(KSPDestroy(&ksp));
  for (int t = 0; t < 2; t++) PetscCall(MatDestroy(&A[t]));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal that rows bring into a matrix with more columns than rows has another nonzero state */
static PetscErrorCode TestZeroRows(void)
{
  PetscObjectState state[2];
  PetscInt         begin, end;
  Mat              A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 24, 32));
  PetscCall(MatSetBlockSize(A, 2));
  PetscCall(MatSetType(A, MATBAIJCUDA));
  PetscCall(Preallocate(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(A, i, (i + 4) % 32, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetNonzeroState(A, &state[0]));
  PetscCall(MatZeroRows(A, begin < end ? 1 : 0, &begin, 1.0, NULL, NULL));
  PetscCall(MatGetNonzeroState(A, &state[1]));
  PetscCall(SpikeTestCheck((PetscBool)(state[0] < state[1]), "zero rows: the nonzero state was %d and is %d",
                           (int)state[0], (int)state[1]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank has fetched values of MatSetValuesCOO(), the others have not */
static PetscErrorCode TestFetched(void)
{
  PetscInt           begin, end, columns, n = 0, i[ROWS], j[ROWS];
  const PetscInt    *col;
  const PetscScalar *row;
  PetscScalar        v[ROWS], sum;
  PetscMPIInt        rank;
  Vec                d;
  Mat                A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Create(MATBAIJCUDA, &A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    i[n] = j[n] = r;
    v[n++]      = 1.0 + (PetscReal)r;
  }
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatCreateVecs(A, NULL, &d));
  if (!rank) {
    PetscCall(MatGetRow(A, begin, &columns, &col, &row));
    PetscCall(MatRestoreRow(A, begin, &columns, &col, &row));
  }
  for (int scaled = 0; scaled < 2; scaled++) {
    if (scaled) PetscCall(MatScale(A, 2.0));
    PetscCall(MatGetDiagonal(A, d));
    PetscCall(VecSum(d, &sum));
    PetscCall(SpikeTestCheck((PetscBool)(PetscAbsScalar(sum - (1 + scaled) * ROWS * (ROWS + 1) / 2) < 1e-2),
                             "the diagonal's sum is %g", (double)PetscRealPart(sum)));
  }
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestPlans());
  PetscCall(TestConverted(MATBAIJ, MATBAIJCUDA));
  PetscCall(TestConverted(MATBAIJCUDA, MATBAIJ));
  PetscCall(TestConverted(MATAIJ, MATBAIJCUDA));
  PetscCall(TestReused());
  PetscCall(TestZeroRows());
  PetscCall(TestFetched());
  PetscCall(SpikeTestEnd("baij_states"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/baij_states_1.out
      nsize: {{1 2 3}}
      test:
         suffix: 1
         args: -spike_host_baijcuda -pc_type blockilu
      test:
         suffix: bjacobi
         args: -spike_host_baijcuda -pc_type bjacobi -sub_pc_type lu
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -pc_type blockilu
      test:
         suffix: cuda_bjacobi
         requires: cuda gpurun
         args: -pc_type bjacobi -sub_pc_type lu

TEST*/
