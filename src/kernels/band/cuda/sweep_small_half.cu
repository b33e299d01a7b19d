/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_small_half.cu: plain sweeps with factors in 16 bits, T <= 16 */
#include "sweep_plain.cuh"

template void *SpikeSweepSmallKernel<SpikeBF16>(const SpikeTiles *, bool, int, size_t *);
template void *SpikeSweepSmallKernel<SpikeFP16>(const SpikeTiles *, bool, int, size_t *);
