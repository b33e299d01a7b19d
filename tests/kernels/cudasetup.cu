/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudasetup.cu: tests of fill and factor of the CUDA backend from raw CSR, against the host backend and definitions;
  prints TAP
*/
static char help[] = "Tests of SpikeBandKernels_CUDA: memory, fill and factor.\n\
  -most <512> : largest half-bandwidth tested\n\
  -only <what> : pairs kl,ku of one test only\n\n";

#include "kernels/band/cuda/band_tiles.cuh"
#include "devicearrays.cuh"
#include "random.h"
#include <cfloat>
#include <complex>

extern "C" const SpikeBandKernels SpikeBandKernels_CUDA;

/* References are computed in this type; entries of the test matrices are exact in single precision */
#if defined(PETSC_USE_COMPLEX)
typedef std::complex<long double> Wide;
static Wide                       ToWide(PetscScalar v)
{
  return Wide(v.real(), v.imag());
}
#else
typedef long double Wide;
static Wide         ToWide(PetscScalar v)
{
  return v;
}
#endif

#define GUARD 64 /* elements before and after an array on the device */

enum {
  TEST_MEMORY,
  TEST_FILL,
  TEST_COUPLING,
  TEST_REFILL,
  TEST_COLUMNS,
  TEST_STATS,
  TEST_EXTENT,
  TEST_REPEAT,
  TEST_FACTOR,
  TEST_PIVOT,
  TEST_LATE,
  NTOPICS
};
static const char *const topics[NTOPICS] = {"memory is what bytes() says",
                                            "fill: band",
                                            "fill: couplings",
                                            "fill: other values by the map, few blocks",
                                            "fill: without a map",
                                            "fill: sums and bad rows",
                                            "nothing written outside",
                                            "twice the same bits",
                                            "factor: against elimination in higher precision",
                                            "factor: bad pivots as on the host",
                                            "factor: a fill that is left to it, the same bits"};
static struct {
  PetscInt cases, bad;
  double   worst;
} results[NTOPICS];

/* A shape; rows of a partition are sizes[], repeated up to np */
struct Shape {
  PetscInt np, kl, ku, sizes[4];
};

struct Problem {
  PetscInt              n, kl, ku, np, kind;
  std::vector<PetscInt> start, newrow; /* newrow empty: natural */
  PetscBool             active[128];
  PetscSpikePrecision   precision;
  /* full: one row has entries in all columns, more than a map of the pattern takes */
  PetscBool coupled, full;
  /* entry (i, j) of the band order at i * (kl + ku + 1) + j - i + kl, also where j < 0 or j >= n */
  std::vector<PetscScalar> a;
  std::vector<PetscInt>    ai[2], aj[2], colmap;
  std::vector<PetscScalar> aa[2];
};

static void Result(int topic, const Problem &pr, const char *what, double error, double bound)
{
  results[topic].cases++;
  if (!(error <= bound)) {
    if (++results[topic].bad <= 20)
      PetscCallAbort(PETSC_COMM_SELF,
                     PetscPrintf(PETSC_COMM_SELF,
                                 "# %s: n %" PetscInt_FMT ", np %" PetscInt_FMT ", kl %" PetscInt_FMT
                                 ", ku %" PetscInt_FMT ", kind %" PetscInt_FMT ", %s%s: %s: %g, bound %g\n",
                                 topics[topic], pr.n, pr.np, pr.kl, pr.ku, pr.kind, PetscSpikePrecisions[pr.precision],
                                 pr.coupled ? "" : ", not coupled", what, error, bound));
  }
  if (bound > 0) results[topic].worst = PetscMax(results[topic].worst, error / bound);
}

/*
  kinds: 0 natural, one piece; 1 as on one of several ranks: two pieces with a column map, couplings outside; 2
  permuted; 3 missing entries, stored zeros, empty rows and entries outside the band; 4 as 3, nothing outside
*/
#define NKINDS 4 /* of all shapes */
static void MakeProblem(const Shape &sh, PetscInt kind, PetscSpikePrecision precision, PetscBool coupled, Problem &pr)
{
  PetscInt                           k = 0;
  std::vector<PetscInt>              oldrow, map;
  std::vector<std::vector<PetscInt>> extra;

  pr      = Problem();
  pr.np   = sh.np;
  pr.kl   = sh.kl;
  pr.ku   = sh.ku;
  pr.kind = kind;
  pr.start.push_back(0);
  for (PetscInt p = 0; p < sh.np; p++) {
    pr.start.push_back(pr.start.back() + sh.sizes[k]);
    k = k < 3 && sh.sizes[k + 1] ? k + 1 : 0;
  }
  pr.n         = pr.start.back();
  pr.precision = precision;
  pr.coupled   = coupled;
  for (PetscInt q = 0; q <= pr.np; q++)
    pr.active[q] = (PetscBool)(coupled && pr.n && (kind == 1 || (q > 0 && q < pr.np)) && (q % 5 != 3));
  const PetscInt n = pr.n, ld = pr.kl + pr.ku + 1, kl = pr.kl, ku = pr.ku;

  pr.a.assign((size_t)n * ld, PetscScalar(0.0));
  std::vector<double> col(n, 0.0);
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = i - kl; j <= i + ku; j++) {
      if (kind != 1 && (j < 0 || j >= n)) continue;
      if (kind >= 3 && (Uniform() < -0.4 || i % 37 == 36) && i != j) continue;
      pr.a[(size_t)i * ld + j - i + kl] = Random();
      if (kind >= 3 && Uniform() < -0.9 && i != j) pr.a[(size_t)i * ld + j - i + kl] = 0.0;
    }
  for (PetscInt i = 0; i < n; i++) { /* diagonal: sum of the others of its row, not all of one sign */
    double sum = 0.5;

    for (PetscInt d = -kl; d <= ku; d++)
      if (d) sum += (double)PetscAbsScalar(pr.a[(size_t)i * ld + d + kl]);
    pr.a[(size_t)i * ld + kl] = PetscScalar((float)(Uniform() < 0 ? -sum : sum));
  }
  pr.newrow.clear();
  if (kind == 2) { /* rows exchanged over any distance */
    for (PetscInt i = 0; i < n; i++) pr.newrow.push_back(i);
    for (PetscInt i = n - 1; i > 0; i--)
      std::swap(pr.newrow[i], pr.newrow[(PetscInt)((Uniform() + 1) * 0.5 * (i + 1))]);
    oldrow.resize(n);
    for (PetscInt i = 0; i < n; i++) oldrow[pr.newrow[i]] = i;
  }
  for (int part = 0; part < 2; part++) {
    pr.ai[part].assign(1, 0);
    pr.aj[part].clear();
    pr.aa[part].clear();
  }
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt i = kind == 2 ? pr.newrow[r] : r;

    for (PetscInt j = i - kl; j <= i + ku; j++) {
      const PetscScalar v    = pr.a[(size_t)i * ld + j - i + kl];
      const int         part = kind == 1 && (j < 0 || j >= n);

      if (v == PetscScalar(0.0) && (kind < 3 || Uniform() < 0.0)) continue; /* some stored zeros */
      if (j < 0 || j >= n) {
        if (kind != 1) continue;
        /* columns of the second piece are numbered by a map whose entries count from row 1000 of the whole matrix */
        pr.colmap.push_back(j + 1000);
        pr.aj[1].push_back((PetscInt)pr.colmap.size() - 1);
      } else pr.aj[0].push_back(kind == 2 ? oldrow[j] : j);
      pr.aa[part].push_back(v);
    }
    if (kind == 3 && r % 11 == 5) { /* outside the band, on both sides */
      if (i + ku + 1 < n) {
        pr.aj[0].push_back(i + ku + 1);
        pr.aa[0].push_back(Random());
      }
      if (i - kl - 1 >= 0) {
        pr.aj[0].push_back(i - kl - 1);
        pr.aa[0].push_back(Random());
      }
    }
    for (int part = 0; part < 2; part++) pr.ai[part].push_back((PetscInt)pr.aj[part].size());
  }
}

