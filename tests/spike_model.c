/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_model.c: a band that is nearly empty is said to be the wrong form of its matrix, others are not */
static char help[] = "What the view says of a band that sparse LU would factor in far less work.\n\
  -far <400>   distance of the outer diagonals\n\
  -full        all diagonals within that distance\n\
  -step <1>    row i is number step i modulo n\n\n";

#include "spiketest.h"

int main(int argc, char **argv)
{
  PetscInt  n = 3200, far = 400, step = 1, start, end;
  PetscBool full = PETSC_FALSE;
  Mat       A;
  Vec       x, b;
  KSP       ksp;
  PC        pc;
  PetscReal residual;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-far", &far, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-full", &full, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt d = -far; d <= far; d++) {
      const PetscInt j = i + d;

      if (j < 0 || j >= n || (!full && d != far && d != -far && (d > 1 || d < -1))) continue;
      PetscCall(MatSetValue(A, i * step % n, j * step % n, d ? -1.0 / (full ? 2 * far : 1) : 4.2, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetEstimate(pc, PETSC_FALSE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, 1e-4, "residual", "solve"));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestEnd("spike_model"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      filter: grep -E "half-bandwidths|filled to|cut to|spike_model"
      nsize: {{1 2}}
      test:
         suffix: empty
      test:
         suffix: narrow
         args: -far 40
      test:
         suffix: full
         args: -full -far 60
      test:
         suffix: cut
         args: -pc_spike_max_bandwidth 20

   test:
      suffix: shuffled
      filter: grep -E "half-bandwidths|filled to|cut to|spike_model"
      args: -far 40 -step 1009 -pc_spike_mat_ordering_type rcm -pc_spike_max_bandwidth 20

TEST*/
