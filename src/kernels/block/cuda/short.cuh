/* SPDX-License-Identifier: BSD-2-Clause */
/* short.cuh: what a warp does with a row of the factorization in registers: blocks of 4, 8 and 16 */
#pragma once

#include "lu.cuh"

#include <float.h>

__device__ static __forceinline__ unsigned SpikeBlockWarpMax(unsigned v)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(SPIKE_WARP, v);
#else
  return SpikeWarpMax(v);
#endif
}

/* |v|, the largest number where that is none: it is found then */
__device__ static __forceinline__ double SpikeBlockSize(SpikeBlockSum v)
{
  const double size = (double)PetscAbsScalar(v);

  return size - size == 0.0 ? size : DBL_MAX;
}

/*
  The inverse of a block by Gauss-Jordan elimination. Lane r + BLOCKSIZE part has columns OWNCOLUMNS part, ... of row r;
  lanes from BLOCKSIZE BLOCKSIZE / OWNCOLUMNS on repeat others. No row moves: `step` is the step in which the lane's row
  was the pivot row, and so its row of the inverse; nibble c of `columns` is the pivot row of step c, and so the column
  of the inverse that is in column c. All lanes make the reciprocal of their own element while the largest is looked
  for. bad: the first step with a bad pivot that is not boosted, BLOCKSIZE if none; value is its magnitude.
*/
template <int BLOCKSIZE>
struct SpikeBlockInverse {
  static constexpr int OWNCOLUMNS = BLOCKSIZE * BLOCKSIZE > 32 ? BLOCKSIZE *BLOCKSIZE / 32 : 1,
                       PARTS      = BLOCKSIZE / OWNCOLUMNS;

  SpikeBlockSum      a[OWNCOLUMNS];
  unsigned long long columns;
  double             value;
  int                step, bad, nboost;

  __device__ static __forceinline__ int row(void) { return (int)(threadIdx.x & 31) % BLOCKSIZE; }
  __device__ static __forceinline__ int part(void) { return (int)(threadIdx.x & 31) / BLOCKSIZE % PARTS; }

  __device__ __forceinline__ void invert(double tol, double boost)
  {
    const int l = (int)(threadIdx.x & 31), r = row(), base = part() * BLOCKSIZE;

    step    = -1;
    bad     = BLOCKSIZE;
    nboost  = 0;
    value   = 0.0;
    columns = 0;
    SpikeUnroll(p, BLOCKSIZE) {
      /* element p of the lane's row */
      const SpikeBlockSum f     = SpikeShfl(a[p % OWNCOLUMNS], r + p / OWNCOLUMNS * BLOCKSIZE);
      const double        size  = SpikeBlockSize(f);
      const bool          fine  = size > tol && size < DBL_MAX;
      const SpikeBlockSum mine  = SpikeBlockSum(1.0) / (fine ? f : SpikeBlockSum(1.0));
      const unsigned      fines = __ballot_sync(SPIKE_WARP, fine),
                     high       = l < BLOCKSIZE && step < 0 ? (unsigned)(__double_as_longlong(size) >> 32) + 1 : 0,
                     most       = SpikeBlockWarpMax(high);
      unsigned found            = __ballot_sync(SPIKE_WARP, high == most);

      if (found & (found - 1)) {
        const unsigned low = high == most ? (unsigned)__double_as_longlong(size) : 0, last = SpikeBlockWarpMax(low);

        found = __ballot_sync(SPIKE_WARP, high == most && low == last);
      }
      const int     at      = __ffs((int)found) - 1;
      SpikeBlockSum inverse = SpikeShfl(mine, at);

      if (!((fines >> at) & 1)) {
        SpikeBlockSum pivot = SpikeShfl(f, at);
        const double  mag   = (double)PetscAbsScalar(pivot);

        if (!(mag > tol) || !(mag - mag == 0.0)) {
          if (boost > 0.0 && mag - mag == 0.0) {
            pivot = mag > 0.0 ? pivot * (boost / mag) : SpikeBlockSum(boost);
            nboost++;
          } else {
            if (bad == BLOCKSIZE) {
              bad   = p;
              value = mag;
            }
            pivot = 1.0;
          }
        }
        inverse = SpikeBlockSum(1.0) / pivot;
      }
      SpikeUnroll(c, OWNCOLUMNS) {
        const bool          own = base == p / OWNCOLUMNS * BLOCKSIZE && c == p % OWNCOLUMNS;
        const SpikeBlockSum v   = SpikeShfl(a[c], at + base) * inverse;

        if (r == at) a[c] = own ? inverse : v;
        else a[c] = own ? -f * inverse : a[c] - f * v;
      }
      if (r == at) step = p;
      columns |= (unsigned long long)at << (4 * p);
    }
  }

