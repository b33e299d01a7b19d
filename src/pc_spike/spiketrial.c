/* SPDX-License-Identifier: BSD-2-Clause */
/* spiketrial.c: whether factors are of use, and other ways to make them where they are not */
#include "spikeimpl.h"

/*
  Factors without row exchanges may lose all digits, though no pivot was boosted: by growth in the band, by a band that
  is ill-conditioned where its border is what makes the matrix regular, or by the dense system of the border. A setup
  that gives reason for doubt is tried on two right-hand sides, and where it fails the next way is taken:

      as it is
      with row exchanges
      with row exchanges and without a border, where that is affordable; where it is cheap on one rank, in one partition

  Each is tried once for a pattern, and if none is good the least wrong one is taken. Reasons for doubt are

      growth           max |u_ij| / ||A|| above SPIKE_TRIAL_GROWTH, where rows are not dominant. On a device it is
                       looked for in setups from scratch alone, by what the sampled rows say; systems that have no U of
                       a common form are tried in such setups, tridiagonal ones on the host alone
      border           ||Q_j|| / ||F_j|| ||A|| times the largest element of the inverse of S, scaled, above
                       SPIKE_TRIAL_BORDER: the rounding of the band's solves is amplified by it
      pivots           boosted ones, of the band, of S or of reduced systems, zero ones of the latter, and those that
                       are not finite

  so that dominant matrices without a border and without boosted pivots pay for a look at their rows, inside of the
  fill, and nothing else. Later values of the pattern are tried again for more boosted pivots than those of the factors
  that were taken, good or the least wrong, or for a border that amplifies ten times as much, where no other way was
  taken, or rows are dominant.

  Both limits leave digits: the fourth root of the rounding unit's inverse, and its square root over 64
*/
#define SPIKE_TRIAL_GROWTH (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)5e1 : (PetscReal)1e4)
#define SPIKE_TRIAL_BORDER (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)4e1 : (PetscReal)1e6)

/*
  Factors are good where their backward error is rounding, whatever I - A M^-1 is: the matrix is ill-conditioned then.
  Else I - A M^-1 may be as large as the square root of the rounding unit, and the backward error SPIKE_TRIAL_BACKWARD
  units: what is wrong with the factors is rounding that is amplified, different in each application, which a Krylov
  method does not see. KSPGMRES then ends with a residual that is not that of its solution, and right-hand sides that
  are worse than those of the trial have larger errors. With several partitions and no border I - A M^-1 may be
  SPIKE_TRIAL_COUPLED: partitions lose digits at their interfaces whatever rows are exchanged. Factors that are not the
  matrix's by intent, and those with boosted pivots and no border, are bad where they are of no use, or of less
  use than another way; but where all entries are there, each step of refinement takes SPIKE_TRIAL_REFINED of what
  boosted pivots leave, and not of rounding that is amplified. Where rows are exchanged, and a pivot is boosted all the
  same, a partition is singular, which the matrix need not be: spikes are large there, and the rounding of interfaces is
  amplified. With several partitions and more than SPIKE_TRIAL_COUPLED one partition is tried before such factors are
  taken, where that way is open
*/
#define SPIKE_TRIAL_BACKWARD 1e5
#define SPIKE_TRIAL_COUPLED  1e-4
#define SPIKE_TRIAL_USELESS  0.5
#define SPIKE_TRIAL_REFINED  0.1

/* Nothing is known of a new pattern */
void PCSpikeTrialForget_Private(PC_Spike *s)
{
  s->trial.way     = SPIKE_WAY_GIVEN;
  s->trial.decided = PETSC_FALSE;
  s->trial.weak = s->trial.boosts = -1;
  s->trial.amplified              = 0.0;
  for (int w = 0; w < SPIKE_WAYS; w++) s->trial.error[w] = -1.0;
}

