/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spike_failure_input.c: shapes, options and layouts that PCSPIKE refuses: errors on all ranks, in time, with a text
  that says what to do; and what works after them
*/
static char help[] = "What PCSPIKE refuses: matrix shapes and types, bandwidths, memory, options out of range, changed "
                     "sizes, ranks with few rows.\n\n";

#include "spikefailure.h"
#include "ksptest.h"

static PetscMPIInt size, rank;

/* A PC on A whose errors can be seen, options in errors with the prefix x_ */
static PetscErrorCode PCMake(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOptionsPrefix(*pc, "x_"));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- The matrix
  ---------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestShape(void)
{
  const PetscInt N = 10 * size;
  PetscInt       rstart, rend;
  Mat            A;
  PC             pc;
  char           part[64];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) { /* not square; on each rank not square */
    if (k && size == 1) continue;
    if (!k) PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, N, N + 1, 1, NULL, 1, NULL, &A));
    else
      PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 10,
                             rank == 0          ? 9
                             : rank == size - 1 ? 11
                                                : 10,
                             N, N, 1, NULL, 1, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
    for (PetscInt i = rstart; i < rend; i++) PetscCall(MatSetValue(A, i, i, 1.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCMake(A, &pc));
    PetscCall(PetscSNPrintf(part, sizeof(part), "%" PetscInt_FMT " rows and %" PetscInt_FMT " columns", N, N + 1));
    EXPECT(PETSC_ERR_ARG_SIZ, k ? "local rows" : part, PCSetUp(pc));
    CHECKVIEW(pc, "not yet set up");
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellMult(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  (void)A;
  PetscCall(VecCopy(x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestType(void)
{
  const PetscInt N = 10 * size;
  Mat            A, shell;
  Vec            b;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, N, 1, 2, &A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, 10, 10, N, N, NULL, &shell));
  PetscCall(MatShellSetOperation(shell, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
  PetscCall(PCMake(shell, &pc));
  EXPECT(PETSC_ERR_SUP, "shell", PCSetUp(pc));
  EXPECT(PETSC_ERR_SUP, "KSPSetOperators()", PCSetUp(pc));
  CHECKVIEW(pc, "spike");
  PetscCall(PCSetOperators(pc, shell, A)); /* as the text says */
  PetscCall(PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(SolverCreate(A, NULL, &ksp, &pc));
  PetscCall(KSPSetOperators(ksp, shell, A));
  CHECKSOLVES(ksp, shell, b);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&shell));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another size in the same PC: refused while it is set up, taken after PCReset() and KSPReset() */
static PetscErrorCode TestSizes(void)
{
  Mat A, B;
  Vec a, b;
  KSP ksp;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(BandCreate(10, PETSC_DECIDE, 2, 3, &A));
  PetscCall(BandCreate(14, PETSC_DECIDE, 3, 1, &B));
  PetscCall(MatCreateVecs(A, &a, NULL));
  PetscCall(MatCreateVecs(B, &b, NULL));
  PetscCall(VecSet(a, 1.0));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, NULL, &ksp, &pc));
  CHECKSOLVES(ksp, A, a);
  EXPECT(PETSC_ERR_ARG_SIZ, "size", KSPSetOperators(ksp, B, B));
  CHECKSOLVES(ksp, A, a);
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  CHECKSOLVES(ksp, B, b);
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  CHECKSOLVES(ksp, A, a);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- The band
  -----------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestBandwidth(void)
{
  const PetscInt N = 10 * size, wide[][2] = {{N, 0},
                                             {0, N},
                                             {N, N},
                                             {PETSC_INT_MAX, 1},
                                             {1, PETSC_INT_MAX},
                                             {PETSC_INT_MAX, PETSC_INT_MAX}};
  PetscInt       kl, ku;
  Mat            A;
  Vec            b;
  KSP            ksp;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, N, 1, 2, &A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, "x_", &ksp, &pc));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(wide); k++) {
    PetscCall(PCSpikeSetBandwidth(pc, wide[k][0], wide[k][1]));
    CHECKSOLVES(ksp, A, b);
    PetscCall(PCSpikeGetInfo(pc, &info));
    CHECK(info.kl == PetscMin(wide[k][0], N - 1) && info.ku == PetscMin(wide[k][1], N - 1),
          "half-bandwidths %d,%d of %d rows", (int)info.kl, (int)info.ku, (int)N);
    PetscCall(PCSpikeGetBandwidth(pc, &kl, &ku));
    CHECK(kl == wide[k][0] && ku == wide[k][1], "%d,%d are not what was set", (int)kl, (int)ku);
  }
  PetscCall(PCFactorSetMatOrderingType(pc, size == 1 ? MATORDERINGRCM : "auto"));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  /* negative ones, except for the pair that means the matrix's own: the setter refuses, and the PC keeps what it had */
  PetscCall(PCSpikeSetBandwidth(pc, 1, 2));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "-2,3", PCSpikeSetBandwidth(pc, -2, 3));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "3,-2", PCSpikeSetBandwidth(pc, 3, -2));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "-1,3", PCSpikeSetBandwidth(pc, PETSC_DECIDE, 3));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "0,-1", PCSpikeSetBandwidth(pc, 0, PETSC_DECIDE));
  PetscCall(PCSpikeGetBandwidth(pc, &kl, &ku));
  CHECK(kl == 1 && ku == 2, "half-bandwidths %d,%d", (int)kl, (int)ku);
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK)); /* the widest that is allowed */
  PetscCall(PCSpikeSetBandwidth(pc, N - 1, N - 1));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.kl == N - 1 && info.ku == N - 1, "half-bandwidths %d,%d", (int)info.kl, (int)info.ku);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Bands that are cut: to the limit, and where no entry is near it to the entries within it; the same from MATAIJ and
  MATDIA, and kept when values change. A limit changes neither a narrower band nor one that the user gives
