/* SPDX-License-Identifier: BSD-2-Clause */
/*
  paths.cu: SpikeLookKernels.paths: disjoint paths along the strongest couplings, found on the device

  Weights are those of spikelines.c, in single precision. Couplings are ordered by weight, of equal ones the one between
  nearer rows first, then by a hash of the lower row, then by that row. In each round a row proposes to the best rows
  that it is strongly coupled to, as many as it still may have; a coupling is taken where both propose. The best one
  that is left always is, so that each round takes some. What is taken are the couplings of a greedy choice in which
  cycles may close. Each cycle then loses its weakest coupling for good, and more rounds follow, for its ends. The host
  takes no coupling that closes a cycle in the first place, so that it may find other paths. Integers and comparisons
  alone: the result is the same in each run.

  Rounds, doubling and breaking of cycles: Klein and Strzodka, Highly parallel linear forest extraction from a weighted
  graph on GPUs, 2022
*/
#include "paths.cuh"

/*
  own and least of each row. maybe: a diagonal entry that is not larger than the two largest others together, of which a
  path may have both. Reads each entry once
*/
__global__ void __launch_bounds__(SPIKE_PATHS_THREADS) SpikePathsRow_Kernel(const __grid_constant__ SpikePathsPlan f)
{
  const SpikePathsTeam team(f.lanes);
  bool                 unsorted = false, maybe = false;

  for (PetscInt64 i = team.first; i < f.n; i += team.step) {
    const PetscInt64 begin = f.A.ai[i], end = f.A.ai[i + 1];
    PetscReal        own = 0.0, most = 0.0, next = 0.0;

    for (PetscInt64 k = begin + team.lane; k < end; k += f.lanes) {
      const PetscInt  j   = f.A.aj[k] + f.A.shift;
      const PetscReal abs = PetscAbsScalar(f.A.aa[k]);

      if (k > begin && f.A.aj[k - 1] >= f.A.aj[k]) unsorted = true;
      if (j == i) own = abs;
      else if (j >= 0 && j < f.n && abs > next) {
        next = abs > most ? most : abs;
        most = abs > most ? abs : most;
      }
    }
    for (int step = f.lanes / 2; step > 0; step /= 2) {
      const PetscReal a = __shfl_xor_sync(team.mask, own, step, f.lanes),
                      b = __shfl_xor_sync(team.mask, most, step, f.lanes),
                      c = __shfl_xor_sync(team.mask, next, step, f.lanes);

      own  = a > own ? a : own;
      next = b > most ? (most > c ? most : c) : (b > next ? b : next);
      most = b > most ? b : most;
    }
    if (most > 0.0 && !SpikePathsHeld(own, most + next)) maybe = true;
    if (!team.lane) f.row[i] = SpikePathsRow{own > 0.0 ? own : most, f.threshold * most};
  }
  SpikePathsSay(&f.seen->unsorted, unsorted);
  SpikePathsSay(&f.seen->maybe, maybe);
}

/* abs over that of the diagonal, above 0, and so that a sum of two is finite */
__device__ static inline float SpikePathsWeight(PetscReal abs, PetscReal own)
{
  const PetscReal w = abs / own;

  return w < (PetscReal)(FLT_MAX / 4) ? fmaxf((float)w, FLT_MIN) : FLT_MAX / 4;
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
  SpikePathsSay(&f.seen->onesided, onesided);
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
  SpikePathsSay(&f.seen->round[round], took);
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
    if (mate.x >= 0 && !SpikePathsHeld(own, sum)) small = true;
  }
  SpikePathsSay(&f.seen->small, small);
}

#define SPIKE_PATHS_NO_ROOM "No memory for a search on the device"

/* Why the host has to look; NULL: it has not */
static const char *SpikePathsWhy_Private(const SpikePathsSeen *seen, PetscBool uncut)
{
  if (seen->unsorted) return "Columns of a row do not ascend";
  if (seen->onesided) return "An entry has none on the other side of the diagonal";
  return seen->small && !uncut ? "Diagonal entries are not larger than the couplings of a path" : NULL;
}

