/* SPDX-License-Identifier: BSD-2-Clause */
/* tall.cuh: block axpy and block dot of tall blocks, by the warps of a block of threads */
#pragma once

#include "block.cuh"

/* Values of a load of 16 bytes, 1 at least: rows of a column-major block that a lane reads at once */
template <typename V>
struct SpikeWide {
  static constexpr int P = sizeof(V) >= 16 ? 1 : 16 / (int)sizeof(V);
};

/*
  Columns of tall blocks, in numbers of 4 (KS) and 8 (MT): classes 4, 8, 16, 32. A warp has 8 H rows at a time, so many
  that 64 bytes of each lane are on their way: 2 KB of a warp, 64 KB of a multiprocessor, which is what its share of the
  memory's rate asks for at about a microsecond of latency.
*/
template <int CLASS, typename V>
struct SpikeTall {
  static constexpr int KS = 1 << CLASS, MT = CLASS < 2 ? 1 : 1 << (CLASS - 1), M = 4 << CLASS;
  static constexpr int P = CLASS > 1 && SpikeWide<V>::P > 2 ? 2 : SpikeWide<V>::P, FULL = 64 / (KS * (int)sizeof(V));
  /* C: of H at once in registers as sums */
  static constexpr int H = FULL > 4 ? 4 : FULL > P ? FULL : P, C = KS > 2 && H > P ? P : H;
};

/* Rows in the order of the tiles: row h of lane group g */
template <bool ROWS, int P>
__device__ static __forceinline__ int SpikeTallRow(int h, int g)
{
  return ROWS ? 8 * h + g : (h / P) * 8 * P + P * g + h % P;
}

/*
  Rows r to r + 8 H - 1 of X. FAST: all rows and columns of the class are there, and aligned; no load depends on a
  branch then, and all of them travel together
*/
template <int CLASS, bool FAST, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyLoad(const SpikeBlockItem &t, PetscInt r,
                                                          V x[][SpikeTall<CLASS, V>::KS])
{
  constexpr int H = SpikeTall<CLASS, V>::H, KS = SpikeTall<CLASS, V>::KS, P = SpikeTall<CLASS, V>::P;
  const int     l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4;
  const V      *X = (const V *)t.X;

  if (ROWS) {
#pragma unroll
    for (int h = 0; h < H; h++) {
      const PetscInt i = r + SpikeTallRow<ROWS, P>(h, g);

      SpikeBlockLoad<KS>(X + (PetscCount)i * t.ldx + q * KS, FAST || t.wide,
                         FAST      ? KS
                         : i < t.n ? t.k - q * KS
                                   : 0,
                         x[h]);
    }
  } else {
#pragma unroll
    for (int h = 0; h < H; h += P) {
      const PetscInt i = r + SpikeTallRow<ROWS, P>(h, g);

#pragma unroll
      for (int s = 0; s < KS; s++) {
        V v[P];

        SpikeBlockLoad<P>(X + i + (PetscCount)(4 * s + q) * t.ldx, FAST || t.wide,
                          FAST              ? P
                          : 4 * s + q < t.k ? t.n - i
                                            : 0,
                          v);
#pragma unroll
        for (int p = 0; p < P; p++) x[h + p][s] = v[p];
      }
    }
  }
}

/* C of those rows of Y from h on, tile j of its columns */
template <int CLASS, bool FAST, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyLoadTile(const SpikeBlockItem &t, PetscInt r, int h0, int j,
                                                              V y[][2])
{
  constexpr int C = SpikeTall<CLASS, V>::C, P = SpikeTall<CLASS, V>::P;
  const int     l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, column = 8 * j + 2 * q;
  const V      *Y = (const V *)t.Y;

  if (t.mode == SPIKE_BLOCK_SET || (FAST && column >= SpikeTall<CLASS, V>::M)) return;
#pragma unroll
  for (int h = 0; h < C; h += ROWS ? 1 : P) {
    const PetscInt i = r + SpikeTallRow<ROWS, P>(h0 + h, g);

    if (ROWS)
      SpikeBlockLoad<2>(Y + (PetscCount)i * t.ldy + column, FAST || t.wide,
                        FAST      ? 2
                        : i < t.n ? t.m - column
                                  : 0,
                        y[h]);
    else {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        V w[P];

        SpikeBlockLoad<P>(Y + i + (PetscCount)(column + e) * t.ldy, FAST || t.wide,
                          FAST               ? P
                          : column + e < t.m ? t.n - i
                                             : 0,
                          w);
#pragma unroll
        for (int p = 0; p < P; p++) y[h + p][e] = w[p];
      }
    }
  }
}

