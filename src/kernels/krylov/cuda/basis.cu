/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis.cu: steps over blocks of columns: tall-skinny inner products and updates, with the recurrences of idr.h in their
  last block
*/
#include "basis.cuh"

#define SPIKE_BASIS_PASS 8 /* columns of which a thread holds sums at once, most */
/* blocks of a multiprocessor; no more are launched, for a second round would be a small one */
#define SPIKE_BASIS_RESIDENT 4

template <int C>
struct SpikeBasisPointers {
  PetscScalar *v[C];
};

/* Places for M columns, or for any number with M < 0 */
__host__ __device__ constexpr int SpikeBasisPlaces(int M)
{
  return M < 0 ? SPIKE_BASIS_COLUMNS : (M ? M : 1);
}

template <int V, int M, bool EXACT, typename P>
__device__ static __forceinline__ void SpikeDotsRows(PetscInt i, const P &p, int first, int columns,
                                                     const PetscScalar *yy, const PetscScalar *zz, PetscScalar d[])
{
  const SpikeRows<V> y = SpikeRowsLoad<V>(yy, i);

#pragma unroll
  for (int j = 0; j < M; j++) {
    if (EXACT || j < columns) SpikeRowsDot(SpikeRowsLoad<V>(p.v[EXACT ? j : first + j], i), y, d[j]);
  }
  SpikeRowsDot(y, y, d[M]);
  if (zz) {
    const SpikeRows<V> z = SpikeRowsLoad<V>(zz, i);

    SpikeRowsDot(z, z, d[M + 1]);
    SpikeRowsDot(y, z, d[M + 2]);
  }
}

/*
  DOTS on n rows, a thread a pair of rows in each round, or a row where the vectors are not aligned; SPIKE_BASIS_PASS
  columns in one pass. Moves m + 1 words a row, and one more with z; with more columns than a pass has, y again for
  each. EXACT: m = M. The grid, and with it the order of the sums, depends on n, on the number of multiprocessors and on
  alignment alone.
*/
template <int M, bool EXACT>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SPIKE_BASIS_RESIDENT)
  SpikeBasisDots(PetscInt n, SpikeBasisPointers<EXACT ? M : SPIKE_BASIS_COLUMNS> p, int m, const PetscScalar *y,
                 const PetscScalar *z, bool wide, SpikeBasisEnd e)
{
  const PetscInt begin = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;

  SpikeAwait();
  if (e.device->s.reason) return;
  for (int first = 0; !first || first < m; first += M) {
    const int          columns = EXACT ? M : PetscMin(M, m - first);
    const PetscScalar *zz      = first ? NULL : z;
    PetscScalar        d[M + 3];

#pragma unroll
    for (int k = 0; k < M + 3; k++) d[k] = 0.0;
    if (wide)
      for (PetscInt i = begin; i < n / 2; i += stride) SpikeDotsRows<2, M, EXACT>(i, p, first, columns, y, zz, d);
    for (PetscInt i = wide ? n - n % 2 + begin : begin; i < n; i += stride)
      SpikeDotsRows<1, M, EXACT>(i, p, first, columns, y, zz, d);
    SpikeBasisLeave<M, 3>(d, columns, first, first ? 0 : (z ? 3 : 1), m, e.partials);
  }
  SpikeBasisFinish(e);
}

/*
  UPDATE, COMBINE, or the first and then the other: A, B, c, a and E, F, f, w are theirs; next is the y of the latter,
  and NULL where there is none. m3: columns of F. Only the kernel for any number of columns has q
*/
template <int M1, int M2>
struct SpikeBasisMoves {
  SpikeBasisPointers<SpikeBasisPlaces(M1)> A, B;
  SpikeBasisPointers<SpikeBasisPlaces(M2)> E, F;
  const PetscScalar                       *c, *a, *f, *w, *g;
  PetscScalar                             *x, *y, *z, *r, *q, *p, *next;
  int                                      m1, m2, m3;
  bool                                     update;
};

