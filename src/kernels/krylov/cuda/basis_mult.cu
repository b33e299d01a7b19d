/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult.cu: who makes a product with the inner products of a basis step in the epilogue */
#include "stencil.cuh"

/*
  With 1, 2, 4 or 8 vectors, narrow ones beside narrow values and only there, by a stencil with as many as
  SpikeStencilTakes() says and on one rank; else the step comes after the product
*/
static bool SpikeBasisMultTakes(const SpikeKrylovCopyCUDA *c, PetscInt n, PetscBool narrow)
{
  return (n == 1 || n == 2 || n == 4 || n == 8) && (!c->stencil || (SpikeStencilTakes(n) && !c->loan.begin)) &&
         (!std::is_same_v<PetscReal, double> || c->base.narrow == narrow);
}

PetscErrorCode SpikeKrylovBasisMult_CUDA(SpikeKrylov *s, const void *copy, const PetscScalar *x,
                                         const SpikeKrylovBasis *b, const SpikeIDRRecurrence *recurrence)
{
  const SpikeKrylovCUDA     *h = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovCopyCUDA *c = (const SpikeKrylovCopyCUDA *)copy;
  const PetscInt             n = b->last - b->first, rows = SpikeKrylovCopyRows(c);
  const SpikeBasisMultArgs   a = {x, b,
                                  SpikeKrylovBasisEnd(s, recurrence,
                                                      SpikeKrylovBasisSums(SPIKE_KRYLOV_DOTS, n,
                                                                         b->z ? PETSC_TRUE : PETSC_FALSE, PETSC_FALSE)),
                                  0, 0};

  PetscFunctionBegin;
  /* the same on all ranks: no halo either */
  if (!s->ondevice && s->scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (!SpikeBasisMultTakes(c, n, b->narrow)) {
    PetscCall(SpikeKrylovMult_CUDA(s, copy, SPIKE_KRYLOV_NSTEPS, NULL, x, b->y, NULL));
    PetscCall(SpikeKrylovBasisStep_CUDA(s, SPIKE_KRYLOV_DOTS, b, NULL, recurrence));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  if (c->loan.block) PetscCall(SpikeBasisMultBlocks_CUDA(h, c, &a));
  else if (c->base.narrow) PetscCall(SpikeBasisMultNarrow_CUDA(h, c, &a));
  else if (c->stencil) PetscCall(SpikeBasisMultStencil_CUDA(h, c, &a));
  else if (c->loan.begin) PetscCall(SpikeBasisMultRanks_CUDA(h, c, &a));
  else if (n == 8) PetscCall(SpikeBasisMultEight_CUDA(h, c, &a));
  else if (n == 4) PetscCall(SpikeBasisMultFour_CUDA(h, c, &a));
  else PetscCall(SpikeBasisMultFew_CUDA(h, c, &a));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(2.0 * c->nz + (2.0 * n + (b->z ? 6.0 : 2.0)) * rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}
