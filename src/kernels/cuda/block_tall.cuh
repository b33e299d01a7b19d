/* SPDX-License-Identifier: BSD-2-Clause */
/* block_tall.cuh: block axpy and block dot of tall blocks, by the warps of a block of threads */
#pragma once

#include "block.cuh"

/* Columns of tall blocks, in numbers of 4 (KS) and 8 (MT): classes 4, 8, 16, 32 */
template <int CLASS>
struct SpikeTall {
  static constexpr int KS = 1 << CLASS, MT = CLASS < 2 ? 1 : 1 << (CLASS - 1);
};

/*
  Y [op] X Z, Z in shared memory as the lanes want it. A warp has 8 H rows at a time: lane l reads KS columns of rows (l / 4), all of them consecutive with row-major blocks, and H consecutive rows of each
  with column-major ones; the order in which the columns of X meet the rows of Z is the same in both. Bytes: X, Y once. Each row is made by one warp: its bits depend on nothing else.
*/
template <int CLASS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpy(const SpikeBlockItem &t, unsigned block, unsigned blocks, SpikeBlockSum *shared)
{
  constexpr int  KS = SpikeTall<CLASS>::KS, MT = SpikeTall<CLASS>::MT, H = sizeof(V) >= 16 ? 1 : 2;
  const int      l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4;
  const PetscInt stride = (PetscInt)blocks * SPIKE_BLOCK_WARPS * 8 * H;
  const V       *X = (const V *)t.X, *Z = (const V *)t.Z;
  V             *Y = (V *)t.Y;

  for (int e = (int)threadIdx.x; e < KS * MT * 32; e += SPIKE_BLOCK_THREADS) { /* B(l % 4, l / 4) of step s and tile c */
    const int lane = e % 32, s = e / 32 % KS, c = e / 32 / KS, row = t.rowmajor ? lane % 4 * KS + s : 4 * s + lane % 4, column = 8 * c + lane / 4;

    shared[e] = row < t.k && column < t.m ? SpikeBlockSum(Z[row + column * t.ldz]) : SpikeBlockSum(0.0);
  }
  __syncthreads();
  for (PetscInt r = ((PetscInt)block * SPIKE_BLOCK_WARPS + (PetscInt)(threadIdx.x / 32)) * 8 * H; r < t.n; r += stride) {
    V        x[H][KS];
    SpikeMma c[H][MT];

    if (t.rowmajor) {
#pragma unroll
      for (int h = 0; h < H; h++) {
        const PetscInt i = r + 8 * h + g;

        SpikeBlockLoad<KS>(X + (PetscCount)i * t.ldx + q * KS, t.wide, i < t.n ? t.k - q * KS : 0, x[h]);
      }
    } else {
      const PetscInt i = r + H * g;

#pragma unroll
      for (int s = 0; s < KS; s++) {
        V v[H];

        SpikeBlockLoad<H>(X + i + (PetscCount)(4 * s + q) * t.ldx, t.wide, 4 * s + q < t.k ? t.n - i : 0, v);
#pragma unroll
        for (int h = 0; h < H; h++) x[h][s] = v[h];
      }
    }
#pragma unroll
    for (int j = 0; j < MT; j++) {
#pragma unroll
      for (int h = 0; h < H; h++) c[h][j].clear();
      if (t.mode != SPIKE_BLOCK_SET) {
        if (t.rowmajor) {
#pragma unroll
          for (int h = 0; h < H; h++) {
            const PetscInt i = r + 8 * h + g;
            V              v[2];

            SpikeBlockLoad<2>(Y + (PetscCount)i * t.ldy + 8 * j + 2 * q, t.wide, i < t.n ? t.m - 8 * j - 2 * q : 0, v);
            c[h][j].put(0, v[0]);
            c[h][j].put(1, v[1]);
          }
        } else {
#pragma unroll
          for (int e = 0; e < 2; e++) {
            const PetscInt i = r + H * g;
            V              v[H];

            SpikeBlockLoad<H>(Y + i + (PetscCount)(8 * j + 2 * q + e) * t.ldy, t.wide, 8 * j + 2 * q + e < t.m ? t.n - i : 0, v);
#pragma unroll
            for (int h = 0; h < H; h++) c[h][j].put(e, v[h]);
          }
        }
      }
    }
    if (t.mode == SPIKE_BLOCK_SUB) {
#pragma unroll
      for (int h = 0; h < H; h++)
#pragma unroll
        for (int s = 0; s < KS; s++) x[h][s] = -x[h][s];
    }
#pragma unroll
    for (int s = 0; s < KS; s++)
#pragma unroll
      for (int j = 0; j < MT; j++) {
        const SpikeBlockSum z = shared[(j * KS + s) * 32 + l];

#pragma unroll
        for (int h = 0; h < H; h++) c[h][j].add(x[h][s], z);
      }
#pragma unroll
    for (int j = 0; j < MT; j++) {
      if (t.rowmajor) {
#pragma unroll
        for (int h = 0; h < H; h++) {
          const PetscInt i    = r + 8 * h + g;
          const V        v[2] = {V(c[h][j].get(0)), V(c[h][j].get(1))};

          SpikeBlockStore<2>(Y + (PetscCount)i * t.ldy + 8 * j + 2 * q, t.wide, i < t.n ? t.m - 8 * j - 2 * q : 0, v);
        }
      } else {
#pragma unroll
        for (int e = 0; e < 2; e++) {
          const PetscInt i = r + H * g;
          V              v[H];

#pragma unroll
          for (int h = 0; h < H; h++) v[h] = V(c[h][j].get(e));
          SpikeBlockStore<H>(Y + i + (PetscCount)(8 * j + 2 * q + e) * t.ldy, t.wide, 8 * j + 2 * q + e < t.m ? t.n - i : 0, v);
        }
      }
    }
  }
}

