/* SPDX-License-Identifier: BSD-2-Clause */
/* spikes.c: the host's spikes of whole partitions, for full SPIKE */
#include "host.h"

#define SPIKE_SPIKES_COLUMNS 64     /* of a spike at a time                                                     */
#define SPIKE_SPIKES_BYTES   131072 /* of the factors, which meet all of these columns while they are in the cache */

/* The arrays that full SPIKE has besides, once */
static PetscErrorCode SpikeSpikesCreate_Private(SpikeBand *s)
{
  SpikeHost       *h  = (SpikeHost *)s->data;
  const PetscCount kl = s->kl, ku = s->ku, np = s->np;

  PetscFunctionBegin;
  if (!s->dmerged) {
    PetscCall(PetscCalloc3((np + 1) * ku * ku, &s->dVt, (np + 1) * kl * kl, &s->dWb, (np + 1) * (kl + ku) * (kl + ku),
                           &s->dmerged));
  }
  if (!h->columns)
    PetscCall(PetscMalloc1((PetscCount)h->largest * PetscMin(PetscMax(kl, ku), SPIKE_SPIKES_COLUMNS), &h->columns));
  if (s->cholesky && !h->inverse) {
    PetscCall(PetscCalloc1(3 * kl * kl, &h->inverse));
    for (PetscCount i = 0; i < kl; i++) h->inverse[i * (kl + 1)] = 1.0;
  }
  if (!s->dwork) PetscCall(PetscMalloc1((PetscCount)s->maxrhs * s->n, &s->dwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Columns c <= . < c + nc of the first top rows and of the last bottom rows of Z; the largest magnitudes in the first
  and last K rows
*/
static void SpikeSpikesTips_Private(PetscInt n, PetscInt K, PetscInt c, PetscInt nc, const PetscScalar *Z, PetscInt top,
                                    PetscScalar *At, PetscInt bottom, PetscScalar *Ab, PetscReal most[2])
{
  for (PetscInt k = 0; k < nc; k++) {
    const PetscScalar *z = Z + (PetscCount)k * n;

    for (PetscInt i = 0; i < top; i++) At[i + (PetscCount)(c + k) * top] = z[i];
    for (PetscInt i = 0; i < bottom; i++) Ab[i + (PetscCount)(c + k) * bottom] = z[n - bottom + i];
    for (PetscInt i = 0; i < PetscMin(K, n); i++) {
      most[0] = PetscMax(most[0], PetscAbsScalar(z[i]));
      most[1] = PetscMax(most[1], PetscAbsScalar(z[n - 1 - i]));
    }
  }
}

/* Of a spike that has `near` at its end and `far` at the other one, that many rows away */
static PetscReal SpikeSpikesFalloff_Private(PetscReal near, PetscReal far, PetscInt rows)
{
  if (!(near > 0.0) || far == 0.0) return PETSC_MIN_REAL;
  return PetscMin(PetscLogReal(far / near) / PetscMax(rows, 1), 0.0);
}

/*
  Z <- L^-1 Z from row f0 on, then U^-1 Z down to row lo, some rows at a time for all columns, 8 of which go together
*/
static void SpikeSpikesSweep_Private(const SpikeBandOps *ops, SpikeBandFactors f, PetscInt f0, PetscInt lo, PetscInt nc,
                                     PetscScalar *Z)
{
  const PetscInt         n = f.rows, rows = n - f0;
  const SpikeBandFactors part = SpikeBandPart(f, f0, rows);
  const PetscInt step = PetscMax(64, (PetscInt)(SPIKE_SPIKES_BYTES / (PetscMax(PetscMax(f.kl, f.ku), 1) * ops->size)) /
                                       64 * 64);

  for (PetscInt j = 0; j < rows; j += step)
    for (PetscInt c = 0; c < nc; c += 8) {
      PetscScalar *z = Z + (PetscCount)c * n + f0;

      ops->lower(part, j, PetscMin(j + step, rows), PetscMin(nc - c, 8), z, n, z, n);
    }
  for (PetscInt hi = n; hi > lo;) {
    const PetscInt j = PetscMax(lo, (hi - 1) / step * step);

    for (PetscInt c = 0; c < nc; c += 8) ops->upper(f, j, hi, PetscMin(nc - c, 8), Z + (PetscCount)c * n, n);
    hi = j;
  }
}

/*
  A spike: h columns with A (h x h) in their first rows, or in their last ones (right). cut: of a right one the bottom
  tip alone
*/
static PetscErrorCode SpikeSpikesOne_Private(SpikeBand *s, PetscBool right, PetscBool cut, PetscInt p, PetscInt h,
                                             const PetscScalar *A, PetscScalar *At, PetscScalar *Ab, PetscReal most[2])
{
  const SpikeHost       *data = (const SpikeHost *)s->data;
  const SpikeBandFactors f    = SpikeHostFactors(s, p);
  const PetscInt         n    = f.rows;
  const PetscInt         lo = cut ? n - s->kl : 0, top = cut ? 0 : s->ku, K = cut ? 0 : PetscMax(s->kl, s->ku);
  PetscScalar           *Z = data->columns;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < h; c += SPIKE_SPIKES_COLUMNS) {
    const PetscInt nc = PetscMin(h - c, SPIKE_SPIKES_COLUMNS);

    PetscCall(PetscArrayzero(Z, (PetscCount)n * nc));
    for (PetscInt k = 0; k < nc; k++)
      PetscCall(PetscArraycpy(Z + (PetscCount)k * n + (right ? n - h : 0), A + (PetscCount)(c + k) * h, h));
    SpikeSpikesSweep_Private(data->ops, f, right ? SpikeBandForward(data->ops, f.kl, f.ku, n - h) : 0, lo, nc, Z);
    SpikeSpikesTips_Private(n, K, c, nc, Z, top, At, s->kl, Ab, most);
  }
  PetscCall(PetscLogFlops((right ? 0.0 : 2.0 * f.kl * h * n) + (2.0 * data->part[p].ku + 1.0) * h * (n - lo)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal SpikeSpikesMost_Private(PetscCount n, const PetscScalar *A)
{
  PetscReal most = 0.0;

  for (PetscCount i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(A[i]));
  return most;
}

/*
  Both spikes of partition p of D = D^H, whose left interface is active, from the first columns Z of D^-1: W = Z C, and
  Vt = Zb^H B, because the first rows of D^-1 in its last columns are Zb^H; Vb from the last rows of the factors
*/
static PetscErrorCode SpikeSpikesSymmetric_Private(SpikeBand *s, PetscInt p, PetscReal falloff[])
{
  const SpikeHost   *h = (const SpikeHost *)s->data;
  const PetscInt     K = s->kl, rows = s->start[p + 1] - s->start[p] - K;
  const PetscCount   square = (PetscCount)K * K;
  const PetscScalar *C = s->dC + p * square, *B = s->dB + (p + 1) * square;
  PetscScalar       *Zt = h->inverse + square, *Zb = Zt + square, *Wt = s->dWt + p * square, *Wb = s->dWb + p * square,
              *Vt = s->dVt + (p + 1) * square, *Vb = s->dVb + (p + 1) * square;
  PetscReal most[2] = {0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(SpikeSpikesOne_Private(s, PETSC_FALSE, PETSC_FALSE, p, K, h->inverse, Zt, Zb, most));
  PetscCall(SpikeSmallGemm_Host(PETSC_FALSE, K, K, Zt, 1.0, C, K, 0.0, Wt, K, K));
  PetscCall(SpikeSmallGemm_Host(PETSC_FALSE, K, K, Zb, 1.0, C, K, 0.0, Wb, K, K));
  falloff[p] = SpikeSpikesFalloff_Private(SpikeSpikesMost_Private(square, Wt), SpikeSpikesMost_Private(square, Wb),
                                          rows);
  if (!s->active[p + 1]) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscCount i = 0; i < square; i++) Zb[i] = PetscConj(Zb[i]);
  PetscCall(SpikeSmallGemm_Host(PETSC_TRUE, K, K, Zb, 1.0, B, K, 0.0, Vt, K, K));
  PetscCall(SpikeSpikesOne_Private(s, PETSC_TRUE, PETSC_TRUE, p, K, B, Vt, Vb, most));
  falloff[s->np + 2 + p] = SpikeSpikesFalloff_Private(SpikeSpikesMost_Private(square, Vb),
                                                      SpikeSpikesMost_Private(square, Vt), rows);
  PetscCall(PetscLogFlops(6.0 * square * K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeSpikes_Host(SpikeBand *s, PetscReal falloff[])
{
  const PetscCount kl = s->kl, ku = s->ku, np = s->np;
  const PetscInt   K = PetscMax(s->kl, s->ku);

  PetscFunctionBegin;
  PetscCall(SpikeSpikesCreate_Private(s));
  for (PetscInt q = 0; q < 2 * (np + 1); q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt q = 0; q <= np; q++) {
    if (!s->active[q]) continue;
    if (q < np && kl && s->cholesky) PetscCall(SpikeSpikesSymmetric_Private(s, q, falloff));
    else if (q < np && kl) {
      PetscReal most[2] = {0.0, 0.0};

      PetscCall(SpikeSpikesOne_Private(s, PETSC_FALSE, PETSC_FALSE, q, kl, s->dC + q * kl * kl, s->dWt + q * ku * kl,
                                       s->dWb + q * kl * kl, most));
      falloff[q] = SpikeSpikesFalloff_Private(most[0], most[1], s->start[q + 1] - s->start[q] - K);
    }
    if (q > 0 && ku && !(s->cholesky && s->active[q - 1])) {
      PetscReal most[2] = {0.0, 0.0};

      /* where nothing couples the other end, its rows of V are not needed, nor how V falls */
      PetscCall(SpikeSpikesOne_Private(s, PETSC_TRUE, (PetscBool)!s->active[q - 1], q - 1, ku, s->dB + q * ku * ku,
                                       s->dVt + q * ku * ku, s->dVb + q * kl * ku, most));
      falloff[np + 1 + q] = SpikeSpikesFalloff_Private(most[1], most[0], s->start[q] - s->start[q - 1] - K);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
