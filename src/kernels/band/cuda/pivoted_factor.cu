/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_factor.cu: launches of the factorization with row exchanges */
#include "pivoted_factor.cuh"

typedef struct {
  const void *kernel;
  int         threads, columns; /* of U12 at a time */
  bool        global;
  size_t      shared;
} SpikePivotedPlan;

/* A row of a panel for each thread, and warps for the update as the front is large */
static int SpikePivotedFactorThreads_Private(const SpikePivoted *v, int most)
{
  const int rows = (v->m + 31) / 32, work = (v->kl + 31) / 32 * ((v->hu + 31) / 32); /* pieces of 32 x 32 */

  return 32 * PetscMax(rows, PetscMin(work * 2, most / 32));
}

template <int W>
static void SpikePivotedPlan_Private(const SpikePivoted *v, const SpikeDevice *gpu, SpikePivotedPlan *plan)
{
  const size_t room = (size_t)gpu->shared - 1024; /* with what CUDA has for itself */

  /* the fewer threads a block may have, or a multiprocessor, the more registers are there for each */
  constexpr int most   = W == 8                 ? 128
                       : W < SPIKE_PIVOTED_MOST ? 256
                                                : 512,
                blocks = W == 8                 ? 5
                       : W < SPIKE_PIVOTED_MOST ? 2
                                                : 1;

  plan->threads = SpikePivotedFactorThreads_Private(v, most);
  plan->kernel  = (const void *)SpikePivotedFactor_Kernel<W, most, blocks>;
  if constexpr (W == SPIKE_PIVOTED_MOST)
    if (plan->threads > most) plan->kernel = (const void *)SpikePivotedFactor_Kernel<W, 576, 1>;
  for (int global = 0; global < 2; global++)
    for (plan->columns = PetscMin(256, (v->hu + 3) / 4 * 4);; plan->columns -= 32) {
      plan->global = global;
      plan->shared = SpikePivotedPlaces(*v, plan->columns, plan->threads / 32, plan->global).bytes;
      if (plan->shared <= room) return;
      if (plan->columns <= 32) break;
    }
}

PetscErrorCode SpikePivotedWindow_CUDA(const SpikePivoted *v, const SpikeDevice *gpu, PetscInt np, bool *holds,
                                       PetscInt64 *elements, int *blocks)
{
  SpikePivotedPlan plan;
  int              resident;

  PetscFunctionBegin;
  *elements = 0;
  *blocks   = 0;
  SpikePivotedDispatch(v->W, SpikePivotedPlan_Private<W>(v, gpu, &plan));
  PetscCall(SpikeKernelResident(plan.kernel, plan.threads, plan.shared, &resident));
  *holds = resident > 0;
  if (*holds && plan.global) {
    const SpikePivotedPlaces places(*v, plan.columns, plan.threads / 32, true);

    *elements = (PetscInt64)places.ld * places.frontcolumns;
    *blocks   = (int)PetscMin(np, (PetscInt)(resident * gpu->multiprocessors));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePivotedFactor_CUDA(SpikeBand *s, SpikePivot *pivot)
{
  SpikeCUDA             *h = (SpikeCUDA *)s->data;
  SpikePivotedPlan       plan;
  SpikePivotedFactorArgs a      = {};
  const SpikePivotPolicy policy = {(double)pivot->tol, PetscMax((double)pivot->boost, 0.0),
                                   SpikePrecisionMax(s->precision), SpikePrecisionLeast(s->precision),
                                   pivot->relative ? &h->report->fill.value[3] : NULL};
  void                  *args[] = {&a};

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!s->n || !s->np) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePivotedDispatch(h->pivoted->W, SpikePivotedPlan_Private<W>(h->pivoted, h->gpu, &plan));
  PetscCall(SpikeKernelFit(plan.kernel, plan.threads, plan.shared));
  a.t        = h->t;
  a.v        = *h->pivoted;
  a.band     = (const PetscScalar *)s->band;
  a.fronts   = h->pivoted->fronts;
  a.columns  = plan.columns;
  a.policy   = policy;
  a.status   = &h->report->factor;
  a.badvalue = h->badvalue;
  PetscCallCUDA(cudaLaunchKernel(plan.kernel, dim3((unsigned)(plan.global ? h->pivoted->blocks : s->np)),
                                 dim3((unsigned)plan.threads), args, plan.shared, (cudaStream_t)s->stream));
  PetscCall(PetscLogGpuFlops(2.0 * s->kl * (s->kl + s->ku) * s->n));
  h->pivot = pivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}
