/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "MATDIA beside MATAIJ in what once went wrong: each case is a call of PETSc that users make.\n\n";

#include "diacase.h"
#include <petscdmda.h>
#include <petscksp.h>
#include <petscsnes.h>

static PetscErrorCode Assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n x n, tridiagonal, in both types: M[0] MATDIA, M[1] MATAIJ; more entries may follow */
static PetscErrorCode Tridiagonals(PetscInt n, PetscInt bs, Mat M[2])
{
  const MatType types[] = {SpikeTestDiaType(), MATAIJ};
  PetscInt      begin, end;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
    PetscCall(MatSetSizes(M[k], PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetBlockSize(M[k], bs));
    PetscCall(MatSetType(M[k], types[k]));
    PetscCall(MatSetUp(M[k]));
    PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++)
      for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); j++)
        PetscCall(MatSetValue(M[k], i, j, i == j ? 4.0 + i % 3 : SpikeTestScalar(3, i, j), INSERT_VALUES));
    PetscCall(Assemble(M[k]));
    PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyBoth(Mat M[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on the host, whatever the type of the matrix */
static PetscErrorCode TestHostVectors(void)
{
  Mat         M[2], G[2];
  Vec         x, z, y[2];
  DM          da;
  MatStencil  points[5] = {{0}};
  PetscScalar values[]  = {4.0, -1.0, -1.5, -1.0, -0.5};

  PetscFunctionBegin;
  points[1].i = points[2].j = -1;
  points[3].i = points[4].j = 1;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 7, 12, 1,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(MatCreateGridStencil(da, 5, points, &G[0]));
  PetscCall(MatGridStencilSetCoefficients(G[0], values));
  PetscCall(MatConvert(G[0], MATAIJ, MAT_INITIAL_MATRIX, &G[1]));
  PetscCall(Tridiagonals(84, 1, M));
  for (int type = 0; type < 2; type++) {
    Mat        *A    = type ? G : M;
    const char *what = type ? "stencil, vectors on the host" : "diagonals, vectors on the host";
    PetscInt    n;

    PetscCall(MatGetLocalSize(A[1], &n, NULL));
    PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
    PetscCall(VecSetSizes(x, n, PETSC_DETERMINE));
    PetscCall(VecSetType(x, VECSTANDARD));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(VecDuplicate(x, &y[0]));
    PetscCall(VecDuplicate(x, &y[1]));
    PetscCall(SpikeTestSetRandom(x, 8));
    PetscCall(SpikeTestSetRandom(z, 9));
    for (int k = 0; k < 2; k++) PetscCall(MatMult(A[k], x, y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMult()", what));
    for (int k = 0; k < 2; k++) PetscCall(MatMultAdd(A[k], x, z, y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMultAdd()", what));
    for (int k = 0; k < 2; k++) PetscCall(MatMultAdd(A[k], x, y[k], y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMultAdd() in place", what));
    for (int k = 0; k < 2; k++) PetscCall(MatMultTranspose(A[k], x, y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMultTranspose()", what));
    for (int k = 0; k < 2; k++) PetscCall(MatMultTransposeAdd(A[k], x, z, y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMultTransposeAdd()", what));
    for (int k = 0; k < 2; k++) PetscCall(MatMultHermitianTranspose(A[k], x, y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMultHermitianTranspose()", what));
    for (int k = 0; k < 2; k++) PetscCall(MatMultHermitianTransposeAdd(A[k], x, z, y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatMultHermitianTransposeAdd()", what));
    for (int k = 0; k < 2; k++) PetscCall(MatGetDiagonal(A[k], y[k]));
    PetscCall(DiaSame(y[0], y[1], "MatGetDiagonal()", what));
    if (!type) {
      for (int k = 0; k < 2; k++) {
        PetscCall(MatDiagonalScale(A[k], x, z));
        PetscCall(MatDiagonalSet(A[k], x, ADD_VALUES));
      }
      PetscCall(DiaCompare(A[0], A[1], what));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&z));
    PetscCall(VecDestroy(&y[0]));
    PetscCall(VecDestroy(&y[1]));
  }
  PetscCall(DestroyBoth(M));
  PetscCall(DestroyBoth(G));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MAT_IGNORE_ZERO_ENTRIES: a zero makes no entry, and is written where there is one */
static PetscErrorCode TestIgnoreZeros(void)
{
  const PetscInt n = 30;
  Mat            M[2];
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCall(Tridiagonals(n, 1, M));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(M[k], MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
    PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      PetscCall(MatSetValue(M[k], i, (i + 1) % n, 0.0, INSERT_VALUES));
      PetscCall(MatSetValue(M[k], i, (i + 7) % n, 0.0, INSERT_VALUES));
      PetscCall(MatSetValue(M[k], (i + 5) % n, (i + 4) % n, 0.0, INSERT_VALUES));
    }
    PetscCall(Assemble(M[k]));
  }
  PetscCall(DiaCompare(M[0], M[1], "zeros inserted"));
  PetscCall(DestroyBoth(M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatDiagonalScale() where a rank has rows and no columns: its part of the right vector has no array */
static PetscErrorCode TestEmptyRight(void)
{
  const MatType  types[] = {SpikeTestDiaType(), MATAIJ};
  const PetscInt m = 40, n = 25;
  PetscMPIInt    rank, size;
  Mat            M[2];
  Vec            l, r;
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscMPIInt owner = 0; owner < size; owner++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
      PetscCall(MatSetSizes(M[k], PETSC_DECIDE, rank == owner ? n : 0, m, n));
      PetscCall(MatSetType(M[k], types[k]));
      PetscCall(MatSetUp(M[k]));
      PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
      for (PetscInt i = begin; i < end; i++)
        for (PetscInt j = PetscMax(i - 2, 0); j < PetscMin(i + 1, n); j++)
          PetscCall(MatSetValue(M[k], i, j, SpikeTestScalar(5, i, j), INSERT_VALUES));
      PetscCall(Assemble(M[k]));
    }
    PetscCall(MatCreateVecs(M[0], &r, &l));
    PetscCall(SpikeTestSetRandom(l, 6));
    PetscCall(SpikeTestSetRandom(r, 7));
    for (int k = 0; k < 2; k++) PetscCall(MatDiagonalScale(M[k], NULL, r));
    PetscCall(DiaCompare(M[0], M[1], "right scaling"));
    for (int k = 0; k < 2; k++) PetscCall(MatDiagonalScale(M[k], l, r));
    PetscCall(DiaCompare(M[0], M[1], "scaling on both sides"));
    PetscCall(VecDestroy(&l));
    PetscCall(VecDestroy(&r));
    PetscCall(DestroyBoth(M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of new entries that follow each other: the last one counts, also for later assemblies */
static PetscErrorCode TestOptionOrder(void)
{
  static const struct {
    MatOption op[3];
    PetscBool flag[3];
  } orders[] = {
    {{MAT_NEW_NONZERO_ALLOCATION_ERR, MAT_NEW_NONZERO_LOCATIONS, MAT_ROW_ORIENTED},
     {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}},
    {{MAT_NEW_NONZERO_ALLOCATION_ERR, MAT_NEW_NONZERO_LOCATION_ERR, MAT_ROW_ORIENTED},
     {PETSC_FALSE, PETSC_TRUE, PETSC_TRUE}},
    {{MAT_NEW_NONZERO_LOCATION_ERR, MAT_NEW_NONZERO_LOCATIONS, MAT_NEW_NONZERO_ALLOCATION_ERR},
     {PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}},
    {{MAT_NEW_NONZERO_LOCATIONS, MAT_NEW_NONZERO_LOCATION_ERR, MAT_NEW_NONZERO_LOCATIONS},
     {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}},
    {{MAT_NEW_NONZERO_LOCATIONS, MAT_NEW_NONZERO_LOCATION_ERR, MAT_NEW_NONZERO_LOCATIONS},
     {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}},
  };
  const PetscInt n = 20;
  Mat            M[2], D;
  PetscErrorCode ierr[3];
  PetscInt       begin, end;

  PetscFunctionBegin;
  for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(orders); o++) {
    PetscCall(Tridiagonals(n, 1, M));
    for (int k = 0; k < 2; k++)
      for (int l = 0; l < 3; l++) PetscCall(MatSetOption(M[k], orders[o].op[l], orders[o].flag[l]));
    PetscCall(MatDuplicate(M[0], MAT_COPY_VALUES, &D));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    for (int k = 0; k < 3; k++) {
      Mat A = k < 2 ? M[k] : D;

      PetscCall(MatGetOwnershipRange(A, &begin, &end));
      ierr[k] = PETSC_SUCCESS;
      for (PetscInt i = begin; i < end && !ierr[k]; i++)
        ierr[k] = MatSetValue(A, i, i < n / 2 ? i + 4 : i - 4, 1.0, INSERT_VALUES);
      if (!ierr[k]) ierr[k] = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
      if (!ierr[k]) ierr[k] = MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
    }
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(!ierr[0] == !ierr[1] && !ierr[2] == !ierr[1]),
                             "order %d of options: errors %d, duplicate %d, MATAIJ %d", (int)o, (int)ierr[0],
                             (int)ierr[2], (int)ierr[1]));
    if (!ierr[0] && !ierr[1]) PetscCall(DiaCompare(M[0], M[1], "options of new entries"));
    if (!ierr[2] && !ierr[1]) PetscCall(DiaCompare(D, M[1], "options of new entries, duplicate"));
    PetscCall(MatDestroy(&D));
    PetscCall(DestroyBoth(M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n x n by coordinates, tridiagonal except at the ends of the last rows; in both types */
static PetscErrorCode COO(PetscInt n, PetscScalar factor, InsertMode mode, PetscBool preallocate, Mat M[2])
{
  const MatType types[] = {SpikeTestDiaType(), MATAIJ};
  PetscInt      begin, end, m = PETSC_DECIDE, N = n;
  PetscCount    nz;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &m, &N));
  for (int k = 0; k < 2; k++) {
    PetscInt    *is[2];
    PetscScalar *v;

    if (preallocate) {
      PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
      PetscCall(MatSetSizes(M[k], m, m, n, n));
      PetscCall(MatSetType(M[k], types[k]));
    }
    PetscCall(MatSetUp(M[k]));
    PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
    PetscCall(PetscMalloc3(3 * m, &is[0], 3 * m, &is[1], 3 * m, &v));
    nz = 0;
    for (PetscInt i = begin; i < end; i++)
      for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); j++) {
        is[0][nz] = i;
        is[1][nz] = j;
        v[nz++]   = factor * (i == j ? 4.0 : SpikeTestScalar(4, i, j));
      }
    if (preallocate) PetscCall(MatSetPreallocationCOO(M[k], nz, is[0], is[1]));
    PetscCall(MatSetValuesCOO(M[k], v, mode));
    PetscCall(PetscFree3(is[0], is[1], v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries in new places after coordinates, one place at a time, on one rank or on all; copies in between */
static PetscErrorCode TestCOOThenValues(void)
{
  const PetscInt n = 24;
  PetscMPIInt    rank;
  Mat            M[2], C;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt all = 0; all < 2; all++) {
    PetscCall(COO(n, 1.0, INSERT_VALUES, PETSC_TRUE, M));
    for (int k = 0; k < 2; k++) PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatConvert(M[1], SpikeTestDiaType(), MAT_INITIAL_MATRIX, &C));
    for (PetscInt d = 2; d < 9; d++) {
      for (int k = 0; k < 2; k++) {
        PetscInt begin, end;

        PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
        if (all || !rank) {
          const PetscInt i = all ? begin : (5 * d) % n;

          PetscCall(MatSetValue(M[k], i, (i + 2 * d) % n, 1.0 + d, INSERT_VALUES));
        }
        PetscCall(Assemble(M[k]));
      }
      PetscCall(DiaCompare(M[0], M[1], "MatSetValues() after coordinates"));
      PetscCall(MatConvert(M[1], SpikeTestDiaType(), MAT_REUSE_MATRIX, &C));
      PetscCall(DiaCompare(C, M[1], "MatConvert() of MATAIJ with coordinates"));
    }
    PetscCall(MatDestroy(&C));
    PetscCall(DestroyBoth(M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops of a product: two for each entry, less one for each row that has any; PETSc multiplies those of complex ones */
static PetscErrorCode TestFlops(void)
{
  const PetscInt n = 50;
  PetscLogDouble flops[2];
  PetscInt       begin, end, rows = 0;
  Mat            A;
  Vec            x, y;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    if (i % 5 == 0) {
      PetscCall(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
      rows++;
    }
  PetscCall(Assemble(A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SpikeTestSetRandom(x, 1));
  PetscCall(PetscGetFlops(&flops[0]));
  PetscCall(MatMult(A, x, y));
  PetscCall(PetscGetFlops(&flops[1]));
  PetscCall(SpikeTestCheck((PetscBool)(strcmp(SpikeTestDiaType(), MATDIA) ||
                                       flops[1] - flops[0] == (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * rows),
                           "a product of %d entries in as many rows logs %g flops", (int)rows,
                           (double)(flops[1] - flops[0])));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values by coordinates in a duplicate, also added; without coordinates an error */
static PetscErrorCode TestCOODuplicate(void)
{
  const PetscScalar one = 1.0;
  Mat               M[2], D[2], A;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(COO(31, 1.0, INSERT_VALUES, PETSC_TRUE, M));
  for (int k = 0; k < 2; k++) PetscCall(MatDuplicate(M[k], MAT_COPY_VALUES, &D[k]));
  PetscCall(COO(31, 0.5, ADD_VALUES, PETSC_FALSE, D));
  PetscCall(DiaCompare(D[0], D[1], "duplicate, values added"));
  PetscCall(COO(31, -3.0, INSERT_VALUES, PETSC_FALSE, D));
  PetscCall(DiaCompare(D[0], D[1], "duplicate, values inserted"));
  PetscCall(DiaCompare(M[0], M[1], "the original"));
  PetscCall(COO(31, 2.0, ADD_VALUES, PETSC_FALSE, M));
  PetscCall(DiaCompare(M[0], M[1], "the original, values added"));
  PetscCall(DestroyBoth(M));
  PetscCall(DestroyBoth(D));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 3, 3, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetUp(A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetValuesCOO(A, &one, INSERT_VALUES);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_WRONGSTATE), "values without coordinates: error %d", (int)ierr));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inverted diagonal blocks: PCPBJACOBI, PCVPBJACOBI, both set up again after a change */
static PetscErrorCode TestBlocks(void)
{
  const char *const pcs[] = {PCPBJACOBI, PCVPBJACOBI};
  Mat               M[2];
  PC                pc[2];
  Vec               x, y[2];

  PetscFunctionBegin;
  for (int type = 0; type < 2; type++) {
    PetscInt n, *sizes;

    PetscCall(Tridiagonals(60, 2, M));
    PetscCall(MatGetLocalSize(M[0], &n, NULL));
    PetscCall(PetscMalloc1(n / 2, &sizes));
    for (PetscInt k = 0; k < n / 2; k++) sizes[k] = 2;
    PetscCall(MatCreateVecs(M[1], &x, &y[0]));
    PetscCall(VecDuplicate(y[0], &y[1]));
    PetscCall(SpikeTestSetRandom(x, 12));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetVariableBlockSizes(M[k], n / 2, sizes));
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[k]));
      PetscCall(PCSetType(pc[k], pcs[type]));
    }
    for (PetscInt pass = 0; pass < 3; pass++) {
      for (int k = 0; k < 2; k++) {
        if (pass) PetscCall(MatScale(M[k], 3.0));
        if (pass == 2) PetscCall(MatShift(M[k], 0.5));
        PetscCall(PCSetOperators(pc[k], M[k], M[k]));
        PetscCall(PCSetUp(pc[k]));
        PetscCall(PCApply(pc[k], x, y[k]));
      }
      PetscCall(DiaSame(y[0], y[1], "application", pcs[type]));
    }
    PetscCall(PetscFree(sizes));
    PetscCall(VecDestroy(&x));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDestroy(&y[k]));
      PetscCall(PCDestroy(&pc[k]));
    }
    PetscCall(DestroyBoth(M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subdomains of all ranks: PCGASM, and PCBJACOBI with one block; new values, a new pattern */
static PetscErrorCode TestSubdomains(void)
{
  const PCType   pcs[] = {PCGASM, PCBJACOBI};
  const PetscInt n     = 40;

  PetscFunctionBegin;
  for (size_t type = 0; type < PETSC_STATIC_ARRAY_LENGTH(pcs); type++) {
    Mat      M[2];
    PC       pc[2];
    Vec      x, y[2];
    PetscInt begin, end;

    PetscCall(Tridiagonals(n, 1, M));
    PetscCall(MatCreateVecs(M[1], &x, NULL));
    PetscCall(SpikeTestSetRandom(x, 12));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDuplicate(x, &y[k]));
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[k]));
      PetscCall(PCSetOperators(pc[k], M[k], M[k]));
      PetscCall(PCSetType(pc[k], pcs[type]));
      if (type) PetscCall(PCBJacobiSetTotalBlocks(pc[k], 1, NULL));
      else {
        PetscCall(PCGASMSetTotalSubdomains(pc[k], 1));
        PetscCall(PCGASMSetOverlap(pc[k], 2));
      }
    }
    for (PetscInt pass = 0; pass < 3; pass++) {
      for (int k = 0; k < 2; k++) {
        if (pass == 1) PetscCall(MatScale(M[k], 2.0));
        if (pass == 2) {
          PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
          for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(M[k], i, (i + 3) % n, 0.25, INSERT_VALUES));
          PetscCall(Assemble(M[k]));
        }
        PetscCall(PCSetUp(pc[k]));
        PetscCall(PCApply(pc[k], x, y[k]));
      }
      PetscCall(DiaSame(y[0], y[1], "application", pcs[type]));
    }
    PetscCall(VecDestroy(&x));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDestroy(&y[k]));
      PetscCall(PCDestroy(&pc[k]));
    }
    PetscCall(DestroyBoth(M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG gives its interpolations the type of the matrix: those of this grid would need hundreds of diagonals */
static PetscErrorCode TestMultigrid(void)
{
  const MatType  types[] = {SpikeTestDiaType(), MATAIJ};
  const PetscInt m = 60, n = m * m;
  PetscInt       its[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    KSPConvergedReason reason;
    Mat                A;
    Vec                b, x;
    KSP                ksp;
    PC                 pc;
    PetscInt           begin, end;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetType(A, types[k]));
    PetscCall(MatSetUp(A));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      PetscCall(MatSetValue(A, i, i, 4.0, INSERT_VALUES));
      if (i % m) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
      if ((i + 1) % m) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
      if (i >= m) PetscCall(MatSetValue(A, i, i - m, -1.0, INSERT_VALUES));
      if (i + m < n) PetscCall(MatSetValue(A, i, i + m, -1.0, INSERT_VALUES));
    }
    PetscCall(Assemble(A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 14));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, 1e-4, 0.0, PETSC_CURRENT, 100));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    for (PetscInt pass = 0; pass < 2; pass++) { /* and with new values */
      PetscCall(VecSet(x, 0.0));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its[k]));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "PCGAMG with %s: %s", types[k], KSPConvergedReasons[reason]));
      PetscCall(MatScale(A, 3.0));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its[0] - its[1]) <= 1),
                           "PCGAMG: %" PetscInt_FMT " iterations, %" PetscInt_FMT " with MATAIJ", its[0], its[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tridiagonal system and a square, at the points of a grid in one dimension */
static PetscErrorCode Function(SNES snes, Vec x, Vec f, PetscCtx ctx)
{
  DM                 da;
  Vec                local;
  PetscScalar       *fa;
  const PetscScalar *xa;
  PetscInt           begin, width, first, all;

  PetscFunctionBegin;
  (void)ctx;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, x, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, (void *)&xa));
  PetscCall(DMDAVecGetArray(da, f, &fa));
  PetscCall(DMDAGetCorners(da, &begin, NULL, NULL, &width, NULL, NULL));
  PetscCall(DMDAGetInfo(da, NULL, &all, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (first = begin; first < begin + width; first++)
    fa[first] = 2.5 * xa[first] - (first ? xa[first - 1] : 0.0) - (first < all - 1 ? 0.5 * xa[first + 1] : 0.0) +
                0.1 * xa[first] * xa[first] - 1.0;
  PetscCall(DMDAVecRestoreArray(da, f, &fa));
  PetscCall(DMDAVecRestoreArrayRead(da, local, (void *)&xa));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of a DMDA in one dimension assembled twice, and filled by differences with colors */
static PetscErrorCode TestDMDA(void)
{
  const MatType  types[] = {SpikeTestDiaType(), MATAIJ};
  const PetscInt n       = 30;
  Mat            M[2];
  Vec            x[2];
  PetscInt       begin, width;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    DM                  da;
    SNES                snes;
    SNESConvergedReason reason;

    PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, n, 1, 1, NULL, &da));
    PetscCall(DMSetMatType(da, types[k]));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &M[k]));
    PetscCall(DMDAGetCorners(da, &begin, NULL, NULL, &width, NULL, NULL));
    for (PetscInt pass = 0; pass < 2; pass++) {
      for (PetscInt i = begin; i < begin + width; i++) {
        MatStencil  row = {0}, col[3] = {{0}};
        PetscInt    nc = 0;
        PetscScalar v[3];

        row.i = i;
        for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); j++) {
          col[nc].i = j;
          v[nc++]   = SpikeTestScalar(20 + pass, i, j);
        }
        PetscCall(MatSetValuesStencil(M[k], 1, &row, nc, col, v, INSERT_VALUES));
      }
      PetscCall(Assemble(M[k]));
    }
    PetscCall(DMCreateGlobalVector(da, &x[k]));
    PetscCall(VecSet(x[k], 0.0));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetDM(snes, da));
    PetscCall(SNESSetFunction(snes, NULL, Function, NULL));
    PetscCall(PetscOptionsSetValue(NULL, "-snes_fd_color", NULL));
    PetscCall(SNESSetFromOptions(snes));
    PetscCall(PetscOptionsClearValue(NULL, "-snes_fd_color"));
    PetscCall(
      SNESSetTolerances(snes, 1e4 * PETSC_MACHINE_EPSILON, 1e4 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, 50, 1000));
    PetscCall(SNESSolve(snes, NULL, x[k]));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(
      SpikeTestCheck((PetscBool)(reason > 0), "-snes_fd_color with %s: %s", types[k], SNESConvergedReasons[reason]));
    PetscCall(SNESDestroy(&snes));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(DiaCompare(M[0], M[1], "DMDA, assembled twice"));
  PetscCall(VecAXPY(x[0], -1.0, x[1]));
  {
    PetscReal norm;

    PetscCall(VecNorm(x[0], NORM_INFINITY, &norm));
    PetscCall(SpikeTestSmall(norm, 1e-5, "difference of solutions", "-snes_fd_color"));
  }
  PetscCall(DestroyBoth(M));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SOR, values asked for, symmetry, maxima of rows */
static PetscErrorCode TestByAIJ(void)
{
  Mat       M[2];
  Vec       b, x[2];
  PetscInt  begin, end;
  PetscBool is[2], same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(Tridiagonals(45, 1, M));
  PetscCall(MatCreateVecs(M[1], &b, &x[0]));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(SpikeTestSetRandom(b, 13));
  for (PetscInt pass = 0; pass < 2; pass++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(
        MatSOR(M[k], b, 1.3, (MatSORType)(SOR_ZERO_INITIAL_GUESS | SOR_LOCAL_SYMMETRIC_SWEEP), 0.0, 2, 1, x[k]));
      PetscCall(MatIsSymmetric(M[k], 1e-3, &is[k]));
    }
    PetscCall(DiaSame(x[0], x[1], "SOR", "MATDIA by MATAIJ"));
    PetscCall(SpikeTestCheck((PetscBool)(is[0] == is[1]), "MatIsSymmetric() gives %d, MATAIJ %d", is[0], is[1]));
    for (int k = 0; k < 2; k++) PetscCall(MatGetRowMaxAbs(M[k], x[k], NULL));
    PetscCall(DiaSame(x[0], x[1], "MatGetRowMaxAbs()", "MATDIA by MATAIJ"));
    for (int k = 0; k < 2; k++) PetscCall(MatScale(M[k], -0.5));
  }
  PetscCall(MatGetOwnershipRange(M[0], &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt cols[]  = {0, i, -1, 44, PetscMax(0, i - 1), (i + 5) % 45};
    PetscScalar    v[2][6] = {{0.0}};

    for (int k = 0; k < 2; k++) PetscCall(MatGetValues(M[k], 1, &i, 6, cols, v[k]));
    for (int l = 0; l < 6; l++)
      if (v[0][l] != v[1][l]) same = PETSC_FALSE;
  }
  PetscCall(SpikeTestCheck(same, "MatGetValues() differs from MATAIJ"));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscCall(DestroyBoth(M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestHostVectors());
  PetscCall(TestIgnoreZeros());
  PetscCall(TestEmptyRight());
  PetscCall(TestOptionOrder());
  PetscCall(TestCOOThenValues());
  PetscCall(TestFlops());
  PetscCall(TestCOODuplicate());
  PetscCall(TestBlocks());
  PetscCall(TestSubdomains());
  PetscCall(TestMultigrid());
  PetscCall(TestDMDA());
  PetscCall(TestByAIJ());
  PetscCall(SpikeTestEnd("dia_defects"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2 3}}

   test:
      suffix: cuda
      nsize: {{1 2 3}}
      requires: cuda gpurun
      args: -dia_type diacuda -dm_mat_type gridstencilcuda
      output_file: output/dia_defects_1.out

TEST*/
