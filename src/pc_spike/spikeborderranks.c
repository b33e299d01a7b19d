/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeborderranks.c: what ranks tell each other of a border: entries of E, sums */
#include "spikeimpl.h"

PetscErrorCode PCSpikeBorderRanksReset_Private(PC pc)
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;

  PetscFunctionBegin;
  PetscCall(PetscFree(d->local));
  PetscCall(PetscFree(d->ghost));
  PetscCall(PetscFree(d->counts));
  PetscCall(PetscFree(d->pairs));
  PetscCall(PetscFree2(d->sendto, d->into));
  PetscCall(PetscFree2(d->sent, d->received));
  PetscCall(PetscSFDestroy(&d->sf));
  d->nsend = d->nrecv = d->first = d->own = d->n = 0;
  d->across                                      = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rows of the border are this rank's */
PetscErrorCode PCSpikeBorderOwn_Private(PC pc, Mat A)
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  d->across = (PetscBool)(size > 1);
  d->n      = A->rmap->n;
  d->first = d->own = 0;
  for (PetscInt k = 0; k < d->m; k++) {
    if (d->rows[k] < A->rmap->rstart) d->first++;
    else if (d->rows[k] < A->rmap->rend) d->own++;
  }
  PetscCall(PetscMalloc1(d->own, &d->local));
  for (PetscInt k = 0; k < d->own; k++) d->local[k] = d->rows[d->first + k] - A->rmap->rstart;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ghost: what the columns of the off-diagonal block are. Columns of T are those of A less the rows of the ranks before
  whose rows are all in the border. *start: the first row of T on this rank
