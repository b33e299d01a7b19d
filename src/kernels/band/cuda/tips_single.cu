/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_single.cu: tips from factors in single precision */
#include "tips_plain.cuh"

template PetscErrorCode  SpikeTipsNarrow<SpikeSingle>(const SpikeTipsArgs &, const SpikeDevice *, cudaStream_t);
template SpikeTipsKernel SpikeTipsKernelOf<SpikeSingle>(int);
template PetscErrorCode  SpikeReach<SpikeSingle>(const SpikeTipsArgs &, cudaStream_t);
