/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedfactors.c: factors of the preconditioner in a lower precision, and when they are given up */
#include "fusedfactors.h"
#include "common/wish.h"

/* Iterations in which the norm has to fall by a factor: with factors of the whole matrix, and others */
#define KSP_FUSED_FACTORS_WHOLE 6
#define KSP_FUSED_FACTORS_FALL  1e-2
#define KSP_FUSED_FACTORS_PART  100
#define KSP_FUSED_FACTORS_HALF  0.5

/* By itself single precision; methods with a symmetric B too: L and U of 16 bits are not those of a symmetric matrix */
static PetscSpikePrecision KSPFusedFactorsPrecision_Private(const KSPFused *f)
{
  PetscBool cg;

  switch (f->options.precision) {
  case KSP_FUSED_PRECISION_DOUBLE:
    return SPIKE_PRECISION_FULL;
  case KSP_FUSED_PRECISION_BF16:
    cg = (PetscBool)!strcmp(f->method->plain, KSPCG);
    return cg ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_BF16;
  default:
    return PETSC_SPIKE_PRECISION_SINGLE;
  }
}

/* Tells the preconditioner, before it is set up; may: this solve can do with a lower precision. Kept ones are kept */
PetscErrorCode KSPFusedAskFactors(KSP ksp, PetscBool may)
{
  KSPFused           *f = (KSPFused *)ksp->data;
  PetscSpikePrecision precision;
  PC                  pc;

  PetscFunctionBegin;
  precision = may ? KSPFusedFactorsPrecision_Private(f) : SPIKE_PRECISION_FULL;
  if (precision == SPIKE_PRECISION_FULL && !f->factors.asked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &pc));
  if (pc->setupcalled && pc->reusepreconditioner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeWishPrecision(pc, precision, f->factors.anew));
  f->factors.asked = (PetscBool)(precision != SPIKE_PRECISION_FULL);
  f->factors.anew  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup that has failed ends the solve, as one of KSPSetUp() does */
static PetscErrorCode KSPFusedSetUpFactors_Private(KSP ksp)
{
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PCSetUp(ksp->pc));
  PetscCall(PCReduceFailedReason(ksp->pc));
  PetscCall(PCGetFailedReason(ksp->pc, &reason));
  ksp->reason = reason ? KSP_DIVERGED_PC_FAILED : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the beginning of a solve: an option, or what has asked before, may be another since KSPSetUp() */
PetscErrorCode KSPFusedSetFactors(KSP ksp, PetscBool may)
{
  KSPFused *f = (KSPFused *)ksp->data;
  SpikeWish wish;
  PetscBool has = PETSC_FALSE;

  PetscFunctionBegin;
  f->factors.low = f->factors.given = PETSC_FALSE;
  f->factors.due                    = 0;
  if (f->options.precision == KSP_FUSED_PRECISION_DOUBLE && !f->factors.asked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedAskFactors(ksp, may));
  PetscCall(SpikeGetWish(ksp->pc, &wish, &has));
  if (has && !ksp->pc->setupcalled) PetscCall(KSPFusedSetUpFactors_Private(ksp));
  PetscCall(SpikeGetWish(ksp->pc, &wish, &has));
  f->factors.low       = wish.low;
  f->factors.whole     = wish.whole;
  f->factors.precision = wish.precision;
  if (f->factors.low) f->run.merged = PETSC_FALSE; /* its recurrences run on into the next iteration */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioner of another solver from now on */
PetscErrorCode KSPFusedLeaveFactors(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->factors.asked && ksp->pc) PetscCall(SpikeWishPrecision(ksp->pc, SPIKE_PRECISION_FULL, PETSC_FALSE));
  f->factors.asked = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a start from the true residual, of this norm */
void KSPFusedBeginFactors(KSP ksp, PetscReal norm)
{
  KSPFusedFactors *u = &((KSPFused *)ksp->data)->factors;

  u->due   = 0;
  u->since = ksp->its;
  u->least = u->before = norm;
}

/* What iteration ksp->its has left: where the norm does not fall as it should, a new start after the next iteration */
PetscErrorCode KSPFusedObserveFactors(KSP ksp, const SpikeKrylovPost *post)
{
  KSPFusedFactors *u      = &((KSPFused *)ksp->data)->factors;
  const PetscInt   window = u->whole ? KSP_FUSED_FACTORS_WHOLE : KSP_FUSED_FACTORS_PART;
  const PetscReal  fall   = u->whole ? KSP_FUSED_FACTORS_FALL : KSP_FUSED_FACTORS_HALF;

  PetscFunctionBegin;
  if (!u->low || u->due || ksp->normtype == KSP_NORM_NONE || ksp->converged == KSPConvergedSkip)
    PetscFunctionReturn(PETSC_SUCCESS);
  u->least = PetscMin(u->least, post->norm);
  if (ksp->its < u->since + window) PetscFunctionReturn(PETSC_SUCCESS);
  if (!(u->least <= fall * u->before)) u->due = ksp->its + 1;
  u->since  = ksp->its;
  u->before = u->least;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors in PetscScalar from now on; the caller starts the method again, where ksp->reason is none */
PetscErrorCode KSPFusedWidenFactors(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp,
                      "Iteration %" PetscInt_FMT
                      ": a preconditioner with factors in %s precision does not bring the solution nearer, one with "
                      "those of PetscScalar goes on\n",
                      ksp->its, PetscSpikePrecisions[f->factors.precision]));
  f->factors.low   = PETSC_FALSE;
  f->factors.given = PETSC_TRUE;
  f->factors.due   = 0;
  PetscCall(SpikeWishRefuse(ksp->pc));
  PetscCall(KSPFusedSetUpFactors_Private(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the factors of the last solve were, where the method has asked for that */
PetscErrorCode KSPFusedFactorsView(KSP ksp, PetscViewer viewer)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->factors.given)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  factors of the preconditioner in precision %s, in the last solve given "
                                     "up for PetscScalar\n",
                                     PetscSpikePrecisions[f->factors.precision]));
  else if (f->factors.low)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  factors of the preconditioner in precision %s\n",
                                     PetscSpikePrecisions[f->factors.precision]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
