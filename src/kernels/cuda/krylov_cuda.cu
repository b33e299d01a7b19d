/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_cuda.cu: the CUDA backend of krylov.h */
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
  SpikeKrylovDevice *device;
  SpikeKrylovMail   *mail, *devicemail; /* one memory, as host and device see it                                    */
  PetscScalar       *partials;          /* [SPIKE_KRYLOV_MAXDOTS * blocks]                                          */
  unsigned long long read, summed;      /* posts that the host has read, sums that it has asked for                 */
  int                multiprocessors;
  cudaStream_t       stream;
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

#define MUL(a, b)  SpikeKrylovMul(a, b)
#define DOT(a, b)  SpikeKrylovDot(a, b)
#define STEP(name) __device__ static __forceinline__ void SpikeKrylovRow_##name(const SpikeKrylovFactors *f, PetscScalar e[], PetscScalar d[])
#include "../steps.h"
#undef MUL
#undef DOT
#undef STEP

template <int STEP>
struct SpikeKrylovTraits;
#define SPIKE_KRYLOV_TRAITS(NAME, name, NV, READ, WRITTEN, ND, FLOPS) \
  template <> \
  struct SpikeKrylovTraits<SPIKE_##NAME> { \
    static constexpr int             nv = NV, nd = ND; \
    static constexpr unsigned        read = READ, written = WRITTEN; \
    __device__ static __forceinline__ void row(const SpikeKrylovFactors *f, PetscScalar e[], PetscScalar d[]) \
    { \
      SpikeKrylovRow_##name(f, e, d); \
    } \
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
  One step on n rows, a thread a pair of rows in each round, or a row where the vectors are not aligned. Words moved: the list in scalars.h. Nothing is done when a reason is set.

  Sums: each thread its rows, then the block, then the last block those of all blocks, each in an order that depends on n, on the number of multiprocessors and on alignment alone. With recur one
  thread of that block makes the recurrence, else it gives the sums to the host.
