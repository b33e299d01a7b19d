/* SPDX-License-Identifier: BSD-2-Clause */
/*
  paths.cu: SpikeLookKernels.paths: disjoint paths along the strongest couplings, found on the device

  Weights are those of spikelines.c, in single precision. Couplings are ordered by weight, of equal ones the one between
  nearer rows first, then by a hash of the lower row, then by that row. In each round a row proposes to the best rows
  that it is strongly coupled to, as many as it still may have; a coupling is taken where both propose. The best one
  that is left always is, so that each round takes some. What is taken are the couplings of a greedy choice in which
  cycles may close. A cycle then loses its weakest coupling, and what its ends could have had instead is left: the host,
  which takes no coupling that closes a cycle, may find other paths. (Rounds, bidirectional doubling and breaking of
  cycles:
  Klein and Strzodka, Highly parallel linear forest extraction from a weighted graph on GPUs, 2022.)

  States of a path: (v, slot) leaves row v by its neighbour `slot`. By doubling each comes to know the end of its path
  and how far that is. Paths are in the order of their lower ends, turned where the last row of one and the first row of
  the next are coupled. Integers and comparisons alone: the result is the same in each run.
*/
#include "fill.cuh"
#include <cub/device/device_scan.cuh>
extern "C" {
#include "paths.h"
}

#define SPIKE_PATHS_THREADS 256
#define SPIKE_PATHS_ROUNDS  12
#define SPIKE_PATHS_PASSES  20 /* of rounds after which cycles are looked for */
#define SPIKE_PATHS_STEPS   32
#define SPIKE_PATHS_SWEEPS  4
#define SPIKE_PATHS_FAR     (1u << 30) /* distances in a cycle grow no further */

typedef unsigned long long SpikePathsWord;

/* What kernels have seen; a round, or a step, has no work where the one before has changed nothing */
struct SpikePathsSeen {
  int            unsorted, onesided, small, cycle, moves;
  int            round[SPIKE_PATHS_ROUNDS], step[SPIKE_PATHS_STEPS];
  SpikePathsWord total; /* paths and rows */
};

/* Of a row: the magnitude of its diagonal entry, or of its largest other one; from which magnitude on others count */
struct SpikePathsRow {
  PetscReal own, least;
};

struct SpikePathsPlan {
  SpikeCSR        A;
  PetscInt        n;
  int             lanes; /* of a row */
  PetscReal       threshold;
  SpikePathsSeen *seen;
  SpikePathsRow  *row;                  /* [n] */
  float          *w;                    /* [entries] weights, 0 where a coupling is not strong */
  int2           *mate;                 /* [n] neighbours in the path, -1: none; the first one first */
  int2           *offer;                /* [n] to whom a row proposes */
  SpikePathsWord *state;                /* [2 n] distance and state at that distance; itself at an end */
  SpikePathsWord *sum;                  /* [n] paths and rows up to the path that begins here */
  int            *first, *last, *start; /* [paths] ends, place of the first row */
  PetscInt       *newrow;
};

/* A coupling of v and u, u -1: none */
struct SpikePathsEdge {
  float w;
  int   v, u;
};

