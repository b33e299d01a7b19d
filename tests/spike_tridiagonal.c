/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Half-bandwidth 1 in PCSPIKE: each algorithm, independent systems found and given up, lines of "
                     "wider matrices, failures.\n\n";

#include "spikecase.h"

#define NTYPES 8

/* Rows of a line; lines have different lengths, some of one row */
static PetscInt LineLength(PetscInt line)
{
  return 1 + (line * 37) % 90;
}

static PetscInt LineOf(PetscInt row)
{
  PetscInt line = 0;

  for (PetscInt at = LineLength(0); at <= row; at += LineLength(line)) line++;
  return line;
}

/*
  Tridiagonal lines, dominant, with stored zeros between them; couple: the row that is coupled to the one before it
  although a line begins there, -1 for none. far > 0: entries that many rows off, outside of the tridiagonal part.
*/
static PetscErrorCode SetLines(Mat A, PetscInt far, PetscInt seed, PetscInt couple, PetscBool tridiagonalonly)
{
  PetscInt start, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); j++) {
      const PetscBool inside = (PetscBool)(LineOf(i) == LineOf(j) || PetscMax(i, j) == couple);
      const PetscReal sign   = SpikeTestUniform(seed, i, -1) > 0.0 ? 1.0 : -1.0;

      PetscCall(MatSetValue(A, i, j,
                            i == j   ? sign * (3.0 + SpikeTestUniform(seed, i, i))
                            : inside ? (PetscScalar)0.7 * SpikeTestScalar(seed, i, j)
                                     : 0.0,
                            INSERT_VALUES));
    }
    if (far > 1 && !tridiagonalonly && i >= far) PetscCall(MatSetValue(A, i, i - far, 0.1, INSERT_VALUES));
    if (far > 1 && !tridiagonalonly && i + far < n) PetscCall(MatSetValue(A, i, i + far, -0.1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateLines(PetscInt n, PetscInt far, PetscInt seed, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 5, NULL));
  PetscCall(SetLines(*A, far, seed, -1, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |A M^-1 b - b| / |b|, and for the transposed, and of three columns at once */
static PetscErrorCode CheckInverse(PC pc, Mat A, PetscReal tol, const char where[])
{
  Mat       B, X, R;
  PetscReal norm, bnorm;
  PetscInt  nlocal, n;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(SpikeTestInverse(pc, A, 0.0, &norm));
  PetscCall(SpikeTestSmall(norm, tol, "residual", where));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, nlocal, PETSC_DECIDE, n, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &R));
  PetscCall(MatAXPY(R, -1.0, B, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(R, NORM_FROBENIUS, &norm));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &bnorm));
  PetscCall(SpikeTestSmall(norm, tol * bnorm, "residual of columns", where));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many systems are to be found: lines, cut where ranks and partitions meet too */
static PetscErrorCode CheckSystems(PC pc, Mat A, PetscInt joined, const char where[])
{
  PCSpikeInfo info;
  PetscInt    n, count = 1;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt i = 1; i < n; i++) count += LineOf(i) != LineOf(i - 1) && i != joined;
  if (size == 1)
    PetscCall(SpikeTestCheck((PetscBool)(info.systems == count),
                             "%s: %" PetscInt_FMT " systems, %" PetscInt_FMT " expected", where, info.systems, count));
  else
    PetscCall(SpikeTestCheck((PetscBool)(info.systems >= count && info.systems < count + size),
                             "%s: %" PetscInt_FMT " systems, %" PetscInt_FMT " or some more expected", where,
                             info.systems, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Tolerance(void)
{
  PetscMPIInt size;

  if (MPI_Comm_size(PETSC_COMM_WORLD, &size)) return 0.0;
  /* windows end at 1e-8 of the spikes */
  return size == 1 ? 100 * PETSC_MACHINE_EPSILON : PetscMax(1e-7, 100 * PETSC_MACHINE_EPSILON);
}

/* Each algorithm; values that change, a coupling that appears, a tridiagonal matrix without cuts again */
static PetscErrorCode TestTypes(void)
{
  const PetscInt         n = 1700;
  PCSpikeTridiagonalType type;
  PCSpikeInfo            before, after;
  Mat                    A;
  PC                     pc;
  PetscInt               first = 0;

  PetscFunctionBegin;
  while (LineOf(first) < 9) first++;
  for (PetscInt t = 0; t < NTYPES; t++) {
    const char *where = PCSpikeTridiagonalTypes[t];

    PetscCall(CreateLines(n, 0, 1, &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSpikeSetTridiagonalType(pc, (PCSpikeTridiagonalType)t));
    PetscCall(PCSpikeGetTridiagonalType(pc, &type));
    PetscCall(SpikeTestCheck((PetscBool)(type == (PCSpikeTridiagonalType)t), "%s: the type that was set", where));
    PetscCall(CheckInverse(pc, A, Tolerance(), where));
    PetscCall(CheckSystems(pc, A, -1, where));
    PetscCall(PCSpikeGetInfo(pc, &before));
    PetscCall(SetLines(A, 0, 2, -1, PETSC_FALSE));
    PetscCall(CheckInverse(pc, A, Tolerance(), where));
    PetscCall(PCSpikeGetInfo(pc, &after));
    PetscCall(SpikeTestCheck((PetscBool)(after.rebuilds == before.rebuilds && after.refills == before.refills + 1),
                             "%s: new values are not refilled", where));
    PetscCall(SetLines(A, 0, 3, first, PETSC_FALSE)); /* the pattern is the same, and a coupling is not zero any more */
    PetscCall(CheckInverse(pc, A, Tolerance(), where));
    PetscCall(CheckSystems(pc, A, first, where));
    PetscCall(SetLines(A, 0, 4, -1, PETSC_FALSE)); /* gone again: kept as it is */
    PetscCall(CheckInverse(pc, A, Tolerance(), where));
    PetscCall(CheckSystems(pc, A, first, where));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One long system, in one partition and in several of each rank; small sizes */
static PetscErrorCode TestLong(void)
{
  const PetscInt      sizes[] = {1, 2, 3, 10, 9001};
  const SpikeTestBand b       = {9001, 1, 1, 1.5, SPIKE_TEST_RANDOM, 8};
  SpikeTestBand       c       = b;
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    for (PetscInt t = 0; t < NTYPES; t++) {
      for (PetscInt partitions = 1; partitions <= (sizes[k] > 100 ? 3 : 1); partitions += 2) {
        Mat  A;
        PC   pc;
        char where[64];

        c.n = sizes[k];
        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %" PetscInt_FMT " rows, %" PetscInt_FMT " partitions",
                                PCSpikeTridiagonalTypes[t], c.n, partitions));
        PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
        PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, c.n, c.n));
        PetscCall(SpikeTestSetMatType(A, MATAIJ));
        PetscCall(MatSeqAIJSetPreallocation(A, 3, NULL));
        PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 3, NULL));
        PetscCall(SpikeTestBandSet(&c, 1.0, A));
        PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
        PetscCall(PCSetType(pc, PCSPIKE));
        PetscCall(PCSetOperators(pc, A, A));
        PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
        PetscCall(PCSpikeSetTridiagonalType(pc, (PCSpikeTridiagonalType)t));
        /* a spike is as long as a partition: few rows on a rank leave much of it */
        if (size == 1 || c.n > 100)
          PetscCall(CheckInverse(pc, A, partitions == 1 ? Tolerance() : PetscMax(1e-7, Tolerance()), where));
        else PetscCall(CheckInverse(pc, A, 1.0, where));
        PetscCall(PCDestroy(&pc));
        PetscCall(MatDestroy(&A));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Each algorithm on ranks and partitions of no, one, two and some rows, block and truncated, against dense references
*/
static PetscErrorCode TestRows(void)
{
  const PetscInt layouts[3][5][3] = {{{1}, {2}, {3}, {7}, {40}},
                                     {{0, 5}, {5, 0}, {1, 1}, {2, 1}, {3, 30}},
                                     {{0, 4, 3}, {2, 0, 2}, {1, 1, 1}, {1, 2, 1}, {20, 2, 9}}};
  PetscMPIInt    size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (size > 3) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt t = 0; t < NTYPES; t++) {
    PetscCall(PetscOptionsSetValue(NULL, "-pc_spike_tridiagonal_type", PCSpikeTridiagonalTypes[t]));
    for (PetscInt k = 0; k < 5; k++) {
      PetscInt n = 0, fewest = PETSC_INT_MAX;

      for (PetscMPIInt r = 0; r < size; r++) {
        n += layouts[size - 1][k][r];
        if (layouts[size - 1][k][r]) fewest = PetscMin(fewest, layouts[size - 1][k][r]);
      }
      for (PetscInt type = 0; type < 2; type++) {
        for (PetscInt local = 1; local <= PetscMin(fewest, 3); local++) {
          SpikeTestCase c;

          SpikeTestCaseInit(&c, n, 1, 1, 1.5, SPIKE_TEST_RANDOM);
          c.type  = (PCSpikeType)type;
          c.local = local;
          PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, layouts[size - 1][k][rank], NULL));
        }
      }
    }
  }
  PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_tridiagonal_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -pc_spike_bandwidth 1 on a wider matrix: its tridiagonal part in its own ordering */
static PetscErrorCode TestLines(void)
{
  Mat         A, T;
  PC          pc;
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(CreateLines(800, 50, 1, &A));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &T));
  PetscCall(MatSetSizes(T, PETSC_DECIDE, PETSC_DECIDE, 800, 800));
  PetscCall(SpikeTestSetMatType(T, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(T, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(T, 3, NULL, 3, NULL));
  PetscCall(SetLines(T, 50, 1, -1, PETSC_TRUE));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
  PetscCall(CheckInverse(pc, T, Tolerance(), "lines"));
  PetscCall(CheckSystems(pc, A, -1, "lines"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(!info.reordered && info.kl == 1 && info.ku == 1), "lines: not the natural ordering"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero pivots with each type, reported and boosted, and good values after them; factors in single precision */
static PetscErrorCode TestFailures(void)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < NTYPES; t++) {
    const char    *where = PCSpikeTridiagonalTypes[t];
    Mat            A;
    PC             pc;
    PCFailedReason reason;
    PetscErrorCode ierr;
    PCSpikeInfo    info;
    Vec            x, y;
    PetscReal      norm;

    PetscCall(CreateLines(400, 0, 1, &A));
    for (PetscInt j = 99; j <= 101; j++) PetscCall(MatSetValue(A, 100, j, 0.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(SpikeTestSetRandom(x, 1));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSpikeSetTridiagonalType(pc, (PCSpikeTridiagonalType)t));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT ||
                                         (t == PC_SPIKE_TRIDIAGONAL_RD && reason != PC_NOERROR)),
                             "%s: failed reason %d of a zero pivot", where, (int)reason));
    PetscCall(PCApply(pc, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(
      SpikeTestCheck((PetscBool) !(norm <= PETSC_MAX_REAL), "%s: an apply without factors looks like one", where));
    if (t != PC_SPIKE_TRIDIAGONAL_RD) {
      PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
      PetscCall(PCSetUp(pc));
      PetscCall(PCReduceFailedReason(pc));
      PetscCall(PCGetFailedReason(pc, &reason));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(reason == PC_NOERROR && info.boosted >= 1),
                               "%s: %" PetscInt_FMT " pivots are boosted", where, info.boosted));
      PetscCall(PCApply(pc, x, y));
      PetscCall(VecNorm(y, NORM_2, &norm));
      PetscCall(SpikeTestCheck((PetscBool)(norm <= PETSC_MAX_REAL), "%s: not finite with boosted pivots", where));
      PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    }
    PetscCall(SetLines(A, 0, 1, -1, PETSC_FALSE));
    PetscCall(CheckInverse(pc, A, Tolerance(), where));
    PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16));
    if (t) {
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = PCSetUp(pc);
      PetscCall(PetscPopErrorHandler());
      PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_INCOMP),
                               "%s: a precision that is not there is taken, %d", where, (int)ierr));
    } else {
      PetscCall(CheckInverse(pc, A, 0.2, "auto, bf16"));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)!info.systems, "auto, bf16: not by the kernels for bands"));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSetUp() has to end in this error */
