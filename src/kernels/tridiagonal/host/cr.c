/* SPDX-License-Identifier: BSD-2-Clause */
/* cr.c: the host's CR, PCR and CRPCR: the algebra that devices have, in the order of the rows, for comparison */
#include "host.h"

/*
  Level t of a piece has m_t rows, m_0 = m, m_(t+1) = m_t / 2: row k of it is row (k + 1) 2^t - 1 of the piece. Its
  arrays a, c, r lie after those of the level before; r_k = 1 / u_k of the rows that are eliminated, k even. The last
  level, of at most `switchpoint` rows, is left to PCR, and has its diagonal in r. All levels together have less than 2
  m rows.
*/
typedef struct {
  PetscScalar *a, *c, *r;
} SpikeTriLevel;

static SpikeTriLevel SpikeTriLevels_Private(const SpikeTriHost *h, PetscInt lo)
{
  const SpikeTriLevel level = {h->factors + 2 * (PetscCount)lo, h->factors + 2 * ((PetscCount)h->n + lo),
                               h->factors + 2 * (2 * (PetscCount)h->n + lo)};

  return level;
}

static SpikeTriLevel SpikeTriNext_Private(SpikeTriLevel level, PetscInt m)
{
  const SpikeTriLevel next = {level.a + m, level.c + m, level.r + m};

  return next;
}

/*
  d, a, c of m rows in work[0 .. 3 m), x or NULL; a_0 and c_(m-1) are not used. For s = 1, 2, 4, ...: from row i take f
  = a_i / d_(i-s) times row i - s and g = c_i / d_(i+s) times row i + s; then x_i / d_i. row, stride: of the rows in the
  system, for the report.
*/
static void SpikeTriPCR_Private(PetscInt m, PetscScalar *work, PetscScalar *x, PetscInt row, PetscInt stride,
                                SpikeTriPivot *pv)
{
  PetscScalar *d = work, *a = work + m, *c = work + 2 * m, *dn = work + 3 * m, *an = work + 4 * m, *cn = work + 5 * m,
              *xn = work + 6 * m;

  for (PetscInt s = 1; s < m; s *= 2) {
    for (PetscInt i = 0; i < m; i++) d[i] = SpikeTriDivisor(pv, d[i], row + i * stride);
    for (PetscInt i = 0; i < m; i++) {
      dn[i] = d[i];
      an[i] = cn[i] = 0.0;
      if (x) xn[i] = x[i];
      if (i >= s) {
        const PetscScalar f = a[i] / d[i - s];

        dn[i] -= f * c[i - s];
        if (i - s >= s) an[i] = -f * a[i - s];
        if (x) xn[i] -= f * x[i - s];
      }
      if (m - i > s) {
        const PetscScalar g = c[i] / d[i + s];

        dn[i] -= g * a[i + s];
        if (m - i - s > s) cn[i] = -g * c[i + s];
        if (x) xn[i] -= g * x[i + s];
      }
    }
    for (PetscInt i = 0; i < m && x; i++) x[i] = xn[i];
    { /* what was made becomes what is */
      PetscScalar *const da = d, *const aa = a, *const ca = c;

      d = dn, a = an, c = cn, dn = da, an = aa, cn = ca;
    }
  }
  for (PetscInt i = 0; i < m; i++) {
    const PetscScalar u = SpikeTriDivisor(pv, d[i], row + i * stride);

    if (x) x[i] /= u;
  }
}

