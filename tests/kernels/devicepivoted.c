/* SPDX-License-Identifier: BSD-2-Clause */
/*
  devicepivoted.c: tests of the device's factors with row exchanges against the host's and against residuals, through
  the tables of src/kernels/band/band.h alone; prints TAP
*/
static char help[] = "Bands with row exchanges on the device.\n\
  -share <k,m> : every m-th case from case k on, for memory checkers, which take minutes for all\n\
  -small       few and small shapes only, for memory checkers\n\
  -kernels host : the host's table in place of the device's, which tests this program\n\n";

#include "kernels/band/band.h"
#include "random.h"
#include "share.h"
#include <petscdevice.h>
#include <math.h>

#define MAXP 8
#define EPS  ((double)PETSC_MACHINE_EPSILON)

typedef enum {
  TEST_FACTORS,
  TEST_SOLVE,
  TEST_SOLVE_T,
  TEST_TIPS_OF_G,
  TEST_COLUMNS,
  TEST_TIPS,
  TEST_FULL,
  TEST_CORRECT,
  TEST_CORRECT_T,
  TEST_PIVOTS,
  TEST_REPEAT,
  NTOPICS
} Topic;
static const char *const topics[] = {"factors: no bad pivots, the host's largest |u_ij|",
                                     "sweeps: small backward errors",
                                     "sweeps: small backward errors, transposed",
                                     "sweeps: tips",
                                     "many columns have the bits of each",
                                     "tips of truncated spikes",
                                     "tips of whole spikes",
                                     "corrections",
                                     "corrections, transposed",
                                     "bad pivots: boosted, or the row",
                                     "the same bits again, and nothing left of other values"};

/*
  KIND_SMALL: random, small diagonal. KIND_PAIRS: pairs of rows of a dominant band have changed places; needs both
  triangles
*/
typedef enum {
  KIND_SMALL,
  KIND_PAIRS
} Kind;

typedef struct {
  PetscInt     n, kl, ku, np, start[MAXP + 1];
  PetscBool    active[MAXP + 1];
  Kind         kind;
  PetscScalar *a; /* entry (i, j) at i (kl + ku + 1) + j - i + kl */
} Case;

static PetscInt ntests, nfailed, ncases[NTOPICS], nbad[NTOPICS];
static double   worst[NTOPICS];
/* value: an error in units of its bound; NaN fails */
static void Check(Topic t, double value, const Case *c, const char what[])
{
  ncases[t]++;
  if (!(value <= worst[t])) worst[t] = value;
  if (value <= 1) return;
  if (nbad[t]++ < 5)
    printf("# %s: n %d, kl %d, ku %d, np %d, %s, %s: %g\n", topics[t], (int)c->n, (int)c->kl, (int)c->ku, (int)c->np,
           c->kind == KIND_SMALL ? "small" : "pairs", what, value);
}

static PetscScalar *At(const Case *c, PetscInt i, PetscInt j)
{
  return c->a + i * (c->kl + c->ku + 1) + j - i + c->kl;
}

/* The place that partner rows have exchanged, in the partition of row i */
static PetscInt Partner(const Case *c, PetscInt i)
{
  PetscInt p = 0, k;

  while (c->start[p + 1] <= i) p++;
  k = c->start[p] + ((i - c->start[p]) ^ 1);
  return k < c->start[p + 1] ? k : i;
}

static void Values(Case *c)
{
  const PetscInt K = PetscMax(c->kl, c->ku);

  for (PetscInt i = 0; i < c->n; i++)
    for (PetscInt j = PetscMax(0, i - c->kl); j <= PetscMin(c->n - 1, i + c->ku); j++) {
      const PetscScalar v = Random();

      if (c->kind == KIND_PAIRS)
        *At(c, i, j) = (PetscReal)0.5 / K * v + (Partner(c, i) == j ? (PetscReal)2 : (PetscReal)0);
      else if (i == j) *At(c, i, j) = c->kl && c->ku ? (PetscReal)0.01 * v : 1 + (PetscReal)0.25 * v;
      else *At(c, i, j) = v * (c->kl && c->ku ? 1 : (PetscReal)0.5 / (1 + c->kl + c->ku));
    }
}

