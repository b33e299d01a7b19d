/* SPDX-License-Identifier: BSD-2-Clause */
/* factor.c: the host's factorization: left tips from the band, factors, right tips from the factors */
#include "host.h"

/* band <- L U, and D of the systems */
static PetscErrorCode SpikeFactorPartitions_Private(SpikeBand *s, SpikePivot *pivot)
{
  SpikeHost     *h     = (SpikeHost *)s->data;
  PetscLogDouble flops = 0.0;
  SpikeBandPivot pv;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (h->batch) {
    PetscCall((*h->batch->k->setup)(h->batch, pivot, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->nsystems) PetscCall(SpikeTriFactorSystems_Host(s, pivot));
  for (PetscInt p = 0; p < s->np && h->first; p++) {
    const PetscInt n = s->start[p + 1] - s->start[p], kl = h->part[p].kl, ku = h->part[p].ku;

    SpikeHostPivot(h, pivot, &pv);
    h->ops->lu(n, kl, ku, SpikeHostBlock(h, p), &pv);
    flops += (s->cholesky ? 1.0 : 2.0) * kl * (ku + (h->ops->panel ? kl : 0.0)) * n;
    if (!s->nsystems) pivot->nboost += pv.nboost; /* the same rows as a rule */
    if (pv.badrow >= 0 && pivot->badrow < 0) {
      pivot->badrow   = s->start[p] + pv.badrow;
      pivot->badvalue = pv.badvalue;
    }
  }
  PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFactor_Host(SpikeBand *s, SpikePivot *pivot, SpikePivot *corner, PetscReal falloff[])
{
  const PetscBool tips = (PetscBool)(s->coupled && falloff);

  PetscFunctionBegin;
  if (tips && s->cholesky) corner->nboost = 0;
  else if (tips) SpikeLogged(s, tips, SpikeLeftTips_Host(s, corner, falloff)); /* from the raw band */
  SpikeLogged(s, factor, SpikeFactorPartitions_Private(s, pivot));
  if (tips && s->cholesky) SpikeLogged(s, tips, SpikeLeftTipsFromFactors_Host(s, falloff));
  if (tips) SpikeLogged(s, tips, SpikeRightTips_Host(s, falloff + s->np + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
