/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudafull.cu: tests of the CUDA backend's full SPIKE (spikes, merge, mergedtips, mergedrhs of src/kernels/band/band.h)
  against the host's, through the tables alone; prints TAP
*/
static char help[] = "Full SPIKE of SpikeBandKernels_CUDA against that of SpikeBandKernels_Host.\n\
  -small       few and small shapes only, for memory checkers\n\
  -most <200>  largest half-bandwidth tested\n\n";

#include "kernels/band/band.h"
#include "random.h"
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

typedef std::vector<PetscScalar> Column;

enum {
  TEST_TIPS,
  TEST_FALLOFF,
  TEST_MERGED,
  TEST_PIVOTS,
  TEST_UP,
  TEST_UP_T,
  TEST_DOWN,
  TEST_DOWN_T,
  TEST_WHOLE,
  TEST_WHOLE_T,
  TEST_REPEAT,
  TEST_COMPANY,
  NTOPICS
};
static const char *const topics[NTOPICS] = {"spikes: all tips",
                                            "spikes: falloff",
                                            "merge: the tips of the rank",
                                            "merge: singular interfaces",
                                            "mergedtips up",
                                            "mergedtips up, transposed",
                                            "mergedtips down and mergedrhs",
                                            "mergedtips down and mergedrhs, transposed",
                                            "whole solution",
                                            "whole solution, transposed",
                                            "the same bits again",
                                            "mergedtips: the same bits whatever stands beside a column"};

static struct {
  PetscInt n, bad;
  double   worst;
} results[2][NTOPICS];

struct Case {
  PetscInt              n, kl, ku, np, nrhs;
  PetscSpikePrecision   precision;
  bool                  slow, single;
  std::vector<PetscInt> start, systems; /* systems: empty where the kernels are those for bands */
  std::vector<char>     memory;
  PetscBool            *active;
  Column                a, B, C; /* entry (i, j) at j - i + kl + i (kl + ku + 1); couplings of interfaces 0 and np */
  double                eps;
  SpikeBand             host, dev;
};

static void Check(const Case &c, int topic, double error)
{
  auto      &r   = results[c.single][topic];
  const bool bad = !(error <= 1.0);

  r.n++;
  if (bad && r.bad++ < 5)
    printf("# %s: n %d, kl %d, ku %d, np %d, %s, outer interfaces %d %d, nrhs %d, %s%s: error %.3g of its bound\n",
           topics[topic], (int)c.n, (int)c.kl, (int)c.ku, (int)c.np, PetscSpikePrecisions[c.precision],
           (int)c.active[0], (int)c.active[c.np], (int)c.nrhs, c.slow ? "slow" : "dominant",
           c.systems.size() ? ", systems" : "", error);
  if (!(error <= r.worst)) r.worst = error;
}

/* max |x - y|, NaN where there is one */
static double Difference(const PetscScalar *x, const PetscScalar *y, size_t n)
{
  double worst = 0.0;

  for (size_t i = 0; i < n && worst == worst; i++) {
    const double e = (double)PetscAbsScalar(x[i] - y[i]);

    if (!(e <= worst)) worst = e;
  }
  return worst;
}

static double MaxOf(const PetscScalar *x, size_t n)
{
  double most = DBL_MIN;

  for (size_t i = 0; i < n; i++) most = PetscMax(most, (double)PetscAbsScalar(x[i]));
  return most;
}

