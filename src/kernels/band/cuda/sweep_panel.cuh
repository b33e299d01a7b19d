/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_panel.cuh: products of a tile in the registers of a warp with a vector in shared memory */
#pragma once

#include "kernels/common/cuda/warp.cuh"

/*
  A T x T tile as NB x NB blocks of B rows and columns, B NB >= T. Lane (m, j, i) of a warp with the tiles of G
  partitions holds, of each block of member m, row i and the columns CB j <= . < CB (j + 1), CB = B / J: blocks below
  the diagonal, and above it, are whole in the halves of a tile that a corner shares with a triangle, and only the
  blocks on it need a mask, the same one for all of them. After a product it owns row B j + i of the vectors. J = 1: a
  row a lane, with T lanes a member; else B J lanes a member.

  Rows after T are made from what lies there, and used by nobody. Columns after T repeat the last one, and meet the
  zeros that a vector has there.
*/
template <int B_, int NB_, int J_>
struct SpikeSweepTile {
  static constexpr int B = B_, NB = NB_, J = J_, CB = B / J, STRIDE = B * NB + 2 /* of the members in a vector */,
                       COUNT = NB * NB * CB;
  int  m, i, j, row, at, piece, first, next;
  int  last[CB]; /* where the columns of the last block are in a tile */
  bool active;

  __device__ SpikeSweepTile(const SpikeTiles &t)
  {
    const int l = threadIdx.x & 31, lanes = J == 1 ? t.T : B * J;

    next   = t.G * t.T;
    m      = l / lanes;
    active = m < t.G;
    if (!active) m = 0;
    j      = J == 1 ? 0 : l / B % J;
    i      = J == 1 ? (active ? l % t.T : 0) : l % B;
    row    = B * j + i;
    active = active && row < t.T;
    at     = m * STRIDE + row;
    piece  = m * STRIDE + CB * j;
    first  = CB * j * next + m * t.T + i;
    SpikeUnroll(k, CB) last[k] = PetscMin(B * (NB - 1) + CB * j + k, t.T - 1) * next + m * t.T + i;
#if defined(__CUDA_ARCH__)
    /* or they would be made again from the thread's number at each use */
    asm volatile("" : "+r"(i), "+r"(j), "+r"(at), "+r"(piece), "+r"(first));
#endif
  }
  /*
    The lane's part of a tile in shared memory, in the type of the products: narrow factors are converted once. FULL: no
    column is after T, and columns are 32 elements apart
  */
  template <bool FULL, typename F>
  __device__ void take(const F *tile, PetscScalar a[]) const
  {
    SpikeUnroll2(bj, NB, k, CB) {
      const F *c = tile + (FULL ? first + (B * bj + k) * 32 : bj == NB - 1 ? last[k] : first + (B * bj + k) * next);

      SpikeUnroll(bi, NB) a[(bj * CB + k) * NB + bi] = (PetscScalar)c[B * bi];
    }
  }
  /*
    The same and the product for a whole tile of one partition, where the block rows of lane j are in the order n ^ j:
    the lanes of a load are in different banks, and the sums that a lane is sent are those of its own row.
  */
  static constexpr bool SPREAD = NB == 4 && J == 4;
  template <bool FULL, typename F>
  __device__ void takewhole(const F *tile, PetscScalar a[]) const
  {
    if constexpr (SPREAD) {
      SpikeUnroll(n, NB) {
        const int rows = B * (n ^ j);

        SpikeUnroll2(bj, NB, k, CB)
          a[(bj * CB + k) * NB + n] = (PetscScalar)tile[(FULL           ? first + (B * bj + k) * 32
                                                         : bj == NB - 1 ? last[k]
                                                                        : first + (B * bj + k) * next) +
                                                        rows];
      }
    } else take<FULL>(tile, a);
  }
  __device__ PetscScalar timeswhole(const PetscScalar a[], const PetscScalar *x) const
  {
    if constexpr (SPREAD) {
      PetscScalar s[NB];

      SpikeUnroll(n, NB) s[n] = 0.0;
      SpikeUnroll(c, NB * CB) {
        const PetscScalar xc = x[piece + B * (c / CB) + c % CB];

        SpikeUnroll(n, NB) s[n] = SpikeFma(a[c * NB + n], xc, s[n]);
      }
      SpikeUnrollFrom(n, 1, NB) s[n] = SpikeShfl(s[n], (int)(threadIdx.x & 31) ^ (n * B));
      return (s[0] + s[1]) + (s[2] + s[3]);
    } else return times<0, false>(a, x);
  }
  /*
    A x for the lane's row: A is the tile (HALF 0), or its part below the diagonal (-1) or above it (1), with the
    diagonal itself where DIAGONAL; x at the first member's first row
  */
  template <int HALF, bool DIAGONAL>
  __device__ PetscScalar times(const PetscScalar a[], const PetscScalar *x) const
  {
    constexpr int WAYS = NB == 1 ? 2 : 1; /* sums side by side */
    PetscScalar   s[NB][WAYS];

    SpikeUnroll2(bi, NB, w, WAYS) s[bi][w] = 0.0;
    SpikeUnroll(bj, NB) {
      PetscScalar xk[CB];

      SpikeUnroll(k, CB) xk[k] = x[piece + B * bj + k];
      SpikeUnroll(bi, NB) {
        if (HALF == 0 || HALF * bi < HALF * bj) {
          SpikeUnroll(k, CB) s[bi][k % WAYS] = SpikeFma(a[(bj * CB + k) * NB + bi], xk[k], s[bi][k % WAYS]);
        } else if (bi == bj) {
          SpikeUnroll(k, CB) {
            const int c = CB * j + k;

            s[bi][k % WAYS] = SpikeFma((DIAGONAL ? HALF * i <= HALF * c : HALF * i < HALF * c)
                                         ? a[(bj * CB + k) * NB + bi]
                                         : (PetscScalar)0.0,
                                       xk[k], s[bi][k % WAYS]);
          }
        }
      }
    }
    return collect(s);
  }

private:
  /* Sums over the lanes of a row: half of the rows that are left go to a partner, half stay, until one is left */
  template <int WAYS>
  __device__ PetscScalar collect(const PetscScalar s[NB][WAYS]) const
  {
    PetscScalar w[J];

    SpikeUnroll(k, J) w[k] = k >= NB ? (PetscScalar)0.0 : WAYS == 2 ? s[k][0] + s[k][WAYS - 1] : s[k][0];
#pragma unroll
    for (int n = J / 2; n; n /= 2) {
      const bool up = j & n;

      SpikeUnroll(k, n) {
        const PetscScalar send = up ? w[k] : w[k + n], keep = up ? w[k + n] : w[k];

        w[k] = keep + SpikeShfl(send, (int)(threadIdx.x & 31) ^ (n * B));
      }
    }
    return w[0];
  }
};

