/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_sweep_dot.h: transposed sweeps for half-bandwidths above SPIKE_NARROW (template over the type of the factors), for
  R right-hand sides at once. Unknown j takes the dot product of column j of the factor with x, whose far part (rows
  outside of its block of SPIKE_COLS columns) is summed in vectors, several columns by R right-hand sides in registers,
  and whose near part is substitution:

      x_j <- b_j - sum_far a_ij x_i - sum_near a_ij x_i

  Blocks begin at multiples of SPIKE_COLS and the vectors at fixed distances from them, whatever the range: ranges give
  the same bits. Moves the triangle once for each R right-hand sides; the part of x stays in cache.
*/

/*
  far[c][r] <- -sum a_ic x_ir for nc columns, over the rows s .. s + length - 1 outside of the block, in steps of W away
  from it. d is the diagonal element of column 0 of the block and x its row. In column c the rows end at reach + c where
  the rows lie below (down) and begin at it where they lie above; rows beyond the matrix end at limit.
*/
SPIKE_INLINE void T(Far)(const int nc, const int R, const int down, const PetscBool conj, const F *d, PetscCount cs,
                         PetscCount reach, PetscCount limit, const S *x, PetscCount ldx, S *far)
{
  VS(t) acc[8][4];
  PetscCount s = down ? SPIKE_COLS : -VS(W);

  SpikeUnroll2(c, nc, r, R) acc[c][r] = VS(zero)();
  for (; down ? s + VS(W) <= PetscMin(reach, limit) : s >= PetscMax(reach + nc - 1, limit);
       s += down ? VS(W) : -VS(W)) {
    VS(t) y[4];

    SpikeUnroll(r, R) y[r] = VS(load)(x + r * ldx + s);
    SpikeUnroll(c, nc) {
      const VS(t) l = T(LoadConj)(conj, d + c * cs + s);

      SpikeUnroll(r, R) acc[c][r] = VS(fnma)(l, y[r], acc[c][r]);
    }
  }
  for (; down ? s < PetscMin(reach + nc - 1, limit) : s + VS(W) > PetscMax(reach, limit); s += down ? VS(W) : -VS(W)) {
    const int in = (int)(down ? PetscMin(limit - s, VS(W)) : PetscMax(limit - s, 0)),
              re = (int)(down ? PetscMin(reach - s, VS(W)) : PetscMax(reach - s, -SPIKE_COLS));
    VS(t) y[4];

    SpikeUnroll(r, R) y[r] = VS(loadm)(x + r * ldx + s, down ? VS(maskto)(in) : VS(maskfrom)(in));
    SpikeUnroll(c, nc) {
      const VS(m) m = down ? VS(maskto)(PetscMin(re + c, in)) : VS(maskfrom)(PetscMax(re + c, in));
      const VS(t) l = T(LoadConj)(conj, d + c * cs + s);

      SpikeUnroll(r, R) acc[c][r] = VS(fnmam)(m, l, y[r], acc[c][r]);
    }
  }
  SpikeUnroll2(c, nc, r, R) far[c * R + r] = VS(sum)(acc[c][r]);
}

/*
  all columns of a block, as many at a time as have room in registers; one by one in the last block, of nc < SPIKE_COLS
  columns, and where they are not at a constant stride, cs < 0: in a part of the factors blocks may straddle chunks
*/
SPIKE_INLINE void T(FarBlock)(const int R, const int down, const PetscBool conj, int nc, const F *const col[],
                              PetscCount cs, PetscCount reach, PetscCount limit, const S *x, PetscCount ldx, S *far)
{
  const int cg = SPIKE_ACC / R > SPIKE_COLS ? SPIKE_COLS : SPIKE_ACC / R;

  if (nc == SPIKE_COLS && cs >= 0) {
    for (int c = 0; c < SPIKE_COLS; c += cg)
      T(Far)(cg, R, down, conj, col[0] + c * cs, cs, reach + c, limit, x, ldx, far + c * R);
  } else {
    for (int c = 0; c < nc; c++) T(Far)(1, R, down, conj, col[c] - c, 0, reach + c, limit, x, ldx, far + c * R);
  }
}

