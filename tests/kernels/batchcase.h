/* SPDX-License-Identifier: BSD-2-Clause */
/*
  batchcase.h: for the tests of both backends of batch.h: batches of random bands, their solutions by backward errors
  and beside LAPACK's, pivots that are bad. Whoever includes it defines before

    BatchMove(to, from, bytes, todevice)     a copy between the host's memory and the backend's
    BatchMemory(bytes, &ptr), BatchRelease(ptr)
    BatchReport(t, &pivot)                   what setup() has found, in the host's memory
*/
#pragma once

#include "kernels/batch/batch.h"
#include "../lapackgb.h"
#include <math.h>

static int      number = 0, failed = 0, checks = 0, wrong = 0;
static PetscInt columns = 3, each = 1; /* right-hand sides; of the half-bandwidths each one, or each third */
static PetscInt parts = 1; /* lanes that share a system, where half-bandwidths are at most 4 and pieces short */

static inline void Check(PetscBool ok, const char what[], const char where[])
{
  checks++;
  if (ok) return;
  if (wrong++ < 10) printf("# %s: %s\n", where, what);
}

static inline void Report(const char what[])
{
  if (wrong || !checks) failed++;
  printf("%s %d - %s\n", wrong || !checks ? "not ok" : "ok", ++number, what);
  checks = wrong = 0;
}

/* Uniform in [-1, 1), in both parts of complex numbers */
static inline PetscReal Uniform(PetscInt64 seed, PetscInt64 i)
{
  unsigned long long z = (unsigned long long)seed * 0x9E3779B97F4A7C15ULL +
                         (unsigned long long)i * 0xD1B54A32D192ED03ULL + 1;

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (PetscReal)((double)(z >> 44) / 524288.0 - 1.0);
}

static inline PetscScalar Random(PetscInt64 seed, PetscInt64 i)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(Uniform(seed, i), Uniform(seed + 77, i));
#else
  return Uniform(seed, i);
#endif
}

/* Lengths of systems: none, empty, one row, equal ones around numbers of lanes and rows of tiles, unequal ones, long */
typedef struct {
  const char *name;
  PetscInt    nsys, length, spread; /* length + a number below spread, different from system to system */
} BatchShape;

static const BatchShape shapes[] = {
  {"none", 0, 0, 0},       {"empty", 3, 0, 0},       {"one row", 37, 1, 0},    {"one system", 1, 77, 0},
  {"few rows", 70, 0, 6},  {"equal 31", 64, 31, 0},  {"equal 32", 33, 32, 0},  {"equal 33", 31, 33, 0},
  {"equal 64", 97, 64, 0}, {"unequal", 150, 0, 100}, {"equal 130", 5, 130, 0}, {"long", 40, 700, 300},
};

static const PetscInt bandwidths[][2] = {{2, 2}, {1, 2}, {0, 1}, {3, 0},   {3, 3}, {4, 4},
                                         {5, 3}, {8, 8}, {2, 7}, {16, 16}, {0, 16}};

typedef struct {
  PetscInt     n, kl, ku, *start;
  PetscInt     seed;
  PetscBool    dominant;
  PetscScalar *entries; /* [n * (kl + ku + 1)] a_(i, i-kl) ... a_(i, i+ku), zero outside of a system */
  SpikeBatch   t;
} BatchCase;

