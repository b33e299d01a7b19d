/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_extreme.c: fused Krylov methods where squares of norms overflow or underflow. Matrix and right-hand side are those
  of a problem of ordinary size times a power of two, so that iterations and norms are those of that problem
*/
static char help[] = "Fused Krylov methods: matrices and right-hand sides that are very large or very small.\n\n";

#include "ksptest.h"

#define N     140
#define LARGE (PetscDefined(USE_REAL_SINGLE) ? 100 : 940)

typedef struct {
  KSPType     type;
  PCSide      side;
  KSPNormType norm;
  PetscInt    form; /* 1: the other reductions; 2: smoothing (IDR(s)) */
} Method;

static const Method methods[] =
  {{KSPBCGSFUSED, PC_RIGHT, KSP_NORM_UNPRECONDITIONED, 0}, {KSPBCGSFUSED, PC_RIGHT, KSP_NORM_UNPRECONDITIONED, 1},
   {KSPBCGSFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 0},    {KSPIDRFUSED, PC_RIGHT, KSP_NORM_UNPRECONDITIONED, 0},
   {KSPIDRFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 1},     {KSPIDRFUSED, PC_RIGHT, KSP_NORM_UNPRECONDITIONED, 2},
   {KSPCGFUSED, PC_LEFT, KSP_NORM_UNPRECONDITIONED, 0},    {KSPCGFUSED, PC_LEFT, KSP_NORM_UNPRECONDITIONED, 1},
   {KSPCGFUSED, PC_LEFT, KSP_NORM_PRECONDITIONED, 0},      {KSPCGFUSED, PC_LEFT, KSP_NORM_NATURAL, 0}};

static PetscReal Power(PetscInt e)
{
  return (PetscReal)ldexp(1.0, (int)e);
}

