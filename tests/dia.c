/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Each operation of MATDIA against the same of MATAIJ.\n\
  -dia_type diacuda : of MATDIACUDA\n\n";

#include "diacase.h"

/* A twice, as AIJ and as DIA */
static PetscErrorCode Pair(const DiaCase *c, PetscInt where, Mat *B, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DiaMat(PETSC_COMM_WORLD, c, where, MATAIJ, PETSC_FALSE, B));
  if (!strcmp(SpikeTestDiaType(), MATDIACUDA) && (c - diacases) % 2) { /* from values that are on the device */
    Mat C;

    PetscCall(MatConvert(*B, MATAIJCUSPARSE, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatConvert(C, MATDIACUDA, MAT_INITIAL_MATRIX, A));
    PetscCall(MatDestroy(&C));
  } else PetscCall(MatConvert(*B, SpikeTestDiaType(), MAT_INITIAL_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products, from y full of NaN where it is written */
static PetscErrorCode TestProducts(Mat A, Mat B, const char where[])
{
  Vec         x, y, z, w, s, t;
  PetscScalar nan = 0.0;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(y, &w));
  PetscCall(VecDuplicate(x, &s));
  PetscCall(VecDuplicate(x, &t));
  PetscCall(SpikeTestSetRandom(x, 11));
  PetscCall(SpikeTestSetRandom(z, 12));
  PetscCall(VecSet(w, nan));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatMult(A, x, w));
  PetscCall(DiaSame(w, y, "MatMult()", where));
  PetscCall(VecSet(w, nan));
  PetscCall(MatMultAdd(B, x, z, y));
  PetscCall(MatMultAdd(A, x, z, w));
  PetscCall(DiaSame(w, y, "MatMultAdd()", where));
  PetscCall(VecCopy(z, w));
  PetscCall(MatMultAdd(A, x, w, w));
  PetscCall(DiaSame(w, y, "MatMultAdd() in place", where));

  PetscCall(SpikeTestSetRandom(y, 13));
  PetscCall(SpikeTestSetRandom(t, 14));
  PetscCall(VecSet(s, nan));
  PetscCall(MatMultTranspose(B, y, x));
  PetscCall(MatMultTranspose(A, y, s));
  PetscCall(DiaSame(s, x, "MatMultTranspose()", where));
  PetscCall(VecSet(s, nan));
  PetscCall(MatMultTransposeAdd(B, y, t, x));
  PetscCall(MatMultTransposeAdd(A, y, t, s));
  PetscCall(DiaSame(s, x, "MatMultTransposeAdd()", where));
  PetscCall(VecCopy(t, s));
  PetscCall(MatMultTransposeAdd(A, y, s, s));
  PetscCall(DiaSame(s, x, "MatMultTransposeAdd() in place", where));
  PetscCall(VecSet(s, nan));
  PetscCall(MatMultHermitianTranspose(B, y, x));
  PetscCall(MatMultHermitianTranspose(A, y, s));
  PetscCall(DiaSame(s, x, "MatMultHermitianTranspose()", where));
  PetscCall(VecSet(s, nan));
  PetscCall(MatMultHermitianTransposeAdd(B, y, t, x));
  PetscCall(MatMultHermitianTransposeAdd(A, y, t, s));
  PetscCall(DiaSame(s, x, "MatMultHermitianTransposeAdd()", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&s));
  PetscCall(VecDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product has the bits that it has on one rank */
static PetscErrorCode TestBits(const DiaCase *c, Mat A, const char where[])
{
  Mat                S;
  Vec                x, y, xs, ys;
  const PetscScalar *a, *b;
  PetscInt           begin, end;
  PetscBool          same;

  PetscFunctionBegin;
  PetscCall(DiaMat(PETSC_COMM_SELF, c, 0, SpikeTestDiaType(), PETSC_FALSE, &S));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatCreateVecs(S, &xs, &ys));
  PetscCall(SpikeTestSetRandom(x, 21));
  PetscCall(SpikeTestSetRandom(xs, 21));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(S, xs, ys));
  PetscCall(VecGetOwnershipRange(y, &begin, &end));
  PetscCall(VecGetArrayRead(y, &a));
  PetscCall(VecGetArrayRead(ys, &b));
  same = (PetscBool)(begin == end || !memcmp(a, b + begin, (end - begin) * sizeof(*a)));
  PetscCall(VecRestoreArrayRead(ys, &b));
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCall(SpikeTestCheck(same, "%s: a product has other bits than on one rank", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&xs));
  PetscCall(VecDestroy(&ys));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows by MatGetRow(), the diagonal, norms */
static PetscErrorCode TestReading(Mat A, Mat B, const char where[])
{
  const NormType norms[] = {NORM_1, NORM_INFINITY, NORM_FROBENIUS};
  PetscInt       begin, end, k[2], m, n;
  PetscReal      norm[2];
  PetscBool      same = PETSC_TRUE;
  Vec            d, e;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt    *cols[2];
    const PetscScalar *vals[2];

    PetscCall(MatGetRow(A, i, &k[0], &cols[0], &vals[0]));
    PetscCall(MatGetRow(B, i, &k[1], &cols[1], &vals[1]));
    if (k[0] != k[1]) same = PETSC_FALSE;
    for (PetscInt j = 0; same && j < k[0]; j++)
      same = (PetscBool)(cols[0][j] == cols[1][j] && vals[0][j] == vals[1][j]);
    PetscCall(MatRestoreRow(B, i, &k[1], &cols[1], &vals[1]));
    PetscCall(MatRestoreRow(A, i, &k[0], &cols[0], &vals[0]));
  }
  PetscCall(SpikeTestCheck(same, "%s: MatGetRow()", where));
  for (int t = 0; t < 3; t++) {
    PetscCall(MatNorm(A, norms[t], &norm[0]));
    PetscCall(MatNorm(B, norms[t], &norm[1]));
    PetscCall(SpikeTestSmall(PetscAbsReal(norm[0] - norm[1]), DIATEST_TOL * norm[1], "norm", where));
  }
  PetscCall(MatGetSize(A, &m, &n));
  if (m == n) {
    PetscCall(MatCreateVecs(A, &d, &e));
    PetscCall(VecSet(e, 7.0));
    PetscCall(MatGetDiagonal(B, d));
    PetscCall(MatGetDiagonal(A, e));
    PetscCall(DiaSame(e, d, "MatGetDiagonal()", where));
    PetscCall(VecDestroy(&d));
    PetscCall(VecDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What changes values in their places; the pattern does not change */
static PetscErrorCode TestWriting(Mat A, Mat B, const char where[])
{
  Mat              C, D;
  Vec              l, r;
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(A, &before));
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(SpikeTestSetRandom(l, 31));
  PetscCall(SpikeTestSetRandom(r, 32));
  PetscCall(MatScale(A, -1.5));
  PetscCall(MatScale(B, -1.5));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatDiagonalScale(A, l, r));
  PetscCall(MatDiagonalScale(B, l, r));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatDiagonalScale(A, NULL, r));
  PetscCall(MatDiagonalScale(B, NULL, r));
  PetscCall(MatDiagonalScale(A, l, NULL));
  PetscCall(MatDiagonalScale(B, l, NULL));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatConjugate(A));
  PetscCall(MatConjugate(B));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatScale(C, 0.5));
  PetscCall(MatScale(D, 0.5));
  PetscCall(MatAXPY(A, 2.0, C, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(B, 2.0, D, SAME_NONZERO_PATTERN));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatCopy(C, A, SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(D, B, SAME_NONZERO_PATTERN));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCall(SpikeTestCheck((PetscBool)(before == after), "%s: the pattern changed", where));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatZeroEntries(B));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transposes, and what goes by AIJ because places may be new */
