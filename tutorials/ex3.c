/* SPDX-License-Identifier: BSD-2-Clause */
/* ex3.c: several ranks; what crosses between them and what truncation costs */
static char help[] = "A 2-D channel on several ranks with block and truncated SPIKE.\n"
                     "  -nx <n>, -ny <n>: cells along and across the channel; the half-bandwidth is ny\n\n";

#include <petscspike.h>
#include "problems.h"

int main(int argc, char **argv)
{
  const PCSpikeType types[] = {PC_SPIKE_BLOCK, PC_SPIKE_TRUNCATED};
  const char *const names[] = {"block", "truncated"};
  PetscInt          nx = 1000, ny = 10, its[2];
  PetscMPIInt       size;
  PetscReal         rnorm, bnorm;
  Mat               A;
  Vec               x, b, r;
  KSP               ksp;
  PC                pc;
  PCSpikeInfo       info;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &nx, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-ny", &ny, NULL));

  /*
    1. Each rank has consecutive cells, so the band is cut between ranks. Every piece is factored where it is. Truncated
    SPIKE then
       computes, in each setup, the tips of the two spikes at every cut and exchanges them with the neighbour; in each
       application K numbers go to either neighbour. Nothing is global. The block type leaves out the coupling
       altogether.
  */
  PetscCall(ChannelCreate(PETSC_COMM_WORLD, nx, ny, 50.0, &A, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT)); /* converged means b - A x, not something preconditioned */
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(KSPSetFromOptions(ksp)); /* -ksp_view shows bandwidths, partitions, memory */

  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(PCSpikeSetType(pc, types[k]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    if (rnorm < 1e-7 * bnorm) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: true relative residual < 1e-7\n", names[k]));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: true relative residual %.2g\n", names[k], (double)(rnorm / bnorm)));
  }

  /* 2. What truncation neglects is the far end of a spike, which has decayed over the length of a partition */
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT "; one partition a rank: %s\n", info.kl,
                        info.ku, info.partitions == size ? "yes" : "no"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "far end of the longest spike < 0.05 of its tip: %s\n",
                        info.decay < 0.05 ? "yes" : "no"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "truncated needs no more iterations than block: %s\n",
                        its[1] <= its[0] ? "yes" : "no"));
  PetscCall(PetscInfo(pc, "iterations: block %" PetscInt_FMT ", truncated %" PetscInt_FMT "\n", its[0], its[1]));
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
      requires: !single
      output_file: output/ex3_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: single
         nsize: 2
         args: -pc_spike_precision {{single bf16 fp16}}

TEST*/
