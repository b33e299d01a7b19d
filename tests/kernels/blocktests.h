/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blocktests.h: tests of block.h with any backend: tall blocks, products with sparse blocks, sizes that are not
  served
*/
#pragma once

#include "blockcase.h"

#define MAXCASES 400
#define LONGROWS 36000
/* more than 8 tiles of 512 rows for each of the 264 thread blocks of an H200, and the last tile is not full */
#define TALLROWS 1100002

static Case cases[MAXCASES];

static const char *const names[] = {"double", "single"};

/* AXPY and DOT: all small sizes with one n, all n with some sizes, in one mixed batch */
static PetscErrorCode TestTall(SpikeBlock *b, PetscSpikePrecision precision, PetscBool rowmajor)
{
  const PetscInt sizes[]   = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 31, 32},
                 lengths[] = {0, 1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1031};
  PetscInt count           = 0;

  PetscFunctionBegin;
  for (PetscInt op = 0; op < 2; op++) {
    for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++) {
      for (size_t c = a % 3; c < PETSC_STATIC_ARRAY_LENGTH(sizes); c += 3)
        PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)((a + c) % 3), rowmajor, 37 + (PetscInt)a,
                             sizes[a], sizes[c], 0, PETSC_FALSE, (PetscInt)(a % 4), &cases[count++]));
      for (PetscInt mode = 0; mode < 3; mode++)
        PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)mode, rowmajor, 50 + sizes[a], sizes[a],
                             sizes[a], 0, PETSC_TRUE, mode, &cases[count++]));
    }
    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(lengths); l++)
      PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)(l % 3), rowmajor, lengths[l], 4, 8, 0,
                           PETSC_FALSE, 1, &cases[count++]));
  }
  PetscCall(CasesRun(b, precision, count, cases));
  for (PetscInt i = 0; i < count; i++) PetscCall(CaseDestroy(b, &cases[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks so long that a backend may choose other kernels or grids for them */
static inline PetscErrorCode TestTallLong(SpikeBlock *b, PetscSpikePrecision precision, PetscBool rowmajor)
{
  PetscInt count = 0;

  PetscFunctionBegin;
  PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SUB, rowmajor, TALLROWS, 4, 4, 0, PETSC_FALSE, 0,
                       &cases[count++]));
  PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_AXPY, SPIKE_BLOCK_ADD, rowmajor, TALLROWS, 8, 8, 0, PETSC_FALSE, 0,
                       &cases[count++]));
  PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_DOT, SPIKE_BLOCK_ADD, rowmajor, TALLROWS, 8, 8, 0, PETSC_FALSE, 0,
                       &cases[count++]));
  PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, rowmajor, TALLROWS - 1, 7, 5, 0, PETSC_FALSE, 1,
                       &cases[count++]));
  PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET, rowmajor, TALLROWS - 1, 3, 4, 0, PETSC_FALSE, 1,
                       &cases[count++]));
  PetscCall(CasesRun(b, precision, count, cases));
  for (PetscInt i = 0; i < count; i++) PetscCall(CaseDestroy(b, &cases[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products: all block sizes, some numbers of columns */
static PetscErrorCode TestSparse(SpikeBlock *b, PetscSpikePrecision precision, PetscBool rowmajor)
{
  const PetscInt columns[] = {1, 2, 4, 5, 8, 16, 19, 32},
                 few[] = {1, 2, 3, 4, 4, 8, 6, 8, 12, 16, 16, 10, 20, 32, 1, 24, 1}, longbs[] = {4, 4, 8, 16, 3, 4, 5},
                 longm[] = {4, 8, 12, 2, 1, 1, 1};
  PetscInt count         = 0;

  PetscFunctionBegin;
  for (PetscInt bs = 1; bs <= SPIKE_BLOCK_MAXBS; bs++) {
    for (PetscInt op = SPIKE_BLOCK_MULT; op < SPIKE_BLOCK_NOPS; op++) {
      PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)((bs + op) % 3), rowmajor, bs * 15, 0,
                           columns[bs % 8], bs, PETSC_FALSE, bs % 2, &cases[count++]));
      if (bs == 4 || bs == 8 || bs == 16)
        for (PetscInt mode = 0; mode < 3; mode++)
          PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)mode, rowmajor, bs * 20, 0, 1 + 6 * mode,
                               bs, PETSC_FALSE, mode, &cases[count++]));
      if (op == SPIKE_BLOCK_MULT) /* one vector */
        PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)(bs % 3), rowmajor,
                             bs * (bs % 2 ? 37 : 70), 0, 1, bs, PETSC_FALSE, 4 * (bs / 2 % 2), &cases[count++]));
      if (op == SPIKE_BLOCK_MULT) /* the same with many blocks in a row, or none */
        PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)((bs + 1) % 3), rowmajor, bs * 13,
                             bs > 16 ? -40 : -300, 1, bs, PETSC_FALSE, 0, &cases[count++]));
      if (op == SPIKE_BLOCK_MULT && (bs == 4 || bs == 8 || bs == 16)) /* these have ways of their own */
        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(few); k++)
          PetscCall(CaseCreate(b, precision, (SpikeBlockOp)op, (SpikeBlockMode)((k + bs / 4) % 3), rowmajor,
                               bs * (k % 4 == 3 ? 70 : 17), 0, few[k], bs, PETSC_FALSE, 4 * (PetscInt)(k % 2),
                               &cases[count++]));
    }
  }
  /* more rows than units to do them, in 5 columns of blocks */
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(longbs); k++)
    PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_MULT, (SpikeBlockMode)(k % 3), rowmajor, longbs[k] * LONGROWS, 5,
                         longm[k], longbs[k], PETSC_FALSE, 0, &cases[count++]));
  PetscCall(
    CaseCreate(b, precision, SPIKE_BLOCK_MULT, SPIKE_BLOCK_SET, rowmajor, 0, 0, 3, 4, PETSC_FALSE, 1, &cases[count++]));
  PetscCall(CaseCreate(b, precision, SPIKE_BLOCK_MULT_TRANSPOSE, SPIKE_BLOCK_SET, rowmajor, 0, 0, 3, 4, PETSC_FALSE, 1,
                       &cases[count++]));
  PetscCall(CasesRun(b, precision, count, cases));
  for (PetscInt i = 0; i < count; i++) PetscCall(CaseDestroy(b, &cases[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- Y A +- X B, in place and in one go; what is after the rows stays */
static PetscErrorCode TestChain(SpikeBlock *b, PetscSpikePrecision precision, PetscBool rowmajor)
{
  const PetscInt sizes[] = {1, 3, 4, 7, 8, 15, 16, 17, 32}, lengths[] = {0, 1, 16, 255, 257, 1031};
  char           where[128];

  PetscFunctionBegin;
  for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++) {
    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(lengths); l++) {
      const PetscInt  m = sizes[a], n = lengths[l], k = 1 + (PetscInt)(7 * a + l) % 32;
      const PetscBool sub = (PetscBool)((a + l) % 2);
      SpikeBlockTask  tasks[2];
      Array           X, Y, A, B, got;
      double          error  = 0;
      PetscBool       intact = PETSC_TRUE;

      PetscCall(PetscSNPrintf(where, sizeof(where),
                              "chain %s-major, n %" PetscInt_FMT " k %" PetscInt_FMT " m %" PetscInt_FMT,
                              rowmajor ? "row" : "column", n, k, m));
      PetscCall(PetscMemzero(tasks, sizeof(tasks)));
      PetscCall(TallCreate(b, precision, rowmajor, n, m, (PetscInt)(1 + l % 4), &tasks[0].ldy, &Y));
      PetscCall(TallCreate(b, precision, rowmajor, n, k, (PetscInt)(a % 3), &tasks[1].ldx, &X));
      PetscCall(TallCreate(b, precision, PETSC_FALSE, m, m, 0, &tasks[0].ldz, &A));
      PetscCall(TallCreate(b, precision, PETSC_FALSE, k, m, 2, &tasks[1].ldz, &B));
      PetscCall(ArrayUp(b, &X));
      PetscCall(ArrayUp(b, &Y));
      PetscCall(ArrayUp(b, &A));
      PetscCall(ArrayUp(b, &B));
      for (int t = 0; t < 2; t++) {
        tasks[t].op       = SPIKE_BLOCK_AXPY;
        tasks[t].mode     = t ? (sub ? SPIKE_BLOCK_SUB : SPIKE_BLOCK_ADD) : SPIKE_BLOCK_SET;
        tasks[t].rowmajor = rowmajor;
        tasks[t].n        = n;
        tasks[t].k        = t ? k : m;
        tasks[t].m        = m;
        tasks[t].X        = t ? X.d : Y.d;
        tasks[t].Z        = t ? B.d : A.d;
        tasks[t].Y        = Y.d;
      }
      tasks[0].ldx = tasks[1].ldy = tasks[0].ldy;
      PetscCall((*b->k->chain)(b, precision, tasks));
      got = Y;
      PetscCall(PetscMalloc(Y.n * NumberSize(precision), &got.a));
      PetscCall(ArrayDown(b, &got, got.a));
      for (PetscInt i = 0; i < n; i++) {
        for (PetscInt j = 0; j < m; j++) {
          SpikeDouble s = -Get(&got, IndexOf(rowmajor, i, j, tasks[0].ldy));

          for (PetscInt q = 0; q < m; q++)
            s += Get(&Y, IndexOf(rowmajor, i, q, tasks[0].ldy)) * Get(&A, (size_t)(q + j * m));
          for (PetscInt q = 0; q < k; q++)
            s += (sub ? -1.0 : 1.0) * Get(&X, IndexOf(rowmajor, i, q, tasks[1].ldx)) *
                 Get(&B, (size_t)(q + j * (k + 2)));
          error = PetscMax(error, Magnitude(s));
          if (s != s) error = NAN;
        }
      }
      for (PetscInt j = 0; j < (rowmajor ? n : m); j++)
        for (PetscCount i = rowmajor ? m : n; i < tasks[0].ldy; i++)
          if (memcmp((char *)got.a + (j * tasks[0].ldy + i) * NumberSize(precision),
                     (char *)Y.a + (j * tasks[0].ldy + i) * NumberSize(precision), NumberSize(precision)))
            intact = PETSC_FALSE;
      Check(error / (4 * (m + k) * Epsilon(precision)), where);
      Check(intact ? 0 : 1e30, where);
      PetscCall(PetscFree(got.a));
      PetscCall(ArrayDestroy(b, &X));
      PetscCall(ArrayDestroy(b, &Y));
      PetscCall(ArrayDestroy(b, &A));
      PetscCall(ArrayDestroy(b, &B));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages from a vector and back, values from coordinates, the pattern that a backend has: exact */
static PetscErrorCode TestMoves(SpikeBlock *b)
{
  const PetscInt   bs = 3, n = 41, rows = 60, bi[] = {0, 2, 2, 3}, bj[] = {1, 0, 2};
  const PetscCount nval = 37, ncoo = 90;
  PetscScalar      x[180], y[123], z[180], v[90], a[37];
  PetscInt         index[41], gi[4], gj[3];
  PetscCount       first[38], from[90];
  const PetscInt  *di, *dj;
  void            *dx, *dy, *dindex, *da, *dv, *dfirst, *dfrom;
  SpikeBlockMat    A;
  double           error = 0.0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < bs * rows; i++) x[i] = 1.0 + i;
  for (PetscInt i = 0; i < n; i++) index[i] = (i * 7 + 5) % rows; /* each once */
  PetscCall((*b->k->alloc)(b, sizeof(x), &dx));
  PetscCall((*b->k->alloc)(b, sizeof(y), &dy));
  PetscCall((*b->k->alloc)(b, sizeof(index), &dindex));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, dx, x, sizeof(x)));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, dindex, index, sizeof(index)));
  PetscCall((*b->k->pack)(b, bs, n, (PetscInt *)dindex, (PetscScalar *)dx, (PetscScalar *)dy));
  PetscCall((*b->k->unpackadd)(b, bs, n, (PetscInt *)dindex, (PetscScalar *)dy, (PetscScalar *)dx));
  PetscCall((*b->k->pack)(b, bs, 0, NULL, NULL, NULL));
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, y, dy, sizeof(y)));
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, z, dx, sizeof(z)));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt r = 0; r < bs; r++) {
      if (y[i * bs + r] != x[index[i] * bs + r]) error = 1e30;
      x[index[i] * bs + r] *= 2.0;
    }
  for (PetscInt i = 0; i < bs * rows; i++)
    if (z[i] != x[i]) error = 1e30;
  Check(error, "messages");
  error    = 0.0;
  first[0] = 0;
  for (PetscCount p = 0; p < nval; p++) first[p + 1] = PetscMin(ncoo, first[p] + p % 6);
  for (PetscCount k = 0; k < ncoo; k++) {
    from[k] = (k * 37 + 11) % ncoo;
    v[k]    = 1.0 + (PetscReal)k;
  }
  PetscCall((*b->k->alloc)(b, sizeof(a), &da));
  PetscCall((*b->k->alloc)(b, sizeof(v), &dv));
  PetscCall((*b->k->alloc)(b, sizeof(first), &dfirst));
  PetscCall((*b->k->alloc)(b, sizeof(from), &dfrom));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, dv, v, sizeof(v)));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, dfirst, first, sizeof(first)));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, dfrom, from, sizeof(from)));
  for (int add = 0; add < 2; add++)
    PetscCall((*b->k->assemble)(b, nval, (PetscCount *)dfirst, (PetscCount *)dfrom, (PetscScalar *)dv, (PetscBool)add,
                                (PetscScalar *)da));
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, a, da, sizeof(a)));
  for (PetscCount p = 0; p < nval; p++) {
    PetscScalar sum = 0.0;

    for (PetscCount k = first[p]; k < first[p + 1]; k++) sum += v[from[k]];
    if (a[p] != 2.0 * sum) error = 1e30;
  }
  Check(error, "values from coordinates");
  PetscCall(PetscMemzero(&A, sizeof(A)));
  PetscCall((*b->k->matcreate)(b, 2, 3, 3, bi, bj, PETSC_FALSE, &A));
  PetscCall((*b->k->matpattern)(&A, &di, &dj));
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, gi, di, sizeof(gi)));
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, gj, dj, sizeof(gj)));
  Check(memcmp(gi, bi, sizeof(bi)) || memcmp(gj, bj, sizeof(bj)) ? 1e30 : 0, "the pattern");
  PetscCall((*b->k->matdestroy)(b, &A));
  PetscCall((*b->k->release)(b, &dx));
  PetscCall((*b->k->release)(b, &dy));
  PetscCall((*b->k->release)(b, &dindex));
  PetscCall((*b->k->release)(b, &da));
  PetscCall((*b->k->release)(b, &dv));
  PetscCall((*b->k->release)(b, &dfirst));
  PetscCall((*b->k->release)(b, &dfrom));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes that are not served are errors */
