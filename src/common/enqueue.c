/* SPDX-License-Identifier: BSD-2-Clause */
/* enqueue.c: asks an object for its work, and numbers what it has */
#include <petsc/private/petscimpl.h>
#include "enqueue.h"

PetscObjectState SpikeNewShape(PetscObjectState many)
{
  static PetscObjectState shapes = 0;

  shapes += many;
  return shapes - many + 1;
}

PetscErrorCode SpikeGetEnqueue(PetscObject obj, SpikeEnqueue *e)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscTryMethod(obj, "PetscSpikeGetEnqueue_C", (PetscObject, SpikeEnqueue *), (obj, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}
