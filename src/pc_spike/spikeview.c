/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeview.c: view and facts of PCSPIKE */
#include "spikeimpl.h"

/*@
  PCSpikeGetInfo - What `PCSPIKE` did in its last setup: bandwidths, dropped share, partitions, boosted pivots, memory,
  backend

  Collective

  Input Parameter:
. pc - the preconditioner context, set up

  Output Parameter:
. info - the facts, sums, maxima and minima over all ranks

  Level: advanced

  Note:
  After a failed setup the values are those that were known when it failed.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeInfo`, `PCSetUp()`
@*/
PetscErrorCode PCSpikeGetInfo(PC pc, PCSpikeInfo *info)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(info, 2);
  PetscUseMethod(pc, "PCSpikeGetInfo_C", (PC, PCSpikeInfo *), (pc, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeGetInfo_Spike(PC pc, PCSpikeInfo *info)
{
  PC_Spike *s    = (PC_Spike *)pc->data;
  MPI_Comm  comm = PetscObjectComm((PetscObject)pc);
  PetscInt  sum[6], max[3], row[2];
  PetscReal pivot;

  PetscFunctionBegin;
  PetscCheck(pc->setupcalled, comm, PETSC_ERR_ARG_WRONGSTATE, "Must call PCSetUp() first");
  PetscCall(PCSpikeMeasureNatural_Private(pc));
  PetscCall(PCSpikeMeasure_Private(pc));
  *info   = s->info;
  info->n = pc->pmat->rmap->N;
  sum[0]  = s->info.partitions;
  sum[1]  = s->info.boosted;
  sum[2]  = s->info.cornerboosted;
  sum[3]  = s->info.systems;
  sum[4]  = s->info.periodic;
  sum[5]  = s->info.cuts;
  max[0]  = s->info.max_partition;
  max[1]  = -s->info.min_partition;
  max[2]  = s->band.full ? 1 : 0; /* ranks without rows have nothing to couple */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 6, MPIU_INT, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 3, MPIU_INT, MPI_MAX, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.decay, &info->decay, 1, MPIU_REAL, MPIU_MAX, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.bytes, &info->bytes, 1, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.extra_bytes, &info->extra_bytes, 1, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.tips_bytes, &info->tips_bytes, 1, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.map_bytes, &info->map_bytes, 1, MPIU_REAL, MPIU_SUM, comm));
  row[0] = s->info.zeropivot_row < 0 ? PETSC_INT_MIN : -s->info.zeropivot_row;
  PetscCallMPI(MPIU_Allreduce(&row[0], &row[1], 1, MPIU_INT, MPI_MAX, comm));
  pivot = s->info.zeropivot_value;
  if (row[0] != row[1] || s->info.zeropivot_row < 0) pivot = row[1] == PETSC_INT_MIN ? 0.0 : PETSC_MIN_REAL;
  PetscCallMPI(MPIU_Allreduce(&pivot, &info->zeropivot_value, 1, MPIU_REAL, MPIU_MAX, comm));
  info->zeropivot_row = row[1] == PETSC_INT_MIN ? -1 : -row[1];
  info->partitions    = sum[0];
  info->boosted       = sum[1];
  info->cornerboosted = sum[2];
  info->systems       = sum[3];
  info->periodic      = sum[4];
  info->cuts          = sum[5];
  info->max_partition = max[0];
  info->min_partition = sum[0] ? -max[1] : 0;
  info->type          = PC_SPIKE_TRUNCATED;
  if (s->type == PC_SPIKE_BLOCK) info->type = PC_SPIKE_BLOCK;
  else if (s->type == PC_SPIKE_FULL || max[2]) info->type = PC_SPIKE_FULL;
  info->factor_type = s->band.cholesky ? PC_SPIKE_FACTOR_CHOLESKY : PC_SPIKE_FACTOR_LU;
  PetscCall(PetscStrncpy(info->backend, s->band.k ? s->band.k->name : "none", sizeof(info->backend)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a rank has fewer partitions than were asked for */
static PetscErrorCode PCSpikeViewFewer_Private(PC pc, PetscViewer viewer)
{
  PC_Spike *s   = (PC_Spike *)pc->data;
  PetscBool all = (PetscBool)(s->local_partitions == PETSC_DECIDE || !s->band.n || s->band.np == s->local_partitions);

  PetscFunctionBegin;
  if (s->local_partitions == PETSC_DECIDE || !s->band.k || s->batch.found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactoredAgree_Private(pc, &all));
  if (!all)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  fewer than the %" PetscInt_FMT " on each rank that were asked for: %s\n",
                                     s->local_partitions,
                                     PCSpikeTrialAlone_Private(s) ? "factors of several were wrong"
                                                                  : "each needs as many rows as a half-bandwidth"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether its partitions are coupled by spikes at all; collective. At cuts and along paths they are not */
static PetscErrorCode PCSpikeIsCoupled_Private(PC pc, const PCSpikeInfo *info, PetscBool *coupled)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  *coupled = (PetscBool)(info->type != PC_SPIKE_BLOCK && info->partitions > 1 && PetscMax(info->kl, info->ku) > 0);
  if (!*coupled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(&s->band.coupled, coupled, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is factored, and how */
static PetscErrorCode PCSpikeViewBand_Private(PC pc, const PCSpikeInfo *info, PetscViewer viewer)
{
  PC_Spike   *s   = (PC_Spike *)pc->data;
  const char *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool   isauto, coupled;

  PetscFunctionBegin;
  PetscCall(PCSpikeIsCoupled_Private(pc, info, &coupled));
  PetscCall(PetscStrcmp(s->ordering, "auto", &isauto));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt_FMT " rows, half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                                   " of the matrix, %" PetscInt_FMT ",%" PetscInt_FMT " factored, %s ordering\n",
                                   info->n, info->natural_kl, info->natural_ku, info->kl, info->ku,
                                   !info->reordered ? MATORDERINGNATURAL
                                   : isauto         ? MATORDERINGRCM
                                                    : s->ordering));
  PetscCall(PCSpikeLinesView_Private(pc, viewer));
  if (s->apart)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "  each rank orders its own rows%s\n",
                             info->dropped > 0.0 ? ": couplings between ranks outside the band are dropped" : ""));
  if (info->cut)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  cut to half-bandwidth %" PetscInt_FMT "%s: a preconditioner; -%spc_type lu "
                                     "has the whole matrix\n",
                                     PetscMax(info->kl, info->ku),
                                     s->maxband == PETSC_DECIDE ? ", which fits in memory" : "", pre));
  PetscCall(PCSpikeViewWrongTool_Private(pc, viewer));
  if (info->border)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  border of %" PetscInt_FMT " rows and columns, solved by a dense system\n",
                                     info->border));
  if (info->matched)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  rows permuted and scaled for large entries on the diagonal%s%s\n",
                                     s->matching.rescale ? ", scales of the last values" : "",
                                     s->ex.across ? ", each rank for itself" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  partitions %" PetscInt_FMT " of %" PetscInt_FMT " to %" PetscInt_FMT " rows\n",
                                   info->partitions, info->min_partition, info->max_partition));
  PetscCall(PCSpikeOwnView_Private(pc, viewer));
  if (info->cuts)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  %" PetscInt_FMT
                                     " partitions chosen to begin where nothing couples two rows%s\n",
                                     info->cuts,
                                     !coupled && info->type != PC_SPIKE_BLOCK && info->cuts == info->partitions - 1
                                       ? ": each is solved by itself"
                                       : ""));
  PetscCall(PCSpikeGatherView_Private(pc, viewer));
  PetscCall(PCSpikeViewFewer_Private(pc, viewer));
  PetscCall(PCSpikeViewSystems_Private(pc, info, viewer));
  PetscCall(PCSpikeBatchView_Private(pc, info, viewer));
  if (SpikeBandExchanges(&s->band) && !s->batch.found)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  pivoting: rows exchanged inside each partition\n"));
  if (coupled && info->type == PC_SPIKE_FULL) PetscCall(PetscViewerASCIIPrintf(viewer, "  coupled exactly\n"));
  else if (coupled)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coupled by truncated spikes, corrected down to %g of their ends\n",
                                     (double)(s->band.cholesky ? PETSC_MACHINE_EPSILON : s->band.window)));
  if (s->wide)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  on the host: %s\n",
                                     s->band.pivoting ? "the device's kernels exchange no rows of such bands"
                                                      : "half-bandwidths are larger than the device's kernels have"));
  if (s->ex.across) PetscCall(PetscViewerASCIIPrintf(viewer, "  tips cross between ranks by %s\n", info->exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far M is from A */
static PetscErrorCode PCSpikeViewQuality_Private(PC pc, const PCSpikeInfo *info, PetscViewer viewer)
{
  PC_Spike   *s = (PC_Spike *)pc->data;
  PetscBool   coupled;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PCSpikeIsCoupled_Private(pc, info, &coupled));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (info->unmatched)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  structurally singular%s: %" PetscInt_FMT
                                     " rows have no entry for the diagonal: %s\n",
                                     size > 1 ? " in the diagonal blocks of ranks" : "", info->unmatched,
                                     s->matching.unmatched));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  dropped share of sum |a_ij| %g\n", (double)info->dropped));
  if (coupled)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  far ends of the spikes%s %.1e\n",
                                     info->type == PC_SPIKE_FULL ? "" : ", which truncation neglects, about",
                                     (double)info->decay));
  if (info->scarce)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "  exact coupling needs more memory than is free: spikes are truncated\n"));
  if (PCSpikeBoosts_Private(s) || info->boosted)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  boosted pivots %" PetscInt_FMT "\n", info->boosted));
  if (info->cornerboosted)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  boosted pivots in the corners of the left spikes %" PetscInt_FMT "\n",
                                     info->cornerboosted));
  PetscCall(PCSpikeTrialView_Private(pc, viewer));
  PetscCall(PCSpikeRefineView_Private(pc, info, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeViewCost_Private(const PCSpikeInfo *info, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  memory of the band %.0f bytes, of tips and reduced systems %.0f bytes, of work "
                                   "space %.0f bytes, of the fill map %.0f bytes\n",
                                   (double)info->bytes, (double)info->tips_bytes,
                                   (double)(info->extra_bytes - info->tips_bytes - info->map_bytes),
                                   (double)info->map_bytes));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  backend %s, setups from scratch %" PetscInt_FMT ", refills %" PetscInt_FMT "\n",
                                   info->backend, info->rebuilds, info->refills));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_Spike(PC pc, PetscViewer viewer)
{
  const char *const names[] = {"block", "truncated", "full", "auto"};
  PC_Spike         *s       = (PC_Spike *)pc->data;
  PetscBool         isascii, isstring;
  PCSpikeInfo       info;
  char              text[sizeof(s->failtext)];

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &isstring));
  if (isstring) PetscCall(PetscViewerStringSPrintf(viewer, " %s", PCSpikeTypes[s->type]));
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  variant %s, factors in %s precision\n", names[s->type],
                                   PetscSpikePrecisionNames[s->precision]));
  PetscCall(PCSpikeWishView_Private(pc, viewer));
  PetscCall(PCSpikeCholeskyView_Private(pc, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  zero pivot below %g of the norm: %s\n", (double)s->zeropivot,
                                   PCSpikeBoosts_Private(s) ? "boosted" : "failure"));
  if (s->userkl != PETSC_DECIDE)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  half-bandwidths set to %" PetscInt_FMT ",%" PetscInt_FMT "\n",
                                     s->userkl, s->userku));
  else if (s->dropoff > 0.0) PetscCall(PetscViewerASCIIPrintf(viewer, "  drop-off fraction %g\n", (double)s->dropoff));
  if (!pc->setupcalled) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  not yet set up\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCFactoredViewGroup_Private(viewer, "band"));
  PetscCall(PCSpikeViewBand_Private(pc, &info, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCFactoredViewGroup_Private(viewer, "quality"));
  PetscCall(PCSpikeViewQuality_Private(pc, &info, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCFactoredViewGroup_Private(viewer, "cost"));
  PetscCall(PCSpikeViewCost_Private(&info, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCFactoredGetFailText_Private(pc, text, sizeof(text)));
  if (text[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  FAILED: %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
