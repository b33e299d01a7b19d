/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_sweep_panel.h: sweeps down the columns of L and up the columns of U for half-bandwidths above SPIKE_NARROW
  (template over the type of the factors), for R right-hand sides at once.

  SPIKE_COLS columns at a time: h <- their unknowns, by substitution, then

      x_i <- x_i - sum_c a_ic h_c      over the rows i that the columns reach

  with the rows in vectors, MV of them by R right-hand sides in registers. Each x_i takes its columns one by one, in the
  order of the sweep, each with one multiply-add: its bits do not depend on how columns are grouped, and ranges give the
  same bits. Moves the triangle once for each R right-hand sides; the part of x stays in cache.
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

SPIKE_INLINE S T(ConjIf)(const PetscBool conj, S a)
{
  return conj ? SpikeConj(a) : a;
}

SPIKE_INLINE VS(t) T(LoadConj)(const PetscBool conj, const F *p)
{
#if defined(PETSC_USE_COMPLEX)
  return T(ConjIf)(conj, T(LoadS)(p));
#else
  (void)conj;
  return T(LoadS)(p);
#endif
}

/* Columns lo <= j < hi of one factor at a constant stride: element (i, j) is d[(j - lo) * (cs + 1) + i - j] */
typedef struct {
  PetscCount lo, hi, cs;
  const F   *d;
} T(Run);

/* Those with column j of L, or of U; lo and hi lie in the part f. The diagonal of L in a chunk is in the mind only. */
static T(Run) T(RunOf)(const SpikeBandFactors *f, PetscBool upper, PetscCount j)
{
  const PetscCount kl = f->kl, ku = f->ku, ld = kl + ku + 1, ch = SpikeBandChunk(f->kl, f->ku, sizeof(F)),
                   whole = f->n & -ch;
  const F *a             = (const F *)f->a;
  T(Run) run;

  j += f->first;
  if (j < whole) {
    const PetscCount j0 = j & -ch;

    run.lo = PetscMax(j0, f->first);
    run.hi = j0 + ch;
    run.cs = upper ? ku : kl - 1;
    run.d  = a + j0 * ld + (upper ? ku : ch * (ku + 1) - 1) + (run.lo - j0) * (run.cs + 1);
  } else {
    run.lo = PetscMax(whole, f->first);
    run.hi = f->n;
    run.cs = ld - 1;
    run.d  = a + run.lo * ld + ku;
  }
  run.lo -= f->first;
  run.hi = PetscMin(run.hi - f->first, f->rows);
  return run;
}

SPIKE_INLINE const F *T(RunColumn)(const T(Run) * run, PetscCount j)
{
  return run->d + (j - run->lo) * (run->cs + 1);
}

/*
  While a block is at work, as many bytes of a later one are asked for, in the order of memory: of the next block, or,
  where blocks are short, of the one that many columns after it, up to SPIKE_AHEAD bytes. Runs are long: what is asked
  for beyond the end of one is lost.
*/
SPIKE_INLINE PetscCount T(Skip)(PetscCount k)
{
  return SPIKE_AHEAD / (SPIKE_COLS * k * (PetscCount)sizeof(F)) * SPIKE_COLS;
}

/*
  x <- x - (columns) h for mv vectors of rows; d points to the first row in column 0, ahead to where memory is asked
  for. Without full: one vector, of which the rows xmask exist and column c has those from lo + c on (up) or up to hi +
  c (down).
*/
SPIKE_INLINE void T(Tile)(const int nc, const int R, const int mv, const int down, const PetscBool full, const F *d,
                          PetscCount cs, const F *ahead, const S *h, S *x, PetscCount ldx, int bound, PetscBool inside,
                          VS(m) xmask)
{
  VS(t) acc[4][8];

  SpikeUnroll2(r, R, v, mv)
    acc[v][r] = full || inside ? VS(load)(x + r * ldx + v * VS(W)) : VS(loadm)(x + r * ldx, xmask);
  for (int q = 0; q < nc; q++) {
    const int c = down ? q : nc - 1 - q;
    VS(t) l[4];

    SpikeUnroll(v, mv) {
      l[v] = T(LoadS)(d + c * cs + v * VS(W));
      if (v * VS(W) * (int)sizeof(F) % 64 == 0)
        __builtin_prefetch(down ? ahead + (q * mv + v) * VS(W) : ahead - (q * mv + v) * VS(W));
    }
    if (full) {
      SpikeUnroll(r, R) {
        const VS(t) hr = VS(set1)(h[c * R + r]);

        SpikeUnroll(v, mv) acc[v][r] = VS(fnma)(l[v], hr, acc[v][r]);
      }
    } else {
      const VS(m) m = down ? VS(maskto)(bound + c) : VS(maskfrom)(bound + c);

      SpikeUnroll(r, R) acc[0][r] = VS(fnmam)(m, l[0], VS(set1)(h[c * R + r]), acc[0][r]);
    }
  }
  SpikeUnroll2(r, R, v, mv) {
    if (full || inside) VS(store)(x + r * ldx + v * VS(W), acc[v][r]);
    else VS(storem)(x + r * ldx, acc[0][r], xmask);
  }
}