/* col <- the columns j .. j + nc - 1; their stride, or -1 where it is not constant */
SPIKE_INLINE PetscCount T(DotColumns)(const SpikeBandFactors *f, PetscBool upper, T(Run) * run, PetscCount j, int nc,
                                      const F *col[])
{
  PetscCount cs;

  if (j < run->lo || j >= run->hi) *run = T(RunOf)(f, upper, j);
  cs = run->cs;
  for (int c = 0; c < nc; c++) col[c] = T(RunColumn)(run, j + c);
  if (PetscUnlikely(j + nc > run->hi)) {
    T(Run) next = *run;

    for (int c = 0; c < nc; c++) {
      if (j + c >= next.hi) next = T(RunOf)(f, upper, j + c);
      col[c] = T(RunColumn)(&next, j + c);
    }
    cs = -1;
  }
  return cs;
}

/* rows rise: x_j = (b_j - sum_i u_ij x_i) / u_jj, the nearest i last and the product with 1 / u_jj off the chain */
SPIKE_INLINE void T(DotUpperT)(const int R, const SpikeBandFactors *f, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscCount n = f->rows, ku = f->ku;
  T(Run) run = T(RunOf)(f, PETSC_TRUE, 0);
  S far[SPIKE_COLS * 4];

  for (PetscCount j = 0; j < n; j += SPIKE_COLS) {
    const int        nc = (int)PetscMin(n - j, SPIKE_COLS);
    const F         *col[SPIKE_COLS];
    const PetscCount cs = T(DotColumns)(f, PETSC_TRUE, &run, j, nc, col);

    T(FarBlock)(R, 0, PETSC_FALSE, nc, col, cs, -ku, -j, x + j, ldx, far);
    for (int c = 0; c < nc; c++) {
      const F *d   = col[c] - c;
      const S  inv = (S)d[c];

      SpikeUnroll(r, R) {
        S *y = x + r * ldx + j, t = b[r * ldb + j + c] + far[c * R + r];

        for (int e = 0; e < c - 1; e++) t = VS(fnma1)((S)d[e], y[e], t);
        t = VS(mul1)(t, inv);
        if (c > 0) t = VS(fnma1)(VS(mul1)((S)d[c - 1], inv), y[c - 1], t);
        y[c] = t;
      }
    }
  }
}

/*
  rows hi > j >= lo fall: x_j = b_j - sum_i l_ij x_i, the nearest i last; scaled: b_j times what stands before l_ij, the
  inverse of the pivot; conj: with the conjugates of l_ij
*/
SPIKE_INLINE void T(DotLowerT)(const int R, const PetscBool scaled, const PetscBool conj, const SpikeBandFactors *f,
                               PetscCount lo, PetscCount hi, S *x, PetscCount ldx)
{
  const PetscCount n = f->rows, kl = f->kl;
  T(Run) run = T(RunOf)(f, PETSC_FALSE, PetscMax(hi - 1, 0));
  S far[SPIKE_COLS * 4];

  while (hi > lo) {
    const PetscCount j  = (hi - 1) / SPIKE_COLS * SPIKE_COLS;
    const int        nc = (int)PetscMin(n - j, SPIKE_COLS), first = (int)PetscMax(lo - j, 0);
    const F         *col[SPIKE_COLS];
    const PetscCount cs = T(DotColumns)(f, PETSC_FALSE, &run, j, nc, col);

    T(FarBlock)(R, 1, conj, nc, col, cs, kl + 1, n - j, x + j, ldx, far);
    for (int c = (int)(hi - j) - 1; c >= first; c--) {
      const F *d = col[c] - c;

      SpikeUnroll(r, R) {
        S *y = x + r * ldx + j, t = (scaled ? VS(mul1)(y[c], (S)d[c]) : y[c]) + far[c * R + r];

        for (int e = nc - 1; e > c; e--) t = VS(fnma1)(T(ConjIf)(conj, (S)d[e]), y[e], t);
        y[c] = t;
      }
    }
    hi = PetscMax(j, lo);
  }
}
