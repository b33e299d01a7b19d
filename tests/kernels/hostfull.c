/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostfull.c: tests of the host's table of kernels (src/kernels/band/band.h): full SPIKE, its spikes, interfaces merged
  level by level, and their solution, against dense LAPACK
*/
static char help[] = "Tests of SpikeBandKernels_Host: full SPIKE against dense references.\n\n";

typedef enum {
  TEST_LEFT,
  TEST_RIGHT,
  TEST_FALLOFF,
  TEST_MERGED,
  TEST_PIVOTS,
  TEST_UP,
  TEST_UP_T,
  TEST_DOWN,
  TEST_DOWN_T,
  TEST_RHS,
  TEST_RHS_T,
  TEST_WHOLE,
  TEST_WHOLE_T,
  TEST_EXTENT,
  NTOPICS
} Topic;
static const char *const topics[] = {"left spikes: both tips of the exact ones",
                                     "right spikes: both tips of the exact ones",
                                     "falloff is the rate from tip to tip",
                                     "merge: the tips of the rank as one segment",
                                     "merge: singular interfaces",
                                     "mergedtips up: the tips of the rank's solution",
                                     "mergedtips up, transposed",
                                     "mergedtips down: the unknowns of all interfaces",
                                     "mergedtips down, transposed",
                                     "mergedrhs: b without the couplings",
                                     "mergedrhs, transposed",
                                     "all of it: the solution of the whole rank",
                                     "all of it, transposed",
                                     "nothing written outside arrays, nothing allocated in an apply"};

#include "problem.h"

/* Besides those of problem.h: several levels, one segment more than a power of two; spikes of several sweeps */
static const Shape more[] = {{4, 1, 1, {1, 1, 1, 1}},
                             {5, 3, 3, {3, 4, 3, 5, 20}},
                             {6, 4, 1, {4, 5, 19, 4, 30, 6}},
                             {7, 2, 5, {5, 6, 7, 5, 23, 5, 11}},
                             {8, 1, 2, {2, 2, 2, 2, 2, 2, 2, 2}},
                             {8, 9, 8, {9, 10, 9, 17, 9, 33, 12, 9}},
                             {9, 1, 1, {1, 9, 2, 1, 30, 1, 3, 1, 1}},
                             {9, 2, 3, {3, 5, 9, 3, 40, 3, 17, 6, 4}},
                             {9, 0, 3, {3, 4, 3, 9, 3, 25, 3, 3, 8}},
                             {9, 3, 0, {3, 4, 3, 9, 3, 25, 3, 3, 8}},
                             {9, 5, 4, {5, 7, 5, 6, 11, 5, 5, 30, 5}},
                             {3, 66, 70, {210, 70, 71}}};

/* A partition of the rank, or the rank as one partition; columns of x are [n] */
typedef struct {
  const Problem *P;
  Dense          D[MAXP], A;
} Reference;

