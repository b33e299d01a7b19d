/* SPDX-License-Identifier: BSD-2-Clause */
/*
  lapackband.h: for benchmarks: the band LU of LAPACK or of a library with its interface, with the best numbers of
  threads
*/
#pragma once

#include "bandcase.h"
#include "residual.h"
#include "symbols.h"
#include "../../tests/lapackgb.h"

typedef void (*Gbtrf)(const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                      PetscScalar *, const PetscBLASInt *, PetscBLASInt *, PetscBLASInt *);
typedef void (*Gbtrs)(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
                      const PetscBLASInt *, const PetscScalar *, const PetscBLASInt *, const PetscBLASInt *,
                      PetscScalar *, const PetscBLASInt *, PetscBLASInt *);

/*
  Factorization of a band that has been filled before, and one right-hand side, ms: the first factorization, and
  medians; what takes more than two seconds, once. fill, or NULL: copying the values of A into the band
*/
static inline PetscErrorCode TimeBand(int repeat, PetscInt K, Mat A, Vec b, Vec x, Gbtrf gbtrf, Gbtrs gbtrs,
                                      double *fill, double *first, double *factor, double *solve)
{
  const PetscCount   ld = 3 * (PetscCount)K + 1;
  const PetscScalar *ba, *aa;
  const PetscInt    *ai, *aj;
  PetscScalar       *band, *xa;
  PetscBLASInt      *pivots, n, k, lda, info, one = 1;
  PetscInt           rows;
  PetscLogDouble     t0, t1, t2, begun, filled;
  double             tb[MAXREPEAT], tf[MAXREPEAT], ts[MAXREPEAT];
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
    PetscCall(PetscTime(&begun));
    for (PetscInt i = 0; i < rows; i++)
      for (PetscInt l = ai[i]; l < ai[i + 1]; l++) band[2 * K + i - aj[l] + ld * aj[l]] = aa[l];
    PetscCall(PetscTime(&filled));
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
    tb[count - 1] = 1e3 * (filled - begun);
    tf[count - 1] = 1e3 * (t1 - t0);
    ts[count - 1] = 1e3 * (t2 - t1);
    if (t2 - t0 > 2.0) break;
  }
  if (fill) *fill = Median(count, tb);
  *factor = Median(count, tf);
  *solve  = Median(count, ts);
  PetscCall(PetscFree2(band, pivots));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &aa));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ai, &aj, &flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a BLAS is told its number of threads; set is NULL where it has neither of these functions */
typedef struct {
  void (*set)(int);
  int (*get)(void);
} BLASThreads;

/* library: RTLD_DEFAULT, what the program is linked with */
static inline void FindBLASThreads(void *library, BLASThreads *threads)
{
  const char *const names[][2] = {{"MKL_Set_Num_Threads", "MKL_Get_Max_Threads"},
                                  {"openblas_set_num_threads", "openblas_get_num_threads"}};

  threads->set = NULL;
  threads->get = NULL;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names) && !threads->set; k++)
    if (!FindSymbol(library, names[k][1], &threads->get) || !FindSymbol(library, names[k][0], &threads->set))
      threads->set = NULL;
}

typedef struct {
  double fill, first, factor, solve;    /* ms, as those of TimeBand() */
  int    factor_threads, solve_threads; /* with which it took that; 0: the environment decides */
} BandTimes;

/* The least of TimeBand() with 1, 2, 4, ... and most threads, of the factorization and of the solve by itself */
static inline PetscErrorCode TimeBandThreads(int repeat, int most, const BLASThreads *threads, PetscInt K, Mat A, Vec b,
                                             Vec x, Gbtrf gbtrf, Gbtrs gbtrs, BandTimes *best)
{
  const int before = threads->set ? threads->get() : 0;
  int       n      = threads->set ? 1 : 0;

  PetscFunctionBeginUser;
  for (PetscBool more = PETSC_TRUE; more; n = PetscMin(2 * n, most)) {
    BandTimes t;

    if (threads->set) threads->set(n);
    PetscCall(TimeBand(repeat, K, A, b, x, gbtrf, gbtrs, &t.fill, &t.first, &t.factor, &t.solve));
    t.factor_threads = t.solve_threads = n;
    if (n <= 1) *best = t; /* the first */
    best->fill = PetscMin(best->fill, t.fill);
    if (t.factor < best->factor) {
      best->factor         = t.factor;
      best->factor_threads = n;
    }
    if (t.solve < best->solve) {
      best->solve         = t.solve;
      best->solve_threads = n;
    }
    more = (PetscBool)(threads->set && n < most);
  }
  if (threads->set) threads->set(before);
  PetscFunctionReturn(PETSC_SUCCESS);
}
