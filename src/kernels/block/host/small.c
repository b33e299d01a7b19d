/* SPDX-License-Identifier: BSD-2-Clause */
/* small.c: Cholesky factors of small blocks on the host */
#include "host.h"
#include "kernels/common/host/factors.h"

/* in double precision, whatever that of the blocks */
static inline SpikeDouble Get(PetscSpikePrecision precision, const void *a, PetscCount t)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? ((const SpikeDouble *)a)[t]
                                                   : (SpikeDouble)((const SpikeSingle *)a)[t];
}

static inline void Put(PetscSpikePrecision precision, void *a, PetscCount t, SpikeDouble v)
{
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) ((SpikeDouble *)a)[t] = v;
  else ((SpikeSingle *)a)[t] = (SpikeSingle)v;
}

#if defined(PETSC_USE_COMPLEX)
  #define CONJ(a) (__builtin_conj(a))
  #define REAL(a) (__real__(a))
#else
  #define CONJ(a) (a)
  #define REAL(a) (a)
#endif

/* r <- R with R^H R = G; the column of the first bad pivot, m if none, and zeros from that row on */
static PetscInt Cholesky(PetscInt m, SpikeDouble *r, double tol)
{
  for (PetscInt i = 0; i < m; i++) {
    const double g = REAL(r[i * m + i]);
    double       d = g;

    for (PetscInt k = 0; k < i; k++) d -= REAL(CONJ(r[i * m + k]) * r[i * m + k]);
    if (!(d > tol * g) || !(d <= DBL_MAX)) {
      for (PetscInt j = 0; j < m; j++)
        for (PetscInt k = i; k < m; k++) r[j * m + k] = 0;
      return i;
    }
    d = sqrt(d);
    for (PetscInt j = i; j < m; j++) {
      SpikeDouble s = j == i ? 0 : r[j * m + i];

      for (PetscInt k = 0; k < i && j > i; k++) s -= CONJ(r[i * m + k]) * r[j * m + k];
      r[j * m + i] = j == i ? d : s / d;
    }
    for (PetscInt j = 0; j < i; j++) r[j * m + i] = 0;
  }
  return m;
}

/* v <- R^-1 of the leading n rows and columns, zeros elsewhere */
static void Inverse(PetscInt m, PetscInt n, const SpikeDouble *r, SpikeDouble *v)
{
  for (PetscInt j = 0; j < m * m; j++) v[j] = 0;
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = j; i >= 0; i--) {
      SpikeDouble s = i == j ? 1 : 0;

      for (PetscInt k = i + 1; k <= j; k++) s -= r[k * m + i] * v[j * m + k];
      v[j * m + i] = s / r[i * m + i];
    }
  }
}

PetscErrorCode SpikeBlockCholesky_Host(SpikeBlock *b, PetscSpikePrecision precision, PetscInt count, PetscInt m,
                                       const void *G, PetscBool again, void *R, void *inv, PetscReal tol, PetscInt *bad)
{
  SpikeDouble r[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM], v[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM];

  PetscFunctionBegin;
  (void)b;
  PetscCheck(m >= 0 && m <= SPIKE_BLOCK_MAXM, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Blocks of %" PetscInt_FMT " columns: up to %d are served", m, SPIKE_BLOCK_MAXM);
  for (PetscInt t = 0; t < count; t++) {
    const PetscCount at = (PetscCount)t * m * m;
    PetscInt         n;

    for (PetscInt j = 0; j < m; j++)
      for (PetscInt i = 0; i < m; i++) r[j * m + i] = i <= j ? Get(precision, G, at + j * m + i) : 0;
    n = Cholesky(m, r, (double)tol);
    if (n < m && bad[t] < 0) bad[t] = n;
    Inverse(m, n, r, v);
    for (PetscInt k = 0; k < m * m; k++) Put(precision, inv, at + k, v[k]);
    if (again) { /* R <- r R, both upper triangular */
      for (PetscInt j = 0; j < m; j++) {
        for (PetscInt i = 0; i < m; i++) {
          SpikeDouble s = 0;

          for (PetscInt k = i; k <= j; k++) s += r[k * m + i] * Get(precision, R, at + j * m + k);
          v[j * m + i] = s;
        }
      }
      for (PetscInt k = 0; k < m * m; k++) Put(precision, R, at + k, v[k]);
    } else {
      for (PetscInt k = 0; k < m * m; k++) Put(precision, R, at + k, r[k]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
