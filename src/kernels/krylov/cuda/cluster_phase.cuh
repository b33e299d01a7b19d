/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cluster_phase.cuh: the phases of iterations by one cluster of thread blocks: where rows and vectors lie, products,
  sums over all thread blocks, posts
*/
#pragma once

#include "mult.cuh"
#include "kernels/common/cuda/cluster.cuh"

#define SPIKE_CLUSTER_MOST    16  /* thread blocks of a cluster                                         */
#define SPIKE_CLUSTER_ROWS    64  /* of a warp, two a lane, 32 apart                                    */
#define SPIKE_CLUSTER_PATCHES 256 /* warps with rows, in a cluster: sums of so many are added up at once */
#define SPIKE_CLUSTER_HELPERS 4   /* warps of a thread block, at least: they fetch what neighbours have  */
#define SPIKE_CLUSTER_THREADS (32 * (SPIKE_CLUSTER_WARPS + 1))
#define SPIKE_CLUSTER_SUMS    7 /* of an iteration                                     */
#define SPIKE_CLUSTER_AHEAD   4 /* entries of a vector that a thread has on their way  */
#define SPIKE_CLUSTER_LANES   4 /* of the product whose order of sums is taken          */

/* Warps with rows, in a thread block, as many as have registers enough; diagonals that a product has on their way */
#if defined(PETSC_USE_COMPLEX) && !defined(PETSC_USE_REAL_SINGLE)
  #define SPIKE_CLUSTER_WARPS 11
  #define SPIKE_CLUSTER_BATCH 4
#else
  #define SPIKE_CLUSTER_WARPS 15
  #define SPIKE_CLUSTER_BATCH 8
#endif

/*
  The phases are those of persistent.cuh: the same steps with a barrier after each, three for BiCGStab and two for CG,
  and a recurrence in each thread block. What differs is where things lie and who waits for whom.

  A thread block has neighbouring rows, a warp 64 of them: a patch. In shared memory are the values of the diagonals in
  these rows, and spans of vectors: their rows with those before and after that the diagonals reach. What is not read
  by others is in registers. Directions are updated in the whole span by each thread block that has one, so that they
  are not exchanged; v (CG: nothing) after the first phase and r (CG: z) after the last are, by loads from the shared
  memory of the neighbours, while one warp adds up sums and makes the recurrence. No vector is in global memory between
  the first iteration of a launch and the last.

  Sums have the bits of the lockstep loop. There a patch is a thread block of the product, which has SPIKE_CLUSTER_LANES
  lanes a row, or a warp of an update, which has pairs of rows. Sums within a patch are added up there, those of all
  patches by the first warp of each thread block, from the shared memory of all. SPIKE_CLUSTER_PATCHES numbers have
  eight bits; the order of additions, by bits of the numbers that differ, is 4 3 2 1 0 7 6 5 after products, 2 1 0 7 6 5
  4 3 after updates. Three of them are additions in a lane, which loads what differs in these bits. Missing patches add
  0.

  A barrier is that of the cluster. What a thread block reads from another one after a barrier was written before it,
  and is written again after the next one:

    v, r, z   own rows in one phase of an iteration; others read them before its next barrier
    sums      each phase has its own place
    the end   a barrier after the last recurrence: nobody reads the memory of a thread block that has ended

  A further warp of the last thread block posts, which takes longer than a phase. It comes to each barrier before it
  posts what the barrier before has shown, so nobody waits for it unless a post takes as long as an iteration.

  Bytes of a product from shared memory: two numbers a place of the diagonals.
*/
typedef struct {
  SpikeKrylovDia     m;
  int                offset[SPIKE_KRYLOV_MAXDIAGONALS];
  PetscInt           its;
  const PetscScalar *d; /* B, NULL for the identity */
  bool               symmetric;
  PetscScalar       *v[SPIKE_KRYLOV_MAXWORK];
  SpikeKrylovDevice *device;
  SpikeKrylovMail   *mail;
  int                patches, each, reciprocal; /* of the cluster, of a thread block; 2^16 / each, rounded up      */
  int                workers;                   /* warps of a thread block without the one that posts              */
  int                below, above, span;        /* rows before and after those of a thread block, and all together */
} SpikeCluster;

/* What the warp that posts is told after a recurrence. end: it was the last one */
typedef struct {
  PetscInt  it;
  PetscReal norm, replaced;
  int       reason;
  bool      post, end;
} SpikeClusterEntry;

