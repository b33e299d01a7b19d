/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_cuts.c: partitions of PCSPIKE begin where nothing couples two rows, so that nothing is neglected there */
static char help[] = "Block diagonal matrices whose blocks are bands that are not dominant, with truncated spikes,\n\
with exact and with no coupling, transposes, several right-hand sides, new values and new patterns.\n\n";

#include "systemcase.h"

static const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 5e-2 : 1e-9;

/* The diagonal holds against growth, not against coupling */
static PetscScalar BlocksEntry(const Systems *b, PetscInt k, PetscInt i, PetscInt j)
{
  if (i == j) return 0.9 * PetscSqrtReal((PetscReal)(b->kl + b->ku)) + 0.1 * SpikeTestUniform(b->seed, i, i);
  if (SystemsJoin(b, i, j)) return 0.5;
  return j < b->begin[k] || j >= b->begin[k + 1] ? 0.0 : SpikeTestScalar(b->seed, i, j);
}

/* Equal lengths, or in turn 3/4, 1 and 5/4 of one */
static void BlocksInit(Systems *b, PetscInt nblocks, PetscInt length, PetscInt unequal, PetscInt kl, PetscInt ku)
{
  b->nsys     = nblocks;
  b->begin[0] = 0;
  for (PetscInt k = 0; k < nblocks; k++)
    b->begin[k + 1] = b->begin[k] + length + (unequal ? (k % 3 - 1) * (length / 4) : 0);
  b->kl     = kl;
  b->ku     = ku;
  b->seed   = 1 + 7 * nblocks + length;
  b->joined = -1;
  b->entry  = BlocksEntry;
}

static PetscBool pivoting = PETSC_FALSE;

