/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.c: tables and structure of matrices by diagonals, on the host, for all backends */
#include "dia.h"

/* The extents are those of diagonals that stay within the rank, until SpikeDIASetExtents() */
PetscErrorCode SpikeDIACreate(const SpikeDIAKernels *k, PetscInt n, PetscInt m, PetscInt count, const PetscInt offset[],
                              SpikeDIA *A)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->k     = k;
  A->n     = n;
  A->m     = m;
  A->count = count;
  A->iend  = n;
  PetscCall(PetscCalloc5(count, &A->offset, count, &A->first, count, &A->last, count, &A->below, count, &A->above));
  for (PetscInt d = 0; d < count; d++) {
    A->offset[d] = offset[d];
    A->first[d]  = PetscMin(n, PetscMax(0, -offset[d]));
    A->last[d]   = PetscMax(A->first[d], (PetscInt)PetscMin((PetscInt64)n, (PetscInt64)m - offset[d]));
  }
  PetscCall((*k->create)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in which each diagonal has entries, and the rows between which none is in a column of another rank */
PetscErrorCode SpikeDIASetExtents(SpikeDIA *A, const PetscInt first[], const PetscInt last[])
{
  PetscFunctionBegin;
  A->ibegin = 0;
  A->iend   = A->n;
  for (PetscInt d = 0; d < A->count; d++) {
    PetscInt low, own, above, high;

    A->first[d] = first[d];
    A->last[d]  = last[d];
    SpikeDIAOwnRows(A, d, 0, A->n, &low, &own, &above, &high);
    if (low < own) A->ibegin = PetscMax(A->ibegin, own);
    if (above < high) A->iend = PetscMin(A->iend, above);
  }
  A->ibegin = PetscMin(A->n, (A->ibegin + SPIKE_DIA_ROWS - 1) / SPIKE_DIA_ROWS * SPIKE_DIA_ROWS);
  if (A->iend < A->n) A->iend -= A->iend % SPIKE_DIA_ROWS;
  A->iend = PetscMax(A->iend, A->ibegin);
  if (A->k->tables) PetscCall((*A->k->tables)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where columns of others lie in ghost[]: runs in ascending order that together hold all which the extents reach; each
  diagonal is within one run below and one above
*/
PetscErrorCode SpikeDIASetGhosts(SpikeDIA *A, PetscInt nruns, const SpikeDIARun runs[])
{
  PetscFunctionBegin;
  A->nghost = 0;
  for (PetscInt k = 0; k < nruns; k++) A->nghost += runs[k].length;
  for (PetscInt d = 0; d < A->count; d++) {
    PetscInt low, own, above, high;

    SpikeDIAOwnRows(A, d, 0, A->n, &low, &own, &above, &high);
    for (PetscInt k = 0; k < nruns; k++) {
      const PetscInt begin = runs[k].first, end = begin + runs[k].length;

      if (low < own && begin <= low + A->offset[d] && low + A->offset[d] < end) A->below[d] = runs[k].at - begin;
      if (above < high && begin <= above + A->offset[d] && above + A->offset[d] < end) A->above[d] = runs[k].at - begin;
    }
  }
  if (A->k->tables) PetscCall((*A->k->tables)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIADestroy(SpikeDIA *A)
{
  PetscFunctionBegin;
  if (A->k) PetscCall((*A->k->destroy)(A));
  PetscCall(PetscFree5(A->offset, A->first, A->last, A->below, A->above));
  PetscCall(PetscMemzero(A, sizeof(*A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the columns of m entries are those of the row before, shifted by one: most rows of a stencil are like others
*/
static inline PetscBool SpikeDIALikeBefore(const SpikeCSR *A, PetscInt i)
{
  const PetscInt  m      = A->ai[i + 1] - A->ai[i];
  const PetscInt *aj     = A->aj + A->ai[i];
  PetscInt        differ = 0;

  if (!i || A->colmap || m != A->ai[i] - A->ai[i - 1]) return PETSC_FALSE;
  for (PetscInt k = 0; k < m; k++) differ |= (aj[k] - 1) ^ aj[k - m];
  return (PetscBool)!differ;
}

void SpikeDIAOffsets(PetscInt n, PetscInt nparts, const SpikeCSR parts[], PetscInt most, PetscInt *count,
                     PetscInt offset[])
{
  *count = 0;
  for (PetscInt p = 0; p < nparts; p++) {
    const SpikeCSR *A = &parts[p];
    PetscInt        d = -1;

    for (PetscInt i = 0; i < n; i++) {
      if (SpikeDIALikeBefore(A, i)) continue;
      for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
        const PetscInt wanted = SpikeCSRColumn(A, k) - i;
        PetscInt       at     = SpikeDIAFind(*count, offset, d, wanted);

        if (at == *count) {
          if (*count == most) {
            *count = most + 1;
            return;
          }
          while (at > 0 && offset[at - 1] > wanted) {
            offset[at] = offset[at - 1];
            at--;
          }
          offset[at] = wanted;
          ++*count;
        }
        d = at;
      }
    }
  }
}
