/* SPDX-License-Identifier: BSD-2-Clause */
/* apply.cuh: an application in one launch: what its thread blocks hand over to each other, and its kernel */
#pragma once

#include "sweep_resident.cuh"

/*
  Numbers that one thread block hands over to another in memory. A place is empty, all bits set, between launches; put()
  fills it and take() waits for that, reads it and leaves it empty. A number says by itself that it has arrived: nothing
  else has to be ordered, no fence, no flag. A result with all bits set, a NaN, becomes another NaN.
*/
#if defined(PETSC_USE_REAL_SINGLE)
typedef unsigned int SpikeWord;
#else
typedef unsigned long long SpikeWord;
#endif
#define SPIKE_WORD_EMPTY (~(SpikeWord)0)

__device__ static __forceinline__ void SpikeWordStore(SpikeWord *place, SpikeWord w)
{
#if !defined(__CUDA_ARCH__)
  *(volatile SpikeWord *)place = w;
#elif defined(PETSC_USE_REAL_SINGLE)
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(w) : "memory");
#else
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(w) : "memory");
#endif
}

__device__ static __forceinline__ SpikeWord SpikeWordLoad(const SpikeWord *place)
{
  SpikeWord w;

#if !defined(__CUDA_ARCH__)
  w = *(const volatile SpikeWord *)place;
#elif defined(PETSC_USE_REAL_SINGLE)
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(w) : "l"(place) : "memory");
#else
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(w) : "l"(place) : "memory");
#endif
  return w;
}

#define SPIKE_HAND_WORDS ((int)(sizeof(PetscScalar) / sizeof(PetscReal)))

__device__ static __forceinline__ void SpikeHandPut(PetscScalar *place, PetscScalar v)
{
  SpikeWord w[SPIKE_HAND_WORDS];

  memcpy((void *)w, &v, sizeof(v));
  SpikeUnroll(k, SPIKE_HAND_WORDS)
    SpikeWordStore((SpikeWord *)place + k, w[k] == SPIKE_WORD_EMPTY ? (SpikeWord)(SPIKE_WORD_EMPTY - 1) : w[k]);
}

__device__ static __forceinline__ PetscScalar SpikeHandTake(PetscScalar *place)
{
  SpikeWord   w[SPIKE_HAND_WORDS];
  PetscScalar v;

  SpikeUnroll(k, SPIKE_HAND_WORDS) {
    do {
      w[k] = SpikeWordLoad((SpikeWord *)place + k);
    } while (w[k] == SPIKE_WORD_EMPTY);
    SpikeWordStore((SpikeWord *)place + k, SPIKE_WORD_EMPTY);
  }
  memcpy((void *)&v, w, sizeof(v));
  return v;
}

/*
  The same with one flag for all that the threads of a warp have written before: 1 where it may be read, 0 after that
*/
__device__ static __forceinline__ void SpikeFlagPut(unsigned *flag)
{
  __syncwarp();
  if (!(threadIdx.x & 31)) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1u) : "memory");
#else
    *(volatile unsigned *)flag = 1;
#endif
  }
}

__device__ static __forceinline__ void SpikeFlagTake(unsigned *flag)
{
  unsigned now;

  do { /* all lanes: each of them reads what lies behind it */
#if defined(__CUDA_ARCH__)
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(flag) : "memory");
#else
    now                        = *(const volatile unsigned *)flag;
#endif
  } while (!now);
  __syncwarp();
  if (!(threadIdx.x & 31)) *flag = 0;
}

/* of a launch; s: as of a sweep, with B, C, window, ht and hb as of a correction */
typedef struct {
  SpikeSweepArgs s;
  PetscScalar   *hand;        /* [np + 1] of interface q: kl places for g_b, kl for x_b, ku for x_t */
  unsigned      *turn;        /* the next group; after it [groups] flags: its rows are in memory    */
  int            correctrows; /* as a.rows, of a correction                                         */
  int            threads;     /* of a thread block of SpikeSolveTips_Kernel, for the order of sums  */
  bool           prefetch;    /* what the reduced systems and the corrections begin with            */
} SpikeApplyArgs;

