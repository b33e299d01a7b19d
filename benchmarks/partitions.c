/* SPDX-License-Identifier: BSD-2-Clause */
/* partitions.c: how well the number of partitions is chosen; Table 3 and Figure 3 of Li, Seidl and Negrut, TR-2012-04 */
static char help[] = "Random bands of dominance 1 on a GPU (-mat_type aijcusparse) or on the host; ms, medians.\n"
                     "First:  setup with new values plus one apply for several numbers of partitions, beside the number that PCSPIKE chooses; loss is what its choice\n"
                     "        costs above the best of them.\n"
                     "Second: Table 3 of the paper, K = 32: partitions of 2048 rows against those chosen. The paper's times are of one factorization and one solve in single\n"
                     "        precision on a GTX680, tuned by hand.\n"
                     "Third:  its Figure 3: 8192 rows and 8191 rows, partitions of 2048 rows. There the second took 64.5 % longer, for its last partition was twice as long.\n"
                     "  -cases <1000000,32,...>   pairs N,K of the first\n"
                     "  -repeat <10>              repetitions\n"
                     "  -train <10>               applies that are timed together\n\n";

#include "bandcase.h"

typedef struct {
  double   setup, apply;
  PetscInt np;
} Times;

/* np partitions, or PETSC_DECIDE */
static PetscErrorCode Time(Mat A, PetscInt np, int repeat, int train, Times *t)
{
  PC          pc;
  Vec         x, b;
  double      first = 0.0, setup[MAXREPEAT], apply[MAXREPEAT];
  PCSpikeInfo info;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSpikeSetLocalPartitions(pc, np));
  PetscCall(TimeSpike(PETSC_COMM_SELF, A, pc, b, x, repeat, train, &first, setup, apply));
  PetscCall(PCSpikeGetInfo(pc, &info));
  t->setup = Median(repeat, setup);
  t->apply = Median(repeat, apply);
  t->np    = info.partitions;
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sweep(PetscInt N, PetscInt K, int repeat, int train)
{
  const double factors[] = {0.125, 0.25, 0.375, 0.5, 0.75, 1.25, 1.5, 2.0, 3.0, 4.0};
  Mat          A;
  Times        chosen, t;
  double       best[2];

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, 1.0, &A));
  PetscCall(Time(A, PETSC_DECIDE, repeat, train, &chosen));
  best[0] = chosen.setup + chosen.apply;
  best[1] = chosen.apply;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8" PetscInt_FMT " %4" PetscInt_FMT " %6" PetscInt_FMT " %9.4f %9.4f %9.4f  chosen\n", N, K, chosen.np, chosen.setup, chosen.apply, best[0]));
  for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(factors); f++) {
    const PetscInt np = (PetscInt)(factors[f] * (double)chosen.np + 0.5);

    if (np < 1 || np == chosen.np || np > N / (2 * K)) continue;
    PetscCall(Time(A, np, repeat, train, &t));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %4s %6" PetscInt_FMT " %9.4f %9.4f %9.4f\n", "", "", t.np, t.setup, t.apply, t.setup + t.apply));
    best[0] = PetscMin(best[0], t.setup + t.apply);
    best[1] = PetscMin(best[1], t.apply);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %4s %6s loss: setup and apply %.0f %%, apply %.0f %%\n", "", "", "", 100 * ((chosen.setup + chosen.apply) / best[0] - 1), 100 * (chosen.apply / best[1] - 1)));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal table[][3] = {
    {2000,   4.03,  5.69 },
    {4000,   5.56,  11.73},
    {8000,   7.41,  20.16},
    {10000,  8.99,  21.07},
    {20000,  14.24, 24.72},
    {40000,  24.70, 32.10},
    {80000,  42.34, 44.53},
    {100000, 51.86, 54.83}
  };
  PetscInt  cases[64] = {1000000, 32, 100000, 32, 200000, 50, 400000, 16, 1000000, 8, 400000, 128, 400000, 256}, ncases = 64, repeat = 10, train = 10;
  PetscBool set;
  Mat       A;
  Times     chosen, fixed, even;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 14;
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-train", &train, NULL));
  PetscCheck(repeat >= 1 && repeat <= MAXREPEAT && train >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat from 1 to %d, -train from 1", MAXREPEAT);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %4s %6s %9s %9s %9s\n", "N", "K", "parts", "setup", "apply", "both"));
  for (PetscInt k = 0; k < ncases; k += 2) PetscCall(Sweep(cases[k], cases[k + 1], (int)repeat, (int)train));

  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%8s %22s %22s %8s   paper: %7s %7s %8s\n", "N", "chosen", "2048 rows each", "gain, %", "tuned", "2048", "gain, %"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    const PetscInt N = (PetscInt)table[k][0];

    PetscCall(CreateBand(PETSC_COMM_SELF, N, 32, 1.0, &A));
    PetscCall(Time(A, PETSC_DECIDE, (int)repeat, (int)train, &chosen));
    PetscCall(Time(A, PetscMax(1, N / 2048), (int)repeat, (int)train, &fixed));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8" PetscInt_FMT " %8.4f (%5" PetscInt_FMT " parts) %8.4f (%5" PetscInt_FMT " parts) %8.1f          %7.2f %7.2f %8.1f\n", N, chosen.setup + chosen.apply, chosen.np, fixed.setup + fixed.apply, fixed.np,
                          100 * ((fixed.setup + fixed.apply) / (chosen.setup + chosen.apply) - 1), (double)table[k][1], (double)table[k][2], 100 * (double)(table[k][2] / table[k][1] - 1)));
  }

  PetscCall(CreateBand(PETSC_COMM_SELF, 8192, 32, 1.0, &A));
  PetscCall(Time(A, 4, (int)repeat, (int)train, &even));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateBand(PETSC_COMM_SELF, 8191, 32, 1.0, &A));
  PetscCall(Time(A, 4, (int)repeat, (int)train, &fixed));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n8192 rows in 4 partitions %.4f, 8191 rows %.4f: %.1f %% longer (paper: 64.5 %%)\n", even.setup + even.apply, fixed.setup + fixed.apply, 100 * ((fixed.setup + fixed.apply) / (even.setup + even.apply) - 1)));
  PetscCall(PetscFinalize());
  return 0;
}