/* All that is read of a row is read before any of it is written, but q and p, which nothing else reads */
template <int V, int M1, int M2>
__device__ static __forceinline__ void SpikeMovesRows(PetscInt i, const SpikeBasisMoves<M1, M2> &b,
                                                      const PetscScalar c[], const PetscScalar f[], PetscScalar a,
                                                      PetscScalar w, PetscScalar smooth, PetscScalar d[])
{
  constexpr int u1 = M1 < 0 ? 4 : SpikeBasisPlaces(M1), u2 = M2 < 0 ? 4 : SpikeBasisPlaces(M2);
  const int     m1 = M1 < 0 ? b.m1 : M1, m2 = M2 < 0 ? b.m2 : M2;
  const bool    has = M1 < 0 && b.q;
  SpikeRows<V>  y, z, x, r, q, p, g, u;

  if (b.r) r = SpikeRowsLoad<V>(b.r, i);
  if (b.update) {
    y = SpikeRowsLoad<V>(b.y, i);
    z = SpikeRowsLoad<V>(b.z, i);
    if (b.x) x = SpikeRowsLoad<V>(b.x, i);
    if (has) {
      q = SpikeRowsLoad<V>(b.q, i);
      p = SpikeRowsLoad<V>(b.p, i);
#pragma unroll
      for (int v = 0; v < V; v++) {
        q.e[v] = SpikeFma(-smooth, q.e[v] - r.e[v], q.e[v]);
        p.e[v] = SpikeFma(-smooth, p.e[v] - x.e[v], p.e[v]);
      }
      SpikeRowsStore<V>(b.q, i, q);
      SpikeRowsStore<V>(b.p, i, p);
    }
#pragma unroll(u1)
    for (int j = 0; j < m1; j++) {
      SpikeRowsAxpy(-c[j], SpikeRowsLoad<V>(b.A.v[j], i), z);
      SpikeRowsAxpy(-c[j], SpikeRowsLoad<V>(b.B.v[j], i), y);
    }
    if (b.x) {
      SpikeRowsAxpy(a, y, x);
      SpikeRowsAxpy(-a, z, r);
      if (has) {
#pragma unroll
        for (int v = 0; v < V; v++) {
          const PetscScalar t = q.e[v] - r.e[v];

          d[0] += SpikeKrylovDot(t, q.e[v]);
          d[1] += SpikeKrylovDot(t, t);
        }
        SpikeRowsDot(q, q, d[2]);
        SpikeRowsDot(r, r, d[3]);
      } else SpikeRowsDot(r, r, d[0]);
    }
  }
  if (b.next) {
    g = r;
#pragma unroll
    for (int v = 0; v < V; v++) u.e[v] = 0.0;
    if (M2 < 0) {
#pragma unroll(u2)
      for (int j = 0; j < m2; j++) SpikeRowsAxpy(-f[j], SpikeRowsLoad<V>(b.E.v[j], i), g);
#pragma unroll(u2)
      for (int j = 0; j < b.m3; j++) SpikeRowsAxpy(f[j], SpikeRowsLoad<V>(b.F.v[j], i), u);
    } else {
#pragma unroll(u2)
      for (int j = 0; j < m2; j++) {
        SpikeRowsAxpy(-f[j], SpikeRowsLoad<V>(b.E.v[j], i), g);
        SpikeRowsAxpy(f[j], SpikeRowsLoad<V>(b.F.v[j], i), u);
      }
    }
    SpikeRowsAxpy(w, g, u);
    SpikeRowsStore<V>(b.next, i, u);
  }
  if (b.update) {
    if (m1) {
      SpikeRowsStore<V>(b.y, i, y);
      SpikeRowsStore<V>(b.z, i, z);
    }
    if (b.x) {
      SpikeRowsStore<V>(b.x, i, x);
      SpikeRowsStore<V>(b.r, i, r);
    }
  }
}

/*
  Moves each vector once: 2 m1 + 8 words a row for UPDATE, with q four more; 2 m2 + 1 for a COMBINE behind it, one more
  alone. Rows as in SpikeBasisDots()
*/
template <int M1, int M2>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SPIKE_BASIS_RESIDENT)
  SpikeBasisMove(PetscInt n, SpikeBasisMoves<M1, M2> b, bool wide, SpikeBasisEnd e)
{
  const PetscInt begin = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;
  const int      t = threadIdx.x;
  constexpr int  S = M1 < 0 ? 4 : 1; /* sums */
  PetscScalar    d[S];
  __shared__ PetscScalar c[SpikeBasisPlaces(M1)], f[SpikeBasisPlaces(M2)];

  SpikeAwait();
  if (e.device->s.reason) return;
  const PetscScalar a = b.update && b.x ? *b.a : PetscScalar(0.0), w = b.next && b.w ? *b.w : PetscScalar(1.0),
                    smooth = M1 < 0 && b.q ? *b.g : PetscScalar(0.0);

#pragma unroll
  for (int k = 0; k < S; k++) d[k] = 0.0;
  if (t < b.m1) c[t] = b.c[t];
  if (t < b.m2 || t < b.m3) f[t] = b.f[t];
  __syncthreads();
  if (wide)
    for (PetscInt i = begin; i < n / 2; i += stride) SpikeMovesRows<2, M1, M2>(i, b, c, f, a, w, smooth, d);
  for (PetscInt i = wide ? n - n % 2 + begin : begin; i < n; i += stride)
    SpikeMovesRows<1, M1, M2>(i, b, c, f, a, w, smooth, d);
  if (!e.nsums) return;
  SpikeBasisLeave<S, 0>(d, e.nsums, 0, 0, 0, e.partials);
  SpikeBasisFinish(e);
}

