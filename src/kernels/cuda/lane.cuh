/* SPDX-License-Identifier: BSD-2-Clause */
/* lane.cuh: products of a tile in the registers of a warp with a piece of a vector in shared memory */
#pragma once

#include "warp.cuh"

/*
  Lane l of a warp with the tiles of G partitions holds V rows and C = T / V columns of a tile: rows V g .., columns C h .. of member m, with
  l = (h G + m) W + g, W = T / V, so that a load of V numbers by all lanes reads consecutive memory. It owns row V g + h of the vectors.
*/
template <int V>
struct SpikeLane {
  int  g, m, h, C, W, G, stride; /* stride: of the pieces of C numbers of a vector in shared memory */
  bool active;

  __device__ SpikeLane(const SpikeTiles &t)
  {
    const int l = threadIdx.x & 31;

    W      = t.T / V;
    G      = t.G;
    C      = t.T / V;
    stride = Stride(C);
    active = l < t.T * G;
    g      = active ? l % W : 0;
    m      = active ? (l / W) % G : 0;
    h      = active ? l / (W * G) : 0;
  }
  /* pieces that are read together are in different banks */
  __host__ __device__ static int Stride(int C)
  {
    const int s = C <= 2 ? C : ((C + 1) & ~1) + 2;

    return V == 2 && s % 16 == 0 ? s + 2 : s;
  }
  /* places of a tile row of a vector */
  __host__ __device__ static int Pitch(const SpikeTiles &t) { return t.G * V * Stride(t.T / V); }
  __device__ int                 row() const { return V * g + h; }
  /* where row r of member k of a vector lies in shared memory, that of this lane's member, and where this lane's piece of C numbers begins */
  __device__ int at(int k, int r) const { return (k * V + r / C) * stride + r % C; }
  __device__ int at(int r) const { return at(m, r); }
  __device__ int piece() const { return (m * V + h) * stride; }
  /* first element of this lane in a tile */
  __device__ PetscInt64 first(const SpikeTiles &t) const { return ((PetscInt64)h * C * G + m) * t.T + V * g; }
  /* bit k of the mask of row V g + v: column c = C h + k of a tile is left of the diagonal (side < 0), on it or right of it (side > 0), ... */
  __device__ unsigned mask(int v, bool below, bool diagonal) const
  {
    unsigned bits = 0;

    for (int k = 0; k < C; k++) {
      const int c = C * h + k, r = V * g + v;

      if (c == r ? diagonal : (c < r) == below) bits |= 1u << k;
    }
    return active ? bits : 0;
  }
  __device__ unsigned full() const { return !active ? 0 : C == 32 ? 0xffffffffu : (1u << C) - 1; }
  /* sums of the pieces of all rows of this lane -> sum of the row that it owns: half of the rows that are left go to a partner, half stay, until one is left */
  __device__ PetscScalar collect(const PetscScalar s[V]) const
  {
    const int   l = threadIdx.x & 31;
    PetscScalar w[V];

#pragma unroll
    for (int v = 0; v < V; v++) w[v] = s[v];
#pragma unroll
    for (int n = V / 2; n; n /= 2) {
      const bool up      = h & n;
      const int  partner = !active ? l : up ? l - n * W * G : l + n * W * G;

#pragma unroll
      for (int v = 0; v < n; v++) {
        const PetscScalar send = up ? w[v] : w[v + n], keep = up ? w[v + n] : w[v];

        w[v] = keep + SpikeShfl(send, partner);
      }
    }
    return w[0];
  }
};

/* y + a x where bit k of the mask is set, else y: one instruction that is skipped, for a select of the sums would cost two */
__device__ static inline PetscScalar SpikeFmaWhere(unsigned mask, int k, PetscScalar a, PetscScalar x, PetscScalar y)
{
#if !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
  asm("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p fma.rn.f64 %0, %1, %2, %0; }" : "+d"(y) : "d"(a), "d"(x), "r"(mask & (1u << k)));
  return y;
#elif !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_SINGLE)
  asm("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p fma.rn.f32 %0, %1, %2, %0; }" : "+f"(y) : "f"(a), "f"(x), "r"(mask & (1u << k)));
  return y;
#else
  return mask & (1u << k) ? SpikeFma(a, x, y) : y;
#endif
}

