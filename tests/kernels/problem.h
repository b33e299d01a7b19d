/* SPDX-License-Identifier: BSD-2-Clause */
/*
  problem.h: for tests of the table of kernels: partitioned bands, their matrix in CSR, dense LAPACK references, results
  by topic. The file that includes it defines before an enum of topics, NTOPICS, and their names, topics[]
*/
#pragma once

#include "kernels/band/host/host.h"
#include "../guard.h"
#include "random.h"
#include <petscblaslapack.h>
#include <math.h>

/* memset() and memcmp() for arrays that may have no elements, and then no address */
static inline void FillBytes(void *p, int byte, size_t n)
{
  if (n) memset(p, byte, n);
}

static inline int CompareBytes(const void *p, const void *q, size_t n)
{
  return n ? memcmp(p, q, n) : 0;
}

#define MAXP     9
#define GHOST    1000000 /* global number of the rank's first row, for columns in the second piece of the matrix */
#define SENTINEL ((PetscScalar)1048575)

/* A partitioned band with the rows of its neighbours' couplings, and entries outside the band on demand */
typedef struct {
  PetscInt            n, kl, ku, np, start[MAXP + 1], kind;
  PetscBool           active[MAXP + 1], coupled, outside;
  PetscSpikePrecision precision;
  PetscReal           eps; /* rounding of the factors */
  /* [n * (kl + ku + 1)] entry (i, j) at i * (kl + ku + 1) + j - i + kl, also where j < 0 or j >= n */
  PetscScalar *a;
} Problem;

typedef struct {
  PetscInt np, kl, ku, sizes[MAXP];
} Shape;

static const Shape shapes[] = {{1, 1, 1, {0}},
                               {1, 1, 1, {1}},
                               {1, 0, 0, {5}},
                               {1, 2, 3, {40}},
                               {2, 1, 1, {1, 1}},
                               {2, 1, 1, {200, 150}},
                               {3, 1, 1, {33, 1, 64}},
                               {2, 2, 3, {3, 3}},
                               {4, 2, 3, {3, 197, 17, 4}},
                               {4, 3, 1, {60, 3, 5, 150}},
                               {3, 0, 2, {90, 2, 9}},
                               {3, 2, 0, {90, 2, 9}},
                               {3, 5, 5, {5, 11, 120}},
                               {3, 7, 4, {40, 7, 61}},
                               {2, 16, 16, {16, 90}},
                               {5, 1, 2, {2, 3, 4, 5, 70}}};

typedef enum {
  DOMINANT,  /* random, both triangles fall off fast                          */
  SLOWFALL,  /* constant signs, barely dominant                               */
  UPPERSLOW, /* the inverse falls off slowly above the diagonal, fast below it */
  LOWERSLOW,
  VARYING,   /* dominant at the top of each partition, barely so at its bottom */
  DECOUPLED, /* as DOMINANT, with couplings that are zero                      */
  NKINDS
} Kind;
static const char *const kinds[] = {"dominant", "slow", "upper slow", "lower slow", "varying", "decoupled"};

/*
  ---- Results, by precision and topic
  ---------------------------------------------------------------------------------------------------
*/
#define PRECISION0 (PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE)
#define PRECISION1 PETSC_SPIKE_PRECISION_FP16

static const char *const precisions[] = {"double", "single", "bf16", "fp16"};
static PetscInt          ncases[4][NTOPICS], nbad[4][NTOPICS];
static double            worst[4][NTOPICS];

/* value: an error in units of its bound; NaN fails */
static inline void CheckAt(const Problem *P, PetscInt t, double value, int line)
{
  const PetscInt d = P->precision;

  ncases[d][t]++;
  if (!(value <= worst[d][t])) worst[d][t] = value;
  if (value <= 1) return;
  if (nbad[d][t]++ < 4)
    printf("# line %d, %s: n %" PetscInt_FMT " in %" PetscInt_FMT " partitions, kl %" PetscInt_FMT ", ku %" PetscInt_FMT
           ", %s, outer interfaces %d %d: %g\n",
           line, topics[t], P->n, P->np, P->kl, P->ku, kinds[P->kind], (int)P->active[0], (int)P->active[P->np], value);
}

#define Check(P, topic, value) CheckAt(P, topic, value, __LINE__)

