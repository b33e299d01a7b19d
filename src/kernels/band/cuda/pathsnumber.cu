/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pathsnumber.cu: the places of rows along paths that are chosen, and cycles

  States of a path: (v, slot), 2 v + slot, leaves row v by its neighbour `slot`. Each is to know the end of its path and
  how far that is. Ends, and about one of eight rows, are anchors. Each anchor walks along the path to the next one in
  both directions, and leaves behind in the rows between them how far it is to go back; so a state of any row knows an
  anchor. By doubling anchors come to know their ends, and then all rows do. Paths are in the order of their lower ends,
  turned where the last row of one and the first row of the next are coupled.
*/
#include "paths.cuh"
#include <cub/device/device_scan.cuh>

#define SPIKE_PATHS_SWEEPS 4 /* in which paths are turned */

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

__device__ static inline bool SpikePathsAnchors(PetscInt64 i, int2 mate)
{
  return mate.y < 0 || SpikePathsHash((unsigned int)i) % 8 == 0;
}

/*
  The list of anchors, in any order. States: itself, at no distance where there is no neighbour, else at distance 1:
  what nobody walks over is a cycle
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsBegin_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  __shared__ int   before[SPIKE_PATHS_THREADS / 32], base;
  const int        lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const PetscInt64 step = (PetscInt64)gridDim.x * blockDim.x;

  for (PetscInt64 i0 = (PetscInt64)blockIdx.x * blockDim.x; i0 < f.n; i0 += step) {
    const PetscInt64 i       = i0 + threadIdx.x;
    const int2       mate    = i < f.n ? f.mate[i] : make_int2(-1, -1);
    const bool       anchors = i < f.n && SpikePathsAnchors(i, mate);
    const unsigned   those   = __ballot_sync(~0u, anchors);

    if (i < f.n) {
      f.state[2 * i]     = SpikePathsState(mate.x >= 0, (unsigned int)(2 * i));
      f.state[2 * i + 1] = SpikePathsState(mate.y >= 0, (unsigned int)(2 * i + 1));
    }
    if (!lane) before[warp] = __popc(those);
    __syncthreads();
    if (!threadIdx.x) {
      int sum = 0;

      for (int w = 0; w < SPIKE_PATHS_THREADS / 32; w++) {
        const int count = before[w];

        before[w] = sum;
        sum += count;
      }
      base = atomicAdd(&f.seen->anchors, sum);
    }
    __syncthreads();
    if (anchors) f.anchor[base + before[warp] + __popc(those & ((1u << lane) - 1))] = (int)i;
    __syncthreads(); /* before[] and base are of the next rows then */
  }
}

/* Each state of an anchor to the next anchor, or around a cycle to itself */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsWalk_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);
  const PetscInt64     states = 2 * (PetscInt64)f.seen->anchors;

  for (PetscInt64 k = team.first; k < states; k += team.step) {
    const int    a = f.anchor[k / 2], slot = (int)(k % 2);
    unsigned int distance = 1;
    int          before = a, u = slot ? f.mate[a].y : f.mate[a].x;

    while (u >= 0) {
      const int2 mate = f.mate[u];
      const int  back = mate.x == before ? 0 : 1;

      if (SpikePathsAnchors(u, mate)) {
        f.state[2 * (PetscInt64)a + slot] = SpikePathsState(distance, 2 * (unsigned int)u + (1 - back));
        break;
      }
      f.state[2 * (PetscInt64)u + back] = SpikePathsState(distance++, 2 * (unsigned int)a + (1 - slot));
      before                            = u;
      u                                 = back ? mate.x : mate.y;
    }
  }
}

