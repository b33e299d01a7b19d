/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov.cuh: what the files of the CUDA backend of krylov.h share: its state, rows of the steps, sums, posts */
#pragma once

#include "kernels/krylov/krylov.h"
#include "kernels/common/cuda/device.cuh"
#include "kernels/common/cuda/lastblock.cuh"
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/memory.cuh"
#include "kernels/common/cuda/warp.cuh"

#define SPIKE_KRYLOV_THREADS 256

/* In the memory of the device */
typedef struct {
  SpikeKrylovScalars s;
  unsigned int       ticket; /* blocks of the running step that have left their sums      */
  unsigned int       here;   /* SpikeGridBarrier() of the running launch                  */
  unsigned long long posted; /* posts so far                                              */
  unsigned long long summed; /* steps whose sums were given to the host so far            */
} SpikeKrylovDevice;

/*
  A post, of three numbers that come in any order, each by one store; before that they are SPIKE_KRYLOV_UNWRITTEN, a NaN
  that no arithmetic gives. A fence between values and a count would take longer than the stores: 1.0 us of an iteration
  in place of 0.3 (tried-cuda.txt). norm and replaced are in double precision; ended: the iteration, and in its last
  byte the reason
*/
typedef struct {
  volatile unsigned long long norm, replaced, ended;
} SpikeKrylovMailPost;

#define SPIKE_KRYLOV_UNWRITTEN 0x7ff4a5a5c3c39696ull

/* In the memory of the host, written by the device. Sums: values first, then, after a fence, the count */
typedef struct {
  volatile unsigned long long summed;
  SpikeKrylovMailPost         ring[SPIKE_KRYLOV_POSTS];
  volatile PetscReal          sums[2 * SPIKE_KRYLOV_MAXDOTS];
} SpikeKrylovMail;

typedef struct {
  SpikeKrylovDevice *device;
  /* one memory, as host and device see it                                    */
  SpikeKrylovMail *mail, *devicemail;
  /* [SpikeKrylovPartials()]; steps use the first part; steps of two kernels, and products in pieces, use all of it */
  PetscScalar *partials;
  /* posts that the host has read, sums that it has asked for                 */
  unsigned long long read, summed;
  const SpikeDevice *gpu;
  PetscScalar       *basispartials; /* [(columns + 3) * SpikeKrylovMostBlocks()]              */
  /* [2 * (columns + 3)], one memory, as host and device see it */
  volatile PetscReal *basissums, *devicebasissums;
  PetscInt            nsmall;
  bool                capturing;
  cudaStream_t        stream, outer, own; /* where steps go; PETSc's, and ours, during a capture                     */
} SpikeKrylovCUDA;

typedef struct {
  PetscScalar *v[SPIKE_KRYLOV_MAXVECTORS];
} SpikeKrylovVectors;

/* Two rows: one load of 16 bytes in double precision */
struct alignas(2 * sizeof(PetscReal)) SpikeKrylovPair {
  PetscScalar a, b;
};

/* The same of numbers in single precision */
struct alignas(2 * sizeof(SpikeSingle)) SpikeKrylovSinglePair {
  SpikeSingle a, b;
};

/*
  a b, rounded by itself: compilers make fma() of a b + c or not, and a formula is to have the same bits in each kernel
*/
__device__ static __forceinline__ PetscReal SpikeKrylovTimes(PetscReal a, PetscReal b)
{
#if defined(PETSC_USE_REAL_SINGLE)
  return __fmul_rn(a, b);
#else
  return __dmul_rn(a, b);
#endif
}

__device__ static __forceinline__ PetscScalar SpikeKrylovMul(PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(SpikeKrylovTimes(a.real(), b.real()) - SpikeKrylovTimes(a.imag(), b.imag()),
                     SpikeKrylovTimes(a.real(), b.imag()) + SpikeKrylovTimes(a.imag(), b.real()));
#else
  return SpikeKrylovTimes(a, b);
#endif
}

__device__ static __forceinline__ PetscScalar SpikeKrylovDot(PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(SpikeKrylovTimes(a.real(), b.real()) + SpikeKrylovTimes(a.imag(), b.imag()),
                     SpikeKrylovTimes(a.real(), b.imag()) - SpikeKrylovTimes(a.imag(), b.real()));
#else
  return SpikeKrylovTimes(a, b);
#endif
}

