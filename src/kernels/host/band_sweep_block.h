/* SPDX-License-Identifier: BSD-2-Clause */
/*
  band_sweep_block.h: sweeps down the columns of L and up the columns of U for half-bandwidths above SPIKE_NARROW (template over the type of the
  factors), for R right-hand sides at once.

  SPIKE_COLS columns at a time: h <- their unknowns, by substitution, then

      x_i <- x_i - sum_c a_ic h_c      over the rows i that the columns reach

  with the rows in vectors, MV of them by R right-hand sides in registers. Each x_i takes its columns one by one, in the order of the
  sweep, each with one multiply-add: its bits do not depend on how columns are grouped, and ranges give the same bits. Moves the triangle once
  for each R right-hand sides; the window of x stays in cache.
*/

/* lanes of vectors of S from factors, anywhere inside the array or its pads */
SPIKE_INLINE VS(t) T(LoadS)(const F *p)
{
#if defined(PETSC_USE_COMPLEX)
  return (S)p[0];
#elif (FREAL_SIZE == 8) == !defined(PETSC_USE_REAL_SINGLE)
  return VS(load)(p);
#else
  typedef F FU __attribute__((vector_size(SPIKE_VBYTES / sizeof(S) * sizeof(F)), aligned(sizeof(F)), may_alias));

  return __builtin_convertvector(*(const FU *)p, VS(t));
#endif
}

/*
  x <- x - (columns) h for mv vectors of rows; d points to the first row in column 0. Without full: one vector, of which the rows xmask exist
  and column c has those from lo + c on (up) or up to hi + c (down).
*/
SPIKE_INLINE void T(Tile)(const int nc, const int R, const int mv, const int down, const PetscBool full, const F *d, PetscCount cs, const S *h, S *x, PetscCount ldx, int bound, PetscBool inside, VS(m) xmask)
{
  VS(t) acc[4][8];

  SPIKE_UNROLL
  for (int r = 0; r < R; r++) {
    SPIKE_UNROLL
    for (int v = 0; v < mv; v++) acc[v][r] = full || inside ? VS(load)(x + r * ldx + v * VS(W)) : VS(loadm)(x + r * ldx, xmask);
  }
  for (int q = 0; q < nc; q++) {
    const int c = down ? q : nc - 1 - q;
    VS(t) l[4];

    SPIKE_UNROLL
    for (int v = 0; v < mv; v++) {
      l[v] = T(LoadS)(d + c * cs + v * VS(W));
      if (full && v * VS(W) * (int)sizeof(F) % 64 == 0) __builtin_prefetch(d + c * cs + v * VS(W) + (down ? SPIKE_COLS : -SPIKE_COLS) * (cs + 1)); /* the next block */
    }
    if (full) {
      SPIKE_UNROLL
      for (int r = 0; r < R; r++) {
        const VS(t) hr = VS(set1)(h[c * R + r]);

        SPIKE_UNROLL
        for (int v = 0; v < mv; v++) acc[v][r] = VS(fnma)(l[v], hr, acc[v][r]);
      }
    } else {
      const VS(m) m = down ? VS(maskto)(bound + c) : VS(maskfrom)(bound + c);

      SPIKE_UNROLL
      for (int r = 0; r < R; r++) acc[0][r] = VS(fnmam)(m, l[0], VS(set1)(h[c * R + r]), acc[0][r]);
    }
  }
  SPIKE_UNROLL
  for (int r = 0; r < R; r++) {
    SPIKE_UNROLL
    for (int v = 0; v < mv; v++) {
      if (full || inside) VS(store)(x + r * ldx + v * VS(W), acc[v][r]);
      else VS(storem)(x + r * ldx, acc[0][r], xmask);
    }
  }
}

