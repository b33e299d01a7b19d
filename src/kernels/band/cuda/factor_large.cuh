/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor_large.cuh: the factorization with T > 16, for one precision of the factors; factor_double.cu and so on have one
  each. A process loads the code of a file with its first kernel: so it is that of one precision
*/
#pragma once

#include "band.cuh"
#include "factor.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "factor_warp.cuh"
  #include "factor_wide.cuh"
#endif

#if defined(PETSC_USE_COMPLEX)
/*
  T > 16, complex numbers (real ones: factor_warp.cuh, factor_wide.cuh): a block of warps a partition, tiles padded to
  TP x TP. Step j, D_jj inverted by one warp before:
    panels    L_ij <- A_ij U^-1_jj,  i = j + 1 .. j + QL         U_jk <- L^-1_jj A_jk,  k = j + 1 .. j + QU
    update    A_ik <- A_ik - L_ij U_jk; the first warp takes A_j+1,j+1 and inverts it at once, while the others do the
              rest
  With INSHARED the tiles (i, k) of a step are in shared memory, at place (i mod QL + 1, k mod QU + 1), from their first
  update to their last use; else they stay in the band itself (the cache), and shared memory holds the inverted tile
  and, where there is room, the panel U_jk. Reads and writes the band once with INSHARED, 2 (QL + QU) T n numbers;
  without, 2 QL QU T^2 numbers a step through the cache. Steps go over the tiles that the partition has on either side,
  nbelow and nabove, QL and QU or fewer.
*/
template <int N8>
struct SpikeTileSize {
  /* LD = 4 mod 8: fragments without bank conflicts */
  static constexpr int TP = 8 * N8, LD = TP + 4, SIZE = TP * LD, H = (N8 + 1) / 2;
};

/* Where the tiles of a partition are */
template <typename F>
struct SpikePartition {
  F         *band;
  PetscInt64 rowsize;
  int        T, QL, QU;

  enum Mask {
    FULL,
    ISUPPER,
    ISLOWER
  };
  __device__ F   *tile(int i, int k) const { return band + i * rowsize + (k < i ? i - k - 1 : QL + k - i - 1) * T * T; }
  __device__ Mask mask(int i, int k) const { return i - k == QL ? ISUPPER : k - i == QU ? ISLOWER : FULL; }
  /* element of an off-diagonal tile (i, k) */
  __device__ bool has(Mask mask, int r, int c) const
  {
    return r < T && c < T && (mask == FULL || (mask == ISUPPER ? r <= c : c <= r));
  }
  __device__ SpikeArith load(const F *tile, Mask mask, int r, int c) const
  {
    return SpikeArith(has(mask, r, c) ? tile[c * T + r] : F(0.0));
  }
  __device__ void store(F *tile, Mask mask, int r, int c, SpikeArith v) const
  {
    if (has(mask, r, c)) tile[c * T + r] = F(v);
  }
  /* element of the diagonal tile of row j, NULL where it is not stored */
  __device__ F *diagonal(int j, int r, int c) const
  {
    F *row = band + j * rowsize;

    if (r >= T || c >= T) return NULL;
    if (r == c) return row + (QL + QU) * T * T + r;
    if (r > c) return QL ? row + ((QL - 1) * T + c) * T + r : NULL;
    return QU ? row + ((QL + QU - 1) * T + c) * T + r : NULL;
  }
  __device__ SpikeArith loaddiagonal(int j, int r, int c) const
  {
    const F *d = diagonal(j, r, c);

    return SpikeArith(d ? *d : F(r == c ? 1.0 : 0.0));
  }
};