/* An array on the device with guards around it, all of it NaN */
struct Guarded {
  char  *raw;
  size_t bytes, size;

  void *make(size_t count, size_t element)
  {
    size  = element;
    bytes = (count + 2 * GUARD) * element;
    CheckCUDA(cudaMalloc((void **)&raw, bytes));
    CheckCUDA(cudaMemset(raw, 0xFF, bytes));
    return raw + GUARD * element;
  }
  bool intact()
  {
    std::vector<unsigned char> v = Download<unsigned char>(raw, bytes);

    for (size_t i = 0; i < GUARD * size; i++)
      if (v[i] != 0xFF || v[bytes - 1 - i] != 0xFF) return false;
    return true;
  }
  void destroy() { CheckCUDA(cudaFree(raw)); }
};

static void MakeBand(Problem &pr, const SpikeBandKernels *k, SpikeBand *s)
{
  PetscCallAbort(PETSC_COMM_SELF, PetscMemzero(s, sizeof(*s)));
  s->n         = pr.n;
  s->kl        = pr.kl;
  s->ku        = pr.ku;
  s->np        = pr.np;
  s->start     = pr.start.data();
  s->active    = pr.active;
  s->precision = pr.precision;
  s->coupled   = pr.coupled;
  s->maxrhs    = 1;
  s->k         = k;
  PetscCallAbort(PETSC_COMM_SELF, (*k->create)(s));
}

static void Pieces(const Problem &pr, bool device, SpikeCSR parts[2])
{
  for (int part = 0; part < 2; part++) {
    parts[part].ai     = device ? Upload(pr.ai[part]) : pr.ai[part].data();
    parts[part].aj     = device ? Upload(pr.aj[part]) : pr.aj[part].data();
    parts[part].aa     = device ? Upload(pr.aa[part]) : pr.aa[part].data();
    parts[part].colmap = part ? (device ? Upload(pr.colmap) : pr.colmap.data()) : NULL;
    parts[part].shift  = part ? -1000 : 0;
    parts[part].r = parts[part].c = NULL;
  }
}

static void FreePieces(SpikeCSR parts[2])
{
  for (int part = 0; part < 2; part++) {
    CheckCUDA(cudaFree((void *)parts[part].ai));
    CheckCUDA(cudaFree((void *)parts[part].aj));
    CheckCUDA(cudaFree((void *)parts[part].aa));
    CheckCUDA(cudaFree((void *)parts[part].colmap));
  }
}

/* The whole band of one precision as PetscScalar */
static std::vector<PetscScalar> DownloadBand(const SpikeBand &s)
{
  const SpikeCUDA         *h = (const SpikeCUDA *)s.data;
  std::vector<PetscScalar> v(h->elements);

  SpikeDispatchPrecision(s.precision, const std::vector<F> b = Download<F>(s.band, h->elements);
                         for (size_t i = 0; i < b.size(); i++) v[i] = (PetscScalar)b[i]);
  return v;
}

/* A matrix entry as the raw band must hold it */
static PetscScalar Rounded(const Problem &pr, PetscScalar v)
{
  SpikeDispatchPrecision(pr.precision, return (PetscScalar)F(v));
}

static double Difference(PetscScalar a, PetscScalar b)
{
  const PetscReal d = PetscAbsScalar(a - b);

  return d == d ? (double)d : PETSC_MAX_REAL;
}

