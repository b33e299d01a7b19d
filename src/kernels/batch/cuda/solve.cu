/* SPDX-License-Identifier: BSD-2-Clause */
/* solve.cu: x <- A^-1 b of a batch on CUDA devices */
#include "solve.cuh"

PetscErrorCode SpikeBatchSolve_CUDA(const SpikeBatchCUDA *h, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                    PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchSolvePlain<false>(h, nrhs, b, ldb, x, ldx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
