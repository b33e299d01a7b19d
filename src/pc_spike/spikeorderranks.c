/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeorderranks.c: orderings of several ranks, each of its own rows: what they gain, and what they drop */
#include "spikeimpl.h"

/*
  Applications that a Krylov method takes for one, where the share f of the sum of magnitudes is dropped: each makes the
  error ten times that share, for what is dropped may lie in few rows
*/
static PetscReal SpikeDropCost_Private(PetscReal f)
{
  if (f <= 0.0) return 1;
  return f >= (PetscReal)0.08 ? 100 : PetscMax(1, PetscLogReal(1e8) / PetscLogReal(1 / (10 * f)));
}

/*
  What `auto` takes on several ranks: false for the natural band, else kept becomes that of all entries where each rank
  orders its own rows, or of those in the ranks' own columns: then the share f of sum |a_ij| lies outside. Dropped
  entries want half of the work. A direct solve drops nothing, unless a limit cuts the natural band: where no band fits
  the rows of a rank, that is the natural one, for which rows are gathered. *least: the work of a row
*/
static PetscBool SpikeRanksBetter_Private(PC_Spike *s, PetscInt shortest, const PetscInt all[2], const PetscInt own[2],
                                          PetscReal f, PetscInt kept[2], PetscReal *least)
{
  const PetscInt *bands[] = {kept, all, own};
  const PetscBool cut     = PCSpikeCuts_Private(s, kept);
  int             best    = -1;

  *least = PETSC_MAX_REAL;
  if (s->trial.way == SPIKE_WAY_WHOLE) return PETSC_FALSE; /* rows are gathered for it */
  for (int c = 0; c < 3; c++) {
    const PetscBool drops = (PetscBool)(c == 2 && f > 0.0);
    const PetscReal work = PCSpikeBandWork_Private(bands[c], SPIKE_MODEL_USES * (drops ? SpikeDropCost_Private(f) : 1));

    if (PCSpikeCuts_Private(s, bands[c])) continue;
    if (s->type != PC_SPIKE_BLOCK && PetscMax(bands[c][0], bands[c][1]) > shortest) continue;
    if (drops && (f >= (PetscReal)0.5 || s->refine.direct == PETSC_BOOL3_TRUE || (s->whole && !cut))) continue;
    if (work < (drops && best >= 0 ? *least / 2 : *least)) {
      s->traded  = (PetscBool)(drops && !cut);
      s->gathers = (PetscBool)(s->traded && best < 0);
      *least     = work;
      best       = c;
    }
  }
  if (best <= 0) return PETSC_FALSE;
  kept[0] = bands[best][0];
  kept[1] = bands[best][1];
  return PETSC_TRUE;
}