*/
PetscErrorCode PCSpikeBorderGhosts_Private(PC pc, Mat A, PetscInt *start)
{
  PCSpikeBorder  *d = &((PC_Spike *)pc->data)->border;
  const PetscInt *range, *garray;
  PetscInt        ncols, c = 0, k = 0, without = 0;
  PetscMPIInt     size, rank;
  Mat             Ao;

  PetscFunctionBegin;
  *start = 0;
  if (!d->across) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, &garray));
  PetscCall(MatGetSize(Ao, NULL, &ncols));
  PetscCall(MatGetOwnershipRanges(A, &range));
  PetscCall(PetscMalloc1(ncols, &d->ghost));
  for (PetscMPIInt r = 0; r < size; r++) { /* columns and rows of the border ascend */
    const PetscInt begin = k;

    if (r == rank) *start = range[r] - without;
    for (; c < ncols && garray[c] < range[r + 1]; c++) {
      while (k < d->m && d->rows[k] < garray[c]) k++;
      d->ghost[c] = k < d->m && d->rows[k] == garray[c] ? -1 - k : garray[c] - without;
    }
    while (k < d->m && d->rows[k] < range[r + 1]) k++;
    if (k - begin == range[r + 1] - range[r]) without += k - begin;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Which entries of E have columns of other ranks: from this rank, which owns their rows, to those, in the order of
  ranks. pairs[2 * nsend ...] <- row of the border and local column of those that this rank receives
*/
PetscErrorCode PCSpikeBorderSends_Private(PC pc, Mat A, const SpikeCSR *Ao)
{
  PCSpikeBorder  *d    = &((PC_Spike *)pc->data)->border;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);
  const PetscInt *range;
  PetscInt64      total[2] = {0, 0};
  PetscMPIInt     size, *count[2], *place[2], *next;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(A, &range));
  PetscCall(PetscCalloc1(5 * (PetscCount)size, &d->counts));
  for (int way = 0; way < 2; way++) {
    count[way] = d->counts + 2 * way * size;
    place[way] = count[way] + size;
  }
  next = d->counts + 4 * size;
  for (int pass = 0; pass < 2; pass++) {
    PetscInt q = 0;

    for (PetscInt k = 0; k < d->own; k++) {
      PetscMPIInt r = 0;

      for (PetscInt e = Ao->ai[d->local[k]]; e < Ao->ai[d->local[k] + 1]; e++) {
        const PetscInt j = Ao->colmap[Ao->aj[e]];

        if (d->ghost[Ao->aj[e]] < 0) continue;
        if (j < range[r]) r = 0;
        while (j >= range[r + 1]) r++;
        if (!pass) count[0][r]++;
        else {
          const PetscInt to = next[r]++;

          d->sendto[q++]       = to;
          d->pairs[2 * to]     = d->first + k;
          d->pairs[2 * to + 1] = j - range[r];
        }
      }
    }
    if (pass) break;
    PetscCallMPI(MPI_Alltoall(count[0], 1, MPI_INT, count[1], 1, MPI_INT, comm));
    for (int way = 0; way < 2; way++)
      for (PetscMPIInt r = 0; r < size; r++) {
        PetscCall(PetscMPIIntCast(total[way], &place[way][r]));
        if (!way) next[r] = place[0][r];
        total[way] += count[way][r];
      }
    PetscCall(PetscIntCast(total[0], &d->nsend));
    PetscCall(PetscIntCast(total[1], &d->nrecv));
    PetscCall(PetscMalloc2(d->nsend, &d->sendto, d->nrecv, &d->into));
    PetscCall(PetscMalloc2(d->nsend, &d->sent, d->nrecv, &d->received));
    PetscCall(PetscMalloc1(2 * ((PetscCount)d->nsend + d->nrecv), &d->pairs));
  }
  PetscCallMPI(MPI_Alltoallv(d->pairs, count[0], place[0], MPIU_2INT, d->pairs + 2 * (PetscCount)d->nsend, count[1],
                             place[1], MPIU_2INT, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the fill of this rank has left in sent goes to E of the ranks that own the columns; collective */
PetscErrorCode PCSpikeBorderReceived_Private(PC pc)
{
  PCSpikeBorder *d    = &((PC_Spike *)pc->data)->border;
  MPI_Comm       comm = PetscObjectComm((PetscObject)pc);
  PetscMPIInt    size;

  PetscFunctionBegin;
  if (!d->across) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Alltoallv(d->sent, d->counts, d->counts + size, MPIU_SCALAR, d->received, d->counts + 2 * size,
                             d->counts + 3 * size, MPIU_SCALAR, comm));
  for (PetscInt q = 0; q < d->nrecv; q++) d->e[d->into[q]] = d->received[q];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G, which this rank has in rows of its own, on all ranks; *most, norm and badrow of all */
PetscErrorCode PCSpikeBorderSumValues_Private(PC pc, PetscReal *most)
{
  PCSpikeBorder *d    = &((PC_Spike *)pc->data)->border;
  MPI_Comm       comm = PetscObjectComm((PetscObject)pc);
  PetscReal      max[2];
  PetscMPIInt    count;

  PetscFunctionBegin;
  if (!d->across) PetscFunctionReturn(PETSC_SUCCESS);
  max[0] = *most;
  max[1] = d->norm;
  PetscCall(PetscMPIIntCast(d->m * d->m, &count));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, d->g, count, MPIU_SCALAR, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 2, MPIU_REAL, MPIU_MAX, comm));
  *most   = max[0];
  d->norm = max[1];
  PetscCall(PCSpikeBorderFirst_Private(pc, &d->badrow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first of the rows that ranks have, -1 where none has one; collective */
PetscErrorCode PCSpikeBorderFirst_Private(PC pc, PetscInt *row)
{
  PetscInt least = *row < 0 ? PETSC_INT_MAX : *row;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &least, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
  *row = least == PETSC_INT_MAX ? -1 : least;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  On several ranks w has the products of this rank's columns, and y this rank's rows of the right-hand side. w <- those
  of all ranks less the products of all: one reduction, over the host, whose result is the same on all ranks
*/
PetscErrorCode PCSpikeBorderSum_Private(PC pc, PetscInt nrhs)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  PCSpikeBorder  *d    = &s->border;
  SpikeBand      *b    = &s->band;
  const PetscBool host = PetscMemTypeHost(b->k->memtype) ? PETSC_TRUE : PETSC_FALSE;
  const size_t    used = (size_t)nrhs * d->m * sizeof(PetscScalar), apart = (size_t)b->maxrhs * d->m;
  PetscScalar    *w = host ? d->w : d->host, *y = w + (host ? apart : (size_t)nrhs * d->m);
  PetscMPIInt     count;

  PetscFunctionBegin;
  if (!d->across) PetscFunctionReturn(PETSC_SUCCESS);
  if (!host)
    PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, w, used, d->w, apart * sizeof(PetscScalar), used, 2));
  for (PetscInt c = 0; c < nrhs; c++)
    for (PetscInt k = 0; k < d->m; k++) {
      const PetscBool mine = (PetscBool)(k >= d->first && k < d->first + d->own);

      w[k + c * d->m] = (mine ? y[k - d->first + c * d->m] : 0.0) - w[k + c * d->m];
    }
  PetscCall(PetscMPIIntCast((PetscCount)nrhs * d->m, &count));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, w, count, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  if (!host) PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, d->w, used, w, used, used, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