/* Every element of the band: those of the matrix, zeros, and ones after the ends */
static double BandError(const Problem &pr, const SpikeBand &s, const std::vector<PetscScalar> &band)
{
  const SpikeTiles        &t  = ((const SpikeCUDA *)s.data)->t;
  const PetscInt           ld = pr.kl + pr.ku + 1;
  std::vector<PetscScalar> want(band.size(), PetscScalar(0.0));
  double                   e = 0.0;

  for (PetscInt p = 0; p < t.groups() * t.G; p++) {
    const PetscInt first = p < pr.np ? pr.start[p] : 0, rows = p < pr.np ? pr.start[p + 1] - first : 0;

    for (PetscInt li = 0; li < (PetscInt)t.tilerows * t.T; li++) {
      const int j = (int)(li / t.T), r = (int)(li % t.T);

      if (li >= rows) {
        want[t.diag(p, j, r)] = 1.0;
        continue;
      }
      for (PetscInt lj = PetscMax(0, li - pr.kl); lj <= PetscMin(rows - 1, li + pr.ku); lj++) {
        const int         jj = (int)(lj / t.T), c = (int)(lj % t.T);
        const PetscScalar v = Rounded(pr, pr.a[(size_t)(first + li) * ld + lj - li + pr.kl]);

        if (jj == j) want[t.diagtile(p, j, r, c)] = v;
        else want[t.at(p, j, jj < j ? j - jj - 1 : t.QL + jj - j - 1, r, c)] = v;
      }
    }
  }
  for (size_t i = 0; i < band.size(); i++) e = PetscMax(e, Difference(band[i], want[i]));
  return e;
}

/*
  LU of a partition without pivoting: row i of f holds columns i - kl .. i + ku; boosts as the policy says and stops at
  a bad pivot
*/
static void Eliminate(const Problem &pr, PetscInt p, const SpikePivot &piv, std::vector<Wide> &f)
{
  const PetscInt ld = pr.kl + pr.ku + 1, n = pr.start[p + 1] - pr.start[p], kl = pr.kl, ku = pr.ku;

  f.assign((size_t)n * ld, Wide(0.0L));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++)
      f[(size_t)i * ld + j - i + kl] = ToWide(Rounded(pr, pr.a[(size_t)(pr.start[p] + i) * ld + j - i + kl]));
  for (PetscInt k = 0; k < n; k++) {
    Wide             *row = &f[(size_t)k * ld + kl];
    const long double abs = std::abs(row[0]);

    if (!(abs > piv.tol)) row[0] = abs > 0 ? row[0] * ((long double)piv.boost / abs) : Wide((long double)piv.boost);
    for (PetscInt i = k + 1; i <= PetscMin(n - 1, k + kl); i++) {
      Wide      *ri = &f[(size_t)i * ld + kl];
      const Wide l  = ri[k - i] /= row[0];

      for (PetscInt d = 1; d <= PetscMin(ku, n - 1 - k); d++) ri[k - i + d] -= l * row[d];
    }
  }
}

/*
  The factors in tiles against f: L and U relative to their largest entries beside the diagonal, the inverted halves by
  their products with L and U
*/
static double FactorError(const Problem &pr, const SpikeBand &s, const std::vector<PetscScalar> &band, PetscInt p,
                          const std::vector<Wide> &f)
{
  const SpikeTiles &t  = ((const SpikeCUDA *)s.data)->t;
  const PetscInt    ld = pr.kl + pr.ku + 1, n = pr.start[p + 1] - pr.start[p], kl = pr.kl, ku = pr.ku;
  const int         T      = t.T;
  long double       lower1 = 1e-30L, upper1 = 1e-30L, inverse = 0.0L, e = 0.0L; /* largest |l_ij|, |u_ij|, |1 / u_jj| */

  auto at = [&](PetscInt i, PetscInt j) {
    return i < n && j < n ? (i - j <= kl && j - i <= ku ? f[(size_t)i * ld + j - i + kl] : Wide(0.0L))
                          : Wide(i == j ? 1.0L : 0.0L);
  };
  auto worse = [&](Wide d, long double unit) {
    const long double abs = std::abs(d) / unit;

    if (!(abs <= e)) e = abs == abs ? abs : LDBL_MAX;
  };
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt d = -kl; d <= ku; d++) {
      const long double abs = std::abs(f[(size_t)i * ld + d + kl]);

      if (d < 0) lower1 = PetscMax(lower1, abs);
      else if (d) upper1 = PetscMax(upper1, abs);
      else inverse = PetscMax(inverse, 1.0L / abs);
    }
  }
  for (int j = 0; j < t.tilerows; j++) {
    const PetscInt i0 = (PetscInt)j * T;

    for (int q = 1; q <= t.QL; q++)
      for (int c = 0; c < T; c++)
        for (int r = 0; r < T; r++)
          if (q < t.QL || r <= c)
            worse(ToWide(band[t.at(p, j, q - 1, r, c)]) - (j >= q ? at(i0 + r, i0 - (PetscInt)q * T + c) : Wide(0.0L)),
                  lower1);
    for (int q = 1; q <= t.QU; q++)
      for (int c = 0; c < T; c++)
        for (int r = 0; r < T; r++)
          if (q < t.QU || c <= r)
            worse(ToWide(band[t.at(p, j, t.QL + q - 1, r, c)]) -
                    (j + q < t.tilerows ? at(i0 + r, i0 + (PetscInt)q * T + c) : Wide(0.0L)),
                  upper1);
    /* sum_k Linv_rk L_kc and sum_k Uinv_rk U_kc are those of the identity */
    for (int c = 0; c < T; c++)
      for (int r = 0; r < T; r++) {
        Wide lower = r == c ? -1.0L : 0.0L, upper = lower;

        if (r >= c && t.QL)
          for (int k = c; k <= r; k++)
            lower += (k == r ? Wide(1.0L) : ToWide(band[t.diagtile(p, j, r, k)])) *
                     (k == c ? Wide(1.0L) : at(i0 + k, i0 + c));
        else lower = 0.0L;
        if (r <= c && (r == c || t.QU))
          for (int k = r; k <= c; k++) upper += ToWide(band[t.diagtile(p, j, r, k)]) * at(i0 + k, i0 + c);
        else upper = 0.0L;
        worse(lower, r == c ? 1.0L : lower1);
        worse(upper, r == c ? 1.0L : upper1 * inverse);
      }
  }
  return (double)e;
}

