/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.cuh: what the files of the CUDA backend of dia.h share: the sum of a row, and the tables on the device */
#pragma once

#include "kernels/common/cuda/memory.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/dia/dia.h"

#define SPIKE_DIA_THREADS 256
#define SPIKE_DIA_SHORT   32 /* offsets that a launch takes with it; more of them are read from memory */
#if defined(PETSC_USE_COMPLEX) && !defined(PETSC_USE_REAL_SINGLE)
  #define SPIKE_DIA_RESIDENT 3 /* blocks of a multiprocessor */
#else
  #define SPIKE_DIA_RESIDENT 5
#endif
#define SPIKE_DIA_WORK 65536 /* values that sums() fetches at once */

/*
  Entries of a row that are on their way at once: rows of 27, 9, 7, 5 and 3 points in whole batches; of a shorter row
  nothing is read beyond its end
*/
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_MULT_BATCH 5
#else
  #define SPIKE_MULT_BATCH 9
#endif

/*
  sum += a_d b_d over d = t, t + T, ... < count, in this order. entry(d, there, &a, &b) reads both; where `there` is
  false it reads nothing and gives zeros. Those of a batch are on their way at once. All products by diagonals use it:
  of krylov.h, of matrices and of transposed ones
*/
template <int T, typename E>
__device__ static __forceinline__ PetscScalar SpikeDIASum(int t, int count, PetscScalar sum, E &&entry)
{
  for (int d = t; d < count; d += SPIKE_MULT_BATCH * T) {
    PetscScalar a[SPIKE_MULT_BATCH], b[SPIKE_MULT_BATCH];

    SpikeUnroll(u, SPIKE_MULT_BATCH) entry(d + u * T, d + u * T < count, &a[u], &b[u]);
    SpikeUnroll(u, SPIKE_MULT_BATCH) sum = SpikeFma(a[u], b[u], sum);
  }
  return sum;
}

/*
  Of a diagonal: rows first <= i < own have their columns in ghost[i + offset + below], own <= i < upper are the rank's
  own, upper <= i < last in ghost[i + offset + above]
*/
typedef struct {
  PetscInt offset, first, own, upper, last, below, above;
} SpikeDIATable;

/* Column of row i, first <= i < last, in x or in ghost */
__device__ static __forceinline__ PetscScalar SpikeDIAEntry(const SpikeDIATable &t, PetscInt i, const PetscScalar *x,
                                                            const PetscScalar *ghost)
{
  return i >= t.own && i < t.upper ? x[i + t.offset] : ghost[i + t.offset + (i < t.own ? t.below : t.above)];
}

/* What SpikeDIA.data points to */
typedef struct {
  PetscInt      *offset; /* [count] on the device */
  SpikeDIATable *table;  /* [count] on the device */
  PetscReal     *work;   /* [SPIKE_DIA_WORK] on the device */
} SpikeDIACUDA;

static inline PetscInt64 SpikeDIALd(const SpikeDIA *A)
{
  return ((PetscInt64)A->n + 31) / 32 * 32;
}

/* Blocks for n values, a thread each; at least one, which finds nothing to do */
static inline unsigned SpikeDIAThreadBlocks(PetscInt64 n)
{
  return (unsigned)PetscMax(1, (n + SPIKE_DIA_THREADS - 1) / SPIKE_DIA_THREADS);
}

/* A kernel with a thread for each of n values, on the stream of A; no launch where n is 0 */
template <typename... P, typename... X>
static PetscErrorCode SpikeDIALaunch(const SpikeDIA *A, PetscInt64 n, void (*kernel)(P...), X... arguments)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (n < 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  kernel<<<SpikeDIAThreadBlocks(n), SPIKE_DIA_THREADS, 0, stream>>>(arguments...);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__device__ static __forceinline__ PetscInt64 SpikeDIAThread(void)
{
  return (PetscInt64)blockIdx.x * SPIKE_DIA_THREADS + threadIdx.x;
}

/* mult.cu */
PETSC_INTERN PetscErrorCode SpikeDIAMult_CUDA(const SpikeDIA *, PetscInt, PetscInt, const PetscScalar *,
                                              const PetscScalar *, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIAMultTranspose_CUDA(const SpikeDIA *, PetscBool, const PetscScalar *,
                                                       const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIAMultTransposeGhost_CUDA(const SpikeDIA *, PetscBool, const PetscScalar *,
                                                            PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIAPack_CUDA(const SpikeDIA *, PetscInt, const SpikeDIARun[], const PetscScalar *,
                                              PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIAUnpackAdd_CUDA(const SpikeDIA *, PetscInt, const SpikeDIARun[], const PetscScalar *,
                                                   PetscScalar *);

/* values.cu */
PETSC_INTERN PetscErrorCode SpikeDIAFill_CUDA(SpikeDIA *, PetscInt, const SpikeCSR[]);
PETSC_INTERN PetscErrorCode SpikeDIAZero_CUDA(SpikeDIA *);
PETSC_INTERN PetscErrorCode SpikeDIAScale_CUDA(SpikeDIA *, PetscScalar);
PETSC_INTERN PetscErrorCode SpikeDIAConjugate_CUDA(SpikeDIA *);
PETSC_INTERN PetscErrorCode SpikeDIADiagonalScale_CUDA(SpikeDIA *, const PetscScalar *, const PetscScalar *,
                                                       const PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIAAXPY_CUDA(SpikeDIA *, PetscScalar, const SpikeDIA *);
PETSC_INTERN PetscErrorCode SpikeDIACopy_CUDA(SpikeDIA *, const SpikeDIA *);
PETSC_INTERN PetscErrorCode SpikeDIAGetDiagonal_CUDA(const SpikeDIA *, PetscInt, PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIASetDiagonal_CUDA(SpikeDIA *, PetscInt, PetscBool, PetscScalar, const PetscScalar *);
PETSC_INTERN PetscErrorCode SpikeDIASums_CUDA(const SpikeDIA *, SpikeDIASums, PetscReal *, PetscReal *);

/* scan.cu */
PETSC_INTERN PetscErrorCode SpikeDIAScan_CUDA(const SpikeDIA *, PetscReal[], PetscInt[2]);
PETSC_INTERN PetscErrorCode SpikeDIASample_CUDA(const SpikeDIA *, PetscInt, PetscScalar *);

/* halo.cu */
PETSC_INTERN PetscErrorCode SpikeDIAConnect_CUDA(MPI_Comm, PetscBool, PetscInt, const SpikeHaloMessages *,
                                                 const SpikeHaloMessages *, SpikeHaloLink **);
PETSC_INTERN PetscErrorCode SpikeDIADisconnect_CUDA(SpikeHaloLink **);
PETSC_INTERN PetscErrorCode SpikeDIALeave_CUDA(void *, SpikeHaloLink *, PetscInt, PetscBool);
PETSC_INTERN PetscErrorCode SpikeDIAReady_CUDA(SpikeHaloLink *, PetscInt);
PETSC_INTERN PetscErrorCode SpikeDIAExchange_CUDA(void *, SpikeHaloLink *, PetscInt, PetscInt, const SpikeMessage[]);
PETSC_INTERN PetscErrorCode SpikeDIAArrive_CUDA(void *, SpikeHaloLink *, PetscInt, PetscBool);
