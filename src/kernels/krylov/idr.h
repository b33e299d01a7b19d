/* SPDX-License-Identifier: BSD-2-Clause */
/* idr.h: the small recurrences of IDR(s) with biorthogonalization, beside scalars.h: C that CUDA compiles too */
#pragma once

#include "scalars.h"

/*
  M = P^H G is lower triangular, by columns: M[i + j s] = p_i.g_j. f = P^H r; elements that steps have made 0 are 0. c
  solves M(k:s,k:s) c(k:s) = f(k:s). alpha projects g_k on the g_i before it. beta is the length of a step with u_k,
  gamma that of the smoothing. All lie in one array, in the memory where the recurrences run.
*/
typedef struct {
  PetscInt     s;
  PetscScalar *cosine; /* where |cos(r, t)| is smaller, omega is enlarged; 0: never */
  PetscScalar *omega, *beta, *gamma, *f, *c, *alpha, *M;
} SpikeIDR;

#define SpikeIDRSize(s) ((s) * (s) + 3 * (s) + 4)

SPIKE_BOTH_INLINE SpikeIDR SpikeIDRLayout(PetscInt s, PetscScalar *array)
{
  SpikeIDR d;

  d.s      = s;
  d.cosine = array;
  d.omega  = array + 1;
  d.beta   = array + 2;
  d.gamma  = array + 3;
  d.f      = array + 4;
  d.c      = d.f + s;
  d.alpha  = d.c + s;
  d.M      = d.alpha + s;
  return d;
}

/* c of step k */
SPIKE_BOTH_INLINE void SpikeIDRCombine(const SpikeIDR *d, PetscInt k)
{
  for (PetscInt i = k; i < d->s; i++) {
    PetscScalar sum = d->f[i];

    for (PetscInt j = k; j < i; j++) sum -= d->M[i + j * d->s] * d->c[j];
    d->c[i] = sum / d->M[i + i * d->s];
  }
}

/* f = P^H r from its sums, and c of step k < s */
SPIKE_BOTH_INLINE void SpikeIDRSetResidual(const SpikeIDR *d, PetscInt k, const PetscScalar h[])
{
  for (PetscInt i = 0; i < d->s; i++) d->f[i] = h[i];
  SpikeIDRCombine(d, k);
}

SPIKE_BOTH_INLINE void SpikeIDRStart(const SpikeIDR *d, const PetscScalar h[])
{
  for (PetscInt i = 0; i < d->s * d->s; i++) d->M[i] = i % (d->s + 1) ? (PetscScalar)0.0 : (PetscScalar)1.0;
  *d->omega = (PetscScalar)1.0;
  *d->gamma = (PetscScalar)0.0;
  SpikeIDRSetResidual(d, 0, h);
}

/*
  alpha[i], first <= i < last, from h[i - first] = p_i.g, for a g that has none of the projections yet. h[0] to h[n - 1]
  become what they are after the projections
*/
SPIKE_BOTH_INLINE void SpikeIDRProject(const SpikeIDR *d, PetscInt first, PetscInt last, PetscInt n, PetscScalar h[])
{
  for (PetscInt i = first; i < last; i++) {
    d->alpha[i] = h[i - first] / d->M[i + i * d->s];
    for (PetscInt j = i + 1; j < first + n; j++) h[j - first] -= d->alpha[i] * d->M[j + i * d->s];
  }
}

/*
  Column k of M from h[j - k] = p_j.g_k; then beta, f and c of the next step. gg is g.g before the projection: rounding
  in h is relative to it, for p_k has norm 1
*/
SPIKE_BOTH_INLINE void SpikeIDRColumn(const SpikeIDR *d, SpikeKrylovScalars *s, PetscInt k, const PetscScalar h[],
                                      PetscScalar gg)
{
  if (!SpikeKrylovFinite(gg) || !SpikeKrylovFinite(h[0])) {
    s->reason = KSP_DIVERGED_NANORINF;
    return;
  }
  if (SpikeKrylovIsRounding(h[0], PetscRealPart(gg))) {
    s->reason = SPIKE_KRYLOV_RESTART;
    return;
  }
  for (PetscInt j = k; j < d->s; j++) d->M[j + k * d->s] = h[j - k];
  *d->beta = d->f[k] / h[0];
  d->f[k]  = (PetscScalar)0.0;
  for (PetscInt j = k + 1; j < d->s; j++) d->f[j] -= *d->beta * h[j - k];
  SpikeIDRCombine(d, k + 1);
}

