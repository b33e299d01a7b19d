/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_change.c: fused Krylov methods: changes between solves, failures, breakdowns, true residuals, other tests, setters
*/
static char help[] = "Fused Krylov methods: changes between solves and failures.\n\n";

#include "ksptest.h"

static PetscErrorCode MakeMatrix(PetscBool cg, PetscInt n, Mat *A)
{
  SpikeTestBand band = {n, 3, 2, 1.1, SPIKE_TEST_SLOW, 25};

  PetscFunctionBegin;
  if (cg) PetscCall(KSPTestGrid(PETSC_COMM_WORLD, n / 7, 7, PETSC_DECIDE, 0.1, A));
  else PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve, and whether its products were those of a copy where they ought to be: on the device see ksp_fused */
static PetscErrorCode SolveByCopy(KSP ksp, Vec b, Vec x, const char where[])
{
  Mat              A;
  PetscBool        device, copy;
  KSPFusedSpMVType asked;
  KSPFusedInfo     info;

  PetscFunctionBegin;
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(KSPFusedGetSpMVType(ksp, &asked));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  copy = (PetscBool)(asked == KSP_FUSED_SPMV_AUTO || asked == KSP_FUSED_SPMV_DIA);
  if (!device)
    PetscCall(SpikeTestCheck((PetscBool)(info.copy == copy &&
                                         info.product == (copy ? KSP_FUSED_SPMV_DIA : KSP_FUSED_SPMV_PETSC)),
                             "%s: product %s, asked for %s", where, KSPFusedSpMVTypes[info.product],
                             KSPFusedSpMVTypes[asked]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver, operators whose values, rows, pattern and sizes change, and the true residual each time by MatMult() */
static PetscErrorCode TestChange(PetscBool cg, PCType pctype, PCSide side, PetscInt form)
{
  Mat              A, A2;
  Vec              x, b, x2, b2;
  KSP              ksp;
  PetscInt         rows[2] = {0, 5}, start, end;
  KSPFusedSpMVType product;
  char             where[128];

  PetscFunctionBegin;
#define WriteWhere(what) \
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, form %" PetscInt_FMT ": %s", cg ? "cg" : "bcgs", pctype, \
                          PCSides[side], form, what))
  PetscCall(MakeMatrix(cg, 140, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 31));
  PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  WriteWhere("first");
  PetscCall(SolveByCopy(ksp, b, x, where));
  WriteWhere("new right-hand side");
  PetscCall(SpikeTestSetRandom(b, 32));
  PetscCall(SolveByCopy(ksp, b, x, where));
  WriteWhere("MatScale");
  PetscCall(MatScale(A, -3.0));
  PetscCall(SolveByCopy(ksp, b, x, where));
  PetscCall(MatScale(A, -1.0));
  WriteWhere("MatShift, preconditioner kept");
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatShift(A, 0.5));
  PetscCall(SolveByCopy(ksp, b, x, where));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  WriteWhere("MatZeroRowsColumns");
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatZeroRowsColumns(A, start == 0 && end > 5 ? 2 : 0, rows, 2.0, NULL, NULL));
  PetscCall(SolveByCopy(ksp, b, x, where));
  WriteWhere("another pattern");
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, start, start + 9, 0.02, INSERT_VALUES));
  PetscCall(MatSetValue(A, start + 9, start, 0.02, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPFusedSetCheckTrueResidual(ksp, PETSC_FALSE)); /* it would repair what an old copy does */
  PetscCall(SolveByCopy(ksp, b, x, where));
  PetscCall(KSPFusedSetCheckTrueResidual(ksp, PETSC_TRUE));
  WriteWhere("another product");
  PetscCall(KSPFusedGetSpMVType(ksp, &product));
  PetscCall(KSPFusedSetSpMVType(ksp, product == KSP_FUSED_SPMV_PETSC ? KSP_FUSED_SPMV_DIA : KSP_FUSED_SPMV_PETSC));
  PetscCall(SolveByCopy(ksp, b, x, where));
  PetscCall(KSPFusedSetSpMVType(ksp, product));
  PetscCall(SolveByCopy(ksp, b, x, where));
  WriteWhere("other vectors");
  PetscCall(VecDuplicate(x, &x2));
  PetscCall(VecDuplicate(b, &b2));
  PetscCall(SpikeTestSetRandom(b2, 33));
  PetscCall(SolveByCopy(ksp, b2, x2, where));
  PetscCall(VecDestroy(&x2));
  PetscCall(VecDestroy(&b2));
  WriteWhere("KSPReset and another size");
  PetscCall(MakeMatrix(cg, 91, &A2));
  PetscCall(MatCreateVecs(A2, &x2, &b2));
  PetscCall(SpikeTestSetRandom(b2, 34));
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A2, A2));
  PetscCall(SolveByCopy(ksp, b2, x2, where));
  WriteWhere("back, and another type between");
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetType(ksp, cg ? KSPCGFUSED : KSPBCGSFUSED));
  PetscCall(SolveByCopy(ksp, b, x, where));
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
  Zero, nonzero and zero guess again: a guess that is kept too long is added to the last solution (KSPBCGS of 3.26.1
  does)
