/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Out of memory at each allocation of our own in turn: an error or a right answer by other means, and "
           "the same object works when memory is there again.\n\
  -device       allocations of CUDA fail, by the library of tests/device, in place of PetscMalloc()\n\
  -only NAME    cases with this in their names\n\n";

#define _GNU_SOURCE
#include "spiketest.h"
#include "guard.h"
#include <dlfcn.h>

typedef struct {
  const char *name;
  PetscInt    n, kl, ku;
  PetscReal   dominance;
  PetscBool   diagonals; /* MATDIA in place of AIJ */
  const char *options;
  PetscInt    rhs; /* 0: KSPSolve(), else the columns of KSPMatSolve() */
} Case;

static const Case cases[] = {
  {"spike band", 300, 5, 4, 1.5, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 0},
  {"spike wide", 400, 40, 40, 1.1, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 0},
  {"spike full", 400, 6, 5, 0.1, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 4 -pc_spike_type full", 3},
  {"spike, one", 200, 9, 9, 1.5, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 1", 3},
  {"spike pivoting", 200, 1, 1, 1.2, PETSC_FALSE, "-pc_type spike -pc_spike_pivoting -pc_spike_type block", 0},
  {"spike pivoting, band", 300, 6, 5, 0.1, PETSC_FALSE,
   "-pc_type spike -pc_spike_pivoting -pc_spike_local_partitions 3 -pc_spike_type full", 3},
  {"spike batch", 300, 3, 2, 1.5, PETSC_FALSE, "-pc_type spike -pc_spike_batch_type always -pc_spike_type block", 3},
  {"spike, reordered", 200, 3, 3, 1.5, PETSC_FALSE,
   "-pc_type spike -pc_factor_mat_ordering_type rcm -pc_spike_mat_ordering_type rcm", 0},
  {"spike, diagonals", 300, 3, 3, 1.5, PETSC_TRUE, "-pc_type spike -pc_spike_local_partitions 2", 0},
  {"tridiagonal", 999, 1, 1, 1.5, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 1", 0},
  {"blockilu", 240, 4, 4, 1.5, PETSC_FALSE, "-pc_type blockilu -pc_blockilu_bs 4", 3},
  {"blockilu, tasks", 240, 2, 2, 1.5, PETSC_FALSE,
   "-pc_type blockilu -pc_blockilu_bs 2 -pc_blockilu_local_subdomains 5", 0},
  {"no pc", 300, 3, 3, 1.5, PETSC_FALSE, "-pc_type none", 0},
  {"no pc, diagonals", 300, 3, 3, 1.5, PETSC_TRUE, "-pc_type none", 0},
  {"jacobi, columns", 300, 3, 3, 1.5, PETSC_FALSE, "-pc_type jacobi", 4},
  {"diagonals, rhs", 300, 3, 3, 1.5, PETSC_TRUE, "-pc_type jacobi", 4},
};

/*
  ---- The allocation that fails: of PetscMalloc() in our files, or of CUDA with the library of tests/device ----------
*/
static long (*devicefail)(long);
static PetscInt count, failat;

static PetscErrorCode Malloc(size_t size, PetscBool clear, int line, const char func[], const char file[], void **p)
{
  static const char *const ours[] = {"src/pc_",      "src/ksp_",     "src/mat_dia", "src/mat_halo",
                                     "src/mat_grid", "src/kernels/", "src/common/"};

  PetscFunctionBegin;
  for (size_t k = 0; size && !devicefail && k < PETSC_STATIC_ARRAY_LENGTH(ours); k++) {
    if (!strstr(file, ours[k]) || ++count != failat) continue;
    *p = NULL;
    return PetscError(PETSC_COMM_SELF, line, func, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "as the test wants it");
  }
  PetscCall(GuardMalloc_Private(size, clear, line, func, file, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The k-th allocation from here on fails; 0: none. Returns how many there were since the last call */
static PetscInt Fail(PetscInt k)
{
  const PetscInt before = devicefail ? (PetscInt)devicefail((long)k) : count;

  count  = 0;
  failat = k;
  return before;
}

/*
  ---- What is done while memory fails, and after ----------------------------------------------------------------------
*/
static PetscErrorCode Solve(const Case *c, KSP ksp, Vec b, Vec x, Mat B, Mat X)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (c->rhs) PetscCall(KSPMatSolve(ksp, B, X));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatScale(A, 1.0)); /* a setup with new values */
  if (c->rhs) PetscCall(KSPMatSolve(ksp, B, X));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||B - A X|| against ||B||, of the one or of all */
static PetscErrorCode Check(const Case *c, KSP ksp, Vec b, Vec x, Mat B, Mat X, const char when[], PetscInt k)
{
  KSPConvergedReason reason;
  Mat                A, R;
  PetscReal          residual, norm;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (c->rhs) {
    PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &R));
    PetscCall(MatAXPY(R, -1.0, B, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(R, NORM_FROBENIUS, &residual));
    PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
    residual /= norm;
    PetscCall(MatDestroy(&R));
  } else PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual < 1e-4),
                           "%s, %s allocation %" PetscInt_FMT ": %s, true residual %g", c->name, when, k,
                           KSPConvergedReasons[reason], (double)residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors and columns of their own for each attempt: what a failure leaves locked is not asked again */
static PetscErrorCode Sides(const Case *c, Mat A, Vec *b, Vec *x, Mat *B, Mat *X)
{
  PetscInt m;
  VecType  type;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecGetType(*b, &type));
  PetscCall(SpikeTestSetRandom(*b, 5));
  *B = *X = NULL;
  if (!c->rhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)A), type, m, PETSC_DECIDE, PETSC_DETERMINE, c->rhs,
                                      PETSC_DECIDE, NULL, B));
  PetscCall(MatDuplicate(*B, MAT_DO_NOT_COPY_VALUES, X));
  PetscCall(MatSetRandom(*B, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c, KSPType type)
{
  const SpikeTestBand band = {c->n, c->kl, c->ku, c->dominance, SPIKE_TEST_RANDOM, 11};
  Mat                 A, B, X;
  Vec                 b, x;
  KSP                 ksp;
  PetscOptions        options;
  PetscInt            had = 0;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_SELF, &band, PETSC_DECIDE, MATAIJ, &A));
  if (c->diagonals) PetscCall(MatConvert(A, SpikeTestDiaType(), MAT_INPLACE_MATRIX, &A));
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, c->options));
  PetscCall(PetscOptionsPush(options));
  for (PetscInt k = 0; k <= had; k++) {
    PetscErrorCode ierr;
    PetscInt       made;

    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, type));
    PetscCall(KSPSetTolerances(ksp, 1e-5, PETSC_CURRENT, PETSC_CURRENT, 400));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Sides(c, A, &b, &x, &B, &X));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    (void)Fail(k);
    ierr = Solve(c, ksp, b, x, B, X);
    made = Fail(0);
    had  = PetscMax(had, made);
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(k || !ierr), "%s: error %d though nothing failed", c->name, (int)ierr));
    if (!ierr) PetscCall(Check(c, ksp, b, x, B, X, "without", k));
    else {
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(MatDestroy(&B));
      PetscCall(MatDestroy(&X));
      PetscCall(Sides(c, A, &b, &x, &B, &X));
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = Solve(c, ksp, b, x, B, X);
      PetscCall(PetscPopErrorHandler());
      PetscCall(SpikeTestCheck((PetscBool)!ierr,
                               "%s, %s: error %d after allocation %" PetscInt_FMT " of %" PetscInt_FMT
                               " failed and memory is back",
                               c->name, type, (int)ierr, k, had));
      if (!ierr) PetscCall(Check(c, ksp, b, x, B, X, "after", k));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&options));
  PetscCall(SpikeTestCheck((PetscBool)(had > 0), "%s, %s: nothing was allocated", c->name, type));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[]  = {KSPBCGSFUSED, KSPIDRFUSED};
  char          only[64] = "";
  PetscBool     device   = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  if (device) {
    *(void **)&devicefail = dlsym(RTLD_DEFAULT, "SpikeDeviceFail");
    PetscCheck(devicefail, PETSC_COMM_SELF, PETSC_ERR_USER, "-device wants the library of tests/device/limits.c");
  }
  GuardStart();
  PetscTrMalloc = Malloc;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    if (*only && !strstr(cases[k].name, only)) continue;
    PetscCall(TestCase(&cases[k], types[k % 2]));
  }
  PetscCall(SpikeTestCheck((PetscBool)!GuardDamage(), "written outside of arrays"));
  PetscCall(SpikeTestEnd("memory"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   # an error leaves objects of PETSc's functions behind
   test:
      suffix: 1
      args: -malloc_dump no
      filter: grep -v -E "PetscFunctionList|function name:"

TEST*/
