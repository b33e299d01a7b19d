/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_layout.c: PCSpikeGetOrdering(): the band of the permuted matrix is the one that was factored */
static char help[] = "Orderings, matchings, borders and partitions as PCSPIKE tells them, beside the entries.\n\n";

#include "spiketest.h"

typedef struct {
  PetscInt  n, kl, ku;
  PetscInt  step;   /* row i of the hidden band is row (step * i) mod n of the matrix */
  PetscInt  rotate; /* ... and its rows are shifted by so many: the diagonal is empty */
  PetscInt  border; /* full rows and columns */
  PetscInt  partitions;
  PetscBool natural;
} Case;

/*
  Where row i, shifted by some rows, of the hidden band is, and *owner, the first row of its rank: orders are hidden
  inside of each rank
*/
static PetscInt Place(const Case *c, PetscMPIInt size, const PetscInt ranges[], PetscInt i, PetscInt shift,
                      PetscInt *owner)
{
  PetscInt r = 0, n, step = c->step;

  while (r + 1 < size && i >= ranges[r + 1]) r++;
  *owner = ranges[r];
  n      = ranges[r + 1] - ranges[r];
  for (PetscInt a = n, b = step % n; c->step > 1; a = n, b = ++step % n) { /* until the step is prime to n */
    while (b) {
      const PetscInt d = a % b;

      a = b;
      b = d;
    }
    if (a == 1) break;
  }
  return ranges[r] + (PetscInt)((PetscInt64)(i - ranges[r] + shift) % n * step % n);
}

