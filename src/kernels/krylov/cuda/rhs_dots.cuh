/* SPDX-License-Identifier: BSD-2-Clause */
/*
  rhs_dots.cuh: inner products of several right-hand sides with vectors that all of them share: one pass over those for
  a group of right-hand sides
*/
#pragma once

#include "rhs.cuh"

/* Pointers of column 0; ldA is 0 where a group has more than one column */
typedef struct {
  const PetscScalar *A[SPIKE_BASIS_MOST], *y, *z;
  PetscInt64         ldA, ld;
  int                m, width;
} SpikeRhsDotsArgs;

/* Columns of a group: as many as leave two thread blocks their registers */
template <int M>
struct SpikeRhsGroup {
  static constexpr int C = (M > 4 || sizeof(PetscScalar) > 8) ? 2 : 4;
};

/* conj(a_j) y_c, y_c y_c, and with z_c z_c z_c and conj(y_c) z_c; o: where the columns lie */
template <int V, int M, int C>
__device__ static __forceinline__ void SpikeRhsDotsRows(PetscInt i, const PetscScalar *const a[], const PetscScalar *yy,
                                                        const PetscScalar *zz, const PetscInt64 o[],
                                                        PetscScalar d[][M + 3])
{
  SpikeRows<V> p[M ? M : 1], y[C];

  SpikeUnroll(k, C) y[k] = SpikeRowsLoad<V>(yy + o[k], i);
  SpikeUnroll(j, M) p[j] = SpikeRowsLoad<V>(a[j], i);
  SpikeUnroll(k, C) {
    SpikeUnroll(j, M) SpikeRowsDot(p[j], y[k], d[k][j]);
    SpikeRowsDot(y[k], y[k], d[k][M]);
  }
  if (zz) {
    SpikeUnroll(k, C) {
      const SpikeRows<V> z = SpikeRowsLoad<V>(zz + o[k], i);

      SpikeRowsDot(z, z, d[k][M + 1]);
      SpikeRowsDot(y[k], z, d[k][M + 2]);
    }
  }
}

/*
  DOTS of columns c0 = C blockIdx.x to c0 + C - 1. blockIdx.y is the block of rows, so that groups of columns that read
  the same rows of A run side by side: A comes from memory once, and from a cache once for each group. Words a row and
  column: m / width + 1, with z one more; y again for each M vectors of A after the first M. A column with a reason is
  left out: its loads are those of another column, which costs no traffic. Reasons change when all thread blocks of the
  group have been here. The order of the sums depends on n and alignment alone.
*/
template <int M, int C>
__global__ static void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeRhsDots(PetscInt n, SpikeRhsDotsArgs b, bool wide, SpikeBasisEnd e)
{
  const PetscInt begin = (PetscInt)blockIdx.y * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.y * blockDim.x;
  const int      c0   = C * (int)blockIdx.x;
  unsigned       on   = 0;
  int            some = 0, first = 0;
  PetscInt64     o[C];

  SpikeAwait();
  SpikeUnroll(k, C)
    if (c0 + k < b.width && !e.device[c0 + k].s.reason) {
      on |= 1u << k;
      some = k;
    }
  if (!on) return;
  SpikeUnroll(k, C) o[k] = (c0 + (on >> k & 1 ? k : some)) * b.ld;
  do {
    const int          columns = M ? PetscMin(M, b.m - first) : 0;
    const PetscScalar *zz      = first ? NULL : b.z, *a[M ? M : 1];
    PetscScalar        d[C][M + 3];

    SpikeUnroll(j, M) a[j] = b.A[PetscMin(first + j, b.m - 1)] + c0 * b.ldA;
    SpikeUnroll2(k, C, j, M + 3) d[k][j] = 0.0;
    if (wide)
      for (PetscInt i = begin; i < n / 2; i += stride) SpikeRhsDotsRows<2, M, C>(i, a, b.y, zz, o, d);
    for (PetscInt i = wide ? n - n % 2 + begin : begin; i < n; i += stride)
      SpikeRhsDotsRows<1, M, C>(i, a, b.y, zz, o, d);
    SpikeBasisLeave<M, 3, C>(d, columns, first, first ? 0 : (b.z ? 3 : 1), b.m, e, c0, on, blockIdx.y, gridDim.y);
    first += M;
  } while (M && first < b.m);
  SpikeBasisFinish<C>(e, c0, on, gridDim.y);
}
