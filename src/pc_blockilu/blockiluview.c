/* SPDX-License-Identifier: BSD-2-Clause */
/* blockiluview.c: view and facts of PCBLOCKILU */
#include "blockiluimpl.h"

/*@
  PCBlockILUGetInfo - What `PCBLOCKILU` did in its last setup: blocks, subdomains, fill, level sets, boosted pivots,
  memory, backend

  Collective

  Input Parameter:
. pc - the preconditioner context, set up

  Output Parameter:
. info - the facts, sums, maxima and minima over all ranks

  Level: advanced

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUInfo`, `PCSetUp()`
@*/
PetscErrorCode PCBlockILUGetInfo(PC pc, PCBlockILUInfo *info)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(info, 2);
  PetscUseMethod(pc, "PCBlockILUGetInfo_C", (PC, PCBlockILUInfo *), (pc, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCBlockILUGetInfo_BlockILU(PC pc, PCBlockILUInfo *info)
{
  PC_BlockILU *s    = (PC_BlockILU *)pc->data;
  MPI_Comm     comm = PetscObjectComm((PetscObject)pc);
  PetscInt64   sum[3];
  PetscInt     isum[2], max[5];

  PetscFunctionBegin;
  PetscCheck(pc->setupcalled, comm, PETSC_ERR_ARG_WRONGSTATE, "Must call PCSetUp() first");
  *info   = s->info;
  sum[0]  = s->info.blocks;
  sum[1]  = s->info.dropped;
  sum[2]  = s->info.factor_blocks;
  isum[0] = s->info.subdomains;
  isum[1] = s->info.boosted;
  max[0]  = s->info.max_subdomain;
  max[1]  = -s->info.min_subdomain;
  max[2]  = s->info.lower_levels;
  max[3]  = s->info.upper_levels;
  max[4]  = s->info.colors;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, isum, 2, MPIU_INT, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 5, MPIU_INT, MPI_MAX, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.bytes, &info->bytes, 1, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(&s->info.extra_bytes, &info->extra_bytes, 1, MPIU_REAL, MPIU_SUM, comm));
  info->block_rows    = s->info.bs ? pc->pmat->rmap->N / s->info.bs : 0;
  info->blocks        = sum[0];
  info->dropped       = sum[1];
  info->factor_blocks = sum[2];
  info->subdomains    = isum[0];
  info->boosted       = isum[1];
  info->max_subdomain = max[0];
  info->min_subdomain = -max[1];
  info->lower_levels  = max[2];
  info->upper_levels  = max[3];
  info->colors        = max[4];
  info->fill_ratio    = sum[0] ? (PetscReal)sum[2] / (PetscReal)sum[0] : 1.0;
  PetscCall(PetscStrncpy(info->backend, s->b.k ? s->b.k->name : "none", sizeof(info->backend)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_BlockILU(PC pc, PetscViewer viewer)
{
  PC_BlockILU   *s = (PC_BlockILU *)pc->data;
  PetscBool      isascii, isstring;
  PCBlockILUInfo info;
  char           text[sizeof(s->failtext)];

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &isstring));
  if (isstring) {
    if (s->complete) PetscCall(PetscViewerStringSPrintf(viewer, " lu"));
    else PetscCall(PetscViewerStringSPrintf(viewer, " lvls=%" PetscInt_FMT, s->levels));
  }
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->complete)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  complete factorization, in %s precision\n",
                                     s->precision == PETSC_SPIKE_PRECISION_DOUBLE ? "double" : "single"));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " levels of fill, factors in %s precision\n", s->levels,
                                     s->precision == PETSC_SPIKE_PRECISION_DOUBLE ? "double" : "single"));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  %s ordering of the blocks\n", s->multicolor ? "multicolor" : s->ordering));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  zero pivot below %g of the norm: %s\n", (double)s->zeropivot,
                                   s->shifttype == (PetscInt)MAT_SHIFT_NONE ? "failure" : "boosted"));
  if (!pc->setupcalled) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  not yet set up\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCBlockILUGetInfo(pc, &info));
  PetscCall(PCFactoredViewGroup_Private(viewer, "factors"));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt_FMT " block rows, blocks of %" PetscInt_FMT " x %" PetscInt_FMT "\n",
                                   info.block_rows, info.bs, info.bs));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  subdomains %" PetscInt_FMT " of %" PetscInt_FMT " to %" PetscInt_FMT
                                   " block rows\n",
                                   info.subdomains, info.min_subdomain, info.max_subdomain));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  level sets: lower %" PetscInt_FMT ", upper %" PetscInt_FMT "\n",
                                   info.lower_levels, info.upper_levels));
  if (s->multicolor) PetscCall(PetscViewerASCIIPrintf(viewer, "  colors %" PetscInt_FMT "\n", info.colors));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCFactoredViewGroup_Private(viewer, "quality"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  blocks that couple subdomains of a rank, dropped: %" PetscInt64_FMT "\n",
                                   info.dropped));
  if (s->shifttype != (PetscInt)MAT_SHIFT_NONE || info.boosted)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  boosted pivots %" PetscInt_FMT "\n", info.boosted));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCFactoredViewGroup_Private(viewer, "cost"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  factor fill ratio %g, blocks of the factors %" PetscInt64_FMT "\n",
                                   (double)info.fill_ratio, info.factor_blocks));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  memory of the factors %.0f bytes, of the rest %.0f bytes\n",
                                   (double)info.bytes, (double)info.extra_bytes));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  backend %s, setups from scratch %" PetscInt_FMT ", refills %" PetscInt_FMT "\n",
                                   info.backend, info.rebuilds, info.refills));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCFactoredGetFailText_Private(pc, text, sizeof(text)));
  if (text[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  FAILED: %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
