/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spiketest.h: what the tests share: counted checks that fail on NaN, reproducible band matrices, dense references of
  PCSPIKE
*/
#pragma once

#include <petscspike.h>
#include <petscdevice.h>
#include <petscblaslapack.h>
#include <stdarg.h>
#include "../src/common/petsccompat.h"

/* The precision of vectors, that of factors by default */
#define SPIKE_TEST_PRECISION \
  (PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE)

static PetscInt spiketest_checks = 0, spiketest_failures = 0;

/* Prints FAILED and the text when ok is false on any rank of PETSC_COMM_WORLD; collective there */
static inline PetscErrorCode SpikeTestCheck(PetscBool ok, const char format[], ...)
{
  PetscMPIInt good = ok ? 1 : 0, all;
  char        text[512];
  size_t      length;
  va_list     args;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  spiketest_checks++;
  if (all) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(args, format);
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, &length, args));
  va_end(args);
  if (++spiketest_failures <= 40) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAILED %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* value <= tol; NaN fails */
static inline PetscErrorCode SpikeTestSmall(PetscReal value, PetscReal tol, const char what[], const char where[])
{
  PetscFunctionBegin;
  PetscCall(
    SpikeTestCheck((PetscBool)(value <= tol), "%s: %s is %g, above %g", where, what, (double)value, (double)tol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||x - y|| <= tol ||y||, tol absolute where y is small; not a number fails. One reduction */
static inline PetscErrorCode SpikeTestSame(Vec x, Vec y, PetscReal tol, const char what[], const char where[])
{
  PetscReal          local[2] = {0.0, 1.0}, global[2];
  const PetscScalar *xa, *ya;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal d = PetscAbsScalar(xa[i] - ya[i]);

    local[0] = d <= local[0] ? local[0] : (PetscIsInfOrNanReal(d) ? PETSC_MAX_REAL : d);
    local[1] = PetscMax(local[1], PetscAbsScalar(ya[i]));
  }
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCallMPI(MPIU_Allreduce(local, global, 2, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  spiketest_checks++;
  if (!(global[0] <= tol * global[1])) PetscCall(SpikeTestSmall(global[0], tol * global[1], what, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last line of each test: "NAME: ok", or how many checks failed */
static inline PetscErrorCode SpikeTestEnd(const char name[])
{
  PetscFunctionBegin;
  if (spiketest_failures)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " of %" PetscInt_FMT " checks FAILED\n", name,
                          spiketest_failures, spiketest_checks));
  else if (!spiketest_checks) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: nothing was checked, FAILED\n", name));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ok\n", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform in [-1, 1), the same number for the same (seed, i, j) on any rank and machine */
static inline PetscReal SpikeTestUniform(PetscInt seed, PetscInt i, PetscInt j)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * ((unsigned long long)seed + 1) +
                         0xD1B54A32D192ED03ULL * (unsigned long long)i + 0x8CB92BA72F3D8DD7ULL * (unsigned long long)j;

  for (PetscInt k = 0; k < 2; k++) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
  }
  return (PetscReal)((double)(z >> 40) / 8388608.0 - 1.0);
}

/* The same in each part of a complex number */
static inline PetscScalar SpikeTestScalar(PetscInt seed, PetscInt i, PetscInt j)
{
#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(SpikeTestUniform(seed, i, j), SpikeTestUniform(seed + 7777, i, j));
#else
  return SpikeTestUniform(seed, i, j);
#endif
}

/* A number 0 <= k < m */
static inline PetscInt SpikeTestPick(PetscInt seed, PetscInt i, PetscInt j, PetscInt m)
{
  return PetscMin(m - 1, (PetscInt)(0.5 * (SpikeTestUniform(seed, i, j) + 1.0) * m));
}

/*
  Entries from a seed. VecCopy() from pinned memory of the host to a device returns before it has read
  (PETSC_STREAM_DEFAULT has no barrier): a copy of x that is under way ends first
*/
static inline PetscErrorCode SpikeTestSetRandom(Vec x, PetscInt seed)
{
  PetscScalar *a;
  PetscInt     start, end;
  PetscBool    device;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &device, VECSEQCUDA, VECMPICUDA, ""));
  if (device) PetscCall(PetscDeviceContextSynchronize(NULL));
  PetscCall(VecGetOwnershipRange(x, &start, &end));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = start; i < end; i++) a[i - start] = SpikeTestScalar(seed, i, 0);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band matrix with unsymmetric, nonconstant entries, a_ii = dominance * sum_j |a_ij|:

    SPIKE_TEST_RANDOM   random signs
    SPIKE_TEST_SLOW     all but a_ii negative: with dominance near 1 spikes fall off slowly in both directions
    SPIKE_TEST_DRIFT    like SLOW with small entries above the diagonal, and four times more dominant in every other
                        stretch of 50 rows:
                        what runs down falls off slower than what runs up, and neither as at the other end of a
                        partition
*/
typedef enum {
  SPIKE_TEST_RANDOM,
  SPIKE_TEST_SLOW,
  SPIKE_TEST_DRIFT
} SpikeTestKind;
static const char *const SpikeTestKinds[] = {"random", "slow", "drift"};

typedef struct {
  PetscInt      n, kl, ku;
  PetscReal     dominance;
  SpikeTestKind kind;
  PetscInt      seed;
} SpikeTestBand;

static inline PetscScalar SpikeTestBandEntry(const SpikeTestBand *b, PetscInt i, PetscInt j)
{
  PetscReal sum = 0.0;

  if (j < 0 || j >= b->n || i - j > b->kl || j - i > b->ku) return 0.0;
  if (i != j) {
    if (b->kind == SPIKE_TEST_RANDOM) return SpikeTestScalar(b->seed, i, j);
    return (b->kind == SPIKE_TEST_DRIFT && j > i ? 0.1 : 1.0) * (-1.0 - 0.25 * SpikeTestUniform(b->seed, i, j));
  }
  for (PetscInt k = PetscMax(0, i - b->kl); k <= PetscMin(b->n - 1, i + b->ku); k++)
    if (k != i) sum += PetscAbsScalar(SpikeTestBandEntry(b, i, k));
  if (b->kind == SPIKE_TEST_DRIFT && (i / 50) % 2 == 0) sum *= 4.0;
  sum = sum > 0.0 ? b->dominance * sum : 1.0 + 0.25 * SpikeTestUniform(b->seed, i, i);
  return b->kind != SPIKE_TEST_RANDOM || SpikeTestUniform(b->seed, i, -1) > 0.0 ? sum : -sum;
}

/* -dia_type dia|diacuda: what tests of MATDIA take for it */
static inline MatType SpikeTestDiaType(void)
{
  static char type[32] = MATDIA;

  PetscCallAbort(PETSC_COMM_SELF, PetscOptionsGetString(NULL, NULL, "-dia_type", type, sizeof(type), NULL));
  return type;
}

/* A type, which -mat_type replaces where it is AIJ: the same tests run with matrices on a device */
static inline PetscErrorCode SpikeTestSetMatType(Mat A, MatType type)
{
  PetscBool aij;

  PetscFunctionBegin;
  PetscCall(MatSetType(A, type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (aij) PetscCall(MatSetFromOptions(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SpikeTestOnDevice(Mat A, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSetUp(), with room for nz entries of a row where PETSc 3.26.1 must not make it by itself: the hash table of a
  MATMPIAIJCUSPARSE reads complex numbers as aligned ones, which they are not
*/
static inline PetscErrorCode SpikeTestSetUp(Mat A, PetscInt nz)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(SpikeTestOnDevice(A, &device));
  if (device && PetscDefined(USE_COMPLEX)) {
    PetscCall(MatSeqAIJSetPreallocation(A, nz, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, nz, NULL, nz, NULL));
  }
  PetscCall(MatSetUp(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A <- scale times the band */
static inline PetscErrorCode SpikeTestBandSet(const SpikeTestBand *b, PetscReal scale, Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(0, i - b->kl); j <= PetscMin(b->n - 1, i + b->ku); j++)
      PetscCall(MatSetValue(A, i, j, scale * SpikeTestBandEntry(b, i, j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nlocal rows on this rank, or PETSC_DECIDE */
static inline PetscErrorCode SpikeTestBandMat(MPI_Comm comm, const SpikeTestBand *b, PetscInt nlocal, MatType type,
                                              Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, b->n, b->n));
  PetscCall(SpikeTestSetMatType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, b->kl + b->ku + 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, b->kl + b->ku + 1, NULL, b->kl + b->ku, NULL));
  PetscCall(MatSetUp(*A));
  PetscCall(SpikeTestBandSet(b, 1.0, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Large tips in a band: before row `end`, the last of each `rows` rows is coupled to the next row alone, and has a small
  pivot
*/
static inline PetscErrorCode SpikeTestLargeTips(const SpikeTestBand *b, PetscInt rows, PetscInt end, Mat A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt e = rows - 1; e < end; e += rows) {
    for (PetscInt j = e - b->kl; e >= first && e < last && j <= PetscMin(e + b->ku, b->n - 1); j++)
      PetscCall(MatSetValue(A, e, j, j == e ? PETSC_SQRT_MACHINE_EPSILON : j == e + 1 ? 1.0 : 0.0, INSERT_VALUES));
    if (e + 1 >= first && e + 1 < last) PetscCall(MatSetValue(A, e + 1, e, 1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SpikeTestBandDense(const SpikeTestBand *b, PetscScalar *a)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < b->n; j++)
    for (PetscInt i = 0; i < b->n; i++) a[i + j * b->n] = SpikeTestBandEntry(b, i, j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ matrix of the nonzeros of a dense array that all ranks have */
static inline PetscErrorCode SpikeTestDenseMat(MPI_Comm comm, PetscInt n, const PetscScalar *a, PetscInt nlocal, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = 0; j < n; j++)
      if (a[i + j * n] != (PetscScalar)0.0) PetscCall(MatSetValue(*A, i, j, a[i + j * n], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / ||b|| by MatMult(), of A as it is; 0 where b is 0 and x is 0 */
static inline PetscErrorCode SpikeTestResidual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  PetscReal norm;
  Vec       r;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (norm > 0.0) *residual /= norm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The larger of ||op(A) op(M^-1) b - b|| / (||b|| + anorm ||op(M^-1) b||), plain and transposed, of a random b; A is
  that of the PC where it is NULL
*/
static inline PetscErrorCode SpikeTestInverse(PC pc, Mat A, PetscReal anorm, PetscReal *error)
{
  Vec       b, x, r;
  PetscReal bnorm, xnorm, now;

  PetscFunctionBegin;
  if (!A) PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *error = 0.0;
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall(trans ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
    PetscCall(trans ? MatMultTranspose(A, x, r) : MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &now));
    PetscCall(VecNorm(x, NORM_2, &xnorm));
    if (bnorm > 0.0) now /= bnorm + anorm * xnorm;
    *error = now > *error || PetscIsInfOrNanReal(now) ? now : *error;
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - op(A) x|| / (||A|| ||x|| + ||b||) with the infinity norm of A; large where it is not finite */
static inline PetscErrorCode SpikeTestBackwardError(Mat A, PetscBool trans, Vec b, Vec x, PetscReal *eta)
{
  Vec       r, y; /* where the matrix is: products of MATAIJCUSPARSE leave vectors on the host as they were */
  PetscReal anorm, bnorm, xnorm, rnorm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &y, &r));
  PetscCall(VecCopy(x, y));
  if (trans) PetscCall(MatMultTranspose(A, y, r));
  else PetscCall(MatMult(A, y, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  if (rnorm == 0.0) *eta = 0.0;
  else *eta = PetscIsInfOrNanReal(rnorm) ? PETSC_MAX_REAL : rnorm / (anorm * xnorm + bnorm);
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves and checks that KSP reports convergence and that it is true: ||b - A x|| <= 10 rtol ||b|| */
static inline PetscErrorCode SpikeTestSolve(KSP ksp, Vec b, Vec x, const char where[])
{
  Mat                A;
  PetscReal          residual, rtol;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
  PetscCall(SpikeTestSmall(residual, 10.0 * rtol, "true relative residual", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inverse of the n x n matrix a (lda), by LAPACK with pivoting, into inv (ldi) */
static inline PetscErrorCode SpikeTestInvert(PetscInt n, const PetscScalar *a, PetscInt lda, PetscScalar *inv,
                                             PetscInt ldi)
{
  PetscScalar  *lu;
  PetscBLASInt *piv, bn, bld;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(ldi, &bld));
  PetscCall(PetscMalloc2(n * n, &lu, n, &piv));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) {
      lu[i + j * n]    = a[i + j * lda];
      inv[i + j * ldi] = i == j ? 1.0 : 0.0;
    }
  }
  PetscCallLAPACKInfo("LAPACKgetrf", LAPACKgetrf_(&bn, &bn, lu, &bn, piv, &info));
  PetscCallLAPACKInfo("LAPACKgetrs", LAPACKgetrs_("N", &bn, &bn, lu, &bn, piv, inv, &bld, &info));
  PetscCall(PetscFree2(lu, piv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c (m x n) <- c + alpha a (m x k) b (k x n), plainly */
static inline void SpikeTestMultiplyAdd(PetscInt m, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar *a,
                                        PetscInt lda, const PetscScalar *b, PetscInt ldb, PetscScalar *c, PetscInt ldc)
{
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt l = 0; l < k; l++) {
      const PetscScalar t = alpha * b[l + j * ldb];

      if (t != (PetscScalar)0.0)
        for (PetscInt i = 0; i < m; i++) c[i + j * ldc] += t * a[i + l * lda];
    }
}

/*
  minv <- M^-1 of block (coupled false) or truncated SPIKE, dense, for the part of the n x n matrix a that lies within
  kl, ku, cut into np partitions. D are the diagonal blocks; at each interface, V = D^-1 [0; B] and W = D^-1 [C; 0] are
  whole spikes, Vb and Wt the tips, and

      [x_b; x_t] = [I Vb; Wt I]^-1 E^T D^-1 b,   M^-1 b = D^-1 b - sum over the interfaces of V x_t + W x_b
*/
static inline PetscErrorCode SpikeTestReference(PetscInt n, const PetscScalar *a, PetscInt kl, PetscInt ku, PetscInt np,
                                                const PetscInt start[], PetscBool coupled, PetscScalar *minv)
{
  const PetscInt t = kl + ku;
  PetscScalar   *band, *dinv, *coupling, *spikes, *T, *Tinv, *tips;

  PetscFunctionBegin;
  PetscCall(PetscCalloc5(n * n, &band, n * n, &dinv, n * t, &coupling, n * t, &spikes, t * n, &tips));
  PetscCall(PetscMalloc2(t * t, &T, t * t, &Tinv));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++) band[i + j * n] = a[i + j * n];
  for (PetscInt p = 0; p < np; p++)
    PetscCall(SpikeTestInvert(start[p + 1] - start[p], band + start[p] * (n + 1), n, dinv + start[p] * (n + 1), n));
  PetscCall(PetscArraycpy(minv, dinv, n * n));
  for (PetscInt q = 1; coupled && t && q < np; q++) {
    const PetscInt s = start[q];

    /* columns 0..kl-1: [C; 0], kl..t-1: [0; B]; the spikes W and V likewise */
    PetscCall(PetscArrayzero(coupling, n * t));
    PetscCall(PetscArrayzero(spikes, n * t));
    for (PetscInt c = 0; c < kl; c++)
      for (PetscInt i = s; i < s + kl; i++) coupling[i + c * n] = band[i + (s - kl + c) * n];
    for (PetscInt c = 0; c < ku; c++)
      for (PetscInt i = s - ku; i < s; i++) coupling[i + (kl + c) * n] = band[i + (s + c) * n];
    SpikeTestMultiplyAdd(n, t, n, 1.0, dinv, n, coupling, n, spikes, n);
    /* rows 0..kl-1 of the tips: those before s, kl..t-1: those after */
    for (PetscInt c = 0; c < t; c++)
      for (PetscInt i = 0; i < t; i++)
        T[i + c * t] = (i < kl) == (c < kl) ? (i == c ? 1.0 : 0.0) : spikes[s - kl + i + c * n];
    PetscCall(SpikeTestInvert(t, T, t, Tinv, t));
    PetscCall(PetscArrayzero(tips, t * n));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < t; i++)
        for (PetscInt l = 0; l < t; l++) tips[i + j * t] += Tinv[i + l * t] * dinv[s - kl + l + j * n];
    SpikeTestMultiplyAdd(n, n, t, -1.0, spikes, n, tips, t, minv, n);
  }
  PetscCall(PetscFree2(T, Tinv));
  PetscCall(PetscFree5(band, dinv, coupling, spikes, tips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Starts of all partitions when each rank cuts its rows (ranges) into local ones of equal length, the first ones a row
  longer; start has room for size * local + 1
*/
static inline void SpikeTestPartitions(PetscMPIInt size, const PetscInt ranges[], PetscInt local, PetscInt *np,
                                       PetscInt start[])
{
  *np      = 0;
  start[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    const PetscInt rows = ranges[r + 1] - ranges[r];

    for (PetscInt p = 0; rows && p < local; p++, (*np)++)
      start[*np + 1] = start[*np] + rows / local + (p < rows % local ? 1 : 0);
  }
}

/*
  PCSPIKE works where the matrix is: a test on a device that fell back to the host is none. -most: the largest
  half-bandwidth that a device holds, where it has less shared memory than an H100
*/
static inline PetscErrorCode SpikeTestBackend(PC pc)
{
  Mat         A;
  MatType     type;
  PetscBool   spike, device, cuda;
  PetscInt    most = 512;
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSPIKE, &spike));
  if (!spike) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatGetType(A, &type));
  device = (PetscBool)(strstr(type, "cuda") || strstr(type, "cusparse"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscStrcmp(info.backend, "cuda", &cuda));
  PetscCall(SpikeTestCheck((PetscBool)(cuda == (device && PetscMax(info.kl, info.ku) <= most)),
                           "backend %s for half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " of a matrix on the %s",
                           info.backend, info.kl, info.ku, device ? "device" : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of this rank of M^-1 or M^-T, all columns in one call, with dense matrices on the device; a: leading dimension n
*/
static inline PetscErrorCode SpikeTestDeviceColumns(PC pc, PetscBool trans, PetscInt n, PetscInt nlocal, PetscInt start,
                                                    PetscScalar *a)
{
  Mat                X, Y;
  const PetscScalar *y;
  PetscInt           ldy;
  PetscScalar        nan = 0.0;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)pc), nlocal, PETSC_DECIDE, n, n, NULL, &X));
  for (PetscInt i = start; i < start + nlocal; i++) PetscCall(MatSetValue(X, i, i, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(X, MATDENSECUDA, MAT_INPLACE_MATRIX, &X));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &Y));
  PetscCall(MatScale(Y, nan)); /* all of it: 0 NaN = NaN */
  if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
  else PetscCall(PCMatApply(pc, X, Y));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(Y, &y));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(a + j * n, y + (PetscCount)j * ldy, nlocal));
  PetscCall(MatDenseRestoreArrayRead(Y, &y));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The operator of a preconditioner column by column, on all ranks. y starts as NaN, x must not change. On a device,
  where many small steps take long, all columns but every 16th come from one call for many.
*/
static inline PetscErrorCode SpikeTestOperator(PC pc, PetscBool trans, PetscScalar *dense)
{
  Mat                A;
  Vec                x, y;
  PetscInt           n, nlocal, start;
  const PetscScalar *ya;
  PetscScalar        nan = 0.0;
  PetscReal          norm1;
  PetscBool          device;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetLocalSize(x, &nlocal));
  PetscCall(VecGetOwnershipRange(x, &start, NULL));
  PetscCall(PetscArrayzero(dense, n * n));
  if (device) PetscCall(SpikeTestDeviceColumns(pc, trans, n, nlocal, start, dense + start));
  for (PetscInt j = 0; j < n; j += device ? 16 : 1) {
    PetscCall(VecSet(x, 0.0));
    PetscCall(VecSetValue(x, j, 1.0, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscCall(VecSet(y, nan));
    if (trans) PetscCall(PCApplyTranspose(pc, x, y));
    else PetscCall(PCApply(pc, x, y));
    PetscCall(VecGetArrayRead(y, &ya));
    PetscCall(PetscArraycpy(dense + start + j * n, ya, nlocal));
    PetscCall(VecRestoreArrayRead(y, &ya));
    if (j % 16 == 0) {
      PetscCall(VecNorm(x, NORM_1, &norm1));
      PetscCall(SpikeTestCheck((PetscBool)(norm1 == 1.0), "an apply changed its input"));
    }
  }
  PetscCall(SpikeTestBackend(pc));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, dense, n * n, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |a - b| and max |b| over rows [r0, r1) and columns [c0, c1), b transposed on demand; NaN if any of a is */
static inline void SpikeTestDifference(PetscInt n, PetscInt r0, PetscInt r1, PetscInt c0, PetscInt c1,
                                       const PetscScalar *a, const PetscScalar *b, PetscBool transb, PetscReal *diff,
                                       PetscReal *norm)
{
  *diff = *norm = 0.0;
  for (PetscInt j = c0; j < c1; j++) {
    for (PetscInt i = r0; i < r1; i++) {
      const PetscScalar bij = transb ? b[j + i * n] : b[i + j * n];
      const PetscReal   d   = PetscAbsScalar(a[i + j * n] - bij);

      if (!(d <= *diff)) *diff = d;
      if (PetscIsNanReal(d)) return;
      *norm = PetscMax(*norm, PetscAbsScalar(bij));
    }
  }
}

/*
  a, the operator of a preconditioner or its transpose, against the reference: as a whole, and block by block, each in
  its own norm, for a contribution of one partition to another may be small. Blocks where the reference is zero by
  construction must be zero.
*/
static inline PetscErrorCode SpikeTestCompare(PetscInt n, PetscInt np, const PetscInt start[], const PetscScalar *a,
                                              const PetscScalar *ref, PetscBool trans, PetscReal tol,
                                              PetscReal rounding, const char where[])
{
  PetscReal diff, norm, d, m;
  char      text[32];

  PetscFunctionBegin;
  SpikeTestDifference(n, 0, n, 0, n, a, ref, trans, &diff, &norm);
  PetscCall(
    SpikeTestSmall(diff, tol * norm, trans ? "error of the transposed operator" : "error of the operator", where));
  for (PetscInt p = 0; p < np && np <= 12; p++) {
    for (PetscInt q = 0; q < np; q++) {
      SpikeTestDifference(n, start[q], start[q + 1], start[p], start[p + 1], a, ref, trans, &d, &m);
      PetscCall(PetscSNPrintf(text, sizeof(text), "partition %" PetscInt_FMT "'s part in %" PetscInt_FMT "%s", p, q,
                              trans ? "^T" : ""));
      PetscCall(SpikeTestSmall(d, m > 0.0 ? tol * m + rounding * norm : 0.0, text, where));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* <M^-1 x, y> = <x, M^-T y>, without conjugation, for random x and y */
static inline PetscErrorCode SpikeTestAdjoint(PC pc, PetscReal tol, const char where[])
{
  Mat         A;
  Vec         x, y, mx, my;
  PetscScalar left, right;
  PetscReal   nx, ny, nmx, nmy;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &mx));
  PetscCall(VecDuplicate(x, &my));
  PetscCall(SpikeTestSetRandom(x, 101));
  PetscCall(SpikeTestSetRandom(y, 102));
  PetscCall(PCApply(pc, x, mx));
  PetscCall(PCApplyTranspose(pc, y, my));
  PetscCall(SpikeTestBackend(pc));
  PetscCall(VecTDot(mx, y, &left));
  PetscCall(VecTDot(x, my, &right));
  PetscCall(VecNorm(x, NORM_2, &nx));
  PetscCall(VecNorm(y, NORM_2, &ny));
  PetscCall(VecNorm(mx, NORM_2, &nmx));
  PetscCall(VecNorm(my, NORM_2, &nmy));
  PetscCall(SpikeTestSmall(PetscAbsScalar(left - right), tol * PetscMax(nx * nmy, ny * nmx),
                           "<M^-1 x, y> - <x, M^-T y>", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&mx));
  PetscCall(VecDestroy(&my));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMatApply() and PCMatApplyTranspose() of random columns beside PCApply() and PCApplyTranspose(); Y begins as NaN */
static inline PetscErrorCode SpikeTestColumns(PC pc, PetscInt columns, PetscReal tol, const char where[])
{
  Mat         A, X, Y;
  Vec         x, y, col;
  PetscInt    nlocal;
  PetscScalar nan = 0.0;
  PetscReal   diff, norm;
  VecType     type;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)pc), type, nlocal, PETSC_DECIDE, PETSC_DECIDE,
                                      columns, PETSC_DECIDE, NULL, &X));
  for (PetscInt c = 0; c < columns; c++) {
    PetscCall(MatDenseGetColumnVecWrite(X, c, &col));
    PetscCall(SpikeTestSetRandom(col, 40 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(X, c, &col));
  }
  for (int trans = 0; trans < 2; trans++) {
    PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &Y));
    PetscCall(MatScale(Y, nan));
    if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
    else PetscCall(PCMatApply(pc, X, Y));
    for (PetscInt c = 0; c < columns; c++) {
      PetscCall(SpikeTestSetRandom(x, 40 + c));
      if (trans) PetscCall(PCApplyTranspose(pc, x, y));
      else PetscCall(PCApply(pc, x, y));
      PetscCall(VecNorm(y, NORM_INFINITY, &norm));
      PetscCall(MatDenseGetColumnVecRead(Y, c, &col));
      PetscCall(VecAXPY(y, -1.0, col));
      PetscCall(MatDenseRestoreColumnVecRead(Y, c, &col));
      PetscCall(VecNorm(y, NORM_INFINITY, &diff));
      PetscCall(
        SpikeTestSmall(diff, tol * norm, trans ? "column of PCMatApplyTranspose()" : "column of PCMatApply()", where));
    }
    PetscCall(MatDestroy(&Y));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
