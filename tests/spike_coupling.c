/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE inside of Krylov methods where far ends of spikes say too little: auto takes the coupling that is "
           "right, at no cost for dominant rows, and says where memory is too small for it.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */

#include <petsc/private/matimpl.h>
#include <dlfcn.h>
#include <stdio.h>
#include "spiketest.h"
#include "viewtext.h"

/* Bytes that the system says it has; negative: the truth */
static double available = -1.0;

/* In place of the system's, for the library too */
PETSC_VISIBILITY_PUBLIC FILE *fopen(const char *path, const char *mode)
{
  static FILE *(*real)(const char *, const char *) = NULL;
  static char text[64];

  if (available >= 0.0 && !strcmp(path, "/proc/meminfo")) {
    (void)snprintf(text, sizeof(text), "MemAvailable: %.0f kB\n", available / 1024);
    return fmemopen(text, strlen(text), "r");
  }
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fopen");
  return (*real)(path, mode);
}

static PetscErrorCode (*product)(Mat, Vec, Vec);
static PetscInt products;

static PetscErrorCode Counted(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  products++;
  PetscCall((*product)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, KSPType type, PCSpikeType coupling, PetscInt partitions, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetType(pc, coupling));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetMaxBorder(pc, 0));
  PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations, and the residual is what they say */
static PetscErrorCode Solve(KSP ksp, Mat A, Vec b, Vec x, PetscInt *its, const char where[])
{
  KSPConvergedReason reason;
  PetscReal          residual;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: %s", where, KSPConvergedReasons[reason]));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, 1e-6, "residual", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dominant band of 4 partitions, but for the last row of each where tips are large */
static PetscErrorCode Tips(PetscReal dominance, PetscBool large, PetscInt *partitions, Mat *A)
{
  const PetscInt rows = 40, K = 3;
  SpikeTestBand  band = {0, K, K, dominance, SPIKE_TEST_RANDOM, 13};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  *partitions = size > 1 ? 1 : 4;
  band.n      = rows * *partitions * size;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, rows * *partitions, MATAIJ, A));
  if (large) PetscCall(SpikeTestLargeTips(&band, rows, band.n - 1, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Tips are large: as many iterations as with exact coupling, which stays for later values. A device takes samples of the
  rows alone, finds them dominant, and iterates
*/
static PetscErrorCode TestTips(void)
{
  const KSPType methods[] = {KSPGMRES, KSPBCGSFUSED};
  PetscInt      partitions, its, full;
  PetscBool     device;
  Mat           A;
  Vec           b, x;

  PetscFunctionBegin;
  for (int m = 0; m < 2; m++) {
    KSP         ksp;
    PC          pc;
    PCSpikeInfo info;

    PetscCall(Tips(1.5, PETSC_TRUE, &partitions, &A));
    PetscCall(SpikeTestOnDevice(A, &device));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 4));
    PetscCall(Create(A, methods[m], PC_SPIKE_FULL, partitions, &ksp));
    PetscCall(Solve(ksp, A, b, x, &full, "full"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(Create(A, methods[m], PC_SPIKE_AUTO, partitions, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    for (PetscInt turn = 0; turn < 3; turn++) {
      PetscCall(Solve(ksp, A, b, x, &its, "auto"));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(
        SpikeTestCheck((PetscBool)(device || (its <= full + 1 && info.type == PC_SPIKE_FULL && info.rebuilds == 2)),
                       "%s, turn %" PetscInt_FMT ": %s, %" PetscInt_FMT " iterations, %" PetscInt_FMT
                       " with exact coupling, %" PetscInt_FMT " setups from scratch",
                       methods[m], turn, PCSpikeTypes[info.type], its, full, info.rebuilds));
      PetscCall(MatScale(A, 2.0));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dominant rows, far ends just below what may be neglected: no product with the matrix in a setup */
static PetscErrorCode TestDominant(void)
{
  PetscInt    partitions = 0;
  Mat         A;
  KSP         ksp;
  PC          pc;
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(Tips(1.5, PETSC_FALSE, &partitions, &A));
  product      = A->ops->mult;
  A->ops->mult = Counted;
  PetscCall(Create(A, KSPGMRES, PC_SPIKE_AUTO, partitions, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSpikeSetEstimate(pc, PETSC_FALSE)); /* whoever asks for info pays for that */
  for (PetscInt turn = 0; turn < 2; turn++) {
    products = 0;
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.type == PC_SPIKE_TRUNCATED && !products && info.rebuilds == 1),
                             "dominant, turn %" PetscInt_FMT ": %s, %" PetscInt_FMT " products", turn,
                             PCSpikeTypes[info.type], products));
    PetscCall(MatScale(A, 2.0));
    PetscCall(KSPSetOperators(ksp, A, A));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory holds truncated spikes, not exact coupling: partitions as short as they may be, on one rank of a host */
static PetscErrorCode TestMemory(void)
{
  const PetscInt K = 12, partitions = 40;
  SpikeTestBand  band = {K * partitions, K, K, 1.0, SPIKE_TEST_SLOW, 3};
  PCSpikeInfo    info[2];
  PetscReal      needed, wanted;
  Mat            A;
  char           text[8192];
  PetscMPIInt    size;
  PetscBool      device;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(SpikeTestOnDevice(A, &device));
  for (int turn = 0; turn < 4 && size == 1 && !device;
       turn++) { /* truncated, full, auto without memory, auto with memory */
    const PCSpikeType types[] = {PC_SPIKE_TRUNCATED, PC_SPIKE_FULL, PC_SPIKE_AUTO, PC_SPIKE_AUTO};
    PCSpikeInfo       now;
    KSP               ksp;
    PC                pc;

    PetscCall(Create(A, KSPGMRES, types[turn], partitions, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    if (turn == 2) { /* what all needs that is truncated, and what exact coupling needs beside the band */
      needed = info[0].bytes + info[0].extra_bytes - info[0].map_bytes;
      wanted = info[1].extra_bytes - info[1].map_bytes;
      PetscCall(SpikeTestCheck((PetscBool)(needed + 4096 < wanted), "memory: %g bytes are needed, %g wanted",
                               (double)needed, (double)wanted));
      available = 0.5 * (needed + wanted);
    } else available = -1.0;
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &now));
    PetscCall(ViewText(pc, sizeof(text), text));
    if (turn < 2) info[turn] = now;
    PetscCall(SpikeTestCheck((PetscBool)(now.type == (turn % 2 ? PC_SPIKE_FULL : PC_SPIKE_TRUNCATED) &&
                                         now.scarce == (turn == 2) &&
                                         now.scarce == (strstr(text, "exact coupling needs more memory") != NULL)),
                             "memory, turn %d: %s, scarce %d, the view says\n%s", turn, PCSpikeTypes[now.type],
                             (int)now.scarce, text));
    PetscCall(KSPDestroy(&ksp));
  }
  available = -1.0;
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  if (!PetscDefined(USE_REAL_SINGLE)) PetscCall(TestTips());
  PetscCall(TestDominant());
  PetscCall(TestMemory());
  PetscCall(SpikeTestEnd("spike_coupling"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_coupling_1.out
      test:
         suffix: 1
         nsize: {{1 2 4}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
