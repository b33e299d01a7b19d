/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs_dia.cu: products with many columns of copies by diagonals, with x in shared memory */
#include "rhs.cuh"
#include "rhs_mult.cuh"
#include "kernels/common/cuda/async.cuh"

/*
  A thread block has a patch of SPIKE_PATCH_ROWS rows, two neighbouring ones a thread, and RHSEACH columns, whose sums
  stay in registers: the values of the copy are read once for all of them. Diagonals go in their order, in segments:
  those so close together that their entries of x for the patch overlap. A segment of x is fetched for all columns, with
  zeros for rows outside of the matrix, so that nothing is tested afterwards. Then come its diagonals in runs of up to
  SPIKE_PATCH_RUN neighbouring ones: with two rows and L diagonals L + 1 entries of x make 2 L products.

  Entry e of a segment lies in half e % 2 at place e / 2: the lanes of a warp, two rows apart, read neighbouring places.

  A row is summed in the order of the diagonals; where a diagonal has no entry 0 is added. So the result has the same
  bits for any number of columns.

  With the sums of a step a thread block has several patches, as many thread blocks as fill the device twice. After each
  patch a warp adds its part to the sums of each column, in shared memory. Their order depends on the number of rows
  alone.
*/
#define SPIKE_PATCH_THREADS 256
#define SPIKE_PATCH_ROWS    (2 * SPIKE_PATCH_THREADS)
/* with 16 columns in double precision two blocks have room in the shared memory of a multiprocessor with 228 KiB */
#define SPIKE_PATCH_HALF 424
#define SPIKE_PATCH_RUN  4

typedef struct {
  /* first diagonal of the run, diagonals, entry of the segment that row 0 of the block has with the first one */
  short diagonal, length, place;
} SpikePatchRun;

typedef struct {
  int           segments, runs;
  int           offset[SPIKE_KRYLOV_MAXDIAGONALS]; /* row 0 of the block has entry 0 of the segment at this offset */
  short         length[SPIKE_KRYLOV_MAXDIAGONALS]; /* entries of a column                                          */
  short         last[SPIKE_KRYLOV_MAXDIAGONALS];   /* number of the last run of the segment, + 1                   */
  SpikePatchRun run[SPIKE_KRYLOV_MAXDIAGONALS];
} SpikePatchPlan;

static void SpikePatchMakePlan(int count, const int offset[], SpikePatchPlan *plan)
{
  plan->segments = plan->runs = 0;
  for (int d = 0; d < count;) {
    const int s = plan->segments++, first = d;

    plan->offset[s] = offset[d];
    while (d < count &&
           (d == first || (offset[d] - offset[d - 1] < SPIKE_PATCH_ROWS &&
                           (PetscInt64)offset[d] - offset[first] + SPIKE_PATCH_ROWS <= 2 * SPIKE_PATCH_HALF))) {
      SpikePatchRun *r = &plan->run[plan->runs++];

      r->diagonal = (short)d;
      r->place    = (short)(offset[d] - offset[first]);
      r->length   = 1;
      for (d++; d < count && r->length < SPIKE_PATCH_RUN && offset[d] == offset[d - 1] + 1 &&
                offset[d] - offset[first] + SPIKE_PATCH_ROWS <= 2 * SPIKE_PATCH_HALF;
           d++)
        r->length++;
    }
    plan->length[s] = (short)(offset[d - 1] - offset[first] + SPIKE_PATCH_ROWS);
    plan->last[s]   = (short)plan->runs;
  }
}

/* sum[k] += of L diagonals; even and odd are where entries 0 and 1 of the run lie for the thread's first row */
template <int RHSEACH, int L>
__device__ static __forceinline__ void SpikePatchAdd(const PetscScalar *even, const PetscScalar *odd,
                                                     const SpikeKrylovPair a[], PetscScalar sum[][2])
{
  SpikeUnroll(k, RHSEACH) {
    PetscScalar x = even[2 * SPIKE_PATCH_HALF * k];

    SpikeUnroll(u, L) {
      const PetscScalar y = (u % 2 ? even : odd)[2 * SPIKE_PATCH_HALF * k + (u + 1) / 2];

      sum[k][0] = SpikeFma(a[u].a, x, sum[k][0]);
      sum[k][1] = SpikeFma(a[u].b, y, sum[k][1]);
      x         = y;
    }
  }
}

