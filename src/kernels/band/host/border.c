/* SPDX-License-Identifier: BSD-2-Clause */
/* border.c: the host's backend of border.h */
#include "kernels/band/border.h"

static size_t SpikeSplitScratch_Host(PetscInt m)
{
  (void)m;
  return 0;
}

static PetscErrorCode SpikeSplit_Host(SpikeBand *s, const SpikeSplit *p, const SpikeCSR *A, PetscScalar *band,
                                      PetscScalar *rest, SpikeSplitSeen *seen)
{
  PetscFunctionBegin;
  (void)s;
  PetscCall(PetscArrayzero(rest, p->nrest));
  seen->norm = seen->most = 0.0;
  seen->badrow            = -1;
  for (PetscInt i = 0; i < p->n; i++) {
    PetscReal sum = 0.0;
    PetscBool bad = PETSC_FALSE;

    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
      const PetscScalar a   = A->aa[k];
      const PetscReal   abs = PetscAbsScalar(a);
      const PetscInt    to  = p->to[k];

      sum += abs;
      bad = (PetscBool)(bad || !(abs <= PETSC_MAX_REAL));
      if (to >= 0) {
        band[to]   = a;
        seen->most = PetscMax(seen->most, abs);
      } else rest[-1 - to] = a;
    }
    if (bad && seen->badrow < 0) seen->badrow = i;
    seen->norm = PetscMax(seen->norm, sum);
  }
  for (PetscInt k = 0; k < p->m; k++) band[p->diagonal[k]] = (PetscScalar)SpikeSplitUnit(seen->most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeSplitKernels SpikeSplitKernels_Host = {.scratch = SpikeSplitScratch_Host, .split = SpikeSplit_Host};
