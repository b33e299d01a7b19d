/* SPDX-License-Identifier: BSD-2-Clause */
/* ownbands.c: partitions with their own half-bandwidths beside partitions that all have those of the band */
static char help[] = "Several partitions, in natural order, of matrices after RCM and of generated bands.\n\
  one, own      partitions with the half-bandwidths of the band, by stored zeros, and their own; ms of a core, or of\n\
                the clock on a GPU, where an apply is the mean of 8 in turn\n\
  -mat_type aijcusparse  on a GPU\n\
  -dir FOLDER   with sherman1.mtx, sherman4.mtx, sherman5.mtx, or none (default $SPIKE_MATRICES)\n\
  -rows n       of a generated band (100000)\n\
  -half a,b     half-bandwidths of a generated band in its first and its last rows (48,4); a full one has a on a GPU\n\
  -partitions k (8; on a GPU left to the library)\n\
  -repeat r     (31)\n\
  -pc_spike_type block|truncated|full|auto, and other options of PCSPIKE\n\n";

#include "common/bandcase.h"
#include "common/cputime.h"
#include "../tutorials/mmio.h"

static PetscInt  partitions = 8, repeat = 31;
static PetscBool device = PETSC_FALSE;

/* A with rows and columns in the order of RCM of A + A^T */
static PetscErrorCode Reorder(Mat *A)
{
  IS  rows, columns;
  Mat T, B;

  PetscFunctionBeginUser;
  PetscCall(MatTranspose(*A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatScale(T, 0.0));
  PetscCall(MatAXPY(T, 1.0, *A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatGetOrdering(T, MATORDERINGRCM, &rows, &columns));
  PetscCall(MatPermute(*A, rows, rows, &B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From half-bandwidth K0 in the first rows to K1 in the last ones, dominance 1 */
static PetscErrorCode Narrowing(PetscInt n, PetscInt K0, PetscInt K1, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2 * PetscMax(K0, K1) + 1, NULL, A));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt K   = K0 + (PetscInt)(((PetscInt64)K1 - K0) * i / n);
    PetscReal      sum = 0.0;

    for (PetscInt j = PetscMax(0, i - K); j <= PetscMin(n - 1, i + K); j++) {
      const PetscReal v = Uniform((uint64_t)i, (uint64_t)j);

      if (j != i) PetscCall(MatSetValue(*A, i, j, v, INSERT_VALUES));
      if (j != i) sum += PetscAbsReal(v);
    }
    PetscCall(MatSetValue(*A, i, i, sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A with zeros at the ends of some rows, so that the pattern of each partition has the half-bandwidths of A */
static PetscErrorCode Widen(Mat A, Mat *B)
{
  PetscInt n, kl = 0, ku = 0, most = 0;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    most = PetscMax(most, nc);
    for (PetscInt c = 0; c < nc; c++) {
      if (vals[c] == (PetscScalar)0.0) continue;
      kl = PetscMax(kl, i - cols[c]);
      ku = PetscMax(ku, cols[c] - i);
    }
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
  }
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, most + 2, NULL, B));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    PetscCall(MatSetValues(*B, 1, &i, nc, cols, vals, ADD_VALUES));
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
    if (i % PetscMax(1, (kl + ku) / 16)) continue;
    if (i >= kl) PetscCall(MatSetValue(*B, i, i - kl, 0.0, ADD_VALUES));
    if (i + ku < n) PetscCall(MatSetValue(*B, i, i + ku, 0.0, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, PetscInt np, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_SELF, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMatchingType(*pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetLocalPartitions(*pc, np));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds: of the processor, or of the clock when a GPU has nothing left to do */
static PetscErrorCode Clock(double *now)
{
  PetscLogDouble t = 0.0;

  PetscFunctionBeginUser;
  if (device) PetscCall(Wait(PETSC_COMM_SELF, &t));
  *now = device ? t : BenchCPUTime();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ms of a first setup, of one with new values and of an application, in turn */
static PetscErrorCode Times(Mat AB[2], PetscInt np, PC pc[2], Vec b, Vec x, double ms[3][2][MAXREPEAT])
{
  const int train = device ? 8 : 4;
  PC        fresh;
  double    t[5];

  PetscFunctionBeginUser;
  for (int own = 0; own < 2; own++) {
    PetscCall(Create(AB[own], np, &pc[own]));
    PetscCall(PCSetUp(pc[own]));
    PetscCall(PCApply(pc[own], b, x));
  }
  for (PetscInt r = 0; r < repeat; r++)
    for (int own = 0; own < 2; own++) {
      PetscCall(Create(AB[own], np, &fresh));
      PetscCall(Clock(&t[0]));
      PetscCall(PCSetUp(fresh));
      PetscCall(Clock(&t[1]));
      PetscCall(PCDestroy(&fresh));
      PetscCall(MatScale(AB[own], -1.0)); /* new values */
      PetscCall(Clock(&t[2]));
      PetscCall(PCSetUp(pc[own]));
      PetscCall(Clock(&t[3]));
      for (int k = 0; k < train; k++) PetscCall(PCApply(pc[own], b, x));
      PetscCall(Clock(&t[4]));
      ms[0][own][r] = 1e3 * (t[1] - t[0]);
      ms[1][own][r] = 1e3 * (t[3] - t[2]);
      ms[2][own][r] = 1e3 * (t[4] - t[3]) / train;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Row(const char name[], PetscInt np, Mat A)
{
  Mat         AB[2] = {NULL, A};
  PC          pc[2];
  Vec         x, b;
  PCSpikeInfo info[2];
  double      ms[3][2][MAXREPEAT], median[3][2];
  PetscInt    n;

  PetscFunctionBeginUser;
  PetscCall(Widen(A, &AB[0]));
  for (int own = 0; own < 2 && device; own++)
    PetscCall(MatConvert(AB[own], MATAIJCUSPARSE, MAT_INPLACE_MATRIX, &AB[own]));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecSetValue(b, i, Uniform(1, (uint64_t)i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(Times(AB, np, pc, b, x, ms));
  for (int own = 0; own < 2; own++) {
    PetscCall(PCSpikeGetInfo(pc[own], &info[own]));
    for (int w = 0; w < 3; w++) median[w][own] = Median((int)repeat, ms[w][own]);
    PetscCall(PCDestroy(&pc[own]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%-18s %7" PetscInt_FMT " %4" PetscInt_FMT ",%-4" PetscInt_FMT " %3" PetscInt_FMT
                        "  %8.3f %8.3f %5.2f  %8.3f %8.3f %5.2f  %8.3f %8.3f %5.2f  %5.2f\n",
                        name, n, info[1].kl, info[1].ku, info[1].partitions, median[0][0], median[0][1],
                        median[0][1] / median[0][0], median[1][0], median[1][1], median[1][1] / median[1][0],
                        median[2][0], median[2][1], median[2][1] / median[2][0],
                        (double)(info[1].bytes / info[0].bytes)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&AB[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[]                 = {"sherman1", "sherman4", "sherman5"};
  char              dir[PETSC_MAX_PATH_LEN] = "", file[2 * PETSC_MAX_PATH_LEN], type[256] = "", text[64];
  PetscInt          rows = 100000, half[2] = {48, 4}, nhalf = 2;
  PetscBool         given;
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "SPIKE_MATRICES", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &rows, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-half", half, &nhalf, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, MATAIJCUSPARSE, &device));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-partitions", &partitions, &given));
  if (device && !given) partitions = PETSC_DECIDE;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  repeat = PetscMax(1, PetscMin(repeat, MAXREPEAT));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "ms%s; own over one\n\n%-18s %7s %9s %3s  %8s %8s %5s  %8s %8s %5s  %8s %8s %5s  %5s\n"
                        "%-18s %7s %9s %3s  %8s %8s %5s  %8s %8s %5s  %8s %8s %5s\n",
                        device ? "" : " of a core", "", "rows", "kl,ku", "np", "first", "setup", "", "refill", "", "",
                        "apply", "", "", "bytes", "", "", "", "", "one", "own", "", "one", "own", "", "one", "own",
                        ""));
  for (size_t k = 0; dir[0] && k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    PetscBool there;

    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s.mtx", dir, names[k]));
    PetscCall(PetscTestFile(file, 'r', &there));
    if (!there) continue;
    PetscCall(MatLoadFile(PETSC_COMM_SELF, file, &A));
    PetscCall(Reorder(&A));
    PetscCall(Row(names[k], partitions, A));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Narrowing(rows, half[0], half[1], &A));
  PetscCall(PetscSNPrintf(text, sizeof(text), "from %" PetscInt_FMT " to %" PetscInt_FMT, half[0], half[1]));
  PetscCall(Row(text, partitions, A));
  PetscCall(MatDestroy(&A));
  PetscCall(CreateBand(PETSC_COMM_SELF, rows, device ? half[0] : 32, 1.0, &A));
  PetscCall(Row("full band", partitions, A));
  if (!device) PetscCall(Row("full band", 1, A));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
