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
static PetscErrorCode SpikeFactorFilled_Private(SpikeBand *s, const SpikeFilledPlan &f, const SpikePivotPolicy &policy)
{
  SpikeCUDA   *h    = (SpikeCUDA *)s->data;
  const size_t each = sizeof(SpikeWarpShared<double, N8>), room = (size_t)h->gpu->shared - SPIKE_FACTOR_STATIC;
  const int    pairs  = (int)PetscMin(SPIKE_FACTOR_WARPS, room / each);
  const size_t bytes  = PetscMax(pairs * each, 128 * sizeof(SpikeFillSeen));
  const auto   kernel = SpikeFactorFilled_Kernel<N8, WHOLE>;

  PetscFunctionBegin;
  PetscCheck(pairs, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No shared memory for a partition");
  PetscCall(SpikeKernelFit((const void *)kernel, 64 * pairs, bytes));
  kernel<<<(unsigned int)((s->np + pairs - 1) / pairs), 64 * pairs, bytes,
           (cudaStream_t)s->stream>>>(f, (double *)s->band, policy, (SpikeFilledSeen *)h->scratch,
                                      SpikeFillMapTicket(&h->map), &h->report->fill, &h->report->again);
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
  if (h->t.T <= 24) PetscCall((SpikeFactorFilled_Private<3, false>(s, f, *policy)));
  else if (h->t.T < 32) PetscCall((SpikeFactorFilled_Private<4, false>(s, f, *policy)));
  else PetscCall((SpikeFactorFilled_Private<4, true>(s, f, *policy)));
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
  if (map->extra) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(map->codes == SPIKE_FILLED_CODES && map->tilerows == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A map of %d codes and %d tile rows", map->codes, map->tilerows);
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