*/
static PetscErrorCode TestMaxBandwidth(void)
{
  const PetscInt limits[] = {0, 1, 2, 3, 5, 7, PETSC_DECIDE, PETSC_UNLIMITED}, kl = 2, ku = 5, m = 12;
  PetscInt       max;
  Mat            A, B;
  Vec            b;
  KSP            ksp;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(BandCreate(30, PETSC_DECIDE, kl, ku, &A));
  PetscCall(MatConvert(A, MATDIA, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  for (size_t k = 0; k < 2 * PETSC_STATIC_ARRAY_LENGTH(limits); k++) {
    const PetscInt limit = limits[k / 2], most = limit < 0 ? ku : limit;
    Mat            C = k % 2 ? B : A;

    PetscCall(SolverCreate(C, "x_", &ksp, &pc));
    PetscCall(PCSpikeSetMaxBandwidth(pc, limit));
    CHECKSOLVES(ksp, C, b);
    PetscCall(MatScale(C, 2.0));
    CHECKSOLVES(ksp, C, b);
    PetscCall(PCSpikeGetInfo(pc, &info));
    CHECK(info.kl == PetscMin(kl, most) && info.ku == PetscMin(ku, most), "%d: half-bandwidths %d,%d", (int)limit,
          (int)info.kl, (int)info.ku);
    CHECK(info.cut == (PetscBool)(most < ku) && (info.dropped > 0) == info.cut, "%d: cut %d, dropped %g", (int)limit,
          (int)info.cut, (double)info.dropped);
    CHECK(info.rebuilds == 1 && info.refills == 1, "%d: %d setups, %d refills", (int)limit, (int)info.rebuilds,
          (int)info.refills);
    if (info.cut) CHECKVIEW(pc, "-x_pc_type lu has the whole matrix");
    PetscCall(PCSpikeSetBandwidth(pc, 1, 3));
    CHECKSOLVES(ksp, C, b);
    PetscCall(PCSpikeGetInfo(pc, &info));
    CHECK(info.kl == 1 && info.ku == 3 && !info.cut, "%d: half-bandwidths %d,%d", (int)limit, (int)info.kl,
          (int)info.ku);
    EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "not -7", PCSpikeSetMaxBandwidth(pc, -7));
    PetscCall(PCSpikeGetMaxBandwidth(pc, &max));
    CHECK(max == limit, "limit %d", (int)max);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  /* lines of a grid: nothing between the diagonals 1 and m; RCM would cut all but a few of their couplings */
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, m, 10 * size, PETSC_DECIDE, 1.0, &A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  for (PetscInt limit = m - 1; limit <= m; limit++) {
    PetscCall(SolverCreate(A, "x_", &ksp, &pc));
    PetscCall(PCSpikeSetMaxBandwidth(pc, limit));
    CHECKSOLVES(ksp, A, b);
    PetscCall(PCSpikeGetInfo(pc, &info));
    CHECK(info.cut == (PetscBool)(limit < m) && (info.dropped > 0) == info.cut, "%d: cut %d, %g dropped", (int)limit,
          (int)info.cut, (double)info.dropped);
    PetscCall(PCSpikeSetMaxBandwidth(pc, 1));
    CHECKSOLVES(ksp, A, b);
    PetscCall(PCSpikeGetInfo(pc, &info));
    CHECK(info.cut && !info.reordered && info.kl == 1 && info.ku == 1, "half-bandwidths %d,%d", (int)info.kl,
          (int)info.ku);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Millions of rows and two entries of one row as far from the diagonal as the rows of a rank allow (one would be a
  corner of a periodic system): 200 terabytes on one rank, terabytes on each of some
*/
static PetscErrorCode TestMemory(void)
{
  const PetscInt n = (size == 1 ? 5000000 : 2400000) / size, K = n - 1;
  PetscInt       rstart, rend;
  PetscLogDouble before, after, begin, end;
  Mat            A;
  Vec            b;
  KSP            ksp;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DECIDE, PETSC_DECIDE, 3, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) PetscCall(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
  for (PetscInt j = 0; j < 2 && !rank; j++) PetscCall(MatSetValue(A, K, j, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, "x_", &ksp, &pc));
  PetscCall(PCSpikeSetMaxBandwidth(pc, PETSC_UNLIMITED));
  PetscCall(PCSpikeSetMaxBorder(pc, 0)); /* it would have one row */
  PetscCall(PetscMemoryGetCurrentUsage(&before));
  PetscCall(PetscGetCPUTime(&begin));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscGetCPUTime(&end));
  PetscCall(PetscMemoryGetCurrentUsage(&after));
  /* KSPBCGS has six vectors of the rows of this rank */
  CHECK(after - before < 8.6e7 + 6.0 * n * sizeof(PetscScalar), "%g bytes were allocated", after - before);
  CHECK(end - begin < 20, "took %g s of the processor", end - begin);
  CHECKFAILED(ksp, b, PC_FACTOR_OUTMEMORY);
  CHECKVIEW(pc, " GB on one ");
  CHECKVIEW(pc, "more than is free there");
  CHECKVIEW(pc, "-x_pc_spike_bandwidth");
  CHECKVIEW(pc, "-x_pc_spike_dropoff");
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.bytes > (PetscReal)0.5 * sizeof(PetscScalar) * (PetscReal)n * K, "%g bytes", (double)info.bytes);
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  if (!PetscDefined(USE_REAL_SINGLE)) {
    PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE)); /* half as much is too much */
    EXPECT(PETSC_ERR_MEM, " GB on one ", KSPSetUp(ksp));
  }
  /* the remedies */
  PetscCall(PCSpikeSetPrecision(pc, SPIKE_TEST_PRECISION));
  PetscCall(PCSpikeSetDropoff(pc, 0.01));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.kl == 0 && info.ku == 0 && info.dropped > 0 && info.natural_kl == K, "half-bandwidths %d,%d of %d",
        (int)info.kl, (int)info.ku, (int)info.natural_kl);
  PetscCall(PCSpikeSetDropoff(pc, 0.0));
  PetscCall(PCSpikeSetBandwidth(pc, 1, 0));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(PCSpikeSetMaxBandwidth(pc, PETSC_DECIDE)); /* the default: what the memory holds */
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.cut && info.kl == 0 && info.ku == 0 && info.dropped > 0 && info.natural_kl == K,
        "half-bandwidths %d,%d of %d", (int)info.kl, (int)info.ku, (int)info.natural_kl);
  CHECKVIEW(pc, "cut to half-bandwidth 0, which fits in memory");
  PetscCall(KSPSetType(ksp, KSPPREONLY)); /* nobody has asked for another matrix: a direct solve is of this one */
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.refinements > 0, "%d steps of refinement", (int)info.refinements);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Options
  ------------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestOptions(void)
{
  struct {
    const char    *name, *value;
    PetscErrorCode code;
    const char    *part;
  } const bad[] = {{"-x_pc_spike_bandwidth", "-2", PETSC_ERR_ARG_OUTOFRANGE, "-2,-2"},
                   {"-x_pc_spike_bandwidth", "3,-7", PETSC_ERR_ARG_OUTOFRANGE, "3,-7"},
                   {"-x_pc_spike_dropoff", "1.5", PETSC_ERR_ARG_OUTOFRANGE, "1.5"},
                   {"-x_pc_spike_dropoff", "1", PETSC_ERR_ARG_OUTOFRANGE, "[0, 1)"},
                   {"-x_pc_spike_dropoff", "-0.1", PETSC_ERR_ARG_OUTOFRANGE, "-0.1"},
                   {"-x_pc_spike_dropoff", "nan", PETSC_ERR_ARG_OUTOFRANGE, ""},
                   {"-x_pc_spike_window_tol", "1", PETSC_ERR_ARG_OUTOFRANGE, "[0, 1)"},
                   {"-x_pc_spike_window_tol", "-1e-3", PETSC_ERR_ARG_OUTOFRANGE, "-0.001"},
                   {"-x_pc_spike_window_tol", "nan", PETSC_ERR_ARG_OUTOFRANGE, ""},
                   {"-x_pc_spike_local_partitions", "0", PETSC_ERR_ARG_OUTOFRANGE, "not 0"},
                   {"-x_pc_spike_local_partitions", "-5", PETSC_ERR_ARG_OUTOFRANGE, "not -5"},
                   {"-x_pc_spike_zeropivot", "-1e-3", PETSC_ERR_ARG_OUTOFRANGE, "-0.001"},
                   {"-x_pc_spike_zeropivot", "nan", PETSC_ERR_ARG_OUTOFRANGE, ""},
                   {"-x_pc_spike_shift_amount", "0", PETSC_ERR_ARG_OUTOFRANGE, "positive"},
                   {"-x_pc_spike_shift_amount", "-0.5", PETSC_ERR_ARG_OUTOFRANGE, "-0.5"},
                   {"-x_pc_spike_shift_type", "positive_definite", PETSC_ERR_SUP, "boosts"},
                   {"-x_pc_spike_type", "full-ish", PETSC_ERR_USER, "full-ish"},
                   {"-x_pc_spike_precision", "quadruple", PETSC_ERR_USER, "quadruple"},
                   {"-x_pc_spike_local_partitions", "many", PETSC_ERR_ARG_OUTOFRANGE, "many"}};
  PetscReal           dropoff, zeropivot, amount;
  PetscInt            kl, ku, partitions;
  PCSpikeType         type;
  PetscSpikePrecision precision, own = SPIKE_TEST_PRECISION;
  MatFactorShiftType  shift;
  PCSpikeInfo         info;
  Mat                 A;
  PC                  pc;

  PetscFunctionBegin;
  PetscCall(BandCreate(10, PETSC_DECIDE, 1, 2, &A));
  PetscCall(PCMake(A, &pc));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) {
    PetscCall(PetscOptionsSetValue(NULL, bad[k].name, bad[k].value));
    EXPECT(bad[k].code, bad[k].part, PCSetFromOptions(pc));
    PetscCall(PetscOptionsClearValue(NULL, bad[k].name));
  }
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "77", PCSpikeSetType(pc, (PCSpikeType)77));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "77", PCSpikeSetPrecision(pc, (PetscSpikePrecision)77));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "1.5", PCSpikeSetDropoff(pc, 1.5));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "0", PCSpikeSetLocalPartitions(pc, 0));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "-3", PCFactorSetZeroPivot(pc, -3.0));
  EXPECT(PETSC_ERR_SUP, "POSITIVE_DEFINITE", PCFactorSetShiftType(pc, MAT_SHIFT_POSITIVE_DEFINITE));
  /* what was refused left nothing behind */
  PetscCall(PCSpikeGetBandwidth(pc, &kl, &ku));
  PetscCall(PCSpikeGetDropoff(pc, &dropoff));
  PetscCall(PCSpikeGetLocalPartitions(pc, &partitions));
  PetscCall(PCFactorGetZeroPivot(pc, &zeropivot));
  PetscCall(PCFactorGetShiftAmount(pc, &amount));
  PetscCall(PCFactorGetShiftType(pc, &shift));
  PetscCall(PCSpikeGetType(pc, &type));
  PetscCall(PCSpikeGetPrecision(pc, &precision));
  CHECK(kl == PETSC_DECIDE && ku == PETSC_DECIDE, "half-bandwidths %d,%d", (int)kl, (int)ku);
  CHECK(dropoff == 0.0, "drop-off %g", (double)dropoff);
  CHECK(partitions == PETSC_DECIDE, "partitions %d", (int)partitions);
  CHECK(zeropivot > 0.0 && zeropivot < 1e-2, "zero pivot %g", (double)zeropivot);
  CHECK(amount == (PetscReal)PETSC_DECIDE && shift == MAT_SHIFT_NONZERO, "shift %g %d", (double)amount, (int)shift);
  CHECK(type == PC_SPIKE_AUTO && precision == own, "type %d precision %d", (int)type, (int)precision);
  PetscCall(PCSetFromOptions(pc));
  EXPECT(PETSC_ERR_ARG_WRONGSTATE, "PCSetUp()", PCSpikeGetInfo(pc, &info));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSetType(pc, PCJACOBI)); /* of another type: setters do nothing, getters say so */
  PetscCall(PCSpikeSetDropoff(pc, 1.5));
  EXPECT(PETSC_ERR_SUP, "PCSpikeGetInfo_C", PCSpikeGetInfo(pc, &info));
  EXPECT(PETSC_ERR_SUP, "PCSpikeGetDropoff_C", PCSpikeGetDropoff(pc, &dropoff));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOrdering(void)
{
  PetscInt before, after;
  Mat      A;
  Vec      b;
  KSP      ksp;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(BandCreate(10, PETSC_DECIDE, 1, 2, &A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, "x_", &ksp, &pc));
  for (PetscInt k = 0; k < 2; k++) { /* then with a stored zero: the graph is a copy without it */
    PetscCall(PCFactorSetMatOrderingType(pc, "nosuchordering"));
    PetscCall(PetscObjectGetReference((PetscObject)A, &before));
    EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "nosuchordering", PCSetUp(pc));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGEXTERNAL));
    EXPECT(PETSC_ERR_SUP, "-x_pc_spike_mat_ordering_type", PCSetUp(pc));
    PetscCall(PetscObjectGetReference((PetscObject)A, &after));
    CHECK(before == after, "%d references to the matrix, %d before", (int)after, (int)before);
    PetscCall(EntryPut(A, 2, 1, 0.0));
  }
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCFactorSetMatOrderingType(pc, "auto"));
  CHECKSOLVES(ksp, A, b);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Partitions and ranks
  -----------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestPartitions(void)
{
  Mat         A;
  Vec         b;
  KSP         ksp;
  PC          pc;
  PCSpikeInfo info;
  PetscInt    got;
  char        part[64];

  PetscFunctionBegin;
  PetscCall(BandCreate(rank == size - 1 ? 21 : 30, PETSC_DECIDE, 5, 2, &A)); /* the last rank has room for 4 */
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, "x_", &ksp, &pc));
  for (PetscInt k = 0; k < 6; k++) { /* as many as there is room for */
    const PetscInt wanted[] = {4, 5, PETSC_INT_MAX, 21, 22, PETSC_INT_MAX}, first[] = {4, 5, 6, 21, 22, 30},
                   last[] = {4, 4, 4, 21, 21, 21};

    if (k == 3) PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK)); /* without coupling a partition may be a row */
    PetscCall(PCSpikeSetLocalPartitions(pc, wanted[k]));
    CHECKSOLVES(ksp, A, b);
    PetscCall(PCSpikeGetInfo(pc, &info));
    CHECK(info.partitions == first[k] * (size - 1) + last[k], "%d partitions on each rank: %d in all", (int)wanted[k],
          (int)info.partitions);
    PetscCall(PetscSNPrintf(part, sizeof(part), "fewer than the %" PetscInt_FMT " on each rank", wanted[k]));
    if (k % 3) CHECKVIEW(pc, part);
    PetscCall(PCSpikeGetLocalPartitions(pc, &got));
    CHECK(got == wanted[k], "%d partitions asked for, not %d", (int)got, (int)wanted[k]);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank, the first, an inner one or the last, has fewer rows than the band is wide: rows are gathered */
