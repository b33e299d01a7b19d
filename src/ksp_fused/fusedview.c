/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedview.c: what -ksp_view prints of a fused method */
#include "fusedview.h"
#include "fusedfactors.h"
#include "fusedprecisionoptions.h"
#include "fusedrhsoptions.h"

/* Heading of a group of lines, which end with PetscViewerASCIIPopTab() */
static PetscErrorCode KSPFusedViewGroup_Private(PetscViewer viewer, const char heading[])
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s:\n", heading));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is iterated, and when it ends */
static PetscErrorCode KSPFusedViewMethod_Private(KSP ksp, PetscViewer viewer)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s reductions, product %s\n",
                                   f->options.reductions == KSP_FUSED_REDUCTIONS_MERGED && !f->options.replacement
                                     ? "merged"
                                     : "plain",
                                   f->info.product == KSP_FUSED_SPMV_DIA
                                     ? (f->info.copy ? "by a copy in diagonals" : "by its diagonals")
                                     : (f->info.product == KSP_FUSED_SPMV_SELL
                                          ? "by a copy in slices"
                                          : (f->info.product == KSP_FUSED_SPMV_STENCIL
                                               ? "by its stencil"
                                               : (f->info.product == KSP_FUSED_SPMV_BLOCKS ? "by its blocks"
                                                                                           : "by MatMult()")))));
  PetscCall(KSPFusedPrecisionView(ksp, viewer));
  PetscCall(KSPFusedFactorsView(ksp, viewer));
  if (f->options.replacement)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  residual replaced every %" PetscInt_FMT " iterations\n",
                                     f->options.replacement));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  true residual %s at convergence\n",
                                   f->options.checktrue ? "checked" : "not checked"));
  if (ksp->converged == KSPFusedConvergedInfinity)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  convergence test in the infinity norm\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far the last solve came */
static PetscErrorCode KSPFusedViewQuality_Private(KSP ksp, PetscViewer viewer)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->info.pcsingular) PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner singular or nearly, FAILED\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  restarts %" PetscInt_FMT "\n", f->info.restarts));
  PetscCall(KSPFusedRhsView(ksp, viewer));
  if (f->info.truenorm >= 0.0 && f->info.unpreconditioned >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  true residual norm %g, unpreconditioned %g\n", (double)f->info.truenorm,
                                     (double)f->info.unpreconditioned));
  if (f->info.unit != 1.0) PetscCall(PetscViewerASCIIPrintf(viewer, "  b and x divided by %g\n", (double)f->info.unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPView_Fused(KSP ksp, PetscViewer viewer)
{
  KSPFused *f = (KSPFused *)ksp->data;
  PetscBool isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedViewGroup_Private(viewer, "method"));
  PetscCall(KSPFusedViewMethod_Private(ksp, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  if (f->info.pcsingular || f->info.backend[0]) {
    PetscCall(KSPFusedViewGroup_Private(viewer, "quality of the last solve"));
    PetscCall(KSPFusedViewQuality_Private(ksp, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  if (f->info.backend[0]) {
    PetscCall(KSPFusedViewGroup_Private(viewer, "cost of the last solve"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  backend %s, %s%s\n", f->info.backend,
                                     f->info.lockstep ? "in lockstep" : "the host one iteration ahead",
                                     f->info.persistent && f->info.cluster ? ", persistent kernel of one cluster"
                                     : f->info.persistent                  ? ", persistent kernel"
                                     : f->info.replayed                    ? ", CUDA graph"
                                                                           : ""));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
