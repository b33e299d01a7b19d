/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_idr.c: KSPIDRFUSED against dense solutions; failures; true residuals
*/
static char help[] = "Fused IDR(s) against dense references.\n\n";

#include "idrcase.h"
#include <petsc/private/kspimpl.h>

/* Block steps are our own kernels, on the host or on the device, unless PETSc's functions are asked for */
static PetscErrorCode CheckBackend(KSP ksp, PetscBool petsc, const char where[])
{
  Mat          A;
  PetscBool    device, same;
  KSPFusedInfo info;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(PetscStrcmp(info.backend, petsc ? "petsc" : (device ? "cuda" : "host"), &same));
  PetscCall(SpikeTestCheck(same, "%s: backend %s", where, info.backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sides, forms, transposed, with guesses, smoothed, by either kind of vector operations: the dense solution */
static PetscErrorCode TestReference(PetscInt n, PetscInt s, PCType pctype, PetscInt nlocal)
{
  Mat A;
  Vec x, b, y;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(n, nlocal, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 11));
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall(KSPTestDense(A, (PetscBool)trans, b, y));
    for (PetscInt form = 0; form < 2; form++)
      for (PetscInt right = 0; right < 2; right++)
        for (PetscInt guess = 0; guess < 2; guess++)
          for (PetscInt smoothing = 0; smoothing < 2; smoothing++) {
            const PetscBool    petsc = (PetscBool)((form + right + guess + smoothing) % 2);
            KSP                ksp;
            KSPConvergedReason reason;
            PetscReal          difference;
            char               where[160];

            PetscCall(PetscSNPrintf(where, sizeof(where),
                                    "n %" PetscInt_FMT ", s %" PetscInt_FMT ", %s, %s, right %" PetscInt_FMT
                                    ", transposed %" PetscInt_FMT ", guess %" PetscInt_FMT ", smoothing %" PetscInt_FMT,
                                    n, s, pctype, form ? "merged" : "plain", right, trans, guess, smoothing));
            PetscCall(KSPTestCreate(KSPIDRFUSED, pctype, A, &ksp));
            PetscCall(KSPIDRSetS(ksp, s));
            PetscCall(KSPIDRFusedSetOrthogType(ksp, Orthog(right + guess + s, (PetscBool)form)));
            PetscCall(KSPIDRFusedSetSmoothing(ksp, (PetscBool)smoothing));
            PetscCall(KSPIDRFusedSetPetscVectors(ksp, petsc));
            PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
            PetscCall(KSPFusedSetCheckTrueResidual(ksp, (PetscBool)((guess + form) % 2)));
            PetscCall(KSPSetPCSide(ksp, right ? PC_RIGHT : PC_LEFT));
            PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
            if (guess) PetscCall(SpikeTestSetRandom(x, 12));
            if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
            else PetscCall(KSPSolve(ksp, b, x));
            PetscCall(KSPGetConvergedReason(ksp, &reason));
            PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
            PetscCall(KSPTestDifference(x, y, &difference));
            PetscCall(SpikeTestSmall(difference, 2000.0 * KSPTEST_RTOL, "difference to the dense solution", where));
            PetscCall(CheckBackend(ksp, petsc, where));
            PetscCall(KSPDestroy(&ksp));
          }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SeeMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)rnorm;
  *(PetscInt *)ctx = it;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ahead of the device, in one kernel where that can be, once more, in lockstep, with a monitor, without graphs, with
  graphs: the same bits. rtol 0: to the last iteration, in the middle of a cycle
*/
static PetscErrorCode TestLockstep(PCType pctype, PetscInt s, KSPIDRFusedOrthogType orthog, PetscInt form,
                                   PetscBool smoothing, PetscReal rtol)
{
  Mat                A;
  Vec                x, y, b;
  KSP                ksp     = NULL;
  PetscInt           its0    = 0, seen;
  KSPConvergedReason reason0 = KSP_CONVERGED_ITERATING;
  PetscBool          device, graph, copy, none;
  KSPFusedSpMVType   product;
  PetscReal          history[400];
  PetscMPIInt        size;
  char               where[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscStrcmpAny(pctype, &graph, PCNONE, PCJACOBI, ""));
  PetscCall(PetscStrcmp(pctype, PCNONE, &none));
  PetscCall(MakeMatrix(700, PETSC_DECIDE, &A));
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

    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "lockstep, %s, s %" PetscInt_FMT ", orthog %d, form %" PetscInt_FMT
                            ", smoothing %d, rtol %g, way %" PetscInt_FMT,
                            pctype, s, (int)orthog, form, smoothing, (double)rtol, k));
    if (k != 1) { /* way 1: the solver of way 0 */
      PetscCall(KSPDestroy(&ksp));
      PetscCall(KSPTestCreate(KSPIDRFUSED, pctype, A, &ksp));
      PetscCall(KSPIDRSetS(ksp, s));
      PetscCall(KSPIDRFusedSetSmoothing(ksp, smoothing));
      PetscCall(KSPIDRFusedSetOrthogType(ksp, orthog));
      PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, rtol > 0.0 ? 300 : 3 * (s + 1) + s / 2));
      PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
      PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
      PetscCall(KSPSetResidualHistory(ksp, NULL, 400, PETSC_TRUE));
    }
    if (k == 2) PetscCall(KSPFusedSetLockstep(ksp, PETSC_TRUE));
    if (k == 3) PetscCall(KSPMonitorSet(ksp, SeeMonitor, &seen, NULL));
    if (k == 4) PetscCall(KSPFusedSetGraph(ksp, PETSC_FALSE));
    if (k > 3) PetscCall(KSPFusedSetPersistent(ksp, KSP_FUSED_PERSISTENT_OFF));
    PetscCall(KSPSolve(ksp, b, k ? y : x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetResidualHistory(ksp, &h, &length));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(KSPFusedGetSpMVType(ksp, &product));
    copy = (PetscBool)(product != KSP_FUSED_SPMV_PETSC);
    if (device && size == 1) {
      const PetscBool kernel = (PetscBool)(none && copy && form && !smoothing &&
                                           orthog == KSP_IDRFUSED_ORTHOG_CLASSICAL && s <= 8);

      PetscCall(SpikeTestCheck((PetscBool)(info.lockstep == (k == 2 || k == 3) && info.copy == copy &&
                                           (info.replayed > 0) == (graph && copy && (k < 2 ? !kernel : k != 4)) &&
                                           (info.persistent > 0) == (kernel && k < 2)),
                               "%s: lockstep %d, copy %d, replayed %" PetscInt_FMT ", in one kernel %" PetscInt_FMT,
                               where, info.lockstep, info.copy, info.replayed, info.persistent));
    }
    if (k) {
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
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0 || rtol == 0.0), "%s: ended with %s", where,
                               KSPConvergedReasons[reason]));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(USE_COMPLEX)
  #define RandomOne PetscCMPLX(1.0, 1.0)
