/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE under SNES and TS, whose matrices change from solve to solve, beside the same with PCLU "
                     "on each rank, and as a direct solver.\n\n";

#include <petscdmda.h>
#include <petscts.h>
#include "spiketest.h"

static PetscReal Tight(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-10;
}

/*
  F_i = 3 u_i - u_(i-1) - u_(i+1) + sin(u_i) / 2 + u_i u_(i+3) / 5 + u_i u_(i-2) / 10 - f_i. At u = 0 the entries of J
  at distance 3 and -2 are zero.
*/
static PetscErrorCode FormFunction(DMDALocalInfo *info, PetscScalar *u, PetscScalar *f, void *ctx)
{
  const PetscInt n = info->mx;

  PetscFunctionBegin;
  for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
    f[i] = 3.0 * u[i] + 0.5 * PetscSinScalar(u[i]) - 1.0 - SpikeTestUniform(7, i, 0);
    if (i > 0) f[i] -= u[i - 1];
    if (i < n - 1) f[i] -= u[i + 1];
    if (i < n - 3) f[i] += 0.2 * u[i] * u[i + 3];
    if (i > 1) f[i] += 0.1 * u[i] * u[i - 2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormJacobian(DMDALocalInfo *info, PetscScalar *u, Mat J, Mat P, void *ctx)
{
  const PetscInt n = info->mx;

  PetscFunctionBegin;
  for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
    PetscInt    col[6], k = 0;
    PetscScalar v[6], d   = 3.0 + 0.5 * PetscCosScalar(u[i]);

    if (i > 0) {
      col[k] = i - 1;
      v[k++] = -1.0;
    }
    if (i < n - 1) {
      col[k] = i + 1;
      v[k++] = -1.0;
    }
    if (i < n - 3) {
      d += 0.2 * u[i + 3];
      col[k] = i + 3;
      v[k++] = 0.2 * u[i];
    }
    if (i > 1) {
      d += 0.1 * u[i - 2];
      col[k] = i - 2;
      v[k++] = 0.1 * u[i];
    }
    col[k] = i;
    v[k++] = d;
    PetscCall(MatSetValues(P, 1, &i, k, col, v, INSERT_VALUES)); /* on a 1-d DMDA the global numbers are the grid's */
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The linear solves of a nonlinear one keep to their tolerance */
static PetscErrorCode CheckLinear(KSP ksp, Vec b, Vec x, void *ctx)
{
  KSPConvergedReason reason;
  Mat                A;
  PetscReal          rtol, residual;

  PetscFunctionBegin;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: a linear solve ended with %s", (const char *)ctx,
                           KSPConvergedReasons[reason]));
  PetscCall(SpikeTestSmall(residual, 10.0 * rtol, "true relative residual of a linear solve", (const char *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSNES(void)
{
  const char *names[] = {"one", "many", "block", "single"};
  const char *options[] =
    {"-pc_type spike -ksp_type gmres -ksp_rtol 1e-6",
     "-pc_type spike -pc_spike_local_partitions 4 -ksp_type bcgs -ksp_pc_side right -ksp_rtol 1e-6",
     "-pc_type spike -pc_spike_local_partitions 3 -pc_spike_type block -ksp_rtol 1e-5 -ksp_type gmres -ksp_pc_side "
     "right",
     "-pc_type spike -pc_spike_precision single -ksp_rtol 1e-6 -ksp_type fgmres"};
  DM  dm;
  Vec u, f, reference;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 100, 1, 3, NULL, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMDASNESSetFunctionLocal(dm, INSERT_VALUES, (DMDASNESFunctionFn *)FormFunction, NULL));
  PetscCall(DMDASNESSetJacobianLocal(dm, (DMDASNESJacobianFn *)FormJacobian, NULL));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(VecDuplicate(u, &f));
  PetscCall(VecDuplicate(u, &reference));
  for (PetscInt c = -1; c < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(names); c++) {
    SNES                snes;
    KSP                 ksp;
    PC                  pc;
    PCSpikeInfo         info;
    SNESConvergedReason reason;
    PetscReal           norm, norm0, diff;
    PetscInt            its;
    char                text[512], prefix[32];

    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", c < 0 ? "lu" : names[c]));
    PetscCall(PetscSNPrintf(text, sizeof(text), "-prefix_push %s %s -prefix_pop", prefix,
                            c < 0 ? "-pc_type redundant -ksp_type preonly" : options[c]));
    PetscCall(PetscOptionsInsertString(NULL, text));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetDM(snes, dm));
    PetscCall(SNESSetOptionsPrefix(snes, prefix));
    PetscCall(SNESSetTolerances(snes, PETSC_CURRENT, Tight(), PETSC_CURRENT, 20, PETSC_CURRENT));
    PetscCall(SNESSetFromOptions(snes));
    PetscCall(SNESGetKSP(snes, &ksp));
    if (c >= 0) PetscCall(KSPSetPostSolve(ksp, CheckLinear, (void *)names[c]));
    PetscCall(VecSet(u, 0.0));
    PetscCall(SNESComputeFunction(snes, u, f));
    PetscCall(VecNorm(f, NORM_2, &norm0));
    PetscCall(SNESSolve(snes, NULL, u));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESGetIterationNumber(snes, &its));
    PetscCall(SNESComputeFunction(snes, u, f));
    PetscCall(VecNorm(f, NORM_2, &norm));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "SNES %s: %s", prefix, SNESConvergedReasons[reason]));
    PetscCall(SpikeTestSmall(norm, 10.0 * Tight() * norm0, "nonlinear residual", prefix));
    if (c < 0) PetscCall(VecCopy(u, reference));
    else {
      PetscCall(VecAXPY(u, -1.0, reference));
      PetscCall(VecNorm(u, NORM_INFINITY, &diff));
      PetscCall(SpikeTestSmall(diff, 100.0 * Tight(), "difference from LU", prefix));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 2 && info.refills == its - 2 && its > 2),
                               "SNES %s: %" PetscInt_FMT " setups from scratch and %" PetscInt_FMT
                               " refills in %" PetscInt_FMT " steps: the band was to grow after the first",
                               prefix, info.rebuilds, info.refills, its));
      PetscCall(SpikeTestCheck((PetscBool)(info.natural_kl == 2 && info.natural_ku == 3 && info.dropped == 0.0),
                               "SNES %s: band %" PetscInt_FMT ",%" PetscInt_FMT, prefix, info.natural_kl,
                               info.natural_ku));
    }
    PetscCall(SNESDestroy(&snes));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&reference));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscScalar u, v;
} Field;

