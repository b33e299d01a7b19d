/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pivoted_sweep.h: the four triangular sweeps over factors with row exchanges, panel by panel. Each right-hand side has
  the same operations in the same order alone and with others.
*/

#define SPIKE_PIVOTED_COLS 8 /* right-hand sides at a time */

/* One panel: rows j .. j + w - 1 of x, m rows of L below them, nu columns of U beside them */
typedef struct {
  PetscCount j, m, nu, ldl, ldu;
  int        w, swap[T(NBROOM)];
  const F   *L, *U; /* [L11 with U11 above and inverses of pivots on the diagonal; L21], and U12 */
} T(Panel_);

static void T(GetPanel)(const SpikeBandFactors *f, PetscInt j, T(Panel_) * p)
{
  const PetscCount kl = f->kl, w = T(Panel)(f->kl, f->ku), hu = kl + f->ku;
  const F         *base = (const F *)f->a + (f->first + j) * SpikePivotedLd(f->kl, f->ku, w);

  p->j   = j;
  p->w   = (int)PetscMin(w, f->rows - j);
  p->m   = PetscMin(kl, f->rows - j - p->w);
  p->nu  = PetscMin(hu, f->rows - j - p->w);
  p->L   = base + w;
  p->ldl = kl + w;
  p->U   = p->L + w * (kl + w);
  p->ldu = w;
  memcpy(p->swap, base, (size_t)p->w * sizeof(int));
}

/* Rows lo <= j < hi of a sweep as panels: ranges that follow each other have each panel once */
static void T(Range)(const SpikeBandFactors *f, PetscInt *lo, PetscInt *hi)
{
  const PetscInt w = T(Panel)(f->kl, f->ku);

  if (*lo < f->rows) *lo = *lo / w * w;
  if (*hi < f->rows) *hi = *hi / w * w;
}

/* The rows of a panel of nc columns of x in a buffer with zeros, and back */
SPIKE_INLINE void T(GetRows)(const T(Panel_) * p, PetscInt nc, const S *x, PetscCount ldx, F *B)
{
  if (nc > 1 && nc < SPIKE_PIVOTED_COLS) memset(B, 0, sizeof(F) * T(NBROOM) * SPIKE_PIVOTED_COLS);
  for (PetscInt t = 0; t < nc; t++) T(Copy)(B + t * T(NBROOM), x + t * ldx + p->j, p->w);
}

SPIKE_INLINE void T(PutRows)(const T(Panel_) * p, PetscInt nc, S *x, PetscCount ldx, const F *B)
{
  for (PetscInt t = 0; t < nc; t++) T(Copy)(x + t * ldx + p->j, B + t * T(NBROOM), p->w);
}

static void T(LowerPanel)(const T(Panel_) * p, PetscInt nc, S *x, PetscCount ldx)
{
  F B[T(NBROOM) * SPIKE_PIVOTED_COLS];

  for (PetscInt t = 0; t < nc; t++) {
    S *xt = x + t * ldx + p->j;

    for (int c = 0; c < p->w; c++) {
      const S v = xt[c];

      xt[c]          = xt[p->swap[c]];
      xt[p->swap[c]] = v;
    }
  }
  T(GetRows)(p, nc, x, ldx, B);
  if (nc == 1) T(SolveUnit)(p->w, 1, p->L, p->ldl, B);
  else T(SolveUnit)(p->w, SPIKE_PIVOTED_COLS, p->L, p->ldl, B);
  T(PutRows)(p, nc, x, ldx, B);
  T(Product)(p->m, nc, p->w, 0, p->L + p->w, p->ldl, B, T(NBROOM), x + p->j + p->w, ldx);
}

static void T(Lower)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, const S *b, PetscCount ldb, S *x,
                     PetscCount ldx)
{
  const PetscInt w = T(Panel)(f.kl, f.ku);
  T(Panel_) p;

  if (b != x && f.rows)
    for (PetscInt c = 0; c < nrhs; c++) memcpy(x + c * ldx, b + c * ldb, (size_t)f.rows * sizeof(S));
  T(Range)(&f, &lo, &hi);
  for (PetscInt c = 0; c < nrhs; c += SPIKE_PIVOTED_COLS) {
    for (PetscInt j = lo; j < hi; j += w) {
      T(GetPanel)(&f, j, &p);
      T(LowerPanel)(&p, PetscMin(nrhs - c, SPIKE_PIVOTED_COLS), x + c * ldx, ldx);
    }
  }
}

/* x <- U^-1 x like SolveUnit, from the last rows up, with the inverses of the pivots on the diagonal */
SPIKE_INLINE void T(SolveUpper)(int w, const int nr, const F *U, PetscCount ldu, F *x)
{
  for (int r = (w - 1) / T(W) * T(W); r >= 0; r -= T(W)) {
    VF(t) v[8];

    SpikeUnroll(t, nr) v[t] = VF(load)(x + t * T(NBROOM) + r);
    for (int k = w - 1; k >= r + T(W); k--) {
      const VF(t) u = VF(load)(U + k * ldu + r);

      SpikeUnroll(t, nr) v[t] = VF(fnma)(u, VF(set1)(x[t * T(NBROOM) + k]), v[t]);
    }
    SpikeUnroll(i, T(W)) {
      const int e = T(W) - 1 - i;

      if (r + e < w) {
        const F *col  = U + (r + e) * ldu + r;
        const VF(t) u = VF(select)(VF(maskto)(e), VF(load)(col)), inv = VF(set1)(col[e]);

        SpikeUnroll(t, nr) {
          const VF(t) y = VF(mul)(VF(splat)(v[t], e), inv);

          x[t * T(NBROOM) + r + e] = VF(lane)(y, 0);
          v[t]                     = VF(fnma)(u, y, v[t]);
        }
      }
    }
  }
}

