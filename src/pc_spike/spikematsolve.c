/* SPDX-License-Identifier: BSD-2-Clause */
/* spikematsolve.c: PCSPIKE learns that an application is a KSPMatSolve() by KSPPREONLY */
#include "spikeimpl.h"
#include "common/petsccompat.h"
#include <petsc/private/kspimpl.h>

/*
  KSPMatSolve() calls no PCPreSolve(), and a preconditioner does not know its solver. What KSPMatSolve() does before
  PCMatApply() is

      PCSetUpOnBlocks(pc);   PetscLogEventBegin(KSP_MatSolve, ksp, B, X, 0);

  KSPSolve() calls PCPreSolve() in place of the second. So from PCSetUpOnBlocks() on, until the event ends or
  PCPreSolve() comes, a log handler looks at the events. The event names the solver, whose preconditioner and type then
  are known without a guess. Where PETSc has no logging, the event is switched off (PetscLogEventSetActiveAll()), or
  PETSC_LOG_HANDLER_MAX handlers run already, columns stay unchecked as those of PCMatApply().
*/
static PC              watched = NULL; /* PCSetUpOnBlocks() was called for this one */
static PetscLogHandler watcher = NULL;

PetscErrorCode PCSpikeUnwatch_Private(PC pc)
{
  PetscFunctionBegin;
  if (watched != pc) PetscFunctionReturn(PETSC_SUCCESS);
  watched = NULL;
  PetscCall(PetscLogHandlerStop(watcher));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeWatchDestroy_Private(void)
{
  PetscFunctionBegin;
  watched = NULL;
  PetscCall(PetscLogHandlerStop(watcher));
  PetscCall(PetscLogHandlerDestroy(&watcher));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver of the event, where its preconditioner is the one that is watched */
static KSP SpikeWatchedSolver_Private(PetscLogEvent e, PetscObject o)
{
  KSP ksp = (KSP)o;

  if (!watched || !ksp || (e != KSP_MatSolve && e != KSP_MatSolveTranspose)) return NULL;
  return ksp->pc == watched ? ksp : NULL;
}

static PetscErrorCode SpikeWatchBegin_Private(PetscLogEvent e, int unused, PetscObject o1, PetscObject o2,
                                              PetscObject o3, PetscObject o4)
{
  KSP       ksp = SpikeWatchedSolver_Private(e, o1);
  PetscBool once;

  PetscFunctionBegin;
  (void)unused;
  (void)o2;
  (void)o3;
  (void)o4;
  if (!ksp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &once, KSPPREONLY, KSPNONE, ""));
  if (once) PetscCall(PCSpikeSolveBegins_Private(ksp->pc, ksp));
  else {
    PCSpikeRefineForget_Private((PC_Spike *)ksp->pc->data); /* as in PCPreSolve(), of another method */
    PetscCall(PCSpikeUnwatch_Private(ksp->pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeWatchEnd_Private(PetscLogEvent e, int unused, PetscObject o1, PetscObject o2, PetscObject o3,
                                            PetscObject o4)
{
  KSP ksp = SpikeWatchedSolver_Private(e, o1);

  PetscFunctionBegin;
  (void)unused;
  (void)o2;
  (void)o3;
  (void)o4;
  if (!ksp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeSolveEnds_Private(ksp->pc));
  PetscCall(PCSpikeUnwatch_Private(ksp->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver is about to begin. Part of another one (it is printed indented) it is not checked, and not watched */
PetscErrorCode PCSetUpOnBlocks_Spike(PC pc)
{
  PC_Spike *s      = (PC_Spike *)pc->data;
  PetscBool room   = PETSC_FALSE;
  PetscInt  inside = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetTabLevel((PetscObject)pc, &inside));
  if (!PetscDefined(USE_LOG) || inside || s->refine.solving || s->refine.direct != PETSC_BOOL3_UNKNOWN)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (watched) PetscCall(PCSpikeUnwatch_Private(watched));
  for (PetscInt i = 0; i < PETSC_LOG_HANDLER_MAX; i++) room = (PetscBool)(room || !PetscLogHandlers[i].handler);
  if (!room) {
    PetscCall(PetscInfo(pc, "All log handlers are taken: columns of KSPMatSolve() are not checked\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!watcher) {
    PetscCall(PetscLogHandlerCreateLegacy(PETSC_COMM_SELF, SpikeWatchBegin_Private, SpikeWatchEnd_Private, NULL, NULL,
                                          &watcher));
    PetscCall(PetscRegisterFinalize(SpikeWatchDestroy_Private));
  }
  PetscCall(PetscLogHandlerStart(watcher));
  watched = pc;
  PetscFunctionReturn(PETSC_SUCCESS);
}