/* The fewest rows of a rank that has some */
static PetscErrorCode SpikeShortest_Private(Mat A, PetscInt *shortest)
{
  const PetscInt *range;
  PetscMPIInt     size;

  PetscFunctionBegin;
  *shortest = PETSC_INT_MAX;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatGetOwnershipRanges(A, &range));
  for (PetscMPIInt r = 0; r < size; r++)
    if (range[r + 1] > range[r]) *shortest = PetscMin(*shortest, range[r + 1] - range[r]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether `auto` looks at orderings of several ranks: where the natural band is cut, or wider than a rank has rows, or
  where a bound for all orderings of the ranks' own entries is below two thirds of it, which is unknown here
*/
static PetscBool3 SpikeRanksLook_Private(const PC_Spike *s, PetscInt shortest, const PetscInt kept[2])
{
  const PetscInt K = PetscMax(kept[0], kept[1]);

  if (PCSpikeCuts_Private(s, kept)) return PETSC_BOOL3_TRUE;
  if (s->givenkl != PETSC_DECIDE || K < 2) return PETSC_BOOL3_FALSE;
  return K > shortest && s->type != PC_SPIKE_BLOCK ? PETSC_BOOL3_TRUE : PETSC_BOOL3_UNKNOWN;
}

/*
  Whether PCSpikeOrderRanks_Private() may gain over the natural band with half-bandwidths kept, before it looks at the
  entries: a row of `own` nonzeros in the columns of its rank has max(kl, ku) >= own / 2 in any ordering; collective
*/
PetscErrorCode PCSpikeOrderRanksMay_Private(PC pc, Mat A, PetscBool isauto, PetscInt own, const PetscInt kept[2],
                                            PetscBool *may)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;
  PetscInt        shortest, most;
  PetscBool3      look;

  PetscFunctionBegin;
  *may = PETSC_TRUE;
  if (!isauto) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeShortest_Private(A, &shortest));
  look = SpikeRanksLook_Private(s, shortest, kept);
  PetscCallMPI(MPIU_Allreduce(&own, &most, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  *may = look == PETSC_BOOL3_UNKNOWN ? (PetscBool)(most / 2 < PCSpikeEnoughBand_Private(PetscMax(kept[0], kept[1])))
                                     : PetscBool3ToBool(look);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RCM on each rank; s->newrow and s->colmap are set. kept: of the natural order, on return of what *better says; *least:
  the work of a row then, PETSC_MAX_REAL where it is cut; *f: the share of sum |a_ij| outside of the ranks' own bands
*/
static PetscErrorCode SpikeRanksRCM_Private(PC pc, Mat A, PetscBool zeros, PetscInt shortest, PetscInt nparts,
                                            const SpikeCSR parts[], PetscInt kept[2], PetscBool *better,
                                            PetscReal *least, PetscReal *f)
{
  PC_Spike      *s          = (PC_Spike *)pc->data;
  const PetscInt n          = A->rmap->n;
  SpikeCSR       ordered[2] = {parts[0], parts[nparts - 1]};
  PetscInt       full[2], own[2], all[2], maxrow;
  PetscReal      sum[3];
  SpikeScan      within, every = {PETSC_INT_MAX - 1, 0.0, 0, 0, 0, 0, NULL};
  PetscBool      none;

  PetscFunctionBegin;
  if (n) PetscCall(PCSpikeOrder_Private(pc, A, MATORDERINGRCM, zeros, &parts[0], &none));
  PetscCall(PCSpikePlaces_Private(pc, A));
  ordered[1].colmap = s->colmap;
  PetscCall(PCSpikeMeasureBand_Private(pc, n, 1, ordered, s->newrow, full, own, &maxrow, &none));
  PetscCall(PCSpikeMeasureBand_Private(pc, n, nparts, ordered, s->newrow, full, all, &maxrow, &none));
  /* the wider side of its own is the limit of both, so that what is measured as outside is what is dropped */
  within       = every;
  within.limit = PetscMin(s->limit, PetscMax(own[0], own[1]));
  for (int side = 0; side < 2; side++) own[side] = PetscMax(own[side], PetscMin(all[side], within.limit));
  sum[0] = PCSpikeWithin_Private(s, n, nparts, parts, NULL).sum;
  PCSpikeScan_Private(n, nparts, ordered, s->newrow, &within);
  PCSpikeScan_Private(n, nparts, ordered, s->newrow, &every);
  sum[1] = within.sum;
  sum[2] = every.sum;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  *f = all[0] <= own[0] && all[1] <= own[1] ? 0.0 : 1 - sum[1] / sum[2];
  PetscCall(PetscInfo(pc,
                      "RCM on each rank: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " with share %g of "
                      "sum |a_ij| outside, %" PetscInt_FMT ",%" PetscInt_FMT " with all\n",
                      own[0], own[1], (double)*f, all[0], all[1]));
  if (PCSpikeCuts_Private(s, kept) && PCSpikeCuts_Private(s, all)) {
    *better = (PetscBool)(sum[1] > sum[0]);
    *least  = PETSC_MAX_REAL;
    if (*better) {
      kept[0] = own[0];
      kept[1] = own[1];
    }
  } else *better = SpikeRanksBetter_Private(s, shortest, all, own, *f, kept, least);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The other ordering of the ranks, which drops nothing: what couples ranks at their ends. Taken, into kept, *better and
  *f, where its band holds all with less work than what was chosen before, which stays where it is else
*/
static PetscErrorCode SpikeRanksLevels_Private(PC pc, Mat A, PetscInt shortest, PetscInt nparts, const SpikeCSR parts[],
                                               PetscReal least, PetscInt kept[2], PetscBool *better, PetscReal *f)
{
  PC_Spike      *s          = (PC_Spike *)pc->data;
  const PetscInt n          = A->rmap->n;
  SpikeCSR       ordered[2] = {parts[0], parts[nparts - 1]};
  PetscInt       full[2], all[2], maxrow;
  PetscBool      none;

  PetscFunctionBegin;
  s->tried  = s->newrow;
  s->newrow = NULL;
  if (n) PetscCall(PCSpikeOrderLevels_Private(pc, n, &parts[0], &parts[nparts - 1]));
  PetscCall(PCSpikePlaces_Private(pc, A));
  ordered[1].colmap = s->colmap;
  PetscCall(PCSpikeMeasureBand_Private(pc, n, nparts, ordered, s->newrow, full, all, &maxrow, &none));
  PetscCall(PetscInfo(pc,
                      "Levels from the rows that couple ranks: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                      " with all\n",
                      all[0], all[1]));
  if (!PCSpikeCuts_Private(s, all) && (s->type == PC_SPIKE_BLOCK || PetscMax(all[0], all[1]) <= shortest) &&
      PCSpikeBandWork_Private(all, SPIKE_MODEL_USES) < least) {
    kept[0]   = all[0];
    kept[1]   = all[1];
    *f        = 0.0;
    *better   = PETSC_TRUE;
    s->traded = PETSC_FALSE;
  } else {
    PetscCall(PetscFree(s->newrow));
    s->newrow = s->tried;
    s->tried  = NULL;
    PetscCall(PCSpikePlaces_Private(pc, A));
  }
  PetscCall(PetscFree(s->tried));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeOrderRanks_Private - Each of several ranks orders its own rows, where that is asked for, or where it is better

  Collective

  Input Parameters:
+ A      - of type MATMPIAIJ
. isauto - the library chooses
. zeros  - A has stored zeros
- parts  - its pieces

  Input/Output Parameter:
. kept - the half-bandwidths

  Output Parameter:
. better - the ranks' rows are ordered, by s->newrow and s->colmap

  Note:
  What couples ranks is in the band where rows near the ends of a rank stay there, and dropped elsewhere. `auto` takes
  that where the limit of this setup cuts the natural band, and cuts away more, or by SpikeRanksBetter_Private().
*/
PetscErrorCode PCSpikeOrderRanks_Private(PC pc, Mat A, PetscBool isauto, PetscBool zeros, PetscInt nparts,
                                         const SpikeCSR parts[], PetscInt kept[2], PetscBool *better)
{
  PC_Spike      *s          = (PC_Spike *)pc->data;
  const PetscInt n          = A->rmap->n;
  SpikeCSR       ordered[2] = {parts[0], parts[nparts - 1]};
  PetscInt       full[2], maxrow, shortest;
  PetscReal      least = PETSC_MAX_REAL, f = 1.0; /* share that is dropped, where it is asked for */
  PetscBool      none;

  PetscFunctionBegin;
  s->traded = *better = PETSC_FALSE;
  PetscCall(SpikeShortest_Private(A, &shortest));
  if (!isauto) {
    if (n) PetscCall(PCSpikeOrder_Private(pc, A, s->ordering, zeros, &parts[0], &none));
    PetscCall(PCSpikePlaces_Private(pc, A));
    ordered[1].colmap = s->colmap;
    PetscCall(PCSpikeMeasureBand_Private(pc, n, 1, ordered, s->newrow, full, kept, &maxrow, &none));
    *better = PETSC_TRUE;
  } else {
    const PetscBool3 look  = SpikeRanksLook_Private(s, shortest, kept);
    const PetscInt   K     = PetscMax(kept[0], kept[1]);
    PetscInt         bound = 0, most;

    if (look == PETSC_BOOL3_UNKNOWN) {
      if (n) PetscCall(PCSpikeLeastBand_Private(n, K, 1, &parts[0], &bound));
      PetscCallMPI(MPIU_Allreduce(&bound, &most, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    }
    if (look == PETSC_BOOL3_UNKNOWN ? most >= PCSpikeEnoughBand_Private(K) : look == PETSC_BOOL3_FALSE)
      PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(SpikeRanksRCM_Private(pc, A, zeros, shortest, nparts, parts, kept, better, &least, &f));
    if (f > 0.0) PetscCall(SpikeRanksLevels_Private(pc, A, shortest, nparts, parts, least, kept, better, &f));
  }
  s->drops = (PetscBool)(*better && f > 0.0);
  if (*better)
    PetscCall(PetscInfo(pc, "Each rank orders its own rows%s\n",
                        f > 0.0 ? ": couplings between ranks outside the band are dropped" : ""));
  else {
    PetscCall(PetscFree(s->newrow));
    PetscCall(PetscFree(s->colmap));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
