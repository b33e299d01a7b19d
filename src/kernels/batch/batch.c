/* SPDX-License-Identifier: BSD-2-Clause */
/* batch.c: groups of systems, on the host, for all backends */
#include "batch.h"

/*
  order[] <- systems by length, longest first, those of one length in their order: counting, in time of the number of
  systems and of the longest length
*/
static PetscErrorCode SpikeBatchSort_Private(const SpikeBatch *t, PetscInt *order)
{
  PetscInt  longest = 0, *first;
  PetscBool equal   = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt q = 0; q < t->nsys; q++) {
    const PetscInt n = t->start[q + 1] - t->start[q];

    if (q && n != longest) equal = PETSC_FALSE;
    longest  = PetscMax(longest, n);
    order[q] = q;
  }
  if (equal) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1((PetscCount)longest + 2, &first)); /* [longest - n]: systems that are longer than n */
  for (PetscInt q = 0; q < t->nsys; q++) first[longest - (t->start[q + 1] - t->start[q]) + 1]++;
  for (PetscInt k = 0; k <= longest; k++) first[k + 1] += first[k];
  for (PetscInt q = 0; q < t->nsys; q++) order[first[longest - (t->start[q + 1] - t->start[q])]++] = q;
  PetscCall(PetscFree(first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchPadded(const SpikeBatch *t, PetscInt lanes, PetscCount *rows)
{
  PetscInt      *order;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *rows = 0;
  PetscCall(PetscMalloc1(t->nsys, &order));
  ierr = SpikeBatchSort_Private(t, order);
  for (PetscInt q = 0; q < t->nsys && !ierr; q += lanes)
    *rows += (PetscCount)lanes * (t->start[order[q] + 1] - t->start[order[q]]);
  PetscCall(PetscFree(order));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Padded rows cost what others do: at most a half of the rows */
PetscErrorCode SpikeBatchPays(const SpikeBatch *t, PetscBool *pays)
{
  PetscCount rows;

  PetscFunctionBegin;
  *pays = (PetscBool)(t->nsys >= t->k->least && PetscMax(t->kl, t->ku) <= t->k->widest[t->pivoting]);
  if (!*pays) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeBatchPadded(t, t->k->lanes, &rows));
  *pays = (PetscBool)(2.0 * rows <= 3.0 * t->start[t->nsys]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchLayout(SpikeBatch *t, PetscInt lanes)
{
  PetscFunctionBegin;
  t->lanes   = lanes;
  t->width   = SpikeBatchWidth(t);
  t->ngroups = t->nsys / lanes + (t->nsys % lanes ? 1 : 0);
  PetscCall(
    PetscMalloc4(t->ngroups * lanes, &t->system, t->ngroups, &t->rows, t->ngroups + 1, &t->off, t->nsys, &t->place));
  PetscCall(SpikeBatchSort_Private(t, t->system));
  for (PetscInt k = t->nsys; k < t->ngroups * lanes; k++) t->system[k] = -1;
  t->off[0] = 0;
  for (PetscInt g = 0; g < t->ngroups; g++) {
    const PetscInt *q = t->system + g * lanes;

    t->rows[g]    = t->start[q[0] + 1] - t->start[q[0]];
    t->off[g + 1] = t->off[g] + (PetscCount)t->rows[g] * t->width * lanes;
    for (PetscInt l = 0; l < lanes; l++)
      if (q[l] >= 0) t->place[q[l]] = t->off[g] + l;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchLayoutDestroy(SpikeBatch *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(t->system, t->rows, t->off, t->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}