  /* Column-major */
  template <typename V>
  __device__ __forceinline__ void store(V *D) const
  {
    if ((int)(threadIdx.x & 31) < BLOCKSIZE * PARTS) {
      SpikeUnroll(c, OWNCOLUMNS)
        D[step + (int)((columns >> (4 * (part() * OWNCOLUMNS + c))) & 15) * BLOCKSIZE] = V(a[c]);
    }
  }
};

/*
  A row that updates its diagonal block alone, by blocks U_ki that do not change: its L_ik do not wait for each other.
  GROUP of them at a time: A_ik and U_ki are loaded before the wait for D_k^-1. Returns D_i, not inverted, in M, shared,
  rows BLOCKSIZE + 1 apart. The registers of the first product are the operand of the second, with the rows of U_ki in
  their order.
*/
template <int BLOCKSIZE, typename V>
__device__ static __forceinline__ void SpikeBlockRowAlone(const SpikeBlockRow &row, PetscInt column, PetscInt back,
                                                          const SpikeBlockParts<V> &f, const unsigned *done,
                                                          SpikeBlockSum *M)
{
  constexpr int    T = (BLOCKSIZE + 7) / 8, STEPS = BLOCKSIZE / 4, GROUP = 3;
  constexpr bool   FULL = BLOCKSIZE % 8 == 0;
  const int        l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4;
  const PetscCount b2 = BLOCKSIZE * BLOCKSIZE;
  const V         *D  = f.D + row.i * b2;
  SpikeMMA         c[T][T];

  SpikeUnroll3(r, T, j, T, e, 2)
    c[r][j].put(e,
                FULL || (g < BLOCKSIZE && 2 * q < BLOCKSIZE) ? D[8 * r + g + (8 * j + 2 * q + e) * BLOCKSIZE] : V(0.0));
  for (PetscInt e0 = 0; e0 < row.count; e0 += GROUP) {
    V        a[GROUP][STEPS][T], d[GROUP][STEPS][T], u[GROUP][2 * T][T];
    PetscInt k[GROUP];

    SpikeUnroll(x, GROUP) {
      const bool     there = e0 + x < row.count;
      const PetscInt place = __shfl_sync(SPIKE_WARP, back, (int)((e0 + x) & 31));
      const V       *A = f.L + (row.first + e0 + x) * b2, *U = f.U + place * b2;

      k[x] = __shfl_sync(SPIKE_WARP, column, (int)((e0 + x) & 31));
      SpikeUnroll2(s, STEPS, r, T)
        a[x][s][r] = there && (FULL || g < BLOCKSIZE) ? A[8 * r + g + (4 * s + q) * BLOCKSIZE] : V(0.0);
      SpikeUnroll2(s, 2 * T, j, T)
        u[x][s][j] = there && place >= 0 && (FULL || (g < BLOCKSIZE && 2 * q < BLOCKSIZE))
                     ? -U[8 * (s / 2) + 2 * q + s % 2 + (8 * j + g) * BLOCKSIZE]
                     : V(0.0);
    }
    SpikeBlockAwait(done + column, l >= e0 && l < e0 + GROUP && l < row.count);
    SpikeUnroll3(x, GROUP, s, STEPS, j, T)
      d[x][s][j] = e0 + x < row.count && (FULL || g < BLOCKSIZE)
                   ? SpikeBlockFresh(f.D + k[x] * b2 + 4 * s + q + (8 * j + g) * BLOCKSIZE)
                   : V(0.0);
    SpikeUnroll(x, GROUP)
      if (e0 + x < row.count) {
        SpikeMMA L[T][T];
        V       *to = f.L + (row.first + e0 + x) * b2;

        SpikeUnroll2(r, T, j, T) L[r][j].clear();
        SpikeUnroll3(s, STEPS, r, T, j, T) L[r][j].add(a[x][s][r], d[x][s][j]);
        SpikeUnroll2(s, 2 * T, r, T) {
          const V v = V(L[r][s / 2].get(s % 2));

          if (FULL || (g < BLOCKSIZE && 2 * q < BLOCKSIZE))
            to[8 * r + g + (8 * (s / 2) + 2 * q + s % 2) * BLOCKSIZE] = v;
          SpikeUnroll(j, T) c[r][j].add(v, u[x][s][j]);
        }
      }
  }
  SpikeUnroll3(r, T, j, T, e, 2)
    if (FULL || (g < BLOCKSIZE && 2 * q < BLOCKSIZE))
      M[(8 * r + g) * (BLOCKSIZE + 1) + 8 * j + 2 * q + e] = c[r][j].get(e);
}
