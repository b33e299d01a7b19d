/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "MATBAIJCUDA on a stencil of 7 points with dense blocks: products beside a copy of the bytes, MATAIJCUSPARSE and\n\
MATBAIJ; iterations of bcgsfused with it beside bcgs with MATAIJCUSPARSE. Without a\n\
device -spike_host_baijcuda compares the kernels of the host, and MATAIJ is the other type. cuSPARSE\n\
with blocks is in `blocks`.\n\
  -n <47>                    points of the grid in each direction\n\
  -bs <2,3,4,5,6,8,12,16>    rows of a block\n\
  -repeat <30>               times, of which the median is told\n\n";

#include "common/copyrate.h"

/* Block (i, j) has random entries; the diagonal is dominant */
static PetscErrorCode StencilMat(PetscInt n, PetscInt bs, Mat *A)
{
  const PetscInt step[7][3] = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const PetscInt nb         = n * n * n;
  PetscScalar   *v;
  PetscRandom    random;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(bs * bs, &v));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, bs, nb * bs, nb * bs, 7, NULL, A));
  for (PetscInt row = 0; row < nb; row++) {
    const PetscInt at[3] = {row % n, row / n % n, row / n / n};

    for (int s = 0; s < 7; s++) {
      const PetscInt x = at[0] + step[s][0], y = at[1] + step[s][1], z = at[2] + step[s][2], col = x + n * (y + n * z);

      if (x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n) continue;
      for (PetscInt e = 0; e < bs * bs; e++) {
        PetscCall(PetscRandomGetValue(random, &v[e]));
        v[e] = (v[e] - 0.5) / bs;
        if (col == row && e % (bs + 1) == 0) v[e] += 4.0;
      }
      PetscCall(MatSetValuesBlocked(*A, 1, &row, 1, &col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of a product; where A is NULL, of a copy of x */
static PetscErrorCode TimeWork(Mat A, Vec x, Vec y, PetscInt repeat, double *seconds)
{
  PetscLogDouble t0, t1;
  double        *t;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(repeat, &t));
  PetscCall(VecSet(x, 1.0));
  for (PetscInt r = -1; r < repeat; r++) { /* the first ten warm up */
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (int k = 0; k < 10; k++) PetscCall(A ? MatMult(A, x, y) : VecCopy(x, y));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (r >= 0) t[r] = (t1 - t0) / 10;
  }
  *seconds = Median((int)repeat, t);
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of a product with vectors of A */
static PetscErrorCode TimeMult(Mat A, PetscInt repeat, double *seconds)
{
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(TimeWork(A, x, y, repeat, seconds));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of a copy that moves as many bytes as a product of A: what is short has the time of a launch in it */
static PetscErrorCode TimeCopy(Mat A, double bytes, PetscInt repeat, double *seconds)
{
  const PetscInt n = (PetscInt)(bytes / (2 * sizeof(PetscScalar)));
  VecType        type;
  Vec            x, y;

  PetscFunctionBeginUser;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, n, n));
  PetscCall(VecSetType(x, type));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(TimeWork(NULL, x, y, repeat, seconds));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of an iteration, without preconditioner and without a test */
static PetscErrorCode TimeIteration(Mat A, KSPType type, PetscInt repeat, double *seconds)
{
  const PetscInt its = 40;
  PetscLogDouble t0, t1;
  double        *t;
  KSP            ksp;
  PC             pc;
  Vec            x, b;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(repeat, &t));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, its));
  PetscCall(KSPSolve(ksp, b, x));
  for (PetscInt r = 0; r < repeat; r++) {
    PetscCall(VecSet(x, 0.0));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    t[r] = (t1 - t0) / its;
  }
  *seconds = Median((int)repeat, t);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    n = 47, repeat = 30, nbs = 8, bs[16] = {2, 3, 4, 5, 6, 8, 12, 16};
  PetscReal   rate = 0.0;
  PetscBool   host = PETSC_FALSE, set;
  const char *other;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCheck(repeat >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-repeat is at least 1");
  nbs = 16;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-bs", bs, &nbs, &set));
  if (!set) nbs = 8;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spike_host_baijcuda", &host, NULL));
  other = host ? MATSEQAIJ : "seqaijcusparse";
  if (!host) PetscCall(PetscOptionsSetValue(NULL, "-mat_type", "seqaijcusparse")); /* of the vectors of the copy */
  PetscCall(CopyRate(PETSC_COMM_SELF, &rate));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " block rows, a copy %.0f GB/s, beside %s\n", n * n * n,
                        (double)(rate * 1e-9), other));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "  bs   us       of a copy  of one as long  times %s  times baij  iteration: times bcgs\n",
                        other));
  for (PetscInt k = 0; k < nbs; k++) {
    double  t[3], its[2], bytes, copy = 0.0;
    MatInfo info;
    Mat     A[3];

    PetscCall(StencilMat(n, bs[k], &A[2]));
    PetscCall(MatConvert(A[2], MATSEQBAIJCUDA, MAT_INITIAL_MATRIX, &A[0]));
    PetscCall(MatConvert(A[2], other, MAT_INITIAL_MATRIX, &A[1]));
    for (int m = 0; m < 3; m++) PetscCall(TimeMult(A[m], m == 2 && !host ? 3 : repeat, &t[m]));
    PetscCall(TimeIteration(A[0], KSPBCGSFUSED, PetscMax(3, repeat / 5), &its[0]));
    PetscCall(TimeIteration(A[1], KSPBCGS, PetscMax(3, repeat / 5), &its[1]));
    PetscCall(MatGetInfo(A[2], MAT_LOCAL, &info));
    bytes = info.nz_used * (sizeof(PetscScalar) + (double)sizeof(PetscInt) / (bs[k] * bs[k])) +
            n * n * n * (double)(sizeof(PetscInt) + 2 * bs[k] * sizeof(PetscScalar));
    PetscCall(TimeCopy(A[0], bytes, repeat, &copy));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT "   %-8.1f %-10.2f %-15.2f %-21.2f %-11.2f %.2f\n", bs[k],
                          1e6 * t[0], bytes / (t[0] * (double)rate), copy / t[0], t[1] / t[0], t[2] / t[0],
                          its[1] / its[0]));
    for (int m = 0; m < 3; m++) PetscCall(MatDestroy(&A[m]));
  }
  PetscCall(PetscFinalize());
  return 0;
}
