/* SPDX-License-Identifier: BSD-2-Clause */
/* ops_lu_narrow.h: LU of narrow bands column by column (template over the type of the factors) */

SPIKE_INLINE FREAL T(Real)(F p)
{
#if defined(PETSC_USE_COMPLEX)
  return __real__ p;
#else
  return p;
#endif
}

/*
  The same of a hermitian positive definite matrix: *inv <- 1 / Re p, and a pivot that is not above the tolerance is
  bad, reported with its sign. None is boosted: below a small positive pivot all others would become negative.
*/
SPIKE_INLINE PetscBool T(PivotPositive)(F p, PetscCount row, SpikeBandPivot *piv, F *inv)
{
  const FREAL tol = PetscMax((FREAL)piv->tol, FREAL_MIN), d = T(Real)(p);

  if (PetscUnlikely(!(d > tol && d <= FREAL_MAX))) {
    piv->badrow   = (PetscInt)row;
    piv->badvalue = (PetscReal)d;
    return PETSC_FALSE;
  }
  *inv = 1 / d;
  return PETSC_TRUE;
}

/*
  Rows and columns lo .. hi - 1 of a right-looking elimination by rank-one updates: l_i = a_ij / p_j, a_ik -= l_i u_jk.
  Moves each column once from memory; the chain of one column to the next is a division, a product and an update.
*/
static PetscBool T(LURankOne)(PetscCount n, PetscCount kl, PetscCount ku, F *a, PetscCount lo, PetscCount hi,
                              SpikeBandPivot *piv)
{
  const PetscCount ld = kl + ku + 1;

  for (PetscCount j = lo; j < hi; j++) {
    const PetscCount nl = PetscMin(kl, n - 1 - j), nu = PetscMin(ku, n - 1 - j);
    F               *d = a + j * ld + ku, inv;

    if (!T(Pivot)(d[0], j, piv, &inv)) return PETSC_FALSE;
    d[0] = inv;
    for (PetscCount i = 1; i <= nl; i++) d[i] = VF(mul1)(d[i], inv);
    for (PetscCount k = 1; k <= nu; k++) {
      F      *c = d + k * (ld - 1);
      const F u = c[0];

      for (PetscCount i = 1; i <= nl; i++) c[i] = VF(fnma1)(d[i], u, c[i]);
    }
  }
  return PETSC_TRUE;
}

/*
  LU with kl = ku = k known to the compiler. w is the corner of the Schur complement that the next pivots touch, (k + 1)
  x (k + 1), kept in registers: every entry is loaded and stored once. From one pivot to the next there are a division,
  a product and an update (20 cycles); the product w_10 w_01 could be formed before the division, but overflows where
  the factors do not. Stops k + 1 rows before the end, with the corner stored, and returns the next row; -1 at a bad
  pivot.
*/
SPIKE_INLINE PetscCount T(LUFront)(PetscCount n, const int k, F *a, SpikeBandPivot *piv)
{
  const PetscCount ld = 2 * (PetscCount)k + 1;
  F                w[SPIKE_WINDOW + 1][SPIKE_WINDOW + 1];
  PetscCount       j = 0;

  if (n <= k + 1) return 0;
  SPIKE_UNROLL
  for (int r = 0; r <= k; r++) {
    SPIKE_UNROLL
    for (int c = 0; c <= k; c++) w[r][c] = a[c * (ld - 1) + k + r];
  }
  for (; j < n - k - 1; j++) {
    F *d = a + j * ld + k, l[SPIKE_WINDOW + 1], u[SPIKE_WINDOW + 1];

    if (PetscUnlikely(!T(Pivot)(w[0][0], j, piv, &d[0]))) return -1;
    SPIKE_UNROLL
    for (int r = 1; r <= k; r++) {
      d[r] = l[r]     = VF(mul1)(w[r][0], d[0]);
      d[r * (ld - 1)] = u[r] = w[0][r];
    }
    SPIKE_UNROLL
    for (int r = 1; r <= k; r++) {
      SPIKE_UNROLL
      for (int c = 1; c <= k; c++) w[r - 1][c - 1] = VF(fnma1)(l[r], u[c], w[r][c]);
    }
    SpikeUnroll(r, k) { /* row and column j + k + 1 enter */
      w[r][k] = d[(k + 1) * ld - (k - r)];
      w[k][r] = d[(r + 1) * ld + (k - r)];
    }
    w[k][k] = d[(k + 1) * ld];
  }
  SPIKE_UNROLL
  for (int r = 0; r <= k; r++) {
    SPIKE_UNROLL
    for (int c = 0; c <= k; c++) a[(j + c) * ld + k + r - c] = w[r][c];
  }
  return j;
}

