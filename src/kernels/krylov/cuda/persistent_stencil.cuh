/* SPDX-License-Identifier: BSD-2-Clause */
/* persistent_stencil.cuh: the loop over the rows of a stencil with one unknown a point, for persistent kernels */
#pragma once

#include "stencil.cuh"

#define SPIKE_PERSISTENT_REACH 15 /* points of the stencil are no farther away than that in each direction */

/*
  A point of the stencil: its coefficient, where all points of the grid have the same; how far its entry of x is from
  the row; bits 5 d of `where`: its offset along d, and the reach; from bit 15 on: its number on the host
*/
struct SpikePersistentPoint {
  PetscScalar c;
  int         at;
  unsigned    where;
};

/* Bit o + SPIKE_PERSISTENT_REACH: whether p + o is in the grid, lo <= p + o < hi */
__device__ static __forceinline__ unsigned SpikePersistentInside(PetscInt p, PetscInt lo, PetscInt hi)
{
  const int below = (int)PetscMax(lo - p, (PetscInt)-SPIKE_PERSISTENT_REACH) + SPIKE_PERSISTENT_REACH,
            above = (int)PetscMin(hi - p, (PetscInt)SPIKE_PERSISTENT_REACH + 1) + SPIKE_PERSISTENT_REACH;

  return ((1u << above) - 1) & ~((1u << below) - 1);
}

/*
  each() of persistent.cuh, a row a thread: the sum of SpikeStencilSum(), the same bits. Reads coefficients of points
  that have their own once, and x as often as the stencil has points, from the caches
*/
struct SpikePersistentStencilRows {
  static constexpr int LANES = 1;

  SpikeStencilTable m;

  struct SharedMemory {
    SpikePersistentPoint point[SPIKE_STENCIL_MOST];
  };

  __device__ __forceinline__ void prepare(SharedMemory &shared) const
  {
    for (int s = threadIdx.x; s < m.count; s += blockDim.x) {
      const SpikeStencilPoint o = m.point[s];
      SpikePersistentPoint    p;

      p.c     = m.constant ? m.coef[o.s] : PetscScalar(0.0);
      p.at    = (int)(o.i + o.j * m.sj + o.k * m.sk);
      p.where = (unsigned)(o.i + SPIKE_PERSISTENT_REACH) | (unsigned)(o.j + SPIKE_PERSISTENT_REACH) << 5 |
                (unsigned)(o.k + SPIKE_PERSISTENT_REACH) << 10 | (unsigned)o.s << 15;
      shared.point[s] = p;
    }
    __syncthreads();
  }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscInt number, PetscInt threads, X &&x, G &&fetch,
                                       F &&f) const
  {
    for (PetscInt row = number; row < m.rows; row += threads) {
      const PetscInt     line = row / m.n[0], i = row - line * m.n[0], k = line / m.n[1], j = line - k * m.n[1];
      const unsigned     in[] = {SpikePersistentInside(i, m.lo[0], m.hi[0]), SpikePersistentInside(j, m.lo[1], m.hi[1]),
                                 SpikePersistentInside(k, m.lo[2], m.hi[2])};
      const PetscScalar *coef = m.coef + (PetscCount)line * m.count * m.n[0] + i;
      PetscScalar        sum  = 0.0;
      decltype(fetch(row)) fetched = fetch(row);

      for (int s = 0; s < m.count; s += SPIKE_STENCIL_BATCH) {
        PetscScalar a[SPIKE_STENCIL_BATCH], b[SPIKE_STENCIL_BATCH];

        SpikeUnroll(u, SPIKE_STENCIL_BATCH) {
          const bool                 there = s + u < m.count;
          const SpikePersistentPoint o     = shared.point[there ? s + u : 0];
          const bool                 is    = there &&
                          (in[0] >> (o.where & 31) & in[1] >> (o.where >> 5 & 31) & in[2] >> (o.where >> 10 & 31) & 1u);

          if (m.constant) a[u] = there ? o.c : PetscScalar(0.0);
          else a[u] = is ? coef[(PetscCount)(o.where >> 15) * m.n[0]] : PetscScalar(0.0);
          b[u] = x(row + o.at, is);
        }
        SpikeUnroll(u, SPIKE_STENCIL_BATCH) sum = SpikeStencilFma(a[u], b[u], sum);
      }
      f(row, sum, fetched);
    }
  }
};

/* *fits is false where the stencil has several unknowns a point, or reaches too far */
static inline void SpikePersistentStencilTake(const SpikeStencil *S, PetscInt n, SpikePersistentStencilRows *rows,
                                              bool *fits)
{
  *fits = S->dof == 1 && n <= INT_MAX;
  for (PetscInt k = 0; k < 3 * S->count; k++)
    if (PetscAbsInt(S->offset[k]) > SPIKE_PERSISTENT_REACH) *fits = false;
  if (*fits) SpikeStencilTable_CUDA(S, &rows->m);
}
