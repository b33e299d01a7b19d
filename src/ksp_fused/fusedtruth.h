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

/*
  Norms whose squares, and the squares of norms of their products with operators, are far from overflow and underflow.
  Where the first norm of a solve is none of them, b and x are divided by a power of 2, and b is about REST or 1 / REST
  then: KSPFusedGetUnit()
*/
#if defined(PETSC_USE_REAL_SINGLE)
  #define KSP_FUSED_LARGEST ((PetscReal)0x1p25)
  #define KSP_FUSED_REST    ((PetscReal)8.0)
#else
  #define KSP_FUSED_LARGEST ((PetscReal)0x1p204)
  #define KSP_FUSED_REST    ((PetscReal)0x1p25)
#endif

/* No for 0, and for what is not finite */
static inline PetscBool KSPFusedHasSquare(PetscReal norm)
{
  return (PetscBool)(norm <= KSP_FUSED_LARGEST && norm >= (PetscReal)1.0 / KSP_FUSED_LARGEST);
}

/* The test is one of ours or of PETSc's. That of a user is not doubted */
static inline PetscBool KSPFusedIsTested(KSP ksp)
{
  return (PetscBool)(ksp->converged == KSPFusedConvergedInfinity ||
                     (ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE));
}

/*
  The natural norm of CG for complex symmetric operators has no conjugates: it may be small where the residual is not
*/
static inline PetscBool KSPFusedIsBilinear(KSP ksp)
{
  return (PetscBool)(PetscDefined(USE_COMPLEX) && ((const KSPFused *)ksp->data)->options.symmetric &&
                     ksp->normtype == KSP_NORM_NATURAL);
}

/* Whether a norm that the test sees is that of b - A x */
static inline PetscBool KSPFusedTestsTruth(KSP ksp)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  if (f->pc.identity && !KSPFusedIsBilinear(ksp)) return PETSC_TRUE;
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

/* The absolute tolerance of what is divided by the unit */
static inline PetscReal KSPFusedAbstol(KSP ksp)
{
  return ksp->abstol / ((const KSPFused *)ksp->data)->run.unit;
}

/*
  What is small enough in the norm of the test because the user has said so, with KSPSetTolerances(); the test of the
  infinity norm has looked at another norm than this one
*/
static inline PetscBool KSPFusedIsAbsolute(KSP ksp, KSPConvergedReason reason, PetscReal norm)
{
  const PetscBool below = (PetscBool)(norm > (PetscReal)0.0 && norm < KSPFusedAbstol(ksp));

  return (PetscBool)(reason == KSP_CONVERGED_ATOL && (below || ksp->converged == KSPFusedConvergedInfinity) &&
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
PETSC_INTERN PetscErrorCode KSPFusedScale(Vec, PetscReal);
PETSC_INTERN PetscErrorCode KSPFusedNorm(KSP, Vec, PetscReal *);
PETSC_INTERN PetscErrorCode KSPFusedGetUnit(KSP, PetscReal norm, Vec b, Vec r, PetscReal *unit);
PETSC_INTERN PetscErrorCode KSPFusedGetBound(KSP, Vec, PetscReal first, PetscReal *);
