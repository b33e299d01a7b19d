/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedmethod.c: creation and destruction of the fused methods */
#include "fusedmethod.h"
#include "fusedfactors.h"
#include "fusedmatsolve.h"
#include "fusedrhsmat.h"
#include "fusedscaled.h"
#include "fusedstate.h"
#include "fusedsteps.h"

/* The solution or residual while the method iterates */
static PetscErrorCode KSPBuildSolution_Fused(KSP ksp, Vec v, Vec *V)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->plain) PetscCall(KSPBuildSolution(f->plain, v, V));
  else PetscCall((*f->ops->buildsolution)(ksp, v, V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n work vectors, and none that is like those before them */
PetscErrorCode KSPFusedSetWorkVecs(KSP ksp, PetscInt n)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&f->run.guess));
  PetscCall(VecDestroy(&f->run.built));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&f->run.placed[i]));
  f->run.useguess = PETSC_FALSE;
  if (n) PetscCall(KSPSetWorkVecs(ksp, n));
  if (n) PetscCall(KSPFusedAskFactors(ksp, PETSC_TRUE)); /* before PCSetUp() */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_Fused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedSetWorkVecs(ksp, ((KSPFused *)ksp->data)->method->nwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_Fused(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPFusedDestroyState(f));
  PetscCall(PetscMemzero(&f->info, sizeof(f->info)));
  PetscCall(KSPFusedSetWorkVecs(ksp, 0));
  PetscCall(KSPFusedBasisDestroy(f));
  PetscCall(KSPFusedRhsDestroy(f));
  PetscCall(KSPDestroy(&f->plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPDestroy_Fused(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedLeaveFactors(ksp));
  PetscCall(KSPReset_Fused(ksp));
  PetscCall(KSPFusedComposeMethods(ksp, PETSC_FALSE));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPCreate_Fused(KSP ksp, const KSPFusedMethod *method)
{
  KSPFused *f;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->method             = method;
  f->ops                = &KSPFusedOps_Vector;
  f->options.reductions = KSP_FUSED_REDUCTIONS_PLAIN;
  f->options.checktrue  = PETSC_TRUE;
  f->options.graphs     = PETSC_TRUE;
  f->run.unit           = 1.0;
  f->graph.period       = 1;
  f->graph.steady       = 1;
  f->options.spmv       = KSP_FUSED_SPMV_AUTO;
  f->options.flexible   = PETSC_BOOL3_FALSE;
  f->options.persistent = KSP_FUSED_PERSISTENT_AUTO;
  f->options.matsolve   = KSP_FUSED_MATSOLVE_COLUMNS;
  f->options.precision  = KSP_FUSED_PRECISION_DOUBLE;

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
  PetscCall(KSPFusedComposeMethods(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
