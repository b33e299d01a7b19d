/* SPDX-License-Identifier: BSD-2-Clause */
/* persistent_idr.cu: products of IDR(s) with all that follows from each, many of them in one cooperative launch */
#include "persistent.cuh"
#include "persistent_stencil.cuh"
#include "basis_moves.cuh"

#define SPIKE_PERSISTENT_SUMS (SPIKE_KRYLOV_MAXSHADOW + 3)

/*
  As persistent.cuh says: a kernel of the lockstep loop is a phase, its thread blocks are parts, and all sums are added
  up as there, so that the bits are the same. A product has two phases: the product with its inner products, which reads
  P, and the update of r, x, g_k and u_k with u of the next step, which reads G and U: basis_mult.cuh, basis_moves.cuh.
  The recurrences of idr.h are made by one thread of each thread block, in shared memory. Moves what these kernels do,
  from the L2 cache.
*/
template <class MATRIX>
struct SpikePersistentIDR {
  MATRIX             m;
  PetscInt           n, its, s;
  unsigned           parts[2]; /* of products, of updates */
  PetscScalar       *x, *r, *t, *G[SPIKE_KRYLOV_MAXSHADOW], *U[SPIKE_KRYLOV_MAXSHADOW], *P[SPIKE_KRYLOV_MAXSHADOW];
  SpikeKrylovDevice *device;
  PetscScalar       *small, *partials[2];
  SpikeKrylovMail   *mail;
};

struct SpikePersistentIDRShared {
  PetscScalar        warp[SPIKE_PERSISTENT_SUMS][SPIKE_PERSISTENT_PARTS][SPIKE_BASIS_WARPS];
  PetscScalar        sums[SPIKE_PERSISTENT_SUMS], small[SpikeIDRSize(SPIKE_KRYLOV_MAXSHADOW)];
  SpikeKrylovScalars s;
  unsigned int       bit; /* of SpikeGridBarrier() at the beginning */
};

/* What an update works on: columns 0 <= j < m1 of G and U for z and y, first <= j < last for next, if that is there */
struct SpikePersistentMoves {
  PetscScalar *y, *z, *next;
  int          m1, first, last;
  bool         update;
};

/* The sums over all parts, and the recurrence e, in each thread block; SpikeBasisConclude() is the model */
template <class MATRIX>
__device__ static __forceinline__ void SpikePersistentIDRMeet(const SpikePersistentIDR<MATRIX> &a, unsigned parts,
                                                              PetscScalar *partials, int nsums, unsigned int bit,
                                                              const SpikeIDRRecurrence &e,
                                                              SpikePersistentIDRShared &shared)
{
  const int      warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned       count;
  const unsigned first = SpikePersistentFirst(parts, &count);

  __syncthreads();
  for (unsigned i = threadIdx.x; i < nsums * count; i += blockDim.x) {
    const unsigned k = i % nsums, slot = i / nsums;
    PetscScalar    sum = shared.warp[k][slot][0];

    for (int w = 1; w < SPIKE_BASIS_WARPS; w++) sum += shared.warp[k][slot][w];
    partials[k * parts + first + slot] = sum;
  }
  __syncthreads();
  SpikePersistentWait(a.device, bit);
  for (int k = warp; k < nsums; k += (int)blockDim.x / 32) {
    const PetscScalar sum = SpikeWarpSum(SpikeKrylovGather<9>(partials + k * parts, lane, 32, parts));

    if (!lane) shared.sums[k] = sum;
  }
  __syncthreads();
  if (!threadIdx.x && SpikeIDRRecur(&e, &shared.s, shared.small, shared.sums) && blockIdx.x == gridDim.x - 1)
    SpikeKrylovTell(a.device, a.mail, &shared.s);
  __syncthreads();
}

/* V rows of an update: SpikeMovesRows() is the model; to store before `next` is made takes fewer registers */
template <int V, class MATRIX>
__device__ static __forceinline__ void SpikePersistentIDRRows(PetscInt i, const SpikePersistentIDR<MATRIX> &a,
                                                              const SpikePersistentMoves &b, const PetscScalar c[],
                                                              const PetscScalar f[], PetscScalar step, PetscScalar w,
                                                              PetscScalar *d)
{
  SpikeRows<V> r = SpikeRowsLoad<V>(a.r, i), g, u;

  if (b.update) {
    SpikeRows<V> y = SpikeRowsLoad<V>(b.y, i), z = SpikeRowsLoad<V>(b.z, i), x = SpikeRowsLoad<V>(a.x, i);

    SpikeMovesColumns<2, false>(i, 0, a.G, a.U, b.m1, c, z, y);
    SpikeRowsAxpy(step, y, x);
    SpikeRowsAxpy(-step, z, r);
    SpikeRowsDot(r, r, *d);
    if (b.m1) {
      SpikeRowsStore<V>(b.y, i, y);
      SpikeRowsStore<V>(b.z, i, z);
    }
    SpikeRowsStore<V>(a.x, i, x);
    SpikeRowsStore<V>(a.r, i, r);
  }
  if (b.next) {
    g = r;
    SpikeUnroll(v, V) u.e[v] = 0.0;
    SpikeMovesColumns<2, true>(i, 0, a.G + b.first, a.U + b.first, b.last - b.first, f + b.first, g, u);
    SpikeRowsAxpy(w, g, u);
    SpikeRowsStore<V>(b.next, i, u);
  }
}

