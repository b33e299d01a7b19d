/* SPDX-License-Identifier: BSD-2-Clause */
/* idr.h: the small recurrences of IDR(s) with biorthogonalization, beside scalars.h: C that CUDA compiles too */
#pragma once

#include "scalars.h"

/*
  M = P^H G is lower triangular, by columns: M[i + j s] = p_i.g_j. f = P^H r, of which what steps have made 0 is 0; c solves M(k:s,k:s) c(k:s) = f(k:s), and alpha projects g_k
  on the g_i before it.
*/
typedef struct {
  PetscInt     s;
  PetscReal    cosine; /* least angle between r and t that omega believes, 0 for none */
  PetscScalar  omega, beta;
  PetscScalar *M, *f, *c, *alpha;
} SpikeIDR;

/* c of step k */
SPIKE_SCALAR_INLINE void SpikeIDRCombine(SpikeIDR *d, PetscInt k)
{
  for (PetscInt i = k; i < d->s; i++) {
    PetscScalar sum = d->f[i];

    for (PetscInt j = k; j < i; j++) sum -= d->M[i + j * d->s] * d->c[j];
    d->c[i] = sum / d->M[i + i * d->s];
  }
}

/* f = P^H r from its sums, and c of step k < s */
SPIKE_SCALAR_INLINE void SpikeIDRSetResidual(SpikeIDR *d, PetscInt k, const PetscScalar h[])
{
  for (PetscInt i = 0; i < d->s; i++) d->f[i] = h[i];
  SpikeIDRCombine(d, k);
}

SPIKE_SCALAR_INLINE void SpikeIDRStart(SpikeIDR *d, const PetscScalar h[])
{
  for (PetscInt i = 0; i < d->s * d->s; i++) d->M[i] = i % (d->s + 1) ? (PetscScalar)0.0 : (PetscScalar)1.0;
  d->omega = (PetscScalar)1.0;
  SpikeIDRSetResidual(d, 0, h);
}

/* alpha[i], first <= i < last, from h[i - first] = p_i.g of a g to which none of them has been applied; what is left of h[0] to h[n - 1] when they have */
SPIKE_SCALAR_INLINE void SpikeIDRProject(SpikeIDR *d, PetscInt first, PetscInt last, PetscInt n, PetscScalar h[])
{
  for (PetscInt i = first; i < last; i++) {
    d->alpha[i] = h[i - first] / d->M[i + i * d->s];
    for (PetscInt j = i + 1; j < first + n; j++) h[j - first] -= d->alpha[i] * d->M[j + i * d->s];
  }
}

/* Column k of M from h[j - k] = p_j.g_k; beta, f and c of the next step. gg: g.g before the projection, to which rounding in h is relative, for p_k has norm 1 */
SPIKE_SCALAR_INLINE void SpikeIDRColumn(SpikeIDR *d, SpikeKrylovScalars *s, PetscInt k, const PetscScalar h[], PetscScalar gg)
{
  if (!SpikeKrylovFinite(gg) || !SpikeKrylovFinite(h[0])) {
    s->reason = KSP_DIVERGED_NANORINF;
    return;
  }
  if (SpikeKrylovIsRounding(h[0], (PetscReal)1.0, PetscRealPart(gg))) {
    s->reason = SPIKE_KRYLOV_RESTART;
    return;
  }
  for (PetscInt j = k; j < d->s; j++) d->M[j + k * d->s] = h[j - k];
  d->beta = d->f[k] / h[0];
  d->f[k] = (PetscScalar)0.0;
  for (PetscInt j = k + 1; j < d->s; j++) d->f[j] -= d->beta * h[j - k];
  SpikeIDRCombine(d, k + 1);
}

/* omega = t.r / t.t, made longer where the angle between them is large. A t that is 0, or orthogonal to r without that remedy, ends the recurrence */
SPIKE_SCALAR_INLINE void SpikeIDROmega(SpikeIDR *d, SpikeKrylovScalars *s, PetscScalar tr, PetscScalar tt, PetscScalar rr)
{
  const PetscReal nt = PetscSqrtReal(PetscRealPart(tt)), nr = PetscSqrtReal(PetscRealPart(rr)), absolute = PetscSqrtReal(SpikeKrylovAbs2(tr));

  if (!SpikeKrylovFinite(tr) || !SpikeKrylovFinite(tt) || !SpikeKrylovFinite(rr)) s->reason = KSP_DIVERGED_NANORINF;
  else if (nt == (PetscReal)0.0 || (absolute == (PetscReal)0.0 && d->cosine == (PetscReal)0.0)) s->reason = SPIKE_KRYLOV_RESTART;
  else if (absolute == (PetscReal)0.0) d->omega = d->cosine * nr / nt;
  else {
    d->omega = tr / PetscRealPart(tt);
    if (absolute < d->cosine * nt * nr) d->omega *= d->cosine * nt * nr / absolute;
  }
}
