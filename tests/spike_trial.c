/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE where factors without row exchanges are of no use: random bands that are not dominant, alone, "
           "with full rows and columns or with periodic corners, by several solvers, beside LAPACK\n";

#include "spiketest.h"

typedef enum {
  BAND,     /* nothing else                  */
  ARROW,    /* 1 to 3 full rows and columns  */
  PERIODIC, /* corners of 1 to 5 diagonals   */
  NKINDS
} Kind;
static const char *const Kinds[] = {"band", "arrow", "periodic"};

typedef struct {
  Kind      kind;
  PetscInt  seed, n, kl, ku;
  PetscReal dominance; /* |a_ii| over the sum of the others; negative: a_ii is random */
} Case;

/* Nearly normal, so that some entries are small: a sum of four */
static PetscScalar Entry(PetscInt seed, PetscInt i, PetscInt j)
{
  PetscScalar sum = 0.0;

  for (PetscInt k = 0; k < 4; k++) sum += SpikeTestScalar(seed, i, 4 * j + k);
  return sum;
}

static Case Make(PetscInt seed)
{
  const PetscReal dominance[] = {1.5, 0.3, 0.1, -1.0};
  const Case      c           = {(Kind)(seed / 4 % NKINDS),
                                 seed,
                                 60 + SpikeTestPick(seed, -1, 0, 140),
                                 SpikeTestPick(seed, -1, 1, 7),
                                 SpikeTestPick(seed, -1, 2, 7),
                                 dominance[seed % 4]};

  return c;
}

static void Fill(const Case *c, PetscScalar a[])
{
  const PetscInt n = c->n, seed = c->seed;

  for (PetscInt k = 0; k < n * n; k++) a[k] = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0.0;

    for (PetscInt j = PetscMax(0, i - c->kl); j <= PetscMin(n - 1, i + c->ku); j++) {
      a[i + j * n] = Entry(seed, i, j);
      sum += i == j ? 0.0 : PetscAbsScalar(a[i + j * n]);
    }
    if (c->dominance > 0.0) a[i * (n + 1)] = (SpikeTestUniform(seed, i, -3) < 0.0 ? -1.0 : 1.0) * c->dominance * sum;
  }
  for (PetscInt k = 0; c->kind == ARROW && k < 1 + SpikeTestPick(seed, -1, 3, 3); k++) {
    const PetscInt r = SpikeTestPick(seed, -1, 4 + k, n);

    for (PetscInt j = 0; j < n; j++) {
      a[r + j * n] = Entry(seed, r + n, j);
      if (j != r) a[j + r * n] = Entry(seed, j, r + n);
    }
  }
  for (PetscInt t = 0, K = 1 + SpikeTestPick(seed, -1, 7, 5); c->kind == PERIODIC && t < K; t++)
    for (PetscInt u = 0; u < K - t; u++) {
      a[t + (n - 1 - u) * n] = Entry(seed, t, n - 1 - u);
      a[n - 1 - u + t * n]   = Entry(seed, n - 1 - u, t);
    }
}

/* 1 / cond(A) in the 1-norm by LAPACK's LU, 0 where that fails */
static PetscErrorCode Condition(PetscInt n, const PetscScalar a[], PetscReal *rcond)
{
  PetscScalar  *lu, *inv;
  PetscReal     norm[2] = {0.0, 0.0};
  PetscBLASInt *piv, bn, info, most;

  PetscFunctionBegin;
  *rcond = 0.0;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(n * n, &most));
  PetscCall(PetscMalloc3(n * n, &lu, n * n, &inv, n, &piv));
  PetscCall(PetscArraycpy(lu, a, n * n));
  PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&bn, &bn, lu, &bn, piv, &info));
  if (!info) PetscCallBLAS("LAPACKgetri", LAPACKgetri_(&bn, lu, &bn, piv, inv, &most, &info));
  for (PetscInt j = 0; !info && j < n; j++) {
    PetscReal sum[2] = {0.0, 0.0};

    for (PetscInt i = 0; i < n; i++) {
      sum[0] += PetscAbsScalar(a[i + j * n]);
      sum[1] += PetscAbsScalar(lu[i + j * n]);
    }
    for (int k = 0; k < 2; k++) norm[k] = PetscMax(norm[k], sum[k]);
  }
  if (!info && norm[0] * norm[1] > 0.0) *rcond = 1.0 / (norm[0] * norm[1]);
  PetscCall(PetscFree3(lu, inv, piv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  ONCE,   /* KSPPREONLY                   */
  SOLVER, /* MATSOLVERSPIKE in PCLU       */
  BCGS,   /* KSPBCGSFUSED                 */
  GMRES,  /* KSPGMRES, right              */
  NMETHODS
} Method;
static const char *const Methods[] = {"preonly", "MATSOLVERSPIKE", "bcgsfused", "gmres"};

static PetscErrorCode Create(Mat A, Method m, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, m == BCGS ? KSPBCGSFUSED : m == GMRES ? KSPGMRES : KSPPREONLY));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
  if (m == GMRES) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, m == SOLVER ? PCLU : PCSPIKE));
  if (m == SOLVER) PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solution is right where it is said to be one: direct ones by their backward error, others by their residual */
