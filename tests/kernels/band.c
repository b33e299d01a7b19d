/* SPDX-License-Identifier: BSD-2-Clause */
/*
  band.c: tests of the host kernels on one band block, for every instruction set of this processor and all precisions;
  prints TAP
*/
static char
  help[] = "Tests of the host band kernels against definitions, LAPACK and their contract (src/kernels/host/band.h).\n\
  -isa <all>   base, v3, v4 or all that this processor has\n\n";

#include "band_block.h"
#include "../lapackgb.h"

/*
  against xGBTRF: relative to 1 for L, to the largest entry for U; dominance 2 keeps the growth below 2 and the
  condition below 4
*/
static PetscErrorCode LAPACKError(const Ctx *c, const Block *b, const Wide *a, PetscScalar *gb, PetscBLASInt *ipiv,
                                  double *worst)
{
  PetscBLASInt n, kl, ku, ld, info;
  double       scale = 1;

  PetscFunctionBegin;
  *worst = 0;
  if (!b->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(b->n, &n));
  PetscCall(PetscBLASIntCast(b->kl, &kl));
  PetscCall(PetscBLASIntCast(b->ku, &ku));
  ld = 2 * kl + ku + 1;
  PetscCall(PetscArrayzero(gb, (size_t)n * ld));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++) {
      gb[(size_t)j * ld + kl + ku + i - j] = (PetscScalar)a[PlaceOf(b, i, j)];
      scale                                = PetscMax(scale, Abs(a[PlaceOf(b, i, j)]));
    }
  }
  LAPACKgbtrf_(&n, &n, &kl, &ku, gb, &ld, ipiv, &info);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "xGBTRF: info %d", (int)info);
  for (PetscInt j = 0; j < n; j++) {
    PetscCheck(ipiv[j] == j + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "xGBTRF exchanged row %" PetscInt_FMT ": the test matrix is wrong", j);
    for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++) {
      const Wide   ref = gb[(size_t)j * ld + kl + ku + i - j];
      const double e   = i > j ? Abs(LowerAt(c, b, i, j) - ref) : Abs(UpperAt(c, b, i, j) - ref) / scale;
      const double r   = e / (8 * PetscMax(c->epsF, c->epsS) * Terms(c, PetscMin(kl, ku)));

      if (!(r <= *worst)) *worst = r;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  SWEEP_LOWER,
  SWEEP_UPPER,
  SWEEP_UPPER_T,
  SWEEP_LOWER_T,
  NSWEEPS
};
static const char *const sweepnames[] = {"lower", "upper", "upper_t", "lower_t"};

static SpikeBandFactors Factors(const Block *b)
{
  return SpikeBandWhole(b->n, b->kl, b->ku, b->f);
}

static void SweepFactors(const Ctx *c, PetscInt which, SpikeBandFactors f, PetscInt nrhs, const PetscScalar *rhs,
                         PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  if (which == SWEEP_UPPER || which == SWEEP_LOWER_T) {
    for (PetscInt r = 0; r < nrhs; r++)
      for (PetscInt i = 0; i < f.rows; i++) x[r * ldx + i] = rhs[r * ldb + i];
  }
  if (which == SWEEP_LOWER) c->ops->lower(f, 0, f.rows, nrhs, rhs, ldb, x, ldx);
  else if (which == SWEEP_UPPER) c->ops->upper(f, 0, f.rows, nrhs, x, ldx);
  else if (which == SWEEP_UPPER_T) c->ops->upper_t(f, nrhs, rhs, ldb, x, ldx);
  else c->ops->lower_t(f, 0, f.rows, nrhs, x, ldx);
}

static void Sweep(const Ctx *c, PetscInt which, const Block *b, PetscInt nrhs, const PetscScalar *rhs, PetscCount ldb,
                  PetscScalar *x, PetscCount ldx)
{
  SweepFactors(c, which, Factors(b), nrhs, rhs, ldb, x, ldx);
}

