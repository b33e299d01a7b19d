/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "The operator of PCSPIKE on one rank, entry by entry, against dense references.\n\n";

#include "spikecase.h"

/* Sizes around the half-bandwidths and the tiles, every partition count that is allowed at its limit */
static PetscErrorCode TestSizes(void)
{
  const PetscInt bands[][2] = {{0, 0}, {1, 0}, {0, 3}, {1, 1}, {2, 5}, {7, 3}, {8, 8}, {15, 17}};

  PetscFunctionBegin;
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    const PetscInt kl = bands[b][0], ku = bands[b][1], K = PetscMax(kl, ku),
                   sizes[] = {0, 1, 2, K, K + 1, 2 * K, 3 * K, 31, 32, 33, 63, 64, 65, 100};

    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
      const PetscInt n = sizes[s], most = n / PetscMax(PetscMin(K, n - 1), 1), parts[] = {1, 2, 3, most};

      for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(parts); p++) {
        SpikeTestCase c;

        SpikeTestCaseInit(&c, n, kl, ku, p % 2 ? 1.02 : 1.5, p % 2 ? SPIKE_TEST_SLOW : SPIKE_TEST_RANDOM);
        c.local = PetscMax(parts[p], 1);
        if (p && (c.local > most || (p == 3 && most <= 3))) continue;
        PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, n, NULL));
        c.type = PC_SPIKE_FULL;
        if (p) PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, n, NULL));
        c.type = PC_SPIKE_BLOCK;
        if (p == 3) c.local = n; /* each row a partition */
        if (p) PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, n, NULL));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half-bandwidths past the tiles of the kernels, and K >= n / 2 */
static PetscErrorCode TestWide(void)
{
  const PetscInt bands[][3] = {{31, 33, 4}, {40, 21, 6}, {65, 64, 3}, {128, 127, 2}, {200, 130, 1}, {256, 256, 1}};

  PetscFunctionBegin;
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    for (PetscInt slow = 0; slow < 2; slow++) {
      SpikeTestCase c;

      SpikeTestCaseInit(&c, 257, bands[b][0], bands[b][1], slow ? 1.02 : 1.3,
                        slow ? SPIKE_TEST_SLOW : SPIKE_TEST_RANDOM);
      c.local = bands[b][2];
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 257, NULL));
      c.type = PC_SPIKE_FULL;
      if (c.local > 1) PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 257, NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Spikes that fall off differently up and down, at the top and at the bottom of a partition: windows of the corrections
*/
static PetscErrorCode TestDrift(void)
{
  const PetscInt bands[][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 3}};

  PetscFunctionBegin;
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    for (PetscInt local = 2; local <= 4; local++) {
      SpikeTestCase c;

      SpikeTestCaseInit(&c, 200, bands[b][0], bands[b][1], 1.01, SPIKE_TEST_DRIFT);
      c.local = local;
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 200, NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the windows leave out is as small as it was asked to be, and something is left out */
static PetscErrorCode TestWindow(void)
{
  const PetscReal tolerances[] = {0.5, 0.1, 1e-2, 1e-4, 1e-6, 1e-8};

  PetscFunctionBegin;
  for (PetscInt K = 1; K <= 5; K += 2) {
    SpikeTestCase c;
    PetscScalar  *exact, *m;
    PetscReal     diff, norm;

    SpikeTestCaseInit(&c, 181, K, K, 1.1, SPIKE_TEST_SLOW);
    c.local = 2;
    PetscCall(PetscMalloc2(181 * 181, &exact, 181 * 181, &m));
    PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 181, exact));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tolerances); t++) {
      Mat  A;
      PC   pc;
      char where[64];

      c.window = tolerances[t];
      PetscCall(PetscSNPrintf(where, sizeof(where), "K = %" PetscInt_FMT ", window tolerance %g", K, (double)c.window));
      PetscCall(SpikeTestCaseCreate(PETSC_COMM_SELF, &c, 181, &A, &pc, where));
      PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
      SpikeTestDifference(181, 0, 181, 0, 181, m, exact, PETSC_FALSE, &diff, &norm);
      PetscCall(SpikeTestSmall(diff, (c.window + c.tol) * norm, "what was left out", where));
      if (t == 0) PetscCall(SpikeTestCheck((PetscBool)(diff > 1e-4 * norm), "%s: nothing was left out", where));
      PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m)); /* has no windows */
      SpikeTestDifference(181, 0, 181, 0, 181, m, exact, PETSC_TRUE, &diff, &norm);
      PetscCall(SpikeTestSmall(diff, c.tol * norm, "error of the transposed operator", where));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
    PetscCall(PetscFree2(exact, m));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors in lower precision: as exact as they can be, and not more */
