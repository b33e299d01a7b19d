/* SPDX-License-Identifier: BSD-2-Clause */
/* blockiluorder.c: orderings of the blocks inside of each subdomain */
#include "blockiluimpl.h"

/* newrow[first ...] by a MatOrderingType of the blocks that couple the rows from first to last - 1 */
static PetscErrorCode BlockILUOrderTask_Private(PC pc, const char ordering[], PetscInt first, PetscInt last,
                                                const PetscInt bi[], const PetscInt bj[], PetscInt newrow[])
{
  const PetscInt  n = last - first;
  Mat             G;
  IS              row, col;
  PetscInt       *i, *j, count = 0;
  PetscScalar    *a;
  const PetscInt *old;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 1, &i));
  PetscCall(PetscMalloc1(bi[last] - bi[first], &j));
  i[0] = 0;
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = bi[r]; k < bi[r + 1]; k++)
      if (bj[k] >= first && bj[k] < last) j[count++] = bj[k] - first;
    PetscCall(PetscSortInt(count - i[r - first], j + i[r - first]));
    i[r - first + 1] = count;
  }
  PetscCall(PetscCalloc1(count, &a));
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, i, j, a, &G));
  PetscCall(MatGetOrdering(G, ordering, &row, &col));
  PetscCall(ISEqual(row, col, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBLOCKILU orders rows and columns alike, which ordering %s does not", ordering);
  PetscCall(ISGetIndices(row, &old));
  for (PetscInt r = 0; r < n; r++) newrow[first + old[r]] = first + r;
  PetscCall(ISRestoreIndices(row, &old));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscCall(MatDestroy(&G));
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(j));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *newrow: NULL in natural ordering */
PetscErrorCode PCBlockILUOrder_Private(PC pc, PetscInt ntasks, const PetscInt start[], PetscInt nb, const PetscInt bi[],
                                       const PetscInt bj[], PetscInt **newrow)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;
  PetscBool    natural;

  PetscFunctionBegin;
  *newrow        = NULL;
  s->info.colors = 0;
  PetscCall(PetscStrcmp(s->ordering, MATORDERINGNATURAL, &natural));
  if (natural && !s->multicolor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(nb, newrow));
  if (s->multicolor) PetscCall(SpikeBlockMulticolor(nb, ntasks, start, bi, bj, *newrow, &s->info.colors));
  else {
    for (PetscInt t = 0; t < ntasks; t++)
      if (start[t + 1] > start[t])
        PetscCall(BlockILUOrderTask_Private(pc, s->ordering, start[t], start[t + 1], bi, bj, *newrow));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