static PetscErrorCode CaseCreate(PetscInt kl, PetscInt ku, PetscInt np, const PetscInt sizes[], Kind kind, Case *c)
{
  PetscFunctionBegin;
  c->kl   = kl;
  c->ku   = ku;
  c->np   = np;
  c->kind = kind;
  c->n    = 0;
  for (PetscInt p = 0; p < np; p++) {
    c->start[p]  = c->n;
    c->active[p] = (PetscBool)(p > 0);
    c->n += sizes[p];
  }
  c->start[np]  = c->n;
  c->active[np] = PETSC_FALSE;
  PetscCall(PetscCalloc1((PetscCount)c->n * (kl + ku + 1) + 1, &c->a));
  Values(c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- memory of a backend
  --------------------------------------------------------------------------------------------------
*/
static PetscErrorCode Put(SpikeBand *s, size_t bytes, const void *from, void *to)
{
  PetscFunctionBegin;
  if (bytes) PetscCall((*s->k->copy2d)(s, PETSC_TRUE, PETSC_FALSE, to, bytes, from, bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Get(SpikeBand *s, size_t bytes, const void *from, void *to)
{
  PetscFunctionBegin;
  if (bytes) PetscCall((*s->k->copy2d)(s, PETSC_FALSE, PETSC_TRUE, to, bytes, from, bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode New(SpikeBand *s, size_t bytes, const void *from, void **to)
{
  PetscFunctionBegin;
  PetscCall((*s->k->alloc)(s, bytes + 1, to));
  PetscCall(Put(s, bytes, from, *to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- a band of a case
  ------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode BandCreate(Case *c, const SpikeBandKernels *k, PetscInt maxrhs, PetscBool full, SpikeBand *s)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, 1));
  s->n         = c->n;
  s->kl        = c->kl;
  s->ku        = c->ku;
  s->np        = c->np;
  s->start     = c->start;
  s->active    = c->active;
  s->precision = sizeof(PetscReal) == sizeof(double) ? PETSC_SPIKE_PRECISION_DOUBLE : PETSC_SPIKE_PRECISION_SINGLE;
  s->coupled   = (PetscBool)(c->np > 1);
  s->full      = (PetscBool)(full && s->coupled);
  s->pivoting  = PETSC_TRUE;
  s->maxrhs    = maxrhs;
  s->k         = k;
  PetscCall((*k->create)(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All fills have one pattern; falloff NULL: the factors alone */
static PetscErrorCode BandFactor(const Case *c, SpikeBand *s, SpikePivot *pivot, PetscReal falloff[])
{
  const PetscInt n = c->n, width = c->kl + c->ku + 1;
  PetscInt      *ai, *aj, nz = 0;
  PetscScalar   *aa;
  void          *dai, *daj, *daa;
  SpikeCSR       csr;
  SpikeFillStats st;
  SpikePivot     corner = *pivot;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&csr, 1));
  PetscCall(PetscMalloc3(n + 1, &ai, n * width + 1, &aj, n * width + 1, &aa));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(0, i - c->kl); j <= PetscMin(n - 1, i + c->ku); j++) {
      aj[nz]   = j;
      aa[nz++] = *At(c, i, j);
    }
    ai[i + 1] = nz;
  }
  PetscCall((*s->k->begin)(s));
  PetscCall(New(s, (size_t)(n + 1) * sizeof(*ai), ai, &dai));
  PetscCall(New(s, (size_t)nz * sizeof(*aj), aj, &daj));
  PetscCall(New(s, (size_t)nz * sizeof(*aa), aa, &daa));
  csr.ai = (const PetscInt *)dai;
  csr.aj = (const PetscInt *)daj;
  csr.aa = (const PetscScalar *)daa;
  PetscCall((*s->k->fill)(s, 1, &csr, NULL, &st));
  PetscCall((*s->k->factor)(s, pivot, &corner, falloff));
  if (s->full && !falloff) {
    PetscReal unused[2 * (MAXP + 1)];

    PetscCall((*s->k->spikes)(s, unused));
    if (s->k->finish) PetscCall((*s->k->finish)(s));
  } else if (s->k->finish) PetscCall((*s->k->finish)(s));
  PetscCall((*s->k->release)(s, &dai));
  PetscCall((*s->k->release)(s, &daj));
  PetscCall((*s->k->release)(s, &daa));
  PetscCall((*s->k->end)(s));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest |b - op(D) x| of the partitions in units of 100 EPS (||D|| ||x|| + ||b||) */
static double Backward(const Case *c, PetscBool trans, const PetscScalar *x, const PetscScalar *b)
{
  double most = 0;

  for (PetscInt p = 0; p < c->np; p++) {
    const PetscInt lo = c->start[p], hi = c->start[p + 1], below = trans ? c->ku : c->kl, above = trans ? c->kl : c->ku;
    double         r = 0, norm = 0, xnorm = 0, bnorm = 0;

    for (PetscInt i = lo; i < hi; i++) {
      PetscScalar sum = b[i];
      double      row = 0;

      for (PetscInt j = PetscMax(lo, i - below); j <= PetscMin(hi - 1, i + above); j++) {
        const PetscScalar v = trans ? *At(c, j, i) : *At(c, i, j);

        sum -= v * x[j];
        row += (double)PetscAbsScalar(v);
      }
      norm  = PetscMax(norm, row);
      xnorm = PetscMax(xnorm, (double)PetscAbsScalar(x[i]));
      bnorm = PetscMax(bnorm, (double)PetscAbsScalar(b[i]));
      if (!((double)PetscAbsScalar(sum) <= r)) r = (double)PetscAbsScalar(sum);
    }
    r = hi > lo ? r / (100 * EPS * (norm * xnorm + bnorm)) : 0;
    if (!(r <= most)) most = r;
  }
  return most;
}

static double Difference(PetscCount n, const PetscScalar *x, const PetscScalar *y)
{
  double most = 0;

  for (PetscCount i = 0; i < n; i++) {
    const double d = (double)PetscAbsScalar(x[i] - y[i]);

    if (!(d <= most)) most = d;
  }
  return most;
}

/* g_b and g_t, transposed C^T and B^T times the ends of g, at the active interfaces */
static double TipsOfG(const Case *c, PetscBool trans, const PetscScalar *g, const PetscScalar *tips)
{
  double most = 0;

  for (PetscInt q = 1; q < c->np; q++) {
    const PetscScalar *t    = tips + q * (c->kl + c->ku);
    const PetscInt     r    = c->start[q];
    double             size = 0;

    for (PetscInt i = -PetscMax(c->kl, c->ku); i < PetscMax(c->kl, c->ku); i++)
      size = PetscMax(size, (double)PetscAbsScalar(g[r + i]));
    for (PetscInt i = 0; i < c->kl + c->ku; i++) {
      PetscScalar want = 0;
      double      d;

      if (!trans) want = g[i < c->kl ? r - c->kl + i : r + i - c->kl];
      else if (i < c->kl) { /* column i of C: columns r - kl .. r - 1 of rows r .. r + i */
        for (PetscInt k = 0; k <= i && r + k < c->n; k++) want += *At(c, r + k, r - c->kl + i) * g[r + k];
      } else {
        for (PetscInt k = i - c->kl; k < c->ku; k++) want += *At(c, r - c->ku + k, r + i - c->kl) * g[r - c->ku + k];
      }
      d = (double)PetscAbsScalar(want - t[i]) / (trans ? 1000 * EPS * size : DBL_MIN);
      if (!(d <= most)) most = d;
    }
  }
  return most;
}

static PetscErrorCode TestSweeps(const Case *c, SpikeBand *s, PetscInt nrhs)
{
  const PetscInt   n  = c->n;
  const PetscCount ld = n + 3, ldt = (PetscCount)(c->np + 1) * (c->kl + c->ku);
  PetscScalar     *b, *x, *one, *tips;
  void            *db, *dx, *done;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(ld * nrhs, &b, ld * nrhs, &x, ld, &one, ldt * nrhs + 1, &tips));
  for (PetscCount i = 0; i < ld * nrhs; i++) b[i] = Random();
  PetscCall(New(s, (size_t)(ld * nrhs) * sizeof(*b), b, &db));
  for (PetscInt trans = 0; trans < 2; trans++) {
    for (PetscCount i = 0; i < ld * nrhs; i++) x[i] = (PetscReal)NAN;
    PetscCall(New(s, (size_t)(ld * nrhs) * sizeof(*x), x, &dx));
    PetscCall(New(s, (size_t)ld * sizeof(*x), x, &done));
    PetscCall((*s->k->sweep)(s, (PetscBool)trans, SPIKE_SWEEP_ALL, 0, c->np, nrhs, (const PetscScalar *)db, ld,
                             (PetscScalar *)dx, ld));
    PetscCall(Get(s, (size_t)(ld * nrhs) * sizeof(*x), dx, x));
    if (s->coupled) PetscCall(Get(s, (size_t)(ldt * nrhs) * sizeof(*x), s->dtips, tips));
    for (PetscInt k = 0; k < nrhs; k++) {
      Check(trans ? TEST_SOLVE_T : TEST_SOLVE, Backward(c, (PetscBool)trans, x + k * ld, b + k * ld), c,
            "backward error");
      if (s->coupled)
        Check(TEST_TIPS_OF_G, TipsOfG(c, (PetscBool)trans, x + k * ld, tips + k * ldt), c,
              trans ? "transposed" : "plain");
      for (PetscCount i = n; i < ld; i++)
        Check(TEST_SOLVE, x[k * ld + i] == x[k * ld + i] ? 2 : 0, c, "written outside");
    }
    for (PetscInt k = 0; k < nrhs; k += PetscMax(1, nrhs - 1)) { /* the first and the last one alone, in place too */
      const PetscScalar *bk = (const PetscScalar *)db + k * ld;

      for (PetscInt inplace = 0; inplace < 2; inplace++) {
        if (inplace) PetscCall(Put(s, (size_t)n * sizeof(*b), b + k * ld, done));
        PetscCall((*s->k->sweep)(s, (PetscBool)trans, SPIKE_SWEEP_ALL, 0, c->np, 1,
                                 inplace ? (const PetscScalar *)done : bk, ld, (PetscScalar *)done, ld));
        PetscCall(Get(s, (size_t)ld * sizeof(*x), done, one));
        Check(TEST_COLUMNS, n && memcmp(one, x + k * ld, (size_t)n * sizeof(*x)) ? 2 : 0, c,
              inplace ? "in place" : "alone");
      }
    }
    PetscCall((*s->k->release)(s, &dx));
    PetscCall((*s->k->release)(s, &done));
  }
  PetscCall((*s->k->release)(s, &db));
  PetscCall(PetscFree4(b, x, one, tips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of rows x cols at the inner interfaces, in units of 1000 EPS of the largest of them on either side, or of 1 */
static PetscErrorCode CompareTips(const Case *c, Topic t, SpikeBand *s, const PetscScalar *d, SpikeBand *host,
                                  const PetscScalar *h, PetscInt rows, PetscInt cols, const char what[])
{
  const PetscCount size = (PetscCount)rows * cols;
  PetscScalar     *x, *y;

  PetscFunctionBegin;
  if (c->np < 2 || !size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(size, &x, size, &y));
  for (PetscInt q = 1; q < c->np; q++) {
    PetscCall(Get(s, (size_t)size * sizeof(*x), d + q * size, x));
    PetscCall(Get(host, (size_t)size * sizeof(*y), h + q * size, y));
    Check(t, Difference(size, x, y) / (1000 * EPS), c, what);
  }
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x - D^-1 [...] by both, from the same tips; the spikes of pairs are of size 1 */
static PetscErrorCode TestCorrections(const Case *c, SpikeBand *s, SpikeBand *host, PetscInt nrhs)
{
  const PetscCount ld = c->n + 1, ldt = (PetscCount)(c->np + 1) * (c->kl + c->ku);
  PetscScalar     *x, *y, *z, *tips;
  void            *dx;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(ld * nrhs, &x, ld * nrhs, &y, ld * nrhs, &z, ldt * nrhs, &tips));
  for (PetscInt trans = 0; trans < 2; trans++) {
    const Topic topic = trans ? TEST_CORRECT_T : TEST_CORRECT;

    for (PetscCount i = 0; i < ld * nrhs; i++) x[i] = y[i] = Random();
    for (PetscCount i = 0; i < ldt * nrhs; i++) tips[i] = Random();
    PetscCall(Put(host, (size_t)(ldt * nrhs) * sizeof(*tips), tips, host->dtips));
    PetscCall((*host->k->correct)(host, (PetscBool)trans, 0, c->np, nrhs, y, ld));
    PetscCall(Put(s, (size_t)(ldt * nrhs) * sizeof(*tips), tips, s->dtips));
    PetscCall(New(s, (size_t)(ld * nrhs) * sizeof(*x), x, &dx));
    PetscCall((*s->k->correct)(s, (PetscBool)trans, 0, c->np, nrhs, (PetscScalar *)dx, ld));
    PetscCall(Get(s, (size_t)(ld * nrhs) * sizeof(*x), dx, z));
    for (PetscInt k = 0; k < nrhs; k++)
      Check(topic, Difference(c->n, z + k * ld, y + k * ld) / (1000 * EPS * PetscMax(c->kl, c->ku)), c, "difference");
    PetscCall(Put(s, (size_t)ld * sizeof(*x), x, dx)); /* the first one alone */
    PetscCall((*s->k->correct)(s, (PetscBool)trans, 0, c->np, 1, (PetscScalar *)dx, ld));
    PetscCall(Get(s, (size_t)ld * sizeof(*x), dx, x));
    Check(TEST_COLUMNS, memcmp(x, z, (size_t)c->n * sizeof(*x)) ? 2 : 0, c, "corrections");
    PetscCall((*s->k->release)(s, &dx));
  }
  PetscCall(PetscFree4(x, y, z, tips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep of the same right-hand side, to compare bits of setups */
static PetscErrorCode Solution(const Case *c, SpikeBand *s, PetscScalar *x)
{
  void *d;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->n; i++) x[i] = 1 + (PetscReal)0.001 * (i % 1000);
  PetscCall(New(s, (size_t)c->n * sizeof(*x), x, &d));
  PetscCall(
    (*s->k->sweep)(s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, c->np, 1, (const PetscScalar *)d, c->n, (PetscScalar *)d, c->n));
  PetscCall(Get(s, (size_t)c->n * sizeof(*x), d, x));
  PetscCall((*s->k->release)(s, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const SpikeBandKernels *kernels, PetscInt kl, PetscInt ku, PetscInt np,
                               const PetscInt sizes[], Kind kind, PetscBool full)
{
  const SpikePivot none  = {0, 0, -5, -5, 0, PETSC_FALSE};
  SpikePivot       pivot = none, hpivot = none;
  SpikeBand        s, host;
  PetscReal        falloff[2 * (MAXP + 1)], *rate = full || np < 2 ? NULL : falloff, u, hu;
  PetscScalar     *x, *y, *keep;
  Case             c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(kl, ku, np, sizes, kind, &c));
  PetscCall(BandCreate(&c, kernels, 11, full, &s));
  PetscCall(BandCreate(&c, &SpikeBandKernels_Host, 11, full, &host));
  PetscCall(BandFactor(&c, &s, &pivot, rate));
  PetscCall(BandFactor(&c, &host, &hpivot, rate));
  Check(TEST_FACTORS, pivot.badrow == -1 && !pivot.nboost && hpivot.badrow == -1 ? 0 : 2, &c, "bad pivots");
  PetscCall((*s.k->growth)(&s, &u));
  PetscCall((*host.k->growth)(&host, &hu));
  /* the last pivot is known as well as the band is conditioned: of pairs to rounding */
  Check(TEST_FACTORS, fabs((double)(u - hu)) / (hu * (kind == KIND_PAIRS ? 1000 * EPS : 0.01)), &c, "largest |u_ij|");
  PetscCall(TestSweeps(&c, &s, 1));
  PetscCall(TestSweeps(&c, &s, 11));
  PetscCall(TestSweeps(&c, &s, 3));
  if (np > 1 && kind == KIND_PAIRS) {
    PetscCall(CompareTips(&c, full ? TEST_FULL : TEST_TIPS, &s, s.dWt, &host, host.dWt, ku, kl, "Wt"));
    PetscCall(CompareTips(&c, full ? TEST_FULL : TEST_TIPS, &s, s.dVb, &host, host.dVb, kl, ku, "Vb"));
    if (full && np > 2) {
      PetscCall(CompareTips(&c, TEST_FULL, &s, s.dWb, &host, host.dWb, kl, kl, "Wb"));
      PetscCall(CompareTips(&c, TEST_FULL, &s, s.dVt, &host, host.dVt, ku, ku, "Vt"));
    }
    if (!full) {
      PetscCall(TestCorrections(&c, &s, &host, 1));
      PetscCall(TestCorrections(&c, &s, &host, 11));
    }
  }
  /* other values, and the first ones again */
  PetscCall(PetscMalloc3(c.n + 1, &x, c.n + 1, &y, c.n * (kl + ku + 1) + 1, &keep));
  PetscCall(Solution(&c, &s, x));
  PetscCall(PetscArraycpy(keep, c.a, c.n * (kl + ku + 1)));
  Values(&c);
  pivot = none;
  PetscCall(BandFactor(&c, &s, &pivot, rate));
  PetscCall(TestSweeps(&c, &s, 2));
  PetscCall(PetscArraycpy(c.a, keep, c.n * (kl + ku + 1)));
  PetscCall(BandFactor(&c, &s, &pivot, rate));
  PetscCall(Solution(&c, &s, y));
  Check(TEST_REPEAT, c.n && memcmp(x, y, (size_t)c.n * sizeof(*x)) ? 2 : 0, &c, "a solution");
  PetscCall(PetscFree3(x, y, keep));
  PetscCall((*s.k->destroy)(&s));
  PetscCall((*host.k->destroy)(&host));
  PetscCall(PetscFree(c.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column of zeros in each of the partitions; then a value that is not a number */
static PetscErrorCode TestBad(const SpikeBandKernels *kernels, PetscInt kl, PetscInt ku, PetscInt np,
                              const PetscInt sizes[])
{
  SpikeBand s;
  Case      c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(kl, ku, np, sizes, KIND_SMALL, &c));
  PetscCall(BandCreate(&c, kernels, 1, PETSC_FALSE, &s));
  for (PetscInt p = np - 1; p >= 0; p--) {
    const PetscInt bad = c.start[p] + (c.start[p + 1] - c.start[p]) / 2;

    for (PetscInt i = PetscMax(0, bad - ku); i <= PetscMin(c.n - 1, bad + kl); i++) *At(&c, i, bad) = 0;
    for (PetscInt boost = 0; boost < 2; boost++) {
      SpikePivot pivot = {0, boost ? (PetscReal)0.125 : 0, -5, -5, -1, PETSC_FALSE};

      PetscCall(BandFactor(&c, &s, &pivot, NULL));
      if (boost) Check(TEST_PIVOTS, pivot.badrow == -1 && pivot.nboost == np - p ? 0 : 2, &c, "boosted");
      else Check(TEST_PIVOTS, pivot.badrow == bad && pivot.badvalue == 0 ? 0 : 2, &c, "row");
    }
  }
  Values(&c);
  if (kl && c.n > 3) {
    SpikePivot   pivot = {0, (PetscReal)0.125, -5, -5, 0, PETSC_FALSE}; /* boosts what is zero, not that */
    PetscScalar *x;

    *At(&c, c.n / 2 - c.n / 2 % 2, c.n / 2 - c.n / 2 % 2) = (PetscReal)NAN;
    PetscCall(BandFactor(&c, &s, &pivot, NULL));
    Check(TEST_PIVOTS, pivot.badrow >= 0 ? 0 : 2, &c, "NaN");
    PetscCall(PetscMalloc1(c.n, &x)); /* a sweep over what is left goes to no other memory */
    PetscCall(Solution(&c, &s, x));
    PetscCall(PetscFree(x));
  }
  Values(&c);
  {
    SpikePivot pivot = {0, 0, -5, -5, 0, PETSC_FALSE};

    PetscCall(BandFactor(&c, &s, &pivot, NULL));
    Check(TEST_PIVOTS, pivot.badrow == -1 && pivot.nboost == 0 ? 0 : 2, &c, "afterwards");
    PetscCall(TestSweeps(&c, &s, 1));
  }
  PetscCall((*s.k->destroy)(&s));
  PetscCall(PetscFree(c.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* half-bandwidths, and whether they belong to the small shapes: each number of columns of a panel is there */
  const PetscInt          bands[][3] = {{1, 1, 1},    {2, 3, 1},    {0, 3, 1},   {3, 0, 1},    {4, 4, 0},   {7, 5, 0},
                                        {16, 15, 1},  {17, 24, 0},  {32, 32, 0}, {33, 40, 1},  {47, 50, 0}, {50, 50, 1},
                                        {100, 70, 0}, {128, 65, 1}, {140, 3, 0}, {200, 200, 0}};
  const SpikeBandKernels *kernels;
  PetscBool               small    = PETSC_FALSE, same;
  char                    name[16] = "cuda";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20261126;
  PetscCall(ShareGet());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kernels", name, sizeof(name), NULL));
  PetscCall(PetscStrcmp(name, "host", &same));
  if (!same) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  kernels = SpikeBandKernelsFind(same ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_CUDA);
  PetscCheck(kernels, PETSC_COMM_SELF, PETSC_ERR_SUP, "This library was built without CUDA");
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    const PetscInt  kl = bands[b][0], ku = bands[b][1], K = PetscMax(kl, ku), step = kl < 48 ? 8 : kl < 128 ? 16 : 32;
    const PetscInt  one[][1]  = {{1}, {2}, {K}, {K + 1}, {step}, {step + 1}, {3 * K + 2 * step + 5}, {300}};
    const PetscInt  many[][4] = {{K, K + 1, 2 * K + 3, K}, {3 * K + 1, 4 * K + 7, 90 + K, 20 * K + 31}};
    const PetscBool wide      = (PetscBool)(small && K > 40); /* few: each kernel runs */
    SpikeBand       shape;
    PetscBool       holds = PETSC_TRUE;

    if (small && !bands[b][2]) continue;
    PetscCall(PetscArrayzero(&shape, 1));
    shape.kl        = kl;
    shape.ku        = ku;
    shape.pivoting  = PETSC_TRUE;
    shape.precision = sizeof(PetscReal) == sizeof(double) ? PETSC_SPIKE_PRECISION_DOUBLE : PETSC_SPIKE_PRECISION_SINGLE;
    if (kernels->holds) PetscCall((*kernels->holds)(&shape, &holds));
    if (!holds) {
      printf("# band %d,%d: not on this device\n", (int)kl, (int)ku);
      continue;
    }
    for (size_t k = wide ? 3 : 0; k < PETSC_STATIC_ARRAY_LENGTH(one); k++)
      if ((!small || k % 3 == 0 || K < 5) && ShareNext())
        PetscCall(TestCase(kernels, kl, ku, 1, one[k], KIND_SMALL, PETSC_FALSE));
    for (PetscInt k = 0; k < 2; k++) {
      const Kind kind = kl && ku ? KIND_PAIRS : KIND_SMALL;

      if (small && k && K > 8) continue;
      if (ShareNext()) PetscCall(TestCase(kernels, kl, ku, 4, many[k], kind, PETSC_FALSE));
      if (wide) continue;
      if (ShareNext()) PetscCall(TestCase(kernels, kl, ku, 4, many[k], kind, PETSC_TRUE));
      if (ShareNext()) PetscCall(TestCase(kernels, kl, ku, 3, many[k], KIND_SMALL, PETSC_TRUE));
    }
    if (!wide && kl < 16 * (ku + 1) && ShareNext()) PetscCall(TestBad(kernels, kl, ku, 3, many[1]));
  }
  for (PetscInt k = 0; k < (small ? 3 : 40); k++) {
    const PetscInt kl = 1 + (PetscInt)((Uniform() + 1) * 15), ku = 1 + (PetscInt)((Uniform() + 1) * 15),
                   K = PetscMax(kl, ku), np = 1 + (PetscInt)((Uniform() + 1) * 2);
    PetscInt sizes[MAXP];

    for (PetscInt p = 0; p < np; p++) sizes[p] = K + (PetscInt)((Uniform() + 1) * 3 * K);
    if (ShareNext()) PetscCall(TestCase(kernels, kl, ku, np, sizes, KIND_PAIRS, (PetscBool)(k % 2)));
  }
  for (int t = 0; t < NTOPICS; t++) {
    const PetscBool bad = (PetscBool)(nbad[t] || (!ncases[t] && ShareIsAll()));

    if (bad) nfailed++;
    printf("%s %d - %s: %s (%d cases, worst %.2g)\n", bad ? "not ok" : "ok", (int)++ntests, kernels->name, topics[t],
           (int)ncases[t], worst[t]);
  }
  printf("1..%d\n", (int)ntests);
  PetscCall(PetscFinalize());
  return nfailed ? 1 : 0;
}
