/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE by Cholesky beside LU: times of a setup with new values, of its factorization, and of an "
                     "application; ratios cholesky / lu.\n\
  -n <200000>, -k <4,16,50,128>, -partitions <1>, -repeat <7>, -mat_type <aij>\n\n";

#include <petsc/private/petscimpl.h>
#include <petscspike.h>
#include <petscdevice.h>

typedef struct {
  PetscReal setup, factor, apply, bytes;
} Times;

/* A dominant symmetric band with entries in [-1, 1) */
static PetscErrorCode Matrix(PetscInt n, PetscInt K, Mat *A)
{
  PetscInt64   nz = 0;
  PetscInt    *i, *j;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &i, (size_t)n * (2 * K + 1), &j, (size_t)n * (2 * K + 1), &a));
  for (PetscInt r = 0; r < n; r++) {
    i[r] = (PetscInt)nz;
    for (PetscInt c = PetscMax(0, r - K); c <= PetscMin(n - 1, r + K); c++) {
      const unsigned long long lo = (unsigned long long)PetscMin(r, c), hi = (unsigned long long)PetscMax(r, c);
      unsigned long long       z = 0x9E3779B97F4A7C15ULL * (lo * 1000003ULL + hi + 1);

      z       = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
      z       = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
      j[nz]   = c;
      a[nz++] = r == c ? 2.0 * K + 1.0 : (PetscReal)((double)(z >> 40) / 8388608.0 - 1.0);
    }
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

static PetscErrorCode FactorTime(PetscReal *seconds)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("PCSpikeFactor", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *seconds = (PetscReal)info.time;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shortest of one more round */
static PetscErrorCode Round(PC pc, Mat A, Vec b, Vec x, Times *t)
{
  PetscLogDouble t0, t1, t2;
  PetscReal      before, after;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(PetscDeviceContextSynchronize(NULL));
  PetscCall(FactorTime(&before));
  PetscCall(PetscTime(&t0));
  PetscCall(PCSetUp(pc));
  PetscCall(PetscTime(&t1));
  PetscCall(FactorTime(&after));
  for (PetscInt k = 0; k < 3; k++) PetscCall(PCApply(pc, b, x));
  PetscCall(PetscDeviceContextSynchronize(NULL));
  PetscCall(PetscTime(&t2));
  t->setup  = PetscMin(t->setup, (PetscReal)(t1 - t0));
  t->factor = PetscMin(t->factor, after - before);
  t->apply  = PetscMin(t->apply, (PetscReal)(t2 - t1) / 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  k[16] = {4, 16, 50, 128}, nk = 16, n = 200000, partitions = 1, repeat = 7;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of Cholesky", NULL);
  PetscCall(PetscOptionsInt("-n", "Rows", NULL, n, &n, NULL));
  PetscCall(PetscOptionsIntArray("-k", "Half-bandwidths", NULL, k, &nk, &set));
  PetscCall(PetscOptionsInt("-partitions", "Partitions", NULL, partitions, &partitions, NULL));
  PetscCall(PetscOptionsInt("-repeat", "Rounds, of which the best counts", NULL, repeat, &repeat, NULL));
  PetscOptionsEnd();
  if (!set) nk = 4;
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD,
                "times in ms, cholesky / lu\n     n    K |   setup   ratio |  factor   ratio |   apply   ratio | "
                "bytes ratio\n"));
  for (PetscInt q = 0; q < nk; q++) {
    Times t[2] = {{1e9, 1e9, 1e9, 0}, {1e9, 1e9, 1e9, 0}};
    Mat   A;
    Vec   b, x;
    PC    pc[2];

    PetscCall(Matrix(n, k[q], &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(b, NULL));
    for (PetscInt f = 0; f < 2; f++) {
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[f]));
      PetscCall(PCSetOperators(pc[f], A, A));
      PetscCall(PCSetType(pc[f], PCSPIKE));
      PetscCall(PCSpikeSetFactorType(pc[f], f ? PC_SPIKE_FACTOR_CHOLESKY : PC_SPIKE_FACTOR_LU));
      PetscCall(PCFactorSetMatOrderingType(pc[f], MATORDERINGNATURAL));
      if (partitions) PetscCall(PCSpikeSetLocalPartitions(pc[f], partitions));
      PetscCall(PCSetFromOptions(pc[f]));
      PetscCall(PCSetUp(pc[f]));
    }
    for (PetscInt r = 0; r < repeat; r++)
      for (PetscInt f = 0; f < 2; f++) PetscCall(Round(pc[f], A, b, x, &t[f]));
    for (PetscInt f = 0; f < 2; f++) {
      PCSpikeInfo info;

      PetscCall(PCSpikeGetInfo(pc[f], &info));
      t[f].bytes = info.bytes;
      PetscCall(PCDestroy(&pc[f]));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%7" PetscInt_FMT " %4" PetscInt_FMT
                          " | %7.2f   %5.2f | %7.2f   %5.2f | %7.2f   %5.2f |  %5.2f\n",
                          n, k[q], (double)(t[1].setup * 1e3), (double)(t[1].setup / t[0].setup),
                          (double)(t[1].factor * 1e3), (double)(t[1].factor / t[0].factor), (double)(t[1].apply * 1e3),
                          (double)(t[1].apply / t[0].apply), (double)(t[1].bytes / t[0].bytes)));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}
