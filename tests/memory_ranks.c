/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Out of memory at one allocation of one rank: a run of tests/memory_ranks.sh, which ends with an error "
           "of all ranks or with a right answer.\n\
  -case NUMBER  of the list below; -1 for how many there are\n\
  -rank NUMBER  the rank whose allocation fails\n\
  -at NUMBER    the allocation that fails, counted from 1; 0 for how many there are\n\n";

#include "memorycase.h"

static const Case cases[] = {
  {"spike", 200, 5, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_local_partitions 2", 3, NULL},
  {"spike full", 200, 6, 5, 0.3, KIND_BAND, PETSC_FALSE,
   "-pc_type spike -pc_spike_local_partitions 2 -pc_spike_type full", 0, NULL},
  {"tridiagonal", 200, 1, 1, 1.5, KIND_PERIODIC, PETSC_FALSE, "-pc_type spike", 0, NULL},
  {"border", 200, 3, 2, 1.5, KIND_ARROW, PETSC_FALSE, "-pc_type spike -pc_spike_type full", 0, NULL},
  {"matching", 120, 3, 2, 1.5, KIND_SHIFTED, PETSC_FALSE,
   "-ksp_type idrfused -pc_type spike -pc_spike_matching_type always -pc_spike_mat_ordering_type natural", 0, NULL},
  {"cholesky", 200, 5, 5, 1.1, KIND_HERMITIAN, PETSC_FALSE,
   "-ksp_type cgfused -pc_type spike -pc_spike_factor_type cholesky", 3, NULL},
  {"refinement", 200, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type spike -pc_spike_precision single -pc_spike_type truncated", 0, NULL},
  {"blockilu", 160, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type blockilu -pc_blockilu_bs 4", 3, NULL},
  {"idrfused", 200, 3, 3, 1.5, KIND_BAND, PETSC_FALSE, "-ksp_type idrfused -pc_type jacobi", 0, NULL},
  {"diagonals", 200, 3, 3, 1.5, KIND_BAND, PETSC_TRUE, "-pc_type jacobi", 4, NULL},
  {"lines", 200, 3, 2, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike -pc_spike_mat_ordering_type lines", 0, NULL},
  {"solver spike, transposed", 200, 5, 4, 1.2, KIND_BAND, PETSC_FALSE,
   "-ksp_type preonly -pc_type lu -pc_factor_mat_solver_type spike", 0, NULL, PETSC_TRUE},
  {"spike, columns transposed", 200, 5, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type spike", 3, NULL, PETSC_TRUE},
  {"baijcuda", 160, 4, 4, 1.5, KIND_BAND, PETSC_FALSE, "-pc_type blockilu", 0, NULL, PETSC_TRUE, 4},
};

int main(int argc, char **argv)
{
  PetscInt     number = 0, at = 0, fails = 0;
  PetscMPIInt  rank;
  PetscOptions options;
  const Case  *c;
  Mat          A, B, X;
  Vec          b, x;
  KSP          ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-case", &number, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-at", &at, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rank", &fails, NULL));
  if (number < 0) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "cases %d\n", (int)PETSC_STATIC_ARRAY_LENGTH(cases)));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCheck(number < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases), PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "There is no case %" PetscInt_FMT, number);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  c = &cases[number];
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, c->options));
  PetscCall(PetscOptionsPush(options));
  GuardStart();
  PetscTrMalloc = Malloc;
  (void)TestFail(rank == fails ? at : 0);
  PetscCall(MakeMat(c, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGSFUSED));
  PetscCall(KSPSetTolerances(ksp, 1e-5, PETSC_CURRENT, PETSC_CURRENT, 400));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Sides(c, A, &b, &x, &B, &X));
  PetscCall(Solve(c, ksp, b, x, B, X));
  at = TestFail(0);
  PetscCallMPI(MPI_Bcast(&at, 1, MPIU_INT, (PetscMPIInt)fails, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: allocations %" PetscInt_FMT "\n", c->name, at));
  PetscCall(Check(c, ksp, b, x, B, X, "all", at));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&options));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestEnd("memory_ranks"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   # without a failure; tests/memory_ranks.sh has those with one
   test:
      suffix: 1
      nsize: 2
      args: -case {{0 1 2 3 4 5 6 7 8 9 10 11 12 13}} -malloc_dump no -spike_host_baijcuda
      filter: sed "s/^.*allocations.*$/cases/"

TEST*/
