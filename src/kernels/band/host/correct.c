/* SPDX-License-Identifier: BSD-2-Clause */
/* correct.c: the host's corrections, which are sweeps over windows, and permutations */
#include "host.h"

/*
  Rows r0 .. r0 + w - 1 of a partition and what the backend needs with them: with row exchanges whole panels, and in z
  the rows after them that the forward sweep moves values to
*/
typedef struct {
  PetscInt r0, w, rows; /* rows of z, w of which are those of x */
} SpikeWindow;

static SpikeWindow SpikeGetWindow_Private(const SpikeBand *s, PetscInt p, PetscBool top, PetscInt w)
{
  const SpikeHost    *h   = (const SpikeHost *)s->data;
  const SpikeBandOps *ops = h->ops;
  const PetscInt      n = s->start[p + 1] - s->start[p], kl = h->part[p].kl, ku = h->part[p].ku;
  const PetscInt      panel = SpikeBandPanel(ops, kl, ku);
  SpikeWindow         out;

  if (top) {
    out.r0   = 0;
    out.w    = PetscMin(n, (w + panel - 1) / panel * panel);
    out.rows = ops->panel ? PetscMin(n, out.w + kl) : out.w;
  } else {
    out.r0 = SpikeBandPartBegin(ops, kl, ku, n - w);
    if (s->ku && ops->panel) out.r0 = PetscMin(out.r0, SpikeBandForward(ops, kl, ku, n - s->ku));
    out.w = out.rows = n - out.r0;
  }
  return out;
}

/* x <- x - D^-1 z or x - D^-T z in a window of the factors f of a partition, z zero in its first z0 rows */
static void SpikeWindow_Private(SpikeHost *h, PetscBool trans, SpikeBandFactors f, SpikeWindow win, PetscInt z0,
                                PetscInt nrhs, PetscScalar *z, PetscScalar *x, PetscCount ldx)
{
  const PetscInt         w = win.w, ldz = win.rows;
  const SpikeBandFactors all = SpikeBandPart(f, win.r0, win.rows), own = SpikeBandPart(f, win.r0, w);

  /* the forward sweep starts at the first nonzero */
  if (trans) {
    z0 = SpikeBandPartBegin(h->ops, f.kl, f.ku, z0);
    h->ops->upper_t(SpikeBandPart(own, z0, w - z0), nrhs, z + z0, ldz, z + z0, ldz);
    h->ops->lower_t(own, 0, w, nrhs, z, ldz);
  } else {
    z0 = SpikeBandForward(h->ops, f.kl, f.ku, z0);
    h->ops->lower(SpikeBandPart(all, z0, win.rows - z0), 0, w - z0, nrhs, z + z0, ldz, z + z0, ldz);
    h->ops->upper(own, 0, w, nrhs, z, ldz);
  }
  for (PetscInt c = 0; c < nrhs; c++) {
    PetscScalar       *xc = x + c * ldx;
    const PetscScalar *zc = z + (PetscCount)c * ldz;

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
      const SpikeWindow win = SpikeGetWindow_Private(s, p, (PetscBool)(whole || end == 0),
                                                     whole      ? n
                                                     : end == 0 ? wtop
                                                                : wbot);
      const PetscInt    w   = win.w;

      if ((!dotop && !dobot) || (whole && end == 1)) continue;
      PetscCall(PetscArrayzero(z, (PetscCount)win.rows * nrhs));
      for (PetscInt c = 0; c < nrhs; c++) {
        const PetscScalar *tp = s->dtips + c * ldt + (PetscCount)p * (kl + ku), *tn = tp + kl + ku;
        PetscScalar       *zc = z + (PetscCount)c * win.rows;

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
      SpikeWindow_Private(h, trans, SpikeHostFactors(s, p), win, dotop ? 0 : w - hb, nrhs, z, xp + win.r0, ldx);
      PetscCall(PetscLogFlops(nrhs * (2.0 * h->part[p].kl + 2.0 * h->part[p].ku + 2.0) * w));
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