static inline PetscErrorCode BatchCaseCreate(const BatchShape *shape, PetscInt kl, PetscInt ku, PetscBool dominant,
                                             PetscBool pivoting, const SpikeBatchKernels *k, BatchCase *c)
{
  const PetscInt w = kl + ku + 1;

  PetscFunctionBegin;
  memset((void *)c, 0, sizeof(*c));
  c->kl       = kl;
  c->ku       = ku;
  c->seed     = 1000 * kl + 10 * ku + shape->nsys;
  c->dominant = dominant;
  PetscCall(PetscMalloc1(shape->nsys + 1, &c->start));
  c->start[0] = 0;
  for (PetscInt q = 0; q < shape->nsys; q++)
    c->start[q + 1] = c->start[q] + shape->length + (shape->spread ? (q * 7919) % shape->spread : 0);
  c->n = c->start[shape->nsys];
  PetscCall(PetscCalloc1((size_t)c->n * w, &c->entries));
  for (PetscInt q = 0; q < shape->nsys; q++)
    for (PetscInt i = c->start[q]; i < c->start[q + 1]; i++) {
      PetscReal sum = 0.0;

      for (PetscInt d = -kl; d <= ku; d++) {
        if (i + d < c->start[q] || i + d >= c->start[q + 1]) continue;
        c->entries[(size_t)i * w + kl + d] = Random(c->seed, (PetscInt64)i * w + d);
        sum += PetscAbsScalar(c->entries[(size_t)i * w + kl + d]);
      }
      if (dominant) c->entries[(size_t)i * w + kl] = Uniform(c->seed + 1, i) > 0 ? 0.1 + sum : -0.1 - sum;
    }
  c->t.nsys     = shape->nsys;
  c->t.start    = c->start;
  c->t.kl       = kl;
  c->t.ku       = ku;
  c->t.pivoting = pivoting;
  c->t.parts    = !pivoting && kl <= 4 && ku <= 4 && shape->length + shape->spread <= 128 * parts ? parts : 1;
  c->t.k        = k;
  PetscCall((*k->create)(&c->t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BatchCaseDestroy(BatchCase *c)
{
  PetscFunctionBegin;
  PetscCall((*c->t.k->destroy)(&c->t));
  PetscCall(PetscFree(c->start));
  PetscCall(PetscFree(c->entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of lane k: inside of its system, or piece, to a, between two pieces to blocks */
static inline void BatchCaseLane(const BatchCase *c, PetscInt k, PetscScalar *a, PetscScalar *blocks)
{
  const SpikeBatch *t = &c->t;
  const PetscInt    g = k / t->lanes, l = k % t->lanes, first = t->first[k], n = t->len[k], w = c->kl + c->ku + 1,
                 h      = SpikeBatchBlock(t);
  const PetscCount step = (PetscCount)t->width * t->lanes;
  PetscScalar     *to = a + t->off[g] + l, *C = blocks + (PetscCount)g * SPIKE_BATCH_BLOCKS * h * h * t->lanes + l,
              *B = C + h * h * t->lanes;

  for (PetscInt i = 0; i < t->rows[g]; i++)
    for (PetscInt d = -c->kl; d <= c->ku; d++) {
      const PetscScalar v = i < n ? c->entries[(size_t)(first + i) * w + c->kl + d] : (PetscScalar)(d ? 0.0 : 1.0);
      const PetscInt    j = i + d;

      if (i >= n || (j >= 0 && j < n)) to[i * step + (c->kl + d) * t->lanes] = v;
      else if (v == (PetscScalar)0.0) continue;
      else if (j < 0) C[(i * h + h + j) * t->lanes] = v;
      else B[((i - n + h) * h + j - n) * t->lanes] = v;
    }
}

/* The entries where they belong, the identity in what no system has; then setup */
static inline PetscErrorCode BatchCaseSetUp(BatchCase *c, SpikePivot *pivot)
{
  SpikeBatch      *t     = &c->t;
  const PetscCount count = t->off[t->ngroups], all = (PetscCount)t->ngroups * SPIKE_BATCH_BLOCKS * SpikeBatchBlock(t) *
                                                     SpikeBatchBlock(t) * t->lanes;
  PetscScalar *a, *blocks;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(count, &a, all, &blocks));
  for (PetscInt k = 0; k < t->ngroups * t->lanes; k++) BatchCaseLane(c, k, a, blocks);
  PetscCall(BatchMove(t->a, a, count * sizeof(*a), PETSC_TRUE));
  if (t->blocks) PetscCall(BatchMove(t->blocks, blocks, all * sizeof(*a), PETSC_TRUE));
  PetscCall((*t->k->setup)(t, pivot, NULL));
  PetscCall(BatchReport(t, pivot));
  PetscCall(PetscFree2(a, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |b - op(A) x| over |A| |x| + |b| of system q, in the infinity norm; not finite where x is not */
static inline PetscReal BatchBackward(const BatchCase *c, PetscInt q, PetscBool trans, const PetscScalar *b,
                                      const PetscScalar *x)
{
  const PetscInt first = c->start[q], end = c->start[q + 1], w = c->kl + c->ku + 1;
  PetscReal      most = 0.0, norm = 0.0, xmax = 0.0, bmax = 0.0;

  for (PetscInt i = first; i < end; i++) {
    PetscScalar r   = b[i];
    PetscReal   sum = 0.0;

    for (PetscInt j = PetscMax(first, i - (trans ? c->ku : c->kl)); j < end && j <= i + (trans ? c->kl : c->ku); j++) {
      const PetscScalar v = trans ? c->entries[(size_t)j * w + c->kl + i - j]
                                  : c->entries[(size_t)i * w + c->kl + j - i];

      r -= v * x[j];
      sum += PetscAbsScalar(v);
    }
    if (!(PetscAbsScalar(r) <= PETSC_MAX_REAL)) return (PetscReal)INFINITY;
    most = PetscMax(most, PetscAbsScalar(r));
    norm = PetscMax(norm, sum);
    xmax = PetscMax(xmax, PetscAbsScalar(x[i]));
    bmax = PetscMax(bmax, PetscAbsScalar(b[i]));
  }
  return most > 0.0 ? most / (norm * xmax + bmax) : (PetscReal)0.0;
}

/* The same of LAPACK's solution, which exchanges rows */
static inline PetscErrorCode BatchLAPACK(const BatchCase *c, PetscInt q, PetscBool trans, const PetscScalar *b,
                                         PetscReal *backward)
{
  const PetscInt first = c->start[q], m = c->start[q + 1] - first, ld = 2 * c->kl + c->ku + 1, w = c->kl + c->ku + 1;
  PetscScalar   *ab, *x;
  PetscBLASInt  *ipiv, n, kl, ku, ldab, one = 1, info;

  PetscFunctionBegin;
  *backward = 0.0;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc3((size_t)m * ld, &ab, c->n, &x, m, &ipiv));
  PetscCall(PetscBLASIntCast(m, &n));
  PetscCall(PetscBLASIntCast(c->kl, &kl));
  PetscCall(PetscBLASIntCast(c->ku, &ku));
  PetscCall(PetscBLASIntCast(ld, &ldab));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = PetscMax(0, i - c->kl); j < m && j <= i + c->ku; j++)
      ab[(size_t)j * ld + c->kl + c->ku + i - j] = c->entries[(size_t)(first + i) * w + c->kl + j - i];
    x[first + i] = b[first + i];
  }
  LAPACKgbtrf_(&n, &n, &kl, &ku, ab, &ldab, ipiv, &info);
  if (!info) LAPACKgbtrs_(trans ? "T" : "N", &n, &kl, &ku, &one, ab, &ldab, ipiv, x + first, &n, &info);
  *backward = info ? (PetscReal)INFINITY : BatchBackward(c, q, trans, b, x);
  PetscCall(PetscFree3(ab, x, ipiv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns, plain and transposed, in place too; skip: a system whose solution means nothing, -1 for none */
static inline PetscErrorCode BatchCaseSolve(const BatchCase *c, PetscInt skip, const char where[])
{
  const PetscInt n = c->n, ldb = n + 3, ldx = n + 5;
  PetscScalar   *b, *x, *db, *dx;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(columns * ldb, &b, columns * ldx, &x));
  for (PetscInt i = 0; i < columns * ldb; i++) b[i] = Random(5, i);
  PetscCall(BatchMemory(columns * ldb * sizeof(*b), &db));
  PetscCall(BatchMemory(columns * ldx * sizeof(*x), &dx));
  PetscCall(BatchMove(db, b, columns * ldb * sizeof(*b), PETSC_TRUE));
  for (int trans = 0; trans < 2; trans++)
    for (int inplace = 0; inplace < 2; inplace++) {
      for (PetscInt i = 0; i < columns * ldx; i++) x[i] = 7.0;
      for (PetscInt col = 0; col < columns && inplace; col++)
        for (PetscInt i = 0; i < n; i++) x[col * ldx + i] = b[col * ldb + i];
      PetscCall(BatchMove(dx, x, columns * ldx * sizeof(*x), PETSC_TRUE));
      if (inplace) PetscCall((*c->t.k->apply)((SpikeBatch *)&c->t, (PetscBool)trans, columns, dx, ldx, dx, ldx));
      else PetscCall((*c->t.k->apply)((SpikeBatch *)&c->t, (PetscBool)trans, columns, db, ldb, dx, ldx));
      PetscCall(BatchMove(x, dx, columns * ldx * sizeof(*x), PETSC_FALSE));
      for (PetscInt col = 0; col < columns; col++) {
        for (PetscInt q = 0; q < c->t.nsys; q++) {
          PetscReal ours = BatchBackward(c, q, (PetscBool)trans, b + col * ldb, x + col * ldx), theirs = 0.0;

          if (q == skip) continue;
          if (!c->dominant && ours > 10 * PETSC_MACHINE_EPSILON)
            PetscCall(BatchLAPACK(c, q, (PetscBool)trans, b + col * ldb, &theirs));
          Check((PetscBool)(ours <= 20 * PetscMax(PETSC_MACHINE_EPSILON, theirs)), trans ? "transposed" : "plain",
                where);
        }
        for (PetscInt i = n; i < ldx; i++)
          Check((PetscBool)(x[col * ldx + i] == (PetscScalar)7.0), "rows after", where);
      }
    }
  PetscCall(BatchRelease(db));
  PetscCall(BatchRelease(dx));
  PetscCall(PetscFree2(b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All shapes and half-bandwidths */
static inline PetscErrorCode BatchTestSolves(const SpikeBatchKernels *k, PetscBool pivoting)
{
  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++)
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(bandwidths); w += each)
      for (int turn = 0; turn < (pivoting ? 2 : 1); turn++) {
        BatchCase  c;
        SpikePivot pivot = {1e-30, 0.0, 0, -1, 0.0, PETSC_FALSE};
        char       where[128];

        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %d,%d%s, %d lanes", shapes[s].name, (int)bandwidths[w][0],
                                (int)bandwidths[w][1], pivoting ? ", row exchanges" : "", (int)parts));
        if (parts > 1 && PetscMax(bandwidths[w][0], bandwidths[w][1]) > 4) continue;
        if (pivoting && !turn && (!bandwidths[w][0] || !bandwidths[w][1])) continue; /* triangular: near to singular */
        PetscCall(BatchCaseCreate(&shapes[s], bandwidths[w][0], bandwidths[w][1], (PetscBool)(!pivoting || turn),
                                  pivoting, k, &c));
        for (int again = 0; again < 2; again++) { /* other values in the same memory */
          PetscCall(BatchCaseSetUp(&c, &pivot));
          Check((PetscBool)(pivot.badrow < 0 && !pivot.nboost), "pivots", where);
          PetscCall(BatchCaseSolve(&c, -1, where));
          for (PetscInt i = 0; i < c.n * (c.kl + c.ku + 1); i++) c.entries[i] *= -3.0;
        }
        PetscCall(BatchCaseDestroy(&c));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column of one system is zero: which pivot is reported or boosted, and that all other systems are right */
static inline PetscErrorCode BatchTestPivots(const SpikeBatchKernels *k, PetscBool pivoting)
{
  const PetscInt pairs[][2] = {{2, 2}, {5, 3}, {8, 8}};

  PetscFunctionBegin;
  for (size_t w = 0; w < (parts > 1 ? 1 : PETSC_STATIC_ARRAY_LENGTH(pairs)); w++)
    for (PetscInt q = 2; q < 150; q += 29)
      for (int how = 0; how < 4;
           how++) { /* reported, boosted, not a number, and in a system that is small as a whole */
        const PetscInt kl = pairs[w][0], ku = pairs[w][1], width = kl + ku + 1;
        BatchCase      c;
        SpikePivot     pivot = {1e-6, how == 1 ? (PetscReal)0.5 : (PetscReal)0.0, 0, -1, 0.0, PETSC_FALSE};
        PetscInt       row;
        char           where[64];

        PetscCall(PetscSNPrintf(where, sizeof(where), "%d,%d, system %d, case %d", (int)kl, (int)ku, (int)q, how));
        PetscCall(BatchCaseCreate(&shapes[9], kl, ku, PETSC_TRUE, pivoting, k, &c));
        row = c.start[q] + (c.start[q + 1] - c.start[q]) / 2;
        if (row < c.start[q + 1]) {
          for (PetscInt i = PetscMax(c.start[q], row - ku); i < c.start[q + 1] && i <= row + kl; i++)
            c.entries[(size_t)i * width + kl + row - i] = 0.0;
          if (how == 2) c.entries[(size_t)row * width + kl] = (PetscReal)INFINITY;
          PetscCall(BatchCaseSetUp(&c, &pivot));
          if (how == 1) Check((PetscBool)(pivot.nboost == 1 && pivot.badrow < 0), "boosted", where);
          else if (how == 2) Check((PetscBool)(pivot.badrow == row && !(pivot.badvalue <= 1)), "infinity", where);
          else Check((PetscBool)(pivot.badrow == row && pivot.badvalue == (PetscReal)0.0), "zero pivot", where);
          PetscCall(BatchCaseSolve(&c, q, where));
        }
        PetscCall(BatchCaseDestroy(&c));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}
