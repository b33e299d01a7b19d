/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.h: for benchmarks: the time of events of PETSc's log, one after the other */
#pragma once

#include "bandcase.h"

#define WATCH_MOST 8

static struct {
  PetscBool     on;
  int           count;
  PetscLogEvent event[WATCH_MOST];
  double        begun[WATCH_MOST], spent[WATCH_MOST]; /* seconds; ms since spent was zeroed */
} watch;

/* Each event begins and ends with the device waited for */
static PetscErrorCode WatchBegin(PetscLogEvent event, int n, PetscObject a, PetscObject b, PetscObject c, PetscObject d)
{
  PetscFunctionBeginUser;
  (void)n, (void)a, (void)b, (void)c, (void)d;
  for (int e = 0; watch.on && e < watch.count; e++)
    if (event == watch.event[e]) PetscCall(Wait(PETSC_COMM_SELF, &watch.begun[e]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WatchEnd(PetscLogEvent event, int n, PetscObject a, PetscObject b, PetscObject c, PetscObject d)
{
  PetscLogDouble now = 0.0;

  PetscFunctionBeginUser;
  (void)n, (void)a, (void)b, (void)c, (void)d;
  for (int e = 0; watch.on && e < watch.count; e++) {
    if (event != watch.event[e]) continue;
    PetscCall(Wait(PETSC_COMM_SELF, &now));
    watch.spent[e] += 1e3 * (now - watch.begun[e]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Events of these names are watched wherever watch.on is true */
static inline PetscErrorCode WatchEvents(int count, const char *const names[])
{
  PetscFunctionBeginUser;
  watch.count = count;
  for (int e = 0; e < count; e++) PetscCall(PetscLogEventGetId(names[e], &watch.event[e]));
  PetscCall(PetscLogLegacyCallbacksBegin(WatchBegin, WatchEnd, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
