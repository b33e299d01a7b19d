/* SPDX-License-Identifier: BSD-2-Clause */
/* reduced.cu: the reduced systems of the interfaces */
#include "band.cuh"
#include "reduced_pivot.cuh"

#if !defined(PETSC_USE_COMPLEX)
  #include "reduced.cuh"
#endif

#define SPIKE_REDUCED_WARP 32 /* systems up to this order are done by a warp, with exchanges of rows in shared memory */

/* max(1, max |A_e|) over a thread block, the result in all of them */
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

/* from[] <- the order of the inverse's columns: the exchanges of rows in reverse order; pivot[] after a barrier */
__device__ static inline void SpikeReducedOrder(int n, const int *pivot, int *from)
{
  if (!threadIdx.x) {
    for (int j = 0; j < n; j++) from[j] = j;
    for (int k = n - 1; k >= 0; k--) {
      const int f = from[k];

      from[k]        = from[pivot[k]];
      from[pivot[k]] = f;
    }
  }
  __syncthreads();
}

/*
  R <- I - Wt Vb and then its inverse, by Gauss-Jordan elimination with row exchanges, by a thread block with the
  matrix in shared memory A, [n (n + 1)]. The pivots are those of L U. A boosted one counts for U alone, as if L U had
  been made first: the rows below are eliminated with the pivot as it was.
*/
__device__ static __noinline__ void SpikeReducedExchanged(int kl, int n, PetscInt q, PetscReal tol, PetscReal boost,
                                                          const PetscScalar *Vb, const PetscScalar *Wt, PetscScalar *R,
                                                          PetscScalar *A, SpikeReducedStatus st)
{
  __shared__ int         pivot[SPIKE_REDUCED_WARP];
  __shared__ PetscScalar inverse, ratio;
  PetscScalar           *c = A + n * n;
  PetscReal              scale;
  bool                   bad = false;

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
        const PetscScalar was = A[which + k * n], is = SpikeReducedPivot(was, tol, boost, scale, q, st, true, bad);

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
  SpikeReducedOrder(n, pivot, (int *)c);
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) R[e] = A[e % n + ((const int *)c)[e / n] * n];
}

/*
  A warp for each interface q0 + blockIdx.x stride, n <= 8 N8. Shared memory: a tile and the work of its inversion, or A
  of SpikeReducedExchanged()
*/
template <int N8>
__global__ static void __launch_bounds__(32)
  SpikeReduced_Kernel(int kl, int n, PetscInt q0, PetscInt stride, PetscReal tol, PetscReal boost,
                      const PetscInt *active, const PetscScalar *dVb, const PetscScalar *dWt, PetscScalar *dR,
                      SpikeReducedStatus st)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const PetscInt                                q  = q0 + blockIdx.x * stride;
  const PetscScalar                            *Vb = dVb + q * (PetscCount)kl * n, *Wt = dWt + q * (PetscCount)kl * n;
  PetscScalar                                  *R = dR + q * (PetscCount)n * n;

  if (!active[q]) return;
#if !defined(PETSC_USE_COMPLEX)
  if (tol < SPIKE_REDUCED_TOL &&
      SpikeReducedWarp<N8>(kl, n, Wt, Vb, R, (double *)shared + SPIKE_INVERT_WORK, (double *)shared))
    return;
#endif
  SpikeReducedExchanged(kl, n, q, tol, boost, Vb, Wt, R, (PetscScalar *)shared, st);
}

template <int N8>
static PetscErrorCode SpikeReducedSmall_Private(SpikeBand *s, PetscInt q0, PetscInt count, PetscInt stride,
                                                const SpikePivot *pivot, const SpikeReducedStatus &st)
{
  const int kl = (int)s->kl, n = (int)s->ku;
  size_t    bytes = ((size_t)n * n + n) * sizeof(PetscScalar);

  PetscFunctionBegin;
#if !defined(PETSC_USE_COMPLEX)
  bytes = PetscMax(bytes, (SPIKE_INVERT_WORK + SpikeTileShape<N8>::NPLACES) * sizeof(double));
#endif
  SpikeReduced_Kernel<N8>
    <<<(unsigned)count, 32, bytes, (cudaStream_t)s->stream>>>(kl, n, q0, stride, pivot->tol, pivot->boost,
                                                              ((const SpikeCUDA *)s->data)->dactive, s->dVb, s->dWt,
                                                              s->dR, st);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Larger ones: the identity in matrices q0 + blockIdx.x stride */
__global__ static void SpikeReducedStart_Kernel(int n, PetscInt q0, PetscInt stride, PetscScalar *A)
{
  A += (q0 + blockIdx.x * stride) * (PetscCount)n * n;
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) A[e] = e % n == e / n ? 1.0 : 0.0;
}

