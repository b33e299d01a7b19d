/* SPDX-License-Identifier: BSD-2-Clause */
/* ops_pivot.h: pivots and their boosting (template over the type of the factors) */

static FREAL T(Abs)(F p)
{
#if !defined(PETSC_USE_COMPLEX)
  return p < 0 ? -p : p;
#elif FREAL_SIZE == 8
  return __builtin_cabs(p);
#else
  return __builtin_cabsf(p);
#endif
}

/* A bad pivot of a row: boosted, or PETSC_FALSE where the factorization stops */
static __attribute__((noinline)) PetscBool T(PivotBad)(F p, PetscCount row, SpikeBandPivot *piv, F *inv)
{
  const FREAL boost = PetscMax((FREAL)piv->boost, FREAL_MIN), abs = T(Abs)(p);

  if (!(piv->boost > 0 && abs <= FREAL_MAX)) {
    piv->badrow   = (PetscInt)row;
    piv->badvalue = (PetscReal)abs;
    return PETSC_FALSE;
  }
  piv->nboost++;
  *inv = 1 / (abs > 0 ? boost * (p / abs) : boost);
  return PETSC_TRUE;
}

/* *inv <- 1 / p, the pivot of a row. Pivots whose inverse would overflow are bad whatever the tolerance. */
SPIKE_INLINE PetscBool T(Pivot)(F p, PetscCount row, SpikeBandPivot *piv, F *inv)
{
  const FREAL tol = PetscMax((FREAL)piv->tol, FREAL_MIN), abs = T(Abs)(p);

  if (PetscUnlikely(!(abs > tol && abs <= FREAL_MAX))) return T(PivotBad)(p, row, piv, inv);
  *inv = 1 / p;
  return PETSC_TRUE;
}
