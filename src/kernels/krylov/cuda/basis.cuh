/* SPDX-License-Identifier: BSD-2-Clause */
/* basis.cuh: the sums of basis steps, and what follows from them */
#pragma once

#include "krylov.cuh"

#define SPIKE_BASIS_MOST  32 /* vectors, at most */
#define SPIKE_BASIS_WARPS (SPIKE_KRYLOV_THREADS / 32)

/*
  What follows from the sums of a kernel: nothing, a recurrence in its last thread block, or the host gets the sums. All
  pointers are those of right-hand side 0
*/
typedef struct {
  SpikeIDRRecurrence  recurrence;
  int                 nsums; /* 0: nothing */
  bool                recur;
  SpikeKrylovDevice  *device;
  SpikeKrylovMail    *mail;
  PetscScalar        *partials, *small;
  volatile PetscReal *sums;   /* in the memory of the host                                         */
  PetscInt64          stride; /* from one right-hand side to the next: of partials; of sums, small */
  PetscInt            mostsums, nsmall;
} SpikeBasisEnd;

/* Pointers of M vectors with elements of type T, as an argument of a kernel */
template <int M, typename T = PetscScalar>
struct SpikeBasisPointers {
  T *v[M];
};

/* V rows of a vector: loads of up to 16 bytes */
template <int V>
struct alignas(PetscMax(alignof(PetscScalar), PetscMin(V * sizeof(PetscReal), (size_t)16))) SpikeRows {
  PetscScalar e[V];
};

template <int V>
__device__ static __forceinline__ SpikeRows<V> SpikeRowsLoad(const PetscScalar *p, PetscInt i)
{
  return ((const SpikeRows<V> *)p)[i];
}

template <int V>
__device__ static __forceinline__ void SpikeRowsStore(PetscScalar *p, PetscInt i, const SpikeRows<V> &v)
{
  ((SpikeRows<V> *)p)[i] = v;
}

/*
  The sums of a thread block over its threads, in their order, for the C right-hand sides from c0 on that are in `on`.
  d[][k], k < vectors, is sum number first + k of the step; d[][M + k], k < others, is number at + k. Each goes to the
  place of the thread block, number `block` of `blocks`, among the partials of its number.
*/
template <int M, int NOTHERS, int C>
__device__ static __forceinline__ void SpikeBasisLeave(const PetscScalar d[][M + NOTHERS], int vectors, int first,
                                                       int others, int at, const SpikeBasisEnd &e, int c0, unsigned on,
                                                       unsigned block, unsigned blocks)
{
  constexpr int          S    = M + NOTHERS;
  const int              warp = threadIdx.x / 32, lane = threadIdx.x % 32, c = threadIdx.x / S, k = threadIdx.x % S;
  __shared__ PetscScalar shared[C * S][SPIKE_BASIS_WARPS];

  __syncthreads(); /* the pass before has been read */
  SpikeUnroll2(i, C, j, S) {
    if (j >= M && j - M >= others) continue;
    const PetscScalar sum = SpikeWarpSum(d[i][j]);

    if (!lane) shared[i * S + j][warp] = sum;
  }
  __syncthreads();
  if (c < C && (on >> c & 1) && (k < vectors || (k >= M && k < M + others))) {
    PetscScalar sum = shared[threadIdx.x][0];

    for (int w = 1; w < SPIKE_BASIS_WARPS; w++) sum += shared[threadIdx.x][w];
    e.partials[(c0 + c) * e.stride + (PetscInt64)(k < M ? first + k : at + k - M) * blocks + block] = sum;
  }
}

/*
  The last thread block: each warp adds up a number over all thread blocks, in an order that depends on the grid alone.
  Then one thread for each right-hand side makes the recurrence, in shared memory
*/
template <int C>
__device__ static __noinline__ void SpikeBasisConclude(const SpikeBasisEnd *e, int c0, unsigned on, unsigned blocks)
{
  extern __shared__ __align__(16) unsigned char shared[];
  PetscScalar                                  *small = (PetscScalar *)shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, nsums = e->nsums, own = C > 1 ? warp : 0, c = c0 + own,
            nsmall = e->recur ? (int)SpikeIDRSize(e->recurrence.s) : 0;
  const bool mine  = !lane && warp < C && (on >> warp & 1);
  const auto there = [&](int i) { return e->small + (PetscInt64)(c0 + (C > 1 ? i / nsmall : 0)) * e->nsmall; };
  __shared__ PetscScalar        sums[C][SPIKE_BASIS_MOST + 3];
  __shared__ SpikeKrylovScalars scalars[C];

  if (mine && e->recur) scalars[own] = e->device[c].s;
  for (int k = warp; k < C * nsums; k += SPIKE_BASIS_WARPS) {
    const int i = C > 1 ? k / nsums : 0, j = C > 1 ? k % nsums : k;

    if (!(on >> i & 1)) continue;
    const PetscScalar sum = SpikeWarpSum(
      SpikeKrylovGather<9>(e->partials + (c0 + i) * e->stride + (PetscInt64)j * blocks, lane, 32, blocks));

    if (!lane) sums[i][j] = sum;
  }
  for (int i = threadIdx.x; i < C * nsmall; i += blockDim.x)
    if (on >> (C > 1 ? i / nsmall : 0) & 1) small[i] = there(i)[C > 1 ? i % nsmall : i];
  __syncthreads();
  if (mine) {
    if (e->recur) {
      const PetscBool post = SpikeIDRRecur(&e->recurrence, &scalars[own], small + own * nsmall, sums[own]);

      e->device[c].s = scalars[own];
      if (post) SpikeKrylovTell(e->device + c, e->mail + c, &scalars[own]);
    } else SpikeKrylovGive(nsums, sums[own], e->sums + (PetscInt64)c * 2 * e->mostsums, e->device + c, e->mail + c);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < C * nsmall; i += blockDim.x)
    if (on >> (C > 1 ? i / nsmall : 0) & 1) there(i)[C > 1 ? i % nsmall : i] = small[i];
}

