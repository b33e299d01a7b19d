/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_veiled.c: vectors with operations and without arrays, as Jacobi-Davidson of SLEPc has: PETSc's method of the same
  kind solves, with the caller's tests, monitors and preconditioner
*/
static char help[] = "Fused Krylov methods on vectors that show no array.\n\n";

#include "ksptest.h"
#include <petsc/private/vecimpl.h>

/* Vectors that show no array: operations go to the vector behind */
#define VECVEILED "veiled"

static Vec Unveiled(Vec v)
{
  return (Vec)v->data;
}

static PetscErrorCode VecDuplicate_Veiled(Vec v, Vec *w)
{
  PetscFunctionBegin;
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), w));
  PetscCall(VecSetSizes(*w, v->map->n, v->map->N));
  PetscCall(VecSetType(*w, VECVEILED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDuplicateVecs_Veiled(Vec v, PetscInt n, Vec **w)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, w));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDuplicate(v, &(*w)[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDestroyVecs_Veiled(PetscInt n, Vec v[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDestroy_Veiled(Vec v)
{
  Vec bare = Unveiled(v);

  PetscFunctionBegin;
  PetscCall(VecDestroy(&bare));
  v->data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetSize_Veiled(Vec x, PetscInt *n)
{
  PetscFunctionBegin;
  *n = x->map->N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetLocalSize_Veiled(Vec x, PetscInt *n)
{
  PetscFunctionBegin;
  *n = x->map->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDot_Veiled(Vec x, Vec y, PetscScalar *dot)
{
  PetscFunctionBegin;
  PetscCall(VecDot(Unveiled(x), Unveiled(y), dot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecTDot_Veiled(Vec x, Vec y, PetscScalar *dot)
{
  PetscFunctionBegin;
  PetscCall(VecTDot(Unveiled(x), Unveiled(y), dot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotNorm2_Veiled(Vec x, Vec y, PetscScalar *dot, PetscScalar *square)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecDotNorm2(Unveiled(x), Unveiled(y), dot, &norm));
  *square = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDotLocal_Veiled(Vec x, Vec y, PetscScalar *dot)
{
  PetscFunctionBegin;
  PetscCall((*Unveiled(x)->ops->dot_local)(Unveiled(x), Unveiled(y), dot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecNormLocal_Veiled(Vec x, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall((*Unveiled(x)->ops->norm_local)(Unveiled(x), type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDotLocal_Veiled(Vec x, PetscInt n, const Vec y[], PetscScalar dots[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDotLocal_Veiled(x, y[i], &dots[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMDot_Veiled(Vec x, PetscInt n, const Vec y[], PetscScalar dots[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDot(Unveiled(x), Unveiled(y[i]), &dots[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecNorm_Veiled(Vec x, NormType type, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(VecNorm(Unveiled(x), type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecScale_Veiled(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(VecScale(Unveiled(x), a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecCopy_Veiled(Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(Unveiled(x), Unveiled(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSet_Veiled(Vec x, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(VecSet(Unveiled(x), a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPY_Veiled(Vec y, PetscScalar a, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecAXPY(Unveiled(y), a, Unveiled(x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBY_Veiled(Vec y, PetscScalar a, PetscScalar b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecAXPBY(Unveiled(y), a, b, Unveiled(x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAYPX_Veiled(Vec y, PetscScalar a, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecAYPX(Unveiled(y), a, Unveiled(x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecWAXPY_Veiled(Vec w, PetscScalar a, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecWAXPY(Unveiled(w), a, Unveiled(x), Unveiled(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecAXPBYPCZ_Veiled(Vec z, PetscScalar a, PetscScalar b, PetscScalar c, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecAXPBYPCZ(Unveiled(z), a, b, c, Unveiled(x), Unveiled(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecMAXPY_Veiled(Vec y, PetscInt n, const PetscScalar a[], Vec x[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(VecAXPY(Unveiled(y), a[i], Unveiled(x[i])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecSetRandom_Veiled(Vec x, PetscRandom random)
{
  PetscFunctionBegin;
  PetscCall(VecSetRandom(Unveiled(x), random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecCreate_Veiled(Vec v)
{
  Vec bare;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(v->map));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)v), &bare));
  PetscCall(VecSetSizes(bare, v->map->n, v->map->N));
  PetscCall(VecSetType(bare, VECSTANDARD));
  v->data               = bare;
  v->petscnative        = PETSC_FALSE;
  v->ops->duplicate     = VecDuplicate_Veiled;
  v->ops->duplicatevecs = VecDuplicateVecs_Veiled;
  v->ops->destroyvecs   = VecDestroyVecs_Veiled;
  v->ops->destroy       = VecDestroy_Veiled;
  v->ops->dot           = VecDot_Veiled;
  v->ops->tdot          = VecTDot_Veiled;
  v->ops->getsize       = VecGetSize_Veiled;
  v->ops->getlocalsize  = VecGetLocalSize_Veiled;
  v->ops->dotnorm2      = VecDotNorm2_Veiled;
  v->ops->dot_local     = VecDotLocal_Veiled;
  v->ops->norm_local    = VecNormLocal_Veiled;
  v->ops->mdot_local    = VecMDotLocal_Veiled;
  v->ops->mdot          = VecMDot_Veiled;
  v->ops->norm          = VecNorm_Veiled;
  v->ops->scale         = VecScale_Veiled;
  v->ops->copy          = VecCopy_Veiled;
  v->ops->set           = VecSet_Veiled;
  v->ops->axpy          = VecAXPY_Veiled;
  v->ops->axpby         = VecAXPBY_Veiled;
  v->ops->aypx          = VecAYPX_Veiled;
  v->ops->waxpy         = VecWAXPY_Veiled;
  v->ops->axpbypcz      = VecAXPBYPCZ_Veiled;
  v->ops->maxpy         = VecMAXPY_Veiled;
  v->ops->setrandom     = VecSetRandom_Veiled;
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, VECVEILED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A x behind the veils */
static PetscErrorCode MatMult_Veiled(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, Unveiled(x), Unveiled(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A multiple of the identity that counts */
typedef struct {
  PetscInt  calls;
  PetscReal factor;
} Shell;

static PetscErrorCode PCApply_Veiled(PC pc, Vec x, Vec y)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &shell));
  shell->calls++;
  PetscCall(VecCopy(x, y));
  PetscCall(VecScale(y, shell->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  calls;
  PetscReal last, truth; /* norms: of the method, of b - A x */
} Watch;

static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Watch *watch = (Watch *)ctx;
  Vec    r;

  PetscFunctionBegin;
  (void)it;
  watch->calls++;
  watch->last = norm;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &watch->truth));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A behind a shell, and vectors for it */
static PetscErrorCode Veil(Mat A, Mat *S, Vec *x, Vec *b)
{
  PetscInt n, N;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, N, N, A, S));
  PetscCall(MatShellSetOperation(*S, MATOP_MULT, (PetscErrorCodeFn *)MatMult_Veiled));
  PetscCall(VecCreate(PETSC_COMM_WORLD, x));
  PetscCall(VecSetSizes(*x, n, N));
  PetscCall(VecSetType(*x, VECVEILED));
  PetscCall(VecDuplicate(*x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, KSPType type, PetscBool guess)
{
  Mat                S;
  Vec                x, b, y;
  KSP                ksp;
  PC                 pc;
  Shell              shell = {0, 1.0 / 3};
  Watch              watch = {0, 0.0, 0.0};
  PetscInt           its, length;
  PetscReal          norm, bnorm;
  const PetscReal   *history;
  KSPFusedInfo       info;
  KSPConvergedReason reason;
  char               where[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s%s", type, guess ? ", guess" : ""));
  PetscCall(Veil(A, &S, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(Unveiled(y), 5));
  PetscCall(MatMult(S, y, b));
  PetscCall(KSPTestCreate(type, PCSHELL, S, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCShellSetContext(pc, &shell));
  PetscCall(PCShellSetApply(pc, PCApply_Veiled));
  PetscCall(KSPMonitorSet(ksp, Monitor, &watch, NULL));
  PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(VecSet(x, guess ? 0.5 : 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualHistory(ksp, &history, &length));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_RTOL && its > 1), "%s: reason %d after %" PetscInt_FMT,
                           where, (int)reason, its));
  PetscCall(SpikeTestSmall(norm, 100 * KSPTEST_RTOL, "error", where));
  PetscCall(SpikeTestSmall(info.truenorm, 2 * KSPTEST_RTOL * bnorm, "true norm", where));
  if (!guess || strcmp(type, KSPIDRFUSED)) /* amid a solve KSPIDR shows the correction of the guess */
    PetscCall(SpikeTestSmall(PetscAbsReal(watch.last - watch.truth), 1e-2 * watch.last, "norm of the monitor", where));
  PetscCall(SpikeTestCheck((PetscBool)(watch.calls >= its && length >= its && history[length - 1] == watch.last &&
                                       shell.calls >= its && !strcmp(info.backend, "petsc")),
                           "%s: %" PetscInt_FMT " iterations, monitor %" PetscInt_FMT ", history %" PetscInt_FMT
                           ", preconditioner %" PetscInt_FMT ", backend %s",
                           where, its, watch.calls, length, shell.calls, info.backend));

  /* too few iterations; then the same object again, with them */
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_ITS), "%s: reason %d of one iteration", where, (int)reason));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(SpikeTestSmall(norm, 100 * KSPTEST_RTOL, "error, again", where));

  /* the same object on vectors with arrays */
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, Unveiled(b), Unveiled(x)));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(SpikeTestSmall(norm, 100 * KSPTEST_RTOL, "error with arrays", where));
  PetscCall(SpikeTestCheck((PetscBool)(strcmp(info.backend, "petsc") != 0), "%s: backend %s", where, info.backend));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before PETSc 3.26 there is no KSPIDR that could solve in the place of KSPIDRFUSED: an error */
static PetscErrorCode Refuses(Mat A)
{
  PetscErrorCode ierr;
  Mat            S;
  Vec            x, b;
  KSP            ksp;

  PetscFunctionBegin;
  PetscCall(Veil(A, &S, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPTestCreate(KSPIDRFUSED, PCNONE, S, &ksp));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_SUP), "without KSPIDR: error %d", (int)ierr));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[] = {KSPCGFUSED, KSPBCGSFUSED, KSPIDRFUSED};
  PetscBool     has     = PETSC_FALSE;
  Mat           A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(VecRegister(VECVEILED, VecCreate_Veiled));
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 9, 11, PETSC_DECIDE, 1.0, &A));
  PetscCall(SpikeKSPHasType(KSPIDR, &has));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types) - (has ? 0 : 1); t++)
    for (int guess = 0; guess < 2; guess++) PetscCall(Solve(A, types[t], (PetscBool)guess));
  if (!has) PetscCall(Refuses(A));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestEnd("ksp_veiled"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2}}

TEST*/
