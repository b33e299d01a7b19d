/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov.cu: the CUDA backend of krylov.h: state, steps, posts, graphs */
#include "basis.cuh"
#include "step.cuh"

static void SpikeKrylovClear(SpikeKrylovMailPost *post)
{
  post->norm     = SPIKE_KRYLOV_UNWRITTEN;
  post->replaced = SPIKE_KRYLOV_UNWRITTEN;
  post->ended    = SPIKE_KRYLOV_UNWRITTEN;
}

static PetscErrorCode SpikeKrylovCreate_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  s->data = h;
  PetscCall(PetscGetCurrentCUDAStream(&h->stream));
  PetscCall(SpikeDeviceGet(&h->gpu));
  PetscCall(SpikeCalloc_CUDA(1, h->stream, &h->device));
  PetscCall(SpikeMalloc_CUDA((PetscCount)SpikeKrylovPartials(h, s->alone), &h->partials));
  s->bytes = (PetscReal)(sizeof(*h->device) + SpikeKrylovPartials(h, s->alone) * sizeof(*h->partials));
  PetscCall(SpikeMallocMapped_CUDA(1, &h->mail, &h->devicemail));
  memset((void *)h->mail, 0, sizeof(*h->mail));
  for (int k = 0; k < SPIKE_KRYLOV_POSTS; k++) SpikeKrylovClear(&h->mail->ring[k]);
  PetscCall(SpikeMallocHost_CUDA(1, &s->scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends a capture. *graph <- what was captured; graph is NULL after an error, in which nobody has ended it */
static PetscErrorCode SpikeKrylovEndCapture(SpikeKrylovCUDA *h, void **graph)
{
  cudaGraph_t     captured = NULL;
  cudaGraphExec_t exec     = NULL;

  PetscFunctionBegin;
  if (!h->capturing) PetscFunctionReturn(PETSC_SUCCESS);
  if (cudaStreamEndCapture(h->own, &captured) == cudaSuccess && graph &&
      cudaGraphInstantiate(&exec, captured, 0) == cudaSuccess)
    *graph = (void *)exec;
  h->stream    = h->outer;
  h->capturing = false;
  if (captured) PetscCallCUDA(cudaGraphDestroy(captured));
  (void)cudaGetLastError();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovDestroy_CUDA(SpikeKrylov *s)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKrylovEndCapture(h, NULL));
  PetscCallCUDA(cudaStreamSynchronize(h->stream)); /* an iteration too many may still be on its way */
  PetscCall(SpikeKrylovBasisDestroy_CUDA(s));
  if (h->own) PetscCallCUDA(cudaStreamDestroy(h->own));
  PetscCall(SpikeFree_CUDA(h->device, h->partials));
  PetscCall(SpikeFreeHost_CUDA(h->mail, s->scalars));
  s->scalars = NULL;
  PetscCall(PetscFree(s->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovPush_CUDA(SpikeKrylov *s, PetscBool testonly)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovEndCapture(h, NULL));
  PetscCall(PetscGetCurrentCUDAStream(&h->stream));
  /* t is the first member */
  PetscCallCUDA(cudaMemcpyAsync(&h->device->s, s->scalars, testonly ? sizeof(s->scalars->t) : sizeof(*s->scalars),
                                cudaMemcpyHostToDevice, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovResume_CUDA(SpikeKrylov *s)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCallCUDA(
    cudaMemcpyAsync(&h->device->s.t, &s->scalars->t, sizeof(s->scalars->t), cudaMemcpyHostToDevice, h->stream));
  PetscCallCUDA(cudaMemcpyAsync(&h->device->s.reason, &s->scalars->reason, sizeof(s->scalars->reason),
                                cudaMemcpyHostToDevice, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void *SpikeKrylovStream_CUDA(SpikeKrylov *s)
{
  return (void *)((SpikeKrylovCUDA *)s->data)->stream;
}

/*
  A graph of the work enqueued between begin and end, on a stream of our own, because the legacy stream cannot be
  captured. It is a blocking stream: work that others enqueue on the legacy stream meanwhile then ends the capture with
  an error, in place of being lost in silence, and *graph stays NULL.
*/
static PetscErrorCode SpikeKrylovCapture_CUDA(SpikeKrylov *s, PetscBool begin, void **graph)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  *graph = NULL;
  PetscCall(SpikeKrylovEndCapture(h, begin ? NULL : graph));
  if (begin) {
    if (!h->own) PetscCallCUDA(cudaStreamCreate(&h->own));
    h->outer     = h->stream;
    h->stream    = h->own;
    h->capturing = true;
    PetscCallCUDA(cudaStreamBeginCapture(h->own, cudaStreamCaptureModeRelaxed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovReplay_CUDA(SpikeKrylov *s, void *graph)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaGraphLaunch((cudaGraphExec_t)graph, ((SpikeKrylovCUDA *)s->data)->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovDestroyGraph_CUDA(SpikeKrylov *s, void **graph)
{
  PetscFunctionBegin;
  if (*graph) PetscCallCUDA(cudaGraphExecDestroy((cudaGraphExec_t)*graph));
  *graph = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool SpikeKrylovIsWide(PetscInt nvectors, PetscScalar *const v[])
{
  for (PetscInt k = 0; k < nvectors; k++)
    if ((size_t)v[k] % alignof(SpikeKrylovPair)) return false;
  return true;
}

PetscErrorCode SpikeKrylovStepLaunch_CUDA(const SpikeKrylovCUDA *h, SpikeKrylovStep step, PetscInt n,
                                          const SpikeKrylovVectors *v, bool wide, bool recur, PetscInt *blocks)
{
  PetscFunctionBegin;
  switch (step) {
#define SPIKE_KRYLOV_CASE(ID, ...) \
  case SPIKE_##ID: \
    PetscCall(SpikeKrylovLaunch<SPIKE_##ID>(h, n, v, wide, recur, blocks)); \
    break;
    SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_CASE)
#undef SPIKE_KRYLOV_CASE
  default:
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovStep_CUDA(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[])
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovStepStart(s, step, n, v, SpikeKrylovStepLaunch_CUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Waits until there() is true, which the device brings about. Now and then the stream is asked, which finds faults and a
  device that has nothing left to do
*/
template <typename F>
static PetscErrorCode SpikeKrylovSpin(const SpikeKrylovCUDA *h, F &&there)
{
  PetscFunctionBegin;
  for (unsigned long spins = 1; !there(); spins++) {
    if (spins % (1ul << 20) == 0) {
      const cudaError_t error = cudaStreamQuery(h->stream);

      if (error == cudaErrorNotReady) continue;
      PetscCallCUDA(error);
      PetscCheck(there(), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The device has nothing left to do and has not answered");
    }
  }
  __sync_synchronize();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovSpin_CUDA(const SpikeKrylovCUDA *h, const volatile unsigned long long *count,
                                    unsigned long long seen)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin(h, [&] { return *count > seen; }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovSums_CUDA(SpikeKrylov *s, SpikeKrylovStep step)
{
  SpikeKrylovCUDA *h = (SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin_CUDA(h, &h->mail->summed, h->summed++));
  for (PetscInt k = 0; k < SpikeKrylovSteps[step].ndots; k++) s->local[k] = SpikeKrylovTake(h->mail->sums, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovWait_CUDA(SpikeKrylov *s, SpikeKrylovPost *post)
{
  SpikeKrylovCUDA     *h    = (SpikeKrylovCUDA *)s->data;
  SpikeKrylovMailPost *mail = &h->mail->ring[h->read++ % SPIKE_KRYLOV_POSTS];
  unsigned long long   norm, replaced, ended;
  double               value;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovSpin(h, [&] {
    return SpikeKrylovIsWritten(&mail->norm, &norm) && SpikeKrylovIsWritten(&mail->replaced, &replaced) &&
           SpikeKrylovIsWritten(&mail->ended, &ended);
  }));
  SpikeKrylovClear(mail); /* for the post that comes here next */
  memcpy(&value, &norm, sizeof(value));
  post->norm = (PetscReal)value;
  memcpy(&value, &replaced, sizeof(value));
  post->replaced = (PetscReal)value;
  post->it       = (PetscInt)(ended >> 8);
  post->reason   = (int)(signed char)(ended & 255);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovKernels SpikeKrylovKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* create */ SpikeKrylovCreate_CUDA,
  /* destroy */ SpikeKrylovDestroy_CUDA,
  /* push */ SpikeKrylovPush_CUDA,
  /* step */ SpikeKrylovStep_CUDA,
  /* tosingle */ SpikeKrylovToSingle_CUDA,
  /* bysingle */ SpikeKrylovBySingle_CUDA,
  /* singlestep */ SpikeKrylovSingleStep_CUDA,
  /* sums */ SpikeKrylovSums_CUDA,
  /* wait */ SpikeKrylovWait_CUDA,
  /* copy */ SpikeKrylovCopy_CUDA,
  /* refill */ SpikeKrylovRefill_CUDA,
  /* couple */ SpikeKrylovCouple_CUDA,
  /* recouple */ SpikeKrylovRecouple_CUDA,
  /* borrow */ SpikeKrylovBorrow_CUDA,
  /* destroycopy */ SpikeKrylovDestroyCopy_CUDA,
  /* mult */ SpikeKrylovMult_CUDA,
  /* narrow */ SpikeKrylovNarrow_CUDA,
  /* resume */ SpikeKrylovResume_CUDA,
  /* stream */ SpikeKrylovStream_CUDA,
  /* capture */ SpikeKrylovCapture_CUDA,
  /* replay */ SpikeKrylovReplay_CUDA,
  /* destroygraph */ SpikeKrylovDestroyGraph_CUDA,
  /* maxcolumns */ SPIKE_BASIS_MOST,
  /* basiscreate */ SpikeKrylovBasisCreate_CUDA,
  /* basisstep */ SpikeKrylovBasisStep_CUDA,
  /* basismult */ SpikeKrylovBasisMult_CUDA,
  /* basissums */ SpikeKrylovBasisSums_CUDA,
  /* basispush */ SpikeKrylovBasisPush_CUDA,
  /* shadow */ SpikeKrylovShadow_CUDA,
  /* toshadow */ SpikeKrylovToShadow_CUDA,
  /* iterate */ SpikeKrylovIterate_CUDA,
  /* borrowstencil */ SpikeKrylovBorrowStencil_CUDA,
  /* borrowblocks */ SpikeKrylovBorrowBlocks_CUDA,
};
