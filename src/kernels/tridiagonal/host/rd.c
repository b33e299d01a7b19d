/* SPDX-License-Identifier: BSD-2-Clause */
/* rd.c: the host's RD: three prefixes, in steps of doubled distance as devices take them */
#include "host.h"
#include <math.h>

/* M <- M 2^-e, the largest entry in [1, 2): the prefixes' ratios are those that count */
static void SpikeTriScale_Private(PetscScalar M[4])
{
  PetscReal most = 0.0;
  int       e;

  for (int k = 0; k < 4; k++)
    most = PetscMax(most, PetscMax(PetscAbsReal(PetscRealPart(M[k])), PetscAbsReal(PetscImaginaryPart(M[k]))));
  if (!(most > 0.0) || !(most <= PETSC_MAX_REAL)) return;
  (void)frexp((double)most, &e);
  for (int k = 0; k < 4; k++) {
#if defined(PETSC_USE_COMPLEX)
    M[k] = PetscCMPLX((PetscReal)ldexp((double)PetscRealPart(M[k]), 1 - e),
                      (PetscReal)ldexp((double)PetscImaginaryPart(M[k]), 1 - e));
#else
    M[k] = (PetscReal)ldexp((double)M[k], 1 - e);
#endif
  }
}

/*
  y_i <- y_i + a_i y_(i-1), i rising or falling, a_i = -mult[i]: for s = 1, 2, 4, ...: y_i += a_i y_(i-s), a_i *=
  a_(i-s). work: 4 m values; y may be NULL. Returns the largest |a| of all steps, or what is not finite.
*/
static PetscReal SpikeTriPrefix_Private(PetscBool down, PetscInt m, const PetscScalar *mult, PetscScalar *y,
                                        PetscScalar *work)
{
  PetscScalar *a = work, *an = work + m, *yn = work + 2 * m;
  PetscReal    most = 0.0;

  for (PetscInt i = 0; i < m; i++) a[i] = i ? -mult[down ? i : m - 1 - i] : 0.0; /* the first has none before it */
  for (PetscInt s = 1; s < m; s *= 2) {
    for (PetscInt i = 0; i < m; i++) {
      const PetscInt r = down ? i : m - 1 - i, b = down ? i - s : m - 1 - i + s;

      if (y) yn[r] = i < s ? y[r] : y[r] + a[i] * y[b];
      an[i] = i < s ? 0.0 : a[i] * a[i - s];
      if (most <= PETSC_MAX_REAL && !(PetscAbsScalar(an[i]) <= most)) most = PetscAbsScalar(an[i]);
    }
    for (PetscInt i = 0; i < m && y; i++) y[i] = yn[i];
    {
      PetscScalar *const old = a;

      a  = an;
      an = old;
    }
  }
  return most;
}

static void SpikeTriFactorRD_Private(SpikeTriHost *h, PetscInt lo, PetscInt hi, const PetscScalar *dl,
                                     const PetscScalar *d, const PetscScalar *du, SpikeTriPivot *pv)
{
  const PetscInt m = hi - lo;
  PetscScalar   *P = h->work, *Q = h->work + 4 * (PetscCount)m, *l = h->l + lo, *r = h->r + lo, *v = h->v + lo;
  SpikeTriPivot  none = *pv; /* no boost */

  none.boost = 0.0;
  for (PetscInt i = 0; i < m; i++) {
    P[4 * i]     = d[lo + i];
    P[4 * i + 1] = i ? -dl[lo + i] * du[lo + i - 1] : 0.0;
    P[4 * i + 2] = 1.0;
    P[4 * i + 3] = 0.0;
    SpikeTriScale_Private(P + 4 * i);
  }
  for (PetscInt s = 1; s < m; s *= 2) {
    for (PetscInt i = 0; i < m; i++) {
      const PetscScalar *A = P + 4 * i, *B = P + 4 * (i - s);
      PetscScalar       *C = Q + 4 * i;

      if (i < s) {
        for (int k = 0; k < 4; k++) C[k] = A[k];
        continue;
      }
      C[0] = A[0] * B[0] + A[1] * B[2];
      C[1] = A[0] * B[1] + A[1] * B[3];
      C[2] = A[2] * B[0] + A[3] * B[2];
      C[3] = A[2] * B[1] + A[3] * B[3];
      SpikeTriScale_Private(C);
    }
    {
      PetscScalar *const old = P;

      P = Q;
      Q = old;
    }
  }
  for (PetscInt i = 0; i < m; i++) {
    const PetscScalar before = P[4 * i + 2];
    PetscScalar       u      = P[4 * i];

    if (PetscAbsScalar(before) > 0.0) u /= before;
    else u = (PetscReal)INFINITY;
    r[i] = (PetscScalar)1.0 / SpikeTriDivisor(&none, u, lo + i);
    l[i] = i ? dl[lo + i] * r[i - 1] : 0.0;
    v[i] = i + 1 < m ? du[lo + i] * r[i] : 0.0;
  }
  for (int way = 0; way < 4; way++) { /* L y, U x, and of the transposed system U^T, L^T */
    const PetscReal most = SpikeTriPrefix_Private((PetscBool) !(way % 2), m,
                                                  way == 0   ? l
                                                  : way == 1 ? v
                                                  : way == 2 ? v - 1
                                                             : l + 1,
                                                  NULL, h->work);

    if (most <= PETSC_MAX_REAL) continue;
    if (none.badrow < 0) {
      none.badrow   = lo;
      none.badvalue = (PetscReal)INFINITY;
    }
  }
  none.boost = pv->boost;
  *pv        = none;
}

static void SpikeTriSolveRD_Private(SpikeTriHost *h, PetscBool trans, PetscInt lo, PetscInt hi, PetscScalar *x)
{
  const PetscInt     m = hi - lo;
  const PetscScalar *l = h->l + lo, *r = h->r + lo, *v = h->v + lo;

  x += lo;
  (void)SpikeTriPrefix_Private(PETSC_TRUE, m, trans ? v - 1 : l, x, h->work);
  for (PetscInt i = 0; i < m; i++) x[i] *= r[i];
  (void)SpikeTriPrefix_Private(PETSC_FALSE, m, trans ? l + 1 : v, x, h->work);
}

const SpikeTriAlgorithm SpikeTriRD_Host = {
  .factor = SpikeTriFactorRD_Private,
  .solve  = SpikeTriSolveRD_Private,
  .words  = 3,
  .work   = 8,
};
