/* SPDX-License-Identifier: BSD-2-Clause */
/* cgimpl.h: private header of KSPCGFUSED: the work vectors of its forms */
#pragma once

#include "ksp_fused/fusedmethod.h"

/* W = A p; S = A z only in the merged form. Without a preconditioner z is r */
enum {
  R,
  Z,
  P,
  W,
  S,
  NWORKVECTORS
};

static inline Vec KSPFusedZ_CG(KSP ksp)
{
  return ksp->work[((KSPFused *)ksp->data)->pc.identity ? R : Z];
}

/* cg.c */
PETSC_INTERN PetscErrorCode KSPCreate_CGFused(KSP);

/* blockcg.c */
PETSC_INTERN PetscErrorCode KSPFusedTallStart_CG(KSP);
PETSC_INTERN PetscErrorCode KSPFusedTallIterate_CG(KSP);
