/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_mult_stencil.cu: products by a stencil with the inner products of a basis step in the epilogue */
#include "basis_mult.cuh"

template <int M>
static PetscErrorCode SpikeBasisMultStencil(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                            const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  if constexpr (SpikeStencilTakes(M)) {
    const SpikeStencil *S       = c->stencil;
    const PetscInt      begin[] = {0, 0, 0};
    SpikeStencilPlan    plan;

    PetscCall(SpikeStencilPlan_CUDA(S, begin, S->size, S->size[0], S->size[0] * S->size[1], true, true, &plan));
    PetscCall(SpikeStencilDispatch(plan, [&](const auto &rows) {
      return SpikeBasisMultStart<M>(h, rows, plan.blocks, plan.shared, a);
    }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBasisMultStencil_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                          const SpikeBasisMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeBasisMultDispatch(a->b->last - a->b->first, [&](auto constant) {
    return SpikeBasisMultStencil<decltype(constant)::value>(h, c, a);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
