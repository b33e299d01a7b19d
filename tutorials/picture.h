/* SPDX-License-Identifier: BSD-2-Clause */
/*
  picture.h: the picture of a matrix as read, and of the band that PCSPIKE took of it: SVG, on one rank.

      BandCreate()   the band of the last setup of PCSPIKE
      BandDraw()     both matrices, with partitions and border, and how fast the spikes decay
*/
#pragma once

#include <petscspike.h>

#define CELLS     150 /* squares of a picture, along a side */
#define SIDE      450
#define MAXCURVES 16 /* partitions whose spikes are drawn */

/* Rows and columns in the order of the band, those of the border last */
typedef struct {
  Mat       B; /* the permuted matrix */
  PetscInt  n, border, np, *start;
  PetscInt  kl, ku; /* half-bandwidths of what is not in the border, at its places in the band */
  PetscInt  cut[2]; /* those that were factored */
  PetscBool moved;  /* it is not the matrix as it is read */
} Band;

/* An index set with the members of another one last, in their order */
static inline PetscErrorCode BorderLast_Private(IS all, PetscInt m, const PetscInt last[], IS *is)
{
  const PetscInt *from;
  PetscInt        n, count = 0, *to;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(all, &n));
  PetscCall(ISGetIndices(all, &from));
  PetscCall(PetscMalloc1(n, &to));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt at;

    PetscCall(PetscFindInt(from[k], m, last, &at));
    if (at < 0) to[count++] = from[k];
  }
  for (PetscInt k = 0; k < m; k++) to[count++] = last[k];
  PetscCall(ISRestoreIndices(all, &from));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, to, PETSC_OWN_POINTER, is));
  PetscCall(ISSetPermutation(*is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half-bandwidths without some rows and columns; zeros are not counted */
static inline PetscErrorCode Bandwidths_Private(Mat A, const PetscBool without[], PetscInt *kl, PetscInt *ku)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  *kl = *ku = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscInt           count;

    PetscCall(MatGetRow(A, i, &count, &j, &v));
    for (PetscInt k = 0; k < count; k++) {
      if (v[k] == (PetscScalar)0.0 || without[i] || without[j[k]]) continue;
      *kl = PetscMax(*kl, i - j[k]);
      *ku = PetscMax(*ku, j[k] - i);
    }
    PetscCall(MatRestoreRow(A, i, &count, &j, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The band of the last setup; rows of the border do not count in the starts of partitions */
static inline PetscErrorCode BandCreate(PC pc, Mat A, Band *band)
{
  IS              rows, columns, border, starts, row, column;
  const PetscInt *last, *first, *place;
  PetscBool       same[2], *without;
  PCSpikeInfo     info;
  Mat             B;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  band->cut[0] = info.kl;
  band->cut[1] = info.ku;
  PetscCall(PCSpikeGetOrdering(pc, &rows, &columns, &border, &starts));
  PetscCall(MatGetSize(A, &band->n, NULL));
  PetscCall(ISGetLocalSize(border, &band->border));
  PetscCall(ISGetLocalSize(starts, &band->np));
  PetscCall(ISGetIndices(border, &last));
  PetscCall(BorderLast_Private(rows, band->border, last, &row));
  PetscCall(BorderLast_Private(columns, band->border, last, &column));
  PetscCall(PetscCalloc1(band->np + 1, &band->start));
  PetscCall(PetscMalloc1(band->n, &without));
  PetscCall(ISGetIndices(starts, &first));
  PetscCall(ISGetIndices(rows, &place));
  for (PetscInt k = 0; k < band->n; k++) {
    PetscInt at;

    PetscCall(PetscFindInt(place[k], band->border, last, &at));
    without[k] = (PetscBool)(at >= 0);
    for (PetscInt p = 0; p < band->np; p++)
      if (k < first[p] && at < 0) band->start[p]++;
  }
  band->start[band->np] = band->n - band->border;
  PetscCall(ISRestoreIndices(rows, &place));
  PetscCall(ISRestoreIndices(starts, &first));
  PetscCall(ISRestoreIndices(border, &last));
  PetscCall(MatPermute(A, row, column, &band->B));
  PetscCall(ISSetPermutation(rows));
  PetscCall(ISSetPermutation(columns));
  PetscCall(MatPermute(A, rows, columns, &B));
  PetscCall(Bandwidths_Private(B, without, &band->kl, &band->ku));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree(without));
  PetscCall(ISIdentity(row, &same[0]));
  PetscCall(ISIdentity(column, &same[1]));
  band->moved = (PetscBool) !(same[0] && same[1]);
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&column));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(ISDestroy(&border));
  PetscCall(ISDestroy(&starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BandDestroy(Band *band)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&band->B));
  PetscCall(PetscFree(band->start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A square for each cell that has entries, the darker the more, at (x, 0) */
static inline PetscErrorCode DrawMatrix_Private(FILE *fp, Mat A, int x, const char title[])
{
  PetscInt *count, n, most = 1;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscCalloc1(CELLS * CELLS, &count));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &j, &v));
    for (PetscInt k = 0; k < nc; k++) {
      const PetscInt64 cell = (PetscInt64)i * CELLS / n * CELLS + (PetscInt64)j[k] * CELLS / n;

      if (v[k] != (PetscScalar)0.0) most = PetscMax(most, ++count[cell]);
    }
    PetscCall(MatRestoreRow(A, i, &nc, &j, &v));
  }
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp,
                         "<g transform='translate(%d 30)'><text y='-8'>%s</text>\n<rect width='%d' height='%d' "
                         "fill='none' stroke='#888'/>\n",
                         x, title, SIDE, SIDE));
  for (int i = 0; i < CELLS; i++) {
    for (int j = 0; j < CELLS; j++) {
      if (!count[i * CELLS + j]) continue;
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp,
                             "<rect x='%d' y='%d' width='3' height='3' fill='#124' opacity='%.2f'/>\n", 3 * j, 3 * i,
                             0.35 + 0.65 * count[i * CELLS + j] / most));
    }
  }
  PetscCall(PetscFree(count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cross of lines where row and column i begin */
static inline PetscErrorCode DrawCross_Private(FILE *fp, const char kind[], const char color[], PetscInt i, PetscInt n)
{
  const double at = (double)SIDE * i / n;

  PetscFunctionBegin;
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "<path class='%s' d='M0 %.1fH%dM%.1f 0V%d' stroke='%s' opacity='.6'/>\n",
                         kind, at, SIDE, at, SIDE, color));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  level[c] <- the largest magnitude in the rows of cell c of the spike D_p^-1 [0; B] or D_p^-1 [C; 0] of partition p, to
  partition q, over that of all rows; negative in other cells, and in all of them where there is no solution. Of the
  columns it is one combination. Factored as in PCSPIKE, but without its scales
*/
static inline PetscErrorCode SpikeLevels_Private(const Band *band, KSP ksp, PetscInt p, PetscInt q, PetscReal level[])
{
  const PetscInt     s = band->start[p], e = band->start[p + 1];
  IS                 rows, columns;
  Mat                C;
  Vec                r, b, v;
  const PetscScalar *a;
  PetscReal          most;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < CELLS; c++) level[c] = -1.0;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, e - s, s, 1, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, band->start[q + 1] - band->start[q], band->start[q], 1, &columns));
  PetscCall(MatCreateSubMatrix(band->B, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatCreateVecs(C, &r, &b));
  PetscCall(VecDuplicate(b, &v));
  for (PetscInt k = 0; k < band->start[q + 1] - band->start[q]; k++)
    PetscCall(VecSetValue(r, k, (k % 2 ? -1.0 : 1.0) * (1.0 + k * 7919 % 13 / 13.0), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(r));
  PetscCall(VecAssemblyEnd(r));
  PetscCall(MatMult(C, r, b));
  PetscCall(KSPSolve(ksp, b, v));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(v, NORM_INFINITY, &most));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt i = s; i < e && reason > 0 && most > 0.0; i++) {
    const PetscInt c = (PetscInt)((PetscInt64)i * CELLS / band->n);

    level[c] = PetscMax(level[c], PetscAbsScalar(a[i - s]) / most);
  }
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCall(MatDestroy(&C));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A curve for each spike, to the right of the partition dark, to its left green; the scale is logarithmic */
static inline PetscErrorCode DrawSpikes_Private(FILE *fp, const Band *band)
{
  PetscReal level[2 * MAXCURVES][CELLS], least = 0.1;
  int       decades;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2 * MAXCURVES; k++)
    for (PetscInt c = 0; c < CELLS; c++) level[k][c] = -1.0;
  for (PetscInt p = 0; p < band->np; p++) {
    IS  rows;
    Mat D;
    KSP ksp;
    PC  pc;

    PetscCall(ISCreateStride(PETSC_COMM_SELF, band->start[p + 1] - band->start[p], band->start[p], 1, &rows));
    PetscCall(MatCreateSubMatrix(band->B, rows, rows, MAT_INITIAL_MATRIX, &D));
    PetscCall(ISDestroy(&rows));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, D, D));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetLocalPartitions(pc, 1));
    if (p > 0) PetscCall(SpikeLevels_Private(band, ksp, p, p - 1, level[2 * p]));
    if (p + 1 < band->np) PetscCall(SpikeLevels_Private(band, ksp, p, p + 1, level[2 * p + 1]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&D));
  }
  for (PetscInt k = 0; k < 2 * MAXCURVES; k++)
    for (PetscInt c = 0; c < CELLS; c++)
      if (level[k][c] > 0.0) least = PetscMin(least, level[k][c]);
  decades = least > 1e-16 ? (int)ceil(-log10((double)least)) : 16; /* below it is rounding */
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp,
                         "<g transform='translate(490 525)'><text y='-8'>decay of the spikes in their partitions, from "
                         "1 to 1e-%d</text>\n<rect width='%d' height='110' fill='none' stroke='#888'/>\n",
                         decades, SIDE));
  for (PetscInt k = 0; k < 2 * band->np; k++) {
    int drawn = 0;

    for (PetscInt c = 0; c < CELLS; c++) {
      const double y = level[k][c] > 0.0 ? PetscMin(-log10((double)level[k][c]) / decades, 1.0) : 1.0;

      if (level[k][c] < 0.0) continue;
      if (!drawn)
        PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "<path class='spike' fill='none' stroke='%s' d='",
                               k % 2 ? "#124" : "#284"));
      PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%s%.1f %.1f", drawn++ ? "L" : "M", 3 * c + 1.5, 110 * y));
    }
    if (drawn) PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "'/>\n"));
  }
  for (PetscInt p = 1; p < band->np; p++)
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "<path d='M%.1f 0v110' stroke='#c33' opacity='.6'/>\n",
                           (double)SIDE * band->start[p] / band->n));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "</g>\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A as read, with half-bandwidths kl and ku, and B as title says: the band, or with band->np = 0 the matrix alone */
