/* SPDX-License-Identifier: BSD-2-Clause */
/* tips.c: the host's spike tips, and how far the spikes reach */
#include "host.h"

/*
  What is known of a spike of n rows from the l rows at its end (the last ones of the array, leading dimension l; top:
  the first ones): the
  rows of it that matter, the rest lying below rounding, and the natural logarithm of the factor by which it falls a
  row.

  A spike that has not fallen by the last row known is taken to reach the whole partition. Its rate comes from the
  nearer half. Rows of a corner that is shorter than the partition are not those of the spike: like sinh((l - i) t) /
  sinh(l t) for exp(-i t) they fall too fast, at half the corner by a factor up to 2, so that the rate is too large by
  log(2) / (l / 2) at most, which is taken off.
*/
static void SpikeReach_Private(PetscInt n, PetscInt l, PetscInt tip, PetscInt ncols, PetscBool top,
                               const PetscScalar *spike, PetscReal eps, PetscReal window, PetscBool *fallen,
                               PetscInt *reach, PetscReal *falloff)
{
  /* rows of the nearer half, more than the tip where there are more */
  const PetscInt half = PetscMax(l / 2, PetscMin(2 * tip, l));
  PetscReal      head = 0.0, far = 0.0, mid = 0.0;
  PetscInt       last = 0, reached = 0; /* 1 + distance of the last row above eps * head, above window * head */

  for (PetscInt pass = 0; pass < 2; pass++) {
    for (PetscInt d = 0; d < l; d++) {
      PetscReal m = 0.0;

      for (PetscInt c = 0; c < ncols; c++)
        m = PetscMax(m, PetscAbsScalar(spike[(top ? d : l - 1 - d) + (PetscCount)c * l]));
      if (!pass) {
        if (d < tip) head = PetscMax(head, m);
      } else {
        if (m > eps * head) last = d + 1;
        if (m > PetscMax(eps, window) * head) reached = d + 1;
        if (d >= l - tip) far = PetscMax(far, m);
        if (d >= half - tip && d < half) mid = PetscMax(mid, m);
      }
    }
  }
  *fallen = (PetscBool)(last <= l - tip);
  *reach  = reached <= l - tip ? PetscMax(reached, tip) : n;
  if (head == 0.0) *falloff = PETSC_MIN_REAL;
  else if (l == n || *fallen)
    *falloff = far == 0.0 ? PETSC_MIN_REAL : PetscMin(PetscLogReal(far / head) / PetscMax(l - tip, 1), 0.0);
  else *falloff = PetscMin(PetscLogReal(mid / head) / PetscMax(half - tip, 1) + 2.0 * PetscLogReal(2.0) / l, 0.0);
}

/*
  Where a spike ends: M^-1 of L D L^H is to be hermitian to the rounding of the arithmetic, whatever the factors have
*/
static PetscReal SpikeTipsEpsilon_Private(const SpikeBand *s)
{
  return s->cholesky ? PETSC_MACHINE_EPSILON : SpikePrecisionEpsilon(s->precision);
}

/* The leading corner of l rows, rows and columns reversed, without what belonged to rows after the corner */
static void SpikeReverseCorner_Private(const SpikeBand *s, SpikeHost *h, PetscInt p, PetscInt l)
{
  const PetscInt   kl = h->part[p].kl, ku = h->part[p].ku;
  const PetscCount pad = SPIKE_BAND_PAD(s->kl, s->ku), m = SpikeBandElements(h->cornerops, l, ku, kl);
  const PetscCount ld = SpikeBandLd(h->cornerops, ku, kl), diagonal = SpikeBandDiagonal(h->cornerops, ku, kl);
  const void      *a = SpikeHostBlock(h, p);

  memset(h->corner - (size_t)pad * h->cornerops->size, 0, (size_t)(m + 2 * pad) * h->cornerops->size);
  for (PetscInt j = 0; j < l; j++) {
    const PetscInt i0 = PetscMax(0, j - ku), i1 = PetscMin(l - 1, j + kl);

    for (PetscInt i = i0; i <= i1; i++)
      SpikeHostPut(PetscMin(s->precision, PETSC_SPIKE_PRECISION_SINGLE), h->corner, (l - 1 - j) * ld + diagonal + j - i,
                   SpikeHostGet(s->precision, a, j * h->part[p].ld + h->part[p].diagonal + i - j));
  }
}

