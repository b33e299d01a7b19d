/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fill_map.cu: a fill by a map of the pattern, which the first fill makes: refills read values and 2 bytes an entry, no
  columns
*/
#include "fill_map.cuh"
#include "kernels/common/cuda/lastblock.cuh"
#include <cfloat>
#include <cmath>
#include <type_traits>

#define SPIKE_MAP_AHEAD    16     /* entries of 8 bytes that a thread has on their way */
#define SPIKE_MAP_SLAB     76000  /* bytes: a larger slab would hold some rows of a tile row only, */
#define SPIKE_MAP_SMALL    18000  /* up to here it holds several tile rows */
#define SPIKE_MAP_MOST     131072 /* of shared memory */
#define SPIKE_MAP_THREADS  320    /* at most; two such blocks fit a multiprocessor, or four of half of them */
#define SPIKE_MAP_RESIDENT 2
#define SPIKE_MAP_LONG     192 /* entries of a run from which on a lane has 4 codes of a chunk */

/* Entries that a thread has on their way */
__host__ __device__ static constexpr int SpikeFillAhead()
{
  return sizeof(PetscScalar) > 8 ? SPIKE_MAP_AHEAD / 2 : SPIKE_MAP_AHEAD;
}

template <int V>
__device__ static inline void SpikeFillScatter(const PetscScalar v[], const SpikeFillCodes<V> &code, PetscScalar *slab)
{
  SpikeUnroll(u, V) {
    const unsigned int at = code[u];

    if (at != SPIKE_MAP_NONE) slab[at] = v[u];
  }
}

/* Those of a row of a slab, whose first column is at `mine` */
__device__ static __forceinline__ double SpikeFillSlabCouplings(const SpikeFillPlan &f, const SpikeFillRow &row,
                                                                PetscInt p, int part, PetscScalar *mine, bool *bad)
{
  const int r = row.li % f.t.T;

  return SpikeFillCouplings(f.t, f.B, f.C, p, row.li, row.len(), part, f.split, bad,
                            [&](int d) { return mine + SpikeFillColumn(f.t, f.magic, r, d) * f.ld; });
}

/* The unit gridDim.x later, without divisions */
__device__ static __forceinline__ void SpikeFillNextUnit(const SpikeFillPlan &f, SpikeFillUnit &unit)
{
  unit.slice += f.next.slice;
  unit.piece += f.next.piece;
  unit.group += f.next.group;
  if (unit.slice >= f.slices) {
    unit.slice -= f.slices;
    unit.piece++;
  }
  if (unit.piece >= f.pieces) {
    unit.piece -= f.pieces;
    unit.group++;
  }
}

/*
  A part of row y from the slab to the band, at `to`, without the tiles above the diagonal tile where half; its places
  are cleared. Returns `sum` and the magnitudes of its entries; dropped: those outside the band, summed, and `threads`
  after the largest
*/
template <typename F>
__device__ static __forceinline__ double SpikeFillWrite(const SpikeFillPlan &f, const SpikeFillPlace &at, int y,
                                                        int part, double sum, bool half, PetscScalar *slab, F *to,
                                                        double *dropped, bool &bad, bool &over)
{
  const SpikeTiles &t   = f.t;
  const int         tid = threadIdx.x, threads = blockDim.x, above = half ? t.QL * t.T : f.columns - 1;
  PetscScalar      *from = slab + at.j * f.columns * f.ld + at.x;

#pragma unroll 4
  for (int c = part; c < f.columns; c += f.split) {
    const PetscScalar w   = from[c * f.ld];
    const PetscReal   abs = PetscAbsScalar(w);

    from[c * f.ld] = 0.0;
    if (c < above || c == f.columns - 1) to[c * t.G * t.T] = F(w);
    sum += abs;
    bad |= !(abs <= PETSC_MAX_REAL);
    if (!std::is_same<F, SpikeDouble>::value) over |= abs > f.max;
  }
  for (int e = part; e < f.extra; e += f.split) {
    PetscScalar    *place = slab + f.tilerows * f.columns * f.ld + e * f.all + y;
    const PetscReal abs   = PetscAbsScalar(*place);

    *place = 0.0;
    sum += abs;
    bad |= !(abs <= PETSC_MAX_REAL);
    dropped[tid] += abs;
    if (dropped[threads + tid] < abs) dropped[threads + tid] = abs;
  }
  return sum;
}