/*
  Neighbours in paths: rounds until none takes a coupling, and more of them as long as cycles close; after the last pass
  a coupling of two ends may be left
*/
static PetscErrorCode SpikePathsGrow_Private(const SpikePathsPlan &f, SpikePathsSeen *seen, bool *fits,
                                             cudaStream_t stream)
{
  const PetscInt64 threads = (PetscInt64)f.n * f.lanes;

  PetscFunctionBegin;
  for (int pass = 0; pass <= SPIKE_PATHS_PASSES; pass++) {
    PetscCallCUDA(cudaMemsetAsync(f.offer, 0xff, (size_t)f.n * sizeof(*f.offer), stream));
    for (bool more = pass < SPIKE_PATHS_PASSES; more; more = seen->round[SPIKE_PATHS_ROUNDS - 1]) {
      PetscCallCUDA(cudaMemsetAsync(f.seen->round, 0, sizeof(f.seen->round), stream));
      for (int round = 0; round < SPIKE_PATHS_ROUNDS; round++) {
        SpikePathsLaunch(SpikePathsPropose_Kernel, threads, f, round);
        SpikePathsLaunch(SpikePathsTake_Kernel, f.n, f, round);
      }
      PetscCall(SpikePathsLook(f, seen, stream));
    }
    if (seen->unsorted || seen->onesided) break;
    PetscCall(SpikePathsRank_CUDA(f, seen, stream));
    if (!seen->cycle) break;
    PetscCheck(pass < SPIKE_PATHS_PASSES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A cycle of couplings was not broken");
    PetscCall(SpikePathsBreak_CUDA(f, fits, stream));
    if (!*fits) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePathsRun_Private(SpikePaths *s, SpikeLook *l, const SpikePathsPlan &f, void *scan,
                                            size_t bytes, SpikeLookSample *sample, cudaStream_t stream)
{
  const PetscInt64 threads = (PetscInt64)f.n * f.lanes;
  SpikePathsSeen   seen;
  bool             fits = true;

  PetscFunctionBegin;
  SpikePathsLaunch(SpikePathsRow_Kernel, threads, f);
  SpikePathsLaunch(SpikePathsWeigh_Kernel, threads, f);
  PetscCall(SpikePathsGrow_Private(f, &seen, &fits, stream));
  s->why = fits ? SpikePathsWhy_Private(&seen, s->uncut) : SPIKE_PATHS_NO_ROOM;
  if (s->why) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->uncut && seen.maybe) SpikePathsLaunch(SpikePathsHold_Kernel, threads, f);
  PetscCall(SpikePathsNumber_CUDA(s, l, f, scan, bytes, sample, &seen, stream));
  s->why = SpikePathsWhy_Private(&seen, s->uncut);
  if (!s->why && seen.moves) s->newrow = f.newrow;
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
  const PetscInt64 n = l->n;
  SpikePathsPlan   f = {};
  SpikeLookSample *sample;
  char            *room = NULL, *scan;
  size_t           bytes, all;
  PetscInt         entries;
  bool             fits;
  cudaStream_t     stream;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  s->why    = NULL;
  s->newrow = NULL;
  s->paths = s->shortest = s->longest = 0;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (n >= (PetscInt64)1 << 29) {
    s->why = "There are too many rows";
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
  PetscCall(SpikePathsNumberRoom_CUDA((PetscInt)n, &bytes, stream));
  for (int pass = 0; pass < 2; pass++) { /* how much room, then where */
    all = 0;
    SpikePathsRoom(room, &all, 1, &f.seen);
    SpikePathsRoom(room, &all, entries, &f.w);
    SpikePathsRoom(room, &all, n, &f.mate);
    SpikePathsRoom(room, &all, 2 * n, &f.state);
    SpikePathsRoom(room, &all, n, &f.sum);
    SpikePathsRoom(room, &all, n, &f.last);
    SpikePathsRoom(room, &all, n, &f.first);
    SpikePathsRoom(room, &all, n, &f.start);
    SpikePathsRoom(room, &all, l->nsample, &sample);
    SpikePathsRoom(room, &all, (PetscInt64)bytes, &scan);
    if (pass) break;
    PetscCall(SpikeTryMalloc_CUDA((PetscCount)all, &room, &fits));
    if (fits) PetscCall(SpikeTryMalloc_CUDA((PetscCount)n, &f.newrow, &fits));
    if (!fits) {
      PetscCallCUDA(cudaFree(room));
      s->why = SPIKE_PATHS_NO_ROOM;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  /* what is used before the other begins to be */
  static_assert(sizeof(*f.row) <= 2 * sizeof(*f.state) && sizeof(*f.offer) == sizeof(*f.sum), "in one place");
  f.row    = (SpikePathsRow *)f.state;
  f.offer  = (int2 *)f.sum;
  f.anchor = f.last;
  PetscCallCUDA(cudaMemsetAsync(f.seen, 0, sizeof(*f.seen), stream));
  PetscCallCUDA(cudaMemsetAsync(f.w, 0, (size_t)entries * sizeof(*f.w), stream));
  PetscCallCUDA(cudaMemsetAsync(f.mate, 0xff, (size_t)n * sizeof(*f.mate), stream));
  ierr = SpikePathsRun_Private(s, l, f, scan, bytes, sample, stream);
  PetscCallCUDA(cudaFree(room));
  if (!s->newrow) PetscCallCUDA(cudaFree(f.newrow));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
