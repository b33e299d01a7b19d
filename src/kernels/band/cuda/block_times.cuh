/* SPDX-License-Identifier: BSD-2-Clause */
/* block_times.cuh: a small matrix times a vector, by a thread block */
#pragma once

#include "band_tiles.cuh"
#include "kernels/common/cuda/warp.cuh"

/*
  v_r <- sum_c A(r, c) x_c, transposed v_c <- sum_r A(r, c) x_r, for A of m rows and k columns that are lda apart, by
  all threads of a block; put(index, sum) takes the results. Plain: threads in slices of all rows, each slice with every
  S-th column; transposed: a warp a column. x is in shared memory, part has a place for each thread.
*/
template <bool TRANSPOSED, typename P>
__device__ static inline void SpikeBlockTimes(int m, int k, const PetscScalar *A, int lda, const PetscScalar *x,
                                              PetscScalar *part, P put)
{
  if (TRANSPOSED) {
    for (int c = threadIdx.x >> 5; c < k; c += blockDim.x >> 5) {
      PetscScalar v = 0.0;

      for (int r = threadIdx.x & 31; r < m; r += 32) v = SpikeFma(A[(PetscCount)c * lda + r], x[r], v);
      v = SpikeWarpSum(v);
      if (!(threadIdx.x & 31)) put(c, v);
    }
  } else {
    const int rows   = m <= 8  ? 8
                     : m <= 16 ? 16
                               : PetscMin((m + 31) / 32 * 32, (int)blockDim.x),
              slices = blockDim.x / rows, slice = threadIdx.x / rows;

    for (int r0 = 0; r0 < m; r0 += rows) {
      const int   r = r0 + threadIdx.x % rows;
      PetscScalar v = 0.0;

      if (slice < slices && r < m) {
        constexpr int PIECE = sizeof(PetscScalar) > 8 ? 8 : 16; /* loads at once */

        for (int c0 = slice; c0 < k; c0 += PIECE * slices) {
          PetscScalar w[PIECE];

          SpikeUnroll(i, PIECE) w[i] = A[(PetscCount)PetscMin(c0 + i * slices, k - 1) * lda + r];
          SpikeUnroll(i, PIECE)
            if (c0 + i * slices < k) v = SpikeFma(w[i], x[c0 + i * slices], v);
        }
      }
      part[threadIdx.x] = v;
      __syncthreads();
      if (!slice && r < m) {
        for (int i = 1; i < slices; i++) v += part[i * rows + threadIdx.x];
        put(r, v);
      }
      __syncthreads();
    }
  }
}
