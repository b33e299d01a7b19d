/* SPDX-License-Identifier: BSD-2-Clause */
/* ksp_fused.c: KSPBCGSFUSED and KSPCGFUSED against dense solutions and against KSPBCGS and KSPCG */
static char help[] = "Fused Krylov methods against dense references and PETSc's own methods.\n\n";

#include "ksptest.h"

/*
  Signs are random in the small ones; in the larger ones, on which iterations are compared, BiCGStab must not be chaotic
*/
static PetscErrorCode MakeMatrix(PetscBool cg, PetscInt n, PetscInt nlocal, Mat *A)
{
  SpikeTestBand band = {n, 3, 2, 1.1, n < 50 ? SPIKE_TEST_RANDOM : SPIKE_TEST_SLOW, 5};

  PetscFunctionBegin;
  if (cg) PetscCall(KSPTestGrid(PETSC_COMM_WORLD, PetscMax(1, n / 7), n ? (n >= 7 ? 7 : n) : 0, nlocal, 0.1, A));
  else PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, nlocal, MATAIJ, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All sides and norms, both forms, transposed, with guesses: the solution, and its residual by MatMult() */
static PetscErrorCode TestReference(PetscBool cg, PetscInt n, PCType pctype, PetscInt nlocal)
{
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL};
  Mat               A;
  Vec               x, b, y;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(cg, n, nlocal, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 11));
  for (PetscInt trans = 0; trans < (cg ? 1 : 2); trans++) {
    PetscCall(KSPTestDense(A, (PetscBool)trans, b, y));
    for (PetscInt form = 0; form < 2; form++)
      for (PetscInt k = 0; k < (cg ? 3 : 2); k++)
        for (PetscInt guess = 0; guess < 2; guess++) {
          KSP                ksp;
          KSPConvergedReason reason;
          PetscReal          difference;
          char               where[128];

          PetscCall(PetscSNPrintf(where, sizeof(where),
                                  "%s, n %" PetscInt_FMT ", %s, %s, %s, transposed %" PetscInt_FMT
                                  ", guess %" PetscInt_FMT,
                                  cg ? "cg" : "bcgs", n, pctype, form ? "merged" : "plain", KSPNormTypes[norms[k]],
                                  trans, guess));
          PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &ksp));
          PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
          PetscCall(KSPFusedSetCheckTrueResidual(ksp, (PetscBool)((guess + form) % 2)));
          PetscCall(KSPSetNormType(ksp, norms[k]));
          if (!cg) PetscCall(KSPSetPCSide(ksp, k ? PC_RIGHT : PC_LEFT));
          PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
          if (guess) PetscCall(SpikeTestSetRandom(x, 12));
          if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
          else PetscCall(KSPSolve(ksp, b, x));
          PetscCall(KSPGetConvergedReason(ksp, &reason));
          PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
          PetscCall(KSPTestDifference(x, y, &difference));
          PetscCall(SpikeTestSmall(difference, 2000.0 * KSPTEST_RTOL, "difference to the dense solution", where));
          PetscCall(KSPTestBackend(ksp, where));
          PetscCall(KSPDestroy(&ksp));
        }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Iterations of PETSc's method, and the same residuals at the beginning of the history. symmetric: an operator that is
  symmetric and, with complex numbers, not Hermitian