/*
  sum_c A(r, c) x_c, c < k <= MOST, for a row of a matrix of m rows, in the order of SpikeBlockTimes() by `threads`
  threads. What is usual has its sums side by side
*/
template <int MOST>
__device__ static __forceinline__ PetscScalar SpikeReducedTimes(int threads, int m, int k, const PetscScalar *A,
                                                                int lda, const PetscScalar *x)
{
  constexpr int SLICES = MOST > 8 && MOST <= 16 ? 8 : 4, PIECE = sizeof(PetscScalar) > 8 ? 8 : 16; /* loads at once */
  const int     slices = threads / (m <= 8 ? 8 : m <= 16 ? 16 : 32);
  PetscScalar   v[SLICES];

#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(lda)); /* or its multiples would be in registers long before */
#endif
  SpikeUnroll(s, SLICES) v[s] = 0.0;
  if (slices == SLICES) {
    SpikeUnroll(b, (MOST + PIECE - 1) / PIECE) {
      PetscScalar w[PIECE];

      SpikeUnroll(c, PIECE)
        if (b * PIECE + c < MOST) w[c] = A[(PetscCount)PetscMin(b * PIECE + c, k - 1) * lda];
      SpikeUnroll(c, PIECE)
        if (b * PIECE + c < MOST && b * PIECE + c < k) v[c % SLICES] = SpikeFma(w[c], x[b * PIECE + c], v[c % SLICES]);
    }
    SpikeUnrollFrom(s, 1, SLICES) v[0] += v[s];
  } else {
#pragma unroll 1
    for (int s = 0; s < slices; s++) {
      PetscScalar sum = 0.0;

#pragma unroll 1
      for (int c = s; c < k; c += slices) sum = SpikeFma(A[(PetscCount)c * lda], x[c], sum);
      v[0] = s ? v[0] + sum : sum;
    }
  }
  return v[0];
}

/*
  What is corrected of a group of partitions: by its own thread block, the windows above, and by the one after it: the
  windows below, or all where its windows meet
*/
__device__ static __forceinline__ void SpikeApplyRanges(const SpikeSweepArgs &a, PetscInt p, SpikeRange &soon,
                                                        SpikeRange &later)
{
  const SpikeRange below = SpikeGetRange(a, true, p, 1);

  soon  = SpikeGetRange(a, true, p, 0);
  later = soon.whole ? soon : below;
  if (soon.whole) soon.f0 = soon.f1 = soon.b0 = 0;
}

/* Lines of h x h matrices p <= . < p1 on their way to the L2 cache */
__device__ static __forceinline__ void SpikePrefetchCouplings(const PetscScalar *A, int h, PetscInt p, PetscInt p1)
{
  const int line = 128 / (int)sizeof(PetscScalar);

  for (PetscCount i = p * (PetscCount)h * h + (PetscCount)threadIdx.x * line; i < p1 * (PetscCount)h * h;
       i += 32 * line)
    SpikePrefetch(A + i);
}

/* What the reduced systems above a group, and the corrections after them, begin with; by a warp */
__device__ static __forceinline__ void SpikeApplyPrefetch(const SpikeSweepArgs &a, PetscInt p)
{
  const SpikeTiles &t   = a.t;
  const PetscInt    end = PetscMin(p + t.G, t.np);

  SpikePrefetchReduced(t, a.Vb, a.Wt, a.R, p, end);
  SpikePrefetchCouplings(a.C, t.kl, p, end);
  SpikePrefetchCouplings(a.B, t.ku, PetscMax(p - t.G + 1, 0), p + 1);
}

/* That of a phase: an array would be in memory */
__device__ static __forceinline__ int SpikeApplyOf(int phase, int sweep, int soon, int previous)
{
  return phase == 0 ? sweep : phase == 1 ? soon : previous;
}

/* The pieces of the band in the order in which the three phases of a group want them */
template <typename F, bool FULL>
struct SpikeApplyPieces {
  SpikeRing<FULL> ring;
  const F        *from;       /* the next one                                        */
  int             left, half; /* of this half of a sweep; halves that have been begun */

  __device__ SpikeApplyPieces(unsigned char *shared, int depth, int bytes) :
    ring(shared, 0, 1, depth, bytes), from(NULL), left(0), half(0)
  {
  }
  __device__ __forceinline__ void fetch(const SpikeSweepArgs &a, PetscInt first, const SpikeRange &sweep,
                                        const SpikeRange &soon, const SpikeRange &previous)
  {
    const SpikeTiles &t = a.t;

    while (!left && half < 6) {
      const int f0  = SpikeApplyOf(half / 2, sweep.f0, soon.f0, previous.f0),
                f1  = SpikeApplyOf(half / 2, sweep.f1, soon.f1, previous.f1),
                b0  = SpikeApplyOf(half / 2, sweep.b0, soon.b0, previous.b0);
      const F *band = (const F *)a.band + t.group(half < 4 ? first : PetscMax(first - t.G, 0));

      if (half & 1) {
        left = f1 - b0;
        from = band + (f1 - 1) * t.rowsize + t.tile(t.QL);
      } else {
        left = t.QL ? f1 - f0 : 0;
        from = band + f0 * t.rowsize;
      }
      half++;
    }
    if (left) { /* a tile, on the way back the diagonal too */
      ring.put(from, t.G * t.T * (half & 1 ? t.T : t.QU * t.T + 1) * (int)sizeof(F));
      from += half & 1 ? t.rowsize : -t.rowsize;
      left--;
    }
  }
};

