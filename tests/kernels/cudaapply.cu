/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudaapply.cu: tests of the CUDA backend's tips, reduced systems, sweeps and corrections against the host's; prints TAP
*/
static char help[] =
  "Tests of the apply and tips of SpikeBandKernels_CUDA against SpikeBandKernels_Host (src/kernels/band/band.h). The\n\
 factors are the host's.\n\
  -small            few and small shapes only, for memory checkers\n\
  -precision <all>  of the factors: double, single, bf16 or fp16\n\n";

#include "kernels/band/cuda/band.cuh"
extern "C" {
#include "kernels/band/host/ops.h"
#include "random.h"
}
#include <vector>
#include <algorithm>
#include <cfloat>

typedef std::vector<PetscScalar> Column;

enum {
  TEST_SWEEP,
  TEST_SWEEP_TIPS,
  TEST_RANGES,
  TEST_INPLACE,
  TEST_REPEAT,
  TEST_POWERS,
  TEST_COMPANY,
  TEST_TIPS,
  TEST_WINDOWS,
  TEST_RATES,
  TEST_REDUCED,
  TEST_SOLVETIPS,
  TEST_CORRECT,
  TEST_APPLY,
  TEST_PERMUTE,
  TEST_EXTENT,
  NTOPICS
};
static const char *const topics[] = {"sweep: D^-1 and D^-T",
                                     "sweep: tips",
                                     "sweep: ranges of partitions",
                                     "sweep: in place",
                                     "the same bits again",
                                     "sweep: the same bits times a power of two",
                                     "sweep: the same bits whatever stands beside a column",
                                     "tips: Vb and Wt",
                                     "tips: windows",
                                     "tips: rates",
                                     "reduced: inverse",
                                     "solvetips",
                                     "correct",
                                     "whole apply",
                                     "permute",
                                     "nothing written elsewhere"};

static struct {
  PetscInt n, bad;
  double   worst;
} results[4][NTOPICS];

typedef struct {
  PetscInt            n, kl, ku, np;
  PetscBool           trans;
  PetscSpikePrecision precision;
  PetscReal           dominance;
  PetscInt           *start;
  PetscBool          *active;
  Column              a; /* entry (i, j) at (j - i + kl) + i (kl + ku + 1) */
  double              eps;
  SpikeBand           host, dev;
} Case;

static void Check(const Case *c, int topic, double error)
{
  const bool bad = !(error <= 1.0);

  results[c->precision][topic].n++;
  if (bad && results[c->precision][topic].bad++ < 5)
    printf("# %s: n %d, kl %d, ku %d, np %d, dominance %g, %s%s: error %.3g of its bound\n", topics[topic], (int)c->n,
           (int)c->kl, (int)c->ku, (int)c->np, (double)c->dominance, PetscSpikePrecisions[c->precision],
           c->trans ? ", transposed" : "", error);
  if (!(error <= results[c->precision][topic].worst)) results[c->precision][topic].worst = error;
}

static int number = 0;

static PetscScalar Entry(const Case *c, PetscInt i, PetscInt j)
{
  return j - i > c->ku || i - j > c->kl || j < 0 || j >= c->n ? (PetscScalar)0.0
                                                              : c->a[(size_t)i * (c->kl + c->ku + 1) + (j - i + c->kl)];
}