static PetscErrorCode ReferenceCreate(const Problem *P, Reference *R)
{
  Problem one = *P;

  PetscFunctionBegin;
  R->P          = P;
  one.np        = 1;
  one.start[1]  = P->n;
  one.active[1] = P->active[P->np];
  for (PetscInt p = 0; p < P->np; p++) PetscCall(DenseCreate(P, p, P->start[p + 1] - P->start[p], &R->D[p]));
  PetscCall(DenseCreate(&one, 0, P->n, &R->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReferenceDestroy(Reference *R)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < R->P->np; p++) PetscCall(DenseDestroy(&R->D[p]));
  PetscCall(DenseDestroy(&R->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first (top) or last rows of a spike of m rows, columns of `rows` */
static void CheckTip(PetscBool top, PetscInt m, PetscInt columns, const PetscScalar *S, PetscInt rows, PetscScalar *tip)
{
  for (PetscInt c = 0; c < columns; c++)
    for (PetscInt i = 0; i < rows; i++) tip[i + c * rows] = S[(top ? i : m - rows + i) + c * m];
}

/* What interface q has of vectors x: of the partition before it, and of that after it (before: the last partition) */
static void Sides(const Problem *P, PetscBool trans, PetscInt q, const PetscScalar *x, PetscScalar *u)
{
  const PetscInt kl = P->kl, ku = P->ku, s = P->start[q];

  /* x_b of the partition before, x_t of that after; transposed C^T x of that after, B^T x of that before */
  for (PetscInt i = 0; i < kl; i++) {
    if (!trans && q > 0) u[i] = x[s - kl + i];
    if (trans && q < P->np) {
      u[i] = 0.0;
      for (PetscInt k = 0; k <= i; k++) u[i] += Entry(P, s + k, s - kl + i) * x[s + k];
    }
  }
  for (PetscInt i = 0; i < ku; i++) {
    if (!trans && q < P->np) u[kl + i] = x[s + i];
    if (trans && q > 0) {
      u[kl + i] = 0.0;
      for (PetscInt k = i; k < ku; k++) u[kl + i] += Entry(P, s - ku + k, s + i) * x[s - ku + k];
    }
  }
}

/* z -= what the sides u of interface q take from the rows after it and before it */
static void Take(const Problem *P, PetscBool trans, PetscInt q, const PetscScalar *u, PetscScalar *z)
{
  const PetscInt kl = P->kl, ku = P->ku, s = P->start[q];

  for (PetscInt i = 0; i < (trans ? ku : kl) && q < P->np; i++) {
    if (trans) z[s + i] -= u[kl + i];
    else
      for (PetscInt j = i; j < kl; j++) z[s + i] -= Entry(P, s + i, s - kl + j) * u[j];
  }
  for (PetscInt i = 0; i < (trans ? kl : ku) && q > 0; i++) {
    if (trans) z[s - kl + i] -= u[i];
    else
      for (PetscInt j = 0; j <= i; j++) z[s - ku + i] -= Entry(P, s - ku + i, s + j) * u[kl + j];
  }
}

static void FillTips(const Problem *P, SpikeBand *s)
{
  const size_t all = (size_t)(P->np + 1) * sizeof(PetscScalar);

  FillBytes(s->dWt, 0xFF, all * P->ku * P->kl);
  FillBytes(s->dWb, 0xFF, all * P->kl * P->kl);
  FillBytes(s->dVt, 0xFF, all * P->ku * P->ku);
  FillBytes(s->dVb, 0xFF, all * P->kl * P->ku);
}

/*
  ---- spikes
  --------------------------------------------------------------------------------------------------------------
*/
/* The rate of a spike of m rows from its tip to the far one, m - K rows away */
static void CheckFalloff(const Problem *P, PetscInt m, PetscInt columns, const PetscScalar *S, PetscBool left,
                         double bound, PetscReal falloff)
{
  const PetscInt K       = PetscMax(P->kl, P->ku);
  double         most[2] = {0, 0};

  Check(P, TEST_FALLOFF, falloff <= 0 ? 0 : 2);
  for (PetscInt c = 0; c < columns; c++) {
    most[0] = PetscMax(most[0], MaxAbs(K, S + c * m + (left ? 0 : m - K)));
    most[1] = PetscMax(most[1], MaxAbs(K, S + c * m + (left ? m - K : 0)));
  }
  if (most[0] == 0) Check(P, TEST_FALLOFF, falloff == PETSC_MIN_REAL ? 0 : 2);
  else if (most[1] > 100 * bound * most[0]) {
    const PetscInt rows = PetscMax(m - K, 1);
    const double   rate = PetscMin(log(most[1] / most[0]) / (double)rows, 0.0);

    Check(P, TEST_FALLOFF, fabs((double)falloff - rate) * (double)rows / 0.05);
  }
}

static PetscErrorCode TestSpikes(const Reference *R, SpikeBand *s)
{
  const Problem *P  = R->P;
  const PetscInt kl = P->kl, ku = P->ku, K = PetscMax(kl, ku);
  PetscScalar   *tip;
  PetscReal      falloff[2 * (MAXP + 1)], *W = falloff, *V = falloff + P->np + 1;

  PetscFunctionBegin;
  for (PetscInt q = 0; q <= P->np; q++) W[q] = V[q] = (PetscReal)NAN;
  PetscCall(PetscMalloc1(K * K, &tip));
  FillTips(P, s);
  NoMalloc(P, TEST_EXTENT, (*s->k->spikes)(s, falloff));
  for (PetscInt p = 0; p < P->np; p++) {
    const PetscInt   m     = R->D[p].m;
    const PetscCount tips  = (PetscCount)kl * ku;
    const double     bound = (double)P->eps * 2 * (2 + K) * R->D[p].cond;

    if (P->active[p] && kl) {
      const double scale = bound * (MaxAbs(m * kl, R->D[p].W) + 1e-30);

      CheckTip(PETSC_TRUE, m, kl, R->D[p].W, ku, tip);
      Check(P, TEST_LEFT, MaxDiff(kl * ku, s->dWt + p * tips, tip) / scale);
      CheckTip(PETSC_FALSE, m, kl, R->D[p].W, kl, tip);
      Check(P, TEST_LEFT, MaxDiff(kl * kl, s->dWb + (PetscCount)p * kl * kl, tip) / scale);
      CheckFalloff(P, m, kl, R->D[p].W, PETSC_TRUE, bound, W[p]);
    } else Check(P, TEST_FALLOFF, W[p] == PETSC_MIN_REAL ? 0 : 2);
    if (P->active[p + 1] && ku) {
      const double scale = bound * (MaxAbs(m * ku, R->D[p].V) + 1e-30);

      CheckTip(PETSC_FALSE, m, ku, R->D[p].V, kl, tip);
      Check(P, TEST_RIGHT, MaxDiff(kl * ku, s->dVb + (p + 1) * tips, tip) / scale);
      Check(P, TEST_FALLOFF, V[p + 1] <= 0 ? 0 : 2);
      if (!P->active[p]) continue; /* nobody asks for the other end */
      CheckTip(PETSC_TRUE, m, ku, R->D[p].V, ku, tip);
      Check(P, TEST_RIGHT, MaxDiff(ku * ku, s->dVt + (PetscCount)(p + 1) * ku * ku, tip) / scale);
      CheckFalloff(P, m, ku, R->D[p].V, PETSC_FALSE, bound, V[p + 1]);
    } else Check(P, TEST_FALLOFF, V[p + 1] == PETSC_MIN_REAL ? 0 : 2);
  }
  PetscCall(PetscFree(tip));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- merge
  ---------------------------------------------------------------------------------------------------------------
*/
/* The tips of LAPACK's spikes: what follows is then as exact as double precision, whatever the factors are */
static void SetExactTips(const Reference *R, SpikeBand *s)
{
  const Problem   *P  = R->P;
  const PetscCount kl = P->kl, ku = P->ku;

  FillTips(P, s);
  for (PetscInt p = 0; p < P->np; p++) {
    const Dense *D = &R->D[p];

    if (P->active[p]) {
      CheckTip(PETSC_TRUE, D->m, P->kl, D->W, P->ku, s->dWt + p * ku * kl);
      CheckTip(PETSC_FALSE, D->m, P->kl, D->W, P->kl, s->dWb + p * kl * kl);
    }
    if (P->active[p + 1]) {
      CheckTip(PETSC_TRUE, D->m, P->ku, D->V, P->ku, s->dVt + (p + 1) * ku * ku);
      CheckTip(PETSC_FALSE, D->m, P->ku, D->V, P->kl, s->dVb + (p + 1) * kl * ku);
    }
  }
}

static PetscErrorCode MergeAll(const Problem *P, SpikeBand *s)
{
  const PetscInt h     = P->kl + P->ku;
  SpikePivot     pivot = {PETSC_MACHINE_EPSILON, 0, -5, -5, 0};

  PetscFunctionBegin;
  FillBytes(s->dR, 0xFF, (size_t)(P->np + 1) * P->ku * P->ku * sizeof(PetscScalar));
  FillBytes(s->dmerged, 0xFF, (size_t)(P->np + 1) * h * h * sizeof(PetscScalar));
  PetscCall((*s->k->merge)(s, &pivot));
  Check(P, TEST_PIVOTS, pivot.badrow == -1 && pivot.nboost == 0 ? 0 : 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The far tips are of use where the other outer interface couples too */
static PetscErrorCode TestMerge(const Reference *R, SpikeBand *s)
{
  const Problem   *P  = R->P;
  const Dense     *A  = &R->A;
  const PetscInt   kl = P->kl, ku = P->ku, K = PetscMax(kl, ku), np = P->np, n = P->n;
  const double     bound = (double)PETSC_MACHINE_EPSILON * 2 * (2 + K) * A->cond;
  const PetscBool  left = P->active[0], right = P->active[np];
  const PetscCount at = np;
  PetscScalar     *tip;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(K * K, &tip));
  SetExactTips(R, s);
  PetscCall(MergeAll(P, s));
  if (left && kl) {
    const double scale = bound * (MaxAbs(n * kl, A->W) + 1e-30);

    CheckTip(PETSC_TRUE, n, kl, A->W, ku, tip);
    Check(P, TEST_MERGED, MaxDiff(kl * ku, s->dWt, tip) / scale);
    CheckTip(PETSC_FALSE, n, kl, A->W, kl, tip);
    if (right) Check(P, TEST_MERGED, MaxDiff(kl * kl, s->dWb, tip) / scale);
  }
  if (right && ku) {
    const double scale = bound * (MaxAbs(n * ku, A->V) + 1e-30);

    CheckTip(PETSC_FALSE, n, ku, A->V, kl, tip);
    Check(P, TEST_MERGED, MaxDiff(kl * ku, s->dVb + at * kl * ku, tip) / scale);
    CheckTip(PETSC_TRUE, n, ku, A->V, ku, tip);
    if (left) Check(P, TEST_MERGED, MaxDiff(ku * ku, s->dVt + at * ku * ku, tip) / scale);
  }
  PetscCall(PetscFree(tip));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  R singular at some interfaces, of segments whose spikes end before the other end: one is reported though those that
  come after it on higher levels have seen what it left; all are boosted
*/
static PetscErrorCode TestPivots(PetscSpikePrecision precision)
{
  const Shape shape = {9, 2, 2, {8, 8, 8, 8, 8, 8, 8, 8, 8}};
  Problem     P;
  SpikeBand   s;
  PetscReal   falloff[2 * (MAXP + 1)];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&shape, DOMINANT, 0, precision, &P));
  BandShape(&P, 1, &s);
  s.full = PETSC_TRUE;
  PetscCall((*s.k->create)(&s));
  {
    SpikeCSR       parts[2];
    SpikeFillStats st;
    SpikePivot     pivot = {0, 0, -5, -5, 0};

    PetscCall(PiecesCreate(&P, NULL, parts));
    PetscCall((*s.k->fill)(&s, 2, parts, NULL, &st));
    PetscCall(PiecesDestroy(parts));
    PetscCall((*s.k->factor)(&s, &pivot, NULL, NULL));
    PetscCall((*s.k->spikes)(&s, falloff));
  }
  for (PetscInt bad = 1; bad <= 9; bad++) { /* 9: none; with boosts also those after it */
    for (PetscInt variant = 0; variant < 3; variant++) {
      const PetscReal off = variant == 1 ? 2 * PETSC_MACHINE_EPSILON : 0;
      SpikePivot pivot    = {variant ? 100 * PETSC_MACHINE_EPSILON : 0, variant == 2 ? (PetscReal)0.125 : 0, -5, -5, 0};

      for (PetscInt q = 0; q <= 9; q++) {
        const PetscBool singular = (PetscBool)(variant == 2 ? q >= bad : q == bad);
        PetscScalar     Vb[4]    = {2.0, 0.0, 0.0, 1.0},
                    Wt[4]        = {singular ? (PetscReal)0.5 - off : (PetscReal)0.25, 0.0, 0.0, 0.5};

        PetscCall(PetscArraycpy(s.dVb + 4 * q, Vb, 4));
        PetscCall(PetscArraycpy(s.dWt + 4 * q, Wt, 4));
      }
      PetscCall(PetscArrayzero(s.dVt, 10 * 4));
      PetscCall(PetscArrayzero(s.dWb, 10 * 4));
      PetscCall((*s.k->merge)(&s, &pivot));
      if (variant < 2) {
        Check(&P, TEST_PIVOTS, pivot.nboost == 0 && pivot.badrow == (bad < 9 ? bad : -1) ? 0 : 2);
        continue;
      }
      Check(&P, TEST_PIVOTS, pivot.badrow == -1 && pivot.nboost == 9 - bad ? 0 : 2);
      for (PetscInt q = 0; q <= 9; q++) { /* x_t = 8 / 0.125 at those, 8 / 0.5 at the others */
        PetscScalar t[4] = {0.0, 0.0, 8.0, 0.0};

        PetscCall(PetscArraycpy(s.dtips + 4 * q, t, 4));
      }
      PetscCall((*s.k->mergedtips)(&s, PETSC_FALSE, PETSC_TRUE, 1));
      PetscCall((*s.k->mergedtips)(&s, PETSC_FALSE, PETSC_FALSE, 1));
      for (PetscInt q = 1; q < 9; q++)
        Check(&P, TEST_PIVOTS,
              (double)PetscAbsScalar(s.dtips[4 * q + 2] - (q >= bad ? (PetscScalar)64.0 : (PetscScalar)16.0)) / 1e-4);
    }
  }
  PetscCall((*s.k->destroy)(&s));
  PetscCall(PetscFree(P.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- mergedtips, mergedrhs, and all of it
  --------------------------------------------------------------------------------
*/
/* A right-hand side, unknowns beside the rank, and the solutions without and with them */
typedef struct {
  PetscInt     nrhs, ldb;
  PetscScalar *b, *x0, *x, *outer; /* outer: of interface 0, then of np: kl + ku values each */
  double       scale;
} System;

static PetscErrorCode SystemCreate(const Reference *R, PetscBool trans, PetscInt nrhs, System *S)
{
  const Problem *P = R->P;
  const PetscInt n = P->n, h = P->kl + P->ku, ends[2] = {0, P->np};

  PetscFunctionBegin;
  S->nrhs = nrhs;
  S->ldb  = n + 3;
  PetscCall(PetscMalloc4((PetscCount)S->ldb * nrhs, &S->b, (PetscCount)n * nrhs, &S->x0, (PetscCount)n * nrhs, &S->x,
                         (PetscCount)2 * h * nrhs, &S->outer));
  for (PetscInt c = 0; c < nrhs; c++) {
    for (PetscInt i = 0; i < n; i++) S->x0[i + c * n] = S->x[i + c * n] = S->b[i + (PetscCount)c * S->ldb] = Random();
    for (PetscInt i = 0; i < 2 * h; i++) S->outer[i + 2 * h * c] = Random();
    for (PetscInt e = 0; e < 2; e++)
      if (P->active[ends[e]]) Take(P, trans, ends[e], S->outer + (2 * c + e) * h, S->x + c * n);
  }
  PetscCall(DenseSolve(&R->A, trans, nrhs, S->x0));
  PetscCall(DenseSolve(&R->A, trans, nrhs, S->x));
  S->scale = 1 + MaxAbs(n * nrhs, S->x0) + MaxAbs(n * nrhs, S->x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemDestroy(System *S)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(S->b, S->x0, S->x, S->outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The outer sides of the outer interfaces as they are given; the inner sides, which nobody reads any more, are NaN */
static void SetOuter(const Problem *P, SpikeBand *s, PetscBool trans, const System *S)
{
  const PetscInt kl = P->kl, h = kl + P->ku;

  for (PetscInt c = 0; c < S->nrhs; c++)
    for (PetscInt e = 0; e < 2; e++) {
      PetscScalar    *t     = s->dtips + ((PetscCount)c * (P->np + 1) + (e ? P->np : 0)) * h;
      const PetscBool above = (PetscBool)(e != (PetscInt)trans);
      const PetscInt  from = above ? kl : 0, to = above ? h : kl;

      FillBytes(t, 0xFF, (size_t)h * sizeof(*t));
      for (PetscInt i = from; i < to; i++) t[i] = S->outer[(2 * c + e) * h + i];
    }
}

/* mergedtips up, from the tips of exact solutions of the partitions */
static PetscErrorCode TestUp(const Reference *R, SpikeBand *s, PetscBool trans, const System *S, double bound)
{
  const Problem *P  = R->P;
  const PetscInt kl = P->kl, ku = P->ku, h = kl + ku, np = P->np, n = P->n;
  PetscScalar   *g, *t, *u;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &g, h, &u));
  FillBytes(s->dtips, 0xFF, (size_t)s->maxrhs * (np + 1) * h * sizeof(PetscScalar));
  for (PetscInt c = 0; c < S->nrhs; c++) {
    PetscCall(PetscArraycpy(g, S->b + (PetscCount)c * S->ldb, n));
    for (PetscInt p = 0; p < np; p++) PetscCall(DenseSolve(&R->D[p], trans, 1, g + P->start[p]));
    for (PetscInt q = 0; q <= np; q++)
      if (P->active[q]) Sides(P, trans, q, g, s->dtips + ((PetscCount)c * (np + 1) + q) * h);
  }
  NoMalloc(P, TEST_EXTENT, (*s->k->mergedtips)(s, trans, PETSC_TRUE, S->nrhs));
  for (PetscInt c = 0; c < S->nrhs; c++)
    for (PetscInt e = 0; e < 2; e++) {
      const PetscBool above = (PetscBool)(e == (PetscInt)trans);
      const PetscInt  q = e ? np : 0, from = above ? kl : 0, to = above ? h : kl;

      if (!P->active[q]) continue;
      t = s->dtips + ((PetscCount)c * (np + 1) + q) * h;
      Sides(P, trans, q, S->x0 + (PetscCount)c * n, u);
      Check(P, trans ? TEST_UP_T : TEST_UP, MaxDiff(to - from, t + from, u + from) / (bound * S->scale));
      for (PetscInt i = 0; i < h; i++) /* the outer sides are left as they are */
        if (i < from || i >= to) Check(P, TEST_EXTENT, PetscIsNanScalar(t[i]) ? 0 : 2);
    }
  PetscCall(PetscFree2(g, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* mergedtips down, then mergedrhs: b without what the other partitions have of it, the exact solution being known */
static PetscErrorCode TestDown(const Reference *R, SpikeBand *s, PetscBool trans, const System *S, double bound)
{
  const Problem *P = R->P;
  const PetscInt h = P->kl + P->ku, np = P->np, n = P->n;
  PetscScalar   *u, *z;
  const double   size = trans ? 1 : MaxAbs(n * (h + 1), P->a);

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(h, &u, n, &z));
  SetOuter(P, s, trans, S);
  NoMalloc(P, TEST_EXTENT, (*s->k->mergedtips)(s, trans, PETSC_FALSE, S->nrhs));
  FillBytes(s->dwork, 0xFF, (size_t)s->maxrhs * n * sizeof(PetscScalar));
  for (PetscInt c = 0; c < S->nrhs; c++)
    for (PetscInt q = 1; q < np; q++) {
      Sides(P, trans, q, S->x + (PetscCount)c * n, u);
      Check(P, trans ? TEST_DOWN_T : TEST_DOWN,
            MaxDiff(h, s->dtips + ((PetscCount)c * (np + 1) + q) * h, u) / (bound * S->scale));
    }
  NoMalloc(P, TEST_EXTENT, (*s->k->mergedrhs)(s, trans, S->nrhs, S->b, S->ldb));
  for (PetscInt c = 0; c < S->nrhs; c++) {
    PetscCall(PetscArraycpy(z, S->b + (PetscCount)c * S->ldb, n));
    for (PetscInt q = 0; q <= np; q++) {
      if (!P->active[q]) continue;
      if (q > 0 && q < np) Sides(P, trans, q, S->x + (PetscCount)c * n, u);
      else PetscCall(PetscArraycpy(u, S->outer + (2 * c + (q ? 1 : 0)) * h, h));
      Take(P, trans, q, u, z);
    }
    Check(P, trans ? TEST_RHS_T : TEST_RHS, MaxDiff(n, s->dwork + (PetscCount)c * n, z) / (bound * S->scale * size));
  }
  PetscCall(PetscFree2(u, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sweep, up, down, mergedrhs, sweep, with the backend's own factors and spikes */
static PetscErrorCode TestWhole(const Reference *R, SpikeBand *s, PetscBool trans, const System *S, double bound)
{
  const Problem *P = R->P;
  const PetscInt n = P->n, np = P->np;
  const size_t   bytes = (size_t)n * S->nrhs * sizeof(PetscScalar);
  PetscScalar   *x;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((PetscCount)n * S->nrhs, &x));
  FillBytes(s->dtips, 0xFF, (size_t)s->maxrhs * (np + 1) * (P->kl + P->ku) * sizeof(PetscScalar));
  FillBytes(s->dwork, 0xFF, bytes);
  NoMalloc(P, TEST_EXTENT, (*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, np, S->nrhs, S->b, S->ldb, s->dwork, n));
  NoMalloc(P, TEST_EXTENT, (*s->k->mergedtips)(s, trans, PETSC_TRUE, S->nrhs));
  SetOuter(P, s, trans, S);
  NoMalloc(P, TEST_EXTENT, (*s->k->mergedtips)(s, trans, PETSC_FALSE, S->nrhs));
  NoMalloc(P, TEST_EXTENT, (*s->k->mergedrhs)(s, trans, S->nrhs, S->b, S->ldb));
  NoMalloc(P, TEST_EXTENT, (*s->k->sweep)(s, trans, SPIKE_SWEEP_ALL, 0, np, S->nrhs, s->dwork, n, x, n));
  Check(P, trans ? TEST_WHOLE_T : TEST_WHOLE, MaxDiff(n * S->nrhs, x, S->x) / (bound * S->scale));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- All of it on one problem
  --------------------------------------------------------------------------------------------
*/
static PetscErrorCode TestProblem(Problem *P)
{
  static PetscInt turn = 0;
  SpikeBand       s;
  SpikeCSR        parts[2];
  SpikeFillStats  st;
  Reference       R;
  SpikePivot      pivot = {0, 0, -5, -5, 0};
  PetscReal       falloff[2 * (MAXP + 1)];
  PetscInt        live, most = 1;
  double          bound;

  PetscFunctionBegin;
  if (!P->coupled) PetscFunctionReturn(PETSC_SUCCESS);
  BandShape(P, most, &s);
  s.full = PETSC_TRUE;
  PetscCall((*s.k->create)(&s));
  PetscCall(PiecesCreate(P, NULL, parts));
  PetscCall((*s.k->fill)(&s, 2, parts, NULL, &st));
  PetscCall(PiecesDestroy(parts));
  PetscCall(ReferenceCreate(P, &R));
  PetscCall((*s.k->factor)(&s, &pivot, NULL, NULL));
  PetscCall((*s.k->spikes)(&s, falloff)); /* makes the arrays */
  live = guard.nblocks;
  PetscCall(TestSpikes(&R, &s));
  bound = 2 * (2 + PetscMax(P->kl, P->ku)) * R.A.cond;
  for (PetscInt exact = 1; exact >= 0; exact--) {
    if (exact) PetscCall(TestMerge(&R, &s));
    else {
      FillTips(P, &s);
      PetscCall((*s.k->spikes)(&s, falloff));
      PetscCall(MergeAll(P, &s));
    }
    for (PetscInt trans = 0; trans < 2; trans++) {
      const PetscInt nrhs = ++turn % 9 + 1;
      System         S;

      if (nrhs > most) PetscCall((*s.k->reserve)(&s, most = nrhs));
      PetscCall(SystemCreate(&R, (PetscBool)trans, nrhs, &S));
      if (exact) {
        PetscCall(TestUp(&R, &s, (PetscBool)trans, &S, (double)PETSC_MACHINE_EPSILON * bound));
        PetscCall(TestDown(&R, &s, (PetscBool)trans, &S, (double)PETSC_MACHINE_EPSILON * bound));
      } else PetscCall(TestWhole(&R, &s, (PetscBool)trans, &S, (double)P->eps * bound));
      PetscCall(SystemDestroy(&S));
    }
  }
  Check(P, TEST_EXTENT, guard.nblocks == live ? 0 : 2);
  Check(P, TEST_EXTENT, GuardDamage() ? 2 : 0);
  guard.damaged = 0;
  PetscCall(ReferenceDestroy(&R));
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
    PetscCall(ProblemsOf(PETSC_STATIC_ARRAY_LENGTH(more), more, (PetscSpikePrecision)d, TestProblem));
    PetscCall(TestPivots((PetscSpikePrecision)d));
  }
  failed = Report();
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
