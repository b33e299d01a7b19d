/* SPDX-License-Identifier: BSD-2-Clause */
/* block_lu.cuh: factors of blocks on the device, and how rows wait for rows */
#pragma once

#include "block.cuh"

/* Rows of L, U or of their transposes: at is NULL where the blocks are in this order */
typedef struct {
  PetscInt *ai, *aj, *at;
} SpikeBlockRows;

/* What setup leaves on the device for lufinish() */
typedef struct {
  unsigned long long badrow, overflowrow, pivotrow; /* smallest, all ones where there is none */
  unsigned long long norm;                          /* bits of a number that is not negative, which are ordered as it is */
  unsigned long long nboost;
} SpikeBlockReport;

/* SpikeBlockLU.data */
typedef struct {
  SpikeBlockRows       L, U, LT, UT; /* the last two: where there have been transposed solves, or will be */
  PetscInt            *newrow, *oldrow, *order[2];
  void                *factors; /* L, D, U */
  PetscCount           nl, nu;
  PetscScalar         *work; /* [2 bs nb maxrhs] */
  unsigned            *done; /* [nb] the number of the factorization that a row has last been through */
  unsigned             epoch;
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

/* Blocks of threads that a device holds at once, of a kernel: asked for once */
template <typename K>
static PetscErrorCode SpikeBlockResident(K kernel, int threads, int *resident)
{
  PetscFunctionBegin;
  if (!*resident) PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(resident, kernel, threads, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where column j is among the ascending aj[first .. last), or last */
__device__ static __forceinline__ PetscInt SpikeBlockSearch(const PetscInt *aj, PetscInt first, PetscInt last, PetscInt j)
{
  PetscInt lo = first, hi = last;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (aj[mid] < j) lo = mid + 1;
    else hi = mid;
  }
  return lo < last && aj[lo] == j ? lo : last;
}

/* What another multiprocessor writes while this kernel runs is read past the first-level cache */
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

/* A row says that it is done: its values are written before. All threads of the block of threads call it */
__device__ static __forceinline__ void SpikeBlockPost(unsigned *flag, unsigned epoch)
{
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(epoch) : "memory");
#else
    *flag = epoch;
#endif
  }
}

/* A warp waits for a row */
__device__ static __forceinline__ void SpikeBlockAwait(const unsigned *flag, unsigned epoch)
{
  if ((threadIdx.x & 31) == 0) {
    unsigned now;

    for (;;) {
#if defined(__CUDA_ARCH__)
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(flag) : "memory");
#else
      now = *flag;
#endif
      if (now == epoch) break;
      __nanosleep(20);
    }
  }
  __syncwarp();
}

/* block_lu.cu: what transposed solves want, if it is not there yet: waits then */
PETSC_INTERN PetscErrorCode SpikeBlockLUTransposed_CUDA(SpikeBlockLU *);
