/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_rhs_transpose.cu: transposed sweeps and corrections for several right-hand sides, by sweep_rhs.cuh */
#include "sweep.cuh"

#if !defined(PETSC_USE_COMPLEX)
  #include "sweep_rhs.cuh"
#endif

/*
  As the sweep of SpikeSweepTranspose_CUDA(), for nrhs > 1 columns; *done is false where these kernels have nothing for
  it: complex numbers
*/
PetscErrorCode SpikeSweepColumnsTranspose_CUDA(PetscSpikePrecision precision, const SpikeSweepArgs *a, PetscInt nrhs,
                                               cudaStream_t stream, bool *done)
{
  PetscFunctionBegin;
#if defined(PETSC_USE_COMPLEX)
  *done = false;
#else
  SpikeDispatchPrecision(precision, PetscCall((SpikeSweepColumns_Private<F, true>(a, (int)nrhs, stream))));
  *done = true;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
