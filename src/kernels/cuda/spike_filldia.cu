/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_filldia.cu: the device's band and coupling blocks from a matrix by diagonals, and what chooses the band */
#include "dia.cuh"
#include "fill.cuh"
#include <cfloat>
#include <cmath>

#define SPIKE_FILLDIA_THREADS 256
#define SPIKE_FILLDIA_SHARED  76000 /* bytes: a larger slab holds some rows of a tile row only, */
#define SPIKE_FILLDIA_SMALL   18000 /* up to here it holds several tile rows */
#define SPIKE_FILLDIA_PARTS   64    /* of a diagonal, in sums along it */

/* Source and destination of a fill */
struct SpikeFillDia {
  SpikeTiles         t;
  SpikeFillDiagonals A;
  PetscScalar       *B, *C;                         /* NULL: couplings are left out */
  int                rows, tilerows, slices, steps; /* a unit of work: `rows` of the GT rows of one tile row of a group, or tilerows whole tile rows; slices of a tile row, units along a partition */
  int                magic;
  double             max; /* above it the type of the factors overflows */
};

/*
  A block assembles a unit of the band in shared memory and writes it there in whole lines, as SpikeFillKernel() does. A thread has one row, and every so manieth diagonal of it: neighbouring threads read neighbouring numbers of a
  diagonal, and write neighbouring rows. A row's parts of sums are added in the order of the threads that share it; units belong to blocks by number: all sums have one order.
*/
template <typename F>
__global__ void __launch_bounds__(SPIKE_FILLDIA_THREADS) SpikeFillDiaKernel(const __grid_constant__ SpikeFillDia f, F *band, SpikeFillSeen *seen)
{
  extern __shared__ __align__(16) char shared[];
  const SpikeTiles                    &t    = f.t;
  double                              *part = (double *)shared; /* [threads] */
  F                                   *slab = (F *)(part + SPIKE_FILLDIA_THREADS);
  const int                            T = t.T, GT = t.G * T, columns = (t.QL + t.QU) * T + 1, all = f.rows * f.tilerows, ld = (all + 1) / 2 * 2; /* even: places of a diagonal lie in different banks */
  const int                            y = threadIdx.x % all, sub = threadIdx.x / all, subs = SPIKE_FILLDIA_THREADS / all, j = y / f.rows;
  const PetscInt64                     units = (PetscInt64)t.groups() * f.steps * f.slices;
  SpikeFillSeen                        mine  = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};

  for (int k = threadIdx.x; k < columns * ld; k += SPIKE_FILLDIA_THREADS) slab[k] = F(0.0);
  for (PetscInt64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const PetscInt64 rest  = unit / f.slices;
    const PetscInt   group = (PetscInt)(rest / f.steps);
    const int        step = (int)(rest % f.steps) * f.tilerows + j, x = (int)(unit % f.slices) * f.rows + y % f.rows, r = x % T, li = step * T + r;
    const bool       exists = sub < subs && step < t.steps && x < GT;
    const PetscInt   p      = group * t.G + x / T;
    const PetscInt   first = exists && p < t.np ? t.start[p] : 0, end = exists && p < t.np ? t.start[p + 1] : 0, i = first + li;
    const bool       valid = i < end;
    double           sum   = 0.0;

    __syncthreads();
    for (int d0 = sub; valid && d0 < f.A.count; d0 += 4 * subs) {
      PetscScalar v[4];

#pragma unroll
      for (int u = 0; u < 4; u++) v[u] = d0 + u * subs < f.A.count ? f.A.val[(d0 + u * subs) * f.A.ld + i] : PetscScalar(0.0); /* four loads on their way at once */
#pragma unroll
      for (int u = 0; u < 4; u++) {
        const PetscReal abs = SpikeAbs(v[u]);
        PetscInt        d;

        if (v[u] == PetscScalar(0.0)) continue;
        d = f.A.offset[d0 + u * subs];
        if (!(abs <= PETSC_MAX_REAL)) mine.badrow = min(mine.badrow, (unsigned long long)i);
        sum += abs;
        if (d > t.ku || -d > t.kl) {
          mine.dropped += abs;
          mine.maxdropped = mine.maxdropped < abs ? abs : mine.maxdropped;
        } else if (li + d >= 0 && i + d < end) {
          if (abs > f.max) mine.overflowrow = min(mine.overflowrow, (unsigned long long)i);
          slab[SpikeFillColumn(t, f.magic, r, (int)d) * ld + y] = F(v[u]);
        } else if (d > 0) { /* row counted in the last ku of partition p, column in the first ku behind it */
          if (f.B && t.active[p + 1]) f.B[(PetscInt64)(p + 1) * t.ku * t.ku + (i - (end - t.ku)) + (PetscInt64)(i + d - end) * t.ku] = v[u];
        } else { /* row counted in the first kl of partition p, column in the last kl before it */
          if (f.C && t.active[p]) f.C[(PetscInt64)p * t.kl * t.kl + li + (PetscInt64)(li + d + t.kl) * t.kl] = v[u];
        }
      }
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (exists) {
      const PetscInt64 tilerow = (PetscInt64)group * t.steps + step;
      F               *to = band + tilerow * t.stepsize + x, *from = slab + y;

      for (int c = sub; c < columns; c += subs) {
        to[(PetscInt64)c * GT] = valid ? from[c * ld] : c == columns - 1 ? F(1.0) : F(0.0);
        from[c * ld]           = F(0.0);
      }
      if (sub == 0)
        for (PetscInt64 k = (PetscInt64)columns * GT + x; k < t.stepsize; k += GT) to[k - x] = F(0.0); /* numbers that round a tile row up */
    }
    if (valid && sub == 0) {
      sum = 0.0;
      for (int k = 0; k < subs; k++) sum += part[k * all + y];
      mine.sum += sum;
      mine.norm = mine.norm < sum ? sum : mine.norm;
      if (sum == 0.0) mine.zerorow = min(mine.zerorow, (unsigned long long)i);
    }
  }
  __syncthreads();
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (threadIdx.x == 0) seen[blockIdx.x] = mine;
}