__device__ static inline unsigned int SpikePathsHash(unsigned int x)
{
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

/* Whether a comes before b; an order of all couplings */
__device__ static inline bool SpikePathsBefore(const SpikePathsEdge &a, const SpikePathsEdge &b)
{
  const int    da = abs(a.u - a.v), db = abs(b.u - b.v), ma = min(a.u, a.v), mb = min(b.u, b.v);
  unsigned int ha, hb;

  if (a.u < 0 || b.u < 0) return a.u >= 0;
  if (a.w != b.w) return a.w > b.w;
  if (da != db) return da < db;
  ha = SpikePathsHash((unsigned int)ma);
  hb = SpikePathsHash((unsigned int)mb);
  return ha != hb ? ha < hb : ma < mb;
}

/* The place of column j in row i, -1: it is not there; columns ascend */
__device__ static inline PetscInt SpikePathsFind(const SpikeCSR &A, PetscInt i, PetscInt j)
{
  const PetscInt end = A.ai[i + 1];
  PetscInt       low = A.ai[i], high = end;

  while (low < high) {
    const PetscInt middle = low + (high - low) / 2;

    if (A.aj[middle] + A.shift < j) low = middle + 1;
    else high = middle;
  }
  return low < end && A.aj[low] + A.shift == j ? low : -1;
}

/* The threads of a row, and its first entry for this one */
struct SpikePathsTeam {
  PetscInt64   first, step;
  int          lane;
  unsigned int mask;

  __device__ SpikePathsTeam(int lanes) :
    first(((PetscInt64)blockIdx.x * blockDim.x + threadIdx.x) / lanes),
    step((PetscInt64)gridDim.x * blockDim.x / lanes),
    lane((int)(threadIdx.x % lanes)),
    mask((lanes == 32 ? ~0u : (1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes))
  {
  }
};

/* Reads each entry once */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsRow_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(f.lanes);
  bool                 unsorted = false;

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const PetscInt64 begin = f.A.ai[i], end = f.A.ai[i + 1];
    PetscReal        own = 0.0, most = 0.0;

    for (PetscInt64 k = begin + team.lane; k < end; k += f.lanes) {
      const PetscInt  j   = f.A.aj[k] + f.A.shift;
      const PetscReal abs = PetscAbsScalar(f.A.aa[k]);

      if (k > begin && f.A.aj[k - 1] >= f.A.aj[k]) unsorted = true;
      if (j == i) own = abs;
      else if (j >= 0 && j < f.n && abs > most) most = abs;
    }
    for (int step = f.lanes / 2; step > 0; step /= 2) {
      const PetscReal a = __shfl_xor_sync(team.mask, own, step, f.lanes),
                      b = __shfl_xor_sync(team.mask, most, step, f.lanes);

      own  = a > own ? a : own;
      most = b > most ? b : most;
    }
    if (!team.lane) f.row[i] = SpikePathsRow{own > 0.0 ? own : most, f.threshold * most};
  }
  if (unsorted) f.seen->unsorted = 1;
}

/* abs over that of the diagonal, so that a sum of two is finite */
__device__ static inline float SpikePathsWeight(PetscReal abs, PetscReal own)
{
  const PetscReal w = abs / own;

  return w < (PetscReal)(FLT_MAX / 4) ? (float)w : FLT_MAX / 4;
}

/*
  f.w, zeros before. An entry that is strong in its row looks for the one on the other side of the diagonal, which gets
  the same weight; that one writes by itself where it is strong too. Reads each entry once, and strong ones of others
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsWeigh_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(f.lanes);
  bool                 onesided = false;

  if (f.seen->unsorted) return;
  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const PetscInt64    end = f.A.ai[i + 1];
    const SpikePathsRow row = f.row[i];

    for (PetscInt64 k = f.A.ai[i] + team.lane; k < end; k += f.lanes) {
      const PetscInt  j   = f.A.aj[k] + f.A.shift;
      const PetscReal abs = PetscAbsScalar(f.A.aa[k]);
      PetscInt        there;
      PetscReal       back;
      SpikePathsRow   other;
      float           w;

      if (j == i || j < 0 || j >= f.n || !(abs >= row.least && abs > 0.0)) continue;
      there = SpikePathsFind(f.A, j, (PetscInt)i);
      if (there < 0) {
        onesided = true;
        continue;
      }
      other = f.row[j];
      back  = PetscAbsScalar(f.A.aa[there]);
      w     = SpikePathsWeight(abs, row.own);
      if (back >= other.least && back > 0.0) w += SpikePathsWeight(back, other.own);
      else f.w[there] = w;
      f.w[k] = w;
    }
  }
  if (onesided) f.seen->onesided = 1;
}

/* Reads columns and weights of rows that may have more neighbours */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsPropose_Kernel(const __grid_constant__ SpikePathsPlan f, int round)
{
  const SpikePathsTeam team(f.lanes);
  const SpikePathsEdge none = {0.0f, -1, -1};

  if (f.seen->unsorted || f.seen->onesided || (round && !f.seen->round[round - 1])) return;
  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const PetscInt64 end     = f.A.ai[i + 1];
    const int2       mate    = f.mate[i];
    SpikePathsEdge   best[2] = {none, none};

    if (mate.y >= 0) continue;
    for (PetscInt64 k = f.A.ai[i] + team.lane; k < end; k += f.lanes) {
      const SpikePathsEdge edge = {f.w[k], (int)i, (int)(f.A.aj[k] + f.A.shift)};

      if (!(edge.w > 0.0f) || edge.u == mate.x || f.mate[edge.u].y >= 0) continue;
      if (SpikePathsBefore(edge, best[0])) {
        best[1] = best[0];
        best[0] = edge;
      } else if (SpikePathsBefore(edge, best[1])) best[1] = edge;
    }
    for (int step = f.lanes / 2; step > 0; step /= 2) {
      SpikePathsEdge other[2];

      SpikeUnroll(e, 2)
        other[e] = SpikePathsEdge{__shfl_xor_sync(team.mask, best[e].w, step, f.lanes), (int)i,
                                  __shfl_xor_sync(team.mask, best[e].u, step, f.lanes)};
      if (SpikePathsBefore(other[0], best[0])) {
        best[1] = SpikePathsBefore(best[0], other[1]) ? best[0] : other[1];
        best[0] = other[0];
      } else if (SpikePathsBefore(other[0], best[1])) best[1] = other[0];
    }
    if (!team.lane) f.offer[i] = make_int2(best[0].u, mate.x < 0 ? best[1].u : -1);
  }
}