/* Panels, products of a warp: fragments of the tile first, then the result over it. s: the inverses of tile j */
template <typename F, int N8, bool INSHARED>
__device__ static inline void SpikePanelL(const SpikePartition<F> &P, int i, int j, bool raw, const SpikeArith *s,
                                          SpikeArith *slot)
{
  constexpr int                          LD = SpikeTileSize<N8>::LD, H = SpikeTileSize<N8>::H;
  const int                              g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
  F                                     *tile = P.tile(i, j);
  const typename SpikePartition<F>::Mask mask = P.mask(i, j);
  SpikeArith                             a[H][N8][4];

  SpikeUnroll3(h, H, kb, N8, e, 4) {
    const int r = 16 * h + g + 8 * (e & 1), c = 8 * kb + q + 4 * (e >> 1);

    if (2 * h + (e & 1) < N8) a[h][kb][e] = INSHARED && !raw ? slot[c * LD + r] : P.load(tile, mask, r, c);
    else a[h][kb][e] = SpikeArith(0.0);
  }
  __syncwarp();
  SpikeUnroll(nb, N8) {
    SpikeArith x[H][4];

    SpikeUnroll2(h, H, e, 4) x[h][e] = SpikeArith(0.0);
    SpikeUnroll(kb, nb + 1) {
      const SpikeArith *col = s + (8 * nb + g) * LD + 8 * kb + q;
      SpikeArith        b[2];

      b[0] = kb < nb || q <= g ? col[0] : SpikeArith(0.0);
      b[1] = kb < nb || q + 4 <= g ? col[4] : SpikeArith(0.0);
      SpikeUnroll(h, H) SpikeTileMMA(x[h], a[h][kb], b);
    }
    SpikeUnroll2(h, H, e, 4) {
      const int r = 16 * h + g + 8 * (e >> 1), c = 8 * nb + 2 * q + (e & 1);

      if (2 * h + (e >> 1) < N8) {
        if (INSHARED) slot[c * LD + r] = x[h][e];
        P.store(tile, mask, r, c, x[h][e]);
      }
    }
  }
}

template <typename F, int N8, bool INSHARED>
__device__ static inline void SpikePanelU(const SpikePartition<F> &P, int j, int k, bool raw, const SpikeArith *s,
                                          SpikeArith *slot)
{
  constexpr int                          LD = SpikeTileSize<N8>::LD, H = SpikeTileSize<N8>::H;
  const int                              g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
  F                                     *tile = P.tile(j, k);
  const typename SpikePartition<F>::Mask mask = P.mask(j, k);
  SpikeArith                             b[N8][N8][2];

  SpikeUnroll3(kb, N8, nb, N8, e, 2) {
    const int r = 8 * kb + q + 4 * e, c = 8 * nb + g;

    b[kb][nb][e] = INSHARED && !raw ? slot[c * LD + r] : P.load(tile, mask, r, c);
  }
  __syncwarp();
  SpikeUnroll(h, H) {
    SpikeArith a[N8][4];

  #pragma unroll
    for (int kb = 0; kb < N8 && kb <= 2 * h + 1; kb++)
      SpikeUnroll(e, 4) {
        const int r = 16 * h + g + 8 * (e & 1), c = 8 * kb + q + 4 * (e >> 1);

        a[kb][e] = r > c && 2 * h + (e & 1) < N8 ? s[c * LD + r] : SpikeArith(r == c ? 1.0 : 0.0);
      }
    SpikeUnroll(nb, N8) {
      SpikeArith y[4];

      SpikeUnroll(e, 4) y[e] = SpikeArith(0.0);
  #pragma unroll
      for (int kb = 0; kb < N8 && kb <= 2 * h + 1; kb++) SpikeTileMMA(y, a[kb], b[kb][nb]);
      SpikeUnroll(e, 4) {
        const int r = 16 * h + g + 8 * (e >> 1), c = 8 * nb + 2 * q + (e & 1);

        if (2 * h + (e >> 1) < N8) {
          if (slot) slot[c * LD + r] = y[e];
          P.store(tile, mask, r, c, y[e]);
        }
      }
    }
  }
}

