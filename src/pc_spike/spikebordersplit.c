/* SPDX-License-Identifier: BSD-2-Clause */
/* spikebordersplit.c: later values of a matrix with a border, taken apart where the matrix is */
#include "spikeimpl.h"

/* *to <- count integers where the backend works, in memory of their own */
PetscErrorCode PCSpikeBorderUploadInts_Private(PC pc, PetscInt count, const PetscInt from[], PetscInt **to)
{
  SpikeBand   *b     = &((PC_Spike *)pc->data)->band;
  const size_t bytes = (size_t)count * sizeof(PetscInt);

  PetscFunctionBegin;
  PetscCall((*b->k->alloc)(b, PetscMax(bytes, 1), (void **)to));
  if (bytes) PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, *to, 0, from, 0, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeBorderSplitReset_Private(PC pc)
{
  PC_Spike   *s = (PC_Spike *)pc->data;
  SpikeSplit *p = &s->border.split;

  PetscFunctionBegin;
  if (s->band.k) {
    PetscCall((*s->band.k->release)(&s->band, (void **)&p->to));
    PetscCall((*s->band.k->release)(&s->band, (void **)&p->diagonal));
    PetscCall((*s->band.k->release)(&s->band, &p->scratch));
  }
  s->border.inplace = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether values go where they belong in one pass by the backend: on one rank, because E has entries of other ranks
  otherwise, and without the conjugates that complex numbers need; where places fit into a PetscInt, and the band lies
  where the matrix does
*/
PetscErrorCode PCSpikeBorderSplits_Private(PC pc, Mat A, PetscBool *splits)
{
  const PC_Spike      *s     = (const PC_Spike *)pc->data;
  const PCSpikeBorder *d     = &s->border;
  const PetscReal      nrest = ((PetscReal)d->count + (PetscReal)d->n + (PetscReal)d->m) * (PetscReal)d->m;
  PetscMemType         memtype;

  PetscFunctionBegin;
  PetscCall(SpikeMatGetMemType(A, &memtype));
  *splits = (PetscBool)(!d->across && !PetscDefined(USE_COMPLEX) && d->inv && d->own < d->n &&
                        nrest < (PetscReal)PETSC_INT_MAX && SpikeSplitKernelsFind(s->band.k->memtype) &&
                        (PetscMemTypeHost(s->band.k->memtype) || !PetscMemTypeHost(memtype)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Places of A's entries in T, in E^T, in F by whole columns, and in G, which follow each other; diagonal: of T */
static void SpikeBorderMap_Private(const PCSpikeBorder *d, const SpikeCSR *A, const PetscInt ti[], PetscInt to[],
                                   PetscInt diagonal[])
{
  const PetscInt f = d->count * d->m, g = f + d->n * d->m;

  for (PetscInt i = 0; i < d->n; i++) {
    const PetscInt row  = d->place[i];
    PetscInt       next = ti[i];

    if (row < 0) diagonal[-1 - row] = ti[i];
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
      const PetscInt col = d->place[A->aj[k]];

      if (row >= 0 && col >= 0) to[k] = next++;
      else if (row >= 0) to[k] = -1 - (f + i + (-1 - col) * d->n);
      else if (col < 0) to[k] = -1 - (g + (-1 - row) + (-1 - col) * d->m);
      else to[k] = -1 - (col + (-1 - row) * d->count);
    }
  }
}

/* split of this pattern */
static PetscErrorCode PCSpikeBorderSplitCreate_Private(PC pc, Mat A)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  PCSpikeBorder  *d = &s->border;
  SpikeSplit     *p = &d->split;
  const PetscInt *ti;
  PetscInt       *to, *diagonal;
  size_t          bytes;
  SpikeCSR        part;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderSplitReset_Private(pc));
  PetscCall(SpikeMatSeqAIJGetCSR(A, PETSC_MEMTYPE_HOST, &part));
  PetscCall(MatGetRowIJ(d->T, 0, PETSC_FALSE, PETSC_FALSE, NULL, &ti, NULL, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MATSEQAIJ has no rows");
  p->n       = d->n;
  p->m       = d->m;
  p->entries = part.ai[d->n];
  p->nrest   = (d->count + d->n + d->m) * d->m;
  p->rows    = d->drows;
  PetscCall(PetscMalloc2(p->entries, &to, d->m, &diagonal));
  SpikeBorderMap_Private(d, &part, ti, to, diagonal);
  PetscCall(MatRestoreRowIJ(d->T, 0, PETSC_FALSE, PETSC_FALSE, NULL, &ti, NULL, &done));
  PetscCall(SpikeMatSeqAIJRestoreCSR(A, PETSC_MEMTYPE_HOST, &part));
  bytes = (*SpikeSplitKernelsFind(s->band.k->memtype)->scratch)(d->m);
  if (bytes) PetscCall((*s->band.k->alloc)(&s->band, bytes, &p->scratch));
  PetscCall(PCSpikeBorderUploadInts_Private(pc, d->m, diagonal, (PetscInt **)&p->diagonal));
  PetscCall(PCSpikeBorderUploadInts_Private(pc, p->entries, to, (PetscInt **)&p->to));
  PetscCall(PetscFree2(to, diagonal));
  PetscCall(PetscFree(d->e)); /* nobody takes it apart on the host any more */
  PetscCall(PetscFree2(d->frow, d->f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T, E, F, G, norm and badrow from new values in the same pattern */
PetscErrorCode PCSpikeBorderSplit_Private(PC pc, Mat A)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;
  SpikeBand     *b = &s->band;
  PetscScalar   *band;
  SpikeSplitSeen seen;
  SpikeCSR       part;

  PetscFunctionBegin;
  PetscCall((*b->k->begin)(b));
  if (!d->split.to) PetscCall(PCSpikeBorderSplitCreate_Private(pc, A));
  PetscCall(SpikeMatSeqAIJGetCSR(A, b->k->memtype, &part));
  PetscCall(SpikeMatSeqAIJGetArrayWrite(d->T, b->k->memtype, &band));
  PetscCall((*SpikeSplitKernelsFind(b->k->memtype)->split)(b, &d->split, &part, band, d->E[0], &seen));
  PetscCall(SpikeMatSeqAIJRestoreArrayWrite(d->T, b->k->memtype, &band));
  PetscCall(SpikeMatSeqAIJRestoreCSR(A, b->k->memtype, &part));
  PetscCall((*b->k->end)(b));
  d->norm    = seen.norm;
  d->badrow  = seen.badrow;
  d->inplace = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
