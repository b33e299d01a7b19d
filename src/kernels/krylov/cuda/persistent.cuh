/* SPDX-License-Identifier: BSD-2-Clause */
/*
  persistent.cuh: iterations of a Krylov method in one cooperative launch, for problems that the L2 cache holds; of CG
  and BiCGStab persistent.cu has those with a copy of the matrix, persistent_stencil.cu those with a stencil;
  persistent_idr.cu has IDR(s)
*/
#pragma once

#include "mult.cuh"

#define SPIKE_PERSISTENT_GROUPS 2  /* of SPIKE_KRYLOV_THREADS threads, in a block */
#define SPIKE_PERSISTENT_PARTS  16 /* of a phase, that a block has               */

/*
  The smallest problems go to one cluster of thread blocks (cluster.cu), whose phases are the same and shorter.

  A kernel of the lockstep loop is a phase here, its thread block a part: a group of SPIKE_KRYLOV_THREADS threads does
  what that thread block would do, and the sums of parts are added up as its last thread block does it. So the bits are
  the same, with any grid. A thread block has neighbouring parts.

  An update before a product has no phase: the product computes each entry that it reads, from vectors that the
  phase does not write. BiCGStab has three phases, CG two. Directions and v alternate between two places, because
  entries of the old ones are read while others write the new ones.

  A phase ends in a barrier of the grid. Then each thread block adds up all parts and makes the recurrence for itself,
  so nothing is sent back. Sums of successive phases lie in two places: a late thread block reads one while another
  writes the other. The last thread block has no parts: it posts, which takes longer than a barrier.

  Bytes: those of the phases, from the L2 cache; a product reads two or three vectors in place of one.
*/
template <class MATRIX>
struct SpikePersistent {
  MATRIX             m;
  PetscInt           n, its;
  const PetscScalar *d;        /* B, NULL for the identity */
  unsigned           parts[3]; /* of each phase            */
  bool               wide, symmetric;
  PetscScalar       *v[SPIKE_KRYLOV_MAXWORK];
  SpikeKrylovDevice *device;
  PetscScalar       *partials[2];
  SpikeKrylovMail   *mail;
};

struct SpikePersistentShared {
  PetscScalar        warp[SPIKE_KRYLOV_MAXDOTS][SPIKE_PERSISTENT_PARTS][SPIKE_KRYLOV_THREADS / 32];
  PetscScalar        all[SPIKE_KRYLOV_MAXDOTS][SPIKE_KRYLOV_THREADS / 32];
  SpikeKrylovScalars s;
  unsigned int       bit; /* of SpikeGridBarrier() at the beginning */
};

/*
  Waits until all thread blocks of the grid are here; what they wrote before it is seen after it. For one thread of each
  thread block. The highest bit of *here is `bit` before and the other value after, and the other bits are 0 then: no
  launch sets it. A thread block knows the bit, so it need not wait for the result of its own addition.
*/
__device__ static __forceinline__ void SpikeGridBarrier(unsigned int *here, unsigned int bit)
{
  const unsigned int add = blockIdx.x ? 1u : 0x80000000u - (gridDim.x - 1);
  unsigned int       now;

#if __CUDA_ARCH__ >= 700
  asm volatile("red.add.release.gpu.global.u32 [%0], %1;" ::"l"(here), "r"(add) : "memory");
  do {
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(here) : "memory");
  } while (now >> 31 == bit);
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
  __threadfence();
  atomicAdd(here, add);
  do {
    now = *(volatile unsigned int *)here;
  } while (now >> 31 == bit);
  __threadfence();
#endif
}

/* The same for all threads of each thread block; those that have written have met the first one at a barrier before */
__device__ static __forceinline__ void SpikePersistentWait(SpikeKrylovDevice *device, unsigned int bit)
{
  if (!threadIdx.x) SpikeGridBarrier(&device->here, bit);
  __syncthreads();
}