/* A_ik - L_ij U_jk of a warp, to the front, to the tile that is inverted next (out), or to the band */
template <typename F, int N8, bool INSHARED>
__device__ static inline void SpikeUpdate(const SpikePartition<F> &P, int i, int j, int k, bool raw,
                                          const SpikeArith *l, const SpikeArith *u, const SpikeArith *from,
                                          SpikeArith *out)
{
  constexpr int LD = SpikeTileSize<N8>::LD, H = SpikeTileSize<N8>::H;
  const int     g = (threadIdx.x & 31) >> 2, q = threadIdx.x & 3;
  F            *tile = i == k ? NULL : P.tile(i, k), *ltile = P.tile(i, j), *utile = P.tile(j, k);
  const typename SpikePartition<F>::Mask mask = P.mask(i, k), lmask = P.mask(i, j), umask = P.mask(j, k);
  /* corners are triangular: blocks of zeros are skipped */
  const bool lcorner = i - j == P.QL, ucorner = k - j == P.QU;
  SpikeArith a[H][N8][4];

  auto old = [&](int r, int c) {
    return INSHARED && !raw ? from[c * LD + r] : i == k ? P.loaddiagonal(i, r, c) : P.load(tile, mask, r, c);
  };
  SpikeUnroll3(h, H, kb, N8, e, 4) {
    const int r = 16 * h + g + 8 * (e & 1), c = 8 * kb + q + 4 * (e >> 1);

    if (2 * h + (e & 1) < N8) a[h][kb][e] = INSHARED ? l[c * LD + r] : P.load(ltile, lmask, r, c);
    else a[h][kb][e] = SpikeArith(0.0);
  }
  SpikeUnroll(nb, N8) {
    SpikeArith x[H][4];

    SpikeUnroll2(h, H, e, 4) x[h][e] = SpikeArith(0.0);
    SpikeUnroll(kb, N8) {
      SpikeArith b[2];

      if (ucorner && kb < nb) continue;
      SpikeUnroll(e, 2) {
        const int r = 8 * kb + q + 4 * e, c = 8 * nb + g;

        b[e] = INSHARED || u ? u[c * LD + r] : P.load(utile, umask, r, c);
      }
      SpikeUnroll(h, H)
        if (!lcorner || kb >= 2 * h) SpikeTileMMA(x[h], a[h][kb], b);
    }
    SpikeUnroll2(h, H, e, 4) {
      const int r = 16 * h + g + 8 * (e >> 1), c = 8 * nb + 2 * q + (e & 1);

      if (2 * h + (e >> 1) < N8) {
        const SpikeArith v = old(r, c) - x[h][e];

        if (INSHARED || out) out[c * LD + r] = v;
        else if (i == k) {
          F *d = P.diagonal(i, r, c);

          if (d) *d = F(v);
        } else P.store(tile, mask, r, c, v);
      }
    }
  }
}

template <typename F, int N8, bool INSHARED>
__global__ void __launch_bounds__(256, 1)
  SpikeFactorTiles(SpikeTiles t, F *band, SpikePivotPolicy given, bool upanel, SpikeStatus *status, double *badvalue)
{
  const SpikePivotPolicy policy = SpikePivotAbsolute(given);
  constexpr int          TP = SpikeTileSize<N8>::TP, LD = SpikeTileSize<N8>::LD, SIZE = SpikeTileSize<N8>::SIZE;
  extern __shared__ char shared[];
  __shared__ int         next;
  SpikeArith            *tiles = (SpikeArith *)shared;
  const PetscInt         p     = blockIdx.x;
  const int              rows = (int)(t.start[p + 1] - t.start[p]), lane = threadIdx.x % 32, warp = threadIdx.x / 32,
            warps = blockDim.x / 32, QL = t.QL, QU = t.QU, nbelow = t.below(p), nabove = t.above(p), T = t.T,
            /* rows after the end have their factors as they are */
    steps                    = PetscMax(1, (rows + T - 1) / T);
  const SpikePartition<F> P  = {band + t.group(p), t.rowsize, T, QL, QU};
  SpikePivotState         st = {-1, 0, 0.0};

  auto place  = [&](int i, int k) { return tiles + ((i % (QL + 1)) * (QU + 1) + k % (QU + 1)) * SIZE; };
  auto square = [&](int j) { return INSHARED ? place(j, j) : tiles; };
  /* D_jj in shared memory, or raw, becomes its inverses there and in the band */
  auto invert = [&](int j, bool raw) {
    const int   g = lane >> 2, q = lane & 3;
    SpikeArith *s = square(j), d[N8][N8][2];

    SpikeUnroll3(m, N8, n, N8, e, 2) {
      const int r = 8 * m + g, c = 8 * n + 2 * q + e;

      d[m][n][e] = r >= T || c >= T ? SpikeArith(0.0) : raw ? P.loaddiagonal(j, r, c) : s[c * LD + r];
    }
    __syncwarp();
    if (lane < TP)
      for (int c = 0; c < TP; c++)
        if (lane >= T || c >= T) s[c * LD + lane] = SpikeArith(0.0);
    SpikeSquareInvert<N8>(d, s, LD, T, j * T, rows, policy, st);
  #pragma unroll 4
    for (int c = 0; c < T; c++) {
      F *to = P.diagonal(j, lane, c);

      if (to) *to = F(s[c * LD + lane]);
    }
  };

  if (warp == 0) invert(0, true);
  for (int j = 0;; j++) {
    const int nl = min(nbelow, steps - 1 - j), nu = min(nabove, steps - 1 - j);

    __syncthreads();
    if (j + 1 >= steps) break;
    if (threadIdx.x == 0) next = 1;
    /* without L the upper tiles are final as they are */
    for (int job = warp; job < nl + (nbelow ? nu : 0); job += warps) {
      if (job < nl) {
        const int i = j + 1 + job;

        SpikePanelL<F, N8, INSHARED>(P, i, j, j == 0 || i - j == nbelow || nabove == 0, square(j),
                                     INSHARED ? place(i, j) : NULL);
      } else {
        const int k = j + 1 + job - nl;

        SpikePanelU<F, N8, INSHARED>(P, j, k, j == 0 || k - j == nabove, square(j),
                                     INSHARED ? place(j, k)
                                     : upanel ? tiles + (k - j) * SIZE
                                              : NULL);
      }
    }
    __syncthreads();
    for (int job = warp ? -1 : 0;;) {
      if (job < 0) { /* the next tile that nobody has taken */
        if (lane == 0) job = atomicAdd(&next, 1);
        job = __shfl_sync(0xFFFFFFFFu, job, 0);
        if (job >= nl * nu) break;
      }
      if (job < nl * nu) {
        const int   i = j + 1 + job / nu, k = j + 1 + job % nu;
        const bool  raw  = j == 0 || i - j == nbelow || k - j == nabove;
        SpikeArith *slot = INSHARED ? place(i, k) : job ? NULL : tiles;

        SpikeUpdate<F, N8, INSHARED>(P, i, j, k, raw, INSHARED ? place(i, j) : NULL,
                                     INSHARED ? place(j, k)
                                     : upanel ? tiles + (k - j) * SIZE
                                              : NULL,
                                     slot, slot);
      }
      if (job == 0) {
        __syncwarp();
        invert(j + 1, nl * nu == 0);
      }
      job = -1;
    }
  }
  if (threadIdx.x == 0) SpikeReportPivots(t, p, st, status, badvalue);
}

