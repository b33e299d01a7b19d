/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE with exact coupling: bands that are not dominant, and the choice by PC_SPIKE_AUTO.\n\n";

#include "spikecase.h"
#include "viewtext.h"

#define EXACTTOL (PetscDefined(USE_REAL_SINGLE) ? 1000 * PETSC_MACHINE_EPSILON : (PetscReal)1e-13) /* of CheckAuto() */
#define DIRECT   (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-5 : (PetscReal)1e-12) /* default of direct solves */

/*
  Bands whose spikes do not fall off, many partitions on each rank: the operator is the inverse, as with one partition
*/
static PetscErrorCode TestNotDominant(void)
{
  const PetscInt bands[][3] = {{1, 1, 60},   {2, 1, 120},   {1, 4, 130}, {5, 5, 170},
                               {12, 9, 260}, {33, 40, 400}, {3, 0, 90},  {0, 2, 90}};
  const PetscInt parts[]    = {2, 3, 4, 5, 7, 8, 9, 17};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(parts); p++) {
      const PetscInt kl = bands[b][0], ku = bands[b][1], n = bands[b][2];
      SpikeTestCase  c;

      if (n / size / parts[p] < PetscMax(kl, ku)) continue;
      SpikeTestCaseInit(&c, n, kl, ku, 0.4, SPIKE_TEST_RANDOM);
      c.type  = PC_SPIKE_FULL;
      c.local = parts[p];
      c.tol   = PetscDefined(USE_REAL_SINGLE) ? 0.05 : 1e-7; /* without pivoting some digits go */
      PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, PETSC_DECIDE, NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSPIKE in the natural ordering, with so many partitions on each rank, and a solver around it */
static PetscErrorCode Create(Mat A, PetscInt partitions, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(*pc, partitions));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The band of SpikeTestBandMat() once more, with another dominance, in the same matrix */
static PetscErrorCode Refill(Mat A, SpikeTestBand *band, PetscReal dominance)
{
  PetscInt start, end;

  PetscFunctionBegin;
  band->dominance = dominance;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - band->kl); j <= PetscMin(band->n - 1, i + band->ku); j++)
      PetscCall(MatSetValue(A, i, j, SpikeTestBandEntry(band, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  tol: of ||b - A x|| / ||b||; EXACTTOL, and all in single precision, of the backward error ||b - A x|| /
  (||b|| + ||A|| ||x||), because some of the matrices are too badly conditioned for a residual
*/
static PetscErrorCode CheckAuto(PC pc, Mat A, PCSpikeType expected, PetscReal tol, const char where[])
{
  PCSpikeInfo info;
  PetscReal   anorm = 0.0, error = 0.0;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.type == expected), "%s: %s, decay %g", where, PCSpikeTypes[info.type],
                           (double)info.decay));
  if (PetscDefined(USE_REAL_SINGLE) || tol <= EXACTTOL) PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(SpikeTestInverse(pc, A, anorm, &error));
  PetscCall(SpikeTestSmall(error, tol, "residual", where));
  PetscCall(SpikeTestBackend(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More right-hand sides than before, which take more memory */
static PetscErrorCode MatApply(PC pc, Mat A, PetscInt columns)
{
  Mat      B, X;
  Vec      v;
  VecType  type;
  PetscInt m, N;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecGetType(v, &type));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, m, PETSC_DECIDE, N, columns, PETSC_DECIDE, NULL, &B));
  PetscCall(MatZeroEntries(B));
  PetscCall(MatShift(B, 1.0));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup with a value that is not a number fails */
static PetscErrorCode Spoil(PC pc, Mat A)
{
  PetscInt       start, end;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatSetValue(A, (start + end) / 2, (start + end) / 2, (PetscReal)NAN, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCSetUp(pc));
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason != PC_NOERROR), "a value that is not a number: %s", PCFailedReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  auto: truncated while spikes fall, full in the very setup in which they do not, and truncated again in the setup after
  the one that saw them fall
*/
static PetscErrorCode TestAuto(void)
{
  const PetscReal single = PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-3 : (PetscReal)1e-5, exact = EXACTTOL;
  const PetscInt  widths[] = {1, 4, 12};
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 3; k++) {
    const PetscInt K    = widths[k];
    SpikeTestBand  band = {600 * size, K, K, 2.0, SPIKE_TEST_SLOW, 3};
    Mat            A;
    KSP            ksp;
    PC             pc;

    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
    PetscCall(Create(A, 3, &ksp, &pc));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_TRUNCATED, single, "spikes fall"));
    PetscCall(Refill(A, &band, 1.0001));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, exact, "they do not"));
    PetscCall(Refill(A, &band, 1.0002));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, exact, "nor now"));
    PetscCall(Refill(A, &band, 2.0));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, exact, "they fall again, seen by exact coupling"));
    PetscCall(Refill(A, &band, 2.0));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_TRUNCATED, single, "truncated again"));
    PetscCall(MatApply(pc, A, 3));
    PetscCall(Refill(A, &band, 1.0001));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, exact, "exact after several right-hand sides"));
    PetscCall(Spoil(pc, A));
    PetscCall(Refill(A, &band, 1.0001));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, exact, "after a failure"));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(Refill(A, &band, 1.0001));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, exact, "from scratch"));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
    PetscCall(PCSetUp(pc));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_TRUNCATED, 10.0, "asked for"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first partition's rows are slow, those of others fast: nothing is at the far end of its right spike, so that
  truncation neglects nothing, in the first setup and in later ones