/*
  r of a correction in a vector in shared memory, whose tile row 0 is v; tips of member m from m T on. By a warp
*/
template <typename L>
__device__ static __forceinline__ void SpikeApplyRhs(const SpikeSweepArgs &a, const SpikeRange &range, PetscInt p,
                                                     int pitch, PetscScalar *v, const PetscScalar *xb,
                                                     const PetscScalar *xt)
{
  const int T = a.t.T;

  for (int k = threadIdx.x; k < (range.f1 - range.b0 + 2) * pitch; k += 32) (v + (range.b0 - 1) * pitch)[k] = 0.0;
  __syncwarp();
  SpikeCorrectionFrom<false>(
    a, range, p, [&](int m, int end) { return (end ? xt : xb) + m * T; },
    [&](int m, PetscInt row) {
      const int j = (int)(row / T);

      return j >= range.b0 && j < range.f1 ? v + j * pitch + m * L::STRIDE + (int)(row % T) : (PetscScalar *)NULL;
    });
}

/* Tips of the members of a group, those of member m from m T on */
struct SpikeApplyTips {
  PetscScalar below[32], above[32], solved[32]; /* g_b, then x_b; g_t - Wt g_b; x_t */
};

/*
  The reduced systems above the partitions of a group, with its x in shared memory, and what the warp after it wants of
  them. couples: there is one above the lane's partition p
*/
template <typename L>
__device__ static __forceinline__ void SpikeApplySolve(const SpikeApplyArgs &args, const L &at, const SpikeRange &later,
                                                       PetscInt p, bool couples, const PetscScalar *x, int pitch,
                                                       SpikeApplyTips &tips)
{
  constexpr int         MOST = L::B * L::SIDEBLOCKS;
  const SpikeSweepArgs &a    = args.s;
  const SpikeTiles     &t    = a.t;
  const PetscInt        q    = couples ? p : 0;
  const int             kl = t.kl, ku = t.ku, T = t.T, r = at.row, rb = PetscMax(PetscMin(r, kl - 1), 0),
            rt = PetscMax(PetscMin(r, ku - 1), 0), first = at.m * T, mine = first + r;
  PetscScalar *hand = args.hand + q * (PetscCount)(2 * kl + ku), gb = 0.0, xt = 0.0;

  if (couples && r < kl) {
    if (at.m) {
      const PetscInt i = t.start[p] - t.start[p - 1] - kl + r;

      gb = x[(int)(i / T) * pitch + (at.m - 1) * L::STRIDE + (int)(i % T)];
    } else gb = SpikeHandTake(hand + r);
  }
  if (at.active) tips.below[mine] = gb;
  __syncwarp();
  if (ku) {
    const PetscScalar gt = couples && r < ku ? x[at.m * L::STRIDE + r] : (PetscScalar)0.0,
                      v  = kl ? SpikeReducedTimes<MOST>(args.threads, ku, kl, a.Wt + q * (PetscCount)kl * ku + rt, ku,
                                                       tips.below + first)
                              : (PetscScalar)0.0;

    if (at.active) tips.above[mine] = gt - v;
    __syncwarp();
    xt = SpikeReducedTimes<MOST>(args.threads, ku, ku, a.R + q * (PetscCount)ku * ku + rt, ku, tips.above + first);
    if (at.active) tips.solved[mine] = xt;
    __syncwarp();
    if (kl)
      gb -= SpikeReducedTimes<MOST>(args.threads, kl, ku, a.Vb + q * (PetscCount)kl * ku + rb, kl, tips.solved + first);
    if (at.active) tips.below[mine] = gb;
    __syncwarp();
  }
  if (later.f1 > later.b0) {
    if (couples && later.whole && later.top && r < kl) SpikeHandPut(hand + kl + r, gb);
    if (couples && at.m && r < ku) SpikeHandPut(hand + 2 * kl + r, xt);
  }
}

