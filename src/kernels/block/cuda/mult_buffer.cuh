/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_buffer.cuh: products of a matrix of blocks of a small size with one vector, by way of shared memory */
#pragma once

#include "mult_vector.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

/*
  A warp has BLOCKS blocks in its buffer, in STEPS steps of ATONCE blocks. LANES lanes have a block, ROWS neighbouring
  rows of it each, which they read from shared memory in loads of WIDTH values. P values are the 16 bytes of a copy
*/
template <int BLOCKSIZE, typename V, int BYTES>
struct SpikeBlockBufferShape {
  static constexpr int BS = BLOCKSIZE, S = (int)sizeof(V), P = SpikeBlockValues(S), SIZE = BS * BS,
                       WIDTH = SpikeBlockBufferWidth(BS, S), ROWS = SpikeBlockBufferRows(BS, S, BYTES),
                       LANES = BS / ROWS, ATONCE = SpikeBlockBufferAtOnce(BS, S, BYTES),
                       STEPS = SpikeBlockBufferSteps(BS, S, BYTES), BLOCKS = ATONCE * STEPS,
                       PIECES = (BLOCKS * SIZE + 2 * (P - 1)) / P;

  static_assert(BS >= 1 && ATONCE >= 1, "a block does not fit");

  /*
    Blocks that begin at multiples of 16 bytes: piece i of the buffer is at place(i). Without that, pieces that lanes
    read at once would have the same banks. SHARE: pieces of a block
  */
  static constexpr bool EVEN = SIZE % P == 0, LINES = WIDTH == P && EVEN && SIZE / P % 8 == 0 && 8 % LANES == 0;
  static constexpr int  SHARE = EVEN ? SIZE / P : 1, GROUP = LINES ? SHARE : 8, SPREAD = LINES ? LANES : 1,
                       COUNT = LINES                                                  ? 8 / LANES
                             : WIDTH == P && LANES == 1 && (SHARE == 2 || SHARE == 4) ? SHARE
                                                                                      : 1;
  __host__ __device__ static constexpr int place(int i) { return i ^ (i / GROUP % COUNT * SPREAD); }
};

/* Of a warp. carry: sums of the row that the blocks before have begun, and of the one that those after go on with */
template <int BLOCKSIZE, typename V, int BYTES = SpikeBlockBufferBytes(BLOCKSIZE, (int)sizeof(V))>
struct SpikeBlockBufferMemory {
  using Shape = SpikeBlockBufferShape<BLOCKSIZE, V, BYTES>;

  struct alignas(16) Piece {
    V v[Shape::P];
  };

  Piece piece[Shape::PIECES];
  V     carry[2][BLOCKSIZE];
};

/*
  Values to the buffer, `offset` + those of `blocks` blocks, as they lie from `from` on, which is a multiple of 16
  bytes. A whole buffer has the same number of pieces each time, and addresses that differ by constants
*/
template <int BLOCKSIZE, int BYTES, typename V>
__device__ static __forceinline__ void SpikeBlockBufferCopy(SpikeBlockBufferMemory<BLOCKSIZE, V, BYTES> &memory,
                                                            const V *from, int offset, int blocks)
{
  using K              = SpikeBlockBufferShape<BLOCKSIZE, V, BYTES>;
  constexpr int WHOLE  = K::BLOCKS * K::SIZE / K::P;
  const int     l      = (int)(threadIdx.x & 31);
  const int     values = offset + blocks * K::SIZE, pieces = blocks == K::BLOCKS ? WHOLE : values / K::P;
  V            *buffer = memory.piece[0].v;

  if (blocks == K::BLOCKS) {
    const V *mine = from + l * K::P;

    SpikeUnroll(u, (WHOLE + 31) / 32)
      if (32 * u + 32 <= WHOLE || l < WHOLE - 32 * u)
        SpikeCopyAsync<16, true>(buffer + K::place(l + 32 * u) * K::P, mine + 32 * u * K::P);
  } else {
#pragma unroll 1
    for (int p = l; p < pieces; p += 32) SpikeCopyAsync<16, true>(buffer + K::place(p) * K::P, from + p * K::P);
  }
  if (!K::EVEN && l < values - pieces * K::P) {
    const int p = pieces * K::P + l;

    SpikeCopyAsync<(int)sizeof(V)>(buffer + p, from + p);
  }
}

