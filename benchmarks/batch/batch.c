/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: batches of narrow bands in PCSPIKE against one band, LAPACK, cuSPARSE and the rate of a copy, in one run */
static char help
  [] = "Independent bands, one after the other in one matrix; ms:\n"
       "  first    setup from scratch\n"
       "  setup    setup with new values in the same pattern\n"
       "  apply    one right-hand side: the mean of a train of them\n"
       "  of it    the least bytes of an apply, factors once and vectors once in and out, at the rate of a copy, over "
       "that\n"
       "  one band setup and apply with -pc_spike_batch_type never\n"
       "  LAPACK   gbtrf and gbtrs on one core, from bands that are filled before; then over setup and apply\n"
       "  gpsv     cuSPARSE's gpsvInterleavedBatch, from interleaved diagonals, for half-bandwidths 2,2; likewise\n"
       "Medians. Each waits for the device before and after.\n"
       "  -cases <512,512,2,...>    triples systems,rows,half-bandwidth\n"
       "  -repeat <20>, -train <20> repetitions, applies that are timed together\n"
       "  -one <true>, -lapack <true>, -gpsv <true>  those columns\n"
       "  -pc_spike_pivoting        row exchanges, of which gpsv and LAPACK have their own in any case\n"
       "  -dominant <true>          false: weak diagonals, so that rows change places, and residuals grow\n"
       "  -mat_type aijcusparse     on a GPU; any option of PCSPIKE\n\n";

#include "../common/copyrate.h"
#include "../../tests/lapackgb.h"
#include "common/petsccompat.h"
#include <math.h>
#if defined(SPIKE_HAVE_CUDA)
  #include "cuda/gpsv.h"
#endif

#define LAPACK_ROUNDS 9

typedef struct {
  int       repeat, train;
  PetscBool one, lapack, gpsv;
  PetscReal rate;
} Run;

static PetscBool dominant = PETSC_TRUE;

/* Entry at distance d in row i of a system: mostly dominant, the same in each of a few hundred systems */
static PetscScalar Entry(PetscInt q, PetscInt i, PetscInt d, PetscInt K)
{
  if (d || !dominant) return Uniform((uint64_t)(q % 257) * 65536 + i, (uint64_t)(d + K));
  return 2.0 * K + 0.5 + 0.25 * Uniform((uint64_t)q, (uint64_t)i);
}