/*
  x_b above, and x_t below, the partitions of the group before, of which the lane's is o, where `there`; tips: of this
  group
*/
template <typename L>
__device__ static __forceinline__ void SpikeApplyTake(const SpikeApplyArgs &args, const L &at,
                                                      const SpikeRange &previous, PetscInt o, bool there,
                                                      const SpikeApplyTips &tips, PetscScalar *xb, PetscScalar *xt)
{
  const SpikeTiles &t  = args.s.t;
  const int         kl = t.kl, ku = t.ku, r = at.row, mine = at.m * t.T + r;
  const bool        top = there && previous.whole && previous.top && o > 0 && t.active[o],
             bottom     = there && o + 1 < t.np && t.active[o + 1];
  PetscScalar *hand = args.hand + o * (PetscCount)(2 * kl + ku), v = 0.0, w = 0.0;

  if (top && r < kl) v = SpikeHandTake(hand + kl + r);
  if (bottom && r < ku) w = at.m < t.G - 1 ? SpikeHandTake(hand + 2 * kl + ku + 2 * kl + r) : tips.solved[r];
  if (at.active) {
    xb[mine] = v;
    xt[mine] = w;
  }
}

/*
  QL, QU <= 1: sweep(), solvetips() and correct() in one launch, a warp for each group of partitions, and one more where
  a group has several of them. Warp g

      sweeps group g, and hands over g_b of its last partition as soon as it has that, in the middle of the sweep;
      takes g_b of the group before, which has been there since then, and solves the reduced systems above its
      partitions;
      corrects the windows at the upper ends of its partitions, and those at the lower ends of the group before: of the
      last interface it has x_t itself, the others' are handed over, as are the rows of the group before, in memory.

  Where the windows of a group meet they are corrected together, by the warp after. So a warp waits only for the one
  before it, and for that only until it has solved its reduced systems, for which that one waits for g_b alone, which is
  handed over before any wait. Groups are given in the order in which thread blocks start: whoever is waited for is
  running, with any number of thread blocks that a device holds at once, in any order.

  The vectors are in shared memory: r, y and x of a sweep, and of one correction at a time. Tiles of all sweeps go
  through one ring, ahead of their use, also while the warp waits. Reads what the three launches read, but each vector
  once, and of the rows that are corrected below once more; writes those twice. Each sum has the order that it has
  there.
*/
template <typename F, typename L, bool FULL>
__global__ void __launch_bounds__(32, 1) SpikeApply_Kernel(const __grid_constant__ SpikeApplyArgs args)
{
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) PetscScalar st[(L::J > 1 ? 2 : 32) * L::STRIDE]; /* the right-hand side of a triangle */
  __shared__ SpikeApplyTips            tips;
  __shared__ __align__(16) PetscScalar before[2][32]; /* x_b and x_t of the group before */
  const SpikeSweepArgs                &a    = args.s;
  const SpikeTiles                    &t    = a.t;
  const int                            lane = threadIdx.x, kl = t.kl, T = t.T;
  const L                              at(t);
  unsigned                             turn = 0;

  if (!lane) turn = atomicInc(args.turn, gridDim.x - 1);
  const PetscInt   group = (PetscInt)__shfl_sync(SPIKE_WARP, turn, 0), first = group * t.G, next = first + t.G;
  const SpikeRange sweep = SpikeGetRange(a, false, first, 0);
  SpikeRange       soon, later, previous, unused;
  /* the lane's row, in a partition of this group and of the one before */
  const PetscInt p = first + at.m, o = p - t.G;
  const bool     here = at.active && p < t.np, there = at.active && o >= 0 && o < t.np,
             couples   = here && p > 0 && t.active[p]; /* has a reduced system */
  const PetscInt start = here ? t.start[p] : 0, n = here ? t.start[p + 1] - start : 0;
  const int      r = at.row, pitch = t.G * L::STRIDE, diagonal = t.QU * at.next * T + at.m * T + PetscMin(r, T - 1);
  PetscScalar   *x     = (PetscScalar *)shared + pitch; /* tile row 0 */
  int            asked = 0;                             /* pieces     */
  SpikeApplyPieces<F, FULL> pieces(shared + SpikeResidentBytes(a.rows + args.correctrows + 4, pitch), a.depth,
                                   at.next * (T + 1) * (int)sizeof(F));

  /* `first`, for what is done once in a loop: else what is made of it would be in registers all the time */
  auto once = [&]() {
    int g = (int)group;

#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(g));
#endif
    return (PetscInt)g * t.G;
  };
  auto fetch = [&]() { pieces.fetch(a, first, sweep, soon, previous); };
  /* g_b of the last partition, the rows from bottom on of `tall`: there after so many steps back */
  const bool     gives  = kl && next < t.np && t.active[next];
  const PetscInt bottom = gives ? t.start[next] - t.start[next - 1] - kl : 0;
  const int      given  = gives ? sweep.f1 - (int)(bottom / T) : -1;
  auto           give   = [&]() {
    PetscScalar *to = args.hand + (once() + t.G) * (PetscCount)(2 * kl + t.ku);

    if (at.active && at.m == t.G - 1)
      for (int j = sweep.f1 - given; j * T < bottom + kl; j++) {
        const PetscInt i = (PetscInt)j * T + r - bottom;

        if (i >= 0 && i < kl) SpikeHandPut(to + i, x[j * pitch + at.at]);
      }
  };
  for (int k = lane; k < L::STRIDE * (L::J > 1 ? 2 : 32); k += 32) st[k] = 0.0;
  for (int k = lane; k < (sweep.f1 + 2) * pitch; k += 32) (x - pitch)[k] = 0.0;
  __syncwarp();
  for (; sweep.f1 && asked < a.depth && (pieces.left || pieces.half < 2); asked++) fetch();
  SpikeAwait();
  for (int j = 0; j < sweep.f1; j++)
    if (j * T + r < n) SpikeCopyAsync<sizeof(PetscScalar)>(x + j * pitch + at.at, a.b + start + (j * T + r));
  SpikeApplyRanges(a, first, soon, later);
  SpikeApplyRanges(a, first - t.G, unused, previous);
  for (; asked < a.depth; asked++) fetch();
  SpikeCopyWait();
  __syncwarp();
