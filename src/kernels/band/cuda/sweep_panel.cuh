/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_panel.cuh: products of a tile in the registers of a warp with a vector in shared memory */
#pragma once

#include "kernels/common/cuda/warp.cuh"

/*
  A T x T tile as SIDEBLOCKS x SIDEBLOCKS blocks of B rows and columns, B SIDEBLOCKS >= T. Lane (m, j, i) of a warp with
  the tiles of G partitions holds, of each block of member m, row i and the columns CB j <= . < CB (j + 1), CB = B / J:
  blocks below the diagonal, and above it, are whole in the halves of a tile that a corner shares with a triangle, and
  only the blocks on it need a mask, the same one for all of them. After a product it owns row B j + i of the vectors. J
  = 1: a row a lane, with T lanes a member; else B J lanes a member.

  Rows after T are made from what lies there, and used by nobody. Columns after T repeat the last one, and meet the
  zeros that a vector has there.
*/
template <int B_, int SIDEBLOCKS_, int J_>
struct SpikeSweepTile {
  static constexpr int B = B_, SIDEBLOCKS = SIDEBLOCKS_, J = J_, CB = B / J,
                       STRIDE = B * SIDEBLOCKS + 2 /* of the members in a vector */,
                       COUNT  = SIDEBLOCKS * SIDEBLOCKS * CB;
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
    SpikeUnroll(k, CB) last[k] = PetscMin(B * (SIDEBLOCKS - 1) + CB * j + k, t.T - 1) * next + m * t.T + i;
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
    SpikeUnroll2(bj, SIDEBLOCKS, k, CB) {
      const F *c = tile + (FULL                   ? first + (B * bj + k) * 32
                           : bj == SIDEBLOCKS - 1 ? last[k]
                                                  : first + (B * bj + k) * next);

      SpikeUnroll(bi, SIDEBLOCKS) a[(bj * CB + k) * SIDEBLOCKS + bi] = (PetscScalar)c[B * bi];
    }
  }
  /*
    The same and the product for a whole tile of one partition, where the block rows of lane j are in the order n ^ j:
    the lanes of a load are in different banks, and the sums that a lane is sent are those of its own row.
  */
  static constexpr bool SPREAD = SIDEBLOCKS == 4 && J == 4;
  template <bool FULL, typename F>
  __device__ void takewhole(const F *tile, PetscScalar a[]) const
  {
    if constexpr (SPREAD) {
      SpikeUnroll(n, SIDEBLOCKS) {
        const int rows = B * (n ^ j);

        SpikeUnroll2(bj, SIDEBLOCKS, k, CB)
          a[(bj * CB + k) * SIDEBLOCKS + n] = (PetscScalar)tile[(FULL                   ? first + (B * bj + k) * 32
                                                                 : bj == SIDEBLOCKS - 1 ? last[k]
                                                                                        : first + (B * bj + k) * next) +
                                                                rows];
      }
    } else take<FULL>(tile, a);
  }
  __device__ PetscScalar timeswhole(const PetscScalar a[], const PetscScalar *x) const
  {
    if constexpr (SPREAD) {
      PetscScalar s[SIDEBLOCKS];

      SpikeUnroll(n, SIDEBLOCKS) s[n] = 0.0;
      SpikeUnroll(c, SIDEBLOCKS * CB) {
        const PetscScalar xc = x[piece + B * (c / CB) + c % CB];

        SpikeUnroll(n, SIDEBLOCKS) s[n] = SpikeFma(a[c * SIDEBLOCKS + n], xc, s[n]);
      }
      SpikeUnrollFrom(n, 1, SIDEBLOCKS) s[n] = SpikeShfl(s[n], (int)(threadIdx.x & 31) ^ (n * B));
      return (s[0] + s[1]) + (s[2] + s[3]);
    } else return times<0, false>(a, x);
  }
  /*
    A x for the lane's row: A is the tile (HALF 0), or its part below the diagonal (-1) or above it (1), with the
    diagonal itself where WITHDIAGONAL; x at the first member's first row
  */
  template <int HALF, bool WITHDIAGONAL>
  __device__ PetscScalar times(const PetscScalar a[], const PetscScalar *x) const
  {
    constexpr int WAYS = SIDEBLOCKS == 1 ? 2 : 1; /* sums side by side */
    PetscScalar   s[SIDEBLOCKS][WAYS];

    SpikeUnroll2(bi, SIDEBLOCKS, w, WAYS) s[bi][w] = 0.0;
    SpikeUnroll(bj, SIDEBLOCKS) {
      PetscScalar xk[CB];

      SpikeUnroll(k, CB) xk[k] = x[piece + B * bj + k];
      SpikeUnroll(bi, SIDEBLOCKS) {
        if (HALF == 0 || HALF * bi < HALF * bj) {
          SpikeUnroll(k, CB) s[bi][k % WAYS] = SpikeFma(a[(bj * CB + k) * SIDEBLOCKS + bi], xk[k], s[bi][k % WAYS]);
        } else if (bi == bj) {
          SpikeUnroll(k, CB) {
            const int c = CB * j + k;

            s[bi][k % WAYS] = SpikeFma((WITHDIAGONAL ? HALF * i <= HALF * c : HALF * i < HALF * c)
                                         ? a[(bj * CB + k) * SIDEBLOCKS + bi]
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
  __device__ PetscScalar collect(const PetscScalar s[SIDEBLOCKS][WAYS]) const
  {
    PetscScalar w[J];

    SpikeUnroll(k, J) w[k] = k >= SIDEBLOCKS ? (PetscScalar)0.0 : WAYS == 2 ? s[k][0] + s[k][WAYS - 1] : s[k][0];
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

/* call with L and FULL for the tiles t, T <= 16, or more */
#define SpikeDispatchSmall(t, ...) \
  do { \
    if ((t)->T <= 4) { \
      SpikeDispatchFull(t, 4, 1, 1, __VA_ARGS__) \
    } else if ((t)->T <= 8) { \
      SpikeDispatchFull(t, 8, 1, 1, __VA_ARGS__) \
    } else if ((t)->T <= 10) { \
      SpikeDispatchPart(10, 1, 1, __VA_ARGS__) \
    } else { \
      SpikeDispatchFull(t, 8, 2, 2, __VA_ARGS__) \
    } \
  } while (0)
#define SpikeDispatchWide(t, ...) \
  do { \
    if ((t)->T <= 24) { \
      SpikeDispatchPart(8, 3, 4, __VA_ARGS__) \
    } else { \
      SpikeDispatchFull(t, 8, 4, 4, __VA_ARGS__) \
    } \
  } while (0)
#define SpikeDispatchFull(t, B, SIDEBLOCKS, J, ...) \
  if ((t)->T == B * SIDEBLOCKS && (t)->G * B * SIDEBLOCKS == 32) { \
    typedef SpikeSweepTile<B, SIDEBLOCKS, J> L; \
    constexpr bool                           FULL = true; \
    (void)FULL; \
    __VA_ARGS__; \
  } else { \
    SpikeDispatchPart(B, SIDEBLOCKS, J, __VA_ARGS__) \
  }
#define SpikeDispatchPart(B, SIDEBLOCKS, J, ...) \
  typedef SpikeSweepTile<B, SIDEBLOCKS, J> L; \
  constexpr bool                           FULL = false; \
  (void)FULL; \
  __VA_ARGS__;
