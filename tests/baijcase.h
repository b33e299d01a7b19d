/* SPDX-License-Identifier: BSD-2-Clause */
/* baijcase.h: random matrices of blocks as MATBAIJ and as MATBAIJCUDA, and their comparison */
#pragma once

#include "spiketest.h"

#define BAIJTEST_TOL                (400 * PETSC_MACHINE_EPSILON)
#define BaijSame(x, y, what, where) SpikeTestSame(x, y, BAIJTEST_TOL, what, where)
#define SPIKE_BAIJ_MAXBS            32 /* of our kernels */

/*
  mb x nb blocks of bs rows, a block where a random number says so: about `blocks` of a row, and in every 5th row none
  but the diagonal one. where: 0 rows as PETSc splits them, 1 all on the last rank, 2 none on the first
*/
typedef struct {
  PetscInt bs, mb, nb, blocks, where;
} BaijCase;

static const BaijCase baijcases[] = {{1, 0, 0, 1, 0},    {3, 1, 1, 1, 0},   {1, 65, 65, 5, 0},  {2, 40, 40, 4, 0},
                                     {3, 33, 33, 5, 2},  {4, 31, 31, 6, 0}, {5, 20, 20, 5, 1},  {6, 13, 13, 3, 0},
                                     {7, 17, 17, 4, 0},  {8, 25, 25, 5, 2}, {9, 11, 11, 3, 0},  {11, 9, 9, 3, 0},
                                     {12, 10, 10, 3, 0}, {15, 8, 8, 3, 0},  {16, 12, 12, 4, 0}, {17, 7, 7, 3, 0},
                                     {24, 6, 6, 2, 0},   {32, 7, 7, 3, 0},  {33, 5, 5, 2, 0},   {4, 30, 18, 4, 0},
                                     {2, 12, 50, 9, 0},  {3, 64, 64, 40, 0}};

static inline PetscBool BaijHas(const BaijCase *c, PetscInt seed, PetscInt i, PetscInt j)
{
  if (i == j) return PETSC_TRUE;
  if (i % 5 == 3) return PETSC_FALSE;
  return (PetscBool)(PetscAbsReal(SpikeTestUniform(100 + seed, i, j)) * c->nb < c->blocks);
}

