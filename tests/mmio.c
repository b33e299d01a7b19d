/* SPDX-License-Identifier: BSD-2-Clause */
/* mmio.c: the reader of tutorials/mmio.h: what it must read, what it must refuse and with which words */
static char help[] = "Matrix Market files, right and wrong.\n\n";

#include "catch.h"
#include "spiketest.h"
#include "../tutorials/mmio.h"
#include "../tutorials/problems.h"

#define BANNER "%%MatrixMarket matrix coordinate "

/* The file and a part of the error that it must raise, or entries that it must give as row, column, value triples */
static const struct {
  const char *name, *text, *error;
  PetscInt    n, nz;
  double      entries[3 * 6];
} cases[] = {
  {"general", BANNER "real general\n2 2 3\n1 1 4\n1 2 -0.5\n2 2 1e3\n", NULL, 2, 3, {0, 0, 4, 0, 1, -0.5, 1, 1, 1000}},
  {"last line cut", BANNER "real general\n1 1 1\n1 1 7", NULL, 1, 1, {0, 0, 7}},
  {"loose layout",
   "%%matrixmarket MATRIX Coordinate REAL General\r\n% text\r\n\r\n%\r\n 2\t2  2\r\n\r\n1 1 4.0D0\r\n% more\r\n 2  2  "
   "-1.5d-1 \r\n",
   NULL,
   2,
   2,
   {0, 0, 4, 1, 1, -0.15}},
  {"symmetric", BANNER "real symmetric\n2 2 2\n1 1 4\n2 1 3\n", NULL, 2, 3, {0, 0, 4, 0, 1, 3, 1, 0, 3}},
  {"symmetric, upper", BANNER "real symmetric\n2 2 2\n1 1 4\n1 2 3\n", NULL, 2, 3, {0, 0, 4, 0, 1, 3, 1, 0, 3}},
  {"skew-symmetric", BANNER "real skew-symmetric\n2 2 1\n2 1 3\n", NULL, 2, 2, {0, 1, -3, 1, 0, 3}},
  {"pattern", BANNER "pattern general\n2 2 2\n1 2\n2 1\n", NULL, 2, 2, {0, 1, 1, 1, 0, 1}},
  {"integer, repeated", BANNER "integer general\n2 2 3\n1 1 3\n1 1 4\n2 2 -8\n", NULL, 2, 2, {0, 0, 7, 1, 1, -8}},
  {"stored zero", BANNER "real general\n2 2 2\n1 1 1\n2 1 0\n", NULL, 2, 2, {0, 0, 1, 1, 0, 0}},
  {"no entries", BANNER "real general\n3 3 0\n", NULL, 3, 0, {0}},
  {"no rows", BANNER "real general\n0 0 0\n", NULL, 0, 0, {0}},
  {"empty", "", "not a Matrix Market file", 0, 0, {0}},
  {"another format", "hello\n", "not a Matrix Market file", 0, 0, {0}},
  {"dense", "%%MatrixMarket matrix array real general\n1 1\n1\n", "dense matrix", 0, 0, {0}},
  {"vector", "%%MatrixMarket vector coordinate real general\n1 1 1\n1 1 1\n", "only the object \"matrix\"", 0, 0, {0}},
  {"unknown values", BANNER "quaternion general\n1 1 1\n1 1 1\n", "real, integer, complex, pattern", 0, 0, {0}},
  {"unknown symmetry",
   BANNER "real circulant\n1 1 1\n1 1 1\n",
   "general, symmetric, skew-symmetric, hermitian",
   0,
   0,
   {0}},
  {"no sizes", BANNER "real general\n% text\n", "rows, columns and entries is expected", 0, 0, {0}},
  {"bad sizes", BANNER "real general\n2 x 2\n", "line 2: expected the numbers of rows", 0, 0, {0}},
  {"negative size", BANNER "real general\n-2 2 2\n", "line 2: expected the numbers of rows", 0, 0, {0}},
  {"too few sizes", BANNER "real general\n2 2\n1 1 1\n", "line 2: expected the numbers of rows", 0, 0, {0}},
  {"too many rows", BANNER "real general\n99999999999999999999 1 1\n1 1 1\n", "line 2: ", 0, 0, {0}},
  {"rectangular", BANNER "real symmetric\n2 3 1\n1 1 1\n", "must be square", 0, 0, {0}},
  {"cut short", BANNER "real general\n2 2 3\n1 1 1\n2 2 1\n", "ends after line 4", 0, 0, {0}},
  {"too long",
   BANNER "real general\n2 2 1\n1 1 1\n2 2 1\n",
   "line 4: more entries than the header announces",
   0,
   0,
   {0}},
  {"row too large", BANNER "real general\n2 2 1\n3 1 1\n", "line 3: row or column outside", 0, 0, {0}},
  {"row zero", BANNER "real general\n2 2 1\n0 1 1\n", "line 3: row or column outside", 0, 0, {0}},
  {"column too large", BANNER "real general\n2 2 2\n1 1 1\n1 3 1\n", "line 4: row or column outside", 0, 0, {0}},
  {"no value", BANNER "real general\n2 2 1\n1 1\n", "line 3: expected a value", 0, 0, {0}},
  {"bad value", BANNER "real general\n2 2 1\n1 1 abc\n", "line 3: expected a value", 0, 0, {0}},
  {"value stuck to text", BANNER "real general\n2 2 1\n1 1 2x\n", "line 3: expected a value", 0, 0, {0}},
  {"text after", BANNER "real general\n2 2 1\n1 1 2 3\n", "line 3: unexpected text", 0, 0, {0}},
  {"fractional row", BANNER "real general\n2 2 1\n1.5 1 2\n", "line 3: expected a row and a column", 0, 0, {0}},
  {"both triangles",
   BANNER "real symmetric\n2 2 2\n2 1 1\n1 2 1\n",
   "line 4: a symmetric file must give one triangle",
   0,
   0,
   {0}},
#if PetscDefined(USE_COMPLEX)
  {"no imaginary part", BANNER "complex general\n1 1 1\n1 1 1\n", "an imaginary part", 0, 0, {0}},
#else
  {"complex", BANNER "complex general\n1 1 1\n1 1 1 2\n", "--with-scalar-type=complex", 0, 0, {0}},
#endif
};

