/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE by Cholesky: hermitian positive definite bands against dense references and LU.\n\n";

#include <petsc/private/pcimpl.h>
#include "choleskycase.h"
#include "viewtext.h"

/* Rows of this rank: balanced, or with a gap none on the second of three ranks or more */
static PetscErrorCode LocalRows(PetscInt n, PetscBool gap, PetscInt *nlocal)
{
  PetscMPIInt size, rank;
  PetscInt    owners, me;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  gap     = (PetscBool)(gap && size > 2);
  owners  = gap ? size - 1 : size;
  me      = gap && rank > 1 ? rank - 1 : rank;
  *nlocal = gap && rank == 1 ? 0 : n / owners + (me < n % owners ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperators(void)
{
  const PetscInt    shapes[][2] = {{0, 0},    {1, 0},    {1, 1},    {2, 1},    {7, 0},    {40, 1},   {61, 2},
                                   {64, 4},   {97, 7},   {90, 8},   {90, 9},   {131, 11}, {150, 16}, {151, 17},
                                   {200, 31}, {210, 33}, {260, 48}, {300, 50}, {331, 65}, {10, 9},   {12, 11}};
  const PetscInt    parts[]     = {1, 2, 3, 7};
  const PCSpikeType types[]     = {PC_SPIKE_BLOCK, PC_SPIKE_TRUNCATED, PC_SPIKE_FULL, PC_SPIKE_AUTO};
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    for (PetscInt kind = 0; kind < 3; kind++) {
      const PetscInt n = shapes[s][0], K = PetscMin(shapes[s][1], PetscMax(n - 1, 0));
      PetscInt       nlocal = 0;
      Dense          d;
      Mat            A;
      Vec            b, x, ref;

      if (size > 1 && (n / size < K || s % 2)) continue; /* messages between many processes take time */
      PetscCall(LocalRows(n, (PetscBool)(n % 2 && n / size > 2 * K), &nlocal));
      PetscCall(DenseCreate(n, K, kind, (PetscInt)s, &d));
      PetscCall(DenseMat(&d, nlocal, &A));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(VecDuplicate(b, &ref));
      PetscCall(SpikeTestSetRandom(b, 3));
      for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(parts); p++) {
        for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
          PCSpikeInfo info, luinfo;
          PetscReal   distance;
          char        where[128];
          PC          pc, lu;

          if (types[t] == PC_SPIKE_TRUNCATED && kind == 1) continue; /* what it neglects is not small */
          if (parts[p] > 1 && parts[p] * size * PetscMax(K, 1) > n) continue;
          if (size > 1 && p % 2) continue;
          PetscCall(PetscSNPrintf(where, sizeof(where),
                                  "n %" PetscInt_FMT ", K %" PetscInt_FMT ", kind %" PetscInt_FMT ", %" PetscInt_FMT
                                  " partitions, %s",
                                  n, K, kind, parts[p], PCSpikeTypes[types[t]]));
          PetscCall(Create(A, PC_SPIKE_FACTOR_CHOLESKY, types[t], parts[p], &pc));
          PetscCall(PCSetUp(pc));
          PetscCall(PCSpikeGetInfo(pc, &info));
          PetscCall(SpikeTestCheck((PetscBool)(info.factor_type == PC_SPIKE_FACTOR_CHOLESKY && info.kl == info.ku &&
                                               !info.boosted && pc->failedreason == PC_NOERROR),
                                   "%s: not by Cholesky", where));
          PetscCall(PCApply(pc, b, x));
          if (types[t] == PC_SPIKE_FULL || types[t] == PC_SPIKE_AUTO || parts[p] * size == 1) {
            PetscCall(DenseSolve(&d, b, ref));
            PetscCall(GetDistance(x, ref, &distance));
            PetscCall(
              SpikeTestSmall(distance,
                             types[t] == PC_SPIKE_AUTO && info.type == PC_SPIKE_TRUNCATED ? 1e-3 : 1e7 * MACHEPS,
                             "the distance from the inverse", where));
          }
          PetscCall(Create(A, PC_SPIKE_FACTOR_LU, info.type, parts[p], &lu));
          PetscCall(PCSpikeSetWindowTolerance(lu, 0.0));
          PetscCall(PCApply(lu, b, ref));
          PetscCall(PCSpikeGetInfo(lu, &luinfo));
          PetscCall(GetDistance(x, ref, &distance));
          PetscCall(SpikeTestSmall(distance, 1e7 * MACHEPS, "the distance from LU", where));
          PetscCall(SpikeTestCheck((PetscBool)(strcmp(info.backend, "host") || K < 2 || n < 100 ||
                                               info.bytes < 0.65 * luinfo.bytes),
                                   "%s: %g bytes, by LU %g", where, (double)info.bytes, (double)luinfo.bytes));
          PetscCall(PCDestroy(&lu));
          PetscCall(CheckOperator(pc, A, where));
          PetscCall(PCDestroy(&pc));
        }
      }
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&ref));
      PetscCall(MatDestroy(&A));
      PetscCall(PetscFree(d.a));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of low precision: M is near the inverse, and hermitian to the rounding of the vectors */
