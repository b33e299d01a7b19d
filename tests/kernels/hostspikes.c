/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostspikes.c: tests of the host's table of kernels (src/kernels/band/band.h): spike tips, windows, reduced systems,
  corrections, against dense LAPACK
*/
static char
  help[] = "Tests of SpikeBandKernels_Host: spikes, reduced systems and corrections against dense references.\n\n";

typedef enum {
  TEST_LEFTTIPS,
  TEST_RIGHTTIPS,
  TEST_WINDOWS,
  TEST_FALLOFF,
  TEST_FACTOR,
  TEST_REDUCED,
  TEST_SOLVETIPS,
  TEST_CORRECT,
  TEST_CORRECT_T,
  TEST_ADJOINT,
  TEST_COLUMNS,
  TEST_EXTENT,
  NTOPICS
} Topic;
static const char *const topics[] = {"left tips: the spikes of the leading corners",
                                     "right tips: the exact spikes",
                                     "windows hold all of a spike above rounding, and little more",
                                     "falloff is the rate of a spike",
                                     "factor: no pivot bad or boosted",
                                     "reduced: singular interfaces",
                                     "solvetips: residuals, and other interfaces left alone",
                                     "correct: against the whole spikes",
                                     "correct, transposed: against the whole inverse",
                                     "the transposed apply is the transpose of the apply",
                                     "the apply of many columns is that of each",
                                     "nothing written outside arrays, nothing allocated in an apply"};

#include "problem.h"

/*
  ---- Tips, windows, falloff
  ----------------------------------------------------------------------------------------------
*/
/* Rows of a spike, from its tip on, until all others are below tol * (largest of its first K rows) */
static PetscInt Reach(const Problem *P, PetscInt m, PetscInt ncols, const PetscScalar *S, PetscBool fromtop, double tol)
{
  const PetscInt K    = PetscMax(P->kl, P->ku);
  double         head = 0;
  PetscInt       last = 0;

  for (PetscInt pass = 0; pass < 2; pass++) {
    for (PetscInt d = 0; d < m; d++) {
      for (PetscInt c = 0; c < ncols; c++) {
        const double v = (double)PetscAbsScalar(S[(fromtop ? d : m - 1 - d) + c * m]);

        if (!pass && d < K) head = PetscMax(head, v);
        if (pass && v > tol * head) last = d + 1;
      }
    }
  }
  return last;
}

static void CheckWindow(const Problem *P, PetscInt m, PetscInt ncols, const PetscScalar *S, PetscBool fromtop,
                        PetscInt window)
{
  const PetscInt K = PetscMax(P->kl, P->ku), least = Reach(P, m, ncols, S, fromtop, 8 * P->eps),
                 most = Reach(P, m, ncols, S, fromtop, P->eps / 8);

  Check(P, TEST_WINDOWS, window >= least ? 0 : (double)least / PetscMax(window, 1));
  Check(P, TEST_WINDOWS, window <= m ? 0 : 2);
  /* rounding may hold a tail up */
  if (most <= SpikeMaxCorner(P->kl, P->ku) - K)
    Check(P, TEST_WINDOWS, window <= 2 * most + K ? 0 : (double)window / (2 * most + K));
}