/*
  J D J = L U of the reversed corner is the UL factorization of the corner itself, and J W = (J D J)^-1 [0; J C]: the
  left spike is a right spike of the reversed block, whose lower half-bandwidth is ku and upper one kl.
*/
PetscErrorCode SpikeLeftTips_Host(SpikeBand *s, SpikePivot *pivot, PetscReal falloff[])
{
  SpikeHost      *h  = (SpikeHost *)s->data;
  const PetscInt  kl = s->kl, ku = s->ku, K = PetscMax(kl, ku);
  const PetscReal eps = SpikePrecisionEpsilon(s->precision);

  PetscFunctionBegin;
  pivot->nboost  = 0;
  falloff[s->np] = PETSC_MIN_REAL;
  for (PetscInt q = 0; q < s->np; q++) {
    const PetscInt     n = s->start[q + 1] - s->start[q], lmax = PetscMin(n, h->maxcorner);
    const PetscScalar *C      = s->dC + (PetscCount)q * kl * kl;
    PetscScalar       *Wt     = s->dWt + (PetscCount)q * ku * kl;
    PetscBool          fallen = PETSC_FALSE;

    const PetscInt ql = h->part[q].kl, qu = h->part[q].ku;

    falloff[q] = PETSC_MIN_REAL;
    s->wtop[q] = 0;
    if (!s->active[q] || !kl) continue;
    for (PetscInt l = PetscMin(2 * K, lmax); !fallen; l = PetscMin(2 * l, lmax)) {
      const SpikeBandFactors f  = SpikeBandWhole(l, qu, ql, h->corner);
      const PetscInt         f0 = SpikeBandForward(h->cornerops, qu, ql, l - kl);
      SpikeBandPivot         pv;
      PetscScalar           *W = h->spike; /* reversed */

      SpikeReverseCorner_Private(s, h, q, l);
      SpikeHostPivot(h, pivot, &pv);
      h->cornerops->lu(l, qu, ql, h->corner, &pv);
      PetscCall(PetscArrayzero(W, (PetscCount)l * kl));
      for (PetscInt c = 0; c < kl; c++)
        for (PetscInt i = 0; i < kl; i++) W[(PetscCount)c * l + l - 1 - i] = C[i + (PetscCount)c * kl];
      h->cornerops->lower(SpikeBandPart(f, f0, l - f0), 0, l - f0, kl, W + f0, l, W + f0, l);
      h->cornerops->upper(f, 0, l, kl, W, l);
      PetscCall(PetscLogFlops(2.0 * ql * qu * l + (2.0 * ql + 1.0) * kl * l));
      SpikeReach_Private(n, l, K, kl, PETSC_FALSE, W, eps, s->window, &fallen, &s->wtop[q], &falloff[q]);
      if (fallen || l == lmax) {
        for (PetscInt c = 0; c < kl; c++)
          for (PetscInt i = 0; i < ku; i++) Wt[i + (PetscCount)c * ku] = W[(PetscCount)c * l + l - 1 - i];
        pivot->nboost += pv.nboost;
        break;
      }
    }
    s->wtop[q] = PetscMin(s->wtop[q], n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  W = (L D L^H)^-1 [C; 0] of the leading rows, which are those of the spike but for the square of what is at their end:
  no other factorization is needed, and Wt fits the sweeps to rounding
*/
PetscErrorCode SpikeLeftTipsFromFactors_Host(SpikeBand *s, PetscReal falloff[])
{
  SpikeHost     *h = (SpikeHost *)s->data;
  const PetscInt K = s->kl;

  PetscFunctionBegin;
  falloff[s->np] = PETSC_MIN_REAL;
  for (PetscInt q = 0; q < s->np; q++) {
    const PetscInt         n = s->start[q + 1] - s->start[q], lmax = PetscMin(n, h->maxcorner);
    const PetscScalar     *C  = s->dC + (PetscCount)q * K * K;
    PetscScalar           *Wt = s->dWt + (PetscCount)q * K * K, *W = h->spike;
    PetscBool              fallen = PETSC_FALSE;
    const SpikeBandFactors f      = SpikeHostFactors(s, q);

    falloff[q] = PETSC_MIN_REAL;
    s->wtop[q] = 0;
    if (!s->active[q] || !K) continue;
    for (PetscInt l = PetscMin(2 * K, lmax);; l = PetscMin(2 * l, lmax)) {
      const SpikeBandFactors part = SpikeBandPart(f, 0, l);

      PetscCall(PetscArrayzero(W, (PetscCount)l * K));
      for (PetscInt c = 0; c < K; c++) PetscCall(PetscArraycpy(W + (PetscCount)c * l, C + (PetscCount)c * K, K));
      h->ops->lower(part, 0, l, K, W, l, W, l);
      h->ops->upper(part, 0, l, K, W, l);
      PetscCall(PetscLogFlops((4.0 * f.kl + 1.0) * K * l));
      SpikeReach_Private(n, l, K, K, PETSC_TRUE, W, SpikeTipsEpsilon_Private(s), s->window, &fallen, &s->wtop[q],
                         &falloff[q]);
      if (fallen || l == lmax) {
        for (PetscInt c = 0; c < K; c++) PetscCall(PetscArraycpy(Wt + (PetscCount)c * K, W + (PetscCount)c * l, K));
        break;
      }
    }
    s->wtop[q] = PetscMin(s->wtop[q], n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  V = U^-1 L^-1 [0; B] runs upwards from the last rows of the factors, so the rows computed are those of the whole spike
*/
PetscErrorCode SpikeRightTips_Host(SpikeBand *s, PetscReal falloff[])
{
  SpikeHost      *h  = (SpikeHost *)s->data;
  const PetscInt  kl = s->kl, ku = s->ku, K = PetscMax(kl, ku);
  const PetscReal eps = SpikeTipsEpsilon_Private(s);

  PetscFunctionBegin;
  falloff[0] = PETSC_MIN_REAL;
  for (PetscInt q = 1; q <= s->np; q++) {
    const PetscInt         n = s->start[q] - s->start[q - 1], lmax = PetscMin(n, h->maxcorner);
    const PetscScalar     *B      = s->dB + (PetscCount)q * ku * ku;
    PetscScalar           *Vb     = s->dVb + (PetscCount)q * kl * ku;
    PetscBool              fallen = PETSC_FALSE;
    const SpikeBandFactors f      = SpikeHostFactors(s, q - 1);

    falloff[q]     = PETSC_MIN_REAL;
    s->wbot[q - 1] = 0;
    if (!s->active[q] || !ku) continue;
    for (PetscInt least = PetscMin(2 * K, lmax); !fallen; least = PetscMin(2 * least, lmax)) {
      PetscScalar   *V  = h->spike;
      const PetscInt f0 = SpikeBandForward(h->ops, f.kl, f.ku, n - ku),
                     l  = n - SpikeBandPartBegin(h->ops, f.kl, f.ku, PetscMin(n - least, f0));

      PetscCall(PetscArrayzero(V, (PetscCount)l * ku));
      for (PetscInt c = 0; c < ku; c++)
        PetscCall(PetscArraycpy(V + (PetscCount)c * l + l - ku, B + (PetscCount)c * ku, ku));
      h->ops->lower(SpikeBandPart(f, f0, n - f0), 0, n - f0, ku, V + l - n + f0, l, V + l - n + f0, l);
      h->ops->upper(SpikeBandPart(f, n - l, l), 0, l, ku, V, l);
      PetscCall(PetscLogFlops((2.0 * h->part[q - 1].ku + 1.0) * ku * l));
      SpikeReach_Private(n, l, K, ku, PETSC_FALSE, V, eps, s->window, &fallen, &s->wbot[q - 1], &falloff[q]);
      if (fallen || l >= lmax) {
        for (PetscInt c = 0; c < ku; c++)
          PetscCall(PetscArraycpy(Vb + (PetscCount)c * kl, V + (PetscCount)c * l + l - kl, kl));
        break;
      }
    }
    s->wbot[q - 1] = PetscMin(s->wbot[q - 1], n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
