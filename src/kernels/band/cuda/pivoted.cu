/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted.cu: factors with row exchanges: memory, and the size of U */
#include "pivoted.cuh"

/* Columns of a panel: the host's (band/host/pivoted_lu.h) up to what registers are enough for */
void SpikePivotedShape_CUDA(const SpikeBand *s, const SpikeTiles *t, SpikePivoted *v)
{
  const int rows = t->tilerows * t->T; /* of the longest partition, and up to a tile more */

  v->kl      = (int)s->kl;
  v->ku      = (int)s->ku;
  v->hu      = v->kl + v->ku;
  v->W       = v->kl < 48 ? 8 : v->kl < 128 ? 16 : SPIKE_PIVOTED_MOST;
  v->m       = v->kl + v->W;
  v->panels  = (rows + v->W - 1) / v->W;
  v->record  = (PetscInt64)v->W * (v->m + v->hu);
  v->factors = v->fronts = NULL;
  v->perm                = NULL;
  v->blocks              = 0;
}

PetscErrorCode SpikePivotedHolds_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu, PetscBool *holds)
{
  SpikePivoted v;
  PetscInt64   elements;
  int          blocks;
  bool         fits;

  PetscFunctionBegin;
  SpikePivotedShape_CUDA(s, t, &v);
  PetscCall(SpikePivotedWindow_CUDA(&v, gpu, 1, &fits, &elements, &blocks));
  *holds = (PetscBool)(fits && SpikePivotedTipsHold_CUDA(&v, gpu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors, and the fronts of their factorization */
PetscErrorCode SpikePivotedBytes_CUDA(const SpikeBand *s, const SpikeTiles *t, const SpikeDevice *gpu,
                                      PetscReal *factors, PetscReal *fronts)
{
  SpikePivoted v;
  PetscInt64   elements;
  int          blocks;
  bool         fits;

  PetscFunctionBegin;
  SpikePivotedShape_CUDA(s, t, &v);
  PetscCall(SpikePivotedWindow_CUDA(&v, gpu, s->np, &fits, &elements, &blocks));
  *factors = (PetscReal)s->np * v.panels *
             ((PetscReal)v.record * sizeof(PetscScalar) + (PetscReal)v.m * sizeof(unsigned short));
  *fronts = (PetscReal)elements * blocks * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePivotedCreate_CUDA(SpikeBand *s)
{
  SpikeCUDA    *h = (SpikeCUDA *)s->data;
  SpikePivoted *v;
  PetscInt64    elements;
  bool          fits;

  PetscFunctionBegin;
  PetscCall(PetscNew(&v));
  h->pivoted = v;
  SpikePivotedShape_CUDA(s, &h->t, v);
  PetscCall(SpikePivotedWindow_CUDA(v, h->gpu, s->np, &fits, &elements, &v->blocks));
  PetscCheck(fits, PETSC_COMM_SELF, PETSC_ERR_SUP, "Half-bandwidths %d,%d with row exchanges", v->kl, v->ku);
  PetscCall(SpikeMalloc_CUDA((PetscCount)v->panel(s->np, 0), &v->factors));
  PetscCall(SpikeCalloc_CUDA((PetscCount)v->exchanges(s->np, 0) + 1, (cudaStream_t)s->stream, &v->perm));
  PetscCall(SpikeMalloc_CUDA((PetscCount)(elements * v->blocks), &v->fronts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePivotedDestroy_CUDA(SpikeBand *s)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  if (!h->pivoted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFree_CUDA(h->pivoted->factors, h->pivoted->perm, h->pivoted->fronts));
  PetscCall(PetscFree(h->pivoted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  *largest <- max |u_ij|, for the bits of numbers that are not negative are in the order of the numbers. A thread block
  has a panel, or more. The diagonal has inverses. Reads U once. Deterministic: a maximum.
*/
__global__ static void __launch_bounds__(256)
  SpikePivotedGrowth_Kernel(SpikeTiles t, SpikePivoted v, unsigned long long *largest)
{
  const PetscInt64 all  = (PetscInt64)t.np * v.panels;
  double           most = 0.0;

  for (PetscInt64 b = blockIdx.x; b < all; b += gridDim.x) {
    const PetscInt     p = (PetscInt)(b / v.panels);
    const int          j = (int)(b % v.panels) * v.W, n = (int)(t.start[p + 1] - t.start[p]);
    const PetscScalar *f = v.factors + b * v.record;

    for (int e = threadIdx.x; e < v.W * (v.W + v.hu); e += blockDim.x) {
      const int r = e % v.W, c = e / v.W;

      if (r > c || j + r >= n || j + c >= n) continue;
      const double a = (double)SpikeAbs(c < v.W ? f[c * v.m + r] : f[v.W * v.m + (c - v.W) * v.W + r]),
                   u = c == r ? (a > 0.0 ? 1.0 / a : (double)PETSC_MAX_REAL) : a;

      if (!(u <= most)) most = u <= (double)PETSC_MAX_REAL ? u : (double)PETSC_MAX_REAL;
    }
  }
  if (most > 0.0) atomicMax(largest, (unsigned long long)__double_as_longlong(most));
}

PetscErrorCode SpikePivotedGrowth_CUDA(SpikeBand *s, unsigned long long *largest)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;

  PetscFunctionBegin;
  SpikePivotedGrowth_Kernel<<<(unsigned)h->gpu->multiprocessors * 8, 256, 0, (cudaStream_t)s->stream>>>(h->t,
                                                                                                        *h->pivoted,
                                                                                                        largest);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
