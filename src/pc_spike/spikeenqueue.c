/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeenqueue.c: the apply of PCSPIKE on a stream of the caller's */
#include "spikeimpl.h"
#include "common/enqueue.h"

static PetscErrorCode SpikeEnqueue_Spike(PetscObject pc, PetscBool trans, void *stream, const PetscScalar *x,
                                         PetscScalar *y)
{
  PC_Spike      *s      = (PC_Spike *)((PC)pc)->data;
  const PetscInt n      = PCSpikeLocalRows_Private(s);
  void          *before = s->band.stream;

  PetscFunctionBegin;
  s->band.stream = stream;
  PetscCall(PCSpikeSolveBordered_Private((PC)pc, trans, 1, x, n, y, n));
  s->band.stream = before; /* the caller's may end before the preconditioner does */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages between ranks wait for the host, or are NCCL's: only the work of one rank is captured */
PetscErrorCode PetscSpikeGetEnqueue_Spike(PetscObject pc, SpikeEnqueue *e)
{
  PC_Spike *s = (PC_Spike *)((PC)pc)->data;

  PetscFunctionBegin;
  if (!s->built || !s->numeric || s->refine.direct == PETSC_BOOL3_TRUE || s->gather.A)
    PetscFunctionReturn(PETSC_SUCCESS);
  e->memtype    = s->band.k->memtype;
  e->n          = PCSpikeLocalRows_Private(s);
  e->run        = SpikeEnqueue_Spike;
  e->capturable = (PetscBool)(s->band.k->enqueues && !s->ex.across && !s->border.across);
  e->shape      = s->shape + s->band.launches;
  e->values     = e->shape + s->info.refills;
  PetscFunctionReturn(PETSC_SUCCESS);
}