/*
  ---- memory of a backend
  -------------------------------------------------------------------------------------------------
*/
template <typename X>
static PetscErrorCode Put(SpikeBand *s, const std::vector<X> &from, X *to)
{
  const size_t bytes = from.size() * sizeof(X);

  PetscFunctionBegin;
  if (bytes)
    PetscCall(
      (*s->k->copy2d)(s, PETSC_TRUE, PETSC_FALSE, (void *)to, bytes, (const void *)from.data(), bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Get(SpikeBand *s, const PetscScalar *from, size_t count, Column *to)
{
  const size_t bytes = count * sizeof(PetscScalar);

  PetscFunctionBegin;
  to->assign(count, (PetscScalar)0.0);
  if (bytes)
    PetscCall(
      (*s->k->copy2d)(s, PETSC_FALSE, PETSC_TRUE, (void *)to->data(), bytes, (const void *)from, bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename X>
static PetscErrorCode New(SpikeBand *s, const std::vector<X> &from, X **to)
{
  PetscFunctionBegin;
  PetscCall((*s->k->alloc)(s, (from.size() + 1) * sizeof(X), (void **)to));
  PetscCall(Put(s, from, *to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- the two backends with the same matrix
  -------------------------------------------------------------------------------
*/
static PetscErrorCode CreateCase(Case &c, const SpikeBandKernels *k, SpikeBand *s)
{
  PetscFunctionBegin;
  *s           = SpikeBand();
  s->n         = c.n;
  s->kl        = c.kl;
  s->ku        = c.ku;
  s->np        = c.np;
  s->start     = c.start.data();
  s->active    = c.active;
  s->precision = c.precision;
  s->coupled = s->full = PETSC_TRUE;
  s->maxrhs            = 1;
  if (c.systems.size() && s == &c.dev) {
    s->nsystems    = (PetscInt)c.systems.size() - 1;
    s->systems     = c.systems.data();
    s->tridiagonal = PC_SPIKE_TRIDIAGONAL_AUTO;
  }
  s->k = k;
  PetscCall((*k->create)(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fill and factor; what couples to other ranks, which this matrix has not, is put in */
static PetscErrorCode RunFactor(Case &c, SpikeBand *s)
{
  const PetscInt        n = c.n, kl = c.kl, ku = c.ku;
  std::vector<PetscInt> ai(1, 0), aj;
  Column                aa;
  PetscInt             *dai, *daj;
  PetscScalar          *daa;
  SpikeCSR              csr   = {};
  SpikeFillStats        st    = {};
  SpikePivot            pivot = {};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      aj.push_back(j);
      aa.push_back(c.a[(size_t)i * (kl + ku + 1) + (size_t)(j - i + kl)]);
    }
    ai.push_back((PetscInt)aj.size());
  }
  PetscCall((*s->k->begin)(s));
  PetscCall(New(s, ai, &dai));
  PetscCall(New(s, aj, &daj));
  PetscCall(New(s, aa, &daa));
  csr.ai = dai;
  csr.aj = daj;
  csr.aa = daa;
  PetscCall((*s->k->fill)(s, 1, &csr, NULL, &st));
  if (s->k->finish) PetscCall((*s->k->finish)(s));
  for (PetscInt e = 0; e < 2; e++) {
    const PetscInt q = e ? c.np : 0;
    const Column   B(c.B.begin() + e * ku * ku, c.B.begin() + (e + 1) * ku * ku),
      C(c.C.begin() + e * kl * kl, c.C.begin() + (e + 1) * kl * kl);

    if (!c.active[q]) continue;
    PetscCall(Put(s, B, s->dB + (PetscCount)q * ku * ku));
    PetscCall(Put(s, C, s->dC + (PetscCount)q * kl * kl));
  }
  PetscCall((*s->k->factor)(s, &pivot, NULL, NULL));
  if (s->k->finish) PetscCall((*s->k->finish)(s));
  PetscCheck(pivot.badrow < 0 && st.badrow < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A bad pivot in a test matrix");
  PetscCall((*s->k->release)(s, (void **)&dai));
  PetscCall((*s->k->release)(s, (void **)&daj));
  PetscCall((*s->k->release)(s, (void **)&daa));
  PetscCall((*s->k->end)(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void CaseMatrix(Case &c)
{
  const PetscInt n = c.n, kl = c.kl, ku = c.ku, ld = kl + ku + 1;

  c.a.assign((size_t)n * ld, (PetscScalar)0.0);
  for (PetscInt i = 0; i < n; i++) {
    double sum = 0;

    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      const PetscScalar v       = c.slow ? (PetscScalar)-1.0 + (PetscReal)0.125 * Random() : Random();
      bool              between = false; /* two systems, of which no partition begins with the second */

      for (size_t k = 0; k < c.systems.size() && !between && i != j; k++) {
        const PetscInt r = c.systems[k];

        between = r == PetscMax(i, j);
        for (PetscInt p = 0; p <= c.np && between; p++) between = r != c.start[p];
      }
      if (j == i || between) continue;
      c.a[(size_t)i * ld + (size_t)(j - i + kl)] = v;
      sum += (double)PetscAbsScalar(v);
    }
    c.a[(size_t)i * ld + (size_t)kl] = (PetscReal)(float)(c.slow ? 1.02 * sum + 0.01 : sum + 0.5);
  }
  c.B.assign((size_t)2 * ku * ku, (PetscScalar)0.0);
  c.C.assign((size_t)2 * kl * kl, (PetscScalar)0.0);
  for (PetscInt e = 0; e < 2; e++) {
    for (PetscInt j = 0; j < ku; j++)
      for (PetscInt i = j; i < ku; i++) c.B[(size_t)(e * ku * ku + i + j * ku)] = Random();
    for (PetscInt j = 0; j < kl; j++)
      for (PetscInt i = 0; i <= j; i++) c.C[(size_t)(e * kl * kl + i + j * kl)] = Random();
  }
}

/*
  ---- spikes and merge
  ----------------------------------------------------------------------------------------------------
*/
/* Wt, Wb, Vt, Vb of an interface: their elements, and whether spikes(), or merge() at the outer ones, makes them */
struct Tips {
  size_t size[4];
  Column of[4];
};

static bool Makes(const Case &c, PetscInt q, int tip, bool merged)
{
  /* an end that no interface meets is not asked for; of the rank as one segment the ends are the outer interfaces */
  const PetscInt after = merged ? c.np : PetscMin(q + 1, c.np), before = merged ? 0 : PetscMax(q - 1, 0);

  if (!c.active[q] || (merged && q != 0 && q != c.np)) return false;
  if (tip < 2) return q < c.np && (tip == 0 || c.active[after]);
  return q > 0 && (tip == 3 || c.active[before]);
}

static PetscErrorCode GetTips(const Case &c, SpikeBand *s, Tips *t)
{
  const size_t       kl = (size_t)c.kl, ku = (size_t)c.ku, size[4] = {ku * kl, kl * kl, ku * ku, kl * ku};
  const PetscScalar *d[4] = {s->dWt, s->dWb, s->dVt, s->dVb};

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    t->size[k] = size[k];
    PetscCall(Get(s, d[k], size[k] * (size_t)(c.np + 1), &t->of[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN where spikes() makes something */
static PetscErrorCode SpoilTips(const Case &c, SpikeBand *s)
{
  PetscScalar *d[4] = {s->dWt, s->dWb, s->dVt, s->dVb};
  Tips         t;

  PetscFunctionBegin;
  PetscCall(GetTips(c, s, &t));
  for (int k = 0; k < 4; k++) {
    for (PetscInt q = 0; q <= c.np; q++)
      for (size_t i = 0; i < t.size[k] && Makes(c, q, k, false); i++)
        t.of[k][(size_t)q * t.size[k] + i] = (PetscScalar)NAN;
    /* what a setup that failed leaves where nothing couples */
    for (PetscInt q = 0; q <= c.np; q += PetscMax(c.np, 1))
      for (size_t i = 0; i < t.size[k] && !c.active[q]; i++) t.of[k][(size_t)q * t.size[k] + i] = (PetscScalar)NAN;
    PetscCall(Put(s, t.of[k], d[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In units of what a spike has at either end */
static void CheckTips(const Case &c, int topic, bool merged, const Tips &got, const Tips &ref)
{
  for (PetscInt q = 0; q <= c.np; q++)
    for (int side = 0; side < 4; side += 2) {
      double scale = DBL_MIN;

      for (int k = side; k < side + 2; k++)
        if (Makes(c, q, k, merged))
          scale = PetscMax(scale, MaxOf(ref.of[k].data() + (size_t)q * ref.size[k], ref.size[k]));
      for (int k = side; k < side + 2; k++)
        if (Makes(c, q, k, merged))
          Check(c, topic,
                Difference(got.of[k].data() + (size_t)q * got.size[k], ref.of[k].data() + (size_t)q * ref.size[k],
                           got.size[k]) /
                  (c.eps * scale));
    }
}

static void CheckSame(const Case &c, bool merged, const Tips &x, const Tips &y)
{
  int bad = 0;

  for (PetscInt q = 0; q <= c.np; q++)
    for (int k = 0; k < 4; k++)
      if (Makes(c, q, k, merged) && x.size[k])
        bad += memcmp((const void *)(x.of[k].data() + (size_t)q * x.size[k]),
                      (const void *)(y.of[k].data() + (size_t)q * y.size[k]), x.size[k] * sizeof(PetscScalar)) != 0;
  Check(c, TEST_REPEAT, bad);
}

/* factors, spikes, merged interfaces; the tips after spikes() and after merge() */
static PetscErrorCode SetUp(Case &c, SpikeBand *s, bool again, Tips *spikes, Tips *merged)
{
  std::vector<PetscReal> falloff((size_t)(2 * (c.np + 1)), (PetscReal)NAN);
  SpikePivot             pivot = {};
  int                    bad   = 0;

  PetscFunctionBegin;
  PetscCall(RunFactor(c, s));
  if (again) PetscCall(SpoilTips(c, s));
  PetscCall((*s->k->begin)(s));
  PetscCall((*s->k->spikes)(s, falloff.data()));
  if (s->k->finish) PetscCall((*s->k->finish)(s));
  PetscCall(GetTips(c, s, spikes));
  pivot.tol = PETSC_MACHINE_EPSILON;
  PetscCall((*s->k->merge)(s, &pivot));
  if (s->k->finish) PetscCall((*s->k->finish)(s));
  PetscCall((*s->k->end)(s));
  PetscCall(GetTips(c, s, merged));
  Check(c, TEST_PIVOTS, pivot.badrow == -1 && pivot.nboost == 0 ? 0 : 2);
  for (PetscInt q = 0; q <= c.np; q++) {
    const PetscReal W = falloff[(size_t)q], V = falloff[(size_t)(c.np + 1 + q)];

    bad += !(W <= 0.0) || !(V <= 0.0);
    bad += (!c.active[q] || !c.kl || q == c.np) && W != PETSC_MIN_REAL;
    bad += (!c.active[q] || !c.ku || q == 0) && V != PETSC_MIN_REAL;
  }
  Check(c, TEST_FALLOFF, bad);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- mergedtips, mergedrhs
  -----------------------------------------------------------------------------------------------
*/
/* Values at or beside the rank, of the inner sides or the outer ones; NaN in all that is not to be read */
static Column Sides(const Case &c, bool trans, bool inner, const Column &values)
{
  const size_t h = (size_t)(c.kl + c.ku), kl = (size_t)c.kl, len = (size_t)(c.np + 1) * h;
  Column       t = values;

  for (size_t r = 0; r < t.size() / len; r++)
    for (PetscInt q = 0; q <= c.np; q++)
      for (size_t i = 0; i < h; i++) {
        const bool inside = q > 0 && q < c.np, above = i >= kl, own = above == ((q == 0) != trans);

        if (!c.active[q] || (!inside && own != inner)) t[r * len + (size_t)q * h + i] = (PetscScalar)NAN;
      }
  return t;
}

/* The tips after what a function did, where own values of the rank are: at the inner sides of the outer interfaces */
static double TipsError(const Case &c, bool trans, const Column &got, const Column &ref)
{
  const size_t h = (size_t)(c.kl + c.ku), kl = (size_t)c.kl, len = (size_t)(c.np + 1) * h;
  double       worst = 0.0;

  for (size_t r = 0; r < got.size() / len; r++)
    for (PetscInt q = 0; q <= c.np; q += c.np) {
      const bool         above = (q == 0) != trans;
      const size_t       from = above ? kl : 0, count = above ? h - kl : kl;
      const PetscScalar *x = got.data() + r * len + (size_t)q * h + from,
                        *y = ref.data() + r * len + (size_t)q * h + from;
      const double e       = c.active[q] ? Difference(x, y, count) / (c.eps * PetscMax(1.0, MaxOf(y, count))) : 0.0;

      if (!(e <= worst)) worst = e;
    }
  return worst;
}

/* Tips, then what comes up; the unknowns beside the rank, then what comes down and is subtracted from b */
static PetscErrorCode RunMerged(Case &c, SpikeBand *s, PetscBool trans, const Column &tips, const Column &outer,
                                const Column &b, size_t ldb, Column *up, Column *work)
{
  const size_t h = (size_t)(c.kl + c.ku), kl = (size_t)c.kl, len = (size_t)(c.np + 1) * h;
  PetscScalar *db;
  Column       t, nan((size_t)c.n * (size_t)c.nrhs, (PetscScalar)NAN);

  PetscFunctionBegin;
  PetscCall((*s->k->begin)(s));
  PetscCall(New(s, b, &db));
  PetscCall(Put(s, Sides(c, trans, true, tips), s->dtips));
  PetscCall((*s->k->mergedtips)(s, trans, PETSC_TRUE, c.nrhs));
  PetscCall(Get(s, s->dtips, len * (size_t)c.nrhs, up));
  t = *up;
  for (size_t r = 0; r < (size_t)c.nrhs; r++)
    for (size_t e = 0; e < 2; e++)
      for (size_t i = 0; i < h; i++) {
        const size_t at = r * len + (e ? (size_t)c.np * h : 0) + i;

        /* what came up is not read any more */
        t[at] = c.active[e ? c.np : 0] && (i >= kl) == ((e == 1) != (bool)trans) ? outer[(2 * r + e) * h + i]
                                                                                 : (PetscScalar)NAN;
      }
  PetscCall(Put(s, t, s->dtips));
  PetscCall((*s->k->mergedtips)(s, trans, PETSC_FALSE, c.nrhs));
  PetscCall(Put(s, nan, s->dwork));
  PetscCall((*s->k->mergedrhs)(s, trans, c.nrhs, db, (PetscCount)ldb));
  PetscCall(Get(s, s->dwork, (size_t)(c.n * c.nrhs), work));
  PetscCall((*s->k->release)(s, (void **)&db));
  PetscCall((*s->k->end)(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sweep, up, down, mergedrhs, sweep; nothing is known beside the rank, or all there is zero */
static PetscErrorCode Solve(Case &c, SpikeBand *s, PetscBool trans, const Column &b, size_t ldb, Column *x)
{
  const size_t len = (size_t)(c.np + 1) * (size_t)(c.kl + c.ku), ldx = (size_t)c.n + 5;
  PetscScalar *db, *dx;
  Column       t;

  PetscFunctionBegin;
  PetscCall((*s->k->begin)(s));
  PetscCall(New(s, b, &db));
  PetscCall(New(s, Column(ldx * (size_t)c.nrhs, (PetscScalar)NAN), &dx));
  PetscCall(Put(s, Column(len * (size_t)c.nrhs, (PetscScalar)0.0), s->dtips));
  PetscCall((*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, c.np, c.nrhs, db, (PetscCount)ldb, s->dwork, c.n));
  PetscCall((*s->k->mergedtips)(s, trans, PETSC_TRUE, c.nrhs));
  PetscCall((*s->k->mergedtips)(s, trans, PETSC_FALSE, c.nrhs));
  PetscCall((*s->k->mergedrhs)(s, trans, c.nrhs, db, (PetscCount)ldb));
  PetscCall((*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, c.np, c.nrhs, s->dwork, c.n, dx, (PetscCount)ldx));
  PetscCall(Get(s, dx, ldx * (size_t)c.nrhs, &t));
  x->clear();
  for (size_t r = 0; r < (size_t)c.nrhs; r++)
    x->insert(x->end(), t.begin() + (ptrdiff_t)(r * ldx), t.begin() + (ptrdiff_t)(r * ldx) + c.n);
  PetscCall((*s->k->release)(s, (void **)&db));
  PetscCall((*s->k->release)(s, (void **)&dx));
  PetscCall((*s->k->end)(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestApply(Case &c, PetscBool trans, PetscInt nrhs)
{
  const size_t h = (size_t)(c.kl + c.ku), len = (size_t)(c.np + 1) * h, ldb = (size_t)c.n + 3, n = (size_t)c.n;
  Column       tips(len * (size_t)nrhs), outer(2 * h * (size_t)nrhs), b(ldb * (size_t)nrhs), up[3], work[3], x[3];
  double       most[2] = {0.0, 0.0};
  auto         same    = [](const Column &p, const Column &q) {
    return p.size() == q.size() &&
           (p.empty() || !memcmp((const void *)p.data(), (const void *)q.data(), p.size() * sizeof(PetscScalar)));
  };

  PetscFunctionBegin;
  c.nrhs = nrhs;
  for (auto &v : tips) v = Random();
  for (auto &v : outer) v = Random();
  for (auto &v : b) v = Random();
  for (int k = 0; k < 3; k++) { /* the host, the device, the device again */
    PetscCall(RunMerged(c, k ? &c.dev : &c.host, trans, tips, outer, b, ldb, &up[k], &work[k]));
    PetscCall(Solve(c, k ? &c.dev : &c.host, trans, b, ldb, &x[k]));
  }
  Check(c, trans ? TEST_UP_T : TEST_UP, TipsError(c, trans, up[1], up[0]));
  for (size_t r = 0; r < (size_t)nrhs; r++) { /* the sizes of solutions: that of one may be small by chance */
    most[0] = PetscMax(most[0], MaxOf(work[0].data() + r * n, n));
    most[1] = PetscMax(most[1], MaxOf(x[0].data() + r * n, n));
  }
  for (size_t r = 0; r < (size_t)nrhs; r++) {
    Check(c, trans ? TEST_DOWN_T : TEST_DOWN,
          Difference(work[1].data() + r * n, work[0].data() + r * n, n) / (c.eps * most[0]));
    Check(c, trans ? TEST_WHOLE_T : TEST_WHOLE,
          Difference(x[1].data() + r * n, x[0].data() + r * n, n) / (c.eps * most[1]));
  }
  Check(c, TEST_REPEAT, same(up[1], up[2]) && same(work[1], work[2]) && same(x[1], x[2]) ? 0 : 2);
  if (nrhs > 2) { /* the first two of them alone */
    c.nrhs = 2;
    PetscCall(RunMerged(c, &c.dev, trans, Column(tips.begin(), tips.begin() + (ptrdiff_t)(2 * len)), outer, b, ldb,
                        &up[2], &work[2]));
    up[1].resize(2 * len);
    work[1].resize(2 * n);
    for (auto *v : {&up[1], &up[2]})
      for (auto &w : *v)
        if (PetscAbsScalar(w) != PetscAbsScalar(w)) w = 0.0; /* NaN comes with any bits */
    Check(c, TEST_COMPANY, same(up[1], up[2]) && same(work[1], work[2]) ? 0 : 2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- cases
  ---------------------------------------------------------------------------------------------------------------
*/
/* np partitions of at least max(kl, ku) and about len rows; outer: bit 0 a neighbour before, bit 1 one after */
static PetscErrorCode TestCase(PetscInt kl, PetscInt ku, PetscInt np, PetscInt len, int outer, bool single, bool slow,
                               PetscInt nsystems)
{
  const PetscInt K = PetscMax(kl, ku);
  Case           c = {};
  Tips           spikes[3], merged[3];

  PetscFunctionBegin;
  if (!K || (np == 1 && !outer)) PetscFunctionReturn(PETSC_SUCCESS);
  c.kl        = kl;
  c.ku        = ku;
  c.np        = np;
  c.slow      = slow;
  c.single    = single;
  c.precision = single || sizeof(PetscReal) == 4 ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
  c.start.assign(1, 0);
  for (PetscInt p = 0; p < np; p++)
    c.start.push_back(c.start.back() + PetscMax(K, len + (p * 7) % 5 - 2 + (p % 4 == 3 ? len / 2 : 0)));
  c.n = c.start.back();
  for (PetscInt p = 0; p < np && nsystems; p++)
    for (PetscInt k = 0; k < nsystems; k++) {
      const PetscInt row = c.start[(size_t)p] + k * (c.start[(size_t)p + 1] - c.start[(size_t)p]) / nsystems;

      if (c.systems.empty() || row > c.systems.back()) c.systems.push_back(row);
    }
  if (nsystems) c.systems.push_back(c.n);
  c.memory.assign((size_t)(np + 1) * sizeof(PetscBool), 0);
  c.active = (PetscBool *)c.memory.data();
  for (PetscInt q = 0; q <= np; q++) c.active[q] = (PetscBool)((q > 0 || (outer & 1)) && (q < np || (outer & 2)));
  /* rows are dominant, columns are not: transposed solutions lose the most */
  c.eps = (c.precision == PETSC_SPIKE_PRECISION_DOUBLE ? 2.2e-16 : 1.2e-7) * (16 + 2 * (double)(kl + ku)) *
          (slow ? 64 : 16);
  CaseMatrix(c);
  PetscCall(CreateCase(c, &SpikeBandKernels_Host, &c.host));
  PetscCall(CreateCase(c, &SpikeBandKernels_CUDA, &c.dev));
  for (int k = 0; k < 3; k++) PetscCall(SetUp(c, k ? &c.dev : &c.host, k == 2, &spikes[k], &merged[k]));
  CheckTips(c, TEST_TIPS, false, spikes[1], spikes[0]);
  CheckTips(c, TEST_MERGED, true, merged[1], merged[0]);
  CheckSame(c, false, spikes[1], spikes[2]);
  CheckSame(c, true, merged[1], merged[2]);
  for (PetscInt nrhs : {1, 7, 17}) {
    if (nrhs > c.host.maxrhs) { /* keeps all else */
      PetscCall((*c.host.k->reserve)(&c.host, nrhs));
      PetscCall((*c.dev.k->reserve)(&c.dev, nrhs));
    }
    for (int trans = 0; trans < 2; trans++) PetscCall(TestApply(c, (PetscBool)trans, nrhs));
  }
  PetscCall((*c.dev.k->synchronize)(&c.dev));
  PetscCall((*c.host.k->destroy)(&c.host));
  PetscCall((*c.dev.k->destroy)(&c.dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Wt Vb has a 1 on its diagonal at interface `bad`, or with boosts at it and all after it, and the far tips are zero:
  what is reported, and how many are boosted, as on the host. Which interface is reported is compared where none before
  it sees what a singular one has left.
*/
static PetscErrorCode TestPivots(bool single)
{
  const PetscInt np = 9, K = 2;
  Case           c = {};
  Tips           t;
  const size_t   all = (size_t)(np + 1) * K * K;

  PetscFunctionBegin;
  c.kl = c.ku = K;
  c.np        = np;
  c.single    = single;
  c.precision = single || sizeof(PetscReal) == 4 ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
  for (PetscInt p = 0; p <= np; p++) c.start.push_back(8 * p);
  c.n = 8 * np;
  c.memory.assign((size_t)(np + 1) * sizeof(PetscBool), 0);
  c.active = (PetscBool *)c.memory.data();
  for (PetscInt q = 1; q < np; q++) c.active[q] = PETSC_TRUE;
  c.eps = 1;
  CaseMatrix(c);
  PetscCall(CreateCase(c, &SpikeBandKernels_Host, &c.host));
  PetscCall(CreateCase(c, &SpikeBandKernels_CUDA, &c.dev));
  for (int k = 0; k < 2; k++) PetscCall(SetUp(c, k ? &c.dev : &c.host, false, &t, &t));
  for (PetscInt bad = 1; bad <= np; bad++)
    for (int boost = 0; boost < 2; boost++) {
      Column     Vb(all, (PetscScalar)0.0), Wt(Vb);
      SpikePivot pivot[2] = {};

      for (PetscInt q = 0; q <= np; q++) {
        const bool   singular = boost ? q >= bad : q == bad;
        const size_t o        = (size_t)q * K * K;

        Vb[o]     = 2.0;
        Vb[o + 3] = 1.0;
        Wt[o]     = singular ? 0.5 : 0.25;
        Wt[o + 3] = 0.5;
      }
      for (int k = 0; k < 2; k++) {
        SpikeBand *s = k ? &c.dev : &c.host;

        pivot[k].tol   = 100 * PETSC_MACHINE_EPSILON;
        pivot[k].boost = boost ? 0.125 : 0.0;
        PetscCall((*s->k->begin)(s));
        PetscCall(Put(s, Vb, s->dVb));
        PetscCall(Put(s, Wt, s->dWt));
        PetscCall(Put(s, Column(all, (PetscScalar)0.0), s->dVt));
        PetscCall(Put(s, Column(all, (PetscScalar)0.0), s->dWb));
        PetscCall((*s->k->merge)(s, &pivot[k]));
        if (s->k->finish) PetscCall((*s->k->finish)(s));
        PetscCall((*s->k->end)(s));
      }
      Check(c, TEST_PIVOTS, pivot[1].nboost == pivot[0].nboost || !boost ? 0 : 2);
      Check(c, TEST_PIVOTS, pivot[1].badrow == pivot[0].badrow ? 0 : 2);
    }
  PetscCall((*c.host.k->destroy)(&c.host));
  PetscCall((*c.dev.k->destroy)(&c.dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAll(bool small, PetscInt most, bool single)
{
  static const PetscInt half[] = {1,  1,  2,  2,  5,  5,  8,  8,  9,   9,   16,  16,  17,  17,  32,  32,
                                  33, 33, 50, 50, 64, 64, 65, 65, 96,  96,  97,  97,  3,   2,   1,   4,
                                  0,  3,  2,  0,  0,  1,  8,  5,  12,  7,   0,   17,  20,  0,   40,  21,
                                  33, 64, 0,  50, 70, 0,  5,  96, 128, 128, 129, 129, 100, 200, 200, 200};
  int                   turn   = 0;

  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof(half) / sizeof(*half); i += 2) {
    const PetscInt kl = half[i], ku = half[i + 1], K = PetscMax(kl, ku);

    if (K > most || (small && (K > 66 || i % 6))) continue;
    for (PetscInt np : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17}) {
      if (np > (K > 65 ? 3 : K > 33 ? 5 : 17) && np != (K > 65 ? 5 : K > 33 ? 9 : 17)) continue;
      if (small && np != 1 && np != 5) continue;
      if (K > 65 && np == 1 + turn % 3) {
        turn++;
        continue;
      }
      turn++;
      PetscCall(TestCase(kl, ku, np, turn % 3 ? K + K / 4 + 1 : 2 * K + 7, np == 1 ? 1 + turn % 3 : turn % 4, single,
                         turn % 2, 0));
    }
  }
  if (!single) /* the kernels of tridiagonal.h: a system for a partition, and some */
    for (PetscInt np : {1, 2, 3, 4, 5, 8, 9, 17, 300})
      if (!small || np == 5)
        for (PetscInt nsystems = 1; nsystems <= 3; nsystems += 2)
          PetscCall(TestCase(1, 1, np, np == 3 ? 2000 : 40, 1 + (int)np % 3, single, np % 2, nsystems));
  if (!small) {
    PetscCall(TestCase(4, 3, 300, 20, 3, single, true, 0));
    PetscCall(TestCase(9, 12, 257, 30, 0, single, false, 0));
    PetscCall(TestCase(10, 9, 3, 3000, 2, single, true, 0)); /* several of a thread block's tile rows */
  }
  PetscCall(TestPivots(single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool small = PETSC_FALSE;
  PetscInt  most  = 200;
  int       count = 0, failed = 0, number = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20251124;
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("ok 1 - CUDA full SPIKE # SKIP no GPU on this machine\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  for (int single = 0; single < (sizeof(PetscReal) == 4 ? 1 : 2); single++) {
    PetscCall(TestAll(small, most, single));
    for (int t = 0; t < NTOPICS; t++) {
      const auto &r = results[single][t];

      printf("%s %d - cuda, %s factors: %s # %d cases", r.bad || !r.n ? "not ok" : "ok", ++number,
             single || sizeof(PetscReal) == 4 ? "single" : "double", topics[t], (int)r.n);
      if (r.bad) printf(", %d bad", (int)r.bad);
      printf(", worst %.2g of its bound\n", r.worst);
      failed += r.bad || !r.n;
    }
  }
  printf("1..%d\n", number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