/* sign -1: a b, 1: conj(a) b */
__device__ static __forceinline__ PetscScalar SpikeKrylovXDot(PetscReal sign, PetscScalar a, PetscScalar b)
{
#if defined(PETSC_USE_COMPLEX)
  return SpikeKrylovDot(PetscScalar(a.real(), sign * a.imag()), b);
#else
  return SpikeKrylovTimes(a, b);
#endif
}

#define MUL(a, b)  SpikeKrylovMul(a, b)
#define XDOT(a, b) SpikeKrylovXDot(1 - 2 * f->symmetric, a, b)
#define DOT(a, b)  SpikeKrylovDot(a, b)
#define STEPHEAD(name) \
  __device__ static __forceinline__ void SpikeKrylovRow_##name(const SpikeKrylovFactors *f, PetscScalar e[], \
                                                               PetscScalar d[])
#include "kernels/krylov/steps.h"
#undef MUL
#undef DOT
#undef XDOT
#undef STEPHEAD

template <int STEPID>
struct SpikeKrylovTraits;
#define SPIKE_KRYLOV_TRAITS(ID, name, NVEC, READS, WRITES, NDOT, FLOPS) \
  template <> \
  struct SpikeKrylovTraits<SPIKE_##ID> { \
    static constexpr int                   nv = NVEC, nd = NDOT; \
    static constexpr unsigned              read = READS, written = WRITES; \
    __device__ static __forceinline__ void row(const SpikeKrylovFactors *f, PetscScalar e[], PetscScalar d[]) \
    { \
      SpikeKrylovRow_##name(f, e, d); \
    } \
  };
SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_TRAITS)
#undef SPIKE_KRYLOV_TRAITS

/*
  row(e) for n rows of NVEC vectors. `threads` call it, each with a number of its own; a round is a pair of rows each,
  or a row where the vectors are not aligned. The last row of an odd number is a round of its own, after the pairs. e[]
  has the vectors that READS names; those that WRITES names are stored. Vector number SINGLE, if there is one, has
  single precision.
*/
template <int NVEC, unsigned READS, unsigned WRITES, int SINGLE = -1, typename F>
__device__ static __forceinline__ void SpikeKrylovEach(PetscInt number, PetscInt threads, PetscInt n,
                                                       const SpikeKrylovVectors &v, bool wide, F &&row)
{
  PetscInt i = number;

  if (wide) {
    const PetscInt pairs = n / 2;

    for (; i < pairs; i += threads) {
      PetscScalar a[NVEC], b[NVEC];

      SpikeUnroll(k, NVEC) {
        if (k == SINGLE) {
          const SpikeKrylovSinglePair p = ((const SpikeKrylovSinglePair *)v.v[k])[i];

          a[k] = SpikeLoad(&p.a);
          b[k] = SpikeLoad(&p.b);
        } else if ((READS >> k) & 1) {
          const SpikeKrylovPair p = ((const SpikeKrylovPair *)v.v[k])[i];

          a[k] = p.a;
          b[k] = p.b;
        }
      }
      row(a);
      row(b);
      SpikeUnroll(k, NVEC) {
        if ((WRITES >> k) & 1) {
          SpikeKrylovPair p;

          p.a                            = a[k];
          p.b                            = b[k];
          ((SpikeKrylovPair *)v.v[k])[i] = p;
        }
      }
    }
    i = n % 2 && i == pairs ? n - 1 : n;
  }
  for (; i < n; i += threads) {
    PetscScalar a[NVEC];

    SpikeUnroll(k, NVEC)
      if ((READS >> k) & 1) a[k] = k == SINGLE ? SpikeLoad((const SpikeSingle *)v.v[k] + i) : v.v[k][i];
    row(a);
    SpikeUnroll(k, NVEC)
      if ((WRITES >> k) & 1) v.v[k][i] = a[k];
  }
}

/* The sum over the block, in warp 0, in the order of the threads' numbers; shared has a place for each warp */
__device__ static __forceinline__ PetscScalar SpikeKrylovThreadBlockSum(PetscScalar v, PetscScalar shared[])
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