/*
  R <- R^-1 by Gauss-Jordan elimination with row exchanges, SPIKE_PANEL columns at a time: a thread block for an
  interface, a thread for each row i. The pivots are those of L U. A boosted one counts for U alone, as if L U had been
  made first: the rows below are eliminated with the pivot as it was. A thread has row i of the panel in registers; when
  the panel's pivots are done these are the multipliers m_it with which the other columns become

      a_ij <- sum_t m_it a_tj  in the panel's rows,  a_ij + sum_t m_it a_tj  in the others

  with a's rows exchanged, t over the panel's rows,
  read from one of two buffers, written to the other: the panel's rows of all columns go through shared memory first.
  Moves 2 n^3 / SPIKE_PANEL scalars, in the L2 cache. R is copied to the work space first where the last buffer written
  would not be there; the columns are put in order on the way to R.
*/
#define SPIKE_PANEL 16

struct SpikeReducedShared {
  PetscScalar prow[2][SPIKE_PANEL], krow[2][SPIKE_PANEL];
  PetscReal   best[2][32];
  int         which[2][32], pivot[SPIKE_CUDA_MAX_BANDWIDTH], from[SPIKE_CUDA_MAX_BANDWIDTH];
};

/* Row i of the panel of columns k0 <= k < k0 + width becomes its multipliers; sh.from: where the rows came from */
__device__ static __forceinline__ void SpikeReducedPanel(int n, PetscInt q, int k0, int width, PetscReal tol,
                                                         PetscReal boost, PetscReal scale, const SpikeReducedStatus &st,
                                                         SpikeReducedShared &sh, bool &bad,
                                                         PetscScalar (&v)[SPIKE_PANEL])
{
  const int i = threadIdx.x, warps = blockDim.x / 32;

  SpikeUnroll(t, SPIKE_PANEL) {
    const int k = k0 + t, buffer = t & 1;

    if (t < width) {
      PetscReal   most = i >= k && i < n ? SpikeAbs(v[t]) : (PetscReal)-1.0;
      int         p    = i;
      PetscScalar is, d, ratio;

      if (!(most == most)) most = PETSC_MAX_REAL; /* NaN is found */
      for (int s = 16; s; s /= 2) {
        const PetscReal other = __shfl_xor_sync(SPIKE_WARP, most, s);
        const int       row   = __shfl_xor_sync(SPIKE_WARP, p, s);

        if (other > most || (other == most && row < p)) most = other, p = row;
      }
      if (!(i & 31)) {
        sh.best[buffer][i >> 5]  = most;
        sh.which[buffer][i >> 5] = p;
      }
      __syncthreads();
      most = sh.best[buffer][0];
      p    = sh.which[buffer][0];
      for (int s = 1; s < warps; s++)
        if (sh.best[buffer][s] > most) most = sh.best[buffer][s], p = sh.which[buffer][s];
      if (i == p) {
        SpikeUnroll(j, SPIKE_PANEL) sh.prow[buffer][j] = v[j];
      }
      if (i == k) {
        SpikeUnroll(j, SPIKE_PANEL) sh.krow[buffer][j] = v[j];
        sh.pivot[k] = p;
        if (p != k) { /* of the rows as they were before this panel */
          const int f = sh.from[k];

          sh.from[k] = sh.from[p];
          sh.from[p] = f;
        }
      }
      __syncthreads();
      {
        const PetscScalar was = sh.prow[buffer][t];

        is = SpikeReducedPivot(was, tol, boost, scale, q, st, i == 0, bad);
        d  = (PetscScalar)1.0 / is;
        /* the rows below are eliminated with the pivot as it was */
        ratio = was == is ? (PetscScalar)1.0 : SpikeAbs(was) > 0.0 ? is / was : (PetscScalar)0.0;
      }
      if (i == p && p != k) {
        SpikeUnroll(j, SPIKE_PANEL) v[j] = sh.krow[buffer][j];
      }
      if (i == k) {
        SpikeUnroll(j, SPIKE_PANEL) v[j] = j == t ? d : sh.prow[buffer][j] * d;
      } else {
        const PetscScalar c = (i > k ? v[t] * ratio : v[t]) * d;

        SpikeUnroll(j, SPIKE_PANEL) v[j] = j == t ? -c : SpikeFma(-c, sh.prow[buffer][j], v[j]);
      }
    }
  }
}