/*
  total[g][i] += the sum of d[g][i] over a warp, for G columns. The first steps of the tree halve the columns of a lane,
  so that it takes few more shuffles than one column. The order is that of SpikeWarpSum() for any G.
*/
template <int G, int NDOT>
__device__ static __forceinline__ void SpikePatchSum(PetscScalar d[][NDOT], PetscScalar total[])
{
  const int lane = threadIdx.x % 32;

  SpikeUnroll(i, NDOT) {
    PetscScalar v = d[0][i];
    int         t = 16;

    if constexpr (G == 4) {
      const bool        up = lane & 16, second = lane & 8;
      const PetscScalar a = (up ? d[2][i] : d[0][i]) + SpikeShfl(up ? d[0][i] : d[2][i], lane ^ 16),
                        b = (up ? d[3][i] : d[1][i]) + SpikeShfl(up ? d[1][i] : d[3][i], lane ^ 16);

      v = (second ? b : a) + SpikeShfl(second ? a : b, lane ^ 8);
      t = 4;
    } else if constexpr (G == 2) {
      const bool up = lane & 16;

      v = (up ? d[1][i] : d[0][i]) + SpikeShfl(up ? d[0][i] : d[1][i], lane ^ 16);
      t = 8;
    }
#pragma unroll
    for (; t; t /= 2) v += SpikeShfl(v, lane ^ t);
    if (lane % (32 / G) == 0) total[lane / (32 / G) * NDOT + i] += v;
  }
}

/* Rows row and row + 1 of a vector; the latter where it is there */
__device__ static __forceinline__ SpikeKrylovPair SpikePatchLoad(const PetscScalar *v, bool wide, bool both)
{
  SpikeKrylovPair pair;

  if (wide && both) return *(const SpikeKrylovPair *)v;
  pair.a = v[0];
  pair.b = both ? v[1] : PetscScalar(0.0);
  return pair;
}

/* The values of run r in rows row and row + 1, loads in flight; zeros after its last diagonal */
__device__ static __forceinline__ void SpikePatchFetch(const SpikeKrylovDia &m, const SpikePatchRun &r, PetscInt row,
                                                       SpikeKrylovPair next[])
{
  const PetscScalar *val    = m.val + row + r.diagonal * m.ld;
  const int          length = row < m.n ? r.length : 0;

  SpikeUnroll(u, SPIKE_PATCH_RUN) {
    if (u < length) next[u] = *(const SpikeKrylovPair *)(val + u * m.ld);
    else next[u].a = next[u].b = 0.0;
  }
}

/*
  A segment of x from row `base` on, of RHSEACH right-hand sides, into shared memory; rows outside of the n are zeros
*/
template <int RHSEACH>
__device__ static __forceinline__ void SpikeRhsPatchCopy(const PetscScalar *x, const PetscInt64 start[],
                                                         PetscInt64 base, int length, PetscInt n, PetscScalar *patch)
{
  constexpr int NWARPS = SPIKE_PATCH_THREADS / 32, PARTS = RHSEACH < NWARPS ? NWARPS / RHSEACH : 1;
  const int     warp = threadIdx.x / 32, lane = threadIdx.x % 32,
            low  = (int)PetscMin(PetscMax(-base, (PetscInt64)0), (PetscInt64)length),
            high = (int)PetscMin((PetscInt64)n - base, (PetscInt64)length);

  for (int k = warp / PARTS; k < RHSEACH; k += NWARPS / PARTS) {
    const int          part = warp % PARTS * 32 + lane;
    const PetscScalar *from = x + start[k] + base + part;
    PetscScalar       *to   = patch + 2 * SPIKE_PATCH_HALF * k + part % 2 * SPIKE_PATCH_HALF + part / 2;

    if (start[k] < 0) continue;
    if (high - low == length) {
#pragma unroll 4
      for (int e = part; e < length; e += 32 * PARTS, from += 32 * PARTS, to += 16 * PARTS)
        SpikeCopyAsync<sizeof(PetscScalar)>(to, from);
    } else {
      for (int e = part; e < length; e += 32 * PARTS, from += 32 * PARTS, to += 16 * PARTS) {
        if (e >= low && e < high) SpikeCopyAsync<sizeof(PetscScalar)>(to, from);
        else *to = 0.0;
      }
    }
  }
}

