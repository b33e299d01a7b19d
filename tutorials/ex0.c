/* SPDX-License-Identifier: BSD-2-Clause */
/* ex0.c: a PETSc program that knows nothing of petscspike; see commandline.md for what the command line does with it */
static char help[] = "A beam on an elastic foundation, u'''' + u = f, by finite differences: five diagonals.\n"
                     "  -n <rows>\n\n";

#include <petscksp.h>

int main(int argc, char **argv)
{
  const PetscScalar stencil[] = {1.0, -4.0, 7.0, -4.0, 1.0};
  Mat               A;
  Vec               x, b, r;
  KSP               ksp;
  PetscInt          n = 1000, rstart, rend;
  PetscReal         rnorm, bnorm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++)
    for (PetscInt j = PetscMax(i - 2, 0); j <= PetscMin(i + 2, n - 1); j++)
      PetscCall(MatSetValue(A, i, j, stencil[j - i + 2], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  if (rnorm < 1e-4 * bnorm) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "true relative residual < 1e-4\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "true relative residual %.2g\n", (double)(rnorm / bnorm)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -dll_append ${SPIKE_LIB}
      output_file: output/ex0_1.out
      test:
         suffix: direct
         args: -ksp_type preonly -pc_type spike
      test:
         suffix: ranks
         nsize: {{1 2 3}}
         args: -pc_type spike -ksp_type {{gmres bcgs}} -ksp_rtol 1e-6 -pc_spike_local_partitions 2
      test:
         suffix: single
         args: -pc_type spike -ksp_rtol 1e-6 -pc_spike_precision {{single bf16 fp16}}
      test:
         suffix: bandwidth
         args: -pc_type spike -ksp_rtol 1e-6 -pc_spike_bandwidth 3,2 -ksp_type gmres
      test:
         suffix: inside
         nsize: 2
         args: -pc_type {{bjacobi asm}} -sub_pc_type spike -ksp_rtol 1e-6

TEST*/
