/* SPDX-License-Identifier: BSD-2-Clause */
/* fill.cuh: what the two ways to fill band and coupling blocks share: places in a tile row, and what a fill has seen */
#pragma once

#include "band.cuh"

/* Blocks of a fill, at most: 4096, and one for every 8 rows */
static inline int SpikeFillBlocks(const SpikeTiles *t)
{
  return (int)PetscMax(1, PetscMin(4096, t->n / 8));
}

/* The tiles, whose active interfaces are those with B and C */
static inline SpikeTiles SpikeFillTiles(const SpikeBand *s)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;
  SpikeTiles       t = h->t;

  t.active = h->dactive + s->np + 1;
  return t;
}

static inline void SpikeFillUnseen(SpikeFillStats *st)
{
  st->sum = st->dropped = st->maxdropped = st->norm = st->unscaled = 0.0;
  st->badrow = st->overflowrow = st->zerorow = st->joined = -1;
}

/* What one block, or the device, has seen; rows in the order of the matrix */
struct SpikeFillSeen {
  double             sum, dropped, maxdropped, norm;
  unsigned long long badrow, overflowrow, zerorow;
};

/* The same of a factorization that fills; worst: distance of the worst pivot, by SpikePivotRange */
struct SpikeFilledSeen {
  SpikeFillSeen fill;
  unsigned int  worst;
};

struct SpikeFillCSR {
  SpikeCSR part[2];
  int      nparts;
};

/* A matrix by diagonals, from dia.h: val[d ld + i] at distance offset[d] from the diagonal */
struct SpikeFillDiagonals {
  const PetscScalar *val;
  const PetscInt    *offset;
  PetscInt64         ld;
  int                count;
};

__device__ static inline void SpikeSeenMerge(SpikeFillSeen &a, const SpikeFillSeen &b)
{
  a.sum += b.sum;
  a.dropped += b.dropped;
  a.maxdropped  = a.maxdropped < b.maxdropped ? b.maxdropped : a.maxdropped;
  a.norm        = a.norm < b.norm ? b.norm : a.norm;
  a.badrow      = min(a.badrow, b.badrow);
  a.overflowrow = min(a.overflowrow, b.overflowrow);
  a.zerorow     = min(a.zerorow, b.zerorow);
}

/*
  Over the threads of a block, always in the same order; thread 0 has the result. shared: as many as half the threads,
  rounded up to a power of 2
*/
__device__ static inline void SpikeSeenReduce(SpikeFillSeen &mine, SpikeFillSeen *shared)
{
  unsigned int half = 1;

  while (2 * half < blockDim.x) half *= 2;
  for (; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half && threadIdx.x < 2 * half) shared[threadIdx.x - half] = mine;
    __syncthreads();
    if (threadIdx.x < half && threadIdx.x + half < blockDim.x) SpikeSeenMerge(mine, shared[threadIdx.x]);
  }
}

__device__ static inline void SpikeSeenStatus(const SpikeFillSeen &seen, SpikeStatus *status)
{
  status->value[0]    = seen.sum;
  status->value[1]    = seen.dropped;
  status->value[2]    = seen.maxdropped;
  status->value[3]    = seen.norm;
  status->badrow      = seen.badrow;
  status->overflowrow = seen.overflowrow;
  status->zerorow     = seen.zerorow;
}

/* e * magic >> 16 is e / T for e T < 65536 */
static inline int SpikeFillMagic(int T)
{
  return (65536 + T - 1) / T;
}

/*
  Column of a tile row where entry (r, r + d) of its rows goes: tile times T plus column, the diagonal last. All d from
  -kl to ku have a place of their own
*/
__device__ static inline int SpikeFillColumn(const SpikeTiles &t, int magic, int r, int d)
{
  const int e = r + d + t.QL * t.T, tile = (e * magic) >> 16, c = e - tile * t.T;

  if (tile < t.QL) return (t.QL - tile - 1) * t.T + c;
  if (tile > t.QL) return (tile - 1) * t.T + c;
  return r == c ? (t.QL + t.QU) * t.T : ((r > c ? t.QL : t.QL + t.QU) - 1) * t.T + c;
}

/* Distance of entry k of piece P, in row i of the band, from the diagonal */
__device__ static inline PetscInt SpikeFillDistance(const SpikeCSR &P, PetscInt aj, const PetscInt *newrow, PetscInt i)
{
  const PetscInt j = (P.colmap ? P.colmap[aj] : aj) + P.shift;

  return (newrow && !P.colmap ? newrow[j] : j) - i;
}

/*
  each(): f(a, distance) for the entries of a row of the matrix, which is row i of the band. share(): for those that the
  lane-th of so many lanes has, four on their way at once
*/
struct SpikeFillFromCSR {
  SpikeFillCSR    A;
  const PetscInt *newrow;