/* Offers of a row that has all its neighbours are those that were taken: nobody proposes to it again */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsTake_Kernel(const __grid_constant__ SpikePathsPlan f, int round)
{
  const SpikePathsTeam team(1);
  bool                 took = false;

  if (f.seen->unsorted || f.seen->onesided || (round && !f.seen->round[round - 1])) return;
  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    int2       mate  = f.mate[i];
    const int2 offer = f.offer[i];

    if (mate.y >= 0) continue;
    for (int e = 0; e < 2; e++) {
      const int u = e ? offer.y : offer.x;

      if (u < 0 || (f.offer[u].x != i && f.offer[u].y != i)) continue;
      if (mate.x < 0) mate.x = u;
      else mate.y = u;
      took = true;
    }
    f.mate[i] = mate;
  }
  if (took) f.seen->round[round] = 1;
}

/*
  Rows whose diagonal entry is not larger than the entries of the path: then pivots along it may be small, as
  SpikeLinesCut_Private() looks for them; else none is. Reads each entry once
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsHold_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(f.lanes);
  bool                 small = false;

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const PetscInt64 end  = f.A.ai[i + 1];
    const int2       mate = f.mate[i];
    PetscReal        own = 0.0, sum = 0.0;

    for (PetscInt64 k = f.A.ai[i] + team.lane; k < end; k += f.lanes) {
      const PetscInt j = f.A.aj[k] + f.A.shift;

      if (j == i) own = PetscAbsScalar(f.A.aa[k]);
      else if (j >= 0 && (j == mate.x || j == mate.y)) sum += PetscAbsScalar(f.A.aa[k]);
    }
    for (int step = f.lanes / 2; step > 0; step /= 2) {
      own += __shfl_xor_sync(team.mask, own, step, f.lanes);
      sum += __shfl_xor_sync(team.mask, sum, step, f.lanes);
    }
    if (mate.x >= 0 && !(own >= sum * (1 + 100 * PETSC_MACHINE_EPSILON))) small = true;
  }
  if (small) f.seen->small = 1;
}

__device__ static inline SpikePathsWord SpikePathsState(unsigned int distance, unsigned int state)
{
  return (SpikePathsWord)distance << 32 | state;
}

/* The state that (i, slot) comes to by one coupling, itself where there is none */
__device__ static inline unsigned int SpikePathsNext(const int2 *mate, PetscInt64 i, int slot)
{
  const int2 m = mate[i];
  const int  u = slot ? m.y : m.x;

  if (u < 0) return (unsigned int)(2 * i + slot);
  return 2 * (unsigned int)u + (mate[u].x == i ? 1 : 0);
}

