/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spike_singular.c: partitions that are singular, of matrices that are regular, or whose systems are consistent: solved
  with any number of partitions, with new values, and as before once values are ordinary
*/
static char help[] = "PCSPIKE where partitions are singular though the system has a solution.\n\n";

#include "spiketest.h"

#define NKINDS 3
static const char *const kinds[] = {"chains", "swaps", "swaps with others"};

/*
  chains: a_ij = 1 where |i - j| = 3, of an odd number of rows each, which is singular
  swaps:  a_ij = 1 where i and j are partners: groups of 6 rows, three with the three after them; regular
  with others: and small entries besides
  ordinary: the same pattern, dominant
*/
static PetscErrorCode SetValues(Mat A, PetscInt kind, PetscReal scale, PetscBool ordinary)
{
  PetscInt N, start, end;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(0, i - 3); j <= PetscMin(N - 1, i + 3); j++) {
      const PetscInt  low      = PetscMin(i, j);
      const PetscBool partners = (PetscBool)(PetscAbsInt(i - j) == 3 && (!kind || low % 6 < 3));
      PetscScalar     a        = partners ? scale : 0.0;

      if (kind == 2 && i != j) a += 0.01 * scale * SpikeTestScalar(7, i, j);
      if (ordinary) a = i == j ? 8 * scale : scale * SpikeTestScalar(3, i, j);
      PetscCall(MatSetValue(A, i, j, a, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* must: it converges; what says that it does, has in any case */
static PetscErrorCode TestSolve(KSP ksp, Mat A, PetscBool must, const char where[])
{
  const PetscReal    tol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8;
  KSPConvergedReason reason;
  PetscReal          residual;
  Vec                b, x, w;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(SpikeTestSetRandom(w, 5));
  PetscCall(MatMult(A, w, b)); /* consistent */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 || !must), "%s: ended with %s", where, KSPConvergedReasons[reason]));
  if (reason > 0) PetscCall(SpikeTestSmall(residual, 100 * tol, "true residual", where));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* partitions: PETSC_DECIDE or a number */
static PetscErrorCode Test(PetscInt kind, PetscInt n, PetscInt partitions)
{
  /* what boosting does to several partitions is beyond the digits of single precision */
  PetscBool   must;
  PetscMPIInt size;
  Mat         A;
  KSP         ksp;
  PC          pc;
  char        where[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  must = (PetscBool)(!PetscDefined(USE_REAL_SINGLE) || (partitions <= 1 && size == 1));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, 7, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 7, NULL, 6, NULL));
  PetscCall(SetValues(A, kind, 1.0, PETSC_FALSE));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGSFUSED));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, 0.0, PETSC_CURRENT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %" PetscInt_FMT " rows, %" PetscInt_FMT " partitions", kinds[kind],
                          n, partitions));
  PetscCall(TestSolve(ksp, A, must, where));
  PetscCall(SetValues(A, kind, 1e-5, PETSC_FALSE));
  PetscCall(PetscStrlcat(where, ", new values", sizeof(where)));
  PetscCall(TestSolve(ksp, A, must, where));
  PetscCall(SetValues(A, kind, 1.0, PETSC_TRUE));
  PetscCall(PetscStrlcat(where, ", ordinary ones", sizeof(where)));
  PetscCall(TestSolve(ksp, A, must, where));
  PetscCall(SetValues(A, kind, 1.0, PETSC_FALSE));
  PetscCall(PetscStrlcat(where, ", and back", sizeof(where)));
  PetscCall(TestSolve(ksp, A, must, where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {21, 204, 3003}, partitions[] = {PETSC_DECIDE, 1, 2, 3, 4, 8};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt kind = 0; kind < NKINDS; kind++)
    for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(sizes); n++)
      for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(partitions); p++) PetscCall(Test(kind, sizes[n], partitions[p]));
  PetscCall(SpikeTestEnd("spike_singular"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_singular_1.out
      nsize: {{1 2}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
