/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mmio.h: sparse matrices from Matrix Market text and PETSc binary files. Header only; everything is static.

      MatLoadFile(comm, name, &A)             looks at the first bytes and calls one of the next two
      MatLoadMatrixMarket(comm, name, &A)     the type is that of -mat_type, aij without it
      MatLoad()                               of PETSc
      MatWriteMatrixMarket(A, name)           A on one rank; 17 digits, so that what is read back is equal to the bit

  Read are coordinate files with real, integer, complex (complex builds) and pattern values, general, symmetric,
  skew-symmetric and hermitian; entries given twice are added, stored zeros are kept. Rank 0 reads the file once and
  broadcasts pieces, every rank keeps its rows.
*/
#pragma once

#include <petscmat.h>
#include <ctype.h>
#include <errno.h>

#define MM_CHUNK 16384 /* entries in one broadcast, before those of the other triangle are added */
#define MM_LINE  1100  /* the format allows 1024 characters in a line */

typedef struct {
  FILE        *fp;
  const char  *name;
  PetscInt64   line, m, n, nz, lower, upper; /* entries still to read; entries seen below and above the diagonal */
  PetscBool    iscomplex, pattern, integer, symmetric, skew, hermitian;
  char         text[MM_LINE];
  char         msg[512]; /* not empty: what is wrong with the file, whose name is cut so that the rest has room */
  PetscInt    *ij;       /* entries on their way to the ranks */
  PetscScalar *v;
  Mat          A;
} MMFile;

/*
  f->text <- the next line that is neither blank nor a comment. The checks return false and leave f->msg: errors are
  raised by all ranks together
*/
static inline PetscBool MMNextLine_Private(MMFile *f)
{
  while (fgets(f->text, MM_LINE, f->fp)) {
    const char *c = f->text;

    f->line++;
    if (!strchr(f->text, '\n') && !feof(f->fp)) {
      snprintf(f->msg, sizeof(f->msg),
               "%.300s, line %" PetscInt64_FMT ": longer than the 1024 characters that Matrix Market allows", f->name,
               f->line);
      return PETSC_FALSE;
    }
    while (isspace((unsigned char)*c)) c++;
    if (*c && *c != '%') return PETSC_TRUE;
  }
  snprintf(f->msg, sizeof(f->msg), "%.300s ends after line %" PetscInt64_FMT " where %s expected", f->name, f->line,
           f->m < 0 ? "the line with rows, columns and entries is" : "more entries are");
  return PETSC_FALSE;
}

static inline PetscBool MMBadLine_Private(MMFile *f, const char *what)
{
  f->text[strcspn(f->text, "\r\n")] = 0;
  snprintf(f->msg, sizeof(f->msg), "%.300s, line %" PetscInt64_FMT ": %s: \"%.80s\"", f->name, f->line, what, f->text);
  return PETSC_FALSE;
}

static inline PetscBool MMInteger_Private(const char **c, PetscInt64 *v)
{
  char *end;

  errno = 0;
  *v    = (PetscInt64)strtoll(*c, &end, 10);
  if (end == *c || errno || (*end && !isspace((unsigned char)*end))) return PETSC_FALSE;
  *c = end;
  return PETSC_TRUE;
}

static inline PetscBool MMReal_Private(const char **c, PetscReal *v)
{
  char *end;

  *v = (PetscReal)strtod(*c, &end);
  if (end == *c || (*end && !isspace((unsigned char)*end))) return PETSC_FALSE;
  *c = end;
  return PETSC_TRUE;
}

static inline PetscBool MMEnd_Private(const char *c)
{
  while (isspace((unsigned char)*c)) c++;
  return (PetscBool) !*c;
}

