/* SPDX-License-Identifier: BSD-2-Clause */
/* tips_half.cu: tips from factors in 16 bits */
#include "tips_plain.cuh"

template PetscErrorCode  SpikeTipsNarrow<SpikeBF16>(const SpikeTipsArgs &, const SpikeDevice *, cudaStream_t);
template SpikeTipsKernel SpikeTipsKernelOf<SpikeBF16>(int);
template PetscErrorCode  SpikeReach<SpikeBF16>(const SpikeTipsArgs &, cudaStream_t);
template PetscErrorCode  SpikeTipsNarrow<SpikeFP16>(const SpikeTipsArgs &, const SpikeDevice *, cudaStream_t);
template SpikeTipsKernel SpikeTipsKernelOf<SpikeFP16>(int);
template PetscErrorCode  SpikeReach<SpikeFP16>(const SpikeTipsArgs &, cudaStream_t);