/* First part of this block among `parts`, and how many it has */
__device__ static __forceinline__ unsigned SpikePersistentFirst(unsigned parts, unsigned *count)
{
  const unsigned workers = gridDim.x - 1, each = (parts + workers - 1) / workers, first = blockIdx.x * each;

  *count = blockIdx.x < workers && first < parts ? min(each, parts - first) : 0;
  return first;
}

/* f(slot, number) for the parts of this group, where number is that of the thread among those of all parts */
template <typename F>
__device__ static __forceinline__ void SpikePersistentParts(unsigned parts, F &&f)
{
  unsigned       count;
  const unsigned first = SpikePersistentFirst(parts, &count);

  for (unsigned slot = threadIdx.x / SPIKE_KRYLOV_THREADS; slot < count; slot += blockDim.x / SPIKE_KRYLOV_THREADS)
    f(slot, (PetscInt)(first + slot) * SPIKE_KRYLOV_THREADS + threadIdx.x % SPIKE_KRYLOV_THREADS);
}

/* The sums d[] of the threads of a part, by warps */
template <int NDOT>
__device__ static __forceinline__ void SpikePersistentLeave(const PetscScalar d[], unsigned slot,
                                                            SpikePersistentShared &shared)
{
  SpikeUnroll(k, NDOT) {
    const PetscScalar sum = SpikeWarpSum(d[k]);

    if (threadIdx.x % 32 == 0) shared.warp[k][slot][threadIdx.x % SPIKE_KRYLOV_THREADS / 32] = sum;
  }
}

/* The sum over eight lanes, as SpikeKrylovThreadBlockSum() has it, whose other lanes add zeros first */
__device__ static __forceinline__ PetscScalar SpikePersistentSum(PetscScalar v)
{
  static_assert(SPIKE_KRYLOV_THREADS == 256, "a warp for each of eight lanes");
  v += PetscScalar(0.0);
  for (int d = 4; d; d /= 2) v += SpikeShfl(v, (int)(threadIdx.x % 32) ^ d);
  return v;
}

/*
  The end of phase number `odd`, modulo 2: the sums that SpikePersistentLeave() has left, over all parts, and the
  recurrence, in each block; SpikeKrylovFinish() is the model
*/
template <int STEPID>
__device__ static __forceinline__ void SpikePersistentMeet(unsigned parts, PetscScalar *const places[],
                                                           unsigned int odd, SpikeKrylovDevice *device,
                                                           SpikeKrylovMail *mail, SpikePersistentShared &shared)
{
  constexpr int NDOT = SpikeKrylovTraits<STEPID>::nd;
  const int     warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  PetscScalar  *partials = places[odd];

  __syncthreads();
  if (!warp) {
    unsigned       count;
    const unsigned first = SpikePersistentFirst(parts, &count);

    for (unsigned i = 0; i < NDOT * count; i += 4) { /* four sums at once */
      const unsigned    j = i + lane / 8, k = j % NDOT, slot = j / NDOT;
      const PetscScalar sum = SpikePersistentSum(j < NDOT * count ? shared.warp[k][slot][lane % 8] : PetscScalar(0.0));

      if (j < NDOT * count && lane % 8 == 0) partials[k * parts + first + slot] = sum;
    }
    __syncwarp();
  }
  SpikePersistentWait(device, shared.bit ^ odd);
  if (threadIdx.x < SPIKE_KRYLOV_THREADS) {
    PetscScalar d[NDOT];

    SpikeUnroll(k, NDOT) d[k] = 0.0;
    /*
      in the order of SpikeKrylovGather(), with less code: more instructions than a multiprocessor caches nearly double
      the time of an iteration of a small problem
    */
    for (unsigned b = threadIdx.x; b < parts; b += SPIKE_KRYLOV_THREADS) {
      SpikeUnroll(k, NDOT) d[k] += SpikeKrylovLoad(&partials[k * parts + b]);
    }
    SpikeUnroll(k, NDOT) {
      const PetscScalar sum = SpikeWarpSum(d[k]);

      if (!lane) shared.all[k][warp] = sum;
    }
  }
  __syncthreads();
  if (!warp) {
    PetscScalar d[NDOT];

#pragma unroll
    for (int i = 0; i < NDOT; i += 4) {
      const int         k   = i + lane / 8;
      const PetscScalar sum = SpikePersistentSum(k < NDOT ? shared.all[k][lane % 8] : PetscScalar(0.0));

#pragma unroll
      for (int j = i; j < i + 4 && j < NDOT; j++) d[j] = SpikeShfl(sum, 8 * (j - i));
    }
    if (!lane && SpikeKrylovRecur(STEPID, &shared.s, d) && blockIdx.x == gridDim.x - 1)
      SpikeKrylovTell(device, mail, &shared.s);
  }
  __syncthreads();
}

