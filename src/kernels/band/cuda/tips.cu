/* SPDX-License-Identifier: BSD-2-Clause */
/* tips.cu: tips of the spikes, and how far the spikes reach */
#include "band.cuh"
#include "tips_columns.cuh"
#include "tips_narrow.cuh"

/*
  The backend has no UL factorization: the leading corner of l rows has the factors' leading corners as its own, so W of
  the corner is U_ll^-1 Y, Y = L_ll^-1 [C; 0], forward and backward over l rows. Both tips are thus made after the
  factorization.

  Bands of few tiles on a side: tips_narrow.cuh; the others as follows. The rows after l add to Wt what W has fallen by
  there times what comes back up to the top. A thread block with the spike's columns measures both and chooses l:
  forward until W has fallen below the root of that of its end, then backward, with one more column that starts as
  random signs after row l and leaves at the top what comes back. Where the product is above rounding, and above the
  tolerance of the corrections, it goes on forward, as far as this number asks for. W_i is taken to fall as Y_i / U_ii
  does, which no scaling of rows changes; where the corner is the whole partition, W itself is looked at.

  What remains is the reach of the spikes, down to the tolerance of the corrections: tips_reach.cuh follows one
  combination of the columns, beside. A block reads a tile once for all of its columns (tips_columns.cuh), and takes
  units as they come, the long left ones first. Y is kept in SpikeCUDA.spike. Products are in double precision.

  Of symmetric positive definite bands tips_reach.cuh finds the corners beforehand, without a column of signs: here the
  corner is gone through forward and backward, and nothing is measured.

  A first launch gives the blocks of left spikes room for SPIKE_TIPS_ROWS K rows of Y; spikes that need more are listed
  and done by a second one, with few blocks.
*/
#define SPIKE_TIPS_ROWS   8
#define SPIKE_TIPS_STATIC 512  /* bytes of shared memory that the kernel has besides, at most */
#define SPIKE_TIPS_CUDA   1024 /* and CUDA for each thread block, of those of a multiprocessor    */

/* Whether tips_reach.cuh helps: the device's Cholesky, and LU of what Cholesky was asked for, a partition a group */
static bool SpikeTipsKnown_Private(const SpikeBand *s, const SpikeTiles *t)
{
  return s->cholesky && s->precision == PETSC_SPIKE_PRECISION_DOUBLE && !PetscDefined(USE_COMPLEX) && t->T > 16;
}

/* Few tiles on either side of the diagonal: in registers, in one pass over the rows that keeps none of them */
static bool SpikeTipsAreNarrow_Private(const SpikeTiles *t)
{
  return t->QL <= SPIKE_TIPS_NARROW && t->QU <= SPIKE_TIPS_NARROW;
}

/* All columns of a spike in so many blocks; whether a thread block has the memory for one of them */
static bool SpikeTipsFit_Private(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, int blocks,
                                 SpikeTipsPlan *plan)
{
  const int K = PetscMax(PetscMax(t->kl, t->ku), 1);

  plan->blocks = blocks;
  plan->ncols  = (K + blocks - 1) / blocks;
  plan->strips = (plan->ncols + 15) / 16;
  SpikeDispatchPrecision(s->precision,
                         plan->shared = SpikeColumnsShared<F>(t->T, plan->strips, plan->slots, plan->chunk,
                                                              !SpikeTipsKnown_Private(s, t)));
  return plan->shared + SPIKE_TIPS_STATIC <= (size_t)gpu->shared;
}

/*
  As few blocks of columns as fit, more where there are few spikes; a warp for the column of signs. Tiles are copied one
  or two at a time where nothing else fits, or where that makes room for twice the columns
*/
bool SpikeTipsPlan_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, SpikeTipsPlan *plan)
{
  const int Q = PetscMax(t->QL, t->QU), least = (PetscMax(PetscMax(t->kl, t->ku), 1) + 127) / 128;
  size_t    bytes = 0;
  bool      fits  = false;

  SpikeDispatchPrecision(s->precision, bytes = sizeof(F));
  *plan       = SpikeTipsPlan();
  plan->slots = PetscMax(Q, 1);
  plan->most  = (int)PetscMin((SpikeMaxCorner(t->kl, t->ku) + t->T - 1) / t->T, t->tilerows);
  plan->rows  = PetscMax(PetscMin(SPIKE_TIPS_ROWS * Q, plan->most), Q + 2);
  for (int chunk = bytes < 16 ? PetscMin(SPIKE_COLUMNS_CHUNK, plan->slots) : 1; chunk; chunk /= 2) {
    SpikeTipsPlan other = *plan;
    int           blocks;

    other.chunk = chunk;
    for (blocks = least; !SpikeTipsFit_Private(s, t, gpu, blocks, &other) && other.strips > 1;) blocks++;
    if (fits && (other.shared + SPIKE_TIPS_STATIC > (size_t)gpu->shared || other.strips < 2 * plan->strips)) continue;
    *plan = other;
    fits  = other.shared + SPIKE_TIPS_STATIC <= (size_t)gpu->shared;
  }
  /* columns of few wide spikes go to all multiprocessors; the report has one place for narrow ones */
  while (fits && plan->strips > 2 && !SpikeTipsAreNarrow_Private(t) &&
         4 * (PetscInt64)(t->np + 1) * plan->blocks <= gpu->multiprocessors)
    (void)SpikeTipsFit_Private(s, t, gpu, plan->blocks + 1, plan);
  plan->threads = 32 * (plan->strips + (SpikeTipsKnown_Private(s, t) ? 0 : 1));
  return fits;
}