static void T(UpperPanel)(const T(Panel_) * p, PetscInt nc, S *x, PetscCount ldx)
{
  F B[T(NBROOM) * SPIKE_PIVOTED_COLS];

  T(Product)(p->w, nc, p->nu, 0, p->U, p->ldu, x + p->j + p->w, ldx, x + p->j, ldx);
  T(GetRows)(p, nc, x, ldx, B);
  if (nc == 1) T(SolveUpper)(p->w, 1, p->L, p->ldl, B);
  else T(SolveUpper)(p->w, SPIKE_PIVOTED_COLS, p->L, p->ldl, B);
  T(PutRows)(p, nc, x, ldx, B);
}

static void T(Upper)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  const PetscInt w = T(Panel)(f.kl, f.ku);
  T(Panel_) p;

  T(Range)(&f, &lo, &hi);
  for (PetscInt c = 0; c < nrhs; c += SPIKE_PIVOTED_COLS) {
    for (PetscInt j = hi > lo ? (hi - 1) / w * w : -1; j >= lo; j -= w) {
      T(GetPanel)(&f, j, &p);
      T(UpperPanel)(&p, PetscMin(nrhs - c, SPIKE_PIVOTED_COLS), x + c * ldx, ldx);
    }
  }
}

/* x_k -= sum of U_rk y_r for the columns k of U12, W at a time: blocks of W x W are transposed in registers */
static void T(UpperTBeside)(const T(Panel_) * p, const S *y, S *x)
{
  PetscCount k = 0;

  for (; k + T(W) <= p->nu && p->w == p->ldu && p->w % T(W) == 0; k += T(W)) {
    VF(t) v = VF(load)(x + k);

    for (int r = 0; r < p->w; r += T(W)) {
      VF(t) u[T(W)];

      SpikeUnroll(i, T(W)) u[i] = VF(load)(p->U + (k + i) * p->ldu + r);
      VF(transpose)(u);
      SpikeUnroll(i, T(W)) v = VF(fnma)(u[i], VF(set1)(y[r + i]), v);
    }
    VF(store)(x + k, v);
  }
  for (; k < p->nu; k++) {
    S v = x[k];

    for (int r = 0; r < p->w; r++) v = VF(fnma1)(p->U[k * p->ldu + r], y[r], v);
    x[k] = v;
  }
}

static void T(UpperT)(SpikeBandFactors f, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscInt w = T(Panel)(f.kl, f.ku);
  T(Panel_) p;

  if (b != x && f.rows)
    for (PetscInt c = 0; c < nrhs; c++) memcpy(x + c * ldx, b + c * ldb, (size_t)f.rows * sizeof(S));
  for (PetscInt j = 0; j < f.rows; j += w) {
    T(GetPanel)(&f, j, &p);
    for (PetscInt t = 0; t < nrhs; t++) {
      S *y = x + t * ldx + j;

      for (int c = 0; c < p.w; c++) {
        const F *u = p.L + c * p.ldl;

        for (int r = 0; r < c; r++) y[c] = VF(fnma1)(u[r], y[r], y[c]);
        y[c] = VF(mul1)(u[c], y[c]);
      }
      T(UpperTBeside)(&p, y, y + p.w);
    }
  }
}

/* y_c -= sum of L_rc x_r for the columns c of L21 */
static void T(LowerTBelow)(const T(Panel_) * p, const S *x, S *y)
{
  for (int c = 0; c < p->w; c++) {
    const F *l   = p->L + p->w + c * p->ldl;
    VF(t) sum    = VF(zero)();
    PetscCount r = 0;
    S          v = y[c];

    for (; r + T(W) <= p->m; r += T(W)) sum = VF(fnma)(VF(load)(l + r), VF(load)(x + r), sum);
    v += VF(sum)(sum);
    for (; r < p->m; r++) v = VF(fnma1)(l[r], x[r], v);
    y[c] = v;
  }
}

static void T(LowerT)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  const PetscInt w = T(Panel)(f.kl, f.ku);
  T(Panel_) p;

  T(Range)(&f, &lo, &hi);
  for (PetscInt j = hi > lo ? (hi - 1) / w * w : -1; j >= lo; j -= w) {
    T(GetPanel)(&f, j, &p);
    for (PetscInt t = 0; t < nrhs; t++) {
      S *y = x + t * ldx + j;

      T(LowerTBelow)(&p, y + p.w, y);
      for (int c = p.w - 1; c >= 0; c--) {
        const F *l = p.L + c * p.ldl;

        for (int r = c + 1; r < p.w; r++) y[c] = VF(fnma1)(l[r], y[r], y[c]);
      }
      for (int c = p.w - 1; c >= 0; c--) {
        const S v = y[c];

        y[c]         = y[p.swap[c]];
        y[p.swap[c]] = v;
      }
    }
  }
}