/*
  Each state of an anchor goes as far again as the one it knows. That one may have gone on in this step: it knows then
  more, and all of a word is read at once
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS)
  SpikePathsDouble_Kernel(const __grid_constant__ SpikePathsPlan f, int step)
{
  const SpikePathsTeam team(1);
  const PetscInt64     states = 2 * (PetscInt64)f.seen->anchors;
  bool                 goes   = false;

  if (step && !f.seen->step[step - 1]) return;
  for (PetscInt64 k = team.first; k < states; k += team.step) {
    SpikePathsWord      *state = f.state + 2 * (PetscInt64)f.anchor[k / 2] + k % 2;
    const SpikePathsWord here  = __ldcg(state);
    SpikePathsWord       there;
    unsigned int         distance;

    if (!(here >> 32)) continue;
    there = __ldcg(f.state + (unsigned int)here);
    if (!(there >> 32)) continue;
    distance = (unsigned int)(here >> 32) + (unsigned int)(there >> 32);
    __stcg(state, SpikePathsState(min(distance, SPIKE_PATHS_FAR), (unsigned int)there));
    goes = true;
  }
  SpikePathsSay(&f.seen->step[step], goes);
}

/*
  States of other rows go on by what their anchors know, which do not change here. f.sum[i] <- one path and its rows
  where i is the lower end of one. Once more after more steps it is right too
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsFinish_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);
  bool                 cycle = false;

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const int2     mate = f.mate[i];
    SpikePathsWord sum  = 0;

    if (!SpikePathsAnchors(i, mate)) {
      for (int slot = 0; slot < 2; slot++) {
        const SpikePathsWord here = f.state[2 * i + slot], there = f.state[(unsigned int)here];
        const unsigned int   distance = (unsigned int)(here >> 32) + (unsigned int)(there >> 32);

        if ((unsigned int)here != 2 * i + slot && there >> 32)
          f.state[2 * i + slot] = SpikePathsState(min(distance, SPIKE_PATHS_FAR), (unsigned int)there);
      }
    }
    if (mate.y < 0) {
      const SpikePathsWord state = f.state[2 * i];

      if (i <= (PetscInt64)((unsigned int)state / 2)) sum = SpikePathsState(1, (unsigned int)(state >> 32) + 1);
    } else if (f.state[(unsigned int)f.state[2 * i]] >> 32) cycle = true;
    f.sum[i] = sum;
  }
  SpikePathsSay(&f.seen->cycle, cycle);
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
    const int            p  = (int)(f.sum[head] >> 32) - 1;
    const PetscInt       to = f.start[p] + (PetscInt)((f.first[p] == (int)enda ? a : b) >> 32);

    f.newrow[i] = to;
    if (to != i) moves = true;
  }
  SpikePathsSay(&f.seen->moves, moves);
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
  return SpikePathsHeld(own, sum);
}

/* start[p] <- -1 - start[p] where paths p - 1 and p are coupled all the same: they are one system */
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsJoin_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(1);
  const PetscInt64     paths = (PetscInt64)(f.seen->total >> 32);

  for (PetscInt64 p = team.first; p < paths; p += team.step) {
    if (p == 0 || !SpikePathsCoupled(f.A, f.last[p - 1], f.first[p], false)) continue;
    f.start[p] = -1 - f.start[p];
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

PetscErrorCode SpikePathsRank_CUDA(const SpikePathsPlan &f, SpikePathsSeen *seen, cudaStream_t stream)
{
  const PetscInt64 states = f.n / 2 + 1; /* of anchors, about; kernels step by the grid where there are more */

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(&f.seen->anchors, 0, sizeof(f.seen->anchors), stream));
  SpikePathsLaunch(SpikePathsBegin_Kernel, f.n, f);
  SpikePathsLaunch(SpikePathsWalk_Kernel, states, f);
  for (PetscInt64 reach = 1; reach <= f.n; reach <<= SPIKE_PATHS_STEPS) { /* a cycle goes on for ever */
    PetscCallCUDA(cudaMemsetAsync(f.seen->step, 0, sizeof(f.seen->step), stream));
    PetscCallCUDA(cudaMemsetAsync(&f.seen->cycle, 0, sizeof(f.seen->cycle), stream));
    for (int step = 0; step < SPIKE_PATHS_STEPS; step++) SpikePathsLaunch(SpikePathsDouble_Kernel, states, f, step);
    SpikePathsLaunch(SpikePathsFinish_Kernel, f.n, f);
    PetscCall(SpikePathsLook(f, seen, stream));
    if (!seen->step[SPIKE_PATHS_STEPS - 1]) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePathsBreak_CUDA(const SpikePathsPlan &f, bool *fits, cudaStream_t stream)
{
  const PetscInt64 states = 2 * (PetscInt64)f.n;
  SpikePathsSpan  *from, *to, *room;

  PetscFunctionBegin;
  PetscCall(SpikeTryMalloc_CUDA((PetscCount)(2 * states), &room, fits));
  if (!*fits) PetscFunctionReturn(PETSC_SUCCESS);
  from = room;
  to   = room + states;
  SpikePathsLaunch(SpikePathsSpan_Kernel, states, f, from);
  for (PetscInt64 reach = 1; reach < f.n; reach *= 2) {
    SpikePathsSpan *swap = from;

    SpikePathsLaunch(SpikePathsWeakest_Kernel, states, states, from, to);
    from = to;
    to   = swap;
  }
  SpikePathsLaunch(SpikePathsBreak_Kernel, f.n, f, from);
  PetscCallCUDA(cudaFree(room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePathsNumberRoom_CUDA(PetscInt n, size_t *bytes, cudaStream_t stream)
{
  SpikePathsWord *sum = NULL;

  PetscFunctionBegin;
  PetscCallCUDA(cub::DeviceScan::InclusiveSum(NULL, *bytes, sum, sum, (int)n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePathsNumber_CUDA(SpikePaths *s, SpikeLook *l, const SpikePathsPlan &f, void *room, size_t bytes,
                                     SpikeLookSample *sample, SpikePathsSeen *seen, cudaStream_t stream)
{
  PetscInt paths;
  int     *start;

  PetscFunctionBegin;
  PetscCallCUDA(cub::DeviceScan::InclusiveSum(room, bytes, f.sum, f.sum, (int)f.n, stream));
  SpikePathsLaunch(SpikePathsList_Kernel, f.n, f);
  for (int sweep = 0; sweep < SPIKE_PATHS_SWEEPS; sweep++)
    SpikePathsLaunch(SpikePathsTurn_Kernel, f.n / 2 + 1, f, sweep % 2);
  SpikePathsLaunch(SpikePathsPlace_Kernel, f.n, f);
  SpikePathsLaunch(SpikePathsJoin_Kernel, f.n, f);
  if (l->nsample) SpikePathsLaunch(SpikePathsSample_Kernel, l->nsample, f, l->nsample, sample);
  PetscCall(SpikePathsLook(f, seen, stream));
  paths = (PetscInt)(seen->total >> 32);
  PetscCall(PetscMalloc1(paths, &start));
  PetscCallCUDA(cudaMemcpyAsync(start, f.start, (size_t)paths * sizeof(*start), cudaMemcpyDeviceToHost, stream));
  if (l->nsample)
    PetscCallCUDA(
      cudaMemcpyAsync(l->sample, sample, (size_t)l->nsample * sizeof(*sample), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)((size_t)paths * sizeof(*start) + (size_t)l->nsample * sizeof(*sample))));
  PetscCall(PetscFree(l->cut));
  l->ncuts = 0;
  PetscCall(PetscMalloc1(paths, &l->cut));
  s->paths    = paths;
  s->shortest = f.n;
  s->longest  = 0;
  for (PetscInt p = paths - 1, end = f.n; p >= 0; p--) {
    const PetscInt begin = start[p] < 0 ? -1 - start[p] : start[p];

    s->shortest = PetscMin(s->shortest, end - begin);
    s->longest  = PetscMax(s->longest, end - begin);
    end         = begin;
  }
  for (PetscInt p = 1; p < paths; p++)
    if (start[p] >= 0) l->cut[l->ncuts++] = start[p];
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}
