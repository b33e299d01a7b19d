/* SPDX-License-Identifier: BSD-2-Clause */
/* periodic.c: the host backend of periodic.h */
#include "kernels/band/periodic.h"

static PetscErrorCode SpikePeriodicGather_Host(const SpikeBand *s, SpikePeriodic *p, PetscInt nparts,
                                               const SpikeCSR parts[])
{
  const PetscInt *zeros = p->zeros;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < p->nsys; i++) {
    for (PetscInt k = 0; k < 4; k++)
      p->ends[4 * i + k] = SpikePeriodicEntry(parts[k == 1 || k == 2 ? p->corners : 0].aa, p->entries[4 * i + k]);
  }
  p->report->joined = 0;
  for (PetscInt part = 0; part < nparts; zeros += p->nzeros[part++]) {
    for (PetscInt k = 0; k < p->nzeros[part]; k++) {
      if (parts[part].aa[zeros[k]] != (PetscScalar)0.0) p->report->joined = 1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePeriodicSplit_Host(const SpikeBand *s, SpikePeriodic *p, const SpikeCSR parts[])
{
  PetscFunctionBegin;
  for (PetscInt part = 0; part < p->npatched; part++)
    PetscCall(PetscArraycpy(p->values[part], parts[part].aa, p->nnz[part]));
  for (PetscInt i = 0; i < p->nsys; i++) {
    const PetscInt *entries = p->entries + 4 * i;
    PetscScalar     diag[2];

    SpikePeriodicSplit(p->ends + 4 * i, p->uv + 4 * i, diag);
    for (PetscInt end = 0; end < 2; end++) {
      const PetscInt d = entries[3 * end], c = entries[1 + end];

      if (d >= 0) p->values[0][d] = diag[end];
      if (c >= 0 && SpikePeriodicFinite(PetscAbsScalar(parts[p->corners].aa[c]))) p->values[p->corners][c] = 0.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePeriodicEnds_Host(const SpikeBand *s, const SpikePeriodic *p, PetscBool trans,
                                             PetscScalar *x)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(x, s->n));
  for (PetscInt i = 0; i < 2 * p->nsys; i++) {
    if (p->rows[i] >= 0) x[p->rows[i]] = p->uv[4 * (i / 2) + (trans ? 2 : 0) + i % 2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePeriodicDots_Host(const SpikeBand *s, SpikePeriodic *p, PetscBool trans, PetscInt nrhs,
                                             const PetscScalar *x, PetscCount ldx)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < nrhs; c++) {
    const PetscScalar *xc   = x + c * ldx;
    PetscScalar       *dots = p->dots + (PetscCount)c * 2 * p->nsys;

    for (PetscInt i = 0; i < 2 * p->nsys; i++)
      dots[i] = p->rows[i] < 0 ? 0.0 : p->uv[4 * (i / 2) + (trans ? 0 : 2) + i % 2] * xc[p->rows[i]];
  }
  PetscCall(PetscLogFlops(2.0 * nrhs * p->nsys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePeriodicClose_Host(const SpikeBand *s, SpikePeriodic *p, PetscReal tol, PetscReal boost)
{
  PetscFunctionBegin;
  p->report->nboost = 0;
  p->report->bad    = -1;
  for (PetscInt i = 0; i < p->nsys; i++) {
    PetscReal value;
    const int what = SpikePeriodicClose(p->dots + 2 * i, tol, boost, &p->inv[i], &value);

    p->report->nboost += what == 1;
    if (what == 2 && p->report->bad < 0) {
      p->report->bad      = i;
      p->report->badvalue = value;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikePeriodicUpdate_Host(const SpikeBand *s, const SpikePeriodic *p, PetscBool trans,
                                               PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  const PetscScalar *q = p->q[trans ? 1 : 0];

  PetscFunctionBegin;
  for (PetscInt c = 0; c < nrhs; c++) {
    const PetscScalar *dots = p->dots + (PetscCount)c * 2 * p->nsys;
    PetscScalar       *xc   = x + c * ldx;

    for (PetscInt k = 0; k < p->npieces; k++) {
      const PetscInt   *piece  = p->pieces + 3 * k;
      const PetscScalar factor = (dots[2 * piece[0]] + dots[2 * piece[0] + 1]) * p->inv[piece[0]];

      for (PetscInt r = piece[1]; r < piece[2]; r++) xc[r] -= factor * q[r];
    }
  }
  PetscCall(PetscLogFlops(2.0 * nrhs * s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikePeriodicKernels SpikePeriodicKernels_Host = {
  .rows   = 0,
  .gather = SpikePeriodicGather_Host,
  .split  = SpikePeriodicSplit_Host,
  .ends   = SpikePeriodicEnds_Host,
  .dots   = SpikePeriodicDots_Host,
  .close  = SpikePeriodicClose_Host,
  .update = SpikePeriodicUpdate_Host,
};