template <typename F>
static PetscErrorCode SpikeFillDia_Private(SpikeBand *s, SpikeFillDia f)
{
  SpikeCUDA         *h       = (SpikeCUDA *)s->data;
  const cudaStream_t stream  = (cudaStream_t)s->stream;
  const int          columns = (f.t.QL + f.t.QU) * f.t.T + 1, GT = f.t.G * f.t.T;
  int                residents, blocks;
  size_t             bytes;

  PetscFunctionBegin;
  f.rows = GT;
  while (f.rows > 4 && columns * (f.rows + 1) * sizeof(F) > SPIKE_FILLDIA_SHARED) f.rows = (f.rows + 1) / 2;
  f.tilerows = f.rows < GT ? 1 : PetscMax(1, PetscMin(PetscMin(f.t.steps, SPIKE_FILLDIA_THREADS / GT), SPIKE_FILLDIA_SMALL / (columns * GT * (int)sizeof(F))));
  f.slices   = (GT + f.rows - 1) / f.rows;
  f.steps    = (f.t.steps + f.tilerows - 1) / f.tilerows;
  bytes      = PetscMax(SPIKE_FILLDIA_THREADS * sizeof(double) + (size_t)columns * ((f.rows * f.tilerows + 1) / 2 * 2) * sizeof(F), SPIKE_FILLDIA_THREADS / 2 * sizeof(SpikeFillSeen));
  PetscCallCUDA(cudaFuncSetAttribute(SpikeFillDiaKernel<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&residents, SpikeFillDiaKernel<F>, SPIKE_FILLDIA_THREADS, bytes));
  blocks = (int)PetscMin((PetscInt64)f.t.groups() * f.steps * f.slices, (PetscInt64)PetscMin(SpikeFillBlocks(&f.t), h->multiprocessors * PetscMax(residents, 1)));
  SpikeFillDiaKernel<F><<<blocks, SPIKE_FILLDIA_THREADS, bytes, stream>>>(f, (F *)s->band, (SpikeFillSeen *)h->scratch);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(SpikeFillSum_CUDA(s, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Enqueued: the numbers of st come with finish() */
PetscErrorCode SpikeDIAFillBand_CUDA(const SpikeDIA *A, SpikeBand *s, SpikeFillStats *st)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  SpikeFillDia       f;

  PetscFunctionBegin;
  PetscCheck(A->n == s->n && A->m == s->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A band of %" PetscInt_FMT " rows from diagonals of %" PetscInt_FMT, s->n, A->n);
  st->sum = st->dropped = st->maxdropped = st->norm = 0.0;
  st->badrow = st->overflowrow = st->zerorow = st->joined = -1;
  if (!s->n) PetscFunctionReturn(PETSC_SUCCESS);
  h->fillstats = st;
  f.A.val      = A->val;
  f.A.offset   = ((const SpikeDIACUDA *)A->data)->offset;
  f.A.ld       = SpikeDiaLd(A);
  f.A.count    = (int)A->count;
  if (h->tri) {
    PetscCall(SpikeTriFillDiagonals_CUDA(s, &f.A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->coupled) {
    if (s->ku) PetscCallCUDA(cudaMemsetAsync(s->dB, 0, (size_t)(s->np + 1) * s->ku * s->ku * sizeof(PetscScalar), stream));
    if (s->kl) PetscCallCUDA(cudaMemsetAsync(s->dC, 0, (size_t)(s->np + 1) * s->kl * s->kl * sizeof(PetscScalar), stream));
  }
  f.t     = h->t;
  f.B     = s->coupled ? s->dB : NULL;
  f.C     = s->coupled ? s->dC : NULL;
  f.magic = SpikeFillMagic(h->t.T);
  f.max   = s->precision == PC_SPIKE_PRECISION_DOUBLE ? HUGE_VAL : SpikePrecisionMax(s->precision);
  SpikeDispatchPrecision(s->precision, PetscCall(SpikeFillDia_Private<F>(s, f)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* weight[k SPIKE_FILLDIA_PARTS + part] <- the sum of magnitudes along a part of diagonal d0 + k: a block each, in a fixed order */
__global__ void __launch_bounds__(SPIKE_DIA_THREADS) SpikeDiaScanDiagonals(int d0, PetscInt64 ld, PetscInt n, const PetscScalar *__restrict__ val, PetscReal *weight)
{
  __shared__ PetscReal sums[SPIKE_DIA_THREADS];
  const PetscInt64     each = ((PetscInt64)n + SPIKE_FILLDIA_PARTS - 1) / SPIKE_FILLDIA_PARTS, begin = blockIdx.x * each, end = begin + each < n ? begin + each : n;
  const PetscScalar   *a   = val + (d0 + (PetscInt64)blockIdx.y) * ld;
  PetscReal            sum = 0.0;

  for (PetscInt64 i = begin + threadIdx.x; i < end; i += SPIKE_DIA_THREADS) sum += SpikeAbs(a[i]);
  sums[threadIdx.x] = sum;
  for (int half = SPIKE_DIA_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) weight[blockIdx.y * SPIKE_FILLDIA_PARTS + blockIdx.x] = sums[0];
}

/* fullest[2] <- largest numbers of nonzeros in a row, and of those two or more columns from the diagonal */
__global__ void __launch_bounds__(SPIKE_DIA_THREADS) SpikeDiaScanRows(int count, const PetscInt *__restrict__ offset, PetscInt64 ld, PetscInt n, const PetscScalar *__restrict__ val, int *fullest)
{
  __shared__ int   most[2];
  const PetscInt64 i        = SpikeDiaThread();
  int              nonzeros = 0, far = 0;

  if (threadIdx.x < 2) most[threadIdx.x] = 0;
  __syncthreads();
  for (int d = 0; i < n && d < count; d++) {
    const PetscInt o     = offset[d];
    const int      there = val[d * ld + i] == PetscScalar(0.0) ? 0 : 1;

    nonzeros += there;
    if (o > 1 || o < -1) far += there;
  }
  atomicMax(&most[0], nonzeros);
  atomicMax(&most[1], far);
  __syncthreads();
  if (threadIdx.x < 2 && most[threadIdx.x]) atomicMax(&fullest[threadIdx.x], most[threadIdx.x]);
}

PetscErrorCode SpikeDIAScan_CUDA(const SpikeDIA *A, PetscReal weight[], PetscInt fullest[2])
{
  const SpikeDIACUDA *h       = (const SpikeDIACUDA *)A->data;
  const PetscInt      most    = SPIKE_DIA_WORK / SPIKE_FILLDIA_PARTS;
  int                 rows[2] = {0, 0};
  PetscReal          *parts;
  cudaStream_t        stream;

  PetscFunctionBegin;
  PetscCall(SpikeDiaStream(A, &stream));
  for (PetscInt d = 0; d < A->count; d++) weight[d] = 0.0;
  fullest[0] = fullest[1] = 0;
  if (!A->n || !A->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(SPIKE_DIA_WORK, &parts));
  for (PetscInt d0 = 0; d0 < A->count; d0 += most) {
    const PetscInt count = PetscMin(most, A->count - d0);

    SpikeDiaScanDiagonals<<<dim3(SPIKE_FILLDIA_PARTS, (unsigned)count), SPIKE_DIA_THREADS, 0, stream>>>((int)d0, SpikeDiaLd(A), A->n, A->val, h->work);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(parts, h->work, (size_t)count * SPIKE_FILLDIA_PARTS * sizeof(PetscReal), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)count * SPIKE_FILLDIA_PARTS * sizeof(PetscReal)));
    for (PetscInt d = 0; d < count; d++)
      for (PetscInt k = 0; k < SPIKE_FILLDIA_PARTS; k++) weight[d0 + d] += parts[d * SPIKE_FILLDIA_PARTS + k];
  }
  PetscCall(PetscFree(parts));
  PetscCallCUDA(cudaMemsetAsync(h->work, 0, sizeof(rows), stream));
  SpikeDiaScanRows<<<SpikeDiaBlocks(A->n), SPIKE_DIA_THREADS, 0, stream>>>((int)A->count, h->offset, SpikeDiaLd(A), A->n, A->val, (int *)h->work);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(rows, h->work, sizeof(rows), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)sizeof(rows)));
  fullest[0] = rows[0];
  fullest[1] = rows[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void __launch_bounds__(SPIKE_DIA_THREADS) SpikeDiaSampleKernel(int count, PetscInt64 ld, PetscInt n, PetscInt rows, const PetscScalar *__restrict__ val, PetscScalar *out)
{
  const PetscInt64 k = SpikeDiaThread();

  if (k >= (PetscInt64)rows * count) return;
  out[k] = val[k % count * ld + k / count * n / rows];
}

PetscErrorCode SpikeDIASample_CUDA(const SpikeDIA *A, PetscInt rows, PetscScalar *out)
{
  const PetscInt64 numbers = (PetscInt64)rows * A->count;
  PetscScalar     *there;
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!numbers) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeDiaStream(A, &stream));
  PetscCallCUDA(cudaMalloc((void **)&there, (size_t)numbers * sizeof(PetscScalar)));
  SpikeDiaSampleKernel<<<SpikeDiaBlocks(numbers), SPIKE_DIA_THREADS, 0, stream>>>((int)A->count, SpikeDiaLd(A), A->n, rows, A->val, there);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(out, there, (size_t)numbers * sizeof(PetscScalar), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(there));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)numbers * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