/*
  The Brusselator with diffusion, u_t = a + u^2 v - (b + 1) u + d u_xx, v_t = b u - u^2 v + d v_xx, fixed at both ends
*/
static PetscErrorCode FormIFunction(DMDALocalInfo *info, PetscReal t, Field *x, Field *xdot, Field *f, void *ctx)
{
  const PetscReal a = 1.0, b = 3.0, h = 1.0 / (info->mx - 1), d = 0.02 / (h * h);

  PetscFunctionBegin;
  for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
    if (i == 0 || i == info->mx - 1) {
      f[i].u = d * (x[i].u - 1.0);
      f[i].v = d * (x[i].v - 3.0);
    } else {
      const PetscScalar r = x[i].u * x[i].u * x[i].v;

      f[i].u = xdot[i].u - (a + r - (b + 1.0) * x[i].u) - d * (x[i - 1].u - 2.0 * x[i].u + x[i + 1].u);
      f[i].v = xdot[i].v - (b * x[i].u - r) - d * (x[i - 1].v - 2.0 * x[i].v + x[i + 1].v);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormIJacobian(DMDALocalInfo *info, PetscReal t, Field *x, Field *xdot, PetscReal shift, Mat J,
                                    Mat P, void *ctx)
{
  const PetscReal b = 3.0, h = 1.0 / (info->mx - 1), d = 0.02 / (h * h);

  PetscFunctionBegin;
  for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
    const PetscInt    row = i;
    const PetscScalar uv = 2.0 * x[i].u * x[i].v, uu = x[i].u * x[i].u;

    if (i == 0 || i == info->mx - 1) {
      const PetscScalar v[2][2] = {{d, 0.0}, {0.0, d}};

      PetscCall(MatSetValuesBlocked(P, 1, &row, 1, &row, &v[0][0], INSERT_VALUES));
    } else {
      const PetscInt    col[3]  = {i - 1, i, i + 1};
      const PetscScalar v[2][6] = {{-d, 0.0, shift - (uv - (b + 1.0)) + 2.0 * d, -uu, -d, 0.0},
                                   {0.0, -d, -(b - uv), shift + uu + 2.0 * d, 0.0, -d}};

      PetscCall(MatSetValuesBlocked(P, 1, &row, 3, col, &v[0][0], INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTS(void)
{
  const char *types[] = {PETSC_VERSION_LT(3, 25, 0) ? "-ts_type beuler -ts_dt 0.05"
                                                    : "-ts_type beuler -ts_time_step 0.05",
                         "-ts_type bdf -ts_adapt_type basic", "-ts_type rosw",
                         "-ts_type arkimex -ts_arkimex_fully_implicit"};
  Vec reference = NULL;

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (PetscInt spike = 0; spike < 2; spike++) {
      DM                dm;
      Vec               x;
      TS                ts;
      SNES              snes;
      KSP               ksp;
      PC                pc;
      PCSpikeInfo       info;
      TSConvergedReason reason;
      PetscReal         diff, norm;
      PetscInt          steps;
      Field            *a;
      DMDALocalInfo     grid;
      char              prefix[32], text[512];

      PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "ts%d%s_", (int)t, spike ? "spike" : "lu"));
      PetscCall(PetscSNPrintf(text, sizeof(text), "-prefix_push %s %s -snes_rtol %g %s -prefix_pop", prefix, types[t],
                              (double)Tight(),
                              spike ? "-pc_type spike -pc_spike_local_partitions 2 -ksp_type gmres -ksp_pc_side right"
                                    : "-pc_type redundant -ksp_type preonly"));
      PetscCall(PetscOptionsInsertString(NULL, text));
      PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 60, 2, 1, NULL, &dm));
      PetscCall(DMSetFromOptions(dm));
      PetscCall(DMSetUp(dm));
      PetscCall(DMCreateGlobalVector(dm, &x));
      PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
      PetscCall(TSSetDM(ts, dm));
      PetscCall(DMDATSSetIFunctionLocal(dm, INSERT_VALUES, (DMDATSIFunctionLocalFn *)FormIFunction, NULL));
      PetscCall(DMDATSSetIJacobianLocal(dm, (DMDATSIJacobianLocalFn *)FormIJacobian, NULL));
      PetscCall(TSSetOptionsPrefix(ts, prefix));
      PetscCall(TSSetTimeStep(ts, 0.02));
      PetscCall(TSSetMaxTime(ts, 0.6));
      PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
      PetscCall(TSSetFromOptions(ts));
      PetscCall(TSGetSNES(ts, &snes));
      PetscCall(SNESGetKSP(snes, &ksp));
      if (spike) PetscCall(KSPSetTolerances(ksp, 0.1 * Tight(), PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
      if (spike) PetscCall(KSPSetPostSolve(ksp, CheckLinear, (void *)types[t]));
      PetscCall(DMDAGetLocalInfo(dm, &grid));
      PetscCall(DMDAVecGetArray(dm, x, &a));
      for (PetscInt i = grid.xs; i < grid.xs + grid.xm; i++) {
        a[i].u = 1.0 + PetscSinReal(2.0 * PETSC_PI * i / (grid.mx - 1));
        a[i].v = 3.0;
      }
      PetscCall(DMDAVecRestoreArray(dm, x, &a));
      PetscCall(TSSolve(ts, x));
      PetscCall(TSGetConvergedReason(ts, &reason));
      PetscCall(TSGetStepNumber(ts, &steps));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && steps > 3), "TS %s: %s after %" PetscInt_FMT " steps", prefix,
                               TSConvergedReasons[reason], steps));
      if (!spike) {
        PetscCall(VecDuplicate(x, &reference));
        PetscCall(VecCopy(x, reference));
      } else {
        PetscCall(VecNorm(reference, NORM_INFINITY, &norm));
        PetscCall(VecAXPY(x, -1.0, reference));
        PetscCall(VecNorm(x, NORM_INFINITY, &diff));
        PetscCall(SpikeTestSmall(diff, 1e3 * Tight() * norm, "difference from LU", prefix));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSpikeGetInfo(pc, &info));
        PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds <= 2 && info.refills > 3),
                                 "TS %s: %" PetscInt_FMT " setups from scratch and %" PetscInt_FMT " refills", prefix,
                                 info.rebuilds, info.refills));
        PetscCall(VecDestroy(&reference));
      }
      PetscCall(VecDestroy(&x));
      PetscCall(TSDestroy(&ts));
      PetscCall(DMDestroy(&dm));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* F(u) = A u - b for SNES, and u_t + A u for TS, beside them A itself and what J has to be */