/* Whether options leave row exchanges open. Paths are not the matrix, and smooth it as they are: symmetric, if it is */
static PetscBool PCSpikeTrialMay_Private(const PC_Spike *s)
{
  return (PetscBool)(SpikePrecisionBytes(s->precision) == sizeof(PetscReal) && s->type != PC_SPIKE_BLOCK &&
                     !s->lines.active && s->factortype != PC_SPIKE_FACTOR_CHOLESKY && !s->band.cholesky &&
                     (s->tridiagonal == PC_SPIKE_TRIDIAGONAL_AUTO || s->tridiagonal == PC_SPIKE_TRIDIAGONAL_PARTITION));
}

/* Whether boosted pivots and a border, which give reason for doubt, are as they were when these factors were taken */
static PetscErrorCode PCSpikeTrialKnown_Private(PC pc, const SpikeFillStats *st, const PCSpikePivots *pivots,
                                                PetscBool *known)
{
  PC_Spike            *s = (PC_Spike *)pc->data;
  PCSpikeTrial        *t = &s->trial;
  const PCSpikeBorder *d = &s->border;

  PetscFunctionBegin;
  *known = PETSC_FALSE;
  t->now = pivots->partition.nboost + (s->band.coupled ? pivots->reduced.nboost : 0) + (d->T ? d->nboost : 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &t->now, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  if (t->way != SPIKE_WAY_GIVEN && (st->weak != 0 || t->weak != 0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->overflow || t->now > t->boosts) PetscFunctionReturn(PETSC_SUCCESS);
  *known = (PetscBool)(!d->T ||
                       (d->ready && !d->bad && d->amplified <= PetscMax(SPIKE_TRIAL_BORDER, 10 * t->amplified)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether this setup is to be tried, the same on all ranks; weak: rows that are not dominant, -1: not known. suspect:
  there is reason for doubt, known or not
*/
static PetscErrorCode PCSpikeTrialDoubt_Private(PC pc, PetscBool reuse, const SpikeFillStats *st,
                                                const PCSpikePivots *pivots, PetscBool *doubt)
{
  PC_Spike            *s      = (PC_Spike *)pc->data;
  const PCSpikeBorder *d      = &s->border;
  PetscBool            known  = PETSC_FALSE;
  const PetscBool      host   = PetscMemTypeHost(s->band.k->memtype) ? PETSC_TRUE : PETSC_FALSE;
  PetscReal            growth = -1.0;

  PetscFunctionBegin;
  *doubt = (PetscBool)(s->trial.boosted || s->trial.overflow || s->trial.interfaces || s->trial.way != SPIKE_WAY_GIVEN);
  if (d->T && !d->ready) *doubt = PETSC_TRUE; /* the band has failed */
  else if (d->T && (d->bad || d->boosts || !(d->amplified <= SPIKE_TRIAL_BORDER))) {
    PetscCall(PetscInfo(pc, "The solve with the border amplifies errors by %g\n", (double)d->amplified));
    *doubt = PETSC_TRUE;
  }
  s->trial.suspect = *doubt;
  s->trial.now     = 0;
  if (*doubt) PetscCall(PCSpikeTrialKnown_Private(pc, st, pivots, &known));
  if (reuse && known) *doubt = PETSC_FALSE;
  if (*doubt || s->band.pivoting || s->band.cholesky) PetscFunctionReturn(PETSC_SUCCESS);
  if (st->weak == 0 || (st->weak < 0 && (reuse || s->expected < 0.0))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*s->band.k->begin)(&s->band));
  PetscCall((*s->band.k->growth)(&s->band, &growth));
  PetscCall((*s->band.k->end)(&s->band));
  if (growth < 0.0 && s->band.n && (host || s->batch.found) && !reuse) growth = PETSC_MAX_REAL;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &growth, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  *doubt = (PetscBool)(growth > SPIKE_TRIAL_GROWTH * st->norm);
  if (*doubt) s->trial.suspect = PETSC_TRUE;
  if (*doubt && growth < PETSC_MAX_REAL)
    PetscCall(PetscInfo(pc, "Growth in the factors %g\n", (double)(growth / st->norm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The way after this one that is open, SPIKE_WAYS: none is. The band without a border is affordable beside what there
  is, or cheap, and then it need not be in several partitions, though their number be given. It is to hold all entries
*/
static PetscErrorCode PCSpikeTrialNext_Private(PC pc, SpikeWay *next)
{
  PC_Spike       *s          = (PC_Spike *)pc->data;
  PCSpikeTrial   *t          = &s->trial;
  const PetscReal work       = SpikeBorderCost_Private(pc->pmat->rmap->N, s->info.natural_kl, s->info.natural_ku, 0, 0);
  const PetscInt  natural[2] = {s->info.natural_kl, s->info.natural_ku};
  PetscBool       flags[3];

  PetscFunctionBegin;
  *next = SPIKE_WAYS;
  if (t->way == SPIKE_WAY_GIVEN && !s->pivoting && t->error[SPIKE_WAY_PIVOTING] < 0.0) *next = SPIKE_WAY_PIVOTING;
  else if (t->way != SPIKE_WAY_WHOLE && t->error[SPIKE_WAY_WHOLE] < 0.0) {
    flags[0] = (PetscBool)(s->givenkl != PETSC_DECIDE || !(work < SPIKE_BORDER_CHEAP));
    flags[1] = (PetscBool)(s->ex.across || s->band.coupled);
    flags[2] = PCSpikeCuts_Private(s, natural);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flags, 3, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
    t->cheap = (PetscBool)!flags[0];
    if (flags[2]) PetscFunctionReturn(PETSC_SUCCESS);
    if (s->border.T ? s->border.affordable || t->cheap : t->cheap && flags[1]) *next = SPIKE_WAY_WHOLE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is wrong with the factors, and whether that is too much */
static PetscErrorCode PCSpikeTrialTry_Private(PC pc, PetscReal *error, PetscBool *good)
{
  PC_Spike       *s       = (PC_Spike *)pc->data;
  const PetscReal epsilon = PETSC_MACHINE_EPSILON, root = PETSC_SQRT_MACHINE_EPSILON;
  PetscReal       backward;
  PetscBool       whole, exact, alone = (PetscBool)(s->border.T || !s->band.coupled);
  SpikeWay        next;

  PetscFunctionBegin;
  PetscCall(PCSpikeError_Private(pc, error, &backward));
  whole = (PetscBool)(s->info.dropped == 0.0 && s->type != PC_SPIKE_TRUNCATED);
  PetscCall(PCFactoredAgree_Private(pc, &whole));
  exact = (PetscBool)(whole && (s->border.T || !s->trial.boosted)); /* of which all ranks know the same */
  PetscCall(PCFactoredAgree_Private(pc, &alone));
  if (!exact) {
    *good = (PetscBool)(*error <= SPIKE_TRIAL_USELESS);
    if (*good && whole && !alone && PCSpikeExchanges_Private(s) && !s->trial.decided &&
        *error > PetscMax(SPIKE_TRIAL_COUPLED, root)) {
      PetscCall(PCSpikeTrialNext_Private(pc, &next));
      if (next != SPIKE_WAYS) *good = PETSC_FALSE;
    }
    /* others may have been exact, and bad as such */
    for (int w = 0; w < SPIKE_WAYS && !s->trial.decided && (s->info.dropped > 0.0 || *error > SPIKE_TRIAL_REFINED); w++)
      if (w != s->trial.way && s->trial.error[w] >= 0.0 && s->trial.error[w] < *error) *good = PETSC_FALSE;
  } else if (backward <= SPIKE_BACKWARD_ROUNDING) *good = PETSC_TRUE;
  else if (alone) *good = (PetscBool)(*error <= root && backward <= SPIKE_TRIAL_BACKWARD * epsilon);
  else *good = (PetscBool)(*error <= PetscMax(SPIKE_TRIAL_COUPLED, root));
  PetscCall(PetscInfo(pc, "A trial of the factors: wrong by %g, backward error %g%s\n", (double)*error,
                      (double)backward, *good ? "" : ": bad"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that were gathered for this way go back to their ranks */
void PCSpikeTrialLeave_Private(PC_Spike *s)
{
  s->gather.leaves = (PetscBool)(s->trial.way == SPIKE_WAY_WHOLE && s->gather.least > 0);
}

static PetscErrorCode PCSpikeTrialTake_Private(PC pc, SpikeWay way)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PCSpikeMatchingForget_Private(s);
  PCSpikeLoneForget_Private(s);
  PCSpikeBorderForget_Private(s);
  PCSpikeCouplingForget_Private(s);
  PCSpikeTrialLeave_Private(s);
  s->trial.way = way;
  s->again     = SPIKE_AGAIN_TRIAL;
  PetscCall(PetscInfo(pc, "Setting up %s\n",
                      way == SPIKE_WAY_GIVEN      ? "as before"
                      : way == SPIKE_WAY_PIVOTING ? "with row exchanges"
                                                  : "with row exchanges, without a border, and in one partition where "
                                                    "that is cheap"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This way is wrong by error: the next one, or the best of all. *again: the setup has to be made anew for that */
static PetscErrorCode PCSpikeTrialGoOn_Private(PC pc, PetscReal error, PetscBool *again)
{
  PCSpikeTrial *t = &((PC_Spike *)pc->data)->trial;
  SpikeWay      next, best = SPIKE_WAY_GIVEN;

  PetscFunctionBegin;
  t->error[t->way] = error;
  PetscCall(PCSpikeTrialNext_Private(pc, &next));
  *again = (PetscBool)(next != SPIKE_WAYS);
  if (!*again) {
    for (int w = 0; w < SPIKE_WAYS; w++)
      if (t->error[w] >= 0.0 && t->error[w] < 0.1 * t->error[best]) best = (SpikeWay)w; /* each costs more */
    t->decided = PETSC_TRUE;
    *again     = (PetscBool)(best != t->way);
    next       = best;
  }
  if (*again) PetscCall(PCSpikeTrialTake_Private(pc, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A way that was tried has no factors at all, which do not fit into memory */
PetscErrorCode PCSpikeTrialReject_Private(PC pc, PetscBool *again)
{
  const PCSpikeTrial *t = &((const PC_Spike *)pc->data)->trial;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (t->way != SPIKE_WAY_GIVEN && !t->decided) PetscCall(PCSpikeTrialGoOn_Private(pc, PETSC_MAX_REAL, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeTrialAfter_Private - After a factorization with which matching, partitions and border are content

  Collective

  Input Parameters:
+ reuse - of the pattern: a refill whose factors are ten times as wrong as those that were chosen begins from scratch,
          and so does one whose rows are dominant, while rows change places that were not
- st    - what the fill saw, of all ranks

  Output Parameter:
. again - the setup has to be made anew
*/
PetscErrorCode PCSpikeTrialAfter_Private(PC pc, PetscBool reuse, const SpikeFillStats *st, const PCSpikePivots *pivots,
                                         PetscBool *again)
{
  PC_Spike     *s = (PC_Spike *)pc->data;
  PCSpikeTrial *t = &s->trial;
  PetscBool     doubt, has, good, mine[2], failed[2]; /* pivots of the band or its border; of reduced systems */
  PetscReal     error;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!PCSpikeTrialMay_Private(s)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!reuse) t->weak = st->weak;
  if (reuse && t->way != SPIKE_WAY_GIVEN && st->weak == 0 && t->weak > 0) {
    PetscCall(PetscInfo(pc, "Rows are dominant, and need no exchanges: choosing again\n"));
    PCSpikeTrialLeave_Private(s);
    *again = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeTrialDoubt_Private(pc, reuse, st, pivots, &doubt));
  if (!doubt) PetscFunctionReturn(PETSC_SUCCESS);
  mine[0] = (PetscBool)(pivots->partition.badrow >= 0 || (s->border.T && (s->border.bad || !s->border.ready)));
  mine[1] = (PetscBool)(s->band.coupled && pivots->reduced.badrow >= 0);
  if (s->border.T && s->border.bad && !(s->border.badvalue <= s->zeropivot)) t->overflow = PETSC_TRUE;
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  PetscCallMPI(MPIU_Allreduce(mine, failed, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  /* a zero pivot that is not to be boosted is a failure that was asked for, but of a band that a border has left */
  if (failed[0] && !t->overflow && t->way == SPIKE_WAY_GIVEN && !s->border.T) PetscFunctionReturn(PETSC_SUCCESS);
  error     = PETSC_MAX_REAL;
  good      = PETSC_FALSE;
  failed[0] = (PetscBool)(failed[0] || failed[1]);
  if (!failed[0] && !has) PetscFunctionReturn(PETSC_SUCCESS);
  if (!failed[0]) PetscCall(PCSpikeTrialTry_Private(pc, &error, &good));
  t->poor = (PetscBool)!good;
  if (good && (reuse || !t->decided)) { /* the first one that is good */
    t->error[t->way] = error;
    t->decided       = PETSC_TRUE;
  } else if (reuse) {
    *again = (PetscBool) !(error <= 10 * t->error[t->way]);
    if (*again) {
      PetscCall(PetscInfo(pc, "The way that was chosen for other values does not suit these\n"));
      PCSpikeTrialLeave_Private(s);
    }
  } else if (!t->decided) PetscCall(PCSpikeTrialGoOn_Private(pc, error, again));
  if (t->decided && !*again && (good || !reuse) && error < PETSC_MAX_REAL) {
    t->boosts    = t->now;
    t->amplified = s->border.T ? s->border.amplified : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How wrong these factors are, where no trial has looked; outside of a setup */
static PetscErrorCode PCSpikeTrialMeasure_Private(PC pc)
{
  PC_Spike       *s        = (PC_Spike *)pc->data;
  PCSpikeTrial   *t        = &s->trial;
  const PetscBool factored = s->factored, numeric = s->numeric;

  PetscFunctionBegin;
  if (t->error[t->way] >= 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeError_Private(pc, &t->error[t->way], NULL));
  s->factored = factored;
  s->numeric  = numeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A direct solve has missed its tolerance: with boosted pivots that were of use, or with factors that gave no reason for
  doubt, of partitions that are worse conditioned than the matrix. The next way, if one is open; each is tried once for
  a pattern, so that this ends. A shift type that was set asks for boosted pivots; and exchanges bring back neither
  entries that are outside of the band nor what truncated spikes neglect, where these were asked for
*/
PetscErrorCode PCSpikeTrialMissed_Private(PC pc, PetscBool *again)
{
  PC_Spike       *s      = (PC_Spike *)pc->data;
  const PetscBool approx = (PetscBool)(s->info.dropped > 0.0 || (s->band.coupled && !s->band.full));
  PetscBool       may    = PCSpikeTrialMay_Private(s);
  SpikeWay        next;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (s->boosted ? s->shifttype != (MatFactorShiftType)PETSC_DECIDE : approx) may = PETSC_FALSE;
  PetscCall(PCFactoredAgree_Private(pc, &may));
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeTrialMeasure_Private(pc));
  PetscCall(PCSpikeTrialNext_Private(pc, &next));
  if (next == SPIKE_WAYS) PetscFunctionReturn(PETSC_SUCCESS);
  s->trial.decided = PETSC_FALSE;
  *again           = PETSC_TRUE;
  PetscCall(PCSpikeTrialTake_Private(pc, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has been tried, in the view */
PetscErrorCode PCSpikeTrialView_Private(PC pc, PetscViewer viewer)
{
  const PCSpikeTrial *t     = &((const PC_Spike *)pc->data)->trial;
  const PetscReal     given = t->error[SPIKE_WAY_GIVEN], now = t->error[t->way];

  PetscFunctionBegin;
  if (t->way != SPIKE_WAY_GIVEN)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  rows exchanged%s by itself: factors without it %s\n",
                                     t->way == SPIKE_WAY_WHOLE ? ", and no border taken," : "",
                                     given < PETSC_MAX_REAL ? "are wrong" : "overflow, or are not finite"));
  if (t->poor && now >= 0.0)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "  factors are wrong by %.1e, those of other ways are no better\n", (double)now));
  PetscFunctionReturn(PETSC_SUCCESS);
}
