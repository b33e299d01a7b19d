/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Random cases of MATDIA: diagonals, layouts, sequences of operations, products.\n\n";

#include "fuzz.h"

typedef struct {
  PetscInt     m, n, mlocal, nlocal;
  PetscScalar *a; /* dense, m x n, on all ranks */
  PetscReal    norm;
} Dense;

static PetscErrorCode Vectors(Mat A, Fuzz *f, PetscBool trans, Vec *x, Vec *z, Vec *y)
{
  Vec       right, left;
  PetscBool swap = trans;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &right, &left));
  *x = swap ? left : right;
  *y = swap ? right : left;
  PetscCall(VecDuplicate(*y, z));
  PetscCall(SpikeTestSetRandom(*x, FuzzInt(f, 0, 1000)));
  PetscCall(SpikeTestSetRandom(*z, FuzzInt(f, 0, 1000)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z against the dense product */
static PetscErrorCode CheckProduct(Mat A, Fuzz *f, const Dense *d, const char where[])
{
  const PetscBool trans = FuzzChance(f, 50), conjugate = (PetscBool)(trans && FuzzChance(f, 30)),
                  add = FuzzChance(f, 40), inplace = (PetscBool)(add && FuzzChance(f, 50));
  const PetscInt rows = trans ? d->n : d->m, cols = trans ? d->m : d->n;
  PetscScalar   *xa, *ref;
  PetscReal      nx = 0.0, nz = 0.0;
  Vec            x, y, z;

  PetscFunctionBegin;
  PetscCall(Vectors(A, f, trans, &x, &z, &y));
  PetscCall(PetscMalloc2(cols, &xa, rows, &ref));
  PetscCall(FuzzGather(x, xa));
  PetscCall(FuzzGather(z, ref));
  for (PetscInt i = 0; i < rows; i++) {
    if (!add) ref[i] = 0.0;
    nz = PetscMax(nz, PetscAbsScalar(ref[i]));
    for (PetscInt j = 0; j < cols; j++) {
      const PetscScalar e = trans ? d->a[j + i * d->m] : d->a[i + j * d->m];

      ref[i] += (conjugate ? PetscConj(e) : e) * xa[j];
    }
  }
  for (PetscInt j = 0; j < cols; j++) nx = PetscMax(nx, PetscAbsScalar(xa[j]));
  if (inplace) PetscCall(VecCopy(z, y));
  if (!add && !trans) PetscCall(MatMult(A, x, y));
  else if (!add && !conjugate) PetscCall(MatMultTranspose(A, x, y));
  else if (!add) PetscCall(MatMultHermitianTranspose(A, x, y));
  else if (!trans) PetscCall(MatMultAdd(A, x, inplace ? y : z, y));
  else if (!conjugate) PetscCall(MatMultTransposeAdd(A, x, inplace ? y : z, y));
  else PetscCall(MatMultHermitianTransposeAdd(A, x, inplace ? y : z, y));
  PetscCall(FuzzSameVec(y, cols, ref, d->norm * nx + nz, trans ? "transposed product" : "product", where));
  PetscCall(PetscFree2(xa, ref));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of A against those of the array */
static PetscErrorCode CheckRows(Mat A, const Dense *d, const char where[])
{
  PetscInt  begin, end;
  PetscReal diff = 0.0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt           n, k = 0;
    const PetscInt    *cols;
    const PetscScalar *v;

    PetscCall(MatGetRow(A, i, &n, &cols, &v));
    for (PetscInt j = 0; j < d->n; j++) {
      const PetscScalar e = k < n && cols[k] == j ? v[k++] : (PetscScalar)0.0;
      const PetscReal   t = PetscAbsScalar(e - d->a[i + j * d->m]);

      if (!(t <= diff)) diff = PetscIsInfOrNanReal(t) ? PETSC_MAX_REAL : t;
    }
    if (k != n) diff = PETSC_MAX_REAL;
    PetscCall(MatRestoreRow(A, i, &n, &cols, &v));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &diff, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(FuzzSmall(diff, 16.0 * PETSC_MACHINE_EPSILON * d->norm, "entries", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void GetNorm(Dense *d)
{
  d->norm = 0.0;
  for (PetscInt i = 0; i < d->m; i++) {
    PetscReal row = 0.0;

    for (PetscInt j = 0; j < d->n; j++) row += PetscAbsScalar(d->a[i + j * d->m]);
    d->norm = PetscMax(d->norm, row);
  }
  for (PetscInt j = 0; j < d->n; j++) {
    PetscReal column = 0.0;

    for (PetscInt i = 0; i < d->m; i++) column += PetscAbsScalar(d->a[i + j * d->m]);
    d->norm = PetscMax(d->norm, column);
  }
}

/* Entries on a few diagonals with holes, added or inserted; by the rank that has the row, or by the first one */
static PetscErrorCode SetEntries(Mat A, Fuzz *f, Dense *d)
{
  const PetscInt  count = FuzzInt(f, 0, 6), seed = FuzzInt(f, 0, 1000000), holes = FuzzInt(f, 0, 4);
  const PetscBool remote = FuzzChance(f, 20);
  /* PETSc promises no order to values for one place that come from another rank: they are added */
  const InsertMode mode = FuzzChance(f, 50) || remote ? ADD_VALUES : INSERT_VALUES;
  PetscInt         begin, end;
  PetscMPIInt      rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = 0; k < count; k++) {
    const PetscInt offset = FuzzChance(f, 50) ? FuzzInt(f, -3, 3) : FuzzInt(f, -d->m, d->n);

    for (PetscInt i = 0; i < d->m; i++) {
      const PetscInt    j = i + offset;
      const PetscScalar v = (i + k) % 7 == 3 ? (PetscScalar)0.0 : SpikeTestScalar(seed + k, i, j);

      if (j < 0 || j >= d->n || (holes && (3 * i + k) % (holes + 2) == 1)) continue;
      d->a[i + j * d->m] = mode == ADD_VALUES ? d->a[i + j * d->m] + v : v;
      if (remote ? !rank : i >= begin && i < end) PetscCall(MatSetValue(A, i, j, v, mode));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scalings(Mat A, Fuzz *f, Dense *d)
{
  const PetscInt sides = FuzzInt(f, 1, 3);
  Vec            l, r;
  PetscScalar   *la, *ra;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(SpikeTestSetRandom(l, FuzzInt(f, 0, 1000)));
  PetscCall(SpikeTestSetRandom(r, FuzzInt(f, 0, 1000)));
  PetscCall(PetscMalloc2(d->m, &la, d->n, &ra));
  PetscCall(FuzzGather(l, la));
  PetscCall(FuzzGather(r, ra));
  for (PetscInt j = 0; j < d->n; j++)
    for (PetscInt i = 0; i < d->m; i++) {
      if (sides & 1) d->a[i + j * d->m] *= la[i];
      if (sides & 2) d->a[i + j * d->m] *= ra[j];
    }
  PetscCall(MatDiagonalScale(A, sides & 1 ? l : NULL, sides & 2 ? r : NULL));
  PetscCall(PetscFree2(la, ra));
  PetscCall(VecDestroy(&l));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of all ranks are zeroed, each asked for by one */
static PetscErrorCode ZeroRows(Mat A, Fuzz *f, Dense *d, PetscBool columns)
{
  const PetscScalar diag = FuzzChance(f, 50) ? 2.5 : 0.0;
  PetscInt          n = 0, rows[8], all = FuzzInt(f, 0, 8);
  PetscMPIInt       rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < all && d->m; k++) {
    const PetscInt i = FuzzInt(f, 0, d->m - 1);

    if (k % size == rank) rows[n++] = i;
    for (PetscInt j = 0; j < d->n; j++) d->a[i + j * d->m] = 0.0;
    for (PetscInt j = 0; columns && j < d->m; j++) d->a[j + i * d->m] = 0.0;
    if (i < d->n) d->a[i + i * d->m] = diag;
  }
  if (columns) PetscCall(MatZeroRowsColumns(A, n, rows, diag, NULL, NULL));
  else PetscCall(MatZeroRows(A, n, rows, diag, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Change(Mat *A, Fuzz *f, Dense *d, PetscBool layouts, char what[], size_t length)
{
  const char *const names[] = {"entries",   "MatScale", "MatDiagonalScale", "MatZeroRows",    "MatDuplicate",
                               "MatShift",  "AXPY",     "transpose",        "MatZeroEntries", "ZeroRowsColumns",
                               "MatConvert"};
  const PetscBool   square  = (PetscBool)(d->m == d->n && layouts);
  const PetscInt    op      = FuzzInt(f, 0, square ? 10 : 4);
  const PetscScalar s       = 0.5 + FuzzInt(f, 0, 10);
  Mat               B;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(what, names[op], length));
  switch (op) {
  case 0:
    PetscCall(SetEntries(*A, f, d));
    break;
  case 1:
    PetscCall(MatScale(*A, s));
    for (PetscInt k = 0; k < d->m * d->n; k++) d->a[k] *= s;
    break;
  case 2:
    PetscCall(Scalings(*A, f, d));
    break;
  case 3:
  case 9:
    PetscCall(ZeroRows(*A, f, d, (PetscBool)(op == 9)));
    break;
  case 4:
    PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &B));
    PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatDestroy(A));
    *A = B;
    break;
  case 5:
    PetscCall(MatShift(*A, s));
    for (PetscInt i = 0; i < d->m; i++) d->a[i + i * d->m] += s;
    break;
  case 6:
    PetscCall(MatTranspose(*A, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatAXPY(*A, s, B, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&B));
    for (PetscInt j = 0; j < d->n; j++)
      for (PetscInt i = 0; i <= j; i++) {
        const PetscScalar u = d->a[i + j * d->m], l = d->a[j + i * d->m];

        d->a[i + j * d->m] = u + s * l;
        d->a[j + i * d->m] = l + s * u;
      }
    break;
  case 7:
    PetscCall(MatTranspose(*A, MAT_INPLACE_MATRIX, A));
    for (PetscInt j = 0; j < d->n; j++)
      for (PetscInt i = 0; i < j; i++) {
        const PetscScalar u = d->a[i + j * d->m];

        d->a[i + j * d->m] = d->a[j + i * d->m];
        d->a[j + i * d->m] = u;
      }
    break;
  case 8:
    PetscCall(MatZeroEntries(*A));
    PetscCall(PetscArrayzero(d->a, d->m * d->n));
    PetscCall(SetEntries(*A, f, d));
    break;
  default:
    PetscCall(MatConvert(*A, MATAIJ, MAT_INPLACE_MATRIX, A));
    PetscCall(MatConvert(*A, f->device ? "diacuda" : MATDIA, MAT_INPLACE_MATRIX, A));
  }
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  GetNorm(d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const PetscInt changes = FuzzInt(f, 0, 8);
  PetscBool      layouts;
  Dense          d;
  Mat            A;
  char           where[160], what[32] = "entries";

  PetscFunctionBegin;
  d.m = FuzzSize(f, 300);
  d.n = FuzzChance(f, 60) ? d.m : FuzzSize(f, 300);
  PetscCall(FuzzSplit(f, d.m, &d.mlocal));
  layouts  = (PetscBool)(d.m == d.n && FuzzChance(f, 70)); /* of rows and columns are the same */
  d.nlocal = d.mlocal;
  if (!layouts) PetscCall(FuzzSplit(f, d.n, &d.nlocal));
  PetscCall(PetscCalloc1(d.m * d.n, &d.a));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, d.mlocal, d.nlocal, d.m, d.n));
  PetscCall(MatSetType(A, f->device ? "diacuda" : MATDIA));
  PetscCall(MatSetUp(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(SetEntries(A, f, &d));
  GetNorm(&d);
  for (PetscInt c = 0; c <= changes; c++) {
    if (c) PetscCall(Change(&A, f, &d, layouts, what, sizeof(what)));
    PetscCall(PetscSNPrintf(where, sizeof(where), "%" PetscInt_FMT " x %" PetscInt_FMT ", change %" PetscInt_FMT ", %s",
                            d.m, d.n, c, what));
    PetscCall(CheckRows(A, &d, where));
    for (PetscInt k = 0; k < 2; k++) PetscCall(CheckProduct(A, f, &d, where));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(d.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_dia", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_dia_1.out
      test:
         suffix: 1
         args: -n 100
      test:
         suffix: ranks
         nsize: {{2 3 4 5}}
         args: -n 30 -first 100
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -n 100 -fuzz_device
      test:
         suffix: cuda4
         nsize: 4
         requires: cuda gpurun
         args: -n 20 -first 200 -fuzz_device

TEST*/
