/* SPDX-License-Identifier: BSD-2-Clause */
/* choleskycase.h: for tests of Cholesky: hermitian positive definite bands, dense references, what holds of M */
#pragma once

#include "spiketest.h"

#define MACHEPS PETSC_MACHINE_EPSILON

typedef struct {
  PetscInt     n, K, kind;
  PetscScalar *a; /* n x n, on all ranks */
} Dense;

/*
  kind 0: L L^H of a random band L, not dominant; 1: dominant by 1e-3 with entries of one sign, spikes fall off slowly;
  2: dominant, spikes fall off fast
*/
static inline PetscErrorCode DenseCreate(PetscInt n, PetscInt K, PetscInt kind, PetscInt seed, Dense *d)
{
  PetscScalar *l;

  PetscFunctionBegin;
  d->n    = n;
  d->K    = K;
  d->kind = kind;
  PetscCall(PetscCalloc1((size_t)n * n, &d->a));
  PetscCall(PetscCalloc1((size_t)n * n, &l));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = j; i <= PetscMin(n - 1, j + K); i++)
      l[i + j * n] = i == j ? 1.5 + 0.5 * SpikeTestUniform(seed, i, i)
                            : (kind ? 1.0 : 0.9 / K) * SpikeTestScalar(seed, i, j);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = j; i <= PetscMin(n - 1, j + K); i++) {
      PetscScalar s = 0.0;

      if (!kind)
        for (PetscInt k = PetscMax(0, i - K); k <= j; k++) s += l[i + k * n] * PetscConj(l[j + k * n]);
      else if (i > j) s = kind == 1 ? -1.0 - 0.25 * SpikeTestUniform(seed, i, j) : l[i + j * n];
      d->a[j + i * n] = PetscConj(s);
      d->a[i + j * n] = s;
    }
  for (PetscInt i = 0; kind && i < n; i++) {
    PetscReal sum = 0.0;

    for (PetscInt j = 0; j < n; j++)
      if (j != i) sum += PetscAbsScalar(d->a[i + j * n]);
    d->a[i + i * n] = sum > 0.0 ? (kind == 1 ? 1.001 : 3.0) * sum : 1.0;
  }
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries inside the band, so that later values have their places */
static inline PetscErrorCode DenseSet(const Dense *d, Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - d->K); j <= PetscMin(d->n - 1, i + d->K); j++)
      PetscCall(MatSetValue(A, i, j, d->a[i + j * d->n], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DenseMat(const Dense *d, PetscInt nlocal, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, d->n, d->n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(DenseSet(d, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Create(Mat A, PCSpikeFactorType factor, PCSpikeType type, PetscInt local, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetFactorType(*pc, factor));
  PetscCall(PCSpikeSetType(*pc, type));
  PetscCall(PCSpikeSetLocalPartitions(*pc, local));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Max norm of y - ref over that of ref */
static inline PetscErrorCode GetDistance(Vec y, Vec ref, PetscReal *distance)
{
  PetscReal norm;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &d));
  PetscCall(VecWAXPY(d, -1.0, ref, y));
  PetscCall(VecNorm(d, NORM_INFINITY, distance));
  PetscCall(VecNorm(ref, NORM_INFINITY, &norm));
  if (norm > 0.0) *distance /= norm;
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- A^-1 b by LAPACK, on all ranks */
static inline PetscErrorCode DenseSolve(const Dense *d, Vec b, Vec x)
{
  PetscScalar       *a, *y;
  const PetscScalar *all;
  PetscBLASInt       n, one = 1, info, *ipiv;
  PetscInt           start, end;
  Vec                seq;
  VecScatter         scatter;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToAll(b, &scatter, &seq));
  PetscCall(VecScatterBegin(scatter, b, seq, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, b, seq, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(PetscBLASIntCast(d->n, &n));
  PetscCall(PetscMalloc3((size_t)d->n * d->n, &a, d->n, &y, d->n, &ipiv));
  PetscCall(PetscArraycpy(a, d->a, (size_t)d->n * d->n));
  PetscCall(VecGetArrayRead(seq, &all));
  PetscCall(PetscArraycpy(y, all, d->n));
  PetscCall(VecRestoreArrayRead(seq, &all));
  if (n) PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&n, &one, a, &n, ipiv, y, &n, &info));
  PetscCall(VecGetOwnershipRange(x, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(VecSetValue(x, i, y[i], INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(PetscFree3(a, y, ipiv));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&seq));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x^H M^-1 y = conj(y^H M^-1 x) to rounding, of the factors where these are those of LU, and x^H M^-1 x > 0; the
  transpose; several right-hand sides
*/
static inline PetscErrorCode CheckOperator(PC pc, Mat A, const char where[])
{
  const PetscInt      cols = 5;
  PetscScalar         xmy, ymx, xmx;
  const PetscReal     rounding[] = {2.3e-16, 6e-8, 4e-3, 5e-4};
  PetscReal           norms[4], distance, eps = MACHEPS;
  PetscInt            n;
  Vec                 x, y, u, v, w, column;
  Mat                 B, X;
  PCSpikeInfo         info;
  PetscSpikePrecision precision;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSpikeGetPrecision(pc, &precision));
  if (strcmp(info.backend, "host")) eps = PetscMax(eps, rounding[precision]);
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecDuplicate(x, &v));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(VecGetLocalSize(x, &n));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(SpikeTestSetRandom(x, 10 + k));
    PetscCall(SpikeTestSetRandom(y, 20 + k));
    PetscCall(PCApply(pc, x, u));
    PetscCall(PCApply(pc, y, v));
    PetscCall(VecDot(v, x, &xmy));
    PetscCall(VecDot(u, y, &ymx));
    PetscCall(VecDot(u, x, &xmx));
    PetscCall(VecNorm(x, NORM_2, norms));
    PetscCall(VecNorm(v, NORM_2, norms + 1));
    PetscCall(VecNorm(y, NORM_2, norms + 2));
    PetscCall(VecNorm(u, NORM_2, norms + 3));
    PetscCall(SpikeTestSmall(PetscAbsScalar(xmy - PetscConj(ymx)),
                             200 * eps * (norms[0] * norms[1] + norms[2] * norms[3]), "|x.My - y.Mx|", where));
    PetscCall(SpikeTestCheck((PetscBool)(norms[0] == 0.0 || PetscRealPart(xmx) > 0.0), "%s: x.Mx is %g", where,
                             (double)PetscRealPart(xmx)));
  }
  /* M^-T b = conj(M^-1 conj(b)) */
  PetscCall(VecCopy(x, w));
  PetscCall(VecConjugate(w));
  PetscCall(PCApply(pc, w, u));
  PetscCall(VecConjugate(u));
  PetscCall(PCApplyTranspose(pc, x, v));
  PetscCall(GetDistance(v, u, &distance));
  PetscCall(SpikeTestSmall(distance, PetscMax(1e5 * MACHEPS, 10 * eps), "the transpose", where));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, ((PetscObject)x)->type_name, n, PETSC_DECIDE, PETSC_DECIDE,
                                      cols, PETSC_DECIDE, NULL, &B));
  PetscCall(MatSetUp(B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt c = 0; c < cols; c++) {
    PetscCall(MatDenseGetColumnVecWrite(B, c, &column));
    PetscCall(SpikeTestSetRandom(column, 50 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(B, c, &column));
  }
  for (PetscInt trans = 0; trans < 2; trans++) {
    if (trans) PetscCall(PCMatApplyTranspose(pc, B, X));
    else PetscCall(PCMatApply(pc, B, X));
    for (PetscInt c = 0; c < cols; c++) {
      PetscCall(SpikeTestSetRandom(x, 50 + c));
      if (trans) PetscCall(PCApplyTranspose(pc, x, u));
      else PetscCall(PCApply(pc, x, u));
      PetscCall(MatDenseGetColumnVecRead(X, c, &column));
      PetscCall(GetDistance(column, u, &distance));
      PetscCall(MatDenseRestoreColumnVecRead(X, c, &column));
      PetscCall(SpikeTestSmall(distance, 1e5 * MACHEPS, "several right-hand sides", where));
    }
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
