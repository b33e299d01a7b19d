/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikelook.c: one pass over the entries of a matrix, where they are, for all who choose: half-bandwidths, border,
  matching, cuts and systems
*/
#include "spikeimpl.h"

PetscErrorCode PCSpikeLookReset_Private(PC pc)
{
  PCSpikeLook *l = &((PC_Spike *)pc->data)->look;

  PetscFunctionBegin;
  PetscCall(SpikeLookReset(&l->found));
  l->id     = 0;
  l->covers = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of the columns of the off-diagonal block; on a device a copy, which is to be released */
static PetscErrorCode PCSpikeLookGhosts_Private(PC pc, Mat A, PetscMemType memtype, const PetscInt **colmap,
                                                PetscInt **copy)
{
  SpikeBand *b = &((PC_Spike *)pc->data)->band;
  PetscInt   ncols;
  Mat        Ao;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, colmap));
  if (PetscMemTypeHost(memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(Ao, NULL, &ncols));
  PetscCall((*b->k->begin)(b));
  PetscCall((*b->k->alloc)(b, PetscMax(ncols, 1) * sizeof(PetscInt), (void **)copy));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, *copy, 0, *colmap, 0, ncols * sizeof(PetscInt), 1));
  PetscCall((*b->k->end)(b));
  *colmap = *copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The look at A, or a new one where the last was at another matrix, or other values, or asked for something else */