/* Errors are raised on all ranks: they can be caught on several */
static PetscErrorCode LoadCatch(const char name[], Mat *A, PetscErrorCode *ierr)
{
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  const int depth = petscstack.currentsize, hot = petscstack.hotdepth;
#endif

  PetscFunctionBegin;
  memset(&caught, 0, sizeof(caught));
  PetscCall(PetscPushErrorHandler(CatchAt, NULL));
  *ierr = MatLoadFile(PETSC_COMM_WORLD, name, A);
  PetscCall(PetscPopErrorHandler());
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  petscstack.currentsize = depth + 1;
  petscstack.hotdepth    = hot;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteText(const char name[], const char text[], size_t length)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    FILE *fp = fopen(name, "wb");

    PetscCheck(fp && fwrite(text, 1, length, fp) == length && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
               "Cannot write %s", name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckEntries(Mat A, size_t k)
{
  PetscInt  n, ncols, at, rstart, rend;
  PetscBool ok = PETSC_TRUE;
  MatInfo   info;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (at = 0; at < cases[k].nz && cases[k].entries[3 * at] < rstart; at++)
    ;
  for (PetscInt i = rstart; i < rend; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;

    PetscCall(MatGetRow(A, i, &ncols, &cols, &vals));
    for (PetscInt c = 0; c < ncols; c++, at++)
      if (at >= cases[k].nz || i != (PetscInt)cases[k].entries[3 * at] ||
          cols[c] != (PetscInt)cases[k].entries[3 * at + 1] || vals[c] != (PetscScalar)cases[k].entries[3 * at + 2])
        ok = PETSC_FALSE;
    PetscCall(MatRestoreRow(A, i, &ncols, &cols, &vals));
  }
  PetscCall(SpikeTestCheck((PetscBool)(n == cases[k].n && (PetscInt)info.nz_used == cases[k].nz),
                           "%s: %" PetscInt_FMT " rows with %g entries, expected %" PetscInt_FMT ", %" PetscInt_FMT,
                           cases[k].name, n, info.nz_used, cases[k].n, cases[k].nz));
  PetscCall(SpikeTestCheck(ok, "%s: wrong entries", cases[k].name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What MatWriteMatrixMarket() and MatView() write is read back equal, on any number of ranks; more entries than one
  piece of the broadcast
*/
static PetscErrorCode CheckRoundTrip(const char dir[])
{
  const char *names[] = {"trip.mtx", "trip.bin"};
  char        file[PETSC_MAX_PATH_LEN];
  Mat         A, B;
  PetscMPIInt rank;
  PetscBool   equal;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ExchangerCreate(PETSC_COMM_WORLD, 1500, 3, &A));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s", dir, names[k]));
    if (k == 0 && rank == 0) {
      PetscCall(ExchangerCreate(PETSC_COMM_SELF, 1500, 3, &B));
      PetscCall(MatWriteMatrixMarket(B, file));
      PetscCall(MatDestroy(&B));
    }
    if (k == 1) {
      PetscViewer viewer;

      PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
      PetscCall(MatView(A, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
    }
    PetscCall(MatLoadFile(PETSC_COMM_WORLD, file, &B));
    PetscCall(MatEqual(A, B, &equal));
    PetscCall(SpikeTestCheck(equal, "%s is not the matrix that was written", names[k]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char     other[8] = {0, 0, 0, 0, 0, 0x12, 0x7b, 0x50};
  char           dir[PETSC_MAX_PATH_LEN], file[PETSC_MAX_PATH_LEN];
  PetscMPIInt    rank;
  PetscErrorCode ierr;
  Mat            A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, dir, sizeof(dir)));
  PetscCall(PetscStrlcat(dir, "/petscspike_XXXXXX", sizeof(dir)));
  if (rank == 0) PetscCall(PetscMkdtemp(dir));
  PetscCallMPI(MPI_Bcast(dir, (PetscMPIInt)sizeof(dir), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/case.mtx", dir));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(WriteText(file, cases[k].text, strlen(cases[k].text)));
    PetscCall(LoadCatch(file, &A, &ierr));
    if (cases[k].error)
      PetscCall(
        SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_FILE_READ && (rank || strstr(caught.text, cases[k].error))),
                       "%s: error %d, \"%s\" is not in: %s", cases[k].name, (int)ierr, cases[k].error, caught.text));
    else {
      PetscCall(
        SpikeTestCheck((PetscBool)(ierr == PETSC_SUCCESS), "%s: error %d: %s", cases[k].name, (int)ierr, caught.text));
      if (ierr) continue;
      PetscCall(CheckEntries(A, k));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscCall(
    WriteText(file, PetscDefined(USE_64BIT_INDICES) ? other + 4 : other, PetscDefined(USE_64BIT_INDICES) ? 4 : 8));
  PetscCall(LoadCatch(file, &A, &ierr));
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_FILE_UNEXPECTED),
                           "a binary file with other integers: error %d", (int)ierr));
  PetscCall(LoadCatch("no/such/file.mtx", &A, &ierr));
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_FILE_OPEN && (rank || strstr(caught.text, "no/such/file.mtx"))),
                   "no file: error %d: %s", (int)ierr, caught.text));
  PetscCall(LoadCatch(dir, &A, &ierr));
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_FILE_READ), "a folder: error %d", (int)ierr));
  PetscCall(CheckRoundTrip(dir));
  if (rank == 0) PetscCall(PetscRMTree(dir));
  PetscCall(SpikeTestEnd("mmio"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 3}}

TEST*/
