/* SPDX-License-Identifier: BSD-2-Clause */
/* eventcount.h: how often an event of PETSc's log has happened on this rank */
#pragma once

#include <petsclog.h>

/* 0 without logging */
static inline PetscErrorCode SpikeTestEventCount(const char name[], PetscInt *count)
{
  PetscEventPerfInfo info = {0};

  PetscFunctionBegin;
  *count = 0;
#if PetscDefined(USE_LOG)
  PetscLogEvent event;

  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
#else
  (void)name;
#endif
  *count = (PetscInt)info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}