static PetscErrorCode CutsPC(MPI_Comm comm, Mat A, PCSpikeType type, PetscInt np, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(comm, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSpikeSetType(*pc, type));
  PetscCall(PCSpikeSetLocalPartitions(*pc, np));
  PetscCall(PCSpikeSetPivoting(*pc, pivoting));
  PetscCall(PCSpikeSetMatchingType(*pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* np partitions that can all begin at cuts: whatever the coupling, an application is the inverse */
static PetscErrorCode TestAligned(MPI_Comm comm, const Systems *b, PetscInt np, MatType type, const char where[])
{
  const PCSpikeType types[] = {PC_SPIKE_TRUNCATED, PC_SPIKE_BLOCK, PC_SPIKE_FULL, PC_SPIKE_AUTO};
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  for (PetscInt t = 0; t < 4; t++)
    for (PetscInt zeros = 0; zeros < 2; zeros++) {
      Mat         A;
      PC          pc;
      PCSpikeInfo info;
      PetscReal   error;

      PetscCall(SystemsMat(comm, b, (PetscBool)zeros, type, &A));
      PetscCall(CutsPC(comm, A, types[t], np, &pc));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.cuts == size * (np - 1) && info.partitions == size * (info.n ? np : 0)),
                               "%s, type %s: %" PetscInt_FMT " of %" PetscInt_FMT " partitions begin at cuts", where,
                               PCSpikeTypes[types[t]], info.cuts, info.partitions));
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      PetscCall(SpikeTestSmall(error, tol, PCSpikeTypes[types[t]], where));
      if (types[t] == PC_SPIKE_AUTO)
        PetscCall(SpikeTestCheck((PetscBool)(info.type == PC_SPIKE_TRUNCATED), "%s: auto couples cuts exactly", where));
      PetscCall(SpikeTestColumns(pc, 3, tol, where));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Equal partitions whose boundaries fall inside of blocks: what truncation neglects there is no rounding */
static PetscErrorCode TestInside(void)
{
  Systems     b;
  Mat         A;
  PC          pc;
  PCSpikeInfo info;
  PetscReal   error;

  PetscFunctionBegin;
  BlocksInit(&b, 2, 90, 0, 4, 3);
  PetscCall(SystemsMat(PETSC_COMM_SELF, &b, PETSC_FALSE, MATAIJ, &A));
  PetscCall(CutsPC(PETSC_COMM_SELF, A, PC_SPIKE_TRUNCATED, 12, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.cuts == 1 && info.partitions == 12), "one cut among 12 partitions is not met"));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestCheck((PetscBool)(error > (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 100 * tol)),
                           "truncation neglects nothing inside of blocks: %g", (double)error));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of partitions is left to the library: one on a host, on a device many, some of which begin at cuts */
static PetscErrorCode TestOpen(MatType type)
{
  Systems     b;
  Mat         A;
  PC          pc;
  PCSpikeInfo info;
  PetscReal   error;

  PetscFunctionBegin;
  BlocksInit(&b, 60, 120, 0, 4, 3);
  PetscCall(SystemsMat(PETSC_COMM_SELF, &b, PETSC_FALSE, type, &A));
  PetscCall(CutsPC(PETSC_COMM_SELF, A, PC_SPIKE_AUTO, PETSC_DECIDE, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.partitions == 1 || info.cuts > 0),
                           "none of %" PetscInt_FMT " partitions begins at a cut", info.partitions));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestSmall(error, tol, "error", "a number that is left open"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values that couple rows at a cut later: with exact coupling an application is still the inverse. Nothing coupled the
  partitions, so that the setup begins again; that one couples them for all later values
*/
static PetscErrorCode TestJoined(MatType type)
{
  Systems     b;
  Mat         A;
  PC          pc;
  PCSpikeInfo info;
  PetscReal   error;

  PetscFunctionBegin;
  BlocksInit(&b, 6, 40, 0, 3, 4);
  PetscCall(SystemsMat(PETSC_COMM_SELF, &b, PETSC_TRUE, type, &A));
  for (PetscInt t = 0; t < 2; t++) {
    PetscCall(CutsPC(PETSC_COMM_SELF, A, t ? PC_SPIKE_AUTO : PC_SPIKE_FULL, 6, &pc));
    for (PetscInt turn = 0; turn < 3; turn++) {
      b.joined = turn == 1 ? b.begin[2] : -1;
      PetscCall(SystemsSet(&b, PETSC_TRUE, A));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      PetscCall(SpikeTestSmall(error, tol, "after new values", t ? "auto" : "full"));
      PetscCall(SpikeTestCheck((PetscBool)(info.cuts == (turn ? 4 : 5) && info.refills == turn / 2 &&
                                           info.rebuilds == 1 + (turn > 0)),
                               "new values at a cut: %" PetscInt_FMT " setups from scratch, %" PetscInt_FMT " cuts",
                               info.rebuilds, info.cuts));
    }
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  /* a new pattern, whose cuts lie elsewhere */
  for (PetscInt k = 0; k < 2; k++) {
    BlocksInit(&b, k ? 3 : 5, k ? 80 : 48, k, 2, 5);
    PetscCall(SystemsMat(PETSC_COMM_SELF, &b, PETSC_FALSE, type, &A));
    if (!k) PetscCall(CutsPC(PETSC_COMM_SELF, A, PC_SPIKE_TRUNCATED, 5, &pc));
    else {
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCSpikeSetLocalPartitions(pc, 3));
    }
    PetscCall(PCSetUp(pc));
    PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
    PetscCall(SpikeTestSmall(error, tol, "pattern", k ? "second" : "first"));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One entry of a later setup couples two partitions: above the diagonal or below it, as far from it as the band is wide,
  at the first, a middle and the last interface. With empty ranks, and with all rows on one of them, all ranks begin
  anew
*/
static PetscErrorCode TestJoinedOnce(MPI_Comm comm, PetscInt kl, PetscInt ku, MatType type, const char where[])
{
  const PetscInt at[] = {1, 3, 5};
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  for (PetscInt k = 0; k < 3; k++)
    for (PetscInt side = 0; side < 2; side++) {
      Systems     b;
      Mat         A;
      PC          pc;
      PCSpikeInfo info;
      PetscReal   error;
      PetscInt    row, col;

      BlocksInit(&b, 6, 3 * PetscMax(kl, ku), 0, kl, ku);
      if (rank) b.nsys = 0;
      PetscCall(SystemsMat(comm, &b, PETSC_TRUE, type, &A));
      PetscCall(CutsPC(comm, A, PC_SPIKE_FULL, 6, &pc));
      row = b.begin[at[k]] - (side ? ku : 0);
      col = b.begin[at[k]] - (side ? 0 : kl);
      for (PetscInt turn = 0; turn < 3; turn++) {
        if (!rank) PetscCall(MatSetValue(A, row, col, turn == 1 ? 0.25 : 0.0, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
        PetscCall(PCSetUp(pc));
        PetscCall(PCSpikeGetInfo(pc, &info));
        PetscCall(SpikeTestCheck((PetscBool)(info.cuts == (turn ? 4 : 5) && info.rebuilds == 1 + (turn > 0)),
                                 "%s, turn %d: %" PetscInt_FMT " cuts, %" PetscInt_FMT " setups from scratch", where,
                                 (int)turn, info.cuts, info.rebuilds));
        PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
        PetscCall(SpikeTestSmall(error, tol, "after an entry", where));
      }
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in random order: RCM finds the blocks one after the other, and partitions begin between them */
static PetscErrorCode TestReordered(void)
{
  Systems     b;
  Mat         A, P;
  PC          pc;
  IS          perm;
  PetscInt   *index, n;
  PCSpikeInfo info;
  PetscReal   error;

  PetscFunctionBegin;
  BlocksInit(&b, 6, 50, 0, 2, 2);
  n = b.begin[b.nsys];
  PetscCall(SystemsMat(PETSC_COMM_SELF, &b, PETSC_FALSE, MATAIJ, &A));
  PetscCall(PetscMalloc1(n, &index));
  for (PetscInt i = 0; i < n; i++) index[i] = (PetscInt)(((PetscInt64)i * 7919) % n); /* 7919 is prime */
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, index, PETSC_OWN_POINTER, &perm));
  PetscCall(ISSetPermutation(perm));
  PetscCall(MatPermute(A, perm, perm, &P));
  PetscCall(CutsPC(PETSC_COMM_SELF, P, PC_SPIKE_TRUNCATED, 6, &pc));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.cuts == 5 && info.reordered), "reordered: %" PetscInt_FMT " cuts", info.cuts));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestSmall(error, tol, "error", "reordered"));
  PetscCall(SpikeTestColumns(pc, 5, tol, "reordered"));
  PetscCall(PCDestroy(&pc));
  PetscCall(ISDestroy(&perm));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Systems  b;
  Mat      A;
  PC       pc;
  PetscInt lengths[] = {9, 33, 64, 65};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt k = 0; k < 4; k++)
    for (PetscInt kl = 1; kl <= 4; kl += 3)
      for (PetscInt ku = 1; ku <= 3; ku++) {
        char where[64];

        PetscCall(
          PetscSNPrintf(where, sizeof(where), "length %d, half-bandwidths %d,%d", (int)lengths[k], (int)kl, (int)ku));
        BlocksInit(&b, 7, lengths[k], 0, kl, ku);
        PetscCall(TestAligned(PETSC_COMM_WORLD, &b, 7, MATAIJ, where));
      }
  BlocksInit(&b, 12, 40, 1, 4, 2);
  PetscCall(TestAligned(PETSC_COMM_WORLD, &b, 12, MATAIJ, "unequal"));
  PetscCall(TestAligned(PETSC_COMM_WORLD, &b, 4, MATAIJ, "three to a partition"));
  PetscCall(TestAligned(PETSC_COMM_SELF, &b, 12, SpikeTestDiaType(), "diagonals"));
  BlocksInit(&b, 6, 70, 0, 20, 17);
  for (PetscInt turn = 0; turn < 2; turn++) {
    pivoting = (PetscBool)turn;
    PetscCall(TestAligned(PETSC_COMM_WORLD, &b, 6, MATAIJ, "a wide band"));
    PetscCall(TestAligned(PETSC_COMM_SELF, &b, 3, SpikeTestDiaType(), "diagonals of a wide band"));
  }
  pivoting = PETSC_FALSE;
  PetscCall(TestInside());
  PetscCall(TestOpen(MATAIJ));
  PetscCall(TestOpen(SpikeTestDiaType()));
  PetscCall(TestJoined(MATAIJ));
  PetscCall(TestJoined(SpikeTestDiaType()));
  PetscCall(TestJoinedOnce(PETSC_COMM_WORLD, 3, 4, MATAIJ, "3,4"));
  PetscCall(TestJoinedOnce(PETSC_COMM_WORLD, 20, 17, MATAIJ, "20,17"));
  PetscCall(TestJoinedOnce(PETSC_COMM_SELF, 4, 2, SpikeTestDiaType(), "diagonals"));
  PetscCall(TestReordered());
  for (PetscInt n = 0; n < 2; n++) {
    BlocksInit(&b, 1, n, 0, 2, 2);
    PetscCall(TestAligned(PETSC_COMM_WORLD, &b, 1, MATAIJ, "few rows"));
  }
  BlocksInit(&b, 4, 60, 0, 3, 3);
  PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_FALSE, MATAIJ, &A));
  PetscCall(CutsPC(PETSC_COMM_WORLD, A, PC_SPIKE_TRUNCATED, 4, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestEnd("spike_cuts"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      filter: grep -E "partitions|spike_cuts|FAILED"
      test:
         suffix: 1
         nsize: 1
      test:
         suffix: 2
         nsize: 2
      test:
         suffix: 3
         nsize: 3

   testset:
      filter: grep -E "partitions|spike_cuts|FAILED"
      requires: cuda gpurun
      args: -mat_type aijcusparse -dia_type diacuda
      test:
         suffix: cuda_1
         nsize: 1
         output_file: output/spike_cuts_1.out
      test:
         suffix: cuda_2
         nsize: 2
         output_file: output/spike_cuts_2.out
      test:
         suffix: cuda_3
         nsize: 3
         output_file: output/spike_cuts_3.out

TEST*/