template <int CLASS, bool FAST, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyStoreTile(const SpikeBlockItem &t, PetscInt r, int h0, int j,
                                                               const SpikeMMA c[])
{
  constexpr int C = SpikeTall<CLASS, V>::C, P = SpikeTall<CLASS, V>::P;
  const int     l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, column = 8 * j + 2 * q;
  V            *Y = (V *)t.Y;

  if (FAST && column >= SpikeTall<CLASS, V>::M) return;
#pragma unroll
  for (int h = 0; h < C; h += ROWS ? 1 : P) {
    const PetscInt i = r + SpikeTallRow<ROWS, P>(h0 + h, g);

    if (ROWS) {
      const V v[2] = {V(c[h].get(0)), V(c[h].get(1))};

      SpikeBlockStore<2>(Y + (PetscCount)i * t.ldy + column, FAST || t.wide, FAST ? 2 : i < t.n ? t.m - column : 0, v);
    } else {
#pragma unroll
      for (int e = 0; e < 2; e++) {
        V v[P];

#pragma unroll
        for (int p = 0; p < P; p++) v[p] = V(c[h + p].get(e));
        SpikeBlockStore<P>(Y + i + (PetscCount)(column + e) * t.ldy, FAST || t.wide,
                           FAST               ? P
                           : column + e < t.m ? t.n - i
                                              : 0,
                           v);
      }
    }
  }
}

/* Z in shared memory as the lanes want it: B(l % 4, l / 4) of step s and tile c */
template <int CLASS, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyStage(const SpikeBlockItem &t, SpikeBlockSum *shared)
{
  constexpr int KS = SpikeTall<CLASS, V>::KS, MT = SpikeTall<CLASS, V>::MT;
  const V      *Z = (const V *)t.Z;

  for (int e = (int)threadIdx.x; e < KS * MT * 32; e += SPIKE_BLOCK_THREADS) {
    const int lane = e % 32, s = e / 32 % KS, c = e / 32 / KS, row = ROWS ? lane % 4 * KS + s : 4 * s + lane % 4,
              column = 8 * c + lane / 4;

    shared[e] = row < t.k && column < t.m ? SpikeBlockSum(Z[row + column * t.ldz]) : SpikeBlockSum(0.0);
  }
  __syncthreads();
}

template <int CLASS, bool FAST, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyStep(const SpikeBlockItem &t, PetscInt r, bool stage,
                                                          SpikeBlockSum *shared)
{
  using T         = SpikeTall<CLASS, V>;
  constexpr int H = T::H, C = T::C, KS = T::KS, MT = T::MT;
  const int     l     = (int)(threadIdx.x & 31);
  constexpr int UNITS = H / C * MT, AHEAD = UNITS < 2 || sizeof(V) < 8 ? 1 : 2; /* AHEAD: pieces of Y on their way */
  V             x[H][KS], y[AHEAD][C][2];

  SpikeBlockAxpyLoad<CLASS, FAST, ROWS, V>(t, r, x);
#pragma unroll
  for (int u = 0; u < AHEAD; u++) SpikeBlockAxpyLoadTile<CLASS, FAST, ROWS, V>(t, r, u / MT * C, u % MT, y[u]);
  if (stage) SpikeBlockAxpyStage<CLASS, ROWS, V>(t, shared); /* while the first rows travel */
  if (t.mode == SPIKE_BLOCK_SUB) {
#pragma unroll
    for (int h = 0; h < H; h++)
#pragma unroll
      for (int s = 0; s < KS; s++) x[h][s] = -x[h][s];
  }
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const int h0 = u / MT * C, j = u % MT;
    SpikeMMA  c[C];

#pragma unroll
    for (int h = 0; h < C; h++) {
      c[h].clear();
      if (t.mode != SPIKE_BLOCK_SET && !(FAST && 2 * (l % 4) >= T::M)) {
        c[h].put(0, y[u % AHEAD][h][0]);
        c[h].put(1, y[u % AHEAD][h][1]);
      }
    }
    if (u + AHEAD < UNITS)
      SpikeBlockAxpyLoadTile<CLASS, FAST, ROWS, V>(t, r, (u + AHEAD) / MT * C, (u + AHEAD) % MT, y[u % AHEAD]);
#pragma unroll
    for (int s = 0; s < KS; s++) {
      const SpikeBlockSum z = shared[(j * KS + s) * 32 + l];

#pragma unroll
      for (int h = 0; h < C; h++) c[h].add(x[h0 + h][s], z);
    }
    SpikeBlockAxpyStoreTile<CLASS, FAST, ROWS, V>(t, r, h0, j, c);
  }
}

