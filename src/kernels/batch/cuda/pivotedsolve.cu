/* SPDX-License-Identifier: BSD-2-Clause */
/* pivotedsolve.cu: x <- A^-1 b of a batch with row exchanges on CUDA devices */
#include "pivoted.cuh"

PetscErrorCode SpikeBatchSolvePivoted_CUDA(const SpikeBatchCUDA *h, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                           PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchSolvePivoted<false>(h, nrhs, b, ldb, x, ldx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
