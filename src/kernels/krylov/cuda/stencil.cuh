/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.cuh: products by a stencil with a basis step behind them */
#pragma once

#include "basis.cuh"
#include "mult.cuh"
#include "kernels/stencil/cuda/stencil.cuh"

static_assert(SPIKE_STENCIL_THREADS == SPIKE_KRYLOV_THREADS, "blocks that sum as those of the steps do");

/*
  Columns that a product by a stencil takes the inner products of: as many as have registers for the points of a thread
*/
static inline bool SpikeStencilTakes(PetscInt columns)
{
  return columns == 1 || columns == 2 || columns == 4;
}

/* stencil_basis.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovStencilBasisMult_CUDA(const SpikeKrylovCUDA *, const SpikeStencil *,
                                                             const PetscScalar *x, const SpikeKrylovBasis *,
                                                             const SpikeBasisEnd *);
