/* SPDX-License-Identifier: BSD-2-Clause */
/* look.cu: the CUDA backend of look.h */
#include "fill.cuh"
extern "C" {
#include "paths.h"
}

#define SPIKE_LOOK_THREADS 256
#define SPIKE_LOOK_CHUNKS  1024                  /* of rows, at most, in the search for cuts */
#define SPIKE_LOOK_WEIGHTS ((PetscInt64)1 << 26) /* bytes of the sums of all warps, at most, if that is one warp */

/* Maxima over rows, of numbers that are not negative; weak is n - i */
enum {
  SPIKE_LOOK_KL,
  SPIKE_LOOK_KU,
  SPIKE_LOOK_MAXROW,
  SPIKE_LOOK_OWN,
  SPIKE_LOOK_STORED,
  SPIKE_LOOK_WEAK,
  SPIKE_LOOK_NMAX
};

/* Sums over rows; maybe: rows that may begin at a cut, as they and the row before say */
enum {
  SPIKE_LOOK_ENTRIES,
  SPIKE_LOOK_ZEROS,
  SPIKE_LOOK_OTHERS,
  SPIKE_LOOK_MAYBE,
  SPIKE_LOOK_NSUM
};

/*
  What all blocks have seen. Integers alone: whatever the order of blocks, results are the same. Zeros are where nothing
  was seen
*/
struct SpikeLookSeen {
  unsigned long long max[SPIKE_LOOK_NMAX], sum[SPIKE_LOOK_NSUM], reach[SPIKE_LOOK_STEPS];
};

/* Of a chunk of rows: the last column that one is coupled to, the first one; how many cuts there are, or are before */
struct SpikeLookChunk {
  PetscInt hi, lo, count;
};

struct SpikeLookPlan {
  SpikeFillCSR A;
  PetscInt     n, below, above, nsample;
  PetscReal    tiny;
  /* [n] columns of the rank that a row is coupled to: the first and the last, at least itself */
  PetscInt        *lo, *hi;
  SpikeLookSample *sample;
};

/* Of a row, by the lanes that share it */
struct SpikeLookRow {
  PetscInt  nonzeros, own, stored, least, most, lo, hi;
  PetscReal diagonal, largest; /* of the first piece; diagonal -1: none */
};

/* The lanes of a row: as many as have about five entries each */
__host__ __device__ static inline int SpikeLookLanes(PetscInt n, PetscInt64 entries)
{
  int lanes = 1;

  while (lanes < 32 && (PetscInt64)5 * lanes * n < entries) lanes *= 2;
  return lanes;
}

/* Row i, of which this lane has every lanes-th entry */
__device__ static inline void SpikeLookEntries(const SpikeLookPlan &f, PetscInt i, int lane, int lanes,
                                               SpikeLookRow &row, unsigned long long &zeros, unsigned long long &others)
{
  row = {0, 0, 0, PETSC_INT_MAX, PETSC_INT_MIN, i, i, (PetscReal)-1.0, (PetscReal)0.0};
  for (int part = 0; part < f.A.nparts; part++) {
    const SpikeCSR  &P     = f.A.part[part];
    const PetscInt   begin = P.ai[i];
    const PetscInt64 end   = P.ai[i + 1];

    row.stored += (PetscInt)(end - begin);
    for (PetscInt64 k0 = (PetscInt64)begin + lane; k0 < end; k0 += 4 * lanes) {
      PetscScalar v[4];
      PetscInt    col[4];

      SpikeUnroll(u, 4) { /* four loads on their way at once */
        const PetscInt64 k = k0 + u * lanes;

        v[u]   = k < end ? P.aa[k] : PetscScalar(0.0);
        col[u] = k < end ? P.aj[k] : 0;
      }
      SpikeUnroll(u, 4) {
        const PetscReal abs = PetscAbsScalar(v[u]);
        PetscInt        d;

        if (k0 + u * lanes >= end) continue;
        d = SpikeFillDistance(P, col[u], NULL, i);
        if (part == 0 && d == 0) row.diagonal = abs;
        if (part == 0 && row.largest < abs) row.largest = abs;
        if (v[u] == PetscScalar(0.0)) {
          zeros++;
          continue;
        }
        row.nonzeros++;
        if (part == 0) row.own++;
        row.least = d < row.least ? d : row.least;
        row.most  = d > row.most ? d : row.most;
        if (d < -f.below || d > f.above) continue;
        if (part) {
          others++;
          continue;
        }
        row.lo = i + d < row.lo ? i + d : row.lo;
        row.hi = i + d > row.hi ? i + d : row.hi;
      }
    }
  }
}