/* Where rows, columns or alignment are lacking: apart, so that its registers are not those of the other steps */
template <int CLASS, bool ROWS, typename V>
__device__ static __noinline__ void SpikeBlockAxpyEdge(const SpikeBlockItem &t, PetscInt r, bool stage,
                                                       SpikeBlockSum *shared)
{
  SpikeBlockAxpyStep<CLASS, false, ROWS, V>(t, r, stage, shared);
}

/*
  Y [op] X Z. The operands of a warp come from memory as they are: lane l reads KS columns of rows (l / 4), all of them
  consecutive with row-major blocks, and P consecutive rows of each with column-major ones; the order in which the
  columns of X meet the rows of Z is the same in both. Bytes: X, Y once. Each row is made by one warp: its bits depend
  on nothing else.
*/
template <int CLASS, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyLayout(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                            SpikeBlockSum *shared)
{
  constexpr int    rows   = 8 * SpikeTall<CLASS, V>::H;
  const PetscInt64 stride = (PetscInt64)blocks * SPIKE_BLOCK_WARPS * rows,
                   first  = (PetscInt64)block * SPIKE_BLOCK_WARPS * rows;
  const bool full         = t.wide && t.k == SpikeTall<CLASS, V>::M && t.m == t.k;

  for (PetscInt64 base = first; base < t.n; base += stride) { /* the same for all warps: they meet once */
    const PetscInt64 r = base + (PetscInt64)(threadIdx.x / 32) * rows;

    if (full && base + SPIKE_BLOCK_WARPS * rows <= t.n)
      SpikeBlockAxpyStep<CLASS, true, ROWS, V>(t, (PetscInt)r, base == first, shared);
    else SpikeBlockAxpyEdge<CLASS, ROWS, V>(t, (PetscInt)PetscMin(r, (PetscInt64)t.n), base == first, shared);
  }
}

template <int CLASS, int LAYOUT, typename V>
__device__ static __forceinline__ void SpikeBlockAxpy(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                      SpikeBlockSum *shared)
{
  if (SpikeBlockRowmajor<LAYOUT>(t)) SpikeBlockAxpyLayout<CLASS, true, V>(t, block, blocks, shared);
  else SpikeBlockAxpyLayout<CLASS, false, V>(t, block, blocks, shared);
}

/* Rows that a block of threads takes at a time: of an axpy, of a dot */
static inline PetscInt SpikeBlockAxpyTile(int cls, size_t size)
{
  static const int rows[][4] = {{SpikeTall<0, SpikeSingle>::H, SpikeTall<1, SpikeSingle>::H,
                                 SpikeTall<2, SpikeSingle>::H, SpikeTall<3, SpikeSingle>::H},
                                {SpikeTall<0, SpikeDouble>::H, SpikeTall<1, SpikeDouble>::H,
                                 SpikeTall<2, SpikeDouble>::H, SpikeTall<3, SpikeDouble>::H}};

  return SPIKE_BLOCK_WARPS * 8 * rows[size == sizeof(SpikeDouble) ? 1 : 0][cls];
}
__host__ __device__ static inline PetscInt SpikeBlockDotTile(int cls)
{
  return 16 * SPIKE_BLOCK_WARPS / (cls == 3 ? 2 : 1);
}

/* n / tile, rounded up; whether so many blocks of threads have more than 8 tiles each */
__host__ __device__ static inline PetscInt SpikeBlockTiles(PetscInt n, PetscInt tile)
{
  return n / tile + (n % tile ? 1 : 0);
}
static inline bool SpikeBlockIsLong(PetscInt n, PetscInt tile, PetscInt blocks)
{
  return SpikeBlockTiles(n, tile) / 8 > blocks;
}

