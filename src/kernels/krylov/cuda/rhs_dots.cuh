/* SPDX-License-Identifier: BSD-2-Clause */
/*
  rhs_dots.cuh: inner products of several right-hand sides with vectors that all of them share: one pass over those for
  a group of right-hand sides
*/
#pragma once

#include "rhs.cuh"

/* Where things of column c lie, from those of column 0 */
typedef struct {
  SpikeBasisEnd e;
  PetscInt64    stride; /* of partials */
  PetscInt      nsums, nsmall;
} SpikeRhsEnd;

__device__ static __forceinline__ SpikeBasisEnd SpikeRhsEndAt(const SpikeRhsEnd &all, int c)
{
  SpikeBasisEnd e = all.e;

  e.device += c;
  e.mail += c;
  e.partials += c * all.stride;
  e.small += (PetscInt64)c * all.nsmall;
  e.sums += (PetscInt64)c * 2 * all.nsums;
  return e;
}

/* Pointers of column 0; ldA is 0 where a group has more than one column */
typedef struct {
  const PetscScalar *A[SPIKE_BASIS_COLUMNS], *y, *z;
  PetscInt64         ldA, ld;
  int                m, width;
} SpikeRhsDotsArgs;

/* Columns of a group: as many as leave two blocks of threads their registers */
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

#pragma unroll
  for (int k = 0; k < C; k++) y[k] = SpikeRowsLoad<V>(yy + o[k], i);
#pragma unroll
  for (int j = 0; j < M; j++) p[j] = SpikeRowsLoad<V>(a[j], i);
#pragma unroll
  for (int k = 0; k < C; k++) {
#pragma unroll
    for (int j = 0; j < M; j++) SpikeRowsDot(p[j], y[k], d[k][j]);
    SpikeRowsDot(y[k], y[k], d[k][M]);
  }
  if (zz) {
#pragma unroll
    for (int k = 0; k < C; k++) {
      const SpikeRows<V> z = SpikeRowsLoad<V>(zz + o[k], i);

      SpikeRowsDot(z, z, d[k][M + 1]);
      SpikeRowsDot(y[k], z, d[k][M + 2]);
    }
  }
}

/*
  The sums of the threads of a block, in their order, to its place among the partials of each column; as
  SpikeBasisLeave()
*/
template <int M, int C>
__device__ static __forceinline__ void SpikeRhsLeave(const PetscScalar d[][M + 3], unsigned on, int columns, int first,
                                                     int others, const SpikeRhsEnd &all, int c0, int m)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, k = threadIdx.x / (M + 3), j = threadIdx.x % (M + 3);
  __shared__ PetscScalar shared[C * (M + 3)][SPIKE_BASIS_WARPS];

  __syncthreads(); /* the pass before has been read */
#pragma unroll
  for (int c = 0; c < C; c++)
#pragma unroll
    for (int s = 0; s < M + 3; s++) {
      if (s >= M && s - M >= others) continue;
      const PetscScalar sum = SpikeWarpSum(d[c][s]);

      if (!lane) shared[c * (M + 3) + s][warp] = sum;
    }
  __syncthreads();
  if (k < C && (on >> k & 1) && (j < columns || (j >= M && j < M + others))) {
    PetscScalar sum = shared[threadIdx.x][0];

    for (int w = 1; w < SPIKE_BASIS_WARPS; w++) sum += shared[threadIdx.x][w];
    all.e.partials[(c0 + k) * all.stride + (PetscInt64)(j < M ? first + j : m + j - M) * gridDim.y + blockIdx.y] = sum;
  }
}