static PetscErrorCode TestLimits(SpikeBlock *b)
{
  const PetscInt bi[] = {0};
  SpikeBlockTask t;
  SpikeBlockMat  A;
  PetscErrorCode ierr[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&t, sizeof(t)));
  PetscCall(PetscMemzero(&A, sizeof(A)));
  t.m = 33;
  t.k = 1;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = (*b->k->run)(b, PETSC_SPIKE_PRECISION_DOUBLE, 1, &t);
  t.m     = 0;
  ierr[1] = (*b->k->run)(b, PETSC_SPIKE_PRECISION_DOUBLE, 1, &t);
  ierr[2] = (*b->k->matcreate)(b, 33, 0, 0, bi, NULL, PETSC_FALSE, &A);
  PetscCall(PetscPopErrorHandler());
  Check(ierr[0] == PETSC_ERR_ARG_OUTOFRANGE && ierr[1] == PETSC_ERR_ARG_OUTOFRANGE && ierr[2] == PETSC_ERR_SUP ? 0
                                                                                                               : 1e30,
        "sizes that are not served");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All of them that tell of numbers; name: of the backend, in the reports; only: 2 * (index of the precision) + (1 for
  row-major), to run one of the four, or -1
*/
static PetscErrorCode TestBlocks(SpikeBlock *b, const char name[], PetscInt only)
{
  char what[128];

  PetscFunctionBegin;
  for (int p = 0; p < 2; p++) {
    for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
      if (only >= 0 && only != 2 * p + rowmajor) continue;
      PetscCall(TestTall(b, precisions[p], (PetscBool)rowmajor));
      PetscCall(PetscSNPrintf(what, sizeof(what), "axpy and dot, %s-major, %s, %s", rowmajor ? "row" : "column",
                              names[p], name));
      Report(what);
      PetscCall(TestChain(b, precisions[p], (PetscBool)rowmajor));
      PetscCall(PetscSNPrintf(what, sizeof(what), "chains of axpy, %s-major, %s, %s", rowmajor ? "row" : "column",
                              names[p], name));
      Report(what);
      PetscCall(TestSparse(b, precisions[p], (PetscBool)rowmajor));
      PetscCall(PetscSNPrintf(what, sizeof(what), "sparse products, %s-major, %s, %s", rowmajor ? "row" : "column",
                              names[p], name));
      Report(what);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