/* s_v += sum_k a(v, k) x_k over the columns in the masks */
template <typename F, int V, int CMAX>
__device__ static inline void SpikeTileTimes(const F a[], const PetscScalar *x, const unsigned mask[V], PetscScalar s[V])
{
  PetscScalar odd[V];

#pragma unroll
  for (int v = 0; v < V; v++) odd[v] = 0.0;
#pragma unroll
  for (int k = 0; k < CMAX; k++) {
    const PetscScalar xk = x[k];

#pragma unroll
    for (int v = 0; v < V; v++) {
      if (k & 1) odd[v] = SpikeFmaWhere(mask[v], k, (PetscScalar)a[k * V + v], xk, odd[v]);
      else s[v] = SpikeFmaWhere(mask[v], k, (PetscScalar)a[k * V + v], xk, s[v]);
    }
  }
#pragma unroll
  for (int v = 0; v < V; v++) s[v] += odd[v];
}

/*
  A lane's part of a tile in shared memory, whose columns are so many elements apart, by loads of up to 16 bytes, in the type of the products: narrow factors are converted once. Columns behind the
  last repeat the first. FULL: they are 32 elements apart and none is missing.
*/
template <typename F, int V, int CMAX, bool FULL>
__device__ static inline void SpikeTileTake(const F *tile, int column, int C, PetscScalar a[])
{
  struct alignas(sizeof(F) * V) Piece {
    F v[V];
  };

#pragma unroll
  for (int k = 0; k < CMAX; k++) {
    const Piece w = *(const Piece *)(tile + (FULL ? 32 * k : k < C ? k * column : 0));

#pragma unroll
    for (int v = 0; v < V; v++) a[k * V + v] = (PetscScalar)w.v[v];
  }
}

/*
  Loads without conditions, which would make the registers wait for them at once: columns behind the last repeat it, idle lanes repeat lane 0. FULL: the columns of
  a tile are 32 elements apart and none is missing.
*/
template <typename F, int V, int CMAX, bool FULL>
__device__ static inline void SpikeTileLoad(const F *tile, int column, int C, F a[])
{
#pragma unroll
  for (int k = 0; k < CMAX; k++) {
    SpikeLoadStream<F, V>(FULL ? tile + 32 * k : tile, a + k * V);
    if (!FULL && k < C - 1) tile += column;
  }
}

/*
  Rows a lane for elements of type F: loads of 16 bytes where T allows it, else of two elements in tiles above 16 rows, which have an even T, and of one in the others
*/
template <typename F, int TMAX>
struct SpikeRows {
  static constexpr int most = sizeof(F) >= 16 ? 1 : 16 / (int)sizeof(F), wide = most < TMAX ? most : TMAX, narrow = TMAX <= 16 ? 1 : wide < 2 ? wide : 2;
};

/* call with TMAX, V and FULL for the tiles t */
#define SpikeDispatchRows(t, F, ...) \
  SpikeDispatchTile((t)->T, \
                    if ((t)->T == TMAX && (t)->G * TMAX == 32) { \
                      constexpr int  V    = SpikeRows<F, TMAX>::wide; \
                      constexpr bool FULL = true; \
                      __VA_ARGS__; \
                    } else if (TMAX > 8 && (t)->T % SpikeRows<F, TMAX>::wide == 0) { \
                      constexpr int  V    = TMAX > 8 ? SpikeRows<F, TMAX>::wide : SpikeRows<F, TMAX>::narrow; \
                      constexpr bool FULL = false; \
                      __VA_ARGS__; \
                    } else { \
                      constexpr int  V    = SpikeRows<F, TMAX>::narrow; \
                      constexpr bool FULL = false; \
                      __VA_ARGS__; \
                    })
