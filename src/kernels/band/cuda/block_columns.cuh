/* SPDX-License-Identifier: BSD-2-Clause */
/* block_columns.cuh: a small matrix times several columns, by a thread block */
#pragma once

#include "band_tiles.cuh"
#include "kernels/common/cuda/mma.cuh"

#define SPIKE_COLUMNS 8 /* of a group: those of one product of SpikeMMA */

/* A of m rows and k columns; transposed it is stored as k rows of m, in either case with columns lda apart */
template <bool TRANSPOSED>
struct SpikeColumnsMatrix {
  const PetscScalar *A;
  int                lda, m, k;
};

/*
  8 rows of a matrix in WIDTH columns, in the registers of a warp: row r0 + l / 4, columns k0 + 4 s + l % 4 of lane l
*/
struct SpikeColumnsPiece {
  static constexpr int STEPS = sizeof(PetscScalar) > 8 ? 4 : 8, WIDTH = 4 * STEPS;

  PetscScalar a[STEPS];

  /* Zeros outside. Loads have no conditions: what lies outside is read at the last place inside */
  template <bool TRANSPOSED>
  __device__ __forceinline__ void load(const SpikeColumnsMatrix<TRANSPOSED> &A, int r0, int k0)
  {
    const int          r = r0 + ((threadIdx.x & 31) >> 2), q = threadIdx.x & 3, row = PetscMin(r, A.m - 1);
    const PetscScalar *at  = A.A + (TRANSPOSED ? (PetscCount)row * A.lda : (PetscCount)row);
    const PetscCount   one = TRANSPOSED ? 1 : A.lda;

    SpikeUnroll(s, STEPS) a[s] = at[PetscMin(k0 + 4 * s + q, A.k - 1) * one];
    SpikeUnroll(s, STEPS)
      if (r >= A.m || k0 + 4 * s + q >= A.k) a[s] = 0.0;
  }
};

/*
  sum_p A_p x_p for PARTS matrices of one shape and 8 G columns: a warp takes 8 rows of the result, and where there are
  `segments` > 1 one of as many pieces of the sum; A is read once for all columns, a piece of it while the one before is
  multiplied. The order of a sum depends on k and `segments` alone: a column has the same bits whatever stands beside
  it.

  start(): which rows and pieces are the warp's, for a number of warps that is a multiple of `segments`; `first` is
  loaded before run(), by load(), where later work must not wait for it. x: [PARTS][8 G][pitch] in shared memory, zero
  in the places from k to the next multiple of 4. pitch % 8 = 4: a warp reads 8 columns of x from different banks.
  part: room for 64 G sums of each tile and segment, not used with one segment. put(row, column, sum) is called once for
  each row of a tile and each column, from row m on with zeros where x has finite values.
*/
template <bool TRANSPOSED, int G, int PARTS>
struct SpikeColumnsProduct {
  SpikeColumnsMatrix<TRANSPOSED> A[PARTS];
  SpikeColumnsPiece              first;
  int                            segments, segment, tile0, step, k0, k1;

  __device__ __forceinline__ void start(int nsegments)
  {
    const int warp = threadIdx.x >> 5, W = SpikeColumnsPiece::WIDTH;
    const int length = ((A[0].k + nsegments - 1) / nsegments + W - 1) / W * W;

    segments = nsegments;
    segment  = warp % segments;
    tile0    = warp / segments;
    step     = (int)(blockDim.x >> 5) / segments;
    k0       = segment * length;
    k1       = PetscMin(k0 + length, A[0].k);
  }
  __device__ __forceinline__ void load()
  {
    if (8 * tile0 < A[0].m && k0 < k1) first.load(A[0], 8 * tile0, k0);
  }
  template <typename P>
  __device__ __forceinline__ void run(const PetscScalar *x, int pitch, SpikeDouble *part, P put)
  {
    const int m = A[0].m, tiles = (m + 7) / 8, g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;

    x += g * pitch + q;
#pragma unroll 1
    for (int tile = tile0; tile < tiles; tile += step) {
      SpikeMMA sum[G];

      SpikeUnroll(j, G) sum[j].clear();
      SpikeUnroll(p, PARTS) {
#pragma unroll 1
        for (int k = k0; k < k1; k += SpikeColumnsPiece::WIDTH) {
          SpikeColumnsPiece next = first;

          if (k + SpikeColumnsPiece::WIDTH < k1) next.load(A[p], 8 * tile, k + SpikeColumnsPiece::WIDTH);
          else if (p + 1 < PARTS) next.load(A[p + 1 < PARTS ? p + 1 : p], 8 * tile, k0);
          else if (tile + step < tiles) next.load(A[0], 8 * (tile + step), k0);
          SpikeUnroll(s, SpikeColumnsPiece::STEPS)
            if (k + 4 * s < k1) {
              SpikeUnroll(j, G) sum[j].add(first.a[s], x[(p * G + j) * SPIKE_COLUMNS * pitch + k + 4 * s]);
            }
          first = next;
        }
      }
      SpikeUnroll2(j, G, e, 2) {
        const int column = SPIKE_COLUMNS * j + 2 * q + e;

        if (segments == 1) put(8 * tile + g, column, (PetscScalar)sum[j].get(e));
        else part[((segment * G * SPIKE_COLUMNS) + column) * 8 * tiles + 8 * tile + g] = sum[j].get(e);
      }
    }
    if (segments == 1) return;
    __syncthreads();
    for (int e = threadIdx.x; e < G * SPIKE_COLUMNS * 8 * tiles; e += blockDim.x) {
      SpikeDouble v = part[e];

      for (int s = 1; s < segments; s++) v = v + part[s * G * SPIKE_COLUMNS * 8 * tiles + e];
      put(e % (8 * tiles), e / (8 * tiles), (PetscScalar)v);
    }
  }
};

/*
  Distance of columns in shared memory for vectors of so many values: room to the next multiple of 4, and 4 away from
  one of 8
*/
static inline int SpikeColumnsPitch(int values)
{
  return (values + 7) / 8 * 8 + 4;
}
