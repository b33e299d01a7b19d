/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhs.h: the loop for several right-hand sides */
#pragma once

#include "fused.h"

/* The last norm of the history becomes that of the KSP, unless the history is full: it may have ended before */
static inline void KSPFusedReplaceLastNorm(KSP ksp)
{
  if (ksp->res_hist_len && ksp->res_hist_len < ksp->res_hist_max) ksp->res_hist[ksp->res_hist_len - 1] = ksp->rnorm;
}

PETSC_INTERN PetscErrorCode KSPFusedSolveColumns(KSP, Mat, Mat);
