/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_half_chol.h: A = L D L^H with factors of 16 bits a real number, as ops_half.h has LU: ku = 0, L rounded before it
  is used, d_j = 1 / (the rounded inverse) for what a column subtracts, so that L D L^H differs from A by the rounding
  of each entry
*/

static size_t T(CholWorkSize)(PetscInt kl, PetscInt ku)
{
  (void)ku;
  return (size_t)(kl + SPIKE_HALF_COLS) * ((size_t)kl + 1) * sizeof(SPIKE_FIELD(float));
}

/* The pivot *p of row j, of which the real part counts, becomes its inverse, rounded; whether there is one */
SPIKE_INLINE PetscBool T(CholPivot)(PetscCount j, SPIKE_FIELD(float) * p, SpikeBandPivot *piv)
{
  const float tol = PetscMax((float)piv->tol, (float)F16_LEAST);
#if defined(PETSC_USE_COMPLEX)
  const float d = __real__ * p;
#else
  const float d = *p;
#endif

  if (!(d > tol && d <= (float)F16_MAX)) {
    piv->badrow   = (PetscInt)j;
    piv->badvalue = (PetscReal)d;
    return PETSC_FALSE;
  }
  *p = 1 / d;
  (void)T(Round)(1, p);
  return PETSC_TRUE;
}

static void T(Chol)(PetscInt n_, PetscInt kl_, PetscInt ku_, void *array, SpikeBandPivot *piv)
{
  typedef SPIKE_FIELD(float) C;
  const PetscCount n = n_, kl = kl_, ld = kl + 1;
  H               *a   = (H *)array;
  C               *w   = (C *)piv->work;
  PetscCount       end = 0;

  (void)ku_;
  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  for (PetscCount j0 = 0; j0 < n; j0 += SPIKE_HALF_COLS) {
    const PetscCount j1 = PetscMin(n, j0 + SPIKE_HALF_COLS), last = PetscMin(n, j1 + kl);

    for (; end < last; end++) T(Load)(a + end * ld, PetscMin(ld, n - end), w + (end - j0) * ld);
    for (PetscCount j = j0; j < j1; j++) {
      const PetscCount m = PetscMin(kl, n - 1 - j);
      C               *l = w + (j - j0) * ld + 1;
      PetscCount       over;

      if (!T(CholPivot)(j, l - 1, piv)) return;
      for (PetscCount i = 0; i < m; i++) l[i] *= l[-1];
      over = T(Round)(m, l);
      if (over < m) {
        piv->badrow   = (PetscInt)(j + over + 1);
        piv->badvalue = PETSC_INFINITY;
        return;
      }
      for (PetscCount t = 0; t < m; t++) T(Eliminate)(m - t, SpikeConj(l[t]) / l[-1], l + t, w + (j + t + 1 - j0) * ld);
    }
    for (PetscCount j = j0; j < j1; j++) T(Store)(a + j * ld, PetscMin(ld, n - j), w + (j - j0) * ld);
    memmove(w, w + (j1 - j0) * ld, (size_t)((last - j1) * ld) * sizeof(C));
  }
}

/* x <- L^-T D^-1 x */
static void T(CholLowerT)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  SPIKE_HALF_SHAPE(f);

  (void)ku;
  for (PetscCount j = (PetscCount)hi - 1; j >= lo; j--) {
    const S inv = T(Element)(a + j * ld);

    for (PetscInt r = 0; r < nrhs; r++) x[j + r * ldx] *= inv;
    T(Dot)(PetscMin(kl, n - 1 - j), a + j * ld + 1, nrhs, x + j, x + j + 1, ldx);
  }
}

/* L^-H D^-1 x = conj(L^-T D^-1 conj(x)), in the rows that are read */
static void T(CholUpper)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  const PetscCount rows = PetscMin((PetscCount)f.rows, (PetscCount)hi + f.kl) - lo;

  SpikeConjugate(rows, nrhs, x + lo, ldx, x + lo, ldx);
  T(CholLowerT)(f, lo, hi, nrhs, x, ldx);
  SpikeConjugate(rows, nrhs, x + lo, ldx, x + lo, ldx);
}

/* conj(L)^-1 b = conj(L^-1 conj(b)) */
static void T(CholUpperT)(SpikeBandFactors f, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                          PetscCount ldx)
{
  T(Copy)(f.rows, nrhs, b, ldb, x, ldx);
  SpikeConjugate(f.rows, nrhs, x, ldx, x, ldx);
  T(Lower)(f, 0, f.rows, nrhs, x, ldx, x, ldx);
  SpikeConjugate(f.rows, nrhs, x, ldx, x, ldx);
}

const SpikeBandOps SPIKE_PASTE3(SpikeCholeskyOps_, SPIKE_ISA, PRECISION) = {
  .name        = SPIKE_ISANAME " " SPIKE_STRING(PRECISION),
  .size        = sizeof(H),
  .lu_worksize = T(CholWorkSize),
  .lu          = T(Chol),
  .lower       = T(Lower),
  .upper       = T(CholUpper),
  .upper_t     = T(CholUpperT),
  .lower_t     = T(CholLowerT),
};
