/* SPDX-License-Identifier: BSD-2-Clause */
/* enqueue.c: asks an object for its work */
#include <petsc/private/petscimpl.h>
#include "enqueue.h"

PetscErrorCode SpikeGetEnqueue(PetscObject obj, SpikeEnqueue *e)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscTryMethod(obj, "PetscSpikeGetEnqueue_C", (PetscObject, SpikeEnqueue *), (obj, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}
