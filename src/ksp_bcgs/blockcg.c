/* SPDX-License-Identifier: BSD-2-Clause */
/* blockcg.c: block conjugate gradients for several right-hand sides, with coefficients m x m: the formulas are in kernels/blockcg.h */
#include "bcgsimpl.h"
#include "cgimpl.h"

/* sigma S^H S = Z^H R with Z = B R, and what the norms come from: in one pass, and one reduction */
static PetscErrorCode KSPFusedTallFactor_Private(KSP ksp, SpikeBlockCGStep step)
{
  KSPFused          *f = (KSPFused *)ksp->data;
  Vec                r = ksp->work[R], z = KSPFusedZ_CG(ksp), n = ksp->normtype == KSP_NORM_PRECONDITIONED ? z : r;
  const PetscBool    two     = (PetscBool)(!f->identity && (ksp->normtype == KSP_NORM_PRECONDITIONED || ksp->normtype == KSP_NORM_UNPRECONDITIONED));
  const KSPFusedTall grams[] = {
    {SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, r, z, SPIKE_BLOCKCG_G},
    {SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, n, n, SPIKE_BLOCKCG_M}
  };

  PetscFunctionBegin;
  if (!f->identity) PetscCall(KSPFusedPCApply(ksp, r, z));
  PetscCall(KSPFusedTallRun(ksp, two ? 2 : 1, grams));
  PetscCall(KSPFusedTallRecur(ksp, step, two ? 2 : 1, two ? SPIKE_BLOCKCG_M : SPIKE_BLOCKCG_G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P <- Z T, or P S^H + Z T; R <- R T */
static PetscErrorCode KSPFusedTallDirections_Private(KSP ksp, PetscBool first)
{
  KSPFused          *f = (KSPFused *)ksp->data;
  Vec                r = ksp->work[R], z = KSPFusedZ_CG(ksp), p = ksp->work[P];
  const KSPFusedTall turn   = {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET, p, p, SPIKE_BLOCKCG_S};
  const KSPFusedTall next[] = {
    {SPIKE_BLOCK_AXPY, first ? SPIKE_BLOCK_SET : SPIKE_BLOCK_ADD, z, p, SPIKE_BLOCKCG_T},
    {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET,                           r, r, SPIKE_BLOCKCG_T}
  };

  PetscFunctionBegin;
  if (!first) PetscCall(KSPFusedTallRun(ksp, 1, &turn));
  if (f->identity) { /* Z is R: what one task writes the other reads */
    PetscCall(KSPFusedTallRun(ksp, 1, &next[0]));
    PetscCall(KSPFusedTallRun(ksp, 1, &next[1]));
  } else PetscCall(KSPFusedTallRun(ksp, 2, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedTallStart_CG(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedTallFactor_Private(ksp, SPIKE_BLOCKCG_START));
  PetscCall(KSPFusedTallDirections_Private(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words of n m that an iteration moves besides product and preconditioner: 2 + 6 + 4 + 7 = 19, or 17 with the natural norm; without a preconditioner 16, in two reductions */
PetscErrorCode KSPFusedTallIterate_CG(KSP ksp)
{
  Vec               *v         = ksp->work;
  const KSPFusedTall curve     = {SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, v[P], v[W], SPIKE_BLOCKCG_G};
  const KSPFusedTall updates[] = {
    {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_ADD, v[P], ksp->vec_sol, SPIKE_BLOCKCG_EC},
    {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SUB, v[W], v[R],         SPIKE_BLOCKCG_E }
  };

  PetscFunctionBegin;
  PetscCall(KSPFusedMult(ksp, v[P], v[W])); /* W = A P */
  PetscCall(KSPFusedTallRun(ksp, 1, &curve));
  PetscCall(KSPFusedTallRecur(ksp, SPIKE_BLOCKCG_ALPHA, 1, SPIKE_BLOCKCG_G));
  PetscCall(KSPFusedTallRun(ksp, 2, updates)); /* X += P E C, R -= W E */
  PetscCall(KSPFusedTallFactor_Private(ksp, SPIKE_BLOCKCG_BETA));
  PetscCall(KSPFusedTallDirections_Private(ksp, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