static double Relative(PetscReal a, PetscReal b)
{
  /* which of the two an overflow becomes depends on the order of operations */
  if (a == b || (PetscIsInfOrNanReal(a) && PetscIsInfOrNanReal(b))) return 0.0;
  return (double)(PetscAbsReal(a - b) / PetscMax(PetscAbsReal(b), PETSC_MACHINE_EPSILON));
}

/* Compares statistics and pivots with those of the host */
static void CompareStats(const Problem &pr, const SpikeFillStats &a, const SpikeFillStats &b)
{
  /* sums of so many terms, in other orders */
  const double bound = 4 * (8 + sqrt((double)pr.n * (pr.kl + pr.ku + 1))) * PETSC_MACHINE_EPSILON;

  Result(TEST_STATS, pr, "sum", Relative(a.sum, b.sum), bound);
  Result(TEST_STATS, pr, "dropped", Relative(a.dropped, b.dropped), bound);
  Result(TEST_STATS, pr, "maxdropped", Relative(a.maxdropped, b.maxdropped), 4 * PETSC_MACHINE_EPSILON);
  Result(TEST_STATS, pr, "norm", Relative(a.norm, b.norm), bound);
  Result(TEST_STATS, pr, "badrow", (double)PetscAbsInt(a.badrow - b.badrow), 0);
  Result(TEST_STATS, pr, "overflowrow", (double)PetscAbsInt(a.overflowrow - b.overflowrow), 0);
  Result(TEST_STATS, pr, "zerorow", (double)PetscAbsInt(a.zerorow - b.zerorow), 0);
}

/* Fills s again, from arrays of NaN, and compares all that it leaves with definition and host */
static void TestRefill(int topic, const Problem &pr, SpikeBand *host, SpikeBand *s, const SpikeCSR parts[],
                       const PetscInt *newrow)
{
  SpikeCUDA     *h = (SpikeCUDA *)s->data;
  SpikeCSR       hostparts[2];
  SpikeFillStats hst, st;
  const PetscInt nparts = pr.kind == 1 ? 2 : 1;
  const size_t   nB     = pr.coupled ? (size_t)(pr.np + 1) * pr.ku * pr.ku : 0,
               nC       = pr.coupled ? (size_t)(pr.np + 1) * pr.kl * pr.kl : 0;
  double e              = 0.0;

  Pieces(pr, false, hostparts);
  PetscCallAbort(PETSC_COMM_SELF,
                 (*host->k->fill)(host, nparts, hostparts, pr.newrow.size() ? pr.newrow.data() : NULL, &hst));
  CheckCUDA(cudaMemset(s->band, 0xFF,
                       h->elements * SpikePrecisionBytes(pr.precision) * (sizeof(PetscScalar) / sizeof(PetscReal))));
  if (nB) CheckCUDA(cudaMemset(s->dB, 0xFF, nB * sizeof(PetscScalar)));
  if (nC) CheckCUDA(cudaMemset(s->dC, 0xFF, nC * sizeof(PetscScalar)));
  PetscCallAbort(PETSC_COMM_SELF, (*s->k->begin)(s));
  PetscCallAbort(PETSC_COMM_SELF, (*s->k->fill)(s, nparts, parts, newrow, &st));
  PetscCallAbort(PETSC_COMM_SELF, (*s->k->finish)(s));
  PetscCallAbort(PETSC_COMM_SELF, (*s->k->end)(s));
  Result(topic, pr, "band", BandError(pr, *s, DownloadBand(*s)), 0);
  {
    const std::vector<PetscScalar> B = Download<PetscScalar>(s->dB, nB), C = Download<PetscScalar>(s->dC, nC);

    for (size_t i = 0; i < nB; i++) e = PetscMax(e, Difference(B[i], host->dB[i]));
    for (size_t i = 0; i < nC; i++) e = PetscMax(e, Difference(C[i], host->dC[i]));
  }
  Result(topic, pr, "couplings", e, 0);
  CompareStats(pr, st, hst);
}

/* The same pattern with new values: by the map, a few blocks walking over all units, and without it */
static void TestOtherValues(const Problem &pr, SpikeBand *host, SpikeBand *s, SpikeCSR parts[], const PetscInt *newrow)
{
  SpikeCUDA         *h     = (SpikeCUDA *)s->data;
  const SpikeFillMap map   = h->map;
  Problem            other = pr;
  const PetscScalar *aa[2] = {parts[0].aa, parts[1].aa};

  for (size_t i = 0; i < other.a.size(); i++) other.a[i] *= (PetscReal)0.75;
  for (int part = 0; part < 2; part++) {
    for (size_t i = 0; i < other.aa[part].size(); i++) other.aa[part][i] *= (PetscReal)0.75;
    parts[part].aa = Upload(other.aa[part]);
  }
  Result(TEST_REFILL, pr, pr.full ? "has no map" : "has a map", map.state == (pr.full ? -1 : 1) ? 0 : 1, 0);
  h->map.blocks = PetscMin(map.blocks, 3);
  TestRefill(TEST_REFILL, other, host, s, parts, newrow);
  Result(TEST_REFILL, pr, "the same map", h->map.code == map.code && h->map.bytes == map.bytes ? 0 : 1, 0);
  h->map.state = -1;
  TestRefill(TEST_COLUMNS, other, host, s, parts, newrow);
  h->map = map;
  for (int part = 0; part < 2; part++) {
    CheckCUDA(cudaFree((void *)parts[part].aa));
    parts[part].aa = aa[part];
  }
}