/*
  Blocks of threads of an axpy of a class, at most so many. Where these would have many tiles each, and one for each
  tile was faster on an H200 (8 columns in single precision, 8 and 16 column-major in double: 0.89 to 0.94 of a copy at
  4000000 rows, not 0.86 to 0.9; but 4 columns 0.77, not 0.86), there are as many as tiles.
*/
static inline unsigned SpikeBlockAxpyBlocks(int cls, size_t size, bool rowmajor, PetscInt n, PetscInt most)
{
  const PetscInt tile = SpikeBlockAxpyTile(cls, size), tiles = SpikeBlockTiles(n, tile);
  const bool     each = (size == 4 && cls == 1) || (size == 8 && (cls == 1 || cls == 2) && !rowmajor);

  return (unsigned)(each && SpikeBlockIsLong(n, tile, most) ? tiles : PetscMin(tiles, most));
}

/*
  Tiles of X^H Z that a warp has: IT x JT; IS warps share the rows of X. Up to 4 columns: two groups of rows side by
  side, and the sums are the blocks on the diagonal of a tile, added up
*/
template <int CLASS>
struct SpikeDot {
  static constexpr bool PACKED = CLASS == 0;
  static constexpr int  IT = CLASS < 2 ? 1 : 2, JT = CLASS < 2 ? 1 : 1 << (CLASS - 1), IS = CLASS == 3 ? 2 : 1;
  static constexpr int  E = IT * JT * 64, SUMS = IS * E; /* of a warp, of a block */
  static constexpr int  MOST  = SPIKE_BLOCK_SHARED / (int)sizeof(SpikeBlockSum) / E;
  static constexpr int  ROUND = SPIKE_BLOCK_WARPS < MOST ? SPIKE_BLOCK_WARPS : MOST;
};

/* Loads of a lane in a step: N of each tile, 64 bytes or a little more; rows that a warp takes at a time */
template <int CLASS, typename V>
struct SpikeDotStep {
  static constexpr int WANT = 64 / ((SpikeDot<CLASS>::IT + SpikeDot<CLASS>::JT) * (int)sizeof(V)), P = SpikeWide<V>::P;
  static constexpr int N    = WANT > P ? WANT / P *P : P;
  static constexpr int ROWS = (SpikeDot<CLASS>::PACKED ? 8 : 4) * N;
};

/* The blocks of threads of a dot depend on these alone, and so do the groups of them that add up their sums first */
__host__ __device__ static inline unsigned SpikeBlockDotBlocks(PetscInt n, int cls, int multiprocessors)
{
  return (unsigned)PetscMax(1, PetscMin((cls == 3 ? 1 : 2) * (PetscInt)multiprocessors,
                                        SpikeBlockTiles(n, SpikeBlockDotTile(cls))));
}
__host__ __device__ static inline unsigned SpikeBlockDotGroup(unsigned blocks, int sums)
{
  const unsigned most = blocks / (SPIKE_BLOCK_TICKETS - 1) + 1;

  /* one block of threads reads 160 KB as fast as two groups of them meet */
  return blocks * (unsigned)sums <= 20480 ? blocks : PetscMax(16u, most);
}

/*
  Pieces of a tall block as operands: lane (q, g) has value (row, column g of a tile) for NT tiles, N rows in turn.
  Column of a tile with number g
*/
template <int NT>
__device__ static __forceinline__ int SpikeDotColumn(bool rowmajor, int tile, int g)
{
  return rowmajor ? g * NT + tile : 8 * tile + g;
}

template <int NT, int N, bool PACKED, bool FAST, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeDotLoad(const V *X, PetscCount ld, int m, PetscInt n, PetscInt r, int tile0,
                                                    int tiles, bool wide, V v[N][NT])
{
  const int l = (int)(threadIdx.x & 31), q = l % 4, g = PACKED ? l / 4 % 4 : l / 4, half = PACKED ? l / 16 : 0;

  if (ROWS) { /* rows r + q + 4 k, those of the second half behind those of the first */
#pragma unroll
    for (int k = 0; k < N; k++) {
      const PetscInt i = r + (PACKED ? 8 * k + 4 * half : 4 * k) + q;
      const int      c = g * tiles + tile0;

      SpikeBlockLoad<NT>(X + (PetscCount)i * ld + c, FAST || wide, FAST ? NT : i < n ? m - c : 0, v[k]);
    }
  } else { /* P rows at once */
    constexpr int P = SpikeWide<V>::P;

#pragma unroll
    for (int k = 0; k < N; k += P) {
      const PetscInt i = r + (PACKED ? 8 * k + 4 * P * half : 4 * k) + P * q;

#pragma unroll
      for (int c = 0; c < NT; c++) {
        const int column = 8 * (tile0 + c) + g;
        V         w[P];

        SpikeBlockLoad<P>(X + i + (PetscCount)column * ld, FAST || wide, FAST ? P : column < m ? n - i : 0, w);
#pragma unroll
        for (int p = 0; p < P; p++) v[k + p][c] = w[p];
      }
    }
  }
}

