/* SPDX-License-Identifier: BSD-2-Clause */
/* block.cuh: what the files of the CUDA backend of block.h share */
#pragma once

#include "kernels/block/block.h"
#include "kernels/common/cuda/mma.cuh"
#include <petscdevice_cuda.h>

#define SPIKE_BLOCK_THREADS 512
#define SPIKE_BLOCK_WARPS   (SPIKE_BLOCK_THREADS / 32)
#define SPIKE_BLOCK_ITEMS   32    /* tasks of a launch: they are its argument, of at most 4096 bytes */
#define SPIKE_BLOCK_TICKETS 33    /* of a task: of its blocks of threads in groups, and of the groups */
#define SPIKE_BLOCK_SHARED  32768 /* bytes */

/* A sum, in double precision */
typedef SpikeDouble SpikeBlockSum;

/*
  What a launch knows of a task. first: its first block of threads; k: of a product the block rows of a warp; both: a
  kernel that has both layouts serves it
*/
typedef struct {
  int             kind;
  SpikeBlockMode  mode;
  bool            rowmajor, wide, same, conjugate, both;
  int             k, m, bs;
  unsigned        first, ticket;
  PetscInt        n; /* rows of Y, or of X; block rows of Y in products */
  const void     *X, *Z, *a;
  void           *Y;
  PetscCount      ldx, ldz, ldy;
  const PetscInt *ai, *aj, *at; /* at: where in a the blocks are, NULL: in this order */
  SpikeBlockSum  *partials;
} SpikeBlockItem;

typedef struct {
  int            count;
  unsigned      *tickets;
  SpikeBlockItem item[SPIKE_BLOCK_ITEMS];
} SpikeBlockBatch;

/*
  Kinds of tasks: what has a kernel body of its own. Numbers of columns: up to 4, 8, 16, 32; of a product up to 8, 16,
  32; with blocks of 4, 8 or 16 up to 4, 8, 16, 32, by lanes up to 4, 8, 16, and 1
*/
enum {
  SPIKE_BLOCK_KIND_AXPY      = 0,
  SPIKE_BLOCK_KIND_DOT       = 4,
  SPIKE_BLOCK_KIND_MULT      = 8,
  SPIKE_BLOCK_KIND_TRANSPOSE = 11,
  SPIKE_BLOCK_KIND_WIDE      = 14,
  SPIKE_BLOCK_KIND_LANES     = 18,
  SPIKE_BLOCK_KIND_VECTOR    = 21,
  SPIKE_BLOCK_KINDS          = 22
};

/* The state: SpikeBlock.data */
typedef struct {
  int            multiprocessors;
  unsigned      *tickets; /* [SPIKE_BLOCK_ITEMS SPIKE_BLOCK_TICKETS], zero between launches */
  SpikeBlockSum *partials;
  PetscCount     npartials;
} SpikeBlockCUDA;

/* SpikeBlockMat.data: rows of the matrix, and of its transpose */
typedef struct {
  PetscInt *ai, *aj, *ti, *tj, *tp;
  bool      even; /* no row is much longer than others */
} SpikeBlockMatCUDA;

