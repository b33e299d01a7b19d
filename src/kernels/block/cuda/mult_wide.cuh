/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mult_wide.cuh: products of a matrix of blocks of 4, 8 or 16 with tall blocks: a warp has several block rows and reads
  their blocks as one stream
*/
#pragma once

#include "block.cuh"

/* Fetches bytes from a on into the L2 cache; both are multiples of 16 */
__device__ static __forceinline__ void SpikeBlockPrefetch(const void *a, unsigned bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(a), "r"(bytes) : "memory");
#else
#endif
}

/*
  Blocks of BLOCKSIZE = 4, 8, 16 and up to MAXCOLS columns, 8 C8 of them, or 4 with PACKED. A warp's tile is 8 x 8 sums:

    BLOCKSIZE = 4    a load has two blocks, whose rows are the upper and the lower half of the tile. Times the rows of X
                     of the
              first the upper half counts; times those of the second the lower half, in another tile
    PACKED    both at once: columns of X of the first are the left half of the tile, those of the second the right half;
              the two pieces on the diagonal count
    BLOCKSIZE = 8    as it lies
    BLOCKSIZE = 16   two tiles: the even and the odd rows, which a lane loads in pairs

  Sums that do not count are never read. The first block of a pair has an even number, so that sums have the same order
  however rows are dealt to warps. Columns of B are ordered so that a lane's loads and stores are wide.
*/
template <int MAXCOLS, int BLOCKSIZE, bool BYROWS, typename V>
struct SpikeBlockWideShape {
  static constexpr bool PACKED = BLOCKSIZE == 4 && MAXCOLS == 4;
  static constexpr int  C8     = MAXCOLS < 8 ? 1 : MAXCOLS / 8;
  /* rows and steps of a lane, tiles */
  static constexpr int H = BLOCKSIZE == 16 ? 2 : 1, S = BLOCKSIZE / 4, C = BLOCKSIZE == 4 && !PACKED ? 2 : H;
  /* blocks of a load of A, of X */
  static constexpr int PAIR = BLOCKSIZE == 4 ? 2 : 1, AN = PAIR, XN = PACKED ? 2 : 1;
  /* registers of two blocks */
  static constexpr int REGISTERBYTES = (2 * H * S / AN + 2 * S * C8 / XN) * (int)sizeof(V);
  static constexpr int FIT           = (C8 > 1 ? 384 : 256) / REGISTERBYTES;
  /* blocks on their way at once */
  static constexpr int U = FIT >= 8 && C8 < 4 ? 8 : FIT >= 4 ? 4 : FIT >= 2 ? 2 : PAIR;

  __device__ static __forceinline__ int column(int tile, int p)
  {
    return C8 == 1 ? p : 16 * (tile / 2) + 2 * p + tile % 2;
  }
  /* the column of a block that is the lane's in step s */
  __device__ static __forceinline__ int step(int s, int q) { return BLOCKSIZE == 4 ? q : 8 * (s / 2) + 2 * q + s % 2; }

  /*
    a <- the lane's pieces of blocks b to b + U - 1 of A; from `end` on those of the last block again. A: the lane's
    piece of the first block
  */
  __device__ static __forceinline__ void loada(const V *A, PetscInt b, PetscInt end, V a[U / PAIR][S][H])
  {
    const PetscInt half = BLOCKSIZE == 4 ? (PetscInt)(threadIdx.x & 31) / 16 : 0;

    if (b + U <= end) {
      const V *p = A + (PetscCount)(b + half) * BLOCKSIZE * BLOCKSIZE;

#pragma unroll
      for (int u = 0; u < U; u += PAIR)
        SpikeUnroll(s, S)
          SpikeBlockLoad<H>(p + u * BLOCKSIZE * BLOCKSIZE + step(s, 0) * BLOCKSIZE, true, H, a[u / PAIR][s]);
    } else {
#pragma unroll
      for (int u = 0; u < U; u += PAIR) {
        const V *p = A + (PetscCount)PetscMin(b + u + half, end - 1) * BLOCKSIZE * BLOCKSIZE;

        SpikeUnroll(s, S) SpikeBlockLoad<H>(p + step(s, 0) * BLOCKSIZE, true, H, a[u / PAIR][s]);
      }
    }
  }

