/* SPDX-License-Identifier: BSD-2-Clause */
/* growth.c: the host's look at the size of the factors */
#include "host.h"

/* The largest of [0, m), in four chains; PETSC_MAX_REAL where the sum of all is not finite */
#define SpikeGrowthColumn(F) \
  static PetscReal SpikeGrowthColumn_##F(PetscInt m, const F *a) \
  { \
    PetscReal most[4] = {0.0, 0.0, 0.0, 0.0}, sum[4] = {0.0, 0.0, 0.0, 0.0}; \
    PetscInt  i = 0; \
\
    for (; i + 4 <= m; i += 4) { \
      for (int k = 0; k < 4; k++) { \
        const PetscReal abs = PetscAbsScalar((PetscScalar)a[i + k]); \
\
        sum[k] += abs; \
        most[k] = abs > most[k] ? abs : most[k]; \
      } \
    } \
    for (; i < m; i++) { \
      const PetscReal abs = PetscAbsScalar((PetscScalar)a[i]); \
\
      sum[0] += abs; \
      most[0] = abs > most[0] ? abs : most[0]; \
    } \
    if (PetscIsInfOrNanReal(sum[0] + sum[1] + sum[2] + sum[3])) return PETSC_MAX_REAL; \
    return PetscMax(PetscMax(most[0], most[1]), PetscMax(most[2], most[3])); \
  }
SpikeGrowthColumn(SpikeDouble) SpikeGrowthColumn(SpikeSingle)

  /* m rows of a column above the diagonal, which follow one another from place `at` on */
  static PetscReal SpikeGrowthAbove_Private(PetscSpikePrecision precision, const void *a, PetscCount at, PetscInt m)
{
  PetscReal most = 0.0;

  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) return SpikeGrowthColumn_SpikeDouble(m, (const SpikeDouble *)a + at);
  if (precision == PETSC_SPIKE_PRECISION_SINGLE) return SpikeGrowthColumn_SpikeSingle(m, (const SpikeSingle *)a + at);
  for (PetscInt i = 0; i < m; i++) {
    const PetscReal abs = PetscAbsScalar(SpikeHostGet(precision, a, at + i));

    if (!(abs <= most)) most = PetscIsInfOrNanReal(abs) ? PETSC_MAX_REAL : abs;
  }
  return most;
}

PetscErrorCode SpikeGrowth_Host(SpikeBand *s, PetscReal *largest)
{
  const SpikeHost *h     = (const SpikeHost *)s->data;
  PetscReal        least = PETSC_MAX_REAL, most = 0.0, sum = 0.0; /* of inverses of pivots; of what is above them */

  PetscFunctionBegin;
  *largest = -1.0;
  if (!h->first) PetscFunctionReturn(PETSC_SUCCESS); /* systems have no U of a common form */
  *largest = 0.0;
  for (PetscInt p = 0; p < s->np; p++) {
    const SpikeBandFactors f = SpikeHostFactors(s, p);
    const PetscInt         n = f.rows, panel = h->ops->panel ? h->ops->panel(f.kl, f.ku) : 0;
    const PetscInt         ku = panel ? f.ku + f.kl : f.ku; /* of U */
    const void            *a  = f.a;

    for (PetscInt j = 0; j < n; j++) {
      const PetscInt first = PetscMax(0, j - ku);
      /* of D L^H the pivots: A is positive definite, and no entry of U is above the largest of its diagonal */
      const PetscCount at  = panel ? SpikePivotedIndex(f.kl, f.ku, panel, j, j)
                                   : SpikeBandIndex(n, f.kl, f.ku, h->ops->size, j, j);
      const PetscReal  abs = PetscAbsScalar(SpikeHostGet(s->precision, a, at));

      sum += abs - abs; /* NaN where abs is not finite */
      least = PetscMin(least, abs);
      if (!panel) {
        const PetscReal above = SpikeGrowthAbove_Private(s->precision, a, at - (j - first), j - first);

        most = PetscMax(most, above);
      }
      for (PetscInt i = first; panel && i < j; i++) {
        const PetscReal v = PetscAbsScalar(SpikeHostGet(s->precision, a, SpikePivotedIndex(f.kl, f.ku, panel, i, j)));

        if (!(v <= most)) most = PetscIsInfOrNanReal(v) ? PETSC_MAX_REAL : v;
      }
    }
  }
  if (s->n) *largest = PetscIsNanReal(sum) || !(least > 0.0) ? PETSC_MAX_REAL : PetscMax(most, 1.0 / least);
  if (PetscIsInfOrNanReal(*largest)) *largest = PETSC_MAX_REAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
