/* SPDX-License-Identifier: BSD-2-Clause */
/* cudacholesky.cu: tests of Cholesky of the CUDA backend against its LU, on random definite bands; prints TAP */
static char help[] = "Factors, tips and reach of SpikeBandKernels_CUDA by Cholesky against those by LU.\n\
  -most <300> : largest half-bandwidth tested\n\
  -only <K> : one half-bandwidth, with fewer rows\n\
  -share <k,m> : every m-th case from case k on, for memory checkers, which take minutes for all\n\n";

#include "kernels/band/cuda/band.cuh"
#include "devicearrays.cuh"
#include "random.h"
#include "share.h"

extern "C" const SpikeBandKernels SpikeBandKernels_CUDA;

enum {
  TEST_FACTORS,
  TEST_TIPS,
  TEST_WINDOWS,
  TEST_PIVOTS,
  TEST_REPEAT,
  NTOPICS
};
static const char *const topics[NTOPICS] = {"factors", "tips", "reach of the spikes", "pivots that are not positive",
                                            "twice the same bits"};
static struct {
  PetscInt cases, bad;
  double   worst;
} results[NTOPICS];

/* A symmetric band: entry (i, j), j <= i, at i (K + 1) + i - j; as CSR on the device */
struct Matrix {
  PetscInt                 K, n;
  std::vector<PetscInt>    start;
  std::vector<PetscScalar> a;
  SpikeCSR                 csr;
};

static void Call(PetscErrorCode ierr)
{
  PetscCallAbort(PETSC_COMM_SELF, ierr);
}

static void Result(int topic, const Matrix &A, const char *what, double error, double bound)
{
  results[topic].cases++;
  if (bound > 0) results[topic].worst = PetscMax(results[topic].worst, error / bound);
  if (error <= bound) return;
  if (++results[topic].bad <= 20)
    Call(PetscPrintf(PETSC_COMM_SELF, "# %s: n %" PetscInt_FMT ", np %d, K %" PetscInt_FMT ": %s: %g, bound %g\n",
                     topics[topic], A.n, (int)A.start.size() - 1, A.K, what, error, bound));
}

template <typename X>
static double Difference(const std::vector<X> &a, const std::vector<X> &b)
{
  double e = 0.0;

  for (size_t i = 0; i < a.size(); i++) {
    const double d = (double)PetscAbsScalar((PetscScalar)(a[i] - b[i])) /
                     PetscMax(1.0, (double)PetscAbsScalar((PetscScalar)b[i]));

    if (!(d <= e)) e = d;
    if (d != d) return PETSC_MAX_REAL;
  }
  return e;
}

/* The values of A to the device, in the pattern of the first time; those of the partition's ends couple them */
static void Send(Matrix &A)
{
  std::vector<PetscInt>    ai(1, 0), aj;
  std::vector<PetscScalar> aa;

  for (PetscInt i = 0; i < A.n; i++) {
    for (PetscInt j = PetscMax(0, i - A.K); j <= PetscMin(A.n - 1, i + A.K); j++) {
      const PetscInt r = PetscMax(i, j), c = PetscMin(i, j);

      aj.push_back(j);
      aa.push_back(A.a[(size_t)r * (A.K + 1) + r - c]);
    }
    ai.push_back((PetscInt)aj.size());
  }
  if (!A.csr.ai) {
    A.csr.ai = Upload(ai);
    A.csr.aj = Upload(aj);
    A.csr.aa = Upload(aa);
  } else if (aa.size())
    CheckCUDA(cudaMemcpy((void *)A.csr.aa, aa.data(), aa.size() * sizeof(PetscScalar), cudaMemcpyHostToDevice));
}

static void ValuesOf(Matrix &A)
{
  A.a.resize((size_t)A.n * (A.K + 1));
  for (PetscInt i = 0; i < A.n; i++)
    for (PetscInt d = 0; d <= A.K; d++)
      A.a[(size_t)i * (A.K + 1) + d] = d ? Uniform() : 2.2 * sqrt((double)A.K) + 1.5 + 0.5 * Uniform();
  Send(A);
}

/* Row r alone, with v on its diagonal */
static void Isolate(Matrix &A, PetscInt r, double v)
{
  for (PetscInt i = r; i <= PetscMin(A.n - 1, r + A.K); i++) A.a[(size_t)i * (A.K + 1) + i - r] = 0.0;
  for (PetscInt d = 0; d <= A.K; d++) A.a[(size_t)r * (A.K + 1) + d] = d ? 0.0 : v;
}

struct Band {
  SpikeBand              s;
  std::vector<PetscReal> falloff;
  SpikePivot             piv, corner;

