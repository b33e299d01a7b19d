/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_small_double.cu: plain sweeps with factors in double precision, T <= 16 */
#include "sweep_plain.cuh"

template void *SpikeSweepSmallKernel<SpikeDouble>(const SpikeTiles *, bool, int, size_t *);
