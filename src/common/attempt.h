/* SPDX-License-Identifier: BSD-2-Clause */
/* attempt.h: calls that may fail, after which their caller goes on */
#pragma once

#include <petscsys.h>

/* How many functions are on the stack that PETSc keeps for debuggers */
static inline int SpikeStackGetDepth(void)
{
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  return petscstack.currentsize;
#else
  return 0;
#endif
}

static inline void SpikeStackSetDepth(int depth)
{
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  petscstack.currentsize = depth;
#else
  (void)depth;
#endif
}

/* ierr = call, with errors to `handler`. Functions that end by an error leave themselves on the stack: they go */
#define SpikeAttempt(ierr, handler, context, call) \
  do { \
    const int spike_depth = SpikeStackGetDepth(); \
\
    PetscCall(PetscPushErrorHandler(handler, context)); \
    (ierr) = (call); \
    PetscCall(PetscPopErrorHandler()); \
    SpikeStackSetDepth(spike_depth); \
  } while (0)
