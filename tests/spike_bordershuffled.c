/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Bands with a border whose rows and columns are in a random order: the border is found, not the cover "
           "of what the order has made of the band.\n\n";

#include "spiketest.h"

/* A dominant band of half-bandwidth K with m full rows and columns; place[i]: row i of the matrix in that order */
static PetscScalar Entry(PetscInt n, PetscInt K, PetscInt m, PetscInt seed, PetscInt i, PetscInt j)
{
  if (i == j) return PetscAbsScalar(SpikeTestScalar(seed, i, i)) + (i < n - m ? 4.0 * (K + 1) + m : 2.0 * n);
  if (i >= n - m || j >= n - m) return 0.5 * SpikeTestScalar(seed, i, j);
  return PetscAbsInt(i - j) <= K ? SpikeTestScalar(seed, i, j) : 0.0;
}

static PetscErrorCode TestShuffled(PetscInt n, PetscInt K, PetscInt m, PetscInt seed, PetscBool symmetric)
{
  PetscInt   *place;
  Mat         A;
  Vec         x, b;
  KSP         ksp;
  PC          pc;
  PCSpikeInfo info;
  PetscReal   residual;
  char        where[96];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(where, sizeof(where), "n %" PetscInt_FMT ", K %" PetscInt_FMT ", border %" PetscInt_FMT, n, K, m));
  PetscCall(PetscMalloc1(n, &place));
  for (PetscInt i = 0; i < n; i++) place[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)((SpikeTestUniform(seed, i, 2) + 1.0) * 0.4999 * (PetscReal)(i + 1)), t = place[i];

    place[i] = place[j];
    place[j] = t;
  }
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2 * K + 1 + m, NULL, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt    p = place[i], q = place[j];
      const PetscScalar v = Entry(n, K, m, seed, symmetric ? PetscMax(p, q) : p, symmetric ? PetscMin(p, q) : q);

      if (v != (PetscScalar)0.0) PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, 1e5 * PETSC_MACHINE_EPSILON, "residual", where));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.border == m && PetscMax(info.kl, info.ku) <= 2 * K),
                           "%s: border %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, where,
                           info.border, info.kl, info.ku));
  PetscCall(MatScale(A, -2.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, 1e5 * PETSC_MACHINE_EPSILON, "residual with other values", where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n[] = {90, 181, 300, 700}, m[] = {1, 2, 3, 5};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt k = 0; k < 4; k++)
    for (PetscInt l = 0; l < 4; l++)
      PetscCall(TestShuffled(n[k], 1 + (k + l) % 3, m[l], 5 + k + 7 * l, (PetscBool)(l % 2)));
  PetscCall(SpikeTestEnd("spike_bordershuffled"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1

TEST*/
