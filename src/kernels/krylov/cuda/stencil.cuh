/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.cuh: products by a stencil with a basis step in the epilogue */
#pragma once

#include "basis.cuh"
#include "mult.cuh"
#include "kernels/stencil/cuda/stencil.cuh"

static_assert(SPIKE_STENCIL_THREADS == SPIKE_KRYLOV_THREADS, "blocks that sum as those of the steps do");

/*
  Columns that a product by a stencil takes the inner products of: as many as have registers for the points of a thread
*/
constexpr bool SpikeStencilTakes(PetscInt columns)
{
  return columns == 1 || columns == 2 || columns == 4;
}

/* Loops over the rows of a stencil, beside those of a copy */
template <class MATRIX>
constexpr bool SpikeIsStencil = false;
template <unsigned POINTMASK>
constexpr bool SpikeIsStencil<SpikeStencilPatches<POINTMASK>> = true;
template <bool SINGLE>
constexpr bool SpikeIsStencil<SpikeStencilRows<SINGLE>> = true;

/* A product with a basis step, two kernels of which may share the step: SpikeKrylovMultArgs says how */
typedef struct {
  const PetscScalar      *x;
  const SpikeKrylovBasis *b;
  SpikeBasisEnd           e;
  PetscInt                before, total;
} SpikeBasisMultArgs;

/*
  With 1, 2, 4 or 8 vectors, by files: basis_mult_few.cu with 1 or 2, basis_mult_four.cu and basis_mult_eight.cu, on one
  rank; basis_mult_ranks.cu, basis_mult_stencil.cu, basis_mult_narrow.cu, basis_blocks.cu with any of them. A process
  loads the code of a file with its first kernel
*/
PETSC_INTERN PetscErrorCode SpikeBasisMultFew_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                   const SpikeBasisMultArgs *);
PETSC_INTERN PetscErrorCode SpikeBasisMultFour_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                    const SpikeBasisMultArgs *);
PETSC_INTERN PetscErrorCode SpikeBasisMultEight_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                     const SpikeBasisMultArgs *);
PETSC_INTERN PetscErrorCode SpikeBasisMultRanks_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                     const SpikeBasisMultArgs *);
PETSC_INTERN PetscErrorCode SpikeBasisMultStencil_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                       const SpikeBasisMultArgs *);
PETSC_INTERN PetscErrorCode SpikeBasisMultNarrow_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                      const SpikeBasisMultArgs *);
PETSC_INTERN PetscErrorCode SpikeBasisMultBlocks_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                      const SpikeBasisMultArgs *);