struct SpikeClusterShared {
  PetscScalar        sums[SPIKE_CLUSTER_SUMS][SPIKE_CLUSTER_WARPS + 1]; /* of patches; the last one is 0 */
  SpikeKrylovScalars s;
  SpikeClusterEntry  entry[2]; /* of successive phases */
};

extern __shared__ __align__(16) unsigned char SpikeClusterMemory[];

/*
  What a thread knows of its rows: row[h] = first + at[h] - below; those of a span that are rows of A: from..to - 1
*/
struct SpikeClusterPlace {
  int                    warp, lane, patch; /* of the cluster; their number where the warp has none */
  PetscInt               first;             /* row of this thread block                            */
  PetscInt               row[2];
  bool                   mine[2]; /* the row is there */
  int                    at[2], from, to;
  const SpikeKrylovPair *val; /* of the first diagonal in both rows */
};

/* Of all threads but those of the warp that posts */
__device__ static __forceinline__ void SpikeClusterMeetBlock(const SpikeCluster &a)
{
  __syncwarp(); /* the barrier is one of whole warps, and loops over rows end at different times */
  asm volatile("bar.sync 1, %0;" ::"r"(32 * a.workers) : "memory");
}

/*
  v[k] <- the sum of v[k] over lanes whose numbers differ in `bit`, for half of the M numbers in each of both: the first
  half of v[] in the lane without the bit, the second in the other. One number: in both
*/
template <int M>
__device__ static __forceinline__ void SpikeClusterFold(PetscScalar v[], int bit)
{
  const int  partner = (int)(threadIdx.x % 32) ^ bit;
  const bool upper   = (threadIdx.x & bit) != 0;

  if constexpr (M == 1) v[0] += SpikeShfl(v[0], partner);
  else
    SpikeUnroll(k, M / 2) {
      const PetscScalar away = upper ? v[k] : v[k + M / 2], here = upper ? v[k + M / 2] : v[k];

      v[k] = here + SpikeShfl(away, partner);
    }
}

/*
  The sums over the rows of a patch of d[h][k], h the row of a lane, to its place in sums[k]. Sums start at 0, so that
  none is -0
*/
template <int NDOT, bool UPDATE>
__device__ static __forceinline__ void SpikeClusterLeave(PetscScalar d[2][NDOT],
                                                         PetscScalar sums[][SPIKE_CLUSTER_WARPS + 1], int warp)
{
  constexpr int N = NDOT == 3 ? 4 : NDOT, REST = N == 4 ? 2 : 1;
  const int     lane = threadIdx.x % 32;
  int           k;
  PetscScalar   v[2 * N];

  SpikeUnroll2(h, 2, i, N) v[h * N + i] = i < NDOT ? d[h][i < NDOT ? i : 0] : PetscScalar(0.0);
  if constexpr (UPDATE) { /* rows that differ in 1, 32, 16, 8, 4, 2 */
    SpikeClusterFold<2 * N>(v, 1);
    SpikeClusterFold<N>(v, 1);
    SpikeClusterFold<REST>(v, 16);
    SpikeUnrollFrom(i, 0, 3) SpikeClusterFold<1>(v, 8 >> i);
    k = N == 1 ? lane : (N == 2 ? lane : (lane & 1) * 2 + (lane >> 4));
    if (N == 4 ? (lane & 14) == 0 && k < NDOT : lane < NDOT) sums[k][warp] = v[0];
  } else { /* 4, 2, 1, 32, 16, 8 */
    SpikeClusterFold<2 * N>(v, 4);
    SpikeClusterFold<N>(v, 2);
    SpikeClusterFold<REST>(v, 1);
    SpikeClusterFold<1>(v, 4);
    SpikeClusterFold<1>(v, 16);
    SpikeClusterFold<1>(v, 8);
    k = N == 2 ? lane / 2 : lane;
    if (N == 2 ? lane == 0 || lane == 2 : lane < NDOT) sums[k][warp] = v[0];
  }
}

/* The thread block that has a patch: exact for patches below 256 and up to 16 of them in a thread block */
__device__ static __forceinline__ unsigned SpikeClusterOwner(const SpikeCluster &a, int patch)
{
  return (unsigned)(patch * a.reciprocal) >> 16;
}