template <int CLASS, bool FAST, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockDotRows(const SpikeBlockItem &t, PetscInt r, int is,
                                                         SpikeMMA c[][SpikeDot<CLASS>::JT])
{
  using D          = SpikeDot<CLASS>;
  constexpr int IT = D::IT, JT = D::JT, N = SpikeDotStep<CLASS, V>::N;
  V             x[N][IT], z[N][JT];

  SpikeDotLoad<IT, N, D::PACKED, FAST, ROWS>((const V *)t.X, t.ldx, t.k, t.n, r, is * IT, IT * D::IS, t.wide, x);
  if (IT == JT && t.same) {
#pragma unroll
    for (int k = 0; k < N; k++)
#pragma unroll
      for (int j = 0; j < JT; j++) z[k][j] = x[k][j % IT];
  } else SpikeDotLoad<JT, N, D::PACKED, FAST, ROWS>((const V *)t.Z, t.ldz, t.m, t.n, r, 0, JT, t.wide, z);
#pragma unroll
  for (int k = 0; k < N; k++)
#pragma unroll
    for (int i = 0; i < IT; i++) {
      const V a = SpikeBlockConj(x[k][i], true);

#pragma unroll
      for (int j = 0; j < JT; j++) c[i][j].add(a, z[k][j]);
    }
}

template <int CLASS, bool ROWS, typename V>
__device__ static __forceinline__ void SpikeBlockDotAll(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                        SpikeMMA c[][SpikeDot<CLASS>::JT])
{
  constexpr int    IS = SpikeDot<CLASS>::IS, rows = SpikeDotStep<CLASS, V>::ROWS, M = 4 << CLASS;
  const int        w      = (int)(threadIdx.x / 32);
  const bool       full   = t.wide && t.k == M && t.m == M;
  const PetscInt64 stride = (PetscInt64)blocks * (SPIKE_BLOCK_WARPS / IS) * rows;

  for (PetscInt64 r = ((PetscInt64)block * (SPIKE_BLOCK_WARPS / IS) + w / IS) * rows; r < t.n; r += stride) {
    if (full && r + rows <= t.n) SpikeBlockDotRows<CLASS, true, ROWS, V>(t, (PetscInt)r, w % IS, c);
    else SpikeBlockDotRows<CLASS, false, ROWS, V>(t, (PetscInt)r, w % IS, c);
  }
}

/*
  sum[k] <- the sums number threadIdx.x + k SPIKE_BLOCK_THREADS of `count` pieces, in order. With fewer sums than
  threads, GROUPS of these have a sum, each every GROUPS-th piece; the first of them then has all of it.
*/
template <int SUMS, int PER, int LAYOUT>
__device__ static __forceinline__ void SpikeBlockDotAdd(const SpikeBlockSum *pieces, unsigned count,
                                                        SpikeBlockSum *shared, SpikeBlockSum sum[PER])
{
  /* on their way at once: up to 64 sums of 264 blocks of threads */
  constexpr int GROUPS = SUMS < SPIKE_BLOCK_THREADS ? SPIKE_BLOCK_THREADS / SUMS : 1,
                AHEAD  = SUMS > 64 || LAYOUT == SPIKE_BLOCK_ANY ? 16 : 34;

#pragma unroll
  for (int k = 0; k < PER; k++) {
    const int o = ((int)threadIdx.x + k * SPIKE_BLOCK_THREADS) % SUMS, group = GROUPS > 1 ? (int)threadIdx.x / SUMS : 0;
    SpikeBlockSum v[AHEAD];

    sum[k] = 0.0;
    for (unsigned b = group; b < count; b += AHEAD * GROUPS) {
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        v[u] = b + u * GROUPS < count ? pieces[(PetscCount)(b + u * GROUPS) * SUMS + o] : SpikeBlockSum(0.0);
#pragma unroll
      for (int u = 0; u < AHEAD; u++) sum[k] += v[u];
    }
  }
  if (GROUPS > 1) {
    __syncthreads();
    shared[threadIdx.x] = sum[0];
    __syncthreads();
    if (threadIdx.x < SUMS)
      for (int g = 1; g < GROUPS; g++) sum[0] += shared[threadIdx.x + g * SUMS];
  }
}