/* sum[][] += the diagonals of a run, whose values are a[] */
template <int RHSEACH>
__device__ static __forceinline__ void SpikePatchRunAdd(const SpikePatchRun &r, const PetscScalar *patch,
                                                        const SpikeKrylovPair a[], PetscScalar sum[][2])
{
  const int          place = r.place, after = place + 1;
  const PetscScalar *even = patch + place % 2 * SPIKE_PATCH_HALF + place / 2 + threadIdx.x,
                    *odd  = patch + after % 2 * SPIKE_PATCH_HALF + after / 2 + threadIdx.x;

  switch (r.length) {
  case 1:
    SpikePatchAdd<RHSEACH, 1>(even, odd, a, sum);
    break;
  case 2:
    SpikePatchAdd<RHSEACH, 2>(even, odd, a, sum);
    break;
  case 3:
    SpikePatchAdd<RHSEACH, 3>(even, odd, a, sum);
    break;
  default:
    SpikePatchAdd<RHSEACH, SPIKE_PATCH_RUN>(even, odd, a, sum);
  }
}

/*
  Rows row and row + 1, of n, of right-hand side `number`, which begins at `start`: y, and the sums d[] of the step.
  product: of the rows, by D already
*/
template <int STEPID>
__device__ static __forceinline__ void SpikePatchStore(const SpikeRhsProduct &p, const SpikeKrylovPair &product,
                                                       PetscInt64 start, int number, PetscInt row, bool wide, bool both,
                                                       const SpikeRhsState &state, PetscScalar d[])
{
  using X              = SpikeKrylovTraits<STEPID>;
  PetscScalar *const y = p.y + start + row;

  if (wide && both) *(SpikeKrylovPair *)y = product;
  else {
    y[0] = product.a;
    if (both) y[1] = product.b;
  }
  if constexpr (X::nd > 0) {
    PetscScalar e[X::nv], f[X::nv];

    SpikeUnroll(i, X::nv) {
      if (!((X::read >> i) & 1)) continue;
      const SpikeKrylovPair v = i == p.own ? product : SpikePatchLoad(p.v.v[i] + number * p.v.ld[i] + row, wide, both);

      e[i] = v.a;
      f[i] = v.b;
    }
    X::row(&state.device[number].s.f, e, d);
    if (both) X::row(&state.device[number].s.f, f, d);
  }
}

/* The end of a kernel with sums: total[] of each warp to those of the device, each right-hand side for itself */
template <int STEPID, int RHSEACH>
__device__ static __forceinline__ void SpikePatchFinish(const PetscScalar total[], const PetscInt64 start[],
                                                        const int number[], const SpikeRhsState &state)
{
  constexpr int   NDOT = SpikeKrylovTraits<STEPID>::nd, NWARPS = SPIKE_PATCH_THREADS / 32;
  const int       warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned  block = blockIdx.y, blocks = gridDim.y;
  __shared__ bool last[RHSEACH];

  __syncthreads();
  for (int i = threadIdx.x; i < RHSEACH * NDOT; i += SPIKE_PATCH_THREADS) {
    PetscScalar sum = 0.0;

    if (start[i / NDOT] < 0) continue;
    for (int w = 0; w < NWARPS; w++) sum += total[w * RHSEACH * NDOT + i];
    state.partials[number[i / NDOT] * state.stride + i % NDOT * blocks + block] = sum;
  }
  __syncthreads();
  if (threadIdx.x < RHSEACH) {
    __threadfence(); /* for what the others have written before the barrier */
    last[threadIdx.x] = start[threadIdx.x] >= 0 &&
                        atomicInc(&state.device[number[threadIdx.x]].ticket, blocks - 1) == blocks - 1;
  }
  __syncthreads();
  for (int k = warp; k < RHSEACH; k += NWARPS) {
    PetscScalar d[NDOT];

    if (!last[k]) continue;
    __threadfence();
    SpikeUnroll(i, NDOT)
      d[i] = SpikeWarpSum(
        SpikeKrylovGather<3>(state.partials + number[k] * state.stride + i * blocks, lane, 32, blocks));
    if (!lane) SpikeKrylovConclude<STEPID, false>(d, state.recur, state.device + number[k], state.mail + number[k]);
  }
}

