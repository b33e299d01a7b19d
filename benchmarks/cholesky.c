/* SPDX-License-Identifier: BSD-2-Clause */
/* cholesky.c: PCSPIKE by Cholesky, or with row exchanges, beside LU, on a CPU or a GPU */
static char help[] =
  "Symmetric bands, each diagonal entry d times the sum of the others' magnitudes: Cholesky and, as a ratio to it\n"
  "after each number, Cholesky / LU. ms, medians of rounds in which both take turns.\n"
  "  -pivoting      in place of Cholesky LU with row exchanges, of bands that do not need them\n"
  "  setup, apply   new values in the same pattern, and one right-hand side, waited for at the end\n"
  "  fill ...       the phases of a setup, each waited for before the next one begins\n"
  "  -n <200000> -k <4,16,50,128> -d <1> -partitions <1, 0: what PCSPIKE chooses> -repeat <9> -train <10>\n"
  "  -mat_type aijcusparse -partitions 0    on a GPU; options of PCSPIKE\n\n";

#include <petsc/private/petscimpl.h>
#include "common/watch.h"

enum {
  SETUP,
  FILL,
  FACTOR,
  TIPS,
  REDUCED,
  APPLY,
  NTIMES
};

/* From FILL on */
static const char *const eventnames[] = {"PCSpikeFill", "PCSpikeFactor", "PCSpikeTips", "PCSpikeReduced"};

static PetscErrorCode Matrix(PetscInt n, PetscInt K, PetscReal d, Mat *A)
{
  PetscInt64   nz = 0;
  PetscInt    *i, *j;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n + 1, &i, (size_t)n * (2 * K + 1), &j, (size_t)n * (2 * K + 1), &a));
  for (PetscInt r = 0; r < n; r++) {
    PetscReal  sum  = 0.0;
    PetscInt64 diag = nz;

    i[r] = (PetscInt)nz;
    for (PetscInt c = PetscMax(0, r - K); c <= PetscMin(n - 1, r + K); c++) {
      const PetscReal v = Uniform((uint64_t)PetscMin(r, c), (uint64_t)PetscMax(r, c));

      if (c == r) diag = nz;
      else sum += PetscAbsReal(v);
      j[nz]   = c;
      a[nz++] = v;
    }
    a[diag] = K ? d * sum : 1.0;
  }
  i[n] = (PetscInt)nz;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, i, j, a));
  PetscCall(PetscFree3(i, j, a));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One more round: a setup as a whole, one by phases, applications */
static PetscErrorCode Round(PC pc, Mat A, Vec b, Vec x, int train, int r, double t[NTIMES][MAXREPEAT])
{
  PetscLogDouble t0, t1;

  PetscFunctionBeginUser;
  for (int phases = 1; phases >= 0; phases--) {
    PetscCall(PetscObjectStateIncrease((PetscObject)A));
    PetscCall(PetscArrayzero(watch.spent, watch.count));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    watch.on = (PetscBool)phases;
    PetscCall(PCSetUp(pc));
    watch.on = PETSC_FALSE;
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    for (int e = 0; phases && e < watch.count; e++) t[FILL + e][r] = watch.spent[e];
  }
  t[SETUP][r] = 1e3 * (t1 - t0);
  PetscCall(PCApply(pc, b, x));
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  for (int k = 0; k < train; k++) PetscCall(PCApply(pc, b, x));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  t[APPLY][r] = 1e3 * (t1 - t0) / train;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt n, PetscInt K, PetscReal d, PetscInt partitions, PetscBool pivoting, int repeat,
                           int train)
{
  double      t[2][NTIMES][MAXREPEAT], ms[2][NTIMES];
  Mat         A;
  Vec         b, x;
  PC          pc[2];
  PCSpikeInfo info[2];

  PetscFunctionBeginUser;
  PetscCall(Matrix(n, K, d, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  for (PetscInt f = 0; f < 2; f++) {
    PetscCall(PCCreate(PETSC_COMM_SELF, &pc[f]));
    PetscCall(PCSetOperators(pc[f], A, A));
    PetscCall(PCSetType(pc[f], PCSPIKE));
    PetscCall(PCSpikeSetFactorType(pc[f], f && !pivoting ? PC_SPIKE_FACTOR_CHOLESKY : PC_SPIKE_FACTOR_LU));
    PetscCall(PCSpikeSetPivoting(pc[f], (PetscBool)(f && pivoting)));
    PetscCall(PCSpikeSetMatchingType(pc[f], PC_SPIKE_MATCHING_NONE));
    PetscCall(PCFactorSetMatOrderingType(pc[f], MATORDERINGNATURAL));
    if (partitions) PetscCall(PCSpikeSetLocalPartitions(pc[f], partitions));
    PetscCall(PCSetFromOptions(pc[f]));
    PetscCall(PCSetUp(pc[f]));
  }
  for (int r = -2; r < repeat; r++)
    for (int f = 0; f < 2; f++) PetscCall(Round(pc[f], A, b, x, train, r < 0 ? 0 : r, t[f]));
  for (int f = 0; f < 2; f++) {
    for (int e = 0; e < NTIMES; e++) ms[f][e] = Median(repeat, t[f][e]);
    PetscCall(PCSpikeGetInfo(pc[f], &info[f]));
    PetscCall(PCDestroy(&pc[f]));
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "%7" PetscInt_FMT " %4" PetscInt_FMT " %6" PetscInt_FMT, n, K, info[1].partitions));
  for (int e = 0; e < NTIMES; e++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %8.4f ", ms[1][e]));
    if (ms[0][e] > 0.0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%5.2f", ms[1][e] / ms[0][e]));
    else PetscCall(PetscPrintf(PETSC_COMM_SELF, "    -"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %5.2f\n", (double)(info[1].bytes / info[0].bytes)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  k[16] = {4, 16, 50, 128}, nk = 16, n = 200000, partitions = 1, repeat = 9, train = 10;
  PetscReal d = 1.0;
  PetscBool set, pivoting = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of Cholesky", NULL);
  PetscCall(PetscOptionsInt("-n", "Rows", NULL, n, &n, NULL));
  PetscCall(PetscOptionsIntArray("-k", "Half-bandwidths", NULL, k, &nk, &set));
  PetscCall(PetscOptionsReal("-d", "Dominance", NULL, d, &d, NULL));
  PetscCall(PetscOptionsInt("-partitions", "Partitions", NULL, partitions, &partitions, NULL));
  PetscCall(PetscOptionsBool("-pivoting", "Row exchanges in place of Cholesky", NULL, pivoting, &pivoting, NULL));
  PetscCall(PetscOptionsInt("-repeat", "Rounds", NULL, repeat, &repeat, NULL));
  PetscCall(PetscOptionsInt("-train", "Applications in a row", NULL, train, &train, NULL));
  PetscOptionsEnd();
  if (!set) nk = 4;
  PetscCheck(repeat >= 1 && repeat <= MAXREPEAT && train >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-repeat from 1 to %d, -train from 1", MAXREPEAT);
  PetscCall(WatchEvents((int)PETSC_STATIC_ARRAY_LENGTH(eventnames), eventnames));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%7s %4s %6s | %14s | %14s | %14s | %14s | %14s | %14s | bytes\n", "n", "K",
                        "parts", "setup", "fill", "factor", "tips", "reduced", "apply"));
  for (PetscInt q = 0; q < nk; q++) PetscCall(Case(n, k[q], d, partitions, pivoting, (int)repeat, (int)train));
  PetscCall(PetscFinalize());
  return 0;
}