#pragma unroll 1
  for (int phase = 0; phase < 3; phase++) {
    const int f0 = SpikeApplyOf(phase, sweep.f0, soon.f0, previous.f0),
              f1 = SpikeApplyOf(phase, sweep.f1, soon.f1, previous.f1),
              b0 = SpikeApplyOf(phase, sweep.b0, soon.b0, previous.b0), nf = f1 - f0, nb = f1 - b0;
    PetscScalar *v = phase == 0 ? x : x + (a.rows + 2 - b0) * pitch; /* tile row 0 */

    if (phase == 1) {
      for (int j = soon.f1; j < sweep.f1; j++)
        if (j * T + r < n) a.x[start + (j * T + r)] = x[j * pitch + at.at];
      SpikeApplySolve(args, at, later, p, couples, x, pitch, tips);
      if (later.f1 > later.b0) SpikeFlagPut(args.turn + 1 + group);
      if (nb) SpikeApplyRhs<L>(a, soon, first, pitch, v, tips.below, tips.solved);
    } else if (phase == 2 && nb) {
      SpikeApplyTake(args, at, previous, o, there, tips, before[0], before[1]);
      SpikeFlagTake(args.turn + group);
      /* what is corrected, to the place of the first vector, of which each lane has read its part */
      for (int j = b0; j < f1; j++)
        if (there && j * T + r < t.start[o + 1] - t.start[o])
          SpikeCopyAsync<sizeof(PetscScalar)>(x + j * pitch + at.at, a.x + t.start[o] + (j * T + r));
      SpikeApplyRhs<L>(a, previous, first - t.G, pitch, v, before[0], before[1]);
    }
    if (!nb) continue;
    /* of this step and the next; without a value their registers would be taken from the beginning of the kernel on */
    PetscScalar tile[2][L::COUNT] = {}, d[2] = {};
    auto        take = [&](bool back, int u) {
      const F *piece = (const F *)pieces.ring.get();

      if (back) d[u] = (PetscScalar)piece[diagonal];
      if (!back || t.QU) at.template take<FULL>(piece, tile[u]);
    };

    if (t.QL) SpikeResidentDown(at, nf, v + f0 * pitch, pitch, st, tile, take, fetch);
    SpikeResidentUp(at, nb, t.QU > 0, v + (f1 - 1) * pitch, pitch, st, tile, d, take, fetch, [&](int s) {
      if (phase) return;
      if (s == given) give();
      if (args.prefetch && s == PetscMax(nb - SPIKE_SWEEP_LAST, 0)) SpikeApplyPrefetch(a, once());
    });
    if (phase == 0) {
      if (given >= nb) give();
    } else if (phase == 1) {
      for (int j = 0; j < f1; j++)
        if (j * T + r < n) a.x[start + (j * T + r)] = x[j * pitch + at.at] - v[j * pitch + at.at];
    } else {
      SpikeCopyWait();
      for (int j = b0; j < f1; j++)
        if (there && j * T + r < t.start[o + 1] - t.start[o])
          a.x[t.start[o] + (j * T + r)] = x[j * pitch + at.at] - v[j * pitch + at.at];
    }
  }
}