/* rows <- those of the panel, exchanged */
__device__ static __forceinline__ void SpikeReducedRows(int n, int k0, int width, const PetscScalar *a,
                                                        const SpikeReducedShared &sh, PetscScalar *rows)
{
  /* loads before stores: the compiler cannot know that they do not meet */
  for (int e0 = threadIdx.x; e0 < n * SPIKE_PANEL; e0 += 8 * blockDim.x) {
    PetscScalar w[8];

    SpikeUnroll(k, 8) {
      const int e = PetscMin(e0 + k * (int)blockDim.x, n * SPIKE_PANEL - 1), t = PetscMin(e % SPIKE_PANEL, width - 1);

      w[k] = a[sh.from[k0 + t] + (PetscCount)(e / SPIKE_PANEL) * n];
    }
    SpikeUnroll(k, 8) {
      const int e = e0 + k * (int)blockDim.x;

      if (e < n * SPIKE_PANEL) rows[e] = e % SPIKE_PANEL < width ? w[k] : (PetscScalar)0.0;
    }
  }
}

/* Row i < n of b from that of a, which came from row `source`, and from the panel */
__device__ static __forceinline__ void SpikeReducedUpdate(int n, int k0, int width, int source, const PetscScalar *a,
                                                          const PetscScalar *rows, PetscScalar *b,
                                                          const PetscScalar (&v)[SPIKE_PANEL])
{
  const int  i      = threadIdx.x;
  const bool inside = i >= k0 && i < k0 + width;

#pragma unroll 1
  for (int j0 = 0; j0 < n; j0 += 8) {
    PetscScalar sum[8];

    SpikeUnroll(j, 8) sum[j] = a[source + (PetscCount)PetscMin(j0 + j, n - 1) * n];
    SpikeUnroll(j, 8) {
      const PetscScalar *row = rows + PetscMin(j0 + j, n - 1) * SPIKE_PANEL;

      if (inside) sum[j] = 0.0;
      SpikeUnroll(t, SPIKE_PANEL) sum[j] = SpikeFma(v[t], row[t], sum[j]);
    }
    SpikeUnroll(j, 8)
      if (j0 + j < n && (j0 + j < k0 || j0 + j >= k0 + width)) b[i + (PetscCount)(j0 + j) * n] = sum[j];
  }
  SpikeUnroll(t, SPIKE_PANEL)
    if (t < width) b[i + (PetscCount)(k0 + t) * n] = v[t];
}

