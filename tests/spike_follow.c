/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE as a direct solver: how far truncated spikes are followed after a solve took a step.\n\n";

#include <petscts.h>
#include "spiketest.h"
#include "viewtext.h"

/* The text is in the view */
static PetscErrorCode Sees(PC pc, const char window[], const char where[])
{
  PetscMPIInt rank;
  char        text[8192] = "", *at;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscStrstr(text, window, &at));
  PetscCall(SpikeTestCheck((PetscBool)(rank || at), "%s: \"%s\" is not in the view", where, window));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve within the tolerance; *steps: of refinement, and the text of the view tells how far corrections go */
static PetscErrorCode Solve(KSP ksp, PetscBool trans, Vec b, Vec x, const char window[], PetscInt *steps,
                            const char where[])
{
  PC                 pc;
  Mat                A;
  PCSpikeInfo        info;
  PetscReal          eta = PETSC_MAX_REAL;
  KSPConvergedReason reason;
  PetscInt           before;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSetUp(pc)); /* before PETSc 3.26 KSPSetUp() looks for new values after KSPSetOperators() only */
  PetscCall(PCSpikeGetInfo(pc, &info));
  before = info.refinements;
  if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscCall(PCSpikeGetInfo(pc, &info));
  *steps = info.refinements - before;
  PetscCall(SpikeTestBackwardError(A, trans, b, x, &eta));
  PetscCall(SpikeTestSmall(eta, 1e-9, "backward error", where));
  PetscCall(Sees(pc, window, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char near[] = "corrected down to 1e-08 of their ends", far[] = "corrected down to 1e-13 of their ends";

/* KSPPREONLY with truncated spikes of 4 partitions a rank */
static PetscErrorCode SetSpike(KSP ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(*pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetLocalPartitions(*pc, 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(SetSpike(*ksp, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(KSP *ksp, Mat *A, Vec *b, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(ksp));
  PetscCall(MatDestroy(A));
  PetscCall(VecDestroy(b));
  PetscCall(VecDestroy(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Partitions of ROWS rows. Spikes of GOOD fall to 1e-8 in about 100 rows, so that windows end long before they meet,
  also those of partitions that a device sweeps together, and where a device tells by coarser steps how they fall; those
  of POOR have far ends that solves need
*/
#define ROWS 500
static const SpikeTestBand GOOD = {0, 3, 4, 1.05, SPIKE_TEST_SLOW, 21}, POOR = {0, 3, 4, 1.01, SPIKE_TEST_SLOW, 21};

/* The last rank has no rows where there are several and it is to have none */
static PetscErrorCode CreateBand(const SpikeTestBand *band, MatType type, PetscBool empty, SpikeTestBand *made, Mat *A,
                                 Vec *b, Vec *x)
{
  PetscMPIInt size, rank;
  PetscInt    n = 4 * ROWS;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (size == 1) empty = PETSC_FALSE;
  *made   = *band;
  made->n = n * (size - (empty ? 1 : 0));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, made, empty && rank == size - 1 ? 0 : n, type, A));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscCall(SpikeTestSetRandom(*b, 5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFollow(MatType type, PetscBool trans, PetscBool direct, PetscBool empty)
{
  SpikeTestBand band;
  Mat           A;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  PetscInt      steps;
  Vec           b, x;
  char          where[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s%s%s%s", type, trans ? ", transposed" : "", direct ? ", direct" : "",
                          empty ? ", a rank without rows" : ""));
  PetscCall(CreateBand(&GOOD, type, empty, &band, &A, &b, &x));
  PetscCall(Create(A, &ksp, &pc));
  if (direct) PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestSmall(info.decay, 1e-11, "far ends of the spikes", where));
  PetscCall(SpikeTestCheck((PetscBool)(steps == 1), "%s: first %" PetscInt_FMT " steps", where, steps));
  for (PetscInt turn = 0; turn < 2; turn++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(Solve(ksp, trans, b, x, far, &steps, where));
    PetscCall(
      SpikeTestCheck((PetscBool)!steps, "%s: %" PetscInt_FMT " steps in turn %" PetscInt_FMT, where, steps, turn));
    PetscCall(Solve(ksp, trans, b, x, far, &steps, where));
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.rebuilds == 1), "%s: %" PetscInt_FMT " setups from scratch", where, info.rebuilds));
  /* another method, whose preconditioner is to be cheap unless applications are solves; then a direct solve again */
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 1e-11, 0.0, PETSC_CURRENT, 100));
  PetscCall(Solve(ksp, trans, b, x, far, &steps, where)); /* by the setup that is there */
  PetscCall(MatScale(A, 2.0));
  PetscCall(Solve(ksp, trans, b, x, direct ? far : near, &steps, where));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(Solve(ksp, trans, b, x, direct ? far : near, &steps, where));
  PetscCall(SpikeTestCheck((PetscBool)(steps == (direct || trans ? 0 : 1)), "%s: %" PetscInt_FMT " steps afterwards",
                           where, steps));
  /* a tolerance that was set is kept, also if it is the default one */
  PetscCall(PCSpikeSetWindowTolerance(pc, 1e-8));
  for (PetscInt turn = 0; turn < 2; turn++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
    PetscCall(SpikeTestCheck((PetscBool)(steps == 1), "%s: %" PetscInt_FMT " steps with a tolerance", where, steps));
  }
  PetscCall(Destroy(&ksp, &A, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Far ends that a solve needs: spikes are not followed further for them */
static PetscErrorCode TestNot(void)
{
  SpikeTestBand band;
  Mat           A;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  PetscInt      steps;
  Vec           b, x;

  PetscFunctionBegin;
  PetscCall(CreateBand(&POOR, MATAIJ, PETSC_FALSE, &band, &A, &b, &x));
  PetscCall(Create(A, &ksp, &pc));
  PetscCall(PCSpikeSetMaxRefinements(pc, 10));
  for (PetscInt turn = 0; turn < 3; turn++) {
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, "far ends"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.decay > 1e-11 && steps > 0), "far ends: %g, %" PetscInt_FMT " steps",
                             (double)info.decay, steps));
    PetscCall(MatScale(A, 2.0));
  }
  PetscCall(Destroy(&ksp, &A, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spikes that are followed stop to be where values come whose solves take a step all the same, until a new pattern */
static PetscErrorCode TestLeave(void)
{
  const char   *where = "other values";
  SpikeTestBand good, poor;
  Mat           A, B;
  KSP           ksp;
  PC            pc;
  PetscInt      steps;
  Vec           b, x;

  PetscFunctionBegin;
  PetscCall(CreateBand(&GOOD, MATAIJ, PETSC_FALSE, &good, &A, &b, &x));
  poor           = good;
  poor.dominance = POOR.dominance;
  PetscCall(Create(A, &ksp, &pc));
  PetscCall(PCSpikeSetMaxRefinements(pc, 10));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
  PetscCall(MatScale(A, 2.0));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, far, &steps, where));
  PetscCall(SpikeTestCheck((PetscBool)!steps, "%s: %" PetscInt_FMT " steps", where, steps));
  PetscCall(SpikeTestBandSet(&poor, 1.0, A));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, far, &steps, where));
  PetscCall(SpikeTestCheck((PetscBool)(steps > 0), "%s: no step", where));
  for (PetscInt turn = 0; turn < 3; turn++) {
    PetscCall(SpikeTestBandSet(&good, 1.0 + turn, A));
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
    PetscCall(SpikeTestCheck((PetscBool)(steps == 1), "%s: %" PetscInt_FMT " steps afterwards", where, steps));
  }
  poor    = good;
  poor.kl = 4; /* another pattern */
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &poor, 4 * ROWS, MATAIJ, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
  PetscCall(SpikeTestCheck((PetscBool)(steps > 0), "%s: no step with another pattern", where));
  PetscCall(MatScale(B, 2.0));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, far, &steps, where));
  PetscCall(Destroy(&ksp, &A, &b, &x));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A right-hand side with a large solution takes a step for its residual, though the backward error is small. One of them
  ends nothing, two in a row do
*/
static PetscErrorCode TestOnce(void)
{
  const char    *where = "large solutions", *farther = "corrected down to 1e-10 of their ends";
  const PetscInt row = ROWS;
  SpikeTestBand  band;
  Mat            A;
  KSP            ksp;
  PC             pc;
  PetscInt       steps, start, end;
  PCSpikeInfo    info;
  Vec            b, x, large, scale;

  PetscFunctionBegin;
  PetscCall(CreateBand(&GOOD, MATAIJ, PETSC_FALSE, &band, &A, &b, &x));
  PetscCall(VecDuplicate(b, &large));
  PetscCall(VecDuplicate(b, &scale));
  PetscCall(VecGetOwnershipRange(b, &start, &end));
  PetscCall(VecSet(large, 0.0));
  PetscCall(VecSet(scale, 1.0));
  if (row >= start && row < end) { /* the first one after an interface */
    PetscCall(VecSetValue(large, row, 1.0, INSERT_VALUES));
    PetscCall(VecSetValue(scale, row, 1e-8, INSERT_VALUES));
    PetscCall(VecSetValue(b, row, 0.0, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(large));
  PetscCall(VecAssemblyEnd(large));
  PetscCall(VecAssemblyBegin(scale));
  PetscCall(VecAssemblyEnd(scale));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(Create(A, &ksp, &pc));
  PetscCall(PCSpikeSetRefinementTolerance(pc, 1e-9));
  PetscCall(Solve(ksp, PETSC_FALSE, large, x, near, &steps, where));
  PetscCall(SpikeTestCheck((PetscBool)(steps > 0), "%s: no step at first", where));
  for (PetscInt turn = 0; turn < 3; turn++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(Solve(ksp, PETSC_FALSE, b, x, farther, &steps, where));
    PetscCall(
      SpikeTestCheck((PetscBool)!steps, "%s: %" PetscInt_FMT " steps in turn %" PetscInt_FMT, where, steps, turn));
    PetscCall(Solve(ksp, PETSC_FALSE, large, x, farther, &steps, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(steps > 0), "%s: no step, %g", where, (double)info.backward_error));
  }
  PetscCall(MatScale(A, 2.0));
  PetscCall(Solve(ksp, PETSC_FALSE, large, x, farther, &steps, where));
  PetscCall(MatScale(A, 2.0));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
  PetscCall(Destroy(&ksp, &A, &b, &x));
  PetscCall(VecDestroy(&large));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The trial of a setup whose factors are those of another matrix takes steps, and is no solve */
static PetscErrorCode TestTrial(void)
{
  const char   *where = "a trial";
  SpikeTestBand band;
  Mat           A;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  PetscInt      steps;
  Vec           b, x;

  PetscFunctionBegin;
  PetscCall(CreateBand(&GOOD, MATAIJ, PETSC_FALSE, &band, &A, &b, &x));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, 0, 0, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Create(A, &ksp, &pc));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
  PetscCall(PCSpikeSetMaxRefinements(pc, 5));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.boosted == 1 && info.decay < 1e-11), "%s: %" PetscInt_FMT " boosted, %g",
                           where, info.boosted, (double)info.decay));
  PetscCall(MatScale(A, 2.0));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, near, &steps, where));
  PetscCall(SpikeTestCheck((PetscBool)(steps > 0), "%s: no step", where));
  PetscCall(MatScale(A, 2.0));
  PetscCall(Solve(ksp, PETSC_FALSE, b, x, far, &steps, where));
  PetscCall(Destroy(&ksp, &A, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPMatSolve(): columns of KSPPREONLY are solves, and those of another method, which calls no PCPreSolve(), end it */
static PetscErrorCode TestColumns(void)
{
  const char   *where = "columns";
  SpikeTestBand band;
  Mat           A, B, X;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  Vec           b, x, column;
  VecType       type;

  PetscFunctionBegin;
  PetscCall(CreateBand(&GOOD, MATAIJ, PETSC_FALSE, &band, &A, &b, &x));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(
    MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, 4 * ROWS, PETSC_DECIDE, band.n, 3, PETSC_DECIDE, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(MatDenseGetColumnVecWrite(B, c, &column));
    PetscCall(SpikeTestSetRandom(column, 7 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(B, c, &column));
  }
  PetscCall(Create(A, &ksp, &pc));
  for (PetscInt turn = 0; turn < 5; turn++) {
    PetscCall(KSPSetType(ksp, turn == 2 ? KSPBCGSFUSED : KSPPREONLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCSetUp(pc));
    PetscCall(Sees(pc, turn == 0 || turn == 3 ? near : far, where));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.refinements == (turn == 0 || turn == 3 ? 3 : 0)),
                             "%s: %" PetscInt_FMT " steps in turn %" PetscInt_FMT, where, info.refinements, turn));
    PetscCall(MatScale(A, 2.0));
  }
  PetscCall(Destroy(&ksp, &A, &b, &x));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_t = -c(t) A u: the Jacobian is another one in each step */
static PetscErrorCode FormIFunction(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatMult((Mat)ctx, u, f));
  PetscCall(VecAYPX(f, 1.0 + t, udot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormIJacobian(TS ts, PetscReal t, Vec u, Vec udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatCopy((Mat)ctx, P, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(P, 1.0 + t));
  PetscCall(MatShift(P, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solves of a TS, by its SNES: the first one takes a step, those of the steps after it none */
static PetscErrorCode TestTS(void)
{
  SpikeTestBand band;
  Mat           A, J;
  TS            ts;
  SNES          snes;
  KSP           ksp;
  PC            pc;
  PCSpikeInfo   info;
  Vec           b, x;

  PetscFunctionBegin;
  PetscCall(CreateBand(&GOOD, MATAIJ, PETSC_FALSE, &band, &A, &b, &x));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &J));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetProblemType(ts, TS_LINEAR));
  PetscCall(TSSetType(ts, TSBEULER));
  PetscCall(TSSetIFunction(ts, NULL, FormIFunction, A));
  PetscCall(TSSetIJacobian(ts, J, J, FormIJacobian, A));
  PetscCall(TSSetTimeStep(ts, 10.0));
  PetscCall(TSSetMaxSteps(ts, 1));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESSetType(snes, SNESKSPONLY));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(SetSpike(ksp, &pc));
  PetscCall(VecSet(x, 1.0));
  for (PetscInt step = 1; step < 5; step++) {
    PetscCall(TSSetMaxSteps(ts, step));
    PetscCall(TSSolve(ts, x));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.solves == 1 && info.refinements == (step == 1 ? 1 : 0)),
                             "TS, step %" PetscInt_FMT ": %" PetscInt_FMT " solves, %" PetscInt_FMT " refinements",
                             step, info.solves, info.refinements));
    PetscCall(Sees(pc, step == 1 ? near : far, "TS"));
  }
  PetscCall(TSDestroy(&ts));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  if (!PetscDefined(USE_REAL_SINGLE)) { /* whose tolerance of solves is above that of the windows */
    for (PetscInt k = 0; k < 8; k++)
      PetscCall(
        TestFollow(k & 1 ? SpikeTestDiaType() : MATAIJ, (PetscBool) !!(k & 2), (PetscBool) !!(k & 4), PETSC_FALSE));
    PetscCall(TestFollow(MATAIJ, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE));
    PetscCall(TestNot());
    PetscCall(TestLeave());
    PetscCall(TestOnce());
    PetscCall(TestTrial());
    PetscCall(TestColumns());
    PetscCall(TestTS());
  }
  PetscCall(SpikeTestEnd("spike_follow"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   testset:
      output_file: output/spike_follow_1.out
      requires: !single
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