__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsBegin_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);

  for (PetscInt64 i = team.first; i < f.n; i += team.step)
    for (int slot = 0; slot < 2; slot++) {
      const unsigned int next = SpikePathsNext(f.mate, i, slot);

      f.state[2 * i + slot] = SpikePathsState(next != 2 * i + slot, next);
    }
}

/*
  Each state goes as far again as the one it knows. That one may have gone on in this step: it knows then more, and all
  of a word is read at once
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsDouble_Kernel(const __grid_constant__ SpikePathsPlan f, int step)
{
  const SpikePathsTeam team(1);
  bool                 goes = false;

  if (step && !f.seen->step[step - 1]) return;
  for (PetscInt64 i = team.first; i < 2 * (PetscInt64)f.n; i += team.step) {
    const SpikePathsWord here = __ldcg(f.state + i);
    SpikePathsWord       there;
    unsigned int         distance;

    if (!(here >> 32)) continue;
    there = __ldcg(f.state + (unsigned int)here);
    if (!(there >> 32)) continue;
    distance = (unsigned int)(here >> 32) + (unsigned int)(there >> 32);
    __stcg(f.state + i, SpikePathsState(min(distance, SPIKE_PATHS_FAR), (unsigned int)there));
    goes = true;
  }
  if (goes) f.seen->step[step] = 1;
}

/* f.sum[i] <- one path and its rows where i is the lower end of one */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsHeads_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);
  bool                 cycle = false;

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const int2           mate  = f.mate[i];
    const SpikePathsWord state = f.state[2 * i];
    SpikePathsWord       sum   = 0;

    if (mate.y < 0) {
      if (i <= (PetscInt64)((unsigned int)state / 2)) sum = SpikePathsState(1, (unsigned int)(state >> 32) + 1);
    } else if (f.state[(unsigned int)state] >> 32) cycle = true;
    f.sum[i] = sum;
  }
  if (cycle) f.seen->cycle = 1;
}

/* The weakest coupling of those that lead from a state to state `to`; to < 0: not in a cycle */
struct SpikePathsSpan {
  int            to;
  SpikePathsEdge weakest;
};

__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsSpan_Kernel(const __grid_constant__ SpikePathsPlan f, SpikePathsSpan *span)
{
  const SpikePathsTeam team(1);

  for (PetscInt64 i = team.first; i < 2 * (PetscInt64)f.n; i += team.step) {
    const SpikePathsWord state = f.state[i];
    const PetscInt64     v     = i / 2;
    SpikePathsSpan       s     = {-1, {0.0f, -1, -1}};

    if (state >> 32 && f.state[(unsigned int)state] >> 32) {
      const int      u = i % 2 ? f.mate[v].y : f.mate[v].x;
      const PetscInt k = SpikePathsFind(f.A, (PetscInt)v, u);

      s.to      = (int)SpikePathsNext(f.mate, v, (int)(i % 2));
      s.weakest = SpikePathsEdge{f.w[k], (int)v, u};
    }
    span[i] = s;
  }
}

__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsWeakest_Kernel(PetscInt64 states, const SpikePathsSpan *from, SpikePathsSpan *to)
{
  const SpikePathsTeam team(1);

  for (PetscInt64 i = team.first; i < states; i += team.step) {
    SpikePathsSpan s = from[i];

    if (s.to >= 0) {
      const SpikePathsSpan t = from[s.to];

      if (SpikePathsBefore(s.weakest, t.weakest)) s.weakest = t.weakest;
      s.to = t.to;
    }
    to[i] = s;
  }
}

/* Both rows of the weakest coupling of a cycle leave each other, which no longer is a coupling */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsBreak_Kernel(const __grid_constant__ SpikePathsPlan f, const SpikePathsSpan *span)
{
  const SpikePathsTeam team(1);

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const SpikePathsEdge e = span[2 * i].weakest;
    const int            u = e.v == i ? e.u : e.u == i ? e.v : -1;
    int2                 m = f.mate[i];

    if (span[2 * i].to < 0 || u < 0) continue;
    if (m.x == u) m.x = m.y;
    m.y                                      = -1;
    f.mate[i]                                = m;
    f.w[SpikePathsFind(f.A, (PetscInt)i, u)] = 0.0f;
  }
}