/* Leaves the sums of this block of threads; true in the last of `count` that do so */
template <int SUMS, int PER>
__device__ static __forceinline__ bool SpikeBlockDotLeave(SpikeBlockSum *to, const SpikeBlockSum sum[PER],
                                                          unsigned *ticket, unsigned count)
{
  __shared__ int last;

#pragma unroll
  for (int k = 0; k < PER; k++) {
    const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

    if (o < SUMS) to[o] = sum[k];
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1u) == count - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  return true;
}

/*
  Y [op] X^H Z. The operands of a warp come from memory as they are: 4 rows and 8 columns a load, with column-major
  blocks P rows of each in one. Sums: of a warp over its rows, of the warps of a block of threads in order, of those of
  a group in order by the last of them that is done, of the groups by the last of these. Bytes: X and Z once, or X where
  it is Z.
*/
template <int CLASS, int LAYOUT, typename V>
__device__ static __forceinline__ void SpikeBlockDot(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                     SpikeBlockSum *shared, unsigned *tickets)
{
  using D          = SpikeDot<CLASS>;
  constexpr int IT = D::IT, JT = D::JT, IS = D::IS, PER = (D::SUMS + SPIKE_BLOCK_THREADS - 1) / SPIKE_BLOCK_THREADS;
  const int     w = (int)(threadIdx.x / 32), l = (int)(threadIdx.x & 31);
  SpikeMMA      c[IT][JT];
  SpikeBlockSum sum[PER];

#pragma unroll
  for (int i = 0; i < IT; i++)
#pragma unroll
    for (int j = 0; j < JT; j++) c[i][j].clear();
  if (SpikeBlockRowmajor<LAYOUT>(t)) SpikeBlockDotAll<CLASS, true, V>(t, block, blocks, c);
  else SpikeBlockDotAll<CLASS, false, V>(t, block, blocks, c);
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
    const unsigned size = SpikeBlockDotGroup(blocks, D::SUMS), group = block / size,
                   groups = (blocks + size - 1) / size, mine = PetscMin(size, blocks - group * size);
    SpikeBlockSum *of     = t.partials + (PetscCount)blocks * D::SUMS; /* of groups */
    unsigned      *ticket = tickets + t.ticket * SPIKE_BLOCK_TICKETS;

    if (!SpikeBlockDotLeave<D::SUMS, PER>(t.partials + (PetscCount)block * D::SUMS, sum, ticket + 1 + group, mine))
      return;
    SpikeBlockDotAdd<D::SUMS, PER, LAYOUT>(t.partials + (PetscCount)group * size * D::SUMS, mine, shared, sum);
    if (groups > 1) {
      if (!SpikeBlockDotLeave<D::SUMS, PER>(of + (PetscCount)group * D::SUMS, sum, ticket, groups)) return;
      SpikeBlockDotAdd<D::SUMS, PER, LAYOUT>(of, groups, shared, sum);
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
      const int e = o % 2, lane = o / 2 % 32, j = o / 64 % JT, i = o / 64 / JT % IT, split = o / D::E, g = lane / 4,
                p      = 2 * (lane % 4) + e;
      const int row    = D::PACKED ? g : SpikeDotColumn<IT * IS>(t.rowmajor, split * IT + i, g),
                column = D::PACKED ? p : SpikeDotColumn<JT>(t.rowmajor, j, p);

      if (D::PACKED && (g > 3 || p > 3)) continue;
      /* lane + 16 has the row of the other half, and 2 lanes on are 4 columns */
      if (D::PACKED) sum[k] += shared[o + 32 + 4];
      if (row < t.k && column < t.m) {
        V *y = (V *)t.Y + row + column * t.ldy;

        *y = V(t.mode == SPIKE_BLOCK_SET   ? sum[k]
               : t.mode == SPIKE_BLOCK_ADD ? SpikeBlockSum(*y) + sum[k]
                                           : SpikeBlockSum(*y) - sum[k]);
      }
    }
  }
}
