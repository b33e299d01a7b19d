/* SPDX-License-Identifier: BSD-2-Clause */
/*
  basis.cu: steps over blocks of columns: tall-skinny inner products and updates, with the recurrences of idr.h in their
  last block
*/
#include "basis_dots.cuh"

/*
  q -= g (q - r); p -= g (p - x); q.q, of right-hand side blockIdx.y, ld apart from the next one. Moves 6 words a row.
  Also where there is a reason: it follows the last iteration
*/
__global__ static void __launch_bounds__(SPIKE_KRYLOV_THREADS, SPIKE_BASIS_RESIDENT)
  SpikeBasisSmooth(PetscInt n, const PetscScalar *factor, const PetscScalar *r, const PetscScalar *x, PetscScalar *q,
                   PetscScalar *p, PetscInt64 ld, SpikeBasisEnd e)
{
  const PetscInt stride = (PetscInt)gridDim.x * blockDim.x;
  PetscScalar    d[1]   = {0.0};

  r += blockIdx.y * ld;
  x += blockIdx.y * ld;
  q += blockIdx.y * ld;
  p += blockIdx.y * ld;
  SpikeAwait();
  const PetscScalar g = factor[(PetscInt64)blockIdx.y * e.nsmall];

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const PetscScalar qi = SpikeFma(-g, q[i] - r[i], q[i]);

    q[i] = qi;
    p[i] = SpikeFma(-g, p[i] - x[i], p[i]);
    d[0] += SpikeKrylovDot(qi, qi);
  }
  if (e.nsums) SpikeBasisSums<1, 0>(d, 1, 0, e, blockIdx.y);
}

