/* SPDX-License-Identifier: BSD-2-Clause */
/* persistent_stencil.cu: iterations of CG and BiCGStab in one cooperative launch by a stencil */
#include "persistent.cuh"
#include "persistent_stencil.cuh"

PetscErrorCode SpikePersistentStencil_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                           const SpikeKrylovIterations *i, PetscInt its, const PetscInt parts[],
                                           bool *fits)
{
  SpikePersistentStencilRows rows;

  PetscFunctionBegin;
  SpikePersistentStencilTake(c->stencil, i->n, &rows, fits);
  if (*fits) PetscCall(SpikePersistentRows(h, rows, i, its, parts, fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}
