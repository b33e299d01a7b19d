/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "What may change between two solves with PCSPIKE, each followed by the true residual: values, "
                     "pattern, options, matrices, sizes.\n\n";

#include "spiketest.h"

static PetscReal Rtol(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;
}

/* Setups from scratch and refills since the last call; counted[] holds the totals */
static PetscErrorCode CheckSetups(PC pc, PetscInt counted[2], PetscInt rebuilds, PetscInt refills, const char where[])
{
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds - counted[0] == rebuilds && info.refills - counted[1] == refills),
                           "%s: %" PetscInt_FMT " setups from scratch and %" PetscInt_FMT
                           " refills instead of %" PetscInt_FMT " and %" PetscInt_FMT,
                           where, info.rebuilds - counted[0], info.refills - counted[1], rebuilds, refills));
  counted[0] = info.rebuilds;
  counted[1] = info.refills;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPMake(Mat A, PetscInt local, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(*ksp, Rtol(), PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(*pc, local));
  PetscCall(PCSetFromOptions(*pc)); /* -pc_spike_type full */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of a solve with a fresh preconditioner: one that is stale needs more, or does not get there */
static PetscErrorCode FreshIterations(Mat A, PC pc, Vec b, PetscInt *its)
{
  KSP                 ksp;
  PC                  fresh;
  Vec                 x;
  PCSpikeType         type;
  PetscSpikePrecision precision;
  PetscInt            local, kl, ku;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetLocalPartitions(pc, &local));
  PetscCall(PCSpikeGetType(pc, &type));
  PetscCall(PCSpikeGetPrecision(pc, &precision));
  PetscCall(PCSpikeGetBandwidth(pc, &kl, &ku));
  PetscCall(KSPMake(A, local, &ksp, &fresh));
  PetscCall(PCSpikeSetType(fresh, type));
  PetscCall(PCSpikeSetPrecision(fresh, precision));
  PetscCall(PCSpikeSetBandwidth(fresh, kl, ku));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve, its true residual, its setups, and as many iterations as with a preconditioner made anew */
static PetscErrorCode SolveAndCheck(KSP ksp, Vec b, Vec x, PetscInt counted[2], PetscInt rebuilds, PetscInt refills,
                                    const char where[])
{
  PC       pc;
  Mat      A;
  PetscInt its, fresh;

  PetscFunctionBegin;
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(CheckSetups(pc, counted, rebuilds, refills, where));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(FreshIterations(A, pc, b, &fresh));
  PetscCall(SpikeTestCheck((PetscBool)(its <= fresh + 1),
                           "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " with a new preconditioner", where, its,
                           fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestValues(PetscInt local)
{
  SpikeTestBand band = {120, 3, 5, 1.05, SPIKE_TEST_RANDOM, 70};
  Mat           A, B;
  KSP           ksp;
  PC            pc;
  Vec           x, b, d;
  PetscInt      counted[2] = {0, 0}, rows[2] = {5, 77}, start, end;
  PetscScalar   v;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(SpikeTestSetRandom(b, 71));
  PetscCall(KSPMake(A, local, &ksp, &pc));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "first solve"));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 0, "second solve"));
  PetscCall(SpikeTestSetRandom(b, 72));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 0, "new right-hand side"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 73));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 0, "new vectors"));
  PetscCall(MatScale(A, 1e3));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "MatScale"));
  PetscCall(MatShift(A, 7.0));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "MatShift"));
  PetscCall(SpikeTestSetRandom(d, 74));
  PetscCall(VecShift(d, 3.0));
  PetscCall(MatDiagonalScale(A, d, NULL));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "MatDiagonalScale"));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) { /* all other signs, and other places for what is large */
    for (PetscInt j = PetscMax(0, i - 3); j <= PetscMin(119, i + 5); j++) {
      v = i == j ? 40.0 : -2.0 * SpikeTestScalar(75, i, j);
      PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "MatSetValue"));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, 2, rows, 2.0, NULL, NULL));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "MatZeroRows, pattern kept"));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
  rows[0] = 8;
  rows[1] = 100;
  PetscCall(MatZeroRows(A, 2, rows, 3.0, NULL, NULL));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "MatZeroRows"));

  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatScale(A, 0.25));
  PetscCall(SpikeTestSolve(ksp, b, x, "KSPSetReusePreconditioner"));
  PetscCall(CheckSetups(pc, counted, 0, 0, "KSPSetReusePreconditioner"));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "KSPSetReusePreconditioner undone"));

  band.seed = 76;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "another matrix of the same pattern"));
  PetscCall(MatDestroy(&B));
  band.kl = 6;
  band.ku = 2;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "another matrix of another pattern"));
  PetscCall(KSPSetOperators(ksp, A, B)); /* A stays the operator, B its preconditioner */
  PetscCall(KSPSetTolerances(ksp, 1e-2, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(SpikeTestSolve(ksp, b, x, "another Amat"));
  PetscCall(CheckSetups(pc, counted, 0, 0, "another Amat"));
  PetscCall(KSPSetTolerances(ksp, Rtol(), PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "the first matrix again"));
  PetscCall(PCReset(pc));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "PCReset"));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPReset(ksp));
  band.n = 35;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatCreateVecs(B, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 77));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "another size"));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&d));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters between solves take effect at the next one, and only when something changed */
