/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksptest.h: what the tests of Krylov methods share: definite matrices beside those of spiketest.h, solvers, dense
  solutions
*/
#pragma once

#include "spiketest.h"

#define KSPTEST_RTOL ((PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9))

/*
  Hermitian, definite: the 5-point operator on a grid of nx columns, with weights that vary by a factor of 4, rows
  ordered along the columns. shift is added to the diagonal; with 0 the constants are the null space.
*/
static inline PetscErrorCode KSPTestGrid(MPI_Comm comm, PetscInt nx, PetscInt ny, PetscInt nlocal, PetscReal shift,
                                         Mat *A)
{
  const PetscInt n = nx * ny;
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscInt neighbours[] = {i - nx, i - 1, i + 1, i + nx}, column[] = {0, -1, 1, 0};
    PetscReal      sum = shift;

    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt j = neighbours[k];
      PetscReal      weight;
      PetscScalar    value;

      if (j < 0 || j >= n || i % nx + column[k] < 0 || i % nx + column[k] >= nx) continue;
      weight = 2.5 + 1.5 * SpikeTestUniform(3, PetscMin(i, j), PetscMax(i, j));
      sum += weight;
      value = -weight;
#if PetscDefined(USE_COMPLEX)
      if (shift > 0.0) value *= PetscCMPLX(0.6, j > i ? 0.8 : -0.8);
#endif
      PetscCall(MatSetValue(*A, i, j, value, INSERT_VALUES));
    }
    PetscCall(MatSetValue(*A, i, i, sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -product petsc|auto|sell|dia: KSPFusedSetSpMVType() */
static inline PetscErrorCode KSPTestCreate(KSPType type, PCType pctype, Mat A, KSP *ksp)
{
  PC        pc;
  PetscEnum product = (PetscEnum)KSP_FUSED_SPMV_AUTO;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-product", KSPFusedSpMVTypes, &product, NULL));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPFusedSetSpMVType(*ksp, (KSPFusedSpMVType)product));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(*ksp, KSPTEST_RTOL, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with products in such a precision, and for CG the norm of the residual */
static inline PetscErrorCode KSPTestCreatePrecision(KSPType type, PCType pctype, Mat A, KSPFusedPrecision precision,
                                                    KSP *ksp)
{
  PetscBool cg;

  PetscFunctionBegin;
  PetscCall(KSPTestCreate(type, pctype, A, ksp));
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  if (cg) PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPFusedSetPrecision(*ksp, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve, and the true residual over the norm of b */
static inline PetscErrorCode KSPTestSolveAny(KSP ksp, Vec b, Vec x, PetscInt *its, PetscReal *residual,
                                             KSPConvergedReason *reason)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(SpikeTestResidual(A, b, x, residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Converged, and the true residual, over the norm of b, is at most `most` */
static inline PetscErrorCode KSPTestSolve(KSP ksp, Vec b, Vec x, PetscReal most, PetscInt *its, const char where[])
{
  KSPConvergedReason reason;
  PetscReal          residual;

  PetscFunctionBegin;
  PetscCall(KSPTestSolveAny(ksp, b, x, its, &residual, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s after %" PetscInt_FMT " iterations", where,
                           KSPConvergedReasons[reason], *its));
  PetscCall(SpikeTestSmall(residual, most, "true relative residual", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A^-1 b or A^-T b by LAPACK, for matrices that fit on each rank */
static inline PetscErrorCode KSPTestDense(Mat A, PetscBool trans, Vec b, Vec y)
{
  Mat                D, seq;
  Vec                all;
  VecScatter         scatter;
  PetscInt           n, start, end;
  PetscScalar       *a, *inv, *ya;
  const PetscScalar *ba;
  IS                 is;
  Mat               *sub;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &is));
  PetscCall(MatCreateSubMatrices(D, 1, &is, &is, MAT_INITIAL_MATRIX, &sub));
  PetscCall(MatConvert(sub[0], MATSEQDENSE, MAT_INITIAL_MATRIX, &seq));
  PetscCall(PetscMalloc2(n * n, &a, n * n, &inv));
  {
    const PetscScalar *s;

    PetscCall(MatDenseGetArrayRead(seq, &s));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++) a[i + j * n] = trans ? s[j + i * n] : s[i + j * n];
    PetscCall(MatDenseRestoreArrayRead(seq, &s));
  }
  PetscCall(SpikeTestInvert(n, a, n, inv, n));
  PetscCall(VecScatterCreateToAll(b, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, b, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, b, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetOwnershipRange(y, &start, &end));
  PetscCall(VecGetArrayWrite(y, &ya));
  PetscCall(VecGetArrayRead(all, &ba));
  for (PetscInt i = start; i < end; i++) {
    ya[i - start] = 0.0;
    for (PetscInt j = 0; j < n; j++) ya[i - start] += inv[i + j * n] * ba[j];
  }
  PetscCall(VecRestoreArrayRead(all, &ba));
  PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(PetscFree2(a, inv));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscCall(ISDestroy(&is));
  PetscCall(MatDestroySubMatrices(1, &sub));
  PetscCall(MatDestroy(&seq));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v <- 2^e v. By its array, so that norms that PETSc has kept, and that may have overflowed, are forgotten */
static inline PetscErrorCode KSPTestTimes(Vec v, PetscInt e)
{
  const PetscReal half = (PetscReal)ldexp(1.0, (int)(e / 2)), rest = (PetscReal)ldexp(1.0, (int)(e - e / 2));
  PetscScalar    *a;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = a[i] * half * rest;
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||x - y|| / ||y|| */
static inline PetscErrorCode KSPTestDifference(Vec x, Vec y, PetscReal *difference)
{
  Vec       d;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecWAXPY(d, -1.0, x, y));
  PetscCall(VecNorm(d, NORM_2, difference));
  PetscCall(VecNorm(y, NORM_2, &norm));
  if (norm > 0.0) *difference /= norm;
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A makes vectors of the device */
static inline PetscErrorCode KSPTestMakesDeviceVecs(Mat A, PetscBool *device)
{
  VecType vectype;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(PetscStrcmpAny(vectype, device, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device's path ran where the vectors are on the device */
static inline PetscErrorCode KSPTestBackend(KSP ksp, const char where[])
{
  Mat          A;
  PetscBool    device, cuda;
  KSPFusedInfo info;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPTestMakesDeviceVecs(A, &device));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(PetscStrcmp(info.backend, "cuda", &cuda));
  PetscCall(SpikeTestCheck((PetscBool)(cuda == device), "%s: backend %s for vectors on the %s", where, info.backend,
                           device ? "device" : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether matrices of this run are on the device */
static inline PetscErrorCode KSPTestOnDevice(PetscBool *device)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 2, 2, PETSC_DECIDE, 0.1, &A));
  PetscCall(SpikeTestOnDevice(A, device));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor's context: how much of the first norm the two norms may differ by, and that norm */
typedef struct {
  PetscReal tol, first;
} KSPTestMonitorCtx;

/* The residual of the solution that a monitor can build is the one that it is told */
static inline PetscErrorCode KSPTestMonitor(KSP ksp, PetscInt it, PetscReal rnorm, PetscCtx ctx)
{
  KSPTestMonitorCtx *monitor = (KSPTestMonitorCtx *)ctx;
  PetscReal          norm;
  Vec                r;

  PetscFunctionBegin;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecDestroy(&r));
  if (!it) monitor->first = rnorm;
  PetscCall(SpikeTestSmall(PetscAbsReal(norm - rnorm), monitor->tol * monitor->first,
                           "difference of the true residual norm", "monitor"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends for this reason, after so many iterations unless they are negative */
static inline PetscErrorCode KSPTestEnds(KSP ksp, Vec b, Vec x, KSPConvergedReason expected, PetscInt iterations,
                                         const char where[])
{
  KSPConvergedReason reason;
  PetscInt           its;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(SpikeTestCheck((PetscBool)(reason == expected && (iterations < 0 || its == iterations)),
                           "%s: %s after %" PetscInt_FMT " iterations", where, KSPConvergedReasons[reason], its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Infinity, the sixth time: the largest numbers, whose sums overflow with the sign of r.r */
static inline PetscErrorCode KSPTestBadApply(PC pc, Vec x, Vec y)
{
  PetscInt *calls;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &calls));
  PetscCall(VecCopy(x, y));
  if (++*calls == 6) PetscCall(VecScale(y, PETSC_INFINITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a KSP with a PCSHELL: numbers that are none give a reason, and the solver works again afterwards; b is random */
static inline PetscErrorCode KSPTestInfinity(KSP ksp, Vec b, Vec x)
{
  static PetscInt calls; /* outlives this function, as the PC does */
  PetscInt        its;
  PC              pc;

  PetscFunctionBegin;
  calls = 0;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCShellSetContext(pc, &calls));
  PetscCall(PCShellSetApply(pc, KSPTestBadApply));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_DIVERGED_NANORINF, -1, "a preconditioner that returns infinity"));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(SpikeTestCheck((PetscBool)(its <= 6), "it was seen after %" PetscInt_FMT " iterations only", its));
  PetscCall(SpikeTestSolve(ksp, b, x, "after a failure"));
  PetscCall(VecSet(b, PETSC_INFINITY));
  PetscCall(KSPTestEnds(ksp, b, x, KSP_DIVERGED_NANORINF, -1, "an infinite right-hand side"));
  PetscCall(VecSet(b, 0.0));
  PetscCall(SpikeTestSolve(ksp, b, x, "zero right-hand side"));
  PetscCall(SpikeTestSetRandom(b, 38));
  PetscFunctionReturn(PETSC_SUCCESS);
}
