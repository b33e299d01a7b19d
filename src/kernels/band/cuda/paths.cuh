/* SPDX-License-Identifier: BSD-2-Clause */
/* paths.cuh: what the kernels for paths of strong couplings share: paths.cu, pathsnumber.cu */
#pragma once

#include "fill.cuh"
extern "C" {
#include "paths.h"
}

#define SPIKE_PATHS_THREADS 256
#define SPIKE_PATHS_ROUNDS  4          /* between two looks of the host whether there is more to do */
#define SPIKE_PATHS_STEPS   12         /* the same                                                 */
#define SPIKE_PATHS_PASSES  20         /* of rounds after which cycles are looked for              */
#define SPIKE_PATHS_FAR     (1u << 30) /* distances in a cycle grow no further                     */

typedef unsigned long long SpikePathsWord;

/* What kernels have seen; a round, or a step, has no work where the one before has changed nothing */
struct SpikePathsSeen {
  int            unsorted, onesided, maybe, small; /* small: pivots of a path may be; maybe: those of some path */
  int            cycle, moves, anchors;
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
  SpikePathsRow  *row;                  /* [n]                                                                  */
  float          *w;                    /* [entries] weights, 0 where a coupling is not strong                  */
  int2           *mate;                 /* [n] neighbours in the path, -1: none; the first one first            */
  int2           *offer;                /* [n] to whom a row proposes                                           */
  SpikePathsWord *state;                /* [2 n] distance and state at that distance; itself at an end          */
  SpikePathsWord *sum;                  /* [n] paths and rows up to the path that begins here                   */
  int            *anchor;               /* [anchors] rows that others take their steps by: pathsnumber.cu       */
  int            *first, *last, *start; /* [paths] ends, place of the first row                                 */
  PetscInt       *newrow;
};

/*
  *seen <- 1 where a thread of the grid says so; all threads of a block call it. Writes to one place go one after the
  other, 3 ns each on an H200: those of all warps would take a hundred microseconds. So few blocks write
*/
__device__ static inline void SpikePathsSay(int *seen, bool yes)
{
  if (__syncthreads_or(yes) && !threadIdx.x && !__ldcg(seen)) *seen = 1;
}

/* A coupling of v and u, u -1: none */
struct SpikePathsEdge {
  float w;
  int   v, u;
};

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

/* Whether the diagonal entry of a row is larger than its entries in a path: then no pivot along that is small */
__device__ static inline bool SpikePathsHeld(PetscReal own, PetscReal entries)
{
  return own >= entries * (1 + 100 * PETSC_MACHINE_EPSILON);
}

/* The place of column j in row i, -1: it is not there; columns ascend */
__device__ static inline PetscInt SpikePathsFind(const SpikeCSR &A, PetscInt i, PetscInt j)
{
  const PetscInt end = A.ai[i + 1];
  PetscInt       low = A.ai[i], high = end, place = -1;

  if (high - low <= 8) { /* loads that do not wait for each other */
    SpikeUnroll(k, 8) {
      if (low + k < end && A.aj[low + k] + A.shift == j) place = low + k;
    }
    return place;
  }
  while (low < high) {
    const PetscInt middle = low + (high - low) / 2;

    if (A.aj[middle] + A.shift < j) low = middle + 1;
    else high = middle;
  }
  return low < end && A.aj[low] + A.shift == j ? low : -1;
}

/* Blocks for so many threads, as many as the device is thought to have work for; kernels step by the grid */
static inline unsigned int SpikePathsBlocks(PetscInt64 threads)
{
  return (unsigned int)PetscMin((PetscInt64)1 << 20, (threads + SPIKE_PATHS_THREADS - 1) / SPIKE_PATHS_THREADS);
}

#define SpikePathsLaunch(kernel, threads, ...) \
  do { \
    kernel<<<SpikePathsBlocks(threads), SPIKE_PATHS_THREADS, 0, stream>>>(__VA_ARGS__); \
    PetscCallCUDA(cudaGetLastError()); \
  } while (0)

/* *seen <- what kernels have seen until now; waits */
static inline PetscErrorCode SpikePathsLook(const SpikePathsPlan &f, SpikePathsSeen *seen, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(seen, f.seen, sizeof(*seen), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)sizeof(*seen)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pathsnumber.cu: f.state and f.sum from f.mate, and whether there are cycles; waits */
PETSC_INTERN PetscErrorCode SpikePathsRank_CUDA(const SpikePathsPlan &, SpikePathsSeen *, cudaStream_t);

/* Each cycle loses its weakest coupling, where the room for that fits into the device's memory */
PETSC_INTERN PetscErrorCode SpikePathsBreak_CUDA(const SpikePathsPlan &, bool *fits, cudaStream_t);

/* Room of SpikePathsNumber_CUDA(), bytes */
PETSC_INTERN PetscErrorCode SpikePathsNumberRoom_CUDA(PetscInt n, size_t *bytes, cudaStream_t);

/*
  newrow of the plan, cut and sample of the look, and what is said of paths, where all rows are in paths, without
  cycles; `sample`, [l->nsample], is of the device
*/
PETSC_INTERN PetscErrorCode SpikePathsNumber_CUDA(SpikePaths *, SpikeLook *, const SpikePathsPlan &, void *room,
                                                  size_t bytes, SpikeLookSample *sample, SpikePathsSeen *,
                                                  cudaStream_t);