/* After SpikeBasisLeave(): the ticket is that of right-hand side c0 */
template <int C>
__device__ static __forceinline__ void SpikeBasisFinish(const SpikeBasisEnd &e, int c0, unsigned on, unsigned blocks)
{
  __syncthreads();
  if (SpikeIsLastThreadBlock(&e.device[c0].ticket, blocks)) SpikeBasisConclude<C>(&e, c0, on, blocks);
}

/*
  Both for one right-hand side: `vectors` of the M first sums of a thread, and `others` after those M. Kernels that
  share a step count their thread blocks through: `front` come before those of this one, of `total`; 0: this one has all
*/
template <int M, int NOTHERS>
__device__ static __forceinline__ void SpikeBasisSums(const PetscScalar d[], int vectors, int others,
                                                      const SpikeBasisEnd &e, int c, unsigned before = 0,
                                                      unsigned total = 0)
{
  const unsigned blocks = total ? total : gridDim.x;

  SpikeBasisLeave<M, NOTHERS, 1>((const PetscScalar(*)[M + NOTHERS]) d, vectors, 0, others, M, e, c, 1,
                                 before + blockIdx.x, blocks);
  SpikeBasisFinish<1>(e, c, 1, blocks);
}

/* conj(a) b over V rows, added to d */
template <int V>
__device__ static __forceinline__ void SpikeRowsDot(const SpikeRows<V> &a, const SpikeRows<V> &b, PetscScalar &d)
{
  SpikeUnroll(v, V) d += SpikeKrylovDot(a.e[v], b.e[v]);
}

/* y += a x */
template <int V>
__device__ static __forceinline__ void SpikeRowsAxpy(PetscScalar a, const SpikeRows<V> &x, SpikeRows<V> &y)
{
  SpikeUnroll(v, V) y.e[v] = SpikeFma(a, x.e[v], y.e[v]);
}

/* y y, and with z also z z and conj(y) z, of one row, after M other sums */
template <int M>
__device__ static __forceinline__ void SpikeBasisDotsRow(PetscInt row, PetscScalar y, const PetscScalar *z,
                                                         PetscScalar d[])
{
  d[M] += SpikeKrylovDot(y, y);
  if (z) {
    const PetscScalar c = z[row];

    d[M + 1] += SpikeKrylovDot(c, c);
    d[M + 2] += SpikeKrylovDot(y, c);
  }
}

static inline bool SpikeBasisWide(const PetscScalar *p)
{
  return (size_t)p % (2 * sizeof(PetscReal)) == 0;
}

/* basis.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovBasisCreate_CUDA(SpikeKrylov *, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode SpikeKrylovBasisDestroy_CUDA(SpikeKrylov *);
PETSC_INTERN PetscErrorCode SpikeKrylovBasisStep_CUDA(SpikeKrylov *, SpikeKrylovBasisStep, const SpikeKrylovBasis *,
                                                      const SpikeKrylovBasis *, const SpikeIDRRecurrence *);
PETSC_INTERN PetscErrorCode SpikeKrylovBasisSums_CUDA(SpikeKrylov *, PetscInt, PetscScalar[]);
PETSC_INTERN PetscErrorCode SpikeKrylovBasisPush_CUDA(SpikeKrylov *);
PETSC_INTERN PetscErrorCode SpikeKrylovShadow_CUDA(PetscInt, PetscInt, PetscInt, PetscInt, PetscScalar *);
PETSC_INTERN SpikeBasisEnd  SpikeKrylovBasisEnd(const SpikeKrylov *, const SpikeIDRRecurrence *, PetscInt);

/* grid.y right-hand sides, ld apart */
PETSC_INTERN PetscErrorCode SpikeBasisSmooth_CUDA(const SpikeKrylovCUDA *, dim3 grid, const SpikeKrylovBasis *,
                                                  PetscInt64 ld, const SpikeBasisEnd &);

/* basis_narrow.cu: DOTS of narrow vectors, where PetscReal has double precision */
PETSC_INTERN PetscErrorCode SpikeBasisDotsNarrow_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovBasis *,
                                                      const SpikeBasisEnd &);
PETSC_INTERN PetscErrorCode SpikeKrylovToShadow_CUDA(PetscInt, const PetscScalar *, void *);

/* basis_mult.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovBasisMult_CUDA(SpikeKrylov *, const void *, const PetscScalar *,
                                                      const SpikeKrylovBasis *, const SpikeIDRRecurrence *);

/* krylov.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovSpin_CUDA(const SpikeKrylovCUDA *, const volatile unsigned long long *,
                                                 unsigned long long);

/* Bytes of shared memory for the recurrence */
static inline size_t SpikeBasisShared(const SpikeBasisEnd &e)
{
  return e.nsums && e.recur ? SpikeIDRSize(e.recurrence.s) * sizeof(PetscScalar) : 0;
}

/* Launches a kernel of a basis step by SpikeLaunchEarly() */
template <typename... P, typename... A>
static PetscErrorCode SpikeBasisLaunch(void (*kernel)(P...), const SpikeKrylovCUDA *h, dim3 grid,
                                       const SpikeBasisEnd &e, A... arguments)
{
  PetscFunctionBegin;
  PetscCallCUDA(
    SpikeLaunchEarly(kernel, grid, dim3(SPIKE_KRYLOV_THREADS), SpikeBasisShared(e), h->stream, arguments...));
  PetscFunctionReturn(PETSC_SUCCESS);
}
