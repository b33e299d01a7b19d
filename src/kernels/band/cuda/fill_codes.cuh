/* SPDX-License-Identifier: BSD-2-Clause */
/* fill_codes.cuh: values of the matrix and where they go, by the map of a pattern, on their way to registers */
#pragma once

#include "fill.cuh"
#include "kernels/common/cuda/warp.cuh"

#define SPIKE_MAP_NONE 0xffffu /* the place of no entry */

/* The V codes of a lane, two in a word */
template <int V>
struct SpikeFillCodes {
  unsigned int word[(V + 1) / 2];

  __device__ unsigned int operator[](int u) const
  {
    return V == 1 ? word[0] & 0xffffu : word[u / 2] >> 16 * (u % 2) & 0xffffu;
  }
};

/* Values and codes of chunk c on their way, whose piece of the matrix, first entry and length q has; nothing for q 0 */
template <int V>
__device__ static inline void SpikeFillFetch(const PetscScalar *const aa[], const unsigned short *codes,
                                             unsigned long long q, int c, int lane, PetscScalar v[],
                                             SpikeFillCodes<V> &code)
{
  if (q) {
    const PetscScalar    *from = aa[q >> 56] + (q & 0xffffffffffffull);
    const int             n    = (int)(q >> 48 & 0xff);
    const unsigned short *at   = codes + ((PetscInt64)c * 32 + lane) * V;

    if constexpr (V == 1) code.word[0] = __ldcs(at);
    else SpikeLoadStream<unsigned int, V / 2>((const unsigned int *)at, code.word);
    SpikeUnroll(u, V)
      if (u * 32 + lane < n) SpikeLoadStream<PetscScalar, 1>(from + u * 32 + lane, v + u);
  } else {
    SpikeUnroll(u, (V + 1) / 2) code.word[u] = 0xffffffffu;
  }
}