/* Numbers that differ, other than in the sign of a zero */
static double CountOthers(const std::vector<PetscScalar> &a, const std::vector<PetscScalar> &b)
{
  double count = 0;

  for (size_t i = 0; i < a.size(); i++)
    if (a[i] != b[i] && memcmp(&a[i], &b[i], sizeof(a[i]))) count++;
  return count;
}

/* Not where most partitions are much shorter than the longest: codes would be longer than the columns */
static bool IsMapSmall(const Problem &pr, const SpikeTiles &t)
{
  const std::vector<PetscInt> &ai   = pr.ai[0];
  PetscInt                     most = 0;

  for (PetscInt i = 0; i < pr.n; i++) most = PetscMax(most, ai[i + 1] - ai[i]);
  return 128.0 * ((most + 3) / 4) * pr.np * t.tilerows <= 4.0 * ai[pr.n] + 65536;
}

/*
  A fill that may be left to the factorization, twice, with the values at an odd place the second time: factors,
  couplings, sums and pivots as from both apart. Bands of one tile on either side, with all entries in them, are left to
  it, until a pivot was bad
*/
static void TestLate(Problem &pr, const SpikeCSR parts[], const PetscInt *newrow, PetscReal tol, PetscReal boost,
                     const SpikeBand &apart, const std::vector<PetscScalar> &factors, const SpikeFillStats &hst,
                     const SpikePivot &pivot)
{
  const size_t nB = (size_t)(pr.np + 1) * pr.ku * pr.ku, nC = (size_t)(pr.np + 1) * pr.kl * pr.kl;
  const bool   good   = pivot.badrow < 0 && !pivot.nboost;
  SpikeCSR     its[2] = {parts[0], parts[1]};
  PetscScalar *odd;
  SpikeBand    s;
  SpikeCUDA   *h;
  bool         leaves;

  MakeBand(pr, &SpikeBandKernels_CUDA, &s);
  h      = (SpikeCUDA *)s.data;
  s.late = PETSC_TRUE;
  leaves = !PetscDefined(USE_COMPLEX) && PetscDefined(USE_REAL_DOUBLE) && h->t.T > 16 && h->t.QL <= 1 && h->t.QU <= 1 &&
           h->t.tilerows >= 10 && pr.n >= 100 && (pr.kind == 0 || pr.kind == 4) &&
           pr.precision == PETSC_SPIKE_PRECISION_DOUBLE && IsMapSmall(pr, h->t);
  CheckCUDA(cudaMalloc((void **)&odd, (pr.aa[0].size() + 1) * sizeof(*odd)));
  CheckCUDA(cudaMemset(odd, 0xFF, sizeof(*odd)));
  CheckCUDA(cudaMemcpy(odd + 1, parts[0].aa, pr.aa[0].size() * sizeof(*odd), cudaMemcpyDeviceToDevice));
  for (int twice = 0; twice < 2; twice++) {
    SpikePivot               piv = {tol, boost, 0, -1, 0.0};
    SpikeFillStats           st;
    std::vector<PetscScalar> band;

    piv.relative = pivot.relative;
    if (pr.coupled) {
      CheckCUDA(cudaMemset(s.dB, 0xFF, nB * sizeof(PetscScalar)));
      CheckCUDA(cudaMemset(s.dC, 0xFF, nC * sizeof(PetscScalar)));
    }
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->begin)(&s));
    if (twice) its[0].aa = odd + 1;
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->fill)(&s, pr.kind == 1 ? 2 : 1, its, newrow, &st));
    if (leaves && (good || !twice)) Result(TEST_LATE, pr, "is left", h->left.aa ? 0 : 1, 0);
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->factor)(&s, &piv, NULL, NULL));
    Result(TEST_LATE, pr, "is still left", h->left.aa ? 1 : 0, 0);
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->finish)(&s));
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->end)(&s));
    if (leaves && good) Result(TEST_LATE, pr, "good pivots are not", h->map.state == 2 ? 0 : 1, 0);
    band = DownloadBand(s);
    if (hst.badrow < 0 && hst.overflowrow < 0 && pivot.badrow < 0)
      Result(TEST_LATE, pr, "factors", CountOthers(band, factors), 0);
    Result(TEST_LATE, pr, "badrow", (double)PetscAbsInt(piv.badrow - pivot.badrow), 0);
    Result(TEST_LATE, pr, "nboost", (double)PetscAbsInt(piv.nboost - pivot.nboost), 0);
    CompareStats(pr, st, hst);
    if (pr.coupled) {
      const std::vector<PetscScalar> B = Download<PetscScalar>(s.dB, nB), C = Download<PetscScalar>(s.dC, nC),
                                     wantB = Download<PetscScalar>(apart.dB, nB),
                                     wantC = Download<PetscScalar>(apart.dC, nC);

      Result(TEST_LATE, pr, "B", memcmp(B.data(), wantB.data(), nB * sizeof(PetscScalar)) ? 1 : 0, 0);
      Result(TEST_LATE, pr, "C", memcmp(C.data(), wantC.data(), nC * sizeof(PetscScalar)) ? 1 : 0, 0);
    }
  }
  CheckCUDA(cudaFree(odd));
  PetscCallAbort(PETSC_COMM_SELF, (*s.k->destroy)(&s));
}