/* call with L and FULL for the tiles t; those of several tiles on a side have more than 16 rows */
#define SpikeDispatchTile(t, ...) \
  do { \
    if ((t)->T <= 4) { \
      SpikeDispatchFull(t, 4, 1, 1, __VA_ARGS__) \
    } else if ((t)->T <= 8) { \
      SpikeDispatchFull(t, 8, 1, 1, __VA_ARGS__) \
    } else if ((t)->T <= 10) { \
      SpikeDispatchPart(10, 1, 1, __VA_ARGS__) \
    } else if ((t)->T <= 16) { \
      SpikeDispatchFull(t, 8, 2, 2, __VA_ARGS__) \
    } else SpikeDispatchWide(t, __VA_ARGS__); \
  } while (0)
#define SpikeDispatchWide(t, ...) \
  do { \
    if ((t)->T <= 24) { \
      SpikeDispatchPart(8, 3, 4, __VA_ARGS__) \
    } else { \
      SpikeDispatchFull(t, 8, 4, 4, __VA_ARGS__) \
    } \
  } while (0)
#define SpikeDispatchFull(t, B, NB, J, ...) \
  if ((t)->T == B * NB && (t)->G * B * NB == 32) { \
    typedef SpikeSweepTile<B, NB, J> L; \
    constexpr bool                   FULL = true; \
    (void)FULL; \
    __VA_ARGS__; \
  } else { \
    SpikeDispatchPart(B, NB, J, __VA_ARGS__) \
  }
#define SpikeDispatchPart(B, NB, J, ...) \
  typedef SpikeSweepTile<B, NB, J> L; \
  constexpr bool                   FULL = false; \
  (void)FULL; \
  __VA_ARGS__;