/* Tiles of X^H Z that a warp has: IT x JT; IS warps share the rows of X. Up to 4 columns: two groups of rows side by side, and the sums are the blocks on the diagonal of a tile, added up */
template <int CLASS>
struct SpikeDot {
  static constexpr bool PACKED = CLASS == 0;
  static constexpr int  IT = CLASS < 2 ? 1 : 2, JT = CLASS < 2 ? 1 : 1 << (CLASS - 1), IS = CLASS == 3 ? 2 : 1;
  static constexpr int  E = IT * JT * 64, SUMS = IS * E; /* of a warp, of a block */
  static constexpr int  ROUND = PetscMin(SPIKE_BLOCK_WARPS, 2048 / E);
  static constexpr int  ROWS  = 16; /* that a warp takes at a time */
};

/* The blocks of threads of a dot depend on these alone */
__host__ __device__ static inline unsigned SpikeBlockDotBlocks(PetscInt n, int cls, int multiprocessors)
{
  const PetscInt rows = 32 * SPIKE_BLOCK_WARPS / (cls == 3 ? 2 : 1), most = 2 * (PetscInt)multiprocessors, want = n / rows + (n % rows ? 1 : 0);

  return (unsigned)PetscMax(1, PetscMin(most, want));
}

/* Pieces of a tall block as operands: lane (q, g) has value (row, column g of a tile) for NT tiles, N rows in turn. at(): the tile's column with number g */
template <int NT>
__device__ static __forceinline__ int SpikeDotColumn(bool rowmajor, int tile, int g)
{
  return rowmajor ? g * NT + tile : 8 * tile + g;
}

template <int NT, int N, bool PACKED, typename V>
__device__ static __forceinline__ void SpikeDotLoad(const V *X, PetscCount ld, int m, PetscInt n, PetscInt r, int tile0, int tiles, bool rowmajor, bool wide, V v[N][NT])
{
  const int l = (int)(threadIdx.x & 31), q = l % 4, g = PACKED ? l / 4 % 4 : l / 4, half = PACKED ? l / 16 : 0;

  if (rowmajor) { /* rows r + q + 4 k, those of the second half behind those of the first */
#pragma unroll
    for (int k = 0; k < N; k++) {
      const PetscInt i = r + (PACKED ? 8 * k + 4 * half : 4 * k) + q;
      const int      c = g * tiles + tile0;

      SpikeBlockLoad<NT>(X + (PetscCount)i * ld + c, wide, i < n ? m - c : 0, v[k]);
    }
  } else { /* rows in pairs */
    constexpr int H = sizeof(V) >= 16 ? 1 : 2;

#pragma unroll
    for (int k = 0; k < N; k += H) {
      const PetscInt i = r + (PACKED ? 8 * k + 4 * H * half : 4 * k) + H * q;

#pragma unroll
      for (int c = 0; c < NT; c++) {
        const int column = 8 * (tile0 + c) + g;
        V         w[H];

        SpikeBlockLoad<H>(X + i + (PetscCount)column * ld, wide, column < m ? n - i : 0, w);
#pragma unroll
        for (int h = 0; h < H; h++) v[k + h][c] = w[h];
      }
    }
  }
}

