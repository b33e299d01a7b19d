/* SPDX-License-Identifier: BSD-2-Clause */
/* lu.cuh: factors of blocks on the device, and how rows wait for rows */
#pragma once

#include "block.cuh"
#include "kernels/common/cuda/device.cuh"

/* Rows of L, U or of their transposes: at is NULL where the blocks are in this order */
typedef struct {
  PetscInt *ai, *aj, *at;
} SpikeBlockRows;

/*
  A row's record, in the order in which rows are taken: one load, made a row ahead. other: in solves the row of the
  matrix. In the factorization: whether this row, and all rows that it waits for, update no block but their own diagonal
  one. Their blocks of U are those of the matrix then, and its own blocks of L do not wait for each other.
*/
struct alignas(16) SpikeBlockRow {
  PetscInt i, first, count, other;
};

/* What setup leaves on the device for lufinish() */
typedef struct {
  unsigned long long badrow, overflowrow, pivotrow; /* smallest, all ones where there is none */
  /* bits of a number that is not negative, which are ordered as it is */
  unsigned long long norm;
  unsigned long long nboost;
} SpikeBlockReport;

/* SpikeBlockLU.data */
typedef struct {
  SpikeBlockRows L, U, LT, UT; /* the last two: where there have been transposed solves, or will be */
  PetscInt      *newrow;
  SpikeBlockRow *solve[2]; /* [2 nb] rows of both solves; [1]: of the transposed ones */
  SpikeBlockRow *factor;   /* [nb] */
  /* [nl] for rows of `factor` with other set: the place of U_ki for L_ik, -1: none. NULL without such rows */
  PetscInt            *back;
  void                *factors; /* L, D, U */
  PetscCount           nl, nu;
  PetscScalar         *work;     /* [2 nb bs maxrhs], bs rounded up to an even number */
  unsigned            *done;     /* [nb] 1 where a row is done */
  double              *badvalue; /* [nb] */
  SpikeBlockReport    *report, *hostreport;
  SpikeBlockFillStats *fillstats;
  SpikePivot          *pivot;
  int                  multiprocessors;
} SpikeBlockLUCUDA;

template <typename V>
struct SpikeBlockParts {
  V *L, *D, *U;

  SpikeBlockParts(const SpikeBlockLU *lu)
  {
    const SpikeBlockLUCUDA *h  = (const SpikeBlockLUCUDA *)lu->data;
    const PetscCount        b2 = (PetscCount)lu->p->bs * lu->p->bs;

    L = (V *)h->factors;
    D = L + h->nl * b2;
    U = D + lu->p->nb * b2;
  }
};

/* Where column j is among the ascending aj[first .. last), or last */
__device__ static __forceinline__ PetscInt SpikeBlockSearch(const PetscInt *aj, PetscInt first, PetscInt last,
                                                            PetscInt j)
{
  PetscInt lo = first, hi = last;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (aj[mid] < j) lo = mid + 1;
    else hi = mid;
  }
  return lo < last && aj[lo] == j ? lo : last;
}

/* Values that another multiprocessor writes while this kernel runs are read past the L1 cache */
__device__ static __forceinline__ double SpikeBlockFresh(const double *p)
{
  return __ldcg(p);
}
__device__ static __forceinline__ float SpikeBlockFresh(const float *p)
{
  return __ldcg(p);
}
#if defined(PETSC_USE_COMPLEX)
template <typename R>
__device__ static __forceinline__ thrust::complex<R> SpikeBlockFresh(const thrust::complex<R> *p)
{
  return thrust::complex<R>(__ldcg((const R *)p), __ldcg((const R *)p + 1));
}
#endif

/* Row t of the order, or none */
__device__ static __forceinline__ SpikeBlockRow SpikeBlockRowLoad(const SpikeBlockRow *rows, PetscCount t,
                                                                  PetscCount end)
{
  SpikeBlockRow r = {0, 0, 0, 0};

  if (t < end) r = rows[t];
  return r;
}

/* Marks a row as done. Its values are written, and the threads that wrote them have met the one that calls */
__device__ static __forceinline__ void SpikeBlockPost(unsigned *flag)
{
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(1u) : "memory");
#else
  *flag = 1;
#endif
}

/* Each lane that wants to waits for a row */
__device__ static __forceinline__ void SpikeBlockAwait(const unsigned *flag, bool wants)
{
  unsigned now = wants ? 0 : 1;

  do {
    if (!now) {
#if defined(__CUDA_ARCH__)
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(flag) : "memory");
#else
      now = __ldcg(flag);
#endif
    }
  } while (__any_sync(SPIKE_WARP, now != 1));
  __syncwarp();
}

/*
  lu.cu: rows of the transpose on the device, and the places of their entries; hti, or NULL: the beginning of each row
  on the host, for the caller to free
*/
PETSC_INTERN PetscErrorCode SpikeBlockTransposeRows_CUDA(PetscInt mb, PetscInt nb, const PetscInt ai[],
                                                         const PetscInt aj[], cudaStream_t, PetscInt **dti,
                                                         PetscInt **dtj, PetscInt **dtp, PetscInt **hti);
/* What transposed solves need, if it is not there yet: waits then */
PETSC_INTERN PetscErrorCode SpikeBlockLUTransposed_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUBytes_CUDA(const SpikeBlockLU *, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode SpikeBlockLUCreate_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUDestroy_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUReserve_CUDA(SpikeBlockLU *, PetscInt);
PETSC_INTERN PetscErrorCode SpikeBlockLUFinish_CUDA(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode SpikeBlockLUGet_CUDA(SpikeBlockLU *, PetscScalar *, PetscScalar *, PetscScalar *);
/* fill.cu, factor.cu, solve.cu */
PETSC_INTERN PetscErrorCode SpikeBlockLUFill_CUDA(SpikeBlockLU *, const SpikeBlockCSR *, SpikeBlockFillStats *);
PETSC_INTERN PetscErrorCode SpikeBlockLUFactor_CUDA(SpikeBlockLU *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeBlockLUSolve_CUDA(SpikeBlockLU *, SpikeBlockTrans, PetscInt, const PetscScalar *,
                                                   PetscCount, PetscScalar *, PetscCount);