*/
static PetscErrorCode TestFirst(void)
{
  PetscMPIInt size;
  PetscInt    parts, start, end;
  Mat         A;
  KSP         ksp;
  PC          pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  parts              = PetscMax(2, size);
  SpikeTestBand slow = {200 * parts, 2, 2, 1.0001, SPIKE_TEST_SLOW, 3}, fast = slow;
  fast.dominance = 6.0;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &fast, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(Create(A, parts / size, &ksp, &pc));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt k = 0; k < 3; k++) {
    for (PetscInt i = start; i < PetscMin(end, 190); i++)
      PetscCall(MatSetValue(A, i, i, SpikeTestBandEntry(&slow, i, i), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_TRUNCATED, PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-3 : (PetscReal)1e-6,
                        "a slow first partition"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve by KSPPREONLY: how it ends, and its backward error */
static PetscErrorCode TrySolve(KSP ksp, Mat A, PetscBool trans, KSPConvergedReason *reason, PetscReal *eta)
{
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 6));
  if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(SpikeTestBackwardError(A, trans, b, x, eta));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One that must say that it succeeds */
static PetscErrorCode Solve(KSP ksp, Mat A, PetscBool trans, PetscReal *eta, const char where[])
{
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TrySolve(ksp, A, trans, &reason, eta));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One with a backward error of at most tol. Single precision: some matrices are singular to rounding, which a solve may
  say; *failures are counted
*/
static PetscErrorCode SolveWithin(KSP ksp, Mat A, PetscBool trans, PetscReal tol, PetscInt *failures,
                                  const char where[])
{
  KSPConvergedReason reason;
  PetscReal          eta;

  PetscFunctionBegin;
  PetscCall(TrySolve(ksp, A, trans, &reason, &eta));
  if (PetscDefined(USE_REAL_SINGLE) && reason == KSP_DIVERGED_PC_FAILED) {
    (*failures)++;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscCall(SpikeTestSmall(eta, tol, trans ? "backward error, transposed" : "backward error", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Direct solves of bands that are not dominant: by default within the default tolerance, and where the tolerance asks
  for it as good as those by PETSc's LU, of the whole matrix on each rank: within a factor of 10 of its backward error,
  or of rounding
*/
static PetscErrorCode TestLikeLU(void)
{
  const PetscInt  bands[][2] = {{2, 3}, {5, 5}, {12, 9}}, parts[] = {3, 4, 8, 17};
  const PetscReal dominances[] = {0.05, 0.1, 0.2, 0.4};
  PetscMPIInt     size;
  PetscInt        failures = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 3 * 4 * 4; k++) {
    const PetscInt *width = bands[k % 3], np = parts[k / 3 % 4];
    SpikeTestBand   band = {17 * 13 * size, width[0], width[1], dominances[k / 12], SPIKE_TEST_RANDOM, 100 + k};
    Mat             A, whole;
    KSP             ksp, lu;
    PC              pc;
    PCSpikeInfo     info;
    char            where[96];

    PetscCall(PetscSNPrintf(where, sizeof(where), "K %" PetscInt_FMT ", dominance %g, %" PetscInt_FMT " partitions",
                            PetscMax(width[0], width[1]), (double)band.dominance, np));
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
    PetscCall(MatCreate(PETSC_COMM_SELF, &whole));
    PetscCall(MatSetSizes(whole, band.n, band.n, band.n, band.n));
    PetscCall(MatSetType(whole, MATSEQAIJ));
    PetscCall(MatSetUp(whole));
    PetscCall(SpikeTestBandSet(&band, 1.0, whole));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &lu));
    PetscCall(KSPGetPC(lu, &pc));
    PetscCall(PCSetType(pc, PCLU));
    PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERPETSC));
    PetscCall(Create(A, np, &ksp, &pc));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
    for (PetscInt trans = 0; trans < 2; trans++) {
      KSPConvergedReason reason;
      PetscReal          best;

      PetscCall(TrySolve(lu, whole, (PetscBool)trans, &reason, &best));
      if (PetscDefined(USE_REAL_SINGLE) && reason == KSP_DIVERGED_PC_FAILED) continue;
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: LU ends with %s", where, KSPConvergedReasons[reason]));
      best = 10 * PetscMax(best, PETSC_MACHINE_EPSILON);
      PetscCall(PCSpikeSetRefinementTolerance(pc, (PetscReal)PETSC_DECIDE));
      PetscCall(SolveWithin(ksp, A, (PetscBool)trans, DIRECT, &failures, where));
      PetscCall(PCSpikeSetRefinementTolerance(pc, best));
      PetscCall(SolveWithin(ksp, A, (PetscBool)trans, best, &failures, where));
    }
    if (!PetscDefined(USE_REAL_SINGLE)) { /* which takes one partition where several lose all digits */
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(
        SpikeTestCheck((PetscBool)(info.partitions == np * size), "%s: has %" PetscInt_FMT, where, info.partitions));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(KSPDestroy(&lu));
    PetscCall(MatDestroy(&whole));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(SpikeTestCheck((PetscBool)(failures <= 3 * 4 * 4 * 4 / 10), "%" PetscInt_FMT " of %d solves failed",
                           failures, 3 * 4 * 4 * 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Partitions of 13 rows, of which the last pivot is small, though the matrix is better conditioned. Nothing gives reason
  for doubt, but tips are as large as the inverse of the pivot, and the reduced system loses the square of that. One
  step of refinement does not make up for it, and a direct solve copes in another way than the one that was asked for
*/
static PetscErrorCode TestWorse(void)
{
  enum {
    m = 13
  }; /* the size of an array too */
  const PetscInt  K = 3, np = 5;
  const PetscReal pivot = 0.03 * PETSC_SQRT_MACHINE_EPSILON;
  PetscMPIInt     size;
  PetscInt        start, end;
  Mat             A;
  KSP             ksp;
  PC              pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  SpikeTestBand band = {m * np * size, K, K, 2.0, SPIKE_TEST_RANDOM, 5};

  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, m * np, MATAIJ, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt first = start + p * m;
    PetscScalar    a[m][m]; /* the rows of a partition, eliminated */

    for (PetscInt i = 0; i < m; i++)
      for (PetscInt j = 0; j < m; j++) a[i][j] = SpikeTestBandEntry(&band, first + i, first + j);
    for (PetscInt k = 0; k < m; k++)
      for (PetscInt i = k + 1; i < m; i++) {
        const PetscScalar l = a[i][k] / a[k][k];

        for (PetscInt j = k; j < m; j++) a[i][j] -= l * a[k][j];
      }
    PetscCall(MatSetValue(A, first + m - 1, first + m - 1,
                          SpikeTestBandEntry(&band, first + m - 1, first + m - 1) - a[m - 1][m - 1] + pivot,
                          INSERT_VALUES));
    /* the row after it, and back: the matrix is regular */
    for (PetscInt t = 0; t < 2; t++) {
      const PetscInt i = first + m - 1 + t, j = first + m - t;

      if (first + m < band.n) PetscCall(MatSetValue(A, i, j, 4.0, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Create(A, np, &ksp, &pc));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
  PetscCall(PCSpikeSetMaxRefinements(pc, 1));
  for (PetscInt again = 0; again < 2; again++)
    for (PetscInt trans = 0; trans < 2; trans++) {
      PetscReal eta = 1.0;

      PetscCall(Solve(ksp, A, (PetscBool)trans, &eta, "partitions worse than the matrix"));
      PetscCall(SpikeTestSmall(eta, DIRECT, "backward error", "partitions worse than the matrix"));
    }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Direct solves with factors of 16 bits: they need steps of refinement, and at most 10 to the tolerance */
static PetscErrorCode CheckRefined(KSP ksp, Mat A, const char where[])
{
  PC          pc;
  PCSpikeInfo info;
  PetscReal   eta;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscInt before = 0;

    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCSetUp(pc)); /* before PETSc 3.26 KSPSetUp() looks for new values after KSPSetOperators() only */
    PetscCall(PCSpikeGetInfo(pc, &info));
    before = info.refinements;
    PetscCall(Solve(ksp, A, (PetscBool)trans, &eta, where));
    PetscCall(SpikeTestSmall(eta, DIRECT, trans ? "backward error, transposed" : "backward error", where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.refinements > before && info.refinements <= before + 10),
                             "%s: %" PetscInt_FMT " steps of refinement", where, info.refinements - before));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Factors of 16 bits: coupling is exact in each setup, though the factors are not. An application gains half a digit at
  least, and refinement the others, where the condition of the matrix is below the inverse of their rounding; with a
  dominance of 1.0001 it is not for bf16, and a solve says so or reaches the tolerance.
*/
static PetscErrorCode TestHalf(void)
{
  PetscMPIInt size;
  Mat         A;
  KSP         ksp;
  PC          pc;
  Vec         b, x;
  PetscReal   eta;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 2; k++) {
    SpikeTestBand      band  = {90 * size, 4, 4, 1.02, SPIKE_TEST_SLOW, 3};
    const char        *where = k ? "fp16" : "bf16";
    KSPConvergedReason reason;

    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
    PetscCall(Create(A, 3, &ksp, &pc));
    PetscCall(PCSpikeSetPrecision(pc, k ? PETSC_SPIKE_PRECISION_FP16 : PETSC_SPIKE_PRECISION_BF16));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, 0.5, where));
    PetscCall(CheckRefined(ksp, A, where));
    PetscCall(Refill(A, &band, 1.015));
    PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, 0.5, where));
    PetscCall(CheckRefined(ksp, A, where));
    PetscCall(Refill(A, &band, 1.0001));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 7));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 || reason == KSP_DIVERGED_PC_FAILED), "%s, dominance 1.0001: %s",
                             where, KSPConvergedReasons[reason]));
    if (reason > 0) {
      PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, x, &eta));
      PetscCall(SpikeTestSmall(eta, DIRECT, "backward error with dominance 1.0001", where));
    }
    PetscCall(Refill(A, &band, 1.02));
    PetscCall(CheckRefined(ksp, A, "after values that are too badly conditioned"));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows on the last rank: the others, which couple nothing, tell the same */
static PetscErrorCode TestOneOwner(void)
{
  SpikeTestBand band = {600, 3, 2, 1.0001, SPIKE_TEST_SLOW, 4};
  PetscMPIInt   size, rank;
  Mat           A;
  KSP           ksp;
  PC            pc;
  char          text[4096];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, rank == size - 1 ? band.n : 0, MATAIJ, &A));
  PetscCall(Create(A, 4, &ksp, &pc));
  PetscCall(CheckAuto(pc, A, PC_SPIKE_FULL, EXACTTOL, "one owner"));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(SpikeTestCheck((PetscBool)(strstr(text, "coupled exactly") != NULL), "one owner: the view is\n%s", text));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestNotDominant());
  PetscCall(TestAuto());
  PetscCall(TestFirst());
  PetscCall(TestLikeLU());
  if (!PetscDefined(USE_REAL_SINGLE)) PetscCall(TestWorse()); /* the matrix is singular to its rounding */
  PetscCall(TestHalf());
  PetscCall(TestOneOwner());
  PetscCall(SpikeTestEnd("spike_full"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_full_1.out
      nsize: {{1 2 3 5}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