PetscErrorCode SpikeBasisSmooth_CUDA(const SpikeKrylovCUDA *h, dim3 grid, const SpikeKrylovBasis *b, PetscInt64 ld,
                                     const SpikeBasisEnd &e)
{
  PetscFunctionBegin;
  PetscCall(SpikeBasisLaunch(SpikeBasisSmooth, h, grid, e, b->n, b->g, b->r, b->x, b->q, b->p, ld, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ static void SpikeBasisShadow(PetscInt n, PetscInt start, PetscInt k, PetscInt generation, PetscScalar *p)
{
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    p[i] = SpikeIDRShadow(start + i, k, generation);
}

template <int MFIRST, int MSECOND>
static PetscErrorCode SpikeMovesLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *update,
                                       const SpikeKrylovBasis *combine, const SpikeBasisEnd &e)
{
  const PetscInt                   n = update ? update->n : combine->n;
  SpikeBasisMoves<MFIRST, MSECOND> b;
  const bool                       wide = SpikeMovesMake(update, combine, &b);

  PetscFunctionBegin;
  PetscCall(SpikeBasisLaunch(SpikeBasisMove<MFIRST, MSECOND, false>, h,
                             SpikeBasisGrid(h, SpikeKrylovRounds(n, wide), SPIKE_BASIS_RESIDENT), e, n, b, wide, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With the numbers of vectors that the cycles of s = 1, 2, 4, 8 have, kernels that know them: step k < s - 1 moves k and
  s - 1 - k, step s - 1 moves s - 1, and that of omega s
*/
static PetscErrorCode SpikeMovesSelect(const SpikeKrylovCUDA *h, const SpikeKrylovBasis *update,
                                       const SpikeKrylovBasis *combine, const SpikeBasisEnd &e)
{
  typedef PetscErrorCode (*Launch)(const SpikeKrylovCUDA *, const SpikeKrylovBasis *, const SpikeKrylovBasis *,
                                   const SpikeBasisEnd &);
#define MOVES(MFIRST, MSECOND) \
  { \
    MFIRST, MSECOND, SpikeMovesLaunch<MFIRST, MSECOND> \
  }
  static const struct {
    PetscInt m1, m2;
    Launch   launch;
  } known[] = {MOVES(0, 0), MOVES(0, 1), MOVES(1, 0), MOVES(0, 2), MOVES(0, 3), MOVES(1, 2),
               MOVES(2, 1), MOVES(3, 0), MOVES(0, 4), MOVES(0, 7), MOVES(1, 6), MOVES(2, 5),
               MOVES(3, 4), MOVES(4, 3), MOVES(5, 2), MOVES(6, 1), MOVES(7, 0), MOVES(0, 8)};
#undef MOVES
  const PetscInt m1 = update ? (update->q ? -1 : update->last - update->first) : -1,
                 m2 = combine ? (combine->A && combine->B ? combine->last - combine->first : -1) : 0;
  Launch launch     = SpikeMovesLaunch<-1, -1>;

  PetscFunctionBegin;
  for (const auto &k : known)
    if (k.m1 == m1 && k.m2 == m2) launch = k.launch;
  PetscCall((*launch)(h, update, combine, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

SpikeBasisEnd SpikeKrylovBasisEnd(const SpikeKrylov *s, const SpikeIDRRecurrence *recurrence, PetscInt nsums)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  SpikeBasisEnd          e;

  memset((void *)&e, 0, sizeof(e));
  if (recurrence) {
    e.recurrence = *recurrence;
    e.nsums      = (int)nsums;
    e.recur      = s->ondevice ? true : false;
  }
  e.device   = h->device;
  e.mail     = h->devicemail;
  e.partials = h->basispartials;
  e.small    = s->small;
  e.sums     = h->devicebasissums;
  return e;
}

/* c and a of its block lie in small, on the device */
PetscErrorCode SpikeKrylovBasisStep_CUDA(SpikeKrylov *s, SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                         const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *recurrence)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  const PetscInt         m = b->last - b->first;
  const SpikeBasisEnd    e = SpikeKrylovBasisEnd(s, recurrence,
                                                 SpikeKrylovBasisSums(step, m, b->z ? PETSC_TRUE : PETSC_FALSE,
                                                                   b->q ? PETSC_TRUE : PETSC_FALSE));

  PetscFunctionBegin;
  PetscAssert(m <= s->ncolumns && s->ncolumns <= SPIKE_BASIS_MOST, PETSC_COMM_SELF, PETSC_ERR_PLIB,
              "A basis of %" PetscInt_FMT " vectors, room for %" PetscInt_FMT, m, s->ncolumns);
  if (!s->ondevice && s->scalars->reason && step != SPIKE_KRYLOV_SMOOTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeBegin());
  switch (step) {
  case SPIKE_KRYLOV_DOTS:
    if (b->narrow) PetscCall(SpikeBasisDotsNarrow_CUDA(h, b, e));
    else PetscCall(SpikeDotsSelect<PetscScalar>(h, b, e));
    break;
  case SPIKE_KRYLOV_COMBINE:
    PetscCall(SpikeMovesSelect(h, NULL, b, e));
    break;
  case SPIKE_KRYLOV_UPDATE:
    PetscCall(SpikeMovesSelect(h, b, combine, e));
    break;
  default:
    PetscCall(SpikeBasisSmooth_CUDA(h, dim3(SpikeBasisGrid(h, b->n, SPIKE_BASIS_RESIDENT)), b, 0, e));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(SpikeKrylovBasisFlops(step, b, combine) * b->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBasisSums_CUDA(SpikeKrylov *s, PetscInt nsums, PetscScalar sums[])
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin_CUDA(h, &h->mail->summed, h->summed++));
  for (PetscInt k = 0; k < nsums; k++) sums[k] = SpikeKrylovTake(h->basissums, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complete when the sums of the next step are, before which the host does not change its scalars */
PetscErrorCode SpikeKrylovBasisPush_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCallCUDA(
    cudaMemcpyAsync(s->small, s->hostsmall, h->nsmall * sizeof(PetscScalar), cudaMemcpyHostToDevice, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovShadow_CUDA(PetscInt n, PetscInt start, PetscInt k, PetscInt generation, PetscScalar *p)
{
  const PetscInt blocks = PetscMax(1, PetscMin(4096, (n + SPIKE_KRYLOV_THREADS - 1) / SPIKE_KRYLOV_THREADS));
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  SpikeBasisShadow<<<(unsigned)blocks, SPIKE_KRYLOV_THREADS, 0, stream>>>(n, start, k, generation, p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBasisCreate_CUDA(SpikeKrylov *s, PetscInt ncolumns, PetscInt small)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovBasisDestroy_CUDA(s));
  PetscCall(SpikeCalloc_CUDA(small, h->stream, &s->small));
  PetscCall(SpikeMalloc_CUDA((PetscCount)(ncolumns + 3) * SpikeKrylovMostBlocks(h), &h->basispartials));
  if (!s->ondevice) {
    PetscCall(SpikeMallocHost_CUDA(small, &s->hostsmall));
    PetscCall(PetscArrayzero(s->hostsmall, small));
    PetscCall(SpikeMallocMapped_CUDA(2 * (ncolumns + 3), &h->basissums, &h->devicebasissums));
  }
  s->ncolumns = ncolumns;
  h->nsmall   = small;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBasisDestroy_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCall(SpikeFree_CUDA(s->small, h->basispartials));
  PetscCall(SpikeFreeHost_CUDA(s->hostsmall, h->basissums));
  s->small = s->hostsmall = h->basispartials = NULL;
  h->basissums = h->devicebasissums = NULL;
  s->ncolumns                       = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
