/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "The life of a PCSPIKE: setters, getters, options and their prefixes, views, other types and "
                     "sizes, several at once.\n\n";

#include "spiketest.h"

static PetscErrorCode Expect(PC pc, const char when[], PCSpikeType type, PetscSpikePrecision precision, PetscInt kl,
                             PetscInt ku, PetscInt partitions, PetscReal dropoff, PetscReal window, PetscReal zeropivot,
                             MatFactorShiftType shift, PetscReal amount, const char ordering[])
{
  PCSpikeType         t;
  PetscSpikePrecision p;
  PetscInt            l, u, n;
  PetscReal           d, w, z, a;
  MatFactorShiftType  s;
  MatOrderingType     o;
  PetscBool           same;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetType(pc, &t));
  PetscCall(PCSpikeGetPrecision(pc, &p));
  PetscCall(PCSpikeGetBandwidth(pc, &l, &u));
  PetscCall(PCSpikeGetLocalPartitions(pc, &n));
  PetscCall(PCSpikeGetDropoff(pc, &d));
  PetscCall(PCSpikeGetWindowTolerance(pc, &w));
  PetscCall(PCFactorGetZeroPivot(pc, &z));
  PetscCall(PCFactorGetShiftType(pc, &s));
  PetscCall(PCFactorGetShiftAmount(pc, &a));
  PetscCall(PCSpikeGetMatOrderingType(pc, &o));
  PetscCall(SpikeTestCheck((PetscBool)(t == type), "%s: type %s", when, PCSpikeTypes[t]));
  PetscCall(SpikeTestCheck((PetscBool)(p == precision), "%s: precision %s", when, PetscSpikePrecisions[p]));
  PetscCall(
    SpikeTestCheck((PetscBool)(l == kl && u == ku), "%s: bandwidth %" PetscInt_FMT ",%" PetscInt_FMT, when, l, u));
  PetscCall(SpikeTestCheck((PetscBool)(n == partitions), "%s: %" PetscInt_FMT " partitions", when, n));
  PetscCall(SpikeTestCheck((PetscBool)(d == dropoff), "%s: drop-off %g", when, (double)d));
  PetscCall(SpikeTestCheck((PetscBool)(w == window), "%s: window tolerance %g", when, (double)w));
  PetscCall(SpikeTestCheck((PetscBool)(z == zeropivot), "%s: zero pivot %g", when, (double)z));
  PetscCall(SpikeTestCheck((PetscBool)(s == shift), "%s: shift type %s", when, MatFactorShiftTypes[s]));
  PetscCall(SpikeTestCheck((PetscBool)(a == amount), "%s: shift amount %g", when, (double)a));
  PetscCall(PetscStrcmp(o, ordering, &same));
  PetscCall(SpikeTestCheck(same, "%s: ordering %s", when, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectDefaults(PC pc, const char when[])
{
  PetscFunctionBegin;
  PetscCall(Expect(pc, when, PC_SPIKE_AUTO, SPIKE_TEST_PRECISION, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 0.0,
                   (PetscReal)1e-8, 100.0 * PETSC_MACHINE_EPSILON, MAT_SHIFT_NONZERO, (PetscReal)PETSC_DECIDE, "auto"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSetters(void)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK)); /* not yet this type: ignored, as setters of PETSc are */
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(ExpectDefaults(pc, "defaults"));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
  PetscCall(PCSpikeSetBandwidth(pc, 3, 4));
  PetscCall(PCSpikeSetLocalPartitions(pc, 5));
  PetscCall(PCSpikeSetDropoff(pc, 0.25));
  PetscCall(PCSpikeSetWindowTolerance(pc, 0.375));
  PetscCall(PCFactorSetZeroPivot(pc, 0.125));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscCall(PCFactorSetShiftAmount(pc, 0.5));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(Expect(pc, "setters", PC_SPIKE_BLOCK, PETSC_SPIKE_PRECISION_SINGLE, 3, 4, 5, 0.25, 0.375, 0.125,
                   MAT_SHIFT_NONZERO, 0.5, MATORDERINGRCM));
  PetscCall(PCFactorSetZeroPivot(pc, 0.0625));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_INBLOCKS));
  PetscCall(PCFactorSetShiftAmount(pc, 0.75));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(Expect(pc, "other values", PC_SPIKE_BLOCK, PETSC_SPIKE_PRECISION_SINGLE, 3, 4, 5, 0.25, 0.375, 0.0625,
                   MAT_SHIFT_INBLOCKS, 0.75, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_AUTO));
  PetscCall(PCSpikeSetPrecision(pc, SPIKE_TEST_PRECISION));
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(PCSpikeSetLocalPartitions(pc, PETSC_DECIDE));
  PetscCall(PCSpikeSetDropoff(pc, 0.0));
  PetscCall(PCSpikeSetWindowTolerance(pc, 1e-8));
  PetscCall(PCFactorSetZeroPivot(pc, 100.0 * PETSC_MACHINE_EPSILON));
  PetscCall(PCFactorSetShiftType(pc, (MatFactorShiftType)PETSC_DECIDE));
  PetscCall(PCFactorSetShiftAmount(pc, (PetscReal)PETSC_DECIDE));
  PetscCall(PCFactorSetMatOrderingType(pc, "auto"));
  PetscCall(ExpectDefaults(pc, "set back"));

  PetscCall(PetscOptionsInsertString(NULL,
                                     "-x_pc_type spike -x_pc_spike_type block -x_pc_spike_precision single "
                                     "-x_pc_spike_bandwidth 2,7 -x_pc_spike_local_partitions 3 -x_pc_spike_dropoff 0.5 "
                                     "-x_pc_spike_window_tol 0.75 -x_pc_spike_zeropivot 0.25 "
                                     "-x_pc_spike_shift_type inblocks "
                                     "-x_pc_spike_shift_amount 0.125 -x_pc_spike_mat_ordering_type rcm"));
  PetscCall(PCSetOptionsPrefix(pc, "y_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(ExpectDefaults(pc, "options of another prefix"));
  PetscCall(PCSetOptionsPrefix(pc, "x_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(Expect(pc, "options", PC_SPIKE_BLOCK, PETSC_SPIKE_PRECISION_SINGLE, 2, 7, 3, 0.5, 0.75, 0.25,
                   MAT_SHIFT_INBLOCKS, 0.125, MATORDERINGRCM));
  PetscCall(PetscOptionsInsertString(NULL,
                                     "-x_pc_spike_type truncated -x_pc_spike_precision double -x_pc_spike_bandwidth 6 "
                                     "-x_pc_spike_shift_type nonzero -x_pc_spike_mat_ordering_type auto"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(Expect(pc, "options again", PC_SPIKE_TRUNCATED, PETSC_SPIKE_PRECISION_DOUBLE, 6, 6, 3, 0.5, 0.75, 0.25,
                   MAT_SHIFT_NONZERO, 0.125, "auto"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a method is composed with the object */
static PetscErrorCode ExpectMethod(PC pc, const char name[], PetscBool expected)
{
  PetscErrorCodeFn *f;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, name, &f));
  PetscCall(SpikeTestCheck((PetscBool)((f != NULL) == (expected == PETSC_TRUE)), "method %s is %s", name,
                           expected ? "missing" : "still there"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other types and back, other sizes, resets */
static PetscErrorCode TestLife(void)
{
  const PetscInt sizes[] = {40, 95, 12};
  const char    *names[] =
    {"PCSpikeSetType_C",       "PCSpikeGetType_C",       "PCSpikeSetBandwidth_C",       "PCSpikeGetInfo_C",
     "PCFactorSetZeroPivot_C", "PCFactorSetShiftType_C", "PCFactorSetMatOrderingType_C"};
  KSP       ksp;
  PC        pc;
  PetscReal rtol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 50));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
    SpikeTestBand band = {sizes[s], s == 1 ? 5 : 2, s == 1 ? 1 : 3, 1.1, SPIKE_TEST_RANDOM, 40};
    Mat           A, other;
    Vec           x, b;

    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 41));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(SpikeTestSolve(ksp, b, x, "size"));

    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(names); m++) PetscCall(ExpectMethod(pc, names[m], PETSC_TRUE));
    PetscCall(PCSpikeSetLocalPartitions(pc, 1));
    PetscCall(PCSetType(pc, PCJACOBI));
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(names); m++) PetscCall(ExpectMethod(pc, names[m], PETSC_FALSE));
    PetscCall(SpikeTestSolve(ksp, b, x, "another type"));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(ExpectDefaults(pc, "type set away and back"));
    PetscCall(SpikeTestSolve(ksp, b, x, "type set away and back"));

    PetscCall(PCReset(pc));
    PetscCall(PCReset(pc));
    band.seed = 42;
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &other));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK)); /* an option between reset and setup */
    PetscCall(KSPSetOperators(ksp, other, other));
    PetscCall(SpikeTestSolve(ksp, b, x, "after PCReset"));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
    PetscCall(KSPReset(ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&other));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Two at once with unlike options on unlike matrices, one of them destroyed and made again: neither knows of the other
