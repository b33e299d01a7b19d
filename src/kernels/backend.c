/* SPDX-License-Identifier: BSD-2-Clause */
/* backend.c: the only list of backends */
#include "kernels/dia/dia.h"
#include "kernels/band/band.h"
#include "kernels/krylov/rhs.h"
#include "kernels/block/block.h"
#include "kernels/stencil/stencil.h"

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

const SpikeDIAKernels *SpikeDIAKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeDIAKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeDIAKernels_Host : NULL;
}

const SpikeKrylovRhsKernels *SpikeKrylovRhsKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeKrylovRhsKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeKrylovRhsKernels_Host : NULL;
}

const SpikeBlockKernels *SpikeBlockKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeBlockKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeBlockKernels_Host : NULL;
}

const SpikeStencilKernels *SpikeStencilKernelsFind(PetscMemType memtype)
{
#if defined(SPIKE_HAVE_CUDA)
  if (PetscMemTypeCUDA(memtype)) return &SpikeStencilKernels_CUDA;
#endif
  return PetscMemTypeHost(memtype) ? &SpikeStencilKernels_Host : NULL;
}