/* Ends of paths and places of their first rows, from sums over all rows up to each */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsList_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const SpikePathsWord sum = f.sum[i], before = i ? f.sum[i - 1] : 0;
    const int            p = (int)(before >> 32);

    if (i == f.n - 1) f.seen->total = sum;
    if (sum == before) continue;
    f.first[p] = (int)i;
    f.last[p]  = (int)((unsigned int)f.state[2 * i] / 2);
    f.start[p] = (int)(unsigned int)before;
  }
}

/* Whether an entry couples rows i and j, stored zeros among them or not */
__device__ static inline bool SpikePathsCoupled(const SpikeCSR &A, PetscInt i, PetscInt j, bool zeros)
{
  PetscInt k = SpikePathsFind(A, i, j);

  if (k >= 0 && (zeros || A.aa[k] != PetscScalar(0.0))) return true;
  k = SpikePathsFind(A, j, i);
  return k >= 0 && (zeros || A.aa[k] != PetscScalar(0.0));
}

/* Paths p, p + 2, ... are turned where that leaves fewer couplings to the paths beside them, which stay */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsTurn_Kernel(const __grid_constant__ SpikePathsPlan f, int parity)
{
  const SpikePathsTeam team(1);
  const PetscInt64     paths = (PetscInt64)(f.seen->total >> 32);

  for (PetscInt64 p = 2 * team.first + parity; p < paths; p += 2 * team.step) {
    const int first = f.first[p], last = f.last[p];
    int       now = 0, turned = 0;

    if (p > 0) {
      now += SpikePathsCoupled(f.A, f.last[p - 1], first, true);
      turned += SpikePathsCoupled(f.A, f.last[p - 1], last, true);
    }
    if (p < paths - 1) {
      now += SpikePathsCoupled(f.A, last, f.first[p + 1], true);
      turned += SpikePathsCoupled(f.A, first, f.first[p + 1], true);
    }
    if (turned >= now) continue;
    f.first[p] = last;
    f.last[p]  = first;
  }
}

__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsPlace_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);
  bool                 moves = false;

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const SpikePathsWord a = f.state[2 * i], b = f.state[2 * i + 1];
    const unsigned int   enda = (unsigned int)a / 2, endb = (unsigned int)b / 2, head = min(enda, endb);
    const int            p = (int)(f.sum[head] >> 32) - 1;

    const PetscInt to = f.start[p] + (PetscInt)((f.first[p] == (int)enda ? a : b) >> 32);

    f.newrow[i] = to;
    if (to != i) moves = true;
  }
  if (moves) f.seen->moves = 1;
}

/* Whether the diagonal entry of a row is larger than its entries in the band of half-bandwidth 1 */
__device__ static inline bool SpikePathsHolds(const SpikePathsPlan &f, PetscInt i)
{
  PetscReal own = 0.0, sum = 0.0;

  for (PetscInt k = f.A.ai[i]; k < f.A.ai[i + 1]; k++) {
    const PetscInt j = f.A.aj[k] + f.A.shift;

    if (j == i) own = PetscAbsScalar(f.A.aa[k]);
    else if (j >= 0 && j < f.n && abs(f.newrow[j] - f.newrow[i]) == 1) sum += PetscAbsScalar(f.A.aa[k]);
  }
  return own >= sum * (1 + 100 * PETSC_MACHINE_EPSILON);
}

/* start[p] <- -1 where paths p - 1 and p are coupled all the same: they are one system */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsJoin_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);
  const PetscInt64     paths = (PetscInt64)(f.seen->total >> 32);

  for (PetscInt64 p = team.first; p < paths; p += team.step) {
    if (p == 0 || !SpikePathsCoupled(f.A, f.last[p - 1], f.first[p], false)) continue;
    f.start[p] = -1;
    if (!SpikePathsHolds(f, f.last[p - 1]) || !SpikePathsHolds(f, f.first[p])) f.seen->small = 1;
  }
}