static inline PetscErrorCode BaijSetBlock(const BaijCase *c, PetscInt seed, PetscInt i, PetscInt j, InsertMode mode,
                                          Mat A)
{
  PetscScalar v[40 * 40];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < c->bs; r++)
    for (PetscInt k = 0; k < c->bs; k++)
      v[r * c->bs + k] = SpikeTestScalar(seed, i * c->bs + r, j * c->bs + k) +
                         (i == j && r == k ? 2.0 * c->blocks : 0.0);
  PetscCall(MatSetValuesBlocked(A, 1, &i, 1, &j, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of a seed, in the pattern of another one; those of a row come from its rank, or from rank 0 */
static inline PetscErrorCode BaijFill(const BaijCase *c, PetscInt pattern, PetscInt seed, PetscBool remote,
                                      InsertMode mode, Mat A)
{
  PetscInt    begin, end;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  begin /= c->bs;
  end /= c->bs;
  if (remote) {
    begin = 0;
    end   = rank ? 0 : c->mb;
  }
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < c->nb; j++)
      if (BaijHas(c, pattern, i, j)) PetscCall(BaijSetBlock(c, seed, i, j, mode, A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BaijCreate(MPI_Comm comm, const BaijCase *c, MatType type, Mat *A)
{
  PetscInt    m = PETSC_DECIDE, n = PETSC_DECIDE;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (c->where == 1) {
    m = rank == size - 1 ? c->mb * c->bs : 0;
    n = rank == size - 1 ? c->nb * c->bs : 0;
  } else if (c->where == 2 && size > 1) {
    m = rank ? (c->mb / (size - 1) + (rank <= c->mb % (size - 1) ? 1 : 0)) * c->bs : 0;
    n = rank ? (c->nb / (size - 1) + (rank <= c->nb % (size - 1) ? 1 : 0)) * c->bs : 0;
  }
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, c->mb * c->bs, c->nb * c->bs));
  PetscCall(MatSetBlockSize(*A, c->bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BaijIs(Mat A, const char where[])
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is, MATSEQBAIJCUDA, MATMPIBAIJCUDA, ""));
  PetscCall(SpikeTestCheck(is, "%s: the type is %s", where, ((PetscObject)A)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All entries, in the memory of the host: MatMult() of MATBAIJ may leave those of rows without blocks as they are there
*/
static inline PetscErrorCode BaijSetAll(Vec y, PetscScalar value)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayWrite(y, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = value;
  PetscCall(VecRestoreArrayWrite(y, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All products with vectors: A as B, which is a MATBAIJ. host: vectors of the host, whatever A wants. MATBAIJ has no A^H
  for all sizes of blocks. MatMultTransposeAdd() of MATAIJCUSPARSE adds what was in the result (PETSc 3.26.1)
*/
static inline PetscErrorCode BaijProducts(Mat A, Mat B, PetscBool host, const char where[])
{
  Vec       x, y, z, w, u[2];
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &ours, MATSEQBAIJCUDA, MATMPIBAIJCUDA, ""));
  PetscCall(MatCreateVecs(host ? B : A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecDuplicate(y, &u[0]));
  PetscCall(VecDuplicate(x, &u[1]));
  PetscCall(SpikeTestSetRandom(x, 5));
  PetscCall(SpikeTestSetRandom(u[0], 15));
  PetscCall(BaijSetAll(y, 0.0));
  PetscCall(MatMult(B, x, y));
  PetscCall(BaijSetAll(z, ours ? NAN : 0.0));
  PetscCall(MatMult(A, x, z));
  PetscCall(BaijSame(z, y, "A x", where));
  PetscCall(VecAXPY(y, 1.0, u[0]));
  PetscCall(VecSet(z, NAN));
  PetscCall(MatMultAdd(A, x, u[0], z));
  PetscCall(BaijSame(z, y, "A x + z", where));
  PetscCall(VecCopy(u[0], z));
  PetscCall(MatMultAdd(A, x, z, z));
  PetscCall(BaijSame(z, y, "A x + y", where));
  PetscCall(SpikeTestSetRandom(y, 6));
  PetscCall(SpikeTestSetRandom(u[1], 16));
  for (int hermitian = 0; hermitian < (ours ? 2 : 1); hermitian++) {
    PetscCall(VecCopy(y, z));
    if (hermitian) PetscCall(VecConjugate(z));
    PetscCall(MatMultTranspose(B, z, x));
    if (hermitian) PetscCall(VecConjugate(x));
    PetscCall(VecSet(w, NAN));
    if (hermitian) PetscCall(MatMultHermitianTranspose(A, y, w));
    else PetscCall(MatMultTranspose(A, y, w));
    PetscCall(BaijSame(w, x, hermitian ? "A^H y" : "A^T y", where));
    PetscCall(VecAXPY(x, 1.0, u[1]));
    PetscCall(VecSet(w, ours ? NAN : 0.0));
    if (hermitian) PetscCall(MatMultHermitianTransposeAdd(A, y, u[1], w));
    else PetscCall(MatMultTransposeAdd(A, y, u[1], w));
    PetscCall(BaijSame(w, x, hermitian ? "A^H y + z" : "A^T y + z", where));
    PetscCall(VecCopy(u[1], w));
    if (hermitian) PetscCall(MatMultHermitianTransposeAdd(A, y, w, w));
    else PetscCall(MatMultTransposeAdd(A, y, w, w));
    PetscCall(BaijSame(w, x, hermitian ? "A^H y + x" : "A^T y + x", where));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&u[0]));
  PetscCall(VecDestroy(&u[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A is a MATBAIJCUDA with the products of the MATBAIJ B, and the entries of its rows */
static inline PetscErrorCode BaijCompare(Mat A, Mat B, const char where[])
{
  PetscBool same = PETSC_TRUE;
  PetscInt  begin, end;

  PetscFunctionBegin;
  PetscCall(BaijIs(A, where));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt           n[2];
    const PetscInt    *cols[2];
    const PetscScalar *vals[2];

    PetscCall(MatGetRow(A, i, &n[0], &cols[0], &vals[0]));
    PetscCall(MatGetRow(B, i, &n[1], &cols[1], &vals[1]));
    if (n[0] != n[1] || (n[0] && memcmp(cols[0], cols[1], n[0] * sizeof(PetscInt)))) same = PETSC_FALSE;
    for (PetscInt k = 0; same && k < n[0]; k++)
      if (!(PetscAbsScalar(vals[0][k] - vals[1][k]) <= BAIJTEST_TOL * (1 + PetscAbsScalar(vals[1][k]))))
        same = PETSC_FALSE;
    PetscCall(MatRestoreRow(B, i, &n[1], &cols[1], &vals[1]));
    PetscCall(MatRestoreRow(A, i, &n[0], &cols[0], &vals[0]));
  }
  PetscCall(SpikeTestCheck(same, "%s: rows differ", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}
