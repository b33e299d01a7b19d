/* SPDX-License-Identifier: BSD-2-Clause */
/* backend.c: the only list of backends */
#include "kernels/dia/dia.h"
#include "kernels/band/border.h"
#include "kernels/band/look.h"
#include "kernels/krylov/rhs.h"
#include "kernels/block/block.h"
#include "kernels/stencil/stencil.h"

/* The table of the backend whose memory it is; NULL where there is none */
#if defined(SPIKE_HAVE_CUDA)
  #define SpikeTable(memtype, table) \
    (PetscMemTypeCUDA(memtype) ? &table##_CUDA : PetscMemTypeHost(memtype) ? &table##_Host : NULL)
#else
  #define SpikeTable(memtype, table) (PetscMemTypeHost(memtype) ? &table##_Host : NULL)
#endif

const SpikeBandKernels *SpikeBandKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeBandKernels);
}

const SpikeSplitKernels *SpikeSplitKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeSplitKernels);
}

const SpikeLookKernels *SpikeLookKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeLookKernels);
}

const SpikeKrylovKernels *SpikeKrylovKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeKrylovKernels);
}

const SpikeDIAKernels *SpikeDIAKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeDIAKernels);
}

const SpikeKrylovRhsKernels *SpikeKrylovRhsKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeKrylovRhsKernels);
}

const SpikeBlockKernels *SpikeBlockKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeBlockKernels);
}

const SpikeStencilKernels *SpikeStencilKernelsFind(PetscMemType memtype)
{
  return SpikeTable(memtype, SpikeStencilKernels);
}
