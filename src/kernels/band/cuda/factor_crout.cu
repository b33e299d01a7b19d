/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_crout.cu: which bands the device factors by Crout's method, and their launch */
#include "band.cuh"
#include "factor.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "factor_crout.cuh"

/* *done <- whether a thread block has room for the kernel, which is then launched */
template <typename F, bool WHOLE, int NWARPS>
static PetscErrorCode SpikeFactorCrout_Private(SpikeBand *s, const SpikePivotPolicy *policy, bool *done)
{
  SpikeCUDA   *h        = (SpikeCUDA *)s->data;
  const size_t tile     = SpikeTileShape<4>::NPLACES * sizeof(double);
  const int    most     = (int)(((size_t)h->gpu->shared - SPIKE_FACTOR_STATIC) / tile),
            staged      = PetscMin(SpikeCroutMostStaged(h->t.QL, h->t.QU), (most - SpikeCroutPlaces(0)) / 4);
  const size_t bytes    = SpikeCroutPlaces(staged) * tile;
  int          resident = 0;

  PetscFunctionBegin;
  if (staged > 0)
    PetscCall(SpikeKernelResident((const void *)SpikeFactorCrout<F, 4, WHOLE, NWARPS>, 32 * NWARPS, bytes, &resident));
  *done = resident > 0;
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeFactorCrout<F, 4, WHOLE, NWARPS>
    <<<(unsigned int)s->np, 32 * NWARPS, bytes, (cudaStream_t)s->stream>>>(h->t, (F *)s->band, *policy, staged,
                                                                           &h->report->factor, h->badvalue);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F>
static PetscErrorCode SpikeFactorCroutShape_Private(SpikeBand *s, const SpikePivotPolicy *policy, bool *done)
{
  const SpikeTiles &t = ((const SpikeCUDA *)s->data)->t;

  PetscFunctionBegin;
  if (t.QL <= 2 && t.QU <= 2) {
    if (t.T < 32) PetscCall((SpikeFactorCrout_Private<F, false, 4>(s, policy, done)));
    else PetscCall((SpikeFactorCrout_Private<F, true, 4>(s, policy, done)));
  } else {
    if (t.T < 32) PetscCall((SpikeFactorCrout_Private<F, false, 8>(s, policy, done)));
    else PetscCall((SpikeFactorCrout_Private<F, true, 8>(s, policy, done)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode SpikeFactorCrout_CUDA(SpikeBand *s, const SpikePivotPolicy *policy, bool *done)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;

  PetscFunctionBegin;
  *done = false;
  if (!SpikeTilesCrout(&h->t, h->crout)) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSC_USE_COMPLEX)
  (void)policy;
#else
  SpikeDispatchPrecision(s->precision, PetscCall(SpikeFactorCroutShape_Private<F>(s, policy, done)));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