/* The banner and the line of sizes */
static inline PetscBool MMHeader_Private(MMFile *f)
{
  char        banner[5][32] = {{0}};
  const char *c;
  PetscInt64  v;

  f->m = f->n = f->nz = -1;
  if (!fgets(f->text, MM_LINE, f->fp)) f->text[0] = 0;
  f->line = 1;
  (void)sscanf(f->text, "%31s %31s %31s %31s %31s", banner[0], banner[1], banner[2], banner[3], banner[4]);
  for (int k = 0; k < 5; k++)
    for (char *s = banner[k]; *s; s++) *s = (char)tolower((unsigned char)*s);
  if (strcmp(banner[0], "%%matrixmarket"))
    return MMBadLine_Private(f, "not a Matrix Market file, which begins with %%MatrixMarket");
  if (strcmp(banner[1], "matrix")) return MMBadLine_Private(f, "only the object \"matrix\" can be read");
  if (!strcmp(banner[2], "array"))
    return MMBadLine_Private(f, "a dense matrix (\"array\"); only sparse ones (\"coordinate\") can be read");
  if (strcmp(banner[2], "coordinate")) return MMBadLine_Private(f, "the format is not \"coordinate\"");
  f->iscomplex = (PetscBool)!strcmp(banner[3], "complex");
  f->pattern   = (PetscBool)!strcmp(banner[3], "pattern");
  f->integer   = (PetscBool)!strcmp(banner[3], "integer");
  f->symmetric = (PetscBool)!strcmp(banner[4], "symmetric");
  f->skew      = (PetscBool)!strcmp(banner[4], "skew-symmetric");
  f->hermitian = (PetscBool)!strcmp(banner[4], "hermitian");
  if (!f->iscomplex && !f->pattern && !f->integer && strcmp(banner[3], "real"))
    return MMBadLine_Private(f, "values are none of real, integer, complex, pattern");
  if (!f->symmetric && !f->skew && !f->hermitian && strcmp(banner[4], "general"))
    return MMBadLine_Private(f, "symmetry is none of general, symmetric, skew-symmetric, hermitian");
  if (f->iscomplex && !PetscDefined(USE_COMPLEX))
    return MMBadLine_Private(f, "complex values need a PETSc configured --with-scalar-type=complex");
  if (!MMNextLine_Private(f)) return PETSC_FALSE;
  c = f->text;
  if (!MMInteger_Private(&c, &v) || v < 0)
    return MMBadLine_Private(f, "expected the numbers of rows, columns and entries");
  f->m = v;
  if (!MMInteger_Private(&c, &f->n) || !MMInteger_Private(&c, &f->nz) || f->n < 0 || f->nz < 0 || !MMEnd_Private(c))
    return MMBadLine_Private(f, "expected the numbers of rows, columns and entries");
  if (f->m > PETSC_INT_MAX || f->n > PETSC_INT_MAX)
    return MMBadLine_Private(f, "more rows or columns than PetscInt holds; configure PETSc --with-64-bit-indices");
  if ((f->symmetric || f->skew || f->hermitian) && f->m != f->n)
    return MMBadLine_Private(f, "a symmetric matrix must be square");
  return PETSC_TRUE;
}

/* The next entry and, with symmetry, its mirror image; *cnt of them are written */
static inline PetscBool MMEntry_Private(MMFile *f, PetscInt *cnt, PetscInt ij[], PetscScalar v[])
{
  const char *c;
  PetscInt64  i, j;
  PetscReal   re = 1.0, im = 0.0;

  *cnt = 0;
  if (!MMNextLine_Private(f)) return PETSC_FALSE;
  for (char *s = f->text; *s; s++)
    if (*s == 'D' || *s == 'd') *s = 'e'; /* exponents as Fortran writes them */
  c = f->text;
  if (!MMInteger_Private(&c, &i) || !MMInteger_Private(&c, &j))
    return MMBadLine_Private(f, "expected a row and a column");
  if (i < 1 || i > f->m || j < 1 || j > f->n)
    return MMBadLine_Private(f, "row or column outside the matrix; they count from 1");
  if (!f->pattern && !MMReal_Private(&c, &re)) return MMBadLine_Private(f, "expected a value after row and column");
  if (f->iscomplex && !MMReal_Private(&c, &im))
    return MMBadLine_Private(f, "expected a real and an imaginary part after row and column");
  if (!MMEnd_Private(c)) return MMBadLine_Private(f, "unexpected text after the entry");
  ij[0] = (PetscInt)(i - 1);
  ij[1] = (PetscInt)(j - 1);
#if PetscDefined(USE_COMPLEX)
  v[0] = PetscCMPLX(re, im);
#else
  v[0] = re;
#endif
  *cnt = 1;
  if (i == j) return PETSC_TRUE;
  if (f->symmetric || f->skew || f->hermitian) {
    if (i > j) f->lower++;
    else f->upper++;
    if (f->lower && f->upper)
      return MMBadLine_Private(f, "a symmetric file must give one triangle only, this one gives both");
    ij[2] = ij[1];
    ij[3] = ij[0];
    v[1]  = f->skew ? -v[0] : (f->hermitian ? PetscConj(v[0]) : v[0]);
    *cnt  = 2;
  }
  return PETSC_TRUE;
}

