/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hosttridiagonal.c: tests of the host backend of tridiagonal.h: each algorithm against LAPACK, failures, memory, for
  each instruction set; prints TAP
*/
static char help[] = "Tridiagonal systems of the host backend against LAPACK's gttrf and gttrs.\n\n";

#include "kernels/tridiagonal/tridiagonal.h"
#include "kernels/band/host/ops.h"
#include "tap.h"
#include "../tridiagonalcase.h"

#define MAXSYS 40
#define NRHS   5
#define HOST   (&SpikeTridiagonalKernels_Host)

/* An algorithm with its options */
typedef struct {
  PCSpikeTridiagonalType type;
  PetscInt               switchpoint, chunk, longest;
  PetscBool              pivoting;
} Method;

static const Method methods[] = {{PC_SPIKE_TRIDIAGONAL_AUTO, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_THOMAS, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_TWOWAY, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_CR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_PCR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_RD, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_CRPCR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_CRPCR, 5, PETSC_DECIDE, 0, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE,
                                  PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, 2, PETSC_DECIDE, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, 7, PETSC_DECIDE, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_TRUE},
                                 {PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, 7, PETSC_DECIDE, PETSC_TRUE},
                                 {PC_SPIKE_TRIDIAGONAL_CR, PETSC_DECIDE, 9, 20, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_PCR, PETSC_DECIDE, 16, 20, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_RD, PETSC_DECIDE, 12, 20, PETSC_FALSE},
                                 {PC_SPIKE_TRIDIAGONAL_CRPCR, 4, 33, 20, PETSC_FALSE}};

typedef struct {
  PetscInt nsys, length[MAXSYS];
} Batch;

static const Batch batches[] = {{0, {0}},
                                {1, {0}},
                                {1, {1}},
                                {1, {2}},
                                {1, {3}},
                                {1, {7}},
                                {1, {64}},
                                {1, {65}},
                                {1, {511}},
                                {1, {513}},
                                {1, {1337}},
                                {1, {9000}},
                                {3, {0, 5, 0}},
                                {4, {33, 33, 33, 33}},
                                {9, {128, 128, 128, 128, 128, 128, 128, 128, 128}},
                                {11, {17, 0, 1, 2, 300, 3, 129, 1, 64, 0, 2000}},
                                {40, {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                      21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}}};

typedef struct {
  PetscInt      n, start[MAXSYS + 1];
  PetscScalar  *dl, *d, *du, *b, *x, *y, *z, *work;
  PetscBLASInt *pivots;
} Data;

