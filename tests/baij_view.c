/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "A MATBAIJCUDA as text, on one and two ranks: with values of MatSetValuesCOO(), and after a change.\n\n";

#include <petscspike.h>

int main(int argc, char **argv)
{
  PetscInt    begin, end, i[8], j[8];
  PetscScalar v[8];
  PetscCount  n = 0;
  Mat         A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 4, 4));
  PetscCall(MatSetBlockSize(A, 2));
  PetscCall(MatSetType(A, MATBAIJCUDA));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    i[n]   = row;
    j[n]   = row;
    v[n++] = 1.0 + (PetscReal)row;
    i[n]   = row;
    j[n]   = (row + 2) % 4;
    v[n++] = -1.0;
  }
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !complex
      output_file: output/baij_view_1.out
      test:
         suffix: 1
         args: -spike_host_baijcuda
      test:
         suffix: cuda
         requires: cuda gpurun

   testset:
      nsize: 2
      requires: !complex
      output_file: output/baij_view_2.out
      test:
         suffix: 2
         args: -spike_host_baijcuda
      test:
         suffix: cuda_2
         requires: cuda gpurun

TEST*/
