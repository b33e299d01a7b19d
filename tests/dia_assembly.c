/* SPDX-License-Identifier: BSD-2-Clause */
static char help
  [] = "Entries of MATDIA: by MatSetValues() from any rank, by coordinates, from a DMDA; options; what is refused.\n\n";

#include "diacase.h"
#include <petscdmda.h>

static PetscErrorCode Assemble(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, type));
  PetscCall(MatAssemblyEnd(A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same calls on A and on B */
static PetscErrorCode TestValues(const DiaCase *c, PetscInt place, const char where[])
{
  const MatType    types[] = {SpikeTestDiaType(), MATAIJ};
  DiaCase          other   = *c;
  Mat              M[2];
  PetscInt         begin, end;
  PetscMPIInt      rank, size;
  PetscObjectState before, after;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int k = 0; k < 2; k++) {
    PetscCall(DiaMat(PETSC_COMM_WORLD, c, place, types[k], PETSC_TRUE, &M[k]));
    PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscCall(DiaCompare(M[0], M[1], where));

  /* values in the same places, from the ranks that have them and from the last one */
  PetscCall(MatGetNonzeroState(M[0], &before));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
    PetscCall(DiaSetEntries(c, 2, begin, end, ADD_VALUES, M[k]));
    if (rank == size - 1) PetscCall(DiaSetEntries(c, 3, 0, c->m, ADD_VALUES, M[k]));
    PetscCall(Assemble(M[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(DiaCompare(M[0], M[1], where));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatZeroEntries(M[k]));
    if (rank == size - 1) PetscCall(DiaSetEntries(c, 4, 0, c->m, INSERT_VALUES, M[k]));
    PetscCall(Assemble(M[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(DiaCompare(M[0], M[1], where));
  PetscCall(MatGetNonzeroState(M[0], &after));
  PetscCall(SpikeTestCheck((PetscBool)(before == after), "%s: entries in the same places changed the pattern", where));

  /* nothing new; then new diagonals from one rank, half of them added, half inserted */
  for (int k = 0; k < 2; k++) PetscCall(Assemble(M[k], MAT_FINAL_ASSEMBLY));
  PetscCall(DiaCompare(M[0], M[1], where));
  other.count     = 2;
  other.offset[0] = -4;
  other.offset[1] = 3;
  for (int k = 0; k < 2; k++) {
    if (rank == size - 1) PetscCall(DiaSetEntries(&other, 5, 0, c->m, ADD_VALUES, M[k]));
    PetscCall(Assemble(M[k], MAT_FLUSH_ASSEMBLY));
    if (rank == 0) PetscCall(DiaSetEntries(c, 6, 0, c->m / 2, INSERT_VALUES, M[k]));
    PetscCall(Assemble(M[k], MAT_FLUSH_ASSEMBLY));
    if (rank == size / 2) PetscCall(DiaSetEntries(c, 7, 0, c->m, ADD_VALUES, M[k]));
    PetscCall(Assemble(M[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(DiaCompare(M[0], M[1], where));
  PetscCall(MatGetNonzeroState(M[0], &after));
  PetscCall(
    SpikeTestCheck((PetscBool)(before != after || c->m < 4), "%s: new diagonals did not change the pattern", where));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coordinates, some twice, some negative, from rank 0 and from the owners */
static PetscErrorCode TestCOO(const DiaCase *c, PetscInt place, const char where[])
{
  const MatType types[] = {SpikeTestDiaType(), MATAIJ};
  Mat           M[2];
  PetscInt      m, n, *ij[2];
  PetscCount    nz = 0;
  PetscScalar  *v;
  PetscMPIInt   rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(DiaSizes(PETSC_COMM_WORLD, c, place, &m, &n));
  PetscCall(PetscMalloc3(c->m * c->count + 1, &ij[0], c->m * c->count + 1, &ij[1], c->m * c->count + 1, &v));
  for (PetscInt i = 0; i < c->m; i += rank + 1)
    for (PetscInt d = 0; d < c->count; d++)
      if (DiaHas(c, i, d)) {
        ij[0][nz] = i % 11 ? i : -1;
        ij[1][nz] = i + c->offset[d];
        v[nz++]   = SpikeTestScalar(50 + rank, i, d);
      }
  for (int k = 0; k < 2; k++) {
    PetscInt *is[2];

    PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
    PetscCall(MatSetSizes(M[k], m, n, c->m, c->n));
    PetscCall(MatSetType(M[k], types[k]));
    for (int l = 0; l < 2; l++) {
      PetscCall(PetscMalloc1(nz, &is[l]));
      PetscCall(PetscArraycpy(is[l], ij[l], nz));
    }
    PetscCall(MatSetPreallocationCOO(M[k], nz, is[0], is[1]));
    if (!k && !strcmp(types[k], MATDIACUDA)) { /* from the device */
      Vec                values;
      PetscScalar       *array;
      const PetscScalar *there;
      PetscMemType       memtype;

      PetscCall(VecCreate(PETSC_COMM_SELF, &values));
      PetscCall(VecSetSizes(values, (PetscInt)nz, PETSC_DETERMINE));
      PetscCall(VecSetType(values, VECCUDA));
      PetscCall(VecGetArrayWrite(values, &array));
      PetscCall(PetscArraycpy(array, v, nz));
      PetscCall(VecRestoreArrayWrite(values, &array));
      PetscCall(VecGetArrayReadAndMemType(values, &there, &memtype));
      PetscCall(MatSetValuesCOO(M[k], nz ? there : v, INSERT_VALUES));
      PetscCall(VecRestoreArrayReadAndMemType(values, &there));
      PetscCall(VecDestroy(&values));
    } else PetscCall(MatSetValuesCOO(M[k], v, INSERT_VALUES));
    PetscCall(PetscFree(is[0]));
    PetscCall(PetscFree(is[1]));
  }
  PetscCall(DiaCompare(M[0], M[1], where));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(M[k], -3.0));
    PetscCall(MatSetValuesCOO(M[k], v, ADD_VALUES));
  }
  PetscCall(DiaCompare(M[0], M[1], where));
  if (c->m > 20 && c->offset[0] <= 0) { /* a single value after it all */
    PetscInt d = 0;

    while (!DiaHas(c, c->m / 2 + (c->m / 2) % 11 * 0 + ((c->m / 2) % 11 ? 0 : 1), d)) d++;
    for (int k = 0; k < 2; k++) {
      const PetscInt i = c->m / 2 + ((c->m / 2) % 11 ? 0 : 1);

      PetscCall(MatScale(M[k], 0.5));
      if (!rank) PetscCall(MatSetValue(M[k], i, i + c->offset[d], 9.0, ADD_VALUES));
      PetscCall(Assemble(M[k], MAT_FINAL_ASSEMBLY));
    }
    PetscCall(DiaCompare(M[0], M[1], where));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscCall(PetscFree3(ij[0], ij[1], v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Blocks of values by columns, zeros that are not entries, indices to be ignored; before the first assembly and after
  it
*/
static PetscErrorCode TestOptions(void)
{
  const MatType types[] = {SpikeTestDiaType(), MATAIJ};
  Mat           M[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscInt begin, end;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
    PetscCall(MatSetSizes(M[k], PETSC_DECIDE, PETSC_DECIDE, 90, 90));
    PetscCall(MatSetType(M[k], types[k]));
    PetscCall(MatSetUp(M[k]));
    PetscCall(MatSetOption(M[k], MAT_ROW_ORIENTED, PETSC_FALSE));
    PetscCall(MatSetOption(M[k], MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
    PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(M[k], &begin, &end));
    for (PetscInt pass = 0; pass < 2; pass++) {
      for (PetscInt i = begin; i < end; i++) {
        const PetscInt    rows[] = {i, -1, (i + 1) % 90}, cols[] = {i, (i + 2 + 3 * pass) % 90, -5, (i + 7) % 90};
        const PetscScalar v[] = {1.0 + i, 2.0, 3.0, 4.0, 5.0, 0.0, 7.0, 8.0, 9.0, 0.0, 11.0, 12.0};

        PetscCall(MatSetValues(M[k], 3, rows, 4, cols, v, ADD_VALUES));
        PetscCall(MatSetValues(M[k], 3, rows, 1, cols, NULL, ADD_VALUES));
      }
      PetscCall(Assemble(M[k], MAT_FINAL_ASSEMBLY));
    }
  }
  PetscCall(DiaCompare(M[0], M[1], "options"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of a DMDA, preallocated by it, with entries by stencil */
static PetscErrorCode TestDMDA(PetscInt dim, DMBoundaryType b, PetscInt dof, const char where[])
{
  const MatType types[] = {SpikeTestDiaType(), MATAIJ};
  PetscMPIInt   size;
  Mat           M[2];
  DM            da;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, b, 24, dof, 1, NULL, &da));
  else if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b, b, DMDA_STENCIL_BOX, 9, 17, 1, size, dof, 1, NULL, NULL, &da));
  else
    PetscCall(
      DMDACreate3d(PETSC_COMM_WORLD, b, b, b, DMDA_STENCIL_STAR, 5, 6, 11, 1, 1, size, dof, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (int t = 0; t < 2; t++) {
    PetscCall(DMSetMatType(da, types[t]));
    PetscCall(DMCreateMatrix(da, &M[t]));
    for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
      for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
        for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
          for (PetscInt c = 0; c < dof; c++)
            for (PetscInt d = 0; d < dim; d++)
              for (PetscInt s = -1; s < 2; s++) {
                MatStencil  row, col;
                PetscScalar v = SpikeTestScalar(60 + d, i + 20 * j + 400 * k, s + 3 * c);

                row.i = col.i = i;
                row.j = col.j = j;
                row.k = col.k = k;
                row.c         = c;
                col.c         = dof - 1 - c;
                if (d == 0) col.i += s;
                if (d == 1) col.j += s;
                if (d == 2) col.k += s;
                if (b == DM_BOUNDARY_NONE &&
                    (col.i < 0 || col.i >= info.mx || col.j < 0 || col.j >= info.my || col.k < 0 || col.k >= info.mz))
                  continue;
                PetscCall(MatSetValuesStencil(M[t], 1, &row, 1, &col, &v, ADD_VALUES));
              }
    PetscCall(Assemble(M[t], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(DiaCompare(M[0], M[1], where));
  for (int t = 0; t < 2; t++) PetscCall(MatDestroy(&M[t]));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row and a column that are full: too many diagonals, unless they are allowed */
static PetscErrorCode TestRefused(void)
{
  const PetscInt  n = 1500;
  Mat             A, B;
  PetscInt        begin, end, count;
  const PetscInt *offsets;
  PetscReal       fill;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(B, MATAIJ));
  PetscCall(MatSetUp(B));
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(B, i, i, 2.0 + i, INSERT_VALUES));
    PetscCall(MatSetValue(B, 0, i, 1.0 + i, INSERT_VALUES));
    PetscCall(MatSetValue(B, i, 0, 1.0 - i, INSERT_VALUES));
  }
  PetscCall(Assemble(B, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatConvert(B, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &A);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "a full row was not refused: error %d", (int)ierr));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_dia_max_fill", "5000"));
  PetscCall(MatConvert(B, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_dia_max_fill"));
  PetscCall(MatDIAGetMaxFill(A, &fill));
  PetscCall(SpikeTestCheck((PetscBool)(fill == 5000.0), "-mat_dia_max_fill gave %g", (double)fill));
  PetscCall(MatDIAGetDiagonals(A, &count, &offsets));
  PetscCall(
    SpikeTestCheck((PetscBool)(begin || (count == n + end - 1 && offsets[0] == 1 - end && offsets[count - 1] == n - 1)),
                   "%" PetscInt_FMT " diagonals", count));
  {
    Vec x, y, z;

    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(SpikeTestSetRandom(x, 71));
    PetscCall(MatMult(B, x, y));
    PetscCall(MatMult(A, x, z));
    PetscCall(DiaSame(z, y, "product", "a full row"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters, getters, options; errors of misuse */
static PetscErrorCode TestSettings(void)
{
  Mat                A, B;
  MatDIAScheduleType schedule;
  PetscInt           count;
  PetscErrorCode     ierr[2];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 30, 30));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_dia_schedule", "twophase"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_dia_schedule"));
  PetscCall(MatDIAGetSchedule(A, &schedule));
  PetscCall(SpikeTestCheck((PetscBool)(schedule == MAT_DIA_SCHEDULE_TWOPHASE), "-mat_dia_schedule gave %s",
                           MatDIAScheduleTypes[schedule]));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = MatDIAGetDiagonals(A, &count, NULL);
  ierr[1] = MatDIASetMaxFill(A, 0.5);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr[0] == PETSC_ERR_ARG_WRONGSTATE), "diagonals before an assembly: error %d",
                           (int)ierr[0]));
  PetscCall(SpikeTestCheck((PetscBool)(ierr[1] == PETSC_ERR_ARG_OUTOFRANGE), "a fill below 1: error %d", (int)ierr[1]));
  PetscCall(MatSetUp(A));
  PetscCall(Assemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatDIAGetSchedule(B, &schedule));
  PetscCall(SpikeTestCheck((PetscBool)(schedule == MAT_DIA_SCHEDULE_TWOPHASE), "a duplicate has %s",
                           MatDIAScheduleTypes[schedule]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const DMBoundaryType boundaries[] = {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_GHOSTED};
  PetscMPIInt          size;
  char                 where[128];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(diacases); k++) {
    const DiaCase *c = &diacases[k];

    for (PetscInt place = 0; place < (size > 1 && DiaLayouts(c) ? 3 : 1); place++) {
      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, layout %" PetscInt_FMT, c->name, place));
      PetscCall(TestValues(c, place, where));
      PetscCall(TestCOO(c, place, where));
    }
  }
  PetscCall(TestOptions());
  for (PetscInt dim = 1; dim < 4; dim++)
    for (int b = 0; b < 3; b++)
      for (PetscInt dof = 1; dof < 3; dof++) {
        /* its AIJ matrix takes whole rows only */
        if (dim == 1 && size == 1 && boundaries[b] == DM_BOUNDARY_NONE) continue;
        PetscCall(PetscSNPrintf(where, sizeof(where),
                                "DMDA, %" PetscInt_FMT " dimensions, boundary %s, %" PetscInt_FMT " unknowns", dim,
                                DMBoundaryTypes[boundaries[b]], dof));
        PetscCall(TestDMDA(dim, boundaries[b], dof, where));
      }
  PetscCall(TestRefused());
  PetscCall(TestSettings());
  PetscCall(SpikeTestEnd("dia_assembly"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2 3 5}}
      output_file: output/dia_assembly_1.out

   test:
      suffix: cuda
      nsize: {{1 2 3}}
      requires: cuda gpurun
      args: -dia_type diacuda
      output_file: output/dia_assembly_1.out

TEST*/