static PetscErrorCode Solve(KSP ksp, Method m, Mat A, const char where[])
{
  const PetscReal    tol = m == BCGS || m == GMRES ? (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6)
                                                   : (PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10);
  KSPConvergedReason reason;
  PetscReal          error;
  Vec                rhs, sol;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &sol, &rhs));
  PetscCall(SpikeTestSetRandom(rhs, 5));
  PetscCall(KSPSolve(ksp, rhs, sol));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s, %s: %s", where, Methods[m], KSPConvergedReasons[reason]));
  if (reason > 0) {
    if (m == BCGS || m == GMRES) PetscCall(SpikeTestResidual(A, rhs, sol, &error));
    else PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, rhs, sol, &error));
    PetscCall(SpikeTestSmall(error, tol, Methods[m], where));
  }
  PetscCall(VecDestroy(&sol));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only matrices that LAPACK solves, to some digits; *counted: is it one? */
static PetscErrorCode TestCase(const Case *c, PetscBool *counted)
{
  const PetscReal least = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-8;
  PetscScalar    *a;
  PetscReal       rcond;
  Mat             A;
  KSP             ksp;
  char            where[160];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->n * c->n, &a));
  Fill(c, a);
  PetscCall(Condition(c->n, a, &rcond));
  *counted = (PetscBool)(rcond >= least);
  if (*counted) {
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "seed %" PetscInt_FMT ", %s, n %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT
                            ",%" PetscInt_FMT ", dominance %g, cond %.1e",
                            c->seed, Kinds[c->kind], c->n, c->kl, c->ku, (double)c->dominance, (double)(1 / rcond)));
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c->n, a, PETSC_DECIDE, &A));
    for (int m = 0; m < NMETHODS; m++) {
      PetscCall(Create(A, (Method)m, &ksp));
      PetscCall(Solve(ksp, (Method)m, A, where));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in one pattern: dominant ones after others, and others after dominant ones */
static PetscErrorCode TestRefill(Kind kind, PetscInt seed)
{
  Case         c = {kind, seed, 150, 3, 2, 0.0};
  PetscScalar *a;
  Mat          A             = NULL;
  KSP          ksp[NMETHODS] = {NULL};
  PC           pc;
  PCSpikeInfo  info;
  PetscReal    rcond;
  PetscInt     first, last;
  char         where[80];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c.n * c.n, &a));
  for (int step = 0; step < 6; step++) {
    c.dominance = step % 2 ? 1.5 : 0.05;
    Fill(&c, a);
    PetscCall(Condition(c.n, a, &rcond));
    if (!(rcond > (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-8))) break;
    if (!step) PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, c.n, a, PETSC_DECIDE, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++)
      for (PetscInt j = 0; j < c.n; j++)
        if (a[i + j * c.n] != (PetscScalar)0.0) PetscCall(MatSetValue(A, i, j, a[i + j * c.n], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscSNPrintf(where, sizeof(where), "refill %d of %s, seed %" PetscInt_FMT, step, Kinds[kind], seed));
    for (int m = 0; m < NMETHODS; m++) {
      if (!step) PetscCall(Create(A, (Method)m, &ksp[m]));
      PetscCall(Solve(ksp[m], (Method)m, A, where));
    }
    PetscCall(KSPGetPC(ksp[BCGS], &pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    if (kind == BAND && step % 2)
      PetscCall(SpikeTestCheck((PetscBool)(info.growth < 10), "%s: growth %g", where, (double)info.growth));
  }
  for (int m = 0; m < NMETHODS; m++) PetscCall(KSPDestroy(&ksp[m]));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  first = 0, count = 120, counted = 0;
  PetscBool is = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  for (PetscInt seed = first; seed < first + count; seed++) {
    const Case c = Make(seed);

    PetscCall(TestCase(&c, &is));
    counted += is;
  }
  PetscCall(SpikeTestCheck((PetscBool)((PetscDefined(USE_REAL_SINGLE) ? 10 : 2) * counted > count),
                           "only %" PetscInt_FMT " of %" PetscInt_FMT " regular", counted, count));
  for (int k = 0; k < NKINDS; k++)
    for (PetscInt seed = 0; seed < 3; seed++) PetscCall(TestRefill((Kind)k, seed));
  PetscCall(SpikeTestEnd("spike_trial"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_trial_1.out
      test:
         suffix: 1
         args: -pc_spike_pivoting {{false true}}
      test:
         suffix: partitions
         args: -count 110 -pc_spike_local_partitions {{2 4}}
      test:
         suffix: ranks
         nsize: {{2 3}}
         args: -count 60

   testset:
      output_file: output/spike_trial_1.out
      requires: cuda gpurun
      args: -mat_type aijcusparse
      test:
         suffix: cuda
         args: -pc_spike_pivoting {{false true}}
      test:
         suffix: cuda_partitions
         args: -count 110 -pc_spike_local_partitions {{2 4}}
      test:
         suffix: cuda_ranks
         nsize: 2
         args: -count 60

TEST*/