typedef struct {
  Mat A;
  Vec b;
} Linear;

static PetscErrorCode LinearFunction(SNES snes, Vec u, Vec f, void *ctx)
{
  const Linear *of = (const Linear *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMult(of->A, u, f));
  PetscCall(VecAXPY(f, -1.0, of->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearJacobian(SNES snes, Vec u, Mat J, Mat P, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearIFunction(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatMult(((const Linear *)ctx)->A, u, f));
  PetscCall(VecAXPY(f, 1.0, udot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearIJacobian(TS ts, PetscReal t, Vec u, Vec udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatCopy(((const Linear *)ctx)->A, P, SAME_NONZERO_PATTERN));
  PetscCall(MatShift(P, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A band whose diagonal is so many times the sum of its rows; 0: none at all, where half of the pivots are small */
static PetscErrorCode LinearMatrix(PetscReal dominance, PetscInt seed, Mat *A)
{
  const SpikeTestBand band = {400, 3, 4, dominance > 0.0 ? dominance : 1.0, SPIKE_TEST_RANDOM, seed};
  PetscInt            start, end;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end && dominance == 0.0; i++) PetscCall(MatSetValue(*A, i, i, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One solve of A u = b by KSPPREONLY, of a SNES or of one implicit step of a TS, is a direct one: within the tolerance
  of refinement, or it has failed
*/
static PetscErrorCode CheckDirect(const Linear *of, const char type[], const char options[], PetscBool solves,
                                  const char where[])
{
  const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;
  const PetscBool ts  = (PetscBool)!strcmp(type, "ts");
  SNES            snes;
  TS              step = NULL;
  KSP             ksp;
  PC              pc;
  Mat             J = of->A;
  Vec             u, r;
  PetscInt        its;
  PetscReal       eta;
  PetscBool       converged;
  PCSpikeInfo     info;
  char            text[512], prefix[32];
  static int      count = 0;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "direct%d_", count++));
  PetscCall(PetscSNPrintf(text, sizeof(text),
                          "-prefix_push %s -ksp_type preonly -pc_type spike "
                          "-pc_spike_local_partitions 5 %s -prefix_pop",
                          prefix, options));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscCall(VecDuplicate(of->b, &u));
  if (ts) {
    PetscCall(VecCopy(of->b, u));
    PetscCall(MatDuplicate(of->A, MAT_COPY_VALUES, &J));
    PetscCall(TSCreate(PETSC_COMM_WORLD, &step));
    PetscCall(TSSetOptionsPrefix(step, prefix));
    PetscCall(TSSetProblemType(step, TS_LINEAR));
    PetscCall(TSSetType(step, TSBEULER));
    PetscCall(TSSetIFunction(step, NULL, LinearIFunction, (void *)of));
    PetscCall(TSSetIJacobian(step, J, J, LinearIJacobian, (void *)of));
    PetscCall(TSSetTimeStep(step, 1.0));
    PetscCall(TSSetMaxSteps(step, 1));
    PetscCall(TSSetErrorIfStepFails(step, PETSC_FALSE));
    PetscCall(TSGetSNES(step, &snes));
    PetscCall(TSSetFromOptions(step));
  } else {
    PetscCall(VecSet(u, 0.0));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetOptionsPrefix(snes, prefix));
    PetscCall(SNESSetType(snes, type));
    PetscCall(SNESSetFunction(snes, NULL, LinearFunction, (void *)of));
    PetscCall(SNESSetJacobian(snes, J, J, LinearJacobian, NULL));
    PetscCall(SNESSetFromOptions(snes));
  }
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (ts) {
    TSConvergedReason reason;

    PetscCall(TSSolve(step, u));
    PetscCall(TSGetConvergedReason(step, &reason));
    PetscCall(TSGetSNESIterations(step, &its));
    converged = (PetscBool)(reason > 0);
    PetscCall(VecDuplicate(u, &r)); /* J = 1 + A, J u = b is solved as J (b - u) = A b */
    PetscCall(MatMult(of->A, of->b, r));
    PetscCall(VecAYPX(u, -1.0, of->b));
    if (converged) PetscCall(SpikeTestBackwardError(J, PETSC_FALSE, r, u, &eta));
    PetscCall(VecDestroy(&r));
  } else {
    SNESConvergedReason reason;

    PetscCall(SNESSolve(snes, NULL, u));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESGetIterationNumber(snes, &its));
    converged = (PetscBool)(reason > 0);
    if (converged) PetscCall(SpikeTestBackwardError(J, PETSC_FALSE, of->b, u, &eta));
  }
  PetscCall(SpikeTestCheck((PetscBool)(converged == solves), "%s, %s: %s", type, where,
                           converged ? "converged" : "has failed"));
  if (converged) PetscCall(SpikeTestSmall(eta, tol, type, where));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)((info.boosted > 0) == (strstr(where, "boosted") != NULL)),
                           "%s, %s: %" PetscInt_FMT " pivots are boosted", type, where, info.boosted));
  if (converged)
    PetscCall(SpikeTestCheck((PetscBool)(info.solves >= 1 && !info.unsolved), "%s, %s: %" PetscInt_FMT " checked", type,
                             where, info.solves));
  if (converged)
    PetscCall(SpikeTestCheck((PetscBool)(its == 1 || PetscDefined(USE_REAL_SINGLE)),
                             "%s, %s: %" PetscInt_FMT " iterations", type, where, its));
  if (ts) PetscCall(MatDestroy(&J));
  if (ts) PetscCall(TSDestroy(&step));
  else PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPPREONLY of a SNES or a TS is checked and refined; inside of a preconditioner of theirs it is not */
static PetscErrorCode TestDirect(void)
{
  const char *types[] = {SNESKSPONLY, SNESNEWTONLS, "ts"};
  Linear      dominant, weak, hollow, milder; /* boosted pivots of milder are of use to other solvers */
  SNES        snes;
  KSP         ksp;
  PC          pc;
  Vec         u;
  PCSpikeInfo info;
  char        text[256];

  PetscFunctionBegin;
  PetscCall(LinearMatrix(1.2, 3, &dominant.A));
  PetscCall(LinearMatrix(0.3, 3, &weak.A));
  PetscCall(LinearMatrix(0.0, 3, &hollow.A));
  PetscCall(LinearMatrix(0.0, 4, &milder.A));
  PetscCall(MatCreateVecs(dominant.A, &u, &dominant.b));
  PetscCall(SpikeTestSetRandom(dominant.b, 9));
  weak.b = hollow.b = milder.b = dominant.b;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(CheckDirect(&dominant, types[t], "", PETSC_TRUE, "dominant"));
    PetscCall(CheckDirect(&dominant, types[t], "-pc_spike_type truncated", PETSC_TRUE, "truncated"));
    PetscCall(CheckDirect(&dominant, types[t], "-pc_spike_precision bf16", PETSC_TRUE, "bf16"));
    PetscCall(CheckDirect(&weak, types[t], "", PETSC_TRUE, "not dominant"));
    PetscCall(CheckDirect(&weak, types[t], "-pc_spike_type truncated", PETSC_FALSE, "not dominant, truncated"));
    if (t < 2) { /* J of a TS has a diagonal */
      PetscCall(CheckDirect(&hollow, types[t], "-pc_spike_matching_type none", PETSC_TRUE, "rows exchanged"));
      PetscCall(CheckDirect(&milder, types[t], "-pc_spike_matching_type none", PETSC_TRUE, "rows exchanged, milder"));
      /* factors in lower precision exchange no rows: their pivots stay boosted, of bf16 too far off for refinement */
      for (PetscInt checked = 0; checked < (PetscDefined(USE_REAL_SINGLE) ? 1 : 2); checked++) {
        PetscCall(PetscSNPrintf(text, sizeof(text),
                                "-pc_spike_matching_type none -pc_spike_precision %s -pc_spike_max_refinements %d",
                                PetscDefined(USE_REAL_SINGLE) ? "bf16" : "single", checked ? 60 : 0));
        PetscCall(
          CheckDirect(&hollow, types[t], text, (PetscBool)checked, checked ? "boosted" : "boosted, without a check"));
      }
    }
  }
  PetscCall(PetscOptionsInsertString(NULL, "-inside_ksp_type fgmres -inside_ksp_rtol 1e-6 -inside_pc_type ksp "
                                           "-inside_ksp_ksp_type preonly -inside_ksp_pc_type spike "
                                           "-inside_ksp_pc_spike_precision bf16"));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetOptionsPrefix(snes, "inside_"));
  PetscCall(SNESSetType(snes, SNESKSPONLY));
  PetscCall(SNESSetFunction(snes, NULL, LinearFunction, &dominant));
  PetscCall(SNESSetJacobian(snes, dominant.A, dominant.A, LinearJacobian, NULL));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(u, 0.0));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCKSPGetKSP(pc, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 1 && info.solves == 0),
                           "PCKSP of a SNES: %" PetscInt_FMT " solves are checked", info.solves));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&dominant.b));
  PetscCall(MatDestroy(&dominant.A));
  PetscCall(MatDestroy(&weak.A));
  PetscCall(MatDestroy(&hollow.A));
  PetscCall(MatDestroy(&milder.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestSNES());
  PetscCall(TestTS());
  PetscCall(TestDirect());
  PetscCall(SpikeTestEnd("spike_snests"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_snests_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -dm_mat_type aijcusparse -dm_vec_type cuda

TEST*/