/* As SpikeBasisConclude(), for the columns of a group at once, a warp each */
template <int C>
__device__ static __noinline__ void SpikeRhsConclude(const SpikeRhsEnd *all, int c0, unsigned on)
{
  extern __shared__ __align__(16) unsigned char shared[];
  PetscScalar                                  *small = (PetscScalar *)shared;
  const int                                     warp = threadIdx.x / 32, lane = threadIdx.x % 32, nsums = all->e.nsums,
            nsmall = all->e.recur ? (int)SpikeIDRSize(all->e.recurrence.s) : 0;
  __shared__ PetscScalar        sums[C][SPIKE_BASIS_COLUMNS + 3];
  __shared__ SpikeKrylovScalars scalars[C];

  for (int k = warp; k < C * nsums; k += SPIKE_BASIS_WARPS) {
    const int c = k / nsums, j = k % nsums;

    if (!(on >> c & 1)) continue;
    const PetscScalar sum = SpikeWarpSum(
      SpikeKrylovGather<9>(all->e.partials + (c0 + c) * all->stride + (PetscInt64)j * gridDim.y, lane, 32, gridDim.y));

    if (!lane) sums[c][j] = sum;
  }
  for (int i = threadIdx.x; i < C * nsmall; i += blockDim.x)
    if (on >> (i / nsmall) & 1) small[i] = all->e.small[(PetscInt64)(c0 + i / nsmall) * all->nsmall + i % nsmall];
  __syncthreads();
  if (!lane && warp < C && (on >> warp & 1)) {
    const SpikeBasisEnd e = SpikeRhsEndAt(*all, c0 + warp);

    if (e.recur) {
      scalars[warp]        = e.device->s;
      const PetscBool post = SpikeIDRRecur(&e.recurrence, &scalars[warp], small + warp * nsmall, sums[warp]);

      e.device->s = scalars[warp];
      if (post) SpikeKrylovTell(e.device, e.mail, &scalars[warp]);
    } else {
      for (int k = 0; k < nsums; k++) {
        e.sums[2 * k]     = PetscRealPart(sums[warp][k]);
        e.sums[2 * k + 1] = PetscImaginaryPart(sums[warp][k]);
      }
      __threadfence_system();
      e.mail->summed = ++e.device->summed;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < C * nsmall; i += blockDim.x)
    if (on >> (i / nsmall) & 1) all->e.small[(PetscInt64)(c0 + i / nsmall) * all->nsmall + i % nsmall] = small[i];
}

/*
  DOTS of the C columns c0 = C blockIdx.x and on; blockIdx.y is the block of rows, so that the groups that read the same
  rows of A run side by side: A comes from memory once, and from a cache once for each group. Words a row and column, of
  memory: m / width + 1, and one more with z; y again for each M vectors of A beyond the first M. A column with a reason
  is left out: the place of its loads is that of one without, which costs no traffic. Reasons of a group change when all
  of its blocks have been here. The order of the sums depends on n and alignment alone.
*/
template <int M, int C>
__global__ static void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeRhsDots(PetscInt n, SpikeRhsDotsArgs b, bool wide, SpikeRhsEnd all)
{
  const PetscInt  begin = (PetscInt)blockIdx.y * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.y * blockDim.x;
  const int       c0   = C * (int)blockIdx.x;
  unsigned        on   = 0;
  int             some = 0, first = 0;
  PetscInt64      o[C];
  __shared__ bool last;

  SpikeAwait();
#pragma unroll
  for (int k = 0; k < C; k++)
    if (c0 + k < b.width && !all.e.device[c0 + k].s.reason) {
      on |= 1u << k;
      some = k;
    }
  if (!on) return;
#pragma unroll
  for (int k = 0; k < C; k++) o[k] = (c0 + (on >> k & 1 ? k : some)) * b.ld;
  do {
    const int          columns = M ? PetscMin(M, b.m - first) : 0;
    const PetscScalar *zz      = first ? NULL : b.z, *a[M ? M : 1];
    PetscScalar        d[C][M + 3];

#pragma unroll
    for (int j = 0; j < M; j++) a[j] = b.A[PetscMin(first + j, b.m - 1)] + c0 * b.ldA;
#pragma unroll
    for (int k = 0; k < C; k++)
#pragma unroll
      for (int j = 0; j < M + 3; j++) d[k][j] = 0.0;
    if (wide)
      for (PetscInt i = begin; i < n / 2; i += stride) SpikeRhsDotsRows<2, M, C>(i, a, b.y, zz, o, d);
    for (PetscInt i = wide ? n - n % 2 + begin : begin; i < n; i += stride)
      SpikeRhsDotsRows<1, M, C>(i, a, b.y, zz, o, d);
    SpikeRhsLeave<M, C>(d, on, columns, first, first ? 0 : (b.z ? 3 : 1), all, c0, b.m);
    first += M;
  } while (M && first < b.m);
  __threadfence();
  __syncthreads();
  if (!threadIdx.x) last = atomicInc(&all.e.device[c0].ticket, gridDim.y - 1) == gridDim.y - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  SpikeRhsConclude<C>(&all, c0, on);
}