/*
  y = A x, or D A x, of RHSEACH right-hand sides of the list from number `first` on, then the sums of a step that writes
  nothing; blockIdx.x counts groups of right-hand sides, blockIdx.y the thread blocks of a group. wide: pairs of rows
  are aligned in y and in the vectors of the step
*/
template <int STEPID, int RHSEACH>
__global__ void __launch_bounds__(SPIKE_PATCH_THREADS,
                                  RHSEACH > 8 ? 2 : (RHSEACH > 4 ? 3 : 4) - (SpikeKrylovTraits<STEPID>::nd > 1 ? 1 : 0))
  SpikeRhsPatchKernel(SpikeKrylovDia m, const __grid_constant__ SpikePatchPlan plan,
                      const __grid_constant__ SpikeRhsProduct p, int first, bool wide, SpikeRhsState state)
{
  using X = SpikeKrylovTraits<STEPID>;
  extern __shared__ PetscScalar patch[];
  __shared__ PetscInt64         start[RHSEACH]; /* of the right-hand sides, or -1 */
  __shared__ int                number[RHSEACH];
  constexpr int          NDOT = X::nd ? X::nd : 1, NWARPS = SPIKE_PATCH_THREADS / 32, G = RHSEACH < 4 ? RHSEACH : 4;
  __shared__ PetscScalar total[X::nd ? NWARPS * RHSEACH * NDOT : 1]; /* [NWARPS][RHSEACH][NDOT] */
  const int              warp = threadIdx.x / 32, group = first + blockIdx.x * RHSEACH;
  SpikeKrylovPair        a[SPIKE_PATCH_RUN], next[SPIKE_PATCH_RUN];

  SpikeAwait();
  SpikePatchFetch(m, plan.run[0], (PetscInt)blockIdx.y * SPIKE_PATCH_ROWS + 2 * (PetscInt)threadIdx.x, next);
  if (threadIdx.x < RHSEACH) {
    const int column = group + (int)threadIdx.x < p.count ? p.column[group + threadIdx.x] : -1;

    number[threadIdx.x] = column;
    start[threadIdx.x]  = column >= 0 && !state.device[column].s.reason ? column * p.ld : -1;
  }
  if constexpr (X::nd > 0)
    for (int i = threadIdx.x; i < NWARPS * RHSEACH * NDOT; i += SPIKE_PATCH_THREADS) total[i] = 0.0;
  __syncthreads();
  for (int t = blockIdx.y, patches = (int)((m.n - 1) / SPIKE_PATCH_ROWS) + 1; t < patches; t += gridDim.y) {
    const PetscInt top = (PetscInt)t * SPIKE_PATCH_ROWS, row = top + 2 * (PetscInt)threadIdx.x;
    PetscScalar    sum[RHSEACH][2];

    SpikeUnroll(k, RHSEACH) sum[k][0] = sum[k][1] = 0.0;
    for (int s = 0, r = 0; s < plan.segments; s++) {
      __syncthreads();
      SpikeRhsPatchCopy<RHSEACH>(p.x, start, (PetscInt64)top + plan.offset[s], plan.length[s], m.n, patch);
      SpikeCopyWait();
      __syncthreads();
      for (; r < plan.last[s]; r++) {
        SpikeUnroll(u, SPIKE_PATCH_RUN) a[u] = next[u];
        if (r + 1 < plan.runs) SpikePatchFetch(m, plan.run[r + 1], row, next);
        SpikePatchRunAdd<RHSEACH>(plan.run[r], patch, a, sum);
      }
    }
    const bool      inside = row < m.n, both = row + 1 < m.n;
    SpikeKrylovPair scale;

    scale.a = scale.b = 1.0;
    if (p.scale && inside) scale = SpikePatchLoad(p.scale + row, false, both);
#pragma unroll
    for (int k = 0; k < RHSEACH; k += G) {
      PetscScalar d[G][NDOT];

      SpikeUnroll(g, G) {
        SpikeUnroll(i, NDOT) d[g][i] = 0.0;
        if (!inside || start[k + g] < 0) continue;
        SpikeKrylovPair pair;

        pair.a = p.scale ? SpikeKrylovMul(scale.a, sum[k + g][0]) : sum[k + g][0];
        pair.b = p.scale ? SpikeKrylovMul(scale.b, sum[k + g][1]) : sum[k + g][1];
        SpikePatchStore<STEPID>(p, pair, start[k + g], number[k + g], row, wide, both, state, d[g]);
      }
      if constexpr (X::nd > 0) SpikePatchSum<G, NDOT>(d, total + (warp * RHSEACH + k) * NDOT);
    }
    if (t + (int)gridDim.y < patches)
      SpikePatchFetch(m, plan.run[0], row + (PetscInt)gridDim.y * SPIKE_PATCH_ROWS, next);
  }
  if constexpr (X::nd > 0) SpikePatchFinish<STEPID, RHSEACH>(total, start, number, state);
}

static inline PetscInt64 SpikePatchCount(const SpikeKrylovCopyCUDA *c)
{
  return ((PetscInt64)c->dia.n + SPIKE_PATCH_ROWS - 1) / SPIKE_PATCH_ROWS;
}