/* Samples of the look, in the order of the paths */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsSample_Kernel(const __grid_constant__ SpikePathsPlan f, PetscInt nsample, SpikeLookSample *sample)
{
  const SpikePathsTeam team(1);

  for (PetscInt64 s = team.first; s < nsample; s += team.step) {
    const PetscInt  i      = (PetscInt)(s * f.n / nsample);
    SpikeLookSample one    = {{0.0, 0.0}, {0.0, 0.0}, 0.0};
    PetscScalar     sum[2] = {0.0, 0.0};

    for (PetscInt k = f.A.ai[i]; k < f.A.ai[i + 1]; k++) {
      const PetscInt j = f.A.aj[k] + f.A.shift, d = j >= 0 && j < f.n ? f.newrow[j] - f.newrow[i] : 2;

      if (d >= -1 && d <= 1) SpikeLookAdd(&one, sum, d, f.A.aa[k]);
    }
    for (int side = 0; side < 2; side++) one.sum[side] = PetscAbsScalar(sum[side]);
    sample[s] = one;
  }
}

/* Blocks for so many threads, as many as the device is thought to have work for; kernels step by the grid */
static unsigned int SpikePathsBlocks(PetscInt64 threads)
{
  return (unsigned int)PetscMin((PetscInt64)1 << 20, (threads + SPIKE_PATHS_THREADS - 1) / SPIKE_PATHS_THREADS);
}

#define SpikePathsLaunch(kernel, threads, ...) \
  do { \
    kernel<<<SpikePathsBlocks(threads), SPIKE_PATHS_THREADS, 0, stream>>>(__VA_ARGS__); \
    PetscCallCUDA(cudaGetLastError()); \
  } while (0)