static inline PetscErrorCode MMDestroy_Private(MMFile **f)
{
  PetscFunctionBegin;
  if ((*f)->fp) (void)fclose((*f)->fp);
  PetscCall(PetscFree2((*f)->ij, (*f)->v));
  PetscCall(MatDestroy(&(*f)->A));
  PetscCall(PetscFree(*f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Raises the error of rank 0 on all ranks, after f is destroyed */
static inline PetscErrorCode MMCheck_Private(MPI_Comm comm, MMFile *f)
{
  char msg[sizeof(f->msg)];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(f->msg, (PetscMPIInt)sizeof(f->msg), MPI_CHAR, 0, comm));
  if (f->msg[0]) {
    PetscCall(PetscStrncpy(msg, f->msg, sizeof(msg)));
    PetscCall(MMDestroy_Private(&f));
    SETERRQ(comm, PETSC_ERR_FILE_READ, "%s", msg);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f->ij, f->v <- at most MM_CHUNK entries of the file and their mirror images */
static inline PetscInt MMRead_Private(MMFile *f, PetscInt64 nz)
{
  PetscBool ok  = PETSC_TRUE;
  PetscInt  cnt = 0;

  for (PetscInt64 k = 0; ok && k < PetscMin(nz, MM_CHUNK); k++) {
    PetscInt one;

    ok = MMEntry_Private(f, &one, f->ij + 2 * cnt, f->v + cnt);
    cnt += one;
  }
  return cnt;
}

static inline PetscErrorCode MatLoadMatrixMarket(MPI_Comm comm, const char name[], Mat *A)
{
  MMFile     *f;
  PetscMPIInt rank;
  PetscInt64  sizes[3];
  PetscInt    rstart, rend, cnt = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscNew(&f));
  f->name = name;
  if (rank == 0) {
    f->fp = fopen(name, "r");
    if (!f->fp) snprintf(f->msg, sizeof(f->msg), "Cannot open the file %.300s: %s", name, strerror(errno));
    else (void)MMHeader_Private(f);
  }
  PetscCall(MMCheck_Private(comm, f));
  sizes[0] = f->m;
  sizes[1] = f->n;
  sizes[2] = f->nz;
  PetscCallMPI(MPI_Bcast(sizes, 3, MPIU_INT64, 0, comm));

  PetscCall(MatCreate(comm, &f->A));
  PetscCall(MatSetSizes(f->A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)sizes[0], (PetscInt)sizes[1]));
  PetscCall(MatSetFromOptions(f->A));
  PetscCall(MatSetUp(f->A)); /* no preallocation: entries go into a hash table until the assembly */
  PetscCall(MatGetOwnershipRange(f->A, &rstart, &rend));
  PetscCall(PetscMalloc2(4 * MM_CHUNK, &f->ij, 2 * MM_CHUNK, &f->v));
  for (PetscInt64 done = 0; done < sizes[2]; done += MM_CHUNK) {
    if (rank == 0) cnt = MMRead_Private(f, sizes[2] - done);
    PetscCall(MMCheck_Private(comm, f));
    PetscCallMPI(MPI_Bcast(&cnt, 1, MPIU_INT, 0, comm));
    PetscCallMPI(MPI_Bcast(f->ij, (PetscMPIInt)(2 * cnt), MPIU_INT, 0, comm));
    PetscCallMPI(MPI_Bcast(f->v, (PetscMPIInt)cnt, MPIU_SCALAR, 0, comm));
    for (PetscInt k = 0; k < cnt; k++) {
      if (f->ij[2 * k] >= rstart && f->ij[2 * k] < rend)
        PetscCall(MatSetValue(f->A, f->ij[2 * k], f->ij[2 * k + 1], f->v[k], ADD_VALUES));
    }
  }
  if (rank == 0) {
    if (MMNextLine_Private(f)) (void)MMBadLine_Private(f, "more entries than the header announces");
    else f->msg[0] = 0; /* the end of the file is what we want here */
  }
  PetscCall(MMCheck_Private(comm, f));
  PetscCall(MatAssemblyBegin(f->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(f->A, MAT_FINAL_ASSEMBLY));
  *A   = f->A;
  f->A = NULL;
  PetscCall(MMDestroy_Private(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatWriteMatrixMarket(Mat A, const char name[])
{
  FILE              *fp;
  MatInfo            info;
  PetscInt           m, n, ncols;
  PetscMPIInt        size;
  const PetscInt    *cols;
  const PetscScalar *vals;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "Only a matrix on one rank can be written, this one is on %d", size);
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  fp = fopen(name, "w");
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write the file %s: %s", name, strerror(errno));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%%%%MatrixMarket matrix coordinate %s general\n",
                         PetscDefined(USE_COMPLEX) ? "complex" : "real"));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%" PetscInt_FMT " %" PetscInt_FMT " %.0f\n", m, n, info.nz_used));
  for (PetscInt i = 0; i < m; i++) {
    PetscCall(MatGetRow(A, i, &ncols, &cols, &vals));
    for (PetscInt k = 0; k < ncols; k++) {
      fprintf(fp, "%" PetscInt_FMT " %" PetscInt_FMT " %.17g", i + 1, cols[k] + 1, (double)PetscRealPart(vals[k]));
      if (PetscDefined(USE_COMPLEX)) fprintf(fp, " %.17g", (double)PetscImaginaryPart(vals[k]));
      fputc('\n', fp);
    }
    PetscCall(MatRestoreRow(A, i, &ncols, &cols, &vals));
  }
  PetscCheck(!ferror(fp) && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the file %s: %s", name,
             strerror(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatLoadFile(MPI_Comm comm, const char name[], Mat *A)
{
  PetscMPIInt   rank;
  unsigned char head[8] = {0};
  int           kind[2] = {0, 0}; /* 1: text, 2: PETSc matrix with 4-byte, 3: with 8-byte integers; errno */
  PetscViewer   viewer;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *fp = fopen(name, "rb");

    if (!fp) kind[1] = errno;
    else {
      const size_t        len     = fread(head, 1, sizeof(head), fp);
      const unsigned char magic[] = {0, 0, 0, 0, 0, 0x12, 0x7b, 0x50}; /* MAT_FILE_CLASSID, big-endian */

      if (len >= 4 && !memcmp(head, magic + 4, 4)) kind[0] = 2;
      else if (len == 8 && !memcmp(head, magic, 8)) kind[0] = 3;
      else kind[0] = 1;
      (void)fclose(fp);
    }
  }
  PetscCallMPI(MPI_Bcast(kind, 2, MPI_INT, 0, comm));
  PetscCheck(kind[0], comm, PETSC_ERR_FILE_OPEN, "Cannot open the file %s: %s", name, strerror(kind[1]));
  PetscCheck(kind[0] == 1 || (kind[0] == 3) == PetscDefined(USE_64BIT_INDICES), comm, PETSC_ERR_FILE_UNEXPECTED,
             "%s was written with %d-byte integers, this PETSc has %d-byte ones", name, kind[0] == 3 ? 8 : 4,
             (int)sizeof(PetscInt));
  if (kind[0] == 1) PetscCall(MatLoadMatrixMarket(comm, name, A));
  else {
    PetscCall(PetscViewerBinaryOpen(comm, name, FILE_MODE_READ, &viewer));
    PetscCall(MatCreate(comm, A));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatLoad(*A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