/*
  A product alone has a thread block for each patch, which the device hands out, as far as a grid can; with sums they
  are as many as fill it twice, as in SpikeRhsBlocks()
*/
template <int STEPID, int RHSEACH>
static PetscErrorCode SpikePatchLaunch(const SpikeKrylovRhs *s, const SpikeKrylovCopyCUDA *c,
                                       const SpikePatchPlan &plan, const SpikeRhsProduct &p, int first, int groups)
{
  const size_t        bytes = (size_t)RHSEACH * 2 * SPIKE_PATCH_HALF * sizeof(PetscScalar);
  const SpikeRhsCUDA *d     = (const SpikeRhsCUDA *)s->data;
  const PetscInt64    most = 2 * d->h.gpu->multiprocessors, patches = SpikePatchCount(c),
                   each = ((patches - 1) / (STEPID == SPIKE_KRYLOV_NSTEPS ? 65535 : most)) + 1;
  bool wide             = (uintptr_t)p.y % alignof(SpikeKrylovPair) == 0 && p.ld % 2 == 0;

  PetscFunctionBegin;
  for (int k = 0; k < SpikeKrylovTraits<STEPID>::nv && STEPID != SPIKE_KRYLOV_NSTEPS; k++)
    wide = wide && (uintptr_t)p.v.v[k] % alignof(SpikeKrylovPair) == 0 && p.v.ld[k] % 2 == 0;
  PetscCall(SpikeKernelFit((const void *)SpikeRhsPatchKernel<STEPID, RHSEACH>, SPIKE_PATCH_THREADS, bytes));
  PetscCallCUDA(SpikeLaunchEarly(SpikeRhsPatchKernel<STEPID, RHSEACH>,
                                 dim3((unsigned)groups, (unsigned)((patches + each - 1) / each)),
                                 dim3(SPIKE_PATCH_THREADS), bytes, d->h.stream, c->dia, plan, p, first, wide,
                                 SpikeRhsStateOf(s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a block that there is shared memory for */
static inline int SpikePatchMost(const SpikeRhsCUDA *d)
{
  const int most = d->h.gpu->shared / (int)(2 * SPIKE_PATCH_HALF * sizeof(PetscScalar));

  return most > 16 ? 16 : (most > 8 ? 8 : 4); /* some of it is that of other things */
}

/*
  As many columns to a block as keep the device busy: fewer of them read the values of the copy more often, from the
  L2 cache. Without sums three blocks with 8 columns on a multiprocessor wait less than two with 16: 173 to
  192 us for 27 points and a million rows on an H200, and 1.54 to 1.62 ms for 8 millions.
*/
template <int STEPID, bool HAS>
static PetscErrorCode SpikePatchSelect(const SpikeKrylovRhs *s, const SpikeKrylovCopyCUDA *c, const SpikeRhsProduct &p)
{
  const SpikeRhsCUDA *d    = (const SpikeRhsCUDA *)s->data;
  int                 most = STEPID == SPIKE_KRYLOV_NSTEPS ? PetscMin(8, SpikePatchMost(d)) : SpikePatchMost(d);
  SpikePatchPlan      plan;

  PetscFunctionBegin;
  if constexpr (HAS) {
    SpikePatchMakePlan(c->dia.count, c->diaoffset, &plan);
    while (most > 4 && SpikePatchCount(c) * ((p.count + most - 1) / most) < d->h.gpu->multiprocessors) most /= 2;
    for (int first = 0; first < p.count;) {
      const int left = p.count - first, nc = PetscMin(most, left > 8 ? 16 : (left > 4 ? 8 : (left > 2 ? 4 : 2))),
                groups = PetscMax(1, left / nc);

      if constexpr (STEPID != SPIKE_KRYLOV_NSTEPS) {
        if (nc == 16) PetscCall((SpikePatchLaunch<STEPID, 16>(s, c, plan, p, first, groups)));
      }
      if (nc == 8) PetscCall((SpikePatchLaunch<STEPID, 8>(s, c, plan, p, first, groups)));
      else if (nc == 4) PetscCall((SpikePatchLaunch<STEPID, 4>(s, c, plan, p, first, groups)));
      else if (nc == 2) PetscCall((SpikePatchLaunch<STEPID, 2>(s, c, plan, p, first, groups)));
      first += nc * groups;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeRhsPatches_CUDA(const SpikeKrylovRhs *s, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                    const SpikeRhsProduct &p)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
    return SpikePatchSelect<decltype(constant)::value, SpikeRhsPatched>(s, c, p);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
