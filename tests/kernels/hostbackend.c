/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostbackend.c: tests of the host's table of kernels (src/kernels/band/band.h) from raw CSR, without PC: memory, fill,
  factor, sweep, permute
*/
static char
  help[] = "Tests of SpikeBandKernels_Host: memory, fill, factor, sweep, permute, against the contract and dense "
           "references.\n\n";

typedef enum {
  TEST_MEMORY,
  TEST_FILL,
  TEST_STATS,
  TEST_PIVOTS,
  TEST_SWEEP,
  TEST_PARTS,
  TEST_TIPS,
  TEST_RESERVE,
  TEST_PERMUTE,
  TEST_EXTENT,
  NTOPICS
} Topic;
static const char *const topics[] = {"create, destroy, bytes: no leak, also where an allocation fails",
                                     "fill: band and coupling blocks, bit by bit",
                                     "fill: sums, maxima and first rows",
                                     "factor: bad and boosted pivots",
                                     "sweep: residuals, plain and transposed",
                                     "sweep: head and tail, in place, ranges of partitions: the same bits",
                                     "sweep: tips",
                                     "reserve keeps everything",
                                     "permute there and back",
                                     "nothing written outside arrays, nothing allocated after create"};

#include "problem.h"

/*
  ---- create, destroy, bytes
  ----------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestMemory(const Problem *P)
{
  const PetscReal bytes = guard.bytes;
  SpikeBand       s;
  PetscReal       band = -1, extra = -1, other;
  PetscInt        made, before     = guard.nblocks;

  PetscFunctionBegin;
  BandShape(P, 2, &s);
  PetscCall((*s.k->destroy)(&s)); /* of nothing */
  PetscCall((*s.k->bytes)(&s, &band, &extra));
  made = guard.count;
  PetscCall((*s.k->create)(&s));
  made = guard.count - made;
  /*
    beside the numbers of the matrix it takes small change, and the work space of the factorization, which does not grow
    with n
  */
  other = 8192 + (PetscReal)((SpikeHost *)s.data)->ops->lu_worksize(P->kl, P->ku);
  Check(P, TEST_MEMORY,
        band > 0 && extra >= 0 && band + extra >= 0.98 * (guard.bytes - bytes) - other &&
            band + extra <= 1.1 * (guard.bytes - bytes) + other
          ? 0
          : (double)((band + extra) / (guard.bytes - bytes)) + 2);
  PetscCall((*s.k->destroy)(&s));
  Check(P, TEST_MEMORY, guard.nblocks - before + 1);
  PetscCall((*s.k->destroy)(&s));
  PetscCall(PetscPushErrorHandler(Ignore, NULL)); /* which allocates */
  before = guard.nblocks;
  for (PetscInt k = 1; k <= made; k++) {
    PetscErrorCode ierr;

    BandShape(P, 2, &s);
    guard.failat = guard.count + k;
    ierr         = (*s.k->create)(&s);
    guard.failat = 0;
    Check(P, TEST_MEMORY, ierr == PETSC_ERR_MEM ? 0 : 2);
    ierr = (*s.k->destroy)(&s);
    Check(P, TEST_MEMORY, ierr == PETSC_SUCCESS && guard.nblocks == before ? 0 : 2);
  }
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that Linux has available; 0 elsewhere */
static double Available(void)
{
  FILE  *file = fopen("/proc/meminfo", "r");
  char   line[128];
  double kilobytes = 0.0;

  while (file && fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %lf", &kilobytes) != 1)
    ;
  if (file) (void)fclose(file);
  return 1024 * kilobytes;
}

/*
  The memory that one can hope for is what is available, not all that there is; others may take or give 0.5 % meanwhile
*/
static void CheckAvailable(const Problem *P, const SpikeBandKernels *k)
{
  const double before = Available();
  PetscReal    bytes  = -1;

  PetscCallAbort(PETSC_COMM_SELF, (*k->memory)(&bytes));
  if (!(before > 0)) {
    Check(P, TEST_MEMORY, bytes > 0 ? 0 : 1e30);
  } else {
    const double after = Available();

    Check(P, TEST_MEMORY,
          bytes >= 0.995 * PetscMin(before, after) && bytes <= 1.005 * PetscMax(before, after) ? 0 : bytes / before);
  }
}

/* Sizes whose bytes pass all integers */
static PetscErrorCode TestBytes(PetscSpikePrecision precision)
{
  Shape     shape = {1, 1, 1, {1}};
  Problem   P;
  SpikeBand s;
  PetscReal band, extra, expect;
  PetscInt  start[2]  = {0, PETSC_INT32_MAX - 1};
  PetscBool active[2] = {PETSC_TRUE, PETSC_TRUE};

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&shape, DOMINANT, 3, precision, &P));
  BandShape(&P, 1, &s);
  s.n      = start[1];
  s.kl     = 2000000000;
  s.ku     = 2000000001;
  s.start  = start;
  s.active = active;
  PetscCall((*s.k->bytes)(&s, &band, &extra));
  expect = (PetscReal)SpikePrecisionBytes(precision) * (PetscDefined(USE_COMPLEX) ? 2 : 1) * (PetscReal)s.n *
           ((PetscReal)s.kl + s.ku + 1);
  Check(&P, TEST_MEMORY,
        band >= 0.999 * expect && band <= 1.001 * expect + (PetscReal)SpikePrecisionBytes(precision) * 1e12 &&
            extra >= 8.0 * s.kl * s.ku
          ? 0
          : (double)(band / expect));
  CheckAvailable(&P, s.k);
  PetscCall(PetscFree(P.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- fill
  ----------------------------------------------------------------------------------------------------------------
*/
static PetscScalar BandGet(const SpikeBand *s, PetscCount t)
{
  const SpikeHost *h = (const SpikeHost *)s->data;

  return SpikeHostGet(s->precision, h->first, t);
}

/* Band, B and C hold the matrix and nothing else; they were NaN before */
static void CheckFilled(const Problem *P, const SpikeBand *s)
{
  const SpikeHost *h  = (const SpikeHost *)s->data;
  const PetscInt   kl = P->kl, ku = P->ku, ld = kl + ku + 1;
  PetscInt         bad = 0;
  char             element[2 * sizeof(double)];

  for (PetscInt p = 0; p < P->np; p++) {
    const PetscInt m = P->start[p + 1] - P->start[p];

    for (PetscInt j = 0; j < m; j++) {
      for (PetscInt i = j - ku; i <= j + kl; i++) {
        PetscScalar v = i < 0 || i >= m ? 0.0 : Entry(P, P->start[p] + i, P->start[p] + j);

        SpikeHostPut(P->precision, element, 0, v);
        v = SpikeHostGet(P->precision, element, 0);
        if (BandGet(s, h->off[p] + (PetscCount)j * ld + ku + i - j) != v) bad++;
      }
    }
  }
  for (PetscInt q = 0; q <= P->np && P->coupled; q++) { /* the rows of B_0 and of C_np are other ranks' */
    /* rows: last ku of the partition before, columns: first ku after */
    for (PetscInt i = 0; i < ku; i++)
      for (PetscInt j = 0; j < ku; j++)
        if (s->dB[(PetscCount)q * ku * ku + i + j * ku] !=
            (i >= j && q && P->active[q] ? Entry(P, P->start[q] - ku + i, P->start[q] + j) : (PetscScalar)0.0))
          bad++;
    for (PetscInt i = 0; i < kl; i++)
      for (PetscInt j = 0; j < kl; j++)
        if (s->dC[(PetscCount)q * kl * kl + i + j * kl] !=
            (i <= j && q < P->np && P->active[q] ? Entry(P, P->start[q] + i, P->start[q] - kl + j) : (PetscScalar)0.0))
          bad++;
  }
  Check(P, TEST_FILL, bad);
}

static void Poison(const Problem *P, SpikeBand *s)
{
  const SpikeHost *h = (const SpikeHost *)s->data;

  for (PetscInt p = 0; p < P->np; p++)
    FillBytes(h->first + (size_t)h->off[p] * h->ops->size, 0xFF,
              (size_t)(P->start[p + 1] - P->start[p]) * (P->kl + P->ku + 1) * h->ops->size);
  if (!P->coupled) return;
  FillBytes(s->dB, 0xFF, (size_t)(P->np + 1) * P->ku * P->ku * sizeof(PetscScalar));
  FillBytes(s->dC, 0xFF, (size_t)(P->np + 1) * P->kl * P->kl * sizeof(PetscScalar));
}

static void CheckStats(const Problem *P, const SpikeFillStats *st, PetscInt badrow, PetscInt overflowrow,
                       PetscInt zerorow)
{
  double   sum = 0, dropped = 0, maxdropped = 0, norm = 0;
  PetscInt weak = 0;

  if (st->badrow != badrow || st->overflowrow != overflowrow || st->zerorow != zerorow)
    printf("# rows %d %d %d, expected %d %d %d\n", (int)st->badrow, (int)st->overflowrow, (int)st->zerorow, (int)badrow,
           (int)overflowrow, (int)zerorow);
  Check(P, TEST_STATS, st->badrow == badrow && st->overflowrow == overflowrow && st->zerorow == zerorow ? 0 : 2);
  if (badrow >= 0) return;
  for (PetscInt i = 0; i < P->n; i++) {
    double row = 0;

    for (PetscInt j = -P->kl; j < P->n + P->ku; j++) {
      const double v = (double)PetscAbsScalar(Entry(P, i, j));

      row += v;
      if (i - j <= P->kl && j - i <= P->ku) continue;
      dropped += v;
      maxdropped = PetscMax(maxdropped, v);
    }
    sum += row;
    norm = PetscMax(norm, row);
    weak += 2 * (double)PetscAbsScalar(Entry(P, i, i)) < (1 - 1000 * (double)PETSC_MACHINE_EPSILON) * row;
  }
  Check(P, TEST_STATS, PetscAbs((double)st->sum - sum) / (PETSC_MACHINE_EPSILON * (8 + P->n) * (sum + 1e-30)));
  Check(P, TEST_STATS,
        PetscAbs((double)st->dropped - dropped) / (PETSC_MACHINE_EPSILON * (8 + P->n) * (dropped + 1e-30)));
  Check(P, TEST_STATS,
        PetscAbs((double)st->norm - norm) / (PETSC_MACHINE_EPSILON * (8 + P->kl + P->ku) * (norm + 1e-30)));
  Check(P, TEST_STATS, (double)st->maxdropped == maxdropped ? 0 : 2);
  Check(P, TEST_STATS, st->weak == weak ? 0 : 2);
}

static PetscErrorCode TestFill(Problem *P, SpikeBand *s)
{
  SpikeCSR       parts[2];
  SpikeFillStats st;
  const PetscInt n = P->n, ld = P->kl + P->ku + 1;
  PetscInt      *newrow;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &newrow));
  for (PetscInt i = 0; i < n; i++) newrow[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)((Uniform() + 1) / 2 * i), t = newrow[i];

    newrow[i] = newrow[j];
    newrow[j] = t;
  }
  /* with and without entries beside the band, in matrix order and permuted */
  for (PetscInt pass = 0; pass < 4; pass++) {
    const PetscInt *order = pass & 1 ? newrow : NULL;

    if (order && (P->active[0] || P->active[P->np])) continue;
    P->outside = (PetscBool)(pass > 1);
    PetscCall(PiecesCreate(P, order, parts));
    Poison(P, s);
    memset(&st, 0xFF, sizeof(st));
    PetscCall((*s->k->fill)(s, order ? 1 : 2, parts, order, &st));
    CheckFilled(P, s);
    CheckStats(P, &st, -1, -1, -1);
    PetscCall(PiecesDestroy(parts));
    P->outside = PETSC_FALSE;
  }
  /*
    rows that are not numbers, too large, zero: the first of two, in the order of the matrix; first, last and inner
    rows; on the diagonal or at the end of the row, which may be a coupling
  */
  for (PetscInt what = 0; what < 4 && n; what++) {
    for (PetscInt place = 0; place < 6; place++) {
      const PetscInt *order = what % 2 == place % 2 && !P->active[0] && !P->active[P->np] ? newrow : NULL;
      const PetscInt  r1 = place < 2 ? 0 : place < 4 ? n - 1 : n / 3, r2 = PetscMin(n - 1, r1 + 2);
      const PetscBool fits = (PetscBool)(PETSC_MAX_REAL <= SpikePrecisionMax(P->precision));
      PetscScalar    *keep;
      enum {
        NOTANUMBER,
        INFINITE,
        LARGE,
        ZERO
      };

      PetscCall(PetscMalloc1((PetscCount)n * ld, &keep));
      PetscCall(PetscArraycpy(keep, P->a, (PetscCount)n * ld));
      for (PetscInt k = 0; k < 2; k++) {
        PetscScalar *row = P->a + (PetscCount)(order ? order[k ? r2 : r1] : (k ? r2 : r1)) * ld;
        PetscInt     j   = P->kl;

        for (PetscInt t = 0; t < ld && place % 2 && what < LARGE; t++)
          if (row[t] != (PetscScalar)0.0) j = t;
        if (what == ZERO) PetscCall(PetscArrayzero(row, ld));
        else
          row[j] = (PetscReal)(what == NOTANUMBER ? NAN : what == INFINITE ? -INFINITY : (double)PETSC_MAX_REAL / 1e3);
      }
      PetscCall(PiecesCreate(P, order, parts));
      Poison(P, s);
      PetscCall((*s->k->fill)(s, order ? 1 : 2, parts, order, &st));
      if (what == INFINITE) st.overflowrow = -1; /* single precision cannot hold it either */
      CheckStats(P, &st, what < LARGE ? r1 : -1, what == LARGE && !fits ? r1 : -1, what == ZERO ? r1 : -1);
      PetscCall(PiecesDestroy(parts));
      PetscCall(PetscArraycpy(P->a, keep, (PetscCount)n * ld));
      PetscCall(PetscFree(keep));
    }
  }
  PetscCall(PetscFree(newrow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- factor: pivots
  ------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestPivots(PetscSpikePrecision precision)
{
  const Shape    shape  = {3, 2, 3, {20, 30, 25}};
  const PetscInt rows[] = {0, 7, 19, 20, 33, 49, 50, 74};

  PetscFunctionBegin;
  /* the last k of them have a zero row: k pivots that vanish */
  for (size_t k = 0; k <= PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    Problem        P;
    SpikeBand      s;
    SpikeCSR       parts[2];
    SpikeFillStats st;
    SpikePivot     pivot = {0, 0, -5, -5, -5};
    const size_t   first = PETSC_STATIC_ARRAY_LENGTH(rows) - k;
    PetscScalar   *g;

    PetscCall(ProblemCreate(&shape, DOMINANT, 0, precision, &P));
    for (size_t t = first; t < PETSC_STATIC_ARRAY_LENGTH(rows); t++) {
      PetscCall(PetscArrayzero(P.a + rows[t] * 6, 6));
      if (t % 3 == 1) P.a[rows[t] * 6 + P.kl] = (PetscReal)-1e-6; /* tiny, and its sign stays */
    }
    BandShape(&P, 1, &s);
    PetscCall((*s.k->create)(&s));
    PetscCall(PiecesCreate(&P, NULL, parts));
    for (PetscInt boost = 0; boost < 2; boost++) {
      PetscCall((*s.k->fill)(&s, 1, parts, NULL, &st));
      pivot.tol   = (PetscReal)1e-5;
      pivot.boost = boost ? (PetscReal)0.125 : 0.0;
      PetscCall((*s.k->factor)(&s, &pivot, NULL, NULL));
      if (boost || !k) Check(&P, TEST_PIVOTS, pivot.nboost == (PetscInt)k && pivot.badrow == -1 ? 0 : 2);
      else
        Check(&P, TEST_PIVOTS, pivot.nboost == 0 && pivot.badrow == rows[first] && pivot.badvalue <= pivot.tol ? 0 : 2);
    }
    /* the boosted rows are decoupled from below: x_i = b_i / (+-boost) */
    PetscCall(PetscMalloc1(P.n, &g));
    for (PetscInt i = 0; i < P.n; i++) g[i] = 1.0;
    PetscCall((*s.k->sweep)(&s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, P.np, 1, g, P.n, g, P.n));
    for (size_t t = first; t < PETSC_STATIC_ARRAY_LENGTH(rows); t++)
      Check(&P, TEST_PIVOTS,
            (double)PetscAbsScalar(g[rows[t]] - (PetscScalar)(t % 3 == 1 ? -8.0 : 8.0)) / (16 * P.eps));
    PetscCall(PetscFree(g));
    if (k) { /* a pivot that is not a number is never boosted */
      pivot.boost                     = 1;
      ((PetscScalar *)parts[0].aa)[0] = (PetscReal)NAN;
      PetscCall((*s.k->fill)(&s, 1, parts, NULL, &st));
      PetscCall((*s.k->factor)(&s, &pivot, NULL, NULL));
      Check(&P, TEST_PIVOTS, pivot.badrow == 0 && !(pivot.badvalue <= PETSC_MAX_REAL) ? 0 : 2);
    }
    PetscCall(PiecesDestroy(parts));
    PetscCall((*s.k->destroy)(&s));
    PetscCall(PetscFree(P.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- sweep
  ---------------------------------------------------------------------------------------------------------------
*/
/* max |D x - b| / bound, row by row, over one partition */
static double Residual(const Problem *P, PetscInt p, PetscBool trans, const PetscScalar *b, const PetscScalar *x)
{
  double w = 0;

  for (PetscInt i = P->start[p]; i < P->start[p + 1]; i++) {
    PetscScalar r  = b[i];
    double      as = (double)PetscAbsScalar(b[i]), e;

    for (PetscInt j = PetscMax(P->start[p], i - P->kl - P->ku); j < PetscMin(P->start[p + 1], i + P->kl + P->ku + 1);
         j++) {
      const PetscInt row = trans ? j : i, col = trans ? i : j;

      if (row - col > P->kl || col - row > P->ku) continue;
      r -= Entry(P, row, col) * x[j];
      as += (double)(PetscAbsScalar(Entry(P, row, col)) * PetscAbsScalar(x[j]));
    }
    e = (double)PetscAbsScalar(r) / ((double)P->eps * 8 * (8 + P->kl + P->ku) * as + 1e-300);
    if (!(e <= w)) w = e;
  }
  return w;
}

/* What the sweep of partition p leaves in the tips of interface q = p (top) or p + 1; other places are NaN still */
static void CheckSweptTips(const Problem *P, const SpikeBand *s, PetscBool trans, PetscBool top, PetscInt p, PetscInt c,
                           const PetscScalar *g)
{
  const PetscInt     kl = P->kl, ku = P->ku, q = top ? p : p + 1, s0 = P->start[p], s1 = P->start[p + 1];
  const PetscScalar *t = s->dtips + ((PetscCount)c * (P->np + 1) + q) * (kl + ku);
  double             e = 0;

  if (!P->coupled || !P->active[q]) return;
  if (!trans) {
    Check(P, TEST_TIPS, Bits(top ? ku : kl, top ? t + kl : t, top ? g + s0 : g + s1 - kl) ? 0 : 2);
    return;
  }
  for (PetscInt j = 0; j < (top ? kl : ku); j++) { /* C^T of the first kl rows, or B^T of the last ku */
    PetscScalar v = 0.0;

    for (PetscInt i = 0; i < (top ? kl : ku); i++) {
      if (top) v += (i <= j ? Entry(P, s0 + i, s0 - kl + j) : (PetscScalar)0.0) * g[s0 + i];
      else v += (i >= j ? Entry(P, s1 - ku + i, s1 + j) : (PetscScalar)0.0) * g[s1 - ku + i];
    }
    v -= top ? t[j] : t[kl + j];
    if (!((double)PetscAbsScalar(v) <= e)) e = (double)PetscAbsScalar(v);
  }
  Check(P, TEST_TIPS,
        e / ((double)PETSC_MACHINE_EPSILON * 10 * (kl + ku) *
             (MaxAbs(s1 - s0, g + s0) * MaxAbs(P->n * (kl + ku + 1), P->a) + 1e-30)));
}

static PetscErrorCode TestSweep(const Problem *P, SpikeBand *s, PetscBool trans, PetscInt nrhs)
{
  const PetscInt   n = P->n, np = P->np;
  const PetscCount ldb = n + 3, ldg = n + 5, nt = P->coupled ? (PetscCount)nrhs * (np + 1) * (P->kl + P->ku) : 0;
  PetscScalar     *b, *keep, *g, *h, *tips;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(ldb * nrhs, &b, ldb * nrhs, &keep, ldg * nrhs, &g, ldg * nrhs, &h, nt, &tips));
  for (PetscCount i = 0; i < ldb * nrhs; i++) b[i] = keep[i] = Random();
  for (PetscCount i = 0; i < ldg * nrhs; i++) g[i] = h[i] = SENTINEL;
  if (nt) FillBytes(s->dtips, 0xFF, (size_t)nt * sizeof(*b));
  NoMalloc(P, TEST_EXTENT, (*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, b, ldb, g, ldg));
  Check(P, TEST_EXTENT, Bits((PetscInt)(ldb * nrhs), b, keep) ? 0 : 2);
  for (PetscInt c = 0; c < nrhs; c++) {
    for (PetscInt p = 0; p < np; p++) {
      Check(P, TEST_SWEEP, Residual(P, p, trans, b + c * ldb, g + c * ldg));
      CheckSweptTips(P, s, trans, PETSC_TRUE, p, c, g + c * ldg);
      CheckSweptTips(P, s, trans, PETSC_FALSE, p, c, g + c * ldg);
    }
    for (PetscCount i = n; i < ldg; i++) Check(P, TEST_EXTENT, g[c * ldg + i] == SENTINEL ? 0 : 2);
  }
  if (nt) PetscCall(PetscArraycpy(tips, s->dtips, nt));
  /*
    partition by partition from the last one, in head and tail: the same bits, and what belongs to others is not touched
  */
  if (nt) FillBytes(s->dtips, 0xFF, (size_t)nt * sizeof(*b));
  for (PetscInt p = np - 1; p >= 0; p--) {
    PetscCall((*s->k->sweep)(s, trans, SPIKE_SWEEP_HEAD, p, p + 1, nrhs, b, ldb, h, ldg));
    for (PetscInt c = 0; c < nrhs; c++) {
      const PetscInt m = PetscMin(P->start[p + 1] - P->start[p], trans ? P->ku : P->kl), i = P->start[p + 1] - m;

      Check(P, TEST_PARTS, Bits(m, h + c * ldg + i, g + c * ldg + i) ? 0 : 2);
      CheckSweptTips(P, s, trans, PETSC_FALSE, p, c, h + c * ldg);
      if (P->start[p]) Check(P, TEST_EXTENT, h[c * ldg + P->start[p] - 1] == SENTINEL ? 0 : 2);
    }
    PetscCall((*s->k->sweep)(s, trans, SPIKE_SWEEP_TAIL, p, p + 1, nrhs, b, ldb, h, ldg));
    if (P->start[p]) Check(P, TEST_EXTENT, h[P->start[p] - 1] == SENTINEL ? 0 : 2);
  }
  Check(P, TEST_PARTS, Bits((PetscInt)(ldg * nrhs), g, h) ? 0 : 2);
  same = PETSC_TRUE;
  for (PetscInt c = 0; c < nrhs && nt; c++)
    for (PetscInt q = 0; q <= np; q++) {
      const PetscCount o = ((PetscCount)c * (np + 1) + q) * (P->kl + P->ku);

      if (P->active[q] && q > 0 && q < np && !Bits(P->kl + P->ku, tips + o, s->dtips + o)) same = PETSC_FALSE;
    }
  Check(P, TEST_PARTS, same ? 0 : 2);
  /* in place */
  for (PetscInt c = 0; c < nrhs; c++) PetscCall(PetscArraycpy(h + c * ldg, b + c * ldb, n));
  PetscCall((*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, h, ldg, h, ldg));
  Check(P, TEST_PARTS, Bits((PetscInt)(ldg * nrhs), g, h) ? 0 : 2);
  PetscCall(PetscFree5(b, keep, g, h, tips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- permute, reserve
  ----------------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestPermute(const Problem *P, SpikeBand *s)
{
  const PetscInt   n = P->n, nrhs = 2;
  const PetscCount ldx = n + 2, ldy = n + 4;
  PetscScalar     *x, *y, *z;
  PetscInt        *newrow;
  PetscReal       *scale, *back;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(ldx * nrhs, &x, ldy * nrhs, &y, ldx * nrhs, &z, n, &newrow, n, &scale, n, &back));
  for (PetscInt i = 0; i < n; i++) {
    newrow[i] = n % 3 ? (3 * i + 1) % n : n - 1 - i;
    scale[i]  = (PetscReal)ldexp(1.0, (int)(i % 7 - 3));
    back[i]   = 1 / scale[i];
  }
  for (int form = 0; form < 4; form++) { /* with and without an order and scales */
    const PetscInt  *order = form & 1 ? NULL : newrow;
    const PetscReal *times = form & 2 ? scale : NULL, *inverse = form & 2 ? back : NULL;
    PetscBool        good = PETSC_TRUE;

    for (PetscCount i = 0; i < ldx * nrhs; i++) x[i] = z[i] = Random();
    for (PetscCount i = 0; i < ldy * nrhs; i++) y[i] = SENTINEL;
    for (PetscInt c = 0; c < nrhs; c++)
      for (PetscInt i = 0; i < n; i++) z[c * ldx + i] = SENTINEL;
    PetscCall((*s->k->permute)(s, PETSC_FALSE, order, times, nrhs, x, ldx, y, ldy));
    PetscCall((*s->k->permute)(s, PETSC_TRUE, order, inverse, nrhs, y, ldy, z, ldx));
    for (PetscInt c = 0; c < nrhs; c++) {
      for (PetscInt i = 0; i < n; i++)
        if (y[c * ldy + (order ? order[i] : i)] != (times ? times[i] : 1) * x[c * ldx + i]) good = PETSC_FALSE;
      for (PetscCount i = n; i < ldy; i++)
        if (y[c * ldy + i] != SENTINEL) good = PETSC_FALSE;
    }
    Check(P, TEST_PERMUTE, good ? 0 : 2);
    Check(P, TEST_PERMUTE, Bits((PetscInt)(ldx * nrhs), x, z) ? 0 : 2);
  }
  PetscCall(PetscFree6(x, y, z, newrow, scale, back));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sweep gives the same bits before, after a reserve that fails, and after one that does not */
static PetscErrorCode TestReserve(const Problem *P, SpikeBand *s, PetscInt maxrhs)
{
  const PetscInt n = P->n, np = P->np;
  PetscScalar   *b, *g, *h;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3((PetscCount)n * maxrhs, &b, n, &g, (PetscCount)n * maxrhs, &h));
  for (PetscCount i = 0; i < (PetscCount)n * maxrhs; i++) b[i] = Random();
  PetscCall((*s->k->sweep)(s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, np, 1, b, n, g, n));
  for (PetscInt k = 1; k <= 2 && P->coupled; k++) { /* without coupling nothing is needed */
    const PetscInt before = s->maxrhs;

    PetscCall(PetscPushErrorHandler(Ignore, NULL));
    guard.failat = guard.count + k;
    ierr         = (*s->k->reserve)(s, maxrhs);
    guard.failat = 0;
    PetscCall(PetscPopErrorHandler());
    Check(P, TEST_RESERVE, ierr == PETSC_ERR_MEM && s->maxrhs == before && s->dtips ? 0 : 2);
    if (!s->dtips) continue; /* the sweep would crash */
    PetscCall((*s->k->sweep)(s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, np, 1, b, n, h, n));
    Check(P, TEST_RESERVE, Bits(n, g, h) ? 0 : 2);
  }
  PetscCall((*s->k->reserve)(s, maxrhs));
  Check(P, TEST_RESERVE, s->maxrhs == maxrhs ? 0 : 2);
  PetscCall((*s->k->sweep)(s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, np, 1, b, n, h, n));
  Check(P, TEST_RESERVE, Bits(n, g, h) ? 0 : 2);
  PetscCall((*s->k->sweep)(s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, np, maxrhs, b, n, h, n));
  for (PetscInt c = 0; c < maxrhs; c++) {
    for (PetscInt p = 0; p < np; p++) {
      Check(P, TEST_RESERVE, Residual(P, p, PETSC_FALSE, b + (PetscCount)c * n, h + (PetscCount)c * n));
      CheckSweptTips(P, s, PETSC_FALSE, PETSC_TRUE, p, c, h + (PetscCount)c * n);
      CheckSweptTips(P, s, PETSC_FALSE, PETSC_FALSE, p, c, h + (PetscCount)c * n);
    }
  }
  PetscCall(PetscFree3(b, g, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- All of it on one problem
  --------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestProblem(Problem *P)
{
  SpikeBand      s;
  SpikeCSR       parts[2];
  SpikeFillStats st;
  SpikePivot     pivot = {0, 0, -5, -5, 0};
  PetscInt       live;

  PetscFunctionBegin;
  PetscCall(TestMemory(P));
  BandShape(P, 3, &s);
  PetscCall((*s.k->create)(&s));
  PetscCall(TestFill(P, &s));
  live = guard.nblocks;
  PetscCall(PiecesCreate(P, NULL, parts));
  Poison(P, &s);
  NoMalloc(P, TEST_EXTENT, (*s.k->fill)(&s, 2, parts, NULL, &st));
  PetscCall(PiecesDestroy(parts));
  NoMalloc(P, TEST_EXTENT, (*s.k->factor)(&s, &pivot, NULL, NULL));
  Check(P, TEST_PIVOTS, pivot.nboost == 0 && pivot.badrow == -1 ? 0 : 2);
  for (PetscInt trans = 0; trans < 2; trans++)
    for (PetscInt nrhs = 1; nrhs <= 3; nrhs += 2) PetscCall(TestSweep(P, &s, (PetscBool)trans, nrhs));
  PetscCall(TestPermute(P, &s));
  Check(P, TEST_EXTENT, guard.nblocks == live ? 0 : 2); /* our own arrays are all freed */
  if (P->n) PetscCall(TestReserve(P, &s, 6));
  Check(P, TEST_EXTENT, GuardDamage() ? 2 : 0);
  guard.damaged = 0;
  PetscCall((*s.k->destroy)(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt failed;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  for (PetscInt d = PRECISION0; d <= PRECISION1; d++) {
    PetscCall(ProblemsAll((PetscSpikePrecision)d, TestProblem));
    PetscCall(TestBytes((PetscSpikePrecision)d));
    PetscCall(TestPivots((PetscSpikePrecision)d));
  }
  failed = Report();
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