bool SpikeTipsHold_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu)
{
  SpikeTipsPlan plan;
  bool          fit = false;

  if (!SpikeTipsAreNarrow_Private(t)) return SpikeTipsPlan_CUDA(s, t, gpu, &plan);
  SpikeDispatchPrecision(s->precision, fit = SpikeTipsNarrowFit<F>(*t, gpu));
  return fit;
}

/* Thread blocks that the device holds at once */
static PetscInt64 SpikeTipsTogether_Private(const SpikeTipsPlan *plan, const SpikeDevice *gpu)
{
  const PetscInt64 each = (PetscInt64)plan->shared + SPIKE_TIPS_STATIC + SPIKE_TIPS_CUDA;

  return gpu->multiprocessors *
         PetscMax(1, PetscMin(32 * SPIKE_TIPS_RESIDENT / plan->threads, (gpu->shared + SPIKE_TIPS_CUDA) / each));
}

/* Thread blocks of a first launch that have room for left spikes, and how many have not */
static PetscInt64 SpikeTipsLeft_Private(const SpikeTiles *t, const SpikeTipsPlan *plan, const SpikeDevice *gpu,
                                        PetscInt64 *rest)
{
  const PetscInt64 half = (PetscInt64)(t->np + 1) * plan->blocks, together = SpikeTipsTogether_Private(plan, gpu),
                   left = PetscMin(half, together);

  *rest = PetscMin(half, together - left);
  return left;
}

/*
  Room for Y in as many blocks as run at once, or in an eighth of the band's memory or 24 MB; for the longest corner in
  one of them; and for the reduced systems. blocks: room for the rates of all who make spikes
*/
void SpikeTipsWork_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, PetscInt64 *elements,
                        size_t *scratch, int *blocks)
{
  const PetscInt64 band = t->groups() * (PetscInt64)t->tilerows * t->rowsize,
                   room = (PetscInt64)(band / 8 * SpikePrecisionBytes(s->precision) / sizeof(PetscReal));
  PetscInt64    together, row, rest;
  SpikeTipsPlan plan;

  *elements = 0;
  *scratch  = 0;
  *blocks   = 1;
  if (!s->coupled) return;
  if (SpikeBandExchanges(s)) SpikePivotedTipsWork_CUDA(s, t, gpu, elements, blocks);
  else if (!SpikeTipsAreNarrow_Private(t)) {
    (void)SpikeTipsPlan_CUDA(s, t, gpu, &plan);
    *scratch  = (2 * (size_t)plan.blocks + 1) * (size_t)(t->np + 1) * sizeof(int);
    *blocks   = plan.blocks;
    row       = SPIKE_COLUMNS_PIECE * (PetscInt64)plan.strips;
    together  = SpikeTipsLeft_Private(t, &plan, gpu, &rest);
    *elements = (together * plan.rows + rest * (plan.slots + 2)) * row;
    *elements = PetscMin(*elements, PetscMax(room, 3145728));
    *elements = PetscMax(*elements, PetscMax(plan.most, plan.rows) * row);
  }
  *elements = PetscMax(*elements, SpikeReducedWork_CUDA(s, gpu, room));
  if (s->full && !SpikeBandExchanges(s)) *elements = PetscMax(*elements, SpikeSpikesWork_CUDA(s, t, gpu));
  *scratch = PetscMax(*scratch, ((size_t)t->np + 1) * sizeof(int)); /* of the reduced systems */
}