/*
  Y [op] X^H Z. The operands of a warp come from memory as they are: 4 rows and 8 columns a load, with column-major blocks two rows of each in one. Sums: of a warp over its rows, of the warps of a block in
  order, of the blocks by the last of them that is done, in order. Bytes: X and Z once, or X where it is Z.
*/
template <int CLASS, typename V>
__device__ static __forceinline__ void SpikeBlockDot(const SpikeBlockItem &t, unsigned block, unsigned blocks, SpikeBlockSum *shared, unsigned *tickets)
{
  using D           = SpikeDot<CLASS>;
  constexpr int  IT = D::IT, JT = D::JT, IS = D::IS, N = D::PACKED ? 2 : 4, PER = (D::SUMS + SPIKE_BLOCK_THREADS - 1) / SPIKE_BLOCK_THREADS;
  const int      w = (int)(threadIdx.x / 32), l = (int)(threadIdx.x & 31), is = w % IS;
  const PetscInt stride = (PetscInt)blocks * (SPIKE_BLOCK_WARPS / IS) * D::ROWS;
  SpikeMma       c[IT][JT];
  SpikeBlockSum  sum[PER];
  __shared__ int last;

#pragma unroll
  for (int i = 0; i < IT; i++)
#pragma unroll
    for (int j = 0; j < JT; j++) c[i][j].clear();
  for (PetscInt r = ((PetscInt)block * (SPIKE_BLOCK_WARPS / IS) + w / IS) * D::ROWS; r < t.n; r += stride) {
    V x[N][IT], z[N][JT];

    SpikeDotLoad<IT, N, D::PACKED>((const V *)t.X, t.ldx, t.k, t.n, r, is * IT, IT * IS, t.rowmajor, t.wide, x);
    if (IT == JT && t.same) {
#pragma unroll
      for (int k = 0; k < N; k++)
#pragma unroll
        for (int j = 0; j < JT; j++) z[k][j] = x[k][j % IT];
    } else SpikeDotLoad<JT, N, D::PACKED>((const V *)t.Z, t.ldz, t.m, t.n, r, 0, JT, t.rowmajor, t.wide, z);
#pragma unroll
    for (int k = 0; k < N; k++)
#pragma unroll
      for (int i = 0; i < IT; i++) {
        const V a = SpikeBlockConj(x[k][i], true);

#pragma unroll
        for (int j = 0; j < JT; j++) c[i][j].add(a, z[k][j]);
      }
  }
#pragma unroll
  for (int k = 0; k < PER; k++) sum[k] = 0.0;
  for (int first = 0; first < SPIKE_BLOCK_WARPS; first += D::ROUND) {
    if (first) __syncthreads();
    if (w >= first && w < first + D::ROUND) {
#pragma unroll
      for (int i = 0; i < IT; i++)
#pragma unroll
        for (int j = 0; j < JT; j++)
#pragma unroll
          for (int e = 0; e < 2; e++) shared[(w - first) * D::E + (i * JT + j) * 64 + l * 2 + e] = c[i][j].get(e);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER; k++) {
      const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

      if (o < D::SUMS)
        for (int v = o / D::E; v < D::ROUND; v += IS) sum[k] += shared[v * D::E + o % D::E];
    }
  }
  if (blocks > 1) {
#pragma unroll
    for (int k = 0; k < PER; k++) {
      const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

      if (o < D::SUMS) t.partials[(PetscCount)block * D::SUMS + o] = sum[k];
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      last = atomicAdd(tickets + t.ticket, 1u) == blocks - 1;
      if (last) tickets[t.ticket] = 0;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    /* GROUPS threads a sum, each with every GROUPS-th block */
    constexpr int GROUPS = D::SUMS < SPIKE_BLOCK_THREADS ? SPIKE_BLOCK_THREADS / D::SUMS : 1;
#pragma unroll
    for (int k = 0; k < PER; k++) {
      const int     o = ((int)threadIdx.x + k * SPIKE_BLOCK_THREADS) % D::SUMS, group = GROUPS > 1 ? (int)threadIdx.x / D::SUMS : 0;
      SpikeBlockSum v[16];

      sum[k] = 0.0;
      for (unsigned b = group; b < blocks; b += 16 * GROUPS) {
#pragma unroll
        for (int u = 0; u < 16; u++) v[u] = b + u * GROUPS < blocks ? t.partials[(PetscCount)(b + u * GROUPS) * D::SUMS + o] : SpikeBlockSum(0.0);
#pragma unroll
        for (int u = 0; u < 16; u++) sum[k] += v[u];
      }
    }
    if (GROUPS > 1) {
      shared[threadIdx.x] = sum[0];
      __syncthreads();
      if (threadIdx.x < D::SUMS)
        for (int g = 1; g < GROUPS; g++) sum[0] += shared[threadIdx.x + g * D::SUMS];
    }
  }
  if (D::PACKED) {
    __syncthreads();
    if (threadIdx.x < D::SUMS) shared[threadIdx.x] = sum[0];
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < PER; k++) {
    const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

    if (o < D::SUMS) {
      const int e = o % 2, lane = o / 2 % 32, j = o / 64 % JT, i = o / 64 / JT % IT, split = o / D::E, g = lane / 4, p = 2 * (lane % 4) + e;
      const int row = D::PACKED ? g : SpikeDotColumn<IT * IS>(t.rowmajor, split * IT + i, g), column = D::PACKED ? p : SpikeDotColumn<JT>(t.rowmajor, j, p);

      if (D::PACKED && (g > 3 || p > 3)) continue;
      if (D::PACKED) sum[k] += shared[o + 32 + 4]; /* lane + 16 has the row of the other half, and 2 lanes on are 4 columns */
      if (row < t.k && column < t.m) {
        V *y = (V *)t.Y + row + column * t.ldy;

        *y = V(t.mode == SPIKE_BLOCK_SET ? sum[k] : t.mode == SPIKE_BLOCK_ADD ? SpikeBlockSum(*y) + sum[k] : SpikeBlockSum(*y) - sum[k]);
      }
    }
  }
}