/* W: room for a matrix, rows: [n][SPIKE_PANEL] in shared memory */
__device__ static void SpikeReducedInvert(int n, PetscInt q, PetscReal tol, PetscReal boost, PetscScalar *W,
                                          PetscScalar *R, PetscScalar *rows, const SpikeReducedStatus &st)
{
  __shared__ SpikeReducedShared sh;
  const int                     i = threadIdx.x, panels = (n + SPIKE_PANEL - 1) / SPIKE_PANEL;
  PetscScalar                  *a = panels % 2 ? R : W, *b = panels % 2 ? W : R, v[SPIKE_PANEL];
  PetscReal                     scale;
  bool                          bad = false;

  if (a == W) {
    for (int e = threadIdx.x; e < n * n; e += blockDim.x) W[e] = R[e];
    __syncthreads();
  }
  scale = SpikeReducedScale(n * n, a);
#pragma unroll 1
  for (int k0 = 0; k0 < n; k0 += SPIKE_PANEL) {
    const int    width = PetscMin(SPIKE_PANEL, n - k0);
    PetscScalar *c     = a;

    SpikeUnroll(t, SPIKE_PANEL) v[t] = i < n && t < width ? a[i + (PetscCount)(k0 + t) * n] : (PetscScalar)0.0;
    sh.from[i] = i;
    __syncthreads();
    SpikeReducedPanel(n, q, k0, width, tol, boost, scale, st, sh, bad, v);
    __syncthreads();
    SpikeReducedRows(n, k0, width, a, sh, rows);
    __syncthreads();
    if (i < n) SpikeReducedUpdate(n, k0, width, sh.from[i], a, rows, b, v);
    __syncthreads();
    a = b;
    b = c;
  }
  SpikeReducedOrder(n, sh.pivot, sh.from);
  if (i < n) {
    for (int j0 = 0; j0 < n; j0 += 8) {
      PetscScalar w[8];

      SpikeUnroll(j, 8) w[j] = a[i + (PetscCount)sh.from[PetscMin(j0 + j, n - 1)] * n];
      SpikeUnroll(j, 8)
        if (j0 + j < n) R[i + (PetscCount)(j0 + j) * n] = w[j];
    }
  }
}