/* The state of the solver comes to shared memory; after the last iteration it goes back */
template <class ARGS, class ROWS, class SHARED>
__device__ static __forceinline__ void SpikePersistentBegin(const ARGS &a, ROWS &rows, SHARED &shared)
{
  if (!threadIdx.x) {
    shared.s   = a.device->s;
    shared.bit = *(volatile unsigned int *)&a.device->here >> 31;
  }
  a.m.prepare(rows);
  __syncthreads();
}

template <class ARGS, class SHARED>
__device__ static __forceinline__ void SpikePersistentEnd(const ARGS &a, const SHARED &shared)
{
  if (!threadIdx.x && blockIdx.x == gridDim.x - 1) a.device->s = shared.s;
}

__device__ static __forceinline__ void SpikePersistentSwap(PetscScalar *&a, PetscScalar *&b)
{
  PetscScalar *c = a;

  a = b;
  b = c;
}

/* What the step STEPID makes of entry j of the last one of its vectors v; nothing is written */
template <int STEPID, typename... V>
__device__ static __forceinline__ PetscScalar SpikePersistentEntry(const SpikeKrylovFactors &f, PetscInt j,
                                                                   const V *...v)
{
  PetscScalar e[] = {v[j]...};

  SpikeKrylovTraits<STEPID>::row(&f, e, NULL);
  return e[sizeof...(v) - 1];
}

/*
  A phase that is a product: f(i, (A x)_i, d) for all rows i, with the sums of STEPID in d[]. x(j) makes entry j, which
  is there for every row number
*/
template <int STEPID, class MATRIX, typename X, typename F>
__device__ static __forceinline__ void SpikePersistentProduct(const SpikePersistent<MATRIX> &a, unsigned parts,
                                                              const typename MATRIX::SharedMemory &rows,
                                                              SpikePersistentShared &shared, X &&x, F &&f)
{
  constexpr int NDOT = SpikeKrylovTraits<STEPID>::nd;

  SpikePersistentParts(parts, [&](unsigned slot, PetscInt number) {
    PetscScalar d[NDOT];

    SpikeUnroll(k, NDOT) d[k] = 0.0;
    a.m.each(
      rows, number, (PetscInt)parts * SPIKE_KRYLOV_THREADS,
      [&](PetscInt j, bool inside) {
        const PetscScalar q = x(inside ? j : 0);

        return inside ? q : PetscScalar(0.0);
      },
      SpikeKrylovNothing{}, [&](PetscInt row, PetscScalar sum, SpikeKrylovNothing) { f(row, sum, d); });
    SpikePersistentLeave<NDOT>(d, slot, shared);
  });
}

