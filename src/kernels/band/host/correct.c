/* SPDX-License-Identifier: BSD-2-Clause */
/* correct.c: the host's corrections, which are sweeps over windows, and permutations */
#include "host.h"

/* x <- x - D^-1 z or x - D^-T z on a diagonal sub-block with factors f, z zero in its first z0 rows */
static void SpikeWindow_Private(SpikeHost *h, PetscBool trans, SpikeBandFactors f, PetscInt z0, PetscInt nrhs,
                                PetscScalar *z, PetscScalar *x, PetscCount ldx)
{
  const PetscInt         w  = f.rows;
  const SpikeBandFactors fz = SpikeBandPart(f, z0, w - z0); /* the forward sweep starts at the first nonzero */

  if (trans) {
    h->ops->upper_t(fz, nrhs, z + z0, w, z + z0, w);
    h->ops->lower_t(f, 0, w, nrhs, z, w);
  } else {
    h->ops->lower(fz, 0, w - z0, nrhs, z + z0, w, z + z0, w);
    h->ops->upper(f, 0, w, nrhs, z, w);
  }
  for (PetscInt c = 0; c < nrhs; c++) {
    PetscScalar       *xc = x + c * ldx;
    const PetscScalar *zc = z + (PetscCount)c * w;

    for (PetscInt i = 0; i < w; i++) xc[i] -= zc[i];
  }
}

PetscErrorCode SpikeCorrect_Host(SpikeBand *s, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs, PetscScalar *x,
                                 PetscCount ldx)
{
  SpikeHost       *h  = (SpikeHost *)s->data;
  const PetscInt   kl = s->kl, ku = s->ku, ht = trans ? ku : kl, hb = trans ? kl : ku;
  const PetscCount ldt = (PetscCount)(s->np + 1) * (kl + ku);

  PetscFunctionBegin;
  for (PetscInt p = p0; p < p1; p++) {
    const PetscInt  n   = s->start[p + 1] - s->start[p];
    const PetscBool top = (PetscBool)(s->active[p] && ht), bot = (PetscBool)(s->active[p + 1] && hb);
    const PetscInt  wtop = s->wtop[p], wbot = s->wbot[p];
    const PetscBool whole = (PetscBool)(trans || (top ? wtop : 0) + (bot ? wbot : 0) >= n);
    PetscScalar    *z = h->work, *xp = x + s->start[p];

    /* the window at the top, then the one at the bottom; once where they meet */
    for (PetscInt end = 0; end < 2; end++) {
      const PetscBool dotop = (PetscBool)(top && (whole || end == 0)), dobot = (PetscBool)(bot && (whole || end == 1));
      const PetscInt  w = whole ? n : end == 0 ? wtop : wbot, r0 = end == 0 ? 0 : n - w;

      if ((!dotop && !dobot) || (whole && end == 1)) continue;
      PetscCall(PetscArrayzero(z, (PetscCount)w * nrhs));
      for (PetscInt c = 0; c < nrhs; c++) {
        const PetscScalar *tp = s->dtips + c * ldt + (PetscCount)p * (kl + ku), *tn = tp + kl + ku;
        PetscScalar       *zc = z + (PetscCount)c * w;

        if (trans) {
          if (dotop)
            for (PetscInt i = 0; i < ku; i++) zc[i] += tp[kl + i];
          if (dobot)
            for (PetscInt i = 0; i < kl; i++) zc[w - kl + i] += tn[i];
        } else {
          if (dotop)
            PetscCall(
              SpikeSmallGemm_Host(PETSC_FALSE, kl, kl, s->dC + (PetscCount)p * kl * kl, 1.0, tp, kl, 1.0, zc, kl, 1));
          if (dobot)
            PetscCall(SpikeSmallGemm_Host(PETSC_FALSE, ku, ku, s->dB + (PetscCount)(p + 1) * ku * ku, 1.0, tn + kl, ku,
                                          1.0, zc + w - ku, ku, 1));
        }
      }
      SpikeWindow_Private(h, trans, SpikeBandPart(SpikeHostFactors(s, p), r0, w), dotop ? 0 : w - hb, nrhs, z, xp + r0,
                          ldx);
      PetscCall(PetscLogFlops(nrhs * (2.0 * kl + 2.0 * ku + 2.0) * w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePermute_Host(SpikeBand *s, PetscBool gather, const PetscInt *newrow, const PetscReal *scale,
                                 PetscInt nrhs, const PetscScalar *x, PetscCount ldx, PetscScalar *y, PetscCount ldy)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < nrhs; c++) {
    const PetscScalar *xc = x + c * ldx;
    PetscScalar       *yc = y + c * ldy;

    if (scale)
      for (PetscInt i = 0; i < s->n; i++) {
        const PetscInt k = newrow ? newrow[i] : i;

        yc[gather ? i : k] = scale[i] * xc[gather ? k : i];
      }
    else if (gather)
      for (PetscInt i = 0; i < s->n; i++) yc[i] = xc[newrow ? newrow[i] : i];
    else
      for (PetscInt i = 0; i < s->n; i++) yc[newrow ? newrow[i] : i] = xc[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
