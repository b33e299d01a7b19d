/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_half.h: band kernels for factors of 16 bits a real number (template over their format: FROM16, TO16, F16_MAX,
  F16_LEAST). They are the definitions, column by column: half the memory of single precision at several times its time.

  Factors stay where the matrix was. Elimination runs in single precision, sweeps in PetscScalar. Entries of L and U are
  rounded before they are used, so that L U differs from A by the rounding of each entry alone and not by that of
  products of factors.
*/
#define H SpikeHalf

/* Single precision, with the real numbers of an array at parts[] */
SPIKE_INLINE void T(Load)(const H *h, PetscCount n, SPIKE_FIELD(float) * f)
{
  const unsigned short *from = (const unsigned short *)h;
  float                *to   = (float *)f;

  for (PetscCount i = 0; i < n * SPIKE_PARTS; i++) to[i] = FROM16(from[i]);
}

SPIKE_INLINE void T(Store)(H *h, PetscCount n, const SPIKE_FIELD(float) * f)
{
  const float    *from = (const float *)f;
  unsigned short *to   = (unsigned short *)h;

  for (PetscCount i = 0; i < n * SPIKE_PARTS; i++) to[i] = TO16(from[i]);
}

/* f <- f rounded; the first of them that is not finite then, or n */
SPIKE_INLINE PetscCount T(Round)(PetscCount n, SPIKE_FIELD(float) * f)
{
  float     *part = (float *)f, largest = 0;
  PetscCount i;

  for (i = 0; i < n * SPIKE_PARTS; i++) part[i] = FROM16(TO16(part[i]));
  for (i = 0; i < n * SPIKE_PARTS; i++) largest += part[i] - part[i]; /* NaN if one is not finite */
  if (largest == 0) return n;
  for (i = 0; part[i] - part[i] == 0;) i++;
  return i / SPIKE_PARTS;
}

SPIKE_INLINE S T(Element)(const H *h)
{
  SPIKE_FIELD(float) f;

  T(Load)(h, 1, &f);
  return (S)f;
}

SPIKE_INLINE float T(Magnitude)(SPIKE_FIELD(float) p)
{
#if defined(PETSC_USE_COMPLEX)
  return __builtin_cabsf(p);
#else
  return __builtin_fabsf(p);
#endif
}

SPIKE_INLINE void T(Eliminate)(PetscCount m, SPIKE_FIELD(float) v, const SPIKE_FIELD(float) *restrict l,
                               SPIKE_FIELD(float) *restrict u)
{
  for (PetscCount i = 0; i < m; i++) u[i] -= l[i] * v;
}

static size_t T(LUWorkSize)(PetscInt kl, PetscInt ku)
{
  return (size_t)(ku + SPIKE_HALF_COLS) * ((size_t)kl + ku + 1) * sizeof(SPIKE_FIELD(float));
}

/* ku + SPIKE_HALF_COLS columns in single precision move down the diagonal; the first ones of them become final */
static void T(LU)(PetscInt n_, PetscInt kl_, PetscInt ku_, void *array, SpikeBandPivot *piv)
{
  typedef SPIKE_FIELD(float) C;
  const PetscCount n = n_, kl = kl_, ku = ku_, ld = kl + ku + 1;
  const float tol = PetscMax((float)piv->tol, (float)F16_LEAST), boost = PetscMax((float)piv->boost, (float)F16_LEAST);
  H          *a   = (H *)array;
  C          *w   = (C *)piv->work;
  PetscCount  end = 0;

  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  for (PetscCount j0 = 0; j0 < n; j0 += SPIKE_HALF_COLS) {
    const PetscCount j1 = PetscMin(n, j0 + SPIKE_HALF_COLS), last = PetscMin(n, j1 + ku);

    for (; end < last; end++) { /* slots outside the matrix are zeros here, whatever they hold */
      C               *col = w + (end - j0) * ld;
      const PetscCount i0 = PetscMax(0, ku - end), i1 = PetscMin(ld, n - end + ku);

      for (PetscCount i = 0; i < ld; i++) col[i] = 0;
      T(Load)(a + end * ld + i0, i1 - i0, col + i0);
    }
    for (PetscCount j = j0; j < j1; j++) {
      const PetscCount m = PetscMin(kl, n - 1 - j), mu = PetscMin(ku, n - 1 - j);
      C               *l = w + (j - j0) * ld + ku, p = *l++;
      float            abs = T(Magnitude)(p);
      PetscCount       over;

      if (!(abs > tol && abs <= (float)F16_MAX)) {
        if (!(piv->boost > 0 && abs <= (float)F16_MAX)) {
          piv->badrow   = (PetscInt)j;
          piv->badvalue = abs;
          return;
        }
        p = abs > 0 ? p * (boost / abs) : boost;
        piv->nboost++;
      }
      p = 1 / p;
      (void)T(Round)(1, &p);
      l[-1] = p;
      for (PetscCount i = 0; i < m; i++) l[i] *= p;
      over = T(Round)(m, l);
      over = over < m ? over + 1 : m + 1;
      for (PetscCount t = 1; t <= mu; t++) { /* A22 -= L21 U12, a column at a time */
        C *u = w + (j + t - j0) * ld + ku - t;

        if (!T(Round)(1, u)) over = 0;
        T(Eliminate)(m, u[0], l, u + 1);
      }
      if (over <= m) {
        piv->badrow   = (PetscInt)(j + over);
        piv->badvalue = PETSC_INFINITY;
        return;
      }
    }
    for (PetscCount j = j0; j < j1; j++) {
      const PetscCount i0 = PetscMax(0, ku - j), i1 = PetscMin(ld, n - j + ku);

      T(Store)(a + j * ld + i0, i1 - i0, w + (j - j0) * ld + i0);
    }
    memmove(w, w + (j1 - j0) * ld, (size_t)((last - j1) * ld) * sizeof(C));
  }
}

