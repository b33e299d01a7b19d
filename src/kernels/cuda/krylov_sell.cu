/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_sell.cu: the backend's own copy of a matrix, in slices of 32 lanes, and its product with a step in the epilogue */
#include "krylov_block.cuh"

#define SPIKE_SELL_PADDING 1.3 /* places over entries, at most, but for a slice */

/*
  A slice is 32 / T rows, T lanes a row; lane r T + t holds the entries t, t + T, ... of row r, in as many chunks of 32 places as the longest row needs. Places behind the end of a row
  have the value 0 and the column of the row itself, where x is read anyway.
*/
typedef struct {
  PetscInt     n;
  int          T;
  PetscInt     slices;
  PetscInt64   chunks;
  PetscInt64  *start; /* [slices + 1] first chunk of each slice */
  int         *col;   /* [32 chunks]                            */
  PetscScalar *val;   /* [32 chunks]                            */
} SpikeKrylovSell;

__global__ static void SpikeSellWidths(PetscInt slices, PetscInt n, int rows, int T, const PetscInt *__restrict__ ai, PetscInt64 *width)
{
  const PetscInt s       = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  PetscInt       longest = 0;

  if (s >= slices) return;
  for (PetscInt i = s * rows; i < PetscMin(n, (s + 1) * rows); i++) longest = PetscMax(longest, ai[i + 1] - ai[i]);
  width[s] = (longest + T - 1) / T;
}

/* A warp a slice. Reads each entry once, writes each place once; with col NULL values alone */
__global__ static void SpikeSellFill(SpikeKrylovSell m, const PetscInt *__restrict__ ai, const PetscInt *__restrict__ aj, const PetscScalar *__restrict__ aa, bool columns)
{
  const int lane = threadIdx.x % 32, rows = 32 / m.T;

  for (PetscInt s = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 32; s < m.slices; s += (PetscInt)gridDim.x * blockDim.x / 32) {
    const PetscInt row = s * rows + lane / m.T, end = row < m.n ? ai[row + 1] : 0;
    PetscInt       k = row < m.n ? ai[row] + lane % m.T : 0;

    for (PetscInt64 c = m.start[s]; c < m.start[s + 1]; c++, k += m.T) {
      if (columns) m.col[32 * c + lane] = k < end ? (int)aj[k] : (int)PetscMin(row, m.n - 1);
      m.val[32 * c + lane] = k < end ? aa[k] : PetscScalar(0.0);
    }
  }
}

