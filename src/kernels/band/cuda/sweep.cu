/* SPDX-License-Identifier: BSD-2-Clause */
/*
  sweep.cu: sweeps with the factors, plain and transposed, for whole partitions and for the windows of the corrections:
  which kernel, of sweep_plain.cuh or sweep_transpose.cu, with how much shared memory
*/
#include "sweep.cuh"
#include "sweep_resident.cuh"

/* bytes of reduced systems that the L2 cache keeps from the sweep to the solve */
#define SPIKE_SWEEP_AHEAD 2.5e7

static int SpikeSweepThreads_Private(const SpikeTiles *t, bool resident)
{
  const int Q = PetscMax(t->QL, t->QU);

  return 32 * (PetscMax(1, PetscMin(Q, 8)) + (resident && Q > 1));
}

/*
  A kernel of plain sweeps with tiles t, of vectors in shared memory or not, and bytes of the rings of a block with so
  many slots
*/
static void *SpikeSweepKernel_Private(PetscSpikePrecision precision, const SpikeTiles *t, bool resident, int depth,
                                      size_t *shared)
{
  void *kernel = NULL;

  if (t->T <= 16) SpikeDispatchPrecision(precision, kernel = SpikeSweepSmallKernel<F>(t, resident, depth, shared));
  else SpikeDispatchPrecision(precision, kernel = SpikeSweepLargeKernel<F>(t, resident, depth, shared));
  return kernel;
}