*/
static PetscErrorCode TestStaleGuess(PetscBool check)
{
  Mat A;
  Vec x, b;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 50, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 35));
  PetscCall(KSPTestCreate(KSPBCGSFUSED, PCJACOBI, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPFusedSetCheckTrueResidual(ksp, check)); /* it would repair what a wrong guess has done */
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(k == 1)));
    PetscCall(VecSet(x, 7.0));
    PetscCall(SpikeTestSolve(ksp, b, x, "guess kept from another solve"));
  }
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE)); /* converged at iteration 0 */
  PetscCall(SpikeTestSolve(ksp, b, x, "guess is the solution"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Small matrices by their entries, a right-hand side, and how the solve ends: 0 for any negative reason, or with
  restarts for convergence after a new start
*/
typedef struct {
  const char        *name;
  PetscBool          cg;
  PetscReal          a[9], b[3];
  KSPConvergedReason reason;
  PetscBool          restarts;
} Small;

static PetscErrorCode TestSmall(const Small *t, PetscInt form)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PetscInt           start, end;
  PetscScalar        a[9];
  PetscReal          norm;
  KSPConvergedReason reason;
  KSPFusedInfo       info;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++)
    for (PetscInt j = 0; j < 3; j++) a[i + 3 * j] = t->a[3 * i + j];
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, 3, a, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetOwnershipRange(b, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(VecSetValue(b, i, t->b[i], INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(KSPTestCreate(t->cg ? KSPCGFUSED : KSPBCGSFUSED, PCNONE, A, &ksp));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  if (t->reason)
    PetscCall(SpikeTestCheck((PetscBool)(reason == t->reason), "%s, form %" PetscInt_FMT ": ended with %s, not %s",
                             t->name, form, KSPConvergedReasons[reason], KSPConvergedReasons[t->reason]));
  else if (t->restarts)
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && info.restarts > 0),
                             "%s, form %" PetscInt_FMT ": ended with %s after %" PetscInt_FMT " restarts", t->name,
                             form, KSPConvergedReasons[reason], info.restarts));
  else
    PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "%s, form %" PetscInt_FMT ": ended with %s", t->name, form,
                             KSPConvergedReasons[reason]));
  if (reason > 0) {
    PetscCall(SpikeTestResidual(A, b, x, &norm));
    PetscCall(SpikeTestSmall(norm, 10.0 * KSPTEST_RTOL, "true relative residual", t->name));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A product that is not always A x: mode 0, twice too large in the first calls; mode 1, wrong in the last digits that
  matter, more so each time: the check never meets the operator that the solution is of
*/
typedef struct {
  Mat      A;
  PetscInt calls, mode;
} Liar;

static PetscErrorCode LiarMult(Mat S, Vec x, Vec y)
{
  Liar *liar;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &liar));
  PetscCall(MatMult(liar->A, x, y));
  liar->calls++;
  if (liar->mode == 0 && liar->calls <= 6) PetscCall(VecScale(y, 2.0));
  if (liar->mode == 1) PetscCall(VecScale(y, 1.0 + 1e-2 * liar->calls));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Converged means it: recovered where a new start helps, else a negative reason; without the check the method believes
  its recurrence
