/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedtall.h: products of tall matrices, for block methods of several right-hand sides with coefficients m x m.

  A task is Y [op] X Z, where Z is the small matrix number `small`; or that small matrix <- X^H Y. Vectors name the tall
  matrices, as in the other operations.
*/
#pragma once

#include "fused.h"

typedef struct {
  SpikeBlockOp   op;
  SpikeBlockMode mode;
  Vec            X, Y;
  int            small;
} KSPFusedTall;

/* Tasks that do not depend on each other */
PETSC_INTERN PetscErrorCode KSPFusedTallRun(KSP, PetscInt, const KSPFusedTall[]);

/* Two tasks, in order on each row */
PETSC_INTERN PetscErrorCode KSPFusedTallChain(KSP, const KSPFusedTall[2]);

/* Adds up the first `sums` small matrices over the ranks, then makes a step of kernels/krylov/blockcg.h */
PETSC_INTERN PetscErrorCode KSPFusedTallRecur(KSP, SpikeBlockCGStep, PetscInt sums, int norms);
