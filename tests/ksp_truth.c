/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_truth.c: what fused Krylov methods call converged: sides and norms by default, preconditioners that hide
  residuals, breakdowns at the solution, absolute tolerances, tests of the user
*/
static char help[] = "Fused Krylov methods: what converged means.\n\n";

#include "ksptest.h"

#define N 140

/* The preconditioner: a diagonal matrix */
static PetscErrorCode ShellApply(PC pc, Vec x, Vec y)
{
  Vec *d;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &d));
  PetscCall(VecPointwiseMult(y, x, *d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  KSPType     type;
  PCSide      side;
  KSPNormType norm;
  PetscInt    form; /* 1: the other reductions; 2: smoothing (IDR(s)) */
} Method;

static PetscErrorCode CreateSolver(const Method *method, Mat A, Vec *d, KSP *ksp)
{
  PC        pc;
  PetscBool idr;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(method->type, KSPIDRFUSED, &idr));
  PetscCall(KSPTestCreate(method->type, PCSHELL, A, ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCShellSetContext(pc, d));
  PetscCall(PCShellSetApply(pc, ShellApply));
  PetscCall(PCShellSetApplyTranspose(pc, ShellApply));
  PetscCall(KSPSetPCSide(*ksp, method->side));
  PetscCall(KSPSetNormType(*ksp, method->norm));
  if (method->form == 1)
    PetscCall(KSPFusedSetReductions(*ksp, idr ? KSP_FUSED_REDUCTIONS_PLAIN : KSP_FUSED_REDUCTIONS_MERGED));
  if (method->form == 2) PetscCall(KSPIDRFusedSetSmoothing(*ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What hides a row: CG looks at r.B r, and so finds what the norm of B r does not show. recovers: the form has the
  digits to go on to the tolerance with such a preconditioner
*/
static PetscErrorCode Hiding(const Method *method, PetscReal *factor, PetscBool *recovers)
{
  PetscBool cg;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(method->type, KSPCGFUSED, &cg));
  *factor   = cg ? 0.01 * KSPTEST_RTOL * KSPTEST_RTOL : KSPTEST_RTOL;
  *recovers = (PetscBool)(!(cg && method->form) && !PetscDefined(USE_REAL_SINGLE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  d: 1 over the diagonal of A; `factor` times that in each fifth row. Where the factor is not 0, in a few rows, which
  have no other entries: the preconditioned operator has one more eigenvalue, and any method finds it when it has to
*/
static PetscErrorCode MakeProblem(PetscReal factor, Mat *A, Vec *d, Vec *x, Vec *b)
{
  PetscInt     start, end;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, N / 7, 7, PETSC_DECIDE, 0.1, A));
  PetscCall(MatCreateVecs(*A, x, b));
  if (factor > 0.0) {
    PetscInt rows[N / 35], n = 0;

    PetscCall(MatGetOwnershipRange(*A, &start, &end));
    for (PetscInt i = 0; i < N; i += 35)
      if (i >= start && i < end) rows[n++] = i;
    PetscCall(MatZeroRowsColumns(*A, n, rows, 1.0, NULL, NULL));
  }
  PetscCall(VecDuplicate(*b, d));
  PetscCall(MatGetDiagonal(*A, *d));
  PetscCall(VecReciprocal(*d));
  PetscCall(VecGetOwnershipRange(*d, &start, &end));
  PetscCall(VecGetArray(*d, &a));
  for (PetscInt i = start; i < end; i++)
    if (i % (factor > 0.0 ? 35 : 5) == 0) a[i - start] *= factor;
  PetscCall(VecRestoreArray(*d, &a));
  PetscCall(SpikeTestSetRandom(*b, 61));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyProblem(Mat *A, Vec *d, Vec *x, Vec *b)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(A));
  PetscCall(VecDestroy(d));
  PetscCall(VecDestroy(x));
  PetscCall(VecDestroy(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Side and norm: those of the user, else the method's */
static PetscErrorCode TestDefaults(void)
{
  const struct {
    KSPType     type;
    PetscInt    asked; /* 0: nothing, 1: a side, 2: a norm */
    PCSide      side;
    KSPNormType norm;
  } want[] = {
    {KSPBCGSFUSED, 0, PC_RIGHT, KSP_NORM_UNPRECONDITIONED},
    {KSPIDRFUSED, 0, PC_RIGHT, KSP_NORM_UNPRECONDITIONED},
    {KSPCGFUSED, 0, PC_LEFT, KSP_NORM_UNPRECONDITIONED},
    {KSPBCGSFUSED, 1, PC_LEFT, KSP_NORM_PRECONDITIONED},
    {KSPIDRFUSED, 1, PC_LEFT, KSP_NORM_PRECONDITIONED},
    {KSPBCGSFUSED, 2, PC_LEFT, KSP_NORM_PRECONDITIONED},
    {KSPIDRFUSED, 2, PC_LEFT, KSP_NORM_PRECONDITIONED},
    {KSPCGFUSED, 2, PC_LEFT, KSP_NORM_PRECONDITIONED},
    {KSPCGFUSED, 2, PC_LEFT, KSP_NORM_NATURAL},
    {KSPBCGSFUSED, 2, PC_RIGHT, KSP_NORM_NONE},
    {KSPIDRFUSED, 2, PC_RIGHT, KSP_NORM_NONE},
    {KSPCGFUSED, 2, PC_LEFT, KSP_NORM_NONE},
  };
  Mat A;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, N / 7, 7, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(want); k++)
    for (PetscInt option = 0; option < 2; option++) {
      KSP         ksp;
      PCSide      side;
      KSPNormType norm;

      PetscCall(KSPTestCreate(want[k].type, PCJACOBI, A, &ksp));
      PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 5));
      if (option) {
        PetscCall(KSPSetOptionsPrefix(ksp, "truth_"));
        if (want[k].asked == 1)
          PetscCall(PetscOptionsSetValue(NULL, "-truth_ksp_pc_side", want[k].side == PC_LEFT ? "left" : "right"));
        if (want[k].asked == 2)
          PetscCall(PetscOptionsSetValue(NULL, "-truth_ksp_norm_type", KSPNormTypes[want[k].norm]));
        PetscCall(KSPSetFromOptions(ksp));
        PetscCall(PetscOptionsClearValue(NULL, "-truth_ksp_pc_side"));
        PetscCall(PetscOptionsClearValue(NULL, "-truth_ksp_norm_type"));
      } else {
        if (want[k].asked == 1) PetscCall(KSPSetPCSide(ksp, want[k].side));
        if (want[k].asked == 2) PetscCall(KSPSetNormType(ksp, want[k].norm));
      }
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetPCSide(ksp, &side));
      PetscCall(KSPGetNormType(ksp, &norm));
      PetscCall(SpikeTestCheck((PetscBool)(side == want[k].side && norm == want[k].norm),
                               "%s, case %d: side %s, norm %s", want[k].type, (int)k, PCSides[side],
                               KSPNormTypes[norm]));
      PetscCall(KSPDestroy(&ksp));
    }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A preconditioner that hides a part of the residual: nearly, and the method goes on until the residual is small; or
  wholly, and it says so. trans: by KSPSolveTranspose(); guess: not 0
*/
static PetscErrorCode TestHidden(const Method *method, PetscBool wholly, PetscBool trans, PetscBool guess)
{
  Mat                A;
  Vec                d, x, b;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscReal          residual, factor;
  KSPFusedInfo       info;
  PetscBool          recovers;
  PetscErrorCode     ierr;
  char               where[160];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, form %" PetscInt_FMT ", hidden %s%s%s", method->type,
                          KSPNormTypes[method->norm], method->form, wholly ? "wholly" : "nearly",
                          trans ? ", transposed" : "", guess ? ", with a guess" : ""));
  PetscCall(Hiding(method, &factor, &recovers));
  PetscCall(MakeProblem(wholly ? 0.0 : factor, &A, &d, &x, &b));
  PetscCall(CreateSolver(method, A, &d, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(SpikeTestSetRandom(x, 62));
  PetscCall(KSPSetTolerances(ksp, 10 * KSPTEST_RTOL, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPFusedSetCheckTrueResidual(ksp, PETSC_FALSE));
  for (int check = 0; check < 2; check++) {
    PetscCall(KSPFusedSetCheckTrueResidual(ksp, (PetscBool)check));
    PetscCall(SpikeTestSetRandom(x, 62));
    if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
    else PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    if (trans && PetscDefined(USE_COMPLEX)) {
      Mat At;

      PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
      PetscCall(SpikeTestResidual(At, b, x, &residual));
      PetscCall(MatDestroy(&At));
    } else PetscCall(SpikeTestResidual(A, b, x, &residual));
    if (!check)
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual > 1000 * KSPTEST_RTOL && !info.pcsingular),
                               "%s: %s with %g: the test does not test", where, KSPConvergedReasons[reason],
                               (double)residual));
  }
  if (wholly) {
    PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_BREAKDOWN && info.pcsingular),
                             "%s: ended with %s, true residual %g, singular %d", where, KSPConvergedReasons[reason],
                             (double)residual, info.pcsingular));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = KSPSolve(ksp, b, x);
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_NOT_CONVERGED), "%s: error %d", where, (int)ierr));
  } else {
    PetscCall(SpikeTestCheck((PetscBool)(reason <= 0 || residual <= 1000 * KSPTEST_RTOL),
                             "%s: %s with a true residual of %g", where, KSPConvergedReasons[reason],
                             (double)residual));
    PetscCall(SpikeTestCheck((PetscBool)(info.restarts > 0 && (!recovers || (reason > 0 && !info.pcsingular))),
                             "%s: ended with %s after %" PetscInt_FMT " restarts, true residual %g", where,
                             KSPConvergedReasons[reason], info.restarts, (double)residual));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroyProblem(&A, &d, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same in KSPMatSolve(): the first column and the third are hidden; the second is not, because it is A times a
  vector that is solved in one iteration
*/
static PetscErrorCode TestColumns(const Method *method, KSPFusedMatSolveType type, PetscBool wholly)
{
  Mat                       A, B, X;
  Vec                       d, x, b, v;
  KSP                       ksp;
  PetscInt                  m, n;
  const KSPConvergedReason *reasons;
  PetscReal                 residual, factor;
  KSPFusedInfo              info;
  PetscBool                 device, recovers;
  char                      where[160];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, form %" PetscInt_FMT ", %s, hidden %s", method->type,
                          KSPNormTypes[method->norm], method->form, KSPFusedMatSolveTypes[type],
                          wholly ? "wholly" : "nearly"));
  PetscCall(Hiding(method, &factor, &recovers));
  PetscCall(MakeProblem(wholly ? 0.0 : factor, &A, &d, &x, &b));
  PetscCall(CreateSolver(method, A, &d, &ksp));
  PetscCall(KSPFusedSetMatSolveType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 10 * KSPTEST_RTOL, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
  if (device) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(SpikeTestSetRandom(b, 63 + j));
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    if (j == 1) PetscCall(VecSet(v, 0.0));
    else PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &m, NULL, &reasons, NULL, NULL));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &v));
    PetscCall(VecCopy(v, b));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &v));
    PetscCall(MatDenseGetColumnVecRead(X, j, &v));
    PetscCall(VecCopy(v, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &v));
    if (j == 1) {
      PetscCall(VecNorm(x, NORM_2, &residual));
      PetscCall(SpikeTestCheck((PetscBool)(residual == 0.0 && reasons[j] > 0), "%s: column of 0: %g, %s", where,
                               (double)residual, KSPConvergedReasons[reasons[j]]));
      continue;
    }
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] <= 0 || residual <= 1000 * KSPTEST_RTOL),
                             "%s: column %" PetscInt_FMT ": %s with a true residual of %g", where, j,
                             KSPConvergedReasons[reasons[j]], (double)residual));
    if (wholly)
      PetscCall(SpikeTestCheck((PetscBool)(reasons[j] < 0), "%s: column %" PetscInt_FMT ": %s", where, j,
                               KSPConvergedReasons[reasons[j]]));
    else if (recovers)
      PetscCall(SpikeTestCheck((PetscBool)(reasons[j] > 0 && info.restarts), "%s: column %" PetscInt_FMT ": %s, %g",
                               where, j, KSPConvergedReasons[reasons[j]], (double)residual));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroyProblem(&A, &d, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BiCGStab breaks down in its last iteration: ||b - A x|| is below the tolerance, ||B (b - A x)|| is not. Columns end as
  single solves do
*/
static PetscErrorCode TestLast(PetscInt form, KSPFusedMatSolveType type, PetscBool host)
{
  const Method              method = {KSPBCGSFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, form};
  const PetscScalar         a[]    = {0.0, 2.0, 2.0, -1.0, 2.0, 0.0, -2.0, 1.0, 2.0}; /* by columns */
  Mat                       A, B, X;
  Vec                       x, b, d, v;
  KSP                       ksp;
  PetscInt                  start, end, m;
  const PetscInt           *its;
  const KSPConvergedReason *reasons;
  KSPConvergedReason        reason;
  PetscBool                 device;

  PetscFunctionBegin;
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, 3, a, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscCall(VecSetValue(b, i, i == 1 ? -3.0 : 0.0, INSERT_VALUES));
    PetscCall(VecSetValue(d, i, i == 1 ? 1.0 : 8.0, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(CreateSolver(&method, A, &d, &ksp));
  PetscCall(KSPFusedSetMatSolveType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 0.6, PETSC_CURRENT, 1e10, 1));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, end - start, PETSC_DECIDE, PETSC_DETERMINE, 2, NULL, &B));
  PetscCall(SpikeTestOnDevice(A, &device));
  if (device && !host) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  for (PetscInt j = 0; j < 2; j++) {
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_RTOL), "last iteration, form %" PetscInt_FMT ": %s",
                           form, KSPConvergedReasons[reason]));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &m, &its, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < 2; j++)
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] == reason),
                             "last iteration, form %" PetscInt_FMT ", %s, %s, column %" PetscInt_FMT ": %s, alone %s",
                             form, KSPFusedMatSolveTypes[type], host ? "on the host" : "where A is", j,
                             KSPConvergedReasons[reasons[j]], KSPConvergedReasons[reason]));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UserTest(KSP ksp, PetscInt it, PetscReal rnorm, KSPConvergedReason *reason, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)it;
  *reason = rnorm <= *(PetscReal *)ctx ? KSP_CONVERGED_RTOL : KSP_CONVERGED_ITERATING;
  (void)ksp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A test of the user and an absolute tolerance are believed in the norm that they have; a norm of 0 is not */