/* f.state and f.sum from f.mate; waits, and copies what was seen */
static PetscErrorCode SpikePathsRank_Private(const SpikePathsPlan &f, SpikePathsSeen *seen, cudaStream_t stream)
{
  int steps = 1;

  PetscFunctionBegin;
  while ((PetscInt64)1 << steps < 2 * (PetscInt64)f.n) steps++;
  PetscCallCUDA(cudaMemsetAsync(f.seen->step, 0, sizeof(f.seen->step), stream));
  PetscCallCUDA(cudaMemsetAsync(&f.seen->cycle, 0, sizeof(f.seen->cycle), stream));
  SpikePathsLaunch(SpikePathsBegin_Kernel, f.n, f);
  for (int step = 0; step < steps; step++) SpikePathsLaunch(SpikePathsDouble_Kernel, 2 * (PetscInt64)f.n, f, step);
  SpikePathsLaunch(SpikePathsHeads_Kernel, f.n, f);
  PetscCallCUDA(cudaMemcpyAsync(seen, f.seen, sizeof(*seen), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)sizeof(*seen)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each cycle loses its weakest coupling */
static PetscErrorCode SpikePathsBreak_Private(const SpikePathsPlan &f, cudaStream_t stream)
{
  const PetscInt64 states = 2 * (PetscInt64)f.n;
  SpikePathsSpan  *from, *to;

  PetscFunctionBegin;
  PetscCall(SpikeMalloc_CUDA((PetscCount)states, &from, &to));
  SpikePathsLaunch(SpikePathsSpan_Kernel, states, f, from);
  for (PetscInt64 reach = 1; reach < f.n; reach *= 2) {
    SpikePathsSpan *swap = from;

    SpikePathsLaunch(SpikePathsWeakest_Kernel, states, states, from, to);
    from = to;
    to   = swap;
  }
  SpikePathsLaunch(SpikePathsBreak_Kernel, f.n, f, from);
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(SpikeFree_CUDA(from, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the host has to look; NULL: it has not */
static const char *SpikePathsWhy_Private(const SpikePathsSeen *seen, PetscBool uncut)
{
  if (seen->unsorted) return "columns of a row do not ascend";
  if (seen->onesided) return "an entry has none on the other side of the diagonal";
  return seen->small && !uncut ? "a path may have small pivots" : NULL;
}

/* cut, sample and newrow, where all rows are in paths */
static PetscErrorCode SpikePathsNumber_Private(SpikePaths *s, SpikeLook *l, const SpikePathsPlan &f, void *room,
                                               size_t bytes, SpikePathsSeen *seen, cudaStream_t stream)
{
  SpikeLookSample *sample;
  int             *start;
  PetscInt         end = f.n;

  PetscFunctionBegin;
  PetscCallCUDA(cub::DeviceScan::InclusiveSum(room, bytes, f.sum, f.sum, (int)f.n, stream));
  SpikePathsLaunch(SpikePathsList_Kernel, f.n, f);
  for (int sweep = 0; sweep < SPIKE_PATHS_SWEEPS; sweep++) SpikePathsLaunch(SpikePathsTurn_Kernel, f.n, f, sweep % 2);
  SpikePathsLaunch(SpikePathsPlace_Kernel, f.n, f);
  SpikePathsLaunch(SpikePathsJoin_Kernel, f.n, f);
  PetscCall(SpikeMalloc_CUDA(l->nsample, &sample));
  if (l->nsample) SpikePathsLaunch(SpikePathsSample_Kernel, l->nsample, f, l->nsample, sample);
  PetscCallCUDA(cudaMemcpyAsync(seen, f.seen, sizeof(*seen), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  s->paths = (PetscInt)(seen->total >> 32);
  PetscCall(PetscMalloc1(s->paths, &start));
  PetscCallCUDA(cudaMemcpyAsync(start, f.start, (size_t)s->paths * sizeof(*start), cudaMemcpyDeviceToHost, stream));
  if (l->nsample)
    PetscCallCUDA(
      cudaMemcpyAsync(l->sample, sample, (size_t)l->nsample * sizeof(*sample), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu(
    (PetscLogDouble)((size_t)s->paths * sizeof(*start) + (size_t)l->nsample * sizeof(*sample) + sizeof(*seen))));
  PetscCall(SpikeFree_CUDA(sample));
  s->why = SpikePathsWhy_Private(seen, s->uncut);
  PetscCall(PetscFree(l->cut));
  l->ncuts = 0;
  PetscCall(PetscMalloc1(s->paths, &l->cut));
  s->shortest = f.n;
  s->longest  = 0;
  for (PetscInt p = 1; p < s->paths; p++)
    if (start[p] >= 0) l->cut[l->ncuts++] = start[p];
  for (PetscInt c = l->ncuts; c >= 0; c--) { /* lengths of systems */
    const PetscInt begin = c ? l->cut[c - 1] : 0;

    s->shortest = PetscMin(s->shortest, end - begin);
    s->longest  = PetscMax(s->longest, end - begin);
    end         = begin;
  }
  s->paths = l->ncuts + 1;
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neighbours in paths: rounds, and more of them as long as cycles close */
static PetscErrorCode SpikePathsGrow_Private(const SpikePathsPlan &f, PetscBool uncut, SpikePathsSeen *seen,
                                             cudaStream_t stream)
{
  const PetscInt64 threads = (PetscInt64)f.n * f.lanes;

  PetscFunctionBegin;
  for (int pass = 0; pass <= SPIKE_PATHS_PASSES; pass++) {
    PetscCallCUDA(cudaMemsetAsync(f.seen->round, 0, sizeof(f.seen->round), stream));
    for (int round = 0; round < SPIKE_PATHS_ROUNDS && pass < SPIKE_PATHS_PASSES; round++) {
      SpikePathsLaunch(SpikePathsPropose_Kernel, threads, f, round);
      SpikePathsLaunch(SpikePathsTake_Kernel, f.n, f, round);
    }
    if (!uncut) SpikePathsLaunch(SpikePathsHold_Kernel, threads, f);
    PetscCall(SpikePathsRank_Private(f, seen, stream));
    if (!seen->cycle || SpikePathsWhy_Private(seen, uncut)) break;
    PetscCheck(pass < SPIKE_PATHS_PASSES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A cycle of couplings was not broken");
    PetscCall(SpikePathsBreak_Private(f, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePathsRun_Private(SpikePaths *s, SpikeLook *l, SpikePathsPlan *f, void *scan, size_t bytes,
                                            bool *moves, cudaStream_t stream)
{
  const PetscInt64 threads = (PetscInt64)f->n * f->lanes;
  SpikePathsSeen   seen;

  PetscFunctionBegin;
  SpikePathsLaunch(SpikePathsRow_Kernel, threads, *f);
  SpikePathsLaunch(SpikePathsWeigh_Kernel, threads, *f);
  PetscCall(SpikePathsGrow_Private(*f, s->uncut, &seen, stream));
  s->why = SpikePathsWhy_Private(&seen, s->uncut);
  if (!s->why) PetscCall(SpikePathsNumber_Private(s, l, *f, scan, bytes, &seen, stream));
  *moves = seen.moves;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *ptr <- count elements of a room that begins at *at, which goes on behind them */
template <typename X>
static void SpikePathsRoom(char *room, size_t *at, PetscInt64 count, X **ptr)
{
  *ptr = (X *)(room + *at);
  *at += ((size_t)count * sizeof(X) + 255) / 256 * 256;
}

PetscErrorCode SpikePaths_CUDA(SpikePaths *s, SpikeLook *l, const SpikeCSR *A)
{
  const PetscInt64 n    = l->n;
  SpikePathsPlan   f    = {};
  char            *room = NULL, *scan;
  size_t           bytes, all;
  PetscInt         entries;
  bool             moves = false;
  cudaStream_t     stream;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  s->why    = NULL;
  s->newrow = NULL;
  s->paths = s->shortest = s->longest = 0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (n >= (PetscInt64)1 << 29) {
    s->why = "there are too many rows";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeStreamOr(NULL, &stream));
  PetscCallCUDA(cudaMemcpyAsync(&entries, A->ai + n, sizeof(entries), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)sizeof(entries)));
  f.A         = *A;
  f.n         = (PetscInt)n;
  f.threshold = s->threshold;
  f.lanes     = 1;
  while (f.lanes < 32 && (PetscInt64)8 * f.lanes * n < entries) f.lanes *= 2;
  PetscCallCUDA(cub::DeviceScan::InclusiveSum(NULL, bytes, f.sum, f.sum, (int)n, stream));
  for (int pass = 0; pass < 2; pass++) { /* how much room, then where */
    all = 0;
    SpikePathsRoom(room, &all, 1, &f.seen);
    SpikePathsRoom(room, &all, entries, &f.w);
    SpikePathsRoom(room, &all, n, &f.row);
    SpikePathsRoom(room, &all, n, &f.mate);
    SpikePathsRoom(room, &all, n, &f.offer);
    SpikePathsRoom(room, &all, 2 * n, &f.state);
    SpikePathsRoom(room, &all, n, &f.sum);
    SpikePathsRoom(room, &all, n, &f.first);
    SpikePathsRoom(room, &all, n, &f.last);
    SpikePathsRoom(room, &all, n, &f.start);
    SpikePathsRoom(room, &all, (PetscInt64)bytes, &scan);
    if (!pass) PetscCall(SpikeMalloc_CUDA((PetscCount)all, &room));
  }
  PetscCall(SpikeMalloc_CUDA((PetscCount)n, &f.newrow));
  PetscCallCUDA(cudaMemsetAsync(f.seen, 0, sizeof(*f.seen), stream));
  PetscCallCUDA(cudaMemsetAsync(f.w, 0, (size_t)entries * sizeof(*f.w), stream));
  PetscCallCUDA(cudaMemsetAsync(f.mate, 0xff, (size_t)n * sizeof(*f.mate), stream));
  PetscCallCUDA(cudaMemsetAsync(f.offer, 0xff, (size_t)n * sizeof(*f.offer), stream));
  ierr = SpikePathsRun_Private(s, l, &f, scan, bytes, &moves, stream);
  PetscCallCUDA(cudaFree(room));
  if (ierr || s->why || !moves) PetscCallCUDA(cudaFree(f.newrow));
  else s->newrow = f.newrow;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