/* A phase that is an update of the vectors u, as SpikeKrylovEach(): row(e, d), with the sums of STEPID in d[] */
template <int STEPID, int NVEC, unsigned READS, unsigned WRITES, class MATRIX, typename F>
__device__ static __forceinline__ void SpikePersistentUpdate(const SpikePersistent<MATRIX> &a, unsigned parts,
                                                             const SpikeKrylovVectors &u, SpikePersistentShared &shared,
                                                             F &&row)
{
  constexpr int NDOT = SpikeKrylovTraits<STEPID>::nd;

  SpikePersistentParts(parts, [&](unsigned slot, PetscInt number) {
    PetscScalar d[NDOT];

    SpikeUnroll(k, NDOT) d[k] = 0.0;
    SpikeKrylovEach<NVEC, READS, WRITES>(number, (PetscInt)parts * SPIKE_KRYLOV_THREADS, a.n, u, a.wide,
                                         [&](PetscScalar e[]) { row(e, d); });
    SpikePersistentLeave<NDOT>(d, slot, shared);
  });
}

/*
  Words a row beside the products: 2 x 3 for p and v where they are made, rp, in the first phase; r, v and t in the
  second; p, t, rp, x, r, v and x, r in the third. Nothing is read by others in the phase in which it is written: the
  new p and v go to w and t, the new t to the place of the old v.
*/
template <class MATRIX, bool FROMRIGHT>
__global__ void __launch_bounds__(SPIKE_PERSISTENT_GROUPS *SPIKE_KRYLOV_THREADS, 1)
  SpikePersistentBCGS(const __grid_constant__ SpikePersistent<MATRIX> a)
{
  __shared__ SpikePersistentShared         shared;
  __shared__ typename MATRIX::SharedMemory rows;
  PetscScalar *const x = a.v[0], *const r = a.v[1], *const rp = a.v[2];
  PetscScalar *v = a.v[3], *t = a.v[4], *p = a.v[5], *w = a.v[6];
  unsigned int odd = 0; /* barriers so far, modulo 2 */

  SpikePersistentBegin(a, rows, shared);
  for (PetscInt it = 0; it < a.its && !shared.s.reason; it++) {
    const SpikeKrylovFactors f0 = shared.s.f;
    SpikeKrylovFactors       f  = f0;

    auto first = [&](auto started) {
      auto direction = [&](PetscInt j) -> PetscScalar {
        if constexpr (decltype(started)::value) return SpikePersistentEntry<SPIKE_BCGS_P>(f0, j, r, v, p);
        else return p[j];
      };

      SpikePersistentProduct<SPIKE_BCGS_ALPHA>(
        a, a.parts[0], rows, shared,
        [&](PetscInt i) { return FROMRIGHT ? SpikeKrylovMul(a.d[i], direction(i)) : direction(i); },
        [&](PetscInt row, PetscScalar sum, PetscScalar d[]) {
          PetscScalar e[] = {rp[row], !FROMRIGHT && a.d ? SpikeKrylovMul(a.d[row], sum) : sum};

          w[row] = direction(row);
          t[row] = e[1];
          SpikeKrylovRow_bcgs_alpha(&f0, e, d);
        });
    };

    if (shared.s.since) first(std::true_type());
    else first(std::false_type());
    SpikePersistentMeet<SPIKE_BCGS_ALPHA>(a.parts[0], a.partials, odd, a.device, a.mail, shared);
    odd ^= 1;
    SpikePersistentSwap(p, w);
    SpikePersistentSwap(v, t);
    if (shared.s.reason) break;
    f = shared.s.f;

    auto residual = [&](PetscInt j) { return SpikePersistentEntry<SPIKE_BCGS_S>(f, j, v, r); };

    SpikePersistentProduct<SPIKE_BCGS_OMEGA>(
      a, a.parts[1], rows, shared,
      [&](PetscInt i) { return FROMRIGHT ? SpikeKrylovMul(a.d[i], residual(i)) : residual(i); },
      [&](PetscInt row, PetscScalar sum, PetscScalar d[]) {
        PetscScalar e[] = {residual(row), !FROMRIGHT && a.d ? SpikeKrylovMul(a.d[row], sum) : sum};

        t[row] = e[1];
        SpikeKrylovRow_bcgs_omega(&f, e, d);
      });
    SpikePersistentMeet<SPIKE_BCGS_OMEGA>(a.parts[1], a.partials, odd, a.device, a.mail, shared);
    odd ^= 1;
    if (shared.s.reason) break;
    f = shared.s.f;
    SpikePersistentUpdate<SPIKE_BCGS_X, 6, 0x3f, 0x18>(a, a.parts[2], {{p, t, rp, x, r, v}}, shared,
                                                       [&](PetscScalar e[], PetscScalar d[]) {
                                                         PetscScalar s[] = {e[5], e[4]};

                                                         SpikeKrylovRow_bcgs_s(&f, s, NULL);
                                                         e[4] = s[1];
                                                         SpikeKrylovRow_bcgs_x(&f, e, d);
                                                       });
    SpikePersistentMeet<SPIKE_BCGS_X>(a.parts[2], a.partials, odd, a.device, a.mail, shared);
    odd ^= 1;
  }
  SpikePersistentEnd(a, shared);
}

