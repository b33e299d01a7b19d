/* SPDX-License-Identifier: BSD-2-Clause */
/* idrimpl.h: private to src/ksp_idr */
#pragma once

#include "ksp_fused/fusedmethod.h"
#include "kernels/krylov/idr.h"

/* Who has made P orthonormal: it is the same to rounding, and the same bits in each solve of a kind */
typedef enum {
  KSP_IDRFUSED_FILL_PETSC,
  KSP_IDRFUSED_FILL_STEPS,
  KSP_IDRFUSED_FILL_STEPS_PETSC /* basis steps by functions of PETSc */
} KSPIDRFusedFill;

typedef struct {
  PetscInt              s; /* as it was set; there are at most as many columns as rows */
  PetscReal             cosine;
  PetscBool             smoothing;
  KSPIDRFusedOrthogType orthog;
  PetscRandom           rand; /* NULL: values that depend on row, column and generation alone */

  PetscInt      ncolumns;
  SpikeIDR      d;         /* in the memory of the kernels */
  Vec          *G, *U, *P; /* in the work vectors */
  PetscObjectId filled;    /* of the P[0] that has been filled */
  PetscBool     narrow;    /* ... with bf16                    */
  PetscInt      generation;

  KSPIDRFusedFill fillby;
  PetscInt        settled; /* iterations since the last start when smoothing was last made complete */
} KSPIDRFused;

static inline KSPIDRFused *KSPIDRFusedData(KSP ksp)
{
  return (KSPIDRFused *)((KSPFused *)ksp->data)->data;
}

/* idroptions.c */
PETSC_INTERN PetscErrorCode KSPSetFromOptions_IDRFused(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPView_IDRFused(KSP, PetscViewer);
PETSC_INTERN PetscErrorCode KSPIDRFusedComposeMethods_Private(KSP, PetscBool);
PETSC_INTERN PetscErrorCode KSPCreate_IDRFused(KSP);
