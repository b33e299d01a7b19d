/* SPDX-License-Identifier: BSD-2-Clause */
/* solvetrans.cu: x <- A^-T b of a batch on CUDA devices */
#include "solve.cuh"

PetscErrorCode SpikeBatchSolveTrans_CUDA(const SpikeBatchCUDA *h, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                         PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchSolvePlain<true>(h, nrhs, b, ldb, x, ldx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