/* Whether the plain sweep has room for a slot of its rings */
PetscErrorCode SpikeSweepHolds_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, PetscBool *holds)
{
  cudaFuncAttributes attributes;
  size_t             shared = 0;
  void              *kernel = NULL;

  PetscFunctionBegin;
  *holds = (PetscBool)(PetscMax(t->QL, t->QU) <= 1); /* two tiles, and no question that would load the kernels */
  if (*holds || PetscMax(t->QL, t->QU) > SPIKE_MAXTILES) PetscFunctionReturn(PETSC_SUCCESS);
  kernel = SpikeSweepKernel_Private(s->precision, t, false, 1, &shared);
  PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
  *holds = (PetscBool)(attributes.sharedSizeBytes + shared <= (size_t)gpu->shared);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lets the kernels of plain sweeps have all of the shared memory */
PetscErrorCode SpikeSweepPrepare_CUDA(SpikeBand *s)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  if (PetscMax(h->t.QL, h->t.QU) > SPIKE_MAXTILES) PetscFunctionReturn(PETSC_SUCCESS); /* refused by the sweep */
  for (int resident = 0; resident <= (PetscMax(h->t.QL, h->t.QU) <= 8); resident++) {
    cudaFuncAttributes attributes;
    size_t             shared;
    void              *kernel = NULL;
    int                threads, alone;

    kernel = SpikeSweepKernel_Private(s->precision, &h->t, resident, 1, &shared);
    PetscCallCUDA(cudaFuncGetAttributes(&attributes, kernel));
    h->sweepshared[resident] = attributes.sharedSizeBytes + 1024; /* and the system's of a block */
    threads                  = SpikeSweepThreads_Private(&h->t, resident);
    /* its limit */
    PetscCall(SpikeKernelResident(kernel, threads, h->gpu->shared - attributes.sharedSizeBytes, &alone));
    PetscCall(SpikeKernelResident(kernel, threads, 0, &h->sweepblocks[resident]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Blocks that a multiprocessor is to run at once share its memory: first go the vectors, where they fit beside two
  slots of the ring, and what remains goes to the rings as far as that is of use.
*/
static PetscErrorCode SpikeSweepPlain_Private(const SpikeCUDA *h, PetscSpikePrecision precision, SpikeSweepArgs *a,
                                              dim3 grid, cudaStream_t stream)
{
  const SpikeTiles *t      = &a->t;
  const PetscCount  blocks = ((PetscCount)grid.x * grid.y + h->gpu->multiprocessors - 1) / h->gpu->multiprocessors;
  size_t            room = 0, shared, vectors = 0;
  void             *args     = a, *kernel;
  bool              resident = PetscMax(t->QL, t->QU) <= 8;

  PetscFunctionBegin;
  a->rows = a->correct ? h->correctrows : t->tilerows;
  for (;; resident = false) {
    vectors = resident ? SpikeResidentBytes(t, a->rows) : 0;
    room    = ((size_t)h->gpu->shared + 1024) / PetscMin(blocks, h->sweepblocks[resident]);
    room    = room > vectors + h->sweepshared[resident] ? room - vectors - h->sweepshared[resident] : 0;
    (void)SpikeSweepKernel_Private(precision, t, resident, 2, &shared);
    if (!resident || shared <= room) break;
  }
  for (a->depth = SPIKE_RING_DEPTH;; a->depth--) {
    kernel = SpikeSweepKernel_Private(precision, t, resident, a->depth, &shared);
    if (a->depth == 1 || shared <= room) break;
  }
  PetscCallCUDA(
    SpikeLaunchEarly(kernel, grid, dim3(SpikeSweepThreads_Private(t, resident)), shared + vectors, stream, &args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the launches have in common; the grid's second index counts right-hand sides */
PetscErrorCode SpikeSweepLaunch_CUDA(SpikeBand *s, PetscBool trans, PetscInt nrhs, SpikeSweepArgs *a)
{
  const SpikeCUDA *h    = (const SpikeCUDA *)s->data;
  bool             done = false;

  PetscFunctionBegin;
  a->t    = h->t;
  a->band = s->band;
  a->B    = s->dB;
  a->C    = s->dC;
  a->tips = s->coupled ? s->dtips : NULL;
  a->ldt  = (PetscCount)(s->np + 1) * (s->kl + s->ku);
  if (a->p0 >= a->p1 || !nrhs || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscMax(a->t.QL, a->t.QU) <= SPIKE_MAXTILES, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Half-bandwidths %d and %d are above %d", a->t.kl, a->t.ku, 32 * SPIKE_MAXTILES);
  PetscCheck(nrhs <= 65535, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " right-hand sides at once",
             nrhs);
  if (!trans && nrhs > 1) PetscCall(SpikeSweepColumns_CUDA(s->precision, a, nrhs, (cudaStream_t)s->stream, &done));
  if (trans) PetscCall(SpikeSweepTranspose_CUDA(s->precision, a, nrhs, (cudaStream_t)s->stream));
  else if (!done) {
    const PetscInt groups = (a->p1 - 1) / a->t.G - a->p0 / a->t.G + 1;

    PetscCall(SpikeSweepPlain_Private(h, s->precision, a,
                                      dim3((unsigned)(a->correct ? 2 * groups : groups), (unsigned)nrhs),
                                      (cudaStream_t)s->stream));
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bottom tips are made in the second half of a sweep: there is nothing to be had by splitting it */
PetscErrorCode SpikeSweep_CUDA(SpikeBand *s, PetscBool trans, SpikeSweepPart part, PetscInt p0, PetscInt p1,
                               PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;
  SpikeSweepArgs   a = {};

  PetscFunctionBegin;
  PetscCheck(part == SPIKE_SWEEP_ALL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sweeps of this backend are not split");
  if (p0 >= p1) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->tri) PetscCall(SpikeTriSweepSystems_CUDA(s, trans, nrhs, b, ldb, g, ldg));
  else if (h->pivoted) PetscCall(SpikePivotedSweep_CUDA(s, trans, p0, p1, nrhs, b, ldb, g, ldg));
  else if (h->batch) PetscCall(SpikeBatchSweepSystems_CUDA(s, trans, nrhs, b, ldb, g, ldg));
  if (h->tri || h->pivoted || h->batch) PetscFunctionReturn(PETSC_SUCCESS);
  a.p0  = p0;
  a.p1  = p1;
  a.b   = b;
  a.ldb = ldb;
  a.x = a.y = g;
  a.ldx = a.ldy = ldg;
  if (s->coupled && !trans && (s->np + 1) * (2.0 * s->kl + s->ku) * s->ku * sizeof(PetscScalar) < SPIKE_SWEEP_AHEAD) {
    a.Vb = s->dVb;
    a.Wt = s->dWt;
    a.R  = s->dR;
  }
  PetscCall(SpikeSweepLaunch_CUDA(s, trans, nrhs, &a));
  PetscCall(PetscLogGpuFlops(nrhs * (2.0 * s->kl + 2.0 * s->ku + 1.0) * (s->start[p1] - s->start[p0])));
  PetscFunctionReturn(PETSC_SUCCESS);
}
