/* SPDX-License-Identifier: BSD-2-Clause */
/* fused.c: creation and destruction of the fused methods, and what they have in common with any KSP */
#include "fused.h"

static PetscErrorCode KSPSetUp_Fused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPSetWorkVecs(ksp, ((KSPFused *)ksp->data)->method->nwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedDestroyGraphs(KSPFused *f)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; f->graph && i < f->period; i++) PetscCall((*f->s.k->destroygraph)(&f->s, &f->graph[i]));
  PetscCall(PetscFree(f->graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_Fused(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPFusedDestroyState_Private(f));
  PetscCall(PetscMemzero(&f->info, sizeof(f->info)));
  PetscCall(VecDestroy(&f->guess));
  f->useguess = PETSC_FALSE;
  PetscCall(KSPFusedBasisDestroy(f));
  PetscCall(KSPFusedRhsDestroy(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPDestroy_Fused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_Fused(ksp));
  PetscCall(KSPFusedComposeMethods_Private(ksp, PETSC_FALSE));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x and the residual are looked at: they become those of the last iteration where the method lags */
PetscErrorCode KSPFusedSettle(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->method->settle && f->s.k) PetscCall((*f->method->settle)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* While it iterates; where x is a correction guess + B x, and the guess only where this solve has one */
static PetscErrorCode KSPBuildSolution_Fused(KSP ksp, Vec v, Vec *V)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCheck(!f->running, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "KSPMatSolve() has no single solution or residual while all columns iterate together: take "
             "-ksp_fused_matsolve single, or monitors that ask for neither");
  PetscCall(KSPFusedSettle(ksp));
  if (f->flexible) {
    if (v) PetscCall(VecCopy(ksp->vec_sol, v));
    *V = v ? v : ksp->vec_sol;
  } else {
    PetscCall(KSPBuildSolutionDefault(ksp, v, V));
    if (ksp->pc_side == PC_RIGHT && f->useguess) PetscCall(VecAXPY(*V, 1.0, f->guess));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPCreate_Fused(KSP ksp, const KSPFusedMethod *method)
{
  KSPFused *f;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->method       = method;
  f->reductions   = KSP_FUSED_REDUCTIONS_PLAIN;
  f->checktrue    = PETSC_TRUE;
  f->graphs       = PETSC_TRUE;
  f->period       = 1;
  f->steady       = 1;
  f->spmv         = KSP_FUSED_SPMV_AUTO;
  f->wantflexible = PETSC_BOOL3_FALSE;
  f->persistent   = KSP_FUSED_PERSISTENT_AUTO;
  f->matsolve     = KSP_FUSED_MATSOLVE_COLUMNS;

  ksp->data                = f;
  ksp->ops->setup          = KSPSetUp_Fused;
  ksp->ops->solve          = KSPSolve_Fused;
  ksp->ops->matsolve       = KSPMatSolve_Fused;
  ksp->ops->reset          = KSPReset_Fused;
  ksp->ops->destroy        = KSPDestroy_Fused;
  ksp->ops->view           = KSPView_Fused;
  ksp->ops->setfromoptions = KSPSetFromOptions_Fused;
  ksp->ops->buildsolution  = KSPBuildSolution_Fused;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscCall(KSPFusedComposeMethods_Private(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