/*
  The sum of p[begin], p[begin + stride], ... below p[end], in this order; M loads are on their way at once: each comes
  from the L2 cache
*/
template <int M>
__device__ static __forceinline__ PetscScalar SpikeKrylovGather(const PetscScalar *p, unsigned begin, unsigned stride,
                                                                unsigned end)
{
  PetscScalar sum = 0.0;

  for (unsigned b = begin; b < end; b += M * stride) {
    PetscScalar a[M];

    SpikeUnroll(u, M) a[u] = b + u * stride < end ? SpikeKrylovLoad(p + b + u * stride) : PetscScalar(0.0);
    SpikeUnroll(u, M) sum += a[u];
  }
  return sum;
}

/* The host learns the scalars, or those of them that are in a post */
template <typename S>
__device__ static void SpikeKrylovTell(SpikeKrylovDevice *device, SpikeKrylovMail *mail, const S *s)
{
  SpikeKrylovMailPost *post = &mail->ring[device->posted++ % SPIKE_KRYLOV_POSTS];

  post->norm     = (unsigned long long)__double_as_longlong((double)s->norm);
  post->replaced = (unsigned long long)__double_as_longlong((double)s->replaced);
  post->ended    = (unsigned long long)s->it << 8 | (unsigned long long)(unsigned char)(signed char)s->reason;
}

/* The host learns n sums: values first, then, after a fence, the count */
__device__ static __forceinline__ void SpikeKrylovGive(int n, const PetscScalar d[], volatile PetscReal *sums,
                                                       SpikeKrylovDevice *device, SpikeKrylovMail *mail)
{
  for (int k = 0; k < n; k++) {
    sums[2 * k]     = PetscRealPart(d[k]);
    sums[2 * k + 1] = PetscImaginaryPart(d[k]);
  }
  __threadfence_system();
  mail->summed = ++device->summed;
}

/* One number of a post is there, and *v is it */
static inline bool SpikeKrylovIsWritten(const volatile unsigned long long *number, unsigned long long *v)
{
  *v = *number;
  return *v != SPIKE_KRYLOV_UNWRITTEN;
}

/* The host takes sum k that SpikeKrylovGive() has left */
static inline PetscScalar SpikeKrylovTake(const volatile PetscReal *sums, PetscInt k)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(sums[2 * k], sums[2 * k + 1]);
#else
  return sums[2 * k];
#endif
}

/* One thread, with all sums of a step: recur: the recurrence, and with POSTS its post; else the host gets the sums */
template <int STEPID, bool POSTS>
__device__ static __forceinline__ void SpikeKrylovConclude(PetscScalar d[], bool recur, SpikeKrylovDevice *device,
                                                           SpikeKrylovMail *mail)
{
  if (recur) {
    SpikeKrylovScalars s    = device->s;
    const PetscBool    post = SpikeKrylovRecur(STEPID, &s, d);

    device->s = s;
    if (POSTS && post) SpikeKrylovTell(device, mail, &s);
  } else SpikeKrylovGive(SpikeKrylovTraits<STEPID>::nd, d, mail->sums, device, mail);
}

/*
  The sums d[] of all threads of all thread blocks, and what follows from them. Each thread block leaves its own sums;
  the last one adds up all, in an order that depends on the grid alone. Kernels that share a step count their thread
  blocks through: this is number `block` of `blocks`.
*/
template <int STEPID, bool POSTS = true>
__device__ static __forceinline__ void SpikeKrylovFinish(PetscScalar d[], PetscScalar shared[], bool recur,
                                                         SpikeKrylovDevice *device, PetscScalar *partials,
                                                         SpikeKrylovMail *mail, unsigned block, unsigned blocks)
{
  using X = SpikeKrylovTraits<STEPID>;

  SpikeUnroll(k, X::nd) {
    const PetscScalar sum = SpikeKrylovThreadBlockSum(d[k], shared);

    if (!threadIdx.x) partials[k * blocks + block] = sum;
  }
  if (!SpikeIsLastThreadBlock(&device->ticket, blocks)) return;
  SpikeUnroll(k, X::nd) d[k] = SpikeKrylovGather<3>(partials + k * blocks, threadIdx.x, blockDim.x, blocks);
  SpikeUnroll(k, X::nd) d[k] = SpikeKrylovThreadBlockSum(d[k], shared);
  if (!threadIdx.x) SpikeKrylovConclude<STEPID, POSTS>(d, recur, device, mail);
}