/*
  ---- Numbers
  -------------------------------------------------------------------------------------------------------------
*/
static inline double MaxAbs(PetscInt n, const PetscScalar *x)
{
  double m = 0;

  for (PetscInt i = 0; i < n; i++) {
    const double a = (double)PetscAbsScalar(x[i]);

    if (!(a <= m)) m = a; /* NaN stays */
    if (m != m) return m;
  }
  return m;
}

static inline double MaxDiff(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  double m = 0;

  for (PetscInt i = 0; i < n; i++) {
    const double a = (double)PetscAbsScalar(x[i] - y[i]);

    if (a != a) return a;
    m = PetscMax(m, a);
  }
  return m;
}

/*
  ---- Problems
  ------------------------------------------------------------------------------------------------------------
*/
static inline PetscErrorCode ProblemCreate(const Shape *shape, Kind kind, PetscInt outer, PetscSpikePrecision precision,
                                           Problem *P)
{
  const PetscInt kl = shape->kl, ku = shape->ku, ld = kl + ku + 1;

  PetscFunctionBegin;
  P->kl        = kl;
  P->ku        = ku;
  P->np        = shape->np;
  P->kind      = kind;
  P->start[0]  = 0;
  P->precision = precision;
  P->outside   = PETSC_FALSE;
  P->eps       = SpikePrecisionEpsilon(precision);
  for (PetscInt p = 0; p < P->np; p++) P->start[p + 1] = P->start[p] + shape->sizes[p];
  P->n       = P->start[P->np];
  P->coupled = (PetscBool)(PetscMax(kl, ku) > 0 && P->n > 0 && (P->np > 1 || outer));
  for (PetscInt q = 0; q <= P->np; q++)
    P->active[q] = (PetscBool)(P->coupled && (q > 0 || (outer & 1)) && (q < P->np || (outer & 2)));
  PetscCall(PetscCalloc1((PetscCount)P->n * ld, &P->a));
  for (PetscInt p = 0; p < P->np; p++) {
    for (PetscInt i = P->start[p]; i < P->start[p + 1]; i++) {
      const PetscReal depth = (PetscReal)(i - P->start[p]) / (P->start[p + 1] - P->start[p]);
      PetscReal       sum = 0.0, d = 2.0;

      if (kind == SLOWFALL) d = 1.01;
      else if (kind == UPPERSLOW || kind == LOWERSLOW) d = 1.05;
      else if (kind == VARYING) d = 3.0 - 1.99 * depth;
      for (PetscInt j = i - kl; j <= i + ku; j++) {
        PetscScalar v = Random();

        if (kind == SLOWFALL || kind == VARYING) v = -1.0 + (PetscReal)0.125 * v;
        else if (kind == UPPERSLOW) v = j < i ? (PetscReal)0.0078125 * v : -1.0 + (PetscReal)0.125 * v;
        else if (kind == LOWERSLOW) v = j > i ? (PetscReal)0.0078125 * v : -1.0 + (PetscReal)0.125 * v;
        if (j < 0 && !P->active[0]) v = 0.0; /* no neighbour */
        if (j >= P->n && !P->active[P->np]) v = 0.0;
        if (kind == DECOUPLED && (j < P->start[p] || j >= P->start[p + 1])) v = 0.0;
        P->a[i * ld + j - i + kl] = v;
        if (j != i) sum += PetscAbsScalar(v);
      }
      P->a[i * ld + kl] = (float)(d * sum + (sum > 0.0 && kind != DOMINANT && kind != DECOUPLED ? 0.0 : 0.5));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry (i, j): of the band, or one of a few beside it; 0 where the matrix has none */
static inline PetscScalar Entry(const Problem *P, PetscInt i, PetscInt j)
{
  if (i - j <= P->kl && j - i <= P->ku) return P->a[i * (P->kl + P->ku + 1) + j - i + P->kl];
  if (P->outside && j >= 0 && j < P->n && (j - i == P->ku + 1 || j - i == P->ku + 4 || i - j == P->kl + 2) &&
      (i + j) % 3)
    return (PetscReal)0.25 + (PetscReal)(i % 5) / 8;
  return 0.0;
}

/*
  The matrix as MPIAIJ keeps it: columns of the rank, and the others, numbered as they come, with a map to global
  numbers. Rows and columns of the pieces are in the order that newrow takes to band order.
*/
static inline PetscErrorCode PiecesCreate(const Problem *P, const PetscInt newrow[], SpikeCSR parts[2])
{
  const PetscInt lo = -P->kl, hi = P->n + P->ku;
  PetscInt      *map, nmap       = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(P->kl + P->ku + 1, &map));
  for (PetscInt j = lo; j < hi; j++)
    if (j < 0 || j >= P->n) map[nmap++] = j + GHOST;
  for (PetscInt part = 0; part < 2; part++) {
    PetscInt    *ai, *aj, nz = 0;
    PetscScalar *aa;

    PetscCall(PetscMalloc1(P->n + 1, &ai));
    PetscCall(PetscMalloc1((PetscCount)P->n * (P->kl + P->ku + 4) + 1, &aj));
    PetscCall(PetscMalloc1((PetscCount)P->n * (P->kl + P->ku + 4) + 1, &aa));
    ai[0] = 0;
    for (PetscInt r = 0; r < P->n; r++) {
      const PetscInt i = newrow ? newrow[r] : r;

      for (PetscInt c = 0; c < (part ? nmap : P->n); c++) {
        const PetscInt    j = part ? map[c] - GHOST : (newrow ? newrow[c] : c);
        const PetscScalar v = Entry(P, i, j);

        if (v == (PetscScalar)0.0 && (r + c) % 7) continue; /* some zeros are stored */
        if (v == (PetscScalar)0.0 && (i - j > P->kl || j - i > P->ku)) continue;
        aj[nz]   = c;
        aa[nz++] = v;
      }
      ai[r + 1] = nz;
    }
    parts[part].ai     = ai;
    parts[part].aj     = aj;
    parts[part].aa     = aa;
    parts[part].colmap = part ? map : NULL;
    parts[part].shift  = part ? -GHOST : 0;
    parts[part].r = parts[part].c = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode PiecesDestroy(SpikeCSR parts[2])
{
  PetscFunctionBegin;
  PetscCall(PetscFree(parts[1].colmap));
  for (PetscInt part = 0; part < 2; part++) {
    PetscCall(PetscFree(parts[part].ai));
    PetscCall(PetscFree(parts[part].aj));
    PetscCall(PetscFree(parts[part].aa));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void BandShape(const Problem *P, PetscInt maxrhs, SpikeBand *s)
{
  memset(s, 0, sizeof(*s));
  s->k         = &SpikeBandKernels_Host;
  s->n         = P->n;
  s->kl        = P->kl;
  s->ku        = P->ku;
  s->np        = P->np;
  s->start     = (PetscInt *)P->start;
  s->active    = (PetscBool *)P->active;
  s->precision = P->precision;
  s->coupled   = P->coupled;
  s->maxrhs    = maxrhs;
}

/*
  ---- Dense references
  ----------------------------------------------------------------------------------------------------
*/
typedef struct {
  PetscInt      m;
  PetscScalar  *lu, *W, *V; /* the spikes [m * kl], [m * ku] */
  PetscBLASInt *ipiv;
  double        cond;
} Dense;

static inline PetscErrorCode DenseSolve(const Dense *D, PetscBool trans, PetscInt nrhs, PetscScalar *x)
{
  PetscBLASInt m, nr, info;

  PetscFunctionBegin;
  if (!D->m || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(D->m, &m));
  PetscCall(PetscBLASIntCast(nrhs, &nr));
  PetscCallBLAS("LAPACKgetrs", LAPACKgetrs_(trans ? "T" : "N", &m, &nr, D->lu, &m, D->ipiv, x, &m, &info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The leading m rows of partition p, its spikes, and the condition number in the infinity norm */
static inline PetscErrorCode DenseCreate(const Problem *P, PetscInt p, PetscInt m, Dense *D)
{
  const PetscInt s0 = P->start[p], last = P->start[p + 1];
  PetscBLASInt   bm, info;
  PetscScalar   *inv;
  double         norm[2] = {0, 0};

  PetscFunctionBegin;
  D->m = m;
  PetscCall(PetscCalloc1((PetscCount)m * m, &D->lu));
  PetscCall(PetscCalloc1((PetscCount)m * m, &inv));
  PetscCall(PetscCalloc1(m, &D->ipiv));
  PetscCall(PetscCalloc1((PetscCount)m * P->kl, &D->W));
  PetscCall(PetscCalloc1((PetscCount)m * P->ku, &D->V));
  for (PetscInt i = 0; i < m; i++) {
    inv[i + i * m] = 1.0;
    for (PetscInt j = 0; j < m; j++)
      if (i - j <= P->kl && j - i <= P->ku) D->lu[i + j * m] = Entry(P, s0 + i, s0 + j);
  }
  for (PetscInt c = 0; c < P->kl; c++)
    for (PetscInt i = 0; i < m && P->active[p]; i++)
      if (s0 + i - (s0 - P->kl + c) <= P->kl) D->W[i + c * m] = Entry(P, s0 + i, s0 - P->kl + c);
  for (PetscInt c = 0; c < P->ku; c++)
    for (PetscInt i = 0; i < m && P->active[p + 1]; i++)
      if (last + c - (s0 + i) <= P->ku) D->V[i + c * m] = Entry(P, s0 + i, last + c);
  if (m) {
    PetscCall(PetscBLASIntCast(m, &bm));
    for (PetscInt i = 0; i < m; i++) {
      double sum = 0;

      for (PetscInt j = 0; j < m; j++) sum += (double)PetscAbsScalar(D->lu[i + j * m]);
      norm[0] = PetscMax(norm[0], sum);
    }
    PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&bm, &bm, D->lu, &bm, D->ipiv, &info));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the test matrix is singular");
    PetscCall(DenseSolve(D, PETSC_FALSE, m, inv));
    for (PetscInt i = 0; i < m; i++) {
      double sum = 0;

      for (PetscInt j = 0; j < m; j++) sum += (double)PetscAbsScalar(inv[i + j * m]);
      norm[1] = PetscMax(norm[1], sum);
    }
  }
  D->cond = norm[0] * norm[1];
  PetscCall(PetscFree(inv));
  PetscCall(DenseSolve(D, PETSC_FALSE, P->kl, D->W));
  PetscCall(DenseSolve(D, PETSC_FALSE, P->ku, D->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DenseDestroy(Dense *D)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(D->lu));
  PetscCall(PetscFree(D->ipiv));
  PetscCall(PetscFree(D->W));
  PetscCall(PetscFree(D->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool Bits(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  return (PetscBool)!CompareBytes(x, y, (size_t)n * sizeof(*x));
}

/* An error handler for errors that a test wants */
static inline PetscErrorCode Ignore(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode n,
                                    PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)func, (void)file, (void)p, (void)mess, (void)ctx;
  return n;
}

/* Calls a kernel that must not allocate */
#define NoMalloc(P, topic, call) \
  do { \
    const PetscInt count_ = guard.count; \
\
    PetscCall(call); \
    Check(P, topic, guard.count == count_ ? 0 : 2); \
  } while (0)

/* Runs the test of one problem on these shapes, with all kinds of matrices and neighbours, in one precision */
static inline PetscErrorCode ProblemsOf(size_t count, const Shape some[], PetscSpikePrecision precision,
                                        PetscErrorCode (*test)(Problem *))
{
  Problem P;

  PetscFunctionBegin;
  for (size_t k = 0; k < count; k++) {
    for (PetscInt kind = 0; kind < NKINDS; kind++) {
      for (PetscInt outer = 0; outer < 4; outer++) {
        PetscCall(ProblemCreate(&some[k], (Kind)kind, outer, precision, &P));
        PetscCall((*test)(&P));
        PetscCall(PetscFree(P.a));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemsAll(PetscSpikePrecision precision, PetscErrorCode (*test)(Problem *))
{
  PetscFunctionBegin;
  PetscCall(ProblemsOf(PETSC_STATIC_ARRAY_LENGTH(shapes), shapes, precision, test));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* TAP lines; the number of topics that failed. A topic without a case has failed: its test did not run. */
static inline PetscInt Report(void)
{
  PetscInt failed = 0, number = 0;

  for (PetscInt d = PRECISION0; d <= PRECISION1; d++) {
    for (PetscInt t = 0; t < NTOPICS; t++) {
      const PetscBool bad = (PetscBool)(nbad[d][t] || !ncases[d][t]);

      if (bad) failed++;
      printf("%s %d - %s, %s # %" PetscInt_FMT " cases", bad ? "not ok" : "ok", (int)++number, precisions[d], topics[t],
             ncases[d][t]);
      if (nbad[d][t]) printf(", %" PetscInt_FMT " bad", nbad[d][t]);
      printf(", worst %.2g of its bound\n", worst[d][t]);
    }
  }
  printf("1..%d\n", (int)number);
  return failed;
}
