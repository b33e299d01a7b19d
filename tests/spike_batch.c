/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_batch.c: batches of independent bands in PCSPIKE: found, given, given up, on all kinds of matrices and ranks */
static char help[] = "Many independent bands in PCSPIKE: solves, transposes, several right-hand sides, new values and\n\
patterns, row exchanges, blocks that are given, systems on two ranks, bad pivots.\n\n";

#include "systemcase.h"

static const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-9;

static PetscInt hole = 0; /* not 0: row 2 of a system, and each hole-th after it, has no diagonal entry */

static PetscScalar LinesEntry(const Systems *b, PetscInt k, PetscInt i, PetscInt j)
{
  if (j == b->zero) return 0.0;
  if (hole && i == j && (i - b->begin[k]) % hole == 2) return 0.0;
  if (SystemsJoin(b, i, j)) return 0.25;
  if (j < b->begin[k] || j >= b->begin[k + 1]) return 0.0;
  if (i == j && b->dominant)
    return (SpikeTestUniform(b->seed, i, -1) > 0.0 ? 1.0 : -1.0) *
           (1.5 * (b->kl + b->ku) + SpikeTestUniform(b->seed, i, i));
  return SpikeTestScalar(b->seed, i, j);
}

/* nsys systems of length rows, or of 1 to 2 length - 1 rows */
static void LinesInit(Systems *b, PetscInt nsys, PetscInt length, PetscBool unequal, PetscInt kl, PetscInt ku)
{
  b->nsys     = nsys;
  b->begin[0] = 0;
  for (PetscInt k = 0; k < nsys; k++)
    b->begin[k + 1] = b->begin[k] + (unequal ? 1 + (k * 7919) % PetscMax(1, 2 * length - 1) : length);
  b->kl     = kl;
  b->ku     = ku;
  b->seed   = 1 + 7 * nsys + length + kl;
  b->joined = b->zero = -1;
  b->dominant         = PETSC_TRUE;
  b->entry            = LinesEntry;
}

static PetscErrorCode LinesPC(Mat A, PCSpikeBatchType type, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSpikeSetBatchType(*pc, type));
  PetscCall(PCSpikeSetMatchingType(*pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSystems(PC pc, PetscInt systems, const char where[])
{
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.systems == systems),
                           "%s: %" PetscInt_FMT " systems, %" PetscInt_FMT " expected", where, info.systems, systems));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lengths, half-bandwidths and types of matrices: an application is the inverse, with row exchanges too */
static PetscErrorCode TestSolves(MatType type)
{
  const PetscInt bands[][2] = {{2, 2}, {1, 2}, {0, 1}, {3, 3}, {5, 3}, {8, 8}, {16, 16}};
  const struct {
    PetscInt  nsys, length;
    PetscBool unequal;
  } shapes[] = {{1, 20, PETSC_FALSE},
                {33, 40, PETSC_FALSE},
                {70, 9, PETSC_TRUE},
                {3, 90, PETSC_TRUE},
                {6, 300, PETSC_FALSE}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(bands); w++)
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++)
      for (PetscInt how = 0; how < 3; how++) { /* stored zeros, none, and with row exchanges */
        Systems   b;
        Mat       A;
        PC        pc;
        PetscReal error;
        char      where[128];

        LinesInit(&b, shapes[s].nsys, shapes[s].length, shapes[s].unequal, bands[w][0], bands[w][1]);
        b.dominant = (PetscBool)(how < 2 || !b.kl); /* triangular ones are near to singular else */
        PetscCall(
          PetscSNPrintf(where, sizeof(where), "%d,%d, shape %d, case %d", (int)b.kl, (int)b.ku, (int)s, (int)how));
        PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, (PetscBool)!how, type, &A));
        PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
        PetscCall(PCSpikeSetPivoting(pc, (PetscBool)(how == 2)));
        PetscCall(PCSetUp(pc));
        if (b.kl) PetscCall(CheckSystems(pc, size * shapes[s].nsys, where));
        PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
        PetscCall(SpikeTestSmall(error, b.dominant ? tol : 1e3 * tol, "error", where));
        PetscCall(SpikeTestColumns(pc, 3, tol, where));
        PetscCall(PCDestroy(&pc));
        PetscCall(MatDestroy(&A));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What auto, never and always make of many systems and of few */
