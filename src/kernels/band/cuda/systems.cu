/* SPDX-License-Identifier: BSD-2-Clause */
/*
  systems.cu: partitions of half-bandwidth 1 on CUDA devices: D^-1 by the kernels of tridiagonal.h, all partitions of
  the rank at once; spikes, of one column each, are kept as vectors
*/
#include "fill.cuh"
#include "kernels/tridiagonal/cuda/tridiagonal.cuh"

#define SPIKE_TRI_COLUMNS 8    /* of an apply at a time */
#define SPIKE_TRI_CORRECT 1024 /* rows of a block of corrections */

/*
  One spike: rows from its end in which it is above the tolerance, and above 0; its magnitude at its end, and in the
  last of these rows
*/
struct SpikeTriReached {
  unsigned long long window, last;
  PetscReal          end, far;
};

struct SpikeTriSystems {
  SpikeTridiagonal t;
  PetscInt        *start;       /* of t, on the host                                                   */
  PetscScalar     *dl, *d, *du; /* [n] D                                                                */
  /* [2 n] D^-1 [C; 0], D^-1 [0; B] of all partitions; NULL without couplings */
  PetscScalar *spikes;
  /* [n] a system begins that is not a partition; NULL where there is none     */
  unsigned char *begins;
  /* what SpikeFillStats.joined says, all ones for none                          */
  unsigned long long *joined, *hostjoined;
  /* [2 np] of the left spikes, then of the right ones                          */
  SpikeTriReached *reached, *hostreached;
};

/*
  D, B and C from the entries, a thread a row; couplings that are left out (B NULL) are not counted as dropped. Reads
  each entry once, writes three words a row
*/
template <typename S>
__global__ void __launch_bounds__(256)
  SpikeTriFill_Kernel(const __grid_constant__ SpikeTiles t, const __grid_constant__ S source, const PetscInt *oldrow,
                      const unsigned char *begins, PetscScalar *dl, PetscScalar *d, PetscScalar *du, PetscScalar *B,
                      PetscScalar *C, SpikeFillSeen *seen, unsigned long long *joined)
{
  __shared__ char shared[128 * sizeof(SpikeFillSeen)];
  SpikeFillSeen   mine = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < t.n; i += (PetscInt)gridDim.x * blockDim.x) {
    const PetscInt row  = oldrow ? oldrow[i] : i;
    PetscScalar    v[3] = {0.0, 0.0, 0.0};
    PetscInt       p = 0, end = t.np;
    double         sum = 0.0;

    while (end - p > 1) {
      const PetscInt middle = p + (end - p) / 2;

      if (t.start[middle] <= i) p = middle;
      else end = middle;
    }
    source.each(row, i, [&](PetscScalar a, PetscInt distance) {
      const PetscReal abs = PetscAbsScalar(a);

      if (!(abs <= PETSC_MAX_REAL)) mine.badrow = min(mine.badrow, (unsigned long long)row);
      sum += abs;
      if (distance < -1 || distance > 1) {
        mine.dropped += abs;
        mine.maxdropped = mine.maxdropped < abs ? abs : mine.maxdropped;
      } else if (distance > 0 && i + 1 == t.start[p + 1]) {
        if (B && t.active[p + 1]) B[p + 1] = a;
      } else if (distance < 0 && i == t.start[p]) {
        if (C && t.active[p]) C[p] = a;
      } else {
        v[distance + 1] = a;
        if (distance && begins && begins[distance > 0 ? i + 1 : i] && a != PetscScalar(0.0))
          atomicMin(joined, (unsigned long long)row);
      }
    });
    dl[i] = v[0];
    d[i]  = v[1];
    du[i] = v[2];
    mine.sum += sum;
    mine.norm = mine.norm < sum ? sum : mine.norm;
    if (sum == 0.0) mine.zerorow = min(mine.zerorow, (unsigned long long)row);
  }
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (!threadIdx.x) seen[blockIdx.x] = mine;
}