static void TestProblem(Problem &pr, PetscReal tol, PetscReal boost, bool values)
{
  SpikeBand                host, s;
  SpikeCUDA               *h;
  SpikeCSR                 hostparts[2], parts[2];
  PetscInt                 nparts = pr.kind == 1 ? 2 : 1;
  PetscInt                *newrow = pr.newrow.size() ? Upload(pr.newrow) : NULL;
  SpikeFillStats           hst, st;
  SpikePivot               hpiv = {tol, boost, 0, -1, 0.0}, piv = hpiv;
  Guarded                  gband, gB, gC;
  PetscReal                bytes, extra, after;
  std::vector<PetscScalar> band, factors;
  void                    *oldband;
  PetscScalar             *oldB, *oldC;
  const size_t             nB = (size_t)(pr.np + 1) * pr.ku * pr.ku, nC = (size_t)(pr.np + 1) * pr.kl * pr.kl;

  MakeBand(pr, &SpikeBandKernels_Host, &host);
  MakeBand(pr, &SpikeBandKernels_CUDA, &s);
  h = (SpikeCUDA *)s.data;
  PetscCallAbort(PETSC_COMM_SELF, (*s.k->bytes)(&s, &bytes, &extra));
  Result(TEST_MEMORY, pr, "bytes",
         fabs(bytes -
              (PetscReal)h->elements * SpikePrecisionBytes(pr.precision) * (sizeof(PetscScalar) / sizeof(PetscReal))),
         0);
  /* the band in the precision of the factors; a tile row more a partition, and a tenth of the groups */
  {
    PetscInt longest = 0;

    for (PetscInt p = 0; p < pr.np; p++) longest = PetscMax(longest, pr.start[p + 1] - pr.start[p]);
    Result(TEST_MEMORY, pr, "padding", (double)h->elements,
           1.1 * pr.np * (longest + h->t.T) * (pr.kl + pr.ku + 1 + PetscAbsInt(pr.kl - pr.ku) % h->t.T + h->t.T) +
             8.0 * pr.np * h->t.tilerows);
  }
  Pieces(pr, false, hostparts);
  Pieces(pr, true, parts);
  /* guarded arrays in place of the backend's own */
  oldband = s.band;
  oldB    = s.dB;
  oldC    = s.dC;
  s.band  = gband.make(h->elements, SpikePrecisionBytes(pr.precision) * (sizeof(PetscScalar) / sizeof(PetscReal)));
  s.dB    = pr.coupled ? (PetscScalar *)gB.make(nB, sizeof(PetscScalar)) : NULL;
  s.dC    = pr.coupled ? (PetscScalar *)gC.make(nC, sizeof(PetscScalar)) : NULL;

  PetscCallAbort(PETSC_COMM_SELF,
                 (*host.k->fill)(&host, nparts, hostparts, pr.newrow.size() ? pr.newrow.data() : NULL, &hst));
  for (int twice = 0; twice < 2; twice++) {
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->begin)(&s));
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->fill)(&s, nparts, parts, newrow, &st));
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->finish)(&s));
    band = DownloadBand(s);
    if (!twice) {
      if (values) Result(TEST_FILL, pr, "element", BandError(pr, s, band), 0);
      CompareStats(pr, st, hst);
      if (pr.coupled) {
        const std::vector<PetscScalar> B = Download<PetscScalar>(s.dB, nB), C = Download<PetscScalar>(s.dC, nC);
        double                         e = 0.0;

        for (size_t i = 0; i < nB && values; i++) e = PetscMax(e, Difference(B[i], host.dB[i]));
        for (size_t i = 0; i < nC && values; i++) e = PetscMax(e, Difference(C[i], host.dC[i]));
        Result(TEST_COUPLING, pr, "element", e, 0);
      }
    }
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->factor)(&s, &piv, NULL, NULL));
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->finish)(&s));
    PetscCallAbort(PETSC_COMM_SELF, (*s.k->end)(&s));
    band = DownloadBand(s);
    if (twice)
      Result(TEST_REPEAT, pr, "factors", (double)memcmp(band.data(), factors.data(), band.size() * sizeof(PetscScalar)),
             0);
    factors = band;
  }
  PetscCallAbort(PETSC_COMM_SELF, (*s.k->bytes)(&s, &bytes, &after));
  Result(TEST_MEMORY, pr, "the map's", fabs((double)(after - extra - h->map.bytes)), 0);
  TestLate(pr, parts, newrow, tol, boost, s, factors, hst, piv);
  PetscCallAbort(PETSC_COMM_SELF, (*host.k->factor)(&host, &hpiv, NULL, NULL));
  if (hst.overflowrow >= 0) hpiv.badrow = piv.badrow = -1, values = false; /* nobody factors it then */
  Result(TEST_PIVOT, pr, "badrow", (double)PetscAbsInt(piv.badrow - hpiv.badrow), 0);
  Result(TEST_PIVOT, pr, "nboost", (double)PetscAbsInt(piv.nboost - hpiv.nboost), 0);
  if (hpiv.badrow >= 0)
    Result(TEST_PIVOT, pr, "badvalue", Relative(piv.badvalue, hpiv.badvalue),
           PetscMax(1e-3, 8 * SpikePrecisionEpsilon(pr.precision)));
  if (values && hpiv.badrow < 0) {
    /* arithmetic may be that of PetscScalar */
    const double      eps = 2 * PetscMax((double)SpikePrecisionEpsilon(pr.precision), PETSC_MACHINE_EPSILON / 2);
    std::vector<Wide> f;
    double            e = 0.0;

    for (PetscInt p = 0; p < pr.np; p++) {
      if (pr.np > 12 && p % 5 && p < pr.np - 3) continue;
      Eliminate(pr, p, hpiv, f);
      e = PetscMax(e, FactorError(pr, s, factors, p, f));
    }
    /*
      numbers of 16 bits are rounded when they are stored, which those that are brought up to date in the band itself
      are several times: no sums of roundings
    */
    Result(TEST_FACTOR, pr, "element", e,
           (SpikePrecisionBytes(pr.precision) == 2 ? 4 * sqrt((double)PetscMax(PetscMax(h->t.QL, h->t.QU), 1))
                                                   : 8 * (8 + PetscMin(pr.kl, pr.ku))) *
             eps);
  }
  if (values && pr.n) TestOtherValues(pr, &host, &s, parts, newrow);
  Result(TEST_EXTENT, pr, "band", gband.intact() ? 0 : 1, 0);
  if (pr.coupled) Result(TEST_EXTENT, pr, "couplings", gB.intact() && gC.intact() ? 0 : 1, 0);
  s.band = oldband;
  s.dB   = oldB;
  s.dC   = oldC;
  gband.destroy();
  if (pr.coupled) {
    gB.destroy();
    gC.destroy();
  }
  FreePieces(parts);
  CheckCUDA(cudaFree(newrow));
  PetscCallAbort(PETSC_COMM_SELF, (*s.k->destroy)(&s));
  PetscCallAbort(PETSC_COMM_SELF, (*host.k->destroy)(&host));
}