/* Rows of this span that are those of other thread blocks, from their spans. For all warps but the first */
__device__ static __forceinline__ void SpikeClusterFetch(const SpikeCluster &a, const SpikeClusterPlace &p,
                                                         PetscScalar *span)
{
  const int rows = SPIKE_CLUSTER_ROWS * a.each, left = max(0, min(a.below, p.to) - p.from),
            total = left + max(0, p.to - a.below - rows), threads = 32 * (a.workers - 1);

  for (int i = (int)threadIdx.x - 32; i < total; i += SPIKE_CLUSTER_AHEAD * threads) {
    PetscScalar v[SPIKE_CLUSTER_AHEAD];
    int         to[SPIKE_CLUSTER_AHEAD];

    SpikeUnroll(u, SPIKE_CLUSTER_AHEAD) {
      const int j = i + u * threads;

      to[u] = j < left ? p.from + j : a.below + rows + j - left;
      if (j < total) {
        const int      row  = (int)p.first - a.below + to[u];
        const unsigned rank = SpikeClusterOwner(a, row / SPIKE_CLUSTER_ROWS);

        v[u] = SpikeClusterLoad(SpikeClusterAddress(span + a.below + row - (int)rank * rows, rank));
      }
    }
    SpikeUnroll(u, SPIKE_CLUSTER_AHEAD)
      if (i + u * threads < total) span[to[u]] = v[u];
  }
}

/*
  The end of a phase: the sums that SpikeClusterLeave() has left in sums[], over all patches, and the recurrence, in
  each thread block. FETCH: meanwhile the others fetch the rows of `span` that neighbours have. parity: of the phase;
  last:
  no phase comes after this one in any case
*/
template <int STEPID, bool UPDATE, bool FETCH>
__device__ static __forceinline__ void SpikeClusterMeet(const SpikeCluster &a, const SpikeClusterPlace &p,
                                                        SpikeClusterShared &shared,
                                                        PetscScalar sums[][SPIKE_CLUSTER_WARPS + 1], PetscScalar *span,
                                                        unsigned parity, bool last)
{
  constexpr int NDOT = SpikeKrylovTraits<STEPID>::nd;

  __syncwarp();
  SpikeClusterArrive();
  if (!p.warp) {
    unsigned int address[8];
    PetscScalar  d[NDOT];

    SpikeUnroll(j, 8) {
      const int      patch = UPDATE ? 8 * p.lane + j : (p.lane / 4) * 32 + j * 4 + p.lane % 4;
      const bool     there = patch < a.patches;
      const unsigned rank  = there ? SpikeClusterOwner(a, patch) : blockIdx.x;

      address[j] = SpikeClusterAddress(&sums[0][there ? patch - (int)rank * a.each : SPIKE_CLUSTER_WARPS], rank);
    }
    SpikeClusterWait();
    {
      PetscScalar v[NDOT][8];

      SpikeUnroll2(k, NDOT, j, 8) v[k][j] = SpikeClusterLoad(address[j] + (unsigned)(k * sizeof(sums[0])));
      SpikeUnroll(k, NDOT) {
        d[k] = ((v[k][0] + v[k][4]) + (v[k][2] + v[k][6])) + ((v[k][1] + v[k][5]) + (v[k][3] + v[k][7]));
        if constexpr (UPDATE) {
          SpikeUnroll(i, 5) SpikeClusterFold<1>(&d[k], 16 >> i);
        } else {
          SpikeUnroll(i, 2) SpikeClusterFold<1>(&d[k], 2 >> i);
          SpikeUnroll(i, 3) SpikeClusterFold<1>(&d[k], 16 >> i);
        }
      }
    }
    if (!p.lane) {
      SpikeClusterEntry *e    = &shared.entry[parity];
      const bool         post = SpikeKrylovRecur(STEPID, &shared.s, d) != PETSC_FALSE;

      e->it       = shared.s.it;
      e->norm     = shared.s.norm;
      e->replaced = shared.s.replaced;
      e->reason   = shared.s.reason;
      e->post     = post;
      e->end      = last || shared.s.reason;
    }
    __syncwarp();
  } else {
    SpikeClusterWait();
    if (FETCH) SpikeClusterFetch(a, p, span);
  }
  SpikeClusterMeetBlock(a);
}

/*
  The warp that posts: it comes to the same barriers as the others, whose number it learns from their entries. An entry
  is written between two barriers, and read after the second one, before it arrives at the third
*/
__device__ static __forceinline__ void SpikeClusterPost(const SpikeCluster &a, const SpikeClusterShared &shared)
{
  SpikeClusterArrive();
  for (unsigned parity = 1;; parity ^= 1) {
    SpikeClusterWait();
    const SpikeClusterEntry e = shared.entry[parity];

    __syncwarp();
    if (!e.end) SpikeClusterArrive();
    if (e.post && threadIdx.x % 32 == 0) SpikeKrylovTell(a.device, a.mail, &e);
    __syncwarp();
    if (e.end) break;
  }
}