static PetscErrorCode PCSpikeLookAt_Private(PC pc, Mat A, const PetscInt within[2], PetscBool weigh)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeLook     *l = &s->look;
  PetscObjectId    id;
  PetscObjectState state, pattern;
  PetscMemType     memtype;
  SpikeCSR         parts[2];
  PetscInt         nparts, *ghosts = NULL;
  PetscBool        mpi;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatGetNonzeroState(A, &pattern));
  if (l->id == id && l->state == state && l->pattern == pattern && l->within[0] == within[0] &&
      l->within[1] == within[1] && l->weigh == weigh)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeLookReset_Private(pc));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCall(SpikeMatGetMemType(A, &memtype));
  if (memtype != s->band.k->memtype || !SpikeLookKernelsFind(memtype)) memtype = PETSC_MEMTYPE_HOST;
  l->found.n         = A->rmap->n;
  l->found.within[0] = within[0];
  l->found.within[1] = within[1];
  l->found.tiny      = SPIKE_MATCHING_TINY;
  l->found.nsample   = PetscMin(A->rmap->n, SPIKE_SAMPLED_ROWS);
  l->found.weigh     = weigh;
  PetscCall(PetscLogEventBegin(PC_Spike_Look, pc, A, 0, 0));
  PetscCall(PCSpikeGetCSR_Private(pc, A, memtype, &nparts, parts));
  if (mpi) PetscCall(PCSpikeLookGhosts_Private(pc, A, memtype, &parts[1].colmap, &ghosts));
  ierr = (*SpikeLookKernelsFind(memtype)->look)(&l->found, nparts, parts);
  PetscCall((*s->band.k->release)(&s->band, (void **)&ghosts));
  PetscCall(ierr);
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, memtype, &nparts, parts));
  PetscCall(PetscLogEventEnd(PC_Spike_Look, pc, A, 0, 0));
  l->id        = id;
  l->state     = state;
  l->pattern   = pattern;
  l->within[0] = within[0];
  l->within[1] = within[1];
  l->weigh     = weigh;
  l->device    = (PetscBool)!PetscMemTypeHost(memtype);
  PetscCall(PetscInfo(pc,
                      "A look at %" PetscInt64_FMT " entries on the %s: half-bandwidths %" PetscInt_FMT
                      ",%" PetscInt_FMT ", at most %" PetscInt_FMT " nonzeros in a row, %" PetscInt_FMT " cuts, %s\n",
                      l->found.entries, l->device ? "device" : "host", l->found.kl, l->found.ku, l->found.maxrow,
                      l->found.ncuts, l->found.weak < 0 ? "no small diagonal entry" : "a small diagonal entry"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeLook_Private - What the entries of the rows of this rank say, in the order of the matrix

  Not Collective

  Input Parameter:
. A - of type MATSEQAIJ or MATMPIAIJ

  Output Parameter:
. look - owned by the PC until it looks at another matrix, or at other values

  Note:
  On a device the entries are looked at there. Columns of other ranks have their own numbers, not their places in an
  ordering that may have been chosen before.
*/
PetscErrorCode PCSpikeLook_Private(PC pc, Mat A, const SpikeLook **look)
{
  PC_Spike      *s    = (PC_Spike *)pc->data;
  const PetscInt most = PetscMax(A->rmap->N - 1, 0);
  /* what lies within half-bandwidths in the order of the matrix says nothing of paths, which are numbered anew */
  const PetscBool given     = (PetscBool)(s->givenkl != PETSC_DECIDE && !s->lines.active);
  const PetscInt  within[2] = {given ? PetscMin(s->givenkl, most) : PETSC_INT_MAX,
                              given ? PetscMin(s->givenku, most) : PETSC_INT_MAX};

  PetscFunctionBegin;
  PetscCall(PCSpikeLookAt_Private(pc, A, within, (PetscBool)(s->dropoff > 0.0)));
  *look = &s->look.found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Over all ranks: half-bandwidths of all nonzeros and of those that the tolerance for dropping keeps, the fullest row,
  stored zeros; collective
*/
PetscErrorCode PCSpikeLookBand_Private(PC pc, const SpikeLook *look, PetscInt full[2], PetscInt kept[2],
                                       PetscInt *maxrow, PetscBool *zeros)
{
  PetscInt   lmax[4] = {look->kl, look->ku, look->maxrow, look->zeros > 0}, gmax[4];
  PetscReal *weight;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(lmax, gmax, 4, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  kept[0] = full[0] = gmax[0];
  kept[1] = full[1] = gmax[1];
  *maxrow           = gmax[2];
  *zeros            = (PetscBool)gmax[3];
  if (look->weigh) {
    PetscCall(PetscCalloc1(PetscMax(gmax[0], gmax[1]) + 1, &weight));
    PetscCall(PetscArraycpy(weight, look->weight, PetscMax(look->kl, look->ku) + 1));
    PetscCall(PCSpikeDropOff_Private(pc, weight, kept));
    PetscCall(PetscFree(weight));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether entries far from the diagonal may be those of a border of at most `most` rows, by a count of rows; collective.
  Beyond the largest step t below max(kl, ku) a row or column has D <= (kl - t) + (ku - t) entries, so that 2 most rows
  and their columns have at most 4 most D. Where more rows have one, no matching of far entries that cannot be extended
  has at most `most` of them, and none of those beyond smaller steps: PCSpikeBorderFar_Private() would find nothing.
*/
PetscErrorCode PCSpikeLookFar_Private(PC pc, const SpikeLook *look, PetscInt most, const PetscInt full[2],
                                      PetscBool *may)
{
  const PetscInt K    = PetscMax(full[0], full[1]);
  PetscInt       step = 0, t;
  PetscInt64     rows = 0, D;
  PetscBool      local;

  PetscFunctionBegin;
  while (SpikeLookStep(step + 1) < K) step++;
  t = SpikeLookStep(step);
  for (int k = step + 1; k < SPIKE_LOOK_STEPS; k++) rows += look->reach[k];
  D     = (PetscInt64)PetscMax(full[0] - t, 0) + PetscMax(full[1] - t, 0);
  local = (PetscBool)(rows <= 4 * most * D);
  PetscCallMPI(MPIU_Allreduce(&local, may, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Notes whether the look at A, the matrix that is factored, says cuts and samples of the band: it has the order of A,
  and holds all entries of this rank, or those within the half-bandwidths that the look was given. On a device another
  look is taken where only that is wrong. Of paths that the device has found the look says cuts and samples of systems
*/
PetscErrorCode PCSpikeLookCovers_Private(PC pc, Mat A)
{
  PC_Spike       *s  = (PC_Spike *)pc->data;
  PCSpikeLook    *l  = &s->look;
  const PetscInt *in = l->within, band[2] = {s->band.kl, s->band.ku};
  PetscObjectId   id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  l->covers = PETSC_FALSE;
  if (s->lines.k) {
    l->covers = (PetscBool)(s->lines.k == s->band.k && PCSpikeTakesSystems_Private(pc));
    if (!l->covers) PetscCall(PCSpikeLinesToHost_Private(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (l->id != id || s->newrow || s->colmap || s->matching.active || s->cyclic.found)
    PetscFunctionReturn(PETSC_SUCCESS);
  l->covers = (PetscBool)((in[0] == band[0] && in[1] == band[1]) ||
                          (in[0] == PETSC_INT_MAX && band[0] >= l->found.kl && band[1] >= l->found.ku));
  if (l->covers || !l->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeLookAt_Private(pc, A, band, PETSC_FALSE));
  l->covers = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