template <typename F, int N8, bool INSHARED>
static PetscErrorCode SpikeFactorTiles_Private(SpikeBand *s, const SpikePivotPolicy &policy)
{
  SpikeCUDA   *h = (SpikeCUDA *)s->data;
  const int    Q = PetscMax(h->t.QL, h->t.QU), warps = Q == 1 ? 1 : Q == 2 ? 4 : 8;
  const size_t tile   = SpikeTileSize<N8>::SIZE * sizeof(SpikeArith);
  const bool   upanel = !INSHARED && (1 + h->t.QU) * tile + 1024 <= (size_t)h->gpu->shared;
  const size_t bytes  = (INSHARED ? (h->t.QL + 1) * (h->t.QU + 1) : 1 + (upanel ? h->t.QU : 0)) * tile;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeFactorTiles<F, N8, INSHARED>, 32 * warps, bytes));
  SpikeFactorTiles<F, N8, INSHARED>
    <<<(unsigned int)s->np, 32 * warps, bytes, (cudaStream_t)s->stream>>>(h->t, (F *)s->band, policy, upanel,
                                                                          &h->report->factor, h->badvalue);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else
/* Factors of 16 bits are there for short applications: among their kernels those of wide bands alone know full tiles */
template <typename F, int N8, bool FULL>
constexpr bool SpikeFactorIsWhole = FULL && (sizeof(F) > 2 || N8 == 4);

template <typename F, int N8, bool FULL>
static PetscErrorCode SpikeFactorWarp_Private(SpikeBand *s, const SpikePivotPolicy &policy)
{
  constexpr bool WHOLE  = SpikeFactorIsWhole<F, N8, FULL>;
  SpikeCUDA     *h      = (SpikeCUDA *)s->data;
  const size_t   each   = sizeof(SpikeWarpShared<F, N8>);
  const int      warps  = (int)PetscMax(1, PetscMin(SPIKE_FACTOR_WARPS, (size_t)h->gpu->shared / each));
  const size_t   bytes  = warps * each;
  const PetscInt blocks = (s->np + warps - 1) / warps;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeFactorWarp<F, N8, WHOLE>, 32 * warps, bytes));
  SpikeFactorWarp<F, N8, WHOLE>
    <<<(unsigned int)blocks, 32 * warps, bytes, (cudaStream_t)s->stream>>>(h->t, (F *)s->band, policy,
                                                                           h->left.aa ? &h->report->again : NULL,
                                                                           &h->report->factor, h->badvalue);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F, int N8, bool FULL, bool INSHARED, int NWARPS>
