/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cholesky.c: tests of L D L^H on one band block, for every instruction set of this processor and all precisions,
  against the definition; prints TAP
*/
static char
  help[] = "Tests of the host kernels for hermitian positive definite bands (src/kernels/band/host/ops.h).\n\n";

#include "band_block.h"

#define GUARD 64

typedef struct {
  PetscInt n, K;
  size_t   pad, len;
  char    *alloc, *f;
  Wide    *a; /* n x (K + 1): element (i, j), i >= j, at j (K + 1) + i - j */
} Hermitian;

static Wide ConjW(Wide v)
{
#if defined(PETSC_USE_COMPLEX)
  return __builtin_conjl(v);
#else
  return v;
#endif
}

static Wide RealW(Wide v)
{
#if defined(PETSC_USE_COMPLEX)
  return __real__ v;
#else
  return v;
#endif
}

static Wide Element(const Hermitian *h, PetscInt i, PetscInt j)
{
  if (PetscAbsInt(i - j) > h->K) return 0;
  return i >= j ? h->a[(size_t)j * (h->K + 1) + i - j] : ConjW(h->a[(size_t)i * (h->K + 1) + j - i]);
}

static Wide FactorOf(const Ctx *c, const Hermitian *h, PetscInt i, PetscInt j)
{
  return Get(c, h->f, (size_t)j * (h->K + 1) + i - j);
}

