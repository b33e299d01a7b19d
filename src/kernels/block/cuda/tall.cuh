/* SPDX-License-Identifier: BSD-2-Clause */
/* tall.cuh: block axpy and block dot of tall blocks, by the warps of a thread block */
#pragma once

#include "block.cuh"
#include "kernels/common/cuda/lastblock.cuh"

/* Shapes of an axpy of up to MAXCOLS columns: steps of 4 columns of X, tiles of 8 columns of Y */
template <int MAXCOLS, typename V>
struct SpikeBlockAxpyShape {
  static constexpr int KS = MAXCOLS / 4, MT = MAXCOLS < 8 ? 1 : MAXCOLS / 8;
  static constexpr int P = SpikeBlockAxpyRun(MAXCOLS, sizeof(V)), H = SpikeBlockAxpyGroups(MAXCOLS, sizeof(V));
  static constexpr int C = KS > 2 && H > P ? P : H; /* groups of rows whose sums are in registers at once */
};

/* Rows in the order of the tiles: row h of lane group g */
template <bool BYROWS, int P>
__device__ static __forceinline__ int SpikeBlockAxpyRow(int h, int g)
{
  return BYROWS ? 8 * h + g : (h / P) * 8 * P + P * g + h % P;
}

/*
  Rows r to r + 8 H - 1 of X. FAST: all rows and columns of the kernel's shape are there and aligned, so no load depends
  on a branch, and all are on their way together
*/
template <int MAXCOLS, bool FAST, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyLoad(const SpikeBlockItem &t, PetscInt r,
                                                          V x[][SpikeBlockAxpyShape<MAXCOLS, V>::KS])
{
  constexpr int H = SpikeBlockAxpyShape<MAXCOLS, V>::H, KS = SpikeBlockAxpyShape<MAXCOLS, V>::KS,
                P = SpikeBlockAxpyShape<MAXCOLS, V>::P;
  const int l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4;
  const V  *X = (const V *)t.X;

  if (BYROWS) {
    SpikeUnroll(h, H) {
      const PetscInt i = r + SpikeBlockAxpyRow<BYROWS, P>(h, g);

      SpikeBlockLoad<KS>(X + (PetscCount)i * t.ldx + q * KS, FAST || t.wide,
                         FAST      ? KS
                         : i < t.n ? t.k - q * KS
                                   : 0,
                         x[h]);
    }
  } else {
#pragma unroll
    for (int h = 0; h < H; h += P) {
      const PetscInt i = r + SpikeBlockAxpyRow<BYROWS, P>(h, g);

      SpikeUnroll(s, KS) {
        V v[P];

        SpikeBlockLoad<P>(X + i + (PetscCount)(4 * s + q) * t.ldx, FAST || t.wide,
                          FAST              ? P
                          : 4 * s + q < t.k ? t.n - i
                                            : 0,
                          v);
        SpikeUnroll(p, P) x[h + p][s] = v[p];
      }
    }
  }
}

/* C of those rows of Y from h on, tile j of its columns */
template <int MAXCOLS, bool FAST, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyLoadTile(const SpikeBlockItem &t, PetscInt r, int h0, int j,
                                                              V y[][2])
{
  constexpr int C = SpikeBlockAxpyShape<MAXCOLS, V>::C, P = SpikeBlockAxpyShape<MAXCOLS, V>::P;
  const int     l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, column = 8 * j + 2 * q;
  const V      *Y = (const V *)t.Y;

  if (t.mode == SPIKE_BLOCK_SET || (FAST && column >= MAXCOLS)) return;
#pragma unroll
  for (int h = 0; h < C; h += BYROWS ? 1 : P) {
    const PetscInt i = r + SpikeBlockAxpyRow<BYROWS, P>(h0 + h, g);

    if (BYROWS)
      SpikeBlockLoad<2>(Y + (PetscCount)i * t.ldy + column, FAST || t.wide,
                        FAST      ? 2
                        : i < t.n ? t.m - column
                                  : 0,
                        y[h]);
    else {
      SpikeUnroll(e, 2) {
        V w[P];

        SpikeBlockLoad<P>(Y + i + (PetscCount)(column + e) * t.ldy, FAST || t.wide,
                          FAST               ? P
                          : column + e < t.m ? t.n - i
                                             : 0,
                          w);
        SpikeUnroll(p, P) y[h + p][e] = w[p];
      }
    }
  }
}