#else
  #define RandomOne ((PetscScalar)1.0)
#endif

/* A product that is not always A x */
typedef struct {
  Mat         A;
  PetscInt    calls, mode;
  PetscRandom rand;
} Shell;

/*
  Mode 0: A x. 1: twice too large in the first calls. 2: wrong in the last digits that matter, more so each time. 3: 0.
  4: A x, and from now on random numbers are random
*/
static PetscErrorCode ShellMult(Mat S, Vec x, Vec y)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &shell));
  PetscCall(MatMult(shell->A, x, y));
  shell->calls++;
  if (shell->mode == 1 && shell->calls <= 6) PetscCall(VecScale(y, 2.0));
  if (shell->mode == 2) PetscCall(VecScale(y, 1.0 + 1e-2 * shell->calls));
  if (shell->mode == 3) PetscCall(VecSet(y, 0.0));
  if (shell->mode == 4 && shell->calls == 1) PetscCall(PetscRandomSetInterval(shell->rand, -RandomOne, RandomOne));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeShell(Shell *shell, Mat *S)
{
  PetscInt m, n;
  VecType  vectype;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(shell->A, &m, &n));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, n, PETSC_DETERMINE, PETSC_DETERMINE, shell, S));
  PetscCall(MatShellSetOperation(*S, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
  PetscCall(MatGetVecType(shell->A, &vectype));
  PetscCall(MatShellSetVecType(*S, vectype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A product for each iteration where their number is the limit; s + 1 reductions in a cycle, twice as many in the plain
  form, and no more with smoothing but P^H r of the plain one
*/
static PetscErrorCode TestCosts(PetscInt s, PetscInt form, PetscBool smoothing)
{
  Shell       shell = {NULL, 0, 0, NULL};
  Mat         S;
  Vec         x, b;
  KSP         ksp;
  PetscMPIInt size;
  /* in single precision residuals are rounding soon, and a breakdown follows */
  PetscInt cycles[2] = {PetscDefined(USE_REAL_SINGLE) ? 1 : 4, PetscDefined(USE_REAL_SINGLE) ? 2 : 9}, done;
  double   count[2];
  char     where[96];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(where, sizeof(where), "costs, s %" PetscInt_FMT ", form %" PetscInt_FMT ", smoothing %d", s,
                          form, smoothing));
  PetscCall(MakeMatrix(700, PETSC_DECIDE, &shell.A));
  PetscCall(MakeShell(&shell, &S));
  PetscCall(MatCreateVecs(shell.A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 19));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(KSPTestCreate(KSPIDRFUSED, PCNONE, S, &ksp));
    PetscCall(KSPIDRSetS(ksp, s));
    PetscCall(KSPIDRFusedSetSmoothing(ksp, smoothing));
    PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
    PetscCall(KSPSetTolerances(ksp, 0.0, 0.0, PETSC_CURRENT, cycles[k] * (s + 1)));
    PetscCall(KSPSetUp(ksp));
    shell.calls = 0;
    count[k]    = (double)petsc_allreduce_ct;
    PetscCall(KSPSolve(ksp, b, x));
    count[k] = (double)petsc_allreduce_ct - count[k];
    PetscCall(KSPGetIterationNumber(ksp, &done));
    PetscCall(SpikeTestCheck((PetscBool)(done == cycles[k] * (s + 1) && shell.calls == done),
                             "%s: %" PetscInt_FMT " products in %" PetscInt_FMT " iterations", where, shell.calls,
                             done));
    PetscCall(KSPDestroy(&ksp));
  }
  if (size > 1 && PetscDefined(USE_LOG) && !PetscDefined(USE_DEBUG)) { /* PETSc with debugging reduces more */
    /* P^H r with the norm, without smoothing */
    const double expected = (cycles[1] - cycles[0]) * (double)(s + 1) * (1 + (form ? 0 : 1)) +
                            (!form && smoothing ? cycles[1] - cycles[0] : 0.0);

    PetscCall(SpikeTestCheck((PetscBool)(count[1] - count[0] == expected),
                             "%s: %g reductions in %" PetscInt_FMT " cycles, not %g", where, count[1] - count[0],
                             cycles[1] - cycles[0], expected));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&shell.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  KSPTestMonitorCtx truth;
  PetscReal         last;
} MonitorCtx;

/* What a monitor can build is what it is told; with smoothing norms never rise */
static PetscErrorCode CheckMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  MonitorCtx *monitor = (MonitorCtx *)ctx;
  PetscBool   smoothing;

  PetscFunctionBegin;
  PetscCall(KSPTestMonitor(ksp, it, rnorm, &monitor->truth));
  if (!it) monitor->last = rnorm;
  PetscCall(KSPIDRFusedGetSmoothing(ksp, &smoothing));
  if (smoothing)
    PetscCall(SpikeTestSmall(rnorm, (1.0 + 100.0 * PETSC_MACHINE_EPSILON) * monitor->last, "smoothed norm", "monitor"));
  monitor->last = rnorm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a monitor and right preconditioning; with replacement, which must agree with the truth at its end as well */
static PetscErrorCode TestMonitor(PCType pctype, PetscInt form, PetscBool smoothing, PetscInt replacement)
{
  Mat          A;
  Vec          x, b;
  KSP          ksp;
  MonitorCtx   monitor = {{1e5 * PETSC_MACHINE_EPSILON, 0.0}, 0.0};
  KSPFusedInfo info;
  char         where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "monitor, %s, form %" PetscInt_FMT ", smoothing %d, replacement %" PetscInt_FMT, pctype, form,
                          smoothing, replacement));
  PetscCall(MakeMatrix(700, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 14));
  PetscCall(SpikeTestSetRandom(x, 18));
  PetscCall(KSPTestCreate(KSPIDRFUSED, pctype, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(KSPFusedSetResidualReplacement(ksp, replacement));
  PetscCall(KSPIDRFusedSetSmoothing(ksp, smoothing));
  PetscCall(KSPMonitorSet(ksp, CheckMonitor, &monitor, NULL));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  if (replacement)
    PetscCall(SpikeTestCheck((PetscBool)(info.replacements > 1 && info.replacements == info.launched / replacement),
                             "%s: %" PetscInt_FMT " replacements in %" PetscInt_FMT " iterations", where,
                             info.replacements, info.launched));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constants are the null space, and the right-hand side has a part in it */
static PetscErrorCode TestNullSpace(PCType pctype, PCSide side)
{
  Mat          A;
  Vec          x, b, r;
  KSP          ksp;
  MatNullSpace nullspace;
  PetscReal    rnorm, bnorm;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 9, 8, PETSC_DECIDE, 0.0, &A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
  PetscCall(MatSetNullSpace(A, nullspace));
  PetscCall(MatSetTransposeNullSpace(A, nullspace));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestSetRandom(b, 15));
  PetscCall(KSPTestCreate(KSPIDRFUSED, pctype, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatNullSpaceRemove(nullspace, b));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(SpikeTestSmall(rnorm, 100.0 * KSPTEST_RTOL * bnorm, "residual",
                           side == PC_LEFT ? "null space, left" : "null space, right"));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Any preconditioner; one solver, whose values, s and form change between solves */
static PetscErrorCode TestChange(PCType pctype)
{
  Mat      A, A2;
  Vec      x, b, x2, b2;
  KSP      ksp;
  PetscInt s;
  char     where[96];

  PetscFunctionBegin;
#define WriteWhere(what) PetscCall(PetscSNPrintf(where, sizeof(where), "change, %s: %s", pctype, what))
  PetscCall(MakeMatrix(301, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 31));
  PetscCall(KSPTestCreate(KSPIDRFUSED, pctype, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  WriteWhere("first");
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  WriteWhere("MatScale");
  PetscCall(MatScale(A, -3.0));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  WriteWhere("another s");
  PetscCall(KSPIDRSetS(ksp, 7));
  PetscCall(KSPIDRGetS(ksp, &s));
  PetscCall(SpikeTestCheck((PetscBool)(s == 7), "%s: %" PetscInt_FMT, where, s));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  WriteWhere("smoothing");
  PetscCall(KSPIDRFusedSetSmoothing(ksp, PETSC_TRUE));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  WriteWhere("KSPReset and another size");
  PetscCall(MakeMatrix(91, PETSC_DECIDE, &A2));
  PetscCall(MatCreateVecs(A2, &x2, &b2));
  PetscCall(SpikeTestSetRandom(b2, 34));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A2, A2));
  PetscCall(SpikeTestSolve(ksp, b2, x2, where));
  WriteWhere("another type between");
  PetscCall(KSPSetType(ksp, KSPBCGSFUSED));
  PetscCall(SpikeTestSolve(ksp, b2, x2, where));
  PetscCall(KSPSetType(ksp, KSPIDRFUSED));
  PetscCall(SpikeTestSolve(ksp, b2, x2, where));
#undef WriteWhere
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x2));
  PetscCall(VecDestroy(&b2));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&A2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Converged means it: recovered where a new start helps, else a negative reason; without the check the method believes
  its recurrence. An operator that is 0: a new shadow space, then a reason
*/
static PetscErrorCode TestTruth(PCSide side, PetscBool smoothing, PetscInt mode, PetscBool check)
{
  Shell              shell = {NULL, 0, mode, NULL};
  Mat                S;
  Vec                x, b;
  KSP                ksp;
  PetscReal          residual;
  KSPConvergedReason reason;
  KSPFusedInfo       info;
  char               where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "true residual, %s, smoothing %d, mode %" PetscInt_FMT ", check %d",
                          PCSides[side], smoothing, mode, check));
  PetscCall(MakeMatrix(140, PETSC_DECIDE, &shell.A));
  PetscCall(MatCreateVecs(shell.A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 36));
  PetscCall(MakeShell(&shell, &S));
  PetscCall(KSPTestCreate(KSPIDRFUSED, PCJACOBI, shell.A, &ksp));
  PetscCall(KSPSetOperators(ksp, S, shell.A));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPIDRFusedSetSmoothing(ksp, smoothing));
  PetscCall(KSPFusedSetCheckTrueResidual(ksp, check));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(shell.A, b, x, &residual));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  if (mode == 3) {
    PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_BREAKDOWN && info.restarts == 1 && shell.calls <= 6),
                             "%s: %s after %" PetscInt_FMT " restarts, %" PetscInt_FMT " products", where,
                             KSPConvergedReasons[reason], info.restarts, shell.calls));
    shell.mode = 0;
    PetscCall(SpikeTestSolve(ksp, b, x, "after a breakdown"));
  } else if (!check)
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual > 100.0 * KSPTEST_RTOL),
                             "%s: %s with %g: the test does not test", where, KSPConvergedReasons[reason],
                             (double)residual));
  else if (mode == 1) {
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && info.restarts > 0),
                             "%s: ended with %s after %" PetscInt_FMT " restarts", where, KSPConvergedReasons[reason],
                             info.restarts));
    PetscCall(SpikeTestSmall(residual, 20.0 * KSPTEST_RTOL, "true relative residual", where));
  } else
    PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "%s: ended with %s, the true residual is %g", where,
                             KSPConvergedReasons[reason], (double)residual));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&S));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&shell.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rotations by 90 degrees, r orthogonal to A r: no angle is believed, and a solution all the same; without the remedy a
  new start finds it
