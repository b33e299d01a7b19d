/* SPDX-License-Identifier: BSD-2-Clause */
/* spikegather.c: PCSPIKE on ranks that own fewer rows than the half-bandwidth */
#include "spikeimpl.h"

/*
  A tip has as many rows as the half-bandwidth K, so that a rank couples with the next one only where it has K rows.
  Where one has fewer, but some, Pmat is factored with other ownership ranges: neighbouring ranks come together until
  they have K rows, which go to the one of them that has most. Rows stay in their order. All that a setup and an
  application do with Pmat they do with that matrix, which stands in its place meanwhile; vectors go there and back by a
  scatter. Products for residuals are those of Pmat.
*/

PetscErrorCode PCSpikeGatherReset_Private(PC pc)
{
  PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&g->A));
  PetscCall(MatDestroy(&g->P));
  PetscCall(ISDestroy(&g->rows));
  PetscCall(VecDestroy(&g->b));
  PetscCall(VecDestroy(&g->x));
  PetscCall(VecScatterDestroy(&g->scatter));
  g->least = 0;
  g->again = g->leaves = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plan needs so many rows on each rank that has some: the next setup gathers them; twice as many as the last one */
PetscErrorCode PCSpikeGatherAsk_Private(PC pc, PetscInt least)
{
  PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;

  PetscFunctionBegin;
  g->least = PetscMax(least, g->least > PETSC_INT_MAX / 2 ? PETSC_INT_MAX : 2 * g->least);
  g->again = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A takes the place of Pmat, if it has not; the results are for PCSpikeGatherLeave_Private(), also after an error */
PetscBool PCSpikeGatherEnter_Private(PC pc)
{
  PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;

  if (!g->A || g->pmat) return PETSC_FALSE;
  g->pmat  = pc->pmat;
  pc->pmat = g->A;
  return PETSC_TRUE;
}

void PCSpikeGatherLeave_Private(PC pc, PetscBool entered)
{
  PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;

  if (!entered) return;
  pc->pmat = g->pmat;
  g->pmat  = NULL;
}

/* The rows that this rank gets: groups of neighbours with `least` rows, the rest goes to the last group */
static PetscErrorCode SpikeGatherRows_Private(PC pc)
{
  PCSpikeGather  *g = &((PC_Spike *)pc->data)->gather;
  const PetscInt *range;
  PetscMPIInt     size, rank, first = 0, owner = 0;
  PetscInt        own[2] = {0, 0}, N = pc->pmat->rmap->N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(MatGetOwnershipRanges(pc->pmat, &range));
  g->owners[0] = g->owners[1] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (range[r + 1] > range[r]) g->owners[0]++;
    if (range[r + 1] - range[r] > range[owner + 1] - range[owner]) owner = r;
    if (range[r + 1] - range[first] < g->least && r + 1 < size) continue;
    if (N - range[r + 1] < g->least) { /* what is left is too little for another group */
      for (PetscMPIInt q = r + 1; q < size; q++) {
        if (range[q + 1] > range[q]) g->owners[0]++;
        if (range[q + 1] - range[q] > range[owner + 1] - range[owner]) owner = q;
      }
      r = size - 1;
    }
    g->owners[1]++;
    if (owner == rank) {
      own[0] = range[first];
      own[1] = range[r + 1];
    }
    first = owner = r + 1;
    if (first == size) break;
  }
  PetscCall(ISCreateStride(PetscObjectComm((PetscObject)pc), own[1] - own[0], own[0], 1, &g->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A from the values of Pmat, and the first time all that goes with it; *same: a copy as AIJ has its pattern still */
static PetscErrorCode SpikeGatherMatrix_Private(PC pc, PetscBool *same)
{
  PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;
  Vec            v;
  PetscBool      aij, device;

  PetscFunctionBegin;
  *same = PETSC_TRUE;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATMPIAIJ, &aij));
  if (!aij) {
    PetscCall(PCSpikeOnDevice_Private(pc, &device));
    PetscCall(PCFactoredConvert_Private(pc, device ? MATAIJCUSPARSE : MATAIJ, (PetscBool)(g->A != NULL), &g->P, same));
  }
  if (g->A) {
    if (*same) PetscCall(MatCreateSubMatrix(aij ? pc->pmat : g->P, g->rows, g->rows, MAT_REUSE_MATRIX, &g->A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *same = PETSC_TRUE;
  PetscCall(SpikeGatherRows_Private(pc));
  PetscCall(MatCreateSubMatrix(aij ? pc->pmat : g->P, g->rows, g->rows, MAT_INITIAL_MATRIX, &g->A));
  PetscCall(MatPropagateSymmetryOptions(pc->pmat, g->A));
  PetscCall(MatCreateVecs(g->A, &g->x, &g->b));
  PetscCall(MatCreateVecs(pc->pmat, NULL, &v));
  PetscCall(VecScatterCreate(v, g->rows, g->b, g->rows, &g->scatter));
  PetscCall(VecDestroy(&v));
  PetscCall(PetscInfo(pc,
                      "A rank has fewer rows than the half-bandwidth: the rows of %" PetscInt_FMT
                      " ranks are gathered on %" PetscInt_FMT "\n",
                      g->owners[0], g->owners[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Before a setup. first: PCSetUp() begins, with values of the pattern that was gathered, or with another one, of which
  nothing is known
*/
PetscErrorCode PCSpikeGatherBegin_Private(PC pc, PetscBool first)
{
  PC_Spike      *s   = (PC_Spike *)pc->data;
  PCSpikeGather *g   = &s->gather;
  PetscBool    reuse = (PetscBool)(s->built && pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN), aij, same, device;
  PetscMemType memtype;

  PetscFunctionBegin;
  if (!g->least) PetscFunctionReturn(PETSC_SUCCESS);
  if (first) {
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATMPIAIJ, &aij));
    if (aij == (PetscBool)(g->P != NULL)) reuse = PETSC_FALSE;
    if (g->P) { /* the copy is to be where its matrix is now */
      PetscCall(PCSpikeOnDevice_Private(pc, &device));
      PetscCall(SpikeMatGetMemType(g->P, &memtype));
      if (PetscMemTypeHost(memtype) == device) reuse = PETSC_FALSE;
    }
    PetscCall(PCFactoredAgree_Private(pc, &reuse));
    if (reuse) PetscCall(SpikeGatherMatrix_Private(pc, &reuse));
    if (!reuse) {
      s->built = PETSC_FALSE;
      PetscCall(PCSpikeGatherReset_Private(pc));
    }
  } else if (g->leaves) {
    PetscCall(PCSpikeGatherReset_Private(pc));
  } else if (g->again) {
    const PetscInt least = g->least;

    PetscCall(PCSpikeGatherReset_Private(pc));
    g->least = least;
    PetscCall(SpikeGatherMatrix_Private(pc, &same));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- M^-1 x for vectors of Pmat, by `apply` for those of A */
PetscErrorCode PCSpikeGatherApply_Private(PC pc, PetscErrorCode (*apply)(PC, PetscBool, Vec, Vec), PetscBool trans,
                                          Vec x, Vec y)
{
  PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;
  PetscBool      entered;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(VecScatterBegin(g->scatter, x, g->b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(g->scatter, x, g->b, INSERT_VALUES, SCATTER_FORWARD));
  entered = PCSpikeGatherEnter_Private(pc);
  ierr    = (*apply)(pc, trans, g->b, g->x);
  PCSpikeGatherLeave_Private(pc, entered);
  PetscCall(ierr);
  PetscCall(VecScatterBegin(g->scatter, g->x, y, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(g->scatter, g->x, y, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecFlag(y, !((PC_Spike *)pc->data)->numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeGatherView_Private(PC pc, PetscViewer viewer)
{
  const PCSpikeGather *g = &((PC_Spike *)pc->data)->gather;

  PetscFunctionBegin;
  if (g->A)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  rows of %" PetscInt_FMT " ranks gathered on %" PetscInt_FMT
                                     ": each needs as many as a half-bandwidth\n",
                                     g->owners[0], g->owners[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