/* The phase of an update, its sum in shared.warp */
template <class MATRIX>
__device__ static __forceinline__ void SpikePersistentIDRMove(const SpikePersistentIDR<MATRIX> &a,
                                                              const SpikePersistentMoves &b, PetscScalar step,
                                                              SpikePersistentIDRShared &shared)
{
  const SpikeIDR    d = SpikeIDRLayout(a.s, shared.small);
  const PetscScalar w = *d.omega;

  SpikePersistentParts(a.parts[1], [&](unsigned slot, PetscInt number) {
    const PetscInt threads = (PetscInt)a.parts[1] * SPIKE_KRYLOV_THREADS;
    PetscScalar    sum     = 0.0;

    for (PetscInt i = number; i < a.n / 2; i += threads)
      SpikePersistentIDRRows<2>(i, a, b, d.alpha, d.c, step, w, &sum);
    for (PetscInt i = a.n - a.n % 2 + number; i < a.n; i += threads)
      SpikePersistentIDRRows<1>(i, a, b, d.alpha, d.c, step, w, &sum);
    sum = SpikeWarpSum(sum);
    if (threadIdx.x % 32 == 0) shared.warp[0][slot][threadIdx.x % SPIKE_KRYLOV_THREADS / 32] = sum;
  });
}

/* The phase of a product y = A x with P^H y, y.y and, with z, z.z and y^H z */
template <class MATRIX>
__device__ static __forceinline__ void SpikePersistentIDRProduct(const SpikePersistentIDR<MATRIX>    &a,
                                                                 const typename MATRIX::SharedMemory &rows,
                                                                 const PetscScalar *x, PetscScalar *y,
                                                                 const PetscScalar *z, SpikePersistentIDRShared &shared)
{
  const int s = (int)a.s;

  SpikePersistentParts(a.parts[0], [&](unsigned slot, PetscInt number) {
    PetscScalar d[SPIKE_PERSISTENT_SUMS];

    SpikeUnroll(k, SPIKE_PERSISTENT_SUMS) d[k] = 0.0;
    a.m.each(
      rows, number, (PetscInt)a.parts[0] * SPIKE_KRYLOV_THREADS,
      [&](PetscInt j, bool inside) {
        const PetscScalar q = x[inside ? j : 0];

        return inside ? q : PetscScalar(0.0);
      },
      SpikeKrylovNothing{},
      [&](PetscInt row, PetscScalar sum, SpikeKrylovNothing) {
        SpikeUnroll(j, SPIKE_KRYLOV_MAXSHADOW)
          if (j < s) d[j] += SpikeKrylovDot(a.P[j][row], sum);
        y[row] = sum;
        SpikeBasisDotsRow<SPIKE_KRYLOV_MAXSHADOW>(row, sum, z, d);
      });
    SpikeUnroll(k, SPIKE_PERSISTENT_SUMS) {
      const int at = k < SPIKE_KRYLOV_MAXSHADOW ? k : s + k - SPIKE_KRYLOV_MAXSHADOW;

      if (k < s || (k >= SPIKE_KRYLOV_MAXSHADOW && (z || k == SPIKE_KRYLOV_MAXSHADOW))) {
        const PetscScalar sum = SpikeWarpSum(d[k]);

        if (threadIdx.x % 32 == 0) shared.warp[at][slot][threadIdx.x % SPIKE_KRYLOV_THREADS / 32] = sum;
      }
    }
  });
}