/*
  Words a row beside the product: z, p and the new p, w in the first phase; p, w, x, r and x, r in the second, with a
  diagonal matrix that and z too. The new p goes to s
*/
template <class MATRIX>
__global__ void __launch_bounds__(SPIKE_PERSISTENT_GROUPS *SPIKE_KRYLOV_THREADS, 1)
  SpikePersistentCG(const __grid_constant__ SpikePersistent<MATRIX> a)
{
  __shared__ SpikePersistentShared         shared;
  __shared__ typename MATRIX::SharedMemory rows;
  PetscScalar *const x = a.v[0], *const r = a.v[1], *const z = a.d ? a.v[2] : r, *const w = a.v[4];
  PetscScalar *p = a.v[3], *s = a.v[5];
  unsigned int odd = 0; /* barriers so far, modulo 2 */

  SpikePersistentBegin(a, rows, shared);
  for (PetscInt it = 0; it < a.its && !shared.s.reason; it++) {
    const SpikeKrylovFactors f0 = shared.s.f;
    SpikeKrylovFactors       f  = f0;

    auto first = [&](auto started) {
      auto direction = [&](PetscInt j) -> PetscScalar {
        if constexpr (decltype(started)::value) return SpikePersistentEntry<SPIKE_CG_P>(f0, j, z, p);
        else return p[j];
      };

      SpikePersistentProduct<SPIKE_CG_ALPHA>(a, a.parts[0], rows, shared, direction,
                                             [&](PetscInt row, PetscScalar sum, PetscScalar d[]) {
                                               PetscScalar e[] = {direction(row), sum};

                                               s[row] = e[0];
                                               w[row] = sum;
                                               SpikeKrylovRow_cg_alpha(&f0, e, d);
                                             });
    };

    if (shared.s.since) first(std::true_type());
    else first(std::false_type());
    SpikePersistentMeet<SPIKE_CG_ALPHA>(a.parts[0], a.partials, odd, a.device, a.mail, shared);
    odd ^= 1;
    SpikePersistentSwap(p, s);
    if (shared.s.reason) break;
    f = shared.s.f;
    if (a.d) {
      SpikePersistentUpdate<SPIKE_CG_XZ, 6, 0x1f, 0x38>(a, a.parts[1],
                                                        {{p, w, const_cast<PetscScalar *>(a.d), x, r, z}}, shared,
                                                        [&](PetscScalar e[], PetscScalar d[]) {
                                                          SpikeKrylovRow_cg_xz(&f, e, d);
                                                        });
      SpikePersistentMeet<SPIKE_CG_XZ>(a.parts[1], a.partials, odd, a.device, a.mail, shared);
    } else if (a.symmetric) {
      SpikePersistentUpdate<SPIKE_CG_BETA, 4, 0x0f, 0x0c>(a, a.parts[1], {{p, w, x, r}}, shared,
                                                          [&](PetscScalar e[], PetscScalar d[]) {
                                                            PetscScalar g[2];

                                                            SpikeKrylovRow_cg_x(&f, e, NULL);
                                                            g[0] = g[1] = e[3];
                                                            SpikeKrylovRow_cg_beta(&f, g, d);
                                                          });
      SpikePersistentMeet<SPIKE_CG_BETA>(a.parts[1], a.partials, odd, a.device, a.mail, shared);
    } else {
      SpikePersistentUpdate<SPIKE_CG_XR, 4, 0x0f, 0x0c>(a, a.parts[1], {{p, w, x, r}}, shared,
                                                        [&](PetscScalar e[], PetscScalar d[]) {
                                                          SpikeKrylovRow_cg_xr(&f, e, d);
                                                        });
      SpikePersistentMeet<SPIKE_CG_XR>(a.parts[1], a.partials, odd, a.device, a.mail, shared);
    }
    odd ^= 1;
  }
  SpikePersistentEnd(a, shared);
}

