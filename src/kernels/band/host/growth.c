/* SPDX-License-Identifier: BSD-2-Clause */
/* growth.c: the host's look at the size of the factors */
#include "host.h"

PetscErrorCode SpikeGrowth_Host(SpikeBand *s, PetscReal *largest)
{
  const SpikeHost *h = (const SpikeHost *)s->data;
  PetscInt         panel, ku; /* of U */

  PetscFunctionBegin;
  *largest = -1.0;
  if (!h->first) PetscFunctionReturn(PETSC_SUCCESS); /* systems have no U of a common form */
  *largest = 0.0;
  panel    = h->ops->panel ? h->ops->panel(s->kl, s->ku) : 0;
  ku       = panel ? s->ku + s->kl : h->fu;
  for (PetscInt p = 0; p < s->np; p++) {
    const PetscInt n = s->start[p + 1] - s->start[p];
    const void    *a = SpikeHostBlock(h, p);

    for (PetscInt j = 0; j < n; j++) {
      /* of D L^H the pivots: A is positive definite, and no entry of U is above the largest of its diagonal */
      for (PetscInt i = PetscMax(0, j - ku); i <= j; i++) {
        const PetscCount at  = panel ? SpikePivotedIndex(s->kl, s->ku, panel, i, j)
                                     : SpikeBandIndex(n, s->kl, h->fu, h->ops->size, i, j);
        const PetscReal  abs = PetscAbsScalar(SpikeHostGet(s->precision, a, at)),
                        u    = i < j ? abs : (abs > 0.0 ? 1.0 / abs : PETSC_MAX_REAL); /* inverses of pivots */

        if (!(u <= *largest)) *largest = PetscIsInfOrNanReal(u) ? PETSC_MAX_REAL : u;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
