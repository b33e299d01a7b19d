/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeplan.c: PCSPIKE's partitions, interfaces and neighbours */
#include "spikeimpl.h"

/*
  Rows of this rank in np partitions, balanced to within one row where no cuts are near; neighbours are the nearest
  ranks that own rows. Where one of these has fewer than a half-bandwidth, all ranks know it by the ownership ranges,
  and ask for other ones (spikegather.c). The matrix comes in pieces, or with nparts 0 by diagonals.
*/
PetscErrorCode PCSpikePlan_Private(PC pc, PetscInt nparts, const SpikeCSR parts[], const SpikeDIA *dia)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  SpikeBand      *b    = &s->band;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);
  const PetscInt *range, K = PetscMax(b->kl, b->ku);
  PetscMPIInt     size, rank;
  PetscInt        np, owners = 0;
  PetscBool       few = PETSC_FALSE, full = PETSC_FALSE, open = PETSC_FALSE, couples, agreed;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(MatGetOwnershipRanges(PCSpikeBandMatrix_Private(pc), &range));
  s->ex.left = s->ex.right = MPI_PROC_NULL;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (range[r + 1] == range[r]) continue;
    owners++;
    if (r < rank) s->ex.left = r;
    if (r > rank && s->ex.right == MPI_PROC_NULL) s->ex.right = r;
  }
  if (s->lines.active) { /* nothing couples ranks */
    s->ex.left = s->ex.right = MPI_PROC_NULL;
    owners                   = PetscMin(owners, 1);
  }
  b->n = range[rank + 1] - range[rank];
  PetscCall(PCSpikeCutsReset_Private(pc));
  PetscCall(PCSpikeBatchFind_Private(pc, (PetscBool)(owners <= 1), nparts, parts, dia));
  np = s->local_partitions;
  if (s->batch.found) np = 1;
  else if (PCSpikeTrialAlone_Private(s)) {
    if (np > 1)
      PetscCall(PetscInfo(pc,
                          "One partition, not the %" PetscInt_FMT
                          " on each rank that were asked for: factors of several were wrong\n",
                          np));
    np = 1;
  } else if (np == PETSC_DECIDE && (s->lone.wanted || (s->type != PC_SPIKE_BLOCK && PCSpikePivotsSystems_Private(pc))))
    np = 1;
  else if (np == PETSC_DECIDE) {
    open = PETSC_TRUE;
    np   = (*b->k->partitions)(b->n, b->kl, b->ku, s->precision, s->expected, PCSpikeMayNeglect_Private(s),
                             PCSpikeExchanges_Private(s), b->cholesky, s->type, &full);
    np   = PetscMax(1, PetscMin(np, b->n / PetscMax(K, 1)));
  } else { /* as many of those that were asked for as have K rows each, one row where nothing couples them */
    np = PetscMax(1, PetscMin(np, s->type != PC_SPIKE_BLOCK ? b->n / PetscMax(K, 1) : b->n));
    if (np < s->local_partitions && b->n)
      PetscCall(
        PetscInfo(pc,
                  "%" PetscInt_FMT " partitions of the %" PetscInt_FMT " rows on this rank, not the %" PetscInt_FMT
                  " that were asked for: they would have fewer rows than the half-bandwidth %" PetscInt_FMT "\n",
                  np, b->n, s->local_partitions, K));
  }

  couples      = (PetscBool)(s->type != PC_SPIKE_BLOCK && K > 0 && !s->batch.found);
  s->ex.across = (PetscBool)(couples && owners > 1);
  /* owners > 1 is the same on all ranks, and one owner needs no other */
  b->coupled = (PetscBool)(couples && (owners > 1 || np > 1));
  for (PetscMPIInt r = 0; r < size; r++)
    if (range[r + 1] > range[r] && range[r + 1] - range[r] < K) few = PETSC_TRUE;
  if ((few || PCSpikeTrialAlone_Private(s)) && s->ex.across) {
    PetscCall(PCSpikeGatherAsk_Private(pc, few ? K + (s->border.T ? s->border.m : 0) : pc->pmat->rmap->N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!b->n) { /* nothing to do and nobody to talk to */
    np         = 1;
    s->ex.left = s->ex.right = MPI_PROC_NULL;
  }
  PetscCall(PCSpikeCutsPlace_Private(pc, open, (PetscBool)(owners <= 1), nparts, parts, dia, &np, &full));
  /* tridiagonal systems are apart by themselves */
  b->cut     = (PetscBool)(couples && owners <= 1 && np > 1 && s->info.cuts == np - 1 &&
                       !(b->kl == 1 && b->ku == 1 && b->k->tridiagonal));
  b->coupled = (PetscBool)(couples && (owners > 1 || np > 1) && !b->cut);
  if (s->type == PC_SPIKE_AUTO) { /* as most ranks' rows have it is not asked: one that needs it is enough */
    PetscCallMPI(MPIU_Allreduce(&full, &agreed, 1, MPI_C_BOOL, MPI_LOR, comm));
    s->full = (PetscBool)(agreed || s->coupling.exact);
  }
  b->np = np;
  PetscCall(PetscMalloc2(np + 1, &b->start, np + 1, &b->active));
  PetscCall(PetscArraycpy(b->start, s->cuts.start, np + 1));
  PetscCall(PCSpikeCutsReset_Private(pc));
  for (PetscInt p = 0; p <= np; p++) {
    b->active[p] = (PetscBool)(b->coupled && b->n && (p > 0 || s->ex.left != MPI_PROC_NULL) &&
                               (p < np || s->ex.right != MPI_PROC_NULL));
  }
  if (!b->coupled) s->ex.left = s->ex.right = MPI_PROC_NULL;
  s->info.partitions    = b->n ? np : 0;
  s->info.min_partition = PETSC_INT_MAX;
  s->info.max_partition = 0;
  for (PetscInt p = 0; p < np && b->n; p++) {
    s->info.min_partition = PetscMin(s->info.min_partition, b->start[p + 1] - b->start[p]);
    s->info.max_partition = PetscMax(s->info.max_partition, b->start[p + 1] - b->start[p]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
