/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_chol.h: A = L D L^H of a hermitian positive definite band block (template over the type of the factors), kl
  subdiagonals and ku = 0 superdiagonals stored: the lower triangle of A becomes L, the diagonal the inverse of D.

  Column block j .. j + w - 1, as in ops_lu.h with U = D L^H, of which only the buffers ever hold a part:

       w
    [ A11      ] w       A11 = L11 U11                  CholDiagonal
    [ A21  A22 ] kl      L21 = A21 U11^-1               LUColumns
                         A22 -= L21 (D1 L21^H)          tiles below the diagonal LUUpdate, those on it CholUpdate

  n kl^2 flops, half of those of LU, and half of its bytes.
*/

static size_t T(CholWorkSize)(PetscInt kl, PetscInt ku)
{
  const size_t chunks = ((size_t)kl + T(MR) - 1) / T(MR);

  (void)ku;
  return (2 * T(NBROOM) * T(NBROOM) + T(NBROOM) * T(NR) + chunks * T(MR) * T(NBROOM)) * sizeof(F);
}

/* Columns lo .. hi - 1 of narrow bands by rank-one updates, as LURankOne */
static PetscBool T(CholRankOne)(PetscCount n, PetscCount kl, F *a, PetscCount lo, PetscCount hi, SpikeBandPivot *piv)
{
  const PetscCount ld = kl + 1;

  for (PetscCount j = lo; j < hi; j++) {
    const PetscCount nl = PetscMin(kl, n - 1 - j);
    F               *d  = a + j * ld, inv, u[SPIKE_NARROW + 1];

    if (!T(PivotPositive)(d[0], j, piv, &inv)) return PETSC_FALSE;
    d[0] = inv;
    for (PetscCount i = 1; i <= nl; i++) {
      u[i] = SpikeConj(d[i]);
      d[i] = VF(mul1)(d[i], inv);
    }
    for (PetscCount c = 1; c <= nl; c++)
      for (PetscCount i = c; i <= nl; i++) d[c * ld + i - c] = VF(fnma1)(d[i], u[c], d[c * ld + i - c]);
  }
  return PETSC_TRUE;
}

/* The lower triangle of the front of LUFront, with k known to the compiler; the next row, -1 at a bad pivot */
SPIKE_INLINE PetscCount T(CholWindow)(PetscCount n, const int k, F *a, SpikeBandPivot *piv)
{
  const PetscCount ld = (PetscCount)k + 1;
  F                w[SPIKE_WINDOW + 1][SPIKE_WINDOW + 1];
  PetscCount       j = 0;

  if (n <= k + 1) return 0;
  SPIKE_UNROLL
  for (int c = 0; c <= k; c++) {
    SPIKE_UNROLL
    for (int r = c; r <= k; r++) w[r][c] = a[c * ld + r - c];
  }
  for (; j < n - k - 1; j++) {
    F *d = a + j * ld, l[SPIKE_WINDOW + 1], u[SPIKE_WINDOW + 1];

    if (PetscUnlikely(!T(PivotPositive)(w[0][0], j, piv, &d[0]))) return -1;
    SPIKE_UNROLL
    for (int r = 1; r <= k; r++) {
      u[r] = SpikeConj(w[r][0]);
      d[r] = l[r] = VF(mul1)(w[r][0], d[0]);
    }
    SPIKE_UNROLL
    for (int c = 1; c <= k; c++) {
      SPIKE_UNROLL
      for (int r = c; r <= k; r++) w[r - 1][c - 1] = VF(fnma1)(l[r], u[c], w[r][c]);
    }
    SPIKE_UNROLL
    for (int c = 0; c <= k; c++) w[k][c] = d[(c + 1) * ld + k - c]; /* row j + k + 1 enters */
  }
  SPIKE_UNROLL
  for (int c = 0; c <= k; c++) {
    SPIKE_UNROLL
    for (int r = c; r <= k; r++) a[(j + c) * ld + r - c] = w[r][c];
  }
  return j;
}