*/
static PetscErrorCode TestCounts(PetscBool cg, PetscInt n, PCType pctype, PCSide side, KSPNormType norm,
                                 PetscBool symmetric)
{
  const PetscBool  early = (PetscBool)(symmetric && PetscDefined(USE_COMPLEX));
  KSP              ksp;
  Mat              A;
  Vec              x, b;
  PetscReal        theirs[8], ours[8];
  const PetscReal *history;
  PetscInt         its, length;
  char             where[128];

  PetscFunctionBegin;
  if (symmetric) {
    PetscCall(KSPTestGrid(PETSC_COMM_WORLD, n / 7, 7, PETSC_DECIDE, 0.0, &A));
#if PetscDefined(USE_COMPLEX)
    PetscCall(MatShift(A, PetscCMPLX(0.1, 0.05)));
#else
    PetscCall(MatShift(A, 0.1));
#endif
  } else PetscCall(MakeMatrix(cg, n, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 13));
  /*
    for a while p.Ap keeps the sign of its real part then: where it changes KSPCG gives up, and there is nothing more to
    compare
  */
  if (symmetric) PetscCall(VecRealPart(b));
  for (PetscInt form = 0; form < 2; form++) {
    PetscInt theirits = 0;

    for (PetscInt fused = 0; fused < 2; fused++) {
      KSPConvergedReason reason;

      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, n %" PetscInt_FMT ", %s, %s, %s, form %" PetscInt_FMT,
                              cg ? "cg" : "bcgs", n, pctype, PCSides[side], KSPNormTypes[norm], form));
      PetscCall(KSPTestCreate(fused ? (cg ? KSPCGFUSED : KSPBCGSFUSED) : (cg ? KSPCG : KSPBCGS), pctype, A, &ksp));
      PetscCall(KSPSetPCSide(ksp, side));
      PetscCall(KSPSetNormType(ksp, norm));
      if (fused) PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
      if (symmetric) PetscCall(KSPCGSetType(ksp, KSP_CG_SYMMETRIC));
      PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_RTOL || (early && !fused)),
                               "%s, fused %" PetscInt_FMT ": ended with %s", where, fused,
                               KSPConvergedReasons[reason]));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(KSPGetResidualHistory(ksp, &history, &length));
      PetscCall(SpikeTestCheck((PetscBool)(length == its + 1 || (early && !fused)),
                               "%s: %" PetscInt_FMT " residuals after %" PetscInt_FMT " iterations", where, length,
                               its));
      for (PetscInt k = 0; k < 8; k++) (fused ? ours : theirs)[k] = k < length ? history[k] : 0.0;
      if (!fused) theirits = its;
      else {
        PetscCall(SpikeTestCheck((PetscBool)(early || PetscAbsInt(its - theirits) <= 1 + theirits / 20),
                                 "%s: %" PetscInt_FMT " iterations, PETSc's method %" PetscInt_FMT, where, its,
                                 theirits));
        for (PetscInt k = 0; k < 8; k++)
          PetscCall(SpikeTestSmall(PetscAbsReal(ours[k] - theirs[k]),
                                   (PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-6) * theirs[k],
                                   "difference to PETSc's residual norm", where));
      }
      if (fused && symmetric) {
        Vec c;

        PetscCall(VecDuplicate(b, &c));
        PetscCall(SpikeTestSetRandom(c, 17));
        PetscCall(SpikeTestSolve(ksp, c, x, where));
        PetscCall(VecDestroy(&c));
      }
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UserTest(KSP ksp, PetscInt it, PetscReal rnorm, KSPConvergedReason *reason, PetscCtx ctx)
{
  PetscFunctionBegin;
  PetscCall(KSPConvergedDefault(ksp, it, rnorm, reason, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)it;
  (void)rnorm;
  (void)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ahead, in lockstep, with a monitor, with a test of the user, without graphs, with them: the same bits */
static PetscErrorCode TestLockstep(PetscBool cg, PCType pctype, PCSide side, PetscInt form, PetscReal rtol)
{
  Mat       A;
  Vec       x, y, b;
  KSP       ksp;
  PC        pc;
  PetscReal history[2000];
  /* with right preconditioning the norm is the true one */
  KSPTestMonitorCtx  monitor = {1e4 * PETSC_MACHINE_EPSILON, 0.0};
  PetscInt           its0    = 0;
  KSPConvergedReason reason0 = KSP_CONVERGED_ITERATING;
  PetscBool          device, copied = PETSC_FALSE;
  PetscMPIInt        size;
  char               where[96];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MakeMatrix(cg, 700, PETSC_DECIDE, &A));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 14));
  for (PetscInt k = 0; k < 6; k++) {
    const PetscReal   *h;
    PetscInt           its, length;
    KSPConvergedReason reason;
    PetscReal          difference = 0.0;
    KSPFusedInfo       info;

    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, form %" PetscInt_FMT ", way %" PetscInt_FMT,
                            cg ? "cg" : "bcgs", pctype, PCSides[side], form, k));
    PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
    PetscCall(PCSpikeSetLocalPartitions(pc, 9));
    PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, rtol > 0.0 ? 1000 : 7));
    PetscCall(KSPSetPCSide(ksp, side));
    if (cg) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
    PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
    if (k == 1) PetscCall(KSPFusedSetLockstep(ksp, PETSC_TRUE));
    if (k == 2) PetscCall(KSPMonitorSet(ksp, cg || side == PC_RIGHT ? KSPTestMonitor : NoMonitor, &monitor, NULL));
    if (k >= 4) PetscCall(KSPFusedSetPersistent(ksp, KSP_FUSED_PERSISTENT_OFF));
    if (k == 4) PetscCall(KSPFusedSetGraph(ksp, PETSC_FALSE));
    if (k == 3) {
      void *ctx;

      PetscCall(KSPConvergedDefaultCreate(&ctx));
      PetscCall(KSPSetConvergenceTest(ksp, UserTest, ctx, KSPConvergedDefaultDestroy));
    }
    PetscCall(KSPSolve(ksp, b, k ? y : x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetResidualHistory(ksp, &h, &length));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    if (k) {
      if (k < 4) PetscCall(SpikeTestCheck(info.lockstep, "%s: not in lockstep", where));
      else
        PetscCall(SpikeTestCheck((PetscBool)((info.replayed > 0) == (copied && k == 5)), "%s: replayed %" PetscInt_FMT,
                                 where, info.replayed));
      PetscCall(SpikeTestCheck((PetscBool)!info.persistent, "%s: in one kernel", where));
      PetscCall(SpikeTestCheck((PetscBool)(reason == reason0 && its == its0),
                               "%s: %s after %" PetscInt_FMT " iterations, else %s after %" PetscInt_FMT, where,
                               KSPConvergedReasons[reason], its, KSPConvergedReasons[reason0], its0));
      for (PetscInt i = 0; i < PetscMin(length, its0 + 1); i++)
        difference = PetscMax(difference, PetscAbsReal(h[i] - history[i]));
      PetscCall(SpikeTestSmall(difference, 0.0, "difference of the histories", where));
      PetscCall(KSPTestDifference(y, x, &difference));
      PetscCall(SpikeTestSmall(difference, 0.0, "difference of the solutions", where));
    } else {
      reason0 = reason;
      its0    = its;
      for (PetscInt i = 0; i < length; i++) history[i] = h[i];
      if (device && size == 1) {
        KSPFusedSpMVType product;
        PetscBool        copy, spike;

        PetscCall(PetscStrcmp(pctype, PCSPIKE, &spike));
        PetscCall(KSPFusedGetSpMVType(ksp, &product));
        if (product == KSP_FUSED_SPMV_AUTO) product = KSP_FUSED_SPMV_DIA; /* few diagonals, full */
        copy = (PetscBool)(product != KSP_FUSED_SPMV_PETSC);
        PetscCall(SpikeTestCheck((PetscBool)(!info.lockstep && info.copy == copy && info.product == product &&
                                             (info.replayed > 0) == (copy && (spike || form)) &&
                                             (info.persistent > 0) == (copy && !spike && !form)),
                                 "%s: lockstep %d, copy %d, replayed %" PetscInt_FMT ", in one kernel %" PetscInt_FMT,
                                 where, info.lockstep, info.copy, info.replayed, info.persistent));
        copied = copy;
      }
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0 || rtol == 0.0), "%s: ended with %s", where,
                               KSPConvergedReasons[reason]));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constants are the null space, and the right-hand side has a part in it */