/* [C; 0] and [0; B] of all partitions in vectors that are zero */
__global__ void SpikeTriCouplings_Kernel(const __grid_constant__ SpikeTiles t, const PetscScalar *B,
                                         const PetscScalar *C, PetscScalar *w, PetscScalar *v)
{
  const PetscInt p = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (p >= t.np || t.start[p] == t.start[p + 1]) return;
  if (t.active[p]) w[t.start[p]] = C[p];
  if (t.active[p + 1]) v[t.start[p + 1] - 1] = B[p + 1];
}

/*
  How far the spikes reach: a row of blocks for each of them. The largest numbers of all threads: in any order the same
*/
__global__ void __launch_bounds__(256)
  SpikeTriReached_Kernel(const __grid_constant__ SpikeTiles t, PetscReal tol, const PetscScalar *w,
                         const PetscScalar *v, SpikeTriReached *reached)
{
  const PetscInt     p = blockIdx.y, lo = t.start[p], hi = t.start[p + 1];
  const bool         right  = blockIdx.z > 0;
  const PetscScalar *a      = right ? v : w;
  SpikeTriReached   *r      = reached + (right ? t.np : 0) + p;
  unsigned long long window = 0, last = 0;
  PetscReal          limit;

  if (lo == hi || !t.active[right ? p + 1 : p]) return;
  limit = tol * SpikeAbs(a[right ? hi - 1 : lo]);
  for (PetscInt i = lo + (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < hi;
       i += (PetscInt)gridDim.x * blockDim.x) {
    const PetscReal          size = SpikeAbs(a[i]);
    const unsigned long long rows = (unsigned long long)(right ? hi - i : i - lo + 1);

    if (size > limit && rows > window) window = rows;
    if (size > (PetscReal)0.0 && rows > last) last = rows;
  }
  window = SpikeWarpMax(window);
  last   = SpikeWarpMax(last);
  if (threadIdx.x % 32 == 0 && window) atomicMax(&r->window, window);
  if (threadIdx.x % 32 == 0 && last) atomicMax(&r->last, last);
}

/* Wt, Vb and the magnitudes of the spikes */
__global__ void SpikeTriTips_Kernel(const __grid_constant__ SpikeTiles t, const PetscScalar *w, const PetscScalar *v,
                                    PetscScalar *Wt, PetscScalar *Vb, SpikeTriReached *reached)
{
  const PetscInt p = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (p >= t.np || t.start[p] == t.start[p + 1]) return;
  const PetscInt lo = t.start[p], hi = t.start[p + 1];

  if (t.active[p]) {
    Wt[p]          = w[lo];
    reached[p].end = SpikeAbs(w[lo]);
    reached[p].far = reached[p].last ? SpikeAbs(w[lo + (PetscInt)reached[p].last - 1]) : (PetscReal)0.0;
  }
  if (t.active[p + 1]) {
    SpikeTriReached *r = reached + t.np + p;

    Vb[p + 1] = v[hi - 1];
    r->end    = SpikeAbs(v[hi - 1]);
    r->far    = r->last ? SpikeAbs(v[hi - (PetscInt)r->last]) : (PetscReal)0.0;
  }
}

/* g_t and g_b of the partitions, transposed C^T g_top and B^T g_bottom, where solvetips() looks for them */
template <bool TRANSPOSED>
__global__ void SpikeTriGrab_Kernel(const __grid_constant__ SpikeTiles t, const PetscScalar *B, const PetscScalar *C,
                                    const PetscScalar *g, PetscCount ldg, PetscScalar *tips)
{
  const PetscInt     p   = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscScalar *gc  = g + blockIdx.y * ldg;
  PetscScalar       *tip = tips + blockIdx.y * 2 * ((PetscCount)t.np + 1) + 2 * p;

  if (p >= t.np || t.start[p] == t.start[p + 1]) return;
  const PetscScalar top = gc[t.start[p]], bottom = gc[t.start[p + 1] - 1];

  if (t.active[p]) tip[TRANSPOSED ? 0 : 1] = TRANSPOSED ? C[p] * top : top;
  if (t.active[p + 1]) tip[TRANSPOSED ? 3 : 2] = TRANSPOSED ? B[p + 1] * bottom : bottom;
}

/* x <- x - w x_b - v x_t over the windows of partitions p0 + blockIdx.y: two words a row, and x */
__global__ void __launch_bounds__(256)
  SpikeTriCorrect_Kernel(const __grid_constant__ SpikeTiles t, PetscInt p0, const SpikeTriReached *reached,
                         const PetscScalar *w, const PetscScalar *v, const PetscScalar *tips, PetscScalar *x,
                         PetscCount ldx)
{
  const PetscInt p = p0 + blockIdx.y, lo = t.start[p], hi = t.start[p + 1];
  const PetscInt top     = t.active[p] ? (PetscInt)reached[p].window : 0,
                 bottom  = t.active[p + 1] ? (PetscInt)reached[t.np + p].window : 0;
  const PetscScalar *tip = tips + blockIdx.z * 2 * ((PetscCount)t.np + 1) + 2 * p;
  PetscScalar       *xc  = x + blockIdx.z * ldx;

  for (PetscInt k = 0; k < SPIKE_TRI_CORRECT; k += 256) {
    const PetscInt distance = (PetscInt)blockIdx.x * SPIKE_TRI_CORRECT + k + threadIdx.x, i = lo + distance,
                   j = hi - 1 - distance;

    /* a row that both reach is the upper thread's */
    if (i < hi && distance < top) xc[i] -= hi - i <= bottom ? SpikeFma(w[i], tip[0], v[i] * tip[3]) : w[i] * tip[0];
    if (j >= lo && distance < bottom && j - lo >= top) xc[j] -= v[j] * tip[3];
  }
}

/* [x_t; 0; x_b] of the transposed correction, in vectors that are zero */
__global__ void SpikeTriScatter_Kernel(const __grid_constant__ SpikeTiles t, PetscInt p0, PetscInt p1,
                                       const PetscScalar *tips, PetscScalar *y, PetscCount ldy)
{
  const PetscInt     p   = p0 + (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscScalar *tip = tips + blockIdx.y * 2 * ((PetscCount)t.np + 1) + 2 * p;
  PetscScalar       *yc  = y + blockIdx.y * ldy;

  if (p >= p1 || t.start[p] == t.start[p + 1]) return;
  if (t.active[p]) yc[t.start[p]] += tip[1];
  if (t.active[p + 1]) yc[t.start[p + 1] - 1] += tip[2];
}

__global__ void __launch_bounds__(256) SpikeTriSubtract_Kernel(PetscInt lo, PetscInt hi, const PetscScalar *y,
                                                               PetscCount ldy, PetscScalar *x, PetscCount ldx)
{
  for (PetscInt i = lo + (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < hi; i += (PetscInt)gridDim.x * blockDim.x)
    x[blockIdx.y * ldx + i] -= y[blockIdx.y * ldy + i];
}

PetscErrorCode SpikeTriCreateSystems_CUDA(SpikeBand *s)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  SpikeTriSystems   *y;

  PetscFunctionBegin;
  PetscCall(PetscNew(&y));
  h->tri           = y;
  y->t.nsys        = s->nsystems;
  y->t.start       = s->systems;
  y->t.type        = s->tridiagonal;
  y->t.pivoting    = s->pivoting;
  y->t.switchpoint = y->t.chunk = y->t.longest = PETSC_DECIDE;
  y->t.maxrhs                                  = SPIKE_TRI_COLUMNS;
  y->t.k                                       = &SpikeTridiagonalKernels_CUDA;
  PetscCall((*y->t.k->create)(&y->t));
  s->used  = y->t.used;
  s->local = y->t.local;
  PetscCall(SpikeMalloc_CUDA(s->n, &y->dl, &y->d, &y->du));
  PetscCall(SpikeMalloc_CUDA(1, &y->joined));
  PetscCall(SpikeMallocHost_CUDA(1, &y->hostjoined));
  if (s->nsystems > s->np) {
    unsigned char *begins;

    PetscCall(PetscCalloc1(s->n, &begins));
    for (PetscInt i = 0; i < s->nsystems; i++) begins[s->systems[i]] = 1; /* those of partitions are not asked for */
    PetscCall(SpikeMallocCopy_CUDA(s->n, begins, stream, &y->begins));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscFree(begins));
  }
  if (s->coupled) {
    PetscCall(SpikeMalloc_CUDA(2 * (PetscCount)s->n, &y->spikes));
    PetscCall(SpikeMalloc_CUDA(2 * (PetscCount)s->np, &y->reached));
    PetscCall(SpikeMallocHost_CUDA(2 * (PetscCount)s->np, &y->hostreached));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriDestroySystems_CUDA(SpikeBand *s)
{
  SpikeCUDA       *h = (SpikeCUDA *)s->data;
  SpikeTriSystems *y = h->tri;

  PetscFunctionBegin;
  if (!y) PetscFunctionReturn(PETSC_SUCCESS);
  if (y->t.k) PetscCall((*y->t.k->destroy)(&y->t));
  PetscCall(SpikeFree_CUDA(y->dl, y->d, y->du, y->joined, y->begins, y->spikes, y->reached));
  PetscCall(SpikeFreeHost_CUDA(y->hostjoined, y->hostreached));
  PetscCall(PetscFree(h->tri));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the matrix, and of the rest; before create() the factors of one long system stand for those of any */
PetscErrorCode SpikeTriBytesSystems_CUDA(const SpikeBand *s, PetscReal *matrix, PetscReal *rest)
{
  const SpikeTriSystems *y = s->data ? ((const SpikeCUDA *)s->data)->tri : NULL;
  PetscReal              factors;

  PetscFunctionBegin;
  *matrix = 3.0 * sizeof(PetscScalar) * s->n;
  factors = (5.0 * sizeof(PetscScalar) + 1.0) * s->n;
  if (y && y->t.data) PetscCall((*y->t.k->bytes)(&y->t, &factors));
  *rest = factors + sizeof(unsigned long long) + (s->nsystems > s->np ? (PetscReal)s->n : 0.0);
  if (s->coupled) *rest += 2.0 * sizeof(PetscScalar) * s->n + 2.0 * sizeof(SpikeTriReached) * s->np;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename S>
static PetscErrorCode SpikeTriFill_Private(SpikeBand *s, const S &source, const PetscInt *oldrow)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  SpikeTriSystems   *y      = h->tri;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          blocks = (int)PetscMin((PetscCount)SpikeFillBlocks(&h->t), ((PetscCount)s->n + 255) / 256);

  PetscFunctionBegin;
  PetscCall(SpikeFillCouplings_CUDA(s));
  PetscCallCUDA(cudaMemsetAsync(y->joined, 0xff, sizeof(*y->joined), stream));
  SpikeTriFill_Kernel<S><<<blocks, 256, 0, stream>>>(h->t, source, oldrow, y->begins, y->dl, y->d, y->du, s->dB, s->dC,
                                                     (SpikeFillSeen *)h->scratch, y->joined);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(SpikeFillSum_CUDA(s, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriFillSystems_CUDA(SpikeBand *s, const SpikeFillCSR *A, const PetscInt *newrow)
{
  const SpikeFillFromCSR source = {*A, newrow};

  PetscFunctionBegin;
  PetscCall(SpikeTriFill_Private(s, source, newrow ? ((SpikeCUDA *)s->data)->oldrow : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriFillDiagonals_CUDA(SpikeBand *s, const SpikeFillDiagonals *A)
{
  const SpikeFillFromDiagonals source = {*A};

  PetscFunctionBegin;
  PetscCall(SpikeTriFill_Private(s, source, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriFactorSystems_CUDA(SpikeBand *s, SpikePivot *pivot)
{
  SpikeCUDA       *h = (SpikeCUDA *)s->data;
  SpikeTriSystems *y = h->tri;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  h->pivot      = pivot;
  if (!s->n) PetscFunctionReturn(PETSC_SUCCESS);
  y->t.stream = s->stream;
  PetscCall(SpikeTriUnit_CUDA(&y->t, pivot->relative ? &h->report->fill.value[3] : NULL));
  PetscCall((*y->t.k->setup)(&y->t, y->dl, y->d, y->du, pivot));
  PetscCall(PetscLogGpuFlops(3.0 * s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both sides at once, when there are factors */
PetscErrorCode SpikeTriTipsSystems_CUDA(SpikeBand *s)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  SpikeTriSystems   *y      = h->tri;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  PetscScalar       *w = y->spikes, *v = w + s->n;
  const unsigned     grid = (unsigned)((s->np + 255) / 256);

  PetscFunctionBegin;
  PetscCheck(s->np <= 65535, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscInt_FMT " partitions of tridiagonal systems on a CUDA device: use fewer with "
             "-pc_spike_local_partitions (with the prefix of the solver)",
             s->np);
  y->t.stream = s->stream;
  PetscCallCUDA(cudaMemsetAsync(w, 0, 2 * (size_t)s->n * sizeof(PetscScalar), stream));
  PetscCallCUDA(cudaMemsetAsync(y->reached, 0, 2 * (size_t)s->np * sizeof(*y->reached), stream));
  SpikeTriCouplings_Kernel<<<grid, 256, 0, stream>>>(h->t, s->dB, s->dC, w, v);
  PetscCallCUDA(cudaGetLastError());
  PetscCall((*y->t.k->apply)(&y->t, PETSC_FALSE, 2, w, s->n, w, s->n));
  SpikeTriReached_Kernel<<<dim3((unsigned)PetscMax(1, PetscMin(1024 / s->np, (s->n + 1023) / 1024)), (unsigned)s->np,
                                2),
                           256, 0, stream>>>(h->t, PetscMax(s->window, PETSC_MACHINE_EPSILON / 4), w, v, y->reached);
  SpikeTriTips_Kernel<<<grid, 256, 0, stream>>>(h->t, w, v, s->dWt, s->dVb, y->reached);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Logarithm of the factor by which a spike falls a row, over the rows in which it is not 0 */
static PetscReal SpikeTriRate_Private(const SpikeTriReached *r, PetscInt n)
{
  if (!(r->end > 0.0)) return PETSC_MIN_REAL;
  if ((PetscInt)r->last < n) return PetscLogReal(PETSC_REAL_MIN) / (PetscReal)r->last;
  return n > 1 ? PetscLogReal(r->far / r->end) / (PetscReal)(n - 1) : (PetscReal)0.0;
}

/* Of finish(): waits once more, for the report of the factors */
PetscErrorCode SpikeTriFinishSystems_CUDA(SpikeBand *s)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  SpikeTriSystems   *y      = h->tri;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  PetscInt           most   = 0;

  PetscFunctionBegin;
  if (!s->n) PetscFunctionReturn(PETSC_SUCCESS);
  y->t.stream = s->stream;
  if (h->fillstats)
    PetscCallCUDA(cudaMemcpyAsync(y->hostjoined, y->joined, sizeof(*y->joined), cudaMemcpyDeviceToHost, stream));
  if (h->falloff && s->coupled)
    PetscCallCUDA(cudaMemcpyAsync(y->hostreached, y->reached, 2 * (size_t)s->np * sizeof(*y->reached),
                                  cudaMemcpyDeviceToHost, stream));
  if (h->pivot) {
    SpikePivotScale_CUDA(h, h->pivot);
    PetscCall((*y->t.k->report)(&y->t, h->pivot));
  } else PetscCallCUDA(cudaStreamSynchronize(stream));
  if (h->fillstats) h->fillstats->joined = *y->hostjoined == ~0ull ? -1 : (PetscInt)*y->hostjoined;
  if (!h->falloff || !s->coupled) PetscFunctionReturn(PETSC_SUCCESS);
  h->windowrows = 0.0;
  for (PetscInt p = 0; p < s->np; p++) {
    const PetscInt         n = s->start[p + 1] - s->start[p];
    const SpikeTriReached *w = y->hostreached + p, *v = w + s->np;

    s->wtop[p] = (PetscInt)w->window;
    s->wbot[p] = (PetscInt)v->window;
    most       = PetscMax(most, PetscMax(s->wtop[p], s->wbot[p]));
    h->windowrows += PetscMin(n, s->wtop[p] + s->wbot[p]);
    if (s->active[p]) h->falloff[p] = SpikeTriRate_Private(w, n);
    if (s->active[p + 1]) h->falloff[s->np + 1 + p + 1] = SpikeTriRate_Private(v, n);
  }
  if (most > h->correctrows || 2 * most < h->correctrows) {
    h->correctrows = (int)most;
    s->launches++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriSweepSystems_CUDA(SpikeBand *s, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                         PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  SpikeTriSystems   *y      = h->tri;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const dim3         grid((unsigned)((s->np + 255) / 256), (unsigned)nrhs);

  PetscFunctionBegin;
  if (!s->n || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  y->t.stream = s->stream;
  PetscCall((*y->t.k->apply)(&y->t, trans, nrhs, b, ldb, g, ldg));
  PetscCall(PetscLogGpuFlops(5.0 * nrhs * s->n));
  if (!s->coupled) PetscFunctionReturn(PETSC_SUCCESS);
  if (trans) SpikeTriGrab_Kernel<true><<<grid, 256, 0, stream>>>(h->t, s->dB, s->dC, g, ldg, s->dtips);
  else SpikeTriGrab_Kernel<false><<<grid, 256, 0, stream>>>(h->t, s->dB, s->dC, g, ldg, s->dtips);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriCorrectSystems_CUDA(SpikeBand *s, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs,
                                           PetscScalar *x, PetscCount ldx)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  SpikeTriSystems   *y      = h->tri;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt     rows   = s->start[p1] - s->start[p0];

  PetscFunctionBegin;
  if (!rows || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  y->t.stream = s->stream;
  if (!trans) {
    const PetscInt blocks = (h->correctrows + SPIKE_TRI_CORRECT - 1) / SPIKE_TRI_CORRECT;

    if (blocks)
      SpikeTriCorrect_Kernel<<<dim3((unsigned)blocks, (unsigned)(p1 - p0), (unsigned)nrhs), 256, 0,
                               stream>>>(h->t, p0, y->reached, y->spikes, y->spikes + s->n, s->dtips, x, ldx);
    PetscCall(PetscLogGpuFlops(2.0 * nrhs * h->windowrows * (p1 - p0) / s->np));
  } else {
    PetscCallCUDA(cudaMemsetAsync(h->work, 0, (size_t)nrhs * (size_t)s->n * sizeof(PetscScalar), stream));
    SpikeTriScatter_Kernel<<<dim3((unsigned)((p1 - p0 + 255) / 256), (unsigned)nrhs), 256, 0, stream>>>(h->t, p0, p1,
                                                                                                        s->dtips,
                                                                                                        h->work, s->n);
    PetscCallCUDA(cudaGetLastError());
    PetscCall((*y->t.k->apply)(&y->t, PETSC_TRUE, nrhs, h->work, s->n, h->work, s->n));
    SpikeTriSubtract_Kernel<<<dim3((unsigned)PetscMin(4096, (rows + 255) / 256), (unsigned)nrhs), 256, 0,
                              stream>>>(s->start[p0], s->start[p1], h->work, s->n, x, ldx);
    PetscCall(PetscLogGpuFlops(6.0 * nrhs * s->n));
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