static PetscErrorCode TestOptions(void)
{
  SpikeTestBand band = {150, 4, 2, 1.05, SPIKE_TEST_RANDOM, 80};
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           x, b;
  PetscInt      counted[2] = {0, 0};
  PCSpikeInfo   info;
  PCSpikeType   type;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 81));
  PetscCall(KSPMake(A, 1, &ksp, &pc));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "first"));
  PetscCall(PCSpikeSetLocalPartitions(pc, 4));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "partitions"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.partitions == 4 * size), "%" PetscInt_FMT " partitions", info.partitions));
  PetscCall(PCSpikeGetType(pc, &type));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
  PetscCall(SolveAndCheck(ksp, b, x, counted, type == PC_SPIKE_FULL ? 0 : 1, 0, "type full"));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "type block"));
  PetscCall(PCSpikeSetBandwidth(pc, 2, 1));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "bandwidth"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.kl == 2 && info.ku == 1 && info.dropped > 0.0),
                           "band %" PetscInt_FMT ",%" PetscInt_FMT, info.kl, info.ku));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "type truncated, precision"));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "precision bf16"));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_FP16));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "precision fp16"));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "precision single"));
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "bandwidth from the matrix"));
  PetscCall(PCSpikeSetDropoff(pc, 0.3));
  PetscCall(SpikeTestSolve(ksp, b, x, "drop-off"));
  PetscCall(CheckSetups(pc, counted, 1, 0, "drop-off"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.dropped > 0.0 && info.dropped <= 0.3), "dropped %g", (double)info.dropped));
  PetscCall(PCSpikeSetDropoff(pc, 0.0));
  PetscCall(PCFactorSetZeroPivot(pc, 1e-10));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "zero pivot"));
  /* the same once more */
  PetscCall(PCSpikeSetLocalPartitions(pc, 4));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
  PetscCall(PCSpikeSetDropoff(pc, 0.0));
  PetscCall(PCFactorSetZeroPivot(pc, 1e-10));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 0, "options set to what they are"));
  PetscCall(PCSpikeSetLocalPartitions(pc, 2));
  PetscCall(MatScale(A, 2.0));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "options and values"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Spikes that do not fall: one iteration with exact coupling, again after new values, another number of right-hand
  sides, another type of coupling or of preconditioner and back