template <int MAXCOLS, bool FAST, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyStoreTile(const SpikeBlockItem &t, PetscInt r, int h0, int j,
                                                               const SpikeMMA c[])
{
  constexpr int C = SpikeBlockAxpyShape<MAXCOLS, V>::C, P = SpikeBlockAxpyShape<MAXCOLS, V>::P;
  const int     l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, column = 8 * j + 2 * q;
  V            *Y = (V *)t.Y;

  if (FAST && column >= MAXCOLS) return;
#pragma unroll
  for (int h = 0; h < C; h += BYROWS ? 1 : P) {
    const PetscInt i = r + SpikeBlockAxpyRow<BYROWS, P>(h0 + h, g);

    if (BYROWS) {
      const V v[2] = {V(c[h].get(0)), V(c[h].get(1))};

      SpikeBlockStore<2>(Y + (PetscCount)i * t.ldy + column, FAST || t.wide, FAST ? 2 : i < t.n ? t.m - column : 0, v);
    } else {
      SpikeUnroll(e, 2) {
        V v[P];

        SpikeUnroll(p, P) v[p] = V(c[h + p].get(e));
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
template <int MAXCOLS, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyShare(const SpikeBlockItem &t, SpikeBlockSum *shared)
{
  constexpr int KS = SpikeBlockAxpyShape<MAXCOLS, V>::KS, MT = SpikeBlockAxpyShape<MAXCOLS, V>::MT;
  const V      *Z = (const V *)t.Z;

  for (int e = (int)threadIdx.x; e < KS * MT * 32; e += SPIKE_BLOCK_THREADS) {
    const int lane = e % 32, s = e / 32 % KS, c = e / 32 / KS, row = BYROWS ? lane % 4 * KS + s : 4 * s + lane % 4,
              column = 8 * c + lane / 4;

    shared[e] = row < t.k && column < t.m ? SpikeBlockSum(Z[row + column * t.ldz]) : SpikeBlockSum(0.0);
  }
  __syncthreads();
}

template <int MAXCOLS, bool FAST, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyStep(const SpikeBlockItem &t, PetscInt r, bool sharing,
                                                          SpikeBlockSum *shared)
{
  using T         = SpikeBlockAxpyShape<MAXCOLS, V>;
  constexpr int H = T::H, C = T::C, KS = T::KS, MT = T::MT;
  const int     l     = (int)(threadIdx.x & 31);
  constexpr int UNITS = H / C * MT, AHEAD = UNITS < 2 || sizeof(V) < 8 ? 1 : 2; /* AHEAD: pieces of Y on their way */
  V             x[H][KS], y[AHEAD][C][2];

  SpikeBlockAxpyLoad<MAXCOLS, FAST, BYROWS, V>(t, r, x);
  SpikeUnroll(u, AHEAD) SpikeBlockAxpyLoadTile<MAXCOLS, FAST, BYROWS, V>(t, r, u / MT * C, u % MT, y[u]);
  if (sharing) SpikeBlockAxpyShare<MAXCOLS, BYROWS, V>(t, shared); /* while the first rows travel */
  if (t.mode == SPIKE_BLOCK_SUB) {
    SpikeUnroll2(h, H, s, KS) x[h][s] = -x[h][s];
  }
  SpikeUnroll(u, UNITS) {
    const int h0 = u / MT * C, j = u % MT;
    SpikeMMA  c[C];

    SpikeUnroll(h, C) {
      c[h].clear();
      if (t.mode != SPIKE_BLOCK_SET && !(FAST && 2 * (l % 4) >= MAXCOLS)) {
        c[h].put(0, y[u % AHEAD][h][0]);
        c[h].put(1, y[u % AHEAD][h][1]);
      }
    }
    if (u + AHEAD < UNITS)
      SpikeBlockAxpyLoadTile<MAXCOLS, FAST, BYROWS, V>(t, r, (u + AHEAD) / MT * C, (u + AHEAD) % MT, y[u % AHEAD]);
    SpikeUnroll(s, KS) {
      const SpikeBlockSum z = shared[(j * KS + s) * 32 + l];

      SpikeUnroll(h, C) c[h].add(x[h0 + h][s], z);
    }
    SpikeBlockAxpyStoreTile<MAXCOLS, FAST, BYROWS, V>(t, r, h0, j, c);
  }
}

/* For missing rows or columns, and unaligned ones. A function of its own, so that other steps have fewer registers */
template <int MAXCOLS, bool BYROWS, typename V>
__device__ static __noinline__ void SpikeBlockAxpyEdge(const SpikeBlockItem &t, PetscInt r, bool sharing,
                                                       SpikeBlockSum *shared)
{
  SpikeBlockAxpyStep<MAXCOLS, false, BYROWS, V>(t, r, sharing, shared);
}

/*
  Y [op] X Z. The operands of a warp come straight from memory. Lane l reads KS columns of rows l / 4: consecutive ones
  with row-major blocks, P consecutive rows of each with column-major ones; columns of X meet the rows of Z in the same
  order in both. Bytes: X, Y once. One warp makes a row, whose bits depend on nothing else.
*/
template <int MAXCOLS, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockAxpyLayout(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                            SpikeBlockSum *shared)
{
  constexpr int    rows   = 8 * SpikeBlockAxpyShape<MAXCOLS, V>::H;
  const PetscInt64 stride = (PetscInt64)blocks * SPIKE_BLOCK_WARPS * rows,
                   first  = (PetscInt64)block * SPIKE_BLOCK_WARPS * rows;
  const bool full         = t.wide && t.k == MAXCOLS && t.m == t.k;

  for (PetscInt64 base = first; base < t.n; base += stride) { /* the same for all warps: they meet once */
    const PetscInt64 r = base + (PetscInt64)(threadIdx.x / 32) * rows;

    if (full && base + SPIKE_BLOCK_WARPS * rows <= t.n)
      SpikeBlockAxpyStep<MAXCOLS, true, BYROWS, V>(t, (PetscInt)r, base == first, shared);
    else SpikeBlockAxpyEdge<MAXCOLS, BYROWS, V>(t, (PetscInt)PetscMin(r, (PetscInt64)t.n), base == first, shared);
  }
}

template <int MAXCOLS, SpikeBlockLayout MAJOR, typename V>
__device__ static __forceinline__ void SpikeBlockAxpy(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                      SpikeBlockSum *shared)
{
  if (SpikeBlockIsRowmajor<MAJOR>(t)) SpikeBlockAxpyLayout<MAXCOLS, true, V>(t, block, blocks, shared);
  else SpikeBlockAxpyLayout<MAXCOLS, false, V>(t, block, blocks, shared);
}

/*
  A warp has IT x JT tiles of X^H Z, and IWARPS warps share the rows of X. PACKED, up to 4 columns: two groups of rows
  side by side; the sums are the blocks on the diagonal of a tile, added up
*/
template <int MAXCOLS>
struct SpikeBlockDotShape {
  static constexpr bool PACKED = MAXCOLS == 4;
  static constexpr int  IT = MAXCOLS < 16 ? 1 : 2, JT = MAXCOLS < 16 ? 1 : MAXCOLS / 8, IWARPS = MAXCOLS == 32 ? 2 : 1;
  static constexpr int  E = IT * JT * 64, NSUMS = IWARPS * E; /* of a warp, of a block */
  static constexpr int  MOST  = SPIKE_BLOCK_SHARED / (int)sizeof(SpikeBlockSum) / E;
  static constexpr int  ROUND = SPIKE_BLOCK_WARPS < MOST ? SPIKE_BLOCK_WARPS : MOST;
};

/* Loads of a lane in a step: N of each tile, 64 bytes or a little more; rows that a warp takes at a time */
template <int MAXCOLS, typename V>
struct SpikeBlockDotStep {
  static constexpr int WANT = 64 /
                              ((SpikeBlockDotShape<MAXCOLS>::IT + SpikeBlockDotShape<MAXCOLS>::JT) * (int)sizeof(V)),
                       P        = SpikeBlockValues(sizeof(V));
  static constexpr int N        = WANT > P ? WANT / P *P : P;
  static constexpr int STEPROWS = (SpikeBlockDotShape<MAXCOLS>::PACKED ? 8 : 4) * N;
};

/*
  Pieces of a tall block as operands: lane (q, g) has value (row, column g of a tile) for C8 tiles, N rows in turn. This
  is the column of a tile with number g
*/
template <int C8>
__device__ static __forceinline__ int SpikeBlockDotColumn(bool rowmajor, int tile, int g)
{
  return rowmajor ? g * C8 + tile : 8 * tile + g;
}

template <int C8, int N, bool PACKED, bool FAST, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockDotLoad(const V *X, PetscCount ld, int m, PetscInt n, PetscInt r,
                                                         int tile0, int tiles, bool wide, V v[N][C8])
{
  const int l = (int)(threadIdx.x & 31), q = l % 4, g = PACKED ? l / 4 % 4 : l / 4, half = PACKED ? l / 16 : 0;

  if (BYROWS) { /* rows r + q + 4 k, those of the second half after those of the first */
    SpikeUnroll(k, N) {
      const PetscInt i = r + (PACKED ? 8 * k + 4 * half : 4 * k) + q;
      const int      c = g * tiles + tile0;

      SpikeBlockLoad<C8>(X + (PetscCount)i * ld + c, FAST || wide, FAST ? C8 : i < n ? m - c : 0, v[k]);
    }
  } else { /* P rows at once */
    constexpr int P = SpikeBlockValues(sizeof(V));

#pragma unroll
    for (int k = 0; k < N; k += P) {
      const PetscInt i = r + (PACKED ? 8 * k + 4 * P * half : 4 * k) + P * q;

      SpikeUnroll(c, C8) {
        const int column = 8 * (tile0 + c) + g;
        V         w[P];

        SpikeBlockLoad<P>(X + i + (PetscCount)column * ld, FAST || wide, FAST ? P : column < m ? n - i : 0, w);
        SpikeUnroll(p, P) v[k + p][c] = w[p];
      }
    }
  }
}

template <int MAXCOLS, bool FAST, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockDotRows(const SpikeBlockItem &t, PetscInt r, int is,
                                                         SpikeMMA c[][SpikeBlockDotShape<MAXCOLS>::JT])
{
  using D          = SpikeBlockDotShape<MAXCOLS>;
  constexpr int IT = D::IT, JT = D::JT, N = SpikeBlockDotStep<MAXCOLS, V>::N;
  V             x[N][IT], z[N][JT];

  SpikeBlockDotLoad<IT, N, D::PACKED, FAST, BYROWS>((const V *)t.X, t.ldx, t.k, t.n, r, is * IT, IT * D::IWARPS, t.wide,
                                                    x);
  if (IT == JT && t.same) {
    SpikeUnroll2(k, N, j, JT) z[k][j] = x[k][j % IT];
  } else SpikeBlockDotLoad<JT, N, D::PACKED, FAST, BYROWS>((const V *)t.Z, t.ldz, t.m, t.n, r, 0, JT, t.wide, z);
  SpikeUnroll2(k, N, i, IT) {
    const V a = SpikeBlockConj(x[k][i], true);

    SpikeUnroll(j, JT) c[i][j].add(a, z[k][j]);
  }
}

template <int MAXCOLS, bool BYROWS, typename V>
__device__ static __forceinline__ void SpikeBlockDotAll(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                        SpikeMMA c[][SpikeBlockDotShape<MAXCOLS>::JT])
{
  constexpr int    IWARPS = SpikeBlockDotShape<MAXCOLS>::IWARPS, rows = SpikeBlockDotStep<MAXCOLS, V>::STEPROWS;
  const int        w      = (int)(threadIdx.x / 32);
  const bool       full   = t.wide && t.k == MAXCOLS && t.m == MAXCOLS;
  const PetscInt64 stride = (PetscInt64)blocks * (SPIKE_BLOCK_WARPS / IWARPS) * rows;

  for (PetscInt64 r = ((PetscInt64)block * (SPIKE_BLOCK_WARPS / IWARPS) + w / IWARPS) * rows; r < t.n; r += stride) {
    if (full && r + rows <= t.n) SpikeBlockDotRows<MAXCOLS, true, BYROWS, V>(t, (PetscInt)r, w % IWARPS, c);
    else SpikeBlockDotRows<MAXCOLS, false, BYROWS, V>(t, (PetscInt)r, w % IWARPS, c);
  }
}

/*
  sum[k] <- sum number threadIdx.x + k SPIKE_BLOCK_THREADS over `count` pieces, in their order. With fewer sums than
  threads NGROUPS of threads share a sum, each has every NGROUPS-th piece, and the first gets all of it.
*/
template <int NSUMS, int PER, SpikeBlockLayout MAJOR>
__device__ static __forceinline__ void SpikeBlockDotAdd(const SpikeBlockSum *pieces, unsigned count,
                                                        SpikeBlockSum *shared, SpikeBlockSum sum[PER])
{
  constexpr int NGROUPS = NSUMS < SPIKE_BLOCK_THREADS ? SPIKE_BLOCK_THREADS / NSUMS : 1,
                AHEAD   = SpikeBlockDotAhead(NSUMS, MAJOR);

  SpikeUnroll(k, PER) {
    const int o     = ((int)threadIdx.x + k * SPIKE_BLOCK_THREADS) % NSUMS,
              group = NGROUPS > 1 ? (int)threadIdx.x / NSUMS : 0;
    SpikeBlockSum v[AHEAD];

    sum[k] = 0.0;
    for (unsigned b = group; b < count; b += AHEAD * NGROUPS) {
      SpikeUnroll(u, AHEAD)
        v[u] = b + u * NGROUPS < count ? pieces[(PetscCount)(b + u * NGROUPS) * NSUMS + o] : SpikeBlockSum(0.0);
      SpikeUnroll(u, AHEAD) sum[k] += v[u];
    }
  }
  if (NGROUPS > 1) {
    __syncthreads();
    shared[threadIdx.x] = sum[0];
    __syncthreads();
    if (threadIdx.x < NSUMS)
      for (int g = 1; g < NGROUPS; g++) sum[0] += shared[threadIdx.x + g * NSUMS];
  }
}

/* Leaves the sums of this thread block; true in the last of `count` that do so */
template <int NSUMS, int PER>
__device__ static __forceinline__ bool SpikeBlockDotLeave(SpikeBlockSum *to, const SpikeBlockSum sum[PER],
                                                          unsigned *ticket, unsigned count)
{
  SpikeUnroll(k, PER) {
    const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

    if (o < NSUMS) to[o] = sum[k];
  }
  __syncthreads();
  return SpikeIsLastThreadBlock(ticket, count);
}

/*
  Y [op] X^H Z. The operands of a warp come straight from memory: 4 rows and 8 columns a load, with column-major blocks
  P rows of each in one. The order of the sums: a warp's rows, the warps of a thread block, the thread blocks of a group
  (by the last of them to end), the groups (by the last of these). Bytes: X and Z once, or X where it is Z.
*/
template <int MAXCOLS, SpikeBlockLayout MAJOR, typename V>
__device__ static __forceinline__ void SpikeBlockDot(const SpikeBlockItem &t, unsigned block, unsigned blocks,
                                                     SpikeBlockSum *shared, unsigned *tickets)
{
  using D          = SpikeBlockDotShape<MAXCOLS>;
  constexpr int IT = D::IT, JT = D::JT, IWARPS = D::IWARPS,
                PER = (D::NSUMS + SPIKE_BLOCK_THREADS - 1) / SPIKE_BLOCK_THREADS;
  const int     w = (int)(threadIdx.x / 32), l = (int)(threadIdx.x & 31);
  SpikeMMA      c[IT][JT];
  SpikeBlockSum sum[PER];

  SpikeUnroll2(i, IT, j, JT) c[i][j].clear();
  if (SpikeBlockIsRowmajor<MAJOR>(t)) SpikeBlockDotAll<MAXCOLS, true, V>(t, block, blocks, c);
  else SpikeBlockDotAll<MAXCOLS, false, V>(t, block, blocks, c);
  SpikeUnroll(k, PER) sum[k] = 0.0;
  for (int first = 0; first < SPIKE_BLOCK_WARPS; first += D::ROUND) {
    if (first) __syncthreads();
    if (w >= first && w < first + D::ROUND) {
      SpikeUnroll3(i, IT, j, JT, e, 2) shared[(w - first) * D::E + (i * JT + j) * 64 + l * 2 + e] = c[i][j].get(e);
    }
    __syncthreads();
    SpikeUnroll(k, PER) {
      const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

      if (o < D::NSUMS)
        for (int v = o / D::E; v < D::ROUND; v += IWARPS) sum[k] += shared[v * D::E + o % D::E];
    }
  }
  if (blocks > 1) {
    const unsigned size = SpikeBlockDotGroup(blocks, D::NSUMS), group = block / size,
                   groups = (blocks + size - 1) / size, mine = PetscMin(size, blocks - group * size);
    SpikeBlockSum *of     = t.partials + (PetscCount)blocks * D::NSUMS; /* of groups */
    unsigned      *ticket = tickets + t.ticket * SPIKE_BLOCK_TICKETS;

    if (!SpikeBlockDotLeave<D::NSUMS, PER>(t.partials + (PetscCount)block * D::NSUMS, sum, ticket + 1 + group, mine))
      return;
    SpikeBlockDotAdd<D::NSUMS, PER, MAJOR>(t.partials + (PetscCount)group * size * D::NSUMS, mine, shared, sum);
    if (groups > 1) {
      if (!SpikeBlockDotLeave<D::NSUMS, PER>(of + (PetscCount)group * D::NSUMS, sum, ticket, groups)) return;
      SpikeBlockDotAdd<D::NSUMS, PER, MAJOR>(of, groups, shared, sum);
    }
  }
  if (D::PACKED) {
    __syncthreads();
    if (threadIdx.x < D::NSUMS) shared[threadIdx.x] = sum[0];
    __syncthreads();
  }
  SpikeUnroll(k, PER) {
    const int o = (int)threadIdx.x + k * SPIKE_BLOCK_THREADS;

    if (o < D::NSUMS) {
      const int e = o % 2, lane = o / 2 % 32, j = o / 64 % JT, i = o / 64 / JT % IT, split = o / D::E, g = lane / 4,
                p      = 2 * (lane % 4) + e;
      const int row    = D::PACKED ? g : SpikeBlockDotColumn<IT * IWARPS>(t.rowmajor, split * IT + i, g),
                column = D::PACKED ? p : SpikeBlockDotColumn<JT>(t.rowmajor, j, p);

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
