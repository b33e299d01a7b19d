/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.c: the host's sweeps of whole partitions */
#include "host.h"

/* tips of partition p at one of its ends from its rows in g (first or last rows of the partition) */
static PetscErrorCode SpikeGrabTips_Private(SpikeBand *s, PetscBool trans, PetscBool top, PetscInt p, PetscInt nrhs,
                                            const PetscScalar *g, PetscCount ldg)
{
  const PetscInt   kl = s->kl, ku = s->ku, n = s->start[p + 1] - s->start[p], q = top ? p : p + 1;
  const PetscCount ldt = (PetscCount)(s->np + 1) * (kl + ku);
  PetscScalar     *t   = s->dtips + (PetscCount)q * (kl + ku);

  PetscFunctionBegin;
  if (!s->coupled || !s->active[q]) PetscFunctionReturn(PETSC_SUCCESS);
  if (trans) { /* below: C^T (first kl rows), above: B^T (last ku rows) */
    if (top)
      PetscCall(
        SpikeSmallGemm_Host(PETSC_TRUE, kl, kl, s->dC + (PetscCount)q * kl * kl, 1.0, g, ldg, 0.0, t, ldt, nrhs));
    else
      PetscCall(SpikeSmallGemm_Host(PETSC_TRUE, ku, ku, s->dB + (PetscCount)q * ku * ku, 1.0, g + n - ku, ldg, 0.0,
                                    t + kl, ldt, nrhs));
    PetscCall(PetscLogFlops(2.0 * nrhs * (top ? 1.0 * kl * kl : 1.0 * ku * ku)));
  } else {
    for (PetscInt c = 0; c < nrhs; c++) {
      if (top) PetscCall(PetscArraycpy(t + c * ldt + kl, g + c * ldg, ku));
      else PetscCall(PetscArraycpy(t + c * ldt, g + c * ldg + n - kl, kl));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeSweep_Host(SpikeBand *s, PetscBool trans, SpikeSweepPart part, PetscInt p0, PetscInt p1,
                               PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *g, PetscCount ldg)
{
  SpikeHost     *h  = (SpikeHost *)s->data;
  const PetscInt kl = s->kl, ku = s->ku;

  PetscFunctionBegin;
  if (h->batch && part != SPIKE_SWEEP_TAIL) PetscCall((*h->batch->k->apply)(h->batch, trans, nrhs, b, ldb, g, ldg));
  for (PetscInt p = p0; p < p1 && !h->batch; p++) {
    /* rows from split on: the bottom tip, and with row exchanges what they move there */
    const PetscInt     n = s->start[p + 1] - s->start[p], tip = n - PetscMin(n, trans ? ku : kl);
    const PetscInt     pl = h->part[p].kl, pu = h->part[p].ku;
    const PetscInt     split = trans ? SpikeBandForward(h->ops, pl, pu, tip) : tip;
    const PetscInt     lo = part == SPIKE_SWEEP_HEAD ? split : 0, hi = part == SPIKE_SWEEP_TAIL ? split : n;
    const PetscScalar *bp = b + s->start[p];
    PetscScalar       *gp = g + s->start[p];
    SpikeBandFactors   f;

    /* both tips are there after the head: the recurrences of a system have no half that could be kept for later */
    if (s->nsystems) {
      if (part != SPIKE_SWEEP_TAIL) PetscCall((*h->tri[p].k->apply)(&h->tri[p], trans, nrhs, bp, ldb, gp, ldg));
      if (part != SPIKE_SWEEP_TAIL) PetscCall(SpikeGrabTips_Private(s, trans, PETSC_FALSE, p, nrhs, gp, ldg));
      if (part != SPIKE_SWEEP_HEAD) PetscCall(SpikeGrabTips_Private(s, trans, PETSC_TRUE, p, nrhs, gp, ldg));
      continue;
    }
    f = SpikeHostFactors(s, p);
    if (part != SPIKE_SWEEP_TAIL) {
      if (trans) h->ops->upper_t(f, nrhs, bp, ldb, gp, ldg);
      else h->ops->lower(f, 0, n, nrhs, bp, ldb, gp, ldg);
    }
    if (trans) h->ops->lower_t(f, lo, hi, nrhs, gp, ldg);
    else h->ops->upper(f, lo, hi, nrhs, gp, ldg);
    if (part != SPIKE_SWEEP_TAIL) PetscCall(SpikeGrabTips_Private(s, trans, PETSC_FALSE, p, nrhs, gp, ldg));
    if (part != SPIKE_SWEEP_HEAD) {
      PetscCall(SpikeGrabTips_Private(s, trans, PETSC_TRUE, p, nrhs, gp, ldg));
      PetscCall(PetscLogFlops(nrhs * (2.0 * pl + 2.0 * pu + 1.0) * n));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