*/
static PetscErrorCode TestSkew(PetscReal cosine)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PetscInt           start, end;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 40, 40, 1, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    PetscCall(MatSetValue(A, i, i ^ 1, (i % 2 ? -1.0 : 1.0) * (1 + i / 2 % 5), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 41));
  PetscCall(KSPTestCreate(KSPIDRFUSED, PCNONE, A, &ksp));
  PetscCall(KSPIDRSetCosine(ksp, cosine));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  if (cosine > 0.0)
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "skew: ended with %s", KSPConvergedReasons[reason]));
  if (reason > 0) PetscCall(SpikeTestSmall(residual, 20.0 * KSPTEST_RTOL, "true relative residual", "skew"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The shadow vector is constant, and A r of the first product is orthogonal to it: no iteration is completed before
  there is a new shadow space
*/
static PetscErrorCode TestShadow(PetscBool renewed)
{
  Shell              shell = {NULL, 0, renewed ? 4 : 0, NULL};
  Mat                S;
  Vec                x, b;
  KSP                ksp;
  PetscInt           start, end;
  PetscReal          residual;
  KSPConvergedReason reason;
  KSPFusedInfo       info;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 40, 40, 1, NULL, 1, NULL, &shell.A));
  PetscCall(MatCreateVecs(shell.A, &x, &b));
  PetscCall(MatGetOwnershipRange(shell.A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscReal d = (PetscReal)(1 << (i / 2 % 4));

    PetscCall(MatSetValue(shell.A, i, i, d, INSERT_VALUES));
    PetscCall(VecSetValue(b, i, (i % 2 ? 1.0 : -1.0) / d, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(shell.A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(shell.A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(MakeShell(&shell, &S));
  PetscCall(KSPTestCreate(KSPIDRFUSED, PCNONE, S, &ksp));
  PetscCall(KSPIDRSetS(ksp, 1));
  PetscCall(KSPIDRGetRandom(ksp, &shell.rand));
  PetscCall(PetscRandomSetInterval(shell.rand, RandomOne, RandomOne * (1.0 + 2.0 * PETSC_MACHINE_EPSILON)));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.restarts == 1 && (renewed ? reason > 0 : reason == KSP_DIVERGED_BREAKDOWN)),
                           "shadow space, renewed %d: %s after %" PetscInt_FMT " restarts", renewed,
                           KSPConvergedReasons[reason], info.restarts));
  if (renewed) {
    PetscCall(SpikeTestResidual(shell.A, b, x, &residual));
    PetscCall(SpikeTestSmall(residual, 20.0 * KSPTEST_RTOL, "true relative residual", "new shadow space"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&S));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&shell.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shadow vectors, which are the last work vectors, are orthonormal to rounding, whoever makes them so */
static PetscErrorCode TestOrthonormal(PetscInt n, PetscInt s, PetscInt way)
{
  const PetscInt columns = PetscMin(s, n);
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PetscRandom    rand;
  PetscReal      most = 0.0;
  char           where[96];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(n, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 11));
  PetscCall(KSPTestCreate(KSPIDRFUSED, PCNONE, A, &ksp));
  PetscCall(KSPIDRSetS(ksp, s));
  PetscCall(KSPIDRFusedSetPetscVectors(ksp, (PetscBool)(way == 1)));
  if (way == 2) PetscCall(KSPIDRGetRandom(ksp, &rand));
  PetscCall(KSPSolve(ksp, b, x));
  for (PetscInt i = 0; i < columns; i++)
    for (PetscInt j = 0; j <= i; j++) {
      PetscScalar dot;

      PetscCall(VecDot(ksp->work[ksp->nwork - columns + i], ksp->work[ksp->nwork - columns + j], &dot));
      most = PetscMax(most, PetscAbsScalar(i == j ? dot - (PetscReal)1.0 : dot));
    }
  PetscCall(
    PetscSNPrintf(where, sizeof(where), "n %" PetscInt_FMT ", s %" PetscInt_FMT ", way %" PetscInt_FMT, n, s, way));
  PetscCall(SpikeTestSmall(most, (way == 2 ? 1e4 : 50.0) * PETSC_MACHINE_EPSILON, "P^H P - I", where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PC       inner;
  PetscInt calls;
} Counting;

static PetscErrorCode CountingApply(PC pc, Vec x, Vec y)
{
  Counting *counting;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &counting));
  PetscCall(PCApply(counting->inner, x, y));
  counting->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A preconditioner that solves the system is applied once, from any guess: what the first product needed of it is the
  solution; in the merged form on several ranks a product too many comes first. ways: plain, with smoothing, with the
  true residual in each iteration, no check
*/
static PetscErrorCode TestDirect(PCType pctype, PetscInt s, PetscInt form)
{
  Mat                A;
  Vec                x, b;
  PetscInt           its;
  PetscReal          residual;
  KSPConvergedReason reason;
  KSPFusedInfo       info;
  PetscMPIInt        size;
  char               where[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MakeMatrix(pctype ? 45 : 140, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (PetscInt way = 0; way < 4; way++) {
    Counting counting = {NULL, 0};
    KSP      ksp;
    PC       pc;

    PetscCall(KSPTestCreate(KSPIDRFUSED, pctype ? pctype : PCSHELL, A, &ksp));
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPIDRSetS(ksp, s));
    PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
    PetscCall(KSPIDRFusedSetSmoothing(ksp, (PetscBool)(way == 1)));
    PetscCall(KSPFusedSetResidualReplacement(ksp, way == 2 ? 1 : 0));
    PetscCall(KSPFusedSetCheckTrueResidual(ksp, (PetscBool)(way != 3)));
    PetscCall(KSPGetPC(ksp, &pc));
    if (!pctype) {
      PetscCall(PCCreate(PETSC_COMM_WORLD, &counting.inner));
      PetscCall(PCSetOperators(counting.inner, A, A));
      PetscCall(PCSetType(counting.inner, PCREDUNDANT));
      PetscCall(PCSetUp(counting.inner));
      PetscCall(PCShellSetContext(pc, &counting));
      PetscCall(PCShellSetApply(pc, CountingApply));
      PetscCall(KSPIDRFusedSetFlexible(ksp, PETSC_BOOL3_FALSE));
    }
    for (PetscInt guess = 0; guess < 2; guess++) {
      PetscCall(PetscSNPrintf(where, sizeof(where),
                              "direct, %s, s %" PetscInt_FMT ", form %" PetscInt_FMT ", way %" PetscInt_FMT
                              ", guess %" PetscInt_FMT,
                              pctype ? pctype : "lu", s, form, way, guess));
      PetscCall(SpikeTestSetRandom(b, 50 + (unsigned)guess));
      PetscCall(SpikeTestSetRandom(x, 52));
      PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
      counting.calls = 0;
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(KSPFusedGetInfo(ksp, &info));
      PetscCall(SpikeTestResidual(A, b, x, &residual));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && (size > 1 || its == 1)),
                               "%s: %s after %" PetscInt_FMT " iterations", where, KSPConvergedReasons[reason], its));
      PetscCall(SpikeTestSmall(residual, 20.0 * KSPTEST_RTOL, "true relative residual", where));
      if (!pctype && way % 3 == 0 && (size == 1 || form == KSP_FUSED_REDUCTIONS_PLAIN))
        PetscCall(SpikeTestCheck((PetscBool)(its == 1 && counting.calls == 1),
                                 "%s: %" PetscInt_FMT " applications in %" PetscInt_FMT " iterations", where,
                                 counting.calls, its));
      if (size == 1)
        PetscCall(SpikeTestCheck((PetscBool)(info.launched == 1), "%s: %" PetscInt_FMT " iterations launched", where,
                                 info.launched));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PCDestroy(&counting.inner));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that are none, limits of iterations, errors of arguments: a reason, and the solver works again afterwards */
static PetscErrorCode TestFailures(PetscInt form)
{
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(140, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 37));
  PetscCall(KSPTestCreate(KSPIDRFUSED, PCSHELL, A, &ksp));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(KSPTestInfinity(ksp, b, x));
  for (PetscInt most = 0; most < 8; most += 3) {
    PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, most));
    PetscCall(KSPTestEnds(ksp, b, x, KSP_DIVERGED_ITS, most, "a limit of iterations"));
  }
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_CONVERGED_ITS, 6, "no norm"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPIDRSetS(ksp, 0);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "s = 0 is error %d", (int)ierr));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPIDRSetCosine(ksp, 1.0);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "cosine 1 is error %d", (int)ierr));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 1, 2, 3, 14, 77}, dimensions[] = {1, 2, 4, 8, 17};
  const PCType   all[]    = {PCNONE, PCJACOBI, PCSPIKE, PCBJACOBI, PCASM, PCGAMG, PCSOR, PCILU, PCLU};
  const PCType   simple[] = {PCNONE, PCJACOBI};
  PetscMPIInt    size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(dimensions); k++) {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(sizes); i++)
      PetscCall(TestReference(sizes[i], dimensions[k], simple[k % 2], PETSC_DECIDE));
    for (size_t i = 1; i < PETSC_STATIC_ARRAY_LENGTH(sizes); i++)
      for (PetscInt way = 0; way < 3; way++) PetscCall(TestOrthonormal(sizes[i], dimensions[k], way));
    for (PetscInt form = 0; form < 2; form++)
      for (PetscInt smoothing = 0; smoothing < 2; smoothing++) {
        PetscCall(TestCosts(dimensions[k], form, (PetscBool)smoothing));
        PetscCall(TestLockstep(simple[(k + (size_t)form) % 2], dimensions[k], orthogs[dimensions[k] % 3], form,
                               (PetscBool)smoothing, smoothing == form ? KSPTEST_RTOL : 0.0));
        PetscCall(TestLockstep(PCNONE, dimensions[k], orthogs[dimensions[k] % 3], form, (PetscBool)smoothing,
                               smoothing == form ? 0.0 : KSPTEST_RTOL));
      }
    for (PetscInt way = 0; way < 2 && !PetscDefined(USE_REAL_SINGLE); way++)
      PetscCall(
        TestLockstep(PCNONE, dimensions[k], KSP_IDRFUSED_ORTHOG_CLASSICAL, 1, PETSC_FALSE, way ? KSPTEST_RTOL : 0.0));
  }
  PetscCall(TestReference(35, 4, PCJACOBI, rank == size - 1 ? 35 : 0));
  for (PetscInt p = 0; p < 2; p++) {
    for (PetscInt smoothing = 0; smoothing < 2; smoothing++) {
      for (PetscInt form = 0; form < 2; form++) PetscCall(TestMonitor(simple[p], form, (PetscBool)smoothing, 0));
      PetscCall(TestMonitor(simple[p], 1, (PetscBool)smoothing, 7));
      for (PetscInt mode = 1; mode < 4; mode++)
        PetscCall(TestTruth(p ? PC_RIGHT : PC_LEFT, (PetscBool)smoothing, mode, PETSC_TRUE));
      PetscCall(TestTruth(p ? PC_RIGHT : PC_LEFT, (PetscBool)smoothing, 1, PETSC_FALSE));
    }
    PetscCall(TestNullSpace(simple[p], p ? PC_RIGHT : PC_LEFT));
    PetscCall(TestFailures(p));
    PetscCall(TestDirect(NULL, p ? 4 : 1, p));
    PetscCall(TestDirect(PCSPIKE, p ? 1 : 4, p));
    PetscCall(TestSkew(p ? 0.0 : 0.7));
    PetscCall(TestShadow((PetscBool)p));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all) - (size > 1 ? 2 : 0); k++) PetscCall(TestChange(all[k]));
  PetscCall(SpikeTestEnd("ksp_idr"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_idr_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
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
         suffix: cuda3
         nsize: 3
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cudacopy
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto sell}}

TEST*/