/* ||b - A x|| / ||b||, b is about 2^e */
static PetscErrorCode GetResidual(Mat A, Vec b, Vec x, PetscInt e, PetscReal *residual)
{
  Vec       r, c;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &c));
  PetscCall(VecCopy(b, c));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(KSPTestTimes(r, -e));
  PetscCall(KSPTestTimes(c, -e));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(c, NORM_2, &norm));
  *residual /= norm;
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const Method *method, PCType pctype, Mat A, KSP *ksp)
{
  PetscBool idr;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(method->type, KSPIDRFUSED, &idr));
  PetscCall(KSPTestCreate(method->type, pctype, A, ksp));
  PetscCall(KSPSetPCSide(*ksp, method->side));
  PetscCall(KSPSetNormType(*ksp, method->norm));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, 0.0, PETSC_CURRENT, PETSC_CURRENT));
  if (method->form == 1)
    PetscCall(KSPFusedSetReductions(*ksp, idr ? KSP_FUSED_REDUCTIONS_PLAIN : KSP_FUSED_REDUCTIONS_MERGED));
  if (method->form == 2) PetscCall(KSPIDRFusedSetSmoothing(*ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Hermitian definite matrix times 2^ea; x random, times 2^eb, b about 2^(ea + eb) */
static PetscErrorCode MakeProblem(PetscInt ea, PetscInt eb, Mat *A, Vec *x, Vec *b)
{
  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, N / 7, 7, PETSC_DECIDE, 0.1, A));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscCall(SpikeTestSetRandom(*b, 71));
  for (PetscInt k = 0; k < 2; k++) PetscCall(MatScale(*A, Power(k ? ea - ea / 2 : ea / 2)));
  PetscCall(KSPTestTimes(*b, ea + eb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat                A;
  Vec                b;
  PetscInt           e, calls;
  PetscReal          largest;
  PetscReal          rtol;
  PetscBool          unpreconditioned;
  KSPConvergedReason reason;
} Watch;

/* What a monitor sees: the caller's right-hand side, and a residual whose norm is the one that it is told */
static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  Watch    *w = (Watch *)ctx;
  Vec       b, v;
  PetscReal residual, norm;

  PetscFunctionBegin;
  (void)it;
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(SpikeTestCheck((PetscBool)(b == w->b), "a monitor sees another right-hand side"));
  PetscCall(KSPGetResidualNorm(ksp, &norm));
  PetscCall(
    SpikeTestCheck((PetscBool)(norm == rnorm), "a monitor sees %g and is told %g", (double)norm, (double)rnorm));
  PetscCall(KSPBuildSolution(ksp, NULL, &v));
  PetscCall(GetResidual(w->A, w->b, v, w->e, &residual));
  if (!w->calls++) w->largest = 0.0;
  if (w->unpreconditioned) {
    Vec c;

    PetscCall(VecDuplicate(b, &c));
    PetscCall(VecCopy(b, c));
    PetscCall(KSPTestTimes(c, -w->e));
    PetscCall(VecNorm(c, NORM_2, &norm));
    PetscCall(VecDestroy(&c));
    w->largest = PetscMax(w->largest, PetscAbsReal(rnorm / Power(w->e) / norm - residual));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A test of the user: relative to the first norm, in the caller's scale */
static PetscErrorCode UserTest(KSP ksp, PetscInt it, PetscReal rnorm, KSPConvergedReason *reason, PetscCtx ctx)
{
  Watch *w = (Watch *)ctx;
  Vec    b;

  PetscFunctionBegin;
  if (!it) w->largest = rnorm;
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(SpikeTestCheck((PetscBool)(b == w->b), "a test of the user sees another right-hand side"));
  *reason = rnorm <= w->rtol * w->largest ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Error(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)rnorm;
  (void)ctx;
  PetscCheck(it < 2, PetscObjectComm((PetscObject)ksp), PETSC_ERR_USER, "An error in the middle of a solve");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations and norms of a scaled problem are those of the problem; its solution is right */
static PetscErrorCode TestScaled(const Method *method, PCType pctype, PetscInt ea, PetscInt eb, PetscBool guess,
                                 PetscBool trans)
{
  const PetscReal    tol      = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6;
  PetscReal          first[2] = {0.0, 0.0}, last[2] = {0.0, 0.0}, residual;
  PetscInt           its[2];
  KSPConvergedReason reason;
  char               where[192];
  PetscBool          device;

  PetscFunctionBegin;
  PetscCall(KSPTestOnDevice(&device));
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s, %s, form %" PetscInt_FMT ", %s, A 2^%" PetscInt_FMT ", x 2^%" PetscInt_FMT "%s%s",
                          method->type, KSPNormTypes[method->norm], method->form, pctype, ea, eb,
                          guess ? ", with a guess" : "", trans ? ", transposed" : ""));
  for (PetscInt k = 0; k < 2; k++) {
    const PetscInt  e  = k ? ea + eb : 0;
    const PetscBool un = (PetscBool)(method->norm == KSP_NORM_UNPRECONDITIONED);
    /* what the norm of the test has lost of the matrix */
    const PetscInt   enorm = !k ? 0 : un ? e : method->norm == KSP_NORM_NATURAL ? eb + ea / 2 : eb;
    const PetscReal *history;
    PetscInt         length;
    Mat              A;
    Vec              x, b;
    KSP              ksp;
    Watch            watch = {NULL, NULL, e, 0, 0.0, KSPTEST_RTOL, un, KSP_CONVERGED_ITERATING};

    PetscCall(MakeProblem(k ? ea : 0, k ? eb : 0, &A, &x, &b));
    PetscCall(CreateSolver(method, pctype, A, &ksp));
    PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
    PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
    watch.A = A;
    watch.b = b;
    if (k && guess) PetscCall(KSPMonitorSet(ksp, Monitor, &watch, NULL));
    PetscCall(SpikeTestSetRandom(x, 72));
    if (k) PetscCall(KSPTestTimes(x, eb));
    if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
    else PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(KSPGetResidualHistory(ksp, &history, &length));
    PetscCall(SpikeTestCheck((PetscBool)(length > 1 && history[length - 1] > 0.0), "%s: no history", where));
    if (length > 1) {
      first[k] = history[0] / Power(enorm);
      last[k]  = history[length - 1] / Power(enorm);
    }
    if (trans && PetscDefined(USE_COMPLEX)) {
      PetscCall(VecConjugate(x)); /* A^T = conj(A): A conj(x) = conj(b) */
      PetscCall(VecConjugate(b));
    }
    PetscCall(GetResidual(A, b, x, e, &residual));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: %s", where, KSPConvergedReasons[reason]));
    PetscCall(SpikeTestSmall(residual, 1000 * KSPTEST_RTOL, "true residual", where));
    PetscCall(SpikeTestSmall(watch.largest, tol, "difference of the norm of a monitor from its residual", where));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(SpikeTestSmall(PetscAbsReal(first[1] - first[0]), tol * first[0], "difference of first norms", where));
  /* PETSc's transposed product on a device adds in no fixed order, thus two solves of one problem end differently */
  PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its[0] - its[1]) <= (trans && device ? its[0] / 5 : 0)),
                           "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT, where, its[1], its[0]));
  if (!trans || !device)
    PetscCall(SpikeTestSmall(PetscAbsReal(last[1] - last[0]), tol * last[0], "difference of last norms", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Absolute tolerances, and tests of the user, are in the caller's scale */
static PetscErrorCode TestTolerances(const Method *method, PetscInt e)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscReal          residual, rnorm, atol = Power(e) * (PetscReal)1e-2, kept, given;
  Watch              watch = {NULL, NULL, e, 0, 0.0, KSPTEST_RTOL, PETSC_TRUE, KSP_CONVERGED_ITERATING};
  char               where[96];
  KSPFusedInfo       info;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(where, sizeof(where), "%s, form %" PetscInt_FMT ", 2^%" PetscInt_FMT, method->type, method->form, e));
  PetscCall(MakeProblem(e, 0, &A, &x, &b));
  PetscCall(CreateSolver(method, PCJACOBI, A, &ksp));
  PetscCall(KSPSetTolerances(ksp, 0.0, atol, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, &rnorm));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_ATOL && rnorm < atol && rnorm > (PetscReal)1e-4 * atol),
                           "absolute tolerance %g, %s: %s with %g", (double)atol, where, KSPConvergedReasons[reason],
                           (double)rnorm));
  PetscCall(KSPGetTolerances(ksp, NULL, &kept, NULL, NULL));
  PetscCall(
    SpikeTestCheck((PetscBool)(kept == atol), "%s: the absolute tolerance is %g afterwards", where, (double)kept));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.unit != 1.0 && info.truenorm > 0.1 * rnorm && info.truenorm < 10 * rnorm),
                           "%s: unit %g, true norm %g, norm %g", where, (double)info.unit, (double)info.truenorm,
                           (double)rnorm));
  watch.A = A;
  watch.b = b;
  PetscCall(KSPSetConvergenceTest(ksp, UserTest, &watch, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(GetResidual(A, b, x, e, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_HAPPY_BREAKDOWN && residual < 10 * KSPTEST_RTOL),
                           "test of the user, %s: %s with %g", where, KSPConvergedReasons[reason], (double)residual));
  PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, KSPTEST_RTOL, 0.0, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(GetResidual(A, b, x, e, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual < 100 * KSPTEST_RTOL), "infinity norm, %s: %s with %g",
                           where, KSPConvergedReasons[reason], (double)residual));
  PetscCall(KSPDestroy(&ksp));
  /* an error in the middle of a solve leaves right-hand side and tolerances alone */
  PetscCall(CreateSolver(method, PCJACOBI, A, &ksp));
  PetscCall(KSPSetTolerances(ksp, KSPTEST_RTOL, atol * KSPTEST_RTOL * KSPTEST_RTOL, PETSC_CURRENT, 1000));
  PetscCall(KSPGetTolerances(ksp, NULL, &given, NULL, NULL));
  PetscCall(KSPMonitorSet(ksp, Error, NULL, NULL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(KSPGetTolerances(ksp, NULL, &kept, NULL, NULL));
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_USER), "%s: error %d", where, (int)ierr));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && kept == given), "%s: after an error %s", where,
                           KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solutions that no number can hold, preconditioners that overflow or underflow: never converged */