#define SPIKE_CHOL_WINDOW(k) \
  case k: \
    j = T(CholWindow)(n, k, a, piv); \
    break
static PetscBool T(CholNarrow)(PetscCount n, PetscCount kl, F *a, SpikeBandPivot *piv)
{
  PetscCount j = 0;

  if (kl > SPIKE_NARROW) return PETSC_FALSE;
  switch (kl) {
    SPIKE_CHOL_WINDOW(1);
    SPIKE_CHOL_WINDOW(2);
    SPIKE_CHOL_WINDOW(3);
    SPIKE_CHOL_WINDOW(4);
    SPIKE_CHOL_WINDOW(5);
    SPIKE_CHOL_WINDOW(6);
    SPIKE_CHOL_WINDOW(7);
    SPIKE_CHOL_WINDOW(8);
  default:
    break;
  }
  if (j >= 0) (void)T(CholRankOne)(n, kl, a, j, n, piv);
  return PETSC_TRUE;
}
#undef SPIKE_CHOL_WINDOW

/* A11 = L11 D1 L11^H: both triangles of it to the buffer, LU there, and the lower triangle back */
static PetscBool T(CholDiagonal)(const int w, PetscCount kl, F *a, PetscCount row, SpikeBandPivot *piv,
                                 const T(LUWork) * k)
{
  const int hl = (int)PetscMin(kl, T(NBROOM)), whole = (w + T(W) - 1) / T(W) * T(W);
  F *const L = k->L, *const U = k->U;

  for (int c = 0; c < whole; c++)
    for (int r = c; r < whole; r++) {
      const F v = r < w && r - c <= hl ? a[c * kl + r] : 0;

      U[r * T(NBROOM) + c] = SpikeConj(v);
      U[c * T(NBROOM) + r] = v;
    }
  if (!T(LUBuffers)(w, PETSC_TRUE, row, piv, L, U)) return PETSC_FALSE;
  for (int c = 0; c < w; c++) {
    a[c * kl + c] = U[c * T(NBROOM) + c];
    for (int r = c / T(W) * T(W); r < w; r += T(W))
      VF(storep)(a + c * kl + r, VF(load)(L + c * T(NBROOM) + r), VF(mask)(c + 1 - r, PetscMin(w, c + hl + 1) - r));
  }
  return PETSC_TRUE;
}

/* B <- NR columns of D1 L21^H from column s on, from rows of L21 whose first nonzero is in column k0 or after it */
SPIKE_INLINE void T(CholRows)(int k0, int w, PetscCount s, const F *pivots, const F *P, F *B)
{
  const F *rows = P + s / T(MR) * T(MR) * T(NBROOM) + s % T(MR);

  for (int k = k0; k < w; k++)
    SpikeUnroll(t, T(NR)) B[k + t * T(NBROOM)] = VF(mul1)(SpikeConj(rows[k * T(MR) + t]), pivots[k]);
}

/* A tile of A22 that the diagonal crosses: element (r, c) of it is below where r - c >= low */
SPIKE_INLINE void T(CholUpdate)(int k0, int w, PetscCount kl, F *a, PetscCount low, PetscCount mr, PetscCount nr,
                                const F *P, const F *B)
{
  VF(t) c[T(MV)][T(NR)];

  SpikeUnroll2(t, T(NR), v, T(MV))
    c[v][t] = t < nr ? VF(loadp)(a + t * kl + v * T(W), VF(mask)(low + t - v * T(W), mr - v * T(W))) : VF(zero)();
  T(LUKernel)(k0, w, P, B, c);
  SpikeUnroll2(t, T(NR), v, T(MV)) {
    if (t < nr) VF(storep)(a + t * kl + v * T(W), c[v][t], VF(mask)(low + t - v * T(W), mr - v * T(W)));
  }
}