static const Shape shapes[] = {{1, 0, 0, {0}},
                               {1, 3, 2, {0}},
                               {1, 0, 0, {1}},
                               {3, 0, 0, {5, 1, 70}},
                               {40, 0, 0, {9, 8}},
                               {1, 1, 1, {1}},
                               {1, 1, 1, {100}},
                               {2, 1, 1, {1, 1}},
                               {67, 1, 1, {7, 9, 3}},
                               {33, 1, 2, {2, 40, 3}},
                               {5, 2, 1, {3, 197, 2, 64}},
                               {11, 3, 3, {3, 4, 50}},
                               {22, 3, 0, {3, 30}},
                               {9, 0, 4, {33, 4}},
                               {10, 4, 4, {4, 5, 63}},
                               {7, 5, 5, {5, 51, 49}},
                               {8, 7, 4, {40, 7, 61}},
                               {9, 8, 8, {8, 64, 65, 63}},
                               {4, 8, 1, {80}},
                               {7, 9, 9, {90, 9, 10}},
                               {5, 12, 0, {60, 12}},
                               {5, 0, 13, {60, 13}},
                               {5, 15, 16, {16, 90, 17}},
                               {6, 16, 16, {160, 159, 161}},
                               {3, 16, 3, {48, 16}},
                               {5, 17, 17, {17, 100, 18}},
                               {4, 20, 24, {24, 240, 25}},
                               {3, 22, 18, {100, 23, 22}},
                               {3, 25, 25, {250, 26}},
                               {4, 0, 29, {100, 29}},
                               {4, 31, 31, {31, 300, 62, 63}},
                               {5, 32, 32, {32, 320, 64, 33}},
                               {3, 32, 5, {200, 32}},
                               {3, 5, 32, {200, 33}},
                               {3, 33, 33, {33, 200, 34}},
                               {4, 40, 21, {43, 42, 90}},
                               {3, 43, 46, {46, 200, 47}},
                               {3, 48, 40, {300, 48}},
                               {4, 50, 50, {50, 400, 51, 100}},
                               {4, 36, 0, {80, 36}},
                               {3, 64, 0, {200, 64}},
                               {3, 0, 64, {200, 64}},
                               {3, 64, 64, {64, 300, 65}},
                               {3, 65, 64, {86, 86, 85}},
                               {3, 65, 70, {300, 70}},
                               {3, 3, 68, {200, 68, 69}},
                               {3, 72, 50, {150, 72, 73}},
                               {3, 96, 96, {96, 400, 97}},
                               {3, 10, 128, {300, 128}},
                               {2, 128, 128, {600, 128}},
                               {2, 129, 129, {500, 129}},
                               {2, 32, 256, {500, 256}},
                               {2, 200, 130, {500, 200}},
                               {2, 256, 256, {800, 257}},
                               {1, 340, 340, {700}},
                               {2, 512, 20, {600, 512}},
                               {2, 512, 512, {1100, 512}}};

/* One shape, all kinds of matrices and of bands */
static void TestShape(const Shape &sh)
{
  const PetscInt K = PetscMax(sh.kl, sh.ku);

  for (PetscInt kind = 0; kind < NKINDS; kind++)
    for (int precision = PETSC_SPIKE_PRECISION_DOUBLE; precision <= PETSC_SPIKE_PRECISION_FP16; precision++)
      for (int coupled = 0; coupled < 2; coupled++) {
        Problem   pr;
        PetscBool short_ = PETSC_FALSE;

        for (int i = 0; i < 4; i++) short_ = (PetscBool)(short_ || (sh.sizes[i] && sh.sizes[i] < K));
        if (coupled && (!K || short_ || !sh.sizes[0])) continue;
        if (K > 100 && kind != (coupled ? 1 : 3 - precision % 2)) continue; /* one of each, for time */
        /* the same places as in single precision */
        if (precision > PETSC_SPIKE_PRECISION_SINGLE && kind == 2) continue;
        MakeProblem(sh, kind, (PetscSpikePrecision)precision, (PetscBool)coupled, pr);
        TestProblem(pr, 1e-13, 0.0, true);
      }
}

/* Rows that cannot be eliminated, with and without boosting, and values that are not numbers; up to precision `last` */
static void TestPivots(const Shape &sh, int last)
{
  for (int precision = PETSC_SPIKE_PRECISION_DOUBLE; precision <= last; precision++)
    for (int what = 0; what < 7; what++) {
      Problem        pr;
      PetscReal      tol = 1e-10, boost = 0.0;
      PetscInt       bad[2];
      const PetscInt ld = sh.kl + sh.ku + 1;

      MakeProblem(sh, 0, (PetscSpikePrecision)precision, PETSC_FALSE, pr);
      if (!pr.n) continue;
      bad[0] = pr.start[pr.np / 2] +
               (PetscInt)((Uniform() + 1) * 0.5 * (pr.start[pr.np / 2 + 1] - pr.start[pr.np / 2]));
      bad[1] = pr.n - 1;
      for (int b = 0; b < 2; b++) {
        const PetscInt i = bad[b];

        for (PetscInt d = -sh.kl; d <= sh.ku; d++) {
          if (i + d < 0 || i + d >= pr.n) continue;
          PetscScalar &v = pr.a[(size_t)i * ld + d + sh.kl];

          if (what < 3) v = 0.0; /* a row of zeros */
          else if (d) continue;
          else if (what == 3) v = PetscScalar(NAN);
          else if (what == 4) v = PetscScalar(INFINITY);
          else if (what == 5)
            v = PetscScalar(1e-5) * (v / PetscAbsScalar(v)); /* small: a bad pivot in a triangular matrix only */
        }
      }
      if (what == 1) boost = 10.0;
      if (what == 2) tol = boost = 0.5; /* padding has ones, and the bad row gets one half */
      if (what == 5) {
        if (sh.kl && sh.ku) continue;
        tol = 1e-3;
      }
      if (what == 6) tol = 1e6; /* above every pivot, and above the ones after the ends */
      for (PetscInt r = 0; r < pr.n; r++)
        for (PetscInt k = pr.ai[0][r]; k < pr.ai[0][r + 1]; k++)
          pr.aa[0][k] = pr.a[(size_t)r * ld + pr.aj[0][k] - r + sh.kl];
      TestProblem(pr, tol, boost, what < 3 || what > 4);
    }
}

