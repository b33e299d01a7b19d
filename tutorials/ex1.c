/* SPDX-License-Identifier: BSD-2-Clause */
/* ex1.c: the shortest program that uses PCSPIKE through its interface */
static char help[] = "A convection-diffusion equation on a line, solved with PCSPIKE.\n\n";

#include <petscspike.h>

int main(int argc, char **argv)
{
  Mat       A;
  Vec       x, b;
  KSP       ksp;
  PC        pc;
  PetscInt  n = 1000, rstart, rend;
  PetscReal error;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage()); /* registers the types of libpetscspike */
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) { /* -u'' + 12 u', spacing 0.1, scaled: half-bandwidth 1, unsymmetric */
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -2.0, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, i, i + 1, -0.5, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, i, 2.5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b)); /* the solution is 1 everywhere */
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(KSPSetFromOptions(ksp)); /* -pc_spike_type block, -ksp_type bcgs, -ksp_view, ... */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecShift(x, -1.0));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  if (error < 1e-4) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "largest error < 1e-4\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "largest error %g\n", (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -ksp_rtol 1e-8
      requires: !single
      output_file: output/ex1_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: types
         args: -pc_spike_local_partitions 7 -pc_spike_type {{block truncated}} -pc_spike_precision {{double single \
               bf16 fp16}}

TEST*/