/*
  band, B, C <- values by the map. A block walks over units gridDim.x apart; while one is written, the values and codes
  of the next are on their way to registers, and the chunks of the one after it. The slab is zero between units: who
  takes a value out clears its place. Moved: each value once, 2 bytes an entry (rounded up to chunks), 8 bytes a chunk,
  the band once in whole lines. Units belong to blocks by number, whichever multiprocessor runs them: that fixes the
  order of all sums; the last block to end adds those of the blocks, in their order.
*/
template <typename F, int V>
__global__ void __launch_bounds__(SPIKE_MAP_THREADS, SPIKE_MAP_RESIDENT)
  SpikeFillByMap(const __grid_constant__ SpikeFillPlan f, F *band, SpikeFillSeen *seen, unsigned int *ticket,
                 SpikeStatus *status)
{
  constexpr int     AHEAD  = SpikeFillAhead() / V; /* chunks */
  constexpr bool    narrow = !std::is_same<F, SpikeDouble>::value;
  extern __shared__ __align__(16) char shared[];
  __shared__ unsigned long long        first[3]; /* rows: bad, overflow, zero */
  const SpikeTiles                    &t    = f.t;
  PetscScalar                         *slab = (PetscScalar *)shared;
  const int tid = threadIdx.x, threads = blockDim.x, lane = tid % 32, warp = tid / 32, warps = threads / 32;
  /* [threads] sums over parts of rows */
  double *partial = (double *)(slab + (f.slab + 1) / 2 * 2);
  /* [2 threads] sum and largest sum of a thread's rows, of part 0 */
  double *total = partial + threads;
  /* [2 threads] sum and largest of what lies outside the band, where extra > 0 */
  double *dropped = total + 2 * threads;
  /* a thread's row and which of its split parts, in all units */
  const int            y = tid % f.all, part = tid / f.all;
  const bool           works = part < f.split;
  const SpikeFillPlace at    = SpikeFillPlaceOf(f, y);
  SpikeFillUnit        which = SpikeFillUnitOf(f, blockIdx.x);
  SpikeFillRow         row   = SpikeFillRowOf(f, which, at);
  PetscScalar          v[AHEAD][V];
  SpikeFillCodes<V>    code[AHEAD];
  PetscInt             before = -1; /* row whose parts of sums wait to be added */
  int2                 now, next;
  unsigned long long   q;
  SpikeFillSeen        mine;

  auto note  = [&](int what, PetscInt i) { atomicMin(first + what, (unsigned long long)(f.oldrow ? f.oldrow[i] : i)); };
  auto range = [&](int unit) { return unit < f.units ? make_int2(f.unit[unit], f.unit[unit + 1]) : make_int2(0, 0); };
  auto chunks = [&](int2 of) {
    return lane < AHEAD && of.x + warp + lane * warps < of.y ? f.chunk[of.x + warp + lane * warps] : 0ull;
  };
  auto fetch = [&](int2 of, unsigned long long its) {
    SpikeUnroll(s, AHEAD)
      SpikeFillFetch<V>(f.aa, f.code, __shfl_sync(SPIKE_WARP, its, s), of.x + warp + s * warps, lane, v[s], code[s]);
  };
  auto scatter = [&]() {
    SpikeUnroll(s, AHEAD) SpikeFillScatter<V>(v[s], code[s], slab);
  };
  auto parts = [&]() {
    if (before >= 0 && part == 0) {
      double sum = 0.0;

#pragma unroll 4
      for (int s = 0; s < f.split; s++) sum += partial[s * f.all + y];
      total[tid] += sum;
      total[threads + tid] = total[threads + tid] < sum ? sum : total[threads + tid];
      if (sum == 0.0) note(2, before);
    }
  };

  if (tid < 3) first[tid] = ~0ull;
  now = range(blockIdx.x);
  q   = chunks(now);
  fetch(now, q);
  next = range(blockIdx.x + gridDim.x);
  q    = chunks(next);
  for (int k = tid; k < f.slab; k += threads) slab[k] = 0.0;
  for (int k = tid; k < (f.extra ? 4 : 2) * threads; k += threads) total[k] = 0.0;
  SpikeFillClearEnds(t, f.B, f.C);
  __syncthreads();
  for (int unit = blockIdx.x; unit < f.units; unit += gridDim.x) {
    const bool valid = works && row.valid(), ends = valid && (row.li < t.kl || row.li + t.ku >= row.len());
    double     sum = 0.0;
    bool       bad = false, over = false;

    scatter();
    for (now.x += AHEAD * warps; now.x < now.y; now.x += AHEAD * warps) { /* more chunks than were on their way */
      fetch(now, chunks(now));
      scatter();
    }
    parts();
    now = next;
    if (__syncthreads_or(ends)) { /* split threads share a row and its places */
      if (ends)
        sum = SpikeFillSlabCouplings(f, row, (PetscInt)which.group * t.G + at.m, part,
                                     slab + at.j * f.columns * f.ld + at.x, &bad);
      __syncthreads();
    }
    fetch(now, q);
    next   = range(unit + 2 * (int)gridDim.x);
    before = -1;
    if (works && SpikeFillExists(f, which, at)) {
      F *to = band + SpikeFillOut(f, which, at);

      if (valid) {
        const bool half = f.lower && which.piece * f.tilerows + at.j + t.QU < t.tilerows;

        sum    = SpikeFillWrite(f, at, y, part, sum, half, slab, to, dropped, bad, over);
        before = row.first + row.li;
        if (bad) note(0, before);
        if (narrow && over) note(1, before);
        partial[tid] = sum;
      } else {
        for (int c = part; c < f.columns; c += f.split) to[c * t.G * t.T] = c == f.columns - 1 ? F(1.0) : F(0.0);
      }
      /* numbers that round a tile row up: fewer than 8, G = 1 */
      if (part == 0 && which.slice * f.rows + at.r < t.rowsize - f.columns * t.G * t.T)
        to[f.columns * t.G * t.T] = F(0.0);
    }
    SpikeFillNextUnit(f, which);
    row = SpikeFillRowOf(f, which, at);
    q   = chunks(next);
    __syncthreads();
  }
  parts();
  __syncthreads();
  mine = {total[tid], 0.0, 0.0, total[threads + tid], first[0], first[1], first[2]};
  if (f.extra) mine.dropped = dropped[tid], mine.maxdropped = dropped[threads + tid];
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (tid == 0) seen[blockIdx.x] = mine;
  if (!SpikeIsLastThreadBlock(ticket, gridDim.x)) return;
  mine = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};
