/* SPDX-License-Identifier: BSD-2-Clause */
/* spikelone.c: one partition a rank, where several are singular and the matrix may not be */
#include "spikeimpl.h"

/*
  Partitions of a regular matrix, or of one whose system is consistent, may be singular. Their pivots are boosted, and
  what that does to M^-1 is undone only as far as the interfaces between them are regular. One partition has no
  interfaces. It is slow on a device, so that it is tried only where the factors that are there are of no use: above
  this error, which is 1 for M^-1 = 0.
*/
#define SPIKE_LONE_ERROR 0.5

/* Nothing is known of a new pattern */
void PCSpikeLoneForget_Private(PC_Spike *s)
{
  s->lone.wanted = s->lone.decided = PETSC_FALSE;
  s->lone.error                    = -1.0;
}

/* What was tried has no factors at all: back to several partitions, which had some */
static PetscBool SpikeLoneReject_Private(PC_Spike *s)
{
  PCSpikeLone    *l     = &s->lone;
  const PetscBool tried = l->wanted;

  if (tried) {
    l->wanted  = PETSC_FALSE;
    l->decided = PETSC_TRUE;
    s->again   = SPIKE_AGAIN_LONE;
  }
  return tried;
}

/*
  After a factorization whose pivots were boosted: one partition in place of several is tried once for a pattern, and
  what is less wrong taken. *again: the setup has to be made anew for that. A refill (reuse) of one partition that
  boosted none begins from scratch: its values need no such care
*/
PetscErrorCode PCSpikeLoneAfter_Private(PC pc, PetscBool reuse, const SpikePivot *pivot, PetscBool *again)
{
  PC_Spike    *s    = (PC_Spike *)pc->data;
  PCSpikeLone *l    = &s->lone;
  MPI_Comm     comm = PetscObjectComm((PetscObject)pc);
  PetscBool    flags[3], has;
  PetscReal    error;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (l->decided && !(reuse && l->wanted)) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->local_partitions != PETSC_DECIDE || s->type == PC_SPIKE_BLOCK) PetscFunctionReturn(PETSC_SUCCESS);
  flags[0] = (PetscBool)(pivot->nboost > 0);
  flags[1] = (PetscBool)(s->band.np > 1 && s->band.coupled);
  flags[2] = (PetscBool)(pivot->badrow >= 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flags, 3, MPI_C_BOOL, MPI_LOR, comm));
  if (l->decided) {
    *again = (PetscBool)!flags[0];
    if (*again) PetscCall(PetscInfo(pc, "No pivot was boosted: choosing partitions again\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (flags[2]) {
    *again = SpikeLoneReject_Private(s);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!l->wanted && (!flags[0] || !flags[1])) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeError_Private(pc, &error, NULL));
  if (l->wanted) {
    l->decided = PETSC_TRUE;
    l->wanted  = (PetscBool)(error < l->error);
    *again     = (PetscBool)!l->wanted;
    PetscCall(PetscInfo(pc, "One partition on a rank: wrong by %g, several by %g\n", (double)error, (double)l->error));
  } else if (!(error <= SPIKE_LONE_ERROR)) {
    l->error  = error;
    l->wanted = *again = PETSC_TRUE;
    PetscCall(PetscInfo(pc, "Pivots of partitions were boosted, and factors are wrong by %g: trying one partition\n",
                        (double)error));
  }
  if (*again) s->again = SPIKE_AGAIN_LONE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
