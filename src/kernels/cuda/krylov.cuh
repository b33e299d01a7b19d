/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov.cuh: what the files of the CUDA backend of krylov.h share: its state, rows of the steps, sums, posts */
#pragma once

#include "../krylov.h"
#include "warp.cuh"
#include <petscdevice_cuda.h>

#define SPIKE_KRYLOV_THREADS 256

/* In the memory of the device */
typedef struct {
  SpikeKrylovScalars s;
  unsigned int       ticket; /* blocks of the running step that have left their sums      */
  unsigned long long posted; /* posts so far                                              */
  unsigned long long summed; /* steps whose sums were given to the host so far            */
} SpikeKrylovDevice;

/* In the memory of the host, written by the device: what counts first, then the count */
typedef struct {
  volatile unsigned long long posted, summed;
  struct {
    volatile PetscInt  it;
    volatile PetscReal norm;
    volatile int       reason;
  } ring[4];
  volatile PetscReal sums[2 * SPIKE_KRYLOV_MAXDOTS];
} SpikeKrylovMail;

typedef struct {
  SpikeKrylovDevice  *device;
  SpikeKrylovMail    *mail, *devicemail; /* one memory, as host and device see it                                    */
  PetscScalar        *partials;          /* [SPIKE_KRYLOV_MAXDOTS * SpikeKrylovMostBlocks()]                       */
  unsigned long long  read, summed;      /* posts that the host has read, sums that it has asked for                 */
  int                 multiprocessors;
  PetscScalar        *blockpartials;               /* [(columns + 3) * SpikeKrylovMostBlocks()]              */
  volatile PetscReal *blocksums, *deviceblocksums; /* [2 * (columns + 3)], one memory, as host and device see it */
  PetscInt            nsmall;
  cudaStream_t        stream, outer, own; /* where steps go; PETSc's, and ours, during a capture                     */
} SpikeKrylovCUDA;

typedef struct {
  PetscScalar *v[SPIKE_KRYLOV_MAXVECTORS];
} SpikeKrylovVectors;

/* Two rows: one load of 16 bytes in double precision */
struct alignas(2 * sizeof(PetscReal)) SpikeKrylovPair {
  PetscScalar a, b;
};

__device__ static __forceinline__ PetscScalar SpikeKrylovMul(PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
#else
  return a * b;
#endif
}

__device__ static __forceinline__ PetscScalar SpikeKrylovDot(PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real());
#else
  return a * b;
#endif
}

/* sign -1: a b, 1: conj(a) b */
__device__ static __forceinline__ PetscScalar SpikeKrylovXDot(PetscReal sign, PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return SpikeKrylovDot(PetscScalar(a.real(), sign * a.imag()), b);
#else
  (void)sign;
  return a * b;
#endif
}

#define MUL(a, b)  SpikeKrylovMul(a, b)
#define XDOT(a, b) SpikeKrylovXDot(1 - 2 * f->symmetric, a, b)
#define DOT(a, b)  SpikeKrylovDot(a, b)
#define STEP(name) __device__ static __forceinline__ void SpikeKrylovRow_##name(const SpikeKrylovFactors *f, PetscScalar e[], PetscScalar d[])
#include "../steps.h"
#undef MUL
#undef DOT
#undef XDOT
#undef STEP

template <int STEP>
struct SpikeKrylovTraits;
#define SPIKE_KRYLOV_TRAITS(NAME, name, NV, READ, WRITTEN, ND, FLOPS) \
  template <> \
  struct SpikeKrylovTraits<SPIKE_##NAME> { \
    static constexpr int                   nv = NV, nd = ND; \
    static constexpr unsigned              read = READ, written = WRITTEN; \
    __device__ static __forceinline__ void row(const SpikeKrylovFactors *f, PetscScalar e[], PetscScalar d[]) { SpikeKrylovRow_##name(f, e, d); } \
  };
SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_TRAITS)
#undef SPIKE_KRYLOV_TRAITS

