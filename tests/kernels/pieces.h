/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.h: steps of Krylov methods on the host, against which those of a backend are held */
#pragma once

#include "kernels/krylov/krylov.h"

/*
  A step on n rows, piece by piece, and its sums: one chain of as many sums as there are rows rounds more than what is
  tested. w: its vectors; they are moved
*/
static inline void StepInPieces(int step, PetscInt n, const SpikeKrylovFactors *f, PetscScalar *w[], PetscScalar sums[])
{
  const SpikeKrylovStepInfo *info  = &SpikeKrylovSteps[step];
  const PetscInt             piece = 1000;

  for (PetscInt k = 0; k < info->ndots; k++) sums[k] = 0.0;
  for (PetscInt i = 0; i < n; i += piece) {
    PetscScalar part[SPIKE_KRYLOV_MAXDOTS];

    (*SpikeKrylovLoops_base[step])(PetscMin(piece, n - i), f, w, part);
    for (PetscInt k = 0; k < info->ndots; k++) sums[k] += part[k];
    for (PetscInt k = 0; k < info->nvectors; k++) w[k] += piece;
  }
}