  Band(Matrix &A, bool cholesky, bool coupled, PetscBool *interfaces, PetscSpikePrecision precision)
  {
    memset(&s, 0, sizeof(s));
    s.n  = A.n;
    s.kl = s.ku = A.K;
    s.np        = (PetscInt)A.start.size() - 1;
    s.start     = A.start.data();
    s.active    = interfaces;
    s.precision = precision;
    s.coupled   = (PetscBool)coupled;
    s.cholesky  = (PetscBool)cholesky;
    s.maxrhs    = 1;
    s.k         = &SpikeBandKernels_CUDA;
    falloff.resize(2 * (s.np + 1));
    Call((*s.k->create)(&s));
  }
  /* Fill over a band of NaN, factors, and tips where there are couplings */
  void setup(const Matrix &A)
  {
    const SpikeCUDA *h = (const SpikeCUDA *)s.data;
    SpikeFillStats   st;

    piv    = {(PetscReal)1e-12, 0.0, 0, -1, 0.0};
    corner = piv;
    CheckCUDA(cudaMemset(s.band, 0xFF, h->elements * SpikePrecisionBytes(s.precision)));
    if (s.coupled) {
      CheckCUDA(cudaMemset(s.dWt, 0xFF, (s.np + 1) * (size_t)(s.kl * s.ku) * sizeof(PetscScalar)));
      CheckCUDA(cudaMemset(s.dVb, 0xFF, (s.np + 1) * (size_t)(s.kl * s.ku) * sizeof(PetscScalar)));
    }
    Call((*s.k->begin)(&s));
    Call((*s.k->fill)(&s, 1, &A.csr, NULL, &st));
    Call((*s.k->factor)(&s, &piv, s.coupled ? &corner : NULL, s.coupled ? falloff.data() : NULL));
    Call((*s.k->finish)(&s));
    Call((*s.k->end)(&s));
  }
  std::vector<double> factors() const
  {
    const size_t count = (size_t)((const SpikeCUDA *)s.data)->elements;

    if (s.precision == PETSC_SPIKE_PRECISION_DOUBLE) return Download<double>(s.band, count);
    const std::vector<float> f = Download<float>(s.band, count);

    return std::vector<double>(f.begin(), f.end());
  }
  /* Tips at the interfaces that couple, and what is known of the spikes */
  std::vector<double> tips() const
  {
    const size_t        size = (size_t)s.kl * s.ku;
    std::vector<double> all(falloff.begin(), falloff.end());

    for (PetscInt q = 1; s.coupled && q < s.np; q++) {
      for (const PetscScalar v : Download<PetscScalar>(s.dWt + q * size, size)) all.push_back((double)PetscRealPart(v));
      for (const PetscScalar v : Download<PetscScalar>(s.dVb + q * size, size)) all.push_back((double)PetscRealPart(v));
      all.push_back((double)s.wtop[q]);
      all.push_back((double)s.wbot[q - 1]);
    }
    return all;
  }
};

static void Compare(const Matrix &A, const Band &lu, const Band &c)
{
  const int    T    = ((const SpikeCUDA *)c.s.data)->t.T;
  const size_t size = (size_t)A.K * A.K;

  Result(TEST_PIVOTS, A, "a bad pivot", (double)(PetscMax(lu.piv.badrow, c.piv.badrow) + 1), 0);
  Result(TEST_FACTORS, A, "the difference", Difference(c.factors(), lu.factors()),
         c.s.precision == PETSC_SPIKE_PRECISION_DOUBLE ? 1e-13 : 1e-5);
  if (!c.s.coupled) return;
  for (PetscInt q = 1; q < c.s.np; q++) {
    Result(TEST_TIPS, A, "W",
           Difference(Download<PetscScalar>(c.s.dWt + q * size, size),
                      Download<PetscScalar>(lu.s.dWt + q * size, size)),
           1e-13);
    Result(TEST_TIPS, A, "V",
           Difference(Download<PetscScalar>(c.s.dVb + q * size, size),
                      Download<PetscScalar>(lu.s.dVb + q * size, size)),
           1e-13);
    /*
      one combined column and the largest of all may differ by a factor, which is the more rows the slower spikes fall
    */
    const auto rows = [T](PetscReal rate) { return 4 * T + (rate < 0 ? log(100.0) / -(double)rate : 0.0); };

    Result(TEST_WINDOWS, A, "of W", (double)PetscAbsInt(c.s.wtop[q] - lu.s.wtop[q]), rows(lu.falloff[q]));
    Result(TEST_WINDOWS, A, "of V", (double)PetscAbsInt(c.s.wbot[q - 1] - lu.s.wbot[q - 1]),
           rows(lu.falloff[c.s.np + 1 + q]));
  }
}

