/* SPDX-License-Identifier: BSD-2-Clause */
/* band_sweep.h: triangular sweeps with the band factors (template over the type of the factors) */

static void T(Lower)(PetscInt n, PetscInt kl, PetscInt ku, const void *array, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscCount ld = (PetscCount)kl + ku + 1;

  for (PetscInt c = 0; c < nrhs; c++) {
    S *xc = x + c * ldx;

    if (b != x)
      for (PetscInt i = 0; i < n; i++) xc[i] = b[c * ldb + i];
    for (PetscInt j = 0; j < n; j++) {
      const F *d  = (const F *)array + j * ld + ku;
      PetscInt nl = PetscMin(kl, n - 1 - j);

      for (PetscInt i = 1; i <= nl; i++) xc[j + i] -= (S)d[i] * xc[j];
    }
  }
}

static void T(Upper)(PetscInt n, PetscInt kl, PetscInt ku, const void *array, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  const PetscCount ld = (PetscCount)kl + ku + 1;

  (void)n;
  for (PetscInt c = 0; c < nrhs; c++) {
    S *xc = x + c * ldx;

    for (PetscInt j = hi - 1; j >= lo; j--) {
      const F *d  = (const F *)array + j * ld + ku;
      PetscInt nu = PetscMin(ku, j);

      xc[j] *= (S)d[0];
      for (PetscInt i = 1; i <= nu; i++) xc[j - i] -= (S)d[-i] * xc[j];
    }
  }
}

static void T(UpperT)(PetscInt n, PetscInt kl, PetscInt ku, const void *array, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscCount ld = (PetscCount)kl + ku + 1;

  for (PetscInt c = 0; c < nrhs; c++) {
    S *xc = x + c * ldx;

    for (PetscInt j = 0; j < n; j++) {
      const F *d  = (const F *)array + j * ld + ku;
      PetscInt nu = PetscMin(ku, j);
      S        t  = b[c * ldb + j];

      for (PetscInt i = nu; i > 0; i--) t -= (S)d[-i] * xc[j - i];
      xc[j] = t * (S)d[0];
    }
  }
}

static void T(LowerT)(PetscInt n, PetscInt kl, PetscInt ku, const void *array, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  const PetscCount ld = (PetscCount)kl + ku + 1;

  for (PetscInt c = 0; c < nrhs; c++) {
    S *xc = x + c * ldx;

    for (PetscInt j = hi - 1; j >= lo; j--) {
      const F *d  = (const F *)array + j * ld + ku;
      PetscInt nl = PetscMin(kl, n - 1 - j);
      S        t  = xc[j];

      for (PetscInt i = nl; i > 0; i--) t -= (S)d[i] * xc[j + i];
      xc[j] = t;
    }
  }
}
