/* SPDX-License-Identifier: BSD-2-Clause */
/* growth.c: the host's look at the size of the factors */
#include "host.h"

PetscErrorCode SpikeGrowth_Host(SpikeBand *s, PetscReal *largest)
{
  const SpikeHost *h = (const SpikeHost *)s->data;

  PetscFunctionBegin;
  *largest = -1.0;
  if (!h->first) PetscFunctionReturn(PETSC_SUCCESS); /* systems have no U of a common form */
  *largest = 0.0;
  for (PetscInt p = 0; p < s->np; p++) {
    const PetscInt n = s->start[p + 1] - s->start[p];
    const void    *a = SpikeHostBlock(h, p);

    for (PetscInt j = 0; j < n; j++) {
      /* of D L^H the pivots: A is positive definite, and no entry of U is above the largest of its diagonal */
      for (PetscInt i = PetscMax(0, j - h->fu); i <= j; i++) {
        const PetscCount at  = SpikeBandIndex(n, s->kl, h->fu, h->ops->size, i, j);
        const PetscReal  abs = PetscAbsScalar(SpikeHostGet(s->precision, a, at)),
                        u    = i < j ? abs : (abs > 0.0 ? 1.0 / abs : PETSC_MAX_REAL); /* inverses of pivots */

        if (!(u <= *largest)) *largest = PetscIsInfOrNanReal(u) ? PETSC_MAX_REAL : u;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