/* Own rows of a vector in global memory come to registers, or go back */
__device__ static __forceinline__ void SpikeClusterTake(const SpikeClusterPlace &p, const PetscScalar *from,
                                                        PetscScalar to[2])
{
  SpikeUnroll(h, 2) to[h] = from && p.mine[h] ? from[p.row[h]] : PetscScalar(0.0);
}

__device__ static __forceinline__ void SpikeClusterGive(const SpikeClusterPlace &p, const PetscScalar from[2],
                                                        PetscScalar *to)
{
  SpikeUnroll(h, 2)
    if (p.mine[h]) to[p.row[h]] = from[h];
}

/* Row i of the span, for each that is a row of A */
template <typename F>
__device__ static __forceinline__ void SpikeClusterSpan(const SpikeCluster &a, const SpikeClusterPlace &p, F &&f)
{
#pragma unroll 2
  for (int i = p.from + (int)threadIdx.x; i < p.to; i += 32 * a.workers) f(i);
}

/*
  N spans, one after the other, with rows of vectors in global memory, or zeros where one is NULL; places that are no
  rows of A are 0. SPIKE_CLUSTER_AHEAD loads of each vector are on their way at once
*/
template <int N>
__device__ static __forceinline__ void SpikeClusterOpen(const SpikeCluster &a, const SpikeClusterPlace &p,
                                                        const SpikeKrylovVectors &from, PetscScalar *spans)
{
  const int threads = 32 * a.workers;

  for (int i = (int)threadIdx.x; i < a.span; i += SPIKE_CLUSTER_AHEAD * threads) {
    PetscScalar v[N][SPIKE_CLUSTER_AHEAD];

    SpikeUnroll2(k, N, u, SPIKE_CLUSTER_AHEAD) {
      const int j = i + u * threads;

      v[k][u] = from.v[k] && j >= p.from && j < p.to ? from.v[k][p.first - a.below + j] : PetscScalar(0.0);
    }
    SpikeUnroll2(k, N, u, SPIKE_CLUSTER_AHEAD)
      if (i + u * threads < a.span) spans[k * a.span + i + u * threads] = v[k][u];
  }
}

/*
  Everything comes to shared memory. false: for the warp that posts, and the same one of the other thread blocks, when
  they have done all that they do
*/
__device__ static __forceinline__ bool SpikeClusterBegin(const SpikeCluster &a, SpikeClusterShared &shared,
                                                         SpikeClusterPlace &p, PetscScalar **spans)
{
  SpikeKrylovPair *val  = (SpikeKrylovPair *)SpikeClusterMemory;
  const int        rows = SPIKE_CLUSTER_ROWS * a.each;

  p.warp  = (int)threadIdx.x / 32;
  p.lane  = (int)threadIdx.x % 32;
  p.patch = p.warp < a.each ? (int)blockIdx.x * a.each + p.warp : a.patches;
  p.first = (PetscInt)blockIdx.x * rows;
  p.from  = max(0, a.below - (int)p.first);
  p.to    = p.first < a.m.n ? min(a.span, (int)(a.m.n - p.first) + a.below) : p.from;
  p.val   = val + p.warp * 32 + p.lane;
  SpikeUnroll(h, 2) {
    const int k = SPIKE_CLUSTER_ROWS * p.warp + 32 * h + p.lane;

    p.row[h]  = p.first + k;
    p.mine[h] = p.patch < a.patches && p.row[h] < a.m.n;
    p.at[h]   = a.below + (p.warp < a.each ? k : 0);
  }
  *spans = (PetscScalar *)(val + (size_t)a.m.count * (rows / 2));
  if (!threadIdx.x) {
    shared.s             = a.device->s;
    shared.entry[1].post = false;
    shared.entry[1].end  = a.its < 1 || shared.s.reason;
  }
  for (int k = (int)threadIdx.x; k < SPIKE_CLUSTER_SUMS * (SPIKE_CLUSTER_WARPS + 1); k += (int)blockDim.x)
    (&shared.sums[0][0])[k] = 0.0;
  __syncthreads();
  if (p.warp == a.workers) {
    if (blockIdx.x == gridDim.x - 1) SpikeClusterPost(a, shared);
    return false;
  }
  if (p.patch < a.patches && !shared.entry[1].end) {
#pragma unroll 9
    for (int d = 0; d < a.m.count; d++) {
      SpikeKrylovPair q;
      PetscScalar     v[2];

      SpikeUnroll(h, 2) {
        const PetscInt j = p.row[h] + a.offset[d];

        v[h] = p.mine[h] && j >= 0 && j < a.m.n ? a.m.val[d * a.m.ld + p.row[h]] : PetscScalar(0.0);
      }
      q.a = v[0];
      q.b = v[1];

      val[d * (rows / 2) + p.warp * 32 + p.lane] = q;
    }
  }
  return true;
}