/* h and x <- the unknowns of nc columns, by substitution with the triangle at d, for R right-hand sides in scalars */
SPIKE_INLINE void T(Head)(const int nc, const int R, const int down, PetscCount cs, const F *d, S *x, PetscCount ldx,
                          S *h)
{
  SpikeUnroll2(c, nc, r, R) h[c * R + r] = x[r * ldx + c];
  SpikeUnroll(q, nc) {
    const int c = down ? q : nc - 1 - q;

    if (!down) {
      SpikeUnroll(r, R) h[c * R + r] = VS(mul1)(h[c * R + r], (S)d[c * cs + c]);
    }
    SpikeUnroll(e, nc) {
      if (down ? e <= c : e >= c) continue;
      SpikeUnroll(r, R) h[e * R + r] = VS(fnma1)((S)d[c * cs + e], h[c * R + r], h[e * R + r]);
    }
  }
  SpikeUnroll2(c, nc, r, R) x[r * ldx + c] = h[c * R + r];
}

/* the same with the right-hand sides in lanes: SPIKE_COLS and R are multiples of W */
SPIKE_INLINE void T(HeadLanes)(const int R, const int down, PetscCount cs, const F *d, S *x, PetscCount ldx, S *h)
{
  VS(t) v[VS(W) > SPIKE_COLS ? VS(W) : SPIKE_COLS];

  SPIKE_UNROLL
  for (int r = 0; r < R; r += VS(W)) {
    SPIKE_UNROLL
    for (int c = 0; c < SPIKE_COLS; c += VS(W)) {
      SpikeUnroll(i, VS(W)) v[c + i] = VS(load)(x + (r + i) * ldx + c);
      VS(transpose)(v + c);
    }
    SpikeUnroll(q, SPIKE_COLS) {
      const int c = down ? q : SPIKE_COLS - 1 - q;

      if (!down) v[c] = VS(mul)(v[c], VS(set1)((S)d[c * cs + c]));
      SpikeUnroll(e, SPIKE_COLS)
        if (down ? e > c : e < c) v[e] = VS(fnma)(VS(set1)((S)d[c * cs + e]), v[c], v[e]);
    }
    SpikeUnroll(c, SPIKE_COLS) VS(store)(h + c * R + r, v[c]);
    SPIKE_UNROLL
    for (int c = 0; c < SPIKE_COLS; c += VS(W)) {
      VS(transpose)(v + c);
      SpikeUnroll(i, VS(W)) VS(store)(x + (r + i) * ldx + c, v[c + i]);
    }
  }
}

/* nc columns of L from j on; d is element (j, j), x is at row j */
SPIKE_INLINE void T(LowerColumns)(const int nc, const int R, PetscCount rows, PetscCount kl, PetscCount cs, const F *d,
                                  const F *ahead, S *x, PetscCount ldx)
{
  const PetscCount last = PetscMin(kl + nc, rows), whole = PetscMin(kl + 1, rows); /* row numbers count from j */
  const int        mv = SPIKE_ACC / R > 4 ? 4 : SPIKE_ACC / R;
  PetscCount       s  = nc;
  S                h[SPIKE_COLS * 8];

  if (nc == SPIKE_COLS && nc % VS(W) == 0 && R % VS(W) == 0) T(HeadLanes)(R, 1, cs, d, x, ldx, h);
  else T(Head)(nc, R, 1, cs, d, x, ldx, h);
  for (; s + mv * VS(W) <= whole; s += mv * VS(W), ahead += nc * mv * VS(W))
    T(Tile)(nc, R, mv, 1, PETSC_TRUE, d + s, cs, ahead, h, x + s, ldx, 0, PETSC_TRUE, VS(maskto)(VS(W)));
  for (; s < last; s += VS(W), ahead += nc * VS(W)) T(Tile)
  (nc, R, 1, 1, PETSC_FALSE, d + s, cs, ahead, h, x + s, ldx, (int)PetscMin(kl + 1 - s, VS(W)),
   (PetscBool)(s + VS(W) <= rows), VS(maskto)((int)PetscMin(rows - s, VS(W))));
}

