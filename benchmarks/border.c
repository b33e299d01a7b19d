/* SPDX-License-Identifier: BSD-2-Clause */
/* border.c: PCSPIKE on a band with a border of full rows and columns, beside the band alone, on a CPU or a GPU */
static char help[] = "Bands with m full rows and columns, ms and after each number the ratio to the band alone. First "
                     "setups once; setups\n"
                     "with new values and applications of one right-hand side: medians, waited for at the end.\n"
                     "  -n <1000000> -k <8> -m <1> : rows, half-bandwidths, full rows and columns; lists of K and m\n"
                     "  -d <1>          each diagonal entry over the sum of the others' magnitudes, of the band\n"
                     "  -repeat <9> -train <10>\n"
                     "  -mat_type aijcusparse      on a GPU; options of PCSPIKE\n\n";

#include "common/bandcase.h"

/* B <- A with m full rows and columns, of small entries beside those of the band, and a diagonal that fits them */
static PetscErrorCode AddBorder(Mat A, PetscInt m, Mat *B)
{
  PetscInt           n, *ia, *ja = NULL;
  const PetscInt    *cols;
  const PetscScalar *vals;
  PetscScalar       *a = NULL;
  PetscCount         k = 0;
  MatType            type;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscMalloc1(n + 1, &ia));
  ia[0] = 0;
  for (int fill = 0; fill < 2; fill++) { /* counts first */
    if (fill) PetscCall(PetscMalloc2(k, &ja, k, &a));
    k = 0;
    for (PetscInt i = 0, next = 0; i < n; i++) {
      const PetscBool full = (PetscBool)(next < m && i == (2 * next + 1) * (PetscInt64)n / (2 * m));
      PetscInt        nc, q = 0, far = 0;

      PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
      for (PetscInt j = 0; full && j < n; j++) {
        while (q < nc && cols[q] < j) q++;
        if (fill) {
          ja[k] = j;
          a[k]  = i == j ? 4.0 : q < nc && cols[q] == j ? vals[q] : Uniform((uint64_t)i, (uint64_t)j) / n;
        }
        k++;
      }
      while (!full && (q < nc || far < m)) { /* both lists ascend */
        const PetscInt  column = far < m ? (PetscInt)((2 * far + 1) * (PetscInt64)n / (2 * m)) : n;
        const PetscBool own    = (PetscBool)(q < nc && cols[q] <= column);

        if (fill) {
          ja[k] = own ? cols[q] : column;
          a[k]  = own ? vals[q] : Uniform((uint64_t)i, (uint64_t)column) / n;
        }
        if (own && cols[q] == column) far++;
        if (own) q++;
        else far++;
        k++;
      }
      PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
      next += full;
      PetscCheck(k <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "More entries than PetscInt counts");
      ia[i + 1] = (PetscInt)k;
    }
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, B));
  PetscCall(MatSetSizes(*B, n, n, n, n));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatSeqAIJSetPreallocationCSR(*B, ia, ja, a));
  PetscCall(PetscFree2(ja, a));
  PetscCall(PetscFree(ia));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt n, PetscInt K, PetscInt m, PetscReal d, int repeat, int train)
{
  double      first[2], setup[2][MAXREPEAT], apply[2][MAXREPEAT], ms[2];
  PetscReal   norm[2] = {0.0, 0.0};
  PCSpikeInfo info[2];
  Mat         A[2];
  Vec         b, x, r;

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, n, K, d, &A[0]));
  PetscCall(AddBorder(A[0], m, &A[1]));
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  for (int f = 0; f < 2; f++) {
    PC pc;

    PetscCall(MatMult(A[f], b, x)); /* the matrix is where it will be used */
    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetOperators(pc, A[f], A[f]));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(TimeSpike(PETSC_COMM_SELF, A[f], pc, b, x, repeat, train, &first[f], setup[f], apply[f]));
    PetscCall(PCSpikeGetInfo(pc, &info[f]));
    PetscCall(MatMult(A[f], x, r));
    PetscCall(VecAXPY(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &norm[0]));
    PetscCall(VecNorm(b, NORM_2, &norm[1]));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A[f]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%8" PetscInt_FMT " %4" PetscInt_FMT " %3" PetscInt_FMT " %6" PetscInt_FMT " | %9.3f %5.2f |",
                        n, K, info[1].border, info[1].partitions, first[1], first[1] / first[0]));
  for (int f = 0; f < 2; f++) ms[f] = Median(repeat, setup[f]);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %9.4f %5.2f |", ms[1], ms[1] / ms[0]));
  for (int f = 0; f < 2; f++) ms[f] = Median(repeat, apply[f]);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %9.4f %5.2f | %.1e\n", ms[1], ms[1] / ms[0], (double)(norm[0] / norm[1])));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  k[16] = {8}, m[16] = {1}, nk = 16, nm = 16, n = 1000000, repeat = 9, train = 10;
  PetscReal d = 1.0;
  PetscBool set[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of borders", NULL);
  PetscCall(PetscOptionsBoundedInt("-n", "Rows", NULL, n, &n, NULL, 2));
  PetscCall(PetscOptionsIntArray("-k", "Half-bandwidths", NULL, k, &nk, &set[0]));
  PetscCall(PetscOptionsIntArray("-m", "Full rows and columns", NULL, m, &nm, &set[1]));
  PetscCall(PetscOptionsReal("-d", "Dominance", NULL, d, &d, NULL));
  PetscCall(PetscOptionsRangeInt("-repeat", "Rounds", NULL, repeat, &repeat, NULL, 1, MAXREPEAT));
  PetscCall(PetscOptionsBoundedInt("-train", "Applications in a row", NULL, train, &train, NULL, 1));
  PetscOptionsEnd();
  if (!set[0]) nk = 1;
  if (!set[1]) nm = 1;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%8s %4s %3s %6s | %15s | %15s | %15s | residual\n", "n", "K", "m", "parts",
                        "first setup", "setup", "apply"));
  for (PetscInt q = 0; q < nk; q++)
    for (PetscInt p = 0; p < nm; p++) PetscCall(Case(n, k[q], m[p], d, (int)repeat, (int)train));
  PetscCall(PetscFinalize());
  return 0;
}
