/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_frame.c: what a solve reports, beside PETSc's methods: monitors and histories where a preconditioner fails,
  reasons where two tolerances hold, problems of one and two rows, singular problems
*/
static char help[] = "Fused Krylov methods: what a solve reports, beside PETSc's methods.\n\n";

#include "ksptest.h"

/* A preconditioner that fails in its setup, or in the application number `bad`; -1: in each */
typedef struct {
  PetscInt  bad, calls;
  PetscBool setup;
} Shell;

static PetscErrorCode ShellSetUp(PC pc)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &shell));
  if (shell->setup) PetscCall(PCSetFailedReason(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellApply(PC pc, Vec x, Vec y)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &shell));
  PetscCall(VecCopy(x, y));
  PetscCall(VecScale(y, 0.5));
  if (++shell->calls == shell->bad || shell->bad < 0) {
    PetscCall(VecSet(y, PETSC_INFINITY));
    PetscCall(PCSetFailedReason(pc, PC_SUBPC_ERROR));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)it;
  (void)rnorm;
  ++*(PetscInt *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  As many calls of a monitor and norms of a history as PETSc's method has, and its reason. Without norms KSPIDR of
  3.26.1 does not see the failure, and makes all iterations; ours is as KSPBCGS then
*/
static PetscErrorCode TestFailure(KSPType ours, KSPType theirs, PCSide side, KSPNormType norm, PetscBool setup)
{
  Mat                A;
  Vec                x, b;
  PetscInt           monitored[2] = {0, 0}, length[2];
  PetscBool          idr;
  KSPConvergedReason reason[2];

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 20, 7, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 71));
  for (int k = 0; k < 2; k++) {
    KSP   ksp;
    PC    pc;
    Shell shell = {1, 0, setup};

    PetscCall(KSPTestCreate(k ? theirs : ours, PCSHELL, A, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCShellSetContext(pc, &shell));
    PetscCall(PCShellSetSetUp(pc, ShellSetUp));
    PetscCall(PCShellSetApply(pc, ShellApply));
    PetscCall(KSPSetPCSide(ksp, side));
    PetscCall(KSPSetNormType(ksp, norm));
    PetscCall(KSPMonitorSet(ksp, Monitor, &monitored[k], NULL));
    PetscCall(KSPSetResidualHistory(ksp, NULL, 100, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason[k]));
    PetscCall(KSPGetResidualHistory(ksp, NULL, &length[k]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(PetscStrcmp(theirs, KSPIDR, &idr));
  if (idr && norm == KSP_NORM_NONE) {
    reason[1]    = KSP_DIVERGED_PC_FAILED;
    monitored[1] = length[1] = 1;
  }
  PetscCall(SpikeTestCheck((PetscBool)(reason[0] == KSP_DIVERGED_PC_FAILED && reason[0] == reason[1] &&
                                       monitored[0] == monitored[1] && length[0] == length[1]),
                           "%s, %s, %s, failure %s: %s, %" PetscInt_FMT " calls, %" PetscInt_FMT
                           " norms; PETSc's method %s, %" PetscInt_FMT ", %" PetscInt_FMT,
                           ours, PCSides[side], KSPNormTypes[norm], setup ? "of the setup" : "at once",
                           KSPConvergedReasons[reason[0]], monitored[0], length[0], KSPConvergedReasons[reason[1]],
                           monitored[1], length[1]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After a preconditioner that has failed in its setup, on one rank, the method is what it is without that: iterations of
  a fresh solver
*/
static PetscErrorCode TestAfterFailure(KSPType type)
{
  Mat                A;
  Vec                x, b;
  PetscInt           its[2];
  PetscMPIInt        rank;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 20, 7, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 71));
  for (int fresh = 0; fresh < 2; fresh++) {
    KSP   ksp;
    PC    pc;
    Shell shell = {0, 0, (PetscBool)(!fresh && !rank)};

    PetscCall(KSPTestCreate(type, PCSHELL, A, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCShellSetContext(pc, &shell));
    PetscCall(PCShellSetSetUp(pc, ShellSetUp));
    PetscCall(PCShellSetApply(pc, ShellApply));
    if (!fresh) {
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED), "%s, a failure on a rank: %s", type,
                               KSPConvergedReasons[reason]));
      shell.setup = PETSC_FALSE;
      PetscCall(PCSetFailedReason(pc, PC_NOERROR));
      PetscCall(MatScale(A, 1.0)); /* set up again */
      PetscCall(KSPSetOperators(ksp, A, A));
    }
    PetscCall(SpikeTestSolve(ksp, b, x, type));
    PetscCall(KSPGetIterationNumber(ksp, &its[fresh]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(SpikeTestCheck((PetscBool)(its[0] == its[1]),
                           "%s: %" PetscInt_FMT " iterations after a failure, %" PetscInt_FMT " of a fresh solver",
                           type, its[0], its[1]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A right-hand side of 0 is solved by 0 or by the guess, whatever the preconditioner makes of 0; a column beside others
*/
static PetscErrorCode TestAtOnce(KSPType type, PCSide side)
{
  Mat                       A, B, X;
  Vec                       x, b, v;
  KSP                       ksp;
  PC                        pc;
  Shell                     shell = {1, 0, PETSC_FALSE};
  KSPConvergedReason        reason;
  const KSPConvergedReason *reasons;
  PetscInt                  n;
  PetscReal                 norm;
  PetscBool                 device;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 20, 7, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(KSPTestCreate(type, PCSHELL, A, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCShellSetContext(pc, &shell));
  PetscCall(PCShellSetApply(pc, ShellApply));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(VecSet(b, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(SpikeTestCheck((PetscBool)(reason < 0 || norm == 0.0), "%s, %s, b = 0: %s with a solution of %g", type,
                           PCSides[side], KSPConvergedReasons[reason], (double)norm));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
  if (device) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatDenseGetColumnVecWrite(B, 1, &v));
  PetscCall(SpikeTestSetRandom(v, 72));
  PetscCall(MatDenseRestoreColumnVecWrite(B, 1, &v));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  shell.bad   = -1; /* each application fails */
  shell.calls = 0;
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &n, NULL, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(MatDenseGetColumnVecRead(X, j, &v));
    PetscCall(VecNorm(v, NORM_2, &norm));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &v));
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] < 0 || (j != 1 && norm == 0.0)),
                             "%s, %s, column %" PetscInt_FMT ": %s with a solution of %g", type, PCSides[side], j,
                             KSPConvergedReasons[reasons[j]], (double)norm));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Below both tolerances it is the absolute one, between them the one that holds */
static PetscErrorCode TestTolerances(KSPType ours, KSPType theirs)
{
  const struct {
    PetscReal          rtol, abstol;
    KSPConvergedReason reason;
  } want[] = {{1e-3, 1e2, KSP_CONVERGED_ATOL}, {1e-3, 1e-30, KSP_CONVERGED_RTOL}, {1e-9, 1e-1, KSP_CONVERGED_ATOL}};
  Mat A;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 20, 7, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 72));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(want); k++)
    for (int petsc = 0; petsc < 2; petsc++) {
      KSP                ksp;
      KSPConvergedReason reason;

      PetscCall(KSPTestCreate(petsc ? theirs : ours, PCJACOBI, A, &ksp));
      PetscCall(KSPSetTolerances(ksp, want[k].rtol, want[k].abstol, PETSC_CURRENT, PETSC_CURRENT));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason == want[k].reason), "%s, tolerances %d: %s", petsc ? theirs : ours,
                               (int)k, KSPConvergedReasons[reason]));
      PetscCall(KSPDestroy(&ksp));
    }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One and two rows: converged, at a true residual of rounding, whether that is 0 or not */