/*
  out(i, (A x)_i) for the rows i of t.k block rows from row0 on, each once, in some lane of the warp, in the precision
  of A; at most 31 block rows, whose bounds come in one load. t.a is a multiple of 16 bytes, and x has its elements side
  by side. Only the pattern is read before ready(), which each lane calls once.

  The blocks of these rows are one stream, of which a pass takes the next BLOCKS, whatever their rows are:

    1. the indices of the next pass and elements of x are loaded, and values copied to shared memory, 16 bytes a lane,
       as they lie in memory: all of it is on its way at once
    2. z_b = A_b x_b of each block b, one step after the other; x goes round among the lanes of a block
    3. z to shared memory, in the place of the values; then a lane has a row and sums what the pass has of it

  Bytes: A and its indices once. A row is summed in the order of the columns of a block, then in the order of its
  blocks, whatever the passes are.
*/
template <int BLOCKSIZE, int BYTES, typename V, typename READY, typename F>
__device__ static __forceinline__ void SpikeBlockBuffer(const SpikeBlockItem &t, PetscInt row0,
                                                        SpikeBlockBufferMemory<BLOCKSIZE, V, BYTES> &memory,
                                                        READY &&ready, F &&out)
{
  using K          = SpikeBlockBufferShape<BLOCKSIZE, V, BYTES>;
  constexpr int BS = BLOCKSIZE, P = K::P, W = K::WIDTH, ROWS = K::ROWS, LANES = K::LANES, STEPS = K::STEPS;
  const int     l      = (int)(threadIdx.x & 31);
  const bool    mine   = l < K::ATONCE * LANES; /* a lane without a block does what lane 0 does, and stores nothing */
  const int     number = mine ? l / LANES : 0, part = mine ? l % LANES : 0, leader = number * LANES;
  const V      *X      = (const V *)t.X + part * ROWS;
  V            *buffer = memory.piece[0].v;

  if (row0 >= t.n) {
    ready();
    return;
  }
  const int      rows  = (int)PetscMin((PetscInt)t.k, t.n - row0);
  const PetscInt bound = t.ai[row0 + PetscMin(l, rows)], above = __shfl_down_sync(SPIKE_WARP, bound, 1),
                 first = __shfl_sync(SPIKE_WARP, bound, 0), last = __shfl_sync(SPIKE_WARP, bound, rows);
  PetscInt index[STEPS];     /* after the last block that of the last one again */
  int      i = 0, phase = 0; /* i: first block row that has not ended */

  SpikeUnroll(s, STEPS)
    index[s] = first < last ? t.aj[first + PetscMin((PetscInt)(s * K::ATONCE + number), last - 1 - first)] : 0;
  ready();
  for (PetscInt begin = first, end; i < rows; begin = end) {
    const int blocks = (int)PetscMin((PetscInt)K::BLOCKS, last - begin);
    /* values before the first block in its 16 bytes, which belong to A too */
    const int offset = K::EVEN ? 0 : (int)(begin % P) * (K::SIZE % P) % P;
    V         x[STEPS][ROWS];

    end = begin + blocks;
    if (blocks > 0) {
      PetscInt next[STEPS];

      SpikeUnroll(s, STEPS) next[s] = t.aj[end + PetscMin((PetscInt)(s * K::ATONCE + number), last - 1 - end)];
      SpikeBlockBufferCopy(memory, (const V *)t.a + ((PetscCount)begin * K::SIZE - offset), offset, blocks);
      if (W > 1 && (size_t)t.X % (W * sizeof(V)) == 0) {
        SpikeUnroll(s, STEPS)
#pragma unroll
          for (int r = 0; r < ROWS; r += W) SpikeBlockLoad<W>(X + (PetscCount)index[s] * BS + r, true, W, x[s] + r);
      } else
        SpikeUnroll2(s, STEPS, r, ROWS) x[s][r] = X[(PetscCount)index[s] * BS + r];
      SpikeUnroll(s, STEPS) index[s] = next[s];
    } else
      SpikeUnroll2(s, STEPS, r, ROWS) x[s][r] = V(0.0);
    SpikeCopyWait();
    __syncwarp();
    SpikeUnroll(s, STEPS) {
      const int block = (s * K::ATONCE + number) * K::SIZE + part * ROWS;
      V         z[ROWS];

      SpikeUnroll(r, ROWS) z[r] = V(0.0);
      SpikeUnroll(q, BS) {
        const V xq = LANES == 1 ? x[s][q % ROWS] : SpikeShfl(x[s][q % ROWS], leader + q / ROWS);

#pragma unroll
        for (int r = 0; r < ROWS; r += W) {
          const int at = block + q * BS + r;
          V         a[W];

          SpikeBlockLoad<W>(W == P && K::EVEN ? buffer + K::place(at / P) * P : buffer + offset + at, true, W, a);
          SpikeUnroll(w, W) z[r + w] = SpikeBlockFma(a[w], xq, z[r + w]);
        }
      }
      SpikeUnroll(r, ROWS) x[s][r] = z[r];
    }
    __syncwarp();
    if (mine) {
      SpikeUnroll(s, STEPS)
#pragma unroll
        for (int r = 0; r < ROWS; r += W)
          SpikeBlockStore<W>(buffer + (s * K::ATONCE + number) * BS + part * ROWS + r, true, W, x[s] + r);
    }
    __syncwarp();
    /* block rows that end in this pass, and what one has of it that does not */
    const int done = __popc(__ballot_sync(SPIKE_WARP, l < rows && above <= end)),
              most = (PetscMin(done + 1, rows) - i) * BS;

    for (int q = l; q - l < most; q += 32) {
      const int      k = i + q / BS, r = q % BS;
      const PetscInt lower = __shfl_sync(SPIKE_WARP, bound, PetscMin(k, 31)),
                     upper = __shfl_sync(SPIKE_WARP, above, PetscMin(k, 31));

      if (q < most) {
        const int to = (int)(PetscMin(upper, end) - begin);
        V         y  = lower < begin ? memory.carry[phase][r] : V(0.0);

#pragma unroll 1
        for (int b = lower < begin ? 0 : (int)(lower - begin); b < to; b += 4) {
          V z[4];

          SpikeUnroll(u, 4) z[u] = b + u < to ? buffer[(b + u) * BS + r] : V(0.0);
          SpikeUnroll(u, 4) y += z[u];
        }
        if (k < done) out((PetscCount)(row0 + k) * BS + r, y);
        else memory.carry[phase ^ 1][r] = y;
      }
    }
    i = done;
    phase ^= 1;
    __syncwarp();
  }
}

/* y [op] A x. A warp has t.k block rows */
template <int BLOCKSIZE, typename V>
__device__ static __forceinline__ void SpikeBlockMultBuffer(const SpikeBlockItem &t, unsigned block)
{
  constexpr int    WARPS = SpikeBlockWarps(SPIKE_BLOCK_KIND_BUFFER);
  const int        warp  = (int)(threadIdx.x / 32);
  const PetscInt   row0  = (PetscInt)(((PetscCount)block * WARPS + (PetscCount)warp) * t.k);
  const PetscCount ys    = t.rowmajor ? t.ldy : 1;

  __shared__ SpikeBlockBufferMemory<BLOCKSIZE, V> memory[WARPS];

  SpikeBlockBuffer(
    t, row0, memory[warp], [] { SpikeAwait(); },
    [&](PetscCount i, V y) {
      V *Y = (V *)t.Y + i * ys;

      if (t.mode == SPIKE_BLOCK_SET) *Y = y;
      else if (t.mode == SPIKE_BLOCK_ADD) *Y += y;
      else *Y -= y;
    });
}