*/
template <int STEP>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS) SpikeKrylovKernel(PetscInt n, SpikeKrylovVectors v, bool wide, bool recur, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X = SpikeKrylovTraits<STEP>;
  constexpr int            ND = X::nd ? X::nd : 1;
  const SpikeKrylovFactors f     = device->s.f;
  const PetscInt           first = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;
  PetscScalar              d[ND];
  __shared__ PetscScalar   shared[SPIKE_KRYLOV_THREADS / 32];
  __shared__ bool          last;

  if (device->s.reason) return;
#pragma unroll
  for (int k = 0; k < ND; k++) d[k] = 0.0;
  if (wide) {
    const PetscInt pairs = n / 2;

    for (PetscInt i = first; i < pairs; i += stride) {
      PetscScalar a[X::nv], b[X::nv];

#pragma unroll
      for (int k = 0; k < X::nv; k++) {
        if ((X::read >> k) & 1) {
          const SpikeKrylovPair p = ((const SpikeKrylovPair *)v.v[k])[i];

          a[k] = p.a;
          b[k] = p.b;
        }
      }
      X::row(&f, a, d);
      X::row(&f, b, d);
#pragma unroll
      for (int k = 0; k < X::nv; k++) {
        if ((X::written >> k) & 1) {
          SpikeKrylovPair p;

          p.a                              = a[k];
          p.b                              = b[k];
          ((SpikeKrylovPair *)v.v[k])[i] = p;
        }
      }
    }
  }
  for (PetscInt i = wide ? n - n % 2 + first : first; i < n; i += stride) {
    PetscScalar a[X::nv];

#pragma unroll
    for (int k = 0; k < X::nv; k++)
      if ((X::read >> k) & 1) a[k] = v.v[k][i];
    X::row(&f, a, d);
#pragma unroll
    for (int k = 0; k < X::nv; k++)
      if ((X::written >> k) & 1) v.v[k][i] = a[k];
  }
  if constexpr (X::nd > 0) {
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
}

template <int STEP>
static void SpikeKrylovLaunch(const SpikeKrylovCUDA *h, PetscInt n, const SpikeKrylovVectors *v, bool wide, bool recur)
{
  const PetscInt rounds = (wide ? n / 2 + n % 2 : n), most = h->multiprocessors * (SpikeKrylovTraits<STEP>::nd ? 4 : 8);
  const PetscInt blocks = PetscMax(1, PetscMin(most, (rounds + SPIKE_KRYLOV_THREADS - 1) / SPIKE_KRYLOV_THREADS));

  SpikeKrylovKernel<STEP><<<(unsigned)blocks, SPIKE_KRYLOV_THREADS, 0, h->stream>>>(n, *v, wide, recur, h->device, h->partials, h->devicemail);
}

static PetscErrorCode SpikeKrylovCreate_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h;
  int              device;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  s->data = h;
  PetscCall(PetscGetCurrentCUDAStream(&h->stream));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&h->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  PetscCallCUDA(cudaMalloc((void **)&h->device, sizeof(*h->device)));
  PetscCallCUDA(cudaMemsetAsync(h->device, 0, sizeof(*h->device), h->stream));
  PetscCallCUDA(cudaMalloc((void **)&h->partials, sizeof(PetscScalar) * SPIKE_KRYLOV_MAXDOTS * 4 * h->multiprocessors));
  PetscCallCUDA(cudaHostAlloc((void **)&h->mail, sizeof(*h->mail), cudaHostAllocMapped));
  memset((void *)h->mail, 0, sizeof(*h->mail));
  PetscCallCUDA(cudaHostGetDevicePointer((void **)&h->devicemail, (void *)h->mail, 0));
  PetscCallCUDA(cudaMallocHost((void **)&s->scalars, sizeof(*s->scalars)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovDestroy_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaStreamSynchronize(h->stream)); /* an iteration too many may still be on its way */
  PetscCallCUDA(cudaFree(h->device));
  PetscCallCUDA(cudaFree(h->partials));
  PetscCallCUDA(cudaFreeHost((void *)h->mail));
  PetscCallCUDA(cudaFreeHost(s->scalars));
  s->scalars = NULL;
  PetscCall(PetscFree(s->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovPush_CUDA(SpikeKrylov *s, PetscBool testonly)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&h->stream));
  PetscCallCUDA(cudaMemcpyAsync(&h->device->s, s->scalars, testonly ? sizeof(s->scalars->t) : sizeof(*s->scalars), cudaMemcpyHostToDevice, h->stream)); /* t is the first member */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovStep_CUDA(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[])
{
  SpikeKrylovCUDA           *h    = (SpikeKrylovCUDA *)s->data;
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
  SpikeKrylovVectors         vectors;
  bool                       wide = true;

  PetscFunctionBegin;
  if (!s->ondevice && s->scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < info->nvectors; k++) {
    vectors.v[k] = v[k];
    if ((size_t)v[k] % alignof(SpikeKrylovPair)) wide = false;
  }
  PetscCall(PetscLogGpuTimeBegin());
  switch (step) {
#define SPIKE_KRYLOV_CASE(NAME, ...) \
  case SPIKE_##NAME: \
    SpikeKrylovLaunch<SPIKE_##NAME>(h, n, &vectors, wide, s->ondevice ? true : false); \
    break;
    SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_CASE)
#undef SPIKE_KRYLOV_CASE
  default:
    break;
  }
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(info->flops * (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Until *count, which the device writes, has passed `seen`. The stream is asked now and then, which notices a fault and a device that has nothing left to do */
static PetscErrorCode SpikeKrylovSpin_Private(const SpikeKrylovCUDA *h, const volatile unsigned long long *count, unsigned long long seen)
{
  PetscFunctionBegin;
  for (unsigned long spins = 1; *count <= seen; spins++) {
    if (spins % (1ul << 20) == 0) {
      const cudaError_t error = cudaStreamQuery(h->stream);

      if (error == cudaErrorNotReady) continue;
      PetscCallCUDA(error);
      PetscCheck(*count > seen, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The device has nothing left to do and has not answered");
    }
  }
  __sync_synchronize();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovSums_CUDA(SpikeKrylov *s, SpikeKrylovStep step)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin_Private(h, &h->mail->summed, h->summed++));
  for (PetscInt k = 0; k < SpikeKrylovSteps[step].ndots; k++) {
#if defined(PETSC_USE_COMPLEX)
    s->local[k] = PetscCMPLX(h->mail->sums[2 * k], h->mail->sums[2 * k + 1]);
#else
    s->local[k] = h->mail->sums[2 * k];
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovWait_CUDA(SpikeKrylov *s, SpikeKrylovPost *post)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;
  const int        k = (int)(h->read % 4);

  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin_Private(h, &h->mail->posted, h->read++));
  post->it     = h->mail->ring[k].it;
  post->norm   = h->mail->ring[k].norm;
  post->reason = h->mail->ring[k].reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovKernels SpikeKrylovKernels_CUDA = {"cuda", PETSC_MEMTYPE_CUDA, SpikeKrylovCreate_CUDA, SpikeKrylovDestroy_CUDA, SpikeKrylovPush_CUDA, SpikeKrylovStep_CUDA, SpikeKrylovSums_CUDA, SpikeKrylovWait_CUDA};