/* Guards of ones around pads and factors of zeros, which become the lower triangle; slots after row n - 1 stay zero */
static PetscErrorCode Fill(const Ctx *c, Hermitian *h)
{
  const size_t size = c->ops->size;

  PetscFunctionBegin;
  memset(h->alloc, 0xAB, GUARD);
  memset(h->alloc + GUARD, 0, (h->len + 2 * h->pad) * size);
  memset(h->alloc + GUARD + (h->len + 2 * h->pad) * size, 0xAB, GUARD);
  for (PetscInt j = 0; j < h->n; j++)
    for (PetscInt i = j; i <= PetscMin(h->n - 1, j + h->K); i++)
      Put(c, h->f, (size_t)j * (h->K + 1) + i - j, Element(h, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dominant: in each third row half as much as in others */
static PetscErrorCode Create(const Ctx *c, PetscInt n, PetscInt K, Hermitian *h)
{
  PetscFunctionBegin;
  h->n   = n;
  h->K   = K;
  h->pad = (size_t)SPIKE_BAND_PAD(K, 0);
  h->len = (size_t)n * (K + 1);
  PetscCall(PetscMalloc((h->len + 2 * h->pad) * c->ops->size + 2 * GUARD, &h->alloc));
  h->f = h->alloc + GUARD + h->pad * c->ops->size;
  PetscCall(PetscCalloc1(h->len + 1, &h->a));
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = j; i <= PetscMin(n - 1, j + K); i++)
      h->a[(size_t)j * (K + 1) + i - j] = Rounded(c, i == j ? (Wide)(j % 3 ? 4 * K + 1 : 2 * K + 1) : RandomWide());
  PetscCall(Fill(c, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Hermitian *h)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(h->alloc));
  PetscCall(PetscFree(h->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LDL(const Ctx *c, Hermitian *h, double tol, SpikeBandPivot *piv)
{
  char *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc(c->ops->lu_worksize(h->K, 0) + 64, &work));
  memset(work, 0xFF, c->ops->lu_worksize(h->K, 0) + 64); /* NaN */
  piv->tol   = (PetscReal)tol;
  piv->boost = 1; /* which is not looked at */
  piv->work  = work + ((64 - ((size_t)work & 63)) & 63);
  c->ops->lu(h->n, h->K, 0, h->f, piv);
  PetscCall(PetscFree(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Intact(const Ctx *c, const Hermitian *h)
{
  const char *end = h->alloc + GUARD + (h->len + 2 * h->pad) * c->ops->size;

  for (PetscInt i = 0; i < GUARD; i++)
    if (h->alloc[i] != (char)0xAB || end[i] != (char)0xAB) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* max |L D L^H - A| / (gamma |L| D |L^H|) */
static double Reconstruction(const Ctx *c, const Hermitian *h)
{
  double worst = 0;

  for (PetscInt j = 0; j < h->n; j++) {
    for (PetscInt i = j; i <= PetscMin(h->n - 1, j + h->K); i++) {
      Wide   s  = -Element(h, i, j);
      double as = Abs(s), r;

      for (PetscInt k = PetscMax(0, i - h->K); k <= j; k++) {
        const Wide li = k == i ? 1 : FactorOf(c, h, i, k), lj = k == j ? 1 : FactorOf(c, h, j, k),
                   t = li * ConjW(lj) / FactorOf(c, h, k, k);

        s += t;
        as += Abs(t);
      }
      /* numbers of fp16 that are not normal have an absolute rounding, and meet pivots of up to 4 K + 1 */
      r = Abs(s) / (4 * PetscMax(c->epsF, c->epsS) * Terms(c, h->K) * as + 4 * c->tiny * (4.0 * h->K + 1));
      if (!(r <= worst)) worst = r;
    }
    if (RealW(FactorOf(c, h, j, j)) != FactorOf(c, h, j, j)) worst = 1e10; /* D is real */
  }
  return worst;
}

/* x <- A^-1 b or A^-T b, the backward sweep in the ranges from cut on and before it */
static void Solve(const Ctx *c, const Hermitian *h, PetscBool trans, PetscInt cut, PetscInt nrhs, const PetscScalar *b,
                  PetscScalar *x, PetscCount ld)
{
  const SpikeBandFactors f = SpikeBandWhole(h->n, h->K, 0, h->f);

  if (trans) {
    c->ops->upper_t(f, nrhs, b, ld, x, ld);
    c->ops->lower_t(f, cut, h->n, nrhs, x, ld);
    c->ops->lower_t(f, 0, cut, nrhs, x, ld);
  } else {
    c->ops->lower(f, 0, h->n, nrhs, b, ld, x, ld);
    c->ops->upper(f, cut, h->n, nrhs, x, ld);
    c->ops->upper(f, 0, cut, nrhs, x, ld);
  }
}

/* max |L D L^H x - b|, or with conj(L D L^H), over its bound */
static double SolveError(const Ctx *c, const Hermitian *h, PetscBool trans, const PetscScalar *b, const PetscScalar *x)
{
  double worst = 0;

  for (PetscInt i = 0; i < h->n; i++) {
    Wide   s  = -(Wide)b[i];
    double as = Abs(s), r;

    for (PetscInt j = PetscMax(0, i - h->K); j <= PetscMin(h->n - 1, i + h->K); j++) {
      const Wide a = trans ? Element(h, j, i) : Element(h, i, j);

      s += a * x[j];
      as += Abs(a * x[j]);
    }
    r = Abs(s) / (8 * PetscMax(c->epsF, c->epsS) * Terms(c, 2 * h->K) * (as + DBL_MIN));
    if (!(r <= worst)) worst = r;
  }
  return worst;
}

static const PetscInt bands[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 23, 31, 33, 47, 48, 50, 65, 127, 130};

static PetscErrorCode TestShapes(const Ctx *c)
{
  const PetscInt nrhs[] = {1, 2, 5, 9};
  PetscInt       ncases = 0, nbad[3] = {0, 0, 0};
  double         worst[2] = {0, 0};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    const PetscInt K = bands[k], sizes[] = {0, 1, 2, K, K + 1, K + 2, 2 * K + 3, 61, 3 * K + 40};

    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
      const PetscInt   n  = sizes[s];
      const PetscCount ld = n + 3;
      Hermitian        h;
      SpikeBandPivot   piv;
      PetscScalar     *b, *x, *y;
      double           r;

      PetscCall(Create(c, n, K, &h));
      PetscCall(LDL(c, &h, 0, &piv));
      r = piv.badrow >= 0 || piv.nboost ? 1e10 : Reconstruction(c, &h);
      ncases++;
      if (!(r <= worst[0])) worst[0] = r;
      if (!(r <= 1) || !Intact(c, &h)) nbad[0]++;
      PetscCall(PetscMalloc3(9 * ld, &b, 9 * ld, &x, 9 * ld, &y));
      for (PetscCount i = 0; i < 9 * ld; i++) b[i] = (PetscScalar)RandomWide();
      for (PetscInt trans = 0; trans < 2; trans++) {
        for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(nrhs); m++) {
          Solve(c, &h, (PetscBool)trans, m ? n / 3 : 0, nrhs[m], b, x, ld);
          for (PetscInt q = 0; q < nrhs[m]; q++) {
            r = SolveError(c, &h, (PetscBool)trans, b + q * ld, x + q * ld);
            if (!(r <= worst[1])) worst[1] = r;
            if (!(r <= 1)) nbad[1]++;
            /* the same bits alone, in place, and in one range */
            for (PetscInt i = 0; i < n; i++) y[i] = b[q * ld + i];
            Solve(c, &h, (PetscBool)trans, 0, 1, y, y, ld);
            if (memcmp(y, x + q * ld, (size_t)n * sizeof(*y))) nbad[2]++;
          }
        }
      }
      if (!Intact(c, &h)) nbad[1]++;
      PetscCall(PetscFree3(b, x, y));
      PetscCall(Destroy(&h));
    }
  }
  Report(c, "L D L^H = A", ncases, nbad[0], worst[0]);
  Report(c, "solves", ncases, nbad[1], worst[1]);
  Report(c, "columns and ranges have the same bits", ncases, nbad[2], -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A negative, zero, small or infinite pivot stops the factorization, at its row and with its value */
static PetscErrorCode TestPivots(const Ctx *c)
{
  const double values[] = {-3, 0, 1e-6, (double)INFINITY};
  PetscInt     ncases = 0, nbad = 0;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    const PetscInt n = 2 * bands[k] + 41, rows[] = {0, 1, n / 2, n - 2, n - 1};

    for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(rows); r++) {
      for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(values); v++) {
        Hermitian      h;
        SpikeBandPivot piv;
        PetscBool      good;

        PetscCall(Create(c, n, bands[k], &h));
        /* nothing is eliminated into it */
        for (PetscInt j = PetscMax(0, rows[r] - bands[k]); j < rows[r]; j++)
          h.a[(size_t)j * (bands[k] + 1) + rows[r] - j] = 0;
        h.a[(size_t)rows[r] * (bands[k] + 1)] = (Wide)values[v];
        PetscCall(Fill(c, &h));
        PetscCall(LDL(c, &h, 1e-3, &piv));
        good = (PetscBool)(piv.badrow == rows[r] && !piv.nboost && Intact(c, &h));
        if (v < 3) good = (PetscBool)(good && Abs((Wide)piv.badvalue - (Wide)values[v]) <= 1e-7);
        else good = (PetscBool)(good && piv.badvalue > DBL_MAX);
        ncases++;
        if (!good) nbad++;
        PetscCall(Destroy(&h));
      }
    }
  }
  Report(c, "pivots that are not positive", ncases, nbad, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20240607;
  for (PetscInt i = SPIKE_ISA_BASE; i <= SPIKE_ISA_V4; i++) {
    if (!SpikeISASet((SpikeISA)i)) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "ok %d - # SKIP this processor lacks an instruction set\n", ++ntests));
      continue;
    }
    for (PetscInt p = PETSC_SPIKE_PRECISION_DOUBLE; p <= PETSC_SPIKE_PRECISION_FP16; p++) {
      const double eps[] = {DBL_EPSILON, FLT_EPSILON, 0x1p-7, 0x1p-10};
      Ctx          c;

      c.precision = (PetscSpikePrecision)p;
      c.ops       = SpikeBandGetCholeskyOps(c.precision);
      c.epsF      = eps[p];
      c.tiny      = p == PETSC_SPIKE_PRECISION_FP16 ? 0x1p-24 : 0;
      c.epsS      = (double)PETSC_MACHINE_EPSILON;
      PetscCall(TestShapes(&c));
      PetscCall(TestPivots(&c));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "1..%d\n", ntests));
  PetscCall(PetscFinalize());
  return nfailed ? 1 : 0;
}
