/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_half.cu: plain sweeps with factors in 16 bits, T > 16 */
#include "sweep_plain.cuh"

template void *SpikeSweepLargeKernel<SpikeBF16>(const SpikeTiles *, bool, int, size_t *);
template void *SpikeSweepLargeKernel<SpikeFP16>(const SpikeTiles *, bool, int, size_t *);
