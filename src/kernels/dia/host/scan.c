/* SPDX-License-Identifier: BSD-2-Clause */
/* scan.c: what chooses the band of PCSPIKE, on the host */
#include "kernels/dia/dia.h"

PetscErrorCode SpikeDIAScan_Host(const SpikeDIA *A, PetscReal weight[], PetscInt fullest[2])
{
  PetscFunctionBegin;
  fullest[0] = fullest[1] = 0;
  for (PetscInt d = 0; d < A->count; d++) weight[d] = 0.0;
  for (PetscInt i = 0; i < A->n; i += SPIKE_DIA_ROWS) {
    const PetscInt rows                     = PetscMin((PetscInt)SPIKE_DIA_ROWS, A->n - i);
    PetscInt       nonzeros[SPIKE_DIA_ROWS] = {0}, far[SPIKE_DIA_ROWS] = {0};

    for (PetscInt d = 0; d < A->count; d++) {
      const PetscScalar *a   = SpikeDIADiagonal(A, i, d);
      const PetscInt     off = PetscAbsInt(A->offset[d]) > 1;

      for (PetscInt r = 0; r < rows; r++) {
        const PetscInt there = a[r] != (PetscScalar)0.0;

        if (there) weight[d] += PetscAbsScalar(a[r]);
        nonzeros[r] += there;
        far[r] += there & off;
      }
    }
    for (PetscInt r = 0; r < rows; r++) {
      fullest[0] = PetscMax(fullest[0], nonzeros[r]);
      fullest[1] = PetscMax(fullest[1], far[r]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeDIASample_Host(const SpikeDIA *A, PetscInt rows, PetscScalar *out)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < rows; k++) {
    const PetscInt i = (PetscInt)((PetscInt64)k * A->n / rows);

    for (PetscInt d = 0; d < A->count; d++) *out++ = SpikeDIADiagonal(A, i - i % SPIKE_DIA_ROWS, d)[i % SPIKE_DIA_ROWS];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