/* h and x <- the unknowns of nc columns, by substitution with the triangle at d, for R right-hand sides in scalars */
SPIKE_INLINE void T(Head)(const int nc, const int R, const int down, PetscCount cs, const F *d, S *x, PetscCount ldx, S *h)
{
  SPIKE_UNROLL
  for (int c = 0; c < nc; c++) {
    SPIKE_UNROLL
    for (int r = 0; r < R; r++) h[c * R + r] = x[r * ldx + c];
  }
  SPIKE_UNROLL
  for (int q = 0; q < nc; q++) {
    const int c = down ? q : nc - 1 - q;

    if (!down) {
      SPIKE_UNROLL
      for (int r = 0; r < R; r++) h[c * R + r] = VS(mul1)(h[c * R + r], (S)d[c * cs + c]);
    }
    SPIKE_UNROLL
    for (int e = 0; e < nc; e++) {
      if (down ? e <= c : e >= c) continue;
      SPIKE_UNROLL
      for (int r = 0; r < R; r++) h[e * R + r] = VS(fnma1)((S)d[c * cs + e], h[c * R + r], h[e * R + r]);
    }
  }
  SPIKE_UNROLL
  for (int c = 0; c < nc; c++) {
    SPIKE_UNROLL
    for (int r = 0; r < R; r++) x[r * ldx + c] = h[c * R + r];
  }
}

/* the same with the right-hand sides in lanes: SPIKE_COLS and R are multiples of W */
SPIKE_INLINE void T(HeadLanes)(const int R, const int down, PetscCount cs, const F *d, S *x, PetscCount ldx, S *h)
{
  VS(t) v[VS(W) > SPIKE_COLS ? VS(W) : SPIKE_COLS];

  SPIKE_UNROLL
  for (int r = 0; r < R; r += VS(W)) {
    SPIKE_UNROLL
    for (int c = 0; c < SPIKE_COLS; c += VS(W)) {
      SPIKE_UNROLL
      for (int i = 0; i < VS(W); i++) v[c + i] = VS(load)(x + (r + i) * ldx + c);
      VS(transpose)(v + c);
    }
    SPIKE_UNROLL
    for (int q = 0; q < SPIKE_COLS; q++) {
      const int c = down ? q : SPIKE_COLS - 1 - q;

      if (!down) v[c] = VS(mul)(v[c], VS(set1)((S)d[c * cs + c]));
      SPIKE_UNROLL
      for (int e = 0; e < SPIKE_COLS; e++)
        if (down ? e > c : e < c) v[e] = VS(fnma)(VS(set1)((S)d[c * cs + e]), v[c], v[e]);
    }
    SPIKE_UNROLL
    for (int c = 0; c < SPIKE_COLS; c++) VS(store)(h + c * R + r, v[c]);
    SPIKE_UNROLL
    for (int c = 0; c < SPIKE_COLS; c += VS(W)) {
      VS(transpose)(v + c);
      SPIKE_UNROLL
      for (int i = 0; i < VS(W); i++) VS(store)(x + (r + i) * ldx + c, v[c + i]);
    }
  }
}

/* nc columns of L from j on; d is element (j, j), x is at row j */
SPIKE_INLINE void T(LowerColumns)(const int nc, const int R, PetscCount rows, PetscCount kl, PetscCount ld, const F *d, S *x, PetscCount ldx)
{
  const PetscCount cs = ld - 1, last = PetscMin(kl + nc, rows), whole = PetscMin(kl + 1, rows); /* row numbers count from j */
  const int        mv = SPIKE_ACC / R > 4 ? 4 : SPIKE_ACC / R;
  PetscCount       s  = nc;
  S                h[SPIKE_COLS * 8];

  if (nc == SPIKE_COLS && nc % VS(W) == 0 && R % VS(W) == 0) T(HeadLanes)(R, 1, cs, d, x, ldx, h);
  else T(Head)(nc, R, 1, cs, d, x, ldx, h);
  for (; s + mv * VS(W) <= whole; s += mv * VS(W)) T(Tile)(nc, R, mv, 1, PETSC_TRUE, d + s, cs, h, x + s, ldx, 0, PETSC_TRUE, VS(maskto)(VS(W)));
  for (; s < last; s += VS(W)) T(Tile)(nc, R, 1, 1, PETSC_FALSE, d + s, cs, h, x + s, ldx, (int)PetscMin(kl + 1 - s, VS(W)), (PetscBool)(s + VS(W) <= rows), VS(maskto)((int)PetscMin(rows - s, VS(W))));
}