  /* Lanes that should share a row of so many entries */
  static int lanes(PetscInt width)
  {
    int lanes = 2;

    while (lanes < 32 && 5 * lanes < width) lanes *= 2;
    return lanes;
  }
  template <typename F>
  __device__ void share(PetscInt row, PetscInt i, int lane, int lanes, F &&f) const
  {
    for (int part = 0; part < A.nparts; part++) {
      const SpikeCSR &P   = A.part[part];
      const PetscInt  end = P.ai[row + 1];

      for (PetscInt k0 = P.ai[row] + lane; k0 < end; k0 += 4 * lanes) {
        PetscScalar v[4];
        PetscInt    col[4];

        SpikeUnroll(u, 4) {
          const PetscInt k = k0 + u * lanes;

          v[u]   = k < end ? P.aa[k] : PetscScalar(0.0);
          col[u] = k < end ? P.aj[k] : 0;
        }
        SpikeUnroll(u, 4)
          if (k0 + u * lanes < end) f(v[u], SpikeFillDistance(P, col[u], newrow, i));
      }
    }
  }

  template <typename F>
  __device__ void each(PetscInt row, PetscInt i, F &&f) const
  {
    for (int part = 0; part < A.nparts; part++) {
      const SpikeCSR &P = A.part[part];

      for (PetscInt k = P.ai[row]; k < P.ai[row + 1]; k++) f(P.aa[k], SpikeFillDistance(P, P.aj[k], newrow, i));
    }
  }
};

struct SpikeFillFromDiagonals {
  SpikeFillDiagonals A;

  /* one: neighbouring rows are neighbouring numbers */
  static int lanes(PetscInt) { return 1; }
  template <typename F>
  __device__ void share(PetscInt row, PetscInt, int lane, int lanes, F &&f) const
  {
    for (int k0 = lane; k0 < A.count; k0 += 4 * lanes) {
      PetscScalar v[4];

      SpikeUnroll(u, 4) v[u] = k0 + u * lanes < A.count ? A.val[(k0 + u * lanes) * A.ld + row] : PetscScalar(0.0);
      SpikeUnroll(u, 4)
        if (k0 + u * lanes < A.count) f(v[u], A.offset[k0 + u * lanes]);
    }
  }

  template <typename F>
  __device__ void each(PetscInt row, PetscInt, F &&f) const
  {
    for (int k = 0; k < A.count; k++) f(A.val[k * A.ld + row], A.offset[k]);
  }
};

/* A row: li of partition p, which ends at `end`; i of the rank, r of its tile, `row` of the matrix */
struct SpikeFillAt {
  PetscInt           p, i, end;
  int                li, r;
  unsigned long long row;
};

/*
  Entry v at distance d from the diagonal: into the slab, whose columns are ld apart, or to B or C where they are
  wanted, or dropped
*/
template <typename F>
__device__ static __forceinline__ void SpikeFillEntry(const SpikeTiles &t, int magic, double max, PetscScalar *B,
                                                      PetscScalar *C, const SpikeFillAt &at, PetscScalar v,
                                                      PetscReal abs, PetscInt d, F *slab, int ld, SpikeFillSeen &seen)
{
  if (!(abs <= PETSC_MAX_REAL)) seen.badrow = min(seen.badrow, at.row);
  if (d > t.ku || -d > t.kl) {
    seen.dropped += abs;
    seen.maxdropped = seen.maxdropped < abs ? abs : seen.maxdropped;
  } else if (at.li + d >= 0 && at.i + d < at.end) {
    if (abs > max) seen.overflowrow = min(seen.overflowrow, at.row);
    slab[SpikeFillColumn(t, magic, at.r, (int)d) * ld] = F(v);
  } else if (d > 0) { /* row counted in the last ku of partition p, column in the first ku after it */
    if (B && t.active[at.p + 1])
      B[(PetscInt64)(at.p + 1) * t.ku * t.ku + (at.i - (at.end - t.ku)) + (PetscInt64)(at.i + d - at.end) * t.ku] = v;
  } else { /* row counted in the first kl of partition p, column in the last kl before it */
    if (C && t.active[at.p]) C[(PetscInt64)at.p * t.kl * t.kl + at.li + (PetscInt64)(at.li + d + t.kl) * t.kl] = v;
  }
}

