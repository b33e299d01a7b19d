/* SPDX-License-Identifier: BSD-2-Clause */
/* diacase.h: matrices with entries on some diagonals, as AIJ, and their comparison with MATDIA */
#pragma once

#include "spiketest.h"

#define DIATEST_TOL                (200 * PETSC_MACHINE_EPSILON)
#define DiaSame(x, y, what, where) SpikeTestSame(x, y, DIATEST_TOL, what, where)

/*
  m x n; `holes`: every so manieth place of a diagonal has no entry; every 7th entry is a stored zero. where: 0 rows as
  PETSc splits them, 1 all on the first rank, 2 none on the first
*/
typedef struct {
  const char *name;
  PetscInt    m, n, count, offset[12], holes;
} DiaCase;

static const DiaCase diacases[] = {{"nothing", 0, 0, 1, {0}, 0},
                                   {"one row", 1, 1, 1, {0}, 0},
                                   {"no entries", 5, 5, 1, {7}, 0},
                                   {"two rows", 2, 2, 3, {-1, 0, 1}, 0},
                                   {"tridiagonal", 63, 63, 3, {-1, 0, 1}, 0},
                                   {"block and a row", 65, 65, 3, {-2, 0, 1}, 5},
                                   {"5 points", 400, 400, 5, {-20, -1, 0, 1, 20}, 0},
                                   {"9 points", 390, 390, 9, {-21, -20, -19, -1, 0, 1, 19, 20, 21}, 7},
                                   {"no main diagonal", 150, 150, 2, {-3, 2}, 0},
                                   {"above only", 200, 200, 3, {1, 2, 70}, 3},
                                   {"wide", 333, 333, 6, {-200, -37, -5, 0, 1, 128}, 4},
                                   {"periodic", 260, 260, 5, {-259, -1, 0, 1, 259}, 0},
                                   {"periodic, 2 layers", 600, 600, 7, {-580, -20, -1, 0, 1, 20, 580}, 0},
                                   {"more columns", 130, 210, 4, {-30, 0, 40, 80}, 0},
                                   {"more rows", 210, 130, 4, {-80, -20, 0, 3}, 5}};

static inline PetscBool DiaHas(const DiaCase *c, PetscInt i, PetscInt d)
{
  const PetscInt j = i + c->offset[d];

  return (PetscBool)(j >= 0 && j < c->n && !(c->holes && (3 * i + d) % c->holes == 1));
}

static inline PetscScalar DiaEntry(const DiaCase *c, PetscInt seed, PetscInt i, PetscInt d)
{
  const PetscInt j = i + c->offset[d];

  if ((i + 5 * d) % 7 == 3) return 0.0;
  return SpikeTestScalar(seed, i, j) + (c->offset[d] ? 0.0 : 3.0);
}

/* Local rows and columns */
static inline PetscErrorCode DiaSizes(MPI_Comm comm, const DiaCase *c, PetscInt where, PetscInt *m, PetscInt *n)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  *m = *n = PETSC_DECIDE;
  if (where == 1 || (where == 2 && size == 1)) {
    *m = rank ? 0 : c->m;
    *n = rank ? 0 : c->n;
  } else if (where == 2) {
    *m = rank ? c->m / (size - 1) + (rank <= c->m % (size - 1) ? 1 : 0) : 0;
    *n = rank ? c->n / (size - 1) + (rank <= c->n % (size - 1) ? 1 : 0) : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DiaSetEntries(const DiaCase *c, PetscInt seed, PetscInt begin, PetscInt end,
                                           InsertMode mode, Mat A)
{
  PetscFunctionBegin;
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt d = 0; d < c->count; d++)
      if (DiaHas(c, i, d)) PetscCall(MatSetValue(A, i, i + c->offset[d], DiaEntry(c, seed, i, d), mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries set by the rank that has the row, or by rank 0 */
static inline PetscErrorCode DiaMat(MPI_Comm comm, const DiaCase *c, PetscInt where, MatType type, PetscBool remote,
                                    Mat *A)
{
  PetscInt    begin, end, m, n;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(DiaSizes(comm, c, where, &m, &n));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, c->m, c->n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  if (remote) {
    begin = 0;
    end   = rank ? 0 : c->m;
  }
  PetscCall(DiaSetEntries(c, 1, begin, end, INSERT_VALUES, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether a layout beside PETSc's is tried too: not with all cases, for ranks that share a core take long for each
  reduction
*/
static inline PetscBool DiaLayouts(const DiaCase *c)
{
  const PetscInt k = (PetscInt)(c - diacases);

  return (PetscBool)(k % 3 == 1 || k >= (PetscInt)PETSC_STATIC_ARRAY_LENGTH(diacases) - 2);
}

/*
  The entries of A are those of the AIJ matrix B, in the same places, stored zeros too, and so are a product and a
  transposed one
*/
static inline PetscErrorCode DiaCompare(Mat A, Mat B, const char where[])
{
  PetscReal error = 0.0, norm = 1.0;
  MatInfo   info[2];
  PetscBool same;
  PetscInt  begin, end;
  Vec       x, y, z, w;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info[0]));
  PetscCall(MatGetInfo(B, MAT_LOCAL, &info[1]));
  same = (PetscBool)(info[0].nz_used == info[1].nz_used);
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt           n[2];
    const PetscInt    *cols[2];
    const PetscScalar *vals[2];

    PetscCall(MatGetRow(A, i, &n[0], &cols[0], &vals[0]));
    PetscCall(MatGetRow(B, i, &n[1], &cols[1], &vals[1]));
    if (n[0] != n[1] || (n[0] && memcmp(cols[0], cols[1], n[0] * sizeof(PetscInt)))) same = PETSC_FALSE;
    for (PetscInt k = 0; same && k < n[0]; k++) {
      const PetscReal d = PetscAbsScalar(vals[0][k] - vals[1][k]);

      if (!(d <= error)) error = d;
      norm = PetscMax(norm, PetscAbsScalar(vals[1][k]));
    }
    PetscCall(MatRestoreRow(B, i, &n[1], &cols[1], &vals[1]));
    PetscCall(MatRestoreRow(A, i, &n[0], &cols[0], &vals[0]));
  }
  PetscCall(SpikeTestCheck((PetscBool)(same && error <= DIATEST_TOL * norm),
                           "%s: entries differ by %g, or are in other places: %d", where, (double)error, !same));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(SpikeTestSetRandom(x, 5));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatMult(A, x, z));
  PetscCall(DiaSame(z, y, "product", where));
  PetscCall(SpikeTestSetRandom(y, 6));
  PetscCall(MatMultTranspose(B, y, x));
  PetscCall(MatMultTranspose(A, y, w));
  PetscCall(DiaSame(w, x, "transposed product", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
