/* SPDX-License-Identifier: BSD-2-Clause */
/* lu.c: the host's TWOWAY, and LU with scaled partial pivoting for the interiors of PARTITION */
#include "host.h"

static void SpikeTriFactorTwoway_Private(SpikeTriHost *h, PetscInt lo, PetscInt hi, const PetscScalar *dl,
                                         const PetscScalar *d, const PetscScalar *du, SpikeTriPivot *pv)
{
  SpikeTriElimination e = {hi - lo, lo,        PETSC_FALSE, PETSC_FALSE, dl + lo, d + lo,
                           du + lo, h->l + lo, h->r + lo,   h->v + lo,   *pv};

  if (e.m) (*h->loops.eliminateboth)(&e);
  *pv = e.pivot;
}

static void SpikeTriSolveTwoway_Private(SpikeTriHost *h, PetscBool trans, PetscInt lo, PetscInt hi, PetscScalar *x)
{
  if (hi > lo) (*h->loops.sweepboth)(trans, hi - lo, h->l + lo, h->r + lo, h->v + lo, x + lo);
}

const SpikeTriAlgorithm SpikeTriTwoway_Host = {
  .factor = SpikeTriFactorTwoway_Private,
  .solve  = SpikeTriSolveTwoway_Private,
  .words  = 3,
  .work   = 0,
};

/*
  P A = L U, rows i and i + 1 changing places where |dl_(i+1)| / max |row i + 1| > |u_i| / max |row i|, entries of the
  matrix as it was (of the row that stays, where it has been carried along). U has two diagonals above the main one: l_i
  = multiplier of row i in row i + 1, r_i = 1 / u_i, v_i and w_i = U(i, i+1), U(i, i+2).
*/
static PetscReal SpikeTriMax_Private(PetscScalar a, PetscScalar b, PetscScalar c)
{
  const PetscReal m = PetscMax(PetscMax(PetscAbsScalar(a), PetscAbsScalar(b)), PetscAbsScalar(c));

  return m > 0.0 ? m : 1.0;
}

static void SpikeTriFactorPivoted_Private(SpikeTriHost *h, PetscInt lo, PetscInt hi, const PetscScalar *dl,
                                          const PetscScalar *d, const PetscScalar *du, SpikeTriPivot *pv)
{
  const PetscInt m = hi - lo;
  PetscScalar   *l = h->factors + lo, *r = l + h->n, *v = r + h->n, *w = v + h->n, u, next;
  PetscBool     *swapped = h->swapped + lo;
  PetscReal      scale;

  if (!m) return;
  u     = d[lo];
  next  = m > 1 ? du[lo] : 0.0;
  scale = SpikeTriMax_Private(u, next, 0.0);
  for (PetscInt i = 0; i + 1 < m; i++) {
    const PetscScalar a = dl[lo + i + 1], b = d[lo + i + 1], c = i + 2 < m ? du[lo + i + 1] : 0.0;
    const PetscReal   below = SpikeTriMax_Private(a, b, c);

    swapped[i] = (PetscBool)(PetscAbsScalar(a) / below > PetscAbsScalar(u) / scale);
    if (swapped[i]) { /* row i + 1 is the pivot row, [u next 0] goes on */
      r[i] = (PetscScalar)1.0 / SpikeTriDivisor(pv, a, lo + i);
      v[i] = b;
      w[i] = c;
      l[i] = u * r[i];
      u    = next - l[i] * b;
      next = -l[i] * c;
    } else {
      r[i]  = (PetscScalar)1.0 / SpikeTriDivisor(pv, u, lo + i);
      v[i]  = next;
      w[i]  = 0.0;
      l[i]  = a * r[i];
      u     = b - l[i] * next;
      next  = c;
      scale = below;
    }
  }
  r[m - 1] = (PetscScalar)1.0 / SpikeTriDivisor(pv, u, lo + m - 1);
  v[m - 1] = w[m - 1] = l[m - 1] = 0.0;
  swapped[m - 1]                 = PETSC_FALSE;
}

static void SpikeTriSolvePivoted_Private(SpikeTriHost *h, PetscBool trans, PetscInt lo, PetscInt hi, PetscScalar *x)
{
  const PetscInt     m = hi - lo;
  const PetscScalar *l = h->factors + lo, *r = l + h->n, *v = r + h->n, *w = v + h->n;
  const PetscBool   *swapped = h->swapped + lo;

  x += lo;
  if (!trans) {
    for (PetscInt i = 0; i + 1 < m; i++) {
      const PetscScalar top = swapped[i] ? x[i + 1] : x[i], bottom = swapped[i] ? x[i] : x[i + 1];

      x[i]     = top;
      x[i + 1] = bottom - l[i] * top;
    }
    for (PetscInt i = m; i-- > 0;) {
      PetscScalar z = x[i];

      if (i + 1 < m) z -= v[i] * x[i + 1];
      if (i + 2 < m) z -= w[i] * x[i + 2];
      x[i] = r[i] * z;
    }
  } else {
    for (PetscInt i = 0; i < m; i++) {
      PetscScalar z = x[i];

      if (i > 0) z -= v[i - 1] * x[i - 1];
      if (i > 1) z -= w[i - 2] * x[i - 2];
      x[i] = r[i] * z;
    }
    for (PetscInt i = m - 1; i-- > 0;) {
      const PetscScalar top = x[i] - l[i] * x[i + 1], bottom = x[i + 1];

      x[i]     = swapped[i] ? bottom : top;
      x[i + 1] = swapped[i] ? top : bottom;
    }
  }
}

const SpikeTriAlgorithm SpikeTriPivoted_Host = {
  .factor = SpikeTriFactorPivoted_Private,
  .solve  = SpikeTriSolvePivoted_Private,
  .words  = 4,
  .work   = 0,
};