static PetscErrorCode TestNullSpace(PetscBool cg, PCType pctype)
{
  Mat          A;
  Vec          x, b, r;
  KSP          ksp;
  MatNullSpace nullspace;
  PetscReal    rnorm, bnorm;
  PetscScalar  sum;
  char         where[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "null space, %s, %s", cg ? "cg" : "bcgs", pctype));
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 9, 8, PETSC_DECIDE, 0.0, &A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
  PetscCall(MatSetNullSpace(A, nullspace));
  PetscCall(MatSetTransposeNullSpace(A, nullspace));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestSetRandom(b, 15));
  PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatNullSpaceRemove(nullspace, b));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(SpikeTestSmall(rnorm, 100.0 * KSPTEST_RTOL * bnorm, "residual", where));
  PetscCall(VecSum(x, &sum));
  PetscCall(SpikeTestSmall(PetscAbsScalar(sum), 1e-6 * bnorm + (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 0.0),
                           "part of x in the null space", where));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellMult(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellApply(PC pc, Vec x, Vec y)
{
  Vec *d;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &d));
  PetscCall(VecPointwiseDivide(y, x, *d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Any preconditioner, and a shell for the operator */
static PetscErrorCode TestComposition(PetscBool cg, PCType pctype, PetscBool shell)
{
  Mat         A, S = NULL;
  Vec         x, b, d;
  KSP         ksp;
  PC          pc;
  PetscInt    m, n;
  VecType     vectype;
  PetscBool   isshell;
  const char *form[] = {"plain", "merged"};
  char        where[96];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(cg, 301, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(SpikeTestSetRandom(b, 16));
  if (shell) {
    PetscCall(MatGetLocalSize(A, &m, &n));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, n, PETSC_DETERMINE, PETSC_DETERMINE, A, &S));
    PetscCall(MatShellSetOperation(S, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
    PetscCall(MatGetVecType(A, &vectype));
    PetscCall(MatShellSetVecType(S, vectype));
  }
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(
      PetscSNPrintf(where, sizeof(where), "%s, %s, %s%s", cg ? "cg" : "bcgs", pctype, form[k], shell ? ", shell" : ""));
    PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &ksp));
    if (shell) PetscCall(KSPSetOperators(ksp, S, A));
    PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)k));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSHELL, &isshell));
    if (isshell) {
      PetscCall(PCShellSetContext(pc, &d));
      PetscCall(PCShellSetApply(pc, ShellApply));
    }
    if (!cg) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    else PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    if (cg) PetscCall(PCASMSetType(pc, PC_ASM_BASIC)); /* symmetric */
    PetscCall(SpikeTestSolve(ksp, b, x, where));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&S));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The replaced residual is the true one: the check at the end sees no difference, and the replacements are as many as
  asked for