/* A random band, dominant before its rows are shifted; with a hidden order nothing couples two ranks */
static PetscErrorCode CaseMat(const Case *c, PetscInt seed, Mat *A)
{
  const PetscInt  n = c->n;
  const PetscInt *ranges;
  PetscInt        start, end;
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  PetscCall(MatGetOwnershipRanges(*A, &ranges));
  for (PetscInt i = 0; i < n; i++) {
    PetscInt       owner, other;
    const PetscInt row = Place(c, size, ranges, i, c->rotate, &owner);

    if (row < start || row >= end) continue;
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt    column = Place(c, size, ranges, j, 0, &other);
      const PetscBool   full   = (PetscBool)(c->border && (i % (n / c->border) == 5 || j % (n / c->border) == 5));
      const PetscScalar v      = SpikeTestScalar(seed, i, j);

      if (i == j) PetscCall(MatSetValue(*A, row, column, 3.0 * (c->kl + c->ku + 1) + (full ? n : 0), INSERT_VALUES));
      else if ((c->step > 1 || c->rotate) && owner != other && !full) continue;
      else if ((j >= i - c->kl && j <= i + c->ku) || full)
        PetscCall(MatSetValue(*A, row, column, v == (PetscScalar)0.0 ? 1.0 : v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* place[] <- the inverse of an index set with all its ranks' parts; whether it is a permutation of each rank's rows */
static PetscErrorCode Places(IS is, Mat A, PetscInt place[], PetscBool *permutation)
{
  IS              all;
  const PetscInt *index;
  PetscInt        n, own, start, end;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(ISGetLocalSize(is, &own));
  *permutation = (PetscBool)(own == end - start);
  PetscCall(ISGetIndices(is, &index));
  for (PetscInt k = 0; k < own; k++)
    if (index[k] < start || index[k] >= end) *permutation = PETSC_FALSE;
  PetscCall(ISRestoreIndices(is, &index));
  for (PetscInt i = 0; i < n; i++) place[i] = -1;
  PetscCall(ISAllGather(is, &all));
  PetscCall(ISGetLocalSize(all, &own));
  if (own != n) *permutation = PETSC_FALSE;
  PetscCall(ISGetIndices(all, &index));
  for (PetscInt k = 0; k < PetscMin(own, n); k++) {
    if (index[k] < 0 || index[k] >= n || place[index[k]] >= 0) *permutation = PETSC_FALSE;
    else place[index[k]] = k;
  }
  PetscCall(ISRestoreIndices(all, &index));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half-bandwidths of the entries at their places, without the border; rows with an entry on the diagonal there */
static PetscErrorCode GetBand(Mat A, const PetscInt row[], const PetscInt column[], const PetscBool inborder[],
                              PetscInt band[2], PetscInt *diagonal)
{
  PetscInt start, end, sum = 0;

  PetscFunctionBegin;
  band[0] = band[1] = 0;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscInt           nc;
    const PetscInt    *j;
    const PetscScalar *v;

    PetscCall(MatGetRow(A, i, &nc, &j, &v));
    for (PetscInt k = 0; k < nc; k++) {
      if (v[k] == (PetscScalar)0.0 || inborder[i] || inborder[j[k]]) continue;
      band[0] = PetscMax(band[0], row[i] - column[j[k]]);
      band[1] = PetscMax(band[1], column[j[k]] - row[i]);
      if (row[i] == column[j[k]]) sum++;
    }
    PetscCall(MatRestoreRow(A, i, &nc, &j, &v));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, band, 2, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(&sum, diagonal, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Partitions begin where a rank does, ascend, and have the sizes that PCSpikeInfo has */
static PetscErrorCode CheckStarts(Mat A, IS starts, const PCSpikeInfo *info, const char where[])
{
  const PetscInt *first;
  PetscInt        np, all, start, end, size[2] = {0, -PETSC_INT_MAX}; /* the largest, - the smallest */
  PetscBool       good;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(ISGetLocalSize(starts, &np));
  PetscCall(ISGetSize(starts, &all));
  PetscCall(ISGetIndices(starts, &first));
  good = (PetscBool)((np > 0) == (end > start) && (!np || first[0] == start));
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt rows = (p + 1 < np ? first[p + 1] : end) - first[p];

    if (rows < 1) good = PETSC_FALSE;
    size[0] = PetscMax(size[0], rows);
    size[1] = PetscMax(size[1], -rows);
  }
  PetscCall(ISRestoreIndices(starts, &first));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, size, 2, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(SpikeTestCheck(good, "%s: partitions do not begin with the rank, or do not ascend", where));
  PetscCall(SpikeTestCheck((PetscBool)(all == info->partitions && size[0] == info->max_partition &&
                                       (!all || -size[1] == info->min_partition)),
                           "%s: %" PetscInt_FMT " partitions of %" PetscInt_FMT " to %" PetscInt_FMT
                           " rows, not %" PetscInt_FMT " of %" PetscInt_FMT " to %" PetscInt_FMT,
                           where, all, -size[1], size[0], info->partitions, info->min_partition, info->max_partition));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PC pc, Mat A, const Case *c, const char where[])
{
  const PetscInt *index;
  IS              rows, columns, border, starts, all;
  PCSpikeInfo     info;
  PetscInt        n = c->n, band[2], m, diagonal, *row, *column;
  PetscBool       good[2], *inborder;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSpikeGetOrdering(pc, &rows, &columns, &border, &starts));
  PetscCall(PetscMalloc3(n, &row, n, &column, n, &inborder));
  PetscCall(PetscArrayzero(inborder, n));
  PetscCall(Places(rows, A, row, &good[0]));
  PetscCall(Places(columns, A, column, &good[1]));
  PetscCall(SpikeTestCheck((PetscBool)(good[0] && good[1]), "%s: no permutation of the rows of a rank", where));
  PetscCall(ISAllGather(border, &all));
  PetscCall(ISGetLocalSize(all, &m));
  PetscCall(ISGetIndices(all, &index));
  for (PetscInt k = 0; k < m; k++) inborder[index[k]] = PETSC_TRUE;
  PetscCall(ISRestoreIndices(all, &index));
  PetscCall(ISDestroy(&all));
  PetscCall(SpikeTestCheck((PetscBool)(m == info.border), "%s: border of %" PetscInt_FMT ", not %" PetscInt_FMT, where,
                           m, info.border));
  if (good[0] && good[1]) {
    PetscCall(GetBand(A, row, column, inborder, band, &diagonal));
    PetscCall(SpikeTestCheck((PetscBool)(info.dropped > 0.0 || (band[0] == info.kl && band[1] == info.ku)),
                             "%s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                             " of the permuted matrix, %" PetscInt_FMT ",%" PetscInt_FMT " factored",
                             where, band[0], band[1], info.kl, info.ku));
    PetscCall(SpikeTestCheck((PetscBool)(diagonal == n - m),
                             "%s: %" PetscInt_FMT " rows of %" PetscInt_FMT " have a diagonal entry", where, diagonal,
                             n - m));
  }
  PetscCall(CheckStarts(A, starts, &info, where));
  PetscCall(PetscFree3(row, column, inborder));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(ISDestroy(&border));
  PetscCall(ISDestroy(&starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors: before the setup, and of another type */
static PetscErrorCode TestMistakes(void)
{
  const Case     c = {7, 1, 2, 1, 0, 0, 1, PETSC_FALSE};
  Mat            A;
  PC             pc;
  IS             rows, columns;
  PetscErrorCode early, other;
  PetscInt       size;

  PetscFunctionBegin;
  PetscCall(CaseMat(&c, 3, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(PCSetType(pc, PCJACOBI));
  other = PCSpikeGetOrdering(pc, &rows, NULL, NULL, NULL);
  PetscCall(PCSetType(pc, PCSPIKE));
  early = PCSpikeGetOrdering(pc, &rows, NULL, NULL, NULL);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(other == PETSC_ERR_SUP), "another type: %d", (int)other));
  PetscCall(SpikeTestCheck((PetscBool)(early == PETSC_ERR_ARG_WRONGSTATE), "before the setup: %d", (int)early));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetOrdering(pc, NULL, &columns, NULL, NULL)); /* one alone */
  PetscCall(ISGetSize(columns, &size));
  PetscCall(SpikeTestCheck((PetscBool)(size == c.n), "columns alone: %" PetscInt_FMT, size));
  PetscCall(ISDestroy(&columns));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case cases[] = {
    {60, 2, 3, 1, 0, 0, 3, PETSC_FALSE},   {61, 2, 1, 17, 0, 0, 2, PETSC_FALSE}, /* hidden */
    {61, 2, 1, 17, 0, 0, 2, PETSC_TRUE},   /* hidden, but the natural order is asked for: many rows in a band */
    {64, 1, 3, 1, 4, 0, 1, PETSC_FALSE},   /* an empty diagonal */
    {71, 1, 2, 19, 3, 0, 2, PETSC_FALSE},  /* hidden too */
    {120, 2, 2, 1, 0, 2, 2, PETSC_FALSE},  /* a border */
    {121, 2, 2, 23, 0, 1, 3, PETSC_FALSE}, /* hidden too */
    {1, 0, 0, 1, 0, 0, 1, PETSC_FALSE},    {2, 1, 1, 1, 0, 0, 1, PETSC_FALSE},   {0, 0, 0, 1, 0, 0, 1, PETSC_FALSE},
  };
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestMistakes());
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(cases); t++) {
    const Case *c = &cases[t];
    Case        other;
    char        where[64];
    PCSpikeInfo info;
    Mat         A;
    PC          pc;

    if (c->natural && size > 1) continue; /* more half-bandwidths than rows */
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetLocalPartitions(pc, c->partitions));
    if (c->natural) PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
    /* and another pattern in the same object, with a later case */
    for (size_t turn = 0; turn < 2; turn++) {
      other = turn ? cases[(t + 3) % PETSC_STATIC_ARRAY_LENGTH(cases)] : *c;
      if (other.natural && size > 1) continue;
      PetscCall(PetscSNPrintf(where, sizeof(where), "case %d, turn %d", (int)t, (int)turn));
      PetscCall(CaseMat(&other, (PetscInt)(10 * t + turn), &A));
      if (turn) PetscCall(PCReset(pc));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCSetUp(pc));
      PetscCall(Check(pc, A, &other, where));
      PetscCall(PCSpikeGetInfo(pc, &info));
      if (!turn && size == 1) {
        PetscCall(SpikeTestCheck((PetscBool)(info.matched == (PetscBool)(c->rotate > 0)), "%s: matched %d", where,
                                 info.matched));
        PetscCall(SpikeTestCheck((PetscBool)((info.border > 0) == (c->border > 0)), "%s: border %" PetscInt_FMT, where,
                                 info.border));
        PetscCall(SpikeTestCheck((PetscBool)(info.reordered == (PetscBool)(c->step > 1 && !c->natural)),
                                 "%s: reordered %d", where, info.reordered));
      }
      PetscCall(MatDestroy(&A));
    }
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(SpikeTestEnd("spike_layout"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_layout_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