static PetscErrorCode TestBelieved(const Method *method)
{
  Mat                A;
  Vec                d, x, b;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscReal          residual, factor, least = 1e-30, few = 10 * KSPTEST_RTOL;
  PetscBool          recovers;
  char               where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s", method->type, KSPNormTypes[method->norm]));
  PetscCall(Hiding(method, &factor, &recovers));
  PetscCall(MakeProblem(factor, &A, &d, &x, &b));
  PetscCall(CreateSolver(method, A, &d, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-30, few, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_ATOL && residual > 1000 * KSPTEST_RTOL),
                           "absolute tolerance, %s: %s with %g", where, KSPConvergedReasons[reason], (double)residual));
  PetscCall(KSPSetConvergenceTest(ksp, UserTest, &few, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_RTOL && residual > 1000 * KSPTEST_RTOL),
                           "test of the user, %s: %s with %g", where, KSPConvergedReasons[reason], (double)residual));
  /* b in rows that B makes 0: no test has said that this is convergence */
  PetscCall(VecSet(d, 1.0));
  PetscCall(VecSet(b, 0.0));
  PetscCall(VecSetValue(d, 0, 0.0, INSERT_VALUES));
  PetscCall(VecSetValue(b, 0, 1.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  few = -least;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "norm 0 and a test of the user, %s: %s", where,
                           KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(CreateSolver(method, A, &d, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "norm 0 at once, %s: %s", where, KSPConvergedReasons[reason]));
  PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "norm 0 at once and a test in the infinity norm, %s: %s", where,
                           KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroyProblem(&A, &d, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A preconditioner that makes rounding in some rows large: the norm of the test stays above its tolerance, and CG, which
  ends there with a true residual below the tolerance, has converged; two columns side by side too
*/
static PetscErrorCode TestShown(void)
{
  const Method              method = {KSPCGFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 0};
  Mat                       A, B, X;
  Vec                       d, x, b, v;
  KSP                       ksp;
  PetscInt                  start, end, n, m;
  KSPConvergedReason        reason;
  const KSPConvergedReason *reasons;
  PetscReal                 residual;
  PetscBool                 device;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, N / 7, 7, PETSC_DECIDE, 0.1, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(SpikeTestSetRandom(b, 65));
  PetscCall(VecSet(d, 0.2));
  PetscCall(VecGetOwnershipRange(b, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    if (i % 35) continue;
    PetscCall(VecSetValue(b, i, 0.0, INSERT_VALUES));
    PetscCall(VecSetValue(d, i, 1e-3 / PETSC_MACHINE_EPSILON, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(VecAssemblyBegin(d));
  PetscCall(VecAssemblyEnd(d));
  PetscCall(CreateSolver(&method, A, &d, &ksp));
  PetscCall(KSPSetTolerances(ksp, KSPTEST_RTOL, PETSC_CURRENT, 1e30, 3000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual <= 100 * KSPTEST_RTOL), "rounding that shows: %s with %g",
                           KSPConvergedReasons[reason], (double)residual));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, 2, NULL, &B));
  if (device) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  for (PetscInt j = 0; j < 2; j++) {
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(VecScale(v, 1.0 + j));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &m, NULL, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < m; j++)
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] > 0), "rounding that shows, column %" PetscInt_FMT ": %s", j,
                             KSPConvergedReasons[reasons[j]]));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroyProblem(&A, &d, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The test in the infinity norm, of B r, is confirmed too */
static PetscErrorCode TestInfinity(KSPType type)
{
  const Method       method = {type, PC_LEFT, KSP_NORM_PRECONDITIONED, 0};
  Mat                A;
  Vec                d, x, b;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscReal          residual;

  PetscFunctionBegin;
  for (int wholly = 0; wholly < 2; wholly++) {
    PetscCall(MakeProblem(wholly ? 0.0 : KSPTEST_RTOL, &A, &d, &x, &b));
    PetscCall(CreateSolver(&method, A, &d, &ksp));
    PetscCall(KSPSetTolerances(ksp, 10 * KSPTEST_RTOL, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(SpikeTestCheck((PetscBool)((reason <= 0 || residual <= 3000 * KSPTEST_RTOL) && (!wholly || reason < 0)),
                             "infinity norm, %s, hidden %d: %s with %g", type, wholly, KSPConvergedReasons[reason],
                             (double)residual));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DestroyProblem(&A, &d, &x, &b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor that asks for the solution and gives no vector for it */
static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  PetscReal *largest = (PetscReal *)ctx, residual, norm;
  Mat        A;
  Vec        v, b, r;

  PetscFunctionBegin;
  (void)it;
  PetscCall(KSPBuildSolution(ksp, NULL, &v));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, v, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *largest = PetscMax(*largest, PetscAbsReal(residual - rnorm) / norm);
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the default side must not change: KSPBuildSolution(ksp, NULL, &v), and solutions without null space */
static PetscErrorCode TestRight(KSPType type, PCType pctype, PetscBool guess)
{
  Mat          A;
  Vec          x, b;
  KSP          ksp;
  MatNullSpace nullspace;
  PetscReal    largest = 0.0, norm;
  PetscScalar  sum;
  char         where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "null space, %s, %s%s", type, pctype, guess ? ", guess" : ""));
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, N / 7, 7, PETSC_DECIDE, 0.0, &A));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
  PetscCall(MatSetNullSpace(A, nullspace));
  PetscCall(MatSetTransposeNullSpace(A, nullspace));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 66));
  PetscCall(SpikeTestSetRandom(x, 67));
  PetscCall(MatNullSpaceRemove(nullspace, x));
  PetscCall(MatNullSpaceRemove(nullspace, b));
  PetscCall(KSPTestCreate(type, pctype, A, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPMonitorSet(ksp, Monitor, &largest, NULL));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(VecSum(x, &sum));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(SpikeTestSmall(PetscAbsScalar(sum), (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10) * norm,
                           "part of x in the null space", where));
  PetscCall(
    SpikeTestSmall(largest, PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-8, "difference of norms in a monitor", where));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  CG for a complex symmetric operator: without conjugates its natural norm is small now and then where the residual is
  not
*/
static PetscErrorCode TestBilinear(void)
{
  Mat       A;
  Vec       x, b;
  KSP       ksp;
  PetscReal rtol;
  char      where[96];

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 100, 7, PETSC_DECIDE, 0.0, &A));
#if PetscDefined(USE_COMPLEX)
  PetscCall(MatShift(A, PetscCMPLX(0.1, 0.05)));
#else
  PetscCall(MatShift(A, 0.1));
#endif
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(KSPTestCreate(KSPCGFUSED, PCNONE, A, &ksp));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NATURAL));
  PetscCall(KSPCGSetType(ksp, KSP_CG_SYMMETRIC));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  for (PetscInt seed = 0; seed < 40; seed++) {
    KSPConvergedReason reason;
    PetscReal          residual;

    PetscCall(PetscSNPrintf(where, sizeof(where), "complex symmetric, right-hand side %" PetscInt_FMT, seed));
    PetscCall(SpikeTestSetRandom(b, 100 + seed));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestResidual(A, b, x, &residual));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
    PetscCall(SpikeTestSmall(residual, 100.0 * rtol, "true relative residual", where));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Method methods[] = {
    {KSPBCGSFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 0}, {KSPBCGSFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 1},
    {KSPIDRFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 0},  {KSPIDRFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 1},
    {KSPIDRFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 2},  {KSPCGFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 0},
    {KSPCGFUSED, PC_LEFT, KSP_NORM_NATURAL, 0},          {KSPCGFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 1},
  };
  const KSPType types[] = {KSPBCGSFUSED, KSPIDRFUSED, KSPCGFUSED};
  const PCType  pcs[]   = {PCNONE, PCJACOBI, PCBJACOBI};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestDefaults());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++) {
    for (int wholly = 0; wholly < 2; wholly++) {
      for (int guess = 0; guess < 2; guess++)
        PetscCall(TestHidden(&methods[k], (PetscBool)wholly, PETSC_FALSE, (PetscBool)guess));
      if (k < 5) PetscCall(TestHidden(&methods[k], (PetscBool)wholly, PETSC_TRUE, PETSC_FALSE));
      PetscCall(TestColumns(&methods[k], KSP_FUSED_MATSOLVE_COLUMNS, (PetscBool)wholly));
      if (k >= 5) PetscCall(TestColumns(&methods[k], KSP_FUSED_MATSOLVE_BLOCK, (PetscBool)wholly));
    }
    PetscCall(TestBelieved(&methods[k]));
  }
  PetscCall(TestShown());
  for (PetscInt form = 0; form < 2; form++) {
    PetscCall(TestLast(form, KSP_FUSED_MATSOLVE_COLUMNS, PETSC_FALSE));
    PetscCall(TestLast(form, KSP_FUSED_MATSOLVE_COLUMNS, PETSC_TRUE));
    PetscCall(TestLast(form, KSP_FUSED_MATSOLVE_SINGLE, PETSC_FALSE));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    if (k < 2) PetscCall(TestInfinity(types[k]));
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(pcs); p++)
      for (int guess = 0; guess < 2; guess++) PetscCall(TestRight(types[k], pcs[p], (PetscBool)guess));
  }
  PetscCall(TestBilinear());
  PetscCall(SpikeTestEnd("ksp_truth"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_truth_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: product
         args: -product petsc
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{petsc auto}}

TEST*/
