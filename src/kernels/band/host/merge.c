/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.c: the host's reduced system of full SPIKE: partitions merged two by two (band.h) */
#include "host.h"
#include <petscblaslapack.h>

/* C <- alpha A B + beta C, A m x k, B k x n, with leading dimensions */
static PetscErrorCode SpikeMergeGemm_Private(PetscInt m, PetscInt n, PetscInt k, PetscScalar alpha,
                                             const PetscScalar *A, PetscInt lda, const PetscScalar *B, PetscInt ldb,
                                             PetscScalar beta, PetscScalar *C, PetscInt ldc)
{
  PetscBLASInt bm, bn, bk, ba, bb, bc;

  PetscFunctionBegin;
  if (!m || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(k, &bk));
  PetscCall(PetscBLASIntCast(PetscMax(lda, 1), &ba));
  PetscCall(PetscBLASIntCast(PetscMax(ldb, 1), &bb));
  PetscCall(PetscBLASIntCast(PetscMax(ldc, 1), &bc));
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &bm, &bn, &bk, &alpha, A, &ba, B, &bb, &beta, C, &bc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interface q between segments from s to q and from q to e: P, Q, and the tips of the merged segment */
static PetscErrorCode SpikeMergeInterface_Private(SpikeBand *band, PetscInt s, PetscInt q, PetscInt e)
{
  const PetscInt   kl = band->kl, ku = band->ku, h = kl + ku;
  const PetscCount square = (PetscCount)ku * ku, below = (PetscCount)kl * kl, tip = (PetscCount)kl * ku;
  PetscScalar     *Pw = band->dmerged + q * ((PetscCount)h * h), *Py = Pw + kl, *Qw = Pw + (PetscCount)kl * h,
              *Qy  = Qw + kl;
  PetscScalar *Wbs = band->dWb + s * below, *Wts = band->dWt + s * tip, *Vte = band->dVt + e * square,
              *Vbe       = band->dVb + e * tip;
  const PetscScalar *Wbq = band->dWb + q * below, *Wtq = band->dWt + q * tip, *Vtq = band->dVt + q * square,
                    *Vbq = band->dVb + q * tip;
  PetscBLASInt n, bl, ld, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(ku, &n));
  PetscCall(PetscBLASIntCast(h, &ld));
  PetscCall(PetscBLASIntCast(kl, &bl));
  /* [Pw; Py] and [Qw; Qy], by y first and w = (the rest) - Vb y */
  PetscCall(SpikeMergeGemm_Private(ku, kl, kl, -1.0, Wtq, ku, Wbs, kl, 0.0, Py, h));
  for (PetscInt j = 0; j < ku; j++) PetscCall(PetscArraycpy(Qy + (PetscCount)j * h, Vte + (PetscCount)j * ku, ku));
  if (ku) {
    if (kl)
      PetscCallBLAS("LAPACKgetrs", LAPACKgetrs_("N", &n, &bl, band->dR + q * square, &n,
                                                band->dpiv + (PetscCount)q * ku, Py, &ld, &info));
    PetscCallBLAS("LAPACKgetrs", LAPACKgetrs_("N", &n, &n, band->dR + q * square, &n, band->dpiv + (PetscCount)q * ku,
                                              Qy, &ld, &info));
  }
  for (PetscInt j = 0; j < kl; j++) PetscCall(PetscArraycpy(Pw + (PetscCount)j * h, Wbs + (PetscCount)j * kl, kl));
  PetscCall(SpikeMergeGemm_Private(kl, kl, ku, -1.0, Vbq, kl, Py, h, 1.0, Pw, h));
  PetscCall(SpikeMergeGemm_Private(kl, ku, ku, -1.0, Vbq, kl, Qy, h, 0.0, Qw, h));
  PetscCall(SpikeMergeGemm_Private(ku, kl, ku, -1.0, Vtq, ku, Py, h, 1.0, Wts, ku));
  PetscCall(SpikeMergeGemm_Private(kl, kl, kl, -1.0, Wbq, kl, Pw, h, 0.0, Wbs, kl));
  PetscCall(SpikeMergeGemm_Private(ku, ku, ku, -1.0, Vtq, ku, Qy, h, 0.0, Vte, ku));
  PetscCall(SpikeMergeGemm_Private(kl, ku, kl, -1.0, Wbq, kl, Qw, h, 1.0, Vbe, kl));
  PetscCall(PetscLogFlops(2.0 * h * ((PetscLogDouble)kl * kl + 2.0 * kl * ku + 2.0 * (PetscLogDouble)ku * ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMerge_Host(SpikeBand *s, SpikePivot *pivot)
{
  PetscInt  nboost = 0, badrow = -1;
  PetscReal badvalue = 0.0;

  PetscFunctionBegin;
  for (PetscInt l = 1; l < s->np; l *= 2) {
    for (PetscInt q = l; q < s->np; q += 2 * l) {
      PetscCall(SpikeReduced_Host(s, q, q + 1, pivot));
      nboost += pivot->nboost;
      if (pivot->badrow >= 0 && badrow < 0) {
        badrow   = pivot->badrow;
        badvalue = pivot->badvalue;
      }
      PetscCall(SpikeMergeInterface_Private(s, q - l, q, PetscMin(q + l, s->np)));
    }
  }
  pivot->nboost   = nboost;
  pivot->badrow   = badrow;
  pivot->badvalue = badvalue;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- y - op(A) x for A of m rows and k columns with leading dimension lda, all right-hand sides of the tips */
static PetscErrorCode SpikeMergeTimes_Private(const SpikeBand *s, PetscBool trans, PetscInt m, PetscInt k,
                                              const PetscScalar *A, PetscInt lda, const PetscScalar *x, PetscScalar *y,
                                              PetscInt nrhs)
{
  const PetscScalar minus = -1.0, one = 1.0;
  PetscBLASInt      rows, inner, cols, ba, ld;

  PetscFunctionBegin;
  if (!m || !k || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(trans ? k : m, &rows));
  PetscCall(PetscBLASIntCast(trans ? m : k, &inner));
  PetscCall(PetscBLASIntCast(nrhs, &cols));
  PetscCall(PetscBLASIntCast(lda, &ba));
  PetscCall(PetscBLASIntCast((PetscCount)(s->np + 1) * (s->kl + s->ku), &ld));
  PetscCallBLAS("BLASgemm",
                BLASgemm_(trans ? "T" : "N", "N", &rows, &cols, &inner, &minus, A, &ba, x, &ld, &one, y, &ld));
  PetscCall(PetscLogFlops(2.0 * m * k * nrhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interface q on the way up or down. Its system is solved first on the way up, transposed last on the way down */
static PetscErrorCode SpikeMerged_Private(SpikeBand *b, PetscBool trans, PetscBool up, PetscInt s, PetscInt q,
                                          PetscInt e, PetscInt nrhs)
{
  const PetscInt kl = b->kl, ku = b->ku, h = kl + ku;
  PetscScalar   *ts = b->dtips + (PetscCount)s * h, *tq = b->dtips + (PetscCount)q * h,
              *te      = b->dtips + (PetscCount)e * h;
  const PetscScalar *P = b->dmerged + q * ((PetscCount)h * h), *Q = P + (PetscCount)kl * h;
  const PetscScalar *Vt = b->dVt + (PetscCount)q * ku * ku, *Wb = b->dWb + (PetscCount)q * kl * kl;

  PetscFunctionBegin;
  if (up != trans) {
    if (up) PetscCall(SpikeSolveTips_Host(b, trans, q, q + 1, nrhs));
    if (b->active[s])
      PetscCall(
        SpikeMergeTimes_Private(b, trans, ku, ku, Vt, ku, up ? tq + kl : ts + kl, up ? ts + kl : tq + kl, nrhs));
    if (b->active[e]) PetscCall(SpikeMergeTimes_Private(b, trans, kl, kl, Wb, kl, up ? tq : te, up ? te : tq, nrhs));
    if (!up) PetscCall(SpikeSolveTips_Host(b, trans, q, q + 1, nrhs));
  } else {
    if (b->active[s]) PetscCall(SpikeMergeTimes_Private(b, trans, h, kl, P, h, up ? tq : ts, up ? ts : tq, nrhs));
    if (b->active[e])
      PetscCall(SpikeMergeTimes_Private(b, trans, h, ku, Q, h, up ? tq : te + kl, up ? te + kl : tq, nrhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMergedTips_Host(SpikeBand *s, PetscBool trans, PetscBool up, PetscInt nrhs)
{
  PetscInt top = 1;

  PetscFunctionBegin;
  while (2 * top < s->np) top *= 2;
  if (up) {
    for (PetscInt l = 1; l < s->np; l *= 2)
      for (PetscInt q = l; q < s->np; q += 2 * l)
        PetscCall(SpikeMerged_Private(s, trans, PETSC_TRUE, q - l, q, PetscMin(q + l, s->np), nrhs));
  } else {
    for (PetscInt l = top; l > 0; l /= 2)
      for (PetscInt q = l; q < s->np; q += 2 * l)
        PetscCall(SpikeMerged_Private(s, trans, PETSC_FALSE, q - l, q, PetscMin(q + l, s->np), nrhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMergedRhs_Host(SpikeBand *s, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb)
{
  const PetscInt   kl = s->kl, ku = s->ku, h = kl + ku;
  const PetscCount ldt = (PetscCount)(s->np + 1) * h;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < nrhs; c++) {
    PetscScalar *z = s->dwork + (PetscCount)c * s->n;

    PetscCall(PetscArraycpy(z, b + c * ldb, s->n));
    for (PetscInt q = 0; q <= s->np; q++) {
      const PetscScalar *below = s->dtips + c * ldt + (PetscCount)q * h, *above = below + kl;
      PetscScalar       *after = z + s->start[q], *before = z + s->start[q]; /* of the cut */

      if (!s->active[q]) continue;
      if (trans) {
        if (q < s->np)
          for (PetscInt i = 0; i < ku; i++) after[i] -= above[i];
        if (q > 0)
          for (PetscInt i = 0; i < kl; i++) before[i - kl] -= below[i];
      } else {
        if (q < s->np)
          PetscCall(SpikeSmallGemm_Host(PETSC_FALSE, kl, kl, s->dC + (PetscCount)q * kl * kl, -1.0, below, kl, 1.0,
                                        after, kl, 1));
        if (q > 0)
          PetscCall(SpikeSmallGemm_Host(PETSC_FALSE, ku, ku, s->dB + (PetscCount)q * ku * ku, -1.0, above, ku, 1.0,
                                        before - ku, ku, 1));
      }
    }
  }
  PetscCall(PetscLogFlops(2.0 * nrhs * (s->np + 1.0) * (trans ? 0.5 * h : 1.0 * kl * kl + 1.0 * ku * ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
