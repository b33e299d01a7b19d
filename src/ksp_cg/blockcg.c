/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockcg.c: block conjugate gradients for several right-hand sides, with coefficients m x m: the formulas are in
  kernels/krylov/blockcg.h
*/
#include "cgimpl.h"

/* sigma S^H S = Z^H R with Z = B R, and what the norms come from: in one pass, and one reduction */
static PetscErrorCode KSPFusedTallFactor_Private(KSP ksp, SpikeBlockCGStep step)
{
  KSPFused          *f = (KSPFused *)ksp->data;
  Vec                r = ksp->work[R], z = KSPFusedZ_CG(ksp), n = ksp->normtype == KSP_NORM_PRECONDITIONED ? z : r;
  const PetscBool    two     = (PetscBool)(!f->pc.identity && (ksp->normtype == KSP_NORM_PRECONDITIONED ||
                                                        ksp->normtype == KSP_NORM_UNPRECONDITIONED));
  const KSPFusedTall grams[] = {{SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, r, z, SPIKE_BLOCKCG_G},
                                {SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, n, n, SPIKE_BLOCKCG_M}};

  PetscFunctionBegin;
  if (!f->pc.identity) PetscCall(KSPFusedPCApply(ksp, r, z));
  PetscCall(KSPFusedTallRun(ksp, two ? 2 : 1, grams));
  PetscCall(KSPFusedTallRecur(ksp, step, two ? 2 : 1, two ? SPIKE_BLOCKCG_M : SPIKE_BLOCKCG_G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P = Z T; R gets T with its first update */
PetscErrorCode KSPFusedTallStart_CG(KSP ksp)
{
  const KSPFusedTall first = {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET, KSPFusedZ_CG(ksp), ksp->work[P], SPIKE_BLOCKCG_T};

  PetscFunctionBegin;
  PetscCall(KSPFusedTallFactor_Private(ksp, SPIKE_BLOCKCG_START));
  PetscCall(KSPFusedTallRun(ksp, 1, &first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Words of n m that an iteration moves besides product and preconditioner: 2 + 3 + 3 + 3 + 3 = 14, or 13 with the
  natural norm; without a preconditioner 12. Two reductions
*/
PetscErrorCode KSPFusedTallIterate_CG(KSP ksp)
{
  Vec               *v           = ksp->work;
  const KSPFusedTall curve       = {SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, v[P], v[W], SPIKE_BLOCKCG_G};
  const KSPFusedTall solution    = {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_ADD, v[P], ksp->vec_sol, SPIKE_BLOCKCG_EC};
  const KSPFusedTall residual[]  = {{SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET, v[R], v[R], SPIKE_BLOCKCG_T},
                                    {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SUB, v[W], v[R], SPIKE_BLOCKCG_E}};
  const KSPFusedTall direction[] = {{SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET, v[P], v[P], SPIKE_BLOCKCG_S},
                                    {SPIKE_BLOCK_AXPY, SPIKE_BLOCK_ADD, KSPFusedZ_CG(ksp), v[P], SPIKE_BLOCKCG_T}};

  PetscFunctionBegin;
  PetscCall(KSPFusedMult(ksp, v[P], v[W])); /* W = A P */
  PetscCall(KSPFusedTallRun(ksp, 1, &curve));
  PetscCall(KSPFusedTallRecur(ksp, SPIKE_BLOCKCG_ALPHA, 1, SPIKE_BLOCKCG_G));
  PetscCall(KSPFusedTallRun(ksp, 1, &solution)); /* X += P E C   */
  PetscCall(KSPFusedTallChain(ksp, residual));   /* R = R T - W E */
  PetscCall(KSPFusedTallFactor_Private(ksp, SPIKE_BLOCKCG_BETA));
  PetscCall(KSPFusedTallChain(ksp, direction)); /* P = P S^H + Z T */
  PetscFunctionReturn(PETSC_SUCCESS);
}
