/* SPDX-License-Identifier: BSD-2-Clause */
/* apply.cu: an application in one launch: which bands have it, and its launch */
#include "apply.cuh"

/* Its kernel for tiles t, and the bytes of its ring with so many slots */
template <typename F>
static void *SpikeApplyKernel_Private(const SpikeTiles *t, int depth, size_t *shared)
{
  void *kernel;

  SpikeDispatchTile(t, {
    kernel  = (void *)SpikeApply_Kernel<F, L, FULL>;
    *shared = SpikeRing<FULL>::RingBytes(1, depth, t->G * (t->T * t->T + t->T) * (int)sizeof(F));
  });
  return kernel;
}

/* Whether a band may have it. Where interfaces with other ranks are active, messages lie between sweep and solve */
static bool SpikeApplyMay_Private(const SpikeBand *s)
{
  const SpikeCUDA *h     = (const SpikeCUDA *)s->data;
  PetscInt         least = s->n;

  for (PetscInt p = 0; p < s->np; p++) least = PetscMin(least, s->start[p + 1] - s->start[p]);
  return s->coupled && s->np > 1 && !h->tri && !h->batch && !h->pivoted && h->t.QL <= 1 && h->t.QU <= 1 &&
         !s->active[0] && !s->active[s->np] && least >= PetscMax(s->kl, s->ku);
}

/* Bytes of what its thread blocks hand over to each other */
PetscReal SpikeApplyBytes_CUDA(const SpikeBand *s, const SpikeTiles *t)
{
  return t->QL > 1 || t->QU > 1
         ? 0.0
         : sizeof(PetscScalar) * (s->np + 1.0) * (2.0 * s->kl + s->ku) + sizeof(unsigned) * (t->groups() + 1.0);
}

PetscErrorCode SpikeApplyCreate_CUDA(SpikeBand *s)
{
  SpikeCUDA         *h = (SpikeCUDA *)s->data;
  cudaFuncAttributes attributes;
  size_t             shared;
  void              *kernel = NULL;
  int                alone;
  const PetscCount   places = (PetscCount)(s->np + 1) * (2 * s->kl + s->ku);

  PetscFunctionBegin;
  if (!SpikeApplyMay_Private(s)) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeDispatchPrecision(s->precision, kernel = SpikeApplyKernel_Private<F>(&h->t, 1, &shared));
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  h->applyshared = attributes.sharedSizeBytes + 1024; /* and the system's of a block */
  if (attributes.sharedSizeBytes > (size_t)h->gpu->shared) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKernelResident(kernel, 32, h->gpu->shared - attributes.sharedSizeBytes, &alone)); /* its limit */
  PetscCall(SpikeKernelResident(kernel, 32, 0, &h->applyblocks));
  if (!h->applyblocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeCalloc_CUDA((PetscCount)h->t.groups() + 1, (cudaStream_t)s->stream, &h->turn));
  PetscCall(SpikeMalloc_CUDA(PetscMax(places, 1), &h->hand));
  PetscCallCUDA(cudaMemsetAsync(h->hand, 0xFF, (size_t)places * sizeof(PetscScalar), (cudaStream_t)s->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One right-hand side, where the vectors fit in shared memory beside two slots of the ring. It need not be that all
  thread blocks are on the device at once, but where they are not, those that come late have nobody to overlap with.
*/
PetscErrorCode SpikeApply_CUDA(SpikeBand *s, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                               PetscCount ldx, PetscBool *done)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;
  SpikeApplyArgs   args;
  const int        K = (int)PetscMax(s->kl, s->ku), most = h->gpu->multiprocessors;
  unsigned         grid;
  int              blocks;
  size_t           vectors, room, shared = 0;
  void            *kernel = NULL, *list = &args;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  /* by itself not before its times are known */
  if (!h->hand || s->form != SPIKE_APPLY_ONE || nrhs != 1 || s->full) PetscFunctionReturn(PETSC_SUCCESS);
  grid    = (unsigned)(h->t.groups() + (h->t.G > 1));
  blocks  = (int)((grid + most - 1) / most);
  blocks  = PetscMin(blocks, h->applyblocks);
  vectors = SpikeResidentBytes(&h->t, h->t.tilerows + h->correctrows + 2);
  room    = ((size_t)h->gpu->shared + 1024) / blocks;
  room    = room > vectors + h->applyshared ? room - vectors - h->applyshared : 0;
  memset((void *)&args, 0, sizeof(args));
  args.s.depth = SPIKE_RING_DEPTH;
  for (;; args.s.depth--) {
    SpikeDispatchPrecision(s->precision, kernel = SpikeApplyKernel_Private<F>(&h->t, args.s.depth, &shared));
    if (shared <= room) break;
    if (args.s.depth == 2) PetscFunctionReturn(PETSC_SUCCESS);
  }
  args.s.t         = h->t;
  args.s.band      = s->band;
  args.s.p1        = s->np;
  args.s.b         = b;
  args.s.x         = x;
  args.s.B         = s->dB;
  args.s.C         = s->dC;
  args.s.Vb        = s->dVb;
  args.s.Wt        = s->dWt;
  args.s.R         = s->dR;
  args.s.window    = h->window;
  args.s.ht        = (int)s->kl;
  args.s.hb        = (int)s->ku;
  args.s.rows      = h->t.tilerows;
  args.hand        = h->hand;
  args.turn        = h->turn;
  args.correctrows = h->correctrows;
  args.threads     = K <= 8 ? 32 : 128;
  args.prefetch    = (s->np + 1) * (2.0 * s->kl + s->ku) * (s->ku + s->kl) * sizeof(PetscScalar) < SPIKE_SWEEP_AHEAD;
  PetscCallCUDA(SpikeLaunchEarly(kernel, dim3(grid), dim3(32), vectors + shared, (cudaStream_t)s->stream, &list));
  PetscCall(PetscLogGpuFlops((2.0 * s->kl + 2.0 * s->ku + 1.0) * s->n +
                             (s->np - 1) * (4.0 * s->kl * s->ku + 2.0 * s->ku * s->ku) +
                             (2.0 * s->kl + 2.0 * s->ku + 2.0) * h->windowrows));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