static PetscErrorCode TestNone(const Method *method)
{
  const PetscInt     far  = PetscDefined(USE_REAL_SINGLE) ? 165 : LARGE / 4 * 5;
  const PetscInt     ea[] = {LARGE, LARGE, -LARGE}, eb[] = {-far - LARGE / 4, -far, far};
  KSPConvergedReason reason;
  char               where[128];

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ea); k++) {
    Mat A;
    Vec x, b;
    KSP ksp;

    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, form %" PetscInt_FMT ", case %d", method->type,
                            KSPNormTypes[method->norm], method->form, (int)k));
    PetscCall(MakeProblem(ea[k], eb[k], &A, &x, &b));
    PetscCall(CreateSolver(method, PCJACOBI, A, &ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason < 0), "%s: %s", where, KSPConvergedReasons[reason]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPMatSolve(): a column each of ordinary size, 0, tiny and huge; or all tiny */
static PetscErrorCode TestColumns(const Method *method, KSPFusedMatSolveType type, PetscInt ea, PetscBool guess)
{
  const PetscInt            e[] = {-ea, 0, LARGE / 8 * 7, -LARGE / 8 * 7, 0};
  Mat                       A, B, X;
  Vec                       x, b, v;
  KSP                       ksp;
  PetscInt                  m, n;
  const KSPConvergedReason *reasons;
  PetscReal                 residual;
  PetscBool                 device;
  char                      where[160];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, form %" PetscInt_FMT ", %s, A 2^%" PetscInt_FMT "%s",
                          method->type, KSPNormTypes[method->norm], method->form, KSPFusedMatSolveTypes[type], ea,
                          guess ? ", guess" : ""));
  PetscCall(MakeProblem(ea, 0, &A, &x, &b));
  PetscCall(CreateSolver(method, PCJACOBI, A, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPFusedSetMatSolveType(ksp, type));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, 5, NULL, &B));
  if (device) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt j = 0; j < 5; j++) {
    PetscCall(SpikeTestSetRandom(b, 73 + j));
    PetscCall(KSPTestTimes(b, ea ? ea : e[j]));
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    if (j == 1) PetscCall(VecSet(v, 0.0));
    else PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
    PetscCall(MatDenseGetColumnVecWrite(X, j, &v));
    PetscCall(VecSet(v, guess && j != 1 ? Power(ea ? 0 : e[j]) : 0.0));
    PetscCall(MatDenseRestoreColumnVecWrite(X, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPFusedGetColumns(ksp, &m, NULL, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < 5; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &v));
    PetscCall(VecCopy(v, b));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &v));
    PetscCall(MatDenseGetColumnVecRead(X, j, &v));
    PetscCall(VecCopy(v, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &v));
    if (j == 1) PetscCall(VecNorm(x, NORM_INFINITY, &residual));
    else PetscCall(GetResidual(A, b, x, ea ? ea : e[j], &residual));
    PetscCall(SpikeTestCheck((PetscBool)(reasons[j] > 0 && residual <= 1000 * KSPTEST_RTOL),
                             "%s: column %" PetscInt_FMT ": %s, %g", where, j, KSPConvergedReasons[reasons[j]],
                             (double)residual));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* of the matrix, and of the solution */
  const PetscInt ea[] = {LARGE, -LARGE, LARGE / 2, -LARGE / 2, 0, 0},
                 eb[] = {0, 0, 0, 0, LARGE / 8 * 7, -LARGE / 8 * 7};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++) {
    const PetscBool cg = (PetscBool)(methods[k].type[0] == 'c'),
                    un = (PetscBool)(methods[k].norm == KSP_NORM_UNPRECONDITIONED);

    for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ea); e++) {
      /* the preconditioned norm of CG is of ordinary size where b is not, and z.r is not */
      if (cg && !un && ea[e]) continue;
      for (int guess = 0; guess < 2; guess++)
        PetscCall(TestScaled(&methods[k], PCJACOBI, ea[e], eb[e], (PetscBool)guess, PETSC_FALSE));
      if (!cg) PetscCall(TestScaled(&methods[k], PCJACOBI, ea[e], eb[e], PETSC_FALSE, PETSC_TRUE));
      PetscCall(TestScaled(&methods[k], PCBLOCKILU, ea[e], eb[e], PETSC_FALSE, PETSC_FALSE));
    }
    if (un) PetscCall(TestTolerances(&methods[k], LARGE));
    if (un) PetscCall(TestTolerances(&methods[k], -LARGE / 8 * 7));
    PetscCall(TestNone(&methods[k]));
    for (int guess = 0; guess < 2; guess++) {
      PetscCall(TestColumns(&methods[k], KSP_FUSED_MATSOLVE_COLUMNS, 0, (PetscBool)guess));
      if (cg) PetscCall(TestColumns(&methods[k], KSP_FUSED_MATSOLVE_BLOCK, 0, (PetscBool)guess));
      if (un) PetscCall(TestColumns(&methods[k], KSP_FUSED_MATSOLVE_COLUMNS, -LARGE, (PetscBool)guess));
    }
  }
  PetscCall(SpikeTestEnd("ksp_extreme"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_extreme_1.out
      test:
         suffix: 1
         nsize: {{1 3}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