static PetscErrorCode TestPattern(const DiaCase *c, PetscInt place, const char where[])
{
  Mat A, B, C, D;
  Vec d;

  PetscFunctionBegin;
  PetscCall(Pair(c, place, &B, &A));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &D));
  PetscCall(DiaCompare(C, D, where));
  PetscCall(MatScale(A, 3.0));
  PetscCall(MatScale(B, 3.0));
  PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &C));
  PetscCall(MatTranspose(B, MAT_REUSE_MATRIX, &D));
  PetscCall(DiaCompare(C, D, where));
  PetscCall(MatTranspose(C, MAT_INPLACE_MATRIX, &C));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  if (c->m == c->n) {
    PetscCall(MatCreateVecs(A, &d, NULL));
    PetscCall(SpikeTestSetRandom(d, 41));
    PetscCall(MatShift(A, 0.75));
    PetscCall(MatShift(B, 0.75));
    PetscCall(DiaCompare(A, B, where));
    PetscCall(MatShift(A, -0.5));
    PetscCall(MatShift(B, -0.5));
    PetscCall(DiaCompare(A, B, where));
    PetscCall(MatDiagonalSet(A, d, INSERT_VALUES));
    PetscCall(MatDiagonalSet(B, d, INSERT_VALUES));
    PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
    PetscCall(MatDiagonalSet(B, d, ADD_VALUES));
    PetscCall(DiaCompare(A, B, where));
    PetscCall(VecDestroy(&d));
    if (c->m > 10) {
      const PetscInt rows[] = {0, c->m / 2, c->m - 3};
      PetscMPIInt    rank;

      PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
      PetscCall(MatZeroRows(A, rank ? 0 : 3, rows, 2.0, NULL, NULL));
      PetscCall(MatZeroRows(B, rank ? 0 : 3, rows, 2.0, NULL, NULL));
      PetscCall(DiaCompare(A, B, where));
      PetscCall(MatZeroRowsColumns(A, rank ? 0 : 1, rows + 1, 4.0, NULL, NULL));
      PetscCall(MatZeroRowsColumns(B, rank ? 0 : 1, rows + 1, 4.0, NULL, NULL));
      PetscCall(DiaCompare(A, B, where));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sum with a matrix on other diagonals; the diagonal block of each rank */
static PetscErrorCode TestOther(const DiaCase *c, PetscInt place, const char where[])
{
  DiaCase     other = *c;
  Mat         A, B, C, D, block, ref;
  PetscMPIInt size;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Pair(c, place, &B, &A));
  other.count     = 2;
  other.offset[0] = -2;
  other.offset[1] = 4;
  PetscCall(Pair(&other, place, &D, &C));
  PetscCall(MatAXPY(A, -0.5, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(B, -0.5, D, DIFFERENT_NONZERO_PATTERN));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatCopy(A, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatEqual(A, C, &same));
  PetscCall(SpikeTestCheck(same, "%s: a copy is not equal", where));
  PetscCall(MatScale(C, 2.0));
  PetscCall(MatEqual(A, C, &same));
  PetscCall(SpikeTestCheck((PetscBool)(!same || !c->m || c->offset[0] == 7), "%s: another matrix is equal", where));
  if (c->m == c->n && size > 1) {
    for (PetscInt k = 0; k < 2; k++) {
      PetscReal error;

      PetscCall(MatGetDiagonalBlock(A, &block));
      PetscCall(MatGetDiagonalBlock(B, &ref));
      PetscCall(MatConvert(block, MATAIJ, MAT_INITIAL_MATRIX, &block));
      PetscCall(MatAXPY(block, -1.0, ref, DIFFERENT_NONZERO_PATTERN));
      PetscCall(MatNorm(block, NORM_FROBENIUS, &error));
      PetscCall(SpikeTestSmall(error, DIATEST_TOL, "diagonal block", where));
      PetscCall(MatDestroy(&block));
      PetscCall(MatScale(A, 2.0));
      PetscCall(MatScale(B, 2.0));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Conversions to and from other types, in all ways, and files */
static PetscErrorCode TestConversion(const DiaCase *c, PetscInt place, const char where[])
{
  Mat              A, B, C, D;
  PetscBool        is;
  PetscViewer      viewer;
  PetscInt         m, n;
  PetscObjectState before, after;
  MatType          type;

  PetscFunctionBegin;
  PetscCall(Pair(c, place, &B, &A));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatConvert(C, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &D));
  PetscCall(MatGetType(D, &type));
  PetscCall(PetscStrendswith(type, SpikeTestDiaType(), &is));
  PetscCall(SpikeTestCheck(is, "%s: a conversion gave another type", where));
  PetscCall(TestProducts(D, B, where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
  PetscCall(MatConvert(C, SpikeTestDiaType(), MAT_INPLACE_MATRIX, &C));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &is, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(SpikeTestCheck(is, "%s: a conversion gave another type", where));
  PetscCall(MatScale(C, -2.0));
  PetscCall(MatScale(B, -2.0));
  PetscCall(MatGetNonzeroState(A, &before));
  PetscCall(MatConvert(C, SpikeTestDiaType(), MAT_REUSE_MATRIX, &A));
  PetscCall(MatGetNonzeroState(A, &after));
  PetscCall(SpikeTestCheck((PetscBool)(before == after), "%s: values in the same places changed the pattern", where));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatZeroEntries(C));
  PetscCall(MatConvert(A, MATAIJ, MAT_REUSE_MATRIX, &C));
  PetscCall(DiaCompare(A, C, where));
  PetscCall(MatDestroy(&C));
  if (c->m) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "dia.tmp", FILE_MODE_WRITE, &viewer));
    PetscCall(MatView(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    for (PetscInt sized = 0; sized < 2; sized++) {
      PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "dia.tmp", FILE_MODE_READ, &viewer));
      PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
      PetscCall(MatGetLocalSize(A, &m, &n));
      if (sized || place) PetscCall(MatSetSizes(C, m, n, c->m, c->n));
      PetscCall(MatSetType(C, SpikeTestDiaType()));
      PetscCall(MatLoad(C, viewer));
      PetscCall(DiaCompare(C, B, where));
      PetscCall(MatDestroy(&C));
      PetscCall(PetscViewerDestroy(&viewer));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    (void)remove("dia.tmp");
    (void)remove("dia.tmp.info");
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Between the two types, there and back; a matrix that is bound to the CPU for a while; on one rank nothing moves
  between host and device in products
*/
static PetscErrorCode TestDevice(const DiaCase *c, PetscInt place, const char where[])
{
  Mat            A, B, C, D;
  Vec            x, y, d;
  PetscLogDouble moved[2] = {0.0, 0.0};
  PetscMemType   memtype;
  PetscMPIInt    size;
  PetscBool      is;

  PetscFunctionBegin;
  if (strcmp(SpikeTestDiaType(), MATDIACUDA)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Pair(c, place, &B, &A));
  PetscCall(MatGetCurrentMemType(A, &memtype));
  PetscCall(SpikeTestCheck((PetscBool)PetscMemTypeCUDA(memtype), "%s: values are not on the device", where));
  PetscCall(MatConvert(A, MATDIA, MAT_INITIAL_MATRIX, &C));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &is, MATSEQDIA, MATMPIDIA, ""));
  PetscCall(SpikeTestCheck(is, "%s: a conversion gave another type", where));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatScale(C, 2.0));
  PetscCall(MatScale(B, 2.0));
  PetscCall(MatConvert(C, MATDIACUDA, MAT_REUSE_MATRIX, &A));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatAXPY(A, 0.5, C, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(B, 1.5));
  PetscCall(DiaCompare(A, B, where));
  PetscCall(MatConvert(C, MATDIACUDA, MAT_INPLACE_MATRIX, &C));
  PetscCall(MatScale(C, 1.5));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatConvert(C, MATDIA, MAT_INPLACE_MATRIX, &C));
  PetscCall(DiaCompare(C, B, where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(A, MATAIJCUSPARSE, MAT_INITIAL_MATRIX, &C));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)C, &is, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(SpikeTestCheck(is, "%s: a conversion gave another type", where));
  PetscCall(MatConvert(C, MATDIACUDA, MAT_INITIAL_MATRIX, &D));
  PetscCall(DiaCompare(D, B, where));
  PetscCall(MatScale(C, -1.0));
  PetscCall(MatScale(B, -1.0));
  PetscCall(MatConvert(C, MATDIACUDA, MAT_REUSE_MATRIX, &D));
  PetscCall(DiaCompare(D, B, where));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&C));
  PetscCall(MatScale(A, -1.0));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &d));
  PetscCall(SpikeTestSetRandom(x, 51));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, y, x));
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  moved[0] = petsc_ctog_sz + petsc_gtoc_sz;
#endif
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(MatScale(A, 1.0));
  if (c->m == c->n) PetscCall(MatGetDiagonal(A, d));
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  moved[1] = petsc_ctog_sz + petsc_gtoc_sz;
#endif
  PetscCall(SpikeTestCheck((PetscBool)(size > 1 || moved[0] == moved[1]), "%s: %g bytes moved in products", where,
                           (double)(moved[1] - moved[0])));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&d));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatBindToCPU(A, PETSC_TRUE));
    PetscCall(MatGetCurrentMemType(A, &memtype));
    PetscCall(SpikeTestCheck((PetscBool)PetscMemTypeHost(memtype), "%s: values are not on the host", where));
    PetscCall(MatScale(A, 3.0));
    PetscCall(MatScale(B, 3.0));
    PetscCall(DiaCompare(A, B, where));
    PetscCall(TestProducts(A, B, where));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    PetscCall(DiaCompare(C, B, where));
    PetscCall(MatDestroy(&C));
    PetscCall(MatBindToCPU(A, PETSC_FALSE));
    PetscCall(DiaCompare(A, B, where));
    PetscCall(TestProducts(A, B, where));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(diacases); k++) {
    const DiaCase *c = &diacases[k];

    for (PetscInt place = 0; place < (size > 1 && DiaLayouts(c) ? 3 : 1); place++) {
      char where[128];
      Mat  A, B;

      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, layout %" PetscInt_FMT, c->name, place));
      PetscCall(Pair(c, place, &B, &A));
      PetscCall(DiaCompare(A, B, where));
      for (PetscInt schedule = 0; schedule < 2; schedule++) {
        PetscCall(MatDIASetSchedule(A, (MatDIAScheduleType)schedule));
        PetscCall(TestProducts(A, B, where));
      }
      PetscCall(TestBits(c, A, where));
      PetscCall(TestReading(A, B, where));
      PetscCall(TestWriting(A, B, where));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
      PetscCall(TestPattern(c, place, where));
      PetscCall(TestOther(c, place, where));
      PetscCall(TestConversion(c, place, where));
      PetscCall(TestDevice(c, place, where));
    }
  }
  PetscCall(SpikeTestEnd("dia"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/dia_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: base
         nsize: {{1 3}}
         args: -spike_host_isa base
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -dia_type diacuda
      test:
         suffix: cudatwophase
         nsize: 3
         requires: cuda gpurun
         args: -dia_type diacuda -mat_dia_schedule twophase
      test:
         suffix: nodes
         nsize: {{3 4}}
         args: -mat_dia_ranks_per_node {{1 2}} -mat_dia_schedule {{overlap twophase}}
      test:
         suffix: cudanodes
         nsize: {{3 4}}
         requires: cuda gpurun
         args: -dia_type diacuda -mat_dia_ranks_per_node {{1 2}} -mat_dia_schedule {{overlap twophase}}

TEST*/