static void TestShape(PetscInt K, const std::vector<PetscInt> &sizes, bool coupled,
                      PetscSpikePrecision precision = PETSC_SPIKE_PRECISION_DOUBLE)
{
  Matrix              A  = {};
  const PetscInt      np = (PetscInt)sizes.size();
  PetscBool           active[16];
  std::vector<double> first, tips;

  A.K = K;
  A.start.push_back(0);
  for (PetscInt p = 0; p < np; p++) A.start.push_back(A.start[p] + sizes[p]);
  A.n = A.start[np];
  for (PetscInt q = 0; q <= np; q++) active[q] = (PetscBool)(coupled && q && q < np);
  ValuesOf(A);
  {
    Band       lu(A, false, coupled, active, precision), c(A, true, coupled, active, precision);
    SpikeCUDA *h = (SpikeCUDA *)c.s.data;

    lu.setup(A);
    c.setup(A);
    Compare(A, lu, c);
    first = c.factors();
    tips  = c.tips();
    c.setup(A);
    Result(TEST_REPEAT, A, "factors",
           first.size() && memcmp(first.data(), c.factors().data(), 8 * first.size()) ? 1 : 0, 0);
    Result(TEST_REPEAT, A, "tips, their fall and reach", tips == c.tips() ? 0 : 1, 0);
    /* corners that neglect a little: W changes by no more */
    if (coupled) {
      c.s.corner = (PetscReal)1e-6;
      c.setup(A);
      for (PetscInt q = 1; q < np; q++)
        Result(TEST_TIPS, A, "W of a short corner",
               Difference(Download<PetscScalar>(c.s.dWt + q * K * K, K * K),
                          Download<PetscScalar>(lu.s.dWt + q * K * K, K * K)),
               1e-5);
      c.s.corner = 0.0;
    }
    /* other values, by the map, then without one */
    ValuesOf(A);
    lu.setup(A);
    c.setup(A);
    Compare(A, lu, c);
    {
      const int state = h->map.state;

      h->map.state = -1;
      c.setup(A);
      Compare(A, lu, c);
      h->map.state = state;
    }
    for (int what = 0; what < 4 && A.n; what++) {
      const double   values[] = {-2.0, 1e-20, 0.0, NAN};
      const PetscInt row = PetscMin(A.n - 1, (PetscInt)((Uniform() + 1.0) * 0.5 * A.n)), row2 = row / 2;

      Isolate(A, row, values[what]);
      if (what == 0) Isolate(A, row2, values[what] - 1.0); /* the first of two */
      Send(A);
      c.setup(A);
      Result(TEST_PIVOTS, A, "the row", (double)PetscAbsInt(c.piv.badrow - (what ? row : row2)), 0);
      if (what < 3) /* LU's kernels leave its inverse, in the precision of the factors */
        Result(TEST_PIVOTS, A, "the pivot", fabs(c.piv.badvalue - values[what] + (what ? 0.0 : 1.0)),
               precision == PETSC_SPIKE_PRECISION_DOUBLE ? 1e-14 : 1e-6);
      ValuesOf(A);
    }
    lu.setup(A);
    c.setup(A);
    Compare(A, lu, c);
    Call((*lu.s.k->destroy)(&lu.s));
    Call((*c.s.k->destroy)(&c.s));
  }
  CheckCUDA(cudaFree((void *)A.csr.ai));
  CheckCUDA(cudaFree((void *)A.csr.aj));
  CheckCUDA(cudaFree((void *)A.csr.aa));
}

int main(int argc, char **argv)
{
  const PetscInt Ks[]    = {2,  15, 16, 17, 31,  32,  33,  40,  48,  49,  50,  57,  63,  64,  65,  72,  80,  90,
                            95, 96, 97, 99, 100, 127, 128, 129, 150, 160, 161, 192, 200, 224, 225, 256, 257, 300};
  int            devices = 0, failed = 0;
  PetscInt       most = 300, only = -1;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20260101;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(ShareGet());
  if (PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE) || cudaGetDeviceCount(&devices) != cudaSuccess ||
      !devices) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "ok 1 - CUDA backend # SKIP no GPU on this machine, or other numbers\n"
                                           "1..1\n"));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Ks); k++) {
    const PetscInt K = Ks[k];

    if (K > most || (only >= 0 && K != only)) continue;
    if (ShareNext()) TestShape(K, {5 * K + 3, 0, 1, K, 33, 4 * 32 + 1}, false);
    if (ShareNext()) TestShape(K, {2 * K + 5}, false);
    if (ShareNext()) TestShape(K, {3 * K + 7, 0, 33, 6 * K}, false, PETSC_SPIKE_PRECISION_SINGLE);
    if (ShareNext()) TestShape(K, {5 * K + 3, 3 * K, K + 1, 12 * K + 5, K}, true);
    if (ShareNext())
      TestShape(K, only < 0 ? std::vector<PetscInt>{45 * K + 1, 20 * K} : std::vector<PetscInt>{9 * K + 1, 4 * K},
                true);
  }
  for (int i = 0; i < NTOPICS; i++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s %d - cuda, cholesky: %s # %" PetscInt_FMT " cases",
                          results[i].bad ? "not ok" : "ok", i + 1, topics[i], results[i].cases));
    if (results[i].bad) PetscCall(PetscPrintf(PETSC_COMM_SELF, ", %" PetscInt_FMT " bad", results[i].bad));
    if (results[i].worst > 0)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, ", worst error %.2g of its bound", results[i].worst));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
    failed += results[i].bad > 0;
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "1..%d\n", NTOPICS));
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
