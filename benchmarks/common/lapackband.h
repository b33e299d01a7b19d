/* SPDX-License-Identifier: BSD-2-Clause */
/* lapackband.h: for benchmarks: true residuals, and the band LU of LAPACK or of a library with its interface */
#pragma once

#include "bandcase.h"
#include "../../tests/lapackgb.h"

typedef void (*Gbtrf)(const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                      PetscScalar *, const PetscBLASInt *, PetscBLASInt *, PetscBLASInt *);
typedef void (*Gbtrs)(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                      const PetscBLASInt *, const PetscScalar *, const PetscBLASInt *, const PetscBLASInt *,
                      PetscScalar *, const PetscBLASInt *, PetscBLASInt *);

/* ||b - A x||_2 / ||b||_2 */
static inline PetscErrorCode GetResidual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  Vec       r;
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *residual /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Factorization of a band that has been filled before, and one right-hand side, ms: the first factorization, and
  medians; what takes more than two seconds, once
*/
static inline PetscErrorCode TimeBand(int repeat, PetscInt K, Mat A, Vec b, Vec x, Gbtrf gbtrf, Gbtrs gbtrs,
                                      double *first, double *factor, double *solve)
{
  const PetscCount   ld = 3 * (PetscCount)K + 1;
  const PetscScalar *ba, *aa;
  const PetscInt    *ai, *aj;
  PetscScalar       *band, *xa;
  PetscBLASInt      *pivots, n, k, lda, info, one = 1;
  PetscInt           rows;
  PetscLogDouble     t0, t1, t2;
  double             tf[MAXREPEAT], ts[MAXREPEAT];
  PetscBool          flag;
  int                count = 0;

  PetscFunctionBeginUser;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ai, &aj, &flag));
  PetscCall(MatSeqAIJGetArrayRead(A, &aa));
  PetscCall(PetscBLASIntCast(rows, &n));
  PetscCall(PetscBLASIntCast(K, &k));
  PetscCall(PetscBLASIntCast(ld, &lda));
  PetscCall(PetscMalloc2(ld * n, &band, n, &pivots));
  for (int r = -1; r < repeat; r++) {
    PetscCall(PetscArrayzero(band, ld * n));
    for (PetscInt i = 0; i < rows; i++)
      for (PetscInt l = ai[i]; l < ai[i + 1]; l++) band[2 * K + i - aj[l] + ld * aj[l]] = aa[l];
    PetscCall(VecGetArrayRead(b, &ba));
    PetscCall(VecGetArrayWrite(x, &xa));
    PetscCall(PetscArraycpy(xa, ba, n));
    PetscCall(PetscTime(&t0));
    gbtrf(&n, &n, &k, &k, band, &lda, pivots, &info);
    PetscCall(PetscTime(&t1));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gbtrf: info %d", (int)info);
    gbtrs("N", &n, &k, &k, &one, band, &lda, pivots, xa, &n, &info);
    PetscCall(PetscTime(&t2));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gbtrs: info %d", (int)info);
    PetscCall(VecRestoreArrayWrite(x, &xa));
    PetscCall(VecRestoreArrayRead(b, &ba));
    if (r < 0) *first = 1e3 * (t1 - t0);
    count         = PetscMax(r, 0) + 1;
    tf[count - 1] = 1e3 * (t1 - t0);
    ts[count - 1] = 1e3 * (t2 - t1);
    if (t2 - t0 > 2.0) break;
  }
  *factor = Median(count, tf);
  *solve  = Median(count, ts);
  PetscCall(PetscFree2(band, pivots));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &aa));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ai, &aj, &flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}
