/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_filled.cu: fills that are left to the factorization, which reads the values of the matrix by itself */
#include "band.cuh"
#include "fill.cuh"
#if !defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
  #include "factor_filled.cuh"

  /* tile rows of a partition from which on it pays: with 12 a setup takes 0.88 of the time, with 6 1.06 (H200) */
  #define SPIKE_FILLED_ROWS 10

bool SpikeFactorFills_CUDA(const SpikeBand *s, const SpikeFillCSR *A, const PetscInt *newrow)
{
  const SpikeCUDA  *h = (const SpikeCUDA *)s->data;
  const SpikeTiles *t = &h->t;

  return s->late && !s->cut && !newrow && A->nparts == 1 && s->precision == PETSC_SPIKE_PRECISION_DOUBLE && t->T > 16 &&
         t->QL <= 1 && t->QU <= 1 && t->tilerows >= SPIKE_FILLED_ROWS && !h->pivoted &&
         !SpikeFactorIsCholesky_CUDA(s, t, h->gpu);
}

template <int N8, bool WHOLE>
static PetscErrorCode SpikeFilledShape_Private(const SpikeCUDA *h, int *pairs, size_t *bytes)
{
  const size_t each = sizeof(SpikeWarpShared<double, N8>), room = (size_t)h->gpu->shared - SPIKE_FACTOR_STATIC;

  PetscFunctionBegin;
  *pairs = (int)PetscMin(SPIKE_FACTOR_WARPS, room / each);
  *bytes = PetscMax(*pairs * each, 128 * sizeof(SpikeFillSeen));
  PetscCheck(*pairs, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No shared memory for a partition");
  PetscCall(SpikeKernelFit((const void *)SpikeFactorFilled_Kernel<N8, WHOLE>, 64 * *pairs, *bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int N8, bool WHOLE>
static PetscErrorCode SpikeFactorFilled_Private(SpikeBand *s, const SpikeFilledPlan &f, const SpikePivotPolicy &policy,
                                                unsigned int *ticket)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;
  size_t     bytes;
  int        pairs;

  PetscFunctionBegin;
  PetscCall((SpikeFilledShape_Private<N8, WHOLE>(h, &pairs, &bytes)));
  SpikeFactorFilled_Kernel<N8, WHOLE>
    <<<(unsigned int)((s->np + pairs - 1) / pairs), 64 * pairs, bytes, (cudaStream_t)s->stream>>>(f, (double *)s->band,
                                                                                                  policy,
                                                                                                  (SpikeFilledSeen *)
                                                                                                    h->scratch,
                                                                                                  ticket,
                                                                                                  &h->report->fill,
                                                                                                  &h->report->again);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFactorFilled_CUDA(SpikeBand *s, const SpikePivotPolicy *policy)
{
  SpikeCUDA            *h   = (SpikeCUDA *)s->data;
  const SpikeFillMap   *map = &h->map;
  const SpikeFilledPlan f   = {SpikeFillTiles(s), s->dB,      s->dC,     {h->left.aa},
                               map->code,         map->chunk, map->unit, SpikeFillMagic(h->t.T)};

  PetscFunctionBegin;
  if (h->t.T <= 24) PetscCall((SpikeFactorFilled_Private<3, false>(s, f, *policy, SpikeFillMapTicket(map))));
  else if (h->t.T < 32) PetscCall((SpikeFactorFilled_Private<4, false>(s, f, *policy, SpikeFillMapTicket(map))));
  else PetscCall((SpikeFactorFilled_Private<4, true>(s, f, *policy, SpikeFillMapTicket(map))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFillMapLeave_CUDA(SpikeBand *s, int ld)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  SpikeFillMap      *map    = &h->map;
  const PetscInt64   codes  = (PetscInt64)map->chunks * 32 * map->codes;
  const unsigned int blocks = (unsigned int)PetscMin((codes + 255) / 256, 16384);
  const cudaStream_t stream = (cudaStream_t)s->stream;

  PetscFunctionBegin;
  if (map->codes != SPIKE_FILLED_CODES || map->extra || map->tilerows > 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->t.T <= 24) SpikeFilledCodes_Kernel<3><<<blocks, 256, 0, stream>>>(h->t, ld, codes, map->code);
  else SpikeFilledCodes_Kernel<4><<<blocks, 256, 0, stream>>>(h->t, ld, codes, map->code);
  PetscCallCUDA(cudaGetLastError());
  map->state = 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else
/* Complex numbers, and PETSc in single precision: kernels of their own factor, or none is there */
bool SpikeFactorFills_CUDA(const SpikeBand *, const SpikeFillCSR *, const PetscInt *)
{
  return false;
}

PetscErrorCode SpikeFactorFilled_CUDA(SpikeBand *, const SpikePivotPolicy *)
{
  return PETSC_ERR_PLIB;
}

PetscErrorCode SpikeFillMapLeave_CUDA(SpikeBand *, int)
{
  return PETSC_SUCCESS;
}
#endif