/*
  max |M x - b| / (gamma (|M| |x| + |b|)) with M the triangular matrix of the sweep, or A (A^T) when which is NSWEEPS
  (NSWEEPS + 1)
*/
static double SweepError(const Ctx *c, PetscInt which, const Block *b, const Wide *a, const PetscScalar *rhs,
                         const PetscScalar *x)
{
  double worst = 0;

  for (PetscInt i = 0; i < b->n; i += EVERY) {
    Wide   s  = -(Wide)rhs[i];
    double as = Abs(s), r;

    for (PetscInt j = PetscMax(0, i - b->kl - b->ku); j <= PetscMin(b->n - 1, i + b->kl + b->ku); j++) {
      const PetscBool trans = (PetscBool)(which == SWEEP_UPPER_T || which == SWEEP_LOWER_T || which == NSWEEPS + 1);
      const PetscInt  ii = trans ? j : i, jj = trans ? i : j;
      Wide            m;

      if (!Inside(b->n, b->kl, b->ku, ii, jj)) continue;
      if (which >= NSWEEPS) m = a[PlaceOf(b, ii, jj)];
      else if (which == SWEEP_LOWER || which == SWEEP_LOWER_T) m = ii >= jj ? LowerAt(c, b, ii, jj) : 0;
      else m = ii <= jj ? UpperAt(c, b, ii, jj) : 0;
      s += m * x[j];
      as += Abs(m * x[j]);
    }
    r = Abs(s) /
        ((which >= NSWEEPS ? 4 * PetscMax(c->epsF, c->epsS) * Terms(c, b->kl + b->ku) : c->epsS * (8 + b->kl + b->ku)) *
         (as + DBL_MIN));
    if (!(r <= worst)) worst = r;
  }
  return worst;
}

#define SENTINEL ((PetscScalar)1048575)

/* what is counted beside the sweeps themselves */
enum {
  TEST_SOLVES = NSWEEPS,
  TEST_SOLVES_T,
  TEST_LAPACKS,
  TEST_EXTENT,
  TEST_INPLACE,
  TEST_RANGES,
  TEST_SAMEBITS,
  TEST_COLUMNS
};

/* A x = b and A^T x = b, against the definition and against LAPACK, which solves in z */
static PetscErrorCode TestSolves(const Ctx *c, const Block *b, const Wide *a, const PetscScalar *gb,
                                 const PetscBLASInt *ipiv, PetscInt nrhs, const PetscScalar *rhs, PetscCount ldb,
                                 PetscScalar *x, PetscScalar *z, PetscCount ldx, PetscInt ncases[], PetscInt nbad[],
                                 double worst[])
{
  const PetscInt n = b->n;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < 2; t++) {
    double e = 0, el = 0;

    Sweep(c, t ? SWEEP_UPPER_T : SWEEP_LOWER, b, nrhs, rhs, ldb, x, ldx);
    Sweep(c, t ? SWEEP_LOWER_T : SWEEP_UPPER, b, nrhs, x, ldx, x, ldx);
    for (PetscInt r = 0; r < nrhs; r++) {
      const double er = SweepError(c, NSWEEPS + t, b, a, rhs + r * ldb, x + r * ldx);

      if (!(er <= e)) e = er;
      for (PetscInt i = 0; i < n; i++) z[r * ldx + i] = rhs[r * ldb + i];
    }
    if (n && nrhs) {
      const PetscBLASInt bn = (PetscBLASInt)n, bkl = (PetscBLASInt)b->kl, bku = (PetscBLASInt)b->ku,
                         bm = (PetscBLASInt)nrhs, bld = 2 * bkl + bku + 1, bldx = (PetscBLASInt)ldx;
      PetscBLASInt info;
      double       xmax = 0;

      LAPACKgbtrs_(t ? "T" : "N", &bn, &bkl, &bku, &bm, gb, &bld, ipiv, z, &bldx, &info);
      PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "xGBTRS: info %d", (int)info);
      for (PetscInt r = 0; r < nrhs; r++)
        for (PetscInt i = 0; i < n; i++) xmax = PetscMax(xmax, Abs(z[r * ldx + i]));
      for (PetscInt r = 0; r < nrhs; r++) {
        for (PetscInt i = 0; i < n; i++) {
          const double er = Abs((Wide)z[r * ldx + i] - x[r * ldx + i]) /
                            (4 * PetscMax(c->epsF, c->epsS) * Terms(c, b->kl + b->ku) * xmax);

          if (!(er <= el)) el = er;
        }
      }
    }
    ncases[TEST_SOLVES + t]++;
    if (!(e <= 1)) {
      nbad[TEST_SOLVES + t]++;
      Diagnose("solve", b, nrhs, e);
    }
    if (!(e <= worst[TEST_SOLVES + t])) worst[TEST_SOLVES + t] = e;
    ncases[TEST_LAPACKS]++;
    if (!(el <= 1)) {
      nbad[TEST_LAPACKS]++;
      Diagnose("solve against LAPACK", b, nrhs, el);
    }
    if (!(el <= worst[TEST_LAPACKS])) worst[TEST_LAPACKS] = el;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all sweeps of one factored block with one number of right-hand sides */