/* All lanes of a row get what they have seen together */
__device__ static inline void SpikeLookTogether(SpikeLookRow &row, unsigned int team, int lanes)
{
  for (int step = lanes / 2; step > 0; step /= 2) {
    const PetscInt least = __shfl_xor_sync(team, row.least, step, lanes),
                   lo    = __shfl_xor_sync(team, row.lo, step, lanes);
    const PetscInt most = __shfl_xor_sync(team, row.most, step, lanes), hi = __shfl_xor_sync(team, row.hi, step, lanes);
    const PetscReal diagonal = __shfl_xor_sync(team, row.diagonal, step, lanes);
    const PetscReal largest  = __shfl_xor_sync(team, row.largest, step, lanes);

    row.nonzeros += __shfl_xor_sync(team, row.nonzeros, step, lanes);
    row.own += __shfl_xor_sync(team, row.own, step, lanes);
    row.least = least < row.least ? least : row.least;
    row.most  = most > row.most ? most : row.most;
    row.lo    = lo < row.lo ? lo : row.lo;
    row.hi    = hi > row.hi ? hi : row.hi;
    if (diagonal != (PetscReal)-1.0) row.diagonal = diagonal; /* one lane has it at most, maybe as no number */
    if (row.largest < largest) row.largest = largest;
  }
}

/*
  Whether the last entry of row i - 1 couples it to row i or one after: so it is in bands without stored zeros there
*/
__device__ static inline bool SpikeLookReaches(const SpikeLookPlan &f, PetscInt i)
{
  const SpikeCSR &P = f.A.part[0];
  const PetscInt  k = P.ai[i] - 1;
  PetscInt        d;

  if (k < P.ai[i - 1] || P.aa[k] == PetscScalar(0.0)) return false;
  d = SpikeFillDistance(P, P.aj[k], NULL, i - 1);
  return d >= 1 && d <= f.above;
}

/* Sample s: sums in the order of the lanes */
__device__ static inline void SpikeLookSampleRow(const SpikeLookPlan &f, PetscInt s, int lane, int lanes,
                                                 unsigned int team)
{
  const PetscInt  i       = (PetscInt)((PetscInt64)s * f.n / f.nsample);
  SpikeLookSample sample  = {{0.0, 0.0}, {0.0, 0.0}, (PetscReal)-1.0};
  PetscScalar     both[2] = {0.0, 0.0};
  PetscReal       sum[6];

  for (int part = 0; part < f.A.nparts; part++) {
    const SpikeCSR  &P   = f.A.part[part];
    const PetscInt64 end = P.ai[i + 1];

    for (PetscInt64 k = (PetscInt64)P.ai[i] + lane; k < end; k += lanes) {
      const PetscInt d = SpikeFillDistance(P, P.aj[k], NULL, i);

      if (d >= -f.below && d <= f.above) SpikeLookAdd(&sample, both, d, P.aa[k]);
    }
  }
  for (int side = 0; side < 2; side++) {
    sum[side]     = sample.square[side];
    sum[2 + side] = PetscRealPart(both[side]);
    sum[4 + side] = PetscImaginaryPart(both[side]);
  }
  for (int step = lanes / 2; step > 0; step /= 2) {
    const PetscReal diagonal = __shfl_xor_sync(team, sample.diagonal, step, lanes);

    if (diagonal != (PetscReal)-1.0) sample.diagonal = diagonal;
    SpikeUnroll(k, 6) sum[k] += __shfl_xor_sync(team, sum[k], step, lanes);
  }
  if (lane) return;
  if (sample.diagonal == (PetscReal)-1.0) sample.diagonal = 0.0;
  for (int side = 0; side < 2; side++) {
    sample.square[side] = sum[side];
#if defined(PETSC_USE_COMPLEX)
    sample.sum[side] = PetscAbsScalar(PetscScalar(sum[2 + side], sum[4 + side]));
#else
    sample.sum[side] = PetscAbsScalar(sum[2 + side]);
#endif
  }
  f.sample[s] = sample;
}

