/* SPDX-License-Identifier: BSD-2-Clause */
/* lastblock.cuh: sums over all thread blocks of a kernel by the one that ends last */
#pragma once

/*
  Whether this thread block is the last of `blocks` that call this with the ticket, which is 0 before the first call and
  after the last. The last one sees what thread 0 of each has written. It sees what other threads have written where
  the caller has a barrier before the call.
*/
__device__ static __forceinline__ bool SpikeIsLastThreadBlock(unsigned int *ticket, unsigned int blocks)
{
  __shared__ bool last;

  if (!threadIdx.x) {
    __threadfence();
    last = atomicInc(ticket, blocks - 1) == blocks - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  return true;
}
