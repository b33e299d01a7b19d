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
  const PetscInt each = lanes / SpikeBatchParts(t); /* systems of a group */
  PetscInt      *order;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *rows = 0;
  PetscCall(PetscMalloc1(t->nsys, &order));
  ierr = SpikeBatchSort_Private(t, order);
  for (PetscInt q = 0; q < t->nsys && !ierr; q += each) {
    PetscInt most = 0; /* the first piece of a system is its longest */

    for (PetscInt k = q; k < PetscMin(q + each, t->nsys); k++)
      most = PetscMax(most, SpikeBatchPieceBegin(t, t->start[order[k] + 1] - t->start[order[k]], 1));
    *rows += (PetscCount)lanes * most;
  }
  PetscCall(PetscFree(order));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Padded rows cost what others do: at most a half of the rows, but for the lanes of the last group, where systems that
  are too few for a lane each share it
*/
PetscErrorCode SpikeBatchPays(const SpikeBatch *t, PetscBool *pays)
{
  PetscCount rows, idle = 0;

  PetscFunctionBegin;
  *pays = (PetscBool)((t->nsys >= t->k->least || SpikeBatchParts(t) > 1) &&
                      PetscMax(t->kl, t->ku) <= t->k->widest[t->pivoting]);
  if (!*pays) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeBatchPadded(t, t->k->lanes, &rows));
  for (PetscInt q = 0; q < t->nsys && SpikeBatchParts(t) > 1; q++)
    idle = PetscMax(idle, t->k->lanes * SpikeBatchPieceBegin(t, t->start[q + 1] - t->start[q], 1));
  *pays = (PetscBool)(2.0 * rows <= 3.0 * (t->start[t->nsys] + idle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchLayout(SpikeBatch *t, PetscInt lanes)
{
  const PetscInt parts = SpikeBatchParts(t), each = lanes / parts; /* systems of a group */
  PetscInt      *order;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  t->lanes   = lanes;
  t->width   = SpikeBatchWidth(t);
  t->ngroups = t->nsys / each + (t->nsys % each ? 1 : 0);
  PetscCall(PetscMalloc6(t->ngroups * lanes, &t->system, t->ngroups * lanes, &t->first, t->ngroups * lanes, &t->len,
                         t->ngroups, &t->rows, t->ngroups + 1, &t->off, t->nsys, &t->place));
  PetscCall(PetscMalloc1(t->nsys, &order));
  ierr      = SpikeBatchSort_Private(t, order);
  t->off[0] = 0;
  for (PetscInt g = 0; g < t->ngroups && !ierr; g++) {
    t->rows[g] = 0;
    for (PetscInt l = 0; l < lanes; l++) {
      const PetscInt k = g * each + l / parts, q = k < t->nsys ? order[k] : -1, p = l % parts,
                     n     = q < 0 ? 0 : t->start[q + 1] - t->start[q];
      const PetscInt begin = SpikeBatchPieceBegin(t, n, p), end = SpikeBatchPieceBegin(t, n, p + 1);

      t->system[g * lanes + l] = q;
      t->first[g * lanes + l]  = q < 0 ? 0 : t->start[q] + begin;
      t->len[g * lanes + l]    = end - begin;
      t->rows[g]               = PetscMax(t->rows[g], end - begin);
      if (q >= 0 && !p) t->place[q] = t->off[g] + l;
    }
    t->off[g + 1] = t->off[g] + (PetscCount)t->rows[g] * t->width * lanes;
  }
  PetscCall(PetscFree(order));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBatchLayoutDestroy(SpikeBatch *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(t->system, t->first, t->len, t->rows, t->off, t->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}
