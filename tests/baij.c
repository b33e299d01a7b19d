/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "MATBAIJCUDA as an operator: all products as MATBAIJ has them, through changes of values and of the "
           "pattern, and what PETSc makes from it, on 1 to 5 ranks.\n\n";

#include "baijcase.h"

/* Messages that this rank has sent so far, by MPI */
static PetscLogDouble Sent(void)
{
#if PetscDefined(USE_LOG)
  return petsc_isend_ct;
#else
  return 0;
#endif
}

/* C = A X once more sends as many messages as one A x */
static PetscErrorCode TestMessages(Mat A, Mat X, Mat *C, const char where[])
{
  PetscLogDouble sent[3];
  PetscInt       bs;
  Vec            x, y;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  sent[0] = Sent();
  PetscCall(MatMatMult(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, C));
  sent[1] = Sent();
  PetscCall(MatMult(A, x, y));
  sent[2] = Sent();
  if (bs <= SPIKE_BAIJ_MAXBS)
    PetscCall(SpikeTestCheck((PetscBool)(sent[1] - sent[0] == sent[2] - sent[1]),
                             "%s: %g messages for several columns, %g for one", where, (double)(sent[1] - sent[0]),
                             (double)(sent[2] - sent[1])));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  C = A X, on one rank A^T X too, against products of B with each column; then with other values. X has rows after its
  own in some, so that columns do not begin at multiples of a block, or do. one: all columns are in one message
*/
static PetscErrorCode TestDense(Mat A, Mat B, PetscInt columns, PetscBool one, const char where[])
{
  PetscMPIInt size;
  PetscInt    m, n, M, N, bs;
  VecType     vectype;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetVecType(A, &vectype));
  for (int trans = 0; trans < (size > 1 ? 1 : 2); trans++) {
    Mat X, C;

    PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)A), vectype, trans ? m : n, PETSC_DECIDE,
                                        trans ? M : N, columns,
                                        columns % 3 ? (trans ? m : n) + (columns % 3 == 1 ? 3 : 2 * bs) : -1, NULL,
                                        &X));
    PetscCall(MatSetRandom(X, NULL));
    if (trans) PetscCall(MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
    else PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &C));
    for (int again = 0; again < 2; again++) {
      for (PetscInt j = 0; j < columns; j++) {
        Vec x, c, y;

        PetscCall(MatDenseGetColumnVecRead(X, j, &x));
        PetscCall(MatDenseGetColumnVecRead(C, j, &c));
        PetscCall(VecDuplicate(c, &y));
        PetscCall(BaijSetAll(y, 0.0));
        if (trans) PetscCall(MatMultTranspose(B, x, y));
        else PetscCall(MatMult(B, x, y));
        PetscCall(BaijSame(c, y, trans ? "A^T X" : "A X", where));
        PetscCall(VecDestroy(&y));
        PetscCall(MatDenseRestoreColumnVecRead(C, j, &c));
        PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
      }
      PetscCall(MatScale(A, -2.0));
      PetscCall(MatScale(B, -2.0));
      if (trans) PetscCall(MatTransposeMatMult(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &C));
      else PetscCall(MatMatMult(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, &C));
    }
    if (!trans && one) PetscCall(TestMessages(A, X, &C, where));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both matrices change in the same way; products between changes, so that a copy of before would be seen */