/* nc columns of U from j on, of which rows first = -j .. -1 are above; d is element (j, j), x is at row j */
SPIKE_INLINE void T(UpperColumns)(const int nc, const int R, PetscCount first, PetscCount ku, PetscCount cs, const F *d,
                                  const F *ahead, S *x, PetscCount ldx)
{
  const PetscCount last = PetscMax(-ku, first), whole = PetscMax(nc - 1 - ku, first);
  const int        mv = SPIKE_ACC / R > 4 ? 4 : SPIKE_ACC / R;
  PetscCount       s  = 0;
  S                h[SPIKE_COLS * 8];

  if (nc == SPIKE_COLS && nc % VS(W) == 0 && R % VS(W) == 0) T(HeadLanes)(R, 0, cs, d, x, ldx, h);
  else T(Head)(nc, R, 0, cs, d, x, ldx, h);
  for (; s - mv * VS(W) >= whole; s -= mv * VS(W), ahead -= nc * mv * VS(W)) T(Tile)
  (nc, R, mv, 0, PETSC_TRUE, d + s - mv * VS(W), cs, ahead, h, x + s - mv * VS(W), ldx, 0, PETSC_TRUE,
   VS(maskto)(VS(W)));
  for (s -= VS(W); s + VS(W) > last; s -= VS(W), ahead -= nc * VS(W)) T(Tile)
  (nc, R, 1, 0, PETSC_FALSE, d + s, cs, ahead, h, x + s, ldx, (int)PetscMax(-ku - s, -SPIKE_COLS),
   (PetscBool)(s >= first), VS(maskfrom)((int)PetscMax(first - s, 0)));
}

/* one column, one right-hand side: the ends of matrices, runs and ranges */
static void T(LowerColumn)(PetscCount rows, PetscCount kl, PetscCount cs, const F *d, S *x)
{
  T(LowerColumns)(1, 1, rows, kl, cs, d, d, x, 0);
}

static void T(UpperColumn)(PetscCount first, PetscCount ku, PetscCount cs, const F *d, S *x)
{
  T(UpperColumns)(1, 1, first, ku, cs, d, d, x, 0);
}

SPIKE_INLINE void T(BlockLower)(const int R, const SpikeBandFactors *f, PetscCount lo, PetscCount hi, const S *b,
                                PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscCount n = f->rows, kl = f->kl;
  PetscCount       j = lo, copied = 0;
  T(Run) run = T(RunOf)(f, PETSC_FALSE, lo);

  while (j < hi) {
    /* rows in whole vectors, as they are read */
    const PetscCount need = b == x ? 0 : PetscMin(n, (j + kl) / SPIKE_COLS * SPIKE_COLS + 2 * SPIKE_COLS);
    const F         *d    = T(RunColumn)(&run, j);
    const PetscCount cs = run.cs, nc = PetscMin(run.hi, hi) - j >= SPIKE_COLS ? SPIKE_COLS : 1;

    for (; copied + SPIKE_COLS <= need; copied += SPIKE_COLS) {
      SpikeUnroll(r, R) {
        S t[SPIKE_COLS];

        SpikeUnroll(i, SPIKE_COLS) t[i] = b[r * ldb + copied + i];
        SpikeUnroll(i, SPIKE_COLS) x[r * ldx + copied + i] = t[i];
      }
    }
    for (; copied < need; copied++)
      for (int r = 0; r < R; r++) x[r * ldx + copied] = b[r * ldb + copied];
    if (j + nc == run.hi) run = T(RunOf)(f, PETSC_FALSE, run.hi);
    if (nc > 1) T(LowerColumns)(SPIKE_COLS, R, n - j, kl, cs, d, T(RunColumn)(&run, j + nc + T(Skip)(kl)), x + j, ldx);
    else
      for (int r = 0; r < R; r++) T(LowerColumn)(n - j, kl, cs, d, x + r * ldx + j);
    j += nc;
  }
}

SPIKE_INLINE void T(BlockUpper)(const int R, const SpikeBandFactors *f, PetscCount lo, PetscCount hi, S *x,
                                PetscCount ldx)
{
  const PetscCount ku = f->ku;
  T(Run) run          = T(RunOf)(f, PETSC_TRUE, PetscMax(hi - 1, 0));

  while (hi > lo) {
    const PetscCount nc = hi - PetscMax(lo, run.lo) >= SPIKE_COLS ? SPIKE_COLS : 1, j = hi - nc, cs = run.cs;
    const F         *d = T(RunColumn)(&run, j);

    if (j == run.lo && j > 0) run = T(RunOf)(f, PETSC_TRUE, j - 1);
    if (nc > 1) T(UpperColumns)(SPIKE_COLS, R, -j, ku, cs, d, T(RunColumn)(&run, j - T(Skip)(ku)) - ku - 1, x + j, ldx);
    else
      for (int r = 0; r < R; r++) T(UpperColumn)(-j, ku, cs, d, x + r * ldx + j);
    hi = j;
  }
}
