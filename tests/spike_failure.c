/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spike_failure.c: values of the matrix that PCSPIKE cannot work with: each gives a reason, a text and a harmless apply,
  and the next values work again
*/
static char help[] = "Failures of PCSPIKE from values of the matrix: not finite, zero and tiny pivots, boosting, "
                     "singular reduced systems, overflow.\n\n";

#include "spikefailure.h"

static PetscMPIInt size;

/* Rows on the first, on a middle and on the last rank; the last one has the smallest part */
static PetscInt RowsOf(PetscInt N, PetscInt k)
{
  const PetscInt rows[] = {0, N / 2, N - 1, 3, N - 4};

  return rows[k];
}

/* Set on the variants in turn */
static PetscErrorCode TestVariant(PC pc, PetscInt v)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeSetType(pc, v % 3 == 2 ? PC_SPIKE_BLOCK : PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetLocalPartitions(pc, v % 3 ? 2 : 1));
  PetscCall(PCSpikeSetPrecision(pc, v % 2 ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Values that are not numbers
  ----------------------------------------------------------------------------------------
*/
static PetscErrorCode TestNotFinite(void)
{
  const PetscReal values[] = {(PetscReal)NAN, (PetscReal)INFINITY, -(PetscReal)INFINITY};
  const PetscInt  N        = 20 * size + 3;
  PetscInt        variant  = 0;
  char            part[64];

  PetscFunctionBegin;
  for (PetscInt v = 0; v < 3; v++) {
    for (PetscInt r = 0; r < 3; r++) {
      /* on the diagonal, beside it: a coupling in some of the variants */
      for (PetscInt off = 0; off < 2; off++, variant++) {
        const PetscInt row = RowsOf(N, r), col = off ? (row ? row - 1 : 1) : row;
        Mat            A;
        Vec            b;
        KSP            ksp;
        PC             pc;

        PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
        PetscCall(MatCreateVecs(A, &b, NULL));
        PetscCall(VecSet(b, 1.0));
        PetscCall(SolverCreate(A, "nan_", &ksp, &pc));
        PetscCall(TestVariant(pc, variant));
        PetscCall(PetscSNPrintf(part, sizeof(part),
                                "Row %" PetscInt_FMT " of the matrix has an entry that is not a number", row));
        for (PetscInt pass = 0; pass < 2; pass++) { /* in the first setup, and in a refill */
          PetscCall(EntryPut(A, row, col, values[v]));
          CHECKFAILED(ksp, b, PC_FACTOR_OTHER);
          CHECKVIEW(pc, part);
          CHECKVIEW(pc, "-nan_ksp_view_mat");
          PetscCall(EntryPut(A, row, col, (PetscReal)(off ? -0.5 : 12)));
          CHECKSOLVES(ksp, A, b);
        }
        PetscCall(KSPDestroy(&ksp));
        PetscCall(VecDestroy(&b));
        PetscCall(MatDestroy(&A));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Pivots
  -------------------------------------------------------------------------------------------------------------
*/
/* Row: nothing but d on the diagonal, which is then the pivot */
static PetscErrorCode RowPut(Mat A, PetscInt row, PetscScalar d)
{
  PetscFunctionBegin;
  PetscCall(EntryPut(A, row, -1, 0.0));
  PetscCall(EntryPut(A, row, row, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestZeroPivot(void)
{
  const PetscInt N = 20 * size + 3;
  char           part[64];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < 5; r++) {
    const PetscInt row = RowsOf(N, r), next = row + 1 < N ? row + 1 : row - 1;
    Mat            A;
    Vec            b;
    KSP            ksp;
    PC             pc;

    PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
    PetscCall(MatCreateVecs(A, &b, NULL));
    PetscCall(VecSet(b, 1.0));
    PetscCall(SolverCreate(A, NULL, &ksp, &pc));
    PetscCall(TestVariant(pc, r));
    PetscCall(
      PetscSNPrintf(part, sizeof(part), "Zero pivot in row %" PetscInt_FMT ", which has no nonzero entry", row));
    for (PetscInt pass = 0; pass < 2; pass++) {
      PetscCall(RowPut(A, row, 0.0));
      CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
      CHECKVIEW(pc, part);
      CHECKVIEW(pc, "-pc_spike_shift_type auto");
      PetscCall(RowPut(A, row, 7.0));
      CHECKSOLVES(ksp, A, b);
    }
    /* the 2 x 2 block [1 2; 2 4] alone in its rows: the second pivot is 0 exactly */
    if (r > 2) {
      PetscCall(RowPut(A, row, 1.0));
      PetscCall(RowPut(A, next, 4.0));
      PetscCall(EntryPut(A, row, next, 2.0));
      PetscCall(EntryPut(A, next, row, 2.0));
      CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
      PetscCall(
        PetscSNPrintf(part, sizeof(part), "Zero pivot in row %" PetscInt_FMT ": magnitude 0", PetscMax(row, next)));
      CHECKVIEW(pc, part);
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  if (size == 1) { /* rows are numbered as in the matrix, whatever the ordering */
    Mat A;
    Vec b;
    KSP ksp;
    PC  pc;

    PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
    PetscCall(MatCreateVecs(A, &b, NULL));
    PetscCall(VecSet(b, 1.0));
    PetscCall(SolverCreate(A, "a_", &ksp, &pc));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
    PetscCall(RowPut(A, 5, 0.0));
    CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
    CHECKVIEW(pc, "Zero pivot in row 5, which has no nonzero entry");
    CHECKVIEW(pc, "-a_pc_spike_shift_type auto");
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The norm decides, not the units: pivots just below and just above the tolerance, in a matrix times powers of two from
  1e-200 to 1e200
*/
static PetscErrorCode TestTinyPivot(void)
{
  const PetscInt N = 20 * size + 3, row = N - 2;
  const int exponents[] = {0, PetscDefined(USE_REAL_SINGLE) ? -80 : -664, PetscDefined(USE_REAL_SINGLE) ? 80 : 664};
  Vec       b, x, y;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < 3; s++) {
    const PetscReal scale = (PetscReal)ldexp(1.0, exponents[s]);

    /* |pivot| / norm: under and over the default, under and over a tolerance of our own */
    for (PetscInt t = 0; t < 4; t++) {
      const PetscReal eps        = 100 * PETSC_MACHINE_EPSILON,
                      fraction[] = {eps / 2, eps * 2, (PetscReal)0.0625 / 2, (PetscReal)0.0625 * 2};
      PetscReal      norm, error, ynorm;
      PetscInt       worst;
      PCFailedReason failed;
      Mat            A;
      PC             pc;

      PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
      PetscCall(MatNorm(A, NORM_INFINITY, &norm));
      PetscCall(RowPut(A, row, (t % 2 ? -1 : 1) * fraction[t] * norm));
      PetscCall(MatCreateVecs(A, &b, &x));
      PetscCall(VecDuplicate(x, &y));
      PetscCall(VecSet(b, 1.0));
      for (PetscInt scaled = 0; scaled < 2; scaled++) {
        if (scaled) PetscCall(MatScale(A, scale));
        PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
        PetscCall(PCSetType(pc, PCSPIKE));
        PetscCall(PCSetOperators(pc, A, A));
        PetscCall(PCSpikeSetLocalPartitions(pc, 2));
        PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
        PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
        if (t > 1) PetscCall(PCFactorSetZeroPivot(pc, 0.0625));
        PetscCall(PCSetUp(pc));
        PetscCall(PCGetFailedReason(pc, &failed));
        worst = (PetscInt)failed;
        PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &worst, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
        CHECK(worst == (PetscInt)(t % 2 ? PC_NOERROR : PC_FACTOR_NUMERIC_ZEROPIVOT),
              "pivot of %g of the norm, matrix times %g: %s", (double)fraction[t], (double)(scaled ? scale : 1),
              PCFailedReasons[worst]);
        if (t % 2) PetscCall(PCApply(pc, b, scaled ? y : x));
        PetscCall(PCDestroy(&pc));
      }
      if (t % 2) { /* and the result is the same in other units */
        PetscCall(VecScale(y, scale));
        PetscCall(VecNorm(y, NORM_INFINITY, &ynorm));
        PetscCall(VecAXPY(y, -1.0, x));
        PetscCall(VecNorm(y, NORM_INFINITY, &error));
        CHECK(error <= 100 * PETSC_MACHINE_EPSILON * ynorm && ynorm > 0, "matrix times %g: result differs by %g of %g",
              (double)scale, (double)error, (double)ynorm);
      }
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Boosting
  -----------------------------------------------------------------------------------------------------------
*/
/*
  Rows that are zero, or have a tiny negative pivot alone: the boosted pivot is seen in the result; counted over all
  ranks
*/
static PetscErrorCode TestBoost(void)
{
  const PetscInt  N = 20 * size + 3, rows[] = {1, 9, N / 2, N - 1};
  const PetscReal amount = 0.125;
  Mat             A;
  Vec             b, x;
  KSP             ksp;
  PC              pc;
  PCSpikeInfo     info;
  PetscReal       norm, zeropivot, got;
  char            part[64];

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
  PetscCall(MatCreateVecs(A, &b, &x));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, NULL, &ksp, &pc));
  for (PetscInt k = 0; k <= 4; k++) {
    if (k) PetscCall(RowPut(A, rows[k - 1], k % 2 ? 0.0 : (PetscReal)-1e-20));
    PetscCall(MatNorm(A, NORM_INFINITY, &norm));
    for (PetscInt how = 0; how < 3; how++) { /* a given amount with both types of shift, and the default */
      PetscCall(TestVariant(pc, 0));
      PetscCall(PCFactorSetShiftType(pc, how == 1 ? MAT_SHIFT_INBLOCKS : MAT_SHIFT_NONZERO));
      PetscCall(PCFactorSetShiftAmount(pc, how == 2 ? (PetscReal)PETSC_DECIDE : amount));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      CHECK(info.boosted == k, "%d pivots boosted, expected %d", (int)info.boosted, (int)k);
      PetscCall(PetscSNPrintf(part, sizeof(part), "boosted pivots %" PetscInt_FMT "\n", k));
      CHECKVIEW(pc, part);
      PetscCall(PCApply(pc, b, x));
      for (PetscInt t = 0; t < k; t++) {
        const PetscReal a = how == 2 ? (PetscReal)1e-3 : amount, expected = (t % 2 ? -1 : 1) / (a * norm);
        PetscInt        lo, hi;
        PetscScalar     v;

        PetscCall(VecGetOwnershipRange(x, &lo, &hi));
        if (rows[t] < lo || rows[t] >= hi) continue;
        PetscCall(VecGetValues(x, 1, &rows[t], &v));
        CHECK(PetscAbsScalar(v - expected) <=
                (how == 2 ? (PetscReal)0.01 : 100 * PETSC_MACHINE_EPSILON) * PetscAbsReal(expected),
              "row %d: %g instead of %g", (int)rows[t], (double)PetscRealPart(v), (double)expected);
      }
    }
    /* without it, and with a tolerance that no pivot passes, the same matrix fails */
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    if (k) CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
    else {
      PetscCall(PCFactorSetZeroPivot(pc, 10.0));
      PetscCall(PCFactorGetZeroPivot(pc, &zeropivot));
      CHECK(zeropivot == 10.0, "zero pivot tolerance %g", (double)zeropivot);
      CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
      PetscCall(PCFactorSetZeroPivot(pc, 100 * PETSC_MACHINE_EPSILON));
      CHECKSOLVES(ksp, A, b);
    }
  }
  PetscCall(PCFactorGetShiftAmount(pc, &got));
  CHECK(got == (PetscReal)PETSC_DECIDE, "shift amount %g", (double)got);
  /* tolerance 0: what is not 0 is a pivot */
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
  PetscCall(RowPut(A, N - 1, (PetscReal)1e-25));
  PetscCall(SolverCreate(A, NULL, &ksp, &pc));
  CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
  PetscCall(PCFactorSetZeroPivot(pc, 0.0));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.boosted == 0, "%d pivots boosted", (int)info.boosted);
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(RowPut(A, N - 1, 0.0));
  CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Reduced systems
  ----------------------------------------------------------------------------------------------------
*/
/*
  Rows sum to zero: singular, though every block on the diagonal is not; with two partitions the tips of the spikes are
  exact, the reduced system is 0 exactly (equal weights) or to rounding
*/
static PetscErrorCode TestReduced(void)
{
  PetscFunctionBegin;
  if (size > 2) PetscFunctionReturn(PETSC_SUCCESS); /* more than one interface: truncation is not exact */
  for (PetscInt N = 2; N <= 32; N += 10) {
    for (PetscInt equal = 0; equal < 2; equal++) {
      PetscInt rstart, rend;
      Mat      A;
      Vec      b;
      KSP      ksp;
      PC       pc;
      char     part[32];

      PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, N, N, 3, NULL, 1, NULL, &A));
      PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
      for (PetscInt i = rstart; i < rend; i++) {
        const PetscReal l = i == 0 ? 0
                          : equal  ? 1
                                   : 1 / (i + (PetscReal)0.3),
                        u = i == N - 1 ? 0
                          : equal      ? 1
                                       : 1 / (i + (PetscReal)1.3);

        PetscCall(MatSetValue(A, i, i, l + u, INSERT_VALUES));
        if (i) PetscCall(MatSetValue(A, i, i - 1, -l, INSERT_VALUES));
        if (i < N - 1) PetscCall(MatSetValue(A, i, i + 1, -u, INSERT_VALUES));
      }
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatCreateVecs(A, &b, NULL));
      PetscCall(VecSet(b, 1.0));
      PetscCall(SolverCreate(A, "r_", &ksp, &pc));
      PetscCall(PCSpikeSetLocalPartitions(pc, size == 1 ? 2 : 1));
      CHECKFAILED(ksp, b, PC_FACTOR_NUMERIC_ZEROPIVOT);
      PetscCall(PetscSNPrintf(part, sizeof(part), "row %" PetscInt_FMT, N / 2));
      CHECKVIEW(pc, "reduced system");
      CHECKVIEW(pc, part);
      CHECKVIEW(pc, "-r_pc_spike_type block");
      PetscCall(EntryPut(A, N - 1, N - 1, 3.0));
      CHECKSOLVES(ksp, A, b);
      PetscCall(KSPDestroy(&ksp));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Low precision
  ------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestOverflow(void)
{
  static const char *const names[] = {"double", "single", "bf16", "fp16"}, *const remedies[] = {"", "double", "double",
                                                                                                "bf16 or single"};
  /* entries, in double and single precision */
  const PetscReal large[]  = {0, (PetscReal)1e60, (PetscReal)1e60, (PetscReal)1e5};
  const PetscReal couple[] = {0, (PetscReal)1e30, (PetscReal)1e30, (PetscReal)1e3},
                  first[]  = {0, (PetscReal)1e20, (PetscReal)1e20, (PetscReal)0.1},
                  small[]  = {0, (PetscReal)1e-20, (PetscReal)1e-20, (PetscReal)1e-3};
  const PetscInt N         = 20 * size + 3;
  Mat            A;
  Vec            b;
  KSP            ksp;
  PC             pc;
  char           part[64];

  PetscFunctionBegin;
  /* what is too large for bf16 is infinite in single precision, or nearly so */
  for (PetscInt p = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_FP16 : PETSC_SPIKE_PRECISION_SINGLE;
       p <= PETSC_SPIKE_PRECISION_FP16; p++) {
    for (PetscInt r = 0; r < 3; r++) {
      const PetscInt row = RowsOf(N, r);

      PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
      PetscCall(MatCreateVecs(A, &b, NULL));
      PetscCall(VecSet(b, 1.0));
      PetscCall(SolverCreate(A, "s_", &ksp, &pc));
      PetscCall(EntryPut(A, row, row, large[p]));
      PetscCall(PCSpikeSetPrecision(pc, (PetscSpikePrecision)p));
      CHECKFAILED(ksp, b, PC_FACTOR_OTHER);
      PetscCall(PetscSNPrintf(part, sizeof(part),
                              "Row %" PetscInt_FMT " of the matrix has an entry too large for factors in %s", row,
                              names[p]));
      CHECKVIEW(pc, part);
      CHECKVIEW(pc, "scale the matrix");
      PetscCall(PetscSNPrintf(part, sizeof(part), "-s_pc_spike_precision %s", remedies[p]));
      CHECKVIEW(pc, part);
      PetscCall(PCSpikeSetPrecision(pc, p == PETSC_SPIKE_PRECISION_FP16 ? PETSC_SPIKE_PRECISION_BF16
                                                                        : PETSC_SPIKE_PRECISION_DOUBLE));
      PetscCall(PCFactorSetZeroPivot(pc, 0.0)); /* the norm is that of the large entry now */
      CHECKSOLVES(ksp, A, b);
      PetscCall(KSPDestroy(&ksp));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
    }
    /*
      entries that fit, whose factors do not: [1e20 1e30; 1e30 1] has the second pivot -1e40, [1e-20 0; 1e20 1] the
      multiplier 1e40 and the pivot 1
    */
    for (PetscInt lower = 0; lower < 2; lower++) {
      PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
      PetscCall(MatCreateVecs(A, &b, NULL));
      PetscCall(VecSet(b, 1.0));
      PetscCall(SolverCreate(A, "s_", &ksp, &pc));
      PetscCall(RowPut(A, N - 4, lower ? small[p] : first[p]));
      PetscCall(RowPut(A, N - 3, 1.0));
      if (!lower) PetscCall(EntryPut(A, N - 4, N - 3, couple[p]));
      PetscCall(EntryPut(A, N - 3, N - 4, lower ? 1 / small[p] : couple[p]));
      PetscCall(PCSpikeSetPrecision(pc, (PetscSpikePrecision)p));
      PetscCall(PCFactorSetZeroPivot(pc, 0.0));
      CHECKFAILED(ksp, b, PC_FACTOR_OTHER);
      PetscCall(PetscSNPrintf(part, sizeof(part), "Overflow in the factors at row %" PetscInt_FMT, N - 3));
      CHECKVIEW(pc, part);
      CHECKVIEW(pc, "scale the matrix");
      CHECKVIEW(pc, "double precision");
      PetscCall(KSPDestroy(&ksp));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Errors instead of reasons
  ------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestErrors(void)
{
  const PetscInt N = 20 * size + 3, row = N - 5;
  Mat            A;
  Vec            b;
  KSP            ksp;
  PC             pc;
  char           part[64];

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, N, 2, 3, &A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, "e_", &ksp, &pc));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(EntryPut(A, row, row, (PetscReal)NAN));
  PetscCall(PetscSNPrintf(part, sizeof(part), "Row %" PetscInt_FMT " of the matrix", row));
  EXPECT(PETSC_ERR_FP, part, KSPSetUp(ksp));
  EXPECT(PETSC_ERR_FP, part, KSPSetUp(ksp)); /* no less the second time */
  PetscCall(EntryPut(A, row, row, 12.0));
  CHECKSOLVES(ksp, A, b);
  PetscCall(EntryPut(A, row, row, (PetscReal)INFINITY));
  PetscCall(KSPSetOperators(ksp, A, A)); /* before PETSc 3.26 KSPSetUp() looks for new values after this only */
  EXPECT(PETSC_ERR_FP, part, KSPSetUp(ksp));
  PetscCall(EntryPut(A, row, row, 12.0));
  CHECKSOLVES(ksp, A, b);
  if (size == 1) { /* a zero pivot is an error of the rank that has it */
    PetscCall(RowPut(A, row, 0.0));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(PetscSNPrintf(part, sizeof(part), "Zero pivot in row %" PetscInt_FMT, row));
    EXPECT(PETSC_ERR_MAT_LU_ZRPVT, part, KSPSetUp(ksp));
    PetscCall(RowPut(A, row, 3.0));
    CHECKSOLVES(ksp, A, b);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A half-bandwidth that the kernels on a device do not have is the host's, and says so; with a narrower band the
  device's
*/
static PetscErrorCode TestWide(void)
{
  Mat         A;
  Vec         b;
  KSP         ksp;
  PC          pc;
  PCSpikeInfo info;
  PetscBool   device, same;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, 530 * size, 513, 1, &A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSet(b, 1.0));
  PetscCall(SolverCreate(A, "w_", &ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscStrcmp(info.backend, "host", &same));
  CHECK(same, "a band of 513 is not the host's");
  PetscCall(MatScale(A, -3.0));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  CHECK(info.refills == 1, "new values of a wide band are not a refill");
  PetscCall(PCSpikeSetBandwidth(pc, 100, 1));
  CHECKSOLVES(ksp, A, b);
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscStrcmp(info.backend, device ? "cuda" : "host", &same));
  CHECK(same, "a band of 100 is on the other backend");
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestNotFinite());
  PetscCall(Section("not finite"));
  PetscCall(TestZeroPivot());
  PetscCall(Section("zero pivots"));
  PetscCall(TestTinyPivot());
  PetscCall(Section("tiny pivots"));
  PetscCall(TestBoost());
  PetscCall(Section("boosted pivots"));
  PetscCall(TestReduced());
  if (size < 3) PetscCall(Section("reduced systems"));
  PetscCall(TestOverflow());
  PetscCall(Section("overflow"));
  PetscCall(TestErrors());
  PetscCall(Section("errors"));
  PetscCall(TestWide());
  PetscCall(Section("wide bands"));
  PetscCall(PetscFinalize());
  return failed;
}

/*TEST

   testset:
      timeoutfactor: 3
      test:
         suffix: 1
         nsize: {{1 2}}
      test:
         suffix: 3
         nsize: {{3 5}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         output_file: output/spike_failure_1.out
         args: -mat_type aijcusparse

TEST*/
