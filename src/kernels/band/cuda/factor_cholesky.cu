/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_cholesky.cu: which bands the device factors by L D L^T, and their launch */
#include "band.cuh"
#include "factor.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "factor_cholesky.cuh"

/* Tiles that shared memory has room for, beside what the kernel has by itself */
static int SpikeCholeskyRoom_Private(const SpikeDevice *gpu, int N8)
{
  return (int)(((size_t)gpu->shared - SPIKE_FACTOR_STATIC) / (64 * N8 * N8 * sizeof(double)));
}

template <typename F, int N8, bool WHOLE, int NWARPS>
static PetscErrorCode SpikeFactorCholesky_Private(SpikeBand *s, const SpikePivotPolicy *policy)
{
  SpikeCUDA   *h      = (SpikeCUDA *)s->data;
  const int    places = PetscMin(SpikeCholeskyPlaces(h->t.QL), SpikeCholeskyRoom_Private(h->gpu, N8));
  const size_t bytes  = places * SpikeTileShape<N8>::NPLACES * sizeof(double);

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeFactorCholesky<F, N8, WHOLE, NWARPS>, 32 * NWARPS, bytes));
  SpikeFactorCholesky<F, N8, WHOLE, NWARPS>
    <<<(unsigned int)s->np, 32 * NWARPS, bytes, (cudaStream_t)s->stream>>>(h->t, (F *)s->band, *policy, places,
                                                                           &h->report->factor, h->badvalue);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode SpikeFactorCholeskyShape_Private(SpikeBand *s, const SpikePivotPolicy *policy)
{
  const SpikeTiles &t = ((SpikeCUDA *)s->data)->t;

  PetscFunctionBegin;
  if (t.T <= 24) PetscCall((SpikeFactorCholesky_Private<F, 3, false, 4>(s, policy))); /* at most 3 tiles on a side */
  else if (t.QL <= 3) {
    if (t.T < 32) PetscCall((SpikeFactorCholesky_Private<F, 4, false, 4>(s, policy)));
    else PetscCall((SpikeFactorCholesky_Private<F, 4, true, 4>(s, policy)));
  } else {
    if (t.T < 32) PetscCall((SpikeFactorCholesky_Private<F, 4, false, 8>(s, policy)));
    else PetscCall((SpikeFactorCholesky_Private<F, 4, true, 8>(s, policy)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Several tiles on either side, factors in double or single precision. Others would be too many kernels */
bool SpikeFactorIsCholesky_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu)
{
#if defined(PETSC_USE_COMPLEX)
  return false;
#else
  return s->cholesky && t->kl == t->ku && t->QL >= 2 && SpikePrecisionBytes(s->precision) > 2 &&
         2 + t->QL <= SpikeCholeskyRoom_Private(gpu, 4);
#endif
}

PetscErrorCode SpikeFactorCholesky_CUDA(SpikeBand *s, const SpikePivotPolicy *policy)
{
  PetscFunctionBegin;
#if defined(PETSC_USE_COMPLEX)
  (void)s, (void)policy;
#else
  if (s->precision == PETSC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeFactorCholeskyShape_Private<SpikeDouble>(s, policy));
  else PetscCall(SpikeFactorCholeskyShape_Private<SpikeSingle>(s, policy));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
