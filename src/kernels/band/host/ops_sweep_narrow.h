/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_sweep_narrow.h: sweeps with half-bandwidth k <= SPIKE_NARROW (template over the type of the factors and over X:
  one right-hand side, or one in each lane of a vector).

  In all four sweeps row i takes k earlier unknowns, whose coefficients lie at a fixed stride s from its diagonal
  element d:

      lower    x_i = b_i - sum d[m s] x_(i-m)            s = -(ld - 1)      rows rise
      upper    x_i = (b_i - sum d[m s] x_(i+m)) d[0]     s = ld - 1         rows fall
      upper_t  x_i = (b_i - sum d[m s] x_(i-m)) d[0]     s = -1             rows rise
      lower_t  x_i = b_i - sum d[m s] x_(i+m)            s = 1              rows fall       m = k, ..., 1

  and the backward sweep of A = L D L^H, with D^-1 in it, conj: and with the conjugates of d[m s]

      x_i = b_i d[0] - sum d[m s] x_(i+m)                s = 1              rows fall

  The nearest unknown is taken last, so that one multiply-add is on the chain from row to row; with a diagonal it is x_i
  = (b_i - sum_(m > 1) ...) d[0] - (d[s] d[0]) x_(i-+1), again one. The earlier unknowns stay in registers; the band is
  read once. A row's operations do not depend on where a range begins, so that ranges give the same bits.

  Expects X(name), the operations on the unknowns of a row: t, fnma, mul, set1; XROWS rows are read and written at once,
  by XT(Get)(i, b, ldb, nrhs, t) and XT(Put)(i, x, ldx, nrhs, t); XT(name) makes names of functions.
*/

/* m0 <= k earlier unknowns exist, w[m - 1] is x_(i-+m); inv is d[0], or 1 where the diagonal is */
SPIKE_INLINE X(t) XT(Row)(const int k, PetscCount m0, const F *d, PetscCount s, S inv, X(t) t, X(t) w[])
{
  SPIKE_UNROLL
  for (int m = k; m > 1; m--)
    if (m <= m0) t = X(fnma)(X(set1)((S)d[m * s]), w[m - 1], t);
  t = X(mul)(t, X(set1)(inv));
  if (k > 0 && m0 > 0) t = X(fnma)(X(set1)(VS(mul1)((S)d[s], inv)), w[0], t);
  SPIKE_UNROLL
  for (int m = k; m > 1; m--) w[m - 1] = w[m - 2];
  w[0] = t;
  return t;
}

/* the diagonal first, the nearest unknown last: one multiply-add on the chain again */
SPIKE_INLINE X(t) XT(RowScaled)(const int k, PetscCount m0, const F *d, PetscBool conj, X(t) t, X(t) w[])
{
  t = X(mul)(t, X(set1)((S)d[0]));
  SPIKE_UNROLL
  for (int m = k; m > 0; m--)
    if (m <= m0) t = X(fnma)(X(set1)(T(ConjIf)(conj, (S)d[m])), w[m - 1], t);
  SPIKE_UNROLL
  for (int m = k; m > 1; m--) w[m - 1] = w[m - 2];
  w[0] = t;
  return t;
}

/*
  rows from i on, count of them in the direction step = 1 or -1; a points to the diagonal element of row 0; b may be x;
  scaled: by XT(RowScaled)
*/
SPIKE_INLINE void XT(Rows)(const int k, const PetscBool scaled, PetscBool diag, int step, PetscCount n, PetscCount s,
                           PetscCount ld, const F *a, PetscCount i, PetscCount count, int nrhs, const S *b,
                           PetscCount ldb, S *x, PetscCount ldx)
{
  X(t) w[SPIKE_NARROW + 1], t[XROWS];

  SPIKE_UNROLL
  for (int m = 1; m <= k; m++) {
    const PetscCount j = i - step * m;

    if (j >= 0 && j < n) XT(GetRow)(x + j, ldx, nrhs, &w[m - 1]);
    else w[m - 1] = X(set1)(0);
  }
  while (count > 0) {
    const PetscCount m0 = step > 0 ? i : n - 1 - i;

    if (count >= XROWS && m0 >= k) {
      XT(GetRows)(b + i, ldb, nrhs, step, t);
      SpikeUnroll(u, XROWS) {
        const F *d = a + (i + step * u) * ld;

        t[u] = scaled ? XT(RowScaled)(k, k, d, diag, t[u], w) : XT(Row)(k, k, d, s, diag ? (S)d[0] : 1, t[u], w);
      }
      XT(PutRows)(x + i, ldx, nrhs, step, t);
      i += step * XROWS;
      count -= XROWS;
    } else {
      const F *d = a + i * ld;

      XT(GetRow)(b + i, ldb, nrhs, &t[0]);
      t[0] = scaled ? XT(RowScaled)(k, m0, d, diag, t[0], w) : XT(Row)(k, m0, d, s, diag ? (S)d[0] : 1, t[0], w);
      XT(PutRow)(x + i, ldx, nrhs, t[0]);
      i += step;
      count--;
    }
  }
}

#define SPIKE_ROWS(k) \
  case k: \
    if (scaled) XT(Rows)(k, PETSC_TRUE, flag, step, n, s, ld, a, i, count, nrhs, b, ldb, x, ldx); \
    else XT(Rows)(k, PETSC_FALSE, flag, step, n, s, ld, a, i, count, nrhs, b, ldb, x, ldx); \
    break
/* flag: diag, or where scaled conj */
static void XT(Narrow)(PetscCount k, PetscBool scaled, PetscBool flag, int step, PetscCount n, PetscCount s,
                       PetscCount ld, const F *a, PetscCount i, PetscCount count, int nrhs, const S *b, PetscCount ldb,
                       S *x, PetscCount ldx)
{
  switch (k) {
    SPIKE_ROWS(0);
    SPIKE_ROWS(1);
    SPIKE_ROWS(2);
    SPIKE_ROWS(3);
    SPIKE_ROWS(4);
    SPIKE_ROWS(5);
    SPIKE_ROWS(6);
    SPIKE_ROWS(7);
    SPIKE_ROWS(8);
  }
}
#undef SPIKE_ROWS
