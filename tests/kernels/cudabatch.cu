/* SPDX-License-Identifier: BSD-2-Clause */
/* cudabatch.cu: tests of the CUDA backend of batch.h; prints TAP */
static char help[] = "Batches of bands of the CUDA backend.\n\n";

#include "kernels/batch/batch.h"
#include <petscdevice_cuda.h>

static PetscErrorCode BatchMove(void *to, const void *from, size_t bytes, PetscBool todevice)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(to, from, bytes, todevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename X>
static PetscErrorCode BatchMemory(size_t bytes, X **ptr)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)ptr, PetscMax(bytes, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BatchRelease(void *ptr)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BatchReport(SpikeBatch *t, SpikePivot *pivot)
{
  PetscFunctionBegin;
  PetscCall((*t->k->fetch)(t));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall((*t->k->report)(t, pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#include "batchcase.h"

/* tol and boost in units of a number on the device, of which 0 counts as 1 */
static PetscErrorCode TestUnits(void)
{
  const double units[] = {1e6, 0.0};
  double      *unit;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)&unit, sizeof(*unit)));
  for (int k = 0; k < 2; k++) {
    BatchCase        c;
    SpikePivot       pivot = {(PetscReal)1e-3, (PetscReal)2e-3, 0, -1, 0.0, PETSC_TRUE};
    const BatchShape shape = {"units", 40, 10, 0};

    PetscCallCUDA(cudaMemcpy(unit, &units[k], sizeof(*unit), cudaMemcpyHostToDevice));
    PetscCall(BatchCaseCreate(&shape, 2, 2, PETSC_TRUE, PETSC_FALSE, &SpikeBatchKernels_CUDA, &c));
    PetscCall(BatchCaseSetUp(&c, &pivot));
    PetscCall((*c.t.k->setup)(&c.t, &pivot, unit)); /* of factors, which is another matrix of the same shape */
    PetscCall(BatchReport(&c.t, &pivot));
    Check((PetscBool)(pivot.badrow < 0 && (k ? pivot.nboost == 0 : pivot.nboost == 400)), "boosted pivots",
          k ? "unit 0" : "unit 1e6");
    PetscCall(BatchCaseDestroy(&c));
  }
  PetscCallCUDA(cudaFree(unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of a matrix with dominant columns, each up to s places from its own: partial pivoting brings them back, with
  pivots that are larger than all others of their columns by far, in any rounding
*/
static void MoveRows(BatchCase *c)
{
  const PetscInt kl = c->kl, ku = c->ku, w = kl + ku + 1, s = (PetscMin(kl, ku) + 1) / 2;

  if (!s) return;
  memset((void *)c->entries, 0, (size_t)c->n * w * sizeof(*c->entries));
  for (PetscInt q = 0; q < c->t.nsys; q++)
    for (PetscInt i = c->start[q]; i < c->start[q + 1]; i++) {
      const PetscInt block = c->start[q] + (i - c->start[q]) / (s + 1) * (s + 1),
                     rows  = PetscMin(s + 1, c->start[q + 1] - block);
      const PetscInt from  = block + (i - block + block % 3) % rows; /* row i was this one */

      for (PetscInt j = PetscMax(c->start[q], from - kl + s); j < c->start[q + 1] && j <= from + ku - s; j++)
        c->entries[(size_t)i * w + kl + j - i] = from == j ? PetscScalar((2 * w) * (Uniform(c->seed, j) > 0 ? 1 : -1))
                                                           : Random(c->seed, (PetscInt64)from * w + j - from);
    }
}

/* The same systems in the host's memory, factored there */
static PetscErrorCode HostOf(const BatchCase *device, BatchCase *host, SpikePivot *pivot)
{
  SpikeBatch    *t = &host->t;
  const PetscInt w = device->kl + device->ku + 1;

  PetscFunctionBegin;
  *host = *device;
  memset((void *)t, 0, sizeof(*t));
  t->nsys     = device->t.nsys;
  t->start    = device->start;
  t->kl       = device->kl;
  t->ku       = device->ku;
  t->pivoting = device->t.pivoting;
  t->k        = &SpikeBatchKernels_Host;
  PetscCall((*t->k->create)(t));
  for (PetscInt k = 0; k < t->ngroups * t->lanes; k++) {
    const PetscInt   m    = t->len[k];
    const PetscCount step = (PetscCount)t->width * t->lanes;
    PetscScalar     *to   = t->a + t->off[k / t->lanes] + k % t->lanes;

    for (PetscInt i = 0; i < t->rows[k / t->lanes]; i++)
      for (PetscInt d = 0; d < t->width; d++)
        to[i * step + d * t->lanes] = i < m && d < w ? host->entries[(size_t)(t->first[k] + i) * w + d]
                                                     : PetscScalar(i >= m && d == host->kl ? 1.0 : 0.0);
  }
  PetscCall((*t->k->setup)(t, pivot, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers to rounding, so that both have exchanged the same rows */
static PetscErrorCode CompareFactors(const SpikeBatch *device, const SpikeBatch *host)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(device->off[device->ngroups], &a));
  PetscCall(BatchMove(a, device->a, device->off[device->ngroups] * sizeof(*a), PETSC_FALSE));
  for (PetscInt q = 0; q < host->nsys; q++)
    for (PetscInt k = 0; k < (host->start[q + 1] - host->start[q]) * host->width; k++) {
      const PetscScalar x = host->a[host->place[q] + (PetscCount)k * host->lanes],
                        y = a[device->place[q] + (PetscCount)k * device->lanes];

      Check((PetscBool)(PetscAbsScalar(x - y) <= 1000 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(x))),
            "differs from the host's", "factors");
    }
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both backends have the same factors and solutions, to rounding, and no byte passes the host while one applies */
static PetscErrorCode TestHost(PetscBool pivoting)
{
  PetscFunctionBegin;
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(bandwidths); w++) {
    BatchCase      host, device;
    SpikePivot     pivot = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};
    PetscScalar   *b, *x, *y, *db;
    PetscLogDouble before, after;
    PetscInt       n;

    PetscCall(BatchCaseCreate(&shapes[9], bandwidths[w][0], bandwidths[w][1], PETSC_TRUE, pivoting,
                              &SpikeBatchKernels_CUDA, &device));
    if (pivoting) MoveRows(&device);
    PetscCall(BatchCaseSetUp(&device, &pivot));
    n = device.n;
    PetscCall(HostOf(&device, &host, &pivot));
    if (device.t.parts <= 1) PetscCall(CompareFactors(&device.t, &host.t));
    PetscCall(PetscMalloc3(n, &b, n, &x, n, &y));
    for (PetscInt i = 0; i < n; i++) b[i] = Random(3, i);
    PetscCall(BatchMemory(n * sizeof(*b), &db));
    for (int trans = 0; trans < 2; trans++) {
      PetscCall(BatchMove(db, b, n * sizeof(*b), PETSC_TRUE));
      PetscCall((*host.t.k->apply)(&host.t, (PetscBool)trans, 1, b, n, x, n));
      before = petsc_gtoc_ct + petsc_ctog_ct;
      PetscCall((*device.t.k->apply)(&device.t, (PetscBool)trans, 1, db, n, db, n));
      after = petsc_gtoc_ct + petsc_ctog_ct;
      Check((PetscBool)(before == after), "copies", "apply");
      PetscCall(BatchMove(y, db, n * sizeof(*b), PETSC_FALSE));
      for (PetscInt i = 0; i < n; i++)
        Check((PetscBool)(PetscAbsScalar(x[i] - y[i]) <= 1000 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(x[i]))),
              "differs from the host's", trans ? "transposed" : "plain");
    }
    PetscCall(BatchRelease(db));
    PetscCall(PetscFree3(b, x, y));
    PetscCall((*host.t.k->destroy)(&host.t));
    PetscCall(BatchCaseDestroy(&device));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With row exchanges, or in pieces, equal systems have the same bits in each lane, and a column has them beside others
*/
static PetscErrorCode TestBits(PetscBool pivoting)
{
  const BatchShape shape = {"equal", 67, 45, 0};
  const PetscInt   n     = 67 * 45;

  PetscFunctionBegin;
  for (PetscInt kl = 3; kl <= (pivoting ? 16 : 4); kl += pivoting ? 5 : 1) {
    BatchCase    c;
    SpikePivot   pivot = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};
    PetscScalar *b, *x, *db;

    PetscCall(BatchCaseCreate(&shape, kl, 3, (PetscBool)!pivoting, pivoting, &SpikeBatchKernels_CUDA, &c));
    for (PetscInt k = 45 * (kl + 4); k < n * (kl + 4); k++) c.entries[k] = c.entries[k % (45 * (kl + 4))];
    PetscCall(BatchCaseSetUp(&c, &pivot));
    PetscCall(PetscMalloc2(3 * n, &b, 3 * n, &x));
    for (PetscInt i = 0; i < 3 * n; i++) b[i] = Random(9, i % 45);
    PetscCall(BatchMemory(3 * n * sizeof(*b), &db));
    for (int trans = 0; trans < 2; trans++) {
      PetscCall(BatchMove(db, b, 3 * n * sizeof(*b), PETSC_TRUE));
      PetscCall((*c.t.k->apply)(&c.t, (PetscBool)trans, 1, db, n, db, n));
      PetscCall((*c.t.k->apply)(&c.t, (PetscBool)trans, 2, db + n, n, db + n, n));
      PetscCall(BatchMove(x, db, 3 * n * sizeof(*b), PETSC_FALSE));
      for (PetscInt i = 45; i < 3 * n; i++) Check((PetscBool)(x[i] == x[i % 45]), "bits of equal systems", "bits");
    }
    PetscCall(BatchRelease(db));
    PetscCall(PetscFree2(b, x));
    PetscCall(BatchCaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The identity, but two rows of a system, on both sides of the boundary of two pieces, that are equal: pieces are
  regular, and what couples them is singular. Reported as of the first row of the piece, or boosted; other systems are
  right
*/
static PetscErrorCode TestSingularBoundary(void)
{
  const BatchShape shape = {"boundary", 40, 64, 0};

  PetscFunctionBegin;
  for (PetscInt q = 0; q < 40; q += 13)
    for (int boost = 0; boost < 2; boost++) {
      BatchCase  c;
      SpikePivot pivot = {(PetscReal)1e-3, boost ? (PetscReal)0.5 : (PetscReal)0.0, 0, -1, 0.0, PETSC_FALSE};
      /* of the four pieces of 16 rows one but the first begins there */
      const PetscInt row = q * 64 + 16 * (q % 3 + 1);

      PetscCall(BatchCaseCreate(&shape, 2, 2, PETSC_TRUE, PETSC_FALSE, &SpikeBatchKernels_CUDA, &c));
      for (PetscInt k = q * 64 * 5; k < (q + 1) * 64 * 5; k++) c.entries[k] = k % 5 == 2 ? 1.0 : 0.0;
      c.entries[(row - 1) * 5 + 3] = c.entries[row * 5 + 1] = 1.0;
      PetscCall(BatchCaseSetUp(&c, &pivot));
      Check((PetscBool)(pivot.nboost == boost), "boosted", "boundary");
      Check((PetscBool)(boost ? pivot.badrow < 0 : pivot.badrow == row && pivot.badvalue == (PetscReal)0.0), "reported",
            "boundary");
      PetscCall(BatchCaseSolve(&c, q, "boundary"));
      PetscCall(BatchCaseDestroy(&c));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, coupled by C = [0 1; 0 1], B = [0 0; 1 1]: I - W_t Q = [0 -1; -1 0], whose inverse exchanges rows */
static PetscErrorCode TestExchangedBoundary(void)
{
  const BatchShape shape = {"exchanged boundary", 40, 64, 0};
  BatchCase        c;
  SpikePivot       pivot = {(PetscReal)1e-3, (PetscReal)0.5, 0, -1, 0.0, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(BatchCaseCreate(&shape, 2, 2, PETSC_TRUE, PETSC_FALSE, &SpikeBatchKernels_CUDA, &c));
  for (PetscInt k = 0; k < 40 * 64 * 5; k++) c.entries[k] = k % 5 == 2 ? 1.0 : 0.0;
  for (PetscInt q = 0; q < 40; q++) {
    const PetscInt row = q * 64 + 16 * (q % 3 + 1);

    c.entries[row * 5 + 1] = c.entries[(row + 1) * 5] = 1.0;           /* columns row - 1 of two rows */
    c.entries[(row - 1) * 5 + 3] = c.entries[(row - 1) * 5 + 4] = 1.0; /* columns row, row + 1 of the one before */
  }
  PetscCall(BatchCaseSetUp(&c, &pivot));
  Check((PetscBool)(!pivot.nboost && pivot.badrow < 0), "pivots", "exchanged boundary");
  PetscCall(BatchCaseSolve(&c, -1, "exchanged boundary"));
  PetscCall(BatchCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More groups than find room for their factors, or their blocks, beside each other */
static PetscErrorCode TestManyPieces(void)
{
  const PetscInt nsys[] = {150, 300, 700};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++)
    for (PetscInt kl = 2; kl <= 4; kl += 2) {
      const BatchShape shape = {"many", nsys[k], 256, 0};
      BatchCase        c;
      SpikePivot       pivot = {1e-30, 0.0, 0, -1, 0.0, PETSC_FALSE};

      PetscCall(BatchCaseCreate(&shape, kl, 4, PETSC_TRUE, PETSC_FALSE, &SpikeBatchKernels_CUDA, &c));
      PetscCall(BatchCaseSetUp(&c, &pivot));
      PetscCall(BatchCaseSolve(&c, -1, "many"));
      PetscCall(BatchCaseDestroy(&c));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How many lanes share a system by the model: some, wherever few systems have from 32 to 2048 rows, and never pieces
  that are too long or too short; one where there are many, with row exchanges, wide and triangular ones
*/
static PetscErrorCode TestModel(void)
{
  const PetscInt nsys[] = {2, 64, 700, 1000000};
  PetscInt      *start;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(1000001, &start));
  for (PetscInt k = 0; k < 4; k++)
    for (PetscInt n = 1; n < 3000; n += k < 3 ? 1 : 997) {
      SpikeBatch t = {0};
      PetscInt   got;

      if (nsys[k] * n > 2000000 && k < 3 && n % 7) continue;
      for (PetscInt q = 0; q <= PetscMin(nsys[k], PETSC_INT_MAX / 3000); q++) start[q] = q * n;
      t.nsys  = PetscMin(nsys[k], PETSC_INT_MAX / 3000);
      t.start = start;
      t.kl = t.ku = 2 + n % 3;
      t.k         = &SpikeBatchKernels_CUDA;
      PetscCall((*t.k->parts)(&t, &got));
      Check((PetscBool)(got >= 1 && got <= 32 && (got & (got - 1)) == 0), "a power of two", "model");
      Check((PetscBool)(got == 1 || (n / got >= 16 && (n + got - 1) / got <= 64)), "length of pieces", "model");
      Check((PetscBool)(k == 3 ? got == 1 : (got > 1) == (n >= 32 && n <= 2048)), "some or one", "model");
      t.ku = 0;
      PetscCall((*t.k->parts)(&t, &got));
      Check((PetscBool)(got == 1), "triangular", "model");
      t.ku = 5;
      PetscCall((*t.k->parts)(&t, &got));
      Check((PetscBool)(got == 1), "wide", "model");
      t.ku       = t.kl;
      t.pivoting = PETSC_TRUE;
      PetscCall((*t.k->parts)(&t, &got));
      Check((PetscBool)(got == 1), "row exchanges", "model");
    }
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several lanes for a system */
static PetscErrorCode TestPieces(void)
{
  char what[64];

  PetscFunctionBegin;
  for (parts = 2; parts <= 32; parts *= 4) {
    PetscCall(BatchTestSolves(&SpikeBatchKernels_CUDA, PETSC_FALSE));
    PetscCall(PetscSNPrintf(what, sizeof(what), "solves, %d lanes a system", (int)parts));
    Report(what);
    PetscCall(BatchTestPivots(&SpikeBatchKernels_CUDA, PETSC_FALSE));
    PetscCall(PetscSNPrintf(what, sizeof(what), "pivots, %d lanes a system", (int)parts));
    Report(what);
    PetscCall(TestHost(PETSC_FALSE));
    PetscCall(PetscSNPrintf(what, sizeof(what), "the same as the host, %d lanes a system", (int)parts));
    Report(what);
    PetscCall(TestBits(PETSC_FALSE));
    PetscCall(PetscSNPrintf(what, sizeof(what), "bits, %d lanes a system", (int)parts));
    Report(what);
  }
  parts = 4;
  PetscCall(TestSingularBoundary());
  Report("pieces that are coupled by a singular block");
  PetscCall(TestExchangedBoundary());
  Report("pieces that are coupled by a block whose rows are exchanged");
  parts = 32;
  PetscCall(TestManyPieces());
  Report("many pieces");
  parts = 1;
  PetscCall(TestModel());
  Report("how many lanes share a system");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  if (small) {
    columns = 1;
    each    = 3;
  }
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  for (int pivoting = 0; pivoting < 2; pivoting++) {
    PetscCall(BatchTestSolves(&SpikeBatchKernels_CUDA, (PetscBool)pivoting));
    Report(pivoting ? "solves with exchanges" : "solves");
    PetscCall(BatchTestPivots(&SpikeBatchKernels_CUDA, (PetscBool)pivoting));
    Report(pivoting ? "pivots with exchanges" : "pivots");
    PetscCall(TestHost((PetscBool)pivoting));
    Report(pivoting ? "the same as the host, with exchanges" : "the same as the host");
  }
  PetscCall(TestBits(PETSC_TRUE));
  Report("bits");
  PetscCall(TestPieces());
  PetscCall(TestUnits());
  Report("units of pivots");
  printf("1..%d\n", number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
