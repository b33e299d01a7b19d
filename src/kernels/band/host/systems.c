/* SPDX-License-Identifier: BSD-2-Clause */
/*
  systems.c: partitions of half-bandwidth 1 on the host: D^-1 by the kernels of tridiagonal.h, each partition being one
  or many systems
*/
#include "host.h"
#include "kernels/common/host/memory.h"

#define SPIKE_TRI_COLUMNS 8 /* of an apply at a time */

PetscErrorCode SpikeTriCreateSystems_Host(SpikeBand *s)
{
  SpikeHost *h = (SpikeHost *)s->data;
  PetscInt   i = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(s->n, &h->dl, s->n, &h->d, s->n, &h->du)); /* fills begin with zeros */
  SpikeLargePages_Host(h->dl, (size_t)s->n * sizeof(*h->dl));
  SpikeLargePages_Host(h->d, (size_t)s->n * sizeof(*h->d));
  SpikeLargePages_Host(h->du, (size_t)s->n * sizeof(*h->du));
  PetscCall(PetscCalloc1(s->np, &h->tri));
  PetscCall(PetscMalloc1(s->nsystems + s->np, &h->tristart));
  if (s->nsystems > s->np) PetscCall(PetscCalloc1(s->n, &h->begins));
  for (PetscInt p = 0, at = 0; p < s->np; p++) {
    SpikeTridiagonal *t = &h->tri[p];

    t->start       = h->tristart + at;
    t->type        = s->tridiagonal;
    t->pivoting    = s->pivoting;
    t->switchpoint = PETSC_DECIDE;
    t->chunk       = PETSC_DECIDE;
    t->longest     = PETSC_DECIDE;
    t->maxrhs      = SPIKE_TRI_COLUMNS;
    t->k           = &SpikeTridiagonalKernels_Host;
    for (h->tristart[at++] = 0; i < s->nsystems && s->systems[i] < s->start[p + 1]; i++) {
      if (h->begins) h->begins[s->systems[i]] = PETSC_TRUE;
      h->tristart[at++] = s->systems[i + 1] - s->start[p];
      t->nsys++;
    }
    PetscCall((*t->k->create)(t));
  }
  s->used  = h->tri[0].used;
  s->local = h->tri[0].local;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriDestroySystems_Host(SpikeBand *s)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  for (PetscInt p = 0; h->tri && p < s->np; p++) {
    if (h->tri[p].k) PetscCall((*h->tri[p].k->destroy)(&h->tri[p]));
  }
  PetscCall(PetscFree3(h->dl, h->d, h->du));
  PetscCall(PetscFree(h->tri));
  PetscCall(PetscFree(h->tristart));
  PetscCall(PetscFree(h->begins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the matrix, and of the rest; before create() the factors of THOMAS stand for those of any type */
PetscErrorCode SpikeTriBytesSystems_Host(const SpikeBand *s, PetscReal *matrix, PetscReal *rest)
{
  const SpikeHost *h = (const SpikeHost *)s->data;

  PetscFunctionBegin;
  *matrix = 3.0 * sizeof(PetscScalar) * s->n;
  *rest   = sizeof(PetscInt) * (s->nsystems + s->np) + sizeof(SpikeTridiagonal) * (PetscReal)s->np +
          (s->nsystems > s->np ? sizeof(PetscBool) * (PetscReal)s->n : 0.0);
  if (!h) *rest += 3.0 * sizeof(PetscScalar) * s->n;
  for (PetscInt p = 0; h && p < s->np; p++) {
    PetscReal bytes;

    PetscCall((*h->tri[p].k->bytes)(&h->tri[p], &bytes));
    *rest += bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriFactorSystems_Host(SpikeBand *s, SpikePivot *pivot)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  for (PetscInt p = 0; p < s->np; p++) {
    const PetscInt lo = s->start[p];
    SpikePivot     pv = *pivot;

    PetscCall((*h->tri[p].k->setup)(&h->tri[p], h->dl + lo, h->d + lo, h->du + lo, &pv));
    pivot->nboost += pv.nboost;
    if (pv.badrow >= 0 && pivot->badrow < 0) {
      pivot->badrow   = lo + pv.badrow;
      pivot->badvalue = pv.badvalue;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
