/* SPDX-License-Identifier: BSD-2-Clause */
/* persistent.cu: whether iterations go to one kernel, and to which; those with a copy of the matrix */
#include "persistent.cuh"

/* of the L2 cache, that an iteration may move to be faster than launches of its steps */
#define SPIKE_PERSISTENT_CACHE 0.75
/*
  With a stencil, which has no matrix to read: rows times points, each of which reads two or three vectors, and 18 for
  the rest, that a multiprocessor may have (krylov.txt)
*/
#define SPIKE_PERSISTENT_POINTS 45000.0

/* Rows go in pairs where vectors are aligned. Here all are aligned or none, because some change their places */
PetscErrorCode SpikeKrylovIterate_CUDA(SpikeKrylov *s, const void *copy, const SpikeKrylovIterations *i, PetscInt its,
                                       PetscInt *launched, PetscBool *cluster)
{
  const SpikeKrylovCUDA     *h  = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovCopyCUDA *c  = (const SpikeKrylovCopyCUDA *)copy;
  const bool                 cg = i->method == SPIKE_KRYLOV_CG, dia = c->base.form == KSP_FUSED_SPMV_DIA;
  const bool                 idr      = i->method == SPIKE_KRYLOV_IDR;
  const PetscInt             nvectors = idr ? 3 + 3 * i->s : cg ? 6 : 7;
  const SpikeKrylovStep      last     = cg ? (i->diagonal ? SPIKE_CG_XZ : (i->symmetric ? SPIKE_CG_BETA : SPIKE_CG_XR))
                                           : SPIKE_BCGS_X;
  PetscInt                   parts[3] = {1, 1, 1};
  PetscLogDouble             bytes;
  bool                       wide = SpikeKrylovIsWide(1, i->v), fits = false;
  const bool                 only = i->type == KSP_FUSED_PERSISTENT_CLUSTER;

  PetscFunctionBegin;
  *launched = 0;
  *cluster  = PETSC_FALSE;
  its       = PetscMin(its, SPIKE_KRYLOV_POSTS - 2);
  bytes     = dia ? (PetscLogDouble)sizeof(PetscScalar) * c->dia.count * c->dia.ld : (PetscLogDouble)c->base.bytes;
  bytes += (PetscLogDouble)sizeof(PetscScalar) * i->n * (nvectors + (i->diagonal ? 1 : 0));
  if (c->stencil && i->type == KSP_FUSED_PERSISTENT_AUTO &&
      (18.0 + c->stencil->count) * i->n > SPIKE_PERSISTENT_POINTS * h->gpu->multiprocessors)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (i->type == KSP_FUSED_PERSISTENT_OFF || (c->stencil && c->loan.begin) || c->loan.block || c->base.narrow ||
      (i->type == KSP_FUSED_PERSISTENT_AUTO && bytes > SPIKE_PERSISTENT_CACHE * h->gpu->cache))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (idr) {
    if (!only && h->gpu->cooperative) PetscCall(SpikePersistentIDR_CUDA(s, c, i, its, &fits));
    if (fits) *launched = its;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 1; k < nvectors; k++)
    if (SpikeKrylovIsWide(1, i->v + k) != wide) PetscFunctionReturn(PETSC_SUCCESS);
  if (i->diagonal && ((size_t)i->diagonal % alignof(SpikeKrylovPair) == 0) != wide) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKrylovStepLaunch_CUDA(h, last, i->n, NULL, wide, false, &parts[cg ? 1 : 2]));
  if (c->stencil) {
    parts[0] = SpikeKrylovGrid(SpikeKrylovMostBlocks(h), i->n, SPIKE_KRYLOV_THREADS);
    if (!cg) parts[1] = parts[0];
    if (!only && h->gpu->cooperative) PetscCall(SpikePersistentStencil_CUDA(h, c, i, its, parts, &fits));
    if (fits) *launched = its;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeKrylovMultStep_CUDA(h, c, cg ? SPIKE_CG_ALPHA : SPIKE_BCGS_ALPHA, NULL, &parts[0]));
  if (!cg) PetscCall(SpikeKrylovMultStep_CUDA(h, c, SPIKE_BCGS_OMEGA, NULL, &parts[1]));
  if (wide && i->type != KSP_FUSED_PERSISTENT_GRID) PetscCall(SpikeKrylovCluster_CUDA(h, c, i, its, parts, &fits));
  *cluster = fits ? PETSC_TRUE : PETSC_FALSE;
  if (!fits && !only && h->gpu->cooperative)
    PetscCall(SpikeKrylovRowsDispatch(c, [&](const auto &rows, PetscInt) {
      return SpikePersistentRows(h, rows, i, its, parts, &fits);
    }));
  if (fits) *launched = its;
  PetscFunctionReturn(PETSC_SUCCESS);
}