static PetscErrorCode TestPrecision(void)
{
  const PetscReal most[]  = {0.0, PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-3 : (PetscReal)1e-6, (PetscReal)0.04,
                             (PetscReal)0.005};
  const PetscReal least[] = {0.0, PetscDefined(USE_REAL_SINGLE) ? 0.0 : (PetscReal)1e-9, (PetscReal)1e-4,
                             (PetscReal)1e-5};

  PetscFunctionBegin;
  for (PetscInt local = 1; local <= 3; local++) {
    for (PetscInt precision = PETSC_SPIKE_PRECISION_SINGLE; precision <= PETSC_SPIKE_PRECISION_FP16; precision++) {
      SpikeTestCase c;
      PetscScalar  *lower, *full;
      PetscReal     diff, norm;

      SpikeTestCaseInit(&c, 65, 4, 6, 1.3, SPIKE_TEST_RANDOM);
      c.local = local;
      PetscCall(PetscMalloc2(65 * 65, &lower, 65 * 65, &full));
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 65, full));
      c.precision = (PetscSpikePrecision)precision;
      c.tol       = most[precision];
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 65, lower));
      c.type = PC_SPIKE_FULL;
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 65, NULL));
      c.type = PC_SPIKE_BLOCK;
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 65, NULL));
      SpikeTestDifference(65, 0, 65, 0, 65, lower, full, PETSC_FALSE, &diff, &norm);
      PetscCall(SpikeTestCheck((PetscBool)(diff >= least[precision] * norm),
                               "factors in %s give an operator in higher precision", PetscSpikePrecisions[precision]));
      PetscCall(PetscFree2(lower, full));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A band given by the user: narrower than the matrix's on either side or both, and wider */
static PetscErrorCode TestBandwidth(void)
{
  const PetscInt bands[][2] = {{2, 4}, {5, 1}, {0, 0}, {0, 4}, {3, 0}, {7, 10}};

  PetscFunctionBegin;
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    for (PetscInt local = 1; local <= 4; local++) {
      SpikeTestCase c;

      SpikeTestCaseInit(&c, 63, 5, 4, local % 2 ? 1.2 : 1.02, local % 2 ? SPIKE_TEST_RANDOM : SPIKE_TEST_SLOW);
      c.userkl = bands[b][0];
      c.userku = bands[b][1];
      c.local  = local;
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 63, NULL));
      c.type = PC_SPIKE_FULL;
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 63, NULL));
      c.type = PC_SPIKE_BLOCK;
      PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, 63, NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The narrowest band that drops a given fraction: the sizes of the entries fall off away from the diagonal, and unlike
  on both sides