/* x_i -= h_i x_j for the right-hand sides; a column of factors is converted once */
SPIKE_INLINE void T(Axpy)(PetscCount n, const H *h, PetscInt nrhs, const S *xj, S *x, PetscCount ldx)
{
  for (PetscCount i0 = 0; i0 < n; i0 += SPIKE_HALF_ROWS) {
    const PetscCount m = PetscMin(SPIKE_HALF_ROWS, n - i0);
    SPIKE_FIELD(float) f[SPIKE_HALF_ROWS];

    T(Load)(h + i0, m, f);
    for (PetscInt r = 0; r < nrhs; r++) {
      const S v  = xj[r * ldx];
      S      *xr = x + r * ldx + i0;

      for (PetscCount i = 0; i < m; i++) xr[i] -= (S)f[i] * v;
    }
  }
}

/* x_j -= sum h_i x_i, in SPIKE_HALF_SUMS sums that rise by steps of as many rows */
SPIKE_INLINE void T(Dot)(PetscCount n, const H *h, PetscInt nrhs, S *xj, const S *x, PetscCount ldx)
{
  for (PetscInt r = 0; r < nrhs; r++) {
    const S *xr                   = x + r * ldx;
    S        sum[SPIKE_HALF_SUMS] = {0}, all = 0;

    for (PetscCount i0 = 0; i0 < n; i0 += SPIKE_HALF_ROWS) {
      const PetscCount m = PetscMin(SPIKE_HALF_ROWS, n - i0);
      SPIKE_FIELD(float) f[SPIKE_HALF_ROWS];
      PetscCount i = 0;

      T(Load)(h + i0, m, f);
      for (; i + SPIKE_HALF_SUMS <= m; i += SPIKE_HALF_SUMS)
        for (int s = 0; s < SPIKE_HALF_SUMS; s++) sum[s] += (S)f[i + s] * xr[i0 + i + s];
      for (; i < m; i++) all += (S)f[i] * xr[i0 + i];
    }
    for (int s = 0; s < SPIKE_HALF_SUMS; s++) all += sum[s];
    xj[r * ldx] -= all;
  }
}

/* The columns of a block that is part of factors: *col is its first one, rows and half-bandwidths those of f */
#define SPIKE_HALF_SHAPE(f) \
  const PetscCount kl = f.kl, ku = f.ku, ld = kl + ku + 1, n = f.rows; \
  const H         *a = (const H *)f.a + f.first * ld + ku

SPIKE_INLINE void T(Copy)(PetscCount n, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  for (PetscInt r = 0; r < nrhs && b != x; r++) memmove(x + r * ldx, b + r * ldb, (size_t)n * sizeof(S));
}

static void T(Lower)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                     PetscScalar *x, PetscCount ldx)
{
  SPIKE_HALF_SHAPE(f);

  T(Copy)(n, nrhs, b, ldb, x, ldx);
  (void)ku;
  for (PetscCount j = lo; j < hi; j++) T(Axpy)(PetscMin(kl, n - 1 - j), a + j * ld + 1, nrhs, x + j, x + j + 1, ldx);
}

static void T(Upper)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  SPIKE_HALF_SHAPE(f);

  (void)n;
  for (PetscCount j = (PetscCount)hi - 1; j >= lo; j--) {
    const PetscCount m   = PetscMin(ku, j);
    const S          inv = T(Element)(a + j * ld);

    for (PetscInt r = 0; r < nrhs; r++) x[j + r * ldx] *= inv;
    T(Axpy)(m, a + j * ld - m, nrhs, x + j, x + j - m, ldx);
  }
}

static void T(UpperT)(SpikeBandFactors f, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                      PetscCount ldx)
{
  SPIKE_HALF_SHAPE(f);

  T(Copy)(n, nrhs, b, ldb, x, ldx);
  for (PetscCount j = 0; j < n; j++) {
    const PetscCount m   = PetscMin(ku, j);
    const S          inv = T(Element)(a + j * ld);

    T(Dot)(m, a + j * ld - m, nrhs, x + j, x + j - m, ldx);
    for (PetscInt r = 0; r < nrhs; r++) x[j + r * ldx] *= inv;
  }
}

static void T(LowerT)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  SPIKE_HALF_SHAPE(f);

  (void)ku;
  for (PetscCount j = (PetscCount)hi - 1; j >= lo; j--)
    T(Dot)(PetscMin(kl, n - 1 - j), a + j * ld + 1, nrhs, x + j, x + j + 1, ldx);
}

const SpikeBandOps SPIKE_PASTE3(SpikeBandOps_, SPIKE_ISA, PRECISION) = {
  .name        = SPIKE_ISANAME " " SPIKE_STRING(PRECISION),
  .size        = sizeof(H),
  .lu_worksize = T(LUWorkSize),
  .lu          = T(LU),
  .lower       = T(Lower),
  .upper       = T(Upper),
  .upper_t     = T(UpperT),
  .lower_t     = T(LowerT),
};

#include "ops_half_chol.h"
#undef SPIKE_HALF_SHAPE
#undef H
#undef T
#undef PRECISION
#undef FROM16
#undef TO16
#undef F16_MAX
#undef F16_LEAST