/* Values that lower precisions cannot hold */
static void TestOverflow(void)
{
#if !defined(PETSC_USE_REAL_SINGLE)
  const Shape sh = {3, 4, 3, {20, 30}};

  for (int precision = PETSC_SPIKE_PRECISION_DOUBLE; precision <= PETSC_SPIKE_PRECISION_FP16; precision++) {
    Problem pr;

    MakeProblem(sh, 0, (PetscSpikePrecision)precision, PETSC_FALSE, pr);
    pr.aa[0][pr.ai[0][41]]                         = 1e39;
    pr.a[41 * 8 + pr.aj[0][pr.ai[0][41]] - 41 + 4] = 1e39;
    pr.aa[0][pr.ai[0][55]]                         = 1e300;
    TestProblem(pr, 1e-10, 0.0, false);
  }
#endif
}

/*
  Partitions of a row or two, more of them than a fill has thread blocks, without a long one and with it; long ones of
  half-bandwidths that are no multiple of 8. Numbers of 16 bits are too small for the former
*/
static void TestManyPartitions(void)
{
  const Shape many[] = {{100, 20, 20, {1, 2}}, {100, 20, 20, {210, 1, 2, 1}}, {6, 17, 17, {17, 200, 18}}};
  Problem     pr;

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(many); i++)
    for (int precision = PETSC_SPIKE_PRECISION_DOUBLE; precision <= PETSC_SPIKE_PRECISION_SINGLE; precision++) {
      MakeProblem(many[i], 0, (PetscSpikePrecision)precision, (PetscBool)(many[i].sizes[0] == 17), pr);
      TestProblem(pr, 1e-13, 0.0, true);
    }
}

/* Long partitions whose rows have any numbers of entries, all in the band; and as many as there are banks of memory */
static void TestRowLengths(PetscInt kl, PetscInt ku)
{
  const Shape many[] = {{5, 17, 17, {180, 260, 181}}, {3, 24, 24, {250, 241}}, {4, 25, 25, {260, 330, 26}},
                        {3, 31, 16, {330, 321}},      {3, 15, 32, {350, 320}}, {5, 32, 32, {32, 320, 64, 333}},
                        {3, 0, 29, {330, 31}},        {3, 29, 0, {330, 31}}};
  Problem     pr;

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(many); i++)
    for (int kind = 0; kind <= 4; kind += 4)
      for (int coupled = 0; coupled < 2; coupled++) {
        if (kl >= 0 && (many[i].kl != kl || many[i].ku != ku)) continue;
        MakeProblem(many[i], kind, PETSC_SPIKE_PRECISION_DOUBLE, (PetscBool)coupled, pr);
        TestProblem(pr, 1e-13, 0.0, true);
      }
}

/* A row with entries in all columns: no map */
static void TestFullRow(void)
{
  const Shape    sh = {3, 1, 1, {900}};
  Problem        pr;
  const PetscInt i = 1300;

  MakeProblem(sh, 0, PETSC_SPIKE_PRECISION_DOUBLE, PETSC_TRUE, pr);
  pr.full = PETSC_TRUE;
  for (PetscInt j = 0; j < pr.n; j++) {
    if (PetscAbsInt(i - j) <= 1) continue;
    pr.aj[0].insert(pr.aj[0].begin() + pr.ai[0][i + 1], j);
    pr.aa[0].insert(pr.aa[0].begin() + pr.ai[0][i + 1], Random());
    for (PetscInt r = i; r < pr.n; r++) pr.ai[0][r + 1]++;
  }
  TestProblem(pr, 1e-13, 0.0, true);
}

int main(int argc, char **argv)
{
  int      devices = 0, failed = 0;
  PetscInt most = 512, only[2] = {-1, -1}, two = 2;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20240607;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-only", only, &two, NULL));
  if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "ok 1 - CUDA backend # SKIP no GPU on this machine\n1..1\n"));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(shapes); i++) {
    if (PetscMax(shapes[i].kl, shapes[i].ku) > most ||
        (only[0] >= 0 && (shapes[i].kl != only[0] || shapes[i].ku != only[1])))
      continue;
    TestShape(shapes[i]);
    if (PetscMax(shapes[i].kl, shapes[i].ku) <= 130) TestPivots(shapes[i], PETSC_SPIKE_PRECISION_FP16);
    else if (shapes[i].kl == 256)
      TestPivots(shapes[i], PETSC_SPIKE_PRECISION_DOUBLE); /* by clusters of thread blocks */
  }
  TestRowLengths(only[0], only[1]);
  if (only[0] < 0) {
    TestOverflow();
    TestManyPartitions();
    TestFullRow();
  }
  for (int i = 0; i < NTOPICS; i++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s %d - cuda: %s # %" PetscInt_FMT " cases",
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
