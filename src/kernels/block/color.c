/* SPDX-License-Identifier: BSD-2-Clause */
/* color.c: multicolor orderings of blocks, on the host for all backends */
#include "block.h"

PetscErrorCode SpikeBlockMulticolor(PetscInt nb, PetscInt ntasks, const PetscInt start[], const PetscInt bi[],
                                    const PetscInt bj[], PetscInt newrow[], PetscInt *ncolors)
{
  PetscInt      *ti, *tj, *color = NULL, *taken = NULL, *first = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = SpikeBlockTransposePattern(nb, nb, bi, bj, &ti, &tj, NULL);
  if (!ierr) ierr = PetscMalloc3(nb, &color, nb + 1, &taken, nb + 2, &first);
  if (ierr) { /* with debugging PetscMalloc3() makes three allocations, some of which may be there */
    PetscCall(PetscFree3(color, taken, first));
    PetscCall(PetscFree(ti));
    PetscCall(PetscFree(tj));
  }
  PetscCall(ierr);
  for (PetscInt i = 0; i <= nb; i++) taken[i] = -1;
  for (PetscInt i = 0; i < nb; i++) color[i] = -1;
  *ncolors = 0;
  for (PetscInt t = 0; t < ntasks; t++) {
    PetscInt n = 0;

    for (PetscInt i = start[t]; i < start[t + 1]; i++) {
      PetscInt c = 0;

      /* color -1 of those that have none yet, of other tasks too, is not looked at */
      for (PetscInt side = 0; side < 2; side++) {
        const PetscInt *ri = side ? ti : bi, *rj = side ? tj : bj;

        for (PetscInt k = ri[i]; k < ri[i + 1]; k++) {
          if (rj[k] >= start[t] && rj[k] < start[t + 1] && color[rj[k]] >= 0) taken[color[rj[k]]] = i;
        }
      }
      while (taken[c] == i) c++;
      color[i] = c;
      n        = PetscMax(n, c + 1);
    }
    PetscCall(PetscArrayzero(first, n + 1));
    for (PetscInt i = start[t]; i < start[t + 1]; i++) first[color[i] + 1]++;
    for (PetscInt c = 0; c < n; c++) first[c + 1] += first[c];
    for (PetscInt i = start[t]; i < start[t + 1]; i++) newrow[i] = start[t] + first[color[i]]++;
    *ncolors = PetscMax(*ncolors, n);
  }
  PetscCall(PetscFree3(color, taken, first));
  PetscCall(PetscFree(ti));
  PetscCall(PetscFree(tj));
  PetscFunctionReturn(PETSC_SUCCESS);
}