static PetscErrorCode TestFewRows(void)
{
  const PetscInt K = 6;
  PetscLogDouble begin, end;
  Mat            A;
  Vec            b;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  for (PetscMPIInt poor = 0; poor < size; poor++) {
    for (PetscInt rows = 1; rows < 2 * K; rows += K - 2) {
      PetscCall(BandCreate(rank == poor ? rows : 15, PETSC_DECIDE, 2, K, &A));
      PetscCall(MatCreateVecs(A, &b, NULL));
      PetscCall(VecSet(b, 1.0));
      PetscCall(SolverCreate(A, "x_", &ksp, &pc));
      PetscCall(PetscGetCPUTime(&begin));
      CHECKSOLVES(ksp, A, b);
      if (rows < K && size > 1) CHECKVIEW(pc, "ranks gathered on");
      PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
      CHECKSOLVES(ksp, A, b);
      PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
      CHECKSOLVES(ksp, A, b);
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
      CHECKSOLVES(ksp, A, b);
      PetscCall(PetscGetCPUTime(&end));
      CHECK(end - begin < 10, "took %g s of the processor", end - begin);
      PetscCall(KSPDestroy(&ksp));
      PetscCall(MatDestroy(&A));
      PetscCall(VecDestroy(&b));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TestShape());
  PetscCall(Section("shape"));
  PetscCall(TestType());
  PetscCall(Section("type"));
  PetscCall(TestSizes());
  PetscCall(Section("sizes"));
  PetscCall(TestBandwidth());
  PetscCall(Section("bandwidth"));
  PetscCall(TestMaxBandwidth());
  PetscCall(Section("max bandwidth"));
  PetscCall(TestMemory());
  PetscCall(Section("memory"));
  PetscCall(TestOptions());
  PetscCall(Section("options"));
  PetscCall(TestOrdering());
  PetscCall(Section("ordering"));
  PetscCall(TestPartitions());
  PetscCall(Section("partitions"));
  PetscCall(TestFewRows());
  PetscCall(Section("few rows"));
  PetscCall(PetscFinalize());
  return failed;
}

/*TEST

   # PETSc's functions lose memory when errors leave them
   test:
      suffix: 1
      nsize: {{1 3}}
      args: -malloc_dump no
      timeoutfactor: 4

TEST*/
