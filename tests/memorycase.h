/* SPDX-License-Identifier: BSD-2-Clause */
/* memorycase.h: for tests of memory that runs out: matrices, solves, and allocations of our own that fail on demand */
#pragma once

#include "spiketest.h"
#include "guard.h"

typedef enum {
  KIND_BAND,
  KIND_HERMITIAN, /* positive definite */
  KIND_PERIODIC,  /* a band that goes on around the corners */
  KIND_ARROW,     /* a band, and a full row and column */
  KIND_SHIFTED    /* a band; each half of its rows is in another order: none has its large entry on the diagonal */
} Kind;

typedef struct {
  const char *name;
  PetscInt    n, kl, ku;
  PetscReal   dominance;
  Kind        kind;
  PetscBool   diagonals; /* MATDIA in place of AIJ */
  const char *options;
  PetscInt    rhs;    /* 0: KSPSolve(), else the columns of KSPMatSolve() */
  const char *viewed; /* what the view of a preconditioner says that has done what the case is for */
  PetscBool   trans;  /* solves with the transpose */
  PetscInt    bs;     /* 0, or a MATBAIJCUDA of such blocks in place of AIJ */
} Case;

/* On all ranks of PETSC_COMM_WORLD */
static inline PetscErrorCode MakeMat(const Case *c, Mat *A)
{
  const SpikeTestBand band = {c->n, c->kl, c->ku, c->dominance, SPIKE_TEST_RANDOM, 11};
  const PetscInt      n    = c->n;
  PetscScalar        *a;

  PetscFunctionBegin;
  if (c->kind == KIND_BAND) {
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, A));
    if (c->diagonals) PetscCall(MatConvert(*A, SpikeTestDiaType(), MAT_INPLACE_MATRIX, A));
    if (c->bs) {
      PetscCall(MatSetBlockSize(*A, c->bs));
      PetscCall(MatConvert(*A, MATBAIJCUDA, MAT_INPLACE_MATRIX, A));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCalloc1((size_t)n * n, &a));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt h = n / 2, row = c->kind == KIND_SHIFTED ? i / h * h + (i + h / 3) % h : i; /* n is even */

    for (PetscInt j = PetscMax(0, i - c->kl); j <= PetscMin(n - 1, i + c->ku); j++)
      a[row + j * n] = SpikeTestBandEntry(&band, i, j);
  }
  for (PetscInt j = 0; j < n && c->kind == KIND_HERMITIAN; j++) {
    PetscReal sum = 0.0;

    for (PetscInt i = j + 1; i < n; i++) a[j + i * n] = PetscConj(a[i + j * n]);
    for (PetscInt i = 0; i < n; i++)
      if (i != j) sum += PetscAbsScalar(a[i + j * n]);
    a[j + j * n] = c->dominance * sum;
  }
  for (PetscInt i = 0; i < n && c->kind == KIND_PERIODIC; i++)
    for (PetscInt d = -c->kl; d <= c->ku; d++)
      if (i + d < 0 || i + d >= n) a[i + (i + d + n) % n * n] = (PetscReal)0.3 * SpikeTestScalar(12, i, d);
  for (PetscInt i = 0; i < n && c->kind == KIND_ARROW; i++) {
    if (i == n / 2) continue;
    a[i + n / 2 * n] += (PetscReal)0.1 * SpikeTestScalar(12, i, 0);
    a[n / 2 + i * n] += (PetscReal)0.1 * SpikeTestScalar(12, i, 1);
  }
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- The allocation that fails: of PetscMalloc() in our files, or of CUDA with the library of tests/device ----------
*/
static long (*devicefail)(long);
static PetscInt count, failat;

static inline PetscErrorCode Malloc(size_t size, PetscBool clear, int line, const char func[], const char file[],
                                    void **p)
{
  static const char *const ours[] = {"src/pc_",      "src/ksp_",     "src/mat_dia",  "src/mat_halo",
                                     "src/mat_grid", "src/mat_baij", "src/kernels/", "src/common/"};

  PetscFunctionBegin;
  for (size_t k = 0; size && !devicefail && k < PETSC_STATIC_ARRAY_LENGTH(ours); k++) {
    if (!strstr(file, ours[k]) || ++count != failat) continue;
    *p = NULL;
    return PetscError(PETSC_COMM_SELF, line, func, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "as the test wants it");
  }
  PetscCall(GuardMalloc_Private(size, clear, line, func, file, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The k-th allocation from here on fails; 0: none. Returns how many there were since the last call */
static inline PetscInt TestFail(PetscInt k)
{
  const PetscInt before = devicefail ? (PetscInt)devicefail((long)k) : count;

  count  = 0;
  failat = k;
  return before;
}

/*
  ---- What is done while memory fails, and after ----------------------------------------------------------------------
*/
static inline PetscErrorCode SolveOnce(const Case *c, KSP ksp, Vec b, Vec x, Mat B, Mat X)
{
  PetscFunctionBegin;
  if (c->rhs && c->trans) PetscCall(KSPMatSolveTranspose(ksp, B, X));
  else if (c->rhs) PetscCall(KSPMatSolve(ksp, B, X));
  else if (c->trans) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Solve(const Case *c, KSP ksp, Vec b, Vec x, Mat B, Mat X)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(SolveOnce(c, ksp, b, x, B, X));
  PetscCall(MatScale(A, 1.0)); /* a setup with new values */
  PetscCall(SolveOnce(c, ksp, b, x, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||B - A X|| against ||B||, of the one or of all */
static inline PetscErrorCode Check(const Case *c, KSP ksp, Vec b, Vec x, Mat B, Mat X, const char when[], PetscInt k)
{
  const PetscReal    most = PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-4; /* direct solves promise a backward error */
  KSPConvergedReason reason;
  Mat                A, R;
  PetscReal          residual, norm;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (c->trans) PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &A));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (c->rhs) {
    PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &R));
    PetscCall(MatAXPY(R, -1.0, B, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(R, NORM_FROBENIUS, &residual));
    PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
    residual /= norm;
    PetscCall(MatDestroy(&R));
  } else PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && residual < most),
                           "%s, %s allocation %" PetscInt_FMT ": %s, true residual %g", c->name, when, k,
                           KSPConvergedReasons[reason], (double)residual));
  if (c->trans) PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors and columns of their own for each attempt: what a failure leaves locked is not asked again */
static inline PetscErrorCode Sides(const Case *c, Mat A, Vec *b, Vec *x, Mat *B, Mat *X)
{
  PetscInt m;
  VecType  type;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecGetType(*b, &type));
  PetscCall(SpikeTestSetRandom(*b, 5));
  *B = *X = NULL;
  if (!c->rhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)A), type, m, PETSC_DECIDE, PETSC_DETERMINE, c->rhs,
                                      PETSC_DECIDE, NULL, B));
  PetscCall(MatDuplicate(*B, MAT_DO_NOT_COPY_VALUES, X));
  PetscCall(MatSetRandom(*B, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