static inline PetscErrorCode BandDraw(const char name[], Mat A, PetscInt kl, PetscInt ku, const Band *band,
                                      const char what[])
{
  const PetscBool curves = (PetscBool)(band->np > 1 && band->np <= MAXCURVES);
  const int       height = curves ? 645 : 490;
  char            title[256], border[64] = "", cut[64] = "";
  FILE           *fp;

  PetscFunctionBegin;
  PetscCall(PetscFOpen(PETSC_COMM_SELF, name, "w", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp,
                         "<svg xmlns='http://www.w3.org/2000/svg' width='960' height='%d' font-family='sans-serif' "
                         "font-size='14'>\n<rect width='960' height='%d' fill='white'/>\n",
                         height, height));
  PetscCall(PetscSNPrintf(title, sizeof(title), "as read: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, kl, ku));
  PetscCall(DrawMatrix_Private(fp, A, 10, title));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "</g>\n"));
  if (band->border)
    PetscCall(PetscSNPrintf(border, sizeof(border), ", border of %" PetscInt_FMT " rows", band->border));
  if (band->np && (band->cut[0] < band->kl || band->cut[1] < band->ku))
    PetscCall(PetscSNPrintf(cut, sizeof(cut), ", cut to %" PetscInt_FMT ",%" PetscInt_FMT, band->cut[0], band->cut[1]));
  PetscCall(PetscSNPrintf(title, sizeof(title), "%s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT "%s%s", what,
                          band->kl, band->ku, cut, border));
  PetscCall(DrawMatrix_Private(fp, band->B, 490, title));
  for (PetscInt p = 1; p < band->np && band->np <= CELLS; p++)
    PetscCall(DrawCross_Private(fp, "partition", "#c33", band->start[p], band->n));
  if (band->border) PetscCall(DrawCross_Private(fp, "border", "#284", band->n - band->border, band->n));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "</g>\n"));
  if (curves) PetscCall(DrawSpikes_Private(fp, band));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "</svg>\n"));
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
