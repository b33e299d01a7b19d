/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_rows.cu: products of copies with a step in the epilogue, on one rank */
#include "mult_kernel.cuh"

/* a is NULL where nothing is to be launched */
PetscErrorCode SpikeKrylovMultStep_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                        const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultValues<PetscScalar>(h, c, step, a, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}