static PetscErrorCode TestTypes(void)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt few = 0; few < 2; few++)
    for (PetscInt t = 0; t < 3; t++) {
      Systems          b;
      Mat              A;
      PC               pc;
      PetscReal        error;
      PetscBool        device;
      PCSpikeBatchType type;

      LinesInit(&b, few ? 3 : MOST, 10, PETSC_FALSE, 3, 2);
      PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_FALSE, MATAIJ, &A));
      PetscCall(LinesPC(A, (PCSpikeBatchType)t, &pc));
      PetscCall(PCSpikeGetBatchType(pc, &type));
      PetscCall(SpikeTestCheck((PetscBool)((PetscInt)type == t), "type %d was not set", (int)t));
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
      PetscCall(PCSetUp(pc));
      PetscCall(SpikeTestOnDevice(A, &device));
      /* a device wants more systems than there are here */
      PetscCall(CheckSystems(pc,
                             type == PC_SPIKE_BATCH_ALWAYS || (type == PC_SPIKE_BATCH_AUTO && !few && !device)
                               ? size * b.nsys
                               : 0,
                             PCSpikeBatchTypes[t]));
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      PetscCall(SpikeTestSmall(error, tol, "error", PCSpikeBatchTypes[t]));
      /* partitions that are asked for, Cholesky, another precision */
      PetscCall(PCSpikeSetLocalPartitions(pc, 2));
      PetscCall(PCSetUp(pc));
      PetscCall(CheckSystems(pc, type == PC_SPIKE_BATCH_ALWAYS ? size * b.nsys : 0, "partitions"));
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      PetscCall(SpikeTestSmall(error, tol, "error", "partitions"));
      if (PetscDefined(USE_REAL_DOUBLE)) {
        PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
        PetscCall(PCSetUp(pc));
        PetscCall(CheckSystems(pc, 0, "single precision"));
      }
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Few systems that are long: a batch on a device, where several lanes share one, and one band on a host, fewer than any
  host's batch has, which begins at 8 with complex numbers
*/
static PetscErrorCode TestFew(MatType type)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt K = 2; K <= 8; K *= 2) {
    Systems     b;
    Mat         A;
    PC          pc;
    PetscReal   error;
    PetscBool   host;
    PCSpikeInfo info;

    LinesInit(&b, 7, 100, PETSC_FALSE, K, K);
    PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_FALSE, type, &A));
    PetscCall(LinesPC(A, PC_SPIKE_BATCH_AUTO, &pc));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(PetscStrcmp(info.backend, "host", &host));
    PetscCall(CheckSystems(pc, !host && K <= 4 ? size * b.nsys : 0, "few systems"));
    for (PetscInt turn = 0; turn < 2; turn++) {
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      PetscCall(SpikeTestSmall(error, tol, "error", "few systems"));
      PetscCall(SpikeTestColumns(pc, 3, tol, "few systems"));
      b.seed++;
      PetscCall(SystemsSet(&b, PETSC_FALSE, A));
      PetscCall(PCSetUp(pc));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Zeros on the diagonal that elimination fills: whole systems need no row exchanges, pieces that begin in such a row do,
  as one of 100 rows in eight pieces does in row 52. No pivot is boosted, and later values are solved too
*/
static PetscErrorCode TestHoles(MatType type)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt late = 0; late < 2; late++) {
    Systems     b;
    Mat         A;
    PC          pc;
    PetscReal   error;
    PCSpikeInfo info;

    LinesInit(&b, 8, 100, PETSC_FALSE, 2, 2);
    hole = late ? 0 : 5;
    PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_TRUE, type, &A));
    PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
    for (PetscInt turn = 0; turn < 3; turn++) {
      hole = late && !turn ? 0 : 5;
      PetscCall(SystemsSet(&b, PETSC_TRUE, A));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(CheckSystems(pc, size * b.nsys, "holes"));
      PetscCall(SpikeTestCheck((PetscBool)!info.boosted, "%" PetscInt_FMT " pivots boosted", info.boosted));
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      PetscCall(SpikeTestSmall(error, tol, "error", "holes"));
      b.seed++;
    }
    hole = 0;
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that couple two systems, and others that do not any more; then another pattern. Longer ones are in pieces */
static PetscErrorCode TestJoined(MatType type, PetscInt nsys, PetscInt length)
{
  Systems     b;
  Mat         A;
  PC          pc;
  PetscReal   error;
  PCSpikeInfo info;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  LinesInit(&b, nsys, length, PETSC_TRUE, 2, 3);
  PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_TRUE, type, &A));
  PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
  for (PetscInt turn = 0; turn < 5; turn++) {
    b.joined = turn == 2 || turn == 3 ? b.begin[nsys / 2] : -1;
    b.seed += turn;
    PetscCall(SystemsSet(&b, PETSC_TRUE, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    /* systems that were joined stay so: nothing looks for new cuts in a refill */
    PetscCall(CheckSystems(pc, size * (turn < 2 ? nsys : nsys - 1), "new values"));
    PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == (turn < 2 ? 1 : 2)),
                             "turn %d: %" PetscInt_FMT " setups from scratch", (int)turn, info.rebuilds));
    PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
    PetscCall(SpikeTestSmall(error, tol, "error", "new values"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PCReset(pc));
  for (PetscInt turn = 0; turn < 2; turn++) {
    LinesInit(&b, turn ? 25 : 50, turn ? 14 : 7, PETSC_FALSE, turn ? 4 : 2, 2);
    PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_FALSE, type, &A));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(CheckSystems(pc, size * b.nsys, "new pattern"));
    PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
    PetscCall(SpikeTestSmall(error, tol, "error", "new pattern"));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of MatSetVariableBlockSizes() that could be cut further are systems; wrong ones are not taken */
