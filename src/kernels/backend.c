/* SPDX-License-Identifier: BSD-2-Clause */
/* backend.c: the only list of backends */
#include "kernels.h"
#include "krylov.h"
#include "block.h"

const SpikeKernels *SpikeKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeKernels_Host : NULL;
}

const SpikeKrylovKernels *SpikeKrylovKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeKrylovKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeKrylovKernels_Host : NULL;
}

const SpikeBlockKernels *SpikeBlockKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeBlockKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeBlockKernels_Host : NULL;
}