/*
  omega = t.r / t.t. Where |cos(r, t)| < c = *cosine: times c / |cos(r, t)|, so that |omega| = c ||r|| / ||t||. t = 0,
  or t orthogonal to r with c = 0, asks for a new start.
*/
SPIKE_BOTH_INLINE void SpikeIDROmega(const SpikeIDR *d, SpikeKrylovScalars *s, PetscScalar tr, PetscScalar tt,
                                     PetscScalar rr)
{
  const PetscReal nt = PetscSqrtReal(PetscRealPart(tt)), nr = PetscSqrtReal(PetscRealPart(rr)),
                  absolute = PetscSqrtReal(SpikeKrylovAbs2(tr)), cosine = PetscRealPart(*d->cosine);

  if (!SpikeKrylovFinite(tr) || !SpikeKrylovFinite(tt) || !SpikeKrylovFinite(rr)) s->reason = KSP_DIVERGED_NANORINF;
  else if (nt == (PetscReal)0.0 || (absolute == (PetscReal)0.0 && cosine == (PetscReal)0.0))
    s->reason = SPIKE_KRYLOV_RESTART;
  else if (absolute == (PetscReal)0.0) *d->omega = cosine * nr / nt;
  else {
    *d->omega = tr / PetscRealPart(tt);
    if (absolute < cosine * nt * nr) *d->omega *= cosine * nt * nr / absolute;
  }
}

/*
  gamma of the point q - gamma d nearest to 0 on the line through q and r = q - d, from d.q, d.d, q.q, r.r. Returns its
  distance from 0. The square of that is q.q - |d.q|^2 / d.d = r.r - |d.r|^2 / d.d, with d.r = d.q - d.d: the form with
  the smaller terms has less rounding. Sums that are not finite give gamma = 0.
*/
SPIKE_BOTH_INLINE PetscReal SpikeIDRSmooth(const SpikeIDR *d, const PetscScalar h[])
{
  const PetscReal   dd = PetscRealPart(h[1]), qq = PetscRealPart(h[2]), rr = PetscRealPart(h[3]);
  const PetscScalar end = qq <= rr ? h[0] : h[0] - dd;
  PetscReal         square;

  *d->gamma = (PetscScalar)0.0;
  if (!SpikeKrylovFinite(h[0]) || !SpikeKrylovFinite(h[1])) return rr + dd;
  if (dd <= (PetscReal)0.0) return PetscSqrtReal(qq);
  *d->gamma = h[0] / dd;
  square    = PetscMin(qq, rr) - SpikeKrylovAbs2(end) / dd;
  return square > (PetscReal)0.0 ? PetscSqrtReal(square) : (PetscReal)0.0;
}

/* What follows from the sums h[] of a basis step, and how many there are; m is last - first */
typedef enum {
  SPIKE_IDR_START,    /* P^H r, r.r: step 0                                                            s + 1 */
  SPIKE_IDR_PROJECT,  /* p_i.g, first <= i < last: alpha                                               m     */
  SPIKE_IDR_COLUMN,   /* p_i.g_k, first <= i < s, g_k.g_k: alpha from first to k; M, f, c, beta        s - first + 1 */
  SPIKE_IDR_OMEGA,    /* P^H t where m = s, t.t, r.r, conj(t) r: omega; with P^H t f and c of step 0   m + 3 */
  SPIKE_IDR_RESIDUAL, /* P^H r, r.r: f and c of step k; with last the end of an iteration              s + 1 */
  SPIKE_IDR_SMOOTH,   /* d.q, d.d, q.q, r.r: gamma, the end of an iteration                            4     */
  SPIKE_IDR_SMOOTHED, /* gamma has been applied: 0; also where a reason is set                         1     */
  SPIKE_IDR_SHADOW,   /* p_i.y, first <= i < last, y.y: alpha is p_i.y, and beta 1 / ||y||             m + 1 */
  SPIKE_IDR_NORM      /* r.r: the end of an iteration                                                  1     */
} SpikeIDROp;

typedef struct {
  SpikeIDROp op;
  PetscInt   s, k, first, last;
  PetscReal  cosine; /* START */
} SpikeIDRRecurrence;

