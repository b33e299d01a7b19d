/* SPDX-License-Identifier: BSD-2-Clause */
/*
  partitions.c: how well the number of partitions is chosen; Table 3 and Figure 3 of Li, Seidl and Negrut, TR-2012-04
*/
static char help[] = "Random bands of dominance 1 on a GPU (-mat_type aijcusparse) or on the host; ms, medians.\n"
                     "First:  setup with new values plus one apply for several numbers of partitions, beside the "
                     "number that PCSPIKE chooses; loss is what its choice\n"
                     "        costs above the best of them.\n"
                     "Second: Table 3 of the paper, K = 32: partitions of 2048 rows against those chosen. The paper's "
                     "times are of one factorization and one solve in single\n"
                     "        precision on a GTX680, tuned by hand.\n"
                     "Third:  its Figure 3: 8192 rows and 8191 rows, partitions of 2048 rows. There the second took "
                     "64.5 % longer, for its last partition was twice as long.\n"
                     "  -cases <1000000,32,...>   pairs N,K of the first\n"
                     "  -d <1>                    dominance\n"
                     "  -multiprocessors <132>    the first tries multiples of it\n"
                     "  -calibrate                more cases and more numbers of partitions, nothing but the first: "
                     "for benchmarks/fit_partitions.py\n"
                     "  -csv <file>               also writes the numbers of the first to a file\n"
                     "  -repeat <10>              repetitions\n"
                     "  -train <10>               applies that are timed together\n\n";

#include "common/csvfile.h"
#include "common/bandcase.h"

typedef struct {
  double              setup, apply;
  PetscInt            np;
  PetscSpikePrecision precision;
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
  PetscCall(PCSpikeGetPrecision(pc, &t->precision));
  t->setup = Median(repeat, setup);
  t->apply = Median(repeat, apply);
  t->np    = info.partitions;
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  repeat, train, multiprocessors;
  PetscReal d;
  PetscBool calibrate;
  FILE     *csv;
} Options;

static PetscErrorCode Record(const Options *o, PetscInt N, PetscInt K, const Times *t, const char what[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%8" PetscInt_FMT " %4" PetscInt_FMT " %6" PetscInt_FMT " %9.4f %9.4f %9.4f%s\n", N, K, t->np,
                        t->setup, t->apply, t->setup + t->apply, what));
  if (o->csv) {
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, o->csv,
                           "%" PetscInt_FMT ",%" PetscInt_FMT ",%g,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%.5f,%.5f\n",
                           N, K, (double)o->d, PetscSpikePrecisions[t->precision], o->multiprocessors, t->np, t->setup,
                           t->apply));
    PetscCall(PetscFFlush(o->csv)); /* a run that is cut short keeps its numbers */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The number chosen, and multiples of the multiprocessors' number with partitions of 4 K to 16384 rows; without
  -calibrate, those within a factor of 4 of the one chosen
