/* SPDX-License-Identifier: BSD-2-Clause */
/* pivots.c: pivots that may be bad, one by one: few rows have any */
#include "host.h"

void SpikeBatchPivots_Host(const SpikeBatchGroup *g, PetscInt i, PetscScalar u[])
{
  SpikePivot *pv = g->pivot;

  for (int l = 0; l < SPIKE_BATCH_LANES; l++) {
    const PetscReal abs = PetscAbsScalar(u[l]);

    if (i >= g->len[l] || (abs > pv->tol && abs <= PETSC_MAX_REAL)) continue;
    if (pv->boost > 0.0 && abs <= pv->tol) {
      pv->nboost++;
      u[l] = abs > 0.0 ? u[l] * (pv->boost / abs) : (PetscScalar)pv->boost;
      continue;
    }
    if (pv->badrow < 0 || g->first[l] + i < pv->badrow) {
      pv->badrow   = g->first[l] + i;
      pv->badvalue = abs;
    }
    u[l] = 1.0;
  }
}