/*
  q -= g (q - r); p -= g (p - x); q.q. Moves 6 words a row. Also where there is a reason: it follows the last iteration
*/
__global__ static void __launch_bounds__(SPIKE_KRYLOV_THREADS, SPIKE_BASIS_RESIDENT)
  SpikeBasisSmooth(PetscInt n, const PetscScalar *factor, const PetscScalar *r, const PetscScalar *x, PetscScalar *q,
                   PetscScalar *p, SpikeBasisEnd e)
{
  const PetscInt stride = (PetscInt)gridDim.x * blockDim.x;
  PetscScalar    d[1]   = {0.0};

  SpikeAwait();
  const PetscScalar g = *factor;

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const PetscScalar qi = SpikeFma(-g, q[i] - r[i], q[i]);

    q[i] = qi;
    p[i] = SpikeFma(-g, p[i] - x[i], p[i]);
    d[0] += SpikeKrylovDot(qi, qi);
  }
  if (!e.nsums) return;
  SpikeBasisLeave<1, 0>(d, 1, 0, 0, 0, e.partials);
  SpikeBasisFinish(e);
}

__global__ static void SpikeBasisShadow(PetscInt n, PetscInt start, PetscInt k, PetscInt generation, PetscScalar *p)
{
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    p[i] = SpikeIDRShadow(start + i, k, generation);
}

static bool SpikeBasisWide(const PetscScalar *p)
{
  return (size_t)p % (2 * sizeof(PetscReal)) == 0;
}

static unsigned SpikeBasisGrid(const SpikeKrylovCUDA *h, PetscInt n, bool wide)
{
  const PetscInt rounds = wide ? n / 2 + n % 2 : n, most = SPIKE_BASIS_RESIDENT * h->gpu->multiprocessors;

  return (unsigned)PetscMax(1, PetscMin(most, (rounds + SPIKE_KRYLOV_THREADS - 1) / SPIKE_KRYLOV_THREADS));
}

template <int M, bool EXACT>
static void SpikeDotsLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  const int                                           m    = (int)(b->last - b->first);
  bool                                                wide = SpikeBasisWide(b->y) && SpikeBasisWide(b->z);
  SpikeBasisPointers<EXACT ? M : SPIKE_BASIS_COLUMNS> p    = {};

  for (int j = 0; j < m; j++) {
    p.v[j] = b->A[b->first + j];
    wide   = wide && SpikeBasisWide(p.v[j]);
  }
  SpikeBasisLaunch(SpikeBasisDots<M, EXACT>, h, SpikeBasisGrid(h, b->n, wide), e, b->n, p, m, b->y, b->z, wide, e);
}

