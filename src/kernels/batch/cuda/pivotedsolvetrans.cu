/* SPDX-License-Identifier: BSD-2-Clause */
/* pivotedsolvetrans.cu: x <- A^-T b of a batch with row exchanges on CUDA devices */
#include "pivoted.cuh"

PetscErrorCode SpikeBatchSolvePivotedTrans_CUDA(const SpikeBatchCUDA *h, PetscInt nrhs, const PetscScalar *b,
                                                PetscCount ldb, PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchSolvePivoted<true>(h, nrhs, b, ldb, x, ldx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