/* Rounds of one thread over n rows: pairs of rows, or rows */
static inline PetscInt SpikeKrylovRounds(PetscInt n, bool wide)
{
  return wide ? n / 2 + n % 2 : n;
}

/* Thread blocks for `items`, `each` of them for one thread block; from 1 to `most` */
static inline PetscInt SpikeKrylovGrid(PetscInt most, PetscInt items, PetscInt each)
{
  return PetscMax(1, PetscMin(most, (items + each - 1) / each));
}

/* Most thread blocks of a kernel with sums, except products in pieces */
static inline int SpikeKrylovMostBlocks(const SpikeKrylovCUDA *h)
{
  return 8 * h->gpu->multiprocessors;
}

#define SPIKE_KRYLOV_MAXPIECES 32768 /* thread blocks of a product in pieces, so that adding them up takes no time */

/* alone: of one step at a time */
static inline size_t SpikeKrylovPartials(const SpikeKrylovCUDA *h, PetscBool alone)
{
  const int most = SpikeKrylovMostBlocks(h);

  return (size_t)SPIKE_KRYLOV_MAXDOTS * (most + (alone ? 0 : PetscMax(most, SPIKE_KRYLOV_MAXPIECES)));
}

/*
  Thread blocks of a kernel on a multiprocessor at once. Kernels that go round over rows have no more: a second wave of
  a few would leave the device half empty for as long as the first one took
*/
template <typename K>
static inline PetscErrorCode SpikeKrylovResident(K kernel, int *resident)
{
  PetscFunctionBegin;
  PetscCall(SpikeKernelResident((const void *)kernel, SPIKE_KRYLOV_THREADS, 0, resident));
  *resident = PetscMax(1, *resident);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* krylov.cu: whether a step takes rows in pairs; its launch, or without vectors only the blocks of its kernel */
PETSC_INTERN bool           SpikeKrylovIsWide(PetscInt, PetscScalar *const[]);
PETSC_INTERN PetscErrorCode SpikeKrylovStepLaunch_CUDA(const SpikeKrylovCUDA *, SpikeKrylovStep, PetscInt n,
                                                       const SpikeKrylovVectors *, bool wide, bool recur, PetscInt *);

/* step_single.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovToSingle_CUDA(PetscInt, const PetscScalar *, void *);
PETSC_INTERN PetscErrorCode SpikeKrylovBySingle_CUDA(PetscInt, const void *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeKrylovSingleStep_CUDA(SpikeKrylov *, SpikeKrylovStep, PetscInt, PetscScalar *const[]);

/* persistent.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovIterate_CUDA(SpikeKrylov *, const void *, const SpikeKrylovIterations *,
                                                    PetscInt, PetscInt *, PetscBool *);

/* stencil.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovBorrowStencil_CUDA(SpikeKrylov *, const SpikeStencil *, const SpikeKrylovLoan *,
                                                          void **);

/* blocks.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovBorrowBlocks_CUDA(SpikeKrylov *, const SpikeKrylovLoan *, void **);

/* off.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovCouple_CUDA(SpikeKrylov *, const SpikeKrylovCSR *, const SpikeKrylovLoan *,
                                                   void *, PetscBool *);
PETSC_INTERN PetscErrorCode SpikeKrylovRecouple_CUDA(SpikeKrylov *, const SpikeKrylovCSR *, void *);

/* mult.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovCopy_CUDA(SpikeKrylov *, const SpikeKrylovCSR *, KSPFusedSpMVType, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovBorrow_CUDA(SpikeKrylov *, const SpikeKrylovLoan *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovRefill_CUDA(SpikeKrylov *, const SpikeKrylovCSR *, void *);
PETSC_INTERN PetscErrorCode SpikeKrylovDestroyCopy_CUDA(SpikeKrylov *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovMult_CUDA(SpikeKrylov *, const void *, SpikeKrylovStep, const PetscScalar *,
                                                 const PetscScalar *, PetscScalar *, PetscScalar *const[]);

/* narrow.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovNarrow_CUDA(SpikeKrylov *, const void *, PetscSpikePrecision, PetscBool,
                                                   void **);