*/
static PetscErrorCode TestFull(PetscInt local)
{
  SpikeTestBand band = {200, 3, 2, 1.0001, SPIKE_TEST_SLOW, 85};
  Mat           A, X, Y;
  KSP           ksp;
  PC            pc;
  Vec           x, b;
  PetscInt      its, m;
  VecType       type;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 86));
  PetscCall(VecGetType(b, &type));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(
    MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, m, PETSC_DECIDE, PETSC_DECIDE, 5, PETSC_DECIDE, NULL, &X));
  PetscCall(MatSetRandom(X, NULL));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(KSPMake(A, local, &ksp, &pc));
  for (PetscInt step = 0; step < 9; step++) {
    char where[64];

    PetscCall(
      PetscSNPrintf(where, sizeof(where), "full, %" PetscInt_FMT " partitions, step %" PetscInt_FMT, local, step));
    if (step == 1) PetscCall(MatScale(A, 3.0));
    if (step == 2) PetscCall(PCMatApply(pc, X, Y)); /* makes room for more right-hand sides */
    if (step == 3) PetscCall(PCSetType(pc, PCJACOBI));
    if (step == 4) PetscCall(PCSetType(pc, PCSPIKE));
    if (step == 5) PetscCall(MatShift(A, 0.01));
    if (step == 6) PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
    if (step == 8) PetscCall(PCReset(pc));
    if (step == 8) PetscCall(PCSetOperators(pc, A, A));
    if (step == 4) PetscCall(PCSpikeSetLocalPartitions(pc, local));
    if (step == 0 || step == 4 || step == 7) PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
    if (step == 3 || step == 6) { /* whatever these need */
      PetscCall(KSPSolve(ksp, b, x));
      continue;
    }
    PetscCall(SpikeTestSolve(ksp, b, x, where));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(SpikeTestCheck((PetscBool)(its == 1), "%s: %" PetscInt_FMT " iterations", where, its));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values within distances kl and ku, zeros in the rest of a pattern of half-bandwidth 6 */
static PetscErrorCode SetBand(Mat A, PetscInt kl, PetscInt ku, PetscInt seed)
{
  PetscInt start, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - 6); j <= PetscMin(n - 1, i + 6); j++)
      PetscCall(MatSetValue(A, i, j,
                            i == j                         ? (PetscScalar)14.0
                            : (i - j <= kl && j - i <= ku) ? SpikeTestScalar(seed, i, j)
                                                           : 0.0,
                            INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Two Newton steps whose first Jacobian has zeros outside the later band: PETSc says SAME_NONZERO_PATTERN, the band must
  grow all the same. Also from types that are converted.
*/
static PetscErrorCode TestBandGrows(MatType type, PetscInt local, PetscReal dropoff)
{
  const PetscInt n          = 84;
  const PetscInt bands[][3] = {                                            /* kl, ku, setup: 0 refill, 1 from scratch */
                               {1, 1, 1}, {1, 1, 0}, {4, 2, 1}, {2, 4, 1}, /* wider on one side only */
                               {2, 3, 0}, {6, 6, 1}, {0, 0, 0},            /* narrower: kept */
                               {6, 6, 0}};
  Mat            A, C;
  KSP            ksp;
  PC             pc;
  Vec            x, b;
  PetscInt       counted[2] = {0, 0};
  PCSpikeInfo    info;
  char           where[128];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatSetSizes(C, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(C, MATAIJ));
  PetscCall(MatSetUp(C));
  PetscCall(SetBand(C, 6, 6, 90));
  PetscCall(MatConvert(C, type, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatDestroy(&C));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 91));
  PetscCall(KSPMake(A, local, &ksp, &pc));
  PetscCall(PCSpikeSetDropoff(pc, dropoff));
  for (size_t step = 0; step < PETSC_STATIC_ARRAY_LENGTH(bands); step++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %" PetscInt_FMT " partitions, drop-off %g, step %d", type, local,
                            (double)dropoff, (int)step));
    PetscCall(SetBand(A, bands[step][0], bands[step][1], 92 + (PetscInt)step));
    if (dropoff > 0.0) {
      PetscCall(SpikeTestSolve(ksp, b, x, where));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestSmall(info.dropped, dropoff, "dropped share", where));
      continue;
    }
    PetscCall(SolveAndCheck(ksp, b, x, counted, bands[step][2], 1 - bands[step][2], where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.kl >= bands[step][0] && info.ku >= bands[step][1] && info.dropped == 0.0),
                             "%s: band %" PetscInt_FMT ",%" PetscInt_FMT, where, info.kl, info.ku));
    if (bands[step][2])
      PetscCall(SpikeTestCheck((PetscBool)(info.kl == bands[step][0] && info.ku == bands[step][1]),
                               "%s: band %" PetscInt_FMT ",%" PetscInt_FMT " is too wide", where, info.kl, info.ku));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same where the ordering was chosen from the first values: a shuffled band that later gets an entry far from it */
static PetscErrorCode TestOrderingGrows(void)
{
  const PetscInt n    = 89;
  SpikeTestBand  band = {n, 2, 2, 1.5, SPIKE_TEST_RANDOM, 95};
  Mat            A;
  KSP            ksp;
  PC             pc;
  Vec            x, b;
  PetscInt       counted[2] = {0, 0};
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(SpikeTestSetMatType(A, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocation(A, 12, NULL));
  for (PetscInt i = 0; i < n; i++) /* stored zeros all along the other diagonal, then the band over them */
    PetscCall(MatSetValue(A, i, n - 1 - i, 0.0, INSERT_VALUES));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = PetscMax(0, i - 2); j <= PetscMin(n - 1, i + 2); j++)
      PetscCall(MatSetValue(A, (i * 34) % n, (j * 34) % n, SpikeTestBandEntry(&band, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 96));
  PetscCall(KSPMake(A, 2, &ksp, &pc));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "shuffled"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.reordered && info.kl <= 6 && info.ku <= 6),
                           "shuffled: band %" PetscInt_FMT ",%" PetscInt_FMT ", zeros seem to count", info.kl,
                           info.ku));
  PetscCall(MatScale(A, 2.0));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 0, 1, "shuffled and scaled"));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "shuffled, one partition"));
  for (PetscInt i = 20; i < 25; i++) PetscCall(MatSetValue(A, i, n - 1 - i, 0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SolveAndCheck(ksp, b, x, counted, 1, 0, "shuffled with far entries"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.dropped == 0.0), "shuffled with far entries: dropped %g", (double)info.dropped));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A refill and an apply allocate nothing (measured where PETSc counts: -malloc_debug) */