*/
static PetscErrorCode TestTwo(void)
{
  SpikeTestBand band[2] = {{60, 4, 2, 1.05, SPIKE_TEST_RANDOM, 50}, {45, 1, 5, 1.05, SPIKE_TEST_RANDOM, 51}};
  Mat           A[2];
  PC            pc[2];
  PetscScalar  *alone[2], *now;
  PetscBool     same;

  PetscFunctionBegin;
  PetscCall(
    PetscOptionsInsertString(NULL,
                             "-two0_pc_type spike -two0_pc_spike_type block -two0_pc_spike_local_partitions 2 "
                             "-two1_pc_type spike -two1_pc_spike_local_partitions 3 -two1_pc_spike_precision single"));
  PetscCall(PetscMalloc3(60 * 60, &alone[0], 45 * 45, &alone[1], 60 * 60, &now));
  for (PetscInt pass = 0; pass < 3; pass++) {
    for (PetscInt i = 0; i < 2; i++) {
      PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band[i], PETSC_DECIDE, MATAIJ, &A[i]));
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[i]));
      PetscCall(PCSetOperators(pc[i], A[i], A[i]));
      PetscCall(PCSetOptionsPrefix(pc[i], i ? "two1_" : "two0_"));
      PetscCall(PCSetFromOptions(pc[i]));
      if (!pass) { /* one after the other */
        PetscCall(SpikeTestOperator(pc[i], PETSC_FALSE, alone[i]));
        PetscCall(PCDestroy(&pc[i]));
        PetscCall(MatDestroy(&A[i]));
      } else PetscCall(PCSetUp(pc[i]));
    }
    for (PetscInt i = 0; pass && i < 2; i++) { /* both are there, then the second alone */
      PetscCall(SpikeTestOperator(pc[i], PETSC_FALSE, now));
      PetscCall(PetscArraycmp(now, alone[i], band[i].n * band[i].n, &same));
      PetscCall(SpikeTestCheck(same, "two at once, pass %" PetscInt_FMT ": number %" PetscInt_FMT " changed", pass, i));
      if (pass == 2 || i == 1) PetscCall(PCDestroy(&pc[i]));
    }
    if (pass == 1) PetscCall(PCDestroy(&pc[0]));
    for (PetscInt i = 0; pass && i < 2; i++) PetscCall(MatDestroy(&A[i]));
  }
  PetscCall(PetscFree3(alone[0], alone[1], now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The share of sum |a_ij| that is outside of the half-bandwidths */
static PetscErrorCode CheckDropped(Mat A, PC pc)
{
  PetscReal   sum[2] = {0.0, 0.0};
  PetscInt    start, end;
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscInt           n;
    const PetscInt    *cols;
    const PetscScalar *vals;

    PetscCall(MatGetRow(A, i, &n, &cols, &vals));
    for (PetscInt k = 0; k < n; k++) {
      sum[0] += PetscAbsScalar(vals[k]);
      if (i - cols[k] > info.kl || cols[k] - i > info.ku) sum[1] += PetscAbsScalar(vals[k]);
    }
    PetscCall(MatRestoreRow(A, i, &n, &cols, &vals));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(
    SpikeTestSmall(PetscAbsReal(info.dropped - sum[1] / sum[0]), 100 * PETSC_MACHINE_EPSILON, "dropped share", "view"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCView() before and after setup, after a refill, and into a string */
static PetscErrorCode TestView(void)
{
  SpikeTestBand band = {30, 2, 1, 1.5, SPIKE_TEST_RANDOM, 60};
  Mat           A;
  PC            pc;
  PetscViewer   viewer;
  PCSpikeType   type;
  char          text[256];
  char         *found;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(CheckDropped(A, pc));
  PetscCall(MatScale(A, 2.0));
  PetscCall(PCSetUp(pc));
  PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscViewerStringOpen(PETSC_COMM_WORLD, text, sizeof(text), &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PCSpikeGetType(pc, &type));
  PetscCall(PetscStrstr(text, PCSpikeTypes[type], &found));
  PetscCall(SpikeTestCheck((PetscBool)(found != NULL), "the view into a string is \"%s\"", text));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a user of the command line sees: -ksp_view, -log_view */
static PetscErrorCode TestCommandLine(void)
{
  SpikeTestBand band = {60, 2, 1, 1.2, SPIKE_TEST_RANDOM, 61};
  Mat           A;
  KSP           ksp;
  Vec           x, b;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 62));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SpikeTestSolve(ksp, b, x, "command line"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool view = PETSC_FALSE, solve = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  if (view) PetscCall(TestView());
  else if (solve) PetscCall(TestCommandLine());
  else {
    PetscCall(TestSetters());
    PetscCall(TestLife());
    PetscCall(TestTwo());
  }
  PetscCall(SpikeTestEnd("spike_interface"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2}}

   testset:
      requires: double
      args: -view
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
              -e "s@[0-9]* bytes@N bytes@g" -e "s@neglects, about .*@neglects, about N@" \
              -e "s@|a_ij| [0-9].*e.*@|a_ij| N@" -e "s@|a_ij| 0[.][0-9].*@|a_ij| N@" -e "s@M^-1|| .*@M^-1|| N@" \
              -e "s@spikes [0-9].*@spikes N@"
      test:
         suffix: view
      test:
         suffix: view_two
         nsize: 2
         args: -pc_spike_type full -pc_spike_local_partitions 2 -pc_spike_bandwidth 1 -pc_spike_shift_type nonzero \
               -pc_spike_zeropivot 1e-10 -pc_spike_precision single

   test:
      suffix: ksp_view
      requires: double
      args: -solve -ksp_view -ksp_type bcgs -pc_type spike -pc_spike_local_partitions 2
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
              -e "s@[0-9]* bytes@N bytes@g" -e "s@neglects, about .*@neglects, about N@" \
              -e "s@|a_ij| [0-9].*e.*@|a_ij| N@" -e "s@M^-1|| .*@M^-1|| N@" -e "s@spikes [0-9].*@spikes N@"

   testset:
      args: -solve -help -ksp_type idrfused -pc_type spike
      filter: grep ksp_idrfused_flexible
      output_file: output/spike_interface_help.out
      test:
         suffix: help
      test:
         suffix: help_set
         args: -ksp_idrfused_flexible unknown

   test:
      suffix: log_view
      requires: defined(PETSC_USE_LOG)
      args: -solve -log_view -pc_type spike -pc_spike_local_partitions 2
      filter: grep -o -e "^PCSpike[A-Z][a-z]*" -e "^spike_interface.*" | LC_ALL=C sort

TEST*/
