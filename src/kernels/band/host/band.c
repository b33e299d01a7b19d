/* SPDX-License-Identifier: BSD-2-Clause */
/*
  band.c: the host backend of kernels.h: memory, sweeps, reduced systems and corrections over the micro-kernels of
  band.h
*/
#include "host.h"
#include "kernels/common/host/memory.h"
#include <petscblaslapack.h>
#include <unistd.h>

/*
  Partition p is a band block of its own (band.h), ld = kl + ku + 1, with a pad on both sides; data->off[p] is its first
  element. The windows of work space: work holds one column of the largest partition for each right-hand side.
*/

/*
  The kernels for the corners of partitions: tips are no more exact than the factors, but are made by the kernels of
  single precision in less time
*/
static const SpikeBandOps *SpikeCornerOps_Private(const SpikeBand *s)
{
  return SpikeBandGetOps(PetscMin(s->precision, PETSC_SPIKE_PRECISION_SINGLE));
}

/* The work space of lu() for the partitions and, with the half-bandwidths exchanged, for their reversed corners */
static size_t SpikeWorkSize_Private(const SpikeBand *s)
{
  return PetscMax(SpikeBandGetOps(s->precision)->lu_worksize(s->kl, s->ku),
                  SpikeCornerOps_Private(s)->lu_worksize(s->ku, s->kl)) +
         64;
}