static PetscErrorCode TestMemory(PetscInt local, PetscSpikePrecision precision, MatOrderingType ordering)
{
  SpikeTestBand  band = {6000, 6, 4, 1.2, SPIKE_TEST_RANDOM, 97}; /* small work space of fixed size does not count */
  Mat            A;
  PC             pc;
  Vec            x, y;
  PCSpikeInfo    info;
  PetscLogDouble before, empty, after, highest, highest0;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SpikeTestSetRandom(x, 98));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(pc, local));
  PetscCall(PCSpikeSetPrecision(pc, precision));
  PetscCall(PCFactorSetMatOrderingType(pc, ordering));
  PetscCall(PCSetFromOptions(pc)); /* -pc_spike_type full */
  PetscCall(PCSetUp(pc)); /* what PETSc itself keeps for good, such as lists of orderings, and messages of products */
  PetscCall(MatMult(A, x, y));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PetscMallocGetCurrentUsage(&empty));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PCApplyTranspose(pc, x, y));
  PetscCall(PetscMallocGetCurrentUsage(&before));
  PetscCall(SpikeTestCheck((PetscBool)(before > 0.0), "PETSc does not count memory: run with -malloc_debug"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  {
    PetscReal       used = (PetscReal)(before - empty);
    const PetscReal told = info.bytes + info.extra_bytes;

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &used, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
    PetscCall(SpikeTestCheck((PetscBool)(told > 0.7 * used && told < 1.1 * used),
                             "the info tells %g bytes, %g were allocated", (double)told, (double)used));
  }
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall(MatScale(A, 1.5));
    PetscCall(PetscMallocGetCurrentUsage(&before));
    PetscCall(PetscMallocPushMaximumUsage(1));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCApplyTranspose(pc, x, y));
    PetscCall(PetscMallocPopMaximumUsage(1, &highest));
    PetscCall(PetscMallocGetCurrentUsage(&after));
    PetscCall(PetscMallocPushMaximumUsage(1));
    PetscCall(PetscMallocPopMaximumUsage(1, &highest0));
    PetscCall(SpikeTestCheck((PetscBool)(after == before), "a refill keeps %g more bytes", after - before));
    PetscCall(SpikeTestCheck((PetscBool)(highest == highest0), "a refill or an apply allocates %g bytes for a while",
                             highest - highest0));
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 2 && info.refills == 2),
                           "%" PetscInt_FMT " setups from scratch and %" PetscInt_FMT " refills", info.rebuilds,
                           info.refills));
  PetscCall(PCReset(pc));
  PetscCall(PetscMallocGetCurrentUsage(&after));
  PetscCall(SpikeTestCheck((PetscBool)(after == empty), "PCReset leaves %g bytes", after - empty));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool   memory = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &memory, NULL));
  if (memory) {
    PetscCall(TestMemory(1, PETSC_SPIKE_PRECISION_SINGLE, MATORDERINGNATURAL));
    PetscCall(TestMemory(2, PETSC_SPIKE_PRECISION_BF16, MATORDERINGNATURAL));
    PetscCall(TestMemory(3, SPIKE_TEST_PRECISION, size == 1 ? MATORDERINGRCM : MATORDERINGNATURAL));
  } else {
    PetscCall(TestValues(1));
    PetscCall(TestValues(3));
    PetscCall(TestOptions());
    PetscCall(TestFull(1));
    PetscCall(TestFull(4));
    PetscCall(TestFull(9));
    PetscCall(TestBandGrows(MATAIJ, 1, 0.0));
    PetscCall(TestBandGrows(MATAIJ, 3, 0.0));
    PetscCall(TestBandGrows(MATAIJ, 2, 0.1));
    PetscCall(TestBandGrows(MATBAIJ, 2, 0.0));
    if (size == 1) PetscCall(TestOrderingGrows());
  }
  PetscCall(SpikeTestEnd("spike_change"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_change_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: full
         nsize: {{1 2 3}}
         args: -pc_spike_type full
      test:
         suffix: memory
         nsize: {{1 2}}
         args: -memory -malloc_debug
      test:
         suffix: memoryfull
         nsize: {{1 2}}
         args: -memory -malloc_debug -pc_spike_type full
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse
      test:
         suffix: cudafull
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -pc_spike_type full

TEST*/