static PetscErrorCode TestGiven(void)
{
  Systems     b;
  Mat         A;
  PC          pc;
  PetscReal   error;
  PetscInt    sizes[MOST], count = 0;
  PCSpikeInfo info;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  LinesInit(&b, 40, 8, PETSC_TRUE, 2, 2);
  PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_TRUE, MATAIJ, &A));
  for (PetscInt k = 0; k < 40; k += 2) sizes[count++] = b.begin[k + 2] - b.begin[k];
  PetscCall(MatSetVariableBlockSizes(A, count, sizes));
  PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
  for (PetscInt turn = 0; turn < 2; turn++) { /* a coupling inside of a block is a refill like others */
    b.joined = turn ? b.begin[13] : -1;
    PetscCall(SystemsSet(&b, PETSC_TRUE, A));
    PetscCall(PCSetUp(pc));
    PetscCall(CheckSystems(pc, size * 20, "blocks"));
    PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
    PetscCall(SpikeTestSmall(error, tol, "error", "blocks"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(
      SpikeTestCheck((PetscBool)(info.rebuilds == 1), "a coupling inside of a block: another setup from scratch"));
  }
  PetscCall(PCDestroy(&pc));
  /* a block ends inside of a system */
  b.joined = -1;
  PetscCall(SystemsSet(&b, PETSC_TRUE, A));
  sizes[3]++;
  sizes[4]--;
  PetscCall(MatSetVariableBlockSizes(A, count, sizes));
  PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckSystems(pc, size * 40, "wrong blocks"));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestSmall(error, tol, "error", "wrong blocks"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries between ranks couple systems, at first or later; PC_SPIKE_BLOCK leaves them out. Ranks without rows */
static PetscErrorCode TestRanks(MatType type)
{
  Systems     b;
  Mat         A;
  PC          pc;
  PetscReal   error;
  PetscInt    start, end, n;
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt block = 0; block < 2; block++) {
    LinesInit(&b, 30, 11, PETSC_TRUE, 3, 2);
    PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_TRUE, type, &A));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    PetscCall(MatGetSize(A, &n, NULL));
    PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
    PetscCall(PCSpikeSetType(pc, block ? PC_SPIKE_BLOCK : PC_SPIKE_FULL));
    for (PetscInt turn = 0; turn < 3; turn++) { /* a stored zero, a coupling, a zero again */
      if (end < n && (turn || block)) PetscCall(MatSetValue(A, end - 1, end, turn == 1 ? 0.5 : 0.0, INSERT_VALUES));
      else if (end < n) PetscCall(MatSetValue(A, end - 1, end, 0.0, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(PCSetUp(pc));
      if (!turn || block || size == 1) PetscCall(CheckSystems(pc, size * 30, "ranks"));
      else if (turn == 1) PetscCall(CheckSystems(pc, 0, "coupled ranks"));
      PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
      if (turn != 1 || !block) PetscCall(SpikeTestSmall(error, tol, "error", block ? "ranks apart" : "ranks"));
      else if (size > 1) PetscCall(SpikeTestCheck((PetscBool)(error > 1e-3), "block couples ranks"));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  /* no rows on each second rank, and nowhere */
  for (PetscInt none = 0; none < 2; none++) {
    LinesInit(&b, rank % 2 || none ? 0 : 25, 6, PETSC_FALSE, 2, 2);
    PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_FALSE, type, &A));
    PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(CheckSystems(pc, none ? 0 : (size + 1) / 2 * 25, "empty ranks"));
    PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
    PetscCall(SpikeTestSmall(error, tol, "error", "empty ranks"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero pivot is boosted and counted, or fails with its row; with good values the same object works again */
static PetscErrorCode TestPivots(void)
{
  Systems        b;
  Mat            A;
  PC             pc;
  PetscReal      error;
  PCSpikeInfo    info;
  PCFailedReason reason;
  PetscInt       start;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt pivoting = 0; pivoting < 2; pivoting++)
    for (PetscInt boost = 0; boost < 2; boost++) {
      LinesInit(&b, 35, 9, PETSC_TRUE, 2, 3);
      PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_TRUE, MATAIJ, &A));
      PetscCall(MatGetOwnershipRange(A, &start, NULL));
      PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
      PetscCall(PCSpikeSetPivoting(pc, (PetscBool)pivoting));
      PetscCall(PCFactorSetShiftType(pc, boost ? MAT_SHIFT_NONZERO : MAT_SHIFT_NONE));
      for (PetscInt turn = 0; turn < 3; turn++) {
        b.zero = turn == 1 ? b.begin[21] + (b.begin[22] - b.begin[21]) / 2 : -1;
        PetscCall(SystemsSet(&b, PETSC_TRUE, A));
        PetscCall(PCSetUp(pc));
        PetscCall(PCGetFailedReason(pc, &reason));
        PetscCall(PCSpikeGetInfo(pc, &info));
        if (turn == 1 && boost)
          PetscCall(SpikeTestCheck((PetscBool)(!reason && info.boosted == size), "%" PetscInt_FMT " pivots boosted",
                                   info.boosted));
        else if (turn == 1)
          PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT && info.zeropivot_value == 0 &&
                                               (size > 1 || info.zeropivot_row == b.zero)),
                                   "reason %d, row %" PetscInt_FMT ", not %" PetscInt_FMT, (int)reason,
                                   info.zeropivot_row, b.zero));
        else {
          PetscCall(SpikeTestCheck((PetscBool)(!reason && !info.boosted), "turn %d fails", (int)turn));
          PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
          PetscCall(SpikeTestSmall(error, tol, "error", "pivots"));
        }
      }
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Line relaxation of width 2 on a grid: the band within the lines, whether or not it is a batch, and inside PCMG */
static PetscErrorCode TestLines(void)
{
  const PetscInt m = 13, lines = 40, n = m * lines;
  Mat            A;
  PC             pc;
  KSP            ksp;
  Vec            b, x[3];
  PetscReal      diff, norm;
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(MatSetValue(A, i, i, 30.0 + SpikeTestUniform(1, i, i), INSERT_VALUES));
    for (PetscInt d = 1; d <= 2; d++) {
      if (i % m >= d)
        PetscCall(MatSetValue(A, i, i - d, d == 1 ? -9.0 : 1.0 + SpikeTestUniform(1, i, d), INSERT_VALUES));
      if (i % m + d < m) PetscCall(MatSetValue(A, i, i + d, d == 1 ? -8.0 : 0.5, INSERT_VALUES));
      if (i >= d * m) PetscCall(MatSetValue(A, i, i - d * m, d == 1 ? -2.0 : 0.25, INSERT_VALUES));
      if (i + d * m < n) PetscCall(MatSetValue(A, i, i + d * m, d == 1 ? -2.5 : 0.25, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecDuplicate(x[0], &x[2]));
  PetscCall(SpikeTestSetRandom(b, 8));
  for (PetscInt t = 0; t < 2; t++) {
    PetscCall(LinesPC(A, t ? PC_SPIKE_BATCH_ALWAYS : PC_SPIKE_BATCH_NEVER, &pc));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
    PetscCall(PCSpikeSetBandwidth(pc, 2, 2));
    PetscCall(PCSetUp(pc));
    {
      PCSpikeInfo info;

      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(
        SpikeTestCheck((PetscBool)(info.systems == (t ? lines : 0)), "lines: %" PetscInt_FMT " systems", info.systems));
    }
    PetscCall(PCApply(pc, b, x[t]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecNorm(x[0], NORM_2, &norm));
  PetscCall(VecAXPY(x[0], -1.0, x[1]));
  PetscCall(VecNorm(x[0], NORM_2, &diff));
  PetscCall(SpikeTestSmall(diff, tol * norm, "a batch and one band", "lines"));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 50));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetBandwidth(pc, 2, 2));
  PetscCall(PCSpikeSetBatchType(pc, PC_SPIKE_BATCH_ALWAYS));
  PetscCall(VecSet(x[2], 0.0));
  PetscCall(SpikeTestSolve(ksp, b, x[2], "line relaxation"));
  PetscCall(KSPDestroy(&ksp));
  for (PetscInt t = 0; t < 3; t++) PetscCall(VecDestroy(&x[t]));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in random order: RCM finds the systems one after the other */
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
  LinesInit(&b, 60, 9, PETSC_FALSE, 2, 2);
  n = b.begin[b.nsys];
  PetscCall(SystemsMat(PETSC_COMM_SELF, &b, PETSC_FALSE, MATAIJ, &A));
  PetscCall(PetscMalloc1(n, &index));
  for (PetscInt i = 0; i < n; i++) index[i] = (PetscInt)(((PetscInt64)i * 7919) % n); /* 7919 is prime */
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, index, PETSC_OWN_POINTER, &perm));
  PetscCall(ISSetPermutation(perm));
  PetscCall(MatPermute(A, perm, perm, &P));
  PetscCall(LinesPC(P, PC_SPIKE_BATCH_ALWAYS, &pc));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.systems == 60 && info.reordered), "reordered: %" PetscInt_FMT " systems",
                           info.systems));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestSmall(error, tol, "error", "reordered"));
  PetscCall(PCDestroy(&pc));
  PetscCall(ISDestroy(&perm));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Systems b;
  Mat     A;
  PC      pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestSolves(MATAIJ));
  PetscCall(TestSolves(SpikeTestDiaType()));
  PetscCall(TestTypes());
  PetscCall(TestFew(MATAIJ));
  PetscCall(TestFew(SpikeTestDiaType()));
  PetscCall(TestHoles(MATAIJ));
  PetscCall(TestHoles(SpikeTestDiaType()));
  PetscCall(TestJoined(MATAIJ, 40, 12));
  PetscCall(TestJoined(SpikeTestDiaType(), 40, 12));
  PetscCall(TestJoined(MATAIJ, 8, 100));
  PetscCall(TestJoined(SpikeTestDiaType(), 8, 100));
  PetscCall(TestGiven());
  PetscCall(TestRanks(MATAIJ));
  PetscCall(TestPivots());
  PetscCall(TestLines());
  PetscCall(TestReordered());
  LinesInit(&b, 40, 10, PETSC_TRUE, 3, 3);
  PetscCall(SystemsMat(PETSC_COMM_WORLD, &b, PETSC_FALSE, MATAIJ, &A));
  PetscCall(LinesPC(A, PC_SPIKE_BATCH_ALWAYS, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestEnd("spike_batch"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      filter: grep -E "batch|FAILED"
      test:
         suffix: 1
         nsize: 1
      test:
         suffix: 2
         nsize: 2
      test:
         suffix: 3
         nsize: 3
      test:
         suffix: 5
         nsize: 5

   testset:
      filter: grep -E "batch|FAILED"
      requires: cuda gpurun
      args: -mat_type aijcusparse -dia_type diacuda
      test:
         suffix: cuda_1
         nsize: 1
         output_file: output/spike_batch_1.out
      test:
         suffix: cuda_2
         nsize: 2
         output_file: output/spike_batch_2.out
      test:
         suffix: cuda_3
         nsize: 3
         output_file: output/spike_batch_3.out

TEST*/