*/
static PetscErrorCode TestDropoff(void)
{
  const PetscReal dropoffs[] = {0.0, 1e-6, 1e-3, 0.02, 0.1, 0.5};
  const PetscInt  n          = 60;
  PetscScalar    *a, *m, *ref;
  Mat             A;
  char            where[64];

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(n * n, &a, n * n, &m, n * n, &ref));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = PetscMax(0, j - 7); i <= PetscMin(n - 1, j + 12); i++)
      a[i + j * n] = i == j ? 4.0 : PetscPowReal(0.4, i > j ? i - j : j - i) * SpikeTestScalar(3, i, j);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_SELF, n, a, n, &A));
  for (size_t d = 0; d < PETSC_STATIC_ARRAY_LENGTH(dropoffs); d++) {
    for (PetscInt local = 1; local <= 3; local += 2) {
      const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10;
      PetscReal       sum = 0.0, outside, weight[13] = {0.0};
      PetscInt        k, kl, ku, np, start[4], ranges[2] = {0, n};
      PC              pc;
      PCSpikeInfo     info;

      PetscCall(
        PetscSNPrintf(where, sizeof(where), "drop-off %g, %" PetscInt_FMT " partitions", (double)dropoffs[d], local));
      for (PetscInt j = 0; j < n; j++) {
        for (PetscInt i = 0; i < n; i++)
          if (a[i + j * n] != (PetscScalar)0.0) weight[PetscAbsInt(i - j)] += PetscAbsScalar(a[i + j * n]);
      }
      for (k = 0; k <= 12; k++) sum += weight[k];
      for (k = 12, outside = 0.0; k > 0 && outside + weight[k] <= dropoffs[d] * sum; k--) outside += weight[k];
      kl = PetscMin(12, k);
      ku = PetscMin(7, k);
      PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCSetType(pc, PCSPIKE));
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
      PetscCall(PCSpikeSetDropoff(pc, dropoffs[d]));
      PetscCall(PCSpikeSetWindowTolerance(pc, 0.0));
      PetscCall(PCSpikeSetLocalPartitions(pc, local));
      PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.kl == kl && info.ku == ku),
                               "%s: band %" PetscInt_FMT ",%" PetscInt_FMT " instead of %" PetscInt_FMT
                               ",%" PetscInt_FMT,
                               where, info.kl, info.ku, kl, ku));
      PetscCall(SpikeTestCheck((PetscBool)(info.natural_kl == 12 && info.natural_ku == 7),
                               "%s: band %" PetscInt_FMT ",%" PetscInt_FMT " of the matrix", where, info.natural_kl,
                               info.natural_ku));
      PetscCall(SpikeTestSmall(PetscAbsReal(info.dropped - outside / sum), tol, "error of the dropped share", where));
      PetscCall(SpikeTestSmall(info.dropped, dropoffs[d], "dropped share", where));
      SpikeTestPartitions(1, ranges, local, &np, start);
      PetscCall(SpikeTestReference(n, a, kl, ku, np, start, PETSC_TRUE, ref));
      PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
      PetscCall(SpikeTestCompare(n, np, start, m, ref, PETSC_FALSE, tol, tol, where));
      PetscCall(PCDestroy(&pc));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree3(a, m, ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shuffled band: the operator in the ordering that PETSc gives A + A^T, back in the order of the matrix */
static PetscErrorCode TestOrdering(void)
{
  const char     *orderings[] = {"auto", MATORDERINGRCM, MATORDERINGNATURAL, MATORDERING1WD};
  const PetscReal tol         = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10;
  const PetscInt  n           = 97;
  SpikeTestBand   band        = {n, 3, 2, 1.3, SPIKE_TEST_RANDOM, 11};
  PetscScalar    *a, *pa, *m, *ref;
  Mat             A, G;
  char            where[64];

  PetscFunctionBegin;
  PetscCall(PetscCalloc4(n * n, &a, n * n, &pa, n * n, &m, n * n, &ref));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) a[i + j * n] = SpikeTestBandEntry(&band, (i * 35) % n, (j * 35) % n);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_SELF, n, a, n, &A));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++)
      pa[i + j * n] = a[i + j * n] != (PetscScalar)0.0 || a[j + i * n] != (PetscScalar)0.0 ? 1.0 : 0.0;
  PetscCall(SpikeTestDenseMat(PETSC_COMM_SELF, n, pa, n, &G));
  for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(orderings); o++) {
    for (PetscInt local = 1; local <= 3; local++) {
      PC              pc;
      PCSpikeInfo     info;
      IS              rows, cols;
      const PetscInt *perm;
      PetscInt        np, start[4], ranges[2] = {0, n}, kl = 0, ku = 0;

      if (o >= 2 && local > 1) continue; /* bands as wide as the matrix */
      PetscCall(PetscSNPrintf(where, sizeof(where), "%s ordering, %" PetscInt_FMT " partitions", orderings[o], local));
      PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCSetType(pc, PCSPIKE));
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
      PetscCall(PCSpikeSetLocalPartitions(pc, local));
      PetscCall(PCFactorSetMatOrderingType(pc, orderings[o]));
      PetscCall(PCSpikeSetWindowTolerance(pc, 0.0));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(MatGetOrdering(G, o == 0 ? MATORDERINGRCM : orderings[o], &rows, &cols));
      PetscCall(ISGetIndices(rows, &perm));
      for (PetscInt j = 0; j < n; j++) {
        for (PetscInt i = 0; i < n; i++) {
          pa[i + j * n] = a[perm[i] + perm[j] * n];
          if (pa[i + j * n] != (PetscScalar)0.0) {
            kl = PetscMax(kl, i - j);
            ku = PetscMax(ku, j - i);
          }
        }
      }
      PetscCall(SpikeTestCheck((PetscBool)(info.kl == kl && info.ku == ku),
                               "%s: band %" PetscInt_FMT ",%" PetscInt_FMT " instead of %" PetscInt_FMT
                               ",%" PetscInt_FMT,
                               where, info.kl, info.ku, kl, ku));
      PetscCall(SpikeTestCheck((PetscBool)(info.reordered == (PetscBool)(o != 2) &&
                                           (o >= 2 || info.kl + info.ku <= 12) && info.dropped == 0.0),
                               "%s: not reordered to a narrow band", where));
      SpikeTestPartitions(1, ranges, local, &np, start);
      PetscCall(SpikeTestReference(n, pa, kl, ku, np, start, PETSC_TRUE, m));
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt i = 0; i < n; i++) ref[perm[i] + perm[j] * n] = m[i + j * n];
      PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
      PetscCall(SpikeTestCompare(n, 0, NULL, m, ref, PETSC_FALSE, tol, tol, where));
      PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m));
      PetscCall(SpikeTestCompare(n, 0, NULL, m, ref, PETSC_TRUE, tol, tol, where));
      PetscCall(SpikeTestAdjoint(pc, tol, where));
      PetscCall(ISRestoreIndices(rows, &perm));
      PetscCall(ISDestroy(&rows));
      PetscCall(ISDestroy(&cols));
      PetscCall(PCDestroy(&pc));
    }
  }
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree4(a, pa, m, ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The estimate of what truncation neglects, against whole spikes: the far ends of V and W relative to their tips, in a
  matrix whose rows are much alike
*/
static PetscErrorCode TestDecay(void)
{
  const PetscReal dominances[] = {1.5, 1.02, 1.002};

  PetscFunctionBegin;
  for (size_t d = 0; d < PETSC_STATIC_ARRAY_LENGTH(dominances); d++) {
    for (PetscInt K = 1; K <= 3; K += 2) {
      SpikeTestCase  c;
      Mat            A;
      PC             pc;
      PCSpikeInfo    info;
      PetscScalar   *a, *dinv, *spike;
      const PetscInt n = 240, third = n / 3;
      PetscReal      neglected = 0.0;
      char           where[64];

      PetscCall(
        PetscSNPrintf(where, sizeof(where), "decay at dominance %g, K = %" PetscInt_FMT, (double)dominances[d], K));
      SpikeTestCaseInit(&c, n, K, K, dominances[d], SPIKE_TEST_SLOW);
      c.local = 3;
      PetscCall(PetscCalloc3(n * n, &a, third * third, &dinv, third * K, &spike));
      PetscCall(SpikeTestBandDense(&c.band, a));
      for (PetscInt p = 0; p < 3; p++) {
        PetscCall(SpikeTestInvert(third, a + p * third * (n + 1), n, dinv, third));
        for (PetscInt side = 0; side < 2; side++) { /* W of this partition, then its V */
          const PetscInt r0 = side ? third - K : 0, c0 = side ? (p + 1) * third : p * third - K;
          PetscReal      tip = 0.0, far = 0.0;

          if ((side && p == 2) || (!side && p == 0)) continue;
          PetscCall(PetscArrayzero(spike, third * K));
          SpikeTestMultiplyAdd(third, K, K, 1.0, dinv + r0 * third, third, a + p * third + r0 + c0 * n, n, spike,
                               third);
          for (PetscInt j = 0; j < K; j++) {
            for (PetscInt i = 0; i < K; i++) {
              tip = PetscMax(tip, PetscAbsScalar(spike[r0 + i + j * third]));
              far = PetscMax(far, PetscAbsScalar(spike[third - K - r0 + i + j * third]));
            }
          }
          neglected = PetscMax(neglected, far / tip);
        }
      }
      PetscCall(SpikeTestCaseCreate(PETSC_COMM_SELF, &c, n, &A, &pc, where));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestSmall(PetscAbsReal(PetscLogReal(info.decay / neglected)),
                               0.25 * PetscAbsReal(PetscLogReal(neglected)), "error of the logarithm of the estimate",
                               where));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
      PetscCall(PetscFree3(a, dinv, spike));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestSizes());
  PetscCall(TestWide());
  PetscCall(TestDrift());
  PetscCall(TestWindow());
  PetscCall(TestPrecision());
  PetscCall(TestBandwidth());
  PetscCall(TestDropoff());
  PetscCall(TestOrdering());
  PetscCall(TestDecay());
  PetscCall(SpikeTestEnd("spike_operator"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_operator_1.out
      test:
         suffix: 1
      test:
         suffix: base
         args: -spike_host_isa base
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