static PetscErrorCode SpikeSellFill_Private(const SpikeKrylovCUDA *h, const SpikeKrylovSell *m, const SpikeKrylovCSR *csr, bool columns)
{
  const PetscInt blocks = PetscMax(1, PetscMin(32 * h->multiprocessors, (m->slices + 7) / 8));

  PetscFunctionBegin;
  SpikeSellFill<<<(unsigned)blocks, 256, 0, h->stream>>>(*m, csr->ai, csr->aj, csr->aa, columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setup: widths of the slices come to the host once, for their sums */
PetscErrorCode SpikeKrylovCopy_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *csr, void **copy)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;
  SpikeKrylovSell *m;
  PetscInt64      *start, sum = 0;
  PetscReal        mean;

  PetscFunctionBegin;
  *copy = NULL;
  if (csr->n < 1 || csr->nz < 1 || (PetscInt64)csr->n > INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  mean = (PetscReal)csr->nz / csr->n;
  PetscCall(PetscNew(&m));
  m->n      = csr->n;
  m->T      = csr->n < 400000 && mean > 4.5 ? 4 : 1;
  m->slices = (csr->n + 32 / m->T - 1) / (32 / m->T);
  PetscCallCUDA(cudaMalloc((void **)&m->start, (m->slices + 1) * sizeof(*m->start)));
  SpikeSellWidths<<<(unsigned)((m->slices + 255) / 256), 256, 0, h->stream>>>(m->slices, m->n, 32 / m->T, m->T, csr->ai, m->start);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscMalloc1(m->slices + 1, &start));
  PetscCallCUDA(cudaMemcpyAsync(start, m->start, m->slices * sizeof(*start), cudaMemcpyDeviceToHost, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  for (PetscInt i = 0; i <= m->slices; i++) {
    const PetscInt64 width = i < m->slices ? start[i] : 0;

    start[i] = sum;
    sum += width;
  }
  m->chunks = sum;
  *copy     = (void *)m;
  if (32.0 * sum > SPIKE_SELL_PADDING * csr->nz + 32.0 * (mean + 1.0)) {
    PetscCall(PetscFree(start));
    PetscCall(SpikeKrylovDestroyCopy_CUDA(s, copy));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaMemcpyAsync(m->start, start, (m->slices + 1) * sizeof(*start), cudaMemcpyHostToDevice, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCall(PetscFree(start));
  PetscCallCUDA(cudaMalloc((void **)&m->col, 32 * sum * sizeof(*m->col)));
  PetscCallCUDA(cudaMalloc((void **)&m->val, 32 * sum * sizeof(*m->val)));
  PetscCall(SpikeSellFill_Private(h, m, csr, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovRefill_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *csr, void *copy)
{
  PetscFunctionBegin;
  PetscCall(SpikeSellFill_Private((SpikeKrylovCUDA *)s->data, (SpikeKrylovSell *)copy, csr, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovDestroyCopy_CUDA(SpikeKrylov *s, void **copy)
{
  SpikeKrylovSell *m = (SpikeKrylovSell *)*copy;

  PetscFunctionBegin;
  (void)s;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(m->start));
  PetscCallCUDA(cudaFree(m->col));
  PetscCallCUDA(cudaFree(m->val));
  PetscCall(PetscFree(*copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No step: the product alone */
template <>
struct SpikeKrylovTraits<SPIKE_KRYLOV_NSTEPS> {
  static constexpr int                   nv = 1, nd = 0;
  static constexpr unsigned              read = 0, written = 0;
  __device__ static __forceinline__ void row(const SpikeKrylovFactors *, PetscScalar[], PetscScalar[]) { }
};

/*
  y = A x, then the sums of a step that writes nothing; vector `own` of the step is y. A warp a slice, T lanes a row. Moves (8 + 4) bytes a place in double precision, x as often as the
  caches lose it, y once, the other vectors of the step once. Deterministic.
*/
template <int STEP, int T>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS) SpikeSellMult(SpikeKrylovSell m, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y, SpikeKrylovVectors v, int own, bool recur, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X                     = SpikeKrylovTraits<STEP>;
  constexpr int            ND = X::nd ? X::nd : 1, rows = 32 / T;
  const int                lane = threadIdx.x % 32;
  const SpikeKrylovFactors f    = device->s.f;
  PetscScalar              d[ND];
  __shared__ PetscScalar   shared[SPIKE_KRYLOV_THREADS / 32];

  if (device->s.reason) return;
#pragma unroll
  for (int k = 0; k < ND; k++) d[k] = 0.0;
  for (PetscInt s = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 32; s < m.slices; s += (PetscInt)gridDim.x * blockDim.x / 32) {
    const PetscInt64 begin = m.start[s], end = m.start[s + 1];
    const PetscInt   row = s * rows + lane / T;
    PetscScalar      sum = 0.0;

#pragma unroll 4
    for (PetscInt64 c = begin; c < end; c++) sum += SpikeKrylovMul(m.val[32 * c + lane], x[m.col[32 * c + lane]]);
#pragma unroll
    for (int t = T / 2; t; t /= 2) sum += SpikeShfl(sum, lane ^ t);
    if (lane % T == 0 && row < m.n) {
      PetscScalar e[X::nv];

      y[row] = sum;
#pragma unroll
      for (int k = 0; k < X::nv; k++)
        if ((X::read >> k) & 1) e[k] = k == own ? sum : v.v[k][row];
      X::row(&f, e, d);
    }
  }
  if constexpr (X::nd > 0) SpikeKrylovFinish<STEP>(d, shared, recur, device, partials, mail);
}

template <int STEP>
static void SpikeSellLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovSell *m, const PetscScalar *x, PetscScalar *y, const SpikeKrylovVectors *v, int own, bool recur)
{
  const PetscInt blocks = PetscMax(1, PetscMin(SpikeKrylovMostBlocks(h), (m->slices + 7) / 8));

  if (m->T == 4) SpikeSellMult<STEP, 4><<<(unsigned)blocks, SPIKE_KRYLOV_THREADS, 0, h->stream>>>(*m, x, y, *v, own, recur, h->device, h->partials, h->devicemail);
  else SpikeSellMult<STEP, 1><<<(unsigned)blocks, SPIKE_KRYLOV_THREADS, 0, h->stream>>>(*m, x, y, *v, own, recur, h->device, h->partials, h->devicemail);
}

PetscErrorCode SpikeKrylovMult_CUDA(SpikeKrylov *s, const void *copy, SpikeKrylovStep step, const PetscScalar *x, PetscScalar *y, PetscScalar *const v[])
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovSell *m = (const SpikeKrylovSell *)copy;
  SpikeKrylovVectors     vectors;
  int                    own = -1, n = step < SPIKE_KRYLOV_NSTEPS ? (int)SpikeKrylovSteps[step].nvectors : 0;
  const bool             recur = s->ondevice ? true : false;

  PetscFunctionBegin;
  for (int k = 0; k < n; k++) {
    vectors.v[k] = v[k];
    if (v[k] == y) own = k;
  }
  PetscCall(PetscLogGpuTimeBegin());
#define SPIKE_SELL_CASE(NAME) \
  case NAME: \
    SpikeSellLaunch<NAME>(h, m, x, y, &vectors, own, recur); \
    break
  switch (step) {
    SPIKE_SELL_CASE(SPIKE_BCGS_ALPHA);
    SPIKE_SELL_CASE(SPIKE_BCGS_OMEGA);
    SPIKE_SELL_CASE(SPIKE_BCGS_OMEGA_RHO);
    SPIKE_SELL_CASE(SPIKE_CG_ALPHA);
    SPIKE_SELL_CASE(SPIKE_CG1_BETA);
    SPIKE_SELL_CASE(SPIKE_KRYLOV_NSTEPS);
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %s has no product", SpikeKrylovSteps[step].name);
  }
#undef SPIKE_SELL_CASE
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops((PetscDefined(USE_COMPLEX) ? 8.0 : 2.0) * 32.0 * m->chunks + (n ? SpikeKrylovSteps[step].flops : 0.0) * m->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int M>
struct SpikeSellColumns {
  const PetscScalar *v[M];
};

/* Blocks of a multiprocessor: what the registers of the sums leave */
__host__ __device__ constexpr int SpikeSellResident(int M)
{
  return M > 4 ? 4 : 6;
}

/*
  y = A x, and the DOTS of this y over M columns. Lane t of a row takes the columns t, t + T, ... Moves what SpikeSellMult() does, and the columns once, and
  with z that. Deterministic.
*/
template <int M, int T>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, SpikeSellResident(M)) SpikeSellDots(SpikeKrylovSell m, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y, SpikeSellColumns<M> p, const PetscScalar *z, SpikeBlockEnd e)
{
  constexpr int rows = 32 / T;
  const int     lane = threadIdx.x % 32;
  PetscScalar   d[M + 3];

  if (e.device->s.reason) return;
#pragma unroll
  for (int k = 0; k < M + 3; k++) d[k] = 0.0;
  for (PetscInt s = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 32; s < m.slices; s += (PetscInt)gridDim.x * blockDim.x / 32) {
    const PetscInt64 begin = m.start[s], end = m.start[s + 1];
    const PetscInt   row = s * rows + lane / T;
    PetscScalar      sum = 0.0;

#pragma unroll 4
    for (PetscInt64 c = begin; c < end; c++) sum += SpikeKrylovMul(m.val[32 * c + lane], x[m.col[32 * c + lane]]);
#pragma unroll
    for (int t = T / 2; t; t /= 2) sum += SpikeShfl(sum, lane ^ t);
    if (row < m.n) {
#pragma unroll
      for (int j = 0; j < M; j++)
        if (j % T == lane % T) d[j] += SpikeKrylovDot(p.v[j][row], sum);
      if (lane % T == 0) {
        y[row] = sum;
        d[M] += SpikeKrylovDot(sum, sum);
        if (z) {
          const PetscScalar r = z[row];

          d[M + 1] += SpikeKrylovDot(r, r);
          d[M + 2] += SpikeKrylovDot(sum, r);
        }
      }
    }
  }
  SpikeBlockLeave<M, 3>(d, M, 0, z ? 3 : 1, M, e.partials);
  SpikeBlockFinish(e);
}

template <int M>
static void SpikeSellDotsLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovSell *m, const PetscScalar *x, const SpikeKrylovBlock *b, const SpikeBlockEnd &e)
{
  const unsigned      blocks = (unsigned)PetscMax(1, PetscMin(SpikeSellResident(M) * h->multiprocessors, (m->slices + 7) / 8));
  SpikeSellColumns<M> p;

  for (int j = 0; j < M; j++) p.v[j] = b->A[b->first + j];
  if (m->T == 4) SpikeSellDots<M, 4><<<blocks, SPIKE_KRYLOV_THREADS, SpikeBlockShared(e), h->stream>>>(*m, x, b->y, p, b->z, e);
  else SpikeSellDots<M, 1><<<blocks, SPIKE_KRYLOV_THREADS, SpikeBlockShared(e), h->stream>>>(*m, x, b->y, p, b->z, e);
}

/* With 1, 2, 4 or 8 columns; else the step comes behind the product */
PetscErrorCode SpikeKrylovBlockMult_CUDA(SpikeKrylov *s, const void *copy, const PetscScalar *x, const SpikeKrylovBlock *b, const SpikeIDRRecurrence *recurrence)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovSell *m = (const SpikeKrylovSell *)copy;
  const PetscInt         n = b->last - b->first;
  const SpikeBlockEnd    e = SpikeKrylovBlockEnd(s, recurrence, SpikeKrylovBlockSums(SPIKE_KRYLOV_DOTS, n, b->z ? PETSC_TRUE : PETSC_FALSE, PETSC_FALSE));

  PetscFunctionBegin;
  if (n != 1 && n != 2 && n != 4 && n != 8) {
    PetscCall(SpikeKrylovMult_CUDA(s, copy, SPIKE_KRYLOV_NSTEPS, x, b->y, NULL));
    PetscCall(SpikeKrylovBlockStep_CUDA(s, SPIKE_KRYLOV_DOTS, b, NULL, recurrence));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  if (n == 1) SpikeSellDotsLaunch<1>(h, m, x, b, e);
  else if (n == 2) SpikeSellDotsLaunch<2>(h, m, x, b, e);
  else if (n == 4) SpikeSellDotsLaunch<4>(h, m, x, b, e);
  else SpikeSellDotsLaunch<8>(h, m, x, b, e);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops((PetscDefined(USE_COMPLEX) ? 8.0 : 2.0) * 32.0 * m->chunks + (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * (2.0 * n + (b->z ? 6.0 : 2.0)) * m->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
