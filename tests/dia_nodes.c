/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Halos of MATDIA and MATGRIDSTENCIL with several ranks on what counts as a node: the same "
                     "products, and what the view says.\n\n";

#include "diacase.h"
#include <petscdmda.h>

/* In the view on 4 ranks, for 0 (all on one node), 1, 2, 3, 4 ranks per node */
static const char *const lines[2][5] = {{"2 on its node, 0 on others", "0 on its node, 2 on others",
                                         "1 on its node, 1 on others", "2 on its node, 1 on others",
                                         "2 on its node, 0 on others"},
                                        {"3 on its node, 0 on others", "0 on its node, 3 on others",
                                         "1 on its node, 2 on others", "2 on its node, 3 on others",
                                         "3 on its node, 0 on others"}};

static PetscErrorCode TestView(Mat A, const char line[], PetscInt pernode, const char where[])
{
  PetscViewer viewer;
  char        text[4096] = "";
  PetscMPIInt rank;
  FILE       *file;
  size_t      length = 0;
  PetscBool   there;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "dia_nodes.tmp", &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (!rank) {
    file = fopen("dia_nodes.tmp", "r");
    if (file) length = fread(text, 1, sizeof(text) - 1, file);
    if (file) fclose(file);
    (void)remove("dia_nodes.tmp");
  }
  text[length] = 0;
  there        = (PetscBool)(rank || strstr(text, line));
  PetscCall(SpikeTestCheck(there, "%s: the view does not say \"%s\" for %" PetscInt_FMT " ranks per node", where, line,
                           pernode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Forwards and back, with x and y of different values each time: the bits of before */
static PetscErrorCode TestProducts(Mat A, PetscBool transposed, Vec x, Vec z[2], PetscInt pernode, const char where[])
{
  Vec       y;
  PetscBool equal;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &y));
  for (int k = 0; k < 3; k++) {
    PetscCall(VecSet(y, -1.0));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecEqual(y, z[0], &equal));
    PetscCall(SpikeTestCheck(equal, "%s: product %d with %" PetscInt_FMT " ranks per node", where, k, pernode));
    PetscCall(MatMult(A, y, x)); /* other messages in between */
    PetscCall(SpikeTestSetRandom(x, 3));
    if (!transposed) continue;
    PetscCall(MatMultTranspose(A, x, y));
    PetscCall(VecEqual(y, z[1], &equal));
    PetscCall(
      SpikeTestCheck(equal, "%s: transposed product %d with %" PetscInt_FMT " ranks per node", where, k, pernode));
  }
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMatrix(Mat A, int kind, const char option[], const char where[])
{
  Mat         B;
  Vec         x, z[2];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreateVecs(A, &x, &z[0]));
  PetscCall(VecDuplicate(z[0], &z[1]));
  PetscCall(SpikeTestSetRandom(x, 3));
  PetscCall(MatMult(A, x, z[0]));
  PetscCall(MatMultTranspose(A, x, z[1]));
  for (PetscInt pernode = 4; pernode >= 0; pernode--) {
    char value[8];

    PetscCall(PetscSNPrintf(value, sizeof(value), "%" PetscInt_FMT, pernode));
    PetscCall(PetscOptionsSetValue(NULL, option, value));
    PetscCall(MatSetFromOptions(A));
    PetscCall(PetscOptionsClearValue(NULL, option));
    PetscCall(TestProducts(A, (PetscBool)!kind, x, z, pernode, where));
    if (size == 4) PetscCall(TestView(A, lines[kind][pernode], pernode, where));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(TestProducts(B, (PetscBool)!kind, x, z, pernode, "duplicate"));
    if (size == 4) PetscCall(TestView(B, lines[kind][pernode], pernode, "duplicate"));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z[0]));
  PetscCall(VecDestroy(&z[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three points in one dimension by diagonals; nine in two as a stencil, on 4 ranks with corners */
int main(int argc, char **argv)
{
  const PetscInt    n          = 301;
  const PetscScalar near[3]    = {-1.0, 2.5, -1.25};
  MatStencil        offsets[9] = {{0}};
  PetscScalar       v[9];
  PetscInt          begin, end, local = PETSC_DECIDE;
  PetscMPIInt       rank, size;
  Mat               A;
  DM                da;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 5) local = rank ? n / 4 + (rank == 1 ? n % 4 : 0) : 0; /* a rank without messages */
  PetscCall(MatSetSizes(A, local, local, n, n));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetFromOptions(A)); /* -mat_dia_schedule */
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt d = -1; d < 2; d++)
      if (i + d >= 0 && i + d < n) PetscCall(MatSetValue(A, i, i + d, near[d + 1], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestMatrix(A, 0, "-mat_dia_ranks_per_node", "diagonals"));
  PetscCall(MatDestroy(&A));

  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 20, 20, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  for (PetscInt s = 0; s < 9; s++) {
    offsets[s].i = s % 3 - 1;
    offsets[s].j = s / 3 - 1;
    v[s]         = s == 4 ? 8.0 : -1.0 + 0.0625 * s;
  }
  PetscCall(MatCreateGridStencil(da, 9, offsets, &A));
  PetscCall(MatGridStencilSetCoefficients(A, v));
  PetscCall(TestMatrix(A, 1, "-mat_gridstencil_ranks_per_node", "stencil"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(SpikeTestEnd("dia_nodes"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/dia_nodes_1.out
      args: -mat_dia_schedule {{overlap twophase}}
      nsize: {{2 3 4 5}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -dia_type diacuda -dm_vec_type cuda

TEST*/