static PetscErrorCode SpikeFactorThreadBlock_Private(SpikeBand *s, const SpikePivotPolicy &policy, int tiles,
                                                     bool split)
{
  constexpr bool WHOLE = SpikeFactorIsWhole<F, N8, FULL>;
  SpikeCUDA     *h     = (SpikeCUDA *)s->data;
  const size_t   bytes = tiles * SpikeTileShape<N8>::NPLACES * sizeof(double);

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeFactorThreadBlock<F, N8, WHOLE, INSHARED, NWARPS>, 32 * NWARPS, bytes));
  SpikeFactorThreadBlock<F, N8, WHOLE, INSHARED, NWARPS>
    <<<(unsigned int)s->np, 32 * NWARPS, bytes, (cudaStream_t)s->stream>>>(h->t, (F *)s->band, policy, split,
                                                                           &h->report->factor, h->badvalue);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

template <typename F>
PetscErrorCode SpikeFactorLarge(SpikeBand *s, const SpikePivotPolicy &policy)
{
  SpikeCUDA   *h = (SpikeCUDA *)s->data;
  const int    T = h->t.T, QL = h->t.QL, QU = h->t.QU, front = (QL + 1) * (QU + 1);
  const size_t room = (size_t)h->gpu->shared - SPIKE_FACTOR_STATIC;

  PetscFunctionBegin;
#if defined(PETSC_USE_COMPLEX)
  if (T <= 24 && front * SpikeTileSize<3>::SIZE * sizeof(SpikeArith) <= room)
    PetscCall((SpikeFactorTiles_Private<F, 3, true>(s, policy)));
  else if (front * SpikeTileSize<4>::SIZE * sizeof(SpikeArith) <= room)
    PetscCall((SpikeFactorTiles_Private<F, 4, true>(s, policy)));
  else PetscCall((SpikeFactorTiles_Private<F, 4, false>(s, policy)));
#else
  const int most  = (int)(room / (SpikeTileShape<4>::NPLACES * sizeof(double))),
            most3 = (int)(room / (SpikeTileShape<3>::NPLACES * sizeof(double)));
  /*
    without U nothing is kept in a front, and its places for the next inverse and for the first tile of L would be the
    same
  */
  const bool wanted = QU > 0;

  if (QL <= 1 && QU <= 1) {
    if (T <= 24) PetscCall((SpikeFactorWarp_Private<F, 3, false>(s, policy)));
    else if (T < 32) PetscCall((SpikeFactorWarp_Private<F, 4, false>(s, policy)));
    else PetscCall((SpikeFactorWarp_Private<F, 4, true>(s, policy)));
  } else if (T <= 24) { /* up to three tiles on a side; the kernels for 4 blocks of rows want more than 24 */
    if (wanted && front <= most3)
      PetscCall((SpikeFactorThreadBlock_Private<F, 3, false, true, 4>(s, policy, front, false)));
    else
      PetscCall(
        (SpikeFactorThreadBlock_Private<F, 3, false, false, 8>(s, policy, SpikeFactorPlaces(&h->t, false), false)));
  } else if (wanted && 2 * front <= most) {
    if (T < 32) PetscCall((SpikeFactorThreadBlock_Private<F, 4, false, true, 4>(s, policy, front, false)));
    else PetscCall((SpikeFactorThreadBlock_Private<F, 4, true, true, 4>(s, policy, front, false)));
  } else if (wanted && front <= most) {
    if (T < 32) PetscCall((SpikeFactorThreadBlock_Private<F, 4, false, true, 8>(s, policy, front, false)));
    else PetscCall((SpikeFactorThreadBlock_Private<F, 4, true, true, 8>(s, policy, front, false)));
  } else {
    const bool split = SpikeFactorPlaces(&h->t, false) > most;
    const int  tiles = SpikeFactorPlaces(&h->t, split);

    if (T < 32) PetscCall((SpikeFactorThreadBlock_Private<F, 4, false, false, 8>(s, policy, tiles, split)));
    else PetscCall((SpikeFactorThreadBlock_Private<F, 4, true, false, 8>(s, policy, tiles, split)));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