template <int M1, int M2>
static void SpikeMovesLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *update, const SpikeKrylovBasis *combine,
                             const SpikeBasisEnd &e)
{
  SpikeBasisMoves<M1, M2> b    = {};
  const PetscInt          n    = update ? update->n : combine->n;
  bool                    wide = true;

  b.update = update ? true : false;
  b.m1     = update ? (int)(update->last - update->first) : 0;
  b.m2     = combine && combine->A ? (int)(combine->last - combine->first) : 0;
  b.m3     = combine && combine->B ? (int)(combine->last - combine->first) : 0;
  b.c      = update ? update->c : NULL;
  b.a      = update ? update->a : NULL;
  b.f      = combine ? combine->c : NULL;
  b.w      = combine ? combine->a : NULL;
  b.x      = update ? update->x : NULL;
  b.y      = update ? update->y : NULL;
  b.z      = update ? update->z : NULL;
  b.q      = update ? update->q : NULL;
  b.p      = update ? update->p : NULL;
  b.g      = update ? update->g : NULL;
  b.r      = update && update->r ? update->r : (combine ? combine->r : NULL);
  b.next   = combine ? combine->y : NULL;
  for (int j = 0; j < b.m1; j++) {
    b.A.v[j] = update->A[update->first + j];
    b.B.v[j] = update->B[update->first + j];
    wide     = wide && SpikeBasisWide(b.A.v[j]) && SpikeBasisWide(b.B.v[j]);
  }
  for (int j = 0; j < b.m2; j++) {
    b.E.v[j] = combine->A[combine->first + j];
    wide     = wide && SpikeBasisWide(b.E.v[j]);
  }
  for (int j = 0; j < b.m3; j++) {
    b.F.v[j] = combine->B[combine->first + j];
    wide     = wide && SpikeBasisWide(b.F.v[j]);
  }
  wide = wide && SpikeBasisWide(b.x) && SpikeBasisWide(b.y) && SpikeBasisWide(b.z) && SpikeBasisWide(b.r) &&
         SpikeBasisWide(b.q) && SpikeBasisWide(b.p) && SpikeBasisWide(b.next);
  SpikeBasisLaunch(SpikeBasisMove<M1, M2>, h, SpikeBasisGrid(h, n, wide), e, n, b, wide, e);
}

/*
  With the numbers of columns that the cycles of s = 1, 2, 4, 8 have, kernels that know them: step k < s - 1 moves k and
  s - 1 - k, step s - 1 moves s - 1, and that of omega s
*/
static void SpikeMovesSelect(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *update, const SpikeKrylovBasis *combine,
                             const SpikeBasisEnd &e)
{
  const PetscInt m1 = update ? (update->q ? -1 : update->last - update->first) : -1,
                 m2 = combine ? (combine->A && combine->B ? combine->last - combine->first : -1) : 0;

#define SPIKE_MOVES(M1, M2) \
  if (m1 == M1 && m2 == M2) return SpikeMovesLaunch<M1, M2>(h, update, combine, e)
  SPIKE_MOVES(0, 0);
  SPIKE_MOVES(0, 1);
  SPIKE_MOVES(1, 0);
  SPIKE_MOVES(0, 2);
  SPIKE_MOVES(0, 3);
  SPIKE_MOVES(1, 2);
  SPIKE_MOVES(2, 1);
  SPIKE_MOVES(3, 0);
  SPIKE_MOVES(0, 4);
  SPIKE_MOVES(0, 7);
  SPIKE_MOVES(1, 6);
  SPIKE_MOVES(2, 5);
  SPIKE_MOVES(3, 4);
  SPIKE_MOVES(4, 3);
  SPIKE_MOVES(5, 2);
  SPIKE_MOVES(6, 1);
  SPIKE_MOVES(7, 0);
  SPIKE_MOVES(0, 8);
#undef SPIKE_MOVES
  return SpikeMovesLaunch<-1, -1>(h, update, combine, e);
}

SpikeBasisEnd SpikeKrylovBasisEnd(const SpikeKrylov *s, const SpikeIDRRecurrence *recurrence, PetscInt nsums)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  SpikeBasisEnd          e;

  memset((void *)&e, 0, sizeof(e));
  if (recurrence) {
    e.recurrence = *recurrence;
    e.nsums      = (int)nsums;
    e.recur      = s->ondevice ? true : false;
  }
  e.device   = h->device;
  e.mail     = h->devicemail;
  e.partials = h->basispartials;
  e.small    = s->small;
  e.sums     = h->devicebasissums;
  return e;
}

