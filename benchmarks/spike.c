/* SPDX-License-Identifier: BSD-2-Clause */
/* spike.c: PCSPIKE's setup and apply, first and with new values, against the copy bandwidth measured in the same run */
static char help
  [] = "Random bands: off-diagonals uniform in [-1, 1], a_ii = d * sum of the magnitudes of the others in the row.\n"
       "  first    setup from scratch (pattern, memory, all below), ms\n"
       "  setup    setup with new values in the same pattern: fill, factors, tips, reduced systems, ms\n"
       "  apply    one right-hand side, ms: the mean of a train of them\n"
       "  floor    fewest bytes of an apply, factors once and vectors once in and out, over the rate of a copy\n"
       "  residual ||b - A x||_2 / ||b||_2 of one application x = M^-1 b\n"
       "  memory   bytes of the factored band and of work space over those of the band, entry by entry; then tips with "
       "reduced systems, and the fill map, likewise; MB: factored band\n"
       "Medians, the least and the greatest in brackets; each waits for the device before and after.\n"
       "  -cases <1000000,32,...>   pairs N,K\n"
       "  -d <1>                    dominance\n"
       "  -repeat <20>              repetitions\n"
       "  -train <20>               applies that are timed together\n"
       "  -csv <file>               also writes the numbers to a file\n"
       "  -mat_type aijcusparse     on a GPU; any option of PCSPIKE\n\n";

#include "common/csvfile.h"
#include "common/copyrate.h"

static PetscErrorCode Case(MPI_Comm comm, PetscInt N, PetscInt K, PetscReal d, int repeat, int train, PetscReal rate,
                           FILE *csv)
{
  Mat                 A;
  PC                  pc;
  Vec                 x, b, r;
  double              setup[MAXREPEAT], apply[MAXREPEAT], first = 0.0, ms[2], floor;
  PetscReal           rnorm, bnorm, band;
  PCSpikeInfo         info;
  PCFailedReason      failed;
  PetscSpikePrecision precision;
  PetscMPIInt         size;
  int                 bytes; /* of a real number of the factors */

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(CreateBand(comm, N, K, d, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b)); /* the matrix is where it will be used */
  PetscCall(PCCreate(comm, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TimeSpike(comm, A, pc, b, x, repeat, train, &first, setup, apply));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSpikeGetPrecision(pc, &precision));
  PetscCall(PCGetFailedReason(pc, &failed));
  bytes = precision == PETSC_SPIKE_PRECISION_DOUBLE ? 8 : precision == PETSC_SPIKE_PRECISION_SINGLE ? 4 : 2;
  band  = (PetscReal)N * (2 * K + 1) * bytes * (sizeof(PetscScalar) / sizeof(PetscReal));
  ms[0] = Median(repeat, setup);
  ms[1] = Median(repeat, apply);
  floor = 1e3 * ((double)band + 2.0 * N * sizeof(PetscScalar)) / size / rate;
  PetscCall(PetscPrintf(comm,
                        "%8" PetscInt_FMT " %4" PetscInt_FMT " %6" PetscInt_FMT
                        " %9.1f %9.4f (%8.4f %8.4f) %8.4f (%7.4f %7.4f) %8.4f %5.2f %9.1e %6.3f %6.3f %6.3f %9.0f%s\n",
                        N, K, info.partitions, first, ms[0], setup[0], setup[repeat - 1], ms[1], apply[0],
                        apply[repeat - 1], floor, floor / ms[1], (double)(rnorm / bnorm),
                        (double)((info.bytes + info.extra_bytes - info.tips_bytes - info.map_bytes) / band),
                        (double)(info.tips_bytes / band), (double)(info.map_bytes / band), (double)(info.bytes * 1e-6),
                        failed ? " FAILED" : ""));
  if (csv)
    PetscCall(PetscFPrintf(comm, csv,
                           "%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%g,%g,%g,%g,%g,%g,%g,%g,%g\n", N, K,
                           info.partitions, first, ms[0], setup[0], setup[repeat - 1], ms[1], apply[0],
                           apply[repeat - 1], floor, (double)(rnorm / bnorm)));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases[64] = {1000000, 32, 100000, 32,  200000, 50,  400000, 16,
                        1000000, 8,  400000, 128, 400000, 256, 2000,   32},
           ncases = 64, repeat = 20, train = 20;
  PetscReal   d = 1.0, rate = 1.0;
  PetscBool   set, given;
  char        file[PETSC_MAX_PATH_LEN];
  FILE       *csv = NULL;
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 16;
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-d", &d, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-train", &train, NULL));
  PetscCheck(repeat >= 1 && repeat <= MAXREPEAT && train >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-repeat from 1 to %d, -train from 1", MAXREPEAT);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &given));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (given && !rank)
    PetscCall(BenchCSVOpen(file,
                           "n,k,partitions,first_ms,setup_ms,setup_min,setup_max,apply_ms,apply_min,apply_max,"
                           "apply_floor_ms,residual",
                           &csv));
  PetscCall(CopyRate(PETSC_COMM_WORLD, &rate));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d rank%s, dominance %g, a copy moves %.0f GB/s on each\n", size,
                        size > 1 ? "s" : "", (double)d, (double)(rate * 1e-9)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%8s %4s %6s %9s %9s %19s %8s %17s %8s %5s %9s %6s %6s %6s %9s\n", "N", "K",
                        "parts", "first", "setup", "", "apply", "", "floor", "of it", "residual", "memory", "tips",
                        "map", "MB"));
  for (PetscInt k = 0; k < ncases; k += 2)
    PetscCall(Case(PETSC_COMM_WORLD, cases[k], cases[k + 1], d, (int)repeat, (int)train, rate, csv));
  PetscCall(BenchCSVClose(file, &csv));
  PetscCall(PetscFinalize());
  return 0;
}