static PetscErrorCode SpikeBytes_Host(const SpikeBand *s, PetscReal *band, PetscReal *extra)
{
  const PetscReal elem = (PetscReal)SpikeBandGetOps(s->precision)->size, ld = (PetscReal)s->kl + s->ku + 1.0,
                  kl = (PetscReal)s->kl, ku = (PetscReal)s->ku;
  PetscReal big = 0.0, l;

  PetscFunctionBegin;
  *band  = elem * (ld * s->n + (s->np + 1.0) * SPIKE_BAND_PAD(kl, ku));
  *extra = (PetscReal)SpikeWorkSize_Private(s) + (s->np + 1.0) * (sizeof(PetscCount) + 3 * sizeof(PetscInt));
  if (s->nsystems) {
    PetscReal matrix, rest;

    PetscCall(SpikeTriBytesSystems_Host(s, &matrix, &rest));
    *extra += rest + (s->coupled ? *band : 0.0);
    *band = matrix;
  }
  if (s->coupled) {
    for (PetscInt p = 0; p < s->np; p++) big = PetscMax(big, (PetscReal)(s->start[p + 1] - s->start[p]));
    l = PetscMin(big, (PetscReal)SpikeMaxCorner(s->kl, s->ku));
    *extra += sizeof(PetscScalar) *
              ((s->np + 1.0) * (kl * kl + 2.0 * ku * ku + 2.0 * kl * ku + s->maxrhs * (kl + ku)) + s->maxrhs * big);
    *extra += (PetscReal)SpikeCornerOps_Private(s)->size * (l * ld + 2.0 * SPIKE_BAND_PAD(kl, ku)) +
              sizeof(PetscScalar) * l * PetscMax(kl, ku);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elements of the factors with a pad on both sides, first element on a cache line */
static PetscErrorCode SpikeBlockAllocate_Private(const SpikeBandOps *ops, PetscInt kl, PetscInt ku, PetscCount elements,
                                                 void **alloc, char **first)
{
  const size_t pad = (size_t)SPIKE_BAND_PAD(kl, ku) * ops->size;

  PetscFunctionBegin;
  PetscCall(PetscMalloc((size_t)elements * ops->size + 2 * pad + 64, alloc));
  *first = (char *)*alloc + pad;
  *first += (64 - ((size_t)*first & 63)) & 63;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeReserve_Host(SpikeBand *s, PetscInt maxrhs)
{
  SpikeHost   *h = (SpikeHost *)s->data;
  PetscScalar *tips, *work;

  PetscFunctionBegin;
  if (s->coupled) { /* each array in its place before the next is asked for: one may fail */
    PetscCall(PetscCalloc1((PetscCount)maxrhs * (s->np + 1) * (s->kl + s->ku), &tips));
    PetscCall(PetscFree(s->dtips));
    s->dtips = tips;
    PetscCall(PetscMalloc1((PetscCount)maxrhs * h->largest, &work));
    PetscCall(PetscFree(h->work));
    h->work = work;
  }
  s->maxrhs = maxrhs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCreate_Host(SpikeBand *s)
{
  const PetscInt   np = s->np, kl = s->kl, ku = s->ku;
  const PetscCount ld = (PetscCount)kl + ku + 1, pad = SPIKE_BAND_PAD(kl, ku);
  SpikeHost       *h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  s->data      = h;
  h->ops       = SpikeBandGetOps(s->precision);
  h->cornerops = SpikeCornerOps_Private(s);
  PetscCall(PetscMalloc1(np + 1, &h->off));
  h->off[0] = 0;
  for (PetscInt p = 0; p < np; p++) { /* one pad between two partitions, and each starts on a cache line */
    const PetscInt n = s->start[p + 1] - s->start[p];

    h->off[p + 1] = h->off[p] + ((n * ld + pad + 15) / 16) * 16;
    h->largest    = PetscMax(h->largest, n);
  }
  if (s->nsystems) PetscCall(SpikeTriCreateSystems_Host(s));
  if (!s->nsystems || s->coupled)
    PetscCall(SpikeBlockAllocate_Private(h->ops, kl, ku, h->off[np], &s->band, &h->first));
  PetscCall(PetscMalloc(SpikeWorkSize_Private(s), &h->luwork));
  PetscCall(PetscCalloc2(np, &s->wtop, np, &s->wbot));
  if (s->coupled) {
    h->maxcorner = PetscMin(h->largest, SpikeMaxCorner(kl, ku));
    PetscCall(PetscCalloc2((PetscCount)(np + 1) * ku * ku, &s->dB, (PetscCount)(np + 1) * kl * kl, &s->dC));
    PetscCall(PetscCalloc4((PetscCount)(np + 1) * kl * ku, &s->dVb, (PetscCount)(np + 1) * ku * kl, &s->dWt,
                           (PetscCount)(np + 1) * ku * ku, &s->dR, (PetscCount)(np + 1) * ku, &s->dpiv));
    PetscCall(SpikeBlockAllocate_Private(h->cornerops, kl, ku, h->maxcorner * ld, &h->corneralloc, &h->corner));
    PetscCall(PetscMalloc1((PetscCount)h->maxcorner * PetscMax(kl, ku), &h->spike));
    PetscCall(SpikeReserve_Host(s, s->maxrhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDestroy_Host(SpikeBand *s)
{
  SpikeHost *h = (SpikeHost *)s->data;

  PetscFunctionBegin;
  if (h) {
    PetscCall(SpikeTriDestroySystems_Host(s));
    PetscCall(PetscFree(h->off));
    PetscCall(PetscFree(h->luwork));
    PetscCall(PetscFree(h->corneralloc));
    PetscCall(PetscFree(h->spike));
    PetscCall(PetscFree(h->work));
  }
  PetscCall(PetscFree(s->data));
  PetscCall(PetscFree(s->band));
  PetscCall(PetscFree2(s->wtop, s->wbot));
  PetscCall(PetscFree2(s->dB, s->dC));
  PetscCall(PetscFree4(s->dVb, s->dWt, s->dR, s->dpiv));
  PetscCall(PetscFree(s->dtips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeFactor_Host(SpikeBand *s, SpikePivot *pivot)
{
  SpikeHost     *h = (SpikeHost *)s->data;
  SpikeBandPivot pv;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (s->nsystems) PetscCall(SpikeTriFactorSystems_Host(s, pivot));
  for (PetscInt p = 0; p < s->np && h->first; p++) {
    SpikeHostPivot(h, pivot, &pv);
    h->ops->lu(s->start[p + 1] - s->start[p], s->kl, s->ku, SpikeHostBlock(h, p), &pv);
    if (!s->nsystems) pivot->nboost += pv.nboost; /* the same rows as a rule */
    if (pv.badrow >= 0 && pivot->badrow < 0) {
      pivot->badrow   = s->start[p] + pv.badrow;
      pivot->badvalue = pv.badvalue;
    }
  }
  PetscCall(PetscLogFlops(2.0 * s->kl * s->ku * s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y (rows x nrhs) <- alpha op(A) x + beta y for the small blocks; A has m rows and k columns, op(A) = A or A^T */
static PetscErrorCode SpikeSmallGemm_Private(PetscBool trans, PetscInt m, PetscInt k, const PetscScalar *A,
                                             PetscScalar alpha, const PetscScalar *x, PetscCount ldx, PetscScalar beta,
                                             PetscScalar *y, PetscCount ldy, PetscInt nrhs)
{
  PetscBLASInt bm, bk, bn, lda, bx, by;

  PetscFunctionBegin;
  if (!(trans ? k : m) || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(trans ? k : m, &bm));
  PetscCall(PetscBLASIntCast(trans ? m : k, &bk));
  PetscCall(PetscBLASIntCast(PetscMax(m, 1), &lda));
  PetscCall(PetscBLASIntCast(nrhs, &bn));
  PetscCall(PetscBLASIntCast(PetscMax(ldx, 1), &bx));
  PetscCall(PetscBLASIntCast(PetscMax(ldy, 1), &by));
  PetscCallBLAS("BLASgemm", BLASgemm_(trans ? "T" : "N", "N", &bm, &bn, &bk, &alpha, A, &lda, x, &bx, &beta, y, &by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeReduced_Host(SpikeBand *s, PetscInt q0, PetscInt q1, SpikePivot *pivot)
{
  const PetscInt kl = s->kl, ku = s->ku;
  PetscBLASInt   n, info;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!ku) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(ku, &n));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  for (PetscInt q = q0; q < q1; q++) {
    PetscScalar *R     = s->dR + (PetscCount)q * ku * ku;
    PetscReal    scale = 1.0;

    if (!s->active[q]) continue;
    PetscCall(PetscArrayzero(R, (PetscCount)ku * ku));
    for (PetscInt i = 0; i < ku; i++) R[i + (PetscCount)i * ku] = 1.0;
    PetscCall(SpikeSmallGemm_Private(PETSC_FALSE, ku, kl, s->dWt + (PetscCount)q * ku * kl, -1.0,
                                     s->dVb + (PetscCount)q * kl * ku, kl, 1.0, R, ku, ku));
    for (PetscCount i = 0; i < (PetscCount)ku * ku; i++) scale = PetscMax(scale, PetscAbsScalar(R[i]));
    PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&n, &n, R, &n, s->dpiv + (PetscCount)q * ku, &info));
    for (PetscInt i = 0; i < ku; i++) {
      PetscScalar    *u   = &R[i + (PetscCount)i * ku];
      const PetscReal abs = PetscAbsScalar(*u);

      if (abs > pivot->tol * scale && !PetscIsInfReal(abs)) continue;
      if (pivot->boost > 0.0 && abs <= pivot->tol * scale) {
        *u = abs > 0.0 ? *u * (pivot->boost * scale / abs) : (PetscScalar)(pivot->boost * scale);
        if (q > 0) pivot->nboost++; /* interface 0 is interface np of the rank before, which counts it */
      } else if (pivot->badrow < 0) {
        pivot->badrow   = q;
        pivot->badvalue = abs;
      }
    }
  }
  PetscCall(PetscFPTrapPop());
  PetscCall(PetscLogFlops((q1 - q0) * (2.0 * kl * ku * ku + 2.0 / 3.0 * ku * ku * ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  N: x_t <- R^-1 (g_t - Wt g_b), x_b <- g_b - Vb x_t
  T: z_t <- R^-T (u_t - Vb^T u_b), z_b <- u_b - Wt^T z_t       (the transpose of the same 2 x 2 block matrix)
*/
static PetscErrorCode SpikeSolveTips_Host(SpikeBand *s, PetscBool trans, PetscInt q0, PetscInt q1, PetscInt nrhs)
{
  const PetscInt   kl = s->kl, ku = s->ku;
  const PetscCount ldt = (PetscCount)(s->np + 1) * (kl + ku);
  PetscBLASInt     n, nr, ld, info;

  PetscFunctionBegin;
  if (!ku) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(ku, &n));
  PetscCall(PetscBLASIntCast(nrhs, &nr));
  PetscCall(PetscBLASIntCast(ldt, &ld));
  for (PetscInt q = q0; q < q1; q++) {
    PetscScalar       *tb = s->dtips + (PetscCount)q * (kl + ku), *tt = tb + kl;
    const PetscScalar *Wt = s->dWt + (PetscCount)q * ku * kl, *Vb = s->dVb + (PetscCount)q * kl * ku;

    if (!s->active[q]) continue;
    PetscCall(SpikeSmallGemm_Private(trans, trans ? kl : ku, trans ? ku : kl, trans ? Vb : Wt, -1.0, tb, ldt, 1.0, tt,
                                     ldt, nrhs));
    PetscCallBLAS("LAPACKgetrs", LAPACKgetrs_(trans ? "T" : "N", &n, &nr, s->dR + (PetscCount)q * ku * ku, &n,
                                              s->dpiv + (PetscCount)q * ku, tt, &ld, &info));
    PetscCall(SpikeSmallGemm_Private(trans, trans ? ku : kl, trans ? kl : ku, trans ? Wt : Vb, -1.0, tt, ldt, 1.0, tb,
                                     ldt, nrhs));
    PetscCall(PetscLogFlops(nrhs * (4.0 * kl * ku + 2.0 * ku * ku)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
        SpikeSmallGemm_Private(PETSC_TRUE, kl, kl, s->dC + (PetscCount)q * kl * kl, 1.0, g, ldg, 0.0, t, ldt, nrhs));
    else
      PetscCall(SpikeSmallGemm_Private(PETSC_TRUE, ku, ku, s->dB + (PetscCount)q * ku * ku, 1.0, g + n - ku, ldg, 0.0,
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

static PetscErrorCode SpikeSweep_Host(SpikeBand *s, PetscBool trans, SpikeSweepPart part, PetscInt p0, PetscInt p1,
                                      PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *g,
                                      PetscCount ldg)
{
  SpikeHost     *h  = (SpikeHost *)s->data;
  const PetscInt kl = s->kl, ku = s->ku;

  PetscFunctionBegin;
  for (PetscInt p = p0; p < p1; p++) {
    /* rows from split on: the bottom tip */
    const PetscInt     n = s->start[p + 1] - s->start[p], split = n - PetscMin(n, trans ? ku : kl);
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
      else h->ops->lower(f, nrhs, bp, ldb, gp, ldg);
    }
    if (trans) h->ops->lower_t(f, lo, hi, nrhs, gp, ldg);
    else h->ops->upper(f, lo, hi, nrhs, gp, ldg);
    if (part != SPIKE_SWEEP_TAIL) PetscCall(SpikeGrabTips_Private(s, trans, PETSC_FALSE, p, nrhs, gp, ldg));
    if (part != SPIKE_SWEEP_HEAD) {
      PetscCall(SpikeGrabTips_Private(s, trans, PETSC_TRUE, p, nrhs, gp, ldg));
      PetscCall(PetscLogFlops(nrhs * (2.0 * kl + 2.0 * ku + 1.0) * n));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
    h->ops->lower(fz, nrhs, z + z0, w, z + z0, w);
    h->ops->upper(f, 0, w, nrhs, z, w);
  }
  for (PetscInt c = 0; c < nrhs; c++) {
    PetscScalar       *xc = x + c * ldx;
    const PetscScalar *zc = z + (PetscCount)c * w;

    for (PetscInt i = 0; i < w; i++) xc[i] -= zc[i];
  }
}

static PetscErrorCode SpikeCorrect_Host(SpikeBand *s, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs,
                                        PetscScalar *x, PetscCount ldx)
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
            PetscCall(SpikeSmallGemm_Private(PETSC_FALSE, kl, kl, s->dC + (PetscCount)p * kl * kl, 1.0, tp, kl, 1.0, zc,
                                             kl, 1));
          if (dobot)
            PetscCall(SpikeSmallGemm_Private(PETSC_FALSE, ku, ku, s->dB + (PetscCount)(p + 1) * ku * ku, 1.0, tn + kl,
                                             ku, 1.0, zc + w - ku, ku, 1));
        }
      }
      SpikeWindow_Private(h, trans, SpikeBandPart(SpikeHostFactors(s, p), r0, w), dotop ? 0 : w - hb, nrhs, z, xp + r0,
                          ldx);
      PetscCall(PetscLogFlops(nrhs * (2.0 * kl + 2.0 * ku + 2.0) * w));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePermute_Host(SpikeBand *s, PetscBool gather, const PetscInt *newrow, PetscInt nrhs,
                                        const PetscScalar *x, PetscCount ldx, PetscScalar *y, PetscCount ldy)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < nrhs; c++) {
    const PetscScalar *xc = x + c * ldx;
    PetscScalar       *yc = y + c * ldy;

    if (gather)
      for (PetscInt i = 0; i < s->n; i++) yc[i] = xc[newrow[i]];
    else
      for (PetscInt i = 0; i < s->n; i++) yc[newrow[i]] = xc[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One: the sweeps of a rank are sequential here, and one partition needs no coupling */
static PetscInt SpikePartitions_Host(PetscInt n, PetscInt kl, PetscInt ku, PetscSpikePrecision precision,
                                     PetscReal falloff)
{
  (void)n;
  (void)kl;
  (void)ku;
  (void)precision;
  (void)falloff;
  return 1;
}

static PetscErrorCode SpikeBegin_Host(SpikeBand *s)
{
  PetscFunctionBegin;
  (void)s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeAlloc_Host(SpikeBand *s, size_t bytes, void **ptr)
{
  PetscFunctionBegin;
  (void)s;
  PetscCall(PetscMalloc(bytes, ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeRelease_Host(SpikeBand *s, void **ptr)
{
  PetscFunctionBegin;
  (void)s;
  PetscCall(PetscFree(*ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeCopy2D_Host(SpikeBand *s, PetscBool todevice, PetscBool fromdevice, void *dst, size_t dpitch,
                                       const void *src, size_t spitch, size_t width, size_t height)
{
  PetscFunctionBegin;
  (void)s;
  (void)todevice;
  (void)fromdevice;
  for (size_t i = 0; i < height; i++)
    PetscCall(PetscMemcpy((char *)dst + i * dpitch, (const char *)src + i * spitch, width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKernels SpikeKernels_Host = {"host",
                                        PETSC_MEMTYPE_HOST,
                                        SpikeBytes_Host,
                                        SpikeCreate_Host,
                                        SpikeDestroy_Host,
                                        SpikeReserve_Host,
                                        SpikeFill_Host,
                                        SpikeFillDIA_Host,
                                        SpikeLeftTips_Host,
                                        SpikeFactor_Host,
                                        SpikeRightTips_Host,
                                        SpikeReduced_Host,
                                        SpikeSweep_Host,
                                        SpikeSolveTips_Host,
                                        SpikeCorrect_Host,
                                        SpikePermute_Host,
                                        SpikePartitions_Host,
                                        SpikeMemory_Host,
                                        SpikeBegin_Host,
                                        SpikeBegin_Host,
                                        SpikeAlloc_Host,
                                        SpikeRelease_Host,
                                        SpikeCopy2D_Host,
                                        SpikeAlloc_Host,
                                        SpikeRelease_Host,
                                        SpikeBegin_Host,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        &SpikeTridiagonalKernels_Host,
                                        &SpikePeriodicKernels_Host};
