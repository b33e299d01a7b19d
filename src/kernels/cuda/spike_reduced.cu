/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_reduced.cu: the reduced systems of the interfaces */
#include "spike_cuda.cuh"
#include "warp.cuh"

/* What the reduced systems report, [np + 1] each, one after the other in scratch; before them the addresses that cuBLAS wants */
struct SpikeReducedStatus {
  PetscScalar **from, **to;
  PetscReal    *scale, *value; /* of R: max(1, max |R_ij|); magnitude of the first bad pivot */
  int          *bad, *boosted, *info;
};

static size_t SpikeReducedBytes_Private(PetscInt np)
{
  return (size_t)(np + 1) * (2 * sizeof(PetscScalar *) + 2 * sizeof(PetscReal) + 3 * sizeof(int));
}

static void SpikeReducedSet_Private(PetscInt np, void *memory, SpikeReducedStatus *st)
{
  st->from    = (PetscScalar **)memory;
  st->to      = st->from + np + 1;
  st->scale   = (PetscReal *)(st->to + np + 1);
  st->value   = st->scale + np + 1;
  st->bad     = (int *)(st->value + np + 1);
  st->boosted = st->bad + np + 1;
  st->info    = st->boosted + np + 1;
}

/* Reduced systems of up to this many bytes are inverted in shared memory */
#define SPIKE_REDUCED_SHARED 40960

/* The pivot to use in place of p; what was done is noted by the calling thread */
__device__ static inline PetscScalar SpikeReducedPivot(PetscScalar p, PetscReal tol, PetscReal boost, PetscReal scale, PetscInt q, const SpikeReducedStatus &st)
{
  const PetscReal abs = SpikeAbs(p);

  if (abs > tol * scale && abs <= PETSC_MAX_REAL) return p;
  if (boost > 0.0 && abs <= tol * scale) {
    st.boosted[q]++;
    return abs > 0.0 ? p * (boost * scale / abs) : (PetscScalar)(boost * scale);
  }
  if (!st.bad[q]) {
    st.bad[q]   = 1;
    st.value[q] = abs;
  }
  return p;
}

/* max(1, max |A_e|) over a block of threads, the result in all of them */
__device__ static inline PetscReal SpikeReducedScale(int count, const PetscScalar *A)
{
  __shared__ PetscReal warp[32];
  PetscReal            scale = 1.0;

  for (int e = threadIdx.x; e < count; e += blockDim.x) scale = PetscMax(scale, SpikeAbs(A[e]));
  scale = SpikeWarpMax(scale);
  if (!(threadIdx.x & 31)) warp[threadIdx.x >> 5] = scale;
  __syncthreads();
  for (int w = 0; w < (int)blockDim.x / 32; w++) scale = PetscMax(scale, warp[w]);
  return scale;
}

/*
  R <- I - Wt Vb and then its inverse, by Gauss-Jordan elimination with row exchanges, a block for each interface q0 + blockIdx.x and the matrix in shared memory. The
  pivots are those of L U. A boosted one counts for U alone, as if L U had been made first: the rows below are eliminated with the pivot as it was.
*/
__global__ static void SpikeReduced_Kernel(int kl, int n, PetscInt q0, PetscReal tol, PetscReal boost, const PetscInt *active, const PetscScalar *dVb, const PetscScalar *dWt, PetscScalar *dR, SpikeReducedStatus st)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ int                                pivot[128];
  __shared__ PetscScalar                        inverse, ratio;
  PetscScalar                                  *A = (PetscScalar *)shared, *c = A + n * n;
  const PetscInt                                q  = q0 + blockIdx.x;
  const PetscScalar                            *Vb = dVb + q * (PetscCount)kl * n, *Wt = dWt + q * (PetscCount)kl * n;
  PetscReal                                     scale;

  if (!threadIdx.x) st.bad[q] = st.boosted[q] = 0;
  if (!active[q]) return;
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
    const int   i = e % n, j = e / n;
    PetscScalar v = i == j ? 1.0 : 0.0;

