/* SPDX-License-Identifier: BSD-2-Clause */
/* poisson.h: what the benchmarks of Krylov methods share: matrices and times of solves */
#pragma once

#include <petscksp.h>
#include "finish.h"
#include "median.h"

/*
  CSR at once: the diagonal has the number of points less one, the others are -1 (27 points as PETSc's bench_kspsolve
  has them)
*/
static inline PetscErrorCode Poisson(PetscInt n, PetscInt points, MatType type, Mat *A)
{
  const PetscInt N = n * n * n;
  PetscInt      *ai, *aj, nz = 0;
  PetscScalar   *aa;
  PetscBool      sellcuda;
  Mat            B;

  PetscFunctionBegin;
  PetscCheck((PetscCount)points * n * n * n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "n = %" PetscInt_FMT " has more entries than PetscInt counts", n);
  PetscCall(PetscMalloc3(N + 1, &ai, (size_t)points * N, &aj, (size_t)points * N, &aa));
  ai[0] = 0;
  for (PetscInt k = 0, row = 0; k < n; k++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++, row++) {
        for (PetscInt dk = -1; dk <= 1; dk++)
          for (PetscInt dj = -1; dj <= 1; dj++)
            for (PetscInt di = -1; di <= 1; di++) {
              if (points == 7 && PetscAbsInt(dk) + PetscAbsInt(dj) + PetscAbsInt(di) > 1) continue;
              if (k + dk < 0 || k + dk >= n || j + dj < 0 || j + dj >= n || i + di < 0 || i + di >= n) continue;
              aj[nz]   = row + di + n * (dj + n * dk);
              aa[nz++] = dk || dj || di ? -1.0 : points - 1.0;
            }
        ai[row + 1] = nz;
      }
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, N, N, ai, aj, aa, &B));
  PetscCall(PetscStrcmpAny(type, &sellcuda, MATSELLCUDA, MATSEQSELLCUDA, ""));
  PetscCall(MatConvert(B, sellcuda ? MATSELL : type, MAT_INITIAL_MATRIX, A));
  /* PETSc 3.26.1 goes there from AIJ by MatSetValues(), and from SELL in place alone */
  if (sellcuda) PetscCall(MatConvert(*A, MATSEQSELLCUDA, MAT_INPLACE_MATRIX, A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define MOSTSOLVES 200

/* Seconds an iteration: of the first solve and the median of the others; and the fewest iterations of a solve */
static inline PetscErrorCode TimeSolves(KSP ksp, Vec b, Vec x, PetscInt solves, PetscReal *first, PetscReal *median,
                                        PetscInt *fewest)
{
  PetscLogDouble t0, t1;
  PetscInt       its, count = 0;
  double         t[MOSTSOLVES];

  PetscFunctionBegin;
  PetscCheck(solves > 0 && solves <= MOSTSOLVES, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-solves from 1 to %d",
             MOSTSOLVES);
  *fewest = PETSC_INT_MAX;
  for (PetscInt k = 0; k < solves; k++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCheck(its > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No iteration");
    if (!k) *first = (t1 - t0) / its;
    if (k || solves == 1) t[count++] = (t1 - t0) / its;
    *fewest = PetscMin(*fewest, its);
  }
  *median = (PetscReal)Median((int)count, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}
