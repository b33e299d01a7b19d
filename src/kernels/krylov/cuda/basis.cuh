/* SPDX-License-Identifier: BSD-2-Clause */
/* basis.cuh: the sums of basis steps, and what follows from them */
#pragma once

#include "krylov.cuh"

#define SPIKE_BASIS_COLUMNS 32 /* of a block, most */
#define SPIKE_BASIS_WARPS   (SPIKE_KRYLOV_THREADS / 32)

/* What follows from the sums of a kernel: nothing, a recurrence in its last block, or the host gets them */
typedef struct {
  SpikeIDRRecurrence  recurrence;
  int                 nsums; /* 0: nothing */
  bool                recur;
  SpikeKrylovDevice  *device;
  SpikeKrylovMail    *mail;
  PetscScalar        *partials, *small;
  volatile PetscReal *sums; /* in the memory of the host */
} SpikeBasisEnd;

/* V rows of a vector: one load */
template <int V>
struct alignas(PetscScalar) alignas(V * sizeof(PetscReal)) SpikeRows {
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
  The sums of a block over its threads, in their order: d[k] for k < columns is number first + k of the step, d[M + k]
  for k < others is number at + k. Each goes to the place of the block among the partials of its number.
*/
template <int M, int OTHERS>
__device__ static __forceinline__ void SpikeBasisLeave(const PetscScalar d[], int columns, int first, int others,
                                                       int at, PetscScalar *partials)
{
  const int              warp = threadIdx.x / 32, lane = threadIdx.x % 32, k = threadIdx.x;
  __shared__ PetscScalar shared[M + OTHERS][SPIKE_BASIS_WARPS];

  __syncthreads(); /* the pass before has been read */
#pragma unroll
  for (int j = 0; j < M + OTHERS; j++) {
    const PetscScalar sum = SpikeWarpSum(d[j]);

    if (!lane) shared[j][warp] = sum;
  }
  __syncthreads();
  if (k < columns || (k >= M && k < M + others)) {
    PetscScalar sum = shared[k][0];

    for (int w = 1; w < SPIKE_BASIS_WARPS; w++) sum += shared[k][w];
    partials[(size_t)(k < M ? first + k : at + k - M) * gridDim.x + blockIdx.x] = sum;
  }
}

/*
  The last block: sums over all blocks, a warp each, in an order that depends on the grid alone; then one thread makes
  the recurrence, in shared memory
*/
__device__ static __noinline__ void SpikeBasisConclude(const SpikeBasisEnd *e)
{
  extern __shared__ __align__(16) unsigned char shared[];
  PetscScalar                                  *small = (PetscScalar *)shared;
  const int                                     warp = threadIdx.x / 32, lane = threadIdx.x % 32,
            nsmall = e->recur ? (int)SpikeIDRSize(e->recurrence.s) : 0;
  __shared__ PetscScalar        sums[SPIKE_BASIS_COLUMNS + 3];
  __shared__ SpikeKrylovScalars s;

  if (!threadIdx.x && e->recur) s = e->device->s;
  for (int k = warp; k < e->nsums; k += SPIKE_BASIS_WARPS) {
    const PetscScalar sum = SpikeWarpSum(
      SpikeKrylovGather<9>(e->partials + (size_t)k * gridDim.x, lane, 32, gridDim.x));

    if (!lane) sums[k] = sum;
  }
  for (int i = threadIdx.x; i < nsmall; i += blockDim.x) small[i] = e->small[i];
  __syncthreads();
  if (!threadIdx.x) {
    if (e->recur) {
      const PetscBool post = SpikeIDRRecur(&e->recurrence, &s, small, sums);

      e->device->s = s;
      if (post) SpikeKrylovTell(e->device, e->mail, &s);
    } else {
      for (int k = 0; k < e->nsums; k++) {
        e->sums[2 * k]     = PetscRealPart(sums[k]);
        e->sums[2 * k + 1] = PetscImaginaryPart(sums[k]);
      }
      __threadfence_system();
      e->mail->summed = ++e->device->summed;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < nsmall; i += blockDim.x) e->small[i] = small[i];
}

/* Behind SpikeBasisLeave() */
__device__ static __forceinline__ void SpikeBasisFinish(const SpikeBasisEnd &e)
{
  __shared__ bool last;

  __threadfence();
  __syncthreads();
  if (!threadIdx.x) last = atomicInc(&e.device->ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  SpikeBasisConclude(&e);
}

/* conj(a) b over V rows, added to d */
template <int V>
__device__ static __forceinline__ void SpikeRowsDot(const SpikeRows<V> &a, const SpikeRows<V> &b, PetscScalar &d)
{
#pragma unroll
  for (int v = 0; v < V; v++) d += SpikeKrylovDot(a.e[v], b.e[v]);
}

/* y += a x */
template <int V>
__device__ static __forceinline__ void SpikeRowsAxpy(PetscScalar a, const SpikeRows<V> &x, SpikeRows<V> &y)
{
#pragma unroll
  for (int v = 0; v < V; v++) y.e[v] = SpikeFma(a, x.e[v], y.e[v]);
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

/* A kernel of a basis step, behind the one in front; the caller asks for the last error */
template <typename... P, typename... A>
static void SpikeBasisLaunch(void (*kernel)(P...), const SpikeKrylovCUDA *h, unsigned blocks, const SpikeBasisEnd &e,
                             A... arguments)
{
  (void)SpikeLaunchBehind(kernel, dim3(blocks), dim3(SPIKE_KRYLOV_THREADS), SpikeBasisShared(e), h->stream,
                          arguments...);
}
