/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE with row exchanges and without: setup with new values, application, backward errors.\n\
Random bands without dominance, half-bandwidth K below and above. CPU times, the least of some; ratios are with row\n\
exchanges over without. LAPACK's backward error is that of gbtrf and gbtrs.\n\
  -n N -k K1,K2,.. -parts P1,P2,.. -d D : rows, half-bandwidths, partitions, diagonal over the sum of its row\n\
  -repeat R : how often\n\n";

#include <petscspike.h>
#include "../tests/lapackgb.h"
#include "../tests/spiketest.h"
#include "common/cputime.h"

/* [0] factors of bands as they come, [1] with row exchanges */
typedef struct {
  double    setup[2], apply[2], columns[2];
  PetscReal eta[2], lapack;
  double    gbtrf;
} Result;

static PetscErrorCode BandMat(PetscInt n, PetscInt k, PetscReal d, Mat *A)
{
  PetscScalar *v;
  PetscInt    *col;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2 * k + 1, NULL, A));
  PetscCall(PetscMalloc2(2 * k + 1, &v, 2 * k + 1, &col));
  for (PetscInt i = 0; i < n; i++) {
    PetscInt  m = 0, at = 0;
    PetscReal sum = 0.0;

    for (PetscInt j = PetscMax(0, i - k); j <= PetscMin(n - 1, i + k); j++, m++) {
      col[m] = j;
      v[m]   = SpikeTestScalar(5, i, j);
      if (i == j) at = m;
      else sum += PetscAbsScalar(v[m]);
    }
    v[at] = d * sum * (SpikeTestUniform(5, i, -1) > 0 ? 1.0 : -1.0);
    PetscCall(MatSetValues(*A, 1, &i, m, col, v, INSERT_VALUES));
  }
  PetscCall(PetscFree2(v, col));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBackward(Mat A, Vec b, Vec x, PetscReal *eta)
{
  PetscReal anorm, xnorm, bnorm, rnorm;
  Vec       r;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  *eta = rnorm / (anorm * xnorm + bnorm);
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunLapack(Mat A, PetscInt k, Vec b, Vec x, Result *r)
{
  const PetscInt     ld = 3 * k + 1;
  PetscBLASInt       n, bk = (PetscBLASInt)k, bld = (PetscBLASInt)ld, one = 1, *piv;
  PetscScalar       *ab, *xa;
  const PetscInt    *cols;
  const PetscScalar *v;
  PetscInt           rows, m;
  PetscLogDouble     t0, t1;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(PetscBLASIntCast(rows, &n));
  PetscCall(PetscCalloc1((PetscCount)ld * rows, &ab));
  PetscCall(PetscMalloc1(rows, &piv));
  for (PetscInt i = 0; i < rows; i++) {
    PetscCall(MatGetRow(A, i, &m, &cols, &v));
    for (PetscInt c = 0; c < m; c++) ab[(PetscCount)cols[c] * ld + 2 * k + i - cols[c]] = v[c];
    PetscCall(MatRestoreRow(A, i, &m, &cols, &v));
  }
  PetscCall(VecCopy(b, x));
  PetscCall(VecGetArray(x, &xa));
  t0 = BenchCPUTime();
  PetscCallLAPACKInfo("LAPACKgbtrf", LAPACKgbtrf_(&n, &n, &bk, &bk, ab, &bld, piv, &info));
  t1       = BenchCPUTime();
  r->gbtrf = t1 - t0;
  PetscCallLAPACKInfo("LAPACKgbtrs", LAPACKgbtrs_("N", &n, &bk, &bk, &one, ab, &bld, piv, xa, &n, &info));
  PetscCall(VecRestoreArray(x, &xa));
  PetscCall(PetscFree(ab));
  PetscCall(PetscFree(piv));
  PetscCall(GetBackward(A, b, x, &r->lapack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(Mat A, PetscInt parts, PetscInt repeat, PetscBool pivoting, Vec b, Vec x, Result *r)
{
  PC             pc;
  Mat            B, X;
  PetscInt       n;
  PetscLogDouble t0, t1;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, 16, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(pc, parts));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetPivoting(pc, pivoting));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  r->setup[pivoting] = r->apply[pivoting] = r->columns[pivoting] = PETSC_MAX_REAL;
  for (PetscInt k = 0; k < repeat; k++) {
    PetscCall(MatScale(A, -1.0)); /* new values */
    t0 = BenchCPUTime();
    PetscCall(PCSetUp(pc));
    t1                 = BenchCPUTime();
    r->setup[pivoting] = PetscMin(r->setup[pivoting], t1 - t0);
    PetscCall(PCApply(pc, b, x));
    t0                 = BenchCPUTime();
    r->apply[pivoting] = PetscMin(r->apply[pivoting], t0 - t1);
    PetscCall(PCMatApply(pc, B, X));
    t1                   = BenchCPUTime();
    r->columns[pivoting] = PetscMin(r->columns[pivoting], t1 - t0);
  }
  PetscCall(PCApply(pc, b, x));
  PetscCall(GetBackward(A, b, x, &r->eta[pivoting]));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  n = 50000, k[16] = {1, 4, 16, 50, 128}, parts[16] = {1, 4}, nk = 16, np = 16, repeat = 3;
  PetscReal d = 0.01;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscBLASSetNumThreads(1)); /* times are those of the processor */
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-d", &d, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-k", k, &nk, &set));
  if (!set) nk = 5;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-parts", parts, &np, &set));
  if (!set) np = 2;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "N = %" PetscInt_FMT ", d = %g; times in ms, ratios with row exchanges over without\n"
                        "   K  parts   setup  ratio   apply  ratio  16 columns  ratio   gbtrf | backward error: without"
                        "     with   LAPACK\n",
                        n, (double)d));
  for (PetscInt i = 0; i < nk; i++) {
    for (PetscInt p = 0; p < np; p++) {
      Mat    A;
      Vec    x, b;
      Result r;

      PetscCall(BandMat(n, k[i], d, &A));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(SpikeTestSetRandom(b, 7));
      PetscCall(RunLapack(A, k[i], b, x, &r));
      PetscCall(Time(A, parts[p], repeat, PETSC_FALSE, b, x, &r));
      PetscCall(Time(A, parts[p], repeat, PETSC_TRUE, b, x, &r));
      PetscCall(PetscPrintf(PETSC_COMM_SELF,
                            "%4" PetscInt_FMT "   %3" PetscInt_FMT
                            " %8.2f %6.2f %7.2f %6.2f   %8.2f  %6.2f %8.2f |  %8.1e %8.1e %8.1e\n",
                            k[i], parts[p], 1e3 * r.setup[1], r.setup[1] / r.setup[0], 1e3 * r.apply[1],
                            r.apply[1] / r.apply[0], 1e3 * r.columns[1], r.columns[1] / r.columns[0], 1e3 * r.gbtrf,
                            (double)r.eta[0], (double)r.eta[1], (double)r.lapack));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}