/*
  The scalars in `array` after a basis step, from its sums over all ranks, which are overwritten. Returns what
  SpikeKrylovRecur() returns
*/
SPIKE_BOTH_INLINE PetscBool SpikeIDRRecur(const SpikeIDRRecurrence *e, SpikeKrylovScalars *s, PetscScalar *array,
                                          PetscScalar h[])
{
  const SpikeIDR layout = SpikeIDRLayout(e->s, array), *const d = &layout;
  const PetscInt m    = e->last - e->first;
  PetscBool      post = PETSC_FALSE;

  switch (e->op) {
  case SPIKE_IDR_START:
    *d->cosine = e->cosine;
    SpikeIDRStart(d, h);
    s->norm  = PetscSqrtReal(PetscRealPart(h[d->s]));
    s->since = 0;
    post     = PETSC_TRUE;
    break;
  case SPIKE_IDR_PROJECT:
    SpikeIDRProject(d, e->first, e->last, m, h);
    break;
  case SPIKE_IDR_COLUMN:
    SpikeIDRProject(d, e->first, e->k, d->s - e->first, h);
    SpikeIDRColumn(d, s, e->k, h + e->k - e->first, h[d->s - e->first]);
    break;
  case SPIKE_IDR_OMEGA:
    SpikeIDROmega(d, s, h[m + 2], h[m], h[m + 1]);
    if (!s->reason && m) { /* f -= omega P^H t */
      for (PetscInt i = 0; i < m; i++) h[i] = d->f[i] - *d->omega * h[i];
      SpikeIDRSetResidual(d, 0, h);
    }
    break;
  case SPIKE_IDR_RESIDUAL:
    SpikeIDRSetResidual(d, e->k, h);
    if (!e->last) s->replaced = PetscSqrtReal(PetscRealPart(h[d->s]));
    if (e->last) {
      SpikeKrylovTestNorm(s, PetscSqrtReal(PetscRealPart(h[d->s])));
      post = PETSC_TRUE;
    }
    break;
  case SPIKE_IDR_SMOOTH:
    SpikeKrylovTestNorm(s, SpikeIDRSmooth(d, h));
    post = PETSC_TRUE;
    break;
  case SPIKE_IDR_SMOOTHED:
    *d->gamma = (PetscScalar)0.0;
    return PETSC_FALSE;
  case SPIKE_IDR_SHADOW:
    for (PetscInt i = 0; i < m; i++) d->alpha[e->first + i] = h[i];
    *d->beta = PetscRealPart(h[m]) > (PetscReal)0.0 ? 1 / PetscSqrtReal(PetscRealPart(h[m])) : (PetscReal)1.0;
    return PETSC_FALSE;
  case SPIKE_IDR_NORM:
    SpikeKrylovTestNorm(s, PetscSqrtReal(PetscRealPart(h[0])));
    post = PETSC_TRUE;
    break;
  }
  return s->reason ? PETSC_TRUE : post;
}

/*
  Numbers that look random, uniform in [-1, 1), from row, column and generation alone: the same on any number of ranks,
  on host and device
*/
SPIKE_BOTH_INLINE PetscReal SpikeIDRUniform(PetscInt row, PetscInt column, PetscInt generation)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * ((unsigned long long)row + 1) +
                         0xD1B54A32D192ED03ULL * (unsigned long long)column +
                         0x8CB92BA72F3D8DD7ULL * (unsigned long long)generation;

  for (int k = 0; k < 2; k++) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
  }
  return (PetscReal)((double)(z >> 40) / 8388608.0 - 1.0);
}

/* A number of shadow vector k */
SPIKE_BOTH_INLINE PetscScalar SpikeIDRShadow(PetscInt row, PetscInt k, PetscInt generation)
{
#if defined(PETSC_USE_COMPLEX) && defined(__CUDACC__) /* PetscCMPLX() is a function of the host */
  return PetscScalar(SpikeIDRUniform(row, 2 * k, generation), SpikeIDRUniform(row, 2 * k + 1, generation));
#elif defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(SpikeIDRUniform(row, 2 * k, generation), SpikeIDRUniform(row, 2 * k + 1, generation));
#else
  return SpikeIDRUniform(row, 2 * k, generation);
#endif
}