static PetscErrorCode TestPrecisions(void)
{
  const PetscReal eps[]       = {2.3e-16, 6e-8, 4e-3, 5e-4};
  const PetscInt  shapes[][2] = {{60, 0}, {80, 1}, {120, 3}, {150, 8}, {170, 9}, {300, 21}};

  PetscFunctionBegin;
  for (PetscInt p = PETSC_SPIKE_PRECISION_DOUBLE; p <= PETSC_SPIKE_PRECISION_FP16; p++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      for (PetscInt local = 1; local <= 2; local++) {
        const PetscReal tol = 300 * PetscMax(eps[p], MACHEPS);
        PetscReal       distance;
        char            where[64];
        Dense           d;
        Mat             A;
        Vec             b, x, ref;
        PC              pc;

        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, K %" PetscInt_FMT ", %" PetscInt_FMT " partitions",
                                PetscSpikePrecisions[p], shapes[s][1], local));
        PetscCall(DenseCreate(shapes[s][0], shapes[s][1], 2, 5, &d));
        for (PetscInt k = 0; k < d.n * d.n; k++) d.a[k] /= 10.0;
        PetscCall(DenseMat(&d, PETSC_DECIDE, &A));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(VecDuplicate(b, &ref));
        PetscCall(SpikeTestSetRandom(b, 3));
        PetscCall(Create(A, PC_SPIKE_FACTOR_CHOLESKY, PC_SPIKE_FULL, local, &pc));
        PetscCall(PCSpikeSetPrecision(pc, (PetscSpikePrecision)p));
        PetscCall(PCApply(pc, b, x));
        PetscCall(DenseSolve(&d, b, ref));
        PetscCall(GetDistance(x, ref, &distance));
        PetscCall(SpikeTestSmall(distance, tol, "the distance from the inverse", where));
        PetscCall(CheckOperator(pc, A, where));
        PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
        PetscCall(CheckOperator(pc, A, where));
        PetscCall(PCDestroy(&pc));
        PetscCall(VecDestroy(&b));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&ref));
        PetscCall(MatDestroy(&A));
        PetscCall(PetscFree(d.a));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFailed(PC pc, PCFailedReason expected, PetscInt row, const char text[], const char where[])
{
  PCFailedReason reason;
  PCSpikeInfo    info;
  char           view[4096], name[64];

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == expected), "%s: reason %s", where, PCFailedReasons[reason]));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.zeropivot_row == row), "%s: row %" PetscInt_FMT ", not %" PetscInt_FMT,
                           where, info.zeropivot_row, row));
  if (row >= 0)
    PetscCall(
      SpikeTestCheck((PetscBool)(info.zeropivot_value < 0.0), "%s: pivot %g", where, (double)info.zeropivot_value));
  PetscCall(ViewText(pc, sizeof(view), view));
  PetscCall(PetscSNPrintf(name, sizeof(name), "row %" PetscInt_FMT " ", row));
  PetscCall(SpikeTestCheck((PetscBool)(strstr(view, text) && (row < 0 || strstr(view, name))), "%s: the view is\n%s",
                           where, view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A negative entry of the diagonal fails with its row; good values work again, with the factors of before */
static PetscErrorCode TestFailures(void)
{
  const PetscInt bands[] = {0, 1, 3, 8, 12, 40};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    const PetscInt n = PetscMax(60, bands[k] * 2 * size + 20), rows[] = {0, 1, n / 2, n - 2, n - 1};
    Dense          d;
    Mat            A;
    Vec            b, x, before;
    PC             pc;
    PetscReal      distance;

    PetscCall(DenseCreate(n, bands[k], 0, 9, &d));
    PetscCall(DenseMat(&d, PETSC_DECIDE, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &before));
    PetscCall(SpikeTestSetRandom(b, 3));
    PetscCall(Create(A, PC_SPIKE_FACTOR_CHOLESKY, PC_SPIKE_FULL, 2, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, before));
    for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(rows); r++) {
      const PetscScalar good = d.a[rows[r] * (n + 1)];
      char              where[64];

      PetscCall(PetscSNPrintf(where, sizeof(where), "K %" PetscInt_FMT ", row %" PetscInt_FMT, bands[k], rows[r]));
      d.a[rows[r] * (n + 1)] = -5.0;
      PetscCall(DenseSet(&d, A));
      PetscCall(CheckFailed(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, rows[r], "Not positive definite", where));
      PetscCall(PCApply(pc, b, x)); /* does no harm */
      PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
      PetscCall(CheckFailed(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, rows[r], "Not positive definite", where));
      d.a[rows[r] * (n + 1)] = good;
      PetscCall(DenseSet(&d, A));
      PetscCall(PCSetUp(pc));
      PetscCall(SpikeTestCheck((PetscBool)(pc->failedreason == PC_NOERROR), "%s: fails with good values", where));
      PetscCall(PCApply(pc, b, x));
      PetscCall(GetDistance(x, before, &distance));
      PetscCall(SpikeTestSmall(distance, 0.0, "after a failure", where));
    }
    /* not hermitian */
    if (bands[k]) {
      d.a[0 + n] += PetscDefined(USE_REAL_SINGLE) ? 10.0 * n : 0.1; /* seen beside the rounding of all others */
      PetscCall(DenseSet(&d, A));
      PetscCall(CheckFailed(pc, PC_FACTOR_OTHER, -1, "not hermitian", "not hermitian"));
      PetscCall(PCApply(pc, b, x));
      d.a[0 + n] = PetscConj(d.a[1]);
      PetscCall(DenseSet(&d, A));
      PetscCall(PCSetUp(pc));
      PetscCall(PCApply(pc, b, x));
      PetscCall(GetDistance(x, before, &distance));
      PetscCall(SpikeTestSmall(distance, 0.0, "hermitian again", "not hermitian"));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&before));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(d.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckTaken(PC pc, PCSpikeFactorType expected, const char where[])
{
  PCSpikeInfo info;
  char        view[4096];

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.factor_type == expected && pc->failedreason == PC_NOERROR), "%s: taken %s",
                           where, PCSpikeFactorTypes[info.factor_type]));
  PetscCall(ViewText(pc, sizeof(view), view));
  PetscCall(SpikeTestCheck((PetscBool)((strstr(view, "factorization cholesky: ") != NULL) ==
                                       (expected == PC_SPIKE_FACTOR_CHOLESKY)),
                           "%s: the view is\n%s", where, view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By what the matrix is known to be, which may change between setups; options that exclude each other */
static PetscErrorCode TestChoice(void)
{
  const char *const bad[] = {"-pc_spike_matching_type always", "-pc_spike_pivoting", "-pc_spike_tridiagonal_type cr",
                             "-pc_spike_bandwidth 2,1", "-pc_spike_shift_type nonzero"};
  PCSpikeFactorType type;
  PetscErrorCode    ierr;
  Dense             d;
  Mat               A;
  PC                pc;

  PetscFunctionBegin;
  PetscCall(DenseCreate(90, 3, 0, 4, &d));
  PetscCall(DenseMat(&d, PETSC_DECIDE, &A));
  PetscCall(Create(A, PC_SPIKE_FACTOR_AUTO, PC_SPIKE_AUTO, 2, &pc));
  PetscCall(PCSpikeGetFactorType(pc, &type));
  PetscCall(SpikeTestCheck((PetscBool)(type == PC_SPIKE_FACTOR_AUTO), "not auto"));
  PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_LU, "nothing known"));
  PetscCall(DenseSet(&d, A)); /* after which PETSc forgets MAT_SPD */
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_CHOLESKY, "MAT_SPD"));
  PetscCall(CheckOperator(pc, A, "MAT_SPD"));
  PetscCall(DenseSet(&d, A));
  PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_LU, "MAT_SPD forgotten"));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_LU));
  PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_LU, "lu"));
  PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
  PetscCall(PCSpikeGetFactorType(pc, &type));
  PetscCall(SpikeTestCheck((PetscBool)(type == PC_SPIKE_FACTOR_CHOLESKY), "not cholesky"));
  PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_CHOLESKY, "cholesky"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSpikeSetFactorType(pc, (PCSpikeFactorType)7);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "type 7: error %d", (int)ierr));
  for (PetscInt k = PC_SPIKE_FACTOR_AUTO; k <= PC_SPIKE_FACTOR_CHOLESKY; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-pc_spike_factor_type", PCSpikeFactorTypes[k]));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSpikeGetFactorType(pc, &type));
    PetscCall(SpikeTestCheck((PetscBool)(type == (PCSpikeFactorType)k), "option %s", PCSpikeFactorTypes[k]));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_factor_type"));
  PetscCall(PCDestroy(&pc));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) {
    PetscCall(Create(A, PC_SPIKE_FACTOR_CHOLESKY, PC_SPIKE_AUTO, 1, &pc));
    PetscCall(PetscOptionsInsertString(NULL, bad[k]));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_matching_type"));
    PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_pivoting"));
    PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_tridiagonal_type"));
    PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_bandwidth"));
    PetscCall(PetscOptionsClearValue(NULL, "-pc_spike_shift_type"));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_INCOMP), "%s: error %d", bad[k], (int)ierr));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(d.a));
  /* half-bandwidth 1 keeps its own kernels; asked for, Cholesky solves the same, periodic systems too */
  for (PetscInt periodic = 0; periodic < 2; periodic++) {
    PetscReal residual;
    Vec       x, b;

    PetscCall(DenseCreate(60, 1, 2, 4, &d));
    PetscCall(DenseMat(&d, PETSC_DECIDE, &A));
    if (periodic) {
      PetscInt start, end;

      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatGetOwnershipRange(A, &start, &end));
      if (start == 0) PetscCall(MatSetValue(A, 0, 59, -0.5, INSERT_VALUES));
      if (end == 60) PetscCall(MatSetValue(A, 59, 0, -0.5, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(Create(A, PC_SPIKE_FACTOR_AUTO, PC_SPIKE_FULL, 2, &pc));
    PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_LU, "tridiagonal"));
    PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
    PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_CHOLESKY, "tridiagonal, cholesky"));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 3));
    PetscCall(PCApply(pc, b, x));
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(SpikeTestSmall(residual, 1e4 * MACHEPS, "the residual", periodic ? "periodic" : "tridiagonal"));
    PetscCall(CheckOperator(pc, A, periodic ? "periodic" : "tridiagonal"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(d.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With complex numbers MAT_SPD makes a MATSBAIJ symmetric: its product takes what is below the diagonal without
  conjugates, until MAT_HERMITIAN is set, after it
*/
static PetscErrorCode SetDefinite(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPCG and KSPCGFUSED with truncated and full spikes; MATDIA and MATSBAIJ; a shuffled band on one rank */
static PetscErrorCode TestSolvers(void)
{
  const char *const types[] = {KSPCG, KSPCGFUSED};
  const MatType     mats[]  = {MATAIJ, MATSBAIJ, MATBAIJ};
  PetscMPIInt       size;
  Dense             d;
  Mat               A, B;
  Vec               x, b;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DenseCreate(240, 10, 2, 6, &d));
  PetscCall(DenseMat(&d, PETSC_DECIDE, &A));
  PetscCall(SetDefinite(A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  for (size_t m = 0; m <= PETSC_STATIC_ARRAY_LENGTH(mats); m++) {
    if (m == PETSC_STATIC_ARRAY_LENGTH(mats)) PetscCall(MatConvert(A, SpikeTestDiaType(), MAT_INITIAL_MATRIX, &B));
    else if (m) PetscCall(MatConvert(A, mats[m], MAT_INITIAL_MATRIX, &B));
    else {
      B = A;
      PetscCall(PetscObjectReference((PetscObject)A));
    }
    PetscCall(SetDefinite(B));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
      for (PetscInt type = PC_SPIKE_TRUNCATED; type <= PC_SPIKE_FULL; type++) {
        KSPConvergedReason reason;
        PetscReal          residual;
        PetscInt           its;
        char               where[128];
        KSP                ksp;
        PC                 pc;

        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, matrix %d, %s", types[t], (int)m, PCSpikeTypes[type]));
        PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PetscCall(KSPSetOperators(ksp, B, B));
        PetscCall(KSPSetType(ksp, types[t]));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSetType(pc, PCSPIKE));
        PetscCall(PCSpikeSetType(pc, (PCSpikeType)type));
        PetscCall(PCSpikeSetLocalPartitions(pc, 3));
        PetscCall(KSPSetTolerances(ksp, 1000 * MACHEPS, PETSC_CURRENT, PETSC_CURRENT, 30));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_CHOLESKY, where));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        PetscCall(SpikeTestResidual(A, b, x, &residual));
        PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: %s after %" PetscInt_FMT, where,
                                 KSPConvergedReasons[reason], its));
        PetscCall(SpikeTestSmall(residual, 1e5 * MACHEPS, "the residual", where));
        PetscCall(KSPDestroy(&ksp));
      }
    }
    PetscCall(MatDestroy(&B));
  }
  if (size == 1) { /* rows shuffled: RCM finds the band, and a failure names the row of the matrix */
    PetscScalar *a;
    PC           pc;

    PetscCall(PetscMalloc1(d.n * d.n, &a));
    for (PetscInt j = 0; j < d.n; j++)
      for (PetscInt i = 0; i < d.n; i++) a[i * 77 % d.n + j * 77 % d.n * d.n] = d.a[i + j * d.n];
    PetscCall(SpikeTestDenseMat(PETSC_COMM_SELF, d.n, a, d.n, &B));
    PetscCall(MatSetOption(B, MAT_SPD, PETSC_TRUE));
    PetscCall(MatSetOption(B, MAT_SPD_ETERNAL, PETSC_TRUE));
    PetscCall(Create(B, PC_SPIKE_FACTOR_AUTO, PC_SPIKE_AUTO, 1, &pc));
    PetscCall(PCFactorSetMatOrderingType(pc, "auto"));
    PetscCall(CheckTaken(pc, PC_SPIKE_FACTOR_CHOLESKY, "shuffled"));
    PetscCall(CheckOperator(pc, B, "shuffled"));
    PetscCall(MatSetValue(B, 101, 101, -7.0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(CheckFailed(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, 101, "as MAT_SPD says", "shuffled"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&B));
    PetscCall(PetscFree(a));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(d.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCCHOLESKY by MATSOLVERSPIKE: Cholesky where MAT_SPD is known, LU of an indefinite matrix; PCLU is LU */
static PetscErrorCode TestFactor(void)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    const char *const where[] = {"PCCHOLESKY", "PCCHOLESKY, indefinite", "PCLU"};
    PetscReal         residual;
    PCSpikeInfo       info;
    Dense             d;
    Mat               A, F;
    Vec               x, b;
    KSP               ksp;
    PC                pc, inner;

    PetscCall(DenseCreate(120, 5, 2, 8, &d));
    if (k == 1)
      for (PetscInt i = 0; i < d.n; i += 3) d.a[i * (d.n + 1)] *= -1.0;
    PetscCall(DenseMat(&d, PETSC_DECIDE, &A));
    PetscCall(MatSetOption(A, PetscDefined(USE_COMPLEX) ? MAT_HERMITIAN : MAT_SYMMETRIC, PETSC_TRUE));
    if (k != 1) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 3));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, k == 2 ? PCLU : PCCHOLESKY));
    PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PCFactorGetMatrix(pc, &F));
    PetscCall(MatSpikeGetPC(F, &inner));
    PetscCall(PCSpikeGetInfo(inner, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.factor_type == (k ? PC_SPIKE_FACTOR_LU : PC_SPIKE_FACTOR_CHOLESKY)),
                             "%s: taken %s", where[k], PCSpikeFactorTypes[info.factor_type]));
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(SpikeTestSmall(residual, 1e4 * MACHEPS, "the residual", where[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(d.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestOperators());
  PetscCall(TestPrecisions());
  PetscCall(TestFailures());
  PetscCall(TestChoice());
  PetscCall(TestSolvers());
  PetscCall(TestFactor());
  PetscCall(SpikeTestEnd("spike_cholesky"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_cholesky_1.out
      nsize: {{1 2 3 5}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -dia_type diacuda

TEST*/