template <class MATRIX>
__global__ void __launch_bounds__(SPIKE_PERSISTENT_GROUPS *SPIKE_KRYLOV_THREADS, 1)
  SpikePersistentIDRKernel(const __grid_constant__ SpikePersistentIDR<MATRIX> a)
{
  __shared__ SpikePersistentIDRShared      shared;
  __shared__ typename MATRIX::SharedMemory rows;
  const int                                s = (int)a.s, nsmall = SpikeIDRSize(s);
  const SpikeIDR                           d   = SpikeIDRLayout(a.s, shared.small);
  unsigned int                             odd = 0; /* barriers so far, modulo 2 */

  for (int i = threadIdx.x; i < nsmall; i += blockDim.x) shared.small[i] = a.small[i];
  SpikePersistentBegin(a, rows, shared);
  if (!shared.s.since && !shared.s.reason) { /* u_0 = omega r */
    SpikePersistentIDRMove(a, {NULL, NULL, a.U[0], 0, 0, 0, false}, PetscScalar(0.0), shared);
    __syncthreads();
    SpikePersistentWait(a.device, shared.bit ^ odd);
    odd ^= 1;
  }
  for (PetscInt it = 0; it < a.its && !shared.s.reason; it++) {
    const PetscInt since = shared.s.since;
    const int      k = (int)(since % (s + 1)), next = k < s ? k + 1 : 0;
    const bool     omega = k == s;

    SpikePersistentIDRProduct(a, rows, omega ? a.r : a.U[k], omega ? a.t : a.G[k], omega ? a.r : NULL, shared);
    SpikePersistentIDRMeet(a, a.parts[0], a.partials[0], s + (omega ? 3 : 1), shared.bit ^ odd,
                           {omega ? SPIKE_IDR_OMEGA : SPIKE_IDR_COLUMN, a.s, omega ? 0 : k, 0, a.s, 0.0}, shared);
    odd ^= 1;
    if (shared.s.reason) break;
    SpikePersistentIDRMove(a,
                           {omega ? a.r : a.U[k], omega ? a.t : a.G[k], next < s ? a.U[next] : NULL, omega ? 0 : k,
                            since + 1 < s ? s : next, s, true},
                           omega ? *d.omega : *d.beta, shared);
    SpikePersistentIDRMeet(a, a.parts[1], a.partials[1], 1, shared.bit ^ odd, {SPIKE_IDR_NORM, a.s, k, 0, 0, 0.0},
                           shared);
    odd ^= 1;
  }
  SpikePersistentEnd(a, shared);
  if (blockIdx.x == gridDim.x - 1)
    for (int i = threadIdx.x; i < nsmall; i += blockDim.x) a.small[i] = shared.small[i];
}

template <class MATRIX>
static PetscErrorCode SpikePersistentIDRLaunch(const SpikeKrylov *state, const MATRIX &m, PetscInt warps,
                                               const SpikeKrylovIterations *i, PetscInt its, bool *fits)
{
  const SpikeKrylovCUDA     *h       = (const SpikeKrylovCUDA *)state->data;
  const PetscInt             s       = i->s;
  PetscScalar *const        *vectors = i->v + 4;
  SpikePersistentIDR<MATRIX> a;
  bool                       wide = true;

  PetscFunctionBegin;
  a.m   = m;
  a.n   = i->n;
  a.its = its;
  a.s   = s;
  a.x   = i->v[0];
  a.r   = i->v[1];
  a.t   = i->v[2];
  for (PetscInt k = 0; k < 3; k++) wide = wide && SpikeBasisWide(i->v[k]);
  for (PetscInt k = 0; k < 2 * s; k++) wide = wide && SpikeBasisWide(vectors[k]);
  for (PetscInt k = 0; k < s; k++) {
    a.G[k] = vectors[k];
    a.U[k] = vectors[s + k];
    a.P[k] = vectors[2 * s + k];
  }
  /* each update would go by pairs of rows if its own vectors do */
  *fits = wide;
  if (!wide) PetscFunctionReturn(PETSC_SUCCESS);
  a.parts[0] = (unsigned)SpikeKrylovGrid((MATRIX::LANES > 1 && s < 4 ? 2 : 3) * h->gpu->multiprocessors, warps,
                                         SPIKE_BASIS_WARPS);
  a.parts[1] = (unsigned)SpikeKrylovGrid(SPIKE_BASIS_RESIDENT * h->gpu->multiprocessors, SpikeKrylovRounds(i->n, true),
                                         SPIKE_KRYLOV_THREADS);
  a.device   = h->device;
  a.small    = state->small;
  a.partials[0] = h->basispartials;
  a.partials[1] = h->partials;
  a.mail        = h->devicemail;
  PetscCall(SpikePersistentLaunch(h, SpikePersistentIDRKernel<MATRIX>, a, fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePersistentIDR_CUDA(const SpikeKrylov *state, const SpikeKrylovCopyCUDA *c,
                                       const SpikeKrylovIterations *i, PetscInt its, bool *fits)
{
  PetscFunctionBegin;
  if (c->stencil) {
    SpikePersistentStencilRows rows;

    SpikePersistentStencilTake(c->stencil, i->n, &rows, fits);
    if (*fits) PetscCall(SpikePersistentIDRLaunch(state, rows, (i->n + 31) / 32, i, its, fits));
  } else
    PetscCall(SpikeKrylovRowsDispatch(c, [&](const auto &rows, PetscInt warps) {
      return SpikePersistentIDRLaunch(state, rows, warps, i, its, fits);
    }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
