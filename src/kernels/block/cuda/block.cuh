/* SPDX-License-Identifier: BSD-2-Clause */
/* block.cuh: what the files of the CUDA backend of block.h share */
#pragma once

#include "policy.cuh"
#include "kernels/common/cuda/memory.cuh"
#include "kernels/common/cuda/mma.cuh"

/* A sum, in double precision */
typedef SpikeDouble SpikeBlockSum;

/* What a launch knows of a task */
typedef struct {
  SpikeBlockKind kind;
  SpikeBlockMode mode;
  int            columns; /* of the kernel: at least k and m */
  /* wide: Y, and X of tall blocks, at multiples of 16 bytes; same: Z is X */
  bool            rowmajor, wide, same, conjugate;
  int             k, m, bs;      /* k of a product: the block rows of a warp */
  unsigned        first, ticket; /* first thread block; number of the task in the batch */
  PetscInt        n;             /* rows of Y, or of X; of a product: block rows of Y */
  const void     *X, *Z, *a;
  void           *Y;
  PetscCount      ldx, ldz, ldy;
  const PetscInt *ai, *aj, *at; /* at: where in a the blocks are; NULL: in this order */
  SpikeBlockSum  *partials;
} SpikeBlockItem;

typedef struct {
  int            count;
  unsigned      *tickets;
  SpikeBlockItem item[SPIKE_BLOCK_ITEMS];
} SpikeBlockBatch;

/* The state: SpikeBlock.data */
typedef struct {
  int            multiprocessors;
  unsigned      *tickets; /* [SPIKE_BLOCK_ITEMS SPIKE_BLOCK_TICKETS], zero between launches */
  SpikeBlockSum *partials;
  PetscCount     npartials;
} SpikeBlockCUDA;

/* SpikeBlockMat.data: rows of the matrix, and of its transpose */
typedef struct {
  PetscInt  *ai, *aj, *ti, *tj, *tp;
  PetscCount blocks;
  bool       even; /* no row is much longer than others */
} SpikeBlockMatCUDA;

/* A block of numbers of `size` bytes whose rows, or columns, all begin at multiples of `to` bytes */
static inline bool SpikeBlockAligned(const void *p, PetscCount ld, size_t size, size_t to)
{
  return (size_t)p % to == 0 && (size_t)ld * size % to == 0;
}

/* *t <- the fields of the task, for axpy and dot also their kernel; all else zero. size: bytes of a value */
static inline void SpikeBlockDescribe(const SpikeBlockTask *task, int size, SpikeBlockItem *t)
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
  if (task->op == SPIKE_BLOCK_AXPY) {
    t->kind    = SPIKE_BLOCK_KIND_AXPY;
    t->columns = SpikeBlockColumns(PetscMax(t->k, t->m));
    t->wide    = SpikeBlockAligned(t->X, t->ldx, size, 16) && SpikeBlockAligned(t->Y, t->ldy, size, 16);
  } else if (task->op == SPIKE_BLOCK_DOT) {
    t->kind    = SPIKE_BLOCK_KIND_DOT;
    t->columns = SpikeBlockColumns(PetscMax(t->k, t->m));
    t->wide    = SpikeBlockAligned(t->X, t->ldx, size, 16) && SpikeBlockAligned(t->Z, t->ldz, size, 16);
    t->same    = t->X == t->Z && t->ldx == t->ldz && t->k == t->m;
  }
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

/* MAJOR where the kernel knows it, or else what the task says */
template <SpikeBlockLayout MAJOR>
__device__ static __forceinline__ bool SpikeBlockIsRowmajor(const SpikeBlockItem &t)
{
  return MAJOR == SPIKE_BLOCK_EITHER ? t.rowmajor : MAJOR == SPIKE_BLOCK_ROWMAJOR;
}

/* conj(v) where wanted, in real arithmetic v */
template <typename V>
__device__ static __forceinline__ V SpikeBlockConj(V v, bool wanted)
{
#if defined(PETSC_USE_COMPLEX)
  return wanted ? V(v.real(), -v.imag()) : v;
#else
  return v;
#endif
}

/* N consecutive values, by one load or store of up to 16 bytes where wide; those from number `have` on do not exist */
template <int N, typename V>
__device__ static __forceinline__ void SpikeBlockLoad(const V *p, bool wide, PetscInt have, V v[])
{
  struct alignas(sizeof(V) * N <= 16 ? sizeof(V) * N : 16) Piece {
    V v[N];
  };

  if (wide && have >= N) {
    const Piece q = *(const Piece *)p;

    SpikeUnroll(i, N) v[i] = q.v[i];
  } else {
    SpikeUnroll(i, N) v[i] = i < have ? p[i] : V(0.0);
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

    SpikeUnroll(i, N) q.v[i] = v[i];
    *(Piece *)p = q;
  } else {
    SpikeUnroll(i, N)
      if (i < have) p[i] = v[i];
  }
}

/* assemble.cu */
PETSC_INTERN PetscErrorCode SpikeBlockPack_CUDA(SpikeBlock *, PetscInt, PetscInt, const PetscInt[], const PetscScalar[],
                                                PetscScalar[]);
PETSC_INTERN PetscErrorCode SpikeBlockUnpackAdd_CUDA(SpikeBlock *, PetscInt, PetscInt, const PetscInt[],
                                                     const PetscScalar[], PetscScalar[]);
PETSC_INTERN PetscErrorCode SpikeBlockAssemble_CUDA(SpikeBlock *, PetscCount, const PetscCount[], const PetscCount[],
                                                    const PetscScalar[], PetscBool, PetscScalar[]);

/* run.cu, chain.cu */
PETSC_INTERN PetscErrorCode SpikeBlockRun_CUDA(SpikeBlock *, PetscSpikePrecision, PetscInt, const SpikeBlockTask[]);
PETSC_INTERN PetscErrorCode SpikeBlockChain_CUDA(SpikeBlock *, PetscSpikePrecision, const SpikeBlockTask[]);