*/
static PetscErrorCode TestTruth(PetscBool cg, PCSide side, PetscInt form, PetscInt mode, PetscBool check)
{
  Liar               liar = {NULL, 0, mode};
  Mat                S;
  Vec                x, b;
  KSP                ksp;
  PetscInt           m, n;
  PetscReal          residual;
  VecType            vectype;
  KSPConvergedReason reason;
  KSPFusedInfo       info;
  char               where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "true residual, %s, %s, form %" PetscInt_FMT ", mode %" PetscInt_FMT ", check %d",
                          cg ? "cg" : "bcgs", PCSides[side], form, mode, check));
  PetscCall(MakeMatrix(cg, 140, &liar.A));
  PetscCall(MatCreateVecs(liar.A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 36));
  PetscCall(MatGetLocalSize(liar.A, &m, &n));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, n, PETSC_DETERMINE, PETSC_DETERMINE, &liar, &S));
  PetscCall(MatShellSetOperation(S, MATOP_MULT, (PetscErrorCodeFn *)LiarMult));
  PetscCall(MatGetVecType(liar.A, &vectype));
  PetscCall(MatShellSetVecType(S, vectype));
  PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, PCJACOBI, liar.A, &ksp));
  PetscCall(KSPSetOperators(ksp, S, liar.A));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(KSPFusedSetCheckTrueResidual(ksp, check));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(liar.A, b, x, &residual));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  if (!check)
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual > 100.0 * KSPTEST_RTOL),
                             "%s: %s with %g: the test does not test", where, KSPConvergedReasons[reason],
                             (double)residual));
  else if (mode == 0) {
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && info.restarts > 0),
                             "%s: ended with %s after %" PetscInt_FMT " restarts", where, KSPConvergedReasons[reason],
                             info.restarts));
    PetscCall(SpikeTestSmall(residual, 20.0 * KSPTEST_RTOL, "true relative residual", where));
    PetscCall(SpikeTestSmall(PetscAbsReal(info.truenorm), PETSC_MAX_REAL, "reported norm", where));
  } else
    PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "%s: ended with %s, the true residual is %g", where,
                             KSPConvergedReasons[reason], (double)residual));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&S));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&liar.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that are none, a factorization that fails: a reason, and the solver works again afterwards */