static PetscErrorCode SpikeTipsKernel_Private(SpikeTipsKernel kernel, const SpikeTipsPlan *plan, const SpikeTipsArgs *a,
                                              unsigned blocks, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, plan->threads, plan->shared));
  kernel<<<blocks, plan->threads, plan->shared, stream>>>(*a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of Y for which blocks have room, and how many blocks: all that the plan asks for, or in the first launch less of
  it, rather than left spikes that wait for others
*/
static void SpikeTipsRoom_Private(const SpikeCUDA *h, const SpikeTipsPlan *plan, SpikeTipsArgs *a, unsigned *blocks)
{
  const PetscInt64 units = 2 * (PetscInt64)(a->t.np + 1) * a->blocks,
                   room  = h->spikesize / (SPIKE_COLUMNS_PIECE * (PetscInt64)a->strips); /* tile rows */
  PetscInt64 big, rest = 0;

  if (!a->again) {
    big     = SpikeTipsLeft_Private(&a->t, plan, h->gpu, &rest);
    rest    = PetscMin(rest, room / 4 / (a->slots + 2));
    a->rows = (int)PetscMin(plan->rows, (room - rest * (a->slots + 2)) / big);
    a->rows = PetscMin(plan->rows, PetscMax(a->rows, PetscMax(SPIKE_TIPS_ROWS / 2 * a->slots, a->slots + 2)));
    if (room - rest * (a->slots + 2) < a->rows) rest = 0;
    big = PetscMax(1, PetscMin(big, (room - rest * (a->slots + 2)) / a->rows));
  } else {
    a->rows = plan->most;
    big     = PetscMin(units, room / a->rows);
  }
  a->big  = (int)big;
  *blocks = (unsigned)(big + rest);
}

static PetscErrorCode SpikeTipsLaunch_Private(const SpikeCUDA *h, PetscSpikePrecision precision,
                                              const SpikeTipsPlan *plan, SpikeTipsArgs *a, cudaStream_t stream)
{
  SpikeTipsKernel kernel = NULL;
  unsigned        blocks;

  PetscFunctionBegin;
  SpikeDispatchPrecision(precision, kernel = SpikeTipsKernelOf<F>(a->t.T));
  if (a->known) PetscCall(SpikeCorner_CUDA(a, stream));
  for (a->again = 0; a->again < 2; a->again++) {
    SpikeTipsRoom_Private(h, plan, a, &blocks);
    PetscCall(SpikeTipsKernel_Private(kernel, plan, a, blocks, stream));
    if (!a->again) SpikeDispatchPrecision(precision, PetscCall(SpikeReach<F>(*a, stream)));
    if (a->rows >= plan->most) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of factor(): both tips, from the factors */
PetscErrorCode SpikeTips_CUDA(SpikeBand *s, PetscReal falloff[])
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const SpikeTiles  *t      = &h->t;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt     np     = s->np;
  const int          Q      = PetscMax(t->QL, t->QU);
  const bool         narrow = SpikeTipsAreNarrow_Private(t);
  SpikeTipsPlan      plan;
  SpikeTipsArgs      a = {};

  PetscFunctionBegin;
  for (PetscInt q = 0; q < 2 * (np + 1); q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt p = 0; p < np; p++) s->wtop[p] = s->wbot[p] = 0;
  if (!s->coupled || !Q || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  h->falloff = falloff;
  if (h->tri) PetscCall(SpikeTriTipsSystems_CUDA(s));
  else if (h->pivoted) PetscCall(SpikePivotedTips_CUDA(s, PETSC_FALSE));
  if (h->tri || h->pivoted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(SpikeTipsPlan_CUDA(s, t, h->gpu, &plan) || narrow, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "No shared memory for a column");
  a.t      = *t;
  a.band   = s->band;
  a.B      = s->dB;
  a.C      = s->dC;
  a.Vb     = s->dVb;
  a.Wt     = s->dWt;
  a.work   = h->spike;
  a.eps    = SpikePrecisionEpsilon(s->precision);
  a.tol    = PetscMax(s->window, a.eps / 4);
  a.blocks = plan.blocks;
  a.ncols  = plan.ncols;
  a.strips = plan.strips;
  a.slots  = plan.slots;
  a.chunk  = plan.chunk;
  a.most   = plan.most;
  a.window = h->window;
  a.rate   = (PetscReal *)(h->report + 1);
  a.count  = &h->report->count;
  a.list   = (int *)h->scratch;
  a.ticket = h->report->ticket;
  a.rates  = h->blocks;
  a.known  = SpikeTipsKnown_Private(s, t);
  a.corner = narrow ? a.list : a.list + 2 * (np + 1) * plan.blocks;
  a.small  = (8 + (PetscReal)0.25 * PetscMax(t->kl, t->ku)) * a.eps;
  a.small  = a.known ? PetscMax(a.small, s->corner) : narrow ? a.small : PetscMax(a.small, a.tol);
  if (narrow) {
    const PetscReal tol = a.tol;

    if (a.known) a.tol = 1; /* the reach is found beside */
    if (a.t.T <= 16) PetscCall(SpikeTipsSmall_CUDA(s->precision, &a, h->gpu, stream));
    else SpikeDispatchPrecision(s->precision, PetscCall(SpikeTipsNarrow<F>(a, h->gpu, stream)));
    a.tol = tol;
    if (a.known) PetscCall(SpikeReach<SpikeDouble>(a, stream));
  } else {
    if (!a.known) { /* what SpikeCorner_CUDA() sets */
      PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)np * sizeof(int), stream));
      PetscCallCUDA(cudaMemsetAsync(a.corner, 0, ((size_t)np + 1) * sizeof(int), stream));
      PetscCallCUDA(cudaMemsetAsync(a.count, 0, 3 * sizeof(int), stream)); /* and the tickets after it */
    }
    PetscCall(SpikeTipsLaunch_Private(h, s->precision, &plan, &a, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