static void SpikeTriFactorCR_Private(SpikeTriHost *h, PetscInt lo, PetscInt hi, const PetscScalar *dl,
                                     const PetscScalar *d, const PetscScalar *du, SpikeTriPivot *pv)
{
  SpikeTriLevel f = SpikeTriLevels_Private(h, lo);
  PetscInt      m = hi - lo, stride = 1;

  for (PetscInt i = 0; i < m; i++) {
    f.a[i] = i ? dl[lo + i] : 0.0;
    f.c[i] = i + 1 < m ? du[lo + i] : 0.0;
    f.r[i] = d[lo + i];
  }
  while (m > h->switchpoint) { /* all diagonals are in r; those of rows that are eliminated become their inverses */
    const SpikeTriLevel g = SpikeTriNext_Private(f, m);

    for (PetscInt i = 0; i < m; i += 2)
      f.r[i] = (PetscScalar)1.0 / SpikeTriDivisor(pv, f.r[i], lo + (i + 1) * stride - 1);
    for (PetscInt i = 1; i < m; i += 2) {
      const PetscScalar up = f.a[i] * f.r[i - 1], down = i + 1 < m ? f.c[i] * f.r[i + 1] : 0.0;
      const PetscInt    k = i / 2;

      g.r[k] = f.r[i] - up * f.c[i - 1];
      g.a[k] = i > 1 ? -up * f.a[i - 1] : 0.0;
      g.c[k] = 0.0;
      if (i + 1 < m) {
        g.r[k] -= down * f.a[i + 1];
        if (i + 2 < m) g.c[k] = -down * f.c[i + 1];
      }
    }
    f = g;
    m /= 2;
    stride *= 2;
  }
  for (PetscInt i = 0; i < m; i++) {
    h->work[i]         = f.r[i];
    h->work[m + i]     = f.a[i];
    h->work[2 * m + i] = f.c[i];
  }
  SpikeTriPCR_Private(m, h->work, NULL, lo + stride - 1, stride, pv);
}

/* The transposed system has the same divisors, a and c change places: a'_i = c_(i-1), c'_i = a_(i+1) */
static void SpikeTriSolveCR_Private(SpikeTriHost *h, PetscBool trans, PetscInt lo, PetscInt hi, PetscScalar *x)
{
  SpikeTriLevel f  = SpikeTriLevels_Private(h, lo);
  SpikeTriPivot pv = h->policy;
  PetscInt      m = hi - lo, levels = 0, rows[64];
  PetscScalar  *y = h->work; /* m_0 + m_1 + ... values; x itself at level 0 */

  x += lo;
  for (PetscScalar *g = x; m > h->switchpoint; m /= 2, levels++) {
    rows[levels] = m;
    for (PetscInt i = 1; i < m; i += 2) {
      y[i / 2] = g[i] - (trans ? f.c[i - 1] : f.a[i]) * f.r[i - 1] * g[i - 1];
      if (i + 1 < m) y[i / 2] -= (trans ? f.a[i + 1] : f.c[i]) * f.r[i + 1] * g[i + 1];
    }
    f = SpikeTriNext_Private(f, m);
    g = y;
    y += m / 2;
  }
  {
    PetscScalar *g = levels ? y - m : x, *w = y;

    for (PetscInt i = 0; i < m; i++) {
      w[i]         = f.r[i];
      w[m + i]     = i ? (trans ? f.c[i - 1] : f.a[i]) : 0.0;
      w[2 * m + i] = i + 1 < m ? (trans ? f.a[i + 1] : f.c[i]) : 0.0;
    }
    SpikeTriPCR_Private(m, w, g, 0, 1, &pv);
    y = g;
  }
  while (levels-- > 0) {
    PetscScalar *g;

    m = rows[levels];
    f.a -= m;
    f.c -= m;
    f.r -= m;
    g = levels ? y - m : x;
    for (PetscInt i = 1; i < m; i += 2) g[i] = y[i / 2];
    for (PetscInt i = 0; i < m; i += 2) {
      PetscScalar z = g[i];

      if (i) z -= (trans ? f.c[i - 1] : f.a[i]) * g[i - 1];
      if (i + 1 < m) z -= (trans ? f.a[i + 1] : f.c[i]) * g[i + 1];
      g[i] = f.r[i] * z;
    }
    y = g;
  }
}

const SpikeTriAlgorithm SpikeTriCR_Host = {
  .factor = SpikeTriFactorCR_Private,
  .solve  = SpikeTriSolveCR_Private,
  .words  = 6,
  .work   = 8,
};
