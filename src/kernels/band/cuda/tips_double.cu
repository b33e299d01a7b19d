/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_double.cu: tips from factors in double precision */
#include "tips_plain.cuh"

template PetscErrorCode  SpikeTipsNarrow<SpikeDouble>(const SpikeTipsArgs &, const SpikeDevice *, cudaStream_t);
template SpikeTipsKernel SpikeTipsKernelOf<SpikeDouble>(int);
template PetscErrorCode  SpikeReach<SpikeDouble>(const SpikeTipsArgs &, cudaStream_t);