*/
static PetscErrorCode TestReplacement(PetscBool cg, PCType pctype, PCSide side)
{
  Mat          A;
  Vec          x, b;
  KSP          ksp;
  PetscInt     its;
  KSPFusedInfo info;
  char         where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "replacement, %s, %s, %s", cg ? "cg" : "bcgs", pctype, PCSides[side]));
  PetscCall(MakeMatrix(cg, 350, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 17));
  PetscCall(SpikeTestSetRandom(x, 18));
  PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPFusedSetReductions(ksp, KSP_FUSED_REDUCTIONS_MERGED));
  PetscCall(KSPFusedSetResidualReplacement(ksp, 5));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.replacements == info.launched / 5),
                           "%s: %" PetscInt_FMT " replacements in %" PetscInt_FMT " iterations", where,
                           info.replacements, info.launched));
  PetscCall(SpikeTestCheck((PetscBool)(its >= 5), "%s: only %" PetscInt_FMT " iterations", where, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt    sizes[]  = {0, 1, 2, 3, 14, 77};
  const KSPNormType norms[]  = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL};
  const PCType      all[]    = {PCNONE, PCJACOBI, PCSPIKE, PCBJACOBI, PCASM, PCSHELL, PCGAMG, PCSOR, PCILU, PCLU};
  const PCType      simple[] = {PCNONE, PCJACOBI};
  PetscMPIInt       size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt cg = 0; cg < 2; cg++) {
    const PetscBool iscg = (PetscBool)cg;

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
      for (PetscInt p = 0; p < 2; p++) PetscCall(TestReference(iscg, sizes[k], simple[p], PETSC_DECIDE));
    PetscCall(TestReference(iscg, 35, PCJACOBI, rank == size - 1 ? 35 : 0));
    for (PetscInt p = 0; p < 2; p++) {
      for (PetscInt k = 0; k < (cg ? 3 : 2); k++)
        PetscCall(TestCounts(iscg, 700, simple[p], !cg && k ? PC_RIGHT : PC_LEFT, norms[k], PETSC_FALSE));
      for (PetscInt k = 0; cg && k < 3; k++)
        PetscCall(TestCounts(PETSC_TRUE, 700, simple[p], PC_LEFT, norms[k], PETSC_TRUE));
      for (PetscInt form = 0; form < 2; form++) {
        PetscCall(TestLockstep(iscg, simple[p], iscg ? PC_LEFT : PC_RIGHT, form, KSPTEST_RTOL));
        PetscCall(TestLockstep(iscg, simple[p], iscg ? PC_LEFT : PC_RIGHT, form, 0.0));
      }
      PetscCall(TestNullSpace(iscg, simple[p]));
      PetscCall(TestReplacement(iscg, simple[p], PC_LEFT));
      if (!cg) PetscCall(TestReplacement(iscg, simple[p], PC_RIGHT));
    }
    for (PetscInt form = 0; form < 2; form++) {
      PetscCall(TestLockstep(iscg, PCSPIKE, PC_LEFT, form, KSPTEST_RTOL));
      if (cg) continue;
      PetscCall(TestLockstep(PETSC_FALSE, PCSPIKE, PC_RIGHT, form, KSPTEST_RTOL));
      PetscCall(TestLockstep(PETSC_FALSE, PCJACOBI, PC_LEFT, form, KSPTEST_RTOL));
    }
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all) - (size > 1 ? 2 : 0); k++) {
      /* not Hermitian there: it takes transposes of complex prolongations */
      if (cg && k == 6 && PetscDefined(USE_COMPLEX)) continue;
      PetscCall(TestComposition(iscg, all[k], PETSC_FALSE));
    }
    PetscCall(TestComposition(iscg, PCJACOBI, PETSC_TRUE));
  }
  PetscCall(SpikeTestEnd("ksp_fused"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_fused_1.out
      test:
         suffix: 1
         nsize: {{1 2 4}}
      test:
         suffix: product
         args: -product petsc
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cuda2
         nsize: 2
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cuda4
         nsize: 4
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cudacopy
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto sell}}

TEST*/