static PetscErrorCode DataCreate(const Batch *batch, Data *a)
{
  PetscFunctionBegin;
  a->start[0] = 0;
  for (PetscInt i = 0; i < batch->nsys; i++) a->start[i + 1] = a->start[i] + batch->length[i];
  a->n = a->start[batch->nsys];
  PetscCall(PetscMalloc1(a->n, &a->dl));
  PetscCall(PetscMalloc1(a->n, &a->d));
  PetscCall(PetscMalloc1(a->n, &a->du));
  PetscCall(PetscMalloc1(NRHS * (a->n + 3), &a->b));
  PetscCall(PetscMalloc1(NRHS * (a->n + 5), &a->x));
  PetscCall(PetscMalloc1(NRHS * (a->n + 5), &a->y));
  PetscCall(PetscMalloc1(NRHS * (a->n + 5), &a->z));
  PetscCall(PetscMalloc1(4 * a->n, &a->work));
  PetscCall(PetscMalloc1(a->n, &a->pivots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DataDestroy(Data *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(a->dl));
  PetscCall(PetscFree(a->d));
  PetscCall(PetscFree(a->du));
  PetscCall(PetscFree(a->b));
  PetscCall(PetscFree(a->x));
  PetscCall(PetscFree(a->y));
  PetscCall(PetscFree(a->z));
  PetscCall(PetscFree(a->work));
  PetscCall(PetscFree(a->pivots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void DataFill(const Batch *batch, Data *a, TriKind kind, PetscInt64 seed)
{
  for (PetscInt i = 0; i < batch->nsys; i++)
    TriFill(kind, 10 * (seed + i), batch->length[i], a->dl + a->start[i], a->d + a->start[i], a->du + a->start[i]);
  for (PetscInt c = 0; c < NRHS; c++)
    for (PetscInt i = 0; i < a->n + 3; i++) a->b[c * (a->n + 3) + i] = TriRandom(5 + c, i + seed);
}

static PetscErrorCode CreateData(const Batch *batch, const Data *a, const Method *m, SpikeTridiagonal *t)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  t->nsys        = batch->nsys;
  t->start       = a->start;
  t->type        = m->type;
  t->switchpoint = m->switchpoint;
  t->chunk       = m->chunk;
  t->longest     = m->longest;
  t->pivoting    = m->pivoting;
  t->maxrhs      = 3;
  t->k           = HOST;
  PetscCall((*HOST->create)(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteWhere(const Batch *batch, const Data *a, const Method *m, TriKind kind, PetscBool trans,
                                 char where[], size_t size)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, size,
                          "%s%s switch %" PetscInt_FMT " chunk %" PetscInt_FMT " longest %" PetscInt_FMT
                          ", %" PetscInt_FMT " systems, %" PetscInt_FMT " rows, %s%s",
                          PCSpikeTridiagonalTypes[m->type], m->pivoting ? " pivoting" : "", m->switchpoint, m->chunk,
                          m->longest, batch->nsys, a->n, trikinds[kind], trans ? ", transposed" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Solutions, aliases, leading dimensions, columns, runs; the bound is of backward errors in units of rounding, and of
  differences from LAPACK's solution
*/
static PetscErrorCode TestSolve(const Batch *batch, const Method *m, TriKind kind, PetscReal bound)
{
  Data             a;
  SpikeTridiagonal t;
  SpikePivot       pv = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};
  char             where[200];
  PetscReal        bytes, before = guard.bytes;
  PetscInt         count;

  PetscFunctionBegin;
  PetscCall(DataCreate(batch, &a));
  before = guard.bytes;
  PetscCall(CreateData(batch, &a, m, &t));
  PetscCall(WriteWhere(batch, &a, m, kind, PETSC_FALSE, where, sizeof(where)));
  PetscCall((*HOST->bytes)(&t, &bytes));
  Check((PetscBool)(PetscAbsReal(guard.bytes - before - bytes) <= 2048 + 0.05 * bytes), where, "bytes");
  count = guard.count;
  for (PetscInt fill = 0; fill < 2; fill++) {
    DataFill(batch, &a, kind, 1000 * fill);
    PetscCall((*HOST->setup)(&t, a.dl, a.d, a.du, &pv));
    Check((PetscBool)(pv.badrow < 0 && !pv.nboost), where, "a bad pivot");
    for (PetscInt trans = 0; trans < 2; trans++) {
      const PetscInt ldb = a.n + 3, ldx = a.n + 5;
      PetscBool      same = PETSC_TRUE, kept = PETSC_TRUE;

      PetscCall(WriteWhere(batch, &a, m, kind, (PetscBool)trans, where, sizeof(where)));
      memset(a.x, 0xff, NRHS * (size_t)ldx * sizeof(*a.x));
      for (PetscInt c = 0; c < NRHS; c++)
        for (PetscInt i = a.n; i < ldx; i++) a.x[c * ldx + i] = 17.0;
      PetscCall((*HOST->apply)(&t, (PetscBool)trans, NRHS, a.b, ldb, a.x, ldx));
      for (PetscInt c = 0; c < NRHS; c++) {
        for (PetscInt i = a.n; i < ldx; i++) kept = (PetscBool)(kept && a.x[c * ldx + i] == (PetscScalar)17.0);
        PetscCall(PetscArraycpy(a.y + c * ldx, a.b + c * ldb, a.n));
        PetscCall(PetscArraycpy(a.z + c * ldx, a.b + c * ldb, a.n));
        PetscCall((*HOST->apply)(&t, (PetscBool)trans, 1, a.y + c * ldx, ldx, a.y + c * ldx, ldx));
        same = (PetscBool)(same && !memcmp(a.x + c * ldx, a.y + c * ldx, (size_t)a.n * sizeof(*a.x)));
      }
      Check(kept, where, "rows after the last were touched");
      Check(same, where, "one column in place differs from all columns");
      PetscCall((*HOST->apply)(&t, (PetscBool)trans, 0, a.b, ldb, a.x, ldx));
      for (PetscInt i = 0; i < batch->nsys; i++) {
        const PetscInt s = a.start[i], n = batch->length[i];
        PetscBool      singular;

        PetscCall(
          TriLAPACK((PetscBool)trans, n, a.dl + s, a.d + s, a.du + s, NRHS, a.z + s, ldx, a.work, a.pivots, &singular));
        Check((PetscBool)!singular, where, "singular");
        for (PetscInt c = 0; c < NRHS; c++) {
          PetscReal error = 0.0, most = 0.0;

          Check((PetscBool)(TriBackward((PetscBool)trans, n, a.dl + s, a.d + s, a.du + s, a.b + c * ldb + s,
                                        a.x + c * ldx + s) <= bound * PETSC_MACHINE_EPSILON),
                where, "residual");
          if (kind != TRI_DOMINANT) continue; /* the others are not well-conditioned */
          for (PetscInt r = s; r < s + n; r++) {
            const PetscReal e = PetscAbsScalar(a.x[c * ldx + r] - a.z[c * ldx + r]);

            if (!(e <= error)) error = e;
            most = PetscMax(most, PetscAbsScalar(a.z[c * ldx + r]));
          }
          Check((PetscBool)(error <= 40 * bound * PETSC_MACHINE_EPSILON * most), where, "differs from LAPACK");
        }
      }
    }
  }
  Check((PetscBool)(guard.count == count), where, "a setup or an apply allocates");
  PetscCall((*HOST->destroy)(&t));
  Check((PetscBool)(guard.bytes == before), where, "memory is left");
  PetscCall(DataDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One system of several is spoiled: found, its row inside that system, and the others have the bits that they had */
static PetscErrorCode TestFailure(const Batch *batch, const Method *m, PetscInt which, int spoil)
{
  const char *const spoils[] = {"a row of zeros",
                                "not a number on the diagonal",
                                "infinity below the diagonal",
                                "not a number above the diagonal",
                                "a zero matrix",
                                "a pivot without an inverse"};
  Data              a;
  SpikeTridiagonal  t;
  SpikePivot        pv = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};
  char              where[300];
  const PetscInt    length = batch->length[which];
  PetscInt          s, r;
  PetscBool         same = PETSC_TRUE;

  PetscFunctionBegin;
  if (!length || (length < 3 && (spoil == 2 || spoil == 3))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DataCreate(batch, &a));
  PetscCall(CreateData(batch, &a, m, &t));
  PetscCall(WriteWhere(batch, &a, m, TRI_DOMINANT, PETSC_FALSE, where, sizeof(where)));
  PetscCall(PetscStrlcat(where, ", ", sizeof(where)));
  PetscCall(PetscStrlcat(where, spoils[spoil], sizeof(where)));
  DataFill(batch, &a, TRI_DOMINANT, 0);
  PetscCall((*HOST->setup)(&t, a.dl, a.d, a.du, &pv));
  PetscCall((*HOST->apply)(&t, PETSC_FALSE, 1, a.b, a.n, a.x, a.n));
  s = a.start[which];
  r = s + length / 2;
  if (spoil == 0 || spoil == 5) a.dl[r] = a.d[r] = a.du[r] = 0.0;
  if (spoil == 5) a.d[r] = PETSC_REAL_MIN / 8;
  if (spoil == 1) a.d[r] = PetscSqrtReal(-PETSC_MAX_REAL);
  if (spoil == 2) a.dl[r] = (PetscReal)INFINITY;
  if (spoil == 3) a.du[s] = PetscSqrtReal(-PETSC_MAX_REAL);
  for (r = s; r < s + length && spoil == 4; r++) a.dl[r] = a.d[r] = a.du[r] = 0.0;
  PetscCall((*HOST->setup)(&t, a.dl, a.d, a.du, &pv));
  Check((PetscBool)(pv.badrow >= s && pv.badrow < s + length && !pv.nboost), where, "not found, or elsewhere");
  Check((PetscBool)((spoil != 0 && spoil != 4) || pv.badvalue == 0.0 || m->type == PC_SPIKE_TRIDIAGONAL_RD), where,
        "the value of a zero pivot");
  for (PetscInt trans = 0; trans < 2; trans++)
    PetscCall((*HOST->apply)(&t, (PetscBool)(!trans), 1, a.b, a.n, a.y, a.n));
  for (PetscInt i = 0; i < batch->nsys; i++)
    for (PetscInt k = a.start[i]; k < a.start[i + 1] && i != which; k++) same = (PetscBool)(same && a.x[k] == a.y[k]);
  Check(same, where, "another system has changed");
  DataFill(batch, &a, TRI_DOMINANT, 0);
  PetscCall((*HOST->setup)(&t, a.dl, a.d, a.du, &pv));
  PetscCall((*HOST->apply)(&t, PETSC_FALSE, 1, a.b, a.n, a.y, a.n));
  Check((PetscBool)(pv.badrow < 0 && (!a.n || !memcmp(a.x, a.y, (size_t)a.n * sizeof(*a.x)))), where,
        "something of the failure is left");
  PetscCall((*HOST->destroy)(&t));
  PetscCall(DataDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small pivots are boosted and counted; RD reports them */
static PetscErrorCode TestBoost(const Method *m)
{
  const Batch      batch = {2, {50, 50}};
  Data             a;
  SpikeTridiagonal t;
  SpikePivot       pv = {1e-3, 0.5, 0, -1, 0.0, PETSC_FALSE};
  char             where[200];
  PetscBool        finite = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(DataCreate(&batch, &a));
  PetscCall(CreateData(&batch, &a, m, &t));
  PetscCall(WriteWhere(&batch, &a, m, TRI_DOMINANT, PETSC_FALSE, where, sizeof(where)));
  DataFill(&batch, &a, TRI_DOMINANT, 0);
  for (PetscInt i = 20; i < 23; i++) a.dl[i] = a.d[i] = a.du[i] = 0.0;
  PetscCall((*HOST->setup)(&t, a.dl, a.d, a.du, &pv));
  if (m->type == PC_SPIKE_TRIDIAGONAL_RD)
    Check((PetscBool)(!pv.nboost && pv.badrow >= 20 && pv.badrow < 50), where, "a pivot that cannot be boosted");
  else Check((PetscBool)(pv.nboost >= 3 && pv.badrow < 0), where, "boosted pivots");
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall((*HOST->apply)(&t, (PetscBool)trans, 1, a.b, a.n, a.x, a.n));
    for (PetscInt i = 0; i < a.n; i++) finite = (PetscBool)(finite && PetscAbsScalar(a.x[i]) <= PETSC_MAX_REAL);
  }
  Check(finite, where, "not finite after boosted pivots");
  PetscCall((*HOST->destroy)(&t));
  PetscCall(DataDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that are regular, on which algorithms differ in what they can do */
static PetscErrorCode TestBreakdown(void)
{
  const Batch batch = {1, {64}};
  const struct {
    Method m;
    /* outcome with the kind ZEROS, and with [0 1; 1 0] along the diagonal: 0 reported, 1 solved */
    PetscInt zeros, swap;
  } expected[] = {{{PC_SPIKE_TRIDIAGONAL_THOMAS, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE}, 1, 0},
                  {{PC_SPIKE_TRIDIAGONAL_TWOWAY, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE}, 1, 0},
                  {{PC_SPIKE_TRIDIAGONAL_CR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE}, 0, 0},
                  {{PC_SPIKE_TRIDIAGONAL_PCR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE}, 0, 0},
                  {{PC_SPIKE_TRIDIAGONAL_CRPCR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE}, 0, 0},
                  {{PC_SPIKE_TRIDIAGONAL_RD, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE}, 1, 0},
                  {{PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_TRUE}, 1, 1},
                  /* interiors with one of two neighbours */
                  {{PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_DECIDE, 7, PETSC_DECIDE, PETSC_TRUE}, 1, 0}};
  Data             a;
  SpikeTridiagonal t;
  SpikePivot       pv = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(DataCreate(&batch, &a));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(expected); k++) {
    PetscCall(CreateData(&batch, &a, &expected[k].m, &t));
    for (int swap = 0; swap < 2; swap++) {
      char            where[200];
      const PetscBool solved = (PetscBool)(swap ? expected[k].swap : expected[k].zeros);

      PetscCall(WriteWhere(&batch, &a, &expected[k].m, TRI_ZEROS, PETSC_FALSE, where, sizeof(where)));
      DataFill(&batch, &a, TRI_ZEROS, 0);
      for (PetscInt i = 0; i < a.n && swap; i++) {
        a.d[i]  = 0.0;
        a.dl[i] = i % 2 ? 1.0 : 0.0;
        a.du[i] = i % 2 ? 0.0 : 1.0;
      }
      PetscCall((*HOST->setup)(&t, a.dl, a.d, a.du, &pv));
      Check((PetscBool)((pv.badrow < 0) == solved), where,
            swap ? "exchange of neighbours: found or not" : "zeros: found or not");
      if (pv.badrow >= 0) continue;
      for (PetscInt trans = 0; trans < 2; trans++) {
        PetscCall((*HOST->apply)(&t, (PetscBool)trans, 1, a.b, a.n, a.x, a.n));
        Check((PetscBool)(TriBackward((PetscBool)trans, a.n, a.dl, a.d, a.du, a.b, a.x) <= 1e5 * PETSC_MACHINE_EPSILON),
              where, swap ? "exchange of neighbours: residual" : "zeros: residual");
      }
    }
    PetscCall((*HOST->destroy)(&t));
  }
  PetscCall(DataDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each allocation fails once; destroy() takes what there is */
static PetscErrorCode TestMemory(const Method *m)
{
  const Batch      batch = {2, {900, 900}};
  Data             a;
  SpikeTridiagonal t;
  PetscReal        before;
  PetscErrorCode   ierr = PETSC_ERR_MEM;
  PetscInt         k;

  PetscFunctionBegin;
  PetscCall(DataCreate(&batch, &a));
  before = guard.bytes;
  for (k = 1; ierr && k < 1000; k++) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    guard.failat = guard.count + k;
    ierr         = CreateData(&batch, &a, m, &t);
    guard.failat = 0;
    PetscCall(PetscPopErrorHandler());
    PetscCall((*HOST->destroy)(&t));
    Check((PetscBool)(guard.bytes == before && !t.data), PCSpikeTridiagonalTypes[m->type],
          "an allocation that fails leaves memory");
  }
  Check((PetscBool)(!ierr && k > 3), PCSpikeTridiagonalTypes[m->type], "allocations that fail");
  PetscCall(DataDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What became of types: `longest`, AUTO, options that do not go together */
static PetscErrorCode TestChoices(void)
{
  const Batch  batch    = {2, {5000, 100}};
  const Method cr       = {PC_SPIKE_TRIDIAGONAL_CR, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_FALSE},
               whole    = {PC_SPIKE_TRIDIAGONAL_CR, PETSC_DECIDE, PETSC_DECIDE, 0, PETSC_FALSE};
  const Method pivoting = {PC_SPIKE_TRIDIAGONAL_AUTO, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_TRUE},
               wrong    = {PC_SPIKE_TRIDIAGONAL_CR, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_TRUE};
  Data             a;
  SpikeTridiagonal t;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(DataCreate(&batch, &a));
  PetscCall(CreateData(&batch, &a, &cr, &t));
  Check((PetscBool)(t.used == PC_SPIKE_TRIDIAGONAL_PARTITION && t.local == PC_SPIKE_TRIDIAGONAL_CR && t.nchunks > 2),
        "cr", "long systems are not partitioned");
  PetscCall((*HOST->destroy)(&t));
  PetscCall(CreateData(&batch, &a, &whole, &t));
  Check((PetscBool)(t.used == PC_SPIKE_TRIDIAGONAL_CR && t.local == PC_SPIKE_TRIDIAGONAL_CR && t.nchunks == 2), "cr",
        "systems are partitioned unasked");
  PetscCall((*HOST->destroy)(&t));
  PetscCall(CreateData(&batch, &a, &pivoting, &t));
  Check((PetscBool)(t.used == PC_SPIKE_TRIDIAGONAL_PARTITION && t.local == PC_SPIKE_TRIDIAGONAL_THOMAS), "auto",
        "pivoting");
  PetscCall((*HOST->destroy)(&t));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = CreateData(&batch, &a, &wrong, &t);
  PetscCall(PetscPopErrorHandler());
  Check((PetscBool)(ierr == PETSC_ERR_ARG_INCOMP), "cr", "pivoting is taken");
  PetscCall((*HOST->destroy)(&t));
  PetscCall(DataDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const TriKind all[] = {TRI_DOMINANT, TRI_GRADED, TRI_UPWIND, TRI_POISSON};
  /* condition numbers of the last two are of the order of the rows, and of their square */
  const PetscReal bounds[] = {30, 30, 300, 2000};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    char what[64];

    if (!SpikeISASet((SpikeISA)isa)) continue;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) {
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(batches); b++)
        for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++)
          PetscCall(TestSolve(&batches[b], &methods[m], all[k], bounds[k]));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s, instruction set %d", trikinds[all[k]], isa));
      Report(what);
    }
  }
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++)
    for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(batches); b++)
      for (int spoil = 0; spoil < 6; spoil++) {
        const PetscInt step = batches[b].nsys > 20 ? 7 : 1;

        for (PetscInt which = 0; which < batches[b].nsys; which += step)
          PetscCall(TestFailure(&batches[b], &methods[m], which, spoil));
      }
  Report("singular systems, and entries that are no numbers");
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++) PetscCall(TestBoost(&methods[m]));
  Report("boosted pivots");
  PetscCall(TestBreakdown());
  Report("regular matrices that algorithms break on");
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++) PetscCall(TestMemory(&methods[m]));
  Report("allocations that fail");
  PetscCall(TestChoices());
  Report("choices");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