*/
static PetscErrorCode Sweep(PetscInt N, PetscInt K, const Options *o)
{
  const double factors[] = {0.0, 0.015625, 0.03125, 0.0625, 0.125, 0.25, 0.5, 0.75, 1,  2,
                            3,   4,        8,       12,     16,    24,   32,  64,   128};
  Mat          A;
  Times        chosen, t, best = {0.0, 0.0, 0};
  double       least;

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, o->d, &A));
  PetscCall(Time(A, PETSC_DECIDE, (int)o->repeat, (int)o->train, &chosen));
  PetscCall(Record(o, N, K, &chosen, "  chosen"));
  best  = chosen;
  least = chosen.apply;
  for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(factors); f++) {
    const PetscInt np = PetscMax(1, (PetscInt)(factors[f] * (double)o->multiprocessors));

    if (np == chosen.np || N / np < PetscMax(4 * K, 32) || N / np > 16384) continue;
    if (!o->calibrate && (4 * np < chosen.np || np > 4 * chosen.np)) continue;
    PetscCall(Time(A, np, (int)o->repeat, (int)o->train, &t));
    PetscCall(Record(o, N, K, &t, ""));
    if (t.setup + t.apply < best.setup + best.apply) best = t;
    least = PetscMin(least, t.apply);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%8s %4s loss: setup and apply %.0f %% (best %" PetscInt_FMT " partitions), apply %.0f %%\n",
                        "", "", 100 * ((chosen.setup + chosen.apply) / (best.setup + best.apply) - 1), best.np,
                        100 * (chosen.apply / least - 1)));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal table[][3] = {{2000, 4.03, 5.69},    {4000, 5.56, 11.73},   {8000, 7.41, 20.16},
                                {10000, 8.99, 21.07},  {20000, 14.24, 24.72}, {40000, 24.70, 32.10},
                                {80000, 42.34, 44.53}, {100000, 51.86, 54.83}};
  const PetscInt  issue[]    = {1000000, 32, 100000, 32,  200000, 50,  400000, 16,
                                1000000, 8,  400000, 128, 400000, 256, 2000,   32};
  const PetscInt  more[]     = {1000000, 1,      1000000, 2,      400000, 4,      400000, 24,     200000,
                                64,      200000, 96,      100000, 200,    200000, 256,    100000, 512};
  const int       extra      = PETSC_STATIC_ARRAY_LENGTH(more);
  PetscInt        cases[128], ncases = PETSC_STATIC_ARRAY_LENGTH(cases);
  PetscBool       set, csv;
  char            file[PETSC_MAX_PATH_LEN];
  Mat             A;
  Times           chosen, fixed, even;
  Options         o = {10, 10, 132, 1.0, PETSC_FALSE, NULL};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-calibrate", &o.calibrate, NULL));
  if (!set) {
    PetscCall(PetscArraycpy(cases, issue, PETSC_STATIC_ARRAY_LENGTH(issue)));
    ncases = PETSC_STATIC_ARRAY_LENGTH(issue);
    if (o.calibrate) {
      PetscCall(PetscArraycpy(cases + ncases, more, extra));
      ncases += extra;
    }
  }
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-d", &o.d, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-multiprocessors", &o.multiprocessors, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &o.repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-train", &o.train, NULL));
  PetscCheck(o.repeat >= 1 && o.repeat <= MAXREPEAT && o.train >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-repeat from 1 to %d, -train from 1", MAXREPEAT);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &csv));
  if (csv) PetscCall(BenchCSVOpen(file, "n,k,d,precision,multiprocessors,partitions,setup_ms,apply_ms", &o.csv));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %4s %6s %9s %9s %9s\n", "N", "K", "parts", "setup", "apply", "both"));
  for (PetscInt k = 0; k < ncases; k += 2) PetscCall(Sweep(cases[k], cases[k + 1], &o));
  PetscCall(BenchCSVClose(file, &o.csv));
  if (o.calibrate) {
    PetscCall(PetscFinalize());
    return 0;
  }

  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%8s %22s %22s %8s   paper: %7s %7s %8s\n", "N", "chosen", "2048 rows each",
                        "gain, %", "tuned", "2048", "gain, %"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    const PetscInt N = (PetscInt)table[k][0];

    PetscCall(CreateBand(PETSC_COMM_SELF, N, 32, 1.0, &A));
    PetscCall(Time(A, PETSC_DECIDE, (int)o.repeat, (int)o.train, &chosen));
    PetscCall(Time(A, PetscMax(1, N / 2048), (int)o.repeat, (int)o.train, &fixed));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%8" PetscInt_FMT " %8.4f (%5" PetscInt_FMT " parts) %8.4f (%5" PetscInt_FMT
                          " parts) %8.1f          %7.2f %7.2f %8.1f\n",
                          N, chosen.setup + chosen.apply, chosen.np, fixed.setup + fixed.apply, fixed.np,
                          100 * ((fixed.setup + fixed.apply) / (chosen.setup + chosen.apply) - 1), (double)table[k][1],
                          (double)table[k][2], 100 * (double)(table[k][2] / table[k][1] - 1)));
  }

  PetscCall(CreateBand(PETSC_COMM_SELF, 8192, 32, 1.0, &A));
  PetscCall(Time(A, 4, (int)o.repeat, (int)o.train, &even));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateBand(PETSC_COMM_SELF, 8191, 32, 1.0, &A));
  PetscCall(Time(A, 4, (int)o.repeat, (int)o.train, &fixed));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\n8192 rows in 4 partitions %.4f, 8191 rows %.4f: %.1f %% longer (paper: 64.5 %%)\n",
                        even.setup + even.apply, fixed.setup + fixed.apply,
                        100 * ((fixed.setup + fixed.apply) / (even.setup + even.apply) - 1)));
  PetscCall(PetscFinalize());
  return 0;
}