static PetscErrorCode TestTips(const Problem *P, SpikeBand *s, const Dense D[])
{
  const PetscInt kl = P->kl, ku = P->ku, K = PetscMax(kl, ku), tip = kl * ku;
  PetscScalar   *save;
  PetscReal      falloff[2 * (MAXP + 1)], *W = falloff, *V = falloff + P->np + 1;
  SpikePivot     pivot = {0, 0, -5, -5, 0}, corner = {0, 1, -5, -5, 0};
  double         bound;

  PetscFunctionBegin;
  if (!P->coupled) {
    PetscCall((*s->k->factor)(s, &pivot, NULL, NULL));
    Check(P, TEST_FACTOR, pivot.nboost == 0 && pivot.badrow == -1 ? 0 : 2);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt q = 0; q <= P->np; q++) W[q] = V[q] = (PetscReal)NAN;
  /* tips of the neighbours, which the functions leave alone; their own are NaN */
  PetscCall(PetscMalloc1(2 * tip, &save));
  FillBytes(s->dWt, 0xFF, (size_t)(P->np + 1) * tip * sizeof(PetscScalar));
  FillBytes(s->dVb, 0xFF, (size_t)(P->np + 1) * tip * sizeof(PetscScalar));
  for (PetscInt i = 0; i < tip; i++) save[i] = s->dVb[i] = Random() / (4 * K);
  for (PetscInt i = 0; i < tip; i++) save[tip + i] = s->dWt[(PetscCount)P->np * tip + i] = Random() / (4 * K);
  PetscCall((*s->k->factor)(s, &pivot, &corner, falloff));
  Check(P, TEST_LEFTTIPS, corner.nboost == 0 ? 0 : 2);
  Check(P, TEST_FACTOR, pivot.nboost == 0 && pivot.badrow == -1 ? 0 : 2);
  Check(P, TEST_LEFTTIPS, CompareBytes(save + tip, s->dWt + (PetscCount)P->np * tip, tip * sizeof(*save)) ? 2 : 0);
  Check(P, TEST_RIGHTTIPS, CompareBytes(save, s->dVb, tip * sizeof(*save)) ? 2 : 0);
  PetscCall(PetscFree(save));
  for (PetscInt p = 0; p < P->np; p++) {
    const PetscInt m = D[p].m;

    bound = (double)P->eps * 20 * (2 + K) * D[p].cond;
    if (P->active[p] && kl) {
      const PetscInt l = PetscMin(m, SpikeMaxCorner(kl, ku));
      Dense          corner;

      PetscCall(DenseCreate(P, p, l, &corner));
      for (PetscInt c = 0; c < kl; c++)
        Check(P, TEST_LEFTTIPS,
              MaxDiff(ku, s->dWt + (PetscCount)p * tip + c * ku, corner.W + c * l) /
                (bound * (MaxAbs(l * kl, corner.W) + 1e-30)));
      PetscCall(DenseDestroy(&corner));
      CheckWindow(P, m, kl, D[p].W, PETSC_TRUE, s->wtop[p]);
      Check(P, TEST_FALLOFF, W[p] <= 0 ? 0 : 2);
      if (P->kind == DECOUPLED) Check(P, TEST_FALLOFF, W[p] == PETSC_MIN_REAL ? 0 : 2);
    }
    if (P->active[p + 1] && ku) {
      for (PetscInt c = 0; c < ku; c++)
        Check(P, TEST_RIGHTTIPS,
              MaxDiff(kl, s->dVb + (PetscCount)(p + 1) * tip + c * kl, D[p].V + c * m + m - kl) /
                (bound * (MaxAbs(m * ku, D[p].V) + 1e-30)));
      CheckWindow(P, m, ku, D[p].V, PETSC_FALSE, s->wbot[p]);
      Check(P, TEST_FALLOFF, V[p + 1] <= 0 ? 0 : 2);
      if (P->kind == DECOUPLED) Check(P, TEST_FALLOFF, V[p + 1] == PETSC_MIN_REAL ? 0 : 2);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Constant coefficients -1, d, -1, 2 cosh(theta) = d: row i of the left spike of m rows is sinh((m - i) theta) / sinh((m
  + 1) theta), the right spike the same upside down: both fall by exp(-theta) a row in partitions much longer than
  1/theta
*/
static PetscErrorCode TestFalloff(PetscSpikePrecision precision)
{
  const PetscReal thetas[] = {3.0, 1.0, 0.3, 0.1, 0.05, 0.005};
  const Shape     shapes[] = {{2, 1, 1, {600, 900}},
                              {2, 1, 1, {3000, 3500}}}; /* the second: spikes longer than the corners */

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(thetas); t++) {
    const PetscReal d     = 2 * PetscCoshReal(thetas[t]);
    const PetscBool slow  = (PetscBool)(thetas[t] < 0.01);
    const Shape     shape = shapes[slow ? 1 : 0];
    Problem         P;
    SpikeBand       s;
    SpikeCSR        parts[2];
    SpikeFillStats  st;
    SpikePivot      pivot = {0, 0, 0, 0, 0}, corner = {0, 0, 0, 0, 0};
    PetscReal       falloff[6], *W = falloff, *V = falloff + 3;

    /* d - 2 would be lost in the rounding of d */
    if (SpikePrecisionBytes(precision) == 2 && thetas[t] * thetas[t] < 40 * SpikePrecisionEpsilon(precision)) continue;
    PetscCall(ProblemCreate(&shape, SLOWFALL, 0, precision, &P));
    for (PetscInt i = 0; i < P.n; i++) {
      P.a[3 * i]     = i ? -1.0 : 0.0;
      P.a[3 * i + 1] = d;
      P.a[3 * i + 2] = i < P.n - 1 ? -1.0 : 0.0;
    }
    BandShape(&P, 1, &s);
    PetscCall((*s.k->create)(&s));
    PetscCall(PiecesCreate(&P, NULL, parts));
    PetscCall((*s.k->fill)(&s, 2, parts, NULL, &st));
    PetscCall((*s.k->factor)(&s, &pivot, &corner, falloff));
    /*
      within a quarter where the corner sees the end of the spike: an estimate that says e^-100 where the spike falls by
      e^-10 hides what truncation neglects; else never steeper than that
    */
    for (PetscInt right = 0; right < 2; right++) {
      const PetscReal rate = right ? V[1] : W[1];

      Check(&P, TEST_FALLOFF,
            rate <= 0 ? (double)((slow ? -rate - thetas[t] : PetscAbsReal(rate + thetas[t])) / (0.25 * thetas[t])) : 2);
    }
    for (PetscInt right = 0; right < 2; right++) {
      const double m = shape.sizes[right ? 0 : 1], rows = 1 + PetscFloorReal(-PetscLogReal(8 * P.eps) / thetas[t]);

      Check(&P, TEST_WINDOWS, PetscMin(rows, m) / (right ? s.wbot[0] : s.wtop[1]));
    }
    PetscCall(PiecesDestroy(parts));
    PetscCall((*s.k->destroy)(&s));
    PetscCall(PetscFree(P.a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- reduced, solvetips
  --------------------------------------------------------------------------------------------------
*/
static double InfNorm(PetscInt m, PetscInt k, const PetscScalar *A)
{
  double norm = 0;

  for (PetscInt i = 0; i < m; i++) {
    double sum = 0;

    for (PetscInt j = 0; j < k; j++) sum += (double)PetscAbsScalar(A[i + j * m]);
    if (!(sum <= norm)) norm = sum;
  }
  return norm;
}

static PetscErrorCode TestSolveTips(const Problem *P, SpikeBand *s, PetscBool trans, PetscInt nrhs)
{
  const PetscInt   kl = P->kl, ku = P->ku, np = P->np;
  const PetscCount nt = (PetscCount)nrhs * (np + 1) * (kl + ku);
  PetscScalar     *g;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nt, &g));
  for (PetscInt q0 = 0; q0 <= np; q0 += PetscMax(1, np)) { /* all interfaces in two calls */
    const PetscInt q1 = q0 ? np + 1 : PetscMax(1, np);

    for (PetscCount i = 0; i < nt; i++) g[i] = s->dtips[i] = Random();
    PetscCall((*s->k->solvetips)(s, trans, q0, q1, nrhs));
    for (PetscInt c = 0; c < nrhs; c++) {
      for (PetscInt q = 0; q <= np; q++) {
        const PetscCount   o  = ((PetscCount)c * (np + 1) + q) * (kl + ku);
        const PetscScalar *Vb = s->dVb + (PetscCount)q * kl * ku, *Wt = s->dWt + (PetscCount)q * kl * ku,
                          *x = s->dtips + o;
        double e             = 0, size;

        if (q < q0 || q >= q1 || !P->active[q]) {
          Check(P, TEST_SOLVETIPS, Bits(kl + ku, g + o, s->dtips + o) ? 0 : 2);
          continue;
        }
        for (PetscInt i = 0; i < kl + ku; i++) { /* [I Vb; Wt I] x - g */
          PetscScalar r = x[i] - g[o + i];

          if (i < kl)
            for (PetscInt j = 0; j < ku; j++) r += (trans ? Wt[j + i * ku] : Vb[i + j * kl]) * x[kl + j];
          else
            for (PetscInt j = 0; j < kl; j++) r += (trans ? Vb[j + (i - kl) * kl] : Wt[i - kl + j * ku]) * x[j];
          if (!((double)PetscAbsScalar(r) <= e)) e = (double)PetscAbsScalar(r);
        }
        size = 1 + InfNorm(kl, ku, Vb) + InfNorm(ku, kl, Wt);
        Check(P, TEST_SOLVETIPS,
              e / ((double)PETSC_MACHINE_EPSILON * 20 * (kl + ku) * size * size * (1 + MaxAbs(kl + ku, x))));
      }
    }
  }
  PetscCall(PetscFree(g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Wt Vb has a 1 on its diagonal at some interfaces, exactly or to rounding: the first of them that is asked for is
  reported, or boosted
*/
static PetscErrorCode TestReduced(PetscSpikePrecision precision)
{
  const Shape shape = {4, 2, 2, {8, 8, 8, 8}};
  Problem     P;
  SpikeBand   s;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&shape, DOMINANT, 0, precision, &P));
  BandShape(&P, 1, &s);
  PetscCall((*s.k->create)(&s));
  for (PetscInt first = 1; first <= 4; first++) { /* singular: interfaces first, ..., 3 */
    for (PetscInt variant = 0; variant < 3; variant++) {
      const PetscReal off = variant == 1 ? 2 * PETSC_MACHINE_EPSILON : 0;
      SpikePivot pivot    = {variant ? 100 * PETSC_MACHINE_EPSILON : 0, variant == 2 ? (PetscReal)0.125 : 0, -5, -5, 0};

      for (PetscInt q = 0; q <= 4; q++) {
        PetscScalar Vb[4] = {2.0, 0.0, 0.0, 1.0},
                    Wt[4] = {q >= first ? (PetscReal)0.5 - off : (PetscReal)0.25, 0.0, 0.0, 0.5};

        PetscCall(PetscArraycpy(s.dVb + 4 * q, Vb, 4));
        PetscCall(PetscArraycpy(s.dWt + 4 * q, Wt, 4));
      }
      PetscCall((*s.k->reduced)(&s, 0, 5, &pivot));
      if (variant == 2) { /* all boosted: tips (0 0; 8 0) become x_t = 8 / 0.125 in that row */
        Check(&P, TEST_REDUCED, pivot.badrow == -1 && pivot.nboost == 4 - first ? 0 : 2);
        for (PetscInt q = 0; q <= 4; q++) {
          PetscScalar t[4] = {0.0, 0.0, 8.0, 0.0};

          PetscCall(PetscArraycpy(s.dtips + 4 * q, t, 4));
        }
        PetscCall((*s.k->solvetips)(&s, PETSC_FALSE, 0, 5, 1));
        for (PetscInt q = first; q < 4; q++)
          Check(&P, TEST_REDUCED, (double)PetscAbsScalar(s.dtips[4 * q + 2] - (PetscScalar)64.0) / 1e-4);
        continue;
      }
      Check(&P, TEST_REDUCED, pivot.nboost == 0 && pivot.badrow == (first < 4 ? first : -1) ? 0 : 2);
      PetscCall((*s.k->reduced)(&s, 2, 5, &pivot));
      Check(&P, TEST_REDUCED, pivot.badrow == (first < 4 ? PetscMax(first, 2) : -1) ? 0 : 2);
      PetscCall((*s.k->reduced)(&s, 0, 1, &pivot));
      Check(&P, TEST_REDUCED, pivot.badrow == -1 ? 0 : 2);
    }
  }
  PetscCall((*s.k->destroy)(&s));
  PetscCall(PetscFree(P.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- correct
  -------------------------------------------------------------------------------------------------------------
*/
/* Random tips: x - D^-1 [C x_b; 0; B x_t] from the dense factors, all rows of it, beside what the windows do */
static PetscErrorCode TestCorrect(const Problem *P, SpikeBand *s, const Dense D[], PetscBool trans, PetscInt nrhs)
{
  const PetscInt   n = P->n, kl = P->kl, ku = P->ku, np = P->np;
  const PetscCount ldx = n + 3, nt = (PetscCount)nrhs * (np + 1) * (kl + ku);
  PetscScalar     *x, *keep, *tips, *z;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(ldx * nrhs, &x, ldx * nrhs, &keep, nt, &tips, n, &z));
  for (PetscCount i = 0; i < nt; i++) tips[i] = s->dtips[i] = Random();
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt m = D[p].m, s0 = P->start[p], s1 = P->start[p + 1];

    for (PetscCount i = 0; i < ldx * nrhs; i++) keep[i] = x[i] = Random();
    NoMalloc(P, TEST_EXTENT, (*s->k->correct)(s, trans, p, p + 1, nrhs, x, ldx));
    Check(P, TEST_EXTENT, Bits((PetscInt)nt, tips, s->dtips) ? 0 : 2);
    for (PetscInt c = 0; c < nrhs; c++) {
      const PetscScalar *t0 = tips + ((PetscCount)c * (np + 1) + p) * (kl + ku), *t1 = t0 + kl + ku;
      double             scale;

      PetscCall(PetscArrayzero(z, m));
      if (P->active[p]) {
        for (PetscInt i = 0; i < (trans ? ku : kl); i++)
          if (trans) z[i] += t0[kl + i];
          else
            for (PetscInt j = i; j < kl; j++) z[i] += Entry(P, s0 + i, s0 - kl + j) * t0[j];
      }
      if (P->active[p + 1]) {
        for (PetscInt i = 0; i < (trans ? kl : ku); i++)
          if (trans) z[m - kl + i] += t1[i];
          else
            for (PetscInt j = 0; j <= i; j++) z[m - ku + i] += Entry(P, s1 - ku + i, s1 + j) * t1[kl + j];
      }
      PetscCall(DenseSolve(&D[p], trans, 1, z));
      scale = MaxAbs(m, keep + c * ldx + s0) + MaxAbs(m, z);
      for (PetscInt i = 0; i < m; i++) z[i] = keep[c * ldx + s0 + i] - z[i];
      Check(P, trans ? TEST_CORRECT_T : TEST_CORRECT,
            MaxDiff(m, z, x + c * ldx + s0) /
              ((double)P->eps * 40 * (2 + PetscMax(kl, ku)) * D[p].cond * scale + 1e-300));
      Check(P, TEST_EXTENT,
            Bits(s0, x + c * ldx, keep + c * ldx) && Bits((PetscInt)(ldx - s1), x + c * ldx + s1, keep + c * ldx + s1)
              ? 0
              : 2);
    }
  }
  PetscCall(PetscFree4(x, keep, tips, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M^-1 or M^-T of sweep, solvetips and correct; the other side of an interface with another rank is taken as zero */
static PetscErrorCode Apply(const Problem *P, SpikeBand *s, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                            PetscScalar *x)
{
  const PetscInt n = P->n, np = P->np, tip = P->kl + P->ku;

  PetscFunctionBegin;
  NoMalloc(P, TEST_EXTENT, (*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, np, nrhs, b, n, x, n));
  for (PetscInt c = 0; c < nrhs; c++) {
    PetscScalar *t = s->dtips + (PetscCount)c * (np + 1) * tip;

    PetscCall(PetscArrayzero(t, P->kl));
    PetscCall(PetscArrayzero(t + np * tip + P->kl, P->ku));
    if (trans) { /* what came in is then above the first interface and below the last */
      PetscCall(PetscArrayzero(t, tip));
      PetscCall(PetscArrayzero(t + np * tip, tip));
    }
  }
  NoMalloc(P, TEST_EXTENT, (*s->k->solvetips)(s, trans, 0, np + 1, nrhs));
  NoMalloc(P, TEST_EXTENT, (*s->k->correct)(s, trans, 0, np, nrhs, x, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many columns at once, more than create made room for, against one by one */
static PetscErrorCode TestColumns(const Problem *P, SpikeBand *s, const Dense D[], PetscBool trans)
{
  const PetscInt n = P->n, nrhs = 5;
  PetscScalar   *b, *x, *y;
  double         cond = 1;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3((PetscCount)n * nrhs, &b, (PetscCount)n * nrhs, &x, n, &y));
  for (PetscCount i = 0; i < (PetscCount)n * nrhs; i++) b[i] = Random();
  for (PetscInt p = 0; p < P->np; p++) cond = PetscMax(cond, D[p].cond);
  PetscCall((*s->k->reserve)(s, nrhs));
  PetscCall(Apply(P, s, trans, nrhs, b, x));
  for (PetscInt c = 0; c < nrhs; c++) {
    PetscCall(Apply(P, s, trans, 1, b + (PetscCount)c * n, y));
    Check(P, TEST_COLUMNS,
          MaxDiff(n, x + (PetscCount)c * n, y) /
            ((double)PETSC_MACHINE_EPSILON * 20 * (2 + P->kl + P->ku) * cond * cond * MaxAbs(n, y)));
  }
  PetscCall(PetscFree3(b, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* <M^-1 x, y> = <x, M^-T y> without conjugation, on problems without neighbours */
static PetscErrorCode TestAdjoint(const Problem *P, SpikeBand *s, const Dense D[])
{
  const PetscInt n = P->n, np = P->np;
  PetscScalar   *x, *y, *u, *v, a = 0.0, b = 0.0;
  double         cond = 1, size = 0;

  PetscFunctionBegin;
  if (P->active[0] || P->active[np]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc4(n, &x, n, &y, n, &u, n, &v));
  for (PetscInt i = 0; i < n; i++) x[i] = Random();
  for (PetscInt i = 0; i < n; i++) y[i] = Random();
  PetscCall(Apply(P, s, PETSC_FALSE, 1, x, u));
  PetscCall(Apply(P, s, PETSC_TRUE, 1, y, v));
  for (PetscInt i = 0; i < n; i++) {
    a += u[i] * y[i];
    b += x[i] * v[i];
  }
  for (PetscInt p = 0; p < np; p++) cond = PetscMax(cond, D[p].cond);
  size = n * (MaxAbs(n, u) * MaxAbs(n, y) + MaxAbs(n, x) * MaxAbs(n, v));
  Check(P, TEST_ADJOINT, (double)PetscAbsScalar(a - b) / ((double)P->eps * 10 * (2 + P->kl + P->ku) * cond * size));
  PetscCall(PetscFree4(x, y, u, v));
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
  Dense          D[MAXP];
  SpikePivot     pivot = {P->eps, 0, -5, -5, 0};
  PetscInt       live;

  PetscFunctionBegin;
  if (!P->coupled) PetscFunctionReturn(PETSC_SUCCESS);
  BandShape(P, 3, &s);
  PetscCall((*s.k->create)(&s));
  PetscCall(PiecesCreate(P, NULL, parts));
  PetscCall((*s.k->fill)(&s, 2, parts, NULL, &st));
  PetscCall(PiecesDestroy(parts));
  for (PetscInt p = 0; p < P->np; p++) PetscCall(DenseCreate(P, p, P->start[p + 1] - P->start[p], &D[p]));
  live = guard.nblocks;
  PetscCall(TestTips(P, &s, D));
  FillBytes(s.dR, 0xFF, (size_t)(P->np + 1) * P->ku * P->ku * sizeof(PetscScalar));
  PetscCall((*s.k->reduced)(&s, 0, P->np + 1, &pivot));
  Check(P, TEST_REDUCED, pivot.badrow == -1 && pivot.nboost == 0 ? 0 : 2);
  for (PetscInt trans = 0; trans < 2; trans++) {
    for (PetscInt nrhs = 1; nrhs <= 3; nrhs += 2) {
      PetscCall(TestSolveTips(P, &s, (PetscBool)trans, nrhs));
      PetscCall(TestCorrect(P, &s, D, (PetscBool)trans, nrhs));
    }
    PetscCall(TestColumns(P, &s, D, (PetscBool)trans));
  }
  PetscCall(TestAdjoint(P, &s, D));
  Check(P, TEST_EXTENT, guard.nblocks == live ? 0 : 2);
  Check(P, TEST_EXTENT, GuardDamage() ? 2 : 0);
  guard.damaged = 0;
  for (PetscInt p = 0; p < P->np; p++) PetscCall(DenseDestroy(&D[p]));
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
    PetscCall(TestFalloff((PetscSpikePrecision)d));
    PetscCall(TestReduced((PetscSpikePrecision)d));
  }
  failed = Report();
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
