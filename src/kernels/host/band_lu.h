/* SPDX-License-Identifier: BSD-2-Clause */
/* band_lu.h: LU factorization of a band block without pivoting (template over the type of the factors) */

static size_t T(LUWorkSize)(PetscInt kl, PetscInt ku)
{
  (void)kl;
  (void)ku;
  return 64;
}

static inline FREAL T(Abs)(F p)
{
#if defined(PETSC_USE_COMPLEX)
  return sizeof(FREAL) == sizeof(double) ? (FREAL)__builtin_cabs(p) : (FREAL)__builtin_cabsf(p);
#else
  return p < 0 ? -p : p;
#endif
}

/* Accept, boost or refuse the pivot of a row; *inv <- 1/pivot */
static inline PetscBool T(Pivot)(F p, PetscInt row, SpikeBandPivot *piv, F *inv)
{
  const FREAL abs = T(Abs)(p), tol = piv->tol > (PetscReal)FREAL_MIN ? (FREAL)piv->tol : FREAL_MIN;

  if (!(abs > tol) || abs > FREAL_MAX) {
    const FREAL boost = piv->boost > (PetscReal)FREAL_MIN ? (FREAL)piv->boost : FREAL_MIN;

    if (!(piv->boost > 0) || !(abs <= FREAL_MAX)) {
      piv->badrow   = row;
      piv->badvalue = (PetscReal)abs;
      return PETSC_FALSE;
    }
    p = abs > 0 ? boost * (p / abs) : boost;
    piv->nboost++;
  }
  *inv = 1 / p;
  return PETSC_TRUE;
}

static void T(LU)(PetscInt n, PetscInt kl, PetscInt ku, void *array, SpikeBandPivot *piv)
{
  const PetscCount ld = (PetscCount)kl + ku + 1;
  F               *a  = (F *)array;

  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  for (PetscInt j = 0; j < n; j++) {
    F       *d  = a + j * ld + ku, inv;
    PetscInt nl = PetscMin(kl, n - 1 - j), nu = PetscMin(ku, n - 1 - j);

    if (!T(Pivot)(d[0], j, piv, &inv)) return;
    d[0] = inv;
    for (PetscInt i = 1; i <= nl; i++) d[i] *= inv;
    for (PetscInt k = 1; k <= nu; k++) {
      F *c = d + k * (ld - 1), u = c[0];

      for (PetscInt i = 1; i <= nl; i++) c[i] -= d[i] * u;
    }
  }
}