static PetscErrorCode TestChanges(const BaijCase *c, Mat M[2], const char where[])
{
  const PetscInt rows[2] = {0, PetscMax(0, PetscMin(c->mb, c->nb) * c->bs - 1)};
  PetscMPIInt    rank;
  PetscInt       n;
  PetscReal      norm[2];
  Vec            l, r;
  char           what[256];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  n = rank ? 0 : 2;
  PetscCall(MatCreateVecs(M[1], &r, &l));
  PetscCall(SpikeTestSetRandom(l, 31));
  PetscCall(SpikeTestSetRandom(r, 32));
#define Both(name, call) \
  do { \
    for (int k = 0; k < 2; k++) { \
      Mat A = M[k]; \
\
      PetscCall(call); \
      M[k] = A; \
    } \
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, after %s", where, name)); \
    PetscCall(BaijCompare(M[0], M[1], what)); \
  } while (0)
  Both("MatScale", MatScale(A, 1.5));
  Both("other values", BaijFill(c, 1, 2, PETSC_FALSE, INSERT_VALUES, A));
  Both("values added by rank 0", BaijFill(c, 1, 3, PETSC_TRUE, ADD_VALUES, A));
  Both("MatDiagonalScale", MatDiagonalScale(A, l, r));
  Both("MatStoreValues", MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  for (int k = 0; k < 2; k++) PetscCall(MatStoreValues(M[k]));
  Both("MatConjugate", MatConjugate(A));
  Both("MatZeroEntries", MatZeroEntries(A));
  Both("MatRetrieveValues", MatRetrieveValues(A));
  PetscCall(MatNorm(M[0], NORM_FROBENIUS, &norm[0]));
  PetscCall(MatNorm(M[1], NORM_FROBENIUS, &norm[1]));
  PetscCall(SpikeTestSmall(PetscAbsReal(norm[0] - norm[1]), BAIJTEST_TOL * (1 + norm[1]), "norm", where));
  Both("MatSetOption", MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  if (c->mb == c->nb && c->mb) {
    Both("MatShift", MatShift(A, 0.5));
    Both("MatSetOption", MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    Both("MatZeroRows", MatZeroRows(A, n, rows, 3.0, NULL, NULL));
    Both("MatZeroRowsColumns", MatZeroRowsColumns(A, n, rows, 4.0, NULL, NULL));
    for (int k = 0; k < 2; k++) PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    Both("a new pattern", BaijFill(c, 2, 4, PETSC_FALSE, ADD_VALUES, A));
    Both("another one from rank 0", BaijFill(c, 3, 5, PETSC_TRUE, ADD_VALUES, A));
  }
#undef Both
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank but for its last block, if it has more than one */
static PetscErrorCode OwnRows(const BaijCase *c, Mat A, IS *rows)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(
    ISCreateStride(PETSC_COMM_WORLD, PetscMax(0, end - begin - (end - begin > c->bs ? c->bs : 0)), begin, 1, rows));
  PetscCall(ISSetBlockSize(*rows, c->bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that PETSc makes from A have its type, and the same entries as those made from B */
static PetscErrorCode TestMade(const BaijCase *c, Mat M[2], const char where[])
{
  Mat       D[2], *sub[2];
  IS        rows;
  PetscBool equal;
  char      what[256];

  PetscFunctionBegin;
#define Made(name, call) \
  do { \
    for (int k = 0; k < 2; k++) { \
      Mat A = M[k], B; \
\
      PetscCall(call); \
      D[k] = B; \
    } \
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s", where, name)); \
    PetscCall(BaijCompare(D[0], D[1], what)); \
  } while (0)
  Made("MatDuplicate", MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatEqual(M[0], D[0], &equal));
  PetscCall(SpikeTestCheck(equal, "%s: a duplicate is not equal", where));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatZeroEntries(D[k]));
    PetscCall(MatCopy(M[k], D[k], SAME_NONZERO_PATTERN));
    PetscCall(MatAXPY(D[k], 2.0, M[k], SAME_NONZERO_PATTERN));
  }
  PetscCall(BaijCompare(D[0], D[1], what));
  PetscCall(MatCopy(M[1], D[0], SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(M[1], D[1], SAME_NONZERO_PATTERN));
  PetscCall(BaijCompare(D[0], D[1], "MatCopy() from MATBAIJ"));
  PetscCall(MatZeroEntries(D[1]));
  PetscCall(MatCopy(M[0], D[1], SAME_NONZERO_PATTERN));
  PetscCall(BaijCompare(D[0], D[1], "MatCopy() to MATBAIJ"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&D[k]));
  Made("MatTranspose", MatTranspose(A, MAT_INITIAL_MATRIX, &B));
  if (c->mb == c->nb && c->mb) {
    for (int k = 0; k < 2; k++) { /* another pattern: PETSc makes the matrix anew */
      PetscCall(MatAXPY(D[k], -1.0, M[k], DIFFERENT_NONZERO_PATTERN));
    }
    PetscCall(BaijCompare(D[0], D[1], "MatAXPY() with another pattern"));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&D[k]));
  if (c->mb == c->nb && c->mb) {
    PetscCall(OwnRows(c, M[0], &rows));
    Made("MatCreateSubMatrix", MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, &B));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&D[k]));
    for (int again = 0; again < 2; again++) {
      for (int k = 0; k < 2; k++) {
        PetscCall(MatScale(M[k], 0.5));
        PetscCall(MatCreateSubMatrices(M[k], 1, &rows, &rows, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &sub[k]));
      }
      PetscCall(BaijCompare(sub[0][0], sub[1][0], again ? "MatCreateSubMatrices() again" : "MatCreateSubMatrices()"));
    }
    for (int k = 0; k < 2; k++) PetscCall(MatDestroySubMatrices(1, &sub[k]));
    PetscCall(ISDestroy(&rows));
  }
#undef Made
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreateSubMatrix() with new values into the matrix that it made */
static PetscErrorCode TestReuse(const BaijCase *c, MatType ours, PetscBool remote)
{
  Mat M, D[2];
  IS  rows;

  PetscFunctionBegin;
  if (c->mb != c->nb || !c->mb) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    PetscCall(BaijCreate(PETSC_COMM_WORLD, c, k ? MATBAIJ : ours, &M));
    PetscCall(BaijFill(c, 1, 1, remote, INSERT_VALUES, M));
    PetscCall(OwnRows(c, M, &rows));
    PetscCall(MatCreateSubMatrix(M, rows, rows, MAT_INITIAL_MATRIX, &D[k]));
    PetscCall(MatScale(M, 3.0));
    PetscCall(MatCreateSubMatrix(M, rows, rows, MAT_REUSE_MATRIX, &D[k]));
    PetscCall(ISDestroy(&rows));
    PetscCall(MatDestroy(&M));
  }
  PetscCall(BaijCompare(D[0], D[1], "MatCreateSubMatrix() again"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&D[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To other types and back, in place and not */
static PetscErrorCode TestConvert(const BaijCase *c, Mat M[2], MatType ours, const char where[])
{
  const MatType types[] = {MATBAIJ, MATAIJ};
  Vec           x, y, z;
  Mat           C, D;
  char          what[256];

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(M[1], &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(SpikeTestSetRandom(x, 5));
  PetscCall(MatMult(M[1], x, y));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscBool is;

    if (t && c->mb != c->nb) continue; /* PETSc has no block size of columns there */
    for (int place = 0; place < 2; place++) {
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s, to %s%s", where, types[t], place ? " in place" : ""));
      PetscCall(MatDuplicate(M[0], MAT_COPY_VALUES, &D));
      PetscCall(MatConvert(D, types[t], place ? MAT_INPLACE_MATRIX : MAT_INITIAL_MATRIX, place ? &D : &C));
      if (place) {
        C = D;
        PetscCall(PetscObjectReference((PetscObject)C));
      }
      PetscCall(
        PetscObjectTypeCompareAny((PetscObject)C, &is, t ? MATSEQAIJ : MATSEQBAIJ, t ? MATMPIAIJ : MATMPIBAIJ, ""));
      PetscCall(SpikeTestCheck(is, "%s: the type is %s", what, ((PetscObject)C)->type_name));
      PetscCall(MatMult(C, x, z));
      PetscCall(BaijSame(z, y, "product", what));
      PetscCall(MatDestroy(&D));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s, from %s%s", where, types[t], place ? " in place" : ""));
      PetscCall(MatConvert(C, ours, place ? MAT_INPLACE_MATRIX : MAT_INITIAL_MATRIX, place ? &C : &D));
      PetscCall(BaijIs(place ? C : D, what));
      PetscCall(BaijProducts(place ? C : D, M[1], PETSC_FALSE, what));
      if (!place) {
        PetscCall(MatScale(C, 2.0));
        PetscCall(MatConvert(C, ours, MAT_REUSE_MATRIX, &D));
        PetscCall(MatScale(D, 0.5));
        PetscCall(BaijProducts(D, M[1], PETSC_FALSE, what));
        PetscCall(MatDestroy(&D));
      }
      PetscCall(MatDestroy(&C));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const BaijCase *c, MatType ours, PetscBool remote)
{
  const PetscInt columns = 1 + (c->bs * 7) % 40;
  Mat            M[2];
  char           where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%" PetscInt_FMT " x %" PetscInt_FMT " blocks of %" PetscInt_FMT, c->mb,
                          c->nb, c->bs));
  for (int k = 0; k < 2; k++) {
    PetscCall(BaijCreate(PETSC_COMM_WORLD, c, k ? MATBAIJ : ours, &M[k]));
    PetscCall(BaijFill(c, 1, 1, remote, INSERT_VALUES, M[k]));
  }
  PetscCall(BaijCompare(M[0], M[1], where));
  PetscCall(BaijProducts(M[0], M[1], PETSC_TRUE, where));
  PetscCall(TestDense(M[0], M[1], columns, PETSC_TRUE, where));
  PetscCall(TestDense(M[0], M[1], (columns + 1) / 2, PETSC_TRUE, where));
  PetscCall(TestDense(M[0], M[1], 1 + columns / 8, PETSC_FALSE, where));
  PetscCall(TestDense(M[0], M[1], columns, PETSC_TRUE, where));
  PetscCall(TestMade(c, M, where));
  PetscCall(TestConvert(c, M, ours, where));
  PetscCall(TestChanges(c, M, where));
  PetscCall(MatBindToCPU(M[0], PETSC_TRUE));
  PetscCall(BaijCompare(M[0], M[1], "bound to the CPU"));
  PetscCall(MatScale(M[0], 2.0));
  PetscCall(MatScale(M[1], 2.0));
  PetscCall(MatBindToCPU(M[0], PETSC_FALSE));
  PetscCall(BaijCompare(M[0], M[1], "no more bound to the CPU"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a device there is no such type, as with PETSc's types of devices */
static PetscErrorCode TestAbsent(void)
{
  PetscErrorCode ierr;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetType(A, MATBAIJCUDA);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_UNKNOWN_TYPE), "error %d", (int)ierr));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  from = 0, to = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(baijcases);
  PetscBool absent = PETSC_FALSE, reuse = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-from", &from, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-to", &to, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-absent", &absent, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-reuse", &reuse, NULL));
  if (absent) PetscCall(TestAbsent());
  for (PetscInt k = from; k < to && !absent; k++)
    PetscCall(
      (reuse ? TestReuse : TestCase)(&baijcases[k], k % 4 == 2 ? MATMPIBAIJCUDA : MATBAIJCUDA, (PetscBool)(k % 2)));
  PetscCall(SpikeTestEnd("baij"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/baij_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
         args: -spike_host_baijcuda
      # before 3.26 that of MATMPIBAIJ takes blocks for rows
      test:
         suffix: reuse
         nsize: {{1 2 3 5}}
         requires: petsc326
         args: -spike_host_baijcuda -reuse
      test:
         suffix: absent
         requires: !cuda
         args: -absent
      test:
         suffix: cuda
         nsize: {{1 3}}
         requires: cuda gpurun
      test:
         suffix: cuda_reuse
         nsize: {{1 3}}
         requires: cuda gpurun petsc326
         args: -reuse

TEST*/
