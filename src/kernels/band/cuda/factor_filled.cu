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
  const size_t each = sizeof(SpikeFilledShared<N8>), room = (size_t)h->gpu->shared - SPIKE_FACTOR_STATIC;
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
  const SpikeFilledPlan f   = {SpikeFillTiles(s), s->dB,     s->dC,          h->left.ai,
                               h->left.aa,        map->code, map->codes / 4, SpikeFillMagic(h->t.T)};

  PetscFunctionBegin;
  if (h->t.T <= 24) PetscCall((SpikeFactorFilled_Private<3, false>(s, f, *policy)));
  else if (h->t.T < 32) PetscCall((SpikeFactorFilled_Private<4, false>(s, f, *policy)));
  else PetscCall((SpikeFactorFilled_Private<4, true>(s, f, *policy)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  map.state <- 2 where all entries lie in the band, the codes, as many for each row as the longest one has, are not many
  more than the entries, and memory is there; else the map is as it was. The host waits twice
*/
PetscErrorCode SpikeFilledMapCreate_CUDA(SpikeBand *s, const SpikeCSR *A, PetscReal entries)
{
  SpikeCUDA         *h        = (SpikeCUDA *)s->data;
  SpikeFillMap      *map      = &h->map;
  const SpikeTiles  *t        = &h->t;
  const cudaStream_t stream   = (cudaStream_t)s->stream;
  const PetscInt64   tilerows = (PetscInt64)t->np * t->tilerows;
  const unsigned int blocks   = (unsigned int)PetscMin((tilerows + 7) / 8, 8 * h->gpu->multiprocessors);
  const int          magic    = SpikeFillMagic(t->T);
  int               *found, most, outside, groups; /* found: most entries of a row, whether one lies outside */

  PetscFunctionBegin;
  PetscCall(SpikeFillMapMalloc(map, 7, &map->unit)); /* for SpikeFillMapTicket() */
  if (!map->unit) PetscFunctionReturn(PETSC_SUCCESS);
  map->units = 0;
  PetscCallCUDA(cudaMemsetAsync(map->unit, 0, 7 * sizeof(int), stream));
  found = map->unit;
  SpikeFilledMost_Kernel<<<(unsigned int)PetscMin((s->n + 255) / 256, 1024), 256, 0, stream>>>(s->n, A->ai, found);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&most, found, sizeof(int), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  groups = (most + 3) / 4;
  if (most <= 2 * t->T + 1 && 128.0 * groups * tilerows <= 4 * entries + 65536)
    PetscCall(SpikeFillMapMalloc(map, PetscMax(1, tilerows * groups * 128), &map->code));
  if (map->code) {
    if (t->T <= 24) SpikeFilledCodes_Kernel<3><<<blocks, 256, 0, stream>>>(*t, *A, magic, groups, map->code, found + 1);
    else SpikeFilledCodes_Kernel<4><<<blocks, 256, 0, stream>>>(*t, *A, magic, groups, map->code, found + 1);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(&outside, found + 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    if (!outside) {
      map->state = 2;
      map->codes = 4 * groups;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(SpikeFillMapDestroy_CUDA(map));
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

PetscErrorCode SpikeFilledMapCreate_CUDA(SpikeBand *, const SpikeCSR *, PetscReal)
{
  return PETSC_SUCCESS;
}
#endif