static PetscErrorCode CheckError(PC pc, PetscErrorCode expected, const char where[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == expected), "%s: error %d, %d expected", where, (int)ierr, (int)expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A zero diagonal, 1 below and -1 above it: not singular where the rows are even in number, |A^-1| = 1 / (2 sin(pi / (2
  n + 2))), and no pivot to begin with. In one piece, and in the chunks of the partition method, whose interiors have an
  even number of rows too. On several ranks blocks, of their rows.
*/
static PetscErrorCode TestPivoting(void)
{
  const PetscInt rows[] = {2, 64, 2000, 3000};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const PetscInt n = size * rows[k];
    Mat            A;
    PC             pc;
    PCFailedReason reason;
    PetscInt       start, end;
    PetscBool      pivoting;
    char           where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "pivoting, %" PetscInt_FMT " rows on a rank", rows[k]));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, rows[k], rows[k], n, n));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(A, 3, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 3, NULL));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    for (PetscInt i = start; i < end; i++) {
      PetscCall(MatSetValue(A, i, i, 0.0, INSERT_VALUES));
      if (i > 0) PetscCall(MatSetValue(A, i, i - 1, i > start ? 1.0 : 0.0, INSERT_VALUES));
      if (i + 1 < n) PetscCall(MatSetValue(A, i, i + 1, i + 1 < end ? -1.0 : 0.0, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT), "%s: failed reason %d without", where,
                             (int)reason));
    PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
    PetscCall(PCSpikeGetPivoting(pc, &pivoting));
    PetscCall(SpikeTestCheck(pivoting, "%s: not what was set", where));
    PetscCall(CheckInverse(pc, A, (100 + rows[k]) * PETSC_MACHINE_EPSILON, where));
    PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_PARTITION));
    PetscCall(CheckInverse(pc, A, (100 + rows[k]) * PETSC_MACHINE_EPSILON, where));
    PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_CR));
    PetscCall(CheckError(pc, PETSC_ERR_ARG_INCOMP, "pivoting with cr"));
    PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_AUTO));
    PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16));
    PetscCall(CheckError(pc, PETSC_ERR_ARG_INCOMP, "pivoting with bf16"));
    PetscCall(PCSpikeSetPrecision(pc, SPIKE_TEST_PRECISION));
    if (rows[k] > 2) { /* as bands */
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
      PetscCall(PCSpikeSetLocalPartitions(pc, 2));
      PetscCall(CheckInverse(pc, A, (100 + rows[k]) * PETSC_MACHINE_EPSILON, where));
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
      PetscCall(PCSpikeSetLocalPartitions(pc, 1));
      PetscCall(PCSpikeSetBandwidth(pc, 2, 1));
      PetscCall(CheckInverse(pc, A, (100 + rows[k]) * PETSC_MACHINE_EPSILON, where));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -view: what PCView() says */
static PetscErrorCode TestView(void)
{
  Mat A;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(CreateLines(1000, 0, 1, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool view = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  if (view) PetscCall(TestView());
  else {
    PetscCall(TestTypes());
    PetscCall(TestLong());
    PetscCall(TestRows());
    PetscCall(TestLines());
    PetscCall(TestFailures());
    PetscCall(TestPivoting());
    PetscCall(SpikeTestEnd("spike_tridiagonal"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_tridiagonal_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

   test:
      suffix: view
      requires: double
      args: -view -pc_spike_tridiagonal_type {{auto partition cr}separate output}
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
              -e "s@[0-9]* bytes@N bytes@g" -e "s@|a_ij| [0-9].*e.*@|a_ij| N@" -e "s@M^-1|| .*@M^-1|| N@"

TEST*/