/* The sum over the block, in warp 0, in the order of the threads' numbers; shared has a place for each warp */
__device__ static __forceinline__ PetscScalar SpikeKrylovBlockSum(PetscScalar v, PetscScalar shared[])
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  v = SpikeWarpSum(v);
  __syncthreads();
  if (!lane) shared[warp] = v;
  __syncthreads();
  if (!warp) v = SpikeWarpSum(lane < SPIKE_KRYLOV_THREADS / 32 ? shared[lane] : PetscScalar(0.0));
  return v;
}

/* What other blocks have written in this kernel */
__device__ static __forceinline__ PetscScalar SpikeKrylovLoad(const PetscScalar *p)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(__ldcg((const PetscReal *)p), __ldcg((const PetscReal *)p + 1));
#else
  return __ldcg(p);
#endif
}

/* The host learns the scalars: values first, then, behind a fence, the count */
__device__ static void SpikeKrylovTell(SpikeKrylovDevice *device, SpikeKrylovMail *mail, const SpikeKrylovScalars *s)
{
  const int k = (int)(device->posted % 4);

  mail->ring[k].it     = s->it;
  mail->ring[k].norm   = s->norm;
  mail->ring[k].reason = s->reason;
  __threadfence_system();
  mail->posted = ++device->posted;
}

/*
  The sums d[] of all threads of all blocks: the block, then the last block those of all blocks, each in an order that depends on the grid alone. With recur one thread of that
  block makes the recurrence, else it gives the sums to the host.
*/
template <int STEP>
__device__ static __forceinline__ void SpikeKrylovFinish(PetscScalar d[], PetscScalar shared[], bool recur, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X = SpikeKrylovTraits<STEP>;
  __shared__ bool last;

#pragma unroll
  for (int k = 0; k < X::nd; k++) {
    const PetscScalar sum = SpikeKrylovBlockSum(d[k], shared);

    if (!threadIdx.x) partials[k * gridDim.x + blockIdx.x] = sum;
  }
  if (!threadIdx.x) {
    __threadfence();
    last = atomicInc(&device->ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
#pragma unroll
  for (int k = 0; k < X::nd; k++) {
    PetscScalar sum = 0.0;

    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) sum += SpikeKrylovLoad(&partials[k * gridDim.x + b]);
    d[k] = SpikeKrylovBlockSum(sum, shared);
  }
  if (threadIdx.x) return;
  if (recur) {
    SpikeKrylovScalars s    = device->s;
    const PetscBool    post = SpikeKrylovRecur(STEP, &s, d);

    device->s = s;
    if (post) SpikeKrylovTell(device, mail, &s);
  } else {
#pragma unroll
    for (int k = 0; k < X::nd; k++) {
      mail->sums[2 * k]     = PetscRealPart(d[k]);
      mail->sums[2 * k + 1] = PetscImaginaryPart(d[k]);
    }
    __threadfence_system();
    mail->summed = ++device->summed;
  }
}

/* Blocks of a kernel that has sums, at most */
static inline int SpikeKrylovMostBlocks(const SpikeKrylovCUDA *h)
{
  return 8 * h->multiprocessors;
}

/*
  Blocks of a kernel that a multiprocessor holds at once, asked for once: kernels that go round over rows have no more, for a second wave of a few blocks would leave the device half empty
  for as long as the first one took
*/
template <typename K>
static inline PetscErrorCode SpikeKrylovResident(K kernel, int *resident)
{
  PetscFunctionBegin;
  if (!*resident) {
    PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(resident, kernel, SPIKE_KRYLOV_THREADS, 0));
    *resident = PetscMax(1, *resident);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* krylov_mult.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovCopy_CUDA(SpikeKrylov *, const SpikeKrylovCSR *, KSPFusedSpMVType, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovRefill_CUDA(SpikeKrylov *, const SpikeKrylovCSR *, void *);
PETSC_INTERN PetscErrorCode SpikeKrylovDestroyCopy_CUDA(SpikeKrylov *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovMult_CUDA(SpikeKrylov *, const void *, SpikeKrylovStep, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *const[]);
