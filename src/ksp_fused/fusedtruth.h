/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedtruth.h: what convergence means. A norm below its tolerance is a claim, which the residual b - A x confirms at
  the end of a solve: the norm of the test, of the true residual, is at most 10 times its tolerance; and where that norm
  is not ||b - A x||, because B is in it, ||b - A x|| is at most 100 times the bound, which is rtol times what
  KSPConvergedDefault() takes as the reference, in this norm. B that is singular, or nearly, hides residuals.
*/
#pragma once

#include "fused.h"

#define KSP_FUSED_MOST_TESTED ((PetscReal)10.0)
#define KSP_FUSED_MOST_TRUE   ((PetscReal)100.0)
#define KSP_FUSED_MOST_EXCESS (PETSC_MAX_REAL / 4)

/* The test is one of ours or of PETSc's. That of a user is not doubted */
static inline PetscBool KSPFusedIsTested(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPFusedConvergedInfinity ||
                     (ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE));
}

/* Whether a norm that the test sees is that of b - A x */
static inline PetscBool KSPFusedTestsTruth(KSP ksp)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  if (f->pc.identity) return PETSC_TRUE;
  if (ksp->converged == KSPFusedConvergedInfinity)
    return (PetscBool)(ksp->pc_side == PC_RIGHT || !f->method->residual_preconditioned);
  return (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED);
}

static inline NormType KSPFusedNormType(KSP ksp)
{
  return ksp->converged == KSPFusedConvergedInfinity ? NORM_INFINITY : NORM_2;
}

/* Where KSPFusedTrueResidual() leaves b - A x */
static inline Vec KSPFusedTruth(KSP ksp)
{
  const KSPFusedMethod *method = ((const KSPFused *)ksp->data)->method;

  return ksp->work[ksp->pc_side == PC_LEFT && method->residual_preconditioned ? method->scratch[1] : 0];
}

/* What is small enough in the norm of the test because the user has said so, with KSPSetTolerances() */
static inline PetscBool KSPFusedIsAbsolute(KSP ksp, KSPConvergedReason reason, PetscReal norm)
{
  return (PetscBool)(reason == KSP_CONVERGED_ATOL && norm > (PetscReal)0.0 && norm < ksp->abstol &&
                     ksp->abstol != ksp->default_abstol);
}

/* norm / most, or 0 where that is at most 1; finite */
static inline PetscReal KSPFusedRatio(PetscReal norm, PetscReal most)
{
  if (norm <= most) return (PetscReal)0.0;
  return norm < most * KSP_FUSED_MOST_EXCESS ? norm / most : KSP_FUSED_MOST_EXCESS;
}

/* 0 where the norms, of the test and of b - A x, confirm; else by how much they are too large */
static inline PetscReal KSPFusedExcess(PetscReal norm, PetscReal goal, PetscReal truth, PetscReal bound)
{
  return PetscMax(KSPFusedRatio(norm / KSP_FUSED_MOST_TESTED, goal), KSPFusedRatio(truth / KSP_FUSED_MOST_TRUE, bound));
}

/* A tolerance of the test that leaves ||b - A x|| at 10 times its bound, if the norms fall together */
static inline PetscReal KSPFusedNextTolerance(PetscReal ttol, PetscReal norm, PetscReal truth, PetscReal bound)
{
  const PetscReal most = KSP_FUSED_MOST_TRUE * bound;

  return truth <= most ? ttol : PetscMin(ttol, (PetscReal)0.1 * norm * (most / truth));
}

PETSC_INTERN PetscErrorCode KSPFusedTrueResidual(KSP, Vec);
PETSC_INTERN PetscErrorCode KSPFusedUnwind(KSP, Vec, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedGetBound(KSP, Vec, PetscReal first, PetscReal *);