static PetscErrorCode TestSweeps(const Ctx *c, const Block *b, const Wide *a, const PetscScalar *gb,
                                 const PetscBLASInt *ipiv, PetscInt nrhs, PetscInt ncases[], PetscInt nbad[],
                                 double worst[])
{
  const PetscInt   n   = b->n;
  const PetscCount ldb = n + 3, ldx = n + 5;
  PetscScalar     *rhs, *x, *y, *z;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(ldb * (nrhs + 1), &rhs, ldx * (nrhs + 1), &x, ldx * (nrhs + 1), &y, ldx * (nrhs + 1), &z));
  for (PetscCount i = 0; i < ldb * (nrhs + 1); i++) rhs[i] = (PetscScalar)RandomWide();
  for (PetscInt w = 0; w < NSWEEPS; w++) {
    double    e      = 0;
    PetscBool extent = PETSC_TRUE;

    for (PetscCount i = 0; i < ldx * (nrhs + 1); i++) x[i] = SENTINEL;
    Sweep(c, w, b, nrhs, rhs, ldb, x, ldx);
    for (PetscInt r = 0; r < nrhs; r++) {
      const double er = SweepError(c, w, b, a, rhs + r * ldb, x + r * ldx);

      if (!(er <= e)) e = er;
    }
    ncases[w]++;
    if (!(e <= 1)) {
      nbad[w]++;
      Diagnose(sweepnames[w], b, nrhs, e);
    }
    if (!(e <= worst[w])) worst[w] = e;
    /* nothing after n and after the last column */
    for (PetscCount i = 0; i < ldx * (nrhs + 1); i++)
      if ((i / ldx == nrhs || i % ldx >= n) && x[i] != SENTINEL) extent = PETSC_FALSE;
    ncases[TEST_EXTENT]++;
    if (!extent) {
      nbad[TEST_EXTENT]++;
      Diagnose("written outside of x", b, nrhs, w);
    }
    /* b may be x: the same bits */
    for (PetscInt r = 0; r < nrhs; r++)
      for (PetscInt i = 0; i < n; i++) y[r * ldx + i] = rhs[r * ldb + i];
    Sweep(c, w, b, nrhs, y, ldx, y, ldx);
    ncases[TEST_INPLACE]++;
    for (PetscInt r = 0; r < nrhs; r++) {
      if (memcmp(x + r * ldx, y + r * ldx, n * sizeof(*x))) {
        nbad[TEST_INPLACE]++;
        Diagnose("in place", b, nrhs, w);
        break;
      }
    }
    /* consecutive ranges of a sweep: the same bits as the whole */
    if (w != SWEEP_UPPER_T) {
      for (PetscInt cut = 0; cut < 6; cut++) {
        PetscInt hi = n;

        for (PetscInt r = 0; r < nrhs; r++)
          for (PetscInt i = 0; i < n; i++) y[r * ldx + i] = rhs[r * ldb + i];
        while (hi > 0) {
          const PetscInt step[] =
            {1, 3, 7, 8, PetscMax(1, PetscMax(b->kl, b->ku)), 1 + (PetscInt)(10 * (1 + Uniform()))};
          const PetscInt lo = PetscMax(0, hi - (cut == 4 && hi < n ? n : step[cut]));

          if (w == SWEEP_UPPER) c->ops->upper(Factors(b), lo, hi, nrhs, y, ldx);
          else if (w == SWEEP_LOWER) c->ops->lower(Factors(b), n - hi, n - lo, nrhs, y, ldx, y, ldx);
          else c->ops->lower_t(Factors(b), lo, hi, nrhs, y, ldx);
          hi = lo;
        }
        ncases[TEST_RANGES]++;
        for (PetscInt r = 0; r < nrhs; r++) {
          if (memcmp(x + r * ldx, y + r * ldx, n * sizeof(*x))) {
            nbad[TEST_RANGES]++;
            Diagnose("ranges", b, nrhs, 10 * w + cut);
            break;
          }
        }
      }
    }
    /* the same call twice: the same bits */
    for (PetscCount i = 0; i < ldx * (nrhs + 1); i++) y[i] = SENTINEL;
    Sweep(c, w, b, nrhs, rhs, ldb, y, ldx);
    ncases[TEST_SAMEBITS]++;
    if (memcmp(x, y, ldx * (nrhs + 1) * sizeof(*x))) {
      nbad[TEST_SAMEBITS]++;
      Diagnose("not deterministic", b, nrhs, w);
    }
    /* one column alone: the same bits */
    for (PetscInt r = nrhs - 1; r >= 0; r -= PetscMax(1, nrhs / 3)) {
      Sweep(c, w, b, 1, rhs + r * ldb, ldb, y, ldx);
      ncases[TEST_COLUMNS]++;
      if (memcmp(x + r * ldx, y, n * sizeof(*x))) {
        nbad[TEST_COLUMNS]++;
        Diagnose("column alone", b, nrhs, w);
        break;
      }
    }
  }
  PetscCall(TestSolves(c, b, a, gb, ipiv, nrhs, rhs, ldb, x, z, ldx, ncases, nbad, worst));
  PetscCall(PetscFree4(rhs, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bandwidths: every specialised width, both sides of every threshold, kl different from ku, none at all */
static const PetscInt bands[][2] = {
  {0, 0},  {0, 1},  {1, 0},  {0, 5},   {5, 0},   {1, 1},   {1, 2},   {2, 1},    {2, 2},     {3, 3},
  {4, 4},  {2, 7},  {6, 5},  {8, 8},   {8, 9},   {9, 9},   {12, 7},  {7, 16},   {16, 16},   {1, 40},
  {40, 1}, {0, 20}, {20, 0}, {17, 33}, {32, 32}, {50, 64}, {65, 47}, {70, 130}, {128, 128},
};
static const PetscInt rhss[] = {0, 1, 2, 7, 8, 9, 17, 33};

/* the largest size has many panels of every band; under AddressSanitizer it has still more than one */
#if defined(__SANITIZE_ADDRESS__)
  #define LARGE 300
#else
  #define LARGE 1000
#endif
#define CHUNKS 2100 /* has whole chunks of factors of half-bandwidth 9 too, and a rest */

/* sizes for one band: small ones, around the bandwidth, around the tiles of the kernels, large */
static PetscInt TestSizes(PetscInt k, PetscInt n[])
{
  const PetscInt all[] = {0,  1,  2,  3,  5,  k - 1, k,  k + 1, 2 * k, 2 * k + 1, 7,  8,   9,     15,
                          16, 17, 31, 32, 33, 47,    48, 49,    63,    64,        65, 100, LARGE, CHUNKS};
  PetscInt       m     = 0;

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    /* chunks of narrow bands have many columns */
    PetscBool have = (PetscBool)(all[i] < 0 || (all[i] == CHUNKS && k > 20));

    for (PetscInt j = 0; j < m; j++) have = (PetscBool)(have || n[j] == all[i]);
    if (!have) n[m++] = all[i];
  }
  return m;
}

/* factors and sweeps of random dominant bands of all shapes */
static PetscErrorCode TestShapes(const Ctx *c)
{
  static const char *const names[] = {"lower sweep",
                                      "upper sweep",
                                      "upper_t sweep",
                                      "lower_t sweep",
                                      "solve",
                                      "transposed solve",
                                      "solves equal LAPACK's",
                                      "sweeps write x only, rows 0 to n - 1",
                                      "sweeps in place give the same bits",
                                      "ranges of backward sweeps give the same bits",
                                      "sweeps are deterministic",
                                      "a column has the same bits alone and with others",
                                      "L U = A",
                                      "factors equal LAPACK's",
                                      "lu keeps pads, guards and outside slots",
                                      "pads and outside slots have no influence"};
  enum {
    TEST_RECONSTRUCT = 12,
    TEST_VSLAPACK,
    TEST_INTACT,
    TEST_NOINFLUENCE,
    NPROPERTIES
  };
  PetscInt ncases[NPROPERTIES] = {0}, nbad[NPROPERTIES] = {0};
  double   worst[NPROPERTIES] = {0};

  PetscFunctionBegin;
  for (size_t ib = 0; ib < PETSC_STATIC_ARRAY_LENGTH(bands); ib++) {
    const PetscInt kl = bands[ib][0], ku = bands[ib][1];
    PetscInt       sizes[32], ns         = TestSizes(PetscMax(kl, ku), sizes);

    for (PetscInt is = 0; is < ns; is++) {
      const PetscInt n   = sizes[is];
      const Wide     nan = (Wide)__builtin_nan("");
      Block          b, b2;
      SpikeBandPivot piv;
      Wide          *a;
      PetscScalar   *gb;
      PetscBLASInt  *ipiv;
      double         e;
      PetscBool      intact;

      if (n > LARGE && PetscMin(kl, ku) <= SPIKE_NARROW) continue;
      /* column by column: nothing new happens there */
      if (n >= LARGE && c->precision > PETSC_SPIKE_PRECISION_SINGLE) continue;
      PetscCall(RandomBand(c, n, kl, ku, &a));
      PetscCall(PetscMalloc2((size_t)n * (2 * kl + ku + 1), &gb, n, &ipiv));
      PetscCall(BlockCreate(c, n, kl, ku, a, 0, &b));
      PetscCall(Factor(c, &b, 0, 0, &piv));
      PetscCheck(piv.badrow == -1 && piv.nboost == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Bad pivot %" PetscInt_FMT " in a dominant matrix", piv.badrow);
      e = ReconstructionError(c, &b, a);
      ncases[TEST_RECONSTRUCT]++;
      if (!(e <= 1)) {
        nbad[TEST_RECONSTRUCT]++;
        Diagnose("L U = A", &b, 0, e);
      }
      if (!(e <= worst[TEST_RECONSTRUCT])) worst[TEST_RECONSTRUCT] = e;
      PetscCall(LAPACKError(c, &b, a, gb, ipiv, &e));
      ncases[TEST_VSLAPACK]++;
      if (!(e <= 1)) {
        nbad[TEST_VSLAPACK]++;
        Diagnose("against xGBTRF", &b, 0, e);
      }
      if (!(e <= worst[TEST_VSLAPACK])) worst[TEST_VSLAPACK] = e;
      ncases[TEST_INTACT]++;
      PetscCall(BlockIntact(c, &b, PETSC_TRUE, 0, &intact));
      if (!intact) {
        nbad[TEST_INTACT]++;
        Diagnose("outside of the matrix", &b, 0, 0);
      }
      /* NaN all around: the same bits inside, and NaN still all around */
      PetscCall(BlockCreate(c, n, kl, ku, a, nan, &b2));
      PetscCall(Factor(c, &b2, 0, 0, &piv));
      ncases[TEST_NOINFLUENCE]++;
      for (PetscInt j = 0; j < n; j++) {
        PetscBool same = PETSC_TRUE;

        for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++) {
          const PetscCount at = FactorAt(c, &b, i, j) * (PetscCount)c->ops->size;

          if (memcmp(b.f + at, b2.f + at, c->ops->size)) same = PETSC_FALSE;
        }
        if (!same) {
          nbad[TEST_NOINFLUENCE]++;
          Diagnose("NaN outside of the matrix", &b, 0, j);
          break;
        }
      }
      ncases[TEST_INTACT]++;
      PetscCall(BlockIntact(c, &b2, PETSC_TRUE, nan, &intact));
      if (!intact) {
        nbad[TEST_INTACT]++;
        Diagnose("NaN outside of the matrix", &b, 0, 0);
      }
      /* the sweeps run with NaN around the factors */
      for (size_t ir = 0; ir < PETSC_STATIC_ARRAY_LENGTH(rhss); ir++) {
        if (rhss[ir] > 9 && (n > LARGE || (n == LARGE && kl + ku > 20))) continue;
        PetscCall(TestSweeps(c, &b2, a, gb, ipiv, rhss[ir], ncases, nbad, worst));
      }
      PetscCall(BlockDestroy(&b));
      PetscCall(BlockDestroy(&b2));
      PetscCall(PetscFree2(gb, ipiv));
      PetscCall(PetscFree(a));
    }
  }
  for (PetscInt t = 0; t < NPROPERTIES; t++)
    Report(c, names[t], ncases[t], nbad[t], (t >= 7 && t < TEST_RECONSTRUCT) || t > TEST_VSLAPACK ? -1 : worst[t]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  rows and columns lo .. lo + m - 1 of a matrix are a block themselves, to be factored in place; those of its factors
  are the factors of a block
*/
static PetscErrorCode TestSubBlocks(const Ctx *c)
{
  PetscInt ncases[2] = {0, 0}, nbad[2] = {0, 0};

  PetscFunctionBegin;
  for (size_t ib = 0; ib < PETSC_STATIC_ARRAY_LENGTH(bands); ib++) {
    const PetscInt kl = bands[ib][0], ku = bands[ib][1], ch = (PetscInt)SpikeBandChunk(kl, ku, c->ops->size),
                   n = 3 * PetscMax(kl, ku) + 20 + (ch <= 1024 ? 2 * ch : 0), ld = kl + ku + 1;
    const PetscInt half = ch / 2 % n, cut = PetscMax(half, ch <= 1024 ? ch : 0), after = ch % n + 3;
    PetscInt       sub[][2] = {{0, 1},
                               {0, n / 2},
                               {1, n - 1},
                               {kl + ku, n - kl - ku},
                               {n - 1, 1},
                               {n / 2, n - n / 2},
                               {after, n - after - 2},
                               {half, n - cut}};

    for (size_t is = 0; is < PETSC_STATIC_ARRAY_LENGTH(sub); is++) {
      const PetscInt lo = sub[is][0], m = PetscMax(0, sub[is][1]);
      Block          whole, before, part, view;
      SpikeBandPivot piv;
      Wide          *a;
      PetscScalar   *rhs, *x[2];
      PetscBool      bad[2] = {PETSC_FALSE, PETSC_FALSE};

      PetscCall(RandomBand(c, n, kl, ku, &a));
      PetscCall(BlockCreate(c, n, kl, ku, a, 0, &whole));
      PetscCall(BlockCreate(c, n, kl, ku, a, 0, &before));
      PetscCall(BlockCreate(c, m, kl, ku, a + (size_t)lo * ld, 0, &part));
      view   = whole;
      view.n = m;
      view.f = whole.f + (size_t)lo * ld * c->ops->size;
      PetscCall(Factor(c, &view, 0, 0, &piv));
      PetscCall(Factor(c, &part, 0, 0, &piv));
      for (PetscInt j = 0; j < m; j++) { /* inside as alone, columns outside untouched */
        for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(m - 1, j + kl); i++) {
          const PetscCount at = FactorAt(c, &part, i, j) * (PetscCount)c->ops->size;

          if (memcmp(view.f + at, part.f + at, c->ops->size)) bad[0] = PETSC_TRUE;
        }
      }
      if (memcmp(whole.start, before.start, (size_t)(view.f - whole.start)) ||
          memcmp(view.f + part.len * c->ops->size, before.f + ((size_t)lo * ld + part.len) * c->ops->size,
                 ((size_t)(n - lo - m) * ld + whole.pad) * c->ops->size))
        bad[0] = PETSC_TRUE;
      /* the whole factored, and what of its factors belongs to the sub-block in a block of its own, with NaN around */
      PetscCall(BlockDestroy(&part));
      PetscCall(BlockCreate(c, m, kl, ku, a + (size_t)lo * ld, (Wide)__builtin_nan(""), &part));
      PetscCall(Factor(c, &before, 0, 0, &piv));
      for (PetscInt j = 0; j < m; j++)
        for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(m - 1, j + kl); i++)
          Put(c, part.f, FactorAt(c, &part, i, j), Get(c, before.f, FactorAt(c, &before, lo + i, lo + j)));
      PetscCall(PetscMalloc3(m * 9, &rhs, m * 9, &x[0], m * 9, &x[1]));
      for (PetscInt i = 0; i < m * 9; i++) rhs[i] = (PetscScalar)RandomWide();
      for (PetscInt nrhs = 1; nrhs <= 9; nrhs += 4) {
        for (PetscInt w = 0; w < NSWEEPS; w++) {
          SweepFactors(c, w, SpikeBandPart(Factors(&before), lo, m), nrhs, rhs, m, x[0], m);
          Sweep(c, w, &part, nrhs, rhs, m, x[1], m);
          if (memcmp(x[0], x[1], m * nrhs * sizeof(PetscScalar))) bad[1] = PETSC_TRUE;
        }
      }
      PetscCall(PetscFree3(rhs, x[0], x[1]));
      for (PetscInt t = 0; t < 2; t++) {
        ncases[t]++;
        if (bad[t]) {
          nbad[t]++;
          Diagnose(t ? "part of the factors" : "sub-block", &view, 0, (double)lo);
        }
      }
      PetscCall(BlockDestroy(&whole));
      PetscCall(BlockDestroy(&before));
      PetscCall(BlockDestroy(&part));
      PetscCall(PetscFree(a));
    }
  }
  Report(c, "a sub-block is a block", ncases[0], nbad[0], -1);
  Report(c, "a part of the factors is the factors of a block", ncases[1], nbad[1], -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* decoupled row r with a given diagonal: its pivot is that diagonal, wherever the blocks of the algorithm lie */
static PetscErrorCode TestPivots(const Ctx *c)
{
  static const char *const names[] = {"bad pivots stop lu and are reported", "bad pivots are boosted and counted",
                                      "pivots that are not finite are never boosted"};
  const PetscReal          tol = (PetscReal)1e-6, boost = (PetscReal)0.0625;
  PetscInt                 ncases[3] = {0}, nbad[3] = {0};

  PetscFunctionBegin;
  for (size_t ib = 0; ib < PETSC_STATIC_ARRAY_LENGTH(bands); ib++) {
    const PetscInt kl = bands[ib][0], ku = bands[ib][1], ch = (PetscInt)SpikeBandChunk(kl, ku, c->ops->size),
                   n      = 75 + (ch <= 128 ? ch : 0);
    const PetscInt rows[] = {0, 1, 6, 7, 8, 15, 16, 31, 32, 40, 47, 48, n - 2, n - 1};

    for (size_t ir = 0; ir < PETSC_STATIC_ARRAY_LENGTH(rows); ir++) {
      const double values[] = {0, 1e-7, -1e-7, -0.0, __builtin_nan(""), __builtin_inf(), -__builtin_inf()};

      for (size_t iv = 0; iv < PETSC_STATIC_ARRAY_LENGTH(values); iv++) {
        const PetscInt  r      = rows[ir];
        const PetscBool finite = (PetscBool)(values[iv] - values[iv] == 0);
        Block           b;
        SpikeBandPivot  piv;
        Wide           *a;

        PetscCall(RandomBand(c, n, kl, ku, &a));
        b.n = n, b.kl = kl, b.ku = ku;
        for (PetscInt j = 0; j < n; j++) {
          if (Inside(n, kl, ku, r, j)) a[PlaceOf(&b, r, j)] = 0;
          if (Inside(n, kl, ku, j, r)) a[PlaceOf(&b, j, r)] = 0;
        }
        a[PlaceOf(&b, r, r)] = (Wide)values[iv];
        for (PetscInt t = 0; t < 2; t++) { /* stop, boost */
          PetscBool      ok, intact;
          const PetscInt test = !finite ? 2 : t;

          PetscCall(BlockCreate(c, n, kl, ku, a, 0, &b));
          PetscCall(Factor(c, &b, tol, t ? boost : 0, &piv));
          if (t == 0 || !finite) {
            ok = (PetscBool)(piv.badrow == r && piv.nboost == 0);
            if (finite)
              ok = (PetscBool)(ok && Abs((Wide)piv.badvalue - Abs(values[iv])) <=
                                       PetscMax(PetscMax(1e-6, c->epsF) * 1e-7, c->tiny));
            else ok = (PetscBool)(ok && !(piv.badvalue - piv.badvalue == 0));
          } else {
            const double p = values[iv] < 0 ? -(double)boost : (double)boost;

            ok                   = (PetscBool)(piv.badrow == -1 && piv.nboost == 1 &&
                             Abs(Get(c, b.f, FactorAt(c, &b, r, r)) - (Wide)(1 / p)) <= 4 * c->epsF / boost);
            a[PlaceOf(&b, r, r)] = p;
            ok                   = (PetscBool)(ok && ReconstructionError(c, &b, a) <= 1);
            a[PlaceOf(&b, r, r)] = (Wide)values[iv];
          }
          PetscCall(BlockIntact(c, &b, (PetscBool)(piv.badrow < 0), 0, &intact));
          ok = (PetscBool)(ok && intact);
          ncases[test]++;
          if (!ok) {
            nbad[test]++;
            if (nbad[test] < 20) Diagnose(names[test], &b, r, values[iv]);
          }
          PetscCall(BlockDestroy(&b));
        }
        PetscCall(PetscFree(a));
      }
    }
  }
  for (PetscInt t = 0; t < 3; t++) Report(c, names[t], ncases[t], nbad[t], -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pivots far from 1 in both directions: products of them must neither overflow nor underflow inside lu */
static PetscErrorCode TestScaling(const Ctx *c)
{
  PetscInt ncases = 0, nbad = 0;
  double   worst = 0;

  PetscFunctionBegin;
  for (size_t ib = 0; ib < PETSC_STATIC_ARRAY_LENGTH(bands); ib++) {
    for (PetscInt e = -1; e <= 1; e++) {
      const PetscInt kl = bands[ib][0], ku = bands[ib][1], n = 60;
      const double   most = c->precision == PETSC_SPIKE_PRECISION_FP16                      ? 8
                          : c->precision == PETSC_SPIKE_PRECISION_DOUBLE && c->epsS < 1e-10 ? 1e200
                                                                                            : 1e30,
                   scale  = e < 0 ? 1 / most : most;
      Block          b;
      SpikeBandPivot piv;
      Wide          *a;
      double         err;

      PetscCall(RandomBand(c, n, kl, ku, &a));
      b.n = n, b.kl = kl, b.ku = ku;
      if (e) { /* exact powers of two */
        const Wide p = (Wide)__builtin_exp2(__builtin_floor(__builtin_log2(scale)));

        for (size_t i = 0; i < (size_t)n * (kl + ku + 1); i++) a[i] *= p;
      } else { /* rows scaled by 4^-30 ... 4^30, or what fp16 has: the pivots go through the whole range */
        for (PetscInt j = 0; j < n; j++)
          for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++)
            a[PlaceOf(&b, i, j)] *= (Wide)__builtin_exp2(c->precision == PETSC_SPIKE_PRECISION_FP16 ? i / 15 - 2
                                                                                                    : 2 * (i - 30));
      }
      PetscCall(BlockCreate(c, n, kl, ku, a, 0, &b));
      PetscCall(Factor(c, &b, 0, 0, &piv));
      err = piv.badrow >= 0 ? 1e10 : ReconstructionError(c, &b, a);
      ncases++;
      if (!(err <= 1)) {
        nbad++;
        Diagnose("scaled", &b, e, err);
      }
      if (!(err <= worst)) worst = err;
      PetscCall(BlockDestroy(&b));
      PetscCall(PetscFree(a));
    }
  }
  Report(c, "large and small pivots", ncases, nbad, worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *isas[] = {"base", "v3", "v4", "all"};
  PetscInt           isa    = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20240607;
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Tests of the band kernels", NULL);
  PetscCall(PetscOptionsEList("-isa", "instruction set", NULL, isas, 4, isas[3], &isa, NULL));
  PetscOptionsEnd();
  for (PetscInt i = SPIKE_ISA_BASE; i <= SPIKE_ISA_V4; i++) {
    if (isa < 3 && i != isa) continue;
    if (!SpikeISASet((SpikeISA)i)) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "ok %d - %s # SKIP this processor lacks it\n", ++ntests, isas[i]));
      continue;
    }
    for (PetscInt p = PETSC_SPIKE_PRECISION_DOUBLE; p <= PETSC_SPIKE_PRECISION_FP16; p++) {
      const double eps[] = {DBL_EPSILON, FLT_EPSILON, 0x1p-7, 0x1p-10};
      Ctx          c;

      c.precision = (PetscSpikePrecision)p;
      c.ops       = SpikeBandGetOps(c.precision);
      c.epsF      = eps[p];
      c.tiny      = p == PETSC_SPIKE_PRECISION_FP16 ? 0x1p-24 : 0;
      c.epsS      = (double)PETSC_MACHINE_EPSILON;
      PetscCheck(c.ops->size == SpikePrecisionBytes(c.precision) * SPIKE_PARTS, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Wrong size of the factors");
      PetscCall(TestShapes(&c));
      PetscCall(TestSubBlocks(&c));
      PetscCall(TestPivots(&c));
      PetscCall(TestScaling(&c));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "1..%d\n", ntests));
  PetscCall(PetscFinalize());
  return nfailed ? 1 : 0;
}
