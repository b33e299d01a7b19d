/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Out of memory at each allocation of our own in turn: an error or a right answer by other means, and "
           "the same object works when memory is there again.\n\
  -device       allocations of CUDA fail, by the library of tests/device, in place of PetscMalloc()\n\
  -only NAME    cases with this in their names\n\n";

#define _GNU_SOURCE
#include "memorycase.h"
#include "viewtext.h"
#include <dlfcn.h>
#include <unistd.h>

static const Case cases[] = {
  {"spike band", 300, 5, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 0, NULL},
  {"spike wide", 400, 40, 40, 1.1, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 0, NULL},
  {"spike full", 400, 6, 5, 0.1, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_local_partitions 4 -pc_spike_type full", 3, NULL},
  {"spike, one", 200, 9, 9, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 1", 3, NULL},
  {"spike pivoting", 200, 1, 1, 1.2, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_pivoting -pc_spike_type block",
   0, NULL},
  {"spike pivoting, band", 300, 6, 5, 0.1, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_pivoting -pc_spike_local_partitions 3 -pc_spike_type full", 3, NULL},
  {"spike batch", 300, 3, 2, 1.5, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_batch_type always -pc_spike_type block", 3, NULL},
  {"spike, reordered", 200, 3, 3, 1.5, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_factor_mat_ordering_type rcm -pc_spike_mat_ordering_type rcm", 0, NULL},
  {"spike, diagonals", 300, 3, 3, 1.5, KIND_BAND, PETSC_TRUE, "-pc_type spike -pc_spike_local_partitions 2", 0, NULL},
  {"tridiagonal", 999, 1, 1, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 1", 0, NULL},
  {"blockilu", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type blockilu -pc_blockilu_bs 4", 3, NULL},
  {"blockilu, tasks", 240, 2, 2, 1.5, KIND_BAND, PETSC_FALSE,
   "-pc_type blockilu -pc_blockilu_bs 2 -pc_blockilu_local_subdomains 5", 0, NULL},
  {"no pc", 300, 3, 3, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type none", 0, NULL},
  {"no pc, diagonals", 300, 3, 3, 1.5, KIND_BAND, PETSC_TRUE, "-pc_type none", 0, NULL},
  {"jacobi, columns", 300, 3, 3, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type jacobi", 4, NULL},
  {"diagonals, rhs", 300, 3, 3, 1.5, KIND_BAND, PETSC_TRUE, "-pc_type jacobi", 4, NULL},
  {"cgfused", 300, 3, 3, 1.5, KIND_HERMITIAN, PETSC_FALSE, "-ksp_type cgfused -pc_type jacobi", 0, NULL},
  {"cgfused, columns", 300, 3, 3, 1.5, KIND_HERMITIAN, PETSC_FALSE, "-ksp_type cgfused -pc_type jacobi", 3, NULL},
  {"cgfused, block", 300, 3, 3, 1.5, KIND_HERMITIAN, PETSC_FALSE,
   "-ksp_type cgfused -ksp_fused_matsolve block -pc_type jacobi", 3, NULL},
  {"cholesky", 300, 5, 5, 1.1, KIND_HERMITIAN, PETSC_FALSE,
   "-ksp_type cgfused -pc_type spike -pc_spike_factor_type cholesky -pc_spike_local_partitions 3", 3, "holesky"},
  {"cholesky, full", 300, 5, 5, 1.01, KIND_HERMITIAN, PETSC_FALSE,
   "-ksp_type preonly -pc_type spike -pc_spike_factor_type cholesky -pc_spike_local_partitions 4 -pc_spike_type full",
   0, "holesky"},
  {"matching", 200, 3, 2, 1.5, KIND_SHIFTED, PETSC_FALSE,
   "-pc_type spike -pc_spike_matching_type always -pc_spike_local_partitions 2", 0, "rows permuted"},
  {"border", 300, 3, 2, 1.5, KIND_ARROW, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 3, "border of 1"},
  {"periodic", 300, 1, 1, 1.5, KIND_PERIODIC, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 3,
   "periodic"},
  {"periodic, border", 300, 3, 2, 1.5, KIND_PERIODIC, PETSC_FALSE,
   "-pc_type spike -pc_spike_type full -pc_spike_local_partitions 3", 0, "border of"},
  {"refinement", 300, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type spike -pc_spike_precision single -pc_spike_local_partitions 3 -pc_spike_type truncated",
   0, "steps of refinement"},
  {"refinement, columns", 300, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type spike -pc_spike_precision single -pc_spike_local_partitions 3 -pc_spike_type truncated",
   3, NULL},
  {"refinement, each apply", 300, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_direct true -pc_spike_precision single -pc_spike_local_partitions 3 -pc_spike_type full",
   3, "steps of refinement"},
  {"narrow", 300, 3, 3, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type none -ksp_fused_precision bf16", 0, NULL},
  {"narrow, diagonals", 300, 3, 3, 1.5, KIND_BAND, PETSC_TRUE, "-pc_type jacobi -ksp_fused_precision bf16", 0, NULL},
  {"lines", 300, 3, 3, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_mat_ordering_type lines", 3, "lines"},
  {"lines, blocks", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_mat_ordering_type lines", 0,
   "lines", PETSC_FALSE, 2},
  {"solver spike", 300, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type lu -pc_factor_mat_solver_type spike", 0, "spike"},
  {"solver spike, columns", 300, 5, 4, 0.3, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type lu -pc_factor_mat_solver_type spike", 3, "spike"},
  {"solver spike, cholesky", 300, 5, 5, 1.1, KIND_HERMITIAN, PETSC_FALSE,
   "-ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type spike", 0, "spike"},
  {"solver spike, transposed", 300, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type lu -pc_factor_mat_solver_type spike", 0, "spike", PETSC_TRUE},
  {"spike, transposed", 300, 5, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 0, NULL,
   PETSC_TRUE},
  {"spike, columns transposed", 300, 5, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3",
   3, NULL, PETSC_TRUE},
  {"spike full, transposed", 400, 6, 5, 0.1, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_local_partitions 4 -pc_spike_type full", 0, NULL, PETSC_TRUE},
  {"spike pivoting, transposed", 300, 6, 5, 0.1, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_pivoting -pc_spike_local_partitions 3 -pc_spike_type full", 0, NULL, PETSC_TRUE},
  {"spike batch, transposed", 300, 3, 2, 1.5, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_batch_type always -pc_spike_type block", 0, NULL, PETSC_TRUE},
  {"tridiagonal, transposed", 999, 1, 1, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike", 0, NULL, PETSC_TRUE},
  {"border, transposed", 300, 3, 2, 1.5, KIND_ARROW, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 3", 0,
   "border of 1", PETSC_TRUE},
  {"diagonals, transposed", 300, 3, 3, 1.5, KIND_BAND, PETSC_TRUE, "-pc_type jacobi", 0, NULL, PETSC_TRUE},
  {"blockilu, transposed", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type blockilu -pc_blockilu_bs 4", 0, NULL,
   PETSC_TRUE},
  {"baijcuda", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type none", 0, NULL, PETSC_FALSE, 2},
  {"baijcuda, columns", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type pbjacobi", 3, NULL, PETSC_FALSE, 4},
  {"baijcuda, transposed", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type jacobi", 0, NULL, PETSC_TRUE, 4},
  {"baijcuda, blockilu", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type blockilu", 3, NULL, PETSC_FALSE, 4},
  {"baijcuda, spike", 240, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 2", 0, NULL,
   PETSC_FALSE, 4},
};

/* That the case is what it is meant to be */
static PetscErrorCode CheckViewed(const Case *c, KSP ksp)
{
  static char text[16384];
  PC          pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(
    SpikeTestCheck((PetscBool)(strstr(text, c->viewed) != NULL), "%s: the view has no \"%s\"", c->name, c->viewed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -info goes to a file of its own, of which the attempt that begins here sees its own part */
static FILE *info;

static PetscErrorCode InfoStart(void)
{
  FILE *const out = PETSC_STDOUT;

  PetscFunctionBegin;
  info = tmpfile();
  PetscCheck(info, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PETSC_STDOUT = info;
  PetscCall(PetscInfoSetFile(NULL, NULL));
  PETSC_STDOUT = out;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that goes on without the memory that it wanted has said so */
static PetscErrorCode CheckFallback(const Case *c, PetscInt k)
{
  static char text[1 << 20];

  PetscFunctionBegin;
  (void)fflush(info);
  rewind(info);
  text[fread(text, 1, sizeof(text) - 1, info)] = 0;
  PetscCall(SpikeTestCheck((PetscBool)(strstr(text, "No memory for") != NULL),
                           "%s: allocation %" PetscInt_FMT " failed, the solve went on, and -info does not say how",
                           c->name, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c, KSPType type)
{
  Mat          A, B, X;
  Vec          b, x;
  KSP          ksp;
  PetscOptions options;
  PetscInt     had = 0;

  PetscFunctionBegin;
  PetscCall(MakeMat(c, &A));
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
    rewind(info);
    (void)!ftruncate(fileno(info), 0);
    PetscCall(PetscInfoAllow(PETSC_TRUE));
    (void)TestFail(k);
    ierr = Solve(c, ksp, b, x, B, X);
    made = TestFail(0);
    PetscCall(PetscInfoAllow(PETSC_FALSE));
    had = PetscMax(had, made);
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(k || !ierr), "%s: error %d though nothing failed", c->name, (int)ierr));
    if (!k && c->viewed) PetscCall(CheckViewed(c, ksp));
    if (!ierr && k && k <= made) PetscCall(CheckFallback(c, k));
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
  PetscCall(InfoStart());
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
      args: -malloc_dump no -spike_host_baijcuda
      filter: grep -v -E "PetscFunctionList|function name:"

TEST*/
