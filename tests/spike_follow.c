/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE as a direct solver: how far truncated spikes are followed after a solve took a step.\n\n";

#include "spiketest.h"
#include "viewtext.h"

/* A solve within the tolerance; *steps: of refinement, and the text of the view tells how far corrections go */
static PetscErrorCode Solve(KSP ksp, PetscBool trans, Vec b, Vec x, const char window[], PetscInt *steps,
                            const char where[])
{
  PC                 pc;
  Mat                A;
  PCSpikeInfo        info;
  PetscReal          eta = PETSC_MAX_REAL;
  KSPConvergedReason reason;
  PetscMPIInt        rank;
  PetscInt           before;
  char               text[8192] = "", *at;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSetUp(pc)); /* before PETSc 3.26 KSPSetUp() looks for new values after KSPSetOperators() only */
  PetscCall(PCSpikeGetInfo(pc, &info));
  before = info.refinements;
  if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscCall(PCSpikeGetInfo(pc, &info));
  *steps = info.refinements - before;
  PetscCall(SpikeTestBackwardError(A, trans, b, x, &eta));
  PetscCall(SpikeTestSmall(eta, 1e-9, "backward error", where));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscStrstr(text, window, &at));
  PetscCall(SpikeTestCheck((PetscBool)(rank || at), "%s: \"%s\" is not in the view", where, window));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Partitions of 100 rows, whose spikes fall to 1e-8 in less than half of them and to nothing in all of them. The first
  solve takes a step on a host, where windows end; on a device those of partitions that it sweeps together may not.
*/
static PetscErrorCode TestFollow(MatType type, PetscBool trans, PetscBool direct)
{
  const char   *near = "corrected down to 1e-08 of their ends", *far = "corrected down to 1e-13 of their ends";
  PetscMPIInt   size;
  SpikeTestBand band = {0, 3, 4, 1.5, SPIKE_TEST_RANDOM, 21};
  Mat           A;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  PetscInt      steps, first;
  PetscBool     host;
  Vec           b, x;
  char          where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s%s%s", type, trans ? ", transposed" : "", direct ? ", direct" : ""));
  band.n = 400 * size;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, type, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 5));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetLocalPartitions(pc, 4));
  if (direct) PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &first, where));
  PetscCall(PCSpikeGetInfo(pc, &info));
  host = (PetscBool)!strcmp(info.backend, "host");
  PetscCall(SpikeTestSmall(info.decay, 1e-11, "far ends of the spikes", where));
  PetscCall(SpikeTestCheck((PetscBool)(first == 1 || !host), "%s: first %" PetscInt_FMT " steps", where, first));
  for (PetscInt turn = 0; turn < 2 && first; turn++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(Solve(ksp, trans, b, x, far, &steps, where));
    PetscCall(
      SpikeTestCheck((PetscBool)!steps, "%s: %" PetscInt_FMT " steps in turn %" PetscInt_FMT, where, steps, turn));
    PetscCall(Solve(ksp, trans, b, x, far, &steps, where));
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.rebuilds == 1), "%s: %" PetscInt_FMT " setups from scratch", where, info.rebuilds));
  /* another method: its preconditioner is to be cheap; then a direct solve again */
  if (!direct) {
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPSetTolerances(ksp, 1e-11, 0.0, PETSC_CURRENT, 100));
    PetscCall(Solve(ksp, trans, b, x, first ? far : near, &steps, where)); /* by the setup that is there */
    PetscCall(MatScale(A, 2.0));
    PetscCall(Solve(ksp, trans, b, x, near, &steps, where));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(Solve(ksp, trans, b, x, near, &steps, where));
    PetscCall(
      SpikeTestCheck((PetscBool)(trans || steps == first), "%s: %" PetscInt_FMT " steps afterwards", where, steps));
  }
  /* a tolerance that was set is kept, also if it is the default one */
  PetscCall(PCSpikeSetWindowTolerance(pc, 1e-8));
  for (PetscInt turn = 0; turn < 2; turn++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
    PetscCall(
      SpikeTestCheck((PetscBool)(steps == first), "%s: %" PetscInt_FMT " steps with a tolerance", where, steps));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Far ends that a solve needs: spikes are not followed further for them */
static PetscErrorCode TestNot(void)
{
  PetscMPIInt   size;
  SpikeTestBand band = {0, 3, 3, 1.2, SPIKE_TEST_RANDOM, 22};
  Mat           A;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  PetscInt      steps;
  Vec           b, x;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  band.n = 120 * size;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 6));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetLocalPartitions(pc, 4));
  PetscCall(PCSpikeSetMaxRefinements(pc, 20));
  for (PetscInt turn = 0; turn < 3; turn++) {
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, "corrected down to 1e-08 of their ends", &steps, "far ends"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.decay > 1e-11 && steps > 0), "far ends: %g, %" PetscInt_FMT " steps",
                             (double)info.decay, steps));
    PetscCall(MatScale(A, 2.0));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  if (!PetscDefined(USE_REAL_SINGLE)) { /* whose tolerance of solves is above that of the windows */
    for (PetscInt k = 0; k < 8; k++)
      PetscCall(TestFollow(k & 1 ? SpikeTestDiaType() : MATAIJ, (PetscBool)(k & 2), (PetscBool)(k & 4)));
    PetscCall(TestNot());
  }
  PetscCall(SpikeTestEnd("spike_follow"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   testset:
      output_file: output/spike_follow_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