#if !defined(PETSC_USE_COMPLEX)
enum {
  T(TRI) = 8
};

/*
  Tridiagonal LU. The recurrence of the pivots, p_(i+1) = d_(i+1) - c_i / p_i with c_i = l_i u_i, has a division and an
  update on its chain (17 cycles). With p_i = q_i / q_(i-1) it is the linear recurrence of the leading minors, q_(i+1) =
  d_(i+1) q_i - c_i q_(i-1): one fused multiply-add on the chain, and the divisions 1 / p_i = q_(i-1) / q_i are
  independent. Each computed q is exact for d and c perturbed by two roundings, so that the pivots have the backward
  error of the usual recurrence. TRI rows at a time start from q = 1, in double precision for both types; where a q
  leaves the safe range or a pivot may be bad, these rows go the usual way.
*/
static void T(LUTridiagonal)(PetscCount n, F *a, SpikeBandPivot *piv)
{
  const double tol = 1.0000001 * (double)PetscMax((FREAL)piv->tol, FREAL_MIN);
  double       r   = 0; /* l u / p of the row before */
  PetscCount   j   = 0;

  for (; j + T(TRI) < n; j += T(TRI)) {
    double q[T(TRI) + 1], inv[T(TRI)];
    F     *d  = a + 3 * j + 1;
    int    ok = 1;

    q[0] = 1;
    q[1] = (double)d[0] - r;
    SPIKE_UNROLL
    for (int i = 1; i < T(TRI); i++)
      q[i + 1] = vd_fnma1(-(double)d[3 * i], q[i], -((double)d[3 * i - 2] * (double)d[3 * i - 1] * q[i - 1]));
    for (int i = 0; i < T(TRI); i++) inv[i] = q[i] / q[i + 1];
    for (int i = 0; i < T(TRI); i++) {
      const double m = q[i + 1] < 0 ? -q[i + 1] : q[i + 1], m1 = q[i] < 0 ? -q[i] : q[i];

      ok &= (m > tol * m1) & (m <= (double)FREAL_MAX * m1) & (m > 1e-280) & (m < 1e280);
    }
    if (PetscLikely(ok)) {
      r = (double)d[3 * T(TRI) - 2] * (q[T(TRI) - 1] / q[T(TRI)]) * (double)d[3 * T(TRI) - 1];
      SpikeUnroll(i, T(TRI)) {
        d[3 * i] = (F)inv[i];
        d[3 * i + 1] *= (F)inv[i];
      }
    } else {
      d[0] = (F)q[1];
      if (!T(LURankOne)(n, 1, 1, a, j, j + T(TRI), piv)) return;
      r = 0;
    }
  }
  if (j < n) a[3 * j + 1] = (F)((double)a[3 * j + 1] - r);
  (void)T(LURankOne)(n, 1, 1, a, j, n, piv);
}
#endif

#define SPIKE_LU_WINDOW(k) \
  case k: \
    j = T(LUFront)(n, k, a, piv); \
    break
/* whether a narrow band was factored here */
static PetscBool T(LUNarrow)(PetscCount n, PetscCount kl, PetscCount ku, F *a, SpikeBandPivot *piv)
{
  PetscCount j = 0;

  if (kl > SPIKE_NARROW || ku > SPIKE_NARROW) return PETSC_FALSE;
  if (kl == ku) {
    switch (kl) {
#if !defined(PETSC_USE_COMPLEX)
    case 1:
      T(LUTridiagonal)(n, a, piv);
      return PETSC_TRUE;
#endif
      SPIKE_LU_WINDOW(2);
      SPIKE_LU_WINDOW(3);
      SPIKE_LU_WINDOW(4);
      SPIKE_LU_WINDOW(5);
      SPIKE_LU_WINDOW(6);
      SPIKE_LU_WINDOW(7);
      SPIKE_LU_WINDOW(8);
    default:
      break;
    }
  }
  if (j >= 0) (void)T(LURankOne)(n, kl, ku, a, j, n, piv);
  return PETSC_TRUE;
}
#undef SPIKE_LU_WINDOW