static PetscErrorCode TestTiny(KSPType type, PetscInt n, PCType pctype)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscReal          residual;
  PetscInt           its;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, n, 1, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 73));
  PetscCall(KSPTestCreate(type, pctype, A, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && its <= n + 1),
                           "%s, %s, n %" PetscInt_FMT ": %s, iterations %" PetscInt_FMT, type, pctype, n,
                           KSPConvergedReasons[reason], its));
  PetscCall(SpikeTestSmall(residual, 100 * PETSC_MACHINE_EPSILON, "true residual of a tiny problem", type));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular system that has no solution, and nobody has said so: no method converges; how it ends is not the same */
static PetscErrorCode TestSingular(KSPType ours, KSPType theirs, PCType pctype)
{
  Mat A;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 20, 7, PETSC_DECIDE, 0.0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (int petsc = 0; petsc < 2; petsc++) {
    KSP                ksp;
    KSPConvergedReason reason;

    PetscCall(KSPTestCreate(petsc ? theirs : ours, pctype, A, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    /* in single precision PETSc's may end well by rounding */
    PetscCall(SpikeTestCheck((PetscBool)(reason < 0 || (petsc && PetscDefined(USE_REAL_SINGLE))),
                             "singular, %s, %s: %s", petsc ? theirs : ours, pctype, KSPConvergedReasons[reason]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType ours[]   = {KSPBCGSFUSED, KSPIDRFUSED, KSPCGFUSED};
  KSPType       theirs[] = {KSPBCGS, KSPIDR, KSPCG};
  const PCType  pcs[]    = {PCNONE, PCJACOBI};
  PetscBool     has      = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(SpikeKSPHasType(KSPIDR, &has));
  /* a PETSc before 3.26: failures, tolerances and singular systems are no matter of IDR */
  if (!has) theirs[1] = KSPBCGS;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ours); k++) {
    for (int setup = 0; setup < 2; setup++) {
      PetscCall(TestFailure(ours[k], theirs[k], PC_LEFT, KSP_NORM_PRECONDITIONED, (PetscBool)setup));
      PetscCall(
        TestFailure(ours[k], theirs[k], k < 2 ? PC_RIGHT : PC_LEFT, KSP_NORM_UNPRECONDITIONED, (PetscBool)setup));
      PetscCall(TestFailure(ours[k], theirs[k], PC_LEFT, KSP_NORM_NONE, (PetscBool)setup));
    }
    PetscCall(TestAfterFailure(ours[k]));
    PetscCall(TestAtOnce(ours[k], PC_LEFT));
    if (k < 2) PetscCall(TestAtOnce(ours[k], PC_RIGHT));
    PetscCall(TestTolerances(ours[k], theirs[k]));
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(pcs); p++) {
      for (PetscInt n = 1; n < 3; n++) PetscCall(TestTiny(ours[k], n, pcs[p]));
      PetscCall(TestSingular(ours[k], theirs[k], pcs[p]));
    }
  }
  PetscCall(SpikeTestEnd("ksp_frame"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_frame_1.out
      test:
         suffix: 1
         nsize: {{1 2}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