#pragma unroll 4
  for (unsigned int k = tid; k < gridDim.x; k += threads) SpikeSeenMerge(mine, seen[k]);
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (tid == 0) SpikeSeenStatus(mine, status);
}

/* Shape of the units: rows and tilerows are chosen once, by the first fill */
static void SpikeFillPlan_Private(SpikeBand *s, const SpikeFillCSR *A, const PetscInt *newrow, SpikeFillPlan *f)
{
  const SpikeCUDA  *h  = (const SpikeCUDA *)s->data;
  const SpikeTiles *t  = &h->t;
  const int         GT = t->G * t->T;

  f->t        = SpikeFillTiles(s);
  f->B        = s->dB;
  f->C        = s->dC;
  f->newrow   = newrow;
  f->oldrow   = newrow ? h->oldrow : NULL;
  f->code     = h->map.code;
  f->chunk    = h->map.chunk;
  f->unit     = h->map.unit;
  f->rows     = h->map.rows;
  f->tilerows = h->map.tilerows;
  f->slices   = (GT + f->rows - 1) / f->rows;
  f->pergroup = (t->tilerows + f->tilerows - 1) / f->tilerows * f->slices;
  f->units    = h->map.units;
  f->groups   = (int)t->groups();
  f->pieces   = f->pergroup / f->slices;
  f->next     = {h->map.blocks / f->pergroup, h->map.blocks % f->pergroup / f->slices, h->map.blocks % f->slices};
  f->columns  = (t->QL + t->QU) * t->T + 1;
  f->ld       = f->rows | 1;
  f->all      = f->rows * f->tilerows;
  f->split    = h->map.threads / f->all;
  f->extra    = h->map.extra;
  f->slab     = f->tilerows * f->columns * f->ld + f->extra * f->all;
  f->magic    = SpikeFillMagic(t->T);
  f->lower    = SpikeFactorIsCholesky_CUDA(s, t, h->gpu);
  f->max      = SpikePrecisionBound(s->precision);
  for (int k = 0; k < 2; k++) f->aa[k] = A->part[k].aa;
}

/* Bytes of shared memory */
static size_t SpikeFillShared_Private(const SpikeFillPlan *f, int threads)
{
  const size_t slab = (f->slab + 1) / 2 * 2 * sizeof(PetscScalar) +
                      (size_t)threads * (f->extra ? 5 : 3) * sizeof(double);

  return PetscMax(slab, 256 * sizeof(SpikeFillSeen));
}