/* nc columns of U from j on, of which rows first = -j .. -1 are above; d is element (j, j), x is at row j */
SPIKE_INLINE void T(UpperColumns)(const int nc, const int R, PetscCount first, PetscCount ku, PetscCount ld, const F *d, S *x, PetscCount ldx)
{
  const PetscCount cs = ld - 1, last = PetscMax(-ku, first), whole = PetscMax(nc - 1 - ku, first);
  const int        mv = SPIKE_ACC / R > 4 ? 4 : SPIKE_ACC / R;
  PetscCount       s  = 0;
  S                h[SPIKE_COLS * 8];

  if (nc == SPIKE_COLS && nc % VS(W) == 0 && R % VS(W) == 0) T(HeadLanes)(R, 0, cs, d, x, ldx, h);
  else T(Head)(nc, R, 0, cs, d, x, ldx, h);
  for (; s - mv * VS(W) >= whole; s -= mv * VS(W)) T(Tile)(nc, R, mv, 0, PETSC_TRUE, d + s - mv * VS(W), cs, h, x + s - mv * VS(W), ldx, 0, PETSC_TRUE, VS(maskto)(VS(W)));
  for (s -= VS(W); s + VS(W) > last; s -= VS(W)) T(Tile)(nc, R, 1, 0, PETSC_FALSE, d + s, cs, h, x + s, ldx, (int)PetscMax(-ku - s, -SPIKE_COLS), (PetscBool)(s >= first), VS(maskfrom)((int)PetscMax(first - s, 0)));
}

/* one column, one right-hand side: the ends of matrices and ranges */
static void T(LowerColumn)(PetscCount rows, PetscCount kl, PetscCount ld, const F *d, S *x)
{
  T(LowerColumns)(1, 1, rows, kl, ld, d, x, 0);
}

static void T(UpperColumn)(PetscCount first, PetscCount ku, PetscCount ld, const F *d, S *x)
{
  T(UpperColumns)(1, 1, first, ku, ld, d, x, 0);
}

SPIKE_INLINE void T(BlockLower)(const int R, PetscCount n, PetscCount kl, PetscCount ku, const F *a, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscCount ld = kl + ku + 1;
  PetscCount       j = 0, copied = 0;

  while (j < n) {
    const PetscCount need = b == x ? 0 : PetscMin(n, (j + kl) / SPIKE_COLS * SPIKE_COLS + 2 * SPIKE_COLS); /* rows in whole vectors, as they are read */

    for (; copied + SPIKE_COLS <= need; copied += SPIKE_COLS) {
      SPIKE_UNROLL
      for (int r = 0; r < R; r++) {
        S t[SPIKE_COLS];

        SPIKE_UNROLL
        for (int i = 0; i < SPIKE_COLS; i++) t[i] = b[r * ldb + copied + i];
        SPIKE_UNROLL
        for (int i = 0; i < SPIKE_COLS; i++) x[r * ldx + copied + i] = t[i];
      }
    }
    for (; copied < need; copied++)
      for (int r = 0; r < R; r++) x[r * ldx + copied] = b[r * ldb + copied];
    if (n - j >= SPIKE_COLS) {
      T(LowerColumns)(SPIKE_COLS, R, n - j, kl, ld, a + ku + j * ld, x + j, ldx);
      j += SPIKE_COLS;
    } else {
      for (int r = 0; r < R; r++) T(LowerColumn)(n - j, kl, ld, a + ku + j * ld, x + r * ldx + j);
      j++;
    }
  }
}

SPIKE_INLINE void T(BlockUpper)(const int R, PetscCount kl, PetscCount ku, const F *a, PetscCount lo, PetscCount hi, S *x, PetscCount ldx)
{
  const PetscCount ld = kl + ku + 1;
  PetscCount       j  = hi;

  while (j > lo) {
    if (j - lo >= SPIKE_COLS) {
      j -= SPIKE_COLS;
      T(UpperColumns)(SPIKE_COLS, R, -j, ku, ld, a + ku + j * ld, x + j, ldx);
    } else {
      j--;
      for (int r = 0; r < R; r++) T(UpperColumn)(-j, ku, ld, a + ku + j * ld, x + r * ldx + j);
    }
  }
}
