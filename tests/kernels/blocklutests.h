/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blocklutests.h: tests of factors of blocks with any backend: factors and solves against dense formulas, pivots, values
  that cannot be
*/
#pragma once

#include "blocklucase.h"
#include "share.h"

static const Tasks tasks[] = {{1, {14}}, {4, {5, 0, 1, 9}}, {1, {0}}, {1, {1}}, {6, {2, 3, 4, 0, 1, 4}}};

static const Tasks grids[] = {{1, {40}}, {2, {25, 9}}};

/* All of it for one shape; the second fill has other values, and comes from the other form of the matrix */
static PetscErrorCode TestFactors(SpikeBlock *b, PetscSpikePrecision precision, PetscInt bs, const Tasks *t,
                                  PetscInt perrow, PetscInt levels, int order)
{
  const PetscInt      columns[] = {1, 3, 4, 9};
  Matrix              A;
  SpikeBlockPattern   p;
  SpikeBlockLU        lu;
  SpikeBlockFillStats st;
  SpikePivot          pivot;
  char                where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "bs %" PetscInt_FMT ", %" PetscInt_FMT " tasks, levels %" PetscInt_FMT
                          ", order %d, precision %d",
                          bs, t->ntasks, levels, order, (int)precision));
  PetscCall(MatrixCreate(b, bs, t, perrow, order, &A));
  PetscCall(SpikeBlockSymbolic(bs, A.nb, A.ntasks, A.start, A.newrow, levels, A.bi, A.bj, &p));
  PetscCall(PatternCheck(&A, &p, where));
  PetscCall(CreateLU(b, &p, precision, 2, &lu));
  for (int again = 0; again < 3; again++) {
    const SpikeBlockCSR blocks = MatrixCSR(&A, PETSC_TRUE), numbers = MatrixCSR(&A, PETSC_FALSE);
    Factors             f;
    PetscReal           norm = 0;

    if (again) MatrixValues(&A);
    PetscCall(MatrixUp(b, &A));
    PivotSet(&pivot, 1e-6, 0, PETSC_TRUE);
    PetscCall(Factor(b, &lu, again == 1 ? &blocks : &numbers, &st, &pivot));
    for (PetscInt q = 0; q < A.ntasks; q++) {
      for (PetscInt i = A.start[q] * bs; i < A.start[q + 1] * bs; i++) {
        PetscReal sum = 0;

        for (PetscInt k = A.ai[i]; k < A.ai[i + 1]; k++)
          if (A.aj[k] >= A.start[q] * bs && A.aj[k] < A.start[q + 1] * bs) sum += PetscAbsScalar(A.aa[k]);
        norm = PetscMax(norm, sum);
      }
    }
    Check(st.badrow == -1 && st.overflowrow == -1 && pivot.badrow == -1 && pivot.nboost == 0 ? 0 : 1e30, where);
    Check(PetscAbsReal(st.norm - norm) / (100 * PETSC_MACHINE_EPSILON * (norm + (norm == 0))), where);
    Check(PetscAbsReal(pivot.tol - 1e-6 * (norm > 0 ? norm : 1)) / (1e-9 * (norm + 1)), where);
    PetscCall(FactorsGet(b, &lu, &f));
    PetscCall(FactorsCheck(&A, &p, precision, &f, where));
    for (int trans = 0; trans < 3; trans++)
      for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(columns); c++)
        PetscCall(SolveCheck(b, &lu, &f, (SpikeBlockTrans)trans, columns[c], where));
    if (again == 1) {
      PetscCall((*b->k->lureserve)(&lu, 5));
      PetscCall(SolveCheck(b, &lu, &f, SPIKE_BLOCK_PLAIN, 7, where));
    }
    PetscCall(FactorsDestroy(&f));
  }
  PetscCall((*b->k->ludestroy)(&lu));
  PetscCall(SpikeBlockPatternDestroy(&p));
  PetscCall(MatrixDestroy(b, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block matrix from its numbers, zeros kept: what SpikeBlockCompress() finds is what it was made of */
static PetscErrorCode TestCompress(SpikeBlock *b, PetscInt bs)
{
  Matrix    A;
  PetscInt *bi, *bj;

  PetscFunctionBegin;
  PetscCall(MatrixCreate(b, bs, &tasks[0], 4, 0, &A));
  for (PetscInt i = 0; i < A.nb * bs; i++) { /* entries of a row from the last to the first */
    for (PetscInt k = A.ai[i], l = A.ai[i + 1] - 1; k < l; k++, l--) {
      const PetscInt j = A.aj[k];

      A.aj[k] = A.aj[l];
      A.aj[l] = j;
    }
  }
  PetscCall(SpikeBlockCompress(bs, A.nb, A.ai, A.aj, &bi, &bj));
  Check(memcmp(bi, A.bi, (A.nb + 1) * sizeof(PetscInt)) || memcmp(bj, A.bj, A.bi[A.nb] * sizeof(PetscInt)) ? 1e30 : 0,
        "compress");
  PetscCall(PetscFree(bi));
  PetscCall(PetscFree(bj));
  PetscCall(MatrixDestroy(b, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Colors: neighbours in either direction have different ones, so that rows of a color are one level of an ILU(0) */
static PetscErrorCode TestMulticolor(SpikeBlock *b)
{
  Matrix            A;
  SpikeBlockPattern p;
  PetscInt          ncolors;

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tasks); t++) {
    PetscBool *taken;

    PetscCall(MatrixCreate(b, 2, &tasks[t], 4, 2, &A));
    PetscCall(PetscCalloc1(A.nb, &taken));
    PetscCall(SpikeBlockMulticolor(A.nb, A.ntasks, A.start, A.bi, A.bj, A.newrow, &ncolors));
    PetscCall(SpikeBlockSymbolic(2, A.nb, A.ntasks, A.start, A.newrow, 0, A.bi, A.bj, &p));
    Check(p.nlevels[0] <= ncolors && p.nlevels[1] <= ncolors && (ncolors <= 9) ? 0 : 1e30, "as many levels as colors");
    for (PetscInt q = 0; q < A.ntasks; q++)
      for (PetscInt i = A.start[q]; i < A.start[q + 1]; i++) {
        Check(A.newrow[i] >= A.start[q] && A.newrow[i] < A.start[q + 1] && !taken[A.newrow[i]] ? 0 : 1e30,
              "a row leaves its task");
        taken[A.newrow[i]] = PETSC_TRUE;
      }
    PetscCall(PetscFree(taken));
    PetscCall(SpikeBlockPatternDestroy(&p));
    PetscCall(MatrixDestroy(b, &A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal matrix with one element that is `size`, in step `step` of a block, in two tasks */
static PetscErrorCode TestPivot(SpikeBlock *b, PetscSpikePrecision precision, PetscInt bs, PetscInt step, double size)
{
  const Tasks         t   = {2, {4, 3}};
  const double        eps = Epsilon(precision);
  Matrix              A;
  SpikeBlockPattern   p;
  SpikeBlockLU        lu;
  SpikeBlockFillStats st;
  SpikePivot          pivot;
  Factors             f;
  PetscInt            other = 0;

  PetscFunctionBegin;
  PetscCall(MatrixCreate(b, bs, &t, 1, 0, &A));
  for (PetscInt i = 0; i < A.nb; i++) {
    for (PetscInt c = 0; c < bs; c++)
      for (PetscInt r = 0; r < bs; r++)
        A.ba[(A.dense[i * A.nb + i] * bs + c) * bs + r] = r != c                          ? 0.0
                                                        : r == step && (i == 2 || i == 5) ? (PetscReal)size
                                                                                          : 4.0;
  }
  MatrixToNumbers(&A);
  PetscCall(MatrixUp(b, &A));
  PetscCall(SpikeBlockSymbolic(bs, A.nb, A.ntasks, A.start, NULL, 0, A.bi, A.bj, &p));
  PetscCall(CreateLU(b, &p, precision, 1, &lu));
  for (int form = 0; form < 2; form++) {
    const SpikeBlockCSR csr = MatrixCSR(&A, (PetscBool)form);

    PivotSet(&pivot, (PetscReal)(10 * eps), 0, PETSC_TRUE);
    PetscCall(Factor(b, &lu, &csr, &st, &pivot));
    Check(pivot.badrow == 2 * bs + step && pivot.nboost == 0 ? 0 : 1e30, "row of a bad pivot");
    Check(PetscAbsReal(pivot.badvalue - (PetscReal)fabs(size)) <= 1e-3 * fabs(size) && pivot.tol > 9 * eps ? 0 : 1e30,
          "value of a bad pivot");
    PetscCall(FactorsGet(b, &lu, &f));
    for (PetscInt i = 0; i < A.nb; i++) /* the others are what they are */
      for (PetscInt e = 0; e < bs * bs && i != 2 && i != 5; e++)
        other += PetscAbsScalar(f.D[i * bs * bs + e] - (PetscReal)(e % bs == e / bs ? 0.25 : 0.0)) > 1e-6;
    for (PetscInt e = 0; e < A.nb * bs * bs; e++) other += PetscIsInfOrNanScalar(f.D[e]);
    Check(other ? 1e30 : 0, "other blocks");
    PetscCall(FactorsDestroy(&f));
    PivotSet(&pivot, (PetscReal)(10 * eps), 0.5, PETSC_FALSE);
    PetscCall(Factor(b, &lu, &csr, &st, &pivot));
    Check(pivot.badrow == -1 && pivot.nboost == 2 && pivot.boost == 0.5 ? 0 : 1e30, "boosted pivots");
    PetscCall(FactorsGet(b, &lu, &f));
    for (PetscInt e = 0; e < bs * bs; e++) { /* the boosted one is 1 / 0.5, with the sign */
      const PetscReal expected = e % bs != e / bs ? 0.0 : e / bs != step ? 0.25 : size < 0 ? -2.0 : 2.0;

      Check(PetscAbsScalar(f.D[2 * bs * bs + e] - expected) / 1e-5, "inverse with a boosted pivot");
    }
    PetscCall(FactorsDestroy(&f));
    PivotSet(&pivot, (PetscReal)0, 0, PETSC_FALSE); /* accepted where it is not zero */
    PetscCall(Factor(b, &lu, &csr, &st, &pivot));
    Check((pivot.badrow == -1) == (size != 0) ? 0 : 1e30, "a small pivot, accepted");
  }
  PetscCall((*b->k->ludestroy)(&lu));
  PetscCall(SpikeBlockPatternDestroy(&p));
  PetscCall(MatrixDestroy(b, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that are no numbers, or too large for single precision: found where they are, also between tasks */
static PetscErrorCode TestValues(SpikeBlock *b, PetscSpikePrecision precision, PetscInt bs)
{
  Matrix              A;
  SpikeBlockPattern   p;
  SpikeBlockLU        lu;
  SpikeBlockFillStats st;
  SpikePivot          pivot;

  PetscFunctionBegin;
  PetscCall(MatrixCreate(b, bs, &tasks[1], 6, 1, &A));
  PetscCall(SpikeBlockSymbolic(bs, A.nb, A.ntasks, A.start, A.newrow, 0, A.bi, A.bj, &p));
  PetscCall(CreateLU(b, &p, precision, 1, &lu));
  for (PetscInt k = 0; k < A.bi[A.nb]; k += 3) {
    PetscInt row = 0, t = 0;

    while (A.bi[row + 1] <= k) row++;
    while (A.start[t + 1] <= row) t++;
    for (int kind = 0; kind < 3; kind++) {
      const PetscCount  e      = (PetscCount)k * bs * bs + k % (bs * bs);
      const PetscScalar value  = kind == 0 ? (PetscReal)NAN
                               : kind == 1 ? (PetscReal)(-INFINITY)
                                           : (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e30 : 1e200);
      const PetscBool   inside = (PetscBool)(A.bj[k] >= A.start[t] && A.bj[k] < A.start[t + 1]);
      const PetscBool   large  = (PetscBool)(kind == 2 && inside && precision == PETSC_SPIKE_PRECISION_SINGLE &&
                                          !PetscDefined(USE_REAL_SINGLE));

      for (int form = 0; form < 2; form++) {
        const SpikeBlockCSR csr    = MatrixCSR(&A, (PetscBool)form);
        const PetscInt      number = row * bs + (PetscInt)(e % bs);

        MatrixValues(&A);
        A.ba[e] = value;
        MatrixToNumbers(&A);
        PetscCall(MatrixUp(b, &A));
        PivotSet(&pivot, 1e-6, 0, PETSC_TRUE);
        PetscCall(Factor(b, &lu, &csr, &st, &pivot));
        Check(st.badrow == (kind < 2 ? number : -1) ? 0 : 1e30, "a row with a value that is no number");
        Check(st.overflowrow == (large ? number : -1) ? 0 : 1e30, "a row with a value that is too large");
      }
    }
  }
  PetscCall((*b->k->ludestroy)(&lu));
  PetscCall(SpikeBlockPatternDestroy(&p));
  PetscCall(MatrixDestroy(b, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal block that the matrix does not have: the first row of the matrix is told, and the factors have it */
static PetscErrorCode TestMissing(void)
{
  const PetscInt bi[] = {0, 2, 3, 5, 6}, bj[] = {0, 1, 0, 3, 1, 3}, start[] = {0, 4}, newrow[] = {3, 2, 1, 0},
                 twice[] = {0, 0, 0, 3, 1, 3};
  SpikeBlockPattern p;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  for (int order = 0; order < 2; order++) {
    PetscCall(SpikeBlockSymbolic(3, 4, 1, start, order ? newrow : NULL, 0, bi, bj, &p));
    Check(p.missing == 1 && p.kept == 6 && p.li[4] + p.ui[4] == 4 ? 0 : 1e30, "a missing diagonal block");
    PetscCall(SpikeBlockPatternDestroy(&p));
  }
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = SpikeBlockSymbolic(3, 4, 1, start, NULL, 0, bi, twice, &p);
  PetscCall(PetscPopErrorHandler());
  Check(ierr == PETSC_ERR_ARG_WRONG ? 0 : 1e30, "a column twice");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parts of TestBlockFactors(), for memory checkers, which take minutes for each */
enum {
  FACTORS_OF_SIZES,
  FACTORS_OF_TASKS,
  FACTORS_OF_GRIDS,
  FACTORS_PIVOTS,
  FACTORS_PARTS
};

static PetscErrorCode TestFactorsPart(SpikeBlock *b, PetscSpikePrecision precision, PetscInt step, int part)
{
  const PetscInt levels[] = {0, 1, 2, PETSC_INT_MAX};

  PetscFunctionBegin;
  if (part == FACTORS_OF_SIZES) {
    for (PetscInt bs = 1; bs <= SPIKE_BLOCK_MAXBS; bs += bs < 9 ? 1 : step)
      for (int c = 0; c < 3; c++)
        if (ShareNext())
          PetscCall(
            TestFactors(b, precision, bs, &tasks[(bs + c) % 2], 4, levels[(bs + c) % 4], (int)((bs / 2 + c) % 3)));
  } else if (part == FACTORS_OF_TASKS) {
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tasks); t++)
      for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(levels); l++)
        for (int order = 0; order < 3; order++)
          if (ShareNext()) PetscCall(TestFactors(b, precision, 4, &tasks[t], 4, levels[l], order));
  } else if (part == FACTORS_OF_GRIDS) {
    for (PetscInt bs = 4; bs <= 16; bs *= 2) /* the sizes to be fast with */
      for (int c = 0; c < 6; c++)
        if (ShareNext()) PetscCall(TestFactors(b, precision, bs, &grids[c % 2], c < 4 ? 0 : 4, levels[c / 3], c % 3));
  } else {
    for (PetscInt bs = 1; bs <= 17; bs += bs < 6 ? 1 : 3) {
      for (PetscInt at = 0; at < bs; at += 1 + at) {
        PetscCall(TestPivot(b, precision, bs, at, 0.0));
        PetscCall(TestPivot(b, precision, bs, at, 4 * Epsilon(precision)));
        PetscCall(TestPivot(b, precision, bs, at, -Epsilon(precision)));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors, solves and pivots; step: between sizes of blocks from 9 on; name: of the backend, in the reports; only: the
   one part to be done, or -1 for all */
static PetscErrorCode TestBlockFactors(SpikeBlock *b, PetscInt step, const char name[], PetscInt only)
{
  char what[128];

  PetscFunctionBegin;
  for (int q = 0; q < 2; q++) {
    for (int part = 0; part < FACTORS_PIVOTS; part++)
      if (only < 0 || only == part) PetscCall(TestFactorsPart(b, precisions[q], step, part));
    PetscCall(PetscSNPrintf(what, sizeof(what), "factors and solves, precision %d, %s", q, name));
    if (only != FACTORS_PIVOTS) Report(what);
    if (only >= 0 && only != FACTORS_PIVOTS) continue;
    PetscCall(TestFactorsPart(b, precisions[q], step, FACTORS_PIVOTS));
    PetscCall(PetscSNPrintf(what, sizeof(what), "pivots, precision %d, %s", q, name));
    Report(what);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBlockRest(SpikeBlock *b)
{
  PetscFunctionBegin;
  for (int q = 0; q < 2; q++)
    for (PetscInt bs = 1; bs < 6; bs++) PetscCall(TestValues(b, precisions[q], bs));
  Report("values that cannot be");
  for (PetscInt bs = 1; bs < 9; bs++) PetscCall(TestCompress(b, bs));
  PetscCall(TestMulticolor(b));
  PetscCall(TestMissing());
  Report("patterns");
  PetscFunctionReturn(PETSC_SUCCESS);
}