/*
  The larger ones of interfaces q0 <= q < q1, stride apart, of those that slow[] names or of all; work: [gridDim.x]
  matrices
*/
__global__ static void __launch_bounds__(SPIKE_CUDA_MAX_BANDWIDTH)
  SpikeReducedLarge_Kernel(int n, PetscInt q0, PetscInt q1, PetscInt stride, PetscReal tol, PetscReal boost,
                           const PetscInt *active, const int *slow, PetscScalar *work, PetscScalar *dR,
                           SpikeReducedStatus st)
{
  extern __shared__ __align__(16) unsigned char shared[];

  for (PetscInt q = q0 + blockIdx.x * stride; q < q1; q += gridDim.x * stride) {
    if (!active[q] || (slow && !slow[q])) continue;
    SpikeReducedInvert(n, q, tol, boost, work + blockIdx.x * (PetscCount)n * n, dR + q * (PetscCount)n * n,
                       (PetscScalar *)shared, st);
    __syncthreads();
  }
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

/* I - Wt Vb with cuBLAS. Inactive interfaces have finite tips: theirs is harmless */
static PetscErrorCode SpikeReducedProduct_Private(SpikeBand *s, PetscInt q0, PetscInt count, PetscInt stride)
{
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          kl = (int)s->kl, n = (int)s->ku;
  const PetscCount   square = (PetscCount)n * n, tip = (PetscCount)kl * n;
  const PetscScalar  one = 1.0, minus = -1.0;
  cublasHandle_t     handle;
  cudaStream_t       before;

  PetscFunctionBegin;
  SpikeReducedStart_Kernel<<<(unsigned)count, 256, 0, stream>>>(n, q0, stride, s->dR);
  PetscCallCUDA(cudaGetLastError());
  if (!kl) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscCallCUBLAS(cublasGetStream(handle, &before));
  PetscCallCUBLAS(cublasSetStream(handle, stream));
  for (PetscInt i = 0; i < count; i += 65535) {
    const PetscInt q = q0 + i * stride;

    PetscCallCUBLAS(
      SpikeBLAS(gemmStridedBatched)(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, kl, (const SpikeBLASScalar *)&minus,
                                    (const SpikeBLASScalar *)(s->dWt + q * tip), n, stride * tip,
                                    (const SpikeBLASScalar *)(s->dVb + q * tip), kl, stride * tip,
                                    (const SpikeBLASScalar *)&one, (SpikeBLASScalar *)(s->dR + q * square), n,
                                    stride * square, (int)PetscMin(count - i, 65535)));
  }
  PetscCallCUBLAS(cublasSetStream(handle, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The dominated ones, then those that want exchanges, as many at once as the work space holds */
static PetscErrorCode SpikeReducedLarge_Private(SpikeBand *s, PetscInt q0, PetscInt count, PetscInt stride,
                                                const SpikePivot *pivot, const SpikeReducedStatus &st)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          n      = (int)s->ku;
  const size_t       shared = (size_t)n * SPIKE_PANEL * sizeof(PetscScalar);
  int               *slow   = NULL;
#if !defined(PETSC_USE_COMPLEX)
  const bool few    = n <= 64;
  const auto kernel = few ? SpikeReducedBlock_Kernel<SPIKE_REDUCED_FEW> : SpikeReducedBlock_Kernel<SPIKE_REDUCED_WARPS>;
  const int  threads  = 32 * (few ? SPIKE_REDUCED_FEW : SPIKE_REDUCED_WARPS);
  int        resident = 0;
#endif

  PetscFunctionBegin;
#if !defined(PETSC_USE_COMPLEX)
  if (pivot->tol < SPIKE_REDUCED_TOL)
    PetscCall(SpikeKernelResident((const void *)kernel, threads, SpikeReducedBlockShared(n), &resident));
  if (resident) {
    slow = (int *)h->scratch;
    kernel<<<(unsigned)count, threads, SpikeReducedBlockShared(n), stream>>>((int)s->kl, n, q0, stride, h->dactive,
                                                                             s->dVb, s->dWt, s->dR, slow);
    PetscCallCUDA(cudaGetLastError());
  }
#endif
  if (!slow) PetscCall(SpikeReducedProduct_Private(s, q0, count, stride));
  PetscCall(SpikeKernelFit((const void *)SpikeReducedLarge_Kernel, (n + 31) / 32 * 32, shared));
  SpikeReducedLarge_Kernel<<<(unsigned)PetscMin(count, h->spikesize / ((PetscCount)n * n)), (n + 31) / 32 * 32, shared,
                             stream>>>(n, q0, q0 + count * stride, stride, pivot->tol, pivot->boost, h->dactive, slow,
                                       h->spike, s->dR, st);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A matrix for each block of the systems that want exchanges: for as many as run at once, or as have room, but for 16
*/
PetscInt64 SpikeReducedWork_CUDA(const SpikeBand *s, const SpikeDevice *gpu, PetscInt64 room)
{
  const PetscInt64 matrix = (PetscInt64)s->ku * s->ku;

  return s->ku <= SPIKE_REDUCED_WARP
         ? 0
         : PetscMin(PetscMin((PetscInt64)s->np + 1, gpu->multiprocessors), PetscMax(16, room / matrix)) * matrix;
}

/* Of the interfaces q0, q0 + stride, ... below q1; what the pivots report adds up until the next finish() */
PetscErrorCode SpikeReducedStrided_CUDA(SpikeBand *s, PetscInt q0, PetscInt q1, PetscInt stride, SpikePivot *pivot)
{
  SpikeCUDA               *h  = (SpikeCUDA *)s->data;
  const int                kl = (int)s->kl, n = (int)s->ku;
  const SpikeReducedStatus st    = {&h->report->reduced, h->badvalue + s->np, SpikeReducedLevel(stride / 2)};
  const PetscInt           count = (q1 - q0 + stride - 1) / stride;

  PetscFunctionBegin;
  if (!n || q0 >= q1) PetscFunctionReturn(PETSC_SUCCESS);
  if (n <= 8) PetscCall(SpikeReducedSmall_Private<1>(s, q0, count, stride, pivot, st));
  else if (n <= 16) PetscCall(SpikeReducedSmall_Private<2>(s, q0, count, stride, pivot, st));
  else if (n <= 24) PetscCall(SpikeReducedSmall_Private<3>(s, q0, count, stride, pivot, st));
  else if (n <= 32) PetscCall(SpikeReducedSmall_Private<4>(s, q0, count, stride, pivot, st));
  else PetscCall(SpikeReducedLarge_Private(s, q0, count, stride, pivot, st));
  h->reducedpivot = pivot;
  PetscCall(PetscLogGpuFlops(count * (2.0 * kl * n * n + 2.0 * n * n * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeReduced_CUDA(SpikeBand *s, PetscInt q0, PetscInt q1, SpikePivot *pivot)
{
  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  PetscCall(SpikeReducedStrided_CUDA(s, q0, q1, 1, pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}