  /* x <- the lane's pieces of the block row of X at `at` bytes. X: the lane's piece of the first block row */
  __device__ static __forceinline__ void loadx(const SpikeBlockItem &t, const V *const X[C8], size_t at, V x[S][C8])
  {
    constexpr int N = BYROWS ? (C8 == 1 ? 1 : 2) : (BLOCKSIZE == 4 ? 1 : 2); /* values of a load */

#pragma unroll
    for (int s = 0; s < S; s += BYROWS ? 1 : N)
#pragma unroll
      for (int j = 0; j < C8; j += BYROWS ? N : 1) {
        const V *p = (const V *)((const char *)X[j] + at) + step(s, 0) * (BYROWS ? t.ldx : 1);
        V        v[N];

        SpikeBlockLoad<N>(p, true, N, v);
        SpikeUnroll(o, N) x[BYROWS ? s : s + o][BYROWS ? j + o : j] = v[o];
      }
  }

  /* Block row `row` of Y */
  __device__ static __forceinline__ void store(const SpikeBlockItem &t, PetscInt row, SpikeMMA c[C][C8])
  {
    constexpr int    N = C8 == 1 ? 2 : 4; /* columns in a row */
    const int        l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4;
    const PetscCount i    = (PetscCount)row * BLOCKSIZE + H * g;
    const bool       mine = (BLOCKSIZE > 4 || g < 4) && (!PACKED || q < 2);
    const double     sign = t.mode == SPIKE_BLOCK_SUB ? -1.0 : 1.0;
    V               *Y    = (V *)t.Y;

#pragma unroll
    for (int j = 0; j < C8; j += N / 2) {
      SpikeBlockSum v[H][N];
      const int     first = C8 == 1 ? 2 * q : 8 * j + 4 * q;

      SpikeUnroll2(h, H, o, N) {
        const int tile = j + o % (N / 2), e = o / (N / 2);

        v[h][o] = c[h][tile].get(e);
        if (PACKED) v[h][o] += SpikeShfl(v[h][o], (l + 18) % 32);
        else if (BLOCKSIZE == 4) v[h][o] += SpikeShfl(c[C - 1][tile].get(e), (l + 16) % 32);
      }
      if (!mine) continue;
      if (BYROWS) {
        SpikeUnroll(h, H) {
          V *y = Y + (i + h) * t.ldy + first, old[N], now[N];

          if (t.mode != SPIKE_BLOCK_SET) SpikeBlockLoad<N>(y, t.wide, t.m - first, old);
          SpikeUnroll(o, N) now[o] = V(t.mode == SPIKE_BLOCK_SET ? v[h][o] : SpikeBlockSum(old[o]) + sign * v[h][o]);
          SpikeBlockStore<N>(y, t.wide, t.m - first, now);
        }
      } else {
        SpikeUnroll(o, N) {
          const PetscInt have = first + o < t.m ? H : 0;
          V             *y    = Y + i + (first + o) * t.ldy, old[H], now[H];

          if (t.mode != SPIKE_BLOCK_SET) SpikeBlockLoad<H>(y, t.wide, have, old);
          SpikeUnroll(h, H) now[h] = V(t.mode == SPIKE_BLOCK_SET ? v[h][o] : SpikeBlockSum(old[h]) + sign * v[h][o]);
          SpikeBlockStore<H>(y, t.wide, have, now);
        }
      }
    }
  }
};

