/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted.cuh: factors with row exchanges on the device: their layout, and what their files share */
#pragma once

#include "band.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/warp.cuh"

/*
  P A = L U of every partition with partial pivoting, by panels of W columns, as the host has it (band/host/ops.h). The
  raw band stays as fill() has made it, in tiles; the factors have an array of their own. A panel of columns j .. j + W
  - 1 has, with m = kl + W and hu = kl + ku,

      m x W      L11 and L21, column-major, with U11 above and the inverses of the pivots on the diagonal
      W x hu     U12, column-major
      m          perm: row r of the panel is row perm[r] of the rows j .. j + m - 1 before its exchanges

  For r >= W either perm[r] = r or perm[r] < W: a step moves rows of the first W only.  Partitions have as many panels
  as the longest one; rows and columns after the end of a partition are those of the unit matrix, and change places with
  no others.
*/
struct SpikePivoted {
  int             kl, ku, hu, W, m, panels;
  PetscInt64      record;  /* elements of a panel                                        */
  PetscScalar    *factors; /* [np * panels * record]                                     */
  unsigned short *perm;    /* [np * panels * m + 1], for reads of 4 bytes                  */
  PetscScalar    *fronts;  /* of the factorization, where shared memory is too small     */
  int             blocks;  /* of the factorization, each with its front there; 0: none  */

  __host__ __device__ PetscInt64 panel(PetscInt p, int k) const { return (p * (PetscInt64)panels + k) * record; }
  __host__ __device__ PetscInt64 exchanges(PetscInt p, int k) const { return (p * (PetscInt64)panels + k) * m; }
  /* the first row of the panel of a row */
  __host__ __device__ int begin(int row) const { return row / W * W; }
  /* where a forward sweep begins whose right-hand sides are zero before a row: exchanges move them up */
  __host__ __device__ int forward(int row) const { return row > kl + W ? begin(row - kl - W) : 0; }
};

#define SPIKE_PIVOTED_COLUMNS 8 /* right-hand sides that read factors together */

/* Threads of a block with panels of W columns, a row each, at most; blocks that registers are to be enough for */
template <int W>
struct SpikePivotedBound {
  static constexpr int NTHREADS = W == 8 ? 64 : W == 16 && sizeof(PetscScalar) <= sizeof(double) ? 160 : 576;
  static constexpr int ATONCE   = W == 8 ? 12 : NTHREADS == 160 ? 5 : 1;
};

/* c - a b */
__device__ static inline PetscScalar SpikePivotedMinus(PetscScalar c, PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(fma(a.imag(), b.imag(), fma(-a.real(), b.real(), c.real())),
                     fma(-a.imag(), b.real(), fma(-a.real(), b.imag(), c.imag())));
#else
  return fma(-a, b, c);
#endif
}

/* x[0 .. V) <- 16 bytes of shared memory */
template <int V>
__device__ static inline void SpikePivotedQuad(const PetscScalar *from, PetscScalar x[])
{
  const int4 w = *(const int4 *)from;

  memcpy((void *)x, &w, 16);
}

/* call, with W the columns of a panel */
#define SpikePivotedDispatch(columns, call) \
  do { \
    if ((columns) == 8) { \
      constexpr int W = 8; \
      call; \
    } else if ((columns) == 16) { \
      constexpr int W = 16; \
      call; \
    } else { \
      constexpr int W = SPIKE_PIVOTED_MOST; \
      call; \
    } \
  } while (0)

/* A complex number takes two registers of each of a panel's columns */
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_PIVOTED_MOST 16
#else
  #define SPIKE_PIVOTED_MOST 32
#endif

/* pivoted.cu */
PETSC_INTERN void SpikePivotedShape_CUDA(const SpikeBand *, const SpikeTiles *, SpikePivoted *);
/* pivoted_sweep.cu: threads of a block, and bytes of its shared memory */
PETSC_INTERN int    SpikePivotedThreads_CUDA(const SpikePivoted *);
PETSC_INTERN size_t SpikePivotedShared_CUDA(const SpikePivoted *, int columns);
/* pivoted_factor.cu: elements of the front of a thread block, 0 where it is in shared memory; blocks at once */
PETSC_INTERN PetscErrorCode SpikePivotedWindow_CUDA(const SpikePivoted *, const SpikeDevice *, PetscInt np, bool *holds,
                                                    PetscInt64 *elements, int *blocks);
/* pivoted_tips.cu */
PETSC_INTERN bool SpikePivotedTipsHold_CUDA(const SpikePivoted *, const SpikeDevice *);
