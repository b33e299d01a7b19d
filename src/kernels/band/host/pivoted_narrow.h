/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pivoted_narrow.h: LU with partial pivoting of narrow bands, kl <= 4 and kl + ku <= 8, whose columns are shorter than a
  vector. The factors are those of pivoted_lu.h, panel by panel: a front of the panel and the kl + ku columns beside it
  is eliminated column by column, by loops of constant length, and without a branch that depends on a value.
*/

enum {
  T(NARROW_KL) = 4,
  T(NARROW_HU) = 8,                        /* kl + ku                              */
  T(WC)        = T(SUB) + T(NARROW_HU),    /* columns of a front                  */
  T(WR)        = T(SUB) + T(NARROW_KL) + 4 /* rows, and some more: two cache lines */
};

/*
  The wj columns of a panel are eliminated in a front, whose first row and column are `row` of the block; nu: columns
  beside the panel. KLMAX >= kl: the constant that the loops have, rows beyond kl are zeros
*/
SPIKE_INLINE PetscBool T(NarrowPanel)(const int KLMAX, int wj, int nu, int hu, F P[][T(WR)], PetscCount row,
                                      SpikeBandPivot *piv, int swap[])
{
  for (int c = 0; c < wj; c++) {
    F    *d    = P[c] + c, l[T(NARROW_KL)], inv;
    FREAL most = T(Size)(d[0]);
    int   k    = 0;

    /* the first one of the largest; what is not a number stays until it is the first, where it is a bad pivot */
    for (int r = 1; r <= KLMAX; r++) {
      const FREAL size = T(Size)(d[r]);

      k += (size > most) * (r - k);
      most = size > most ? size : most;
    }
    swap[c] = c + k;
    if (!T(Pivot)(d[k], row + c, piv, &inv)) return PETSC_FALSE;
    for (int t = 0; t < c; t++) T(Swap)(P[t] + c, k);
    d[k] = d[0];
    d[0] = inv;
    for (int r = 1; r <= KLMAX; r++) d[r] = l[r - 1] = d[r] * inv;
    for (int t = c + 1; t <= PetscMin(c + hu, wj + nu - 1); t++) {
      F      *p = P[t] + c;
      const F u = p[k];

      p[k] = p[0];
      p[0] = u;
      for (int r = 1; r <= KLMAX; r++) p[r] -= l[r - 1] * u;
    }
  }
  return PETSC_TRUE;
}

static void T(NarrowLU)(PetscInt n_, PetscInt kl_, PetscInt ku_, void *array, SpikeBandPivot *piv)
{
  const PetscCount n = n_, kl = kl_, hu = kl + ku_, w = T(SUB), ld = SpikePivotedLd(kl_, ku_, w);
  const PetscCount diag = SpikePivotedDiagonal(kl_, ku_, w);
  F               *a    = (F *)array;
  F                P[T(WC)][T(WR)];
  int              swap[T(NBROOM)];

  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  for (PetscCount j = 0; j < n; j += w) {
    const int        wj = (int)PetscMin(w, n - j), nu = (int)PetscMin(hu, n - j - wj);
    const PetscCount m    = PetscMin(kl + wj, n - j);
    F               *base = a + j * ld, *lu = base + w, *U = lu + w * (kl + w);
    PetscBool        good;

    for (int c = 0; c < wj + nu; c++) { /* element (r, c) of the front is in raw column j + c */
      const F *from = base + c * ld + diag - c;

      memset(P[c], 0, sizeof(P[c]));
      for (PetscCount r = PetscMax(0, c - hu); r < PetscMin(m, c + kl + 1); r++) P[c][r] = from[r];
    }
    if (kl <= 2) good = T(NarrowPanel)(2, wj, nu, (int)hu, P, j, piv, swap);
    else if (kl == 3) good = T(NarrowPanel)(3, wj, nu, (int)hu, P, j, piv, swap);
    else good = T(NarrowPanel)(4, wj, nu, (int)hu, P, j, piv, swap);
    if (!good) {
      T(NoExchanges)(a, ld, n, j, w);
      return;
    }
    memcpy(base, swap, (size_t)wj * sizeof(int));
    for (int c = 0; c < wj; c++) T(Copy)(lu + c * (kl + w), P[c], kl + w);
    for (int t = 0; t < nu; t++) {
      F *to = base + (w + t) * ld + diag - (w + t);

      T(Copy)(U + t * w, P[w + t], w);
      T(Copy)(to + w, P[w + t] + w, m - w);
    }
  }
}

static void T(AnyLU)(PetscInt n, PetscInt kl, PetscInt ku, void *array, SpikeBandPivot *piv)
{
  if (kl <= T(NARROW_KL) && kl + ku <= T(NARROW_HU)) T(NarrowLU)(n, kl, ku, array, piv);
  else T(LU)(n, kl, ku, array, piv);
}