static void T(Chol)(PetscInt n_, PetscInt kl_, PetscInt ku_, void *array, SpikeBandPivot *piv)
{
  const PetscCount n = n_, kl = kl_, ld = kl + 1;
  const int        nb = kl < 48 ? T(NB0) : (kl < 128 ? T(NB1) : T(NB2));
  F               *a  = (F *)array, pivots[T(NBROOM)];
  T(LUWork) k;

  (void)ku_;
  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  if (T(CholNarrow)(n, kl, a, piv)) return;
  k.L = (F *)piv->work;
  k.U = k.L + T(NBROOM) * T(NBROOM);
  k.B = k.U + T(NBROOM) * T(NBROOM);
  k.P = k.B + T(NBROOM) * T(NR);
  k.C = NULL;
  for (PetscCount j = 0; j < n; j += nb) {
    const int        w   = (int)PetscMin(nb, n - j);
    const PetscCount m   = PetscMin(kl, n - j - w);
    F               *a11 = a + j * ld, *a22 = a11 + w * ld;

    if (!T(CholDiagonal)(w, kl, a11, j, piv, &k)) return;
    for (int c = 0; c < w; c++) pivots[c] = 1 / T(Real)(k.U[c * (T(NBROOM) + 1)]);
    for (PetscCount s = 0; s < m; s += T(MR)) T(LUColumns)(w, kl, 0, a11 + w, s, m, k.U, k.P + s * T(NBROOM));
    for (PetscCount t = 0; t < m; t += T(NR)) {
      PetscCount s = t / T(MR) * T(MR);

      T(CholRows)((int)PetscMax(0, w + s - kl), w, t, pivots, k.P, k.B);
      for (; s < PetscMin(m, t + T(NR) - 1); s += T(MR)) T(CholUpdate)
      ((int)PetscMax(0, w + s - kl), w, kl, a22 + s + t * kl, t - s, m - s, m - t, k.P + s * T(NBROOM), k.B);
      for (; s < m; s += T(MR)) T(LUUpdate)
      ((int)PetscMax(0, w + s - kl), w, ld, a22 + s + t * kl, m - s, m - t, k.P + s * T(NBROOM), k.B);
    }
  }
}

/*
  The sweeps, in pairs as those of LU are, with D^-1 in the backward ones:

      lower   x <- L^-1 b             upper     x <- L^-H D^-1 x
      upper_t x <- conj(L)^-1 b       lower_t   x <- L^-T D^-1 x
*/
SPIKE_INLINE void T(CholBackward)(const PetscBool conj, SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs,
                                  S *x, PetscCount ldx)
{
  const PetscCount n = f.rows, ld = (PetscCount)f.kl + 1;
  PetscCount       c = 0;

  if (f.kl <= SPIKE_NARROW) T(NarrowAll)
  (f.kl, PETSC_TRUE, conj, -1, n, 1, ld, T(NarrowFirst)(&f), (PetscCount)hi - 1, hi - lo, nrhs, x, ldx, x, ldx);
  else
  {
    SPIKE_GROUPS(4, T(DotLowerT)(4, PETSC_TRUE, conj, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(2, T(DotLowerT)(2, PETSC_TRUE, conj, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(1, T(DotLowerT)(1, PETSC_TRUE, conj, &f, lo, hi, x + c * ldx, ldx));
  }
}

static void T(CholUpper)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  T(CholBackward)(PETSC_TRUE, f, lo, hi, nrhs, x, ldx);
}

static void T(CholLowerT)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  T(CholBackward)(PETSC_FALSE, f, lo, hi, nrhs, x, ldx);
}

/* conj(L)^-1 b = conj(L^-1 conj(b)) */
static void T(CholUpperT)(SpikeBandFactors f, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
#if defined(PETSC_USE_COMPLEX)
  SpikeConjugate(f.rows, nrhs, b, ldb, x, ldx);
  T(Lower)(f, 0, f.rows, nrhs, x, ldx, x, ldx);
  SpikeConjugate(f.rows, nrhs, x, ldx, x, ldx);
#else
  T(Lower)(f, 0, f.rows, nrhs, b, ldb, x, ldx);
#endif
}
