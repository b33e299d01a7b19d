/* SPDX-License-Identifier: BSD-2-Clause */
/* spikelayout.c: which rows and columns of the matrix stand where in the band, its border and its partitions */
#include "spikeimpl.h"

/* The inverse of places on this rank, as global numbers */
static PetscErrorCode SpikeCreatePlaced_Private(PC pc, PetscInt n, const PetscInt place[], const PetscInt before[],
                                                IS *is)
{
  const PetscInt rstart = pc->pmat->rmap->rstart;
  PetscInt      *rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &rows));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt k = before ? before[i] : i;

    rows[place ? place[k] : k] = rstart + i;
  }
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)pc), n, rows, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeGetOrdering_Private(PC pc, IS *rows, IS *columns, IS *border, IS *starts)
{
  PC_Spike      *s    = (PC_Spike *)pc->data;
  MPI_Comm       comm = PetscObjectComm((PetscObject)pc);
  const PetscInt n    = pc->pmat ? pc->pmat->rmap->n : 0;

  PetscFunctionBegin;
  PetscCheck(pc->setupcalled, comm, PETSC_ERR_ARG_WRONGSTATE, "Must call PCSetUp() first");
  PetscCall(PCSpikeLinesFetch_Private(pc));
  /* the matching takes row i of the matrix to row col[i], and the ordering row k to place newrow[k] */
  if (rows) PetscCall(SpikeCreatePlaced_Private(pc, n, s->newrow, s->matching.active ? s->matching.col : NULL, rows));
  if (columns) PetscCall(SpikeCreatePlaced_Private(pc, n, s->newrow, NULL, columns));
  if (border) {
    const PetscInt own = s->border.T ? s->border.own : 0;

    PetscCall(ISCreateGeneral(comm, own, own ? s->border.rows + s->border.first : NULL, PETSC_COPY_VALUES, border));
  }
  if (starts) {
    const PetscInt np = s->band.start && s->band.n ? s->band.np : 0;
    PetscInt      *first;

    PetscCall(PetscMalloc1(np, &first));
    for (PetscInt p = 0; p < np; p++) first[p] = pc->pmat->rmap->rstart + s->band.start[p];
    PetscCall(ISCreateGeneral(comm, np, first, PETSC_OWN_POINTER, starts));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetOrdering_Spike(PC pc, IS *rows, IS *columns, IS *border, IS *starts)
{
  PetscBool      entered;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  entered = PCSpikeGatherEnter_Private(pc);
  ierr    = SpikeGetOrdering_Private(pc, rows, columns, border, starts);
  PCSpikeGatherLeave_Private(pc, entered);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetOrdering - Which rows and columns of the matrix stand where in the band of the last setup, and where its
  partitions begin

  Collective

  Input Parameter:
. pc - the preconditioner context, set up

  Output Parameters:
+ rows    - row k of the band is this row of the matrix, or `NULL`
. columns - column k of the band is this column of the matrix, or `NULL`
. border  - rows and columns of the matrix that are solved by a dense system, ascending, or `NULL`
- starts  - the first rows of the partitions in the band, ascending, or `NULL`

  Level: advanced

  Notes:
  Each rank has its own part of the index sets, in global numbers; they are the caller's, who destroys them. Places are
  those among all rows of the rank: `MatPermute()` with `rows` and `columns` shows the band. The rows of a border keep
  places there, where the band has a diagonal entry alone.

  Where a rank owns fewer rows than the half-bandwidth, rows of neighbouring ranks are factored on one of them, which
  has their part of the index sets.

  Rows and columns differ where rows are permuted for large entries on the diagonal (`PCSpikeSetMatchingType()`). The
  scales are not among the results.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetInfo()`, `PCSpikeSetMaxBorder()`, `PCSpikeSetLocalPartitions()`,
`PCFactorSetMatOrderingType()`, `MatPermute()`
@*/
PetscErrorCode PCSpikeGetOrdering(PC pc, IS *rows, IS *columns, IS *border, IS *starts)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (rows) PetscAssertPointer(rows, 2);
  if (columns) PetscAssertPointer(columns, 3);
  if (border) PetscAssertPointer(border, 4);
  if (starts) PetscAssertPointer(starts, 5);
  PetscUseMethod(pc, "PCSpikeGetOrdering_C", (PC, IS *, IS *, IS *, IS *), (pc, rows, columns, border, starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeLayoutMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeGetOrdering_C", PCSpikeGetOrdering_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