static PetscErrorCode TestFailures(PetscBool cg, PetscInt form)
{
  Mat         A;
  Vec         x, b;
  KSP         ksp;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MakeMatrix(cg, 140, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 37));
  PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, PCSHELL, A, &ksp));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(KSPTestInfinity(ksp, b, x));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_DIVERGED_ITS, 3, "3 iterations"));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 0));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_DIVERGED_ITS, 0, "no iteration"));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 4));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_CONVERGED_ITS, 4, "no norm"));

  if (size == 1) { /* a pivot that is zero */
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatShift(A, 1.0));
    PetscCall(MatZeroEntries(A));
    PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, PCLU, A, &ksp));
    PetscCall(KSPTestEnds(ksp, b, x, KSP_DIVERGED_PC_FAILED, -1, "a factorization that fails"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscReal first, last, before;
} InfinityNorms;

static PetscErrorCode InfinityMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  InfinityNorms *norms = (InfinityNorms *)ctx;
  Vec            r;

  PetscFunctionBegin;
  (void)rnorm;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  norms->before = norms->last;
  PetscCall(VecNorm(r, NORM_INFINITY, &norms->last));
  if (!it) norms->first = norms->last;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The first iterate whose residual is small enough in the infinity norm, and not one more; with PETSc's own method the
  same
*/
static PetscErrorCode TestInfinity(KSPType type, PCSide side)
{
  InfinityNorms      norms;
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 350, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 39));
  PetscCall(KSPTestCreate(type, PCJACOBI, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, side));
  PetscCall(KSPSetTolerances(ksp, 1e-3, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscCall(KSPMonitorSet(ksp, InfinityMonitor, &norms, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_RTOL), "infinity norm, %s: %s", type,
                           KSPConvergedReasons[reason]));
  PetscCall(SpikeTestCheck((PetscBool)(norms.last <= 1.0001e-3 * norms.first && norms.before > 0.9999e-3 * norms.first),
                           "infinity norm, %s: the last two are %g and %g, the first %g", type, (double)norms.before,
                           (double)norms.last, (double)norms.first));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSetters(void)
{
  KSP                    ksp;
  KSPFusedReductions     form;
  KSPFusedSpMVType       spmv;
  KSPFusedPersistentType persistent;
  PetscBool              flg;
  PetscInt               k;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPFusedSetLockstep(ksp, PETSC_TRUE)); /* of no effect on other types */
  PetscCall(KSPSetType(ksp, KSPCGFUSED));
  PetscCall(KSPFusedGetReductions(ksp, &form));
  PetscCall(SpikeTestCheck((PetscBool)(form == KSP_FUSED_REDUCTIONS_PLAIN), "default form"));
  PetscCall(KSPFusedGetCheckTrueResidual(ksp, &flg));
  PetscCall(SpikeTestCheck(flg, "default of the check"));
  PetscCall(KSPFusedGetGraph(ksp, &flg));
  PetscCall(SpikeTestCheck(flg, "default of graphs"));
  PetscCall(KSPFusedGetSpMVType(ksp, &spmv));
  PetscCall(SpikeTestCheck((PetscBool)(spmv == KSP_FUSED_SPMV_AUTO), "default product"));
  PetscCall(KSPFusedGetPersistent(ksp, &persistent));
  PetscCall(
    SpikeTestCheck((PetscBool)(persistent == KSP_FUSED_PERSISTENT_AUTO), "default of iterations in one kernel"));
  PetscCall(PetscOptionsInsertString(NULL, "-ksp_fused_reductions merged -ksp_fused_check_true_residual 0 "
                                           "-ksp_fused_residual_replacement 9 -ksp_fused_lockstep -ksp_fused_graph off "
                                           "-ksp_fused_persistent on -ksp_fused_spmv petsc"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPFusedGetReductions(ksp, &form));
  PetscCall(SpikeTestCheck((PetscBool)(form == KSP_FUSED_REDUCTIONS_MERGED), "-ksp_fused_reductions"));
  PetscCall(KSPFusedGetCheckTrueResidual(ksp, &flg));
  PetscCall(SpikeTestCheck((PetscBool)!flg, "-ksp_fused_check_true_residual"));
  PetscCall(KSPFusedGetResidualReplacement(ksp, &k));
  PetscCall(SpikeTestCheck((PetscBool)(k == 9), "-ksp_fused_residual_replacement"));
  PetscCall(KSPFusedGetLockstep(ksp, &flg));
  PetscCall(SpikeTestCheck(flg, "-ksp_fused_lockstep"));
  PetscCall(KSPFusedGetGraph(ksp, &flg));
  PetscCall(SpikeTestCheck((PetscBool)!flg, "-ksp_fused_graph"));
  PetscCall(KSPFusedGetPersistent(ksp, &persistent));
  PetscCall(SpikeTestCheck((PetscBool)(persistent == KSP_FUSED_PERSISTENT_ON), "-ksp_fused_persistent"));
  PetscCall(KSPFusedGetSpMVType(ksp, &spmv));
  PetscCall(SpikeTestCheck((PetscBool)(spmv == KSP_FUSED_SPMV_PETSC), "-ksp_fused_spmv"));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPFusedSetResidualReplacement(ksp, -1);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "a negative number of iterations is accepted"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_reductions"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_check_true_residual"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_residual_replacement"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_lockstep"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_graph"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_persistent"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused_spmv"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x^T A x = 0 at the very start: a breakdown, and no new start */
static PetscErrorCode TestStart(void)
{
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           start, end;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 2, 2, 2, NULL, 2, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscCall(MatSetValue(A, i, i, 0.0, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, 1 - i, 1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  if (!start && end) PetscCall(VecSetValue(b, 0, 1.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  for (PetscInt form = 0; form < 2; form++) {
    PetscCall(KSPTestCreate(KSPCGFUSED, PCNONE, A, &ksp));
    PetscCall(KSPCGSetType(ksp, KSP_CG_SYMMETRIC));
    PetscCall(KSPFusedSetReductions(ksp, form ? KSP_FUSED_REDUCTIONS_MERGED : KSP_FUSED_REDUCTIONS_PLAIN));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_BREAKDOWN),
                             "breakdown at the start, form %" PetscInt_FMT ": reason %d", form, (int)reason));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An absolute tolerance in the infinity norm, which the 2-norm of the same residual is above */
static PetscErrorCode TestAbsolute(void)
{
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 400, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 39));
  PetscCall(KSPTestCreate(KSPBCGSFUSED, PCJACOBI, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, PC_LEFT));
  PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, 0.0, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-7, PETSC_CURRENT, 500));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_ATOL), "absolute tolerance, infinity norm: %s",
                           KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other types of the same PC object: nothing of the one before is taken for the next one's */
static PetscErrorCode TestTypes(PetscInt form)
{
  const PCType types[] = {PCSPIKE, PCBLOCKILU, PCSPIKE, PCNONE, PCSPIKE, PCJACOBI, PCBLOCKILU};
  Mat          A;
  Vec          b, x;
  KSP          ksp;
  PC           pc;
  char         where[96];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(PETSC_FALSE, 140, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 40));
  PetscCall(KSPTestCreate(KSPBCGSFUSED, PCNONE, A, &ksp));
  PetscCall(KSPFusedSetReductions(ksp, (KSPFusedReductions)form));
  PetscCall(KSPGetPC(ksp, &pc));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "form %" PetscInt_FMT ", type %d, %s", form, (int)k, types[k]));
    PetscCall(PCSetType(pc, types[k]));
    PetscCall(SolveByCopy(ksp, b, x, where));
    PetscCall(MatShift(A, 10.0));
    PetscCall(SolveByCopy(ksp, b, x, where));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Small small[] =
    {{"zero operator", PETSC_FALSE, {0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3}, KSP_DIVERGED_BREAKDOWN, PETSC_FALSE},
     {"zero operator, cg",
      PETSC_TRUE,
      {0, 0, 0, 0, 0, 0, 0, 0, 0},
      {1, 2, 3},
      KSP_DIVERGED_INDEFINITE_MAT,
      PETSC_FALSE},
     {"skew operator", PETSC_FALSE, {0, 1, 2, -1, 0, 3, -2, -3, 0}, {1, 2, 3}, (KSPConvergedReason)0, PETSC_FALSE},
     {"singular operator", PETSC_FALSE, {1, 0, 0, 0, 2, 0, 0, 0, 0}, {1, 2, 3}, (KSPConvergedReason)0, PETSC_FALSE},
     {"indefinite, cg", PETSC_TRUE, {1, 0, 0, 0, -5, 0, 0, 0, 2}, {1, 1, 1}, KSP_DIVERGED_INDEFINITE_MAT, PETSC_FALSE},
     {"negative, cg", PETSC_TRUE, {-1, 0, 0, 0, -5, 0, 0, 0, -2}, {1, 1, 1}, KSP_CONVERGED_RTOL, PETSC_FALSE},
     {"identity", PETSC_FALSE, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 2, -1}, KSP_CONVERGED_ATOL, PETSC_FALSE},
     {"identity, cg", PETSC_TRUE, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 2, -1}, KSP_CONVERGED_ATOL, PETSC_FALSE},
     {"zero on the diagonal", PETSC_FALSE, {0, 1, 0, 0, 0, 1, 1, 0, 0}, {1, 0, 0}, (KSPConvergedReason)0, PETSC_FALSE},
     {"rho = 0 after one", PETSC_FALSE, {0, 2, 0, 2, 1, 2, 2, 0, 0}, {1, -1, -1}, (KSPConvergedReason)0, PETSC_TRUE},
     {"rho = 0, another", PETSC_FALSE, {0, -1, 2, 1, 1, 1, -2, -1, 2}, {1, -1, -1}, (KSPConvergedReason)0, PETSC_TRUE},
     {"rp.v = 0 after one", PETSC_FALSE, {1, 1, -1, -1, 0, -1, 1, 0, 2}, {0, 2, 2}, (KSPConvergedReason)0, PETSC_TRUE}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt form = 0; form < 2; form++) {
    for (PetscInt cg = 0; cg < 2; cg++) {
      PetscCall(TestChange((PetscBool)cg, PCNONE, PC_LEFT, form));
      PetscCall(TestChange((PetscBool)cg, PCJACOBI, PC_LEFT, form));
      PetscCall(TestChange((PetscBool)cg, PCSPIKE, PC_LEFT, form));
      if (!cg) PetscCall(TestChange(PETSC_FALSE, PCJACOBI, PC_RIGHT, form));
      if (!cg) PetscCall(TestChange(PETSC_FALSE, PCSPIKE, PC_RIGHT, form));
      if (!cg) PetscCall(TestChange(PETSC_FALSE, PCBJACOBI, PC_RIGHT, form));
      PetscCall(TestFailures((PetscBool)cg, form));
      for (PetscInt mode = 0; mode < 2; mode++)
        for (PetscInt check = 0; check < 2; check++) {
          if (cg && form) continue; /* an operator that is not one */
          PetscCall(TestTruth((PetscBool)cg, PC_LEFT, form, mode, (PetscBool)check));
          if (!cg) PetscCall(TestTruth(PETSC_FALSE, PC_RIGHT, form, mode, (PetscBool)check));
        }
    }
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(small); k++) PetscCall(TestSmall(&small[k], form));
  }
  for (PetscInt check = 0; check < 2; check++) PetscCall(TestStaleGuess((PetscBool)check));
  PetscCall(TestInfinity(KSPBCGSFUSED, PC_RIGHT));
  PetscCall(TestInfinity(KSPBCGS, PC_RIGHT));
  for (PetscInt form = 0; form < 2; form++) PetscCall(TestTypes(form));
  PetscCall(TestStart());
  PetscCall(TestAbsolute());
  PetscCall(TestSetters());
  PetscCall(SpikeTestEnd("ksp_change"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_change_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: product
         args: -product {{petsc sell dia}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cudacopy
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto sell}}

TEST*/