/* Reads each entry once, those of samples twice, and writes two numbers a row. The grid's shape changes no result */
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLook_Kernel(const __grid_constant__ SpikeLookPlan f, SpikeLookSeen *seen)
{
  __shared__ SpikeLookSeen shared;
  unsigned long long      *numbers = (unsigned long long *)&shared;
  const int                count   = (int)(sizeof(shared) / sizeof(*numbers));
  const PetscInt64         entries = (PetscInt64)f.A.part[0].ai[f.n] + (f.A.nparts > 1 ? f.A.part[1].ai[f.n] : 0);
  const int                lanes = SpikeLookLanes(f.n, entries), teams = SPIKE_LOOK_THREADS / lanes;
  const int                lane = threadIdx.x % lanes, first = threadIdx.x / lanes;
  const unsigned int       team = (lanes == 32 ? ~0u : (1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
  unsigned long long       max[SPIKE_LOOK_NMAX] = {0}, sum[SPIKE_LOOK_NSUM] = {0}, rows = 0;
  /* largest |d| of the last row, its step, and rows alike that are not counted yet */
  PetscInt far  = -1;
  int      step = 0;

  auto most = [&](int what, PetscInt value) {
    if (max[what] < (unsigned long long)value) max[what] = (unsigned long long)value;
  };

  for (int k = threadIdx.x; k < count; k += SPIKE_LOOK_THREADS) numbers[k] = 0;
  __syncthreads();
  for (PetscInt64 r = (PetscInt64)blockIdx.x * teams + first; r < f.n; r += (PetscInt64)gridDim.x * teams) {
    const PetscInt i = (PetscInt)r;
    SpikeLookRow   row;
    PetscInt       d;

    SpikeLookEntries(f, i, lane, lanes, row, sum[SPIKE_LOOK_ZEROS], sum[SPIKE_LOOK_OTHERS]);
    SpikeLookTogether(row, team, lanes);
    if (lane) continue;
    if (row.diagonal == (PetscReal)-1.0) row.diagonal = 0.0;
    sum[SPIKE_LOOK_ENTRIES] += (unsigned long long)row.stored;
    most(SPIKE_LOOK_STORED, row.stored);
    most(SPIKE_LOOK_MAXROW, row.nonzeros);
    most(SPIKE_LOOK_OWN, row.own);
    d = row.most > -row.least ? row.most : -row.least;
    if (row.nonzeros) {
      if (row.least < 0) most(SPIKE_LOOK_KL, -row.least);
      if (row.most > 0) most(SPIKE_LOOK_KU, row.most);
      if (d != far) {
        if (rows) atomicAdd(&shared.reach[step], rows);
        far  = d;
        step = SpikeLookStepOf(d);
        rows = 0;
      }
      rows++;
    }
    if (row.diagonal < f.tiny * row.largest) most(SPIKE_LOOK_WEAK, f.n - i);
    f.lo[i] = row.lo;
    f.hi[i] = row.hi;
    if (i && row.lo == i && !SpikeLookReaches(f, i)) sum[SPIKE_LOOK_MAYBE]++;
  }
  for (PetscInt64 s = (PetscInt64)blockIdx.x * teams + first; s < f.nsample; s += (PetscInt64)gridDim.x * teams)
    SpikeLookSampleRow(f, (PetscInt)s, lane, lanes, team);
  if (rows) atomicAdd(&shared.reach[step], rows);
  for (int k = 0; k < SPIKE_LOOK_NMAX; k++)
    if (max[k]) atomicMax(&shared.max[k], max[k]);
  for (int k = 0; k < SPIKE_LOOK_NSUM; k++)
    if (sum[k]) atomicAdd(&shared.sum[k], sum[k]);
  __syncthreads();
  for (int k = threadIdx.x; k < count; k += SPIKE_LOOK_THREADS) {
    if (!numbers[k]) continue;
    if (k < SPIKE_LOOK_NMAX) atomicMax(&seen->max[k], numbers[k]);
    else atomicAdd((unsigned long long *)seen + k, numbers[k]);
  }
}

/* v of this thread and those of all threads before it, by op; all threads of the block call it */
template <typename Op>
__device__ static inline PetscInt SpikeLookScan(PetscInt v, PetscInt *shared, Op op)
{
  const int t = threadIdx.x;

  __syncthreads(); /* shared[] may be in use */
  shared[t] = v;
  for (int d = 1; d < SPIKE_LOOK_THREADS; d *= 2) {
    PetscInt w = 0;

    __syncthreads();
    if (t >= d) w = shared[t - d];
    __syncthreads();
    if (t >= d) shared[t] = v = op(v, w);
  }
  __syncthreads();
  return v;
}

struct SpikeLookMax {
  __device__ PetscInt operator()(PetscInt a, PetscInt b) const { return a < b ? b : a; }
};

struct SpikeLookMin {
  __device__ PetscInt operator()(PetscInt a, PetscInt b) const { return a < b ? a : b; }
};

struct SpikeLookPlus {
  __device__ PetscInt operator()(PetscInt a, PetscInt b) const { return a + b; }
};

/* Chunk blockIdx.x: its last hi and its first lo */
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLookEnds_Kernel(PetscInt n, PetscInt rows, const PetscInt *lo, const PetscInt *hi, SpikeLookChunk *chunk)
{
  __shared__ PetscInt shared[SPIKE_LOOK_THREADS];
  const PetscInt64    begin = (PetscInt64)blockIdx.x * rows, end = begin + rows < n ? begin + rows : n;
  PetscInt            last = -1, first = n;

  for (PetscInt64 i = begin + threadIdx.x; i < end; i += SPIKE_LOOK_THREADS) {
    last  = hi[i] > last ? hi[i] : last;
    first = lo[i] < first ? lo[i] : first;
  }
  last  = SpikeLookScan(last, shared, SpikeLookMax());
  first = SpikeLookScan(first, shared, SpikeLookMin());
  if (threadIdx.x == SPIKE_LOOK_THREADS - 1) chunk[blockIdx.x] = SpikeLookChunk{last, first, 0};
}

/*
  hi[c] <- the last hi of all rows before c, lo[c] <- the first lo of row c and all after it, of which chunk[] has
  those of other chunks; then a cut begins with row c where hi[c] < c <= lo[c], and count is how many of the chunk do
*/
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLookCount_Kernel(PetscInt n, PetscInt rows, PetscInt *lo, PetscInt *hi, SpikeLookChunk *chunk)
{
  __shared__ PetscInt shared[SPIKE_LOOK_THREADS];
  const PetscInt64    begin = (PetscInt64)blockIdx.x * rows, end = begin + rows < n ? begin + rows : n;
  const int           t    = threadIdx.x;
  PetscInt            last = chunk[blockIdx.x].hi, first = chunk[blockIdx.x].lo, count = 0;

  for (PetscInt64 i0 = begin; i0 < end; i0 += SPIKE_LOOK_THREADS) {
    const PetscInt64 i = i0 + t;
    PetscInt         v;

    (void)SpikeLookScan(i < end ? hi[i] : -1, shared, SpikeLookMax());
    v = t ? shared[t - 1] : -1;
    if (i < end) hi[i] = v > last ? v : last;
    last = shared[SPIKE_LOOK_THREADS - 1] > last ? shared[SPIKE_LOOK_THREADS - 1] : last;
  }
  for (PetscInt64 i1 = end; i1 > begin; i1 -= SPIKE_LOOK_THREADS) { /* thread 0 has the last row */
    const PetscInt64 i = i1 - 1 - t;
    const PetscInt   v = SpikeLookScan(i >= begin ? lo[i] : n, shared, SpikeLookMin());

    if (i >= begin) {
      lo[i] = v < first ? v : first;
      count += i > 0 && hi[i] < i && lo[i] >= i;
    }
    first = shared[SPIKE_LOOK_THREADS - 1] < first ? shared[SPIKE_LOOK_THREADS - 1] : first;
  }
  count = SpikeLookScan(count, shared, SpikeLookPlus());
  if (t == SPIKE_LOOK_THREADS - 1) chunk[blockIdx.x].count = count;
}

/* cut[] <- the cuts of the chunk, from place chunk[].count on */
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLookList_Kernel(PetscInt n, PetscInt rows, const PetscInt *lo, const PetscInt *hi, const SpikeLookChunk *chunk,
                       PetscInt *cut)
{
  __shared__ PetscInt shared[SPIKE_LOOK_THREADS];
  const PetscInt64    begin = (PetscInt64)blockIdx.x * rows, end = begin + rows < n ? begin + rows : n;
  PetscInt            to = chunk[blockIdx.x].count;

  for (PetscInt64 i0 = begin; i0 < end; i0 += SPIKE_LOOK_THREADS) {
    const PetscInt64 i    = i0 + threadIdx.x;
    const bool       is   = i > 0 && i < end && hi[i] < i && lo[i] >= i;
    const PetscInt   upto = SpikeLookScan(is ? 1 : 0, shared, SpikeLookPlus());

    if (is) cut[to + upto - 1] = (PetscInt)i;
    to += shared[SPIKE_LOOK_THREADS - 1];
  }
}

/*
  l->cut from lo and hi of all rows: what chunks have is put together by the host, in their order. chunk: of the device,
  chunks of the host
*/
static PetscErrorCode SpikeLookCuts_Private(SpikeLook *l, PetscInt *lo, PetscInt *hi, SpikeLookChunk *chunk,
                                            SpikeLookChunk *chunks, cudaStream_t stream)
{
  const PetscInt nchunks = (PetscInt)PetscMin((PetscInt64)SPIKE_LOOK_CHUNKS,
                                              ((PetscInt64)l->n + SPIKE_LOOK_THREADS - 1) / SPIKE_LOOK_THREADS),
                 rows    = (PetscInt)(((PetscInt64)l->n + nchunks - 1) / nchunks);
  const size_t bytes     = (size_t)nchunks * sizeof(SpikeLookChunk);
  PetscInt     last = -1, first = l->n, *cut;

  PetscFunctionBegin;
  SpikeLookEnds_Kernel<<<(unsigned int)nchunks, SPIKE_LOOK_THREADS, 0, stream>>>(l->n, rows, lo, hi, chunk);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(chunks, chunk, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscInt k = 0; k < nchunks; k++) { /* of the chunks before */
    const PetscInt hi0 = chunks[k].hi;

    chunks[k].hi = last;
    last         = PetscMax(last, hi0);
  }
  for (PetscInt k = nchunks - 1; k >= 0; k--) { /* of those after */
    const PetscInt lo0 = chunks[k].lo;

    chunks[k].lo = first;
    first        = PetscMin(first, lo0);
  }
  PetscCallCUDA(cudaMemcpyAsync(chunk, chunks, bytes, cudaMemcpyHostToDevice, stream));
  SpikeLookCount_Kernel<<<(unsigned int)nchunks, SPIKE_LOOK_THREADS, 0, stream>>>(l->n, rows, lo, hi, chunk);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(chunks, chunk, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscInt k = 0; k < nchunks; k++) {
    const PetscInt count = chunks[k].count;

    chunks[k].count = l->ncuts;
    l->ncuts += count;
  }
  PetscCall(PetscLogGpuToCpuScalar(2.0 * bytes));
  if (!l->ncuts) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(l->ncuts, &l->cut));
  PetscCall(SpikeMalloc_CUDA(l->ncuts, &cut));
  PetscCallCUDA(cudaMemcpyAsync(chunk, chunks, bytes, cudaMemcpyHostToDevice, stream));
  SpikeLookList_Kernel<<<(unsigned int)nchunks, SPIKE_LOOK_THREADS, 0, stream>>>(l->n, rows, lo, hi, chunk, cut);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(l->cut, cut, (size_t)l->ncuts * sizeof(PetscInt), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(cut));
  PetscCall(PetscLogCpuToGpuScalar(2.0 * bytes));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)l->ncuts * sizeof(PetscInt)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Sums by signed distance, -kl to ku, of the rows of a warp in their order: weight[warp][kl + d]. Lanes have entries of
  one row, no two of them at one distance
*/
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLookWeigh_Kernel(const __grid_constant__ SpikeLookPlan f, PetscInt kl, PetscInt64 width, PetscInt64 rows,
                        PetscInt warps, PetscReal *weight)
{
  const PetscInt   warp  = (PetscInt)blockIdx.x * (SPIKE_LOOK_THREADS / 32) + threadIdx.x / 32;
  const int        lane  = threadIdx.x % 32;
  const PetscInt64 begin = warp * rows, end = begin + rows < f.n ? begin + rows : f.n;
  PetscReal       *sum = weight + warp * width + kl;

  if (warp >= warps) return;
  for (PetscInt64 i = begin; i < end; i++) {
    for (int part = 0; part < f.A.nparts; part++) {
      const SpikeCSR  &P     = f.A.part[part];
      const PetscInt64 after = P.ai[i + 1];

      for (PetscInt64 k = (PetscInt64)P.ai[i] + lane; k < after; k += 32) {
        const PetscScalar v = P.aa[k];

        if (v != PetscScalar(0.0)) sum[SpikeFillDistance(P, P.aj[k], NULL, (PetscInt)i)] += PetscAbsScalar(v);
      }
    }
    __syncwarp();
  }
}

/* all[d] <- the sums of all warps at the distances d and -d, d = blockIdx.x; in a fixed order */
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLookWeights_Kernel(PetscInt kl, PetscInt ku, PetscInt64 width, PetscInt warps, const PetscReal *weight,
                          PetscReal *all)
{
  __shared__ PetscReal shared[SPIKE_LOOK_THREADS];
  const PetscInt       d   = (PetscInt)blockIdx.x;
  PetscReal            sum = 0.0;

  for (PetscInt w = threadIdx.x; w < warps; w += SPIKE_LOOK_THREADS) {
    const PetscReal *of = weight + w * width + kl;

    if (d <= ku) sum += of[d];
    if (d && d <= kl) sum += of[-d];
  }
  shared[threadIdx.x] = sum;
  for (int half = SPIKE_LOOK_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x == 0) all[d] = shared[0];
}

/* l->weight, when half-bandwidths are known */
static PetscErrorCode SpikeLookWeights_Private(SpikeLook *l, const SpikeLookPlan &f, int most, cudaStream_t stream)
{
  const PetscInt   K     = PetscMax(l->kl, l->ku);
  const PetscInt64 width = (PetscInt64)l->kl + l->ku + 1, each = width * (PetscInt64)sizeof(PetscReal);
  const PetscInt   warps = (PetscInt)PetscMax(1, PetscMin(PetscMin(SPIKE_LOOK_WEIGHTS / each, (PetscInt64)most), l->n));
  const int        teams = SPIKE_LOOK_THREADS / 32;
  PetscReal       *room;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((PetscCount)K + 1, &l->weight));
  PetscCall(SpikeMalloc_CUDA((PetscCount)(warps * width + K + 1), &room));
  PetscCallCUDA(cudaMemsetAsync(room, 0, (size_t)(warps * each), stream));
  SpikeLookWeigh_Kernel<<<(unsigned int)((warps + teams - 1) / teams), SPIKE_LOOK_THREADS, 0, stream>>>(f, l->kl, width,
                                                                                                        ((PetscInt64)
                                                                                                           l->n +
                                                                                                         warps - 1) /
                                                                                                          warps,
                                                                                                        warps, room);
  PetscCallCUDA(cudaGetLastError());
  SpikeLookWeights_Kernel<<<(unsigned int)(K + 1), SPIKE_LOOK_THREADS, 0, stream>>>(l->kl, l->ku, width, warps, room,
                                                                                    room + warps * width);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(l->weight, room + warps * width, ((size_t)K + 1) * sizeof(PetscReal),
                                cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(((PetscLogDouble)K + 1) * sizeof(PetscReal)));
  PetscCallCUDA(cudaFree(room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One launch and one wait where no row may begin at a cut, and no sums by distance are asked for */
static PetscErrorCode SpikeLookRun_Private(SpikeLook *l, const SpikeLookPlan &f, SpikeLookSeen *seen,
                                           SpikeLookChunk *chunk, cudaStream_t stream)
{
  const SpikeDevice *gpu;
  SpikeLookSeen      found;
  SpikeLookChunk     chunks[SPIKE_LOOK_CHUNKS];
  int                residents, blocks;

  PetscFunctionBegin;
  PetscCall(SpikeDeviceGet(&gpu));
  PetscCall(SpikeKernelFit((const void *)SpikeLook_Kernel, SPIKE_LOOK_THREADS, 0, &residents));
  blocks = (int)PetscMin((PetscInt64)gpu->multiprocessors * residents, ((PetscInt64)l->n + 7) / 8);
  PetscCallCUDA(cudaMemsetAsync(seen, 0, sizeof(*seen), stream));
  SpikeLook_Kernel<<<blocks, SPIKE_LOOK_THREADS, 0, stream>>>(f, seen);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&found, seen, sizeof(found), cudaMemcpyDeviceToHost, stream));
  if (l->nsample)
    PetscCallCUDA(cudaMemcpyAsync(l->sample, f.sample, (size_t)l->nsample * sizeof(SpikeLookSample),
                                  cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)(sizeof(found) + (size_t)l->nsample * sizeof(SpikeLookSample))));
  l->kl      = (PetscInt)found.max[SPIKE_LOOK_KL];
  l->ku      = (PetscInt)found.max[SPIKE_LOOK_KU];
  l->maxrow  = (PetscInt)found.max[SPIKE_LOOK_MAXROW];
  l->own     = (PetscInt)found.max[SPIKE_LOOK_OWN];
  l->stored  = (PetscInt)found.max[SPIKE_LOOK_STORED];
  l->weak    = found.max[SPIKE_LOOK_WEAK] ? l->n - (PetscInt)found.max[SPIKE_LOOK_WEAK] : -1;
  l->entries = (PetscInt64)found.sum[SPIKE_LOOK_ENTRIES];
  l->zeros   = (PetscInt64)found.sum[SPIKE_LOOK_ZEROS];
  l->others  = (PetscInt64)found.sum[SPIKE_LOOK_OTHERS];
  for (int k = 0; k < SPIKE_LOOK_STEPS; k++) l->reach[k] = (PetscInt)found.reach[k];
  if (l->weigh) PetscCall(SpikeLookWeights_Private(l, f, blocks * (SPIKE_LOOK_THREADS / 32), stream));
  if (found.sum[SPIKE_LOOK_MAYBE]) PetscCall(SpikeLookCuts_Private(l, f.lo, f.hi, chunk, chunks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeLook_CUDA(SpikeLook *l, PetscInt nparts, const SpikeCSR parts[])
{
  const size_t rows    = (size_t)l->n * sizeof(PetscInt),
               samples = ((size_t)l->nsample * sizeof(SpikeLookSample) + 7) / 8 * 8,
               fixed   = (sizeof(SpikeLookSeen) + SPIKE_LOOK_CHUNKS * sizeof(SpikeLookChunk) + 7) / 8 * 8;
  SpikeLookPlan  f     = {};
  char          *room;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(nparts <= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " pieces of a matrix", nparts);
  l->kl = l->ku = l->maxrow = l->own = l->stored = l->ncuts = 0;
  l->weak                                                   = -1;
  l->entries = l->zeros = l->others = 0;
  l->cut                            = NULL;
  l->sample                         = NULL;
  l->weight                         = NULL;
  PetscCall(PetscArrayzero(l->reach, SPIKE_LOOK_STEPS));
  if (!l->n && l->weigh) PetscCall(PetscCalloc1(1, &l->weight));
  if (!l->n) PetscFunctionReturn(PETSC_SUCCESS);
  if (l->nsample) PetscCall(PetscMalloc1(l->nsample, &l->sample));
  PetscCall(SpikeStreamOr(NULL, &stream));
  PetscCall(SpikeMalloc_CUDA((PetscCount)(fixed + samples + 2 * rows), &room));
  f.A.nparts = (int)nparts;
  for (PetscInt p = 0; p < nparts; p++) f.A.part[p] = parts[p];
  f.n       = l->n;
  f.below   = l->within[0];
  f.above   = l->within[1];
  f.nsample = l->nsample;
  f.tiny    = l->tiny;
  f.sample  = (SpikeLookSample *)(room + fixed);
  f.lo      = (PetscInt *)(room + fixed + samples);
  f.hi      = f.lo + l->n;
  ierr = SpikeLookRun_Private(l, f, (SpikeLookSeen *)room, (SpikeLookChunk *)(room + sizeof(SpikeLookSeen)), stream);
  PetscCallCUDA(cudaFree(room));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpikeLookKernels.own: own[2 p], own[2 p + 1], which are 0 before: maxima of integers, the same in any order. `lanes`
  threads have a row
*/
__global__ void __launch_bounds__(SPIKE_LOOK_THREADS)
  SpikeLookOwn_Kernel(PetscInt n, PetscInt below, PetscInt above, SpikeCSR A, int lanes, PetscInt np,
                      const PetscInt *start, unsigned int *own)
{
  const int          lane = threadIdx.x % lanes, teams = blockDim.x / lanes;
  const unsigned int team = (lanes == 32 ? ~0u : (1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);

  for (PetscInt64 i = (PetscInt64)blockIdx.x * teams + threadIdx.x / lanes; i < n; i += (PetscInt64)gridDim.x * teams) {
    const PetscInt64 end     = A.ai[i + 1];
    PetscInt         p       = 0;
    unsigned int     most[2] = {0, 0};

    for (PetscInt last = np; last - p > 1;) { /* start[p] <= i < start[last] */
      const PetscInt middle = p + (last - p) / 2;

      if (start[middle] <= i) p = middle;
      else last = middle;
    }
    for (PetscInt64 k = (PetscInt64)A.ai[i] + lane; k < end; k += lanes) {
      const PetscInt d = SpikeFillDistance(A, A.aj[k], NULL, (PetscInt)i);

      if (d < -below || d > above || i + d < start[p] || i + d >= start[p + 1]) continue;
      if (d < 0) most[0] = max(most[0], (unsigned int)-d);
      else most[1] = max(most[1], (unsigned int)d);
    }
    SpikeUnroll(side, 2) {
      for (int step = lanes / 2; step > 0; step /= 2)
        most[side] = max(most[side], __shfl_xor_sync(team, most[side], step, lanes));
      if (!lane && most[side] > own[2 * p + side]) atomicMax(own + 2 * p + side, most[side]);
    }
  }
}

static PetscErrorCode SpikeLookOwn_CUDA(PetscInt n, const PetscInt within[2], const SpikeCSR *A, PetscInt np,
                                        const PetscInt start[], PetscInt okl[], PetscInt oku[])
{
  const SpikeDevice *gpu;
  PetscInt          *dstart, entries;
  unsigned int      *own, *found;
  cudaStream_t       stream;
  int                lanes, residents;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(NULL, &stream));
  PetscCall(SpikeDeviceGet(&gpu));
  PetscCall(PetscMalloc1(2 * np, &found));
  PetscCall(SpikeMallocCopy_CUDA(np + 1, start, stream, &dstart));
  PetscCall(SpikeCalloc_CUDA(2 * (PetscCount)np, stream, &own));
  PetscCallCUDA(cudaMemcpyAsync(&entries, A->ai + n, sizeof(entries), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  lanes = SpikeLookLanes(n, entries);
  PetscCall(SpikeKernelFit((const void *)SpikeLookOwn_Kernel, SPIKE_LOOK_THREADS, 0, &residents));
  SpikeLookOwn_Kernel<<<(unsigned int)PetscMin((PetscInt64)gpu->multiprocessors * residents,
                                               (PetscInt64)n * lanes / SPIKE_LOOK_THREADS + 1),
                        SPIKE_LOOK_THREADS, 0, stream>>>(n, within[0], within[1], *A, lanes, np, dstart, own);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(found, own, 2 * (size_t)np * sizeof(*own), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)(2 * (size_t)np * sizeof(*own) + sizeof(entries))));
  for (PetscInt p = 0; p < np; p++) {
    okl[p] = (PetscInt)found[2 * p];
    oku[p] = (PetscInt)found[2 * p + 1];
  }
  PetscCall(PetscFree(found));
  PetscCall(SpikeFree_CUDA(dstart, own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeLookKernels SpikeLookKernels_CUDA = {
  /* look */ SpikeLook_CUDA,
  /* own */ SpikeLookOwn_CUDA,
  /* paths */ SpikePaths_CUDA,
};