/* The stream of a call */
static inline PetscErrorCode SpikeBlockStream(const SpikeBlock *s, cudaStream_t *stream)
{
  PetscFunctionBegin;
  if (s->stream) *stream = (cudaStream_t)s->stream;
  else PetscCall(PetscGetCurrentCUDAStream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__host__ __device__ static inline int SpikeBlockClass(int m)
{
  return m <= 4 ? 0 : m <= 8 ? 1 : m <= 16 ? 2 : 3;
}

/* A block of numbers of `size` bytes whose rows, or columns, all begin at multiples of `to` bytes */
static inline bool SpikeBlockAligned(const void *p, PetscCount ld, size_t size, size_t to)
{
  return (size_t)p % to == 0 && (size_t)ld * size % to == 0;
}

/* What a task says, all else zero */
static inline void SpikeBlockDescribe(const SpikeBlockTask *task, SpikeBlockItem *t)
{
  memset((void *)t, 0, sizeof(*t));
  t->mode     = task->mode;
  t->rowmajor = task->rowmajor ? true : false;
  t->k        = (int)task->k;
  t->m        = (int)task->m;
  t->n        = task->n;
  t->X        = task->X;
  t->Z        = task->Z;
  t->Y        = task->Y;
  t->ldx      = task->ldx;
  t->ldz      = task->ldz;
  t->ldy      = task->ldy;
}

/* Task number i has columns that tall blocks can have */
static inline PetscErrorCode SpikeBlockCheckColumns(PetscInt i, PetscInt k, PetscInt m)
{
  PetscFunctionBegin;
  PetscCheck(PetscMin(k, m) >= 1 && PetscMax(k, m) <= SPIKE_BLOCK_MAXM, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Task %" PetscInt_FMT " has %" PetscInt_FMT " and %" PetscInt_FMT " columns, tall blocks have 1 to %d", i,
             k, m, SPIKE_BLOCK_MAXM);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LAYOUT, where a kernel knows it, or what the task says */
#define SPIKE_BLOCK_ANY (-1)
template <int LAYOUT>
__device__ static __forceinline__ bool SpikeBlockRowmajor(const SpikeBlockItem &t)
{
  return LAYOUT == SPIKE_BLOCK_ANY ? t.rowmajor : LAYOUT == 1;
}

/* conj(v) where wanted, in real arithmetic v */
template <typename V>
__device__ static __forceinline__ V SpikeBlockConj(V v, bool wanted)
{
#if defined(PETSC_USE_COMPLEX)
  return wanted ? V(v.real(), -v.imag()) : v;
#else
  (void)wanted;
  return v;
#endif
}

/* N values in a row, one load or store of up to 16 bytes where wide; those from number `have` on are not there */
template <int N, typename V>
__device__ static __forceinline__ void SpikeBlockLoad(const V *p, bool wide, PetscInt have, V v[])
{
  struct alignas(sizeof(V) * N <= 16 ? sizeof(V) * N : 16) Piece {
    V v[N];
  };

  if (wide && have >= N) {
    const Piece q = *(const Piece *)p;

#pragma unroll
    for (int i = 0; i < N; i++) v[i] = q.v[i];
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = i < have ? p[i] : V(0.0);
  }
}

template <int N, typename V>
__device__ static __forceinline__ void SpikeBlockStore(V *p, bool wide, PetscInt have, const V v[])
{
  struct alignas(sizeof(V) * N <= 16 ? sizeof(V) * N : 16) Piece {
    V v[N];
  };

  if (wide && have >= N) {
    Piece q;

#pragma unroll
    for (int i = 0; i < N; i++) q.v[i] = v[i];
    *(Piece *)p = q;
  } else {
#pragma unroll
    for (int i = 0; i < N; i++)
      if (i < have) p[i] = v[i];
  }
}

/* block_run.cu */
PETSC_INTERN PetscErrorCode SpikeBlockRun_CUDA(SpikeBlock *, PetscSpikePrecision, PetscInt, const SpikeBlockTask[]);
/* block_chain.cu */
PETSC_INTERN PetscErrorCode SpikeBlockChain_CUDA(SpikeBlock *, PetscSpikePrecision, const SpikeBlockTask[]);
PETSC_INTERN PetscErrorCode SpikeBlockCholesky_CUDA(SpikeBlock *, PetscSpikePrecision, PetscInt, PetscInt, const void *,
                                                    PetscBool, void *, void *, PetscReal, PetscInt *);
/* block_lu.cu */
PETSC_INTERN PetscErrorCode SpikeBlockLUBytes_CUDA(const SpikeBlockLU *, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode SpikeBlockLUCreate_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUDestroy_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUReserve_CUDA(SpikeBlockLU *, PetscInt);
PETSC_INTERN PetscErrorCode SpikeBlockLUFinish_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUGet_CUDA(SpikeBlockLU *, PetscScalar *, PetscScalar *, PetscScalar *);
/* block_fill.cu, block_factor.cu, block_solve.cu */
PETSC_INTERN PetscErrorCode SpikeBlockLUFill_CUDA(SpikeBlockLU *, const SpikeBlockCSR *, SpikeBlockFillStats *);
PETSC_INTERN PetscErrorCode SpikeBlockLUFactor_CUDA(SpikeBlockLU *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeBlockLUSolve_CUDA(SpikeBlockLU *, SpikeBlockTrans, PetscInt, const PetscScalar *,
                                                   PetscCount, PetscScalar *, PetscCount);
