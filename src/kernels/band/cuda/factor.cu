/* SPDX-License-Identifier: BSD-2-Clause */
/* factor.cu: LU factorization of all partitions in place, with the diagonal tiles' factors inverted */
#include "band.cuh"
#include "factor.cuh"
#include "fill.cuh"

bool SpikeFactorHolds_CUDA(const SpikeTiles *t, const SpikeDevice *gpu)
{
#if defined(PETSC_USE_COMPLEX)
  return true;
#else
  const size_t room = (size_t)gpu->shared - SPIKE_FACTOR_STATIC, tile = 32 * 32 * sizeof(double);

  if (t->QL <= 1 && t->QU <= 1) return true;
  return PetscMin(SpikeFactorPlaces(t, false), SpikeFactorPlaces(t, true)) * tile <= room ||
         (t->QU > 0 && (t->QL + 1) * (t->QU + 1) * tile <= room);
#endif
}

/*
  overflowrow <- the complement of the first row with a number in the factors that is not finite: whatever was too large
  for their precision. `exponent`: the bits that are all set in such a number, `bytes`: 2 or 4, of a real number; parts:
  real numbers of an element. Reads the factors once, 16 bytes a thread at a time.
*/
__global__ void __launch_bounds__(256) SpikeFactorCheck(SpikeTiles t, const void *band, PetscInt64 reals, int parts,
                                                        int bytes, unsigned int exponent, SpikeStatus *status)
{
  const PetscInt64 pieces = reals * bytes / 16;
  auto             check  = [&](PetscInt64 i, unsigned int bits) {
    if ((bits & exponent) != exponent) return;
    /* in a tile row of a group the row comes first and then the member, in all tiles and on the diagonal */
    const PetscInt64 element = i / parts, tilerow = element / t.rowsize, in = element % t.rowsize;
    const PetscInt   p = (PetscInt)(tilerow / t.tilerows) * t.G + (PetscInt)(in / t.T % t.G),
                   row = (PetscInt)(tilerow % t.tilerows) * t.T + (PetscInt)(in % t.T);

    if (p < t.np && row < t.start[p + 1] - t.start[p])
      atomicMax(&status->overflowrow, ~((unsigned long long)t.start[p] + row));
  };

  for (PetscInt64 k = (PetscInt64)blockIdx.x * blockDim.x + threadIdx.x; k < pieces;
       k += (PetscInt64)gridDim.x * blockDim.x) {
    const uint4        piece = __ldcs((const uint4 *)band + k);
    const unsigned int w[4]  = {piece.x, piece.y, piece.z, piece.w};

    SpikeUnroll(i, 4) {
      if (bytes == 4) check(4 * k + i, w[i]);
      else {
        check(8 * k + 2 * i, w[i] & 0xFFFF);
        check(8 * k + 2 * i + 1, w[i] >> 16);
      }
    }
  }
  if (blockIdx.x == 0)
    for (PetscInt64 i = pieces * 16 / bytes + threadIdx.x; i < reals; i += blockDim.x)
      check(i, bytes == 4 ? ((const unsigned int *)band)[i] : ((const unsigned short *)band)[i]);
}

static PetscErrorCode SpikeFactorPartitions_Private(SpikeBand *s, SpikePivot *pivot)
{
  SpikeCUDA       *h        = (SpikeCUDA *)s->data;
  SpikePivotPolicy policy   = {(double)pivot->tol, PetscMax((double)pivot->boost, 0.0), SpikePrecisionMax(s->precision),
                               SpikePrecisionLeast(s->precision), pivot->relative ? &h->report->fill.value[3] : NULL};
  const bool       cholesky = SpikeFactorIsCholesky_CUDA(s, &h->t, h->gpu);
  bool             done;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!h->t.tilerows) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->tri) PetscCall(SpikeTriFactorSystems_CUDA(s, pivot));
  else if (h->pivoted) PetscCall(SpikePivotedFactor_CUDA(s, pivot));
  else if (h->batch) PetscCall(SpikeBatchFactorSystems_CUDA(s, pivot));
  if (h->tri || h->pivoted || h->batch) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->left.aa) { /* the rest has nothing to do where that was good */
    PetscCall(SpikeFactorFilled_CUDA(s, &policy));
    PetscCall(SpikeFillAgain_CUDA(s));
  }
  if (cholesky) PetscCall(SpikeFactorCholesky_CUDA(s, &policy));
  else if (h->t.T <= 16) PetscCall(SpikeFactorSmall_CUDA(s, &policy));
  else {
    PetscCall(SpikeFactorCluster_CUDA(s, &policy, &done));
    if (!done) SpikeDispatchPrecision(s->precision, PetscCall(SpikeFactorLarge<F>(s, policy)));
  }
  if (s->precision != PETSC_SPIKE_PRECISION_DOUBLE) {
    const unsigned int exponent = s->precision == PETSC_SPIKE_PRECISION_SINGLE ? 0x7F800000u
                                : s->precision == PETSC_SPIKE_PRECISION_BF16   ? 0x7F80u
                                                                               : 0x7C00u;
    const int bytes = (int)SpikePrecisionBytes(s->precision), parts = (int)(sizeof(PetscScalar) / sizeof(PetscReal));
    const PetscInt64 reals = h->elements * parts;

    SpikeFactorCheck<<<(unsigned int)PetscMin(reals * bytes / 4096 + 1, 8 * h->gpu->multiprocessors), 256, 0,
                       (cudaStream_t)s->stream>>>(h->t, s->band, reals, parts, bytes, exponent, &h->report->factor);
    PetscCallCUDA(cudaGetLastError());
  }
  if (s->cholesky && !cholesky) PetscCall(SpikeDefinite_CUDA(s));
  h->left  = SpikeCSR{};
  h->pivot = pivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFactor_CUDA(SpikeBand *s, SpikePivot *pivot, SpikePivot *corner, PetscReal falloff[])
{
  PetscFunctionBegin;
  SpikeLogged(s, factor, SpikeFactorPartitions_Private(s, pivot));
  if (s->coupled && falloff) {
    corner->nboost = 0; /* no corner is factored */
    SpikeLogged(s, tips, SpikeTips_CUDA(s, falloff));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