#pragma unroll 4
    for (int k = 0; k < kl; k++) v = SpikeFma(-Wt[i + k * n], Vb[k + (PetscCount)j * kl], v);
    A[e] = v;
  }
  __syncthreads();
  scale = SpikeReducedScale(n * n, A);
  for (int k = 0; k < n; k++) {
    if (threadIdx.x < 32) {
      PetscReal best  = -1.0;
      int       which = k;

      for (int i = k + threadIdx.x; i < n; i += 32) {
        const PetscReal v = SpikeAbs(A[i + k * n]);

        if (v > best) best = v, which = i;
      }
      for (int d = 16; d; d /= 2) {
        const PetscReal v = __shfl_xor_sync(SPIKE_WARP, best, d);
        const int       i = __shfl_xor_sync(SPIKE_WARP, which, d);

        if (v > best || (v == best && i < which)) best = v, which = i;
      }
      if (!threadIdx.x) {
        const PetscScalar was = A[which + k * n], is = SpikeReducedPivot(was, tol, boost, scale, q, st);

        pivot[k] = which;
        inverse  = (PetscScalar)1.0 / is;
        ratio    = was == is ? (PetscScalar)1.0 : SpikeAbs(was) > 0.0 ? is / was : (PetscScalar)0.0;
      }
    }
    __syncthreads();
    const int         p = pivot[k];
    const PetscScalar d = inverse, below = ratio;

    for (int j = threadIdx.x; j < n; j += blockDim.x) { /* exchange rows k and p, divide row k; column k: 1 / pivot */
      const PetscScalar v = A[p + j * n];

      A[p + j * n] = A[k + j * n];
      A[k + j * n] = j == k ? d : v * d;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = i > k ? A[i + k * n] * below : A[i + k * n];
    __syncthreads();
    for (int e = threadIdx.x; e < n * n; e += blockDim.x) {
      const int i = e % n, j = e / n;

      if (i != k) A[e] = SpikeFma(-c[i], A[k + j * n], j == k ? (PetscScalar)0.0 : A[e]);
    }
    __syncthreads();
  }
  if (!threadIdx.x) { /* the exchanges of rows are exchanges of columns of the inverse, in reverse order */
    int *from = (int *)c;

    for (int j = 0; j < n; j++) from[j] = j;
    for (int k = n - 1; k >= 0; k--) {
      const int f = from[k];

      from[k]        = from[pivot[k]];
      from[pivot[k]] = f;
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) dR[q * (PetscCount)n * n + e] = A[e % n + ((const int *)c)[e / n] * n];
}

/* Larger ones: the identity in batch matrices, and the addresses of these and of their inverses */
__global__ static void SpikeReducedStart_Kernel(int n, PetscInt q0, PetscScalar *work, PetscScalar *R, SpikeReducedStatus st)
{
  const PetscInt q = q0 + blockIdx.x;
  PetscScalar   *A = work + blockIdx.x * (PetscCount)n * n;

  for (int e = threadIdx.x; e < n * n; e += blockDim.x) A[e] = e % n == e / n ? 1.0 : 0.0;
  if (!threadIdx.x) {
    st.bad[q] = st.boosted[q] = 0;
    st.from[blockIdx.x]       = A;
    st.to[blockIdx.x]         = R + q * (PetscCount)n * n;
  }
}

__global__ static void SpikeReducedScale_Kernel(int n, PetscInt q0, const PetscScalar *work, SpikeReducedStatus st)
{
  const PetscReal scale = SpikeReducedScale(n * n, work + blockIdx.x * (PetscCount)n * n);

  if (!threadIdx.x) st.scale[q0 + blockIdx.x] = scale;
}

/* The policy on the diagonal of U, by one thread, in order */
__global__ static void SpikeReducedPivots_Kernel(int n, PetscInt q0, PetscReal tol, PetscReal boost, PetscScalar *work, SpikeReducedStatus st)
{
  PetscScalar *A = work + blockIdx.x * (PetscCount)n * n;

  for (int k = 0; k < n; k++) A[k + (PetscCount)k * n] = SpikeReducedPivot(A[k + (PetscCount)k * n], tol, boost, st.scale[q0 + blockIdx.x], q0 + blockIdx.x, st);
}

#if defined(PETSC_USE_COMPLEX)
  #if defined(PETSC_USE_REAL_SINGLE)
typedef cuComplex SpikeBLASScalar;
    #define SpikeBLAS(name) cublasC##name
  #else
typedef cuDoubleComplex SpikeBLASScalar;
    #define SpikeBLAS(name) cublasZ##name
  #endif
#else
typedef PetscScalar SpikeBLASScalar;
  #if defined(PETSC_USE_REAL_SINGLE)
    #define SpikeBLAS(name) cublasS##name
  #else
    #define SpikeBLAS(name) cublasD##name
  #endif
#endif

/* The same with cuBLAS, as many at once as the work space holds. Inactive interfaces have finite tips: theirs is harmless. */
static PetscErrorCode SpikeReducedLarge_Private(SpikeBand *s, PetscInt q0, PetscInt q1, const SpikePivot *pivot, const SpikeReducedStatus &st)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          kl = (int)s->kl, n = (int)s->ku;
  const PetscCount   square = (PetscCount)n * n, tip = (PetscCount)kl * n;
  const PetscScalar  one = 1.0, minus = -1.0;
  cublasHandle_t     handle;
  cudaStream_t       before;

  PetscFunctionBegin;
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscCallCUBLAS(cublasGetStream(handle, &before));
  PetscCallCUBLAS(cublasSetStream(handle, stream));
  for (PetscInt q = q0; q < q1;) {
    const int batch = (int)PetscMin(PetscMin(q1 - q, h->spikesize / square), 65535);
    int      *piv   = (int *)s->dpiv + q * n;

    SpikeReducedStart_Kernel<<<batch, 256, 0, stream>>>(n, q, h->spike, s->dR, st);
    PetscCallCUDA(cudaGetLastError());
    if (kl)
      PetscCallCUBLAS(SpikeBLAS(gemmStridedBatched)(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, kl, (const SpikeBLASScalar *)&minus, (const SpikeBLASScalar *)(s->dWt + q * tip), n, tip, (const SpikeBLASScalar *)(s->dVb + q * tip), kl, tip, (const SpikeBLASScalar *)&one,
                                                    (SpikeBLASScalar *)h->spike, n, square, batch));
    SpikeReducedScale_Kernel<<<batch, 256, 0, stream>>>(n, q, h->spike, st);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUBLAS(SpikeBLAS(getrfBatched)(handle, n, (SpikeBLASScalar *const *)st.from, n, piv, st.info + q, batch));
    SpikeReducedPivots_Kernel<<<batch, 1, 0, stream>>>(n, q, pivot->tol, pivot->boost, h->spike, st);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUBLAS(SpikeBLAS(getriBatched)(handle, n, (const SpikeBLASScalar *const *)st.from, n, (const int *)piv, (SpikeBLASScalar *const *)st.to, n, st.info + q, batch));
    q += batch;
  }
  PetscCallCUBLAS(cublasSetStream(handle, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt64 SpikeReducedWork_CUDA(const SpikeBand *s)
{
  return (PetscInt64)s->ku * s->ku;
}

size_t SpikeReducedScratch_CUDA(const SpikeBand *s)
{
  return SpikeReducedBytes_Private(s->np);
}

PetscErrorCode SpikeReduced_CUDA(SpikeBand *s, PetscInt q0, PetscInt q1, SpikePivot *pivot)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          kl = (int)s->kl, n = (int)s->ku;
  const size_t       bytes = ((size_t)n * n + n) * sizeof(PetscScalar), all = SpikeReducedBytes_Private(s->np);
  SpikeReducedStatus dev, host;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!n || q0 >= q1) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeReducedSet_Private(s->np, h->scratch, &dev);
  if (bytes <= SPIKE_REDUCED_SHARED) {
    SpikeReduced_Kernel<<<(unsigned)(q1 - q0), n <= 8 ? 32 : n <= 16 ? 64 : 256, bytes, stream>>>(kl, n, q0, pivot->tol, pivot->boost, h->dactive, s->dVb, s->dWt, s->dR, dev);
    PetscCallCUDA(cudaGetLastError());
  } else PetscCall(SpikeReducedLarge_Private(s, q0, q1, pivot, dev));
  SpikeReducedSet_Private(s->np, h->hostscratch, &host);
  PetscCallCUDA(cudaMemcpyAsync(h->hostscratch, h->scratch, all, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)all));
  for (PetscInt q = q0; q < q1; q++) {
    if (!s->active[q]) continue;
    pivot->nboost += host.boosted[q];
    if (host.bad[q] && pivot->badrow < 0) {
      pivot->badrow   = q;
      pivot->badvalue = host.value[q];
    }
  }
  PetscCall(PetscLogGpuFlops((q1 - q0) * (2.0 * kl * n * n + 2.0 * n * n * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
