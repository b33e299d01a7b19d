/* SPDX-License-Identifier: BSD-2-Clause */
/* backend.c: the only list of backends */
#include "kernels.h"

const SpikeKernels *SpikeKernelsFind(PetscMemType memtype)
{
  return PetscMemTypeHost(memtype) ? &SpikeKernels_Host : NULL;
}