/*
  Y [op] A X. A warp has t.k block rows, one after the other. U of their blocks are on their way at once, whatever rows
  they belong to; those after the next U are fetched into the L2 cache. 32 indices come in one load, the next 32 long
  before they are needed. Row -1 is the block before the first one, where the stream begins with the second block of
  a pair: its sums go nowhere, nor do those after the last block. A row is summed in the order of its blocks.
*/
template <int MAXCOLS, int BLOCKSIZE, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockMultWide(const SpikeBlockItem &t, unsigned block)
{
  using W           = SpikeBlockWideShape<MAXCOLS, BLOCKSIZE, BYROWS, V>;
  constexpr int  C8 = W::C8, H = W::H, S = W::S, U = W::U, PAIR = W::PAIR;
  constexpr bool PACKED = W::PACKED;
  const int      l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, half = g / 4;
  const PetscInt row0 = (PetscInt)(((PetscCount)block * SpikeBlockWarps(SPIKE_BLOCK_KIND_WIDE) +
                                    (PetscCount)(threadIdx.x / 32)) *
                                   t.k);

  if (row0 >= t.n) return;
  const int      rows  = (int)PetscMin((PetscInt)t.k, t.n - row0);
  const PetscInt bound = l <= rows ? t.ai[row0 + l] : -1, begin = __shfl_sync(SPIKE_WARP, bound, 0),
                 end = __shfl_sync(SPIKE_WARP, bound, rows), b0 = begin & ~(PetscInt)(PAIR - 1);
  const V *A = (const V *)t.a + (BLOCKSIZE == 4 ? g % 4 : H * g) + (PetscCount)W::step(0, q) * BLOCKSIZE, *X[C8];
  SpikeMMA c[W::C][C8];
  /* bytes, from a block row of X to the next */
  const unsigned jump = (unsigned)((BYROWS ? BLOCKSIZE * t.ldx : BLOCKSIZE) * (PetscCount)sizeof(V));
  int            row  = -1;
  PetscInt       stop = begin, index = 0, next = 0, chunk = b0;

  if (begin < end) {
    if (l == 0)
      SpikeBlockPrefetch((const V *)t.a + (PetscCount)b0 * BLOCKSIZE * BLOCKSIZE,
                         (unsigned)(PetscMin(end - b0, (PetscInt)(2 * U)) * BLOCKSIZE * BLOCKSIZE * (int)sizeof(V)));
    index = t.aj[PetscMin(b0 + l, end - 1)];
    next  = t.aj[PetscMin(b0 + 32 + l, end - 1)];
  }
  SpikeUnroll(j, C8) {
    const int column = PACKED ? g % 4 : W::column(j, g), there = column < t.m ? column : 0;

    X[j] = (const V *)t.X + (BYROWS ? W::step(0, q) * t.ldx + there : W::step(0, q) + there * t.ldx);
  }
  SpikeUnroll2(h, W::C, j, C8) c[h][j].clear();
  /* Rows that end before block b are done */
  const auto finish = [&](PetscInt b) {
    while (stop == b) {
      if (row >= 0) W::store(t, row0 + row, c);
      SpikeUnroll2(h, W::C, j, C8) c[h][j].clear();
      row++;
      stop = __shfl_sync(SPIKE_WARP, bound, row + 1);
    }
  };

  if (b0 == begin || begin == end) finish(begin);
  for (PetscInt b = b0; b < end; b += U) {
    V a[U / PAIR][S][H], x[U][S][C8];

    if (b == chunk + 32) {
      chunk = b;
      index = next;
      next  = t.aj[PetscMin(b + 32 + l, end - 1)];
    }
    if (l == 0 && end - b > 2 * U)
      SpikeBlockPrefetch((const V *)t.a + (PetscCount)(b + 2 * U) * BLOCKSIZE * BLOCKSIZE,
                         (unsigned)(PetscMin(end - b - 2 * U, (PetscInt)U) * BLOCKSIZE * BLOCKSIZE * (int)sizeof(V)));
    W::loada(A, b, end, a);
#pragma unroll
    for (int u = 0; u < U; u += W::XN)
      W::loadx(t, X,
               (size_t)(unsigned)__shfl_sync(SPIKE_WARP, index, (int)(b - chunk) + u + (PACKED ? half : 0)) * jump,
               x[u]);
#pragma unroll
    for (int u = 0; u < U; u += PACKED ? 2 : 1) {
      const PetscInt n = b + u;

      if constexpr (PACKED) {
        if (n + 1 != stop) c[0][0].add(a[u / PAIR][0][0], x[u][0][0]);
        else { /* two blocks of two rows */
          SpikeUnroll(o, 2) {
            c[0][0].add(half == o ? a[u / PAIR][0][0] : V(0.0), half == o ? x[u][0][0] : V(0.0));
            if (o == 0) finish(n + 1);
          }
        }
        finish(n + 2);
      } else {
        SpikeUnroll3(s, S, h, H, j, C8) c[BLOCKSIZE == 4 ? u % 2 : h][j].add(a[u / PAIR][s][h], x[u][s][j]);
        finish(n + 1);
      }
    }
  }
}