/* c and a of its block lie in small, on the device */
PetscErrorCode SpikeKrylovBasisStep_CUDA(SpikeKrylov *s, SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                         const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *recurrence)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  const PetscInt         m = b->last - b->first;
  const SpikeBasisEnd    e = SpikeKrylovBasisEnd(s, recurrence,
                                                 SpikeKrylovBasisSums(step, m, b->z ? PETSC_TRUE : PETSC_FALSE,
                                                                   b->q ? PETSC_TRUE : PETSC_FALSE));
  const PetscReal flops[]  = {2.0 * m + (b->z ? 6.0 : 2.0), 4.0 * m + 2.0, 4.0 * m + (b->x ? (b->q ? 19.0 : 6.0) : 0.0),
                              8.0};

  PetscFunctionBegin;
  PetscAssert(m <= s->ncolumns && s->ncolumns <= SPIKE_BASIS_COLUMNS, PETSC_COMM_SELF, PETSC_ERR_PLIB,
              "A block of %" PetscInt_FMT " columns, room for %" PetscInt_FMT, m, s->ncolumns);
  if (!s->ondevice && s->scalars->reason && step != SPIKE_KRYLOV_SMOOTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeBegin());
  switch (step) {
  case SPIKE_KRYLOV_DOTS:
    if (m == 1) SpikeDotsLaunch<1, true>(h, b, e);
    else if (m == 2) SpikeDotsLaunch<2, true>(h, b, e);
    else if (m == 4) SpikeDotsLaunch<4, true>(h, b, e);
    else if (m == 8) SpikeDotsLaunch<8, true>(h, b, e);
    else SpikeDotsLaunch<SPIKE_BASIS_PASS, false>(h, b, e);
    break;
  case SPIKE_KRYLOV_COMBINE:
    SpikeMovesSelect(h, NULL, b, e);
    break;
  case SPIKE_KRYLOV_UPDATE:
    SpikeMovesSelect(h, b, combine, e);
    break;
  default:
    SpikeBasisLaunch(SpikeBasisSmooth, h, SpikeBasisGrid(h, b->n, false), e, b->n, b->g, b->r, b->x, b->q, b->p, e);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops((flops[step] + (combine ? 4.0 * (combine->last - combine->first) + 2.0 : 0.0)) *
                             (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * b->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBasisSums_CUDA(SpikeKrylov *s, PetscInt nsums, PetscScalar sums[])
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin_CUDA(h, &h->mail->summed, h->summed++));
  for (PetscInt k = 0; k < nsums; k++) {
#if defined(PETSC_USE_COMPLEX)
    sums[k] = PetscCMPLX(h->basissums[2 * k], h->basissums[2 * k + 1]);
#else
    sums[k] = h->basissums[2 * k];
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complete when the sums of the next step are, before which the host does not change its scalars */
PetscErrorCode SpikeKrylovBasisPush_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCallCUDA(
    cudaMemcpyAsync(s->small, s->hostsmall, h->nsmall * sizeof(PetscScalar), cudaMemcpyHostToDevice, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovShadow_CUDA(PetscInt n, PetscInt start, PetscInt k, PetscInt generation, PetscScalar *p)
{
  const PetscInt blocks = PetscMax(1, PetscMin(4096, (n + SPIKE_KRYLOV_THREADS - 1) / SPIKE_KRYLOV_THREADS));
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  SpikeBasisShadow<<<(unsigned)blocks, SPIKE_KRYLOV_THREADS, 0, stream>>>(n, start, k, generation, p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBasisCreate_CUDA(SpikeKrylov *s, PetscInt ncolumns, PetscInt small)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovBasisDestroy_CUDA(s));
  PetscCallCUDA(cudaMalloc((void **)&s->small, small * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMemsetAsync(s->small, 0, small * sizeof(PetscScalar), h->stream));
  PetscCallCUDA(
    cudaMalloc((void **)&h->basispartials, (size_t)(ncolumns + 3) * SpikeKrylovMostBlocks(h) * sizeof(PetscScalar)));
  if (!s->ondevice) {
    PetscCallCUDA(cudaMallocHost((void **)&s->hostsmall, small * sizeof(PetscScalar)));
    PetscCall(PetscArrayzero(s->hostsmall, small));
    PetscCallCUDA(cudaHostAlloc((void **)&h->basissums, 2 * (ncolumns + 3) * sizeof(PetscReal), cudaHostAllocMapped));
    PetscCallCUDA(cudaHostGetDevicePointer((void **)&h->devicebasissums, (void *)h->basissums, 0));
  }
  s->ncolumns = ncolumns;
  h->nsmall   = small;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBasisDestroy_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCallCUDA(cudaFree(s->small));
  PetscCallCUDA(cudaFree(h->basispartials));
  if (s->hostsmall) PetscCallCUDA(cudaFreeHost(s->hostsmall));
  if (h->basissums) PetscCallCUDA(cudaFreeHost((void *)h->basissums));
  s->small = s->hostsmall = h->basispartials = NULL;
  h->basissums = h->devicebasissums = NULL;
  s->ncolumns                       = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