static PetscErrorCode CreateBatch(PetscInt nsys, PetscInt m, PetscInt K, Mat *A)
{
  const PetscInt   n    = nsys * m;
  const PetscCount most = (PetscCount)n * (2 * K + 1);
  PetscInt        *ia, *ja, k = 0;
  PetscScalar     *a;

  PetscFunctionBeginUser;
  PetscCheck(most <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "More entries than PetscInt counts: use 64-bit indices");
  PetscCall(PetscMalloc3(n + 1, &ia, most, &ja, most, &a));
  ia[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt q = r / m, i = r % m;

    for (PetscInt d = PetscMax(-K, -i); d <= PetscMin(K, m - 1 - i); d++, k++) {
      ja[k] = r + d;
      a[k]  = Entry(q, i, d, K);
    }
    ia[r + 1] = k;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, ia, ja, a));
  PetscCall(PetscFree3(ia, ja, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All systems one after the other, factor and solve, ms: the median of rounds over as many of them as half a second has
  room for, at least one round, and a thousand rows
*/
static PetscErrorCode TimeLAPACK(PetscInt nsys, PetscInt m, PetscInt K, double *ms)
{
  const PetscInt ld = 3 * K + 1;
  PetscScalar   *ab, *x;
  PetscBLASInt  *ipiv, n, k, ldab, one = 1;
  PetscLogDouble t0, t1;
  PetscInt       round = nsys;
  double         each[LAPACK_ROUNDS], seconds = 0.0;
  int            rounds = 0;

  PetscFunctionBeginUser;
  *ms = 0.0;
  if (!nsys) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &n));
  PetscCall(PetscBLASIntCast(K, &k));
  PetscCall(PetscBLASIntCast(ld, &ldab));
  PetscCall(PetscMalloc3((size_t)m * ld, &ab, m, &x, m, &ipiv));
  for (int r = -1; r < LAPACK_ROUNDS && (rounds < 1 || seconds < 0.5); r++) { /* the first one warms up */
    double now = 0.0;

    for (PetscInt q = 0; q < round; q++) {
      PetscCall(PetscArrayzero(ab, (size_t)m * ld));
      for (PetscInt i = 0; i < m; i++) {
        for (PetscInt d = PetscMax(-K, -i); d <= PetscMin(K, m - 1 - i); d++)
          ab[(size_t)(i + d) * ld + 2 * K - d] = Entry(q, i, d, K);
        x[i] = 1.0;
      }
      PetscCall(PetscTime(&t0));
      PetscCallLAPACKInfo("LAPACKgbtrf", LAPACKgbtrf_(&n, &n, &k, &k, ab, &ldab, ipiv, &info));
      PetscCallLAPACKInfo("LAPACKgbtrs", LAPACKgbtrs_("N", &n, &k, &k, &one, ab, &ldab, ipiv, x, &n, &info));
      PetscCall(PetscTime(&t1));
      now += t1 - t0;
      if (r < 0 && now > 0.1 && (q + 1) * m >= 1000) round = q + 1;
    }
    if (r < 0) continue;
    each[rounds++] = 1e3 * now * nsys / round;
    seconds += now;
  }
  *ms = Median(rounds, each);
  PetscCall(PetscFree3(ab, x, ipiv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(SPIKE_HAVE_CUDA)
/* b = 1, and the largest difference to x */
static PetscErrorCode TimeCuSPARSE(const Run *run, PetscInt nsys, PetscInt m, Vec x, double *ms, PetscReal *differs)
{
  const PetscCount   n = (PetscCount)nsys * m;
  PetscScalar       *diagonals[5], *b, *y;
  const PetscScalar *xa;

  PetscFunctionBeginUser;
  for (PetscInt d = -2; d <= 2; d++) {
    PetscCall(PetscCalloc1(n, &diagonals[d + 2]));
    for (PetscInt q = 0; q < nsys; q++)
      for (PetscInt i = PetscMax(0, -d); i < PetscMin(m, m - d); i++)
        diagonals[d + 2][(PetscCount)q * m + i] = Entry(q, i, d, 2);
  }
  PetscCall(PetscMalloc2(n, &b, n, &y));
  for (PetscCount i = 0; i < n; i++) b[i] = 1.0;
  PetscCall(TimeGpsv(nsys, m, (const PetscScalar *const *)diagonals, b, y, run->repeat, ms));
  PetscCall(VecGetArrayRead(x, &xa));
  *differs = 0.0;
  for (PetscCount i = 0; i < n && !isnan(*ms); i++) *differs = PetscMax(*differs, PetscAbsScalar(xa[i] - y[i]));
  PetscCall(VecRestoreArrayRead(x, &xa));
  for (int k = 0; k < 5; k++) PetscCall(PetscFree(diagonals[k]));
  PetscCall(PetscFree2(b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode TimePC(const Run *run, Mat A, Vec b, Vec x, PCSpikeBatchType type, double ms[3],
                             PetscInt *systems, PetscBool *exchanges)
{
  PC          pc;
  PCSpikeInfo info;
  double      setup[MAXREPEAT], apply[MAXREPEAT];

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetBatchType(pc, type));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TimeSpike(PETSC_COMM_SELF, A, pc, b, x, run->repeat, run->train, &ms[0], setup, apply));
  ms[1] = Median(run->repeat, setup);
  ms[2] = Median(run->repeat, apply);
  PetscCall(PCSpikeGetInfo(pc, &info));
  *systems = info.systems;
  PetscCall(PCSpikeGetPivoting(pc, exchanges));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(const Run *run, PetscInt nsys, PetscInt m, PetscInt K)
{
  Mat       A;
  Vec       b, x, r;
  double    ours[3], band[3] = {NAN, NAN, NAN}, lapack = NAN, gpsv = NAN, floor;
  PetscReal rnorm, bnorm, differs = 0.0;
  PetscInt  systems, none;
  PetscBool exchanges;

  PetscFunctionBeginUser;
  PetscCall(CreateBatch(nsys, m, K, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatMult(A, b, r)); /* the matrix is where it will be used */
  if (run->one) PetscCall(TimePC(run, A, b, x, PC_SPIKE_BATCH_NEVER, band, &none, &exchanges));
  PetscCall(TimePC(run, A, b, x, PC_SPIKE_BATCH_ALWAYS, ours, &systems, &exchanges));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  if (run->lapack) PetscCall(TimeLAPACK(nsys, m, K, &lapack));
#if defined(SPIKE_HAVE_CUDA)
  if (run->gpsv && K == 2 && PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscCall(TimeCuSPARSE(run, nsys, m, x, &gpsv, &differs));
  }
#endif
  /* with row exchanges K more diagonals of U, and a byte a row */
  floor = (2.0 * K + 3.0) * sizeof(PetscScalar) + (exchanges ? (double)K * sizeof(PetscScalar) + 1.0 : 0.0);
  floor *= 1e3 * nsys * m / (double)run->rate;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%8" PetscInt_FMT " %5" PetscInt_FMT " %3" PetscInt_FMT
                        " %9.1f %9.4f %9.4f %6.2f %10.4f %9.4f %11.2f %7.1f %9.4f %6.2f %9.1e%s\n",
                        nsys, m, K, ours[0], ours[1], ours[2], floor / ours[2], band[1], band[2], lapack,
                        lapack / (ours[1] + ours[2]), gpsv, gpsv / (ours[1] + ours[2]), (double)(rnorm / bnorm),
                        systems == nsys ? "" : " NO BATCH"));
  if (differs > 1e-6) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  cuSPARSE's solution differs by %g\n", (double)differs));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases[60] = {512, 512, 2, 65536, 128, 2, 1000000, 32, 2, 10000, 256, 4, 10000, 256, 8, 10000, 256, 16},
           ncases = 60, repeat = 20, train = 20;
  PetscBool set;
  Run       run = {20, 20, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, 1.0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscBLASSetNumThreads(1));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 18;
  PetscCheck(ncases % 3 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants triples systems,rows,half-bandwidth, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-train", &train, NULL));
  PetscCheck(repeat >= 1 && repeat < MAXREPEAT && train >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-repeat from 1 to %d, -train from 1", MAXREPEAT - 1);
  run.repeat = (int)(repeat + repeat % 2); /* each setup changes the sign of the matrix */
  run.train  = (int)train;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-one", &run.one, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lapack", &run.lapack, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpsv", &run.gpsv, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dominant", &dominant, NULL));
  PetscCall(CopyRate(PETSC_COMM_SELF, &run.rate));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "a copy moves %.0f GB/s\n", (double)(run.rate * 1e-9)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %5s %3s %9s %9s %9s %6s %20s %19s %16s %9s\n", "systems", "rows", "K",
                        "first", "setup", "apply", "of it", "one band", "LAPACK", "gpsv", "residual"));
  for (PetscInt k = 0; k < ncases; k += 3) PetscCall(Case(&run, cases[k], cases[k + 1], cases[k + 2]));
  PetscCall(PetscFinalize());
  return 0;
}
