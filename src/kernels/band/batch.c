/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: a batch of systems in the place of a band, for all backends: its shape is that of the band */
#include "band.h"

PetscErrorCode SpikeBatchShape(const SpikeBand *s, SpikeBatch *t)
{
  PetscFunctionBegin;
  t->nsys     = s->nbatch;
  t->start    = s->batch;
  t->kl       = s->kl;
  t->ku       = s->ku;
  t->pivoting = s->pivoting;
  t->stream   = s->stream;
  t->k        = s->k->batch;
  t->parts    = 1;
  if (t->k->parts && !s->whole) PetscCall((*t->k->parts)(t, &t->parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchCreateSystems(const SpikeBand *s, SpikeBatch **t)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(t));
  PetscCall(SpikeBatchShape(s, *t));
  PetscCall((*(*t)->k->create)(*t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchDestroySystems(SpikeBatch **t)
{
  PetscFunctionBegin;
  if (*t && (*t)->k) PetscCall((*(*t)->k->destroy)(*t));
  PetscCall(PetscFree(*t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchBytesSystems(const SpikeBand *s, PetscReal *matrix, PetscReal *rest)
{
  SpikeBatch t = {0};

  PetscFunctionBegin;
  PetscCall(SpikeBatchShape(s, &t));
  PetscCall((*t.k->bytes)(&t, matrix, rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}