/*
  The terms of N diagonals, from number d on, in both rows: all are on their way at once. LAST: some of them may not be
  there
*/
template <int N, bool LAST>
__device__ static __forceinline__ void SpikeClusterTerms(const SpikeCluster &a, const SpikeClusterPlace &p,
                                                         const PetscScalar *x, int d,
                                                         PetscScalar s[2][SPIKE_CLUSTER_LANES])
{
  SpikeKrylovPair q[N];
  PetscScalar     y[2][N];

  SpikeUnroll(u, N) {
    const int          k = LAST ? min(d + u, a.m.count - 1) : d + u;
    const PetscScalar *b = x + a.offset[k];

    q[u]    = p.val[k * (SPIKE_CLUSTER_ROWS / 2) * a.each];
    y[0][u] = b[p.at[0]];
    y[1][u] = b[p.at[1]];
  }
  SpikeUnroll(u, N) {
    const int t = u % SPIKE_CLUSTER_LANES;

    if (LAST && d + u >= a.m.count) break;
    s[0][t] = SpikeFma(q[u].a, y[0][u], s[0][t]);
    s[1][t] = SpikeFma(q[u].b, y[1][u], s[1][t]);
  }
}

/*
  sum[h] <- (A x)_i of both rows, where x is a span; four chains a row, as SPIKE_CLUSTER_LANES lanes have them.
  Nothing for a warp without rows, whose values would lie outside of those of the thread block
*/
__device__ static __forceinline__ void SpikeClusterProduct(const SpikeCluster &a, const SpikeClusterPlace &p,
                                                           const PetscScalar *x, PetscScalar sum[2])
{
  constexpr int T = SPIKE_CLUSTER_LANES;
  PetscScalar   s[2][T];
  int           d = 0;

  SpikeUnroll(h, 2) sum[h] = 0.0;
  if (p.patch >= a.patches) return;
  SpikeUnroll2(h, 2, t, T) s[h][t] = 0.0;
  for (; d + SPIKE_CLUSTER_BATCH <= a.m.count; d += SPIKE_CLUSTER_BATCH)
    SpikeClusterTerms<SPIKE_CLUSTER_BATCH, false>(a, p, x, d, s);
  for (; d < a.m.count; d += T) SpikeClusterTerms<T, true>(a, p, x, d, s);
  static_assert(T == 4 && SPIKE_CLUSTER_BATCH % T == 0, "the order in which four lanes add up");
  SpikeUnroll(h, 2) sum[h] = (s[h][0] + s[h][2]) + (s[h][1] + s[h][3]);
}

/* f(h, e) of both rows that are there, and their sums to d[h] */
template <int STEPID, bool UPDATE, typename F>
__device__ static __forceinline__ void SpikeClusterRows(const SpikeClusterPlace &p,
                                                        PetscScalar sums[][SPIKE_CLUSTER_WARPS + 1], F &&f)
{
  constexpr int NDOT = SpikeKrylovTraits<STEPID>::nd;
  PetscScalar   d[2][NDOT];

  SpikeUnroll(h, 2) {
    SpikeUnroll(k, NDOT) d[h][k] = 0.0;
    if (p.mine[h]) f(h, d[h]);
  }
  SpikeClusterLeave<NDOT, UPDATE>(d, sums, p.warp);
}

/* The barrier after the last recurrence, and the state of the solver */
__device__ static __forceinline__ void SpikeClusterEnd(const SpikeCluster &a, const SpikeClusterShared &shared)
{
  __syncwarp(); /* lanes with rows and without */
  SpikeClusterArrive();
  SpikeClusterWait();
  if (!threadIdx.x && !blockIdx.x) a.device->s = shared.s;
}