/*
  Couplings of row li of partition p, which has len rows, go from where place(d) says that the value at distance d from
  the diagonal is to B and C, NULL where they are not wanted, which are written whole: rows counted in the last ku of
  partition p and columns in the first ku after it, rows in the first kl and columns in the last kl before it. Their
  places are cleared. `split` threads share a row, and take a column each, so that a warp writes consecutive numbers;
  part: which of them. Returns the sum of their magnitudes
*/
template <typename P>
__device__ static inline double SpikeFillCouplings(const SpikeTiles &t, PetscScalar *B, PetscScalar *C, PetscInt p,
                                                   int li, int len, int part, int split, bool *bad, P &&place)
{
  double      sum = 0.0;
  PetscScalar v;

  auto take = [&](int d) {
    PetscScalar    *from = place(d);
    const PetscReal abs  = PetscAbsScalar(*from);

    v     = *from;
    *from = 0.0;
    sum += abs;
    *bad |= !(abs <= PETSC_MAX_REAL);
  };

  if (li + t.ku >= len) {
    PetscScalar *to     = B ? B + (PetscInt64)(p + 1) * t.ku * t.ku + li - (len - t.ku) : NULL;
    const bool   active = to && t.active[p + 1];

    for (int j = part; j < t.ku; j += split) {
      const int d = len + j - li;

      v = 0.0;
      if (d <= t.ku) take(d);
      if (to) to[(PetscInt64)j * t.ku] = active ? v : PetscScalar(0.0);
    }
  }
  if (li < t.kl) {
    PetscScalar *to     = C ? C + (PetscInt64)p * t.kl * t.kl + li : NULL;
    const bool   active = to && t.active[p];

    for (int j = part; j < t.kl; j += split) {
      const int d = j - t.kl - li;

      v = 0.0;
      if (-d <= t.kl) take(d);
      if (to) to[(PetscInt64)j * t.kl] = active ? v : PetscScalar(0.0);
    }
  }
  return sum;
}

/* B_0 and C_np, which no partition of this rank writes, by all blocks */
__device__ static __forceinline__ void SpikeFillClearEnds(const SpikeTiles &t, PetscScalar *B, PetscScalar *C)
{
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;

  for (int k = first; B && k < t.ku * t.ku; k += stride) B[k] = 0.0;
  for (int k = first; C && k < t.kl * t.kl; k += stride) C[(PetscInt64)t.np * t.kl * t.kl + k] = 0.0;
}

/* fill.cu */
PETSC_INTERN PetscErrorCode SpikeFillJoined_CUDA(SpikeBand *, const PetscInt *oldrow);
/* once more what was left to the factorization, where that has set SpikeReport.again; B and C are there */
PETSC_INTERN PetscErrorCode SpikeFillAgain_CUDA(SpikeBand *);
/*
  fill_map.cu: the map of a pattern, SpikeCUDA.map, and a fill by it. create() leaves map.state negative where
  there is no room for one, or no gain
*/
PETSC_INTERN PetscErrorCode SpikeFillMapCreate_CUDA(SpikeBand *, const SpikeFillCSR *, const PetscInt *newrow);
PETSC_INTERN PetscErrorCode SpikeFillMapDestroy_CUDA(SpikeFillMap *);
PETSC_INTERN PetscErrorCode SpikeFillByMap_CUDA(SpikeBand *, const SpikeFillCSR *, const PetscInt *newrow);
/*
  factor_filled.cu: whether fills of this band may be left to a factorization that does both; its map of a pattern with
  so many entries, where it can; and the factorization, which fills
*/
PETSC_INTERN bool           SpikeFactorFills_CUDA(const SpikeBand *, const SpikeFillCSR *, const PetscInt *newrow);
PETSC_INTERN PetscErrorCode SpikeFilledMapCreate_CUDA(SpikeBand *, const SpikeCSR *, PetscReal entries);
struct SpikePivotPolicy;
PETSC_INTERN PetscErrorCode SpikeFactorFilled_CUDA(SpikeBand *, const SpikePivotPolicy *);

/* A counter for the last thread block to end, after the chunks of units */
static inline unsigned int *SpikeFillMapTicket(const SpikeFillMap *map)
{
  return (unsigned int *)(map->unit + ((PetscInt64)map->units + 2) / 2 * 2 + 2);
}

/* *ptr <- count elements where there is room, else NULL; counted in map->bytes */
template <typename X>
static inline PetscErrorCode SpikeFillMapMalloc(SpikeFillMap *map, PetscInt64 count, X **ptr)
{
  bool fits;

  PetscFunctionBegin;
  PetscCall(SpikeTryMalloc_CUDA((PetscCount)count, ptr, &fits));
  if (!fits) {
    PetscCall(PetscInfo(NULL, "No memory for a map of the band's entries (%zu bytes): fills take longer\n",
                        (size_t)count * sizeof(X)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  map->bytes += (PetscReal)count * sizeof(X);
  PetscFunctionReturn(PETSC_SUCCESS);
}