/*
  At most one thread block on each multiprocessor, in a cooperative launch: all are there at once, also where others use
  the device. *fits is false where the device or the number of parts does not allow it
*/
template <class ARGS>
static PetscErrorCode SpikePersistentLaunch(const SpikeKrylovCUDA *h, void (*kernel)(const ARGS), ARGS a, bool *fits)
{
  const unsigned workers = (unsigned)h->gpu->multiprocessors - 1;
  void          *args[]  = {&a};
  unsigned       most    = 0, each;
  int            threads, resident;

  PetscFunctionBegin;
  *fits = false;
  for (unsigned parts : a.parts) most = PetscMax(most, parts);
  each    = workers ? (most + workers - 1) / workers : 0;
  threads = SPIKE_KRYLOV_THREADS * (each > 1 ? SPIKE_PERSISTENT_GROUPS : 1);
  if (!each || each > SPIKE_PERSISTENT_PARTS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKernelResident((const void *)kernel, threads, 0, &resident));
  if (resident < 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(
    cudaLaunchCooperativeKernel(kernel, dim3((most + each - 1) / each + 1), dim3(threads), args, 0, h->stream));
  *fits = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class MATRIX>
static PetscErrorCode SpikePersistentRows(const SpikeKrylovCUDA *h, const MATRIX &m, const SpikeKrylovIterations *i,
                                          PetscInt its, const PetscInt parts[], bool *fits)
{
  SpikePersistent<MATRIX> a;

  PetscFunctionBegin;
  a.m         = m;
  a.n         = i->n;
  a.its       = its;
  a.d         = i->diagonal;
  a.wide      = SpikeKrylovIsWide(1, i->v);
  a.symmetric = i->symmetric ? true : false;
  for (int k = 0; k < 3; k++) a.parts[k] = (unsigned)parts[k];
  for (int k = 0; k < SPIKE_KRYLOV_MAXWORK; k++) a.v[k] = i->v[k];
  a.device      = h->device;
  a.partials[0] = h->partials;
  a.partials[1] = h->partials + SPIKE_KRYLOV_MAXDOTS * SpikeKrylovMostBlocks(h);
  a.mail        = h->devicemail;
  if (i->method == SPIKE_KRYLOV_CG) PetscCall(SpikePersistentLaunch(h, SpikePersistentCG<MATRIX>, a, fits));
  else if (i->right && i->diagonal) PetscCall(SpikePersistentLaunch(h, SpikePersistentBCGS<MATRIX, true>, a, fits));
  else PetscCall(SpikePersistentLaunch(h, SpikePersistentBCGS<MATRIX, false>, a, fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* persistent_stencil.cu: *fits is false also where the stencil has several unknowns, or reaches too far */
PETSC_INTERN PetscErrorCode SpikePersistentStencil_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                        const SpikeKrylovIterations *, PetscInt its,
                                                        const PetscInt parts[], bool *fits);

/* persistent_idr.cu */
PETSC_INTERN PetscErrorCode SpikePersistentIDR_CUDA(const SpikeKrylov *, const SpikeKrylovCopyCUDA *,
                                                    const SpikeKrylovIterations *, PetscInt its, bool *fits);