/*
  ---- memory of the device
  ------------------------------------------------------------------------------------------------
*/
static PetscErrorCode Put(const void *from, size_t bytes, void *to)
{
  PetscFunctionBegin;
  if (bytes) PetscCallCUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFromDevice(const void *from, size_t bytes, void *to)
{
  PetscFunctionBegin;
  if (bytes) PetscCallCUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a vector on the device with guards of NaN on both sides */
struct Array {
  PetscScalar *alloc, *d;
  size_t       len;
  enum {
    GUARD = 64
  };
};

static PetscErrorCode ArrayCreate(const Column &x, Array *a)
{
  Column all(x.size() + 2 * Array::GUARD, (PetscScalar)NAN);

  PetscFunctionBegin;
  std::copy(x.begin(), x.end(), all.begin() + Array::GUARD);
  a->len = x.size();
  PetscCallCUDA(cudaMalloc((void **)&a->alloc, all.size() * sizeof(PetscScalar)));
  a->d = a->alloc + Array::GUARD;
  PetscCall(Put(all.data(), all.size() * sizeof(PetscScalar), a->alloc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its values; the guards must hold NaN still */
static PetscErrorCode ArrayDestroy(const Case *c, Array *a, Column *x)
{
  Column all(a->len + 2 * Array::GUARD);
  int    bad = 0;

  PetscFunctionBegin;
  PetscCall(GetFromDevice(a->alloc, all.size() * sizeof(PetscScalar), all.data()));
  for (size_t i = 0; i < Array::GUARD; i++)
    bad += PetscAbsScalar(all[i]) == PetscAbsScalar(all[i]) ||
           PetscAbsScalar(all[all.size() - 1 - i]) == PetscAbsScalar(all[all.size() - 1 - i]);
  Check(c, TEST_EXTENT, bad ? 2 : 0);
  if (x) x->assign(all.begin() + Array::GUARD, all.end() - Array::GUARD);
  PetscCallCUDA(cudaFree(a->alloc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Difference(const PetscScalar *x, const PetscScalar *y, size_t n, double *scale)
{
  double worst = 0.0, most = 0.0;

  for (size_t i = 0; i < n; i++) {
    const double e = (double)PetscAbsScalar(x[i] - y[i]);

    if (!(e <= worst)) worst = e;
    most = PetscMax(most, (double)PetscAbsScalar(y[i]));
  }
  if (scale) *scale = most;
  return worst;
}

/* max |x - y| / (eps max |y|) */
static double ErrorOf(const Case *c, const PetscScalar *x, const PetscScalar *y, size_t n)
{
  double scale, e = Difference(x, y, n, &scale);

  return e / (c->eps * (scale + DBL_MIN));
}

/*
  ---- the two backends with the same matrix
  -------------------------------------------------------------------------------
*/
static void Shape(Case *c, SpikeBand *s, const SpikeBandKernels *k)
{
  *s           = SpikeBand();
  s->n         = c->n;
  s->kl        = c->kl;
  s->ku        = c->ku;
  s->np        = c->np;
  s->start     = c->start;
  s->active    = c->active;
  s->precision = c->precision;
  s->coupled   = PETSC_TRUE;
  s->maxrhs    = 33;
  s->k         = k;
}

template <typename F>
static void FactorsToTiles(const SpikeTiles *t, PetscInt p, PetscInt n, const F *lu, F *tiles)
{
  const int T = t->T, kl = t->kl, ku = t->ku;
  auto      get = [&](PetscInt i, PetscInt j) { return (PetscScalar)lu[SpikeBandIndex(n, kl, ku, sizeof(F), i, j)]; };
  Column    L((size_t)T * T), U((size_t)T * T);

  for (int j = 0; j < t->tilerows; j++) {
    for (int q = 1; q <= PetscMax(t->QL, t->QU); q++) {
      for (int r = 0; r < T; r++) {
        for (int c = 0; c < T; c++) {
          const PetscInt i = (PetscInt)j * T + r, below = (PetscInt)(j - q) * T + c, above = (PetscInt)(j + q) * T + c;

          if (q <= t->QL && i < n && below >= 0 && i - below <= kl) tiles[t->at(p, j, q - 1, r, c)] = (F)get(i, below);
          if (q <= t->QU && above < n && above - i <= ku) tiles[t->at(p, j, t->QL + q - 1, r, c)] = (F)get(i, above);
        }
      }
    }
    /* inverses of the triangles of the diagonal tile, column by column */
    for (int c = 0; c < T; c++) {
      for (int r = 0; r < T; r++) L[r + c * T] = U[r + c * T] = r == c ? 1.0 : 0.0;
      for (int r = c + 1; r < T; r++) {
        PetscScalar v = 0.0;

        for (int k = c; k < r; k++) {
          const PetscInt i = (PetscInt)j * T + r, m = (PetscInt)j * T + k;

          if (i < n && i - m <= kl) v -= get(i, m) * L[k + c * T];
        }
        L[r + c * T] = v;
      }
      for (int r = c; r >= 0; r--) {
        const PetscInt i = (PetscInt)j * T + r;
        PetscScalar    v = U[r + c * T];

        if (i >= n) continue;
        for (int k = r + 1; k <= c; k++)
          if ((PetscInt)j * T + k < n && k - r <= ku) v -= get(i, (PetscInt)j * T + k) * U[k + c * T];
        U[r + c * T] = v * get(i, i); /* the inverse of the pivot */
      }
      for (int r = 0; r < T; r++) {
        if (r > c && t->QL) tiles[t->diagtile(p, j, r, c)] = (F)L[r + c * T];
        if (r < c && t->QU) tiles[t->diagtile(p, j, r, c)] = (F)U[r + c * T];
        if (r == c) tiles[t->diag(p, j, r)] = (F)U[r + c * T];
      }
    }
  }
}

/* LU of every partition with the host's micro-kernels, as tiles on the device */
template <typename F>
static PetscErrorCode UploadFactors(Case *c)
{
  const SpikeCUDA    *h  = (const SpikeCUDA *)c->dev.data;
  SpikeTiles          t  = h->t;
  const PetscInt      kl = c->kl, ku = c->ku;
  const PetscCount    ld  = (PetscCount)kl + ku + 1;
  const SpikeBandOps *ops = SpikeBandGetOps(c->dev.precision);
  std::vector<F>      tiles((size_t)h->elements, (F)0.0);
  std::vector<char>   work(ops->lu_worksize(kl, ku) + 64);

  PetscFunctionBegin;
  for (PetscInt p = 0; p < t.groups() * t.G; p++) { /* places without a partition too: ones on the diagonal */
    const PetscInt s0 = p < c->np ? c->start[p] : 0, n = p < c->np ? c->start[p + 1] - s0 : 0;
    std::vector<F> lu((size_t)(n * ld + 2 * SPIKE_BAND_PAD(kl, ku)), (F)0.0);
    F             *first = lu.data() + SPIKE_BAND_PAD(kl, ku);
    SpikeBandPivot piv   = {};

    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++)
        first[j * ld + ku + i - j] = (F)Entry(c, s0 + i, s0 + j);
    piv.work = (void *)(((size_t)work.data() + 63) / 64 * 64);
    ops->lu(n, kl, ku, first, &piv);
    PetscCheck(piv.badrow < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The test matrix has a zero pivot");
    FactorsToTiles<F>(&t, p, n, first, tiles.data());
  }
  PetscCall(Put(tiles.data(), tiles.size() * sizeof(F), c->dev.band));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseCreate(Case *c)
{
  const PetscInt           n = c->n, kl = c->kl, ku = c->ku, np = c->np;
  std::vector<PetscInt>    ai(n + 1), aj;
  Column                   aa;
  std::vector<PetscScalar> B((size_t)(np + 1) * ku * ku), C((size_t)(np + 1) * kl * kl);
  SpikeCSR                 csr = {};
  SpikeFillStats           st;

  PetscFunctionBegin;
  /*
    numbers of 16 bits are rounded in the factors alone, where the inverses of the diagonal tiles differ from what they
    were made of: no sums of roundings
  */
  if (SpikePrecisionBytes(c->precision) == 2)
    c->eps = 8 * (double)SpikePrecisionEpsilon(c->precision) / PetscMin(1.0, c->dominance);
  else
    c->eps = (c->precision == PETSC_SPIKE_PRECISION_DOUBLE && sizeof(PetscReal) == 8 ? 2.2e-16 : 1.2e-7) *
             (16 + 2 * (kl + ku)) / PetscMin(1.0, c->dominance);
  c->a.assign((size_t)n * (kl + ku + 1), 0.0);
  for (PetscInt i = 0; i < n; i++) {
    double sum = 0;

    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      const PetscScalar v = Random();

      c->a[(size_t)i * (kl + ku + 1) + (j - i + kl)] = v;
      if (j != i) sum += (double)PetscAbsScalar(v);
    }
    c->a[(size_t)i * (kl + ku + 1) + kl] = (PetscReal)((float)(c->dominance * sum + 0.5) *
                                                       (Uniform() < 0 ? -1.0 : 1.0));
  }
  for (PetscInt i = 0; i < n; i++) {
    ai[i] = (PetscInt)aj.size();
    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      aj.push_back(j);
      aa.push_back(Entry(c, i, j));
    }
  }
  ai[n]  = (PetscInt)aj.size();
  csr.ai = ai.data();
  csr.aj = aj.data();
  csr.aa = aa.data();
  Shape(c, &c->host, &SpikeBandKernels_Host);
  PetscCall((*c->host.k->create)(&c->host));
  PetscCall((*c->host.k->fill)(&c->host, 1, &csr, NULL, &st));
  /* couplings to other ranks, which this matrix has not */
  for (PetscInt e = 0; e < 2; e++) {
    const PetscInt q = e ? np : 0;

    if (!c->active[q]) continue;
    for (PetscInt j = 0; j < ku; j++)
      for (PetscInt i = j; i < ku; i++) c->host.dB[(PetscCount)q * ku * ku + i + j * ku] = Random();
    for (PetscInt j = 0; j < kl; j++)
      for (PetscInt i = 0; i <= j; i++) c->host.dC[(PetscCount)q * kl * kl + i + j * kl] = Random();
  }
  Shape(c, &c->dev, &SpikeBandKernels_CUDA);
  PetscCall((*c->dev.k->create)(&c->dev));
  if (ku) std::copy(c->host.dB, c->host.dB + B.size(), B.begin());
  if (kl) std::copy(c->host.dC, c->host.dC + C.size(), C.begin());
  PetscCall(Put(B.data(), B.size() * sizeof(PetscScalar), c->dev.dB));
  PetscCall(Put(C.data(), C.size() * sizeof(PetscScalar), c->dev.dC));
  PetscCallCUDA(cudaMemset(c->dev.band, 0xFF,
                           (size_t)((SpikeCUDA *)c->dev.data)->elements * SpikePrecisionBytes(c->precision) *
                             (sizeof(PetscScalar) / sizeof(PetscReal))));
  SpikeDispatchPrecision(c->precision, PetscCall(UploadFactors<F>(c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall((*c->host.k->destroy)(&c->host));
  PetscCall((*c->dev.k->destroy)(&c->dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- setup
  ---------------------------------------------------------------------------------------------------------------
*/
/*
  How far a window of the device is from the host's, in units of what rounding to tiles and a random vector may make of
  it
*/
static double WindowError(PetscInt dev, PetscInt host, PetscInt n, int T)
{
  if (dev < 0 || dev > n) return 1e10;
  if (dev >= host) return dev == n ? 0.5 : (double)(dev - host) / (4.0 * T + 0.3 * host);
  return (double)(host - dev) / (T + 0.1 * host);
}

static PetscErrorCode TestTips(Case *c)
{
  const SpikeCUDA       *h  = (const SpikeCUDA *)c->dev.data;
  const PetscInt         np = c->np, kl = c->kl, ku = c->ku;
  const size_t           tip = (size_t)kl * ku;
  std::vector<PetscReal> ref(2 * (np + 1)), got(2 * (np + 1));
  Column                 V((np + 1) * tip), W((np + 1) * tip);
  std::vector<int>       window(2 * np);
  std::vector<PetscInt>  narrow(2 * np);
  SpikePivot             pivot = {}, corner;

  PetscFunctionBegin;
  pivot.boost = 1e-8;
  corner      = pivot;
  PetscCall((*c->host.k->factor)(&c->host, &pivot, &corner, ref.data()));
  if (tip) PetscCallCUDA(cudaMemset(c->dev.dVb, 0xFF, (np + 1) * tip * sizeof(PetscScalar)));
  if (tip) PetscCallCUDA(cudaMemset(c->dev.dWt, 0xFF, (np + 1) * tip * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMemset(h->room, 0xFF, h->roomsize));
  /* corrections as far as to a thousandth, which changes the windows and, by as much, the left tips */
  c->dev.window = 1e-3;
  PetscCall(SpikeTips_CUDA(&c->dev, got.data()));
  PetscCall((*c->dev.k->finish)(&c->dev));
  PetscCall(GetFromDevice(c->dev.dVb, V.size() * sizeof(PetscScalar), V.data()));
  PetscCall(GetFromDevice(c->dev.dWt, W.size() * sizeof(PetscScalar), W.data()));
  for (PetscInt q = 0; q <= np; q++) {
    if (!c->active[q]) continue;
    if (q && tip) Check(c, TEST_TIPS, ErrorOf(c, V.data() + q * tip, c->host.dVb + q * tip, tip));
    if (q < np && tip)
      Check(c, TEST_TIPS, ErrorOf(c, W.data() + q * tip, c->host.dWt + q * tip, tip) / PetscMax(1.0, 1e-3 / c->eps));
  }
  for (PetscInt p = 0; p < np; p++) {
    narrow[2 * p]     = c->dev.wtop[p];
    narrow[2 * p + 1] = c->dev.wbot[p];
  }
  if (tip) PetscCallCUDA(cudaMemset(c->dev.dVb, 0xFF, (np + 1) * tip * sizeof(PetscScalar)));
  if (tip) PetscCallCUDA(cudaMemset(c->dev.dWt, 0xFF, (np + 1) * tip * sizeof(PetscScalar)));
  c->dev.window = 0.0;
  PetscCall(SpikeTips_CUDA(&c->dev, got.data()));
  PetscCall((*c->dev.k->finish)(&c->dev));
  PetscCall(GetFromDevice(c->dev.dVb, V.size() * sizeof(PetscScalar), V.data()));
  PetscCall(GetFromDevice(c->dev.dWt, W.size() * sizeof(PetscScalar), W.data()));
  PetscCall(GetFromDevice(h->window, window.size() * sizeof(int), window.data()));
  for (PetscInt q = 0; q <= np; q++) {
    if (!c->active[q]) continue;
    if (q && tip) Check(c, TEST_TIPS, ErrorOf(c, V.data() + q * tip, c->host.dVb + q * tip, tip));
    if (q < np && tip) Check(c, TEST_TIPS, ErrorOf(c, W.data() + q * tip, c->host.dWt + q * tip, tip));
    if (q)
      Check(c, TEST_WINDOWS,
            WindowError(c->dev.wbot[q - 1], c->host.wbot[q - 1], c->start[q] - c->start[q - 1], h->t.T));
    if (q < np)
      Check(c, TEST_WINDOWS, WindowError(c->dev.wtop[q], c->host.wtop[q], c->start[q + 1] - c->start[q], h->t.T));
  }
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt n = c->start[p + 1] - c->start[p], J = (n + h->t.T - 1) / h->t.T;

    /* at least the tip, or nothing where there is no spike; and no more than the windows that reach to rounding */
    Check(c, TEST_WINDOWS,
          narrow[2 * p] <= c->dev.wtop[p] && narrow[2 * p] >= PetscMin(PetscMin(kl, ku), c->dev.wtop[p]) &&
              narrow[2 * p + 1] <= c->dev.wbot[p] && narrow[2 * p + 1] >= PetscMin(PetscMin(kl, ku), c->dev.wbot[p])
            ? 0
            : 2);
    Check(c, TEST_WINDOWS,
          c->dev.wtop[p] == PetscMin(n, window[2 * p] * h->t.T) &&
              n - c->dev.wbot[p] == PetscMin(n, (J - window[2 * p + 1]) * h->t.T)
            ? 0
            : 2);
  }
  /*
    rates: of the same order where the spike is long enough to have one, for the two are means over different numbers of
    rows
  */
  for (PetscInt q = 0; q < 2 * (np + 1); q++) {
    const PetscInt p = q <= np ? q : q - np - 2, w = p < 0 || p >= np ? 0 : q <= np ? c->host.wtop[p] : c->host.wbot[p];

    if (p < 0 || p >= np || !c->active[q <= np ? q : q - np - 1] || ref[q] < -1e30 ||
        w < PetscMax(32, 4 * PetscMax(kl, ku)) || w >= c->start[p + 1] - c->start[p])
      continue;
    Check(c, TEST_RATES, PetscAbs((double)(got[q] / ref[q]) - 1.0) / 0.4);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular reduced system, of interface 1, is found, named, and boosted; V and W: the tips that were there */
static PetscErrorCode TestSingular(Case *c, const Column &V, const Column &W)
{
  const PetscInt np = c->np, ku = c->ku;
  const size_t   tip = (size_t)c->kl * ku, square = (size_t)ku * ku;
  Column         one(tip, 0.0), again(PetscMax(tip, square));
  SpikePivot     pivot = {};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ku; i++) one[i + i * ku] = i ? 0.25 : 1.0;
  PetscCall(Put(one.data(), tip * sizeof(PetscScalar), c->dev.dVb + tip));
  PetscCall(Put(one.data(), tip * sizeof(PetscScalar), c->dev.dWt + tip));
  pivot.tol = 1e-14;
  PetscCall((*c->dev.k->reduced)(&c->dev, 0, np + 1, &pivot));
  PetscCall((*c->dev.k->finish)(&c->dev));
  Check(c, TEST_REDUCED, pivot.badrow == 1 && pivot.nboost == 0 && pivot.badvalue <= 1e-14 ? 0 : 2);
  pivot.boost = 0.5;
  PetscCall((*c->dev.k->reduced)(&c->dev, 0, np + 1, &pivot));
  PetscCall((*c->dev.k->finish)(&c->dev));
  Check(c, TEST_REDUCED, pivot.badrow == -1 && pivot.nboost == 1 ? 0 : 2);
  PetscCall(GetFromDevice(c->dev.dR + square, square * sizeof(PetscScalar), again.data()));
  for (PetscInt i = 0; i < ku; i++) again[i + i * ku] -= 1.0 / (i ? 1.0 - 0.0625 : 0.5);
  Check(c, TEST_REDUCED, Difference(again.data(), std::vector<PetscScalar>(square, 0.0).data(), square, NULL) / 1e-5);
  PetscCall(Put(V.data() + tip, tip * sizeof(PetscScalar), c->dev.dVb + tip));
  PetscCall(Put(W.data() + tip, tip * sizeof(PetscScalar), c->dev.dWt + tip));
  pivot.boost = 0.0;
  PetscCall((*c->dev.k->reduced)(&c->dev, 0, np + 1, &pivot));
  PetscCall((*c->dev.k->finish)(&c->dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reduced systems of these tips */
static PetscErrorCode TestReduced(Case *c)
{
  const PetscInt np = c->np, kl = c->kl, ku = c->ku;
  const size_t   tip = (size_t)kl * ku, square = (size_t)ku * ku;
  Column         V((np + 1) * tip), W((np + 1) * tip), R((np + 1) * square), again(2 * tip);
  SpikePivot     pivot = {};

  PetscFunctionBegin;
  PetscCall(GetFromDevice(c->dev.dVb, V.size() * sizeof(PetscScalar), V.data()));
  PetscCall(GetFromDevice(c->dev.dWt, W.size() * sizeof(PetscScalar), W.data()));
  PetscCall((*c->host.k->reduced)(&c->host, 0, np + 1, &pivot));
  PetscCheck(pivot.badrow < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The host found a singular reduced system");
  /* tips of the neighbours' sides of the outer interfaces are those that another rank would send */
  for (PetscInt i = 0; i < (PetscInt)tip; i++) {
    V[i]            = (PetscReal)0.1 * Random() / (PetscReal)PetscMax(kl, ku);
    W[np * tip + i] = (PetscReal)0.1 * Random() / (PetscReal)PetscMax(kl, ku);
  }
  if (tip) {
    std::copy(V.begin(), V.begin() + tip, c->host.dVb);
    std::copy(W.end() - tip, W.end(), c->host.dWt + np * tip);
    PetscCall(Put(V.data(), tip * sizeof(PetscScalar), c->dev.dVb));
    PetscCall(Put(W.data() + np * tip, tip * sizeof(PetscScalar), c->dev.dWt + np * tip));
  }
  for (PetscInt q = 0; q <= np; q++) { /* inactive ones hold something finite */
    if (c->active[q] || !tip) continue;
    PetscCallCUDA(cudaMemset(c->dev.dVb + q * tip, 0, tip * sizeof(PetscScalar)));
    PetscCallCUDA(cudaMemset(c->dev.dWt + q * tip, 0, tip * sizeof(PetscScalar)));
  }
  PetscCall((*c->host.k->reduced)(&c->host, 0, np + 1, &pivot));
  pivot.badrow = pivot.nboost = -7;
  PetscCall((*c->dev.k->reduced)(&c->dev, 0, np + 1, &pivot));
  PetscCall((*c->dev.k->finish)(&c->dev));
  Check(c, TEST_REDUCED, pivot.badrow == -1 && pivot.nboost == 0 ? 0 : 2);
  PetscCall(GetFromDevice(c->dev.dR, R.size() * sizeof(PetscScalar), R.data()));
  for (PetscInt q = 0; q <= np && ku; q++) { /* R^-1 (I - Wt Vb) = I */
    double worst = 0;

    if (!c->active[q]) continue;
    PetscCall(GetFromDevice(c->dev.dVb + q * tip, tip * sizeof(PetscScalar), again.data()));
    PetscCall(GetFromDevice(c->dev.dWt + q * tip, tip * sizeof(PetscScalar), again.data() + tip * (np > 0)));
    for (PetscInt j = 0; j < ku; j++) {
      Column col(ku);

      for (PetscInt i = 0; i < ku; i++) {
        col[i] = i == j ? 1.0 : 0.0;
        for (PetscInt k = 0; k < kl; k++) col[i] -= again[tip + i + k * ku] * again[k + j * kl];
      }
      for (PetscInt i = 0; i < ku; i++) {
        PetscScalar v = i == j ? -1.0 : 0.0;

        for (PetscInt k = 0; k < ku; k++) v += R[q * square + i + k * ku] * col[k];
        if (!((double)PetscAbsScalar(v) <= worst)) worst = (double)PetscAbsScalar(v);
      }
    }
    Check(c, TEST_REDUCED, worst / (sizeof(PetscReal) == 8 ? 2.2e-16 : 1.2e-7) / (64 + 8 * ku));
  }
  if (tip && np > 1 && c->active[1] && kl == ku) PetscCall(TestSingular(c, V, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- apply
  ---------------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode SetTips(Case *c, const Column &tips)
{
  PetscFunctionBegin;
  std::copy(tips.begin(), tips.end(), c->host.dtips);
  PetscCall(Put(tips.data(), tips.size() * sizeof(PetscScalar), c->dev.dtips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckTips(Case *c, int topic, PetscInt nrhs)
{
  const size_t len = (size_t)(c->np + 1) * (c->kl + c->ku);
  Column       tips(nrhs * len);

  PetscFunctionBegin;
  PetscCall(GetFromDevice(c->dev.dtips, tips.size() * sizeof(PetscScalar), tips.data()));
  Check(c, topic, ErrorOf(c, tips.data(), c->host.dtips, nrhs * len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last two columns of b alone; y: what became of all of them */
static PetscErrorCode TestCompany(Case *c, PetscBool trans, PetscInt nrhs, const PetscScalar *b, size_t ldb,
                                  const Column &y, size_t ldx)
{
  Column z(2 * ldx, (PetscScalar)NAN);
  Array  dx;
  int    bad = 0;

  PetscFunctionBegin;
  PetscCall(ArrayCreate(z, &dx));
  PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, 0, c->np, 2, b + (nrhs - 2) * ldb, ldb, dx.d, ldx));
  PetscCall(ArrayDestroy(c, &dx, &z));
  for (PetscInt r = 0; r < 2; r++)
    for (PetscInt i = 0; i < c->n; i++) bad += z[r * ldx + i] != y[(r + nrhs - 2) * ldx + i];
  Check(c, TEST_COMPANY, bad ? 2 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestApply(Case *c, PetscBool trans, PetscInt nrhs)
{
  const PetscInt n = c->n, np = c->np;
  const size_t   ldb = n + 3, ldx = n + 5, len = (size_t)(np + 1) * (c->kl + c->ku);
  Column b(ldb * nrhs), x(ldx * nrhs, (PetscScalar)12345.0), tips(nrhs * len), nan(ldx * nrhs, (PetscScalar)NAN), y, z;
  Array  db, dx;
  PetscInt p0 = np > 2 ? 1 : 0, p1 = np > 2 ? np - 1 : np;

  PetscFunctionBegin;
  c->trans = trans;
  for (auto &v : b) v = Random();
  for (auto &v : tips) v = Random();
  auto same = [&](const Column &got,
                  const Column &ref) { /* column by column; between the columns nothing is written */
                                       double worst = 0;

                                       for (PetscInt r = 0; r < nrhs; r++) {
                                         const double e   = ErrorOf(c, got.data() + r * ldx, ref.data() + r * ldx, n);
                                         int          bad = 0;

                                         if (!(e <= worst)) worst = e;
                                         for (size_t i = n; i < ldx; i++)
                                           bad += PetscAbsScalar(got[r * ldx + i]) == PetscAbsScalar(got[r * ldx + i]);
                                         Check(c, TEST_EXTENT, bad ? 2 : 0);
                                       }
                                       return worst;
  };
  /* whole sweeps */
  PetscCall(SetTips(c, tips));
  PetscCall((*c->host.k->sweep)(&c->host, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, b.data(), ldb, x.data(), ldx));
  PetscCall(ArrayCreate(b, &db));
  PetscCall(ArrayCreate(nan, &dx));
  PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, db.d, ldb, dx.d, ldx));
  PetscCall(ArrayDestroy(c, &dx, &y));
  Check(c, TEST_SWEEP, same(y, x));
  PetscCall(CheckTips(c, TEST_SWEEP_TIPS, nrhs));
  PetscCall(ArrayCreate(nan, &dx));
  PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, db.d, ldb, dx.d, ldx));
  PetscCall(ArrayDestroy(c, &dx, &z));
  Check(c, TEST_REPEAT, memcmp(y.data(), z.data(), y.size() * sizeof(PetscScalar)) ? 2 : 0);
  if (nrhs > 2) PetscCall(TestCompany(c, trans, nrhs, db.d, ldb, y, ldx));
  for (const PetscReal power : {(PetscReal)std::ldexp(1.0, sizeof(PetscReal) > 4 ? 400 : 40),
                                (PetscReal)std::ldexp(1.0, sizeof(PetscReal) > 4 ? -400 : -40)}) {
    Column scaled(b);
    Array  ds;
    int    bad = 0;

    for (auto &v : scaled) v *= power;
    PetscCall(ArrayCreate(scaled, &ds));
    PetscCall(ArrayCreate(nan, &dx));
    PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, ds.d, ldb, dx.d, ldx));
    PetscCall(ArrayDestroy(c, &ds, NULL));
    PetscCall(ArrayDestroy(c, &dx, &z));
    for (PetscInt r = 0; r < nrhs; r++)
      for (PetscInt i = 0; i < n; i++) bad += z[r * ldx + i] != power * y[r * ldx + i];
    Check(c, TEST_POWERS, bad ? 2 : 0);
  }
  /* in parts, out of order */
  PetscCall(SetTips(c, tips));
  PetscCall((*c->host.k->sweep)(&c->host, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, b.data(), ldb, x.data(), ldx));
  PetscCall(ArrayCreate(nan, &dx));
  PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, p0, p1, nrhs, db.d, ldb, dx.d, ldx));
  {
    Column part(ldx * nrhs);
    int    bad = 0;

    PetscCall(GetFromDevice(dx.d, part.size() * sizeof(PetscScalar), part.data()));
    for (PetscInt r = 0; r < nrhs; r++)
      for (PetscInt i = 0; i < n; i++)
        if (i < c->start[p0] || i >= c->start[p1])
          bad += PetscAbsScalar(part[r * ldx + i]) == PetscAbsScalar(part[r * ldx + i]);
    Check(c, TEST_EXTENT, bad ? 2 : 0);
  }
  if (p0 < np) PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, p1, np, nrhs, db.d, ldb, dx.d, ldx));
  PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, 0, p0, nrhs, db.d, ldb, dx.d, ldx));
  PetscCall(ArrayDestroy(c, &dx, &z));
  Check(c, TEST_RANGES, memcmp(y.data(), z.data(), y.size() * sizeof(PetscScalar)) ? 2 : 0);
  PetscCall(CheckTips(c, TEST_RANGES, nrhs));
  PetscCall(ArrayDestroy(c, &db, NULL));
  /* in place */
  {
    Column start = nan;

    for (PetscInt r = 0; r < nrhs; r++)
      std::copy(b.begin() + r * ldb, b.begin() + r * ldb + n, start.begin() + r * ldx);
    PetscCall(ArrayCreate(start, &dx));
    PetscCall((*c->dev.k->sweep)(&c->dev, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, dx.d, ldx, dx.d, ldx));
    PetscCall(ArrayDestroy(c, &dx, &z));
    Check(c, TEST_INPLACE, memcmp(y.data(), z.data(), y.size() * sizeof(PetscScalar)) ? 2 : 0);
  }
  /* the reduced systems of the sweep's tips */
  PetscCall((*c->host.k->solvetips)(&c->host, trans, 0, np + 1, nrhs));
  PetscCall((*c->dev.k->solvetips)(&c->dev, trans, 0, np + 1, nrhs));
  PetscCall(CheckTips(c, TEST_SOLVETIPS, nrhs));
  /* the correction of something else, in two pieces, then that of the sweep: a whole apply */
  for (int whole = 0; whole < 2; whole++) {
    Column r = x;

    if (!whole)
      for (auto &v : r) v = Random();
    z = nan;
    for (PetscInt k = 0; k < nrhs; k++)
      std::copy(whole ? y.begin() + k * ldx : r.begin() + k * ldx, (whole ? y.begin() : r.begin()) + k * ldx + n,
                z.begin() + k * ldx);
    PetscCall((*c->host.k->correct)(&c->host, trans, 0, np, nrhs, r.data(), ldx));
    PetscCall(ArrayCreate(z, &dx));
    PetscCall((*c->dev.k->correct)(&c->dev, trans, p1, np, nrhs, dx.d, ldx));
    PetscCall((*c->dev.k->correct)(&c->dev, trans, 0, p1, nrhs, dx.d, ldx));
    PetscCall(ArrayDestroy(c, &dx, &z));
    Check(c, whole ? TEST_APPLY : TEST_CORRECT, same(z, r));
    if (whole) x = r;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPermute(Case *c)
{
  const PetscInt         n  = c->n;
  const size_t           ld = n + 2;
  std::vector<PetscInt>  newrow(n);
  Column                 x(2 * ld), nan(2 * ld, (PetscScalar)NAN), y;
  Array                  dx, dy, dz;
  PetscInt              *drow   = NULL;
  PetscReal             *dscale = NULL, *dback = NULL;
  std::vector<PetscReal> scale(n), back(n);
  int                    bad = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) newrow[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) std::swap(newrow[i], newrow[(PetscInt)((Uniform() + 1) / 2 * (double)i)]);
  for (auto &v : x) v = Random();
  if (n) PetscCallCUDA(cudaMalloc((void **)&drow, n * sizeof(PetscInt)));
  PetscCall(Put(newrow.data(), n * sizeof(PetscInt), drow));
  for (PetscInt i = 0; i < n; i++) back[i] = 1 / (scale[i] = (PetscReal)ldexp(1.0, (int)(i % 7 - 3)));
  if (n) PetscCallCUDA(cudaMalloc((void **)&dscale, n * sizeof(PetscReal)));
  if (n) PetscCallCUDA(cudaMalloc((void **)&dback, n * sizeof(PetscReal)));
  PetscCall(Put(scale.data(), n * sizeof(PetscReal), dscale));
  PetscCall(Put(back.data(), n * sizeof(PetscReal), dback));
  PetscCall(ArrayCreate(x, &dx));
  PetscCall(ArrayCreate(nan, &dy));
  PetscCall(ArrayCreate(nan, &dz));
  PetscCall((*c->dev.k->permute)(&c->dev, PETSC_FALSE, drow, dscale, 2, dx.d, ld, dy.d, ld));
  PetscCall((*c->dev.k->permute)(&c->dev, PETSC_TRUE, drow, dback, 2, dy.d, ld, dz.d, ld));
  PetscCall(ArrayDestroy(c, &dx, NULL));
  PetscCall(ArrayDestroy(c, &dy, &y));
  for (PetscInt r = 0; r < 2; r++)
    for (PetscInt i = 0; i < n; i++) bad += y[r * ld + newrow[i]] != scale[i] * x[r * ld + i];
  PetscCall(ArrayDestroy(c, &dz, &y));
  for (PetscInt r = 0; r < 2; r++)
    for (PetscInt i = 0; i < n; i++) bad += y[r * ld + i] != x[r * ld + i];
  Check(c, TEST_PERMUTE, bad);
  PetscCallCUDA(cudaFree(drow));
  PetscCallCUDA(cudaFree(dscale));
  PetscCallCUDA(cudaFree(dback));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* np partitions of about len rows, each at least least, no two alike */
static PetscErrorCode TestCase(PetscInt kl, PetscInt ku, PetscInt np, PetscInt len, PetscSpikePrecision precision,
                               PetscReal dominance, int pattern)
{
  const PetscInt        K = PetscMax(kl, ku);
  std::vector<PetscInt> start(np + 1);
  std::vector<char>     memory((np + 1) * sizeof(PetscBool));
  PetscBool            *active = (PetscBool *)memory.data();
  Case                  c      = {};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < np; p++)
    start[p + 1] = start[p] +
                   (np == 1
                      ? len
                      : PetscMax(K, pattern == 2 ? K + p % 2 : len + (p * 7) % 5 - 2 - (p == np - 1 ? len / 3 : 0)));
  for (PetscInt q = 0; q <= np; q++)
    active[q] = (PetscBool)(q == 0 || q == np ? pattern == 1 && start[np] > 0 : !(pattern == 1 && q == 2));
  c.n = start[np], c.kl = kl, c.ku = ku, c.np = np, c.precision = precision, c.dominance = dominance,
  c.start = start.data(), c.active = active;
  PetscCall(CaseCreate(&c));
  PetscCall(TestTips(&c));
  PetscCall(TestReduced(&c));
  for (int trans = 0; trans < 2; trans++) {
    PetscCall(TestApply(&c, (PetscBool)trans, 1));
    PetscCall(TestApply(&c, (PetscBool)trans, 3));
    /* several warps, and blocks, of columns; transposed some, for time */
    if (c.n <= (trans ? 250 : 600) && (!trans || (kl + ku + np) % 3 == 0))
      PetscCall(TestApply(&c, (PetscBool)trans, 1 + 8 * (1 + (np + kl) % 4)));
  }
  PetscCall(TestPermute(&c));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAll(PetscBool small, PetscSpikePrecision precision)
{
  static const PetscInt half[] = {1,  1,  2,  2,  3,  3,  4,  4,  5,  5,  7,  7,  8,  8,  9,  9,  11, 11,
                                  13, 13, 16, 16, 17, 17, 24, 24, 25, 25, 31, 31, 32, 32, 33, 33, 50, 50,
                                  64, 64, 65, 65, 0,  0,  1,  0,  0,  1,  3,  1,  0,  8,  8,  0,  5,  12,
                                  16, 3,  20, 0,  0,  20, 32, 5,  2,  31, 50, 3,  40, 50, 0,  40, 70, 0};
  static const PetscInt wide[] = {100, 100, 128, 128, 200, 150, 256, 256, 257, 257, 300, 512};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(half); i += small ? 8 : 2) {
    const PetscInt kl = half[i], ku = half[i + 1], K = PetscMax(PetscMax(kl, ku), 1), most = small ? 3 : 11;

    for (int pattern = 0; pattern < 3; pattern++)
      PetscCall(TestCase(kl, ku, pattern ? most : 5, pattern == 2 ? K : 4 * K + 3, precision, 1.0, pattern));
    PetscCall(TestCase(kl, ku, small ? 2 : 37, 6 * K, precision, 2.0, 0));
    PetscCall(TestCase(kl, ku, 2, 34 * K + 1, precision, 1.0, 1));
    if (!small) {
      PetscCall(TestCase(kl, ku, 3, 200 + 40 * K, precision, 0.6, 1));
      for (PetscInt n = 0; n < 4; n++) PetscCall(TestCase(kl, ku, 1, n, precision, 1.0, 0));
      for (PetscInt n = K - 1; n < K + 2; n++) PetscCall(TestCase(kl, ku, 1, n, precision, 1.0, 0));
    }
  }
  for (size_t i = 0; !small && i < PETSC_STATIC_ARRAY_LENGTH(wide); i += 2) {
    const PetscInt kl = wide[i], ku = wide[i + 1], K = PetscMax(kl, ku);

    PetscCall(TestCase(kl, ku, 3, 3 * K + 5, precision, 1.0, 1));
    if (K <= 256) PetscCall(TestCase(kl, ku, 2, 15 * K, precision, 1.0, 0));
  }
  if (!small) { /* vectors of a partition that do not fit in shared memory */
    PetscCall(TestCase(8, 5, 2, 26001, precision, 1.0, 0));
    PetscCall(TestCase(32, 32, 2, 26001, precision, 1.0, 0));
    PetscCall(TestCase(40, 33, 2, 26001, precision, 1.0, 0));
  }
  for (int topic = 0; topic < NTOPICS; topic++) {
    printf("%s %d - cuda %s: %s # %d cases", results[precision][topic].bad ? "not ok" : "ok", ++number,
           PetscSpikePrecisions[precision], topics[topic], (int)results[precision][topic].n);
    if (results[precision][topic].bad) printf(", %d bad", (int)results[precision][topic].bad);
    printf(", worst error %.2g of its bound\n", results[precision][topic].worst);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscSpikePrecision precision = PETSC_SPIKE_PRECISION_DOUBLE;
  PetscBool           small = PETSC_FALSE, one = PETSC_FALSE;
  int                 count = 0, failed = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20240607;
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("ok 1 - CUDA apply and tips # SKIP no GPU on this machine\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-precision", PetscSpikePrecisions, (PetscEnum *)&precision, &one));
  for (int p = one ? precision : PETSC_SPIKE_PRECISION_DOUBLE; p <= (one ? precision : PETSC_SPIKE_PRECISION_FP16); p++)
    PetscCall(TestAll(small, (PetscSpikePrecision)p));
  printf("1..%d\n", number);
  for (int topic = 0; topic < NTOPICS; topic++)
    failed += results[0][topic].bad + results[1][topic].bad + results[2][topic].bad + results[3][topic].bad;
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
