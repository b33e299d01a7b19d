/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_single.cu: plain sweeps with factors in single precision, T > 16 */
#include "sweep_plain.cuh"

template void *SpikeSweepLargeKernel<SpikeSingle>(const SpikeTiles *, bool, int, size_t *);