/* The kernel for a type of the factors and a number of codes; all of them take the same arguments */
template <typename F>
static void (*SpikeFillKernel_Private(int codes))(const SpikeFillPlan, F *, SpikeFillSeen *, unsigned int *,
                                                  SpikeStatus *)
{
  return codes == 4 ? SpikeFillByMap<F, 4> : codes == 2 ? SpikeFillByMap<F, 2> : SpikeFillByMap<F, 1>;
}

template <typename F>
static PetscErrorCode SpikeFillResidents_Private(const SpikeFillMap *map, size_t shared, int *residents)
{
  const auto kernel = SpikeFillKernel_Private<F>(map->codes);

  PetscFunctionBegin;
  PetscCall(SpikeKernelResident((const void *)kernel, map->threads, shared, residents));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFillMapDestroy_CUDA(SpikeFillMap *map)
{
  PetscFunctionBegin;
  PetscCall(SpikeFree_CUDA(map->code, map->chunk, map->unit));
  map->code  = NULL;
  map->chunk = NULL;
  map->unit  = NULL;
  map->bytes = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The host waits three times, for how many entries there are, how many chunks they make, how many lie outside the band
  in one row. There is no map where its codes would take more than the columns that it replaces (short runs), where a
  row has too many entries outside the band, or where memory is short.
*/
PetscErrorCode SpikeFillMapCreate_CUDA(SpikeBand *s, const SpikeFillCSR *A, const PetscInt *newrow)
{
  SpikeCUDA          *h      = (SpikeCUDA *)s->data;
  SpikeFillMap       *map    = &h->map;
  const SpikeTiles   *t      = &h->t;
  const cudaStream_t  stream = (cudaStream_t)s->stream;
  const int           GT = t->G * t->T, columns = (t->QL + t->QU) * t->T + 1;
  PetscInt            nnz[2] = {0, 0};
  PetscInt64          units;
  PetscReal           entries, run, elements, blocks, rounds;
  unsigned long long *total, chunks;
  int                *extra, residents;
  size_t              shared;
  SpikeFillPlan       f;

  PetscFunctionBegin;
  map->state = -1;
  for (int k = 0; k < A->nparts; k++)
    PetscCallCUDA(cudaMemcpyAsync(&nnz[k], A->part[k].ai + s->n, sizeof(PetscInt), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  entries = (PetscReal)nnz[0] + (PetscReal)nnz[1];
  if (!map->apart && SpikeFactorFills_CUDA(s, A, newrow) && entries / s->n * GT >= SPIKE_MAP_LONG) {
    PetscCall(SpikeFilledMapCreate_CUDA(s, &A->part[0], entries));
    if (map->state == 2) PetscFunctionReturn(PETSC_SUCCESS);
  }
  map->rows = GT;
  while (map->rows > 4 && (size_t)columns * (map->rows | 1) * sizeof(PetscScalar) > SPIKE_MAP_SLAB)
    map->rows = (map->rows + 1) / 2;
  map->tilerows = map->rows < GT
                  ? 1
                  : PetscMax(1, PetscMin(PetscMin(t->tilerows, 256 / GT),
                                         SPIKE_MAP_SMALL / (columns * (GT | 1) * (int)sizeof(PetscScalar))));
  units         = (PetscInt64)t->groups() * ((t->tilerows + map->tilerows - 1) / map->tilerows) *
          ((GT + map->rows - 1) / map->rows);
  run          = (PetscReal)nnz[0] / s->n * (newrow ? 1 : map->rows < GT ? map->rows : map->tilerows * t->T);
  map->codes   = newrow ? (run > 64 ? 4 : run > 32 ? 2 : 1) : (run >= SPIKE_MAP_LONG ? 4 : run >= 48 ? 2 : 1);
  elements     = (newrow ? map->rows * map->tilerows : t->G) * PetscCeilReal(run / (32 * map->codes)) * 32 * map->codes;
  elements     = PetscMax((PetscReal)map->tilerows * columns * map->rows, elements);
  map->threads = PetscMax((int)PetscMin(SPIKE_MAP_THREADS, 32 * PetscCeilReal(elements / (32 * SpikeFillAhead()))),
                          (map->rows * map->tilerows + 31) / 32 * 32);
  /* no number of a unit two rounds ahead overflows */
  if (units > PETSC_INT32_MAX / 4) PetscFunctionReturn(PETSC_SUCCESS);
  map->units = (int)units;
  /* after the units, at an even place: a 64-bit sum, a ticket, a counter */
  PetscCall(SpikeFillMapMalloc(map, units + 7, &map->unit));
  if (!map->unit) PetscFunctionReturn(PETSC_SUCCESS);
  total = (unsigned long long *)(map->unit + (units + 2) / 2 * 2);
  extra = (int *)(total + 1) + 1;
  PetscCallCUDA(cudaMemsetAsync(map->unit, 0, (units + 7) * sizeof(int), stream));
  SpikeFillPlan_Private(s, A, newrow, &f);
  SpikeFillMapCount<<<(unsigned int)PetscMin((units + 7) / 8, 2048), 256, 0, stream>>>(f, *A, map->codes, map->unit);
  PetscCallCUDA(cudaGetLastError());
  SpikeFillMapScan<<<1, 1024, 0, stream>>>(map->units, map->unit, total);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&chunks, total, sizeof(chunks), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (chunks && chunks <= PETSC_INT32_MAX && 32.0 * chunks * map->codes <= 4 * entries + 65536) {
    map->chunks = (int)chunks;
    PetscCall(SpikeFillMapMalloc(map, (PetscInt64)chunks * 32 * map->codes, &map->code));
    if (map->code) PetscCall(SpikeFillMapMalloc(map, (PetscInt64)chunks, &map->chunk));
  }
  if (!map->chunk) {
    PetscCall(SpikeFillMapDestroy_CUDA(map));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaMemsetAsync(map->code, 0xff, (size_t)chunks * 32 * map->codes * sizeof(*map->code), stream));
  SpikeFillPlan_Private(s, A, newrow, &f);
  shared = (size_t)A->nparts * (newrow ? f.all : t->G) * (sizeof(PetscInt) + sizeof(int));
  SpikeFillMapMake<<<(unsigned int)PetscMin(units, 8 * h->gpu->multiprocessors), 256, shared, stream>>>(f, *A,
                                                                                                        map->codes,
                                                                                                        map->code,
                                                                                                        map->chunk,
                                                                                                        extra);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&map->extra, extra, sizeof(int), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (map->extra <= SPIKE_MAP_MOST / (f.all * (int)sizeof(PetscScalar))) {
    SpikeFillPlan_Private(s, A, newrow, &f);
    shared = SpikeFillShared_Private(&f, map->threads);
    if (shared <= SPIKE_MAP_MOST && f.slab < (int)SPIKE_MAP_NONE) {
      SpikeDispatchPrecision(s->precision, PetscCall(SpikeFillResidents_Private<F>(map, shared, &residents)));
      /*
        multiprocessors differ in how fast they reach the memory: several rounds of blocks that move a megabyte each
        even that out
      */
      blocks      = (PetscReal)h->gpu->multiprocessors * PetscMax(residents, 1);
      rounds      = PetscMax(1, PetscMin(8, PetscFloorReal(1e-6 * units * f.tilerows * f.rows * f.columns *
                                                           (2 + sizeof(PetscScalar) +
                                                       SpikePrecisionBytes(s->precision) *
                                                         (sizeof(PetscScalar) / sizeof(PetscReal))) /
                                                           blocks)));
      map->blocks = (int)PetscMin((PetscReal)units, PetscMin(SpikeFillBlocks(t), rounds * blocks));
      map->state  = residents ? 1 : -1; /* no map where a slab is too large for this device */
    }
  }
  if (map->state < 0) PetscCall(SpikeFillMapDestroy_CUDA(map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static void SpikeFillLaunch_Private(SpikeBand *s, const SpikeFillPlan &f, size_t shared)
{
  SpikeCUDA          *h   = (SpikeCUDA *)s->data;
  const SpikeFillMap *map = &h->map;

  SpikeFillKernel_Private<F>(
    map->codes)<<<map->blocks, map->threads, shared, (cudaStream_t)s->stream>>>(f, (F *)s->band,
                                                                                (SpikeFillSeen *)h->scratch,
                                                                                SpikeFillMapTicket(map),
                                                                                &h->report->fill);
}

PetscErrorCode SpikeFillByMap_CUDA(SpikeBand *s, const SpikeFillCSR *A, const PetscInt *newrow)
{
  SpikeCUDA          *h   = (SpikeCUDA *)s->data;
  const SpikeFillMap *map = &h->map;
  SpikeFillPlan       f;
  size_t              shared;

  PetscFunctionBegin;
  SpikeFillPlan_Private(s, A, newrow, &f);
  shared = SpikeFillShared_Private(&f, map->threads);
  SpikeDispatchPrecision(s->precision, SpikeFillLaunch_Private<F>(s, f, shared));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
