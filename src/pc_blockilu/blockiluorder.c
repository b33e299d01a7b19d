/* SPDX-License-Identifier: BSD-2-Clause */
/* blockiluorder.c: orderings of the blocks inside of each subdomain */
#include "blockiluimpl.h"

/* A graph that is ordered, in the PC, so that an error of PETSc's functions loses nothing */
PetscErrorCode PCBlockILUOrderReset_Private(PC pc)
{
  BlockILUWork *w = &((PC_BlockILU *)pc->data)->work;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&w->graph));
  PetscCall(ISDestroy(&w->row));
  PetscCall(ISDestroy(&w->col));
  PetscCall(PetscFree(w->gi));
  PetscCall(PetscFree(w->gj));
  PetscCall(PetscFree(w->ga));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* newrow[first ...] by a MatOrderingType of the blocks that couple the rows from first to last - 1 */
static PetscErrorCode BlockILUOrderTask_Private(PC pc, const char ordering[], PetscInt first, PetscInt last,
                                                const PetscInt bi[], const PetscInt bj[], PetscInt newrow[])
{
  BlockILUWork   *w     = &((PC_BlockILU *)pc->data)->work;
  const PetscInt  n     = last - first;
  PetscInt        count = 0;
  const PetscInt *old;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 1, &w->gi));
  PetscCall(PetscMalloc1(bi[last] - bi[first], &w->gj));
  w->gi[0] = 0;
  for (PetscInt r = first; r < last; r++) {
    for (PetscInt k = bi[r]; k < bi[r + 1]; k++)
      if (bj[k] >= first && bj[k] < last) w->gj[count++] = bj[k] - first;
    PetscCall(PetscSortInt(count - w->gi[r - first], w->gj + w->gi[r - first]));
    w->gi[r - first + 1] = count;
  }
  PetscCall(PetscCalloc1(count, &w->ga));
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, w->gi, w->gj, w->ga, &w->graph));
  PetscCall(MatGetOrdering(w->graph, ordering, &w->row, &w->col));
  PetscCheck(w->row && w->col, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "Ordering %s leaves the choice to another package and gives no permutation: use "
             "-%spc_blockilu_mat_ordering_type rcm, nd or natural",
             ordering, ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
  PetscCall(ISEqual(w->row, w->col, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBLOCKILU orders rows and columns alike, which ordering %s does not", ordering);
  PetscCall(ISGetIndices(w->row, &old));
  for (PetscInt r = 0; r < n; r++) newrow[first + old[r]] = first + r;
  PetscCall(ISRestoreIndices(w->row, &old));
  PetscCall(PCBlockILUOrderReset_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *newrow: NULL in natural ordering */
PetscErrorCode PCBlockILUOrder_Private(PC pc, PetscInt ntasks, const PetscInt start[], PetscInt nb, const PetscInt bi[],
                                       const PetscInt bj[], PetscInt **newrow)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;
  PetscBool    natural, lines;

  PetscFunctionBegin;
  *newrow        = NULL;
  s->info.colors = 0;
  PetscCall(PetscStrcmp(s->ordering, MATORDERINGNATURAL, &natural));
  if (natural && !s->multicolor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(s->ordering, MATORDERINGLINES, &lines));
  PetscCheck(!lines || s->multicolor, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "Ordering %s goes by values, PCBLOCKILU orders a pattern: use -%spc_blockilu_mat_ordering_type rcm, nd or "
             "natural",
             MATORDERINGLINES, ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
  PetscCall(PetscMalloc1(nb, newrow));
  if (s->multicolor) PetscCall(SpikeBlockMulticolor(nb, ntasks, start, bi, bj, *newrow, &s->info.colors));
  else {
    for (PetscInt t = 0; t < ntasks; t++)
      if (start[t + 1] > start[t])
        PetscCall(BlockILUOrderTask_Private(pc, s->ordering, start[t], start[t + 1], bi, bj, *newrow));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
